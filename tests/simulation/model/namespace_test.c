/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of names: what it complains about, and what it must not.
 */
#include "tests/simulation/model/namespace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct sim_place_of a = {0, 1}, b = {1, 2};

struct bench {
  struct sim_world *w;
  struct sim_namespace *m;
  unsigned told; /* violations that were expected */
};

static int
setup(void **state)
{
  struct bench *t = gi_new(struct bench);
  t->w = sim_world_new(1);
  t->m = sim_namespace_new(t->w);
  *state = t;
  return 0;
}

static int
teardown(void **state)
{
  struct bench *t = *state;
  sim_namespace_free(&t->m);
  sim_world_free(&t->w);
  gi_free(t);
  return 0;
}

static const struct gi_gfid *
object(uint8_t number)
{
  static struct gi_gfid gfid[8];
  gfid[number].b[0] = number;
  return &gfid[number];
}

static void
make(struct bench *t, struct sim_place_of at, uint8_t number, int err)
{
  struct sim_naming *op = sim_namespace_make(t->m, 0, at, object(number));
  sim_namespace_done(t->m, &op, err);
}

static void
take(struct bench *t, struct sim_place_of at, int err)
{
  struct sim_naming *op = sim_namespace_remove(t->m, 0, at);
  sim_namespace_done(t->m, &op, err);
}

static void
move(struct bench *t, struct sim_place_of from, struct sim_place_of to, int err)
{
  struct sim_naming *op = sim_namespace_rename(t->m, 0, from, to);
  sim_namespace_done(t->m, &op, err);
}

static void
move_to_free(struct bench *t, struct sim_place_of from, struct sim_place_of to, int err)
{
  struct sim_naming *op = sim_namespace_rename_free(t->m, 0, from, to);
  sim_namespace_done(t->m, &op, err);
}

/* Looks a name up; 0: it is not there. */
static void
see(struct bench *t, struct sim_place_of at, uint8_t number)
{
  sim_namespace_seen(t->m, "test", sim_namespace_now(t->m), at, number ? object(number) : &gi_gfid_none);
}

static void
fine(struct bench *t)
{
  assert_int_equal(t->w->violations, t->told);
}

static void
complains(struct bench *t)
{
  assert_int_equal(t->w->violations, ++t->told);
}

static void
test_renames_that_replace_nothing(void **state)
{
  static const struct sim_place_of c = {0, 2}, d = {0, 3}, e = {0, 4};
  struct bench *t = *state;
  make(t, a, 1, 0);
  make(t, b, 2, 0);
  move_to_free(t, a, b, EEXIST);
  move_to_free(t, a, c, EOPNOTSUPP);
  see(t, a, 1);
  see(t, b, 2);
  see(t, c, 0);
  move_to_free(t, a, c, 0);
  see(t, a, 0);
  see(t, c, 1);
  fine(t);
  move_to_free(t, c, a, EEXIST);
  complains(t);
  make(t, d, 3, 0);
  make(t, e, 4, 0);
  move_to_free(t, d, e, 0);
  complains(t);
}

static void
test_what_was_acknowledged(void **state)
{
  struct bench *t = *state;
  see(t, a, 0);
  make(t, a, 1, 0);
  see(t, a, 1);
  fine(t);
  see(t, a, 0);
  complains(t);
  see(t, a, 2); /* never meant to be */
  complains(t);
  move(t, a, b, 0);
  see(t, a, 0);
  see(t, b, 1);
  fine(t);
  see(t, a, 1);
  complains(t);
  take(t, b, 0);
  see(t, b, 0);
  fine(t);
  see(t, b, 1);
  complains(t);
}

static void
test_answers(void **state)
{
  struct bench *t = *state;
  make(t, a, 1, EEXIST);
  complains(t);
  take(t, b, 0);
  complains(t);
  make(t, a, 1, 0);
  make(t, a, 2, EEXIST);
  fine(t);
  make(t, a, 2, 0);
  complains(t);
  take(t, a, ENOENT);
  complains(t);
  move(t, b, a, ENOENT);
  fine(t);
}

