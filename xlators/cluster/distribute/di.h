/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of cluster/distribute share. README.md says how it works.
 *
 * Operations on one file go to the subvolume that has it, without a stop.
 * What needs more than one message is a task (task.h): straight-line code that
 * asks subvolumes and waits. Subvolumes are numbered as the volfile lists them,
 * and sets of them are bit masks.
 */
#ifndef DI_H
#define DI_H

#include "xlators/cluster/distribute/hash.h"
#include "xlators/cluster/distribute/layout.h"

#include "libglusterish/fan.h"
#include "libglusterish/graph.h"
#include "libglusterish/task.h"

#include <errno.h>

#define GI_MSG_DISTRIBUTE 108500 /* base of message ids */
#define DI_MAGIC 0x1d0d1501u

struct di_options {
  char *xattr_name, *extra_hash_regex, *rsync_hash_regex, *lookup_unhashed, *rebal_throttle, *decommissioned, *local_name,
      *patterns;
  bool nufa, by_pattern, force_migration, lock_migration, lookup_optimize, randomize, readdir_optimize, rebalance_stats,
      weighted, use_readdirp, ensure_durability;
  struct gi_percent_or_size min_free_disk;
  double min_free_inodes;
  int64_t spread;
  int partial_listing;   /* enum di_partial */
  int64_t rebalance_cmd; /* of the process that moves files; see rebalance/rebalance.h */
};
enum di_partial { DI_PARTIAL_FAIL, DI_PARTIAL_ALLOW };
extern const struct gi_option di_table[];

/* What a file has among its permission bits while it is moved. */
#define DI_MOVING (S_ISVTX | S_ISGID)
#define DI_SIZE_KEY "trusted.glusterfs.shard.file-size"
#define DI_ACL_KEY "system.posix_acl_access"

/* What is known of a subvolume's room. */
struct di_space {
  uint64_t asked; /* gi_now; 0: never */
  bool asking;
  struct gi_statfs st;
};

struct di_metrics {
  uint64_t everywhere, linktos_followed, linktos_made, linktos_removed, directories_healed, layouts_written, optimised, located,
      partial_listings;
};

struct di {
  uint32_t magic;
  struct gi_xlator *x;
  unsigned n; /* subvolumes */
  struct gi_xlator
      *place[DI_MAX];  /* the same, each where it is as long as it stays: by these numbers cookies name them; NULL: free */
  unsigned next_place; /* of who comes, if it is free */
  char *layout_key, *linkto_key, *mds_key, *note_key, *mode_key;
  char *commit_key, *committed_key; /* the volume's commit hash at the root: of a rebalance of GlusterFS, and after ours */
  char *size_domain;                /* of the locks that keep the sizes of files in blocks: the name of features/shard above */
  struct di_munge munge;
  uint64_t up, heard;    /* subvolumes that can serve; that have said anything */
  uint64_t leaving;      /* subvolumes that get no new files: decommissioned */
  uint64_t joining;      /* came to the running graph, and have not been heard of: what needs all waits for a moment */
  bool announced;        /* CHILD_UP was sent */
  uint32_t stamp;        /* the commit hash of new directories: the volume's, whoever wrote it; or DI_NO_COMMIT */
  uint32_t commit;       /* the same if it says that all files are where they belong, else DI_NO_COMMIT … */
  uint64_t commit_asked; /* … when it was asked for because a directory has another one; 0: never */
  uint32_t generation;   /* layouts of another one are asked for again */
  uint64_t seed;         /* of hashes of names; 0: not drawn yet */
  uint64_t owners;       /* lock owners given out */
  bool spread;           /* over several subvolumes, now or before: operations do not pass by */
  struct gi_xlator
      *sole;     /* before that: where descriptors are open that are not `known`; NULL: it has left, or there was none */
  bool shrunk;   /* a subvolume has left: what is known may name it */
  uint32_t sets; /* how often the set of subvolumes was exchanged … */
  uint32_t left; /* … when one had left last */
  unsigned busy; /* tasks, and questions of our own, under way: subvolumes keep their numbers */
  bool draining;
  struct gi_list waiting; /* struct gi_fop.link: until the set of subvolumes has been exchanged */
  struct gi_defer settle;
  struct gi_timer first_up;
  struct di_space space[DI_MAX];
  uint64_t local; /* subvolumes that have a brick on this machine, as far as that is asked for */
  unsigned nrules;
  struct di_rule *rules;       /* which names go to which subvolumes */
  struct di_reb *reb;          /* NULL in every other process */
  void (*on_up)(struct di *d); /* of the rebalance, or NULL: a subvolume came or went; the process is about to end */
  void (*on_leave)(struct di *d);
  void (*on_reply)(struct di *d, const struct gi_fop *reply); /* of a subvolume, to a task */
  struct di_metrics metrics;
};

