/* SPDX-License-Identifier: Apache-2.0
 *
 * glusterishd: command line, configuration file, going to the background,
 * signals. A setting comes from the command line, else from --xlator-option,
 * else from the configuration file (volfile.md 14), else it has a default; one
 * table lists them all.
 */
#include "programs/glusterishd/glusterishd.h"
#include "libglusterish/priority.h"
#include "programs/glusterishd/pool/site.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 200)
#define HANGS_NS (2 * GI_NSEC_PER_SEC) /* a worker that takes longer at the end hangs */

enum setting {
  S_WORKDIR,
  S_RUNDIR,
  S_LOGDIR,
  S_SOCKET,
  S_BIND,
  S_PORT,
  S_BASE_PORT,
  S_MAX_PORT,
  S_PIDFILE,
  S_LOGFILE,
  S_LEVEL,
  S_LOG_FORMAT,
  S_OBSERVE,
  S_INVITATIONS,
  S_BRICK_ROOT,
  S_STORE,
  S_STORE_CA,
  S_STORE_CERT,
  S_STORE_KEY,
  S_COUNT
};

/* argp keys of options without a letter */
enum {
  K_FIRST = 256,
  K_CONFIG = K_FIRST + S_COUNT,
  K_XLATOR_OPTION,
  K_DEBUG,
};

/* The option of the configuration file's volume; NULL = only on the command line. */
static const char *const file_names[S_COUNT] = {
    [S_WORKDIR] = "working-directory",
    [S_RUNDIR] = "run-directory",
    [S_LOGDIR] = "logging-directory",
    [S_LOG_FORMAT] = "log-format",
    [S_SOCKET] = "glusterd-sockfile",
    [S_BIND] = "transport.socket.bind-address",
    [S_PORT] = "transport.socket.listen-port",
    [S_BASE_PORT] = "base-port",
    [S_MAX_PORT] = "max-port",
    [S_OBSERVE] = "observe",
    [S_INVITATIONS] = "invitations",
    [S_BRICK_ROOT] = "brick-root",
    [S_STORE] = "store",
    [S_STORE_CA] = "store-ca",
    [S_STORE_CERT] = "store-cert",
    [S_STORE_KEY] = "store-key",
};

static const struct argp_option options[] = {
    {"no-daemon", 'N', NULL, 0, "Stay in the foreground", 1},
    {"debug", K_DEBUG, NULL, 0, "Stay in the foreground and log everything to standard error", 1},
    {"working-directory", K_FIRST + S_WORKDIR, "DIR", 0, "Where volumes are defined (" GI_STATE_DIR ")", 2},
    {"run-directory", K_FIRST + S_RUNDIR, "DIR", 0, "Pid files and sockets (" GI_RUN_DIR ", or WORKING-DIRECTORY/run)", 2},
    {"log-directory", K_FIRST + S_LOGDIR, "DIR", 0,
     "Logs of the daemon and of bricks (" GI_LOG_DIR ", or WORKING-DIRECTORY/log)", 2},
    {"socket-file", K_FIRST + S_SOCKET, "PATH", 0, "Where the command line tool connects", 2},
    {"pid-file", 'p', "PATH", 0, "Where the process id is written", 2},
    {"log-file", 'l', "PATH", 0, "Log here; - is standard error", 2},
    {"log-level", 'L', "LEVEL", 0, "CRITICAL, ERROR, WARNING, INFO (default), DEBUG, TRACE or NONE", 2},
    {"log-format", K_FIRST + S_LOG_FORMAT, "FORMAT", 0, "text or json: of this log and of those of bricks", 2},
    {"bind", K_FIRST + S_BIND, "ADDRESS", 0, "Listen only there; bricks then have to be on this address too", 3},
    {"port", K_FIRST + S_PORT, "N", 0, "TCP port (24007)", 3},
    {"base-port", K_FIRST + S_BASE_PORT, "N", 0, "First port for bricks (49152)", 3},
    {"max-port", K_FIRST + S_MAX_PORT, "N", 0, "Last port for bricks (60999)", 3},
    {"observe", K_FIRST + S_OBSERVE, "[ADDRESS:]PORT[/all]", 0,
     "Show the daemon over HTTP there too; without ADDRESS on the loopback address", 3},
    {"invitations", K_FIRST + S_INVITATIONS, "on|off", 0,
     "May whoever reaches this node take it into a pool while it is in none? (off) With a token it joins in any case", 3},
    {"brick-root", K_FIRST + S_BRICK_ROOT, "DIR[:DIR...]", 0,
     "Where bricks are put whose place nobody names (WORKING-DIRECTORY/bricks)", 3},
    {"store", K_FIRST + S_STORE, "etcd://HOST[:PORT][,HOST[:PORT]...][/PREFIX]", 0,
     "Definitions of a pool go into this etcd of the site, instead of one that the pool runs", 3},
    {"store-ca", K_FIRST + S_STORE_CA, "FILE", 0, "Speak TLS with it, and trust who is signed by these", 3},
    {"store-cert", K_FIRST + S_STORE_CERT, "FILE", 0, "Speak TLS with it, and show this certificate", 3},
    {"store-key", K_FIRST + S_STORE_KEY, "FILE", 0, "The key of the certificate, if it is not in the same file", 3},
    {"volfile", 'f', "FILE", 0, "Configuration file (" GI_SYSCONF_DIR "/glusterishd.vol, if it exists)", 4},
    {"xlator-option", K_XLATOR_OPTION, "management.OPTION=VALUE", 0, "Override an option of the configuration file", 4},
    {0},
};

