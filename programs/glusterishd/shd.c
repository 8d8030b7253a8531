/* SPDX-License-Identifier: Apache-2.0
 *
 * Self-heal daemons: one process per started replicated volume whose
 * cluster.self-heal-daemon is not off. It is kept running: when it ends it is
 * started again, with a pause that grows while it does not live long. Like a
 * brick it outlives this daemon and is found again by its pid file.
 *
 *   DOWN -> STARTING  our child is the parent of the service; it exits with 0
 *                     once that has built its graph
 *        -> UP        the pidfd of the service is watched
 *        -> STOPPING  it is not wanted any more: SIGTERM, later SIGKILL
 *        -> DOWN      gone; started again if it is wanted (after a pause, if it
 *                     went by itself)
 */
#include "programs/glusterishd/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_TIMEOUT (60 * GI_NSEC_PER_SEC)
#define STOP_TIMEOUT (15 * GI_NSEC_PER_SEC)
#define PAUSE_MIN (1 * GI_NSEC_PER_SEC) /* before it is started again */
#define PAUSE_MAX (60 * GI_NSEC_PER_SEC)
#define LONG_LIFE (60 * GI_NSEC_PER_SEC) /* after which a death counts as the first one */
#define MSG (GI_MSG_MGMT + 90)

struct gd_shd {
  struct gd_volume *volume;
  enum gd_proc_state state;
  bool wanted;
  pid_t pid; /* UP: of the service */
  struct gd_watch watch;
  struct gi_timer timer; /* STARTING, STOPPING: patience; DOWN: the pause before the next start */
  uint64_t pause, started;
};

static void start(struct gd_shd *s);

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

static char *
pidfile_of(const struct gd_volume *v)
{
  return gi_asprintf("%s/shd/%s/%s-shd.pid", v->gd->config.rundir, v->name, v->name);
}

char *
gd_shd_socket(const struct gd_volume *v)
{
  return gd_socket_name(v, "shd");
}

pid_t
gd_shd_pid(const struct gd_volume *v)
{
  return v->shd && v->shd->state == GD_PROC_UP ? v->shd->pid : 0;
}

/* ---- its end ---- */

static void
stopped(struct gd_shd *s)
{
  GI_CLEANUP_FREE char *pidfile = pidfile_of(s->volume);
  gi_timer_cancel(&s->timer);
  gd_unwatch(&s->watch);
  unlink(pidfile);
  s->pid = 0;
  s->state = GD_PROC_DOWN;
}

/* It went by itself, or could not be started. */
static void
lost(struct gd_shd *s, const char *why)
{
  struct gi_reactor *r = s->volume->gd->reactor;
  bool young = gi_now(r) - s->started < LONG_LIFE;
  stopped(s);
  s->pause = !young || s->pause == 0 ? PAUSE_MIN : s->pause * 2 < PAUSE_MAX ? s->pause * 2 : PAUSE_MAX;
  gi_log(GI_LOG_ERROR, GD_NAME, MSG, "self-heal daemon of %s: %s; it is started again in %llu s", s->volume->name, why,
         (unsigned long long)(s->pause / GI_NSEC_PER_SEC));
  gi_timer_set(&s->timer, s->pause);
}

static void
gone(void *arg, unsigned events)
{
  struct gd_shd *s = arg;
  if (s->state != GD_PROC_STOPPING) {
    lost(s, "it ended unexpectedly");
    return;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "self-heal daemon of %s (pid %d) was stopped", s->volume->name, (int)s->pid);
  stopped(s);
  if (s->wanted)
    start(s);
}

static void
stop(struct gd_shd *s)
{
  s->state = GD_PROC_STOPPING;
  gd_watch_signal(&s->watch, SIGTERM);
  gi_timer_set(&s->timer, STOP_TIMEOUT);
}

/* ---- its beginning ---- */

static bool
adopt(struct gd_shd *s)
{
  GI_CLEANUP_FREE char *pidfile = pidfile_of(s->volume);
  GI_CLEANUP_FREE char *id = gi_asprintf("shd/%s", s->volume->name);
  pid_t pid = gd_pidfile_running(pidfile, id);
  if (!pid || !gd_watch(&s->watch, s->volume->gd->reactor, pid, gone, s))
    return false;
  s->pid = pid;
  s->state = GD_PROC_UP;
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 2, "self-heal daemon of %s runs (pid %d)", s->volume->name, (int)pid);
  return true;
}

