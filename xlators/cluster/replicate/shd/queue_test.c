/* SPDX-License-Identifier: Apache-2.0
 *
 * The ready queue and the throttle of the self-heal daemon by themselves.
 */
#include "xlators/cluster/replicate/shd/shd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ITEMS 64

struct rig {
  struct gi_reactor *r;
  struct rep_queue q;
  unsigned heals[ITEMS + 1]; /* per item: how often */
  unsigned now, most;        /* heals under way, and the greatest number of them */
  struct gi_task *held[ITEMS];
  unsigned nheld;
  bool open; /* heals end at once */
  bool result;
  unsigned put, refused; /* of the producer */
  unsigned first, last;
  bool drained;
};

static bool
heal(void *arg, const struct rep_item *item)
{
  struct rig *g = arg;

  g->heals[item->gfid.b[0]]++;
  if (++g->now > g->most)
    g->most = g->now;
  if (!g->open) {
    g->held[g->nheld++] = gi_task_self(g->r);
    gi_task_wait(g->r);
  }
  g->now--;
  return g->result;
}

static void
release(struct rig *g)
{
  assert_true(g->nheld > 0);
  gi_task_wake(g->held[0]);
  memmove(g->held, g->held + 1, --g->nheld * sizeof(g->held[0]));
  gi_reactor_turn(g->r, 0);
}

static void
put_one(struct rig *g, unsigned n)
{
  struct rep_item item = {.gfid.b[0] = (uint8_t)n};

  item.key = item.gfid;
  if (rep_queue_put(&g->q, &item))
    g->put++;
  else
    g->refused++;
}

static void
produce(void *arg)
{
  struct rig *g = arg;

  for (unsigned n = g->first; n <= g->last; n++)
    put_one(g, n);
  rep_queue_drain(&g->q);
  g->drained = true;
}

static void
rig_start(struct rig *g, unsigned limit, unsigned parallel)
{
  memset(g, 0, sizeof(*g));
  g->r = gi_reactor_new(0);
  g->result = true;
  rep_queue_init(&g->q, g->r, heal, g);
  rep_queue_resize(&g->q, limit, parallel);
}

static void
rig_produce(struct rig *g, unsigned first, unsigned last)
{
  g->first = first;
  g->last = last;
  g->drained = false;
  gi_task_start(g->r, produce, g);
  gi_reactor_turn(g->r, 0);
}

static void
rig_end(struct rig *g)
{
  rep_queue_finish(&g->q);
  gi_reactor_free(g->r);
}

static void
produce_twice(void *arg)
{
  struct rig *g = arg;

  for (unsigned n = 1; n <= 5; n++)
    put_one(g, n);
  produce(g);
}

static void
each_object_once(void **state)
{
  struct rig g;

  rig_start(&g, 10, 1);
  g.first = 1;
  g.last = 6;
  gi_task_start(g.r, produce_twice, &g);
  gi_reactor_turn(g.r, 0);
  assert_int_equal(g.put, 6);
  assert_int_equal(g.refused, 5);
  assert_int_equal(g.q.running, 1);
  assert_int_equal(g.q.waiting, 5);
  while (g.nheld)
    release(&g);
  for (unsigned n = 1; n <= 6; n++)
    assert_int_equal(g.heals[n], 1);
  assert_true(g.drained);
  assert_int_equal(g.most, 1);
  assert_int_equal(g.q.progress, 6);
  assert_int_equal(g.q.nitems, 0);
  rig_end(&g);
}

static void
several_at_a_time(void **state)
{
  struct rig g;

  rig_start(&g, 100, 4);
  rig_produce(&g, 1, 20);
  assert_int_equal(g.now, 4);
  release(&g);
  assert_int_equal(g.now, 4);
  rep_queue_resize(&g.q, 100, 2);
  release(&g);
  release(&g);
  assert_int_equal(g.now, 2);
  rep_queue_resize(&g.q, 100, 6);
  gi_reactor_turn(g.r, 0);
  assert_int_equal(g.now, 6);
  while (g.nheld)
    release(&g);
  assert_true(g.drained);
  assert_int_equal(g.q.progress, 20);
  assert_int_equal(g.most, 6);
  rig_end(&g);
}

static void
who_adds_waits_for_room(void **state)
{
  struct rig g;

  rig_start(&g, 3, 1);
  rig_produce(&g, 1, 10);
  assert_int_equal(g.put, 4); /* one was taken out to be healed */
  assert_int_equal(g.q.waiting, 3);
  release(&g);
  assert_int_equal(g.put, 5);
  rep_queue_resize(&g.q, 5, 1);
  gi_reactor_turn(g.r, 0);
  assert_int_equal(g.put, 7);
  while (g.nheld)
    release(&g);
  assert_int_equal(g.put, 10);
  assert_true(g.drained);
  rig_end(&g);
}

