/* SPDX-License-Identifier: Apache-2.0
 *
 * Who comes onto the path of a running graph waits for the changes that have
 * passed there, and for no others.
 */
#include "libglusterish/join.h"
#include "libglusterish/steps-fixture.h"

static void
answer(void)
{
  bed_answer(0);
  bed_answer(1);
  bed_answer(2);
}

static void
an_operation_is_waited_for(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    bool changes;
  } kinds[] = {{GI_FOP_WRITE, true}, {GI_FOP_SETXATTR, true}, {GI_FOP_OPEN, true}, {GI_FOP_READ, false}};
  struct bed *bed = *state;
  bool answered;

  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++) {
    struct gi_join j = {0};

    bed_nheld = 0;
    bed_start(bed, kinds[i].kind, &answered);
    bed_now++;
    assert_false(gi_join_waits(&j, bed->middle)); /* it was there before */
    gi_join(&j, bed->middle);
    bed_now += 3600 * GI_NSEC_PER_SEC;
    assert_int_equal(gi_join_waits(&j, bed->middle), kinds[i].changes);
    answer();
    assert_false(gi_join_waits(&j, bed->middle));
  }
}

static void
a_later_one_is_not(void **state)
{
  struct bed *bed = *state;
  struct gi_join j;
  bool answered;

  gi_join(&j, bed->middle);
  bed_now++;
  bed_start(bed, GI_FOP_WRITE, &answered);
  assert_false(gi_join_waits(&j, bed->middle));
  answer();
}

/* Until there is none, or for some seconds where there are always others. Once it is over they are no matter. */
static void
early_answers_are_waited_for(void **state)
{
  struct bed *bed = *state;
  struct gi_join j;

  for (unsigned late = 0; late < 2; late++) {
    bed->ctx.unwritten = 2;
    gi_join(&j, bed->middle);
    bed_now += GI_NSEC_PER_SEC;
    assert_true(gi_join_waits(&j, bed->middle));
    if (late)
      bed_now += 20 * GI_NSEC_PER_SEC;
    else
      bed->ctx.unwritten = 0;
    assert_false(gi_join_waits(&j, bed->middle));
    bed->ctx.unwritten = 2;
    assert_false(gi_join_waits(&j, bed->middle));
  }
  bed->ctx.unwritten = 0;
}

static void
without_notes_it_waits_some_seconds(void **state)
{
  struct bed *bed = *state;
  struct gi_join j;

  bed->ctx.seen->off = true;
  gi_join(&j, bed->middle);
  assert_true(gi_join_waits(&j, bed->middle));
  bed_now += 20 * GI_NSEC_PER_SEC;
  assert_false(gi_join_waits(&j, bed->middle));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, bed_setup, bed_teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(an_operation_is_waited_for),
      TEST(a_later_one_is_not),
      TEST(early_answers_are_waited_for),
      TEST(without_notes_it_waits_some_seconds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
