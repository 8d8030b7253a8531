/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on one object, one after another.
 */
#include "libglusterish/serial.h"

#include "libglusterish/mem.h"

static bool
nobody_waits(const struct gi_serial *s)
{
  return !s->waiting.next || gi_list_empty(&s->waiting);
}

static struct gi_list *
take_first(struct gi_list *turns)
{
  struct gi_list *turn = turns->next;

  gi_list_del(turn);
  return turn;
}

bool
gi_serial_is_free(const struct gi_serial *s)
{
  return !s->taken && nobody_waits(s);
}

void
gi_serial_take(struct gi_serial *s)
{
  GI_ASSERT(gi_serial_is_free(s));
  s->taken = true;
}

bool
gi_serial_wait(struct gi_serial *s, struct gi_list *turn)
{
  if (gi_serial_is_free(s))
    return false;
  if (!s->waiting.next)
    gi_list_init(&s->waiting);
  gi_list_add_tail(&s->waiting, turn);
  return true;
}

bool
gi_serial_enter(struct gi_serial *s, struct gi_list *turn)
{
  if (gi_serial_wait(s, turn))
    return false;
  s->taken = true;
  return true;
}

void
gi_serial_leave(struct gi_serial *s, gi_serial_fn *begin, void *arg)
{
  GI_ASSERT(s->taken);
  s->taken = false;
  if (s->passing) /* from inside `begin`: the loop below goes on */
    return;
  s->passing = true;
  while (!s->taken && !nobody_waits(s)) {
    s->taken = true;
    begin(take_first(&s->waiting), arg);
  }
  s->passing = false;
}

bool
gi_serial_cancel(struct gi_serial *s, struct gi_list *turn)
{
  if (nobody_waits(s))
    return false;
  for (struct gi_list *t = s->waiting.next; t != &s->waiting; t = t->next)
    if (t == turn) {
      gi_list_del(turn);
      return true;
    }
  return false;
}

/* ---- from the reactor ---- */

static void
begin_turns(void *arg)
{
  struct gi_serial_later *later = arg;
  struct gi_list turns = GI_LIST_INIT(turns);

  gi_list_splice_tail(&turns, &later->turns);
  while (!gi_list_empty(&turns))
    later->begin(take_first(&turns), later->arg);
}

void
gi_serial_later_init(struct gi_serial_later *later, struct gi_reactor *r, gi_serial_fn *begin, void *arg)
{
  *later = (struct gi_serial_later){.reactor = r, .begin = begin, .arg = arg};
  gi_list_init(&later->turns);
  gi_defer_init(&later->defer, begin_turns, later);
}

void
gi_serial_later_finish(struct gi_serial_later *later)
{
  GI_ASSERT(gi_list_empty(&later->turns));
  gi_defer_cancel(&later->defer);
}

/* Who begins later has the turn from now on, so nobody gets in between. */
void
gi_serial_leave_later(struct gi_serial *s, struct gi_serial_later *later)
{
  GI_ASSERT(s->taken);
  if (nobody_waits(s)) {
    s->taken = false;
    return;
  }
  gi_list_add_tail(&later->turns, take_first(&s->waiting));
  gi_defer_add(later->reactor, &later->defer);
}
