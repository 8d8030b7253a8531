/* SPDX-License-Identifier: Apache-2.0
 *
 * Coding of what is given back: XDR in one binary value.
 */
#include "rpc/give-back.h"
#include "libglusterish/mem.h"

#include <string.h>

enum { LOCK, DESCRIPTOR };

bool
gi_give_back_fits(const char *domain)
{
  return domain && domain[0] && strlen(domain) <= GI_PREAMBLE_DOMAIN;
}

void
gi_give_back_put(struct gi_xdr_out *out, const struct gi_give_back *g)
{
  gi_xdr_put_u32(out, g->descriptor ? DESCRIPTOR : LOCK);
  if (g->descriptor) {
    GI_ASSERT(g->handle >= 0);
    gi_xdr_put_u64(out, (uint64_t)g->handle);
    return;
  }
  GI_ASSERT(gi_give_back_fits(g->domain) && g->owner.len > 0 && g->owner.len <= GI_OWNER_MAX);
  gi_xdr_put_string(out, g->domain);
  gi_xdr_put_opaque(out, g->owner.data, g->owner.len);
  gi_preamble_put_lock(out, &g->lock);
}

bool
gi_give_back_next(struct gi_xdr_in *in, struct gi_give_back *g)
{
  uint32_t what;

  if (in->failed || gi_xdr_left(in) == 0)
    return false;
  what = gi_xdr_get_u32(in);
  g->descriptor = what == DESCRIPTOR;
  if (g->descriptor) {
    g->handle = (int64_t)gi_xdr_get_u64(in);
    in->failed |= g->handle < 0;
    return !in->failed;
  }
  in->failed |= what != LOCK || !gi_preamble_get_text(in, g->domain_text, GI_PREAMBLE_DOMAIN) ||
                !gi_preamble_get_owner(in, &g->owner) || !gi_preamble_get_lock(in, &g->lock, g->name_text);
  g->domain = g->domain_text;
  return !in->failed;
}
