/* SPDX-License-Identifier: Apache-2.0
 *
 * See view.h: calls that change names and attributes. Errors are those
 * that root gets on Linux; nothing here checks permissions.
 */
#include "tests/simulation/disk/view.h"

#include <string.h>
#include <sys/xattr.h>

#define XATTR_VALUE_MAX 65536u
#define XATTR_TOTAL_MAX 65536u

/* ---- names ---- */

/* The start of a call that changes names: 0 or the errno it fails with. */
static int
begin(struct sim_disk *d, bool makes)
{
  int err = sim_change(d);

  if (err)
    return err;
  if (sim_draw(d, SIM_FAULT_NAME))
    return EIO;
  return makes && sim_draw(d, SIM_FAULT_NAME_SPACE) ? ENOSPC : 0;
}

static bool
is_dots(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int
sim_view_make(struct sim_view *v, const struct sim_place *p, mode_t mode, struct sim_inode **made)
{
  struct sim_inode *i;
  int err;

  if (p->inode)
    return EEXIST;
  if (!p->dir->parent)
    return ENOENT; /* the directory was removed */
  if (S_ISDIR(mode) && p->dir->nlink >= SIM_LINK_MAX)
    return EMLINK;
  err = begin(v->disk, true);
  if (err)
    return err;
  if (p->dir->attr.mode & S_ISGID && S_ISDIR(mode))
    mode |= S_ISGID;
  i = sim_inode_new(v->disk, mode);
  if (p->dir->attr.mode & S_ISGID)
    i->attr.gid = p->dir->attr.gid;
  sim_entry_add(p->dir, p->name, i);
  sim_inode_unref(i); /* the entry has it */
  *made = i;
  return 0;
}

static int
make_at(struct gi_fs *fs, int at, const char *path, mode_t mode, struct sim_inode **made)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_place p;
  int err = sim_view_place(v, at, path, &p);

  if (!err)
    err = sim_view_make(v, &p, mode, made);
  return err ? sim_fail(err) : 0;
}

int
sim_view_mkdir(struct gi_fs *fs, int at, const char *path, mode_t mode)
{
  struct sim_inode *i;

  return make_at(fs, at, path, S_IFDIR | (mode & 01777), &i);
}

int
sim_view_mknod(struct gi_fs *fs, int at, const char *path, mode_t mode, dev_t dev)
{
  struct sim_inode *i;
  int r = make_at(fs, at, path, mode & S_IFMT ? mode : mode | S_IFREG, &i);

  if (r == 0 && (S_ISCHR(mode) || S_ISBLK(mode)))
    i->rdev = dev;
  return r;
}

int
sim_view_symlink(struct gi_fs *fs, const char *text, int at, const char *path)
{
  struct sim_inode *i;
  int r;

  if (!*text)
    return sim_fail(ENOENT);
  if (strlen(text) >= SIM_PAGE)
    return sim_fail(ENAMETOOLONG);
  r = make_at(fs, at, path, S_IFLNK | 0777, &i);
  if (r == 0) {
    i->text = gi_strdup(text);
    i->size = strlen(text);
  }
  return r;
}

int
sim_view_link(struct gi_fs *fs, int from, const char *old, int to, const char *new)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_inode *i = *old ? sim_view_object(v, from, old, false) : NULL;
  struct sim_place p;
  int err;

  if (!*old)
    return sim_fail(ENOENT);
  if (!i)
    return -1;
  err = sim_view_place(v, to, new, &p);
  if (!err && p.inode)
    err = EEXIST;
  if (!err && S_ISDIR(i->attr.mode))
    err = EPERM;
  if (!err && !p.dir->parent)
    err = ENOENT;
  if (!err && i->nlink >= SIM_LINK_MAX)
    err = EMLINK;
  if (!err)
    err = begin(v->disk, true);
  if (err)
    return sim_fail(err);
  sim_entry_add(p.dir, p.name, i);
  return 0;
}

int
sim_view_unlink(struct gi_fs *fs, int at, const char *path, int flags)
{
  struct sim_view *v = sim_view_of(fs);
  bool dir = flags & AT_REMOVEDIR;
  struct sim_place p;
  int err = sim_view_place(v, at, path, &p);

  if (!err && is_dots(p.name))
    err = !dir ? EISDIR : p.name[1] ? ENOTEMPTY : EINVAL;
  if (!err && !p.inode)
    err = ENOENT;
  if (!err && dir != S_ISDIR(p.inode->attr.mode))
    err = dir ? ENOTDIR : EISDIR;
  if (!err && dir && p.inode->nentries)
    err = ENOTEMPTY;
  if (!err)
    err = begin(v->disk, false);
  if (err)
    return sim_fail(err);
  sim_entry_del(p.dir, p.name);
  return 0;
}

