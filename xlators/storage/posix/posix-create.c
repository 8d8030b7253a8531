/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes objects: MKNOD, MKDIR, SYMLINK, CREATE and PUT. The order of the
 * persistent steps is brick.md 2.5; whatever fails after the entry exists
 * takes it away again.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/extension.h"
#include "libglusterish/mutants.h"

#include <sys/sysmacros.h>

struct making {
  struct posix_op *op;
  struct gi_fop *fop;
  const struct posix *p;
  const char *name;
  int dirfd;
  struct stat parent;
  struct gi_gfid gfid; /* of gfid-req */
  uid_t uid;
  gid_t gid;
  bool handle_made;
};

int
posix_entry_name(struct posix_op *op, const struct gi_gfid *parent, const char *name, bool dots)
{
  if (!name || !name[0])
    return EINVAL;
  if (strchr(name, '/'))
    return EPERM;
  if (strlen(name) > GI_NAME_MAX)
    return ENAMETOOLONG;
  if (!dots && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
    return EINVAL;
  if (gi_gfid_is_root(parent) && strcmp(name, ".glusterfs") == 0)
    return EPERM;
  return 0;
}

static struct posix_at
entry_at(const struct making *m)
{
  return (struct posix_at){m->dirfd, m->name};
}

/* A parent that was removed while its descriptor was cached reads as ENOENT below it. */
int
posix_parent_gone(const struct posix_op *op, int dirfd, int err)
{
  struct stat st;

  return err == ENOENT && gi_fs_fstat(op->p->fs, dirfd, &st) == 0 && st.st_nlink == 0 ? ESTALE : err;
}

static int
parent_gone(const struct making *m, int err)
{
  return posix_parent_gone(m->op, m->dirfd, err);
}

/* Everything before the entry is made: names, gfid, parent and its attributes, owner. */
static int
making_begin(struct posix_op *op, struct making *m)
{
  struct gi_fop *fop = op->fop;
  int err = posix_entry_name(op, &op->node[NODE_PARENT].gfid, fop->loc.name, false);

  *m = (struct making){.op = op, .fop = fop, .p = op->p, .name = fop->loc.name};
  if (err)
    return err == EINVAL && fop->loc.name && fop->loc.name[0] ? EEXIST : err; /* "." and ".." exist */
  if (!posix_gfid_requested(fop, &m->gfid))
    return EINVAL;
  m->dirfd = posix_node_dir(op, NODE_PARENT);
  if (m->dirfd < 0)
    return -m->dirfd;
  err = posix_node_attributes(op, NODE_PARENT, (struct posix_at){m->dirfd, ""}, &m->parent);
  if (err)
    return err;
  if (m->parent.st_nlink == 0)
    return ESTALE;
  posix_node_known(op, NODE_PARENT, (struct posix_at){m->dirfd, ""});
  posix_iatt(&m->parent, &op->node[NODE_PARENT].gfid, &fop->rsp.pre);
  m->uid = fop->caller.uid;
  m->gid = m->parent.st_mode & S_ISGID ? m->parent.st_gid : fop->caller.gid;
  return 0;
}

/* The xattr of the parent that a client believes in. */
static bool
believes(const struct gi_dict *xdata, const char **key, const void **want, uint32_t *len)
{
  const void *both;
  uint32_t n;

  if (gi_dict_get_bin(xdata, GI_PARENT_XATTR_KEY, &both, &n)) {
    *key = both;
    *len = (uint32_t)strnlen(both, n) + 1;
    if (*len > n || !posix_key_is_xattr(*key))
      return false;
    *want = *key + *len;
    *len = n - *len;
    return true;
  }
  return gi_dict_get_str(xdata, "glusterfs.preop.parent.key", key) && gi_dict_get_bin(xdata, *key, want, len);
}

int
posix_check_layout(struct posix_op *op, int dirfd)
{
  const char *key;
  const void *want;
  uint32_t len;
  char *have;
  ssize_t n;
  bool same;

  if (!believes(op->fop->xdata, &key, &want, &len) || GI_BROKEN("make names by an old layout"))
    return 0;
  n = posix_at_get_alloc(op->p, (struct posix_at){dirfd, ""}, key, &have);
  same = n >= 0 && (uint32_t)n == len && memcmp(have, want, len) == 0;
  gi_free(have);
  if (same)
    return 0;
  gi_dict_set_int(gi_fop_rsp_xdata(op->fop), GI_LAYOUT_REFUSED_KEY, 1);
  return EIO;
}

static mode_t
masked_mode(const struct posix *p, mode_t mode, bool dir)
{
  mode_t mask = dir ? p->cfg.create_dir_mask : p->cfg.create_mask;
  mode_t force = dir ? p->cfg.force_dir : p->cfg.force_create;

  return (mode & ~(mode_t)0777) | (mode & 0777 & mask) | force;
}

/* Owner; a change of owner drops the set-id bits of files, so they are put back. */
static int
set_owner(struct making *m, struct posix_at at, mode_t mode)
{
  if ((m->uid != m->p->euid || m->gid != m->p->egid || m->parent.st_mode & S_ISGID) &&
      posix_at_chown(m->p, at, m->uid, m->gid) < 0)
    return errno;
  if (!S_ISLNK(mode) && mode & (S_ISUID | S_ISGID) && posix_at_chmod(m->p, at, mode & 07777) < 0)
    return errno;
  return 0;
}

static int
assign_gfid(struct making *m, struct posix_at at, mode_t mode)
{
  int err;

  if (posix_at_set(m->p, at, KEY_GFID, m->gfid.b, 16, 1 /* create */) < 0)
    return errno;
  if (S_ISDIR(mode))
    err = posix_handle_add_dir(m->p, &m->op->node[NODE_PARENT].gfid, m->name, &m->gfid);
  else
    err = posix_handle_add_file(m->p, m->dirfd, m->name, &m->gfid, NULL);
  m->handle_made = !err;
  return err;
}

/* The steps from the fresh entry to the finished object; `at` reaches it. */
static int
equip(struct making *m, struct posix_at at, mode_t mode)
{
  struct posix_op *op = m->op;
  const struct gi_gfid *parent = &op->node[NODE_PARENT].gfid;
  int err = set_owner(m, at, mode);

  if (!err)
    err = posix_acl_initial(op, at);
  if (!err && !S_ISDIR(mode)) {
    if (m->p->cfg.pgfid)
      err = posix_pgfid_change(m->p, at, parent, 1);
    if (!err && m->p->cfg.gfid2path)
      err = posix_gfid2path_add(m->p, at, parent, m->name);
  }
  if (!err)
    err = posix_xattr_initial(op, at);
  if (!err) {
    posix_md_create(op, NODE_OBJ, at);
    err = assign_gfid(m, at, mode);
  }
  if (err)
    return err;
  op->node[NODE_OBJ].gfid = m->gfid;
  return 0;
}

static enum posix_run
making_end(struct making *m, struct posix_at at)
{
  struct gi_fop *fop = m->fop;
  int err = posix_node_stat(m->op, NODE_OBJ, at, &fop->rsp.stat);

  if (!err && m->handle_made)
    posix_known_made(m->op, &m->parent);

  if (!err)
    err = posix_node_stat(m->op, NODE_PARENT, (struct posix_at){m->dirfd, ""}, &fop->rsp.post);
  return err ? posix_err(m->op, err) : posix_ok(m->op, 0);
}

static enum posix_run
undo(struct making *m, bool dir, int err)
{
  gi_fs_unlink(m->p->fs, m->dirfd, m->name, dir ? AT_REMOVEDIR : 0);
  if (m->handle_made)
    posix_handle_remove(m->p, &m->gfid);
  m->op->node[NODE_OBJ].gfid = gi_gfid_none;
  return posix_err(m->op, err);
}

/* ---- MKNOD ---- */

/* Names, times, and the counters of changes that may be under way. */
static bool
outlives_a_move(const char *key)
{
  static const char *const keys[] = {KEY_GFID2PATH, KEY_PGFID, KEY_MDATA, "trusted.afr."};

  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++)
    if (strncmp(key, keys[i], strlen(keys[i])) == 0)
      return true;
  return strcmp(key, KEY_GFID) == 0;
}

