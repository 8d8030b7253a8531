/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that an earlier daemon left behind when it died: their volume has
 * gone, has no such brick any more, or was stopped.
 */
#include "programs/glusterishd/proc/proc.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>

#define MSG (GI_MSG_MGMT + 230)

/* Of a stopped volume the bricks are adopted and then stopped, by whoever begins. */
static bool
is_brick(struct gd *gd, const char *volume, const char *pidfile)
{
  const struct gd_volume *v = gd_volume_find(gd, volume);
  bool is = false;
  for (unsigned i = 0; v && i < v->nbricks && !is; i++) {
    GI_CLEANUP_FREE char *its = gd_brick_pidfile(&v->bricks[i]);
    is = strcmp(its, pidfile) == 0;
  }
  return is;
}

static bool
is_healed(struct gd *gd, const char *volume, const char *pidfile)
{
  const struct gd_volume *v = gd_volume_find(gd, volume);
  return v && gd_shd_wanted(v);
}

static void
sweep_volume(struct gd *gd, const char *kind, const char *volume, bool (*wanted)(struct gd *, const char *, const char *))
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/%s/%s", gd->config.rundir, kind, volume);
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
    size_t len = strlen(e->d_name);
    GI_CLEANUP_FREE char *pidfile = gi_asprintf("%s/%s", dir, e->d_name);
    if (len < 5 || strcmp(e->d_name + len - 4, ".pid") != 0 || wanted(gd, volume, pidfile))
      continue;
    pid_t pid = gd_pidfile_running(pidfile, pidfile); /* it was told to write it */
    if (!pid)
      continue;
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "process %d of volume %s was left behind and is ended", (int)pid, volume);
    gd_pid_signal(pid, SIGTERM);
  }
  if (d)
    closedir(d);
}

static void
sweep(struct gd *gd, const char *kind, bool (*wanted)(struct gd *, const char *, const char *))
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/%s", gd->config.rundir, kind);
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.')
      sweep_volume(gd, kind, e->d_name, wanted);
  if (d)
    closedir(d);
}

void
gd_sweep(struct gd *gd)
{
  sweep(gd, "vols", is_brick);
  sweep(gd, "shd", is_healed);
}
