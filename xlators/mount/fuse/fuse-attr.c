/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes: stat, chmod and its relatives, truncate, readlink, access,
 * statfs.
 */
#include "fuse-internal.h"

#include <sys/statvfs.h>

#define LINK_TEXT_MAX 4096 /* PATH_MAX: with its NUL */

static void
reply_attr(struct bridge *b, fuse_req_t req, const struct gi_iatt *iatt, double timeout)
{
  struct stat st;

  GI_ASSERT(timeout >= 0);
  node_stat(b, iatt, &st);
  reply_result(b, fuse_reply_attr(req, &st, timeout));
}

/* What is left of a removed object. */
static void
reply_unlinked(struct bridge *b, fuse_req_t req, struct gi_inode *inode, double timeout)
{
  struct gi_iatt left = node_of(b, inode)->trust.attr;

  left.nlink = 0;
  reply_attr(b, req, &left, timeout);
}

/* ---- getattr ---- */

/* A stat of the kernel is a LOOKUP and, where that one's attributes are not to be kept, a GETATTR right after it. Its name may be renamed over
 * in between, again and again, while a stat on a local disk always finds one or the other. */
static bool
just_looked(struct bridge *b, struct gi_inode *inode, uint32_t pid)
{
  return gi_trust_just_found(&node_of(b, inode)->trust, pid, gi_now(b->x->reactor));
}

/* Attributes from a cache below are some age already: the kernel keeps them no longer than if it had got them then. One brick was asked. */
static double
attr_seconds(const struct bridge *b, const struct gi_fop *fop)
{
  return seconds_left(b, fop, b->one_attr_timeout);
}

static void
answer_getattr(struct bridge *b, void *arg)
{
  struct gi_fop *fop = arg;

  GI_ASSERT(fop->answered && fop->rsp.ret >= 0);
  reply_attr(b, op_of(b, fop)->req, &fop->rsp.stat, attr_seconds(b, fop));
  op_end(b, fop);
}

static void
getattr_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);

  if (is_removed(b, fop)) {
    reply_unlinked(b, op->req, fop->loc.inode, b->attr_timeout);
  } else if (fop->rsp.ret < 0 && op->looked && err_of_node(fop) == ESTALE) {
    /* it was there when the call looked for it, and has been replaced since */
    reply_unlinked(b, op->req, fop->loc.inode, 0);
  } else if (fop->rsp.ret < 0) {
    reply_err(b, op->req, err_of_node(fop));
  } else if (!gi_iatt_valid(&fop->rsp.stat)) {
    reply_err(b, op->req, EIO);
  } else if (node_must_drop(b, fop->loc.inode, &fop->rsp.stat, op->seq)) {
    inval_inode_then(b, fop->loc.inode, answer_getattr, fop); /* or the kernel has a new size and the end of an old page */
    return;
  } else {
    node_spare_capability(b, fop->loc.inode, &fop->rsp.stat);
    reply_attr(b, op->req, &fop->rsp.stat, attr_seconds(b, fop));
  }
  op_end(b, fop);
}

void
do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);
  const struct gi_iatt *remembered;
  struct gi_fop *fop;
  struct gi_fd *fd;
  double seconds;

  if (!inode)
    return;
  remembered = node_answer(b, inode, &seconds);
  if (remembered) {
    b->m.getattr_remembered++;
    node_seen(b, inode);
    node_spare_capability(b, inode, remembered);
    reply_attr(b, req, remembered, seconds);
    return;
  }
  fd = handle_find(b, fi);
  if (!fd || fd->inode != inode)
    fd = handle_any(b, inode, false);
  fop = op_new(b, req, fd ? GI_FOP_FSTAT : GI_FOP_STAT);
  if (fd)
    gi_fop_set_fd(fop, fd);
  else
    gi_loc_set_inode(&fop->loc, inode);
  op_of(b, fop)->looked = !fd && just_looked(b, inode, (uint32_t)fop->caller.pid);
  op_submit(b, fop, getattr_done);
}

/* ---- setattr ---- */

#define TO_SET_TIMES (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)
#define TO_SET_META (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | TO_SET_TIMES | FUSE_SET_ATTR_CTIME)

