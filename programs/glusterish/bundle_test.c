/* SPDX-License-Identifier: Apache-2.0
 *
 * What a bundle leaves out, and the ends of logs.
 */
#include "programs/glusterish/bundle.h"
#include "programs/glusterish/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
becomes(const char *text, const char *want)
{
  GI_CLEANUP_FREE char *plain = bundle_without_secrets(text);
  assert_string_equal(plain, want);
}

static void
test_volfiles(void **state)
{
  becomes("volume c\n    option username 1234\n    option password abcd\n    option remote-host h\nend-volume\n",
          "volume c\n    option username ***\n    option password ***\n    option remote-host h\nend-volume\n");
  becomes("option auth.login./b.allow 1234\noption auth.login.1234.password abcd\noption auth.addr./b.allow *\n",
          "option auth.login ***\noption auth.login ***\noption auth.addr./b.allow *\n");
  becomes("Password=abcd\nusername: me\nno newline", "Password ***\nusername ***\nno newline");
  becomes("", "");
}

static void
test_private_keys(void **state)
{
  becomes("before\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nafter\n",
          "before\n***\nafter\n");
  becomes("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n",
          "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n");
}

static void
test_documents(void **state)
{
  GI_CLEANUP_FREE char *plain = bundle_without_secrets(
      "{\"layers\":[{\"options\":{\"username\":\"1234\",\"auth.login.1234.password\":\"abcd\",\"x\":\"y\"}}],"
      "\"set\":[{\"name\":\"client.password\",\"value\":\"abcd\"},{\"name\":\"a\",\"value\":\"b\"}],"
      "\"text\":\"one\\noption password abcd\\ntwo\",\"n\":3}");
  assert_null(strstr(plain, "abcd"));
  assert_null(strstr(plain, "1234"));
  assert_non_null(strstr(plain, "\"x\": \"y\""));
  assert_non_null(strstr(plain, "\"value\": \"b\""));
  assert_non_null(strstr(plain, "one\\noption password ***\\ntwo"));
  json_t *doc = json_loads(plain, 0, NULL);
  assert_int_equal(cli_int(doc, "n"), 3);
  json_decref(doc);
}

static void
test_the_end_of_a_log(void **state)
{
  char path[] = "/var/tmp/bundle-test.XXXXXX";
  int fd = mkstemp(path);
  assert_int_equal(write(fd, "first line\nsecond\0 line\nthird\n", 30), 30);
  close(fd);
  GI_CLEANUP_FREE char *all = bundle_tail(path, 1000);
  assert_string_equal(all, "first line\nsecond? line\nthird\n");
  GI_CLEANUP_FREE char *end = bundle_tail(path, 25);
  assert_string_equal(end, "second? line\nthird\n");
  GI_CLEANUP_FREE char *none = bundle_tail("/nowhere/at/all", 10);
  assert_null(none);
  unlink(path);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_volfiles),
      cmocka_unit_test(test_private_keys),
      cmocka_unit_test(test_documents),
      cmocka_unit_test(test_the_end_of_a_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