static inline struct di *
di_of(const struct gi_xlator *x)
{
  struct di *d = x->private;

  GI_CHECK(d, DI_MAGIC);
  return d;
}

static inline const struct di_options *
di_opts(const struct di *d)
{
  return d->x->options;
}

static inline uint64_t
di_all(const struct di *d)
{
  return d->n == 64 ? UINT64_MAX : (1ull << d->n) - 1;
}

#define di_foreach(i, mask) \
  for (uint64_t i##_left = (mask), i; i##_left && ((i = (uint64_t)__builtin_ctzll(i##_left)), true); i##_left &= i##_left - 1)

/* The number of a subvolume; -1: it is none (any more). */
int di_index(const struct di *d, const struct gi_xlator *child);
/* The subvolume of that name; -1: none. A name that a graph with a read-ahead per subvolume wrote counts too. */
int di_by_name(const struct di *d, const char *name);

/* It is not where it was, by name or by gfid: removed, moved by a rebalance, or replaced by a rename. */
static inline bool
di_is_gone(int err)
{
  return err == ENOENT || err == ESTALE;
}

/* ---- inodes and descriptors ---- */

struct di_inode {
  bool noted;                  /* a file: it carries the note of a rename that could not be ended */
  struct gi_xlator *target;    /* of a file that is being moved: where to; NULL: it is not, as far as is known … */
  uint64_t target_asked;       /* … at that time (gi_now) */
  uint32_t marks;              /* of a file: those of the bits DI_MOVING that are not its owner's, by the last lookup */
  struct gi_xlator *cached;    /* of anything but a directory: the subvolume that has it; NULL: not known */
  struct di_layout *layout;    /* of a directory; NULL: not known */
  struct gi_xlator *size_at;   /* of a file: the subvolume where those above have its lock of the size; NULL: they have none */
  int8_t mds;                  /* of a directory: 1 + the subvolume whose attributes count; 0: not known */
  char *name;                  /* of a directory: its last known name … */
  struct gi_gfid parent;       /* … in that one */
  struct gi_time mtime, ctime; /* of a directory: the latest that was told */
};

/* Names that a listing has met (told.c). */
struct di_told {
  uint64_t seed;    /* of the hashes */
  uint32_t n, room; /* names; of a table with open addressing */
  uint32_t untold;  /* of these names */
  uint64_t *hash;   /* 0: free */
  uint8_t *leaf;    /* the first part of the listing that has told of it, or DI_UNTOLD */
  uint32_t nlast;   /* in the replies that the reader got last, from the cookie `last_from` on */
  uint32_t taken;   /* of these, before the last reply */
  uint64_t last_from;
  struct di_last *last;
};
#define DI_UNTOLD 255

struct di_fd {
  uint32_t set;             /* di.sets when it was opened */
  bool known;               /* what follows is set; if not: opened when there was one subvolume (di.sole), or not at all */
  uint64_t opened, absent;  /* a directory: places of subvolumes where it is open; that do not have it */
  struct gi_xlator *at[2];  /* a file: subvolumes where it is open */
  struct di_told told;      /* a directory: since somebody began at 0 … */
  uint64_t since;           /* … which was then, or when it was opened (gi_now); 0: nobody knows what was told before */
  bool fresh;               /* since it was opened: each subvolume knows which copies are good … */
  bool left;                /* … and since then a name may have left some of them */
  uint64_t listed;          /* the cookie up to which everything was listed since then */
  uint8_t again;            /* so many places, from the first, may have got files since they were listed … */
  uint8_t shown;            /* … or, if not all names are told that were met, so many */
  uint8_t more;             /* so often all were listed once more */
  struct di_layout *layout; /* of the directory, when the listing began, or what follows now; NULL: not known */
  struct gi_fd **second;    /* by place, those for that; DI_MAX, NULL: none of them is open */
  struct gi_window turn;    /* of one task that opens a file on one of them, or lists a directory; size 0: nobody has had it */
};

struct di_inode *di_inode_of(const struct di *d, const struct gi_inode *inode);
struct di_fd *di_fd_of(const struct di *d, const struct gi_fd *fd);
void di_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes);
/* Waits until no other task does what only one may at a time; then it is this one's turn until it gives that back. */
void di_fd_turn(struct di *d, struct gi_fd *fd);
void di_fd_turn_over(struct di *d, struct gi_fd *fd);
/* The file of that gfid is on this subvolume. */
void di_know_file(struct di *d, const struct gi_gfid *gfid, struct gi_xlator *child);
void di_forget_inode(struct gi_xlator *x, struct gi_inode *inode, void *bytes);

