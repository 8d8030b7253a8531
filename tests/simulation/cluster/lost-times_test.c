/* SPDX-License-Identifier: Apache-2.0
 *
 * What a killed brick loses of the times of a directory (storage/posix, "Times"): those of the last 20 ms, until the next change of the
 * directory. One that is stopped loses nothing.
 */
#include "tests/simulation/cluster/ops.h"
#include "tests/simulation/cluster/settle.h"
#include "libglusterish/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SETTLE (600 * SIM_S)

static unsigned made;

static void
makes_one(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  char name[16];

  snprintf(name, sizeof(name), "d%u", made);
  if (sim_op_mkdir(c, root, name, NULL) == 0)
    made++;
  gi_inode_unref(&root);
}

/* Until it is answered, by all bricks. */
static void
make(struct sim_cluster *c)
{
  unsigned before = made;

  c->client[0].session = NULL;
  sim_client_begin(&c->client[0], makes_one);
  for (unsigned n = 0; n < 1000 && made == before; n++)
    sim_world_run(c->w, c->w->now + SIM_MS, NULL);
  assert_int_equal(made, before + 1);
}

static struct sim_cluster *
cluster_up(uint64_t seed)
{
  struct sim_cluster_config config = {.bricks = 3, .clients = 1, .healers = true};
  struct sim_world *w = sim_world_new(seed);

  sim_net_new(w);
  sim_config_draw(&config, seed);
  config.arbiter = false;
  struct sim_cluster *c = sim_cluster_new(w, &config);
  sim_cluster_start(c);
  sim_world_run(w, w->now + 60 * SIM_S, NULL);
  assert_true(sim_cluster_clients_up(c));
  make(c);
  sim_world_run(w, w->now + SIM_S, NULL);
  return c;
}

static bool
same_times(struct sim_cluster *c)
{
  char why[256];

  return sim_disk_same(c->machine[0].disk, SIM_BRICK_DIR, c->machine[1].disk, SIM_BRICK_DIR, why, sizeof(why));
}

static void
settle(struct sim_cluster *c)
{
  assert_true(sim_machine_start(&c->machine[1]));
  if (!sim_settle(c, SETTLE, true))
    fail_msg("%s", c->w->violation);
  assert_int_equal(c->w->violations, 0);
}

static void
a_killed_brick_loses_times_until_the_next_change(void **state)
{
  struct sim_cluster *c = cluster_up(1);

  make(c);
  sim_machine_crash(&c->machine[1]);
  assert_true(c->lost_times.count > 0);
  settle(c);
  assert_false(same_times(c)); /* a heal that gives them back may say so: here, and in storage/posix */
  make(c);
  settle(c);
  sim_world_run(c->w, c->w->now + SIM_S, NULL);
  assert_true(same_times(c));
}

static void
a_stopped_brick_loses_none(void **state)
{
  struct sim_cluster *c = cluster_up(2);

  make(c);
  sim_process_stop(c->machine[1].process);
  sim_world_run(c->w, c->w->now + 60 * SIM_S, NULL);
  assert_int_equal(c->machine[1].process->state, SIM_DOWN);
  assert_int_equal(c->lost_times.count, 0);
  settle(c);
  assert_true(same_times(c));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_killed_brick_loses_times_until_the_next_change),
      cmocka_unit_test(a_stopped_brick_loses_none),
  };
  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
