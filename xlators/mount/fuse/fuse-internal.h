/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of mount/fuse share. `struct bridge` is the translator's
 * private state; `struct op` the bytes it keeps in each operation it starts;
 * `struct node` and `struct handle` those in each inode and fd.
 */
#ifndef FUSE_INTERNAL_H
#define FUSE_INTERNAL_H

#include "fuse-compat.h"
#include "libglusterish/trust.h"

#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#include <errno.h>
#include <fcntl.h>

#define GI_MSG_FUSE 109000 /* base of message ids */

#define BRIDGE_MAX_WRITE (1u << 20)            /* largest WRITE and READ, bytes */
#define BRIDGE_HEADER 80                       /* fuse_in_header + fuse_write_in: what precedes the data of a WRITE */
#define BRIDGE_BURST 16                        /* most requests read in one turn */
#define BRIDGE_BLKSIZE 131072                  /* st_blksize shown to programs (fuse.md 3) */
#define BRIDGE_READY_NS (30 * GI_NSEC_PER_SEC) /* a mount whose bricks do not answer by then has failed */
#define BRIDGE_DOWN_NS (8 * GI_NSEC_PER_SEC)   /* the same, once the child has said that it is down */

/* ---- tables of 64-bit names for objects: (generation << 32 | slot). A stale name is noticed, never followed. ---- */

struct id_slot {
  void *object; /* NULL = free */
  uint32_t generation;
  uint32_t next_free;
};

struct id_table {
  struct id_slot *slot;
  uint32_t count, capacity, free_head;
};

void id_table_free(struct id_table *t);
uint64_t id_add(struct id_table *t, void *object);   /* never 0 or 1 */
void *id_get(const struct id_table *t, uint64_t id); /* NULL if it names nothing (any more) */
void id_del(struct id_table *t, uint64_t id);
/* Objects one after the other: *pos starts at 0; NULL at the end. */
void *id_next(const struct id_table *t, uint32_t *pos);

/* ---- nodes by id ---- */

struct node;
struct gi_gfid;
struct node_map {
  struct node **slot;
  uint32_t count, capacity;
};

uint64_t node_id_of(const struct gi_gfid *gfid);                  /* the id that node_map_add gives it, if no other has it */
void node_map_add(struct node_map *m, struct node *n);            /* n->inode is set; gives n->id */
struct node *node_map_get(const struct node_map *m, uint64_t id); /* NULL: none */
void node_map_del(struct node_map *m, const struct node *n);
/* The first node from *pos on, which starts at 0; NULL at the end. To be called again only after it was deleted. */
struct node *node_map_first(const struct node_map *m, uint32_t *pos);
void node_map_free(struct node_map *m);

/* ---- nodes by the name that they were seen under last (fuse-names.c) ---- */

struct name_map {
  struct node **bucket;
  uint32_t count, capacity;
};

struct node *name_map_get(const struct name_map *m, uint64_t parent_id, const char *name); /* NULL: none */
/* n->parent_id and n->name lead to it from now on, and to no other. They must not change before name_map_del. */
void name_map_put(struct name_map *m, struct node *n);
void name_map_del(struct name_map *m, struct node *n); /* if it is there */
void name_map_free(struct name_map *m);

/* ---- options ---- */

struct bridge_options {
  char *mountpoint, *fsname, *volume_name;
  double attribute_timeout, entry_timeout, negative_timeout;
  uint64_t gid_timeout;
  char *direct_io_mode, *fopen_keep_cache, *mountopts;
  bool acl, selinux, capability, enable_ino32, kernel_writeback_cache, read_only, auto_invalidation, use_readdirp;
  int64_t lru_limit, background_qlen, congestion_threshold, times_granularity;
};

struct bridge_metrics {
  uint64_t requests, reply_errors, interrupted, malformed;
  uint64_t lookups_counted, lookups_forgotten, stale_nodeids;
  uint64_t read_bytes, write_bytes, local_getxattr, local_flush, local_setattr;
  uint64_t foreign_changes, inval_inode, inval_entry, device_reads, device_empty, getattr_remembered;
  uint64_t early_writes, early_setattr, lost_writes, capability_spared, upcalls;
};
extern const struct gi_metric bridge_metric_table[];

