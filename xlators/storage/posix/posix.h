/* SPDX-License-Identifier: Apache-2.0
 *
 * storage/posix, the bottom of a brick: what its files share.
 *
 * An operation has three parts (posix-op.c): `prepare` on the reactor looks at
 * the fop and the caches; `run` does system calls only and may be on a worker
 * thread; `finish` on the reactor brings the caches and the time stamps up to
 * date. A held fop and its reply belong to `run` while it runs.
 *
 * Objects are addressed by descriptor and one or three path components
 * (struct posix_at): a directory descriptor plus a name, or the housekeeping
 * directory plus "aa/bb/<gfid>". No path with a component a client could have
 * planted is ever given to the kernel to follow.
 */
#ifndef POSIX_H
#define POSIX_H

#include "libglusterish/fs.h"
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/serial.h"
#include "libglusterish/stall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define GI_MSG_POSIX 104000 /* base of message ids */
#define POSIX_MAGIC 0x1d0b0501u
#define POSIX_INODE_MAGIC 0x1d0b0502u
#define POSIX_DIR_MAGIC 0x1d0b0503u
#define POSIX_OP_MAGIC 0x1d0b0504u

#define POSIX_HPATH 48             /* "aa/bb/<gfid>" or "unlink/<gfid>" and its NUL */
#define POSIX_LINK_MAX 512         /* longest text of a directory handle (brick.md 2.3) */
#define POSIX_BIG_FILE (64u << 20) /* removing or cutting more than this may take long */
#define POSIX_IO_MAX (4u << 20)    /* largest READ served */
#define POSIX_XATTR_MAX 65536
#define POSIX_KNOWN_VALUE 64 /* shorter values of attributes are kept in memory; a counter has 12 bytes */
/* Bytes of names and values in a list of attributes. A longer list leaves users' values empty. A healer would copy the empty values, so it
 * gets E2BIG instead, beyond a larger limit. */
#define POSIX_LIST_MAX (1u << 20)
#define POSIX_LIST_MAX_HEAL (32u << 20)
#define POSIX_LIST_INLINE (128u << 10) /* more is read by a worker */
#define POSIX_DEPTH_MAX 2048    /* directories above one another that clients make; a path of PATH_MAX bytes has no more */
#define POSIX_PIECE (64u << 10) /* bytes: smaller writes of a heal are handed to the disk together */

#define KEY_GFID "trusted.gfid"
#define KEY_VOLUME_ID "trusted.glusterfs.volume-id"
#define KEY_MDATA "trusted.glusterfs.mdata"
#define KEY_GFID2PATH "trusted.gfid2path."
#define KEY_PGFID "trusted.pgfid."
#define KEY_LINKTO "trusted.glusterfs.dht.linkto"
#define KEY_MODE "trusted.glusterfs.dht.mode" /* the mode without marks, of a file that a rebalance moves */
#define KEY_ACL_ACCESS "system.posix_acl_access"
#define KEY_ACL_DEFAULT "system.posix_acl_default"
#define KEY_IMA "security.ima"
#define KEY_INTERNAL "glusterfs-internal-fop"
/* A client of GlusterFS has written to what a rebalance of theirs copies; the copy heeds that; who begins one takes it away. */
#define KEY_PROTECT "trusted.glusterfs.protect.writes"
#define KEY_AVOID "glusterfs.avoid.overwrite"
#define KEY_CLEAN "glusterfs.clean.writexattr"
#define MDATA_DISK 57    /* bytes of trusted.glusterfs.mdata */
#define MDATA_FLAGS_AT 1 /* 8 of them */

enum posix_engine { ENGINE_AUTO, ENGINE_INLINE, ENGINE_POOL, ENGINE_URING };

struct posix_options {
  char *directory, *volume_id, *hostname, *node_uuid, *separator, *user_mode;
  bool ctime, gfid2path, pgfid, fips, node_uuid_pathinfo, o_direct, aio, uring, export_size, no_landfill_purge, xattr_at;
  int64_t health_interval, health_timeout, uid, gid, max_hardlinks, batch_delay, shared_bricks;
  int64_t create_mask, create_dir_mask, force_create, force_dir;
  uint64_t janitor_sleep, unlinked_wait;
  int batch_mode;
  int engine;
  struct gi_percent_or_size reserve;
};

enum posix_batch { BATCH_NONE, BATCH_SYNCFS, BATCH_SYNCFS_SINGLE, BATCH_SYNCFS_REVERSE, BATCH_REVERSE };

/* Plain values that `run` reads: a worker must not look at x->options, which reconfigure replaces. */
struct posix_config {
  bool ctime, gfid2path, pgfid, fips, node_uuid_pathinfo, o_direct, export_size, no_landfill_purge;
  int64_t max_hardlinks, shared_bricks;
  mode_t create_mask, create_dir_mask, force_create, force_dir;
  struct gi_percent_or_size reserve;
  char separator[8];
  enum posix_engine engine;
  enum posix_batch batch_mode;
};

struct posix_times {
  struct gi_time c, m, a;
};

enum posix_md_state { MD_UNKNOWN, MD_ABSENT, MD_PRESENT };

/* Attributes that an open object had at the end of the last operation (posix-seen.c). */
struct posix_seen {
  uint64_t since; /* gi_now_about of when the disk told them; 0: not known */
  struct stat st;
};

