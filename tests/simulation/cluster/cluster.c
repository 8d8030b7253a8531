/* SPDX-License-Identifier: Apache-2.0
 *
 * See cluster.h.
 */
#include "tests/simulation/cluster/cluster.h"
#include "libglusterish/dump.h"
#include "libglusterish/task.h"
#include "tests/simulation/model/registers.h"
#include "tests/simulation/model/quorum.h"
#include "tests/simulation/workload/workload.h"
#include "xlators/storage/posix/posix.h"

#include <errno.h>

#define WALL_BASE_NS (1700000000ull * SIM_S) /* as in world/reactor.c */
#define SLOW_PER_MILLION 20000               /* calls to a disk */
#define SKEW_NS (2 * SIM_S)                  /* clocks of machines differ by so much */

/* ---- the top of a client ---- */

static int
top_init(struct gi_xlator *x, struct gi_error *err)
{
  struct sim_client *c = ((struct sim_process *)x->ctx->app)->arg;
  x->private = c;
  c->top = x;
  c->layers_had = c->layers.on;
  c->early = c->written = 0;
  sim_kept_forget(&c->kept);
  if (c->cluster->model)
    sim_model_writer_anew(c->cluster->model, c->number);
  return 0;
}

/* What was answered early has come to its end. */
static void
written(struct sim_client *c, const struct gi_written *w)
{
  c->written += w->changes;
  if (w->err && c->cluster->model)
    sim_model_early_lost(c->cluster->model, c->number, &w->inode->gfid);
}

static bool
top_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct sim_client *c = x->private;
  sim_kept_event(&c->kept, event, data);
  if (event == GI_EVENT_CHILD_UP)
    c->up = true;
  else if (event == GI_EVENT_CHILD_DOWN)
    c->up = false;
  else if (event == GI_EVENT_WRITTEN)
    written(c, data);
  return false;
}

static const struct gi_xlator_class top_class = {
    .abi = GI_XLATOR_ABI,
    .type = "sim/top",
    .version = "0",
    .summary = "Where mount/fuse would be.",
    .min_children = 1,
    .max_children = 1,
    .init = top_init,
    .notify = top_notify,
};

/* ---- bricks that are not ours ---- */

/* Between protocol/client and cluster/replicate: a brick of GlusterFS tells nothing of what ours can do. */
static bool
foreign_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event != GI_EVENT_CHILD_UP || !data)
    return false;
  gi_notify_up(x, event, NULL);
  return true;
}

static const struct gi_xlator_class foreign_class = {
    .abi = GI_XLATOR_ABI,
    .type = "sim/foreign",
    .version = "0",
    .summary = "Hides what a brick of ours can do beyond the protocol.",
    .min_children = 1,
    .max_children = 1,
    .notify = foreign_notify,
};

/* ---- bricks ---- */

static uint64_t
disk_random(void *arg)
{
  return sim_rng_u64(&((struct sim_machine *)arg)->rng);
}

static uint64_t
disk_now(void *arg)
{
  const struct sim_machine *m = arg;
  return WALL_BASE_NS + m->cluster->w->now + (uint64_t)m->process->skew_ns;
}

static void
disk_written(void *arg, const uint8_t head[SIM_SECTOR_HEAD])
{
  const struct sim_machine *m = arg;
  if (m->cluster->model)
    sim_model_stored(m->cluster->model, (unsigned)(m - m->cluster->machine), head);
}

/* What a quorum still has must not be lost by a disk, if one of its copies is more than what a heal makes like the one that lost it.
 * An arbiter counts while it is there to vouch for a copy. */
static enum sim_left
judge_left(void *arg, unsigned file, unsigned sector, uint32_t left)
{
  const struct sim_cluster *c = arg;
  bool vouches = c->machine[c->config.bricks - 1].process->state == SIM_RUNNING;
  if (!(left & ~sim_register_outdated(c, file, sector)))
    return SIM_LEFT_NOWHERE;
  return (vouches ? sim_quorum_stored : sim_quorum_met)(&c->config, left) ? SIM_LEFT : SIM_LEFT_ON_FEW;
}

