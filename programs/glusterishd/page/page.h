/* SPDX-License-Identifier: Apache-2.0
 *
 * The page: what this node knows of its volumes, shown by the daemon's
 * observation socket to a browser. Read only. The processes of the node are
 * asked in the background, never while somebody waits for an answer.
 *
 *   page.c       what is shown where
 *   files.c      the files of page/, which are part of the program
 *   json.c       the documents that the page asks for
 *   gather.c     asks processes, disks and self-heal daemons, and keeps the last answers
 *   history.c    operations and latencies of the last minutes
 */
#ifndef GD_PAGE_H
#define GD_PAGE_H

#include "programs/common/samples.h"
#include "programs/glusterishd/glusterishd.h"

#include <jansson.h>

struct gi_observe;

/* ---- history.c ---- */

#define GD_HISTORY_NS (2 * GI_NSEC_PER_SEC) /* between two points */
#define GD_HISTORY_ROOM 300                 /* points that are kept */
#define GD_HISTORY_SERIES 256               /* most series at a time; operations of others are not kept */
#define GD_HISTORY_ALL "ALL"                /* the kind that is all of them together */

struct gd_history;

struct gd_history *gd_history_new(void);
void gd_history_free(struct gd_history **h); /* NULL is fine */
/* Operations of one process since its last report go to the point that is being made. role: "client" or "brick". The samples may be
 * none; each of them is rounded by whoever measured. */
void gd_history_add(struct gd_history *h, const char *volume, const char *role, const char *kind, uint64_t count,
                    uint64_t errors, const struct prog_sample *samples, size_t n);
/* The same from two answers to /layers?top=1, an earlier one of the same process and the one now: what was done in between. */
void gd_history_compare(struct gd_history *h, const char *volume, const char *role, const json_t *before, const json_t *now);
void gd_history_tick(struct gd_history *h); /* the point is complete */
/* {"interval_s","room","from","next","series":[{"volume","role","kind","count":[…],"errors":[…],"p50":[…],"p99":[…]}]}: points `from` up to
 * `next`, not earlier than `since` if that is one of those kept; quantiles in ns, null where nothing was done. */
json_t *gd_history_json(const struct gd_history *h, uint64_t since);

/* ---- gather.c ---- */

/* an observed process of this node */
enum gd_answer { GD_ANSWER_LAYERS, GD_ANSWER_INFLIGHT, GD_ANSWER_SLOW, GD_ANSWER_ERRORS, GD_ANSWER_CLIENTS, GD_ANSWERS };
struct gd_seen {
  struct gi_list link; /* gd_gather.seen */
  char *socket;
  char *role, *volume; /* volume "" where there is none */
  long pid;
  json_t *about;              /* its /process; never NULL */
  json_t *answer[GD_ANSWERS]; /* the last ones; NULL: none yet */
  bool answers;               /* the last question was answered */
  bool listed, asking;
  uint64_t silent_since, ask_again; /* while it does not answer */
};

/* the disk of a brick */
struct gd_disk {
  struct gi_list link; /* gd_gather.disks */
  char *path;
  bool known, asking;
  uint64_t total, free, inodes, inodes_free;
};

/* what the self-heal daemon of a volume last told */
struct gd_heal {
  struct gi_list link; /* gd_gather.heals */
  char *volume;
  bool asking, answered;
  struct gi_dict *facts; /* NULL: none yet */
};

#define GATHER_MAGIC 0x1d09a7e4u

struct gd_gather {
  uint32_t magic;
  struct gd *gd; /* NULL once the daemon ends */
  struct gi_timer timer;
  struct gi_list seen, disks, heals;
  struct gd_history *history;
  unsigned round, works; /* works: under way */
  bool listing, always;
  uint64_t until; /* asks until then */
};

/* always: from the start on. Otherwise from the first gd_gather_wanted. */
struct gd_gather *gd_gather_new(struct gd *gd, bool always);
void gd_gather_free(struct gd_gather **g);  /* works under way end by themselves; NULL is fine */
void gd_gather_wanted(struct gd_gather *g); /* somebody looks at the page */

const struct gd_disk *gd_gather_disk(const struct gd_gather *g, const char *path);   /* NULL: not known */
const struct gd_heal *gd_gather_heal(const struct gd_gather *g, const char *volume); /* NULL: not asked */

/* ---- json.c ---- */

json_t *gd_page_volumes(const struct gd_gather *g);               /* volumes, bricks, disks, heals */
json_t *gd_page_processes(const struct gd_gather *g);             /* and the clients of bricks */
json_t *gd_page_operations(const struct gd_gather *g);            /* in flight, and the slowest */
json_t *gd_page_trace(const struct gd_gather *g, const char *id); /* {"operation"} with its tree; NULL: not known any more */
json_t *gd_page_errors(const struct gd_gather *g);

/* ---- files.c ---- */

struct gd_page_file {
  const char *path, *type; /* "/page.css", "text/css" */
  const char *text, *end;  /* `end`: behind the last byte */
};
extern const struct gd_page_file gd_page_files[]; /* ends with one without a path */

/* ---- page.c ---- */

void gd_page_add(struct gi_observe *o, struct gd_gather *g); /* NULL is fine */

#endif
