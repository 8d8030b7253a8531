/* SPDX-License-Identifier: Apache-2.0
 *
 * Fans: counting, kept replies, several operations to one child, and who owns
 * what.
 */
#include "tests/unit/fake.h"

#include "libglusterish/fan.h"

#include <errno.h>

#define CHILDREN 5

static const struct gi_xlator_class spread_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/spread",
    .summary = "has children",
    .min_children = 1,
    .max_children = CHILDREN,
};

static struct {
  unsigned done, each, sent, answered, ended;
  unsigned tags;
} seen;

static void
all_in(struct gi_fan *fan)
{
  assert_ptr_equal(fan->arg, &seen);
  assert_int_equal(fan->outstanding, 0);
  seen.done++;
}

static void
count_each(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
  assert_int_equal(reply->child, child);
  seen.each++;
  seen.tags |= 1u << tag;
}

static void
note_sent(struct gi_xlator *x)
{
  seen.sent++;
}

static void
note_answered(struct gi_xlator *x, unsigned child, struct gi_fop *reply)
{
  assert_int_equal(reply->child, child);
  seen.answered++;
}

static void
note_ended(struct gi_xlator *x)
{
  seen.ended++;
}

static int
smallest(int have, int next)
{
  return have && have < next ? have : next;
}

static const struct gi_fan_ops ops = {.sent = note_sent, .answered = note_answered, .ended = note_ended, .merge = smallest};

static int
setup(void **state)
{
  gi_class_register(&spread_class);
  memset(&seen, 0, sizeof(seen));
  *state = fake_stack_new("test/spread", NULL, CHILDREN);
  return 0;
}

static int
teardown(void **state)
{
  fake_stack_free(*state);
  return 0;
}

static void
script_failure(struct fake_stack *s, unsigned child, int err)
{
  fake_script(s, child, GI_FOP_STAT, (struct fake_reply){.ret = -1, .err = err});
}

/* Copies of one operation; `ops` of the translator or none. */
static void
ask(struct fake_stack *s, struct gi_fan *fan, const struct gi_fan_ops *with, uint64_t mask)
{
  gi_fan_start(fan, s->x, with, all_in, &seen);
  gi_fan_copy(fan, fake_fop(s, GI_FOP_STAT), mask);
  fake_settle(s);
}

static void
counts_who_succeeded_and_who_failed(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};

  script_failure(s, 1, ESTALE);
  script_failure(s, 3, ENOENT);
  ask(s, &fan, NULL, 0x1b);
  assert_int_equal(seen.done, 1);
  assert_int_equal(fan.sent, 0x1b);
  assert_int_equal(fan.ok, 0x11);
  assert_int_equal(fan.failed, 0x0a);
  assert_int_equal(fan.err, ENOENT); /* the later one */
  assert_int_equal(gi_fan_reply(&fan, 1)->rsp.err, ESTALE);
  assert_int_equal(gi_fan_reply(&fan, 4)->rsp.ret, 0);
  assert_null(gi_fan_reply(&fan, 2)); /* not asked */
  assert_int_equal(gi_fan_same_errno(&fan, 0x0a), 0);
  assert_int_equal(gi_fan_same_errno(&fan, 0x08), ENOENT);
  assert_int_equal(gi_fan_same_errno(&fan, 0x0c), 0);
  gi_fan_clear(&fan);
  assert_null(gi_fan_reply(&fan, 4));
}

static void
is_done_once_when_children_answer_from_inside(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};

  gi_fan_start(&fan, s->x, NULL, all_in, &seen);
  for (unsigned i = 0; i < 3; i++)
    gi_fan_send(&fan, gi_fan_child(fake_fop(s, GI_FOP_STAT), NULL), i, 0);
  assert_int_equal(seen.done, 0);
  assert_int_equal(fan.ok, 7);
  gi_fan_finish(&fan);
  assert_int_equal(seen.done, 1);
  gi_fan_clear(&fan);
}

static void
nobody_asked_is_done_at_once(void **state)
{
  struct gi_fan fan = {0};

  ask(*state, &fan, NULL, 0);
  assert_int_equal(seen.done, 1);
  assert_int_equal(fan.sent, 0);
}

