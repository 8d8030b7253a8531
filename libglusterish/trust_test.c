/* SPDX-License-Identifier: Apache-2.0
 *
 * What may be believed of an inode: through attributes, changes of ours alone
 * and at once, changes of others, locks and names.
 */
#include "libglusterish/trust.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

#define UNTIL 1000

static const struct gi_gfid file = {{7}};
static struct gi_trust_order order;
static struct gi_trust t;

static struct gi_iatt
at(uint64_t size, int64_t time)
{
  return (struct gi_iatt){.gfid = file,
                          .flags = GI_IATT_BASIC,
                          .mode = S_IFREG | 0644,
                          .nlink = 1,
                          .size = size,
                          .mtime = {.sec = time},
                          .ctime = {.sec = time}};
}

static enum gi_trust_verdict
seen(uint64_t size, int64_t time)
{
  struct gi_iatt a = at(size, time);

  return gi_trust_attributes(&order, &t, &file, &a, order.clock);
}

static bool
ended(uint64_t began, uint64_t found, uint64_t left, struct gi_trust_change c)
{
  struct gi_iatt before = at(found, (int64_t)found), after = at(left, (int64_t)left);

  c.kind = GI_TRUST_CHANGE_TOLD;
  c.found = &before;
  c.left = &after;
  c.until = UNTIL;
  return gi_trust_change_ended(&order, &t, &file, began, &c);
}

static bool
written(uint32_t changes, uint64_t found, uint64_t left, struct gi_trust_change c)
{
  struct gi_iatt before = at(found, (int64_t)found), after = at(left, (int64_t)left);

  c.kind = GI_TRUST_CHANGE_TOLD;
  c.found = &before;
  c.left = &after;
  c.until = UNTIL;
  return gi_trust_written(&order, &t, &file, changes, &c);
}

static bool
lost(uint32_t changes)
{
  return gi_trust_written(&order, &t, &file, changes, &(struct gi_trust_change){.kind = GI_TRUST_CHANGE_FAILED});
}

/* Begun, and answered before the bricks have them. */
static void
deferred(uint32_t n)
{
  while (n-- > 0) {
    gi_trust_change_begins(&order, &t);
    gi_trust_change_deferred(&t);
  }
}

static int
setup(void **state)
{
  order = (struct gi_trust_order){0};
  t = (struct gi_trust){0};
  assert_int_equal(seen(1, 1), GI_TRUST_UNTOLD); /* for the first time */
  assert_int_equal(seen(1, 1), GI_TRUST_OURS);
  return 0;
}

static void
test_attributes(void **state)
{
  struct gi_iatt a = at(2, 2);

  a.gfid.b[0] = 8;
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &a, 0), GI_TRUST_UNTOLD); /* of another file */
  assert_int_equal(seen(1, 1), GI_TRUST_OURS);
  assert_int_equal(seen(2, 1), GI_TRUST_FOREIGN);
  assert_false(gi_trust_take_data(&t));
  assert_true(gi_trust_take_data(&t)); /* once */
  assert_int_equal(seen(2, 1), GI_TRUST_OURS);
  assert_int_equal(seen(2, 2), GI_TRUST_FOREIGN);
  assert_int_equal(t.attr.size, 2);
  a = at(2, 2);
  assert_false(gi_trust_mode(&t, &file, &a));
  a.mode = S_IFREG | 0600;
  assert_true(gi_trust_mode(&t, &file, &a));
  assert_int_equal(t.attr.mode, S_IFREG | 0600);
}

static void
test_change_alone(void **state)
{
  uint64_t until = 0, began = gi_trust_change_begins(&order, &t), before = order.clock - 1;
  struct gi_iatt a = at(1, 1);

  assert_false(gi_trust_settled(&t, order.clock));
  assert_int_equal(seen(2, 2), GI_TRUST_UNTOLD); /* under way: before or after? */
  assert_true(ended(began, 1, 2, (struct gi_trust_change){0}));
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &a, before), GI_TRUST_UNTOLD); /* asked before it */
  assert_int_equal(gi_trust_answer(&order, &t, UNTIL - 1, &until)->size, 2);
  assert_int_equal(until, UNTIL);
  assert_null(gi_trust_answer(&order, &t, UNTIL, &until));
  assert_int_equal(seen(2, 2), GI_TRUST_OURS);
  assert_false(ended(gi_trust_change_begins(&order, &t), 5, 6, (struct gi_trust_change){0})); /* somebody wrote between */
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_false(gi_trust_take_data(&t));
  assert_int_equal(seen(6, 6), GI_TRUST_OURS);
}

