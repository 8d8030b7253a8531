/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of features/locks share.
 *
 * Per inode with any lock there is one struct lk_inode, made on first use and
 * kept until the inode is forgotten. While it has locks or waiting fops (its
 * users) it holds a reference on the inode and is on the translator's list of
 * busy inodes; so the list is what a departing client or a statedump walks.
 *
 * Internal locks live in domains: a domain has one queue of inode locks and
 * one of entry locks, both driven by locks-queue.c. POSIX locks are a plain
 * list per inode (locks-posix.c).
 *
 * Answering a fop may run anything, also this translator again. So every
 * change first collects the fops it sets free on a `ready` list and only when
 * all state is consistent lk_ready_run lets them go.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#include <errno.h>

#define GI_MSG_LOCKS 105000 /* base of message ids */

#define LK_LAST ((uint64_t)INT64_MAX)               /* last byte a lock can cover */
#define LK_METADATA_START ((uint64_t)INT64_MAX - 1) /* the range that names the metadata domain (brick.md 9.1) */
#define LK_METADATA_SUFFIX ":metadata"
#define LK_IDLE_DOMAINS 4 /* empty domains kept per inode: transactions come back to the same ones */

enum lk_mandatory { LK_MANDATORY_OFF, LK_MANDATORY_FILE, LK_MANDATORY_FORCED, LK_MANDATORY_OPTIMAL };

struct lk_options {
  int mandatory; /* enum lk_mandatory */
  bool enforce;
  bool notify_contention;
  int64_t notify_delay_s;
  int64_t revocation_secs;
  int64_t revocation_max_blocked;
  bool revocation_clear_all;
  bool monkey;
  bool trace;
};

struct lk_metrics {
  uint64_t inode_granted, inode_waited, inode_refused;
  uint64_t entry_granted, entry_waited, entry_refused;
  uint64_t posix_granted, posix_waited, posix_refused;
  uint64_t contention_notices, revoked, cleared, dropped_clients, io_waited;
  uint64_t held, waiting; /* now */
};

#define LK_MAGIC 0x1d0c4b00u

struct lk_private {
  uint32_t magic;
  struct gi_list busy;          /* struct lk_inode.link */
  struct gi_list posix_waiting; /* struct lk_posix.waiting */
  struct lk_metrics metrics;
};

struct lk_who {
  void *client;
  struct gi_owner owner;
  int32_t pid;
};

#define LK_INODE_MAGIC 0x1d0c4b01u
#define LK_LOCK_MAGIC 0x1d0c4b02u
#define LK_POSIX_MAGIC 0x1d0c4b03u

enum lk_kind { LK_INODE, LK_ENTRY, LK_KINDS };

/* A granted or waiting internal lock. */
struct lk_lock {
  uint32_t magic;
  struct gi_list link;
  struct lk_who who;
  struct gi_fop *fop; /* the waiting request; NULL once granted */
  uint32_t type;
  uint64_t start, len; /* inode locks: as asked for; len 0 = to the end */
  uint64_t last;       /* inode locks: last byte covered */
  char *name;          /* entry locks: NULL = the whole directory */
  uint64_t since_ns;   /* granted, or waiting, since */
  struct gi_time wall; /* the same for people */
  uint64_t told_ns;    /* last contention notice; 0 = none yet */
};

struct lk_queue {
  struct gi_list granted, blocked; /* struct lk_lock.link */
  uint32_t ngranted, nblocked;
};

struct lk_domain {
  struct gi_list link; /* struct lk_inode.domains */
  struct lk_queue queue[LK_KINDS];
  char name[];
};

struct lk_posix {
  uint32_t magic;
  struct gi_list link;    /* lk_inode.posix or .posix_blocked */
  struct gi_list waiting; /* lk_private.posix_waiting, of one that waits; and for what: */
  struct lk_inode *li;
  struct lk_who who;
  struct gi_fd *fd;   /* not a reference: fd_release drops the lock */
  struct gi_fop *fop; /* waiting; NULL once granted */
  uint32_t type;
  uint64_t start, last;
  bool mandatory; /* taken with glusterfs.lk.lkmode = 1 */
  uint8_t space;  /* enum gi_lock_space */
  struct gi_time wall;
};

struct lk_inode {
  uint32_t magic;
  struct gi_inode *inode; /* a reference only while users > 0 */
  struct gi_list link;    /* lk_private.busy while users > 0 */
  uint32_t users;         /* locks and waiting fops */
  uint32_t ndomains;
  uint32_t walking;       /* somebody walks the domains and calls out: none may be freed */
  bool setgid_mandatory;  /* set-gid without group execute: the mark of mandatory mode `file` */
  bool fenced;            /* carries the enforcement marker */
  bool moved;             /* to another brick: POSIX locks are refused, and other modes */
  struct gi_list domains; /* struct lk_domain */
  struct gi_list posix;   /* struct lk_posix, granted */
  struct gi_list posix_blocked;
  struct gi_list past; /* locks-again.c */
  uint32_t npast;
  struct gi_list io_waiting; /* struct gi_fop.link: I/O that waits for a mandatory lock */
};

