/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls on "descriptor + name" that the C library does not offer: the
 * extended attribute calls, and chmod and utimes that never follow a symlink.
 * Linux 6.6 has fchmodat2(2), and 6.13 getxattrat(2) and friends; before that the name goes through
 * /proc/self/fd, which costs a few microseconds more. A file system that is not
 * the kernel's (libglusterish/fs.h) takes descriptor and name as they are.
 */
#include "xlators/storage/posix/posix.h"

#include <sys/syscall.h>
#include <sys/xattr.h>

/* The numbers are the same on every architecture. */
#define NR_LSM_LIST_MODULES 461
#define NR_SETXATTRAT 463
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465
#define NR_REMOVEXATTRAT 466
#define NR_FCHMODAT2 452

struct xattr_args {
  _Alignas(8) uint64_t value;
  uint32_t size;
  uint32_t flags;
};

#define LSM_ID_IMA 111 /* since Linux 6.9 */

/* Whether the kernel may sign or measure files, and write that to them. Where it does not say, it may. */
static bool
may_make_ima(void)
{
  uint64_t ids[64];
  uint32_t size = sizeof(ids);
  long n = syscall(NR_LSM_LIST_MODULES, ids, &size, 0);

  for (long i = 0; i < n; i++)
    if (ids[i] == LSM_ID_IMA)
      return true;
  return n <= 0;
}

void
posix_at_probe(struct posix *p, bool wanted)
{
  struct xattr_args args = {0};
  if (p->fs)
    return; /* it has such calls of its own */

  long r = syscall(NR_GETXATTRAT, p->root_fd, ".", AT_SYMLINK_NOFOLLOW, KEY_GFID, &args, sizeof(args));

  bool is_new = r >= 0 || (errno != ENOSYS && errno != EPERM); /* Linux 6.13 */

  p->have_xattrat = wanted && is_new;
  p->makes_no_ima = is_new && !may_make_ima();
  r = syscall(NR_FCHMODAT2, -1, ".", 0, AT_SYMLINK_NOFOLLOW);
  p->have_chmodat = wanted && r < 0 && errno == EBADF;
}

int
posix_at_stat(const struct posix *p, struct posix_at at, struct stat *st)
{
  return at.path[0] ? gi_fs_stat(p->fs, at.fd, at.path, st, AT_SYMLINK_NOFOLLOW) : gi_fs_fstat(p->fs, at.fd, st);
}

#define PROC_PATH 320

static const char *
proc_path(struct posix_at at, char out[PROC_PATH])
{
  snprintf(out, PROC_PATH, "/proc/self/fd/%d/%s", at.fd, at.path);
  return out;
}

ssize_t
posix_at_get(const struct posix *p, struct posix_at at, const char *name, void *value, size_t size)
{
  char path[PROC_PATH];

  if (p->fs)
    return p->fs->ops->getxattr(p->fs, at.fd, at.path, name, value, size);
  if (!at.path[0])
    return fgetxattr(at.fd, name, value, size);
  if (p->have_xattrat) {
    struct xattr_args args = {.value = (uintptr_t)value, .size = (uint32_t)size};

    return syscall(NR_GETXATTRAT, at.fd, at.path, AT_SYMLINK_NOFOLLOW, name, &args, sizeof(args));
  }
  return lgetxattr(proc_path(at, path), name, value, size);
}

int
posix_at_set(const struct posix *p, struct posix_at at, const char *name, const void *value, size_t size, int flags)
{
  char path[PROC_PATH];

  if (p->fs)
    return p->fs->ops->setxattr(p->fs, at.fd, at.path, name, value, size, flags);
  if (!at.path[0])
    return fsetxattr(at.fd, name, value, size, flags);
  if (p->have_xattrat) {
    struct xattr_args args = {.value = (uintptr_t)value, .size = (uint32_t)size, .flags = (uint32_t)flags};

    return (int)syscall(NR_SETXATTRAT, at.fd, at.path, AT_SYMLINK_NOFOLLOW, name, &args, sizeof(args));
  }
  return lsetxattr(proc_path(at, path), name, value, size, flags);
}

