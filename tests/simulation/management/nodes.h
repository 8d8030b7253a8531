/* SPDX-License-Identifier: Apache-2.0
 *
 * Several nodes of a pool in one process: the management daemon as shipped on
 * simulated reactors, connected by the simulated network, with the store of
 * store.h and the processes of process.h. Their files are real, in a directory
 * of the run.
 */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include "programs/glusterishd/ops/op.h"
#include "tests/simulation/management/process.h"
#include "tests/simulation/management/store.h"
#include "tests/simulation/net/net.h"

#define NODES_MAX STORE_NODES
#define NODES_POOLS 4 /* of one run: a pool that begins has a store of its own */

struct sim_nodes;

struct sim_node {
  struct sim_nodes *all;
  unsigned n, host, incarnation;
  char *dir;
  struct sim_reactor *reactor; /* NULL: its daemon does not run */
  struct gd *gd;
  struct sim_event sign_in;
  struct gi_gfid id;   /* since it started for the first time */
  struct gi_error why; /* it could not start */
};

/* A command that was given to a node. */
struct sim_command {
  struct sim_node *node;
  unsigned incarnation;
  uint32_t proc;
  char *text;
  bool answered;
  struct gi_error err;
};

struct sim_nodes {
  struct sim_world *w;
  unsigned n;
  struct sim_node node[NODES_MAX];
  char dir[64];
  struct gd_options_map *map;
  unsigned nstores;
  struct {
    struct gi_gfid pool;
    struct sim_store *store;
  } stores[NODES_POOLS];
  /* A daemon dies at its call to the store with this number, counted from now on; 0: none does. */
  struct sim_node *mortal;
  unsigned dies_at;
  enum store_fate fate; /* or this happens instead */
  bool dies;
  uint64_t struck; /* when it happened; 0: not yet */
  /* Told of every change before the store takes it; may be NULL. */
  void (*changing)(void *arg, struct sim_store *s, unsigned n, const struct gd_key_put *puts, unsigned nputs);
  void *changing_arg;
};

struct sim_nodes *sim_nodes_new(struct sim_world *w, unsigned n); /* none runs; the world has a network and no hosts */
void sim_nodes_free(struct sim_nodes **all);                      /* with its directory; memory of daemons is abandoned */
void sim_node_start(struct sim_node *n);
void sim_node_crash(struct sim_node *n, bool silent); /* the daemon; silent: the machine, with all its processes */
void sim_nodes_mend(struct sim_nodes *all);           /* all reach their store, which has a majority */
const char *sim_node_address(const struct sim_node *n, char text[16]);
struct sim_store *sim_node_store(const struct sim_node *n); /* of its pool; NULL: it is in none */

/* Steps until `until` or while !*stop; whoever is to die does. */
void sim_nodes_run(struct sim_nodes *all, uint64_t ns, const bool *stop);

/* Begins a command; DIR/ in the text becomes the directory of the run. It stays valid until sim_command_free. */
struct sim_command *sim_command_new(struct sim_node *n, uint32_t proc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void sim_command_free(struct sim_command **c);
/* To its end, or that of its node. */
void sim_command_wait(struct sim_command *c, uint64_t ns);

/* Do all nodes that run tell the same, and the same as the store, and are the processes those that should be? Else a sentence. */
bool sim_nodes_agree(struct sim_nodes *all, char *why, size_t size);

#endif
