/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/md-cache, inside: what is kept of one inode, and which file of
 * this folder looks after what.
 *
 *   md-cache.c   the class: options, events, life
 *   md-entry.c   what is kept of an inode: when it may be used, when it goes
 *   md-change.c  changes of ours, which update what is kept
 *   md-attr.c    questions about attributes, and what replies say of them
 *   md-xattr.c   the same for extended attributes
 *   md-care.c    what bricks are asked to tell of
 */
#ifndef MD_CACHE_H
#define MD_CACHE_H

#include "libglusterish/graph.h"
#include "libglusterish/join.h"
#include "libglusterish/trust.h"

#define MD_CLAMP_S 60u   /* nothing is believed for longer if no brick tells of changes */
#define MD_CHANGED_MAX 4 /* inodes that one operation changes: RENAME, two objects and two directories */

struct md_options {
  int64_t timeout; /* s */
  bool cache_invalidation, global_invalidation, force_readdirp, statfs, pass_through;
  bool capability, ima, selinux, acl, samba, swift;
  char *list; /* further names, separated by commas */
};

struct md_metrics {
  uint64_t attr_hits, attr_misses, xattr_hits, xattr_misses, statfs_hits, updated, foreign, invalidated, dropped;
};

/* When something was asked for, and what had happened by then: it is good until the timeout, or until one of these moves. */
struct md_age {
  uint64_t asked; /* gi_now */
  uint64_t epoch, locks, names, dir_names;
};

/* What WRITEs that were under way at once left, one with the other. */
struct md_grown {
  uint64_t size, blocks;
  struct gi_time mtime, ctime;
};

/* Of an inode, from when something is first known of it. */
struct md_entry {
  struct gi_lru_item item; /* on the list while no change of ours is under way: only then it may go */
  struct gi_inode *inode;  /* whose it is; not referenced: the entry goes first */
  struct gi_trust trust;   /* trust.attr are the attributes that are kept, while `good` */
  bool good;
  bool dir;       /* known to be a directory: only the names of directories count */
  bool writes;    /* nothing but WRITEs that succeeded since changes were last not under way */
  uint64_t since; /* what was asked for before order.clock was that is not kept */
  uint64_t names; /* md_names, as far as it is accounted for in `trust` */
  struct md_age age;
  struct md_grown grown;

  struct gi_dict *xattrs; /* a value is bytes; one that is not there a number; NULL: nothing is known */
  bool complete;          /* a name of the set that is not in `xattrs` is not there */
  uint32_t xattr_changes; /* under way */
  uint64_t xattr_since;   /* like `since` */
  struct md_age xattr_age;
};

struct md_inode {
  struct md_entry *entry;
};

struct md {
  struct gi_xlator *x;
  struct gi_lru lru; /* struct md_entry.item */
  struct gi_trust_order order;
  uint64_t dir_names; /* like order.names, of those that may have been names of directories */
  uint64_t epoch;     /* moves when bricks come and go, and when the options change */
  uint64_t since;     /* like that of an entry, for inodes that have none */
  struct gi_join joining;
  struct {
    struct gi_defer send;
    uint64_t turn; /* counts what makes what was sent worthless */
    bool taken;    /* all bricks know the names of the set */
  } care;
  struct gi_dict *keys;   /* the names of the set, as a request asks for them; NULL: none */
  struct gi_dict *absent; /* of all that was made here and has no more: no capability */
  struct gi_statfs statfs;
  struct md_age statfs_age;
  bool statfs_good;
  struct md_metrics m;
};

/* Of an operation that is on its way. */
struct md_fop {
  uint64_t seq; /* order.clock */
  struct md_age age;
  bool unsure;      /* changes may be under way that passed here unseen: what it brings is not kept */
  bool keys;        /* the whole set is asked for */
  bool was_readdir; /* a READDIR on its way as READDIRP */
  bool nameless;    /* it changes objects of which nobody here knows which they are, */
  bool of_dirs;     /* and they may be directories */
  unsigned nchanged;
  bool alone[MD_CHANGED_MAX];               /* when it ended: no other change of ours since it began */
  bool xattrs[MD_CHANGED_MAX];              /* the change is one of extended attributes, too */
  struct md_entry *changed[MD_CHANGED_MAX]; /* the fop holds their inodes */
  uint64_t began[MD_CHANGED_MAX];
};

static inline const struct md_options *
md_options(const struct md *md)
{
  return md->x->options;
}

/* ---- md-entry.c ---- */

