/* SPDX-License-Identifier: Apache-2.0
 *
 * What the self-heal daemon tells of itself: the history of its crawls, objects
 * in split brain, rates and what is left; as metrics, in the state dump and in
 * the answers to the management daemon (mgmt-protocol.md 5.2).
 */
#include "xlators/cluster/replicate/shd/shd.h"

#include <time.h>

/* ---- history ---- */

struct rep_crawl *
rep_shd_crawl_of(struct rep_shd *shd, unsigned child)
{
  struct rep_shd_brick *b = &shd->brick[child];

  return b->crawls ? &b->crawl[(b->crawls - 1) % REP_SHD_HISTORY] : NULL;
}

struct rep_crawl *
rep_shd_crawl_begin(struct rep_shd *shd, unsigned child, bool full)
{
  struct rep_crawl *c = rep_shd_crawl_of(shd, child);

  GI_ASSERT(child < shd->rep->n && (!c || !c->running)); /* one at a time */
  shd->brick[child].crawls++;
  c = rep_shd_crawl_of(shd, child);
  *c = (struct rep_crawl){.full = full, .running = true, .start = gi_wall(shd->rep->x->reactor)};
  return c;
}

void
rep_shd_crawl_end(struct rep_shd *shd, struct rep_crawl *c)
{
  struct rep_shd_metrics *m = &shd->rep->metrics.shd;

  GI_ASSERT(c->running);
  c->end = gi_wall(shd->rep->x->reactor);
  c->running = false;
  m->crawls++;
  m->healed += c->healed;
  m->failed += c->failed;
  m->split_brain += c->split_brain;
}

/* ---- split brains ---- */

static void
forget_split(struct rep_shd *shd, struct rep_split *s)
{
  GI_ASSERT(shd->nsplits > 0);
  gi_list_del(&s->link);
  shd->nsplits--;
  gi_free(s->path);
  gi_free(s);
}

void
rep_shd_forget_splits(struct rep_shd *shd)
{
  gi_list_foreach_safe(s, &shd->splits, struct rep_split, link)
    forget_split(shd, s);
}

/* Each object once, the latest sighting last. */
void
rep_shd_split(struct rep_shd *shd, const struct gi_gfid *gfid, char *path)
{
  struct rep_split *s;

  gi_list_foreach_safe(old, &shd->splits, struct rep_split, link) {
    if (gi_gfid_equal(&old->gfid, gfid))
      forget_split(shd, old);
  }
  if (shd->nsplits == REP_SHD_SPLITS)
    forget_split(shd, gi_list_first(&shd->splits, struct rep_split, link));
  s = gi_new(struct rep_split);
  s->gfid = *gfid;
  s->path = path;
  s->when = gi_wall(shd->rep->x->reactor);
  gi_list_add_tail(&shd->splits, &s->link);
  shd->nsplits++;
  GI_ASSERT(shd->nsplits <= REP_SHD_SPLITS);
}

/* ---- rates ---- */

static uint64_t
bytes_done(const struct rep *rep)
{
  return rep->metrics.heal.bytes_written + rep->metrics.heal.bytes_compared;
}

void
rep_shd_begin(struct rep_shd *shd)
{
  shd->began = gi_now(shd->rep->x->reactor);
  shd->progress_at_begin = shd->queue.progress;
  shd->bytes_at_begin = bytes_done(shd->rep);
  memset(&shd->rate, 0, sizeof(shd->rate));
  rep_shd_tick(shd);
}

void
rep_shd_end(struct rep_shd *shd)
{
  shd->began = 0;
  shd->remaining = 0;
  rep_shd_refresh(shd);
}

/* One sample a second: the ring holds what the totals were at the beginning of each of the last seconds. */
void
rep_shd_tick(struct rep_shd *shd)
{
  struct rep_rate *r = &shd->rate;
  uint64_t second = gi_now(shd->rep->x->reactor) / GI_NSEC_PER_SEC;

  if (r->used && r->sample[r->at].second == second)
    return;
  if (r->used)
    r->at = (r->at + 1) % GI_ARRAY_LEN(r->sample);
  if (r->used < GI_ARRAY_LEN(r->sample))
    r->used++;
  GI_ASSERT(r->at < GI_ARRAY_LEN(r->sample) && r->used);
  r->sample[r->at].second = second;
  r->sample[r->at].bytes = bytes_done(shd->rep);
  r->sample[r->at].files = shd->queue.progress;
  rep_shd_refresh(shd);
}

/* The oldest sample that is not older than the time rates are about. */
static const struct rep_sample *
oldest(const struct rep_rate *r, uint64_t second)
{
  unsigned n = GI_ARRAY_LEN(r->sample);

  for (unsigned i = 0; i < r->used; i++) {
    const struct rep_sample *s = &r->sample[(r->at + n - (r->used - 1) + i) % n];

    if (s->second + REP_SHD_RATE_S >= second)
      return s;
  }
  return NULL;
}

