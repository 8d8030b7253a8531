/* SPDX-License-Identifier: Apache-2.0 */
#include "libglusterish/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static enum gi_stall_kind
call(struct gi_stall *s, struct gi_reactor *r, long ns)
{
  struct gi_stall_call c = gi_stall_begin(s, r);

  nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
  return gi_stall_end(s, r, &c);
}

static void
one_long_call_is_suspect_and_two_are_slow(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_stall s = {0};

  assert_int_equal(call(&s, r, 8000000), GI_STALL_LONG);
  assert_false(gi_stall_is_slow(&s, r));
  /* Of what it took the time that it waited for a processor is taken away: at least what it slept is left. */
  assert_int_equal(call(&s, r, 8000000), GI_STALL_SLOW);
  assert_true(gi_stall_is_slow(&s, r));
  gi_reactor_free(r);
}

static void
what_is_over_is_not_slow(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_stall s = {.slow_until = 1, .suspect_until = 1};

  assert_false(gi_stall_is_slow(&s, r));
  assert_int_equal(call(&s, r, 8000000), GI_STALL_LONG);
  gi_reactor_free(r);
}

/* For ten times as long as the call took, and twice as long each time, up to a second. */
static void
it_is_slow_for_longer_each_time(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_stall s = {0};
  uint64_t last, began;

  call(&s, r, 8000000);
  assert_int_equal(call(&s, r, 8000000), GI_STALL_SLOW);
  assert_true(s.period >= 80 * GI_NSEC_PER_MSEC && s.period <= GI_NSEC_PER_SEC);
  for (int i = 0; i < 4; i++) {
    last = s.period;
    assert_int_equal(call(&s, r, 8000000), GI_STALL_SLOW);
    assert_true(s.period >= 2 * last || s.period == GI_NSEC_PER_SEC);
  }
  assert_int_equal(s.period, GI_NSEC_PER_SEC);
  s.slow_until = 1; /* long ago */
  began = gi_now_about(r);
  s.suspect_until = began + GI_NSEC_PER_SEC;
  assert_int_equal(call(&s, r, 8000000), GI_STALL_SLOW);
  assert_true(s.period <= 10 * (gi_now_about(r) - began));
  gi_reactor_free(r);
}

static void
one_long_call_moves_what_follows(void **state)
{
  struct gi_reactor *r = gi_reactor_new(0);
  struct gi_stall s = {0};

  call(&s, r, 8000000);
  assert_int_equal(call(&s, r, 120000000), GI_STALL_SLOW);
  assert_int_equal(s.period, GI_NSEC_PER_SEC);
  gi_reactor_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_long_call_is_suspect_and_two_are_slow),
      cmocka_unit_test(what_is_over_is_not_slow),
      cmocka_unit_test(it_is_slow_for_longer_each_time),
      cmocka_unit_test(one_long_call_moves_what_follows),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
