/* SPDX-License-Identifier: Apache-2.0
 *
 * See view.h: calls on the content of open files, and fsync.
 */
#include "tests/simulation/disk/view.h"

#include <string.h>

#define DIRECT_ALIGN 512u

/* The file for reading (or writing) of its content: NULL and errno. */
static struct sim_file *
data_file(struct sim_view *v, int fd, bool writes)
{
  struct sim_file *f = sim_view_file(v, fd);
  int mode = f ? f->flags & O_ACCMODE : 0;

  if (!f)
    return NULL;
  errno = 0;
  if (f->flags & O_PATH || mode == (writes ? O_RDONLY : O_WRONLY))
    errno = EBADF;
  else if (S_ISDIR(f->inode->attr.mode))
    errno = EISDIR;
  else if (v->disk->is_stopped)
    errno = EIO;
  return errno ? NULL : f;
}

/* Of lengths and offsets, not of addresses: the layout of memory must not decide anything. */
static bool
misaligned(const struct sim_file *f, const struct iovec *iov, int n, off_t at)
{
  uint64_t bits = (uint64_t)at;

  for (int k = 0; k < n; k++)
    bits |= iov[k].iov_len;
  return f->flags & O_DIRECT && bits % DIRECT_ALIGN;
}

ssize_t
sim_view_preadv(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at, int flags)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = data_file(v, fd, false);
  size_t done = 0;

  if (!f)
    return -1;
  if (at < 0 || misaligned(f, iov, n, at))
    return sim_fail(EINVAL);
  if (flags & RWF_NOWAIT && sim_draw(v->disk, SIM_FAULT_COLD))
    return sim_fail(EAGAIN);
  if (sim_draw(v->disk, SIM_FAULT_READ))
    return sim_fail(EIO);
  for (int k = 0; k < n; k++) {
    size_t got = sim_data_read(f->inode, (uint64_t)at + done, iov[k].iov_base, iov[k].iov_len);

    done += got;
    if (got < iov[k].iov_len)
      break;
  }
  return (ssize_t)done;
}

static void
stamp(struct sim_inode *i)
{
  i->attr.mtime = i->attr.ctime = sim_now(i->disk);
}

static void
sync_data(struct sim_inode *i)
{
  sim_data_flush(i);
  if (i->size_seq > i->disk->committed)
    sim_commit(i->disk);
}

/* How much of `len` there is room for. */
static size_t
room_for(const struct sim_inode *i, uint64_t at, size_t len)
{
  uint64_t left = i->disk->used < i->disk->cfg.capacity ? i->disk->cfg.capacity - i->disk->used : 0;

  while (len && sim_data_needs(i, at, len) > left)
    len = (at + len - 1) / SIM_PAGE * SIM_PAGE > at ? (size_t)((at + len - 1) / SIM_PAGE * SIM_PAGE - at) : 0;
  return len;
}

/* What of a write of `len` bytes is carried out: its length, or -errno. */
static ssize_t
grant(struct sim_inode *i, uint64_t at, size_t len)
{
  struct sim_disk *d = i->disk;
  size_t room;

  if (at >= (uint64_t)SIM_FILE_MAX)
    return -EFBIG;
  if (len > (uint64_t)SIM_FILE_MAX - at)
    len = (size_t)((uint64_t)SIM_FILE_MAX - at);
  if (sim_draw(d, SIM_FAULT_WRITE))
    return -EIO;
  room = room_for(i, at, len);
  if (!room || sim_draw(d, SIM_FAULT_SPACE))
    return -ENOSPC;
  if (room > SIM_SECTOR && sim_draw(d, SIM_FAULT_SHORT))
    room = (room - 1) / SIM_SECTOR * SIM_SECTOR;
  return (ssize_t)room;
}

/* Slices of a write end anywhere, so sectors are recorded after the whole write. */
static void
tell_written(const struct sim_inode *i, uint64_t at, size_t len)
{
  const struct sim_disk_config *cfg = &i->disk->cfg;
  uint8_t head[SIM_SECTOR_HEAD];

  for (uint64_t s = (at + SIM_SECTOR - 1) / SIM_SECTOR; cfg->written && (s + 1) * SIM_SECTOR <= at + len; s++) {
    sim_data_read(i, s * SIM_SECTOR, head, sizeof(head));
    cfg->written(cfg->arg, head);
  }
}

/* Each open file is told once that the disk refused something. A file opened later is told only if nobody was. 0 or errno. */
static int
refused(struct sim_file *f)
{
  if (f->refusals == f->inode->refusals)
    return 0;
  f->refusals = f->inode->refusal_told = f->inode->refusals;
  return EIO;
}

