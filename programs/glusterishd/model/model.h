/* SPDX-License-Identifier: Apache-2.0
 *
 * The lowest layer of the daemon: what it knows, in memory and on disk, and the
 * volfiles that follow from it. Nothing here starts, watches or asks a process;
 * the objects only have room for what the layer above keeps of them.
 *
 *   store.c         atomic files of key=value lines
 *   store-volume.c  volume definitions on disk (volfile.md 13)
 *   store-rebalance.c  the task a volume had last
 *   volume.c        volumes and their options in memory
 *   definition.c    volumes as the nodes of a pool tell each other of them
 *   options-map.c   `volume set` keys, derived from the translators' option tables
 *   volgen.c        volfiles (volfile.md 2, 3)
 *   brick-check.c   may a directory become, or be started as, a brick?
 *   host.c          which host names are this machine
 */
#ifndef GD_MODEL_H
#define GD_MODEL_H

#include "programs/common/names.h"
#include "programs/glusterishd/model/options-map.h"
#include "libglusterish/dict.h"
#include "libglusterish/error.h"
#include "libglusterish/list.h"
#include "libglusterish/log.h"
#include "libglusterish/reactor.h"
#include "libglusterish/types.h"
#include "libglusterish/volfile.h"

#include <stdio.h>
#include <sys/types.h>

#define GD_OP_VERSION 100000   /* cluster level announced and stored */
#define GD_CLIENT_OP_VERSION 2 /* what a client must reach to be given a volfile */
#define GD_BRICKS_MAX 4096     /* most bricks of one volume */
#define GD_NAME "management"   /* log domain */
#define GD_KEY_BYTES 32        /* of a half of a node's key pair */
#define GD_KEY_TEXT 65         /* in hexadecimal digits, with its end */

enum gd_volume_type { GD_DISTRIBUTE = 0, GD_REPLICATE = 2, GD_DISPERSE = 4 }; /* numbers as stored */
enum gd_volume_status { GD_CREATED, GD_STARTED, GD_STOPPED };                 /* numbers as stored */

/* Life of a brick's process as far as this daemon saw it. */
enum gd_proc_state { GD_PROC_DOWN, GD_PROC_STARTING, GD_PROC_UP, GD_PROC_STOPPING };

/* What can be asked of it; doors.c says by whom. */
enum gd_ask {
  GD_ASK_VOLFILE,
  GD_ASK_PASSWORD,
  GD_ASK_SERVICE,
  GD_ASK_VOLUME_ID,
  GD_ASK_EVENT,
  GD_ASK_PORT,
  GD_ASK_SIGN,
  GD_ASK_SHOW,
  GD_ASK_COMMAND,
  GD_ASK_GREET,
  GD_ASK_CALL,
  GD_ASK_NODE,
  GD_ASK_ENCRYPTION,
  GD_ASKS,
};

struct gd;
struct gd_volume;
struct gd_brick;
struct gd_service; /* service.c */
struct gd_proc;    /* brick-proc.c: timers and descriptors of one process */
struct gd_command;
struct gd_across;
struct gd_key_store;
struct gd_pool;   /* pool.h */
struct gd_site;   /* pool/site.h */
struct gd_gather; /* page.h */
struct gi_observe;
struct gi_rpc_server;
struct gi_tls;
struct gi_rpc_program;

struct gd_brick {
  struct gd_volume *volume;
  unsigned index;      /* position in the volume */
  char *host, *path;   /* as given at creation, path canonical */
  char *id;            /* persistent id: name of the client volume and of the changelog xattr */
  struct gi_gfid node; /* uuid of the machine */
  int port;            /* last listening port, 0 = none yet */
  bool decommissioned;
  enum gd_proc_state state;
  bool signed_in;      /* told its port to the port mapper */
  bool leaving;        /* signed out: its process is about to end */
  int64_t stopped_for; /* revision of the lock under which another node has it stopped for a while; 0: none */
  pid_t pid;           /* of the running process, 0 = none */
  struct gd_proc *proc;
};

