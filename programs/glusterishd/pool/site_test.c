/* SPDX-License-Identifier: Apache-2.0
 *
 * What --store may say.
 */
#include "libglusterish/mem.h"
#include "programs/glusterishd/pool/site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

static void
reads(const char *url, unsigned n, const char *last, const char *prefix)
{
  struct gi_error err = {0};
  struct gd_site *s = gd_site_new(url, NULL, NULL, NULL, &err);
  if (!s)
    fail_msg("%s", err.text);
  assert_int_equal(s->n, n);
  assert_string_equal(s->at[n - 1].base, last);
  assert_string_equal(s->prefix, prefix);
  assert_null(s->at[0].ca);
  gd_site_free(&s);
  assert_null(s);
}

static void
test_urls(void **state)
{
  reads("etcd://one", 1, "http://one:2379", "");
  reads("etcd://one:1,two:2", 2, "http://two:2", "");
  reads("etcd://one,[fd00::2]:3,[fd00::3]/", 3, "http://[fd00::3]:2379", "");
  reads("etcd://10.0.0.1/site", 1, "http://10.0.0.1:2379", "site/");
  reads("etcd://10.0.0.1:77//site/pool-1//", 1, "http://10.0.0.1:77", "site/pool-1/");
}

static void
test_what_is_none(void **state)
{
  static const char *const urls[] = {"",
                                     "etcd",
                                     "http://one",
                                     "etcd://",
                                     "etcd:///prefix",
                                     "etcd://one,",
                                     "etcd://one,,two",
                                     "etcd://one:",
                                     "etcd://one:x",
                                     "etcd://one:123456",
                                     "etcd://user@one",
                                     "etcd://fd00::2",
                                     "etcd://[",
                                     "etcd://[]:1",
                                     "etcd://one two",
                                     "etcd://one/a b",
                                     "etcd://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
  for (size_t i = 0; i < GI_ARRAY_LEN(urls); i++) {
    struct gi_error err = {0};
    if (gd_site_new(urls[i], NULL, NULL, NULL, &err))
      fail_msg("%s", urls[i]);
    assert_non_null(strstr(err.text, "it is etcd://HOST"));
    assert_non_null(strstr(err.text, urls[i]));
  }
}

static void
test_files_of_tls(void **state)
{
  struct gi_error err = {0};
  struct gd_site *s = gd_site_new("etcd://one", "/ca", NULL, NULL, &err);
  assert_string_equal(s->at[0].base, "https://one:2379");
  assert_null(s->at[0].cert);
  gd_site_free(&s);
  s = gd_site_new("etcd://one,two", NULL, "/both", NULL, &err);
  assert_string_equal(s->at[1].base, "https://two:2379");
  assert_string_equal(s->at[1].cert, "/both");
  assert_string_equal(s->at[1].key, "/both");
  gd_site_free(&s);
  s = gd_site_new("etcd://one", "/ca", "/cert", "/key", &err);
  assert_string_equal(s->at[0].key, "/key");
  gd_site_free(&s);
  assert_null(gd_site_new("etcd://one", NULL, NULL, "/key", &err));
  assert_non_null(strstr(err.text, "store-key goes with store-cert"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_urls),
      cmocka_unit_test(test_what_is_none),
      cmocka_unit_test(test_files_of_tls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
