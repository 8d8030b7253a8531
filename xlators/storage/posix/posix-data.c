/* SPDX-License-Identifier: Apache-2.0
 *
 * Data: OPEN, READ, WRITE, FLUSH, SEEK. A read tries the page cache first
 * (preadv2 RWF_NOWAIT) and moves off the reactor only when the data is cold; a
 * buffered write is a copy into the page cache and stays inline.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

#include <sys/uio.h>

#define INLINE_WRITE_MAX (1u << 20)
#define DIRECT_ALIGN 512u

/* The bulk of a heal is copied by workers, on every processor, and does not keep applications' requests waiting behind it. */
static bool
bulk(const struct gi_fop *fop, uint64_t bytes)
{
  return fop->caller.pid == GI_PID_HEAL && bytes > POSIX_PIECE;
}

void
posix_pieces_add(struct posix_pieces *to, const struct posix_pieces *more)
{
  to->start = to->bytes && to->start < more->start ? to->start : more->start;
  to->end = to->bytes && to->end > more->end ? to->end : more->end;
  to->bytes += more->bytes;
}

/* What a heal wrote goes to the disk as it comes, small pieces together: else all of it would go with one fsync, and applications'
 * fsyncs wait behind that. */
void
posix_collect(struct posix_op *op, struct posix_fd *pf, const struct posix_pieces *written)
{
  struct posix_pieces *c = &pf->healed;

  if (op->fop->caller.pid != GI_PID_HEAL || written->bytes == 0)
    return;
  posix_pieces_add(c, written);
  if (!bulk(op->fop, c->bytes))
    return;
  op->p->metrics.write_outs++;
  op->write_out = *c;
  op->slow = true;
  *c = (struct posix_pieces){0};
}

/* The kernel tells the descriptor of a failure now and not again: the sync at the end would succeed. */
int
posix_write_out(struct posix_op *op, bool wait)
{
  const struct posix_pieces *w = &op->write_out;
  int err;
  GI_ASSERT(w->bytes == 0 || (op->fd >= 0 && w->start < w->end));

  if (w->bytes == 0 || gi_fs_write_out(op->p->fs, op->fd, (off_t)w->start, (off_t)(w->end - w->start), wait) == 0)
    return 0;
  err = errno;
  if (GI_BROKEN("take the word of a write-out"))
    return 0;
  GI_PROBE("posix: the disk refused what a heal wrote before its fsync");
  op->unsynced = true;
  return err;
}

/* ---- OPEN ---- */

static int
open_flags(const struct posix_op *op)
{
  int want = (int)op->fop->args.flags;
  int f = want & (O_ACCMODE | O_DIRECT | O_NOATIME | O_DSYNC | O_TRUNC);

  if (want & O_DSYNC)
    f |= O_SYNC; /* the wire has one bit for both (wire.md 3.8) */
  if (op->p->cfg.o_direct)
    f |= O_DIRECT;
  return f | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
}

enum posix_run
posix_run_open(struct posix_op *op)
{
  struct posix_at at;
  struct stat st;

  if (op->new_fd >= 0) /* on the reactor; its content is cold */
    return posix_run_content(op, NULL);

  int flags = open_flags(op), err = posix_obj_at(op, &at, &st);

  if (err)
    return posix_err(op, err == ENOENT ? ESTALE : err);
  if (op->parked && gi_dict_get(op->fop->xdata, GI_NAMED_KEY))
    return posix_err(op, ESTALE);
  if (S_ISLNK(st.st_mode))
    return posix_err(op, ELOOP);
  if (S_ISDIR(st.st_mode)) {
    if ((flags & O_ACCMODE) != O_RDONLY)
      return posix_err(op, EISDIR);
    at.path = ".";
    flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  } else if (!S_ISREG(st.st_mode)) {
    return posix_err(op, EINVAL);
  }
  op->new_fd = gi_fs_openat(op->p->fs, at.fd, at.path, flags, 0);
  if (op->new_fd < 0)
    return posix_err(op, errno);
  posix_node_known(op, NODE_OBJ, (struct posix_at){op->new_fd, ""});
  if (flags & (O_WRONLY | O_RDWR) && !(flags & O_TRUNC) && !posix_in_company(op))
    posix_seen_after(op, NODE_OBJ, (struct posix_at){op->new_fd, ""}, &st); /* a change comes next */
  return posix_run_content(op, &st);
}

