/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes back with a message, over the network: in which order it is done,
 * what of it a malformed value leaves, and a client that goes in between.
 */
#include "rpc/give-back.h"
#include "tests/unit/brick-bench.h"

#include <errno.h>
#include <fcntl.h>

static const struct gi_owner owner = {.len = 1, .data = {7}};

static void
put_unlock(struct gi_xdr_out *out, struct bench *b)
{
  gi_give_back_put(out,
                   &(struct gi_give_back){
                       .what = GI_GIVEN_LOCK, .domain = "d", .owner = owner, .lock = {.gfid = fake_inode(b->client, 3)->gfid}});
}

static void
put_counters(struct gi_xdr_out *out, struct bench *b)
{
  struct gi_dict *counters = gi_dict_new();

  gi_dict_set_bin(counters, "trusted.afr.dirty", "\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12);
  gi_give_back_put(out, &(struct gi_give_back){.what = GI_GIVEN_COUNTERS,
                                               .handle = GI_FD_ANONYMOUS,
                                               .gfid = fake_inode(b->client, 4)->gfid,
                                               .counters = counters});
  gi_dict_unref(&counters);
}

static void
put_descriptor(struct gi_xdr_out *out)
{
  gi_give_back_put(out, &(struct gi_give_back){.what = GI_GIVEN_DESCRIPTOR}); /* the client's first: handle 0 */
}

/* A STAT that `out` goes along with. */
static struct gi_fop *
stat_with(struct bench *b, struct gi_xdr_out *out)
{
  struct gi_fop *f = bench_request(b, GI_FOP_STAT, NULL);

  gi_dict_set_bin(gi_fop_xdata(f), GI_GIVE_BACK_KEY, out->base, (uint32_t)out->len);
  gi_xdr_out_finish(out);
  fake_forget_seen(b->server);
  return f;
}

/* Sends it, and turns until the brick has the first operation, which it keeps. */
static void
send_held(struct bench *b, struct gi_fop *f, enum gi_fop_kind first)
{
  fake_script(b->server, 0, first, (struct fake_reply){.hold = true});
  bench_send(b, f);
  for (int i = 0; i < 1000 && !fake_held(b->server, 0); i++)
    bench_turn(b, 1);
  bench_turn(b, 5);
  assert_int_equal(fake_held(b->server, 0), 1);
  assert_int_equal(b->server->nseen, 1);
  assert_int_equal(b->server->seen[0].kind, first);
}

/* Whatever order they come in: nothing else happens before the brick has lowered the counters. */
static void
test_counters_are_lowered_first(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_xdr_out out = {0};
  struct gi_fop *f;

  bench_open(b, 9, O_RDWR);
  put_unlock(&out, b);
  put_descriptor(&out);
  put_counters(&out, b);
  f = stat_with(b, &out);
  send_held(b, f, GI_FOP_XATTROP);
  assert_int_equal(b->server->graph->fds_live, 1);
  assert_true(fake_release(b->server, 0, GI_FOP_XATTROP, 0, 0));
  bench_await(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(b->server->nseen, 3);
  assert_int_equal(b->server->seen[1].kind, GI_FOP_INODELK);
  assert_int_equal(b->server->seen[1].type, GI_LK_UNLOCK);
  assert_int_equal(b->server->seen[2].kind, GI_FOP_STAT);
  assert_int_equal(b->server->graph->fds_live, 0);
  fake_fop_free(f);
  bench_free(b);
}

/* So does the operation: its client counts on the lock being gone. */
static void
test_the_operation_waits_for_an_unlock(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_xdr_out out = {0};
  struct gi_fop *f;

  put_unlock(&out, b);
  f = stat_with(b, &out);
  send_held(b, f, GI_FOP_INODELK);
  assert_true(fake_release(b->server, 0, GI_FOP_INODELK, 0, 0));
  bench_await(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(b->server->nseen, 2);
  fake_fop_free(f);
  bench_free(b);
}

/* What comes before what cannot be read is given back; the operation is refused. */
static void
test_malformed(void **state)
{
  for (uint32_t what = GI_GIVEN_LOCK; what <= GI_GIVEN_COUNTERS + 1; what++) {
    struct bench *b = bench_new(NULL, NULL, true);
    struct gi_xdr_out out = {0};
    struct gi_fop *f;

    put_unlock(&out, b);
    gi_xdr_put_u32(&out, what);
    f = stat_with(b, &out);
    bench_submit(b, f);
    assert_int_equal(f->rsp.ret, -1);
    assert_int_equal(f->rsp.err, EINVAL);
    assert_int_equal(b->server->nseen, 1);
    assert_int_equal(b->server->seen[0].kind, GI_FOP_INODELK);
    fake_fop_free(f);
    bench_free(b);
  }
}

/* The locks have gone with the connection while the counters were lowered: another one may have them by now. */
static void
test_client_goes(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_xdr_out out = {0};
  struct gi_fop *f;

  put_counters(&out, b);
  put_unlock(&out, b);
  f = stat_with(b, &out);
  send_held(b, f, GI_FOP_XATTROP);
  gi_graph_deactivate(b->client->graph);
  bench_await(b, f);
  bench_turn(b, 20);
  assert_true(fake_release(b->server, 0, GI_FOP_XATTROP, 0, 0));
  bench_turn(b, 5);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_INODELK), 0);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counters_are_lowered_first),
      cmocka_unit_test(test_the_operation_waits_for_an_unlock),
      cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_client_goes),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