/* Attributes of a directory as they are told: size and blocks are constants, for no subvolume's are the directory's. */
void di_dir_attr(struct gi_iatt *a);
/* Attributes of the parent in the reply of an operation on one subvolume: never older than what was told before. */
void di_parent_attrs(struct di *d, struct gi_fop *fop);
/* The end of a task that changed a name: fails with `err`, or answers with what the subvolume said. */
enum gi_verdict di_end(struct di *d, struct gi_fop *fop, int err);

/* ---- tasks ---- */

/* Fills in fop->rsp and says GI_ANSWERED; or has passed the operation on: GI_HELD. */
typedef enum gi_verdict di_task_fn(struct di *d, struct gi_fop *fop);

struct di_fop {
  di_task_fn *fn;
  struct gi_fop *first; /* a reply that came before the task began; owned */
  struct gi_xlator *to; /* the subvolume that was asked; of a LOOKUP that is answered: that has the file */
  uint8_t tries;        /* after the file had moved */
  bool expects;         /* UNLINK: which object is meant was said here, not by who asked */
  bool noted;           /* LOOKUP: what somebody had left undone was found, and settled … */
  bool undecided;       /* … but for a rename that could not be ended: nobody knows which name the file has */
  bool cleared;         /* LOOKUP: directories of different gfids were found, and the wrong ones removed if that can be */
  bool inner;           /* sent by a task of ours: it does not wait for another set of subvolumes, which waits for the task */
};

static inline struct di_fop *
di_fop_of(struct gi_fop *fop, const struct di *d)
{
  return gi_fop_private(fop, d->x);
}

/* Runs fn as a task, now, or when the subvolumes have been exchanged. Says GI_HELD, from a handler and from `complete`. */
enum gi_verdict di_run(struct di *d, struct gi_fop *fop, di_task_fn *fn);
/* Begins those that had to wait. */
void di_run_waiting(struct di *d);

/* Operations to several subvolumes, waited for. Between begin and wait fill it with di_ask_send, or use di_ask_copy; di_ask_end drops the
 * replies. */
struct di_ask {
  struct gi_fan fan;
  struct gi_task *task;
  bool done;
};
void di_ask_begin(struct di *d, struct di_ask *ask);
void di_ask_send(struct di *d, struct di_ask *ask, struct gi_fop *fop, unsigned child);
void di_ask_wait(struct di *d, struct di_ask *ask);
/* A copy of `proto`, which the caller keeps, to each subvolume of the mask; those that are down refuse. */
void di_ask_copy(struct di *d, struct di_ask *ask, struct gi_fop *proto, uint64_t mask);
void di_ask_end(struct di_ask *ask);
/* The one errno that tells best why the subvolumes of `mask` failed; 0: none did. */
int di_ask_err(const struct di_ask *ask, uint64_t mask);
/* Why one failed that did not just say that it does not have it; 0: none did. */
int di_ask_refusal(const struct di_ask *ask);

/* Names are borrowed, and a subvolume may need them after its answer: replicate gives locks back by name. They are copied where they are not
 * those of the operation that this one is for; whoever sends operations does it. */
void di_keep_names(struct gi_fop *fop);

/* An operation on behalf of another, as root. */
struct gi_fop *di_helper(struct gi_fop *fop, enum gi_fop_kind kind);
/* The same on an object, of which the bricks know that it is no user's. */
struct gi_fop *di_own_fop(struct gi_fop *fop, enum gi_fop_kind kind, const struct gi_gfid *gfid);
/* Sends it to one subvolume and waits: 0 or errno. The reply is in fop->rsp. */
int di_do(struct di *d, struct gi_fop *fop, unsigned child);
/* The same from the top: as if the application had asked for it, with all that a file on the move needs. */
int di_do_from_top(struct di *d, struct gi_fop *fop);
/* Sends it to one subvolume as di_do, and drops it. */
int di_do_drop(struct di *d, struct gi_fop *fop, unsigned child);
/* The operation as it is; the reply becomes its own. */
int di_pass(struct di *d, struct gi_fop *fop, unsigned child);

