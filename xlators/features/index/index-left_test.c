/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client that is gone may have told this brick alone.
 */
#include "xlators/features/index/index-fixture.h"

static uint8_t left_mark[12];

static void
keep_mark(struct gi_fop *fop, void *arg)
{
  const void *mark;
  uint32_t len;

  assert_true(gi_dict_get_bin(fop->args.dict, DIRTY, &mark, &len));
  assert_int_equal(len, sizeof(left_mark));
  memcpy(left_mark, mark, len);
}

/* Who locked it for a change is gone: a healer finds the object, marked as one with a change of names or attributes under way. */
static void
test_what_a_client_left_is_marked(void **state)
{
  struct test t;
  setup(&t);
  for (unsigned names = 0; names < 2; names++) {
    struct gi_left left = {.inode = fake_inode(t.s, 5), .names = names, .attributes = !names};

    fake_script(t.s, 0, GI_FOP_XATTROP, (struct fake_reply){.fill = keep_mark});
    fake_event(t.s, 0, GI_EVENT_LEFT, &left);
    wait_until(&t, "dirty/" GFID5, true);
    for (int i = 0; i < 2000 && t.s->nseen <= names; i++)
      fake_wait(t.s, GI_NSEC_PER_MSEC);
    assert_int_equal(t.s->seen[names].kind, GI_FOP_XATTROP);
    assert_int_equal(left_mark[7], !names);
    assert_int_equal(left_mark[11], names);
    assert_int_equal(left_mark[3], 0);
  }
  assert_int_equal(metric(&t, "left"), 2);
  assert_int_equal(t.s->events[GI_EVENT_LEFT], 0); /* nobody else has to know */
  finish(&t);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_a_client_left_is_marked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
