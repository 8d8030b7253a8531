/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a simulated process. See process.h; the real one is in
 * programs/glusterishfs/process.c.
 */
#include "tests/simulation/world/process.h"
#include "tests/simulation/world/trace.h"

#include <errno.h>

#define WORKERS 4
#define DRAIN_NS (30 * SIM_S) /* how long operations under way may take at the end; a peer may have to be given up first */
#define LOOK_NS (2 * SIM_MS)

static void
context(struct sim_process *p)
{
  char uuid[GI_UUID_TEXT];
  struct gi_gfid id = gi_gfid_new(&p->reactor->base);
  p->ctx = (struct gi_ctx){
      .reactor = &p->reactor->base,
      .process_name = p->brick_name ? "glusterishfsd" : "glusterishfs",
      .process_uuid = id,
      .volfile_id = "vol",
      .brick_name = p->brick_name,
      .side = p->side,
      .app = p,
  };
  snprintf(p->ctx.process_id, sizeof(p->ctx.process_id), "CTX_ID:%s-GRAPH_ID:0-PID:%u-HOST:%s", gi_gfid_text(&id, uuid),
           p->reactor->id, p->w->net->host[p->host].name);
}

static void
build(void *arg)
{
  struct sim_process *p = arg;
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(p->volfile, strlen(p->volfile), &err);
  if (vf)
    p->ctx.graph = gi_graph_build(&p->ctx, &vf, NULL, &err);
  if (p->ctx.graph)
    gi_graph_activate(p->ctx.graph);
  else
    p->why = err;
}

bool
sim_process_start(struct sim_process *p)
{
  GI_ASSERT(p->state == SIM_DOWN);
  p->incarnation++;
  p->starts++;
  p->reactor = sim_reactor_new(p->w, p->number | p->incarnation << 8, p->name, WORKERS);
  p->reactor->host = p->host;
  p->reactor->skew_ns = p->skew_ns;
  context(p);
  if (p->w->net->host[p->host].off)
    sim_net_power(p->w->net, p->host, true);
  sim_trace_mark(p->w, p->reactor, "process", "%s starts", p->name);
  if (p->prepare)
    p->prepare(p, p->arg);
  p->state = SIM_RUNNING;
  sim_process_call(p, build, p);
  if (!p->ctx.graph) {
    sim_process_crash(p, false);
    return false;
  }
  if (p->started)
    p->started(p, p->arg);
  return true;
}

void
sim_process_call(struct sim_process *p, void (*fn)(void *arg), void *arg)
{
  GI_ASSERT(sim_process_runs(p));
  sim_reactor_call(p->reactor, fn, arg);
}

static void
follow(void *arg)
{
  struct sim_process *p = arg;
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(p->volfile, strlen(p->volfile), &err);
  if (!vf || gi_graph_reconfigure(p->ctx.graph, &vf, &err) != 0)
    sim_violation(p->w, "%s: a new volfile cannot be followed: %s", p->name, err.text);
  gi_volfile_free(&vf);
}

void
sim_process_reload(struct sim_process *p, const char *volfile)
{
  gi_free(p->volfile);
  p->volfile = gi_strdup(volfile);
  sim_process_call(p, follow, p);
}

bool
sim_process_runs(const struct sim_process *p)
{
  return p->state == SIM_RUNNING || p->state == SIM_STOPPING;
}

/* ---- stopping in order ---- */

static void
deactivate(void *arg)
{
  struct sim_process *p = arg;
  if (p->ending)
    p->ending(p, false, p->arg);
  gi_graph_deactivate(p->ctx.graph);
}

static void
free_graph(void *arg)
{
  struct sim_process *p = arg;
  gi_graph_free(&p->ctx.graph);
}

static bool
left_over(struct sim_process *p)
{
  const struct gi_graph *g = p->ctx.graph;
  const struct sim_reactor *r = p->reactor;
  if (g && (g->fops_live || g->fds_live))
    sim_violation(p->w, "%s: %llu operations and %llu fds are left at the end", p->name, (unsigned long long)g->fops_live,
                  (unsigned long long)g->fds_live);
  else if (!g && (r->live || !sim_reactor_idle(r)))
    sim_violation(p->w, "%s: %u timers and sockets and %u works are left at the end", p->name, r->live, r->working);
  else
    return false;
  return true;
}

