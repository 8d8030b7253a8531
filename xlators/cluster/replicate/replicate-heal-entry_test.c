/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of directories over real bricks: whatever was done while one of
 * them was away, by its list of changed names or by a full crawl, ends in three
 * equal trees and no marks.
 */
#include "xlators/cluster/replicate/replicate-yard.h"

#include <errno.h>
#include <sys/sysmacros.h>

#define GRANULAR "option granular-entry-heal on\noption use-anonymous-inode on\n"
#define FULL "option granular-entry-heal off\noption use-anonymous-inode on\n"

static const char *const variants[] = {GRANULAR, FULL};

static void
start_tree(struct yard *y)
{
  yard_mkdir(y, "d");
  yard_mkdir(y, "d/sub");
  yard_create(y, "d/sub/deep", "deep");
  yard_create(y, "keep", "keep");
  yard_create(y, "gone", "gone");
  yard_create(y, "moved", "moved");
  yard_create(y, "hard", "hard");
  yard_link(y, "d/hard2", "hard");
  yard_symlink(y, "sym-gone", "keep");
  yard_mkdir(y, "empty");
  yard_mkdir(y, "tree");
  yard_mkdir(y, "tree/t1");
  yard_create(y, "tree/t1/leaf", "leaf");
  yard_same(y, true);
}

/* Every kind of change, on every type. */
static void
change_tree(struct yard *y)
{
  yard_create(y, "new", "new content");
  yard_mkdir(y, "newdir");
  yard_mkdir(y, "newdir/inner");
  yard_create(y, "newdir/inner/f", "f");
  yard_symlink(y, "sym", "a/target");
  yard_mknod(y, "fifo", S_IFIFO | 0600, 0, 0);
  yard_mknod(y, "dev", S_IFCHR | 0600, 1, 3);
  yard_mknod(y, "block", S_IFBLK | 0600, 7, 200);
  yard_mknod(y, "sock", S_IFSOCK | 0600, 0, 0);
  yard_unlink(y, "gone");
  yard_unlink(y, "sym-gone");
  yard_rmdir(y, "empty");
  yard_rename(y, "moved", "d/moved");
  yard_link(y, "newlink", "keep");
  yard_unlink(y, "hard");
  yard_rename(y, "tree", "d/tree2");
  yard_create(y, "d/tree2/t1/leaf2", "leaf2");
  yard_create(y, "twin", "twin");
  yard_link(y, "d/twin2", "twin");
  yard_symlink(y, "s1", "x");
  yard_link(y, "s2", "s1");
}

static void
heals_everything(struct yard *y)
{
  unsigned left = yard_heal(y);

  if (left)
    fail_msg("%u entries are left in the heal indices", left);
  yard_same(y, true);
  yard_no_marks(y);
}

static void
every_change_with_each_brick_away(void **state)
{
  for (size_t v = 0; v < GI_ARRAY_LEN(variants); v++)
    for (unsigned stale = 0; stale < YARD; stale++) {
      YARD_NEW(y, variants[v]);
      print_message("brick %u was away, variant %zu\n", stale, v);
      start_tree(y);
      yard_down(y, stale);
      change_tree(y);
      yard_up(y, stale);
      assert_true(yard_pending(y) > 0);
      heals_everything(y);
      yard_free(y);
    }
}

/* The tree is not copied: the inodes on the stale brick stay what they were. */
static void
a_renamed_tree_moves(void **state)
{
  for (size_t v = 0; v < 2; v++)
    for (int parent_first = 0; parent_first < 2; parent_first++) {
      YARD_NEW(y, variants[v]);
      char path[PATH_MAX];
      struct stat before, after;

      start_tree(y);
      yard_path(y, path, 0, "tree/t1/leaf");
      assert_int_equal(stat(path, &before), 0);
      yard_down(y, 0);
      yard_rename(y, "tree", "d/tree2");
      yard_up(y, 0);
      if (parent_first) {
        assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
        assert_int_equal(yard_heal_entry(y, "d"), REP_HEALED);
      } else {
        assert_int_not_equal(yard_heal_entry(y, "d"), REP_HEALED);
        assert_true(yard_mark(y, 1, "d", 0, REP_ENTRY));
        heals_everything(y);
      }
      yard_same(y, true);
      yard_path(y, path, 0, "d/tree2/t1/leaf");
      assert_int_equal(stat(path, &after), 0);
      assert_int_equal(before.st_ino, after.st_ino);
      yard_no_marks(y);
      yard_free(y);
    }
}

static void
nothing_to_do_is_clean(void **state)
{
  YARD_NEW(y, GRANULAR);
  start_tree(y);
  assert_int_equal(yard_heal_entry(y, ""), REP_HEAL_CLEAN);
  assert_int_equal(yard_heal_entry(y, "d"), REP_HEAL_CLEAN);
  yard_free(y);
}

static void
all_bricks_are_needed(void **state)
{
  YARD_NEW(y, GRANULAR);
  yard_down(y, 0);
  yard_create(y, "f", "f");
  yard_up(y, 0);
  yard_down(y, 1);
  assert_int_equal(yard_heal_entry(y, ""), -ENOTCONN);
  yard_up(y, 1);
  assert_int_equal(yard_heal_entry(y, ""), REP_HEALED);
  assert_true(yard_has(y, 0, "f"));
  yard_free(y);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_to_do_is_clean),
      cmocka_unit_test(all_bricks_are_needed),
      cmocka_unit_test(a_renamed_tree_moves),
      cmocka_unit_test(every_change_with_each_brick_away),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
