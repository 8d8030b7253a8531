/* SPDX-License-Identifier: Apache-2.0
 *
 * The lowest layer of cluster/replicate: the state of a replica set, of an inode,
 * of an fd and of an operation; members and quorum; what is sent to them. It
 * knows nothing of copies, heals and transactions: those observe it.
 *
 * Sets of children are bit masks (bit i = child i). "Type" is the slot of the
 * changelog counters an operation belongs to: data, metadata or entry.
 */
#ifndef REP_SET_SET_H
#define REP_SET_SET_H

#include "xlators/cluster/replicate/set/options.h"

#include "libglusterish/fan.h"
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/task.h"
#include "libglusterish/xlator.h"

#include <errno.h>

#define GI_MSG_REPLICATE 108000 /* base of message ids */

#define REP_MAX 16                           /* children; readable sets are 16 bit (replicate.md 1) */
#define REP_META_START 0x7ffffffffffffffeull /* start of the metadata lock (replicate.md 1) */
#define REP_FIRST_UP_S 10                    /* longest wait for all children before the first "up" */
#define REP_DRAIN_S 10                       /* longest wait for transactions to end before PARENT_DOWN is passed on */
#define REP_LATE_OPEN_RETRY_S 3              /* a child that refused to open an fd is asked again */
#define REP_DOMAIN_COUNTS "glusterfs.multi-dom-lk-cnt-req"
#define REP_MAGIC 0x1d0a4e01u
#define REP_TXN_MAGIC 0x1d0a4e02u

enum rep_type { REP_DATA, REP_META, REP_ENTRY, REP_TYPES };

/* Counters of a replica set's heals. */
struct rep_heal_totals {
  uint64_t files, directories, metadata, names; /* healed */
  uint64_t failed, split_brain, skipped;
  uint64_t bytes_read, bytes_written, bytes_compared; /* payload from sources, to sinks; checksummed instead of sent */
  uint64_t bytes_near;                                /* written, but not through us */
  uint64_t partial, bytes_skipped;                    /* files healed by regions; bytes that were not even looked at */
};

/* Of the self-heal daemon (shd/report.c). */
struct rep_shd_metrics {
  uint64_t crawling, crawls, healed, failed, split_brain;
  uint64_t active, waiting, remaining, eta_s;
  uint64_t files_per_s, bytes_per_s;             /* over the last ten seconds */
  uint64_t crawl_files_per_s, crawl_bytes_per_s; /* since the crawl under way began */
  uint64_t window_bytes, window_used, paused_ms, pauses, parallel, grown, cut;
  uint64_t foreground_ops, foreground_us, foreground_quiet_us;
};

struct rep_metrics {
  uint64_t transactions, rushes, sessions_joined, lock_conflicts, pre_ops, post_ops, contentions, refreshes, read_failovers,
      blames;
  struct rep_heal_totals heal;
  struct rep_shd_metrics shd;
};

/* What a replica set waits for before it does without its children or takes others. */
enum rep_work {
  REP_WORK_MESSAGES, /* sent to children and not answered */
  REP_WORK_TXNS,
  REP_WORK_HEALS,
  REP_WORKS,
};

struct rep_txn;
struct rep_txn_ops;
struct rep_shd;
struct rep_refresh;

