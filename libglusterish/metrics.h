/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters and histograms as tables: name, unit, help. A module declares a
 * struct of uint64_t members and a table that names them; whoever exports
 * (statedump, Prometheus, CLI) walks the table.
 */
#ifndef GI_METRICS_H
#define GI_METRICS_H

#include <stddef.h>
#include <stdint.h>

enum gi_metric_kind {
  GI_METRIC_COUNTER,   /* only grows, from 0 at the start of whoever counts */
  GI_METRIC_GAUGE,     /* what is now, or the most that was */
  GI_METRIC_HISTOGRAM, /* a struct gi_hist, which the offset does not tell of */
};

struct gi_metric {
  const char *name; /* NULL ends a table */
  const char *unit; /* "", "bytes", "ns" … */
  const char *help;
  size_t offset; /* of the uint64_t in the module's struct */
  enum gi_metric_kind kind;
};

#define GI_METRIC(type, member, unit, help) \
  { \
#member, unit, help, offsetof(type, member), GI_METRIC_COUNTER \
  }
#define GI_GAUGE(type, member, unit, help) \
  { \
#member, unit, help, offsetof(type, member), GI_METRIC_GAUGE \
  }
#define GI_METRIC_END \
  { \
    NULL, NULL, NULL, 0, GI_METRIC_COUNTER \
  }

static inline uint64_t
gi_metric_value(const struct gi_metric *m, const void *base)
{
  return *(const uint64_t *)((const char *)base + m->offset);
}

/* Log-linear histogram: every power of two is cut into 8, and a quantile is told as the middle of its bucket, so it is wrong by a
 * sixteenth at most. What is beyond the last bucket (three days in ns) counts in it. All zero is an empty one. */
#define GI_HIST_CUT 8u
#define GI_HIST_BUCKETS (46u * GI_HIST_CUT)
struct gi_hist {
  uint64_t count, sum, min, max;
  uint32_t bucket[GI_HIST_BUCKETS]; /* all are halved before one overflows: shares stay */
};

void gi_hist_add(struct gi_hist *h, uint64_t value);
/* The same value `times` times; at least once. */
void gi_hist_add_times(struct gi_hist *h, uint64_t value, uint32_t times);
void gi_hist_merge(struct gi_hist *into, const struct gi_hist *from);
/* The value below which `q` (0..1) of the samples lie; 0 if empty. */
uint64_t gi_hist_quantile(const struct gi_hist *h, double q);
/* Of the samples, how many are below 2^first, 2^(first + 1) … : into out[n]. */
void gi_hist_below(const struct gi_hist *h, unsigned first, uint64_t *out, unsigned n);
uint64_t gi_hist_bucket_value(unsigned bucket); /* what stands for the values in it: the middle */
void gi_hist_reset(struct gi_hist *h);

#endif
