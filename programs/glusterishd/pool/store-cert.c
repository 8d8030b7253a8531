/* SPDX-License-Identifier: Apache-2.0
 *
 * By what members of the store know each other: a certificate of the pool's
 * authority for it. Nobody hands one out. The authority's key follows from the
 * pool's secret, so every node has it, and makes a certificate of its own for as
 * long as the process runs.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"
#include "programs/glusterishd/tls/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The same on every node of the pool. */
static int
open_authority(const uint8_t secret[GD_SECRET_BYTES], struct gd_signer *ca, struct gi_error *err)
{
  static const char *const parts[] = {"authority of the store", NULL};
  char text[GD_MAC_TEXT];
  uint8_t seed[GD_SECRET_BYTES];
  gd_mac(secret, GD_SECRET_BYTES, parts, text);
  GI_ASSERT(gd_unhex(text, seed, sizeof(seed)));
  ca->key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
  explicit_bzero(seed, sizeof(seed));
  explicit_bzero(text, sizeof(text));
  if (!ca->key)
    return gd_certificate_failed(err, "the authority of the store");
  ca->cert = gd_certificate_new(ca->key, NULL, &(struct gd_certificate){.cn = "glusterish store"});
  return 0;
}

/* The directory is another user's: whatever stands there is not followed, and nobody but the owner ever reads the file. */
static int
put_file(int dir, const char *name, const char *text, const struct passwd *owner)
{
  GI_CLEANUP_FREE char *tmp = gi_asprintf("%s.new", name);
  unlinkat(dir, tmp, 0);
  int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  size_t len = strlen(text);
  if (fd < 0)
    return errno;
  ssize_t put = owner && fchown(fd, owner->pw_uid, owner->pw_gid) ? -1 : write(fd, text, len);
  int code = put < 0 ? errno : put < (ssize_t)len ? ENOSPC : 0;
  if (close(fd) && !code)
    code = errno;
  if (!code && renameat(dir, tmp, dir, name))
    code = errno;
  return code;
}

/* Certificates of all that are trusted, one after the other; the caller frees it. */
static int
trust_text(const struct gd_trust *trusts, unsigned n, char **text, struct gi_error *err)
{
  GI_ASSERT(n > 0);
  for (unsigned i = 0; i < n; i++) {
    struct gd_signer ca = {0};
    if (open_authority(trusts[i].secret, &ca, err))
      return -1;
    GI_CLEANUP_FREE char *one = gd_certificate_text(ca.cert, NULL), *before = *text;
    *text = gi_asprintf("%s%s", before ? before : "", one);
    gd_signer_clear(&ca);
  }
  return 0;
}

int
gd_store_cert(const struct gd_trust *trusts, unsigned ntrusts, const struct gd_trust *shown, const char *node,
              const char *address, const char *dir, const struct passwd *owner, struct gi_error *err)
{
  struct gd_signer ca = {0};
  GI_CLEANUP_FREE char *trust = NULL;
  struct in6_addr any;
  bool numeric = inet_pton(AF_INET, address, &any) == 1 || inet_pton(AF_INET6, address, &any) == 1;
  GI_CLEANUP_FREE char *names = gi_asprintf("%s:%s", numeric ? "IP" : "DNS", address);
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return gi_error_set(err, errno, "%s: %s", dir, strerror(errno));
  int code = trust_text(trusts, ntrusts, &trust, err) || open_authority(shown->secret, &ca, err) ? err->code : 0;
  EVP_PKEY *key = code ? NULL : EVP_EC_gen("P-256");
  if (key) {
    X509 *cert = gd_certificate_new(key, &ca, &(struct gd_certificate){.cn = node, .names = names});
    GI_CLEANUP_FREE char *own = gd_certificate_text(cert, key);
    code = put_file(fd, GD_STORE_TRUST, trust, owner);
    if (!code)
      code = put_file(fd, GD_STORE_CERT, own, owner);
    explicit_bzero(own, strlen(own));
    X509_free(cert);
    EVP_PKEY_free(key);
    if (code)
      gi_error_set(err, code, "cannot write the certificate of the store in %s: %s", dir, strerror(code));
  } else if (!code) {
    code = gd_certificate_failed(err, "a key for the store");
  }
  gd_signer_clear(&ca);
  close(fd);
  return code ? -1 : 0;
}
