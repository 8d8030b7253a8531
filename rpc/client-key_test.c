/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of clients: files, proofs and lists.
 */
#include "libglusterish/extension.h"
#include "libglusterish/mem.h"
#include "rpc/client-key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

/* DIR/NAME */
static const char *
path(const char *name)
{
  static char text[4][128];
  static unsigned turn;
  char *to = text[turn++ % 4];
  snprintf(to, sizeof(text[0]), "%s/%s", dir, name);
  return to;
}

static void
on_record(struct gi_conn *c, struct gi_record *rec, void *arg)
{
  fail();
}

static void
on_change(struct gi_conn *c, void *arg)
{
}

static void
on_closed(struct gi_conn *c, const struct gi_error *why, void *arg)
{
}

struct bench {
  struct gi_reactor *r;
  struct gi_conn *conn;
  struct gi_key_door door;
  struct gi_key_claim claim;
  char joe[GI_CLIENT_KEY_TEXT], jim[GI_CLIENT_KEY_TEXT], *list;
};

static int
setup(void **state)
{
  static const struct gi_conn_ops ops = {on_record, on_change, on_closed, on_change};
  struct bench *b = gi_new(struct bench);
  b->r = gi_reactor_new(0);
  b->conn = gi_conn_connect(b->r, "127.0.0.1", 1, &ops, b, NULL); /* where it leads to is no matter of this */
  assert_non_null(b->conn);
  b->claim = (struct gi_key_claim){b->conn, "brick", "/b"};
  snprintf(dir, sizeof(dir), "/tmp/client_key_test.XXXXXX");
  assert_non_null(mkdtemp(dir));
  assert_int_equal(gi_client_key_make(path("joe"), b->joe, NULL), 0);
  assert_int_equal(gi_client_key_make(path("jim"), b->jim, NULL), 0);
  b->list = gi_asprintf("jane:%064d,joe:%s", 7, b->joe);
  *state = b;
  return 0;
}

static int
teardown(void **state)
{
  struct bench *b = *state;
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf %s", dir);
  gi_conn_free(&b->conn);
  gi_reactor_turn(b->r, 0);
  gi_reactor_free(b->r);
  gi_free(b->list);
  gi_free(b);
  return system(command);
}

/* ---- files ---- */

