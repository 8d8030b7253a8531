/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast path: locks, counters and operation in one message (rpc/preamble.h),
 * one round instead of three, where every child is a brick of ours and every copy
 * is good. A brick grants all locks and does the operation, or refuses and does
 * nothing. If all grant, the transaction is where the classic sequence would have
 * led it.
 *
 * If some refuse, another client was met.
 *   - Data and attributes: the locks are waited for in the classic way, and the
 *     operation is repeated everywhere. Until then the dirty counter stands on the
 *     bricks that did it.
 *   - Names, granted by a majority that agrees: the client has won. It goes on as
 *     if the others had failed, and the self-heal brings them what they lack. It
 *     does not wait for their locks while it holds others.
 *   - Names, otherwise: the client undoes what can be undone, under the locks that
 *     it holds, and starts over in the classic way. That includes a majority that
 *     does not agree: another client without a majority may have begun there. A
 *     removal that cannot be undone counts as done if it is found done afterwards,
 *     so one of several clients that remove a name is told of success. The times of
 *     directories that it moved, and that do not move again, are moved everywhere.
 *     Where something cannot be undone, and the good copies refuse it afterwards,
 *     they blame who did it.
 * For a while after such a meeting the inode uses the classic sequence.
 */
#include "xlators/cluster/replicate/txn/txn.h"

#include "libglusterish/probe.h"
#include "rpc/preamble.h"

#include <fcntl.h>

#define PAUSE 64 /* transactions of an inode after a meeting */

#define REPEATABLE_DATA \
  (GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_OPEN))
#define REPEATABLE_META \
  (GI_KIND(GI_FOP_SETATTR) | GI_KIND(GI_FOP_FSETATTR) | GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_FSETXATTR))

/* ---- whether ---- */

static bool
repeatable(const struct rep_txn *t, const struct gi_fop *fop)
{
  switch (t->type) {
  case REP_DATA:
    return (REPEATABLE_DATA & GI_KIND(fop->kind)) && !(((uint32_t)(fop->fd ? fop->fd->flags : 0) | fop->args.flags) & O_APPEND);
  case REP_META: /* the flags of SETXATTR tell a first time from a second */
    return (REPEATABLE_META & GI_KIND(fop->kind)) && !fop->args.flags;
  default:
    return true;
  }
}

/* Every copy is known to be good, and nobody was met lately. */
static bool
calm(const struct rep_txn *t, struct gi_inode *inode)
{
  struct rep_inode *ri = rep_inode(t->rep, inode);

  if (ri->contended) {
    ri->contended--;
    return false;
  }
  return rep_inode_fresh(t->rep, inode) && (t->type == REP_META ? ri->meta_readable : ri->data_readable) == t->rep->all;
}

static struct gi_fop *
first_operation(struct rep_txn *t)
{
  return t->type == REP_ENTRY ? t->fop : gi_list_first(&t->queue, struct gi_fop, link);
}

bool
rep_fastpath_may(struct rep_txn *t)
{
  const struct rep *rep = t->rep;

  if (t->up != rep->all || (rep->preamble & rep->all) != rep->all || rep->arbiter || !repeatable(t, first_operation(t)))
    return false;
  if (t->type != REP_DATA && !rep_opts(rep)->optimistic_change_log)
    return false;
  for (unsigned l = 0; l < t->nlogs; l++)
    if (!calm(t, t->log[l].inode))
      return false;
  return true;
}

/* ---- sending ---- */

/* Its operation raises the dirty counter. */
static bool
marks(const struct rep_txn *t)
{
  if (t->type != REP_DATA)
    return false;
  return gi_list_first(&t->running, struct gi_fop, link)->kind != GI_FOP_OPEN || !GI_BROKEN("truncate without a mark");
}

