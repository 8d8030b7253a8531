/* SPDX-License-Identifier: Apache-2.0
 *
 * Data operations: their byte ranges, what they ask the bricks to tell, and
 * what the answers say about stability and about other clients
 * (replicate.md 6.2, 6.4, 6.7).
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/probe.h"

#include <fcntl.h>

#define TO_END UINT64_MAX
#define BLOCK 4096u /* of the file systems of bricks */

static void
set_range(struct rep_fop *rf, const struct gi_fop *fop)
{
  bool append = ((uint32_t)(fop->fd ? fop->fd->flags : 0) | fop->args.flags) & O_APPEND;

  rf->start = fop->args.offset;
  rf->end = TO_END;
  switch (fop->kind) {
  case GI_FOP_FSYNC:
    rf->start = rf->end = 0;
    break;
  case GI_FOP_COPY_FILE_RANGE:
    rf->start = fop->args.offset2;
    break;
  case GI_FOP_WRITE:
    if (append) { /* where it lands is the brick's choice */
      rf->start = 0;
      break;
    }
    /* fall through */
  case GI_FOP_ZEROFILL:
    if (fop->args.size < TO_END - fop->args.offset)
      rf->end = fop->args.offset + fop->args.size;
    break;
  default:
    break;
  }
}

static struct gi_dict *
op_xdata(const struct rep_txn *t, const struct gi_fop *fop)
{
  const struct rep *rep = t->rep;
  struct gi_dict *ours = NULL;

  if (fop->kind == GI_FOP_OPEN)
    return rep_without_content(fop->xdata);
  if (fop->kind == GI_FOP_WRITE)
    ours = t->alone ? rep->range_xdata : rep->write_xdata;
  else if (fop->kind == GI_FOP_FSYNC)
    ours = rep->fsync_xdata;
  if (!ours)
    return gi_dict_ref(fop->xdata);
  if (!gi_dict_count(fop->xdata))
    return gi_dict_ref(ours);

  struct gi_dict *both = gi_dict_copy(fop->xdata);

  gi_dict_merge(both, ours);
  return both;
}

/* An arbiter is told that something is written, and where, but not what. */
void
rep_data_shorten(struct gi_fop *write)
{
  static const uint8_t token = 0xff;

  GI_ASSERT(write->kind == GI_FOP_WRITE);
  gi_payload_clear(&write->payload);
  gi_payload_add(&write->payload, NULL, &token, sizeof(token));
  write->args.size = sizeof(token);
}

/* An fsync by itself is told what those before it have lost; so it does not go along. */
static bool
takes_fsync(const struct rep_txn *t, const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_WRITE && fop->args.sync && !t->gone && !rep_inode(t->rep, t->inode)->unsynced;
}

void
rep_op_send(struct rep_txn *t, struct gi_fop *fop, void (*done)(struct gi_fan *fan))
{
  struct rep *rep = t->rep;
  struct rep_fop *rf = rep_fop(rep, fop);
  struct gi_dict *xdata;

  GI_ASSERT(t->state == REP_OPEN || t->state == REP_FASTPATH);
  GI_ASSERT(t->active && !(t->active & ~t->rep->all));
  rf->txn = t;
  rf->ok = ~rf->must_fail;
  rf->unstable_before = t->unstable;
  rf->syncs = takes_fsync(t, fop);
  t->sent++;
  if (fop->kind == GI_FOP_COPY_FILE_RANGE) {
    rep_copy_send(t, fop, done);
    return;
  }
  if (rf->syncs || (fop->kind == GI_FOP_FSYNC && t->type == REP_DATA))
    rep_regions_syncing(t, fop);
  xdata = op_xdata(t, fop);
  if (t->state == REP_FASTPATH) {
    struct gi_dict *more = rep_fastpath_xdata(t, xdata);

    gi_dict_unref(&xdata);
    xdata = more;
  }
  rep_fan_start(&rf->fan, rep, done, fop);
  rep_foreach(i, t->active)
  {
    struct gi_fop *child = fop->kind == GI_FOP_OPEN ? rep_open_truncating(rep, fop, i, xdata) : gi_fan_child(fop, xdata);

    child->args.sync = rf->syncs ? fop->args.sync : GI_SYNC_NONE;
    if (fop->kind == GI_FOP_WRITE && fop->payload.len && (rep->arbiter >> i) & 1)
      rep_data_shorten(child);
    if (fop->kind == GI_FOP_FSYNC && t->type == REP_DATA)
      rep_session_send_fsync(t, &rf->fan, child, i);
    else
      gi_fan_send(&rf->fan, child, i, 0);
  }
  gi_dict_unref(&xdata);
  gi_fan_finish(&rf->fan);
}