/* In which order they came does not matter, nor what was seen between. */
static void
test_changes_at_once(void **state)
{
  uint64_t a = gi_trust_change_begins(&order, &t), b = gi_trust_change_begins(&order, &t), until;

  assert_true(ended(b, 2, 3, (struct gi_trust_change){0}));
  assert_true(ended(a, 1, 2, (struct gi_trust_change){0}));
  assert_null(gi_trust_answer(&order, &t, 0, &until)); /* what the other left was not kept */
  assert_int_equal(seen(3, 3), GI_TRUST_OURS);
  a = gi_trust_change_begins(&order, &t);
  b = gi_trust_change_begins(&order, &t);
  assert_true(ended(a, 3, 4, (struct gi_trust_change){0}));
  assert_true(ended(b, 9, 10, (struct gi_trust_change){0})); /* not from where the other left */
  assert_int_equal(seen(10, 10), GI_TRUST_FOREIGN);
  a = gi_trust_change_begins(&order, &t);
  b = gi_trust_change_begins(&order, &t);
  assert_true(ended(a, 10, 11, (struct gi_trust_change){.unordered = true}));
  assert_true(ended(b, 10, 12, (struct gi_trust_change){.unordered = true}));
  assert_int_equal(seen(12, 12), GI_TRUST_OURS); /* nobody else is there */
}

/* The last of several to end left what all of them came to: nobody was there but us, and nothing has come since. */
static void
test_last_of_many_is_remembered(void **state)
{
  uint64_t a = gi_trust_change_begins(&order, &t), b = gi_trust_change_begins(&order, &t), until = 0;

  assert_true(ended(a, 1, 2, (struct gi_trust_change){0}));
  assert_true(ended(b, 2, 3, (struct gi_trust_change){0}));
  assert_int_equal(gi_trust_answer(&order, &t, 0, &until)->size, 3);
  a = gi_trust_change_begins(&order, &t);
  b = gi_trust_change_begins(&order, &t);
  assert_true(gi_trust_change_ended(&order, &t, &file, a, &(struct gi_trust_change){.kind = GI_TRUST_CHANGE_FAILED}));
  assert_true(ended(b, 3, 4, (struct gi_trust_change){0}));
  assert_null(gi_trust_answer(&order, &t, 0, &until)); /* the failed one may have come after it, in part */
  a = gi_trust_change_begins(&order, &t);
  gi_trust_touched(&order, &t);
  assert_true(ended(a, 4, 5, (struct gi_trust_change){0}));
  assert_null(gi_trust_answer(&order, &t, 0, &until));
}

static void
test_early_answers_keep_it_unsettled(void **state)
{
  uint64_t until = 0;

  deferred(3);
  assert_int_equal(t.inflight, 3);
  assert_false(gi_trust_settled(&t, order.clock));
  assert_int_equal(seen(9, 9), GI_TRUST_UNTOLD); /* what is told of it meanwhile is what it will be */
  assert_int_equal(t.attr.size, 9);
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_true(written(3, 1, 4, (struct gi_trust_change){0})); /* three in one: they were alone */
  assert_true(gi_trust_settled(&t, order.clock));
  assert_int_equal(gi_trust_answer(&order, &t, UNTIL - 1, &until)->size, 4);
  assert_int_equal(seen(4, 4), GI_TRUST_OURS);
  assert_true(gi_trust_take_data(&t));
  deferred(2);
  assert_true(written(1, 4, 5, (struct gi_trust_change){0}));
  assert_false(gi_trust_settled(&t, order.clock));
  assert_true(written(1, 5, 6, (struct gi_trust_change){0}));
  assert_int_equal(seen(6, 6), GI_TRUST_OURS);
}

static void
test_foreign_change_between_batches(void **state)
{
  deferred(2);
  assert_false(written(2, 3, 5, (struct gi_trust_change){0})); /* somebody made 3 of it before */
  assert_false(gi_trust_take_data(&t));
  assert_int_equal(seen(5, 5), GI_TRUST_OURS);
  deferred(2); /* one goes out while the other gathers */
  assert_true(written(1, 5, 6, (struct gi_trust_change){0}));
  deferred(1);
  assert_true(written(2, 8, 9, (struct gi_trust_change){0})); /* another order, or somebody else: the end tells */
  assert_int_equal(seen(9, 9), GI_TRUST_FOREIGN);
  deferred(1);
  assert_false(written(1, 9, 12, (struct gi_trust_change){.elsewhere = true})); /* appended behind somebody's record */
  assert_false(gi_trust_take_data(&t));
}

static void
test_two_batches_at_once(void **state)
{
  uint64_t until = 0;

  deferred(2);
  assert_true(written(1, 2, 3, (struct gi_trust_change){0})); /* the second was quicker … */
  assert_true(written(1, 1, 2, (struct gi_trust_change){0}));
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_int_equal(seen(3, 3), GI_TRUST_OURS); /* … which does not matter */
  deferred(4);
  assert_true(written(2, 3, 5, (struct gi_trust_change){0}));
  assert_true(written(2, 5, 7, (struct gi_trust_change){0}));
  assert_int_equal(gi_trust_answer(&order, &t, 0, &until)->size, 7);
}

