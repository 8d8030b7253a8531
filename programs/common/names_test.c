/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the rules for names.
 */
#include "programs/common/names.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void
test_names(void **state)
{
  static const char *const bad[] = {"", "all", "volume", "-x", "a/b", "..", "a b", "a.b", "\xc3\xa4", "a\nb", "help"};
  char long_name[PROG_VOLUME_NAME_MAX + 2];
  memset(long_name, 'a', sizeof(long_name) - 1);
  long_name[sizeof(long_name) - 1] = '\0';
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_int_equal(prog_volume_name_check(bad[i], NULL), -1);
  assert_int_equal(prog_volume_name_check(long_name, NULL), -1);
  assert_int_equal(prog_volume_name_check(long_name + 1, NULL), 0);
  assert_int_equal(prog_volume_name_check("Rep_3-x", NULL), 0);
}

static void
test_bricks(void **state)
{
  static const char *const bad[] = {"",       "host",    "host:", "host:path", ":/path",  "h:/",     "h:///",  "h:/a/../b",
                                    "h:/./x", "h:/a/..", "-h:/a", "h/x:/a",    "h:/a\nb", "h:/a\"b", "a b:/x", "h:/a\\b"};
  char *host, *path;
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_int_equal(prog_brick_parse(bad[i], &host, &path, NULL), -1);
  assert_int_equal(prog_brick_parse("fd00::1://a//b/", &host, &path, NULL), 0);
  assert_string_equal(host, "fd00::1");
  assert_string_equal(path, "/a/b");
  gi_free(host);
  gi_free(path);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_bricks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
