/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's process on this node: the packaged etcd with a directory, ports
 * and a socket of its own, beside whatever etcd the system runs. It is kept
 * running like a self-heal daemon, outlives this daemon, and is found again by
 * its pid file. Nothing that serves data waits for it.
 *
 * Its clients come over a unix socket in a directory that only root (and the
 * user it runs as) may enter. Other members come over TCP, to the address by
 * which the pool knows this node, and show a certificate of the pool
 * (store-cert.c). A store that began without goes over when all of its members
 * can (store-trust.c).
 */
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER "etcd" /* whom the package makes; without it the process runs as this one does */
#define PLAIN "http://"
#define SECURE "https://"
#define SOCKET "store:1" /* the name of a unix socket must look like an address */
#define PAUSE_MIN (1 * GI_NSEC_PER_SEC)
#define PAUSE_MAX (5 * GI_NSEC_PER_SEC) /* a disk that has room again is not waited for longer */
#define STOP_NS (10 * GI_NSEC_PER_SEC)  /* it ends in order, or not */
#define LONG_LIFE (30 * GI_NSEC_PER_SEC)
#define MSG (GI_MSG_MGMT + 260)

struct gd_etcd {
  struct gd_pool *pool;
  struct gd_watch watch;
  struct gi_timer timer; /* the pause before the next start; until it is ended the hard way */
  uint64_t started, pause;
  bool renewed; /* it ends to begin again, with what it goes by now */
  char *dir, *socket, *pidfile;
};

const char *
gd_etcd_socket(const struct gd *gd)
{
  return gd->pool && gd->pool->etcd ? gd->pool->etcd->socket : NULL;
}

char *
gd_etcd_url(const json_t *members, const char *host, int port)
{
  const char *its = json_string_value(json_array_get(json_object_get(json_array_get(members, 0), "peerURLs"), 0));
  bool plain = its && strncmp(its, PLAIN, strlen(PLAIN)) == 0, v6 = strchr(host, ':') != NULL;
  return gi_asprintf("%s%s%s%s:%d", plain ? PLAIN : SECURE, v6 ? "[" : "", host, v6 ? "]" : "", port + GD_STORE_PORT_OFFSET);
}

/* Where this one listens, as the list it began with says; NULL: it is not in it. Caller frees. */
static char *
own_url(const struct gd_pool *p)
{
  char uuid[GI_UUID_TEXT];
  size_t len = strlen(gi_gfid_text(&p->gd->uuid, uuid));
  for (const char *m = p->initial; m; m = strchr(m, ',') ? strchr(m, ',') + 1 : NULL)
    if (strncmp(m, uuid, len) == 0 && m[len] == '=')
      return gi_strndup(m + len + 1, strcspn(m + len + 1, ","));
  return NULL;
}

bool
gd_etcd_is_plain(const struct gd_pool *p)
{
  GI_CLEANUP_FREE char *url = own_url(p);
  return url && strncmp(url, PLAIN, strlen(PLAIN)) == 0;
}

bool
gd_etcd_can_encrypt(const struct gd_etcd *e)
{
  GI_CLEANUP_FREE char *trust = e->watch.fd >= 0 ? gd_process_option(e->watch.pid, "--peer-trusted-ca-file") : NULL;
  return trust != NULL;
}

bool
gd_etcd_lost_data(const struct gd_pool *p)
{
  GI_CLEANUP_FREE char *data = gi_asprintf("%s/store/data/member", p->gd->config.workdir);
  return p->joined && p->initial && access(data, F_OK) != 0;
}

static void start(struct gd_etcd *e);

static void
gone(void *arg, unsigned events)
{
  struct gd_etcd *e = arg;
  struct gi_reactor *r = e->pool->gd->reactor;
  bool young = gi_now(r) - e->started < LONG_LIFE;
  waitid(P_PID, (id_t)e->watch.pid, &(siginfo_t){0}, WEXITED);
  gd_unwatch(&e->watch);
  unlink(e->pidfile);
  if (e->renewed) {
    gi_timer_cancel(&e->timer);
    start(e);
    return;
  }
  e->pause = !young || !e->pause ? PAUSE_MIN : e->pause * 2 < PAUSE_MAX ? e->pause * 2 : PAUSE_MAX;
  gi_log(GI_LOG_ERROR, GD_NAME, MSG, "the store's process on this node ended; it is started again in %llu s",
         (unsigned long long)(e->pause / GI_NSEC_PER_SEC));
  gi_timer_set(&e->timer, e->pause);
}

