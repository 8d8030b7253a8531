/* SPDX-License-Identifier: Apache-2.0
 *
 * What takes names away or moves them: UNLINK, RMDIR, RENAME; and LINK.
 *
 * A file that loses its last name while it is open keeps its data: the handle
 * moves to unlink/ and goes with the last descriptor (brick.md 2.6). Whether
 * it is open is the reactor's knowledge; a worker that cannot tell parks the
 * handle, and `finish` puts that right.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

/* one name as found on disk */
struct entry {
  int dirfd;
  const char *name;
  struct stat st;
  struct gi_gfid gfid; /* none: the object has no gfid */
  bool there;
};

int
posix_parent_begin(struct posix_op *op, int which, const char *name, struct gi_iatt *pre)
{
  struct stat st;
  int dirfd, err = posix_entry_name(op, &op->node[which].gfid, name, false);

  if (err)
    return -err;
  dirfd = posix_node_dir(op, which);
  if (dirfd < 0)
    return dirfd;
  if (posix_node_attributes(op, which, (struct posix_at){dirfd, ""}, &st) || st.st_nlink == 0)
    return -ESTALE;
  posix_node_known(op, which, (struct posix_at){dirfd, ""});
  posix_iatt(&st, &op->node[which].gfid, pre);
  return dirfd;
}

static int
read_entry(struct posix_op *op, int dirfd, const char *name, struct entry *e)
{
  struct posix_at at = {dirfd, name};
  int err;

  *e = (struct entry){.dirfd = dirfd, .name = name};
  err = posix_entry_read(op, at, &e->st, &e->gfid);
  e->there = !err || err == ENODATA;
  return err == ENODATA ? 0 : err;
}

/* The name that is to go. */
static int
read_first(struct posix_op *op, int dirfd, const char *name, struct entry *e)
{
  return posix_parent_gone(op, dirfd, read_entry(op, dirfd, name, e));
}

/* A healer changes a name for what it saw there, under a lock that this brick forgets when the connection breaks: by now the name may lead
 * to another object. */
static bool
is_expected(const struct posix_op *op, const struct entry *e)
{
  struct gi_gfid gfid;

  if (!gi_dict_get_gfid(op->fop->xdata, GI_EXPECTED_KEY, &gfid) || gi_gfid_equal(&gfid, &e->gfid))
    return true;
  GI_PROBE("posix: a name leads to another object than a healer means");
  return false;
}

static bool
is_open(struct posix_op *op, const struct gi_gfid *gfid, bool known_open)
{
  struct gi_inode *inode;
  bool open;

  if (op->on_worker) /* only what prepare saw; unknown counts as open */
    return known_open || gi_gfid_is_none(&op->expect) || !gi_gfid_equal(&op->expect, gfid);
  inode = gi_inode_find(op->fop->graph, gfid);
  open = inode && posix_inode_has_fd(op->p, inode);
  gi_inode_unref(&inode);
  return open;
}

static bool
last_name(const struct entry *e)
{
  return e->st.st_nlink <= (gi_gfid_is_none(&e->gfid) ? 1u : 2u);
}

static bool
big(const struct posix_op *op, const struct entry *e)
{
  return !op->on_worker && op->p->cfg.engine != ENGINE_INLINE && (uint64_t)e->st.st_blocks * 512 > POSIX_BIG_FILE;
}

/* A file without a second link has no handle: it was lost with the power, and what now has that handle is another file. */
static bool
has_handle(const struct entry *e)
{
  return !gi_gfid_is_none(&e->gfid) && e->st.st_nlink > 1;
}

/* The handle of a file that is about to lose its last name: parked or removed. If that fails the name has to stay: nothing would
 * ever find the handle again. */
static int
retire_handle(struct posix_op *op, const struct entry *e, bool park, bool *parked)
{
  if (!has_handle(e))
    return 0;
  *parked = park && posix_handle_park(op->p, &e->gfid) == 0;
  return *parked ? 0 : posix_handle_remove(op->p, &e->gfid);
}