enum posix_known_scope {
  KNOWN_SOME,
  KNOWN_MADE,  /* of those that only requests make, the others are absent */
  KNOWN_PLAIN, /* and there are no ACLs */
  KNOWN_ALL,   /* all others are absent */
};

/* An object's number and attributes by name, as they are on its disk (posix-known.c). */
struct posix_known {
  ino_t ino;             /* 0: not known */
  bool named;            /* the object says on its disk which gfid it has, and does not owe it to its handle alone */
  struct timespec until; /* what is known holds while the ctime is not later */
  uint64_t since;        /* gi_now_about of what the disk has told, or of a look before changes of ours; 0: nothing is known */
  char *names;           /* owned; names, and what is known of each */
  uint16_t used;         /* bytes of them */
  enum posix_known_scope scope;
};

/* An open directory, shared by the cache and the operations that use it now. */
struct posix_dir {
  uint32_t magic;
  int fd;
  uint32_t refs;
  struct gi_list lru;
  struct posix_inode *owner; /* NULL: no longer cached */
  uint32_t depth;            /* 1 + levels below the root, as of `moves` */
  uint32_t moves;            /* value of posix.moves when the depth was learnt; 0: never */
  struct posix_seen seen;
};

/* inode_bytes */
struct posix_inode {
  uint32_t magic;
  struct gi_inode *self;
  struct gi_list dirty;    /* in posix.dirty or dirty_soon while md_dirty */
  struct gi_serial serial; /* struct posix_op.wait: want the inode for themselves; taken while one of them is on a worker */
  struct gi_list fsyncs;   /* struct posix_op.wait: joined the next fsync */
  struct posix_op *fsync;  /* the one under way */
  struct posix_dir *dir;
  struct posix_known known;
  struct posix_times times, md_disk; /* md_disk: as written to the xattr last; zero: not known */
  uint32_t counted;                  /* changes of changelog counters */
  uint32_t settled;                  /* 1 + the value of `counted` that has reached the disk; 0: unknown */
  /* After a failed sync memory may hold data that will never reach the disk, although the next sync succeeds. */
  uint16_t losses;     /* failed syncs */
  uint16_t read_back;  /* value of `losses` when the page cache was dropped last */
  uint16_t healed;     /* value of `losses` up to which a heal has written and synced the file */
  struct gi_list lost; /* in posix.lost while healed != losses: the inode must not be forgotten */
  uint64_t left;       /* a directory: when a name left it last (gi_now), or earlier than that … */
  uint32_t leaving;    /* … but for as many that are about to */
  uint8_t md_state;
  bool md_dirty; /* the xattr on disk is older than `times` */
  bool md_soon;  /* md_dirty, to be written within 20 ms: in posix.dirty_soon */
  bool file;     /* it is no directory */
  bool unlinked; /* the last name is gone: the handle is in unlink/ */
  bool looked;   /* a heal has read the file from the disk in the life of this process */
};

/* Bytes that were written somewhere between start and end. */
struct posix_pieces {
  uint64_t start, end, bytes;
};

/* fd_bytes */
struct posix_fd {
  bool open;
  bool sync; /* opened O_SYNC or O_DSYNC: writes wait for the disk */
  bool direct;
  int fd;
  int64_t pos;                /* directories: where the kernel's offset stands; -1 = unknown */
  struct posix_pieces healed; /* written by heals and not handed to the disk yet */
  struct posix_pieces stream; /* start, end: filled by large writes, likewise */
  bool writing_out;           /* some of that is being handed over */
  struct posix_seen seen;
};

enum { NODE_OBJ, NODE_PARENT, NODE_PARENT2, NODE_VICTIM, NODE_COUNT };

/* One object an operation works on. */
struct posix_node {
  struct gi_gfid gfid;   /* none: not part of this operation (yet) */
  struct posix_dir *dir; /* pinned */
  int fd;                /* a directory `run` had to open, else -1: goes to the cache */
  uint32_t depth;        /* of a directory below the root, plus one; 0: not known */
  uint8_t md_state;
  bool md_loaded; /* by `run`, so the cache does not know it yet */
  bool changed;   /* its ctime has moved for this operation */
  bool file;      /* it is no directory */
  struct posix_times times;
  struct posix_seen *after; /* `run` found at its end what is there; on the reactor only */
};

/* A directory that a long way came by. */
struct posix_passed {
  struct gi_gfid gfid;
  int fd;
  uint32_t depth; /* as in posix_node */
};

struct posix_at {
  int fd;
  const char *path; /* "" = fd itself */
};

enum posix_run { RUN_DONE, RUN_MOVE /* would block: again on a worker or through io_uring */ };

struct posix_uring;
struct posix_hash;    /* posix-handle.c: which directories of handles are there */
struct posix_numbers; /* posix-known.c */