/* OPEN, OPENDIR, CREATE: the descriptor becomes the fd's. */
void
posix_finish_open(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct posix_fd *pf;

  if (fop->kind == GI_FOP_OPEN)
    posix_finish_content(op);
  if (fop->rsp.ret < 0 || !fop->fd || op->new_fd < 0)
    return;
  gi_fd_bind(fop->fd, &op->node[NODE_OBJ].gfid);
  if (fop->kind == GI_FOP_OPENDIR)
    posix_left_tell(op);
  if (op->parked)
    posix_inode_of(op->p, fop->fd->inode)->unlinked = true; /* opened again after a restart: it goes with its last descriptor */
  pf = gi_fd_private(fop->fd, op->x);
  if (pf->open)
    return;
  *pf = (struct posix_fd){.open = true, .fd = op->new_fd};
  if (fop->kind != GI_FOP_OPENDIR) {
    pf->sync = fop->args.flags & O_DSYNC;
    pf->direct = fop->args.flags & O_DIRECT || op->p->cfg.o_direct;
  }
  op->new_fd = -1;
  posix_seen_opened(op, pf);
}

/* ---- READ ---- */

int
posix_prepare_read(struct posix_op *op)
{
  struct gi_args *a = &op->fop->args;
  int err = posix_prepare_fd(op);

  if (err)
    return err;
  if (a->size == 0 || a->offset > INT64_MAX - POSIX_IO_MAX)
    return EINVAL;
  op->want = a->size < POSIX_IO_MAX ? (size_t)a->size : POSIX_IO_MAX;
  op->slow = bulk(op->fop, op->want);
  GI_ASSERT(!op->buf);
  op->buf = gi_buf_new(op->want);
  return 0;
}

static enum posix_run
read_end(struct posix_op *op, const struct stat *st)
{
  uint64_t end = op->fop->args.offset + op->done;

  GI_ASSERT(op->buf && op->done <= op->want);
  posix_node_known(op, NODE_OBJ, (struct posix_at){op->fd, ""});
  posix_iatt(st, &op->node[NODE_OBJ].gfid, &op->fop->rsp.stat);
  posix_ok(op, (int64_t)op->done);
  if (end >= (uint64_t)st->st_size)
    op->fop->rsp.err = ENOENT; /* end of file */
  return RUN_DONE;
}

static ssize_t
read_some(struct posix_op *op)
{
  struct iovec iov = {op->buf->base + op->done, op->want - op->done};
  off_t at = (off_t)(op->fop->args.offset + op->done);
  ssize_t n;
  GI_ASSERT(op->fd >= 0 && op->done < op->want);

  if (op->on_worker || op->p->cfg.engine == ENGINE_INLINE)
    return gi_fs_pread(op->p->fs, op->fd, iov.iov_base, iov.iov_len, at);
  n = gi_fs_preadv(op->p->fs, op->fd, &iov, 1, at, RWF_NOWAIT);
  if (n < 0 && errno == EOPNOTSUPP) /* no such thing on this file system: the guard decides */
    n = gi_fs_pread(op->p->fs, op->fd, iov.iov_base, iov.iov_len, at);
  return n;
}

enum posix_run
posix_run_read(struct posix_op *op)
{
  struct stat st;
  int err = posix_obj_open(op, O_RDONLY);

  if (err)
    return posix_err(op, err);
  for (;;) {
    ssize_t n = read_some(op);

    if (n < 0 && errno == EAGAIN && !op->on_worker)
      return RUN_MOVE;
    if (n < 0)
      return posix_err(op, errno);
    op->done += (uint64_t)n;
    if (gi_fs_fstat(op->p->fs, op->fd, &st) < 0)
      return posix_err(op, errno);
    if (n == 0 || op->done == op->want || op->fop->args.offset + op->done >= (uint64_t)st.st_size)
      return read_end(op, &st);
  }
}

bool
posix_uring_read(struct posix_op *op, struct posix_uring *u)
{
  GI_ASSERT(op->buf && op->done < op->want);
  if (op->fd < 0 || op->slow) /* what is cached would be copied by this thread */
    return false;
  op->iov[0] = (struct iovec){op->buf->base + op->done, op->want - op->done};
  return posix_uring_rw(u, op, false, op->iov, 1, op->fop->args.offset + op->done);
}

