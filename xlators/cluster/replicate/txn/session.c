/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: the one data and the one metadata transaction of an inode
 * (replicate.md 6.6). Operations join while it is open; those that overlap wait
 * for each other, so that every copy sees them in the same order. When nothing
 * runs any more a data session stays open for post-op-delay-secs, with its lock
 * and its dirty mark, for the writes that follow.
 *
 * It is given up at once when another client waits for the lock, a child failed
 * or changed state, the fd is flushed, or the graph goes. Operations that come
 * while it ends are frozen and begin the next session. After somebody waited,
 * writes lock only the bytes they change for a while, each in a session of its
 * own (doc/decisions/0014).
 */
#include "xlators/cluster/replicate/txn/txn.h"

#include "libglusterish/probe.h"

#define RANGE_LOCK_MIN_NS (64 * GI_NSEC_PER_MSEC)
#define RANGE_LOCK_MAX_NS GI_NSEC_PER_SEC

static bool
overlap(const struct rep *rep, struct gi_fop *a, struct gi_fop *b)
{
  const struct rep_fop *p = rep_fop(rep, a), *q = rep_fop(rep, b);

  return p->start < q->end && q->start < p->end;
}

static bool
overlaps_any(const struct rep_txn *t, struct gi_fop *fop)
{
  gi_list_foreach(r, &t->running, struct gi_fop, link)
    if (overlap(t->rep, r, fop))
      return true;
  gi_list_foreach(q, &t->queue, struct gi_fop, link) {
    if (q == fop)
      return false;
    if (overlap(t->rep, q, fop))
      return true;
  }
  return false;
}

/* An fsync has no range of its own but must not overtake what was submitted before it. */
static struct gi_fop *
next_startable(const struct rep_txn *t)
{
  gi_list_foreach(fop, &t->queue, struct gi_fop, link) {
    if (fop->kind == GI_FOP_FSYNC ? t->queue.next == &fop->link : !overlaps_any(t, fop))
      return fop;
  }
  return NULL;
}

/* ---- the delay ---- */

static uint64_t
delay_ns(const struct rep_txn *t)
{
  return (uint64_t)rep_opts(t->rep)->post_op_delay * GI_NSEC_PER_SEC;
}

/* Who empties a file writes it next. */
static bool
is_followed(enum gi_fop_kind kind)
{
  return kind == GI_FOP_WRITE || kind == GI_FOP_FSYNC || kind == GI_FOP_FTRUNCATE || kind == GI_FOP_OPEN;
}

static bool
may_delay(const struct rep_txn *t)
{
  return t->type == REP_DATA && !t->closing && !t->alone && !t->rep->draining && !t->rep->quiescing &&
         rep_opts(t->rep)->eager_lock && delay_ns(t) && t->generation == t->rep->generation && is_followed(t->last_kind);
}

static bool
quiet(const struct rep_txn *t)
{
  return t->state == REP_OPEN && !t->pumping && gi_list_empty(&t->running) && gi_list_empty(&t->queue);
}

/* The timer is not moved with every write: when it fires it looks how long nothing happened. */
static void
delay_expired(void *arg)
{
  struct rep_txn *t = arg;
  uint64_t idle;

  if (!quiet(t))
    return; /* the end of what runs arms it again */
  idle = gi_now(t->rep->x->reactor) - t->idle_since;
  if (idle < delay_ns(t) && may_delay(t))
    gi_timer_set(&t->delay, delay_ns(t) - idle);
  else
    rep_session_close(t);
}

static void
went_quiet(struct rep_txn *t)
{
  GI_ASSERT(quiet(t));
  if (!may_delay(t)) {
    rep_txn_finish(t);
    return;
  }
  t->idle_since = gi_now(t->rep->x->reactor);
  if (!t->delay.armed)
    gi_timer_set(&t->delay, delay_ns(t));
}

/* ---- running operations ---- */