static void
waits_for_the_slowest(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};

  fake_script(s, 2, GI_FOP_STAT, (struct fake_reply){.hold = true});
  ask(s, &fan, NULL, 7);
  assert_int_equal(seen.done, 0);
  assert_int_equal(fan.outstanding, 1);
  fake_release(s, 2, GI_FOP_STAT, -1, 0);
  fake_settle(s);
  assert_int_equal(seen.done, 1);
  assert_int_equal(gi_fan_reply(&fan, 2)->rsp.err, EIO); /* a failure without a reason gets one */
  gi_fan_clear(&fan);
}

static void
several_operations_to_one_child(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};

  script_failure(s, 1, EAGAIN);
  gi_fan_start(&fan, s->x, NULL, all_in, &seen);
  fan.each = count_each;
  for (unsigned tag = 0; tag < 3; tag++)
    gi_fan_send(&fan, gi_fan_child(fake_fop(s, GI_FOP_STAT), NULL), 1, tag);
  gi_fan_finish(&fan);
  fake_settle(s);
  assert_int_equal(seen.each, 3);
  assert_int_equal(seen.tags, 7);
  assert_int_equal(fan.ok, 2); /* at least one success, at least one failure */
  assert_int_equal(fan.failed, 2);
  assert_null(gi_fan_reply(&fan, 1)); /* nothing is kept */
}

static void
the_translator_hears_of_everything(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};

  script_failure(s, 0, ESTALE);
  script_failure(s, 1, ENOENT);
  script_failure(s, 2, ENOTCONN);
  ask(s, &fan, &ops, 0x1f);
  assert_int_equal(seen.sent, 5);
  assert_int_equal(seen.answered, 5);
  assert_int_equal(seen.ended, 5);
  assert_int_equal(fan.err, ENOENT); /* as it merges them */
  gi_fan_clear(&fan);
}

static void
refused_counts_as_answered(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};

  gi_fan_start(&fan, s->x, &ops, all_in, &seen);
  gi_fan_refuse(&fan, gi_fan_child(fake_fop(s, GI_FOP_STAT), NULL), 2, ENOTCONN);
  gi_fan_finish(&fan);
  assert_int_equal(seen.done, 1);
  assert_int_equal(seen.ended, 1);
  assert_int_equal(fan.failed, 4);
  assert_int_equal(gi_fan_reply(&fan, 2)->rsp.err, ENOTCONN);
  assert_int_equal(fake_count(s, 2, GI_FOP_STAT), 0);
  gi_fan_clear(&fan);
}

static void
replies_change_hands(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fan fan = {0};
  struct gi_fop *reply;

  gi_fan_clear(&fan); /* never started */
  ask(s, &fan, NULL, 3);
  reply = gi_fan_take(&fan, 1);
  assert_non_null(reply);
  assert_null(gi_fan_reply(&fan, 1));
  assert_null(gi_fan_take(&fan, 1));
  gi_fan_keep(&fan, 4, reply);
  assert_ptr_equal(gi_fan_reply(&fan, 4), reply);
  gi_fan_clear(&fan);
  ask(s, &fan, NULL, 1); /* and again */
  assert_int_equal(seen.done, 2);
  gi_fan_clear(&fan);
}

static void
other_xdata_for_the_copies(void **state)
{
  struct fake_stack *s = *state;
  struct gi_fop *fop = fake_fop(s, GI_FOP_STAT);
  struct gi_dict *xdata = gi_dict_new();
  struct gi_fan fan = {0};

  gi_dict_set_str(xdata, "key", "value");
  gi_fan_start(&fan, s->x, NULL, all_in, &seen);
  gi_fan_copy_with(&fan, fop, xdata, 3);
  fake_settle(s);
  assert_ptr_equal(gi_fan_reply(&fan, 1)->xdata, xdata);
  assert_null(fop->xdata);
  gi_fan_clear(&fan);
  gi_dict_unref(&xdata);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(counts_who_succeeded_and_who_failed), TEST(is_done_once_when_children_answer_from_inside),
      TEST(nobody_asked_is_done_at_once),        TEST(waits_for_the_slowest),
      TEST(several_operations_to_one_child),     TEST(the_translator_hears_of_everything),
      TEST(refused_counts_as_answered),          TEST(replies_change_hands),
      TEST(other_xdata_for_the_copies),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
