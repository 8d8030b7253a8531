/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificates of tls-fixture.h.
 */
#include "rpc/tls-fixture.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

struct tls_authority {
  EVP_PKEY *key;
  X509 *cert;
};

static FILE *
create(const char *path)
{
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  return f;
}

static X509 *
certificate(EVP_PKEY *key, const struct tls_authority *by, const char *cn, bool ca, long from, long to, long *serial)
{
  static long last = 1000;
  X509 *cert = X509_new();
  X509_NAME *name = X509_get_subject_name(cert);
  *serial = ++last;
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), *serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), from);
  X509_gmtime_adj(X509_getm_notAfter(cert), to);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)cn, -1, -1, 0);
  X509_set_issuer_name(cert, by ? X509_get_subject_name(by->cert) : name);
  X509_set_pubkey(cert, key);
  if (ca) {
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(cert, e, -1);
    X509_EXTENSION_free(e);
  }
  assert_true(X509_sign(cert, by ? by->key : key, EVP_sha256()) > 0);
  return cert;
}

struct tls_authority *
tls_authority_new(const char *dir, const char *name)
{
  struct tls_authority *a = gi_new(struct tls_authority);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s.ca", dir, name);
  long serial;
  a->key = EVP_EC_gen("P-256");
  a->cert = certificate(a->key, NULL, name, true, -TLS_DAY, TLS_DAY, &serial);
  FILE *f = create(path);
  PEM_write_X509(f, a->cert);
  fclose(f);
  return a;
}

void
tls_authority_free(struct tls_authority **a)
{
  EVP_PKEY_free((*a)->key);
  X509_free((*a)->cert);
  gi_free(*a);
  *a = NULL;
}

long
tls_certificate(const char *dir, const char *name, const struct tls_authority *by, const char *cn, long from, long to)
{
  GI_CLEANUP_FREE char *pem = gi_asprintf("%s/%s.pem", dir, name), *path = gi_asprintf("%s/%s.key", dir, name);
  long serial;
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = certificate(key, by, cn, false, from, to, &serial);
  FILE *f = create(pem);
  PEM_write_X509(f, cert);
  fclose(f);
  f = create(path);
  PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
  fclose(f);
  X509_free(cert);
  EVP_PKEY_free(key);
  return serial;
}

void
tls_revocations(const char *path, const struct tls_authority *by, long serial)
{
  X509_CRL *crl = X509_CRL_new();
  ASN1_TIME *now = X509_gmtime_adj(NULL, -60), *then = X509_gmtime_adj(NULL, TLS_DAY);
  X509_CRL_set_version(crl, 1);
  X509_CRL_set_issuer_name(crl, X509_get_subject_name(by->cert));
  X509_CRL_set1_lastUpdate(crl, now);
  X509_CRL_set1_nextUpdate(crl, then);
  if (serial) {
    X509_REVOKED *r = X509_REVOKED_new();
    ASN1_INTEGER *n = ASN1_INTEGER_new();
    ASN1_INTEGER_set(n, serial);
    X509_REVOKED_set_serialNumber(r, n);
    X509_REVOKED_set_revocationDate(r, now);
    X509_CRL_add0_revoked(crl, r);
    ASN1_INTEGER_free(n);
  }
  assert_true(X509_CRL_sign(crl, by->key, EVP_sha256()) > 0);
  FILE *f = create(path);
  PEM_write_X509_CRL(f, crl);
  fclose(f);
  ASN1_TIME_free(now);
  ASN1_TIME_free(then);
  X509_CRL_free(crl);
}

struct gi_tls *
tls_of_files(const char *dir, const char *name, const char *ca, const char *crl)
{
  GI_CLEANUP_FREE char *cert = gi_asprintf("%s/%s.pem", dir, name), *key = gi_asprintf("%s/%s.key", dir, name),
                       *trust = gi_asprintf("%s/%s.ca", dir, ca), *list = crl ? gi_asprintf("%s/%s", dir, crl) : NULL;
  struct gi_error err = {0};
  struct gi_tls *t = gi_tls_new(&(struct gi_tls_config){.cert = cert, .key = key, .ca = trust, .crl = list}, &err);
  if (!t)
    fail_msg("%s", err.text);
  return t;
}
