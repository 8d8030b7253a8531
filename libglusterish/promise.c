/* SPDX-License-Identifier: Apache-2.0
 *
 * What all bricks of a graph together promise: the least of it.
 */
#include "libglusterish/promise.h"

static struct gi_promised
least_below(const struct gi_xlator *x)
{
  struct gi_promised least = {.seconds = UINT32_MAX, .strict = true};

  if (x->nchildren == 0)
    return x->promise;
  for (unsigned i = 0; least.seconds && i < x->nchildren; i++) {
    struct gi_promised p = least_below(x->children[i]);

    if (p.seconds < least.seconds)
      least.seconds = p.seconds;
    least.strict &= p.strict;
  }
  return least;
}

void
gi_promise_count(struct gi_graph *g)
{
  struct gi_promised all = g->top ? least_below(g->top) : (struct gi_promised){0};

  g->promise = all.seconds;
  g->strict = all.seconds && all.strict;
}

void
gi_promise_made(struct gi_xlator *x, struct gi_promised p)
{
  struct gi_graph *g = x->graph;
  struct gi_promised before = {.seconds = g->promise, .strict = g->strict}, now;

  GI_ASSERT(x->nchildren == 0 && (p.seconds || !p.strict));
  x->promise = p;
  gi_promise_count(g);
  now = (struct gi_promised){.seconds = g->promise, .strict = g->strict};
  if (now.seconds != before.seconds || now.strict != before.strict)
    gi_notify_up(x, GI_EVENT_PROMISE, &now);
}
