/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of features/index share.
 *
 * Everything that changes the index directories about one inode goes through
 * that inode's turn: one xattrop (or removal over the wire) at a time, in order
 * of arrival. The holder of the turn is a fop; the system calls it causes are a
 * job on the worker pool.
 */
#ifndef INDEX_H
#define INDEX_H

#include "libglusterish/fs.h"
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/regions.h"
#include "libglusterish/serial.h"
#include "libglusterish/stall.h"

#include <errno.h>

#define GI_MSG_INDEX 106000 /* base of message ids */

enum ix_class { IX_PENDING, IX_DIRTY, IX_CHANGES, IX_CLASSES };
#define IX_TRACKED 2 /* classes with one link per inode: pending and dirty */

#define IX_NAME 80 /* base file name: class, dash, uuid */
#define IX_STEPS 6
#define IX_GENERATED 1024 /* most generated gfids remembered (directories of entry-changes looked up by a healer) */

enum ix_state { IX_UNKNOWN, IX_IN, IX_OUT };

struct ix_options {
  char *base;
  char *pending_watch, *dirty_watch, *watch64;
};

struct ix_metrics {
  uint64_t tracked, untracked, queued, links, unlinks, saved, entry_links, entry_unlinks, purges, errors, pending, dirty, left;
  uint64_t kept, region_updates, region_misses, region_bytes;
};

/* A directory that exists only for readers of the index. */
struct ix_virtual {
  struct gi_list link;
  struct gi_gfid gfid;
  enum ix_class cls;
  bool member;        /* one directory of entry-changes */
  struct gi_gfid dir; /* whose, if member */
};

#define IX_MAGIC 0x1d01de01u
#define IX_JOB_MAGIC 0x1d01de02u

struct ix_private {
  uint32_t magic;
  struct gi_fs *fs;   /* of the process; NULL = the kernel's */
  int fd[IX_CLASSES]; /* the index directories; -1 without a base */
  int store_fd;       /* .glusterfs, for the types of gfids */
  char base[IX_CLASSES][IX_NAME];
  int64_t count[IX_TRACKED]; /* links in it, base files not counted */
  bool unsure[IX_TRACKED];   /* they could not be counted: at least one is assumed, until somebody asks */
  unsigned working;          /* jobs on workers */
  uint64_t learnt;           /* jobs done so far */
  struct ix_virtual root[IX_CLASSES];
  struct gi_list generated; /* struct ix_virtual, oldest first */
  unsigned ngenerated;
  uint64_t prefix;   /* first eight bytes of every virtual gfid */
  uint64_t sequence; /* the rest */
  char **watch[IX_TRACKED];
  char **watch64;
  struct gi_serial_later turns;
  struct gi_stall stall; /* the disk lets calls wait: they go to the workers */
  struct ix_metrics metrics;
};

/* our bytes in an inode */
struct ix_inode {
  struct gi_serial serial; /* struct gi_fop.link */
  uint8_t state[IX_TRACKED];
  uint8_t log; /* enum ix_state of its log of regions */
};

/* our bytes in a fop */
struct ix_fop {
  struct gi_inode *inode;   /* whose turn it wants or has; an xattrop's is borrowed: the fop keeps it */
  uint8_t present, nonzero; /* classes (bits) in the request */
  bool purge;
  bool link_count;
  const char *create, *del; /* names for entry-changes; in the request's xdata */
};

enum ix_what {
  IX_KEPT, /* the steps after it are for an object that is kept without a name and has counters; others do without them */
  IX_LINK, /* <class>/<gfid> */
  IX_UNLINK,
  IX_ENTRY_LINK, /* entry-changes/<gfid>/<name> */
  IX_ENTRY_UNLINK,
  IX_PURGE,   /* entry-changes/<gfid> as a whole: rmdir, or out of the way if it is not empty */
  IX_DELETE,  /* the same with everything in it */
  IX_REGIONS, /* the log of regions follows the counters, or goes */
};

struct ix_step {
  enum ix_what what;
  enum ix_class cls;
  char name[GI_NAME_MAX + 1];
  int err; /* errno of the result, 0 = done */
};

/* What an xattrop does to data counters, and the regions that came with it. */
struct ix_told {
  unsigned n;
  struct {
    const char *key; /* in the request */
    int32_t delta;
  } change[GI_REGION_KEYS];
  struct gi_region_log log;
  bool unclear;  /* something else than adding to counters: the log goes */
  uint32_t room; /* bytes by which the log may grow */
  bool done;
  bool kept;     /* afterwards: there is a log */
  int64_t grown; /* afterwards: bytes by which it has grown */
};

