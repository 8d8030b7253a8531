/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading, writing, allocating and searching: an operation on a range of the
 * file becomes one per block that it touches.
 */
#include "xlators/features/shard/shard.h"

/* The part of a range that lies in one block. */
struct piece {
  uint64_t n, offset, len; /* block; where in it; bytes */
  uint64_t at;             /* of the first byte, from the start of the range */
};

static bool
next_piece(const struct sh_file *file, uint64_t offset, uint64_t len, struct piece *p)
{
  uint64_t at = p->at + p->len, left = len - at;

  GI_ASSERT(at <= len);
  if (left == 0)
    return false;
  uint64_t pos = offset + at, within = pos % file->block_size, room = file->block_size - within;

  *p = (struct piece){.n = pos / file->block_size, .offset = within, .len = left < room ? left : room, .at = at};
  return true;
}

/* The blocks that there are of a range. */
static int
find_there(struct sh_file *file, struct gi_fop *fop, uint64_t offset, uint64_t len, struct sh_numbers *there)
{
  uint64_t first = offset / file->block_size;

  return sh_blocks_between(file->sh, fop, &file->inode->gfid, first ? first : 1,
                           len ? (offset + len - 1) / file->block_size + 1 : first, there);
}

/* False: there is no such block. The next piece is then in the next block that there is. */
static bool
skip_absent(const struct sh_file *file, uint64_t offset, uint64_t len, const struct sh_numbers *there, struct piece *p)
{
  uint64_t next = p->n ? sh_next_number(there, p->n) : 0, to = offset + len;

  if (next == p->n)
    return true;
  if (next <= (to - 1) / file->block_size)
    to = next * file->block_size;
  GI_ASSERT(to > offset + p->at && to <= offset + len);
  p->len = to - offset - p->at;
  return false;
}

static bool
bad_range(uint64_t offset, uint64_t len)
{
  return offset > INT64_MAX || len > INT64_MAX - offset;
}

/* ---- READ ---- */

static void
add_zeros(struct gi_payload *out, uint64_t len)
{
  struct gi_buf *buf;

  if (!len)
    return;
  buf = gi_buf_new(len);
  memset(buf->base, 0, len);
  gi_payload_add(out, buf, buf->base, len);
  gi_buf_unref(&buf);
}

struct reading {
  struct gi_fop *fop;
  const struct piece *piece;
};

/* An O_DIRECT read of the last bytes asks for whole sectors, as its application did. */
static uint64_t
sectors(const struct gi_fop *fop, uint64_t len)
{
  bool direct = ((uint32_t)fop->fd->flags | fop->args.flags) & O_DIRECT;

  return direct ? (len + 4095) & ~(uint64_t)4095 : len;
}

static void
fill_read(struct gi_fop *op, void *arg)
{
  const struct reading *r = arg;

  op->args.offset = r->piece->offset;
  op->args.size = sectors(r->fop, r->piece->len);
  op->args.flags = r->fop->args.flags | ((uint32_t)r->fop->fd->flags & O_DIRECT);
}

static int
read_piece(struct sh_file *file, struct gi_fop *fop, const struct piece *p, struct gi_payload *out)
{
  struct reading r = {fop, p};
  struct gi_fop *reply;
  int err;

  if (p->n == 0) {
    reply = gi_fop_child(fop);
    reply->args.offset = p->offset;
    reply->args.size = sectors(fop, p->len);
    err = sh_run(file->sh, reply);
  } else {
    err = sh_block_run(file, fop, GI_FOP_READ, p->n, false, fill_read, &r, &reply);
  }
  uint64_t had = 0;

  GI_ASSERT(!err || !reply || reply->rsp.ret < 0);
  if (!err && reply) {
    gi_payload_trim(&reply->rsp.payload, p->len);
    had = reply->rsp.payload.len;
    gi_payload_append(out, &reply->rsp.payload);
  }
  gi_fop_unref(reply);
  if (!err)
    add_zeros(out, p->len - had);
  return err;
}

