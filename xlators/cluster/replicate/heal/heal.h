/* SPDX-License-Identifier: Apache-2.0
 *
 * Self-heal (replicate.md 7). A heal is a task (libglusterish/task.h): plain
 * procedures that ask the children and wait. What every kind of heal needs
 * stands in heal/tools.c: what all children say about an inode (a
 * view), locks with the healers' tie-breaker, and the undo of the marks.
 *
 * Every participant must decide alike: direction rules are heal/decide.c
 * and nothing else. A heal that cannot be finished leaves the marks as they are.
 */
#ifndef REP_HEAL_HEAL_H
#define REP_HEAL_HEAL_H

#include "xlators/cluster/replicate/copies/copies.h"

#include "libglusterish/heal-op.h"
#include "libglusterish/regions.h"

#define REP_HEAL_BLOCK (128u << 10)
#define REP_HEAL_TIMES (GI_SET_ATIME | GI_SET_MTIME | GI_SET_CTIME) /* ctime as the brick keeps it */

/* How a heal ended: one of these, or a negative errno (-EIO: split brain). */
enum {
  REP_HEALED = 0,
  REP_HEAL_BUSY = 1,  /* marks are there but there is nothing to do: operations run, or another healer is at work */
  REP_HEAL_CLEAN = 2, /* no marks at all: an index name that leads here is stale */
};

#define REP_HEAL_MAGIC 0x1d0a4e04u

/* What one heal is about. Made with rep_heal_begin; lives on the task's stack. */
struct rep_heal {
  uint32_t magic;
  struct rep *rep;
  struct gi_reactor *r;
  struct gi_gfid gfid;
  struct gi_inode *inode;     /* referenced */
  struct gi_caller caller;    /* pid and a lock owner of its own */
  bool data, metadata, entry; /* what may be healed */
  bool adopts;                /* what has no gfid on any copy gets one: somebody asks for it */
  enum gi_heal_op op;
  int op_child;        /* GI_HEAL_SOURCE_BRICK: the source; else -1 */
  const char *refusal; /* why `op` did not decide it, in the words of replicate.md 7.11; NULL: it was not asked or did */
  bool split_brain;
  uint64_t bytes_read, bytes_written, bytes_near, bytes_compared, bytes_skipped;
};

/* The operation that `xdata` brings (heal-op, child-name), into h->op and h->op_child. False: none, or one that is not known. */
bool rep_heal_read_op(struct rep_heal *h, const struct gi_dict *xdata);

void rep_heal_begin(struct rep_heal *h, struct rep *rep, const struct gi_gfid *gfid, int32_t pid);
/* The same work on a task of its own: like `from`, with another lock owner and nothing counted. */
void rep_heal_fork(struct rep_heal *h, const struct rep_heal *from);
void rep_heal_end(struct rep_heal *h);

/* ---- views (tools.c) ---- */

/* What every child says about one object, and its counters as a matrix. */
struct rep_view {
  const struct rep *rep;
  uint32_t asked, ok; /* children */
  uint32_t corrupt;   /* those of ok with a counter that is not one: nothing can be decided */
  int err[REP_MAX];   /* of those asked and not ok */
  struct gi_iatt stat[REP_MAX];
  struct gi_dict *xdata[REP_MAX];               /* owned; NULL where not ok */
  int32_t pending[REP_TYPES][REP_MAX][REP_MAX]; /* [type][i][j]: what i holds against j */
  int32_t dirty[REP_TYPES][REP_MAX];
};

/* Asks the children of `mask` for the inode by its gfid: attributes, counters, all user-visible xattrs. */
void rep_view_inode(struct rep_heal *h, uint32_t mask, struct rep_view *v);
/* The same of an inode that is not the heal's own. */
void rep_view_gfid(struct rep_heal *h, const struct gi_gfid *gfid, uint32_t mask, struct rep_view *v);
/* Asks for a name in the directory `parent`. `xdata` (may be NULL) is added to the request, e.g. gfidless-lookup. */
void rep_view_name(struct rep_heal *h, struct gi_inode *parent, const char *name, struct gi_dict *xdata, uint32_t mask,
                   struct rep_view *v);
