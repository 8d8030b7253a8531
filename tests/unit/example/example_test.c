/* SPDX-License-Identifier: Apache-2.0
 *
 * The test of the worked example of a cache: what a cache's test has to show.
 */
#include "tests/unit/fake.h"

#include <errno.h>

extern const struct gi_xlator_class gi_xlator_export; /* linked in: this one is not installed */

#define BLOCK 4096u
#define FILE_A 5
#define FILE_B 6

enum { HITS, MISSES, DROPPED };

static struct gi_buf *last; /* of the child's last reply */

static void
fill(struct gi_fop *fop, void *arg)
{
  struct gi_buf *buf = gi_buf_new(BLOCK);
  memset(buf->base, 'x', BLOCK);
  gi_payload_add(&fop->rsp.payload, buf, buf->base, BLOCK);
  last = buf;
  gi_buf_unref(&buf);
}

static int
setup(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/example", NULL, 1);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.ret = BLOCK, .fill = fill});
  *state = s;
  return 0;
}

static int
teardown(void **state)
{
  struct fake_stack *s = *state;
  fake_stack_free(s);
  return 0;
}

static struct gi_fop *
request(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file, uint64_t offset)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, file));
  f->args.offset = offset;
  f->args.size = BLOCK;
  return f;
}

static struct gi_fop *
submit(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file, uint64_t offset)
{
  struct gi_fop *f = request(s, kind, file, offset);
  fake_submit(s, f);
  return f;
}

static unsigned
reads(struct fake_stack *s)
{
  return fake_count(s, 0, GI_FOP_READ);
}

static uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/example", "option cache-timeout 0\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_the_same_read_is_answered_by_reference(void **state)
{
  struct fake_stack *s = *state;
  submit(s, GI_FOP_READ, FILE_A, 0);
  struct gi_fop *f = submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(f->rsp.ret, BLOCK);
  assert_ptr_equal(f->rsp.payload.slice[0].buf, last);
  assert_int_equal(reads(s), 1);
  assert_int_equal(metric(s, HITS), 1);
  submit(s, GI_FOP_READ, FILE_A, BLOCK);
  submit(s, GI_FOP_READ, FILE_B, 0);
  assert_int_equal(reads(s), 3);
}

static void
test_our_own_change_is_seen(void **state)
{
  struct fake_stack *s = *state;
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_WRITE, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 2);
}

/* What is read while a change is under way may be old when that ends. */
static void
test_what_is_read_during_a_change_is_not_kept(void **state)
{
  struct fake_stack *s = *state;
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  submit(s, GI_FOP_WRITE, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 2);
  assert_true(fake_release(s, 0, GI_FOP_WRITE, BLOCK, 0));
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 3);
}

static void
test_somebody_elses_change_is_seen(void **state)
{
  struct fake_stack *s = *state;
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_B, 0);
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_B, 0);
  assert_int_equal(reads(s), 3);
  assert_int_equal(s->events[GI_EVENT_INVALIDATE], 1); /* others want to know too */
}

static void
test_a_brick_that_goes_takes_all_along(void **state)
{
  struct fake_stack *s = *state;
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_B, 0);
  fake_event(s, 0, GI_EVENT_CHILD_DOWN, NULL);
  assert_int_equal(metric(s, DROPPED), 2);
  fake_event(s, 0, GI_EVENT_CHILD_UP, NULL);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 3);
}

static void
test_drained_it_has_nothing(void **state)
{
  struct fake_stack *s = *state;
  submit(s, GI_FOP_READ, FILE_A, 0);
  gi_xlator_enable(s->x, false);
  assert_false(s->x->enabled); /* at once: there is nothing to wait for */
  assert_int_equal(metric(s, DROPPED), 1);
  gi_xlator_enable(s->x, true);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 2);
}

/* Bytes that replies pin are drawn from the process's budget, and given back when it wants them. */
static void
test_the_budget_gets_its_memory_back(void **state)
{
  struct fake_stack *s = *state;
  uint64_t before = s->ctx.budget.used;
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_true(s->ctx.budget.used >= before + BLOCK);
  gi_budget_set_limit(&s->ctx.budget, 1);
  fake_settle(s);
  assert_true(s->ctx.budget.used <= before);
  gi_budget_set_limit(&s->ctx.budget, 0);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 2);
}

static void
test_it_is_read_again_in_time(void **state)
{
  struct fake_stack *s = fake_stack_new("performance/example", "option cache-timeout 0\n", 1);
  fake_script_always(s, 0, GI_FOP_READ, (struct fake_reply){.ret = BLOCK, .fill = fill});
  submit(s, GI_FOP_READ, FILE_A, 0);
  submit(s, GI_FOP_READ, FILE_A, 0);
  assert_int_equal(reads(s), 2);
  fake_stack_free(s);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      TEST(test_the_same_read_is_answered_by_reference),
      TEST(test_our_own_change_is_seen),
      TEST(test_what_is_read_during_a_change_is_not_kept),
      TEST(test_somebody_elses_change_is_seen),
      TEST(test_a_brick_that_goes_takes_all_along),
      TEST(test_drained_it_has_nothing),
      TEST(test_the_budget_gets_its_memory_back),
      cmocka_unit_test(test_it_is_read_again_in_time),
  };
  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
