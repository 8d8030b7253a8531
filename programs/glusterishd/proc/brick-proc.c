/* SPDX-License-Identifier: Apache-2.0
 *
 * Brick processes. A brick is started as a daemon of its own and outlives this
 * one; its end is noticed through a pidfd, which cannot hit a stranger who got
 * the same pid. A brick that ended is not started again by itself: a brick
 * that dies on its data would die again, and the administrator decides.
 *
 *   DOWN -> STARTING  spawned; our child is the parent of the brick, it exits
 *                     with 0 once the brick has built its graph
 *        -> UP        the pid file names the brick; its pidfd is watched. It
 *                     is online once it has signed in at the port mapper
 *        -> STOPPING  SIGTERM was sent; SIGKILL follows if it does not go
 *        -> DOWN      the pidfd says it is gone
 *
 * An administrator who kills a brick and starts the volume with force means a
 * new process, though the old one may still be going down. So a process that
 * is UP is asked whether it serves; if it has signed out, its end is waited
 * for, and if it is only silent, for a while.
 */
#include "programs/glusterishd/proc/proc.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_TIMEOUT (60 * GI_NSEC_PER_SEC)
#define STOP_TIMEOUT (15 * GI_NSEC_PER_SEC)
#define SILENCE_TIMEOUT (2 * GI_NSEC_PER_SEC) /* a killed process has gone by then; one that is frozen runs */
#define PORT_TRIES 2000                       /* random ports tested before giving up */
#define MSG (GI_MSG_MGMT + 20)

/* One who waited, when another one wants something else of the process. */
struct overtaken {
  struct gi_list link; /* gd_proc.overtaken */
  gd_proc_fn *fn;
  void *arg;
};

struct gd_proc {
  struct gd_brick *brick;
  struct gd_watch watch; /* STARTING: of the spawned parent; UP, STOPPING: of the brick */
  struct gi_timer timer;
  struct gi_defer answer;
  struct gi_error result;
  bool again;       /* a start waits for an answer or the end of the process that is UP */
  bool unsigned_in; /* it is UP and has not signed in yet: its start is not over */
  gd_proc_fn *fn;   /* who waits for a start or stop */
  void *arg;
  /* What is wanted when the stop or start that is under way has ended. */
  enum { NEXT_NOTHING, NEXT_START, NEXT_STOP } next;
  gd_proc_fn *next_fn;
  void *next_arg;
  struct gi_list overtaken;
  struct gi_defer tell_overtaken;
};

/* ---- names ---- */

char *
gd_brick_pidfile(const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *dashed = gd_brick_dashed(b);
  return gi_asprintf("%s/vols/%s/%s-%s.pid", b->volume->gd->config.rundir, b->volume->name, b->host, dashed);
}

char *
gd_brick_logfile(const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *dashed = gd_brick_dashed(b);
  return gi_asprintf("%s/bricks/%s.log", b->volume->gd->config.logdir, dashed);
}

char *
gd_brick_socket(const struct gd_brick *b)
{
  return gd_socket_name(b->volume, b->path);
}

/* ---- the struct behind a brick ---- */

static void answer_now(void *arg);
static void tell_overtaken(void *arg);
static void start_failed(struct gd_brick *b, int code, const char *why);
static void launch(struct gd_brick *b);

static struct gd_proc *
proc_of(struct gd_brick *b)
{
  if (!b->proc) {
    b->proc = gi_new(struct gd_proc);
    b->proc->brick = b;
    b->proc->watch.fd = -1;
    gi_list_init(&b->proc->overtaken);
    gi_defer_init(&b->proc->answer, answer_now, b->proc);
    gi_defer_init(&b->proc->tell_overtaken, tell_overtaken, b->proc);
  }
  return b->proc;
}

static void
unwatch(struct gd_proc *p)
{
  gi_timer_cancel(&p->timer);
  gd_unwatch(&p->watch);
}

static bool
watch(struct gd_proc *p, pid_t pid, void (*fn)(void *arg, unsigned events))
{
  return gd_watch(&p->watch, p->brick->volume->gd->reactor, pid, fn, p);
}

