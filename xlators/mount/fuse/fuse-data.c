/* SPDX-License-Identifier: Apache-2.0
 *
 * Open files: open, read, write, flush, release, fsync, and what moves or
 * allocates bytes.
 */
#include "fuse-internal.h"

#include <linux/falloc.h>
#include <linux/fuse.h>

/* ---- open ---- */

int
open_flags(const struct bridge *b, int flags)
{
  flags &= ~(O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC | 0100000 /* O_LARGEFILE as the kernel means it */);
  if (!bridge_options(b)->kernel_writeback_cache)
    return flags;
  /* The kernel completes partial pages by reading and appends at its own size (fuse.md 6). Through whatever handle is at hand it
   * writes pages that need not fill blocks, which a file opened O_DIRECT on a brick would refuse. */
  flags &= ~(O_APPEND | O_DIRECT);
  if ((flags & O_ACCMODE) == O_WRONLY)
    flags = (flags & ~O_ACCMODE) | O_RDWR;
  return flags;
}

/* A record appended must reach the bricks in one WRITE, for each is appended for itself there. Through its page cache the kernel makes
 * two of a record that crosses the end of a page. Where a file opened past the cache cannot be mapped shared, one that may be
 * read keeps the cache. */
static bool
appends_whole(const struct bridge *b, int flags)
{
  return (flags & O_APPEND) && ((flags & O_ACCMODE) == O_WRONLY || (b->init_offered & COMPAT_DIRECT_IO_ALLOW_MMAP));
}

/* The kernel lets only one writer of a file through its page cache at a time, also when a program bypasses that by O_DIRECT. */
static bool
writes_directly(const struct bridge *b, int flags)
{
  return (flags & O_DIRECT) && (b->init_offered & COMPAT_DIRECT_IO_ALLOW_MMAP);
}

void
open_caching(struct bridge *b, const struct gi_inode *inode, int flags, struct fuse_file_info *fi)
{
  struct node *n = node_of(b, inode);

  fi->direct_io = b->direct_io || appends_whole(b, flags) || writes_directly(b, flags);
  fi->keep_cache = gi_trust_take_data(&n->trust) && b->keep_cache;
  n->opened = true;
}

/* Direct writes may come at once, for the bricks put those that overlap in order; libfuse 3.14 does not know that flag. An older kernel
 * ignores it. */
static int
reply_open(fuse_req_t req, const struct fuse_file_info *fi)
{
  struct fuse_open_out out = {.fh = fi->fh};
  struct iovec iov = {&out, sizeof(out)};

  if (fi->keep_cache)
    out.open_flags |= FOPEN_KEEP_CACHE;
  if (fi->direct_io)
    out.open_flags |= FOPEN_DIRECT_IO | (fi->flags & O_APPEND ? 0 : FOPEN_PARALLEL_DIRECT_WRITES);
  return fuse_reply_iov(req, &iov, 1);
}

static void
open_reply(struct bridge *b, struct gi_fop *fop)
{
  struct fuse_file_info fi = {.flags = fop->fd->flags};

  GI_ASSERT(fop->kind == GI_FOP_OPEN && fop->rsp.ret >= 0);
  handle_open(b, fop->fd);
  open_caching(b, fop->fd->inode, fop->fd->flags, &fi);
  fi.direct_io |= fop->fd->stream;
  fi.fh = handle_of(b, fop->fd)->id;
  if (reply_result(b, reply_open(op_of(b, fop)->req, &fi)) != 0)
    handle_close(b, fop->fd);
}

static void open_done(struct gi_fop *fop, void *arg);

#define NAMELESS_NS GI_NSEC_PER_SEC

/* The kernel opens what it believes a name to be, which another mount may have removed while somebody has the file open: then the caller
 * is to get what has the name now, or to make it. ESTALE has the kernel look again. Who comes back to the same file after that has come
 * by no name (/proc/self/fd) and means it. */
static bool
comes_by_name(struct bridge *b, struct gi_inode *inode, uint32_t pid)
{
  return !gi_trust_means_nameless(&node_of(b, inode)->trust, pid, gi_now(b->x->reactor));
}

static void
told_nameless(struct bridge *b, const struct gi_fop *fop)
{
  if (err_of_node(fop) == ESTALE && gi_dict_get(fop->xdata, GI_NAMED_KEY))
    gi_trust_nameless(&node_of(b, fop->fd->inode)->trust, (uint32_t)fop->caller.pid, gi_now(b->x->reactor) + NAMELESS_NS);
}

/* Our bricks send the attributes along with the answer. They tell nothing while changes of ours are under way, and the open would have to come
 * after those. */
