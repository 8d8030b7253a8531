/* SPDX-License-Identifier: Apache-2.0
 *
 * See times.h.
 */
#include "libglusterish/times.h"

#include <inttypes.h>

static struct gi_layer_kind *
kind_of(struct gi_xlator *x, enum gi_fop_kind kind)
{
  if (!x->times)
    x->times = gi_new(struct gi_layer_times);
  if (!x->times->kind[kind])
    x->times->kind[kind] = gi_new(struct gi_layer_kind);
  return x->times->kind[kind];
}

void
gi_times_add(const struct gi_graph *g, const struct gi_walk *w, enum gi_fop_kind kind, bool failed, uint32_t times)
{
  struct gi_reactor *r = g->ctx->reactor;

  GI_ASSERT((unsigned)kind < GI_FOP_MAX && w->n <= GI_MARKS);
  for (unsigned i = 0; i < w->n; i++) {
    const struct gi_stay *s = &w->stay[i];

    GI_ASSERT(s->layer < g->nlayers && g->layers[s->layer]);
    struct gi_layer_kind *k = kind_of(g->layers[s->layer], kind);

    gi_hist_add_times(&k->own, gi_ticks_ns(r, s->own), times);
    if (s->left)
      gi_hist_add_times(&k->all, gi_ticks_ns(r, s->leave - s->enter), times);
    if (failed)
      k->errors += times;
  }
}

void
gi_times_free(struct gi_layer_times **times)
{
  for (unsigned k = 0; *times && k < GI_FOP_MAX; k++)
    gi_free((*times)->kind[k]);
  gi_free(*times);
  *times = NULL;
}

void
gi_times_reset(struct gi_graph *g)
{
  for (unsigned i = 0; i < g->count; i++)
    gi_times_free(&g->xlators[i]->times);
}

void
gi_times_dump(const struct gi_xlator *x, struct gi_dump *d)
{
  for (unsigned k = 0; x->times && k < GI_FOP_MAX; k++) {
    const struct gi_layer_kind *lk = x->times->kind[k];
    char key[64];

    if (!lk)
      continue;
    GI_ASSERT(gi_fop_table[k].name && lk->own.count > 0);
    snprintf(key, sizeof(key), "time.%s", gi_fop_name(k));
    gi_dump_kv(d, key,
               "%" PRIu64 " operations, %" PRIu64 " errors, own ns p50 %" PRIu64 " p99 %" PRIu64 " max %" PRIu64
               ", with what is below p50 %" PRIu64 " p99 %" PRIu64 " max %" PRIu64,
               lk->own.count, lk->errors, gi_hist_quantile(&lk->own, 0.5), gi_hist_quantile(&lk->own, 0.99), lk->own.max,
               gi_hist_quantile(&lk->all, 0.5), gi_hist_quantile(&lk->all, 0.99), lk->all.max);
  }
}
