/* SPDX-License-Identifier: Apache-2.0
 *
 * The transaction engine: the order of states, for every type.
 *
 *   start -> FASTPATH -> OPEN, or
 *   start -> LOCK [-> LOCK_UNDO -> LOCK_SERIAL] -> PRE_OP -> OPEN -> [DURABLE] -> [POST_OP] -> UNLOCK -> end
 *
 * An operation is sent only while its locks are held and its dirty counter is on
 * the bricks that get it, or while all bricks are locked and the optimistic
 * changelog does without. If some children fail, the others blame them before the
 * application hears of the success.
 */
#include "xlators/cluster/replicate/txn/txn.h"

#include "libglusterish/probe.h"

static void
set_owner(struct gi_owner *owner, uint64_t value)
{
  owner->len = sizeof(value);
  for (unsigned i = 0; i < sizeof(value); i++)
    owner->data[i] = (uint8_t)(value >> (8 * i));
}

struct rep_txn *
rep_txn_new(struct rep *rep, enum rep_type type, const struct gi_fop *fop)
{
  struct rep_txn *t = gi_new(struct rep_txn);

  t->magic = REP_TXN_MAGIC;
  t->state = REP_BEGUN;
  t->rep = rep;
  t->type = type;
  t->ops = rep->txn_ops[type];
  t->up = rep->up;
  t->generation = rep->generation;
  t->caller = fop->caller;
  gi_caller_detach(&t->caller); /* `fop` may end first; locks and marks need no groups */
  set_owner(&t->caller.owner, ++rep->owners);
  gi_list_init(&t->queue);
  gi_list_init(&t->running);
  gi_list_init(&t->held);
  gi_list_init(&t->syncing);
  gi_list_add_tail(&rep->txns, &t->link);
  rep_busy_get(rep, REP_WORK_TXNS);
  rep->metrics.transactions++;
  return t;
}

void
rep_txn_start(struct rep_txn *t)
{
  if (rep_fastpath_may(t))
    rep_fastpath(t);
  else
    rep_txn_lock(t);
}

struct gi_fop *
rep_txn_helper(struct rep_txn *t, enum gi_fop_kind kind)
{
  struct gi_fop *fop = gi_fop_new(t->rep->x->graph, kind);

  fop->caller = t->caller;
  return fop;
}

bool
rep_txn_by_fd(const struct rep_txn *t, unsigned child)
{
  return t->fd && (t->fd->anonymous || ((rep_fd(t->rep, t->fd)->opened >> child) & 1));
}

static void
refuse_all(struct rep_txn *t, int err)
{
  GI_ASSERT(err > 0);
  t->closing = true;
  t->ops->refused(t, err);
}

/* ---- marks ---- */

/* Nothing but dirty is lowered, everywhere, and nobody waits for it: it may go with the next messages to the bricks, before the lock is
 * given back. Should it be lost with a connection, so would the lock. */
static bool
may_lower_later(const struct rep_txn *t)
{
  uint32_t blames = 0;

  GI_ASSERT(t->state == REP_POST_OP);
  rep_foreach(i, t->active) blames |= t->blame[i];
  return t->type == REP_DATA && t->active == t->rep->all && t->dirty_owed && !t->keep_dirty && !t->failed && !t->mark_dirty &&
         !blames && !t->blamed_in_preop && gi_list_empty(&t->held) && !t->rep->draining && !t->rep->quiescing &&
         t->generation == t->rep->generation && t->caller.pid >= 0;
}

static void
send_marks(struct rep_txn *t, unsigned child, unsigned log, struct gi_dict *dict, const char *index_key)
{
  const struct rep_changelog *l = &t->log[log];
  bool by_fd = rep_txn_by_fd(t, child);
  struct gi_fop *fop = rep_txn_helper(t, by_fd ? GI_FOP_FXATTROP : GI_FOP_XATTROP);

  GI_ASSERT(log < t->nlogs && l->inode && ((t->locked >> child) & 1));
  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = gi_dict_ref(dict);
  if (by_fd)
    gi_fop_set_fd(fop, t->fd);
  gi_loc_set_inode(&fop->loc, l->inode);
  if (index_key && l->name)
    gi_dict_set_str(gi_fop_xdata(fop), index_key, l->name);
  if (t->state == REP_PRE_OP && t->blaming)
    rep_regions_announce(t, child, t->blaming, fop);
  if (t->state == REP_POST_OP && t->blame[child])
    rep_regions_tell(t, child, fop);
  if (t->state == REP_POST_OP && may_lower_later(t)) {
    GI_ASSERT(!index_key || !l->name);
    fop->args.later = true;
    t->rep->lowers_later = gi_now(t->rep->x->reactor) + GI_NSEC_PER_SEC;
  }
  gi_fan_send(&t->fan, fop, child, log);
}

