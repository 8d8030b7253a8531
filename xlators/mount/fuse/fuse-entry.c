/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: lookup and forget, everything that makes, removes or renames an
 * entry.
 */
#include "fuse-internal.h"

#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Answers ENAMETOOLONG if a brick could not keep the name. */
static bool
name_fits(struct bridge *b, fuse_req_t req, const char *name)
{
  if (strnlen(name, GI_NAME_MAX + 1) <= GI_NAME_MAX)
    return true;
  reply_err(b, req, ENAMETOOLONG);
  return false;
}

/* A fop on the entry `name` of node `parent`; NULL: answered. */
static struct gi_fop *
entry_fop(fuse_req_t req, fuse_ino_t parent, const char *name, enum gi_fop_kind kind)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *dir = node_inode(b, req, parent);

  if (!dir || !name_fits(b, req, name))
    return NULL;

  struct gi_fop *fop = op_new(b, req, kind);

  gi_fop_set_entry(fop, &fop->loc, dir, name);
  return fop;
}

static void
reply_negative(struct bridge *b, struct gi_fop *fop)
{
  struct fuse_entry_param e = {.entry_timeout = seconds_left(b, fop, b->negative_timeout)};

  node_entry_in(b, fop->loc.parent, &e);
  if (reply_result(b, fuse_reply_entry(op_of(b, fop)->req, &e)) == 0)
    absent_told(b, &fop->loc);
}

/* The object of a successful entry reply, referenced; NULL if the reply has no usable attributes. */
static struct gi_inode *
replied_inode(struct bridge *b, struct gi_fop *fop)
{
  const struct gi_iatt *st = &fop->rsp.stat;

  if (!gi_iatt_valid(st) || gi_gfid_is_none(&st->gfid)) {
    gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 30, "%s of %s: the reply has no attributes", gi_fop_name(fop->kind),
           fop->loc.name ? fop->loc.name : "?");
    return NULL;
  }
  return gi_inode_get(b->x->graph, &st->gfid);
}

#define LOOKED_NS (100 * GI_NSEC_PER_MSEC)

static bool
is_new(const struct gi_fop *fop)
{
  struct gi_gfid gfid;

  return gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid) && gi_gfid_equal(&gfid, &fop->rsp.stat.gfid);
}

/* Found under another name than the kernel knows, and that is its only one: another mount has moved it, and the kernel may still believe in
 * the old name for a while. A rename from there would find one file under both names and call that done. */
static bool
moved_by_another(struct bridge *b, struct gi_inode *inode, const struct gi_fop *fop)
{
  const struct node *n = node_of(b, inode);

  return fop->kind == GI_FOP_LOOKUP && b->entry_timeout > 0 && n->id &&
         gi_trust_name_moved(n->name, fop->loc.name, &fop->rsp.stat);
}

void
entry_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  const struct gi_loc *at = fop->kind == GI_FOP_LINK ? &fop->loc2 : &fop->loc;
  struct fuse_entry_param e;

  if (fop->rsp.ret < 0) {
    if (fop->kind == GI_FOP_LOOKUP && fop->rsp.err == ENOENT && b->negative_timeout > 0)
      reply_negative(b, fop);
    else
      reply_err(b, op->req, fop->rsp.err ? fop->rsp.err : EIO);
    op_end(b, fop);
    return;
  }

  struct gi_inode *inode = replied_inode(b, fop);

  if (!inode) {
    reply_err(b, op->req, EIO);
    op_end(b, fop);
    return;
  }
  if (moved_by_another(b, inode, fop)) {
    node_named(b, inode, at->parent, at->name);
    gi_inode_unref(&inode);
    reply_err(b, op->req, ESTALE); /* then it looks at both once more */
    op_end(b, fop);
    return;
  }
  node_attributes(b, inode, &fop->rsp.stat, op->seq);
  if (is_new(fop))
    node_of(b, inode)->no_capability = true;
  if (fop->kind == GI_FOP_LOOKUP)
    gi_trust_found(&node_of(b, inode)->trust, (uint32_t)fop->caller.pid, gi_now(b->x->reactor) + LOOKED_NS);
  node_entry(b, inode, &fop->rsp.stat, &e);
  node_entry_of_all(b, fop, &e);
  node_entry_in(b, at->parent, &e);
  GI_ASSERT(e.ino != 0 && e.attr_timeout >= 0);
  if (reply_result(b, fuse_reply_entry(op->req, &e)) == 0) {
    if (at->name)
      node_named(b, inode, at->parent, at->name);
    node_promised(b, inode, &e);
    node_count(b, inode);
  } else {
    node_uncount(b, inode);
  }
  gi_inode_unref(&inode);
  op_end(b, fop);
}

