/* SPDX-License-Identifier: Apache-2.0
 *
 * See fs.h.
 */
#include "libglusterish/fs.h"
#include "libglusterish/mem.h"
#include "libglusterish/tree.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define BOOT_ID 36     /* characters */
#define PATH_BYTES 320 /* a name below a descriptor */
#define DIRECT 4096    /* bytes: no disk wants writes past memory to be aligned to more */

_Thread_local struct gi_fs_watch *gi_fs_watched;

void
gi_fs_call_begins(struct gi_fs_watch *w, const char *name)
{
  struct gi_calls *c = w->calls;

  __atomic_store_n(&w->now, name, __ATOMIC_RELAXED);
  if (!c)
    return;
  if (c->n == GI_TREE_PARTS) {
    c->missed++;
    return;
  }
  c->call[c->n] = (struct gi_call){name, gi_ticks(w->reactor), 0};
  __atomic_store_n(&c->n, c->n + 1, __ATOMIC_RELEASE); /* who looks meanwhile sees whole ones */
}

/* Leaves errno alone. */
void
gi_fs_call_ended(struct gi_fs_watch *w)
{
  struct gi_calls *c = w->calls;

  GI_ASSERT(w->now);
  if (c && c->n > 0 && c->call[c->n - 1].end == 0)
    __atomic_store_n(&c->call[c->n - 1].end, gi_ticks(w->reactor), __ATOMIC_RELAXED);
  __atomic_store_n(&w->now, NULL, __ATOMIC_RELAXED);
}

int
gi_fs_kernel_rename(int from, const char *old, int to, const char *new, bool replaces)
{
  int ret = replaces ? -1 : renameat2(from, old, to, new, RENAME_NOREPLACE);

  return replaces || (ret < 0 && errno == EINVAL) ? renameat(from, old, to, new) : ret;
}

ssize_t
gi_fs_kernel_listxattr(int at, const char *path, char *list, size_t size)
{
  char full[PATH_BYTES];
  int n = snprintf(full, sizeof(full), "/proc/self/fd/%d/%s", at, path);

  GI_ASSERT(n > 0 && (size_t)n < sizeof(full));
  return llistxattr(full, list, size);
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

/* ---- copying ---- */

/* A second descriptor of an open file, for writes past the kernel's memory. */
static int
open_direct(int fd)
{
  char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
}

/* Empties len bytes of a pipe into the file. How much, or -1 and errno if nothing. */
static ssize_t
drain(int pipe, int out, off_t at, size_t len)
{
  size_t done = 0;

  while (done < len) {
    ssize_t n = splice(pipe, NULL, out, &at, len - done, 0);

    if (n <= 0) {
      errno = n < 0 ? errno : ENOSPC;
      return done ? (ssize_t)done : -1;
    }
    done += (size_t)n;
  }
  return (ssize_t)done;
}

/* Whole pages only; what is left of one waits for the next call. */
static ssize_t
drain_to_disk(int pipe, int out, off_t at, size_t len)
{
  int direct = at % DIRECT || len < DIRECT ? -1 : open_direct(out), err;
  ssize_t n;

  if (direct >= 0) {
    n = drain(pipe, direct, at, len - len % DIRECT);
    err = errno;
    close(direct);
    errno = err;
    if (n >= 0 || err != EINVAL)
      return n;
  }
  n = drain(pipe, out, at, len);
  return n > 0 && gi_fs_write_out(NULL, out, at, n, true) < 0 ? -1 : n;
}

/* A pipe holds pages of the one file's memory while they are written to the other file's disk: nobody copies anything. */
static ssize_t
kernel_copy_to_disk(int in, int out, off_t at, size_t len)
{
  off_t from = at;
  int pipe[2], err;
  ssize_t n;

  if (pipe2(pipe, O_CLOEXEC) < 0)
    return -1;
  fcntl(pipe[1], F_SETPIPE_SZ, (int)len); /* else it holds less at a time */
  n = splice(in, &from, pipe[1], NULL, len, 0);
  if (n > 0)
    n = drain_to_disk(pipe[0], out, at, (size_t)n);
  err = errno;
  close(pipe[0]);
  close(pipe[1]);
  errno = err;
  return n;
}

ssize_t
gi_fs_copy_to_disk(struct gi_fs *fs, int in, int out, off_t at, size_t len)
{
  off_t from = at, to = at;
  ssize_t n;

  if (!fs)
    return kernel_copy_to_disk(in, out, at, len);
  n = fs->ops->copy_range(fs, in, &from, out, &to, len);
  return n > 0 && gi_fs_write_out(fs, out, at, n, true) < 0 ? -1 : n;
}

/* ---- directories of other processes ---- */

/* The kernel's name for itself since it was started; false if there is none. */
static bool
boot_id(char out[BOOT_ID + 1])
{
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, out, BOOT_ID);

  if (fd >= 0)
    close(fd);
  out[BOOT_ID] = '\0';
  return n == BOOT_ID && strspn(out, "0123456789abcdef-") == BOOT_ID;
}

