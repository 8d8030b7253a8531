/* SPDX-License-Identifier: Apache-2.0
 *
 * See fs.h.
 */
#include "libglusterish/fs.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

int
gi_fs_kernel_rename(int from, const char *old, int to, const char *new)
{
  return renameat(from, old, to, new);
}

ssize_t
gi_fs_fgetxattr(struct gi_fs *fs, int fd, const char *name, void *value, size_t size)
{
  GI_FS_CALL(fs, getxattr(fs, fd, "", name, value, size), fgetxattr(fd, name, value, size));
}

int
gi_fs_fsetxattr(struct gi_fs *fs, int fd, const char *name, const void *value, size_t size, int flags)
{
  GI_FS_CALL(fs, setxattr(fs, fd, "", name, value, size, flags), fsetxattr(fd, name, value, size, flags));
}

ssize_t
gi_fs_getdents(struct gi_fs *fs, int fd, void *buf, size_t size)
{
  GI_FS_CALL(fs, getdents(fs, fd, buf, size), syscall(SYS_getdents64, fd, buf, size));
}

int
gi_fs_dir_open(struct gi_fs_dir *d, struct gi_fs *fs, int at, const char *path)
{
  d->fs = fs;
  d->err = 0;
  d->len = d->next = 0;
  d->fd = gi_fs_openat(fs, at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  return d->fd < 0 ? -errno : 0;
}

const struct gi_fs_dirent *
gi_fs_dir_next(struct gi_fs_dir *d)
{
  if (d->next >= d->len) {
    d->len = gi_fs_getdents(d->fs, d->fd, d->buf, sizeof(d->buf));
    d->next = 0;
    d->err = d->len < 0 ? -errno : 0;
    if (d->len <= 0)
      return NULL;
  }

  const struct gi_fs_dirent *e = (const void *)(d->buf + d->next);

  d->next += e->reclen;
  return e;
}

void
gi_fs_dir_close(struct gi_fs_dir *d)
{
  gi_fs_close(d->fs, d->fd);
}
