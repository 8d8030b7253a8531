/* SPDX-License-Identifier: Apache-2.0
 *
 * See seen.h, and steps.h for the beginning and end of an operation.
 *
 * What is done for every operation is a record and two comparisons. An
 * operation is taken apart when its turn has come, or when it took long for
 * its kind; what is long is found from those that were taken apart.
 */
#include "libglusterish/seen.h"

#include "libglusterish/trace.h"

#include <inttypes.h>

#define SLOW_MIN_NS 100000ull                    /* nobody looks at what takes less */
#define SLOW_MAX_NS GI_NSEC_PER_SEC              /* more is long for any kind */
#define SLOW_UNKNOWN_NS (100 * GI_NSEC_PER_MSEC) /* while few of the kind were seen */
#define SLOW_QUANTILE 0.999
#define SLOW_SAMPLES 1000u
#define SLOW_HISTORY 100000u
#define SLOW_AGAIN 8u /* taken apart until it is found again */

struct gi_seen *
gi_seen_get(struct gi_ctx *ctx)
{
  struct gi_seen *s = ctx->seen;

  if (!s) {
    s = ctx->seen = gi_new(struct gi_seen);
    s->reactor = ctx->reactor;
    s->chance = 1;
    s->every = gi_ns_ticks(s->reactor, GI_TIMES_EVERY_NS);
    s->until_sample = UINT32_MAX;
    gi_list_init(&s->traces);
    gi_list_init(&s->slow);
    for (unsigned part = 0; part < 2; part++)
      for (unsigned k = 0; k < GI_FOP_MAX; k++)
        s->kind[part][k] =
            (struct gi_seen_kind){.slow = gi_ns_ticks(s->reactor, SLOW_UNKNOWN_NS), .left = 1, .stride = 1, .share = 1};
  }
  GI_ASSERT(s->reactor == ctx->reactor);
  s->refs++;
  return s;
}

void
gi_seen_put(struct gi_ctx *ctx)
{
  struct gi_seen *s = ctx->seen;

  GI_ASSERT(s && s->refs > 0);
  if (--s->refs)
    return;
  for (unsigned part = 0; part < 2; part++)
    for (unsigned k = 0; k < GI_FOP_MAX; k++)
      gi_free(s->kind[part][k].took);
  gi_trace_free(s);
  gi_recorder_free(&s->recorder);
  gi_free(s);
  ctx->seen = NULL;
}

/* ---- an operation is over ---- */

static inline void
record(struct gi_seen *s, const struct gi_fop *fop, uint64_t took)
{
  struct gi_recorded *r = gi_recorder_next(&s->recorder);
  r->start_ns = fop->start_ns;
  r->took = took;
  r->offset = fop->args.offset;
  r->size = fop->args.size ? fop->args.size : fop->payload.len;
  r->pid = fop->caller.pid;
  r->uid = fop->caller.uid;
  r->error = fop->rsp.ret < 0 ? (int16_t)fop->rsp.err : 0;
  r->at = fop->answerer;
  r->gfid = fop->fd && fop->fd->inode ? fop->fd->inode->gfid : fop->loc.inode ? fop->loc.inode->gfid : fop->loc.gfid;
  r->kind = (uint8_t)fop->kind;
  r->graph = fop->graph->number;
}

/* The next ones that are left out: none at first and of a kind that comes seldom, else as many as chance says, about so that one is taken
 * apart in s->every. */
static void
next_stride(struct gi_seen *s, struct gi_seen_kind *k, uint64_t now)
{
  uint64_t since = now - k->last;

  GI_ASSERT(k->took && s->chance);
  k->last = now;
  if ((!k->learnt && k->took->count < GI_TIMES_FIRST) || since > 4 * s->every)
    k->share = k->share / 2 ? k->share / 2 : 1;
  else if (since < s->every && k->share < GI_TIMES_SHARE)
    k->share *= 2;
  s->chance ^= s->chance << 13;
  s->chance ^= s->chance >> 17;
  s->chance ^= s->chance << 5;
  k->stride = 1 + s->chance % (2 * k->share - 1);
  k->left = k->stride;
}

static void
learn(struct gi_seen *s, struct gi_seen_kind *k, uint64_t took, uint32_t times)
{
  if (!k->took)
    k->took = gi_new(struct gi_hist);

  gi_hist_add_times(k->took, gi_ticks_ns(s->reactor, took), times);
  if (k->took->count < SLOW_SAMPLES || ++k->learnt % SLOW_AGAIN != 0)
    return;

  uint64_t ns = gi_hist_quantile(k->took, SLOW_QUANTILE);

  k->slow = gi_ns_ticks(s->reactor, ns < SLOW_MIN_NS ? SLOW_MIN_NS : ns > SLOW_MAX_NS ? SLOW_MAX_NS : ns);
  if (k->took->count >= SLOW_HISTORY) /* what was long ago says nothing of what is usual now */
    gi_hist_reset(k->took);
}