/* ---- lookups ---- */

struct di_found {
  struct di_ask ask;
  uint64_t file, linkto, dir; /* what the subvolumes have */
  uint64_t absent, failed;    /* they do not have it; they could not say */
};

/* Asks the subvolumes of `mask`, which may be none, for a place: by name, or by its gfid if `loc` has no name. The caller ends it with
 * di_found_end. */
void di_find(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, uint64_t mask, struct di_found *f);
void di_found_end(struct di_found *f);
/* When all answers are there. A file that may be a linkto file without its attribute (di_is_bare) is one, if another subvolume has the file. */
void di_found_settle(const struct di *d, struct di_found *f);
void di_found_add(struct di *d, struct di_found *f, unsigned child, struct gi_fop *reply);
/* The subvolume of a file that several have: one whose copy is not about to go to another one, if there is such a one. */
unsigned di_found_file(const struct di *d, const struct di_found *f);
bool di_is_linkto(const struct di *d, const struct gi_fop *reply);
/* The same of attributes and keys, as a listing has them. */
bool di_tells_linkto(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata);
/* A file with the mode of a linkto file, and not its attribute: a brick may have missed that one. Or its owner gave it that mode. */
bool di_is_bare(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata);
/* The subvolume that the linkto file of a lookup's reply names; -1: none that is known. */
int di_linkto_target(const struct di *d, const struct gi_fop *reply);
void di_add_keys(const struct di *d, struct gi_dict *xdata);
void di_add_root_keys(const struct di *d, struct gi_dict *xdata);
void di_strip_keys(const struct di *d, struct gi_fop *fop);

/* Finds out where an inode is, or what the layout of the directory is. 0 or errno. */
int di_locate(struct di *d, struct gi_fop *fop, struct gi_inode *inode);
/* The layout of a directory, fresh: 0 or errno. */
int di_layout_get(struct di *d, struct gi_fop *fop, struct gi_inode *dir, const struct di_layout **layout);
/* Known and fresh, without asking; NULL if not. */
const struct di_layout *di_layout_known(const struct di *d, const struct gi_inode *dir);
/* The subvolume a name belongs to; -1: a hole. */
int di_hashed(const struct di *d, const struct di_layout *layout, const char *name);
/* Keeps what answers say of a directory: its layout, and which subvolume's attributes count. */
struct di_inode *di_keep_dir(struct di *d, const struct di_found *f, const struct gi_gfid *gfid, struct gi_inode *inode);
/* The directory has this name; and its layout in place of what was known (owned). */
void di_keep_name(struct di_inode *i, const struct gi_loc *loc);
void di_keep_layout(struct di *d, struct di_inode *i, struct di_layout *l);
/* Which subvolume a new layout begins with: by the path of the directory, if it is known. */
uint32_t di_layout_start(const struct di *d, const struct gi_loc *loc, const struct gi_gfid *gfid);
/* A new one for a directory on the subvolumes of `mask`, with that commit hash; it leaves as much as it can where `old` (or NULL) has it. On a task:
 * asks for sizes. Owned by the caller. */
struct di_layout *di_layout_make(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *gfid,
                                 uint64_t mask, uint32_t commit, const struct di_layout *old);
/* The part of the layout of a directory that `child` has now; err != 0: it has none, or could not say. On a task. */
struct di_range di_range_ask(struct di *d, struct gi_fop *fop, const struct gi_loc *dir, unsigned child);
/* The layout of a directory is another one by now, if it is still this: it is asked for when it is used next. */
void di_layout_stale(struct di *d, const struct gi_inode *dir, const struct di_layout *layout);
enum di_unhashed { DI_UNHASHED_NO, DI_UNHASHED_AUTO, DI_UNHASHED_YES };
enum di_unhashed di_unhashed(const struct di *d);
/* What a name is: finds it, everywhere if need be, as a LOOKUP would. 0: *child has it (a file), or -1 in *child (a directory). The
 * attributes are in *stat. */
int di_resolve(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, int *child, struct gi_iatt *stat);
/* 0 if nothing has the name, also where a linkto file had it that led nowhere, and is gone; EEXIST; ENOTCONN if what has it is what was to be
 * made, or `ours`, which may have got it by an attempt that failed (NULL: no attempt); else why nobody knows. The caller has no lock of the name. */
int di_look_free(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *ours);
/* The same after EEXIST, which is true unless something says otherwise. */
int di_is_free(struct di *d, struct gi_fop *fop, const struct gi_loc *loc);