static void
refresh_rates(struct rep_shd *shd, struct rep_shd_metrics *m)
{
  uint64_t now = gi_now(shd->rep->x->reactor), second = now / GI_NSEC_PER_SEC, for_ns = now - shd->began;
  const struct rep_sample *s = oldest(&shd->rate, second);
  uint64_t files = shd->queue.progress - shd->progress_at_begin, bytes = bytes_done(shd->rep) - shd->bytes_at_begin;

  m->crawl_files_per_s = (uint64_t)((double)files * 1e9 / (double)(for_ns + 1));
  m->crawl_bytes_per_s = (uint64_t)((double)bytes * 1e9 / (double)(for_ns + 1));
  if (s) {
    uint64_t seconds = second > s->second ? second - s->second : 1;

    m->files_per_s = (shd->queue.progress - s->files) / seconds;
    m->bytes_per_s = (bytes_done(shd->rep) - s->bytes) / seconds;
  }
  m->eta_s = files ? (uint64_t)((double)shd->remaining * (double)for_ns / 1e9 / (double)files) : 0;
}

void
rep_shd_refresh(struct rep_shd *shd)
{
  struct rep_shd_metrics *m = &shd->rep->metrics.shd;
  const struct gi_window *w = &shd->rep->heal_window;

  m->crawling = shd->crawling;
  m->active = shd->queue.running;
  m->waiting = shd->queue.waiting;
  m->remaining = shd->remaining > shd->queue.waiting ? shd->remaining : shd->queue.waiting;
  m->window_bytes = w->size;
  m->window_used = w->used;
  m->paused_ms = w->paused_ns / GI_NSEC_PER_MSEC;
  m->pauses = w->pauses;
  m->parallel = shd->throttle.parallel;
  m->grown = shd->throttle.grown;
  m->cut = shd->throttle.cut;
  m->foreground_ops = shd->throttle.worst.ops;
  m->foreground_us = shd->throttle.worst.mean_us;
  m->foreground_quiet_us = shd->throttle.worst.baseline_us;
  m->files_per_s = m->bytes_per_s = m->crawl_files_per_s = m->crawl_bytes_per_s = m->eta_s = 0;
  if (shd->began)
    refresh_rates(shd, m);
}

/* ---- state dump ---- */

void
rep_shd_dump(struct rep_shd *shd, struct gi_dump *d)
{
  char text[GI_UUID_TEXT];

  rep_foreach(i, shd->rep->all)
  {
    const struct rep_shd_brick *b = &shd->brick[i];
    const struct rep_crawl *c = rep_shd_crawl_of(shd, i);

    gi_dump_kv(d, "heal_brick", "%s %s pending=%llu dirty=%llu crawls=%u", shd->rep->x->children[i]->name,
               b->local ? "local" : "remote", (unsigned long long)b->pending, (unsigned long long)b->dirty, b->crawls);
    if (c)
      gi_dump_kv(d, "heal_crawl", "%s%s healed=%llu failed=%llu split_brain=%llu", c->full ? "FULL" : "INDEX",
                 c->running ? " running" : "", (unsigned long long)c->healed, (unsigned long long)c->failed,
                 (unsigned long long)c->split_brain);
  }
  gi_list_foreach(s, &shd->splits, struct rep_split, link)
    gi_dump_kv(d, "split_brain", "%s %s", gi_gfid_text(&s->gfid, text), s->path ? s->path : "");
}

/* ---- management ---- */

struct question {
  struct rep_shd *shd;
  struct gi_manage *m;
};

static void
put(struct gi_manage *m, const char *before, unsigned child, const char *after, const char *value)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("%s%u-%u%s", before, m->index, child, after);

  gi_dict_set_str(m->out, key, value);
}

static void
put_number(struct gi_manage *m, const char *before, unsigned child, const char *after, uint64_t value)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("%llu", (unsigned long long)value);

  put(m, before, child, after, text);
}

/* Why a brick is not crawled; NULL if it is. */
static const char *
refusal(const struct rep_shd *shd, unsigned child)
{
  if (!rep_opts(shd->rep)->heal.self_heal_daemon)
    return "Self-heal daemon is disabled";
  if (!((shd->rep->up >> child) & 1))
    return "Brick is not connected";
  if (!shd->brick[child].local)
    return "Brick is remote";
  if (__builtin_popcount(shd->rep->up) < 2)
    return "< 2 bricks in replica are up";
  return NULL;
}

static void
order(struct rep_shd *shd, struct gi_manage *m)
{
  bool any = false;

  rep_foreach(i, shd->rep->all)
  {
    const char *no = refusal(shd, i);

    any |= !no;
    put(m, "", i, "-status", no ? no : "Started self-heal");
  }
  if (any)
    rep_shd_wake(shd, true, m->op == GI_HEAL_FULL);
}

static void
put_time(struct gi_manage *m, const char *what, unsigned child, const char *after, const struct gi_time *when)
{
  time_t sec = when->sec;
  char text[32];

  put(m, what, child, after, ctime_r(&sec, text));
}

