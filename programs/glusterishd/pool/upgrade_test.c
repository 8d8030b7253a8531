/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool whose nodes run different versions, against a store in memory.
 */
#include "programs/glusterishd/pool/fixture.h"

#include <errno.h>
#include <string.h>

#define CHECK "{\"command\":\"pool upgrade check\"}"
#define FINISH "{\"command\":\"pool upgrade finish\"}"

static void
older_pool(struct fixture *f)
{
  memory_store_put(&store, GD_PREFIX "options", "{\"generation\":7,\"options\":[[\"cluster.op-version\",\"90000\"]]}", 0);
  follow(f);
}

static void
test_one_node_alone_is_what_it_can_do(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 1, CHECK));
  assert_non_null(strstr(f->out, "\"hinders\":[]"));
  gd_options_set(&f->gd->pool_options, "cluster.op-version", "90000");
  succeeds(f, run(f, 1, FINISH));
  assert_int_equal(gd_pool_level(f->gd), GD_OP_VERSION);
}

static void
test_a_node_that_is_away_hinders(void **state)
{
  struct fixture *f = *state;
  older_pool(f);
  succeeds(f, run(f, 1, CHECK));
  assert_non_null(strstr(f->out, "node 127.0.0.77 is not connected"));
  assert_int_equal(run(f, 1, FINISH), GD_ERR_MGMT);
  assert_says(f, "node 127.0.0.77 is not connected");
  assert_int_equal(gd_pool_level(f->gd), 90000);
}

static void
test_who_is_older_than_the_newest_hinders(void **state)
{
  struct fixture *f = *state;
  struct gd_node *n = gd_node_at(f->gd, 0);
  json_t *greeting = json_pack("{s:s,s:i}", "version", "99.0", "opVersion", GD_OP_VERSION + 1);
  gd_node_hear(f->gd, &n->id, greeting);
  json_decref(greeting);
  succeeds(f, run(f, 1, CHECK));
  assert_non_null(strstr(f->out, "node localhost runs version"));
  assert_non_null(strstr(f->out, "\"version\":\"99.0\""));
}

static void
test_the_level_is_stored_when_nothing_hinders(void **state)
{
  struct fixture *f = *state;
  older_pool(f);
  memory_store_put(&store, AWAY, NULL, 0); /* it is detached */
  follow(f);
  succeeds(f, run(f, 1, FINISH));
  follow(f);
  assert_int_equal(gd_pool_level(f->gd), GD_OP_VERSION);
  assert_non_null(strstr(memory_store_get(&store, GD_PREFIX "options")->value, "100000"));
  succeeds(f, run(f, 1, FINISH)); /* again is fine */
}

/* ---- who may come ---- */

static struct gi_error refused;

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  refused = err ? *err : (struct gi_error){0};
}

static void
comes(struct fixture *f, const char *facts)
{
  GI_CLEANUP_FREE char *text =
      gi_asprintf("{\"command\":\"node admit\",\"uuid\":\"87654321-1234-4234-8234-123456789abc\",\"port\":9,\"address\":"
                  "\"127.0.0.9\",\"own\":\"127.0.0.1\",%s}",
                  facts);
  memset(&refused, 0, sizeof(refused));
  gd_op_begin_for_node(f->gd, text, 0, NULL, answered, NULL);
  gd_ops_abort(f->gd);
}

static void
test_who_cannot_do_what_the_pool_does_is_refused(void **state)
{
  struct fixture *f = *state;
  comes(f, "\"version\":\"0.1\",\"opVersion\":99999");
  assert_non_null(strstr(refused.text, "runs version 0.1, whose operating version is 99999, and the pool has 100000"));
  comes(f, "\"version\":\"0.1\"");
  assert_non_null(strstr(refused.text, "has version 0.1, this node has"));
  comes(f, "\"version\":\"99.0\",\"opVersion\":100001");
  assert_int_equal(refused.code, ECANCELED); /* it was on its way */
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_one_node_alone_is_what_it_can_do, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_node_that_is_away_hinders, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_is_older_than_the_newest_hinders, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_the_level_is_stored_when_nothing_hinders, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_cannot_do_what_the_pool_does_is_refused, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