struct rep {
  uint32_t magic;
  struct gi_xlator *x;
  unsigned n;
  uint32_t all;              /* every child */
  uint32_t arbiter;          /* the child that keeps no data; 0 = there is none */
  uint32_t connected;        /* children that serve now */
  uint32_t regions;          /* children that remember what a copy they blame lacks */
  uint32_t local_copy;       /* children that copy from a brick on their machine (libglusterish/near.h) */
  uint32_t preamble;         /* children that take locks and marks together with an operation */
  uint32_t noreplace;        /* children that rename only to a name that is free, if they are asked to */
  uint32_t truncates;        /* children that open a file and truncate it in one message */
  uint32_t up;               /* those of them that are used: all, unless halo leaves some out */
  uint64_t latency[REP_MAX]; /* round trip in ns, smoothed; 0 = not known */
  struct gi_timer measure;   /* halo: when children that are left out are measured again */
  uint32_t heard;            /* children that reported up or down at least once */
  uint32_t generation;       /* counts transitions of `up`; never 0 */
  bool announced;            /* the layers above know whether we are up */
  bool draining;             /* PARENT_DOWN came: nothing is delayed any more */
  bool drained;              /* PARENT_DOWN was passed on: all transactions had ended */
  uint64_t lowers_later;     /* until then marks that were left to go with the next messages may be on their way */
  struct gi_timer first_up;
  char *pending_key[REP_MAX];
  char *dirty_key;
  const struct rep_txn_ops *txn_ops[REP_TYPES];
  struct gi_list txns;                /* struct rep_txn.link: all that live */
  uint64_t owners;                    /* lock owners handed out */
  uint32_t distrusts;                 /* counts changes of readable sets by failed writes */
  uint32_t healthy;                   /* children whose last answer said that their heal index is empty */
  unsigned reads[REP_MAX];            /* outstanding reads per child */
  int local;                          /* child on this host, -1 = none known */
  bool locks_doubted;                 /* some fd was ever in doubt about its locks */
  bool discovered;                    /* the search for it was started */
  struct gi_dict *pre_op[REP_TYPES];  /* zero pending, dirty +1 */
  struct gi_dict *post_op[REP_TYPES]; /* zero pending, dirty -1 */
  struct gi_dict *write_xdata, *range_xdata, *fsync_xdata, *durable_xdata;
  char *heal_domain; /* of the self-heal lock */
  char *writers_key,
      *healers_key; /* what the locks of a domain are counted under (brick.md 4.1), if REP_DOMAIN_COUNTS asks for it */
  struct rep_metrics metrics;
  unsigned busy[REP_WORKS]; /* how much of each is under way */
  /* Observers above; NULL: there is none. */
  void (*on_idle)(struct rep *rep, enum rep_work work);                           /* the last of a kind has ended */
  void (*on_answer)(struct rep *rep, unsigned child, const struct gi_fop *reply); /* a child has answered us */
  void (*on_members)(struct rep *rep, uint32_t before);                           /* `up` was that, or `heard` has changed */
  void (*on_accused)(struct rep *rep, struct gi_inode *inode); /* a refresh found a copy accused that is up */
  struct rep_shd *shd;                                         /* shd/shd.h; NULL unless this is the self-heal daemon */
  struct gi_list heal_turns;              /* tasks that work on names of an object, or wait to (heal/make.c) */
  uint32_t anon_there, anon_generation;   /* children that have the anonymous directory, as of that generation */
  unsigned background, heal_queue_length; /* heals of our own accord: tasks, and objects that wait for one */
  struct gi_list heal_queue;              /* struct queued_heal.link (heal/background.c) */
  uint64_t choice_minutes;                /* how long a split-brain choice is good */
  /* Another set of children is waited for or taken (change.c). */
  bool quiescing;           /* new operations are held back until those under way have ended */
  bool healing;             /* the end of the heals is waited for first */
  struct gi_list held_back; /* struct gi_fop.link */
  gi_fop_fn *submit;        /* what an operation that was held back goes to */
  struct gi_list locks;     /* struct gi_fop.link: locks for others that wait at a child */
  uint32_t epoch;           /* sets of children there have been */
  int8_t (*maps)[REP_MAX];  /* per epoch: where each child of it was in the next; -1 = nowhere */
  struct gi_defer settle;
  struct gi_timer change;
  struct gi_window
      heal_window; /* bytes that heals have in flight: taken before a block is asked for, given when it is written */
};

#define REP_UNSYNCED_ALL UINT16_MAX /* rep_inode.unsynced: children that come later, too */

