/* SPDX-License-Identifier: Apache-2.0
 *
 * What a brick tells of operations that it has not answered, against a real
 * protocol/server over loopback.
 */
#include "tests/unit/brick-bench.h"
#include "libglusterish/tree.h"

#include <errno.h>
#include <fcntl.h>

/* Asks the layer as the observation socket does; the errno of the answer. */
static int
ask(struct bench *b)
{
  struct gi_fop *f = bench_request(b, GI_FOP_GETXATTR, NULL);

  f->args.name = GI_UNDER_WAY_KEY;
  bench_submit(b, f);
  return f->rsp.ret < 0 ? f->rsp.err : 0;
}

static bool
is_held(struct bench *b)
{
  for (unsigned i = 0; i < 100 && fake_held(b->server, 0) == 0; i++)
    bench_turn(b, 10);
  return fake_held(b->server, 0) == 1;
}

static struct gi_told *
told_of(struct gi_fop *f)
{
  return gi_told_new(f, gi_ticks(f->graph->ctx->reactor) - f->start_ticks, false);
}

static const struct gi_step *
last(const struct gi_step *s)
{
  while (s->steps)
    s = s->steps;
  return s;
}

static void
test_who_holds_it_up_is_told(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 4, O_RDWR);
  struct gi_fop *f = bench_request(b, GI_FOP_WRITE, fd);
  struct gi_told *told;

  fake_script(b->server, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  bench_send(b, f);
  assert_true(is_held(b));
  told = told_of(f);
  assert_int_equal(told->waits->why, GI_WAIT_BRICK); /* more is not known here */
  gi_told_put(&told);

  gi_fop_waits(fake_held_fop(b->server, 0, 0), GI_WAIT_CLIENT, "its word", "client x at y:1");
  assert_int_equal(ask(b), 0);
  told = told_of(f);
  assert_int_equal(told->waits->why, GI_WAIT_CLIENT);
  assert_string_equal(told->waits->who, "client x at y:1");
  assert_string_equal(last(told->tree)->waits->who, "client x at y:1");
  gi_told_put(&told);

  assert_int_equal(ask(b), 0); /* again: it is told anew */
  assert_true(fake_release(b->server, 0, GI_FOP_WRITE, 1, 0));
  bench_turn(b, 50);
  assert_true(f->answered);
  assert_null(f->steps->remote); /* what was told meanwhile is no part of what it was in the end */
  bench_free(b);
}

static void
test_nothing_is_asked_in_vain(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);

  fake_forget_seen(b->server);
  assert_int_equal(ask(b), ENODATA); /* nothing is under way */
  assert_int_equal(b->server->nseen, 0);
  bench_free(b);
}

/* The question is answered by the layer that knows calls, and of no others. */
static void
test_the_disk_is_not_asked(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fd *fd = bench_open(b, 4, O_RDWR);
  struct gi_fop *f = bench_request(b, GI_FOP_WRITE, fd);

  fake_script(b->server, 0, GI_FOP_WRITE, (struct fake_reply){.hold = true});
  bench_send(b, f);
  assert_true(is_held(b));
  assert_int_equal(ask(b), 0);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_GETXATTR), 0); /* it does not come to the disk */
  assert_true(fake_release(b->server, 0, GI_FOP_WRITE, 1, 0));
  bench_turn(b, 50);
  assert_int_equal(ask(b), ENODATA);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_who_holds_it_up_is_told),
      cmocka_unit_test(test_nothing_is_asked_in_vain),
      cmocka_unit_test(test_the_disk_is_not_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
