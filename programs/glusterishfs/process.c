/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of the process: fetch the volfile, build the graph, say that it is
 * ready, follow changes of the volfile, obey signals, go down in order.
 */
#include "programs/glusterishfs/glusterishfs.h"
#include "libglusterish/priority.h"
#include "libglusterish/trace.h"
#include "rpc/client-key.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define FS_WORKERS 16
#define FS_SAMPLE 1000 /* one operation in so many has the tree of its bricks, should it be slow */
#define FS_DRAIN_NS \
  (10 * GI_NSEC_PER_SEC) /* how long operations under way may take at the end, once what was answered is written */
#define FS_DOMAIN "glusterishfs"

/* ---- beginning and end ---- */

static void
fs_ready(struct fs_process *p)
{
  if (p->ready)
    return;
  p->ready = true;
  gi_log(GI_LOG_INFO, FS_DOMAIN, GI_MSG_CLI + 10, "ready: version %s, pid %d", GI_VERSION, (int)getpid());
  fs_daemon_ready(0);
}

/* Before the process is ready it has to say on stderr why it will not be. */
void
fs_fail(struct fs_process *p, const char *fmt, ...)
{
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  gi_log(GI_LOG_CRITICAL, FS_DOMAIN, GI_MSG_CLI + 11, "%s", text);
  if (!p->ready)
    p->status = 1;
  if (!p->ready && p->cfg->role)
    p->cfg->role->failed(p, text);
  else if (!p->ready && !p->cfg->log_to_stderr)
    fprintf(stderr, "glusterishfs: %s\n", text);
  gi_reactor_stop(p->reactor);
}

void
fs_stop(struct fs_process *p, const char *why)
{
  gi_log(GI_LOG_INFO, FS_DOMAIN, GI_MSG_CLI + 12, "stopping: %s", why);
  if (!p->ready)
    p->status = 1;
  gi_reactor_stop(p->reactor);
}

/* ---- priority ---- */

static void
fs_give_way(struct fs_process *p, int by)
{
  int ret = gi_be_nice(by, &p->usual_nice);
  if (ret)
    gi_log(GI_LOG_WARNING, FS_DOMAIN, GI_MSG_CLI + 22, "cannot change the priority: %s", strerror(ret));
  p->nice = by > 0;
}

/* A self-heal daemon or a rebalance gets the processor after the bricks and mounts of this machine, and so does a brick until it listens:
 * applications go on without it and should not feel its start (doc/decisions/0007). A rebalance is slowed down by its rests already. */
static void
fs_be_nice(struct fs_process *p)
{
  const char *id = p->cfg->volfile_id;
  if (id && strncmp(id, "rebalance/", 10) == 0)
    fs_give_way(p, GI_CHAIN_NICE);
  else if ((id && strncmp(id, "shd/", 4) == 0) || (p->cfg->brick_name && geteuid() == 0))
    fs_give_way(p, GI_LEAST_NICE);
}

static void
fs_be_usual(struct fs_process *p)
{
  if (p->nice)
    fs_give_way(p, 0);
  else
    gi_be_patient(false); /* as the management daemon is, who may have started it */
}

/* ---- what the graph tells ---- */

static void
fs_on_listen(struct gi_ctx *ctx, int port)
{
  struct fs_process *p = ctx->app;
  p->port = port;
  fs_be_usual(p);
  gi_log(GI_LOG_INFO, FS_DOMAIN, GI_MSG_CLI + 13, "listening on port %d", port);
  if (p->mgmt && ctx->brick_name)
    gi_mgmt_signin(p->mgmt, ctx->brick_name, port);
}

static void
fs_on_ready(struct gi_ctx *ctx, int err)
{
  struct fs_process *p = ctx->app;
  if (err)
    fs_fail(p, "mount of %s failed: %s", p->cfg->mountpoint ? p->cfg->mountpoint : "the volume", strerror(err));
  else
    fs_ready(p);
}

static void
fs_on_unmount(struct gi_ctx *ctx)
{
  fs_stop(ctx->app, "unmounted");
}

