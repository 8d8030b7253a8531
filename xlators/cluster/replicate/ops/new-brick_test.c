/* SPDX-License-Identifier: Apache-2.0
 *
 * A child with a new, empty brick (replicate.md 7.12): who may say so, what
 * the others are told, and that nobody reads from it.
 */
#include "xlators/cluster/replicate/testing/model.h"

#include <fcntl.h>

static struct gi_fop *
announcement(struct rig *r, const char *command, const char *child, int32_t pid)
{
  struct gi_fop *f = rig_loc(r, GI_FOP_SETXATTR, 1);

  f->args.dict = gi_dict_new();
  gi_dict_set_str(f->args.dict, command, child);
  f->caller.pid = pid;
  return f;
}

static const char *
child_name(const struct rig *r, unsigned i)
{
  return r->s->x->children[i]->name;
}

static void
the_others_blame_it(void **state)
{
  struct rig *r = rig_new("option granular-entry-heal on\n");
  struct gi_fop *f;

  rig_forget(r);
  rig_run(r, f = announcement(r, "trusted.replace-brick", child_name(r, 1), GI_PID_ADD_BRICK));
  rig_done(f, 0, 0);
  rig_log(r, 0, "L:m X:1m+1 U:m E:* X:1d+1,1e+1 EU:*");
  rig_log(r, 1, "");
  rig_log(r, 2, "L:m X:1m+1 U:m E:* X:1d+1,1e+1 EU:*");
  rig_free_clean(r);
}

static void
without_an_index_nothing_but_names(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_down(r, 2); /* the new brick itself need not run */
  rig_forget(r);
  rig_run(r, f = announcement(r, "trusted.add-brick", child_name(r, 2), GI_PID_ADD_BRICK));
  rig_done(f, 0, 0);
  rig_marks(r, 0, 1, "2m1,2e1");
  rig_marks(r, 1, 1, "2m1,2e1");
  rig_free_clean(r);
}

static void
only_the_management_may(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_run(r, f = announcement(r, "trusted.replace-brick", child_name(r, 1), 100));
  rig_done(f, -1, EPERM);
  rig_run(r, f = announcement(r, "trusted.add-brick", child_name(r, 1), -6));
  rig_done(f, -1, EPERM);
  rig_marks(r, 0, 1, "");
  rig_free_clean(r);
}

static void
another_replica_set_is_not_meant(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_forget(r);
  rig_run(r, f = announcement(r, "trusted.replace-brick", "v-client-77", GI_PID_ADD_BRICK));
  rig_done(f, 0, 0);
  rig_log_all(r, "");
  rig_free_clean(r);
}

static void
a_brick_that_cannot_be_told_is_a_failure(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  r->brick[0].fail_err[GI_FOP_XATTROP] = EIO;
  rig_run(r, f = announcement(r, "trusted.replace-brick", child_name(r, 1), GI_PID_ADD_BRICK));
  rig_done(f, -1, ENOTCONN);
  rig_free_clean(r); /* every lock was given back */
}

static void
works_without_quorum(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  rig_down(r, 1);
  rig_down(r, 2);
  f = rig_loc(r, GI_FOP_LOOKUP, 1);
  f->caller.pid = GI_PID_ADD_BRICK;
  rig_run(r, f);
  rig_done(f, 0, 0);
  rig_run(r, f = announcement(r, "trusted.replace-brick", child_name(r, 1), GI_PID_ADD_BRICK));
  rig_done(f, 0, 0);
  rig_marks(r, 0, 1, "1m1,1e1");
  rig_free_clean(r);
}

static void
waits_for_a_lock_of_others(void **state)
{
  struct rig *r = rig_new(NULL);
  struct gi_fop *f;

  r->brick[2].fail_once[GI_FOP_INODELK] = EAGAIN;
  rig_forget(r);
  rig_run(r, f = announcement(r, "trusted.replace-brick", child_name(r, 1), GI_PID_ADD_BRICK));
  rig_done(f, 0, 0);
  rig_log(r, 0, "L:m U:m W:m X:1m+1 U:m E:* X:1e+1 EU:*");
  rig_free_clean(r);
}

