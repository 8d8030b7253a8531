/* SPDX-License-Identifier: Apache-2.0
 *
 * How long operations stay in each layer (times.h), for exposition.
 */
#include "libglusterish/exposition.h"
#include "libglusterish/graph.h"
#include "libglusterish/times.h"

#include <string.h>

enum { TIMES_OPERATIONS, TIMES_ERRORS, TIMES_OWN, TIMES_ALL };

const struct gi_metric gi_times_metrics[] = {
    [TIMES_OPERATIONS] = {"operations", "", "operations that passed the layer", 0, GI_METRIC_COUNTER},
    [TIMES_ERRORS] = {"errors", "", "of them failed", 0, GI_METRIC_COUNTER},
    [TIMES_OWN] = {"own", "ns", "time that they stayed in the layer itself", 0, GI_METRIC_COUNTER},
    [TIMES_ALL] = {"time", "ns", "time in the layer and below it", 0, GI_METRIC_HISTOGRAM},
    GI_METRIC_END,
};

/* A histogram is many lines: where what an application, a brick or a disk takes can be seen. */
static bool
has_histogram(const struct gi_xlator *x)
{
  return x == x->graph->top || strcmp(x->cls->type, "protocol/client") == 0 || strcmp(x->cls->type, "storage/posix") == 0;
}

static void
put(struct gi_exposition *e, unsigned which, const struct gi_xlator *x, const struct gi_layer_kind *lk, const char *kind)
{
  const struct gi_label labels[] = {{"layer", x->name}, {"type", x->cls->type}, {"kind", kind}};
  unsigned n = GI_ARRAY_LEN(labels);
  GI_ASSERT(lk && kind);
  if (which == TIMES_ALL && has_histogram(x) && lk->all.count)
    gi_exposition_hist(e, &lk->all, labels, n);
  else if (which != TIMES_ALL)
    gi_exposition_sample(e,
                         which == TIMES_OPERATIONS ? lk->own.count
                         : which == TIMES_ERRORS   ? lk->errors
                                                   : lk->own.sum,
                         labels, n);
}

void
gi_exposition_times(struct gi_exposition *e, const struct gi_graph *g)
{
  for (unsigned which = 0; gi_times_metrics[which].name; which++) {
    gi_exposition_family(e, "layer", &gi_times_metrics[which]);
    for (unsigned i = g->count; i-- > 0;)
      for (unsigned k = 0; g->xlators[i]->times && k < GI_FOP_MAX; k++)
        if (g->xlators[i]->times->kind[k])
          put(e, which, g->xlators[i], g->xlators[i]->times->kind[k], gi_fop_name(k));
  }
}
