/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph: the translators of one volfile, loaded, initialised and compiled.
 */
#ifndef GI_GRAPH_H
#define GI_GRAPH_H

#include "libglusterish/budget.h"
#include "libglusterish/volfile.h"
#include "libglusterish/xlator.h"

/* What a process is: one per process in production, many in the simulator. No other global state exists. */
struct gi_ctx {
  struct gi_reactor *reactor;
  struct gi_budget budget;  /* of memory, for all caches; unlimited until somebody sets a limit */
  uint64_t unwritten;       /* writes that were answered and may not be on the bricks: the end of the process waits */
  uint64_t memory;          /* this process can have, bytes: the machine's or the container's; 0 = not known */
  const char *process_name; /* "glusterishfs" */
  struct gi_gfid process_uuid;
  char process_id[256];       /* the client identity sent in SETVOLUME: uuid text + host, pid, time */
  const char *volfile_server; /* host of the management daemon, NULL if the volfile is a file */
  int volfile_server_port;
  const char *home; /* the management daemon that told the volfile last, in numbers: it knows of bricks elsewhere; NULL: none */
  int home_port;
  const char *secure_access; /* the file that wants TLS to management daemons, if it exists (rpc/tls.h); NULL: none does */
  bool secure_mgmt;          /* TLS even without it */
  struct gi_tls *mgmt_tls;   /* of connections to management daemons (rpc/tls.h), the program's; NULL: plain */
  const char *client_key; /* the file of the key that this client shows to daemons and bricks (rpc/client-key.h); NULL: none */
  const char *volfile_id;
  struct gi_graph *graph; /* the active graph */
  int brick_port;         /* --brick-port / listen-port for protocol/server; 0 = from options */
  const char *brick_name; /* --brick-name: the brick's path */
  unsigned
      side; /* GI_SIDE_CLIENT or GI_SIDE_BRICK: its fops have room for every layer that a switch may add; 0: only the slack */
  void (*on_listen)(struct gi_ctx *ctx, int port); /* protocol/server tells the port it got */
  void (*on_ready)(struct gi_ctx *ctx, int err);   /* mount/fuse: the mount serves (0), or never will (errno); at most once */
  void (*on_unmount)(struct gi_ctx *ctx);          /* the FUSE session ended */
  /* Set by mount/fuse while it serves: lets the kernel write back what it holds, unmounts (lazily if busy), then on_unmount. The
   * reactor must go on turning. Calling it again, or after the end, does nothing. */
  void (*leave)(struct gi_ctx *ctx);
  struct gi_xlator *mount;                  /* the mount/fuse translator, while `leave` is set */
  struct gi_observe *observe;               /* what shows the process to those who ask (observe.h); NULL: it is not observed */
  struct gi_fs *fs;                         /* where bricks keep files (fs.h); NULL = the kernel's file systems */
  void (*on_dead_disk)(struct gi_ctx *ctx); /* the disk of a brick failed; NULL: the process ends itself by a signal */
  void *app;                                /* the program's own */
  struct gi_seen *seen;                     /* what is known of its operations (seen.h), while it has a graph */
};

/* Room kept in every fop for translators that join the running graph and had none (gi_ctx.side). */
#define GI_SLACK_FOP 256

/* The bytes that some translators have in an inode and an fd: a piece of memory of its own, which is there when one of them has used it. They
 * are all below one child of one that branches, or it is one that joined the running graph. */
struct gi_part {
  char *child; /* its name; NULL: there is none */
  uint32_t inode_bytes, fd_bytes;
  bool settled; /* objects may have it */
};

#define GI_GRAPH_MAGIC 0x1d069a4fu

/* Bytes in a fop of a translator of this class that is not in the graph yet. */
struct gi_room {
  const struct gi_xlator_class *cls;
  uint32_t fop_offset;
  struct gi_xlator *taken; /* by whom; NULL: nobody */
};

