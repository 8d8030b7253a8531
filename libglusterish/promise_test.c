/* SPDX-License-Identifier: Apache-2.0
 *
 * What the bricks of a graph promise together.
 */
#include "libglusterish/promise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static unsigned raised;
static uint32_t last;

static bool
top_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PROMISE) {
    raised++;
    last = ((const struct gi_promised *)data)->seconds;
  }
  return false;
}

static const struct gi_xlator_class brick_class = {
    .abi = GI_XLATOR_ABI, .type = "test/brick", .version = "1", .summary = "A brick."};
static const struct gi_xlator_class top_class = {.abi = GI_XLATOR_ABI,
                                                 .type = "test/several",
                                                 .version = "1",
                                                 .summary = "Above several.",
                                                 .min_children = 1,
                                                 .max_children = 8,
                                                 .notify = top_notify};

struct fixture {
  struct gi_ctx ctx;
  struct gi_graph *g;
  struct gi_xlator *a, *b;
};

static void
setup(struct fixture *f)
{
  static const char text[] = "volume a\n type test/brick\nend-volume\nvolume b\n type test/brick\nend-volume\n"
                             "volume top\n type test/several\n subvolumes a b\nend-volume\n";
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, strlen(text), &err);
  *f = (struct fixture){.ctx = {.reactor = gi_reactor_new(0)}};
  gi_class_register(&brick_class);
  gi_class_register(&top_class);
  f->g = gi_graph_build(&f->ctx, &vf, NULL, &err);
  assert_non_null(f->g);
  f->a = gi_graph_find(f->g, "a");
  f->b = gi_graph_find(f->g, "b");
  gi_graph_activate(f->g);
  raised = 0;
}

static void
teardown(struct fixture *f)
{
  gi_graph_free(&f->g);
  gi_reactor_free(f->ctx.reactor);
}

static void
made(struct gi_xlator *x, uint32_t seconds, bool strict)
{
  gi_promise_made(x, (struct gi_promised){.seconds = seconds, .strict = strict});
}

static void
test_the_least_counts(void **state)
{
  struct fixture f;
  setup(&f);
  assert_int_equal(gi_promise(f.g), 0);
  made(f.a, 60, false);
  assert_int_equal(gi_promise(f.g), 0); /* the other does not tell */
  assert_int_equal(raised, 0);
  made(f.b, 40, false);
  assert_int_equal(gi_promise(f.g), 40);
  assert_int_equal(raised, 1);
  assert_int_equal(last, 40);
  made(f.a, 50, false);
  assert_int_equal(raised, 1);
  made(f.a, 0, false); /* it went away */
  assert_int_equal(gi_promise(f.g), 0);
  assert_int_equal(raised, 2);
  teardown(&f);
}

static void
test_how_long_something_lives(void **state)
{
  const uint64_t s = GI_NSEC_PER_SEC;
  struct fixture f;
  setup(&f);
  assert_int_equal(gi_promise_life(f.g, 600 * s, s), s);
  assert_int_equal(gi_promise_life(f.g, s / 2, s), s / 2);
  made(f.a, 60, false);
  made(f.b, 60, false);
  assert_int_equal(gi_promise_life(f.g, 600 * s, s), 20 * s);
  assert_int_equal(gi_promise_life(f.g, 10 * s, s), 10 * s);
  made(f.b, 1, false);
  assert_int_equal(gi_promise_life(f.g, 10 * s, s), s); /* what anybody may do without it */
  teardown(&f);
}

/* What one brick does not wait for is not to be trusted. */
static void
test_all_must_be_strict(void **state)
{
  struct fixture f;
  setup(&f);
  made(f.a, 60, true);
  made(f.b, 60, false);
  assert_int_equal(gi_promise_lease(f.g), 0);
  assert_int_equal(raised, 1);
  made(f.b, 60, true);
  assert_int_equal(gi_promise_lease(f.g), 20 * GI_NSEC_PER_SEC);
  assert_int_equal(raised, 2);
  made(f.a, 30, true);
  assert_int_equal(gi_promise_lease(f.g), 10 * GI_NSEC_PER_SEC);
  made(f.b, 0, false);
  assert_int_equal(gi_promise_lease(f.g), 0);
  assert_int_equal(raised, 4);
  teardown(&f);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_least_counts),
      cmocka_unit_test(test_how_long_something_lives),
      cmocka_unit_test(test_all_must_be_strict),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