/* ---- what the replies tell ---- */

/* A lost append shows as a difference in size, so only other writes need an fsync before their dirty counter is lowered (replicate.md
 * 6.7). An append that begins within a block may be lost although the size survives: the block is allocated already. */
static bool
size_tells(const struct gi_fan *fan)
{
  rep_foreach(i, fan->ok)
  {
    int64_t n;

    if (!gi_dict_get_int(gi_fan_reply(fan, i)->rsp.xdata, "glusterfs.write-is-append", &n) || n == 0)
      return false;
    if (!((rep_of(fan->x)->arbiter >> i) & 1) && gi_fan_reply(fan, i)->rsp.pre.size % BLOCK)
      return false;
  }
  return true;
}

static bool
size_changed(const struct gi_fan *fan)
{
  rep_foreach(i, fan->ok) if (gi_fan_reply(fan, i)->rsp.pre.size != gi_fan_reply(fan, i)->rsp.post.size) return true;
  return false;
}

/* Of one that was done twice the second time finds the size as it will be. */
static bool
unstable(struct gi_fop *fop, const struct gi_fan *fan)
{
  switch (fop->kind) {
  case GI_FOP_FSYNC:
    return false;
  case GI_FOP_WRITE:
    return !(((uint32_t)(fop->fd ? fop->fd->flags : 0) | fop->args.flags) & (O_SYNC | O_DSYNC)) && !rep_outcome_synced(fan) &&
           !size_tells(fan);
  case GI_FOP_OPEN:
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
    return size_changed(fan) || rep_fop(rep_of(fan->x), fop)->repeated;
  default:
    return true;
  }
}

static bool
others_wait(const struct gi_fan *fan)
{
  rep_foreach(i, fan->ok)
  {
    int64_t n;

    if (gi_dict_get_int(gi_fan_reply(fan, i)->rsp.xdata, "glusterfs.inodelk-count", &n) && n > 1)
      return true;
  }
  return false;
}

/* What the bricks that took a write say of heals of the file; nothing if one of them does not say (GlusterFS'). */
static void
look_for_healers(struct rep_txn *t, const struct gi_fan *fan)
{
  bool healed = false;

  rep_foreach(i, fan->ok)
  {
    int64_t n;

    if (!gi_dict_get_int(gi_fan_reply(fan, i)->rsp.xdata, t->rep->healers_key, &n))
      return;
    healed |= n > 0;
  }
  rep_session_healed(t->rep, t->inode, healed);
}

static bool
last_fsync(const struct gi_fop *fop)
{
  int64_t n;

  return fop->kind == GI_FOP_FSYNC && gi_dict_get_int(fop->xdata, "last-fsync", &n) && n;
}

/* Appends are not synced before their dirty counter is lowered: a lost one shows in the size (replicate.md 6.7), until a client writes
 * behind the gap. So the first operation, alone under its lock, compares the sizes of the copies before it. A copy that was shorter than
 * the longest good one has lost something unknown. It is blamed without regions, and healed as a whole. */
