/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: how an operation goes down the stack and its reply back up, and
 * how events travel. Forwarding is done here and nowhere else.
 */
#include "libglusterish/xlator.h"

#include "libglusterish/graph-private.h"
#include "libglusterish/steps.h"
#include "libglusterish/usdt.h"

#include <errno.h>

static gi_fop_fn *
handler_of(const struct gi_xlator *x, enum gi_fop_kind kind)
{
  const struct gi_xlator_class *cls = x->cls;

  if (cls->on[kind])
    return cls->on[kind];
  if (cls->submit && (!cls->submit_kinds || (cls->submit_kinds & GI_KIND(kind))))
    return cls->submit;
  return NULL;
}

struct gi_xlator *
gi_xlator_interested(struct gi_xlator *x, enum gi_fop_kind kind)
{
  while (x && !(x->enabled && (!x->kinds || (x->kinds & GI_KIND(kind))) && handler_of(x, kind)))
    x = gi_first_child(x);
  return x;
}

/* Up: everyone who asked sees the reply, then the origin. The fop may be gone when this returns. */
static void
go_up(struct gi_fop *fop)
{
  while (fop->ntell > 0) {
    struct gi_xlator *x = fop->tell[--fop->ntell];

    fop->at = x;
    gi_fop_mark(fop, x, GI_MARK_BACK);
    if (x->cls->complete(x, fop) == GI_HELD)
      return;
    GI_USDT4(leave, x->name, fop->kind, fop, fop->rsp.ret);
  }
  GI_ASSERT(!fop->answered);
  if (fop->origin)
    gi_fop_mark(fop, fop->origin, GI_MARK_BACK);
  else
    gi_steps_end(fop);
  fop->answered = true;
  fop->at = NULL;
  fop->done(fop, fop->done_arg);
}

static void
push_tell(struct gi_fop *fop, struct gi_xlator *x)
{
  GI_ASSERT(x->cls->complete && fop->ntell < GI_FOP_DEPTH);
  fop->tell[fop->ntell++] = x;
}

static void
go_down(struct gi_fop *fop, struct gi_xlator *x)
{
  while (x) {
    fop->at = x;
    fop->answerer = x->layer;
    gi_fop_mark(fop, x, GI_MARK_ENTER);
    GI_USDT3(enter, x->name, fop->kind, fop);
    switch (handler_of(x, fop->kind)(x, fop)) {
    case GI_PASS_TELL:
      push_tell(fop, x);
      break;
    case GI_PASS:
      break;
    case GI_ANSWERED:
      GI_USDT4(leave, x->name, fop->kind, fop, fop->rsp.ret);
      go_up(fop);
      return;
    case GI_HELD: /* the fop may be answered and freed already */
      return;
    }
    x = x->next[fop->kind];
  }
  gi_fop_fail(fop, EOPNOTSUPP);
  go_up(fop);
}

void
gi_fop_submit(struct gi_fop *fop, struct gi_xlator *top, void (*done)(struct gi_fop *fop, void *arg), void *arg)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(!fop->done && done);
  fop->done = done;
  fop->done_arg = arg;
  gi_steps_begin(fop, top);
  go_down(fop, gi_xlator_interested(top, fop->kind));
}

/* The mistake of a translator that answers twice, or what it has let go. */
static void
check_held(const struct gi_fop *fop, const struct gi_xlator *x)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(fop->at == x && !fop->answered);
}

void
gi_fop_forward(struct gi_fop *fop, struct gi_xlator *x)
{
  check_held(fop, x);
  go_down(fop, x->next[fop->kind]);
}

void
gi_fop_forward_tell(struct gi_fop *fop, struct gi_xlator *x)
{
  check_held(fop, x);
  push_tell(fop, x);
  go_down(fop, x->next[fop->kind]);
}

void
gi_fop_forward_to(struct gi_fop *fop, struct gi_xlator *x, struct gi_xlator *child)
{
  check_held(fop, x);
  go_down(fop, gi_xlator_interested(child, fop->kind));
}

void
gi_fop_forward_tell_to(struct gi_fop *fop, struct gi_xlator *x, struct gi_xlator *child)
{
  check_held(fop, x);
  push_tell(fop, x);
  go_down(fop, gi_xlator_interested(child, fop->kind));
}

void
gi_fop_answer(struct gi_fop *fop, struct gi_xlator *x)
{
  check_held(fop, x);
  GI_USDT4(leave, x->name, fop->kind, fop, fop->rsp.ret);
  go_up(fop);
}

void
gi_fop_return(struct gi_fop *fop, struct gi_xlator *x)
{
  check_held(fop, x);
  GI_USDT4(leave, x->name, fop->kind, fop, fop->rsp.ret);
  go_up(fop);
}

void
gi_fop_resume(struct gi_fop *fop, struct gi_xlator *x, enum gi_verdict verdict)
{
  switch (verdict) {
  case GI_PASS:
    gi_fop_forward(fop, x);
    break;
  case GI_PASS_TELL:
    gi_fop_forward_tell(fop, x);
    break;
  case GI_ANSWERED:
    gi_fop_answer(fop, x);
    break;
  case GI_HELD:
    break;
  }
}

