/* SPDX-License-Identifier: Apache-2.0
 *
 * The real reactor: libevent over epoll, the kernel's clocks and random
 * numbers, a pool of worker threads.
 *
 * A turn is: everything deferred, one wait, all events that came with it. So
 * what the handlers of one turn defer (gathered sends) runs once for all of
 * them.
 *
 * Timers are not libevent's: those are either as coarse as the kernel's tick
 * (4 ms) or cost a system call in every turn. Ours never fire early, are good
 * to some ten microseconds, and pushing one back or cancelling it, the usual
 * fate of a timeout, stays in user space.
 */
#include "libglusterish/log.h"
#include "libglusterish/reactor-private.h"
#include "libglusterish/worker.h"

#include <errno.h>
#include <sched.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define RANDOM_POOL 512u
#define RANDOM_DIRECT 128u /* larger requests do not go through the pool */

struct real_timer {
  struct real_timer *next; /* while free */
  struct gi_timer *t;
  uint64_t deadline;  /* when it is due */
  uint64_t scheduled; /* its key in the heap; <= deadline */
  uint64_t sequence;  /* of two due at once the one set first comes first */
  unsigned at;        /* place in the heap while armed */
};

struct real {
  struct gi_reactor base;
  struct event_base *evb;
  bool stopping;
  unsigned live; /* timers, ios and signals that exist */

  struct real_timer **heap, *free_timers;
  unsigned armed, heap_room; /* timers in the heap, room for them */
  uint64_t sequence;
  uint64_t alarm; /* when timer_fd fires, UINT64_MAX = never */
  int timer_fd;
  struct event timer_event;

  uint64_t poll_ns; /* how long to look before waiting, since the last event */
  uint64_t handled; /* events of descriptors */
  uint64_t last_event;

  unsigned workers; /* 0: inline */
  struct gi_workers *pool;
  struct gi_workers *alone; /* those alone with one descriptor; NULL: there are none */
  int alone_with;
  bool alone_ends;
  int wake_fd;
  struct event wake_event;
  struct gi_list inline_work; /* struct gi_work */
  struct gi_defer inline_defer;

  uint8_t random[RANDOM_POOL];
  unsigned random_left;
};

struct gi_signal {
  struct event ev;
  struct real *r;
  void (*fn)(void *arg, int signo);
  void *arg;
};

static struct real *
real_of(struct gi_reactor *r)
{
  return GI_CONTAINER(r, struct real, base);
}

/* ---- clocks and chance ---- */

static uint64_t
real_now(struct gi_reactor *r)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * GI_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#ifdef __x86_64__
#define CALIBRATION_NS 200000ull

