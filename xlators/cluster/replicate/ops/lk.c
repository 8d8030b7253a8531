/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks that users and upper layers take (replicate.md 6.11). POSIX locks go to
 * the children one after another in index order, so that two clients meet at
 * the first one. Internal locks go to all at once without waiting, and one
 * after another if somebody else holds one. A quorum of grants is a lock.
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/probe.h"

static bool
is_unlock(const struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_ENTRYLK || fop->kind == GI_FOP_FENTRYLK)
    return fop->args.cmd == GI_ENTRYLK_UNLOCK;
  return fop->args.type == GI_LK_UNLOCK;
}

static bool
is_posix_get(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_LK && fop->args.cmd == GI_LKCMD_GET;
}

static void
make_unlock(struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_ENTRYLK || fop->kind == GI_FOP_FENTRYLK) {
    fop->args.cmd = GI_ENTRYLK_UNLOCK;
    return;
  }
  fop->args.cmd = GI_LKCMD_SET;
  fop->args.type = GI_LK_UNLOCK;
  fop->args.flock.type = GI_LK_UNLOCK;
}

static void
make_nonblocking(struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_ENTRYLK || fop->kind == GI_FOP_FENTRYLK)
    fop->args.cmd = GI_ENTRYLK_NB;
  else
    fop->args.cmd = GI_LKCMD_SET;
}

static void
drop_reply(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
}

/* ---- giving back what was granted ---- */

static void
given_back(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;

  rep_fop_resume(rep_of(fan->x), fop, rep_fop(rep_of(fan->x), fop)->err);
}

static void
give_back(struct rep *rep, struct gi_fop *fop, int err, void (*then)(struct gi_fop *fop, int err))
{
  struct rep_fop *rf = rep_fop(rep, fop);
  uint32_t granted = rf->granted; /* also who is away by now: it would take the lock again */

  GI_ASSERT(!(granted & ~rep->all) && !rf->current);
  rf->granted = 0;
  rf->err = err;
  rep_fop_wait(rep, fop, then);
  rep_fan_start(&rf->fan, rep, given_back, fop);
  rf->fan.each = drop_reply;
  rep_foreach(i, granted)
  {
    struct gi_fop *child = gi_fop_child(fop);

    make_unlock(child);
    if (fop->kind == GI_FOP_LK)
      child->args.cmd = GI_LKCMD_REMEMBER; /* an older lock that it changed shall be as it was */
    gi_fan_send(&rf->fan, child, i, 0);
  }
  gi_fan_finish(&rf->fan);
}

static void
fail_lock(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);

  gi_reply_clear(&fop->rsp);
  rep_answer(rep, fop, -1, err);
}

/* ---- one after another ---- */

static void lk_serial_next(struct rep *rep, struct gi_fop *fop, unsigned child);

static void
serial_reply(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct rep_fop *rf = rep_fop(rep, fop);
  unsigned child = (unsigned)rep_first(fan->sent);
  struct gi_fop *reply = gi_fan_reply(fan, child);
  int err = reply->rsp.ret < 0 ? reply->rsp.err : 0;

  GI_ASSERT(rf->current == reply);
  rf->current = NULL;
  gi_list_del(&fop->link);
  if (!err) {
    if (!rf->granted)
      gi_reply_move(fop, reply);
    rf->granted |= 1u << child;
  }
  gi_fan_clear(fan);
  if (err == EINTR && rf->taken_back) {
    give_back(rep, fop, 0, rep_quiesce_again);
    return;
  }
  if (err == EAGAIN || err == EINTR || err == EDEADLK) { /* the next child may not know of it, and would wait */
    give_back(rep, fop, err, fail_lock);
    return;
  }
  if (err)
    rf->err = rep_errno_merge(rf->err, err);
  lk_serial_next(rep, fop, child + 1);
}

static void
lk_remembered(struct gi_fan *fan)
{
  rep_answer(rep_of(fan->x), fan->arg, 0, 0);
}

/* A child that could not be asked for a granted POSIX lock takes it later. */
static void
remember(struct rep *rep, struct gi_fop *fop)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  rep_fan_start(fan, rep, lk_remembered, fop);
  fan->each = drop_reply;
  rep_foreach(i, fop->kind == GI_FOP_LK ? rep->all & ~rep_fop(rep, fop)->granted : 0)
  {
    struct gi_fop *child = gi_fop_child(fop);

    child->args.cmd = GI_LKCMD_REMEMBER;
    gi_fan_send(fan, child, i, 0);
  }
  gi_fan_finish(fan);
}

/* A request that may wait was waiting at children that went away, one after the other, and the children that are up are a quorum. `last`
 * may be about to go. */