static void
test_files(void **state)
{
  struct bench *b = *state;
  struct gi_error err = {0};
  struct stat st;
  char text[GI_CLIENT_KEY_TEXT];
  assert_int_equal(stat(path("joe"), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(gi_client_key_read(path("joe"), true, text, &err), 0);
  assert_string_equal(text, b->joe);
  assert_string_not_equal(text, b->jim);
  assert_int_equal(gi_client_key_make(path("joe"), text, &err), -1);
  assert_int_equal(err.code, EEXIST);
  assert_int_equal(gi_client_key_read(path("none"), true, text, &err), -1);
  assert_int_equal(err.code, ENOENT);
  assert_non_null(strstr(err.text, "none"));
}

static void
refused_with(const char *file, const char *text)
{
  struct gi_error err = {0};
  char key[GI_CLIENT_KEY_TEXT];
  assert_int_equal(gi_client_key_read(file, true, key, &err), -1);
  assert_int_equal(err.code, EPERM);
  assert_non_null(strstr(err.text, text));
  assert_int_equal(gi_client_key_read(file, false, key, &err), 0); /* where the public half will do */
}

/* A private key that others have as well is none. */
static void
test_files_of_others(void **state)
{
  static const mode_t open[] = {0640, 0604, 0620, 0601, 0644};
  struct gi_error err = {0};
  char text[GI_CLIENT_KEY_TEXT];
  for (unsigned i = 0; i < GI_ARRAY_LEN(open); i++) {
    assert_int_equal(chmod(path("joe"), open[i]), 0);
    refused_with(path("joe"), "chmod 600");
  }
  assert_int_equal(symlink("joe", path("link")), 0);
  refused_with(path("link"), "chmod 600");
  assert_int_equal(chmod(path("joe"), 0400), 0);
  assert_int_equal(gi_client_key_read(path("joe"), true, text, &err), 0);
  assert_int_equal(gi_client_key_read(path("link"), true, text, &err), 0);
  if (geteuid() != 0)
    return;
  assert_int_equal(chown(path("joe"), 4711, 0), 0);
  refused_with(path("joe"), "belongs to user 4711");
  assert_int_equal(chmod(dir, 0711), 0);
  assert_int_equal(seteuid(4711), 0);
  int own = gi_client_key_read(path("joe"), true, text, &err);
  assert_int_equal(seteuid(0), 0);
  assert_int_equal(own, 0);
}

/* What openssl makes is taken, the public half alone where that is enough; other kinds of keys are not. */
static void
test_files_of_openssl(void **state)
{
  struct gi_error err = {0};
  char both[GI_CLIENT_KEY_TEXT], public[GI_CLIENT_KEY_TEXT];
  GI_CLEANUP_FREE char *make = gi_asprintf("cd %s && openssl genpkey -algorithm ed25519 -out k 2>/dev/null && "
                                           "openssl pkey -in k -pubout -out p && openssl genpkey -algorithm x25519 -out x && "
                                           "openssl pkey -in k -aes128 -passout pass:a -out locked && echo no key >text",
                                           dir);
  if (system(make))
    skip();
  assert_int_equal(gi_client_key_read(path("k"), true, both, &err), 0);
  assert_int_equal(gi_client_key_read(path("p"), false, public, &err), 0);
  assert_string_equal(both, public);
  static const char *const bad[] = {"p", "x", "locked", "text"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++) {
    assert_int_equal(gi_client_key_read(path(bad[i]), true, both, &err), -1);
    assert_int_equal(err.code, EINVAL);
  }
}

/* ---- proofs ---- */

/* What a client sends that has DIR/NAME; the caller's. */
static struct gi_dict *
shown(const char *name, const struct gi_key_claim *claim, const char *challenge)
{
  struct gi_dict *d = gi_dict_new();
  assert_int_equal(gi_client_key_show(path(name), claim, challenge, d, NULL), 0);
  return d;
}

static enum gi_key_verdict
take(struct bench *b, struct gi_dict *d)
{
  enum gi_key_verdict v = gi_client_key_take(&b->door, b->list, d, &b->claim);
  gi_dict_unref(&d);
  return v;
}

/* The challenge that the door has, or makes. */
static char *
ask(struct bench *b)
{
  struct gi_dict *d = gi_dict_new();
  gi_client_key_ask(&b->door, b->r, d);
  char *text = gi_strdup(gi_client_key_challenge(d));
  gi_dict_unref(&d);
  return text;
}

static void
test_a_key_is_proved(void **state)
{
  struct bench *b = *state;
  assert_int_equal(gi_client_key_take(&b->door, b->list, NULL, &b->claim), GI_KEY_NONE);
  assert_int_equal(take(b, gi_dict_new()), GI_KEY_NONE);
  assert_int_equal(take(b, shown("jim", &b->claim, NULL)), GI_KEY_UNKNOWN);
  assert_int_equal(take(b, shown("joe", &b->claim, NULL)), GI_KEY_UNPROVED);
  assert_int_equal(take(b, shown("joe", &b->claim, "of its own making")), GI_KEY_UNPROVED);
  GI_CLEANUP_FREE char *challenge = ask(b), *same = ask(b);
  assert_string_equal(challenge, same);
  assert_int_equal(take(b, shown("joe", &b->claim, challenge)), GI_KEY_GOOD);
  assert_int_equal(take(b, shown("joe", &b->claim, NULL)), GI_KEY_GOOD); /* on this connection it is known */
  gi_free(b->list);
  b->list = NULL;
  assert_int_equal(take(b, shown("joe", &b->claim, NULL)), GI_KEY_UNKNOWN);
}

/* A proof is good for one challenge, one thing and the key that it is of. */
static void
test_other_proofs(void **state)
{
  struct bench *b = *state;
  const struct gi_key_claim other[] = {{b->conn, "volfile", "/b"}, {b->conn, "brick", "/c"}};
  for (unsigned i = 0; i < GI_ARRAY_LEN(other); i++) {
    GI_CLEANUP_FREE char *challenge = ask(b);
    assert_int_equal(take(b, shown("joe", &other[i], challenge)), GI_KEY_WRONG);
    assert_int_equal(take(b, shown("joe", &b->claim, challenge)), GI_KEY_UNPROVED); /* it was used up */
  }
  GI_CLEANUP_FREE char *old = gi_asprintf("%064d", 1), *challenge = ask(b);
  assert_int_equal(take(b, shown("joe", &b->claim, old)), GI_KEY_WRONG);
  GI_CLEANUP_FREE char *next = ask(b);
  assert_string_not_equal(challenge, next);
  struct gi_dict *forged = shown("jim", &b->claim, next);
  gi_dict_set_str(forged, GI_CLIENT_KEY_KEY, b->joe);
  assert_int_equal(take(b, forged), GI_KEY_WRONG);
  assert_string_equal(b->door.proved, "");
}

static void
test_garbage(void **state)
{
  static const char *const proofs[] = {"", "00", "zz", "a proof"};
  struct bench *b = *state;
  for (unsigned i = 0; i < GI_ARRAY_LEN(proofs); i++) {
    GI_CLEANUP_FREE char *challenge = ask(b);
    struct gi_dict *d = gi_dict_new();
    gi_dict_set_str(d, GI_CLIENT_KEY_KEY, b->joe);
    gi_dict_set_str(d, GI_CLIENT_PROOF_KEY, proofs[i]);
    assert_int_equal(take(b, d), GI_KEY_WRONG);
  }
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_bin(d, GI_CLIENT_KEY_KEY, "\0\1\2", 3);
  assert_int_equal(take(b, d), GI_KEY_NONE);
  GI_CLEANUP_FREE char *none = gi_asprintf("jane:%064d", 7); /* no point of the curve */
  gi_free(b->list);
  b->list = gi_strdup(none);
  GI_CLEANUP_FREE char *challenge = ask(b);
  d = shown("joe", &b->claim, challenge);
  gi_dict_set_str(d, GI_CLIENT_KEY_KEY, none + strlen("jane:"));
  assert_int_equal(take(b, d), GI_KEY_WRONG);
}

/* ---- lists ---- */

static void
test_lists(void **state)
{
  struct bench *b = *state;
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *one = gi_client_keys_with(NULL, "joe", b->joe, &err),
                       *two = gi_client_keys_with(one, "web-1.example", b->jim, &err);
  assert_int_equal(gi_client_keys_check(two, &err), 0);
  assert_int_equal(gi_client_keys_check("", &err), 0);
  GI_CLEANUP_FREE char *name = gi_client_keys_name(two, b->jim);
  assert_string_equal(name, "web-1.example");
  assert_null(gi_client_keys_name(one, b->jim));
  assert_null(gi_client_keys_name(NULL, b->jim));
  assert_null(gi_client_keys_name(two, NULL));
  assert_null(gi_client_keys_with(two, "joe", b->jim, &err));
  assert_int_equal(err.code, EEXIST);
  assert_null(gi_client_keys_with(two, "jack", b->joe, &err));
  assert_non_null(strstr(err.text, "as joe"));
  static const char *const names[] = {"", "a b", "a,b", "a:b", "../a", "a/b"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++)
    assert_null(gi_client_keys_with(two, names[i], b->joe, &err));
  assert_null(gi_client_keys_with(two, "jack", "12", &err));
  GI_CLEANUP_FREE char *rest = gi_client_keys_without(two, "joe", &err), *none = gi_client_keys_without(one, "joe", &err);
  assert_null(gi_client_keys_name(rest, b->joe));
  assert_string_equal(none, "");
  assert_null(gi_client_keys_without(two, "jack", &err));
  assert_int_equal(err.code, ENOENT);
}

static void
test_what_is_no_list(void **state)
{
  static const char *const bad[] = {"a", "a:", ":", "a:12", ",", "a b:%064d", ":%064d", "a:%064dx", "a:z%063d"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++) {
    char text[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), bad[i], 1);
#pragma GCC diagnostic pop
    assert_int_equal(gi_client_keys_check(text, NULL), -1);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_files, setup, teardown),
      cmocka_unit_test_setup_teardown(test_files_of_others, setup, teardown),
      cmocka_unit_test_setup_teardown(test_files_of_openssl, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_key_is_proved, setup, teardown),
      cmocka_unit_test_setup_teardown(test_other_proofs, setup, teardown),
      cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
      cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_is_no_list, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
