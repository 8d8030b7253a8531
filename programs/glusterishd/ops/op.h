/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of the CLI inside the daemon.
 *
 * A command arrives as a JSON document and is answered with op_ret, op_errno,
 * op_errstr and another JSON document; the CLI renders that. Request members
 * common to all: "command" (a name of the table in table.c), "words" (what the
 * user typed, for the history), and, where it applies, "volume" and "force".
 */
#ifndef GD_OP_H
#define GD_OP_H

#include "programs/glusterishd/glusterishd.h"
#include "rpc/rpc-server.h"

#include <jansson.h>
#include <sys/statvfs.h>

#define GD_ERR_MGMT 30800      /* op_errno: general management error */
#define GD_ERR_NO_VOLUME 30806 /* `volume info` of an unknown volume */

struct gd_op;
struct gd_lock;    /* commit.c */
struct gd_placing; /* place.c */

/* flags of a command */
enum {
  GD_CMD_VOLUME = 1,     /* "volume" must exist; it is in op->volume */
  GD_CMD_CHANGES = 2,    /* goes to the history; refused while another change of the volume is under way */
  GD_CMD_REMOTE = 4,     /* read only: served on the TCP port too */
  GD_CMD_STORES = 8,     /* changes definitions: in a pool it has the pool's lock while it runs */
  GD_CMD_GATHERS = 16,   /* every node says what it knows of its own bricks */
  GD_CMD_NODE = 32,      /* ordered by another node, never by a person */
  GD_CMD_QUICK = 64,     /* no process is asked, started or stopped: a node that is slow to answer is not waited for */
  GD_CMD_ANYWHERE = 128, /* with GD_CMD_GATHERS: it is done when one node could do it */
};

enum { GD_OP_DONE = 0, GD_OP_FAILED = -1, GD_OP_LATER = 1 };

struct gd_command {
  const char *name;
  uint32_t proc; /* procedure of the CLI program */
  unsigned flags;
  /* GD_OP_DONE; GD_OP_FAILED with err; GD_OP_LATER: gd_op_finish will be called. */
  int (*run)(struct gd_op *op, struct gi_error *err);
  bool (*stores)(const struct gd_op *op); /* with GD_CMD_STORES: does it, this time? NULL: always */
};

extern const struct gd_command gd_commands[]; /* table.c; ends with one without a name */

struct gd_op {
  struct gi_list link;
  struct gd *gd;
  const struct gd_command *command;
  struct gd_volume *volume;
  json_t *in;                                                   /* the request; an object */
  json_t *out;                                                  /* the reply document; an object */
  struct gd_placing *placing;                                   /* place.c; NULL: nothing is placed */
  struct gd_disks *disks;                                       /* disk.c; NULL: they were not looked at */
  struct gd_names *names;                                       /* names.c */
  unsigned waiting;                                             /* bricks still being started or stopped */
  struct gi_error problem;                                      /* the first thing that went wrong while waiting */
  void (*answer)(struct gd_op *op, const struct gi_error *err); /* sends the answer; set by whoever began the op */
  struct gi_rpc_request *req;
  void *arg;
  void (*release)(struct gd_op *op); /* of the command: frees `state`, also when the daemon ends in the middle; may be NULL */
  void *state;
  struct gd_lock *lock;                                            /* of the pool; NULL: not held */
  struct gi_list asked;                                            /* struct gd_asked: nodes that have not answered yet */
  void (*settled)(struct gd_op *op), (*stopped)(struct gd_op *op); /* gather.c, brick-order.c */
  bool by_node;  /* another node gathers this: it is about this node's bricks alone */
  bool gathered; /* the others were asked */
};

/* Runs the request `text`; `answer` is called exactly once, perhaps before this returns, and must not free the op. */
void gd_op_begin(struct gd *gd, const char *text, uint32_t proc, bool remote, struct gi_rpc_request *req,
                 void (*answer)(struct gd_op *op, const struct gi_error *err), void *arg);
void gd_op_finish(struct gd_op *op, const struct gi_error *err); /* err->code 0 or err NULL: success */
void gd_ops_abort(struct gd *gd);                                /* the daemon ends */
bool gd_op_proc_is_remote(const struct gd *gd, uint32_t proc);
#define GD_CLI_PROCS 50

/* For another node: of commands that are gathered or are for nodes alone. */
void gd_op_begin_for_node(struct gd *gd, const char *text, uint32_t proc, struct gi_rpc_request *req,
                          void (*answer)(struct gd_op *op, const struct gi_error *err), void *arg);

