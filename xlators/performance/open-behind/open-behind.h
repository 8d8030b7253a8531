/* SPDX-License-Identifier: Apache-2.0
 *
 * What performance/open-behind keeps.
 */
#ifndef OPEN_BEHIND_H
#define OPEN_BEHIND_H

#include "libglusterish/graph.h"

/* The kinds it looks at: those that use a descriptor of a file, those that change who may open it or whether it is found, and those
 * that tell whether that has changed. */
#define OB_KINDS \
  (GI_KIND(GI_FOP_OPEN) | GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_READ) | \
   GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_FLUSH) | GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FSTAT) | \
   GI_KIND(GI_FOP_LK) | GI_KIND(GI_FOP_FINODELK) | GI_KIND(GI_FOP_FENTRYLK) | GI_KIND(GI_FOP_FXATTROP) | \
   GI_KIND(GI_FOP_FGETXATTR) | GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR) | GI_KIND(GI_FOP_RCHECKSUM) | \
   GI_KIND(GI_FOP_FSETATTR) | GI_KIND(GI_FOP_FALLOCATE) | GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | \
   GI_KIND(GI_FOP_SEEK) | GI_KIND(GI_FOP_COPY_FILE_RANGE) | GI_KIND(GI_FOP_LEASE) | GI_KIND(GI_FOP_GETACTIVELK) | \
   GI_KIND(GI_FOP_SETACTIVELK) | GI_KIND(GI_FOP_SETATTR) | GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR) | \
   GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RENAME))

struct ob_options {
  bool lazy, read_after_open, anonymous, pass_through;
  bool told;        /* bricks of GlusterFS tell what others change */
  int64_t told_for; /* s after the last operation on the object */
  uint64_t timeout; /* s */
};

struct ob {
  struct gi_xlator *x;
  uint64_t epoch;         /* bricks that come or go begin another one: nobody is known to be let in */
  uint64_t clock;         /* counts doubts: what came after what */
  uint64_t strangers;     /* the clock when a brick last told of a file that is not known here */
  struct gi_list delayed; /* struct ob_fd.link */
  struct gi_list sent;    /* likewise */
  uint64_t told_from_ns;  /* gi_now: all bricks will have been told to tell by then */
  unsigned barriers;      /* operations that come after opens and wait for them */
  unsigned syncs;         /* fsyncs under way that need no open */
  struct gi_defer tell_drained;
  void (*drained)(struct gi_xlator *x); /* NULL: nobody waits for that */
  struct {
    uint64_t early, sent, unsent, failed, unopened_syncs, waiting;
  } metrics;
};

/* When a question was sent: its answer proves nothing of a file of which something was doubted since, nor in another epoch. */
struct ob_moment {
  uint64_t clock, epoch, asked_ns;
};

struct ob_who {
  uint32_t uid, gid;
  uint64_t groups; /* a hash of the list */
};

struct ob_inode {
  uint64_t doubted; /* the clock when something last came that may change who may open it */
  uint32_t changes; /* of that sort, under way */
  struct ob_who who;
  unsigned rights; /* OB_MAY_*: what the bricks let `who` do … */
  uint64_t epoch;  /* … in this epoch … */
  uint64_t until_ns;
  uint64_t looked; /* the clock when the attributes below last became others */
  bool anchored;   /* the attributes below are from before it was let in: seen again they prove that it still would be */
  bool seen;
  uint32_t writes; /* of this mount that the bricks do not have yet: they may fail, which is told to every descriptor … */
  uint32_t early;  /* … those among them that were answered: GI_EVENT_WRITTEN ends them */
  bool locked;     /* likewise: posix locks were asked for */
  struct gi_time ctime;
  uint32_t mode, uid, gid;
};

enum ob_state {
  OB_REAL,    /* opened by the layers below, or not by anybody: nothing of ours */
  OB_DELAYED, /* answered, not sent */
  OB_SENT,    /* answered, the bricks' answer is awaited */
  OB_FAILED,  /* answered, and then they refused */
};

struct ob_request {
  struct gi_caller caller; /* without groups */
  uint32_t *groups;
  uint32_t flags;
  struct gi_dict *xdata;
  struct ob_moment sent_at;
};

struct ob_fd {
  enum ob_state state;
  int err;                /* FAILED: errno of the open */
  struct gi_fd *fd;       /* this one */
  struct gi_list link;    /* DELAYED, SENT */
  struct gi_list waiting; /* SENT: struct gi_fop.link */
  struct ob_request request;
};

struct ob_fop {
  struct ob_moment then;
  struct ob_inode *changed; /* the fop keeps it */
  bool barrier;             /* counted in ob.barriers */
  bool waits;               /* for an open, on its list */
};

static inline const struct ob_options *
ob_opts(const struct gi_xlator *x)
{
  return x->options;
}

static inline struct ob_fd *
ob_fd(const struct gi_xlator *x, const struct gi_fd *fd)
{
  return gi_fd_private(fd, x);
}

/* open-behind.c */
/* What uses the descriptor: GI_PASS if it is open on the bricks. */
enum gi_verdict ob_need(struct gi_xlator *x, struct gi_fd *fd, struct gi_fop *fop);
void ob_look_if_drained(struct ob *ob);

/* unopened.c */
gi_fop_fn ob_flush, ob_fsync;

/* rights.c */
struct ob_moment ob_moment_now(const struct gi_xlator *x);
void ob_doubt(struct gi_xlator *x, struct ob_inode *i); /* who may open it, or whether it is found, may have changed */
/* The bricks let `c` open it with these flags, and judged that after the moment `then`. */
void ob_let_in(struct gi_xlator *x, struct ob_inode *i, const struct ob_moment *then, const struct gi_caller *c,
               uint32_t flags);
bool ob_was_let_in(const struct gi_xlator *x, const struct ob_inode *i, const struct gi_caller *c, uint32_t flags);
/* Attributes passed by that were asked for at `asked_ns`, gi_now. */
void ob_seen(struct gi_xlator *x, struct ob_inode *i, const struct gi_iatt *a, uint64_t asked_ns);
/* A brick told with the answer to a lookup that was sent at the moment `then`, whose attributes were just seen, that the caller may read it. */
void ob_found_readable(struct gi_xlator *x, struct ob_inode *i, const struct ob_moment *then, const struct gi_caller *c);
/* Its reply is in, and a success. */
void ob_created(struct gi_xlator *x, const struct gi_fop *fop, const struct ob_moment *then, struct ob_inode *i);

#endif