static void
compare_sizes(struct rep_txn *t, struct gi_fop *fop)
{
  const struct gi_fan *fan = &rep_fop(t->rep, fop)->fan;
  uint32_t compared = fan->ok & t->good & ~t->rep->arbiter, shorter = 0;
  uint64_t largest = 0;

  if (t->sent != 1 || t->alone || fop->kind == GI_FOP_FSYNC || fop->kind == GI_FOP_COPY_FILE_RANGE)
    return;
  rep_foreach(i, compared) if (gi_fan_reply(fan, i)->rsp.pre.size > largest) largest = gi_fan_reply(fan, i)->rsp.pre.size;
  rep_foreach(j, compared) if (gi_iatt_valid(&gi_fan_reply(fan, j)->rsp.pre) && gi_fan_reply(fan, j)->rsp.pre.size < largest)
      shorter |= 1u << j;
  if (!shorter)
    return;
  GI_PROBE("replicate: a copy lost an append and is blamed for it");
  rep_foreach(k, fan->ok & ~shorter) t->blame[k] |= shorter;
  t->good &= ~shorter;
  t->wrote.unknown = true;
  t->closing = true; /* the marks are due now */
}

/* How far all copies that took a write reach: what lies before that does not change their sizes. */
static void
note_within(struct rep_txn *t, const struct gi_fan *fan)
{
  struct rep_inode *ri = rep_inode(t->rep, t->inode);

  ri->within = fan->ok & ~t->rep->arbiter ? UINT64_MAX : 0;
  rep_foreach(i, fan->ok & ~t->rep->arbiter) if (gi_fan_reply(fan, i)->rsp.post.size < ri->within) ri->within =
      gi_fan_reply(fan, i)->rsp.post.size;
}

static void
watch(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep_fop *rf = rep_fop(t->rep, fop);

  GI_ASSERT(t->type == REP_DATA && t->state == REP_OPEN);
  t->cut_off |= rep_outcome_saying(&rf->fan, ENOTCONN);
  compare_sizes(t, fop);
  if (fop->kind != GI_FOP_FSYNC && fop->kind != GI_FOP_COPY_FILE_RANGE)
    note_within(t, &rf->fan);
  if (rf->fan.ok && unstable(fop, &rf->fan)) {
    t->unstable++;
    t->cut_by_name |= fop->kind == GI_FOP_TRUNCATE && fop->args.offset && t->rep->regions;
  }
  rep_regions_watch(t, fop);
  if (rf->fan.ok == rf->fan.sent && rep_outcome_synced(&rf->fan) && rf->unstable_before > t->stable)
    t->stable = rf->unstable_before;
  if (!t->closing && others_wait(&rf->fan)) {
    t->rep->metrics.contentions++;
    GI_PROBE("replicate: a reply tells that others wait for the lock");
    rep_session_use_range_locks(t->rep, t->inode);
    t->closing = true;
  }
  if (t->alone && fop->kind == GI_FOP_WRITE && rf->fan.ok)
    look_for_healers(t, &rf->fan);
  if (last_fsync(fop) || (fop->kind == GI_FOP_OPEN && !rf->fan.ok))
    t->closing = true;
}

/* ---- fsync of a file nobody writes ---- */

static void
direct_fsync_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct rep_fop *rf = rep_fop(rep, fop);
  uint32_t good = fan->ok & rep_readable(rep, fop->fd->inode, false);

  if (!fan->failed && good && !rep_fd_errno(rep, fop)) {
    gi_reply_move(fop, gi_fan_reply(fan, rep_read_child(rep, fop->fd->inode, fop, good)));
    gi_fan_clear(fan);
    gi_fop_answer(fop, rep->x);
    return;
  }
  rf->must_fail = fan->failed;
  rf->must_err = fan->err;
  gi_fan_clear(fan);
  rep_session_submit(rep, fop, REP_DATA);
}