/* May `from` take the place `to`? 0 or errno, in the kernel's order. */
static int
check_rename(const struct sim_place *from, const struct sim_place *to)
{
  bool dir;

  if (is_dots(from->name) || is_dots(to->name))
    return EBUSY;
  if (!from->inode)
    return ENOENT;
  dir = S_ISDIR(from->inode->attr.mode);
  if (dir && sim_is_below(to->dir, from->inode))
    return EINVAL;
  if (to->inode && S_ISDIR(to->inode->attr.mode) && to->inode != from->inode && sim_is_below(from->dir, to->inode))
    return ENOTEMPTY;
  if (!to->dir->parent)
    return ENOENT;
  if (!to->inode || to->inode == from->inode)
    return 0;
  if (dir != S_ISDIR(to->inode->attr.mode))
    return dir ? ENOTDIR : EISDIR;
  return dir && to->inode->nentries ? ENOTEMPTY : 0;
}

int
sim_view_rename(struct gi_fs *fs, int at, const char *old, int to_at, const char *new, bool replaces)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_place from, to;
  struct sim_inode *i;
  int err = sim_view_place(v, at, old, &from);

  if (!err)
    err = sim_view_place(v, to_at, new, &to);
  if (!err)
    err = check_rename(&from, &to);
  if (!err && to.inode && !replaces)
    err = EEXIST;
  if (!err && to.inode == from.inode)
    return 0;
  if (!err)
    err = begin(v->disk, true);
  if (err)
    return sim_fail(err);
  i = sim_inode_ref(from.inode);
  if (to.inode)
    sim_entry_del(to.dir, to.name);
  sim_entry_del(from.dir, from.name);
  sim_entry_add(to.dir, to.name, i);
  sim_inode_unref(i);
  return 0;
}

/* ---- mode, owner, times ---- */

/* The object of a call that changes its attributes; NULL and errno. */
static struct sim_inode *
changing(struct gi_fs *fs, int at, const char *path, bool follow)
{
  struct sim_view *v = sim_view_of(fs);
  struct sim_inode *i = sim_view_object(v, at, path, follow);
  int err;

  if (!i)
    return NULL;
  err = sim_change(v->disk);
  if (!err && sim_draw(v->disk, SIM_FAULT_ATTR))
    err = EIO;
  if (err)
    errno = err;
  return err ? NULL : i;
}

int
sim_view_chown(struct gi_fs *fs, int at, const char *path, uid_t uid, gid_t gid)
{
  struct sim_inode *i = changing(fs, at, path, false);

  if (!i)
    return -1;
  sim_journal_attr(i);
  if (uid != (uid_t)-1)
    i->attr.uid = uid;
  if (gid != (gid_t)-1)
    i->attr.gid = gid;
  if (!S_ISDIR(i->attr.mode)) {
    i->attr.mode &= ~(mode_t)S_ISUID;
    if (i->attr.mode & S_IXGRP)
      i->attr.mode &= ~(mode_t)S_ISGID;
  }
  i->attr.ctime = sim_now(i->disk);
  return 0;
}

int
sim_view_chmod(struct gi_fs *fs, int at, const char *path, mode_t mode)
{
  struct sim_inode *i = changing(fs, at, path, true);

  if (!i)
    return -1;
  sim_journal_attr(i);
  i->attr.mode = (i->attr.mode & S_IFMT) | (mode & 07777);
  i->attr.ctime = sim_now(i->disk);
  return 0;
}

int
sim_view_times(struct gi_fs *fs, int at, const char *path, const struct timespec ts[2])
{
  struct sim_inode *i = changing(fs, at, path, false);
  struct timespec *const to[2] = {i ? &i->attr.atime : NULL, i ? &i->attr.mtime : NULL};

  if (!i)
    return -1;
  sim_journal_attr(i);
  for (int n = 0; n < 2; n++) {
    if (ts[n].tv_nsec == UTIME_NOW)
      *to[n] = sim_now(i->disk);
    else if (ts[n].tv_nsec != UTIME_OMIT)
      *to[n] = ts[n];
  }
  i->attr.ctime = sim_now(i->disk);
  return 0;
}

/* ---- xattrs ---- */

