/* SPDX-License-Identifier: Apache-2.0
 *
 * What both reactors share: the calls that go through the table of operations
 * and the list of deferred calls.
 */
#include "libglusterish/reactor.h"

void
gi_reactor_free(struct gi_reactor *r)
{
  if (r)
    r->ops->free(r);
}

void
gi_reactor_run(struct gi_reactor *r)
{
  r->ops->run(r);
}

void
gi_reactor_stop(struct gi_reactor *r)
{
  r->ops->stop(r);
}

void
gi_reactor_turn(struct gi_reactor *r, uint64_t wait_ns)
{
  r->ops->turn(r, wait_ns);
}

void
gi_reactor_set_poll(struct gi_reactor *r, uint64_t ns)
{
  if (r->ops->set_poll)
    r->ops->set_poll(r, ns);
}

void
gi_reactor_set_workers(struct gi_reactor *r, unsigned workers)
{
  r->ops->set_workers(r, workers);
}

/* ---- clocks and chance ---- */

uint64_t
gi_now(struct gi_reactor *r)
{
  return r->ops->now(r);
}

#define RATE_ONE (1ull << 32)

uint64_t
gi_ns_ticks(const struct gi_reactor *r, uint64_t ns)
{
  unsigned __int128 ticks = ((unsigned __int128)ns << 32) / (r->rate.counter ? r->rate.ns_per_tick : RATE_ONE);

  return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

uint64_t
gi_now_reread(struct gi_reactor *r, uint64_t ticks)
{
  uint64_t ns;

  GI_ASSERT(r->rate.counter && r->rate.ns_per_tick > 0 && r->rate.ns_per_tick < RATE_ONE);
  r->rate.ns = gi_now(r);
  r->rate.ticks = gi_ticks(r);
  ns = gi_ticks_ns(r, r->rate.ticks - ticks);
  return ns < r->rate.ns ? r->rate.ns - ns : 0;
}

struct gi_time
gi_wall(struct gi_reactor *r)
{
  return r->ops->wall(r);
}

void
gi_random(struct gi_reactor *r, void *out, size_t len)
{
  r->ops->random(r, out, len);
}

struct gi_gfid
gi_gfid_new(struct gi_reactor *r)
{
  struct gi_gfid gfid;
  gi_random(r, gfid.b, sizeof(gfid.b));
  gfid.b[6] = (gfid.b[6] & 0x0f) | 0x40; /* version 4 */
  gfid.b[8] = (gfid.b[8] & 0x3f) | 0x80; /* RFC 4122 variant */
  return gfid;
}

struct gi_gfid
gi_gfid_next(struct gi_gfid_run *run, struct gi_reactor *r)
{
  struct gi_gfid gfid = gi_gfid_new(r);

  GI_ASSERT(run->left < GI_GFID_RUN);
  if (run->left == 0) {
    memcpy(run->first, gfid.b, sizeof(run->first));
    run->left = GI_GFID_RUN;
  }
  memcpy(gfid.b, run->first, sizeof(run->first));
  run->left--;
  return gfid;
}

/* ---- timers ---- */

void
gi_timer_init(struct gi_timer *t, struct gi_reactor *r, void (*fn)(void *arg), void *arg)
{
  GI_ASSERT(r && fn);
  *t = (struct gi_timer){.r = r, .fn = fn, .arg = arg};
}

void
gi_timer_set(struct gi_timer *t, uint64_t delay_ns)
{
  GI_ASSERT(t->r != NULL);
  t->r->ops->timer_set(t, delay_ns);
}

void
gi_timer_cancel(struct gi_timer *t)
{
  if (t->armed)
    t->r->ops->timer_cancel(t);
}

void
gi_timer_finish(struct gi_timer *t)
{
  if (!t->r)
    return;
  gi_timer_cancel(t);
  GI_ASSERT(!t->armed);
  if (t->impl)
    t->r->ops->timer_finish(t);
  t->r = NULL;
}

/* ---- deferred calls ---- */

void
gi_defer_init(struct gi_defer *d, void (*fn)(void *arg), void *arg)
{
  gi_list_init(&d->link);
  d->fn = fn;
  d->arg = arg;
  d->queued = false;
}

void
gi_defer_add(struct gi_reactor *r, struct gi_defer *d)
{
  if (d->queued)
    return;
  GI_ASSERT(d->fn);
  d->queued = true;
  gi_list_add_tail(&r->deferred, &d->link);
}

void
gi_defer_cancel(struct gi_defer *d)
{
  if (!d->queued)
    return;
  d->queued = false;
  gi_list_del(&d->link);
}

void
gi_reactor_run_deferred(struct gi_reactor *r)
{
  while (!gi_list_empty(&r->deferred)) {
    struct gi_defer *d = gi_list_first(&r->deferred, struct gi_defer, link);
    gi_defer_cancel(d); /* first: it may queue itself again, or free its owner */
    d->fn(d->arg);
  }
}

/* ---- file descriptors and work ---- */

void
gi_io_init(struct gi_io *io, struct gi_reactor *r, int fd, void (*fn)(void *arg, unsigned events), void *arg)
{
  GI_ASSERT(r && fd >= 0 && fn);
  *io = (struct gi_io){.r = r, .fd = fd, .fn = fn, .arg = arg};
}

void
gi_io_watch(struct gi_io *io, unsigned events)
{
  GI_ASSERT(io->r != NULL);
  if (io->events != events)
    io->r->ops->io_watch(io, events);
}

void
gi_io_finish(struct gi_io *io)
{
  if (!io->r)
    return;
  io->r->ops->io_finish(io);
  io->r = NULL;
}

void
gi_work_submit(struct gi_reactor *r, struct gi_work *w)
{
  GI_ASSERT(w->run != NULL && w->done != NULL && (unsigned)w->priority < GI_PRIO_COUNT);
  r->ops->work_submit(r, w);
}

void
gi_work_forget(struct gi_reactor *r, int alone_with)
{
  if (r->ops->work_forget)
    r->ops->work_forget(r, alone_with);
}

bool
gi_reactor_busy(const struct gi_reactor *r)
{
  return r->ops->busy && r->ops->busy(r);
}
