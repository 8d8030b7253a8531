/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated reactor. See reactor.h.
 */
#include "tests/simulation/world/reactor.h"
#include "tests/simulation/net/net.h"

#define TIMER_LATE_NS (40 * SIM_US) /* the real one is never early, and late by as much */
#define WALL_BASE_S 1700000000      /* the world begins then */

struct sim_timer {
  struct sim_event event;
  struct gi_timer *t;
};

/* one that has a worker */
struct sim_work {
  struct sim_event event;
  struct gi_work *work;
};

static struct sim_reactor *
sim_of(struct gi_reactor *r)
{
  return GI_CONTAINER(r, struct sim_reactor, base);
}

/* ---- clocks and chance ---- */

static uint64_t
sim_now(struct gi_reactor *r)
{
  return sim_of(r)->w->now;
}

static struct gi_time
sim_wall(struct gi_reactor *base)
{
  struct sim_reactor *r = sim_of(base);
  uint64_t ns = r->w->now + (uint64_t)r->skew_ns;
  return (struct gi_time){.sec = WALL_BASE_S + (int64_t)(ns / SIM_S), .nsec = (uint32_t)(ns % SIM_S)};
}

static void
sim_random(struct gi_reactor *r, void *out, size_t len)
{
  sim_rng_fill(&sim_of(r)->rng, out, len);
}

/* ---- timers ---- */

static void
timer_due(void *arg)
{
  struct sim_timer *st = arg;
  struct gi_timer *t = st->t;
  t->armed = false;
  t->fn(t->arg);
}

static void
sim_timer_set(struct gi_timer *t, uint64_t delay_ns)
{
  struct sim_reactor *r = sim_of(t->r);
  struct sim_timer *st = t->impl;
  if (!st) {
    t->impl = st = gi_new(struct sim_timer);
    st->t = t;
    sim_event_init(&st->event, r, "timer", timer_due, st);
    r->live++;
  }
  t->armed = true;
  uint64_t late = sim_rng_below(&r->rng, TIMER_LATE_NS);
  sim_event_set(r->w, &st->event, delay_ns < UINT64_MAX - late ? delay_ns + late : delay_ns);
}

static void
sim_timer_cancel(struct gi_timer *t)
{
  struct sim_timer *st = t->impl;
  t->armed = false;
  sim_event_cancel(sim_of(t->r)->w, &st->event);
}

static void
sim_timer_finish(struct gi_timer *t)
{
  sim_of(t->r)->live--;
  gi_free(t->impl);
  t->impl = NULL;
}

/* ---- works ---- */

static void next_work(struct sim_reactor *r);

static void
work_done(void *arg)
{
  struct sim_work *sw = arg;
  struct gi_work *work = sw->work;
  struct sim_reactor *r = sw->event.owner;
  gi_free(sw);
  r->working--;
  next_work(r);
  work->done(work);
}

static void
work_run(void *arg)
{
  struct sim_work *sw = arg;
  struct sim_reactor *r = sw->event.owner;
  uint64_t ns = sim_rng_between(&r->rng, 2 * SIM_US, 40 * SIM_US);
  sw->work->run(sw->work);
  if (r->work_ns)
    ns += r->work_ns(r->work_arg, sw->work);
  sim_event_init(&sw->event, r, "work done", work_done, sw);
  sim_event_set(r->w, &sw->event, ns);
}

static void
next_work(struct sim_reactor *r)
{
  for (unsigned p = 0; p < GI_PRIO_COUNT; p++) {
    while (!gi_list_empty(&r->queue[p]) && r->working < r->workers) {
      struct sim_work *sw = gi_new(struct sim_work);
      sw->work = gi_list_first(&r->queue[p], struct gi_work, link);
      gi_list_del(&sw->work->link);
      r->working++;
      sim_event_init(&sw->event, r, "work", work_run, sw);
      sim_event_set(r->w, &sw->event, sim_rng_between(&r->rng, SIM_US, 30 * SIM_US));
    }
  }
}

static void
sim_work_submit(struct gi_reactor *base, struct gi_work *work)
{
  struct sim_reactor *r = sim_of(base);
  gi_list_add_tail(&r->queue[work->priority], &work->link);
  next_work(r);
}

static void
sim_set_workers(struct gi_reactor *base, unsigned workers)
{
  struct sim_reactor *r = sim_of(base);
  r->workers = workers ? workers : 1;
  next_work(r);
}

