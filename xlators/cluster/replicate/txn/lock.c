/* SPDX-License-Identifier: Apache-2.0
 *
 * The locks of a transaction (replicate.md 6.2): first all at once and
 * non-blocking; if any is refused, everything is given back and the locks are
 * waited for one after another, target by target, child by child. All clients
 * use the same order, and nobody waits while holding a lock that comes later,
 * so they cannot deadlock.
 */
#include "xlators/cluster/replicate/txn/txn.h"

#include "libglusterish/probe.h"

enum lock_how { HOW_TRY, HOW_WAIT, HOW_UNLOCK };

static struct gi_fop *
txn_lock_fop(struct rep_txn *t, unsigned target, unsigned child, enum lock_how how)
{
  static const uint32_t entry_cmd[] = {GI_ENTRYLK_NB, GI_ENTRYLK_LOCK, GI_ENTRYLK_UNLOCK};
  const struct rep_target *g = &t->target[target];
  struct gi_fop *fop;

  if (t->type == REP_ENTRY) {
    fop = rep_txn_helper(t, GI_FOP_ENTRYLK);
    fop->args.cmd = entry_cmd[how];
    fop->args.type = 1;
    fop->args.name = g->name;
  } else {
    bool by_fd = g->inode == t->inode && rep_txn_by_fd(t, child);

    fop = rep_txn_helper(t, by_fd ? GI_FOP_FINODELK : GI_FOP_INODELK);
    fop->args.cmd = how == HOW_WAIT ? GI_LKCMD_SETW : GI_LKCMD_SET;
    fop->args.type = how == HOW_UNLOCK ? GI_LK_UNLOCK : GI_LK_WRITE;
    fop->args.flock.type = fop->args.type;
    fop->args.flock.start = g->start;
    fop->args.flock.len = g->len;
    if (by_fd)
      gi_fop_set_fd(fop, t->fd);
  }
  fop->args.domain = t->rep->x->name;
  gi_loc_set_inode(&fop->loc, g->inode);
  return fop;
}

/* The options inodelk-trace and entrylk-trace. */
static void
trace(const struct rep_txn *t, unsigned target, unsigned child, const char *what)
{
  const struct rep_target *g = &t->target[target];
  const char *brick = t->rep->x->children[child]->name;
  char gfid[GI_UUID_TEXT];

  if (t->type == REP_ENTRY && rep_opts(t->rep)->entrylk_trace)
    gi_log(GI_LOG_INFO, t->rep->x->name, GI_MSG_REPLICATE + 8, "entry lock %s at %s: directory %s, %s", what, brick,
           gi_gfid_text(&g->inode->gfid, gfid), g->name ? g->name : "all names");
  if (t->type != REP_ENTRY && rep_opts(t->rep)->inodelk_trace)
    gi_log(GI_LOG_INFO, t->rep->x->name, GI_MSG_REPLICATE + 9, "inode lock %s at %s: %s, %llu bytes from %llu", what, brick,
           gi_gfid_text(&g->inode->gfid, gfid), (unsigned long long)g->len, (unsigned long long)g->start);
}

void
rep_txn_lock_failed(struct rep_txn *t, unsigned child, int err)
{
  t->lock_err = rep_errno_merge(t->lock_err, err);
  t->lock_gone |= rep_errno_is_gone(err) ? 1u << child : 0;
}

static void
lock_answered(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
  struct rep_txn *t = fan->arg;

  GI_ASSERT(t->state == REP_LOCK || t->state == REP_LOCK_SERIAL);
  GI_ASSERT(tag < t->ntargets && !((t->target[tag].held >> child) & 1));
  trace(t, tag, child, reply->rsp.ret >= 0 ? "granted" : strerror(reply->rsp.err));
  if (reply->rsp.ret >= 0)
    t->target[tag].held |= 1u << child;
  else
    rep_txn_lock_failed(t, child, reply->rsp.err);
}

/* ---- unlock ---- */

static void
released(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
  struct rep_txn *t = fan->arg;

  trace(t, tag, child, "given back");
  if (reply->rsp.ret < 0 && reply->rsp.err != ENOTCONN)
    gi_log(GI_LOG_WARNING, t->rep->x->name, GI_MSG_REPLICATE + 2, "unlock at %s failed: %s", t->rep->x->children[child]->name,
           strerror(reply->rsp.err));
}

