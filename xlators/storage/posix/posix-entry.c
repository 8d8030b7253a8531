/* SPDX-License-Identifier: Apache-2.0
 *
 * LOOKUP: from a name in a directory, or from a gfid, to attributes and
 * whatever else the request asks for; with the repairs a brick owes its
 * clients (brick.md 2.7).
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

int
posix_prepare_lookup(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const struct gi_gfid *gfid = fop->loc.inode ? &fop->loc.inode->gfid : &fop->loc.gfid;

  op->now = gi_wall(op->x->reactor);
  if (!fop->loc.name || !fop->loc.name[0])
    return posix_prepare_object(op);

  int err = posix_prepare_entry(op);

  if (!err && !gi_gfid_is_none(gfid)) {
    posix_node_prepare(op, NODE_OBJ, gfid, fop->loc.inode);
    op->expect = *gfid;
  }
  return err;
}

/* The reactor knows the times of what it has met. */
static void
recall_times(struct posix_op *op, struct posix_node *n)
{
  struct gi_inode *inode = op->on_worker || gi_gfid_is_none(&n->gfid) ? NULL : gi_inode_find(op->fop->graph, &n->gfid);

  n->md_state = MD_UNKNOWN;
  if (inode) {
    const struct posix_inode *pi = posix_inode_of(op->p, inode);

    n->md_state = pi->md_state;
    n->times = pi->times;
  }
  gi_inode_unref(&inode);
}

/* What the cache said is about another object than the one the name leads to. */
void
posix_node_is(struct posix_op *op, int which, const struct gi_gfid *found)
{
  struct posix_node *n = &op->node[which];
  bool same = gi_gfid_equal(&n->gfid, found);

  n->gfid = *found;
  if (!same)
    recall_times(op, n); /* a pinned directory is not its own, but nobody looks at that by name */
}

/* An object without gfid: give it the requested one, unless a create is still at it (brick.md 2.7). */
static int
heal_gfid(struct posix_op *op, int dirfd, const char *name, const struct stat *st, struct gi_gfid *gfid)
{
  struct gi_fop *fop = op->fop;
  struct gi_time now = op->now;
  struct posix_at at = {dirfd, name};
  int err;

  if (!posix_gfid_requested(fop, gfid)) {
    *gfid = gi_gfid_none;
    return gi_dict_get(fop->xdata, "gfidless-lookup") ? 0 : ENODATA;
  }
  if (st->st_ctim.tv_sec + 1 > now.sec || (st->st_ctim.tv_sec + 1 == now.sec && st->st_ctim.tv_nsec > now.nsec)) {
    *gfid = gi_gfid_none;
    return ENOENT;
  }
  if (posix_at_set(op->p, at, KEY_GFID, gfid->b, 16, 1) < 0)
    return errno;
  err = S_ISDIR(st->st_mode) ? posix_handle_add_dir(op->p, &op->node[NODE_PARENT].gfid, name, gfid)
                             : posix_handle_add_file(op->p, dirfd, name, gfid, st);
  if (err) {
    posix_at_remove(op->p, at, KEY_GFID);
    return err;
  }
  if (!S_ISDIR(st->st_mode) && op->p->cfg.gfid2path)
    posix_gfid2path_add(op->p, at, &op->node[NODE_PARENT].gfid, name);
  return 0;
}

static enum posix_run
found(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  struct gi_fop *fop = op->fop;

  if (st->st_dev == op->p->gl_dev && st->st_ino == op->p->gl_ino)
    return posix_err(op, ENOENT); /* the housekeeping directory, reached by a trick */
  if (gi_dict_get(fop->xdata, KEY_CLEAN) && posix_at_remove(op->p, at, KEY_PROTECT) < 0 && errno != ENODATA)
    return posix_err(op, errno); /* or what is written now would be refused for what was written before */
  posix_node_known(op, NODE_OBJ, at);
  posix_known_stat(op, &op->node[NODE_OBJ].gfid, st, true);
  posix_iatt(st, &op->node[NODE_OBJ].gfid, &fop->rsp.stat);
  if (fop->xdata)
    posix_fill(op, fop->xdata, at, st, &op->node[NODE_OBJ].gfid, &fop->rsp.xdata);
  if (fop->xdata && !gi_gfid_is_none(&op->node[NODE_OBJ].gfid))
    posix_content_of_found(op, at, st);
  return op->too_long ? posix_err(op, E2BIG) : posix_ok(op, 0);
}

