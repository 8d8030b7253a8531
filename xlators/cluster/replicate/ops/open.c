/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors: open on every child that is up, late opens on children that came
 * back, flush and fsyncdir, and the few kinds that simply go everywhere
 * (replicate.md 6.9).
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/content.h"
#include "libglusterish/extension.h"
#include "libglusterish/probe.h"

#include <fcntl.h>

/* ---- open, opendir, and what truncates ---- */

static void
truncated(struct gi_fop *trunc, void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);

  GI_ASSERT(fop->kind == GI_FOP_OPEN || fop->kind == GI_FOP_CREATE);
  if (trunc->rsp.ret < 0) {
    fop->rsp.ret = -1;
    fop->rsp.err = trunc->rsp.err;
  } else if (fop->kind == GI_FOP_CREATE) {
    fop->rsp.stat = trunc->rsp.post;
  }
  gi_fop_unref(trunc);
  gi_fop_answer(fop, rep->x);
}

/* O_TRUNC is a data transaction of its own: no brick truncates by itself. TRUNCATE also checks the permission to write, which an open
 * for reading does not. */
static void
truncate_opened(struct rep *rep, struct gi_fop *fop)
{
  bool writes = (fop->args.flags & O_ACCMODE) != O_RDONLY;
  struct gi_fop *trunc = gi_fop_helper(fop, writes ? GI_FOP_FTRUNCATE : GI_FOP_TRUNCATE);

  GI_ASSERT(fop->fd && fop->fd->inode && fop->args.flags & O_TRUNC);
  if (writes)
    gi_fop_set_fd(trunc, fop->fd);
  else
    gi_loc_set_inode(&trunc->loc, fop->fd->inode);
  trunc->caller.stamps &= GI_STAMP_CTIME | GI_STAMP_MTIME;
  rep_submit_inside(rep, trunc, truncated, fop);
}

/* One message opens and truncates, as an operation of the file's data session, if all bricks do that. */
static bool
truncates_with_open(const struct rep *rep, const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_OPEN && (fop->args.flags & O_TRUNC) && (fop->args.flags & O_ACCMODE) != O_RDONLY &&
         rep->up == rep->all && rep->truncates == rep->all;
}

/* A small file comes with its open (GI_CONTENT_KEY): from the child that would be read, if its copy is known to be good. */
static uint32_t
content_child(struct rep *rep, struct gi_fop *fop)
{
  struct gi_inode *inode = rep_fop_inode(fop);
  int child = -1;

  if (fop->kind == GI_FOP_OPEN && inode && gi_dict_get(fop->xdata, GI_CONTENT_KEY) && rep_inode_fresh(rep, inode))
    child = rep_read_child(rep, inode, fop, rep_readable(rep, inode, false) & rep->up);
  return child < 0 ? 0 : 1u << child;
}

struct gi_dict *
rep_without_content(struct gi_dict *xdata)
{
  struct gi_dict *rest;

  if (!gi_dict_get(xdata, GI_CONTENT_KEY))
    return gi_dict_ref(xdata);
  rest = gi_dict_copy(xdata);
  gi_dict_del(rest, GI_CONTENT_KEY);
  gi_dict_del(rest, GI_CONTENT_STAT_KEY);
  return rest;
}

/* Content counts only while the copy that it is from does. */
static void
take_open_reply(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan)
{
  const struct rep_fop *rf = rep_fop(rep, fop);
  uint32_t content = rf->generation == rep->generation ? rf->content & (uint32_t)fan->ok : 0;

  gi_reply_move(fop, gi_fan_reply(fan, (unsigned)rep_first(content ? content : (uint32_t)fan->ok)));
  if (!content)
    gi_content_drop(fop);
}

/* Bricks of ours tell of a directory that is opened who is accused: a listing of another set, which a file has left since somebody looked at this
 * one, relies on a good copy to have it. */
static struct gi_dict *
with_marks(const struct rep *rep, const struct gi_dict *xdata)
{
  struct gi_dict *ask = gi_dict_copy(xdata);

  rep_marks_request(rep, ask);
  gi_dict_set_int(ask, GI_LEFT_KEY, 1);
  return ask;
}

static void
learn_from_opendir(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan)
{
  const struct rep_fop *rf = rep_fop(rep, fop);

  rep_foreach(i, fan->ok)
  {
    if (!gi_dict_get(gi_fan_reply(fan, i)->rsp.xdata, GI_LEFT_KEY))
      return; /* it has not understood */
    gi_fan_reply(fan, i)->rsp.stat.mode = S_IFDIR;
  }
  rep_inode_learn_replies(rep, rep_fop_inode(fop), fan, rf->generation, rf->distrusts);
  rep_foreach(i, fan->ok) rep_marks_strip(rep, gi_fan_reply(fan, i)->rsp.xdata);
}