/* Looks from time to time how far the end has come: first nothing is under way in the graph, then nothing on the reactor. */
static void
look(void *arg)
{
  struct sim_process *p = arg;
  struct gi_graph *g = p->ctx.graph;
  struct sim_reactor *r = p->reactor;
  bool quiet = g ? g->fops_live == 0 && g->fds_live == 0 && sim_reactor_idle(r) : r->live == 0 && sim_reactor_idle(r);
  if (!quiet && p->w->now < p->stop_by) {
    sim_event_set(p->w, &p->stopping, LOOK_NS);
    return;
  }
  if (left_over(p)) {
    sim_process_crash(p, false);
  } else if (g) {
    sim_process_call(p, free_graph, p);
    sim_event_set(p->w, &p->stopping, LOOK_NS);
  } else {
    sim_net_abandon(p->w->net, r, false);
    sim_reactor_free(&p->reactor);
    p->state = SIM_DOWN;
    sim_trace_mark(p->w, NULL, "process", "%s is down", p->name);
  }
}

void
sim_process_stop(struct sim_process *p)
{
  if (p->state == SIM_DOWN || p->state == SIM_STOPPING)
    return;
  if (p->state == SIM_FROZEN)
    sim_process_thaw(p);
  sim_trace_mark(p->w, p->reactor, "process", "%s stops", p->name);
  p->state = SIM_STOPPING;
  p->stop_by = p->w->now + DRAIN_NS;
  sim_process_call(p, deactivate, p);
  sim_event_set(p->w, &p->stopping, LOOK_NS);
}

/* ---- other ends ---- */

void
sim_process_freeze(struct sim_process *p)
{
  if (p->state != SIM_RUNNING)
    return;
  p->freezes++;
  p->state = SIM_FROZEN;
  sim_reactor_freeze(p->reactor);
  sim_trace_mark(p->w, p->reactor, "process", "%s is frozen", p->name);
}

void
sim_process_thaw(struct sim_process *p)
{
  if (p->state != SIM_FROZEN)
    return;
  p->state = SIM_RUNNING;
  sim_reactor_thaw(p->reactor);
  sim_trace_mark(p->w, p->reactor, "process", "%s goes on", p->name);
}

void
sim_process_crash(struct sim_process *p, bool silent)
{
  if (p->state == SIM_DOWN)
    return;
  p->crashes++;
  p->state = SIM_DOWN;
  sim_event_cancel(p->w, &p->stopping);
  sim_trace_mark(p->w, p->reactor, "process", "%s %s", p->name, silent ? "loses power" : "crashes");
  sim_reactor_kill(p->reactor);
  sim_net_abandon(p->w->net, p->reactor, silent);
  if (silent)
    sim_net_power(p->w->net, p->host, false);
  p->reactor = NULL; /* and all of its memory is abandoned */
  p->ctx.graph = NULL;
  if (p->ending)
    p->ending(p, true, p->arg);
}

/* ---- life ---- */

struct sim_process *
sim_process_new(struct sim_world *w, unsigned number, const char *name, unsigned host, const char *volfile,
                const char *brick_name)
{
  struct sim_process *p = gi_new(struct sim_process);
  p->w = w;
  snprintf(p->name, sizeof(p->name), "%s", name);
  p->number = number;
  p->host = host;
  p->volfile = gi_strdup(volfile);
  p->brick_name = gi_strdup(brick_name);
  sim_event_init(&p->stopping, NULL, "stopping", look, p);
  sim_trace_process(w, number, name);
  return p;
}

void
sim_process_free(struct sim_process **pp)
{
  struct sim_process *p = *pp;
  *pp = NULL;
  if (p == NULL)
    return;
  GI_ASSERT(p->state == SIM_DOWN);
  sim_event_cancel(p->w, &p->stopping);
  gi_free(p->volfile);
  gi_free(p->brick_name);
  gi_free(p);
}
