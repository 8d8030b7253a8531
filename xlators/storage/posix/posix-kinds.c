/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of operation is made of: steps from all other files, which know
 * nothing of this one.
 */
#include "xlators/storage/posix/posix.h"

#define NEW_ENTRY .stamps = STAMP_OBJ | STAMP_PARENT, .reserved = true
#define CHANGES_OBJ .stamps = STAMP_OBJ
#define UNSUPPORTED(e) \
  { \
    .unsupported = e \
  }

static const struct posix_kind kinds[GI_FOP_MAX] = {
    [GI_FOP_LOOKUP] = {posix_prepare_lookup, posix_run_lookup, .finish = posix_finish_lookup},
    [GI_FOP_STAT] = {posix_prepare_object, posix_run_stat, .finish = posix_finish_counts},
    [GI_FOP_FSTAT] = {posix_prepare_fd, posix_run_stat, .finish = posix_finish_counts},
    [GI_FOP_SETATTR] = {posix_prepare_setattr, posix_run_setattr, posix_stamp_setattr},
    [GI_FOP_FSETATTR] = {posix_prepare_setattr, posix_run_setattr, posix_stamp_setattr},
    [GI_FOP_TRUNCATE] = {posix_prepare_object, posix_run_truncate, CHANGES_OBJ},
    [GI_FOP_FTRUNCATE] = {posix_prepare_fd, posix_run_truncate, CHANGES_OBJ},
    [GI_FOP_ACCESS] = {posix_prepare_object, posix_run_access},
    [GI_FOP_READLINK] = {posix_prepare_object, posix_run_readlink},
    [GI_FOP_STATFS] = {posix_prepare_statfs, posix_run_statfs},
    [GI_FOP_MKNOD] = {posix_prepare_entry, posix_run_mknod, .finish = posix_finish_mknod, NEW_ENTRY},
    [GI_FOP_MKDIR] = {posix_prepare_entry, posix_run_mkdir, NEW_ENTRY},
    [GI_FOP_SYMLINK] = {posix_prepare_entry, posix_run_symlink, NEW_ENTRY},
    [GI_FOP_CREATE] = {posix_prepare_entry, posix_run_create, .finish = posix_finish_open, NEW_ENTRY},
    [GI_FOP_LINK] = {posix_prepare_link, posix_run_link, NEW_ENTRY},
    [GI_FOP_UNLINK] = {posix_prepare_unlink, posix_run_unlink, posix_stamp_unlink, posix_finish_removed},
    [GI_FOP_RMDIR] = {posix_prepare_entry, posix_run_rmdir, .finish = posix_finish_removed, .stamps = STAMP_PARENT},
    [GI_FOP_RENAME] = {posix_prepare_rename, posix_run_rename, posix_stamp_rename, posix_finish_removed},
    [GI_FOP_OPEN] = {posix_prepare_object, posix_run_open, .finish = posix_finish_open, .stamps = STAMP_OBJ},
    [GI_FOP_READ] = {posix_prepare_read, posix_run_read, .finish = posix_finish_read, .uring = posix_uring_read,
                     .uring_done = posix_read_done, .stamps = STAMP_OBJ},
    [GI_FOP_WRITE] = {posix_prepare_write, posix_run_write, .finish = posix_finish_write, .uring = posix_uring_write,
                      .uring_done = posix_write_done, CHANGES_OBJ},
    [GI_FOP_FLUSH] = {posix_prepare_fd, posix_run_flush, .finish = posix_finish_counts},
    [GI_FOP_FSYNC] = {posix_prepare_fsync, posix_run_fsync, .finish = posix_finish_fsync, .join = posix_fsync_join,
                      .blocking = true},
    [GI_FOP_FALLOCATE] = {posix_prepare_fallocate, posix_run_fallocate, CHANGES_OBJ, .blocking = true},
    [GI_FOP_DISCARD] = {posix_prepare_fallocate, posix_run_fallocate, CHANGES_OBJ, .blocking = true},
    [GI_FOP_ZEROFILL] = {posix_prepare_fallocate, posix_run_fallocate, CHANGES_OBJ, .blocking = true},
    [GI_FOP_SEEK] = {posix_prepare_fd, posix_run_seek},
    [GI_FOP_COPY_FILE_RANGE] = {posix_prepare_copy_range, posix_run_copy_range, posix_stamp_copy_range, .writes_second = true,
                                .blocking = true, .reserved = true},
    [GI_FOP_RCHECKSUM] = {posix_prepare_fd, posix_run_rchecksum, .blocking = true},
    [GI_FOP_OPENDIR] = {posix_prepare_object, posix_run_opendir, .finish = posix_finish_open, .stamps = STAMP_OBJ},
    [GI_FOP_READDIR] = {posix_prepare_readdir, posix_run_readdir, .finish = posix_finish_readdir},
    [GI_FOP_READDIRP] = {posix_prepare_readdir, posix_run_readdir, .finish = posix_finish_readdir},
    [GI_FOP_FSYNCDIR] = {posix_prepare_fsync, posix_run_fsyncdir, .join = posix_fsync_join, .blocking = true},
    [GI_FOP_SETXATTR] = {posix_prepare_setxattr, posix_run_setxattr, posix_stamp_setxattr, posix_finish_setxattr,
                         .reserved = true},
    [GI_FOP_FSETXATTR] = {posix_prepare_setxattr, posix_run_setxattr, posix_stamp_setxattr, posix_finish_setxattr,
                          .reserved = true},
    [GI_FOP_REMOVEXATTR] = {posix_prepare_setxattr, posix_run_removexattr, posix_stamp_setxattr, posix_finish_setxattr},
    [GI_FOP_FREMOVEXATTR] = {posix_prepare_setxattr, posix_run_removexattr, posix_stamp_setxattr, posix_finish_setxattr},
    [GI_FOP_GETXATTR] = {posix_prepare_getxattr, posix_run_getxattr, .finish = posix_finish_getxattr},
    [GI_FOP_FGETXATTR] = {posix_prepare_getxattr, posix_run_getxattr, .finish = posix_finish_getxattr},
    [GI_FOP_XATTROP] = {posix_prepare_xattrop, posix_run_xattrop, .finish = posix_finish_xattrop},
    [GI_FOP_FXATTROP] = {posix_prepare_xattrop, posix_run_xattrop, .finish = posix_finish_xattrop},
    [GI_FOP_PUT] = {posix_prepare_entry, posix_run_put, NEW_ENTRY},
    [GI_FOP_LK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_INODELK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_FINODELK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_ENTRYLK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_FENTRYLK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_LEASE] = UNSUPPORTED(ENOSYS),
    [GI_FOP_GETACTIVELK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_SETACTIVELK] = UNSUPPORTED(ENOSYS),
    [GI_FOP_IPC] = UNSUPPORTED(EOPNOTSUPP),
    [GI_FOP_ICREATE] = UNSUPPORTED(EOPNOTSUPP),
    [GI_FOP_NAMELINK] = UNSUPPORTED(EOPNOTSUPP),
};

enum gi_verdict
posix_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  return posix_op_begin(x, fop, posix_near_wanted(fop) ? &posix_near_kind : &kinds[fop->kind]);
}
