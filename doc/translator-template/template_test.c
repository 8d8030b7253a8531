/* SPDX-License-Identifier: Apache-2.0
 *
 * The test of the template: it shows what every translator's test does.
 */
#include "tests/unit/fake.h"

#include <errno.h>

extern const struct gi_xlator_class gi_xlator_export; /* linked in: this one is not installed */

static struct gi_fop *
write_bytes(struct fake_stack *s, size_t len)
{
  static const char zeroes[8192];
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);
  gi_fop_set_fd(f, fake_fd(s, 5));
  gi_payload_add_copy(&f->payload, zeroes, len);
  fake_submit(s, f);
  return f;
}

static uint64_t
metric(const struct fake_stack *s, unsigned row)
{
  return gi_metric_value(&s->x->cls->metrics[row], s->x->metrics);
}

static void
test_transparent(void **state)
{
  struct fake_stack *s = fake_stack_new("features/template", NULL, 1);
  fake_check_transparent(s, 0);
  fake_stack_free(s);
}

static void
test_counts(void **state)
{
  struct fake_stack *s = fake_stack_new("features/template", NULL, 1);
  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = 100}); /* a short write */
  assert_int_equal(write_bytes(s, 4096)->rsp.ret, 100);
  assert_int_equal(write_bytes(s, 4096)->rsp.ret, 4096);
  assert_int_equal(metric(s, 0), 2);
  assert_int_equal(metric(s, 1), 4196);
  fake_stack_free(s);
}

static void
test_refuses(void **state)
{
  struct fake_stack *s = fake_stack_new("features/template", "option largest-write 4KB\n", 1);
  struct gi_fop *f = write_bytes(s, 4097);
  assert_int_equal(f->rsp.err, EFBIG);
  assert_int_equal(fake_count(s, 0, GI_FOP_WRITE), 0);
  assert_int_equal(write_bytes(s, 4096)->rsp.ret, 4096);
  assert_int_equal(metric(s, 2), 1);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transparent),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_refuses),
  };
  gi_class_register(&gi_xlator_export);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
