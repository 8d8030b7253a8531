/* SPDX-License-Identifier: Apache-2.0
 *
 * Rebalance: the process that gives the directories of a volume new layouts and
 * moves files to where they belong then (distribute.md 9). It runs in
 * cluster/distribute of a process of its own, which rebalance-cmd starts.
 *
 *   rebalance.c  its life, what it tells
 *   walk.c       directories: layouts, listings
 *   collect.c    names of files that have several
 *   move.c       one file
 *   names.c      one with several names
 *   other.c      one that is no regular file
 *   copy.c       its bytes and attributes
 *   stray.c      linkto files that are not due, and marks of files that stay
 *   commit.c     whether names that are missing need to be searched
 *   pace.c       how fast
 *   mounts.c     who must know the subvolumes first
 *
 * What a file's state is stands in the file itself, so who is killed goes on
 * where another one begins: a source that is marked is copied again, and one whose
 * target is no linkto file any more is removed.
 */
#ifndef DI_REBALANCE_H
#define DI_REBALANCE_H

#include "xlators/cluster/distribute/di.h"

enum di_reb_command { DI_REB_NONE = 0, DI_REB_START = 1, DI_REB_LAYOUT = 4, DI_REB_FORCE = 5 };
/* As the management daemon has it. */
enum di_reb_status { DI_REB_RUNS = 1, DI_REB_COMPLETED = 3, DI_REB_FAILED = 4 };

/* all zero is the start */
struct di_reb_pace {
  uint64_t rest;    /* ns before each file and each block */
  uint64_t since;   /* the last decision … */
  uint32_t stretch; /* … and the worst that was heard since; gi_load_stretch */
  uint64_t busy;    /* when there last was a foreground */
  uint64_t took;    /* ns: an operation of the rebalance, on average; 0: not known */
};

struct di_reb {
  struct di *d;
  struct gi_fop *base; /* all operations are on its behalf */
  enum di_reb_command command;
  enum di_reb_status status;
  bool running, stopping;
  struct gi_window files;     /* moved at the same time */
  struct di_reb_links *links; /* collect.c; NULL: nothing is collected */
  uint64_t began, ended;      /* gi_now */
  uint64_t moved, bytes, scanned, failures, skipped, objects;
  uint32_t commit; /* of the layouts that are written */
  bool unsure;     /* a name may lead to a file elsewhere without a linkto file where it belongs */
  uint64_t met;    /* files on subvolumes that are to leave, in this walk */
  struct di_reb_pace pace;
};

/* ---- move.c ---- */

/* Moves the file of that name from one subvolume to another. On a task. 0 or errno; EMLINK: it has several names, EBUSY: it is locked, or written
 * all the time, ENOENT: it is gone, ENOSPC: there is no room. */
int di_reb_move(struct di_reb *r, const struct gi_loc *loc, unsigned from, unsigned to);

/* ---- names.c, collect.c ---- */

struct di_reb_name {
  struct gi_inode *parent;
  char *name;
  bool gone;
};
struct di_reb_names {
  struct gi_list link;
  struct gi_gfid gfid;
  unsigned from, n, room;
  struct di_reb_name *name;
  bool stays;   /* a name belongs where the file is */
  bool regular; /* it is a regular file */
};

/* A name was met that belongs elsewhere than where the file is. The file with all of its names, the caller's, when this was the last one;
 * else NULL. */
struct di_reb_names *di_reb_collect(struct di_reb *r, unsigned from, const struct gi_iatt *stat, struct gi_inode *parent,
                                    const char *name);
/* One that belongs there: the file stays. */
void di_reb_collect_home(struct di_reb *r, unsigned from, const struct gi_gfid *gfid);
void di_reb_names_free(struct di_reb_names *f);
/* The walk is over: how many files were not met under all of their names. */
uint64_t di_reb_collect_end(struct di_reb *r);
/* A file with one name, the caller's, that is not to go to where that belongs. */
struct di_reb_names *di_reb_names_one(unsigned from, const struct gi_gfid *gfid, struct gi_inode *parent, const char *name);
/* Moves the file with all of its names to where one of them belongs, if there is room; from a subvolume that is to leave else to one that has
 * some. As di_reb_move; EALREADY: it is where one belongs, EMLINK: it has others than these. */
int di_reb_move_names(struct di_reb *r, struct di_reb_names *all);

