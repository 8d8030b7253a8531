/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose times a heal of data or metadata gives to the sinks. Both kinds of
 * change move them, a write and who sets them, so the copy that a heal of one
 * kind comes from may have missed a change of the other kind.
 */
#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/probe.h"

static uint32_t
accused_at_all(const struct rep_view *v)
{
  uint32_t set = 0;

  for (enum rep_type type = 0; type < REP_TYPES; type++)
    set |= rep_direction_accused(v, v->ok, type);
  return set;
}

static bool
same_times(const struct gi_iatt *a, const struct gi_iatt *b)
{
  return gi_time_equal(&a->atime, &b->atime) && gi_time_equal(&a->mtime, &b->mtime) && gi_time_equal(&a->ctime, &b->ctime);
}

const struct gi_iatt *
rep_heal_due_times(const struct rep_view *v, unsigned source, const struct gi_iatt *now)
{
  uint32_t accused = accused_at_all(v);

  GI_ASSERT((v->ok >> source) & 1);
  if (!((accused >> source) & 1) || accused == v->ok || !same_times(now, &v->stat[source]))
    return now;
  GI_PROBE("replicate: times of another copy than the source of the heal");
  return &v->stat[rep_first(v->ok & ~accused)];
}
