/* SPDX-License-Identifier: Apache-2.0
 *
 * features/shard: what its files share.
 *
 * A sharded file is a base file, which holds the first block, and one file per
 * further block, /.shard/GFID.N. Size and number of 512-byte
 * blocks stand in an attribute of the base file. Whatever needs more than one
 * operation of the bricks runs on a task (task.h): the functions here that say
 * so may only be called on one, and return 0 or an errno.
 */
#ifndef GI_SHARD_H
#define GI_SHARD_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/task.h"

#include <errno.h>
#include <fcntl.h>

#define GI_MSG_SHARD 113000 /* base of message ids */

#define SH_BLOCK_KEY "trusted.glusterfs.shard.block-size"
#define SH_SIZE_KEY "trusted.glusterfs.shard.file-size"
#define SH_KEYS "trusted.glusterfs.shard."
#define SH_SIZE_BYTES 32u
#define SH_BLOCK_MIN 4096u /* a block size below that, or above 1 << SH_BLOCK_MAX_BITS, is a broken attribute */
#define SH_BLOCK_MAX_BITS 62

struct sh_options {
  uint64_t block_size;
  int64_t lru_limit, deletion_rate;
};

struct sh_metrics {
  uint64_t asked, size_updates, made, deleted, locks, held, files_deleted;
};

/* Among the bytes of an operation. */
struct sh_fop {
  bool cuts; /* CREATE: it asked for O_TRUNC */
};

/* ---- waiting among tasks ---- */

/* Tasks that wait until something changed, then look again. */
struct sh_waiters {
  struct gi_list tasks;
};
/* Many may be inside together, or one that is alone; first come, first served. */
struct sh_gate {
  unsigned inside;
  bool alone;
  struct gi_list waiting;
};

void sh_wait(struct gi_reactor *r, struct sh_waiters *w);
void sh_wake(struct sh_waiters *w);
void sh_gate_enter(struct gi_reactor *r, struct sh_gate *g, bool alone); /* on a task */
void sh_gate_leave(struct sh_gate *g);

/* ---- what is known ---- */

enum sh_what { SH_UNKNOWN, SH_PLAIN, SH_FILE, SH_BLOCK };
enum sh_lease { SH_LEASE_NONE, SH_LEASE_SHARED, SH_LEASE_ALONE };

/* Among the bytes of an inode. */
struct sh_inode {
  enum sh_what what;
  struct sh_file *file; /* SH_FILE */
  struct gi_gfid base;  /* SH_BLOCK: whose */
};

struct sh_file {
  struct shard *sh;
  struct gi_inode *inode; /* borrowed: it frees this */
  uint64_t block_size;
  /* `stat` is the base file as the bricks said last, with the size and blocks of the whole that users have been shown; `size` and `blocks`
   * are what stands on the bricks, which may be ahead by changes that are not answered yet. */
  struct gi_iatt stat;
  uint64_t size, blocks;
  bool known;
  uint64_t looked;       /* how often users have looked it up or opened it */
  uint64_t asked;        /* gi_now when the bricks were asked for it */
  uint64_t news;         /* counts what others did, and our own changes */
  uint64_t settled;      /* gi_now when a change of ours ended */
  uint64_t doubted;      /* gi_now when something was heard for which it has to be asked again */
  unsigned under_way;    /* changes of ours */
  uint64_t reach;        /* up to there those under way leave no gap behind the end; 0: none is */
  struct gi_time moved;  /* the last write to a block other than the first; zero: the base file's times are right */
  struct gi_time moving; /* the same of changes that are not shown yet */
  bool unlinked;         /* it has no name any more, by our own doing */
  struct sh_gate gate;   /* writes together, what moves the end alone */
  struct sh_gate turn;   /* who asks for the size or changes it */
  struct sh_gate sync;   /* who brings its blocks to the disks */
  /* The lock that keeps the size (shard-lease.c). */
  enum sh_lease lease;
  bool leaving, asking;
  bool astray; /* the lock is not where the file is any more */
  unsigned users;
  struct sh_waiters lease_waiters;
  struct gi_timer lease_timer;
  struct gi_list lease_link; /* shard.leases, while it holds or asks */
  struct gi_fop *lease_ask;  /* a lock that is waited for */
  struct gi_list found;      /* struct sh_block.file_link */
};

