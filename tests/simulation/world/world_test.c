/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator itself: time, processes, streams and their faults, and above
 * all that one seed is one history. One brick of test/echo, one client.
 */
#include "libglusterish/log.h"
#include "libglusterish/task.h"
#include "tests/simulation/world/echo.h"
#include "tests/simulation/world/process.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct bench {
  struct sim_world *w;
  struct sim_process *brick, *client;
  unsigned up, down; /* events the client's top saw */
  unsigned asked, answered, failed;
};

/* ---- a top that counts ---- */

static int
top_init(struct gi_xlator *x, struct gi_error *err)
{
  x->private = ((struct sim_process *)x->ctx->app)->arg;
  return 0;
}

static bool
top_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct bench *b = x->private;
  if (event == GI_EVENT_CHILD_UP)
    b->up++;
  else if (event == GI_EVENT_CHILD_DOWN)
    b->down++;
  return false;
}

static const struct gi_xlator_class top_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/top",
    .version = "0",
    .summary = "Counts events.",
    .min_children = 1,
    .max_children = 1,
    .init = top_init,
    .notify = top_notify,
};

/* ---- the bench ---- */

static const char brick_volfile[] =
    "volume echo\n type test/echo\nend-volume\n"
    "volume server\n type protocol/server\n option listen-port 49152\n subvolumes echo\nend-volume\n";
static const char client_volfile[] =
    "volume client\n type protocol/client\n option remote-host brick\n option remote-port 49152\n"
    " option remote-subvolume echo\nend-volume\n"
    "volume top\n type test/top\n subvolumes client\nend-volume\n";

static void
run(struct bench *b, uint64_t ns)
{
  sim_world_run(b->w, b->w->now + ns, NULL);
}

static struct bench *
bench_new(uint64_t seed)
{
  struct bench *b = gi_new(struct bench);
  b->w = sim_world_new(seed);
  sim_net_new(b->w);
  b->brick = sim_process_new(b->w, 1, "brick", sim_net_host(b->w->net, "brick"), brick_volfile, "/b");
  b->client = sim_process_new(b->w, 2, "client", sim_net_host(b->w->net, "client"), client_volfile, NULL);
  b->client->arg = b;
  assert_true(sim_process_start(b->brick));
  assert_true(sim_process_start(b->client));
  return b;
}

static void
bench_free(struct bench *b)
{
  sim_process_stop(b->client);
  run(b, SIM_S);
  sim_process_stop(b->brick);
  run(b, 60 * SIM_S);
  assert_string_equal(b->w->violation, "");
  sim_process_free(&b->brick);
  sim_process_free(&b->client);
  sim_net_free(b->w);
  sim_world_free(&b->w);
  gi_free(b);
}

static void
answered(struct gi_fop *fop, void *arg)
{
  struct bench *b = arg;
  b->answered++;
  b->failed += fop->rsp.ret < 0;
  gi_fop_unref(fop);
}

static void
ask(void *arg)
{
  struct bench *b = arg;
  struct gi_graph *g = b->client->ctx.graph;
  struct gi_inode *root = gi_inode_get(g, &gi_gfid_root);
  struct gi_fop *fop = gi_fop_new(g, b->asked % 3 == 0 ? GI_FOP_WRITE : b->asked % 3 == 1 ? GI_FOP_READ : GI_FOP_STAT);
  gi_loc_set_inode(&fop->loc, root);
  if (fop->kind != GI_FOP_STAT)
    fop->fd = gi_fd_anonymous(g, root);
  fop->args.size = 1 + (b->asked * 7919) % 200000;
  if (fop->kind == GI_FOP_WRITE) {
    struct gi_buf *buf = gi_buf_new(fop->args.size);
    memset(buf->base, 0x5a, fop->args.size);
    gi_payload_add(&fop->payload, buf, buf->base, fop->args.size);
    gi_buf_unref(&buf);
  }
  gi_inode_unref(&root);
  b->asked++;
  gi_fop_submit(fop, g->top, answered, b);
}

static void
ask_many(struct bench *b, unsigned n, uint64_t every)
{
  for (unsigned i = 0; i < n; i++) {
    sim_process_call(b->client, ask, b);
    run(b, every);
  }
}

/* ---- tests ---- */

static void
test_quiet(void **state)
{
  struct bench *b = bench_new(1);
  run(b, SIM_S);
  assert_int_equal(b->up, 1);
  ask_many(b, 300, SIM_MS);
  run(b, SIM_S);
  assert_int_equal(b->answered, 300);
  assert_int_equal(b->failed, 0);
  assert_true(b->w->net->stats.short_reads > 0);
  bench_free(b);
}

/* Something of everything. The hash of all that happened until then; bench_free checks the invariants. */
static uint64_t
history(uint64_t seed)
{
  struct bench *b = bench_new(seed);
  run(b, SIM_S);
  ask_many(b, 50, SIM_MS);
  sim_net_cut(b->w->net, b->brick->host, b->client->host);
  run(b, 5 * SIM_S);
  sim_process_freeze(b->brick);
  ask_many(b, 10, SIM_MS);
  sim_process_thaw(b->brick);
  ask_many(b, 50, 100 * SIM_US);
  sim_process_crash(b->brick, seed % 2);
  run(b, SIM_S);
  assert_true(sim_process_start(b->brick));
  run(b, 10 * SIM_S);
  ask_many(b, 50, SIM_MS);
  uint64_t hash = b->w->hash;
  bench_free(b);
  return hash;
}