/* How many links the file of `e` has as it is found at dirfd/name; 0: it is not there. */
static nlink_t
links_at(const struct posix_op *op, int dirfd, const char *name, const struct entry *e)
{
  struct stat st;

  if (gi_fs_stat(op->p->fs, dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != e->st.st_dev ||
      st.st_ino != e->st.st_ino)
    return 0;
  return st.st_nlink;
}

static bool
nameless(const struct posix_op *op, const struct entry *e)
{
  char path[POSIX_HPATH];

  return has_handle(e) && links_at(op, op->p->gl_fd, posix_hpath(path, &e->gfid), e) == 1;
}

/* The name has stayed after all, unless somebody else took it away meanwhile. */
static void
take_back_handle(struct posix_op *op, const struct entry *e, bool parked)
{
  if (!has_handle(e))
    return;
  if (!parked || posix_handle_unretire(op->p, &e->gfid)) {
    posix_handle_add_file(op->p, e->dirfd, e->name, &e->gfid, &e->st);
    if (parked)
      posix_unpark(op->p, &e->gfid);
  }
  if (posix_in_company(op) && nameless(op, e))
    posix_handle_remove(op->p, &e->gfid);
}

/* True: the name is the file's last one, and the handle was retired. A LINK begins at the handle: what came before that is seen now, and
 * nothing comes after. */
static int
retire_last(struct posix_op *op, const struct entry *e, bool park, bool *gone, bool *parked)
{
  int err;

  *gone = false;
  if (!last_name(e))
    return 0;
  err = retire_handle(op, e, park, parked);
  *gone = !err;
  if (*gone && posix_in_company(op) && links_at(op, e->dirfd, e->name, e) > (*parked ? 2u : 1u)) {
    take_back_handle(op, e, *parked);
    *gone = *parked = false;
  }
  return err;
}

/* Of two who take away a file's last two names at once each sees the other's name: whoever is later looks again. The handle is parked
 * before it is judged, since a LINK begins there. */
static void
retire_nameless(struct posix_op *op, const struct entry *e, bool *gone, bool *parked)
{
  char text[GI_UUID_TEXT];

  if (*gone || !posix_in_company(op) || !nameless(op, e) || posix_handle_park(op->p, &e->gfid))
    return;
  if (links_at(op, op->p->unlink_fd, gi_gfid_text(&e->gfid, text), e) > 1) {
    posix_handle_unretire(op->p, &e->gfid);
    return;
  }
  GI_PROBE("posix: the last two names of a file went at once");
  *gone = *parked = true; /* `finish` deletes it if nobody has it open */
}

static uint32_t
visible_links(const struct entry *e)
{
  return e->st.st_nlink > 0 && !S_ISDIR(e->st.st_mode) ? (uint32_t)e->st.st_nlink - 1 : (uint32_t)e->st.st_nlink;
}

/* The numbers clients ask for about an object that goes away (brick.md 2.5). */
static void
removed_reply(struct posix_op *op, const struct entry *e)
{
  const struct gi_dict *req = op->fop->xdata;
  struct gi_dict *out = gi_fop_rsp_xdata(op->fop);

  if (gi_dict_get(req, "get-link-count"))
    gi_dict_set_uint(out, "get-link-count", visible_links(e));
  if (gi_dict_get(req, "gf_request_link_count"))
    gi_dict_set_uint(out, "gf_response_link_count", visible_links(e));
  if (gi_dict_get(req, "gf_get_file_block_count"))
    gi_dict_set_uint(out, "gf_get_file_block_count", (uint64_t)e->st.st_blocks);
}

/* ---- UNLINK ---- */

int
posix_prepare_unlink(struct posix_op *op)
{
  int err = posix_prepare_entry(op);

  if (!err && !gi_gfid_is_none(&op->expect)) {
    struct gi_inode *inode = gi_inode_find(op->fop->graph, &op->expect);

    posix_node_prepare(op, NODE_OBJ, &op->expect, inode);
    op->obj_open = inode && posix_inode_has_fd(op->p, inode);
    gi_inode_unref(&inode);
  }
  if (!err)
    posix_left_begin(op);
  return err;
}

static bool
leads_elsewhere(struct posix_op *op, const struct entry *e)
{
  char value[256];

  return S_ISREG(e->st.st_mode) &&
         posix_at_get(op->p, (struct posix_at){e->dirfd, e->name}, KEY_LINKTO, value, sizeof(value)) > 0;
}

static bool
is_linkto(struct posix_op *op, const struct entry *e)
{
  return gi_has_linkto_mode(e->st.st_mode) && leads_elsewhere(op, e);
}

/* It may have arrived where it goes: who does not know would remove the name here alone. */
static bool
is_moving(struct posix_op *op, const struct entry *e)
{
  mode_t marks = S_ISVTX | S_ISGID;

  return (e->st.st_mode & marks) == marks && leads_elsewhere(op, e) && !gi_dict_get(op->fop->xdata, GI_MOVING_KEY);
}

/* Who means the file that the linkto file leads to: it has moved, and its name is removed where it is. Healers mean what is here. */
static bool
means_file(struct posix_op *op, const struct entry *e)
{
  return op->fop->caller.pid >= 0 && gi_dict_get(op->fop->xdata, GI_EXPECTED_KEY) && (is_linkto(op, e) || is_moving(op, e));
}

static int
unlink_guards(struct posix_op *op, const struct entry *e, bool open)
{
  int64_t v;

  if (gi_dict_get_int(op->fop->xdata, "dont-unlink-for-open-fd", &v) && v && open)
    return EBUSY;
  if (gi_dict_get_int(op->fop->xdata, "unlink-only-if-dht-linkto-file", &v) && v && !is_linkto(op, e))
    return EBUSY;
  return 0;
}

static void
unlink_reply(struct posix_op *op, const struct entry *e)
{
  struct gi_dict *out = gi_fop_rsp_xdata(op->fop);
  struct gi_iatt after;

  if (!gi_dict_get(op->fop->xdata, "get-link-count"))
    gi_dict_set_uint(out, "get-link-count", 0);
  removed_reply(op, e);
  if (S_ISREG(e->st.st_mode) && gi_dict_get(op->fop->xdata, "dht-get-iatt-in-xattr")) {
    posix_iatt(&e->st, &e->gfid, &after);
    if (after.nlink)
      after.nlink--;
    posix_md_overlay(&op->node[NODE_OBJ], &after);
    gi_dict_set_iatt(out, "dht-get-iatt-in-xattr", &after);
  }
}

static int
remove_name(struct posix_op *op, const struct entry *e, bool open)
{
  const struct gi_gfid *parent = &op->node[NODE_PARENT].gfid;
  struct posix_at at = {e->dirfd, e->name};
  int err = retire_last(op, e, open, &op->gone, &op->parked);

  if (err)
    return err;
  if (!op->gone) {
    if (op->p->cfg.pgfid)
      posix_pgfid_change(op->p, at, parent, -1);
    if (op->p->cfg.gfid2path)
      posix_gfid2path_remove(op->p, at, parent, e->name);
  }
  if (gi_fs_unlink(op->p->fs, e->dirfd, e->name, 0) == 0) {
    retire_nameless(op, e, &op->gone, &op->parked);
    return 0;
  }
  err = errno;
  if (op->gone)
    take_back_handle(op, e, op->parked);
  op->gone = op->parked = false;
  return err;
}

enum posix_run
posix_run_unlink(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct entry e;
  int err, dirfd = posix_parent_begin(op, NODE_PARENT, fop->loc.name, &fop->rsp.pre);
  bool open;

  if (dirfd < 0)
    return posix_err(op, -dirfd);
  err = read_first(op, dirfd, fop->loc.name, &e);
  if (!err && (!is_expected(op, &e) || means_file(op, &e)))
    err = ESTALE;
  if (!err && S_ISDIR(e.st.st_mode))
    err = EISDIR;
  if (err)
    return posix_err(op, err);
  open = is_open(op, &e.gfid, op->obj_open);
  if (!open && last_name(&e) && big(op, &e))
    return RUN_MOVE;
  posix_node_is(op, NODE_OBJ, &e.gfid);
  err = unlink_guards(op, &e, open);
  if (!err && !gi_gfid_is_none(&e.gfid))
    posix_node_known(op, NODE_OBJ, (struct posix_at){dirfd, e.name});
  if (!err)
    err = remove_name(op, &e, open);
  if (err)
    return posix_err(op, err);
  fop->rsp.lost = e.gfid;
  unlink_reply(op, &e);
  err = posix_node_stat(op, NODE_PARENT, (struct posix_at){dirfd, ""}, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

void
posix_stamp_unlink(struct posix_op *op)
{
  unsigned stamps = op->fop->caller.stamps;

  if (!op->gone)
    posix_md_stamp(op, NODE_OBJ, stamps & GI_STAMP_CTIME);
  posix_md_stamp(op, NODE_PARENT, stamps / GI_STAMP_PARENT_CTIME & 7);
}

/* ---- RMDIR ---- */

static int
to_landfill(struct posix_op *op, const struct entry *e)
{
  char text[GI_UUID_TEXT];

  return gi_fs_rename(op->p->fs, e->dirfd, e->name, op->p->landfill_fd, gi_gfid_text(&e->gfid, text)) < 0 ? errno : 0;
}

enum posix_run
posix_run_rmdir(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct entry e;
  int err, dirfd = posix_parent_begin(op, NODE_PARENT, fop->loc.name, &fop->rsp.pre);

  if (dirfd < 0)
    return posix_err(op, -dirfd);
  err = read_first(op, dirfd, fop->loc.name, &e);
  if (!err && !is_expected(op, &e))
    err = ESTALE;
  if (!err && !S_ISDIR(e.st.st_mode))
    err = ENOTDIR;
  if (err)
    return posix_err(op, err);
  if (fop->args.flags && !gi_gfid_is_none(&e.gfid))
    err = to_landfill(op, &e);
  else
    err = gi_fs_unlink(op->p->fs, dirfd, e.name, AT_REMOVEDIR) < 0 ? errno : 0;
  if (err)
    return posix_err(op, err == EEXIST ? ENOTEMPTY : err);
  if (!gi_gfid_is_none(&e.gfid))
    posix_handle_remove_dir(op->p, &op->node[NODE_PARENT].gfid, e.name, &e.gfid);
  posix_node_is(op, NODE_OBJ, &e.gfid);
  op->dir_gone = op->gone = true;
  fop->rsp.lost = e.gfid;
  err = posix_node_stat(op, NODE_PARENT, (struct posix_at){dirfd, ""}, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

/* ---- RENAME ---- */

int
posix_prepare_rename(struct posix_op *op)
{
  int err = posix_prepare_two_entries(op);

  if (!err && !gi_gfid_is_none(&op->expect))
    posix_node_prepare(op, NODE_OBJ, &op->expect, op->fop->loc.inode);
  if (!err)
    posix_left_begin(op);
  return err;
}

static bool
may_replace(const struct posix_op *op)
{
  return !gi_dict_get(op->fop->xdata, GI_NOREPLACE_KEY) || GI_BROKEN("replace what a rename is to keep");
}

static int
rename_allowed(struct posix_op *op, const struct entry *from, const struct entry *to)
{
  const struct gi_loc *loc = &op->fop->loc2;
  const struct gi_gfid *expected = loc->inode ? &loc->inode->gfid : &loc->gfid;

  if (gi_gfid_is_none(&from->gfid))
    return ENODATA;
  if (!to->there)
    return 0;
  if (!may_replace(op))
    return EEXIST;
  if (S_ISDIR(to->st.st_mode) != S_ISDIR(from->st.st_mode))
    return S_ISDIR(to->st.st_mode) ? EISDIR : ENOTDIR;
  if (S_ISDIR(to->st.st_mode) && !gi_gfid_is_none(expected) && !gi_gfid_equal(expected, &to->gfid))
    return EEXIST;
  if (to->st.st_dev == op->p->gl_dev && to->st.st_ino == op->p->gl_ino)
    return EPERM;
  return 0;
}

/* A brick that lost the handle of a directory with its power, but not the directory, was asked for it by gfid and made it again: the
 * handle is that of the second one. */
static bool
handle_is_anothers(struct posix_op *op, const struct entry *from)
{
  char base[GI_NAME_MAX + 1];
  struct gi_gfid parent;

  if (posix_handle_link_text(op->p, &from->gfid, &parent, base) == 0 && gi_gfid_equal(&parent, &op->node[NODE_PARENT].gfid) &&
      strcmp(base, from->name) == 0)
    return false;
  return posix_handle_elsewhere(op, &from->gfid, &from->st);
}

/* The handle could not follow the name, so the name goes back; but what it has replaced would not come back with it. */
static void
take_back_name(struct posix_op *op, const struct entry *from, const struct entry *to, int why)
{
  bool back = !to->there && gi_fs_move(op->p->fs, to->dirfd, to->name, from->dirfd, from->name, false) == 0;

  GI_PROBE("posix: the handle of a directory did not follow its name");
  if (!back)
    gi_log(GI_LOG_ERROR, op->p->name, GI_MSG_POSIX + 12, "the handle of renamed directory %s could not be made: %s", to->name,
           strerror(why));
}

static int
move_dir(struct posix_op *op, const struct entry *from, const struct entry *to, bool with_handle)
{
  const struct gi_gfid *parent = &op->node[NODE_PARENT2].gfid;
  int err = with_handle ? posix_handle_prepare_dir(op->p, parent, to->name, &from->gfid) : 0;

  if (err)
    return err;
  if (gi_fs_move(op->p->fs, from->dirfd, from->name, to->dirfd, to->name, may_replace(op)) < 0) {
    err = errno;
    if (with_handle)
      posix_handle_forget_dir(op->p, &from->gfid);
    return err;
  }
  op->moved = true;
  if (to->there && !gi_gfid_is_none(&to->gfid)) {
    posix_handle_remove_dir(op->p, parent, to->name, &to->gfid);
    op->victim_gone = true;
  }
  err = with_handle ? posix_handle_move_prepared(op->p, parent, to->name, &from->gfid) : 0;
  if (err)
    take_back_name(op, from, to, err);
  return err;
}

static int
rename_dir(struct posix_op *op, const struct entry *from, const struct entry *to)
{
  bool same_parent = gi_gfid_equal(&op->node[NODE_PARENT].gfid, &op->node[NODE_PARENT2].gfid);
  bool leave_handle = handle_is_anothers(op, from);
  int err = same_parent || op->fop->caller.pid < 0 ? 0 : posix_node_room(op, NODE_PARENT2);

  if (err || op->far)
    return err ? err : EAGAIN;
  if (leave_handle)
    GI_PROBE("posix: a directory moves whose handle leads to another one");
  err = move_dir(op, from, to, !leave_handle);
  op->deeper = op->moved && !same_parent &&
               (!op->node[NODE_PARENT].depth || op->node[NODE_PARENT].depth != op->node[NODE_PARENT2].depth);
  return err;
}

/* What is to be replaced. Its handle is parked, open or not: a crash before the rename then leaves a file that the next start can
 * give its handle back, one after it a file in unlink/, and neither a handle that nobody finds. */
static int
rename_onto(struct posix_op *op, const struct entry *to)
{
  if (!to->there || gi_gfid_is_none(&to->gfid))
    return 0;
  return retire_last(op, to, true, &op->victim_gone, &op->victim_parked);
}

/* A replaced file that has other names. It can only be reached by its handle now. */
static void
rename_over(struct posix_op *op, const struct entry *to)
{
  char path[POSIX_HPATH];
  struct posix_at at = {op->p->gl_fd, path};

  if (gi_gfid_is_none(&to->gfid) || op->victim_gone)
    return;
  posix_hpath(path, &to->gfid);
  posix_node_known(op, NODE_VICTIM, at);
  if (op->p->cfg.pgfid)
    posix_pgfid_change(op->p, at, &op->node[NODE_PARENT2].gfid, -1);
  if (op->p->cfg.gfid2path)
    posix_gfid2path_remove(op->p, at, &op->node[NODE_PARENT2].gfid, to->name);
  retire_nameless(op, to, &op->victim_gone, &op->victim_parked);
}

static int
rename_file(struct posix_op *op, const struct entry *from, const struct entry *to)
{
  const struct gi_gfid *parent = &op->node[NODE_PARENT].gfid, *parent2 = &op->node[NODE_PARENT2].gfid;
  struct posix_at old = {from->dirfd, from->name}, new = {to->dirfd, to->name};
  int err = rename_onto(op, to);

  if (err)
    return err;
  if (op->p->cfg.pgfid)
    posix_pgfid_change(op->p, old, parent, -1);
  if (gi_fs_move(op->p->fs, from->dirfd, from->name, to->dirfd, to->name, may_replace(op)) < 0) {
    err = errno;
    if (op->victim_gone)
      take_back_handle(op, to, op->victim_parked);
    op->victim_gone = op->victim_parked = false;
    if (op->p->cfg.pgfid)
      posix_pgfid_change(op->p, old, parent, 1);
    return err;
  }
  if (op->p->cfg.pgfid)
    posix_pgfid_change(op->p, new, parent2, 1);
  if (op->p->cfg.gfid2path) {
    posix_gfid2path_remove(op->p, new, parent, from->name);
    err = posix_gfid2path_add(op->p, new, parent2, to->name);
    if (err)
      gi_log(GI_LOG_WARNING, op->p->name, GI_MSG_POSIX + 13, "cannot record the path of %s: %s", to->name, strerror(err));
  }
  if (to->there)
    rename_over(op, to);
  return 0;
}

void
posix_stamp_rename(struct posix_op *op)
{
  unsigned stamps = op->fop->caller.stamps;

  posix_md_stamp(op, NODE_OBJ, stamps & GI_STAMP_CTIME);
  if (!op->victim_gone)
    posix_md_stamp(op, NODE_VICTIM, stamps & GI_STAMP_CTIME);
  posix_md_stamp(op, NODE_PARENT, stamps / GI_STAMP_PARENT_CTIME & 7);
  posix_md_stamp(op, NODE_PARENT2, stamps / GI_STAMP_PARENT_CTIME & 7);
}

static enum posix_run
rename_reply(struct posix_op *op, const struct entry *to)
{
  struct gi_fop *fop = op->fop;
  int err;

  gi_fop_rsp_xdata(fop);
  if (op->victim_gone || (to->there && !S_ISDIR(to->st.st_mode)))
    removed_reply(op, to);
  err = posix_node_stat(op, NODE_OBJ, (struct posix_at){to->dirfd, to->name}, &fop->rsp.stat);
  if (!err)
    err = posix_node_stat(op, NODE_PARENT, (struct posix_at){posix_node_dir(op, NODE_PARENT), ""}, &fop->rsp.post);
  if (!err && posix_node_dir(op, NODE_PARENT) == to->dirfd)
    fop->rsp.post2 = fop->rsp.post;
  else if (!err)
    err = posix_node_stat(op, NODE_PARENT2, (struct posix_at){to->dirfd, ""}, &fop->rsp.post2);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

enum posix_run
posix_run_rename(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  int dirfd = posix_parent_begin(op, NODE_PARENT, fop->loc.name, &fop->rsp.pre);
  int dirfd2 = dirfd < 0 ? dirfd : posix_parent_begin(op, NODE_PARENT2, fop->loc2.name, &fop->rsp.pre2);
  struct entry from, to;
  int err;

  if (dirfd2 < 0)
    return posix_err(op, -dirfd2);
  if (posix_waits_for_disk(op))
    return RUN_MOVE;
  err = read_first(op, dirfd, fop->loc.name, &from);
  if (!err && !is_expected(op, &from))
    err = ESTALE;
  if (!err) {
    err = read_entry(op, dirfd2, fop->loc2.name, &to);
    err = err == ENOENT ? 0 : err;
  }
  if (!err)
    err = rename_allowed(op, &from, &to);
  if (err)
    return posix_err(op, err);
  if (to.there && last_name(&to) && big(op, &to))
    return RUN_MOVE;
  posix_node_is(op, NODE_OBJ, &from.gfid);
  if (to.there && from.st.st_dev == to.st.st_dev && from.st.st_ino == to.st.st_ino) {
    to.there = false; /* two names of one file: POSIX leaves both */
    gi_dict_set_int(gi_fop_rsp_xdata(fop), GI_SAME_FILE_KEY, 1);
    return rename_reply(op, &to);
  }
  if (to.there)
    posix_node_is(op, NODE_VICTIM, &to.gfid);
  err = S_ISDIR(from.st.st_mode) ? rename_dir(op, &from, &to) : rename_file(op, &from, &to);
  if (!err && posix_is_durable(op) && gi_fs_fsync(op->p->fs, dirfd2, false) < 0)
    err = errno;
  if (err)
    return posix_err(op, err == ENOENT ? ESTALE : err);
  if (to.there)
    fop->rsp.lost = to.gfid;
  return rename_reply(op, &to);
}

/* ---- after any of them ---- */

static void
object_gone(struct posix_op *op, const struct gi_gfid *gfid, bool parked)
{
  struct gi_inode *inode = gi_inode_find(op->fop->graph, gfid);
  struct posix_inode *pi = inode ? posix_inode_of(op->p, inode) : NULL;
  bool open = inode && posix_inode_has_fd(op->p, inode);

  GI_ASSERT(!gi_gfid_is_none(gfid));
  if (parked && !open)
    posix_unpark(op->p, gfid);
  if (pi) {
    pi->unlinked |= parked && open; /* two may have taken the last names at once, and one parked it */
    posix_known_gone(op->p, pi);
    posix_dir_drop(op->p, pi);
    if (!open) {
      posix_md_forget(op->p, pi);
      posix_lost_let_go(pi);
    }
  }
  gi_inode_unref(&inode);
}

void
posix_finish_removed(struct posix_op *op)
{
  GI_ASSERT(!op->parked || op->gone || op->fop->kind != GI_FOP_UNLINK);
  posix_left_end(op);
  op->p->moves += op->deeper;
  op->p->renames += op->moved;
  if (op->gone && !gi_gfid_is_none(&op->node[NODE_OBJ].gfid))
    object_gone(op, &op->node[NODE_OBJ].gfid, op->parked);
  if (op->victim_gone)
    object_gone(op, &op->node[NODE_VICTIM].gfid, op->victim_parked);
}

/* ---- LINK ---- */

int
posix_prepare_link(struct posix_op *op)
{
  const struct gi_loc *to = &op->fop->loc2;
  const struct gi_gfid *parent = to->parent ? &to->parent->gfid : &to->pargfid;
  int err = posix_prepare_object(op);

  if (err)
    return err;
  if (gi_gfid_is_none(parent) || !to->name)
    return EINVAL;
  posix_node_prepare(op, NODE_PARENT, parent, to->parent);
  return 0;
}

static int
make_link(struct posix_op *op, struct posix_at from, int dirfd, const char *name)
{
  struct stat st;

  if (gi_fs_link(op->p->fs, from.fd, from.path, dirfd, name) == 0)
    return 0;
  if (errno != EEXIST || !gi_dict_get(op->fop->xdata, "force-replace"))
    return errno;
  if (gi_fs_stat(op->p->fs, dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !gi_has_linkto_mode(st.st_mode))
    return EEXIST;
  if (gi_fs_unlink(op->p->fs, dirfd, name, 0) < 0)
    return errno;
  return gi_fs_link(op->p->fs, from.fd, from.path, dirfd, name) < 0 ? errno : 0;
}

enum posix_run
posix_run_link(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const char *name = fop->loc2.name;
  int err, dirfd = posix_parent_begin(op, NODE_PARENT, name, &fop->rsp.pre);
  struct posix_at from, at = {dirfd, name};
  struct stat st;

  if (dirfd < 0)
    return posix_err(op, -dirfd);
  err = posix_obj_at(op, &from, &st);
  if (err || op->parked)
    return posix_err(op, !err || err == ENOENT ? ESTALE : err);
  if (S_ISDIR(st.st_mode))
    return posix_err(op, EPERM);
  if (op->p->cfg.max_hardlinks && st.st_nlink > (nlink_t)op->p->cfg.max_hardlinks)
    return posix_err(op, EMLINK);
  err = posix_check_layout(op, dirfd);
  if (!err)
    err = make_link(op, from, dirfd, name);
  if (err)
    return posix_err(op, err);
  if (op->p->cfg.pgfid)
    err = posix_pgfid_change(op->p, at, &op->node[NODE_PARENT].gfid, 1);
  if (!err && op->p->cfg.gfid2path)
    err = posix_gfid2path_add(op->p, at, &op->node[NODE_PARENT].gfid, name);
  if (err) {
    gi_fs_unlink(op->p->fs, dirfd, name, 0);
    return posix_err(op, err);
  }
  err = posix_node_stat(op, NODE_OBJ, at, &fop->rsp.stat);
  if (!err)
    err = posix_node_stat(op, NODE_PARENT, (struct posix_at){dirfd, ""}, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}