static bool
wants_attributes(const struct bridge *b, const struct gi_inode *inode, int flags)
{
  const struct gi_trust *t = &node_of(b, inode)->trust;

  return t->known && t->inflight == 0 && S_ISREG(inode->mode) && !(flags & O_TRUNC) &&
         !bridge_options(b)->kernel_writeback_cache;
}

static struct gi_fop *
open_fop(struct bridge *b, fuse_req_t req, struct gi_inode *inode, int flags)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_OPEN);
  struct gi_fd *fd = gi_fd_new(b->x->graph, inode, flags, fop->caller.pid);

  gi_fop_set_fd(fop, fd);
  gi_fd_unref(&fd);
  fop->args.flags = (uint32_t)flags;
  if (comes_by_name(b, inode, (uint32_t)fop->caller.pid))
    gi_dict_set_int(gi_fop_xdata(fop), GI_NAMED_KEY, 1);
  if (wants_attributes(b, inode, flags))
    gi_dict_set_uint(gi_fop_xdata(fop), GI_CONTENT_KEY, 0);
  if (flags & O_TRUNC)
    op_changes(b, fop, inode);
  return fop;
}

/* A file that the caller may write but not read was opened for both because of write-back: the kernel has checked what the
 * caller may do, so the bridge opens it on its own account. */
static bool
retry_upgraded(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);

  if (!bridge_options(b)->kernel_writeback_cache || fop->rsp.err != EACCES || op->retried || fop->caller.uid == 0 ||
      (fop->fd->flags & O_ACCMODE) != O_RDWR)
    return false;

  struct gi_fop *again = open_fop(b, op->req, fop->fd->inode, fop->fd->flags);

  GI_ASSERT(!op->retried && op->req);
  op_set_root(again);
  op_of(b, again)->retried = true;
  op_end(b, fop);
  op_submit(b, again, open_done);
  return true;
}

static void
open_answer(struct bridge *b, void *arg)
{
  open_reply(b, arg);
  op_end(b, arg);
}

static void
open_looked_at(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *open = fop->parent;

  GI_ASSERT(open && open->answered && open->fd == fop->fd);
  if (fop->rsp.ret >= 0 && !node_must_drop(b, fop->fd->inode, &fop->rsp.stat, op_of(b, fop)->seq))
    open_answer(b, open);
  else
    inval_inode_then(b, fop->fd->inode, open_answer, open);
  op_end(b, fop);
}

/* What was read before a lock was got is looked at when it is opened after it: the lock may be for this file. */
static bool
look_first(struct bridge *b, struct gi_fop *fop)
{
  const struct node *n = node_of(b, fop->fd->inode);

  if (!n->opened || gi_trust_since_lock(&b->order, &n->trust) || bridge_options(b)->kernel_writeback_cache ||
      (fop->fd->flags & O_TRUNC))
    return false;

  struct gi_fop *look = gi_fop_helper(fop, GI_FOP_FSTAT);

  gi_fop_set_fd(look, fop->fd);
  op_submit(b, look, open_looked_at);
  return true;
}

/* Attributes that came with it show what others have closed before: pages that are older go, and what the kernel has of the attributes. */
static bool
drop_first(struct bridge *b, struct gi_fop *fop)
{
  const struct gi_pair *stat = gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY);
  struct gi_iatt a;

  if (!stat || stat->type != GI_VALUE_IATT || bridge_options(b)->kernel_writeback_cache)
    return false;
  a = *stat->iatt;
  if (!node_must_drop(b, fop->fd->inode, &a, op_of(b, fop)->seq))
    return false;
  inval_inode_then(b, fop->fd->inode, open_answer, fop);
  return true;
}

static void
open_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (fop->rsp.ret >= 0 && (drop_first(b, fop) || look_first(b, fop)))
    return;
  if (fop->rsp.ret >= 0)
    open_reply(b, fop);
  else if (retry_upgraded(b, fop))
    return;
  else {
    told_nameless(b, fop);
    reply_err(b, op_of(b, fop)->req, err_of_node(fop));
  }
  op_end(b, fop);
}

void
do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);

  if (!inode)
    return;

  struct gi_fop *fop = open_fop(b, req, inode, open_flags(b, fi->flags));

  if ((fi->flags & O_TRUNC) && (session_open_flags(b) & FUSE_OPEN_KILL_SUIDGID))
    op_submit_unprivileged(b, fop, inode, open_done);
  else
    op_submit(b, fop, open_done);
}

/* ---- read ---- */

