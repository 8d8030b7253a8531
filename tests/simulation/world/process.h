/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated process: a real graph, built from volfile text as glusterishfs
 * builds it, on a simulated reactor of a simulated host. It can be stopped in
 * order (nothing may be left then), frozen, crashed and started again.
 *
 * A crash abandons its memory: nothing of it runs again, and the run's own
 * process is short-lived (one seed each).
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "libglusterish/graph.h"
#include "tests/simulation/net/net.h"

enum sim_process_state { SIM_DOWN, SIM_RUNNING, SIM_FROZEN, SIM_STOPPING };

struct sim_process {
  struct sim_world *w;
  char name[32];
  unsigned number; /* from 1: the pid in traces */
  unsigned host;
  char *volfile;
  char *brick_name; /* NULL: not a brick */
  unsigned side;    /* GI_SIDE_*: its graph has room for what may be switched on later; 0: it has not */
  enum sim_process_state state;
  unsigned incarnation;
  int64_t skew_ns;             /* of its wall clock */
  struct sim_reactor *reactor; /* NULL while down */
  struct gi_ctx ctx;           /* of the present incarnation */
  struct sim_event stopping;   /* looks whether it has ended */
  uint64_t stop_by;
  /* Called before the graph is built (to give the ctx a disk, say), when it is active, and when it is about to go down in order
   * (whoever holds inodes or fds of it lets them go) or has gone by a crash. May be NULL. */
  void (*prepare)(struct sim_process *p, void *arg);
  void (*started)(struct sim_process *p, void *arg);
  void (*ending)(struct sim_process *p, bool crashed, void *arg);
  void *arg;
  struct gi_error why; /* it could not start */
  unsigned crashes, freezes, starts;
};

/* `volfile` is copied. */
struct sim_process *sim_process_new(struct sim_world *w, unsigned number, const char *name, unsigned host, const char *volfile,
                                    const char *brick_name);
void sim_process_free(struct sim_process **p); /* it must be down */
/* From down. False: the graph cannot be built (`why` says it), and it is down. */
bool sim_process_start(struct sim_process *p);
/* In order: what is under way ends, and then no operation, fd or timer may be left, else that is a violation. It is down some
 * time later; a frozen process is thawed first. */
void sim_process_stop(struct sim_process *p);
/* A new volfile: the running graph follows it, and so does every later one. It must run; a volfile it cannot follow is a violation. */
void sim_process_reload(struct sim_process *p, const char *volfile);
void sim_process_freeze(struct sim_process *p); /* as SIGSTOP; only a running one */
void sim_process_thaw(struct sim_process *p);
/* At once. `silent`: the whole host loses power, so its peers hear nothing. */
void sim_process_crash(struct sim_process *p, bool silent);
bool sim_process_runs(const struct sim_process *p); /* and its events are handled */
/* Runs fn(arg) as a handler of the process. It must be running. */
void sim_process_call(struct sim_process *p, void (*fn)(void *arg), void *arg);

#endif
