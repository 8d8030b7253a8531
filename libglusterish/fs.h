/* SPDX-License-Identifier: Apache-2.0
 *
 * The local file system below a brick, as the calls a brick makes to it.
 *
 * A struct gi_fs stands for one process's view of a file system; NULL is the
 * kernel's, and then every call here is the system call of that name. The
 * simulator gives a process another one (gi_ctx.fs), so that the translators
 * that keep files run unchanged on a simulated disk. Whoever keeps files on a
 * brick goes through this header and never calls the kernel for them.
 *
 * Arguments, results and errno are those of the system calls. A path of ""
 * means the descriptor itself. Nothing follows a symlink in the last component
 * except gi_fs_openat without O_NOFOLLOW and gi_fs_stat with flags 0. A
 * descriptor of one view means nothing to another, nor to the kernel.
 */
#ifndef GI_FS_H
#define GI_FS_H

#include "libglusterish/types.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

struct gi_fs;
struct gi_reactor;

/* One entry of gi_fs_getdents: the kernel's struct linux_dirent64. */
struct gi_fs_dirent {
  uint64_t ino;
  int64_t off; /* position after this entry, for gi_fs_lseek */
  uint16_t reclen;
  uint8_t type; /* DT_* */
  char name[];
};

/* Xattr calls on descriptor + name, and reads that do not wait, fail as the kernel's do. */
struct gi_fs_ops {
  int (*openat)(struct gi_fs *fs, int at, const char *path, int flags, mode_t mode);
  int (*close)(struct gi_fs *fs, int fd);
  int (*stat)(struct gi_fs *fs, int at, const char *path, struct stat *st, int flags);
  int (*link)(struct gi_fs *fs, int from, const char *old, int to, const char *new);
  int (*unlink)(struct gi_fs *fs, int at, const char *path, int flags);
  int (*rename)(struct gi_fs *fs, int from, const char *old, int to, const char *new, bool replaces);
  int (*mkdir)(struct gi_fs *fs, int at, const char *path, mode_t mode);
  int (*mknod)(struct gi_fs *fs, int at, const char *path, mode_t mode, dev_t dev);
  int (*symlink)(struct gi_fs *fs, const char *text, int at, const char *path);
  ssize_t (*readlink)(struct gi_fs *fs, int at, const char *path, char *out, size_t size);
  int (*chown)(struct gi_fs *fs, int at, const char *path, uid_t uid, gid_t gid);
  int (*chmod)(struct gi_fs *fs, int at, const char *path, mode_t mode);
  int (*times)(struct gi_fs *fs, int at, const char *path, const struct timespec ts[2]);
  ssize_t (*getxattr)(struct gi_fs *fs, int at, const char *path, const char *name, void *value, size_t size);
  int (*setxattr)(struct gi_fs *fs, int at, const char *path, const char *name, const void *value, size_t size, int flags);
  ssize_t (*listxattr)(struct gi_fs *fs, int at, const char *path, char *list, size_t size);
  int (*removexattr)(struct gi_fs *fs, int at, const char *path, const char *name);
  ssize_t (*preadv)(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at, int flags);
  ssize_t (*pwritev)(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at);
  ssize_t (*append)(struct gi_fs *fs, int fd, const struct iovec *iov, int n);
  int (*fsync)(struct gi_fs *fs, int fd, bool datasync);
  int (*write_out)(struct gi_fs *fs, int fd, off_t at, off_t len, bool wait);
  int (*forget)(struct gi_fs *fs, int fd); /* 0 or an errno, as posix_fadvise */
  int (*syncfs)(struct gi_fs *fs, int fd);
  int (*ftruncate)(struct gi_fs *fs, int fd, off_t size);
  int (*fallocate)(struct gi_fs *fs, int fd, int mode, off_t at, off_t len);
  off_t (*lseek)(struct gi_fs *fs, int fd, off_t at, int whence);
  ssize_t (*copy_range)(struct gi_fs *fs, int in, off_t *in_at, int out, off_t *out_at, size_t len);
  ssize_t (*getdents)(struct gi_fs *fs, int fd, void *buf, size_t size);
  int (*statvfs)(struct gi_fs *fs, int fd, struct statvfs *v);
  /* Calls made now may wait for the disk: whoever could make them off the reactor should. */
  bool (*busy)(struct gi_fs *fs);
  int (*where)(struct gi_fs *fs, int dir, const char *path, char *out, size_t size);
  int (*open_where)(struct gi_fs *fs, const char *where);
};