/* The counter runs at one rate whatever the processor does, and is the same on all of them. */
static bool
counter_is_even(void)
{
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

/* Both clocks at one moment: of some attempts the one that took least. */
static void
read_both(struct gi_reactor *r, uint64_t *ticks, uint64_t *ns)
{
  uint64_t least = UINT64_MAX;
  for (unsigned i = 0; i < 5; i++) {
    uint64_t before = __builtin_ia32_rdtsc(), now = real_now(r), took = __builtin_ia32_rdtsc() - before;
    if (took >= least)
      continue;
    least = took;
    *ticks = before + took / 2;
    *ns = now;
  }
}

/* Of this machine: found once, when the process makes its first reactor. */
static uint64_t counter_rate, rate_ticks, rate_ns;

static void
calibrate(struct gi_reactor *r)
{
  uint64_t ticks = 0, ns = 0;
  if (counter_rate || !counter_is_even())
    return;
  read_both(r, &rate_ticks, &rate_ns);
  while (real_now(r) < rate_ns + CALIBRATION_NS)
    ;
  read_both(r, &ticks, &ns);
  if (ticks > rate_ticks && ns - rate_ns < ticks - rate_ticks && (ns - rate_ns) << 32 > ticks - rate_ticks)
    counter_rate = ((ns - rate_ns) << 32) / (ticks - rate_ticks);
}

static void
use_counter(struct gi_reactor *r)
{
  calibrate(r);
  if (counter_rate == 0)
    return;
  r->rate.ns_per_tick = counter_rate;
  r->rate.ns = real_now(r);
  r->rate.ticks = __builtin_ia32_rdtsc();
  r->rate.counter = true;
}
#else
static void
use_counter(struct gi_reactor *r)
{
}
#endif

static struct gi_time
real_wall(struct gi_reactor *r)
{
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return (struct gi_time){.sec = ts.tv_sec, .nsec = (uint32_t)ts.tv_nsec};
}

void
gi_log_clock(struct timespec *now)
{
  clock_gettime(CLOCK_REALTIME, now);
}

static void
random_fill(uint8_t *out, size_t len)
{
  while (len > 0) {
    ssize_t n = getrandom(out, len, 0);
    if (n < 0) {
      GI_ASSERT(errno == EINTR);
      continue;
    }
    out += n;
    len -= (size_t)n;
  }
}

static void
real_random(struct gi_reactor *base, void *out, size_t len)
{
  struct real *r = real_of(base);
  if (len > RANDOM_DIRECT) {
    random_fill(out, len);
    return;
  }
  if (r->random_left < len) {
    random_fill(r->random, RANDOM_POOL);
    r->random_left = RANDOM_POOL;
  }
  r->random_left -= (unsigned)len;
  memcpy(out, r->random + r->random_left, len);
  memset(r->random + r->random_left, 0, len); /* what was given out is not kept */
}

/* ---- timers: a binary heap by (scheduled, sequence), one timerfd for its top ---- */

static bool
before(const struct real_timer *a, const struct real_timer *b)
{
  return a->scheduled != b->scheduled ? a->scheduled < b->scheduled : a->sequence < b->sequence;
}

static void
heap_put(struct real *r, unsigned at, struct real_timer *rt)
{
  r->heap[at] = rt;
  rt->at = at;
}

/* Moves `rt` from the free place `at` to where it belongs. */
static void
heap_settle(struct real *r, unsigned at, struct real_timer *rt)
{
  for (; at > 0 && before(rt, r->heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap_put(r, at, r->heap[(at - 1) / 2]);
  for (;;) {
    unsigned child = at * 2 + 1;
    if (child + 1 < r->armed && before(r->heap[child + 1], r->heap[child]))
      child++;
    if (child >= r->armed || !before(r->heap[child], rt))
      break;
    heap_put(r, at, r->heap[child]);
    at = child;
  }
  heap_put(r, at, rt);
}

static void
heap_add(struct real *r, struct real_timer *rt)
{
  if (r->armed == r->heap_room) {
    r->heap_room = r->heap_room ? r->heap_room * 2 : 64;
    r->heap = gi_realloc(r->heap, r->heap_room * sizeof(*r->heap));
  }
  heap_settle(r, r->armed++, rt);
}

static void
heap_remove(struct real *r, struct real_timer *rt)
{
  struct real_timer *last = r->heap[--r->armed];
  if (last != rt)
    heap_settle(r, rt->at, last);
}

static struct real_timer *
timer_impl(struct gi_timer *t)
{
  struct real *r = real_of(t->r);
  struct real_timer *rt = r->free_timers;
  if (rt)
    r->free_timers = rt->next;
  else
    rt = gi_new(struct real_timer);
  rt->t = t;
  r->live++;
  return t->impl = rt;
}

static void
real_timer_set(struct gi_timer *t, uint64_t delay_ns)
{
  struct real *r = real_of(t->r);
  struct real_timer *rt = t->impl ? t->impl : timer_impl(t);
  uint64_t now = gi_now(t->r);
  rt->deadline = delay_ns < UINT64_MAX - now ? now + delay_ns : UINT64_MAX;
  if (t->armed) {
    if (rt->scheduled <= rt->deadline)
      return; /* run_timers finds the new deadline */
    heap_remove(r, rt);
  }
  t->armed = true;
  rt->scheduled = rt->deadline;
  rt->sequence = r->sequence++;
  heap_add(r, rt);
}

static void
real_timer_cancel(struct gi_timer *t)
{
  t->armed = false;
  heap_remove(real_of(t->r), t->impl);
}

static void
real_timer_finish(struct gi_timer *t)
{
  struct real *r = real_of(t->r);
  struct real_timer *rt = t->impl;
  rt->t = NULL;
  rt->next = r->free_timers;
  r->free_timers = rt;
  t->impl = NULL;
  r->live--;
}

/* The time is read once: a timer that re-arms itself with no delay waits for the next turn. */
static void
run_timers(struct real *r)
{
  if (r->armed == 0 && r->alarm == UINT64_MAX)
    return;
  uint64_t now = real_now(&r->base);
  if (r->alarm <= now)
    r->alarm = UINT64_MAX;
  while (r->armed > 0 && r->heap[0]->scheduled <= now) {
    struct real_timer *rt = r->heap[0];
    heap_remove(r, rt);
    if (rt->deadline > rt->scheduled) { /* pushed back meanwhile */
      rt->scheduled = rt->deadline;
      heap_add(r, rt);
      continue;
    }
    rt->t->armed = false;
    rt->t->fn(rt->t->arg);
  }
}

/* Makes sure that the reactor wakes at `when` at the latest. An earlier alarm is left alone: one idle turn is cheaper than a
 * system call for every timer that is cancelled or pushed back. False: it is due already, do not wait. */
static bool
set_alarm(struct real *r, uint64_t when)
{
  if (r->alarm <= when)
    return true;
  if (when <= real_now(&r->base))
    return false;
  struct itimerspec at = {.it_value = {.tv_sec = (time_t)(when / GI_NSEC_PER_SEC), .tv_nsec = (long)(when % GI_NSEC_PER_SEC)}};
  GI_ASSERT(timerfd_settime(r->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0);
  r->alarm = when;
  return true;
}

/* ---- file descriptors: one event per direction, so that a change is one system call ---- */

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
  struct gi_io *io = arg;
  real_of(io->r)->handled++;
  io->fn(io->arg, GI_IO_READ);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
  struct gi_io *io = arg;
  real_of(io->r)->handled++;
  io->fn(io->arg, GI_IO_WRITE);
}

static void
io_direction(struct gi_io *io, unsigned i, bool on)
{
  struct real *r = real_of(io->r);
  struct event *ev = io->impl[i];
  if (!on) {
    event_del(ev);
    return;
  }
  if (!ev) {
    ev = event_new(r->evb, io->fd, (i == 0 ? EV_READ : EV_WRITE) | EV_PERSIST, i == 0 ? on_readable : on_writable, io);
    GI_ASSERT(ev != NULL);
    io->impl[i] = ev;
    r->live++;
  }
  if (event_add(ev, NULL) != 0)
    gi_log(GI_LOG_ERROR, "core", GI_MSG_CORE + 3, "cannot watch descriptor %d: %s", io->fd, strerror(errno));
}

static void
real_io_watch(struct gi_io *io, unsigned events)
{
  unsigned changed = io->events ^ events;
  io->events = events;
  if (changed & GI_IO_READ)
    io_direction(io, 0, events & GI_IO_READ);
  if (changed & GI_IO_WRITE)
    io_direction(io, 1, events & GI_IO_WRITE);
}

static void
real_io_finish(struct gi_io *io)
{
  for (unsigned i = 0; i < 2; i++) {
    if (!io->impl[i])
      continue;
    event_free(io->impl[i]);
    io->impl[i] = NULL;
    real_of(io->r)->live--;
  }
  io->events = 0;
}

/* ---- work ---- */

static void
run_inline_work(void *arg)
{
  struct real *r = arg;
  while (!gi_list_empty(&r->inline_work)) {
    struct gi_work *w = gi_list_first(&r->inline_work, struct gi_work, link);
    gi_list_del(&w->link);
    w->run(w);
    w->done(w);
  }
}

/* On a worker. */
static void
wake_reactor(void *arg)
{
  struct real *r = arg;
  uint64_t one = 1;
  ssize_t n;
  do
    n = write(r->wake_fd, &one, sizeof(one));
  while (n < 0 && errno == EINTR);
}

/* Edge triggered, both descriptors: waking is all they do, the turn collects works and runs timers, and so nobody needs to
 * read the counter. */
static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
  struct real *r = arg;
  r->handled++;
}

static struct gi_workers *
pool_for(struct real *r, const struct gi_work *w)
{
  const int only[2] = {w->alone_with, r->wake_fd};
  if (w->alone_with > 0 && !r->alone) {
    r->alone = gi_workers_new(r->workers, only, wake_reactor, r);
    r->alone_with = w->alone_with;
  }
  if (w->alone_with > 0) {
    GI_ASSERT(r->alone_with == w->alone_with && !r->alone_ends);
    return r->alone;
  }
  if (!r->pool)
    r->pool = gi_workers_new(r->workers, NULL, wake_reactor, r);
  return r->pool;
}

static void
real_work_submit(struct gi_reactor *base, struct gi_work *w)
{
  struct real *r = real_of(base);
  if (r->workers == 0) {
    gi_list_add_tail(&r->inline_work, &w->link);
    gi_defer_add(base, &r->inline_defer);
    return;
  }
  gi_workers_submit(pool_for(r, w), w);
}

static void
real_work_forget(struct gi_reactor *base, int alone_with)
{
  struct real *r = real_of(base);
  if (r->alone && r->alone_with == alone_with)
    r->alone_ends = true; /* the turn ends it: this may be the last of its works */
}

static void
real_set_workers(struct gi_reactor *base, unsigned workers)
{
  struct real *r = real_of(base);
  r->workers = workers;
  if (r->pool)
    gi_workers_set_limit(r->pool, workers);
}

/* ---- the loop ---- */

static void
real_set_poll(struct gi_reactor *base, uint64_t ns)
{
  real_of(base)->poll_ns = ns;
}

/* A handler that counts for nothing below (a signal's, one of libevent's HTTP server) has left something to do before `when`. */
static bool
has_more(const struct real *r, uint64_t when)
{
  return r->stopping || !gi_list_empty(&r->base.deferred) || (r->armed > 0 && r->heap[0]->scheduled < when);
}

/* Polls for events for poll_ns after the last one, and yields the processor between two looks. True: the turn is over, since events
 * were handled or there is more to do before `when`. */
static bool
poll_events(struct real *r, uint64_t when)
{
  uint64_t before = r->handled, now;
  do {
    GI_ASSERT(event_base_loop(r->evb, EVLOOP_ONCE | EVLOOP_NONBLOCK) >= 0);
    now = real_now(&r->base);
    if (r->handled != before) {
      r->last_event = now;
      return true;
    }
    if (has_more(r, when))
      return true;
    sched_yield();
  } while (now < r->last_event + r->poll_ns);
  return false;
}

/* False: works have finished, only look at the descriptors. */
static bool
workers_sleep(struct real *r)
{
  return (!r->pool || gi_workers_sleep(r->pool)) && (!r->alone || gi_workers_sleep(r->alone));
}

static void
collect(struct gi_workers *pool)
{
  if (!pool)
    return;
  gi_workers_awake(pool);
  gi_workers_collect(pool);
}

static void
end_alone(struct real *r)
{
  if (!r->alone_ends || gi_workers_busy(r->alone))
    return;
  gi_workers_free(r->alone);
  r->alone = NULL;
  r->alone_ends = false;
}

/* Waits once, until `until` at the latest (0: does not wait), and handles the events and the finished works. */
static void
wait_and_handle(struct real *r, uint64_t until)
{
  uint64_t when = r->armed > 0 && r->heap[0]->scheduled < until ? r->heap[0]->scheduled : until;
  bool wait = when != 0 && (when == UINT64_MAX || set_alarm(r, when));
  if (wait)
    wait = workers_sleep(r);
  if (!(wait && r->poll_ns && poll_events(r, when))) {
    uint64_t before = r->handled;
    GI_ASSERT(event_base_loop(r->evb, EVLOOP_ONCE | (wait ? 0 : EVLOOP_NONBLOCK)) >= 0);
    if (r->poll_ns && r->handled != before)
      r->last_event = real_now(&r->base);
  }
  collect(r->pool);
  collect(r->alone);
  end_alone(r);
  run_timers(r);
}

static void
real_run(struct gi_reactor *base)
{
  struct real *r = real_of(base);
  for (;;) {
    gi_reactor_run_deferred(base);
    if (r->stopping)
      break;
    wait_and_handle(r, UINT64_MAX);
    if (gi_log_holds())
      gi_log_tell();
  }
  r->stopping = false;
}

static void
real_stop(struct gi_reactor *base)
{
  real_of(base)->stopping = true;
}

static void
real_turn(struct gi_reactor *base, uint64_t wait_ns)
{
  uint64_t now = real_now(base);
  gi_reactor_run_deferred(base);
  wait_and_handle(real_of(base), wait_ns == 0 ? 0 : wait_ns < UINT64_MAX - now ? now + wait_ns : UINT64_MAX);
  gi_reactor_run_deferred(base);
}

/* ---- signals ---- */

static void
on_signal(evutil_socket_t signo, short what, void *arg)
{
  struct gi_signal *s = arg;
  s->fn(s->arg, (int)signo);
}

static void real_free(struct gi_reactor *base);

struct gi_signal *
gi_signal_watch(struct gi_reactor *base, int signo, void (*fn)(void *arg, int signo), void *arg)
{
  GI_ASSERT(base->ops->free == real_free);
  struct real *r = real_of(base);
  struct gi_signal *s = gi_new(struct gi_signal);
  s->r = r;
  s->fn = fn;
  s->arg = arg;
  evsignal_assign(&s->ev, r->evb, signo, on_signal, s);
  GI_ASSERT(event_add(&s->ev, NULL) == 0);
  r->live++;
  return s;
}

void
gi_signal_unwatch(struct gi_signal **sp)
{
  struct gi_signal *s = *sp;
  *sp = NULL;
  if (!s)
    return;
  event_del(&s->ev);
  s->r->live--;
  gi_free(s);
}

/* ---- life ---- */

static bool
real_busy(const struct gi_reactor *base)
{
  const struct real *r = (const struct real *)base;
  return (r->pool && gi_workers_busy(r->pool)) || (r->alone && gi_workers_busy(r->alone)) || !gi_list_empty(&r->inline_work);
}

static void
real_free(struct gi_reactor *base)
{
  struct real *r = real_of(base);
  while (real_busy(base))
    real_turn(base, 10 * GI_NSEC_PER_MSEC); /* background work that outlived its owner */
  gi_workers_free(r->pool);
  gi_workers_free(r->alone);
  GI_ASSERT(gi_list_empty(&r->inline_work) && gi_list_empty(&base->resolving));
  GI_ASSERT(r->live == 0);
  while (!gi_list_empty(&base->deferred))
    gi_defer_cancel(gi_list_first(&base->deferred, struct gi_defer, link));
  event_del(&r->timer_event);
  event_del(&r->wake_event);
  event_base_free(r->evb);
  close(r->timer_fd);
  close(r->wake_fd);
  while (r->free_timers) {
    struct real_timer *rt = r->free_timers;
    r->free_timers = rt->next;
    gi_free(rt);
  }
  gi_free(r->heap);
  gi_free(r);
}

static const struct gi_reactor_ops real_ops = {
    .free = real_free,
    .run = real_run,
    .stop = real_stop,
    .turn = real_turn,
    .set_workers = real_set_workers,
    .set_poll = real_set_poll,
    .now = real_now,
    .wall = real_wall,
    .random = real_random,
    .timer_set = real_timer_set,
    .timer_cancel = real_timer_cancel,
    .timer_finish = real_timer_finish,
    .io_watch = real_io_watch,
    .io_finish = real_io_finish,
    .work_submit = real_work_submit,
    .work_forget = real_work_forget,
    .busy = real_busy,
};

/* The reactor has one thread, so libevent's locks are switched off. */
static struct event_base *
make_base(void)
{
  struct event_config *config = event_config_new();
  GI_ASSERT(config != NULL);
  event_config_avoid_method(config, "select");
  event_config_avoid_method(config, "poll");
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  struct event_base *evb = event_base_new_with_config(config);
  event_config_free(config);
  GI_ASSERT(evb != NULL);
  return evb;
}

struct event_base *
gi_reactor_event_base(struct gi_reactor *base)
{
  GI_ASSERT(base->ops->free == real_free);
  return real_of(base)->evb;
}

static void
watch_edge(struct real *r, struct event *ev, int fd)
{
  GI_ASSERT(fd >= 0);
  event_assign(ev, r->evb, fd, EV_READ | EV_PERSIST | EV_ET, on_wake, r);
  GI_ASSERT(event_add(ev, NULL) == 0);
}

struct gi_reactor *
gi_reactor_new(unsigned workers)
{
  struct real *r = gi_new(struct real);
  r->base.ops = &real_ops;
  gi_list_init(&r->base.deferred);
  gi_list_init(&r->base.resolving);
  gi_list_init(&r->inline_work);
  gi_defer_init(&r->inline_defer, run_inline_work, r);
  r->workers = workers;
  r->evb = make_base();
  r->alarm = UINT64_MAX;
  r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watch_edge(r, &r->timer_event, r->timer_fd);
  watch_edge(r, &r->wake_event, r->wake_fd);
  use_counter(&r->base);
  return &r->base;
}
