/* SPDX-License-Identifier: Apache-2.0
 *
 * vols/V/node_state.info (volfile.md 13.3): the rebalance, or the draining of
 * sets that are to be removed, that a volume had last.
 */
#include "programs/glusterishd/model/model.h"

#include <errno.h>
#include <string.h>

static char *
path_of(const struct gd_volume *v)
{
  GI_CLEANUP_FREE char *dir = gd_volume_dir(v->gd, v->name);
  return gi_asprintf("%s/node_state.info", dir);
}

static void
print(const struct gd_volume *v, FILE *f)
{
  const struct gd_rebalance *r = &v->rebalance;
  char id[GI_UUID_TEXT];
  unsigned leaving = 0;
  fprintf(f, "rebalance_status=%d\nstatus=%d\nrebalance_op=%d\nrebalance-id=%s\n", r->command, r->status, r->task,
          gi_gfid_text(&r->id, id));
  fprintf(f, "rebalanced-files=%llu\nsize=%llu\nscanned=%llu\nfailures=%llu\nskipped=%llu\nrun-time=%llu.000000\n",
          (unsigned long long)r->files, (unsigned long long)r->bytes, (unsigned long long)r->scanned,
          (unsigned long long)r->failures, (unsigned long long)r->skipped, (unsigned long long)r->seconds);
  for (unsigned i = 0; i < v->nbricks && r->task == GD_TASK_REMOVE; i++)
    if (v->bricks[i].decommissioned)
      fprintf(f, "brick%u=%s:%s\n", ++leaving, v->bricks[i].host, v->bricks[i].path);
  if (leaving)
    fprintf(f, "count=%u\n", leaving);
}

int
gd_store_rebalance(const struct gd_volume *v, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = path_of(v);
  char *text = NULL;
  size_t len = 0;
  FILE *f = open_memstream(&text, &len);
  GI_ASSERT(f != NULL);
  print(v, f);
  GI_ASSERT(fclose(f) == 0);
  int ret = gd_write_file(path, text, len, false, err);
  free(text);
  return ret;
}

static uint64_t
number(const struct gd_kvs *kvs, const char *key)
{
  const char *text = gd_kvs_get(kvs, key);
  return text && *text != '-' ? strtoull(text, NULL, 10) : 0;
}

static struct gd_brick *
find_brick(struct gd_volume *v, const char *name)
{
  for (unsigned i = 0; i < v->nbricks; i++) {
    GI_CLEANUP_FREE char *own = gi_asprintf("%s:%s", v->bricks[i].host, v->bricks[i].path);
    if (strcmp(own, name) == 0)
      return &v->bricks[i];
  }
  return NULL;
}

/* Bricks that leave are marked each in its own file, after all of them were written here. A daemon that died in between has begun it. */
static void
complete_marks(struct gd_volume *v, const struct gd_kvs *kvs)
{
  if (v->rebalance.task != GD_TASK_REMOVE || !gd_volume_drains(v))
    return; /* with no mark at all nothing has begun: gd_rebalance_settle */
  for (unsigned n = 1; n <= v->nbricks; n++) {
    GI_CLEANUP_FREE char *key = gi_asprintf("brick%u", n);
    const char *name = gd_kvs_get(kvs, key);
    struct gd_brick *b = name ? find_brick(v, name) : NULL;
    if (b)
      b->decommissioned = true;
  }
}

/* A file that is no help is as none: the task is over. */
void
gd_store_load_rebalance(struct gd_volume *v)
{
  GI_CLEANUP_FREE char *path = path_of(v);
  struct gd_rebalance *r = &v->rebalance;
  struct gd_kvs kvs;
  struct gi_error err = {0};
  if (gd_kvs_load(path, &kvs, &err)) {
    if (err.code != ENOENT)
      gi_log(GI_LOG_WARNING, GD_NAME, GI_MSG_MGMT + 14, "volume %s: %s", v->name, err.text);
    return;
  }
  const char *id = gd_kvs_get(&kvs, "rebalance-id");
  uint64_t task = number(&kvs, "rebalance_op"), command = number(&kvs, "rebalance_status"), status = number(&kvs, "status");
  bool known = id && gi_gfid_parse(id, &r->id) && command <= GD_REBALANCE_FORCE && status <= GD_REBALANCE_FAILED &&
               (task == GD_TASK_NONE || task == GD_TASK_REMOVE || task == GD_TASK_REBALANCE);
  if (known) {
    r->task = task;
    r->command = command;
    r->status = status;
    r->files = number(&kvs, "rebalanced-files");
    r->bytes = number(&kvs, "size");
    r->scanned = number(&kvs, "scanned");
    r->failures = number(&kvs, "failures");
    r->skipped = number(&kvs, "skipped");
    r->seconds = number(&kvs, "run-time");
  }
  complete_marks(v, &kvs);
  gd_kvs_free(&kvs);
}
