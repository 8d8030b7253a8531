/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server: who may connect, through protocol/client.
 */
#include "rpc/client-key.h"
#include "rpc/net.h"
#include "rpc/tls-fixture.h"
#include "tests/unit/brick-bench.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define LOGIN \
  "option auth.login.child-0.allow joe\noption auth.login.joe.password secret\noption auth.addr.child-0.reject 127.*\n"
#define LOGIN_ONLY \
  "option auth.login.child-0.allow joe\noption auth.login.joe.password secret\noption auth.addr.child-0.allow 10.0.0.1\n"

/* Does the client come to a brick? Frees the bench. */
static bool
comes_up(struct bench *b)
{
  for (unsigned i = 0; i < 2000 && !b->client->events[GI_EVENT_CHILD_UP] && !b->client->events[GI_EVENT_CHILD_DOWN]; i++)
    bench_turn(b, 0);
  bool up = b->client->events[GI_EVENT_CHILD_UP] > 0;
  assert_true(up || b->client->events[GI_EVENT_CHILD_DOWN]);
  bench_free(b);
  return up;
}

static bool
connects(const char *server_options, const char *client_options)
{
  return comes_up(bench_new(server_options, client_options, false));
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

/* The brick takes both, the client goes over without a break, and one that has not is shown the door. */
static void
test_another_password_while_both_run(void **state)
{
  struct bench *b = bench_new(LOGIN_ONLY, "option username joe\noption password secret\n", true);
  bench_set_option(b->server, "auth.login.jim.password", "new");
  bench_set_option(b->server, "auth.login.child-0.allow", "jim,joe");
  bench_set_option(b->client, "username", "jim");
  bench_set_option(b->client, "password", "new");
  bench_turn(b, 50);
  bench_set_option(b->server, "auth.login.child-0.allow", "jim");
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 1);
  bench_set_option(b->server, "auth.login.child-0.allow", "jane");
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 1);
  bench_free(b);
  /* where anybody may come it stays, as anybody */
  b = bench_new("option auth.login.child-0.allow joe\noption auth.login.joe.password secret\n",
                "option username joe\noption password secret\n", true);
  bench_set_option(b->server, "auth.login.child-0.allow", "jane");
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  bench_free(b);
}

/* ---- host names ---- */

/* What the name service does: it knows here.test, which is this machine, away.test, which is not, and crowd.test, which are many, of whom this
 * machine is the last. */
enum { ANSWERS, HANGS, FAILS };
static atomic_int name_service, questions;

static int
address(struct gi_reactor *r, const char *text, struct gi_net_address *out)
{
  struct gi_error err;
  return gi_net_kernel.resolve(r, text, 0, out, 1, &err);
}

static int
resolve(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  unsigned n = 0;
  questions++;
  while (name_service == HANGS)
    usleep(1000);
  if (name_service == FAILS)
    return gi_error_set(err, EHOSTUNREACH, "the name service fails");
  for (; strcmp(host, "crowd.test") == 0 && n < max && n < 99; n++)
    address(r, "10.0.0.2", &out[n]);
  if (n < max && (n || strcmp(host, "here.test") == 0))
    n += (unsigned)address(r, "127.0.0.1", &out[n]);
  if (strcmp(host, "away.test") == 0)
    n += (unsigned)address(r, "10.0.0.1", &out[n]);
  return n ? (int)n : gi_error_set(err, GI_NET_NO_SUCH_NAME, "there is no %s", host);
}

static const struct gi_net_ops *
net_with_names(void)
{
  static struct gi_net_ops net;
  net = gi_net_kernel;
  net.resolve = resolve;
  return &net;
}

/* A brick with those options, and a client whose first attempt has ended. */
static struct bench *
bench_with_names(const char *const options[2], int service)
{
  static const char *const names[] = {"auth.addr.child-0.allow", "auth.addr.child-0.reject"};
  struct bench *b = bench_new(NULL, NULL, false);
  name_service = service;
  questions = 0;
  b->server->ctx.reactor->net = net_with_names();
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++)
    if (options[i])
      bench_set_option(b->server, names[i], options[i]);
  for (unsigned i = 0; i < 2000 && !b->client->events[GI_EVENT_CHILD_UP] && !b->client->events[GI_EVENT_CHILD_DOWN]; i++)
    bench_turn(b, 0);
  return b;
}

static const char *const allow_here[2] = {"here.test"};

static bool
was_let_in(const struct bench *b)
{
  return b->client->events[GI_EVENT_CHILD_UP] > 0;
}

static bool
gets_in(struct bench *b)
{
  return bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 1);
}

