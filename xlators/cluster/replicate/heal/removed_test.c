/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories that were removed, or replaced, over real bricks while one of
 * these had not heard yet that they became empty: what it kept in them brings
 * nothing back.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#define OPTIONS "option quorum-type auto\noption granular-entry-heal on\noption use-anonymous-inode on\n"

static void
start_tree(struct yard *y)
{
  yard_mkdir(y, "d");
  yard_mkdir(y, "d/e");
  yard_mkdir(y, "d/sub");
  yard_create(y, "d/e/gone", "gone");
  yard_create(y, "d/moved", "moved");
  yard_create(y, "d/sub/deep", "deep");
}

/* d/e and d are empty, but brick 0 does not know. */
static void
empty_without(struct yard *y, unsigned stale)
{
  yard_down(y, stale);
  yard_unlink(y, "d/e/gone");
  yard_rename(y, "d/moved", "moved");
  yard_rename(y, "d/sub", "sub");
  yard_up(y, stale);
}

/* The tree that is thrown away still has the names of what moved. */
static void
forget_removed(struct yard *y)
{
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf %s/?/.glusterfs-anonymous-inode-*/*-*", y->dir);

  assert_int_equal(system(command), 0);
}

static void
heals_everything(struct yard *y)
{
  yard_heal(y); /* the indices may still name what is gone: a crawl drops that */
  forget_removed(y);
  yard_same(y, true);
  yard_no_marks(y);
}

/* It was in a directory that is gone, and waits there, in the anonymous directory, for its new name. */
static void
what_moved_out_of_a_removed_one_is_found(void **state)
{
  (void)state;
  for (unsigned stale = 0; stale < YARD; stale++) {
    YARD_NEW(y, OPTIONS);
    start_tree(y);
    yard_down(y, stale);
    yard_rename(y, "d/sub", "sub");
    yard_unlink(y, "d/moved");
    yard_unlink(y, "d/e/gone");
    yard_rmdir(y, "d/e");
    yard_rmdir(y, "d");
    yard_up(y, stale);
    heals_everything(y);
    assert_false(yard_has(y, stale, "d"));
    assert_true(yard_has(y, stale, "sub/deep"));
    yard_free(y);
  }
}

static void
what_one_brick_kept_goes(void **state)
{
  (void)state;
  for (unsigned stale = 0; stale < YARD; stale++) {
    YARD_NEW(y, OPTIONS);
    start_tree(y);
    empty_without(y, stale);
    yard_rmdir(y, "d/e");
    yard_rmdir(y, "d");
    assert_true(yard_has(y, stale, "d/e/gone"));
    heals_everything(y);
    assert_false(yard_has(y, stale, "d"));
    assert_true(yard_has(y, stale, "sub/deep"));
    yard_free(y);
  }
}

static void
another_directory_takes_the_place(void **state)
{
  (void)state;
  for (unsigned stale = 0; stale < YARD; stale++) {
    YARD_NEW(y, OPTIONS);
    start_tree(y);
    yard_mkdir(y, "other");
    yard_create(y, "other/f", "f");
    empty_without(y, stale);
    yard_rename(y, "other", "d/e");
    assert_true(yard_has(y, stale, "d/e/gone"));
    heals_everything(y);
    assert_true(yard_has(y, stale, "d/e/f"));
    assert_false(yard_has(y, stale, "d/e/gone"));
    yard_free(y);
  }
}

/* By name, whatever has it. */
static int
move(struct yard *y, const char *from, const char *to, const struct gi_gfid *over)
{
  struct gi_inode *root = gi_inode_get(y->graph, &gi_gfid_root);
  struct gi_fop *fop = gi_fop_new(y->graph, GI_FOP_RENAME);

  gi_fop_set_entry(fop, &fop->loc, root, from);
  gi_fop_set_entry(fop, &fop->loc2, root, to);
  fop->loc2.inode = gi_inode_get(y->graph, over);
  gi_inode_unref(&root);
  return yard_submit(y, fop);
}

/* Two copies moved different directories over an empty one, as they disagreed on the old name. What the good one moved stands elsewhere:
 * when it has gone the name is what the copy has that has missed nothing but this. */
static void
different_ones_that_moved_leave_one(void **state)
{
  struct gi_gfid two, to;

  (void)state;
  YARD_NEW(y, OPTIONS);
  yard_mkdir(y, "one");
  yard_mkdir(y, "two");
  yard_mkdir(y, "to");
  two = yard_disk_gfid(y, 0, "two");
  to = yard_disk_gfid(y, 0, "to");
  yard_down(y, 1);
  yard_mkdir(y, "missed");
  y->gate[2]->fail_err[GI_FOP_RENAME] = EIO;
  assert_int_not_equal(move(y, "one", "two", &two), 0);
  y->gate[2]->fail_err[GI_FOP_RENAME] = 0;
  assert_int_not_equal(move(y, "two", "to", &to), 0);
  yard_up(y, 1);
  heals_everything(y);
  for (unsigned i = 0; i < YARD; i++) {
    struct gi_gfid gfid = yard_disk_gfid(y, i, "to");

    assert_true(gi_gfid_equal(&gfid, &two));
  }
  yard_free(y);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(different_ones_that_moved_leave_one),
      cmocka_unit_test(what_moved_out_of_a_removed_one_is_found),
      cmocka_unit_test(what_one_brick_kept_goes),
      cmocka_unit_test(another_directory_takes_the_place),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
