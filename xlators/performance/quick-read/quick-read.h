/* SPDX-License-Identifier: Apache-2.0
 *
 * What performance/quick-read keeps.
 */
#ifndef QUICK_READ_H
#define QUICK_READ_H

#include "libglusterish/graph.h"
#include "libglusterish/join.h"

struct qr_options {
  uint64_t max_file_size, cache_size; /* bytes */
  uint64_t timeout;                   /* s */
  bool invalidation, by_ctime;
  bool told;        /* bricks of GlusterFS tell what others change … */
  int64_t told_for; /* … for so many seconds after the last operation on the object */
  char *priority;
};

struct qr {
  struct gi_lru lru;
  uint64_t clock;     /* counts questions, changes and locks: what came after what */
  uint64_t epoch_seq; /* what was asked for before is not kept */
  uint64_t lock_seq;  /* when a lock was last granted */
  uint64_t
      stranger_seq;   /* when a brick last told of a file that is not known here: of what a LOOKUP is about to find, perhaps */
  uint32_t joined;    /* how often it came, or came back, into a graph that was running */
  uint64_t told_from; /* gi_now: all bricks will have been told to tell by then */
  bool away;          /* it was switched off, and saw nothing of what was done meanwhile */
  struct gi_join joining;
  struct {
    uint64_t hits, misses, fetched, ahead, confirmed, unused, dropped;
  } metrics;
};

struct qr_content {
  struct gi_payload data;
  struct gi_iatt stat; /* as last seen */
};

struct qr_version {
  bool known;
  uint64_t size;
  struct gi_time mtime, ctime;
};

struct qr_inode {
  struct gi_lru_item item;    /* on the list while there is content */
  struct qr_content *content; /* NULL: there is none */
  struct qr_version seen;     /* last, that of the content if there is any; not known: something changed since */
  uint64_t seen_seq;          /* when the question was asked that they answer */
  uint64_t checked_seq;       /* when it was asked from whom the data comes whether this is the content */
  uint64_t checked_ns;
  uint64_t changed_seq; /* of the last change that we saw begin or end */
  uint32_t changes;     /* of ours under way, those among them that were answered early … */
  uint32_t early;       /* … are these: GI_EVENT_WRITTEN ends them */
  uint32_t joined;      /* qr.joined when these were counted */
  bool unsure;          /* it may have others of that sort that we have not seen: nothing is kept */
  struct gi_gfid dir;   /* where it was last looked up, until it is opened; none: it was not */
  uint8_t credit;       /* of a directory: what asking ahead is worth there */
  bool idle;            /* content came, and nobody has read it yet … */
  bool unwanted;        /* … or nobody did at all: not asked for again until somebody reads */
  bool paged;           /* it was made or written here in whole pages, which the kernel keeps: likewise */
};

struct qr_fd {
  uint64_t opened_seq;
};

struct qr_fop {
  struct qr_inode *e; /* the fop keeps it */
  uint64_t seq, asked_ns;
  bool ahead; /* LOOKUP: content was asked for */
};

static inline const struct qr_options *
qr_opts(const struct gi_xlator *x)
{
  return x->options;
}

/* qr-file.c */
/* What is known of it; where it was switched off meanwhile, corrected by what may have ended unseen. */
struct qr_inode *qr_inode_of(const struct gi_xlator *x, const struct gi_inode *inode);
void qr_evict(void *arg, struct gi_lru_item *item);
void qr_drop(struct qr *qr, struct qr_inode *e);
void qr_drop_all(struct qr *qr);
void qr_changed(struct qr *qr, struct qr_inode *e); /* by us, or by others as a brick says */
/* Before each operation: switched on in a running graph it does not know which changes are under way, nor which writes that were
 * answered early. */
void qr_come_back(struct gi_xlator *x);

/* The operation asks for attributes, at least, of what is known as `e` (NULL: it is not known of what). */
struct qr_fop *qr_ask(struct gi_xlator *x, struct gi_fop *fop, struct qr_inode *e);
uint64_t qr_size_wanted(const struct gi_xlator *x, const struct qr_inode *e); /* of content, bytes at most */
void qr_ask_for_content(struct gi_fop *fop, uint64_t max, const struct qr_inode *e);
/* Attributes that were asked for. Those that do not come with data may be a cache's: they can tell that something changed, but not that
 * nothing did. False: they are not news. */
bool qr_learn(struct gi_xlator *x, struct qr_inode *e, const struct qr_fop *f, const struct gi_iatt *a, bool with_data);
void qr_take_content(struct gi_xlator *x, struct gi_fop *fop,
                     struct qr_fop *f); /* the answer to an OPEN, or a LOOKUP, that asked for it */
/* A READ of the whole file has brought it. */
void qr_take_read(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f);
bool qr_is_told_of(const struct gi_xlator *x,
                   const struct qr_inode *e); /* a brick would have told if somebody had changed it since it was asked */
bool qr_is_current(const struct gi_xlator *x, const struct qr_inode *e);

/* qr-ahead.c */
gi_fop_fn qr_lookup;
/* A LOOKUP has found what `e` is of. */
void qr_looked_up(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f, struct qr_inode *e);
void qr_opened_to_read(struct gi_xlator *x, struct qr_inode *e);

#endif
