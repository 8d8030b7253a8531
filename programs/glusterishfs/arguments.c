/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line, compatible with that of glusterfs and glusterfsd
 * (volfile.md 7.2). Options of the mount become options of the mount/fuse
 * translator under the same name.
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* keys of options without a letter */
enum {
  A_FUSE = 1000, /* .. A_FUSE_END: index into fuse_option */
  A_FUSE_END = 1099,
  A_VOLFILE_ID,
  A_SERVER_PORT,
  A_SERVER_TRANSPORT,
  A_VOLUME_NAME,
  A_SUBDIR,
  A_LOG_FORMAT,
  A_DEBUG,
  A_XLATOR_OPTION,
  A_SET_ROOT_XATTR,
  A_BRICK_NAME,
  A_BRICK_PORT,
  A_PROCESS_NAME,
  A_STATEDUMP_DIR,
  A_OBSERVE,
  A_FETCH_ATTEMPTS,
  A_META,
  A_WORM,
  A_AUX_GFID,
  A_NO_ROOT_SQUASH,
  A_SECURE_MGMT,
  A_CLIENT_KEY,
  A_IGNORED,
  A_PRINT_STATEDUMPDIR,
  A_PRINT_XLATORDIR,
  A_PRINT_LOGDIR,
};

#define SWITCH OPTION_ARG_OPTIONAL

/* Order gives the key: A_FUSE + index. `fixed` is the value when the option takes none or none is given. */
static const struct {
  const char *option, *name, *fixed;
} fuse_option[] = {
    {"attribute-timeout", "attribute-timeout", NULL},
    {"entry-timeout", "entry-timeout", NULL},
    {"negative-timeout", "negative-timeout", NULL},
    {"gid-timeout", "gid-timeout", NULL},
    {"direct-io-mode", "direct-io-mode", "on"},
    {"fopen-keep-cache", "fopen-keep-cache", "on"},
    {"auto-invalidation", "auto-invalidation", "on"},
    {"kernel-writeback-cache", "kernel-writeback-cache", "on"},
    {"use-readdirp", "use-readdirp", "on"},
    {"acl", "acl", "on"},
    {"selinux", "selinux", "on"},
    {"capability", "capability", "on"},
    {"read-only", "read-only", "on"},
    {"lru-limit", "lru-limit", NULL},
    {"background-qlen", "background-qlen", NULL},
    {"congestion-threshold", "congestion-threshold", NULL},
    {"fuse-mountopts", "fuse-mountopts", NULL},
    {"enable-ino32", "enable-ino32", "on"},
    {"attr-times-granularity", "attr-times-granularity", NULL},
};

#define MOUNT(i, o, a, f, text) \
  { \
    o, A_FUSE + i, a, f, text, 3 \
  }
#define REFUSE(o, key, a, f) \
  { \
    o, key, a, f, "refused: what it asks for is not in this version", 4 \
  }
