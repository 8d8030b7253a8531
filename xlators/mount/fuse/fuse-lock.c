/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: fcntl and flock. A blocking one that waits in a queue on the bricks
 * can be interrupted: the interruption is passed on as a cancellation.
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
lock_fop(fuse_req_t req, struct fuse_file_info *fi, const struct flock *lock, uint32_t cmd)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return NULL;

  struct gi_fop *fop = op_new(b, req, GI_FOP_LK);

  gi_fop_set_fd(fop, fd);
  op_set_owner(fop, fi->lock_owner);
  fop->args.cmd = cmd;
  fill_flock(fop, lock);
  return fop;
}

static void
getlk_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = x->private;
  struct op *op = op_of(b, fop);
  const struct gi_flock *f = &fop->rsp.flock;
  struct flock lock = {
      .l_type = f->type == GI_LK_READ ? F_RDLCK : f->type == GI_LK_WRITE ? F_WRLCK : F_UNLCK,
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
  struct gi_fop *fop = lock_fop(req, fi, lock, GI_LKCMD_GET);

  if (fop)
    op_submit(bridge_of_req(req), fop, getlk_done);
}

/* ---- setting ---- */

static void
cancel_now(void *arg)
{
  gi_fop_cancel(arg);
}

/* libfuse calls this with a lock of the request held, so the answer must not be written from here. */
static void
interrupted(fuse_req_t req, void *arg)
{
  struct gi_fop *fop = arg;
  struct bridge *b = bridge_of_req(req);
  struct op *op = op_of(b, fop);

  gi_defer_add(b->x->reactor, &op->cancel);
}

static void
setlk_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = x->private;
  struct op *op = op_of(b, fop);

  if (fop->rsp.ret >= 0 && fop->args.type != GI_LK_UNLOCK)
    node_of(b, fop->fd->inode)->locked = true;
  if (op->cancellable)
    fuse_req_interrupt_func(op->req, NULL, NULL);
  done_status_node(fop, arg);
}

static void
set_lock(fuse_req_t req, struct fuse_file_info *fi, const struct flock *lock, bool wait)
{
  struct bridge *b = bridge_of_req(req);
  bool unlock = lock->l_type == F_UNLCK;
  struct gi_fop *fop = lock_fop(req, fi, lock, wait || unlock ? GI_LKCMD_SETW : GI_LKCMD_SET);

  if (!fop)
    return;
  if (wait && !unlock) {
    struct op *op = op_of(b, fop);

    gi_defer_init(&op->cancel, cancel_now, fop);
    op->cancellable = true;
    fuse_req_interrupt_func(req, interrupted, fop);
  }
  op_submit(b, fop, setlk_done);
}

void
do_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep)
{
  set_lock(req, fi, lock, sleep != 0);
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
  set_lock(req, fi, &lock, !(cmd & LOCK_NB));
}
