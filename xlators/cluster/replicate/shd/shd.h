/* SPDX-License-Identifier: Apache-2.0
 *
 * The self-heal daemon of one replica set (replicate.md 7.9): a crawler that
 * lists what the local bricks want healed, a ready queue that holds every object
 * once, a throttle that follows from how the bricks' foreground does, and a report
 * of all that.
 *
 *   crawler ── lists indices ──► ready queue ──► heals (tasks, as many as the throttle lets)
 *      ▲  repeats while something was healed          │ every reply of a brick
 *      └────────── results, history ◄─────────────────┴──► throttle: window, parallel heals
 */
#ifndef REP_SHD_SHD_H
#define REP_SHD_SHD_H

#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/load.h"

/* ---- the ready queue (shd/queue.c) ---- */

/* One thing to heal. The key makes it unique: while an item with the same key waits or is being healed, or (until
 * rep_queue_forget) was tried in vain, it is not taken again. */
struct rep_item {
  struct gi_list link; /* ready, or tried */
  struct rep_item *next;
  struct gi_gfid key;
  struct gi_gfid gfid;
  struct gi_gfid parent; /* with `name`: this name first (full crawl) */
  char *name;
  uint8_t child, index; /* who listed it, and where (enum rep_index_dir) */
};

struct rep_queue {
  struct gi_reactor *r;
  /* On a task. True: something was healed; false: tried in vain, remembered. */
  bool (*heal)(void *arg, const struct rep_item *item);
  void *arg;
  unsigned limit;    /* most that wait; whoever wants to add more waits */
  unsigned parallel; /* most that are healed at a time */
  unsigned waiting, running;
  uint64_t progress; /* heals that achieved something */
  bool stopped;
  struct gi_list ready, tried;
  unsigned ntried;
  struct rep_item **bucket;
  unsigned nbuckets, nitems;
  struct gi_task *producer; /* waits for room or for the end: there is one */
  struct gi_defer pump;
};

void rep_queue_init(struct rep_queue *q, struct gi_reactor *r, bool (*heal)(void *arg, const struct rep_item *item), void *arg);
void rep_queue_check(const struct rep_queue *q); /* asserts that its counts agree */
void rep_queue_finish(struct rep_queue *q);      /* nothing runs any more */
/* Adds a copy of `item` (its name too), waiting for room. False: it is there already, or the queue was stopped. On a task. */
bool rep_queue_put(struct rep_queue *q, const struct rep_item *item);
void rep_queue_drain(struct rep_queue *q);  /* waits until nothing waits and nothing runs. On a task */
void rep_queue_forget(struct rep_queue *q); /* what was tried in vain may be tried again */
void rep_queue_resize(struct rep_queue *q, unsigned limit, unsigned parallel);
/* Drops what waits; what runs ends by itself. Nothing is taken until rep_queue_start. */
void rep_queue_stop(struct rep_queue *q);
void rep_queue_start(struct rep_queue *q);

/* ---- the throttle (shd/throttle.c) ---- */

#define REP_THROTTLE_BLOCK (128u << 10)
#define REP_THROTTLE_WINDOW_MAX (32u << 20) /* bytes */
#define REP_THROTTLE_PARALLEL_MAX 16        /* heals at a time while shd-max-threads is not set */

enum { REP_THROTTLE_WINDOW = 1, REP_THROTTLE_PARALLEL = 2 };

/* How much healing may be under way. A pure function of the answers: no clock, no calls. */
struct rep_throttle {
  uint64_t window;              /* bytes of payload in flight */
  unsigned parallel;            /* objects at a time */
  unsigned limit;               /* of `parallel` */
  unsigned blind;               /* objects at a time while some brick does not tell how its foreground does */
  uint32_t reporting;           /* children that tell how their foreground does */
  uint32_t silent;              /* that have answered without telling it */
  uint32_t children;            /* that are up */
  uint64_t since, answers;      /* the last decision, and answers since */
  unsigned short_of;            /* what heals waited for since then: REP_THROTTLE_* */
  uint64_t busy;                /* when a report told of operations last; 0: never */
  struct gi_load load[REP_MAX]; /* the latest report of each */
  struct gi_load worst;         /* the one that decided last */
  unsigned good;       /* windows since a cut, or one object more, in which heals were not felt and objects were short */
  uint64_t grown, cut; /* decisions so far */
};

void rep_throttle_init(struct rep_throttle *p);
void rep_throttle_limit(struct rep_throttle *p,
                        unsigned limit);                       /* objects at a time, as set by the administrator; 0: not set */
