/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's authority: what it makes can be used at every moment, and what it
 * takes back is on its list.
 */
#include "programs/glusterishd/daemon-fixture.h"
#include "programs/glusterishd/tls/authority.h"
#include "programs/glusterishd/model/model.h"
#include "rpc/tls-private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ONE "11111111-1111-4111-8111-111111111111"
#define TWO "22222222-2222-4222-8222-222222222222"
#define KILLS 20

static char *
path(const char *name)
{
  return gi_asprintf("%s/tls/%s", fixture_root, name);
}

static bool
usable(const char *cert, const char *key, const char *ca)
{
  GI_CLEANUP_FREE char *c = path(cert), *k = path(key), *trust = path(ca), *crl = path("crl");
  struct gi_error err = {0};
  struct gi_tls *t = gi_tls_new(&(struct gi_tls_config){.cert = c, .key = k, .ca = trust, .crl = crl}, &err);
  bool ok = t != NULL;
  gi_tls_unref(&t);
  return ok;
}

static bool
node_usable(void)
{
  return usable("node.pem", "node.pem", "ca.pem");
}

static char *
node_serial(const json_t *doc)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root);
  json_t *list = gd_authority_list(dir, doc);
  char *serial = gi_strdup(json_string_value(json_object_get(json_array_get(list, 0), "serial")));
  json_decref(list);
  return serial;
}

static void
put(const json_t *doc, const char *node)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root);
  struct gi_error err = {0};
  if (gd_authority_put(dir, doc, node, &err))
    fail_msg("%s", err.text);
}

static void
give(json_t *doc, const char *name)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root);
  struct gi_error err = {0};
  struct gd_bundle b = {0};
  if (gd_authority_client(doc, name, &b, &err) || gd_bundle_prepare(dir, doc, &b, &err) ||
      gd_bundles_settle(dir, doc, false, &err))
    fail_msg("%s", err.text);
  gd_bundle_clear(&b);
}

static bool
revoked(const json_t *doc, size_t i)
{
  return json_is_true(json_object_get(json_array_get(json_object_get(doc, "issued"), i), "revoked"));
}

static json_t *
new_authority(void)
{
  struct gi_error err = {0};
  json_t *doc = gd_authority_new(&err);
  assert_non_null(doc);
  put(doc, ONE);
  return doc;
}

static void
test_it_makes_renews_and_takes_back(void **state)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root), *file = path("authority"), *node = path("node.pem");
  struct gi_error err = {0};
  struct stat st, again;
  assert_null(gd_authority_load(dir));
  json_t *doc = new_authority(), *loaded = gd_authority_load(dir);
  assert_true(json_equal(doc, loaded));
  json_decref(loaded);
  assert_int_equal(stat(file, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_true(node_usable());

  assert_int_equal(stat(node, &st), 0);
  put(doc, ONE); /* what is right stays */
  assert_int_equal(stat(node, &again), 0);
  assert_int_equal(again.st_ino, st.st_ino);
  GI_CLEANUP_FREE char *first = node_serial(doc);
  json_object_set_new(doc, "renewed", json_integer(1));
  put(doc, ONE);
  GI_CLEANUP_FREE char *second = node_serial(doc);
  assert_string_not_equal(first, second);
  assert_true(node_usable());

  give(doc, "joe");
  give(doc, "joe");
  assert_true(usable("clients/joe/glusterfs.pem", "clients/joe/glusterfs.key", "clients/joe/glusterfs.ca"));
  json_t *list = gd_authority_list(dir, doc);
  assert_int_equal(json_array_size(list), 3);
  assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "until")), ""); /* replaced */
  assert_string_not_equal(json_string_value(json_object_get(json_array_get(list, 2), "until")), "");
  json_decref(list);

  assert_int_equal(gd_authority_revoke(doc, "joe", &err), 0);
  assert_true(revoked(doc, 0) && revoked(doc, 1));
  assert_int_equal(gd_authority_revoke(doc, "joe", &err), -1);
  assert_int_equal(gd_authority_revoke(doc, "jim", &err), -1);
  assert_int_equal(err.code, ENOENT);
  give(doc, "joe");
  assert_false(revoked(doc, 2));
  put(doc, ONE);
  json_decref(doc);
}

