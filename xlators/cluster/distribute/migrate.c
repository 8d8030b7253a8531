/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a rebalance moves while they are used (distribute.md 9). While it
 * copies, the file has the sticky and the set-group-id bit and names its
 * target: what is changed is changed there too. When it is done the file is
 * left as a linkto file, or is gone: operations follow to the target, and
 * descriptors are opened there.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <fcntl.h>

#define TRIES 3
#define MODE_KEY "dht-get-mode-in-xattr"
#define TARGET_LIFE GI_NSEC_PER_SEC
#define MODE_WAIT (10 * GI_NSEC_PER_MSEC)
#define MODE_WAITS 100 /* then who moved it was killed: the source counts */

/* Who asks what the mode is: another client may have set it since it was learnt which of its bits are marks. */
#define TELLS_MODE (GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_SETATTR) | GI_KIND(GI_FOP_FSETATTR))

/* What must be done on both copies. */
#define CHANGES \
  (GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | GI_KIND(GI_FOP_SETATTR) | GI_KIND(GI_FOP_FSETATTR) | \
   GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR) | \
   GI_KIND(GI_FOP_XATTROP) | GI_KIND(GI_FOP_FXATTROP) | GI_KIND(GI_FOP_FSYNC))

/* ---- a move that did not end ---- */

/* Under the lock of moves: *comes says that the file that is there is still on its way to `child`, *lost that it was, and has lost its marks. 0, or
 * why nobody knows. */
static int
comes_from(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child, bool *comes,
           bool *lost, struct gi_iatt *stat)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  const struct gi_fop *reply;
  int err;

  di_find(d, fop, &object, 1ull << source, &f);
  reply = gi_fan_reply(&f.ask.fan, source);
  err = f.failed ? ENOTCONN : 0;
  *comes = f.file && di_is_moving(d, &reply->rsp.stat, reply->rsp.xdata) && di_linkto_target(d, reply) == (int)child;
  *lost = f.file && di_lost_marks(d, reply) && di_linkto_target(d, reply) == (int)child;
  *stat = reply->rsp.stat;
  di_found_end(&f);
  return err;
}

/* *unfinished: it has arrived on `child`, which names its source still. 0, or why nobody knows. */
static int
is_unfinished_at(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, bool *unfinished)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  int err;

  di_find(d, fop, &object, 1ull << child, &f);
  err = f.failed ? ENOTCONN : 0;
  *unfinished = f.file && di_is_unfinished(d, gi_fan_reply(&f.ask.fan, child));
  di_found_end(&f);
  return err;
}

/* What is given to the file after its mode: who was killed may not have come to that. An ACL may have changed the mode of the source since; of the
 * bits that are its marks the file has the owner's, as in `mode`. */
static int
bring_along(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat, uint32_t mode, unsigned source, unsigned child)
{
  struct gi_fop *set = di_own_fop(fop, GI_FOP_SETATTR, &stat->gfid);
  int err;

  set->args.valid = GI_SET_ATIME | GI_SET_MTIME | GI_SET_MODE;
  set->args.iatt = *stat;
  set->args.iatt.mode = (stat->mode & ~(uint32_t)DI_MOVING) | (mode & DI_MOVING);
  err = di_do_drop(d, set, child);
  if (!err)
    err = di_bring_size(d, fop, &stat->gfid, source, child);
  return err ? err : di_last_xattrs(d, fop, &stat->gfid, source, child);
}

/* Sets the mode of a linkto file. */
static struct gi_fop *
linkto_mode_fop(struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_SETATTR, gfid);

  h->args.valid = GI_SET_MODE;
  h->args.iatt.mode = S_IFREG | GI_LINKTO_MODE;
  return h;
}

static int
retire(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source)
{
  struct gi_fop *h = linkto_mode_fop(fop, gfid);

  h->caller.pid = GI_PID_REBALANCE;
  gi_dict_set_uint(gi_fop_xdata(h), GI_MOVED_KEY, 1);
  return di_do_drop(d, h, source);
}

/* The size of a file in blocks may be changed by adding to it only while there is one that counts. */
static int
lock_move(struct di *d, struct gi_fop *fop, struct di_locks *locks, const struct gi_gfid *gfid, unsigned source, bool wait)
{
  struct gi_loc object = {.gfid = *gfid};
  int err = di_lock(d, fop, locks, wait ? DI_LOCK_MIGRATE : DI_LOCK_MIGRATE_NOW, source, &object, NULL);

  return err ? err : di_lock(d, fop, locks, wait ? DI_LOCK_SIZE : DI_LOCK_SIZE_NOW, source, &object, NULL);
}