static void
put_crawl(struct gi_manage *m, unsigned child, unsigned n, const struct rep_crawl *c)
{
  GI_CLEANUP_FREE char *after = gi_asprintf("-%u", n);

  put(m, "statistics_crawl_type-", child, after, c->full ? "FULL" : "INDEX");
  put_number(m, "statistics_healed_cnt-", child, after, c->healed);
  put_number(m, "statistics_sb_cnt-", child, after, c->split_brain);
  put_number(m, "statistics_heal_failed_cnt-", child, after, c->failed);
  put_time(m, "statistics_strt_time-", child, after, &c->start);
  if (!c->running)
    put_time(m, "statistics_end_time-", child, after, &c->end);
  put_number(m, "statistics_inprogress-", child, after, c->running);
}

/* Everything the table of metrics tells of heals, under names of our own: those of the daemon without their prefix. */
static void
put_metrics(struct rep_shd *shd, struct gi_manage *m)
{
  rep_shd_refresh(shd);
  for (const struct gi_metric *row = shd->rep->x->cls->metrics; row->name; row++) {
    bool ours = strncmp(row->name, "shd_", 4) == 0;

    if (!ours && strncmp(row->name, "heal_", 5) != 0)
      continue;

    GI_CLEANUP_FREE char *key = gi_asprintf("glusterish.%u-%s", m->index, ours ? row->name + 4 : row->name);
    GI_CLEANUP_FREE char *text = gi_asprintf("%llu", (unsigned long long)gi_metric_value(row, shd->rep->x->metrics));

    gi_dict_set_str(m->out, key, text);
  }
}

static void
statistics(struct rep_shd *shd, struct gi_manage *m)
{
  rep_foreach(i, shd->rep->all)
  {
    const struct rep_shd_brick *b = &shd->brick[i];
    unsigned n = b->crawls < REP_SHD_HISTORY ? b->crawls : REP_SHD_HISTORY;

    if (!b->local && !n)
      continue;
    put_number(m, "statistics-", i, "-count", n);
    for (unsigned k = 0; k < n; k++)
      put_crawl(m, i, k, &b->crawl[(b->crawls - n + k) % REP_SHD_HISTORY]);
  }
  put_metrics(shd, m);
}

static void
counts(struct rep_shd *shd, struct gi_manage *m)
{
  rep_foreach(i, shd->rep->all)
  {
    const char *no = refusal(shd, i);

    if (no && strncmp(no, "Brick", 5) == 0)
      put(m, "", i, "-status", no);
    else if (rep_shd_count(shd, i))
      put_number(m, "", i, "-hardlinks", shd->brick[i].pending);
    else
      put(m, "", i, "-status", "The brick does not tell");
  }
  put_metrics(shd, m);
}

static void
report_splits(struct rep_shd *shd, struct gi_manage *m)
{
  unsigned n = 0;

  gi_list_foreach(s, &shd->splits, struct rep_split, link) {
    GI_CLEANUP_FREE char *key = gi_asprintf("glusterish.%u-split-brain-%u", m->index, n++);
    char gfid[GI_UUID_TEXT];
    GI_CLEANUP_FREE char *text = s->path ? gi_strdup(s->path) : gi_asprintf("<gfid:%s>", gi_gfid_text(&s->gfid, gfid));

    gi_dict_set_str(m->out, key, text);
  }
  put_metrics(shd, m);
}

/* A task: bricks may have to be asked. */
static void
answer(void *arg)
{
  struct question q = *(struct question *)arg;

  gi_free(arg);
  rep_shd_locate(q.shd);
  switch (q.m->op) {
  case GI_HEAL_INDEX:
  case GI_HEAL_FULL:
    order(q.shd, q.m);
    break;
  case GI_HEAL_STATISTICS:
    statistics(q.shd, q.m);
    break;
  case GI_HEAL_COUNT:
  case GI_HEAL_COUNT_REPLICA:
    counts(q.shd, q.m);
    break;
  default:
    report_splits(q.shd, q.m);
    break;
  }
  q.shd->questions--;
  q.m->done(q.m, 0);
}

void
rep_manage(struct gi_xlator *x, struct gi_manage *m)
{
  static const uint32_t known = 1u << GI_HEAL_INDEX | 1u << GI_HEAL_FULL | 1u << GI_HEAL_SPLITS | 1u << GI_HEAL_STATISTICS |
                                1u << GI_HEAL_COUNT | 1u << GI_HEAL_COUNT_REPLICA;
  struct rep *rep = rep_of(x);
  struct question *q;

  if (!rep->shd || m->op < 0 || m->op > 31 || !((known >> m->op) & 1)) {
    m->done(m, EOPNOTSUPP);
    return;
  }
  q = gi_new(struct question);
  q->shd = rep->shd;
  q->m = m;
  rep->shd->questions++;
  gi_task_start(x->reactor, answer, q);
}
