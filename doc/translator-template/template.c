/* SPDX-License-Identifier: Apache-2.0
 *
 * features/template: counts writes and their bytes, and can refuse large ones.
 *
 * A translator to begin with: copy the folder, give it a name of its own
 * (README.md), and put in what it shall do.
 */
#include "libglusterish/graph.h"

#include <errno.h>

struct tp_options {
  uint64_t largest; /* bytes; 0 = any size */
};

struct tp_metrics {
  uint64_t writes, bytes, refused;
};

/* Down: refuse, or go on and ask for the reply. */
static enum gi_verdict
tp_write(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct tp_options *o = x->options;
  struct tp_metrics *m = x->metrics;
  if (o->largest && fop->payload.len > o->largest) {
    m->refused++;
    return gi_fop_fail(fop, EFBIG);
  }
  return GI_PASS_TELL;
}

/* Up: only for what came of GI_PASS_TELL. */
static enum gi_verdict
tp_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct tp_metrics *m = x->metrics;
  m->writes++;
  m->bytes += fop->rsp.ret > 0 ? (uint64_t)fop->rsp.ret : 0;
  return GI_PASS;
}

static int
tp_init(struct gi_xlator *x, struct gi_error *err)
{
  x->metrics = gi_new(struct tp_metrics);
  return 0;
}

static void
tp_finish(struct gi_xlator *x)
{
  gi_free(x->metrics);
}

static const struct gi_option tp_table[] = {
    {.name = "largest-write",
     .key = "template.largest-write",
     .type = GI_OPT_SIZE,
     .offset = offsetof(struct tp_options, largest),
     .def = "0",
     .live = true,
     .level = 3,
     .since = "0.1",
     .text = "Refuse writes of more bytes than this; 0 lets all through."},
    GI_OPTION_END,
};

static const struct gi_metric tp_metrics_table[] = {
    GI_METRIC(struct tp_metrics, writes, "", "writes that went through"),
    GI_METRIC(struct tp_metrics, bytes, "bytes", "bytes they wrote"),
    GI_METRIC(struct tp_metrics, refused, "", "writes refused for their size"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/template",
    .version = "0.1",
    .summary = "Counts writes and refuses large ones",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime"},
               .key = "features.template",
               .def = "off",
               .since = "0.1",
               .text = "Count writes, and refuse those that are too large."}},
    .min_children = 1,
    .max_children = 1,
    .options = tp_table,
    .options_bytes = sizeof(struct tp_options),
    .metrics = tp_metrics_table,
    .on = {[GI_FOP_WRITE] = tp_write},
    .complete = tp_complete,
    .init = tp_init,
    .finish = tp_finish,
};
