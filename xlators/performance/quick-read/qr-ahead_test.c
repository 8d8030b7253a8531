/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/quick-read: content that comes before the open, and what a promise
 * of bricks saves.
 */
#include "xlators/performance/quick-read/qr-rig.h"

static void
serve_lookup(struct gi_fop *fop, void *arg)
{
  struct gi_inode *found = arg;
  serve_open(fop, NULL);
  fop->rsp.stat = brick.at;
  fop->rsp.stat.gfid = found->gfid;
}

static struct gi_fop *
look_up_held(struct fake_stack *s, bool held)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  fake_script(s, 0, GI_FOP_LOOKUP,
              (struct fake_reply){.hold = held, .fill = held ? NULL : serve_lookup, .arg = fake_inode(s, FILE_A)});
  gi_fop_set_entry(f, &f->loc, fake_inode(s, 1), "name");
  fake_submit(s, f);
  if (held)
    serve_lookup(f, fake_inode(s, FILE_A));
  return f;
}

static void
look_up(struct fake_stack *s)
{
  look_up_held(s, false);
}

static void
forget_content(struct fake_stack *s)
{
  struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
  fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
}

static void
look_open_read(struct fake_stack *s)
{
  forget_content(s);
  look_up(s);
  struct open_file o = open_file(s, O_RDONLY);
  check_read(s, o.fd, true);
  shut(s, &o);
}

#define LEASE_S 1

static struct fake_stack *
strict(bool earned)
{
  struct fake_stack *s = stack(NULL);
  s->graph->promise = 3 * LEASE_S;
  s->graph->strict = true;
  if (earned) {
    look_open_read(s);
    look_open_read(s);
    assert_int_equal(metric(s, AHEAD), 0);
  }
  return s;
}

static void
test_who_opens_what_he_looks_up_gets_it_with_that(void **state)
{
  struct fake_stack *s = strict(true);
  unsigned asked = brick.asked;
  for (unsigned i = 0; i < 10; i++)
    look_open_read(s);
  assert_int_equal(brick.asked - asked, 10); /* by the lookup; the open asked for nothing */
  assert_int_equal(metric(s, AHEAD), 10);
  fake_stack_free(s);
}

static void
test_who_only_looks_is_not_sent_it(void **state)
{
  struct fake_stack *s = strict(true);
  unsigned asked = brick.asked;
  for (unsigned i = 0; i < 100; i++) {
    forget_content(s);
    look_up(s);
  }
  assert_true(brick.asked - asked < 10);
  fake_stack_free(s);
}

/* Without a promise, or where a brick does not wait until we have heard, an open has to ask. */
static void
test_only_strict_bricks_are_asked_ahead(void **state)
{
  struct fake_stack *s = strict(true);
  s->graph->strict = false;
  look_open_read(s);
  assert_int_equal(metric(s, AHEAD), 0);
  fake_stack_free(s);
}

/* A brick tells of a change while another one has yet to answer: of this file, or of one that is not known yet. */
static void
test_what_was_told_during_a_lookup_counts(void **state)
{
  for (unsigned i = 0; i < 2; i++) {
    struct fake_stack *s = strict(true);
    struct gi_invalidation inv = {.gfid = fake_inode(s, FILE_A)->gfid};
    forget_content(s);
    look_up_held(s, true);
    if (i == 1)
      memset(&inv.gfid, 0x99, sizeof(inv.gfid));
    fake_event(s, 0, GI_EVENT_INVALIDATE, &inv);
    assert_true(fake_release(s, 0, GI_FOP_LOOKUP, 0, 0));
    assert_int_equal(metric(s, AHEAD), 0);
    rewrite('b');
    struct open_file o = open_file(s, O_RDONLY);
    check_read(s, o.fd, true);
    shut(s, &o);
    fake_stack_free(s);
  }
}

/* For a third of the promise an open need not ask, and not when it ends. */
static void
test_a_promise_holds_for_a_third_of_it(void **state)
{
  struct fake_stack *s = strict(false);
  struct open_file o = open_read(s);
  shut(s, &o);
  o = open_file(s, O_RDONLY);
  assert_int_equal(brick.asked, 1);
  shut(s, &o);
  fake_wait(s, LEASE_S * GI_NSEC_PER_SEC + 100 * GI_NSEC_PER_MSEC);
  rewrite('b');
  o = open_file(s, O_RDONLY);
  assert_int_equal(brick.asked, 2);
  check_read(s, o.fd, true);
  s->graph->promise = 0;
  fake_event(s, 0, GI_EVENT_PROMISE, &(struct gi_promised){.seconds = 0});
  rewrite('c');
  check_read(s, o.fd, false);
  shut(s, &o);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_who_opens_what_he_looks_up_gets_it_with_that),
      cmocka_unit_test(test_who_only_looks_is_not_sent_it),
      cmocka_unit_test(test_only_strict_bricks_are_asked_ahead),
      cmocka_unit_test(test_what_was_told_during_a_lookup_counts),
      cmocka_unit_test(test_a_promise_holds_for_a_third_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
