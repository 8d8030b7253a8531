/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a small file travels with its open, if the client asks for it
 * (GI_CONTENT_KEY): who opens a small file reads it next.
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

static bool
stat_opened(struct posix_op *op, struct gi_iatt *a)
{
  struct stat st;

  if (gi_fs_fstat(op->p->fs, op->new_fd, &st) < 0 || !S_ISREG(st.st_mode))
    return false;
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, a);
  return true;
}

/* `pre` is what the file was before it was read and `stat` what it was after, without the times that the reactor knows of. An OPEN has
 * no use for them; they are taken away at the end. */
enum posix_run
posix_run_content(struct posix_op *op)
{
  struct gi_reply *rsp = &op->fop->rsp;
  uint64_t max = 0;
  ssize_t n;

  GI_ASSERT(op->new_fd >= 0);
  if (!gi_dict_get_uint(op->fop->xdata, GI_CONTENT_KEY, &max) || op->fop->args.flags & O_TRUNC || !stat_opened(op, &rsp->pre))
    return posix_ok(op, 0);
  rsp->stat = rsp->pre;
  overlay(op, &rsp->pre);
  op->want = rsp->pre.size;
  if (max == 0 || op->fop->args.flags & (O_WRONLY | O_DIRECT) || rsp->pre.size > max || rsp->pre.size > CONTENT_MAX ||
      client_has(op->fop, &rsp->pre))
    return posix_ok(op, 0);
  if (!op->buf)
    op->buf = gi_buf_new(op->want ? op->want : 1);
  struct iovec iov = {op->buf->base, op->want};

  n = gi_fs_preadv(op->p->fs, op->new_fd, &iov, 1, 0, op->on_worker ? 0 : RWF_NOWAIT);
  if (n < 0 && errno == EOPNOTSUPP)
    n = gi_fs_pread(op->p->fs, op->new_fd, op->buf->base, op->want, 0);
  if (n < 0 && errno == EAGAIN && !op->on_worker)
    return RUN_MOVE; /* the client would ask next for what it has to wait for */
  op->has_content = n >= 0 && (uint64_t)n == op->want && stat_opened(op, &rsp->stat) && rsp->stat.size == op->want;
  return posix_ok(op, 0);
}

/* The kernel's clock ticks a few hundred times a second: what was changed just now may be changed again without a trace. */
static bool
is_traceable(const struct posix_op *op, const struct gi_iatt *from_disk)
{
  return (op->p->cfg.ctime && op->node[NODE_OBJ].md_state == MD_PRESENT) ||
         gi_wall(op->x->reactor).sec > from_disk->ctime.sec + 1;
}

void
posix_finish_content(struct posix_op *op)
{
  struct gi_reply *rsp = &op->fop->rsp;
  bool traceable = is_traceable(op, &rsp->stat);

  if (rsp->ret >= 0 && gi_iatt_valid(&rsp->stat)) {
    struct gi_dict *xdata = gi_fop_rsp_xdata(op->fop);

    overlay(op, &rsp->stat);
    gi_dict_set_iatt(xdata, GI_CONTENT_STAT_KEY, &rsp->stat);
    if (op->has_content && traceable && is_version(&rsp->pre, &rsp->stat))
      gi_dict_set_bin(xdata, GI_CONTENT_KEY, op->buf->base, (uint32_t)op->want);
  }
  rsp->stat = rsp->pre = (struct gi_iatt){0};
}
