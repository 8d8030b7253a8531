/* SPDX-License-Identifier: Apache-2.0
 *
 * Which copies of a file count, by what bricks say of each other.
 */
#include "tests/simulation/model/quorum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct sim_cluster_config three = {.bricks = 3}, arbiter = {.bricks = 3, .arbiter = true};

/* Somebody has missed nothing: whoever is accused is healed from there. */
static void
test_some_are_accused(void **state)
{
  (void)state;
  assert_int_equal(sim_quorum_outdated(&three, (uint32_t[SIM_BRICKS]){0}), 0);
  assert_int_equal(sim_quorum_outdated(&three, (uint32_t[SIM_BRICKS]){6, 4, 0}), 3);
}

/* A heal takes the copy that no quorum accuses, for it has missed nothing that was acknowledged. */
static void
test_all_are_accused(void **state)
{
  (void)state;
  assert_int_equal(sim_quorum_outdated(&three, (uint32_t[SIM_BRICKS]){6, 5, 1}), 3);
  assert_int_equal(sim_quorum_outdated(&three, (uint32_t[SIM_BRICKS]){6, 5, 3}), 7);
}

/* An arbiter has no data that anybody could be healed from, and nobody need accuse it. */
static void
test_both_copies_are_accused(void **state)
{
  (void)state;
  assert_int_equal(sim_quorum_outdated(&arbiter, (uint32_t[SIM_BRICKS]){2, 5, 0}), 2);
  assert_int_equal(sim_quorum_outdated(&arbiter, (uint32_t[SIM_BRICKS]){6, 5, 0}), 3);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_some_are_accused),
      cmocka_unit_test(test_all_are_accused),
      cmocka_unit_test(test_both_copies_are_accused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