void
do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    lookup_dots(req, parent, name[1] == '.');
    return;
  }

  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_LOOKUP);

  if (fop)
    op_submit(bridge_of_req(req), fop, entry_done);
}

void
do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
  node_forget(bridge_of_req(req), ino, nlookup);
  fuse_reply_none(req);
}

void
do_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
  for (size_t i = 0; i < count; i++)
    node_forget(bridge_of_req(req), forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

/* With POSIX ACLs a default ACL of the parent decides instead of the umask, and only the brick sees it. */
static void
set_mode(struct bridge *b, struct gi_fop *fop, mode_t mode)
{
  uint32_t umask = fuse_req_ctx(op_of(b, fop)->req)->umask;

  fop->args.umask = umask;
  fop->args.mode = bridge_options(b)->acl ? mode : mode & ~umask;
}

void
do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_MKNOD);

  if (!fop)
    return;
  set_mode(b, fop, mode);
  fop->args.rdev = (uint64_t)major(rdev) << 32 | minor(rdev);
  op_new_gfid(b, fop);
  op_submit(b, fop, entry_done);
}

void
do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_MKDIR);

  if (!fop)
    return;
  set_mode(b, fop, mode);
  op_new_gfid(b, fop);
  op_submit(b, fop, entry_done);
}

void
do_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_SYMLINK);

  if (!fop)
    return;
  fop->args.link = gi_fop_strdup(fop, link, strlen(link));
  fop->args.umask = fuse_req_ctx(req)->umask;
  op_new_gfid(b, fop);
  op_submit(b, fop, entry_done);
}

/* If the file has other names, its ctime moved, and that was us. */
static void
unlink_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;

  if (fop->rsp.ret >= 0 && fop->loc.inode)
    node_changed(bridge_of(x), fop->loc.inode);
  done_status(fop, arg);
}

void
do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_UNLINK);

  if (!fop)
    return;
  node_find_named(bridge_of_req(req), &fop->loc); /* spares the layers below the question which file goes */
  if (fop->loc.inode)                             /* ESTALE if it is another one by now: the kernel looks once more */
    gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, &fop->loc.inode->gfid);
  op_submit(bridge_of_req(req), fop, unlink_done);
}

static void
rmdir_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;

  if (fop->rsp.ret >= 0 && fop->loc.inode)
    node_of(x->private, fop->loc.inode)->removed = true;
  done_status(fop, arg);
}

void
do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_RMDIR);

  if (!fop)
    return;
  node_find_named(bridge_of_req(req), &fop->loc); /* spares the layers below the question which directory goes */
  op_submit(bridge_of_req(req), fop, rmdir_done);
}

void
do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);
  struct gi_inode *dir = inode ? node_inode(b, req, newparent) : NULL;

  if (!dir || !name_fits(b, req, newname))
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_LINK);

  gi_loc_set_inode(&fop->loc, inode);
  gi_fop_set_entry(fop, &fop->loc2, dir, newname);
  op_changes(b, fop, inode);
  op_submit(b, fop, entry_done);
}

/* ---- create ---- */

static void
create_reply(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode)
{
  struct op *op = op_of(b, fop);
  struct fuse_file_info fi = {.flags = fop->fd->flags};
  struct fuse_entry_param e;

  GI_ASSERT(fop->kind == GI_FOP_CREATE && !handle_of(b, fop->fd)->id);
  gi_fd_bind(fop->fd, &inode->gfid);
  node_attributes(b, inode, &fop->rsp.stat, op->seq);
  if (is_new(fop))
    node_of(b, inode)->no_capability = node_of(b, inode)->fresh = true;
  node_entry(b, inode, &fop->rsp.stat, &e);
  node_entry_of_all(b, fop, &e);
  node_entry_in(b, fop->loc.parent, &e);
  handle_open(b, fop->fd);
  open_caching(b, inode, fop->fd->flags, &fi);
  fi.fh = handle_of(b, fop->fd)->id;
  if (reply_result(b, fuse_reply_create(op->req, &e, &fi)) == 0) {
    node_named(b, inode, fop->loc.parent, fop->loc.name);
    node_promised(b, inode, &e);
    node_count(b, inode);
  } else {
    handle_close(b, fop->fd);
    node_uncount(b, inode);
  }
}

