/* SPDX-License-Identifier: Apache-2.0
 *
 * Truncating, opening, and bringing to the disks.
 *
 * A file is made shorter from its end: blocks go, the last one that stays is cut,
 * then the size follows. Who is stopped in between leaves a file of the old size
 * that ends in zeros; a size that was set first would leave blocks behind it.
 * A write that failed, or whose client was stopped, leaves some there all the
 * same, so the end is not moved over them before they are gone.
 */
#include "xlators/features/shard/shard.h"

#include "libglusterish/content.h"

struct cutting {
  uint64_t size;
};

static void
fill_cut(struct gi_fop *op, void *arg)
{
  op->args.offset = ((const struct cutting *)arg)->size;
}

/* The block that the new end lies in. */
static int
cut_block(struct sh_file *file, struct gi_fop *fop, uint64_t n, uint64_t size, int64_t *blocks)
{
  struct cutting c = {size};
  struct gi_fop *op, *look;
  int err;

  err = sh_block_run(file, fop, GI_FOP_FSTAT, n, false, fill_cut, &c, &look);
  bool longer = !err && look && look->rsp.stat.size > size;
  gi_fop_unref(look);
  if (err || !longer)
    return err;
  err = sh_block_run(file, fop, GI_FOP_FTRUNCATE, n, false, fill_cut, &c, &op);
  if (!err && op) {
    *blocks += (int64_t)op->rsp.post.blocks - (int64_t)op->rsp.pre.blocks;
    sh_block_dirty(file, n);
  }
  gi_fop_unref(op);
  return err;
}

static int
cut(struct sh_file *file, struct gi_fop *fop, uint64_t size, int64_t *blocks)
{
  uint64_t bs = file->block_size, within = size % bs;
  uint64_t keep = size / bs + (within ? 1 : 0), have = file->size / bs + (file->size % bs ? 1 : 0);

  if (keep == 0)
    keep = 1; /* the first is the file itself */
  GI_ASSERT(size < file->size && file->gate.alone);
  struct sh_removed gone = {0};
  int err = sh_blocks_cut(file, fop, keep, have, &gone);

  *blocks -= (int64_t)gone.blocks;
  return !err && within && size / bs > 0 ? cut_block(file, fop, size / bs, within, blocks) : err;
}

/* ---- what lies behind the end ---- */

/* The first block, which is the file itself, ends where the file does. */
static int
cut_first(struct sh_file *file, struct gi_fop *fop)
{
  struct gi_fd *fd = gi_fd_anonymous(file->sh->x->graph, file->inode);
  struct gi_fop *look = sh_fop(file->sh, fop, GI_FOP_FSTAT), *op = NULL;

  GI_ASSERT(file->size < file->block_size);
  gi_fop_set_fd(look, fd);
  look->caller.stamps = 0;
  int err = sh_run(file->sh, look);

  if (!err && look->rsp.stat.size > file->size) {
    op = sh_fop(file->sh, fop, GI_FOP_FTRUNCATE);
    gi_fop_set_fd(op, fd);
    op->caller.stamps = 0;
    op->args.offset = file->size;
    err = sh_run(file->sh, op);
  }
  gi_fop_unref(op);
  gi_fop_unref(look);
  gi_fd_unref(&fd);
  return err;
}

/* Perhaps nobody ever counted those blocks: their number stays. */
static int
clear_blocks(struct sh_file *file, struct gi_fop *fop, uint64_t to)
{
  uint64_t bs = file->block_size, last = file->size / bs, within = file->size % bs;
  bool begun = last == 0 || within;
  struct sh_removed gone = {0};
  int64_t blocks = 0;
  int err = last > 0 && within ? cut_block(file, fop, last, within, &blocks) : 0;

  GI_ASSERT(file->gate.alone && file->size < to && to <= INT64_MAX);
  return err ? err : sh_blocks_cut(file, fop, begun ? last + 1 : last, (to - 1) / bs + 1, &gone);
}

/* A GlusterFS client takes no lock and may have moved the end: it is asked for once more before anything behind it goes. */
static int
know_end(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd)
{
  sh_forget(file);
  return sh_know(file, fop, fd);
}

int
sh_clear_behind(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t to)
{
  int err = know_end(file, fop, fd);

  if (!err && file->size >= to)
    return 0;
  if (!err && file->size < file->block_size)
    err = cut_first(file, fop);
  return err ? err : clear_blocks(file, fop, to);
}

/* ---- TRUNCATE ---- */

/* The base file comes first: its brick says whether the caller may do this at all, and sets the times. What grows gets a hole. */
static struct gi_fop *
cut_base(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size)
{
  uint64_t left = size < file->size ? size : file->size;
  struct gi_fop *op = gi_fop_helper(fop, fd ? GI_FOP_FTRUNCATE : GI_FOP_TRUNCATE);

  GI_ASSERT(!fd || fd->inode == file->inode);
  op->caller.stamps &= GI_STAMP_CTIME | GI_STAMP_MTIME;
  if (fop->kind == GI_FOP_TRUNCATE || fop->kind == GI_FOP_FTRUNCATE)
    op->xdata = gi_dict_ref(fop->xdata);
  if (fd)
    gi_fop_set_fd(op, fd);
  else
    gi_loc_set_inode(&op->loc, file->inode);
  op->args.offset = left < file->block_size ? left : file->block_size;
  return op;
}

