/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates of the store: those of one pool trust each other, whoever made
 * them, and nobody else.
 */
#include "programs/glusterishd/daemon-fixture.h"
#include "programs/glusterishd/pool/pool.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct gd_trust ours = {0, "a secret of 32 bytes, no more..."}, theirs = {0, "another"};

/* The directory of a node. */
static char *
node(const char *name, const struct gd_trust *trust, const char *address)
{
  char *dir = gi_asprintf("%s/%s", fixture_root, name);
  struct gi_error err = {0};
  assert_int_equal(gd_mkdir_all(dir, 0700, &err), 0);
  if (gd_store_cert(trust, 1, trust, name, address, dir, NULL, &err))
    fail_msg("%s", err.text);
  return dir;
}

static X509 *
read_cert(const char *dir, const char *name)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, name);
  FILE *f = fopen(path, "re");
  assert_non_null(f);
  X509 *cert = PEM_read_X509(f, NULL, NULL, NULL);
  fclose(f);
  assert_non_null(cert);
  return cert;
}

/* Does whoever has the first directory take who has the second one, at that address? */
static bool
trusts(const char *who, const char *whom, const char *address)
{
  X509 *ca = read_cert(who, GD_STORE_TRUST), *cert = read_cert(whom, GD_STORE_CERT);
  X509_STORE *store = X509_STORE_new();
  X509_STORE_CTX *check = X509_STORE_CTX_new();
  X509_STORE_add_cert(store, ca);
  X509_STORE_CTX_init(check, store, cert, NULL);
  bool good = X509_verify_cert(check) == 1 && X509_check_ip_asc(cert, address, 0) == 1;
  X509_STORE_CTX_free(check);
  X509_STORE_free(store);
  X509_free(ca);
  X509_free(cert);
  return good;
}

static void
test_nodes_of_a_pool_trust_each_other(void **state)
{
  GI_CLEANUP_FREE char *one = node("one", &ours, "192.0.2.1"), *two = node("two", &ours, "2001:db8::2"),
                       *other = node("other", &theirs, "192.0.2.1");
  assert_true(trusts(one, two, "2001:db8::2"));
  assert_true(trusts(two, one, "192.0.2.1"));
  assert_false(trusts(two, one, "192.0.2.2"));
  assert_false(trusts(one, other, "192.0.2.1"));
  assert_false(trusts(other, one, "192.0.2.1"));
  GI_CLEANUP_FREE char *again = node("one", &ours, "192.0.2.3");
  assert_true(trusts(two, again, "192.0.2.3"));
}

static void
test_the_key_is_for_nobody_else(void **state)
{
  GI_CLEANUP_FREE char *dir = node("mode", &ours, "192.0.2.1"), *path = gi_asprintf("%s/" GD_STORE_CERT, dir),
                       *left = gi_asprintf("%s/" GD_STORE_CERT ".new", dir), *target = gi_asprintf("%s/target", fixture_root);
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  /* what stands in the way is not followed: the directory is another user's */
  assert_int_equal(symlink(target, left), 0);
  GI_CLEANUP_FREE char *again = node("mode", &ours, "192.0.2.1");
  assert_int_equal(lstat(target, &st), -1);
  assert_int_equal(lstat(left, &st), -1);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nodes_of_a_pool_trust_each_other),
      cmocka_unit_test(test_the_key_is_for_nobody_else),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
