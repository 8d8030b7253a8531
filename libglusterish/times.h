/* SPDX-License-Identifier: Apache-2.0
 *
 * How long operations stay in each translator, per kind, always. "Own" is the
 * time in the translator itself, "all" that with what is below it, of those
 * that answer, or see the reply.
 *
 * Not every operation is taken apart where there are many: the first ones of a
 * kind are, those that took long, and of the others about one in
 * GI_TIMES_EVERY_NS, in GI_TIMES_SHARE at most, by turns that nothing repeats in
 * step with; it counts for those that are left out. So counts are right to
 * within twice as many per kind, and quantiles are right.
 */
#ifndef GI_TIMES_H
#define GI_TIMES_H

#include "libglusterish/steps.h"

#define GI_TIMES_SHARE 256u
#define GI_TIMES_EVERY_NS (4 * GI_NSEC_PER_MSEC)
#define GI_TIMES_FIRST 64u /* operations of a kind that are all taken apart */

struct gi_layer_kind {
  uint64_t errors;
  struct gi_hist own, all; /* ns; own.count: operations */
};

/* gi_xlator.times; kind[k] is NULL before the first operation of that kind. */
struct gi_layer_times {
  struct gi_layer_kind *kind[GI_FOP_MAX];
};

/* Adds an operation that is over, `times` times. */
void gi_times_add(const struct gi_graph *g, const struct gi_walk *w, enum gi_fop_kind kind, bool failed, uint32_t times);
void gi_times_free(struct gi_layer_times **times); /* NULL is fine */
void gi_times_reset(struct gi_graph *g);
void gi_times_dump(const struct gi_xlator *x, struct gi_dump *d);

#endif
