/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's certificate authority. Every file is replaced whole, so who reads
 * one at its next handshake finds the old or the new one.
 */
#include "programs/glusterishd/tls/authority.h"
#include "programs/glusterishd/model/model.h"
#include "programs/glusterishd/tls/certificate.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

#define DAY 86400L
#define CA_DAYS 3650L
#define LEAF_DAYS 398L
#define CLOCKS_DIFFER (-DAY) /* a certificate is valid a day before it was made: clocks of machines differ */
#define NAME_MOST 64

static char *
below(const char *dir, const char *name)
{
  return gi_asprintf("%s/%s", dir, name);
}

/* ---- files ---- */

static int
write_bio(const char *path, BIO *mem, struct gi_error *err)
{
  char *text;
  long len = BIO_get_mem_data(mem, &text);
  int ret = gd_write_file(path, text, (size_t)len, false, err);
  BIO_free(mem);
  return ret;
}

static int
write_key(const char *path, EVP_PKEY *key, struct gi_error *err)
{
  BIO *mem = BIO_new(BIO_s_mem());
  GI_ASSERT(mem && PEM_write_bio_PrivateKey(mem, key, NULL, NULL, 0, NULL, NULL));
  return write_bio(path, mem, err);
}

static int
write_cert(const char *path, X509 *cert, struct gi_error *err)
{
  BIO *mem = BIO_new(BIO_s_mem());
  GI_ASSERT(mem && PEM_write_bio_X509(mem, cert));
  return write_bio(path, mem, err);
}

static int
write_crl(const char *path, X509_CRL *crl, struct gi_error *err)
{
  BIO *mem = BIO_new(BIO_s_mem());
  GI_ASSERT(mem && PEM_write_bio_X509_CRL(mem, crl));
  return write_bio(path, mem, err);
}

/* The authority as it is on disk. */
static int
open_authority(const char *dir, struct gd_signer *a, struct gi_error *err)
{
  GI_CLEANUP_FREE char *key = below(dir, "ca.key"), *cert = below(dir, "ca.pem");
  BIO *k = BIO_new_file(key, "r"), *c = BIO_new_file(cert, "r");
  a->key = k ? PEM_read_bio_PrivateKey(k, NULL, NULL, NULL) : NULL;
  a->cert = c ? PEM_read_bio_X509(c, NULL, NULL, NULL) : NULL;
  BIO_free(k);
  BIO_free(c);
  if (a->key && a->cert)
    return 0;
  gd_signer_clear(a);
  return gd_certificate_failed(err, "the authority of the pool");
}

/* ---- serial numbers ---- */

static char *
serial_text(const ASN1_INTEGER *serial)
{
  BIGNUM *bn = ASN1_INTEGER_to_BN(serial, NULL);
  char *hex = BN_bn2hex(bn), *copy = gi_strdup(hex);
  OPENSSL_free(hex);
  BN_free(bn);
  return copy;
}

/* ---- what was given, and what was taken back ---- */

static int
remember(const char *dir, const X509 *cert, const char *cn, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = below(dir, "issued"), *serial = serial_text(X509_get0_serialNumber(cert));
  struct gd_kvs kvs = {0};
  struct gi_error none = {0};
  if (gd_kvs_load(path, &kvs, &none) < 0 && none.code != ENOENT)
    return gi_error_set(err, none.code, "%s", none.text);
  char *text = gi_strdup("");
  for (unsigned i = 0; i <= kvs.count; i++) {
    bool last = i == kvs.count;
    char *longer = gi_asprintf("%s%s=%s\n", text, last ? serial : kvs.kv[i].key, last ? cn : kvs.kv[i].value);
    gi_free(text);
    text = longer;
  }
  gd_kvs_free(&kvs);
  int ret = gd_write_file(path, text, strlen(text), false, err);
  gi_free(text);
  return ret;
}

static X509_CRL *
read_crl(const char *dir)
{
  GI_CLEANUP_FREE char *path = below(dir, "crl/pool.crl");
  BIO *in = BIO_new_file(path, "r");
  X509_CRL *crl = in ? PEM_read_bio_X509_CRL(in, NULL, NULL, NULL) : NULL;
  BIO_free(in);
  ERR_clear_error();
  return crl;
}