/* ---- per inode ---- */

struct node {
  uint64_t id;            /* 0 = the kernel does not know it */
  struct gi_inode *inode; /* back pointer while id != 0 */
  struct gi_trust trust;  /* what may be believed of it; the kernel's pages belong to that version */
  uint64_t early_end;     /* where the last WRITE that was answered early ends: what bricks say of the size may be older … */
  uint64_t early_seq;     /* … if it was asked for before this, when some of them last ended */
  uint64_t wrote_end;     /* where our last WRITE ended, until the kernel is told attributes; 0: none since then */
  uint64_t shared_until;  /* gi_now; a directory that others change at the same time: the kernel keeps no names of it */
  struct held *held;      /* times that were set since it was made, and answered (fuse-held.c); NULL: none */
  uint64_t attr_until;    /* gi_now: so long the kernel may believe its attributes, as all bricks said them … */
  uint64_t parent_id;     /* where the last LOOKUP found it, to be able to ask the kernel to drop it … */
  char *name;
  struct node *name_next;                /* in the same bucket of bridge.names */
  uint64_t name_until;                   /* … and so long, that this name leads to it */
  struct gi_list lru;                    /* bridge.lru, oldest first */
  struct gi_time lazy_mtime, lazy_ctime; /* kernel write-back: times the kernel gave … */
  bool lazy_times;                       /* … and we have not sent */
  bool dirty;                            /* written by us and not yet known to be on the bricks */
  bool early_append;                     /* one of the writes answered early and still under way appends */
  bool queued;                           /* an invalidation is waiting that nobody waits for */
  bool name_queued;                      /* … that of its name */
  bool opened;                           /* the kernel may have pages */
  bool no_capability;                    /* security.capability is known to be absent */
  uint8_t asked_capability;              /* how often the kernel has asked for that; 2: more than once for all */
  bool listed;                           /* a directory: the kernel may believe names of it as a listing told them */
  bool others;                           /* somebody else has changed it since the kernel knows it */
  bool removed;                          /* a directory, by us: there may be processes in it */
  bool locked;                           /* has had a lock through this mount */
  bool wrote_locked;                     /* kernel write-back: its pages may hold what was written under a lock */
  bool fresh;                            /* made here, and not closed yet; all that was written to it was answered early … */
  bool fresh_written;                    /* … and that is not nothing */
  uint32_t dropping;                     /* invalidations waiting or with a worker */
  uint32_t naming;                       /* a directory: operations of ours under way that change its names … */
  uint64_t named;                        /* … counted when they begin and end */
};

/* ---- per fd ---- */

struct opener;
struct handle {
  uint64_t id;
  struct gi_fd *fd;         /* while id is set */
  uint64_t names_until;     /* of a directory, gi_now: so long all bricks have promised to tell of its names … */
  uint64_t news;            /* … as node_news said when it was opened */
  struct opener *opener;    /* of a file: the thread that opened it */
  struct gi_list of_opener; /* its files */
  bool dirty;               /* something was written through it since its last flush or fsync */
  bool gone;                /* a removed directory: open for the kernel only, and empty */
  int lost;                 /* why times could not be set that were answered, until an fsync tells; 0: they could */
};

/* Open files by the thread that opened them (fuse-opener.c). */
struct opener_table {
  struct gi_list bucket[64]; /* struct opener */
  unsigned count;
};

void opener_table_init(struct opener_table *t); /* nothing to free when it is empty again */
void opener_add(struct opener_table *t, struct handle *h, int32_t thread);
void opener_del(struct opener_table *t, struct handle *h); /* one that was not added is fine */
/* The files opened by the threads that `process`, the number of any of them, has now. `fn` must not open or close any. */
void opener_foreach(struct opener_table *t, int32_t process, void (*fn)(void *arg, struct handle *h), void *arg);

/* ---- per operation ---- */

