/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on one object: their order, giving up, and that the stack does not
 * grow with their number.
 */
#include "libglusterish/mem.h"
#include "libglusterish/serial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

struct job {
  struct gi_list turn;
  char name;
  bool at_once;         /* ends when it begins */
  struct job *followed; /* comes while this one begins */
};

static struct {
  struct gi_serial serial;
  struct gi_serial_later later;
  bool use_later;
  char begun[16];
  unsigned n, depth, deepest;
} bench;

static void begin(struct gi_list *turn, void *arg);

static void
leave(void)
{
  if (bench.use_later)
    gi_serial_leave_later(&bench.serial, &bench.later);
  else
    gi_serial_leave(&bench.serial, begin, NULL);
}

static void
run(struct job *j)
{
  if (++bench.depth > bench.deepest)
    bench.deepest = bench.depth;
  if (bench.n < sizeof(bench.begun) - 1)
    bench.begun[bench.n++] = j->name;
  if (j->at_once)
    leave();
  if (j->followed && gi_serial_enter(&bench.serial, &j->followed->turn))
    run(j->followed);
  bench.depth--;
}

static void
begin(struct gi_list *turn, void *arg)
{
  run(gi_list_item(turn, struct job, turn));
}

static void
come(struct job *j, char name, bool at_once)
{
  *j = (struct job){.name = name, .at_once = at_once};
  gi_list_init(&j->turn);
  if (gi_serial_enter(&bench.serial, &j->turn))
    run(j);
}

static int
setup(void **state)
{
  memset(&bench, 0, sizeof(bench));
  return 0;
}

static void
test_one_after_another(void **state)
{
  struct job a, b, c;

  come(&a, 'a', false);
  come(&b, 'b', false);
  come(&c, 'c', false);
  assert_string_equal(bench.begun, "a");
  leave();
  assert_string_equal(bench.begun, "ab");
  leave();
  assert_string_equal(bench.begun, "abc");
  assert_false(gi_serial_is_free(&bench.serial));
  leave();
  assert_true(gi_serial_is_free(&bench.serial));
}

static void
test_giving_up(void **state)
{
  struct job a, b, c;

  come(&a, 'a', false);
  assert_false(gi_serial_cancel(&bench.serial, &a.turn)); /* it has begun */
  come(&b, 'b', false);
  come(&c, 'c', false);
  assert_true(gi_serial_cancel(&bench.serial, &b.turn));
  assert_false(gi_serial_cancel(&bench.serial, &b.turn));
  leave();
  assert_string_equal(bench.begun, "ac");
  leave();
  assert_true(gi_serial_is_free(&bench.serial));
}

static void
test_who_comes_meanwhile_is_last(void **state)
{
  struct job a, b, c, d;

  come(&a, 'a', false);
  come(&b, 'b', true);
  come(&c, 'c', true);
  d = (struct job){.name = 'd', .at_once = true};
  b.followed = &d;
  leave();
  assert_string_equal(bench.begun, "abcd");
  assert_true(gi_serial_is_free(&bench.serial));
}

static void
test_the_stack_does_not_grow(void **state)
{
  enum { MANY = 100000 };
  struct job first, *job = gi_zalloc(MANY * sizeof(*job));

  come(&first, 'a', false);
  for (unsigned i = 0; i < MANY; i++)
    come(&job[i], 'x', true);
  leave();
  assert_int_equal(bench.deepest, 1);
  assert_true(gi_serial_is_free(&bench.serial));
  gi_free(job);
}

static void
test_without_work_beyond_the_moment(void **state)
{
  struct job a, b;

  b = (struct job){.name = 'b'};
  assert_false(gi_serial_wait(&bench.serial, &b.turn)); /* free, and stays so */
  assert_true(gi_serial_is_free(&bench.serial));
  come(&a, 'a', false);
  assert_true(gi_serial_wait(&bench.serial, &b.turn));
  leave();
  assert_string_equal(bench.begun, "ab");
  leave();
  gi_serial_take(&bench.serial);
  assert_false(gi_serial_is_free(&bench.serial));
}

static void
stop(void *arg)
{
  gi_reactor_stop(arg);
}

static void
test_from_the_reactor(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_defer end;
  struct job a, b, c, d;

  gi_serial_later_init(&bench.later, r, begin, NULL);
  bench.use_later = true;
  come(&a, 'a', false);
  come(&b, 'b', true);
  come(&c, 'c', false);
  leave();
  assert_string_equal(bench.begun, "a");
  come(&d, 'd', true); /* the turn is b's already */
  assert_false(gi_serial_cancel(&bench.serial, &b.turn));
  for (unsigned i = 0; i < 4; i++) {
    gi_defer_init(&end, stop, r);
    gi_defer_add(r, &end);
    gi_reactor_run(r);
  }
  assert_string_equal(bench.begun, "abc");
  leave();
  gi_defer_add(r, &end);
  gi_reactor_run(r);
  assert_string_equal(bench.begun, "abcd");
  assert_true(gi_serial_is_free(&bench.serial));
  gi_serial_later_finish(&bench.later);
  gi_reactor_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_one_after_another, setup),
      cmocka_unit_test_setup(test_giving_up, setup),
      cmocka_unit_test_setup(test_who_comes_meanwhile_is_last, setup),
      cmocka_unit_test_setup(test_the_stack_does_not_grow, setup),
      cmocka_unit_test_setup(test_without_work_beyond_the_moment, setup),
      cmocka_unit_test_setup(test_from_the_reactor, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
