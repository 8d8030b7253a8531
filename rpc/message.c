/* SPDX-License-Identifier: Apache-2.0
 *
 * RPC headers and credentials (wire.md 1.2 to 1.6).
 */
#include "rpc/message.h"
#include "libglusterish/mem.h"

#include <endian.h>

#define RPC_VERSION 2
#define CRED_MAX 400    /* longest credential body a real server decodes */
#define CRED_RULE_V2 95 /* groups + owner bytes at most (wire.md 1.5) */
#define CRED_RULE_V3 91
#define V1_GROUPS 16

enum { MSG_CALL = 0, MSG_REPLY = 1 };

int
gi_message_type(const struct gi_xdr_in *in)
{
  struct gi_xdr_in copy = *in;
  gi_xdr_get_u32(&copy);
  uint32_t type = gi_xdr_get_u32(&copy);
  return copy.failed || type > MSG_REPLY ? -1 : (int)type;
}

bool
gi_call_decode(struct gi_xdr_in *in, struct gi_call_header *h)
{
  uint32_t verifier_len;
  h->xid = gi_xdr_get_u32(in);
  uint32_t type = gi_xdr_get_u32(in);
  uint32_t version = gi_xdr_get_u32(in);
  h->prog = gi_xdr_get_u32(in);
  h->vers = gi_xdr_get_u32(in);
  h->proc = gi_xdr_get_u32(in);
  h->flavour = gi_xdr_get_u32(in);
  h->cred = gi_xdr_get_opaque(in, CRED_MAX, &h->cred_len);
  gi_xdr_get_u32(in);
  gi_xdr_get_opaque(in, CRED_MAX, &verifier_len);
  return !in->failed && type == MSG_CALL && version == RPC_VERSION;
}

bool
gi_reply_decode(struct gi_xdr_in *in, struct gi_reply_header *h)
{
  uint32_t verifier_len;
  h->xid = gi_xdr_get_u32(in);
  uint32_t type = gi_xdr_get_u32(in);
  h->reply_status = gi_xdr_get_u32(in);
  if (h->reply_status == 0) {
    gi_xdr_get_u32(in);
    gi_xdr_get_opaque(in, CRED_MAX, &verifier_len);
  }
  h->accept_status = gi_xdr_get_u32(in);
  return !in->failed && type == MSG_REPLY && h->reply_status <= 1;
}

/* ---- encoding ---- */

static void
put_owner(struct gi_xdr_out *out, const struct gi_caller *caller)
{
  uint32_t pid = htole32((uint32_t)caller->pid);
  if (caller->owner.len > 0)
    gi_xdr_put_opaque(out, caller->owner.data, caller->owner.len);
  else
    gi_xdr_put_opaque(out, &pid, sizeof(pid)); /* what real clients send when nobody named an owner */
}

static uint32_t
groups_fit(const struct gi_caller *caller, uint32_t rule)
{
  uint32_t owner = caller->owner.len ? caller->owner.len : 4;
  uint32_t room = rule > owner ? rule - owner : 0;
  return caller->ngroups < room ? caller->ngroups : room;
}

uint32_t
gi_cred_groups_fit(const struct gi_caller *caller)
{
  return groups_fit(caller, CRED_RULE_V3);
}

static void
put_groups(struct gi_xdr_out *out, const struct gi_caller *caller, uint32_t rule)
{
  uint32_t n = groups_fit(caller, rule);
  gi_xdr_put_u32(out, n);
  for (uint32_t i = 0; i < n; i++)
    gi_xdr_put_u32(out, caller->groups[i]);
}

static void
put_credential(struct gi_xdr_out *out, uint32_t flavour, const struct gi_caller *caller)
{
  static const struct gi_caller nobody;
  if (caller == NULL)
    caller = &nobody;
  gi_xdr_put_u32(out, flavour);
  size_t at = out->len;
  gi_xdr_put_u32(out, 0);
  if (flavour != GI_AUTH_V2 && flavour != GI_AUTH_V3)
    return;
  gi_xdr_put_u32(out, (uint32_t)caller->pid);
  gi_xdr_put_u32(out, caller->uid);
  gi_xdr_put_u32(out, caller->gid);
  if (flavour == GI_AUTH_V3) {
    gi_xdr_put_u32(out, caller->stamps);
    gi_xdr_put_u32(out, caller->time.nsec);
    gi_xdr_put_u64(out, (uint64_t)caller->time.sec);
  }
  put_groups(out, caller, flavour == GI_AUTH_V3 ? CRED_RULE_V3 : CRED_RULE_V2);
  put_owner(out, caller);
  gi_xdr_set_u32(out, at, (uint32_t)(out->len - at - 4));
}

void
gi_call_encode(struct gi_xdr_out *out, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc, uint32_t flavour,
               const struct gi_caller *caller)
{
  gi_xdr_put_u32(out, xid);
  gi_xdr_put_u32(out, MSG_CALL);
  gi_xdr_put_u32(out, RPC_VERSION);
  gi_xdr_put_u32(out, prog);
  gi_xdr_put_u32(out, vers);
  gi_xdr_put_u32(out, proc);
  put_credential(out, flavour, caller);
  gi_xdr_put_u64(out, 0); /* verifier: none, empty */
}

