/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes wrong in a run, as a table: each kind has a name, strikes
 * somewhere by chance and may have an end. Faults of disks are in disk/disk.h;
 * one kind here switches them on for a while.
 */
#ifndef SIM_MISHAP_H
#define SIM_MISHAP_H

#include "tests/simulation/cluster/cluster.h"

/* one that is under way */
struct sim_mishap_state {
  uint32_t a, b; /* whom it struck: machines, hosts, a set of them */
};

struct sim_mishap {
  const char *name, *summary;
  unsigned weight; /* how often it is drawn among all; 0: only if it is named */
  /* Strikes, and writes down whom. False: not possible now. */
  bool (*strike)(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s);
  void (*mend)(struct sim_cluster *c, const struct sim_mishap_state *s); /* NULL: nothing to mend */
};

extern const struct sim_mishap sim_mishaps[];
extern const unsigned sim_mishaps_count;

/* Strikes by chance, every `every_ns` on average, until sim_mishaps_stop. What has an end ends after up to `lasts_ns`. */
struct sim_mishaps_plan {
  uint64_t every_ns, lasts_ns;
  uint64_t only; /* bit i: kind i may happen; 0 = all */
};
struct sim_mishaps_run;
struct sim_mishaps_run *sim_mishaps_start(struct sim_cluster *c, const struct sim_mishaps_plan *plan);
void sim_mishaps_stop(struct sim_mishaps_run *run);                    /* and mends everything */
const uint64_t *sim_mishaps_struck(const struct sim_mishaps_run *run); /* by kind */
void sim_mishaps_free(struct sim_mishaps_run **run);                   /* stopped */

#endif
