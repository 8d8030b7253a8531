/* SPDX-License-Identifier: Apache-2.0
 *
 * A translator is one const struct gi_xlator_class. Absence means pass
 * through: a translator is only on the path of the kinds it handles, and a
 * disabled one on none.
 *
 *   GI_XLATOR_EXPORT = {
 *     .abi = GI_XLATOR_ABI, .type = "performance/example", .summary = "…",
 *     .options = my_options, .options_bytes = sizeof(struct my_options),
 *     .on = { [GI_FOP_WRITE] = my_write }, .complete = my_complete, .init = my_init, .finish = my_finish };
 *
 * Down: `on[kind]`, else `submit`, is called with the fop and returns a
 * verdict. Forwarding is the core's: no winding.
 * Up: `complete` is called only for fops where the translator said
 * GI_PASS_TELL (or gi_fop_forward_tell).
 */
#ifndef GI_XLATOR_H
#define GI_XLATOR_H

#include "libglusterish/dump.h"
#include "libglusterish/error.h"
#include "libglusterish/fop.h"
#include "libglusterish/metrics.h"
#include "libglusterish/options.h"
#include "libglusterish/reactor.h"

struct gi_xlator;
struct gi_graph;
struct gi_ctx;
struct gi_question;
struct gi_layer_times;
struct gi_layer_name;

enum gi_verdict {
  GI_PASS,      /* down: go on to the first child; up: go on up */
  GI_PASS_TELL, /* down only: go on, and call my `complete` with the reply */
  GI_ANSWERED,  /* down only: fop->rsp is filled in; go back up from here */
  GI_HELD,      /* I keep it and will call gi_fop_forward / _forward_tell / gi_fop_answer (down) or gi_fop_return (up) */
};

typedef enum gi_verdict gi_fop_fn(struct gi_xlator *x, struct gi_fop *fop);

/* Which way each goes is in gi_event_table. */
enum gi_event {
  GI_EVENT_PARENT_UP,   /* down: the graph is complete, start working (connect) */
  GI_EVENT_PARENT_DOWN, /* down: the graph is about to go; finish what is delayed, close connections */
  GI_EVENT_CHILD_UP, /* up: `from` can serve; data = const char *: what a brick of ours can do beyond the protocol, words; or NULL */
  GI_EVENT_CHILD_DOWN,    /* up: `from` cannot */
  GI_EVENT_CHILD_CHANGED, /* up: some descendant came or went, `from` still serves */
  GI_EVENT_INVALIDATE,    /* up: data = struct gi_invalidation *: somebody else changed an inode */
  GI_EVENT_CONTENTION,    /* up: data = struct gi_contention *: somebody else waits for a lock of ours */
  GI_EVENT_CANCEL,        /* to who holds it: data = struct gi_fop *: answer it EINTR if it waits in a queue */
  GI_EVENT_CLIENT_GONE,   /* down, on a brick: data = the client pointer of gi_caller: drop its locks */
  GI_EVENT_LATENCY,       /* up: data = uint64_t *: nanoseconds of the last round trip to the brick that `from` stands for */
  GI_EVENT_MEASURE,       /* down: have a GI_EVENT_LATENCY come soon */
  GI_EVENT_RETRY,         /* to a translator without children: what could not be reached may be there now */
  GI_EVENT_LOCKS, /* up: data = struct gi_lock_news *: how a descriptor's posix locks stand on the brick that `from` stands for */
  GI_EVENT_WRITTEN, /* up: data = struct gi_written *: what was answered early (struct gi_reply.early) is on the bricks, or failed */
  GI_EVENT_PROMISE, /* up: data = const struct gi_promised *: what bricks promise now (promise.h); on a brick, what it does */
  GI_EVENT_WAITS, /* up: data = const struct gi_lock_wait *: an operation of ours waits for a lock of the brick that `from` stands for */
  GI_EVENT_NO_WORKER, /* up: data = struct gi_fop *: it is held on its way up, for as long as clients may take, and needs no worker */
  GI_EVENT_LEFT, /* up: data = const struct gi_left *: a client is gone that may have told other bricks less than this one */
  GI_EVENT_MAX,
};

