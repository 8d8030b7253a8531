/* SPDX-License-Identifier: Apache-2.0
 *
 * File handles: which number the brick gave to which descriptor, opening them
 * again after a reconnect, telling the brick when they are closed
 * (wire.md 3.9, 7.4).
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/probe.h"

#include <errno.h>
#include <fcntl.h>

/* A descriptor that is not open on this brick is served by "open the gfid for this operation". Synchronising a directory has
 * no such form. */
#define CL_ANONYMOUS_OK \
  (GI_KIND(GI_FOP_READ) | GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_FLUSH) | \
   GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FXATTROP) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_FENTRYLK) | \
   GI_KIND(GI_FOP_LK) | GI_KIND(GI_FOP_READDIR) | GI_KIND(GI_FOP_READDIRP) | GI_KIND(GI_FOP_FGETXATTR) | \
   GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR) | GI_KIND(GI_FOP_FSETATTR) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | GI_KIND(GI_FOP_SEEK) | GI_KIND(GI_FOP_RCHECKSUM) | \
   GI_KIND(GI_FOP_COPY_FILE_RANGE))

int
cl_handle(struct client *c, enum gi_fop_kind kind, struct gi_fd *fd, int64_t *handle)
{
  if (!fd || !fd->inode)
    return EBADF;
  if (!fd->anonymous) {
    struct cl_fd *f = gi_fd_private(fd, c->x);
    if (f->state == CL_FD_OPEN) {
      GI_ASSERT(f->handle >= 0);
      *handle = f->handle;
      return 0;
    }
    if (f->state == CL_FD_BAD)
      return EBADFD;
  }
  *handle = GI_FD_ANONYMOUS;
  return (CL_ANONYMOUS_OK & GI_KIND(kind)) ? 0 : EBADF;
}

/* All operations on one inode take one connection, so the brick sees them in order. */
struct cl_conn *
cl_conn_of(struct client *c, const struct gi_gfid *gfid)
{
  if (c->nconns == 1 || !gfid)
    return &c->conn[0];
  uint64_t h = gi_gfid_ino(gfid) * 0x9e3779b97f4a7c15ull;
  return &c->conn[(h >> 32) % c->nconns];
}

static void
cl_release_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  /* A handle that could not be released went with its connection. */
}

void
cl_send_release(struct client *c, const struct gi_fd *fd, int64_t handle, struct gi_dict *xdata)
{
  const struct gi_gfid *gfid = fd ? &fd->inode->gfid : &gi_gfid_none;
  struct gi_rpc_client *rpc = cl_conn_of(c, gfid)->rpc;
  struct gi_xdr_out out = {0};
  uint32_t proc = fd && fd->directory ? GI_FOP_RELEASEDIR : GI_FOP_RELEASE;
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_FOP, GI_VERS_FOP, proc, GI_AUTH_V3, &cl_nobody);
  c->sent[proc]++;
  gi_xdr_put_gfid(&out, gfid);
  gi_xdr_put_u64(&out, (uint64_t)handle);
  gi_xdr_put_dict(&out, xdata);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, cl_release_reply, NULL);
}

static void
cl_release_now(struct client *c, struct gi_fd *fd, int64_t handle)
{
  struct gi_dict *empty = gi_dict_new();
  cl_send_release(c, fd, handle, empty);
  gi_dict_unref(&empty);
}

void
cl_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct client *c = cl_of(x);
  struct cl_fd *f = bytes;
  bool had_locks = f->nlocks > 0;
  cl_locks_released(c, fd);
  GI_ASSERT(f->nlocks == 0 && f->nmissing == 0);
  if (f->state == CL_FD_NONE)
    return;
  gi_list_del(&f->link);
  if (f->state == CL_FD_OPEN && (had_locks || !cl_give_back_descriptor(c, f->handle))) /* they go with it */
    cl_release_now(c, fd, f->handle);
  f->state = CL_FD_NONE;
}

void
cl_fd_opened(struct client *c, struct gi_fd *fd, int64_t handle)
{
  struct cl_fd *f = gi_fd_private(fd, c->x);
  GI_ASSERT(handle >= 0 && fd->inode);
  GI_ASSERT(f->state == CL_FD_NONE || f->fd == fd);
  if (f->state == CL_FD_OPEN && f->handle != handle && f->nlocks) {
    cl_release_now(c, fd, handle); /* opened twice: the locks are those of the older one */
    return;
  }
  if (f->state == CL_FD_NONE)
    gi_list_add_tail(&c->fds, &f->link);
  else if (f->state == CL_FD_OPEN && f->handle != handle)
    cl_release_now(c, fd, f->handle); /* opened twice: the newer one counts */
  f->fd = fd;
  f->handle = handle;
  f->state = CL_FD_OPEN;
  cl_locks_take(c, fd);
}

