/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what (brick.md 6), kind by kind.
 *
 * A handler may run more than once: when it needs an inode that is not known,
 * the fop is held, the inode looked up, and the handler called again. So
 * nothing is changed before every check has passed. What does not exist is
 * ESTALE, as storage would say.
 */
#include "xlators/features/access-control/access-control.h"

#include "libglusterish/content.h"

#include <fcntl.h>
#include <unistd.h>

#define AC_OPEN_EXEC 0x20 /* open for execution (wire.md 3.8) */
#define AC_XATTR_USER "user."
#define AC_XATTR_TRUSTED "trusted."

/* The errno of a check on a known inode; 0 = allowed. */
static int
check(struct gi_xlator *x, const struct gi_fop *fop, const struct gi_inode *inode, unsigned want)
{
  ac_count(x)->checked++;
  if (!inode || !ac_inode(x, inode)->known)
    return ESTALE;
  if (ac_allows(ac_inode(x, inode), &fop->caller, want))
    return 0;
  ac_count(x)->refused++;
  return EACCES;
}

static enum gi_verdict
verdict(struct gi_fop *fop, int err)
{
  return err ? gi_fop_fail(fop, err) : GI_PASS;
}

/* Checks the object of the fop. */
static enum gi_verdict
check_target(struct gi_xlator *x, struct gi_fop *fop, unsigned want, gi_fop_fn *retry)
{
  if (ac_super(&fop->caller) || !want)
    return GI_PASS;
  struct gi_inode *inode = gi_fop_inode(fop);
  if (!ac_need(x, fop, inode, retry))
    return GI_HELD;
  return verdict(fop, check(x, fop, inode, want));
}

enum gi_verdict
ac_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ac_fop *af = gi_fop_private(fop, x);
  if (!ac_super(&fop->caller) && fop->loc.name && *fop->loc.name) {
    struct gi_inode *parent = gi_loc_parent(fop, &fop->loc);
    if (!ac_need(x, fop, parent, ac_lookup))
      return GI_HELD;
    int err = check(x, fop, parent, AC_X);
    if (err)
      return gi_fop_fail(fop, err);
  }
  if (fop->loc.inode && ac_inode(x, fop->loc.inode)->known)
    return gi_content_asked(fop) ? GI_PASS_TELL : GI_PASS;
  af->learns = true;
  af->asked_access = gi_dict_get(fop->xdata, AC_ACCESS_KEY) != NULL;
  af->asked_default = gi_dict_get(fop->xdata, AC_DEFAULT_KEY) != NULL;
  struct gi_dict *ask = gi_fop_xdata(fop);
  if (!af->asked_access)
    gi_dict_set_uint(ask, AC_ACCESS_KEY, 0);
  if (!af->asked_default)
    gi_dict_set_uint(ask, AC_DEFAULT_KEY, 0);
  return GI_PASS_TELL;
}

static unsigned
wanted_by(uint32_t open_flags)
{
  static const unsigned by_mode[] = {AC_R, AC_W, AC_R | AC_W, AC_R | AC_W};
  unsigned want = open_flags & AC_OPEN_EXEC ? AC_X : by_mode[open_flags & O_ACCMODE];
  return open_flags & (O_TRUNC | O_APPEND) ? want | AC_W : want;
}

enum gi_verdict
ac_open(struct gi_xlator *x, struct gi_fop *fop)
{
  return check_target(x, fop, wanted_by(fop->args.flags), ac_open);
}

enum gi_verdict
ac_opendir(struct gi_xlator *x, struct gi_fop *fop)
{
  return check_target(x, fop, AC_R, ac_opendir);
}

enum gi_verdict
ac_truncate(struct gi_xlator *x, struct gi_fop *fop)
{
  return check_target(x, fop, AC_W, ac_truncate);
}

/* Through a descriptor: checked when it was opened, unless it was not. */
enum gi_verdict
ac_fd_io(struct gi_xlator *x, struct gi_fop *fop)
{
  if (ac_super(&fop->caller) || !fop->fd || !fop->fd->anonymous)
    return GI_PASS;
  bool reads = gi_fop_table[fop->kind].classes & GI_CLASS_READ;
  return check_target(x, fop, reads ? AC_R : AC_W, ac_fd_io);
}

/* A copy reads through one descriptor and writes through the other. */
enum gi_verdict
ac_copy(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_fd *fd[] = {fop->fd, fop->fd2};
  if (ac_super(&fop->caller))
    return GI_PASS;
  for (int i = 0; i < 2; i++) {
    if (!fd[i] || !fd[i]->anonymous)
      continue;
    if (!ac_need(x, fop, fd[i]->inode, ac_copy))
      return GI_HELD;
    int err = check(x, fop, fd[i]->inode, i == 0 ? AC_R : AC_W);
    if (err)
      return gi_fop_fail(fop, err);
  }
  return GI_PASS;
}

