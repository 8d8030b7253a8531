/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of the memory budget.
 */
#include "libglusterish/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* A cache that knows only how much it holds. */
struct hoard {
  struct gi_budget_user user;
  uint64_t least; /* does not go below */
  uint64_t later; /* promises so much before it gives anything */
  unsigned calls;
  bool draws; /* while it is asked */
};

struct fixture {
  struct gi_reactor *r;
  struct gi_budget budget;
  struct hoard a, b, c;
};

static uint64_t
hoard_reclaim(void *arg, uint64_t want)
{
  struct hoard *h = arg;
  uint64_t most = h->user.used - h->least, given = want < most ? want : most;

  h->calls++;
  if (h->draws)
    gi_budget_draw(&h->user, 1);
  if (h->later) {
    given = want < h->later ? want : h->later;
    h->later -= given;
    return given;
  }
  gi_budget_return(&h->user, given);
  return given;
}

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);

  f->r = gi_reactor_new(0);
  gi_budget_join(&f->budget, f->r, &f->a.user, "a", hoard_reclaim, &f->a);
  gi_budget_join(&f->budget, f->r, &f->b.user, "b", hoard_reclaim, &f->b);
  gi_budget_join(&f->budget, f->r, &f->c.user, "c", NULL, NULL);
  *state = f;
  return 0;
}

static void
leave(struct hoard *h)
{
  gi_budget_return(&h->user, h->user.used);
  gi_budget_leave(&h->user);
}

static int
teardown(void **state)
{
  struct fixture *f = *state;

  leave(&f->a);
  leave(&f->b);
  leave(&f->c);
  assert_int_equal(f->budget.used, 0);
  gi_reactor_free(f->r);
  gi_free(f);
  return 0;
}

static void
turn(struct fixture *f)
{
  gi_reactor_turn(f->r, 0);
}

static void
test_counts(void **state)
{
  struct fixture *f = *state;

  assert_true(gi_budget_room(&f->budget) == UINT64_MAX);
  gi_budget_draw(&f->a.user, 300);
  gi_budget_draw(&f->b.user, 200);
  gi_budget_return(&f->a.user, 100);
  assert_int_equal(f->budget.used, 400);
  assert_int_equal(f->budget.peak, 500);
  assert_int_equal(f->a.user.used, 200);
  assert_int_equal(f->a.user.peak, 300);
  turn(f);
  assert_int_equal(f->budget.passes, 0); /* no limit, nobody is asked */
  gi_budget_set_limit(&f->budget, 1000);
  assert_int_equal(gi_budget_room(&f->budget), 600);
  gi_budget_draw(&f->a.user, 700);
  assert_int_equal(gi_budget_room(&f->budget), 0);
}

static void
test_nobody_is_asked_inside_a_draw(void **state)
{
  struct fixture *f = *state;

  gi_budget_set_limit(&f->budget, 1600);
  gi_budget_draw(&f->a.user, 5000);
  assert_int_equal(f->a.calls, 0);
  turn(f);
  assert_int_equal(f->a.calls, 1);
  assert_int_equal(f->budget.used, 1500); /* a sixteenth below: the next draw does not ask again */
  gi_budget_draw(&f->a.user, 100);
  turn(f);
  assert_int_equal(f->budget.passes, 1);
}

static void
test_the_largest_gives_first(void **state)
{
  struct fixture *f = *state;

  gi_budget_set_limit(&f->budget, 1600);
  gi_budget_draw(&f->a.user, 100); /* the older one */
  gi_budget_draw(&f->b.user, 1600);
  turn(f);
  assert_int_equal(f->a.user.used, 100);
  assert_int_equal(f->b.user.used, 1400);
  assert_int_equal(f->b.user.reclaimed, 200);
  gi_budget_draw(&f->a.user, 1400); /* now as large: both give */
  turn(f);
  assert_int_equal(f->budget.used, 1500);
  assert_true(f->a.user.used > 700 && f->a.user.used < 800);
  assert_true(f->b.user.used > 700 && f->b.user.used < 800);
}