static void
disk_lost(void *arg, const uint8_t head[SIM_SECTOR_HEAD])
{
  const struct sim_machine *m = arg;
  struct sim_cluster *c = m->cluster;
  if (c->model)
    sim_model_lost(c->model, (unsigned)(m - c->machine), head, judge_left, c);
}

/* A process that is told that its disk is broken ends itself. */
static void
dead_disk_later(void *arg)
{
  sim_machine_crash(arg);
}

static void
dead_disk(struct gi_ctx *ctx)
{
  struct sim_machine *m = ((struct sim_process *)ctx->app)->arg;
  sim_world_call(m->cluster->w, NULL, 0, "dead disk", dead_disk_later, m);
}

static void
brick_prepare(struct sim_process *p, void *arg)
{
  struct sim_machine *m = arg;
  m->view = sim_disk_view(m->disk);
  p->ctx.fs = m->view;
  p->ctx.on_dead_disk = dead_disk;
}

static void
count_disk(const struct sim_disk *d, uint64_t count[SIM_DISK_COUNTS])
{
  struct sim_losses l = sim_disk_losses(d);
  for (unsigned i = 0; i < SIM_FAULTS; i++)
    count[i] += sim_disk_fault_count(d, (enum sim_fault)i);
  count[SIM_FAULTS] += l.calls;
  count[SIM_FAULTS + 1] += l.pages;
  count[SIM_FAULTS + 2] += l.torn;
}

void
sim_machine_count(const struct sim_machine *m, uint64_t count[SIM_DISK_COUNTS])
{
  for (unsigned i = 0; i < SIM_DISK_COUNTS; i++)
    count[i] += m->faults[i];
  count_disk(m->disk, count);
}

const char *
sim_disk_count_name(unsigned i)
{
  static const char *const losses[] = {"names and attributes lost with the power", "pages lost with the power", "pages torn"};
  return i < SIM_FAULTS ? sim_fault_name((enum sim_fault)i) : losses[i - SIM_FAULTS];
}

static struct sim_disk *
neighbour(void *arg, unsigned machine)
{
  struct sim_cluster *c = ((struct sim_machine *)arg)->cluster;
  return machine < c->config.bricks ? c->machine[machine].disk : NULL;
}

void
sim_machine_format(struct sim_machine *m)
{
  struct gi_gfid id;
  if (m->disk)
    count_disk(m->disk, m->faults);
  sim_disk_free(&m->disk);
  m->disk = sim_disk_new(&(struct sim_disk_config){.random = disk_random,
                                                   .now = disk_now,
                                                   .written = disk_written,
                                                   .lost = disk_lost,
                                                   .arg = m,
                                                   .neighbour = m->cluster->config.near ? neighbour : NULL,
                                                   .coarse_cookies = sim_set_count(&m->cluster->config) > 1,
                                                   .machine = (unsigned)(m - m->cluster->machine)});
  sim_disk_set_fault(m->disk, SIM_FAULT_SLOW, SLOW_PER_MILLION);
  sim_disk_set_fault(m->disk, SIM_FAULT_COLD, SLOW_PER_MILLION);
  struct gi_fs *fs = sim_disk_view(m->disk);
  GI_ASSERT(gi_gfid_parse(SIM_VOLUME_ID, &id));
  GI_ASSERT(sim_disk_make_dir(m->disk, SIM_BRICK_DIR) == 0);
  int fd = gi_fs_openat(fs, AT_FDCWD, SIM_BRICK_DIR, O_RDONLY | O_DIRECTORY, 0);
  GI_ASSERT(fd >= 0 && gi_fs_fsetxattr(fs, fd, "trusted.glusterfs.volume-id", id.b, sizeof(id.b), 0) == 0);
  gi_fs_close(fs, fd);
  sim_disk_sync(m->disk);
  sim_view_free(&fs);
}