static int
empty(const struct making *m)
{
  int fd = gi_fs_openat(m->p->fs, m->dirfd, m->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0);
  int err = fd < 0 || gi_fs_ftruncate(m->p->fs, fd, 0) < 0 ? errno : 0;

  if (fd >= 0)
    gi_fs_close(m->p->fs, fd);
  return err;
}

/* What was kept of a file that has left, for who has it open or for a heal, becomes a linkto file like one that is new. */
static int
make_linkto(struct making *m, mode_t mode)
{
  GI_CLEANUP_FREE char *list = NULL;
  ssize_t len = posix_at_list_alloc(m->p, entry_at(m), &list);
  int err = empty(m);

  for (const char *key = list; !err && len > 0 && key < list + len; key += strlen(key) + 1)
    if (!outlives_a_move(key) && posix_at_remove(m->p, entry_at(m), key) < 0)
      err = errno;
  if (!err && posix_at_chown(m->p, entry_at(m), m->uid, m->gid) < 0)
    err = errno;
  if (!err && posix_at_chmod(m->p, entry_at(m), mode & 07777) < 0)
    err = errno;
  return err ? err : posix_xattr_initial(m->op, entry_at(m));
}

static bool
asks_for_linkto(const struct gi_fop *fop)
{
  return (fop->args.mode & 07777) == GI_LINKTO_MODE && gi_dict_get(fop->xdata, KEY_LINKTO);
}

