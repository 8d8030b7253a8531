/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a rebalance moves to another brick: their locks, and their mode.
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

/* Attributes, or the size, by somebody whose process has that number. */
static struct gi_fop *
change(struct fake_stack *s, enum gi_fop_kind kind, int32_t pid, int32_t valid, uint32_t mode)
{
  struct gi_fop *f = owned(s, kind, 1);
  struct gi_fd *fd;

  if (kind == GI_FOP_FSETATTR || kind == GI_FOP_FTRUNCATE) {
    fd = fake_fd(s, 5);
    gi_fop_set_fd(f, fd);
  } else {
    gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  }
  f->caller.pid = pid;
  f->args.valid = valid;
  f->args.iatt.mode = mode;
  fake_submit(s, f);
  return f;
}

/* Its mode is all that tells who uses it that it is elsewhere. */
static void
test_nobody_takes_the_mode_away(void **state)
{
  struct fake_stack *s = fake_stack_new("features/locks", NULL, 1);

  ok(change(s, GI_FOP_SETATTR, 7, GI_SET_MODE, 0644));
  ok(tell_moved(s, 2, 1));
  assert_int_equal(change(s, GI_FOP_SETATTR, 7, GI_SET_MODE, S_IFREG | 0644)->rsp.err, ESTALE);
  assert_int_equal(change(s, GI_FOP_SETATTR, 7, GI_SET_MODE | GI_SET_MTIME, 0644)->rsp.err, ESTALE);
  assert_int_equal(change(s, GI_FOP_FSETATTR, 7, GI_SET_MODE, 0)->rsp.err, ESTALE);
  assert_int_equal(fake_count(s, 0, GI_FOP_SETATTR), 2);
  assert_int_equal(fake_count(s, 0, GI_FOP_FSETATTR), 0);
  /* The reply says where it is. */
  ok(change(s, GI_FOP_SETATTR, 7, GI_SET_MTIME, 0));
  ok(change(s, GI_FOP_SETATTR, 7, GI_SET_MODE, S_IFREG | GI_LINKTO_MODE));
  /* Which it still is. */
  ok(change(s, GI_FOP_SETATTR, GI_PID_HEAL, GI_SET_MODE | GI_SET_UID, S_IFREG | GI_LINKTO_MODE));
  assert_int_equal(change(s, GI_FOP_SETATTR, 7, GI_SET_MODE, 0644)->rsp.err, ESTALE);
  fake_stack_free(s);
}

/* By a rebalance, ours or of GlusterFS, or because this brick missed that and is healed. */
static void
test_what_comes_back_is_a_file_like_others(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    int32_t pid;
    bool back;
  } by[] = {
      {GI_FOP_SETATTR, GI_PID_REBALANCE, true},   {GI_FOP_FSETATTR, GI_PID_REBALANCE, true},
      {GI_FOP_TRUNCATE, GI_PID_REBALANCE, true},  {GI_FOP_SETATTR, GI_PID_HEAL, true},
      {GI_FOP_FTRUNCATE, GI_PID_REBALANCE, true}, {GI_FOP_TRUNCATE, 7, false},
      {GI_FOP_FTRUNCATE, GI_PID_HEAL, false},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(by); i++) {
    struct fake_stack *s = fake_stack_new("features/locks", NULL, 1);
    struct gi_fd *fd = fake_fd(s, 5);

    ok(tell_moved(s, 2, 1));
    ok(change(s, by[i].kind, by[i].pid, GI_SET_MODE, S_IFREG | 0640));
    assert_int_equal(change(s, GI_FOP_SETATTR, 7, GI_SET_MODE, 0644)->rsp.err, by[i].back ? 0 : ESTALE);
    assert_int_equal(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_READ, 0, 10)->rsp.err, by[i].back ? 0 : ESTALE);
    if (by[i].back)
      ok(lk(s, fd, 0, GI_LKCMD_SET, GI_LK_UNLOCK, 0, 10));
    fake_stack_free(s);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_locked_file_has_not_moved),
      cmocka_unit_test(test_nobody_locks_what_has_moved),
      cmocka_unit_test(test_nobody_takes_the_mode_away),
      cmocka_unit_test(test_what_comes_back_is_a_file_like_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
