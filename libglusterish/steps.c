/* SPDX-License-Identifier: Apache-2.0
 *
 * See steps.h.
 */
#include "libglusterish/steps.h"

const char *const gi_wait_name[GI_WAIT_MAX] = {
    [GI_WAIT_BRICK] = "brick",       [GI_WAIT_LOCK] = "lock",     [GI_WAIT_WORKER] = "worker", [GI_WAIT_DISK] = "disk",
    [GI_WAIT_THROTTLE] = "throttle", [GI_WAIT_WINDOW] = "window", [GI_WAIT_QUORUM] = "quorum", [GI_WAIT_ORDER] = "order",
    [GI_WAIT_KERNEL] = "kernel",     [GI_WAIT_CLIENT] = "client",
};

void
gi_fop_waits(struct gi_fop *fop, enum gi_wait_for why, const char *what, const char *who)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(why > GI_WAIT_NOTHING && why < GI_WAIT_MAX);
  fop->wait = (struct gi_wait){why, fop->nmarks, what, who, gi_ticks(fop->graph->ctx->reactor), NULL};
}

/* Since when the layer that has it now has it. */
static uint64_t
here_since(const struct gi_fop *fop)
{
  if (fop->nmarks == 0 || fop->nmarks > GI_MARKS)
    return fop->start_ticks;
  return fop->start_ticks + gi_mark_since(fop->mark[fop->nmarks - 1], fop->start_ticks);
}

bool
gi_fop_waiting(const struct gi_fop *fop, struct gi_wait *w)
{
  const struct gi_xlator *x = fop->at;
  const char *call;

  if (fop->answered || !x)
    return false;
  *w = fop->wait;
  if (!w->why || w->mark != fop->nmarks)
    *w = (struct gi_wait){x->waits, fop->nmarks, x->waits_what, x->waits_who, here_since(fop), NULL};
  call = w->now ? __atomic_load_n(w->now, __ATOMIC_RELAXED) : NULL;
  if (call) {
    w->why = GI_WAIT_DISK;
    w->what = call;
  }
  return w->why != GI_WAIT_NOTHING;
}

void
gi_fop_unseen(struct gi_fop *fop)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(fop->root == fop && !fop->answered); /* whatever it works for would still be seen */
  gi_list_del(&fop->flight);
  fop->unseen = true;
}

/* ---- what became of it ---- */

/* The deepest layer of that number that has not let it go. */
static int
stay_of(const struct gi_walk *w, unsigned layer)
{
  for (unsigned i = w->n; i-- > 0;)
    if (w->stay[i].layer == layer && !w->stay[i].left)
      return (int)i;
  return -1;
}

static void
let_go(struct gi_walk *w, uint64_t at)
{
  if (w->now < 0)
    return;
  w->stay[w->now].left = true;
  w->stay[w->now].leave = at;
}

static void
pass(struct gi_walk *w, uint64_t from, uint64_t to)
{
  GI_ASSERT(w->now < (int)w->n && from <= to);
  if (w->away || w->now < 0)
    w->below += to - from;
  else
    w->stay[w->now].own += to - from;
}

static void
follow(struct gi_walk *w, uint64_t mark, uint64_t at)
{
  switch (gi_mark_what(mark)) {
  case GI_MARK_ENTER:
    w->stay[w->n] = (struct gi_stay){.layer = (uint16_t)gi_mark_layer(mark), .enter = at};
    if (w->n == 0) { /* the way to the first one is its own */
      w->stay[0].enter = 0;
      w->stay[0].own = at;
      w->below = 0;
    }
    w->now = (int)w->n++;
    w->away = false;
    break;
  case GI_MARK_BACK:
    let_go(w, at);
    w->now = stay_of(w, gi_mark_layer(mark));
    w->away = false;
    break;
  case GI_MARK_AWAY:
    w->away = true;
    break;
  case GI_MARK_HOME:
    w->away = false;
    break;
  }
}

void
gi_walk(struct gi_walk *w, const uint64_t *mark, unsigned nmarks, uint64_t start, uint64_t end, bool over)
{
  uint64_t from = 0;

  w->n = 0;
  w->now = -1;
  w->away = false;
  w->below = 0;
  for (unsigned i = 0; i < nmarks && i < GI_MARKS; i++) {
    uint64_t at = gi_mark_since(mark[i], start);

    pass(w, from, at);
    follow(w, mark[i], at);
    from = at;
  }
  pass(w, from, end);
  if (over)
    let_go(w, end);
}
