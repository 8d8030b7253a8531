/* SPDX-License-Identifier: Apache-2.0
 *
 * A node that lost its files comes back as what it was, against a store in memory.
 */
#include "programs/glusterishd/pool/fixture.h"
#include "rpc/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static struct gi_error refused;
static char *invitation;

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  refused = err ? *err : (struct gi_error){0};
  free(invitation);
  invitation = json_dumps(op->out, JSON_COMPACT);
}

/* What somebody says who has a token. */
static void
comes(struct fixture *f, const char *address, const char *as)
{
  json_t *in =
      json_pack("{s:s,s:s,s:i,s:s,s:s,s:s,s:i}", "command", "node admit", "uuid", "87654321-1234-4234-8234-123456789abc",
                "port", 9, "address", address, "own", "127.0.0.1", "version", "9", "opVersion", GD_OP_VERSION);
  if (as)
    json_object_set_new(in, "as", json_string(as));
  char *text = json_dumps(in, 0);
  gd_op_begin_for_node(f->gd, text, 0, NULL, answered, NULL);
  gd_ops_abort(f->gd);
  free(text);
  json_decref(in);
}

static const char *
invited_as(const char *member)
{
  static char value[128];
  json_t *doc = json_loads(invitation, 0, NULL);
  const char *its = json_string_value(json_object_get(doc, member));
  snprintf(value, sizeof(value), "%s", its ? its : "");
  json_decref(doc);
  return value;
}

static void
test_who_is_away_may_come_back(void **state)
{
  struct fixture *f = *state;
  comes(f, "127.0.0.99", AWAY_HOST);
  assert_int_equal(refused.code, 0);
  assert_string_equal(invited_as("uuid"), AWAY_ID);
  assert_string_equal(invited_as("as"), AWAY_HOST);
  assert_string_equal(invited_as("host"), AWAY_HOST);
  assert_string_equal(invited_as("address"), "127.0.0.99");
  assert_string_equal(invited_as("members"), ""); /* of the store it becomes one later */
  assert_non_null(memory_store_get(&store, AWAY));
}

/* A node that joined with a token is known by its address alone. */
static void
test_a_name_of_its_address_will_do(void **state)
{
  struct fixture *f = *state;
  struct gi_net_address address = {.len = sizeof(struct sockaddr_in)};
  struct sockaddr_in *in = (struct sockaddr_in *)&address.sa;
  in->sin_family = AF_INET;
  inet_pton(AF_INET, AWAY_HOST, &in->sin_addr);
  gd_host_learn(f->gd, "away.example", &address, 1);
  comes(f, "127.0.0.99", "away.example");
  assert_int_equal(refused.code, 0);
  assert_string_equal(invited_as("uuid"), AWAY_ID);
  assert_string_equal(invited_as("as"), "away.example");
}

/* Any of its addresses, as they were looked up: nobody is asked while the daemon waits. */
static void
test_a_name_is_known_by_what_was_looked_up(void **state)
{
  struct fixture *f = *state;
  struct gi_net_address address[2] = {{.len = sizeof(struct sockaddr_in)}, {.len = sizeof(struct sockaddr_in)}};
  const char *const text[] = {"127.0.0.77", AWAY_HOST};
  struct gd_node *n = NULL;
  for (unsigned i = 0; i < 2; i++) {
    struct sockaddr_in *in = (struct sockaddr_in *)&address[i].sa;
    in->sin_family = AF_INET;
    inet_pton(AF_INET, text[i], &in->sin_addr);
  }
  assert_false(gd_node_named(f->gd, "away.invalid", &n));
  gd_host_learn(f->gd, "away.invalid", address, 2);
  assert_true(gd_node_named(f->gd, "away.invalid", &n));
  assert_ptr_equal(n, gd_node_of_host(f->gd, AWAY_HOST));
}

static void
test_who_nobody_knows_may_not(void **state)
{
  struct fixture *f = *state;
  comes(f, "127.0.0.99", "127.0.0.88");
  assert_int_equal(refused.code, ENOENT);
  assert_string_equal(invited_as("secret"), "");
  comes(f, "127.0.0.99", "127.0.0.1"); /* the node that is asked */
  assert_int_equal(refused.code, ENOENT);
  assert_string_equal(invited_as("secret"), "");
}

/* Else the pool would have two nodes with one address, of which one never comes back. */
static void
test_a_new_node_does_not_come_with_the_address_of_another(void **state)
{
  struct fixture *f = *state;
  comes(f, AWAY_HOST, NULL);
  assert_int_equal(refused.code, EEXIST);
  assert_non_null(strstr(refused.text, "pool join TOKEN@HOST as " AWAY_HOST));
}

static void
test_it_is_who_it_was(void **state)
{
  struct fixture *f = *state;
  struct gi_error err = {0};
  char before[GI_UUID_TEXT], now[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/glusterd.info", f->gd->config.workdir);
  gi_gfid_text(&f->gd->uuid, before);
  json_t *nobody = json_pack("{s:s}", "pool", AWAY_ID);
  assert_int_equal(gd_pool_return(f->gd, nobody, &err), -1);
  assert_string_equal(gi_gfid_text(&f->gd->uuid, now), before);
  json_decref(nobody);
  json_t *in = json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:[{s:s,s:[s],s:i}]}", "uuid", AWAY_ID, "pool",
                         "11111111-1234-4234-8234-123456789abc", "secret",
                         "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "host", AWAY_HOST, "address",
                         "127.0.0.1", "epoch", (json_int_t)3, "nodes", "uuid", before, "hosts", "127.0.0.2", "port", 9);
  f->gd->new_key_store = open_store;
  if (gd_pool_return(f->gd, in, &err))
    fail_msg("%s", err.text);
  json_decref(in);
  assert_string_equal(gi_gfid_text(&f->gd->uuid, now), AWAY_ID);
  struct gd_kvs kvs;
  assert_int_equal(gd_kvs_load(path, &kvs, &err), 0);
  assert_string_equal(gd_kvs_get(&kvs, "UUID"), AWAY_ID);
  gd_kvs_free(&kvs);
  assert_true(f->gd->pool->lost); /* its member of the store is of no use */
  assert_non_null(gd_node_of_host(f->gd, "127.0.0.2"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_who_is_away_may_come_back, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_name_of_its_address_will_do, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_name_is_known_by_what_was_looked_up, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_nobody_knows_may_not, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_new_node_does_not_come_with_the_address_of_another, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_it_is_who_it_was, setup, teardown_pool),
  };
  int ret = cmocka_run_group_tests(tests, NULL, NULL);
  free(invitation);
  return ret;
}
