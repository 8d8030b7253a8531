/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a connection is refused, in words that name what to change: which
 * certificate, whose, and which side did not like it.
 */
#include "rpc/tls-private.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509.h>
#include <string.h>

#define NAME_MAX_CN 256

void
tls_common_name(X509 *cert, char *name, size_t size)
{
  X509_NAME *subject = X509_get_subject_name(cert);
  int i = subject ? X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
  GI_ASSERT(size > 0);
  name[0] = 0;
  if (i < 0)
    return;
  unsigned char *text = NULL;
  int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
  if (len > 0 && (size_t)len < size && !memchr(text, 0, (size_t)len)) {
    memcpy(name, text, (size_t)len);
    name[len] = 0;
  }
  OPENSSL_free(text);
}

static void
issuer_text(X509 *cert, char *text, size_t size)
{
  X509_NAME *issuer = X509_get_issuer_name(cert);
  GI_ASSERT(size > 0);
  if (!issuer || X509_NAME_get_text_by_NID(issuer, NID_commonName, text, (int)size) < 0)
    snprintf(text, size, "somebody without a name");
}

/* "20 Jan 2026 …", as OpenSSL prints it. */
static void
time_text(const ASN1_TIME *t, char *text, size_t size)
{
  BIO *mem = BIO_new(BIO_s_mem());
  int n = t && mem && ASN1_TIME_print(mem, t) ? BIO_read(mem, text, (int)size - 1) : 0;
  GI_ASSERT(n < (int)size);
  text[n > 0 ? n : 0] = 0;
  BIO_free(mem);
}

/* Has the authority that this side's certificate is of taken the place of the one that signed this? The chain that this side shows says
 * so, as it vouches for successors. */
static bool
is_of_predecessor(X509_STORE_CTX *store, X509 *cert)
{
  SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  STACK_OF(X509) *chain = NULL;
  if (!ssl || !cert || SSL_get0_chain_certs(ssl, &chain) != 1)
    return false;
  for (int i = 0; chain && i < sk_X509_num(chain); i++)
    if (X509_NAME_cmp(X509_get_issuer_name(sk_X509_value(chain, i)), X509_get_issuer_name(cert)) == 0)
      return true;
  return false;
}

void
tls_tell_verdict(struct gi_error *why, X509_STORE_CTX *store)
{
  int verdict = X509_STORE_CTX_get_error(store);
  X509 *cert = X509_STORE_CTX_get_current_cert(store);
  char name[NAME_MAX_CN] = "", issuer[NAME_MAX_CN] = "", when[64] = "";
  if (cert) {
    tls_common_name(cert, name, sizeof(name));
    issuer_text(cert, issuer, sizeof(issuer));
  }
  switch (verdict) {
  case X509_V_ERR_CERT_HAS_EXPIRED:
    time_text(X509_get0_notAfter(cert), when, sizeof(when));
    gi_error_set(why, EKEYEXPIRED, "its certificate \"%s\" has expired: %s", name, when);
    break;
  case X509_V_ERR_CERT_NOT_YET_VALID:
    time_text(X509_get0_notBefore(cert), when, sizeof(when));
    gi_error_set(why, EKEYREJECTED, "its certificate \"%s\" is not valid before %s", name, when);
    break;
  case X509_V_ERR_CERT_REVOKED:
    gi_error_set(why, EKEYREVOKED, "its certificate \"%s\" is revoked", name);
    break;
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    gi_error_set(why, EKEYREJECTED, "its certificate \"%s\" is self-made: nobody but itself has signed it", name);
    break;
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    tls_common_name(X509_STORE_CTX_get0_cert(store), name, sizeof(name)); /* whoever of its chain nobody vouches for */
    if (is_of_predecessor(store, cert))
      gi_error_set(why, EKEYREJECTED, "its certificate \"%s\" is of a CA that was replaced: \"%s\" is trusted no more", name,
                   issuer);
    else
      gi_error_set(why, EKEYREJECTED, "its certificate \"%s\" is of the wrong CA: \"%s\" is none that is trusted here", name,
                   issuer);
    break;
  case X509_V_ERR_CERT_CHAIN_TOO_LONG:
    gi_error_set(why, EKEYREJECTED, "its chain of certificates is longer than ssl-cert-depth allows");
    break;
  case X509_V_ERR_UNABLE_TO_GET_CRL:
    gi_error_set(why, EKEYREJECTED, "ssl-crl-path has no revocation list of \"%s\", which signed its certificate \"%s\"",
                 issuer, name);
    break;
  case X509_V_ERR_CRL_HAS_EXPIRED:
    gi_error_set(why, EKEYREJECTED, "the revocation list of \"%s\" has expired", issuer);
    break;
  default:
    gi_error_set(why, EKEYREJECTED, "its certificate \"%s\" is refused: %s", name, X509_verify_cert_error_string(verdict));
    break;
  }
}