struct args {
  const char *value[S_COUNT];  /* from the command line */
  char *from_options[S_COUNT]; /* from --xlator-option; owned */
  char *from_file[S_COUNT];    /* owned */
  const char *config_file;
  bool foreground, debug;
};

static int
setting_by_name(const char *name, size_t len)
{
  for (int i = 0; i < S_COUNT; i++)
    if (file_names[i] && strlen(file_names[i]) == len && strncmp(file_names[i], name, len) == 0)
      return i;
  return -1;
}

/* PATTERN.OPTION=VALUE, where the pattern ends at the first dot. Unknown options are accepted, like in a volfile. */
static void
take_xlator_option(struct args *a, struct argp_state *state, const char *text)
{
  const char *dot = strchr(text, '.'), *eq = dot ? strchr(dot, '=') : NULL;
  if (!eq) {
    argp_error(state, "--xlator-option wants management.OPTION=VALUE, not %s", text);
    return;
  }
  int i = setting_by_name(dot + 1, (size_t)(eq - dot - 1));
  if (i >= 0) {
    gi_free(a->from_options[i]);
    a->from_options[i] = gi_strdup(eq + 1);
  }
}

static error_t
parse_opt(int key, char *arg, struct argp_state *state)
{
  struct args *a = state->input;
  if (key >= K_FIRST && key < K_FIRST + S_COUNT) {
    a->value[key - K_FIRST] = arg;
    return 0;
  }
  switch (key) {
  case 'N':
    a->foreground = true;
    return 0;
  case K_DEBUG:
    a->foreground = a->debug = true;
    return 0;
  case 'p':
    a->value[S_PIDFILE] = arg;
    return 0;
  case 'l':
    a->value[S_LOGFILE] = arg;
    return 0;
  case 'L':
    a->value[S_LEVEL] = arg;
    return 0;
  case 'f':
    a->config_file = arg;
    return 0;
  case K_XLATOR_OPTION:
    take_xlator_option(a, state, arg);
    return 0;
  case ARGP_KEY_ARG:
    argp_error(state, "unexpected argument %s", arg);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static int
read_config_file(struct args *a, struct gi_error *err)
{
  const char *path = a->config_file ? a->config_file : GI_SYSCONF_DIR "/glusterishd.vol";
  if (!a->config_file && access(path, F_OK))
    return 0;
  struct gi_volfile *vf = gi_volfile_load(path, err);
  const struct gi_vol_node *n = vf ? gi_volfile_top(vf) : NULL;
  if (!vf)
    return -1;
  for (int i = 0; n && i < S_COUNT; i++)
    if (file_names[i])
      a->from_file[i] = gi_strdup(gi_vol_node_get(n, file_names[i]));
  gi_volfile_free(&vf);
  return 0;
}

static const char *
setting(const struct args *a, enum setting s)
{
  return a->value[s] ? a->value[s] : a->from_options[s] ? a->from_options[s] : a->from_file[s];
}

static int
number(const struct args *a, enum setting s, int min, int max, int def, int *out, struct gi_error *err)
{
  const char *text = setting(a, s);
  int64_t n = def;
  if (text && (!gi_parse_int(text, &n) || n < min || n > max))
    return gi_error_set(err, EINVAL, "%s %s: it must be a number from %d to %d", file_names[s], text, min, max);
  *out = (int)n;
  return 0;
}

/* Going to the background changes the current directory. */
static char *
absolute(const char *path)
{
  if (*path == '/')
    return gi_strdup(path);
  GI_CLEANUP_FREE char *cwd = getcwd(NULL, 0);
  return gi_asprintf("%s/%s", cwd ? cwd : "", path);
}

/* A path setting, or `below`/`name`. */
static char *
path_setting(const struct args *a, enum setting s, const char *below, const char *name)
{
  const char *text = setting(a, s);
  return text ? absolute(text) : gi_asprintf("%s/%s", below, name);
}

static bool
is_list_of_absolute(const char *list)
{
  for (const char *p = list; p; p = strchr(p, ':'), p += p != NULL)
    if (*p != '/')
      return false;
  return true;
}

static int
make_site(const struct args *a, struct gd_config *c, struct gi_error *err)
{
  char *file[3] = {0};
  const char *store = setting(a, S_STORE);
  for (unsigned i = 0; i < GI_ARRAY_LEN(file); i++)
    if (setting(a, S_STORE_CA + i))
      file[i] = absolute(setting(a, S_STORE_CA + i));
  if (store)
    c->site = gd_site_new(store, file[0], file[1], file[2], err);
  else if (file[0] || file[1] || file[2])
    gi_error_set(err, EINVAL, "store-ca, store-cert and store-key say how to speak with a store, and none is named");
  for (unsigned i = 0; i < GI_ARRAY_LEN(file); i++)
    gi_free(file[i]);
  return err->code ? -1 : 0;
}

static int
make_config(const struct args *a, struct gd_config *c, struct gi_error *err)
{
  bool own_place = setting(a, S_WORKDIR) != NULL;
  c->workdir = own_place ? absolute(setting(a, S_WORKDIR)) : gi_strdup(GI_STATE_DIR);
  c->rundir = own_place || setting(a, S_RUNDIR) ? path_setting(a, S_RUNDIR, c->workdir, "run") : gi_strdup(GI_RUN_DIR);
  c->logdir = own_place || setting(a, S_LOGDIR) ? path_setting(a, S_LOGDIR, c->workdir, "log") : gi_strdup(GI_LOG_DIR);
  c->sockfile = path_setting(a, S_SOCKET, own_place ? c->workdir : c->rundir, "glusterishd.socket");
  c->pidfile = path_setting(a, S_PIDFILE, c->rundir, "glusterishd.pid");
  const char *log = a->debug ? "-" : setting(a, S_LOGFILE);
  c->logfile = log && strcmp(log, "-") == 0 ? gi_strdup("-") : path_setting(a, S_LOGFILE, c->logdir, "glusterishd.log");
  c->bind = gi_strdup(setting(a, S_BIND));
  c->observe = gi_strdup(setting(a, S_OBSERVE));
  c->foreground = a->foreground;
  c->level = a->debug ? GI_LOG_DEBUG : GI_LOG_INFO;
  if (setting(a, S_LEVEL) && !gi_log_level_parse(setting(a, S_LEVEL), &c->level))
    return gi_error_set(err, EINVAL, "unknown log level %s", setting(a, S_LEVEL));
  const char *invitations = setting(a, S_INVITATIONS);
  bool invited = false;
  if (invitations && !gi_parse_bool(invitations, &invited))
    return gi_error_set(err, EINVAL, "invitations %s: it is on or off", invitations);
  c->uninvited = !invited;
  c->brick_root = gi_strdup(setting(a, S_BRICK_ROOT));
  if (c->brick_root && !is_list_of_absolute(c->brick_root))
    return gi_error_set(err, EINVAL, "brick-root %s: it is a list of absolute paths with ':' between them", c->brick_root);
  if (make_site(a, c, err))
    return -1;
  const char *format = setting(a, S_LOG_FORMAT);
  c->log_json = format && strcmp(format, "json") == 0;
  if (format && !c->log_json && strcmp(format, "text") != 0)
    return gi_error_set(err, EINVAL, "unknown log format %s", format);
  if (number(a, S_PORT, 0, 65535, 24007, &c->port, err) || number(a, S_BASE_PORT, 1, 65535, 49152, &c->base_port, err) ||
      number(a, S_MAX_PORT, 1, 65535, 60999, &c->max_port, err))
    return -1;
  if (c->max_port < c->base_port)
    return gi_error_set(err, EINVAL, "base-port %d is above max-port %d", c->base_port, c->max_port);
  if (strlen(c->sockfile) > 107)
    return gi_error_set(err, ENAMETOOLONG, "the path of a unix socket is limited to 107 bytes: %s", c->sockfile);
  return 0;
}

static void
free_config(struct gd_config *c)
{
  char **strings[] = {&c->workdir, &c->rundir, &c->logdir,  &c->sockfile,  &c->pidfile,
                      &c->logfile, &c->bind,   &c->observe, &c->brick_root};
  for (size_t i = 0; i < GI_ARRAY_LEN(strings); i++)
    gi_free(*strings[i]);
  struct gd_site *site = (struct gd_site *)(uintptr_t)c->site;
  gd_site_free(&site);
}

static void
free_args(struct args *a)
{
  for (int i = 0; i < S_COUNT; i++) {
    gi_free(a->from_options[i]);
    gi_free(a->from_file[i]);
  }
}

/* ---- the process ---- */

/* The lock that keeps a second daemon off the same state; held until the process ends. */
static int
lock_workdir(const struct gd_config *c, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/.lock", c->workdir);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return gi_error_set(err, errno, "cannot open %s: %s", path, strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB)) {
    close(fd);
    return gi_error_set(err, EBUSY, "another daemon uses %s", c->workdir);
  }
  return fd;
}

static int
write_pidfile(const struct gd_config *c, struct gi_error *err)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("%d\n", (int)getpid());
  return gd_write_file(c->pidfile, text, strlen(text), false, err);
}

