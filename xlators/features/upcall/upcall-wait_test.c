/* SPDX-License-Identifier: Apache-2.0
 *
 * features/upcall on a strict volume: which changes wait, for whom, and for how long.
 */
#include "xlators/features/upcall/upcall-fixture.h"

#define STRICT "option cache-invalidation-strict on\n"

/* Submits a change that is to wait. */
static struct gi_fop *
waits(struct fake_stack *s, unsigned who, enum gi_fop_kind kind)
{
  struct gi_fop *f = op(s, who, kind);
  fake_script(s, 0, kind, (struct fake_reply){.fill = fill});
  fake_submit(s, f);
  struct gi_wait w;
  assert_false(f->answered);
  assert_true(gi_fop_waiting(f, &w) && w.why == GI_WAIT_CLIENT);
  assert_string_equal(w.what, "its word that it has heard of the change");
  assert_int_equal(strncmp(w.who, "client ", 7), 0);
  return f;
}

static void
answers(struct fake_stack *s, unsigned who, uint64_t serial)
{
  struct gi_fop *f = op(s, who, GI_FOP_IPC);
  f->args.what = 2;
  gi_dict_set_uint(gi_fop_xdata(f), GI_TAKEN_KEY, serial);
  fake_submit(s, f);
  assert_int_equal(f->rsp.ret, 0);
}

static void
test_a_change_waits_for_answers(void **state)
{
  struct fake_stack *s = stack(STRICT);
  const struct up_metrics *m = s->x->metrics;
  does(s, A, GI_FOP_STAT);
  does(s, C, GI_FOP_STAT); /* of GlusterFS: told, not waited for */
  struct gi_fop *f = waits(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 2);
  unsigned a = told[0].client == &client[A] ? 0 : 1;
  assert_true(told_serial[a] > 0);
  assert_int_equal(told_serial[!a], 0);
  answers(s, A, told_serial[a] + 1); /* of something else */
  answers(s, C, told_serial[a]);     /* of somebody else */
  assert_false(f->answered);
  answers(s, A, told_serial[a]);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
  answers(s, A, told_serial[a]); /* again */
  assert_int_equal(m->waited, 1);
  assert_int_equal(m->unanswered, 0);
  fake_stack_free(s);
}

static void
test_patience_ends(void **state)
{
  struct fake_stack *s = stack(STRICT "option cache-invalidation-timeout 3\n");
  const struct up_metrics *m = s->x->metrics;
  does(s, A, GI_FOP_STAT);
  struct gi_fop *f = waits(s, C, GI_FOP_WRITE);
  fake_wait(s, 500 * GI_NSEC_PER_MSEC);
  assert_false(f->answered); /* A may still trust what it knows */
  fake_wait(s, 600 * GI_NSEC_PER_MSEC);
  assert_true(f->answered);
  assert_int_equal(m->unanswered, 1);
  does(s, C, GI_FOP_WRITE); /* it is told again, and not waited for */
  assert_int_equal(ntold, 2);
  answers(s, A, told_serial[0]); /* it is well again */
  f = waits(s, C, GI_FOP_WRITE);
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[A]);
  fake_settle(s);
  assert_true(f->answered);
  fake_stack_free(s);
}

/* Two that change the same file at once do not wait for each other. */
static void
test_changes_that_meet(void **state)
{
  struct fake_stack *s = stack(STRICT);
  does(s, A, GI_FOP_STAT);
  struct gi_fop *f = waits(s, B, GI_FOP_WRITE);
  struct gi_fop *lock = op(s, A, GI_FOP_FINODELK); /* A is about to change it */
  lock->args.cmd = GI_LKCMD_SET;
  fake_submit(s, lock);
  assert_true(f->answered);

  lock = op(s, A, GI_FOP_FINODELK); /* A waits for B, and so does whatever it would have to let go of */
  lock->args.cmd = GI_LKCMD_SETW;
  fake_script(s, 0, GI_FOP_FINODELK, (struct fake_reply){.hold = true});
  fake_submit(s, lock);
  does(s, B, GI_FOP_WRITE);
  assert_int_equal(ntold, 2);
  assert_int_equal(told_serial[1], 0);
  assert_true(fake_release(s, 0, GI_FOP_FINODELK, 0, 0));
  assert_true(lock->answered);
  ntold = 1;

  struct gi_fop *first = op(s, A, GI_FOP_WRITE);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  fake_submit(s, first);
  does(s, B, GI_FOP_WRITE); /* A is doing so */
  assert_int_equal(ntold, 2);
  assert_int_equal(told_serial[1], 0);
  first->rsp.post = attr(FILE_, S_IFREG | 0644);
  assert_true(fake_release(s, 0, GI_FOP_WRITE, 0, 0));
  assert_false(first->answered); /* B changes nothing now */
  answers(s, B, told_serial[2]);
  assert_true(first->answered);
  fake_stack_free(s);
}

static void
test_a_strict_one_is_switched_off(void **state)
{
  struct fake_stack *s = stack(STRICT);
  does(s, A, GI_FOP_STAT);
  struct gi_fop *f = waits(s, B, GI_FOP_WRITE);
  set(s, "cache-invalidation", "off");
  fake_settle(s);
  assert_true(f->answered);
  assert_false(s->x->enabled);
  set(s, "cache-invalidation", "on");
  does(s, A, GI_FOP_STAT);
  f = waits(s, B, GI_FOP_WRITE);
  gi_notify(s->x, GI_EVENT_PARENT_DOWN, NULL);
  fake_settle(s);
  assert_true(f->answered);
  fake_stack_free(s);
}

/* Up to a limit of answers that are missing; each change beyond it keeps its place, of which there are so many. None is answered before
 * its time. */
static void
test_a_change_that_waits_needs_no_worker(void **state)
{
  struct fake_stack *s = stack(STRICT);
  struct gi_fop *f[UP_IDLE_MAX + 2];
  does(s, A, GI_FOP_STAT);
  for (unsigned i = 0; i < GI_ARRAY_LEN(f); i++) {
    ntold = 0;
    fake_forget_seen(s);
    no_worker = NULL;
    f[i] = waits(s, B, GI_FOP_WRITE);
    assert_ptr_equal(no_worker, i < UP_IDLE_MAX ? f[i] : NULL);
  }
  gi_notify(s->x, GI_EVENT_CLIENT_GONE, &client[A]);
  for (unsigned i = 0; i < GI_ARRAY_LEN(f); i++)
    assert_true(f[i]->answered);
  no_worker = NULL;
  does(s, B, GI_FOP_WRITE); /* for nobody */
  assert_null(no_worker);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_change_waits_for_answers),
      cmocka_unit_test(test_patience_ends),
      cmocka_unit_test(test_changes_that_meet),
      cmocka_unit_test(test_a_strict_one_is_switched_off),
      cmocka_unit_test(test_a_change_that_waits_needs_no_worker),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