/* Who comes before the name service has answered is let in, if at all, when it has. */
static void
test_names_of_a_dead_name_service(void **state)
{
  static const struct {
    const char *options[2]; /* allow, reject */
    bool in;
  } cases[] = {
      {{"here.test"}, true},         {{"away.test"}, false},           {{"ghost.test"}, false},
      {{"!here.test"}, false},       {{"!away.test"}, true},           {{"/(here.test|away.test)"}, true},
      {{NULL, "away.test"}, true},   {{NULL, "here.test"}, false},     {{NULL, "ghost.test"}, true},
      {{NULL, "crowd.test"}, false}, {{"away.test,crowd.test"}, true},
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct bench *b = bench_with_names(cases[i].options, HANGS);
    assert_false(was_let_in(b));
    name_service = ANSWERS;
    if (cases[i].in)
      assert_true(gets_in(b));
    else
      bench_turn(b, 200);
    assert_int_equal(was_let_in(b), cases[i].in);
    bench_free(b);
  }
}

/* What does not depend on names does not wait for them. */
static void
test_names_that_do_not_decide(void **state)
{
  static const char *const options[][2] = {
      {"away.test,127.0.0.1"},
      {"/dir(away.test),/", "/dir(here.test)"},
      {"localhost"},
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(options); i++) {
    struct bench *b = bench_with_names(options[i], HANGS);
    assert_true(was_let_in(b));
    name_service = ANSWERS;
    bench_free(b);
  }
}

/* A name service that fails is asked again, until it answers. */
static void
test_names_are_asked_for_again(void **state)
{
  struct bench *b = bench_with_names(allow_here, FAILS);
  assert_false(was_let_in(b));
  bench_turn(b, 20);
  name_service = ANSWERS;
  assert_true(gets_in(b));
  bench_free(b);
}

/* Lists that change while the name service is dead: they are taken at once, whoever is in stays until it answers, and what was known counts. */
static void
test_names_when_rules_change(void **state)
{
  struct bench *b = bench_with_names(allow_here, ANSWERS);
  assert_true(gets_in(b));
  unsigned *downs = &b->client->events[GI_EVENT_CHILD_DOWN], before = *downs;
  questions = 0;
  name_service = HANGS;
  bench_set_option(b->server, "auth.addr.child-0.allow", "here.test,away.test");
  bench_turn(b, 20);
  assert_int_equal(*downs, before);
  /* another one, who was never here */
  GI_CLEANUP_FREE char *text =
      gi_asprintf("option remote-host 127.0.0.1\noption remote-port %d\noption remote-subvolume " BENCH_BRICK "\n", b->port);
  struct fake_stack *first = b->client;
  b->client = fake_stack_new("protocol/client", text, 0);
  assert_true(gets_in(b));
  struct fake_stack *second = b->client;
  b->client = first;
  bench_set_option(b->server, "auth.addr.child-0.reject", "away.test");
  bench_turn(b, 20);
  assert_int_equal(*downs, before);
  assert_int_equal(questions, 1); /* one worker waits for it */
  bench_set_option(b->server, "auth.addr.child-0.reject", "here.test");
  assert_true(bench_until(b, downs, before + 1)); /* who that is was known */
  name_service = ANSWERS;
  gi_graph_deactivate(second->graph);
  fake_stack_free(second);
  bench_free(b);
}

/* The brick may end before the name service answers. */
static void
test_names_of_a_brick_that_ends(void **state)
{
  struct bench *b = bench_with_names(allow_here, HANGS);
  gi_graph_deactivate(b->client->graph);
  bench_turn(b, 5);
  fake_stack_free(b->client);
  b->client = NULL;
  gi_graph_deactivate(b->server->graph);
  name_service = ANSWERS;
  bench_free(b);
}

/* ---- certificates ---- */

static char dir[64];

/* The lines of one side whose certificate is DIR/NAME.pem; caller frees. */
static char *
tls_lines(const char *name, const char *more)
{
  return gi_asprintf("option transport.socket.ssl-enabled on\noption transport.socket.ssl-own-cert %s/%s.pem\n"
                     "option transport.socket.ssl-private-key %s/%s.key\noption transport.socket.ssl-ca-list %s/ours.ca\n%s",
                     dir, name, dir, name, dir, more ? more : "");
}

static bool
connects_as(const char *name, const char *server_more, const char *client_more)
{
  GI_CLEANUP_FREE char *server = tls_lines("brick", server_more), *client = tls_lines(name, client_more);
  return connects(server, client);
}