static void
create_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_inode *inode = fop->rsp.ret < 0 ? NULL : replied_inode(b, fop);

  if (inode)
    create_reply(b, fop, inode);
  else
    reply_err(b, op_of(b, fop)->req, fop->rsp.ret < 0 && fop->rsp.err ? fop->rsp.err : EIO);
  gi_inode_unref(&inode);
  op_end(b, fop);
}

void
do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_fop *fop = entry_fop(req, parent, name, GI_FOP_CREATE);

  if (!fop)
    return;

  struct gi_fd *fd = gi_fd_new(b->x->graph, NULL, open_flags(b, fi->flags), fuse_req_ctx(req)->pid);

  gi_fop_set_fd(fop, fd);
  gi_fd_unref(&fd);
  fop->args.flags = (uint32_t)open_flags(b, fi->flags) | O_CREAT | ((uint32_t)fi->flags & O_EXCL);
  set_mode(b, fop, mode);
  op_new_gfid(b, fop);
  op_submit(b, fop, create_done);
}

/* ---- rename ---- */

/* What we have moved is no file that another mount has moved. */
static void
moved(struct bridge *b, const struct gi_fop *fop, const struct gi_gfid *gfid, const struct gi_loc *to)
{
  struct gi_inode *inode = gi_gfid_is_none(gfid) ? NULL : gi_inode_find(b->x->graph, gfid);

  if (!inode)
    return;
  node_moved(b, inode, fop, &fop->rsp.stat); /* its ctime did */
  node_named(b, inode, to->parent, to->name);
  gi_inode_unref(&inode);
}

static void
rename_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (fop->rsp.ret >= 0 && fop->loc2.inode) { /* if it has links left, their ctime and count moved */
    node_changed(b, fop->loc2.inode);
    node_of(b, fop->loc2.inode)->removed = S_ISDIR(fop->loc2.inode->mode);
    inval_inode(b, fop->loc2.inode, false);
  }
  if (fop->rsp.ret >= 0)
    moved(b, fop, &fop->rsp.stat.gfid, &fop->loc2);
  done_status(fop, arg);
}

/* Bricks of ours rename only if the new name is free, where they are all of one set (GI_NOREPLACE_KEY). What is atomic on others is LINK
 * for a file, which fails if the name exists, and MKDIR for a directory, whose empty result RENAME may replace. `main` is the RENAME, not
 * submitted for a file; each step is a helper of it. */
static void
noreplace_answer(struct bridge *b, struct gi_fop *step, int err)
{
  struct gi_fop *main = step->parent;

  GI_ASSERT(main && main->kind == GI_FOP_RENAME && op_of(b, main)->req);
  reply_err(b, op_of(b, main)->req, err);
  op_end(b, step);
  op_end(b, main);
}

static int
err_of(const struct gi_fop *fop)
{
  return fop->rsp.ret >= 0 ? 0 : fop->rsp.err ? fop->rsp.err : EIO;
}

/* The kernel has checked that the caller may rename. LINK asks more of one who does not own the file, so the steps run as root;
 * where the bricks do the checking (acl) their answer stands. */
static void
noreplace_as_root(const struct bridge *b, struct gi_fop *step)
{
  if (bridge_options(b)->acl)
    return;
  step->caller.uid = step->caller.gid = 0;
}

static void
noreplace_rolled_back(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct gi_fop *main = fop->parent;

  noreplace_answer(x->private, fop, err_of(main));
}

/* Removes a name of the file `gfid`, not of what somebody has put there since. */
static void
noreplace_unlink(struct bridge *b, struct gi_fop *main, const struct gi_loc *at, const struct gi_gfid *gfid,
                 void (*done)(struct gi_fop *fop, void *x))
{
  struct gi_fop *fop = gi_fop_helper(main, GI_FOP_UNLINK);

  noreplace_as_root(b, fop);
  gi_loc_copy(&fop->loc, at);
  gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, gfid);
  op_submit(b, fop, done);
}

