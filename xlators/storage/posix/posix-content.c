/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a small file travels with its open, if the client asks for it
 * (GI_CONTENT_KEY): who opens a small file reads it next. Or with the LOOKUP that
 * finds it, if the client guesses that it is about to be opened.
 *
 * The attributes that go along say which version of the file it is. So they must
 * be the same before and after it was read, else it stays here and the client
 * reads.
 */
#include "xlators/storage/posix/posix.h"

#define CONTENT_MAX (1u << 20)

static bool
is_version(const struct gi_iatt *a, const struct gi_iatt *b)
{
  return a->size == b->size && a->mtime.sec == b->mtime.sec && a->mtime.nsec == b->mtime.nsec && a->ctime.sec == b->ctime.sec &&
         a->ctime.nsec == b->ctime.nsec;
}

static bool
client_has(const struct gi_fop *fop, const struct gi_iatt *now)
{
  const struct gi_pair *pair = gi_dict_get(fop->xdata, GI_CONTENT_STAT_KEY);

  return pair && pair->type == GI_VALUE_IATT && is_version(pair->iatt, now);
}

static void
overlay(const struct posix_op *op, struct gi_iatt *a)
{
  if (op->p->cfg.ctime)
    posix_md_overlay(&op->node[NODE_OBJ], a);
}

/* If nobody else is at work it is still what it was before it was opened: `found`. */
static bool
stat_opened(struct posix_op *op, const struct stat *found, struct gi_iatt *a)
{
  struct stat st;

  if (!found || op->on_worker || op->p->elsewhere) {
    if (gi_fs_fstat(op->p->fs, op->new_fd, &st) < 0)
      return false;
    found = &st;
  }
  if (!S_ISREG(found->st_mode))
    return false;
  posix_iatt(found, &op->node[NODE_OBJ].gfid, a);
  return true;
}

static bool
read_whole(struct posix_op *op, int fd)
{
  if (!op->buf)
    op->buf = gi_buf_new(op->want ? op->want : 1);
  struct iovec iov = {op->buf->base, op->want};
  ssize_t n = gi_fs_preadv(op->p->fs, fd, &iov, 1, 0, op->on_worker ? 0 : RWF_NOWAIT);

  if (n < 0 && errno == EOPNOTSUPP)
    n = gi_fs_pread(op->p->fs, fd, op->buf->base, op->want, 0);
  return n >= 0 && (uint64_t)n == op->want;
}

/* `pre` is what the file was before it was read and `stat` what it was after, without the times that the reactor knows of. An OPEN has
 * no use for them; they are taken away at the end. */
enum posix_run
posix_run_content(struct posix_op *op, const struct stat *found)
{
  struct gi_reply *rsp = &op->fop->rsp;
  uint64_t max = 0;

  GI_ASSERT(op->new_fd >= 0);
  if (!gi_dict_get_uint(op->fop->xdata, GI_CONTENT_KEY, &max) || op->fop->args.flags & O_TRUNC ||
      !stat_opened(op, found, &rsp->pre))
    return posix_ok(op, 0);
  rsp->stat = rsp->pre;
  overlay(op, &rsp->pre);
  op->want = rsp->pre.size;
  if (max == 0 || op->fop->args.flags & (O_WRONLY | O_DIRECT) || rsp->pre.size > max || rsp->pre.size > CONTENT_MAX ||
      client_has(op->fop, &rsp->pre))
    return posix_ok(op, 0);
  errno = 0;
  op->has_content = read_whole(op, op->new_fd);
  if (!op->has_content && errno == EAGAIN && !op->on_worker)
    return RUN_MOVE; /* the client would ask next for what it has to wait for */
  op->has_content = op->has_content && stat_opened(op, found, &rsp->stat) && rsp->stat.size == op->want;
  return posix_ok(op, 0);
}

/* It is still what the LOOKUP found under the name, and has not changed since. If nobody else is at work that is known. */
static bool
is_untouched(struct posix_op *op, int fd, const struct stat *found)
{
  struct stat st;

  if (!op->p->elsewhere)
    return true;
  return gi_fs_fstat(op->p->fs, fd, &st) == 0 && st.st_ino == found->st_ino && st.st_dev == found->st_dev &&
         st.st_size == found->st_size && st.st_mtim.tv_sec == found->st_mtim.tv_sec &&
         st.st_mtim.tv_nsec == found->st_mtim.tv_nsec && st.st_ctim.tv_sec == found->st_ctim.tv_sec &&
         st.st_ctim.tv_nsec == found->st_ctim.tv_nsec;
}

/* What is cold stays here: nobody waits for it yet. So does what a worker finds: its times may be others when that is told. */
void
posix_content_of_found(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  struct gi_reply *rsp = &op->fop->rsp;
  uint64_t max = 0, size = (uint64_t)st->st_size;
  int fd;

  if (!gi_dict_get_uint(op->fop->xdata, GI_CONTENT_KEY, &max) || max == 0 || !S_ISREG(st->st_mode) || !at.path[0])
    return;
  rsp->pre = rsp->stat;
  overlay(op, &rsp->pre);
  if (op->on_worker || size > max || size > CONTENT_MAX || client_has(op->fop, &rsp->pre))
    return;
  fd = gi_fs_openat(op->p->fs, at.fd, at.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0)
    return;
  op->want = size;
  op->has_content = read_whole(op, fd) && is_untouched(op, fd, st);
  gi_fs_close(op->p->fs, fd);
}

/* The kernel's clock ticks a few hundred times a second: what was changed just now may be changed again without a trace. */
static bool
is_traceable(const struct posix_op *op, const struct gi_iatt *from_disk)
{
  return (op->p->cfg.ctime && op->node[NODE_OBJ].md_state == MD_PRESENT) ||
         gi_wall(op->x->reactor).sec > from_disk->ctime.sec + 1;
}

static void
tell_content(struct posix_op *op, bool traceable)
{
  struct gi_reply *rsp = &op->fop->rsp;
  struct gi_dict *xdata = gi_fop_rsp_xdata(op->fop);

  gi_dict_set_iatt(xdata, GI_CONTENT_STAT_KEY, &rsp->stat);
  if (op->has_content && traceable && is_version(&rsp->pre, &rsp->stat))
    gi_dict_set_bin(xdata, GI_CONTENT_KEY, op->buf->base, (uint32_t)op->want);
}

void
posix_finish_content(struct posix_op *op)
{
  struct gi_reply *rsp = &op->fop->rsp;
  bool traceable = is_traceable(op, &rsp->stat);

  if (rsp->ret >= 0 && gi_iatt_valid(&rsp->stat)) {
    overlay(op, &rsp->stat);
    tell_content(op, traceable);
  }
  rsp->stat = rsp->pre = (struct gi_iatt){0};
}

/* The attributes of the reply are with the times that the reactor knows of. */
void
posix_finish_found(struct posix_op *op)
{
  struct gi_reply *rsp = &op->fop->rsp;

  if (gi_iatt_valid(&rsp->pre))
    tell_content(op, is_traceable(op, &rsp->stat));
  rsp->pre = (struct gi_iatt){0};
}