static void
fsync_everywhere(struct rep *rep, struct gi_fop *fop)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  rep_fan_start(fan, rep, direct_fsync_done, fop);
  gi_fan_copy(fan, fop, rep_fd_opened(rep, fop->fd, rep->up));
}

/* Some children cannot take part. One that is not blamed yet for what it lost must be, if there is such a thing: only if no copy is
 * dirty it is certain that whatever was written is durable everywhere, or accounted for. And without a good copy what was written
 * would be synced on copies only that are to be healed from another. */
static void
fsync_refreshed(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct rep_inode *ri = rep_inode(rep, fop->fd->inode);
  uint32_t opened = rep_fd_opened(rep, fop->fd, rep->up);

  if (!err && !ri->session[REP_DATA] && !ri->data_dirty && rep_quorum(rep, opened) &&
      (opened & rep_readable(rep, fop->fd->inode, false)))
    fsync_everywhere(rep, fop);
  else
    rep_session_submit(rep, fop, REP_DATA);
}

/* An fsync changes nothing, so without a session it needs neither lock nor mark. Only if a child fails it must those marks be
 * written: then it is done again as a transaction, in which that child has failed already. */
static void
fsync_without_session(struct rep *rep, struct gi_fop *fop)
{
  struct gi_inode *inode = fop->fd->inode;

  if (rep_fd_opened(rep, fop->fd, rep->up) == rep->all && rep_inode_fresh(rep, inode) && rep_readable(rep, inode, false))
    fsync_everywhere(rep, fop);
  else if (rep_inode(rep, inode)->refresh) /* which may have asked before the last write */
    rep_session_submit(rep, fop, REP_DATA);
  else
    rep_refresh(rep, fop, inode, fsync_refreshed);
}

/* ---- the operations ---- */

static void
data_opened(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct rep_inode *ri = rep_inode(rep, rep_fop_inode(fop));

  if (fop->kind == GI_FOP_FSYNC && ri->unsynced) { /* once, as a kernel tells of a failed write-back */
    rep_fop(rep, fop)->must_fail = ri->unsynced;
    rep_fop(rep, fop)->must_err = EIO;
    ri->unsynced = 0;
    rep_session_submit(rep, fop, REP_DATA);
    return;
  }
  if (fop->kind != GI_FOP_FSYNC || ri->session[REP_DATA])
    rep_session_submit(rep, fop, REP_DATA);
  else
    fsync_without_session(rep, fop);
}

static void
data_again(struct rep *rep, struct gi_fop *fop)
{
  if (rep_fop(rep, fop)->must_fail)
    rep_session_submit(rep, fop, REP_DATA);
  else
    data_opened(fop, 0);
}

void
rep_data_submit(struct rep *rep, struct gi_fop *fop)
{
  set_range(rep_fop(rep, fop), fop);
  rep_late_open(rep, fop, data_opened);
}

const struct rep_txn_ops rep_data_ops = {
    .open = rep_session_pump,
    .refused = rep_session_refused,
    .send = rep_op_send,
    .done = rep_session_op_done,
    .watch = watch,
    .again = data_again,
    .targets = rep_copy_targets,
};

/* A bug on purpose: the application is answered, and what it wrote is on its way, or not. */
static void
twin_done(struct gi_fop *twin, void *arg)
{
  gi_fop_unref(twin);
}

static enum gi_verdict
answer_early(struct gi_xlator *x, struct gi_fop *fop)
{
  gi_fop_submit(gi_fop_child(fop), x, twin_done, NULL);
  fop->rsp.ret = (int32_t)fop->payload.len;
  return GI_ANSWERED;
}

enum gi_verdict
rep_on_data(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (!rep_fop_inode(fop))
    return gi_fop_fail(fop, EINVAL);
  if (fop->kind == GI_FOP_WRITE && !fop->parent && GI_BROKEN("acknowledge before quorum"))
    return answer_early(x, fop);
  rep_data_submit(rep, fop);
  return GI_HELD;
}