struct gd_option {
  struct gi_list link;
  char *key, *value;
};

/* What is done with the files of a volume: numbers as stored, and as the CLI and the process that does it have them. */
enum gd_task { GD_TASK_NONE = 0, GD_TASK_REMOVE = 9, GD_TASK_REBALANCE = 19 };
enum gd_rebalance_command { GD_REBALANCE_START = 1, GD_REBALANCE_LAYOUT = 4, GD_REBALANCE_FORCE = 5 };
enum gd_rebalance_status {
  GD_REBALANCE_NOT_STARTED,
  GD_REBALANCE_RUNS,
  GD_REBALANCE_STOPPED,
  GD_REBALANCE_COMPLETED,
  GD_REBALANCE_FAILED,
};

/* The latest one. */
struct gd_rebalance {
  enum gd_task task; /* none: it is over, and nobody asks for it any more */
  enum gd_rebalance_command command;
  enum gd_rebalance_status status;
  struct gi_gfid id;
  uint64_t files, bytes, scanned, failures, skipped;
  uint64_t seconds, left, rate; /* that it has run, that are left (0: unknown), bytes per second */
  uint64_t remaining;           /* objects that it has not looked at, about */
};

#define GD_AUTHORITY_CHAIN \
  16 /* authorities of TLS before, one after the other: who trusts one of them finds this one (tls/authority.h) */

#define GD_VOLUME_MAGIC 0x1d0907edu

struct gd_volume {
  uint32_t magic;
  struct gi_list link; /* gd.volumes, sorted by name */
  struct gd *gd;
  char *name;
  struct gi_gfid id;
  enum gd_volume_type type;
  enum gd_volume_status status;
  unsigned replica, arbiter; /* replica 1 = none */
  unsigned version;          /* bumped by every change of the info file */
  bool counted;              /* it is the generation that the pool's store has: writing the file does not bump it */
  unsigned op_version, client_op_version;
  char *username, *password;
  char *former_username, *former_password; /* which bricks take, too, while nodes hear of others (pool/login.c); NULL */
  bool shows_former;                       /* and what runs here shows them still */
  struct gi_timer login;
  struct gi_list options; /* struct gd_option, the latest key first */
  unsigned nbricks;
  struct gd_brick *bricks;
  unsigned coming;        /* so many bricks at the end, whole sets, are about to start: clients are given them when they have */
  struct gd_service *shd; /* NULL: never wanted so far */
  struct gd_rebalance rebalance;
  struct gd_service *mover; /* NULL: likewise */
  bool mover_asked;         /* how far it is, and has not answered */
  bool stored;              /* all its files were written and synced by this process, and no write has failed since */
  bool busy;                /* a start or stop is under way: other changes are refused */
  bool cut_off;             /* its bricks are stopped here for want of a quorum of nodes */
  char *definition;         /* of a pool: the text it was last read from, with what we do not know; NULL otherwise */
  int64_t revision;         /* of that in the pool's store; 0: it is not there */
};

struct gd_config {
  char *workdir, *rundir, *logdir, *sockfile, *pidfile, *logfile;
  char *bind;              /* address to listen on; NULL = all */
  char *observe;           /* [ADDRESS:]PORT to be observed on too (libglusterish/observe.h); NULL = only the unix socket */
  int port;                /* 0 = any free one */
  int base_port, max_port; /* range for bricks */
  enum gi_log_level level;
  bool log_json; /* and the logs of those it starts */
  bool foreground;
  char *brick_root;           /* DIR[:DIR...] below which bricks may be placed; NULL = WORKDIR/bricks */
  bool uninvited;             /* no other node may take this one into its pool */
  const struct gd_site *site; /* whose etcd is the store of a pool (pool/site.h), lent; NULL: a pool runs its own */
};

#define GD_MAGIC 0x1d090de0u