static void
machine_new(struct sim_cluster *c, unsigned i)
{
  struct sim_machine *m = &c->machine[i];
  char name[24];
  snprintf(name, sizeof(name), "brick-%u", i);
  GI_CLEANUP_FREE char *volfile = sim_brick_volfile(&c->config, i);
  m->cluster = c;
  m->rng = sim_rng_new(c->w->seed, (2ull << 32) + i);
  m->process = sim_process_new(c->w, 1 + i, name, sim_net_host(c->w->net, name), volfile, SIM_BRICK_DIR);
  m->process->skew_ns = (int64_t)sim_rng_below(&m->rng, SKEW_NS);
  m->process->prepare = brick_prepare;
  m->process->arg = m;
  sim_machine_format(m);
}

/* What has no mark and was to be written within 20 ms: nobody knows that this copy lacks it. */
static void
note_lost_times(const struct sim_machine *m)
{
  const struct gi_xlator *x = gi_graph_find(m->process->ctx.graph, "vol-posix");
  const struct posix *p = x->private;
  if (p == NULL)
    return;
  gi_list_foreach(pi, &p->dirty_soon.inodes, struct posix_inode, dirty)
    sim_lost_times_add(&m->cluster->lost_times, &pi->self->gfid, &pi->times.m);
}

void
sim_machine_crash(struct sim_machine *m)
{
  if (m->process->state != SIM_DOWN && m->process->ctx.graph)
    note_lost_times(m);
  sim_process_crash(m->process, false);
  sim_view_free(&m->view);
}

void
sim_machine_power_loss(struct sim_machine *m)
{
  sim_process_crash(m->process, true);
  if (m->healer)
    sim_process_crash(m->healer, true);
  m->scarred = true;
  m->power_losses++;
  sim_view_free(&m->view);
  sim_disk_power_loss(m->disk);
}

bool
sim_machine_start(struct sim_machine *m)
{
  if (m->process->state != SIM_DOWN)
    return true;
  sim_view_free(&m->view); /* of one that stopped in order, or could not start */
  if (!sim_process_start(m->process))
    return false;
  return sim_machine_start_healer(m);
}

bool
sim_machine_start_healer(struct sim_machine *m)
{
  return !m->healer || m->healer->state != SIM_DOWN || sim_process_start(m->healer);
}

/* Its volfile names all hosts, so they exist already. */
static void
healer_new(struct sim_cluster *c, unsigned i)
{
  struct sim_machine *m = &c->machine[i];
  char name[24];
  snprintf(name, sizeof(name), "healer-%u", i);
  GI_CLEANUP_FREE char *volfile = sim_client_volfile(c, (int)i, NULL);
  m->healer = sim_process_new(c->w, 1 + SIM_BRICKS + SIM_CLIENTS + i, name, m->process->host, volfile, NULL);
  m->healer->skew_ns = m->process->skew_ns;
}

/* ---- the rebalance ---- */

static void
mover_new(struct sim_cluster *c)
{
  c->mover = sim_process_new(c->w, 1 + 2 * SIM_BRICKS + SIM_CLIENTS, "mover", sim_net_host(c->w->net, "mover"), "", NULL);
}

/* ---- clients ---- */

static void
session_task(void *arg)
{
  struct sim_client *c = arg;
  c->tasks++;
  c->session(c);
  c->tasks--;
}

static void
session_start(void *arg)
{
  struct sim_client *c = arg;
  gi_task_start(&c->process->reactor->base, session_task, c);
}

static void
client_started(struct sim_process *p, void *arg)
{
  struct sim_client *c = arg;
  c->leave = false;
  c->tasks = 0;
  if (c->session)
    sim_process_call(p, session_start, c);
}

void
sim_client_begin(struct sim_client *c, void (*session)(struct sim_client *c))
{
  c->session = session;
  if (sim_process_runs(c->process))
    sim_process_call(c->process, session_start, c);
}

