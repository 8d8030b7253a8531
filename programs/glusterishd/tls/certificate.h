/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates as they are made here: of an authority, and of those it vouches
 * for.
 */
#ifndef GD_CERTIFICATE_H
#define GD_CERTIFICATE_H

#include "libglusterish/error.h"

#include <openssl/x509.h>
#include <stdbool.h>

/* An authority. */
struct gd_signer {
  EVP_PKEY *key;
  X509 *cert;
};
void gd_signer_clear(struct gd_signer *s);

struct gd_certificate {
  const char *cn;
  const char *serial; /* in hexadecimal digits; NULL: any */
  const char *names;  /* where it is found, as OpenSSL writes them ("IP:192.0.2.1"); NULL: not said */
  const char *usage;  /* what it is for, likewise; NULL: everything */
  long days;          /* 0: for ever */
  bool authority;     /* another one, which `by` vouches for; without `by` it is one anyway */
};

/* A certificate for `key`, valid from a day ago, as clocks of machines differ. `by` NULL: one of an authority, signed by itself. */
X509 *gd_certificate_new(EVP_PKEY *key, const struct gd_signer *by, const struct gd_certificate *wish);
/* PEM, the certificate first; either may be NULL. The caller frees it. */
char *gd_certificate_text(X509 *cert, EVP_PKEY *key);
/* The last error of OpenSSL, after `what`. -1. */
int gd_certificate_failed(struct gi_error *err, const char *what);

#endif