/* Members of the request; strings are NULL, lists empty, flags false and numbers `def` when absent or of another type. */
const char *gd_op_str(const struct gd_op *op, const char *member);
bool gd_op_flag(const struct gd_op *op, const char *member);
long gd_op_int(const struct gd_op *op, const char *member, long def);
const json_t *gd_op_strings(const struct gd_op *op, const char *member); /* a list of strings only; NULL otherwise */

/* disk.c: has the disks of this node's bricks looked at, those of a volume or (NULL) of all, and goes on with `then`, as gd_command.run
 * would; op->volume is looked up anew before. One that hangs is waited for a moment only. */
typedef int gd_disks_fn(struct gd_op *op, struct gi_error *err);
int gd_disks_look(struct gd_op *op, const struct gd_volume *only, gd_disks_fn *then, struct gi_error *err);
int gd_disks_look_at(struct gd_op *op, const char *const *paths, unsigned n, gd_disks_fn *then, struct gi_error *err);
const struct statvfs *gd_disks_get(const struct gd_op *op, const char *path); /* NULL: not known */
void gd_disks_free(struct gd_op *op);                                         /* for op.c */

/* names.c: has the hosts that the request names looked up, as far as that may take time, and goes on with `then`, as gd_command.run
 * would. */
typedef int gd_names_fn(struct gd_op *op, struct gi_error *err);
int gd_names_look(struct gd_op *op, gd_names_fn *then, struct gi_error *err);
void gd_names_free(struct gd_op *op); /* for op.c */

/* ask.c: puts a question to every brick of op->volume that is online, or to `only` if it is; consumes `in`. Each has an object
 * with its "name" in the list "bricks" of the reply document, in the order of the volume, and `said` is called with that once it has
 * answered or failed to (err, as gd_answer_fn). Then `end` (NULL: the command succeeds) finishes the op. GD_OP_LATER, or GD_OP_DONE if
 * no brick is online. */
typedef void gd_said_fn(struct gd_op *op, json_t *brick, int err, const struct gi_dict *dict);
int gd_op_ask_bricks(struct gd_op *op, const struct gd_brick *only, uint32_t proc, struct gi_dict *in, gd_said_fn *said,
                     void (*end)(struct gd_op *op));

/* What commands need of the other nodes. A table, as op.c is below those that do it. */
struct gd_across {
  void (*lock)(struct gd_op *op, void (*fn)(struct gd_op *op, const struct gi_error *err)); /* and reads what is stored */
  void (*release)(struct gd_op *op);                                                        /* not held is fine */
  /* Asks the others for the same command and adds what they say to op->out; then finishes the op. */
  void (*gather)(struct gd_op *op, const struct gi_error *own);
  void (*cancel)(struct gd_op *op); /* nobody is asked any more */
  void (*placed)(struct gd_op *op); /* what was asked for the place of bricks is forgotten */
};
extern const struct gd_across gd_across; /* table.c */

/* ---- changes: commit.c; what is not stored in a pool is not in force ---- */

#define GD_UNSURE 30899 /* the store did not say whether it took the change */
/* err->code 0: done. May be called before the call returns, where there is no pool. */
typedef void gd_committed_fn(struct gd_op *op, const struct gi_error *err);
void gd_lock_take(struct gd_op *op, gd_committed_fn *fn); /* and reads what is stored */
void gd_lock_release(struct gd_op *op);                   /* none is fine */
int64_t gd_lock_lease(const struct gd_op *op);            /* on which hangs what goes with the lock; 0 likewise */
int64_t gd_lock_revision(const struct gd_op *op);         /* 0: it has none */
/* `v`, which may be a draft and lives until the answer, becomes the volume's definition, here and everywhere. */
void gd_commit(struct gd_op *op, struct gd_volume *v, gd_committed_fn *fn);
void gd_commit_delete(struct gd_op *op, struct gd_volume *v, gd_committed_fn *fn);
void gd_commit_options(struct gd_op *op, const struct gi_list *options, gd_committed_fn *fn);
void gd_commit_credentials(struct gd_op *op, const json_t *doc, gd_committed_fn *fn); /* the document of authority.h */

/* ---- all nodes: gather.c ---- */

/* Other nodes that are connected take what is stored of the volume and start and stop its bricks; `fn` is called when they have. What
 * failed there goes to op->problem. */
