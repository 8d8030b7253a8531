/* SPDX-License-Identifier: Apache-2.0
 *
 * RPC call and reply headers and credentials (wire.md 1.2, 1.5), and the
 * numbers of programs and procedures (wire.md 2).
 */
#ifndef GI_MESSAGE_H
#define GI_MESSAGE_H

#include "libglusterish/fop.h"
#include "rpc/xdr.h"

enum {
  GI_PROG_DUMP = 123451501,
  GI_PROG_HANDSHAKE = 14398633,
  GI_PROG_PORTMAP = 34123456,
  GI_PROG_FOP = 1298437,
  GI_PROG_CALLBACK = 52743234,
  GI_PROG_CLI = 1238463,
  GI_PROG_BRICK = 4867634,
  GI_PROG_MARK = 0x676c6973, /* without procedures: a management daemon whose CLI program is ours lists it */
  GI_PROG_NODE = 0x676c6e64, /* between our management daemons: JSON (programs/glusterishd/pool/pool.h) */
};
enum {
  GI_VERS_DUMP = 1,
  GI_VERS_HANDSHAKE = 2,
  GI_VERS_PORTMAP = 1,
  GI_VERS_FOP = 400,
  GI_VERS_CALLBACK = 1,
  GI_VERS_CLI = 2,
  GI_VERS_MARK = 1,
  GI_VERS_NODE = 1,
  GI_VERS_BRICK = 2
};
enum { GI_DUMP_DUMP = 1, GI_DUMP_PING = 2 };
enum {
  GI_HNDSK_NULL,
  GI_HNDSK_SETVOLUME,
  GI_HNDSK_GETSPEC,
  GI_HNDSK_PING,
  GI_HNDSK_SET_LK_VER,
  GI_HNDSK_EVENT_NOTIFY,
  GI_HNDSK_GET_VOLUME_INFO,
  GI_HNDSK_GET_SNAPSHOT_INFO
};
enum { GI_PMAP_NULL, GI_PMAP_PORTBYBRICK, GI_PMAP_BRICKBYPORT, GI_PMAP_SIGNUP, GI_PMAP_SIGNIN, GI_PMAP_SIGNOUT };
enum {
  GI_CBK_NULL,
  GI_CBK_FETCHSPEC,
  GI_CBK_INO_FLUSH,
  GI_CBK_EVENT_NOTIFY,
  GI_CBK_GET_SNAPS,
  GI_CBK_CACHE_INVALIDATION,
  GI_CBK_CHILD_UP,
  GI_CBK_CHILD_DOWN,
  GI_CBK_RECALL_LEASE,
  GI_CBK_STATEDUMP,
  GI_CBK_INODELK_CONTENTION,
  GI_CBK_ENTRYLK_CONTENTION
};
enum {
  GI_BRICK_TERMINATE = 1,
  GI_BRICK_XLATOR_INFO,
  GI_BRICK_XLATOR_OP,
  GI_BRICK_STATUS,
  GI_BRICK_OP,
  GI_BRICK_XLATOR_DEFRAG,
  GI_BRICK_NODE_STATUS = 8
};

enum { GI_AUTH_NONE = 0, GI_AUTH_UNIX = 1, GI_AUTH_V1 = 5, GI_AUTH_V2 = 390039, GI_AUTH_V3 = 390040 };
enum { GI_RPC_SUCCESS, GI_RPC_PROG_UNAVAIL, GI_RPC_PROG_MISMATCH, GI_RPC_PROC_UNAVAIL, GI_RPC_GARBAGE, GI_RPC_SYSTEM };

struct gi_call_header {
  uint32_t xid, prog, vers, proc;
  uint32_t flavour;
  const uint8_t *cred; /* in place */
  uint32_t cred_len;
};

struct gi_reply_header {
  uint32_t xid;
  uint32_t reply_status;  /* 0 accepted, 1 denied */
  uint32_t accept_status; /* GI_RPC_*; for denied: the reject status */
};

/* Peeks the message type: 0 call, 1 reply, -1 too short or anything else. */
GI_MUST_CHECK int gi_message_type(const struct gi_xdr_in *in);
/* Decode after which `in` stands at the arguments/results. False = malformed (see wire.md 1.3 for the answer due). */
GI_MUST_CHECK bool gi_call_decode(struct gi_xdr_in *in, struct gi_call_header *h);
GI_MUST_CHECK bool gi_reply_decode(struct gi_xdr_in *in, struct gi_reply_header *h);

/* Encode a call header with the credentials of `caller` (NULL: all zero) in `flavour`. Surplus groups are dropped. */
void gi_call_encode(struct gi_xdr_out *out, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc, uint32_t flavour,
                    const struct gi_caller *caller);
void gi_reply_encode(struct gi_xdr_out *out, uint32_t xid, uint32_t accept_status);
void gi_reply_encode_denied(struct gi_xdr_out *out, uint32_t xid, uint32_t auth_status);

/* How many groups of `caller` a credential of flavour v3 has room for: the longer the owner, the fewer. */
uint32_t gi_cred_groups_fit(const struct gi_caller *caller);

/* Credentials to caller; groups are stored in `groups` (room for GI_GROUPS_MAX) and caller->groups points there. 0, or -1: deny
 * with auth status 0 (wire.md 1.3). Flavours unknown to us count as none, like on real servers. */
GI_MUST_CHECK int gi_cred_decode(uint32_t flavour, const uint8_t *body, uint32_t len, struct gi_caller *caller,
                                 uint32_t *groups);

/* Payload placement (wire.md 1.6): how many bytes from the record's start must be contiguous to decode the message. For the
 * messages that carry a payload (READ replies, WRITE calls) that is where the payload begins, read from the dict's size, and
 * *payload is true; for all others it is SIZE_MAX. `body` is the offset of the arguments or results. */
size_t gi_message_head_bytes(uint32_t prog, uint32_t proc, bool reply, const uint8_t *head, size_t head_len, size_t body,
                             bool *payload);

#endif
