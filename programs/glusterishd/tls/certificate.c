/* SPDX-License-Identifier: Apache-2.0
 *
 * Making certificates with OpenSSL.
 */
#include "programs/glusterishd/tls/certificate.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define DAY 86400L
#define SERIAL_BITS 64
#define FOR_EVER "99991231235959Z" /* as RFC 5280 writes it */

int
gd_certificate_failed(struct gi_error *err, const char *what)
{
  const char *reason = ERR_reason_error_string(ERR_peek_last_error());
  gi_error_set(err, EIO, "%s: %s", what, reason ? reason : "OpenSSL failed");
  ERR_clear_error();
  return -1;
}

void
gd_signer_clear(struct gd_signer *s)
{
  EVP_PKEY_free(s->key);
  X509_free(s->cert);
  *s = (struct gd_signer){0};
}

static void
add_extension(X509 *cert, int nid, const char *value)
{
  X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
  GI_ASSERT(e && X509_add_ext(cert, e, -1));
  X509_EXTENSION_free(e);
}

static void
set_validity(X509 *cert, long days)
{
  X509_gmtime_adj(X509_getm_notBefore(cert), -DAY);
  if (days)
    X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL);
  else
    GI_ASSERT(ASN1_TIME_set_string(X509_getm_notAfter(cert), FOR_EVER));
}

/* Keys of Ed25519 hash by themselves. */
static const EVP_MD *
digest_for(const EVP_PKEY *key)
{
  return EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 ? NULL : EVP_sha256();
}

static void
set_serial(X509 *cert, const char *hex)
{
  BIGNUM *serial = NULL;
  if (hex)
    GI_ASSERT(BN_hex2bn(&serial, hex));
  else
    GI_ASSERT((serial = BN_new()) && BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY));
  BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert));
  BN_free(serial);
}

X509 *
gd_certificate_new(EVP_PKEY *key, const struct gd_signer *by, const struct gd_certificate *wish)
{
  X509 *cert = X509_new();
  EVP_PKEY *signs = by ? by->key : key;
  bool authority = wish->authority || !by;
  GI_ASSERT(cert);
  set_serial(cert, wish->serial);
  X509_set_version(cert, 2); /* which is 3 */
  set_validity(cert, wish->days);
  X509_NAME *name = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)wish->cn, -1, -1, 0);
  X509_set_issuer_name(cert, by ? X509_get_subject_name(by->cert) : name);
  X509_set_pubkey(cert, key);
  add_extension(cert, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  add_extension(cert, NID_key_usage, authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  if (wish->names)
    add_extension(cert, NID_subject_alt_name, wish->names);
  if (wish->usage)
    add_extension(cert, NID_ext_key_usage, wish->usage);
  GI_ASSERT(X509_sign(cert, signs, digest_for(signs)) > 0);
  return cert;
}

char *
gd_certificate_text(X509 *cert, EVP_PKEY *key)
{
  BIO *mem = BIO_new(BIO_s_mem());
  char *text;
  GI_ASSERT(mem && (!cert || PEM_write_bio_X509(mem, cert)) &&
            (!key || PEM_write_bio_PrivateKey(mem, key, NULL, NULL, 0, NULL, NULL)));
  long len = BIO_get_mem_data(mem, &text);
  char *copy = gi_strndup(text, (size_t)len);
  BIO_free(mem);
  return copy;
}
