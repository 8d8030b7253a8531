/* SPDX-License-Identifier: Apache-2.0
 *
 * File handles: the kernel asks for "." of a node it has forgotten, and for
 * ".." of a directory whose parent it does not know. The first is found by the
 * beginning of its gfid, which only our own bricks can; the second in a
 * listing of the directory.
 */
#include "fuse-internal.h"

#include <stdio.h>

#define PARENT_LIST_SIZE 4096 /* the dots come first */

static void
lookup_inode(struct bridge *b, fuse_req_t req, struct gi_inode *inode)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_LOOKUP);

  op_set_root(fop);
  gi_loc_set_inode(&fop->loc, inode);
  op_submit(b, fop, entry_done);
}

static void
lookup_gfid(struct bridge *b, fuse_req_t req, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(b->x->graph, gfid);

  lookup_inode(b, req, inode);
  gi_inode_unref(&inode);
}

/* What is not found, or asked of a brick that does not know the question, is stale; a brick that is away may have it. */
static void
reply_stale(struct bridge *b, struct gi_fop *fop)
{
  reply_err(b, op_of(b, fop)->req, fop->rsp.ret < 0 && fop->rsp.err == ENOTCONN ? ENOTCONN : ESTALE);
}

/* ---- "." ---- */

static void
gfid_found(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  const char *text = "";
  struct gi_gfid gfid;

  if (fop->rsp.ret >= 0)
    gi_dict_get_str(fop->rsp.dict, fop->args.name, &text);
  if (gi_gfid_parse(text, &gfid) && node_id_of(&gfid) == op_of(b, fop)->wanted)
    lookup_gfid(b, op_of(b, fop)->req, &gfid);
  else
    reply_stale(b, fop);
  op_end(b, fop);
}

static void
find_gfid(struct bridge *b, fuse_req_t req, fuse_ino_t ino)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_GETXATTR);
  char name[64];
  int len = snprintf(name, sizeof(name), GI_GFID_KEY "%08x-%04x-%04x", (unsigned)(ino >> 32), (unsigned)(ino >> 16 & 0xffff),
                     (unsigned)(ino & 0xffff));

  op_set_root(fop);
  gi_loc_set_inode(&fop->loc, b->root);
  fop->args.name = gi_fop_strdup(fop, name, (size_t)len);
  op_of(b, fop)->wanted = ino;
  op_submit(b, fop, gfid_found);
}

/* ---- ".." ---- */

static const struct gi_gfid *
parent_gfid(struct bridge *b, const struct gi_fop *fop)
{
  struct gi_inode *parent = node_find(b, node_of(b, fop->fd->inode)->parent_id);

  for (uint32_t i = 0; i < fop->rsp.entries.count; i++) {
    const struct gi_dirent *d = &fop->rsp.entries.entry[i];

    if (strcmp(d->name, "..") == 0 && !gi_gfid_is_none(&d->stat.gfid))
      return &d->stat.gfid;
  }
  return parent ? &parent->gfid : NULL; /* where it was found last */
}

static void
parent_listed(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  const struct gi_gfid *gfid = fop->rsp.ret < 0 ? NULL : parent_gfid(b, fop);

  if (gfid)
    lookup_gfid(b, op_of(b, fop)->req, gfid);
  else
    reply_stale(b, fop);
  op_end(b, fop);
}

static void
parent_opened(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (fop->rsp.ret < 0) {
    reply_stale(b, fop);
    op_end(b, fop);
    return;
  }

  struct gi_fop *list = op_new(b, op_of(b, fop)->req, GI_FOP_READDIRP);

  op_set_root(list);
  gi_fop_set_fd(list, fop->fd);
  list->args.size = PARENT_LIST_SIZE;
  op_end(b, fop);
  op_submit(b, list, parent_listed);
}

static void
find_parent(struct bridge *b, fuse_req_t req, struct gi_inode *inode)
{
  struct gi_fop *fop = op_new(b, req, GI_FOP_OPENDIR);
  struct gi_fd *fd = gi_fd_new(b->x->graph, inode, O_RDONLY | O_DIRECTORY, fop->caller.pid);

  fd->directory = true;
  op_set_root(fop);
  gi_fop_set_fd(fop, fd);
  gi_fd_unref(&fd);
  op_submit(b, fop, parent_opened);
}

void
lookup_dots(fuse_req_t req, fuse_ino_t ino, bool parent)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = parent ? node_inode(b, req, ino) : node_find(b, ino);

  if (parent && !inode)
    return;
  if (!inode)
    find_gfid(b, req, ino);
  else if (parent && inode != b->root)
    find_parent(b, req, inode);
  else
    lookup_inode(b, req, inode);
}
