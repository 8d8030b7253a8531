/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that a rebalance has moved to another brick: its locks are there now.
 * The SETATTR that makes it a linkto file says so (GI_MOVED_KEY). It is refused
 * while somebody has a POSIX lock; once it is let pass nobody gets one here, and
 * who waits for one is sent away. In between there is nothing: a lock is either
 * seen by the rebalance, or was never granted.
 *
 * From its mode everybody learns that it is elsewhere. Who would give it another
 * one has not learnt that yet: what is written next to what looks like the file
 * would go with it. So ESTALE is the answer, which makes clients look for it.
 *
 * It may come back. Then a rebalance empties what is here, to which clients make
 * their changes as well from now on, or gives it a file's mode; or a healer does,
 * if this brick missed that.
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

static enum gi_verdict
told(struct gi_xlator *x, struct gi_fop *fop, bool moved)
{
  struct lk_inode *li = lk_inode_get(x, gi_fop_inode(fop));
  struct gi_list ready = GI_LIST_INIT(ready);

  if (moved && locked_by_others(li, fop))
    return gi_fop_fail(fop, EBUSY);
  li->moved = moved;
  if (moved) {
    lk_inode_use(x, li);
    lk_posix_clear(x, li, &(struct lk_filter){.blocked = true}, ESTALE, &ready);
    lk_inode_unuse(x, li);
    lk_ready_run(x, &ready);
  }
  ((struct lk_fop *)gi_fop_private(fop, x))->moves = moved;
  GI_IGNORE(lk_counts(x, fop)); /* the reply is looked at anyway */
  return GI_PASS_TELL;
}

enum gi_verdict
lk_moved_setattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));
  uint64_t moved;

  if (fop->caller.pid < 0 && gi_fop_inode(fop) && gi_dict_get_uint(fop->xdata, GI_MOVED_KEY, &moved))
    return told(x, fop, moved != 0);
  if (!li || !li->moved || !(fop->args.valid & GI_SET_MODE) || (fop->args.iatt.mode & 07777) == GI_LINKTO_MODE)
    return lk_counts(x, fop);
  if (fop->caller.pid >= 0)
    return gi_fop_fail(fop, ESTALE);
  li->moved = false; /* it is back */
  return lk_counts(x, fop);
}

enum gi_verdict
lk_moved_truncate(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));

  if (li && fop->caller.pid == GI_PID_REBALANCE)
    li->moved = false;
  return lk_mandatory_io(x, fop);
}

void
lk_moved_failed(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));

  GI_ASSERT(fop->rsp.ret < 0);
  if (li)
    li->moved = false;
}
