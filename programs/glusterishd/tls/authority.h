/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool's own certificate authority: one document, which every node has, and
 * what follows from it, files of one directory of the node.
 *
 *   authority            the document
 *   ca.pem crl/pool.crl  whom all trust, and what that has taken back
 *   node.pem             this node's certificate and key
 *   clients/NAME/        what the machine NAME needs, by the names of GlusterFS in /etc/ssl
 *
 * The document is {"mode": "off", "both" or "required", "certificate", "key": PEM, "renewed": how often nodes were given new keys,
 * "issued": [{"name", "serial", "until", "revoked", "certificate": PEM, "generation"}] to clients, "gone": uuids of nodes that left,
 * "generation": how often another authority has taken its place, "chain": [PEM: this one as the one before vouches for it, that one as
 * the one before it does, …]}.
 *
 * An authority whose key somebody may have who should not is succeeded by another one. Nothing that it signs after that is trusted: of what
 * it has signed for clients those certificates are known one by one, and stand beside the new one in ca.pem. Nodes make themselves new ones.
 * A client that trusts the old one finds, by the chain that nodes show, that the new one is its successor.
 */
#ifndef GD_AUTHORITY_H
#define GD_AUTHORITY_H

#include "libglusterish/error.h"

#include <jansson.h>
#include <stdbool.h>

#define GD_AUTHORITY_NODE "node" /* the common name of nodes */

/* The document of the directory; the caller's. NULL: there is none, or it is damaged, which the log tells. */
json_t *gd_authority_load(const char *dir);
/* A new one, with a new key; NULL and err. */
json_t *gd_authority_new(struct gi_error *err);
bool gd_authority_usable(const json_t *doc);
/* Another authority takes its place in the document, which is of that directory. */
GI_MUST_CHECK int gd_authority_succeed(const char *dir, json_t *doc, struct gi_error *err);
/* Makes the files of the directory what the document says, for the node of that uuid. Each is replaced as a whole: whoever reads one
 * finds the old or the new one, and what is right is left alone. */
GI_MUST_CHECK int gd_authority_put(const char *dir, const json_t *doc, const char *node, struct gi_error *err);

/* What a client is given, in memory. */
struct gd_bundle {
  char *name, *cert, *key;
};
void gd_bundle_clear(struct gd_bundle *b);
/* Makes it and notes it in the document. */
GI_MUST_CHECK int gd_authority_client(json_t *doc, const char *name, struct gd_bundle *b, struct gi_error *err);
/* It is on the disk, as clients/.NAME: what follows cannot lose it. */
GI_MUST_CHECK int gd_bundle_prepare(const char *dir, const json_t *doc, const struct gd_bundle *b, struct gi_error *err);
/* Each that was prepared and is in the document becomes the directory clients/NAME, at one stroke; the others go, or stay as they are. */
GI_MUST_CHECK int gd_bundles_settle(const char *dir, const json_t *doc, bool others_go, struct gi_error *err);
/* Notes that every certificate it ever gave to this client counts no more; code ENOENT: there is none. */
GI_MUST_CHECK int gd_authority_revoke(json_t *doc, const char *name, struct gi_error *err);
/* Notes whether the certificates of a node count. False: it was noted already. */
bool gd_authority_node_left(json_t *doc, const char *node, bool left);
/* May it be the name of a client: letters, digits, "-", "_", "."? */
bool gd_authority_name_ok(const char *name);
/* A list of {"name","serial","until","revoked","earlier"}: this node's, then those of clients as they were given; "until" is "" for one that
 * has a successor, "earlier" is true for one of an authority that has one. */
json_t *gd_authority_list(const char *dir, const json_t *doc);

#endif
