/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the preamble's coding: there and back, and every way to be wrong.
 */
#include "rpc/preamble.h"
#include "rpc/xdr.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct gi_dict *
example(void)
{
  struct gi_preamble p = {.domain = "v-replicate-0", .nlocks = 3};
  struct gi_dict *xdata = gi_dict_new();
  static const uint8_t mark[12] = {0, 0, 0, 1};

  p.owner.len = 8;
  memset(p.owner.data, 7, 8);
  p.lock[0] = (struct gi_preamble_lock){.gfid = {{1}}, .start = 5, .len = 9};
  p.lock[1] = (struct gi_preamble_lock){.entry = true, .gfid = {{2}}, .name = "name"};
  p.lock[2] = (struct gi_preamble_lock){.entry = true, .gfid = {{3}}};
  p.counters = gi_dict_new();
  gi_dict_set_bin(p.counters, "trusted.afr.dirty", mark, sizeof(mark));
  gi_preamble_put(xdata, &p);
  gi_preamble_clear(&p);
  return xdata;
}

static void
test_there_and_back(void **state)
{
  struct gi_dict *xdata = example();
  struct gi_preamble p;

  assert_true(gi_preamble_get(xdata, &p));
  assert_string_equal(p.domain, "v-replicate-0");
  assert_int_equal(p.owner.len, 8);
  assert_int_equal(p.nlocks, 3);
  assert_false(p.lock[0].entry);
  assert_int_equal(p.lock[0].start, 5);
  assert_int_equal(p.lock[0].len, 9);
  assert_true(p.lock[1].entry);
  assert_string_equal(p.lock[1].name, "name");
  assert_true(p.lock[2].entry);
  assert_null(p.lock[2].name);
  assert_int_equal(p.lock[2].gfid.b[0], 3);
  assert_int_equal(gi_dict_count(p.counters), 1);
  gi_preamble_clear(&p);
  gi_dict_unref(&xdata);
}

/* Cut anywhere it is refused, and with any byte changed it is refused or decoded to something that is within its bounds. */
static void
test_damaged(void **state)
{
  struct gi_dict *xdata = example(), *cut = gi_dict_new();
  struct gi_preamble p;
  const void *data;
  uint32_t len;
  uint8_t copy[512];

  assert_true(gi_dict_get_bin(xdata, GI_PREAMBLE_KEY, &data, &len));
  assert_true(len < sizeof(copy));
  for (uint32_t n = 0; n < len; n++) {
    gi_dict_set_bin(cut, GI_PREAMBLE_KEY, data, n);
    assert_false(gi_preamble_get(cut, &p));
    assert_null(p.counters);
  }
  for (uint32_t i = 0; i < len; i++)
    for (int bit = 0; bit < 8; bit++) {
      memcpy(copy, data, len);
      copy[i] ^= (uint8_t)(1 << bit);
      gi_dict_set_bin(cut, GI_PREAMBLE_KEY, copy, len);
      if (gi_preamble_get(cut, &p)) {
        assert_true(p.nlocks <= GI_PREAMBLE_LOCKS);
        assert_true(strlen(p.domain) <= GI_PREAMBLE_DOMAIN);
      }
      gi_preamble_clear(&p);
    }
  gi_dict_unref(&cut);
  assert_false(gi_preamble_get(NULL, &p));
  gi_dict_unref(&xdata);
}

static void
test_outcome(void **state)
{
  struct gi_dict *xdata = gi_dict_new(), *counters = gi_dict_new(), *got;
  int err = -1;

  assert_false(gi_preamble_get_outcome(xdata, &err, &got));
  gi_preamble_put_outcome(xdata, EAGAIN, NULL);
  assert_true(gi_preamble_get_outcome(xdata, &err, &got));
  assert_int_equal(err, EAGAIN);
  assert_null(got);
  gi_dict_set_uint(counters, "n", 1);
  gi_preamble_put_outcome(xdata, 0, counters);
  assert_true(gi_preamble_get_outcome(xdata, &err, &got));
  assert_int_equal(err, 0);
  assert_int_equal(gi_dict_count(got), 1);
  gi_dict_unref(&got);
  gi_dict_set_bin(xdata, GI_PREAMBLE_KEY, "\xff\xff\xff\xff", 4);
  assert_false(gi_preamble_get_outcome(xdata, &err, &got));
  gi_dict_unref(&counters);
  gi_dict_unref(&xdata);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_there_and_back),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_outcome),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