void
gd_brick_forget(struct gd_brick *b)
{
  struct gd_proc *p = b->proc;
  if (!p)
    return;
  unwatch(p);
  gi_timer_finish(&p->timer);
  gi_defer_cancel(&p->answer);
  gi_defer_cancel(&p->tell_overtaken);
  gi_list_foreach_safe(o, &p->overtaken, struct overtaken, link)
    gi_free(o);
  gi_free(p);
  b->proc = NULL;
}

void
gd_brick_move(struct gd_brick *to, struct gd_brick *from)
{
  GI_ASSERT(!to->proc && (!from->proc || from->proc->brick == from));
  to->state = from->state;
  to->signed_in = from->signed_in;
  to->leaving = from->leaving;
  to->pid = from->pid;
  to->port = from->port;
  to->proc = from->proc;
  if (to->proc)
    to->proc->brick = to;
  from->proc = NULL;
  from->state = GD_PROC_DOWN;
}

static void
answer_now(void *arg)
{
  struct gd_proc *p = arg;
  struct gd_brick *b = p->brick;
  struct gi_error result = p->result;
  gd_proc_fn *fn = p->fn;
  void *fn_arg = p->arg;
  int next = p->next;
  p->fn = NULL;
  p->next = NEXT_NOTHING;
  if (next == NEXT_START)
    gd_brick_start(b, p->next_fn, p->next_arg);
  else if (next == NEXT_STOP)
    gd_brick_stop(b, p->next_fn, p->next_arg);
  if (fn) /* which may forget the brick */
    fn(b, &result, fn_arg);
}

static void
tell_overtaken(void *arg)
{
  struct gd_proc *p = arg;
  struct gd_brick *b = p->brick;
  struct overtaken *o = gi_list_first(&p->overtaken, struct overtaken, link);
  gd_proc_fn *fn = o->fn;
  void *fn_arg = o->arg;
  struct gi_error err = {0};
  gi_error_set(&err, ECANCELED, "brick %s:%s: another command starts or stops it", b->host, b->path);
  gi_list_del(&o->link);
  gi_free(o);
  if (!gi_list_empty(&p->overtaken))
    gi_defer_add(b->volume->gd->reactor, &p->tell_overtaken);
  fn(b, &err, fn_arg); /* which may forget the brick */
}

static void
overtake(struct gd_proc *p, gd_proc_fn *fn, void *arg)
{
  if (!fn)
    return;
  struct overtaken *o = gi_new(struct overtaken);
  o->fn = fn;
  o->arg = arg;
  gi_list_add_tail(&p->overtaken, &o->link);
  gi_defer_add(p->brick->volume->gd->reactor, &p->tell_overtaken);
}

/* Whoever waits from now on. */
static void
wait_for(struct gd_proc *p, gd_proc_fn *fn, void *arg)
{
  overtake(p, p->fn, p->arg);
  p->fn = fn;
  p->arg = arg;
}

static void
then(struct gd_proc *p, int next, gd_proc_fn *fn, void *arg)
{
  if (p->next != NEXT_NOTHING)
    overtake(p, p->next_fn, p->next_arg);
  p->next = next;
  p->next_fn = fn;
  p->next_arg = arg;
}

static void
answer(struct gd_proc *p, int code, const char *text)
{
  if (code)
    gi_error_set(&p->result, code, "%s", text);
  else
    memset(&p->result, 0, sizeof(p->result));
  gi_defer_add(p->brick->volume->gd->reactor, &p->answer);
}

/* A start is over. */
static void
it_runs(void *arg)
{
  struct gd_proc *p = arg;
  p->again = p->unsigned_in = false;
  gi_timer_cancel(&p->timer);
  answer(p, 0, NULL);
}

/* ---- a running brick ---- */

/* A brick that left the volume, and runs yet, in the place of one that has come since; NULL: none. */
static struct gd_brick *
left_in_place(const struct gd_brick *b)
{
  gi_list_foreach(l, &b->volume->gd->leaving, struct gd_leaving, link) {
    struct gd_brick *old = l->volume->bricks;
    if (old->state != GD_PROC_DOWN && strcmp(l->volume->name, b->volume->name) == 0 && gd_brick_same_files(old, b))
      return old;
  }
  return NULL;
}

pid_t
gd_brick_running_pid(const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(b);
  return gd_pidfile_running(pidfile, b->path); /* the value of --brick-name */
}