static void
tried_in_vain_is_remembered_for_the_pass(void **state)
{
  struct rig g;

  rig_start(&g, 10, 2);
  g.open = true;
  g.result = false;
  rig_produce(&g, 1, 3);
  assert_true(g.drained);
  rig_produce(&g, 1, 3);
  assert_int_equal(g.refused, 3);
  rep_queue_forget(&g.q);
  g.result = true;
  rig_produce(&g, 1, 3);
  assert_int_equal(g.heals[2], 2);
  assert_int_equal(g.q.progress, 3);
  rig_end(&g);
}

static void
stopping_drops_what_waits(void **state)
{
  struct rig g;

  rig_start(&g, 4, 1);
  rig_produce(&g, 1, 10);
  rep_queue_stop(&g.q);
  gi_reactor_turn(g.r, 0);
  assert_false(g.drained); /* one is still being healed */
  assert_int_equal(g.refused, 5);
  release(&g);
  assert_true(g.drained);
  assert_int_equal(g.q.progress, 1);
  rep_queue_start(&g.q);
  rig_produce(&g, 11, 12);
  while (g.nheld)
    release(&g);
  assert_int_equal(g.q.progress, 3);
  rig_end(&g);
}

static void
thousands(void **state)
{
  struct rig g;

  rig_start(&g, 50, 8);
  g.open = true;
  for (unsigned round = 0; round < 200; round++)
    rig_produce(&g, 1, ITEMS);
  assert_int_equal(g.q.progress, 200 * ITEMS);
  assert_int_equal(g.q.nitems, 0);
  rig_end(&g);
}

/* ---- the throttle ---- */

#define MS 1000000ull
#define BOTH (REP_THROTTLE_WINDOW | REP_THROTTLE_PARALLEL)

#define ANSWERS 12 /* in a measuring window */

static const struct gi_load quiet = {0};
static const struct gi_load fast = {100, 210, 200, 400};
static const struct gi_load felt = {100, 600, 200, 2000};
static const struct gi_load bearable = {100, 250, 200, 500};

/* One measuring window in which `children` answer alike, but for the one that is `slow` (none: `children`). Heals are always short of
 * both, or of the number under way alone, and once. True if something changed. */
static bool
window_of(struct rep_throttle *p, unsigned children, const struct gi_load *load, unsigned slow, bool parallel_once,
          uint64_t *now)
{
  bool moved = false;

  *now += GI_LOAD_WINDOW_NS;
  for (unsigned i = 0; i < ANSWERS; i++) {
    unsigned child = i % children, short_of = !parallel_once ? BOTH : i == 3 ? REP_THROTTLE_PARALLEL : 0;

    moved |= rep_throttle_answer(p, child, child == slow ? &felt : load, short_of, *now + i);
  }
  return moved;
}

static bool
window(struct rep_throttle *p, unsigned children, const struct gi_load *load, uint64_t *now)
{
  return window_of(p, children, load, children, false, now);
}

/* Three bricks that told `load` twenty times. */
static struct rep_throttle
after_a_while(const struct gi_load *load, uint64_t *now)
{
  struct rep_throttle p;

  rep_throttle_init(&p);
  p.children = 7;
  for (int i = 0; i < 20; i++)
    window(&p, 3, load, now);
  return p;
}

static void
nobody_there_heals_run_freely(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(&quiet, &now);

  assert_int_equal(p.window, REP_THROTTLE_WINDOW_MAX);
  assert_int_equal(p.parallel, REP_THROTTLE_PARALLEL_MAX);
}

static void
the_foreground_decides(void **state)
{
  struct rep_throttle p;
  uint64_t now = 1000 * MS, had;

  rep_throttle_init(&p);
  p.children = 7;
  for (int i = 0; i < 20; i++)
    window(&p, 3, &quiet, &now);
  had = p.window;
  assert_true(window(&p, 3, &felt, &now));
  assert_int_equal(p.window, had / 2);
  assert_int_equal(p.parallel, REP_THROTTLE_PARALLEL_MAX / 2);
  for (int i = 0; i < 20; i++)
    window(&p, 3, &felt, &now);
  assert_int_equal(p.window, REP_THROTTLE_BLOCK); /* never nothing */
  assert_int_equal(p.parallel, 1);
  assert_false(window(&p, 3, &bearable, &now));
  assert_true(window(&p, 3, &fast, &now));
  assert_int_equal(p.window, 2 * REP_THROTTLE_BLOCK); /* step by step */
  assert_int_equal(p.parallel, 1);
}

/* One window proves little about a few operations: objects are added slowly, and what was felt starts the count anew. */
static void
one_object_more_after_a_while(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(&felt, &now);

  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 7; i++) {
      window(&p, 3, &fast, &now);
      window(&p, 3, &bearable, &now);
    }
    assert_int_equal(p.parallel, 1);
    if (round == 0)
      window(&p, 3, &felt, &now);
  }
  window(&p, 3, &fast, &now);
  assert_int_equal(p.parallel, 2);
  for (int i = 0; i < 7; i++)
    window(&p, 3, &fast, &now);
  assert_int_equal(p.parallel, 2);
  window(&p, 3, &fast, &now);
  assert_int_equal(p.parallel, 3);
}

