/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/delay-gen: holds, lets go, refuses nonsense.
 */
#include "tests/unit/fake.h"

static struct gi_fop *
send(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_loc_set_inode(&f->loc, fake_inode(s, 5));
  fake_submit(s, f);
  return f;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/delay-gen", "option delay-percentage 0\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_delay(void **state)
{
  struct fake_stack *s = fake_stack_new(
      "debug/delay-gen", "option delay-percentage 100\noption delay-duration 3000\noption enable stat,Open\n", 1);
  struct gi_fop *slow = send(s, GI_FOP_STAT), *fast = send(s, GI_FOP_LOOKUP);
  assert_true(fast->answered);
  assert_false(slow->answered);
  fake_wait(s, 20 * GI_NSEC_PER_MSEC);
  assert_true(slow->answered);
  fake_stack_free(s);
}

static void
test_let_go(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/delay-gen", "option delay-percentage 100\noption delay-duration 90000000\n", 1);
  struct gi_fop *f = send(s, GI_FOP_STAT);
  assert_false(f->answered);
  gi_xlator_enable(s->x, false); /* not until it is due */
  assert_true(f->answered);
  gi_xlator_enable(s->x, true);
  f = send(s, GI_FOP_STAT);
  assert_false(f->answered);
  fake_stack_free(s); /* the end of the graph lets it go too */
}

static void
test_bad_name(void **state)
{
  struct gi_error err = {0};
  assert_null(fake_stack_try("debug/delay-gen", "option enable STAT,BOGUS\n", 1, &err));
  assert_non_null(strstr(err.text, "BOGUS"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_delay),
      cmocka_unit_test(test_let_go),
      cmocka_unit_test(test_bad_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
