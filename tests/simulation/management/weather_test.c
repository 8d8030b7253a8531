/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool in bad weather: its store has no majority for hours, the network
 * flaps, one node of two restarts, the pool comes and goes around a volume.
 * Bricks are not disturbed, commands say soon what is wrong, and all is well
 * when the weather is.
 */
#include "tests/simulation/management/bench.h"

#include <string.h>
#include <sys/stat.h>

#define SOON (5 * SIM_S) /* a command says what is wrong */
#define CALM (16 * SIM_S)
#define MINUTE (60 * SIM_S)

#define CREATE \
  "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true," \
  "\"bricks\":[\"10.0.0.1:DIR/0/a\",\"10.0.0.2:DIR/1/a\"]}"
#define START "{\"command\":\"volume start\",\"volume\":\"vol\"}"
#define INFO "{\"command\":\"volume info\",\"volume\":\"vol\"}"
#define SET(value) "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"" value "\"]}"
#define PROBE(host) "{\"command\":\"peer probe\",\"host\":\"" host "\"}"

static void
pool_with_volume(struct bench *b, unsigned n)
{
  bench_begin(b, n);
  bench_pool(b, n);
  bench_order(b, 1, 4, CREATE);
  bench_order(b, 0, 8, START);
}

static pid_t
brick_on(const struct bench *b, unsigned node)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%u/a", b->all->dir, node);
  pid_t pid = sim_process_with(b->all->node[node].host, path);
  assert_true(pid > 0);
  return pid;
}

static void
assert_agreed(struct bench *b)
{
  char why[512];
  if (!sim_nodes_agree(b->all, why, sizeof(why)))
    fail_msg("%s", why);
}

static void
assert_set(struct bench *b, const char *value)
{
  for (unsigned i = 0; i < b->all->n; i++)
    assert_string_equal(gd_options_get(&gd_volume_find(b->all->node[i].gd, "vol")->options, "user.a"), value);
}

/* Nothing can be changed, which is told soon; what only shows is answered. */
static void
refuses(struct bench *b, unsigned node, const char *reason)
{
  struct gi_error err;
  uint64_t from = b->w->now;
  assert_int_not_equal(bench_give(b, node, 12, SET("refused"), &err), 0);
  if (!strstr(err.text, reason))
    fail_msg("node %u says: %s", node, err.text);
  if (b->w->now - from > SOON)
    fail_msg("node %u says it after %llu ms", node, (unsigned long long)((b->w->now - from) / SIM_MS));
  bench_order(b, node, 5, INFO);
}

static void
test_hours_without_majority(void **state)
{
  struct bench bench, *b = &bench;
  pool_with_volume(b, 3);
  struct sim_store *s = sim_node_store(&b->all->node[0]);
  pid_t first = brick_on(b, 0), second = brick_on(b, 1);
  uint64_t events = 0;
  s->down++;
  for (unsigned i = 0; i < 24; i++) {
    uint64_t before = b->w->events;
    sim_nodes_run(b->all, 10 * MINUTE, NULL);
    if (i == 0)
      events = b->w->events - before;
    else if (b->w->events - before > 2 * events) /* nothing piles up */
      fail_msg("%llu events in ten minutes, and %llu at first", (unsigned long long)(b->w->events - before),
               (unsigned long long)events);
    refuses(b, i % 3, "no majority");
  }
  sim_node_crash(&b->all->node[1], false); /* what is in its files is enough */
  sim_node_start(&b->all->node[1]);
  sim_nodes_run(b->all, MINUTE, NULL);
  refuses(b, 1, "no majority");
  assert_int_equal(brick_on(b, 0), first);
  assert_int_equal(brick_on(b, 1), second);
  sim_node_crash(&b->all->node[1], true);
  sim_node_start(&b->all->node[1]);
  sim_nodes_run(b->all, MINUTE, NULL);
  assert_int_not_equal(brick_on(b, 1), second);
  s->down--;
  sim_nodes_run(b->all, CALM, NULL);
  bench_order(b, 2, 12, SET("well"));
  sim_nodes_run(b->all, CALM, NULL);
  assert_agreed(b);
  assert_set(b, "well");
  bench_end(b);
}

/* A node is cut off and comes back, for moments and for long, for an hour. */
static void
test_the_network_flaps(void **state)
{
  struct bench bench, *b = &bench;
  pool_with_volume(b, 3);
  struct sim_store *s = sim_node_store(&b->all->node[0]);
  struct sim_rng rng = sim_rng_new(1, 77);
  pid_t first = brick_on(b, 0), second = brick_on(b, 1);
  uint64_t until = b->w->now + 60 * MINUTE;
  for (unsigned n = 0; b->w->now < until; n++) {
    unsigned node = (unsigned)sim_rng_below(&rng, 3);
    uint64_t away = sim_rng_chance(&rng, 700) ? sim_rng_below(&rng, SIM_S) : sim_rng_below(&rng, 40 * SIM_S);
    sim_net_partition(b->w->net, 1u << b->all->node[node].host, true);
    s->cut[node]++;
    sim_nodes_run(b->all, away, NULL);
    if (n % 7 == 0)
      refuses(b, node, "not reachable");
    sim_net_partition(b->w->net, 1u << b->all->node[node].host, false);
    s->cut[node]--;
    sim_nodes_run(b->all, sim_rng_below(&rng, 8 * SIM_S), NULL);
  }
  sim_nodes_run(b->all, MINUTE, NULL);
  for (unsigned i = 0; i < 3; i++)
    for (unsigned k = 0; k < 3; k++)
      if (i != k && !gd_node_connected(gd_node_find(b->all->node[i].gd, &b->all->node[k].id)))
        fail_msg("node %u does not see node %u", i, k);
  bench_order(b, 1, 12, SET("well"));
  sim_nodes_run(b->all, CALM, NULL);
  assert_agreed(b);
  assert_set(b, "well");
  assert_int_equal(brick_on(b, 0), first); /* the volume wants no quorum of nodes: nobody stopped them */
  assert_int_equal(brick_on(b, 1), second);
  bench_end(b);
}