struct gi_graph {
  uint32_t magic;
  struct gi_ctx *ctx;
  unsigned count;
  struct gi_xlator **xlators; /* children before parents; the last is the top of the volfile */
  struct gi_xlator *top;
  struct gi_volfile *volfile;
  uint32_t inode_bytes, fd_bytes; /* allocated per inode and fd, which may be known on all paths, beside the parts */
  uint32_t fop_bytes;             /* likewise per fop: what is used at first and the slack */
  /* Taken so far; translators inserted later take from the slack. A fop goes down one path, so translators of which none is above the
   * other share its bytes. */
  uint32_t fop_used;
  unsigned nparts;
  struct gi_part *parts;
  unsigned nrooms;
  struct gi_room *rooms; /* for translators that can be switched on (gi_ctx.side) */
  char **overrides;      /* --xlator-option settings, applied to every volfile; NULL-terminated */
  uint64_t fops_live, inodes_live, fds_live;
  struct gi_inode_table *inodes;
  struct gi_fop_pool *pool;
  struct gi_seen *seen;      /* the process's */
  struct gi_list flight;     /* struct gi_fop: submitted and not answered, oldest first */
  uint8_t number;            /* of the process's graphs, its lowest bits */
  struct gi_xlator **layers; /* by gi_xlator.layer; NULL: it did not come to be */
  unsigned nlayers;
  uint32_t promise; /* seconds (promise.h) … */
  bool strict;      /* … and every brick waits until we have taken in what it tells */
  bool active;      /* PARENT_UP was sent */
};

/* A class by its type; NULL and err (naming the file) when it cannot be loaded. */
GI_MUST_CHECK const struct gi_xlator_class *gi_class_load(const char *type, void **dl, struct gi_error *err);
/* Directory searched for KIND/NAME.so: $GLUSTERISH_XLATOR_DIR, else the installed one. */
const char *gi_xlator_dir(void);
/* Calls fn with the type of every registered class, and then of every translator file below gi_xlator_dir(), sorted, each once;
 * whether it loads is for the caller to find out. 0, or an errno when the directory cannot be read. */
GI_MUST_CHECK int gi_class_scan(void (*fn)(const char *type, void *arg), void *arg);
/* Makes a class available without a file, before any load: tests and fake neighbours. */
void gi_class_register(const struct gi_xlator_class *cls);

/* Loads, parses options, initialises bottom up, compiles. Takes ownership of *vf (cleared) whatever happens. `overrides` are
 * --xlator-option settings ("NAME.option=value", NAME may be a pattern), or NULL. NULL and err on failure, nothing left. */
GI_MUST_CHECK struct gi_graph *gi_graph_build(struct gi_ctx *ctx, struct gi_volfile **vf, const char *const *overrides,
                                              struct gi_error *err);
void gi_graph_activate(struct gi_graph *g); /* sends PARENT_UP from the top */
/* Sends PARENT_DOWN: translators finish what is delayed; turn the reactor until g->fops_live and g->fds_live are 0, then free. */
void gi_graph_deactivate(struct gi_graph *g);
void gi_graph_retry(struct gi_graph *g); /* sends RETRY to the translators at the bottom */
void gi_graph_free(struct gi_graph **g); /* deactivates first if that was not done; no fop may be under way */

/* Applies a new volfile to the running graph, all or nothing. Options are changed in place; translators with one child that are
 * only in the new file are inserted, those only in the running graph are drained, then parked off the path (which may be long after this returned). A translator that can do
 * with another set of children (children_changed) is given the new ones and takes them when it is ready. Returns 0; 1 if the
 * topology differs otherwise (nothing was changed: build a new graph); -1 and err if an option was refused (nothing was
 * changed). *vf is consumed on 0. */
int gi_graph_reconfigure(struct gi_graph *g, struct gi_volfile **vf, struct gi_error *err);

/* Asserts that the graph is whole: every translator in its place, and every parent has it among its children. */
void gi_graph_check(const struct gi_graph *g);
struct gi_xlator *gi_graph_find(const struct gi_graph *g, const char *name);
/* Recomputes dispatch after a change of `enabled`. */
void gi_graph_compile(struct gi_graph *g);
/* "name type -> children" lines plus interest per kind. */
void gi_graph_print(const struct gi_graph *g, FILE *out);
void gi_graph_statedump(struct gi_graph *g, struct gi_dump *d);

#endif