struct gi_dict *
rep_fastpath_xdata(const struct rep_txn *t, const struct gi_dict *xdata)
{
  GI_ASSERT(t->state == REP_FASTPATH);

  struct gi_preamble p = {.domain = t->rep->x->name, .owner = t->caller.owner, .nlocks = t->ntargets};
  struct gi_dict *d = gi_dict_copy(xdata);

  for (unsigned g = 0; g < t->ntargets; g++) {
    const struct rep_target *target = &t->target[g];

    p.lock[g] = (struct gi_preamble_lock){.entry = t->type == REP_ENTRY,
                                          .gfid = target->inode->gfid,
                                          .name = target->name,
                                          .start = target->start,
                                          .len = target->len};
  }
  p.counters = marks(t) ? t->rep->pre_op[REP_DATA] : NULL;
  gi_preamble_put(d, &p);
  return d;
}

static void
lock_everywhere(struct rep_txn *t, uint32_t held)
{
  for (unsigned g = 0; g < t->ntargets; g++)
    t->target[g].held = held;
}

/* ---- the outcome ---- */

struct outcome {
  uint32_t granted, refused; /* neither: no answer, the connection is gone */
};

static struct outcome
read_outcome(struct rep_txn *t, struct gi_fan *fan)
{
  struct outcome o = {0};

  rep_foreach(i, fan->sent)
  {
    struct gi_fop *reply = gi_fan_reply(fan, i);
    struct gi_dict *counters;
    int err;

    if (!gi_preamble_get_outcome(reply->rsp.xdata, &err, &counters))
      continue;
    gi_dict_del(gi_fop_rsp_xdata(reply), GI_PREAMBLE_KEY);
    if (err) {
      o.refused |= 1u << i;
      rep_txn_lock_failed(t, i, err);
    } else {
      o.granted |= 1u << i;
      t->accused |= rep_marks_accused(t->rep, counters, t->type);
      if (t->type == REP_DATA)
        t->meta_accused |= rep_marks_accused(t->rep, counters, REP_META);
      rep_inode_found_accused(t->rep, t->inode, t->type, t->accused);
    }
    gi_dict_unref(&counters);
  }
  return o;
}

/* The transaction is open at `granted`. The other children count as missing, so their replies are taken out. */
static void
opened(struct rep_txn *t, struct gi_fan *fan, const struct outcome *o)
{
  GI_ASSERT(!(o->granted & o->refused) && !((o->granted | o->refused) & ~t->up));
  lock_everywhere(t, o->granted);
  t->locked = t->active = o->granted;
  t->good = t->type == REP_ENTRY ? t->active : t->active & ~t->accused;
  rep_txn_enter(t, REP_OPEN);
  if (marks(t)) {
    t->dirty_owed = true;
    t->rep->metrics.pre_ops++;
  }
  rep_foreach(i, o->refused) gi_fop_unref(gi_fan_take(fan, i));
  fan->sent &= ~o->refused;
  fan->failed &= ~o->refused;
  fan->err = 0;
  rep_foreach(j, fan->failed) fan->err = rep_errno_merge(fan->err, gi_fan_reply(fan, j)->rsp.err);
  fan->ok &= o->granted; /* a success without its locks is none */
  fan->failed |= fan->sent & ~fan->ok;
}

static void
fastpath_contended(struct rep_txn *t)
{
  GI_PROBE("replicate: met another client while locking and doing in one message");
  rep_txn_contended(t);
  for (unsigned l = 0; l < t->nlogs; l++)
    rep_inode(t->rep, t->log[l].inode)->contended = PAUSE;
}

/* ---- sessions ---- */

/* A brick that does it a second time moves the ctime a second time. So that all show the same one afterwards the second attempt is later
 * than what the first one left. */
static void
repeat_later(const struct rep_txn *t, struct gi_fop *fop)
{
  struct gi_time *time = &fop->caller.time;

  if (!time->sec) /* each brick takes its own clock's */
    return;
  for (unsigned i = 0; i < t->rep->n; i++)
    if (t->did[i] && gi_iatt_valid(&t->did[i]->rsp.post) && gi_time_later(&t->did[i]->rsp.post.ctime, time))
      *time = t->did[i]->rsp.post.ctime;
  if (++time->nsec == GI_NSEC_PER_SEC)
    *time = (struct gi_time){.sec = time->sec + 1};
}

