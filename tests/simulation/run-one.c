/* SPDX-License-Identifier: Apache-2.0
 *
 * A run: the cluster starts, there is trouble for a while, then none; in the
 * end everything stops in order and nothing may be left.
 */
#include "libglusterish/probe.h"
#include "libglusterish/task.h"
#include "tests/simulation/run.h"
#include "tests/simulation/fault/mover.h"
#include "tests/simulation/model/registers.h"
#include "tests/simulation/model/modes.h"
#include "tests/simulation/model/namespace.h"
#include "tests/simulation/cluster/settle.h"
#include "tests/simulation/world/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define START_NS (5 * SIM_S)
#define EVERY_NS (700 * SIM_MS) /* a mishap, on average */
#define LASTS_NS (15 * SIM_S)
#define QUIET_NS (30 * SIM_S) /* by then everything has found together again */
#define HEAL_NS (600 * SIM_S) /* by then everything is healed */
#define SETUP_NS (60 * SIM_S)
#define REPLACE_PERMILLE 300    /* of the runs: the administrator replaces a brick when all is healed */
#define ANSWER_NS (100 * SIM_S) /* how long an operation may take without trouble */

/* What could make a run differ is settled once, before any world exists. */
static struct sim_world *log_world;

static void
log_clock(struct timespec *now)
{
  uint64_t ns = log_world ? log_world->now : 0;
  *now = (struct timespec){.tv_sec = (time_t)(ns / SIM_S), .tv_nsec = (long)(ns % SIM_S)};
}

void
sim_preload(void)
{
  static const char *const types[] = {
      "protocol/client", "protocol/server",         "cluster/replicate", "cluster/distribute", "features/utime",
      "debug/io-stats",  "features/access-control", "features/locks",    "features/index",     "performance/io-threads",
      "storage/posix",   "features/arbiter",        "features/upcall",   "features/shard",
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(types); i++) {
    struct gi_error err = {0};
    void *dl;
    if (gi_class_load(types[i], &dl, &err))
      continue;
    fprintf(stderr, "run: %s\n", err.text);
    exit(2);
  }
  sim_layers_count(); /* and every layer */
}

/* ---- invariants at the end ---- */

static void
check_answered(struct sim_cluster *c)
{
  if (!sim_cluster_clients_up(c))
    sim_violation(c->w, "a client does not serve though all bricks have run for %llu s",
                  (unsigned long long)(QUIET_NS / SIM_S));
}

static void
check_disks(struct sim_cluster *c)
{
  char why[256];
  for (unsigned i = 0; i < c->config.bricks; i++) {
    if (c->machine[i].view && sim_view_open_files(c->machine[i].view))
      sim_violation(c->w, "brick-%u leaves %u files open", i, sim_view_open_files(c->machine[i].view));
    if (!c->machine[i].scarred && !sim_disk_sound(c->machine[i].disk, SIM_BRICK_DIR, why, sizeof(why)))
      sim_violation(c->w, "brick-%u: %s", i, why);
  }
}

/* ---- the run ---- */

/* What bricks without copies lose is lost; what disks lose is judged by the bricks of one set alone. */
static bool
keeps_all(const struct sim_cluster *c)
{
  return !sim_has_copies(&c->config) || (c->config.spread && c->config.shard);
}

static uint64_t
bearable(uint64_t mishaps)
{
  static const char *const not [] = {"power-loss", "disk-faults", "disk-refuses", "healer-crash", "healer-freeze"};
  uint64_t all = mishaps ? mishaps : (1ull << sim_mishaps_count) - 1;
  for (unsigned i = 0; i < sim_mishaps_count; i++)
    for (unsigned k = 0; k < GI_ARRAY_LEN(not ); k++)
      if (strcmp(sim_mishaps[i].name, not [k]) == 0)
        all &= ~(1ull << i);
  return all;
}

static void
trouble(struct sim_cluster *c, const struct sim_plan *plan, struct sim_outcome *out)
{
  uint64_t until = c->w->now + plan->seconds * SIM_S;
  if (plan->mishaps == SIM_NO_MISHAPS) {
    sim_world_run(c->w, until, NULL);
    return;
  }
  struct sim_mishaps_plan mishaps = {.every_ns = EVERY_NS, .lasts_ns = LASTS_NS, .only = plan->mishaps};
  if (keeps_all(c))
    mishaps.only = bearable(plan->mishaps);
  if (keeps_all(c) && !mishaps.only) {
    sim_world_run(c->w, until, NULL);
    return;
  }
  struct sim_mishaps_run *run = sim_mishaps_start(c, &mishaps);
  sim_world_run(c->w, until, NULL);
  sim_mishaps_stop(run);
  memcpy(out->struck, sim_mishaps_struck(run), sim_mishaps_count * sizeof(uint64_t));
  sim_mishaps_free(&run);
}

