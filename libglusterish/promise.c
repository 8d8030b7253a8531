/* SPDX-License-Identifier: Apache-2.0
 *
 * What all bricks of a graph together promise: the least of it.
 */
#include "libglusterish/promise.h"

static uint32_t
least_below(const struct gi_xlator *x)
{
  uint32_t least = UINT32_MAX;

  if (x->nchildren == 0)
    return x->promise;
  for (unsigned i = 0; least && i < x->nchildren; i++) {
    uint32_t seconds = least_below(x->children[i]);

    if (seconds < least)
      least = seconds;
  }
  return least;
}

void
gi_promise_count(struct gi_graph *g)
{
  g->promise = g->top ? least_below(g->top) : 0;
}

void
gi_promise_made(struct gi_xlator *x, uint32_t seconds)
{
  struct gi_graph *g = x->graph;
  uint32_t before = g->promise;

  GI_ASSERT(x->nchildren == 0);
  x->promise = seconds;
  gi_promise_count(g);
  if (g->promise != before)
    gi_notify_up(x, GI_EVENT_PROMISE, &g->promise);
}