static int
truncate_locked(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size)
{
  int64_t blocks = 0;
  int err = sh_know(file, fop, fd);

  if (!err && size > file->size)
    err = know_end(file, fop, fd);
  if (err)
    return err;
  struct gi_fop *base = cut_base(file, fop, fd, size);

  err = sh_run(file->sh, base);
  if (!err) {
    blocks = (int64_t)base->rsp.post.blocks - (int64_t)base->rsp.pre.blocks;
    if (size < file->size)
      err = cut(file, fop, size, &blocks);
    else if (size > file->size)
      err = clear_blocks(file, fop, size);
    if (!err && size <= file->block_size) /* nothing else is left */
      blocks = (int64_t)base->rsp.post.blocks - (int64_t)file->blocks;
    if (!err)
      err = sh_set_size(file, fop, fd, size, blocks);
  }
  if (!err)
    sh_settle(file, &fop->rsp, &base->rsp.pre, &base->rsp.post, size, true);
  gi_fop_unref(base);
  return err;
}

int
sh_truncate_file(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size)
{
  struct gi_reactor *r = file->sh->x->reactor;
  int err;

  if (size > INT64_MAX)
    return EINVAL;
  sh_gate_enter(r, &file->gate, true);
  err = sh_lease_take(file, fop, SH_LEASE_ALONE);
  if (!err) {
    sh_change_begins(file);
    err = truncate_locked(file, fop, fd, size);
    sh_change_ended(file);
    if (err)
      sh_forget(file);
    sh_lease_give(file);
  }
  sh_gate_leave(&file->gate);
  return err;
}

int
sh_truncate(struct sh_file *file, struct gi_fop *fop)
{
  int err = sh_truncate_file(file, fop, fop->kind == GI_FOP_FTRUNCATE ? fop->fd : NULL, fop->args.offset);

  fop->rsp.ret = 0;
  return err;
}

/* ---- OPEN, CREATE ---- */

/* Bricks must neither append nor truncate: they have the first block only. */
static int
truncate_opened(struct sh_file *file, struct gi_fop *fop)
{
  bool writes = (fop->args.flags & O_ACCMODE) != O_RDONLY;
  struct gi_reply kept = fop->rsp;

  GI_ASSERT(kept.ret >= 0 && fop->fd);
  int err;

  fop->rsp = (struct gi_reply){0};
  err = sh_truncate_file(file, fop, writes ? fop->fd : NULL, 0);
  struct gi_iatt left = fop->rsp.post;
  gi_reply_clear(&fop->rsp);
  fop->rsp = kept;
  if (!err && fop->kind == GI_FOP_CREATE)
    fop->rsp.stat = left;
  return err;
}

int
sh_open(struct sh_file *file, struct gi_fop *fop)
{
  bool cuts = fop->args.flags & O_TRUNC;

  file->looked++;
  if (!file->sh->x->graph->promise)
    sh_look_again(file);
  fop->args.flags &= ~(uint32_t)(O_APPEND | O_TRUNC);
  gi_content_unask(fop); /* it would be that of the first block */
  int err = sh_pass(file->sh, fop);

  return !err && cuts ? truncate_opened(file, fop) : err;
}

static int
truncate_plain(struct shard *sh, struct gi_fop *fop)
{
  struct gi_fop *op = gi_fop_helper(fop, GI_FOP_FTRUNCATE);

  gi_fop_set_fd(op, fop->fd);
  op->caller.stamps &= GI_STAMP_CTIME | GI_STAMP_MTIME;
  int err = sh_run(sh, op);

  if (!err)
    fop->rsp.stat = op->rsp.post;
  gi_fop_unref(op);
  return err;
}

int
sh_created(struct shard *sh, struct gi_fop *fop)
{
  struct sh_file *file = NULL;
  bool cuts = ((const struct sh_fop *)gi_fop_private(fop, sh->x))->cuts;
  struct gi_inode *inode = gi_inode_get(sh->x->graph, &fop->rsp.stat.gfid);
  int err = sh_identify(sh, fop, inode, &file);

  if (!err && file) {
    file->looked++;
    err = sh_know(file, fop, NULL);
  }
  if (!err && file)
    sh_show(file, &fop->rsp.stat);
  if (!err && cuts)
    err = file ? truncate_opened(file, fop) : truncate_plain(sh, fop);
  gi_inode_unref(&inode);
  return err;
}

/* ---- FSYNC, FLUSH ---- */

int
sh_fsync(struct sh_file *file, struct gi_fop *fop)
{
  int err = sh_blocks_sync(file, fop, fop->args.datasync);

  if (!err && !fop->args.datasync)
    err = sh_flush_times(file, fop);
  if (!err)
    err = sh_pass(file->sh, fop);
  if (!err)
    err = sh_know(file, fop, fop->fd);
  if (!err) {
    sh_show(file, &fop->rsp.pre);
    sh_show(file, &fop->rsp.post);
  }
  return err;
}

int
sh_flush(struct sh_file *file, struct gi_fop *fop)
{
  GI_IGNORE(sh_flush_times(file, fop)); /* they are set again when the lease ends */
  return sh_pass(file->sh, fop);
}