/* fop_bytes */
struct posix_op {
  uint32_t magic; /* until it ends */
  struct gi_work work;
  struct gi_list wait;
  struct gi_xlator *x;
  struct posix *p;
  struct gi_fop *fop;
  const struct posix_kind *kind;
  struct posix_node node[NODE_COUNT];
  int fd;     /* the open file, -1 = by gfid */
  int fd2;    /* COPY_FILE_RANGE: destination */
  int new_fd; /* OPEN, CREATE, OPENDIR: what was opened */
  bool fd_own, fd2_own;
  bool on_worker;
  bool exclusive; /* alone on the inode while on a worker */
  /* set by `prepare` */
  bool full;       /* the reserve is reached, and binds this caller */
  bool slow;       /* the calls may block: begin on a worker */
  bool obj_open;   /* the object is open, as far as the reactor knows */
  bool datasync;   /* FSYNC: all who share it want data only */
  bool settle;     /* WRITE past the page cache: changed counters reach the disk first */
  bool from_disk;  /* a heal asks for what the disk has, not the page cache */
  bool flush;      /* XATTROP: `times` reach the disk first */
  uint16_t losses; /* heals and questions for attributes: posix_inode.losses at the beginning */
  /* set by `run` */
  bool gone;   /* the object has lost its last name */
  bool parked; /* the object has no name: it is in unlink/ */
  bool victim_gone, victim_parked;
  bool dir_gone;    /* the object is a removed directory */
  bool dropped;     /* from_disk: the page cache was dropped */
  bool unsynced;    /* the disk refused data: counts as a failed sync */
  bool too_long;    /* more attributes than a healer gets in one answer */
  bool wrote;       /* `times` are in the object's xattr */
  bool existed;     /* CREATE opened an existing object */
  bool has_content; /* OPEN, LOOKUP: `buf` has the whole file */
  bool far;         /* the way to a directory is too long for the reactor: again on a worker */
  bool deeper;      /* RENAME: a directory may have moved to another depth */
  uint32_t moves;   /* posix.moves when the operation began */
  bool astray;      /* a way to a directory ended nowhere, maybe because one of them moved meanwhile */
  uint8_t tries;    /* how often such a way was looked for again */
  bool moved;       /* RENAME of a directory */
  uint32_t renames; /* posix.renames when the operation began */
  struct posix_times times;
  uint32_t counted;                    /* posix_inode.counted when the sync began */
  struct gi_list followers;            /* FSYNC: get this one's result */
  struct gi_inode *leaves;             /* the directory that a name is to leave; referenced */
  struct gi_inode *alone;              /* whose `serial` we have taken; referenced */
  struct gi_gfid expect;               /* of loc.inode, to check a cached answer against */
  struct gi_time now;                  /* LOOKUP: the wall clock when it began */
  uint64_t done;                       /* bytes written or read so far */
  size_t want;                         /* READ: bytes to read at most */
  bool began, append, sync;            /* WRITE */
  bool fills;                          /* WRITE: nothing of the file was where it wrote: it appends, or there was a hole */
  bool dsync;                          /* WRITE through a descriptor that the kernel syncs itself */
  bool at_end;                         /* WRITE at the end of the file, whatever the offset */
  struct posix_pieces write_out;       /* WRITE: hand these to the disk; no bytes: nothing */
  struct iovec iov[GI_PAYLOAD_SLICES]; /* io_uring reads it later */
  struct gi_buf *buf;
  struct posix_passed *passed; /* for the cache */
  unsigned npassed;
  void *scratch; /* gi_free'd at the end */
  size_t scratch_len;
  int32_t uring_res;
  struct gi_fs_watch watch;  /* of its system calls */
  struct posix_seen opened;  /* CREATE: the new file */
  struct posix_known *known; /* of the object, what the operation leaves as it is; on the reactor only */
  struct gi_inode *known_of; /* whose that is; referenced */
  char hpath[POSIX_HPATH];
};

enum { STAMP_OBJ = 1, STAMP_PARENT = 2, STAMP_PARENT2 = 4 };

struct posix_kind {
  int (*prepare)(struct posix_op *op);                       /* 0 or an errno */
  enum posix_run (*run)(struct posix_op *op);                /* sets rsp.ret/err through posix_ok/posix_err */
  void (*stamp)(struct posix_op *op);                        /* instead of the stamps below, after success */
  void (*finish)(struct posix_op *op);                       /* reactor, success or not */
  bool (*uring)(struct posix_op *op, struct posix_uring *u); /* queue the blocking call; false = no */
  enum posix_run (*uring_done)(struct posix_op *op);
  bool (*join)(struct posix_op *op); /* before it runs: another one's run serves it too, held (true); may be NULL */
  bool blocking;                     /* always on a worker */
  bool reserved;                     /* refused when the disk is full */
  unsigned stamps;
  bool writes_second; /* NODE_VICTIM is what is written to */
  int unsupported;    /* errno of kinds without run */
};

struct posix_metrics {
  uint64_t runs_inline, runs_pool, runs_uring, moved, slow_calls, slow_trips, mdata_writes, fsync_calls, fsync_joined,
      dir_opens, write_outs, near_bytes;
};
extern const struct gi_metric posix_metric_table[];

/* times to be written, oldest first */
struct posix_dirty {
  struct posix *p;
  struct gi_list inodes; /* struct posix_inode.dirty */
  struct gi_timer timer;
};