int
di_take_back(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned target)
{
  struct gi_loc object = {.gfid = *gfid};
  const struct gi_fop *reply;
  struct di_found f;
  bool copy, file;
  int err;

  GI_ASSERT(source != target);
  di_find(d, fop, &object, 1ull << target, &f);
  reply = gi_fan_reply(&f.ask.fan, target);
  err = f.failed ? ENOTCONN : 0;
  copy = f.file && di_is_unfinished(d, reply) && di_linkto_target(d, reply) == (int)source;
  file = f.file && !copy;
  di_found_end(&f);
  if (file)
    return EALREADY; /* it has moved: who set the mode of what that has left sets it there */
  if (!err && copy) {
    struct gi_fop *h = linkto_mode_fop(fop, gfid);

    h->caller.pid = GI_PID_REBALANCE;
    err = di_do_drop(d, h, target);
  }
  if (!err)
    err = di_xattr_drop(d, fop, gfid, source, d->linkto_key);
  return err ? err : di_xattr_drop(d, fop, gfid, source, d->mode_key);
}

/* The source was found so, or its target: under the lock it is looked at again. */
static int
take_back(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned target, bool wait)
{
  struct di_locks locks = {0};
  struct gi_iatt stat;
  bool comes, lost = false;
  int err = lock_move(d, fop, &locks, gfid, source, wait);

  if (!err)
    err = comes_from(d, fop, gfid, source, target, &comes, &lost, &stat);
  if (!err)
    err = lost ? di_take_back(d, fop, gfid, source, target) : EALREADY;
  di_unlock(d, fop, &locks);
  return !wait && err == EACCES ? EAGAIN : err;
}

int
di_finish_move(struct di *d, struct gi_fop *fop, const struct gi_fop *reply, unsigned child, bool wait, unsigned *source)
{
  struct gi_gfid gfid = reply->rsp.stat.gfid;
  struct di_locks locks = {0};
  struct gi_iatt stat;
  uint32_t mode = reply->rsp.stat.mode;
  bool comes = false, lost = false, unfinished = false;
  int from = di_linkto_target(d, reply), err;

  if (from < 0 || from == (int)child)
    return EALREADY; /* from where nobody can say */
  if (di_lost_marks(d, reply)) {
    *source = child;
    return take_back(d, fop, &gfid, child, (unsigned)from, wait);
  }
  *source = (unsigned)from;
  err = lock_move(d, fop, &locks, &gfid, *source, wait);
  if (!err)
    err = is_unfinished_at(d, fop, &gfid, child, &unfinished);
  if (!err && !unfinished)
    err = EALREADY; /* by who moves it, who may have only begun when it was found so */
  if (!err)
    err = comes_from(d, fop, &gfid, *source, child, &comes, &lost, &stat);
  if (!err && lost)
    err = di_take_back(d, fop, &gfid, *source, child);
  if (!err && comes) {
    err = bring_along(d, fop, &stat, mode, *source, child);
    if (!err)
      err = di_linkto_lead(d, fop, &gfid, *source, child); /* to those who missed it */
    if (!err)
      err = di_file_sync(d, fop, &gfid, child); /* or it is no file any more after a loss of power */
    if (!err)
      err = retire(d, fop, &gfid, *source);
  }
  if (!err && !lost)
    GI_IGNORE(di_xattr_drop(d, fop, &gfid, child, d->linkto_key)); /* then the next lookup does */
  di_unlock(d, fop, &locks);
  return !wait && (err == EACCES || err == EBUSY) ? EAGAIN : err; /* EBUSY: somebody has a lock of a user there */
}

int
di_arrived_at(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, int *at)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  const struct gi_fop *reply;
  bool unfinished = false;
  int target = -1, err;

  *at = -1;
  di_find(d, fop, &object, 1ull << child, &f);
  reply = gi_fan_reply(&f.ask.fan, child);
  err = f.failed ? ENOTCONN : 0;
  if (f.file && di_is_source(d, reply))
    target = di_linkto_target(d, reply);
  di_found_end(&f);
  if (!err && target >= 0 && target != (int)child)
    err = is_unfinished_at(d, fop, gfid, (unsigned)target, &unfinished);
  if (!err && unfinished)
    *at = target;
  return err;
}

