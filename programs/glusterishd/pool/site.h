/* SPDX-License-Identifier: Apache-2.0
 *
 * An etcd of the site's own as the store of pools (--store): where it answers,
 * how this node proves itself there, and what keys of ours begin with. Without
 * one the pool runs an etcd of its own (etcd-proc.c).
 */
#ifndef GD_SITE_H
#define GD_SITE_H

#include "libglusterish/error.h"
#include "programs/glusterishd/pool/http.h"

#define GD_SITE_ENDPOINTS 16

struct gd_site {
  unsigned n;
  struct gd_http_place at[GD_SITE_ENDPOINTS];
  char *prefix; /* of all keys, ends in '/' unless it is empty */
};

/* url: etcd://HOST[:PORT][,HOST[:PORT]...][/PREFIX]. Files of TLS, NULL where there are none: whom to trust, and this node's
 * certificate with its key, which may be in one file. With any of them nothing is said without TLS. NULL and err: it is none such. */
struct gd_site *gd_site_new(const char *url, const char *ca, const char *cert, const char *key, struct gi_error *err);
void gd_site_free(struct gd_site **site); /* NULL is fine */

#endif
