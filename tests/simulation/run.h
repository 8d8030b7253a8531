/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of tests/simulation/run: run.c (the command line), run-one.c (a
 * seed from beginning to end), run-many.c (many of them, a process each).
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "libglusterish/log.h"
#include "tests/simulation/fault/mishap.h"
#include "tests/simulation/workload/workload.h"

#define SIM_NO_MISHAPS (1ull << 63)

struct sim_plan {
  uint64_t seed;
  uint64_t seconds;         /* of trouble, virtual */
  unsigned bricks, clients; /* 0: drawn from the seed */
  const struct sim_workload *workload;
  uint64_t mishaps;            /* sim_mishaps_plan.only, or SIM_NO_MISHAPS */
  const char *layers;          /* as given: sim_cluster_config.layers; NULL: drawn */
  const char *trace, *history; /* files or NULL */
  enum gi_log_level log;
  bool probes;
  bool first; /* the first seed that fails is enough */
};

struct sim_outcome {
  uint64_t hash, events, virtual_ns;
  uint64_t ops, failures;
  unsigned violations;
  char violation[512]; /* the first */
  uint64_t struck[32]; /* by mishap */
  uint64_t replaced;   /* bricks by empty ones */
  struct sim_net_stats net;
  uint64_t disk[SIM_DISK_COUNTS];
};

void sim_preload(void); /* loads every translator a run needs, so that forked children need not */
/* A seed from beginning to end. Leaves memory of crashed processes behind. */
void sim_run(const struct sim_plan *plan, struct sim_outcome *out);
/* The same for a command: prints how it went. Exit status. */
int sim_run_one(const struct sim_plan *plan);
int sim_run_many(const struct sim_plan *plan, uint64_t from, uint64_t to, unsigned jobs);
/* The command that runs this seed again. */
void sim_print_command(FILE *out, const struct sim_plan *plan, uint64_t seed);

#endif