bool
sim_reactor_idle(const struct sim_reactor *r)
{
  for (unsigned p = 0; p < GI_PRIO_COUNT; p++)
    if (!gi_list_empty(&r->queue[p]))
      return false;
  return r->working == 0;
}

/* ---- sockets: the network watches them ---- */

static void
sim_io_watch(struct gi_io *io, unsigned events)
{
  struct sim_reactor *r = sim_of(io->r);
  if (!io->impl[0]) {
    io->impl[0] = io;
    r->live++;
  }
  io->events = events;
  sim_net_watch(r, io);
}

static void
sim_io_finish(struct gi_io *io)
{
  struct sim_reactor *r = sim_of(io->r);
  if (!io->impl[0])
    return;
  io->impl[0] = NULL;
  io->events = 0;
  r->live--;
  sim_net_unwatch(r, io);
}

/* ---- handlers ---- */

void
sim_reactor_call(struct sim_reactor *r, void (*fn)(void *arg), void *arg)
{
  struct sim_reactor *outer = r->w->current;
  GI_ASSERT(!r->dead && !r->frozen);
  r->w->current = r;
  fn(arg);
  gi_reactor_run_deferred(&r->base);
  r->w->current = outer;
}

void
sim_reactor_handle(struct sim_reactor *r, struct sim_event *e)
{
  sim_reactor_call(r, e->fn, e->arg);
}

bool
sim_reactor_may_run(struct sim_reactor *r, struct sim_event *e)
{
  if (r->dead) {
    e->queued = false;
    return false;
  }
  if (r->frozen) {
    e->parked = true; /* and still queued */
    gi_list_add_tail(&r->parked, &e->link);
    return false;
  }
  return true;
}

unsigned
sim_reactor_id(const struct sim_reactor *r)
{
  return r->id;
}

void
sim_reactor_freeze(struct sim_reactor *r)
{
  r->frozen = true;
}

void
sim_reactor_thaw(struct sim_reactor *r)
{
  r->frozen = false;
  while (!gi_list_empty(&r->parked)) {
    struct sim_event *e = gi_list_first(&r->parked, struct sim_event, link);
    sim_event_set(r->w, e, 0);
  }
}

void
sim_reactor_kill(struct sim_reactor *r)
{
  r->dead = true;
}

/* ---- life ---- */

static void
sim_free(struct gi_reactor *base)
{
  struct sim_reactor *r = sim_of(base);
  sim_reactor_free(&r);
}

/* Nobody waits inside a handler; what turns its reactor by hand cannot be simulated. */
static void
sim_run(struct gi_reactor *base)
{
  GI_ASSERT(!"a simulated reactor is run by its world");
}

static void
sim_turn(struct gi_reactor *base, uint64_t wait_ns)
{
  GI_ASSERT(!"a simulated reactor is turned by its world");
}

static const struct gi_reactor_ops sim_reactor_ops = {
    .free = sim_free,
    .run = sim_run,
    .stop = sim_run,
    .turn = sim_turn,
    .set_workers = sim_set_workers,
    .now = sim_now,
    .wall = sim_wall,
    .random = sim_random,
    .timer_set = sim_timer_set,
    .timer_cancel = sim_timer_cancel,
    .timer_finish = sim_timer_finish,
    .io_watch = sim_io_watch,
    .io_finish = sim_io_finish,
    .work_submit = sim_work_submit,
};

struct sim_reactor *
sim_reactor_new(struct sim_world *w, unsigned id, const char *name, unsigned workers)
{
  struct sim_reactor *r = gi_new(struct sim_reactor);
  r->base.ops = &sim_reactor_ops;
  r->base.net = &sim_net_ops;
  gi_list_init(&r->base.deferred);
  gi_list_init(&r->base.resolving);
  r->w = w;
  r->id = id;
  snprintf(r->name, sizeof(r->name), "%s", name);
  r->rng = sim_rng_new(w->seed, id);
  r->workers = workers ? workers : 1;
  gi_list_init(&r->parked);
  for (unsigned p = 0; p < GI_PRIO_COUNT; p++)
    gi_list_init(&r->queue[p]);
  return r;
}

void
sim_reactor_free(struct sim_reactor **rp)
{
  struct sim_reactor *r = *rp;
  *rp = NULL;
  if (r == NULL)
    return;
  GI_ASSERT(r->live == 0 && sim_reactor_idle(r) && gi_list_empty(&r->parked) && gi_list_empty(&r->base.deferred));
  gi_free(r);
}
