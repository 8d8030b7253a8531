/* SPDX-License-Identifier: Apache-2.0
 *
 * glusterishfs: the one process type. It loads a volfile, builds the graph and
 * runs it; what it is (client, brick, heal daemon) is what the volfile says.
 * main.c strings the steps together; arguments.c reads the command line;
 * daemon.c goes to the background; process.c is the life of the process;
 * volfile-adapt.c puts the mount on top; volfile-skip.c leaves out what a
 * GlusterFS volfile has and this build has not; brick-ops.c answers the management
 * daemon; root-xattr.c sets attributes of the root and ends; statedump.c writes state dumps.
 */
#ifndef GLUSTERISHFS_H
#define GLUSTERISHFS_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "rpc/handshake.h"
#include "rpc/rpc-server.h"

#include <limits.h>

#define FS_LIST_MAX 64

/* repeated options; NULL-terminated */
struct fs_list {
  const char *item[FS_LIST_MAX + 1];
  unsigned count;
};

/* an option of the mount/fuse translator */
struct fs_pair {
  const char *name, *value;
};

struct fs_process;

/* What a process other than mount, brick or daemon does in its own way. */
struct fs_role {
  /* Instead of fs_volfile_adapt. 0, or -1 and err. */
  int (*adapt)(struct fs_process *p, struct gi_volfile *vf, struct gi_error *err);
  void (*failed)(struct fs_process *p, const char *text); /* it cannot start: instead of a line on stderr. May set p->status */
  void *arg;
};

/* The command line. */
struct fs_config {
  const struct fs_role *role; /* NULL: mount, brick or daemon */
  struct fs_list servers, overrides;
  struct fs_list root_xattrs; /* NAME=VALUE to set on the root, then end */
  struct fs_pair fuse[FS_LIST_MAX];
  unsigned nfuse;
  int server_port;
  int fetch_attempts; /* rounds over all servers for the first volfile; 0 as 1 */
  const char *volfile_id, *volfile, *volume_name, *subdir;
  const char *mountpoint; /* absolute; NULL = no mount */
  char mount_path[PATH_MAX], log_path[PATH_MAX];
  const char *log_file, *pid_file, *socket_file, *statedump_dir;
  enum gi_log_level log_level;
  bool log_json, no_daemon, log_to_stderr;
  const char *brick_name, *process_name;
  int brick_port;
};

struct fs_process {
  const struct fs_config *cfg;
  struct gi_reactor *reactor;
  struct gi_ctx ctx;
  struct gi_mgmt *mgmt;
  struct gi_rpc_server *ops; /* on the -S socket */
  struct gi_signal *signal[6];
  struct gi_timer finish_start;
  int fetches; /* rounds over all servers that brought no volfile */
  int port;    /* of the brick; 0 = not a brick or not yet */
  bool ready;  /* the starter was told */
  bool least;  /* gi_be_least, until it listens */
  int usual_nice;
  bool leaving; /* a signal came; the mount is being given up in order */
  int status;   /* exit status */
  int pid_fd;
  char host[256];
};

/* arguments.c */
void fs_arguments(struct fs_config *cfg, int argc, char **argv); /* exits on a wrong command line */

/* daemon.c */
/* Forks. In the parent waits for the child's fs_daemon_ready or death and exits accordingly; returns in the child.
 * A service stays in its starter's session if that has no terminal. */
void fs_daemonize(bool service);
void fs_daemon_ready(int status);  /* once; harmless when not daemonised */
int fs_pid_file(const char *path); /* writes and locks it: its fd, or -1 with a message on stderr */

/* process.c */
int fs_run(const struct fs_config *cfg); /* exit status */
void fs_fail(struct fs_process *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fs_stop(struct fs_process *p, const char *why);

/* volfile-adapt.c */
/* Adds what the command line asks for. 0, or -1 and err. */
int fs_volfile_adapt(const struct fs_config *cfg, struct gi_volfile *vf, struct gi_error *err);

/* root-xattr.c */
void
fs_root_xattr_adapt(struct gi_volfile *vf); /* puts the translator on top that sets cfg->root_xattrs and ends the process */

/* volfile-skip.c */
/* Leaves out what this build does not have and nobody misses. 0, or -1 and err. */
int fs_volfile_skip(struct gi_volfile *vf, struct gi_error *err);

/* other-bricks.c */
/* Are there bricks that only one of them has? */
bool fs_other_bricks(const struct gi_volfile *running, const struct gi_volfile *vf);
/* From now on every operation of the mount fails with EIO; a volfile the running graph can take ends that. */
void fs_stop_serving(struct fs_process *p);

/* brick-ops.c */
int fs_brick_ops_start(struct fs_process *p, struct gi_error *err);

/* statedump.c */
void fs_statedump(struct fs_process *p);

#endif
