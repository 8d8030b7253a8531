/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the coding of what is given back: there and back, and every way to be wrong.
 */
#include "rpc/give-back.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct gi_owner owner = {.len = 8, .data = {7, 7, 7, 7, 7, 7, 7, 7}};

static struct gi_xdr_out
example(void)
{
  struct gi_dict *counters = gi_dict_new();
  struct gi_xdr_out out = {0};

  gi_give_back_put(&out, &(struct gi_give_back){.what = GI_GIVEN_DESCRIPTOR, .handle = 5});
  gi_give_back_put(&out, &(struct gi_give_back){.domain = "v-replicate-0",
                                                .owner = owner,
                                                .lock = {.entry = true, .gfid = {{2}}, .name = "name"}});
  gi_give_back_put(&out, &(struct gi_give_back){.domain = "d", .owner = owner, .lock = {.gfid = {{3}}, .start = 4, .len = 6}});
  gi_dict_set_bin(counters, "trusted.afr.dirty", "\xff\xff\xff\xff", 4);
  gi_give_back_put(&out, &(struct gi_give_back){.what = GI_GIVEN_COUNTERS, .gfid = {{8}}, .handle = 9, .counters = counters});
  gi_dict_unref(&counters);
  return out;
}

static void
test_there_and_back(void **state)
{
  struct gi_xdr_out out = example();
  struct gi_xdr_in in = {out.base, out.base + out.len, false};
  struct gi_give_back g;
  const void *value;
  uint32_t len;

  assert_true(gi_give_back_next(&in, &g));
  assert_int_equal(g.what, GI_GIVEN_DESCRIPTOR);
  assert_int_equal(g.handle, 5);
  assert_true(gi_give_back_next(&in, &g));
  assert_int_equal(g.what, GI_GIVEN_LOCK);
  assert_string_equal(g.domain, "v-replicate-0");
  assert_true(gi_owner_equal(&g.owner, &owner));
  assert_true(g.lock.entry);
  assert_string_equal(g.lock.name, "name");
  assert_true(gi_give_back_next(&in, &g));
  assert_false(g.lock.entry);
  assert_null(g.lock.name); /* nothing of the one before */
  assert_int_equal(g.lock.start, 4);
  assert_int_equal(g.lock.len, 6);
  assert_true(gi_give_back_next(&in, &g));
  assert_int_equal(g.what, GI_GIVEN_COUNTERS);
  assert_int_equal(g.gfid.b[0], 8);
  assert_int_equal(g.handle, 9);
  assert_true(gi_dict_get_bin(g.counters, "trusted.afr.dirty", &value, &len));
  assert_int_equal(len, 4);
  gi_dict_unref(&g.counters);
  assert_false(gi_give_back_next(&in, &g));
  assert_false(in.failed);
  gi_xdr_out_finish(&out);
}

/* Cut anywhere, or with any byte changed, it is refused or decoded to something that is within its bounds. */
static void
test_damaged(void **state)
{
  struct gi_xdr_out out = example();
  struct gi_give_back g;

  for (size_t len = 0; len < out.len; len++) {
    struct gi_xdr_in in = {out.base, out.base + len, false};
    unsigned n = 0;

    for (; gi_give_back_next(&in, &g); n++)
      gi_dict_unref(&g.counters);
    assert_true(n < 4);
  }
  for (size_t i = 0; i < out.len; i++) {
    struct gi_xdr_in in = {out.base, out.base + out.len, false};

    out.base[i] ^= 0xff;
    while (gi_give_back_next(&in, &g)) {
      assert_true(g.what != GI_GIVEN_DESCRIPTOR || g.handle >= 0);
      assert_true(g.what != GI_GIVEN_LOCK || (strlen(g.domain) <= GI_PREAMBLE_DOMAIN && g.owner.len <= GI_OWNER_MAX));
      assert_true(g.what == GI_GIVEN_COUNTERS ? g.counters != NULL : g.counters == NULL);
      gi_dict_unref(&g.counters);
    }
    out.base[i] ^= 0xff;
  }
  gi_xdr_out_finish(&out);
}

static void
test_only_domains_that_can_be_told(void **state)
{
  char domain[GI_PREAMBLE_DOMAIN + 2];

  memset(domain, 'd', sizeof(domain));
  domain[GI_PREAMBLE_DOMAIN + 1] = '\0';
  assert_false(gi_give_back_fits(domain));
  domain[GI_PREAMBLE_DOMAIN] = '\0';
  assert_true(gi_give_back_fits(domain));
  assert_false(gi_give_back_fits(""));
  assert_false(gi_give_back_fits(NULL));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_there_and_back),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_only_domains_that_can_be_told),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