static void
test_names_of_certificates(void **state)
{
  assert_true(connects_as("joe", NULL, NULL));
  assert_true(connects_as("joe", "option auth.login.child-0.ssl-allow jim,joe\n", NULL));
  assert_true(connects_as("joe", "option auth.login.child-0.ssl-allow *\n", NULL));
  assert_true(connects_as("joe", "option auth.login.child-0.ssl-allow j*\n", NULL));
  assert_false(connects_as("joe", "option auth.login.child-0.ssl-allow jim\n", NULL));
  assert_false(connects_as("joe", "option auth.login.child-0.ssl-allow joey\n", NULL));
  assert_false(connects_as("nameless", "option auth.login.child-0.ssl-allow *\n", NULL));
  /* a name lets in whom no address rule does, but not against one */
  assert_true(connects_as("joe", "option auth.login.child-0.ssl-allow joe\noption auth.addr.child-0.allow 10.0.0.1\n", NULL));
  assert_false(connects_as("joe", "option auth.login.child-0.ssl-allow joe\noption auth.addr.child-0.reject 127.*\n", NULL));
  assert_true(connects_as("joe", "option auth.login.child-0.ssl-allow joe\noption strict-auth-accept on\n", NULL));
  /* nor does a password help a name that is not allowed */
  assert_false(connects_as("joe", LOGIN_ONLY "option auth.login.child-0.ssl-allow jim\n",
                           "option username joe\noption password secret\n"));
}

/* Whom a name lets in stays, too, when the rules are looked at again. */
static void
test_names_of_certificates_when_rules_change(void **state)
{
  GI_CLEANUP_FREE char *server = tls_lines("brick", "option auth.login.child-0.ssl-allow joe\n"
                                                    "option auth.addr.child-0.allow 10.0.0.1\n"),
                       *client = tls_lines("joe", NULL);
  struct bench *b = bench_new(server, client, true);
  bench_set_option(b->server, "auth.addr.child-0.allow", "10.0.0.2");
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  bench_set_option(b->server, "auth.addr.child-0.reject", "127.*");
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_free(b);
}

static void
test_plain_clients_of_an_encrypted_brick(void **state)
{
  GI_CLEANUP_FREE char *only = tls_lines("brick", NULL), *too = tls_lines("brick", "option transport.socket.ssl-optional on\n");
  assert_false(connects(only, NULL));
  assert_true(connects(too, NULL));
  assert_true(connects_as("joe", "option transport.socket.ssl-optional on\n", NULL));
  GI_CLEANUP_FREE char *client = tls_lines("joe", NULL);
  assert_false(connects(NULL, client));
  assert_false(connects_as("stranger", NULL, NULL));
}

/* From plain to TLS and on, while both run: who is connected stays, the next connection is of the new kind. */
static void
test_tls_is_switched_on_while_both_run(void **state)
{
  static const char *const sides[] = {"brick", "joe"};
  struct bench *b = bench_new(NULL, NULL, true);
  struct fake_stack *stack[] = {b->server, b->client};
  for (unsigned i = 0; i < 2; i++) {
    GI_CLEANUP_FREE char *cert = gi_asprintf("%s/%s.pem", dir, sides[i]), *key = gi_asprintf("%s/%s.key", dir, sides[i]),
                         *ca = gi_asprintf("%s/ours.ca", dir);
    bench_set_option(stack[i], "transport.socket.ssl-own-cert", cert);
    bench_set_option(stack[i], "transport.socket.ssl-private-key", key);
    bench_set_option(stack[i], "transport.socket.ssl-ca-list", ca);
    bench_set_option(stack[i], "transport.socket.ssl-enabled", "on");
  }
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  bench_stop_server(b);
  GI_CLEANUP_FREE char *lines = tls_lines("brick", NULL);
  bench_start_server(b, lines);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  bench_free(b);
}

/* ---- keys of clients ---- */

static char joes[GI_CLIENT_KEY_TEXT], jims[GI_CLIENT_KEY_TEXT];

/* A client with DIR/KEY (NULL: without a key) and a brick. */
static struct bench *
bench_with_key(const char *server, const char *client, const char *key, char *file)
{
  struct bench *b = bench_new(server, client, false);
  snprintf(file, 128, "%s/%s", dir, key ? key : "");
  b->client->ctx.client_key = key ? file : NULL;
  return b;
}

static bool
connects_with_key(const char *server, const char *client, const char *key)
{
  char file[128];
  return comes_up(bench_with_key(server, client, key, file));
}