/* ---- the volfile ---- */

static int
fs_adapt(struct fs_process *p, struct gi_volfile *vf, struct gi_error *err)
{
  return p->cfg->role ? p->cfg->role->adapt(p, vf, err) : fs_volfile_adapt(p->cfg, vf, err);
}

static void
fs_build(struct fs_process *p, struct gi_volfile *vf)
{
  struct gi_error err = {0};
  if (fs_adapt(p, vf, &err) < 0) {
    gi_volfile_free(&vf);
    fs_fail(p, "%s", err.text);
    return;
  }
  p->ctx.graph = gi_graph_build(&p->ctx, &vf, p->cfg->overrides.item, &err);
  if (!p->ctx.graph) {
    fs_fail(p, "%s", err.text[0] ? err.text : strerror(err.code));
    return;
  }
  gi_trace_sample(p->ctx.seen, FS_SAMPLE);
  gi_graph_activate(p->ctx.graph);
  if (!p->cfg->mountpoint)
    gi_timer_set(&p->finish_start, 0); /* a mount says itself when it is there */
}

static void
fs_finish_start(void *arg)
{
  fs_ready(arg);
}

/* 0: the running graph is as the volfile, which is consumed, wants it. */
static int
fs_follow(struct fs_process *p, struct gi_volfile **vf)
{
  struct gi_error err = {0};
  if (fs_adapt(p, *vf, &err) < 0) {
    gi_log(GI_LOG_ERROR, FS_DOMAIN, GI_MSG_CLI + 14, "new volfile refused: %s", err.text);
    return -1;
  }
  int ret = gi_graph_reconfigure(p->ctx.graph, vf, &err);
  switch (ret) {
  case 0:
    gi_log(GI_LOG_INFO, FS_DOMAIN, GI_MSG_CLI + 15, "options of the new volfile are in force");
    break;
  case 1:
    gi_log(GI_LOG_ERROR, FS_DOMAIN, GI_MSG_CLI + 16,
           "the new volfile has other bricks or another structure; this process keeps the old one until it is restarted");
    break;
  default:
    gi_log(GI_LOG_ERROR, FS_DOMAIN, GI_MSG_CLI + 14, "new volfile refused, nothing was changed: %s", err.text);
  }
  return ret;
}

static void
fs_change(struct fs_process *p, struct gi_volfile *vf)
{
  /* Compared when the command line's settings are in it, as they are in the running one. */
  if (fs_follow(p, &vf) != 0 && p->cfg->mountpoint && fs_other_bricks(p->ctx.graph->volfile, vf))
    fs_stop_serving(p);
  gi_volfile_free(&vf);
}

static void
fs_got_volfile(void *arg, const char *text, size_t len)
{
  struct fs_process *p = arg;
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, len, &err);
  if (vf && p->ctx.graph)
    fs_change(p, vf);
  else if (vf)
    fs_build(p, vf);
  else if (p->ctx.graph)
    gi_log(GI_LOG_ERROR, FS_DOMAIN, GI_MSG_CLI + 14, "new volfile refused: %s", err.text);
  else
    fs_fail(p, "volfile %s: %s", p->cfg->volfile_id, err.text);
}

static void
fs_no_volfile(void *arg, int err, const char *text)
{
  struct fs_process *p = arg;
  if (!p->ctx.graph && err == ENOTCONN && ++p->fetches < p->cfg->fetch_attempts) /* the next round begins by itself */
    gi_log(GI_LOG_WARNING, FS_DOMAIN, GI_MSG_CLI + 9, "no management daemon could be reached, attempt %d of %d", p->fetches,
           p->cfg->fetch_attempts);
  else if (!p->ctx.graph)
    fs_fail(p, "cannot fetch volfile %s: %s", p->cfg->volfile_id, text && text[0] ? text : strerror(err));
  else
    gi_log(GI_LOG_WARNING, FS_DOMAIN, GI_MSG_CLI + 17, "the management daemon refused volfile %s: %s", p->cfg->volfile_id,
           text && text[0] ? text : strerror(err));
}

