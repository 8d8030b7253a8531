/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/read-ahead: descriptors and the pages read ahead for them.
 */
#ifndef READ_AHEAD_H
#define READ_AHEAD_H

#include "libglusterish/graph.h"
#include "libglusterish/hold.h"
#include "libglusterish/join.h"

#define RA_MAX_AGE GI_NSEC_PER_SEC /* what was read ahead is not served later */

struct ra_options {
  int64_t page_count;
  uint64_t page_size; /* bytes */
  bool force_atime, pass_through;
};

/* A READ of ours: on its way, or its reply. */
struct ra_page {
  struct gi_lru_item item; /* on the list while the reply is here */
  struct gi_list link;     /* ra_fd.pages, by offset */
  struct gi_xlator *x;
  struct ra_fd *rf; /* NULL: it was given up, its reply is of no use */
  uint64_t offset, size, sent_ns;
  bool arrived, last; /* `last`: the file ends in it */
  struct gi_payload data;
  struct gi_iatt stat;
  struct gi_list waiters; /* struct gi_fop.link */
};

/* Of a descriptor that was read through. */
struct ra_fd {
  struct gi_list link; /* ra.fds */
  struct gi_xlator *x;
  struct gi_fd *fd;     /* borrowed */
  struct gi_list pages; /* contiguous, but for those that memory was taken from */
  uint64_t next;        /* where a sequential reader goes on; UINT64_MAX: nothing was read */
  uint64_t end;         /* of the file, as far as a reply told; UINT64_MAX: unknown */
  uint64_t asked_to;    /* end of what was asked for ahead */
  uint64_t size;        /* of the reader's last READ */
  unsigned window;      /* pages */
  uint32_t flags;       /* of the reader's last READ */
  struct gi_caller caller;
  struct gi_defer go_on; /* holds a reference on the descriptor while queued */
};

struct ra_inode {
  uint32_t changes; /* under way */
  uint32_t early;   /* answered and not on the bricks */
};

struct ra {
  struct gi_lru lru;
  struct gi_list fds;
  struct gi_hold hold; /* READs that wait for a page */
  struct gi_join joining;
  struct {
    uint64_t hits, waits, misses, pages, unused;
  } metrics;
};

struct ra_fop {
  struct gi_held held;
  bool past;                   /* `past`: it goes down whatever is there */
  struct gi_inode *changes[2]; /* referenced: what it changes */
};

struct ra_fd *ra_fd_known(const struct gi_xlator *x, const struct gi_fd *fd); /* NULL: none */
struct ra_fd *ra_fd_get(struct gi_xlator *x, struct gi_fd *fd);
void ra_fd_free(struct ra_fd *rf); /* when the descriptor goes */
/* Gives up all that was read ahead; READs that wait for it go down by themselves. */
void ra_fd_forget(struct ra_fd *rf);
void ra_inode_forget(struct gi_xlator *x, struct gi_inode *inode);
void ra_forget_all(struct gi_xlator *x);
void ra_page_drop(struct ra_page *p);
struct ra_page *ra_page_at(struct ra_fd *rf, uint64_t offset); /* that has the byte, or would; NULL: none */
void ra_go_on(struct ra_fd *rf); /* asks for what the window has room for, after the present handler */
void ra_evict(void *arg, struct gi_lru_item *item);

#endif