static void
read_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  struct iovec iov[GI_PAYLOAD_SLICES];

  op_uninterruptible(b, fop);
  if (fop->rsp.ret < 0) {
    reply_err(b, op->req, err_of_node(fop));
  } else {
    gi_payload_trim(&fop->rsp.payload, op->size);
    GI_ASSERT(fop->rsp.payload.len <= op->size); /* the kernel has room for no more */
    b->m.read_bytes += fop->rsp.payload.len;
    reply_result(b, fuse_reply_iov(op->req, iov, gi_payload_iov(&fop->rsp.payload, iov)));
  }
  op_end(b, fop);
}

void
do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_READ);

  gi_fop_set_fd(fop, fd);
  op_set_owner(fop, fi->lock_owner);
  fop->args.offset = (uint64_t)off;
  fop->args.size = size;
  fop->args.flags = (uint32_t)fi->flags;
  op_of(b, fop)->size = (uint32_t)size;
  if (fd->stream)
    op_interruptible(b, fop);
  op_submit(b, fop, read_done);
}

/* ---- write ---- */

static void
write_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);

  if (fop->rsp.early && !op->deferred)
    node_change_deferred(b, fop);
  else if (!fop->rsp.early)
    node_of(b, fop->fd->inode)->fresh = false;
  if (op_still_privileged(b, fop, write_done))
    return;
  if (fop->rsp.ret < 0) {
    reply_err(b, op->req, err_of_node(fop));
  } else {
    node_mode_fell(b, op->changes, &fop->rsp.post);
    node_wrote(b, op->changes, fop->kind == GI_FOP_WRITE ? fop->args.offset + (uint64_t)fop->rsp.ret : 0);
    reply_result(b, fuse_reply_write(op->req, (size_t)fop->rsp.ret));
  }
  op_end(b, fop);
}

/* Pages of a mapping are written back through any handle that may write, with offsets of their own and up to the end of the file,
 * which one opened O_APPEND or O_DIRECT on a brick misplaces or refuses. The mapping's own handle is open still. */
static struct gi_fd *
fd_for_pages(const struct bridge *b, struct gi_fd *fd)
{
  if (!(fd->flags & (O_APPEND | O_DIRECT)))
    return fd;
  gi_list_foreach(other, &fd->inode->fds, struct gi_fd, inode_link) {
    if (handle_of(b, other)->id && (other->flags & O_ACCMODE) != O_RDONLY && !(other->flags & (O_APPEND | O_DIRECT)))
      return other;
  }
  return fd;
}

void
do_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *bufv, off_t off, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);
  uint32_t flags = session_write_flags(b);

  if (!fd)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_WRITE);

  if (!session_take_data(b, bufv->buf[0].size, &fop->payload)) {
    reply_err(b, req, EIO);
    op_end(b, fop);
    return;
  }
  GI_ASSERT(fop->payload.count <= 2 && fop->payload.len == bufv->buf[0].size);
  if (flags & FUSE_WRITE_CACHE)
    fd = fd_for_pages(b, fd);
  gi_fop_set_fd(fop, fd);
  if (flags & FUSE_WRITE_LOCKOWNER)
    op_set_owner(fop, fi->lock_owner);
  fop->args.paged = flags & FUSE_WRITE_CACHE;
  if (fop->args.paged)
    op_set_root(fop); /* page-cache writes carry nobody's credentials */
  fop->args.offset = (uint64_t)off;
  fop->args.size = fop->payload.len;
  fop->args.flags = (uint32_t)open_flags(b, fi->flags);
  b->m.write_bytes += fop->payload.len;
  handle_of(b, fd)->dirty = true;
  op_changes(b, fop, fd->inode);
  if (flags & FUSE_WRITE_KILL_SUIDGID)
    op_submit_unprivileged(b, fop, fd->inode, write_done);
  else
    op_submit(b, fop, write_done);
}

/* ---- flush, release, fsync ---- */

static void
note_settled(struct bridge *b, struct gi_fop *fop)
{
  if (fop->rsp.ret >= 0 && fop->loc.inode)
    node_settled(b, fop->loc.inode, op_of(b, fop)->seq);
}

/* Times that were answered (fuse-held.c) could not be set. */
static void
tell_lost(struct bridge *b, struct gi_fop *fop)
{
  struct handle *h = handle_of(b, fop->fd);

  if (fop->rsp.ret >= 0 && h->lost) {
    fop->rsp.ret = -1;
    fop->rsp.err = h->lost;
  }
  if (fop->kind == GI_FOP_FSYNC)
    h->lost = 0;
}