struct op {
  fuse_req_t req;
  struct session *session;                        /* referenced while req is set */
  struct gi_inode *changes;                       /* counted in its node.inflight; borrowed: the fop's loc or fd holds it */
  uint64_t began;                                 /* what gi_trust_change_ended wants */
  bool deferred;                                  /* the change was answered early: it does not end with this */
  uint64_t seq;                                   /* bridge.order.clock when submitted */
  uint32_t size;                                  /* room in the reply */
  uint64_t wanted;                                /* the id of a node that is looked for */
  bool nameless;                                  /* a file loses a name, and it is not known which */
  bool naming;                                    /* counted in node.naming of its directories */
  bool looked;                                    /* GETATTR, SETATTR: right after the caller's LOOKUP */
  bool retried, kill;                             /* OPEN: second try; setuid and setgid bits must fall */
  bool plus;                                      /* READDIRP: the kernel wants attributes */
  void (*next_done)(struct gi_fop *fop, void *x); /* a preparation: its parent fop goes next, with this done */
  void (*held_up)(struct gi_fop *fop, void *x);   /* it waits for held times, and goes with this done then */
  struct gi_defer cancel;                         /* what waits was interrupted */
  bool cancellable;
  uint32_t looks; /* a lock: files that are looked at before the kernel is told */
};

#define GROUP_SLOTS 256
struct group_slot {
  uint32_t pid, uid, gid;
  uint32_t count;
  uint64_t until_ns; /* 0 = empty */
  uint32_t *group;   /* owned; NULL if there are none */
};

enum bridge_state {
  BRIDGE_WAITING,  /* for a child that can serve */
  BRIDGE_LOOKING,  /* the root lookup is under way */
  BRIDGE_MOUNTING, /* mounted; INIT not yet answered */
  BRIDGE_SERVING,
  BRIDGE_DRAINING, /* PARENT_DOWN: no new requests */
  BRIDGE_ENDED,    /* unmounted, or never came up */
};

/* What libfuse keeps for a mount. Requests not yet answered and a notification under way use it, so it goes with the last. */
#define SESSION_MAGIC 0xf05e5e55u

struct session {
  uint32_t magic;
  struct fuse_session *se;
  struct gi_reactor *r;
  int tell_fd; /* a second descriptor of the device, for those who may have to wait for requests that came by the first; -1: none */
  unsigned refs;
};

/* What the kernel is to drop. Requests wait for what is said of inodes and may hold up what is said of names, so each goes its own way. */
struct inval_job;
struct inval_lane {
  struct gi_list items; /* struct inval_item */
  uint32_t count;
  struct inval_job *job; /* one batch is with a worker; NULL = none */
};

/* Names that the kernel was told nothing has, all for the same time: the oldest go first. */
struct absent_names {
  struct gi_list list; /* struct absent */
  uint32_t count;
};

#define BRIDGE_MAGIC 0xf05eb21du

struct bridge {
  uint32_t magic;
  struct gi_xlator *x;
  struct bridge_metrics m;
  enum bridge_state state;
  double attr_timeout, entry_timeout, negative_timeout; /* of what all bricks said, seconds … */
  double one_attr_timeout, one_entry_timeout;           /* … and one of them */
  bool direct_io, keep_cache;
  struct gi_timer ready_timer;
  struct gi_inode *root; /* referenced since the root lookup */

  struct session *session; /* NULL while there is no mount */
  struct gi_io io;
  struct gi_timer read_timer; /* reading failed for a moment */
  int fd;
  uint8_t *request; /* the request being handled: header and arguments */
  size_t request_len;
  uint64_t came;     /* gi_ticks when reading it began; 0: none is being handled */
  struct gi_buf *rx; /* where the data of the next WRITE lands, page aligned, right behind that of the last … */
  size_t rx_used;
  struct gi_buf *rx_next; /* … and goes on when `rx` is full; NULL while a largest one fits */
  unsigned burst, calm;   /* how many requests to try per turn; turns until it may grow */
  bool in_init;
  bool told_ready;
  bool leaving;
  uint64_t left_bytes;   /* write_bytes when it was last seen whether the kernel still writes back */
  char *real_path;       /* of the mount point, taken before anything was mounted there */
  uint64_t init_offered; /* capability bits the kernel offered beyond what libfuse knows */