void
rep_session_op_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep_txn *t = rep_fop(rep_of(fan->x), fop)->txn;
  bool outer = t->pumping;

  GI_CHECK(t, REP_TXN_MAGIC);
  GI_ASSERT(t->state == REP_OPEN && t->type != REP_ENTRY);
  gi_list_del(&fop->link);
  if (t->ops->watch)
    t->ops->watch(t, fop);
  if (rep_outcome_judge(t, fop)) {
    rep_outcome_reply(t, fop);
    t->pumping = true; /* the caller may submit more from inside; the session must survive that */
    gi_fop_answer(fop, t->rep->x);
    t->pumping = outer;
  } else {
    gi_list_add_tail(&t->held, &fop->link);
    gi_fop_waits(fop, GI_WAIT_QUORUM, "the counters of what it changed", NULL);
  }
  if (t->closing)
    rep_session_close(t);
  else
    rep_session_pump(t);
}

void
rep_session_pump(struct rep_txn *t)
{
  struct gi_fop *fop;
  int err;

  GI_CHECK(t, REP_TXN_MAGIC);
  GI_ASSERT(t->state == REP_OPEN);
  if (t->pumping) {
    t->pump_again = true;
    return;
  }
  t->pumping = true;
  do {
    t->pump_again = false;
    fop = next_startable(t);
    if (fop) {
      gi_list_del(&fop->link);
      if ((err = rep_fd_errno(t->rep, fop))) {
        GI_PROBE("replicate: an operation waited until its descriptor's locks were in doubt");
        rep_answer(t->rep, fop, -1, err);
        continue;
      }
      gi_list_add_tail(&t->running, &fop->link);
      t->ops->send(t, fop, t->ops->done);
    }
  } while (fop || t->pump_again);
  t->pumping = false;
  if (quiet(t))
    went_quiet(t);
}

/* `fops` were here before those that are frozen already. */
static void
freeze(struct rep_txn *t, struct gi_list *fops)
{
  struct gi_list *frozen = &rep_inode(t->rep, t->inode)->frozen[t->type];

  gi_list_splice_tail(fops, frozen);
  gi_list_splice_tail(frozen, fops);
}

void
rep_session_close(struct rep_txn *t)
{
  GI_CHECK(t, REP_TXN_MAGIC);
  t->closing = true;
  if (t->state != REP_OPEN)
    return; /* not open yet: what waits for the lock still runs, once */
  GI_PROBE("replicate: session closed while open");
  freeze(t, &t->queue);
  if (quiet(t))
    rep_txn_finish(t);
}

void
rep_session_refused(struct rep_txn *t, int err)
{
  while (!gi_list_empty(&t->queue)) {
    struct gi_fop *fop = gi_list_first(&t->queue, struct gi_fop, link);

    gi_list_del(&fop->link);
    rep_answer(t->rep, fop, -1, err);
  }
}

/* ---- beginning and joining ---- */

void
rep_session_use_range_locks(struct rep *rep, struct gi_inode *inode)
{
  struct rep_inode *ri = rep_inode(rep, inode);
  uint64_t now = gi_now(rep->x->reactor);

  if (now < ri->range_lock_until)
    return;
  /* It goes on, if the whole file was asked for again and that did not last. */
  ri->range_lock_ns =
      now - ri->range_lock_until < RANGE_LOCK_MAX_NS && ri->range_lock_ns ? 2 * ri->range_lock_ns : RANGE_LOCK_MIN_NS;
  if (ri->range_lock_ns > RANGE_LOCK_MAX_NS)
    ri->range_lock_ns = RANGE_LOCK_MAX_NS;
  GI_ASSERT(ri->range_lock_ns >= RANGE_LOCK_MIN_NS && ri->range_lock_ns <= RANGE_LOCK_MAX_NS);
  ri->range_lock_until = now + ri->range_lock_ns;
}

void
rep_session_healed(struct rep *rep, struct gi_inode *inode, bool now)
{
  struct rep_inode *ri = rep_inode(rep, inode);

  if (ri->healer_seen && !now) {
    GI_PROBE("replicate: a heal that writers made way for is over");
    ri->range_lock_until = ri->range_lock_ns = 0;
  }
  ri->healer_seen = now;
}

/* While a heal or another client goes over the file, asking for all of it means to wait for every block that is in work. What changes
 * the size still does: a copy that has lost its end shows when the sizes are compared, under that lock. */