/* Changes below may have gone untold: who keeps what others can change forgets it. */
static inline bool
gi_event_untold(enum gi_event event)
{
  return event == GI_EVENT_CHILD_UP || event == GI_EVENT_CHILD_DOWN || event == GI_EVENT_CHILD_CHANGED ||
         event == GI_EVENT_PROMISE;
}

/* Where an event goes from a translator that does not say it has handled it: to its parents, its children, or nowhere. */
enum gi_event_way { GI_WAY_UP, GI_WAY_DOWN, GI_WAY_HERE };

struct gi_event_info {
  const char *name; /* "PARENT_UP" */
  enum gi_event_way way;
};
extern const struct gi_event_info gi_event_table[GI_EVENT_MAX];

/* What is told of changes of others (promise.h). */
struct gi_promised {
  uint32_t seconds; /* after an operation on an object; 0: nothing */
  bool strict;      /* a change is answered when it is taken in */
};

/* A lock of replication that others may hold, for as long as they like. Whoever holds it may wait for us (struct gi_taken). */
struct gi_lock_wait {
  struct gi_gfid gfid;
  bool over; /* it did */
};

/* What a client that is gone had locked for changes of which nothing is noted before. */
struct gi_left {
  struct gi_inode *inode;
  bool names;      /* in that directory */
  bool attributes; /* its own */
};

/* Somebody waits until a change of others is taken in by all layers. A layer that needs time for that (another process has to be told)
 * holds it before its notify returns, and releases it once when nobody below or above it can see what was before any more. */
struct gi_taken {
  uint32_t holds;
  void (*all)(struct gi_taken *t); /* released by all; owns `t` */
};

/* struct gi_invalidation.flags (wire.md 10) */
enum {
  GI_UPCALL_NLINK = 0x1,
  GI_UPCALL_MODE = 0x2,
  GI_UPCALL_OWNER = 0x4,
  GI_UPCALL_SIZE = 0x8,
  GI_UPCALL_TIMES = 0x10,
  GI_UPCALL_ATIME = 0x20,
  GI_UPCALL_PERMISSIONS = 0x40,
  GI_UPCALL_RENAME = 0x80,
  GI_UPCALL_FORGET = 0x100, /* the brick knows it no more, and tells nothing of it from now on */
  GI_UPCALL_PARENT_TIMES = 0x200,
  GI_UPCALL_XATTR = 0x400,
  GI_UPCALL_XATTR_GONE = 0x800,
  GI_UPCALL_LOOK_AGAIN = 0x1000,
  GI_UPCALL_INVAL_ATTR = 0x2000, /* the attributes are to be asked for */
  GI_UPCALL_ALL = 0x3fff,
};

/* CACHE_INVALIDATION callback (wire.md 10) */
struct gi_invalidation {
  struct gi_gfid gfid;
  uint32_t flags;
  uint32_t expire_s;
  struct gi_iatt stat, parent, old_parent;
  struct gi_dict *xdata;
  void *client;           /* on a brick: whom to tell (a gi_caller.client); NULL = every client */
  struct gi_taken *taken; /* NULL: nobody waits */
};

/* NULL passes through: nobody waits. */
static inline struct gi_taken *
gi_taken_hold(struct gi_taken *t)
{
  if (t) {
    GI_ASSERT(t->holds > 0 && t->holds < UINT32_MAX);
    t->holds++;
  }
  return t;
}

static inline void
gi_taken_release(struct gi_taken *t)
{
  if (!t)
    return;
  GI_ASSERT(t->holds > 0);
  if (--t->holds == 0)
    t->all(t);
}

/* INODELK_CONTENTION / ENTRYLK_CONTENTION */
struct gi_contention {
  bool entry;
  struct gi_gfid gfid;
  const char *domain;
  const char *name; /* entry only */
  struct gi_flock flock;
  struct gi_dict *xdata;
  void *client; /* on a brick: whom to tell */
  bool moved;   /* nobody waits, but the lock is on a subvolume that does not have the object any more: it keeps nobody away */
};

/* Changes of one inode that were answered before the bricks had them have come to their end. Above the translator that answered them
 * each is under way from when it was submitted until this comes, exactly once for each. */