int
sh_read(struct sh_file *file, struct gi_fop *fop)
{
  uint64_t offset = fop->args.offset, len = fop->args.size;

  if (bad_range(offset, len) || len == 0)
    return EINVAL;
  int err = sh_know(file, fop, fop->fd);

  if (err)
    return err;
  uint64_t size = file->size, asked = file->asked;

  if (len > (1u << 24))
    len = 1u << 24;
  if (offset >= size)
    len = 0;
  else if (len > size - offset)
    len = size - offset;
  struct gi_payload out = {0};
  for (struct piece p = {0}; !err && next_piece(file, offset, len, &p);)
    err = read_piece(file, fop, &p, &out);
  if (err) {
    gi_payload_clear(&out);
    return err;
  }
  GI_ASSERT(out.len == len);
  fop->rsp.payload = out;
  fop->rsp.ret = (int32_t)len;
  fop->rsp.err = offset + len >= size ? ENOENT : 0;
  fop->rsp.stat = sh_view(file);
  fop->rsp.asked = file->lease == SH_LEASE_NONE ? asked : 0;
  return 0;
}

/* ---- changes ---- */

/* A change of a range: what is to be done to each piece, and what came of it. */
struct change {
  struct sh_file *file;
  struct gi_fop *fop;
  uint64_t offset, len;
  bool makes; /* blocks that are not there */
  bool grows; /* the file, if the range goes beyond its end */
  struct piece piece;
  struct sh_numbers there; /* blocks, of those that are changed only where they are */
  struct gi_iatt base_pre, base_post;
  int64_t blocks;
  uint64_t end;  /* of the last piece that was done */
  uint64_t done; /* bytes, from the start, without a gap */
};

static void
fill_change(struct gi_fop *op, void *arg)
{
  const struct change *c = arg;
  const struct piece *p = &c->piece;

  op->args.offset = p->offset;
  op->args.size = p->len;
  op->args.flags = c->fop->args.flags;
  if (c->fop->kind == GI_FOP_WRITE) {
    op->args.flags = (op->args.flags & ~(uint32_t)O_APPEND) | ((uint32_t)c->fop->fd->flags & (O_DIRECT | O_SYNC | O_DSYNC));
    op->args.sync = GI_SYNC_NONE; /* the size and the other blocks are not synced with it */
    gi_payload_clear(&op->payload);
    GI_ASSERT(p->at + p->len <= c->fop->payload.len);
    gi_payload_slice(&c->fop->payload, p->at, p->len, &op->payload);
  }
}

static struct gi_fop *
base_change(struct change *c)
{
  struct gi_fop *op = gi_fop_child(c->fop);

  fill_change(op, c);
  if (c->fop->kind == GI_FOP_WRITE)
    op->args.flags = c->fop->args.flags & ~(uint32_t)O_APPEND;
  return op;
}

/* A file system may allocate later. But when a block begins to be, others who have read zeros there are told by the change of this number. */
static int64_t
more_blocks(const struct gi_iatt *pre, const struct gi_iatt *post)
{
  int64_t more = (int64_t)post->blocks - (int64_t)pre->blocks;

  return more == 0 && pre->size == 0 && post->size > 0 ? 1 : more;
}

/* Absent blocks stay absent where only what is there is changed. */
static int
change_piece(struct change *c)
{
  struct sh_file *file = c->file;
  struct gi_fop *op = NULL;
  int err;

  if (c->piece.n == 0) {
    op = base_change(c);
    err = sh_run(file->sh, op);
  } else {
    err = sh_block_run(file, c->fop, c->fop->kind, c->piece.n, c->makes, fill_change, c, &op);
  }
  uint64_t got = c->piece.len;
  if (!err && op) {
    const struct gi_reply *rsp = &op->rsp;

    if (c->fop->kind == GI_FOP_WRITE && (uint64_t)rsp->ret < got)
      got = (uint64_t)rsp->ret;
    if (gi_iatt_valid(&rsp->pre) && gi_iatt_valid(&rsp->post))
      c->blocks += more_blocks(&rsp->pre, &rsp->post);
    if (c->piece.n == 0) {
      c->base_pre = rsp->pre;
      c->base_post = rsp->post;
    } else {
      sh_block_dirty(file, c->piece.n);
    }
  }
  if (!err && got) {
    if (c->done == c->piece.at)
      c->done += got;
    c->end = c->offset + c->piece.at + got;
    if (c->piece.n && (op || c->makes))
      sh_moved(file, c->fop);
  }
  gi_fop_unref(op);
  if (!err && got < c->piece.len)
    err = EIO; /* the rest is not tried */
  return err;
}

