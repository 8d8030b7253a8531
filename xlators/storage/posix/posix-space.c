/* SPDX-License-Identifier: Apache-2.0
 *
 * Data operations that take as long as their range is wide, always off the
 * reactor: FALLOCATE, DISCARD, ZEROFILL, COPY_FILE_RANGE, RCHECKSUM.
 */
#include "xlators/storage/posix/posix.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#define CHUNK (128u << 10)
#define CHECKSUM_MAX (64u << 20)
#define ADLER_BASE 65521u

/* ---- FALLOCATE, DISCARD, ZEROFILL ---- */

int
posix_prepare_fallocate(struct posix_op *op)
{
  const struct gi_args *a = &op->fop->args;
  int err = posix_prepare_fd(op);

  if (!err && (a->offset > INT64_MAX || a->size > INT64_MAX - a->offset))
    err = EFBIG;
  if (err)
    return err;
  if (op->fop->kind != GI_FOP_DISCARD && op->fop->caller.pid >= 0 && !gi_dict_get(op->fop->xdata, KEY_INTERNAL)) {
    posix_reserve_poll(op->p); /* one call can fill the disk */
    op->full = op->p->disk_full;
  }
  op->exclusive = gi_dict_get(op->fop->xdata, "glusterfs.write-update-atomic");
  op->sync = op->fd >= 0 && ((struct posix_fd *)gi_fd_private(op->fop->fd, op->x))->sync;
  return 0;
}

static int
write_zeroes(struct gi_fs *fs, int fd, off_t at, off_t len)
{
  GI_CLEANUP_FREE char *zeroes = gi_zalloc(CHUNK);

  while (len > 0) {
    ssize_t n = gi_fs_pwrite(fs, fd, zeroes, len < CHUNK ? (size_t)len : CHUNK, at);

    if (n <= 0)
      return n < 0 ? errno : ENOSPC;
    at += n;
    len -= n;
  }
  return 0;
}

static int
change_range(struct posix_op *op)
{
  const struct gi_args *a = &op->fop->args;
  off_t at = (off_t)a->offset, len = (off_t)a->size;

  switch (op->fop->kind) {
  case GI_FOP_DISCARD:
    return gi_fs_fallocate(op->p->fs, op->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len) < 0 ? errno : 0;
  case GI_FOP_ZEROFILL:
    if (gi_fs_fallocate(op->p->fs, op->fd, FALLOC_FL_ZERO_RANGE, at, len) == 0)
      return 0;
    return errno == EOPNOTSUPP ? write_zeroes(op->p->fs, op->fd, at, len) : errno;
  default:
    return gi_fs_fallocate(op->p->fs, op->fd, a->flags ? FALLOC_FL_KEEP_SIZE : 0, at, len) < 0 ? errno : 0;
  }
}

/* Bytes that the file may have in the range already: not those before it, if there is no hole. */
static uint64_t
may_have(const struct posix_op *op, const struct stat *st)
{
  uint64_t has = (uint64_t)st->st_blocks * 512, before = (uint64_t)st->st_size;
  off_t hole = gi_fs_lseek(op->p->fs, op->fd, 0, SEEK_HOLE);

  if (before > op->fop->args.offset)
    before = op->fop->args.offset;
  return hole < 0 || (uint64_t)hole < before || has < before ? has : has - before;
}

/* More than the file has there and the disk has left. To try would fill the disk, and what came of it stays behind the end of the file:
 * nobody can take it away again without taking what others write there meanwhile. */
static bool
cannot_fit(const struct posix_op *op, const struct stat *st)
{
  struct statvfs v;

  return gi_fs_statvfs(op->p->fs, op->fd, &v) == 0 && op->fop->args.size > (uint64_t)v.f_bfree * v.f_frsize + may_have(op, st);
}

enum posix_run
posix_run_fallocate(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct stat st;
  int err = posix_obj_open(op, O_RDWR);

  if (!err && gi_fs_fstat(op->p->fs, op->fd, &st) < 0)
    err = errno;
  if (!err && op->full && posix_needs_room(op, &st, fop->args.offset, fop->args.size))
    err = ENOSPC;
  if (!err && fop->kind != GI_FOP_DISCARD && cannot_fit(op, &st))
    err = ENOSPC;
  if (err)
    return posix_err(op, err);
  posix_node_known(op, NODE_OBJ, (struct posix_at){op->fd, ""});
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.pre);
  err = change_range(op);
  if (!err && op->sync && fop->kind == GI_FOP_ZEROFILL && gi_fs_fsync(op->p->fs, op->fd, false) < 0) {
    err = errno;
    op->unsynced = true;
  }
  if (!err)
    err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

/* ---- COPY_FILE_RANGE: NODE_OBJ is the source, NODE_VICTIM the destination ---- */

