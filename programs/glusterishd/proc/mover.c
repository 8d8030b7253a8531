/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that moves files between the sets of a volume, while a rebalance
 * or the draining of sets is under way (volfile.md 7.1). How far it is, it is
 * asked every second; when it says that it is done it is ended. One that was
 * killed is started again: what it does can be gone on with at any point.
 */
#include "programs/glusterishd/proc/proc.h"
#include "rpc/message.h"

#include <string.h>

#define PAUSE_MAX (1 * GI_NSEC_PER_SEC)
#define MSG (GI_MSG_MGMT + 94)

static bool
wanted(const struct gd_volume *v)
{
  return v->status == GD_STARTED && v->rebalance.status == GD_REBALANCE_RUNS && v->gd->keeps_services &&
         (v->rebalance.task != GD_TASK_REMOVE || gd_volume_drains(v));
}

static char *
pidfile_of(const struct gd_volume *v)
{
  GI_CLEANUP_FREE char *dir = gd_volume_dir(v->gd, v->name);
  char uuid[GI_UUID_TEXT];
  return gi_asprintf("%s/rebalance/%s.pid", dir, gi_gfid_text(&v->gd->uuid, uuid));
}

static char *
log_of(const struct gd_volume *v)
{
  return gi_asprintf("%s/%s-rebalance.log", v->gd->config.logdir, v->name);
}

static char *
command_option(const struct gd_volume *v)
{
  return gi_asprintf("*dht.rebalance-cmd=%d", v->rebalance.command);
}

pid_t
gd_mover_pid(const struct gd_volume *v)
{
  return gd_service_pid(v->mover);
}

/* ---- how far it is ---- */

static uint64_t
fact(const struct gi_dict *d, const char *key)
{
  int64_t n = 0;
  gi_dict_get_int(d, key, &n);
  return n > 0 ? (uint64_t)n : 0;
}

/* A brick that leaves is stopped, and of the copies of its set less than a majority can have been asked: it may be the only one that has
 * something. Those of other nodes count as running. A brick without copies has been asked, or its files would not have moved. */
static const struct gd_brick *
not_asked(const struct gd_volume *v)
{
  unsigned size = gd_volume_set_size(v);
  for (unsigned s = 0; size > 1 && s < gd_volume_sets(v); s++) {
    const struct gd_brick *stopped = NULL, *set = &v->bricks[s * size];
    unsigned asked = 0;
    for (unsigned i = 0; i < size; i++) {
      bool runs = !gi_gfid_equal(&set[i].node, &v->gd->uuid) || gd_brick_online(&set[i]);
      asked += runs;
      stopped = runs ? stopped : &set[i];
    }
    if (set[0].decommissioned && stopped && 2 * asked <= size)
      return stopped;
  }
  return NULL;
}

void
gd_mover_take(struct gd_volume *v, const struct gi_dict *d)
{
  struct gd_rebalance *r = &v->rebalance;
  uint64_t status = fact(d, "status");
  r->files = fact(d, "files");
  r->bytes = fact(d, "size");
  r->scanned = fact(d, "lookups");
  r->failures = fact(d, "failures");
  r->skipped = fact(d, "skipped");
  r->seconds = fact(d, "run-time");
  r->left = fact(d, "time-left");
  r->rate = fact(d, "bytes-per-second");
  r->remaining = fact(d, "objects-left");
  if (status != GD_REBALANCE_COMPLETED && status != GD_REBALANCE_FAILED)
    return; /* how far it is, it is asked again after a restart */
  r->status = (enum gd_rebalance_status)status;
  const struct gd_brick *b = v->rebalance.task == GD_TASK_REMOVE && status == GD_REBALANCE_COMPLETED ? not_asked(v) : NULL;
  if (b) {
    r->skipped++;
    gi_log(GI_LOG_WARNING, GD_NAME, GI_MSG_MGMT + 93,
           "%s: brick %s:%s is stopped now that its set has been emptied: what it alone has is still there", v->name, b->host,
           b->path);
  }
  struct gi_error err = {0};
  if (gd_store_rebalance(v, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "rebalance of %s: its state cannot be stored: %s", v->name, err.text);
}

static void
answered(int err, const struct gi_dict *d, void *arg)
{
  struct gd *gd = arg;
  const char *name = NULL;
  gi_dict_get_str(d, "volname", &name);
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
    if (!v->mover || (name && strcmp(name, v->name) != 0))
      continue;
    v->mover_asked = false; /* who did not answer told no name: it is asked again */
    if (!err && name && gd_mover_pid(v) && v->rebalance.status == GD_REBALANCE_RUNS) /* else it tells of an earlier task */
      gd_mover_take(v, d);
    gd_mover_sync(v);
  }
}

void
gd_mover_question(struct gd_volume *v, gd_answer_fn *fn, void *arg)
{
  GI_CLEANUP_FREE char *sock = gd_socket_name(v, "rebalance");
  GI_CLEANUP_FREE char *node = gi_asprintf("%s-dht", v->name);
  struct gi_dict *in = gi_dict_new();
  gi_dict_set_str(in, "rebalance-command", "3");
  gd_ask(v->gd, sock, GI_BRICK_XLATOR_DEFRAG, node, in, fn, arg);
}

static void
ask(struct gd_volume *v)
{
  if (!v->mover_asked)
    gd_mover_question(v, answered, v->gd);
  v->mover_asked = true;
}

/* ---- from outside ---- */

static const struct gd_service_type type = {
    .what = "rebalance",
    .key = "rebalance",
    .process_name = "rebalance",
    .pause_max = PAUSE_MAX,
    .wanted = wanted,
    .pidfile = pidfile_of,
    .log = log_of,
    .xlator_option = command_option,
    .tick = ask,
};

void
gd_mover_sync(struct gd_volume *v)
{
  gd_service_sync(&v->mover, &type, v);
}

/* ---- the end ---- */

void
gd_rebalance_end(struct gd_volume *v)
{
  struct gi_error err = {0};
  struct gd_rebalance *r = &v->rebalance;
  if (r->status == GD_REBALANCE_RUNS)
    r->status = GD_REBALANCE_STOPPED;
  r->task = GD_TASK_NONE;
  r->id = (struct gi_gfid){0};
  if (gd_store_rebalance(v, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, GI_MSG_MGMT + 41, "volume %s: the end of its task cannot be stored: %s", v->name, err.text);
  gd_mover_sync(v);
}

void
gd_rebalance_settle(struct gd_volume *v)
{
  if (v->rebalance.task == GD_TASK_REMOVE && !gd_volume_drains(v))
    gd_rebalance_end(v);
}
