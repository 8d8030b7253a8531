/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's authority: what it makes can be used, and what it takes back is
 * on its list.
 */
#include "programs/glusterishd/tls/authority.h"
#include "programs/glusterishd/model/model.h"
#include "rpc/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char root[64];

static char *
path(const char *name)
{
  return gi_asprintf("%s/tls/%s", root, name);
}

static bool
usable(const char *base, const char *ca)
{
  GI_CLEANUP_FREE char *cert = gi_asprintf("%s/tls/%s.pem", root, base), *key = gi_asprintf("%s/tls/%s.key", root, base);
  GI_CLEANUP_FREE char *trust = path(ca), *crl = path("crl");
  struct gi_error err = {0};
  struct gi_tls *t = gi_tls_new(&(struct gi_tls_config){.cert = cert, .key = key, .ca = trust, .crl = crl}, &err);
  bool ok = t != NULL;
  gi_tls_unref(&t);
  return ok;
}

static bool
revoked(const char *dir, size_t i)
{
  json_t *list = gd_authority_list(dir);
  bool is = json_is_true(json_object_get(json_array_get(list, i), "revoked"));
  json_decref(list);
  return is;
}

static const char *
until(json_t *list, size_t i)
{
  return json_string_value(json_object_get(json_array_get(list, i), "until"));
}

static void
test_it_makes_renews_and_takes_back(void **state)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/tls", root);
  GI_CLEANUP_FREE char *key = path("ca.key");
  struct gi_error err = {0};
  struct stat st;
  assert_false(gd_authority_exists(dir));
  assert_int_equal(gd_authority_make(dir, &err), 0);
  assert_true(gd_authority_exists(dir));
  assert_int_equal(stat(key, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  ino_t was = st.st_ino;
  assert_int_equal(gd_authority_issue(dir, GD_AUTHORITY_NODE, GD_AUTHORITY_NODE, &err), 0);
  assert_int_equal(gd_authority_client(dir, "joe", &err), 0);
  assert_true(usable("node", "ca.pem"));
  assert_true(usable("clients/joe/glusterfs", "clients/joe/glusterfs.ca"));

  assert_int_equal(gd_authority_make(dir, &err), 0); /* what is there stays */
  assert_int_equal(stat(key, &st), 0);
  assert_int_equal(st.st_ino, was);
  assert_int_equal(gd_authority_client(dir, "joe", &err), 0);
  json_t *list = gd_authority_list(dir);
  assert_int_equal(json_array_size(list), 3);
  assert_string_equal(until(list, 1), ""); /* replaced */
  assert_string_not_equal(until(list, 2), "");
  json_decref(list);

  assert_int_equal(gd_authority_revoke(dir, "joe", &err), 0);
  assert_false(revoked(dir, 0));
  assert_true(revoked(dir, 1));
  assert_true(revoked(dir, 2));
  assert_int_equal(gd_authority_revoke(dir, "joe", &err), -1);
  assert_int_equal(gd_authority_revoke(dir, "jim", &err), -1);
  assert_int_equal(err.code, ENOENT);
  assert_int_equal(gd_authority_client(dir, "joe", &err), 0);
  assert_false(revoked(dir, 3));
}

static void
test_names(void **state)
{
  static const char *const bad[] = {"", "..", ".x", "a/b", "a b", "a=b", "a\nb"};
  assert_true(gd_authority_name_ok("host-1.example_org"));
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++)
    assert_false(gd_authority_name_ok(bad[i]));
}

static int
make_root(void **state)
{
  snprintf(root, sizeof(root), "/tmp/authority_test.XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int
remove_root(void **state)
{
  struct gi_error err;
  return gd_remove_tree(root, &err);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_makes_renews_and_takes_back),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