/* The merged attributes of a directory that was found; EIO: the subvolumes have different directories there. Heals what is missing.
 * `loc` names it, if its name is known. The reply of the subvolume that counts is *best (child). */
int di_merge_dir(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, struct di_found *f, struct gi_iatt *stat,
                 unsigned *best);

/* ---- files on the move (marks.c, migrate.c) ---- */

/* A lookup's reply of a file that is being copied to another subvolume. */
bool di_is_moving(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata);
/* A lookup's reply of a file that has arrived on a subvolume, but whose source is none the less still a file: who moved it was killed. Then
 * the source becomes a linkto file, or a name that is removed would show again. */
bool di_is_unfinished(const struct di *d, const struct gi_fop *reply);
/* A lookup's reply of the source of a move that did not end, whose mode was set since, which took the bits away: it counts, whatever its target
 * looks like, for what is done to it is not done there any more. The attribute that keeps its mode tells it from the target. */
bool di_lost_marks(const struct di *d, const struct gi_fop *reply);
/* With its marks, or without. */
bool di_is_source(const struct di *d, const struct gi_fop *reply);
/* Under the lock of moves: it loses the rest of its marks, and what was to become its copy is a linkto file. 0 or errno. */
int di_take_back(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned target);
bool di_tells_unfinished(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata);
/* `wait`: if somebody is about to finish it, or has the lock of the size at the source. EALREADY: it is finished, or nothing says from where
 * it comes. EAGAIN: somebody is at it, or users have locks there. With that and any other errno *source counts, if it has the file still. */
int di_finish_move(struct di *d, struct gi_fop *fop, const struct gi_fop *reply, unsigned child, bool wait, unsigned *source);
/* *at: the subvolume where the file on `child` has arrived, though it is still a file here; -1: it is not on the move, or not there yet. What is done
 * to its names here alone would leave them there, so such a move is ended first. 0, or ENOTCONN: nobody can say, and its names are to stay. */
int di_arrived_at(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, int *at);
void di_end_move(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned at);
/* What the copy on `child` says: 0, its mode, and the subvolume where it goes or has gone, -1 if nowhere; or errno. */
int di_ask_target(struct di *d, struct gi_fop *fop, struct gi_inode *inode, unsigned child, int *target, uint32_t *mode);
/* It is no longer on the subvolume `left` (NULL: wherever it was). 0: the inode knows where it is, by this or by another operation.
 * EALREADY: it is there all the same; else why it is not found, ESTALE if it is nowhere. */
int di_find_again(struct di *d, struct gi_fop *fop, struct gi_inode *inode, const struct gi_xlator *left);
/* Attributes that a file which moves is given last, for they go with its mode or are the times': from `source` to `child`. 0 or errno; EAGAIN: they
 * are changed all the time. */
int di_last_xattrs(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child);
/* Likewise the size of a file in blocks, with its lock: who has changed that on the source and did not reach the target was told so, but those who
 * looked since, and found the size as they need it, count on it. */
int di_bring_size(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child);
/* The mode that its owner gave it, by the attributes and keys of a lookup. */
uint32_t di_own_mode(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata);
/* A lookup's reply says which bits of the file's mode are marks; what a reply tells of the mode is what its owner gave it, by the last that did. */
void di_know_marks(struct di *d, const struct gi_fop *reply);
void di_hide_marks(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid);
void di_opened(struct di *d, struct gi_fd *fd, struct gi_xlator *child);
/* The operation's descriptor can be used there. If not, di_reopen, as a task, opens it and goes on. */
bool di_ready_at(const struct di *d, struct gi_fop *fop, const struct gi_xlator *child);
di_task_fn di_reopen;
gi_fop_fn di_file_done, di_xattrop;

/* ---- extended attributes of two subvolumes (xattrs.c); on a task ---- */

/* Removes one. 0 or errno; that there is none is no error. */
int di_xattr_drop(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const char *name);

/* Which ones: those of a listing that `takes` says, and those of the names, up to NULL. */
struct di_xattrs {
  bool (*takes)(const struct di *d, const char *name);
  const char *const *named;
  bool rebalance; /* the bricks are told that it is one who changes them */
};
/* What `child` has of them. 0 or errno; *list is the caller's in any case. */
int di_xattrs_list(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const struct di_xattrs *set,
                   struct gi_dict **list);
/* `child` has those of `want` and no others. 0 or errno; *differed: it had not. */
int di_xattrs_give(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const struct di_xattrs *set,
                   const struct gi_dict *want, bool *differed);
