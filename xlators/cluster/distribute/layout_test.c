/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts: what new ones are, and what is wrong with others.
 */
#include "xlators/cluster/distribute/layout.h"

#include "tests/unit/fake.h"

#include <errno.h>

static const char *const names[] = {"v-client-0", "v-client-1", "v-client-2", "v-client-3", "v-client-4", "v-client-5",
                                    "v-client-6", "v-client-7", "v-client-8", "v-client-9", "v-client-10"};

static void
range_is(const struct di_layout *l, unsigned child, uint32_t start, uint32_t stop)
{
  assert_int_equal(l->range[child].start, start);
  assert_int_equal(l->range[child].stop, stop);
}

static void
test_equal_parts(void **state)
{
  struct di_layout *l = di_layout_new(4);

  di_layout_build(l, names, 0xf, 0, 3, NULL, NULL);
  range_is(l, 3, 0, 0x3ffffffe);
  range_is(l, 0, 0x3fffffff, 0x7ffffffd);
  range_is(l, 1, 0x7ffffffe, 0xbffffffc);
  range_is(l, 2, 0xbffffffd, 0xffffffff);
  assert_true(l->whole && l->committed);
  assert_int_equal(di_layout_find(l, 0), 3);
  assert_int_equal(di_layout_find(l, 0x3ffffffe), 3);
  assert_int_equal(di_layout_find(l, 0x3fffffff), 0);
  assert_int_equal(di_layout_find(l, 0xffffffff), 2);
  gi_free(l);
}

static void
test_weights(void **state)
{
  static const uint64_t weight[] = {100, 300, 50};
  struct di_layout *l = di_layout_new(3);

  di_layout_build(l, names, 7, 0, 0, weight, NULL);
  range_is(l, 0, 0, 0x38e38e37);
  range_is(l, 1, 0x38e38e38, 0xe38e38e1);
  range_is(l, 2, 0xe38e38e2, 0xffffffff);

  /* One that is not known makes all equal. */
  di_layout_build(l, names, 7, 0, 0, (const uint64_t[]){100, 0, 50}, NULL);
  assert_int_equal(l->range[0].stop, 0x55555554);
  gi_free(l);
}

/* The order is that of the names: number 10 comes before number 2. */
static void
test_order_of_names(void **state)
{
  struct di_layout *l = di_layout_new(11);

  di_layout_build(l, names, 0x7ff, 0, 1, NULL, NULL);
  assert_int_equal(l->range[1].start, 0);
  assert_int_equal(l->range[10].start, l->range[1].stop + 1);
  assert_int_equal(l->range[2].start, l->range[10].stop + 1);
  assert_int_equal(l->range[0].stop, 0xffffffff);
  gi_free(l);
}

static void
test_some_only(void **state)
{
  struct di_layout *l = di_layout_new(4);

  di_layout_build(l, names, 0xb, 2, 1, NULL, NULL); /* number 2 is not among them; two of three */
  range_is(l, 1, 0, 0x7ffffffe);
  range_is(l, 3, 0x7fffffff, 0xffffffff);
  assert_true(di_range_empty(&l->range[0]) && di_range_empty(&l->range[2]));
  assert_true(l->whole);
  gi_free(l);
}

/* Of 2^32 hashes. */
static double
share_that_moves(const struct di_layout *a, const struct di_layout *b)
{
  double stays = 0;

  for (unsigned i = 0; i < a->n; i++) {
    const struct di_range *x = &a->range[i], *y = &b->range[i];
    double from = x->start > y->start ? x->start : y->start, to = x->stop < y->stop ? x->stop : y->stop;

    if (!di_range_empty(x) && !di_range_empty(y) && from <= to)
      stays += to - from + 1;
  }
  return 1 - stays / 4294967296.0;
}

/* Some leave, or come, or the sizes change. Every part is in one piece, so where the first of four leaves a half has to move. */
static void
test_most_stays_where_it_is(void **state)
{
  static const struct {
    uint64_t before, after;
    double moves; /* at most */
  } steps[] = {{0xf, 0xd, 0.51}, {0xd, 0xf, 0.34}, {0x3, 0x7, 0.34},     {0x7, 0x3, 0.51},
               {0x1, 0x3, 0.51}, {0x3, 0xf, 0.51}, {0x7ff, 0x7fe, 0.45}, {0x7fe, 0x7ff, 0.28}};
  struct di_layout *old = di_layout_new(11), *l = di_layout_new(11);

  for (size_t i = 0; i < GI_ARRAY_LEN(steps); i++)
    for (uint32_t start = 0; start < 11; start++) {
      di_layout_build(old, names, steps[i].before, 0, start, NULL, NULL);
      di_layout_build(l, names, steps[i].after, 0, start, NULL, old);
      assert_true(l->whole);
      assert_true(share_that_moves(old, l) < steps[i].moves);
      for (unsigned k = 0; k < l->n; k++)
        assert_int_equal(di_range_empty(&l->range[k]), !(steps[i].after >> k & 1));

      /* Once more: nothing moves, wherever it would begin. */
      di_layout_build(old, names, steps[i].after, 0, start + 1, NULL, l);
      assert_memory_equal(old->range, l->range, l->n * sizeof(l->range[0]));
    }
  di_layout_build(old, names, 7, 0, 0, (const uint64_t[11]){100, 300, 50}, NULL);
  di_layout_build(l, names, 7, 0, 1, (const uint64_t[11]){100, 300, 60}, old);
  assert_true(share_that_moves(old, l) < 0.04);
  di_layout_build(l, names, 7, 0, 1, (const uint64_t[11]){1ull << 40, 1ull << 40, 1},
                  old); /* too small for a part, but at the end */
  assert_true(l->whole);
  gi_free(old);
  gi_free(l);
}

static void
test_damage(void **state)
{
  struct di_layout *l = di_layout_new(3);
  struct di_range r;
  uint8_t bytes[DI_LAYOUT_BYTES];

  di_layout_build(l, names, 7, 0, 0, NULL, NULL);
  l->range[1].start++;
  di_layout_check(l);
  assert_false(l->whole); /* a hole */
  l->range[1].start -= 2;
  di_layout_check(l);
  assert_false(l->whole); /* one hash belongs to two */
  l->range[1].start++;
  l->range[1].commit = 5;
  di_layout_check(l);
  assert_true(l->whole && !l->committed);
  l->range[2].err = ENODATA;
  di_layout_check(l);
  assert_false(l->whole);
  assert_int_equal(di_layout_find(l, 0xffffffff), -1);

  di_range_encode(&l->range[1], bytes);
  assert_true(di_range_decode(&r, bytes, sizeof(bytes)));
  assert_int_equal(r.start, l->range[1].start);
  assert_false(di_range_decode(&r, bytes, 15));
  assert_int_equal(r.err, ENODATA);
  bytes[12] = bytes[13] = 0; /* it ends before it begins */
  assert_false(di_range_decode(&r, bytes, sizeof(bytes)));
  assert_true(di_range_decode(&r, "\x58\x07\x4f\x41\0\0\0\0\0\0\0\0\x38\xe3\x8e\x37", 16));
  assert_int_equal(r.commit, 1476874049);
  gi_free(l);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_parts), cmocka_unit_test(test_weights), cmocka_unit_test(test_order_of_names),
      cmocka_unit_test(test_some_only),   cmocka_unit_test(test_damage),  cmocka_unit_test(test_most_stays_where_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
