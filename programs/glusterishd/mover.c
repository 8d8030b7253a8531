/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that moves files between the sets of a volume, while a rebalance
 * or the draining of sets is under way (volfile.md 7.1). How far it is, it is
 * asked every second; when it says that it is done it is ended. Like a brick it
 * outlives this daemon and is found again by its pid file. One that was killed is
 * started again: what it does can be gone on with at any point.
 *
 *   DOWN -> STARTING  our child is the parent of the service; it exits with 0
 *                     once that has built its graph
 *        -> UP        the pidfd of the service is watched
 *        -> STOPPING  the task is over: SIGTERM, later SIGKILL
 *        -> DOWN      gone; started again after a pause, if the task is not over
 */
#include "programs/glusterishd/proc.h"
#include "rpc/message.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_TIMEOUT (60 * GI_NSEC_PER_SEC)
#define STOP_TIMEOUT (15 * GI_NSEC_PER_SEC)
#define PAUSE (1 * GI_NSEC_PER_SEC) /* before it is started again, and between two questions */
#define MSG (GI_MSG_MGMT + 94)

struct gd_mover {
  struct gd_volume *volume;
  enum gd_proc_state state;
  pid_t pid; /* UP: of the service */
  struct gd_watch watch;
  struct gi_timer timer; /* STARTING, STOPPING: patience; UP: the next question; DOWN: the pause before the next start */
  bool asking;
};

static void start(struct gd_mover *m);

static bool
wanted(const struct gd_volume *v)
{
  return v->status == GD_STARTED && v->rebalance.status == GD_REBALANCE_RUNS && v->gd->keeps_services;
}

static char *
pidfile_of(const struct gd_volume *v)
{
  GI_CLEANUP_FREE char *dir = gd_volume_dir(v->gd, v->name);
  char uuid[GI_UUID_TEXT];
  return gi_asprintf("%s/rebalance/%s.pid", dir, gi_gfid_text(&v->gd->uuid, uuid));
}

pid_t
gd_mover_pid(const struct gd_volume *v)
{
  return v->mover && v->mover->state == GD_PROC_UP ? v->mover->pid : 0;
}

/* ---- its end ---- */

static void
stop(struct gd_mover *m)
{
  m->state = GD_PROC_STOPPING;
  gd_watch_signal(&m->watch, SIGTERM);
  gi_timer_set(&m->timer, STOP_TIMEOUT);
}

static void
stopped(struct gd_mover *m)
{
  GI_CLEANUP_FREE char *pidfile = pidfile_of(m->volume);
  gi_timer_cancel(&m->timer);
  gd_unwatch(&m->watch);
  unlink(pidfile);
  m->pid = 0;
  m->state = GD_PROC_DOWN;
}

static void
lost(struct gd_mover *m, const char *why)
{
  stopped(m);
  if (!wanted(m->volume))
    return;
  gi_log(GI_LOG_ERROR, GD_NAME, MSG, "rebalance of %s: %s; it is started again", m->volume->name, why);
  gi_timer_set(&m->timer, PAUSE);
}

static void
gone(void *arg, unsigned events)
{
  struct gd_mover *m = arg;
  if (m->state != GD_PROC_STOPPING) {
    lost(m, "its process ended unexpectedly");
    return;
  }
  stopped(m);
  if (wanted(m->volume))
    start(m);
}

/* ---- how far it is ---- */

