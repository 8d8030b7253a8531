/* SPDX-License-Identifier: Apache-2.0
 *
 * See mishap.h.
 */
#include "tests/simulation/fault/mishap.h"
#include "tests/simulation/model/registers.h"
#include "tests/simulation/model/modes.h"
#include "tests/simulation/model/namespace.h"
#include "tests/simulation/model/quorum.h"
#include "tests/simulation/world/trace.h"

#define UNDER_WAY_MAX 8
#define KINDS_MAX 32
#define DISK_FAULTS_PER_MILLION 3500
#define RARE_FAULTS_PER_MILLION 20000 /* of calls there are few of: fsync, and writes long enough to be cut short */
#define REFUSED_PER_MILLION 300000
#define NAMED_WEIGHT 3

/* ---- whom ---- */

static struct sim_machine *
any_machine(struct sim_cluster *c, struct sim_rng *rng, uint32_t *which)
{
  *which = (uint32_t)sim_rng_below(rng, c->config.bricks);
  return &c->machine[*which];
}

static struct sim_client *
any_client(struct sim_cluster *c, struct sim_rng *rng, uint32_t *which)
{
  *which = (uint32_t)sim_rng_below(rng, c->config.clients);
  return &c->client[*which];
}

static void
any_link(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  s->a = any_machine(c, rng, &s->a)->process->host;
  s->b = any_client(c, rng, &s->b)->process->host;
}

/* ---- network ---- */

static bool
cut(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  any_link(c, rng, s);
  return sim_net_cut(c->w->net, s->a, s->b) > 0;
}

static bool
one_way(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  any_link(c, rng, s);
  if (sim_rng_chance(rng, 500)) {
    uint32_t a = s->a;
    s->a = s->b;
    s->b = a;
  }
  sim_net_break(c->w->net, s->a, s->b, true);
  return true;
}

static void
one_way_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_net_break(c->w->net, s->a, s->b, false);
}

static bool
partition(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  uint32_t all = (1u << c->w->net->nhosts) - 1;
  s->a = (uint32_t)sim_rng_u64(rng) & all;
  if (s->a == 0 || s->a == all)
    return false;
  sim_net_partition(c->w->net, s->a, true);
  return true;
}

static void
partition_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_net_partition(c->w->net, s->a, false);
}

static bool
refuse(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  any_link(c, rng, s);
  sim_net_refuse(c->w->net, s->a, true);
  sim_net_cut(c->w->net, s->a, s->b);
  return true;
}

static void
refuse_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_net_refuse(c->w->net, s->a, false);
}

static bool
slow_reader(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  any_link(c, rng, s);
  if (sim_rng_chance(rng, 300))
    s->a = s->b;
  sim_net_slow(c->w->net, s->a, true);
  return true;
}

static void
slow_reader_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_net_slow(c->w->net, s->a, false);
}

/* ---- bricks ---- */

static void
brick_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_machine_start(&c->machine[s->a]);
}

static bool
brick_crash(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  if (!sim_process_runs(m->process))
    return false;
  sim_machine_crash(m);
  return true;
}

static bool
power_loss(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  if (!sim_process_runs(m->process))
    return false;
  sim_machine_power_loss(m);
  sim_model_power_loss(c->model);
  sim_namespace_power_loss(c->names);
  sim_modes_power_loss(c->modes);
  return true;
}

static bool
brick_stop(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  if (m->process->state != SIM_RUNNING)
    return false;
  sim_process_stop(m->process);
  return true;
}

static bool
brick_freeze(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  if (m->process->state != SIM_RUNNING)
    return false;
  sim_process_freeze(m->process);
  return true;
}

static void
brick_thaw(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_process_thaw(c->machine[s->a].process);
}

static bool
disk_faults(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  m->scarred = true;
  sim_disk_set_faults(m->disk, DISK_FAULTS_PER_MILLION);
  sim_disk_set_fault(m->disk, SIM_FAULT_FSYNC, RARE_FAULTS_PER_MILLION);
  sim_disk_set_fault(m->disk, SIM_FAULT_SHORT, RARE_FAULTS_PER_MILLION);
  return true;
}

static void
disk_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_disk_set_faults(c->machine[s->a].disk, 0);
}