/* The daemon dies before the change is stored, or after it. */
static void
test_a_bundle_goes_with_its_document(void **state)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root), *next = path("clients/.joe"), *joe = path("clients/joe");
  struct gi_error err = {0};
  struct gd_bundle b = {0};
  json_t *doc = new_authority(), *before = json_deep_copy(doc);
  assert_int_equal(gd_authority_client(doc, "joe", &b, &err), 0);
  assert_int_equal(gd_bundle_prepare(dir, doc, &b, &err), 0);
  assert_int_equal(gd_bundles_settle(dir, before, false, &err), 0); /* it may still be stored */
  assert_int_equal(access(next, F_OK), 0);
  assert_int_equal(access(joe, F_OK), -1);
  assert_int_equal(gd_bundles_settle(dir, doc, false, &err), 0);
  assert_int_equal(access(next, F_OK), -1);
  assert_true(usable("clients/joe/glusterfs.pem", "clients/joe/glusterfs.key", "clients/joe/glusterfs.ca"));
  assert_int_equal(gd_bundle_prepare(dir, doc, &b, &err), 0);
  assert_int_equal(gd_bundles_settle(dir, before, true, &err), 0); /* it was refused */
  assert_int_equal(access(next, F_OK), -1);
  assert_int_equal(access(joe, F_OK), 0);
  gd_bundle_clear(&b);
  json_decref(before);
  json_decref(doc);
}

/* The lines of the revocation list that are of revoked certificates. */
static unsigned
listed(void)
{
  GI_CLEANUP_FREE char *crl = path("crl/pool.crl"), *ask = gi_asprintf("openssl crl -in %s -noout -text", crl);
  char line[256];
  unsigned n = 0;
  FILE *p = popen(ask, "r");
  assert_non_null(p);
  while (fgets(line, sizeof(line), p))
    n += strstr(line, "Serial Number:") != NULL;
  assert_int_equal(pclose(p), 0);
  return n;
}

static void
test_a_node_that_left_is_on_the_list(void **state)
{
  GI_CLEANUP_FREE char *crl = path("crl/pool.crl");
  struct stat st, again;
  json_t *doc = new_authority();
  assert_int_equal(listed(), 0);
  assert_true(gd_authority_node_left(doc, TWO, true));
  assert_false(gd_authority_node_left(doc, TWO, true));
  json_object_set_new(doc, "renewed", json_integer(1)); /* both that it may have */
  put(doc, ONE);
  assert_int_equal(listed(), 2);
  assert_int_equal(stat(crl, &st), 0);
  put(doc, ONE);
  assert_int_equal(stat(crl, &again), 0);
  assert_int_equal(again.st_ino, st.st_ino);
  assert_true(gd_authority_node_left(doc, TWO, false)); /* it came again */
  assert_false(gd_authority_node_left(doc, TWO, false));
  put(doc, ONE);
  assert_int_equal(listed(), 0);
  json_decref(doc);
}

/* ---- another authority ---- */

static struct gi_tls *
tls_of(const char *cert, const char *key, const char *ca, const char *crl, int64_t depth)
{
  GI_CLEANUP_FREE char *c = path(cert), *k = path(key), *trust = path(ca), *list = crl ? path(crl) : NULL;
  struct gi_error err = {0};
  struct gi_tls *t = gi_tls_new(&(struct gi_tls_config){.cert = c, .key = k, .ca = trust, .crl = list, .depth = depth}, &err);
  if (!t)
    fail_msg("%s", err.text);
  return t;
}

/* A client with what is in tls/DIR meets the node whose certificate and key are in that file: do they like each other? What is wrong
 * goes to `node` and `client`. */
