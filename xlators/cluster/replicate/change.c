/* SPDX-License-Identifier: Apache-2.0
 *
 * Another set of children in the running graph: add-brick, remove-brick.
 *
 * Sets of children are bit masks everywhere, and removing a child in the middle
 * moves all that follow. So nothing that remembers a child may live on when the
 * sets are exchanged. New operations are held back, sessions are closed, and locks
 * that wait at a brick are taken back (and asked for again afterwards). When the last
 * operation has ended the new children are taken. What inodes and fds know is
 * translated when they are next used.
 *
 * Another client's lock can hold a transaction up for long. Then operations go on
 * after a while, and another attempt follows later. While a heal runs no operation is
 * held back at all.
 */
#include "xlators/cluster/replicate/change.h"
#include "xlators/cluster/replicate/txn/txn.h"

#define PATIENCE_S 3 /* how long new operations are held back */
#define PAUSE_S 5    /* until the next attempt */

/* ---- the exchange ---- */

static void
make_map(const struct gi_xlator *x, int8_t map[REP_MAX])
{
  memset(map, -1, REP_MAX);
  for (unsigned i = 0; i < x->nchildren; i++)
    for (unsigned k = 0; k < x->nincoming; k++)
      if (x->children[i] == x->incoming[k])
        map[i] = (int8_t)k;
}

static void
move_state(struct rep *rep, const int8_t map[REP_MAX])
{
  uint64_t latency[REP_MAX] = {0};

  for (unsigned i = 0; i < rep->n; i++)
    if (map[i] >= 0)
      latency[map[i]] = rep->latency[i];
  memcpy(rep->latency, latency, sizeof(latency));
  memset(rep->reads, 0, sizeof(rep->reads)); /* none is under way */
  rep->connected = rep_translate(rep->connected, map);
  rep->preamble = rep_translate(rep->preamble, map);
  rep->truncates = rep_translate(rep->truncates, map);
  rep->noreplace = rep_translate(rep->noreplace, map);
  rep->regions = rep_translate(rep->regions, map);
  rep->local_copy = rep_translate(rep->local_copy, map);
  rep->up = rep_translate(rep->up, map);
  rep->heard = rep_translate(rep->heard, map);
  rep->healthy = rep_translate(rep->healthy, map);
  rep->local = rep->local >= 0 ? map[rep->local] : -1;
  rep->discovered = false;
}

static void
take_children(struct rep *rep)
{
  struct gi_xlator *x = rep->x;
  int8_t map[REP_MAX];

  GI_ASSERT(!rep->busy[REP_WORK_MESSAGES] && !rep->busy[REP_WORK_TXNS] && !rep->busy[REP_WORK_HEALS]);
  GI_ASSERT(gi_list_empty(&rep->locks) && gi_list_empty(&rep->txns));
  make_map(x, map);
  move_state(rep, map);
  rep->n = x->nincoming;
  rep_marks_finish(rep);
  rep_keys_finish(rep);
  GI_ASSERT(rep_keys_init(rep, x->options, x->incoming, x->nincoming, NULL) == 0); /* was tried before it was accepted */
  rep_marks_init(rep);
  rep->maps = gi_realloc(rep->maps, (rep->epoch + 1) * sizeof(*rep->maps));
  memcpy(rep->maps[rep->epoch++], map, sizeof(map));
  if (++rep->generation == 0)
    rep->generation = 1;
  gi_log(GI_LOG_INFO, x->name, GI_MSG_REPLICATE + 5, "the replica set has %u children now", rep->n);
  gi_xlator_take_children(x);
  rep_children_changed(rep);
}

/* ---- one attempt ---- */

static bool
idle(const struct rep *rep)
{
  return !rep->busy[REP_WORK_MESSAGES] && !rep->busy[REP_WORK_TXNS] && !rep->busy[REP_WORK_HEALS];
}

static void attempt(struct rep *rep);

/* Deferred: no handler of ours is half-way through. */
static void
change_when_idle(void *arg)
{
  struct rep *rep = arg;

  if (!rep->quiescing) {
    if (rep->x->incoming && rep->healing && !rep->busy[REP_WORK_HEALS] && !rep->draining)
      attempt(rep);
    return;
  }
  if (!idle(rep))
    return;
  gi_timer_cancel(&rep->change);
  take_children(rep);
  rep_quiesce_end(rep);
}

void
rep_children_settle(struct rep *rep)
{
  if (__builtin_expect(rep->x->incoming != NULL, 0))
    gi_defer_add(rep->x->reactor, &rep->settle);
}

/* Locks that wait for their holder, who may be held back. */
static void
take_back_locks(struct rep *rep)
{
  bool again = true;

  while (again) { /* cancelling may answer at once and change the list */
    again = false;
    gi_list_foreach(fop, &rep->locks, struct gi_fop, link) {
      struct rep_fop *rf = rep_fop(rep, fop);

      if (rf->taken_back)
        continue;
      rf->taken_back = again = true;
      gi_fop_cancel(rf->current);
      break;
    }
  }
}

/* A heal may take hours: nobody is held up for that. */
static void
attempt(struct rep *rep)
{
  rep->healing = rep->busy[REP_WORK_HEALS] > 0;
  if (rep->healing)
    return; /* its end comes to `settle` */
  rep->quiescing = true;
  gi_timer_set(&rep->change, PATIENCE_S * GI_NSEC_PER_SEC);
  rep_sessions_flush(rep);
  take_back_locks(rep);
  rep_children_settle(rep);
}

static void
change_expired(void *arg)
{
  struct rep *rep = arg;

  if (!rep->quiescing) {
    attempt(rep);
    return;
  }
  gi_log(GI_LOG_WARNING, rep->x->name, GI_MSG_REPLICATE + 6,
         "operations do not end, so the old children are kept for now; another attempt follows in %d seconds", PAUSE_S);
  gi_timer_set(&rep->change, PAUSE_S * GI_NSEC_PER_SEC);
  rep_quiesce_end(rep);
}

void
rep_children_called_off(struct rep *rep)
{
  gi_timer_cancel(&rep->change);
  if (rep->quiescing)
    rep_quiesce_end(rep);
}

void
rep_on_children(struct gi_xlator *x)
{
  struct rep *rep = rep_of(x);

  if (!x->incoming || rep->draining)
    rep_children_called_off(rep);
  else if (!rep->quiescing)
    attempt(rep); /* perhaps another set than in the last one */
}

void
rep_children_init(struct rep *rep)
{
  gi_list_init(&rep->held_back);
  gi_list_init(&rep->locks);
  gi_defer_init(&rep->settle, change_when_idle, rep);
  gi_timer_init(&rep->change, rep->x->reactor, change_expired, rep);
}

void
rep_children_finish(struct rep *rep)
{
  GI_ASSERT(gi_list_empty(&rep->held_back) && gi_list_empty(&rep->locks));
  gi_defer_cancel(&rep->settle);
  gi_timer_finish(&rep->change);
  gi_free(rep->maps);
}