/* What was written through a descriptor opened O_DSYNC goes to the disk. 0 or errno. */
static int
sync_written(struct sim_file *f, uint64_t at, size_t len)
{
  if (sim_draw(f->inode->disk, SIM_FAULT_DSYNC))
    f->inode->refusals += sim_data_doom(f->inode, at / SIM_PAGE, (at + len - 1) / SIM_PAGE);
  sync_data(f->inode);
  return refused(f);
}

ssize_t
sim_view_pwritev(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = data_file(v, fd, true);
  uint64_t pos = (uint64_t)at;
  size_t len = 0, done = 0;
  ssize_t may;
  int err;

  if (!f)
    return -1;
  if (at < 0 || misaligned(f, iov, n, at))
    return sim_fail(EINVAL);
  err = sim_change(v->disk);
  if (err)
    return sim_fail(err);
  for (int k = 0; k < n; k++)
    len += iov[k].iov_len;
  if (!len)
    return 0;
  if (f->flags & O_APPEND)
    pos = f->inode->size;
  may = grant(f->inode, pos, len);
  if (may < 0)
    return sim_fail((int)-may);
  for (int k = 0; k < n && done < (size_t)may; k++) {
    size_t part = iov[k].iov_len < (size_t)may - done ? iov[k].iov_len : (size_t)may - done;

    sim_data_write(f->inode, pos + done, iov[k].iov_base, part);
    done += part;
  }
  tell_written(f->inode, pos, done);
  stamp(f->inode);
  err = f->flags & O_DSYNC ? sync_written(f, pos, done) : 0;
  return err ? sim_fail(err) : (ssize_t)done;
}

/* Nothing is durable afterwards: the disk decides when it writes. */
int
sim_view_write_out(struct gi_fs *fs, int fd, off_t at, off_t len, bool wait)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = data_file(v, fd, true);
  int err;

  (void)wait;
  if (!f)
    return -1;
  if (at < 0 || len <= 0)
    return sim_fail(EINVAL);
  if (sim_draw(v->disk, SIM_FAULT_WRITE_OUT))
    f->inode->refusals += sim_data_doom(f->inode, (uint64_t)at / SIM_PAGE, (uint64_t)(at + len - 1) / SIM_PAGE);
  err = refused(f);
  return err ? sim_fail(err) : 0;
}

ssize_t
sim_view_append(struct gi_fs *fs, int fd, const struct iovec *iov, int n)
{
  struct sim_file *f = data_file(sim_view_of(fs), fd, true);

  return f ? sim_view_pwritev(fs, fd, iov, n, (off_t)f->inode->size) : -1;
}

int
sim_view_forget(struct gi_fs *fs, int fd)
{
  struct sim_file *f = sim_view_file(sim_view_of(fs), fd);

  if (!f)
    return EBADF;
  sim_data_forget(f->inode);
  return 0;
}

int
sim_view_fsync(struct gi_fs *fs, int fd, bool datasync)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = sim_view_file(v, fd);
  int err;

  if (!f)
    return -1;
  if (f->flags & O_PATH)
    return sim_fail(EBADF);
  err = sim_change(v->disk);
  if (err && err != EROFS)
    return sim_fail(err);
  if (sim_draw(v->disk, SIM_FAULT_FSYNC)) {
    sim_data_doom(f->inode, 0, UINT64_MAX);
    return sim_fail(EIO);
  }
  sync_data(f->inode);
  if (!datasync && f->inode->seq > v->disk->committed)
    sim_commit(v->disk);
  err = refused(f);
  return err ? sim_fail(err) : 0;
}

int
sim_view_syncfs(struct gi_fs *fs, int fd)
{
  struct sim_view *v = sim_view_of(fs);
  int err;

  if (!sim_view_file(v, fd))
    return -1;
  err = sim_change(v->disk);
  if (!err && sim_draw(v->disk, SIM_FAULT_FSYNC))
    err = EIO;
  if (err && err != EROFS)
    return sim_fail(err);
  sim_disk_sync(v->disk);
  return 0;
}

int
sim_view_ftruncate(struct gi_fs *fs, int fd, off_t size)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = sim_view_file(v, fd);
  int err;

  if (!f)
    return -1;
  if (size < 0 || (f->flags & O_ACCMODE) == O_RDONLY || !S_ISREG(f->inode->attr.mode))
    return sim_fail(EINVAL);
  if (size > SIM_FILE_MAX)
    return sim_fail(EFBIG);
  err = sim_change(v->disk);
  if (!err && sim_draw(v->disk, SIM_FAULT_WRITE))
    err = EIO;
  if (err)
    return sim_fail(err);
  if ((uint64_t)size != f->inode->size)
    sim_data_truncate(f->inode, (uint64_t)size);
  stamp(f->inode);
  return 0;
}