ssize_t
posix_at_list(const struct posix *p, struct posix_at at, char *list, size_t size)
{
  char path[PROC_PATH];

  if (p->fs)
    return p->fs->ops->listxattr(p->fs, at.fd, at.path, list, size);
  if (!at.path[0])
    return flistxattr(at.fd, list, size);
  if (p->have_xattrat)
    return syscall(NR_LISTXATTRAT, at.fd, at.path, AT_SYMLINK_NOFOLLOW, list, size);
  return llistxattr(proc_path(at, path), list, size);
}

int
posix_at_remove(const struct posix *p, struct posix_at at, const char *name)
{
  char path[PROC_PATH];

  if (p->fs)
    return p->fs->ops->removexattr(p->fs, at.fd, at.path, name);
  if (!at.path[0])
    return fremovexattr(at.fd, name);
  if (p->have_xattrat)
    return (int)syscall(NR_REMOVEXATTRAT, at.fd, at.path, AT_SYMLINK_NOFOLLOW, name);
  return lremovexattr(proc_path(at, path), name);
}

int
posix_at_chown(const struct posix *p, struct posix_at at, uid_t uid, gid_t gid)
{
  return gi_fs_chown(p->fs, at.fd, at.path, uid, gid);
}

/* Nothing of a symlink changes. */
int
posix_at_chmod(const struct posix *p, struct posix_at at, mode_t mode)
{
  struct stat st;

  if (at.path[0] && p->have_chmodat)
    return syscall(NR_FCHMODAT2, at.fd, at.path, mode, AT_SYMLINK_NOFOLLOW) == 0 || errno == EOPNOTSUPP ? 0 : -1;
  if (at.path[0]) {
    if (gi_fs_stat(p->fs, at.fd, at.path, &st, AT_SYMLINK_NOFOLLOW) < 0)
      return -1;
    if (S_ISLNK(st.st_mode))
      return 0;
  }
  return gi_fs_chmod(p->fs, at.fd, at.path, mode);
}

int
posix_at_times(const struct posix *p, struct posix_at at, const struct timespec ts[2])
{
  return gi_fs_times(p->fs, at.fd, at.path, ts);
}

/* What is this brick's alone in the times is nobody's business, and copies are compared. */
static void
clear_flags(const char *name, char *value, ssize_t len)
{
  if (len == MDATA_DISK && strcmp(name, KEY_MDATA) == 0)
    memset(value + MDATA_FLAGS_AT, 0, 8);
}

ssize_t
posix_at_get_alloc(const struct posix *p, struct posix_at at, const char *name, char **value)
{
  char small[1024];
  ssize_t n = posix_at_get(p, at, name, small, sizeof(small));

  *value = NULL;
  if (n >= 0) {
    *value = gi_alloc((size_t)n + 1);
    memcpy(*value, small, (size_t)n);
    (*value)[n] = '\0';
    clear_flags(name, *value, n);
    return n;
  }
  if (errno != ERANGE)
    return -1;
  *value = gi_alloc(POSIX_XATTR_MAX + 1);
  n = posix_at_get(p, at, name, *value, POSIX_XATTR_MAX);
  if (n < 0) {
    int err = errno;

    gi_free(*value);
    *value = NULL;
    errno = err;
    return -1;
  }
  (*value)[n] = '\0';
  return n;
}

ssize_t
posix_at_list_alloc(const struct posix *p, struct posix_at at, char **list)
{
  size_t room = 1024;

  for (;;) {
    *list = gi_alloc(room + 1);
    ssize_t n = posix_at_list(p, at, *list, room);

    if (n >= 0) {
      (*list)[n] = '\0';
      return n;
    }
    int err = errno;
    gi_free(*list);
    *list = NULL;
    errno = err;
    if (err != ERANGE || room >= POSIX_XATTR_MAX)
      return -1;
    room = POSIX_XATTR_MAX;
  }
}
