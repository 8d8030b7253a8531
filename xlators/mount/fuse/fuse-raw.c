/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of operations need of the session: parts of the request being
 * handled that libfuse does not pass on, the session's life, and what the kernel is
 * told unasked.
 */
#include "fuse-internal.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

const void *
session_request_args(const struct bridge *b)
{
  return b->request + sizeof(struct fuse_in_header);
}

uint32_t
session_write_flags(const struct bridge *b)
{
  return ((const struct fuse_write_in *)session_request_args(b))->write_flags;
}

uint32_t
session_open_flags(const struct bridge *b)
{
  const struct fuse_in_header *h = (const void *)b->request;

  if (h->opcode == FUSE_CREATE)
    return ((const struct fuse_create_in *)session_request_args(b))->open_flags;
  return ((const struct fuse_open_in *)session_request_args(b))->open_flags;
}

bool
session_setattr_owner(const struct bridge *b, uint64_t *owner)
{
  const struct fuse_setattr_in *in = session_request_args(b);

  *owner = in->lock_owner;
  return in->valid & FATTR_LOCKOWNER;
}

bool
session_setattr_kill(const struct bridge *b)
{
  return ((const struct fuse_setattr_in *)session_request_args(b))->valid & FATTR_KILL_SUIDGID;
}

/* ---- where data lands ---- */

static size_t
pages(size_t size)
{
  return (size + GI_PAGE - 1) & ~(size_t)(GI_PAGE - 1);
}

static void
next_buffer(struct bridge *b)
{
  GI_ASSERT(!b->rx_next || b->rx_next->refs >= 1);
  gi_buf_unref(&b->rx);
  b->rx = b->rx_next ? b->rx_next : gi_buf_new(BRIDGE_MAX_WRITE);
  b->rx_next = NULL;
  b->rx_used = 0;
}

int
session_room(struct bridge *b, struct iovec iov[2])
{
  if (b->rx && b->rx->refs == 1)
    b->rx_used = 0; /* nobody keeps anything of it: warm pages again */
  else if (!b->rx || b->rx_used == b->rx->capacity)
    next_buffer(b);
  GI_ASSERT(b->rx_used % GI_PAGE == 0 && b->rx_used < b->rx->capacity);
  iov[0] = (struct iovec){b->rx->base + b->rx_used, b->rx->capacity - b->rx_used};
  if (b->rx_used == 0)
    return 1;
  if (!b->rx_next)
    b->rx_next = gi_buf_new(BRIDGE_MAX_WRITE);
  iov[1] = (struct iovec){b->rx_next->base, BRIDGE_MAX_WRITE - iov[0].iov_len};
  return 2;
}

void
session_landed(const struct bridge *b, size_t size, struct gi_payload *payload)
{
  size_t first = b->rx->capacity - b->rx_used;

  GI_ASSERT(payload->len == 0);
  GI_ASSERT(size <= first || (b->rx_next && size - first <= b->rx_next->capacity));
  if (first > size)
    first = size;
  gi_payload_add(payload, b->rx, b->rx->base + b->rx_used, first);
  if (size > first)
    gi_payload_add(payload, b->rx_next, b->rx_next->base, size - first);
}

bool
session_take_data(struct bridge *b, size_t size, struct gi_payload *payload)
{
  if (b->request_len < BRIDGE_HEADER || size > b->request_len - BRIDGE_HEADER)
    return false;

  size_t first = b->rx->capacity - b->rx_used;

  session_landed(b, size, payload);
  GI_ASSERT(payload->len == size);
  if (size > first)
    next_buffer(b);
  b->rx_used += pages(size > first ? size - first : size);
  GI_ASSERT(b->rx_used <= b->rx->capacity);
  return true;
}

/* ---- its life ---- */

struct session *
session_ref(struct session *s)
{
  if (!s)
    return NULL;
  GI_CHECK(s, SESSION_MAGIC);
  GI_ASSERT(s->refs > 0);
  s->refs++;
  return s;
}

void
session_unref(struct session **ref)
{
  struct session *s = *ref;

  *ref = NULL;
  if (!s)
    return;
  GI_CHECK(s, SESSION_MAGIC);
  GI_ASSERT(s->refs > 0);
  if (--s->refs)
    return;
  if (s->tell_fd >= 0) {
    gi_work_forget(s->r, s->tell_fd);
    close(s->tell_fd);
  }
  fuse_session_destroy(s->se);
  s->magic = 0;
  gi_free(s);
}

/* ---- notifications ---- */

static void
tell(const struct session *s, int32_t code, const void *arg, size_t len, const char *name)
{
  size_t name_len = name ? strlen(name) + 1 : 0;
  struct fuse_out_header h = {.len = (uint32_t)(sizeof(h) + len + name_len), .error = code};
  struct iovec iov[] = {{&h, sizeof(h)}, {(void *)(uintptr_t)arg, len}, {(void *)(uintptr_t)name, name_len}};

  /* ENOENT says that the kernel does not know it (any more), which is as good. */
  GI_IGNORE(writev(s->tell_fd >= 0 ? s->tell_fd : fuse_session_fd(s->se), iov, name ? 3 : 2));
}

void
session_drop_name(const struct session *s, uint64_t parent, const char *name)
{
  struct fuse_notify_inval_entry_out out = {.parent = parent, .namelen = (uint32_t)strlen(name)};

  tell(s, FUSE_NOTIFY_INVAL_ENTRY, &out, sizeof(out), name);
}

void
session_drop_inode(const struct session *s, uint64_t id, bool data)
{
  struct fuse_notify_inval_inode_out out = {.ino = id, .off = data ? 0 : -1};

  tell(s, FUSE_NOTIFY_INVAL_INODE, &out, sizeof(out), NULL);
}

void
session_alone(const struct session *s, struct gi_work *w)
{
  w->alone_with = s->tell_fd > 0 ? s->tell_fd : 0;
}