/* Whole pages become a hole, parts of pages at the ends become zeroes. */
static void
punch(struct sim_inode *i, uint64_t at, uint64_t end)
{
  uint64_t first = (at + SIM_PAGE - 1) / SIM_PAGE, last = end / SIM_PAGE;

  if (first > last) { /* within one page */
    sim_data_zero(i, at, end - at);
    return;
  }
  if (at < first * SIM_PAGE)
    sim_data_zero(i, at, first * SIM_PAGE - at);
  if (end > last * SIM_PAGE)
    sim_data_zero(i, last * SIM_PAGE, end - last * SIM_PAGE);
  if (last > first)
    sim_data_cut(i, first, last - 1);
}

static int
change_range(struct sim_inode *i, int mode, uint64_t at, uint64_t len)
{
  struct sim_disk *d = i->disk;
  uint64_t end = at + len;

  if (mode & FALLOC_FL_PUNCH_HOLE) {
    if (at < i->size)
      punch(i, at, end < i->size ? end : (i->size + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE);
    return 0;
  }
  if (sim_draw(d, SIM_FAULT_SPACE) || sim_data_needs(i, at, len) > (d->used < d->cfg.capacity ? d->cfg.capacity - d->used : 0))
    return ENOSPC;
  if (mode & FALLOC_FL_ZERO_RANGE)
    punch(i, at, end);
  sim_data_allocate(i, at, len);
  if (!(mode & FALLOC_FL_KEEP_SIZE) && end > i->size)
    sim_data_extend(i, end);
  return 0;
}

int
sim_view_fallocate(struct gi_fs *fs, int fd, int mode, off_t at, off_t len)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = sim_view_file(v, fd);
  int err;

  if (!f)
    return -1;
  if (at < 0 || len <= 0)
    return sim_fail(EINVAL);
  if ((f->flags & O_ACCMODE) == O_RDONLY)
    return sim_fail(EBADF);
  if (at > SIM_FILE_MAX - len)
    return sim_fail(EFBIG);
  err = sim_change(v->disk);
  if (!err)
    err = change_range(f->inode, mode, (uint64_t)at, (uint64_t)len);
  if (err)
    return sim_fail(err);
  stamp(f->inode);
  return 0;
}

off_t
sim_view_lseek(struct gi_fs *fs, int fd, off_t at, int whence)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = sim_view_file(v, fd);
  int64_t found;

  if (!f)
    return -1;
  if (f->flags & O_PATH)
    return sim_fail(EBADF);
  if (whence == SEEK_SET) {
    if (at < 0)
      return sim_fail(EINVAL);
    f->pos = (uint64_t)at;
    return at;
  }
  if (whence != SEEK_DATA && whence != SEEK_HOLE)
    return sim_fail(EINVAL);
  if (at < 0)
    return sim_fail(ENXIO);
  if (S_ISDIR(f->inode->attr.mode))
    return whence == SEEK_DATA ? at : INT64_MAX; /* as ext4 */
  found = sim_data_seek(f->inode, (uint64_t)at, whence == SEEK_HOLE);
  return found < 0 ? sim_fail(ENXIO) : found;
}

ssize_t
sim_view_copy_range(struct gi_fs *fs, int in, off_t *in_at, int out, off_t *out_at, size_t len)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *from = data_file(v, in, false), *to = from ? data_file(v, out, true) : NULL;
  GI_CLEANUP_FREE char *bytes = NULL;
  struct iovec iov;
  ssize_t n;

  if (!to)
    return -1;
  if (to->flags & O_APPEND)
    return sim_fail(EBADF);
  if (!S_ISREG(from->inode->attr.mode) || !S_ISREG(to->inode->attr.mode) || *in_at < 0 || *out_at < 0)
    return sim_fail(EINVAL);
  if ((uint64_t)*in_at >= from->inode->size)
    return 0;
  if (len > from->inode->size - (uint64_t)*in_at)
    len = (size_t)(from->inode->size - (uint64_t)*in_at);
  if (from->inode == to->inode && *in_at + (off_t)len > *out_at && *out_at + (off_t)len > *in_at)
    return sim_fail(EINVAL);
  bytes = gi_alloc(len ? len : 1);
  iov = (struct iovec){bytes, sim_data_read(from->inode, (uint64_t)*in_at, bytes, len)};
  n = sim_view_pwritev(fs, out, &iov, 1, *out_at);
  if (n > 0) {
    *in_at += n;
    *out_at += n;
  }
  return n;
}
