/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation: every file operation is one struct gi_fop, whatever its kind.
 *
 * Life: the origin (FUSE bridge, protocol/server, a heal) makes one with
 * gi_fop_new or gi_fop_child, fills the request part and calls gi_fop_submit.
 * The core walks it down the stack (xlator.h) until a translator answers it;
 * then back up through those that asked to see the reply, and at last calls
 * `done`, which must end with gi_fop_unref. A fop is answered exactly once.
 *
 * Memory: one allocation holds the fop and the private bytes of every
 * translator. The request part must not be changed once submitted, except by a
 * translator on the way down before it passes the fop on. A child fop (fan-out)
 * keeps its parent alive and borrows its strings, dicts and payload.
 */
#ifndef GI_FOP_H
#define GI_FOP_H

#include "libglusterish/dict.h"
#include "libglusterish/extension.h"
#include "libglusterish/inode.h"
#include "libglusterish/list.h"
#include "libglusterish/payload.h"
#include "libglusterish/reactor.h"
#include "libglusterish/types.h"

/* numbers are the wire procedures (wire.md 2) */
enum gi_fop_kind {
  GI_FOP_NULL = 0,
  GI_FOP_STAT = 1,
  GI_FOP_READLINK = 2,
  GI_FOP_MKNOD = 3,
  GI_FOP_MKDIR = 4,
  GI_FOP_UNLINK = 5,
  GI_FOP_RMDIR = 6,
  GI_FOP_SYMLINK = 7,
  GI_FOP_RENAME = 8,
  GI_FOP_LINK = 9,
  GI_FOP_TRUNCATE = 10,
  GI_FOP_OPEN = 11,
  GI_FOP_READ = 12,
  GI_FOP_WRITE = 13,
  GI_FOP_STATFS = 14,
  GI_FOP_FLUSH = 15,
  GI_FOP_FSYNC = 16,
  GI_FOP_SETXATTR = 17,
  GI_FOP_GETXATTR = 18,
  GI_FOP_REMOVEXATTR = 19,
  GI_FOP_OPENDIR = 20,
  GI_FOP_FSYNCDIR = 21,
  GI_FOP_ACCESS = 22,
  GI_FOP_CREATE = 23,
  GI_FOP_FTRUNCATE = 24,
  GI_FOP_FSTAT = 25,
  GI_FOP_LK = 26,
  GI_FOP_LOOKUP = 27,
  GI_FOP_READDIR = 28,
  GI_FOP_INODELK = 29,
  GI_FOP_FINODELK = 30,
  GI_FOP_ENTRYLK = 31,
  GI_FOP_FENTRYLK = 32,
  GI_FOP_XATTROP = 33,
  GI_FOP_FXATTROP = 34,
  GI_FOP_FGETXATTR = 35,
  GI_FOP_FSETXATTR = 36,
  GI_FOP_RCHECKSUM = 37,
  GI_FOP_SETATTR = 38,
  GI_FOP_FSETATTR = 39,
  GI_FOP_READDIRP = 40,
  GI_FOP_RELEASE = 41,    /* only on the wire: in a process gi_fd_unref does it */
  GI_FOP_RELEASEDIR = 42, /* likewise */
  GI_FOP_FREMOVEXATTR = 43,
  GI_FOP_FALLOCATE = 44,
  GI_FOP_DISCARD = 45,
  GI_FOP_ZEROFILL = 46,
  GI_FOP_IPC = 47,
  GI_FOP_SEEK = 48,
  GI_FOP_COMPOUND = 49, /* dead */
  GI_FOP_LEASE = 50,
  GI_FOP_GETACTIVELK = 51,
  GI_FOP_SETACTIVELK = 52,
  GI_FOP_ICREATE = 53,
  GI_FOP_NAMELINK = 54,
  GI_FOP_PUT = 55,
  GI_FOP_COPY_FILE_RANGE = 56,
  GI_FOP_MAX = 57,
};

#define GI_KIND(k) (1ull << (k)) /* member of a set of kinds */