static bool
meet(const char *dir, int64_t depth, const char *cert, struct gi_error *node, struct gi_error *client)
{
  GI_CLEANUP_FREE char *pem = gi_asprintf("%s/glusterfs.pem", dir), *key = gi_asprintf("%s/glusterfs.key", dir),
                       *ca = gi_asprintf("%s/glusterfs.ca", dir);
  struct gi_tls *tls[2] = {tls_of(cert, cert, "ca.pem", "crl", 0), tls_of(pem, key, ca, NULL, depth)};
  struct gi_error *why[2] = {node, client}, err = {0};
  SSL *ssl[2];
  BIO *wire[2];
  int done[2] = {0, 0};
  assert_int_equal(BIO_new_bio_pair(&wire[0], 1 << 16, &wire[1], 1 << 16), 1);
  for (unsigned i = 0; i < 2; i++) {
    *why[i] = (struct gi_error){0};
    ssl[i] = tls_session(tls[i], i == 0, why[i], &err);
    assert_non_null(ssl[i]);
    SSL_set_bio(ssl[i], wire[i], wire[i]);
  }
  for (unsigned turn = 0; turn < 20; turn++)
    done[turn % 2] = SSL_do_handshake(ssl[turn % 2]);
  for (unsigned i = 0; i < 2; i++) {
    SSL_free(ssl[i]);
    gi_tls_unref(&tls[i]);
  }
  return done[0] == 1 && done[1] == 1;
}

static void
copy(const char *from, const char *to)
{
  GI_CLEANUP_FREE char *a = path(from), *b = path(to), *order = gi_asprintf("cp -r %s %s", a, b);
  assert_int_equal(system(order), 0);
}

static void
succeed(json_t *doc)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root);
  struct gi_error err = {0};
  assert_int_equal(gd_authority_succeed(dir, doc, &err), 0);
  put(doc, ONE);
}

/* Somebody has the key of the authority before: what is signed with it now is worth nothing, what it had signed is. */
static void
test_another_authority_takes_its_place(void **state)
{
  struct gi_error node, client;
  json_t *doc = new_authority(), *kept;
  give(doc, "joe");
  put(doc, ONE);
  assert_true(meet("clients/joe", 0, "node.pem", &node, &client));
  kept = json_deep_copy(doc);
  copy("node.pem", "old.pem");
  copy("clients/joe", "old");
  succeed(doc);
  assert_true(node_usable());
  assert_true(meet("old", 0, "node.pem", &node, &client)); /* by the chain, and as one that is known */

  give(kept, "joe"); /* it signs one of that name */
  assert_false(meet("clients/joe", 0, "node.pem", &node, &client));
  assert_int_equal(node.code, EKEYREJECTED);
  assert_string_equal(node.text,
                      "its certificate \"joe\" is of a CA that was replaced: \"glusterish pool\" is trusted no more");
  give(doc, "joe");
  put(doc, ONE);
  assert_true(meet("clients/joe", 0, "node.pem", &node, &client));
  copy("clients/joe", "new");
  assert_false(meet("new", 0, "old.pem", &node, &client)); /* nor is one believed that pretends to be a node */
  assert_int_equal(client.code, EKEYREJECTED);
  assert_string_equal(client.text,
                      "its certificate \"node\" is of the wrong CA: \"glusterish pool\" is none that is trusted here");

  succeed(doc);
  assert_true(meet("new", 0, "node.pem", &node, &client));
  assert_true(meet("old", 2, "node.pem", &node, &client)); /* two authorities later */
  assert_false(meet("old", 0, "node.pem", &node, &client));
  assert_non_null(strstr(client.text, "ssl-cert-depth"));

  struct gi_error err = {0};
  assert_int_equal(gd_authority_revoke(doc, "joe", &err), 0);
  put(doc, ONE);
  assert_false(meet("new", 0, "node.pem", &node, &client));
  assert_false(meet("old", 2, "node.pem", &node, &client));
  json_decref(kept);
  json_decref(doc);
}

static void
test_the_last_two_of_a_client_outlive_their_authority(void **state)
{
  struct gi_error node, client;
  json_t *doc = new_authority();
  static const char *const names[] = {"first", "second", "third"};
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
    give(doc, "joe");
    copy("clients/joe", names[i]);
  }
  succeed(doc);
  assert_false(meet("first", 0, "node.pem", &node, &client));
  assert_true(meet("second", 0, "node.pem", &node, &client));
  assert_true(meet("third", 0, "node.pem", &node, &client));
  json_decref(doc);
}