void
sim_client_reload(struct sim_client *c)
{
  GI_CLEANUP_FREE char *volfile = sim_client_volfile(c->cluster, -1, &c->layers);
  c->layers_had |= c->layers.on;
  sim_process_reload(c->process, volfile);
}

static void
client_ending(struct sim_process *p, bool crashed, void *arg)
{
  struct sim_client *c = arg;
  if (crashed)
    c->early = c->written = 0;
  sim_kept_forget(&c->kept);
  c->top = NULL;
  c->up = false;
  c->tasks = 0;
}

static void
client_new(struct sim_cluster *c, unsigned i)
{
  struct sim_client *client = &c->client[i];
  char name[24];
  snprintf(name, sizeof(name), "client-%u", i);
  struct sim_rng layers = sim_rng_new(c->w->seed, (7ull << 32) + 1 + i);
  client->cluster = c;
  client->number = i;
  sim_kept_init(&client->kept);
  sim_layers_draw(&client->layers, &layers, c->config.layers, c->config.layers_given);
  GI_CLEANUP_FREE char *volfile = sim_client_volfile(c, -1, &client->layers);
  client->rng = sim_rng_new(c->w->seed, (3ull << 32) + i);
  client->process = sim_process_new(c->w, 1 + SIM_BRICKS + i, name, sim_net_host(c->w->net, name), volfile, NULL);
  client->process->skew_ns = (int64_t)sim_rng_below(&client->rng, SKEW_NS);
  client->process->side = GI_SIDE_CLIENT;
  client->process->started = client_started;
  client->process->ending = client_ending;
  client->process->arg = client;
}

/* ---- all of it ---- */

struct sim_cluster *
sim_cluster_new(struct sim_world *w, const struct sim_cluster_config *config)
{
  struct sim_cluster *c = gi_new(struct sim_cluster);
  GI_ASSERT(config->bricks <= SIM_BRICKS && config->clients <= SIM_CLIENTS);
  gi_class_register(&top_class);
  gi_class_register(&foreign_class);
  c->w = w;
  c->config = *config;
  c->leaving = -1;
  for (unsigned i = 0; i < config->bricks; i++)
    machine_new(c, i);
  for (unsigned i = 0; i < config->bricks && config->healers && sim_has_copies(config); i++)
    healer_new(c, i);
  for (unsigned i = 0; i < config->clients; i++)
    client_new(c, i);
  if (config->moves)
    mover_new(c);
  return c;
}

void
sim_cluster_free(struct sim_cluster **cp)
{
  struct sim_cluster *c = *cp;
  *cp = NULL;
  if (c == NULL)
    return;
  sim_lost_times_free(&c->lost_times);
  if (c->mover) {
    sim_process_crash(c->mover, false);
    sim_process_free(&c->mover);
  }
  for (unsigned i = 0; i < c->config.clients; i++) {
    sim_process_crash(c->client[i].process, false); /* one that did not end; that was a violation */
    sim_process_free(&c->client[i].process);
  }
  for (unsigned i = 0; i < c->config.bricks; i++) {
    if (c->machine[i].healer)
      sim_process_crash(c->machine[i].healer, false);
    sim_process_free(&c->machine[i].healer);
    sim_process_crash(c->machine[i].process, false);
    sim_process_free(&c->machine[i].process);
    sim_view_free(&c->machine[i].view);
    sim_disk_free(&c->machine[i].disk);
  }
  gi_free(c);
}

void
sim_cluster_repair(struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.bricks; i++) {
    sim_process_thaw(c->machine[i].process);
    if (!sim_machine_start(&c->machine[i]))
      sim_violation(c->w, "brick-%u cannot start: %s", i, c->machine[i].process->why.text);
    if (c->machine[i].healer)
      sim_process_thaw(c->machine[i].healer);
    if (!sim_machine_start_healer(&c->machine[i]))
      sim_violation(c->w, "healer-%u cannot start: %s", i, c->machine[i].healer->why.text);
  }
  for (unsigned i = 0; i < c->config.clients; i++) {
    sim_process_thaw(c->client[i].process);
    if (c->client[i].process->state == SIM_DOWN && !sim_process_start(c->client[i].process))
      sim_violation(c->w, "client-%u cannot start: %s", i, c->client[i].process->why.text);
  }
  sim_quorum_look(c);
}

