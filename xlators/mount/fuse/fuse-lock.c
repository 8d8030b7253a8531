/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: fcntl and flock. A blocking lock that waits in a queue on the bricks can
 * be interrupted: the interruption is passed on as a cancellation.
 *
 * The holder of a lock sees everything that was written under it before: in the
 * locked file, in the other files that the process has open, and in those it opens
 * later. So before the kernel hears of the grant, the attributes of these files
 * are looked at, and the kernel has dropped the pages that they show to be old. With
 * kernel write-back, what was written under a lock is on the bricks before the
 * lock is released.
 */
#include "fuse-internal.h"

#include <sys/file.h>

static void
fill_flock(struct gi_fop *fop, const struct flock *lock)
{
  struct gi_flock *f = &fop->args.flock;

  f->type = lock->l_type == F_RDLCK ? GI_LK_READ : lock->l_type == F_WRLCK ? GI_LK_WRITE : GI_LK_UNLOCK;
  f->start = (uint64_t)lock->l_start;
  f->len = (uint64_t)lock->l_len; /* libfuse gives 0 for a range to the end */
  f->pid = (uint32_t)lock->l_pid;
  f->owner = fop->caller.owner;
  fop->args.type = f->type;
}

static struct gi_fop *
lock_fop(fuse_req_t req, struct fuse_file_info *fi, const struct flock *lock, uint32_t cmd, enum gi_lock_space space)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return NULL;

  struct gi_fop *fop = op_new(b, req, GI_FOP_LK);

  gi_fop_set_fd(fop, fd);
  op_set_owner(fop, fi->lock_owner);
  fop->args.cmd = cmd;
  fop->args.flags = space;
  fill_flock(fop, lock);
  return fop;
}

static void
getlk_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  const struct gi_flock *f = &fop->rsp.flock;
  struct flock lock = {
      .l_type = f->type == GI_LK_READ    ? F_RDLCK
                : f->type == GI_LK_WRITE ? F_WRLCK
                                         : F_UNLCK,
      .l_whence = SEEK_SET,
      .l_start = (off_t)f->start,
      .l_len = (off_t)f->len,
      .l_pid = (pid_t)f->pid,
  };

  if (fop->rsp.ret < 0)
    reply_err(b, op->req, err_of_node(fop));
  else
    reply_result(b, fuse_reply_lock(op->req, &lock));
  op_end(b, fop);
}

void
do_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
  struct gi_fop *fop = lock_fop(req, fi, lock, GI_LKCMD_GET, GI_LOCK_FCNTL);

  if (fop)
    op_submit(bridge_of_req(req), fop, getlk_done);
}

/* ---- setting ---- */

static void
one_looked_at(struct bridge *b, void *arg)
{
  struct gi_fop *lock = arg;
  struct op *op = op_of(b, lock);

  GI_ASSERT(op->looks > 0 && op->req);
  if (--op->looks > 0)
    return;
  reply_err(b, op->req, 0);
  op_end(b, lock);
}

static void
looked_at(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *lock = fop->parent;

  GI_ASSERT(lock && lock->kind == GI_FOP_LK && op_of(b, lock)->looks > 0);
  if (fop->rsp.ret >= 0 && node_is_current(b, fop->fd->inode, &fop->rsp.stat, op_of(b, fop)->seq))
    one_looked_at(b, lock);
  else
    inval_inode_then(b, fop->fd->inode, one_looked_at, lock);
  op_end(b, fop);
}

static void
look_at(struct bridge *b, struct gi_fop *lock, struct gi_fd *fd)
{
  struct node *n = node_of(b, fd->inode);
  struct gi_fop *look;

  GI_ASSERT(op_of(b, lock)->looks > 0); /* or the lock would be told before */
  if (!gi_trust_look_for_lock(&b->order, &n->trust))
    return;
  op_of(b, lock)->looks++;
  look = gi_fop_helper(lock, GI_FOP_FSTAT);
  gi_fop_set_fd(look, fd);
  op_submit(b, look, looked_at);
}

struct looking {
  struct bridge *b;
  struct gi_fop *lock;
};

static void
look_at_one(void *arg, struct handle *h)
{
  struct looking *l = arg;

  look_at(l->b, l->lock, h->fd);
}

/* What a lock protects need not be in the file that is locked. */
static void
look_at_all(struct bridge *b, struct gi_fop *lock)
{
  struct looking l = {b, lock};

  b->order.locks++;
  op_of(b, lock)->looks = 1; /* until all are sent */
  look_at(b, lock, lock->fd);
  if (!bridge_options(b)->kernel_writeback_cache)
    opener_foreach(&b->openers, lock->caller.pid, look_at_one, &l);
  one_looked_at(b, lock);
}

/* EINTR makes the kernel begin the call again for the signal that has come. Without one, when an administrator has cleared the lock, the
 * application would be told a number that is the kernel's own. */
static void
nobody_interrupted(struct gi_fop *fop, fuse_req_t req)
{
  if (fop->rsp.ret < 0 && fop->rsp.err == EINTR && !fuse_req_interrupted(req))
    fop->rsp.err = EAGAIN;
}

static void
setlk_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  struct node *n = node_of(b, fop->fd->inode);

  GI_ASSERT(op->looks == 0);
  op_uninterruptible(b, fop);
  if (fop->rsp.ret < 0 || fop->args.type == GI_LK_UNLOCK) {
    nobody_interrupted(fop, op->req);
    done_status_node(fop, arg);
    return;
  }
  n->locked = true;
  n->wrote_locked |= bridge_options(b)->kernel_writeback_cache && fop->args.type == GI_LK_WRITE;
  look_at_all(b, fop);
}

static void
send_lock(struct bridge *b, void *arg)
{
  struct gi_fop *fop = arg;

  if (fop->args.cmd == GI_LKCMD_SETW && fop->args.type != GI_LK_UNLOCK)
    op_interruptible(b, fop);
  op_submit(b, fop, setlk_done);
}

static void
set_lock(fuse_req_t req, struct fuse_file_info *fi, const struct flock *lock, bool wait, enum gi_lock_space space)
{
  struct bridge *b = bridge_of_req(req);
  bool unlock = lock->l_type == F_UNLCK;
  struct gi_fop *fop = lock_fop(req, fi, lock, wait || unlock ? GI_LKCMD_SETW : GI_LKCMD_SET, space);
  struct node *n;

  if (!fop)
    return;
  n = node_of(b, fop->fd->inode);
  if (!n->wrote_locked || fop->args.type == GI_LK_WRITE) {
    send_lock(b, fop);
    return;
  }
  n->wrote_locked = false; /* the kernel writes pages back before it drops them */
  inval_inode_then(b, fop->fd->inode, send_lock, fop);
}

void
do_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep)
{
  set_lock(req, fi, lock, sleep != 0, GI_LOCK_FCNTL);
}

void
do_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int cmd)
{
  struct flock lock = {.l_whence = SEEK_SET, .l_pid = fuse_req_ctx(req)->pid};

  switch (cmd & ~LOCK_NB) {
  case LOCK_SH:
    lock.l_type = F_RDLCK;
    break;
  case LOCK_EX:
    lock.l_type = F_WRLCK;
    break;
  case LOCK_UN:
    lock.l_type = F_UNLCK;
    break;
  default:
    reply_err(bridge_of_req(req), req, EINVAL);
    return;
  }
  set_lock(req, fi, &lock, !(cmd & LOCK_NB), GI_LOCK_FLOCK);
}