static void
take_apart(struct gi_seen *s, struct gi_fop *fop, uint64_t took, uint32_t times)
{
  struct gi_walk w;

  learn(s, &s->kind[fop->counted][fop->kind], took, times);
  if (fop->nmarks > GI_MARKS) {
    s->unmarked++;
    return;
  }
  gi_walk(&w, fop->mark, fop->nmarks, fop->start_ticks, took, true);
  gi_times_add(fop->graph, &w, fop->kind, fop->rsp.ret < 0, times);
}

/* What it works for is collected, or takes so long that it will perhaps be kept. */
static bool
is_wanted(const struct gi_seen *s, const struct gi_fop *fop, uint64_t took)
{
  const struct gi_fop *root = fop->root;

  return !root->answered && (root->steps || fop->start_ticks + took - root->start_ticks > s->kind[0][root->kind].slow / 2);
}

/* Besides the record: its part of a tree, its own tree, its times. */
static __attribute__((noinline)) void
take_more(struct gi_seen *s, struct gi_fop *fop, struct gi_seen_kind *k, uint64_t took)
{
  bool slow = took > k->slow;

  if (fop->counted && is_wanted(s, fop, took)) {
    gi_fop_collect(fop->root, false);
    gi_fop_part(fop, took);
  }
  if (!fop->counted && (slow || fop->steps))
    gi_trace_end(s, fop, took, slow);
  if (slow) {
    take_apart(s, fop, took, 1);
  } else if (k->left == 0) {
    take_apart(s, fop, took, k->stride);
    next_stride(s, k, fop->start_ticks + took);
  }
}

/* ---- its beginning and its end ---- */

/* These two are on every operation's path. What is seldom is at their ends, in functions of its own, so that nothing is saved for it. */

/* It works for its parent as long as that is not answered: what comes after is the parent's no more. */
static inline bool
works_for(const struct gi_fop *parent)
{
  return parent && parent->root && !parent->answered;
}

static __attribute__((noinline)) void
begin_for(struct gi_fop *fop, struct gi_fop *parent)
{
  fop->root = parent->root;
  fop->counted = true;
  if (parent->below++ == 0 && parent->at)
    gi_fop_mark(parent, parent->at, GI_MARK_AWAY);
}

static __attribute__((noinline)) void
begin_off(struct gi_fop *fop)
{
  fop->start_ns = gi_now(fop->graph->ctx->reactor);
  fop->nmarks = GI_MARKS;
}

/* The clock is to be read, or trace.c wants to look at it. */
static __attribute__((noinline)) void
begin_seldom(struct gi_fop *fop)
{
  struct gi_seen *s = fop->graph->seen;

  fop->start_ns = gi_now_at(s->reactor, fop->start_ticks);
  if (s->until_sample == 0)
    gi_trace_begin(s, fop);
}

/* The list's neighbours are not checked at each of them, as gi_list_add_tail and gi_list_del do. */
static inline void
take_off(struct gi_fop *fop)
{
  struct gi_list *l = &fop->flight;

  l->prev->next = l->next;
  l->next->prev = l->prev;
  gi_list_init(l);
}

static inline void
put_on(struct gi_graph *g, struct gi_fop *fop)
{
  struct gi_list *l = &fop->flight, *last = g->flight.prev;

  l->next = &g->flight;
  l->prev = last;
  last->next = g->flight.prev = l;
}

static inline void
begin(struct gi_fop *fop, struct gi_graph *g, uint64_t now)
{
  struct gi_seen *s = g->seen;
  uint64_t since = now - s->reactor->rate.ticks;

  if (!fop->origin)
    fop->start_ticks = now;
  fop->number = ++s->operations;
  put_on(g, fop);
  if (works_for(fop->parent)) {
    fop->start_ns = gi_now_at(s->reactor, now);
    begin_for(fop, fop->parent);
    return;
  }
  fop->root = fop;
  if (--s->until_sample == 0 || (s->reactor->rate.counter && since >= GI_RATE_FRESH))
    begin_seldom(fop);
  else
    fop->start_ns = gi_now_at(s->reactor, now);
}

static __attribute__((noinline)) void
begin_by_clock(struct gi_fop *fop, struct gi_graph *g)
{
  begin(fop, g, gi_now(g->seen->reactor));
}