  struct node_map nodes;
  struct name_map names;
  struct id_table fds; /* struct gi_fd */
  struct opener_table openers;
  struct gi_list lru; /* struct node.lru */
  uint32_t node_count;
  struct gi_budget_user nodes_user; /* what the kernel refers to, and may be asked to let go of */
  struct gi_trust_order order;
  uint32_t stale_pid;   /* whose change was the last of an object that was not there any more */
  uint64_t stale_until; /* gi_now; another change of that caller before then belongs to the same call */

  struct gi_gfid_run gfids; /* of objects that the kernel makes */

  struct gi_list held;    /* struct held: times that were answered */
  struct gi_list held_up; /* struct gi_fop.link: who waits for them */
  struct gi_timer held_timer;
  bool (*delays)(struct bridge *b, struct gi_fop *fop,
                 void (*done)(struct gi_fop *fop, void *x)); /* of op_submit: true if it goes later */
  struct absent_names absent;
  uint64_t news;        /* moves with what bricks tell, and when they come and go */
  struct gi_list told;  /* struct told: somebody waits until the kernel knows */
  struct gi_list waits; /* struct lock_wait: we wait for locks */
  struct inval_lane inodes_to_drop, names_to_drop;
  unsigned jobs; /* of any kind, with a worker */

  struct group_slot *groups;
};

static inline struct bridge *
bridge_of(const struct gi_xlator *x)
{
  struct bridge *b = x->private;

  GI_CHECK(b, BRIDGE_MAGIC);
  return b;
}

static inline struct bridge_options *
bridge_options(const struct bridge *b)
{
  return b->x->options;
}

static inline struct bridge *
bridge_of_req(fuse_req_t req)
{
  struct bridge *b = fuse_req_userdata(req);

  GI_CHECK(b, BRIDGE_MAGIC);
  return b;
}

static inline uint64_t
ns_of(double seconds)
{
  return (uint64_t)(seconds * GI_NSEC_PER_SEC);
}

static inline struct node *
node_of(const struct bridge *b, const struct gi_inode *inode)
{
  return gi_inode_private(inode, b->x);
}

static inline struct handle *
handle_of(const struct bridge *b, const struct gi_fd *fd)
{
  return gi_fd_private(fd, b->x);
}

static inline struct op *
op_of(const struct bridge *b, struct gi_fop *fop)
{
  return gi_fop_private(fop, b->x);
}

/* ---- fuse.c ---- */
void bridge_enter(struct bridge *b,
                  enum bridge_state next);         /* the only way from one state to another; asserts that it may be */
void bridge_check(const struct bridge *b);         /* asserts what always holds between two events */
void bridge_tell_ready(struct bridge *b, int err); /* at most one call counts; an error ends the mount */

/* ---- fuse-session.c ---- */
int session_start(struct bridge *b, struct gi_error *err); /* mounts and begins to read; 0 or -1 */
void session_stop(struct bridge *b);                       /* unmounts; all-zero is fine */
void session_ended(struct bridge *b);                      /* the kernel has let go: tells the program, once */
extern const struct fuse_lowlevel_ops session_ops;

/* ---- fuse-raw.c ---- */
struct session *session_ref(struct session *s);
/* Notifications, on a worker. The kernel drops the name; the data and attributes of an inode, or the attributes alone. */
void session_drop_name(const struct session *s, uint64_t parent, const char *name);
void session_drop_inode(const struct session *s, uint64_t id, bool data);
/* For a work that may wait in the kernel for an answer of ours. The process may be killed meanwhile: the requests end when the descriptor that
 * they came by is closed, which a thread that hangs and has it does not do. */