void rep_throttle_begin(struct rep_throttle *p, uint64_t now); /* heals are about to begin */
void rep_throttle_forget(struct rep_throttle *p, uint32_t children); /* a child that comes back may be of another version */
/* A child has answered a heal. `load`: its report of the foreground, NULL if it makes none. `short_of`: what heals wait for
 * (REP_THROTTLE_*). True if window or parallel changed. */
bool rep_throttle_answer(struct rep_throttle *p, unsigned child, const struct gi_load *load, unsigned short_of, uint64_t now);

/* ---- the daemon ---- */

#define REP_SHD_HISTORY 50  /* crawls remembered per brick */
#define REP_SHD_SPLITS 1024 /* objects in split brain remembered */
#define REP_SHD_RATE_S 10   /* seconds that rates are about */
#define REP_SHD_POLL_S 5    /* seconds between polls at the bricks' indices */

enum rep_index_dir { REP_INDEX_PENDING, REP_INDEX_DIRTY, REP_INDEX_CHANGES, REP_INDEX_DIRS, REP_INDEX_NONE = REP_INDEX_DIRS };

/* one entry of the history */
struct rep_crawl {
  bool full, running;
  uint64_t healed, split_brain, failed;
  struct gi_time start, end;
};

struct rep_shd_brick {
  bool asked, local;                    /* whether it is on this host */
  uint64_t pending, dirty;              /* names in its indices when last asked */
  struct gi_gfid index[REP_INDEX_DIRS]; /* their virtual directories; none: not known */
  unsigned crawls;                      /* so far; crawl[(crawls - 1) % REP_SHD_HISTORY] is the latest */
  struct rep_crawl crawl[REP_SHD_HISTORY];
};

struct rep_split {
  struct gi_list link;
  struct gi_gfid gfid;
  struct gi_time when;
  char *path; /* NULL: not known */
};

/* of the totals, taken in that second */
struct rep_sample {
  uint64_t second, bytes, files;
};

/* a ring of samples, one a second */
struct rep_rate {
  struct rep_sample sample[REP_SHD_RATE_S + 1];
  unsigned at, used;
};

struct rep_poll {
  struct gi_timer timer;
  bool looking;
  unsigned skip, skipped; /* polls that start no crawl although there is something; how many of them there were */
  uint64_t progress;      /* the queue's, at the last poll that found something */
};

/* What does the work; tests bring their own. */
struct rep_shd_engine {
  int (*inode)(struct rep_heal *h);
  int (*name)(struct rep_heal *h, struct gi_inode *parent, const char *name, const struct gi_gfid *gfid_req);
  void (*clean)(struct rep_heal *h, uint32_t children); /* the anonymous directory */
};

#define REP_SHD_MAGIC 0x1d0a4e05u

struct rep_shd {
  uint32_t magic;
  struct rep *rep;
  const struct rep_shd_engine *engine;
  struct rep_queue queue;
  struct rep_throttle throttle;
  struct rep_shd_brick brick[REP_MAX];
  bool crawling, want_index, want_full, stopping;
  bool unclean;       /* the anonymous directory was not looked through after the last crawl: something was left to heal */
  unsigned questions; /* of the management daemon, being answered */
  uint64_t remaining; /* objects the pass under way still has to look at, as far as the indices tell */
  uint64_t began, progress_at_begin, bytes_at_begin; /* of the crawl under way; `began` 0: none */
  struct rep_rate rate;
  struct gi_list splits; /* struct rep_split, oldest first */
  unsigned nsplits;
  struct gi_timer timer;
  struct rep_poll poll;
  struct gi_defer start;
};

/* Rows of the table of metrics. */
#define REP_SHD_METRIC(member, unit, help) \
  { \
    "shd_" #member, unit, help, offsetof(struct rep_metrics, shd.member) \
  }
#define REP_SHD_NOW(member, unit, help) \
  { \
    "shd_" #member, unit, help, offsetof(struct rep_metrics, shd.member), GI_METRIC_GAUGE \
  }
