/* SPDX-License-Identifier: Apache-2.0
 *
 * Bricks tell of changes of those extended attributes only that some client said
 * it cares for. So they hear the names of the set: when one of them comes, and when
 * the set changes. Until all have taken it, extended attributes are believed for
 * no longer than if nobody told. Where nothing is kept for that long nothing is sent.
 */
#include "xlators/performance/md-cache/md-cache.h"

#define IPC_UPCALL 2 /* the addressee (wire.md, IPC) */

struct care_fop {
  struct md *md;
  uint64_t turn;
};

static void
sent(struct gi_fop *fop, void *arg)
{
  struct care_fop *c = arg;

  GI_ASSERT(c->turn <= c->md->care.turn);
  if (fop->rsp.ret >= 0 && c->turn == c->md->care.turn)
    c->md->care.taken = true;
  gi_fop_unref(fop);
}

static void
send(void *arg)
{
  struct md *md = arg;
  struct gi_xlator *x = md->x;
  struct gi_fop *fop;
  struct care_fop *c;

  GI_ASSERT(!md->care.taken && md->care.turn > 0);
  if (!x->enabled || x->draining || !x->graph->active || gi_dict_count(md->keys) == 0 ||
      md_timeout_ns(md) <= MD_CLAMP_S * GI_NSEC_PER_SEC)
    return;
  fop = gi_fop_new(x->graph, GI_FOP_IPC);
  c = gi_fop_alloc(fop, sizeof(*c));
  *c = (struct care_fop){md, md->care.turn};
  fop->args.what = IPC_UPCALL;
  fop->xdata = gi_dict_ref(md->keys);
  gi_fop_submit(fop, gi_first_child(x), sent, c);
}

void
md_care_init(struct md *md)
{
  gi_defer_init(&md->care.send, send, md);
}

void
md_care_anew(struct md *md)
{
  md->care.turn++;
  md->care.taken = false;
  gi_defer_add(md->x->reactor, &md->care.send);
}

void
md_care_finish(struct md *md)
{
  gi_defer_cancel(&md->care.send);
}