static void
open_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  uint32_t ok = fan->ok;
  int err = rep_fan_errno(fan);
  bool enough = rep_quorum(rep, ok);

  rep_fd_check(rep, rep_fd(rep, fop->fd));
  if (enough && fop->kind == GI_FOP_OPENDIR)
    learn_from_opendir(rep, fop, fan);
  if (enough)
    take_open_reply(rep, fop, fan);
  gi_fan_clear(fan);
  if (!enough)
    rep_answer(rep, fop, -1, err);
  else if (fop->kind == GI_FOP_OPEN && (fop->args.flags & O_TRUNC))
    truncate_opened(rep, fop);
  else
    gi_fop_answer(fop, rep->x);
}

static void
open_send(struct rep *rep, struct gi_fop *fop)
{
  struct rep_fop *rf = rep_fop(rep, fop);
  struct gi_fan *fan = &rf->fan;

  if (truncates_with_open(rep, fop)) {
    rep_data_submit(rep, fop);
    return;
  }

  bool directory = fop->kind == GI_FOP_OPENDIR;
  struct gi_dict *rest = directory ? with_marks(rep, fop->xdata) : rep_without_content(fop->xdata);

  rf->content = content_child(rep, fop);
  rf->generation = rep->generation;
  rf->distrusts = rep->distrusts;
  rep_fan_start(fan, rep, open_done, fop);
  rep_foreach(i, rep->up)
  {
    struct gi_fop *child = gi_fan_child(fop, (rf->content >> i) & 1 ? fop->xdata : rest);

    if (fop->args.flags & O_TRUNC) { /* what moves the times comes afterwards, under a lock and a mark */
      child->args.flags &= ~(uint32_t)O_TRUNC;
      child->caller.stamps = 0;
    }
    gi_fan_send(fan, child, i, 0);
  }
  gi_dict_unref(&rest);
  gi_fan_finish(fan);
}

/* A first attempt that met another client may have done both on some children. These are open, and the other one may have written
 * there since. */
struct gi_fop *
rep_open_truncating(struct rep *rep, struct gi_fop *fop, unsigned child, struct gi_dict *xdata)
{
  struct gi_fop *f;

  if (rep_fd_opened(rep, fop->fd, 1u << child)) {
    GI_PROBE("replicate: truncated once more where a first attempt has opened it");
    f = gi_fop_helper(fop, GI_FOP_FTRUNCATE);
    gi_fop_set_fd(f, fop->fd);
    f->xdata = gi_dict_ref(xdata);
    return f;
  }
  f = gi_fan_child(fop, xdata);
  f->args.flags &= ~(uint32_t)O_TRUNC;
  f->args.truncates = true;
  return f;
}

static void open_checked(struct gi_fop *fop, int err);

static void
open_decided(struct gi_fop *fop, int err)
{
  (void)err;
  rep_refresh(rep_of(fop->at), fop, rep_fop_inode(fop), open_checked);
}

static bool
may_open(struct rep *rep, struct gi_inode *inode)
{
  return (rep_readable(rep, inode, false) & rep->up) || rep_split_choice(rep, inode) >= 0;
}

static void
open_checked(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct rep_fop *rf = rep_fop(rep, fop);

  if (!err && !may_open(rep, rep_fop_inode(fop))) {
    bool asked = rf->policy_asked;

    rf->policy_asked = true;
    if (!asked && rep_background_policy(rep, fop, rep_fop_inode(fop), open_decided))
      return;
    err = rep_unreadable(rep);
  }
  if (err)
    rep_answer(rep, fop, -1, err);
  else
    open_send(rep, fop);
}

enum gi_verdict
rep_on_open(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct gi_inode *inode = rep_fop_inode(fop);

  if (!fop->fd || !inode)
    return gi_fop_fail(fop, EINVAL);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (may_open(rep, inode))
    open_send(rep, fop);
  else
    rep_refresh(rep, fop, inode, open_checked);
  return GI_HELD;
}

static void
created(struct gi_fop *create, void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  struct gi_gfid wanted = rep_requested_gfid(fop);
  bool existed;

  gi_reply_move(fop, create);
  gi_fop_unref(create);
  existed = fop->rsp.ret >= 0 && !gi_gfid_equal(&fop->rsp.stat.gfid, &wanted);
  if (existed)
    truncate_opened(rep, fop);
  else
    gi_fop_answer(fop, rep->x);
}

/* Somebody else may have made the file since it was looked up. */
void
rep_create_truncating(struct rep *rep, struct gi_fop *fop)
{
  struct gi_fop *create = gi_fop_child(fop);

  create->args.flags &= ~(uint32_t)O_TRUNC;
  rep_submit_inside(rep, create, created, fop);
}

enum gi_verdict
rep_on_opendir(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  if (!fop->fd || !rep_fop_inode(fop))
    return gi_fop_fail(fop, EINVAL);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  open_send(rep, fop);
  return GI_HELD;
}

/* ---- late open ---- */

static void
late_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep_fd *rf = rep_fd(rep_of(fan->x), rep_fop_fd(fop));

  rf->refused = fan->sent & ~fan->ok;
  rep_fd_check(rep_of(fan->x), rf);
  rf->retry_ns = gi_now(rep_of(fan->x)->x->reactor) + REP_LATE_OPEN_RETRY_S * GI_NSEC_PER_SEC;
  gi_fan_clear(fan);
  rep_fop_resume(rep_of(fan->x), fop, 0);
}

