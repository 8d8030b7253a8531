/* SPDX-License-Identifier: Apache-2.0
 *
 * Polls: between crawls the self-heal daemon asks its local bricks every few seconds
 * how many names their heal indices hold. It crawls when there are any, or when
 * there are none any more and the anonymous directory is still to be cleaned. No
 * connection event announces every need for a heal: a brick may be away from an
 * application and not from the daemon (a network that is cut in one direction, a
 * frozen process that nobody here talked to), and a client may die and leave marks.
 *
 * A poll costs two questions per brick. While crawls achieve nothing (files that are
 * being written are dirty all the time) polls become rarer, down to one per
 * heal-timeout.
 */
#include "xlators/cluster/replicate/shd/shd.h"

static uint64_t
indexed(struct rep_shd *shd)
{
  uint64_t n = 0;

  rep_shd_locate(shd);
  rep_foreach(i, rep_shd_local(shd)) if (rep_shd_count(shd, i)) n += shd->brick[i].pending + shd->brick[i].dirty;
  return n;
}

/* Whether this poll may start a crawl: not while the last ones were in vain. */
static bool
due(struct rep_shd *shd)
{
  struct rep_poll *g = &shd->poll;

  if (g->progress != shd->queue.progress)
    g->skip = 0;
  g->progress = shd->queue.progress;
  if (g->skipped < g->skip) {
    g->skipped++;
    return false;
  }
  g->skipped = 0;
  g->skip = g->skip ? 2 * g->skip : 1;
  return true;
}

static void
poll_bricks(void *arg)
{
  struct rep_shd *shd = arg;

  GI_CHECK(shd, REP_SHD_MAGIC);
  GI_ASSERT(shd->poll.looking);
  if (!indexed(shd)) {
    shd->poll.skip = shd->poll.skipped = 0;
    if (shd->unclean)
      rep_shd_wake(shd, true, false);
  } else if (due(shd)) {
    rep_shd_wake(shd, true, false);
  }
  shd->poll.looking = false;
  rep_shd_poll_later(shd);
}

void
rep_shd_poll(struct rep_shd *shd)
{
  struct rep *rep = shd->rep;

  if (shd->poll.looking || shd->stopping)
    return;
  if (shd->crawling || rep->up != rep->all || !rep_shd_crawls(shd)) { /* nothing can be healed while a brick is missing */
    rep_shd_poll_later(shd);
    return;
  }
  shd->poll.looking = true;
  gi_task_start(rep->x->reactor, poll_bricks, shd);
}

static void
poll_timed_out(void *arg)
{
  rep_shd_poll(arg);
}

void
rep_shd_poll_later(struct rep_shd *shd)
{
  if (!shd->stopping)
    gi_timer_set(&shd->poll.timer, REP_SHD_POLL_S * GI_NSEC_PER_SEC);
}

void
rep_shd_poll_init(struct rep_shd *shd)
{
  gi_timer_init(&shd->poll.timer, shd->rep->x->reactor, poll_timed_out, shd);
  rep_shd_poll_later(shd);
}