/* The tree is on the old bricks only. Whatever is asked, the new one gives no answer that is believed. */
static void
nothing_is_read_from_it(void **state)
{
  for (int mode = 0; mode < 6; mode++) {
    GI_CLEANUP_FREE char *options = gi_asprintf("option read-hash-mode %d\noption read-subvolume-index 1\n", mode);
    struct rig *r = rig_new(options);
    struct gi_fop *f;

    rig_down(r, 1);
    rig_object(r, 5, S_IFREG | 0644);
    brick_object(&r->brick[1], 5)->used = false;
    for (int i = 0; i < BRICK_NAMES; i++)
      r->brick[1].name[i].used = false;
    rig_run(r, f = announcement(r, "trusted.replace-brick", child_name(r, 1), GI_PID_ADD_BRICK));
    rig_done(f, 0, 0);
    rig_up(r, 1);
    rig_run(r, f = rig_entry(r, GI_FOP_LOOKUP, 1, "f5", 0));
    rig_done(f, 0, 0);
    rig_run(r, f = rig_loc(r, GI_FOP_STAT, 1));
    rig_forget(r);

    struct gi_fop *open = rig_loc(r, GI_FOP_OPENDIR, 1);
    struct gi_fd *fd = gi_fd_new(r->s->graph, open->loc.inode, O_RDONLY | O_DIRECTORY, 100);

    gi_fop_set_fd(open, fd);
    rig_run(r, open);
    rig_run(r, f = rig_fd(r, GI_FOP_READDIR, fd));
    rig_run(r, f = rig_loc(r, GI_FOP_STAT, 5));
    rig_done(f, 0, 0);
    rig_run(r, f = rig_loc(r, GI_FOP_STAT, 1));
    rig_done(f, 0, 0);
    rig_log(r, 1, "OPENDIR");
    gi_fd_unref(&fd);
    rig_free_clean(r);
  }
}

/* A brick that is another one since says so of every descriptor: it is opened again when the brick has the file. */
static void
lost_descriptors_are_opened_again(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f;

  r->brick[1].fail_err[GI_FOP_FINODELK] = r->brick[1].fail_err[GI_FOP_WRITE] = EBADFD;
  r->brick[1].fail_once[GI_FOP_OPEN] = ENOENT;
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_run(r, f = rig_fd(r, GI_FOP_FLUSH, fd));
  rig_marks(r, 0, 5, "1d1");
  rig_run(r, f = rig_write(r, fd, 0, 10)); /* the late open is refused: the file is not there yet */
  rig_done(f, 10, 0);
  rig_run(r, f = rig_fd(r, GI_FOP_FLUSH, fd));
  rig_forget(r);
  r->brick[1].fail_err[GI_FOP_FINODELK] = r->brick[1].fail_err[GI_FOP_WRITE] = 0;
  fake_wait(r->s, 3100 * GI_NSEC_PER_MSEC);
  rig_run(r, f = rig_write(r, fd, 0, 10));
  rig_done(f, 10, 0);
  rig_log(r, 1, "OPEN L:0 X:d+1 WRITE");
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_others_blame_it),
      cmocka_unit_test(without_an_index_nothing_but_names),
      cmocka_unit_test(only_the_management_may),
      cmocka_unit_test(another_replica_set_is_not_meant),
      cmocka_unit_test(a_brick_that_cannot_be_told_is_a_failure),
      cmocka_unit_test(works_without_quorum),
      cmocka_unit_test(waits_for_a_lock_of_others),
      cmocka_unit_test(nothing_is_read_from_it),
      cmocka_unit_test(lost_descriptors_are_opened_again),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
