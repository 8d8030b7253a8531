/* SPDX-License-Identifier: Apache-2.0
 *
 * What large writes make a file grow by, or fill holes and allocated space with,
 * goes to the disk as it comes, some megabytes at a time, behind the answers: else
 * the disk has nothing to do until the fsync at the end, and that waits for all of
 * it.
 *
 * Only where the file had nothing. The journal brings that with the new size or
 * the new extents, and with whatever counters were raised before; overwritten
 * blocks could reach the disk before their counters (doc/decisions/0012).
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

#define STREAM_WRITE (256u << 10) /* a smaller one is no part of a stream: it may be a log, or be written again soon */
#define STREAM_PIECE (8u << 20)
#define BLOCK 4096u

struct write_out {
  struct gi_work work;
  struct posix *p;
  struct gi_fop *fop; /* referenced: it keeps the descriptor */
  struct posix_pieces piece;
  int fd, err;
};

static void
write_out_run(struct gi_work *w)
{
  struct write_out *o = GI_CONTAINER(w, struct write_out, work);
  const struct posix_pieces *piece = &o->piece;

  GI_ASSERT(o->fd >= 0 && piece->start < piece->end);
  if (gi_fs_write_out(o->p->fs, o->fd, (off_t)piece->start, (off_t)(piece->end - piece->start), false) < 0)
    o->err = errno;
}

/* The kernel has told of a refusal now, and an fsync would succeed. */
static void
write_out_done(struct gi_work *w)
{
  struct write_out *o = GI_CONTAINER(w, struct write_out, work);

  GI_ASSERT(o->fop->answered && o->fop->fd);
  if (o->err) {
    GI_PROBE("posix: the disk refused what was streamed to it before its fsync");
    posix_lose(o->p, posix_inode_of(o->p, o->fop->fd->inode));
  }
  ((struct posix_fd *)gi_fd_private(o->fop->fd, o->p->x))->writing_out = false;
  gi_fop_unref(o->fop);
  gi_free(o);
}

static bool
belongs(const struct posix_op *op, const struct posix_fd *pf)
{
  const struct gi_fop *fop = op->fop;

  return op->fills && fop->rsp.ret > 0 && (uint32_t)fop->rsp.ret >= STREAM_WRITE && gi_iatt_valid(&fop->rsp.pre) && !op->sync &&
         !pf->sync && !pf->direct && fop->caller.pid >= 0;
}

/* Neither blocks that were written nor pages that will be. */
bool
posix_stream_fills(const struct posix_op *op)
{
  const struct gi_fop *fop = op->fop;
  off_t data;

  if (fop->payload.len < STREAM_WRITE)
    return false;
  data = gi_fs_lseek(op->p->fs, op->fd, (off_t)fop->args.offset, SEEK_DATA);
  return data < 0 ? errno == ENXIO : (uint64_t)data >= fop->args.offset + fop->payload.len;
}

void
posix_stream(struct posix_op *op)
{
  struct posix_fd *pf = gi_fd_private(op->fop->fd, op->x);
  struct posix_pieces *s = &pf->stream;
  uint64_t start = op->at_end ? op->fop->rsp.pre.size : op->fop->args.offset;
  uint64_t len = (uint64_t)(op->fop->rsp.ret > 0 ? op->fop->rsp.ret : 0);
  struct write_out *o;

  if (!belongs(op, pf)) {
    *s = (struct posix_pieces){0};
    return;
  }
  if (s->end != start)
    *s = (struct posix_pieces){.start = (start + BLOCK - 1) / BLOCK * BLOCK};
  s->end = start + len;
  if (s->end - s->start < STREAM_PIECE || pf->writing_out)
    return;
  o = gi_new(struct write_out);
  *o = (struct write_out){.p = op->p, .fop = gi_fop_ref(op->fop), .fd = pf->fd, .piece = *s};
  o->work.priority = GI_PRIO_LOW;
  o->work.run = write_out_run;
  o->work.done = write_out_done;
  pf->writing_out = true;
  s->start = s->end / BLOCK * BLOCK;
  op->p->metrics.write_outs++;
  gi_work_submit(op->x->reactor, &o->work);
}