enum gi_fop_target { GI_TARGET_NONE, GI_TARGET_LOC, GI_TARGET_FD, GI_TARGET_ENTRY /* parent + name */ };

/* class bits */
enum {
  GI_CLASS_READ = 1,
  GI_CLASS_WRITE = 2,
  GI_CLASS_DATA = 4,
  GI_CLASS_META = 8,
  GI_CLASS_ENTRY = 16,
  GI_CLASS_LOCK = 32,
  GI_CLASS_MAY_WAIT = 64, /* a blocking lock: its reply may take arbitrarily long */
};

/* Whose attributes a struct gi_iatt of a reply are. */
enum gi_whose {
  GI_OF_NOBODY,  /* a reply of this kind has none there */
  GI_OF_OBJECT,  /* what the fop is about, or the entry it makes */
  GI_OF_PARENT,  /* of loc */
  GI_OF_PARENT2, /* of loc2 */
  GI_OF_OBJECT2, /* COPY_FILE_RANGE: the destination */
  GI_WHOSE_MAX,
};

/* enum gi_whose, by member of struct gi_reply */
struct gi_reply_attrs {
  uint8_t stat, pre, post, pre2, post2;
};

/* One record per kind: everything generic is driven by this table. */
struct gi_fop_info {
  const char *name; /* upper case, as in logs and profiles: "LOOKUP"; NULL = no such kind */
  enum gi_fop_target target;
  unsigned classes;
  struct gi_reply_attrs attrs; /* what a reply may carry; a peer may leave any of it out (gi_iatt_valid) */
};
extern const struct gi_fop_info gi_fop_table[GI_FOP_MAX];
const char *gi_fop_name(enum gi_fop_kind kind); /* "?" for a number outside the table */
/* All kinds whose classes include every bit of `classes`. */
uint64_t gi_kinds_of_class(unsigned classes);
/* A list of names as in the table, any case, separated by commas or blanks, as a set of GI_KIND. False and the offending word
 * (cut to `len` - 1 bytes) in `bad` if one is unknown. An empty or NULL list is the empty set. */
bool gi_kinds_parse(const char *list, uint64_t *kinds, char *bad, size_t len);

/* A place: an object by gfid, and/or a name in a parent. `inode`/`parent` are the canonical objects when known. The fop holds
 * references on both. */
struct gi_loc {
  struct gi_gfid gfid;
  struct gi_gfid pargfid;
  const char *name; /* NUL terminated, no slash; NULL = nameless */
  struct gi_inode *inode;
  struct gi_inode *parent;
};

/* What gi_caller.client points at begins with this: valid until the translators below got GI_EVENT_CLIENT_GONE for it. */
struct gi_client_id {
  const char *uid;     /* the client's process-uuid, as in SETVOLUME */
  const char *address; /* "127.0.0.1:1023" */
  bool ours;           /* a glusterish client */
  bool acknowledges;   /* it says when it has taken in what it was told (GI_TAKEN_KEY) */
};

#define GI_CLIENT_TEXT 320u
/* "client UID at ADDRESS", as it is told to whoever asks who keeps something waiting; cut if it is longer. Its length. NULL: some client. */
size_t gi_client_text(const struct gi_client_id *id, char text[GI_CLIENT_TEXT]);

struct gi_caller {
  int32_t pid; /* < 0: internal client (wire.md 1.5); GI_PID_HEAL */
  uint32_t uid, gid;
  uint32_t ngroups;
  const uint32_t *groups; /* borrowed: in the fop's arena or longer lived (gi_caller_detach) */
  uint32_t stamps;        /* which timestamps change: GI_STAMP_* */
  struct gi_time time;    /* the client's clock when the operation began */
  struct gi_owner owner;
  void *client; /* on a brick: struct gi_client_id * of the client it came from; NULL elsewhere */
};

