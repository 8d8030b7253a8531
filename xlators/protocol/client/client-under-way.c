/* SPDX-License-Identifier: Apache-2.0
 *
 * What the brick does with the operations that it has not answered: somebody
 * who looks at them (the observation socket) asks this layer for an attribute of
 * the root, and what the brick tells becomes part of their trees.
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/probe.h"
#include "libglusterish/tree.h"

bool
cl_asks_under_way(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_GETXATTR && fop->args.name && strcmp(fop->args.name, GI_UNDER_WAY_KEY) == 0;
}

static bool
is_at_brick(const struct client *c, const struct gi_fop *fop)
{
  return fop->at == c->x && !fop->answered;
}

bool
cl_ask_under_way(struct client *c, struct gi_fop *question)
{
  struct gi_xdr_out out = {0};
  if (!c->peer_is_ours || c->asked_under_way)
    return false;
  gi_list_foreach(fop, &c->x->graph->flight, struct gi_fop, flight) {
    const struct cl_fop *call = gi_fop_private(fop, c->x);
    if (fop == question || !is_at_brick(c, fop) || out.len >= 8 * GI_UNDER_WAY_MAX)
      continue;
    gi_xdr_put_u32(&out, call->xid);
    gi_xdr_put_u32(&out, (uint32_t)fop->kind);
  }
  bool any = out.len > 0;
  if (any)
    gi_dict_set_bin(gi_fop_xdata(question), GI_UNDER_WAY_KEY, out.base, (uint32_t)out.len);
  gi_xdr_out_finish(&out);
  c->asked_under_way = any;
  return any;
}

static struct gi_fop *
find(const struct client *c, uint32_t xid)
{
  gi_list_foreach(fop, &c->x->graph->flight, struct gi_fop, flight) {
    const struct cl_fop *call = gi_fop_private(fop, c->x);
    if (is_at_brick(c, fop) && call->xid == xid)
      return fop;
  }
  return NULL;
}

void
cl_take_under_way(struct client *c, struct gi_fop *question)
{
  const void *told;
  uint32_t len;
  c->asked_under_way = false;
  if (question->rsp.ret < 0 || !gi_dict_get_bin(question->rsp.dict, GI_UNDER_WAY_KEY, &told, &len))
    return;
  struct gi_xdr_in in = {told, (const uint8_t *)told + len, false};
  while (in.p < in.end) { /* where it cannot be read is its end, too */
    uint32_t xid = gi_xdr_get_u32(&in), size;
    const uint8_t *wire = gi_xdr_get_opaque(&in, GI_STEPS_WIRE_MAX, &size);
    struct gi_fop *fop = in.failed ? NULL : find(c, xid);
    struct gi_step *steps = fop ? gi_steps_decode(wire, size) : NULL;
    if (!steps || steps->kind != fop->kind) { /* it was answered meanwhile; or nonsense */
      GI_PROBE("client: what a brick says is under way is not");
      gi_step_free(&steps);
      continue;
    }
    gi_step_free(&gi_fop_steps(fop)->remote);
    gi_fop_steps(fop)->remote = steps;
  }
}