/* A directory and a name in it, asked in one round. */
void rep_view_parent_and_name(struct rep_heal *h, struct gi_inode *parent, const char *name, struct gi_dict *xdata,
                              uint32_t mask, struct rep_view *dir, struct rep_view *v);
/* The general form: `fop` is any LOOKUP or STAT made by rep_heal_fop; consumed. */
void rep_view_ask(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct rep_view *v);
void rep_view_counters(struct rep_view *v, unsigned i); /* reads them from v->xdata[i], and whether they are counters at all */
void rep_view_clear(struct rep_view *v);                /* all-zero is fine */
bool rep_view_marked(const struct rep_view *v, enum rep_type type); /* any pending or dirty counter of that type */
/* 0 if every child has the object, with one type. Else -ENOENT: none has it; -EAGAIN: some lack it, until the directory is healed;
 * -ENOTCONN: some did not answer; -EIO: the types differ, also noted in h->split_brain. */
int rep_view_check(struct rep_heal *h, const struct rep_view *v);
/* The one errno all asked children failed with; 0 if some succeeded or they differ. */
int rep_view_errno(const struct rep_view *v);

/* ---- one operation on several children ---- */

/* A helper operation of this heal, not yet sent: caller set. */
struct gi_fop *rep_heal_fop(struct rep_heal *h, enum gi_fop_kind kind);
/* The same on an inode by loc. */
struct gi_fop *rep_heal_inode_fop(struct rep_heal *h, enum gi_fop_kind kind, struct gi_inode *inode);
/* A task that waits for a fan. */
struct rep_wait {
  struct gi_task *task;
  bool done;
};

/* Sends copies to every child of `mask`; before the fan is looked at it is waited for. Consumes fop. */
void rep_heal_fan_begin(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct gi_fan *fan, struct rep_wait *wait);
void rep_heal_fan_await(struct rep_heal *h, const struct rep_wait *wait);
/* Sends copies to every child of `mask` and waits for all. The replies are fan->reply; clear with gi_fan_clear. Consumes fop. */
void rep_heal_fan(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct gi_fan *fan);
/* The same when only success counts: the children that succeeded. */
uint32_t rep_heal_all(struct rep_heal *h, struct gi_fop *fop, uint32_t mask);
/* Sends to one child and waits; the answered fop, owned by the caller. Consumes fop. */
struct gi_fop *rep_heal_one(struct rep_heal *h, struct gi_fop *fop, unsigned child);
/* A GETXATTR of that key; `key` must last until it is answered. The answered fop, owned by the caller. */
struct gi_fop *rep_heal_getxattr(struct rep_heal *h, unsigned child, struct gi_inode *inode, const char *key);
/* Where the child has the inode in the volume, several names separated by ':'; NULL if it cannot tell. Owned by the caller. */
char *rep_heal_path(struct rep_heal *h, unsigned child, struct gi_inode *inode);

/* A round of different operations, several per child if need be, of which only success counts. */
struct rep_round {
  struct gi_fan fan;
  struct rep_wait wait;
};
void rep_round_begin(struct rep_heal *h, struct rep_round *round);
void rep_round_send(struct rep_round *round, struct gi_fop *fop, unsigned child); /* consumes fop */
uint32_t rep_round_wait(struct rep_heal *h, struct rep_round *round); /* children that were asked and failed nothing */

/* The gfid of the directory where names wait for another (replicate.md 7.8); false if the volume's id is unknown. */
bool rep_anon_gfid(const struct rep *rep, struct gi_gfid *gfid);
/* Looks it up, so that bricks mend what a power loss left of it. */
void rep_anon_repair(struct rep_heal *h);
/* Removes a name there, a directory with everything in it. The children of `mask` where it went. */
uint32_t rep_anon_remove(struct rep_heal *h, struct gi_inode *anon, const char *name, bool directory, uint32_t mask);

