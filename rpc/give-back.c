/* SPDX-License-Identifier: Apache-2.0
 *
 * Coding of what is given back: XDR in one binary value.
 */
#include "rpc/give-back.h"
#include "libglusterish/mem.h"

#include <string.h>

bool
gi_give_back_fits(const char *domain)
{
  return domain && domain[0] && strlen(domain) <= GI_PREAMBLE_DOMAIN;
}

void
gi_give_back_put(struct gi_xdr_out *out, const struct gi_give_back *g)
{
  gi_xdr_put_u32(out, g->what);
  if (g->what == GI_GIVEN_DESCRIPTOR) {
    GI_ASSERT(g->handle >= 0);
    gi_xdr_put_u64(out, (uint64_t)g->handle);
    return;
  }
  if (g->what == GI_GIVEN_COUNTERS) {
    GI_ASSERT(g->counters && !gi_gfid_is_none(&g->gfid) && (g->handle >= 0 || g->handle == GI_FD_ANONYMOUS));
    gi_xdr_put_gfid(out, &g->gfid);
    gi_xdr_put_u64(out, (uint64_t)g->handle);
    gi_xdr_put_dict(out, g->counters);
    return;
  }
  GI_ASSERT(gi_give_back_fits(g->domain) && g->owner.len > 0 && g->owner.len <= GI_OWNER_MAX);
  gi_xdr_put_string(out, g->domain);
  gi_xdr_put_opaque(out, g->owner.data, g->owner.len);
  gi_preamble_put_lock(out, &g->lock);
}

static bool
next_counters(struct gi_xdr_in *in, struct gi_give_back *g)
{
  gi_xdr_get_gfid(in, &g->gfid);
  g->handle = (int64_t)gi_xdr_get_u64(in);
  gi_xdr_get_dict(in, &g->counters);
  in->failed |= !g->counters || gi_gfid_is_none(&g->gfid) || (g->handle < 0 && g->handle != GI_FD_ANONYMOUS);
  if (in->failed)
    gi_dict_unref(&g->counters);
  return !in->failed;
}

bool
gi_give_back_next(struct gi_xdr_in *in, struct gi_give_back *g)
{
  g->counters = NULL;
  if (in->failed || gi_xdr_left(in) == 0)
    return false;
  g->what = gi_xdr_get_u32(in);
  if (g->what == GI_GIVEN_COUNTERS)
    return next_counters(in, g);
  if (g->what == GI_GIVEN_DESCRIPTOR) {
    g->handle = (int64_t)gi_xdr_get_u64(in);
    in->failed |= g->handle < 0;
    return !in->failed;
  }
  in->failed |= g->what != GI_GIVEN_LOCK || !gi_preamble_get_text(in, g->domain_text, GI_PREAMBLE_DOMAIN) ||
                !gi_preamble_get_owner(in, &g->owner) || !gi_preamble_get_lock(in, &g->lock, g->name_text);
  g->domain = g->domain_text;
  return !in->failed;
}