void
gi_steps_begin(struct gi_fop *fop, const struct gi_xlator *top)
{
  struct gi_graph *g = fop->graph;

  GI_ASSERT(!fop->root && g == top->graph);
  if (g->seen->off)
    begin_off(fop);
  else if (!g->seen->reactor->rate.counter)
    begin_by_clock(fop, g);
  else
    begin(fop, g, gi_ticks(g->seen->reactor));
}

static __attribute__((noinline)) void
end_for(struct gi_seen *s, struct gi_fop *fop, uint64_t took)
{
  struct gi_seen_kind *k = &s->kind[1][fop->kind];
  struct gi_fop *parent = fop->parent;

  GI_ASSERT(parent->below > 0);
  if (--parent->below == 0 && parent->at)
    gi_fop_mark(parent, parent->at, GI_MARK_HOME);
  if (took > k->slow || --k->left == 0 || is_wanted(s, fop, took))
    take_more(s, fop, k, took);
}

static inline void
end(struct gi_seen *s, struct gi_fop *fop, uint64_t now)
{
  struct gi_seen_kind *k = &s->kind[0][fop->kind];
  uint64_t took = now - fop->start_ticks;

  take_off(fop);
  if (fop->counted) {
    end_for(s, fop, took);
    return;
  }
  record(s, fop, took);
  if (took > k->slow || --k->left == 0 || fop->steps)
    take_more(s, fop, k, took);
}

static __attribute__((noinline)) void
end_by_clock(struct gi_seen *s, struct gi_fop *fop)
{
  end(s, fop, gi_now(s->reactor));
}

void
gi_steps_end(struct gi_fop *fop)
{
  struct gi_seen *s = fop->graph->seen;

  if (!fop->root || fop->unseen)
    return;
  if (s->reactor->rate.counter)
    end(s, fop, gi_ticks(s->reactor));
  else
    end_by_clock(s, fop);
}

/* ---- an operation that is its origin's first and last ---- */

void
gi_fop_came(struct gi_fop *fop, struct gi_xlator *x, uint64_t ticks)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(!fop->root && !fop->parent && !fop->nmarks && x->graph == fop->graph);
  fop->origin = x;
  fop->start_ticks = ticks;
  fop->mark[fop->nmarks++] = gi_mark_make(x, GI_MARK_ENTER, ticks);
}

void
gi_fop_over(struct gi_fop *fop)
{
  GI_ASSERT(fop->answered || !fop->root);
  if (fop->origin)
    gi_steps_end(fop);
  fop->origin = NULL;
}

/* ---- for readers ---- */

static unsigned
in_flight(const struct gi_graph *g)
{
  unsigned n = 0;

  gi_list_foreach(fop, &g->flight, struct gi_fop, flight)
    n++;
  return n;
}

void
gi_seen_dump(const struct gi_graph *g, struct gi_dump *d)
{
  const struct gi_seen *s = g->seen;
  size_t bytes = sizeof(*s) + (s->recorder.record ? GI_RECORDS * sizeof(*s->recorder.record) : 0);

  for (unsigned part = 0; part < 2; part++)
    for (unsigned k = 0; k < GI_FOP_MAX; k++)
      bytes += s->kind[part][k].took ? sizeof(struct gi_hist) : 0;
  for (unsigned i = 0; i < g->count; i++)
    for (unsigned k = 0; g->xlators[i]->times && k < GI_FOP_MAX; k++)
      bytes += g->xlators[i]->times->kind[k] ? sizeof(struct gi_layer_kind) : 0;
  gi_list_foreach(t, &s->slow, struct gi_told, link)
    bytes += sizeof(*t) + gi_step_count(t->tree) * sizeof(struct gi_step);
  gi_dump_section(d, "operations");
  gi_dump_kv(d, "seen", "%" PRIu64, s->operations);
  gi_dump_kv(d, "in-flight", "%u", in_flight(g));
  gi_dump_kv(d, "recorded", "%" PRIu64, s->recorder.count);
  gi_dump_kv(d, "slow-kept", "%u", s->nslow);
  gi_dump_kv(d, "too-many-borders", "%" PRIu64, s->unmarked);
  gi_dump_kv(d, "bytes", "%zu", bytes);
  gi_list_foreach(fop, &g->flight, struct gi_fop, flight) {
    struct gi_wait w;
    char gfid[GI_UUID_TEXT];

    if (!gi_fop_waiting(fop, &w))
      continue;
    gi_dump_kv(d, "waits", "%s of %s pid %d at %s for %s %s %s", gi_fop_name(fop->kind), gi_gfid_text(gi_fop_gfid(fop), gfid),
               fop->caller.pid, fop->at ? fop->at->name : "", gi_wait_name[w.why], w.what ? w.what : "", w.who ? w.who : "");
  }
}