static void
test_change_that_waits_among_early_ones(void **state)
{
  uint64_t until = 0, began;

  deferred(1);
  began = gi_trust_change_begins(&order, &t);
  deferred(1);
  assert_true(ended(began, 2, 3, (struct gi_trust_change){0}));
  assert_true(written(2, 1, 4, (struct gi_trust_change){0})); /* it went between them */
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_int_equal(seen(9, 9), GI_TRUST_FOREIGN); /* and so what both left cannot be all */
  deferred(1);
  began = gi_trust_change_begins(&order, &t);
  assert_true(written(1, 9, 10, (struct gi_trust_change){0}));
  assert_int_equal(seen(11, 11), GI_TRUST_UNTOLD);
  assert_true(ended(began, 10, 11, (struct gi_trust_change){0}));
  assert_int_equal(seen(11, 11), GI_TRUST_OURS);
}

/* It may have reached some bricks: the next attributes tell. */
static void
test_early_answers_that_are_lost(void **state)
{
  uint64_t until = 0;

  deferred(3);
  assert_true(lost(2));
  assert_true(written(1, 1, 2, (struct gi_trust_change){0}));
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_int_equal(seen(2, 2), GI_TRUST_OURS);
  deferred(1);
  assert_true(lost(1));
  assert_int_equal(seen(5, 5), GI_TRUST_FOREIGN);
}

static void
test_changes_that_do_not_tell(void **state)
{
  struct gi_trust_change c = {.kind = GI_TRUST_CHANGE_EMPTIED};
  struct gi_iatt other = at(1, 1);

  assert_true(gi_trust_change_ended(&order, &t, &file, gi_trust_change_begins(&order, &t), &c));
  assert_int_equal(seen(0, 7), GI_TRUST_OURS);
  c.kind = GI_TRUST_CHANGE_EMPTIED;
  assert_true(gi_trust_change_ended(&order, &t, &file, gi_trust_change_begins(&order, &t), &c));
  assert_int_equal(seen(1, 7), GI_TRUST_FOREIGN);
  c.kind = GI_TRUST_CHANGE_CTIME;
  assert_true(gi_trust_change_ended(&order, &t, &file, gi_trust_change_begins(&order, &t), &c));
  struct gi_iatt moved = at(1, 7);
  moved.ctime.sec = 8;
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &moved, order.clock), GI_TRUST_OURS);
  gi_trust_touched(&order, &t);
  moved.ctime.sec = 9;
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &moved, order.clock), GI_TRUST_OURS);
  c.kind = GI_TRUST_CHANGE_FAILED;
  assert_true(gi_trust_change_ended(&order, &t, &file, gi_trust_change_begins(&order, &t), &c));
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &moved, order.clock), GI_TRUST_OURS);
  other.gfid.b[0] = 8; /* the reply describes another */
  c = (struct gi_trust_change){.kind = GI_TRUST_CHANGE_TOLD, .found = &other, .left = &other};
  assert_true(gi_trust_change_ended(&order, &t, &file, gi_trust_change_begins(&order, &t), &c));
  assert_int_equal(t.attr.ctime.sec, 9);
}

static void
test_what_was_left_holds_until(void **state)
{
  uint64_t until, began;

  assert_true(ended(gi_trust_change_begins(&order, &t), 1, 2, (struct gi_trust_change){0}));
  assert_non_null(gi_trust_answer(&order, &t, 0, &until));
  order.names++; /* a link of it may have gone */
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_true(ended(gi_trust_change_begins(&order, &t), 2, 3, (struct gi_trust_change){0}));
  began = gi_trust_change_begins(&order, &t);
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  assert_true(ended(began, 3, 4, (struct gi_trust_change){0}));
  assert_non_null(gi_trust_answer(&order, &t, 0, &until));
  gi_trust_broken(&t, false);
  assert_null(gi_trust_answer(&order, &t, 0, &until));
}

/* What a rename left is told with its answer. */
static void
test_what_a_touch_left(void **state)
{
  struct gi_iatt left = at(1, 1), larger = at(2, 2), other = at(1, 1);
  uint64_t until;

  left.ctime.sec = larger.ctime.sec = 5;
  other.gfid.b[0] = 8;
  gi_trust_touched_to(&order, &t, &file, &other, UNTIL);
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  gi_trust_touched_to(&order, &t, &file, &larger, UNTIL); /* somebody else was there */
  assert_null(gi_trust_answer(&order, &t, 0, &until));
  gi_trust_touched_to(&order, &t, &file, &left, UNTIL);
  assert_int_equal(gi_trust_answer(&order, &t, UNTIL - 1, &until)->ctime.sec, 5);
  assert_null(gi_trust_answer(&order, &t, UNTIL, &until));
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &left, order.clock), GI_TRUST_OURS);
  gi_trust_change_begins(&order, &t);
  gi_trust_touched_to(&order, &t, &file, &left, UNTIL); /* the other may come after it */
  assert_null(gi_trust_answer(&order, &t, 0, &until));
}