static void
test_what_cannot_be_given(void **state)
{
  struct fixture *f = *state;

  gi_budget_set_limit(&f->budget, 1600);
  gi_budget_draw(&f->c.user, 2000); /* seen, but not asked */
  gi_budget_draw(&f->b.user, 500);
  f->b.least = 400;
  turn(f);
  assert_int_equal(f->b.user.used, 400);
  assert_int_equal(f->budget.shortages, 1);
  gi_budget_draw(&f->b.user, 1); /* asking at every draw would change nothing */
  turn(f);
  assert_int_equal(f->budget.passes, 1);
  f->b.least = 0;
  gi_budget_draw(&f->b.user, 50);
  turn(f);
  assert_int_equal(f->budget.passes, 2);
  assert_int_equal(f->b.user.used, 0);
  gi_budget_return(&f->c.user, 1000); /* below the limit things are as before */
  gi_budget_draw(&f->b.user, 700);
  turn(f);
  assert_int_equal(f->budget.passes, 3);
  assert_int_equal(f->budget.used, 1500);
}

static void
test_memory_that_comes_later(void **state)
{
  struct fixture *f = *state;

  gi_budget_set_limit(&f->budget, 1600);
  f->a.later = 1000;
  gi_budget_draw(&f->a.user, 2000);
  turn(f);
  assert_int_equal(f->a.calls, 1);
  assert_int_equal(f->budget.shortages, 0);
  gi_budget_draw(&f->a.user, 10); /* what was promised is on its way */
  turn(f);
  assert_int_equal(f->a.calls, 1);
  gi_budget_return(&f->a.user, 500);
  assert_int_equal(f->budget.used, 1510);
}

/* Who agreed to give did not: it is asked again, though nobody wants more meanwhile. */
static void
test_memory_that_does_not_come(void **state)
{
  struct fixture *f = *state;

  gi_budget_set_limit(&f->budget, 1600);
  f->a.later = 500;
  gi_budget_draw(&f->a.user, 2000);
  turn(f);
  assert_int_equal(f->a.calls, 1);
  for (unsigned i = 0; i < 1000 && f->budget.used > 1600; i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_int_equal(f->budget.used, 1500);
  assert_int_equal(f->a.calls, 2);
}

static void
test_a_user_that_draws_while_it_is_asked(void **state)
{
  struct fixture *f = *state;

  gi_budget_set_limit(&f->budget, 1600);
  f->a.draws = true;
  gi_budget_draw(&f->a.user, 2000);
  turn(f);
  assert_int_equal(f->a.calls, 1);
  assert_int_equal(f->budget.used, 1501);
}

static void
test_a_lower_limit_asks(void **state)
{
  struct fixture *f = *state;

  gi_budget_draw(&f->a.user, 5000);
  gi_budget_set_limit(&f->budget, 3200);
  gi_budget_set_limit(&f->budget, 0);
  turn(f);
  assert_int_equal(f->budget.used, 5000); /* lifted before anyone was asked */
  gi_budget_set_limit(&f->budget, 3200);
  turn(f);
  assert_int_equal(f->budget.used, 3000);
}

static void
test_leaving_forgets_what_was_planned(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_budget b = {0};
  struct hoard h = {0};

  gi_budget_set_limit(&b, 10);
  gi_budget_leave(&h.user); /* never joined */
  gi_budget_join(&b, r, &h.user, "h", hoard_reclaim, &h);
  gi_budget_draw(&h.user, 100);
  leave(&h);
  gi_reactor_turn(r, 0);
  assert_int_equal(h.calls, 0);
  gi_reactor_free(r);
}

static void
test_dump(void **state)
{
  struct fixture *f = *state;
  char *text = NULL;
  size_t len = 0;
  struct gi_dump d = {.out = open_memstream(&text, &len)};

  gi_budget_set_limit(&f->budget, 1000);
  gi_budget_draw(&f->a.user, 7);
  gi_budget_dump(&f->budget, &d);
  fclose(d.out);
  assert_non_null(strstr(text, "[budget]\nlimit=1000\nused=7\npeak=7\npasses=0\n"));
  assert_non_null(strstr(text, "[budget.a]\nused=7\npeak=7\nasked=0\nreclaimed=0\n"));
  free(text);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_nobody_is_asked_inside_a_draw, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_largest_gives_first, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_cannot_be_given, setup, teardown),
      cmocka_unit_test_setup_teardown(test_memory_that_comes_later, setup, teardown),
      cmocka_unit_test_setup_teardown(test_memory_that_does_not_come, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_user_that_draws_while_it_is_asked, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_lower_limit_asks, setup, teardown),
      cmocka_unit_test(test_leaving_forgets_what_was_planned),
      cmocka_unit_test_setup_teardown(test_dump, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
