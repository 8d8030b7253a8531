/* SPDX-License-Identifier: Apache-2.0
 *
 * glusterishfs: see glusterishfs.h.
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A brick has one descriptor per open file of every client. */
static void
raise_limits(void)
{
  struct rlimit want = {1048576, 1048576}, now;
  if (setrlimit(RLIMIT_NOFILE, &want) == 0)
    return;
  if (getrlimit(RLIMIT_NOFILE, &now) == 0) {
    now.rlim_cur = now.rlim_max;
    setrlimit(RLIMIT_NOFILE, &now);
  }
}

/* A machine that only mounts has no directory for logs yet, and a service without a log is told nothing of. */
static void
make_directories_of(const char *file)
{
  char *path = gi_strdup(file);
  for (char *c = path[0] ? strchr(path + 1, '/') : NULL; c; c = strchr(c + 1, '/')) {
    *c = 0;
    mkdir(path, 0755);
    *c = '/';
  }
  gi_free(path);
}

static void
open_log(const struct fs_config *cfg)
{
  const char *file = cfg->log_to_stderr ? "-" : cfg->log_file;
  int rc = gi_log_open(file, cfg->log_level, cfg->log_json);
  if (rc == ENOENT) {
    make_directories_of(file);
    rc = gi_log_open(file, cfg->log_level, cfg->log_json);
  }
  if (rc == 0)
    return;
  fprintf(stderr, "glusterishfs: cannot open log file %s: %s; logging to standard error\n", cfg->log_file, strerror(rc));
  GI_IGNORE(gi_log_open("-", cfg->log_level, cfg->log_json)); /* standard error is always there */
}

int
main(int argc, char **argv)
{
  struct fs_config cfg;
  fs_arguments(&cfg, argc, argv);
  signal(SIGPIPE, SIG_IGN);
  umask(0); /* modes come from the callers of the file operations */
  raise_limits();
  if (!cfg.no_daemon)
    close_range(3, ~0u, 0); /* what the starter has open would stay open, and a mount busy, for the life of the service */
  open_log(&cfg);
  if (!cfg.no_daemon)
    fs_daemonize(!cfg.mountpoint);
  int status = fs_run(&cfg);
  fs_daemon_ready(status);
  return status;
}
