/* SPDX-License-Identifier: Apache-2.0
 *
 * The write transaction (replicate.md 6): lock, pre-op, operations, post-op,
 * unlock. One struct drives one of them, whatever its type. An entry
 * transaction carries one operation; a data or metadata transaction is the
 * session of an inode and carries all that join while it is open.
 */
#ifndef REP_TXN_TXN_H
#define REP_TXN_TXN_H

#include "xlators/cluster/replicate/copies/copies.h"

#include "libglusterish/regions.h"

enum rep_state {
  REP_FASTPATH,    /* locks, marks and the first operation in one message */
  REP_LOCK,        /* non-blocking locks on all children at once */
  REP_LOCK_UNDO,   /* some were refused: give back those granted */
  REP_LOCK_SERIAL, /* blocking locks one after another */
  REP_PRE_OP,      /* dirty marks */
  REP_OPEN,        /* operations run; or idle, the post-op delayed */
  REP_DURABLE,     /* fsync before the dirty mark is cleared */
  REP_POST_OP,     /* pending and dirty marks */
  REP_UNLOCK,
  REP_BEGUN, /* nothing was sent yet */
};

#define REP_TARGETS 3 /* most locks of one transaction: rename onto a directory */
#define REP_LOGS 2    /* most inodes that carry its marks: both parents of a rename */

/* one lock: an inode range, or a name (NULL: all names) of a directory */
struct rep_target {
  struct gi_inode *inode;
  const char *name;
  uint64_t start, len; /* the range; len 0 = to the end */
  uint32_t held;       /* children that granted it */
};

/* one inode that carries the marks */
struct rep_changelog {
  struct gi_inode *inode;
  const char *name; /* entry: the name changed in it */
  uint32_t accused; /* children that the counters in replies to our marks blame */
  uint32_t behind;  /* children whose times of it a first attempt has not moved, or what followed; it did so on others */
};

enum rep_index { REP_INDEX_KEEP, REP_INDEX_CREATE, REP_INDEX_DELETE }; /* the granular index name in the post-op */

struct rep_txn;

/* What is different between the types of transactions. */
struct rep_txn_ops {
  /* Locks and marks are in place: operations may be sent. */
  void (*open)(struct rep_txn *t);
  /* Nothing was sent, and nothing will be: answers who waits. */
  void (*refused)(struct rep_txn *t, int err);
  /* Sends an operation to the active children; done(fan) runs when all have answered, fan->arg is the fop. */
  void (*send)(struct rep_txn *t, struct gi_fop *fop, void (*done)(struct gi_fan *fan));
  /* The replies of an operation are in; fan->arg is the fop. */
  void (*done)(struct gi_fan *fan);

  /* Of sessions. The replies of an operation are looked at before they are judged; NULL: they tell nothing. */
  void (*watch)(struct rep_txn *t, struct gi_fop *fop);
  /* An operation that waited for the end of a session begins anew. */
  void (*again)(struct rep *rep, struct gi_fop *fop);
  /* Sets other locks than that of the inode's own range; false: there are none. NULL: never. */
  bool (*targets)(struct rep_txn *t, struct gi_fop *fop);

  /* Of names. Children that did it with the outcome that counts: they made the same object, or moved it. */
  uint32_t (*same)(const struct rep_txn *t, const struct gi_fop *fop, const struct gi_fan *fan);
  /* The marks of the new object itself, owned by the caller, and its gfid; NULL: none are due. */
  struct gi_dict *(*new_marks)(struct rep_txn *t, struct gi_gfid *gfid);
};

