/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may become a node of the pool, and with what reason others are refused.
 */
#include "programs/glusterishd/pool/fixture.h"

#include <errno.h>
#include <string.h>

#define NEW_ID "87654321-1234-4234-8234-123456789abc"
#define FACTS(more) "\"version\":\"99.0\",\"opVersion\":100001" more

static struct gi_error refused;

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  refused = err ? *err : (struct gi_error){0};
}

/* One that says that of itself; refused.code is ECANCELED when it was let on its way. */
static void
comes(struct fixture *f, const char *uuid, const char *facts)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("{\"command\":\"node admit\",\"uuid\":\"%s\",\"port\":9,\"address\":"
                                           "\"127.0.0.9\",\"own\":\"127.0.0.1\",%s}",
                                           uuid, facts);
  memset(&refused, 0, sizeof(refused));
  gd_op_begin_for_node(f->gd, text, 0, NULL, answered, NULL);
  gd_ops_abort(f->gd);
}

static void
test_who_cannot_do_what_the_pool_does_is_refused(void **state)
{
  struct fixture *f = *state;
  comes(f, NEW_ID, "\"version\":\"0.1\",\"opVersion\":99999");
  assert_non_null(strstr(refused.text, "runs version 0.1, whose operating version is 99999, and the pool has 100000"));
  comes(f, NEW_ID, "\"version\":\"0.1\"");
  assert_non_null(strstr(refused.text, "has version 0.1, this node has"));
  comes(f, NEW_ID, FACTS(""));
  assert_int_equal(refused.code, ECANCELED);
}

static void
test_clones_are_refused(void **state)
{
  struct fixture *f = *state;
  char own[GI_UUID_TEXT], pool[GI_UUID_TEXT];
  comes(f, gi_gfid_text(&f->gd->uuid, own), FACTS(""));
  assert_non_null(strstr(refused.text, "Peer uuid (host 127.0.0.9) is same as local uuid"));
  comes(f, AWAY_ID, FACTS(""));
  assert_non_null(strstr(refused.text, "Peer uuid (host 127.0.0.9) is same as that of node " AWAY_HOST));
  GI_CLEANUP_FREE char *itself = gi_asprintf(FACTS(",\"pool\":\"%s\""), gi_gfid_text(&f->gd->pool->id, pool));
  comes(f, AWAY_ID, itself); /* that node, by another address */
  assert_non_null(strstr(refused.text, "already in peer list"));
  assert_int_equal(refused.code, EEXIST);
}

static void
test_who_has_volumes_or_a_pool_is_refused(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"127.0.0.1:DIR/a\"]}"));
  comes(f, NEW_ID, FACTS(",\"volumes\":[\"other\",\"vol\"]"));
  assert_non_null(strstr(refused.text, "At least one volume on 127.0.0.9 conflicts"));
  comes(f, NEW_ID, FACTS(",\"volumes\":[\"other\"]"));
  assert_non_null(strstr(refused.text, "having volumes configured"));
  comes(f, NEW_ID, FACTS(",\"pool\":\"" AWAY_ID "\""));
  assert_non_null(strstr(refused.text, "already part of another cluster"));
}

static void
test_who_does_not_say_who_it_is_is_refused(void **state)
{
  comes(*state, "nobody", FACTS(""));
  assert_non_null(strstr(refused.text, "did not say who it is"));
}

/* The one question that finds it out is waited for, nothing else: all of it is told in the time of a command. */
static void
test_a_majority_that_goes_away_midway_is_told_at_once(void **state)
{
  struct fixture *f = *state;
  memset(&refused, 0, sizeof(refused));
  store.loses = true;
  gd_op_begin_for_node(f->gd,
                       "{\"command\":\"node admit\",\"uuid\":\"" NEW_ID "\",\"port\":9,\"address\":\"127.0.0.9\","
                       "\"own\":\"127.0.0.1\"," FACTS("}"),
                       0, NULL, answered, NULL);
  turns(f, 50);
  assert_int_equal(refused.code, ETIMEDOUT);
  assert_non_null(strstr(refused.text, "no majority"));
  assert_int_equal(store.lost, 1 + 2); /* that question, and when the lock is let go */
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_who_cannot_do_what_the_pool_does_is_refused, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_clones_are_refused, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_has_volumes_or_a_pool_is_refused, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_does_not_say_who_it_is_is_refused, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_majority_that_goes_away_midway_is_told_at_once, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
