/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata operations: attributes and extended attributes. They take the
 * metadata lock of the inode, one after another, and need at least one copy
 * whose metadata nobody accuses (replicate.md 6.1, 6.2).
 */
#include "xlators/cluster/replicate/ops/ops.h"

static bool
names_private(const struct gi_dict *dict)
{
  for (uint32_t i = 0; i < gi_dict_count(dict); i++)
    if (rep_marks_private_xattr(gi_dict_at(dict, i)->key))
      return true;
  return false;
}

/* Commands of the management (which took its own already) and of the split-brain tools: refused, never stored. */
static bool
is_command(const struct gi_dict *dict)
{
  static const char *const name[] = {"trusted.add-brick", "trusted.replace-brick"};

  for (size_t i = 0; i < GI_ARRAY_LEN(name); i++)
    if (gi_dict_get(dict, name[i]))
      return true;
  return false;
}

static int
refused(const struct gi_fop *fop)
{
  switch (fop->kind) {
  case GI_FOP_SETXATTR:
  case GI_FOP_FSETXATTR:
    if (is_command(fop->args.dict))
      return EPERM;
    return names_private(fop->args.dict) ? EPERM : 0;
  case GI_FOP_XATTROP:
  case GI_FOP_FXATTROP:
    return names_private(fop->args.dict) ? EPERM : 0;
  case GI_FOP_REMOVEXATTR:
  case GI_FOP_FREMOVEXATTR:
    return fop->args.name && rep_marks_private_xattr(fop->args.name) ? EPERM : 0;
  default:
    return 0;
  }
}

static void
meta_checked(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct gi_inode *inode = rep_fop_inode(fop);

  if (!err && !(rep_inode(rep, inode)->meta_readable & rep->up))
    err = rep_unreadable(rep); /* split-brain, or only stale copies are up */
  GI_ASSERT(err >= 0 && inode);
  if (err)
    rep_answer(rep, fop, -1, err);
  else
    rep_session_submit(rep, fop, REP_META);
}

static void
meta_opened(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct gi_inode *inode = rep_fop_inode(fop);

  if (rep_inode_fresh(rep, inode))
    meta_checked(fop, 0);
  else
    rep_refresh(rep, fop, inode, meta_checked);
}

static void
meta_again(struct rep *rep, struct gi_fop *fop)
{
  rep_session_submit(rep, fop, REP_META);
}

const struct rep_txn_ops rep_meta_ops = {
    .open = rep_session_pump,
    .refused = rep_session_refused,
    .send = rep_op_send,
    .done = rep_session_op_done,
    .again = meta_again,
};

enum gi_verdict
rep_on_meta(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct rep_fop *rf = rep_fop(rep, fop);
  int err;

  if (rep_new_brick_command(rep, fop))
    return GI_HELD;
  if ((fop->kind == GI_FOP_SETXATTR || fop->kind == GI_FOP_FSETXATTR) && rep_ready(rep) && rep_split_set(rep, fop))
    return GI_HELD;
  err = refused(fop);
  if (err)
    return gi_fop_fail(fop, err);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (!rep_fop_inode(fop))
    return gi_fop_fail(fop, EINVAL);
  rf->start = 0;
  rf->end = UINT64_MAX;
  if (fop->kind == GI_FOP_FSETATTR)
    rep_late_open(rep, fop, meta_opened);
  else
    meta_opened(fop, 0);
  return GI_HELD;
}
