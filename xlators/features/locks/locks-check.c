/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold of locks and of the inodes they are on, wherever one comes or
 * goes.
 */
#include "xlators/features/locks/locks.h"

void
lk_inode_check(const struct lk_inode *li)
{
  GI_CHECK(li, LK_INODE_MAGIC);
  GI_CHECK(li->inode, GI_INODE_MAGIC);
  GI_ASSERT((li->users == 0) == gi_list_empty(&li->link)); /* in the list of those in use */
  GI_ASSERT((li->ndomains == 0) == gi_list_empty(&li->domains));
  if (li->users)
    return;
  GI_ASSERT(gi_list_empty(&li->posix) && gi_list_empty(&li->posix_blocked)); /* each of them is a user */
  GI_ASSERT(gi_list_empty(&li->io_waiting));
}

/* The counters say what the lists have. */
void
lk_queue_check(const struct lk_queue *q)
{
  GI_ASSERT((q->ngranted == 0) == gi_list_empty(&q->granted));
  GI_ASSERT((q->nblocked == 0) == gi_list_empty(&q->blocked));
}

void
lk_lock_check(const struct lk_lock *l, enum lk_kind kind)
{
  GI_CHECK(l, LK_LOCK_MAGIC);
  GI_ASSERT(kind < LK_KINDS);
  if (l->fop)
    GI_CHECK(l->fop, GI_FOP_MAGIC);
  if (kind == LK_ENTRY)
    return;
  GI_ASSERT(!l->name);
  GI_ASSERT(l->type == GI_LK_READ || l->type == GI_LK_WRITE);
  GI_ASSERT(l->start <= l->last);
}

void
lk_posix_check(const struct lk_posix *l)
{
  GI_CHECK(l, LK_POSIX_MAGIC);
  GI_ASSERT(l->type == GI_LK_READ || l->type == GI_LK_WRITE);
  GI_ASSERT(l->start <= l->last);
  if (l->fop)
    GI_CHECK(l->fop, GI_FOP_MAGIC);
  if (l->fd)
    GI_CHECK(l->fd, GI_FD_MAGIC);
}
