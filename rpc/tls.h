/* SPDX-License-Identifier: Apache-2.0
 *
 * Credentials of TLS: a certificate, its key, whom to trust and by which rules
 * (wire.md 1.10). Both ends show a certificate and check the other's; host
 * names are not compared. The files are read again when they have changed, so
 * a new certificate or a revocation counts for the next connection without a
 * restart.
 */
#ifndef GI_TLS_H
#define GI_TLS_H

#include "libglusterish/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GI_TLS_CERT "/etc/ssl/glusterfs.pem"
#define GI_TLS_KEY "/etc/ssl/glusterfs.key"
#define GI_TLS_CA "/etc/ssl/glusterfs.ca"
#define GI_TLS_DEPTH 1 /* intermediate certificates between the peer's and the CA's */

/* NULL or "" where it says so is the default; texts are copied. */
struct gi_tls_config {
  const char *cert, *key,
      *ca;              /* PEM files; NULL: the paths above, or, where they are not, their names in OpenSSL's own directory */
  const char *crl;      /* a file, or a directory of files, of revocation lists; NULL: nothing is revoked */
  const char *ciphers;  /* as OpenSSL writes them; names that begin with TLS_ are of TLS 1.3; NULL: OpenSSL's */
  const char *dh_param; /* PEM file for TLS 1.2; NULL: OpenSSL chooses */
  const char *ec_curve; /* NULL: OpenSSL chooses */
  int64_t depth;        /* 0: GI_TLS_DEPTH */
};

struct gi_tls;

/* Reads the files, which blocks for as long as a disk does. NULL and err, which names the file. One reference is the caller's. */
struct gi_tls *gi_tls_new(const struct gi_tls_config *cfg, struct gi_error *err);
/* The same, or `now` once more (NULL is fine) if it was made of the same configuration. */
struct gi_tls *gi_tls_renew(struct gi_tls *now, const struct gi_tls_config *cfg, struct gi_error *err);
struct gi_tls *gi_tls_ref(struct gi_tls *t); /* NULL gives NULL */
void gi_tls_unref(struct gi_tls **t);        /* NULL is fine */

/* Is the end of a connection, with this code, a refusal by either side's rules of TLS? */
bool gi_tls_is_refusal(int code);
/* Does the kernel encrypt for a socket, and OpenSSL make use of it? Asked once in a process. */
bool gi_tls_kernel(void);
/* What the kernel answered to a socket that is not connected when it was asked for TLS: ENOTCONN is yes. */
bool gi_tls_kernel_said(int err);

/* ---- secure-access.c ---- */

/* What the file says; `tls` points into `text`. */
struct gi_secure_access {
  bool exists;
  bool optional; /* a daemon takes connections without TLS too */
  struct gi_tls_config tls;
  char *text;
};

struct gi_ctx;

/* Where it is on this machine: in the environment's GLUSTERISH_SECURE_ACCESS, else in the directory of the daemon's state. */
const char *gi_secure_access_path(void);
/* No file, or a NULL path, is no error. -1 and err: it cannot be read, or has a line that is none. */
GI_MUST_CHECK int gi_secure_access_read(const char *path, struct gi_secure_access *a, struct gi_error *err);
void gi_secure_access_clear(struct gi_secure_access *a);
/* Credentials of a volume. */
struct gi_tls_pair {
  struct gi_tls *now;  /* NULL: plain */
  struct gi_tls *next; /* while its options change */
};

/* Makes `next` by the volume's own options, and by the file where they say nothing. It is kept until the change is in force or is given
 * up. `on`: which option turns TLS on; NULL: it is off. */
GI_MUST_CHECK int gi_tls_prepare(struct gi_tls_pair *p, const char *on, const struct gi_tls_config *cfg, const char *path,
                                 struct gi_error *err);
void gi_tls_commit(struct gi_tls_pair *p);
void gi_tls_abort(struct gi_tls_pair *p);
void gi_tls_clear(struct gi_tls_pair *p);

/* Brings ctx->mgmt_tls to what the file says now. -1 and err: it stays what it was. */
GI_MUST_CHECK int gi_mgmt_credentials(struct gi_ctx *ctx, struct gi_error *err);

#endif