static bool
adopt(struct gd_etcd *e)
{
  char uuid[GI_UUID_TEXT];
  struct gd *gd = e->pool->gd;
  pid_t pid = gd_pidfile_running(e->pidfile, gi_gfid_text(&gd->uuid, uuid));
  if (!pid || !gd_watch(&e->watch, gd->reactor, pid, gone, e))
    return false;
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "the store's process runs (pid %d)", (int)pid);
  return true;
}

/* Whose parent is may have put something else there: what is no directory is left alone. */
static int
give(const char *path, const struct passwd *to)
{
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int ret = fd < 0 || fchmod(fd, 0700) || (to && fchown(fd, to->pw_uid, to->pw_gid)) ? -1 : 0;
  int code = errno;
  if (fd >= 0)
    close(fd);
  errno = code;
  return ret;
}

/* The directory belongs to whom the process runs as, and nobody else may look into it. */
static int
prepare(struct gd_etcd *e, const struct passwd *user, const char *url, struct gi_error *err)
{
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *data = gi_asprintf("%s/data", e->dir);
  GI_CLEANUP_FREE char *member = gi_asprintf("%s/member", data);
  gi_gfid_text(&e->pool->gd->uuid, uuid);
  if (gd_mkdir_all(data, 0700, err))
    return -1;
  if (give(e->dir, user) || give(data, access(member, F_OK) ? user : NULL))
    return gi_error_set(err, errno, "cannot prepare %s: %s", e->dir, strerror(errno));
  unlink(e->socket);
  if (strncmp(url, PLAIN, strlen(PLAIN)) == 0)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 4,
           "members of the store speak without encryption, as they did when it began: anybody who reaches port %d can change "
           "definitions, until all nodes run this version",
           e->pool->gd->config.port + GD_STORE_PORT_OFFSET);
  return gd_store_cert(e->pool->trusts, e->pool->ntrusts, gd_secret_shown(e->pool), uuid, e->pool->address, e->dir, user, err);
}

/* Where certificates are shown it listens on all addresses, as this daemon does, so it is there when the machine has got another one. */
static char *
listen_url(const struct gd_pool *p, const char *url)
{
  bool v6 = strchr(url, '[') != NULL;
  if (p->gd->config.bind || strncmp(url, PLAIN, strlen(PLAIN)) == 0)
    return gi_strdup(url);
  return gi_asprintf(SECURE "%s:%d", v6 ? "[::]" : "0.0.0.0", p->gd->config.port + GD_STORE_PORT_OFFSET);
}

/* It writes its pid file itself: were this daemon to die in between, nobody would find it again. */
static int
spawn(struct gd_etcd *e, const struct passwd *user, const char *url, pid_t *pid)
{
  const struct gd_pool *p = e->pool;
  const char *env = getenv("GLUSTERISH_ETCD");
  char uuid[GI_UUID_TEXT], pool[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *log = gi_asprintf("%s/store.log", p->gd->config.logdir);
  GI_CLEANUP_FREE char *uid = user ? gi_asprintf("--reuid=%u", user->pw_uid) : NULL;
  GI_CLEANUP_FREE char *gid = user ? gi_asprintf("--regid=%u", user->pw_gid) : NULL;
  GI_CLEANUP_FREE char *listen = listen_url(p, url);
  const char *argv[] = {
      "sh",
      "-c",
      "echo $$ >\"$0\" && exec \"$@\"",
      e->pidfile,
      "setpriv",
      uid,
      gid,
      "--clear-groups",
      env && *env ? env : "etcd",
      "--name",
      gi_gfid_text(&p->gd->uuid, uuid),
      "--data-dir",
      "data",
      "--listen-client-urls",
      "unix://" SOCKET,
      "--advertise-client-urls",
      "unix://" SOCKET,
      "--listen-peer-urls",
      listen,
      "--initial-advertise-peer-urls",
      url,
      "--initial-cluster",
      p->initial,
      "--initial-cluster-token",
      gi_gfid_text(&p->id, pool),
      "--initial-cluster-state",
      p->initial_new ? "new" : "existing",
      "--strict-reconfig-check=false", /* it would want 5 s of quiet before each change; ours add learners only */
      "--max-txn-ops",                 /* of the first one: all volumes and nodes that there are */
      "4096",
      "--max-request-bytes",
      "8388608",
      "--auto-compaction-retention",
      "1",
      "--heartbeat-interval",
      "200",
      "--election-timeout",
      "2000",
      "--logger",
      "zap",
      "--log-level",
      "warn",
      "--peer-client-cert-auth", /* where it listens without encryption it can speak with those who want it all the same */
      "--experimental-peer-skip-client-san-verification", /* a node may have more addresses than the one it is called by */
      "--peer-trusted-ca-file",
      GD_STORE_TRUST,
      "--peer-cert-file",
      GD_STORE_CERT,
      "--peer-key-file",
      GD_STORE_CERT,
      NULL};
  if (!user) /* without setpriv */
    memmove(argv + 4, argv + 8, sizeof(argv) - 8 * sizeof(argv[0]));
  return gd_spawn_in(argv[0], argv, e->dir, log, pid);
}

/* What it goes by is kept when it does: were this daemon to die before, it would be taken for more than it is. */
static void
keep(const struct gd_pool *p)
{
  struct gi_error err = {0};
  if (gd_pool_save(p->gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 5, "%s", err.text);
}

static void
start(struct gd_etcd *e)
{
  struct gd *gd = e->pool->gd;
  const struct passwd *user = geteuid() == 0 ? getpwnam(USER) : NULL;
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *url = own_url(e->pool);
  pid_t pid;
  if (adopt(e) || gd_etcd_lost_data(e->pool)) /* members.c sees to that */
    return;
  e->started = gi_now(gd->reactor);
  if (!url)
    gi_error_set(&err, EINVAL, "the list of its members lacks this node");
  int ret = !url || prepare(e, user, url, &err) ? err.code : spawn(e, user, url, &pid);
  if (!ret && !gd_watch(&e->watch, gd->reactor, pid, gone, e))
    ret = errno;
  if (!ret && e->renewed)
    keep(e->pool);
  e->renewed = e->renewed && ret;
  if (ret) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 2, "the store's process does not start: %s", err.code ? err.text : strerror(ret));
    gi_timer_set(&e->timer, PAUSE_MAX);
  }
}