/* credential flags (wire.md 1.5) */
enum {
  GI_STAMP_CTIME = 1,
  GI_STAMP_MTIME = 2,
  GI_STAMP_ATIME = 4,
  GI_STAMP_PARENT_CTIME = 8,
  GI_STAMP_PARENT_MTIME = 16,
  GI_STAMP_PARENT_ATIME = 32,
};

/* One directory entry of READDIR/READDIRP. */
struct gi_dirent {
  uint64_t ino;
  uint64_t off;  /* cookie: continue after this entry */
  uint32_t type; /* DT_* */
  const char *name;
  uint32_t name_len;
  struct gi_iatt stat;   /* READDIRP; all zero = unknown */
  struct gi_dict *xdata; /* READDIRP; owned; NULL = none */
};

/* "." or "..". */
static inline bool
gi_dirent_is_dot(const struct gi_dirent *e)
{
  return e->name[0] == '.' && (e->name_len == 1 || (e->name_len == 2 && e->name[1] == '.'));
}

struct gi_dirents {
  uint32_t count, capacity;
  struct gi_dirent *entry; /* gi_dirents_free */
};

/* GETACTIVELK */
struct gi_lock_item {
  struct gi_flock flock;
  const char *client_uid;
  uint32_t flags;
};

struct gi_lease {
  uint32_t cmd, type;
  uint8_t id[16];
  uint32_t flags;
};

/* What an fsync is to bring to the disk; the larger one includes the other. */
enum gi_sync { GI_SYNC_NONE, GI_SYNC_DATA, GI_SYNC_ALL /* times, too */ };
/* What came of one that goes with a WRITE; if it failed, the WRITE has, too, though it was done. */
enum gi_synced { GI_NOT_SYNCED, GI_SYNCED, GI_SYNC_FAILED };

/* Arguments. Members are shared between kinds that mean the same by them; unused ones are zero. */
struct gi_args {
  uint64_t offset;  /* READ WRITE TRUNCATE FTRUNCATE READDIR(P) FALLOCATE DISCARD ZEROFILL SEEK RCHECKSUM; CFR: source */
  uint64_t offset2; /* COPY_FILE_RANGE: destination */
  uint64_t size;    /* READ WRITE READDIR(P) READLINK FALLOCATE DISCARD ZEROFILL RCHECKSUM COPY_FILE_RANGE: bytes */
  uint64_t rdev;    /* MKNOD: as in iatt */
  uint32_t flags;   /* OPEN CREATE READ WRITE SETXATTR XATTROP FALLOCATE(1 = keep size) UNLINK/RMDIR xflags LOOKUP CFR … */
  uint32_t mode;    /* CREATE MKNOD MKDIR ICREATE PUT; ACCESS: mask */
  uint32_t umask;
  int32_t datasync;     /* FSYNC FSYNCDIR: non-zero = data only */
  int32_t what;         /* SEEK: 0 data, 1 hole; IPC: op */
  int32_t valid;        /* SETATTR: GI_SET_*; FSYNC FLUSH: see iatt */
  uint32_t cmd;         /* LK INODELK ENTRYLK … */
  uint32_t type;        /* LK INODELK ENTRYLK … */
  bool paged;           /* WRITE: the kernel writes its pages back; no caller waits for it */
  uint8_t sync;         /* WRITE: an fsync waits for it (enum gi_sync); it may be done with it */
  bool truncates;       /* OPEN: the file is emptied behind it, by the same message; rsp.pre and post are those of that */
  bool later;           /* XATTROP FXATTROP: nobody waits for it, nor for the values; it may go with the next message */
  const char *name;     /* xattr name (GETXATTR NULL = list all), or entrylk basename (NULL = whole directory) */
  const char *domain;   /* INODELK/ENTRYLK `volume` */
  const char *link;     /* SYMLINK target */
  struct gi_dict *dict; /* SETXATTR XATTROP: the attributes; owned reference */
  struct gi_iatt iatt;  /* SETATTR; FSYNC FLUSH with `valid`: times that the last write may take along, if it is not sent yet */
  struct gi_flock flock;
  struct gi_lease lease;
  uint32_t nlocks;            /* SETACTIVELK */
  struct gi_lock_item *locks; /* in the arena */
};