/* Every implementation embeds this first. */
struct gi_fs {
  const struct gi_fs_ops *ops;
};

/* Who wants to know which calls this thread makes, while it makes them for one operation. */
struct gi_calls;
struct gi_fs_watch {
  const char *now;        /* the one under way; NULL: none. Another thread may look */
  struct gi_calls *calls; /* where all are noted (tree.h); NULL: nowhere */
  const struct gi_reactor *reactor;
};
extern _Thread_local struct gi_fs_watch *gi_fs_watched __attribute__((tls_model("initial-exec"))); /* NULL: nobody */

void gi_fs_call_begins(struct gi_fs_watch *w, const char *name);
void gi_fs_call_ended(struct gi_fs_watch *w);

static inline struct gi_fs_watch *
gi_fs_begin(const char *name)
{
  struct gi_fs_watch *w = gi_fs_watched;

  if (w)
    gi_fs_call_begins(w, name);
  return w;
}

static inline void
gi_fs_end(struct gi_fs_watch **w)
{
  if (*w)
    gi_fs_call_ended(*w);
}

/* The call has the name of the function without "gi_fs_". */
#define GI_FS_CALL(fs, simulated, kernel) \
  __attribute__((cleanup(gi_fs_end), unused)) struct gi_fs_watch *gi_fs_call_ = gi_fs_begin(__func__ + sizeof("gi_fs_") - 1); \
  return (fs) ? (fs)->ops->simulated : (kernel)

static inline int
gi_fs_openat(struct gi_fs *fs, int at, const char *path, int flags, mode_t mode)
{
  GI_FS_CALL(fs, openat(fs, at, path, flags, mode), openat(at, path, flags, mode));
}

static inline int
gi_fs_close(struct gi_fs *fs, int fd)
{
  GI_FS_CALL(fs, close(fs, fd), close(fd));
}

