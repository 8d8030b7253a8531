/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that a rebalance has moved to another brick: its locks are there now.
 * The SETATTR that makes it a linkto file says so (GI_MOVED_KEY). It is refused
 * while somebody has a POSIX lock; once it is let pass nobody gets one here, and
 * who waits for one is sent away. In between there is nothing: a lock is either
 * seen by the rebalance, or was never granted.
 */
#include "xlators/features/locks/locks.h"

#include "libglusterish/extension.h"

static bool
locked_by_others(const struct lk_inode *li, const struct gi_fop *fop)
{
  gi_list_foreach(l, &li->posix, struct lk_posix, link) {
    if (l->who.client != fop->caller.client)
      return true;
  }
  return false;
}

enum gi_verdict
lk_moved_setattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_list ready = GI_LIST_INIT(ready);
  struct lk_inode *li;
  uint64_t moved;

  if (!gi_dict_get_uint(fop->xdata, GI_MOVED_KEY, &moved) || fop->caller.pid >= 0 || !gi_fop_inode(fop))
    return lk_counts(x, fop);
  li = lk_inode_get(x, gi_fop_inode(fop));
  if (moved && locked_by_others(li, fop))
    return gi_fop_fail(fop, EBUSY);
  li->moved = moved != 0;
  if (li->moved) {
    lk_inode_use(x, li);
    lk_posix_clear(x, li, &(struct lk_filter){.blocked = true}, ESTALE, &ready);
    lk_inode_unuse(x, li);
    lk_ready_run(x, &ready);
  }
  ((struct lk_fop *)gi_fop_private(fop, x))->moves = moved != 0;
  GI_IGNORE(lk_counts(x, fop)); /* the reply is looked at anyway */
  return GI_PASS_TELL;
}

void
lk_moved_failed(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));

  GI_ASSERT(fop->rsp.ret < 0);
  if (li)
    li->moved = false;
}