/* A version before has noted less: what this node gave out is found in its directory. */
static void
test_what_was_not_noted_is_found(void **state)
{
  struct gi_error node, client;
  json_t *doc = new_authority();
  give(doc, "joe");
  json_object_del(json_array_get(json_object_get(doc, "issued"), 0), "certificate");
  copy("clients/joe", "old");
  succeed(doc);
  assert_true(meet("old", 0, "node.pem", &node, &client));
  json_decref(doc);
}

/* Many nodes leave: what nodes show stays of bounded length, and each client is told the limit. */
static void
test_successions_are_many(void **state)
{
  struct gi_error node, client;
  GI_CLEANUP_FREE char *said = path("clients/joe/secure-access");
  char line[2][128] = {"", ""};
  json_t *doc = new_authority();
  give(doc, "joe");
  copy("clients/joe", "old");
  FILE *f = fopen(said, "r");
  assert_non_null(f);
  for (size_t i = 0; i < 2; i++)
    assert_non_null(fgets(line[i], sizeof(line[i]), f));
  fclose(f);
  assert_string_equal(line[1], "option transport.socket.ssl-cert-depth 16\n");
  for (unsigned i = 0; i < 16; i++)
    succeed(doc);
  assert_true(meet("old", 16, "node.pem", &node, &client));
  succeed(doc);
  assert_int_equal(json_array_size(json_object_get(doc, "chain")), 16);
  assert_false(meet("old", 16, "node.pem", &node, &client));
  assert_string_equal(client.text,
                      "its certificate \"node\" is of the wrong CA: \"glusterish pool 2\" is none that is trusted here");
  json_decref(doc);
}

/* Whoever renews is killed at any moment: what is there is a whole pair. */
static void
test_renewing_is_killed(void **state)
{
  json_t *doc = new_authority();
  give(doc, "joe");
  for (unsigned n = 0; n < KILLS; n++) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      for (int renewed = 1;; renewed = renewed % 900 + 1) {
        json_object_set_new(doc, "renewed", json_integer(renewed));
        put(doc, ONE);
        give(doc, "joe");
        if (renewed % 10 == 0)
          succeed(doc);
      }
    }
    usleep(3000 * (n % 7) + 500 * n);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(node_usable());
    assert_true(usable("clients/joe/glusterfs.pem", "clients/joe/glusterfs.key", "clients/joe/glusterfs.ca"));
  }
  json_decref(doc);
}

/* Somebody reads them while they are renewed. */
static void
test_credentials_are_read_while_they_are_renewed(void **state)
{
  json_t *doc = new_authority();
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    for (int renewed = 1;; renewed = renewed % 900 + 1) {
      json_object_set_new(doc, "renewed", json_integer(renewed));
      put(doc, ONE);
    }
  }
  for (unsigned n = 0; n < 200; n++)
    assert_true(node_usable());
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  json_decref(doc);
}

static void
test_what_is_damaged_is_refused(void **state)
{
  static const char *const bad[] = {"mode", "certificate", "key"};
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", fixture_root);
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    json_t *doc = gd_authority_new(&err);
    json_object_set_new(doc, bad[i], json_string("x"));
    assert_false(gd_authority_usable(doc));
    assert_int_equal(gd_authority_put(dir, doc, ONE, &err), -1);
    json_decref(doc);
  }
  assert_false(gd_authority_usable(NULL));
}

static void
test_names(void **state)
{
  static const char *const bad[] = {"", "..", ".x", "a/b", "a b", "a=b", "a\nb"};
  assert_true(gd_authority_name_ok("host-1.example_org"));
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_false(gd_authority_name_ok(bad[i]));
}

int
main(void)
{
  gi_log_set_level(GI_LOG_NONE);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_it_makes_renews_and_takes_back, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_a_bundle_goes_with_its_document, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_a_node_that_left_is_on_the_list, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_another_authority_takes_its_place, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_the_last_two_of_a_client_outlive_their_authority, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_what_was_not_noted_is_found, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_successions_are_many, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_renewing_is_killed, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_credentials_are_read_while_they_are_renewed, make_root, remove_root),
      cmocka_unit_test_setup_teardown(test_what_is_damaged_is_refused, make_root, remove_root),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