/* The next close(2) of the descriptor is to hear of an error, too: this one may be that of a forked process, which looks at none. */
static void
flush_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  tell_lost(b, fop);
  if (fop->rsp.ret < 0)
    handle_of(b, fop->fd)->dirty = true;
  note_settled(b, fop);
  times_send(b, fop->fd->inode, fop->fd);
  done_status_node(fop, arg);
}

void
do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return;

  struct handle *h = handle_of(b, fd);
  struct node *n = node_of(b, fd->inode);

  handle_check(b, fd);
  n->fresh = false;
  /* Write-back writes come with a guessed handle, so there any written file counts. What was answered early may have failed since. */
  if (!h->dirty && !h->lost && !n->locked && !n->trust.deferred && !n->held &&
      !(bridge_options(b)->kernel_writeback_cache && n->dirty)) {
    b->m.local_flush++;
    times_send(b, fd->inode, fd);
    reply_err(b, req, 0);
    return;
  }
  h->dirty = false;

  struct gi_fop *fop = op_new(b, req, GI_FOP_FLUSH);

  gi_fop_set_fd(fop, fd);
  op_set_owner(fop, fi->lock_owner);
  if (!times_go_along(b, fop))
    times_send(b, fd->inode, fd);
  op_submit(b, fop, flush_done);
}

static void
unlocked_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;

  op_end(x->private, fop);
}

/* The unlock holds the fd, so it reaches the bricks before the fd goes. */
static void
release_flock(struct bridge *b, fuse_req_t req, struct gi_fd *fd, uint64_t owner)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_LK);

  gi_fop_set_fd(fop, fd);
  op_set_owner(fop, owner);
  fop->args.cmd = GI_LKCMD_SETW;
  fop->args.flags = GI_LOCK_FLOCK;
  fop->args.type = GI_LK_UNLOCK;
  fop->args.flock = (struct gi_flock){.type = GI_LK_UNLOCK, .pid = (uint32_t)fop->caller.pid, .owner = fop->caller.owner};
  op_submit(b, fop, unlocked_done);
}

void
do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return;
  if (fi->flock_release)
    release_flock(b, req, fd, fi->lock_owner);
  times_send(b, fd->inode, fd);
  handle_close(b, fd);
  reply_err(b, req, 0);
}

static struct gi_fop *
sync_fop(struct bridge *b, fuse_req_t req, struct gi_fd *fd, int datasync)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_FSYNC);

  gi_fop_set_fd(fop, fd);
  fop->args.datasync = datasync;
  return fop;
}

/* Times that were to go with the last write and did not are synced now. */
static void
sync_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *again;

  if (fop->rsp.ret < 0 || !fop->args.valid || !node_of(b, fop->fd->inode)->lazy_times) {
    tell_lost(b, fop);
    note_settled(b, fop);
    done_status_node(fop, arg);
    return;
  }
  again = sync_fop(b, op_of(b, fop)->req, fop->fd, 0);
  op_end(b, fop);
  times_send_first(b, again, sync_done);
}

/* A removed directory has nothing to sync. NULL: it is answered. */
static struct gi_fd *
fd_to_sync(struct bridge *b, fuse_req_t req, struct fuse_file_info *fi)
{
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd || !handle_of(b, fd)->gone)
    return fd;
  reply_err(b, req, 0);
  return NULL;
}

void
do_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = fd_to_sync(b, req, fi);
  struct gi_fop *fop;

  if (!fd)
    return;
  fop = sync_fop(b, req, fd, datasync);
  if (datasync || times_go_along(b, fop))
    op_submit(b, fop, sync_done);
  else
    times_send_first(b, fop, sync_done);
}

void
do_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = fd_to_sync(b, req, fi);
  struct gi_fop *fop;

  if (!fd)
    return;
  fop = op_new(b, req, GI_FOP_FSYNCDIR);
  gi_fop_set_fd(fop, fd);
  fop->args.datasync = datasync;
  op_submit(b, fop, done_status_node);
}

/* ---- space ---- */

static struct gi_fop *
space_fop(struct bridge *b, fuse_req_t req, struct gi_fd *fd, enum gi_fop_kind kind, uint64_t offset, uint64_t length)
{
  struct gi_fop *fop = op_new(b, req, kind);

  GI_ASSERT(kind == GI_FOP_FALLOCATE || kind == GI_FOP_DISCARD || kind == GI_FOP_ZEROFILL);
  gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  fop->args.size = length;
  handle_of(b, fd)->dirty = true;
  op_changes(b, fop, fd->inode);
  return fop;
}

static void
space_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;

  if (!op_still_privileged(x->private, fop, space_done))
    done_status_node(fop, arg);
}

