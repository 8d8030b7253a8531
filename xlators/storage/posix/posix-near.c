/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying a range of a file from another brick on the same machine
 * (libglusterish/near.h): where this brick is, and the copy on the side of the
 * sink. Read and written, not cloned: two replicas that share blocks are one.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/near.h"
#include "libglusterish/probe.h"

#define RANGE (512u << 10) /* goes to the disk at once: what an application's sync may find before it */

int
posix_near_where(const struct posix_op *op, char *where, size_t size)
{
  const struct posix *p = op->p;

  if (op->fop->caller.pid != GI_PID_HEAL)
    return ENODATA;
  if (op->losses || !p->have_volume_id || p->cfg.o_direct)
    return ENODATA; /* what a heal may read is on the disk, and whoever copies would read what is in memory */
  return gi_fs_where(p->fs, p->root_fd, p->brick, where, size);
}

bool
posix_near_wanted(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_COPY_FILE_RANGE && gi_dict_get(fop->xdata, GI_NEAR_KEY);
}

/* Goes to the disk as it is copied; the rest is collected. */
static bool
is_bulk(const struct gi_near_piece *piece)
{
  return piece->len > POSIX_PIECE;
}

static int
prepare(struct posix_op *op)
{
  const struct gi_fop *fop = op->fop;
  const struct gi_args *a = &fop->args;
  struct gi_near_piece piece[GI_NEAR_PIECES];
  struct posix_pieces small = {0};
  struct posix_fd *pf;
  unsigned n;
  int err;

  if (fop->caller.pid != GI_PID_HEAL)
    return EPERM;
  err = posix_prepare_fd(op);
  if (err)
    return err;
  if (fop->fd->anonymous || !fop->fd2 || fop->fd2->inode != fop->fd->inode || a->offset2 != a->offset ||
      a->offset > INT64_MAX - POSIX_IO_MAX || a->size > INT64_MAX - a->offset)
    return EINVAL;
  n = gi_near_pieces_get(fop->xdata, a->offset, a->size, piece);
  for (unsigned i = 0; i < n; i++) {
    op->want += piece[i].len;
    if (!is_bulk(&piece[i]))
      posix_pieces_add(&small, &(struct posix_pieces){piece[i].offset, piece[i].offset + piece[i].len, piece[i].len});
  }
  if (op->want == 0 || op->want > POSIX_IO_MAX)
    return EINVAL;
  pf = gi_fd_private(fop->fd, op->x);
  if (pf->sync || pf->direct)
    return EOPNOTSUPP;
  if (small.bytes)
    op->buf = gi_buf_new(POSIX_PIECE);
  posix_collect(op, pf, &small);
  return 0;
}

static bool
same_volume(const struct posix *p, int root)
{
  struct gi_gfid id;

  return gi_fs_fgetxattr(p->fs, root, KEY_VOLUME_ID, id.b, sizeof(id.b)) == sizeof(id.b) && gi_gfid_equal(&id, &p->volume_id);
}

static bool
is_own_root(const struct posix *p, int root)
{
  struct stat own, other;

  return gi_fs_fstat(p->fs, p->root_fd, &own) < 0 || gi_fs_fstat(p->fs, root, &other) < 0 ||
         (own.st_dev == other.st_dev && own.st_ino == other.st_ino);
}

/* The file of the same gfid below the root of the other brick: a descriptor or -errno. */
static int
open_there(const struct posix_op *op, int root)
{
  const struct posix *p = op->p;
  char path[sizeof(".glusterfs/") + POSIX_HPATH] = ".glusterfs/";
  struct stat st;
  int fd;

  if (!p->have_volume_id || !same_volume(p, root) || is_own_root(p, root))
    return -EPERM;
  posix_hpath(path + strlen(path), &op->node[NODE_OBJ].gfid);
  fd = gi_fs_openat(p->fs, root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0)
    return -errno;
  if (gi_fs_fstat(p->fs, fd, &st) == 0 && S_ISREG(st.st_mode))
    return fd;
  gi_fs_close(p->fs, fd);
  return -EINVAL;
}