void session_alone(const struct session *s, struct gi_work *w);
void session_unref(struct session **s);
/* Where the next request lands behind its first BRIDGE_HEADER bytes: room for BRIDGE_MAX_WRITE, in pieces. Their number. */
int session_room(struct bridge *b, struct iovec iov[2]);
/* What landed there, by reference, as if it were `size` bytes; no more than the request has. */
void session_landed(const struct bridge *b, size_t size, struct gi_payload *payload);
/* Takes the data of the WRITE being handled into `payload` without copying; false if the request is malformed. */
bool session_take_data(struct bridge *b, size_t size, struct gi_payload *payload);
const void *session_request_args(const struct bridge *b); /* of the request being handled: what follows its header */
/* Flag words of it that libfuse does not pass on. */
uint32_t session_write_flags(const struct bridge *b);
uint32_t session_open_flags(const struct bridge *b);
bool session_setattr_owner(const struct bridge *b, uint64_t *owner); /* false: none was given */
bool session_setattr_kill(const struct bridge *b);

/* ---- fuse-check.c ---- */
/* True if `len` bytes at `data` are one well-formed request of its opcode (lengths, terminated names). */
bool request_is_sound(const uint8_t *data, size_t len);

/* ---- fuse-request.c ---- */
void groups_free(struct bridge *b);
/* A fop for `req`, caller filled in. */
struct gi_fop *op_new(struct bridge *b, fuse_req_t req, enum gi_fop_kind kind);
void op_set_owner(struct gi_fop *fop, uint64_t owner);
void op_set_root(struct gi_fop *fop);                   /* caller := root, for what the bridge does on its own account */
void op_new_gfid(struct bridge *b, struct gi_fop *fop); /* xdata gfid-req for a creating fop */
/* Says that `fop` will change `inode` (held by fop's loc or fd). */
void op_changes(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode);
/* Sends it down. `done` gets the bridge's translator as argument and must end with op_end, which also ends one never sent. */
void op_submit(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x));
void op_send(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x)); /* at once */
void op_end(struct bridge *b, struct gi_fop *fop);
/* It may wait long: an interruption of the request is passed on as a cancellation (gi_fop_cancel), until it is answered. */
void op_interruptible(struct bridge *b, struct gi_fop *fop);
void op_uninterruptible(struct bridge *b,
                        struct gi_fop *fop); /* it has been answered; one that was never interruptible is fine */
/* The same as op_submit, but first takes the setuid and setgid bits off `inode` if it has them (HANDLE_KILLPRIV_V2: the kernel leaves that
 * to us). If that fails the request is answered with the error and the fop dropped. */
void op_submit_unprivileged(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode,
                            void (*done)(struct gi_fop *fop, void *x));
/* For a `done` of such an operation, before it answers: true if the reply shows bits that were not known and still must fall. They are
 * taken off, and `done` is called again. */
bool op_still_privileged(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x));
/* Finishes a request that was answered by fuse_reply_*: counts errors. Returns `res`. */
int reply_result(struct bridge *b, int res);
void reply_err(struct bridge *b, fuse_req_t req, int err);
/* The error of a failed fop on an existing node: ENOENT means that the node is stale (fuse.md 3). */
int err_of_node(const struct gi_fop *fop);
/* True if `fop` failed because its directory is not there any more, and that was us. */
bool is_removed(const struct bridge *b, const struct gi_fop *fop);
/* done handlers for fops whose reply is only success or failure: of an entry (errors as they are), of a node. */
void done_status(struct gi_fop *fop, void *x);
void done_status_node(struct gi_fop *fop, void *x);