/* Every xattrop tells the counters as they are now. */
static void
note_accused(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
  struct rep_txn *t = fan->arg;

  GI_ASSERT(tag < t->nlogs);
  if (reply->rsp.ret >= 0 && !reply->rsp.dict)
    return; /* it goes later */
  if (reply->rsp.ret < 0) {
    t->post_gone |= rep_errno_is_gone(reply->rsp.err) ? 1u << child : 0;
    return;
  }
  t->log[tag].accused |= rep_marks_accused(t->rep, reply->rsp.dict, t->type);
  t->accused |= t->log[tag].accused;
  if (t->type == REP_DATA)
    t->meta_accused |= rep_marks_accused(t->rep, reply->rsp.dict, REP_META);
  rep_inode_found_accused(t->rep, t->log[tag].inode, t->type, t->log[tag].accused);
}

static void
start_marks(struct rep_txn *t, void (*done)(struct gi_fan *fan))
{
  rep_fan_start(&t->fan, t->rep, done, t);
  t->fan.each = note_accused;
  t->post_gone = 0;
}

void
rep_txn_ask(struct rep_txn *t, void (*done)(struct gi_fan *fan))
{
  struct gi_dict *zeros = rep_marks_dict(t->rep, 0, t->type, 0);

  start_marks(t, done);
  for (unsigned l = 0; l < t->nlogs; l++)
    rep_foreach(i, t->active) send_marks(t, i, l, zeros, NULL);
  gi_dict_unref(&zeros);
  gi_fan_finish(&t->fan);
}

/* ---- pre-op ---- */

static void
open_gate(struct rep_txn *t)
{
  rep_txn_enter(t, REP_OPEN);
  t->ops->open(t);
}

/* Only the arbiter is good among the participants: it alone would know what the others lack (replicate.md 8). */
static bool
only_arbiter_knows(const struct rep_txn *t)
{
  uint32_t sources = t->active & ~t->accused;

  return (sources & t->rep->arbiter) && !(sources & ~t->rep->arbiter);
}

static struct gi_dict *
pre_op_dict(const struct rep_txn *t, uint32_t blame, int32_t dirty)
{
  return !blame && dirty ? gi_dict_ref(t->rep->pre_op[t->type]) : rep_marks_dict(t->rep, blame, t->type, dirty);
}

static void pre_op_done(struct gi_fan *fan);

/* Raises dirty on children of `locked` that are not dirty yet, and blames the children that take no part and are not blamed yet.
 * Operations may be answered before the post-op. Until then all others must hold the blame, or a child that missed them could be read
 * when the children that know are away. */
static void
send_pre_op(struct rep_txn *t)
{
  const char *index_key = rep_opts(t->rep)->granular_entry_heal ? "glusterfs.xattrop-entry-create" : NULL;
  uint32_t blame = GI_BROKEN("tell who is away only in the post-op") ? 0 : t->rep->all & ~t->locked & ~t->blamed_in_preop;
  struct gi_dict *first = pre_op_dict(t, blame, 1), *again = pre_op_dict(t, blame, 0);

  t->blamed_in_preop |= blame;
  t->blaming = blame;
  start_marks(t, pre_op_done);
  for (unsigned l = 0; l < t->nlogs; l++)
    rep_foreach(i, t->locked) send_marks(t, i, l, (t->dirtied >> i) & 1 ? again : first, index_key);
  t->dirtied |= t->locked;
  gi_dict_unref(&first);
  gi_dict_unref(&again);
  gi_fan_finish(&t->fan);
}

static void
pre_op_done(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;
  int err = fan->err;

  GI_ASSERT(t->state == REP_PRE_OP && t->dirty_owed);
  t->locked &= ~fan->failed;
  t->active = t->locked;
  t->good = t->active & ~t->accused;
  if (!rep_quorum(t->rep, t->active))
    err = rep_errno_of_few(t->rep, err, t->post_gone);
  else if (only_arbiter_knows(t))
    err = ENOTCONN;
  else if (!rep_outcome_has_wholly_good(t, t->active))
    err = EIO;
  else if ((t->rep->all & ~t->locked & ~t->blamed_in_preop) && !GI_BROKEN("tell who is away only in the post-op")) {
    GI_PROBE("replicate: pre-op failed on some copies, the others are told");
    send_pre_op(t);
    return;
  } else {
    open_gate(t);
    return;
  }
  /* Nothing was changed: what waits fails, and the marks are taken back. */
  GI_PROBE("replicate: pre-op without quorum or good copy");
  refuse_all(t, err);
  rep_txn_finish(t);
}