static void
brick_gone(void *arg, unsigned events)
{
  struct gd_proc *p = arg;
  struct gd_brick *b = p->brick;
  bool expected = b->state == GD_PROC_STOPPING, again = p->again && !expected, starting = p->fn && !expected;
  unwatch(p);
  gi_log(expected || again ? GI_LOG_INFO : GI_LOG_ERROR, GD_NAME, MSG, "brick %s:%s (pid %d) %s", b->host, b->path, (int)b->pid,
         expected     ? "was stopped"
         : again      ? "has gone and is started again"
         : b->leaving ? "was ended from outside: \"volume start force\" starts it again"
                      : "ended unexpectedly: \"volume start force\" starts it again");
  b->state = GD_PROC_DOWN;
  b->signed_in = b->leaving = p->again = p->unsigned_in = false;
  b->pid = 0;
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(b);
  gd_pidfile_remove(pidfile);
  if (expected)
    answer(p, 0, NULL);
  else if (again)
    launch(b);
  else if (starting)
    start_failed(b, EIO, "the process ended before it had signed in");
}

static bool
watch_brick(struct gd_brick *b)
{
  pid_t pid = gd_brick_running_pid(b);
  struct gd_proc *p = proc_of(b);
  if (!pid || !watch(p, pid, brick_gone))
    return false;
  b->pid = pid;
  b->state = GD_PROC_UP;
  b->leaving = false;
  return true;
}

bool
gd_brick_adopt(struct gd_brick *b)
{
  if (!watch_brick(b))
    return false;
  /* It signs in again when it has reconnected; until then the port that it was given is as good. */
  GI_CLEANUP_FREE char *port = gd_process_option(b->pid, "--brick-port");
  int64_t given;
  if (port && gi_parse_int(port, &given) && given > 0 && given <= 65535)
    b->port = (int)given;
  b->signed_in = b->port != 0;
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "brick %s:%s is running (pid %d)", b->host, b->path, (int)b->pid);
  return true;
}

bool
gd_brick_online(const struct gd_brick *b)
{
  return b->state == GD_PROC_UP && b->signed_in;
}

bool
gd_brick_ends(const struct gd_brick *b)
{
  if (b->proc && b->proc->next != NEXT_NOTHING)
    return b->proc->next == NEXT_STOP;
  return b->state == GD_PROC_DOWN || b->state == GD_PROC_STOPPING;
}

int
gd_brick_signal(const struct gd_brick *b, int signo)
{
  if (b->state != GD_PROC_UP && b->state != GD_PROC_STOPPING)
    return ESRCH;
  return gd_watch_signal(&b->proc->watch, signo);
}

/* ---- start ---- */

static bool
port_is_free(const struct gd *gd, int port)
{
  struct sockaddr_in6 sa = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
  struct sockaddr_in sa4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  bool v6 = fd >= 0;
  if (!v6)
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return false;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  int ret = v6 ? bind(fd, (struct sockaddr *)&sa, sizeof(sa)) : bind(fd, (struct sockaddr *)&sa4, sizeof(sa4));
  if (ret == 0)
    ret = listen(fd, 1);
  close(fd);
  return ret == 0;
}

static bool
port_is_taken(const struct gd *gd, int port, const struct gd_brick *except)
{
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (&v->bricks[i] != except && v->bricks[i].port == port && v->bricks[i].state != GD_PROC_DOWN)
        return true;
  return false;
}

/* The brick's last port if it is still free, so that clients find it where it was; else a random one. */
static int
choose_port(struct gd_brick *b)
{
  struct gd *gd = b->volume->gd;
  unsigned range = (unsigned)(gd->config.max_port - gd->config.base_port + 1);
  bool in_range = b->port >= gd->config.base_port && b->port <= gd->config.max_port;
  if (in_range && !port_is_taken(gd, b->port, b) && port_is_free(gd, b->port))
    return b->port;
  for (unsigned i = 0; i < PORT_TRIES; i++) {
    uint32_t r;
    gi_random(gd->reactor, &r, sizeof(r));
    int port = gd->config.base_port + (int)(r % range);
    if (!port_is_taken(gd, port, b) && port_is_free(gd, port))
      return port;
  }
  return 0;
}

