/* SPDX-License-Identifier: Apache-2.0
 *
 * See view.h: descriptors, and the calls that only look.
 */
#include "tests/simulation/disk/view.h"

#include <dirent.h>
#include <string.h>

struct sim_file *
sim_view_file(struct sim_view *v, int fd)
{
  unsigned n = (unsigned)fd - SIM_FD_BASE;

  if (fd < SIM_FD_BASE || n >= v->nfiles || !v->file[n].inode) {
    errno = EBADF;
    return NULL;
  }
  return &v->file[n];
}

int
sim_view_open(struct sim_view *v, struct sim_inode *i, int flags)
{
  unsigned n = 0;

  while (n < v->nfiles && v->file[n].inode)
    n++;
  if (n == v->nfiles) {
    v->nfiles = v->nfiles ? 2 * v->nfiles : 32;
    v->file = gi_realloc(v->file, v->nfiles * sizeof(struct sim_file));
    memset(v->file + n, 0, (v->nfiles - n) * sizeof(struct sim_file));
  }
  v->file[n] = (struct sim_file){.inode = sim_inode_ref(i), .flags = flags, .refusals = i->refusal_told};
  return SIM_FD_BASE + (int)n;
}

static int
view_close(struct gi_fs *fs, int fd)
{
  struct sim_file *f = sim_view_file(sim_view_of(fs), fd);

  if (!f)
    return -1;
  sim_inode_unref(f->inode);
  *f = (struct sim_file){0};
  return 0;
}

static struct sim_inode *
start_of(struct sim_view *v, int at, const char *path)
{
  struct sim_file *f;

  if (at == AT_FDCWD || *path == '/')
    return v->disk->root;
  f = sim_view_file(v, at);
  return f ? f->inode : NULL;
}

struct sim_inode *
sim_view_object(struct sim_view *v, int at, const char *path, bool follow)
{
  struct sim_inode *i = start_of(v, at, path);
  int err = 0;

  if (!i)
    return NULL;
  if (v->disk->is_stopped) {
    errno = EIO;
    return NULL;
  }
  i = sim_walk(v->disk, i, path, follow, NULL, NULL, &err);
  if (!i)
    errno = err;
  return i;
}

int
sim_view_place(struct sim_view *v, int at, const char *path, struct sim_place *p)
{
  struct sim_inode *start = start_of(v, at, path);
  int err = 0;

  *p = (struct sim_place){0};
  if (!start)
    return errno;
  if (v->disk->is_stopped)
    return EIO;
  if (!*path)
    return ENOENT;
  p->inode = sim_walk(v->disk, start, path, false, &p->dir, p->name, &err);
  if (!p->inode && err == ENOENT && p->dir)
    err = 0;
  if (!err && !p->dir)
    err = EINVAL;
  return err;
}

static int
open_existing(struct sim_view *v, struct sim_inode *i, int flags)
{
  bool writes = (flags & O_ACCMODE) != O_RDONLY;

  if (S_ISLNK(i->attr.mode) && !(flags & O_PATH && !(flags & O_DIRECTORY)))
    return sim_fail(flags & O_DIRECTORY ? ENOTDIR : ELOOP);
  if (flags & O_DIRECTORY && !S_ISDIR(i->attr.mode))
    return sim_fail(ENOTDIR);
  if (flags & O_PATH)
    return sim_view_open(v, i, flags);
  if (S_ISDIR(i->attr.mode) && (writes || flags & O_CREAT))
    return sim_fail(EISDIR);
  if (S_ISSOCK(i->attr.mode))
    return sim_fail(ENXIO);
  if (writes && v->disk->read_only)
    return sim_fail(EROFS);
  if (flags & O_TRUNC && S_ISREG(i->attr.mode) && i->size) {
    int err = sim_change(v->disk);

    if (err)
      return sim_fail(err);
    sim_data_truncate(i, 0);
    i->attr.mtime = i->attr.ctime = sim_now(v->disk);
  }
  return sim_view_open(v, i, flags);
}

