/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind: what its files share.
 *
 * A wb_write is one message to come: bytes of one or several WRITEs that lie one
 * behind the other. A wb_op is any other operation, or a WRITE that is not
 * admitted yet. A wb_file has the writes of an inode in a tree by range, and
 * what is known of its attributes.
 */
#ifndef WRITE_BEHIND_H
#define WRITE_BEHIND_H

#include "libglusterish/graph.h"

#define WB_END UINT64_MAX /* as the end of a range: that of the file, wherever it is */
#define WB_WRITE_MAGIC 0x1d0eb001u
#define WB_FILE_MAGIC 0x1d0eb002u

#define WB_KNOWN_NS GI_NSEC_PER_SEC         /* attributes of a file at rest are good for an early answer for so long */
#define WB_FRESH_NS (50 * GI_NSEC_PER_MSEC) /* those of one that is being written answer a STAT */
#define WB_SETTLE_NS GI_NSEC_PER_SEC        /* after it was off: what went past it is on the bricks */
#define WB_GATHER_NS \
  (10 * GI_NSEC_PER_MSEC) /* for so long after a message bytes wait for more of them, if nobody waits for them */
#define WB_OVERDUE_NS (100 * GI_NSEC_PER_MSEC) /* … and no longer than this, though other messages of the file are under way */
#define WB_SYNC_NS (50 * GI_NSEC_PER_MSEC)     /* … and for so long for an fsync, if one followed those before */
#define WB_LINGER_NS GI_NSEC_PER_SEC           /* without trickling: bytes wait for more of them for so long */
#define WB_SLOW_NS GI_NSEC_PER_SEC             /* a file is slow whose oldest write is not done after it */
#define WB_ALONE 64                            /* see wb.alone */
#define WB_STREAMS 4                           /* messages of a file that gather at a time */
#define WB_MEMORY (256ull << 20)               /* most dirty bytes of all files of a process without memory limit */

struct wb_options {
  uint64_t window, aggregate; /* bytes */
  bool flush_behind, trickling, strict_direct, strict_order, resync, pass_through;
};

struct wb_metrics {
  uint64_t writes, early, merged, messages, bytes, dirty, peak;
  uint64_t waited_data, waited_window, waited_memory, waited_change;
  uint64_t synced, answered_stat, answered_read, patched, flushed_behind, short_writes, failed, kept, told, written;
};

/* bytes; `end` exclusive */
struct wb_range {
  uint64_t start, end;
};

/* Who waits: part of a wb_op or a wb_write, on the list of the write it waits for. */
struct wb_turn {
  struct gi_list link;
  bool write;
};

enum wb_state {
  WB_OPEN,   /* more bytes may join */
  WB_SEALED, /* complete: it leaves as soon as nothing is in its way */
  WB_SENT,
  WB_KEPT,  /* it failed, and is sent again with the next operation that needs it (resync-failed-syncs-after-fsync) */
  WB_ENDED, /* on the bricks or lost, not told yet: older ones are told first */
};

struct wb_file;

struct wb_write {
  uint32_t magic;
  enum wb_state state;
  struct wb_file *file;
  struct gi_inode *inode; /* referenced */
  uint64_t seq;           /* of its first WRITE */
  struct {                /* tree of the file, by start and seq */
    struct wb_write *child[2];
    uint64_t weight, max_end;
    bool in;
  } node;
  struct wb_range range;   /* what it conflicts with: from the end of the file on if it begins beyond */
  struct gi_list order;    /* wb_file.order, those answered early */
  struct gi_list ready;    /* wb_file.ready */
  struct wb_turn turn;     /* on the waiters of an earlier one */
  bool blocked;            /* … which it is */
  struct gi_list waiters;  /* struct wb_turn.link */
  struct gi_fop *original; /* one that is not answered early; else NULL */
  struct gi_fd *fd;        /* referenced */
  struct gi_caller caller; /* of the last one; groups are its own */
  uint32_t flags;
  uint64_t offset; /* of the first byte that is not written yet */
  struct gi_payload data;
  uint64_t drawn;    /* bytes that count as dirty */
  uint64_t cost;     /* of memory that these pin */
  uint64_t since_ns; /* gi_now of its first WRITE */
  uint32_t changes;  /* WRITEs that were answered early */
  bool paged;        /* the last one was the kernel's (args.paged) */
  uint64_t sent;     /* clock */
  uint64_t asked;    /* gi_now of its last message */
  uint64_t failed;   /* clock, KEPT */
  int err;
  uint8_t sync; /* enum gi_sync: an fsync waits for it and goes with it */
  bool synced;  /* which the bricks did */
  bool began;   /* `found` is from the first message of several */
  struct gi_iatt found, left;
};