void
di_end_move(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned at)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  unsigned source;

  GI_ASSERT(at < d->n);
  di_find(d, fop, &object, 1ull << at, &f);
  if (f.file && di_is_unfinished(d, gi_fan_reply(&f.ask.fan, at)))
    GI_IGNORE(
        di_finish_move(d, fop, gi_fan_reply(&f.ask.fan, at), at, true, &source)); /* who looks again sees what came of it */
  di_found_end(&f);
}

/* ---- descriptors ---- */

static bool
open_at(const struct di *d, struct gi_fd *fd, const struct gi_xlator *child)
{
  struct di_fd *df;

  if (!fd || fd->anonymous)
    return true;
  df = di_fd_of(d, fd);
  if (!df->known) {
    df->known = true;
    df->at[0] = d->sole;
  }
  return df->at[0] == child || df->at[1] == child;
}

void
di_opened(struct di *d, struct gi_fd *fd, struct gi_xlator *child)
{
  struct di_fd *df = di_fd_of(d, fd);

  if (!df->known)
    df->at[0] = child;
  else if (df->at[0] != child)
    df->at[1] = child;
  df->known = true;
}

static int
open_now(struct di *d, struct gi_fop *fop, struct gi_fd *fd, struct gi_xlator *child)
{
  int k = di_index(d, child), err;
  struct gi_fop *h;

  if (k < 0)
    return ENOTCONN;
  h = di_helper(fop, GI_FOP_OPEN); /* whoever has it open may go on, whatever its mode is now */
  h->caller.stamps = 0;
  gi_fop_set_fd(h, fd);
  h->args.flags = (uint32_t)fd->flags & ~(uint32_t)(O_CREAT | O_EXCL | O_TRUNC);
  err = di_do_drop(d, h, (unsigned)k);
  if (!err)
    di_opened(d, fd, child);
  return err;
}

static int
open_there(struct di *d, struct gi_fop *fop, struct gi_fd *fd, struct gi_xlator *child)
{
  int err;

  if (!fd || fd->anonymous)
    return 0;
  di_fd_turn(d, fd); /* by another operation: twice would be once too often */
  err = open_at(d, fd, child) ? 0 : open_now(d, fop, fd, child);
  di_fd_turn_over(d, fd);
  return err;
}

bool
di_ready_at(const struct di *d, struct gi_fop *fop, const struct gi_xlator *child)
{
  return fop->kind == GI_FOP_OPEN || open_at(d, fop->fd, child);
}

/* ---- where it is now ---- */

int
di_ask_target(struct di *d, struct gi_fop *fop, struct gi_inode *inode, unsigned child, int *target, uint32_t *mode)
{
  struct gi_loc loc = {.gfid = inode->gfid, .inode = inode};
  struct di_found f;
  struct gi_fop *reply;
  int err;

  di_find(d, fop, &loc, 1ull << child, &f);
  reply = gi_fan_reply(&f.ask.fan, child);
  err = reply->rsp.ret < 0 ? reply->rsp.err : 0;
  *target = -1;
  *mode = err ? 0 : reply->rsp.stat.mode;
  if (!err)
    di_know_marks(d, reply);
  if (!err && (di_is_linkto(d, reply) || di_is_moving(d, &reply->rsp.stat, reply->rsp.xdata)))
    *target = di_linkto_target(d, reply);
  di_found_end(&f);
  return err;
}

int
di_find_again(struct di *d, struct gi_fop *fop, struct gi_inode *inode, const struct gi_xlator *left)
{
  struct di_inode *i = di_inode_of(d, inode);
  struct gi_xlator *was = i->cached;
  int err;

  GI_ASSERT(!i->layout || !was);
  if (was && was != left)
    return 0; /* another operation has found it */
  i->cached = NULL;
  i->target = NULL;
  err = di_locate(d, fop, inode);
  if (!err && !i->cached)
    err = ESTALE;
  if (err)
    i->cached = i->cached || i->layout ? i->cached : was;
  return !err && i->cached == left ? EALREADY : err;
}

/* ---- an operation whose reply says that the file is on the move ---- */

static enum gi_verdict
as_it_was(struct di *d, struct gi_fop *fop)
{
  struct di_fop *df = di_fop_of(fop, d);

  gi_reply_move(fop, df->first);
  return GI_ANSWERED;
}

