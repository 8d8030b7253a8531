/* SPDX-License-Identifier: Apache-2.0
 *
 * The real reactor: libevent over epoll, the kernel's clocks and random
 * numbers, a pool of worker threads.
 *
 * A turn is: everything deferred, one wait, all events that came with it. So
 * what the handlers of one turn defer (gathered sends) runs once for all of
 * them. Timers never fire early: libevent's own clock is coarse (milliseconds,
 * which saves a system call per turn), so the deadline is checked against the
 * fine clock. The same check makes pushing a timer back, the usual case of a
 * timeout, one store.
 */
#include "libglusterish/log.h"
#include "libglusterish/reactor.h"
#include "libglusterish/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#define RANDOM_POOL 512u
#define RANDOM_DIRECT 128u /* larger requests do not go through the pool */

struct real_timer {
  struct event ev;
  struct real_timer *next; /* while free */
  struct gi_timer *t;
  uint64_t deadline;  /* when it is due */
  uint64_t scheduled; /* when libevent will call; <= deadline */
};

struct real {
  struct gi_reactor base;
  struct event_base *evb;
  bool stopping;
  unsigned live; /* timers, ios and signals that exist */
  struct event turn_timeout;
  struct real_timer *free_timers;

  unsigned workers; /* 0: inline */
  struct gi_workers *pool;
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

/* ---- timers ---- */

static void
timer_schedule(struct real_timer *rt, uint64_t delay_ns, uint64_t when)
{
  uint64_t usec = (delay_ns + 999) / 1000;
  struct timeval tv = {.tv_sec = (time_t)(usec / 1000000), .tv_usec = (suseconds_t)(usec % 1000000)};
  rt->scheduled = when;
  GI_ASSERT(event_add(&rt->ev, &tv) == 0);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
  struct real_timer *rt = arg;
  struct gi_timer *t = rt->t;
  uint64_t now = gi_now(t->r);
  if (now < rt->deadline) {
    timer_schedule(rt, rt->deadline - now, rt->deadline);
    return;
  }
  t->armed = false;
  t->fn(t->arg);
}

static void
real_timer_set(struct gi_timer *t, uint64_t delay_ns)
{
  struct real *r = real_of(t->r);
  struct real_timer *rt = t->impl;
  if (!rt) {
    rt = r->free_timers;
    if (rt)
      r->free_timers = rt->next;
    else
      rt = gi_new(struct real_timer);
    evtimer_assign(&rt->ev, r->evb, on_timer, rt);
    rt->t = t;
    t->impl = rt;
    r->live++;
  }
  /* Centuries are enough, and nothing overflows on the way. */
  if (delay_ns > INT64_MAX / 4)
    delay_ns = INT64_MAX / 4;
  rt->deadline = gi_now(t->r) + delay_ns;
  if (t->armed && rt->scheduled <= rt->deadline)
    return; /* on_timer finds the new deadline */
  t->armed = true;
  timer_schedule(rt, delay_ns, rt->deadline);
}

static void
real_timer_cancel(struct gi_timer *t)
{
  struct real_timer *rt = t->impl;
  t->armed = false;
  event_del(&rt->ev);
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

/* ---- file descriptors: one event per direction, so that a change is one system call ---- */

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
  struct gi_io *io = arg;
  io->fn(io->arg, GI_IO_READ);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
  struct gi_io *io = arg;
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

/* Edge triggered: a write wakes, nobody needs to read the counter. The turn collects. */
static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
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
  if (!r->pool)
    r->pool = gi_workers_new(r->workers, wake_reactor, r);
  gi_workers_submit(r->pool, w);
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
wait_and_handle(struct real *r, int flags)
{
  if (r->pool && !gi_workers_sleep(r->pool))
    flags |= EVLOOP_NONBLOCK; /* works have finished: look at the descriptors, do not wait for them */
  GI_ASSERT(event_base_loop(r->evb, EVLOOP_ONCE | flags) >= 0);
  if (r->pool) {
    gi_workers_awake(r->pool);
    gi_workers_collect(r->pool);
  }
}

static void
real_run(struct gi_reactor *base)
{
  struct real *r = real_of(base);
  for (;;) {
    gi_reactor_run_deferred(base);
    if (r->stopping)
      break;
    wait_and_handle(r, 0);
  }
  r->stopping = false;
}

static void
real_stop(struct gi_reactor *base)
{
  real_of(base)->stopping = true;
}

static void
on_turn_timeout(evutil_socket_t fd, short what, void *arg)
{
}

static void
real_turn(struct gi_reactor *base, uint64_t wait_ns)
{
  struct real *r = real_of(base);
  gi_reactor_run_deferred(base);
  if (wait_ns == 0) {
    wait_and_handle(r, EVLOOP_NONBLOCK);
  } else {
    uint64_t usec = (wait_ns + 999) / 1000;
    struct timeval tv = {.tv_sec = (time_t)(usec / 1000000), .tv_usec = (suseconds_t)(usec % 1000000)};
    event_add(&r->turn_timeout, &tv);
    wait_and_handle(r, 0);
    event_del(&r->turn_timeout);
  }
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

static void
real_free(struct gi_reactor *base)
{
  struct real *r = real_of(base);
  gi_workers_free(r->pool);
  GI_ASSERT(gi_list_empty(&r->inline_work));
  GI_ASSERT(r->live == 0);
  while (!gi_list_empty(&base->deferred))
    gi_defer_cancel(gi_list_first(&base->deferred, struct gi_defer, link));
  event_del(&r->turn_timeout);
  event_del(&r->wake_event);
  event_base_free(r->evb);
  close(r->wake_fd);
  while (r->free_timers) {
    struct real_timer *rt = r->free_timers;
    r->free_timers = rt->next;
    gi_free(rt);
  }
  gi_free(r);
}

static const struct gi_reactor_ops real_ops = {
    .free = real_free,
    .run = real_run,
    .stop = real_stop,
    .turn = real_turn,
    .set_workers = real_set_workers,
    .now = real_now,
    .wall = real_wall,
    .random = real_random,
    .timer_set = real_timer_set,
    .timer_cancel = real_timer_cancel,
    .timer_finish = real_timer_finish,
    .io_watch = real_io_watch,
    .io_finish = real_io_finish,
    .work_submit = real_work_submit,
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

struct gi_reactor *
gi_reactor_new(unsigned workers)
{
  struct real *r = gi_new(struct real);
  r->base.ops = &real_ops;
  gi_list_init(&r->base.deferred);
  gi_list_init(&r->inline_work);
  gi_defer_init(&r->inline_defer, run_inline_work, r);
  r->workers = workers;
  r->evb = make_base();
  r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  GI_ASSERT(r->wake_fd >= 0);
  event_assign(&r->wake_event, r->evb, r->wake_fd, EV_READ | EV_PERSIST | EV_ET, on_wake, r);
  GI_ASSERT(event_add(&r->wake_event, NULL) == 0);
  evtimer_assign(&r->turn_timeout, r->evb, on_turn_timeout, r);
  return &r->base;
}
