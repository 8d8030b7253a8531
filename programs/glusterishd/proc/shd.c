/* SPDX-License-Identifier: Apache-2.0
 *
 * Self-heal daemons: one process per started replicated volume whose
 * cluster.self-heal-daemon is not off. Its command line is that of volfile.md 7.1.
 */
#include "programs/glusterishd/proc/proc.h"

#define PAUSE_MAX (60 * GI_NSEC_PER_SEC)

bool
gd_shd_compatible(const struct gd_volume *v)
{
  return v->type == GD_REPLICATE;
}

bool
gd_shd_enabled(const struct gd_volume *v)
{
  return gd_shd_compatible(v) && gd_volume_bool(v, "cluster.self-heal-daemon", true);
}

bool
gd_shd_wanted(const struct gd_volume *v)
{
  return v->status == GD_STARTED && gd_shd_enabled(v) && gd_volume_bricks_on(v, &v->gd->uuid) && v->gd->keeps_services;
}

static char *
pidfile_of(const struct gd_volume *v)
{
  return gi_asprintf("%s/shd/%s/%s-shd.pid", v->gd->config.rundir, v->name, v->name);
}

static char *
log_of(const struct gd_volume *v)
{
  return gi_asprintf("%s/glustershd.log", v->gd->config.logdir);
}

static char *
node_option(const struct gd_volume *v)
{
  char uuid[GI_UUID_TEXT];
  return gi_asprintf("*replicate*.node-uuid=%s", gi_gfid_text(&v->gd->uuid, uuid));
}

static const struct gd_service_type type = {
    .what = "self-heal daemon",
    .key = "shd",
    .process_name = "glustershd",
    .more = "--client-pid=-6",
    .pause_max = PAUSE_MAX,
    .wanted = gd_shd_wanted,
    .pidfile = pidfile_of,
    .log = log_of,
    .xlator_option = node_option,
};

char *
gd_shd_socket(const struct gd_volume *v)
{
  return gd_socket_name(v, type.key);
}

pid_t
gd_shd_pid(const struct gd_volume *v)
{
  return gd_service_pid(v->shd);
}

void
gd_shd_sync(struct gd_volume *v)
{
  gd_service_sync(&v->shd, &type, v);
}

void
gd_shd_restart(struct gd_volume *v)
{
  if (!gd_service_restart(v->shd))
    gd_shd_sync(v);
}

int
gd_shd_signal(const struct gd_volume *v, int signo)
{
  return gd_service_signal(v->shd, signo);
}
