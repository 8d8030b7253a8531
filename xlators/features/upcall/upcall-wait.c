/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict volumes: an operation that changed something is answered when all
 * clients that were told of it have said that neither they nor their kernels keep
 * what was before. Who does not answer is waited for as long as it may trust what
 * it knows, which it counts from before (promise.h). Nobody is waited for
 *
 * - who changes the same object itself, or asks for a lock of it: its kernel may
 *   not be able to give up pages until that is answered, which may in turn wait
 *   for ours;
 * - who did not answer in that time, a moment ago: it trusts nothing of before. It
 *   is still told, in order; the first answer of it makes it one that is waited for
 *   again.
 *
 * What waits has been done, and needs no worker. It says so, but for what waits
 * while more than UP_IDLE_MAX answers are missing: who counts operations
 * (performance/io-threads) lets in no more than that then.
 */
#include "xlators/features/upcall/upcall.h"

#define SLOW_NS (5 * GI_NSEC_PER_SEC)

/* A client has not answered yet. */
struct up_ack {
  struct gi_list link;     /* upcall.acks */
  struct gi_list fop_link; /* up_fop.acks */
  struct up_fop *f;        /* waits for it */
  struct gi_client_id *id; /* valid until it is gone */
  struct gi_gfid gfid;     /* what it was told of */
  uint64_t serial;
};

static bool
strict(const struct upcall *up)
{
  return ((const struct up_options *)up->x->options)->strict && !up->x->draining;
}

static bool
touches(const struct gi_fop *fop, const struct gi_gfid *gfid)
{
  return gi_gfid_equal(gi_fop_gfid(fop), gfid) || gi_gfid_equal(&fop->loc.pargfid, gfid) ||
         gi_gfid_equal(&fop->loc2.pargfid, gfid);
}

/* ---- answers ---- */

/* It is not waited for any more. What waits for nobody any more goes to `ready`. */
static void
settle(struct upcall *up, struct up_ack *a, struct gi_list *ready)
{
  struct up_fop *f = a->f;
  GI_CHECK(f->fop, GI_FOP_MAGIC);
  GI_ASSERT(f->nacks > 0 && up->nacks > 0);
  GI_ASSERT(!f->fop->answered);
  gi_list_del(&a->link);
  gi_list_del(&a->fop_link);
  gi_free(a);
  up->nacks--;
  if (--f->nacks || !f->held)
    return;
  f->held = false;
  gi_list_del(&f->held_link);
  gi_list_add_tail(ready, &f->held_link);
}

static void
go_on(struct upcall *up, struct gi_list *ready)
{
  while (!gi_list_empty(ready)) {
    struct up_fop *f = gi_list_first(ready, struct up_fop, held_link);
    struct gi_fop *fop = f->fop;
    gi_list_del(&f->held_link);
    up_change_ended(up, fop);
    gi_fop_return(fop, up->x);
  }
  if (up->drained && gi_list_empty(&up->held)) {
    void (*done)(struct gi_xlator * x) = up->drained;
    up->drained = NULL;
    done(up->x);
  }
}

static void
set_patience(struct upcall *up)
{
  if (gi_list_empty(&up->held)) {
    gi_timer_cancel(&up->patience);
    return;
  }
  uint64_t now = gi_now(up->x->reactor), until = gi_list_first(&up->held, struct up_fop, held_link)->until;
  gi_timer_set(&up->patience, until > now ? until - now : 0);
}

static void
patience_ends(void *arg)
{
  struct upcall *up = arg;
  struct gi_list ready;
  uint64_t now = gi_now(up->x->reactor);
  gi_list_init(&ready);
  gi_list_foreach_safe(f, &up->held, struct up_fop, held_link) {
    if (f->until > now)
      break;
    gi_list_foreach_safe(a, &f->acks, struct up_ack, fop_link) {
      struct up_client *c = up_client_find(up, a->id);
      if (c)
        c->slow_until = now + SLOW_NS;
      up->metrics.unanswered++;
      settle(up, a, &ready);
    }
  }
  set_patience(up);
  go_on(up, &ready);
}

void
up_acknowledged(struct upcall *up, const void *id, uint64_t serial)
{
  struct gi_list ready;
  struct up_client *c = up_client_find(up, id);
  gi_list_init(&ready);
  if (c)
    c->slow_until = 0;
  gi_list_foreach(a, &up->acks, struct up_ack, link)
    if (a->serial == serial && a->id == id) {
      settle(up, a, &ready);
      break;
    }
  go_on(up, &ready);
}