static bool
optimistic(const struct rep_txn *t)
{
  return t->type != REP_DATA && rep_opts(t->rep)->optimistic_change_log && t->locked == t->rep->all;
}

static void
pre_op(struct rep_txn *t)
{
  rep_txn_enter(t, REP_PRE_OP);
  if (optimistic(t)) {
    t->active = t->locked;
    t->good = t->type == REP_META ? t->active & rep_inode(t->rep, t->inode)->meta_readable : t->active;
    open_gate(t);
    return;
  }
  t->dirty_owed = true;
  t->marking |= t->locked;
  t->rep->metrics.pre_ops++;
  send_pre_op(t);
}

/* ---- is there a copy that has missed nothing? ---- */

static void
asked_first(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;
  int err = 0;

  t->active = t->locked &= ~fan->failed;
  t->good = t->active & ~t->accused;
  if (!rep_quorum(t->rep, t->locked))
    err = rep_errno_of_few(t->rep, fan->err, t->post_gone);
  else if (t->type != REP_ENTRY && only_arbiter_knows(t))
    err = ENOTCONN;
  else if (!rep_outcome_has_wholly_good(t, t->locked))
    err = t->type == REP_ENTRY ? rep_unreadable(t->rep) : EIO;
  t->active = t->good = 0;
  if (!err) {
    pre_op(t);
    return;
  }
  GI_PROBE("replicate: no good copy to change");
  refuse_all(t, err);
  rep_txn_unlock(t);
}

/* The pre-op will blame those that take no part. Where only they may be good, that must not even be said for a moment: should we be
 * gone in it, or a disk refuse to take it back, there would be no good copy any more. */
static bool
good_one_known(const struct rep_txn *t)
{
  uint32_t good = t->locked;

  for (unsigned l = 0; l < t->nlogs; l++) {
    const struct rep_inode *ri = rep_inode(t->rep, t->log[l].inode);

    good &= !rep_inode_fresh(t->rep, t->log[l].inode) ? 0 : t->type == REP_META ? ri->meta_readable : ri->data_readable;
  }
  return good != 0;
}

/* With all children there is a good copy of every directory, but it need not be the same one. Of files without an arbiter every quorum
 * has a good copy, if there is one at all; an arbiter and a copy that has missed something are a quorum, too. */
static bool
has_good_one(const struct rep_txn *t)
{
  bool two = t->nlogs == 2 && t->log[0].inode != t->log[1].inode;

  if (t->type != REP_ENTRY && !t->rep->arbiter)
    return true;
  return (t->locked == t->rep->all && !two) || !rep_quorums_meet(t->rep) || good_one_known(t);
}

static void
prepare(struct rep_txn *t)
{
  if (has_good_one(t)) {
    pre_op(t);
    return;
  }
  t->active = t->locked;
  rep_txn_ask(t, asked_first);
}

void
rep_txn_locked(struct rep_txn *t)
{
  GI_ASSERT(t->state == REP_LOCK || t->state == REP_LOCK_SERIAL);
  t->locked = t->rep->all;
  for (unsigned g = 0; g < t->ntargets; g++)
    t->locked &= t->target[g].held;
  if (rep_quorum(t->rep, t->locked)) {
    prepare(t);
    return;
  }
  GI_PROBE("replicate: locked on fewer copies than the quorum");
  refuse_all(t, t->lock_err == EAGAIN ? ENOTCONN : rep_errno_of_few(t->rep, t->lock_err, t->lock_gone));
  rep_txn_unlock(t);
}

/* ---- post-op ---- */

static int32_t
dirty_delta(const struct rep_txn *t, unsigned child)
{
  uint32_t bit = 1u << child;

  if (t->mark_dirty & bit)
    return 1;
  if (t->keep_dirty && !GI_BROKEN("lower the mark of what may differ"))
    return 0;
  return t->dirty_owed && !(t->failed & bit) ? -1 : 0;
}