static void
test_others(void **state)
{
  struct gi_iatt touched = at(1, 1), other = at(1, 1);

  touched.ctime.sec = 2;
  other.gfid.b[0] = 8;
  assert_true(gi_trust_has_data(&t, &file, &touched)); /* a change of mode */
  assert_false(gi_trust_has_data(&t, &file, &other));
  gi_trust_broken(&t, false);
  assert_true(gi_trust_take_data(&t));
  assert_int_equal(gi_trust_attributes(&order, &t, &file, &touched, order.clock), GI_TRUST_OURS);
  gi_trust_broken(&t, false);
  assert_int_equal(seen(5, 5), GI_TRUST_FOREIGN); /* they said no more than ctime */
  assert_false(gi_trust_take_data(&t));
  touched = at(6, 6);
  assert_false(gi_trust_has_data(&t, &file, &touched));
  gi_trust_broken(&t, true);
  assert_int_equal(seen(6, 6), GI_TRUST_UNTOLD);        /* the new truth */
  assert_false(gi_trust_has_data(&t, &file, &touched)); /* what is kept is older than that */
  assert_false(gi_trust_take_data(&t));
  assert_true(gi_trust_has_data(&t, &file, &touched));
  gi_trust_broken(&t, true);
  gi_trust_forget(&t);
  assert_true(gi_trust_take_data(&t));
  assert_false(ended(gi_trust_change_begins(&order, &t), 5, 6, (struct gi_trust_change){.elsewhere = true}));
  assert_false(gi_trust_take_data(&t));
}

static void
test_locks(void **state)
{
  assert_true(gi_trust_since_lock(&order, &t));
  assert_false(gi_trust_look_for_lock(&order, &t));
  order.locks++;
  assert_false(gi_trust_since_lock(&order, &t));
  assert_true(gi_trust_look_for_lock(&order, &t));
  assert_false(gi_trust_look_for_lock(&order, &t));
  assert_int_equal(seen(1, 1), GI_TRUST_OURS);
  assert_true(gi_trust_since_lock(&order, &t));
}

static void
test_names(void **state)
{
  struct gi_iatt one = at(1, 1), two = at(1, 1);

  gi_trust_found(&t, 5, 100);
  assert_true(gi_trust_just_found(&t, 5, 99));
  assert_false(gi_trust_just_found(&t, 5, 99)); /* asked once */
  gi_trust_found(&t, 5, 100);
  assert_false(gi_trust_just_found(&t, 5, 100));
  gi_trust_found(&t, 5, 100);
  assert_false(gi_trust_just_found(&t, 6, 50)); /* somebody else comes between */
  assert_false(gi_trust_just_found(&t, 5, 50));
  gi_trust_nameless(&t, 5, 100);
  assert_false(gi_trust_means_nameless(&t, 6, 50));
  assert_true(gi_trust_means_nameless(&t, 5, 50));
  assert_false(gi_trust_means_nameless(&t, 5, 50));
  two.nlink = 2;
  assert_true(gi_trust_name_moved("a", "b", &one));
  assert_false(gi_trust_name_moved("a", "b", &two)); /* it has both */
  assert_false(gi_trust_name_moved("a", "a", &one));
  assert_false(gi_trust_name_moved(NULL, "a", &one));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_attributes, setup),
      cmocka_unit_test_setup(test_change_alone, setup),
      cmocka_unit_test_setup(test_changes_at_once, setup),
      cmocka_unit_test_setup(test_last_of_many_is_remembered, setup),
      cmocka_unit_test_setup(test_early_answers_keep_it_unsettled, setup),
      cmocka_unit_test_setup(test_foreign_change_between_batches, setup),
      cmocka_unit_test_setup(test_two_batches_at_once, setup),
      cmocka_unit_test_setup(test_change_that_waits_among_early_ones, setup),
      cmocka_unit_test_setup(test_early_answers_that_are_lost, setup),
      cmocka_unit_test_setup(test_changes_that_do_not_tell, setup),
      cmocka_unit_test_setup(test_what_was_left_holds_until, setup),
      cmocka_unit_test_setup(test_what_a_touch_left, setup),
      cmocka_unit_test_setup(test_others, setup),
      cmocka_unit_test_setup(test_locks, setup),
      cmocka_unit_test_setup(test_names, setup),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