struct posix {
  uint32_t magic; /* once it has started */
  struct gi_xlator *x;
  struct gi_fs *fs; /* of the process; NULL = the kernel's */
  const char *name; /* x->name, for logs */
  char *brick;      /* absolute path */
  char *hostname, *node_uuid;
  int root_fd, gl_fd, unlink_fd, landfill_fd;
  int health_dir, health_file; /* while no check is under way: its own descriptors, for when there are no more to be had */
  dev_t gl_dev;
  ino_t gl_ino;
  struct gi_gfid volume_id;
  bool have_volume_id;
  bool have_xattrat; /* the kernel has getxattrat(2) and friends */
  bool have_chmodat; /* and fchmodat2(2) */
  bool makes_no_ima; /* it gives no file a checksum (KEY_IMA) by itself */
  struct posix_hash *hash;
  struct posix_numbers *numbers;
  uint64_t mdata_flags; /* in KEY_MDATA of its objects: hardly another brick has the same */
  uid_t euid;           /* of this process */
  gid_t egid;
  struct posix_config cfg;
  struct posix_metrics metrics;
  struct gi_stall stall[GI_FOP_MAX];
  unsigned elsewhere;    /* operations on workers and in io_uring, … */
  unsigned away;         /* …those on workers that change names, … */
  unsigned moving;       /* …and RENAMEs of them */
  uint32_t renames;      /* directories that were renamed */
  struct gi_list astray; /* struct posix_op.wait: lost their way while something moved */

  struct gi_list dirs; /* struct posix_dir.lru, least recent first */
  uint32_t moves;      /* directories that moved, with all below them, to another depth, plus one */
  unsigned ndirs, dirs_max;
  struct posix_dir *root_dir;

  uint64_t left; /* no name left a directory that is not known any more later than that */

  struct gi_list lost; /* struct posix_inode.lost */
  bool ending;         /* nothing is kept any more */
  struct posix_dirty dirty, dirty_soon;

  struct posix_uring *uring; /* NULL: not available */
  struct gi_list batch;      /* struct posix_op.wait: batch-fsync */
  struct gi_timer batch_timer;
  bool batching;    /* a batch is on a worker */
  atomic_int syncs; /* fsyncs of applications under way: who copies for a heal gives way to them */

  bool disk_full;
  struct gi_timer reserve_timer;
  struct gi_timer health_timer;
  struct posix_health *health; /* the check under way */
  bool failed;
  unsigned deaths;
  struct gi_timer janitor_timer;
  struct posix_janitor *janitor;
  struct gi_timer parked_timer;
  struct posix_parked *parked; /* the look under way */
};

/* ---- posix-op.c ---- */
enum gi_verdict posix_submit(struct gi_xlator *x, struct gi_fop *fop); /* posix-kinds.c */
enum gi_verdict posix_op_begin(struct gi_xlator *x, struct gi_fop *fop, const struct posix_kind *kind);
enum posix_run posix_ok(struct posix_op *op, int64_t ret);
enum posix_run posix_err(struct posix_op *op, int err);
void posix_uring_complete(struct posix_op *op); /* uring_res is set */
void posix_op_to_pool(struct posix_op *op);
void posix_op_end(struct posix_op *op); /* a held operation is over: finish and answer */
int posix_prepare_object(struct posix_op *op);
int posix_prepare_fd(struct posix_op *op); /* needs an open or anonymous descriptor */
int posix_prepare_entry(struct posix_op *op);
int posix_prepare_two_entries(struct posix_op *op); /* loc and loc2 */
void posix_node_prepare(struct posix_op *op, int which, const struct gi_gfid *gfid, struct gi_inode *inode);
struct posix_inode *posix_inode_of(struct posix *p, struct gi_inode *inode);
bool posix_inode_has_fd(struct posix *p, struct gi_inode *inode);

/* ---- posix-check.c: panics if state is what it cannot be ---- */
void posix_check(const struct posix *p);
void posix_dir_check(const struct posix_dir *d);
void posix_inode_check(const struct posix_inode *pi);
void posix_op_check(const struct posix_op *op);     /* prepared */
void posix_op_check_end(const struct posix_op *op); /* run: what is answered has not been used yet */

/* ---- posix-at.c: calls relative to a descriptor; -1 and errno like the kernel's ---- */
void posix_at_probe(struct posix *p, bool wanted);
int posix_at_stat(const struct posix *p, struct posix_at at, struct stat *st);
ssize_t posix_at_get(const struct posix *p, struct posix_at at, const char *name, void *value, size_t size);
int posix_at_set(const struct posix *p, struct posix_at at, const char *name, const void *value, size_t size, int flags);
ssize_t posix_at_list(const struct posix *p, struct posix_at at, char *list, size_t size);
int posix_at_remove(const struct posix *p, struct posix_at at, const char *name);
int posix_at_chown(const struct posix *p, struct posix_at at, uid_t uid, gid_t gid);
int posix_at_chmod(const struct posix *p, struct posix_at at, mode_t mode);
int posix_at_times(const struct posix *p, struct posix_at at, const struct timespec ts[2]);
/* A value of any length into a fresh buffer (NUL added); -1 and errno. */
ssize_t posix_at_get_alloc(const struct posix *p, struct posix_at at, const char *name, char **value);
ssize_t posix_at_list_alloc(const struct posix *p, struct posix_at at, char **list);

/* ---- posix-handle.c ---- */
struct posix_hash *posix_hash_new(void); /* for gi_free */
char *posix_hpath(char out[POSIX_HPATH], const struct gi_gfid *gfid);
int posix_gfid_read(const struct posix *p, struct posix_at at, struct gi_gfid *gfid); /* 0 or errno; ENODATA = none */
/* run: others may be changing names on workers. */
bool posix_in_company(const struct posix_op *op);
/* run: attributes and gfid of what one name leads to, both of one object, also while the name changes; 0 or errno, ENODATA: it has no
 * gfid, but attributes. */