/* One block other than the first, whose file is there. */
struct sh_block {
  struct gi_lru_item item;
  struct gi_list bucket_link, file_link;
  struct sh_file *file;
  uint64_t n;
  struct gi_gfid gfid;
  uint64_t seen; /* sh_file.looked, when it was looked up */
  bool dirty;    /* written and not synchronised: not on the LRU list */
};

/* Blocks that are to be deleted: those of a file that has no name any more. */
struct sh_doom {
  struct gi_list link;
  struct gi_gfid gfid;
  uint64_t count;         /* blocks, by its size; the first among them */
  struct gi_inode *inode; /* somebody here has it open, and that is waited for */
  bool locked;            /* its marker, by us */
};

#define SH_BUCKETS 1024u

struct shard {
  struct gi_xlator *x;
  struct sh_metrics m;
  struct gi_lru lru;
  struct gi_list bucket[SH_BUCKETS];
  bool dir_known[2]; /* .shard, .shard/.remove_me */
  struct gi_list leases, dooms;
  struct gi_owner owner;    /* of locks */
  struct gi_gfid_run gfids; /* of blocks */
  unsigned busy;            /* tasks */
  bool stopping;            /* PARENT_DOWN has come and waits */
  void (*drained)(struct gi_xlator *x);
  struct gi_list lost; /* files of which news may not be understood */
  struct gi_defer losing;
  struct gi_timer clean; /* until what others left behind is deleted */
  struct gi_defer closed;
};

static inline const struct sh_options *
sh_opts(const struct shard *sh)
{
  return sh->x->options;
}

/* ---- shard.c ---- */

/* Holds the fop and runs fn on a task; it is answered with what fn returns (0: rsp is filled in). */
typedef int sh_task_fn(struct shard *sh, struct gi_fop *fop);
enum gi_verdict sh_task(struct shard *sh, struct gi_fop *fop, sh_task_fn *fn);
/* The same for a reply, which goes on up. */
enum gi_verdict sh_reply_task(struct shard *sh, struct gi_fop *fop, sh_task_fn *fn);
/* Work of its own. `arg` is fn's. */
void sh_work(struct shard *sh, void (*fn)(struct shard *sh, void *arg), void *arg);
/* The operation as it is, to the bricks and back, on a task. */
int sh_pass(struct shard *sh, struct gi_fop *fop);
/* An operation of our own, for `parent` or for nobody; the caller unrefs it. As root, with the times of the parent. */
struct gi_fop *sh_fop(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind);
struct gi_fop *sh_inode_fop(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind, struct gi_inode *inode);
/* Submits and waits, on a task; 0 or the errno of the reply. */
int sh_run(struct shard *sh, struct gi_fop *fop);
/* Corrects the attributes in a listing. */
void sh_told_entries(struct shard *sh, struct gi_fop *fop);
/* What waits for the translator to be quiet goes on when it is. */
void sh_check_idle(struct shard *sh);

/* ---- shard-state.c ---- */

static inline struct sh_inode *
sh_inode(const struct shard *sh, const struct gi_inode *inode)
{
  return gi_inode_private(inode, sh->x);
}

/* The sharded file that an inode is; NULL: it is none, or that is not known. */
static inline struct sh_file *
sh_file_of(const struct shard *sh, const struct gi_inode *inode)
{
  return inode && sh_inode(sh, inode)->what == SH_FILE ? sh_inode(sh, inode)->file : NULL;
}

