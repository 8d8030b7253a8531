/* SPDX-License-Identifier: Apache-2.0
 *
 * Coding of what is given back: XDR in one binary value.
 */
#include "rpc/give-back.h"
#include "libglusterish/mem.h"

#include <string.h>

#define OUTCOME_ERRNO_MAX 4095

bool
gi_give_back_fits(const char *domain)
{
  return domain && domain[0] && strlen(domain) <= GI_PREAMBLE_DOMAIN;
}

void
gi_give_back_put(struct gi_xdr_out *out, const struct gi_give_back *g)
{
  gi_xdr_put_u32(out, g->what);
  switch (g->what) {
  case GI_GIVE_DESCRIPTOR:
    GI_ASSERT(g->handle >= 0);
    gi_xdr_put_u64(out, (uint64_t)g->handle);
    break;
  case GI_GIVE_COUNTERS:
    GI_ASSERT(g->counters && !gi_gfid_is_none(&g->lock.gfid));
    gi_xdr_put_u64(out, (uint64_t)g->handle);
    gi_xdr_put_gfid(out, &g->lock.gfid);
    gi_xdr_put_dict(out, g->counters);
    break;
  case GI_GIVE_LOCK:
    GI_ASSERT(gi_give_back_fits(g->domain) && g->owner.len > 0 && g->owner.len <= GI_OWNER_MAX);
    gi_xdr_put_string(out, g->domain);
    gi_xdr_put_opaque(out, g->owner.data, g->owner.len);
    gi_preamble_put_lock(out, &g->lock);
    break;
  }
}

static void
next_counters(struct gi_xdr_in *in, struct gi_give_back *g)
{
  g->handle = (int64_t)gi_xdr_get_u64(in);
  gi_xdr_get_gfid(in, &g->lock.gfid);
  gi_xdr_get_dict(in, &g->counters);
  in->failed |= gi_gfid_is_none(&g->lock.gfid) || !g->counters;
  if (in->failed)
    gi_dict_unref(&g->counters);
}

bool
gi_give_back_next(struct gi_xdr_in *in, struct gi_give_back *g)
{
  if (in->failed || gi_xdr_left(in) == 0)
    return false;
  g->counters = NULL;
  g->what = gi_xdr_get_u32(in);
  switch (g->what) {
  case GI_GIVE_DESCRIPTOR:
    g->handle = (int64_t)gi_xdr_get_u64(in);
    in->failed |= g->handle < 0;
    break;
  case GI_GIVE_COUNTERS:
    next_counters(in, g);
    break;
  case GI_GIVE_LOCK:
    in->failed |= !gi_preamble_get_text(in, g->domain_text, GI_PREAMBLE_DOMAIN) || !gi_preamble_get_owner(in, &g->owner) ||
                  !gi_preamble_get_lock(in, &g->lock, g->name_text);
    g->domain = g->domain_text;
    break;
  default:
    in->failed = true;
  }
  return !in->failed;
}

void
gi_give_back_put_outcome(struct gi_xdr_out *out, int err, const struct gi_dict *values)
{
  GI_ASSERT(err >= 0 && err <= OUTCOME_ERRNO_MAX);
  gi_xdr_put_u32(out, (uint32_t)err);
  gi_xdr_put_dict(out, err ? NULL : values);
}

bool
gi_give_back_next_outcome(struct gi_xdr_in *in, int *err, struct gi_dict **values)
{
  uint32_t n = gi_xdr_get_u32(in);

  *values = NULL;
  gi_xdr_get_dict(in, values);
  if (in->failed || n > OUTCOME_ERRNO_MAX) {
    gi_dict_unref(values);
    return false;
  }
  *err = (int)n;
  return true;
}
