/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of a transaction: which may follow which, and what holds in each.
 * The members of struct rep_txn that say what has happened belong to a type and
 * to a part of its life; a combination that is not listed here is a bug of ours.
 */
#include "xlators/cluster/replicate/txn/txn.h"

#define IN(state) (1u << (state))
#define LOCKING (IN(REP_BEGUN) | IN(REP_LOCK) | IN(REP_LOCK_UNDO) | IN(REP_LOCK_SERIAL))
#define ENDING (IN(REP_DURABLE) | IN(REP_POST_OP) | IN(REP_UNLOCK))
#define MARKED (IN(REP_PRE_OP) | IN(REP_OPEN) | ENDING) /* dirty may be raised */

static const uint16_t may_follow[] = {
    [REP_BEGUN] = IN(REP_FASTPATH) | IN(REP_LOCK),
    [REP_FASTPATH] = IN(REP_OPEN) | IN(REP_LOCK_UNDO),
    [REP_LOCK] = IN(REP_PRE_OP) | IN(REP_LOCK_UNDO) | IN(REP_UNLOCK),
    [REP_LOCK_UNDO] = IN(REP_LOCK_SERIAL),
    [REP_LOCK_SERIAL] = IN(REP_PRE_OP) | IN(REP_UNLOCK),
    [REP_PRE_OP] = IN(REP_OPEN) | IN(REP_POST_OP),
    [REP_OPEN] = IN(REP_DURABLE) | IN(REP_POST_OP),
    [REP_DURABLE] = IN(REP_POST_OP),
    [REP_POST_OP] = IN(REP_UNLOCK),
};

/* What only one type of transaction knows. */
static void
check_type(const struct rep_txn *t)
{
  bool names = t->type == REP_ENTRY, data = t->type == REP_DATA;

  GI_ASSERT(t->type < REP_TYPES && t->ops);
  GI_ASSERT(names ? t->fop && !t->inode : t->inode && !t->fop);
  GI_ASSERT(t->ntargets >= 1 && t->ntargets <= REP_TARGETS);
  GI_ASSERT(t->nlogs >= 1 && t->nlogs <= REP_LOGS);
  GI_ASSERT(names || t->nlogs == 1);
  GI_ASSERT(names || !(t->retried || t->counters_known));
  GI_ASSERT(!data || !t->mark_dirty);
  GI_ASSERT(data || !(t->alone || t->gone || t->cut_off || t->cut_by_name));
  GI_ASSERT(data || gi_list_empty(&t->syncing));
  GI_ASSERT(t->stable <= t->unstable);
}

/* The sets of children, each within another. */
static void
check_sets(const struct rep_txn *t, unsigned in)
{
  uint32_t all = t->rep->all, blaming = 0;

  GI_ASSERT(!((t->up | t->locked | t->active | t->gone | t->marking | t->dirtied) & ~all));
  GI_ASSERT(!(t->good & ~t->active));
  GI_ASSERT(!(t->failed & ~t->up)); /* whoever did not answer the fast path failed as well */
  GI_ASSERT(!(t->blaming & ~t->blamed_in_preop));
  GI_ASSERT(!(t->post_ok & ~t->active));
  GI_ASSERT(!(t->mark_dirty & ~t->active));
  rep_foreach(i, all)
  {
    GI_ASSERT(!(t->blame[i] & ~all));
    blaming |= t->blame[i] ? 1u << i : 0;
  }
  GI_ASSERT(!(blaming & ~t->active));
  if (in & (IN(REP_OPEN) | ENDING))
    GI_ASSERT(!(t->active & ~t->locked));
  if (in & LOCKING)
    GI_ASSERT(!t->active && !t->failed);
}

/* What has happened, and what not yet. */
static void
check_progress(const struct rep_txn *t, unsigned in)
{
  GI_ASSERT(!t->dirty_owed || (in & MARKED));
  GI_ASSERT(!t->mark_dirty || !t->dirty_owed);
  GI_ASSERT(!(in & ENDING) || t->closing);
  GI_ASSERT(!(in & ENDING) || (gi_list_empty(&t->queue) && gi_list_empty(&t->running)));
  GI_ASSERT(!(in & (LOCKING | IN(REP_PRE_OP))) || (gi_list_empty(&t->running) && gi_list_empty(&t->held)));
  GI_ASSERT(!(in & ~IN(REP_DURABLE) & ENDING) || gi_list_empty(&t->syncing));
  if (in & IN(REP_DURABLE))
    GI_ASSERT(t->type == REP_DATA && t->dirty_owed && !t->keep_dirty && t->fd);
  if (in & IN(REP_UNLOCK))
    GI_ASSERT(gi_list_empty(&t->held));
}

void
rep_txn_check(const struct rep_txn *t)
{
  GI_CHECK(t, REP_TXN_MAGIC);
  GI_ASSERT(t->state <= REP_BEGUN);
  check_type(t);
  check_sets(t, IN(t->state));
  check_progress(t, IN(t->state));
}

void
rep_txn_enter(struct rep_txn *t, enum rep_state state)
{
  GI_CHECK(t, REP_TXN_MAGIC);
  GI_ASSERT(may_follow[t->state] & IN(state));
  t->state = state;
  rep_txn_check(t);
}