/* `to` has what `from` has, while others change both. 0 or errno; EAGAIN: they were not found the same often enough. */
int di_xattrs_agree(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned from, unsigned to,
                    const struct di_xattrs *set);

/* ---- new names (entry.c) ---- */

/* The subvolume refuses the operation, which makes a name, if the layout of the directory is not what this client takes it for (l). Until
 * di_unguard. */
void di_guard(struct di *d, struct gi_fop *fop, const struct di_layout *l, unsigned child);
void di_unguard(struct di *d, struct gi_fop *fop);
bool di_layout_refused(const struct gi_fop *reply);

/* ---- locks that keep the size of a file in blocks (size-lock.c) ---- */

gi_fop_fn di_inodelk;
static inline bool
di_keeps_size(const struct di *d, const struct gi_fop *lock)
{
  return lock->args.domain && strcmp(lock->args.domain, d->size_domain) == 0;
}

/* ---- locks (lock.c) ---- */

struct di_lock {
  uint8_t child;
  bool entry, now;
  struct gi_loc loc;
  const char *name, *domain; /* the name is borrowed */
  struct gi_owner owner;
};
struct di_locks {
  unsigned n;
  struct gi_owner owner; /* of all; len 0: of none so far */
  struct di_lock lock[DI_MAX + 4];
};
enum di_lock_kind {
  DI_LOCK_LAYOUT_READ,
  DI_LOCK_LAYOUT_WRITE,
  DI_LOCK_NAME,
  DI_LOCK_MIGRATE,
  DI_LOCK_SIZE, /* who takes both takes the one before first */
  DI_LOCK_MIGRATE_NOW,
  DI_LOCK_SIZE_NOW
};
/* Adds a lock that is waited for; those of the last two kinds are not: EAGAIN. 0 or errno. */
int di_lock(struct di *d, struct gi_fop *fop, struct di_locks *l, enum di_lock_kind kind, unsigned child,
            const struct gi_loc *loc, const char *name);
/* How often who gets EAGAIN tries again. */
#define DI_ATTEMPTS 5
/* The namespace lock of a name in a directory, on the subvolume it belongs to. EAGAIN: it does not any more; the layout of the directory is
 * read anew when it is next asked for. */
int di_lock_name(struct di *d, struct gi_fop *fop, struct di_locks *l, unsigned child, const struct gi_loc *entry);
/* Those of both names of a RENAME. */
int di_lock_names(struct di *d, struct gi_fop *fop, struct di_locks *l, unsigned src_hashed, unsigned dst_hashed);
/* Below zero: who takes both takes that on subvolume `a` first. */
int di_lock_order(const struct di *d, unsigned a, const struct gi_gfid *ga, unsigned b, const struct gi_gfid *gb);
void di_unlock(struct di *d, struct gi_fop *fop, struct di_locks *l);

/* ---- linkto files (linkto.c) ---- */

/* Makes one for `loc` on `child` that leads to `target`. 0, or errno; EEXIST: something has the name. */
int di_linkto_make(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned child,
                   unsigned target);
/* The one of that file leads to `target` from now on, under all of its names. */
int di_linkto_lead(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, unsigned target);
/* Makes one in place of what has the name there. The reply of the RENAME, if it came to that, is the caller's. */
int di_linkto_replace(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned child,
                      unsigned target, struct gi_fop **reply);
/* Removes what must be a linkto file. */
int di_linkto_remove(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, unsigned child, bool spare_open);

/* ---- notes of renames (rename-note.c); on a task ---- */

/* The file on `child` is renamed from fop->loc to fop->loc2, and what that replaces is elsewhere. 0 or errno. */
int di_note_make(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child);
void di_note_drop(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child);
/* The same of a directory, on all subvolumes; `decides`: that on which it is renamed first. */
int di_note_make_all(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned decides);
void di_note_drop_all(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid);
/* A lookup's reply has one. */
bool di_has_note(const struct di *d, const struct gi_fop *reply);
/* The file carries one, as its last lookup has it. Who takes its name away takes the note along, and what the rename has left elsewhere would have
 * the name again: ENOTCONN, else 0. */
int di_note_hinders(struct di *d, const struct gi_gfid *gfid);
void di_note_know(struct di *d, const struct gi_gfid *gfid, bool noted);
/* A subvolume whose directory has one; -1: none. */
int di_found_note(const struct di *d, const struct di_found *f);
/* Brings to its end what it tells of, unless somebody does that already: then when they have. 0, or why that cannot be. */
int di_note_settle(struct di *d, struct gi_fop *fop, const struct gi_fop *reply, unsigned child);

