/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client and a brick that tells what others change: what it promises,
 * and answers that it waits for.
 */
#include "libglusterish/promise.h"
#include "tests/unit/brick-bench.h"
#include "xlators/protocol/client/client.h"

static struct gi_taken *kept;

static bool
keeping_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  const struct gi_invalidation *inv = data;
  if (event == GI_EVENT_INVALIDATE) {
    assert_null(gi_dict_get(inv->xdata, GI_TAKEN_KEY)); /* none of its attributes */
    kept = gi_taken_hold(inv->taken);
  }
  return false;
}

static void
look_serial(struct gi_fop *fop, void *arg)
{
  assert_int_equal(fop->args.what, 2);
  assert_true(gi_dict_get_uint(fop->xdata, GI_TAKEN_KEY, arg));
}

static void
told_with_serial(struct bench *b, const char *serial)
{
  struct gi_invalidation inv = {.flags = 0x18, .stat = {.mode = S_IFREG}, .xdata = gi_dict_new()};
  memset(&inv.gfid, 9, 16);
  gi_dict_set_str(inv.xdata, GI_TAKEN_KEY, serial);
  kept = NULL;
  fake_event(b->server, 0, GI_EVENT_INVALIDATE, &inv);
  gi_dict_unref(&inv.xdata);
  for (unsigned i = 0; i < 1000 && !kept; i++)
    bench_turn(b, 1);
  assert_non_null(kept);
}

/* The brick waits: it is answered when the layers above have taken the change in. */
static void
test_taken_in(void **state)
{
  static const struct gi_xlator_class keeping = {.abi = GI_XLATOR_ABI,
                                                 .type = "test/top",
                                                 .version = "1",
                                                 .summary = "Takes its time.",
                                                 .min_children = 1,
                                                 .max_children = 1,
                                                 .notify = keeping_notify};
  struct bench *b = bench_new(NULL, NULL, true);
  const struct gi_xlator_class *top = b->client->parent->cls;
  uint64_t serial = 0;
  b->client->parent->cls = &keeping;
  fake_script(b->server, 0, GI_FOP_IPC, (struct fake_reply){.fill = look_serial, .arg = &serial});
  told_with_serial(b, "4711");
  bench_turn(b, 5);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_IPC), 0);
  gi_taken_release(kept);
  for (unsigned i = 0; i < 1000 && !serial; i++)
    bench_turn(b, 1);
  assert_int_equal(serial, 4711);

  told_with_serial(b, "4712"); /* the connection it came by goes first: nobody waits any more */
  b->client->parent->cls = top;
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  bench_start_server(b, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  gi_taken_release(kept);
  bench_turn(b, 10);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_IPC), 0);
  bench_free(b);
}

static void
test_what_the_brick_promises(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_graph *g = b->client->graph;
  struct gi_promised p = {.seconds = 60};
  assert_int_equal(gi_promise(g), 0);
  fake_event(b->server, 0, GI_EVENT_PROMISE, &p); /* while the client is there */
  assert_true(bench_until(b, &b->client->events[GI_EVENT_PROMISE], 1));
  assert_int_equal(gi_promise(g), 60);
  assert_int_equal(b->client->events[GI_EVENT_INVALIDATE], 0);
  fake_event(b->server, 0, GI_EVENT_CHILD_DOWN, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 1));
  assert_int_equal(gi_promise(g), 0);
  fake_event(b->server, 0, GI_EVENT_CHILD_UP, NULL);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 2));
  assert_int_equal(gi_promise(g), 60);
  bench_stop_server(b);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_DOWN], 2));
  assert_int_equal(gi_promise(g), 0);
  bench_start_server(b, NULL);
  fake_event(b->server, 0, GI_EVENT_PROMISE, &p); /* before it comes */
  assert_true(bench_until(b, &b->client->events[GI_EVENT_CHILD_UP], 3));
  assert_int_equal(gi_promise(g), 60);
  p.strict = true; /* its changes wait for us */
  fake_event(b->server, 0, GI_EVENT_PROMISE, &p);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_PROMISE], 6));
  assert_int_equal(gi_promise_lease(g), 20 * GI_NSEC_PER_SEC);
  p = (struct gi_promised){0};
  fake_event(b->server, 0, GI_EVENT_PROMISE, &p);
  assert_true(bench_until(b, &b->client->events[GI_EVENT_PROMISE], 7));
  assert_int_equal(gi_promise(g), 0);
  bench_free(b);
}

/* Whoever is above hears when a lock is waited for that others may hold, and when not any more. */
static void
test_a_lock_that_is_waited_for(void **state)
{
  static const struct {
    enum gi_fop_kind kind;
    uint32_t cmd;
    bool told;
  } cases[] = {
      {GI_FOP_INODELK, GI_LKCMD_SETW, true},
      {GI_FOP_INODELK, GI_LKCMD_SET, false},
      {GI_FOP_ENTRYLK, GI_ENTRYLK_LOCK, true},
      {GI_FOP_ENTRYLK, GI_ENTRYLK_NB, false},
      {GI_FOP_STAT, 0, false},
  };
  struct bench *b = bench_new(NULL, NULL, true);
  const unsigned *told = &b->client->events[GI_EVENT_WAITS];
  for (size_t i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct gi_fop *f = bench_request(b, cases[i].kind, NULL);
    unsigned before = *told;
    f->args.cmd = cases[i].cmd;
    f->args.type = GI_LK_WRITE;
    fake_script(b->server, 0, cases[i].kind, (struct fake_reply){.hold = true});
    bench_send(b, f);
    assert_int_equal(*told - before, cases[i].told);
    for (unsigned k = 0; k < 1000 && !fake_held(b->server, 0); k++)
      bench_turn(b, 1);
    assert_int_equal(*told - before, cases[i].told);
    assert_true(fake_release(b->server, 0, cases[i].kind, 0, 0));
    for (unsigned k = 0; k < 1000 && !f->answered; k++)
      bench_turn(b, 1);
    assert_int_equal(*told - before, 2 * cases[i].told);
  }
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_the_brick_promises),
      cmocka_unit_test(test_taken_in),
      cmocka_unit_test(test_a_lock_that_is_waited_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