struct rep_txn {
  uint32_t magic;
  struct rep *rep;
  enum rep_type type;
  const struct rep_txn_ops *ops;
  enum rep_state state;
  struct gi_list link;
  struct gi_caller caller; /* of the operation that began it, with the transaction's lock owner */
  struct gi_inode *inode;  /* sessions: whose; referenced */
  struct gi_fd *fd;        /* sessions: locks and marks go through it where it is open; referenced */
  struct gi_fop *fop;      /* entry: the operation, referenced; names are borrowed from it */
  struct gi_fan fan;       /* of locks, marks and fsync: one round at a time */
  struct rep_target target[REP_TARGETS];
  unsigned ntargets;
  unsigned serial_target, serial_child; /* where the blocking round stands */
  struct rep_changelog log[REP_LOGS];
  unsigned nlogs;
  uint32_t up;              /* at the start */
  uint32_t generation;      /* at the start */
  uint32_t locked;          /* children that granted every lock */
  uint32_t active;          /* participants: locked children that passed the pre-op; operations go there */
  uint32_t accused;         /* children accused in any of the logs */
  uint32_t meta_accused;    /* data: children whose attributes are accused */
  uint32_t good;            /* participants that nobody accuses */
  uint32_t gone;            /* data: participants that were disconnected before everything was synced, and may have lost it */
  uint32_t cut_off;         /* data: participants that an operation did not come back from; that they are down is heard later */
  uint32_t failed;          /* participants where an operation failed that succeeded elsewhere */
  uint32_t blamed_in_preop; /* children that take no part: the pre-op has blamed them */
  uint32_t blaming;         /* those of them that the round under way blames */
  uint32_t blame[REP_MAX];  /* per participant: children that it will blame in the post-op */
  uint32_t post_ok;         /* children whose counters are right after the post-op */
  uint32_t post_gone;       /* children where the object is gone, so there is nothing to mark */
  int lock_err;
  uint32_t lock_gone;          /* children that locked nothing, as there is no such object */
  bool dirty_owed;             /* a pre-op raised dirty */
  bool counters_known;         /* the counters were asked for: `accused` is known, as after a pre-op */
  bool retried;                /* entry: a first attempt may have done it on some children */
  uint32_t half_done;          /* entry: children where a first attempt did something that was not undone */
  bool moved_times;            /* entry: it did something, undone or not, and with it moved the times of directories */
  struct gi_fop *did[REP_MAX]; /* replies of children where a first attempt was not undone; owned */
  uint32_t dirtied;            /* children where the fast path raised dirty before it was refused elsewhere */
  bool keep_dirty;             /* an operation failed on some participants: a healer must look */
  uint32_t
      mark_dirty; /* names, attributes, without pre-op, failed on too many: raise dirty afterwards on these, which did something */
  bool closing; /* no operation may join any more, and the post-op is not delayed */
  bool alone;   /* a range lock: no other operation may join */
  bool pumping, pump_again;
  enum rep_index index;
  enum gi_fop_kind last_kind;
  uint64_t idle_since;
  unsigned sent;             /* data operations so far */
  uint64_t unstable, stable; /* unstable writes complete; those an fsync has covered since */
  uint32_t marking;          /* children that may have been made dirty by this session */
  bool cut_by_name;          /* a truncate to a size of more than nothing without an fd: it has to be made durable too */
  /* what a child that fails may have lost (txn/written-regions.c) */
  struct {
    struct gi_regions fresh, settling; /* since the last fsync; before the fsync under way */
    const struct gi_fop *settler;      /* that one */
    bool unknown;                      /* it may be more than that */
  } wrote;
  struct gi_list queue; /* struct gi_fop.link: wait for the lock or for an overlapping operation */
  struct gi_list running;
  struct gi_list held;    /* done, to be answered after the post-op */
  struct gi_list syncing; /* REP_DURABLE: fsyncs of applications that this one does for them */
  struct gi_timer delay;
};

/* ---- state.c ---- */
/* The next state. That it may follow, and what must hold in it, is asserted. */
void rep_txn_enter(struct rep_txn *t, enum rep_state state);
void rep_txn_check(const struct rep_txn *t); /* asserts what holds in its state */

/* ---- engine.c ---- */