static void
nobody_waits_for(struct upcall *up, const void *id, const struct gi_fop *fop)
{
  struct gi_list ready;
  gi_list_init(&ready);
  gi_list_foreach_safe(a, &up->acks, struct up_ack, link)
    if ((!id || a->id == id) && (!fop || touches(fop, &a->gfid)))
      settle(up, a, &ready);
  go_on(up, &ready);
}

void
up_wait_gone(struct upcall *up, const void *id)
{
  if (up->nacks)
    nobody_waits_for(up, id, NULL);
}

/* ---- changes ---- */

void
up_change_comes(struct upcall *up, struct gi_fop *fop)
{
  if (up->nacks && fop->caller.client)
    nobody_waits_for(up, fop->caller.client, fop);
}

void
up_change_begins(struct upcall *up, struct gi_fop *fop)
{
  struct up_fop *f = gi_fop_private(fop, up->x);
  GI_ASSERT(!f->fop && !f->nacks);
  if (!strict(up))
    return;
  f->fop = fop;
  gi_list_init(&f->acks);
  gi_list_add_tail(&up->under_way, &f->link);
  up_change_comes(up, fop);
}

void
up_change_ended(struct upcall *up, struct gi_fop *fop)
{
  struct up_fop *f = gi_fop_private(fop, up->x);
  if (!f->fop)
    return;
  GI_ASSERT(f->nacks == 0 && !f->held && f->fop == fop);
  gi_list_del(&f->link);
  f->fop = NULL;
}

bool
up_change_waits(struct upcall *up, struct gi_fop *fop)
{
  struct up_fop *f = gi_fop_private(fop, up->x);
  GI_ASSERT(!f->held && (!f->nacks || f->fop == fop));
  if (!f->fop || !f->nacks) {
    up_change_ended(up, fop);
    return false;
  }
  f->held = true;
  f->until = gi_now(up->x->reactor) + up_lease(up);
  gi_list_add_tail(&up->held, &f->held_link);
  char who[GI_CLIENT_TEXT];
  size_t len = gi_client_text(gi_list_first(&f->acks, struct up_ack, fop_link)->id, who);
  gi_fop_waits(fop, GI_WAIT_CLIENT, "its word that it has heard of the change", gi_fop_strdup(fop, who, len));
  up->metrics.waited++;
  if (gi_list_first(&up->held, struct up_fop, held_link) == f)
    set_patience(up);
  if (up->nacks <= UP_IDLE_MAX)
    gi_notify_up(up->x, GI_EVENT_NO_WORKER, fop);
  return true;
}

uint64_t
up_wait_for(struct upcall *up, const struct gi_fop *fop, struct gi_client_id *id, const struct gi_gfid *gfid)
{
  struct up_fop *f = gi_fop_private((struct gi_fop *)fop, up->x);
  struct up_client *c = up_client_find(up, id);
  if (!f->fop || !strict(up) || !c || c->slow_until > gi_now(up->x->reactor))
    return 0;
  gi_list_foreach(other, &up->under_way, struct up_fop, link)
    if (other->fop->caller.client == id && touches(other->fop, gfid))
      return 0;
  struct up_ack *a = gi_new(struct up_ack);
  a->f = f;
  a->id = id;
  a->gfid = *gfid;
  a->serial = ++up->serial;
  gi_list_add_tail(&up->acks, &a->link);
  gi_list_add_tail(&f->acks, &a->fop_link);
  f->nacks++;
  up->nacks++;
  GI_ASSERT(!f->held);
  return a->serial;
}

/* ---- life ---- */

void
up_wait_init(struct upcall *up)
{
  gi_list_init(&up->under_way);
  gi_list_init(&up->held);
  gi_list_init(&up->acks);
  gi_timer_init(&up->patience, up->x->reactor, patience_ends, up);
}

void
up_wait_finish(struct upcall *up)
{
  GI_ASSERT(gi_list_empty(&up->held) && gi_list_empty(&up->acks) && gi_list_empty(&up->under_way));
  gi_timer_finish(&up->patience);
}

void
up_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct upcall *up = up_of(x);
  GI_ASSERT(x->draining && !up->drained);
  up->drained = done;
  nobody_waits_for(up, NULL, NULL);
}
