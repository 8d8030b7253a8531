/* SPDX-License-Identifier: Apache-2.0
 *
 * A node takes the place of another one, against a store in memory: what is
 * refused, what is stored, and what the new node waits for.
 */
#include "programs/glusterishd/pool/fixture.h"
#include "programs/glusterishd/pool/replace.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define REPLACE "{\"command\":\"node replace\",\"old\":\"127.0.0.77\",\"new\":\"127.0.0.1\"}"
#define STATUS "{\"command\":\"node status\"}"

/* The first brick of "vol" is the old node's, as the store says. */
static struct gd_volume *
give_brick_away(struct fixture *f)
{
  struct gd_volume *theirs = gd_volume_draft(gd_volume_find(f->gd, "vol"));
  gi_gfid_parse(AWAY_ID, &theirs->bricks[0].node);
  theirs->version += 4;
  GI_CLEANUP_FREE char *text = gd_definition_write(theirs);
  gd_volume_free(theirs);
  memory_store_put(&store, GD_PREFIX "volume/vol", text, 0);
  follow(f);
  return gd_volume_find(f->gd, "vol");
}

static void
test_what_copies_hold_against_others(void **state)
{
  struct fixture *f = *state;
  const struct gd_volume *v = create(f, "a", "b");
  unsigned silent = 9;
  json_t *facts = json_pack("{s:s,s:i}", "0-0-hardlinks", "3", "0-1-hardlinks", 4);
  assert_int_equal(gd_replace_left(v, 0, facts, UINT_MAX, &silent), 7);
  json_object_del(facts, "0-1-hardlinks");
  assert_int_equal(gd_replace_left(v, 0, facts, UINT_MAX, &silent), -1);
  assert_int_equal(silent, 1);
  assert_int_equal(gd_replace_left(v, 0, facts, 1, &silent), 3);
  json_object_set_new(facts, "0-1-status", json_string("Brick is not connected"));
  assert_int_equal(gd_replace_left(v, 0, facts, UINT_MAX, &silent), -1);
  json_decref(facts);
}

static void
test_one_node_alone_replaces_nobody(void **state)
{
  struct fixture *f = *state;
  assert_int_equal(run(f, 1, REPLACE), EINVAL);
  assert_says(f, "in no pool");
  succeeds(f, run(f, 1, STATUS));
  assert_string_equal(f->out, "{}");
}

static void
test_what_cannot_be_moved_is_named(void **state)
{
  struct fixture *f = *state;
  assert_int_equal(run(f, 1, "{\"command\":\"node replace\",\"old\":\"127.0.0.66\",\"new\":\"127.0.0.1\"}"), ENOENT);
  assert_int_equal(run(f, 1, "{\"command\":\"node replace\",\"old\":\"127.0.0.1\",\"new\":\"127.0.0.1\"}"), EINVAL);
  assert_int_equal(run(f, 1, "{\"command\":\"node replace\",\"old\":\"127.0.0.1\",\"new\":\"127.0.0.77\"}"), ENOTCONN);
  create(f, "a", "b");
  give_brick_away(f);
  assert_int_equal(run(f, 1, REPLACE), GD_ERR_MGMT);
  assert_says(f, "volume vol is not started");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  assert_int_equal(run(f, 1, REPLACE), GD_ERR_MGMT);
  assert_says(f, "would be on one node, which needs 'force'");
  assert_null(memory_store_get(&store, GD_REPLACE_KEY));
}

static void
test_what_is_wanted_is_stored_and_told(void **state)
{
  struct fixture *f = *state;
  create(f, "a", "b");
  succeeds(f, run(f, 8, "{\"command\":\"volume start\",\"volume\":\"vol\"}"));
  give_brick_away(f);
  succeeds(f, run(f, 1, "{\"command\":\"node replace\",\"old\":\"127.0.0.77\",\"new\":\"127.0.0.1\",\"force\":true}"));
  const struct gd_key_pair *p = memory_store_get(&store, GD_REPLACE_KEY);
  assert_non_null(p);
  int64_t revision = p->revision;
  succeeds(f, run(f, 1, "{\"command\":\"node replace\",\"old\":\"127.0.0.77\",\"new\":\"127.0.0.1\",\"force\":true}"));
  assert_int_equal(memory_store_get(&store, GD_REPLACE_KEY)->revision, revision); /* it goes on */
  for (int i = 0; i < 500 && !strstr(f->out, "does not tell"); i++)
    succeeds(f, run(f, 1, STATUS)); /* nobody answers for the self-heal daemon */
  assert_non_null(strstr(f->out, "\"state\":\"running\""));
  assert_non_null(strstr(f->out, "\"moved\":0"));
  assert_non_null(strstr(f->out, "b of volume vol does not tell what it holds against others"));
}

static void
test_nothing_is_left_to_do(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 1, REPLACE));
  for (int i = 0; i < 1000 && gd_node_at(f->gd, 0); i++)
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  assert_null(gd_node_at(f->gd, 0)); /* the old node is no part of the pool any more */
}

static void
test_a_damaged_wish_is_none(void **state)
{
  struct fixture *f = *state;
  memory_store_put(&store, GD_REPLACE_KEY, "[1]", 0);
  follow(f);
  assert_null(gd_replace_wanted(f->gd->pool));
  memory_store_put(&store, GD_REPLACE_KEY, "{\"state\":\"running\",\"new\":7}", 0);
  follow(f);
  succeeds(f, run(f, 1, STATUS));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_what_copies_hold_against_others, setup, teardown),
      cmocka_unit_test_setup_teardown(test_one_node_alone_replaces_nobody, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_cannot_be_moved_is_named, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_what_is_wanted_is_stored_and_told, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_nothing_is_left_to_do, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_damaged_wish_is_none, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
