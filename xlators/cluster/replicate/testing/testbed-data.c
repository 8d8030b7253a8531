/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig of testing/testbed.h: the content of one file, through the set and on
 * the bricks.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <fcntl.h>
#include <unistd.h>

#define FILL_SIZE (1u << 20) /* of one write */

/* ---- through the set ---- */

struct gi_fop *
yard_data_fop(struct yard *y, enum gi_fop_kind kind, uint64_t offset, uint64_t size)
{
  struct gi_gfid gfid = yard_disk_gfid(y, 0, "f");
  struct gi_inode *inode = gi_inode_get(y->graph, &gfid);
  struct gi_fop *fop = gi_fop_new(y->graph, kind);
  struct gi_fd *fd = gi_fd_anonymous(y->graph, inode);

  if (kind == GI_FOP_TRUNCATE)
    gi_loc_set_inode(&fop->loc, inode);
  else
    gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  fop->args.size = size;
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  return fop;
}

struct gi_fop *
yard_write_fop(struct yard *y, uint64_t offset, uint64_t size, uint32_t seed)
{
  struct gi_fop *fop = yard_data_fop(y, GI_FOP_WRITE, offset, size);
  struct gi_buf *buf = gi_buf_new(size);

  for (uint64_t i = 0; i < size; i++)
    buf->base[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
  gi_payload_add(&fop->payload, buf, buf->base, size);
  gi_buf_unref(&buf);
  return fop;
}

void
yard_put(struct yard *y, uint64_t offset, uint64_t size, uint32_t seed)
{
  if (yard_submit(y, yard_write_fop(y, offset, size, seed)))
    fail_msg("a write at %llu: %s", (unsigned long long)offset, strerror(y->err));
}

void
yard_fill(struct yard *y, uint64_t size, uint32_t seed)
{
  for (uint64_t at = 0; at < size; at += FILL_SIZE)
    yard_put(y, at, size - at < FILL_SIZE ? size - at : FILL_SIZE, seed + (uint32_t)at);
}

void
yard_file(struct yard *y, uint64_t size)
{
  yard_create(y, "f", "");
  yard_fill(y, size, 1);
}

uint32_t
yard_draw(uint64_t *seed, uint32_t below)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % below;
}

/* ---- on the bricks ---- */

uint8_t *
yard_contents(const struct yard *y, unsigned brick, size_t *size)
{
  char path[PATH_MAX];
  uint8_t *data;
  int fd;

  yard_path(y, path, brick, "f");
  fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  *size = (size_t)lseek(fd, 0, SEEK_END);
  data = gi_alloc(*size + 1);
  assert_int_equal(pread(fd, data, *size, 0), *size);
  close(fd);
  return data;
}

void
yard_assert_same(const struct yard *y)
{
  size_t size, other;
  GI_CLEANUP_FREE uint8_t *data = yard_contents(y, 0, &size);

  for (unsigned i = 1; i < YARD; i++) {
    GI_CLEANUP_FREE uint8_t *copy = yard_contents(y, i, &other);

    assert_int_equal(size, other);
    for (size_t at = 0; at < size; at++)
      if (data[at] != copy[at])
        fail_msg("brick %u differs at %zu", i, at);
  }
}

void
yard_spoil(const struct yard *y, unsigned brick, uint64_t offset, const void *junk, size_t size)
{
  GI_CLEANUP_FREE uint8_t *zeros = gi_zalloc(size);
  char path[PATH_MAX];
  int fd;

  yard_path(y, path, brick, "f");
  fd = open(path, O_WRONLY);
  assert_int_equal(pwrite(fd, junk ? junk : zeros, size, (off_t)offset), size);
  close(fd);
}