/* The command line of volfile.md 7.1. The program may be a bare name. */
static int
spawn(struct gd_brick *b, pid_t *pid)
{
  struct gd *gd = b->volume->gd;
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *dashed = gd_brick_dashed(b);
  GI_CLEANUP_FREE char *id = gi_asprintf("%s.%s.%s", b->volume->name, b->host, dashed);
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(b);
  GI_CLEANUP_FREE char *log = gd_brick_logfile(b);
  GI_CLEANUP_FREE char *sock = gd_brick_socket(b);
  GI_CLEANUP_FREE char *port = gi_asprintf("%d", b->port);
  GI_CLEANUP_FREE char *node = gi_asprintf("*-posix.glusterd-uuid=%s", gi_gfid_text(&gd->uuid, uuid));
  GI_CLEANUP_FREE char *listen_port = gi_asprintf("%s-server.listen-port=%d", b->volume->name, b->port);
  const char *server = gd->config.bind ? gd->config.bind : b->host;
  const char *const more[] = {
      "--brick-name", b->path,           "--xlator-option", node, "--process-name", "brick", "--brick-port",
      port,           "--xlator-option", listen_port,       NULL,
  };
  unlink(sock);
  gd_pidfile_remove(pidfile);
  return gd_spawn_graph(gd, server, id, pidfile, sock, log, more, pid);
}

static void
start_failed(struct gd_brick *b, int code, const char *why)
{
  GI_CLEANUP_FREE char *log = gd_brick_logfile(b);
  GI_CLEANUP_FREE char *text = gi_asprintf("Unable to start brick %s:%s: %s. Its log file is %s", b->host, b->path, why, log);
  gi_log(GI_LOG_ERROR, GD_NAME, MSG + 2, "%s", text);
  b->state = GD_PROC_DOWN;
  b->signed_in = false;
  b->pid = 0;
  answer(b->proc, code, text);
}

/* The spawned parent ended: the brick serves, or never will. */
static void
parent_gone(void *arg, unsigned events)
{
  struct gd_proc *p = arg;
  struct gd_brick *b = p->brick;
  int status = gd_watch_reap(&p->watch);
  unwatch(p);
  if (status != 0 && gd_brick_adopt(b)) { /* one that an earlier daemon has started was faster */
    it_runs(p);
    return;
  }
  if (status != 0) {
    GI_CLEANUP_FREE char *why =
        gi_asprintf("the process %s %d", status > 0 ? "exited with status" : "died of signal", abs(status));
    start_failed(b, EIO, why);
    return;
  }
  if (!watch_brick(b)) {
    start_failed(b, EIO, "the process left no pid file or ended at once");
    return;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 3, "brick %s:%s runs on port %d (pid %d)", b->host, b->path, b->port, (int)b->pid);
  p->unsigned_in = !b->signed_in;
  if (b->signed_in)
    it_runs(p);
  else
    gi_timer_set(&p->timer, START_TIMEOUT);
}

void
gd_brick_signed_in(struct gd_brick *b, int port)
{
  bool moved = b->port != port;
  b->port = port;
  b->signed_in = true;
  b->leaving = false;
  if (moved)
    gd_store_brick(b, NULL);
  if (b->state == GD_PROC_DOWN && !left_in_place(b)) /* started by hand, or while nobody looked */
    gd_brick_adopt(b);
  if (b->state == GD_PROC_UP && (b->proc->fn || b->proc->unsigned_in)) /* a start waits for this */
    it_runs(b->proc);
}

static void
end_start(struct gd_proc *p)
{
  pid_t brick = gd_brick_running_pid(p->brick);
  if (brick)
    gd_pid_signal(brick, SIGKILL);
  gd_watch_signal(&p->watch, SIGKILL);
}

static void
start_too_slow(void *arg)
{
  end_start(arg); /* parent_gone or brick_gone follows */
}

void
gd_brick_end(struct gd_brick *b)
{
  if (b->state == GD_PROC_UP)
    gd_brick_signal(b, SIGTERM);
  else if (b->state == GD_PROC_STARTING)
    end_start(b->proc);
}

static int
prepare_directories(struct gd_brick *b, struct gi_error *err)
{
  const struct gd_config *c = &b->volume->gd->config;
  GI_CLEANUP_FREE char *run = gi_asprintf("%s/vols/%s", c->rundir, b->volume->name);
  GI_CLEANUP_FREE char *logs = gi_asprintf("%s/bricks", c->logdir);
  return gd_mkdir_all(run, 0755, err) || gd_mkdir_all(logs, 0755, err) ? -1 : 0;
}