static void
keep_first(struct rep_txn *t, struct gi_fop *fop, struct gi_fan *fan, uint32_t granted)
{
  rep_fop(t->rep, fop)->repeated = true;
  rep_foreach(i, fan->ok & granted)
  {
    GI_ASSERT(!t->did[i]); /* only the first operation of a session comes here */
    t->did[i] = gi_fan_take(fan, i);
  }
  repeat_later(t, fop);
}

static bool
same_time(const struct gi_time *a, const struct gi_time *b)
{
  return a->sec == b->sec && a->nsec == b->nsec;
}

static bool
same_moment(const struct gi_iatt *a, const struct gi_iatt *b)
{
  return gi_iatt_valid(a) && gi_iatt_valid(b) && a->size == b->size && a->mode == b->mode && same_time(&a->ctime, &b->ctime) &&
         same_time(&a->mtime, &b->mtime);
}

/* The second attempt finds what the first one left. A copy where that is all it finds was not changed by others in between, so neither
 * was the file: it was last what the first attempt found. */
void
rep_fastpath_found(struct rep_txn *t, const struct gi_fan *fan, uint32_t good, struct gi_iatt *pre)
{
  const struct gi_reply *first = NULL;

  GI_ASSERT(t->type != REP_ENTRY && !(good & ~fan->ok));
  rep_foreach(i, good) if (!first && t->did[i] && same_moment(&t->did[i]->rsp.post, &gi_fan_reply(fan, i)->rsp.pre)) first =
      &t->did[i]->rsp;
  if (first) {
    GI_PROBE("replicate: an operation done twice tells what it found first");
    *pre = first->pre;
  }
  rep_fastpath_forget(t);
}

static void
session_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep_fop *rf = rep_fop(rep_of(fan->x), fop);
  struct rep_txn *t = rf->txn;
  struct outcome o = read_outcome(t, fan);

  if (!o.refused) {
    opened(t, fan, &o);
    if (!t->active) /* every child refused before it looked at the locks: nobody takes part */
      t->closing = true;
    if (t->active && !t->good) { /* accused by each other since we looked last */
      rf->ok = 0;
      rf->must_err = EIO;
    }
    t->ops->done(fan);
    return;
  }
  fastpath_contended(t);
  keep_first(t, fop, fan, o.granted);
  gi_fan_clear(fan);
  t->dirtied = marks(t) ? o.granted : 0;
  gi_list_del(&fop->link);
  gi_list_add_head(&t->queue, &fop->link);
  t->active = 0;
  lock_everywhere(t, o.granted);
  rep_txn_lock_serially(t);
}

static void
session_fastpath(struct rep_txn *t, struct gi_fop *fop)
{
  gi_list_del(&fop->link);
  gi_list_add_tail(&t->running, &fop->link);
  t->active = t->marking = t->up;
  t->ops->send(t, fop, session_done);
}

/* ---- names ---- */

static void
taken_back(struct gi_fan *fan)
{
  rep_txn_lock_serially(fan->arg);
}

static void
take_back_result(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
  struct rep_txn *t = fan->arg;

  if (reply->rsp.ret >= 0)
    return;
  GI_PROBE("replicate: a name could not be taken back");
  t->half_done |= 1u << child;
}