enum gi_verdict
ac_access(struct gi_xlator *x, struct gi_fop *fop)
{
  unsigned want = 0;
  if (fop->args.mode & R_OK)
    want |= AC_R;
  if (fop->args.mode & W_OK)
    want |= AC_W;
  if (fop->args.mode & X_OK)
    want |= AC_X;
  return check_target(x, fop, want, ac_access);
}

/* ---- creating ---- */

/* The mode and umask of the application, if the client passed them on. */
static void
requested_mode(const struct gi_fop *fop, uint32_t *mode, uint32_t *umask)
{
  uint64_t m, u;
  *mode = fop->args.mode;
  *umask = fop->args.umask;
  if (!gi_dict_get_uint(fop->xdata, "umask", &u))
    return;
  *umask = (uint32_t)u & 0777;
  if (gi_dict_get_uint(fop->xdata, "mode", &m))
    *mode = (*mode & ~07777u) | ((uint32_t)m & 07777);
}

static void
add_acl(struct gi_fop *fop, const char *key, const struct ac_acl *acl)
{
  uint8_t bytes[4 + 8 * AC_ENTRIES_MAX];
  if (acl)
    gi_dict_set_bin(gi_fop_xdata(fop), key, bytes, ac_acl_write(acl, bytes));
}

static void
inherit(struct gi_xlator *x, struct gi_fop *fop, const struct ac_inode *parent)
{
  struct ac_fop *af = gi_fop_private(fop, x);
  uint32_t mode, umask;
  if (fop->kind == GI_FOP_SYMLINK)
    return;
  requested_mode(fop, &mode, &umask);
  if (!parent || !parent->known || !parent->dflt) {
    fop->args.mode = mode & ~umask;
    return;
  }
  af->access = ac_inherit(parent->dflt, &mode);
  if (fop->kind == GI_FOP_MKDIR)
    af->dflt = ac_acl_copy(parent->dflt);
  fop->args.mode = mode;
  add_acl(fop, AC_ACCESS_KEY, af->access);
  add_acl(fop, AC_DEFAULT_KEY, af->dflt);
  ac_count(x)->inherited++;
}

bool
ac_may_open(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_CREATE && fop->args.flags && !(fop->args.flags & O_EXCL);
}

enum gi_verdict
ac_create(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *parent = gi_loc_parent(fop, &fop->loc);
  if (!ac_need(x, fop, parent, ac_create))
    return GI_HELD;
  if (!ac_super(&fop->caller)) {
    int err = check(x, fop, parent, AC_W | AC_X);
    if (!err && ac_may_open(fop)) {
      if (!ac_need_name(x, fop, &fop->loc, ac_create))
        return GI_HELD;
      if (fop->loc.inode && ac_inode(x, fop->loc.inode)->known)
        err = check(x, fop, fop->loc.inode, wanted_by(fop->args.flags));
    }
    if (err)
      return gi_fop_fail(fop, err);
  }
  inherit(x, fop, parent ? ac_inode(x, parent) : NULL);
  return GI_PASS_TELL;
}

/* ---- names ---- */

/* In a sticky directory a name goes only by the hand of its owner or the directory's. */
static int
check_sticky(struct gi_xlator *x, const struct gi_fop *fop, const struct gi_loc *loc)
{
  const struct ac_inode *dir = ac_inode(x, loc->parent);
  if (!(dir->mode & S_ISVTX) || dir->uid == fop->caller.uid || !loc->inode || !ac_inode(x, loc->inode)->known)
    return 0;
  if (ac_inode(x, loc->inode)->uid == fop->caller.uid)
    return 0;
  ac_count(x)->refused++;
  return EACCES;
}

/* Parent, and in a sticky one also the object. False: held. */
static bool
need_name(struct gi_xlator *x, struct gi_fop *fop, struct gi_loc *loc, gi_fop_fn *retry)
{
  struct gi_inode *parent = gi_loc_parent(fop, loc);
  if (!ac_need(x, fop, parent, retry))
    return false;
  if (!parent || !ac_inode(x, parent)->known || !(ac_inode(x, parent)->mode & S_ISVTX))
    return true;
  return ac_need_name(x, fop, loc, retry);
}

static int
check_name(struct gi_xlator *x, struct gi_fop *fop, struct gi_loc *loc)
{
  int err = check(x, fop, loc->parent, AC_W | AC_X);
  return err ? err : check_sticky(x, fop, loc);
}

enum gi_verdict
ac_remove(struct gi_xlator *x, struct gi_fop *fop)
{
  if (ac_super(&fop->caller))
    return GI_PASS;
  if (!need_name(x, fop, &fop->loc, ac_remove))
    return GI_HELD;
  return verdict(fop, check_name(x, fop, &fop->loc));
}

enum gi_verdict
ac_rename(struct gi_xlator *x, struct gi_fop *fop)
{
  if (ac_super(&fop->caller))
    return GI_PASS;
  if (!need_name(x, fop, &fop->loc, ac_rename) || !need_name(x, fop, &fop->loc2, ac_rename))
    return GI_HELD;
  int err = check_name(x, fop, &fop->loc);
  return verdict(fop, err ? err : check_name(x, fop, &fop->loc2));
}