struct gi_reply {
  int32_t ret;    /* >= 0 success (bytes, entries), -1 failure */
  int32_t err;    /* errno when ret < 0; READ/READDIR(P): ENOENT on success means end */
  bool early;     /* WRITE: the bricks do not have it yet; attributes are what they will be, about; GI_EVENT_WRITTEN follows */
  uint8_t synced; /* WRITE: enum gi_synced; all that was written to the file before, too, as args.sync asked */
  uint64_t asked; /* gi_now when bricks were asked for attributes that come from memory; 0: they are as good as asked for now */
  struct gi_iatt stat;        /* the object */
  struct gi_iatt pre, post;   /* before/after: of the object, or of the (old) parent for entry kinds */
  struct gi_iatt pre2, post2; /* RENAME: new parent */
  struct gi_gfid lost;        /* on a brick: what no longer has the name, after UNLINK, RMDIR, RENAME over something */
  struct gi_dict *dict;       /* GETXATTR XATTROP: owned reference */
  struct gi_dict *xdata;      /* owned reference; NULL = none */
  struct gi_payload payload;  /* READ */
  struct gi_statfs statfs;
  struct gi_dirents entries; /* READDIR(P) */
  struct gi_flock flock;     /* LK */
  const char *link;          /* READLINK; in the fop's arena */
  uint64_t offset;           /* SEEK */
  uint32_t weak_checksum;    /* RCHECKSUM */
  uint8_t strong_checksum[32];
  uint32_t strong_len;
  uint32_t flags;             /* RCHECKSUM */
  uint32_t nlocks;            /* GETACTIVELK */
  struct gi_lock_item *locks; /* in the arena */
  struct gi_lease lease;
};

struct gi_arena_chunk;
struct gi_fop_pool;
struct gi_steps;

/* What an operation that is held waits for. */
enum gi_wait_for {
  GI_WAIT_NOTHING,
  GI_WAIT_BRICK,    /* a connection to it */
  GI_WAIT_LOCK,     /* that somebody else has */
  GI_WAIT_WORKER,   /* its turn for one */
  GI_WAIT_DISK,     /* a system call */
  GI_WAIT_THROTTLE, /* a limit */
  GI_WAIT_WINDOW,   /* room for what is not written yet */
  GI_WAIT_QUORUM,   /* enough copies */
  GI_WAIT_ORDER,    /* another operation, that comes first */
  GI_WAIT_KERNEL,   /* an answer of the kernel's */
  GI_WAIT_CLIENT,   /* something that a client does */
  GI_WAIT_MAX,
};
extern const char *const gi_wait_name[GI_WAIT_MAX]; /* "brick", "lock" …; NULL for nothing */

struct gi_wait {
  enum gi_wait_for why;
  uint32_t mark;          /* it waits as long as the fop has passed as many borders (steps.h) */
  const char *what, *who; /* may be NULL */
  uint64_t since;         /* gi_ticks */
  const char *const *now; /* NULL, or where a worker says which system call it is in (fs.h); NULL there: in none */
};

#define GI_FOP_MAGIC 0x1d0f0b01u
#define GI_FOP_DEPTH 24 /* most translators that may want to see one reply */
#define GI_MARKS 48     /* borders that are noted of one operation (steps.h) */

struct gi_fop {
  uint32_t magic;
  uint32_t refs;
  enum gi_fop_kind kind;
  enum gi_priority priority; /* for work it causes on the worker pool; io-threads sets it */
  struct gi_graph *graph;
  struct gi_fop *parent; /* the fop this is a fan-out child of; referenced */

  /* ---- request ---- */
  struct gi_caller caller;
  struct gi_loc loc;  /* the object, or the entry; RENAME/LINK: the old one */
  struct gi_loc loc2; /* RENAME/LINK: the new one; COPY_FILE_RANGE: destination */
  struct gi_fd *fd;   /* referenced; CREATE/OPEN/OPENDIR: the fd being opened */
  struct gi_fd *fd2;  /* COPY_FILE_RANGE destination */
  struct gi_args args;
  struct gi_payload payload; /* WRITE, PUT */
  struct gi_dict *xdata;     /* owned reference; NULL = none */
  uint64_t start_ns;         /* gi_now when submitted, or some microseconds less */

