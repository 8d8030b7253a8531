/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of a pool (key-store.h) in simulated time, for daemons that share
 * it: requests and answers travel for a while and may be lost, leases run out,
 * a node may be cut off, and for a time there may be no majority. What was sent
 * is carried out although nobody waits for it any more.
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "programs/glusterishd/pool/key-table.h"
#include "tests/simulation/world/reactor.h"

#define STORE_LEASES 64
#define STORE_NODES 8

/* What becomes of a daemon at a call, or of the store: it loses its majority before, or the daemon hears nothing of it any more after it. */
enum store_fate { STORE_GO_ON, STORE_DIE_BEFORE, STORE_DIE_AFTER, STORE_NO_MAJORITY, STORE_CUT_OFF };

struct sim_store {
  struct sim_world *w;
  struct sim_rng rng;
  struct key_table keys;
  struct {
    int64_t id; /* 0: free */
    uint64_t until, ttl;
  } lease[STORE_LEASES];
  int64_t last_lease;
  bool slow;                 /* some messages take seconds */
  unsigned down;             /* so many faults keep it from a majority */
  unsigned cut[STORE_NODES]; /* so many faults keep a node from it */
  struct gi_list clients;
  struct sim_event expiry;
  /* May be NULL: asked at every call of node `n`; told of every change before it happens. */
  enum store_fate (*called)(void *arg, unsigned n);
  void *called_arg;
  void (*changing)(void *arg, struct sim_store *s, unsigned n, const struct gd_key_put *puts, unsigned nputs);
  void *changing_arg;
};

struct sim_store *sim_store_new(struct sim_world *w, unsigned number);
void sim_store_free(struct sim_store **s);
/* For node `n`, on its reactor. */
struct gd_key_store *sim_store_open(struct sim_store *s, unsigned n, struct sim_reactor *r);
void sim_store_abandon(struct sim_store *s, struct sim_reactor *r);                  /* of a process that crashed */
void sim_store_restart(struct sim_store *s);                                         /* whoever watches hears of it */
const struct gd_key_pair *sim_store_get(const struct sim_store *s, const char *key); /* NULL: there is none */

#endif