/* ---- locks ---- */

struct rep_heal_lock {
  bool entry;     /* an entry lock on the directory `inode`; else an inode lock */
  bool self_heal; /* in the self-heal domain; else where transactions lock */
  struct gi_inode *inode;
  const char *name;    /* entry: NULL = the whole directory */
  uint64_t start, len; /* inode lock; len 0 = to the end */
  uint32_t held;
};

enum rep_lock_mode {
  REP_LOCK_TIEBREAK, /* not waiting; if a majority was granted and some are busy: give back, then wait for all in turn */
  REP_LOCK_WAIT,     /* not waiting; if any is busy: give back, then wait for all in turn */
};

/* Takes it on the children of `mask`; the set that granted it, also in lock->held. A caller that needs all of them gives up and
 * unlocks when it is smaller. */
uint32_t rep_heal_lock(struct rep_heal *h, struct rep_heal_lock *lock, enum rep_lock_mode mode, uint32_t mask);
void rep_heal_unlock(struct rep_heal *h, struct rep_heal_lock *lock); /* nothing held is fine */
/* The self-heal lock with the tie-breaker, then `second` waiting; in one round if nobody else is there. True if every child of
 * `mask` granted both; whatever the answer, rep_heal_unlock_pair gives back what is held. */
bool rep_heal_lock_pair(struct rep_heal *h, struct rep_heal_lock *healers, struct rep_heal_lock *second, uint32_t mask);
void rep_heal_unlock_pair(struct rep_heal *h, struct rep_heal_lock *healers, struct rep_heal_lock *second);

/* ---- direction (decide.c, replicate.md 7.2) ---- */

struct rep_direction {
  uint32_t locked; /* the children the decision is about */
  uint32_t sources, sinks;
  int source; /* the chosen one; -1: none (merge, or split brain) */
  uint32_t witness[REP_MAX];
  bool split_brain; /* and nothing resolved it */
  bool merge;       /* entry: conservative merge */
  uint32_t
      stale; /* of a merge: copies accused by those that nobody accuses, by themselves, or, if all are accused, by a quorum */
  bool unmarked;  /* metadata: no marks at all, but the copies differ */
  bool contested; /* every copy is accused; the sources are those accused by less than a quorum */
  uint32_t reset; /* children whose counters a policy has taken back already */
};

/* Decides from a view taken under the locks of `type`. Pure but for split-brain policies, which may take counters back (waits). */
void rep_decide(struct rep_heal *h, const struct rep_view *v, enum rep_type type, uint32_t locked, struct rep_direction *d);
/* Asserts that nobody is both healed and healed from. */
void rep_direction_check(const struct rep_direction *d);
/* The first half of it: what the marks alone say, before any choice among good copies and any way out of a split brain. */
void rep_direction_by_marks(const struct rep_view *v, enum rep_type type, uint32_t locked, struct rep_direction *d);
/* Those that some copy whose word counts accuses, or that accuse themselves. */
uint32_t rep_direction_accused(const struct rep_view *v, uint32_t locked, enum rep_type type);
/* The copy that the heal's operation (h->op) or the option favorite-child-policy prefers; -1: none. Every child must have
 * answered. The first sets h->refusal. Also for objects with one name and different gfids. */
int rep_heal_op_winner(struct rep_heal *h, const struct rep_view *v, enum rep_type type);
int rep_policy_winner(const struct rep_view *v, enum rep_type type);
/* What a metadata heal makes equal, except times, is the same on children a and b. */
bool rep_heal_same_metadata(const struct rep_view *v, unsigned a, unsigned b);
uint32_t rep_heal_most_alike(const struct rep_view *v, uint32_t among); /* the largest part of them that agrees about that */
bool rep_heal_same_owner_mode(const struct gi_iatt *a, const struct gi_iatt *b);
bool rep_heal_same_xattr(const struct gi_dict *d, const struct gi_pair *want);
bool rep_heal_ignores_xattr(const char *name); /* is neither compared nor healed */