/* But for the marks. */
static enum gi_verdict
as_its_owner_sees_it(struct di *d, struct gi_fop *fop)
{
  as_it_was(d, fop);
  di_hide_marks(d, fop, &gi_fop_inode(fop)->gfid);
  return GI_ANSWERED;
}

/* A subvolume copies what it has: when one of the files has just moved who asked copies by reading and writing, which follow it. */
static int
or_by_hand(const struct gi_fop *fop, int err)
{
  return fop->kind == GI_FOP_COPY_FILE_RANGE && (di_is_gone(err) || err == EBADF) ? EXDEV : err;
}

/* As an operation of its own: what those below have kept of the first try is not theirs to find, and it may go to the same subvolume. */
static enum gi_verdict
once_more(struct di *d, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  struct gi_xlator *child = di_inode_of(d, inode)->cached;
  struct di_fop *df = di_fop_of(fop, d);
  int err = fop->kind == GI_FOP_OPEN ? 0 : open_there(d, fop, fop->fd, child), k = di_index(d, child);

  if (err || k < 0)
    return gi_fop_fail(fop, err ? or_by_hand(fop, err) : ENOTCONN);
  gi_fop_unref(df->first);
  df->first = NULL;
  df->to = child;
  df->tries++;
  gi_reply_clear(&fop->rsp);
  GI_IGNORE(di_pass(d, fop, (unsigned)k)); /* the reply says it */
  return di_file_done(d->x, fop) == GI_HELD ? GI_HELD : GI_ANSWERED;
}

static enum gi_verdict
after_gone(struct di *d, struct gi_fop *fop)
{
  return di_find_again(d, fop, gi_fop_inode(fop), di_fop_of(fop, d)->to) == 0 ? once_more(d, fop)
                                                                              : as_its_owner_sees_it(d, fop);
}

/* The descriptor is not open there, whatever was taken for true. */
static enum gi_verdict
after_closed(struct di *d, struct gi_fop *fop)
{
  struct di_fd *df = di_fd_of(d, fop->fd);
  struct gi_xlator *to = di_fop_of(fop, d)->to;

  if (df->at[0] == to)
    df->at[0] = df->at[1];
  if (df->at[1] == to)
    df->at[1] = df->at[0] == to ? NULL : df->at[0];
  if (df->at[0] == to)
    df->at[0] = NULL;
  return di_inode_of(d, gi_fop_inode(fop))->cached ? once_more(d, fop) : as_it_was(d, fop);
}

/* What was done was done to what is left of it on the source: that is not told as a success unless the file is nowhere else. */
static enum gi_verdict
after_moved(struct di *d, struct gi_fop *fop)
{
  struct di_fop *df = di_fop_of(fop, d);
  struct gi_inode *inode = gi_fop_inode(fop);
  uint32_t mode;
  int target, k = di_index(d, df->to), err = k < 0 ? ESTALE : di_ask_target(d, fop, inode, (unsigned)k, &target, &mode);

  if (!err && target < 0 && gi_has_linkto_mode(mode)) {
    /* Its owner gave it that mode, unless it is elsewhere and this lacks its attribute. */
    err = di_find_again(d, fop, inode, df->to);
    if (err == EALREADY || di_is_gone(err))
      return as_it_was(d, fop);
    if (!err && df->tries == TRIES)
      err = EIO;
    return err ? gi_fop_fail(fop, err) : once_more(d, fop);
  }
  if (!err && target < 0 && fop->fd && !fop->fd->anonymous && df->tries < TRIES)
    return after_closed(d, fop); /* it has come back since, and what is open is what was left of it when it went */
  if (err || target >= 0)
    err = di_find_again(d, fop, inode, df->to);
  if (di_is_gone(err))
    return as_it_was(d, fop); /* removed: who has it open goes on with what is open */
  if (err == EALREADY)
    err = 0;
  if (!err && df->tries == TRIES)
    err = EIO;
  return err ? gi_fop_fail(fop, err) : once_more(d, fop);
}

/* A descriptor that was opened there for an earlier move may be of what that has left, which is none of the file's names any more: nothing in
 * a reply tells it from the file that comes to be there now. So the target is named by its gfid. */
