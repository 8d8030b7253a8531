/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon as an object: made, started and freed. What needs a process of
 * its own (command line, signals, going to the background) is in main.c.
 */
#include "programs/glusterishd/page/page.h"
#include "programs/glusterishd/pool/pool.h"
#include "libglusterish/observe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 80)

static void
copy_config(struct gd_config *to, const struct gd_config *from)
{
  *to = *from;
  to->workdir = gi_strdup(from->workdir);
  to->rundir = gi_strdup(from->rundir);
  to->logdir = gi_strdup(from->logdir);
  to->sockfile = gi_strdup(from->sockfile);
  to->pidfile = gi_strdup(from->pidfile);
  to->logfile = gi_strdup(from->logfile);
  to->bind = gi_strdup(from->bind);
  to->observe = gi_strdup(from->observe);
  to->brick_root = gi_strdup(from->brick_root);
}

static void
free_config(struct gd_config *c)
{
  gi_free(c->workdir);
  gi_free(c->rundir);
  gi_free(c->logdir);
  gi_free(c->sockfile);
  gi_free(c->pidfile);
  gi_free(c->logfile);
  gi_free(c->bind);
  gi_free(c->observe);
  gi_free(c->brick_root);
}

/* $GLUSTERISHFS, the program beside this one, the same in a build tree, or the installed one. */
static char *
find_brick_program(void)
{
  const char *env = getenv("GLUSTERISHFS");
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (env && *env)
    return gi_strdup(env);
  self[n > 0 ? n : 0] = '\0';
  static const char *const beside[] = {"glusterishfs", "../../glusterishfs/glusterishfs" /* from .libs of a build tree */};
  for (size_t i = 0; i < GI_ARRAY_LEN(beside) && n > 0; i++) {
    char *slash = strrchr(self, '/');
    char *path = gi_asprintf("%.*s/%s", (int)(slash - self), self, beside[i]);
    if (access(path, X_OK) == 0)
      return path;
    gi_free(path);
  }
  return gi_strdup(GI_SBINDIR "/glusterishfs");
}

struct gd *
gd_new(struct gi_reactor *r, const struct gd_config *config)
{
  struct gd *gd = gi_new(struct gd);
  gd->magic = GD_MAGIC;
  gd->reactor = r;
  copy_config(&gd->config, config);
  gi_list_init(&gd->volumes);
  gi_list_init(&gd->pool_options);
  gd->commands = gd_commands;
  gd->across = &gd_across;
  gd->nodes_program = &gd_node_program;
  gi_list_init(&gd->ops);
  gi_list_init(&gd->questions);
  gi_list_init(&gd->leaving);
  gi_list_init(&gd->prepared);
  gi_list_init(&gd->names);
  gd->map = gd_map_new();
  gd->brick_program = find_brick_program();
  return gd;
}

/* What still runs of a volume that was stopped when an earlier daemon ended in the middle. */
static void
stop_left_over(struct gd_volume *v)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gi_gfid_equal(&v->bricks[i].node, &v->gd->uuid) && gd_brick_adopt(&v->bricks[i]))
      gd_brick_stop(&v->bricks[i], NULL, NULL);
}

static void
restarted(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_volume *v = b->volume;
  for (unsigned i = 0; i < v->nbricks; i++)
    if (v->bricks[i].state == GD_PROC_STARTING)
      return;
  v->busy = false;
}

/* Bricks of started volumes that still run are taken over, the others are started. */
static void
look_after_bricks(struct gd_volume *v)
{
  struct gi_error err;
  for (unsigned i = 0; i < v->nbricks; i++) {
    struct gd_brick *b = &v->bricks[i];
    if (!gi_gfid_equal(&b->node, &v->gd->uuid) || gd_brick_adopt(b))
      continue;
    if (v->cut_off)
      continue;
    if (gd_brick_check_start(b, &err)) {
      gi_log(GI_LOG_ERROR, GD_NAME, MSG, "brick %s:%s is not started: %s", b->host, b->path, err.text);
      continue;
    }
    v->busy = true; /* until `restarted` has heard of all */
    gd_brick_start(b, restarted, NULL);
  }
}

int
gd_start(struct gd *gd, struct gi_error *err)
{
  GI_CHECK(gd, GD_MAGIC);
  gd->started = gi_wall(gd->reactor);
  gd->started_at = gi_now(gd->reactor);
  if (gd_store_load(gd, err) || gd_services_start(gd, err))
    return -1;
  const char *level = gd_options_get(&gd->pool_options, "cluster.daemon-log-level");
  enum gi_log_level l;
  if (level && gi_log_level_parse(level, &l))
    gi_log_set_level(l);
  gd->keeps_services = true;
  gd_quorum_begin(gd);
  gd_sweep(gd);
  gd_prepared_load(gd);
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
    if (v->status == GD_STARTED)
      look_after_bricks(v);
    else
      stop_left_over(v);
    gd_volume_sync(v);
  }
  if (gd_pool_load(gd, err))
    return -1;
  if (!gd->pool) {                         /* else when it is known what the store has */
    gd_prepared_settle(gd, INT64_MAX, -1); /* nobody prepares anything */
    gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
      gd_rebalance_settle(v);
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "ready: port %d, socket %s, working directory %s", gd->config.port, gd->config.sockfile,
         gd->config.workdir);
  return 0;
}

void
gd_free(struct gd **gdp)
{
  struct gd *gd = *gdp;
  if (!gd)
    return;
  GI_CHECK(gd, GD_MAGIC);
  gd->keeps_services = false;
  gi_observe_free(&gd->observe);
  gd_questions_abort(gd);
  gd_gather_free(&gd->gather);
  gd_pool_let_go(gd);
  gd_ops_abort(gd);
  gd_leaving_let_go(gd);
  gd_services_stop(gd);
  gd_prepared_let_go(gd);
  gd_hosts_let_go(gd);
  gi_list_foreach_safe(v, &gd->volumes, struct gd_volume, link) {
    gd_volume_let_go(v);
    gd_volume_free(v);
  }
  gd_options_clear(&gd->pool_options);
  gd_map_free(&gd->map);
  gi_free(gd->brick_program);
  free_config(&gd->config);
  gi_free(gd);
  *gdp = NULL;
}