struct gi_written {
  struct gi_inode *inode;
  uint32_t changes;                   /* how many of those answered early end here, the oldest ones first; at least one */
  int err;                            /* errno: they are lost; it is told to every descriptor by whoever answered early */
  const struct gi_iatt *found, *left; /* by the bricks' replies: before the first of them and after the last; may be invalid */
  uint64_t asked;                     /* gi_now when the last went to the bricks; 0: unknown */
};

enum gi_locks_state {
  GI_LOCKS_HELD, /* all that were taken; what each descriptor begins with */
  GI_LOCKS_AWAY, /* the connection went, and the brick drops them; perhaps they can be taken again */
  GI_LOCKS_LOST, /* not all could be: another client has one */
};

struct gi_lock_news {
  struct gi_fd *fd;
  enum gi_locks_state state;
  bool unbroken; /* HELD: nobody else can have had them meanwhile */
  bool judged;   /* set by who decides what follows; else the descriptor is bad on the brick when they are lost */
};

/* A question or order of the management daemon to one translator (brick-op program, mgmt-protocol.md 5). */
struct gi_manage {
  int op;                   /* the number of mgmt-protocol.md 5.2 */
  unsigned index;           /* of the translator in the request: keys of the answer carry it */
  const struct gi_dict *in; /* the whole request; valid until `done` */
  struct gi_dict *out;      /* the answer of all translators addressed: add to it */
  void (*done)(struct gi_manage *m, int err);
};

/* Where a translator stands in the graphs that the management daemon makes for a volume. The layers of a client stand between
 * cluster/distribute and debug/io-stats, those of a brick between storage/posix and debug/io-stats (layer.h). */
struct gi_layer {
  unsigned side;        /* GI_SIDE_CLIENT, GI_SIDE_BRICK or both; 0: no layer */
  const char *above[4]; /* types: directly above the uppermost of them that is there; "*": above all others */
  const char *key;      /* of `volume set`: a switch; NULL: the layer is always there */
  const char *def;      /* of the switch, as text */
  const char *since;    /* of the switch: version of this project */
  const char *text;     /* of the switch, for users */
  bool by_name; /* the switch is "off" or names the layer above which this one goes, "client" at the top of a client's */
  bool arbiter; /* only on bricks without data */
};

/* What a translator and the libraries must agree on: sizes and kinds that an edit of the interface changes. A file of another build that
 * differs in them is refused, for it would read the wrong members. */
#define GI_ABI_AND(sum, part) ((unsigned)(sum)*8191u + (unsigned)(part))
#define GI_ABI_OBJECTS GI_ABI_AND(GI_ABI_AND(sizeof(struct gi_fop), sizeof(struct gi_inode)), sizeof(struct gi_fd))
#define GI_XLATOR_ABI GI_ABI_AND(GI_ABI_AND(GI_ABI_OBJECTS, sizeof(struct gi_xlator)), GI_FOP_MAX)

