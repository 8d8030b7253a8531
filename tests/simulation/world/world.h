/* SPDX-License-Identifier: Apache-2.0
 *
 * The world: virtual time, one heap of events ordered by time and then by the
 * order in which they were scheduled, a seed, and a running hash of everything
 * that happened. A world is one thread's; nothing in it is global.
 *
 * An event belongs to a process (reactor.h) or to nobody (the network, the
 * script). Events of a frozen process wait until it is thawed; those of a dead
 * one never happen.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "libglusterish/list.h"
#include "libglusterish/mem.h"
#include "libglusterish/reactor.h"
#include "tests/simulation/world/rng.h"

#define SIM_US UINT64_C(1000)
#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)

struct sim_reactor;
struct sim_trace;
struct sim_net;

struct sim_event {
  uint64_t when, sequence;
  unsigned at; /* place in the heap */
  bool queued; /* in the heap, or parked with a frozen owner */
  bool parked;
  struct gi_list link;       /* while parked */
  struct sim_reactor *owner; /* NULL: the world itself */
  const char *kind;          /* a constant: for trace and hash */
  void (*fn)(void *arg);
  void *arg;
};

struct sim_world {
  uint64_t seed;
  uint64_t now; /* ns since the beginning */
  uint64_t sequence;
  uint64_t events; /* that happened */
  uint64_t hash;
  struct sim_event **heap;
  unsigned count, room;
  struct sim_rng rng;          /* the script's */
  struct sim_reactor *current; /* whose event is running; NULL: the world's */
  struct sim_net *net;
  struct sim_trace *trace; /* NULL: none is written */
  FILE *history;           /* NULL, or a line for all that is hashed: two runs that differ are compared with diff */
  struct gi_list calls;    /* one-time events under way: sim_world_call */
  /* An invariant that does not hold is told here, and the run goes on: the first one is kept. */
  unsigned violations;
  char violation[512];
};

struct sim_world *sim_world_new(uint64_t seed);
void sim_world_free(struct sim_world **w);

void sim_event_init(struct sim_event *e, struct sim_reactor *owner, const char *kind, void (*fn)(void *arg), void *arg);
/* Schedules, or moves, an event. */
void sim_event_set(struct sim_world *w, struct sim_event *e, uint64_t delay_ns);
void sim_event_cancel(struct sim_world *w, struct sim_event *e); /* not scheduled is fine */
/* Calls fn(arg) once, later, on behalf of `owner` (which may be NULL). The event is freed afterwards. */
void sim_world_call(struct sim_world *w, struct sim_reactor *owner, uint64_t delay_ns, const char *kind, void (*fn)(void *arg),
                    void *arg);

/* The next event. False: nothing is scheduled, or nothing before `until` (then it is `until`). */
bool sim_world_step(struct sim_world *w, uint64_t until);
/* Everything up to `until`, or while !*stop. */
void sim_world_run(struct sim_world *w, uint64_t until, const bool *stop);

/* Takes bytes into the hash of the run: whatever could differ between two runs of one seed. */
void sim_world_hash(struct sim_world *w, const char *kind, uint64_t a, uint64_t b, const void *data, size_t len);

/* An invariant is broken. */
void sim_violation(struct sim_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
