/* SPDX-License-Identifier: Apache-2.0
 *
 * features/access-control: permissions at the brick.
 *
 * The kernel of a FUSE client checks already; this checks again for clients
 * whose word is not enough (libgfapi, NFS, a hostile one), with mode bits and
 * POSIX ACLs, and gives new objects the ACL they inherit. Root and internal
 * clients (pid < 0) may do everything. Locks are never checked: they are above.
 *
 * Cost: reads and writes through an open descriptor are not checked; other
 * checks use what is cached per inode.
 */
#include "xlators/features/access-control/access-control.h"

#include "libglusterish/content.h"

static void
strip(struct gi_fop *fop, const char *key)
{
  if (gi_dict_get(fop->rsp.xdata, key))
    gi_dict_del(gi_fop_rsp_xdata(fop), key);
}

static bool
may_read(struct gi_xlator *x, const struct gi_fop *fop)
{
  struct gi_inode *inode = gi_inode_find(fop->graph, &fop->rsp.stat.gfid);
  const struct ac_inode *ai = inode ? ac_inode(x, inode) : NULL;
  bool may = ai && ai->known && ac_allows(ai, &fop->caller, AC_R);
  gi_inode_unref(&inode);
  return may;
}

/* Content goes to whoever could open the file, and with it the word that he can (extension.h). */
static void
complete_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ac_fop *af = gi_fop_private(fop, x);
  if (af->learns) {
    ac_learn(x, fop, &fop->rsp.stat, fop->rsp.xdata);
    if (!af->asked_access)
      strip(fop, AC_ACCESS_KEY);
    if (!af->asked_default)
      strip(fop, AC_DEFAULT_KEY);
  }
  if (gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY) && !ac_super(&fop->caller) && !may_read(x, fop))
    gi_content_drop(fop);
}

/* What was just made needs no look-up: its ACLs are the ones it was given. */
static void
complete_create(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ac_fop *af = gi_fop_private(fop, x);
  const struct gi_iatt *st = &fop->rsp.stat;
  if (fop->rsp.ret < 0 || !gi_iatt_valid(st) || gi_gfid_is_none(&st->gfid)) {
    gi_free(af->access);
    gi_free(af->dflt);
  } else {
    struct gi_inode *inode = gi_inode_get(fop->graph, &st->gfid);
    struct ac_inode *ai = ac_inode(x, inode);
    ac_forget(ai);
    ac_learn_iatt(ai, st);
    ai->access = af->access;
    ai->dflt = af->dflt;
    ai->known = !ac_may_open(fop);
    gi_inode_unref(&inode);
  }
  af->access = af->dflt = NULL;
}

static enum gi_verdict
ac_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode;
  switch (fop->kind) {
  case GI_FOP_CREATE:
  case GI_FOP_MKNOD:
  case GI_FOP_MKDIR:
  case GI_FOP_SYMLINK:
    complete_create(x, fop);
    return GI_PASS;
  case GI_FOP_LOOKUP:
    if (fop->rsp.ret >= 0)
      complete_lookup(x, fop);
    return GI_PASS;
  default:
    break;
  }
  inode = gi_fop_inode(fop);
  if (!inode)
    return GI_PASS;
  bool setattr = fop->kind == GI_FOP_SETATTR || fop->kind == GI_FOP_FSETATTR;
  const struct gi_iatt *st = gi_reply_attr(fop, GI_OF_OBJECT);
  /* A change of mode rewrites the ACL's mask too. After a failure half of it may have happened. */
  if (setattr && fop->rsp.ret >= 0 && st && !ac_inode(x, inode)->access) {
    if (ac_inode(x, inode)->known)
      ac_learn_iatt(ac_inode(x, inode), st);
  } else {
    ac_forget(ac_inode(x, inode));
  }
  return GI_PASS;
}

static void
ac_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  ac_forget(bytes);
}

static int
ac_init(struct gi_xlator *x, struct gi_error *err)
{
  struct ac_private *p = gi_new(struct ac_private);
  p->magic = AC_MAGIC;
  x->private = p;
  x->metrics = &p->metrics;
  x->enabled = ((const struct ac_options *)x->options)->acl;
  return 0;
}

