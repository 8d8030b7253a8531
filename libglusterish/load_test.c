/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter of foreground load, in made-up time.
 */
#include "libglusterish/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define US 1000ull
#define MS 1000000ull

/* `n` operations of `took`, one every millisecond; the time after the last. */
static uint64_t
run(struct gi_load_meter *m, enum gi_fop_kind kind, uint64_t bytes, unsigned n, uint64_t took, uint64_t now)
{
  for (unsigned i = 0; i < n; i++, now += MS)
    gi_load_foreground(m, kind, bytes, now, now + took);
  return now;
}

static void
quiet_times_are_the_baseline(void **state)
{
  struct gi_load_meter m = {0};
  struct gi_load l;
  uint64_t now = run(&m, GI_FOP_WRITE, 4096, 200, 200 * US, MS);

  gi_load_read(&m, now, &l);
  assert_in_range(l.ops, 50, 100);
  assert_int_equal(l.mean_us, 200);
  assert_in_range(l.baseline_us, 195, 201);

  gi_load_background_begin(&m);
  now = run(&m, GI_FOP_WRITE, 4096, 200, 600 * US, now);
  gi_load_read(&m, now, &l);
  assert_int_equal(l.mean_us, 600);
  assert_in_range(l.baseline_us, 195, 201);
  assert_int_equal(l.worst_us, 600);

  /* An operation that began while it ran says nothing about quiet times; later ones do. */
  gi_load_background_end(&m, now);
  gi_load_foreground(&m, GI_FOP_WRITE, 4096, now - 900 * US, now + US);
  gi_load_read(&m, now + US, &l);
  assert_in_range(l.baseline_us, 195, 201);
  now = run(&m, GI_FOP_WRITE, 4096, 200, 400 * US, now);
  gi_load_read(&m, now, &l);
  assert_in_range(l.baseline_us, 395, 401);
}

static void
other_operations_are_no_slowdown(void **state)
{
  struct gi_load_meter m = {0};
  struct gi_load l;
  uint64_t now = run(&m, GI_FOP_LOOKUP, 0, 200, 50 * US, MS);

  now = run(&m, GI_FOP_FSYNC, 0, 200, 5000 * US, now);
  now = run(&m, GI_FOP_WRITE, 1 << 20, 200, 3000 * US, now);
  gi_load_background_begin(&m);
  now = run(&m, GI_FOP_FSYNC, 0, 100, 5000 * US, now);
  gi_load_read(&m, now, &l);
  assert_in_range(l.baseline_us, l.mean_us * 9 / 10, l.mean_us * 11 / 10);
  now = run(&m, GI_FOP_WRITE, 1 << 20, 100, 3000 * US, now);
  now = run(&m, GI_FOP_WRITE, 100, 100, 100 * US, now);
  gi_load_read(&m, now, &l);
  assert_in_range(l.baseline_us, l.mean_us * 9 / 10, l.mean_us * 11 / 10);
}

static void
what_is_over_is_forgotten(void **state)
{
  struct gi_load_meter m = {0};
  struct gi_load l;
  uint64_t now = run(&m, GI_FOP_READ, 4096, 10, 100 * US, MS);

  gi_load_read(&m, now + 200 * MS, &l);
  assert_int_equal(l.ops, 0);
  assert_int_equal(l.mean_us, 0);
  gi_load_foreground(&m, GI_FOP_INODELK, 0, now, now + 10000 * MS); /* waited for a lock */
  gi_load_read(&m, now + 10000 * MS, &l);
  assert_int_equal(l.ops, 0);
}

static void
on_the_wire(void **state)
{
  struct gi_load l = {1, 2, 3, 0xffffffff}, back = {0};
  struct gi_dict *d = gi_dict_new();

  assert_false(gi_load_get(NULL, &back));
  assert_false(gi_load_get(d, &back));
  gi_dict_set_bin(d, GI_LOAD_KEY, "short", 5);
  assert_false(gi_load_get(d, &back));
  gi_load_put(d, &l);
  assert_true(gi_load_get(d, &back));
  assert_memory_equal(&l, &back, sizeof(l));
  gi_dict_unref(&d);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(quiet_times_are_the_baseline),
                                     cmocka_unit_test(other_operations_are_no_slowdown),
                                     cmocka_unit_test(what_is_over_is_forgotten), cmocka_unit_test(on_the_wire)};

  return cmocka_run_group_tests(tests, NULL, NULL);
}