static void
expired(void *arg)
{
  struct gd_etcd *e = arg;
  if (e->watch.fd < 0) {
    start(e);
    return;
  }
  gi_log(GI_LOG_WARNING, GD_NAME, MSG + 7, "the store's process on this node does not end: it is killed");
  gd_watch_signal(&e->watch, SIGKILL);
}

static struct gd_etcd *
etcd_new(struct gd_pool *p)
{
  struct gd_etcd *e = gi_new(struct gd_etcd);
  e->pool = p;
  e->watch.fd = -1;
  e->dir = gi_asprintf("%s/store", p->gd->config.workdir);
  e->socket = gi_asprintf("%s/" SOCKET, e->dir);
  e->pidfile = gi_asprintf("%s/store.pid", p->gd->config.rundir);
  gi_timer_init(&e->timer, p->gd->reactor, expired, e);
  return e;
}

struct gd_etcd *
gd_etcd_start(struct gd_pool *p)
{
  GI_ASSERT(p->initial && p->address);
  struct gd_etcd *e = etcd_new(p);
  start(e);
  return e;
}

/* A certificate is read at each handshake, also while the process has not ended yet; whom it trusts when it starts. */
void
gd_etcd_renew(struct gd_etcd *e, bool restart)
{
  const struct gd_pool *p = e->pool;
  const struct passwd *user = geteuid() == 0 ? getpwnam(USER) : NULL;
  char uuid[GI_UUID_TEXT];
  struct gi_error err = {0};
  gi_gfid_text(&p->gd->uuid, uuid);
  if (gd_store_cert(p->trusts, p->ntrusts, gd_secret_shown(p), uuid, p->address, e->dir, user, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 6, "%s", err.text);
  if (!restart) {
    keep(p);
    return;
  }
  e->renewed = true;
  if (e->watch.fd >= 0)
    gd_watch_signal(&e->watch, SIGTERM);
  gi_timer_set(&e->timer, e->watch.fd >= 0 ? STOP_NS : 0);
}

void
gd_etcd_sweep(struct gd_pool *p)
{
  struct gd_etcd *e = etcd_new(p);
  adopt(e);
  gd_etcd_stop(&e);
}

void
gd_etcd_let_go(struct gd_etcd **ref)
{
  struct gd_etcd *e = *ref;
  *ref = NULL;
  if (!e)
    return;
  gi_timer_finish(&e->timer);
  gd_unwatch(&e->watch);
  gi_free(e->dir);
  gi_free(e->socket);
  gi_free(e->pidfile);
  gi_free(e);
}

void
gd_etcd_stop(struct gd_etcd **ref)
{
  struct gd_etcd *e = *ref;
  struct gi_error err = {0};
  if (!e)
    return;
  if (e->watch.fd >= 0) { /* what it holds is not needed any more: it need not end in order */
    struct pollfd fd = {.fd = e->watch.fd, .events = POLLIN};
    gd_watch_signal(&e->watch, SIGKILL);
    poll(&fd, 1, 2000);
    waitid(P_PID, (id_t)e->watch.pid, &(siginfo_t){0}, WEXITED | WNOHANG);
  }
  unlink(e->pidfile);
  if (gd_remove_tree(e->dir, &err))
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 3, "%s", err.text);
  gd_etcd_let_go(ref);
}