/* In the child returns the descriptor to report to; the parent waits for the report and exits with it. */
static int
background(void)
{
  int p[2];
  unsigned char status = 1;
  if (pipe2(p, O_CLOEXEC))
    return -1;
  pid_t pid = fork();
  if (pid < 0)
    return -1;
  if (pid > 0) {
    close(p[1]);
    if (read(p[0], &status, 1) != 1)
      status = 1;
    _exit(status);
  }
  close(p[0]);
  setsid();
  return chdir("/") ? -1 : p[1];
}

static void
report(int fd, unsigned char status)
{
  if (fd < 0)
    return;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3 && null >= 0; i++)
    dup2(null, i);
  if (null >= 0)
    close(null);
  if (write(fd, &status, 1) != 1)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "nobody waits for the start to finish");
  close(fd);
}

static void
on_end(void *arg, int signo)
{
  struct gd *gd = arg;
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "ending on signal %d; bricks go on", signo);
  gi_reactor_stop(gd->reactor);
}

static void
on_hup(void *arg, int signo)
{
  gi_log_reopen();
}

/* What workers do after the end concerns nobody. True: one hangs, on the disk of a brick as a rule, and may do so for ever. */
static bool
worker_hangs(struct gi_reactor *r)
{
  uint64_t until = gi_now(r) + HANGS_NS;
  while (gi_reactor_busy(r) && gi_now(r) < until)
    gi_reactor_turn(r, 10 * GI_NSEC_PER_MSEC);
  if (gi_reactor_busy(r))
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 3, "ending though a worker hangs, perhaps on the disk of a brick");
  return gi_reactor_busy(r);
}

