/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a file that a data heal has to look at, as the source remembers
 * them (txn/written-regions.c, features/index). The healer asks for them, and
 * believes them, only if the counters prove that nothing else can differ: the
 * source blames every sink and the other good copies do as much, no other copy is
 * accused or dirty, and every session is accounted for except those that went on
 * without the sinks.
 */
#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/probe.h"

/* A copy that is no sink: it must not be dirty, and nobody may hold anything against it. */
static bool
beyond_doubt(const struct rep_view *v, uint32_t locked, unsigned i)
{
  if (v->dirty[REP_DATA][i])
    return false;
  rep_foreach(k, locked) if (v->pending[REP_DATA][k][i]) return false;
  return true;
}

/* As much as the source holds against the sink; more is what the source has lost with its power. */
static bool
all_blame(const struct rep_view *v, const struct rep_direction *d, unsigned sink)
{
  int32_t count = v->pending[REP_DATA][d->source][sink];

  rep_foreach(i, d->locked & ~d->sinks) if (v->pending[REP_DATA][i][sink] != count) return false;
  return count > 0;
}

static bool
simple(const struct rep_heal *h, const struct rep_view *v, const struct rep_direction *d)
{
  if (h->op != GI_HEAL_NONE || d->contested || d->reset || d->locked != h->rep->all || (v->corrupt & d->locked))
    return false;
  rep_foreach(i, d->locked & ~d->sinks) if (!beyond_doubt(v, d->locked, i)) return false;
  rep_foreach(j, d->sinks) if (!all_blame(v, d, j) || v->pending[REP_DATA][j][j]) return false;
  return true;
}

/* The sizes differ only in a way that the ranges explain; what the sink has not got at all is added. */
static bool
add_end(struct gi_regions *set, uint64_t have, uint64_t want)
{
  const struct gi_region *last = set->n ? &set->range[set->n - 1] : NULL;

  if (have > want)
    return last && last->end == GI_REGION_END && last->start * GI_REGION_BLOCK <= want;
  gi_regions_add(set, have, want, GI_REGIONS_LOG);
  return true;
}

static bool
collect(const struct rep_heal *h, const struct rep_view *v, const struct rep_direction *d, const struct gi_region_log *log,
        struct gi_regions *set)
{
  unsigned source = (unsigned)d->source;

  rep_foreach(j, d->sinks & ~h->rep->arbiter)
  {
    const struct gi_region_note *note = gi_region_log_find(log, h->rep->pending_key[j]);
    int32_t dirty = v->dirty[REP_DATA][j];

    if (!note || note->count != v->pending[REP_DATA][source][j] || dirty < 0 || dirty > note->dirty)
      return false;
    gi_regions_merge(set, &note->set, GI_REGIONS_LOG);
  }
  rep_foreach(i, d->sinks & ~h->rep->arbiter) if (!add_end(set, v->stat[i].size, v->stat[source].size)) return false;
  return true;
}

bool
rep_heal_regions(struct rep_heal *h, const struct rep_view *v, const struct rep_direction *d, struct gi_regions *set)
{
  uint64_t size = v->stat[d->source].size;
  struct gi_region_log log;
  struct gi_fop *fop;
  const void *data;
  bool usable = false;
  uint32_t len;

  memset(set, 0, sizeof(*set));
  if (!((h->rep->regions >> d->source) & 1) || !(d->sinks & ~h->rep->arbiter) || !simple(h, v, d))
    return false;
  fop = rep_heal_getxattr(h, (unsigned)d->source, h->inode, GI_REGIONS_KEY);
  if (fop->rsp.ret >= 0 && gi_dict_get_bin(fop->rsp.dict, GI_REGIONS_KEY, &data, &len) &&
      gi_region_log_decode(&log, data, len)) {
    /* Where much was written, asking for checksums sends less. */
    usable = collect(h, v, d, &log, set) && gi_regions_bytes(set, size) < size / 2;
    gi_region_log_clear(&log);
  }
  gi_fop_unref(fop);
  if (usable)
    GI_PROBE("replicate: a heal of regions only");
  else
    gi_regions_clear(set);
  return usable;
}
