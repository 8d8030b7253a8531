/* SPDX-License-Identifier: Apache-2.0
 *
 * Heals that a client starts by itself (replicate.md 4.2, 5.2, 7.1); all are off
 * by default. Objects with accused copies are healed in the background, each once
 * and a few at a time. Two heals hold up an operation: attributes that differ
 * without a counter, and a split brain that favorite-child-policy decides.
 */
#include "xlators/cluster/replicate/heal/heal.h"

struct queued_heal {
  struct gi_list link;
  struct rep *rep;
  struct gi_inode *inode; /* referenced */
};

static bool
heals_something(const struct rep *rep)
{
  const struct rep_heal_options *o = &rep_opts(rep)->heal;

  return !o->iam_self_heal_daemon && (rep_heals_data(o) || rep_heals_metadata(o) || rep_heals_entries(o));
}

/* ---- in the background ---- */

static void
free_queued(struct queued_heal *w)
{
  GI_ASSERT(rep_inode(w->rep, w->inode)->heal_queued);
  rep_inode(w->rep, w->inode)->heal_queued = false;
  gi_inode_unref(&w->inode);
  gi_free(w);
}

static void
heal_queued(struct queued_heal *w)
{
  const struct rep_heal_options *o = &rep_opts(w->rep)->heal;
  struct rep_heal h;

  rep_heal_begin(&h, w->rep, &w->inode->gfid, GI_PID_HEAL);
  h.data = rep_heals_data(o);
  h.metadata = rep_heals_metadata(o);
  h.entry = rep_heals_entries(o);
  if (heals_something(w->rep)) /* it may have been switched off since */
    rep_heal_inode(&h);
  free_queued(w);
  rep_heal_end(&h);
}

/* One after the other from the queue, as long as there are any. */
static void
background_work(void *arg)
{
  struct rep *rep = arg;

  rep->background++;
  while (!gi_list_empty(&rep->heal_queue) && !rep->draining) {
    struct queued_heal *w = gi_list_first(&rep->heal_queue, struct queued_heal, link);

    gi_list_del(&w->link);
    GI_ASSERT(rep->heal_queue_length > 0);
    rep->heal_queue_length--;
    heal_queued(w);
  }
  GI_ASSERT(rep->background > 0);
  rep->background--;
}

void
rep_background_heal(struct rep *rep, struct gi_inode *inode)
{
  const struct rep_heal_options *o = &rep_opts(rep)->heal;
  bool room = rep->background < (uint64_t)o->background_self_heal_count;
  struct queued_heal *w;

  if (!heals_something(rep) || rep->draining || rep->up != rep->all || rep_inode(rep, inode)->heal_queued)
    return;
  if (o->background_self_heal_count == 0 || (!room && rep->heal_queue_length >= (uint64_t)o->heal_wait_queue_length))
    return; /* the self-heal daemon will see to it */
  w = gi_new(struct queued_heal);
  w->rep = rep;
  w->inode = gi_inode_ref(inode);
  rep_inode(rep, inode)->heal_queued = true;
  gi_list_add_tail(&rep->heal_queue, &w->link);
  rep->heal_queue_length++;
  if (room)
    gi_task_start(rep->x->reactor, background_work, rep);
}

void
rep_background_drop(struct rep *rep)
{
  while (!gi_list_empty(&rep->heal_queue)) {
    struct queued_heal *w = gi_list_first(&rep->heal_queue, struct queued_heal, link);

    gi_list_del(&w->link);
    GI_ASSERT(rep->heal_queue_length > 0);
    rep->heal_queue_length--;
    free_queued(w);
  }
}

/* ---- an operation waits ---- */

struct waiting {
  struct rep *rep;
  struct gi_fop *fop;
  struct gi_inode *inode; /* referenced */
  void (*resume)(struct gi_fop *fop, int err);
};

static void
start_waiting(struct rep *rep, struct gi_fop *fop, struct gi_inode *inode, void (*resume)(struct gi_fop *fop, int err),
              void (*task)(void *arg))
{
  struct waiting *w = gi_new(struct waiting);

  GI_ASSERT(inode && resume && task);
  *w = (struct waiting){.rep = rep, .fop = fop, .inode = gi_inode_ref(inode), .resume = resume};
  gi_task_start(rep->x->reactor, task, w);
}