enum posix_run
posix_read_done(struct posix_op *op)
{
  struct stat st;

  if (op->uring_res < 0)
    return op->uring_res == -EAGAIN || op->uring_res == -EINTR ? RUN_MOVE : posix_err(op, -op->uring_res);
  op->done += (uint64_t)op->uring_res;
  GI_ASSERT(op->done <= op->want);
  if (gi_fs_fstat(op->p->fs, op->fd, &st) < 0)
    return posix_err(op, errno);
  if (op->uring_res == 0 || op->done == op->want || op->fop->args.offset + op->done >= (uint64_t)st.st_size)
    return read_end(op, &st);
  return RUN_MOVE; /* short: the rest on a worker */
}

void
posix_finish_read(struct posix_op *op)
{
  GI_ASSERT(op->fop->rsp.ret <= 0 || (uint64_t)op->fop->rsp.ret == op->done);
  if (op->fop->rsp.ret > 0)
    gi_payload_add(&op->fop->rsp.payload, op->buf, op->buf->base, (size_t)op->fop->rsp.ret);
  posix_finish_counts(op);
}

/* ---- WRITE ---- */

/* Memory for O_DIRECT must be aligned; what comes out of a network buffer may not be. */
static void
align_payload(struct posix_op *op)
{
  const struct gi_payload *in = &op->fop->payload;
  bool fine = true;
  GI_ASSERT(!op->buf);

  for (uint32_t i = 0; i < in->count; i++)
    fine &= ((uintptr_t)in->slice[i].data | in->slice[i].len) % DIRECT_ALIGN == 0;
  if (fine || in->len == 0)
    return;
  op->buf = gi_buf_new(in->len);
  gi_payload_read(in, 0, op->buf->base, in->len);
}

/* An application can change O_APPEND of an open file, so the request's word counts, if it is one: those that say nothing at all (the access
 * to the file is part of it) leave it to how the file was opened. */
static bool
appends(const struct gi_fop *fop)
{
  return (fop->args.flags & O_ACCMODE ? fop->args.flags : fop->args.flags | (uint32_t)fop->fd->flags) & O_APPEND;
}

int
posix_prepare_write(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct posix_fd *pf;
  int err = posix_prepare_fd(op);

  if (err)
    return err;
  if (fop->args.offset > INT64_MAX - fop->payload.len)
    return EFBIG;
  pf = gi_fd_private(fop->fd, op->x);
  op->at_end = appends(fop);
  op->dsync = pf->sync;
  op->sync = fop->args.flags & O_DSYNC && !op->dsync;
  op->exclusive = gi_dict_get(fop->xdata, "glusterfs.write-is-append") ||
                  gi_dict_get(fop->xdata, "glusterfs.write-update-atomic") || gi_dict_get(fop->xdata, KEY_PROTECT) ||
                  gi_dict_get(fop->xdata, KEY_AVOID);
  op->settle = (op->sync || op->dsync || pf->direct) && posix_settling(op, posix_inode_of(op->p, fop->fd->inode));
  op->slow = op->sync || op->dsync || pf->direct || fop->payload.len > INLINE_WRITE_MAX;
  posix_collect(op, pf, &(struct posix_pieces){fop->args.offset, fop->args.offset + fop->payload.len, fop->payload.len});
  if (pf->direct)
    align_payload(op);
  return 0;
}

bool
posix_needs_room(const struct posix_op *op, const struct stat *st, uint64_t offset, uint64_t len)
{
  off_t hole;

  if (offset + len > (uint64_t)st->st_size)
    return true;
  if ((uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size)
    return false;
  hole = gi_fs_lseek(op->p->fs, op->fd, (off_t)offset, SEEK_HOLE);
  return hole >= 0 && (uint64_t)hole < offset + len;
}

/* A rebalance of GlusterFS reads a block, and writes it to the target. What a client of theirs has written there in between is newer: it has
 * left a mark, and the rebalance is refused. That gives the file up, and its next try begins with a LOOKUP that takes the mark away. 0 or errno. */
static int
heed_rebalance(struct posix_op *op)
{
  const struct gi_dict *xdata = op->fop->xdata;
  struct posix_at at = {op->fd, ""};

  if (gi_dict_get(xdata, KEY_AVOID) && posix_at_get(op->p, at, KEY_PROTECT, NULL, 0) >= 0)
    return EBUSY;
  if (gi_dict_get(xdata, KEY_PROTECT) && posix_at_set(op->p, at, KEY_PROTECT, "1", 2, 0) < 0)
    return errno;
  return 0;
}

/* Attributes before the write, and what can only be told before it. 0 or errno. */
static int
write_begin(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct posix_at at = {op->fd, ""};
  struct stat st;
  GI_ASSERT(op->fd >= 0);

  if (op->began)
    return 0;
  int err = op->full ? posix_at_stat(op->p, at, &st) : posix_node_attributes(op, NODE_OBJ, at, &st);

  if (err)
    return op->full ? errno : err;
  if (op->full && (op->at_end || posix_needs_room(op, &st, fop->args.offset, fop->payload.len)))
    return ENOSPC;
  err = heed_rebalance(op);
  if (err)
    return err;
  op->began = true;
  op->append = op->at_end || fop->args.offset == (uint64_t)st.st_size;
  op->fills = op->append || posix_stream_fills(op);
  posix_node_known(op, NODE_OBJ, (struct posix_at){op->fd, ""});
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.pre);
  return 0;
}