/* O_SYNC: what was written is of use only if the size is there as well. */
static int
sync_size(struct change *c, uint64_t before)
{
  bool sync = c->fop->kind == GI_FOP_WRITE && (((uint32_t)c->fop->fd->flags | c->fop->args.flags) & (O_SYNC | O_DSYNC));

  if (!sync || c->file->size == before)
    return 0;
  struct gi_fop *op = sh_inode_fop(c->file->sh, c->fop, GI_FOP_FSYNC, c->file->inode);

  gi_fop_set_fd(op, c->fop->fd);
  op->caller.stamps = 0;
  int err = sh_run(c->file->sh, op);

  gi_fop_unref(op);
  return err;
}

static int
change_all(struct change *c)
{
  struct sh_file *file = c->file;
  uint64_t before = file->size;
  int err = 0, grown;

  if (!c->makes)
    err = find_there(file, c->fop, c->offset, c->len, &c->there);
  while (!err && next_piece(file, c->offset, c->len, &c->piece)) {
    if (c->makes || skip_absent(file, c->offset, c->len, &c->there, &c->piece))
      err = file->sh->stopping ? EINTR : change_piece(c); /* there may be very many */
  }
  sh_numbers_free(&c->there);
  if (!err && c->len)
    c->end = c->offset + c->len;
  GI_ASSERT(c->done <= c->len && c->end <= c->offset + c->len);
  /* Even if not all of it was done: no block lies beyond the end. */
  grown = sh_grow(file, c->fop, c->fop->fd, c->grows ? c->end : 0, c->blocks);
  if (!grown)
    grown = sync_size(c, before);
  return grown ? grown : c->fop->kind == GI_FOP_WRITE && c->done ? 0 : err;
}

static bool
appends(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_WRITE &&
         (fop->args.flags & O_ACCMODE ? fop->args.flags : fop->args.flags | (uint32_t)fop->fd->flags) & O_APPEND;
}

/* Takes the lease as the change needs it, and makes sure that it still does. */
static int
take_lease(struct change *c, bool append)
{
  struct sh_file *file = c->file;
  bool alone = append;
  int err;

  for (;;) {
    alone = alone || (c->grows && c->offset + c->len > file->size);
    err = sh_lease_take(file, c->fop, alone ? SH_LEASE_ALONE : SH_LEASE_SHARED);
    if (err)
      return err;
    err = sh_know(file, c->fop, c->fop->fd);
    if (err) {
      sh_lease_give(file);
      return err;
    }
    if (append)
      c->offset = file->size;
    if (alone || !c->grows || c->offset + c->len <= file->size)
      return 0;
    sh_lease_give(file);
  }
}

/* What lies beyond the end is not changed: of files that keep their size no block is made there. */
static void
clip(struct change *c)
{
  uint64_t size = c->file->size;

  GI_ASSERT(c->file->users > 0 && c->file->gate.inside > 0);
  if (!c->grows)
    c->len = c->offset >= size ? 0 : c->len < size - c->offset ? c->len : size - c->offset;
}

/* Between the end of the file and what is written is a gap, which what is under way does not fill. */
static bool
leaves_gap(const struct change *c)
{
  uint64_t reach = c->file->reach > c->file->size ? c->file->reach : c->file->size;

  return c->grows && c->len && c->offset > reach;
}

/* At the gate and with the lease, alone if it leaves a gap: that is cleared before. */
static int
enter(struct change *c, bool append)
{
  struct sh_file *file = c->file;
  bool alone = append;

  for (;;) {
    sh_gate_enter(file->sh->x->reactor, &file->gate, alone);
    int err = take_lease(c, append);

    if (err) {
      sh_gate_leave(&file->gate);
      return err;
    }
    if (!bad_range(c->offset, c->len) && (alone || !leaves_gap(c)))
      return 0;
    if (bad_range(c->offset, c->len))
      err = EFBIG;
    sh_lease_give(file);
    sh_gate_leave(&file->gate);
    if (err)
      return err;
    alone = true;
  }
}