/* Made from the operation that begins it, with a lock owner that no other transaction of the replica set has or had. */
struct rep_txn *rep_txn_new(struct rep *rep, enum rep_type type, const struct gi_fop *fop);
void rep_txn_start(struct rep_txn *t);
void rep_txn_locked(struct rep_txn *t); /* the locking phase ended, with success or without */
void rep_txn_finish(struct rep_txn *t); /* from REP_OPEN: durability, post-op, unlock. The txn may be gone afterwards */
void rep_txn_end(struct rep_txn *t);    /* everything is unlocked */
/* Asks the participants for the counters, under the locks: whom they accuse is known when `done` runs, unless some failed to answer. */
void rep_txn_ask(struct rep_txn *t, void (*done)(struct gi_fan *fan));
struct gi_fop *rep_txn_helper(struct rep_txn *t, enum gi_fop_kind kind);
/* Whether locks and marks at this child go through the session's fd. */
bool rep_txn_by_fd(const struct rep_txn *t, unsigned child);

/* ---- lock.c ---- */
void rep_txn_lock(struct rep_txn *t); /* continues with rep_txn_locked */
void rep_txn_lock_failed(struct rep_txn *t, unsigned child, int err);
void rep_txn_unlock(struct rep_txn *t);    /* continues with rep_txn_end */
void rep_txn_contended(struct rep_txn *t); /* a lock was refused: counts it; writers of the file lock less for a while */

/* Gives back what is held, then waits for the locks one after another; continues with rep_txn_locked. */
void rep_txn_lock_serially(struct rep_txn *t);
void rep_txn_locks_lost(struct rep *rep, unsigned child); /* it is disconnected: no transaction holds a lock there any more */

/* ---- fastpath.c ---- */
bool rep_fastpath_may(struct rep_txn *t);
void rep_fastpath(struct rep_txn *t); /* instead of rep_txn_lock */
/* The answers of a second attempt are in: where the first one left nothing to do, what it did counts. */
void rep_fastpath_recall(struct rep_txn *t, struct gi_fan *fan);
/* The attributes that a repeated operation shows from before it are those from before its first attempt, if nobody came between. `good`:
 * children whose replies in `fan` are believed. */
void rep_fastpath_found(struct rep_txn *t, const struct gi_fan *fan, uint32_t good, struct gi_iatt *pre);
void rep_fastpath_forget(struct rep_txn *t); /* what first attempts did */
/* A copy of an operation's xdata with the transaction's preamble. */
struct gi_dict *rep_fastpath_xdata(const struct rep_txn *t, const struct gi_dict *xdata);

/* ---- outcome.c ---- */

/* The replies of an operation are complete in its fan: judges them for the transaction and sets ok and err of the
 * rep_fop. True if it may be answered at once, false if only after the post-op. */
bool rep_outcome_judge(struct rep_txn *t, struct gi_fop *fop);
/* Fills the reply of an operation that was judged from the replies and drops them. */
void rep_outcome_reply(struct rep_txn *t, struct gi_fop *fop);
void rep_outcome_answer_held(struct rep_txn *t);
/* Blaming `failed` on behalf of `ok` would leave no good copy (replicate.md 6.4 rule 2). */
bool rep_outcome_splits(const struct rep_txn *t, uint32_t ok, uint32_t failed);
/* Those of `ok` will tell in the post-op that `failed`, and whoever takes no part at all, missed something. */
void rep_outcome_blame(struct rep_txn *t, uint32_t ok, uint32_t failed);
bool rep_outcome_claims(int err);                               /* an errno about what names there are */
uint32_t rep_outcome_saying(const struct gi_fan *fan, int err); /* the children that failed with it */
/* Whether among `mask` there is, of each inode that carries the marks, a copy with data that nobody accuses. */
bool rep_outcome_has_good(const struct rep_txn *t, uint32_t mask);
/* The same of a single copy that is good in all of them: an operation may only begin where there is one. A rename by copies that are good
 * in one of the directories each would put over the good copy of the new name whatever that one has under the old name. */