/* An fd this set never opened (someone above uses it without open) is left to the layer below. */
static uint32_t
late_mask(const struct rep *rep, const struct gi_fd *fd)
{
  const struct rep_fd *rf;
  uint32_t mask;

  if (!fd || fd->anonymous || fd->directory)
    return 0;
  rf = rep_fd(rep, fd);
  mask = rep->up & ~rf->opened;
  if (!rf->opened || !mask)
    return 0;
  if (!(mask & ~rf->refused) && gi_now(rep->x->reactor) < rf->retry_ns)
    return 0; /* the file is missing there until it is healed: do not ask with every write */
  return mask;
}

void
rep_late_open(struct rep *rep, struct gi_fop *fop, void (*resume)(struct gi_fop *fop, int err))
{
  struct rep_fop *rf = rep_fop(rep, fop);
  struct gi_fd *fd = rep_fop_fd(fop);
  uint32_t mask = late_mask(rep, fd);

  if (!mask) {
    resume(fop, 0);
    return;
  }
  rep_fop_wait(rep, fop, resume);
  rep_fan_start(&rf->fan, rep, late_done, fop);
  rep_foreach(i, mask)
  {
    struct gi_fop *open = gi_fop_helper(fop, GI_FOP_OPEN);

    gi_fop_set_fd(open, fd);
    open->caller.stamps = 0; /* those are of what is done with it */
    open->args.flags = (uint32_t)fd->flags & ~(uint32_t)(O_CREAT | O_EXCL | O_TRUNC);
    gi_fan_send(&rf->fan, open, i, 0);
  }
  gi_fan_finish(&rf->fan);
}

/* ---- to everyone ---- */

static void
everywhere_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  int child = rep_first(fan->ok);
  int err = rep_fan_errno(fan);

  if (rep_quorum(rep, fan->ok)) {
    gi_reply_move(fop, gi_fan_reply(fan, child));
    gi_fan_clear(fan);
    gi_fop_answer(fop, rep->x);
    return;
  }
  gi_fan_clear(fan);
  rep_answer(rep, fop, -1, err);
}

static enum gi_verdict
everywhere(struct rep *rep, struct gi_fop *fop, uint32_t mask)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  rep_fan_start(fan, rep, everywhere_done, fop);
  gi_fan_copy(fan, fop, mask);
  return GI_HELD;
}

enum gi_verdict
rep_on_everywhere(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  return rep_ready(rep) ? everywhere(rep, fop, rep->up) : gi_fop_fail(fop, ENOTCONN);
}

/* ---- fsync of a directory ---- */

static void
fsyncdir_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  uint32_t good = fan->ok & rep_readable(rep, fop->fd->inode, true);

  GI_ASSERT(fop->kind == GI_FOP_FSYNCDIR);
  if (!rep_quorum(rep, fan->ok) || good) {
    everywhere_done(fan);
    return;
  }
  GI_PROBE("replicate: a directory was synced by no good copy");
  gi_fan_clear(fan);
  rep_answer(rep, fop, -1, EIO);
}

static void
fsyncdir_refreshed(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);

  GI_ASSERT(fop->fd && fop->fd->inode);
  if (err) {
    rep_answer(rep, fop, -1, err);
    return;
  }
  rep_fan_start(&rep_fop(rep, fop)->fan, rep, fsyncdir_done, fop);
  gi_fan_copy(&rep_fop(rep, fop)->fan, fop, rep->up);
}

/* Nobody is blamed who fails it alone: what a quorum has of names is right without a mark (doc/decisions/0013). But copies that have missed
 * something are no quorum of what was promised. */
enum gi_verdict
rep_on_fsyncdir(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (!fop->fd || !fop->fd->inode)
    return gi_fop_fail(fop, EINVAL);
  if (rep_inode_fresh(rep, fop->fd->inode))
    fsyncdir_refreshed(fop, 0);
  else
    rep_refresh(rep, fop, fop->fd->inode, fsyncdir_refreshed);
  return GI_HELD;
}

enum gi_verdict
rep_on_unsupported(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_fail(fop, EOPNOTSUPP);
}

/* ---- flush ---- */

/* A brick does nothing at a flush but drop the posix locks of the caller. If none was ever asked for on this inode through this
 * mount there is nothing to drop, and closing a file costs no round trip. The delayed post-op of the fd is sent now so that no
 * other client finds the file locked; the caller need not wait for it, as its writes are stored and marked dirty already. A child
 * that is away must not take the locks again when it is back, so it is told as well. */
enum gi_verdict
rep_on_flush(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct gi_inode *inode = rep_fop_inode(fop);
  struct rep_inode *ri = inode ? rep_inode(rep, inode) : NULL;
  struct rep_txn *t = ri ? ri->session[REP_DATA] : NULL;

  if (t && t->fd == fop->fd && !t->closing)
    rep_session_close(t);
  if (ri && !ri->locks_taken)
    return gi_fop_ok(fop, 0);
  return everywhere(rep, fop, rep->all);
}