int posix_entry_read(const struct posix_op *op, struct posix_at at, struct stat *st, struct gi_gfid *gfid);
/* The gfid that a request has for a new object; false: none, or one that no object but the root may have. */
bool posix_gfid_requested(const struct gi_fop *fop, struct gi_gfid *gfid);
/* run: the handle leads to an object, but not to the one that `st` is of. Not known as yet if the way is far. */
bool posix_handle_elsewhere(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st);
bool posix_handle_parse(const char *text, size_t len, struct gi_gfid *parent, char base[GI_NAME_MAX + 1]);
int posix_handle_link_text(const struct posix *p, const struct gi_gfid *gfid, struct gi_gfid *parent,
                           char base[GI_NAME_MAX + 1]);
/* The handle of the object at dirfd/name, whose attributes may be told; 0 or errno. EEXIST: another object has this gfid. */
int posix_handle_add_file(const struct posix *p, int dirfd, const char *name, const struct gi_gfid *gfid,
                          const struct stat *st);
int posix_handle_add_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid);
/* Of a directory that is to be renamed to parent/name: a new handle is prepared before, and takes the place of the old one after it, or is
 * forgotten. 0 or errno; what could not take its place is forgotten. */
int posix_handle_prepare_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid);
int posix_handle_move_prepared(const struct posix *p, const struct gi_gfid *parent, const char *name,
                               const struct gi_gfid *gfid);
void posix_handle_forget_dir(const struct posix *p, const struct gi_gfid *gfid);
int posix_handle_remove(const struct posix *p, const struct gi_gfid *gfid); /* 0 or errno; there being none is no error */
/* Removes a directory's handle if it (still) names parent/name. */
void posix_handle_remove_dir(const struct posix *p, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid);
int posix_handle_park(const struct posix *p, const struct gi_gfid *gfid);     /* to unlink/; 0 or errno */
int posix_handle_unretire(const struct posix *p, const struct gi_gfid *gfid); /* back from unlink/ */
void posix_unpark(const struct posix *p, const struct gi_gfid *gfid);

/* ---- posix-walk.c: for run. Where the way is too long for the reactor EAGAIN is returned and op->far set: whatever `run` makes of that is
 * forgotten, and it starts again on a worker. So nothing may have been changed on the disk by then. ---- */
/* A new descriptor of a directory by gfid, or -errno: -ENOENT no handle, -ENOTDIR not a directory, -ESTALE damaged, -ENAMETOOLONG.
 * *depth: below the root, plus one; 0: not known. */
int posix_walk_open(struct posix_op *op, const struct gi_gfid *gfid, uint32_t *depth);
int posix_walk_depth(struct posix_op *op, const struct gi_gfid *gfid, uint32_t *depth); /* 0 or errno, and 0 in *depth */
/* Volume path of a directory ("/a/b") into a fresh string, NULL and errno. */
char *posix_walk_path(struct posix_op *op, const struct gi_gfid *gfid);
/* The same as posix_walk_open without an operation, however long it takes. */
int posix_handle_open_dir(const struct posix *p, const struct gi_gfid *gfid);

/* ---- posix-left.c: reactor ---- */
void posix_left_begin(struct posix_op *op); /* at the end of `prepare`: a name is to leave NODE_PARENT */
void posix_left_end(struct posix_op *op);
void posix_left_forget(struct posix *p, const struct posix_inode *pi);
void posix_left_tell(struct posix_op *op); /* in the answer to OPENDIR or a listing, if that asks */

/* ---- posix-dircache.c (reactor) and what `run` uses of it ---- */
void posix_dir_unref(struct posix *p, struct posix_dir *d);
struct posix_dir *posix_dir_adopt(struct posix *p, struct posix_inode *pi, int fd); /* takes the fd */
/* Below the root, plus one; 0: not known, or no longer. */
uint32_t posix_dir_depth(const struct posix *p, const struct posix_dir *d);
/* As of when that many directories had moved; 0: not known, which changes nothing. */
void posix_dir_set_depth(const struct posix *p, struct posix_dir *d, uint32_t depth, uint32_t moves);
/* run: whether a client may have a directory in the directory `which`: 0, ENAMETOOLONG, or EAGAIN (posix-walk.c). */
int posix_node_room(struct posix_op *op, int which);
void posix_dir_drop(struct posix *p, struct posix_inode *pi);
struct posix_dir *posix_dir_pin(struct posix *p, struct posix_inode *pi); /* NULL if not cached */
/* run: a descriptor of the directory `node`, or -errno (-ESTALE when it is not there, -EPERM when not a directory). */
int posix_node_dir(struct posix_op *op, int which);
/* run: how to reach NODE_OBJ: its descriptor, directory or handle. Fills st. 0 or errno (ENOENT: no such gfid). */
int posix_obj_at(struct posix_op *op, struct posix_at *at, struct stat *st);
/* run: makes sure op->fd is open (for anonymous descriptors). 0 or errno. */
int posix_obj_open(struct posix_op *op, int flags);

/* ---- posix-iatt.c ---- */
void posix_iatt(const struct stat *st, const struct gi_gfid *gfid, struct gi_iatt *out);
/* run: stats, loads the times of `which` if nobody knows them, fills out. 0 or errno. */
int posix_node_stat(struct posix_op *op, int which, struct posix_at at, struct gi_iatt *out);
void posix_node_known(struct posix_op *op, int which, struct posix_at at); /* loads the times only */

