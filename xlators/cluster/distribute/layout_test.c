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

  di_layout_build(l, names, 0xf, 0, 3, NULL);
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

  di_layout_build(l, names, 7, 0, 0, weight);
  range_is(l, 0, 0, 0x38e38e37);
  range_is(l, 1, 0x38e38e38, 0xe38e38e1);
  range_is(l, 2, 0xe38e38e2, 0xffffffff);

  /* One that is not known makes all equal. */
  di_layout_build(l, names, 7, 0, 0, (const uint64_t[]){100, 0, 50});
  assert_int_equal(l->range[0].stop, 0x55555554);
  gi_free(l);
}

/* The order is that of the names: number 10 comes before number 2. */
static void
test_order_of_names(void **state)
{
  struct di_layout *l = di_layout_new(11);

  di_layout_build(l, names, 0x7ff, 0, 1, NULL);
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

  di_layout_build(l, names, 0xb, 2, 1, NULL); /* number 2 is not among them; two of three */
  range_is(l, 1, 0, 0x7ffffffe);
  range_is(l, 3, 0x7fffffff, 0xffffffff);
  assert_true(di_range_empty(&l->range[0]) && di_range_empty(&l->range[2]));
  assert_true(l->whole);
  gi_free(l);
}

static void
test_damage(void **state)
{
  struct di_layout *l = di_layout_new(3);
  struct di_range r;
  uint8_t bytes[DI_LAYOUT_BYTES];

  di_layout_build(l, names, 7, 0, 0, NULL);
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
      cmocka_unit_test(test_some_only),   cmocka_unit_test(test_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