static bool
locks_range(const struct rep_txn *t, struct gi_fop *fop)
{
  const struct rep_inode *ri = rep_inode(t->rep, t->inode);

  if (!rep_opts(t->rep)->eager_lock)
    return !rep_opts(t->rep)->full_lock;
  return fop->kind == GI_FOP_WRITE && gi_now(t->rep->x->reactor) < ri->range_lock_until &&
         rep_fop(t->rep, fop)->end <= ri->within;
}

/* The whole file, so that others can join; or only what one operation changes, which nobody joins (replicate.md 6.2). */
static void
set_lock_range(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep_target *g = &t->target[0];

  if (t->type == REP_META)
    g->start = REP_META_START;
  else if (!t->rep->arbiter && fop->kind != GI_FOP_FSYNC && locks_range(t, fop)) {
    const struct rep_fop *rf = rep_fop(t->rep, fop);

    t->alone = true;
    g->start = rf->start;
    g->len = rf->end == UINT64_MAX ? 0 : rf->end - rf->start;
  }
}

void
rep_session_lock_range(struct rep_txn *t)
{
  struct gi_fop *fop = gi_list_first(&t->queue, struct gi_fop, link);

  if (t->type == REP_DATA && !t->alone && !gi_list_empty(&t->queue) && t->queue.next == t->queue.prev &&
      fop->kind != GI_FOP_COPY_FILE_RANGE)
    set_lock_range(t, fop);
}

static void
session_begin(struct rep *rep, struct gi_fop *fop, struct gi_inode *inode, enum rep_type type)
{
  struct rep_txn *t = rep_txn_new(rep, type, fop);

  t->inode = gi_inode_ref(inode);
  t->fd = gi_fd_ref(rep_fop_fd(fop));
  /* A child that has no such file counts as missing from the start, so that it does not end every session. */
  if (rep_quorum(rep, rep_fd_opened(rep, t->fd, t->up)))
    t->up = rep_fd_opened(rep, t->fd, t->up);
  t->target[0].inode = gi_inode_ref(inode);
  t->ntargets = 1;
  if (!t->ops->targets || !t->ops->targets(t, fop))
    set_lock_range(t, fop);
  t->log[0].inode = gi_inode_ref(inode);
  t->nlogs = 1;
  gi_timer_init(&t->delay, rep->x->reactor, delay_expired, t);
  gi_list_add_tail(&t->queue, &fop->link);
  GI_ASSERT(!rep_inode(rep, inode)->session[type]);
  rep_inode(rep, inode)->session[type] = t;
  rep_fop(rep, fop)->txn = t;
  rep_txn_start(t);
}

/* The fsync at the session's end was sent after every write that was answered so far: it is what this one asks for. */
static bool
is_synced_with(const struct rep_txn *t, struct gi_fop *fop)
{
  return t->state == REP_DURABLE && fop->kind == GI_FOP_FSYNC && fop->args.datasync && !rep_fop(t->rep, fop)->must_fail &&
         gi_list_empty(&rep_inode(t->rep, t->inode)->frozen[REP_DATA]);
}

void
rep_session_synced(struct rep_txn *t, struct gi_fan *fan)
{
  uint32_t good = fan->ok & t->good & ~t->rep->arbiter;

  if (fan->failed || !good || !rep_quorum(t->rep, fan->ok) || !rep_undisturbed(t->rep, t->generation)) {
    freeze(t, &t->syncing); /* they are done again, and then told */
    return;
  }
  while (!gi_list_empty(&t->syncing)) {
    struct gi_fop *fop = gi_list_first(&t->syncing, struct gi_fop, link);
    const struct gi_reply *reply = &gi_fan_reply(fan, rep_first(good))->rsp;

    GI_PROBE("replicate: the fsync at a session's end was an application's too");
    gi_list_del(&fop->link);
    fop->rsp.pre = reply->pre;
    fop->rsp.post = reply->post;
    int err = rep_fd_errno(t->rep, fop);
    rep_answer(t->rep, fop, err ? -1 : 0, err);
  }
}

static bool
joinable(const struct rep_txn *t)
{
  return !t->closing && !t->alone && t->generation == t->rep->generation && rep_opts(t->rep)->eager_lock;
}

