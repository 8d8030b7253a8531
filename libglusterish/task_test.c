/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of tasks and windows.
 */
#include "libglusterish/task.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static int
setup(void **state)
{
  *state = gi_reactor_new(0);
  return 0;
}

static int
teardown(void **state)
{
  gi_reactor_free(*state);
  return 0;
}

struct pair {
  struct gi_reactor *r;
  struct gi_task *task[2];
  char log[64];
  int id;
};

static void
note(struct pair *p, char c)
{
  size_t n = strlen(p->log);
  assert_true(n + 1 < sizeof(p->log));
  p->log[n] = c;
}

static void
inner(void *arg)
{
  struct pair *p = arg;
  char big[64 << 10]; /* stacks are deep enough for this */

  memset(big, 'x', sizeof(big));
  p->task[1] = gi_task_self(p->r);
  note(p, 'b');
  gi_task_wait(p->r);
  assert_int_equal(big[sizeof(big) - 1], 'x');
  note(p, 'd');
  gi_task_wake(p->task[0]);
}

static void
outer(void *arg)
{
  struct pair *p = arg;

  p->task[0] = gi_task_self(p->r);
  note(p, 'a');
  gi_task_start(p->r, inner, p);
  assert_ptr_equal(gi_task_self(p->r), p->task[0]);
  note(p, 'c');
  gi_task_wake(p->task[1]);
  gi_task_wait(p->r);
  note(p, 'e');
}

static void
test_order(void **state)
{
  struct pair p = {.r = *state};

  gi_task_start(p.r, outer, &p);
  assert_null(gi_task_self(p.r));
  assert_string_equal(p.log, "abc");
  gi_reactor_run_deferred(p.r);
  assert_string_equal(p.log, "abcde");
}

static void
early(void *arg)
{
  struct pair *p = arg;

  p->task[0] = gi_task_self(p->r);
  gi_task_wake(p->task[0]);
  gi_task_wait(p->r); /* returns at once: it was woken since the last wait */
  note(p, 'x');
  gi_task_wait(p->r);
  note(p, 'y');
}

static void
test_early_wake(void **state)
{
  struct pair p = {.r = *state};

  gi_task_start(p.r, early, &p);
  assert_string_equal(p.log, "x");
  gi_reactor_run_deferred(p.r);
  assert_string_equal(p.log, "x");
  gi_task_wake(p.task[0]);
  gi_reactor_run_deferred(p.r);
  assert_string_equal(p.log, "xy");
}

struct sleeper {
  struct gi_reactor *r;
  int woke;
};

static void
sleeper(void *arg)
{
  struct sleeper *s = arg;

  for (int i = 0; i < 3; i++) {
    gi_task_sleep(s->r, GI_NSEC_PER_MSEC);
    s->woke++;
  }
}

static void
test_sleep_and_many(void **state)
{
  struct sleeper s = {.r = *state};

  for (int i = 0; i < 100; i++)
    gi_task_start(s.r, sleeper, &s);
  for (int i = 0; i < 10000 && s.woke < 300; i++)
    gi_reactor_turn(s.r, GI_NSEC_PER_MSEC);
  assert_int_equal(s.woke, 300);
}

struct taker {
  struct gi_reactor *r;
  struct gi_window *w;
  uint64_t n;
  int *order, *next;
  int id;
};

static void
taker(void *arg)
{
  struct taker *t = arg;

  gi_window_take(t->w, t->r, t->n);
  t->order[(*t->next)++] = t->id;
}

static void
test_window(void **state)
{
  struct gi_reactor *r = *state;
  struct gi_window w;
  int order[4] = {0}, next = 0;
  struct taker t[4];
  static const uint64_t want[4] = {60, 60, 10, 500}; /* the small one does not overtake; the last is larger than the window */

  gi_window_init(&w, 100);
  for (int i = 0; i < 4; i++) {
    t[i] = (struct taker){r, &w, want[i], order, &next, i + 1};
    gi_task_start(r, taker, &t[i]);
  }
  assert_int_equal(next, 1);
  gi_window_give(&w, 60);
  gi_reactor_run_deferred(r);
  assert_int_equal(next, 3);
  assert_int_equal(w.used, 70);
  gi_window_give(&w, 60);
  gi_reactor_run_deferred(r);
  assert_int_equal(next, 3);
  gi_window_give(&w, 10);
  gi_reactor_run_deferred(r);
  assert_int_equal(next, 4);
  assert_int_equal(w.used, 500);
  assert_int_equal(w.pauses, 3);
  for (int i = 0; i < 4; i++)
    assert_int_equal(order[i], i + 1);
  gi_window_give(&w, 500);
  assert_int_equal(w.used, 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_order, setup, teardown),
      cmocka_unit_test_setup_teardown(test_early_wake, setup, teardown),
      cmocka_unit_test_setup_teardown(test_sleep_and_many, setup, teardown),
      cmocka_unit_test_setup_teardown(test_window, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
