/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock by which features/shard keeps the size of a file, an INODELK in the
 * domain of its name. A rebalance moves the file only with that lock. Who waits for
 * it then gets it on the source, where it keeps nobody away; so does who has not
 * heard of the move. features/shard looks at the size when it has the lock: if the
 * file turns out to be elsewhere it is told, gives the lock back where it has it,
 * and takes it where the file is.
 */
#include "xlators/cluster/distribute/di.h"

enum gi_verdict
di_inodelk(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  struct gi_inode *inode = gi_fop_inode(fop);
  struct di_inode *i = inode ? di_inode_of(d, inode) : NULL;
  struct gi_xlator *at = i ? i->size_at : NULL;

  if (!at || fop->args.type != GI_LK_UNLOCK || !di_keeps_size(d, fop))
    return di_on_inode(x, fop);
  i->size_at = NULL;
  if (di_index(d, at) < 0) /* it has left, and dropped its locks */
    return di_on_inode(x, fop);
  gi_fop_forward_to(fop, x, at);
  return GI_HELD;
}