void
sim_cluster_start(struct sim_cluster *c)
{
  sim_cluster_repair(c);
}

bool
sim_cluster_clients_up(const struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.clients; i++)
    if (!c->client[i].up)
      return false;
  return true;
}

/* Runs until `over(c)`, at most `ns`. */
static bool
run_until(struct sim_cluster *c, uint64_t ns, bool (*over)(const struct sim_cluster *c))
{
  uint64_t until = c->w->now + ns;
  while (!over(c) && sim_world_step(c->w, until))
    ;
  return over(c);
}

static bool
sessions_over(const struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.clients; i++)
    if (c->client[i].tasks > 0)
      return false;
  return true;
}

static bool
clients_down(const struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.clients; i++)
    if (c->client[i].process->state != SIM_DOWN)
      return false;
  return true;
}

static bool
bricks_down(const struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (c->machine[i].process->state != SIM_DOWN)
      return false;
  return true;
}

static bool
healers_down(const struct sim_cluster *c)
{
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (c->machine[i].healer && c->machine[i].healer->state != SIM_DOWN)
      return false;
  return true;
}

void
sim_cluster_dump(const struct sim_cluster *c, FILE *out)
{
  struct gi_dump d = {out};
  const struct sim_process *p[2 * SIM_BRICKS + SIM_CLIENTS + 1];
  unsigned n = 0;
  for (unsigned i = 0; i < c->config.bricks; i++) {
    p[n++] = c->machine[i].process;
    if (c->machine[i].healer)
      p[n++] = c->machine[i].healer;
  }
  for (unsigned i = 0; i < c->config.clients; i++)
    p[n++] = c->client[i].process;
  if (c->mover)
    p[n++] = c->mover;
  for (unsigned i = 0; i < n; i++) {
    fprintf(out, "==== %s\n", p[i]->name);
    if (p[i]->ctx.graph)
      gi_graph_statedump(p[i]->ctx.graph, &d);
  }
}

void
sim_cluster_leave(struct sim_cluster *c, uint64_t ns)
{
  for (unsigned i = 0; i < c->config.clients; i++)
    c->client[i].leave = true;
  bool over = run_until(c, ns, sessions_over);
  if (!over && c->config.dump)
    sim_cluster_dump(c, stderr);
  if (!over)
    for (unsigned i = 0; i < c->config.clients; i++)
      if (c->client[i].tasks > 0) {
        sim_violation(c->w, "client-%u: %u operations are not answered after %llu s", i, c->client[i].tasks,
                      (unsigned long long)(ns / SIM_S));
        sim_process_crash(c->client[i].process, false); /* it would not end in order */
      }
}

void
sim_cluster_stop(struct sim_cluster *c, uint64_t ns)
{
  for (unsigned i = 0; i < c->config.clients; i++)
    sim_process_stop(c->client[i].process);
  run_until(c, ns, clients_down);
  for (unsigned i = 0; i < c->config.bricks; i++)
    if (c->machine[i].healer)
      sim_process_stop(c->machine[i].healer);
  run_until(c, ns, healers_down);
  for (unsigned i = 0; i < c->config.bricks; i++)
    sim_process_stop(c->machine[i].process);
  run_until(c, ns, bricks_down);
  for (unsigned i = 0; i < c->config.clients; i++)
    if (c->client[i].early != c->client[i].written)
      sim_violation(c->w, "client-%u: %llu writes were answered early, the end of %llu was told", i,
                    (unsigned long long)c->client[i].early, (unsigned long long)c->client[i].written);
  if (!clients_down(c) || !healers_down(c) || !bricks_down(c))
    sim_violation(c->w, "a process does not end");
}
