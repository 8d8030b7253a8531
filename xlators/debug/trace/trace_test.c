/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/trace: the history, the filter, and no cost when it is off.
 */
#include "tests/unit/fake.h"

#include <errno.h>

static void
send(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, 5));
  f->args.offset = 4711;
  fake_submit(s, f);
}

static char *
dump(struct fake_stack *s)
{
  char *text = NULL;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  s->x->cls->statedump(s->x, &d);
  fclose(d.out);
  return text;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/trace", "option log-history on\noption history-size 10\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_history(void **state)
{
  struct fake_stack *s =
      fake_stack_new("debug/trace", "option log-history on\noption include-ops stat,fstat\noption exclude-ops STAT\n", 1);
  fake_script(s, 0, GI_FOP_FSTAT, (struct fake_reply){.ret = -1, .err = EIO});
  send(s, GI_FOP_FSTAT);
  send(s, GI_FOP_STAT);
  char *text = dump(s);
  assert_non_null(strstr(text, "1: FSTAT gfid=05050505"));
  assert_non_null(strstr(text, "offset=4711"));
  assert_non_null(strstr(text, "1: FSTAT failed: Input/output error (5)"));
  assert_null(strstr(text, " STAT"));
  free(text);
  fake_stack_free(s);
}

static void
test_ring(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/trace", "option log-history on\noption history-size 4\n", 1);
  for (int i = 0; i < 10; i++)
    send(s, GI_FOP_FSTAT);
  char *text = dump(s);
  assert_null(strstr(text, "call=8: FSTAT gfid"));
  assert_non_null(strstr(text, "call=9: FSTAT gfid"));
  assert_non_null(strstr(text, "call=10: FSTAT ="));
  free(text);
  fake_stack_free(s);
}

static void
test_off(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/trace", NULL, 1);
  assert_false(s->x->enabled);
  struct gi_error err = {0};
  assert_null(fake_stack_try("debug/trace", "option include-ops WHAT\n", 1, &err));
  assert_non_null(strstr(err.text, "WHAT"));
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_history),
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
