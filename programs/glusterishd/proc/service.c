/* SPDX-License-Identifier: Apache-2.0
 *
 * A process of a volume that is kept running while it is wanted. When it ends it
 * is started again after a pause. Like a brick it outlives this daemon and is
 * found again by its pid file.
 *
 *   DOWN -> STARTING  our child is the parent of the service; it exits with 0
 *                     once that has built its graph
 *        -> UP        the pidfd of the service is watched
 *        -> STOPPING  it is not wanted any more: SIGTERM, later SIGKILL
 *        -> DOWN      gone; started again if it is wanted (after a pause, if it
 *                     went by itself)
 */
#include "programs/glusterishd/proc/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define START_TIMEOUT (60 * GI_NSEC_PER_SEC)
#define STOP_TIMEOUT (15 * GI_NSEC_PER_SEC)
#define PAUSE_MIN (1 * GI_NSEC_PER_SEC)  /* before it is started again, and between two ticks */
#define LONG_LIFE (60 * GI_NSEC_PER_SEC) /* after which a death counts as the first one */
#define MSG (GI_MSG_MGMT + 90)

struct gd_service {
  const struct gd_service_type *type;
  struct gd_volume *volume;
  enum gd_proc_state state;
  pid_t pid; /* UP: of the service */
  struct gd_watch watch;
  struct gi_timer timer; /* STARTING, STOPPING: patience; UP: the next tick; DOWN: the pause before the next start */
  uint64_t pause, started;
};

static void start(struct gd_service *s);

pid_t
gd_service_pid(const struct gd_service *s)
{
  return s && s->state == GD_PROC_UP ? s->pid : 0;
}

static char *
id_of(const struct gd_service *s)
{
  return gi_asprintf("%s/%s", s->type->key, s->volume->name);
}

/* ---- its end ---- */

static void
stopped(struct gd_service *s)
{
  GI_CLEANUP_FREE char *pidfile = s->type->pidfile(s->volume);
  gi_timer_cancel(&s->timer);
  gd_unwatch(&s->watch);
  gd_pidfile_remove(pidfile);
  s->pid = 0;
  s->state = GD_PROC_DOWN;
}

/* It went by itself, or could not be started. */
static void
lost(struct gd_service *s, const char *why)
{
  struct gi_reactor *r = s->volume->gd->reactor;
  bool young = gi_now(r) - s->started < LONG_LIFE;
  uint64_t most = s->type->pause_max;
  stopped(s);
  s->pause = !young || s->pause == 0 ? PAUSE_MIN : s->pause * 2 < most ? s->pause * 2 : most;
  if (!s->type->wanted(s->volume))
    return;
  gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s of %s: %s; it is started again in %llu s", s->type->what, s->volume->name, why,
         (unsigned long long)(s->pause / GI_NSEC_PER_SEC));
  gi_timer_set(&s->timer, s->pause);
}

static void
gone(void *arg, unsigned events)
{
  struct gd_service *s = arg;
  if (s->state != GD_PROC_STOPPING) {
    lost(s, "its process ended unexpectedly");
    return;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "%s of %s (pid %d) was stopped", s->type->what, s->volume->name, (int)s->pid);
  stopped(s);
  if (s->type->wanted(s->volume))
    start(s);
}

static void
stop(struct gd_service *s)
{
  s->state = GD_PROC_STOPPING;
  gd_watch_signal(&s->watch, SIGTERM);
  gi_timer_set(&s->timer, STOP_TIMEOUT);
}

/* ---- its beginning ---- */

static bool
adopt(struct gd_service *s)
{
  GI_CLEANUP_FREE char *pidfile = s->type->pidfile(s->volume);
  GI_CLEANUP_FREE char *id = id_of(s);
  pid_t pid = gd_pidfile_running(pidfile, id);
  if (!pid || !gd_watch(&s->watch, s->volume->gd->reactor, pid, gone, s))
    return false;
  s->pid = pid;
  s->state = GD_PROC_UP;
  if (s->type->tick)
    gi_timer_set(&s->timer, PAUSE_MIN);
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 2, "%s of %s runs (pid %d)", s->type->what, s->volume->name, (int)pid);
  return true;
}