static bool
disk_refuses(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  m->scarred = true;
  sim_disk_set_fault(m->disk, SIM_FAULT_WRITE_OUT, REFUSED_PER_MILLION);
  sim_disk_set_fault(m->disk, SIM_FAULT_DSYNC, REFUSED_PER_MILLION);
  return true;
}

static void
disk_refuses_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_disk_set_fault(c->machine[s->a].disk, SIM_FAULT_WRITE_OUT, 0);
  sim_disk_set_fault(c->machine[s->a].disk, SIM_FAULT_DSYNC, 0);
}

/* ---- healers ---- */

static bool
healer_crash(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  if (!m->healer || !sim_process_runs(m->healer))
    return false;
  sim_process_crash(m->healer, false);
  return true;
}

static void
healer_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  struct sim_machine *m = &c->machine[s->a];
  if (m->process->state != SIM_DOWN || !c->w->net->host[m->process->host].off)
    sim_machine_start_healer(m);
}

static bool
healer_freeze(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_machine *m = any_machine(c, rng, &s->a);
  if (!m->healer || m->healer->state != SIM_RUNNING)
    return false;
  sim_process_freeze(m->healer);
  return true;
}

static void
healer_thaw(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  if (c->machine[s->a].healer)
    sim_process_thaw(c->machine[s->a].healer);
}

/* ---- clients ---- */

static bool
client_crash(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_client *client = any_client(c, rng, &s->a);
  if (!sim_process_runs(client->process))
    return false;
  sim_process_crash(client->process, sim_rng_chance(rng, 500));
  return true;
}

static void
client_mend(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  if (c->client[s->a].process->state == SIM_DOWN)
    sim_process_start(c->client[s->a].process);
}

static bool
client_freeze(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_client *client = any_client(c, rng, &s->a);
  if (client->process->state != SIM_RUNNING)
    return false;
  sim_process_freeze(client->process);
  return true;
}

static void
client_thaw(struct sim_cluster *c, const struct sim_mishap_state *s)
{
  sim_process_thaw(c->client[s->a].process);
}

static bool
toggle(struct sim_cluster *c, struct sim_rng *rng, struct sim_mishap_state *s)
{
  struct sim_client *client = any_client(c, rng, &s->a);
  if (client->process->state != SIM_RUNNING || !c->config.layers)
    return false;
  s->b = sim_layers_change(&client->layers, rng, c->config.layers);
  sim_trace_mark(c->w, client->process->reactor, "mishap", "%s of %s is %s", sim_layer_name(s->b), client->process->name,
                 client->layers.on >> s->b & 1 ? "on" : "off");
  sim_client_reload(client);
  return true;
}

const struct sim_mishap sim_mishaps[] = {
    {"cut", "the connections of a client and a brick are reset", 10, cut, NULL},
    {"one-way", "one direction between a client and a brick carries nothing", 6, one_way, one_way_mend},
    {"partition", "two sets of hosts do not reach each other", 6, partition, partition_mend},
    {"refuse", "a brick's host refuses connections", 3, refuse, refuse_mend},
    {"slow-reader", "a process reads few bytes at a time", 4, slow_reader, slow_reader_mend},
    {"brick-crash", "a brick process is killed", 8, brick_crash, brick_mend},
    {"power-loss", "a brick's machine loses power, and its disk what was not synced", 5, power_loss, brick_mend},
    {"brick-stop", "a brick process is stopped in order", 4, brick_stop, brick_mend},
    {"brick-freeze", "a brick process does not run for a while", 6, brick_freeze, brick_thaw},
    {"disk-faults", "calls to a brick's disk fail now and then", 3, disk_faults, disk_mend},
    {"healer-crash", "a self-heal daemon is killed", 5, healer_crash, healer_mend},
    {"healer-freeze", "a self-heal daemon does not run for a while", 3, healer_freeze, healer_thaw},
    {"client-crash", "a client is killed, or its machine loses power", 4, client_crash, client_mend},
    {"client-freeze", "a client does not run for a while", 4, client_freeze, client_thaw},
    {"toggle", "a layer for speed of a client is switched on or off, or gets other options", 8, toggle, NULL},
    {"disk-refuses", "a brick's disk refuses what is to be written out, or written and synced", 0, disk_refuses,
     disk_refuses_mend},
};
const unsigned sim_mishaps_count = GI_ARRAY_LEN(sim_mishaps);