  /* ---- reply ---- */
  struct gi_reply rsp;
  bool answered;
  bool cancelled; /* the origin no longer wants a blocking lock (gi_fop_cancel) */
  uint8_t child;  /* set by a fan-out: the child it went to */
  uint8_t tag;    /* set by a fan-out: its own number for the operation */

  /* ---- origin ---- */
  void (*done)(struct gi_fop *fop, void *arg);
  void *done_arg;
  struct gi_list link; /* for whoever holds the fop: a queue, a fan-out */

  /* ---- the core's own ---- */
  struct gi_xlator *at;                 /* where it is now */
  struct gi_xlator *tell[GI_FOP_DEPTH]; /* who wants the reply */
  uint32_t ntell;
  struct gi_arena_chunk *arena;
  uint32_t arena_used;

  /* ---- what is seen of it (steps.h) ---- */
  uint32_t nmarks;          /* borders passed; the first GI_MARKS are in `mark` */
  uint64_t number;          /* of the process's operations */
  uint64_t start_ticks;     /* gi_ticks when submitted, or when what asks for it came (gi_fop_came); 0: not under way */
  struct gi_xlator *origin; /* whose step it ends with (gi_fop_came); NULL as a rule: it is over when it is answered */
  struct gi_fop *root;      /* the operation that it works for, itself if for none */
  struct gi_list flight;    /* gi_graph.flight, from submission to the answer */
  uint32_t below;           /* operations on its behalf that are under way */
  bool counted;             /* in its parent's `below` */
  bool unseen;              /* gi_fop_unseen */
  uint16_t answerer;        /* gi_xlator.layer of the deepest one that it came to */
  struct gi_wait wait;      /* gi_fop_waiting */
  struct gi_steps *steps;   /* of a root whose tree is collected (tree.h); NULL as a rule */
  uint64_t mark[GI_MARKS];  /* not zeroed */

  _Alignas(16) unsigned char arena_inline[256];
  _Alignas(16) unsigned char bytes[]; /* every translator's fop_bytes, zeroed */
};

/* A fresh fop with one reference, everything zero. */
struct gi_fop *gi_fop_new(struct gi_graph *g, enum gi_fop_kind kind);
/* A fan-out child of the same kind with caller, locs, fds, args, payload and xdata shared by reference from `parent`, which it
 * keeps alive. Change what must differ before submitting (replace xdata: unref and set). */
struct gi_fop *gi_fop_child(struct gi_fop *parent);
/* An empty helper operation of another kind on behalf of `parent`: caller, graph; parent kept alive. For locks, xattrops … */
struct gi_fop *gi_fop_helper(struct gi_fop *parent, enum gi_fop_kind kind);
struct gi_fop *gi_fop_ref(struct gi_fop *fop);
void gi_fop_unref(struct gi_fop *fop); /* NULL is fine */

/* Copies text or bytes (NUL added) into the fop's arena: freed with the fop. */
char *gi_fop_strdup(struct gi_fop *fop, const char *s, size_t len);
void *gi_fop_alloc(struct gi_fop *fop, size_t size); /* aligned to 16, uninitialised */

/* Request fillers: copy names into the arena, take references. */
void gi_loc_set_inode(struct gi_loc *loc, struct gi_inode *inode);
void gi_fop_set_entry(struct gi_fop *fop, struct gi_loc *loc, struct gi_inode *parent, const char *name);
void gi_fop_set_fd(struct gi_fop *fop, struct gi_fd *fd);            /* sets loc to the fd's inode too, if it has one */
void gi_loc_copy(struct gi_loc *to, const struct gi_loc *from);      /* references; the name is borrowed */
void gi_loc_copy_name(struct gi_loc *to, const struct gi_loc *from); /* without the object: whatever has the name */
void gi_loc_clear(struct gi_loc *loc);