bool rep_outcome_has_wholly_good(const struct rep_txn *t, uint32_t mask);
/* Whether the good copies of a directory agree that the operation cannot be: that is its outcome then, whatever the others did. */
bool rep_outcome_by_good(struct rep_txn *t, struct gi_fop *fop);
void rep_outcome_distrust(struct rep_txn *t); /* the marks are written */
/* An fsync succeeded on `ok` only, too few: those it is certain of that they lost something are blamed all the same. */
void rep_outcome_unsynced(struct rep_txn *t, uint32_t ok, uint32_t lost);
/* Of an FSYNC, or of a WRITE that one went with: */
uint32_t rep_outcome_lost(const struct gi_fan *fan); /* children whose fsync failed, and not because they are gone */
bool rep_outcome_synced(const struct gi_fan *fan);   /* wherever it was done, it was synced */

/* ---- session.c ---- */

/* Runs a data or metadata operation in a session of its inode, now or when it may. The fop is held. */
void rep_session_submit(struct rep *rep, struct gi_fop *fop, enum rep_type type);
/* Nobody joins any more; as soon as what runs is done the post-op is sent and the lock given back. */
void rep_session_close(struct rep_txn *t);
void rep_session_pump(struct rep_txn *t);     /* REP_OPEN: starts what may start */
void rep_session_op_done(struct gi_fan *fan); /* the replies of an operation are in; fan->arg is the fop */
void rep_session_refused(struct rep_txn *t, int err);
void rep_session_ended(struct rep *rep, struct gi_inode *inode, enum rep_type type);
void rep_session_contended(struct rep *rep, const struct gi_contention *c);
void rep_sessions_flush(struct rep *rep);    /* closes all */
void rep_sessions_outgrown(struct rep *rep); /* a child came up: data sessions are over, for they do without it */
void rep_sessions_lost(struct rep *rep,
                       unsigned child); /* it is disconnected: data sessions are over, and what it had not synced is in doubt */
/* Sends an fsync to a child, or lets it fail there: what a brick has lost with its power no fsync afterwards brings back. */
void rep_session_send_fsync(struct rep_txn *t, struct gi_fan *fan, struct gi_fop *fsync, unsigned child);
/* Another client, or a heal, wants a part of the file: for a while writers lock no more than they write. */
void rep_session_use_range_locks(struct rep *rep, struct gi_inode *inode);
void rep_session_healed(struct rep *rep, struct gi_inode *inode,
                        bool now); /* meanwhile a brick told whether a heal has the file */
void rep_session_lock_range(
    struct rep_txn *t); /* nothing is locked yet, after contention: the only operation locks its own bytes where it may */
void rep_session_synced(struct rep_txn *t,
                        struct gi_fan *fan); /* the fsync at the end: answers those that waited for it, if it did all */

/* ---- written-regions.c ---- */
void rep_regions_syncing(struct rep_txn *t, const struct gi_fop *fsync);   /* it is about to be sent */
void rep_regions_watch(struct rep_txn *t, struct gi_fop *fop);             /* the replies of a data operation are in its fan */
void rep_regions_sync_failed(struct rep_txn *t, const struct gi_fan *fan); /* the fsync at the end of the session */
/* Adds to the xattrop by which child `i` blames t->blame[i] what those lack, if it is one of ours that keeps that. */
void rep_regions_tell(struct rep_txn *t, unsigned i, struct gi_fop *xattrop);
/* Whether a child keeps what it is told there. */
bool rep_regions_told_to(const struct rep_txn *t, unsigned i);
/* The same before anything is written: those of `blame` lack nothing yet. */
void rep_regions_announce(struct rep_txn *t, unsigned i, uint32_t blame, struct gi_fop *xattrop);
void rep_regions_forget(struct rep_txn *t);

#endif
