/* SPDX-License-Identifier: Apache-2.0
 *
 * Halo: children with a long round trip count as down (replicate.md 3.1, 10).
 * Writes wait for near children only, and the self-heal catches up with the
 * others. Connections measure the round trip (GI_EVENT_LATENCY). A child that is
 * out makes no calls that could be measured, so halo asks for a measurement every
 * few seconds.
 */
#include "xlators/cluster/replicate/set/set.h"

#define MEASURE_S 5
#define NSEC_PER_MSEC 1000000ull

static uint64_t
limit_ns(const struct rep *rep)
{
  const struct rep_options *o = rep_opts(rep);
  int64_t ms = o->heal.iam_self_heal_daemon ? o->halo.shd_max_latency
               : o->iam_nfs_daemon          ? o->halo.nfsd_max_latency
                                            : o->halo.max_latency;

  return (uint64_t)ms * NSEC_PER_MSEC;
}

/* The nearest of `mask`; among equals the first. */
static unsigned
nearest(const struct rep *rep, uint32_t mask)
{
  unsigned best = (unsigned)rep_first(mask);

  rep_foreach(i, mask) if (rep->latency[i] < rep->latency[best]) best = i;
  return best;
}

uint32_t
rep_halo(const struct rep *rep)
{
  const struct rep_halo_options *o = &rep_opts(rep)->halo;
  uint32_t rest = rep->connected, use = 0;
  int64_t count = 0;

  if (!o->enabled)
    return rep->connected;
  while (rest) {
    unsigned child = nearest(rep, rest);

    if (count >= o->min_replicas && (count >= o->max_replicas || rep->latency[child] > limit_ns(rep)))
      break;
    rest &= ~(1u << child);
    use |= 1u << child;
    count++;
  }
  GI_ASSERT(!(use & ~rep->connected));
  return use;
}

/* Smoothed, so that one late answer does not move a child out and in again. */
void
rep_halo_measured(struct rep *rep, unsigned child, uint64_t ns)
{
  uint64_t have = rep->latency[child];

  GI_ASSERT(child < rep->n);
  ns = ns ? ns : 1;
  rep->latency[child] = have ? have - have / 4 + ns / 4 : ns;
  if (rep_opts(rep)->halo.enabled && ((rep->connected >> child) & 1))
    rep_children_changed(rep);
}

static void
measure(void *arg)
{
  struct rep *rep = arg;

  if (!rep_opts(rep)->halo.enabled || rep->draining)
    return;
  gi_timer_set(&rep->measure, MEASURE_S * GI_NSEC_PER_SEC);
  gi_notify_down(rep->x, GI_EVENT_MEASURE, NULL);
}

void
rep_halo_watch(struct rep *rep)
{
  if (!rep_opts(rep)->halo.enabled)
    gi_timer_cancel(&rep->measure);
  else if (!rep->measure.armed)
    gi_timer_set(&rep->measure, MEASURE_S * GI_NSEC_PER_SEC);
}

void
rep_halo_init(struct rep *rep)
{
  gi_timer_init(&rep->measure, rep->x->reactor, measure, rep);
}

void
rep_halo_finish(struct rep *rep)
{
  gi_timer_finish(&rep->measure);
}
