/* SPDX-License-Identifier: Apache-2.0
 *
 * A question goes from the top of the graph to the bottom.
 */
#include "libglusterish/ask.h"
#include "libglusterish/graph.h"

void
gi_graph_ask(const struct gi_graph *g, struct gi_question *q)
{
  GI_CHECK(g, GI_GRAPH_MAGIC);
  GI_ASSERT(q->client); /* the members of the union are functions all */
  GI_ASSERT(q->gfid || q->what == GI_ASK_CLIENTS || q->what == GI_ASK_LOCKS);
  for (unsigned i = g->count; i-- > 0;)
    if (g->xlators[i]->cls->ask)
      g->xlators[i]->cls->ask(g->xlators[i], q);
}