/* 0, or the errno for a name this kind of object cannot have. */
static int
check_name(const struct sim_inode *i, const char *name, int user_err)
{
  if (!*name || strlen(name) > SIM_NAME_MAX)
    return ERANGE;
  if (strncmp(name, "user.", 5) == 0) {
    if (!S_ISREG(i->attr.mode) && !S_ISDIR(i->attr.mode))
      return user_err;
    return name[5] ? 0 : EINVAL;
  }
  if (strncmp(name, "trusted.", 8) == 0)
    return name[8] ? 0 : EINVAL;
  if (strncmp(name, "security.", 9) == 0)
    return name[9] ? 0 : EINVAL;
  return EOPNOTSUPP; /* a file system without ACLs */
}

ssize_t
sim_view_getxattr(struct gi_fs *fs, int at, const char *path, const char *name, void *value, size_t size)
{
  struct sim_inode *i = sim_view_object(sim_view_of(fs), at, path, false);
  const struct sim_xattr *x;
  int err;

  if (!i)
    return -1;
  err = check_name(i, name, ENODATA);
  if (err)
    return sim_fail(err);
  x = sim_xattr_find(i, name);
  if (!x)
    return sim_fail(ENODATA);
  if (size && size < x->len)
    return sim_fail(ERANGE);
  if (size)
    memcpy(value, x->value, x->len);
  return (ssize_t)x->len;
}

static size_t
xattr_total(const struct sim_inode *i)
{
  size_t total = 0;

  for (unsigned n = 0; n < i->nxattrs; n++)
    total += strlen(i->xattr[n].name) + i->xattr[n].len;
  return total;
}

/* Called before a change: the present value goes to the journal. */
static void
journal_xattr(struct sim_inode *i, const char *name)
{
  const struct sim_xattr *x = sim_xattr_find(i, name);
  struct sim_undo *u = sim_journal(i, UNDO_XATTR);

  u->name = gi_strdup(name);
  if (!x)
    return;
  u->value = gi_alloc(x->len ? x->len : 1);
  memcpy(u->value, x->value, x->len);
  u->len = x->len;
}

int
sim_view_setxattr(struct gi_fs *fs, int at, const char *path, const char *name, const void *value, size_t size, int flags)
{
  struct sim_inode *i = sim_view_object(sim_view_of(fs), at, path, false);
  const struct sim_xattr *x;
  int err;

  if (!i)
    return -1;
  err = size > XATTR_VALUE_MAX ? E2BIG : check_name(i, name, EPERM);
  if (err)
    return sim_fail(err);
  x = sim_xattr_find(i, name);
  if (x && flags & XATTR_CREATE)
    return sim_fail(EEXIST);
  if (!x && flags & XATTR_REPLACE)
    return sim_fail(ENODATA);
  if (xattr_total(i) + strlen(name) + size > XATTR_TOTAL_MAX + XATTR_VALUE_MAX)
    return sim_fail(ENOSPC);
  if (!changing(fs, at, path, false))
    return -1;
  if (sim_draw(i->disk, SIM_FAULT_ATTR_SPACE))
    return sim_fail(ENOSPC);
  journal_xattr(i, name);
  sim_xattr_raw_set(i, name, value, size);
  i->attr.ctime = sim_now(i->disk);
  return 0;
}

ssize_t
sim_view_listxattr(struct gi_fs *fs, int at, const char *path, char *list, size_t size)
{
  struct sim_inode *i = sim_view_object(sim_view_of(fs), at, path, false);
  size_t used = 0;

  if (!i)
    return -1;
  for (unsigned n = 0; n < i->nxattrs; n++) {
    size_t len = strlen(i->xattr[n].name) + 1;

    if (size && used + len > size)
      return sim_fail(ERANGE);
    if (size)
      memcpy(list + used, i->xattr[n].name, len);
    used += len;
  }
  return (ssize_t)used;
}

int
sim_view_removexattr(struct gi_fs *fs, int at, const char *path, const char *name)
{
  struct sim_inode *i = sim_view_object(sim_view_of(fs), at, path, false);
  int err;

  if (!i)
    return -1;
  err = check_name(i, name, EPERM);
  if (err)
    return sim_fail(err);
  if (!sim_xattr_find(i, name))
    return sim_fail(ENODATA);
  if (!changing(fs, at, path, false))
    return -1;
  journal_xattr(i, name);
  sim_xattr_raw_remove(i, name);
  i->attr.ctime = sim_now(i->disk);
  return 0;
}
