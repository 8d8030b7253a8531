/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients do in a run, as a table.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "tests/simulation/cluster/ops.h"

struct sim_workload {
  const char *name, *summary;
  /* On a task of the client, until c->leave; may become several with sim_client_tasks. */
  void (*session)(struct sim_client *c);
  /* On a task of the first client before trouble begins, and when all copies are the same again; may be NULL. */
  void (*setup)(struct sim_client *c);
  void (*check_disk)(struct sim_cluster *c, unsigned brick);
  /* Over several sets; then `sweep` looks at everything, on a task of a client, when trouble is over and before all settles. */
  bool spread;
  void (*sweep)(struct sim_client *c);
  bool shard; /* files are kept in blocks */
  bool moves; /* while a rebalance moves files */
};

extern const struct sim_workload sim_workloads[];
extern const unsigned sim_workloads_count;

/* Runs fn on `n` tasks of the client, this one the last of them. The others are counted: they must end when c->leave is set. Each may
 * take a number of its own from c->next_task, which begins at 0. */
void sim_client_tasks(struct sim_client *c, unsigned n, void (*fn)(struct sim_client *c));

/* register.c: the files of the workload "register", made before anything goes wrong; and what a brick holds of them in the end. */
void sim_register_setup(struct sim_client *c);
void sim_register_session(struct sim_client *c);
void sim_register_synced_session(struct sim_client *c); /* half of them opened O_SYNC */
void sim_register_images_session(struct sim_client *c); /* their modes are set, too */
void sim_register_check_disk(struct sim_cluster *c, unsigned brick);
/* Bricks whose copy of a file, or of the block of it that has this sector, no heal would take for good, by what those that are not down say. */
uint32_t sim_register_outdated(const struct sim_cluster *c, unsigned file, unsigned sector);

/* names.c: the same of the workload "names". */
void sim_names_setup(struct sim_client *c);
void sim_names_session(struct sim_client *c);
void sim_names_check_disk(struct sim_cluster *c, unsigned brick);

unsigned sim_names_directories(const struct sim_cluster *c);
const char *sim_names_directory(unsigned dir, char name[16]);

/* spread.c: names over several sets. */
#define SIM_SPREAD_PATH 128
void sim_spread_sweep(struct sim_client *c);
bool sim_spread_is_linkto(const struct sim_cluster *c, unsigned brick, const char *path); /* what the brick has there */
/* A file that a rename over one of another set has given this further name, without deciding it: no client tells the name, and the next one that
 * reaches all sets takes it back. */
bool sim_spread_is_undecided(const struct sim_cluster *c, unsigned brick, const char *path);
void sim_spread_check_disk(struct sim_cluster *c, unsigned brick);
/* Names that were changed shortly before a machine lost its power, and are files on several sets: which one is right nothing says. */
unsigned sim_spread_doubles(struct sim_cluster *c);

/* locks.c: the same of the workload "locks". */
void sim_locks_setup(struct sim_client *c);
void sim_locks_session(struct sim_client *c);
void sim_claims_free(struct sim_claims **claims);

#endif
