/* SPDX-License-Identifier: Apache-2.0
 *
 * The handle table of a client: small numbers for open descriptors, the lowest
 * free one first (wire.md 3.9). Files and directories share it.
 */
#include "xlators/protocol/server/server.h"

#define SV_FDS_FIRST 64
#define SV_FDS_MAX (1u << 20) /* per client; a client that wants more leaks handles */

static bool
sv_fds_grow(struct sv_client *c)
{
  uint32_t size = c->fd_size ? c->fd_size * 2 : SV_FDS_FIRST;
  if (size > SV_FDS_MAX)
    return false;
  c->fd = gi_realloc(c->fd, size * sizeof(struct gi_fd *));
  memset(c->fd + c->fd_size, 0, (size - c->fd_size) * sizeof(struct gi_fd *));
  c->fd_size = size;
  return true;
}

int64_t
sv_fd_store(struct sv_client *c, struct gi_fd *fd)
{
  GI_ASSERT(!c->gone && fd->inode);
  uint32_t i = c->fd_lowest;
  while (i < c->fd_size && c->fd[i])
    i++;
  if (i == c->fd_size && !sv_fds_grow(c))
    return -1;
  GI_ASSERT(i < c->fd_size && !c->fd[i]);
  c->fd[i] = fd;
  c->fd_used++;
  c->fd_lowest = i + 1;
  c->sv->metrics.open_fds++;
  return i;
}

struct gi_fd *
sv_fd_get(const struct sv_client *c, int64_t handle)
{
  return handle >= 0 && handle < (int64_t)c->fd_size ? c->fd[handle] : NULL;
}

void
sv_fd_close(struct sv_client *c, int64_t handle)
{
  struct gi_fd *fd = sv_fd_get(c, handle);
  if (!fd)
    return;
  GI_ASSERT(c->fd_used > 0 && c->sv->metrics.open_fds > 0);
  c->fd[handle] = NULL;
  c->fd_used--;
  c->sv->metrics.open_fds--;
  if ((uint32_t)handle < c->fd_lowest)
    c->fd_lowest = (uint32_t)handle;
  gi_fd_unref(&fd);
}

void
sv_fds_close_all(struct sv_client *c)
{
  for (uint32_t i = 0; i < c->fd_size; i++) {
    if (c->fd[i])
      c->fd[i]->abandoned = true;
    sv_fd_close(c, i);
  }
  gi_free(c->fd);
  c->fd = NULL;
  c->fd_size = c->fd_lowest = 0;
}