/* "Now" goes as the client's own time, together with the bit that says so (wire.md 3.8). */
static void
fill_times(struct bridge *b, struct gi_args *args, const struct stat *attr, int to_set)
{
  struct gi_time now = {0};

  if (to_set & (FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW))
    now = gi_wall(b->x->reactor);
  if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)) {
    args->valid |= GI_SET_ATIME | (to_set & FUSE_SET_ATTR_ATIME_NOW ? GI_SET_ATIME_NOW : 0);
    args->iatt.atime = to_set & FUSE_SET_ATTR_ATIME_NOW ? now : time_of(&attr->st_atim);
  }
  if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) {
    args->valid |= GI_SET_MTIME | (to_set & FUSE_SET_ATTR_MTIME_NOW ? GI_SET_MTIME_NOW : 0);
    args->iatt.mtime = to_set & FUSE_SET_ATTR_MTIME_NOW ? now : time_of(&attr->st_mtim);
  }
  if (to_set & FUSE_SET_ATTR_CTIME) {
    args->valid |= GI_SET_CTIME;
    args->iatt.ctime = time_of(&attr->st_ctim);
  }
}

static void
fill_setattr(struct bridge *b, struct gi_args *args, const struct stat *attr, int to_set)
{
  if (to_set & FUSE_SET_ATTR_MODE) {
    args->valid |= GI_SET_MODE;
    args->iatt.mode = attr->st_mode & 07777;
  }
  if (to_set & FUSE_SET_ATTR_UID) {
    args->valid |= GI_SET_UID;
    args->iatt.uid = attr->st_uid;
  }
  if (to_set & FUSE_SET_ATTR_GID) {
    args->valid |= GI_SET_GID;
    args->iatt.gid = attr->st_gid;
  }
  fill_times(b, args, attr, to_set);
}

/* The caller found the object by its name, and it was replaced before the change came; the kernel looked once more, and so it was again. It
 * does not look a third time. What nobody can reach any more might as well have been changed before it went. */
static bool
replaced_again(struct bridge *b, struct gi_fop *fop)
{
  const struct node *n = node_of(b, fop->loc.inode);
  uint64_t now = gi_now(b->x->reactor);
  bool again;

  if (fop->rsp.ret >= 0 || fop->kind != GI_FOP_SETATTR || err_of_node(fop) != ESTALE)
    return false;
  again = op_of(b, fop)->looked && b->stale_pid == (uint32_t)fop->caller.pid && now < b->stale_until;
  b->stale_pid = (uint32_t)fop->caller.pid;
  b->stale_until = now + GI_NSEC_PER_SEC;
  return again &&
         (fop->caller.uid == 0 || (fop->caller.uid == n->trust.attr.uid && !(fop->args.valid & (GI_SET_UID | GI_SET_GID))));
}

static void
setattr_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);

  if (op_still_privileged(b, fop, setattr_done))
    return;
  if (times_came_too_late(b, fop)) {
    reply_unlinked(b, op->req, fop->loc.inode, b->attr_timeout);
  } else if (replaced_again(b, fop)) {
    reply_unlinked(b, op->req, fop->loc.inode, 0);
  } else if (fop->rsp.ret < 0) {
    reply_err(b, op->req, err_of_node(fop));
  } else if (!gi_iatt_valid(&fop->rsp.post)) {
    reply_err(b, op->req, EIO);
  } else {
    node_attributes(b, fop->loc.inode, &fop->rsp.post, op->seq);
    double left = seconds_left(b, fop, b->attr_timeout);

    reply_attr(b, op->req, &fop->rsp.post, left);
    node_of(b, fop->loc.inode)->attr_until = gi_now(b->x->reactor) + ns_of(left);
  }
  op_end(b, fop);
}

static void
submit_truncate(struct bridge *b, struct gi_fop *fop)
{
  GI_ASSERT((fop->kind == GI_FOP_TRUNCATE || fop->kind == GI_FOP_FTRUNCATE) && op_of(b, fop)->changes == fop->loc.inode);
  if (op_of(b, fop)->kill)
    op_submit_unprivileged(b, fop, fop->loc.inode, setattr_done);
  else
    op_submit(b, fop, setattr_done);
}

/* Both metadata and size: the truncation was only prepared and goes now. */
static void
setattr_first_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *truncate = fop->parent;
  int err = fop->rsp.ret < 0 ? err_of_node(fop) : 0;

  GI_ASSERT(truncate && !truncate->answered);
  op_end(b, fop);
  if (!err) {
    submit_truncate(b, truncate);
    return;
  }
  reply_err(b, op_of(b, truncate)->req, err);
  op_end(b, truncate);
}

static void
set_target(struct gi_fop *fop, struct gi_inode *inode, struct gi_fd *fd)
{
  GI_ASSERT(!fd || fd->inode == inode);
  if (fd)
    gi_fop_set_fd(fop, fd);
  else
    gi_loc_set_inode(&fop->loc, inode);
}