struct gd {
  uint32_t magic;
  struct gi_reactor *reactor;
  struct gd_config config;
  struct gi_gfid uuid;
  uint8_t key[GD_KEY_BYTES];  /* the private half of its key pair; node-key.c */
  char key_text[GD_KEY_TEXT]; /* the public one; empty: it was not asked for yet */
  struct gd_options_map *map;
  struct gi_list volumes;      /* struct gd_volume by name */
  struct gi_list pool_options; /* struct gd_option, `volume set all` */
  unsigned pool_version;
  struct gi_rpc_server *tcp, *local;
  struct gi_tls *tls;                            /* of the management port and of connections to other nodes; NULL: plain */
  bool tls_optional;                             /* the port takes plain ones too */
  bool tls_own;                                  /* by the pool's own authority */
  struct gi_observe *observe;                    /* NULL: it is not observed */
  struct gd_gather *gather;                      /* what the page shows; NULL likewise */
  struct gd_pool *pool;                          /* NULL: this node is alone */
  void (*heard)(struct gd *gd, long long epoch); /* of another node's; pool.c */
  struct gd_key_store *(*new_key_store)(struct gd *gd); /* NULL: etcd; of tests, which run none */
  char token[33];                                       /* that lets one node join; empty: none */
  uint64_t token_until;                                 /* gi_now */
  struct gi_time started;
  uint64_t started_at;                        /* gi_now */
  struct gi_timer news;                       /* a brick has come: whoever waits for one is told soon */
  const struct gd_command *commands;          /* that it carries out, op.h */
  const struct gd_across *across;             /* what they need of other nodes, op.h */
  const struct gi_rpc_program *nodes_program; /* what others may ask it for; NULL: nothing */
  struct gi_list ops;                         /* struct gd_op under way */
  struct gi_list names;                       /* hosts that were looked up, host.c */
  struct gi_list prepared;                    /* directories of bricks that may come into force, ops/prepared.c */
  struct gi_list questions;                   /* to bricks, brick-ops.c */
  struct gi_list leaving;                     /* bricks that left a volume, proc/leave.c */
  char *brick_program;                        /* the glusterishfs to start bricks and self-heal daemons with */
  bool (*is_brick)(const struct gd_brick *b); /* NULL; where there are no bricks, in a test: may the asker sign for it? */
  bool keeps_services; /* self-heal daemons are started: from the end of gd_start to the beginning of gd_free */
};

/* ---- volume.c ---- */

struct gd_volume *gd_volume_new(struct gd *gd, const char *name);
/* Asserts what holds for every volume that is in force or about to be. */
void gd_volume_check(const struct gd_volume *v);
void gd_volume_free(struct gd_volume *v); /* its processes must have been let go (proc.h); NULL is fine */
/* A copy that is not linked, to be changed and then adopted or freed. Its bricks know nothing of processes. */
struct gd_volume *gd_volume_draft(const struct gd_volume *v);
void gd_bricks_free(struct gd_brick *bricks, unsigned n);
void gd_volume_link(struct gd_volume *v);                                     /* into gd->volumes, in order */
struct gd_volume *gd_volume_find(struct gd *gd, const char *name);            /* NULL name is fine */
struct gd_brick *gd_volume_find_brick(struct gd_volume *v, const char *text); /* "HOST:/PATH" */
/* A brick's path with the leading slash dropped and "/" replaced by "-"; caller frees. */
char *gd_brick_dashed(const struct gd_brick *b);
/* Would the files of both (definition, volfile, pid file) have the same names? Paths that differ only in "/" and "-" do that. */
bool gd_brick_same_files(const struct gd_brick *a, const struct gd_brick *b);
bool gd_brick_is_arbiter(const struct gd_brick *b);     /* it keeps names but no data */
unsigned gd_volume_set_size(const struct gd_volume *v); /* bricks per subvolume of distribute */
unsigned gd_volume_sets(const struct gd_volume *v);
unsigned gd_volume_bricks_on(const struct gd_volume *v, const struct gi_gfid *node);
unsigned gd_bricks_on(const struct gd *gd, const struct gi_gfid *node); /* of all volumes */
bool gd_volume_drains(const struct gd_volume *v);                       /* a set is to be emptied */
/* The name that subvolume `set` of distribute has in volfiles and in the files that lead to it; caller frees. A set keeps it while
 * others come and go. */
