/* SPDX-License-Identifier: Apache-2.0
 *
 * The reactor: the only place that waits, reads clocks, makes threads or draws
 * random numbers. A process has one; every handler runs on it to completion
 * and never blocks. What may block runs on its worker pool and comes back as a
 * callback on the reactor.
 *
 * There are two implementations behind this interface: the real one (libevent,
 * threads) and, for the simulator, one with virtual time and a seed. That is
 * why everything goes through `struct gi_reactor_ops`.
 */
#ifndef GI_REACTOR_H
#define GI_REACTOR_H

#include "libglusterish/list.h"
#include "libglusterish/types.h"

#include <time.h>

struct gi_reactor;

#define GI_NSEC_PER_SEC 1000000000ull
#define GI_NSEC_PER_MSEC 1000000ull

/* ---- life ---- */

/* The real implementation with `workers` worker threads (started lazily; 0 = run gi_work inline at the end of the turn). */
struct gi_reactor *gi_reactor_new(unsigned workers);
void gi_reactor_free(struct gi_reactor *r); /* waits for works under way; all timers and ios must be gone; NULL is fine */
void gi_reactor_run(struct gi_reactor *r);  /* until gi_reactor_stop */
void gi_reactor_stop(struct gi_reactor *r); /* from the reactor's own thread or a signal callback */
/* One turn: waits at most `wait_ns` for events, runs what is due. For tests. */
void gi_reactor_turn(struct gi_reactor *r, uint64_t wait_ns);
/* Changes the most workers that run at once (live option thread-count). */
void gi_reactor_set_workers(struct gi_reactor *r, unsigned workers);
/* For `ns` after the last event the reactor looks for the next one, yielding the CPU to whoever wants it, before it sleeps: being
 * woken on a halted CPU costs more than the wait for a reply. 0 (the start) = sleep at once. */
void gi_reactor_set_poll(struct gi_reactor *r, uint64_t ns);

/* ---- clocks and chance ---- */

uint64_t gi_now(struct gi_reactor *r); /* monotonic, ns, read fresh */
/* A clock for what happens at every border between two translators: some instructions instead of a call. It counts from any start and
 * in units of its own (gi_ticks_ns); only differences mean something, also between threads. */
static inline uint64_t gi_ticks(const struct gi_reactor *r);
static inline uint64_t gi_ticks_ns(const struct gi_reactor *r, uint64_t ticks); /* a difference, ns */
uint64_t gi_ns_ticks(const struct gi_reactor *r, uint64_t ns);                  /* and back */
/* gi_now as it was at a moment of gi_ticks, a moment ago or now: never ahead of it, and behind by some microseconds at most. On the
 * reactor's thread. */
static inline uint64_t gi_now_at(struct gi_reactor *r, uint64_t ticks);
static inline uint64_t gi_now_about(struct gi_reactor *r); /* the same, now */
struct gi_time gi_wall(struct gi_reactor *r);              /* wall clock */
void gi_random(struct gi_reactor *r, void *out, size_t len);
struct gi_gfid gi_gfid_new(struct gi_reactor *r); /* random version-4 UUID */
/* The same, but GI_GFID_RUN of them in a row share their first two bytes. These choose the directory of the handle on a brick (brick.md 2.3),
 * of which there are 65,536: objects that are made after each other share one, and a brick with few of them needs few directories. Other
 * runs have other bytes, by chance. Starts out as zeroes. */
#define GI_GFID_RUN 256
struct gi_gfid_run {
  uint8_t first[2];
  uint16_t left;
};
struct gi_gfid gi_gfid_next(struct gi_gfid_run *run, struct gi_reactor *r);

/* ---- timers ---- */

struct gi_timer {
  struct gi_reactor *r; /* NULL until gi_timer_init */
  void (*fn)(void *arg);
  void *arg;
  bool armed;
  void *impl; /* the implementation's own; NULL while never armed */
};

void gi_timer_init(struct gi_timer *t, struct gi_reactor *r, void (*fn)(void *arg), void *arg);
void gi_timer_set(struct gi_timer *t, uint64_t delay_ns); /* arms or re-arms; fires once */
void gi_timer_cancel(struct gi_timer *t);                 /* not armed is fine */
void gi_timer_finish(struct gi_timer *t);                 /* cancels and frees; all-zero is fine */

/* ---- deferred calls: run once, after the current handler returned, before the reactor waits again ---- */

struct gi_defer {
  struct gi_list link;
  void (*fn)(void *arg);
  void *arg;
  bool queued;
};

void gi_defer_init(struct gi_defer *d, void (*fn)(void *arg), void *arg);
void gi_defer_add(struct gi_reactor *r, struct gi_defer *d); /* no-op if already queued */
void gi_defer_cancel(struct gi_defer *d);

/* ---- file descriptors (level triggered) ---- */

enum { GI_IO_READ = 1, GI_IO_WRITE = 2 };

struct gi_io {
  struct gi_reactor *r;
  int fd;
  unsigned events; /* what is watched now */
  void (*fn)(void *arg, unsigned events);
  void *arg;
  void *impl[2];
};

void gi_io_init(struct gi_io *io, struct gi_reactor *r, int fd, void (*fn)(void *arg, unsigned events), void *arg);
void gi_io_watch(struct gi_io *io, unsigned events); /* replaces the watched set; 0 = none */
void gi_io_finish(struct gi_io *io);                 /* does not close the fd; all-zero is fine */

