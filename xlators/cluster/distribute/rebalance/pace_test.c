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

/* Bricks that tell of slow applications, in replies to operations of `kind` that took `took`. */
static void
answers(struct di_reb_pace *p, unsigned n, enum gi_fop_kind kind, uint64_t took, uint64_t *now)
{
  struct gi_fop reply = {.kind = kind};

  for (unsigned i = 0; i < n; i++) {
    *now += GI_LOAD_WINDOW_NS;
    reply.start_ns = *now - took;
    gi_load_put(gi_fop_rsp_xdata(&reply), &felt);
    di_reb_hear(p, &reply, *now);
  }
  gi_dict_unref(&reply.rsp.xdata);
}

/* However much it is felt, a tenth of the time is for work: a volume whose applications never rest gets its rebalance done. */
static void
test_rests_in_proportion_to_the_work(void **state)
{
  struct di_reb_pace p = {0};
  uint64_t now = 1000 * MS;

  answers(&p, 100, GI_FOP_READ, MS, &now);
  assert_int_equal(p.rest, 200 * MS);
  assert_int_equal(di_reb_rest(&p, 2), 18 * MS);
  assert_int_equal(di_reb_rest(&p, 32), 200 * MS);
  answers(&p, 100, GI_FOP_READ, 100 * MS, &now); /* the disks are slow now */
  assert_int_equal(di_reb_rest(&p, 2), 200 * MS);
}

/* Who waits for a lock does not work. */
static void
test_locks_are_no_work(void **state)
{
  struct di_reb_pace p = {0};
  uint64_t now = 1000 * MS;

  answers(&p, 10, GI_FOP_READ, MS, &now);
  answers(&p, 10, GI_FOP_INODELK, 90 * MS, &now);
  assert_int_equal(di_reb_rest(&p, 2), 18 * MS);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rests_while_it_is_felt),          cmocka_unit_test(test_the_worst_of_a_window_decides),
      cmocka_unit_test(test_nobody_there_means_no_rest),      cmocka_unit_test(test_a_brick_that_tells_nothing_changes_nothing),
      cmocka_unit_test(test_rests_in_proportion_to_the_work), cmocka_unit_test(test_locks_are_no_work),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
