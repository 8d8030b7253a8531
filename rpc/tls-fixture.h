/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates for tests, made on the spot: an authority, what it signs, and
 * what it takes back.
 */
#ifndef RPC_TLS_FIXTURE_H
#define RPC_TLS_FIXTURE_H

#include "rpc/tls.h"

#define TLS_DAY 86400L

struct tls_authority;

/* Its certificate goes to DIR/NAME.ca; files are made with the mode of the process. */
struct tls_authority *tls_authority_new(const char *dir, const char *name);
void tls_authority_free(struct tls_authority **a);
/* DIR/NAME.pem and DIR/NAME.key for the common name `cn`, valid between the two times relative to now, seconds. `by` NULL: self-made.
 * The serial number. */
long tls_certificate(const char *dir, const char *name, const struct tls_authority *by, const char *cn, long from, long to);
/* The file of the authority's revocation list, with one serial number in it; 0: with none. */
void tls_revocations(const char *path, const struct tls_authority *by, long serial);
/* DIR/NAME.pem and DIR/NAME.key with DIR/CA.ca and perhaps the list of DIR/CRL; fails the test if they cannot be used. */
struct gi_tls *tls_of_files(const char *dir, const char *name, const char *ca, const char *crl);

#endif
