/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a replica set: which children are up, whether they are a
 * quorum, and what the layers above are told of that.
 */
#include "xlators/cluster/replicate/set/set.h"

#include "libglusterish/probe.h"

/* ---- quorum ---- */

static enum rep_quorum_type
quorum_type(const struct rep *rep)
{
  int type = rep_opts(rep)->quorum_type;

  if (type == REP_UNSET)
    return rep->n > 2 ? REP_QUORUM_AUTO : REP_QUORUM_NONE;
  return (enum rep_quorum_type)type;
}

bool
rep_majority(const struct rep *rep, uint32_t mask)
{
  GI_ASSERT(!(mask & ~rep->all));
  return 2 * (unsigned)__builtin_popcount(mask) > rep->n;
}

bool
rep_quorum(const struct rep *rep, uint32_t mask)
{
  unsigned have = (unsigned)__builtin_popcount(mask);
  GI_ASSERT(!(mask & ~rep->all));

  if (GI_BROKEN("ignore quorum"))
    return have >= 1;
  switch (quorum_type(rep)) {
  case REP_QUORUM_AUTO:
    return rep_majority(rep, mask) || (2 * have == rep->n && (mask & 1));
  case REP_QUORUM_FIXED:
    return have >= (unsigned)rep_opts(rep)->quorum_count && have >= 1;
  default:
    return have >= 1;
  }
}

bool
rep_no_quorum_configured(const struct rep *rep)
{
  return quorum_type(rep) == REP_QUORUM_NONE;
}

bool
rep_quorums_meet(const struct rep *rep)
{
  switch (quorum_type(rep)) {
  case REP_QUORUM_AUTO:
    return true;
  case REP_QUORUM_FIXED:
    return 2 * (unsigned)rep_opts(rep)->quorum_count > rep->n;
  default:
    return false;
  }
}

bool
rep_ready(const struct rep *rep)
{
  return rep_quorum(rep, rep->up) && (!rep_opts(rep)->consistent_io || rep->up == rep->all);
}

bool
rep_undisturbed(const struct rep *rep, uint32_t generation)
{
  return !rep_opts(rep)->consistent_io || generation == rep->generation;
}

/* Split-brain of names: healing is a merge, so any view is as good, but of those that a quorum accuses. But while a child is away it may
 * be the one that is good, and what the others show then is what they have missed. So it is where only the arbiter is not accused by a
 * quorum: what it knows is what they are healed from, but it is never read. */
uint32_t
rep_accused_views(const struct rep *rep, struct gi_inode *dir)
{
  bool any = rep->up == rep->all || rep_no_quorum_configured(rep) || GI_BROKEN("list what outdated copies show");

  return any ? rep->up & ~rep->arbiter & ~rep_inode(rep, dir)->outdated : 0;
}

int
rep_unreadable(const struct rep *rep)
{
  return rep->arbiter && rep->up != rep->all ? ENOTCONN : EIO;
}

int
rep_first_data(const struct rep *rep, uint32_t mask)
{
  GI_ASSERT(mask);
  return rep_first(mask & ~rep->arbiter ? mask & ~rep->arbiter : mask);
}

/* ---- children come and go ---- */

int
rep_child_named(const struct rep *rep, const char *name)
{
  for (unsigned i = 0; i < rep->n; i++)
    if (strcmp(rep->x->children[i]->name, name) == 0)
      return (int)i;
  return -1;
}

void
rep_announce(struct rep *rep)
{
  enum gi_event ev = rep->up ? GI_EVENT_CHILD_UP : GI_EVENT_CHILD_DOWN;
  GI_ASSERT(rep->announced || rep->heard);

  gi_timer_cancel(&rep->first_up);
  rep->announced = true;
  gi_notify_up(rep->x, ev, NULL);
}

static void
log_quorum(const struct rep *rep, bool before)
{
  bool now = rep_quorum(rep, rep->up);

  if (before && !now)
    gi_log(GI_LOG_WARNING, rep->x->name, GI_MSG_REPLICATE + 1, "client quorum is lost: %d of %u children are up",
           __builtin_popcount(rep->up), rep->n);
  else if (!before && now)
    gi_log(GI_LOG_INFO, rep->x->name, GI_MSG_REPLICATE + 3, "client quorum is met: %d of %u children are up",
           __builtin_popcount(rep->up), rep->n);
}

void
rep_children_changed(struct rep *rep)
{
  uint32_t before = rep->up;
  bool ready = rep_quorum(rep, rep->up);

  rep->up = rep_halo(rep);
  GI_ASSERT(!(rep->up & ~rep->all));
  rep->healthy &= rep->up;
  if (rep->up != before && ++rep->generation == 0)
    rep->generation = 1;
  log_quorum(rep, ready);
  rep_check(rep);
  if (!rep->announced) {
    if (rep->heard == rep->all)
      rep_announce(rep);
  } else if (!before != !rep->up) {
    rep_announce(rep);
  } else if (rep->up != before) {
    gi_notify_up(rep->x, GI_EVENT_CHILD_CHANGED, NULL);
  }
  if (rep->on_members)
    rep->on_members(rep, before);
}
