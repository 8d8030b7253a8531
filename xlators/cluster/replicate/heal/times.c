/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose times a heal of data or metadata gives to the sinks. Both kinds of
 * change move them, a write and who sets them, so the copy that a heal of one
 * kind comes from may have missed a change of the other kind.
 */
#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/probe.h"

#include <errno.h>

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

/* Who did not reach the source has changed the others: the times of the source are not those of that change. */
static bool
missed_a_change(const struct rep_view *was, const struct rep_view *now, unsigned source)
{
  static const enum rep_type types[] = {REP_DATA, REP_META};

  rep_foreach(i, now->ok) for (size_t k = 0; k < GI_ARRAY_LEN(types);
                               k++) if (now->pending[types[k]][i][source] > was->pending[types[k]][i][source]) return true;
  return false;
}

int
rep_heal_late_times(struct rep_heal *h, const struct rep_view *was, const struct rep_direction *d, struct gi_iatt *due)
{
  unsigned source = (unsigned)d->source;
  struct rep_view now;
  int err = 0;

  GI_ASSERT(d->source >= 0);
  rep_view_ask(h, rep_heal_inode_fop(h, GI_FOP_STAT, h->inode), d->locked, &now);
  if (!((now.ok >> source) & 1)) {
    err = now.err[source] ? now.err[source] : ENOTCONN;
  } else if (missed_a_change(was, &now, source)) {
    GI_PROBE("heal: the source missed something before the times were given");
    err = EAGAIN;
  } else {
    *due = *rep_heal_due_times(was, source, &now.stat[source]);
  }
  rep_view_clear(&now);
  return err;
}