/* Data or metadata, under the locks of `type`: looks at the inode and decides. False: there is nothing to do, or nothing can be, and
 * *res is how the heal ends. Clear the view in any case. */
bool rep_heal_needed(struct rep_heal *h, enum rep_type type, struct rep_view *v, struct rep_direction *d, int *res);

/* ---- undo (tools.c, replicate.md 7.7) ---- */

/* What is added to the counters of child i: minus what the view held against the children of `good`, plus one against `failed`;
 * its dirty counter likewise unless it failed itself. Owned by the caller. */
struct gi_dict *rep_marks_undo(const struct rep_view *v, unsigned i, enum rep_type type, uint32_t good, uint32_t failed,
                               bool full_crawl);

/* Subtracts what the view held when the direction was decided. `good`: locked children that are healed or healthy; sinks that
 * are not in it get +1. `xdata` (may be NULL, borrowed) goes with every request. Returns the children where it succeeded. */
uint32_t rep_heal_undo(struct rep_heal *h, const struct rep_view *v, enum rep_type type, const struct rep_direction *d,
                       uint32_t good, bool full_crawl, struct gi_dict *xdata);
/* Adds zero to every counter everywhere, so that stale index names go. */
void rep_heal_touch(struct rep_heal *h);

/* ---- times (times.c) ---- */

/* What a heal from `source` gives to the sinks, ctime by the brick's own rule: the times of the source, `now`, unless that is accused of having
 * missed a change of any kind. Then those of a copy that is not, if there is one and nobody has changed the source since the view. */
const struct gi_iatt *rep_heal_due_times(const struct rep_view *v, unsigned source, const struct gi_iatt *now);
/* The same at the end of a heal that has given the lock back since the view `was`, and holds it again. 0 or errno; EAGAIN: the source has missed a
 * change meanwhile, so all is to be decided anew. */
int rep_heal_late_times(struct rep_heal *h, const struct rep_view *was, const struct rep_direction *d, struct gi_iatt *due);

/* ---- what the source remembers (regions.c) ---- */

/* True if the sinks differ from the source in these regions at most; then the caller clears `set`. Asks the source: to be called
 * while the view is locked. */
bool rep_heal_regions(struct rep_heal *h, const struct rep_view *v, const struct rep_direction *d, struct gi_regions *set);

/* ---- who need not be sent the payload (local-copy.c) ---- */

/* Those of `sinks` that can copy the heal's inode from the source by themselves. *where, owned by the caller, is what they are told
 * (GI_NEAR_KEY); NULL if there are none. */
uint32_t rep_heal_local_copy(struct rep_heal *h, unsigned source, uint32_t sinks, char **where);

/* Memory that the block copies of all heals of a replica set may take together. */
static inline uint64_t
rep_heal_window_bytes(const struct rep *rep)
{
  return (uint64_t)rep_opts(rep)->heal.data_self_heal_window_size * REP_HEAL_BLOCK * 4;
}

/* ---- walking a directory of one child (walk.c) ---- */

/* An iterator over its entries, page by page, without "." and "..". Zero it; lives on a task's stack. */
struct rep_walk {
  struct rep_heal *h;
  unsigned child;
  bool attributes; /* every entry with its attributes */
  struct gi_fd *fd;
  struct gi_fop *page; /* the answered READDIR(P) */
  uint32_t at;         /* next entry of the page */
  uint64_t offset;
  bool end;
  int err; /* errno that ended it; 0 = it is complete so far */
};