/* Opened for each range: nothing of another brick is held on to that might be replaced meanwhile. */
static int
open_source(const struct posix_op *op)
{
  const char *where;
  int root, fd;

  if (!gi_dict_get_str(op->fop->xdata, GI_NEAR_KEY, &where))
    return -EINVAL;
  root = gi_fs_open_where(op->p->fs, where);
  if (root < 0)
    return -errno;
  fd = open_there(op, root);
  gi_fs_close(op->p->fs, root);
  return fd;
}

/* An application waits for the disk: whoever asked for the copy asks for the rest later. */
static bool
give_way(const struct posix_op *op)
{
  if (!atomic_load_explicit(&op->p->syncs, memory_order_relaxed))
    return false;
  GI_PROBE("posix: a copy for a heal gave way to an fsync");
  return true;
}

/* The piece becomes what is left of it. */
static void
copied(struct posix_op *op, struct gi_near_piece *piece, size_t n)
{
  piece->offset += n;
  piece->len -= n;
  op->done += n;
}

/* Straight from the source's memory to the disk: no processor for copies and for what keeps account of them, memory is left to those who
 * read, and whoever copies sleeps while the disk works. 0, also where the source ends, or an errno. */
static int
copy_bulk(struct posix_op *op, int source, struct gi_near_piece *piece)
{
  ssize_t n;

  do {
    n = gi_fs_copy_to_disk(op->p->fs, source, op->fd, (off_t)piece->offset, piece->len < RANGE ? (size_t)piece->len : RANGE);
    op->unsynced = n < 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT); /* or the source's disk could not be read */
    if (n <= 0)
      return n < 0 ? errno : 0;
    copied(op, piece, (size_t)n);
  } while (piece->len && !give_way(op));
  return 0;
}

static int
write_all(const struct posix_op *op, uint64_t at, size_t len)
{
  for (size_t done = 0; done < len;) {
    ssize_t n = gi_fs_pwrite(op->p->fs, op->fd, op->buf->base + done, len - done, (off_t)(at + done));

    if (n <= 0)
      return n < 0 ? errno : ENOSPC;
    done += (size_t)n;
  }
  return 0;
}

static int
copy_small(struct posix_op *op, int source, struct gi_near_piece *piece)
{
  while (piece->len) {
    ssize_t n = gi_fs_pread(op->p->fs, source, op->buf->base, (size_t)piece->len, (off_t)piece->offset);
    int err;

    if (n <= 0)
      return n < 0 ? errno : 0;
    err = write_all(op, piece->offset, (size_t)n);
    if (err)
      return err;
    copied(op, piece, (size_t)n);
  }
  return 0;
}

static int
copy_from(struct posix_op *op, int source)
{
  struct gi_near_piece piece[GI_NEAR_PIECES];
  unsigned n = gi_near_pieces_get(op->fop->xdata, op->fop->args.offset, op->fop->args.size, piece);
  int err = 0;

  for (unsigned i = 0; !err && i < n; i++) {
    bool bulk = is_bulk(&piece[i]);

    err = bulk ? copy_bulk(op, source, &piece[i]) : copy_small(op, source, &piece[i]);
    if (piece[i].len || (bulk && i + 1 < n && give_way(op)))
      break;
  }
  return err;
}

static enum posix_run
run(struct posix_op *op)
{
  int err = posix_obj_open(op, O_WRONLY), source;

  if (err)
    return posix_err(op, err);
  source = open_source(op);
  if (source < 0)
    return posix_err(op, -source);
  err = copy_from(op, source);
  gi_fs_close(op->p->fs, source);
  if (!err)
    err = posix_write_out(op, true); /* so no more than one request's pieces stand before an application's sync */
  if (err)
    return posix_err(op, err);
  GI_PROBE("posix: copied from a brick on the same machine");
  return posix_ok(op, (int64_t)op->done);
}

static void
finish(struct posix_op *op)
{
  op->p->metrics.near_bytes += op->fop->rsp.ret > 0 ? (uint64_t)op->fop->rsp.ret : 0;
}

const struct posix_kind posix_near_kind = {prepare, run, .finish = finish, .blocking = true};