#define REP_SHD_METRICS \
  REP_SHD_NOW(crawling, "", "1 while the self-heal daemon crawls"), \
      REP_SHD_METRIC(crawls, "", "passes over a brick's index or tree"), \
      REP_SHD_METRIC(healed, "", "objects healed by crawls"), REP_SHD_METRIC(failed, "", "objects that could not be healed"), \
      REP_SHD_METRIC(split_brain, "", "objects found in split brain"), REP_SHD_NOW(active, "", "objects being healed"), \
      REP_SHD_NOW(waiting, "", "objects in the ready queue"), \
      REP_SHD_NOW(remaining, "", "objects the pass under way still has to look at"), \
      REP_SHD_NOW(eta_s, "s", "until the pass is done at the speed of the crawl; 0: unknown"), \
      REP_SHD_NOW(files_per_s, "1/s", "objects healed, last ten seconds"), \
      REP_SHD_NOW(bytes_per_s, "bytes/s", "payload healed or compared, last ten seconds"), \
      REP_SHD_NOW(crawl_files_per_s, "1/s", "objects healed since the crawl began"), \
      REP_SHD_NOW(crawl_bytes_per_s, "bytes/s", "payload healed or compared since then"), \
      REP_SHD_NOW(window_bytes, "bytes", "payload heals may have in flight"), \
      REP_SHD_NOW(window_used, "bytes", "payload they have in flight"), \
      REP_SHD_METRIC(paused_ms, "ms", "heals waited for the window, summed"), \
      REP_SHD_METRIC(pauses, "", "times a heal waited for the window"), \
      REP_SHD_NOW(parallel, "", "objects that may be healed at a time"), \
      REP_SHD_METRIC(grown, "", "decisions to heal more at a time"), \
      REP_SHD_METRIC(cut, "", "decisions to heal less because applications slowed down"), \
      REP_SHD_NOW(foreground_ops, "", "operations in the last report of a brick"), \
      REP_SHD_NOW(foreground_us, "us", "their mean latency"), \
      REP_SHD_NOW(foreground_quiet_us, "us", "what it is while nothing is healed")

/* shd/daemon.c: the life of the daemon. `rep->shd` is NULL in every other process. */
void rep_shd_init(struct rep *rep);
void rep_shd_finish(struct rep *rep);
void rep_shd_children(struct rep *rep, uint32_t before); /* rep->up was that, or heard changed; rep->shd is there */
void rep_shd_down(struct rep *rep);                      /* PARENT_DOWN */
void rep_shd_reconfigure(struct rep *rep);
void rep_shd_answer(struct rep *rep, unsigned child, const struct gi_fop *fop); /* a reply; rep->shd is there */
void rep_shd_wake(struct rep_shd *shd, bool index, bool full);                  /* that is to be crawled, as soon as it may */

/* shd/poll.c */
void rep_shd_poll_init(struct rep_shd *shd); /* from now on, every few seconds */
void rep_shd_poll_later(struct rep_shd *shd);
void rep_shd_poll(struct rep_shd *shd); /* now, unless a crawl runs or nothing could be healed */

/* shd/crawl.c: on the crawler's task */
extern const struct rep_shd_engine rep_shd_engine;
void rep_shd_crawl(struct rep_shd *shd);                   /* until nothing is wanted any more */
bool rep_shd_heal(void *arg, const struct rep_item *item); /* of the queue */
bool rep_shd_crawls(const struct rep_shd *shd);            /* may go on */
void rep_shd_locate(struct rep_shd *shd);                  /* asks the bricks that are up which host they are on */
uint32_t rep_shd_local(const struct rep_shd *shd);         /* bricks on this host that are up */
bool rep_shd_count(struct rep_shd *shd, unsigned child);   /* asks for pending and dirty; false: the brick does not tell */

/* shd/clean.c: on a task; all children are up and nothing is left to heal. What `children` keep is judged. */
void rep_shd_clean(struct rep_heal *h, uint32_t children);
/* Purges the heal's object if every brick that has it keeps it in its anonymous directory and nowhere else. */
bool rep_shd_purge_unreachable(struct rep_heal *h);

/* shd/report.c */
struct rep_crawl *rep_shd_crawl_begin(struct rep_shd *shd, unsigned child, bool full);
void rep_shd_crawl_end(struct rep_shd *shd, struct rep_crawl *c);
struct rep_crawl *rep_shd_crawl_of(struct rep_shd *shd, unsigned child);         /* the latest; NULL: none yet */
void rep_shd_split(struct rep_shd *shd, const struct gi_gfid *gfid, char *path); /* takes over `path` */
void rep_shd_forget_splits(struct rep_shd *shd);
void rep_shd_begin(struct rep_shd *shd); /* a crawl: rates are counted from here */
void rep_shd_end(struct rep_shd *shd);
void rep_shd_tick(struct rep_shd *shd);    /* time goes on: for the rates */
void rep_shd_refresh(struct rep_shd *shd); /* brings rep->metrics.shd up to date */
void rep_shd_dump(struct rep_shd *shd, struct gi_dump *d);
void rep_manage(struct gi_xlator *x, struct gi_manage *m);

#endif
