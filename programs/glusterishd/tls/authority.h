/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's own certificate authority: files of one directory.
 *
 *   ca.key ca.pem        its key, and its certificate that all trust
 *   crl/pool.crl         what it has taken back
 *   issued               SERIAL=NAME of each certificate it gave
 *   node.key node.pem    this node's
 *   clients/NAME/        what the machine NAME needs, by the names of GlusterFS in /etc/ssl
 */
#ifndef GD_AUTHORITY_H
#define GD_AUTHORITY_H

#include "libglusterish/error.h"

#include <jansson.h>
#include <stdbool.h>

#define GD_AUTHORITY_NODE "node"

bool gd_authority_exists(const char *dir);
/* Makes what is missing of its own files. */
GI_MUST_CHECK int gd_authority_make(const char *dir, struct gi_error *err);
/* A new key and certificate of the common name `cn`, in DIR/BASE.key and DIR/BASE.pem: those that were there are replaced, and stay valid. */
GI_MUST_CHECK int gd_authority_issue(const char *dir, const char *base, const char *cn, struct gi_error *err);
/* The directory clients/NAME, made or made anew. */
GI_MUST_CHECK int gd_authority_client(const char *dir, const char *name, struct gi_error *err);
/* Every certificate it ever gave to this name counts no more; code ENOENT: there is none. */
GI_MUST_CHECK int gd_authority_revoke(const char *dir, const char *name, struct gi_error *err);
/* May it be the name of a client: letters, digits, "-", "_", "."? */
bool gd_authority_name_ok(const char *name);
/* A list of {"name","serial","until","revoked"}, in the order in which they were given. */
json_t *gd_authority_list(const char *dir);

#endif
