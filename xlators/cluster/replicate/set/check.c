/* SPDX-License-Identifier: Apache-2.0
 *
 * What always holds of the state of a replica set.
 */
#include "xlators/cluster/replicate/set/set.h"

#include "libglusterish/probe.h"

void
rep_check(const struct rep *rep)
{
  GI_CHECK(rep, REP_MAGIC);
  GI_ASSERT(rep->n >= 1 && rep->n <= REP_MAX && rep->all == (1u << rep->n) - 1);
  GI_ASSERT(!(rep->arbiter & ~rep->all) && !(rep->arbiter & (rep->arbiter - 1))); /* one at most */
  GI_ASSERT(!(rep->heard & ~rep->all));
  GI_ASSERT(!(rep->connected & ~rep->heard));
  GI_ASSERT(!(rep->up & ~rep->connected));
  GI_ASSERT(!(rep->healthy & ~rep->up));
  GI_ASSERT(!((rep->regions | rep->local_copy | rep->preamble | rep->truncates | rep->noreplace) & ~rep->all));
  GI_ASSERT(rep->local < (int)rep->n);
  GI_ASSERT(rep->generation != 0);
  GI_ASSERT(!rep->drained || rep->draining);
  GI_ASSERT(rep->quiescing || gi_list_empty(&rep->held_back));
  GI_ASSERT(gi_list_empty(&rep->txns) || rep->busy[REP_WORK_TXNS]);
  GI_ASSERT(gi_list_empty(&rep->heal_queue) == !rep->heal_queue_length);
  GI_ASSERT(gi_list_empty(&rep->locks) || rep->busy[REP_WORK_MESSAGES]);
  for (unsigned i = 0; i < rep->n; i++)
    GI_ASSERT(rep->pending_key[i]);
}

void
rep_inode_check(const struct rep *rep, const struct rep_inode *ri)
{
  GI_ASSERT(ri->epoch == rep->epoch);
  GI_ASSERT(!((ri->data_readable | ri->meta_readable) & (~rep->all | rep->arbiter))); /* the arbiter is never read */
  GI_ASSERT(!((ri->outdated | ri->data_accused) & ~rep->all));
  GI_ASSERT(ri->unsynced == REP_UNSYNCED_ALL || !(ri->unsynced & ~rep->all));
  GI_ASSERT(!(ri->data_readable & ri->data_accused) || GI_BROKEN("read copies that are blamed"));
  GI_ASSERT(ri->choice >= 0 && ri->choice <= (int)rep->n);
  GI_ASSERT(!ri->range_lock_until || ri->range_lock_ns);
  for (int i = 0; i < 2; i++)
    GI_ASSERT(gi_list_empty(&ri->frozen[i]) || ri->session[i]); /* its end lets them go */
}

void
rep_fd_check(const struct rep *rep, const struct rep_fd *rf)
{
  GI_ASSERT(rf->epoch == rep->epoch);
  GI_ASSERT(!((rf->opened | rf->refused) & ~rep->all));
  GI_ASSERT(!((uint32_t)(rf->away | rf->lost | rf->safe) & ~rep->all));
  GI_ASSERT(!(rf->away & rf->lost));
  GI_ASSERT(!rf->dead || rf->doubt);
  GI_ASSERT(rf->reader >= REP_READER_GONE && rf->reader <= (int)rep->n);
}
