/* SPDX-License-Identifier: Apache-2.0
 *
 * The rebalance of a volume of several sets: while there is trouble it is begun,
 * and killed, again and again, as if one set after another were to leave and then
 * stayed; in the end one is left alone.
 */
#ifndef SIM_MOVER_H
#define SIM_MOVER_H

#include "tests/simulation/cluster/cluster.h"

struct sim_mover_run;

struct sim_mover_run *sim_mover_start(struct sim_cluster *c);
void sim_mover_stop(struct sim_mover_run **run);
/* One from beginning to end, while nobody uses the volume: c->leaving is the set that it has emptied. False: it did not succeed, which is
 * a violation, unless it could not move so many files: as many as there are names that nobody can tell what they are. */
bool sim_mover_once(struct sim_cluster *c, uint64_t ns, unsigned doubles);

#endif