static void
noreplace_unlinked(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent;
  struct gi_gfid gfid;
  int err = err_of(fop);

  if (err == ENOENT &&
      gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &gfid)) { /* somebody else took the old name away: theirs counts */
    main->rsp.ret = -1;
    main->rsp.err = ENOENT;
    noreplace_unlink(b, main, &main->loc2, &gfid, noreplace_rolled_back);
    op_end(b, fop);
    return;
  }
  if (err == ESTALE) /* somebody has put another object there since, which came after us */
    err = 0;
  if (!err && gi_dict_get_gfid(fop->xdata, GI_EXPECTED_KEY, &gfid))
    moved(b, fop, &gfid, &main->loc2);
  noreplace_answer(b, fop, err);
}

static void
noreplace_linked(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (fop->rsp.ret < 0) {
    noreplace_answer(b, fop, err_of(fop));
    return;
  }
  GI_ASSERT(fop->kind == GI_FOP_LINK && !fop->parent->answered); /* the rename itself is never sent */
  node_changed(b, fop->loc.inode);
  noreplace_unlink(b, fop->parent, &fop->parent->loc, &fop->loc.inode->gfid, noreplace_unlinked);
  op_end(b, fop);
}

static void
noreplace_renamed(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (fop->rsp.ret >= 0) {
    rename_done(fop, arg);
    return;
  }

  /* The directory made as a place holder goes; if somebody has put a file into it, it is theirs. */
  struct gi_fop *undo = gi_fop_helper(fop, GI_FOP_RMDIR);

  gi_loc_copy(&undo->loc, &fop->loc2);
  op_submit(b, undo, noreplace_rolled_back);
}

static void
noreplace_reserved(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent;

  if (fop->rsp.ret < 0) {
    noreplace_answer(b, fop, err_of(fop));
    return;
  }
  GI_ASSERT(fop->kind == GI_FOP_MKDIR && !main->answered);
  op_end(b, fop);
  op_submit(b, main, noreplace_renamed);
}

static void
noreplace_looked_up(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent;
  struct gi_inode *inode = fop->rsp.ret < 0 ? NULL : replied_inode(b, fop);
  bool directory = inode && S_ISDIR(fop->rsp.stat.mode);

  if (!inode) {
    noreplace_answer(b, fop, fop->rsp.ret < 0 ? err_of(fop) : EIO);
    return;
  }

  struct gi_fop *next = gi_fop_helper(main, directory ? GI_FOP_MKDIR : GI_FOP_LINK);

  if (directory) {
    gi_loc_copy(&next->loc, &main->loc2);
    next->args.mode = 0700;
    op_new_gfid(b, next);
  } else {
    noreplace_as_root(b, next);
    gi_loc_set_inode(&next->loc, inode);
    gi_loc_copy(&next->loc2, &main->loc2);
  }
  gi_inode_unref(&inode);
  op_end(b, fop);
  op_submit(b, next, directory ? noreplace_reserved : noreplace_linked);
}

static void
noreplace_tried(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent, *look;

  if (fop->rsp.ret < 0 && fop->rsp.err == EOPNOTSUPP) {
    op_end(b, fop);
    look = gi_fop_helper(main, GI_FOP_LOOKUP);
    gi_loc_copy(&look->loc, &main->loc);
    op_submit(b, look, noreplace_looked_up);
    return;
  }
  if (fop->rsp.ret >= 0)
    moved(b, fop, &fop->rsp.stat.gfid, &main->loc2);
  noreplace_answer(b, fop, err_of(fop));
}

static void
rename_noreplace(struct bridge *b, struct gi_fop *main)
{
  struct gi_fop *fop = gi_fop_child(main);

  gi_dict_set_uint(gi_fop_xdata(fop), GI_NOREPLACE_KEY, 1);
  op_submit(b, fop, noreplace_tried);
}

void
do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent, const char *newname, unsigned flags)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *from, *to;

  if (flags & ~(unsigned)RENAME_NOREPLACE) {
    reply_err(b, req, EINVAL);
    return;
  }
  from = node_inode(b, req, parent);
  to = from ? node_inode(b, req, newparent) : NULL;
  if (!to || !name_fits(b, req, name) || !name_fits(b, req, newname))
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_RENAME);

  gi_fop_set_entry(fop, &fop->loc, from, name);
  gi_fop_set_entry(fop, &fop->loc2, to, newname);
  node_find_named(b, &fop->loc);
  node_find_named(b, &fop->loc2); /* what is replaced, if anything is */
  if (flags & RENAME_NOREPLACE)
    rename_noreplace(b, fop);
  else
    op_submit(b, fop, rename_done);
}
