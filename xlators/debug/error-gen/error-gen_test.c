/* SPDX-License-Identifier: Apache-2.0
 *
 * debug/error-gen: the exact share, the error, short writes.
 */
#include "tests/unit/fake.h"

#include <errno.h>

static struct gi_fop *
send(struct fake_stack *s, enum gi_fop_kind kind)
{
  struct gi_fop *f = fake_fop(s, kind);
  gi_fop_set_fd(f, fake_fd(s, 5));
  if (kind == GI_FOP_WRITE)
    gi_payload_add_copy(&f->payload, "0123456789", 10);
  fake_submit(s, f);
  return f;
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/error-gen", "option failure 0\n", 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_share(void **state)
{
  struct fake_stack *s =
      fake_stack_new("debug/error-gen", "option failure 25%\noption error-no ENOSPC\noption enable STAT\n", 1);
  unsigned failed = 0;
  for (int i = 0; i < 40; i++) {
    struct gi_fop *f = send(s, GI_FOP_STAT);
    failed += f->rsp.ret < 0 && f->rsp.err == ENOSPC;
    assert_int_equal(send(s, GI_FOP_FSTAT)->rsp.ret, 0);
  }
  assert_int_equal(failed, 10);
  assert_int_equal(fake_count(s, 0, GI_FOP_STAT), 30);
  fake_stack_free(s);
}

static void
test_short_write(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/error-gen", "option failure 100\noption error-no GF_ERROR_SHORT_WRITE\n", 1);
  assert_int_equal(send(s, GI_FOP_WRITE)->rsp.ret, 5);
  fake_stack_free(s);
}

static void
test_random(void **state)
{
  struct fake_stack *s = fake_stack_new("debug/error-gen", "option failure 50\noption random-failure on\n", 1);
  unsigned failed = 0;
  for (int i = 0; i < 200; i++)
    failed += send(s, GI_FOP_FSTAT)->rsp.ret < 0;
  assert_true(failed > 40 && failed < 160);
  fake_stack_free(s);
}

static void
test_refuses(void **state)
{
  struct gi_error err = {0};
  assert_null(fake_stack_try("debug/error-gen", "option error-no EBOGUS\n", 1, &err));
  assert_null(fake_stack_try("debug/error-gen", "option enable NOTHING\n", 1, &err));
  assert_non_null(strstr(err.text, "NOTHING"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent), cmocka_unit_test(test_share),   cmocka_unit_test(test_short_write),
      cmocka_unit_test(test_random),      cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