static void
end_waiting(struct waiting *w)
{
  void (*resume)(struct gi_fop * fop, int err) = w->resume;
  struct gi_fop *fop = w->fop;

  rep_inode(w->rep, w->inode)->need_refresh = true;
  gi_inode_unref(&w->inode);
  gi_free(w);
  resume(fop, 0); /* whatever came of it, the copies are looked at again */
}

static void
heal_metadata_now(void *arg)
{
  struct waiting *w = arg;
  struct rep_heal h;
  int res;

  rep_heal_begin(&h, w->rep, &w->inode->gfid, GI_PID_HEAL);
  h.metadata = true;
  res = rep_heal_metadata(&h);
  rep_heal_count(&h, res);
  w->rep->metrics.heal.metadata += res == REP_HEALED;
  rep_heal_end(&h);
  end_waiting(w);
}

/* The replies of a lookup show no mark, but other owners, modes or attributes. */
static bool
metadata_differs(const struct rep *rep, const struct gi_fan *fan, uint32_t same)
{
  int first = rep_first(same);
  struct rep_view v = {.rep = rep};

  GI_ASSERT(!(same & ~(uint32_t)fan->ok));
  if (same != rep->all)
    return false;
  rep_foreach(i, same)
  {
    if (rep_marks_accused(rep, gi_fan_reply(fan, i)->rsp.xdata, REP_META))
      return false;
    v.stat[i] = gi_fan_reply(fan, i)->rsp.stat;
    v.xdata[i] = gi_fan_reply(fan, i)->rsp.xdata;
  }
  rep_foreach(j, same) if (!rep_heal_same_metadata(&v, (unsigned)first, j)) return true;
  return false;
}

bool
rep_background_wants_xattrs(const struct rep *rep)
{
  return heals_something(rep) && rep_heals_metadata(&rep_opts(rep)->heal);
}

bool
rep_background_metadata(struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, uint32_t same,
                        void (*resume)(struct gi_fop *fop, int err))
{
  struct gi_inode *inode;

  if (!rep_background_wants_xattrs(rep) || rep->draining || !metadata_differs(rep, fan, same))
    return false;
  inode = gi_inode_get(rep->x->graph, &gi_fan_reply(fan, rep_first(same))->rsp.stat.gfid);
  start_waiting(rep, fop, inode, resume, heal_metadata_now);
  gi_inode_unref(&inode);
  return true;
}

/* Only decides, under the lock of `type`; the policy takes the losers' counters back. What is left is a copy nobody accuses. */
static void
decide_now(struct rep_heal *h, enum rep_type type)
{
  struct rep_heal_lock lock = {.inode = h->inode, .start = type == REP_META ? REP_META_START : 0};
  struct rep_direction d;
  struct rep_view v;

  if (rep_heal_lock(h, &lock, REP_LOCK_WAIT, h->rep->all) == h->rep->all) {
    rep_view_inode(h, h->rep->all, &v);
    if (rep_view_check(h, &v) == 0)
      rep_decide(h, &v, type, h->rep->all, &d);
    rep_view_clear(&v);
  }
  rep_heal_unlock(h, &lock);
}

static void
apply_policy(void *arg)
{
  struct waiting *w = arg;
  struct rep_heal h;

  rep_heal_begin(&h, w->rep, &w->inode->gfid, GI_PID_HEAL);
  if (S_ISREG(w->inode->mode))
    decide_now(&h, REP_DATA);
  decide_now(&h, REP_META);
  rep_heal_end(&h);
  end_waiting(w);
}

bool
rep_background_policy(struct rep *rep, struct gi_fop *fop, struct gi_inode *inode, void (*resume)(struct gi_fop *fop, int err))
{
  if (rep_opts(rep)->heal.favorite_child_policy == REP_POLICY_NONE || rep->up != rep->all || rep->draining)
    return false;
  start_waiting(rep, fop, inode, resume, apply_policy);
  return true;
}
