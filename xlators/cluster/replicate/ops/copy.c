/* SPDX-License-Identifier: Apache-2.0
 *
 * COPY_FILE_RANGE: a change of the destination's data that every brick makes from
 * its own copy of the source. That is right only if those copies are equal. So the
 * source is locked together with the destination, and its counters are read under
 * that lock. Unless every child that keeps data has a good copy of the source the
 * answer is EOPNOTSUPP: the kernel then reads and writes, and all children get the
 * same bytes.
 */
#include "xlators/cluster/replicate/ops/ops.h"

static struct gi_inode *
source_of(const struct gi_fop *fop)
{
  return fop->fd->inode;
}

/* ---- locks ---- */

bool
rep_copy_targets(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep_target dest = t->target[0];
  struct gi_inode *source;
  struct rep_txn *writer;

  if (fop->kind != GI_FOP_COPY_FILE_RANGE)
    return false;
  t->alone = true;
  source = source_of(fop);
  writer = rep_inode(t->rep, source)->session[REP_DATA];
  if (source == t->inode)
    return true;
  if (writer && !writer->closing)
    rep_session_close(writer); /* ours, idle or not: it holds the lock we need */
  /* Both in the order of all clients. */
  t->target[1] = (struct rep_target){.inode = gi_inode_ref(source)};
  t->ntargets = 2;
  if (memcmp(&source->gfid, &dest.inode->gfid, sizeof(source->gfid)) < 0) {
    t->target[0] = t->target[1];
    t->target[1] = dest;
  }
  return true;
}

/* ---- the operation ---- */

/* The arbiter has nothing to copy: it is told as of a write. */
static struct gi_fop *
tell_arbiter(const struct rep *rep, struct gi_fop *fop)
{
  struct gi_fop *write = gi_fop_helper(fop, GI_FOP_WRITE);

  gi_fop_set_fd(write, fop->fd2);
  write->args.offset = fop->args.offset2;
  write->xdata = gi_dict_ref(rep->write_xdata);
  rep_data_shorten(write);
  return write;
}

static void
source_seen(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct rep_fop *rf = rep_fop(rep, fop);
  uint32_t active = rf->txn->active;

  GI_CHECK(rf->txn, REP_TXN_MAGIC);
  GI_ASSERT(rf->txn->state == REP_OPEN && rf->txn->alone && rf->copied);
  struct rep_verdict v;

  rep_marks_judge(rep, fan, fan->ok, false, &v);
  gi_fan_clear(fan);
  rep_fan_start(fan, rep, rf->copied, fop);
  if (active & ~rep->arbiter & ~v.data_readable) {
    rf->must_err = EOPNOTSUPP;
    active = 0;
  }
  rep_foreach(i, active) gi_fan_send(fan, (rep->arbiter >> i) & 1 ? tell_arbiter(rep, fop) : gi_fop_child(fop), i, 0);
  gi_fan_finish(fan);
}

void
rep_copy_send(struct rep_txn *t, struct gi_fop *fop, void (*done)(struct gi_fan *fan))
{
  struct rep *rep = t->rep;
  struct rep_fop *rf = rep_fop(rep, fop);
  struct gi_dict *xdata = gi_dict_new();

  rf->copied = done;
  rep_marks_request(rep, xdata);
  rep_fan_start(&rf->fan, rep, source_seen, fop);
  rep_foreach(i, t->active)
  {
    bool by_fd = rep_fd_opened(rep, fop->fd, 1u << i) != 0;
    struct gi_fop *ask = gi_fop_helper(fop, by_fd ? GI_FOP_FSTAT : GI_FOP_LOOKUP);

    ask->caller.stamps = 0;
    if (by_fd)
      gi_fop_set_fd(ask, fop->fd);
    else
      gi_loc_set_inode(&ask->loc, source_of(fop));
    ask->xdata = gi_dict_ref(xdata);
    gi_fan_send(&rf->fan, ask, i, 0);
  }
  gi_dict_unref(&xdata);
  gi_fan_finish(&rf->fan);
}

/* ---- the beginning ---- */

static void
source_known(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  uint32_t data = rep->up & ~rep->arbiter;

  if (!err && ((data & ~rep_readable(rep, source_of(fop), false)) || rep_fd_opened(rep, fop->fd, data) != data))
    err = EOPNOTSUPP;
  if (err)
    rep_answer(rep, fop, -1, err);
  else
    rep_data_submit(rep, fop);
}

enum gi_verdict
rep_on_copy(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  if (!fop->fd || !fop->fd->inode || !fop->fd2 || !fop->fd2->inode)
    return gi_fop_fail(fop, EINVAL);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (rep_inode_fresh(rep, source_of(fop)))
    source_known(fop, 0);
  else
    rep_refresh(rep, fop, source_of(fop), source_known);
  return GI_HELD;
}