void gd_settle(struct gd_op *op, const char *volume, bool force, void (*fn)(struct gd_op *op));
/* A gd_committed_fn that ends the command: what was stored is read here, and by the other nodes. */
void gd_finish_everywhere(struct gd_op *op, const struct gi_error *err);
/* One command for a node alone: brick-order.c says which. fn: code 0, or what it refused it with, in `why`. */
void gd_order(struct gd_op *op, const struct gi_gfid *node, json_t *request, unsigned timeout_ms,
              void (*fn)(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc), void *arg);
void gd_gather_nodes(struct gd_op *op, const struct gi_error *own);
void gd_asked_cancel(struct gd_op *op);
json_t *gd_op_node_links(const struct gd *gd); /* peer.c: a list of {"hostname","connected","encrypted"}, of the other nodes */

/* ---- bricks on whatever node: brick-order.c ---- */

struct gd_prepare;
/* The directories of `n` new bricks (borrowed, as `volume` is) of a volume are made and marked, on their nodes. again[i] (or `again`
 * NULL): the directory of that brick of the volume, made anew. fn is called once, perhaps before this returns. */
struct gd_prepare *gd_prepare_new(struct gd_op *op, const struct gi_gfid *volume, const struct gd_brick *const *bricks,
                                  unsigned n);
void gd_prepare_run(struct gd_prepare *p, bool force, bool dirty, const struct gd_brick *again, gd_committed_fn *fn);
void gd_prepare_undo(struct gd_prepare *p); /* as they were; nobody waits for it */
void gd_prepare_free(struct gd_prepare **p);
/* Ends the brick's process, on its node. fn is never called from inside. `meanwhile`: it is started again when the op ends and it is a
 * brick still, whatever becomes of this node. */
void gd_brick_stop_anywhere(struct gd_op *op, struct gd_brick *b, bool meanwhile, void (*fn)(struct gd_op *op));
int gd_op_node_prepare(struct gd_op *op, struct gi_error *err);
int gd_op_node_unprepare(struct gd_op *op, struct gi_error *err);
int gd_op_node_stop_brick(struct gd_op *op, struct gi_error *err);
bool gd_brick_is_here(const struct gd_brick *b);   /* on this node */
bool gd_volume_is_here(const struct gd_volume *v); /* one of its bricks is */
/* Sets b->node by b->host: this node or one of the pool. */
int gd_brick_find_node(struct gd *gd, struct gd_brick *b, struct gi_error *err);

/* ---- directories of bricks that may come into force: prepared.c ---- */

void gd_prepared_load(struct gd *gd);
void gd_prepared_let_go(struct gd *gd);
/* It is noted how the directory is, which may not be there, before it is made a brick of the volume, as ordered under the pool's lock
 * of that revision (0: this node is alone). -1 and err: it must not be touched. */
int gd_prepared_add(struct gd *gd, const char *path, const struct gi_gfid *volume, int64_t lock, struct gi_error *err);
void gd_prepared_undone(struct gd *gd, const char *path); /* it is as it was */
/* As of `revision` of the store the lock has that revision, or is nobody's (0): what was prepared under an earlier one and did not come
 * into force is taken back. */
void gd_prepared_settle(struct gd *gd, int64_t revision, int64_t lock);
json_t *gd_xattr_was_doc(const struct gd_xattr_was *w);
void gd_xattr_was_read(const json_t *doc, struct gd_xattr_was *w);

/* create.c: the first n bricks of `v` and its brick `b` get along: none contains the other, none has the files of the other. */
int gd_check_neighbours(const struct gd_volume *v, unsigned n, const struct gd_brick *b, struct gi_error *err);
/* No two bricks of one replica set are on the same machine. */
int gd_check_spread(const struct gd_volume *v, struct gi_error *err);

/* bricks.c: may so many bricks leave as whole sets? */
int gd_check_sets_removed(const struct gd_volume *v, size_t count, struct gi_error *err);
/* Sets leaves[i] for each brick i that is named; -1 and err: one is none of the volume's. */
int gd_mark_removed(const struct gd_volume *v, const json_t *bricks, bool *leaves, struct gi_error *err);
int gd_check_whole_sets(const struct gd_volume *v, const bool *leaves, struct gi_error *err);
/* Takes the bricks, which are whole sets, out of op->volume at once. As a command's `run`. */
int gd_remove_sets(struct gd_op *op, const json_t *bricks, struct gi_error *err);

