/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated process's reactor: the second implementation of
 * struct gi_reactor_ops. Time is the world's, chance comes from the seed, works
 * run on a bounded number of simulated workers, and whatever a handler
 * deferred runs when it has returned, at the same moment.
 */
#ifndef SIM_REACTOR_H
#define SIM_REACTOR_H

#include "tests/simulation/world/world.h"

struct sim_reactor {
  struct gi_reactor base;
  struct sim_world *w;
  unsigned id;   /* in trace and hash; unique, from 1 */
  char name[48]; /* in the trace */
  unsigned host; /* net/net.h */
  struct sim_rng rng;
  int64_t skew_ns; /* of its wall clock */
  bool frozen, dead;
  struct gi_list parked; /* events that came while it was frozen, in order */
  unsigned live;         /* timers and watched sockets that exist */
  /* works */
  unsigned workers, working;
  struct gi_list queue[GI_PRIO_COUNT];
  /* How long a work that has just run keeps its worker; NULL: some microseconds. */
  uint64_t (*work_ns)(void *arg, struct gi_work *work);
  void *work_arg;
};

/* `id` also picks the stream of random numbers: a process that starts again must have another. */
struct sim_reactor *sim_reactor_new(struct sim_world *w, unsigned id, const char *name, unsigned workers);
/* Of a process that has ended in order: asserts that no timer and no socket is left. Works may not be under way. */
void sim_reactor_free(struct sim_reactor **r);
bool sim_reactor_idle(const struct sim_reactor *r); /* no work is waiting or under way */

/* Runs fn(arg) as a handler of this process, now. */
void sim_reactor_call(struct sim_reactor *r, void (*fn)(void *arg), void *arg);

void sim_reactor_freeze(struct sim_reactor *r);
void sim_reactor_thaw(struct sim_reactor *r);
/* Nothing of it ever runs again. Its memory is abandoned. */
void sim_reactor_kill(struct sim_reactor *r);

/* For world.c. */
bool sim_reactor_may_run(struct sim_reactor *r, struct sim_event *e); /* false: the event was parked or dropped */
void sim_reactor_handle(struct sim_reactor *r, struct sim_event *e);
unsigned sim_reactor_id(const struct sim_reactor *r);

#endif