/* A second descriptor of a directory. */
static inline int
gi_fs_reopen(struct gi_fs *fs, int fd)
{
  return gi_fs_openat(fs, fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static inline int
gi_fs_fstat(struct gi_fs *fs, int fd, struct stat *st)
{
  GI_FS_CALL(fs, stat(fs, fd, "", st, AT_SYMLINK_NOFOLLOW), fstat(fd, st));
}

static inline int
gi_fs_stat(struct gi_fs *fs, int at, const char *path, struct stat *st, int flags)
{
  GI_FS_CALL(fs, stat(fs, at, path, st, flags), fstatat(at, path, st, flags));
}

static inline int
gi_fs_link(struct gi_fs *fs, int from, const char *old, int to, const char *new)
{
  GI_FS_CALL(fs, link(fs, from, old, to, new), linkat(from, old, to, new, 0));
}

static inline int
gi_fs_unlink(struct gi_fs *fs, int at, const char *path, int flags)
{
  GI_FS_CALL(fs, unlink(fs, at, path, flags), unlinkat(at, path, flags));
}

int gi_fs_kernel_rename(int from, const char *old, int to, const char *new, bool replaces); /* stdio.h stays out of here */

/* Without `replaces` EEXIST if the new name is there. A file system that cannot tell replaces it nevertheless. */
static inline int
gi_fs_move(struct gi_fs *fs, int from, const char *old, int to, const char *new, bool replaces)
{
  GI_FS_CALL(fs, rename(fs, from, old, to, new, replaces), gi_fs_kernel_rename(from, old, to, new, replaces));
}

static inline int
gi_fs_rename(struct gi_fs *fs, int from, const char *old, int to, const char *new)
{
  return gi_fs_move(fs, from, old, to, new, true);
}

static inline int
gi_fs_mkdir(struct gi_fs *fs, int at, const char *path, mode_t mode)
{
  GI_FS_CALL(fs, mkdir(fs, at, path, mode), mkdirat(at, path, mode));
}

static inline int
gi_fs_mknod(struct gi_fs *fs, int at, const char *path, mode_t mode, dev_t dev)
{
  GI_FS_CALL(fs, mknod(fs, at, path, mode, dev), mknodat(at, path, mode, dev));
}

static inline int
gi_fs_symlink(struct gi_fs *fs, const char *text, int at, const char *path)
{
  GI_FS_CALL(fs, symlink(fs, text, at, path), symlinkat(text, at, path));
}

static inline ssize_t
gi_fs_readlink(struct gi_fs *fs, int at, const char *path, char *out, size_t size)
{
  GI_FS_CALL(fs, readlink(fs, at, path, out, size), readlinkat(at, path, out, size));
}

/* gi_fs_listxattr on a kernel's file system; `at` is a descriptor. */
ssize_t gi_fs_kernel_listxattr(int at, const char *path, char *list, size_t size);

/* The names of attributes, each with its NUL; ERANGE where `size` bytes are too few. */
static inline ssize_t
gi_fs_listxattr(struct gi_fs *fs, int at, const char *path, char *list, size_t size)
{
  GI_FS_CALL(fs, listxattr(fs, at, path, list, size), gi_fs_kernel_listxattr(at, path, list, size));
}

static inline int
gi_fs_chown(struct gi_fs *fs, int at, const char *path, uid_t uid, gid_t gid)
{
  GI_FS_CALL(fs, chown(fs, at, path, uid, gid),
             path[0] ? fchownat(at, path, uid, gid, AT_SYMLINK_NOFOLLOW) : fchown(at, uid, gid));
}

/* The caller has made sure that it is not a symlink. */
static inline int
gi_fs_chmod(struct gi_fs *fs, int at, const char *path, mode_t mode)
{
  GI_FS_CALL(fs, chmod(fs, at, path, mode), path[0] ? fchmodat(at, path, mode, 0) : fchmod(at, mode));
}

static inline int
gi_fs_times(struct gi_fs *fs, int at, const char *path, const struct timespec ts[2])
{
  GI_FS_CALL(fs, times(fs, at, path, ts), path[0] ? utimensat(at, path, ts, AT_SYMLINK_NOFOLLOW) : futimens(at, ts));
}

ssize_t gi_fs_fgetxattr(struct gi_fs *fs, int fd, const char *name, void *value, size_t size);
int gi_fs_fsetxattr(struct gi_fs *fs, int fd, const char *name, const void *value, size_t size, int flags);

static inline ssize_t
gi_fs_preadv(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at, int flags)
{
  GI_FS_CALL(fs, preadv(fs, fd, iov, n, at, flags), preadv2(fd, iov, n, at, flags));
}

static inline ssize_t
gi_fs_pread(struct gi_fs *fs, int fd, void *out, size_t len, off_t at)
{
  struct iovec iov = {out, len};

  GI_FS_CALL(fs, preadv(fs, fd, &iov, 1, at, 0), pread(fd, out, len, at));
}

static inline ssize_t
gi_fs_pwritev(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at)
{
  GI_FS_CALL(fs, pwritev(fs, fd, iov, n, at), pwritev(fd, iov, n, at));
}

/* At the end of the file, wherever that is by then: of several at a time each is whole. */
static inline ssize_t
gi_fs_append(struct gi_fs *fs, int fd, const struct iovec *iov, int n)
{
  GI_FS_CALL(fs, append(fs, fd, iov, n), pwritev2(fd, iov, n, 0, RWF_APPEND));
}

static inline ssize_t
gi_fs_pwrite(struct gi_fs *fs, int fd, const void *data, size_t len, off_t at)
{
  struct iovec iov = {(void *)(uintptr_t)data, len};

  GI_FS_CALL(fs, pwritev(fs, fd, &iov, 1, at), pwrite(fd, data, len, at));
}

static inline int
gi_fs_fsync(struct gi_fs *fs, int fd, bool datasync)
{
  GI_FS_CALL(fs, fsync(fs, fd, datasync), datasync ? fdatasync(fd) : fsync(fd));
}

/* Drops what the kernel keeps of the file in memory and would not write to the disk any more: reading then tells what is there. */
static inline int
gi_fs_forget(struct gi_fs *fs, int fd)
{
  GI_FS_CALL(fs, forget(fs, fd), posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
}

static inline int
gi_fs_syncfs(struct gi_fs *fs, int fd)
{
  GI_FS_CALL(fs, syncfs(fs, fd), syncfs(fd));
}

static inline int
gi_fs_ftruncate(struct gi_fs *fs, int fd, off_t size)
{
  GI_FS_CALL(fs, ftruncate(fs, fd, size), ftruncate(fd, size));
}

/* Has the disk begin with what was written there, so that an fsync has less to wait for, and others less to wait behind it; and, with
 * `wait`, waits until it is there. May wait for what is on its way already in any case: the kernel passes over pages that share a folio
 * with such. 0 promises nothing; -1 and errno: the disk did not take something of the file, which an fsync of this descriptor would have
 * told, and now will not: it counts as a failed one. */
static inline int
gi_fs_write_out(struct gi_fs *fs, int fd, off_t at, off_t len, bool wait)
{
  GI_FS_CALL(fs, write_out(fs, fd, at, len, wait),
             sync_file_range(fd, at, len,
                             SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | (wait ? SYNC_FILE_RANGE_WAIT_AFTER : 0)));
}

static inline int
gi_fs_fallocate(struct gi_fs *fs, int fd, int mode, off_t at, off_t len)
{
  GI_FS_CALL(fs, fallocate(fs, fd, mode, at, len), fallocate(fd, mode, at, len));
}

static inline off_t
gi_fs_lseek(struct gi_fs *fs, int fd, off_t at, int whence)
{
  GI_FS_CALL(fs, lseek(fs, fd, at, whence), lseek(fd, at, whence));
}

/* Copies up to len bytes from `at` of one open file to the same place of another, where the disk has them when this returns, and memory
 * does not, if the file system can do that (O_DIRECT); an fsync must follow all the same. Nothing is shared between the two files.
 * How much, which may be less than there is; 0 at the end of `in`; -1 and errno, which may be gi_fs_write_out's. */
ssize_t gi_fs_copy_to_disk(struct gi_fs *fs, int in, int out, off_t at, size_t len);

static inline ssize_t
gi_fs_copy_range(struct gi_fs *fs, int in, off_t *in_at, int out, off_t *out_at, size_t len)
{
  GI_FS_CALL(fs, copy_range(fs, in, in_at, out, out_at, len), copy_file_range(in, in_at, out, out_at, len, 0));
}

/* Entries (struct gi_fs_dirent) from the descriptor's position on; 0 = end. */
ssize_t gi_fs_getdents(struct gi_fs *fs, int fd, void *buf, size_t size);

static inline int
gi_fs_statvfs(struct gi_fs *fs, int fd, struct statvfs *v)
{
  GI_FS_CALL(fs, statvfs(fs, fd, v), fstatvfs(fd, v));
}

static inline bool
gi_fs_busy(struct gi_fs *fs)
{
  return fs && fs->ops->busy(fs);
}

/* ---- directories of other processes on the same machine ---- */

/* Takes the one lock (flock) of an open directory, which goes with the last descriptor of this open. 0, also where there is no such thing;
 * else EWOULDBLOCK, and the process that has it in *holder, 0 if that is not known. A simulated one is never taken. */
GI_MUST_CHECK int gi_fs_lock_directory(struct gi_fs *fs, int dir, pid_t *holder);

#define GI_FS_WHERE (PATH_MAX + 96u) /* bytes, with the NUL */

/* Where the open directory `dir` is, which has the absolute path `path`: a first word that no other machine has, then what tells it from
 * others. 0 or an errno. */
GI_MUST_CHECK int gi_fs_where(struct gi_fs *fs, int dir, const char *path, char *out, size_t size);
/* Opens such a directory: a descriptor, or -1 and errno. EXDEV: the first word is not this machine's; ESTALE: another directory is there
 * now; EINVAL: the rest is no such text. */
GI_MUST_CHECK int gi_fs_open_where(struct gi_fs *fs, const char *where);
bool gi_fs_same_machine(const char *where, const char *other);

/* ---- reading a directory entry by entry ---- */

struct gi_fs_dir {
  struct gi_fs *fs;
  int fd;  /* its own */
  int err; /* errno where reading failed */
  ssize_t len, next;
  _Alignas(8) char buf[4096];
};

/* Opens directory `path` in `at` ("." = itself, not following a symlink). 0 or an errno; gi_fs_dir_close after success. */
GI_MUST_CHECK int gi_fs_dir_open(struct gi_fs_dir *d, struct gi_fs *fs, int at, const char *path);
/* The next entry, including "." and ".."; valid until the next call. NULL = the end, or an error, and then d->err says so. */
const struct gi_fs_dirent *gi_fs_dir_next(struct gi_fs_dir *d);
void gi_fs_dir_close(struct gi_fs_dir *d);

#endif