/* A child that went down has dropped our locks with the connection. */
static void
release_all(struct rep_txn *t, void (*done)(struct gi_fan *fan))
{
  rep_fan_start(&t->fan, t->rep, done, t);
  t->fan.each = released;
  for (unsigned g = 0; g < t->ntargets; g++) {
    uint32_t held = t->target[g].held;

    t->target[g].held = 0;
    rep_foreach(i, held & t->rep->connected) gi_fan_send(&t->fan, txn_lock_fop(t, g, i, HOW_UNLOCK), i, g);
  }
  gi_fan_finish(&t->fan);
}

static void
unlocked(struct gi_fan *fan)
{
  rep_txn_end(fan->arg);
}

void
rep_txn_unlock(struct rep_txn *t)
{
  rep_txn_enter(t, REP_UNLOCK);
  release_all(t, unlocked);
}

/* Who comes back before the last lock is granted would count as locked, and be waited for with locks that come later. */
void
rep_txn_locks_lost(struct rep *rep, unsigned child)
{
  uint32_t bit = 1u << child;

  gi_list_foreach(t, &rep->txns, struct rep_txn, link)
    for (unsigned g = 0; g < t->ntargets; g++) {
      if (!(t->target[g].held & bit))
        continue;
      t->target[g].held &= ~bit;
      GI_PROBE("replicate: a lock went with its connection");
    }
}

/* ---- blocking, one after another ---- */

static void txn_serial_next(struct rep_txn *t);

static void
serial_done(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;

  t->serial_child++;
  if (fan->err == ENOSYS) /* no lock layer: waiting elsewhere is pointless */
    rep_txn_locked(t);
  else
    txn_serial_next(t);
}

/* Children that may still come to hold every target. */
static uint32_t
serial_candidates(const struct rep_txn *t)
{
  uint32_t mask = t->up & t->rep->up;

  for (unsigned g = 0; g < t->serial_target; g++)
    mask &= t->target[g].held;
  return mask;
}

static void
txn_serial_next(struct rep_txn *t)
{
  for (; t->serial_target < t->ntargets; t->serial_target++, t->serial_child = 0) {
    uint32_t mask = serial_candidates(t);

    for (; t->serial_child < t->rep->n; t->serial_child++) {
      if (!((mask >> t->serial_child) & 1))
        continue;
      rep_fan_start(&t->fan, t->rep, serial_done, t);
      t->fan.each = lock_answered;
      gi_fan_send(&t->fan, txn_lock_fop(t, t->serial_target, t->serial_child, HOW_WAIT), t->serial_child, t->serial_target);
      gi_fan_finish(&t->fan);
      return;
    }
  }
  rep_txn_locked(t);
}

static void
undone(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;

  for (unsigned g = 0; g < t->ntargets; g++)
    GI_ASSERT(!t->target[g].held); /* nobody waits while holding a lock that comes later */
  rep_txn_enter(t, REP_LOCK_SERIAL);
  t->serial_target = t->serial_child = 0;
  rep_session_lock_range(t);
  txn_serial_next(t);
}

/* ---- all at once ---- */

void
rep_txn_contended(struct rep_txn *t)
{
  t->rep->metrics.lock_conflicts++;
  if (t->type == REP_DATA)
    rep_session_use_range_locks(t->rep, t->inode);
}

static void
tried(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;

  if (!fan->failed) {
    rep_txn_locked(t);
    return;
  }
  rep_txn_contended(t);
  GI_PROBE("replicate: locks tried together, one refused: one after another");
  rep_txn_lock_serially(t);
}

void
rep_txn_lock_serially(struct rep_txn *t)
{
  rep_txn_enter(t, REP_LOCK_UNDO);
  release_all(t, undone);
}

void
rep_txn_lock(struct rep_txn *t)
{
  rep_txn_enter(t, REP_LOCK);
  rep_fan_start(&t->fan, t->rep, tried, t);
  t->fan.each = lock_answered;
  for (unsigned g = 0; g < t->ntargets; g++)
    rep_foreach(i, t->up) gi_fan_send(&t->fan, txn_lock_fop(t, g, i, HOW_TRY), i, g);
  gi_fan_finish(&t->fan);
}
