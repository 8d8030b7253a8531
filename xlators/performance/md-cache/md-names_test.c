/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/md-cache: what changes of names leave of what is kept.
 */
#include "xlators/performance/md-cache/md-rig.h"

#include "libglusterish/extension.h"

#include <fcntl.h>

static struct gi_fop *
unlink_name(struct fake_stack *s, uint8_t file)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_UNLINK);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  if (file)
    gi_loc_set_inode(&f->loc, fake_inode(s, file));
  return sent(s, f);
}

static void
test_what_lost_a_name_is_asked_for(void **state)
{
  struct fake_stack *s = *state;

  know(s, FILE_A, 10, 1);
  know(s, FILE_B, 20, 1);
  unlink_name(s, FILE_A);
  assert_true(asked(s, FILE_A, 10, 2));
  assert_false(asked(s, FILE_B, 20, 1));
  unlink_name(s, 0); /* whose name that was is not known */
  assert_true(asked(s, FILE_A, 10, 2));
  assert_true(asked(s, FILE_B, 20, 1));
}

/* Nobody knows which file has lost its name, but that no directory has. */
static void
test_directories_stay_known_when_a_file_loses_its_name(void **state)
{
  struct fake_stack *s = *state;

  fake_inode(s, FILE_B)->mode = S_IFDIR;
  know(s, FILE_B, 20, 1);
  unlink_name(s, 0);
  assert_false(asked(s, FILE_B, 20, 1));

  struct gi_fop *f = fake_fop(s, GI_FOP_RMDIR);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  sent(s, f);
  assert_true(asked(s, FILE_B, 20, 1));
}

static void
test_a_new_object_and_its_directory_are_known(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_MKNOD);

  know(s, DIRECTORY, 4096, 1);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  fake_script(s, 0, GI_FOP_MKNOD, (struct fake_reply){.fill = fill_made});
  fake_submit(s, f);
  assert_false(asked(s, FILE_A, 0, 2));
  assert_false(asked(s, DIRECTORY, 4096, 2));
}

static void
test_a_known_file_may_be_emptied_by_its_name(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *f = fake_fop(s, GI_FOP_CREATE);

  know(s, FILE_A, 10, 1);
  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  f->fd = gi_fd_ref(fake_fd(s, FILE_A));
  f->args.flags = O_CREAT | O_TRUNC | O_RDWR;
  fake_script(s, 0, GI_FOP_CREATE, (struct fake_reply){.fill = fill_made});
  fake_submit(s, f);
  assert_false(asked(s, FILE_A, 0, 2));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
fill_ctime(struct gi_fop *fop, void *arg)
{
  fop->rsp.stat = iatt(FILE_A, 10, 1);
  fop->rsp.stat.ctime.sec = 5;
}

static void
test_a_name_of_ours_that_moved_is_no_change_of_others(void **state)
{
  struct fake_stack *s = *state;

  know(s, FILE_A, 10, 1);
  unlink_name(s, 0); /* it was one of this file's, and nobody here knew */
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.fill = fill_ctime});
  sent(s, on_fd(s, GI_FOP_FSTAT, FILE_A));
  sent(s, on_fd(s, GI_FOP_FSTAT, FILE_A));
  assert_int_equal(fake_count(s, 0, GI_FOP_FSTAT), 2);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
created(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_CREATE);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  f->fd = gi_fd_ref(fake_fd(s, FILE_A));
  f->args.flags = O_CREAT | O_RDWR;
  hold(s, GI_FOP_CREATE);
  sent(s, f);
  fill_made(f, NULL);
}

/* CREATE of a file that was there says how it was when the brick opened it: perhaps before a write that began after it, or before it. */
static void
test_what_a_slow_create_found_is_old(void **state)
{
  struct fake_stack *s = *state;
  struct step first = {{FILE_A, 0, 2}, {FILE_A, 20, 3}}, second = {{FILE_A, 20, 3}, {FILE_A, 30, 4}};
  struct gi_fop *write = on_fd(s, GI_FOP_WRITE, FILE_A);

  know(s, FILE_A, 0, 2);
  created(s);
  wrote(s, GI_FOP_WRITE, &first);
  assert_true(fake_release(s, 0, GI_FOP_CREATE, 0, 0));
  assert_false(asked(s, FILE_A, 20, 3));
  hold(s, GI_FOP_WRITE);
  fake_submit(s, write);
  created(s);
  release_change(s, write, &second);
  assert_true(fake_release(s, 0, GI_FOP_CREATE, 0, 0));
  assert_false(asked(s, FILE_A, 30, 4));
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 0);
}

static void
renamed(struct fake_stack *s)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_RENAME);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_A));
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIRECTORY), "other");
  gi_loc_set_inode(&f->loc2, fake_inode(s, FILE_B));
  hold(s, GI_FOP_RENAME);
  sent(s, f);
  fill_made(f, NULL);
}

/* A rename tells how it left what it moved, if it was the only change. */
static void
test_what_a_rename_moved_is_known_if_it_was_alone(void **state)
{
  struct fake_stack *s = *state;

  know(s, FILE_A, 0, 1);
  renamed(s);
  assert_true(fake_release(s, 0, GI_FOP_RENAME, 0, 0));
  assert_false(asked(s, FILE_A, 0, 2));
  renamed(s);
  wrote(s, GI_FOP_WRITE, &(struct step){{FILE_A, 0, 2}, {FILE_A, 20, 3}}); /* before or after it, which it does not tell */
  assert_true(fake_release(s, 0, GI_FOP_RENAME, 0, 0));
  assert_true(asked(s, FILE_A, 20, 3));
}

static void
moved(struct fake_stack *s, bool replaces)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_RENAME);

  gi_fop_set_entry(f, &f->loc, fake_inode(s, DIRECTORY), "name");
  gi_loc_set_inode(&f->loc, fake_inode(s, FILE_A));
  gi_fop_set_entry(f, &f->loc2, fake_inode(s, DIRECTORY), "other");
  if (!replaces)
    gi_dict_set_uint(gi_fop_xdata(f), GI_NOREPLACE_KEY, 1);
  fake_script(s, 0, GI_FOP_RENAME, (struct fake_reply){.fill = fill_made});
  sent(s, f);
}

/* What a rename replaces, and nobody knows, may have been any file's name. */
static void
test_a_rename_that_replaces_nothing_leaves_other_files_alone(void **state)
{
  struct fake_stack *s = *state;

  know(s, FILE_B, 0, 1);
  moved(s, false);
  assert_false(asked(s, FILE_A, 0, 2));
  assert_false(asked(s, FILE_B, 0, 1));
  moved(s, true);
  assert_true(asked(s, FILE_B, 0, 1));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, md_setup, md_teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_what_lost_a_name_is_asked_for),
      TEST(test_directories_stay_known_when_a_file_loses_its_name),
      TEST(test_a_new_object_and_its_directory_are_known),
      TEST(test_a_known_file_may_be_emptied_by_its_name),
      TEST(test_a_name_of_ours_that_moved_is_no_change_of_others),
      TEST(test_what_a_slow_create_found_is_old),
      TEST(test_what_a_rename_moved_is_known_if_it_was_alone),
      TEST(test_a_rename_that_replaces_nothing_leaves_other_files_alone),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