static uint64_t
fact(const struct gi_dict *d, const char *key)
{
  int64_t n = 0;
  gi_dict_get_int(d, key, &n);
  return n > 0 ? (uint64_t)n : 0;
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
  if (status == GD_REBALANCE_COMPLETED || status == GD_REBALANCE_FAILED)
    r->status = (enum gd_rebalance_status)status;
  struct gi_error err = {0};
  if (gd_store_rebalance(v, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "rebalance of %s: its state cannot be stored: %s", v->name, err.text);
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
    v->mover->asking = false; /* who did not answer told no name: it is asked again */
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
ask(struct gd_mover *m)
{
  gi_timer_set(&m->timer, PAUSE);
  if (!m->asking)
    gd_mover_question(m->volume, answered, m->volume->gd);
  m->asking = true;
}

/* ---- its beginning ---- */

static bool
adopt(struct gd_mover *m)
{
  GI_CLEANUP_FREE char *pidfile = pidfile_of(m->volume);
  GI_CLEANUP_FREE char *id = gi_asprintf("rebalance/%s", m->volume->name);
  pid_t pid = gd_pidfile_running(pidfile, id);
  if (!pid || !gd_watch(&m->watch, m->volume->gd->reactor, pid, gone, m))
    return false;
  m->pid = pid;
  m->state = GD_PROC_UP;
  m->asking = false;
  gi_timer_set(&m->timer, PAUSE);
  return true;
}

static void
parent_gone(void *arg, unsigned events)
{
  struct gd_mover *m = arg;
  siginfo_t info = {0};
  waitid(P_PID, (id_t)m->watch.pid, &info, WEXITED);
  gi_timer_cancel(&m->timer);
  gd_unwatch(&m->watch);
  if (info.si_code != CLD_EXITED || info.si_status != 0)
    lost(m, "its process did not start, see its log file");
  else if (!adopt(m))
    lost(m, "its process left no pid file or ended at once");
  else if (!wanted(m->volume))
    stop(m);
}

static int
spawn(const struct gd_volume *v, pid_t *pid)
{
  struct gd *gd = v->gd;
  GI_CLEANUP_FREE char *vol = gd_volume_dir(gd, v->name);
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/rebalance", vol);
  GI_CLEANUP_FREE char *id = gi_asprintf("rebalance/%s", v->name);
  GI_CLEANUP_FREE char *pidfile = pidfile_of(v);
  GI_CLEANUP_FREE char *sock = gd_socket_name(v, "rebalance");
  GI_CLEANUP_FREE char *log = gi_asprintf("%s/%s-rebalance.log", gd->config.logdir, v->name);
  GI_CLEANUP_FREE char *port = gi_asprintf("%d", gd->config.port);
  GI_CLEANUP_FREE char *command = gi_asprintf("*dht.rebalance-cmd=%d", v->rebalance.command);
  const char *argv[] = {gd->brick_program,
                        "-s",
                        gd->config.bind ? gd->config.bind : "localhost",
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
                        "--process-name",
                        "rebalance",
                        "--xlator-option",
                        command,
                        NULL};
  struct gi_error err = {0};
  unlink(sock);
  if (gd_mkdir_all(dir, 0755, &err))
    return err.code;
  return gd_spawn(gd->brick_program, argv, pid);
}

static void
start(struct gd_mover *m)
{
  pid_t pid;
  if (adopt(m))
    return;
  m->state = GD_PROC_STARTING;
  int ret = spawn(m->volume, &pid);
  if (ret || !gd_watch(&m->watch, m->volume->gd->reactor, pid, parent_gone, m))
    lost(m, strerror(ret ? ret : errno));
  else
    gi_timer_set(&m->timer, START_TIMEOUT);
}

static void
expired(void *arg)
{
  struct gd_mover *m = arg;
  if (m->state == GD_PROC_UP)
    ask(m);
  else if (m->state != GD_PROC_DOWN)
    gd_watch_signal(&m->watch, SIGKILL); /* parent_gone or gone follows */
  else if (wanted(m->volume))
    start(m);
}

/* ---- from outside ---- */

void
gd_mover_sync(struct gd_volume *v)
{
  struct gd_mover *m = v->mover;
  if (!m && !wanted(v))
    return;
  if (!m) {
    m = v->mover = gi_new(struct gd_mover);
    m->volume = v;
    m->watch.fd = -1;
    gi_timer_init(&m->timer, v->gd->reactor, expired, m);
  }
  GI_ASSERT(m->volume == v);
  if (wanted(v) && m->state == GD_PROC_DOWN) {
    gi_timer_cancel(&m->timer);
    start(m);
  } else if (!wanted(v) && m->state == GD_PROC_UP) {
    stop(m);
  } else if (!wanted(v) && m->state == GD_PROC_DOWN) {
    gi_timer_cancel(&m->timer);
  }
}

void
gd_mover_forget(struct gd_volume *v)
{
  struct gd_mover *m = v->mover;
  v->mover = NULL;
  if (!m)
    return;
  if (m->state == GD_PROC_STOPPING) /* nobody will look after it any more */
    gd_watch_signal(&m->watch, SIGKILL);
  gi_timer_finish(&m->timer);
  gd_unwatch(&m->watch);
  gi_free(m);
}
