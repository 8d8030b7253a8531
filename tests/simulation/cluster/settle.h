/* SPDX-License-Identifier: Apache-2.0
 *
 * What must be true when everything was mended and nobody uses the volume any
 * more: within a time the self-heal has made all copies the same, no mark is
 * left, and nobody holds a lock.
 */
#ifndef SIM_SETTLE_H
#define SIM_SETTLE_H

#include "tests/simulation/cluster/cluster.h"

/* Waits for it, at most `ns`, and tells what is not so as violations. True: all copies are the same. `full`: the administrator
 * orders full crawls as well, as after a power loss. */
bool sim_settle(struct sim_cluster *c, uint64_t ns, bool full);
/* The administrator gives a brick an empty disk. False: not now (something is down or waits to be healed). */
bool sim_replace_brick(struct sim_cluster *c, unsigned brick);

#endif