/* It is known that nothing has to be done about it. */
bool sh_is_plain(const struct shard *sh, const struct gi_inode *inode);
void sh_request_keys(struct gi_fop *fop);
/* A new file that is sharded from the start: the attributes for its creation, and what is then known. */
void sh_new_file_keys(const struct shard *sh, struct gi_dict *dict);
/* The same of a file that is there, for its marker; and what such keys say, false if they are not there or broken. */
void sh_size_keys(const struct sh_file *file, struct gi_dict *dict);
bool sh_sizes(const struct gi_dict *dict, uint64_t *block_size, uint64_t *size);
/* What the attributes of an object in a reply say of it; `asked` is when (gi_now). NULL: it is not sharded. */
struct sh_file *sh_learn(struct shard *sh, const struct gi_iatt *stat, const struct gi_dict *xdata, uint64_t asked);
/* The same of a reply that was asked for it. EIO: it is kept in blocks, and what says how is damaged. */
int sh_learn_asked(struct shard *sh, const struct gi_fop *reply, uint64_t asked, struct sh_file **file);
/* Makes sure that it is known what the inode is, on a task. *file: NULL for what is not sharded. */
int sh_identify(struct shard *sh, struct gi_fop *fop, struct gi_inode *inode, struct sh_file **file);
/* Makes sure that size and attributes are known, and may still be believed, on a task; `fd` (may be NULL) is open. */
int sh_know(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd);
bool sh_fresh(const struct sh_file *file);
/* What users are shown. */
struct gi_iatt sh_view(const struct sh_file *file);
/* Attributes of the base file, from a brick, become those of the whole. */
void sh_show(const struct sh_file *file, struct gi_iatt *iatt);
/* Adds to the size so that it is at least `end`, and to the number of blocks, on a task. */
int sh_grow(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t end, int64_t blocks);
/* Sets the size, alone at the gate and with the lease, on a task. */
int sh_set_size(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size, int64_t blocks);
void sh_change_begins(struct sh_file *file);
void sh_change_ended(struct sh_file *file);
/* What was seen before it and after it, in `pre` and `post`. `base_pre` and `base_post` are those of the base file, if it
 * was part of it (else NULL). `end`: users see at least that size now; with `exactly` just that. */
void sh_settle(struct sh_file *file, struct gi_reply *rsp, const struct gi_iatt *base_pre, const struct gi_iatt *base_post,
               uint64_t end, bool exactly);
/* A block other than the first was written at that time. */
void sh_moved(struct sh_file *file, const struct gi_fop *fop);
/* Gives the base file the time of the last write, on a task; and all that have one to be given. */
int sh_flush_times(struct sh_file *file, struct gi_fop *fop);
bool sh_some_moved(const struct shard *sh);
void sh_flush_all_times(struct shard *sh, struct gi_fop *fop);
/* Tells those above that others may have changed it. */
void sh_tell_changed(struct sh_file *file);
void sh_forget(struct sh_file *file); /* it has to be asked for again */
/* What others wrote before is to be seen. Of a write to another block than the first the base file's attributes may not tell yet. */
void sh_look_again(struct sh_file *file);
void sh_forget_all(struct shard *sh);                                     /* the directories, what leases are worth */
bool sh_invalidated(struct shard *sh, const struct gi_invalidation *inv); /* true: it was told on */
void sh_tell_lost(void *arg);
void sh_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes);

/* ---- shard-lease.c ---- */

/* On a task; given back with sh_lease_give. */
int sh_lease_take(struct sh_file *file, struct gi_fop *fop, enum sh_lease want);
void sh_lease_give(struct sh_file *file);
void sh_lease_end(struct sh_file *file); /* as soon as nobody uses it */
void sh_lease_end_all(struct shard *sh);
bool sh_contended(struct shard *sh, const struct gi_contention *c);

/* ---- shard-block.c ---- */

extern const struct gi_gfid sh_dir_gfid[2];
extern const char *const sh_dir_name[2];
struct gi_inode *sh_dir(struct shard *sh, unsigned which); /* a reference */
/* Makes sure that .shard (0) or .shard/.remove_me (1) is there, or finds out that it is not (ENOENT), on a task. */
int sh_dir_ready(struct shard *sh, struct gi_fop *fop, unsigned which, bool create);
/* An operation on the name of a block of that file. */
struct gi_fop *sh_block_entry(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind, const struct gi_gfid *gfid,
                              uint64_t n);