int
posix_prepare_copy_range(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct posix_fd *pf;
  int err = posix_prepare_fd(op);

  if (err)
    return err;
  if (!fop->fd2 || !fop->fd2->inode)
    return EBADF;
  if (fop->args.offset > INT64_MAX || fop->args.offset2 > INT64_MAX)
    return EINVAL;
  posix_node_prepare(op, NODE_VICTIM, &fop->fd2->inode->gfid, fop->fd2->inode);
  if (fop->fd2->anonymous)
    return 0;
  pf = gi_fd_private(fop->fd2, op->x);
  if (!pf->open)
    return EBADF;
  op->fd2 = pf->fd;
  op->dsync = pf->sync;
  return 0;
}

static int
open_destination(struct posix_op *op)
{
  char path[POSIX_HPATH];

  if (op->fd2 >= 0)
    return 0;
  op->fd2 = gi_fs_openat(op->p->fs, op->p->gl_fd, posix_hpath(path, &op->node[NODE_VICTIM].gfid),
                         O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  op->fd2_own = op->fd2 >= 0;
  return op->fd2 >= 0 ? 0 : errno == ENOENT ? ESTALE : errno;
}

enum posix_run
posix_run_copy_range(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  off_t in = (off_t)fop->args.offset, out = (off_t)fop->args.offset2;
  ssize_t n;
  int err = posix_obj_open(op, O_RDONLY);

  if (!err)
    err = open_destination(op);
  if (!err)
    err = posix_node_stat(op, NODE_VICTIM, (struct posix_at){op->fd2, ""}, &fop->rsp.pre);
  if (err)
    return posix_err(op, err);
  n = gi_fs_copy_range(op->p->fs, op->fd, &in, op->fd2, &out, fop->args.size < INT32_MAX ? (size_t)fop->args.size : INT32_MAX);
  if (n < 0) {
    op->unsynced = op->dsync && errno == EIO;
    return posix_err(op, errno);
  }
  err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &fop->rsp.stat);
  if (!err)
    err = posix_node_stat(op, NODE_VICTIM, (struct posix_at){op->fd2, ""}, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, n);
}

void
posix_stamp_copy_range(struct posix_op *op)
{
  unsigned stamps = op->fop->caller.stamps;

  posix_md_stamp(op, NODE_OBJ, stamps & GI_STAMP_ATIME);
  posix_md_stamp(op, NODE_VICTIM, stamps & (GI_STAMP_MTIME | GI_STAMP_CTIME));
}

/* ---- RCHECKSUM ---- */

struct sums {
  uint32_t a, b; /* Adler-32 with start value 0 (brick.md 5.5) */
  bool zero;
  EVP_MD_CTX *strong;
};

static void
add_bytes(struct sums *s, const uint8_t *data, size_t len)
{
  while (len) {
    size_t run = len < 5552 ? len : 5552; /* the sums fit 32 bits that long */

    len -= run;
    for (; run; run--, data++) {
      s->a += *data;
      s->b += s->a;
      s->zero &= *data == 0;
    }
    s->a %= ADLER_BASE;
    s->b %= ADLER_BASE;
  }
}

static int
sum_range(struct gi_fs *fs, int fd, off_t at, size_t len, struct sums *s)
{
  GI_CLEANUP_FREE uint8_t *chunk = gi_alloc(CHUNK);

  while (len) {
    ssize_t n = gi_fs_pread(fs, fd, chunk, len < CHUNK ? len : CHUNK, at);

    if (n < 0)
      return errno;
    if (n == 0)
      break;
    add_bytes(s, chunk, (size_t)n);
    EVP_DigestUpdate(s->strong, chunk, (size_t)n);
    at += n;
    len -= (size_t)n;
  }
  return 0;
}

enum posix_run
posix_run_rchecksum(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct gi_reply *r = &fop->rsp;
  struct sums s = {.zero = true};
  int err = posix_obj_open(op, O_RDONLY);

  if (!err && (fop->args.size > CHECKSUM_MAX || fop->args.offset > INT64_MAX))
    err = EINVAL;
  if (err)
    return posix_err(op, err);
  s.strong = EVP_MD_CTX_new();
  GI_ASSERT(s.strong && EVP_DigestInit_ex(s.strong, op->p->cfg.fips ? EVP_sha256() : EVP_md5(), NULL) == 1);
  err = sum_range(op->p->fs, op->fd, (off_t)fop->args.offset, (size_t)fop->args.size, &s);
  memset(r->strong_checksum, 0, sizeof(r->strong_checksum));
  EVP_DigestFinal_ex(s.strong, r->strong_checksum, NULL);
  EVP_MD_CTX_free(s.strong);
  if (err)
    return posix_err(op, err);
  r->weak_checksum = s.b << 16 | s.a;
  r->strong_len = 32; /* MD5 leaves the second half zero */
  r->flags = 1;
  if (op->p->cfg.fips)
    gi_dict_set_int(gi_fop_rsp_xdata(fop), "fips-mode-rchecksum", 1);
  if (gi_dict_get(fop->xdata, "check-zero-filled"))
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), "buf-has-zeroes", s.zero);
  return posix_ok(op, 0);
}