#define IGNORE(o, a, f) \
  { \
    o, A_IGNORED, a, f, "accepted for compatibility", 5 \
  }

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Volume:", 1},
    {"volfile-server", 's', "HOST", 0, "management daemon to fetch the volfile from; repeat for further ones", 1},
    {"volfile-server-port", A_SERVER_PORT, "N", 0, "port of the management daemon (24007)", 1},
    {"volfile-server-transport", A_SERVER_TRANSPORT, "T", 0, "tcp, or unix (then HOST is a socket path)", 1},
    {"volfile-max-fetch-attempts", A_FETCH_ATTEMPTS, "N", 0, "how often all hosts are tried before it is given up (1)", 1},
    {"fetch-attempts", A_FETCH_ATTEMPTS, NULL, OPTION_ALIAS, NULL, 1},
    {"secure-mgmt", A_SECURE_MGMT, "BOOL", SWITCH, "TLS to the management daemon (on if the file secure-access exists)", 1},
    {"client-key", A_CLIENT_KEY, "FILE", 0, "key to show where a volume takes only clients that have one", 1},
    {"volfile-id", A_VOLFILE_ID, "KEY", 0, "which volfile", 1},
    {"volfile", 'f', "FILE", 0, "read the volfile from FILE instead", 1},
    {"volume-name", A_VOLUME_NAME, "X", 0, "volume of the volfile to mount instead of its top", 1},
    {"subdir-mount", A_SUBDIR, "/DIR", 0, "mount only this directory of the volume", 1},
    {"xlator-option", A_XLATOR_OPTION, "PATTERN.KEY=VALUE", 0, "set an option of the matching volumes", 1},
    {"set-root-xattr", A_SET_ROOT_XATTR, "NAME=VALUE", 0,
     "instead of mounting set an attribute of the root as the management daemon does, and end", 1},
    {NULL, 0, NULL, 0, "Process:", 2},
    {"no-daemon", 'N', NULL, 0, "stay in the foreground", 2},
    {"debug", A_DEBUG, NULL, 0, "foreground, level DEBUG, log to standard error", 2},
    {"log-file", 'l', "FILE", 0, "log to FILE; - is standard error", 2},
    {"log-level", 'L', "LEVEL", 0, "NONE CRITICAL ERROR WARNING INFO DEBUG TRACE", 2},
    {"log-format", A_LOG_FORMAT, "FORMAT", 0, "text or json", 2},
    {"pid-file", 'p', "FILE", 0, "write the process id to FILE", 2},
    {"socket-file", 'S', "SOCKET", 0, "unix socket for the management daemon's brick operations", 2},
    {"brick-name", A_BRICK_NAME, "PATH", 0, "brick to sign in at the portmapper", 2},
    {"brick-port", A_BRICK_PORT, "N", 0, "port to listen on", 2},
    {"process-name", A_PROCESS_NAME, "NAME", 0, "name shown to bricks and in dumps", 2},
    {"statedump-dir", A_STATEDUMP_DIR, "DIR", 0, "directory for state dumps", 2},
    {"observe", A_OBSERVE, "[ADDRESS:]PORT[/all]", 0,
     "show the process over HTTP there too; without ADDRESS on the loopback address", 2},
    {"print-logdir", A_PRINT_LOGDIR, NULL, 0, "print the log directory", 2},
    {"print-statedumpdir", A_PRINT_STATEDUMPDIR, NULL, 0, "print the directory for state dumps", 2},
    {"print-xlatordir", A_PRINT_XLATORDIR, NULL, 0, "print the directory of the translators", 2},
    {NULL, 0, NULL, 0, "Mount (with MOUNTPOINT):", 3},
    MOUNT(0, "attribute-timeout", "SECONDS", 0, "how long the kernel may keep attributes"),
    MOUNT(1, "entry-timeout", "SECONDS", 0, "how long the kernel may keep names"),
    MOUNT(2, "negative-timeout", "SECONDS", 0, "how long the kernel may keep that a name is missing"),
    MOUNT(3, "gid-timeout", "SECONDS", 0, "how long groups of a process are kept"),
    MOUNT(4, "direct-io-mode", "BOOL|auto", SWITCH, "bypass the kernel's page cache"),
    MOUNT(5, "fopen-keep-cache", "BOOL", SWITCH, "keep the page cache of a file at open"),
    MOUNT(6, "auto-invalidation", "BOOL", SWITCH, "let the kernel drop pages when the attributes change"),
    MOUNT(7, "kernel-writeback-cache", "BOOL", SWITCH, "let the kernel gather writes"),
    MOUNT(8, "use-readdirp", "BOOL", SWITCH, "read attributes together with names"),
    MOUNT(9, "acl", NULL, 0, "POSIX access control lists"),
    MOUNT(10, "selinux", NULL, 0, "SELinux labels"),
    MOUNT(11, "capability", NULL, 0, "file capabilities"),
    MOUNT(12, "read-only", NULL, 0, "mount read-only"),
    MOUNT(13, "lru-limit", "N", 0, "most inodes kept that the kernel does not reference"),
    MOUNT(14, "background-qlen", "N", 0, "most background requests of the kernel"),
    MOUNT(15, "congestion-threshold", "N", 0, "background requests at which the kernel holds back"),
    MOUNT(16, "fuse-mountopts", "LIST", 0, "further mount options"),
    MOUNT(17, "enable-ino32", "BOOL", SWITCH, "inode numbers of 32 bits, for old programs"),
    MOUNT(18, "attr-times-granularity", "NS", 0, "what times of files are kept to"),
    {"meta", A_META, "BOOL", SWITCH, "show this process in .meta and .glusterish of the mount, to root (on)", 3},
    {NULL, 0, NULL, 0, "Refused:", 4},
    REFUSE("worm", A_WORM, NULL, 0),
    REFUSE("aux-gfid-mount", A_AUX_GFID, NULL, 0),
    REFUSE("no-root-squash", A_NO_ROOT_SQUASH, "BOOL", SWITCH),
    {NULL, 0, NULL, 0, "Read past:", 5},
    IGNORE("logger", "X", 0),
    IGNORE("log-buf-size", "N", 0),
    IGNORE("log-flush-timeout", "N", 0),
    IGNORE("localtime-logging", NULL, 0),
    IGNORE("client-pid", "N", 0),
    IGNORE("volfile-check", NULL, 0),
    IGNORE("mem-accounting", NULL, 0),
    IGNORE("no-mem-accounting", NULL, 0),
    IGNORE("global-threading", NULL, 0),
    IGNORE("global-timer-wheel", NULL, 0),
    IGNORE("brick-mux", NULL, 0),
    IGNORE("oom-score-adj", "N", 0),
    IGNORE("io-engine", "E", 0),
    IGNORE("thin-client", NULL, 0),
    IGNORE("mac-compat", "BOOL", SWITCH),
    IGNORE("resolve-gids", NULL, 0),
    IGNORE("invalidate-limit", "N", 0),
    IGNORE("reader-thread-count", "N", 0),
    IGNORE("dump-fuse", "FILE", 0),
    IGNORE("event-history", "BOOL", SWITCH),
    IGNORE("fuse-flush-handle-interrupt", "BOOL", SWITCH),
    IGNORE("fuse-dev-eperm-ratelimit-ns", "NS", 0),
    {0},
};

