/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/example: counts writes and their bytes, and can refuse large ones.
 *
 * The worked example of doc/writing-a-translator.md, compiled and tested with
 * everything else so that it stays true.
 */
#include "libglusterish/graph.h"

#include <errno.h>

struct ex_options {
  uint64_t largest; /* bytes; 0 = any size */
};

struct ex_metrics {
  uint64_t writes, bytes, refused;
};

/* Down: refuse, or go on and ask for the reply. */
static enum gi_verdict
ex_write(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ex_options *o = x->options;
  struct ex_metrics *m = x->metrics;
  if (o->largest && fop->payload.len > o->largest) {
    m->refused++;
    return gi_fop_fail(fop, EFBIG);
  }
  return GI_PASS_TELL;
}

/* Up: only for what came of GI_PASS_TELL. */
static enum gi_verdict
ex_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ex_metrics *m = x->metrics;
  m->writes++;
  m->bytes += fop->rsp.ret > 0 ? (uint64_t)fop->rsp.ret : 0;
  return GI_PASS;
}

static int
ex_init(struct gi_xlator *x, struct gi_error *err)
{
  x->metrics = gi_new(struct ex_metrics);
  return 0;
}

static void
ex_finish(struct gi_xlator *x)
{
  gi_free(x->metrics);
}

static const struct gi_option ex_table[] = {
    {.name = "largest-write",
     .type = GI_OPT_SIZE,
     .offset = offsetof(struct ex_options, largest),
     .def = "0",
     .live = true,
     .level = 3,
     .since = "0.1",
     .text = "Refuse writes of more bytes than this; 0 lets all through."},
    GI_OPTION_END,
};

static const struct gi_metric ex_metrics_table[] = {
    GI_METRIC(struct ex_metrics, writes, "", "writes that went through"),
    GI_METRIC(struct ex_metrics, bytes, "bytes", "bytes they wrote"),
    GI_METRIC(struct ex_metrics, refused, "", "writes refused for their size"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "debug/example",
    .version = GI_VERSION,
    .summary = "Counts writes",
    .min_children = 1,
    .max_children = 1,
    .options = ex_table,
    .options_bytes = sizeof(struct ex_options),
    .metrics = ex_metrics_table,
    .on = {[GI_FOP_WRITE] = ex_write},
    .complete = ex_complete,
    .init = ex_init,
    .finish = ex_finish,
};
