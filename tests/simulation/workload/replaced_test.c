/* SPDX-License-Identifier: Apache-2.0
 *
 * A name that is replaced again and again, by renames of one client, is always
 * there for the others. What it led to may be gone when they ask for that by
 * itself, and the answer then says just this.
 */
#include "tests/simulation/cluster/ops.h"
#include "libglusterish/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SEEDS 12
#define NAME "always"

static struct {
  bool there; /* the name */
  unsigned replaced, looked, gone;
} run;

static void
must(struct sim_client *c, const char *what, int ret)
{
  if (ret < 0)
    sim_violation(c->cluster->w, "%s: %s: %s", c->process->name, what, strerror(-ret));
}

static void
replaces(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  while (!c->leave) {
    struct gi_fd *fd = NULL;
    must(c, "create", sim_op_create(c, root, "next", O_RDWR | O_EXCL, &fd));
    gi_fd_unref(&fd);
    must(c, "rename", sim_op_rename(c, root, "next", root, NAME));
    run.there = true;
    run.replaced++;
    sim_op_pause(c, sim_rng_below(&c->rng, 5 * SIM_MS));
  }
  gi_inode_unref(&root);
}

/* stat(2) without caches: the name, then what it has led to. */
static void
looks(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  while (!c->leave) {
    struct gi_inode *inode = NULL;
    struct gi_iatt stat;
    sim_op_pause(c, sim_rng_below(&c->rng, 5 * SIM_MS));
    if (!run.there)
      continue;
    must(c, "lookup", sim_op_lookup(c, root, NAME, &inode, &stat));
    int ret = inode ? sim_op_stat(c, inode, &stat) : 0;
    bool gone = ret == -ESTALE || ret == -ENOENT;
    must(c, "stat", gone ? 0 : ret);
    run.looked++;
    run.gone += gone;
    gi_inode_unref(&inode);
  }
  gi_inode_unref(&root);
}

/* What is left is abandoned. */
static void
run_seed(uint64_t seed)
{
  struct sim_cluster_config config = {.bricks = 3, .clients = 3, .healers = true};
  struct sim_world *w = sim_world_new(seed);
  sim_net_new(w);
  sim_config_draw(&config, seed);
  struct sim_cluster *c = sim_cluster_new(w, &config);
  run.there = false;
  sim_cluster_start(c);
  sim_world_run(w, w->now + 60 * SIM_S, NULL);
  assert_true(sim_cluster_clients_up(c));
  for (unsigned i = 0; i < config.clients; i++)
    sim_client_begin(&c->client[i], i == 0 ? replaces : looks);
  sim_world_run(w, w->now + 5 * SIM_S, NULL);
  if (w->violations)
    fail_msg("seed %llu: %u violations, the first: %s", (unsigned long long)seed, w->violations, w->violation);
}

static void
a_name_that_is_replaced_is_always_there(void **state)
{
  for (uint64_t seed = 1; seed <= SEEDS; seed++)
    run_seed(seed);
  print_message("# %u replaced, %u looked at, %u gone meanwhile\n", run.replaced, run.looked, run.gone);
  assert_true(run.replaced > 20 * SEEDS && run.looked > 20 * SEEDS && run.gone > 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_that_is_replaced_is_always_there)};
  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