/* ---- fuse-node.c ---- */
/* The inode of a node id, borrowed; NULL (the request was answered ESTALE) if the id is stale. */
struct gi_inode *node_inode(struct bridge *b, fuse_req_t req, fuse_ino_t ino);
struct gi_inode *node_find(struct bridge *b, fuse_ino_t ino);                               /* likewise without answering */
struct gi_fd *handle_fd(struct bridge *b, fuse_req_t req, const struct fuse_file_info *fi); /* borrowed; NULL: answered EBADF */
struct gi_fd *handle_find(struct bridge *b, const struct fuse_file_info *fi);
/* One of that file that is open on the bricks, for writing if `write`: it works for a file without a name, too. NULL: there is none. */
struct gi_fd *handle_any(const struct bridge *b, const struct gi_inode *inode, bool write);
void handle_open(struct bridge *b, struct gi_fd *fd); /* gives it an id and takes a reference */
void handle_close(struct bridge *b, struct gi_fd *fd);
void handle_check(const struct bridge *b, const struct gi_fd *fd); /* likewise */
/* Fills everything of an entry reply, with the timeouts of what one brick said; the inode gets an id if it has none. */
void node_entry(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *iatt, struct fuse_entry_param *e);
void node_entry_of_all(struct bridge *b, const struct gi_fop *fop,
                       struct fuse_entry_param *e); /* all bricks did it: its timeouts, from when they were asked */
/* A listing, which one brick answers, shows `inode` as `name` of `dir`: what all bricks have promised of it goes on to count. */
void node_entry_listed(struct bridge *b, const struct gi_inode *inode, const struct gi_fd *dir, const char *name,
                       struct fuse_entry_param *e);
/* By which id the kernel knows it; 0: it does not. */
uint64_t node_kernel_id(const struct bridge *b, const struct gi_inode *inode);
/* Moves with whatever may make names of that directory others than bricks have said. */
uint64_t node_news(const struct bridge *b, const struct gi_inode *dir);
/* The kernel knows as many files as it may, and a sixteenth more, but not this one: a listing does not make it known. */
bool node_too_many(const struct bridge *b, const struct gi_gfid *gfid);
/* The kernel knows it, by the name by which it was found now, from that listing. */
void node_listed(struct bridge *b, struct gi_inode *inode, const struct gi_fd *dir);
/* The kernel was told what all bricks said, for as long as `e` says; its name is known by node_named. */
void node_promised(struct bridge *b, struct gi_inode *inode, const struct fuse_entry_param *e);
/* A name in `dir` is about to be told: not for long if others change names there, too. */
void node_entry_in(const struct bridge *b, const struct gi_inode *dir, struct fuse_entry_param *e);
/* What is left of a timeout, seconds, of what an operation was answered. */
double seconds_left(const struct bridge *b, const struct gi_fop *fop, double timeout);
void node_check(const struct bridge *b, const struct node *n); /* asserts what always holds between two events */
void node_count(struct bridge *b, struct gi_inode *inode);     /* one more lookup that the kernel knows of */
uint64_t node_reclaim(void *bridge, uint64_t want); /* of bridge.nodes_user (budget.h): the kernel gives it back later */
void node_uncount(struct bridge *b, struct gi_inode *inode); /* the reply did not arrive: forget an id never told */
void node_forget(struct bridge *b, fuse_ino_t ino, uint64_t nlookup);
/* Adds to `loc`, which is a name in a directory, the object that was last seen there, if the kernel still holds it. */
void node_find_named(struct bridge *b, struct gi_loc *loc);
void node_named(struct bridge *b, struct gi_inode *inode, struct gi_inode *parent, const char *name);
void node_seen(struct bridge *b, const struct gi_inode *inode); /* the kernel asks of it: perhaps its name is next */
void node_say_unwritten(struct bridge *b); /* logs which files have writes that were answered and are not on the bricks */
void node_forget_all(struct bridge *b);
/* True if a file of this mode must lose setuid/setgid bits to a write by somebody without CAP_FSETID; *mode becomes the permissions
 * without them. */
bool kills_mode(uint32_t *mode);
void node_stat(const struct bridge *b, const struct gi_iatt *iatt, struct stat *st);
uint64_t node_ino(const struct bridge *b, uint64_t ino); /* the inode number as programs see it */

/* ---- fuse-change.c ---- */
/* A reply that does not carry `iatt` to the kernel is about to go: should the permissions have changed, the kernel asks for them. */
void node_mode_fell(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *iatt);
/* Attributes arrived for an inode, asked for at `seq` (op.seq). Those that somebody else changed drop the kernel's pages.
 * A size that does not have yet what was written, but answered early, is raised to that. */