static int
view_openat(struct gi_fs *fs, int at, const char *path, int flags, mode_t mode)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_inode *i;
  struct sim_place p;
  int err;

  if (!(flags & O_CREAT)) {
    i = *path ? sim_view_object(v, at, path, !(flags & O_NOFOLLOW)) : NULL;
    if (!*path)
      return sim_fail(ENOENT);
    return i ? open_existing(v, i, flags) : -1;
  }
  err = sim_view_place(v, at, path, &p);
  if (err)
    return sim_fail(err);
  if (p.inode)
    return flags & O_EXCL ? sim_fail(EEXIST) : open_existing(v, p.inode, flags);
  err = sim_view_make(v, &p, S_IFREG | (mode & 07777), &i);
  return err ? sim_fail(err) : sim_view_open(v, i, flags);
}

static int
view_stat(struct gi_fs *fs, int at, const char *path, struct stat *st, int flags)
{
  struct sim_inode *i = sim_view_object(sim_view_of(fs), at, path, !(flags & AT_SYMLINK_NOFOLLOW));

  if (!i)
    return -1;
  memset(st, 0, sizeof(*st));
  st->st_dev = 0x5d15c + i->disk->cfg.machine;
  st->st_ino = i->ino;
  st->st_mode = i->attr.mode;
  st->st_nlink = i->nlink;
  st->st_uid = i->attr.uid;
  st->st_gid = i->attr.gid;
  st->st_rdev = i->rdev;
  st->st_size = S_ISDIR(i->attr.mode) ? SIM_PAGE : (off_t)i->size;
  st->st_blksize = SIM_PAGE;
  st->st_blocks = (blkcnt_t)i->npages * (SIM_PAGE / 512) + (S_ISDIR(i->attr.mode) ? SIM_PAGE / 512 : 0);
  st->st_atim = i->attr.atime;
  st->st_mtim = i->attr.mtime;
  st->st_ctim = i->attr.ctime;
  return 0;
}

static ssize_t
view_readlink(struct gi_fs *fs, int at, const char *path, char *out, size_t size)
{
  struct sim_inode *i = sim_view_object(sim_view_of(fs), at, path, false);
  size_t len;

  if (!i)
    return -1;
  if (!S_ISLNK(i->attr.mode))
    return sim_fail(*path ? EINVAL : ENOENT);
  len = strlen(i->text) < size ? strlen(i->text) : size;
  memcpy(out, i->text, len);
  return (ssize_t)len;
}

/* ---- directories ---- */

struct filling {
  char *buf;
  size_t room, used;
};

static bool
put_entry(struct filling *f, const char *name, const struct sim_inode *i, uint64_t cookie)
{
  size_t len = strlen(name) + 1, need = (offsetof(struct gi_fs_dirent, name) + len + 7) & ~(size_t)7;
  struct gi_fs_dirent *e = (void *)(f->buf + f->used);

  if (f->room - f->used < need)
    return false;
  e->ino = i->ino;
  e->off = (int64_t)cookie;
  e->reclen = (uint16_t)need;
  e->type = (uint8_t)IFTODT(i->attr.mode);
  memcpy(e->name, name, len);
  f->used += need;
  return true;
}

static ssize_t
view_getdents(struct gi_fs *fs, int fd, void *buf, size_t size)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_file *f = sim_view_file(v, fd);
  struct filling out = {buf, size, 0};
  bool more = true;

  if (!f)
    return -1;
  if (v->disk->is_stopped || sim_draw(v->disk, SIM_FAULT_READ))
    return sim_fail(EIO);
  if (f->flags & O_PATH)
    return sim_fail(EBADF);
  if (!S_ISDIR(f->inode->attr.mode))
    return sim_fail(ENOTDIR);
  if (!f->inode->parent)
    return sim_fail(ENOENT);
  for (unsigned dots = 1; more && dots <= 2; dots++) {
    if (f->pos < dots && (more = put_entry(&out, ".." + 2 - dots, dots == 1 ? f->inode : f->inode->parent, dots)))
      f->pos = dots;
  }
  for (unsigned n = sim_entry_after(f->inode, f->pos); more && n < f->inode->nentries; n++) {
    const struct sim_dirent *e = &f->inode->entry[n];

    if ((more = put_entry(&out, e->name, e->inode, e->cookie)))
      f->pos = e->cookie;
  }
  if (!more && !out.used)
    return sim_fail(EINVAL);
  return (ssize_t)out.used;
}