static void
test_what_failed_may_have_happened(void **state)
{
  struct bench *t = *state;
  make(t, a, 1, ENOTCONN);
  see(t, a, 0);
  see(t, a, 1);
  make(t, a, 2, EEXIST); /* a copy that lacks it may have made it */
  see(t, a, 2);
  take(t, a, 0);
  see(t, a, 0);
  fine(t);
  see(t, a, 1);
  complains(t);
  make(t, a, 3, 0);
  move(t, a, b, ENOTCONN);
  see(t, a, 0);
  see(t, a, 3);
  see(t, b, 3);
  see(t, b, 0);
  fine(t);
}

static void
test_two_names_of_one_object(void **state)
{
  struct bench *t = *state;
  make(t, a, 1, 0);
  make(t, b, 1, 0);
  move(t, a, b, 0); /* does nothing */
  see(t, a, 1);
  see(t, b, 1);
  fine(t);
}

static void
test_at_the_same_time(void **state)
{
  struct bench *t = *state;
  struct sim_naming *one = sim_namespace_make(t->m, 0, a, object(1)), *other = sim_namespace_remove(t->m, 1, a);
  struct gi_gfid gfid;
  see(t, a, 0);
  see(t, a, 1);
  sim_namespace_done(t->m, &one, 0);
  sim_namespace_done(t->m, &other, 0);
  see(t, a, 0);
  see(t, a, 1);
  fine(t);
  assert_false(sim_namespace_certain(t->m, a, &gfid));
  take(t, a, 0);
  assert_true(sim_namespace_certain(t->m, a, &gfid) && gi_gfid_is_none(&gfid));
  one = sim_namespace_make(t->m, 3, a, object(2));
  sim_namespace_abandon(t->m, 3);
  see(t, a, 0);
  see(t, a, 2);
  fine(t);
}

/* Its messages are still on their way when others have made and removed the name. */
static void
test_a_dead_client_may_still_act(void **state)
{
  struct bench *t = *state;
  sim_namespace_make(t->m, 3, a, object(1));
  sim_namespace_abandon(t->m, 3);
  make(t, a, 2, 0);
  take(t, a, 0);
  see(t, a, 0);
  see(t, a, 1);
  fine(t);
  see(t, a, 2);
  complains(t);
}

static void
test_a_dead_client_does_not_act_for_ever(void **state)
{
  struct bench *t = *state;
  sim_namespace_make(t->m, 3, a, object(1));
  sim_namespace_abandon(t->m, 3);
  t->w->now += 61 * SIM_S;
  make(t, a, 2, 0);
  take(t, a, 0);
  see(t, a, 1);
  complains(t);
}

/* A rename that began first may be done last, and move on what the other one has just moved. */
static void
test_renames_that_overtake(void **state)
{
  static const struct sim_place_of c = {2, 3};
  struct bench *t = *state;
  make(t, a, 1, 0);
  make(t, b, 2, 0);
  struct sim_naming *second = sim_namespace_rename(t->m, 0, b, c), *back = sim_namespace_rename(t->m, 2, c, a);
  struct sim_naming *first = sim_namespace_rename(t->m, 1, a, b);
  sim_namespace_done(t->m, &first, 0);
  see(t, c, 1);
  see(t, c, 2);
  sim_namespace_done(t->m, &second, 0);
  sim_namespace_done(t->m, &back, ENOENT);
  see(t, c, 1);
  fine(t);
  see(t, c, 3);
  complains(t);
}

/* Who has looked the directory up before the change may not have heard of it. */
static void
test_since(void **state)
{
  struct bench *t = *state;
  uint64_t before = sim_namespace_now(t->m);
  make(t, a, 1, 0);
  sim_namespace_seen(t->m, "test", before, a, &gi_gfid_none);
  fine(t);
}

static void
test_lists(void **state)
{
  struct bench *t = *state;
  struct sim_listing l = {.dir = a.dir};
  make(t, a, 1, 0);
  l.since = sim_namespace_now(t->m);
  sim_namespace_listed(t->m, "test", &l);
  complains(t); /* left out */
  sim_listing_add(&l, "n1", object(1));
  sim_namespace_listed(t->m, "test", &l);
  fine(t);
  sim_listing_add(&l, "n1", object(1));
  sim_namespace_listed(t->m, "test", &l);
  complains(t); /* twice */
  l.times[1] = 1;
  sim_listing_add(&l, "n01", object(1));
  sim_namespace_listed(t->m, "test", &l);
  complains(t); /* a name nobody made */
  l.strange = 0;
  take(t, a, 0);
  l.since = sim_namespace_now(t->m);
  l.gfid[1] = gi_gfid_none;
  sim_namespace_listed(t->m, "test", &l);
  complains(t); /* removed */
}