void node_attributes(struct bridge *b, struct gi_inode *inode, struct gi_iatt *iatt, uint64_t seq);
/* The same for one who sees to the pages himself: true if the kernel holds some of an older version. */
bool node_must_drop(struct bridge *b, struct gi_inode *inode, struct gi_iatt *iatt, uint64_t seq);
/* The same, stricter: false also if that cannot be told. */
bool node_is_current(struct bridge *b, struct gi_inode *inode, struct gi_iatt *iatt, uint64_t seq);
void node_changed(struct bridge *b, struct gi_inode *inode); /* by us, at once, and no more than its ctime */
/* The same by `fop`, which was answered that `left` is how the inode is now. */
void node_moved(struct bridge *b, struct gi_inode *inode, const struct gi_fop *fop, const struct gi_iatt *left);
/* A change of `inode` by `fop`, whose reply tells at the end what it found and left (op_changes, op_end). */
void node_change_begins(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode);
void node_change_ended(struct bridge *b, struct gi_fop *fop);
/* It was answered before it was made (struct gi_reply.early): node_written ends it, and op_end does not. To be said before anything is
 * done about the reply. */
void node_change_deferred(struct bridge *b, struct gi_fop *fop);
void node_written(struct bridge *b,
                  const struct gi_written *w); /* changes that were answered early have been made, or are lost */
/* Attributes are about to be told because the kernel asked for them: they leave standing, where they may, what it knows of capabilities. */
void node_spare_capability(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *iatt);
void node_wrote(struct bridge *b, struct gi_inode *inode, uint64_t end); /* a WRITE of ours succeeded, and the kernel is told */
void node_others(struct bridge *b, struct gi_inode *inode); /* somebody else has changed it, or it is not what we made it */
/* What our last change left, and for how many seconds more it holds; NULL: ask. */
const struct gi_iatt *node_answer(struct bridge *b, const struct gi_inode *inode, double *seconds);
void node_settled(struct bridge *b, struct gi_inode *inode, uint64_t seq); /* a flush or fsync begun at `seq` succeeded */

/* ---- fuse-inval.c ---- */
void inval_inode(struct bridge *b, struct gi_inode *inode, bool data);
/* Attributes at once, of an inode for which a request is under way: the kernel has dropped them when this returns. */
void inval_attributes(struct bridge *b, struct gi_inode *inode);
/* Data and attributes, and calls `done` on the reactor once the kernel has dropped them (or the session has ended). What waits for
 * this must not be a request under which the kernel holds pages of the inode: READ, WRITE. */
void inval_inode_then(struct bridge *b, struct gi_inode *inode, void (*done)(struct bridge *b, void *arg), void *arg);
/* Calls done when everything that is in that lane now has been told; `lane`: inodes_to_drop or names_to_drop. */
void inval_then(struct bridge *b, struct inval_lane *lane, void (*done)(struct bridge *b, void *arg), void *arg);
/* Whether the kernel has yet to let go of pages of an inode, or of a name in a directory, of which that is true. */
bool inval_any(struct bridge *b, bool (*is)(struct bridge *b, struct gi_inode *inode, const void *arg), const void *arg);
void inval_name(struct bridge *b, struct node *n);                   /* the one by which it was last found */
void inval_absent(struct bridge *b, uint64_t parent_id, char *name); /* that nothing has that name, which is taken over */
bool inval_room(const struct bridge *b);                             /* else nothing is to be dropped that need not be */
void inval_stop(struct bridge *b); /* drops what waits; a batch with a worker comes back by itself */

/* ---- fuse-upcall.c ---- */
void upcall_event(struct bridge *b, const struct gi_invalidation *inv); /* a brick says that somebody else changed an inode */
/* Bricks that were away, or did not tell, say nothing of what happened meanwhile: what the kernel was promised for long it must ask for
 * again. */
void upcall_missed(struct bridge *b);
/* A change of ours of that inode begins: the kernel may not be able to let go of anything there before it ends, so nobody waits for that. */
void upcall_changing(struct bridge *b, const struct gi_inode *inode);
void upcall_waits(struct bridge *b, const struct gi_lock_wait *w); /* an operation of ours waits for a lock: the same */
void upcall_stop(struct bridge *b);
void absent_told(struct bridge *b, const struct gi_loc *loc); /* the kernel was told that nothing has that name */
void absent_stop(struct bridge *b);