static void
parent_gone(void *arg, unsigned events)
{
  struct gd_shd *s = arg;
  siginfo_t info = {0};
  waitid(P_PID, (id_t)s->watch.pid, &info, WEXITED);
  gi_timer_cancel(&s->timer);
  gd_unwatch(&s->watch);
  if (info.si_code != CLD_EXITED || info.si_status != 0)
    lost(s, "it did not start, see its log file");
  else if (!adopt(s))
    lost(s, "it left no pid file or ended at once");
  else if (!s->wanted)
    stop(s);
}

/* The command line of volfile.md 7.1. */
static int
spawn(const struct gd_volume *v, pid_t *pid)
{
  struct gd *gd = v->gd;
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *id = gi_asprintf("shd/%s", v->name);
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/shd/%s", gd->config.rundir, v->name);
  GI_CLEANUP_FREE char *pidfile = pidfile_of(v);
  GI_CLEANUP_FREE char *sock = gd_shd_socket(v);
  GI_CLEANUP_FREE char *log = gi_asprintf("%s/glustershd.log", gd->config.logdir);
  GI_CLEANUP_FREE char *port = gi_asprintf("%d", gd->config.port);
  GI_CLEANUP_FREE char *node = gi_asprintf("*replicate*.node-uuid=%s", gi_gfid_text(&gd->uuid, uuid));
  const char *server = gd->config.bind ? gd->config.bind : "localhost";
  const char *argv[] = {gd->brick_program,
                        "-s",
                        server,
                        "--volfile-id",
                        id,
                        "--volfile-server-port",
                        port,
                        "-p",
                        pidfile,
                        "-S",
                        sock,
                        "-l",
                        log,
                        "--log-format",
                        gd->config.log_json ? "json" : "text",
                        "--statedump-dir",
                        gd->config.rundir,
                        "--xlator-option",
                        node,
                        "--process-name",
                        "glustershd",
                        "--client-pid=-6",
                        NULL};
  struct gi_error err = {0};
  unlink(sock);
  if (gd_mkdir_all(dir, 0755, &err))
    return err.code;
  return gd_spawn(gd->brick_program, argv, pid);
}

static void
start(struct gd_shd *s)
{
  pid_t pid;
  if (adopt(s))
    return;
  s->state = GD_PROC_STARTING;
  s->started = gi_now(s->volume->gd->reactor);
  int ret = spawn(s->volume, &pid);
  if (ret || !gd_watch(&s->watch, s->volume->gd->reactor, pid, parent_gone, s))
    lost(s, strerror(ret ? ret : errno));
  else
    gi_timer_set(&s->timer, START_TIMEOUT);
}

static void
expired(void *arg)
{
  struct gd_shd *s = arg;
  if (s->state != GD_PROC_DOWN)
    gd_watch_signal(&s->watch, SIGKILL); /* parent_gone or gone follows */
  else if (s->wanted)
    start(s);
}

/* ---- from outside ---- */

static bool
has_brick_here(const struct gd_volume *v)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gi_gfid_equal(&v->bricks[i].node, &v->gd->uuid))
      return true;
  return false;
}

void
gd_shd_sync(struct gd_volume *v)
{
  struct gd_shd *s = v->shd;
  bool wanted = v->status == GD_STARTED && gd_shd_enabled(v) && has_brick_here(v) && v->gd->keeps_services;
  if (!s && !wanted)
    return;
  if (!s) {
    s = v->shd = gi_new(struct gd_shd);
    s->volume = v;
    s->watch.fd = -1;
    gi_timer_init(&s->timer, v->gd->reactor, expired, s);
  }
  GI_ASSERT(s->volume == v);
  s->wanted = wanted;
  if (wanted && s->state == GD_PROC_DOWN) {
    gi_timer_cancel(&s->timer); /* somebody asked for it: the pause is over */
    start(s);
  } else if (!wanted && s->state == GD_PROC_UP) {
    stop(s);
  } else if (!wanted && s->state == GD_PROC_DOWN) {
    gi_timer_cancel(&s->timer);
  }
}

void
gd_shd_restart(struct gd_volume *v)
{
  if (v->shd && v->shd->state == GD_PROC_UP)
    stop(v->shd); /* `gone` starts it again, if it is wanted */
  else
    gd_shd_sync(v);
}

int
gd_shd_signal(const struct gd_volume *v, int signo)
{
  return gd_shd_pid(v) ? gd_watch_signal(&v->shd->watch, signo) : ESRCH;
}

void
gd_shd_forget(struct gd_volume *v)
{
  struct gd_shd *s = v->shd;
  v->shd = NULL;
  if (!s)
    return;
  if (s->state == GD_PROC_STOPPING) /* nobody will look after it any more */
    gd_watch_signal(&s->watch, SIGKILL);
  gi_timer_finish(&s->timer);
  gd_unwatch(&s->watch);
  gi_free(s);
}