static void
patience(struct gd_proc *p, void (*expired)(void *arg), uint64_t ns)
{
  gi_timer_finish(&p->timer);
  gi_timer_init(&p->timer, p->brick->volume->gd->reactor, expired, p);
  gi_timer_set(&p->timer, ns);
}

static void
launch(struct gd_brick *b)
{
  struct gd_proc *p = b->proc;
  struct gi_error err = {0};
  pid_t pid;
  GI_ASSERT(b->state == GD_PROC_DOWN && p);
  b->state = GD_PROC_STARTING;
  b->signed_in = false;
  b->port = choose_port(b);
  if (!b->port)
    gi_error_set(&err, EADDRINUSE, "no free port between %d and %d", b->volume->gd->config.base_port,
                 b->volume->gd->config.max_port);
  if (err.code || prepare_directories(b, &err) || gd_store_brick(b, &err)) {
    start_failed(b, err.code, err.text);
    return;
  }
  int ret = spawn(b, &pid);
  if (ret || !watch(p, pid, parent_gone)) {
    GI_CLEANUP_FREE char *why = gi_asprintf("cannot run %s: %s", b->volume->gd->brick_program, strerror(ret ? ret : errno));
    start_failed(b, ret ? ret : errno, why);
    return;
  }
  patience(p, start_too_slow, START_TIMEOUT);
}

/* ---- stop, and start after an end ---- */

static void
stop_too_slow(void *arg)
{
  struct gd_proc *p = arg;
  gi_log(GI_LOG_WARNING, GD_NAME, MSG + 4, "brick %s:%s does not stop and is killed", p->brick->host, p->brick->path);
  gd_brick_signal(p->brick, SIGKILL);
}

static void
asked(int err, const struct gi_dict *dict, void *arg)
{
  struct gd_proc *p = arg;
  if (!p->again || p->brick->leaving)
    return; /* it has gone, or is going */
  if (err)
    patience(p, it_runs, SILENCE_TIMEOUT);
  else
    it_runs(p);
}

void
gd_brick_signed_out(struct gd_brick *b)
{
  b->signed_in = false;
  b->leaving = b->state == GD_PROC_UP;
  if (b->leaving && b->proc->again)
    patience(b->proc, stop_too_slow, STOP_TIMEOUT);
}

/* The process of a brick that was here before and left the volume is not that of this one: it knows the directory as it was. */
static void
end_left(struct gd_brick *b)
{
  struct gd_brick *old = b->proc ? NULL : left_in_place(b);
  if (!old)
    return;
  gd_brick_move(b, old);
  if (b->state != GD_PROC_STOPPING)
    gd_brick_stop(b, NULL, NULL);
}

void
gd_brick_start(struct gd_brick *b, gd_proc_fn *fn, void *arg)
{
  GI_CHECK(b->volume, GD_VOLUME_MAGIC);
  end_left(b);
  struct gd_proc *p = proc_of(b);
  if (b->state == GD_PROC_STOPPING) {
    then(p, NEXT_START, fn, arg);
    return;
  }
  then(p, NEXT_NOTHING, NULL, NULL);
  wait_for(p, fn, arg);
  if (b->state == GD_PROC_DOWN && !gd_brick_adopt(b)) {
    launch(b);
    return;
  }
  p->again = true;
  if (b->leaving)
    patience(p, stop_too_slow, STOP_TIMEOUT);
  else
    gd_brick_ask_status(b, 0, asked, p);
}

void
gd_brick_stop(struct gd_brick *b, gd_proc_fn *fn, void *arg)
{
  struct gd_proc *p = proc_of(b);
  if (b->state == GD_PROC_STARTING) {
    then(p, NEXT_STOP, fn, arg);
    return;
  }
  then(p, NEXT_NOTHING, NULL, NULL);
  wait_for(p, fn, arg);
  if (b->state != GD_PROC_UP) {
    answer(p, 0, NULL);
    return;
  }
  GI_ASSERT(b->pid > 0);
  b->state = GD_PROC_STOPPING;
  b->signed_in = false;
  gd_brick_signal(b, SIGTERM);
  patience(p, stop_too_slow, STOP_TIMEOUT);
}
