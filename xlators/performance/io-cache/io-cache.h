/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/io-cache: what its files share.
 *
 * Data is kept in blocks of 4 KiB, by reference into the buffers in which it was received or written; 32 of them make a page, the
 * unit of eviction. A file's object exists while it has pages or something of it is under way. Everything belongs to the reactor.
 */
#ifndef IO_CACHE_H
#define IO_CACHE_H

#include "libglusterish/graph.h"
#include "libglusterish/hold.h"
#include "libglusterish/join.h"
#include "libglusterish/trust.h"

#define IOC_BLOCK 4096u
#define IOC_PAGE_BLOCKS 32u
#define IOC_PAGE (IOC_BLOCK * IOC_PAGE_BLOCKS)
#define IOC_RANKS 16u /* priorities 0 … 15; of rank 0 nothing is kept */
#define IOC_DEFAULT_RANK 1u
#define IOC_UNKNOWN UINT64_MAX /* as an end of file */

struct ioc_options {
  uint64_t cache_size, timeout, min_size, max_size; /* bytes, s */
  char *priority;
  bool pass_through;
};

/* When something was true: not before it was asked for. */
struct ioc_stamp {
  uint64_t ns;  /* gi_now */
  uint64_t seq; /* struct ioc.tick */
  bool proven; /* the file's version was known before: attributes that tell of no foreign change tell that this is still true */
};

struct ioc_page {
  struct gi_list order;  /* ioc_store.rank[] */
  struct gi_list link;   /* ioc_file.pages */
  struct ioc_page *next; /* in the hash */
  struct ioc_file *file;
  uint64_t index;
  struct ioc_stamp stamp; /* the oldest of its blocks, except that … */
  uint32_t have, proven;  /* … each is proven for itself */
  bool compact;           /* pins little beyond what it holds */
  struct {
    struct gi_buf *buf; /* referenced; NULL: static zeroes */
    const uint8_t *data;
  } block[IOC_PAGE_BLOCKS];
};

struct ioc_store {
  struct gi_list rank[IOC_RANKS]; /* struct ioc_page.order, oldest first */
  struct ioc_page **bucket;
  uint32_t nbuckets, count; /* a power of two; pages */
  uint64_t cost, limit;     /* bytes */
  uint64_t evicted;         /* pages */
  struct gi_budget_user user;
  void (*emptied)(void *arg, struct ioc_file *file); /* its last page was evicted */
  void *arg;
};

struct ioc_file {
  struct gi_inode *inode; /* borrowed */
  struct gi_list pages;
  uint8_t rank;
  unsigned busy;                 /* operations that refer to it */
  struct gi_list reads, changes; /* struct ioc_fop.link: on their way below */
  struct gi_list checkers;       /* struct gi_fop.link: READs that wait for the FSTAT under way */
  uint64_t checking;             /* ioc.tick of the FSTAT under way; 0: there is none */
  unsigned resizing;             /* changes under way that may move the end of the file … */
  uint64_t resized;              /* … counted when they begin and end */
  uint64_t epoch;                /* moves when all was dropped: what was asked for before is not kept */
  uint64_t eof;                  /* or IOC_UNKNOWN. The block that it cuts is kept only while it is known. */
  struct ioc_stamp eof_stamp;
  struct ioc_stamp checked; /* nobody else had changed it */
  uint64_t barrier;         /* tick: what was asked for before must be checked */
  struct gi_iatt stat;      /* true as long as nothing of ours begins or ends after … */
  uint64_t stat_seq;        /* … this order.clock; mode 0: none */
  struct gi_trust trust;
};

struct ioc_inode {
  struct ioc_file *file; /* NULL: none */
  uint8_t rank;          /* 1 + priority of its name; 0: no name was seen */
};

struct ioc {
  struct ioc_store store;
  struct gi_trust_order order;
  uint64_t tick;    /* counts what is asked for, and barriers */
  uint64_t barrier; /* of all files */
  uint64_t epoch;   /* moves when everything was dropped */
  uint64_t files;
  struct gi_join joining;
  struct gi_hold hold;    /* READs that wait for another's READ or for an FSTAT */
  struct ioc_rule *rules; /* priorities by name; owned */
  unsigned nrules;
  struct {
    uint64_t hits, misses, shared, checks, dropped, foreign, kept_writes;
  } metrics;
};

enum ioc_role {
  IOC_NOTHING,
  IOC_READS,    /* a READ below */
  IOC_CHANGES,  /* one that says what it found and left */
  IOC_LOOKS,    /* its reply tells the attributes */
  IOC_TOUCHES,  /* moves the ctime */
  IOC_REPLACES, /* nobody knows what it leaves */
  IOC_LOCKS,
};