/* Of a file that is or was written, or opened for it. */
struct wb_file {
  uint32_t magic;
  struct wb *wb;
  struct wb_write *root;             /* of the tree: all that are not ENDED */
  struct wb_write *open[WB_STREAMS]; /* those that may be joined, the last joined first; NULLs behind */
  struct gi_list order;              /* struct wb_write.order: answered early, the oldest first, until told */
  struct gi_list ready;              /* struct wb_write.ready: may leave */
  struct gi_list recheck;            /* struct wb_turn.link: what they waited for has ended */
  struct gi_list waiting;            /* struct wb_op.turn.link: WRITEs to be admitted, in order */
  struct gi_list answers;            /* struct wb_op.turn.link: WRITEs to be answered early, or with an error */
  struct gi_list flushing;           /* struct wb_op.turn.link: locks that wait for FLUSHes behind */
  struct gi_list dirty;              /* wb.dirty */
  struct gi_list kicked;             /* wb.kicked */
  struct gi_list starved;            /* wb.starved */
  struct gi_inode *kicker;           /* reference while kicked */
  struct gi_inode *inode;            /* not referenced: it owns this */
  uint64_t sent_ns;                  /* gi_now when the last of them left; 0: none has */
  uint32_t in_flight;                /* messages of its own */
  uint32_t kept;                     /* writes in that state */
  uint32_t lost;                     /* those that are WB_ENDED with an error */
  uint32_t changing;                 /* changes other than WRITEs, waiting or under way */
  uint32_t behind;                   /* FLUSHes sent after their answer */
  bool locked;                       /* a lock was granted once */
  bool syncs;                        /* an fsync followed what was last written */
  bool made;                         /* it was seen being made here */
  bool pumping;
  uint64_t bytes; /* answered early, not ended */
  /* what the attributes will be when all is written */
  struct gi_iatt now;
  uint64_t learnt;    /* clock; 0: not known */
  uint64_t learnt_ns; /* gi_now */
  uint64_t asked;     /* clock: the reply that it was learnt from was asked for then */
  uint64_t forgot;    /* clock: replies to what was asked before are not learnt from */
  uint64_t changed;   /* clock when a change other than a WRITE last ended */
  uint64_t moved;     /* clock when any change last ended */
};

struct wb_fd {
  int err;         /* no FSYNC has told it yet … */
  bool warned;     /* … but a WRITE has failed for it, … */
  bool told;       /* … and a FLUSH */
  uint64_t opened; /* clock; 0: that was not seen */
};

/* In the bytes of a fop. */
struct wb_op {
  struct wb_turn turn;
  struct gi_fop *fop;
  struct wb_file *file[2]; /* the fop keeps the inodes */
  struct wb_range range[2];
  unsigned count, at;
  uint64_t seq;
  uint64_t asked; /* clock when it went down */
  struct wb_write *write;
  bool held, counted, everywhere, takes_lock, waited;
  bool rides, synced; /* an fsync that goes with the message it waits for; and did */
  bool nameless;      /* it takes a name from an object that is not known here */
  int err;            /* to be told instead of the reply */
};