/* What the other side said when it refused us, and what we found wrong ourselves. */
static const struct {
  int reason, code;
  const char *text;
} reasons[] = {
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, ENOKEY, "it has shown no certificate"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, ENOKEY, "it demands a certificate, and there is none here that it would take"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, EKEYREJECTED,
     "it refuses the certificate of this side: of a wrong CA, or self-made, none that it trusts has signed it"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, EKEYEXPIRED, "it refuses the certificate of this side: expired"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, EKEYREVOKED, "it refuses the certificate of this side: revoked"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, EKEYREJECTED, "it refuses the certificate of this side: damaged, or not valid yet"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, EKEYREJECTED, "it refuses the certificate of this side"},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, EKEYREJECTED, "it refuses the kind of certificate of this side"},
    {SSL_R_TLSV1_ALERT_ACCESS_DENIED, EKEYREJECTED, "it refuses this side"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, EKEYREJECTED, "it found no way to agree: ciphers, or a certificate, are missing"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, EKEYREJECTED, "it speaks no version of TLS that is spoken here"},
    {SSL_R_UNSUPPORTED_PROTOCOL, EKEYREJECTED, "it speaks no version of TLS that is spoken here (1.2 and 1.3)"},
    {SSL_R_NO_SHARED_CIPHER, EKEYREJECTED, "no cipher is allowed on both sides (ssl-cipher-list)"},
    {SSL_R_WRONG_VERSION_NUMBER, EKEYREJECTED, "it does not speak TLS"},
    {SSL_R_HTTP_REQUEST, EKEYREJECTED, "it does not speak TLS"},
};

void
tls_tell_failure(struct gi_error *why, bool server, bool end)
{
  unsigned long e = ERR_peek_last_error();
  int reason = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0;
  ERR_clear_error();
  if (why->code)
    return;
  for (size_t i = 0; i < GI_ARRAY_LEN(reasons); i++)
    if (reason == reasons[i].reason) {
      gi_error_set(why, reasons[i].code, "%s", reasons[i].text);
      return;
    }
  if (end || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    gi_error_set(why, server ? ECONNRESET : EKEYREJECTED,
                 server ? "closed by the peer in the handshake" : "closed by the peer in the handshake: it may not speak TLS");
  else
    gi_error_set(why, EKEYREJECTED, "TLS: %s", e ? ERR_reason_error_string(e) : "the session failed");
}

int
tls_tell_file(struct gi_error *err, const char *what, const char *path)
{
  unsigned long e = ERR_peek_error();
  bool system = ERR_SYSTEM_ERROR(e) != 0;
  const char *reason = system ? strerror(ERR_GET_REASON(e)) : ERR_reason_error_string(e);
  gi_error_set(err, system ? ERR_GET_REASON(e) : EINVAL, "%s %s: %s", what, path, reason ? reason : "cannot be used");
  ERR_clear_error();
  return -1;
}