/* What the workload needs is made before anything goes wrong, and is durable. */
static void
setup_task(void *arg)
{
  struct sim_client *c = arg;
  c->setup(c);
  c->ready = true;
}

static void
setup_start(void *arg)
{
  struct sim_client *c = arg;
  gi_task_start(&c->process->reactor->base, setup_task, c);
}

static void
on_client(struct sim_cluster *c, void (*fn)(struct sim_client *c), uint64_t ns)
{
  struct sim_client *client = &c->client[0];
  uint64_t until = c->w->now + ns;
  if (!sim_process_runs(client->process)) {
    sim_violation(c->w, "%s does not run any more", client->process->name);
    return;
  }
  client->setup = fn;
  client->ready = false;
  sim_process_call(client->process, setup_start, client);
  while (!client->ready && sim_world_step(c->w, until))
    ;
  if (!client->ready)
    sim_violation(c->w, "what %s is to do does not end", client->process->name);
}

static void
setup(struct sim_cluster *c, const struct sim_plan *plan)
{
  uint64_t until = c->w->now + SETUP_NS;
  while (!sim_cluster_clients_up(c) && sim_world_step(c->w, until))
    ;
  if (!plan->workload->setup)
    return;
  on_client(c, plan->workload->setup, SETUP_NS);
  sim_world_run(c->w, c->w->now + START_NS, NULL);
  for (unsigned i = 0; i < c->config.bricks; i++)
    sim_disk_sync(c->machine[i].disk);
}

/* A brick that was stopping when trouble ended is started when it has stopped. */
static void
recover(struct sim_cluster *c)
{
  for (uint64_t t = 0; t < QUIET_NS; t += SIM_S) {
    sim_cluster_repair(c);
    sim_world_run(c->w, c->w->now + SIM_S, NULL);
  }
}

static void
account(const struct sim_cluster *c, struct sim_outcome *out)
{
  for (unsigned i = 0; i < c->config.clients; i++) {
    out->ops += c->client[i].ops;
    out->failures += c->client[i].failures;
  }
  for (unsigned i = 0; i < c->config.bricks; i++)
    sim_machine_count(&c->machine[i], out->disk);
}

static bool
lost_power(const struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (c->machine[i].scarred)
      return true;
  return false;
}

/* Nobody uses the volume any more: everything heals; perhaps a brick is replaced, and everything heals again. */
static void
settle(struct sim_cluster *c, const struct sim_plan *plan, struct sim_outcome *out)
{
  struct sim_rng rng = sim_rng_new(plan->seed, 6ull << 32);
  if (!c->config.healers || !sim_settle(c, HEAL_NS, lost_power(c)))
    return;
  if (plan->workload->sweep) { /* what looking mends is to be healed, too */
    on_client(c, plan->workload->sweep, HEAL_NS);
    if (!sim_settle(c, HEAL_NS, false))
      return;
  }
  if (c->mover && !(sim_mover_once(c, HEAL_NS, sim_spread_doubles(c)) && sim_settle(c, HEAL_NS, false)))
    return;
  if (sim_set_count(&c->config) == 1 && plan->mishaps != SIM_NO_MISHAPS && sim_rng_chance(&rng, REPLACE_PERMILLE) &&
      sim_replace_brick(c, (unsigned)sim_rng_below(&rng, c->config.bricks))) {
    out->replaced++;
    if (!sim_settle(c, HEAL_NS, false))
      return;
  }
  for (unsigned i = 0; i < c->config.bricks && plan->workload->check_disk; i++)
    if (!sim_is_arbiter(&c->config, i))
      plan->workload->check_disk(c, i);
}

static void
live(struct sim_cluster *c, const struct sim_plan *plan, struct sim_outcome *out)
{
  sim_cluster_start(c);
  setup(c, plan);
  for (unsigned i = 0; i < c->config.clients; i++)
    sim_client_begin(&c->client[i], plan->workload->session);
  sim_world_run(c->w, c->w->now + START_NS, NULL);
  struct sim_mover_run *mover = c->mover ? sim_mover_start(c) : NULL;
  trouble(c, plan, out);
  if (mover)
    sim_mover_stop(&mover);
  recover(c);
  check_answered(c);
  sim_cluster_leave(c, ANSWER_NS);
  settle(c, plan, out);
  sim_cluster_stop(c, ANSWER_NS);
  check_disks(c);
}

