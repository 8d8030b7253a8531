/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that wait for something: looked at again, given up, drained.
 */
#include "libglusterish/hold.h"
#include "tests/unit/fake.h"

#include <errno.h>

/* ---- a translator whose STATs wait until the door opens ---- */

static struct {
  struct gi_hold hold;
  struct gi_list door;
  bool open;
  unsigned looked, again, drained;
} bench;

struct door_fop {
  struct gi_held held;
};

static enum gi_verdict
door_stat(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct door_fop *f = gi_fop_private(fop, x);
  bench.looked++;
  bench.again += f->held.resumed;
  return bench.open ? GI_PASS : gi_hold_wait(&bench.hold, &bench.door, fop);
}

static int
door_init(struct gi_xlator *x, struct gi_error *err)
{
  memset(&bench, 0, sizeof(bench));
  gi_list_init(&bench.door);
  gi_hold_init(&bench.hold, x, door_stat);
  return 0;
}

static void
door_finish(struct gi_xlator *x)
{
  gi_hold_finish(&bench.hold);
}

static bool
door_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_CANCEL)
    gi_hold_cancel(&bench.hold, data);
  return false;
}

static const struct gi_xlator_class door_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/door",
    .min_children = 1,
    .max_children = 1,
    .fop_bytes = sizeof(struct door_fop),
    .on = {[GI_FOP_STAT] = door_stat},
    .init = door_init,
    .finish = door_finish,
    .notify = door_notify,
};

static void
count_drained(struct gi_xlator *x)
{
  bench.drained++;
}

static struct fake_stack *
new_stack(struct gi_fop **fop, unsigned n)
{
  gi_class_register(&door_class);
  struct fake_stack *s = fake_stack_new("test/door", NULL, 1);
  for (unsigned i = 0; i < n; i++) {
    fop[i] = fake_fop(s, GI_FOP_STAT);
    fake_submit(s, fop[i]);
    assert_false(fop[i]->answered);
  }
  return s;
}

static void
end(struct fake_stack *s, struct gi_fop **fop, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    assert_true(fop[i]->answered);
  fake_stack_free(s);
}

/* ---- tests ---- */

static void
test_all_are_looked_at_after_the_handler(void **state)
{
  struct gi_fop *fop[3];
  struct fake_stack *s = new_stack(fop, 3);
  bench.open = true;
  gi_hold_end(&bench.hold, &bench.door);
  assert_true(gi_list_empty(&bench.door));
  assert_int_equal(bench.looked, 3);
  assert_false(fop[0]->answered);
  fake_settle(s);
  assert_int_equal(bench.looked, 6);
  assert_int_equal(bench.again, 3);
  assert_int_equal(s->nseen, 3);
  end(s, fop, 3);
}

static void
test_one_may_wait_once_more(void **state)
{
  struct gi_fop *fop[1];
  struct fake_stack *s = new_stack(fop, 1);
  gi_hold_end(&bench.hold, &bench.door);
  fake_settle(s);
  assert_false(fop[0]->answered);
  assert_int_equal(bench.hold.count, 1);
  bench.open = true;
  gi_hold_end(&bench.hold, &bench.door);
  fake_settle(s);
  end(s, fop, 1);
}

static void
test_who_is_cancelled_waits_no_more(void **state)
{
  struct gi_fop *fop[2];
  struct fake_stack *s = new_stack(fop, 2);
  gi_fop_cancel(fop[0]);
  fake_settle(s);
  assert_true(fop[0]->answered);
  assert_int_equal(fop[0]->rsp.err, EINTR);
  assert_false(fop[1]->answered);
  gi_hold_end(&bench.hold, &bench.door); /* about to be looked at: this can still be cancelled */
  gi_fop_cancel(fop[1]);
  fake_settle(s);
  assert_int_equal(fop[1]->rsp.err, EINTR);
  assert_int_equal(bench.again, 0);
  end(s, fop, 2);
}

static void
test_draining_ends_when_none_waits(void **state)
{
  struct gi_fop *fop[2];
  struct fake_stack *s = new_stack(fop, 2);
  gi_hold_drain(&bench.hold, count_drained);
  gi_fop_cancel(fop[0]);
  assert_int_equal(bench.drained, 0);
  bench.open = true;
  gi_hold_end(&bench.hold, &bench.door);
  assert_int_equal(bench.drained, 0);
  fake_settle(s);
  assert_int_equal(bench.drained, 1);
  gi_hold_drain(&bench.hold, count_drained);
  assert_int_equal(bench.drained, 2);
  end(s, fop, 2);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_are_looked_at_after_the_handler),
      cmocka_unit_test(test_one_may_wait_once_more),
      cmocka_unit_test(test_who_is_cancelled_waits_no_more),
      cmocka_unit_test(test_draining_ends_when_none_waits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
