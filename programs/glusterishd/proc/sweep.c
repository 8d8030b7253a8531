/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that an earlier daemon left behind when it died: their volume has
 * gone, has no such brick any more, or was stopped. A brick leaves as it would
 * have left that daemon: clients may not know yet that it is to go.
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

struct kind {
  const char *dir; /* below the directory of what runs: of each volume, with pid files */
  bool (*wanted)(struct gd *gd, const char *volume, const char *pidfile);
  bool bricks;
};

/* False: the process is no brick that can be watched. */
static bool
leave(struct gd *gd, const char *volume, const char *file, pid_t pid)
{
  struct gd_volume *v = gd_volume_new(gd, volume);
  struct gd_brick b = {.volume = v, .path = gd_process_option(pid, "--brick-name")};
  GI_CLEANUP_FREE char *dashed = b.path && b.path[0] == '/' ? gd_brick_dashed(&b) : NULL;
  size_t rest = dashed ? strlen(dashed) + strlen("-.pid") : 0, len = strlen(file); /* HOST-PATH.pid */
  bool named = dashed && len > rest && strncmp(file + len - rest + 1, dashed, strlen(dashed)) == 0;
  b.host = named ? gi_strndup(file, len - rest) : NULL;
  bool leaves = named && gd_brick_adopt(&b);
  if (leaves)
    gd_brick_leave(&b, NULL, NULL);
  gd_brick_forget(&b);
  gi_free(b.host);
  gi_free(b.path);
  gd_volume_free(v);
  return leaves;
}

static void
sweep_volume(struct gd *gd, const struct kind *kind, const char *volume)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/%s/%s", gd->config.rundir, kind->dir, volume);
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
    size_t len = strlen(e->d_name);
    GI_CLEANUP_FREE char *pidfile = gi_asprintf("%s/%s", dir, e->d_name);
    if (len < 5 || strcmp(e->d_name + len - 4, ".pid") != 0 || kind->wanted(gd, volume, pidfile))
      continue;
    pid_t pid = gd_pidfile_running(pidfile, pidfile); /* it was told to write it */
    if (!pid)
      continue;
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "process %d of volume %s was left behind and is ended", (int)pid, volume);
    if (!kind->bricks || !leave(gd, volume, e->d_name, pid))
      gd_pid_signal(pid, SIGTERM);
  }
  if (d)
    closedir(d);
}

static void
sweep(struct gd *gd, const struct kind *kind)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/%s", gd->config.rundir, kind->dir);
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.')
      sweep_volume(gd, kind, e->d_name);
  if (d)
    closedir(d);
}

void
gd_sweep(struct gd *gd)
{
  sweep(gd, &(struct kind){"vols", is_brick, true});
  sweep(gd, &(struct kind){"shd", is_healed, false});
}