static void
post_op_done(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;

  GI_ASSERT(t->state == REP_POST_OP);
  t->post_ok = t->active & ~fan->failed;
  t->post_gone &= fan->failed;
  rep_outcome_distrust(t);
  rep_outcome_answer_held(t);
  rep_txn_unlock(t);
}

/* `told`: those the pre-op has blamed for nothing. */
static struct gi_dict *
post_op_dict(const struct rep_txn *t, uint32_t blame, uint32_t told, int32_t dirty)
{
  struct gi_dict *d;

  if (!blame && !told && dirty < 0)
    return gi_dict_ref(t->rep->post_op[t->type]);
  d = rep_marks_dict(t->rep, blame, t->type, dirty);
  rep_foreach(j, told)
  {
    int32_t slot[REP_TYPES] = {0};

    slot[t->type] = -1;
    rep_marks_set(d, t->rep->pending_key[j], slot);
  }
  return d;
}

/* The new object itself says who lacks it, so that its contents are healed too (replicate.md 6.5). */
static void
send_new_marks(struct rep_txn *t)
{
  struct gi_gfid gfid;
  struct gi_dict *dict = t->ops->new_marks(t, &gfid);

  if (!dict)
    return;
  t->rep->healthy = 0;
  rep_foreach(i, rep_fop(t->rep, t->fop)->made.on & t->active)
  {
    struct gi_fop *fop = rep_txn_helper(t, GI_FOP_XATTROP);

    fop->args.flags = GI_XATTROP_ADD32;
    fop->args.dict = gi_dict_ref(dict);
    fop->loc.gfid = gfid;
    fop->loc.inode = gi_inode_get(t->rep->x->graph, &gfid);
    gi_fan_send(&t->fan, fop, i, 0);
  }
  gi_dict_unref(&dict);
}

/* The directories whose times our first attempt has moved elsewhere: each brick keeps the later one. */
static void
send_times(struct rep_txn *t)
{
  for (unsigned l = 0; l < t->nlogs && !(l && t->log[l].inode == t->log[0].inode); l++)
    rep_foreach(i, t->log[l].behind & t->active)
    {
      struct gi_fop *fop = rep_txn_helper(t, GI_FOP_SETATTR); /* of nothing: only what it stamps changes */

      GI_PROBE("replicate: the times of a directory follow where only a first attempt moved them");
      fop->caller.pid = GI_PID_HEAL;
      fop->caller.stamps = GI_STAMP_CTIME | GI_STAMP_MTIME;
      gi_loc_set_inode(&fop->loc, t->log[l].inode);
      gi_fan_send(&t->fan, fop, i, l);
    }
}

/* Where an arbiter has lost our lock with the connection, and so many others do not hold theirs that another client may have begun, that one
 * may have written with the arbiter and a copy that we blame, and blame the copy that we have. An arbiter that blames both leaves none to
 * heal from, for it has no data. So it stays dirty and is told nothing: what waits for the counters fails if the others are no quorum. A
 * copy with data may blame whom it likes, it can be healed or healed from. */
static void
leave_arbiter_out(struct rep_txn *t)
{
  uint32_t held = t->rep->all, arbiter;

  for (unsigned g = 0; g < t->ntargets; g++)
    held &= t->target[g].held;
  held &= ~t->cut_off;
  arbiter = t->active & t->rep->arbiter & ~held;
  if (t->type != REP_DATA || !arbiter || !rep_quorum(t->rep, t->rep->all & ~held))
    return;
  GI_PROBE("replicate: an arbiter that another client may have locked is told nothing");
  GI_ASSERT(t->dirty_owed);
  rep_foreach(i, arbiter) t->blame[i] = 0;
  t->active &= ~arbiter;
  t->good &= ~arbiter;
}

