/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters as text for Prometheus: OpenMetrics 1.0.0, or the older format 0.0.4
 * for who does not take that. Names follow from the tables:
 *
 *   glusterish_PREFIX_NAME[_UNIT][_total]
 *
 * where PREFIX is a layer's type with '_' or what else counts, UNIT is there
 * once, and _total marks a counter. Whatever a table counts time in becomes
 * seconds. All samples of a family stand together: whoever writes some begins
 * the family once and then gives the samples of all that have it.
 */
#ifndef GI_EXPOSITION_H
#define GI_EXPOSITION_H

#include "libglusterish/metrics.h"
#include "libglusterish/types.h"

#include <stdbool.h>
#include <stdio.h>

struct gi_budget;
struct gi_graph;
struct gi_hist;
struct gi_xlator;
struct gi_xlator_class;

struct gi_label {
  const char *name, *value; /* a NULL value: left out */
};

struct gi_exposition {
  FILE *out;
  bool open;                      /* OpenMetrics */
  char common[1024];              /* labels of every sample, as they are written */
  char sample[160];               /* name of the family's samples */
  const struct gi_metric *metric; /* of the family */
};

#define GI_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define GI_METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

void gi_exposition_begin(struct gi_exposition *e, FILE *out, bool open);
/* A label of every sample from now on. A NULL value is left out, and so is what has no more room. */
void gi_exposition_common(struct gi_exposition *e, const char *name, const char *value);
void gi_exposition_end(struct gi_exposition *e);

/* Name of the family, or of its samples, into buf; returns buf. */
const char *gi_exposition_name(char *buf, size_t size, const char *prefix, const struct gi_metric *m, bool sample);
/* The prefix of a layer's type ("protocol/client"), into buf; returns buf. */
const char *gi_exposition_prefix(char *buf, size_t size, const char *type);

void gi_exposition_family(struct gi_exposition *e, const char *prefix, const struct gi_metric *m);
void gi_exposition_sample(struct gi_exposition *e, uint64_t value, const struct gi_label *labels, unsigned n);
/* Of a family of histograms of ns: buckets by powers of two from 8 us to 17 s. */
void gi_exposition_hist(struct gi_exposition *e, const struct gi_hist *h, const struct gi_label *labels, unsigned n);
/* All families of a table with one sample each. */
void gi_exposition_table(struct gi_exposition *e, const char *prefix, const struct gi_metric *table, const void *base,
                         const struct gi_label *labels, unsigned n);

/* What the process uses (usage.h), and how much it logs. */
void gi_exposition_process(struct gi_exposition *e, struct gi_time started, uint64_t age_ns);
/* exposition-times.c */
void gi_exposition_times(struct gi_exposition *e, const struct gi_graph *g);
/* The tables of all layers; labels "layer" and, of a layer that stands for a brick, "brick". */
void gi_exposition_graph(struct gi_exposition *e, const struct gi_graph *g);
/* The budget, and that of each cache with label "cache". */
void gi_exposition_budget(struct gi_exposition *e, const struct gi_budget *b);

/* What gi_exposition_graph shows beyond the tables of the layers. */
extern const struct gi_metric gi_graph_metrics[]; /* prefix "graph" */
extern const struct gi_metric gi_layer_metrics[]; /* prefix "layer"; labels "layer", "type" */
/* Prefix "layer" too, labels "layer", "type", "kind" (of operation), of what each layer has done (times.h). The histogram is that of
 * the layers where it says most: the top, those that stand for a brick, the disk. */
extern const struct gi_metric gi_times_metrics[];

#endif