/* System calls for one fop. The worker touches nothing else. */
struct ix_job {
  struct gi_work work;
  uint32_t magic;
  struct gi_xlator *x;
  struct gi_fop *fop; /* referenced */
  void (*done)(struct gi_xlator *x, struct ix_job *job);
  struct gi_fs *fs;
  int fd[IX_CLASSES];
  int store_fd;
  struct ix_told *told; /* owned; of the step IX_REGIONS */
  char base[IX_CLASSES][IX_NAME];
  char gfid[GI_UUID_TEXT];
  char spare[GI_UUID_TEXT]; /* for a directory that has to get out of the way */
  unsigned nsteps;
  struct ix_step step[IX_STEPS];
};

static inline struct ix_private *
ix_private(const struct gi_xlator *x)
{
  struct ix_private *p = x->private;
  GI_CHECK(p, IX_MAGIC);
  return p;
}

/* ---- index-work.c ---- */
/* Opens or makes the index directories below `path` and counts what is there. 0, or -1 with err. */
int ix_dirs_open(struct gi_xlator *x, const char *path, struct gi_error *err);
void ix_dirs_close(struct ix_private *p);
/* Answers `fop` with the number of links, under that key. What could not be counted at the start is counted now. */
enum gi_verdict ix_count_told(struct gi_xlator *x, struct gi_fop *fop, enum ix_class cls, const char *key);
void ix_base_new(struct gi_xlator *x, enum ix_class cls); /* a fresh base file name */
struct ix_job *ix_job_new(struct gi_xlator *x, struct gi_fop *fop, const struct gi_gfid *gfid);
/* Appends a step; `name` NULL for the inode's own link. */
void ix_job_add(struct ix_job *job, enum ix_what what, enum ix_class cls, const char *name);
/* Runs it on a worker; `done` is called on the reactor and frees with ix_job_free. */
void ix_job_run(struct ix_job *job, void (*done)(struct gi_xlator *x, struct ix_job *job));
/* Runs it in place if it is no more than links and the disk keeps up; then the caller learns from it and frees it. False: it is to be
 * given to a worker. */
GI_MUST_CHECK bool ix_job_now(struct ix_job *job);
void ix_job_free(struct ix_job *job);
/* Takes over what the steps found out: link states of the inode, counts. The errno of the first failed step, or 0. */
int ix_job_learn(struct gi_xlator *x, struct ix_job *job, struct ix_inode *ii);
bool ix_name_ok(const char *name);

/* ---- index-turn.c ---- */
gi_fop_fn ix_xattrop, ix_mknod;
enum gi_verdict ix_xattrop_done(struct gi_xlator *x, struct gi_fop *fop);
enum gi_verdict ix_mknod_done(struct gi_xlator *x, struct gi_fop *fop);
/* Gives `fop` the turn of `inode`, now or later; `GI_HELD`, or what ix_turn_begin said. */
enum gi_verdict ix_turn_take(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode);
void ix_turn_end(struct gi_xlator *x, struct gi_inode *inode);
void ix_turns_init(struct gi_xlator *x);

bool ix_is_pending(const struct ix_private *p, const char *key); /* a counter of that class */
bool ix_is_watched(const struct ix_private *p, const char *key); /* of any; also on a worker */

/* ---- index-regions.c ---- */
void ix_regions_start(struct ix_private *p);
/* What `fop`, an xattrop, says about data counters; owned by the caller. NULL: no log can be concerned. `state`: whether there is a
 * log. */
struct ix_told *ix_regions_told(struct gi_xlator *x, const struct gi_fop *fop, const struct gi_inode *inode, uint8_t state);
void ix_regions_drop(struct ix_job *job); /* adds the step: the inode is gone, so its log goes */
void ix_told_free(struct ix_told *t);
void ix_regions_change(struct gi_region_log *log, const char *key, int64_t before, int32_t delta,
                       const struct gi_region_note *told);
int ix_regions_step(struct ix_job *job); /* on a worker; errno */
void ix_regions_learn(struct ix_private *p, const struct ix_job *job, struct ix_inode *ii, int err);
/* Answers GI_REGIONS_KEY about a gfid: the coded log, or ENODATA. */
enum gi_verdict ix_regions_getxattr(struct gi_xlator *x, struct gi_fop *fop, const struct gi_gfid *gfid);

/* ---- index-left.c ---- */
void ix_left(struct gi_xlator *x, const struct gi_left *left);

/* ---- index-virtual.c ---- */
void ix_virtual_init(struct gi_xlator *x);
void ix_virtual_finish(struct gi_xlator *x);
const struct ix_virtual *ix_virtual_find(const struct gi_xlator *x, const struct gi_gfid *gfid);
/* Answers on virtual directories; everything else passes. */
gi_fop_fn ix_virtual_lookup, ix_virtual_stat, ix_virtual_opendir, ix_virtual_readdir, ix_virtual_remove, ix_virtual_getxattr;
/* A removal that has the turn of its inode. */
enum gi_verdict ix_virtual_remove_begin(struct gi_xlator *x, struct gi_fop *fop);

#endif