char *gd_set_name(const struct gd_volume *v, unsigned set);
const char *gd_volume_type_text(const struct gd_volume *v); /* "Distributed-Replicate" … */
const char *gd_volume_status_text(const struct gd_volume *v);
const char *gd_options_get(const struct gi_list *options, const char *key);       /* NULL if not set */
void gd_options_set(struct gi_list *options, const char *key, const char *value); /* a new key becomes the first */
bool gd_options_del(struct gi_list *options, const char *key);
void gd_options_clear(struct gi_list *options);
/* The value of a boolean key, or `def` when it is unset or no boolean. */
bool gd_volume_bool(const struct gd_volume *v, const char *key, bool def);

/* ---- store.c ---- */

/* Replaces `path` atomically (temporary file, fsync, rename, fsync of the directory), mode 0600. A file that is that already is left
 * alone, but for the fsync of its directory: a write that failed or was killed may have left its name only in memory. That is done
 * without if `synced`: this process knows that it did not. */
int gd_write_file(const char *path, const char *text, size_t len, bool synced, struct gi_error *err);
bool gd_file_has(const char *path, const char *text, size_t len); /* a regular file, mode 0600, with just this text */

#define GD_KVS_MAX (1u << 20) /* bytes of a file of key=value lines */

/* lines of a file, in order */
struct gd_kvs {
  unsigned count;
  struct gd_kv {
    char *key, *value;
  } * kv;
};
/* Reads and checks a file of key=value lines: no NUL, no line without "=" or with an empty key, ends in a newline (a torn file
 * does not). code ENOENT when it does not exist. */
int gd_kvs_load(const char *path, struct gd_kvs *kvs, struct gi_error *err);
const char *gd_kvs_get(const struct gd_kvs *kvs, const char *key);
void gd_kvs_free(struct gd_kvs *kvs);
int gd_mkdir_all(const char *path, mode_t mode, struct gi_error *err);
int gd_remove_tree(const char *path, struct gi_error *err);

/* ---- store-volume.c ---- */

/* glusterd.info, the pool's options and every volume. A volume that cannot be read is logged and left out (its directory keeps
 * the name taken). -1 only when the daemon cannot go on. */
int gd_store_load(struct gd *gd, struct gi_error *err);
/* This node is that one from now on. */
int gd_store_become(struct gd *gd, const struct gi_gfid *id, struct gi_error *err);
/* The definition, its bricks and its volfiles; bumps the version. */
int gd_store_volume(struct gd_volume *v, struct gi_error *err);
int gd_store_brick(const struct gd_brick *b, struct gi_error *err);
void gd_store_forget_brick(const struct gd_brick *b); /* it left the volume: its files go */
int gd_store_delete(struct gd *gd, const char *name, struct gi_error *err);
/* store-rebalance.c: node_state.info of the volume. */
int gd_store_rebalance(const struct gd_volume *v, struct gi_error *err);
void gd_store_load_rebalance(struct gd_volume *v);
int gd_store_pool_options(struct gd *gd, struct gi_error *err);
char *gd_volume_dir(const struct gd *gd, const char *name); /* caller frees */
/* Could it be the key of an option? Other keys of the file of a volume are facts of it. */
bool gd_is_volume_option(const char *key);
/* Could volfiles be written with its bricks, and are all of them different? Asked of a definition that was read. */
int gd_bricks_check(const struct gd_volume *v, struct gi_error *err);

/* ---- definition.c ---- */

