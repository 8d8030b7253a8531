/* SPDX-License-Identifier: Apache-2.0
 *
 * A client asks what its operations wait for here: they are told as they are at
 * this moment, with the locks and other clients that hold them up.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/tree.h"

#include <errno.h>

#define BYTES_MAX (256u << 10) /* of an answer, about */

/* NULL: it has been answered, or has not come yet. */
static struct gi_fop *
find(const struct server *sv, const struct sv_client *c, uint32_t xid, uint32_t kind)
{
  gi_list_foreach(fop, &sv->x->graph->flight, struct gi_fop, flight) {
    const struct sv_fop *f = gi_fop_private(fop, sv->x);
    if (f->client == c && f->req && f->req->header.xid == xid && fop->kind == kind)
      return fop;
  }
  return NULL;
}

static void
put_told(struct gi_xdr_out *out, struct gi_fop *fop, uint32_t xid, const struct gi_place *here)
{
  uint64_t age = gi_ticks(fop->graph->ctx->reactor) - fop->start_ticks;
  struct gi_told *told = gi_told_new(fop, age, false);
  uint32_t len;
  GI_CLEANUP_FREE uint8_t *wire = gi_steps_encode(told, here, &len);
  GI_ASSERT(len > 0 && !fop->answered);
  gi_xdr_put_u32(out, xid);
  gi_xdr_put_opaque(out, wire, len);
  gi_told_put(&told);
}

bool
sv_under_way(struct server *sv, const struct sv_client *c, struct gi_fop *fop)
{
  const void *asked;
  uint32_t len;
  struct gi_xdr_out out = {0};
  struct gi_place here;
  if (!c->ours || !fop->args.name || strcmp(fop->args.name, GI_UNDER_WAY_KEY) != 0 ||
      !gi_dict_get_bin(fop->xdata, GI_UNDER_WAY_KEY, &asked, &len) || len > 8 * GI_UNDER_WAY_MAX)
    return false;
  struct gi_xdr_in in = {asked, (const uint8_t *)asked + len, false};
  sv_place(sv, c->bound, &here);
  while (in.p < in.end && out.len < BYTES_MAX) {
    uint32_t xid = gi_xdr_get_u32(&in), kind = gi_xdr_get_u32(&in);
    struct gi_fop *found = in.failed ? NULL : find(sv, c, xid, kind);
    if (found)
      put_told(&out, found, xid, &here);
  }
  gi_dict_unref(&fop->rsp.dict);
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, GI_UNDER_WAY_KEY, out.base, (uint32_t)out.len);
  gi_fop_ok(fop, (int32_t)out.len);
  gi_xdr_out_finish(&out);
  return true;
}