/* The operation that undoes what child `i` did; NULL: none does, or nothing was changed. */
static struct gi_fop *
reverse(struct rep_txn *t, unsigned i)
{
  const struct gi_fop *fop = t->fop;
  const struct gi_reply *rsp = &gi_fan_reply(&rep_fop(t->rep, t->fop)->fan, i)->rsp;
  const struct gi_loc *loc = fop->kind == GI_FOP_LINK ? &fop->loc2 : &fop->loc;
  struct gi_gfid wanted = gi_gfid_none;
  struct gi_fop *undo;

  switch (fop->kind) {
  case GI_FOP_CREATE:
  case GI_FOP_MKNOD:
  case GI_FOP_MKDIR:
  case GI_FOP_SYMLINK:
    if (!gi_dict_get_gfid(fop->xdata, "gfid-req", &wanted) || !gi_gfid_equal(&wanted, &rsp->stat.gfid))
      return NULL; /* it was there before */
    break;
  case GI_FOP_LINK:
    break;
  default:
    return NULL;
  }
  undo = rep_txn_helper(t, fop->kind == GI_FOP_MKDIR ? GI_FOP_RMDIR : GI_FOP_UNLINK);
  gi_fop_set_entry(undo, &undo->loc, loc->parent, loc->name);
  return undo;
}

/* Whether the change of the child stays, whatever follows. A rename does not: its new name may be another object by now. */
static bool
lasts(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_UNLINK || fop->kind == GI_FOP_RMDIR;
}

void
rep_fastpath_recall(struct rep_txn *t, struct gi_fan *fan)
{
  rep_foreach(i, fan->failed)
  {
    if (!t->did[i] || gi_fan_reply(fan, i)->rsp.err != ENOENT)
      continue;
    GI_PROBE("replicate: found done what a first attempt had done");
    gi_fop_unref(gi_fan_take(fan, i));
    gi_fan_keep(fan, i, t->did[i]);
    t->did[i] = NULL;
    fan->failed &= ~(1u << i);
    fan->ok |= 1u << i;
  }
}

void
rep_fastpath_forget(struct rep_txn *t)
{
  for (unsigned i = 0; i < REP_MAX; i++) {
    gi_fop_unref(t->did[i]);
    t->did[i] = NULL;
  }
}

static void
take_back(struct rep_txn *t, struct gi_fan *fan, uint32_t granted)
{
  uint32_t done = fan->ok & granted;

  GI_ASSERT(t->type == REP_ENTRY && t->state == REP_FASTPATH && !t->retried);
  GI_PROBE("replicate: a name taken back after meeting another client");
  t->retried = true;
  t->moved_times = done != 0;
  t->half_done = t->fop->kind == GI_FOP_RENAME ? done : 0; /* what it put its object over is gone */
  lock_everywhere(t, granted);
  rep_fan_start(&t->fan, t->rep, taken_back, t);
  t->fan.each = take_back_result;
  rep_foreach(i, done)
  {
    struct gi_fop *undo = reverse(t, i);

    if (undo)
      gi_fan_send(&t->fan, undo, i, 0);
    if (lasts(t->fop))
      t->did[i] = gi_fan_take(fan, i);
  }
  gi_fan_clear(fan);
  gi_fan_finish(&t->fan);
}

/* The children that granted it have the same outcome, as far as a quorum goes. */
static bool
agreed(const struct rep_txn *t, const struct gi_fan *fan, uint32_t granted)
{
  if (rep_quorum(t->rep, fan->ok & granted & t->ops->same(t, t->fop, fan)))
    return true;
  rep_foreach(i, fan->failed & granted) if (rep_quorum(t->rep, rep_outcome_saying(fan, gi_fan_reply(fan, i)->rsp.err) &
                                                                   granted)) return true;
  return false;
}

static void
entry_fastpath_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep_txn *t = rep_fop(rep_of(fan->x), fop)->txn;
  struct outcome o = read_outcome(t, fan);

  if (o.refused)
    fastpath_contended(t);
  if (!o.refused || (rep_majority(t->rep, o.granted) && agreed(t, fan, o.granted))) {
    opened(t, fan, &o);
    t->ops->done(fan);
    return;
  }
  t->active = 0;
  take_back(t, fan, o.granted);
}

void
rep_fastpath(struct rep_txn *t)
{
  struct gi_fop *fop = first_operation(t);

  rep_txn_enter(t, REP_FASTPATH);
  t->rep->metrics.rushes++;
  if (t->type == REP_ENTRY)
    t->ops->send(t, fop, entry_fastpath_done);
  else
    session_fastpath(t, fop);
}