static int
number(struct argp_state *state, const char *arg, long max)
{
  char *end;
  errno = 0;
  long n = strtol(arg, &end, 10); /* "N,N2" of --brick-port: the first counts */
  if (errno || end == arg || (*end && *end != ',') || n < 0 || n > max)
    argp_error(state, "%s is not a number between 0 and %ld", arg, max);
  return (int)n;
}

static void
append(struct argp_state *state, struct fs_list *list, const char *arg)
{
  if (list->count == FS_LIST_MAX)
    argp_error(state, "more than %d options of one kind", FS_LIST_MAX);
  list->item[list->count++] = arg;
}

static void
fuse_setting(struct argp_state *state, struct fs_config *cfg, unsigned i, const char *arg)
{
  const char *value = arg ? arg : fuse_option[i].fixed;
  for (unsigned k = 0; k < cfg->nfuse; k++)
    if (cfg->fuse[k].name == fuse_option[i].name) {
      cfg->fuse[k].value = value;
      return;
    }
  cfg->fuse[cfg->nfuse++] = (struct fs_pair){fuse_option[i].name, value};
}

static void
mount_point(struct argp_state *state, struct fs_config *cfg, const char *arg)
{
  if (cfg->mountpoint)
    argp_error(state, "more than one mount point");
  if (!realpath(arg, cfg->mount_path))
    argp_failure(state, 1, errno, "mount point %s", arg);
  cfg->mountpoint = cfg->mount_path;
}

static void
key_file(struct argp_state *state, struct fs_config *cfg, const char *arg)
{
  if (!realpath(arg, cfg->key_path))
    argp_failure(state, 1, errno, "client key %s", arg);
  cfg->client_key = cfg->key_path;
}

/* Whoever asks for one of these relies on it: better no mount than one without. Off is what there is. */
static void
refuse(struct argp_state *state, const char *option, const char *arg, const char *why)
{
  bool on = true;
  if (!arg || !gi_parse_bool(arg, &on) || on)
    argp_failure(state, 1, 0, "option %s is not available: %s", option, why);
}

