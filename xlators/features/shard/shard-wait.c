/* SPDX-License-Identifier: Apache-2.0
 *
 * How tasks wait for each other: for a change of something, and at a gate.
 */
#include "xlators/features/shard/shard.h"

struct waiter {
  struct gi_list link;
  struct gi_task *task;
  bool alone, over;
};

void
sh_wait(struct gi_reactor *r, struct sh_waiters *w)
{
  struct waiter me = {.task = gi_task_self(r)};

  GI_ASSERT(me.task);
  gi_list_add_tail(&w->tasks, &me.link);
  while (!me.over)
    gi_task_wait(r);
}

static void
let_go(struct waiter *w)
{
  GI_ASSERT(!w->over);
  gi_list_del(&w->link);
  w->over = true;
  gi_task_wake(w->task);
}

void
sh_wake(struct sh_waiters *w)
{
  while (!gi_list_empty(&w->tasks))
    let_go(gi_list_first(&w->tasks, struct waiter, link));
}

static bool
may_enter(const struct sh_gate *g, bool alone)
{
  return g->inside == 0 || (!alone && !g->alone);
}

static void
enter(struct sh_gate *g, bool alone)
{
  GI_ASSERT(may_enter(g, alone));
  g->inside++;
  g->alone = alone;
}

void
sh_gate_enter(struct gi_reactor *r, struct sh_gate *g, bool alone)
{
  struct waiter me = {.task = gi_task_self(r), .alone = alone};

  GI_ASSERT(me.task);
  if (gi_list_empty(&g->waiting) && may_enter(g, alone)) {
    enter(g, alone);
    return;
  }
  gi_list_add_tail(&g->waiting, &me.link);
  while (!me.over)
    gi_task_wait(r);
}

void
sh_gate_leave(struct sh_gate *g)
{
  GI_ASSERT(g->inside > 0 && (!g->alone || g->inside == 1));
  g->inside--;
  if (g->inside == 0)
    g->alone = false;
  while (!gi_list_empty(&g->waiting)) {
    struct waiter *next = gi_list_first(&g->waiting, struct waiter, link);

    if (!may_enter(g, next->alone))
      return;
    enter(g, next->alone);
    let_go(next);
  }
}