/* `hangs`: there is a thread that nobody can wait for. */
static int
run(const struct gd_config *c, int report_fd, bool *hangs, struct gi_error *err)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gd *gd = gd_new(r, c);
  GI_CLEANUP_FREE char *access_file = gd_secure_access(gd);
  setenv("GLUSTERISH_SECURE_ACCESS", access_file, 1); /* for the bricks and daemons that it starts */
  int ret = gd_start(gd, err);
  if (!ret)
    ret = gd_observe_start(gd, err);
  if (!ret)
    ret = write_pidfile(c, err);
  if (!ret) {
    struct gi_signal *term = gi_signal_watch(r, SIGTERM, on_end, gd), *intr = gi_signal_watch(r, SIGINT, on_end, gd),
                     *hup = gi_signal_watch(r, SIGHUP, on_hup, gd);
    report(report_fd, 0);
    gd_notify("READY=1");
    gi_reactor_run(r);
    gd_notify("STOPPING=1");
    gi_signal_unwatch(&term);
    gi_signal_unwatch(&intr);
    gi_signal_unwatch(&hup);
    unlink(c->pidfile);
  }
  gd_free(&gd);
  *hangs = worker_hangs(r);
  if (!*hangs)
    gi_reactor_free(r);
  return ret;
}

static int
prepare(const struct gd_config *c, int *lock_fd, struct gi_error *err)
{
  if (gd_mkdir_all(c->workdir, 0755, err) || gd_mkdir_all(c->rundir, 0755, err) || gd_mkdir_all(c->logdir, 0755, err))
    return -1;
  *lock_fd = lock_workdir(c, err);
  if (*lock_fd < 0)
    return -1;
  int ret = gi_log_open(c->logfile, c->level, c->log_json);
  return ret ? gi_error_set(err, ret, "cannot open log %s: %s", c->logfile, strerror(ret)) : 0;
}

int
main(int argc, char **argv)
{
  static const struct argp argp = {.options = options, .parser = parse_opt, .doc = "The glusterish management daemon."};
  struct args args = {0};
  struct gd_config config = {0};
  struct gi_error err = {0};
  int lock_fd = -1, report_fd = -1;
  bool hangs = false;
  argp_program_version = "glusterishd " GI_VERSION;
  argp_parse(&argp, argc, argv, 0, NULL, &args);
  signal(SIGPIPE, SIG_IGN);
  umask(022);
  gi_be_patient(true); /* and so is what it starts, until it listens */
  int ret = read_config_file(&args, &err) || make_config(&args, &config, &err) || prepare(&config, &lock_fd, &err);
  if (!ret && !config.foreground && (report_fd = background()) < 0)
    ret = gi_error_set(&err, errno, "cannot go to the background: %s", strerror(errno));
  if (!ret)
    ret = run(&config, report_fd, &hangs, &err);
  if (ret) {
    fprintf(stderr, "glusterishd: %s\n", err.text);
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 2, "%s", err.text);
  }
  if (hangs)
    _exit(ret ? EXIT_FAILURE : EXIT_SUCCESS);
  free_config(&config);
  free_args(&args);
  return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