static error_t
parse_refused(int key, const char *arg, struct argp_state *state)
{
  switch (key) {
  case A_WORM:
    refuse(state, "worm", arg, "nothing here keeps files from being changed once they are written");
    break;
  case A_AUX_GFID:
    refuse(state, "aux-gfid-mount", arg, "files cannot be named by .gfid/UUID");
    break;
  case A_NO_ROOT_SQUASH:
    refuse(state, "no-root-squash", arg, "the volume decides who is squashed, by server.root-squash");
    break;
  default:
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static _Noreturn void
print_and_exit(const char *text)
{
  puts(text);
  exit(0);
}

static error_t
parse_process(int key, char *arg, struct argp_state *state, struct fs_config *cfg)
{
  switch (key) {
  case 'N':
    cfg->no_daemon = true;
    break;
  case A_DEBUG:
    cfg->no_daemon = cfg->log_to_stderr = true;
    cfg->log_level = GI_LOG_DEBUG;
    break;
  case 'l':
    cfg->log_file = arg;
    cfg->log_to_stderr = strcmp(arg, "-") == 0;
    break;
  case 'L':
    if (!gi_log_level_parse(arg, &cfg->log_level))
      argp_error(state, "unknown log level %s", arg);
    break;
  case A_LOG_FORMAT:
    cfg->log_json = strcmp(arg, "json") == 0;
    break;
  case 'p':
    cfg->pid_file = arg;
    break;
  case 'S':
    cfg->socket_file = arg;
    break;
  case A_STATEDUMP_DIR:
    cfg->statedump_dir = arg;
    break;
  case A_OBSERVE:
    cfg->observe = arg;
    break;
  case A_SECURE_MGMT:
    cfg->secure_mgmt = true;
    if (arg && !gi_parse_bool(arg, &cfg->secure_mgmt))
      argp_error(state, "--secure-mgmt: %s is not a boolean value", arg);
    cfg->plain_mgmt = !cfg->secure_mgmt;
    break;
  case A_PROCESS_NAME:
    cfg->process_name = arg;
    break;
  case A_BRICK_NAME:
    cfg->brick_name = arg;
    break;
  case A_BRICK_PORT:
    cfg->brick_port = number(state, arg, 65535);
    break;
  case A_PRINT_LOGDIR:
    print_and_exit(GI_LOG_DIR);
  case A_PRINT_STATEDUMPDIR:
    print_and_exit(GI_RUN_DIR);
  case A_PRINT_XLATORDIR:
    print_and_exit(gi_xlator_dir());
  default:
    return parse_refused(key, arg, state);
  }
  return 0;
}

static void
check(struct argp_state *state, struct fs_config *cfg)
{
  if (!cfg->volfile && !cfg->servers.count)
    argp_error(state, "either --volfile or --volfile-server is needed");
  if (!cfg->volfile && !cfg->volfile_id)
    argp_error(state, "--volfile-id is needed with --volfile-server");
  if (cfg->volfile)
    cfg->servers.count = 0, cfg->servers.item[0] = NULL;
  if (cfg->root_xattrs.count && cfg->mountpoint)
    argp_error(state, "--set-root-xattr and a mount point exclude each other");
  if (cfg->subdir && cfg->subdir[0] != '/')
    argp_error(state, "--subdir-mount: %s is not an absolute path", cfg->subdir);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  struct fs_config *cfg = state->input;
  bool on = true;
  if (key >= A_FUSE && key < A_FUSE + (int)GI_ARRAY_LEN(fuse_option)) {
    fuse_setting(state, cfg, (unsigned)(key - A_FUSE), arg);
    return 0;
  }
  switch (key) {
  case 's':
    append(state, &cfg->servers, arg);
    break;
  case A_SERVER_PORT:
    cfg->server_port = number(state, arg, 65535);
    break;
  case A_FETCH_ATTEMPTS:
    cfg->fetch_attempts = number(state, arg, INT_MAX);
    break;
  case A_SERVER_TRANSPORT:
    if (strcmp(arg, "tcp") && strcmp(arg, "socket") && strcmp(arg, "unix"))
      argp_error(state, "unknown transport %s", arg);
    break;
  case A_VOLFILE_ID:
    cfg->volfile_id = arg;
    break;
  case 'f':
    cfg->volfile = arg;
    break;
  case A_VOLUME_NAME:
    cfg->volume_name = arg;
    break;
  case A_CLIENT_KEY:
    key_file(state, cfg, arg);
    break;
  case A_SUBDIR:
    cfg->subdir = arg;
    break;
  case A_XLATOR_OPTION:
    append(state, &cfg->overrides, arg);
    break;
  case A_META:
    if (arg && !gi_parse_bool(arg, &on))
      argp_error(state, "--meta: %s is not a boolean value", arg);
    cfg->no_meta = !on;
    break;
  case A_SET_ROOT_XATTR:
    if (!strchr(arg, '='))
      argp_error(state, "--set-root-xattr: %s has no value", arg);
    append(state, &cfg->root_xattrs, arg);
    break;
  case A_IGNORED:
    break;
  case ARGP_KEY_ARG:
    mount_point(state, cfg, arg);
    break;
  case ARGP_KEY_END:
    check(state, cfg);
    break;
  default:
    return parse_process(key, arg, state, cfg);
  }
  return 0;
}

/* As the original names them: the mount point, or what the process is. */
static void
default_log_file(struct fs_config *cfg)
{
  const char *of = cfg->mountpoint ? cfg->mountpoint : cfg->brick_name ? cfg->brick_name : cfg->process_name;
  int dir = snprintf(cfg->log_path, sizeof(cfg->log_path), "%s/%s", GI_LOG_DIR, cfg->brick_name ? "bricks/" : "");
  char *base = cfg->log_path + dir;
  snprintf(base, sizeof(cfg->log_path) - (size_t)dir, "%s.log", of + (of[0] == '/'));
  for (char *c = base; *c; c++)
    if (*c == '/')
      *c = '-';
  cfg->log_file = cfg->log_path;
}

static void
show_version(FILE *out, struct argp_state *state)
{
  fprintf(out, "glusterishfs %s\n", GI_VERSION);
}

void
fs_arguments(struct fs_config *cfg, int argc, char **argv)
{
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "[MOUNTPOINT]",
      .doc = "Loads a volfile, builds its graph and runs it: mounts a volume on MOUNTPOINT, or serves a brick.",
  };
  argp_program_version_hook = show_version;
  *cfg = (struct fs_config){.server_port = 24007, .log_level = GI_LOG_INFO};
  argp_parse(&argp, argc, argv, 0, NULL, cfg);
  if (!cfg->process_name)
    cfg->process_name = cfg->mountpoint ? "fuse" : "glusterishfs";
  if (!cfg->log_file)
    default_log_file(cfg);
}