/* ---- posix-seen.c: what is known without asking the disk ---- */
/* run, before anything changes: 0 or errno. */
int posix_node_attributes(struct posix_op *op, int which, struct posix_at at, struct stat *st);
/* run, when nothing changes any more. */
void posix_seen_after(struct posix_op *op, int which, struct posix_at at, const struct stat *st);
void posix_seen_finish(struct posix_op *op);
void posix_seen_moves(struct posix_op *op); /* it leaves the reactor: what it has noted so far does not count */
void posix_seen_opened(struct posix_op *op, struct posix_fd *pf); /* finish of CREATE */

/* ---- posix-known.c: the same of numbers and of attributes by name ---- */
struct posix_numbers *posix_numbers_new(void); /* for gi_free */
void posix_numbers_forget(struct posix *p);
/* run: the gfid of an object that looks like this; false: ask the disk. */
bool posix_known_gfid(const struct posix_op *op, const struct stat *st, struct gi_gfid *gfid);
/* run: what looks like this says that it has that gfid. */
void posix_known_read(const struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st);
/* run: what looks like this has that gfid, wherever that is known from; not `before` a change, this is what it left. */
void posix_known_stat(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st, bool before);
/* run: NODE_OBJ is new; `parent` is what its directory was before. */
void posix_known_made(struct posix_op *op, const struct stat *parent);
/* run: the inode, referenced, whose `known` is to be used and completed; it looks like `st`. NULL: ask the disk. */
struct gi_inode *posix_known_of(struct posix_op *op, const struct gi_gfid *gfid, const struct stat *st);
/* run of XATTROP: the same; st NULL: it is open, and nobody has looked. */
struct posix_known *posix_known_counts(struct posix_op *op, const struct stat *st);
/* False: not known. Else the bytes in *n, or -1 and errno. `k` may be NULL. */
bool posix_known_get(const struct posix_known *k, const char *name, void *value, size_t size, ssize_t *n);
void posix_known_put(struct posix_known *k, const char *name, const void *value, ssize_t len); /* -1: it is absent */
void posix_known_list(struct posix_known *k, const char *list, ssize_t len);                   /* all that there are */
void posix_known_forget(struct posix_known *k);                                                /* the attributes */
void posix_known_touched(struct posix *p, struct posix_inode *pi); /* we have just moved its ctime, and nothing that is known */
void posix_known_gone(struct posix *p, struct posix_inode *pi);    /* the number is going to be free */

/* ---- posix-mdata.c ---- */
void posix_md_encode(const struct posix_times *t, uint8_t out[MDATA_DISK]);
bool posix_md_decode(const void *in, size_t len, struct posix_times *t);
uint8_t posix_md_read(const struct posix *p, struct posix_at at, struct posix_times *t);
void posix_md_create(struct posix_op *op, int which, struct posix_at at);   /* run: a new object gets its first times */
void posix_md_install(struct posix_op *op, int which);                      /* finish: cache what run loaded */
void posix_md_stamp(struct posix_op *op, int which, unsigned stamps);       /* finish: a change moves them */
void posix_time_advance(struct gi_time *have, const struct gi_time *stamp); /* of ctime: always later than before */
void posix_md_set(struct posix *p, struct gi_inode *inode, const struct posix_times *t, bool soon); /* finish: as is */
/* run: to the disk now, where the object is about to be changed anyway; posix_md_wrote in finish. */
void posix_md_write(struct posix_op *op, struct posix_at at, const struct posix_times *t);
void posix_md_wrote(struct posix_op *op, struct posix_inode *pi);
void posix_md_overlay(const struct posix_node *n, struct gi_iatt *iatt);
void posix_md_overlay_inode(struct posix *p, struct gi_inode *inode, struct gi_iatt *iatt, struct gi_dict *xdata);
int posix_md_flush(struct posix *p, struct posix_inode *pi, int fd); /* fd -1: by gfid; 0 or errno */
/* The same for an fsync, which need not tell the disk of times that a file system of the kernel would not know either. */
void posix_md_flush_for_sync(struct posix *p, struct posix_inode *pi, int fd);
void posix_md_flush_all(struct posix *p);
void posix_md_forget(struct posix *p, struct posix_inode *pi); /* what is cached no longer describes the disk */
void posix_md_init(struct posix *p);                           /* the timers */

/* ---- posix-content.c ---- */
/* Of OPEN, when the file is open; `found`: as it was before that, NULL: nobody knows. */
enum posix_run posix_run_content(struct posix_op *op, const struct stat *found);
void posix_finish_content(struct posix_op *op);
/* Of LOOKUP, when the object is found: `st` of what `at` names. */
void posix_content_of_found(struct posix_op *op, struct posix_at at, const struct stat *st);
void posix_finish_found(struct posix_op *op);

/* ---- posix-xattr*.c ---- */
/* run: adds what the request's xdata asks for. `dirfd`/`name` may be -1/NULL. */
void posix_fill(struct posix_op *op, const struct gi_dict *req, struct posix_at at, const struct stat *st,
                const struct gi_gfid *gfid, struct gi_dict **out);
