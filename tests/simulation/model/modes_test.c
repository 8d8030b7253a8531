/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of modes: what it complains about, and what it must not.
 */
#include "tests/simulation/model/modes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct bench {
  struct sim_world *w;
  struct sim_modes *m;
};

static const struct gi_gfid file = {{7}};

static int
setup(void **state)
{
  struct bench *t = gi_new(struct bench);
  t->w = sim_world_new(1);
  t->m = sim_modes_new(t->w);
  *state = t;
  return 0;
}

static int
teardown(void **state)
{
  struct bench *t = *state;
  sim_modes_free(&t->m);
  sim_world_free(&t->w);
  gi_free(t);
  return 0;
}

static void
set(struct bench *t, unsigned number, int err)
{
  struct sim_moding *op = sim_modes_set(t->m, 0, &file, number);
  sim_modes_done(t->m, &op, err);
}

/* Whether the file may have that mode. */
static bool
may_have(struct bench *t, unsigned number)
{
  unsigned before = t->w->violations;
  sim_modes_seen(t->m, "somebody", "file", &file, S_IFREG | sim_mode(number));
  return t->w->violations == before;
}

static void
what_was_acknowledged_stays(void **state)
{
  struct bench *t = *state;
  assert_true(may_have(t, 0));
  assert_false(may_have(t, 1));
  set(t, 1, 0);
  assert_true(may_have(t, 1));
  assert_false(may_have(t, 0));
  set(t, 2, ENOTCONN);
  assert_true(may_have(t, 1));
  assert_true(may_have(t, 2));
  assert_false(may_have(t, 0));
  set(t, 3, 0);
  assert_true(may_have(t, 3));
  assert_false(may_have(t, 2));
}

static void
marks_are_no_mode(void **state)
{
  struct bench *t = *state;
  unsigned before = t->w->violations;
  sim_modes_seen(t->m, "somebody", "file", &file, S_IFREG | 03644);
  assert_int_equal(t->w->violations, before + 1);
}

static void
two_at_once_leave_open_which_was_last(void **state)
{
  struct bench *t = *state;
  struct sim_moding *a = sim_modes_set(t->m, 0, &file, 1), *b = sim_modes_set(t->m, 1, &file, 2);
  sim_modes_done(t->m, &a, 0);
  sim_modes_done(t->m, &b, 0);
  assert_true(may_have(t, 1));
  assert_true(may_have(t, 2));
}

static void
what_a_dead_client_has_asked_for_comes_late(void **state)
{
  struct bench *t = *state;
  sim_modes_set(t->m, 1, &file, 1);
  sim_modes_abandon(t->m, 1);
  set(t, 2, 0);
  assert_true(may_have(t, 1));
  assert_true(may_have(t, 2));
  t->w->now += 61 * SIM_S;
  set(t, 3, 0);
  assert_false(may_have(t, 1));
}

static void
power_takes_what_is_new(void **state)
{
  struct bench *t = *state;
  set(t, 1, 0);
  t->w->now += 10 * SIM_S;
  sim_modes_power_loss(t->m);
  assert_false(may_have(t, 0));
  set(t, 2, 0);
  sim_modes_power_loss(t->m);
  assert_true(may_have(t, 1));
  assert_true(may_have(t, 2));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_was_acknowledged_stays, setup, teardown),
      cmocka_unit_test_setup_teardown(marks_are_no_mode, setup, teardown),
      cmocka_unit_test_setup_teardown(two_at_once_leave_open_which_was_last, setup, teardown),
      cmocka_unit_test_setup_teardown(what_a_dead_client_has_asked_for_comes_late, setup, teardown),
      cmocka_unit_test_setup_teardown(power_takes_what_is_new, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