static enum posix_run
write_end(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  int err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &fop->rsp.post);

  GI_ASSERT(op->began && op->done <= fop->payload.len);
  if (err)
    return posix_err(op, err);
  if (gi_dict_get(fop->xdata, "glusterfs.write-is-append"))
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), "glusterfs.write-is-append", op->append);
  return posix_ok(op, (int64_t)op->done);
}

static int
skip_iov(struct iovec *iov, int n, size_t skip)
{
  int first = 0;

  while (first < n && skip >= iov[first].iov_len)
    skip -= iov[first++].iov_len;
  GI_ASSERT(first < n || skip == 0);
  if (first < n) {
    iov[first].iov_base = (char *)iov[first].iov_base + skip;
    iov[first].iov_len -= skip;
  }
  return first;
}

ssize_t
posix_write_all(struct gi_fs *fs, int fd, const struct gi_payload *payload, uint64_t skip, uint64_t offset)
{
  size_t done = 0, len = payload->len - skip;
  GI_ASSERT(skip <= payload->len);

  while (done < len) {
    struct iovec iov[GI_PAYLOAD_SLICES];
    int n = gi_payload_iov(payload, iov), first = skip_iov(iov, n, skip + done);
    ssize_t w = offset == POSIX_AT_END ? gi_fs_append(fs, fd, iov + first, n - first)
                                       : gi_fs_pwritev(fs, fd, iov + first, n - first, (off_t)(offset + done));

    if (w <= 0)
      return done ? (ssize_t)done : w;
    done += (size_t)w;
  }
  return (ssize_t)done;
}

static ssize_t
write_rest(struct posix_op *op)
{
  const struct gi_payload *payload = &op->fop->payload;
  uint64_t at = op->at_end ? POSIX_AT_END : op->fop->args.offset + op->done;
  GI_ASSERT(op->began && op->done <= payload->len);

  if (op->buf) {
    struct iovec iov = {op->buf->base + op->done, payload->len - op->done};

    return op->at_end ? gi_fs_append(op->p->fs, op->fd, &iov, 1) : gi_fs_pwritev(op->p->fs, op->fd, &iov, 1, (off_t)at);
  }
  return posix_write_all(op->p->fs, op->fd, payload, op->done, at);
}

#define LOOK 512 /* bytes that tell one write from another */