struct gi_xlator_class {
  unsigned abi;     /* GI_XLATOR_ABI: every class writes .abi = GI_XLATOR_ABI */
  const char *type; /* "kind/name"; the file is xlators/kind/name.so */
  const char *version;
  const char *summary;      /* one line */
  unsigned messages;        /* base of the ids of its log messages, which no other translator has; 0: it logs nothing */
  struct gi_layer layer[2]; /* one for each side; none: the management daemon knows of it by itself, or never uses it */
  unsigned min_children, max_children;
  bool branches; /* an object is below one of its children, as a rule: each has a part of its own in inodes and fds (graph.h) */
  const struct gi_option *options;
  size_t options_bytes;                      /* size of the values struct */
  const struct gi_metric *metrics;           /* over the struct at x->metrics, or NULL */
  void (*measure)(struct gi_xlator *x);      /* brings x->metrics up to date, before they are read; NULL: they always are */
  uint32_t fop_bytes, inode_bytes, fd_bytes; /* zeroed memory per fop / inode / fd */
  gi_fop_fn *submit;                         /* for the kinds in submit_kinds without an on[] entry */
  uint64_t submit_kinds;                     /* set of GI_KIND(); 0 with submit set = all */
  gi_fop_fn *on[GI_FOP_MAX];
  gi_fop_fn *complete;
  /* init: x->options holds parsed values; children are initialised. 0, or -1 with err set. */
  int (*init)(struct gi_xlator *x, struct gi_error *err);
  void (*finish)(struct gi_xlator *x); /* after a successful init; no fop is under way */
  /* Live change in three steps; all translators of the graph prepare, then all commit (or all abort). `values` is the new
   * struct; after commit it is x->options (the framework swaps and frees). Any may be NULL. */
  int (*reconfigure_prepare)(struct gi_xlator *x, const void *values, struct gi_error *err);
  void (*reconfigure_commit)(struct gi_xlator *x); /* x->options is new already, x->old_options still readable */
  void (*reconfigure_abort)(struct gi_xlator *x, const void *values);
  /* The new volfile has another set of children. They wait in x->incoming (NULL: what waited is called off); the translator goes on
   * with the old ones until nothing of its own refers to them, then calls gi_xlator_take_children, from here or later. Before,
   * reconfigure_prepare can see x->incoming and refuse. NULL: another set of children is another topology. */
  void (*children_changed)(struct gi_xlator *x);
  /* It is to leave the path: switched off, or no longer in the volfile. From now on (x->draining) it holds nothing new; what comes goes
   * on behind what it still has. When that is nothing it calls done(x), once, from here or later. Until then it stays on the path,
   * however long that takes: nothing overtakes what it holds. If it is wanted again meanwhile it stays, and holds again after
   * done(x). NULL: it never holds anything. */
  void (*drain)(struct gi_xlator *x, void (*done)(struct gi_xlator *x));
  /* An event. False: the core forwards it as gi_event_table says, as it does without notify. True: it ends here, or the translator
   * has sent what goes on (gi_notify_up, gi_notify_down). */
  bool (*notify)(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data);
  void (*statedump)(struct gi_xlator *x, struct gi_dump *d);
  void (*ask)(struct gi_xlator *x, struct gi_question *q); /* tells what it knows of that (ask.h) */
  /* Calls m->done(m, 0 or errno) exactly once, now or later; EOPNOTSUPP for what it does not know. */
  void (*manage)(struct gi_xlator *x, struct gi_manage *m);
  void (*inode_forget)(struct gi_xlator *x, struct gi_inode *inode, void *bytes);
  void (*fd_release)(struct gi_xlator *x, struct gi_fd *fd, void *bytes);
};

/* The one symbol a translator exports. */
#define GI_XLATOR_SYMBOL "gi_xlator_export"
#define GI_XLATOR_EXPORT \
  extern const struct gi_xlator_class gi_xlator_export; \
  const struct gi_xlator_class gi_xlator_export __attribute__((visibility("default")))

#define GI_XLATOR_MAGIC 0x1d0a1a01u

struct gi_xlator {
  uint32_t magic;
  unsigned index; /* position in the graph, children first */
  const struct gi_xlator_class *cls;
  char *name; /* the volfile name */
  struct gi_graph *graph;
  struct gi_ctx *ctx;
  struct gi_reactor *reactor;
  unsigned nchildren, nparents;
  struct gi_xlator **children, **parents;
  unsigned nincoming;
  struct gi_xlator **incoming; /* the children it shall have (children_changed); NULL = those it has */
  void *options;               /* the class's values struct */
  void *old_options;           /* during reconfigure_commit only */
  void *private;               /* the translator's own */
  void *metrics;               /* struct described by cls->metrics, set in init */
  uint64_t kinds;     /* set of GI_KIND(): it is on the path of these only; 0 = of all its class handles (gi_graph_compile) */
  bool enabled;       /* off: on no kind's path (gi_xlator_enable) */
  bool draining;      /* the class's `drain` has not called done */
  bool switching_off; /* when it is drained it is no longer enabled */
  bool away;          /* when it is drained it leaves the graph: the volfile no longer has it */
  struct gi_xlator *front; /* one that is away and stands in front of this one until it is drained: the way here leads to it */
  bool initialised;
  struct gi_promised promise;   /* only at the bottom (promise.h) */
  uint16_t layer;               /* its number in gi_graph.layers, for as long as the graph lives */
  struct gi_layer_times *times; /* times.h; NULL before the first operation */
  enum gi_wait_for waits;       /* what operations wait for that it holds without a word (gi_fop_waits); or nothing */
  const char *waits_what, *waits_who;
  struct gi_layer_name *label; /* its name in trees (tree.h); NULL before the first */
  uint32_t fop_offset, inode_offset, fd_offset;
  uint16_t part; /* of inodes and fds that has its bytes: 1 + index in gi_graph.parts; 0: they are in the object itself */
  struct gi_xlator *next[GI_FOP_MAX]; /* compiled: the next interested translator below the first child, or that child */
  void *dl;                           /* dlopen handle; NULL for built-in or test classes */
};