void
sim_run(const struct sim_plan *plan, struct sim_outcome *out)
{
  struct sim_world *w = sim_world_new(plan->seed);
  struct sim_cluster_config config = {.bricks = plan->bricks,
                                      .clients = plan->clients,
                                      .healers = true,
                                      .spread = plan->workload->spread,
                                      .shard = plan->workload->shard,
                                      .moves = plan->workload->moves,
                                      .dump = plan->log != GI_LOG_NONE,
                                      .watch = plan->log >= GI_LOG_TRACE,
                                      .layers_given = plan->layers != NULL};
  *out = (struct sim_outcome){0};
  log_world = w;
  gi_log_set_clock(log_clock);
  gi_log_set_level(plan->log);
  if (plan->trace && sim_trace_open(w, plan->trace) < 0)
    fprintf(stderr, "run: cannot write %s\n", plan->trace);
  if (plan->history && !(w->history = fopen(plan->history, "we")))
    fprintf(stderr, "run: cannot write %s\n", plan->history);
  sim_net_new(w);
  if (plan->layers)
    sim_layers_parse(plan->layers, &config.layers);
  sim_config_draw(&config, plan->seed);
  struct sim_cluster *c = sim_cluster_new(w, &config);
  c->model = sim_model_new(w);
  if (config.shard)
    sim_model_own_syncs(c->model);
  c->names = sim_namespace_new(w);
  c->modes = sim_modes_new(w);
  if (sim_set_count(&c->config) > 1)
    sim_namespace_over_sets(c->names);
  live(c, plan, out);
  account(c, out);
  out->hash = w->hash;
  out->events = w->events;
  out->virtual_ns = w->now;
  out->net = w->net->stats;
  out->violations = w->violations;
  memcpy(out->violation, w->violation, sizeof(out->violation));
  sim_trace_close(w);
  if (w->history)
    fclose(w->history);
  w->history = NULL;
  log_world = NULL;
  sim_model_free(&c->model);
  sim_namespace_free(&c->names);
  sim_modes_free(&c->modes);
  sim_claims_free(&c->claims);
  sim_cluster_free(&c);
  sim_net_free(w);
  sim_world_free(&w);
}

/* ---- telling ---- */

void
sim_print_command(FILE *out, const struct sim_plan *plan, uint64_t seed)
{
  fprintf(out, "tests/simulation/run --seed %" PRIu64 " --until %" PRIu64 " --workload %s", seed, plan->seconds,
          plan->workload->name);
  if (plan->bricks)
    fprintf(out, " --bricks %u", plan->bricks);
  if (plan->clients)
    fprintf(out, " --clients %u", plan->clients);
  if (plan->layers)
    fprintf(out, " --layers %s", plan->layers);
  if (plan->mishaps == SIM_NO_MISHAPS)
    fprintf(out, " --mishaps none");
  else if (plan->mishaps) {
    const char *between = " --mishaps ";
    for (unsigned i = 0; i < sim_mishaps_count; i++) {
      if (!(plan->mishaps >> i & 1))
        continue;
      fprintf(out, "%s%s", between, sim_mishaps[i].name);
      between = ",";
    }
  }
  fputc('\n', out);
}

static void
print_probe(const struct gi_probe *m, void *arg)
{
  if (m->hits)
    printf("probe %8" PRIu64 "  %s\n", m->hits, m->name);
  else
    printf("probe    never  %s\n", m->name);
}

static void
print_outcome(const struct sim_plan *plan, const struct sim_outcome *out)
{
  printf("seed %" PRIu64 ": %" PRIu64 " events in %" PRIu64 " virtual s, %" PRIu64 " operations (%" PRIu64 " failed)\n",
         plan->seed, out->events, out->virtual_ns / SIM_S, out->ops, out->failures);
  for (unsigned i = 0; i < sim_mishaps_count; i++)
    if (out->struck[i])
      printf("mishap %6" PRIu64 "  %s\n", out->struck[i], sim_mishaps[i].name);
  for (const struct gi_metric *m = sim_net_metrics; m->name; m++)
    printf("net %9" PRIu64 "  %s\n", gi_metric_value(m, &out->net), m->help);
  for (unsigned i = 0; i < SIM_DISK_COUNTS; i++)
    if (out->disk[i])
      printf("disk %8" PRIu64 "  %s\n", out->disk[i], sim_disk_count_name(i));
  if (plan->probes)
    gi_probes_foreach(print_probe, NULL);
  if (out->violations)
    printf("VIOLATION (%u): %s\n", out->violations, out->violation);
  printf("hash %016" PRIx64 "\n", out->hash);
}

int
sim_run_one(const struct sim_plan *plan)
{
  struct sim_outcome out;
  sim_preload();
  sim_run(plan, &out);
  print_outcome(plan, &out);
  fflush(stdout);
  _Exit(out.violations ? 1 : 0); /* what crashed processes left is not to be looked for */
}