/* ---- handlers ---- */

gi_fop_fn di_lookup, di_on_inode, di_create, di_mknod, di_symlink, di_link, di_unlink, di_rename, di_mkdir, di_rmdir, di_statfs,
    di_readdir, di_opendir, di_everywhere, di_refuse;
gi_fop_fn di_lookup_done, di_create_done, di_unlink_done;

/* By kind, on a directory (dirop.c); as tasks. */
enum gi_verdict di_dir_op(struct di *d, struct gi_fop *fop);
/* The rename of a directory; `dst`: what has the new name, or NULL. */
enum gi_verdict di_rename_dir(struct di *d, struct gi_fop *fop, const struct gi_iatt *src, const struct gi_iatt *dst,
                              unsigned src_hashed, unsigned dst_hashed);

/* One that did not end, under its locks: `rename` is a RENAME of that directory, which is never answered. 0: it has one name on all
 * subvolumes now, or errno. */
int di_rename_dir_end(struct di *d, struct gi_fop *rename, const struct gi_gfid *gfid, int decides);
/* A directory is renamed on the subvolumes of `mask`, which have it, as `fop` says, or `back`. 0, or why one refused or could not be asked
 * (ESTALE: where it goes is missing there). *done: where it has been renamed. */
int di_rename_dir_on(struct di *d, struct gi_fop *fop, uint64_t mask, bool back, uint64_t *done);
/* Where the directory of that gfid was found. */
uint64_t di_found_of(const struct di_found *f, const struct gi_gfid *gfid);

/* Where di.place has that subvolume. */
unsigned di_place_of(const struct di *d, unsigned child);
/* Cookies of listings: where, and in which part, of DI_LEAFS at most. Of large offsets the lowest bits are lost. */
#define DI_LEAFS (2 * DI_MAX)
uint64_t di_cookie_encode(uint64_t off, unsigned leaf);
uint64_t di_cookie_decode(uint64_t cookie, unsigned *leaf);
/* The name of an entry, with its end. False: a brick told of one that is too long. */
bool di_entry_name(const struct gi_dirent *e, char name[GI_NAME_MAX + 1]);

/* ---- what listings have told (told.c) ---- */

/* The part of the listing that told of the name first, which is `leaf` if no earlier one did. */
unsigned di_told_name(struct di_told *t, const char *name, uint32_t len, unsigned leaf);
/* It was met, and may be told of yet: it counts as untold unless it is told. */
void di_told_met(struct di_told *t, const char *name, uint32_t len);
bool di_told_has(const struct di_told *t, const char *name, uint32_t len);
/* The reply is what the reader got last, for that cookie; it may come back to what it got within the last some thousand names. `exact`: where each is on
 * its subvolume, for cookies lack the lowest bits of that where it is large. */
void di_told_reply(struct di_told *t, uint64_t from, const struct gi_dirents *reply, const uint64_t *exact);
/* Where the entry of that cookie is, if it is among what the reader got last. */
bool di_told_exact(const struct di_told *t, uint64_t cookie, uint64_t *exact);
/* The reply is told to nobody: its files are untold. */
void di_told_lost(struct di_told *t, const struct gi_dirents *reply);
/* The reader goes on behind the entry of that cookie in what it got last, or asks for all of that again: the files that follow are untold. False:
 * it is not in there. */
bool di_told_back(struct di_told *t, uint64_t cookie);
/* What was told by later parts than `leaf` is untold. */
void di_told_only(struct di_told *t, unsigned leaf);
void di_told_free(struct di_told *t);

/* The directory is empty on all subvolumes; linkto files that lead nowhere are removed from it, under the locks of their names: the caller has no
 * lock. 0, ENOTEMPTY or why not; EAGAIN as of di_lock_name. */
int di_dir_empty(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat);
/* Brings the names in the directory of `entry` to the disks of a subvolume. On a task. 0 or errno. */
int di_dir_sync(struct di *d, struct gi_fop *fop, const struct gi_loc *entry, unsigned child);
/* What `child` has of a file, its attributes too, is on the disks. 0 or errno. */
int di_file_sync(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child);

/* ---- directories (heal.c) ---- */

/* Makes it where it is missing, and brings attributes and layout in order. What is not done is left for the next lookup. */
void di_heal_dir(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, uint64_t missing,
                 uint64_t differ);