static void
fs_dump_asked(void *arg, int32_t pid)
{
  if (pid == 0 || pid == getpid())
    fs_statedump(arg);
}

static void
fs_news(void *arg)
{
  struct fs_process *p = arg;
  if (p->ctx.graph)
    gi_graph_retry(p->ctx.graph);
}

static const struct gi_mgmt_ops mgmt_ops = {
    .volfile = fs_got_volfile, .failed = fs_no_volfile, .statedump = fs_dump_asked, .news = fs_news};

static void
fs_load(struct fs_process *p)
{
  const struct fs_config *cfg = p->cfg;
  if (!cfg->volfile) {
    p->mgmt = gi_mgmt_new(&p->ctx, cfg->servers.item, cfg->servers.count, cfg->server_port, cfg->volfile_id, &mgmt_ops, p);
    return;
  }
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_load(cfg->volfile, &err);
  if (vf)
    fs_build(p, vf);
  else
    fs_fail(p, "volfile %s: %s", cfg->volfile, err.text);
}

/* ---- signals ---- */

static void
fs_signal(void *arg, int signo)
{
  struct fs_process *p = arg;
  switch (signo) {
  case SIGHUP:
    gi_log_reopen();
    break;
  case SIGUSR1:
    fs_statedump(p);
    break;
  default:
    if (p->draining) {
      p->given_up = true;
      return;
    }
    if (p->ctx.leave && !p->leaving) { /* a second signal does not wait */
      p->leaving = true;
      p->ctx.leave(&p->ctx);
      return;
    }
    fs_stop(p, signo == SIGINT ? "interrupted" : "asked to terminate");
  }
}

static void
fs_watch_signals(struct fs_process *p)
{
  static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
  for (unsigned i = 0; i < GI_ARRAY_LEN(signals); i++)
    p->signal[i] = gi_signal_watch(p->reactor, signals[i], fs_signal, p);
}

/* ---- up and down ---- */

/* What the machine has, or less if this process runs in a container that may have less; 0 when it cannot be found out. */
static uint64_t
fs_memory(void)
{
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
  unsigned long long most; /* "max" is no limit */
  FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
  if (f && fscanf(f, "%llu", &most) == 1 && most < memory)
    memory = most;
  if (f)
    fclose(f);
  return memory;
}

static void
fs_context(struct fs_process *p)
{
  const struct fs_config *cfg = p->cfg;
  char uuid[GI_UUID_TEXT];
  gethostname(p->host, sizeof(p->host) - 1);
  struct gi_gfid id = gi_gfid_new(p->reactor);
  p->ctx = (struct gi_ctx){
      .reactor = p->reactor,
      .memory = fs_memory(),
      .process_name = cfg->process_name,
      .process_uuid = id,
      .volfile_server = cfg->servers.item[0],
      .volfile_server_port = cfg->server_port,
      .volfile_id = cfg->volfile_id,
      .brick_port = cfg->brick_port,
      .side = cfg->brick_name   ? GI_SIDE_BRICK
              : cfg->mountpoint ? GI_SIDE_CLIENT
                                : 0,
      .brick_name = cfg->brick_name,
      .on_listen = fs_on_listen,
      .on_ready = fs_on_ready,
      .on_unmount = fs_on_unmount,
      .app = p,
      .secure_access = cfg->plain_mgmt ? NULL : gi_secure_access_path(),
      .secure_mgmt = cfg->secure_mgmt,
      .client_key = cfg->client_key,
  };
  snprintf(p->ctx.process_id, sizeof(p->ctx.process_id), "CTX_ID:%s-GRAPH_ID:0-PID:%d-HOST:%.128s", gi_gfid_text(&id, uuid),
           (int)getpid(), p->host);
}

static void
fs_say_unwritten(const struct fs_process *p)
{
  gi_log(GI_LOG_WARNING, FS_DOMAIN, GI_MSG_CLI + 23,
         "still waiting for the bricks to take %llu writes that were answered; a signal gives them up",
         (unsigned long long)p->ctx.unwritten);
}