struct wb {
  struct gi_xlator *x;
  uint64_t clock;                        /* counts arrivals and ends */
  uint64_t forgot;                       /* clock: what was learnt before is not known any more */
  uint64_t resumed;                      /* clock: since then no change has gone past it */
  uint64_t early_ns;                     /* gi_now: what is learnt from then on is good for an early answer */
  unsigned alone;                        /* so many fsyncs go by themselves: one that went with a message was not done */
  bool rested;                           /* it was off, or passed all through */
  bool down;                             /* the graph ends … */
  bool pass_down;                        /* … and those below have not heard of it */
  uint64_t moved;                        /* clock when a change of any file last ended */
  uint64_t unnamed;                      /* clock when one last ended that took a name from no one knows which */
  uint64_t bytes, cost;                  /* of all files */
  uint32_t held, behind;                 /* operations; FLUSHes */
  uint32_t untold;                       /* descriptors that have to be told an error */
  struct gi_list dirty, kicked, starved; /* struct wb_file; dirty: the first that became so first */
  struct gi_defer kick;
  struct gi_timer linger;
  void (*drained)(struct gi_xlator *x);
  struct wb_metrics m;
};

static inline struct wb *
wb_of(const struct gi_xlator *x)
{
  return x->private;
}

static inline const struct wb_options *
wb_opts(const struct wb *wb)
{
  return wb->x->options;
}

/* ---- write-behind.c ---- */
struct wb_file *wb_file_of(struct wb *wb, struct gi_inode *inode, bool make); /* NULL only without `make` */
bool wb_may_hold(struct wb *wb); /* it is neither leaving the path nor passing all through */

/* ---- wb-tree.c ---- */
typedef bool wb_match_fn(const struct wb_write *w, const void *arg);
void wb_tree_add(struct wb_write **root, struct wb_write *w);
void wb_tree_remove(struct wb_write **root, struct wb_write *w);
void wb_tree_grow(struct wb_write *root, struct wb_write *w,
                  uint64_t end); /* its range ends there now, not earlier than before */
/* Any whose range overlaps and that `match` takes (NULL: any); NULL if there is none. */
struct wb_write *wb_tree_find(struct wb_write *root, struct wb_range range, wb_match_fn *match, const void *arg);
/* The end of the bytes of all; 0 if it is empty. An append has none. */
uint64_t wb_tree_end(const struct wb_write *root);

static inline bool
wb_overlap(struct wb_range a, struct wb_range b)
{
  return a.start < b.end && b.start < a.end;
}

/* ---- wb-rules.c ---- */
enum wb_way {
  WB_BARRIER,  /* waits for everything that was answered early in the files it names */
  WB_HARMLESS, /* does not depend on the data of a file */
  WB_WRITE,
  WB_RANGE, /* waits for its range */
  WB_LOOK,  /* goes down at once, unless it asks for the content; its reply is corrected */
  WB_OPENS, /* waits only if it empties the file or asks for the content */
};
extern const uint8_t wb_rules[GI_FOP_MAX];                /* enum wb_way */
bool wb_changes(const struct gi_fop *fop);                /* the file, and is no WRITE */
bool wb_wants_content(const struct gi_fop *fop);          /* its reply is to bring data of the file along … */
void wb_wants_no_content(struct gi_fop *fop);             /* … and now it is not */
bool wb_gives_up(const struct gi_fop *fop);               /* no data is kept that fails while this waits for it */
bool wb_had_locks(struct wb *wb, struct gi_inode *inode); /* or perhaps had: they were not seen while it was off the path */
/* Fills file, range, count and what else the kind says. */
void wb_op_name(struct wb *wb, struct gi_fop *fop, struct wb_op *op);

