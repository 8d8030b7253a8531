/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients do in a run, as a table.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "tests/simulation/sim-ops.h"

struct sim_workload {
  const char *name, *summary;
  /* On a task of the client, until c->leave; may start more of them with sim_client_task. */
  void (*session)(struct sim_client *c);
};

extern const struct sim_workload sim_workloads[];
extern const unsigned sim_workloads_count;

/* A further task of the client, counted: it must end when c->leave is set. */
void sim_client_task(struct sim_client *c, void (*fn)(struct sim_client *c));

#endif