void
gi_fop_cancel(struct gi_fop *fop)
{
  struct gi_xlator *x = fop->at;

  if (fop->answered || fop->cancelled || !x)
    return;
  fop->cancelled = true;
  gi_notify(x, GI_EVENT_CANCEL, fop);
}

/* ---- events ---- */

const struct gi_event_info gi_event_table[GI_EVENT_MAX] = {
    [GI_EVENT_PARENT_UP] = {"PARENT_UP", GI_WAY_DOWN},
    [GI_EVENT_PARENT_DOWN] = {"PARENT_DOWN", GI_WAY_DOWN},
    [GI_EVENT_CHILD_UP] = {"CHILD_UP", GI_WAY_UP},
    [GI_EVENT_CHILD_DOWN] = {"CHILD_DOWN", GI_WAY_UP},
    [GI_EVENT_CHILD_CHANGED] = {"CHILD_CHANGED", GI_WAY_UP},
    [GI_EVENT_INVALIDATE] = {"INVALIDATE", GI_WAY_UP},
    [GI_EVENT_CONTENTION] = {"CONTENTION", GI_WAY_UP},
    [GI_EVENT_CANCEL] = {"CANCEL", GI_WAY_HERE},
    [GI_EVENT_CLIENT_GONE] = {"CLIENT_GONE", GI_WAY_DOWN},
    [GI_EVENT_LATENCY] = {"LATENCY", GI_WAY_UP},
    [GI_EVENT_MEASURE] = {"MEASURE", GI_WAY_DOWN},
    [GI_EVENT_RETRY] = {"RETRY", GI_WAY_HERE},
    [GI_EVENT_LOCKS] = {"LOCKS", GI_WAY_UP},
    [GI_EVENT_WRITTEN] = {"WRITTEN", GI_WAY_UP},
    [GI_EVENT_PROMISE] = {"PROMISE", GI_WAY_UP},
    [GI_EVENT_WAITS] = {"WAITS", GI_WAY_UP},
    [GI_EVENT_NO_WORKER] = {"NO_WORKER", GI_WAY_UP},
    [GI_EVENT_LEFT] = {"LEFT", GI_WAY_UP},
};

static void
deliver(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (x->cls->notify && x->initialised && x->cls->notify(x, event, from, data))
    return;
  if (gi_event_table[event].way == GI_WAY_DOWN)
    gi_notify_down(x, event, data);
  else if (gi_event_table[event].way == GI_WAY_UP)
    gi_notify_up(x, event, data);
}

void
gi_notify(struct gi_xlator *x, enum gi_event event, void *data)
{
  deliver(x, event, NULL, data);
}

void
gi_notify_up(struct gi_xlator *x, enum gi_event event, void *data)
{
  GI_ASSERT(gi_event_table[event].way == GI_WAY_UP);
  for (unsigned i = 0; i < x->nparents; i++)
    deliver(x->parents[i], event, x, data);
}

void
gi_notify_down(struct gi_xlator *x, enum gi_event event, void *data)
{
  GI_ASSERT(gi_event_table[event].way == GI_WAY_DOWN);
  for (unsigned i = 0; i < x->nchildren; i++)
    deliver(x->children[i], event, x, data);
}

/* ---- another set of children ---- */

static bool
among(struct gi_xlator *const *set, unsigned n, const struct gi_xlator *x)
{
  for (unsigned i = 0; i < n; i++)
    if (set[i] == x)
      return true;
  return false;
}

void
gi_xlator_take_children(struct gi_xlator *x)
{
  struct gi_xlator **old = x->children, **now = x->incoming;
  unsigned nold = x->nchildren, nnow = x->nincoming;

  GI_ASSERT(now);
  x->children = now;
  x->nchildren = nnow;
  x->incoming = NULL;
  x->nincoming = 0;
  for (unsigned i = 0; i < nold; i++)
    if (!among(now, nnow, old[i]))
      gi_graph_remove_parent(old[i], x);
  for (unsigned i = 0; i < nnow; i++)
    if (!among(old, nold, now[i]))
      gi_graph_add_parent(now[i], x);
  gi_graph_compile(x->graph);
  for (unsigned i = 0; x->graph->active && i < nold; i++)
    if (old[i]->nparents == 0)
      gi_notify(old[i], GI_EVENT_PARENT_DOWN, NULL);
  for (unsigned i = 0; x->graph->active && i < nnow; i++)
    if (!among(old, nold, now[i]) && now[i]->nparents == 1)
      gi_notify(now[i], GI_EVENT_PARENT_UP, NULL);
  gi_free(old);
}

bool
gi_xlator_is_spread(const struct gi_xlator *x)
{
  while (x->nchildren == 1)
    x = x->children[0];
  return x->cls->branches;
}

const char *
gi_xlator_option(const struct gi_xlator *x, const char *name)
{
  const struct gi_vol_node *n = gi_volfile_find(x->graph->volfile, x->name);

  return n ? gi_vol_node_get(n, name) : NULL;
}