static void
name_target(struct gi_fop *h)
{
  struct gi_fd *fd;

  if (!h->fd || h->fd->anonymous)
    return;
  if (h->kind == GI_FOP_WRITE)
    h->args.flags |= (uint32_t)h->fd->flags & (O_APPEND | O_DIRECT | O_SYNC | O_DSYNC);
  fd = gi_fd_anonymous(h->graph, h->fd->inode);
  gi_fd_unref(&h->fd);
  gi_fop_set_fd(h, fd);
  gi_fd_unref(&fd);
}

static bool
gives_acl(const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_SETXATTR || fop->kind == GI_FOP_FSETXATTR) && gi_dict_get(fop->args.dict, DI_ACL_KEY);
}

/* What the source had, or had not, the target may have otherwise: its own attributes it gets at last. */
static int
repeat_xattr(struct di *d, struct gi_fop *h, unsigned target)
{
  int err;

  if (h->kind == GI_FOP_SETXATTR || h->kind == GI_FOP_FSETXATTR)
    h->args.flags = 0;
  err = di_do_drop(d, h, target);
  return err == ENODATA ? 0 : err;
}

/* An open empties the file, and tells what it has left if all bricks are ours. */
static bool
empties(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_OPEN && fop->args.flags & O_TRUNC;
}

static int
empty_there(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned target)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_TRUNCATE);

  h->loc.gfid = *gfid;
  return di_do_drop(d, h, target);
}

/* The change is made on the target as well, as root: the source has allowed it, and the target has a linkto file's mode. 0, or why not. */
static int
repeat(struct di *d, struct gi_fop *fop, unsigned target)
{
  struct gi_fop *h;

  GI_ASSERT(d->x->children[target] != di_fop_of(fop, d)->to);
  if (fop->kind == GI_FOP_OPEN)
    return empty_there(d, fop, &gi_fop_inode(fop)->gfid, target);
  h = gi_fop_child(fop);
  h->caller.uid = h->caller.gid = 0;
  gi_caller_detach(&h->caller);
  h->args.valid &= ~GI_SET_MODE;
  name_target(h);
  return repeat_xattr(d, h, target);
}

/* The source says where it goes: 0 and -1 in *target if it does not say so any more. */
static int
learn_target(struct di *d, struct gi_fop *fop, struct gi_inode *inode, int *target)
{
  struct di_inode *i = di_inode_of(d, inode);
  int k = di_index(d, di_fop_of(fop, d)->to), err;
  uint32_t mode;

  *target = -1;
  err = k < 0 ? ESTALE : di_ask_target(d, fop, inode, (unsigned)k, target, &mode);
  if (*target == k)
    *target = -1;
  i->target = *target < 0 ? NULL : d->x->children[*target];
  i->target_asked = gi_now(d->x->reactor);
  return err;
}

/* Where it goes from `source`, by what was learnt a moment ago; -1: that is to be asked. One rebalance may have given up, and another one move
 * it elsewhere; or it has arrived there since, and moves on. */
static int
known_target(const struct di *d, const struct di_inode *i, const struct gi_xlator *source)
{
  bool fresh = i->target && i->target != source && gi_now(d->x->reactor) - i->target_asked < TARGET_LIFE;

  return fresh ? di_index(d, i->target) : -1;
}

static enum gi_verdict
while_moving(struct di *d, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  bool change = (CHANGES & GI_KIND(fop->kind) || empties(fop)) && !GI_BROKEN("change the source of a move alone"),
       asked = false;
  bool tells = TELLS_MODE & GI_KIND(fop->kind);
  int target = tells ? -1 : known_target(d, di_inode_of(d, inode), di_fop_of(fop, d)->to), err;

  do {
    err = 0;
    if (target < 0) {
      asked = true;
      err = learn_target(d, fop, inode, &target);
    }
    if (di_is_gone(err) && (change || tells) && di_fop_of(fop, d)->tries < TRIES)
      return after_gone(d, fop); /* the move has ended meanwhile: the target may lack the change */
    if (err && change)
      return gi_fop_fail(fop, err);
    if (err || target < 0)
      return as_its_owner_sees_it(d, fop);
    err = change ? repeat(d, fop, (unsigned)target) : 0;
    target = -1;
  } while (di_is_gone(err) && !asked);
  if (err && !di_is_gone(err)) /* gone, though the source has just named it: nobody moves it any more */
    return gi_fop_fail(fop, err);
  return as_its_owner_sees_it(d, fop);
}