static void
post_op(struct rep_txn *t)
{
  static const char *const key[] = {NULL, "glusterfs.xattrop-entry-create", "glusterfs.xattrop-entry-delete"};
  const char *index_key = rep_opts(t->rep)->granular_entry_heal ? key[t->index] : NULL;
  bool sent = false;

  leave_arbiter_out(t);
  rep_txn_enter(t, REP_POST_OP);
  start_marks(t, post_op_done);
  rep_foreach(i, t->active)
  {
    int32_t dirty = dirty_delta(t, i);
    /* Who keeps regions is told of them with an increment of their own. */
    uint32_t blame = rep_regions_told_to(t, i) ? t->blame[i] : t->blame[i] & ~t->blamed_in_preop,
             back = t->blamed_in_preop & ~t->blame[i];
    struct gi_dict *dict;

    if (t->blame[i])
      t->rep->healthy = 0;
    GI_ASSERT(dirty >= 0 || ((t->marking >> i) & 1)); /* nothing is lowered that was not raised */
    if ((!blame && !back && !dirty) || GI_BROKEN("skip the post-op"))
      continue;
    sent = true;
    dict = post_op_dict(t, blame, back, dirty);
    for (unsigned l = 0; l < t->nlogs; l++)
      send_marks(t, i, l, dict, index_key);
    gi_dict_unref(&dict);
  }
  if (t->ops->new_marks)
    send_new_marks(t);
  send_times(t);
  t->rep->metrics.post_ops += sent;
  gi_fan_finish(&t->fan);
}

/* ---- durability (replicate.md 6.7) ---- */

static void
durable_done(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;
  uint32_t ok = fan->ok, failed = fan->failed, lost = rep_outcome_lost(fan);
  bool splits = rep_outcome_splits(t, ok, failed); /* those who synced will be healed from one that may have lost it */

  rep_regions_sync_failed(t, fan);
  rep_session_synced(t, fan);
  gi_fan_clear(fan);
  if (!rep_quorum(t->rep, ok) || splits) {
    GI_PROBE("replicate: the fsync of a session failed, the next one will tell");
    /* Its disk may answer the next fsync as if nothing had been. */
    rep_inode(t->rep, t->inode)->unsynced |=
        (uint16_t)(splits && !GI_BROKEN("forget that no good copy was synced") ? REP_UNSYNCED_ALL : failed);
    t->keep_dirty = true;
    rep_outcome_unsynced(t, ok, lost);
  } else if (failed)
    rep_outcome_blame(t, ok, failed);
  post_op(t);
}

static bool
needs_fsync(const struct rep_txn *t)
{
  return t->type == REP_DATA && (t->fd || t->cut_by_name) && t->dirty_owed && !t->keep_dirty && t->unstable > t->stable &&
         rep_opts(t->rep)->ensure_durability;
}

void
rep_txn_finish(struct rep_txn *t)
{
  GI_CHECK(t, REP_TXN_MAGIC);
  GI_ASSERT(t->state == REP_PRE_OP || t->state == REP_OPEN);
  t->closing = true;
  gi_timer_cancel(&t->delay);
  if (!needs_fsync(t) || GI_BROKEN("clear dirty without fsync")) {
    post_op(t);
    return;
  }
  if (!t->fd)
    t->fd = gi_fd_anonymous(t->rep->x->graph, t->inode);
  rep_txn_enter(t, REP_DURABLE);
  rep_fan_start(&t->fan, t->rep, durable_done, t);
  rep_foreach(i, t->active & ~t->failed)
  {
    struct gi_fop *fop = rep_txn_helper(t, GI_FOP_FSYNC);

    gi_fop_set_fd(fop, t->fd);
    fop->args.datasync = 1;
    fop->xdata = gi_dict_ref(t->rep->durable_xdata);
    rep_session_send_fsync(t, &t->fan, fop, i);
  }
  gi_fan_finish(&t->fan);
}

/* ---- the end ---- */

void
rep_txn_end(struct rep_txn *t)
{
  struct rep *rep = t->rep;
  struct gi_inode *inode = t->inode;
  struct gi_fop *fop = t->fop;
  enum rep_type type = t->type;

  GI_ASSERT(t->state == REP_UNLOCK && t->fan.outstanding == 0);
  for (unsigned g = 0; g < t->ntargets; g++)
    GI_ASSERT(!t->target[g].held);
  GI_ASSERT(gi_list_empty(&t->queue) && gi_list_empty(&t->running) && gi_list_empty(&t->held) && gi_list_empty(&t->syncing));
  gi_list_del(&t->link);
  gi_timer_finish(&t->delay);
  rep_regions_forget(t);
  rep_fastpath_forget(t);
  gi_fd_unref(&t->fd);
  for (unsigned g = 0; g < t->ntargets; g++)
    gi_inode_unref(&t->target[g].inode);
  for (unsigned l = 0; l < t->nlogs; l++)
    gi_inode_unref(&t->log[l].inode);
  t->magic = 0;
  gi_free(t);
  if (inode)
    rep_session_ended(rep, inode, type);
  gi_inode_unref(&inode);
  gi_fop_unref(fop);
  rep_busy_put(rep, REP_WORK_TXNS);
}
