/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests are checked before libfuse takes them apart, because it trusts
 * their lengths: every opcode has a fixed part and a number of names behind
 * it, and those that carry data say how much.
 */
#include "fuse-internal.h"

#include <linux/fuse.h>

struct shape {
  uint16_t fixed; /* bytes behind the header */
  uint8_t names;  /* NUL-terminated strings behind that */
};

/* Opcodes that are not here go on: libfuse answers ENOSYS to what it does not know. */
static const struct shape shapes[] = {
    [FUSE_LOOKUP] = {0, 1},
    [FUSE_FORGET] = {sizeof(struct fuse_forget_in), 0},
    [FUSE_GETATTR] = {sizeof(struct fuse_getattr_in), 0},
    [FUSE_SETATTR] = {sizeof(struct fuse_setattr_in), 0},
    [FUSE_SYMLINK] = {0, 2},
    [FUSE_MKNOD] = {sizeof(struct fuse_mknod_in), 1},
    [FUSE_MKDIR] = {sizeof(struct fuse_mkdir_in), 1},
    [FUSE_UNLINK] = {0, 1},
    [FUSE_RMDIR] = {0, 1},
    [FUSE_RENAME] = {sizeof(struct fuse_rename_in), 2},
    [FUSE_LINK] = {sizeof(struct fuse_link_in), 1},
    [FUSE_OPEN] = {sizeof(struct fuse_open_in), 0},
    [FUSE_READ] = {sizeof(struct fuse_read_in), 0},
    [FUSE_WRITE] = {sizeof(struct fuse_write_in), 0},
    [FUSE_RELEASE] = {sizeof(struct fuse_release_in), 0},
    [FUSE_FSYNC] = {sizeof(struct fuse_fsync_in), 0},
    [FUSE_SETXATTR] = {FUSE_COMPAT_SETXATTR_IN_SIZE, 1},
    [FUSE_GETXATTR] = {sizeof(struct fuse_getxattr_in), 1},
    [FUSE_LISTXATTR] = {sizeof(struct fuse_getxattr_in), 0},
    [FUSE_REMOVEXATTR] = {0, 1},
    [FUSE_FLUSH] = {sizeof(struct fuse_flush_in), 0},
    [FUSE_INIT] = {16, 0}, /* flags2 and what follows came later */
    [FUSE_OPENDIR] = {sizeof(struct fuse_open_in), 0},
    [FUSE_READDIR] = {sizeof(struct fuse_read_in), 0},
    [FUSE_RELEASEDIR] = {sizeof(struct fuse_release_in), 0},
    [FUSE_FSYNCDIR] = {sizeof(struct fuse_fsync_in), 0},
    [FUSE_GETLK] = {sizeof(struct fuse_lk_in), 0},
    [FUSE_SETLK] = {sizeof(struct fuse_lk_in), 0},
    [FUSE_SETLKW] = {sizeof(struct fuse_lk_in), 0},
    [FUSE_ACCESS] = {sizeof(struct fuse_access_in), 0},
    [FUSE_CREATE] = {sizeof(struct fuse_create_in), 1},
    [FUSE_INTERRUPT] = {sizeof(struct fuse_interrupt_in), 0},
    [FUSE_BMAP] = {sizeof(struct fuse_bmap_in), 0},
    [FUSE_IOCTL] = {sizeof(struct fuse_ioctl_in), 0},
    [FUSE_POLL] = {sizeof(struct fuse_poll_in), 0},
    [FUSE_BATCH_FORGET] = {sizeof(struct fuse_batch_forget_in), 0},
    [FUSE_FALLOCATE] = {sizeof(struct fuse_fallocate_in), 0},
    [FUSE_READDIRPLUS] = {sizeof(struct fuse_read_in), 0},
    [FUSE_RENAME2] = {sizeof(struct fuse_rename2_in), 2},
    [FUSE_LSEEK] = {sizeof(struct fuse_lseek_in), 0},
    [FUSE_COPY_FILE_RANGE] = {sizeof(struct fuse_copy_file_range_in), 0},
};

/* Skips `names` terminated strings; NULL if one does not end inside. */
static const uint8_t *
skip_names(const uint8_t *p, const uint8_t *end, unsigned names)
{
  while (names-- > 0) {
    const uint8_t *nul = memchr(p, '\0', (size_t)(end - p));

    if (!nul)
      return NULL;
    p = nul + 1;
  }
  return p;
}

/* What says its own length must fit in what is left. */
static bool
data_fits(uint32_t opcode, const void *args, size_t rest)
{
  switch (opcode) {
  case FUSE_WRITE:
    return ((const struct fuse_write_in *)args)->size <= rest;
  case FUSE_SETXATTR:
    return ((const struct fuse_setxattr_in *)args)->size <= rest;
  case FUSE_BATCH_FORGET:
    return ((const struct fuse_batch_forget_in *)args)->count <= rest / sizeof(struct fuse_forget_one);
  case FUSE_IOCTL:
    return ((const struct fuse_ioctl_in *)args)->in_size <= rest;
  default:
    return true;
  }
}

bool
request_is_sound(const uint8_t *data, size_t len)
{
  const struct fuse_in_header *h = (const void *)data;

  if (len < sizeof(*h) || h->len != len)
    return false;
  if (h->opcode == FUSE_NOTIFY_REPLY) /* we never ask for pages, and libfuse would keep the request for ever */
    return false;
  if (h->opcode >= GI_ARRAY_LEN(shapes) || (shapes[h->opcode].fixed == 0 && shapes[h->opcode].names == 0))
    return true;

  const struct shape *s = &shapes[h->opcode];
  const uint8_t *args = data + sizeof(*h);

  if (len - sizeof(*h) < s->fixed)
    return false;

  const uint8_t *rest = skip_names(args + s->fixed, data + len, s->names);

  return rest && data_fits(h->opcode, args, (size_t)(data + len - rest));
}