static void
parent_gone(void *arg, unsigned events)
{
  struct gd_service *s = arg;
  int status = gd_watch_reap(&s->watch);
  gi_timer_cancel(&s->timer);
  gd_unwatch(&s->watch);
  if (!adopt(s)) /* also one that an earlier daemon has started, and that was faster */
    lost(s, status != 0 ? "its process did not start, see its log file" : "its process left no pid file or ended at once");
  else if (!s->type->wanted(s->volume))
    stop(s);
}

static int
spawn(const struct gd_service *s, pid_t *pid)
{
  const struct gd *gd = s->volume->gd;
  GI_CLEANUP_FREE char *id = id_of(s);
  GI_CLEANUP_FREE char *pidfile = s->type->pidfile(s->volume);
  GI_CLEANUP_FREE char *dir = gi_strndup(pidfile, (size_t)(strrchr(pidfile, '/') - pidfile));
  GI_CLEANUP_FREE char *sock = gd_socket_name(s->volume, s->type->key);
  GI_CLEANUP_FREE char *log = s->type->log(s->volume);
  GI_CLEANUP_FREE char *option = s->type->xlator_option(s->volume);
  const char *const more[] = {
      "--xlator-option", option, "--process-name", s->type->process_name, s->type->more, NULL,
  };
  struct gi_error err = {0};
  unlink(sock);
  if (gd_mkdir_all(dir, 0755, &err))
    return err.code;
  return gd_spawn_graph(gd, gd->config.bind ? gd->config.bind : "localhost", id, pidfile, sock, log, more, pid);
}

static void
start(struct gd_service *s)
{
  pid_t pid;
  if (adopt(s))
    return;
  s->state = GD_PROC_STARTING;
  s->started = gi_now(s->volume->gd->reactor);
  int ret = spawn(s, &pid);
  if (ret || !gd_watch(&s->watch, s->volume->gd->reactor, pid, parent_gone, s))
    lost(s, strerror(ret ? ret : errno));
  else
    gi_timer_set(&s->timer, START_TIMEOUT);
}

static void
expired(void *arg)
{
  struct gd_service *s = arg;
  if (s->state == GD_PROC_UP) {
    gi_timer_set(&s->timer, PAUSE_MIN);
    s->type->tick(s->volume);
  } else if (s->state != GD_PROC_DOWN) {
    gd_watch_signal(&s->watch, SIGKILL); /* parent_gone or gone follows */
  } else if (s->type->wanted(s->volume)) {
    start(s);
  }
}

/* ---- from outside ---- */

void
gd_service_sync(struct gd_service **ref, const struct gd_service_type *type, struct gd_volume *v)
{
  struct gd_service *s = *ref;
  bool wanted = type->wanted(v);
  if (!s && !wanted)
    return;
  if (!s) {
    s = *ref = gi_new(struct gd_service);
    s->type = type;
    s->volume = v;
    s->watch.fd = -1;
    gi_timer_init(&s->timer, v->gd->reactor, expired, s);
  }
  GI_ASSERT(s->volume == v && s->type == type);
  if (wanted && s->state == GD_PROC_DOWN) {
    gi_timer_cancel(&s->timer); /* somebody asked for it: the pause is over */
    start(s);
  } else if (!wanted && s->state == GD_PROC_UP) {
    stop(s);
  } else if (!wanted && s->state == GD_PROC_DOWN) {
    gi_timer_cancel(&s->timer);
  }
}

bool
gd_service_restart(struct gd_service *s)
{
  if (!gd_service_pid(s))
    return false;
  stop(s); /* `gone` starts it again, if it is wanted */
  return true;
}

int
gd_service_signal(const struct gd_service *s, int signo)
{
  return gd_service_pid(s) ? gd_watch_signal(&s->watch, signo) : ESRCH;
}

void
gd_service_forget(struct gd_service **ref)
{
  struct gd_service *s = *ref;
  *ref = NULL;
  if (!s)
    return;
  if (s->state == GD_PROC_STOPPING) /* nobody will look after it any more */
    gd_watch_signal(&s->watch, SIGKILL);
  gi_timer_finish(&s->timer);
  gd_unwatch(&s->watch);
  gi_free(s);
}