void
rep_session_submit(struct rep *rep, struct gi_fop *fop, enum rep_type type)
{
  struct gi_inode *inode = rep_fop_inode(fop);
  struct rep_inode *ri = rep_inode(rep, inode);
  struct rep_txn *t = ri->session[type];

  GI_ASSERT(type != REP_ENTRY && rep_fop(rep, fop)->start <= rep_fop(rep, fop)->end && !fop->answered);
  if (!t) {
    int err = rep_ready(rep) ? rep_fd_errno(rep, fop) : ENOTCONN;

    if (err)
      rep_answer(rep, fop, -1, err);
    else
      session_begin(rep, fop, inode, type);
    return;
  }
  if (!joinable(t) || fop->kind == GI_FOP_COPY_FILE_RANGE) {
    gi_list_add_tail(is_synced_with(t, fop) ? &t->syncing : &ri->frozen[type], &fop->link);
    gi_fop_waits(fop, GI_WAIT_ORDER, "the end of the transaction before it", NULL);
    if (!t->closing)
      rep_session_close(t);
    return;
  }
  rep->metrics.sessions_joined++;
  if (!t->fd)
    t->fd = gi_fd_ref(rep_fop_fd(fop));
  rep_fop(rep, fop)->txn = t;
  gi_list_add_tail(&t->queue, &fop->link);
  if (t->state == REP_OPEN)
    rep_session_pump(t);
  else
    gi_fop_waits(fop, GI_WAIT_LOCK, "the lock of the file on the bricks", NULL);
}

void
rep_session_ended(struct rep *rep, struct gi_inode *inode, enum rep_type type)
{
  struct rep_inode *ri = rep_inode(rep, inode);
  struct gi_list again;

  GI_ASSERT(ri->session[type]);
  ri->session[type] = NULL;
  gi_list_init(&again);
  gi_list_splice_tail(&again, &ri->frozen[type]);
  while (!gi_list_empty(&again)) {
    struct gi_fop *fop = gi_list_first(&again, struct gi_fop, link);

    gi_list_del(&fop->link);
    rep->txn_ops[type]->again(rep, fop);
  }
}

/* ---- reasons to give up ---- */

void
rep_session_contended(struct rep *rep, const struct gi_contention *c)
{
  struct gi_inode *inode;

  if (c->entry || !c->domain || strcmp(c->domain, rep->x->name) != 0)
    return;
  inode = gi_inode_find(rep->x->graph, &c->gfid);
  for (int type = 0; inode && type < 2; type++) {
    struct rep_txn *t = rep_inode(rep, inode)->session[type];

    if (t && type == REP_DATA)
      rep_session_use_range_locks(rep, inode);
    if (t && !t->closing) {
      rep->metrics.contentions++;
      GI_PROBE("replicate: told that another client waits for the lock");
      rep_session_close(t);
    }
  }
  gi_inode_unref(&inode);
}

static void
close_all(struct rep *rep, bool meta)
{
  bool again = true;

  while (again) { /* closing one may end it and change the list */
    again = false;
    gi_list_foreach(t, &rep->txns, struct rep_txn, link) {
      if (!t->closing && (t->type == REP_DATA || (t->type == REP_META && meta))) {
        rep_session_close(t);
        again = true;
        break;
      }
    }
  }
}

void
rep_sessions_flush(struct rep *rep)
{
  close_all(rep, true);
}

/* Nothing joins them any more: who writes next is not to wait until they have ended. */
void
rep_sessions_outgrown(struct rep *rep)
{
  close_all(rep, false);
}

void
rep_sessions_lost(struct rep *rep, unsigned child)
{
  gi_list_foreach(t, &rep->txns, struct rep_txn, link)
    if (t->type == REP_DATA && (t->unstable > t->stable || !gi_list_empty(&t->running)))
      t->gone |= 1u << child;
  close_all(rep, false);
}

void
rep_session_send_fsync(struct rep_txn *t, struct gi_fan *fan, struct gi_fop *fsync, unsigned child)
{
  GI_ASSERT(fsync->kind == GI_FOP_FSYNC && ((t->active >> child) & 1));
  if (!((t->gone >> child) & 1)) {
    gi_fan_send(fan, fsync, child, 0);
    return;
  }
  if ((t->rep->connected >> child) & 1)
    GI_PROBE("replicate: not synced by a brick that has been away since the write");
  gi_fan_refuse(fan, fsync, child, ENOTCONN);
}