/* ---- fuse-mount.c ---- */
/* The arguments of the session: name of the device, permissions, options of mount(2). */
void mount_args(const struct bridge *b, struct fuse_args *args);
/* Raises what the kernel limits per mount: read-ahead, and the share of dirty pages with write-back. */
void tune_mount(struct bridge *b);
/* gi_ctx.leave */
void mount_leave(struct gi_ctx *ctx);
bool mount_is_inherited(const struct bridge *b); /* the session is an fd we were given: nothing to unmount */

/* ---- fuse-handle.c ---- */
void lookup_dots(fuse_req_t req, fuse_ino_t ino, bool parent); /* LOOKUP of "." or "..", for file handles */

/* ---- operations, by subject ---- */
void entry_done(struct gi_fop *fop, void *x); /* answers a fop that brings an entry */
void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup);
void do_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void do_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name);
void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent, const char *newname, unsigned flags);
void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname);
void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);

void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi);
void do_readlink(fuse_req_t req, fuse_ino_t ino);
void do_access(fuse_req_t req, fuse_ino_t ino, int mask);
void do_statfs(fuse_req_t req, fuse_ino_t ino);

/* ---- fuse-times.c: times that the kernel owns, with kernel write-back ---- */

static inline struct gi_time
time_of(const struct timespec *ts)
{
  return (struct gi_time){.sec = ts->tv_sec, .nsec = (uint32_t)ts->tv_nsec};
}

/* Takes what the kernel pushes. False: it is another SETATTR, or nobody would ever close the file. */
bool times_keep(struct bridge *b, struct gi_inode *inode, const struct stat *attr, int to_set);
/* Before another SETATTR: times not yet sent must not undo what comes now. */
void times_order(struct bridge *b, struct gi_inode *inode, struct gi_fd *fd, int to_set);
/* Sends them to the bricks, if there are any; NULL fd: by gfid. Nobody waits for it. */
void times_send(struct bridge *b, struct gi_inode *inode, struct gi_fd *fd);
/* Submits `main`, of a descriptor, when they are there. */
void times_send_first(struct bridge *b, struct gi_fop *main, void (*done)(struct gi_fop *fop, void *x));
/* They are to go with the write that `fop`, a FLUSH or FSYNC, waits for. True: perhaps they do; what is left of them then is to be sent. */
bool times_go_along(struct bridge *b, struct gi_fop *fop);
/* They were pushed when the file was long removed; nobody is there to be told. */
bool times_came_too_late(const struct bridge *b, const struct gi_fop *fop);

/* ---- fuse-held.c: times of a file that was just made ---- */

/* A SETATTR that was not sent takes along what is held of its file. True: it has that change (op_changes). */
bool held_join(struct bridge *b, struct gi_fop *fop);
/* One that changes: true if it is answered here, and over. It is made with the next SETATTR, or soon. */
bool held_keep(struct bridge *b, struct gi_fop *fop);
void held_start(struct bridge *b);
void held_stop(struct bridge *b); /* all is sent, and nobody waits any more */

void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void do_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *bufv, off_t off, struct fuse_file_info *fi);
void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, struct fuse_file_info *fi);
void do_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi);
void do_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in, fuse_ino_t ino_out,
                        off_t off_out, struct fuse_file_info *fi_out, size_t len, int flags);
void do_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned int cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
              const void *in_buf, size_t in_bufsz, size_t out_bufsz);
/* What OPEN and CREATE tell the kernel about caching. */
void open_caching(struct bridge *b, const struct gi_inode *inode, int flags, struct fuse_file_info *fi);
/* Flags as the bricks want them: without what is the kernel's business; write-back needs to read what it completes. */
int open_flags(const struct bridge *b, int flags);

void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags);
void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

void do_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock);
void do_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep);
void do_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int cmd);

#endif
