/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of virtual.h: the table of a real reactor with other clocks,
 * timers and chance.
 */
#include "tests/fuzz/virtual.h"
#include "libglusterish/mem.h"

struct due {
  struct gi_list link; /* sorted by time, then by age */
  struct gi_timer *t;
  uint64_t at;
};

static struct gi_reactor_ops ops;
static struct gi_list timers;
static uint64_t now, chance;

static uint64_t
clock_now(struct gi_reactor *r)
{
  return now;
}

static struct gi_time
clock_wall(struct gi_reactor *r)
{
  return (struct gi_time){.sec = 1700000000 + (int64_t)(now / GI_NSEC_PER_SEC), .nsec = (uint32_t)(now % GI_NSEC_PER_SEC)};
}

static void
sequence(struct gi_reactor *r, void *out, size_t len)
{
  for (uint8_t *p = out; len-- > 0; p++) {
    chance = chance * 6364136223846793005ull + 1442695040888963407ull;
    *p = (uint8_t)(chance >> 56);
  }
}

static void
timer_cancel(struct gi_timer *t)
{
  struct due *d = t->impl;
  gi_list_del(&d->link);
  gi_list_init(&d->link);
  t->armed = false;
}

static void
timer_set(struct gi_timer *t, uint64_t delay_ns)
{
  if (t->armed)
    timer_cancel(t);
  if (!t->impl)
    t->impl = gi_new(struct due);
  struct due *d = t->impl;
  *d = (struct due){.t = t, .at = delay_ns < UINT64_MAX - now ? now + delay_ns : UINT64_MAX};
  struct gi_list *before = &timers;
  gi_list_foreach(other, &timers, struct due, link) {
    if (other->at > d->at) {
      before = &other->link;
      break;
    }
  }
  gi_list_add_tail(before, &d->link);
  t->armed = true;
}

static void
timer_finish(struct gi_timer *t)
{
  gi_free(t->impl);
  t->impl = NULL;
}

struct gi_reactor *
virtual_reactor_new(void)
{
  struct gi_reactor *r = gi_reactor_new(0);
  ops = *r->ops;
  ops.now = clock_now;
  ops.wall = clock_wall;
  ops.random = sequence;
  ops.timer_set = timer_set;
  ops.timer_cancel = timer_cancel;
  ops.timer_finish = timer_finish;
  ops.set_poll = NULL;
  r->ops = &ops;
  gi_list_init(&timers);
  now = 1000 * GI_NSEC_PER_SEC;
  chance = 1;
  return r;
}

bool
virtual_pass(uint64_t ns)
{
  if (gi_list_empty(&timers))
    return false;
  uint64_t at = gi_list_first(&timers, struct due, link)->at;
  if (at > now && at - now > ns)
    return false;
  now = at > now ? at : now;
  while (!gi_list_empty(&timers) && gi_list_first(&timers, struct due, link)->at <= now) {
    struct gi_timer *t = gi_list_first(&timers, struct due, link)->t;
    timer_cancel(t);
    now++; /* whoever sets it anew for at once has its turn later */
    t->fn(t->arg);
  }
  return true;
}

uint64_t
virtual_now(void)
{
  return now;
}