/* ".." of a directory, by handle: the entry on disk would lead out of the brick at its root. */
static int
dot_dot(struct posix_op *op, struct gi_gfid *gfid)
{
  char base[GI_NAME_MAX + 1];

  if (gi_gfid_is_root(&op->node[NODE_PARENT].gfid)) {
    *gfid = gi_gfid_root;
    return 0;
  }
  return posix_handle_link_text(op->p, &op->node[NODE_PARENT].gfid, gfid, base);
}

static enum posix_run
lookup_dots(struct posix_op *op, const char *name)
{
  struct gi_gfid gfid = op->node[NODE_PARENT].gfid;
  struct stat st;
  uint32_t depth;
  int err = name[1] ? dot_dot(op, &gfid) : 0;

  if (err)
    return posix_err(op, err == ENOENT ? ESTALE : err);
  posix_node_is(op, NODE_OBJ, &gfid);

  int fd = posix_walk_open(op, &gfid, &depth);

  if (fd < 0)
    return posix_err(op, -fd);
  op->fd = fd;
  op->fd_own = true;
  if (gi_fs_fstat(op->p->fs, fd, &st) < 0)
    return posix_err(op, errno);
  return found(op, (struct posix_at){fd, ""}, &st);
}

static bool
settled(const struct posix_op *op, const struct stat *st)
{
  return st->st_ctim.tv_sec + 1 < op->now.sec;
}

/* A brick that lost the handle of a file with its power was told that there is none, and made the file again: what has the handle, and
 * a name, is what everybody means by the gfid. The name that was left leads there from now on. */
static void
join_twin(struct posix_op *op, int dirfd, const char *name, struct stat *st, const struct gi_gfid *gfid)
{
  struct posix_at at = {dirfd, name};
  char path[POSIX_HPATH], text[GI_UUID_TEXT], aside[GI_UUID_TEXT + 8];
  struct stat twin;

  posix_hpath(path, gfid);
  snprintf(aside, sizeof(aside), "joins-%s", gi_gfid_text(gfid, text));
  if (gi_fs_stat(op->p->fs, op->p->gl_fd, path, &twin, AT_SYMLINK_NOFOLLOW) < 0 || twin.st_nlink < 2 ||
      (twin.st_mode ^ st->st_mode) & S_IFMT)
    return;
  if (gi_fs_link(op->p->fs, op->p->gl_fd, path, op->p->unlink_fd, aside) < 0)
    return;
  if (gi_fs_rename(op->p->fs, op->p->unlink_fd, aside, dirfd, name) < 0) {
    gi_fs_unlink(op->p->fs, op->p->unlink_fd, aside, 0);
    return;
  }
  GI_PROBE("posix: a name of a file that was made twice leads to the second one");
  if (op->p->cfg.gfid2path)
    posix_gfid2path_add(op->p, at, &op->node[NODE_PARENT].gfid, name);
  gi_fs_stat(op->p->fs, dirfd, name, st, AT_SYMLINK_NOFOLLOW);
}

/* The directory is open, as far as this thread may look. */
static bool
is_cached(const struct posix_op *op, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = op->on_worker ? NULL : gi_inode_find(op->fop->graph, gfid);
  bool cached = inode ? posix_inode_of(op->p, inode)->dir != NULL : op->node[NODE_OBJ].dir && gi_gfid_equal(&op->expect, gfid);

  gi_inode_unref(&inode);
  return cached;
}

/* A crash between the steps of a create or rename can leave an object without handle, or a directory with one that leads
 * nowhere. What is only a second old may be under way and is left alone. */