static struct gi_fop *
truncate_fop(struct bridge *b, fuse_req_t req, struct gi_inode *inode, struct gi_fd *fd, uint64_t size)
{
  struct gi_fop *fop;
  uint64_t owner;

  if (!fd || (fd->flags & O_ACCMODE) == O_RDONLY)
    fd = handle_any(b, inode, true);
  fop = op_new(b, req, fd ? GI_FOP_FTRUNCATE : GI_FOP_TRUNCATE);
  set_target(fop, inode, fd);
  fop->args.offset = size;
  if (session_setattr_owner(b, &owner))
    op_set_owner(fop, owner);
  op_of(b, fop)->kill = session_setattr_kill(b);
  op_changes(b, fop, inode);
  return fop;
}

void
do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);
  struct gi_fop *truncate = NULL, *fop;
  struct gi_fd *fd;

  if (!inode)
    return;
  if (times_keep(b, inode, attr, to_set)) {
    reply_attr(b, req, &node_of(b, inode)->trust.attr, b->attr_timeout);
    return;
  }
  fd = handle_find(b, fi);
  if (!fd || fd->inode != inode)
    fd = handle_any(b, inode, false);
  times_order(b, inode, fd, to_set);
  if (to_set & FUSE_SET_ATTR_SIZE)
    truncate = truncate_fop(b, req, inode, fd, (uint64_t)attr->st_size);
  if (!(to_set & (TO_SET_META | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)) && truncate) {
    submit_truncate(b, truncate);
    return;
  }
  fop = truncate ? gi_fop_helper(truncate, fd ? GI_FOP_FSETATTR : GI_FOP_SETATTR)
                 : op_new(b, req, fd ? GI_FOP_FSETATTR : GI_FOP_SETATTR);
  set_target(fop, inode, fd);
  op_of(b, fop)->looked = !fd && !truncate && just_looked(b, inode, (uint32_t)fop->caller.pid);
  fill_setattr(b, &fop->args, attr, to_set);
  if (truncate || !held_join(b, fop))
    op_changes(b, fop, inode);
  if (truncate || !held_keep(b, fop))
    op_submit(b, fop, truncate ? setattr_first_done : setattr_done);
}

/* ---- the small ones ---- */

/* The kernel has no room for a longer one, and no link is empty. */
static bool
usable_link(const char *text)
{
  return text && text[0] && strlen(text) < LINK_TEXT_MAX;
}

static void
readlink_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);

  if (fop->rsp.ret < 0 || !usable_link(fop->rsp.link))
    reply_err(b, op->req, fop->rsp.ret < 0 ? err_of_node(fop) : EIO);
  else
    reply_result(b, fuse_reply_readlink(op->req, fop->rsp.link));
  op_end(b, fop);
}

void
do_readlink(fuse_req_t req, fuse_ino_t ino)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);

  if (!inode)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_READLINK);

  gi_loc_set_inode(&fop->loc, inode);
  fop->args.size = LINK_TEXT_MAX;
  op_submit(b, fop, readlink_done);
}

void
do_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino);

  if (!inode)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_ACCESS);

  gi_loc_set_inode(&fop->loc, inode);
  fop->args.mode = (uint32_t)mask;
  op_submit(b, fop, done_status_node);
}

static void
statfs_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct op *op = op_of(b, fop);
  const struct gi_statfs *s = &fop->rsp.statfs;
  struct statvfs v = {
      .f_bsize = s->bsize,
      .f_frsize = s->frsize,
      .f_blocks = s->blocks,
      .f_bfree = s->bfree,
      .f_bavail = s->bavail,
      .f_files = s->files,
      .f_ffree = s->ffree,
      .f_favail = s->favail,
      .f_namemax = s->namemax ? s->namemax : GI_NAME_MAX,
  };

  if (fop->rsp.ret < 0)
    reply_err(b, op->req, err_of_node(fop));
  else
    reply_result(b, fuse_reply_statfs(op->req, &v));
  op_end(b, fop);
}

void
do_statfs(fuse_req_t req, fuse_ino_t ino)
{
  struct bridge *b = bridge_of_req(req);
  struct gi_inode *inode = node_inode(b, req, ino ? ino : FUSE_ROOT_ID);

  if (!inode)
    return;

  struct gi_fop *fop = op_new(b, req, GI_FOP_STATFS);

  gi_loc_set_inode(&fop->loc, inode);
  op_submit(b, fop, statfs_done);
}
