/* SPDX-License-Identifier: Apache-2.0
 *
 * Coding of preambles: XDR in one binary value.
 */
#include "rpc/preamble.h"
#include "libglusterish/mem.h"
#include "rpc/xdr.h"

#include <errno.h>
#include <string.h>

#define VERSION 1
#define OUTCOME_ERRNO_MAX 4095

enum { INODE_LOCK, NAME_LOCK, DIRECTORY_LOCK };

void
gi_preamble_put_lock(struct gi_xdr_out *out, const struct gi_preamble_lock *l)
{
  GI_ASSERT(!gi_gfid_is_none(&l->gfid) && (l->entry || !l->name));
  gi_xdr_put_u32(out, !l->entry ? INODE_LOCK : l->name ? NAME_LOCK : DIRECTORY_LOCK);
  gi_xdr_put_gfid(out, &l->gfid);
  if (!l->entry) {
    gi_xdr_put_u64(out, l->start);
    gi_xdr_put_u64(out, l->len);
  } else if (l->name) {
    gi_xdr_put_string(out, l->name);
  }
}

void
gi_preamble_put(struct gi_dict *xdata, const struct gi_preamble *p)
{
  struct gi_xdr_out out = {0};
  GI_ASSERT(p->nlocks <= GI_PREAMBLE_LOCKS && p->owner.len > 0 && p->owner.len <= GI_OWNER_MAX && p->domain);

  gi_xdr_put_u32(&out, VERSION);
  gi_xdr_put_string(&out, p->domain);
  gi_xdr_put_opaque(&out, p->owner.data, p->owner.len);
  gi_xdr_put_u32(&out, p->nlocks);
  for (uint32_t i = 0; i < p->nlocks; i++)
    gi_preamble_put_lock(&out, &p->lock[i]);
  gi_xdr_put_dict(&out, p->counters);
  gi_dict_set_bin(xdata, GI_PREAMBLE_KEY, out.base, (uint32_t)out.len);
  gi_xdr_out_finish(&out);
}

bool
gi_preamble_get_text(struct gi_xdr_in *in, char *text, uint32_t max)
{
  uint32_t len;
  const uint8_t *bytes = gi_xdr_get_opaque(in, max, &len);

  if (in->failed || len == 0 || memchr(bytes, 0, len))
    return false;
  memcpy(text, bytes, len);
  text[len] = 0;
  return true;
}

bool
gi_preamble_get_lock(struct gi_xdr_in *in, struct gi_preamble_lock *l, char *text)
{
  uint32_t kind = gi_xdr_get_u32(in);

  *l = (struct gi_preamble_lock){0};
  gi_xdr_get_gfid(in, &l->gfid);
  if (in->failed || kind > DIRECTORY_LOCK || gi_gfid_is_none(&l->gfid))
    return false;
  l->entry = kind != INODE_LOCK;
  if (kind == INODE_LOCK) {
    l->start = gi_xdr_get_u64(in);
    l->len = gi_xdr_get_u64(in);
  } else if (kind == NAME_LOCK) {
    if (!gi_preamble_get_text(in, text, GI_NAME_MAX) || strchr(text, '/'))
      return false;
    l->name = text;
  }
  return !in->failed;
}

bool
gi_preamble_get_owner(struct gi_xdr_in *in, struct gi_owner *owner)
{
  uint32_t len;
  const uint8_t *bytes = gi_xdr_get_opaque(in, GI_OWNER_MAX, &len);

  if (in->failed || len == 0)
    return false;
  owner->len = len;
  memcpy(owner->data, bytes, len);
  return true;
}

static bool
get_all(struct gi_xdr_in *in, struct gi_preamble *p)
{
  if (gi_xdr_get_u32(in) != VERSION || !gi_preamble_get_text(in, p->domain_text, GI_PREAMBLE_DOMAIN) ||
      !gi_preamble_get_owner(in, &p->owner))
    return false;
  p->domain = p->domain_text;
  p->nlocks = gi_xdr_get_u32(in);
  if (in->failed || p->nlocks > GI_PREAMBLE_LOCKS)
    return false;
  for (uint32_t i = 0; i < p->nlocks; i++)
    if (!gi_preamble_get_lock(in, &p->lock[i], p->name_text[i]))
      return false;
  gi_xdr_get_dict(in, &p->counters);
  return !in->failed && gi_xdr_left(in) == 0;
}

bool
gi_preamble_get(const struct gi_dict *xdata, struct gi_preamble *p)
{
  const void *data;
  uint32_t len;

  memset(p, 0, sizeof(*p));
  if (!gi_dict_get_bin(xdata, GI_PREAMBLE_KEY, &data, &len))
    return false;
  struct gi_xdr_in in = {.p = data, .end = (const uint8_t *)data + len};
  if (get_all(&in, p))
    return true;
  gi_preamble_clear(p);
  return false;
}

void
gi_preamble_clear(struct gi_preamble *p)
{
  gi_dict_unref(&p->counters);
}

void
gi_preamble_put_outcome(struct gi_dict *xdata, int err, const struct gi_dict *counters)
{
  struct gi_xdr_out out = {0};
  GI_ASSERT(err >= 0 && err <= OUTCOME_ERRNO_MAX);

  gi_xdr_put_u32(&out, (uint32_t)err);
  gi_xdr_put_dict(&out, counters);
  gi_dict_set_bin(xdata, GI_PREAMBLE_KEY, out.base, (uint32_t)out.len);
  gi_xdr_out_finish(&out);
}

bool
gi_preamble_get_outcome(const struct gi_dict *xdata, int *err, struct gi_dict **counters)
{
  const void *data;
  uint32_t len, n;

  *counters = NULL;
  if (!gi_dict_get_bin(xdata, GI_PREAMBLE_KEY, &data, &len))
    return false;
  struct gi_xdr_in in = {.p = data, .end = (const uint8_t *)data + len};
  n = gi_xdr_get_u32(&in);
  gi_xdr_get_dict(&in, counters);
  if (in.failed || n > OUTCOME_ERRNO_MAX) {
    gi_dict_unref(counters);
    return false;
  }
  *err = (int)n;
  return true;
}