/* The definition as a JSON text; the caller frees it. What another version wrote into the one it was read from is kept. */
char *gd_definition_write(const struct gd_volume *v);
/* Has the text it was read from members that are not known here? */
bool gd_definition_has_others(struct gd_volume *v);
struct json_t *gd_document_of(const char *text); /* the object that it is, or an empty one; the caller's */
/* A volume that is not linked; NULL and err if the text is no usable definition. */
struct gd_volume *gd_definition_read(struct gd *gd, const char *name, const char *text, struct gi_error *err);
/* Do they mean the same? Ports, process states and the number of the generation are no part of the meaning. */
bool gd_definition_same(const struct gd_volume *a, const struct gd_volume *b);
/* Options of all volumes likewise. */
/* `was`: the text before, of which what is not known here stays; NULL: there was none. */
char *gd_options_write(const struct gi_list *options, unsigned version, const char *was);
bool gd_options_read(struct gi_list *options, unsigned *version, const char *text);

/* ---- volgen.c ---- */

/* Caller frees the result. NULL and err when a translator that is needed cannot be loaded. */
struct gi_volfile *gd_volgen_client(const struct gd_volume *v, bool trusted, struct gi_error *err);
/* One replica set and nothing above it. */
struct gi_volfile *gd_volgen_set(const struct gd_volume *v, unsigned set, struct gi_error *err);
struct gi_volfile *gd_volgen_brick(const struct gd_brick *b, struct gi_error *err);
/* The text for a GETSPEC key (volfile.md 5), caller frees; *volume is set when the key names one. code ENOENT if unknown.
 * trusted: a client's has the volume's password in it, as those of bricks and self-heal daemons always have. */
char *gd_volgen_spec(struct gd *gd, const char *key, bool trusted, struct gd_volume **volume, struct gi_error *err);
/* Is it a key of a brick's or self-heal daemon's volfile? */
bool gd_volgen_is_service(struct gd *gd, const char *key);

/* ---- host.c ---- */

#define GD_NAME_ADDRESSES 8
struct gi_net_address;
/* Is `host` this machine? With a bind address only that address counts. Never blocks: a name that was not looked up lately is not. */
bool gd_host_is_local(const struct gd *gd, const char *host);
/* Has its name to be looked up before that can be said? */
bool gd_host_must_be_looked_up(struct gd *gd, const char *host);
/* It has these addresses, of which the first GD_NAME_ADDRESSES count, or none, for a while. */
void gd_host_learn(struct gd *gd, const char *host, const struct gi_net_address *addresses, unsigned n);
/* The i-th address of the host, in numbers, as far as it is known without looking it up; NULL: there is none. The caller frees it. */
char *gd_host_number(const struct gd *gd, const char *host, unsigned i);
void gd_hosts_let_go(struct gd *gd);

/* ---- brick-check.c ---- */

/* May `path` become a brick of a new volume? Creates its last component if need be (*created). */
int gd_brick_check_new(struct gd *gd, const char *host, const char *path, bool force, bool *created, struct gi_error *err);
/* The same of a brick's own directory, emptied or made anew by the administrator. */
int gd_brick_check_again(struct gd *gd, const struct gd_brick *b, bool force, bool *created, struct gi_error *err);
/* the marks of a directory before ours */
struct gd_brick_was {
  struct gd_xattr_was {
    bool set;   /* ours was written */
    size_t len; /* 0 = there was none */
    uint8_t value[64];
  } id, dirty;
};
void gd_brick_look(const char *path,
                   struct gd_brick_was *was); /* its marks, or that there are none; the others fill it in likewise */
/* Marks it with the volume's id; what was there before goes to *was. */
int gd_brick_mark(const char *host, const char *path, const struct gi_gfid *volume, struct gd_brick_was *was,
                  struct gi_error *err);
/* Marks its root as one whose names need a heal: it joins a replica set that has data. */
int gd_brick_mark_dirty(const char *host, const char *path, struct gd_brick_was *was, struct gi_error *err);
void gd_brick_unmark(const char *path, const struct gd_brick_was *was); /* as it was before gd_brick_mark */
/* Is the directory there and does it belong to the volume? */
int gd_brick_check_start(const struct gd_brick *b, struct gi_error *err);

#endif