/* ---- a run of them ---- */

struct under_way {
  const struct sim_mishap *kind; /* NULL: free */
  struct sim_mishap_state state;
  struct sim_event end;
  struct sim_mishaps_run *run;
};

struct sim_mishaps_run {
  struct sim_cluster *c;
  struct sim_mishaps_plan plan;
  struct sim_rng rng;
  struct sim_event next;
  struct under_way slot[UNDER_WAY_MAX];
  uint64_t struck[KINDS_MAX];
};

static void
ended(void *arg)
{
  struct under_way *u = arg;
  const struct sim_mishap *kind = u->kind;
  u->kind = NULL;
  sim_trace_mark(u->run->c->w, NULL, "mishap", "%s ends", kind->name);
  kind->mend(u->run->c, &u->state);
  sim_quorum_look(u->run->c);
}

static unsigned
weight_of(const struct sim_mishaps_run *run, unsigned i)
{
  if (!run->plan.only)
    return sim_mishaps[i].weight;
  if (!(run->plan.only >> i & 1))
    return 0;
  return sim_mishaps[i].weight ? sim_mishaps[i].weight : NAMED_WEIGHT;
}

static const struct sim_mishap *
draw(struct sim_mishaps_run *run)
{
  unsigned total = 0;
  for (unsigned i = 0; i < sim_mishaps_count; i++)
    total += weight_of(run, i);
  uint64_t at = sim_rng_below(&run->rng, total);
  for (unsigned i = 0;; i++) {
    unsigned weight = weight_of(run, i);
    if (at < weight)
      return &sim_mishaps[i];
    at -= weight;
  }
}

static void
strike(struct sim_mishaps_run *run)
{
  const struct sim_mishap *kind = draw(run);
  struct under_way *u = NULL;
  for (unsigned i = 0; i < UNDER_WAY_MAX && !u; i++)
    if (!run->slot[i].kind)
      u = &run->slot[i];
  if (!u)
    return;
  u->state = (struct sim_mishap_state){0};
  if (!kind->strike(run->c, &run->rng, &u->state))
    return;
  sim_quorum_look(run->c);
  run->struck[kind - sim_mishaps]++;
  sim_trace_mark(run->c->w, NULL, "mishap", "%s", kind->name);
  if (!kind->mend)
    return;
  u->kind = kind;
  sim_event_set(run->c->w, &u->end, sim_rng_between(&run->rng, SIM_MS, run->plan.lasts_ns));
}

static void
next(void *arg)
{
  struct sim_mishaps_run *run = arg;
  strike(run);
  sim_event_set(run->c->w, &run->next, sim_rng_between(&run->rng, 0, 2 * run->plan.every_ns));
}

struct sim_mishaps_run *
sim_mishaps_start(struct sim_cluster *c, const struct sim_mishaps_plan *plan)
{
  struct sim_mishaps_run *run = gi_new(struct sim_mishaps_run);
  GI_ASSERT(sim_mishaps_count <= KINDS_MAX);
  run->c = c;
  run->plan = *plan;
  run->rng = sim_rng_new(c->w->seed, 4ull << 32);
  sim_event_init(&run->next, NULL, "mishap", next, run);
  for (unsigned i = 0; i < UNDER_WAY_MAX; i++) {
    run->slot[i].run = run;
    sim_event_init(&run->slot[i].end, NULL, "mishap ends", ended, &run->slot[i]);
  }
  sim_event_set(c->w, &run->next, sim_rng_below(&run->rng, 2 * plan->every_ns));
  return run;
}

void
sim_mishaps_stop(struct sim_mishaps_run *run)
{
  sim_event_cancel(run->c->w, &run->next);
  for (unsigned i = 0; i < UNDER_WAY_MAX; i++) {
    if (!run->slot[i].kind)
      continue;
    sim_event_cancel(run->c->w, &run->slot[i].end);
    ended(&run->slot[i]);
  }
}

const uint64_t *
sim_mishaps_struck(const struct sim_mishaps_run *run)
{
  return run->struck;
}

void
sim_mishaps_free(struct sim_mishaps_run **run)
{
  gi_free(*run);
  *run = NULL;
}