/* This translator's bytes in a fop. The class must have fop_bytes > 0. */
static inline void *
gi_fop_private(struct gi_fop *fop, const struct gi_xlator *x)
{
  return fop->bytes + x->fop_offset;
}

static inline struct gi_xlator *
gi_first_child(const struct gi_xlator *x)
{
  return x->nchildren ? x->children[0] : NULL;
}

/* These six take a fop that x holds, and nobody else's: GI_HELD was its last verdict.
 * It goes on down to x's first child. */
void gi_fop_forward(struct gi_fop *fop, struct gi_xlator *x);
/* The same, and x->cls->complete sees the reply. */
void gi_fop_forward_tell(struct gi_fop *fop, struct gi_xlator *x);
/* As these two, to the child given instead of the first one: an operation of which one child alone has the object. The handler says
 * GI_HELD. */
void gi_fop_forward_to(struct gi_fop *fop, struct gi_xlator *x, struct gi_xlator *child);
void gi_fop_forward_tell_to(struct gi_fop *fop, struct gi_xlator *x, struct gi_xlator *child);
/* Its rsp is filled in: it goes back up from x. */
void gi_fop_answer(struct gi_fop *fop, struct gi_xlator *x);
/* Held by `complete`, it goes on up from x. */
void gi_fop_return(struct gi_fop *fop, struct gi_xlator *x);
/* Carries out the verdict of a handler that is asked later, or again: gi_fop_resume(fop, x, handler(x, fop)). Of a fop that is
 * still held (GI_HELD) nothing is touched: it may be gone. */
void gi_fop_resume(struct gi_fop *fop, struct gi_xlator *x, enum gi_verdict verdict);

/* Fill rsp and give the verdict: `return gi_fop_fail(fop, ENOENT);`, `return gi_fop_ok(fop, 0);`. */
static inline enum gi_verdict
gi_fop_fail(struct gi_fop *fop, int err)
{
  fop->rsp.ret = -1;
  fop->rsp.err = err;
  return GI_ANSWERED;
}

static inline enum gi_verdict
gi_fop_ok(struct gi_fop *fop, int ret)
{
  fop->rsp.ret = ret;
  fop->rsp.err = 0;
  return GI_ANSWERED;
}

void gi_notify_up(struct gi_xlator *x, enum gi_event event, void *data);   /* to every parent of x; an event that goes up */
void gi_notify_down(struct gi_xlator *x, enum gi_event event, void *data); /* to every child of x; an event that goes down */
void gi_notify(struct gi_xlator *x, enum gi_event event, void *data);      /* to x itself, from nobody */

/* x->incoming becomes x->children. Children that have no other parent are told: PARENT_UP to those that came, PARENT_DOWN to those
 * that left (which stay in the graph, parked), in an active graph. Their events come from inside: x's own state must fit already. */
void gi_xlator_take_children(struct gi_xlator *x);

/* The first enabled translator at or below `x` (first children) that handles the kind; NULL if none does. */
struct gi_xlator *gi_xlator_interested(struct gi_xlator *x, enum gi_fop_kind kind);

/* On/off as a state. One that is switched off drains first and is on the path until that is done, perhaps long after this call;
 * switched on meanwhile, it has never been off. */
void gi_xlator_enable(struct gi_xlator *x, bool enabled);

/* What is below it is spread over several children of one translator: a listing that goes on while files move from one to another may
 * lack some of them. */
bool gi_xlator_is_spread(const struct gi_xlator *x);
/* The text of an option as the volfile gave it (for wildcard options), or NULL. */
const char *gi_xlator_option(const struct gi_xlator *x, const char *name);

#endif