/* What is kept per inode. */
struct rep_inode {
  uint16_t data_readable, meta_readable; /* directories: "data" means entries */
  uint16_t outdated, data_accused;       /* see struct rep_verdict */
  uint32_t generation;                   /* when they were learnt; 0 = never */
  uint32_t epoch;                        /* of which set of children */
  bool need_refresh;
  bool data_dirty;           /* some copy was when this was learnt */
  bool heal_queued;          /* waits for a background heal, or is being healed */
  int8_t choice;             /* split brain: 1 + the child whose copy the user wants to read; 0: none */
  uint64_t choice_until;     /* the choice ends then, or when the set of children changes */
  uint8_t contended;         /* transactions that still lock in the classic way, after another client was met */
  uint32_t range_lock_ns;    /* how long writers use range locks after the file was contended */
  uint64_t range_lock_until; /* range locks end then, or when a heal that was seen is over */
  uint64_t within;           /* bytes of the shortest copy that took our last write */
  uint16_t unsynced; /* children that may have lost writes without being blamed, or all: the next fsync counts them as failed */
  bool healer_seen;  /* the reply to the last write under a range lock told of a healer */
  bool locks_taken;  /* a posix lock was asked for through this mount */
  struct rep_refresh *refresh; /* under way */
  struct rep_txn *session[2];  /* REP_DATA, REP_META: who holds or is getting the lock */
  struct gi_list frozen[2];    /* struct gi_fop.link: wait for the end of that session */
};

#define REP_READER_GONE (-1)

struct rep_fd {
  uint32_t epoch;    /* of which set of children */
  uint32_t opened;   /* children where it is open */
  uint32_t refused;  /* children that refused a late open */
  uint64_t retry_ns; /* when they are asked again */
  /* POSIX locks taken through it (ops/held.c). */
  uint16_t away, lost; /* children that dropped them with a connection; that do not have all of them */
  uint16_t safe;       /* in doubt: children where nobody else can have had them */
  bool doubt, dead;    /* too few have them to tell that nobody else does; somebody else may have had them */
  int8_t reader;       /* directories: child + 1 the listing comes from, 0 = not begun; or REP_READER_GONE */
};

/* ---- fan-out (fan.c) ---- */

/* A fan to the set's children: what is sent is work of the set, and a descriptor that a child has lost is noted. */
void rep_fan_start(struct gi_fan *fan, struct rep *rep, void (*done)(struct gi_fan *fan), void *arg);
int rep_errno_merge(int have, int next);         /* of a fan, and of several (replicate.md 4.3) */
bool rep_errno_is_gone(int err);                 /* there is no such object */
uint32_t rep_fan_gone(const struct gi_fan *fan); /* children that say so */
/* What is told when too few went on: `err`, which those of `gone` gave if it says that there is no such object. A copy that has missed an object does
 * not have it either, so less than a quorum cannot tell: ENOTCONN. */
int rep_errno_of_few(const struct rep *rep, int err, uint32_t gone);
int rep_fan_errno(const struct gi_fan *fan); /* the same of a fan that keeps its replies */

/* What is kept per fop: one of our callers' fops, or a child of one. */
struct rep_fop {
  /* any */
  bool inside;         /* sent by ourselves on behalf of one that is under way: never held back */
  bool held_back;      /* until the set has quiesced */
  uint32_t generation; /* when it was sent */
  uint32_t distrusts;  /* of the replica set, when it was sent */
  int err;
  void (*resume)(struct gi_fop *fop, int err); /* where it goes on: rep_fop_wait */
  struct gi_fan fan;                           /* our caller's fop: its own fan-out */

  /* one that reads */
  uint32_t tried;   /* children that failed it */
  uint32_t content; /* OPEN, LOOKUP: the child that is asked for the content, or none */
  bool refreshed, read_entries, policy_asked, healed, name_healed;
  bool name_held;       /* LOOKUP: we held the lock of the name when the children were asked */
  bool asked_again;     /* LOOKUP: children had changed when all had answered */
  uint8_t locked_looks; /* LOOKUP: looks under that lock so far */

  /* one of a transaction */
  struct rep_txn *txn;
  uint64_t start, end; /* byte range of a data operation, end exclusive */
  uint32_t ok;         /* children where it succeeded */
  bool repeated;       /* data and attributes: some children have done it twice */
  uint32_t refused;    /* names: children that say that it cannot be, though others did it */
  struct {
    struct gi_gfid gfid;
    uint32_t mode;
    uint32_t on;                      /* children that have it */
  } made;                             /* entry: the new object, none if there is none of our making */
  void (*copied)(struct gi_fan *fan); /* COPY_FILE_RANGE: who is told the outcome */
  uint64_t unstable_before;           /* FSYNC: unstable writes complete when it was sent */
  uint32_t must_fail;                 /* FSYNC: children that failed it outside a transaction */
  int must_err;
  bool syncs; /* WRITE: an fsync goes with it */