/* The mode of the source now; *named: it names a target, whatever its mode says; *file: what is there is no linkto file (any more). 0 or errno. */
static int
ask_both(struct di *d, struct gi_fop *fop, struct gi_inode *inode, unsigned child, uint32_t *mode, bool *named, bool *file)
{
  struct gi_loc loc = {.gfid = inode->gfid, .inode = inode};
  struct di_found f;
  struct gi_fop *reply;
  int err, target;

  *named = *file = false;
  di_find(d, fop, &loc, 1ull << child, &f);
  reply = gi_fan_reply(&f.ask.fan, child);
  err = reply->rsp.ret < 0 ? reply->rsp.err : 0;
  target = err ? -1 : di_linkto_target(d, reply);
  *mode = err ? 0 : reply->rsp.stat.mode;
  if (!err)
    di_know_marks(d, reply);
  di_found_end(&f);
  if (target < 0 || target == (int)child)
    return err;
  *named = true;
  di_find(d, fop, &loc, 1ull << target, &f);
  *file = f.file && !gi_has_linkto_mode(gi_fan_reply(&f.ask.fan, (unsigned)target)->rsp.stat.mode);
  di_found_end(&f);
  return 0;
}

/* The mode was set on a file that was on the move, and took the marks away, or on what a move has left. Who moves it sees the first, unless the
 * target has become the file by then: so that is waited for, until the source is what is left, or the marks are there again. An ACL is a mode
 * too, which leaves the marks; and as the mode of the target says whether that is the file yet it is not set there before. */
static enum gi_verdict
after_mode(struct di *d, struct gi_fop *fop)
{
  struct di_fop *df = di_fop_of(fop, d);
  struct gi_inode *inode = gi_fop_inode(fop);
  bool left = gi_has_linkto_mode(df->first->rsp.pre.mode), acl = gives_acl(fop), named, file;
  uint32_t mode;

  for (unsigned i = 0; i < MODE_WAITS; i++) {
    int k = di_index(d, df->to), err = k < 0 ? ESTALE : ask_both(d, fop, inode, (unsigned)k, &mode, &named, &file);

    if (di_is_gone(err))
      return after_gone(d, fop);
    if (err)
      return gi_fop_fail(fop, err);
    if (left && named && !gi_has_linkto_mode(mode) && file) {
      GI_IGNORE(di_do_drop(d, linkto_mode_fop(fop, &inode->gfid), (unsigned)k)); /* the file is where it leads all the same */
      return after_moved(d, fop);
    }
    if (named && gi_has_linkto_mode(mode))
      return after_moved(d, fop);
    if (!named || !file || (!acl && (mode & DI_MOVING) == DI_MOVING))
      break;
    gi_task_sleep(d->x->reactor, MODE_WAIT);
  }
  di_inode_of(d, inode)->target = NULL; /* who marks it anew does so with another mode */
  return acl ? as_its_owner_sees_it(d, fop) : as_it_was(d, fop);
}

/* An open emptied what is there, and bricks do not say what that is. */
static enum gi_verdict
after_emptied(struct di *d, struct gi_fop *fop)
{
  uint32_t mode;
  int target, k = di_index(d, di_fop_of(fop, d)->to),
              err = k < 0 ? ESTALE : di_ask_target(d, fop, gi_fop_inode(fop), (unsigned)k, &target, &mode);

  if (di_is_gone(err))
    return after_gone(d, fop);
  if (err)
    return gi_fop_fail(fop, err);
  if (gi_has_linkto_mode(mode))
    return after_moved(d, fop);
  return target >= 0 ? while_moving(d, fop) : as_it_was(d, fop);
}

static enum gi_verdict
think(struct di *d, struct gi_fop *fop, di_task_fn *fn)
{
  struct di_fop *df = di_fop_of(fop, d);

  GI_ASSERT(!df->first);
  df->first = gi_fop_helper(fop, fop->kind);
  gi_reply_move(df->first, fop);
  df->first->rsp.synced = GI_NOT_SYNCED; /* not on both, if it is done on another, too */
  return di_run(d, fop, fn);
}

/* Those above have the lock of its size, if it is that, where it was sent to. */
static void
size_locked(struct di *d, struct gi_fop *fop)
{
  GI_ASSERT(fop->kind == GI_FOP_INODELK && fop->rsp.ret >= 0);
  if (gi_fop_inode(fop) && fop->args.type != GI_LK_UNLOCK && di_keeps_size(d, fop))
    di_inode_of(d, gi_fop_inode(fop))->size_at = di_fop_of(fop, d)->to;
}

