/* SPDX-License-Identifier: Apache-2.0
 *
 * Who changes a name, or attributes, and dies when some copies were told and others not: nothing was acknowledged, and no mark says so, for
 * while all copies are locked none is made before. A heal makes the copies agree, without a crawl over all that there is.
 */
#include "tests/simulation/cluster/ops.h"
#include "tests/simulation/cluster/settle.h"
#include "libglusterish/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SETTLE (600 * SIM_S)

static unsigned done;
static unsigned told = 3; /* so many copies hear of the change */

static void
break_links(struct sim_client *c, bool down)
{
  for (unsigned i = told; i < 3; i++)
    sim_net_break(c->cluster->w->net, c->process->host, c->cluster->machine[i].process->host, down);
}

static void
makes_dir(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);

  break_links(c, true);
  done += sim_op_mkdir(c, root, "d", NULL) == 0;
  gi_inode_unref(&root);
}

static void
makes_file(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  struct gi_fd *fd = NULL;

  done += sim_op_create(c, root, "f", O_RDWR, &fd) == 0;
  gi_fd_unref(&fd);
  gi_inode_unref(&root);
}

static void
removes_file(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);

  break_links(c, true);
  done += sim_op_unlink(c, root, "f") == 0;
  gi_inode_unref(&root);
}

static void
changes_mode(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);

  break_links(c, true);
  done += sim_op_chmod(c, root, 0700 + done) == 0;
  gi_inode_unref(&root);
}

static void
begin(struct sim_cluster *c, void (*session)(struct sim_client *c))
{
  c->client[0].session = NULL;
  sim_client_begin(&c->client[0], session);
}

static void
finish(struct sim_cluster *c, void (*session)(struct sim_client *c))
{
  unsigned before = done;

  begin(c, session);
  for (unsigned n = 0; n < 1000 && done == before; n++)
    sim_world_run(c->w, c->w->now + SIM_MS, NULL);
  assert_int_equal(done, before + 1);
  sim_world_run(c->w, c->w->now + 5 * SIM_S, NULL);
}

static struct sim_cluster *
cluster_up(uint64_t seed)
{
  struct sim_cluster_config config = {.bricks = 3, .clients = 1, .healers = true};
  struct sim_world *w = sim_world_new(seed);

  sim_net_new(w);
  sim_config_draw(&config, seed);
  config.arbiter = false;
  config.foreign = 0;
  struct sim_cluster *c = sim_cluster_new(w, &config);
  sim_cluster_start(c);
  sim_world_run(w, w->now + 60 * SIM_S, NULL);
  assert_true(sim_cluster_clients_up(c));
  finish(c, changes_mode);
  return c;
}

/* The client's machine loses its power, and with it what is on its way to copies that were not told. */
static void
dies(struct sim_cluster *c, unsigned first, void (*session)(struct sim_client *c))
{
  unsigned before = done;

  told = first;
  begin(c, session);
  sim_world_run(c->w, c->w->now + SIM_S, NULL);
  assert_int_equal(done, before);
  sim_process_crash(c->client[0].process, true);
  break_links(&c->client[0], false);
  told = 3;
}

static bool
same(struct sim_cluster *c)
{
  char why[256];

  return sim_disk_same(c->machine[0].disk, SIM_BRICK_DIR, c->machine[2].disk, SIM_BRICK_DIR, why, sizeof(why));
}

static void
heals(struct sim_cluster *c)
{
  assert_false(same(c)); /* or the test shows nothing */
  if (!sim_settle(c, SETTLE, false))
    fail_msg("%s", c->w->violation);
  assert_int_equal(c->w->violations, 0);
}

static void
a_name_is_made(void **state)
{
  for (unsigned first = 1; first < 3; first++) {
    struct sim_cluster *c = cluster_up(first);

    dies(c, first, makes_dir);
    heals(c);
  }
}

static void
a_name_is_removed(void **state)
{
  for (unsigned first = 1; first < 3; first++) {
    struct sim_cluster *c = cluster_up(first);

    finish(c, makes_file);
    dies(c, first, removes_file);
    heals(c);
  }
}

static void
a_mode_is_set(void **state)
{
  for (unsigned first = 1; first < 3; first++) {
    struct sim_cluster *c = cluster_up(first);

    dies(c, first, changes_mode);
    heals(c);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_is_made),
      cmocka_unit_test(a_name_is_removed),
      cmocka_unit_test(a_mode_is_set),
  };
  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