/* finish: the counts only the reactor knows. */
void posix_fill_counts(struct posix_op *op, struct gi_inode *inode);
void posix_finish_counts(struct posix_op *op); /* the same of NODE_OBJ, of an operation that succeeded */
bool posix_key_is_xattr(const char *key);      /* has one of the four prefixes */
bool posix_key_internal(const char *key);      /* never stored or removed by clients */
#define POSIX_NUMBER_TEXT 320                  /* a double in full */
/* The bytes a dict value is stored as (wire.md 3.4), followed by a NUL; numbers go to `text`. NULL: it has none. */
const void *posix_value(const struct gi_pair *pair, char text[POSIX_NUMBER_TEXT], uint32_t *len);
/* run: the request's initial xattrs on a new object; 0 or errno. */
int posix_xattr_initial(struct posix_op *op, struct posix_at at);
int posix_acl_initial(struct posix_op *op, struct posix_at at);
/* Without room for it there is no record, and that is no error. */
int posix_gfid2path_add(const struct posix *p, struct posix_at at, const struct gi_gfid *parent, const char *name);
void posix_gfid2path_remove(const struct posix *p, struct posix_at at, const struct gi_gfid *parent, const char *name);
/* Removes one record where there is no room for something that matters more; false: there is none. */
bool posix_gfid2path_give_way(const struct posix *p, struct posix_at at);
/* Of an object that gets a name and has had none: its records of names stayed with it when the last one went. */
void posix_forget_names(const struct posix *p, struct posix_at at);
int posix_pgfid_change(const struct posix *p, struct posix_at at, const struct gi_gfid *parent, int by);
enum posix_run posix_get_virtual(struct posix_op *op, struct posix_at at, const struct stat *st, bool *mine);
/* An object's ACL as a fresh text; 0 or errno (ENODATA: such objects have none). */
int posix_acl_text(const struct posix *p, struct posix_at at, const struct stat *st, bool access, char **text);
bool posix_acl_to_text(const void *data, size_t len, char **text);
bool posix_acl_from_text(const char *text, void **data, size_t *len);

/* ---- run functions by file ---- */
#define POSIX_RUN(n) enum posix_run posix_run_##n(struct posix_op *op)
POSIX_RUN(lookup);
POSIX_RUN(mknod);
POSIX_RUN(mkdir);
POSIX_RUN(symlink);
POSIX_RUN(create);
POSIX_RUN(unlink);
POSIX_RUN(rmdir);
POSIX_RUN(rename);
POSIX_RUN(link);
POSIX_RUN(stat);
int posix_prepare_setattr(struct posix_op *op);
POSIX_RUN(setattr);
POSIX_RUN(truncate);
POSIX_RUN(access);
POSIX_RUN(readlink);
POSIX_RUN(statfs);
POSIX_RUN(open);
POSIX_RUN(read);
POSIX_RUN(write);
POSIX_RUN(flush);
POSIX_RUN(fsync);
POSIX_RUN(fallocate);
POSIX_RUN(seek);
POSIX_RUN(copy_range);
POSIX_RUN(rchecksum);
POSIX_RUN(opendir);
POSIX_RUN(readdir);
POSIX_RUN(fsyncdir);
POSIX_RUN(setxattr);
POSIX_RUN(getxattr);
POSIX_RUN(removexattr);
POSIX_RUN(xattrop);
POSIX_RUN(put);

int posix_prepare_lookup(struct posix_op *op);
int posix_prepare_unlink(struct posix_op *op);
int posix_prepare_rename(struct posix_op *op);
int posix_prepare_link(struct posix_op *op);
int posix_prepare_statfs(struct posix_op *op);
int posix_prepare_read(struct posix_op *op);
int posix_prepare_write(struct posix_op *op);
int posix_prepare_copy_range(struct posix_op *op);
int posix_prepare_fsync(struct posix_op *op);
int posix_prepare_readdir(struct posix_op *op);
int posix_prepare_getxattr(struct posix_op *op);
int posix_prepare_setxattr(struct posix_op *op);
int posix_prepare_xattrop(struct posix_op *op);
void posix_finish_xattrop(struct posix_op *op);
void posix_finish_write(struct posix_op *op);
/* Changelog counters are raised before the data is written, and a power loss must not leave the data without them. So whatever brings
 * data to the disk brings those there that were not yet: it may be data only if posix_settling says no, and reports a success. */
bool posix_settling(struct posix_op *op, struct posix_inode *pi);
/* The operation is to be on the disk when it succeeds; and is not for the thread that must not wait. What it was done to is brought there: 0 or
 * errno. */
bool posix_is_durable(const struct posix_op *op);
bool posix_waits_for_disk(const struct posix_op *op);
int posix_sync_object(struct posix_op *op, struct posix_at at, const struct stat *st);
void posix_settled(const struct posix_op *op, struct posix_inode *pi);
int posix_prepare_fallocate(struct posix_op *op);
void posix_finish_lookup(struct posix_op *op);
void posix_finish_open(struct posix_op *op);
void posix_finish_removed(struct posix_op *op); /* unlink, rmdir, rename */
void posix_finish_mknod(struct posix_op *op);
void posix_finish_read(struct posix_op *op);
void posix_finish_getxattr(struct posix_op *op);
void posix_finish_setxattr(struct posix_op *op);
void posix_finish_readdir(struct posix_op *op);
void posix_finish_fsync(struct posix_op *op);
void posix_stamp_setattr(struct posix_op *op);
void posix_stamp_unlink(struct posix_op *op);
void posix_stamp_rename(struct posix_op *op);
void posix_stamp_copy_range(struct posix_op *op);
void posix_stamp_setxattr(struct posix_op *op);
void posix_stamp_read(struct posix_op *op);
bool posix_uring_read(struct posix_op *op, struct posix_uring *u);
/* Of a heal: has the disk begin with what is written, in time; run does it, and with `wait` is back when that is on the disk. 0 or an
 * errno: the disk refused something. */