static int
change_file(struct change *c, bool append)
{
  struct sh_file *file = c->file;
  int err = enter(c, append);

  if (err)
    return err;
  clip(c);
  if (c->grows && !leaves_gap(c) && c->offset + c->len > file->reach)
    file->reach = c->offset + c->len;
  sh_change_begins(file);
  err = leaves_gap(c) ? sh_clear_behind(file, c->fop, c->fop->fd, c->offset) : 0;
  if (!err)
    err = change_all(c);
  sh_change_ended(file);
  if (!err)
    sh_settle(file, &c->fop->rsp, &c->base_pre, &c->base_post, c->grows ? c->end : 0, false);
  else
    sh_forget(file);
  sh_lease_give(file);
  sh_gate_leave(&file->gate);
  return err;
}

int
sh_write(struct sh_file *file, struct gi_fop *fop)
{
  struct change c = {
      .file = file, .fop = fop, .offset = fop->args.offset, .len = fop->payload.len, .makes = true, .grows = true};

  if (bad_range(c.offset, c.len))
    return EFBIG;
  int err = change_file(&c, appends(fop));

  fop->rsp.ret = (int32_t)c.done;
  return err;
}

#define KEEP_SIZE 1u

int
sh_space(struct sh_file *file, struct gi_fop *fop)
{
  bool keep = fop->kind == GI_FOP_DISCARD || (fop->args.flags & KEEP_SIZE);
  struct change c = {.file = file,
                     .fop = fop,
                     .offset = fop->args.offset,
                     .len = fop->args.size,
                     .makes = fop->kind == GI_FOP_FALLOCATE,
                     .grows = !keep};

  if (bad_range(c.offset, c.len))
    return EFBIG;
  return change_file(&c, false);
}

/* ---- SEEK ---- */

static void
fill_seek(struct gi_fop *op, void *arg)
{
  const struct reading *r = arg;

  op->args.offset = r->piece->offset;
  op->args.what = r->fop->args.what;
}

#define SEEK_FOR_HOLE 1

/* Where in the block, at most at its end; *found: false if it is not in there. */
static int
seek_piece(struct sh_file *file, struct gi_fop *fop, const struct piece *p, uint64_t *at, bool *found)
{
  struct reading r = {fop, p};
  bool hole = fop->args.what == SEEK_FOR_HOLE;
  struct gi_fop *op = NULL;
  int err;

  GI_ASSERT(p->len > 0 && p->offset + p->len <= file->block_size);
  *at = p->offset;
  if (p->n == 0) {
    op = gi_fop_child(fop);
    op->args.offset = p->offset;
    err = sh_run(file->sh, op);
  } else {
    err = sh_block_run(file, fop, GI_FOP_SEEK, p->n, false, fill_seek, &r, &op);
  }
  if (!err && op)
    *at = op->rsp.offset;
  if (err == ENXIO || (!err && !op)) /* behind its end, or no such block: a hole */
    *found = hole, err = 0;
  else
    *found = *at < p->offset + p->len;
  gi_fop_unref(op);
  return err;
}

int
sh_seek(struct sh_file *file, struct gi_fop *fop)
{
  int err = sh_know(file, fop, fop->fd);

  if (err)
    return err;
  uint64_t offset = fop->args.offset, size = file->size, at = 0;
  bool found = false;

  if (offset >= size)
    return ENXIO;
  struct sh_numbers there = {0};

  if (fop->args.what != SEEK_FOR_HOLE)
    err = find_there(file, fop, offset, size - offset, &there);
  for (struct piece p = {0}; !err && !found && next_piece(file, offset, size - offset, &p);) {
    if (fop->args.what == SEEK_FOR_HOLE || skip_absent(file, offset, size - offset, &there, &p))
      err = seek_piece(file, fop, &p, &at, &found);
    at += p.n * file->block_size;
  }
  sh_numbers_free(&there);
  if (err)
    return err;
  if (!found && fop->args.what != SEEK_FOR_HOLE)
    return ENXIO;
  fop->rsp.offset = found ? at : size; /* behind the end there is a hole */
  fop->rsp.ret = 0;
  return 0;
}
