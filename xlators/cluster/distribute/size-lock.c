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

static bool
keeps_size(const struct di *d, const struct gi_fop *fop)
{
  return fop->args.domain && strcmp(fop->args.domain, d->size_domain) == 0;
}

enum gi_verdict
di_inodelk(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  struct gi_inode *inode = gi_fop_inode(fop);
  struct di_inode *i = inode ? di_inode_of(d, inode) : NULL;
  struct gi_xlator *at = i ? i->size_at : NULL;

  if (!at || fop->args.type != GI_LK_UNLOCK || !keeps_size(d, fop))
    return di_on_inode(x, fop);
  i->size_at = NULL;
  if (di_index(d, at) < 0) /* it has left, and dropped its locks */
    return di_on_inode(x, fop);
  gi_fop_forward_to(fop, x, at);
  return GI_HELD;
}

void
di_size_locked(struct di *d, struct gi_fop *fop)
{
  GI_ASSERT(fop->kind == GI_FOP_INODELK && fop->rsp.ret >= 0);
  if (gi_fop_inode(fop) && fop->args.type != GI_LK_UNLOCK && keeps_size(d, fop))
    di_inode_of(d, gi_fop_inode(fop))->size_at = di_fop_of(fop, d)->to;
}

void
di_size_moved(struct di *d, const struct gi_inode *inode, const struct gi_xlator *child)
{
  const struct di_inode *i = di_inode_of(d, inode);
  struct gi_contention c = {.gfid = inode->gfid, .domain = d->size_domain, .moved = true};

  GI_ASSERT(child);
  if (__builtin_expect(i->size_at && i->size_at != child, 0))
    gi_notify_up(d->x, GI_EVENT_CONTENTION, &c);
}
