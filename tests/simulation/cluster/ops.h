/* SPDX-License-Identifier: Apache-2.0
 *
 * What an application does, as straight-line calls for workloads: each makes
 * the operation as mount/fuse would, submits it at the top of the client's
 * graph and waits for the answer. To be called on a task of the client's
 * process. All return 0 (or a count) or -errno.
 */
#ifndef SIM_OPS_H
#define SIM_OPS_H

#include "tests/simulation/cluster/cluster.h"

/* The object of a name; `inode` gets a reference (NULL: not wanted), `stat` may be NULL. */
int sim_op_lookup(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode **inode, struct gi_iatt *stat);
int sim_op_stat(struct sim_client *c, struct gi_inode *inode, struct gi_iatt *stat);
int sim_op_create(struct sim_client *c, struct gi_inode *dir, const char *name, int flags, struct gi_fd **fd);
int sim_op_mkdir(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode **inode);
/* With this gfid, if it is made. */
int sim_op_create_as(struct sim_client *c, struct gi_inode *dir, const char *name, int flags, const struct gi_gfid *gfid,
                     struct gi_fd **fd);
int sim_op_mkdir_as(struct sim_client *c, struct gi_inode *dir, const char *name, const struct gi_gfid *gfid,
                    struct gi_inode **inode);
int sim_op_open(struct sim_client *c, struct gi_inode *inode, int flags, struct gi_fd **fd);
/* `size` (may be NULL): the file's, as the answer tells it; SIM_NO_SIZE if it does not. */
#define SIM_NO_SIZE UINT64_MAX
/* `early` (may be NULL): it was answered before the bricks have it. */
ssize_t sim_op_write(struct sim_client *c, struct gi_fd *fd, uint64_t offset, const void *data, size_t len, uint64_t *size,
                     bool *early);
ssize_t sim_op_read(struct sim_client *c, struct gi_fd *fd, uint64_t offset, void *data, size_t len, uint64_t *size);
int sim_op_fsync(struct sim_client *c, struct gi_fd *fd);
int sim_op_fstat(struct sim_client *c, struct gi_fd *fd, uint64_t *size);
int sim_op_flush(struct sim_client *c, struct gi_fd *fd);
int sim_op_lock(struct sim_client *c, struct gi_fd *fd,
                uint32_t type); /* GI_LK_*, of the whole file, without waiting; one owner a client */
int sim_op_truncate(struct sim_client *c, struct gi_fd *fd, uint64_t size);
int sim_op_chmod(struct sim_client *c, struct gi_inode *inode, uint32_t mode);
int sim_op_setxattr(struct sim_client *c, struct gi_inode *inode, const char *name, const void *value, uint32_t len);
/* What the management daemon says when a brick was replaced by an empty one. */
int sim_op_new_brick(struct sim_client *c, unsigned brick);
/* The value's length, at most `size` bytes of it in `value`. */
ssize_t sim_op_getxattr(struct sim_client *c, struct gi_inode *inode, const char *name, void *value, size_t size);
int sim_op_unlink(struct sim_client *c, struct gi_inode *dir, const char *name);
int sim_op_rmdir(struct sim_client *c, struct gi_inode *dir, const char *name);
int sim_op_link(struct sim_client *c, struct gi_inode *inode, struct gi_inode *dir, const char *name);
int sim_op_rename_free(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode *dir2,
                       const char *name2); /* replaces nothing; -EOPNOTSUPP: some brick cannot */
int sim_op_rename(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode *dir2, const char *name2);
/* Calls fn for every name but "." and "..". */
int sim_op_list(struct sim_client *c, struct gi_inode *dir, void (*fn)(void *arg, const struct gi_dirent *e), void *arg);
/* The same, with so many bytes at a time, and pauses in between. */
int sim_op_list_slowly(struct sim_client *c, struct gi_inode *dir, size_t bytes, uint64_t pause_ns,
                       void (*fn)(void *arg, const struct gi_dirent *e), void *arg);

struct gi_inode *sim_op_root(struct sim_client *c); /* a reference */
void sim_op_pause(struct sim_client *c, uint64_t ns);

#endif