void
cl_fds_lost(struct client *c)
{
  gi_list_foreach(f, &c->fds, struct cl_fd, link)
    if (f->state == CL_FD_OPEN)
      f->state = CL_FD_LOST;
  cl_give_back_lost(c);
  cl_locks_away(c);
}

void
cl_fds_spoil(struct client *c)
{
  gi_list_foreach(f, &c->fds, struct cl_fd, link)
    f->state = CL_FD_BAD;
}

/* ---- opening again ---- */

struct cl_reopen {
  struct client *c;
  struct gi_fd *fd; /* referenced */
  uint32_t generation;
};

void
cl_fd_bad(struct client *c, struct cl_fd *f, const char *why)
{
  char gfid[GI_UUID_TEXT];
  GI_ASSERT(f->state != CL_FD_NONE && f->fd);
  if (f->state == CL_FD_OPEN)
    cl_release_now(c, f->fd, f->handle);
  f->state = CL_FD_BAD;
  c->metrics.bad_fds++;
  GI_PROBE("client: an fd cannot be opened again");
  gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 5, "descriptor of %s is bad from now on: %s",
         f->fd->inode ? gi_gfid_text(&f->fd->inode->gfid, gfid) : "an unknown file", why);
}

static void
cl_reopen_result(struct client *c, struct gi_fd *fd, struct gi_rpc_reply *reply)
{
  struct cl_fd *f = gi_fd_private(fd, c->x);
  if (f->state != CL_FD_LOST)
    return;
  struct gi_dict *xdata = NULL;
  int32_t ret = (int32_t)gi_xdr_get_u32(&reply->in);
  int32_t err = (int32_t)gi_xdr_get_u32(&reply->in);
  gi_xdr_get_dict(&reply->in, &xdata);
  int64_t handle = (int64_t)gi_xdr_get_u64(&reply->in);
  gi_dict_unref(&xdata);
  if (reply->accept != GI_RPC_SUCCESS || reply->in.failed || (ret >= 0 && handle < 0)) {
    cl_fd_bad(c, f, "the brick did not understand the re-open");
  } else if (ret < 0) {
    cl_fd_bad(c, f, strerror(err));
  } else {
    f->handle = handle;
    f->state = CL_FD_OPEN;
    c->metrics.reopened_fds++;
    GI_PROBE("client: an fd opened again after a reconnect");
    cl_locks_take(c, fd);
  }
}

void
cl_reopen_step(struct client *c)
{
  GI_ASSERT(c->reopening > 0 && c->state == CL_REOPEN);
  if (--c->reopening == 0)
    cl_reopened(c);
}

static void
cl_reopen_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct cl_reopen *r = arg;
  struct client *c = r->c;
  bool current = r->generation == c->generation && c->state == CL_REOPEN && reply->status != -ENOTCONN;
  if (current) {
    if (reply->status == 0)
      cl_reopen_result(c, r->fd, reply);
    else
      cl_fd_bad(c, gi_fd_private(r->fd, c->x), "the brick did not answer the re-open");
  }
  gi_fd_unref(&r->fd);
  gi_free(r);
  if (current)
    cl_reopen_step(c);
}

static void
cl_send_reopen(struct client *c, struct gi_fd *fd)
{
  struct cl_reopen *r = gi_new(struct cl_reopen);
  r->c = c;
  r->fd = gi_fd_ref(fd);
  r->generation = c->generation;
  struct gi_rpc_client *rpc = cl_conn_of(c, &fd->inode->gfid)->rpc;
  struct gi_xdr_out out = {0};
  struct gi_dict *empty = gi_dict_new();
  uint32_t proc = fd->directory ? GI_FOP_OPENDIR : GI_FOP_OPEN;
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_FOP, GI_VERS_FOP, proc, GI_AUTH_V3, &cl_nobody);
  gi_xdr_put_gfid(&out, &fd->inode->gfid);
  if (!fd->directory)
    gi_xdr_put_u32(&out, (uint32_t)fd->flags & CL_OPEN_FLAGS & ~(uint32_t)(O_CREAT | O_EXCL | O_TRUNC));
  gi_xdr_put_dict(&out, empty);
  gi_dict_unref(&empty);
  c->reopening++;
  gi_rpc_call_send(rpc, xid, &out, NULL, false, cl_reopen_reply, r);
}

void
cl_fds_reopen(struct client *c)
{
  c->reopening = 0;
  gi_list_foreach(f, &c->fds, struct cl_fd, link) {
    if (f->state != CL_FD_LOST)
      continue;
    if (!f->fd->inode)
      cl_fd_bad(c, f, "its gfid is unknown");
    else if (f->nlocks && cl_opts(c)->strict_locks)
      cl_fd_bad(c, f, "its locks were lost with the connection (strict-locks)");
    else
      cl_send_reopen(c, f->fd);
  }
  if (c->reopening == 0)
    cl_reopened(c);
}
