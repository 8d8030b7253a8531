/* SPDX-License-Identifier: Apache-2.0
 *
 * The pace of a rebalance: what it makes of what bricks tell.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/load.h"
#include "tests/unit/fake.h"

#define MS GI_NSEC_PER_MSEC

static const struct gi_load quiet = {0};
static const struct gi_load fast = {100, 210, 200, 400};
static const struct gi_load bearable = {100, 250, 200, 500};
static const struct gi_load felt = {100, 600, 200, 2000};

/* A window in which each of `n` replies tells one thing, the last one something else. */
static void
window(struct di_reb_pace *p, unsigned n, const struct gi_load *load, const struct gi_load *last, uint64_t *now)
{
  struct gi_fop reply = {0};

  *now += GI_LOAD_WINDOW_NS;
  for (unsigned i = 0; i < n; i++) {
    gi_load_put(gi_fop_rsp_xdata(&reply), i == n - 1 ? last : load);
    di_reb_hear(p, &reply, *now - n + 1 + i);
  }
  gi_dict_unref(&reply.rsp.xdata);
}

static uint64_t
after(struct di_reb_pace *p, unsigned windows, const struct gi_load *load, uint64_t *now)
{
  for (unsigned i = 0; i < windows; i++)
    window(p, 1, load, load, now);
  return p->rest;
}

static void
test_rests_while_it_is_felt(void **state)
{
  struct di_reb_pace p = {0};
  uint64_t now = 1000 * MS;

  assert_int_equal(after(&p, 1, &felt, &now), MS);
  assert_int_equal(after(&p, 3, &felt, &now), 8 * MS);
  assert_int_equal(after(&p, 10, &felt, &now), 200 * MS);
  assert_int_equal(after(&p, 5, &bearable, &now), 200 * MS);
  assert_int_equal(after(&p, 1, &fast, &now), 150 * MS);
  assert_int_equal(after(&p, 30, &fast, &now), 0);
}

/* One reply within a window that tells of a slow brick counts, whatever the last one tells; more of them count once. */
static void
test_the_worst_of_a_window_decides(void **state)
{
  struct di_reb_pace p = {0};
  uint64_t now = 1000 * MS;

  window(&p, 1, &fast, &fast, &now);
  window(&p, 5, &felt, &fast, &now); /* all but the last come before the window ends */
  assert_int_equal(p.rest, MS);
}

static void
test_nobody_there_means_no_rest(void **state)
{
  struct di_reb_pace p = {0};
  uint64_t now = 1000 * MS;

  after(&p, 5, &felt, &now);
  assert_int_equal(after(&p, 9, &quiet, &now), 16 * MS); /* somebody may be stuck */
  assert_int_equal(after(&p, 1, &quiet, &now), 0);
}

static void
test_a_brick_that_tells_nothing_changes_nothing(void **state)
{
  struct di_reb_pace p = {0};
  struct gi_fop reply = {0};
  uint64_t now = 1000 * MS;

  after(&p, 2, &felt, &now);
  di_reb_hear(&p, &reply, now + 300 * MS);
  assert_int_equal(p.rest, 2 * MS);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rests_while_it_is_felt),
      cmocka_unit_test(test_the_worst_of_a_window_decides),
      cmocka_unit_test(test_nobody_there_means_no_rest),
      cmocka_unit_test(test_a_brick_that_tells_nothing_changes_nothing),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