/* Turns the reactor until nothing is under way. Data that was answered is waited for as unmounting a local file system does, unless a
 * signal gives it up; anything else at most FS_DRAIN_NS. */
static bool
fs_drain(struct fs_process *p)
{
  struct gi_graph *g = p->ctx.graph;
  uint64_t until = gi_now(p->reactor) + FS_DRAIN_NS, say = until;
  gi_reactor_turn(p->reactor, 0);
  while (g && (g->fops_live || p->ctx.unwritten) && gi_now(p->reactor) < until && !p->given_up) {
    gi_reactor_turn(p->reactor, 10 * GI_NSEC_PER_MSEC);
    if (!p->ctx.unwritten)
      continue;
    until = gi_now(p->reactor) + FS_DRAIN_NS;
    if (gi_now(p->reactor) >= say) {
      fs_say_unwritten(p);
      say = until;
    }
  }
  return !g || (g->fops_live == 0 && !p->ctx.unwritten);
}

static void
fs_go_down(struct fs_process *p)
{
  p->draining = true;
  gi_mgmt_free(&p->mgmt);
  fs_operations_stop(p);
  gi_observe_free(&p->ctx.observe);
  if (p->ctx.graph)
    gi_graph_deactivate(p->ctx.graph);
  bool drained = fs_drain(p);
  if (p->ops)
    gi_rpc_server_free(&p->ops);
  gi_timer_finish(&p->finish_start);
  if (p->cfg->pid_file && p->pid_fd >= 0)
    unlink(p->cfg->pid_file);
  if (!drained) {
    if (p->ctx.unwritten)
      gi_log(GI_LOG_ERROR, FS_DOMAIN, GI_MSG_CLI + 24,
             "given up: %llu writes that were answered, to files named above, may be lost",
             (unsigned long long)p->ctx.unwritten);
    gi_log(GI_LOG_ERROR, FS_DOMAIN, GI_MSG_CLI + 18, "%llu operations did not end in time; leaving them",
           (unsigned long long)p->ctx.graph->fops_live);
    fs_daemon_ready(p->status);
    _exit(p->status);
  }
  gi_graph_free(&p->ctx.graph);
  gi_tls_unref(&p->ctx.mgmt_tls);
  for (unsigned i = 0; i < GI_ARRAY_LEN(p->signal); i++)
    if (p->signal[i])
      gi_signal_unwatch(&p->signal[i]);
  gi_reactor_turn(p->reactor, 0);
  gi_reactor_free(p->reactor);
  gi_log(GI_LOG_INFO, FS_DOMAIN, GI_MSG_CLI + 19, "down");
}

int
fs_run(const struct fs_config *cfg)
{
  struct fs_process *p = gi_new(struct fs_process);
  struct gi_error err = {0};
  char key[GI_CLIENT_KEY_TEXT];
  p->cfg = cfg;
  p->pid_fd = -1;
  if (cfg->pid_file && (p->pid_fd = fs_pid_file(cfg->pid_file)) < 0) {
    gi_free(p);
    return 1;
  }
  fs_be_nice(p);
  p->reactor = gi_reactor_new(FS_WORKERS);
  fs_context(p);
  fs_watch_signals(p);
  gi_timer_init(&p->finish_start, p->reactor, fs_finish_start, p);
  if (fs_observe_start(p, &err) < 0)
    fs_fail(p, "--observe=%s: %s", cfg->observe, err.text);
  else if (cfg->socket_file && fs_brick_ops_start(p, &err) < 0)
    fs_fail(p, "socket %s: %s", cfg->socket_file, err.text);
  else if (gi_mgmt_credentials(&p->ctx, &err) < 0 ||
           (cfg->client_key && gi_client_key_read(cfg->client_key, true, key, &err) < 0))
    fs_fail(p, "%s", err.text);
  else
    fs_load(p);
  if (p->status == 0)
    gi_reactor_run(p->reactor);
  fs_go_down(p);
  int status = p->status;
  if (p->pid_fd >= 0)
    close(p->pid_fd);
  gi_free(p);
  return status;
}
