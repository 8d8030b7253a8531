/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the POSIX locks of a descriptor still keep others out.
 *
 * A brick drops the locks with the connection. The connection layer takes them
 * again and tells the result (GI_EVENT_LOCKS). While a quorum of children has held
 * them without a break, no other client can have got a quorum. With fewer the
 * descriptor is in doubt, and operations through it are answered ENOTCONN, those
 * that were under way when it began, too (rep_fd_errno in set/state.c). The
 * doubt ends when children return that know that nobody else had the locks
 * meanwhile (safe children). If the children that may be safe are no quorum, the
 * descriptor is dead: EBADFD until it is closed, because its locks kept nobody out.
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/probe.h"

static uint32_t
holders(const struct rep *rep, const struct rep_fd *rf)
{
  return rep->all & ~(uint32_t)(rf->away | rf->lost);
}

static void
judge_doubt(struct rep *rep, struct rep_fd *rf, const struct gi_fd *fd)
{
  char gfid[GI_UUID_TEXT];

  if (rep_quorum(rep, holders(rep, rf) & rf->safe)) {
    rf->doubt = false;
    GI_PROBE("replicate: a descriptor's locks were in doubt and have held");
  } else if (!rep_quorum(rep, rf->safe)) {
    rf->dead = true;
    GI_PROBE("replicate: a descriptor is dead because another client may have had its locks");
    gi_log(GI_LOG_ERROR, rep->x->name, GI_MSG_REPLICATE + 7,
           "descriptor of %s is bad from now on: too many bricks dropped its locks at the same time, another client may have "
           "had them",
           gi_gfid_text(&fd->inode->gfid, gfid));
  }
}

void
rep_held_news(struct rep *rep, unsigned child, struct gi_lock_news *news)
{
  struct rep_fd *rf = rep_fd(rep, news->fd);
  uint16_t bit = (uint16_t)(1u << child);

  GI_ASSERT(child < rep->n && !news->fd->anonymous);
  news->judged = true;
  rf->away &= (uint16_t)~bit;
  rf->lost &= (uint16_t)~bit;
  if (news->state == GI_LOCKS_AWAY)
    rf->away |= bit;
  else if (news->state == GI_LOCKS_LOST)
    rf->lost |= bit;
  if (news->state == GI_LOCKS_LOST || (news->state == GI_LOCKS_HELD && !news->unbroken))
    rf->safe &= (uint16_t)~bit;
  if (!rf->doubt && !rep_quorum(rep, holders(rep, rf)) && !GI_BROKEN("believe in locks that a majority dropped")) {
    rep->locks_doubted = rf->doubt = true;
    rf->safe = (uint16_t)(rep->all & ~(uint32_t)rf->lost);
  }
  if (rf->doubt && !rf->dead)
    judge_doubt(rep, rf, news->fd);
  rep_fd_check(rep, rf);
}