static int
view_statvfs(struct gi_fs *fs, int fd, struct statvfs *st)
{
  struct sim_view *v = sim_view_of(fs);
  const struct sim_disk *d = v->disk;

  if (!sim_view_file(v, fd))
    return -1;
  if (d->is_stopped)
    return sim_fail(EIO);
  memset(st, 0, sizeof(*st));
  st->f_bsize = st->f_frsize = SIM_PAGE;
  st->f_blocks = d->cfg.capacity / SIM_PAGE;
  st->f_bfree = st->f_bavail = d->used < d->cfg.capacity ? (d->cfg.capacity - d->used) / SIM_PAGE : 0;
  st->f_files = 1u << 20;
  st->f_ffree = st->f_favail = st->f_files / 2;
  st->f_fsid = 0x5d15c;
  st->f_flag = d->read_only ? ST_RDONLY : 0;
  st->f_namemax = SIM_NAME_MAX;
  return 0;
}

/* Machines that share one: "simulated", the number, the path. */
static int
view_where(struct gi_fs *fs, int dir, const char *path, char *out, size_t size)
{
  struct sim_view *v = sim_view_of(fs);

  if (!v->disk->cfg.neighbour || !sim_view_file(v, dir))
    return ENODATA;
  return (size_t)snprintf(out, size, "simulated %u %s", v->disk->cfg.machine, path) < size ? 0 : ENAMETOOLONG;
}

static int
view_open_where(struct gi_fs *fs, const char *where)
{
  struct sim_view *v = sim_view_of(fs);
  const struct sim_disk_config *cfg = &v->disk->cfg;
  struct sim_disk *there = NULL;
  struct sim_inode *i;
  unsigned machine;
  int path = 0, err = 0;

  if (sscanf(where, "simulated %u %n", &machine, &path) == 1 && path && cfg->neighbour)
    there = cfg->neighbour(cfg->arg, machine);
  if (!there)
    return sim_fail(EXDEV);
  if (there->is_stopped || sim_draw(v->disk, SIM_FAULT_READ))
    return sim_fail(EIO);
  i = sim_walk(there, there->root, where + path, true, NULL, NULL, &err);
  return i ? sim_view_open(v, i, O_RDONLY | O_DIRECTORY) : sim_fail(err);
}

static bool
view_busy(struct gi_fs *fs)
{
  return sim_draw(sim_view_of(fs)->disk, SIM_FAULT_SLOW);
}

const struct gi_fs_ops sim_view_ops = {
    .openat = view_openat,
    .close = view_close,
    .stat = view_stat,
    .link = sim_view_link,
    .unlink = sim_view_unlink,
    .rename = sim_view_rename,
    .mkdir = sim_view_mkdir,
    .mknod = sim_view_mknod,
    .symlink = sim_view_symlink,
    .readlink = view_readlink,
    .chown = sim_view_chown,
    .chmod = sim_view_chmod,
    .times = sim_view_times,
    .getxattr = sim_view_getxattr,
    .setxattr = sim_view_setxattr,
    .listxattr = sim_view_listxattr,
    .removexattr = sim_view_removexattr,
    .preadv = sim_view_preadv,
    .pwritev = sim_view_pwritev,
    .append = sim_view_append,
    .fsync = sim_view_fsync,
    .write_out = sim_view_write_out,
    .forget = sim_view_forget,
    .syncfs = sim_view_syncfs,
    .ftruncate = sim_view_ftruncate,
    .fallocate = sim_view_fallocate,
    .lseek = sim_view_lseek,
    .copy_range = sim_view_copy_range,
    .getdents = view_getdents,
    .statvfs = view_statvfs,
    .busy = view_busy,
    .where = view_where,
    .open_where = view_open_where,
};

/* ---- life ---- */

struct gi_fs *
sim_disk_view(struct sim_disk *d)
{
  struct sim_view *v = gi_new(struct sim_view);

  v->fs.ops = &sim_view_ops;
  v->disk = d;
  d->views++;
  return &v->fs;
}

unsigned
sim_view_open_files(const struct gi_fs *fs)
{
  const struct sim_view *v = (const void *)fs;
  unsigned count = 0;

  for (unsigned n = 0; n < v->nfiles; n++)
    count += v->file[n].inode != NULL;
  return count;
}

void
sim_view_free(struct gi_fs **fs)
{
  struct sim_view *v;

  if (!*fs)
    return;
  v = sim_view_of(*fs);
  for (unsigned n = 0; n < v->nfiles; n++) {
    if (v->file[n].inode)
      sim_inode_unref(v->file[n].inode);
  }
  v->disk->views--;
  gi_free(v->file);
  gi_free(v);
  *fs = NULL;
}
