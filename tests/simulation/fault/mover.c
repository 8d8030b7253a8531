/* SPDX-License-Identifier: Apache-2.0
 *
 * See mover.h.
 */
#include "tests/simulation/fault/mover.h"
#include "libglusterish/manage-op.h"
#include "tests/simulation/world/trace.h"

#include <stdlib.h>

#define EVERY_NS (3 * SIM_S)
#define EVERY_FEW_NS (200 * SIM_MS) /* where there are a few files only: or most would be moved before it is killed */
#define KILL_PERMILLE 400
#define EMPTY_PERMILLE 600
#define STATUS_RUNS 1 /* as the management daemon has it */
#define STATUS_COMPLETED 3

/* One that stutters runs for so long at most, and stands still for so long at most. */
#define RUNS_NS (20 * SIM_MS)
#define STANDS_NS (60 * SIM_MS)
#define STUTTER_PERMILLE 500

struct sim_mover_run {
  struct sim_cluster *c;
  struct sim_rng rng, pace;
  struct sim_event next, stutter;
};

/* ---- what it tells ---- */

struct told {
  struct sim_process *p;
  int64_t status, failed, skipped;
  char text[256];
};

static int64_t
number(const struct gi_dict *d, const char *key)
{
  const char *text;
  return gi_dict_get_str(d, key, &text) ? strtoll(text, NULL, 10) : -1;
}

static void
answered(struct gi_manage *m, int err)
{
}

static void
ask(void *arg)
{
  struct told *t = arg;
  struct gi_xlator *x = gi_graph_find(t->p->ctx.graph, "vol-dht");
  struct gi_manage m = {.op = GI_MANAGE_REBALANCE, .in = gi_dict_new(), .out = gi_dict_new(), .done = answered};
  x->cls->manage(x, &m);
  t->status = number(m.out, "status");
  t->failed = number(m.out, "failures");
  t->skipped = number(m.out, "skipped");
  snprintf(t->text, sizeof(t->text), "status %lld, %lld looked at, %lld moved, %lld failed, %lld skipped", (long long)t->status,
           (long long)number(m.out, "lookups"), (long long)number(m.out, "files"), (long long)t->failed, (long long)t->skipped);
  struct gi_dict *in = (struct gi_dict *)(uintptr_t)m.in;
  gi_dict_unref(&in);
  gi_dict_unref(&m.out);
}

static struct told
status(struct sim_cluster *c)
{
  struct told t = {.p = c->mover};
  sim_process_call(c->mover, ask, &t);
  return t;
}

/* ---- begun and killed ---- */

static void
begin(struct sim_cluster *c, struct sim_rng *rng)
{
  c->leaving = sim_rng_chance(rng, EMPTY_PERMILLE) ? (int)sim_rng_below(rng, sim_set_count(&c->config)) : -1;
  gi_free(c->mover->volfile);
  c->mover->volfile = sim_mover_volfile(c);
  sim_trace_mark(c->w, NULL, "operator", "a rebalance begins; set %d is to leave", c->leaving);
  if (!sim_process_start(c->mover))
    sim_violation(c->w, "the rebalance cannot start: %s", c->mover->why.text);
}

static void
next(void *arg)
{
  struct sim_mover_run *run = arg;
  struct sim_process *p = run->c->mover;
  uint64_t every = run->c->config.shard ? EVERY_FEW_NS : EVERY_NS;
  sim_process_thaw(p);
  if (p->state == SIM_DOWN)
    begin(run->c, &run->rng);
  else if (sim_rng_chance(&run->rng, KILL_PERMILLE) || status(run->c).status != STATUS_RUNS)
    sim_process_crash(p, false);
  sim_event_set(run->c->w, &run->next, sim_rng_below(&run->rng, 2 * every));
}

/* So clients come between any two steps of it. */
static void
stutter(void *arg)
{
  struct sim_mover_run *run = arg;
  struct sim_process *p = run->c->mover;
  bool stood = p->state == SIM_FROZEN;
  (stood ? sim_process_thaw : sim_process_freeze)(p);
  sim_event_set(run->c->w, &run->stutter, 1 + sim_rng_below(&run->pace, stood ? RUNS_NS : STANDS_NS));
}

struct sim_mover_run *
sim_mover_start(struct sim_cluster *c)
{
  struct sim_mover_run *run = gi_new(struct sim_mover_run);
  run->c = c;
  run->rng = sim_rng_new(c->w->seed, 9ull << 32);
  sim_event_init(&run->next, NULL, "mover", next, run);
  sim_event_set(c->w, &run->next, sim_rng_below(&run->rng, EVERY_NS));
  run->pace = sim_rng_new(c->w->seed, 12ull << 32);
  sim_event_init(&run->stutter, NULL, "mover-stutters", stutter, run);
  if (c->config.shard && sim_rng_chance(&run->pace, STUTTER_PERMILLE))
    sim_event_set(c->w, &run->stutter, 0);
  return run;
}

void
sim_mover_stop(struct sim_mover_run **run)
{
  sim_event_cancel((*run)->c->w, &(*run)->next);
  sim_event_cancel((*run)->c->w, &(*run)->stutter);
  sim_process_crash((*run)->c->mover, false);
  gi_free(*run);
  *run = NULL;
}

/* ---- left alone ---- */

bool
sim_mover_once(struct sim_cluster *c, uint64_t ns, unsigned doubles)
{
  struct sim_rng rng = sim_rng_new(c->w->seed, 10ull << 32);
  uint64_t until = c->w->now + ns;
  struct told t = {.status = STATUS_RUNS};
  begin(c, &rng);
  while (c->mover->state == SIM_RUNNING && t.status == STATUS_RUNS && c->w->now < until) {
    sim_world_run(c->w, c->w->now + SIM_S, NULL);
    t = status(c);
  }
  bool well = t.status == STATUS_COMPLETED && t.failed == 0 && t.skipped == 0;
  if (!well && (t.status == STATUS_RUNS || t.failed == 0 || t.failed > (int64_t)doubles || t.skipped))
    sim_violation(c->w, "a rebalance that nobody disturbs does not succeed: %s", t.text);
  sim_process_crash(c->mover, false);
  return well;
}
