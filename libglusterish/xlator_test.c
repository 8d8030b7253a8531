/* SPDX-License-Identifier: Apache-2.0
 *
 * What the core does for translators: which way events go, and held operations.
 */
#include "tests/unit/fake.h"

#include <errno.h>

/* ---- a translator that hears events ---- */

static struct {
  bool handled;
  unsigned heard[GI_EVENT_MAX];
} ear;

static bool
ear_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  ear.heard[event]++;
  return ear.handled;
}

static const struct gi_xlator_class ear_class = {
    .abi = GI_XLATOR_ABI, .type = "test/ear", .min_children = 1, .max_children = 1, .notify = ear_notify};
static const struct gi_xlator_class deaf_class = {
    .abi = GI_XLATOR_ABI, .type = "test/deaf", .min_children = 1, .max_children = 1};

/* Sends the event to x from where it comes from. */
static void
send_event(struct fake_stack *s, enum gi_event event)
{
  memset(s->events, 0, sizeof(s->events));
  memset(s->below, 0, sizeof(s->below));
  memset(ear.heard, 0, sizeof(ear.heard));
  if (gi_event_table[event].way == GI_WAY_UP)
    fake_event(s, 0, event, NULL);
  else if (gi_event_table[event].way == GI_WAY_DOWN)
    gi_notify_down(s->parent, event, NULL);
  else
    gi_notify(s->x, event, NULL);
}

static void
check_forwarded(struct fake_stack *s, enum gi_event event)
{
  enum gi_event_way way = gi_event_table[event].way;

  send_event(s, event);
  if (s->events[event] != (way == GI_WAY_UP) || s->below[event] != (way == GI_WAY_DOWN))
    fail_msg("%s: %u above, %u below", gi_event_table[event].name, s->events[event], s->below[event]);
}

static void
test_event_names(void **state)
{
  for (unsigned e = 0; e < GI_EVENT_MAX; e++)
    assert_non_null(gi_event_table[e].name);
}

/* MEASURE among them: sent up again, it would come down again from cluster/replicate, without end. */
static void
test_events_pass_who_does_not_listen(void **state)
{
  gi_class_register(&deaf_class);

  struct fake_stack *s = fake_stack_new("test/deaf", NULL, 1);

  for (unsigned e = 0; e < GI_EVENT_MAX; e++)
    check_forwarded(s, e);
  fake_stack_free(s);
}

static void
test_events_go_on_unless_handled(void **state)
{
  gi_class_register(&ear_class);
  ear.handled = false;

  struct fake_stack *s = fake_stack_new("test/ear", NULL, 1);

  for (unsigned e = 0; e < GI_EVENT_MAX; e++) {
    ear.handled = false;
    check_forwarded(s, e);
    assert_int_equal(ear.heard[e], 1);
    ear.handled = true;
    send_event(s, e);
    assert_int_equal(ear.heard[e] + s->events[e] + s->below[e], 1);
  }
  ear.handled = false;
  fake_stack_free(s);
}

/* ---- held operations ---- */

static struct {
  struct gi_fop *held;
  unsigned told;
} later;

static enum gi_verdict
later_stat(struct gi_xlator *x, struct gi_fop *fop)
{
  later.held = fop;
  return GI_HELD;
}

static enum gi_verdict
later_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  later.told++;
  return GI_PASS;
}

static const struct gi_xlator_class later_class = {.abi = GI_XLATOR_ABI,
                                                   .type = "test/later",
                                                   .min_children = 1,
                                                   .max_children = 1,
                                                   .on = {[GI_FOP_STAT] = later_stat},
                                                   .complete = later_complete};

/* A STAT that was held and for which the handler has now said this. */
static struct gi_fop *
resumed(struct fake_stack *s, enum gi_verdict verdict)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_STAT);

  later.told = 0;
  fake_forget_seen(s);
  gi_loc_set_inode(&f->loc, fake_inode(s, 1));
  fake_submit(s, f);
  assert_ptr_equal(later.held, f);
  if (verdict == GI_ANSWERED)
    gi_fop_fail(f, EPERM);
  gi_fop_resume(f, s->x, verdict);
  return f;
}

static void
test_each_verdict_is_carried_out(void **state)
{
  gi_class_register(&later_class);

  struct fake_stack *s = fake_stack_new("test/later", NULL, 1);
  struct gi_fop *f = resumed(s, GI_PASS);

  assert_true(f->answered && fake_count(s, 0, GI_FOP_STAT) == 1 && later.told == 0);
  f = resumed(s, GI_PASS_TELL);
  assert_true(f->answered && fake_count(s, 0, GI_FOP_STAT) == 1 && later.told == 1);
  f = resumed(s, GI_ANSWERED);
  assert_true(f->answered && fake_count(s, 0, GI_FOP_STAT) == 0 && f->rsp.err == EPERM);
  f = resumed(s, GI_HELD);
  assert_false(f->answered);
  gi_fop_resume(f, s->x, GI_PASS);
  assert_true(f->answered);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_event_names),
      cmocka_unit_test(test_events_pass_who_does_not_listen),
      cmocka_unit_test(test_events_go_on_unless_handled),
      cmocka_unit_test(test_each_verdict_is_carried_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