/* Signs the list anew, as of now. Takes it. */
static int
put_crl(const char *dir, const struct gd_signer *a, X509_CRL *crl, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = below(dir, "crl/pool.crl");
  ASN1_TIME *from = X509_gmtime_adj(NULL, CLOCKS_DIFFER), *to = X509_time_adj_ex(NULL, CA_DAYS, 0, NULL);
  X509_CRL_set_version(crl, 1); /* which is 2 */
  X509_CRL_set_issuer_name(crl, X509_get_subject_name(a->cert));
  X509_CRL_set1_lastUpdate(crl, from);
  X509_CRL_set1_nextUpdate(crl, to);
  X509_CRL_sort(crl);
  GI_ASSERT(X509_CRL_sign(crl, a->key, EVP_sha256()) > 0);
  int ret = write_crl(path, crl, err);
  ASN1_TIME_free(from);
  ASN1_TIME_free(to);
  X509_CRL_free(crl);
  return ret;
}

/* NULL: not a number. */
static ASN1_INTEGER *
serial_number(const char *hex)
{
  BIGNUM *bn = NULL;
  ASN1_INTEGER *n = BN_hex2bn(&bn, hex) ? BN_to_ASN1_INTEGER(bn, NULL) : NULL;
  BN_free(bn);
  return n;
}

static bool
is_revoked(X509_CRL *crl, const char *serial)
{
  X509_REVOKED *found = NULL;
  ASN1_INTEGER *n = crl ? serial_number(serial) : NULL;
  bool is = n && X509_CRL_get0_by_serial(crl, &found, n) == 1;
  ASN1_INTEGER_free(n);
  return is;
}

static void
add_revoked(X509_CRL *crl, const char *serial)
{
  X509_REVOKED *r = X509_REVOKED_new();
  ASN1_TIME *now = X509_gmtime_adj(NULL, CLOCKS_DIFFER);
  ASN1_INTEGER *n = serial_number(serial);
  GI_ASSERT(r && now && n);
  X509_REVOKED_set_serialNumber(r, n);
  X509_REVOKED_set_revocationDate(r, now);
  GI_ASSERT(X509_CRL_add0_revoked(crl, r));
  ASN1_INTEGER_free(n);
  ASN1_TIME_free(now);
}

/* ---- what others ask for ---- */

bool
gd_authority_exists(const char *dir)
{
  GI_CLEANUP_FREE char *path = below(dir, "ca.key");
  return access(path, F_OK) == 0;
}

bool
gd_authority_name_ok(const char *name)
{
  size_t len = strlen(name);
  if (len == 0 || len > NAME_MOST || name[0] == '.')
    return false;
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
      return false;
  return true;
}

static int
make_ca(const char *dir, struct gi_error *err)
{
  GI_CLEANUP_FREE char *key = below(dir, "ca.key"), *cert = below(dir, "ca.pem");
  struct gd_signer a = {.key = EVP_EC_gen("P-256")};
  if (!a.key)
    return gd_certificate_failed(err, "cannot make a key");
  a.cert = gd_certificate_new(a.key, NULL, &(struct gd_certificate){.cn = "glusterish pool", .days = CA_DAYS});
  int ret = write_cert(cert, a.cert, err) || write_key(key, a.key, err) ? -1 : 0; /* the key is the last: then all is there */
  gd_signer_clear(&a);
  return ret;
}

int
gd_authority_make(const char *dir, struct gi_error *err)
{
  GI_CLEANUP_FREE char *crls = below(dir, "crl");
  struct gd_signer a;
  if (gd_mkdir_all(dir, 0700, err) || gd_mkdir_all(crls, 0700, err))
    return -1;
  if (!gd_authority_exists(dir) && make_ca(dir, err))
    return -1;
  if (open_authority(dir, &a, err))
    return -1;
  X509_CRL *crl = read_crl(dir);
  int ret = crl ? 0 : put_crl(dir, &a, X509_CRL_new(), err);
  X509_CRL_free(crl);
  gd_signer_clear(&a);
  return ret;
}

int
gd_authority_issue(const char *dir, const char *base, const char *cn, struct gi_error *err)
{
  GI_CLEANUP_FREE char *key_path = gi_asprintf("%s/%s.key", dir, base), *cert_path = gi_asprintf("%s/%s.pem", dir, base);
  struct gd_signer a;
  if (open_authority(dir, &a, err))
    return -1;
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = key ? gd_certificate_new(key, &a, &(struct gd_certificate){.cn = cn, .days = LEAF_DAYS}) : NULL;
  int ret = cert ? 0 : gd_certificate_failed(err, "cannot make a key");
  /* In between the two do not go together: who reads them then goes on with the old ones. */
  if (!ret)
    ret = remember(dir, cert, cn, err) || write_key(key_path, key, err) || write_cert(cert_path, cert, err) ? -1 : 0;
  X509_free(cert);
  EVP_PKEY_free(key);
  gd_signer_clear(&a);
  return ret;
}

