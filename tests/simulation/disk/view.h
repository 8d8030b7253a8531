/* SPDX-License-Identifier: Apache-2.0
 *
 * A process's view of a simulated disk: its descriptors, and the calls of
 * libglusterish/fs.h in three files: view.c (descriptors, looking),
 * view-change.c (names and attributes), view-data.c (content).
 */
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "tests/simulation/disk/disk-private.h"

/* The first descriptor: far above those of the kernel, so that a real call with a simulated descriptor fails. */
#define SIM_FD_BASE (1 << 20)

struct sim_file {
  struct sim_inode *inode; /* NULL: free */
  int flags;               /* of open */
  uint64_t pos;            /* directories: the last cookie given */
  uint32_t refusals;       /* how many of sim_inode.refusals it was told of */
};

struct sim_view {
  struct gi_fs fs; /* first */
  struct sim_disk *disk;
  unsigned nfiles;
  struct sim_file *file;
};

static inline struct sim_view *
sim_view_of(struct gi_fs *fs)
{
  return (struct sim_view *)(void *)fs;
}

static inline int
sim_fail(int err)
{
  errno = err;
  return -1;
}

/* The open file of a descriptor; NULL and errno. */
struct sim_file *sim_view_file(struct sim_view *v, int fd);
/* A new descriptor. */
int sim_view_open(struct sim_view *v, struct sim_inode *i, int flags);
/* The object at descriptor + path, NULL and errno. `follow`: a symlink at the end. */
struct sim_inode *sim_view_object(struct sim_view *v, int at, const char *path, bool follow);

/* Where a name is or could be. */
struct sim_place {
  struct sim_inode *dir, *inode; /* inode NULL: no such name */
  char name[SIM_NAME_MAX + 1];
};
int sim_view_place(struct sim_view *v, int at, const char *path, struct sim_place *p); /* 0 or errno */
/* Makes an object at a free place, with owner, mode and the group of a set-gid directory. 0 or errno. */
int sim_view_make(struct sim_view *v, const struct sim_place *p, mode_t mode, struct sim_inode **made);

extern const struct gi_fs_ops sim_view_ops;

int sim_view_link(struct gi_fs *fs, int from, const char *old, int to, const char *new);
int sim_view_unlink(struct gi_fs *fs, int at, const char *path, int flags);
int sim_view_rename(struct gi_fs *fs, int from, const char *old, int to, const char *new, bool replaces);
int sim_view_mkdir(struct gi_fs *fs, int at, const char *path, mode_t mode);
int sim_view_mknod(struct gi_fs *fs, int at, const char *path, mode_t mode, dev_t dev);
int sim_view_symlink(struct gi_fs *fs, const char *text, int at, const char *path);
int sim_view_chown(struct gi_fs *fs, int at, const char *path, uid_t uid, gid_t gid);
int sim_view_chmod(struct gi_fs *fs, int at, const char *path, mode_t mode);
int sim_view_times(struct gi_fs *fs, int at, const char *path, const struct timespec ts[2]);
ssize_t sim_view_getxattr(struct gi_fs *fs, int at, const char *path, const char *name, void *value, size_t size);
int sim_view_setxattr(struct gi_fs *fs, int at, const char *path, const char *name, const void *value, size_t size, int flags);
ssize_t sim_view_listxattr(struct gi_fs *fs, int at, const char *path, char *list, size_t size);
int sim_view_removexattr(struct gi_fs *fs, int at, const char *path, const char *name);
ssize_t sim_view_preadv(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at, int flags);
ssize_t sim_view_pwritev(struct gi_fs *fs, int fd, const struct iovec *iov, int n, off_t at);
ssize_t sim_view_append(struct gi_fs *fs, int fd, const struct iovec *iov, int n);
int sim_view_fsync(struct gi_fs *fs, int fd, bool datasync);
int sim_view_write_out(struct gi_fs *fs, int fd, off_t at, off_t len, bool wait);
int sim_view_forget(struct gi_fs *fs, int fd);
int sim_view_syncfs(struct gi_fs *fs, int fd);
int sim_view_ftruncate(struct gi_fs *fs, int fd, off_t size);
int sim_view_fallocate(struct gi_fs *fs, int fd, int mode, off_t at, off_t len);
off_t sim_view_lseek(struct gi_fs *fs, int fd, off_t at, int whence);
ssize_t sim_view_copy_range(struct gi_fs *fs, int in, off_t *in_at, int out, off_t *out_at, size_t len);

#endif
