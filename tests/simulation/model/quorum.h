/* SPDX-License-Identifier: Apache-2.0
 *
 * Quorum, judged from outside: who could reach whom when an operation
 * succeeded, and on how many bricks a change was made that was acknowledged.
 * Nothing here asks replicate.
 */
#ifndef SIM_QUORUM_H
#define SIM_QUORUM_H

#include "tests/simulation/cluster/cluster.h"

/* Whether a set of bricks is enough, by the volume's options. Here and below they are those of one set, its first one bit 0. */
bool sim_quorum_met(const struct sim_cluster_config *config, uint32_t bricks);
/* The same of those that have some data: an arbiter has none, and counts as if it had. */
bool sim_quorum_stored(const struct sim_cluster_config *config, uint32_t bricks);
/* Of the bricks that others accuse of lacking data of a file (`accusers` of each), those whose copy no heal takes for good: all of them,
 * unless every copy is accused; then those that a quorum accuses. */
uint32_t sim_quorum_outdated(const struct sim_cluster_config *config, const uint32_t accusers[SIM_BRICKS]);
/* An acknowledged change was found on these bricks: a violation if that is fewer than the quorum of any set. An arbiter is believed: it
 * may have gone since it answered. */
void sim_quorum_done(struct sim_client *c, uint32_t bricks, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* To be called whenever something may have changed about who runs and who reaches whom: before anything comes back, at least. */
void sim_quorum_look(struct sim_cluster *c);
/* An operation that began at `begin` succeeds now: a violation if the client must have known all the time that fewer bricks than the
 * quorum could be reached, of every set. */
void sim_quorum_answered(struct sim_client *c, const char *what, uint64_t begin);

#endif