static int
copy_file(const char *from, const char *to, struct gi_error *err)
{
  BIO *in = BIO_new_file(from, "r"), *mem = BIO_new(BIO_s_mem());
  char some[4096];
  int n;
  if (!in) {
    BIO_free(mem);
    return gd_certificate_failed(err, from);
  }
  while ((n = BIO_read(in, some, sizeof(some))) > 0)
    BIO_write(mem, some, n);
  BIO_free(in);
  return write_bio(to, mem, err);
}

int
gd_authority_client(const char *dir, const char *name, struct gi_error *err)
{
  static const char said[] = "# Management connections of this machine are in TLS: the credentials are /etc/ssl/glusterfs.*\n";
  GI_ASSERT(gd_authority_name_ok(name));
  GI_CLEANUP_FREE char *own = gi_asprintf("%s/clients/%s", dir, name), *base = gi_asprintf("clients/%s/glusterfs", name);
  GI_CLEANUP_FREE char *ca = below(dir, "ca.pem"), *their_ca = below(own, "glusterfs.ca"),
                       *access_file = below(own, "secure-access");
  if (gd_mkdir_all(own, 0700, err) || gd_authority_issue(dir, base, name, err) || copy_file(ca, their_ca, err))
    return -1;
  return gd_write_file(access_file, said, sizeof(said) - 1, false, err);
}

int
gd_authority_revoke(const char *dir, const char *name, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = below(dir, "issued");
  struct gd_kvs kvs = {0};
  struct gd_signer a;
  unsigned n = 0;
  if (gd_kvs_load(path, &kvs, err) < 0)
    return -1;
  if (open_authority(dir, &a, err)) {
    gd_kvs_free(&kvs);
    return -1;
  }
  X509_CRL *crl = read_crl(dir);
  crl = crl ? crl : X509_CRL_new();
  for (unsigned i = 0; i < kvs.count; i++)
    if (strcmp(kvs.kv[i].value, name) == 0 && !is_revoked(crl, kvs.kv[i].key)) {
      add_revoked(crl, kvs.kv[i].key);
      n++;
    }
  gd_kvs_free(&kvs);
  int ret = n ? put_crl(dir, &a, crl, err) : gi_error_set(err, ENOENT, "%s has no certificate that could be revoked", name);
  if (!n)
    X509_CRL_free(crl);
  gd_signer_clear(&a);
  return ret;
}

/* When a name's present certificate ends; "" if its file is not there. */
static void
until_text(const char *dir, const char *name, const char *serial, char *text, size_t size)
{
  bool node = strcmp(name, GD_AUTHORITY_NODE) == 0;
  GI_CLEANUP_FREE char *path = node ? below(dir, "node.pem") : gi_asprintf("%s/clients/%s/glusterfs.pem", dir, name);
  BIO *in = BIO_new_file(path, "r"), *mem = BIO_new(BIO_s_mem());
  X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
  GI_CLEANUP_FREE char *is = cert ? serial_text(X509_get0_serialNumber(cert)) : NULL;
  int n =
      is && strcmp(is, serial) == 0 && ASN1_TIME_print(mem, X509_get0_notAfter(cert)) ? BIO_read(mem, text, (int)size - 1) : 0;
  text[n > 0 ? n : 0] = 0;
  X509_free(cert);
  BIO_free(in);
  BIO_free(mem);
  ERR_clear_error();
}

json_t *
gd_authority_list(const char *dir)
{
  GI_CLEANUP_FREE char *path = below(dir, "issued");
  json_t *list = json_array();
  struct gd_kvs kvs = {0};
  if (gd_kvs_load(path, &kvs, NULL) < 0)
    return list;
  X509_CRL *crl = read_crl(dir);
  for (unsigned i = 0; i < kvs.count; i++) {
    const struct gd_kv *kv = &kvs.kv[i];
    char until[64];
    until_text(dir, kv->value, kv->key, until, sizeof(until));
    json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:b}", "name", kv->value, "serial", kv->key, "until", until, "revoked",
                                          is_revoked(crl, kv->key)));
  }
  X509_CRL_free(crl);
  gd_kvs_free(&kvs);
  return list;
}
