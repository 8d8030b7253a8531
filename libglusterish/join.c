/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations are known one by one, and of writes that were answered early how
 * many there are. Where always some are, those from before it came have some
 * seconds. When there is none whoever counts them counts right from then on.
 */
#include "libglusterish/join.h"

#include "libglusterish/graph.h"
#include "libglusterish/seen.h"

#define EARLY_NS (10 * GI_NSEC_PER_SEC)

void
gi_join(struct gi_join *j, const struct gi_xlator *x)
{
  *j = (struct gi_join){true, gi_ticks(x->reactor), gi_now(x->reactor) + EARLY_NS};
}

static bool
may_change(enum gi_fop_kind kind)
{
  return gi_fop_table[kind].classes & GI_CLASS_WRITE || kind == GI_FOP_OPEN;
}

/* A change that was submitted by then has not been answered. */
static bool
is_under_way(const struct gi_graph *g, uint64_t ticks)
{
  gi_list_foreach(fop, &g->flight, struct gi_fop, flight) {
    if (fop->start_ticks > ticks) /* and so were those behind it submitted later */
      return false;
    if (may_change(fop->kind))
      return true;
  }
  return false;
}

bool
gi_join_waits(struct gi_join *j, const struct gi_xlator *x)
{
  const struct gi_graph *g = x->graph;

  if (!j->waits)
    return false;
  j->waits = ((x->ctx->unwritten > 0 || g->seen->off) && gi_now(x->reactor) < j->until) ||
             (!g->seen->off && is_under_way(g, j->ticks));
  return j->waits;
}