  /* LK */
  struct gi_fop *current; /* the child fop under way */
  uint32_t granted;
  bool taken_back; /* from a child; held back */
};

/* To the present set of children (state.c). */
void rep_fd_translate(const struct rep *rep, struct rep_fd *rf);
void rep_inode_translate(const struct rep *rep, struct rep_inode *ri);
uint32_t rep_translate(uint32_t mask, const int8_t map[REP_MAX]); /* who is left of `mask`, where they are now */

static inline struct rep *
rep_of(const struct gi_xlator *x)
{
  struct rep *rep = x->private;

  GI_CHECK(rep, REP_MAGIC);
  return rep;
}

static inline const struct rep_options *
rep_opts(const struct rep *rep)
{
  return rep->x->options;
}

static inline struct rep_fop *
rep_fop(const struct rep *rep, struct gi_fop *fop)
{
  return gi_fop_private(fop, rep->x);
}

/* The fop waits for one thing at a time, and then goes on with resume(fop, err): a refresh, a late open, the heal of a name … */
static inline void
rep_fop_wait(const struct rep *rep, struct gi_fop *fop, void (*resume)(struct gi_fop *fop, int err))
{
  struct rep_fop *rf = rep_fop(rep, fop);

  GI_ASSERT(resume && !rf->resume && !fop->answered);
  rf->resume = resume;
}

static inline void
rep_fop_resume(const struct rep *rep, struct gi_fop *fop, int err)
{
  struct rep_fop *rf = rep_fop(rep, fop);
  void (*resume)(struct gi_fop * fop, int err) = rf->resume;

  GI_ASSERT(resume && err >= 0 && !fop->answered);
  rf->resume = NULL;
  resume(fop, err);
}

static inline struct rep_fd *
rep_fd(const struct rep *rep, const struct gi_fd *fd)
{
  struct rep_fd *rf = gi_fd_private(fd, rep->x);

  if (rf->epoch != rep->epoch)
    rep_fd_translate(rep, rf);
  return rf;
}

int rep_fd_errno_asked(const struct rep *rep, const struct gi_fop *fop); /* state.c; for rep_fd_errno */

/* Why the descriptors of an operation carry none because of their POSIX locks (ops/held.c): an errno, or 0. Looked at when it comes,
 * before it is sent and before its success is told: time has passed in between, and a client may have been stopped for long. */
static inline int
rep_fd_errno(const struct rep *rep, struct gi_fop *fop)
{
  return __builtin_expect(rep->locks_doubted, 0) && !rep_fop(rep, fop)->inside ? rep_fd_errno_asked(rep, fop) : 0;
}

static inline int
rep_first(uint32_t mask)
{
  return mask ? __builtin_ctz(mask) : -1;
}

/* What may be a linkto file of cluster/distribute (distribute.md 4), by its attributes alone. */
static inline bool
rep_may_be_linkto(const struct gi_iatt *st)
{
  return gi_has_linkto_mode(st->mode) && st->size == 0;
}

static inline void
rep_busy_get(struct rep *rep, enum rep_work work)
{
  rep->busy[work]++;
}

/* Whoever got it must not use the set's children any more; `on_idle` may run. */
static inline void
rep_busy_put(struct rep *rep, enum rep_work work)
{
  GI_ASSERT(rep->busy[work] > 0);
  if (--rep->busy[work] == 0 && rep->on_idle)
    rep->on_idle(rep, work);
}