/* Of FALLOCATE and COPY_FILE_RANGE the kernel does not say whether setuid and setgid bits must fall; only root may keep them. */
static void
submit_space(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x))
{
  GI_ASSERT(op_of(b, fop)->changes);
  if (fop->caller.uid == 0)
    op_submit(b, fop, done);
  else
    op_submit_unprivileged(b, fop, op_of(b, fop)->changes, done);
}

/* ZEROFILL grows the file, so zeroing that must not grow it stops at the size; what lies behind needs no zeroes. */
static void
zero_size_known(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  uint64_t offset = fop->args.offset, length = fop->args.size, size = fop->rsp.stat.size;
  struct gi_fop *next;

  if (fop->rsp.ret < 0) {
    done_status_node(fop, arg);
    return;
  }
  if (offset >= size) {
    next = space_fop(b, op->req, fop->fd, GI_FOP_FALLOCATE, offset, length);
    next->args.flags = 1;
  } else {
    next = space_fop(b, op->req, fop->fd, GI_FOP_ZEROFILL, offset, length < size - offset ? length : size - offset);
  }
  op_end(b, fop);
  submit_space(b, next, space_done);
}

static void
zero_keep_size(struct bridge *b, fuse_req_t req, struct gi_fd *fd, uint64_t offset, uint64_t length)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_FSTAT);

  gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  fop->args.size = length;
  op_submit(b, fop, zero_size_known);
}

void
do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);
  enum gi_fop_kind kind = GI_FOP_FALLOCATE;

  if (!fd)
    return;
  switch (mode) {
  case 0:
  case FALLOC_FL_KEEP_SIZE:
    break;
  case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
    kind = GI_FOP_DISCARD;
    break;
  case FALLOC_FL_ZERO_RANGE:
    kind = GI_FOP_ZEROFILL;
    break;
  case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
    zero_keep_size(b, req, fd, (uint64_t)offset, (uint64_t)length);
    return;
  default:
    reply_err(b, req, EOPNOTSUPP);
    return;
  }

  struct gi_fop *fop = space_fop(b, req, fd, kind, (uint64_t)offset, (uint64_t)length);

  fop->args.flags = mode == FALLOC_FL_KEEP_SIZE;
  submit_space(b, fop, space_done);
}

static void
lseek_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);

  if (fop->rsp.ret >= 0)
    reply_result(b, fuse_reply_lseek(op->req, (off_t)fop->rsp.offset));
  else if (fop->rsp.err == EOPNOTSUPP) /* the kernel then treats all as data */
    reply_err(b, op->req, ENOSYS);
  else
    reply_err(b, op->req, err_of_node(fop));
  op_end(b, fop);
}

void
do_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *fd = handle_fd(b, req, fi);

  if (!fd)
    return;
  if (whence != SEEK_DATA && whence != SEEK_HOLE) {
    reply_err(b, req, EINVAL);
    return;
  }
  if (off < 0) { /* as local file systems say; a brick takes it for a mistake */
    reply_err(b, req, ENXIO);
    return;
  }
  /* With write-back the kernel asks without having sent its dirty pages. ENOSYS makes it take the whole file as data. */
  if (bridge_options(b)->kernel_writeback_cache) {
    reply_err(b, req, ENOSYS);
    return;
  }

  struct gi_fop *fop = op_new(b, req, GI_FOP_SEEK);

  gi_fop_set_fd(fop, fd);
  fop->args.offset = (uint64_t)off;
  fop->args.what = whence == SEEK_HOLE;
  op_submit(b, fop, lseek_done);
}

void
do_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in, fuse_ino_t ino_out,
                   off_t off_out, struct fuse_file_info *fi_out, size_t len, int flags)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fd *in = handle_fd(b, req, fi_in);
  struct gi_fd *out = in ? handle_fd(b, req, fi_out) : NULL;

  if (!out)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_COPY_FILE_RANGE);

  gi_fop_set_fd(fop, in);
  fop->fd2 = gi_fd_ref(out);
  gi_loc_set_inode(&fop->loc2, out->inode);
  fop->args.offset = (uint64_t)off_in;
  fop->args.offset2 = (uint64_t)off_out;
  fop->args.size = len;
  fop->args.flags = (uint32_t)flags;
  handle_of(b, out)->dirty = true;
  op_changes(b, fop, out->inode);
  submit_space(b, fop, write_done);
}

void
do_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned int cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
         const void *in_buf, size_t in_bufsz, size_t out_bufsz)
{
  reply_err(bridge_of_req(req), req, ENOTTY);
}