/* What the file was before it left lies where a heal has put it, and nothing but its gfid leads to it (replicate.md 7.8): it has left that place. */
static bool
leaves_anonymous(const struct making *m, const struct stat *st)
{
  char path[PATH_MAX], volume[GI_UUID_TEXT], text[GI_UUID_TEXT];
  struct stat there;

  if (!m->p->have_volume_id || !S_ISREG(st->st_mode) || st->st_nlink != 2 || !asks_for_linkto(m->fop))
    return false;
  snprintf(path, sizeof(path), ".glusterfs-anonymous-inode-%s/%s", gi_gfid_text(&m->p->volume_id, volume),
           gi_gfid_text(&m->gfid, text));
  return gi_fs_stat(m->p->fs, m->p->root_fd, path, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == st->st_ino &&
         there.st_dev == st->st_dev && gi_fs_unlink(m->p->fs, m->p->root_fd, path, 0) == 0;
}

/* glusterfs-internal-fop: the object may exist already and only needs this name (brick.md 2.5). 0 done, ENOENT: no such object. */
static int
link_existing(struct making *m)
{
  char path[POSIX_HPATH], text[GI_UUID_TEXT];
  struct stat st;
  bool kept = false;
  int err;

  posix_hpath(path, &m->gfid);
  if (gi_fs_stat(m->p->fs, m->p->gl_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(st.st_mode) && st.st_nlink == 1)
      return EEXIST; /* a directory */
    if (gi_fs_link(m->p->fs, m->p->gl_fd, path, m->dirfd, m->name) < 0)
      return errno;
    kept = leaves_anonymous(m, &st);
  } else {
    gi_gfid_text(&m->gfid, text);
    if (gi_fs_link(m->p->fs, m->p->unlink_fd, text, m->dirfd, m->name) < 0)
      return errno;
    if (gi_fs_rename(m->p->fs, m->p->unlink_fd, text, m->p->gl_fd, path) < 0)
      return errno;
    kept = true;
  }
  if (kept)
    posix_forget_names(m->p, entry_at(m));
  if (m->p->cfg.pgfid)
    posix_pgfid_change(m->p, entry_at(m), &m->op->node[NODE_PARENT].gfid, 1);
  err = m->p->cfg.gfid2path ? posix_gfid2path_add(m->p, entry_at(m), &m->op->node[NODE_PARENT].gfid, m->name) : 0;
  if (!err && kept && asks_for_linkto(m->fop))
    err = make_linkto(m, m->fop->args.mode);
  if (err)
    return err;
  m->op->node[NODE_OBJ].gfid = m->gfid;
  return 0;
}

/* force-replace: a DHT link-to file (mode exactly 01000) makes way. */
static bool
replace_linkto(struct making *m)
{
  struct stat st;

  return gi_dict_get(m->fop->xdata, "force-replace") &&
         gi_fs_stat(m->p->fs, m->dirfd, m->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && gi_has_linkto_mode(st.st_mode) &&
         gi_fs_unlink(m->p->fs, m->dirfd, m->name, 0) == 0;
}

enum posix_run
posix_run_mknod(struct posix_op *op)
{
  struct making m;
  int err = making_begin(op, &m);
  mode_t mode;
  dev_t dev = makedev((unsigned)(op->fop->args.rdev >> 32), (unsigned)op->fop->args.rdev);

  if (err)
    return posix_err(op, err);
  if (gi_dict_get(op->fop->xdata, KEY_INTERNAL)) {
    err = link_existing(&m);
    if (!err)
      return making_end(&m, entry_at(&m));
    if (err != ENOENT)
      return posix_err(op, err);
  }
  mode = masked_mode(op->p, op->fop->args.mode, false);
  if (!(mode & S_IFMT))
    mode |= S_IFREG;
  if (S_ISDIR(mode) || S_ISLNK(mode))
    return posix_err(op, EINVAL);
  err = posix_check_layout(op, m.dirfd);
  if (err)
    return posix_err(op, err);
  err = gi_fs_mknod(m.p->fs, m.dirfd, m.name, mode, dev) < 0 ? errno : 0;
  if (err == EEXIST && replace_linkto(&m))
    err = gi_fs_mknod(m.p->fs, m.dirfd, m.name, mode, dev) < 0 ? errno : 0;
  if (err)
    return posix_err(op, parent_gone(&m, err));
  err = equip(&m, entry_at(&m), mode);
  return err ? undo(&m, false, err) : making_end(&m, entry_at(&m));
}

void
posix_finish_mknod(struct posix_op *op)
{
  struct gi_inode *inode;

  if (op->fop->rsp.ret < 0)
    return;
  inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);
  if (inode)
    posix_inode_of(op->p, inode)->unlinked = false; /* it has a name again */
  gi_inode_unref(&inode);
}

/* ---- MKDIR, SYMLINK ---- */

enum posix_run
posix_run_mkdir(struct posix_op *op)
{
  struct making m;
  int err = making_begin(op, &m);
  mode_t mode;

  if (!err && op->fop->caller.pid >= 0) /* a healer repeats what is there elsewhere */
    err = posix_node_room(op, NODE_PARENT);
  if (!err)
    err = posix_check_layout(op, m.dirfd);
  if (err)
    return posix_err(op, err);
  mode = (masked_mode(op->p, op->fop->args.mode & 07777, true)) | (m.parent.st_mode & S_ISGID);
  if (gi_fs_mkdir(m.p->fs, m.dirfd, m.name, mode & 07777) < 0)
    return posix_err(op, parent_gone(&m, errno));

  int fd = gi_fs_openat(m.p->fs, m.dirfd, m.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);

  if (fd < 0)
    return undo(&m, true, errno);

  struct posix_at at = {fd, ""};

  /* mkdir(2) does not take set-id bits. */
  err = mode & 07000 && gi_fs_chmod(m.p->fs, fd, "", mode & 07777) < 0 ? errno : 0;
  if (!err)
    err = equip(&m, at, (mode & 07777) | S_IFDIR);
  if (err) {
    gi_fs_close(m.p->fs, fd);
    return undo(&m, true, err);
  }
  op->node[NODE_OBJ].fd = fd; /* for the cache */
  op->node[NODE_OBJ].depth = op->node[NODE_PARENT].depth ? op->node[NODE_PARENT].depth + 1 : 0;
  return making_end(&m, at);
}

enum posix_run
posix_run_symlink(struct posix_op *op)
{
  struct making m;
  int err = making_begin(op, &m);

  if (err)
    return posix_err(op, err);
  if (!op->fop->args.link || !op->fop->args.link[0])
    return posix_err(op, ENOENT);
  err = posix_check_layout(op, m.dirfd);
  if (err)
    return posix_err(op, err);
  if (gi_fs_symlink(m.p->fs, op->fop->args.link, m.dirfd, m.name) < 0)
    return posix_err(op, parent_gone(&m, errno));
  err = equip(&m, entry_at(&m), S_IFLNK | 0777);
  return err ? undo(&m, false, err) : making_end(&m, entry_at(&m));
}

/* ---- CREATE ---- */

#define OPEN_KEEP (O_ACCMODE | O_DIRECT | O_NOATIME | O_DSYNC)

/* Client flags to ours: what is not known to be harmless is dropped, and O_APPEND is each WRITE's own matter. The wire has one bit for O_SYNC
 * and O_DSYNC. */
static int
open_flags(const struct posix_op *op, int flags)
{
  int f = (flags & OPEN_KEEP) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

  if (flags & O_DSYNC)
    f |= O_SYNC;
  if (op->p->cfg.o_direct)
    f |= O_DIRECT;
  return f;
}

/* The name exists and O_EXCL was not given: open what is there. */
static enum posix_run
open_existing(struct making *m, int flags)
{
  struct posix_op *op = m->op;
  struct stat st;
  int err, fd;

  if (gi_fs_stat(m->p->fs, m->dirfd, m->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return posix_err(op, errno);
  if (!S_ISREG(st.st_mode))
    return posix_err(op, S_ISDIR(st.st_mode) ? EISDIR : S_ISLNK(st.st_mode) ? ELOOP : EINVAL);
  fd = gi_fs_openat(m->p->fs, m->dirfd, m->name, flags | (op->fop->args.flags & O_TRUNC), 0);
  if (fd < 0)
    return posix_err(op, errno);
  op->new_fd = fd;
  op->existed = op->fop->kind == GI_FOP_CREATE;
  err = posix_gfid_read(op->p, (struct posix_at){fd, ""}, &op->node[NODE_OBJ].gfid);
  if (!err)
    err = posix_handle_add_file(op->p, m->dirfd, m->name, &op->node[NODE_OBJ].gfid, &st);
  return err ? posix_err(op, err) : making_end(m, (struct posix_at){fd, ""});
}

enum posix_run
posix_run_create(struct posix_op *op)
{
  struct making m;
  int err = making_begin(op, &m);
  int want = op->fop->args.flags ? (int)op->fop->args.flags : O_RDWR | O_EXCL;
  int flags = open_flags(op, want);
  struct stat there;
  mode_t mode;

  if (err)
    return posix_err(op, err);
  mode = masked_mode(op->p, op->fop->args.mode & 07777, false);
  if (gi_dict_get(op->fop->xdata, "glusterfs.preop.parent.key") &&
      gi_fs_stat(m.p->fs, m.dirfd, m.name, &there, AT_SYMLINK_NOFOLLOW) < 0) {
    err = posix_check_layout(op, m.dirfd);
    if (err)
      return posix_err(op, err);
  }

  int fd = gi_fs_openat(m.p->fs, m.dirfd, m.name, flags | O_CREAT | O_EXCL, mode);

  if (fd < 0 && errno == EEXIST && !(want & O_EXCL))
    return open_existing(&m, flags);
  if (fd < 0)
    return posix_err(op, parent_gone(&m, errno));
  op->new_fd = fd;
  err = equip(&m, (struct posix_at){fd, ""}, S_IFREG | mode);
  return err ? undo(&m, false, err) : making_end(&m, (struct posix_at){fd, ""});
}

/* ---- PUT: create, write, xattrs in one ---- */

enum posix_run
posix_run_put(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  enum posix_run r = posix_run_create(op);
  char text[POSIX_NUMBER_TEXT];

  if (fop->rsp.ret < 0)
    return r;
  ssize_t n = posix_write_all(op->p->fs, op->new_fd, &fop->payload, 0, fop->args.offset);

  if (n < 0 || (size_t)n < fop->payload.len)
    return posix_err(op, n < 0 ? errno : ENOSPC);
  op->known = NULL;
  for (uint32_t i = 0; i < gi_dict_count(fop->args.dict); i++) {
    const struct gi_pair *pair = gi_dict_at(fop->args.dict, i);
    uint32_t len;
    const void *value = posix_value(pair, text, &len);

    if (!posix_key_is_xattr(pair->key) || posix_key_internal(pair->key))
      continue;
    if (!value)
      return posix_err(op, EINVAL);
    if (posix_at_set(op->p, (struct posix_at){op->new_fd, ""}, pair->key, value, len, 0) < 0)
      return posix_err(op, errno);
  }
  int err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->new_fd, ""}, &fop->rsp.stat);

  return err ? posix_err(op, err) : RUN_DONE;
}
