/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a preamble, over the network: the order of what the layers
 * below see, refusals, malformed ones, and a client that goes in between.
 */
#include "rpc/preamble.h"
#include "tests/unit/brick-bench.h"

#include <errno.h>

static struct gi_fop *
mkdir_with(struct bench *b, void (*change)(struct gi_preamble *p))
{
  struct gi_fop *f = fake_fop(b->client, GI_FOP_MKDIR);
  struct gi_gfid gfid = {{9, 9}};
  struct gi_preamble p = {.domain = "v-replicate-0", .nlocks = 2};

  gi_fop_set_entry(f, &f->loc, fake_inode(b->client, 3), "new");
  gi_dict_set_gfid(gi_fop_xdata(f), "gfid-req", &gfid);
  p.owner.len = 8;
  memset(p.owner.data, 5, 8);
  p.lock[0] = (struct gi_preamble_lock){.entry = true, .gfid = f->loc.parent->gfid, .name = "new"};
  p.lock[1] = (struct gi_preamble_lock){.gfid = f->loc.parent->gfid};
  if (change)
    change(&p);
  gi_preamble_put(gi_fop_xdata(f), &p);
  gi_preamble_clear(&p);
  return f;
}

static int
outcome(struct gi_fop *f)
{
  struct gi_dict *counters;
  int err = -1;

  assert_true(gi_preamble_get_outcome(f->rsp.xdata, &err, &counters));
  gi_dict_unref(&counters);
  return err;
}

static void
saw(struct bench *b, unsigned n, enum gi_fop_kind kind, uint32_t cmd, uint32_t type)
{
  const struct fake_seen *s = &b->server->seen[n];

  assert_true(n < b->server->nseen);
  assert_int_equal(s->kind, kind);
  if (kind == GI_FOP_ENTRYLK || kind == GI_FOP_INODELK) {
    assert_int_equal(s->cmd, cmd);
    assert_int_equal(s->type, type);
  }
}

static void
test_order(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = mkdir_with(b, NULL);

  fake_forget_seen(b->server);
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_int_equal(outcome(f), 0);
  assert_int_equal(b->server->nseen, 3);
  saw(b, 0, GI_FOP_ENTRYLK, GI_ENTRYLK_NB, 1);
  saw(b, 1, GI_FOP_INODELK, GI_LKCMD_SET, GI_LK_WRITE);
  saw(b, 2, GI_FOP_MKDIR, 0, 0);
  bench_free(b);
}

static void
test_refused(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = mkdir_with(b, NULL);

  fake_forget_seen(b->server);
  fake_script(b->server, 0, GI_FOP_INODELK, (struct fake_reply){.ret = -1, .err = EAGAIN});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, EAGAIN);
  assert_int_equal(outcome(f), EAGAIN);
  assert_int_equal(b->server->nseen, 3);
  saw(b, 2, GI_FOP_ENTRYLK, GI_ENTRYLK_UNLOCK, 1); /* what was granted is given back, nothing is made */
  bench_free(b);
}

/* The operation's own failure leaves the locks: the client knows that it has them. */
static void
test_operation_fails(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = mkdir_with(b, NULL);

  fake_forget_seen(b->server);
  fake_script(b->server, 0, GI_FOP_MKDIR, (struct fake_reply){.ret = -1, .err = EEXIST});
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EEXIST);
  assert_int_equal(outcome(f), 0);
  assert_int_equal(b->server->nseen, 3);
  bench_free(b);
}

static void
one_counter(struct gi_preamble *p)
{
  static const uint8_t mark[12] = {0, 0, 0, 1};

  p->nlocks = 1;
  p->lock[0] = p->lock[1];
  p->counters = gi_dict_new();
  gi_dict_set_bin(p->counters, "trusted.afr.dirty", mark, sizeof(mark));
}

static void
give_counters(struct gi_fop *fop, void *arg)
{
  assert_int_equal(gi_dict_count(fop->args.dict), 1);
  fop->rsp.dict = gi_dict_ref(fop->args.dict);
}

static void
test_counters(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_SETATTR);
  struct gi_preamble p = {.domain = "d", .nlocks = 2};
  struct gi_dict *counters;
  int err;

  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  p.owner.len = 1;
  p.owner.data[0] = 1;
  p.lock[1].gfid = f->loc.inode->gfid;
  one_counter(&p);
  gi_preamble_put(gi_fop_xdata(f), &p);
  gi_preamble_clear(&p);
  fake_forget_seen(b->server);
  fake_script(b->server, 0, GI_FOP_XATTROP, (struct fake_reply){.fill = give_counters});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  assert_true(gi_preamble_get_outcome(f->rsp.xdata, &err, &counters));
  assert_int_equal(err, 0);
  assert_int_equal(gi_dict_count(counters), 1);
  gi_dict_unref(&counters);
  saw(b, 0, GI_FOP_INODELK, GI_LKCMD_SET, GI_LK_WRITE);
  saw(b, 1, GI_FOP_XATTROP, 0, 0);
  saw(b, 2, GI_FOP_SETATTR, 0, 0);
  bench_free(b);
}

/* The marks cannot be made: the lock goes back and nothing is changed. A name has no inode of its own to mark. */
static void
test_counters_fail(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = mkdir_with(b, one_counter);

  fake_forget_seen(b->server);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EINVAL);
  assert_int_equal(outcome(f), EINVAL);
  assert_int_equal(b->server->nseen, 0);
  bench_free(b);
}

static void
no_owner(struct gi_preamble *p)
{
  memset(p->owner.data, 0, 8);
}

static void
test_malformed(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = mkdir_with(b, no_owner), *g = mkdir_with(b, NULL);

  fake_forget_seen(b->server);
  bench_submit(b, f);
  assert_int_equal(f->rsp.err, EINVAL);
  gi_dict_set_bin(gi_fop_xdata(g), GI_PREAMBLE_KEY, "junk", 4);
  bench_submit(b, g);
  assert_int_equal(g->rsp.err, EINVAL);
  assert_int_equal(b->server->nseen, 0);
  bench_free(b);
}

/* The connection is gone between the first lock and the second: no second one is taken. */
static void
test_client_goes(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = mkdir_with(b, NULL);

  fake_forget_seen(b->server);
  fake_script(b->server, 0, GI_FOP_ENTRYLK, (struct fake_reply){.hold = true});
  bench_send(b, f);
  for (int i = 0; i < 1000 && !fake_held(b->server, 0); i++)
    bench_turn(b, 1);
  assert_int_equal(fake_held(b->server, 0), 1);
  gi_graph_deactivate(b->client->graph);
  bench_await(b, f);
  bench_turn(b, 20);
  assert_true(fake_release(b->server, 0, GI_FOP_ENTRYLK, 0, 0));
  bench_turn(b, 5);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_INODELK), 0);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_MKDIR), 0);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_ENTRYLK), 2);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),       cmocka_unit_test(test_refused),       cmocka_unit_test(test_operation_fails),
      cmocka_unit_test(test_counters),    cmocka_unit_test(test_counters_fail), cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_client_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