void
gi_reply_encode(struct gi_xdr_out *out, uint32_t xid, uint32_t accept_status)
{
  gi_xdr_put_u32(out, xid);
  gi_xdr_put_u32(out, MSG_REPLY);
  gi_xdr_put_u32(out, 0);
  gi_xdr_put_u64(out, 0);
  gi_xdr_put_u32(out, accept_status);
}

void
gi_reply_encode_denied(struct gi_xdr_out *out, uint32_t xid, uint32_t auth_status)
{
  gi_xdr_put_u32(out, xid);
  gi_xdr_put_u32(out, MSG_REPLY);
  gi_xdr_put_u32(out, 1);
  gi_xdr_put_u32(out, 1);
  gi_xdr_put_u32(out, auth_status);
}

/* ---- credentials ---- */

static int
get_groups(struct gi_xdr_in *in, struct gi_caller *caller, uint32_t *groups, uint32_t n)
{
  if (n > GI_GROUPS_MAX)
    return -1;
  for (uint32_t i = 0; i < n; i++)
    groups[i] = gi_xdr_get_u32(in);
  caller->ngroups = n;
  caller->groups = groups;
  return in->failed ? -1 : 0;
}

static int
get_owner(struct gi_xdr_in *in, struct gi_caller *caller)
{
  uint32_t len;
  const uint8_t *p = gi_xdr_get_opaque(in, GI_OWNER_MAX, &len);
  if (p == NULL)
    return -1;
  memcpy(caller->owner.data, p, len);
  caller->owner.len = len;
  return 0;
}

static int
decode_gluster(struct gi_xdr_in *in, bool v3, struct gi_caller *caller, uint32_t *groups)
{
  caller->pid = (int32_t)gi_xdr_get_u32(in);
  caller->uid = gi_xdr_get_u32(in);
  caller->gid = gi_xdr_get_u32(in);
  if (v3) {
    caller->stamps = gi_xdr_get_u32(in);
    caller->time.nsec = gi_xdr_get_u32(in);
    caller->time.sec = (int64_t)gi_xdr_get_u64(in);
  }
  uint32_t n = gi_xdr_get_u32(in);
  if (get_groups(in, caller, groups, n) < 0 || get_owner(in, caller) < 0)
    return -1;
  return n + caller->owner.len > (v3 ? CRED_RULE_V3 : CRED_RULE_V2) ? -1 : 0;
}

static int
decode_v1(struct gi_xdr_in *in, struct gi_caller *caller, uint32_t *groups)
{
  const uint8_t *owner = gi_xdr_get_bytes(in, 8);
  if (owner == NULL)
    return -1;
  memcpy(caller->owner.data, owner, 8);
  caller->owner.len = 8;
  caller->pid = (int32_t)gi_xdr_get_u32(in);
  caller->uid = gi_xdr_get_u32(in);
  caller->gid = gi_xdr_get_u32(in);
  uint32_t n = gi_xdr_get_u32(in);
  return n > V1_GROUPS ? -1 : get_groups(in, caller, groups, n);
}

static int
decode_unix(struct gi_xdr_in *in, struct gi_caller *caller, uint32_t *groups)
{
  uint32_t len;
  gi_xdr_get_u32(in); /* stamp */
  gi_xdr_get_opaque(in, 255, &len);
  caller->uid = gi_xdr_get_u32(in);
  caller->gid = gi_xdr_get_u32(in);
  uint32_t n = gi_xdr_get_u32(in);
  return in->failed || n > V1_GROUPS ? -1 : get_groups(in, caller, groups, n);
}

int
gi_cred_decode(uint32_t flavour, const uint8_t *body, uint32_t len, struct gi_caller *caller, uint32_t *groups)
{
  uint8_t padded[CRED_MAX]; /* a short body reads as if zeroes followed */
  memset(caller, 0, sizeof(*caller));
  if (len > CRED_MAX)
    return -1;
  if (len > 0)
    memcpy(padded, body, len);
  memset(padded + len, 0, CRED_MAX - len);
  struct gi_xdr_in in = {padded, padded + CRED_MAX, false};
  switch (flavour) {
  case GI_AUTH_V3:
  case GI_AUTH_V2:
    return decode_gluster(&in, flavour == GI_AUTH_V3, caller, groups);
  case GI_AUTH_V1:
    return decode_v1(&in, caller, groups);
  case GI_AUTH_UNIX:
    return decode_unix(&in, caller, groups);
  default:
    return 0;
  }
}

/* ---- payload placement ---- */

/* Offset of the last dict in the XDR part: what precedes it has a fixed size in both messages. */
enum {
  READ_REPLY_DICT = 4 + 4 + 148 + 4,    /* op_ret, op_errno, stat, size */
  WRITE_CALL_DICT = 16 + 8 + 8 + 4 + 4, /* gfid, fd, offset, size, flag */
  DICT_FIXED = 12,
};

size_t
gi_message_head_bytes(uint32_t prog, uint32_t proc, bool reply, const uint8_t *head, size_t head_len, size_t body,
                      bool *payload)
{
  *payload = prog == GI_PROG_FOP && proc == (reply ? GI_FOP_READ : GI_FOP_WRITE);
  if (!*payload)
    return SIZE_MAX;
  size_t at = body + (reply ? READ_REPLY_DICT : WRITE_CALL_DICT);
  if (head_len < at + 4)
    return at + DICT_FIXED;
  struct gi_xdr_in in = {head + at, head + head_len, false};
  return at + DICT_FIXED + gi_xdr_get_u32(&in);
}