static void
test_keys(void **state)
{
  GI_CLEANUP_FREE char *joe = gi_asprintf("option client-key on\noption client-keys joe:%s\n", joes),
                       *both = gi_asprintf("option client-key on\noption client-keys joe:%s,jim:%s\n", joes, jims),
                       *off = gi_asprintf("option client-keys jim:%s\n", jims),
                       *password = gi_asprintf("%s%s", joe, LOGIN_ONLY);
  assert_true(connects_with_key(joe, NULL, "joe.client"));
  assert_false(connects_with_key(joe, NULL, "jim.client"));
  assert_false(connects_with_key(joe, NULL, NULL));
  assert_true(connects_with_key(both, NULL, "jim.client"));
  assert_true(connects_with_key(both, "option connections-per-brick 3\n", "joe.client"));
  assert_false(connects_with_key("option client-key on\n", NULL, "joe.client")); /* nobody's: closed */
  assert_true(connects_with_key(off, NULL, "joe.client"));
  assert_true(connects_with_key(off, NULL, "jim.client"));
  assert_true(connects_with_key(off, NULL, NULL));
  /* those of the pool know the password */
  assert_true(connects_with_key(password, "option username joe\noption password secret\n", NULL));
  /* a key opens nothing that is closed to its address */
  GI_CLEANUP_FREE char *rejected = gi_asprintf("%soption auth.addr.child-0.reject 127.*\n", joe);
  assert_false(connects_with_key(rejected, NULL, "joe.client"));
}

/* With TLS both count: the certificate, and the key. */
static void
test_keys_and_certificates(void **state)
{
  GI_CLEANUP_FREE char *rules = gi_asprintf("option client-key on\noption client-keys joe:%s\n"
                                            "option auth.login.child-0.ssl-allow joe\n",
                                            joes);
  GI_CLEANUP_FREE char *server = tls_lines("brick", rules), *joe = tls_lines("joe", NULL), *other = tls_lines("nameless", NULL);
  assert_true(connects_with_key(server, joe, "joe.client"));
  assert_false(connects_with_key(server, joe, "jim.client"));
  assert_false(connects_with_key(server, joe, NULL));
  assert_false(connects_with_key(server, other, "joe.client"));
}

/* A key that goes ends what it let in at once; one that stays, or was shown before keys were demanded, disturbs nobody. */
static void
test_keys_when_they_change(void **state)
{
  char file[128];
  GI_CLEANUP_FREE char *one = gi_asprintf("joe:%s", joes), *two = gi_asprintf("jim:%s,joe:%s", jims, joes),
                       *other = gi_asprintf("jim:%s", jims), *server = gi_asprintf("option client-keys %s\n", one);
  struct bench *b = bench_with_key(server, NULL, "joe.client", file);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 1));
  bench_set_option(b->server, "client-key", "on");
  bench_set_option(b->server, "client-keys", two);
  bench_set_option(b->server, "dynamic-auth", "off");
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  bench_set_option(b->server, "client-keys", other);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_turn(b, 50);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_UP], 1);
  bench_set_option(b->server, "client-keys", one);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  bench_free(b);
}

static void
test_who_has_no_key_goes_when_it_is_demanded(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  bench_set_option(b->server, "client-key", "on");
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_free(b);
}

static int
make_keys(void)
{
  GI_CLEANUP_FREE char *joe = gi_asprintf("%s/joe.client", dir), *jim = gi_asprintf("%s/jim.client", dir);
  return gi_client_key_make(joe, joes, NULL) || gi_client_key_make(jim, jims, NULL);
}

static int
make_files(void **state)
{
  snprintf(dir, sizeof(dir), "/tmp/server_auth_test.XXXXXX");
  assert_non_null(mkdtemp(dir));
  struct tls_authority *ours = tls_authority_new(dir, "ours"), *theirs = tls_authority_new(dir, "theirs");
  tls_certificate(dir, "brick", ours, "node-1", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "joe", ours, "joe", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "nameless", ours, "", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "stranger", theirs, "joe", -TLS_DAY, TLS_DAY);
  tls_authority_free(&ours);
  tls_authority_free(&theirs);
  return make_keys();
}

static int
remove_files(void **state)
{
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf %s", dir);
  return system(command);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_login),
      cmocka_unit_test(test_another_password_while_both_run),
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_rules_of_directories),
      cmocka_unit_test(test_names_of_a_dead_name_service),
      cmocka_unit_test(test_names_that_do_not_decide),
      cmocka_unit_test(test_names_are_asked_for_again),
      cmocka_unit_test(test_names_when_rules_change),
      cmocka_unit_test(test_names_of_a_brick_that_ends),
      cmocka_unit_test(test_names_of_certificates),
      cmocka_unit_test(test_names_of_certificates_when_rules_change),
      cmocka_unit_test(test_plain_clients_of_an_encrypted_brick),
      cmocka_unit_test(test_tls_is_switched_on_while_both_run),
      cmocka_unit_test(test_keys),
      cmocka_unit_test(test_keys_and_certificates),
      cmocka_unit_test(test_keys_when_they_change),
      cmocka_unit_test(test_who_has_no_key_goes_when_it_is_demanded),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