/* The inode of a block, with a reference, on a task; NULL and 0: there is none. `create`: then it is made. */
int sh_block_get(struct sh_file *file, struct gi_fop *fop, uint64_t n, bool create, struct gi_inode **inode);
void sh_block_drop(struct sh_file *file, uint64_t n); /* its file may be another one now */
void sh_block_dirty(struct sh_file *file, uint64_t n);
int sh_blocks_sync(struct sh_file *file, struct gi_fop *fop, bool datasync); /* on a task */
void sh_blocks_forget(struct sh_file *file);
void sh_block_evict(void *arg, struct gi_lru_item *item);
/* An operation on a block, by descriptor; sent again if the block was replaced meanwhile. *reply is the caller's, NULL if there is no
 * such block and none was to be made. */
typedef void sh_block_fill(struct gi_fop *fop, void *arg);
int sh_block_run(struct sh_file *file, struct gi_fop *fop, enum gi_fop_kind kind, uint64_t n, bool create, sh_block_fill *fill,
                 void *arg, struct gi_fop **reply);

/* ---- shard-list.c; all on tasks ---- */

/* Calls fn with each entry of .shard (0: names only) or .shard/.remove_me (1: with attributes and sizes) until that gives an errno. No
 * directory, no entries. EINTR when the graph stops, E2BIG: it has more than `most` parts. */
typedef int sh_entry_fn(struct shard *sh, const struct gi_dirent *e, void *arg);
int sh_list(struct shard *sh, struct gi_fop *parent, unsigned which, uint64_t most, sh_entry_fn *fn, void *arg);

/* Numbers of blocks, in order. */
struct sh_numbers {
  uint64_t *n;
  size_t count, room;
};
/* Those of [first, end) of which there may be a block, and of which there are not very many without one. `out` is the caller's, who
 * frees it. */
int sh_blocks_between(struct shard *sh, struct gi_fop *fop, const struct gi_gfid *gfid, uint64_t first, uint64_t end,
                      struct sh_numbers *out);
void sh_numbers_free(struct sh_numbers *s);
uint64_t sh_next_number(const struct sh_numbers *s, uint64_t n); /* the first that is not less; UINT64_MAX: there is none */

/* What was removed is added: files, and blocks of 512 bytes that they had, as far as bricks say. */
struct sh_removed {
  uint64_t files, blocks;
};
/* Removes that many files of blocks, at most as many as shard-deletion-rate says, at the same time. */
int sh_blocks_remove(struct shard *sh, struct gi_fop *parent, const struct gi_gfid *gfid, const uint64_t *n, size_t count,
                     struct sh_removed *sum);
/* Removes what may be there of [first, end), the last ones first. */
int sh_blocks_cut(struct sh_file *file, struct gi_fop *fop, uint64_t first, uint64_t end, struct sh_removed *sum);

/* ---- the kinds; all on tasks ---- */

/* On what is known to be a sharded file; answered as a sh_task_fn. */
typedef int sh_file_fn(struct sh_file *file, struct gi_fop *fop);
sh_file_fn sh_read, sh_write, sh_space /* FALLOCATE, DISCARD, ZEROFILL */, sh_truncate /* and FTRUNCATE */, sh_seek, sh_fsync,
    sh_flush, sh_open;
/* Before the end moves to beyond `to` without anything being written up to there: what lies behind it goes. Alone at the gate, with the
 * lease. */
int sh_clear_behind(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t to);
int sh_truncate_file(struct sh_file *file, struct gi_fop *fop, struct gi_fd *fd, uint64_t size);
int sh_created(struct shard *sh, struct gi_fop *fop); /* the reply of a CREATE that may have found a file */
int sh_unlink(struct shard *sh, struct gi_fop *fop);  /* and RENAME */
int sh_list_root(struct shard *sh, struct gi_fop *fop);

/* ---- shard-delete.c ---- */

/* Notes on the bricks that the blocks of a file are to be deleted, before its last name goes, on a task. */
int sh_mark(struct sh_file *file, struct gi_fop *fop);
/* Its last name is gone: deletes the blocks in the background, when nobody here has it open any more. */
void sh_doom(struct sh_file *file);
/* The name is still there. */
void sh_unmark(struct shard *sh, struct gi_fop *fop, const struct gi_gfid *gfid);
void sh_doom_drop_all(struct shard *sh);
void sh_closed(void *arg);
void sh_clean_due(void *arg);

#endif
