/* SPDX-License-Identifier: Apache-2.0
 *
 * glusterishfs: the one process type. It loads a volfile, builds the graph and
 * runs it; what it is (client, brick, heal daemon) is what the volfile says.
 * main.c strings the steps together; arguments.c reads the command line;
 * daemon.c goes to the background; process.c is the life of the process, and process.h what other programs use of it;
 * volfile-adapt.c puts the mount on top; volfile-skip.c leaves out what a
 * GlusterFS volfile has and this build has not; brick-ops.c answers the management
 * daemon; observe.c answers everybody else; root-xattr.c sets attributes of the root and ends; statedump.c writes state dumps.
 */
#ifndef GLUSTERISHFS_H
#define GLUSTERISHFS_H

#include "programs/glusterishfs/process.h"
#include "libglusterish/observe.h"

#define FS_DOMAIN "glusterishfs"

/* arguments.c */
void fs_arguments(struct fs_config *cfg, int argc, char **argv); /* exits on a wrong command line */

/* daemon.c */
/* Forks. In the parent waits for the child's fs_daemon_ready or death and exits accordingly; returns in the child.
 * A service stays in its starter's session if that has no terminal. */
void fs_daemonize(bool service);
void fs_daemon_ready(int status); /* once; harmless when not daemonised */
/* Writes and locks it once a process that ends has let it go: its fd, or -1 with a message on stderr. Waits: for before the reactor runs. */
int fs_pid_file(const char *path);

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
void fs_statedump(struct fs_process *p); /* to a file */
void fs_statedump_write(struct fs_process *p, FILE *out);

/* observe-operations.c */
void fs_operations_start(struct fs_process *p); /* shows them on ctx->observe */
void fs_operations_stop(struct fs_process *p);  /* before that ends; traces are answered */

/* observe.c */
struct ob_self;
/* Which process this is; what it points to lives as long as the process, and `volume`, at most `size` bytes. */
void fs_observe_self(const struct fs_process *p, struct ob_self *self, char *volume, size_t size);
/* Makes ctx->observe and listens, before the graph is built. No unix socket is only logged; -1 and err: not where the command line
 * asks for. */
GI_MUST_CHECK int fs_observe_start(struct fs_process *p, struct gi_error *err);

/* observe-facts.c */
void fs_observe_facts(struct fs_process *p); /* adds its paths to ctx->observe */

/* observe-files.c */
void fs_observe_files(struct fs_process *p); /* likewise */

#endif
