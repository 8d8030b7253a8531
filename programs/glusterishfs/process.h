/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that runs a graph, as a library: for glusterishfs itself and for
 * programs that become a client in their own way (fs_role).
 */
#ifndef FS_PROCESS_H
#define FS_PROCESS_H

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
  const char *client_key; /* the file of it, absolute; NULL: this client has none */
  const char *mountpoint; /* absolute; NULL = no mount */
  char mount_path[PATH_MAX], log_path[PATH_MAX], key_path[PATH_MAX];
  const char *log_file, *pid_file, *socket_file, *statedump_dir;
  const char *observe; /* PORT or ADDRESS:PORT to show the process on too; NULL = only its unix socket */
  enum gi_log_level log_level;
  bool log_json, no_daemon, log_to_stderr;
  bool secure_mgmt, plain_mgmt; /* TLS to the management daemon, whether or not a file wants it; never */
  bool no_meta;                 /* no virtual directories in the root of the mount */
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
  bool nice;   /* gi_be_nice, until it listens */
  int usual_nice;
  bool leaving;  /* a signal came; the mount is being given up in order */
  bool draining; /* the graph goes down … */
  bool given_up; /* … and a signal came that does not wait for it */
  int status;    /* exit status */
  struct gi_time started;
  uint64_t started_at; /* gi_now */
  int pid_fd;
  char host[256];
  struct fs_operations *operations; /* observe-operations.c */
};

int fs_run(const struct fs_config *cfg); /* exit status */
void fs_fail(struct fs_process *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fs_stop(struct fs_process *p, const char *why);

#endif