/* Everything stands still for a moment: that is no reason to take more. */
static void
stuck_is_not_idle(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(&felt, &now);

  for (int i = 0; i < 9; i++)
    assert_false(window(&p, 3, &quiet, &now));
  window(&p, 3, &quiet, &now);
  assert_true(window(&p, 3, &quiet, &now));
  assert_int_equal(p.window, 8 * REP_THROTTLE_BLOCK);
}

/* What was not used proved nothing. */
static void
only_what_was_short_grows(void **state)
{
  struct rep_throttle p;
  uint64_t now = 1000 * MS;

  rep_throttle_init(&p);
  p.children = 1;
  for (int i = 0; i < 8 * REP_THROTTLE_PARALLEL_MAX; i++)
    window_of(&p, 1, &fast, 1, true, &now);
  assert_int_equal(p.window, REP_THROTTLE_BLOCK);
  assert_int_equal(p.parallel, REP_THROTTLE_PARALLEL_MAX);
}

static void
later_heals_begin_with_the_least(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(&quiet, &now);

  rep_throttle_begin(&p, now + 900 * MS);
  assert_int_equal(p.window, REP_THROTTLE_WINDOW_MAX);
  rep_throttle_begin(&p, now + 1100 * MS);
  assert_int_equal(p.window, REP_THROTTLE_BLOCK);
  assert_int_equal(p.parallel, 1);
}

static void
one_slow_brick_is_enough(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(&quiet, &now);

  window_of(&p, 3, &quiet, 1, false, &now);
  assert_int_equal(p.parallel, REP_THROTTLE_PARALLEL_MAX / 2);
}

static void
one_decision_per_measurement(void **state)
{
  struct rep_throttle p;
  uint64_t now = 1000 * MS;

  rep_throttle_init(&p);
  p.children = 1;
  window(&p, 1, &quiet, &now);
  for (unsigned i = 0; i < 1000; i++)
    assert_false(rep_throttle_answer(&p, 0, &felt, BOTH, now + 20 * MS));
}

static void
bricks_that_do_not_tell(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(NULL, &now);

  assert_int_equal(p.parallel, 1); /* like GlusterFS */
  rep_throttle_limit(&p, 5);
  for (int i = 0; i < 20; i++)
    window(&p, 3, NULL, &now);
  assert_int_equal(p.parallel, 5);
}

static void
not_heard_yet_is_not_silent(void **state)
{
  struct rep_throttle p;
  uint64_t now = 1000 * MS;

  rep_throttle_init(&p);
  p.children = 7;
  window(&p, 2, &fast, &now); /* the third says nothing so far */
  assert_int_equal(p.window, 2 * REP_THROTTLE_BLOCK);
  rep_throttle_answer(&p, 1, NULL, BOTH, now); /* an error */
  window(&p, 1, &fast, &now);
  assert_int_equal(p.window, 3 * REP_THROTTLE_BLOCK);
  rep_throttle_answer(&p, 2, NULL, BOTH, now);
  window(&p, 2, &fast, &now);
  assert_true(p.window > 3 * REP_THROTTLE_BLOCK + REP_THROTTLE_BLOCK);
  assert_int_equal(p.parallel, 1);
}

static void
the_administrator_limits(void **state)
{
  uint64_t now = 1000 * MS;
  struct rep_throttle p = after_a_while(&quiet, &now);

  rep_throttle_limit(&p, 3);
  assert_int_equal(p.parallel, 3);
  window(&p, 3, &quiet, &now);
  assert_int_equal(p.parallel, 3);
  rep_throttle_limit(&p, 0);
  window(&p, 3, &quiet, &now);
  assert_int_equal(p.parallel, REP_THROTTLE_PARALLEL_MAX);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_at_a_time),
      cmocka_unit_test(who_adds_waits_for_room),
      cmocka_unit_test(tried_in_vain_is_remembered_for_the_pass),
      cmocka_unit_test(stopping_drops_what_waits),
      cmocka_unit_test(thousands),
      cmocka_unit_test(each_object_once),
      cmocka_unit_test(nobody_there_heals_run_freely),
      cmocka_unit_test(the_foreground_decides),
      cmocka_unit_test(one_object_more_after_a_while),
      cmocka_unit_test(stuck_is_not_idle),
      cmocka_unit_test(only_what_was_short_grows),
      cmocka_unit_test(later_heals_begin_with_the_least),
      cmocka_unit_test(one_slow_brick_is_enough),
      cmocka_unit_test(one_decision_per_measurement),
      cmocka_unit_test(bricks_that_do_not_tell),
      cmocka_unit_test(not_heard_yet_is_not_silent),
      cmocka_unit_test(the_administrator_limits),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
