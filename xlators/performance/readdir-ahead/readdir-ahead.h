/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/readdir-ahead: open directories and the pieces of their listings.
 */
#ifndef READDIR_AHEAD_H
#define READDIR_AHEAD_H

#include "libglusterish/graph.h"
#include "libglusterish/hold.h"
#include "libglusterish/join.h"

#define RDA_ENTRY 200u                     /* bytes that a brick reckons for an entry (wire.md 3.10) */
#define RDA_FRESH GI_NSEC_PER_SEC          /* attributes of an entry are good for so long */
#define RDA_MAX_AGE (10 * GI_NSEC_PER_SEC) /* and its name */

struct rda_options {
  uint64_t request_size, low, high, limit; /* bytes */
  bool parallel, pass_through;
};

/* A READDIR(P) of ours: on its way, or its reply, which it keeps in the operation. */
struct rda_piece {
  struct gi_lru_item item; /* on the list while the reply is here */
  struct gi_list link;     /* rda_fd.pieces, in order */
  struct gi_xlator *x;
  struct rda_fd *rf;  /* NULL: it was given up, its reply is of no use */
  struct gi_fop *fop; /* NULL: on its way */
  uint64_t start;     /* cookie after which it begins */
  uint64_t sent_ns;
  uint64_t tick;          /* rda.tick when it was asked for */
  uint32_t used;          /* entries given to the reader */
  bool end;               /* of the directory */
  struct gi_list waiters; /* struct gi_fop.link */
};

/* Of an open directory. The pieces follow each other; only the last one may be on its way. */
struct rda_fd {
  struct gi_list link; /* rda.fds */
  struct gi_xlator *x;
  struct gi_fd *fd; /* borrowed */
  struct gi_list pieces;
  enum gi_fop_kind kind; /* of the reader's requests … */
  struct gi_dict *xdata; /* … and what they ask for; owned reference */
  struct gi_caller caller;
  bool sequential;       /* its reader went on where it had been */
  bool filling;          /* from the low water mark until the high one */
  struct gi_time mtime;  /* of the directory, as last seen; sec 0: not yet */
  struct gi_defer go_on; /* holds a reference on the descriptor while queued */
};

struct rda_inode {
  uint64_t tick;           /* when a change of it last began or ended */
  uint32_t changes, early; /* under way below; answered and not on the bricks */
};

struct rda {
  struct gi_lru lru;
  struct gi_list fds;
  struct gi_hold hold;      /* requests that wait for a piece */
  uint64_t tick, forgotten; /* the latest of an inode that was forgotten */
  struct gi_join joining;
  struct {
    uint64_t hits, waits, passed, pieces, unused, bare;
  } metrics;
};

struct rda_fop {
  struct gi_held held;
  bool past;                   /* `past`: it goes down whatever is there */
  int32_t err;                 /* of what it waited for */
  struct gi_inode *changes[4]; /* referenced: objects and directories that it changes */
};

struct rda_fd *rda_fd_known(const struct gi_xlator *x, const struct gi_fd *fd); /* NULL: none */
struct rda_fd *rda_fd_get(struct gi_xlator *x, struct gi_fd *fd);
void rda_fd_free(struct rda_fd *rf);
/* Gives up all that was read ahead; requests that wait for it go down by themselves. */
void rda_fd_forget(struct rda_fd *rf);
void rda_dir_forget(struct gi_xlator *x, struct gi_inode *dir);
void rda_forget_all(struct gi_xlator *x);
/* Where the entries after `cookie` are: a piece and the entry in it, which may be behind its last one. NULL: nowhere. */
struct rda_piece *rda_find(struct rda_fd *rf, uint64_t cookie, uint32_t *entry);
/* Asks for entries after `cookie`, for `waiter`, which waits then, if that is not NULL. */
void rda_ask(struct rda_fd *rf, uint64_t cookie, uint64_t size, struct gi_fop *waiter);
void rda_go_on(struct rda_fd *rf); /* fills up between the water marks, after the present handler */
void rda_piece_drop(struct rda_piece *p);
void rda_evict(void *arg, struct gi_lru_item *item);
bool rda_may_keep(const struct gi_xlator *x, const struct gi_inode *dir);

#endif