/* The inode of the object a fop is about: of its fd, of its loc, or looked up by the loc's gfid. Borrowed: the fop keeps it. NULL
 * if it names no object (a new entry, a name that is not resolved). */
struct gi_inode *gi_fop_inode(struct gi_fop *fop);
/* The gfid of that object, without looking up its inode; all zero if it names none. Borrowed from the fop. */
const struct gi_gfid *gi_fop_gfid(const struct gi_fop *fop);
/* It takes a POSIX lock, or all that somebody had (SETACTIVELK): what was written elsewhere before is to be seen after it is granted. */
bool gi_fop_takes_lock(const struct gi_fop *fop);
/* The inode of the object, or of the parent, that one of the fop's places names, in the same way. */
struct gi_inode *gi_loc_inode(struct gi_fop *fop, struct gi_loc *loc);
struct gi_inode *gi_loc_parent(struct gi_fop *fop, struct gi_loc *loc);
/* Drops what `who` borrows from the fop it was copied from, the groups: it may then outlive that fop. */
void gi_caller_detach(struct gi_caller *who);

/* The request's xdata for writing: makes one, or a copy if anybody else has it too (gi_dict_writable, also for rsp.dict). */
struct gi_dict *gi_fop_xdata(struct gi_fop *fop);
/* The reply's xdata for writing, likewise. */
struct gi_dict *gi_fop_rsp_xdata(struct gi_fop *fop);

/* Sends it into the stack at `top` (that translator sees it first). `done` runs exactly once, possibly before this returns. */
void gi_fop_submit(struct gi_fop *fop, struct gi_xlator *top, void (*done)(struct gi_fop *fop, void *arg), void *arg);

/* Says what it waits for while it is held, for those who look (an operation that hangs): until the next border. The texts are borrowed
 * until the operation is freed: literals, names of translators, or in its own arena. Costs nothing that matters where it has to wait. */
void gi_fop_waits(struct gi_fop *fop, enum gi_wait_for why, const char *what, const char *who);
/* What it waits for; false: it does not wait, or nobody said so. */
bool gi_fop_waiting(const struct gi_fop *fop, struct gi_wait *w);
/* It is held until something happens that perhaps never does, and that is in order: it is no longer among those under way, and how long
 * it takes says nothing. */
void gi_fop_unseen(struct gi_fop *fop);

/* Asks that a fop which waits in a lock queue be answered EINTR soon. Goes to whoever holds it as the notification
 * GI_EVENT_CANCEL; a fop that is not waiting is left alone. */
void gi_fop_cancel(struct gi_fop *fop);

/* Attributes that a reply carries. */
struct gi_attr {
  enum gi_whose whose;
  bool before; /* as they were before the operation */
  struct gi_iatt *iatt;
};

/* The next attributes of fop's reply, from *at = 0 on; those from before the operation come first, those that a peer left out not at
 * all. False at the end. */
bool gi_reply_next_attr(struct gi_fop *fop, unsigned *at, struct gi_attr *attr);
/* What the reply says of that object as it is now, after the operation; NULL if it says nothing. */
const struct gi_iatt *gi_reply_attr(struct gi_fop *fop, enum gi_whose whose);

/* Drops what a reply owns and zeroes it, for a translator that re-submits. */
void gi_reply_clear(struct gi_reply *rsp);
/* Moves a child's reply into another fop's (ownership included; link/locks strings are copied into `to`'s arena). */
void gi_reply_move(struct gi_fop *to, struct gi_fop *from);

void gi_dirents_add(struct gi_dirents *d, const struct gi_dirent *e, struct gi_fop *owner); /* name copied into owner's arena */
void gi_dirents_free(struct gi_dirents *d);

/* For graph.c: the pool fops of one graph come from. */
struct gi_fop_pool *gi_fop_pool_new(void);
void gi_fop_pool_free(struct gi_fop_pool **pool);

#endif
