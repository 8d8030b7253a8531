/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking a translator off the path: it is drained first, and what comes while
 * it drains still passes it. So nothing overtakes what it holds.
 *
 * One that is switched off stays enabled until it is drained. One that a new
 * volfile does not have stays between those that were its neighbours: they are
 * connected as the file says, except that whoever leads to its child leads to
 * it instead (front). Several may stand in front of one another, and further
 * volfiles may come meanwhile. There is no limit of time: a translator that
 * never finishes stays where it is, holding nothing new, until the process
 * ends; the statedump shows it.
 */
#include "libglusterish/graph-private.h"
#include "libglusterish/log.h"

struct gi_xlator *
gi_graph_front(struct gi_xlator *x)
{
  while (x->front)
    x = x->front;
  return x;
}

static void
replace(struct gi_xlator **set, unsigned n, const struct gi_xlator *was, struct gi_xlator *is)
{
  for (unsigned i = 0; set && i < n; i++)
    if (set[i] == was)
      set[i] = is;
}

/* Its neighbours meet. */
static void
step_aside(struct gi_xlator *x)
{
  struct gi_xlator *child = x->children[0];

  GI_ASSERT(child->front == x);
  x->away = false;
  child->front = x->front;
  x->front = NULL;
  gi_graph_remove_parent(child, x);
  for (unsigned i = 0; i < x->nparents; i++)
    gi_graph_add_parent(child, x->parents[i]);
  x->nparents = 0;
  for (unsigned i = 0; i < x->graph->count; i++) {
    struct gi_xlator *other = x->graph->xlators[i];

    replace(other->children, other->nchildren, x, child);
    replace(other->incoming, other->nincoming, x, child);
  }
  gi_log(GI_LOG_INFO, x->name, GI_MSG_GRAPH + 2, "%s leaves the running graph", x->cls->type);
}

static void
drained(struct gi_xlator *x)
{
  GI_ASSERT(x->draining);
  x->draining = false;
  if (!x->graph->active) /* it ends as a whole */
    return;
  if (x->switching_off)
    x->enabled = x->switching_off = false;
  if (x->away)
    step_aside(x);
  gi_graph_compile(x->graph);
}

void
gi_graph_drain(struct gi_xlator *x)
{
  if (!x->cls->drain || x->draining)
    return;
  x->draining = true;
  x->cls->drain(x, drained);
  if (x->draining)
    gi_log(GI_LOG_INFO, x->name, GI_MSG_GRAPH + 6, "%s is to leave the path and has still something to finish", x->cls->type);
}

void
gi_xlator_enable(struct gi_xlator *x, bool enabled)
{
  x->switching_off = x->enabled && !enabled;
  if (x->switching_off)
    gi_graph_drain(x);
  if (x->enabled == enabled || (x->switching_off && x->draining))
    return;
  x->switching_off = false;
  x->enabled = enabled;
  gi_graph_compile(x->graph);
}

static bool
among(struct gi_xlator *const *set, unsigned n, const struct gi_xlator *x)
{
  for (unsigned i = 0; i < n; i++)
    if (set[i] == x)
      return true;
  return false;
}

void
gi_graph_place_fronts(struct gi_graph *g, struct gi_xlator *const *left, unsigned n)
{
  for (unsigned i = 0; i < g->count; i++)
    g->xlators[i]->front = NULL;
  for (unsigned i = 0; i < g->count; i++) {
    struct gi_xlator *x = g->xlators[i];

    if (!x->away)
      continue;
    while (!x->children[0]->away && among(left, n, x->children[0]))
      x->children[0] = x->children[0]->children[0];
    GI_ASSERT(!x->children[0]->front);
    x->children[0]->front = x;
  }
}
