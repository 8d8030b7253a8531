/* SPDX-License-Identifier: Apache-2.0
 *
 * When a name last left a directory. Who lists several bricks one after the other asks with each listing: a file that has gone from here since
 * the first of them was listed may be where that was (cluster/distribute).
 *
 * A listing that is answered while a name is leaving may have it or not. Of a directory that has been forgotten no more is known than when the last
 * name left one of those, or, at first, when this process began.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/reactor.h"

void
posix_left_begin(struct posix_op *op)
{
  GI_ASSERT(!op->leaves && !gi_gfid_is_none(&op->node[NODE_PARENT].gfid));
  op->leaves = gi_inode_get(op->fop->graph, &op->node[NODE_PARENT].gfid);
  posix_inode_of(op->p, op->leaves)->leaving++;
}

void
posix_left_end(struct posix_op *op)
{
  struct posix_inode *pi = op->leaves ? posix_inode_of(op->p, op->leaves) : NULL;

  if (!pi)
    return;
  GI_ASSERT(pi->leaving > 0);
  pi->leaving--;
  pi->left = gi_now(op->x->reactor);
  gi_inode_unref(&op->leaves);
}

void
posix_left_forget(struct posix *p, const struct posix_inode *pi)
{
  GI_ASSERT(pi->leaving == 0);
  p->left = pi->left > p->left ? pi->left : p->left;
}

void
posix_left_tell(struct posix_op *op)
{
  const struct posix_inode *pi = posix_inode_of(op->p, op->fop->fd->inode);

  if (op->fop->rsp.ret < 0 || !gi_dict_get(op->fop->xdata, GI_LEFT_KEY))
    return;
  gi_dict_set_uint(gi_fop_rsp_xdata(op->fop), GI_LEFT_KEY, pi->leaving ? 0 : gi_now(op->x->reactor) - pi->left);
}