/* POSIX asks for nothing of the file. Whether links to files of others are allowed (fs.protected_hardlinks) is the client's kernel's to say. */
enum gi_verdict
ac_link(struct gi_xlator *x, struct gi_fop *fop)
{
  if (ac_super(&fop->caller))
    return GI_PASS;
  struct gi_inode *parent = gi_loc_parent(fop, &fop->loc2);
  if (!ac_need(x, fop, parent, ac_link))
    return GI_HELD;
  return verdict(fop, check(x, fop, parent, AC_W | AC_X));
}

/* ---- attributes ---- */

static int
check_setattr(struct gi_xlator *x, struct gi_fop *fop, const struct ac_inode *ai)
{
  const struct gi_caller *c = &fop->caller;
  int32_t valid = fop->args.valid;
  bool owner = c->uid == ai->uid;
  if ((valid & GI_SET_MODE) && !owner)
    return EPERM;
  if ((valid & GI_SET_UID) && (!owner || fop->args.iatt.uid != ai->uid))
    return EPERM;
  if ((valid & GI_SET_GID) && (!owner || !ac_member(c, fop->args.iatt.gid)))
    return EPERM;
  bool times = valid & (GI_SET_ATIME | GI_SET_MTIME | GI_SET_ATIME_NOW | GI_SET_MTIME_NOW);
  return times && !owner && !ac_allows(ai, c, AC_W) ? EACCES : 0;
}

enum gi_verdict
ac_setattr(struct gi_xlator *x, struct gi_fop *fop)
{
  if (ac_super(&fop->caller))
    return GI_PASS_TELL;
  struct gi_inode *inode = gi_fop_inode(fop);
  if (!ac_need(x, fop, inode, ac_setattr))
    return GI_HELD;
  if (!inode || !ac_inode(x, inode)->known)
    return gi_fop_fail(fop, ESTALE);
  const struct ac_inode *ai = ac_inode(x, inode);
  int err = check_setattr(x, fop, ai);
  ac_count(x)->checked++;
  if (err) {
    ac_count(x)->refused++;
    return gi_fop_fail(fop, err);
  }
  if ((fop->args.valid & GI_SET_MODE) && !S_ISDIR(ai->mode) && !ac_member(&fop->caller, ai->gid))
    fop->args.iatt.mode &= ~(uint32_t)S_ISGID;
  return GI_PASS_TELL;
}

static bool
is_acl_name(const char *name)
{
  return strcmp(name, AC_ACCESS_KEY) == 0 || strcmp(name, AC_DEFAULT_KEY) == 0 || strcmp(name, "glusterfs.posix.acl") == 0 ||
         strcmp(name, "glusterfs.posix.default_acl") == 0;
}

static bool
changes_acl(const struct gi_fop *fop)
{
  if (fop->args.name)
    return is_acl_name(fop->args.name);
  for (uint32_t i = 0; i < gi_dict_count(fop->args.dict); i++) {
    if (is_acl_name(gi_dict_at(fop->args.dict, i)->key))
      return true;
  }
  return false;
}

/* SETXATTR, REMOVEXATTR and their descriptor forms. A REMOVEXATTR without a name takes its list from xdata. */
enum gi_verdict
ac_setxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  bool bulk = !fop->args.dict && (!fop->args.name || !*fop->args.name);
  bool acl = bulk || changes_acl(fop);
  if (!ac_super(&fop->caller)) {
    struct gi_inode *inode = gi_fop_inode(fop);
    if (!ac_need(x, fop, inode, ac_setxattr))
      return GI_HELD;
    int err = check(x, fop, inode, acl ? 0 : AC_W);
    if (!err && acl && ac_inode(x, inode)->uid != fop->caller.uid)
      err = EPERM;
    if (err)
      return gi_fop_fail(fop, err);
  }
  return acl ? GI_PASS_TELL : GI_PASS;
}

/* Counters of translators above are theirs to change, whoever the caller is; any other change is one of an attribute. */
enum gi_verdict
ac_xattrop(struct gi_xlator *x, struct gi_fop *fop)
{
  bool plain = fop->args.flags == GI_XATTROP_GET_AND_SET;
  for (uint32_t i = 0; !plain && i < gi_dict_count(fop->args.dict); i++)
    plain = strncmp(gi_dict_at(fop->args.dict, i)->key, AC_XATTR_TRUSTED, sizeof(AC_XATTR_TRUSTED) - 1) != 0;
  return plain ? ac_setxattr(x, fop) : GI_PASS;
}

/* Only user attributes need permission to read; the others guard themselves or are nobody's secret (xattr(7)). */
enum gi_verdict
ac_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  if (!fop->args.name || strncmp(fop->args.name, AC_XATTR_USER, sizeof(AC_XATTR_USER) - 1) != 0)
    return GI_PASS;
  return check_target(x, fop, AC_R, ac_getxattr);
}
