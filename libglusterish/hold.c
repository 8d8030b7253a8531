/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that wait for something. See hold.h.
 */
#include "libglusterish/hold.h"
#include "libglusterish/mem.h"

#include <errno.h>

static struct gi_held *
held_of(const struct gi_hold *h, struct gi_fop *fop)
{
  return gi_fop_private(fop, h->x);
}

static void
leaves(struct gi_hold *h, struct gi_fop *fop)
{
  GI_ASSERT(held_of(h, fop)->waiting && h->count > 0);
  gi_list_del(&fop->link);
  held_of(h, fop)->waiting = false;
  h->count--;
}

static void
settle(struct gi_hold *h)
{
  void (*done)(struct gi_xlator *) = h->drained;
  if (!done || h->count)
    return;
  h->drained = NULL;
  done(h->x);
}

static void
serve(void *arg)
{
  struct gi_hold *h = arg;
  struct gi_list line = GI_LIST_INIT(line);
  gi_list_splice_tail(&line, &h->ready);
  while (!gi_list_empty(&line)) {
    struct gi_fop *fop = gi_list_first(&line, struct gi_fop, link);
    leaves(h, fop);
    held_of(h, fop)->resumed = true;
    gi_fop_resume(fop, h->x, h->again(h->x, fop));
  }
  settle(h);
}

void
gi_hold_init(struct gi_hold *h, struct gi_xlator *x, gi_fop_fn *again)
{
  GI_ASSERT(x->cls->fop_bytes >= sizeof(struct gi_held));
  *h = (struct gi_hold){.x = x, .again = again};
  gi_list_init(&h->ready);
  gi_defer_init(&h->serve, serve, h);
}

void
gi_hold_finish(struct gi_hold *h)
{
  GI_ASSERT(h->count == 0 && gi_list_empty(&h->ready) && !h->drained);
  gi_defer_cancel(&h->serve);
}

enum gi_verdict
gi_hold_wait(struct gi_hold *h, struct gi_list *line, struct gi_fop *fop)
{
  struct gi_held *f = held_of(h, fop);
  GI_ASSERT(!f->waiting);
  f->waiting = true;
  h->count++;
  gi_list_add_tail(line, &fop->link);
  gi_fop_waits(fop, GI_WAIT_ORDER, "what was asked for already", NULL);
  return GI_HELD;
}

void
gi_hold_end(struct gi_hold *h, struct gi_list *line)
{
  if (gi_list_empty(line))
    return;
  GI_ASSERT(h->count > 0);
  gi_list_splice_tail(&h->ready, line);
  gi_defer_add(h->x->reactor, &h->serve);
}

void
gi_hold_cancel(struct gi_hold *h, struct gi_fop *fop)
{
  if (!held_of(h, fop)->waiting)
    return;
  leaves(h, fop);
  gi_fop_fail(fop, EINTR);
  gi_fop_answer(fop, h->x);
  settle(h);
}

void
gi_hold_drain(struct gi_hold *h, void (*done)(struct gi_xlator *x))
{
  GI_ASSERT(!h->drained && done);
  h->drained = done;
  settle(h);
}
