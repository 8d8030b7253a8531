/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a descriptor when bricks drop the POSIX locks taken through
 * it, and which children are told of locks and unlocks.
 */
#include "xlators/cluster/replicate/testing/model.h"

#include <errno.h>

static void
news(struct rig *r, struct gi_fd *fd, unsigned child, enum gi_locks_state state, bool unbroken)
{
  struct gi_lock_news n = {.fd = fd, .state = state, .unbroken = unbroken};

  fake_event(r->s, child, GI_EVENT_LOCKS, &n);
  assert_true(n.judged);
}

static void
says(struct rig *r, struct gi_fd *fd, int err)
{
  struct gi_fop *f = rig_fd(r, GI_FOP_FSTAT, fd);

  rig_run(r, f);
  assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, err);
  f = rig_write(r, fd, 0, 4);
  rig_run(r, f);
  assert_int_equal(f->rsp.ret < 0 ? f->rsp.err : 0, err);
  rig_run(r, f = rig_fd(r, GI_FOP_FLUSH, fd)); /* closing is always possible */
  assert_int_equal(f->rsp.ret, 0);
}

static void
one_brick_after_the_other(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  for (unsigned i = 0; i < BRICKS; i++) {
    news(r, fd, i, GI_LOCKS_AWAY, false);
    says(r, fd, 0);
    news(r, fd, i, GI_LOCKS_HELD, false);
    says(r, fd, 0);
  }
  news(r, fd, 1, GI_LOCKS_LOST, false);
  says(r, fd, 0);
  rig_free_clean(r);
}

static void
lost_on_a_majority(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  news(r, fd, 0, GI_LOCKS_LOST, false);
  news(r, fd, 1, GI_LOCKS_AWAY, false);
  says(r, fd, ENOTCONN); /* the two may be somebody else's by now */
  news(r, fd, 1, GI_LOCKS_LOST, false);
  says(r, fd, EBADFD);
  news(r, fd, 0, GI_LOCKS_HELD, true);
  news(r, fd, 1, GI_LOCKS_HELD, true);
  says(r, fd, EBADFD); /* for good */
  rig_free_clean(r);
}

static void
dropped_by_a_majority_at_once(void **state)
{
  for (int unbroken = 0; unbroken < 2; unbroken++) {
    struct gi_fd *fd;
    struct rig *r = rig_with_file(NULL, &fd);

    for (unsigned i = 0; i < BRICKS; i++)
      news(r, fd, i, GI_LOCKS_AWAY, false);
    says(r, fd, ENOTCONN);
    news(r, fd, 2, GI_LOCKS_HELD, false);
    says(r, fd, ENOTCONN);
    news(r, fd, 0, GI_LOCKS_HELD, true);
    says(r, fd, ENOTCONN);
    news(r, fd, 1, GI_LOCKS_HELD, unbroken);
    says(r, fd, unbroken ? 0 : EBADFD); /* a majority knows that nobody else had them, or it does not */
    rig_free_clean(r);
  }
}

/* The operation `kind` of the application waits until brick 0 answers `waits_for`, and the locks are lost meanwhile. */
static void
lost_under_way(enum gi_fop_kind kind, enum gi_fop_kind waits_for, bool for_good)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f = kind == GI_FOP_WRITE ? rig_write(r, fd, 0, 4) : rig_fd(r, kind, fd);

  rig_hold(r, 0, waits_for);
  rig_run(r, f);
  assert_false(f->answered);
  for (unsigned i = 1; i < BRICKS; i++)
    news(r, fd, i, for_good ? GI_LOCKS_LOST : GI_LOCKS_AWAY, false);
  rig_release(r, 0, waits_for);
  fake_settle(r->s);
  rig_done(f, -1, for_good ? EBADFD : ENOTCONN);
  if (waits_for == GI_FOP_FINODELK)
    for (unsigned i = 0; i < BRICKS; i++)
      assert_int_equal(fake_count(r->s, i, kind), 0);
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_free_clean(r);
}