/* Opens directory `dir` on a child. 0 or errno. Close it in any case. */
int rep_walk_open(struct rep_walk *w, struct rep_heal *h, struct gi_inode *dir, unsigned child, bool attributes);
/* The next entry, valid until the call after; NULL at the end (w->err 0) or after a failure. Waits. */
const struct gi_dirent *rep_walk_next(struct rep_walk *w);
void rep_walk_close(struct rep_walk *w);
/* Whether heals leave this name of a directory alone: it belongs to the self-heal itself. */
bool rep_walk_skips(const struct rep_heal *h, const struct gi_gfid *dir, const char *name);

/* ---- the heals; all wait, all need every child up ---- */

int rep_heal_data(struct rep_heal *h);     /* heal/data.c */
int rep_heal_metadata(struct rep_heal *h); /* heal/metadata.c */
/* -EAGAIN: some names wait for another directory to be healed first. */
int rep_heal_entry(struct rep_heal *h); /* heal/entry.c */
/* One name (replicate.md 7.6); `gfid_req` none: an object nobody has a gfid for stays so. 0, or a negative errno. */
int rep_heal_name(struct rep_heal *h, struct gi_inode *parent, const char *name, const struct gi_gfid *gfid_req);
/* Where the child has that directory: *parent and *name are the caller's, also if it is false that both are known (heal/place.c). */
bool rep_heal_place(struct rep_heal *h, unsigned child, const struct gi_gfid *gfid, struct gi_inode **parent, char **name);
/* Inspection, then data, metadata, entry as needed and enabled in `h` (replicate.md 7.1). */
int rep_heal_inode(struct rep_heal *h);           /* heal/inode.c */
void rep_heal_count(struct rep_heal *h, int res); /* adds what a heal did to the counters; rep_heal_inode does it itself */

/* ---- inspection without locks (inode.c, replicate.md 7.1, 7.10) ---- */

struct rep_inspection {
  int err;                    /* nothing else is valid if non-zero */
  bool data, metadata, entry; /* needs a locked look */
  bool pending, dirty;        /* any counter of that kind */
  bool dirty_many;            /* dirty, and more than a single transaction under way explains */
  bool dirty_here;            /* every copy is dirty: a transaction under way has reached all of them */
  bool partial;               /* not all children answered: nothing is said about split brain */
  bool split_data, split_metadata, split_entry;
  bool healing, busy; /* somebody holds the self-heal lock, or the lock of a transaction */
  uint32_t mode;      /* of the object; 0: unknown */
};

void rep_inspect(struct rep_heal *h, struct rep_inspection *in);

/* Its marks are those of the one transaction under way: it lowers them itself. */
static inline bool
rep_is_written(const struct rep_inspection *in)
{
  return !in->pending && in->dirty && in->busy && !in->dirty_many;
}

/* ---- for a lookup (name.c) ---- */

/* Heals the name that a lookup is about, on a task; then resume(fop, 0 or errno: EIO = the copies contradict each other). The
 * fop is held. Its `heal-op` and `child-name` (replicate.md 7.11) decide what marks do not. */
void rep_name_heal(struct rep *rep, struct gi_fop *fop, void (*resume)(struct gi_fop *fop, int err));

/* ---- by a client of its own accord (background.c) ---- */

/* Queues a heal of an object some copy of which is accused, if the options want that. */
void rep_background_heal(struct rep *rep, struct gi_inode *inode);
void rep_background_drop(struct rep *rep);               /* forgets the queue */
bool rep_background_wants_xattrs(const struct rep *rep); /* lookups must ask for all of them */
/* The following hold `fop` and return true when something is tried, then call resume(fop, 0): look again. */
bool rep_background_metadata(struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, uint32_t same,
                             void (*resume)(struct gi_fop *fop, int err));
bool rep_background_policy(struct rep *rep, struct gi_fop *fop, struct gi_inode *inode,
                           void (*resume)(struct gi_fop *fop, int err));

#endif
