/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool whose nodes run different versions, against a store in memory.
 */
#include "programs/glusterishd/pool/fixture.h"

#include <string.h>
#include <unistd.h>

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

/* ---- what a newer version has stored ---- */

#define VOLUME GD_PREFIX "volume/vol"
#define CREATE "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"127.0.0.1:DIR/a\"]}"

static void
assert_stored(const char *key, const char *part)
{
  const struct gd_key_pair *p = memory_store_get(&store, key);
  if (!p || !strstr(p->value, part))
    fail_msg("%s has %s", key, p ? p->value : "nothing");
}

/* A node of a newer version puts more into what there is, and keys of its own. */
static void
newer_pool(struct fixture *f)
{
  succeeds(f, run(f, 4, CREATE));
  const char *text = memory_store_get(&store, VOLUME)->value;
  GI_CLEANUP_FREE char *volume = gi_asprintf("{\"site\":\"west\",%s", text + 1);
  memory_store_put(&store, VOLUME, volume, 0);
  memory_store_put(&store, GD_PREFIX "volume/odd", "{\"type\":99}", 0);
  memory_store_put(&store, AWAY, "{\"zone\":7,\"version\":\"99.0\"," AWAY_MEMBERS "}", 0);
  memory_store_put(&store, GD_PREFIX "options", "{\"generation\":7,\"rules\":{\"a\":1},\"options\":[]}", 0);
  memory_store_put(&store, GD_PREFIX "quota/vol", "12", 0);
  memory_store_put(&store, GD_PREFIX "vote", "somebody", 77);
  follow(f);
}

static void
assert_newer_is_there(void)
{
  assert_stored(VOLUME, "\"site\":\"west\"");
  assert_stored(GD_PREFIX "volume/odd", "{\"type\":99}");
  assert_stored(AWAY, "\"zone\":7");
  assert_stored(AWAY, "\"version\":\"99.0\"");
  assert_stored(GD_PREFIX "options", "\"rules\":{\"a\":1}");
  assert_stored(GD_PREFIX "quota/vol", "12");
}

static void
change_all(struct fixture *f, const char *value) /* a number; it does as a host, too */
{
  succeeds(f, run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"%s\"]}", value));
  succeeds(f, run(f, 12, "{\"command\":\"volume set\",\"volume\":\"all\",\"pairs\":[\"cluster.server-quorum-ratio\",\"%s\"]}",
                  value));
  succeeds(
      f, run(f, 1, "{\"command\":\"peer update\",\"host\":\"" AWAY_HOST "\",\"addresses\":[\"" AWAY_HOST "\",\"%s\"]}", value));
  GI_CLEANUP_FREE char *quoted = gi_asprintf("\"%s\"", value);
  assert_stored(VOLUME, quoted);
  assert_stored(GD_PREFIX "options", quoted);
  assert_stored(AWAY, quoted);
}

static void
test_what_is_newer_stays_when_something_else_changes(void **state)
{
  struct fixture *f = *state;
  newer_pool(f);
  change_all(f, "63");
  assert_newer_is_there();
}

/* The daemon has nothing but its files, and the store is lost. */
static void
test_what_is_newer_is_in_a_store_made_anew(void **state)
{
  struct fixture *f = *state;
  newer_pool(f);
  change_all(f, "63");
  memory_store_clear(&store);
  restart(f);
  turns(f, 5);
  assert_newer_is_there();
  assert_stored(AWAY, "\"63\"");
  assert_null(memory_store_get(&store, GD_PREFIX "vote")); /* what hangs on a lease is over */
  change_all(f, "64");
  assert_newer_is_there();
}

static void
test_nothing_is_kept_of_what_is_known(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/newer", f->gd->config.workdir);
  newer_pool(f);
  assert_int_equal(access(path, F_OK), 0);
  memory_store_put(&store, GD_PREFIX "volume/odd", NULL, 0);
  memory_store_put(&store, GD_PREFIX "quota/vol", NULL, 0);
  memory_store_put(&store, GD_PREFIX "options", "{\"generation\":8,\"options\":[]}", 0);
  memory_store_put(&store, AWAY, AWAY_DOC, 0);
  succeeds(f, run(f, 7, "{\"command\":\"volume delete\",\"volume\":\"vol\"}"));
  follow(f);
  assert_int_equal(access(path, F_OK), -1);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_one_node_alone_is_what_it_can_do, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_node_that_is_away_hinders, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_is_older_than_the_newest_hinders, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_the_level_is_stored_when_nothing_hinders, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_what_is_newer_stays_when_something_else_changes, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_what_is_newer_is_in_a_store_made_anew, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_nothing_is_kept_of_what_is_known, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