enum lk_wait { LK_WAIT_NONE, LK_WAIT_QUEUE, LK_WAIT_POSIX, LK_WAIT_IO };

/* counters asked for in xdata */
enum {
  LK_COUNT_INODE = 1,
  LK_COUNT_DOMAIN = 2,
  LK_COUNT_ENTRY = 4,
  LK_COUNT_POSIX = 8,
  LK_COUNT_PARENT_ENTRY = 16,
  LK_COUNT_MULTI = 32,
};

/* Our bytes in a fop. */
struct lk_fop {
  struct lk_inode *li; /* where it waits */
  void *lock;          /* struct lk_lock or lk_posix it waits for */
  uint8_t wait;        /* enum lk_wait */
  uint8_t act;         /* enum gi_verdict, once on a ready list */
  uint8_t counts;      /* LK_COUNT_* */
  bool moves;          /* SETATTR: the file has moved, if it succeeds */
  bool learn;          /* the reply tells the mode (mandatory `file`) or the fence */
};

/* What clear selects. */
struct lk_filter {
  bool granted, blocked;
  bool by_client, by_pid;
  bool remember; /* POSIX locks: their client may come back */
  void *client;
  int32_t pid;
  bool by_range;
  uint64_t start, last;
  const char *name; /* entry locks; NULL = any */
};

struct lk_cleared {
  unsigned granted, blocked;
};

/* ---- locks-check.c: panics if state is what it cannot be ---- */
void lk_inode_check(const struct lk_inode *li);
void lk_lock_check(const struct lk_lock *l, enum lk_kind kind);
void lk_queue_check(const struct lk_queue *q);
void lk_posix_check(const struct lk_posix *l);

/* ---- locks-left.c ---- */
struct lk_left {
  struct gi_left *left;
  unsigned n;
};
/* What `client` has locked for changes that are noted nowhere. */
void lk_left_begin(struct gi_xlator *x, const void *client, struct lk_left *all);
/* Tells those above of it, when the locks are gone. */
void lk_left_end(struct gi_xlator *x, struct lk_left *all);

/* ---- locks-state.c ---- */
bool lk_ends_with(const char *domain, const char *end);
/* It waits for a lock that `holder` (NULL: nobody in particular) has; `domain` NULL: none. */
void lk_waits(struct gi_fop *fop, const char *what, const char *domain, const struct lk_who *holder);
static inline struct lk_private *
lk_private(const struct gi_xlator *x)
{
  struct lk_private *p = x->private;
  GI_CHECK(p, LK_MAGIC);
  return p;
}
static inline const struct lk_options *
lk_options(const struct gi_xlator *x)
{
  return x->options;
}
static inline struct lk_metrics *
lk_count(const struct gi_xlator *x)
{
  return &lk_private(x)->metrics;
}
static inline bool
lk_same(const struct lk_who *a, const struct lk_who *b)
{
  return a->client == b->client && gi_owner_equal(&a->owner, &b->owner);
}
static inline bool
lk_spaces_meet(unsigned a, unsigned b)
{
  return a == b || a == GI_LOCK_ANY || b == GI_LOCK_ANY;
}
void lk_who_set(struct lk_who *who, const struct gi_fop *fop);
/* EINVAL for an owner that identifies nobody (brick.md 9.1), else 0. */
int lk_owner_check(const struct gi_fop *fop);
struct lk_inode *lk_inode_peek(const struct gi_xlator *x, const struct gi_inode *inode); /* NULL if it never had a lock */
struct lk_inode *lk_inode_get(struct gi_xlator *x, struct gi_inode *inode);
void lk_inode_use(struct gi_xlator *x, struct lk_inode *li);
/* The last user may free `li`. */
void lk_inode_unuse(struct gi_xlator *x, struct lk_inode *li);
struct lk_domain *lk_domain_find(const struct lk_inode *li, const char *name);
struct lk_domain *lk_domain_get(struct lk_inode *li, const char *name);
void lk_domain_settle(struct lk_inode *li, struct lk_domain *dom); /* frees an idle surplus domain */
void lk_domain_free(struct lk_inode *li, struct lk_domain *dom);   /* it has no locks */
void lk_ready_answer(struct gi_list *ready, struct gi_fop *fop, const struct gi_xlator *x, int ret, int err);
void lk_ready_forward(struct gi_list *ready, struct gi_fop *fop, const struct gi_xlator *x, bool tell);
void lk_ready_run(struct gi_xlator *x, struct gi_list *ready);
/* The name of the client that holds or wants a lock. */
const char *lk_peer(const struct lk_who *who);