void md_note(struct md *md, struct md_fop *f); /* an operation is sent: its time */
struct md_entry *md_entry_find(const struct md *md, const struct gi_inode *inode);
struct md_entry *md_entry_get(struct md *md, struct gi_inode *inode);
/* False: it may be one of the objects that lost or changed a name, and its ctime moved with it; that is accounted for now. */
bool md_entry_catch_up(struct md *md, struct md_entry *e);
void md_entry_settle(struct md *md, struct md_entry *e); /* no change is under way any more, or it has another size */
uint64_t md_timeout_ns(const struct md *md);             /* for which something is believed */
bool md_is_told(const struct md *md); /* bricks say what others change, so that what is kept does not get old */
bool md_is_fresh(const struct md *md, const struct md_age *age, bool dir);
/* Moves when a name goes, and nobody here knows whose it is, that may have been one of `e`. */
uint64_t md_names(const struct md *md, const struct md_entry *e);
void md_entry_type(struct md *md, struct md_entry *e, uint32_t mode); /* it is learnt; all names are accounted for */
/* The operation was sent after everything that makes its answer about `e` (NULL: an inode without an entry) doubtful. */
bool md_may_keep(const struct md *md, const struct md_entry *e, const struct md_fop *f);
void md_forget_attr(struct md *md, struct md_entry *e);  /* and what is on its way */
void md_forget_xattr(struct md *md, struct md_entry *e); /* likewise */
void md_gone(struct md *md, struct gi_inode *inode);     /* it is not there any more */
void md_forget_all(struct md *md);
void md_evict(void *arg, struct gi_lru_item *item);
void md_entry_free(struct md *md, struct md_entry *e);
/* Bricks say that somebody else changed it. */
void md_invalidated(struct md *md, const struct gi_invalidation *inv);

/* ---- md-care.c ---- */

void md_care_init(struct md *md);
void md_care_anew(struct md *md); /* bricks came, or the set is another one */
void md_care_finish(struct md *md);

/* ---- md-attr.c ---- */

/* Those whose reply is only looked at. */
#define MD_ASKING \
  (GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_READ) | GI_KIND(GI_FOP_READLINK) | \
   GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_READDIRP) | GI_KIND(GI_FOP_ACCESS) | GI_KIND(GI_FOP_OPENDIR) | GI_KIND(GI_FOP_LK))
enum gi_verdict md_ask(struct gi_xlator *x, struct gi_fop *fop);
enum gi_verdict md_open(struct gi_xlator *x, struct gi_fop *fop);
enum gi_verdict md_statfs(struct gi_xlator *x, struct gi_fop *fop);
enum gi_verdict md_readdir(struct gi_xlator *x, struct gi_fop *fop);
void md_answered(struct md *md, struct gi_fop *fop, struct md_fop *f);
/* These are its attributes, of which nothing of ours is under way and nothing has happened since f was sent. */
void md_keep_attr(struct md *md, struct md_entry *e, const struct gi_iatt *a, const struct md_fop *f);
/* Attributes in the reply to f: judged, and kept if they can be. Others' changes are told to who stands above. */
void md_attributes(struct md *md, struct gi_inode *inode, const struct gi_iatt *a, const struct md_fop *f);
void md_tell_foreign(struct md *md, struct md_entry *e);

/* ---- md-change.c ---- */

/* The kinds that change an object that is there, and those that change a directory. */
#define MD_OF_OBJECT \
  (GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | GI_KIND(GI_FOP_SETATTR) | GI_KIND(GI_FOP_FSETATTR) | \
   GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR) | \
   GI_KIND(GI_FOP_XATTROP) | GI_KIND(GI_FOP_FXATTROP) | GI_KIND(GI_FOP_LINK) | GI_KIND(GI_FOP_UNLINK) | \
   GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_RENAME) | GI_KIND(GI_FOP_OPEN) | GI_KIND(GI_FOP_ICREATE) | GI_KIND(GI_FOP_NAMELINK))
#define MD_OF_ENTRY \
  (GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_SYMLINK) | GI_KIND(GI_FOP_LINK) | \
   GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_RENAME) | GI_KIND(GI_FOP_NAMELINK) | GI_KIND(GI_FOP_PUT))
#define MD_CHANGING (MD_OF_OBJECT | MD_OF_ENTRY | GI_KIND(GI_FOP_COPY_FILE_RANGE))
enum gi_verdict md_change(struct gi_xlator *x, struct gi_fop *fop);
void md_changed(struct md *md, struct gi_fop *fop, struct md_fop *f);
void md_written(struct md *md, const struct gi_written *w);

/* ---- md-xattr.c ---- */

bool md_is_key(const struct md *md, const char *name); /* it belongs to the set */
void md_make_keys(struct md *md);                      /* from the options */
void md_add_keys(struct md *md, struct gi_fop *fop, struct md_fop *f);
enum gi_verdict md_getxattr(struct gi_xlator *x, struct gi_fop *fop);
void md_got_xattr(struct md *md, struct gi_fop *fop, const struct md_fop *f);
/* A reply has all of the set that the inode has. */
void md_keep_set(struct md *md, struct gi_inode *inode, const struct gi_dict *found, const struct md_fop *f);
void md_new_object(struct md *md, struct gi_inode *inode, const struct md_fop *f); /* made by us just now */
/* Everything that a request for attributes asks for beside is known: into *answer, a new dictionary, or NULL for nothing. */
bool md_know_all(const struct md *md, const struct md_entry *e, const struct gi_dict *asked, struct gi_dict **answer);
/* An operation that changes extended attributes too begins and ends. */
bool md_changes_xattrs(enum gi_fop_kind kind);
void md_xattr_change_begins(struct md *md, struct md_entry *e);
void md_xattr_change_ended(struct md *md, struct md_entry *e, const struct gi_fop *fop, bool alone);
void md_data_changed(struct md *md, struct md_entry *e); /* which takes capabilities away */

#endif