struct ioc_fop {
  struct gi_held held;
  struct gi_list link;      /* ioc_file.reads or changes */
  struct gi_list followers; /* struct gi_fop.link: READs that wait for this one */
  struct ioc_file *file;
  uint64_t start, end; /* bytes */
  struct ioc_stamp stamp;
  uint64_t epoch, all_epoch, resized, seq; /* of the file, of all, and order.clock when it was passed on */
  uint8_t role;                            /* enum ioc_role */
  bool spoiled;                            /* something else that overlaps was under way at the same time */
  bool resizes;
  bool sees_end; /* nothing under way moved the end of the file when it began */
  bool followed;
  uint64_t asked; /* READ: ioc.tick of the FSTAT that it waited for; 0: it has not */
};

/* ---- pages (ioc-pages.c) ---- */

void ioc_store_init(struct ioc_store *s, struct gi_xlator *x, void (*emptied)(void *arg, struct ioc_file *file), void *arg);
void ioc_store_finish(struct ioc_store *s);                    /* it must be empty */
void ioc_store_set_limit(struct ioc_store *s, uint64_t limit); /* bytes */
void ioc_page_drop(struct ioc_store *s, struct ioc_page *p);
struct ioc_page *ioc_page_find(const struct ioc_store *s, const struct ioc_file *file, uint64_t index);
/* Keeps the whole blocks of `data`, which begins at `offset`, and the one that the end of the file cuts. A page first loses the blocks
 * that `old` names. The file must be busy. */
void ioc_keep(struct ioc_store *s, struct ioc_file *file, uint64_t offset, const struct gi_payload *data,
              const struct ioc_stamp *stamp, uint32_t (*old)(const void *arg, const struct ioc_page *p), const void *arg);
/* Drops every block that has a byte in [start, end). */
void ioc_drop(struct ioc_store *s, struct ioc_file *file, uint64_t start, uint64_t end);
/* Appends [start, end), which must all be there, to `out` by reference; the pages become the newest. */
void ioc_gather(struct ioc_store *s, struct ioc_file *file, uint64_t start, uint64_t end, struct gi_payload *out);

/* ---- files (ioc-file.c) ---- */

struct ioc_file *ioc_file_known(const struct gi_xlator *x, const struct gi_inode *inode); /* NULL: none */
struct ioc_file *ioc_file_get(struct gi_xlator *x, struct gi_inode *inode);
void ioc_file_settle(struct gi_xlator *x, struct ioc_file *file); /* frees it if it holds nothing and nothing refers to it */
void ioc_file_forget(struct gi_xlator *x, struct ioc_file *file); /* its data, and what is on its way */
void ioc_forget_all(struct gi_xlator *x);
void ioc_set_eof(struct gi_xlator *x, struct ioc_file *file, uint64_t eof, const struct ioc_stamp *stamp);
struct ioc_stamp ioc_stamp_now(struct gi_xlator *x, const struct ioc_file *file);
/* May it be served at `now` (gi_now)? What was asked for at `since` (ioc.tick) or later may at any age. */
bool ioc_is_fresh(const struct gi_xlator *x, const struct ioc_file *file, const struct ioc_stamp *s, uint64_t now,
                  uint64_t since);
uint32_t ioc_fresh_blocks(const struct gi_xlator *x, const struct ioc_page *p, uint64_t now, uint64_t since); /* likewise */
bool ioc_size_suits(const struct gi_xlator *x, uint64_t size);
/* Attributes of a real reply, asked for when order.clock said `seq`. */
void ioc_attributes(struct gi_xlator *x, struct ioc_file *file, const struct gi_iatt *a, uint64_t seq,
                    const struct ioc_stamp *stamp);
/* The attributes that a reply from memory may carry; NULL: none are known for sure. */
const struct gi_iatt *ioc_file_stat(const struct ioc_file *file);
void ioc_read_begins(struct gi_xlator *x, struct ioc_file *file, struct gi_fop *fop);
void ioc_read_ended(struct gi_xlator *x, struct gi_fop *fop);
/* The file's data changes in [start, end). */
void ioc_change_begins(struct gi_xlator *x, struct ioc_file *file, struct gi_fop *fop);
void ioc_change_ended(struct gi_xlator *x, struct gi_fop *fop);
void ioc_written(struct gi_xlator *x, const struct gi_written *w);

/* ---- priorities by name (ioc-priority.c) ---- */

struct ioc_rule {
  char *pattern;
  uint8_t rank;
};

/* "PATTERN:N,PATTERN:N": -1 and err if it is not that. */
GI_MUST_CHECK int ioc_rules_parse(const char *text, struct ioc_rule **rules, unsigned *n, struct gi_error *err);
void ioc_rules_free(struct ioc_rule **rules, unsigned *n);
uint8_t ioc_rank_of(const struct ioc *c, const char *name);

#endif