/* ---- locks-queue.c ---- */
/* Takes `proto` as request: grants, refuses or queues it. `dom_name` as the client gave it. */
enum gi_verdict lk_queue_lock(struct gi_xlator *x, struct gi_fop *fop, enum lk_kind kind, const char *dom_name,
                              const struct lk_lock *proto, bool wait);
enum gi_verdict lk_queue_unlock(struct gi_xlator *x, struct gi_fop *fop, enum lk_kind kind, const char *dom_name,
                                const struct lk_lock *proto);
/* Grants what can be granted now. */
void lk_queue_retry(struct gi_xlator *x, struct lk_inode *li, struct lk_domain *dom, enum lk_kind kind, struct gi_list *ready);
/* Drops what `f` selects; waiting fops get `err`. Does not retry. */
struct lk_cleared lk_queue_clear(struct gi_xlator *x, struct lk_inode *li, struct lk_domain *dom, enum lk_kind kind,
                                 const struct lk_filter *f, int err, struct gi_list *ready);
void lk_queue_cancel(struct gi_xlator *x, struct gi_fop *fop);
/* Contention notices to the holders on inode `gfid` that stand in the way of `proto`. The domain's name as clients know it. */
void lk_contention(struct gi_xlator *x, struct gi_fop *fop, const struct gi_gfid *gfid, enum lk_kind kind, const char *dom_name,
                   struct lk_queue *q, const struct lk_lock *proto);

/* ---- locks-inode.c, locks-entry.c ---- */
gi_fop_fn lk_inodelk, lk_entrylk;
bool lk_inode_overlap(const struct lk_lock *a, const struct lk_lock *b);
bool lk_entry_overlap(const struct lk_lock *a, const struct lk_lock *b);
/* The range of a request; false if it is not one. `back` allows a negative len (POSIX). */
bool lk_range(const struct gi_flock *flock, bool back, uint64_t *start, uint64_t *last);

/* ---- locks-posix.c ---- */
gi_fop_fn lk_posix_lk, lk_posix_flush, lk_posix_active;
void lk_posix_release(struct gi_xlator *x, struct gi_fd *fd);
struct lk_cleared lk_posix_clear(struct gi_xlator *x, struct lk_inode *li, const struct lk_filter *f, int err,
                                 struct gi_list *ready);
void lk_posix_retry(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready);
void lk_posix_cancel(struct gi_xlator *x, struct gi_fop *fop);
unsigned lk_posix_count(const struct lk_inode *li);

/* ---- locks-again.c ---- */
void lk_past_note(struct lk_inode *li, const struct lk_posix *l);           /* its client went away */
void lk_past_granted(struct lk_inode *li, const struct lk_posix *l);        /* another lock was */
bool lk_past_unbroken(const struct lk_inode *li, const struct lk_posix *l); /* its owner had it, and nobody has had it since */
void lk_past_free(struct lk_inode *li);

/* ---- locks-mandatory.c ---- */
gi_fop_fn lk_mandatory_io, lk_mandatory_lookup, lk_mandatory_open, lk_mandatory_mark;
void lk_mandatory_retry(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready);
void lk_mandatory_cancel(struct gi_xlator *x, struct gi_fop *fop);
/* Whether the reply of this kind must be seen to learn about mandatory locking; may add to the request. */
bool lk_mandatory_wants(struct gi_xlator *x, struct gi_fop *fop);
void lk_mandatory_learn(struct gi_xlator *x, struct gi_fop *fop);

/* ---- locks-moved.c ---- */
gi_fop_fn lk_moved_setattr, lk_moved_truncate;
void lk_moved_failed(struct gi_xlator *x, struct gi_fop *fop);

/* ---- locks-clear.c ---- */
/* Drops what `f` selects on every inode; waiting fops get `err`. Returns how many. */
unsigned lk_drop(struct gi_xlator *x, const struct lk_filter *f, int err);
/* GETXATTR of a clear-locks name; other names pass. */
gi_fop_fn lk_clear_getxattr;
void lk_statedump(struct gi_xlator *x, struct gi_dump *d);

/* ---- locks-ask.c ---- */
void lk_ask(struct gi_xlator *x, struct gi_question *q);

/* ---- locks-count.c ---- */
/* Notes which lock counters the request asks for and tells how to go on. */
enum gi_verdict lk_counts(struct gi_xlator *x, struct gi_fop *fop);
void lk_counts_fill(struct gi_xlator *x, struct gi_fop *fop);

#endif