/* Of two nodes one restarts, its daemon or its machine; then the other one. */
static void
test_one_of_two_restarts(void **state)
{
  struct bench bench, *b = &bench;
  pool_with_volume(b, 2);
  for (unsigned n = 0; n < 4; n++) {
    struct sim_node *gone = &b->all->node[n % 2];
    unsigned other = 1 - n % 2;
    pid_t its = brick_on(b, gone->n), others = brick_on(b, other);
    sim_node_crash(gone, n >= 2);
    sim_nodes_run(b->all, MINUTE, NULL);
    bench_order(b, other, 12, SET("alone"));
    sim_node_start(gone);
    sim_nodes_run(b->all, CALM, NULL);
    assert_agreed(b);
    assert_set(b, "alone");
    assert_true((brick_on(b, gone->n) == its) == (n < 2));
    assert_int_equal(brick_on(b, other), others);
    bench_order(b, gone->n, 12, SET("together"));
    sim_nodes_run(b->all, CALM, NULL);
    assert_set(b, "together");
  }
  bench_end(b);
}

/* ---- a pool around a volume ---- */

static void
stat_of(const struct bench *b, const char *name, struct stat *st)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/0/%s", b->all->dir, name);
  if (stat(path, st))
    fail_msg("%s is gone", path);
}

static void
test_a_volume_becomes_part_of_a_pool_and_goes_back(void **state)
{
  struct bench bench, *b = &bench;
  struct stat was, is, file_was, file_is;
  bench_begin(b, 2);
  bench_order(b, 0, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"10.0.0.1:DIR/0/a\"]}");
  bench_order(b, 0, 8, START);
  bench_order(b, 0, 12, SET("before"));
  sim_nodes_run(b->all, CALM, NULL);
  pid_t pid = brick_on(b, 0);
  GI_CLEANUP_FREE char *file = gi_asprintf("%s/0/a/file", b->all->dir);
  assert_int_equal(gd_write_file(file, "content", 7, false, NULL), 0);
  stat_of(b, "a", &was);
  stat_of(b, "a/file", &file_was);
  struct gi_gfid id = gd_volume_find(b->all->node[0].gd, "vol")->id;

  bench_pool(b, 2);
  sim_nodes_run(b->all, CALM, NULL);
  bench_order(b, 1, 12, SET("within"));
  sim_nodes_run(b->all, CALM, NULL);
  assert_set(b, "within");
  bench_order(b, 0, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.2\"}");
  sim_nodes_run(b->all, CALM, NULL);

  struct gd *gd = b->all->node[0].gd;
  struct gd_volume *v = gd_volume_find(gd, "vol");
  assert_null(gd->pool);
  assert_non_null(v);
  assert_true(gi_gfid_equal(&v->id, &id));
  assert_string_equal(gd_options_get(&v->options, "user.a"), "within");
  assert_null(gd_volume_find(b->all->node[1].gd, "vol"));
  assert_int_equal(brick_on(b, 0), pid);
  stat_of(b, "a", &is);
  stat_of(b, "a/file", &file_is);
  assert_memory_equal(&was.st_ctim, &is.st_ctim, sizeof(was.st_ctim)); /* names and attributes are as they were */
  assert_memory_equal(&file_was.st_ctim, &file_is.st_ctim, sizeof(was.st_ctim));
  bench_order(b, 0, 12, SET("after"));
  sim_node_crash(&b->all->node[0], true);
  sim_node_start(&b->all->node[0]);
  sim_nodes_run(b->all, CALM, NULL);
  brick_on(b, 0);
  assert_string_equal(gd_options_get(&gd_volume_find(b->all->node[0].gd, "vol")->options, "user.a"), "after");
  bench_end(b);
}

static void
test_nobody_probes_itself(void **state)
{
  struct bench bench, *b = &bench;
  bench_begin(b, 2);
  for (unsigned i = 0; i < 2; i++) {
    bench_order(b, 0, 1, PROBE("10.0.0.1"));
    assert_true((b->all->node[0].gd->pool != NULL) == (i == 1)); /* nothing has begun by that */
    bench_order(b, 0, 1, PROBE("10.0.0.2"));
    sim_nodes_run(b->all, CALM, NULL);
    assert_agreed(b);
  }
  bench_end(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hours_without_majority), cmocka_unit_test(test_the_network_flaps),
      cmocka_unit_test(test_one_of_two_restarts),    cmocka_unit_test(test_a_volume_becomes_part_of_a_pool_and_goes_back),
      cmocka_unit_test(test_nobody_probes_itself),
  };
  int ret = cmocka_run_group_tests(tests, NULL, NULL);
  fflush(NULL);
  _Exit(ret); /* memory of dead daemons is not to be looked for */
}
