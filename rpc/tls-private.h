/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of TLS share: tls.c (credentials), tls-text.c (why somebody
 * is refused), conn-tls.c (the session of a connection).
 */
#ifndef GI_TLS_PRIVATE_H
#define GI_TLS_PRIVATE_H

#include "rpc/tls.h"

#include <openssl/ssl.h>

/* A session that is about to begin, with the credentials as their files are now. On a worker, as it may read them. NULL and err. The
 * verdict on the peer's certificate goes to *why, which must outlive the session. */
SSL *tls_session(struct gi_tls *t, bool server, struct gi_error *why, struct gi_error *err);

/* tls-text.c */
/* Verification stopped at a certificate: an error that says which, and what is wrong with it. */
void tls_tell_verdict(struct gi_error *why, X509_STORE_CTX *store);
/* The last error of OpenSSL on this thread, if no verdict was given; `end`: the peer has ended the stream. Clears the queue. */
void tls_tell_failure(struct gi_error *why, bool server, bool end);
/* "FILE: reason" of the last error of OpenSSL. -1. */
int tls_tell_file(struct gi_error *err, const char *what, const char *path);
/* The common name of the certificate's owner; "" if it has none, or one that is no text of this length. */
void tls_common_name(X509 *cert, char *name, size_t size);

#endif