void posix_collect(struct posix_op *op, struct posix_fd *pf, const struct posix_pieces *written);
int posix_write_out(struct posix_op *op, bool wait);
void posix_pieces_add(struct posix_pieces *to, const struct posix_pieces *more); /* none may be empty but `to` */
bool posix_uring_write(struct posix_op *op, struct posix_uring *u);
bool posix_needs_room(const struct posix_op *op, const struct stat *st, uint64_t offset,
                      uint64_t len); /* beyond the end, or in a hole */
enum posix_run posix_read_done(struct posix_op *op);
enum posix_run posix_write_done(struct posix_op *op);

/* run: creation steps shared by MKNOD, MKDIR, SYMLINK, CREATE (posix-create.c) */
int posix_entry_name(struct posix_op *op, const struct gi_gfid *parent, const char *name, bool dots);
void posix_node_is(struct posix_op *op, int which, const struct gi_gfid *found);
int posix_parent_begin(struct posix_op *op, int which, const char *name, struct gi_iatt *pre); /* its descriptor or -errno */
/* ESTALE for an ENOENT below a directory that is no more; else `err`. */
int posix_parent_gone(const struct posix_op *op, int dirfd, int err);
/* EIO, with glusterfs.preop.check.failed in the answer: an xattr of the parent is not what the client believes (brick.md 2.5); else 0. */
int posix_check_layout(struct posix_op *op, int dirfd);
#define POSIX_AT_END UINT64_MAX /* an offset */
/* Writes the payload from `skip` on; bytes written (short when the disk is full) or -1 and errno. */
ssize_t posix_write_all(struct gi_fs *fs, int fd, const struct gi_payload *payload, uint64_t skip, uint64_t offset);

/* ---- posix-uring.c ---- */
struct posix_uring *posix_uring_new(struct posix *p); /* NULL when the kernel refuses */
void posix_uring_free(struct posix_uring **u);
bool posix_uring_rw(struct posix_uring *u, struct posix_op *op, bool write, const struct iovec *iov, unsigned n,
                    uint64_t offset); /* may be POSIX_AT_END */

/* ---- posix-lost.c ---- */
/* After a failed sync the kernel takes what it could not write for written: it tells nobody any more, but has it in memory only. From
 * then on the brick fails every sync of that file, so that those who go on are the other copies; a heal is told what the disk has;
 * and what it has synced then counts again. */
bool posix_lost(const struct posix_op *op);                                 /* an fsync must fail */
void posix_lost_prepare(struct posix_op *op, const struct posix_inode *pi); /* of a heal's operation on an fd */
void posix_lost_drop(struct posix_op *op);                                  /* on a worker: op->fd is open */
void posix_lost_account(const struct posix_op *op, struct posix_inode *pi); /* an fsync ended */
void posix_lost_let_go(struct posix_inode *pi);                             /* the file is gone, or this process */
void posix_lost_end(struct posix *p);
void posix_lost_note(struct posix_op *op); /* finish of any operation: op->unsynced counts */

/* A disk has refused something of the file: until a heal has written it no sync is believed. */
void posix_lose(struct posix *p, struct posix_inode *pi);

/* ---- posix-stream.c ---- */
bool posix_stream_fills(const struct posix_op *op); /* a WRITE, before it is done: the file has nothing where it writes */
void posix_stream(struct posix_op *op);             /* finish of a WRITE */

/* ---- posix-fsync.c ---- */
bool posix_fsync_join(struct posix_op *op); /* true: held by a batch or an earlier fsync */
void posix_fsync_next(struct posix_op *op);
void posix_batch_timer(void *arg);

/* ---- posix-near.c ---- */
extern const struct posix_kind posix_near_kind;
bool posix_near_wanted(const struct gi_fop *fop);                          /* a COPY_FILE_RANGE from another brick */
int posix_near_where(const struct posix_op *op, char *where, size_t size); /* run, GETXATTR of GI_NEAR_KEY: 0 or an errno */

/* ---- posix-health.c, posix-janitor.c, posix-statfs ---- */
void posix_health_start(struct posix *p);
void posix_health_stop(struct posix *p);
void posix_janitor_start(struct posix *p);
void posix_janitor_stop(struct posix *p);
/* ---- posix-parked.c ---- */
void posix_parked_wait(struct posix *p); /* files without name are there that a client may open again: a look in a while */
void posix_parked_stop(struct posix *p);

void posix_reserve_poll(struct posix *p);
void posix_reserve_timer(void *arg);
uint64_t posix_reserve_blocks(const struct posix_config *cfg, uint64_t blocks, uint64_t bsize);
/* Deletes everything under a directory, not following symlinks; `handles` also drops the handles of what goes. */
int posix_delete_tree(const struct posix *p, int dirfd, const char *name, const bool *stop);

/* ---- posix-start.c ---- */
int posix_start(struct posix *p, const struct posix_options *o, struct gi_error *err);

#endif
