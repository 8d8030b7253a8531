/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of files that a rebalance moves to another brick.
 */
#include "xlators/features/locks/locks-fixture.h"
#include "libglusterish/extension.h"

#include <errno.h>
#include <fcntl.h>

static struct gi_fop *
tell_moved(struct fake_stack *s, unsigned who, uint64_t moved)
{
  struct gi_fop *f = owned(s, GI_FOP_SETATTR, who);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  f->caller.pid = GI_PID_REBALANCE;
  gi_dict_set_uint(gi_fop_xdata(f), GI_MOVED_KEY, moved);
  fake_submit(s, f);
  return f;
}

static void
test_a_locked_file_has_not_moved(void **state)
{
  struct fake_stack *s = fake_stack_new("features/locks", NULL, 1);
  struct gi_fd *fd = fake_fd(s, 5);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 0, 10));
  assert_int_equal(tell_moved(s, 2, 1)->rsp.err, EBUSY);
  assert_int_equal(fake_count(s, 0, GI_FOP_SETATTR), 0);
  ok(lk(s, fd, 1, GI_LKCMD_SET, GI_LK_READ, 0, 10)); /* as before */
  fake_stack_free(s);
}

static void
test_nobody_locks_what_has_moved(void **state)
{
  struct fake_stack *s = fake_stack_new("features/locks", NULL, 1);
  struct gi_fd *fd = fake_fd(s, 5);
  ok(lk(s, fd, 2, GI_LKCMD_SET, GI_LK_WRITE, 0, 0)); /* the rebalance's own */
  struct gi_fop *w = lk(s, fd, 1, GI_LKCMD_SETW, GI_LK_WRITE, 0, 0);
  assert_false(w->answered);
  ok(tell_moved(s, 2, 1));
  assert_true(w->answered);
  assert_int_equal(w->rsp.err, ESTALE);
  ok(lk(s, fd, 2, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 0));
  assert_int_equal(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 0, 10)->rsp.err, ESTALE);
  assert_int_equal(lk(s, fd, 0, GI_LKCMD_SETW, GI_LK_READ, 0, 10)->rsp.err, ESTALE);

  /* Not, if it is taken back, or could not be done. */
  ok(tell_moved(s, 2, 0));
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 0, 10));
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 10));
  fake_script(s, 0, GI_FOP_SETATTR, (struct fake_reply){.ret = -1, .err = EIO});
  assert_int_equal(tell_moved(s, 2, 1)->rsp.err, EIO);
  ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 0, 10));
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_locked_file_has_not_moved),
      cmocka_unit_test(test_nobody_locks_what_has_moved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
