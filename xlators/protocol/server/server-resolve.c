/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a request says (gfids, names, handle numbers) to the objects of
 * this process, with the refusals every operation shares (wire.md 4,
 * brick.md 8.2). Whether an object exists on disk is the storage's to say.
 */
#include "xlators/protocol/server/server.h"

#include <errno.h>

#define SV_CREATING \
  (GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_SYMLINK) | GI_KIND(GI_FOP_LINK))

static bool
sv_is_dots(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
sv_check_name(const struct sv_client *c, enum gi_fop_kind kind, struct gi_loc *loc)
{
  const char *name = loc->name;
  if (!name || !name[0])
    return EINVAL;
  if (strchr(name, '/'))
    return EPERM;
  if (strlen(name) > GI_NAME_MAX)
    return ENAMETOOLONG;
  if (gi_gfid_is_root(&loc->pargfid) && strcmp(name, ".glusterfs") == 0)
    return EPERM;
  if (!sv_is_dots(name))
    return 0;
  if (kind == GI_FOP_LOOKUP) {
    /* Nobody leaves through the top. */
    bool top = gi_gfid_is_root(&loc->pargfid) || (!gi_gfid_is_none(&c->subdir) && gi_gfid_equal(&loc->pargfid, &c->subdir));
    if (top)
      loc->name = ".";
    return 0;
  }
  return kind == GI_FOP_RENAME ? EBUSY : (SV_CREATING & GI_KIND(kind)) ? EEXIST : EINVAL;
}

static int
sv_resolve_entry(struct sv_client *c, struct gi_fop *fop, struct gi_loc *loc)
{
  if (gi_gfid_is_none(&loc->pargfid))
    return EINVAL;
  int err = sv_check_name(c, fop->kind, loc);
  if (err)
    return err;
  loc->parent = gi_inode_get(fop->graph, &loc->pargfid);
  return 0;
}

static int
sv_resolve_gfid(struct gi_fop *fop, struct gi_loc *loc)
{
  if (gi_gfid_is_none(&loc->gfid))
    return EINVAL;
  loc->inode = gi_inode_get(fop->graph, &loc->gfid);
  loc->name = NULL;
  return 0;
}

static int
sv_resolve_lookup(struct sv_client *c, struct gi_fop *fop)
{
  struct gi_loc *loc = &fop->loc;
  if (!loc->name || !loc->name[0])
    return sv_resolve_gfid(fop, loc);
  loc->gfid = gi_gfid_none; /* an expectation of the client that nobody enforces */
  return sv_resolve_entry(c, fop, loc);
}

/* A referenced fd for `handle`, or NULL and *err. */
static struct gi_fd *
sv_resolve_fd(struct sv_client *c, struct gi_fop *fop, const struct gi_gfid *gfid, int64_t handle, int *err)
{
  if (handle != GI_FD_ANONYMOUS) {
    struct gi_fd *fd = sv_fd_get(c, handle);
    *err = fd ? 0 : EBADF;
    return gi_fd_ref(fd);
  }
  if (gi_gfid_is_none(gfid)) {
    *err = EINVAL;
    return NULL;
  }
  struct gi_inode *inode = gi_inode_get(fop->graph, gfid);
  struct gi_fd *fd = gi_fd_anonymous(fop->graph, inode);
  gi_inode_unref(&inode);
  *err = 0;
  return fd;
}

static int
sv_resolve_fds(struct sv_client *c, struct gi_fop *fop, const struct gi_wire_fds *fds)
{
  int err;
  struct gi_fd *fd = sv_resolve_fd(c, fop, &fop->loc.gfid, fds->fd, &err);
  if (!fd)
    return err;
  gi_fop_set_fd(fop, fd);
  gi_fd_unref(&fd);
  if (fop->kind != GI_FOP_COPY_FILE_RANGE)
    return 0;
  fop->fd2 = sv_resolve_fd(c, fop, &fop->loc2.gfid, fds->fd2, &err);
  if (fop->fd2 && fop->fd2->inode)
    gi_loc_set_inode(&fop->loc2, fop->fd2->inode);
  return err;
}

static int
sv_resolve_open(struct gi_fop *fop)
{
  int err = sv_resolve_gfid(fop, &fop->loc);
  if (err)
    return err;
  fop->fd = gi_fd_new(fop->graph, fop->loc.inode, (int32_t)fop->args.flags, fop->caller.pid);
  fop->fd->directory = fop->kind == GI_FOP_OPENDIR;
  return 0;
}

static int
sv_resolve_create(struct sv_client *c, struct gi_fop *fop)
{
  int err = sv_resolve_entry(c, fop, &fop->loc);
  if (err)
    return err;
  fop->fd = gi_fd_new(fop->graph, NULL, (int32_t)fop->args.flags, fop->caller.pid);
  return 0;
}

int
sv_resolve(struct sv_client *c, struct gi_fop *fop, const struct gi_wire_fds *fds)
{
  int err;
  switch (fop->kind) {
  case GI_FOP_LOOKUP:
    return sv_resolve_lookup(c, fop);
  case GI_FOP_OPEN:
  case GI_FOP_OPENDIR:
    return sv_resolve_open(fop);
  case GI_FOP_CREATE:
    return sv_resolve_create(c, fop);
  case GI_FOP_RENAME:
    err = sv_resolve_entry(c, fop, &fop->loc);
    return err ? err : sv_resolve_entry(c, fop, &fop->loc2);
  case GI_FOP_LINK:
    err = sv_resolve_gfid(fop, &fop->loc);
    return err ? err : sv_resolve_entry(c, fop, &fop->loc2);
  default:
    break;
  }
  switch (gi_fop_table[fop->kind].target) {
  case GI_TARGET_LOC:
    return sv_resolve_gfid(fop, &fop->loc);
  case GI_TARGET_FD:
    return sv_resolve_fds(c, fop, fds);
  case GI_TARGET_ENTRY:
    return sv_resolve_entry(c, fop, &fop->loc);
  default:
    return 0;
  }
}