static bool
may_begin_anew(const struct rep *rep, const struct gi_fop *fop, int err, unsigned last)
{
  return fop->kind == GI_FOP_LK && fop->args.cmd == GI_LKCMD_SETW && err == ENOTCONN &&
         rep_quorum(rep, rep->up & ~(1u << last));
}

static void
serial_end(struct rep *rep, struct gi_fop *fop, unsigned last)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  if (rep_quorum(rep, rf->granted)) {
    if (is_posix_get(fop))
      rep_answer(rep, fop, 0, 0);
    else
      remember(rep, fop);
  } else if (may_begin_anew(rep, fop, rf->err, last)) {
    GI_PROBE("replicate: a lock waited at children that went away, and is asked for anew");
    give_back(rep, fop, 0, rep_quiesce_again);
  } else {
    give_back(rep, fop, rf->err ? rf->err : ENOTCONN, fail_lock);
  }
}

static void
lk_serial_next(struct rep *rep, struct gi_fop *fop, unsigned child)
{
  struct rep_fop *rf = rep_fop(rep, fop);
  unsigned last = child ? child - 1 : 0;

  while (child < rep->n && !((rep->up >> child) & 1))
    child++;
  if (child == rep->n) {
    serial_end(rep, fop, last);
    return;
  }
  if (fop->cancelled) {
    give_back(rep, fop, EINTR, fail_lock);
    return;
  }
  if (rep->quiescing) { /* not to wait for somebody who is held back */
    give_back(rep, fop, 0, rep_quiesce_again);
    return;
  }
  GI_ASSERT(!rf->current && !((rf->granted >> child) & 1));
  gi_list_add_tail(&rep->locks, &fop->link);
  rep_fan_start(&rf->fan, rep, serial_reply, fop);
  rf->current = gi_fop_child(fop);
  gi_fan_send(&rf->fan, rf->current, child, 0);
  gi_fan_finish(&rf->fan);
}

void
rep_lk_cancel(struct rep *rep, struct gi_fop *fop)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  if (rf->current)
    gi_fop_cancel(rf->current);
}

/* ---- unlock and test ---- */

static void
any_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  int err = rep_fan_errno(fan);

  if (fan->ok && rep_ready(rep)) {
    gi_reply_move(fop, gi_fan_reply(fan, rep_first(fan->ok)));
    gi_fan_clear(fan);
    gi_fop_answer(fop, rep->x);
    return;
  }
  gi_fan_clear(fan);
  rep_answer(rep, fop, -1, err);
}

static void
to_all(struct rep *rep, struct gi_fop *fop)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  rep_fan_start(fan, rep, any_done, fop);
  gi_fan_copy(fan, fop, rep->all); /* also who was left out since, or is away and would take the lock again */
}

enum gi_verdict
rep_on_lk(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct gi_inode *inode = rep_fop_inode(fop);
  int64_t mode;

  if (is_unlock(fop)) { /* without quorum as well: nobody shall take it again */
    to_all(rep, fop);
    return GI_HELD;
  }
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if ((gi_dict_get_int(fop->xdata, "lkmode", &mode) || gi_dict_get_int(fop->xdata, "glusterfs.lk.lkmode", &mode)) && mode == 1)
    return gi_fop_fail(fop, ENOTSUP); /* mandatory locks would have to survive a reconnect, which is not offered */
  if (inode && !is_posix_get(fop))
    rep_inode(rep, inode)->locks_taken = true;
  lk_serial_next(rep, fop, 0);
  return GI_HELD;
}

/* ---- internal locks from above ---- */

static void
wait_for_lock(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);

  lk_serial_next(rep, fop, 0);
}

static void
parallel_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct rep_fop *rf = rep_fop(rep, fop);
  bool busy = false;
  int err = rep_fan_errno(fan);

  rep_foreach(i, fan->failed) busy |= gi_fan_reply(fan, i)->rsp.err == EAGAIN;
  rf->granted = fan->ok;
  if (!busy && rep_quorum(rep, fan->ok)) {
    gi_reply_move(fop, gi_fan_reply(fan, rep_first(fan->ok)));
    gi_fan_clear(fan);
    gi_fop_answer(fop, rep->x);
    return;
  }
  gi_fan_clear(fan);
  if (busy)
    give_back(rep, fop, 0, wait_for_lock);
  else
    give_back(rep, fop, err, fail_lock);
}

enum gi_verdict
rep_on_internal_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  if (is_unlock(fop)) { /* without quorum as well: those that are there would keep it for ever */
    to_all(rep, fop);
    return GI_HELD;
  }
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  rep_fan_start(fan, rep, parallel_done, fop);
  rep_foreach(i, rep->up)
  {
    struct gi_fop *child = gi_fop_child(fop);

    make_nonblocking(child);
    gi_fan_send(fan, child, i, 0);
  }
  gi_fan_finish(fan);
  return GI_HELD;
}
