/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of the self-heal daemon of a replica set: when it crawls, when it
 * stops, and how the throttle reaches the window and the queue.
 */
#include "xlators/cluster/replicate/shd/shd.h"

static const struct rep_heal_options *
opts(const struct rep_shd *shd)
{
  return &rep_opts(shd->rep)->heal;
}

bool
rep_shd_crawls(const struct rep_shd *shd)
{
  return !shd->stopping && opts(shd)->self_heal_daemon && __builtin_popcount(shd->rep->up) >= 2;
}

/* ---- throttle ---- */

static void
apply_throttle(struct rep_shd *shd)
{
  gi_window_resize(&shd->rep->heal_window, shd->throttle.window);
  rep_queue_resize(&shd->queue, (unsigned)opts(shd)->shd_wait_qlength, shd->throttle.parallel);
}

/* Looking at the bricks now and then is no heal, and tells nothing about what heals cost. */
void
rep_shd_answer(struct rep *rep, unsigned child, const struct gi_fop *fop)
{
  struct rep_shd *shd = rep->shd;
  struct gi_load load;
  bool reported;
  unsigned short_of;

  if (!shd->queue.running)
    return;
  reported = gi_load_get(fop->rsp.xdata, &load);
  short_of =
      (gi_list_empty(&rep->heal_window.waiting) ? 0 : REP_THROTTLE_WINDOW) | (shd->queue.waiting ? REP_THROTTLE_PARALLEL : 0);
  shd->throttle.children = rep->up;
  if (rep_throttle_answer(&shd->throttle, child, reported ? &load : NULL, short_of, gi_now(rep->x->reactor)))
    apply_throttle(shd);
}

/* The number is a limit only if the administrator set it. */
static void
apply_options(struct rep_shd *shd)
{
  bool set = gi_xlator_option(shd->rep->x, "shd-max-threads") != NULL;

  rep_throttle_limit(&shd->throttle, set ? (unsigned)opts(shd)->shd_max_threads : 0);
  apply_throttle(shd);
}

/* ---- crawling ---- */

static void
wait_for_timeout(struct rep_shd *shd)
{
  if (!shd->stopping)
    gi_timer_set(&shd->timer, (uint64_t)opts(shd)->heal_timeout * GI_NSEC_PER_SEC);
}

static void
crawl_task(void *arg)
{
  struct rep_shd *shd = arg;

  rep_throttle_begin(&shd->throttle, gi_now(shd->rep->x->reactor));
  apply_throttle(shd);
  rep_queue_start(&shd->queue);
  rep_shd_begin(shd);
  rep_shd_crawl(shd);
  GI_CHECK(shd, REP_SHD_MAGIC);
  GI_ASSERT(shd->crawling);
  shd->crawling = false;
  rep_shd_end(shd);
  wait_for_timeout(shd);
  rep_shd_wake(shd, false, false); /* what was wanted while it ended */
}

static void
start_crawl(void *arg)
{
  struct rep_shd *shd = arg;
  struct rep *rep = shd->rep;

  if (shd->crawling || rep->heard != rep->all || !rep_shd_crawls(shd) || !(shd->want_index || shd->want_full))
    return;
  GI_ASSERT(!shd->crawling && rep->shd == shd);
  shd->crawling = true;
  gi_timer_cancel(&shd->timer);
  gi_task_start(rep->x->reactor, crawl_task, shd);
}

void
rep_shd_wake(struct rep_shd *shd, bool index, bool full)
{
  shd->want_index |= index;
  shd->want_full |= full;
  if (!shd->stopping)
    gi_defer_add(shd->rep->x->reactor, &shd->start);
}

static void
timed_out(void *arg)
{
  struct rep_shd *shd = arg;

  wait_for_timeout(shd); /* for the case that it may not start now */
  rep_shd_wake(shd, true, false);
}

/* ---- events ---- */

void
rep_shd_children(struct rep *rep, uint32_t before)
{
  struct rep_shd *shd = rep->shd;

  rep_foreach(i, before ^ rep->up) shd->brick[i].asked = false; /* it may come back from another host */
  rep_throttle_forget(&shd->throttle, ~rep->up);
  if (!rep_shd_crawls(shd))
    rep_queue_stop(&shd->queue);
  else
    rep_shd_wake(shd, rep->up & ~before, false);
}

void
rep_shd_down(struct rep *rep)
{
  struct rep_shd *shd = rep->shd;

  if (!shd)
    return;
  shd->stopping = true;
  gi_timer_cancel(&shd->timer);
  gi_timer_cancel(&shd->poll.timer);
  rep_queue_stop(&shd->queue);
}

void
rep_shd_reconfigure(struct rep *rep)
{
  struct rep_shd *shd = rep->shd;

  if (!shd)
    return;
  apply_options(shd);
  if (!rep_shd_crawls(shd)) {
    rep_queue_stop(&shd->queue);
    return;
  }
  if (!shd->crawling)
    wait_for_timeout(shd);
  rep_shd_wake(shd, true, false);
}

/* ---- begin and end ---- */

void
rep_shd_init(struct rep *rep)
{
  struct rep_shd *shd;

  if (!rep_opts(rep)->heal.iam_self_heal_daemon)
    return;
  shd = gi_new(struct rep_shd);
  shd->magic = REP_SHD_MAGIC;
  shd->rep = rep;
  shd->engine = &rep_shd_engine;
  rep->shd = shd;
  rep->on_answer = rep_shd_answer;
  rep->on_members = rep_shd_children;
  gi_list_init(&shd->splits);
  rep_queue_init(&shd->queue, rep->x->reactor, rep_shd_heal, shd);
  rep_throttle_init(&shd->throttle);
  gi_defer_init(&shd->start, start_crawl, shd);
  gi_timer_init(&shd->timer, rep->x->reactor, timed_out, shd);
  apply_options(shd);
  wait_for_timeout(shd);
  rep_shd_poll_init(shd);
}

void
rep_shd_finish(struct rep *rep)
{
  struct rep_shd *shd = rep->shd;

  if (!shd)
    return;
  GI_CHECK(shd, REP_SHD_MAGIC);
  GI_ASSERT(!shd->crawling && !shd->poll.looking && !shd->questions);
  gi_timer_finish(&shd->timer);
  gi_timer_finish(&shd->poll.timer);
  gi_defer_cancel(&shd->start);
  rep_queue_finish(&shd->queue);
  rep_shd_forget_splits(shd);
  GI_ASSERT(!shd->nsplits && gi_list_empty(&shd->splits));
  shd->magic = 0;
  gi_free(shd);
  rep->on_answer = NULL;
  rep->on_members = NULL;
  rep->shd = NULL;
}