static pid_t
lock_holder(int dir)
{
  FILE *locks = fopen("/proc/locks", "re");
  char line[256];
  struct stat st;
  pid_t found = 0;

  if (!locks)
    return 0;
  if (fstat(dir, &st) < 0)
    st = (struct stat){0};
  while (!found && fgets(line, sizeof(line), locks)) {
    unsigned major, minor;
    uintmax_t ino;
    int pid;

    if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%ju", &pid, &major, &minor, &ino) == 4 && ino == st.st_ino &&
        makedev(major, minor) == st.st_dev)
      found = pid;
  }
  fclose(locks);
  return found;
}

int
gi_fs_lock_directory(struct gi_fs *fs, int dir, pid_t *holder)
{
  *holder = 0;
  if (fs || flock(dir, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return 0;
  *holder = lock_holder(dir);
  return EWOULDBLOCK;
}

static int
kernel_where(int dir, const char *path, char *out, size_t size)
{
  char boot[BOOT_ID + 1];
  struct stat st;
  int n;

  if (path[0] != '/' || !boot_id(boot))
    return ENODATA;
  if (fstat(dir, &st) < 0)
    return errno;
  n = snprintf(out, size, "%s %jx:%jx %s", boot, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, path);
  return n > 0 && (size_t)n < size ? 0 : ENAMETOOLONG;
}

static int
opened_directory(const char *path, uintmax_t dev, uintmax_t ino)
{
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat st;

  if (fd < 0 || (fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino))
    return fd;
  close(fd);
  errno = ESTALE;
  return -1;
}

static int
kernel_open_where(const char *where)
{
  char boot[BOOT_ID + 1];
  uintmax_t dev, ino;
  int path = 0;

  if (!boot_id(boot) || !gi_fs_same_machine(where, boot)) {
    errno = EXDEV;
    return -1;
  }
  if (sscanf(where + BOOT_ID, " %jx:%jx %n", &dev, &ino, &path) != 2 || path == 0 || where[BOOT_ID + path] != '/') {
    errno = EINVAL;
    return -1;
  }
  return opened_directory(where + BOOT_ID + path, dev, ino);
}

int
gi_fs_where(struct gi_fs *fs, int dir, const char *path, char *out, size_t size)
{
  GI_FS_CALL(fs, where(fs, dir, path, out, size), kernel_where(dir, path, out, size));
}

int
gi_fs_open_where(struct gi_fs *fs, const char *where)
{
  GI_FS_CALL(fs, open_where(fs, where), kernel_open_where(where));
}

bool
gi_fs_same_machine(const char *where, const char *other)
{
  size_t len = strcspn(where, " ");

  return len && len == strcspn(other, " ") && memcmp(where, other, len) == 0;
}

int
gi_fs_dir_open(struct gi_fs_dir *d, struct gi_fs *fs, int at, const char *path)
{
  d->fs = fs;
  d->err = 0;
  d->len = d->next = 0;
  d->fd = gi_fs_openat(fs, at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  return d->fd < 0 ? errno : 0;
}

const struct gi_fs_dirent *
gi_fs_dir_next(struct gi_fs_dir *d)
{
  GI_ASSERT(d->fd >= 0);
  if (d->next >= d->len) {
    d->len = gi_fs_getdents(d->fs, d->fd, d->buf, sizeof(d->buf));
    d->next = 0;
    d->err = d->len < 0 ? errno : 0;
    if (d->len <= 0)
      return NULL;
  }

  const struct gi_fs_dirent *e = (const void *)(d->buf + d->next);

  GI_ASSERT(e->reclen > 0 && e->reclen <= d->len - d->next);
  d->next += e->reclen;
  return e;
}

void
gi_fs_dir_close(struct gi_fs_dir *d)
{
  gi_fs_close(d->fs, d->fd);
}