static void
test_power_loss(void **state)
{
  struct bench *t = *state;
  make(t, a, 1, 0);
  sim_world_run(t->w, t->w->now + 10 * SIM_S, NULL);
  make(t, b, 2, 0);
  sim_namespace_power_loss(t->m);
  see(t, b, 0); /* not committed yet */
  fine(t);
  see(t, a, 0);
  complains(t);
}

/* A rename that was answered before what brought the object to its old name. */
static void
test_moved_on_before_the_answer(void **state)
{
  struct bench *t = *state;
  const struct sim_place_of c = {0, 3};
  struct sim_naming *made = sim_namespace_make(t->m, 0, a, object(1)), *on = sim_namespace_rename(t->m, 1, a, b), *last;
  sim_namespace_done(t->m, &on, 0);
  last = sim_namespace_rename(t->m, 1, b, c);
  sim_namespace_done(t->m, &last, 0);
  sim_namespace_done(t->m, &made, 0);
  sim_namespace_seen(t->m, "a client", sim_namespace_now(t->m), c, object(1));
  assert_int_equal(t->w->violations, 0);
}

/* One set has lost what another has not: what was made since may be beside it. */
static void
test_power_loss_over_sets(void **state)
{
  struct bench *t = *state;
  struct sim_listing l = {.dir = a.dir};
  sim_namespace_over_sets(t->m);
  make(t, b, 2, 0);
  t->w->now += 60 * SIM_S;
  make(t, a, 1, 0);
  take(t, a, 0);
  sim_namespace_power_loss(t->m);
  make(t, a, 3, 0);
  assert_true(sim_namespace_torn(t->m, a));
  assert_false(sim_namespace_torn(t->m, b));
  sim_namespace_seen(t->m, "a client", sim_namespace_now(t->m), a, object(1));
  l.since = sim_namespace_now(t->m);
  sim_listing_add(&l, "n1", object(1));
  sim_listing_add(&l, "n1", object(3));
  sim_namespace_listed(t->m, "a client", &l);
  assert_int_equal(t->w->violations, 0);
}

/* Others' changes may be known late, a client's own never. */
static void
test_late(void **state)
{
  struct bench *t = *state;
  make(t, a, 1, 0);
  sim_namespace_seen_late(t->m, "test", 1, SIM_S, sim_namespace_now(t->m), a, &gi_gfid_none);
  fine(t);
  sim_namespace_seen_late(t->m, "test", 0, SIM_S, sim_namespace_now(t->m), a, &gi_gfid_none);
  complains(t);
  sim_namespace_seen_late(t->m, "test", 1, SIM_S, sim_namespace_now(t->m), a, object(2));
  complains(t); /* it never was */
  sim_world_run(t->w, t->w->now + 2 * SIM_S, NULL);
  sim_namespace_seen_late(t->m, "test", 1, SIM_S, sim_namespace_now(t->m), a, &gi_gfid_none);
  complains(t);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_what_was_acknowledged, setup, teardown),
      cmocka_unit_test_setup_teardown(test_renames_that_replace_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_failed_may_have_happened, setup, teardown),
      cmocka_unit_test_setup_teardown(test_two_names_of_one_object, setup, teardown),
      cmocka_unit_test_setup_teardown(test_at_the_same_time, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_dead_client_may_still_act, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_dead_client_does_not_act_for_ever, setup, teardown),
      cmocka_unit_test_setup_teardown(test_renames_that_overtake, setup, teardown),
      cmocka_unit_test_setup_teardown(test_since, setup, teardown),
      cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
      cmocka_unit_test_setup_teardown(test_power_loss, setup, teardown),
      cmocka_unit_test_setup_teardown(test_late, setup, teardown),
      cmocka_unit_test_setup_teardown(test_power_loss_over_sets, setup, teardown),
      cmocka_unit_test_setup_teardown(test_moved_on_before_the_answer, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