/* ---- work: a function that may block, run on a worker thread ---- */

/* Priority classes, high first; a lower class never starves a higher one (brick.md 7). */
enum gi_priority { GI_PRIO_HIGH, GI_PRIO_NORMAL, GI_PRIO_LOW, GI_PRIO_LEAST, GI_PRIO_COUNT };
#define GI_LEAST_SHARE 4u /* the least class takes one worker in so many at most */

struct gi_work {
  struct gi_list link;
  enum gi_priority priority;
  void (*run)(struct gi_work *w);  /* on a worker: no gi_* calls that touch the reactor */
  void (*done)(struct gi_work *w); /* on the reactor, exactly once; may free `w` */
  /* > 0: it may hang in the kernel for what only this process can do. Of all descriptors the worker's thread has but this one and the
   * standard three. Else a process that is killed meanwhile would keep all of them open for ever. One such descriptor at a time. */
  int alone_with;
};

void gi_work_submit(struct gi_reactor *r, struct gi_work *w);
/* The descriptor is about to be closed, and no work is under way that is alone with it: the threads that have it end. */
void gi_work_forget(struct gi_reactor *r, int alone_with);
bool gi_reactor_busy(const struct gi_reactor *r); /* some work is not done yet; for tests, which turn until it is */

/* ---- signals (real reactor only) ---- */
struct gi_signal;
struct gi_signal *gi_signal_watch(struct gi_reactor *r, int signo, void (*fn)(void *arg, int signo), void *arg);
void gi_signal_unwatch(struct gi_signal **s);

/* ---- the seam ---- */

struct gi_reactor_ops {
  void (*free)(struct gi_reactor *r);
  void (*run)(struct gi_reactor *r);
  void (*stop)(struct gi_reactor *r);
  void (*turn)(struct gi_reactor *r, uint64_t wait_ns);
  void (*set_workers)(struct gi_reactor *r, unsigned workers);
  void (*set_poll)(struct gi_reactor *r, uint64_t ns); /* NULL: never polls */
  uint64_t (*now)(struct gi_reactor *r);
  struct gi_time (*wall)(struct gi_reactor *r);
  void (*random)(struct gi_reactor *r, void *out, size_t len);
  void (*timer_set)(struct gi_timer *t, uint64_t delay_ns);
  void (*timer_cancel)(struct gi_timer *t);
  void (*timer_finish)(struct gi_timer *t);
  void (*io_watch)(struct gi_io *io, unsigned events);
  void (*io_finish)(struct gi_io *io);
  void (*work_submit)(struct gi_reactor *r, struct gi_work *w);
  void (*work_forget)(struct gi_reactor *r, int alone_with); /* NULL: nobody is alone */
  bool (*busy)(const struct gi_reactor *r);                  /* NULL: never */
};

/* How gi_ticks relates to gi_now; all zero: they are the same. */
struct gi_ticks_rate {
  bool counter;         /* the processor's */
  uint64_t ns_per_tick; /* 32 bits behind the point, and none before it */
  uint64_t ticks, ns;   /* gi_now was read then */
};

struct gi_net_ops;

/* Every implementation embeds this first. */
struct gi_reactor {
  const struct gi_reactor_ops *ops;
  const struct gi_net_ops *net; /* what carries connections (rpc/net.h); NULL: the kernel's sockets */
  struct gi_list deferred;      /* struct gi_defer */
  struct gi_list resolving;     /* names that are being looked up (rpc/resolve.c) */
  struct gi_task *task;         /* that runs now (task.h); NULL in an ordinary handler */
  struct gi_ticks_rate rate;
};

static inline uint64_t
gi_ticks(const struct gi_reactor *r)
{
#ifdef __x86_64__
  if (r->rate.counter)
    return __builtin_ia32_rdtsc();
#endif
  return r->ops->now((struct gi_reactor *)(uintptr_t)r);
}

static inline uint64_t
gi_ticks_ns(const struct gi_reactor *r, uint64_t ticks)
{
  return r->rate.counter ? (uint64_t)((unsigned __int128)ticks * r->rate.ns_per_tick >> 32) : ticks;
}

#define GI_RATE_FRESH (1u << 22) /* ticks: the clock is read again after so long; a millisecond or two */
#define GI_RATE_SLOWER 10 /* what is added since is less by one part in 2^10: more than the clock's rate is ever adjusted by */

uint64_t gi_now_reread(struct gi_reactor *r, uint64_t ticks);

static inline uint64_t
gi_now_at(struct gi_reactor *r, uint64_t ticks)
{
  uint64_t since = ticks - r->rate.ticks, ns;

  if (!r->rate.counter)
    return ticks;
  if (since >= GI_RATE_FRESH) /* or from before the last reading */
    return gi_now_reread(r, ticks);
  ns = since * r->rate.ns_per_tick >> 32;
  return r->rate.ns + ns - (ns >> GI_RATE_SLOWER);
}

static inline uint64_t
gi_now_about(struct gi_reactor *r)
{
  return gi_now_at(r, gi_ticks(r));
}

/* For implementations: runs everything deferred, including what that defers. */
void gi_reactor_run_deferred(struct gi_reactor *r);

#endif