/* Under the lock of its name: makes it on `mask`, with what those of `has` have of it. The subvolumes where it was made. */
uint64_t di_make_again(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, uint64_t mask,
                       uint64_t has);
/* The directory is on all subvolumes that have answered, as far as is known. */
bool di_is_complete(const struct di *d, const struct gi_inode *dir);
/* The subvolume a name in `dir` belongs to. A layout with a hole there is looked at once more, and mended if it can be, with the directories above.
 * 0 or errno; ENOTCONN, EIO: it belongs nowhere. On a task. */
int di_hashed_get(struct di *d, struct gi_fop *fop, struct gi_inode *dir, const char *name, unsigned *hashed);
/* The same; and the directory, and those above it, are made first where they are missing: what gets the name may be there. */
int di_hashed_complete(struct di *d, struct gi_fop *fop, struct gi_loc *loc, unsigned *hashed);
/* Subvolumes have different directories of one name: one has lost with its power what another has not. Where the name belongs it is
 * decided. What others have goes, under the lock of the name, if nothing is in it. Whether any has gone. */
bool di_clear_name(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, unsigned hashed);

/* Gives the extended attributes that `from` has to the subvolumes of `to`, and takes its mark back if that was it. */
void di_heal_xattrs(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned from, uint64_t to, int32_t mark);
/* A directory of an older volume, in which no subvolume counts: the one where its name belongs does from now on. */
void di_name_mds(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, struct di_inode *i, const struct gi_gfid *gfid);
/* Adds to the mark of the subvolume that counts. 0 or errno. */
int di_mark(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, int32_t by);
/* Gives it a new layout with that commit hash (or DI_NO_COMMIT), unless what it has is as good. Under the lock of its
 * layout. 0 or errno; *exchanged becomes true if it had another one. */
int di_layout_renew(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_gfid *gfid, uint32_t commit,
                    bool *exchanged);

/* ---- rebalance (rebalance/rebalance.c) ---- */

void di_reb_init(struct di *d);
void di_reb_finish(struct di *d);
/* 0, or -1 and err: it does not say how many files at a time. */
GI_MUST_CHECK int di_throttle_check(const char *text, struct gi_error *err);
void di_reb_reconfigure(struct di *d); /* as many files at a time as the option says now */
void di_manage(struct gi_xlator *x, struct gi_manage *m);

/* ---- where an object is (where.c) ---- */

/* A GETXATTR of a name that says on which bricks or nodes an object is; di_where answers it. */
bool di_asks_where(const struct gi_fop *fop);
di_task_fn di_where;

/* ---- room (space.c) ---- */

/* Where a new file goes that belongs to `hashed`: there, to a subvolume that is preferred, or to one with more room. */
unsigned di_choose(struct di *d, const struct di_layout *layout, unsigned hashed, const char *name);
/* It keeps the room free that it is to, with so many bytes more; as far as is known. */
bool di_has_room(const struct di *d, unsigned child, uint64_t bytes);
/* That with most room of those that have so much, for a file of a directory of that layout; -1: none. */
int di_with_room(const struct di *d, const struct di_layout *layout, uint64_t bytes);
/* So many bytes have been written there. */
void di_take_room(struct di *d, unsigned child, uint64_t bytes);
/* Asks for what is old of it, in the background. */
void di_space_refresh(struct di *d, struct gi_fop *fop);
/* Size of each subvolume in MiB, for layouts; false: not all are known. On a task: asks. */
bool di_weights(struct di *d, struct gi_fop *fop, uint64_t weight[DI_MAX]);

/* ---- where new files would rather be (place.c) ---- */

/* Those that a new file of that name is to go to if they have room; 0: it goes where its name belongs. */
uint64_t di_preferred(const struct di *d, const char *name);
/* 0, or -1 and err: the text is no list of patterns. */
GI_MUST_CHECK int di_place_check(const char *pattern, struct gi_error *err);
/* After the options or the set of subvolumes changed. */
void di_place_set(struct di *d);
void di_place_finish(struct di *d);
/* A subvolume can be asked: it says whether it is on this machine. */
void di_place_ask(struct di *d, unsigned child);

/* ---- subvolumes come and go (children.c) ---- */

bool di_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data);
void di_children_changed(struct gi_xlator *x);
void di_settle(struct di *d);
void di_children_init(struct di *d);
void di_children_finish(struct di *d);
void di_set_kinds(struct di *d);
void di_set_leaving(struct di *d); /* from the option */

#endif