/* ---- wb-queue.c ---- */
enum gi_verdict wb_order(struct wb *wb, struct gi_fop *fop);               /* one that is no WRITE */
void wb_pump(struct wb *wb, struct wb_file *file, struct gi_inode *inode); /* does whatever can be done now */
void wb_kick(struct wb *wb, struct wb_file *file);                         /* the same, soon */
void wb_kicked(void *arg);
void wb_settle(struct wb *wb); /* who waits for the end of everything */
struct wb_question {
  uint64_t seq;   /* only earlier ones */
  bool told_only; /* only those that were answered early */
  bool patient;   /* not those that were kept since */
};
/* The write of that range which this must wait for; NULL: none. */
struct wb_write *wb_in_the_way(const struct wb_file *file, struct wb_range range, struct wb_question q);
void wb_wait_for(struct wb *wb, struct wb_write *w, struct wb_turn *turn);
void wb_release_waiters(struct wb_write *w);
bool wb_cancel(struct wb *wb, struct gi_fop *fop);
void wb_op_ended(struct wb *wb, struct gi_fop *fop); /* the reply of one that was ordered came */

/* ---- wb-write.c: from the WRITE to the message ---- */
enum gi_verdict wb_write(struct gi_xlator *x, struct gi_fop *fop);
bool wb_admit_next(struct wb *wb, struct wb_file *file); /* true: it did something */
void wb_seal(struct wb *wb, struct wb_write *w);
bool wb_seal_due(struct wb *wb, struct wb_file *file); /* a message that has gathered long enough; true: it did */
void wb_linger(void *arg);                             /* those of all files that are leave */
void wb_push(struct wb *wb, struct wb_file *file);
void wb_push_all(struct wb *wb);
void wb_unblock(struct wb *wb, struct wb_write *w);

/* ---- wb-send.c: from the message to the end ---- */
void wb_send(struct wb *wb, struct wb_write *w);
void wb_sent_original(struct wb *wb, struct gi_fop *fop);
bool wb_tell_next(struct wb *wb, struct wb_file *file); /* GI_EVENT_WRITTEN; true: it did */
void wb_resend(struct wb *wb, struct wb_write *w);      /* one that is KEPT */

/* ---- wb-sync.c ---- */
void wb_sync_asked(struct wb *wb, struct gi_fop *fop, struct wb_op *op); /* an FSYNC or FLUSH came */
void wb_sync_done(struct wb *wb, struct wb_write *w, bool synced);       /* a message has ended, and its waiters will be told */

/* ---- wb-error.c ---- */
void wb_error_spread(struct wb *wb, struct gi_inode *inode, int err);
/* The error that an operation of the descriptor is to fail with; 0: none. */
int wb_error_of_fsync(struct wb *wb, struct gi_fd *fd);
int wb_error_of_flush(struct wb *wb, struct gi_fd *fd);
int wb_error_of_write(struct wb *wb, struct gi_fd *fd);
void wb_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes);

/* ---- wb-attr.c: what is known ---- */
bool wb_known(struct wb *wb, const struct wb_file *file);
void wb_forget(struct wb *wb, struct wb_file *file); /* others may have changed it */
void wb_attr_untaught(struct wb *wb, struct wb_file *file,
                      uint64_t end); /* a WRITE of ours has, which ends there, and its reply does not say how */
void wb_forget_all(struct wb *wb);
/* A WRITE is answered early: what the attributes were and will be. */
void wb_attr_foresee(struct wb_file *file, uint64_t end, struct gi_time time, struct gi_iatt *pre, struct gi_iatt *post);
/* What the reply of a message says; false: it teaches nothing. */
bool wb_attr_written(struct wb *wb, struct wb_file *file, const struct gi_iatt *post, uint64_t sent);
/* The reply of a WRITE that was not answered early, when it has ended: the bricks may lack what was, beside it. */
void wb_attr_beside(struct wb *wb, const struct wb_file *file, uint64_t sent, struct gi_reply *rsp);
void wb_attr_reply(struct wb *wb, struct gi_fop *fop); /* of WB_LOOK and WB_RANGE: corrects it, learns from it */
void wb_attr_changed(struct wb *wb, struct gi_fop *fop, struct wb_op *op); /* of another change */
bool wb_answer_stat(struct wb *wb, struct gi_fop *fop);
bool wb_answer_read(struct wb *wb, struct gi_fop *fop, struct wb_file *file);

#endif
