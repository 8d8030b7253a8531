/* SPDX-License-Identifier: Apache-2.0
 *
 * See settle.h.
 */
#include "tests/simulation/cluster/settle.h"
#include "libglusterish/task.h"
#include "tests/simulation/cluster/ops.h"
#include "tests/simulation/world/trace.h"

#define LOOK_NS (2 * SIM_S)
#define ORDER_EVERY 30 /* looks */
#define OP_HEAL_FULL 2 /* as in mgmt-protocol.md 5.2 */

/* ---- orders to the healers ---- */

static void
ordered(struct gi_manage *m, int err)
{
  struct gi_dict *in = (struct gi_dict *)m->in;
  gi_dict_unref(&m->out);
  gi_dict_unref(&in);
  gi_free(m);
}

static void
order_full(void *arg)
{
  struct sim_process *p = arg;
  struct gi_xlator *x = gi_first_child(p->ctx.graph->top);
  struct gi_manage *m = gi_new(struct gi_manage);
  *m = (struct gi_manage){.op = OP_HEAL_FULL, .in = gi_dict_new(), .out = gi_dict_new(), .done = ordered};
  x->cls->manage(x, m);
}

static void
order_all(struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (c->machine[i].healer && sim_process_runs(c->machine[i].healer))
      sim_process_call(c->machine[i].healer, order_full, c->machine[i].healer);
}

/* ---- looks ---- */

static bool
all_clean(struct sim_cluster *c, char *why, size_t len)
{
  char what[256];
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (!sim_disk_clean(c->machine[i].disk, SIM_BRICK_DIR, what, sizeof(what))) {
      snprintf(why, len, "brick-%u: %s", i, what);
      return false;
    }
  return true;
}

/* The power or a fault took an attribute apart from the name it was set with, on this disk or one before. */
static bool
lost_attributes(const struct sim_machine *m)
{
  uint64_t count[SIM_DISK_COUNTS] = {0};
  sim_machine_count(m, count);
  return count[SIM_FAULTS] || count[SIM_FAULT_ATTR] || count[SIM_FAULT_ATTR_SPACE];
}

static bool
all_same(struct sim_cluster *c, char *why, size_t len)
{
  char what[256];
  unsigned but = 0;
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (lost_attributes(&c->machine[i])) /* an object without its times has others, and gives them to those it heals */
      but = SIM_BUT_MTIME;
  for (unsigned i = 0; i < c->config.bricks; i++) {
    unsigned first = i - i % sim_set_size(&c->config),
             except = sim_is_arbiter(&c->config, i) ? SIM_BUT_CONTENT | SIM_BUT_MTIME : but;
    if (i > first && !sim_disk_same_but(c->machine[first].disk, SIM_BRICK_DIR, c->machine[i].disk, SIM_BRICK_DIR, except,
                                        &c->lost_times, what, sizeof(what))) {
      snprintf(why, len, "brick-%u and brick-%u: %s", first, i, what);
      return false;
    }
  }
  return true;
}

static uint64_t
metric(const struct gi_xlator *x, const char *name)
{
  for (const struct gi_metric *m = x->cls->metrics; m->name; m++)
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, x->metrics);
  return 0;
}

static bool
no_locks(struct sim_cluster *c, char *why, size_t len)
{
  for (unsigned i = 0; i < c->config.bricks; i++) {
    const struct gi_xlator *x = gi_graph_find(c->machine[i].process->ctx.graph, "vol-locks");
    uint64_t held = metric(x, "held"), waiting = metric(x, "waiting");
    if (held || waiting) {
      snprintf(why, len, "brick-%u: %llu locks are held and %llu waited for", i, (unsigned long long)held,
               (unsigned long long)waiting);
      return false;
    }
  }
  return true;
}

static bool
settled(struct sim_cluster *c, char *why, size_t len)
{
  return all_clean(c, why, len) && all_same(c, why, len) && no_locks(c, why, len);
}

static void
dump_disks(struct sim_cluster *c, FILE *out)
{
  for (unsigned i = 0; i < c->config.bricks; i++) {
    fprintf(out, "==== disk of brick-%u\n", i);
    sim_disk_dump(c->machine[i].disk, SIM_BRICK_DIR, out);
  }
}

/* A brick whose disk failed when trouble was about to end has ended itself up to half a minute later. */
static void
start_ended(struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (c->machine[i].process->state == SIM_DOWN && !sim_machine_start(&c->machine[i]))
      sim_violation(c->w, "brick-%u cannot start: %s", i, c->machine[i].process->why.text);
}

bool
sim_settle(struct sim_cluster *c, uint64_t ns, bool full)
{
  uint64_t until = c->w->now + ns;
  char why[512];
  for (unsigned n = 0; c->w->now < until; n++) {
    if (full && n % ORDER_EVERY == 0)
      order_all(c);
    sim_world_run(c->w, c->w->now + LOOK_NS, NULL);
    start_ended(c);
    if (settled(c, why, sizeof(why)))
      return true;
  }
  if (c->config.dump) {
    sim_cluster_dump(c, stderr);
    dump_disks(c, stderr);
  }
  sim_violation(c->w, "after %llu s: %s", (unsigned long long)(ns / SIM_S), why);
  return false;
}

/* ---- a new brick ---- */

static void
announce(void *arg)
{
  struct sim_client *c = arg;
  sim_op_new_brick(c, c->cluster->replaced);
  c->cluster->announced = true;
}

static void
announce_start(void *arg)
{
  struct sim_client *c = arg;
  gi_task_start(&c->process->reactor->base, announce, c);
}

bool
sim_replace_brick(struct sim_cluster *c, unsigned brick)
{
  struct sim_machine *m = &c->machine[brick];
  char why[512];
  if (!all_clean(c, why, sizeof(why)) || !c->client[0].up || c->client[0].process->state != SIM_RUNNING)
    return false;
  sim_trace_mark(c->w, NULL, "operator", "brick-%u gets an empty disk", brick);
  sim_machine_crash(m);
  sim_machine_format(m);
  m->scarred = false;
  sim_world_run(c->w, c->w->now + SIM_S, NULL); /* all have noticed */
  c->replaced = brick;
  c->announced = false;
  sim_process_call(c->client[0].process, announce_start, &c->client[0]);
  for (unsigned n = 0; n < 60 && !c->announced; n++)
    sim_world_run(c->w, c->w->now + SIM_S, NULL);
  return c->announced && sim_machine_start(m);
}