/* The file has what comes next of a write that failed. One without a name is of no interest: no heal will read it. */
static bool
memory_has_it(const struct posix_op *op)
{
  const struct gi_fop *fop = op->fop;
  size_t rest = fop->payload.len - op->done, len = rest < LOOK ? rest : LOOK;
  off_t at = (off_t)(fop->args.offset + op->done);
  char path[POSIX_HPATH], want[LOOK], have[LOOK];
  struct stat st;
  int fd = gi_fs_openat(op->p->fs, op->p->gl_fd, posix_hpath(path, &op->node[NODE_OBJ].gfid),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  ssize_t n;
  GI_ASSERT(op->on_worker && op->done < fop->payload.len);

  if (fd < 0)
    return false;
  if (op->at_end)
    at = gi_fs_fstat(op->p->fs, fd, &st) == 0 ? st.st_size - (off_t)rest : -1;
  n = gi_fs_pread(op->p->fs, fd, have, len, at);
  gi_fs_close(op->p->fs, fd);
  gi_payload_read(&fop->payload, op->done, want, len);
  return n > 0 && memcmp(have, want, (size_t)n) == 0;
}

/* Errors of a write that the kernel syncs itself come from either half. Memory keeps what the disk refused, and nobody is told again;
 * what the file system had no room for is nowhere. */
static bool
sync_failed(const struct posix_op *op, int err)
{
  if (!op->dsync || err == 0 || err == EFBIG || err == EINVAL || err == ENOMEM || GI_BROKEN("forget failed synchronous writes"))
    return false;
  return (err != ENOSPC && err != EDQUOT) || (op->on_worker && memory_has_it(op));
}

/* 0 or errno: the disk refused what was there before, or is there now. */
static int
sync_here(struct posix_op *op, bool datasync)
{
  if (gi_fs_fsync(op->p->fs, op->fd, datasync) == 0)
    return 0;
  op->unsynced = !GI_BROKEN("forget failed synchronous writes");
  return errno;
}

enum posix_run
posix_run_write(struct posix_op *op)
{
  ssize_t n;
  int err = posix_obj_open(op, O_WRONLY);

  if (!err)
    err = write_begin(op);
  if (!err && op->settle)
    err = sync_here(op, false);
  if (err)
    return posix_err(op, err);
  errno = 0;
  n = write_rest(op);
  err = errno;
  op->done += n > 0 ? (uint64_t)n : 0;
  op->unsynced = op->done < op->fop->payload.len && sync_failed(op, err);
  if (n < 0 && !op->done)
    return posix_err(op, err);
  if (op->sync) {
    err = sync_here(op, true);
    if (err)
      return posix_err(op, err);
  }
  err = posix_write_out(op, false);
  return err ? posix_err(op, err) : write_end(op);
}

bool
posix_uring_write(struct posix_op *op, struct posix_uring *u)
{
  const struct gi_fd *fd = op->fop->fd;
  int n = 1;

  /* Buffered writes gain nothing: the kernel hands them to a thread of its own. */
  bool direct = ((struct posix_fd *)gi_fd_private(fd, op->x))->direct || op->p->cfg.engine == ENGINE_URING;

  if (op->fd < 0 || op->sync || op->settle || op->fop->payload.len == 0 || !direct || write_begin(op))
    return false;
  if (op->buf)
    op->iov[0] = (struct iovec){op->buf->base, op->fop->payload.len};
  else
    n = gi_payload_iov(&op->fop->payload, op->iov);
  return posix_uring_rw(u, op, true, op->iov, (unsigned)n, op->at_end ? POSIX_AT_END : op->fop->args.offset);
}

enum posix_run
posix_write_done(struct posix_op *op)
{
  if (op->uring_res == -EAGAIN || op->uring_res == -EINTR)
    return RUN_MOVE;
  op->unsynced = op->uring_res < 0 && sync_failed(op, -op->uring_res);
  if (op->uring_res < 0)
    return posix_err(op, -op->uring_res);
  op->done += (uint64_t)op->uring_res;
  GI_ASSERT(op->done <= op->fop->payload.len);
  return op->done < op->fop->payload.len ? RUN_MOVE : write_end(op);
}

void
posix_finish_write(struct posix_op *op)
{
  struct posix_inode *pi = posix_inode_of(op->p, op->fop->fd->inode);

  if (op->settle && op->fop->rsp.ret >= 0)
    posix_settled(op, pi);
  posix_stream(op);
  posix_finish_counts(op);
}

/* ---- FLUSH, SEEK ---- */

enum posix_run
posix_run_flush(struct posix_op *op)
{
  return posix_ok(op, 0);
}

enum posix_run
posix_run_seek(struct posix_op *op)
{
  const struct gi_args *a = &op->fop->args;
  int err = posix_obj_open(op, O_RDONLY);
  off_t at;

  if (err)
    return posix_err(op, err);
  if (a->what != 0 && a->what != 1)
    return posix_err(op, EOPNOTSUPP);
  if (a->offset > INT64_MAX)
    return posix_err(op, EINVAL);
  at = gi_fs_lseek(op->p->fs, op->fd, (off_t)a->offset, a->what ? SEEK_HOLE : SEEK_DATA);
  if (at < 0)
    return posix_err(op, errno);
  op->fop->rsp.offset = (uint64_t)at;
  return posix_ok(op, 0);
}
