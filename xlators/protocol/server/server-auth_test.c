/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server: who may connect, through protocol/client.
 */
#include "tests/unit/brick-bench.h"

#define LOGIN \
  "option auth.login.child-0.allow joe\noption auth.login.joe.password secret\noption auth.addr.child-0.reject 127.*\n"
#define LOGIN_ONLY \
  "option auth.login.child-0.allow joe\noption auth.login.joe.password secret\noption auth.addr.child-0.allow 10.0.0.1\n"

static bool
connects(const char *server_options, const char *client_options)
{
  struct bench *b = bench_new(server_options, client_options, false);
  for (unsigned i = 0; i < 2000 && !b->client->events[GI_EVENT_CHILD_UP] && !b->client->events[GI_EVENT_CHILD_DOWN]; i++)
    bench_turn(b, 0);
  bool up = b->client->events[GI_EVENT_CHILD_UP] > 0;
  assert_true(up || b->client->events[GI_EVENT_CHILD_DOWN]);
  bench_free(b);
  return up;
}

static void
test_login(void **state)
{
  assert_true(connects(LOGIN_ONLY, "option username joe\noption password secret\n"));
  assert_false(connects(LOGIN_ONLY, "option username joe\noption password wrong\n"));
  assert_false(connects(LOGIN_ONLY, "option username joe\noption password secretive\n"));
  assert_false(connects(LOGIN_ONLY, "option username jim\noption password secret\n"));
  assert_false(connects(LOGIN_ONLY, NULL));
  assert_false(connects(LOGIN, "option username joe\noption password secret\n")); /* any reject wins */
  assert_true(connects("option auth.login.child-0.allow joe\noption auth.login.joe.password secret\n", NULL));
  assert_false(connects("option auth.login.child-0.allow joe\noption strict-auth-accept on\n", NULL));
}

static void
test_addresses(void **state)
{
  assert_true(connects("option auth.addr.child-0.allow 127.0.0.*\n", NULL));
  assert_true(connects("option auth.addr.child-0.allow 10.0.0.0/8,127.0.0.0/30\n", NULL));
  assert_false(connects("option auth.addr.child-0.allow 127.0.0.2/31\n", NULL));
  assert_true(connects("option auth.addr.child-0.allow localhost\n", NULL));
  assert_false(connects("option auth.addr.child-0.allow 10.1.1.1\n", NULL));
  assert_false(connects("option auth.addr.child-0.allow !127.0.0.1\n", NULL));
  assert_false(connects("option auth.addr.child-0.reject 127.0.0.1\n", NULL));
  assert_true(connects("option auth.addr.child-0.allow /\n", NULL));
  assert_true(connects("option auth.addr.child-0.allow /(127.0.0.1|10.0.0.1)\n", NULL));
  assert_false(connects("option auth.addr.child-0.allow /dir(127.0.0.1)\n", NULL));
}

static void
test_rules_of_directories(void **state)
{
  static const char *const ways[] = {"/secret", "//secret", "/secret/", "secret"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(ways); i++) {
    GI_CLEANUP_FREE char *mount = gi_asprintf("option subdir-mount %s\n", ways[i]);
    assert_false(connects("option auth.addr.child-0.reject /secret(127.0.0.1)\n", mount));
    assert_false(connects("option auth.addr.child-0.reject //secret/(127.0.0.1)\n", mount));
    assert_false(connects("option auth.addr.child-0.allow /other(127.0.0.1)\n", mount));
  }
  assert_false(connects("option auth.addr.child-0.reject /\n", NULL));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_login),
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_rules_of_directories),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