#define rep_foreach(i, mask) \
  for (uint32_t rest_##i = (mask), i; rest_##i && ((i = (uint32_t)__builtin_ctz(rest_##i)), 1); rest_##i &= rest_##i - 1)

struct rep_inode *rep_inode(const struct rep *rep, struct gi_inode *inode);
/* The fd a fop works on; for COPY_FILE_RANGE that of the destination. */
static inline struct gi_fd *
rep_fop_fd(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_COPY_FILE_RANGE ? fop->fd2 : fop->fd;
}

/* The inode a fop works on: of its fd, of its loc, or looked up by the gfid; NULL if it names none. Borrowed from the fop. */
struct gi_inode *rep_fop_inode(struct gi_fop *fop);

/* ---- check.c ---- */
/* Assert what always holds, between two changes. */
void rep_check(const struct rep *rep);
void rep_inode_check(const struct rep *rep, const struct rep_inode *ri);
void rep_fd_check(const struct rep *rep, const struct rep_fd *rf);

/* ---- members.c ---- */
int rep_child_named(const struct rep *rep, const char *name); /* -1: none */
bool rep_majority(const struct rep *rep, uint32_t mask);      /* more than half of the children, whatever the options say */
bool rep_quorum(const struct rep *rep, uint32_t mask);        /* false: ENOTCONN (replicate.md 3.2) */
bool rep_no_quorum_configured(const struct rep *rep);
/* Any two quorums share a child. Then a child of every quorum accuses a copy that missed an acknowledged change. */
bool rep_quorums_meet(const struct rep *rep);
bool rep_ready(const struct rep *rep); /* the children that are up have quorum */
/* consistent-io wants that no child came or went since `generation`. */
bool rep_undisturbed(const struct rep *rep, uint32_t generation);
/* Why nothing may be read although the set is ready: the copies contradict each other, or (arbiter) the good one is away. */
int rep_unreadable(const struct rep *rep);
/* Where a directory may be listed of which every copy that is up is accused. */
uint32_t rep_accused_views(const struct rep *rep, struct gi_inode *dir);
int rep_first_data(const struct rep *rep, uint32_t mask); /* the first child that keeps data, else the first; -1 = empty */
void rep_children_changed(struct rep *rep); /* connected or halo's choice may have: updates `up` and tells the layers above */
void rep_announce(struct rep *rep);         /* tells the layers above whether any child is up */

/* ---- keys.c ---- */
/* What follows from names and number of the children: all, arbiter, names of the changelog attributes. 0, or -1 and err. */
int rep_keys_init(struct rep *rep, const struct rep_options *o, struct gi_xlator *const *children, unsigned n,
                  struct gi_error *err);
void rep_keys_finish(struct rep *rep);
/* Whether these options fit the children, present or coming. 0, or -1 and err. */
int rep_options_check(const struct gi_xlator *x, const struct rep_options *o, struct gi_error *err);

/* ---- state.c ---- */
void rep_answer(struct rep *rep, struct gi_fop *fop, int ret, int err);
/* Names in the root that belong to the self-heal: hidden from a caller with this pid (replicate.md 4.1). */
bool rep_private_name(const struct rep *rep, int32_t pid, const struct gi_gfid *parent, const char *name);
uint32_t rep_fd_opened(const struct rep *rep, const struct gi_fd *fd, uint32_t mask); /* those of `mask` where it is open */

/* ---- quiesce.c ---- */
void rep_quiesce_hold(struct rep *rep, struct gi_fop *fop);   /* until rep_quiesce_end */
void rep_quiesce_end(struct rep *rep);                        /* those held back go on */
bool rep_quiesce_cancel(struct rep *rep, struct gi_fop *fop); /* answers it EINTR if it is held back */
void rep_quiesce_again(struct gi_fop *fop, int err);          /* a lock taken back from a child begins anew when that is over */
/* An operation of our own to ourselves on behalf of one that is under way. */
void rep_submit_inside(struct rep *rep, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *arg), void *arg);

/* ---- local.c ---- */
/* First lookup of the root: finds a child on this host (replicate.md 4.3). */
void rep_local_discover(struct rep *rep);
/* Whether the answer to a pathinfo getxattr names this host (or this host's management daemon). */
bool rep_local_is(const struct rep *rep, const char *pathinfo);

/* ---- halo.c ---- */
uint32_t rep_halo(const struct rep *rep); /* which of the connected children to use */
void rep_halo_measured(struct rep *rep, unsigned child, uint64_t ns);
void rep_halo_watch(struct rep *rep); /* has round trips measured as long as halo is on */
void rep_halo_init(struct rep *rep);
void rep_halo_finish(struct rep *rep);

#endif