/* Told to every translator that stays or comes back. One that comes back has not seen what was changed meanwhile. */
static void
ac_commit(struct gi_xlator *x)
{
  ac_private(x)->generation++;
}

static void
ac_finish(struct gi_xlator *x)
{
  gi_free(x->private);
}

static const struct gi_option ac_table[] = {
    {.name = "acl",
     .key = "features.acl",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct ac_options, acl),
     .def = "enable",
     .side = GI_SIDE_BRICK,
     .level = 2,
     .op_version = 80000,
     .since = "0.1",
     .text = "Check permissions and POSIX ACLs on the brick and let new objects inherit ACLs; off trusts the clients."},
    GI_OPTION_END,
};

static const struct gi_metric ac_metrics_table[] = {
    GI_METRIC(struct ac_metrics, checked, "", "permission checks"),
    GI_METRIC(struct ac_metrics, refused, "", "operations refused"),
    GI_METRIC(struct ac_metrics, fetched, "", "look-ups made to learn owner, mode and ACLs"),
    GI_METRIC(struct ac_metrics, inherited, "", "objects that inherited an ACL"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/access-control",
    .version = GI_VERSION,
    .summary = "Permissions and POSIX ACLs on the brick",
    .layer = {{.side = GI_SIDE_BRICK,
               .above = {"storage/posix", "features/arbiter"},
               .key = "features.acl",
               .def = "enable",
               .since = "0.1",
               .text = "Check POSIX access control lists on the bricks."}},
    .min_children = 1,
    .max_children = 1,
    .options = ac_table,
    .options_bytes = sizeof(struct ac_options),
    .metrics = ac_metrics_table,
    .fop_bytes = sizeof(struct ac_fop),
    .inode_bytes = sizeof(struct ac_inode),
    .on =
        {
            [GI_FOP_LOOKUP] = ac_lookup,        [GI_FOP_OPEN] = ac_open,
            [GI_FOP_OPENDIR] = ac_opendir,      [GI_FOP_READDIR] = ac_fd_io,
            [GI_FOP_READDIRP] = ac_fd_io,       [GI_FOP_READ] = ac_fd_io,
            [GI_FOP_WRITE] = ac_fd_io,          [GI_FOP_FTRUNCATE] = ac_fd_io,
            [GI_FOP_FALLOCATE] = ac_fd_io,      [GI_FOP_DISCARD] = ac_fd_io,
            [GI_FOP_ZEROFILL] = ac_fd_io,       [GI_FOP_COPY_FILE_RANGE] = ac_copy,
            [GI_FOP_TRUNCATE] = ac_truncate,    [GI_FOP_ACCESS] = ac_access,
            [GI_FOP_CREATE] = ac_create,        [GI_FOP_MKNOD] = ac_create,
            [GI_FOP_MKDIR] = ac_create,         [GI_FOP_SYMLINK] = ac_create,
            [GI_FOP_UNLINK] = ac_remove,        [GI_FOP_RMDIR] = ac_remove,
            [GI_FOP_RENAME] = ac_rename,        [GI_FOP_LINK] = ac_link,
            [GI_FOP_SETATTR] = ac_setattr,      [GI_FOP_FSETATTR] = ac_setattr,
            [GI_FOP_SETXATTR] = ac_setxattr,    [GI_FOP_FSETXATTR] = ac_setxattr,
            [GI_FOP_REMOVEXATTR] = ac_setxattr, [GI_FOP_FREMOVEXATTR] = ac_setxattr,
            [GI_FOP_XATTROP] = ac_xattrop,      [GI_FOP_FXATTROP] = ac_xattrop,
            [GI_FOP_GETXATTR] = ac_getxattr,    [GI_FOP_FGETXATTR] = ac_getxattr,
        },
    .complete = ac_complete,
    .init = ac_init,
    .reconfigure_commit = ac_commit,
    .finish = ac_finish,
    .inode_forget = ac_inode_forget,
};
