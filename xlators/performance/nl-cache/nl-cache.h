/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/nl-cache, inside.
 *
 *   nl-cache.c  the class, and the way of operations
 *   nl-dir.c    what is known of one directory: when it is true, when it goes
 *   nl-list.c   directories of which all names are known
 *   nl-names.c  a set of names
 */
#ifndef NL_CACHE_H
#define NL_CACHE_H

#include "libglusterish/graph.h"
#include "libglusterish/join.h"
#include "xlators/performance/nl-cache/nl-names.h"

#define NL_UNTOLD_S 1u /* names are believed for no longer if no brick tells of changes */

struct nl_options {
  uint64_t limit;   /* bytes */
  uint64_t timeout; /* s */
  bool cache_invalidation, positive, pass_through;
};

struct nl_metrics {
  uint64_t hits, misses, real_hits, listed, foreign, dropped;
};

/* The names known of one directory. It may be given up at any time. */
struct nl_dir {
  struct gi_lru_item item;
  struct gi_inode *inode; /* whose it is; not referenced: this goes first */
  uint64_t epoch;
  struct nl_names names;
  bool complete;  /* it was: a name that is not among them is not there … */
  bool listed;    /* … as a listing said, which does not show all that begin with a dot … */
  uint64_t asked; /* … and this is when that was asked for */
  bool versioned; /* the times are those that the directory has if nobody else changes it */
  struct gi_time mtime, ctime;
};

/* Of every inode, as it may be a directory that changes. */
struct nl_inode {
  struct nl_dir *dir;
  uint64_t since;   /* what was asked for before nl.clock was that is not kept */
  uint32_t changes; /* of its entries, by us, under way */
};

/* Of an open directory that is being listed from its beginning. */
struct nl_fd {
  bool reading;
  uint64_t *offs; /* of the last reply's entries: where to go on from, as not all of them need be used */
  uint32_t noffs;
  uint64_t seq, epoch, asked;
  struct nl_names names;
};

struct nl {
  struct gi_xlator *x;
  struct gi_lru lru; /* struct nl_dir.item */
  uint64_t clock;    /* counts beginnings and ends of changes, and invalidations */
  uint64_t unknown;  /* nl.clock when something was last told of what is not known here: perhaps of what we are making */
  uint64_t epoch;    /* moves when bricks come and go, and when a lock is granted */
  struct gi_join joining;
  struct nl_metrics m;
};

struct nl_fop {
  uint64_t seq, epoch, asked;
  bool unsure; /* changes may be under way that passed here unseen: what it brings is not kept */
  unsigned nchanged;
  struct gi_inode *changed[2]; /* directories; the fop holds them */
  uint64_t began[2];
};

static inline const struct nl_options *
nl_options(const struct nl *nl)
{
  return nl->x->options;
}

static inline struct nl_inode *
nl_inode_of(const struct nl *nl, const struct gi_inode *inode)
{
  return gi_inode_private(inode, nl->x);
}

/* ---- nl-dir.c ---- */

void nl_note(struct nl *nl, struct nl_fop *f); /* an operation is sent */
bool nl_is_recent(const struct nl *nl, uint64_t asked);
bool nl_may_keep(const struct nl *nl, const struct gi_inode *dir, const struct nl_fop *f);
struct nl_dir *nl_dir_find(struct nl *nl, const struct gi_inode *inode); /* NULL: nothing is known */
struct nl_dir *nl_dir_get(struct nl *nl, struct gi_inode *inode);
void nl_dir_grew(struct nl *nl, struct nl_dir *d); /* its names were changed: it may be given up now */
void nl_dir_drop(struct nl *nl, struct nl_dir *d);
void nl_forget(struct nl *nl, struct gi_inode *inode); /* and what is on its way */
/* Somebody else made or removed these (NULL: no name), and nothing else, in the directory. */
void nl_names_told(struct nl *nl, struct gi_inode *dir, const char *const names[2]);
void nl_forget_all(struct nl *nl);
void nl_evict(void *arg, struct gi_lru_item *item);
bool nl_knows_absent(struct nl *nl, struct gi_inode *dir, const char *name);
/* The directory has these attributes, says the reply to f. Names go if somebody else has changed it. */
void nl_see(struct nl *nl, struct gi_inode *dir, const struct gi_iatt *a, const struct nl_fop *f);
/* All bricks were asked for the directory, and tell from then on: what was known of all its names then holds for as long again. */
void nl_asked_again(struct nl *nl, struct gi_inode *dir, const struct nl_fop *f);
/* A change of ours found and left the directory so (NULL: it is not told). */
void nl_change_ended(struct nl *nl, struct gi_inode *dir, uint64_t began, const struct gi_iatt *found,
                     const struct gi_iatt *left);
/* Of this name nothing is known any more. */
void nl_name_forget(struct nl *nl, struct gi_inode *dir, const char *name);
/* It is there, or not, since a change of ours just ended: where all names are known, they stay all. */
void nl_name_became(struct nl *nl, struct gi_inode *dir, const char *name, bool there);
/* A listing shows it. */
void nl_name_listed(struct nl *nl, struct gi_inode *dir, const char *name);
void nl_not_complete(struct nl *nl, struct gi_inode *dir);

/* ---- nl-list.c ---- */

enum gi_verdict nl_readdir(struct gi_xlator *x, struct gi_fop *fop);
void nl_listed(struct nl *nl, struct gi_fop *fop, const struct nl_fop *f);
void nl_fd_stop(struct nl_fd *fd);
void nl_made_directory(struct nl *nl, struct gi_fop *fop, const struct nl_fop *f); /* MKDIR succeeded */
enum gi_verdict nl_getxattr(struct gi_xlator *x, struct gi_fop *fop);

#endif