/* The mode in the reply of an XATTROP, which has no attributes. */
static const struct gi_iatt *
attr_of_xattrop(const struct gi_fop *fop, struct gi_iatt *a)
{
  int64_t mode;

  if (!gi_dict_get_int(fop->rsp.xdata, MODE_KEY, &mode))
    return NULL;
  *a = (struct gi_iatt){.mode = (uint32_t)mode};
  return a;
}

enum gi_verdict
di_xattrop(struct gi_xlator *x, struct gi_fop *fop)
{
  if (di_of(x)->spread)
    gi_dict_set_int(gi_fop_xdata(fop), MODE_KEY, 0);
  return di_on_inode(x, fop);
}

static bool
on_the_move(const struct gi_iatt *a)
{
  return a && gi_iatt_valid(a) && S_ISREG(a->mode) && (gi_has_linkto_mode(a->mode) || (a->mode & DI_MOVING) == DI_MOVING);
}

static bool
sets_mode(const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_SETATTR || fop->kind == GI_FOP_FSETATTR) && fop->args.valid & GI_SET_MODE;
}

/* What it has set is a mode of the source alone, where there are two. */
static bool
set_mode_of_source(const struct gi_fop *fop, const struct gi_iatt *now)
{
  if (sets_mode(fop))
    return on_the_move(&fop->rsp.pre) && !on_the_move(now);
  return gives_acl(fop) && (on_the_move(&fop->rsp.pre) || on_the_move(now));
}

/* What was copied into a file that moves must get to where that goes, and what was copied from one that has moved may be old. The ranges do
 * not overlap, so it may be done again. */
static enum gi_verdict
copied(struct gi_fop *fop)
{
  int err = fop->rsp.ret < 0 ? or_by_hand(fop, fop->rsp.err) : 0;

  if (!err && (on_the_move(gi_reply_attr(fop, GI_OF_OBJECT)) || on_the_move(gi_reply_attr(fop, GI_OF_OBJECT2))))
    err = EXDEV;
  if (err) {
    gi_reply_clear(&fop->rsp);
    fop->rsp.ret = -1;
    fop->rsp.err = err;
  }
  return GI_PASS;
}

enum gi_verdict
di_file_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  struct di_fop *df = di_fop_of(fop, d);
  struct gi_iatt told;
  const struct gi_iatt *a;

  GI_ASSERT(df->to && df->tries <= TRIES);
  if (fop->kind == GI_FOP_COPY_FILE_RANGE)
    return copied(fop);
  if (fop->rsp.ret < 0 && fop->rsp.err == EBADF && fop->fd && !fop->fd->anonymous && fop->kind != GI_FOP_OPEN &&
      df->tries < TRIES)
    return think(d, fop, after_closed);
  if (fop->rsp.ret < 0)
    return (fop->rsp.err == ENOENT || fop->rsp.err == ESTALE) && df->tries < TRIES ? think(d, fop, after_gone) : GI_PASS;
  if (fop->kind == GI_FOP_OPEN && fop->fd)
    di_opened(d, fop->fd, df->to);
  if (fop->kind == GI_FOP_INODELK)
    size_locked(d, fop);
  if (empties(fop))
    a = gi_iatt_valid(&fop->rsp.post) ? &fop->rsp.post : NULL;
  else
    a = fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP ? attr_of_xattrop(fop, &told)
                                                                    : gi_reply_attr(fop, GI_OF_OBJECT);
  if (empties(fop) && !a && d->spread && df->tries < TRIES)
    return think(d, fop, after_emptied);
  if (set_mode_of_source(fop, a) && df->tries < TRIES)
    return think(d, fop, after_mode);
  if (!a || !(a->mode & S_ISVTX) || !S_ISREG(a->mode))
    return GI_PASS;
  if (gi_has_linkto_mode(a->mode))
    return think(d, fop, after_moved);
  return (a->mode & DI_MOVING) == DI_MOVING ? think(d, fop, while_moving) : GI_PASS;
}

/* ---- a descriptor that is not open where the file is ---- */

enum gi_verdict
di_reopen(struct di *d, struct gi_fop *fop)
{
  return once_more(d, fop);
}