/* rebalance.c: remove-brick start, status, stop or commit of whole sets. */
int gd_op_remove_gradually(struct gd_op *op, const json_t *bricks, const char *action, struct gi_error *err);
json_t *gd_rebalance_tasks(const struct gd_volume *v); /* a list, for `volume status` */
bool gd_rebalance_runs(const struct gd_volume *v);
int gd_check_no_rebalance(const struct gd_volume *v, struct gi_error *err); /* nor sets that are being emptied */
/* May the bricks go at once: nothing is moved, or it is they that are being emptied? */
int gd_check_removable(const struct gd_volume *v, const json_t *bricks, struct gi_error *err);

/* options.c: sets options of op->volume, keys and values known to be good, in the running processes too, and finishes the op.
 * `pairs`: key, value, …; a value NULL: the option goes. GD_OP_LATER. */
int gd_op_set_options(struct gd_op *op, const char *const *pairs, unsigned n);

/* heal.c: asks the volume's self-heal daemon for a management operation (heal-op.h); fn is never called from inside. */
void gd_heal_ask(struct gd_volume *v, int number, gd_answer_fn *fn, void *arg);

/* op-*.c */
int gd_op_create(struct gd_op *op, struct gi_error *err);
int gd_op_add_brick(struct gd_op *op, struct gi_error *err);
int gd_op_remove_brick(struct gd_op *op, struct gi_error *err);
int gd_op_replace_brick(struct gd_op *op, struct gi_error *err);
int gd_op_rebalance(struct gd_op *op, struct gi_error *err);
int gd_op_reset_brick(struct gd_op *op, struct gi_error *err);
int gd_op_start(struct gd_op *op, struct gi_error *err);
bool gd_start_stores(const struct gd_op *op);
bool gd_heal_stores(const struct gd_op *op);
int gd_op_stop(struct gd_op *op, struct gi_error *err);
int gd_op_delete(struct gd_op *op, struct gi_error *err);
int gd_op_set(struct gd_op *op, struct gi_error *err);
int gd_op_key(struct gd_op *op, struct gi_error *err);
int gd_op_key_list(struct gd_op *op, struct gi_error *err);
int gd_op_reset(struct gd_op *op, struct gi_error *err);
int gd_op_get(struct gd_op *op, struct gi_error *err);
int gd_op_set_help(struct gd_op *op, struct gi_error *err);
int gd_op_list(struct gd_op *op, struct gi_error *err);
int gd_op_info(struct gd_op *op, struct gi_error *err);
int gd_op_status(struct gd_op *op, struct gi_error *err);
int gd_op_statedump(struct gd_op *op, struct gi_error *err);
int gd_op_heal(struct gd_op *op, struct gi_error *err);
int gd_op_heal_status(struct gd_op *op, struct gi_error *err);
int gd_op_profile(struct gd_op *op, struct gi_error *err);
int gd_op_profile_info(struct gd_op *op, struct gi_error *err);
int gd_op_top(struct gd_op *op, struct gi_error *err);
int gd_op_clear_locks(struct gd_op *op, struct gi_error *err);
int gd_op_get_state(struct gd_op *op, struct gi_error *err);
int gd_op_peers(struct gd_op *op, struct gi_error *err);
int gd_op_probe(struct gd_op *op, struct gi_error *err);
int gd_op_detach(struct gd_op *op, struct gi_error *err);
int gd_op_join(struct gd_op *op, struct gi_error *err);
int gd_op_tls(struct gd_op *op, struct gi_error *err);
int gd_op_tls_status(struct gd_op *op, struct gi_error *err);
int gd_op_upgrade_check(struct gd_op *op, struct gi_error *err);
int gd_op_upgrade_finish(struct gd_op *op, struct gi_error *err);
int gd_op_token(struct gd_op *op, struct gi_error *err);
int gd_op_node_admit(struct gd_op *op, struct gi_error *err);
int gd_op_node_store(struct gd_op *op, struct gi_error *err);
int gd_op_recover(struct gd_op *op, struct gi_error *err);
int gd_op_node_trust(struct gd_op *op, struct gi_error *err);
int gd_op_node_publish(struct gd_op *op, struct gi_error *err);
int gd_op_peer_update(struct gd_op *op, struct gi_error *err);
int gd_op_node_replace(struct gd_op *op, struct gi_error *err);
int gd_op_node_replaced(struct gd_op *op, struct gi_error *err);
int gd_op_node_status(struct gd_op *op, struct gi_error *err);
int gd_op_node_progress(struct gd_op *op, struct gi_error *err);
int gd_op_node_leave(struct gd_op *op, struct gi_error *err);
int gd_op_uuid(struct gd_op *op, struct gi_error *err);
int gd_op_getwd(struct gd_op *op, struct gi_error *err);
int gd_op_getspec(struct gd_op *op, struct gi_error *err);

#endif