static void
test_one_seed_one_history(void **state)
{
  uint64_t first = history(7);
  for (int i = 0; i < 3; i++) {
    GI_CLEANUP_FREE void *elsewhere = gi_alloc(100000 + (size_t)i * 7); /* other addresses */
    assert_int_equal(history(7), first);
  }
  assert_int_not_equal(history(8), first);
}

static void
test_faults(void **state)
{
  for (uint64_t seed = 1; seed <= 20; seed++)
    history(seed);
}

static void
test_cut(void **state)
{
  struct bench *b = bench_new(3);
  run(b, SIM_S);
  sim_process_call(b->client, ask, b);
  assert_int_equal(sim_net_cut(b->w->net, b->brick->host, b->client->host), 1);
  run(b, 100 * SIM_MS);
  assert_int_equal(b->answered, 1);
  assert_int_equal(b->failed, 1);
  assert_int_equal(b->down, 1);
  run(b, 10 * SIM_S);
  assert_int_equal(b->up, 2);
  bench_free(b);
}

/* What a broken link holds back arrives when it is mended in time. */
static void
test_one_way(void **state)
{
  struct bench *b = bench_new(4);
  run(b, SIM_S);
  sim_net_break(b->w->net, b->brick->host, b->client->host, true);
  ask_many(b, 3, SIM_MS);
  run(b, SIM_S);
  assert_int_equal(b->answered, 0);
  assert_true(b->w->net->stats.held > 0);
  sim_net_break(b->w->net, b->brick->host, b->client->host, false);
  run(b, SIM_S);
  assert_int_equal(b->answered, 3);
  assert_int_equal(b->failed, 0);
  assert_int_equal(b->down, 0);
  bench_free(b);
}

/* The host goes without a word: the client finds out by its pings. */
static void
test_half_open(void **state)
{
  struct bench *b = bench_new(5);
  run(b, SIM_S);
  sim_process_crash(b->brick, true);
  sim_process_call(b->client, ask, b);
  run(b, SIM_S);
  assert_int_equal(b->answered, 0);
  run(b, 60 * SIM_S);
  assert_int_equal(b->answered, 1);
  assert_int_equal(b->failed, 1);
  assert_true(b->w->net->stats.resets == 0);
  assert_true(sim_process_start(b->brick));
  run(b, 60 * SIM_S);
  assert_int_equal(b->up, 2);
  bench_free(b);
}

/* Ends of nobody: a host that came back answers bytes for its former self with a reset. */
static void
test_restart_resets(void **state)
{
  struct bench *b = bench_new(6);
  run(b, SIM_S);
  sim_process_crash(b->brick, true);
  assert_true(sim_process_start(b->brick));
  sim_process_call(b->client, ask, b);
  run(b, SIM_S);
  assert_int_equal(b->failed, 1);
  assert_true(b->w->net->stats.resets > 0);
  bench_free(b);
}

static void
test_frozen(void **state)
{
  struct bench *b = bench_new(8);
  run(b, SIM_S);
  sim_process_freeze(b->brick);
  ask_many(b, 5, SIM_MS);
  run(b, SIM_S);
  assert_int_equal(b->answered, 0);
  sim_process_thaw(b->brick);
  run(b, SIM_S);
  assert_int_equal(b->answered, 5);
  bench_free(b);
}

static void
test_partition_and_refusal(void **state)
{
  struct bench *b = bench_new(9);
  struct sim_net *net = b->w->net;
  run(b, SIM_S);
  sim_net_partition(net, 1u << b->brick->host, true);
  sim_process_call(b->client, ask, b);
  run(b, 120 * SIM_S);
  assert_int_equal(b->failed, 1);
  sim_net_refuse(net, b->brick->host, true);
  sim_net_partition(net, 1u << b->brick->host, false);
  run(b, 60 * SIM_S);
  assert_true(net->stats.refused > 0);
  assert_int_equal(b->up, 1);
  sim_net_refuse(net, b->brick->host, false);
  run(b, 60 * SIM_S);
  assert_int_equal(b->up, 2);
  bench_free(b);
}

static void
test_slow_reader(void **state)
{
  struct bench *b = bench_new(10);
  run(b, SIM_S);
  sim_net_slow(b->w->net, b->brick->host, true);
  ask_many(b, 40, SIM_MS);
  run(b, SIM_S);
  assert_true(b->answered < 40);
  assert_true(b->w->net->stats.slow_reads > 0);
  sim_net_slow(b->w->net, b->brick->host, false);
  run(b, 10 * SIM_S);
  assert_int_equal(b->answered, 40);
  assert_int_equal(b->failed, 0);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quiet),          cmocka_unit_test(test_one_seed_one_history),
      cmocka_unit_test(test_faults),         cmocka_unit_test(test_cut),
      cmocka_unit_test(test_one_way),        cmocka_unit_test(test_half_open),
      cmocka_unit_test(test_restart_resets), cmocka_unit_test(test_frozen),
      cmocka_unit_test(test_slow_reader),    cmocka_unit_test(test_partition_and_refusal),
  };
  gi_log_set_level(GI_LOG_NONE);
  gi_class_register(&sim_echo_class);
  gi_class_register(&top_class);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