static void
heal_handle(struct posix_op *op, int dirfd, const char *name, struct stat *st, const struct gi_gfid *gfid)
{
  char base[GI_NAME_MAX + 1];
  struct gi_gfid parent;
  uint32_t depth;
  int fd, err;

  if (!S_ISDIR(st->st_mode)) {
    if (st->st_nlink > 1 || !settled(op, st))
      return;
    err = posix_handle_add_file(op->p, dirfd, name, gfid, st);
    if (!err)
      st->st_nlink++;
    else if (err == EEXIST && !gi_dict_get(op->fop->xdata, GI_TWIN_KEY))
      join_twin(op, dirfd, name, st, gfid);
    return;
  }
  if (is_cached(op, gfid))
    return; /* it was reached by its handle before, or has just been made */
  err = posix_handle_link_text(op->p, gfid, &parent, base);
  if ((!err && gi_gfid_equal(&parent, &op->node[NODE_PARENT].gfid) && strcmp(base, name) == 0) || !settled(op, st))
    return;
  fd = posix_walk_open(op, gfid, &depth);
  op->astray = false; /* it is an answer that there is no way */
  if (fd >= 0)
    gi_fs_close(op->p->fs, fd); /* self-heal has two names for a moment; the handle is right for one of them */
  else if (!op->far)
    posix_handle_add_dir(op->p, &op->node[NODE_PARENT].gfid, name, gfid);
}

/* A healer asks whether two objects of this brick have one gfid, and the name leads to the one that is not reached by it. */
static void
tell_twin(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st)
{
  struct gi_fop *fop = op->fop;

  if (!fop->xdata || !gi_dict_get(fop->xdata, GI_TWIN_KEY) || gi_gfid_is_none(gfid) || !posix_handle_elsewhere(op, gfid, st))
    return;
  GI_PROBE("posix: two objects with one gfid");
  gi_dict_set_int(gi_fop_rsp_xdata(fop), GI_TWIN_KEY, 1);
}

static enum posix_run
lookup_name(struct posix_op *op, int dirfd, const char *name)
{
  struct posix_at at = {dirfd, name};
  struct gi_gfid gfid;
  struct stat st;
  int err;

  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return lookup_dots(op, name);
  err = posix_entry_read(op, at, &st, &gfid);
  if (!err)
    heal_handle(op, dirfd, name, &st, &gfid);
  else if (err == ENODATA)
    err = heal_gfid(op, dirfd, name, &st, &gfid);
  if (err)
    return posix_err(op, err);
  posix_node_is(op, NODE_OBJ, &gfid);
  tell_twin(op, &gfid, &st);
  return found(op, at, &st);
}

/* A handle whose file lost its last name in a crash is only garbage. */
static bool
dangling(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  if (!at.path[0] || op->parked || S_ISDIR(st->st_mode) || st->st_nlink > 1)
    return false;
  gi_fs_unlink(op->p->fs, at.fd, at.path, 0);
  return true;
}

static enum posix_run
lookup_gfid(struct posix_op *op)
{
  struct posix_at at;
  struct stat st;
  int64_t parked_too = 0;
  int err = posix_obj_at(op, &at, &st);

  if (err == ESTALE)
    err = ENOENT;
  if (err)
    return posix_err(op, err);
  if (op->parked && (!gi_dict_get_int(op->fop->xdata, "unlinked-lookup", &parked_too) || !parked_too))
    return posix_err(op, ENOENT);
  if (dangling(op, at, &st))
    return posix_err(op, ENOENT);
  return found(op, at, &st);
}

enum posix_run
posix_run_lookup(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const char *name = fop->loc.name;
  struct stat parent;
  int err, dirfd;

  if (!name || !name[0])
    return lookup_gfid(op);
  err = posix_entry_name(op, &op->node[NODE_PARENT].gfid, name, true);
  if (err)
    return posix_err(op, err);
  dirfd = posix_node_dir(op, NODE_PARENT);
  if (dirfd < 0)
    return posix_err(op, -dirfd);
  lookup_name(op, dirfd, name);
  err = posix_node_attributes(op, NODE_PARENT, (struct posix_at){dirfd, ""}, &parent);
  if (err || parent.st_nlink == 0)
    return posix_err(op, ESTALE);
  posix_node_known(op, NODE_PARENT, (struct posix_at){dirfd, ""});
  posix_iatt(&parent, &op->node[NODE_PARENT].gfid, &fop->rsp.post);
  return RUN_DONE;
}

void
posix_finish_lookup(struct posix_op *op)
{
  struct gi_inode *inode;

  if (op->fop->rsp.ret < 0 || gi_gfid_is_none(&op->node[NODE_OBJ].gfid))
    return;
  inode = gi_inode_get(op->fop->graph, &op->node[NODE_OBJ].gfid);
  posix_fill_counts(op, inode);
  posix_finish_found(op);
  gi_inode_unref(&inode);
}