static void
lost_while_it_is_under_way(void **state)
{
  for (int for_good = 0; for_good < 2; for_good++) {
    lost_under_way(GI_FOP_WRITE, GI_FOP_FINODELK, for_good); /* not even sent */
    lost_under_way(GI_FOP_WRITE, GI_FOP_FXATTROP, for_good);
    lost_under_way(GI_FOP_WRITE, GI_FOP_WRITE, for_good);
    lost_under_way(GI_FOP_FSYNC, GI_FOP_FSYNC, for_good);
    lost_under_way(GI_FOP_FSETATTR, GI_FOP_FSETATTR, for_good);
    lost_under_way(GI_FOP_FSTAT, GI_FOP_FSTAT, for_good);
  }
}

static void
doubted_and_held_while_it_is_under_way(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f = rig_write(r, fd, 0, 4);

  rig_hold(r, 0, GI_FOP_WRITE);
  rig_run(r, f);
  for (unsigned i = 1; i < BRICKS; i++)
    news(r, fd, i, GI_LOCKS_AWAY, false);
  for (unsigned i = 1; i < BRICKS; i++)
    news(r, fd, i, GI_LOCKS_HELD, true);
  rig_release(r, 0, GI_FOP_WRITE);
  fake_settle(r->s);
  rig_done(f, 4, 0); /* nobody else can have had them */
  rig_run(r, rig_fd(r, GI_FOP_FLUSH, fd));
  rig_free_clean(r);
}

static struct gi_fop *
lk(struct rig *r, struct gi_fd *fd, uint32_t type)
{
  struct gi_fop *f = rig_fd(r, GI_FOP_LK, fd);

  f->args.cmd = GI_LKCMD_SET;
  f->args.type = f->args.flock.type = type;
  rig_run(r, f);
  return f;
}

static void
who_is_away_is_told(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);

  rig_down(r, 2);
  assert_int_equal(lk(r, fd, GI_LK_WRITE)->rsp.ret, 0);
  rig_log(r, 2, "LK");
  assert_int_equal(r->s->seen[r->s->nseen - 1].cmd, GI_LKCMD_REMEMBER);
  assert_int_equal(lk(r, fd, GI_LK_UNLOCK)->rsp.ret, 0);
  rig_log(r, 2, "LK");
  assert_int_equal(r->s->seen[r->s->nseen - 1].type, GI_LK_UNLOCK);
  struct gi_fop *f = rig_fd(r, GI_FOP_FLUSH, fd);
  rig_run(r, f);
  assert_int_equal(f->rsp.ret, 0);
  rig_log(r, 2, "FLUSH");
  rig_down(r, 1); /* no quorum, and what is given up is given up all the same */
  rig_forget(r);
  assert_int_equal(lk(r, fd, GI_LK_UNLOCK)->rsp.err, ENOTCONN);
  rig_log_all(r, "LK");
  rig_free_clean(r);
}

static void
waiting_goes_on_where_bricks_are(void **state)
{
  struct gi_fd *fd;
  struct rig *r = rig_with_file(NULL, &fd);
  struct gi_fop *f = rig_fd(r, GI_FOP_LK, fd);

  f->args.cmd = GI_LKCMD_SETW;
  f->args.type = f->args.flock.type = GI_LK_WRITE;
  rig_hold_always(r, 0, GI_FOP_LK);
  rig_run(r, f);
  assert_false(f->answered);
  r->brick[1].fail_once[GI_FOP_LK] = r->brick[2].fail_once[GI_FOP_LK] = ENOTCONN;
  rig_answer(r, 0, GI_FOP_LK, ENOTCONN); /* each was restarted while it waited there */
  fake_settle(r->s);
  assert_false(f->answered);
  rig_answer(r, 0, GI_FOP_LK, 0);
  fake_settle(r->s);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
  for (unsigned i = 0; i < BRICKS; i++)
    assert_int_equal(fake_count(r->s, i, GI_FOP_LK), 2);
  rig_free_clean(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_brick_after_the_other),
      cmocka_unit_test(lost_on_a_majority),
      cmocka_unit_test(dropped_by_a_majority_at_once),
      cmocka_unit_test(who_is_away_is_told),
      cmocka_unit_test(waiting_goes_on_where_bricks_are),
      cmocka_unit_test(lost_while_it_is_under_way),
      cmocka_unit_test(doubted_and_held_while_it_is_under_way),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