/* The subvolume that each name belongs to. 0 or errno. */
int di_reb_homes(struct di_reb *r, const struct di_reb_names *all, unsigned *hashed);
/* Under the lock of a name that belongs to `hashed`: the linkto file there, if it is one of that file, leads to `to`. */
int di_reb_lead(struct di_reb *r, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned hashed, unsigned to);

/* ---- move.c: room ---- */

/* A file of that size goes there whatever room there is, or finds enough. */
bool di_reb_fits(const struct di_reb *r, unsigned child, const struct gi_iatt *stat);
/* It has gone there. */
void di_reb_filled(struct di_reb *r, unsigned child, const struct gi_iatt *stat);

/* ---- other.c ---- */

/* The same of what is no regular file, with one name or several. */
int di_reb_move_other(struct di_reb *r, const struct di_reb_names *all);

/* ---- stray.c ---- */

/* `child` has a linkto file under the name where none is due, or one with bytes. 0, also if there is nothing to do, or errno. */
int di_reb_stray(struct di_reb *r, const struct gi_loc *loc, unsigned child);
/* The file of that name, which has no other, belongs on `at`, and was found there with the marks of a move: they go, and what was to become its
 * copy; if that is the file already it is moved back. On a task. 0 or errno, as di_reb_move. */
int di_reb_stay(struct di_reb *r, const struct gi_loc *loc, unsigned at);

/* ---- copy.c: 0 or errno ---- */

struct di_reb_file {
  struct di_reb *r;
  struct gi_gfid gfid;
  unsigned from, to;
  struct gi_fd *in, *out;
  bool frozen;
  uint64_t size;
  bool blocks; /* it is the first block of a file in blocks, the size of which is one of its attributes */
};

int di_reb_open(struct di_reb_file *f);
void di_reb_close(struct di_reb_file *f);
int di_reb_copy(struct di_reb_file *f);                   /* all its bytes, without holes */
int di_reb_compare(struct di_reb_file *f, bool *differs); /* copies what differs */
int di_reb_sync(struct di_reb_file *f, unsigned child);   /* what `child` has of it */
/* Nobody has a lock of the source, nor gets one until it is thawed; EBUSY: somebody has. */
int di_reb_freeze(struct di_reb_file *f);
void di_reb_thaw(struct di_reb_file *f);
#define DI_REB_BLOCK_KEY "trusted.glusterfs.shard.block-size"
int di_reb_xattrs(struct di_reb_file *f); /* all but those of di_last_xattrs; EAGAIN as there */
int di_reb_truncate(struct di_reb *r, const struct gi_gfid *gfid, unsigned child, uint64_t size);

/* ---- pace.c ---- */

#define DI_REB_FILE_OPS 32 /* about so many operations move a file, … */
#define DI_REB_BLOCK_OPS 2 /* … and copy or compare a block, one after the other */

/* What a brick tells of its foreground in a reply, if it tells. */
void di_reb_hear(struct di_reb_pace *p, const struct gi_fop *reply, uint64_t now);
/* How long to rest before a step of so many operations: ns. */
uint64_t di_reb_rest(const struct di_reb_pace *p, unsigned ops);
/* Rests so long. On a task, without locks; true: the rebalance is to stop. */
bool di_reb_yield(struct di_reb *r, unsigned ops);

/* ---- commit.c ---- */

void di_reb_commit_begin(struct di_reb *r);
void di_reb_commit_end(struct di_reb *r);
/* Looks the name up, which makes the linkto file of what stays elsewhere than where it belongs. 0 or errno; whether there is one is in
 * r->unsure. */
int di_reb_announce(struct di_reb *r, const struct gi_loc *loc);

/* ---- mounts.c ---- */

/* Waits until whoever has the volume mounted is connected to all subvolumes; not for ever. On a task. */
void di_reb_await_mounts(struct di_reb *r);
/* All bricks and mounts are ours. On a task. */
bool di_reb_all_ours(struct di_reb *r);

/* ---- walk.c ---- */

void di_reb_walk(struct di_reb *r); /* the whole tree; on a task */
/* Waits until all subvolumes are up. False: the rebalance is to stop. */
bool di_reb_all_up(struct di_reb *r);
/* An attempt failed because a subvolume went, which is noticed soon: waits a moment. False: it did not, or there were too many of them. */
bool di_reb_try_again(struct di_reb *r, int err, unsigned *tries);

#endif
