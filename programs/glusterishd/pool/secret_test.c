/* SPDX-License-Identifier: Apache-2.0
 *
 * A node leaves, and the others have another secret: what the store has of it,
 * who can read that, and what a node does that was away.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THIRD_ID "22345678-1234-4234-8234-123456789abc"
#define THIRD GD_PREFIX "node/" THIRD_ID
#define DETACH "{\"command\":\"peer detach\",\"host\":\"" AWAY_HOST "\",\"force\":true}"

/* The third node, as far as it has a key pair. */
static struct gd *third;

static void
third_is_there(struct fixture *f, const char *key)
{
  GI_CLEANUP_FREE char *doc =
      gi_asprintf("{\"uuid\":\"" THIRD_ID "\",\"hosts\":[\"127.0.0.78\"],\"port\":9,\"key\":\"%s\"}", key);
  memory_store_put(&store, THIRD, doc, 0);
  follow(f);
}

static int
setup_three(void **state)
{
  setup_pool(state);
  struct fixture *f = *state;
  struct gd_config config = f->gd->config;
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/third", f->dir);
  struct gi_error err = {0};
  assert_int_equal(gd_mkdir_all(dir, 0700, &err), 0);
  config.workdir = dir;
  third = gd_new(f->r, &config);
  third_is_there(f, gd_node_key(third));
  return 0;
}

static int
teardown_three(void **state)
{
  gd_free(&third);
  return teardown_pool(state);
}

static json_t *
stored(void)
{
  const struct gd_key_pair *p = memory_store_get(&store, GD_SECRET_KEY);
  return p ? json_loads(p->value, 0, NULL) : NULL;
}

static void
test_all_who_stay_have_another_one(void **state)
{
  struct fixture *f = *state;
  uint8_t old[GD_SECRET_BYTES], its[GD_SECRET_BYTES], past[GD_PAST_MAX][GD_SECRET_BYTES];
  memcpy(old, f->gd->pool->secret, sizeof(old));
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  json_t *doc = stored();
  assert_int_equal(json_integer_value(json_object_get(doc, "generation")), 1);
  const json_t *nodes = json_object_get(doc, "nodes");
  assert_int_equal(json_object_size(nodes), 2);
  assert_null(json_object_get(nodes, AWAY_ID));
  GI_CLEANUP_FREE char *open = gd_unseal_own(third, json_string_value(json_object_get(nodes, THIRD_ID)));
  assert_true(gd_unhex(open, its, sizeof(its)));
  assert_memory_equal(its, f->gd->pool->secret, sizeof(its));
  assert_memory_not_equal(its, old, sizeof(its));
  assert_int_equal(f->gd->pool->generation, 1);
  assert_int_equal(gd_secrets_past(f->gd, past), 1);
  assert_memory_equal(past[0], old, sizeof(old));
  assert_null(gd_unseal(old, json_string_value(json_array_get(json_object_get(doc, "before"), 0))));
  assert_null(strstr(f->out, "keeps its secret"));
  json_decref(doc);
}

static void
test_each_one_leads_to_those_before(void **state)
{
  struct fixture *f = *state;
  uint8_t all[GD_PAST_MAX + 3][GD_SECRET_BYTES], past[GD_PAST_MAX][GD_SECRET_BYTES];
  for (unsigned i = 0; i < GI_ARRAY_LEN(all); i++) {
    memcpy(all[i], f->gd->pool->secret, GD_SECRET_BYTES);
    memory_store_put(&store, AWAY, AWAY_DOC, 0);
    follow(f);
    succeeds(f, run(f, 2, DETACH));
    turns(f, 5);
  }
  assert_int_equal(f->gd->pool->generation, GI_ARRAY_LEN(all));
  assert_int_equal(gd_secrets_past(f->gd, past), GD_PAST_MAX);
  for (unsigned i = 0; i < GD_PAST_MAX; i++)
    assert_memory_equal(past[i], all[GI_ARRAY_LEN(all) - 1 - i], GD_SECRET_BYTES);
}

static void
test_nobody_is_locked_out(void **state)
{
  struct fixture *f = *state;
  memory_store_put(&store, THIRD, "{\"uuid\":\"" THIRD_ID "\",\"hosts\":[\"127.0.0.78\"],\"port\":9}", 0);
  gd_node_forget(gd_node_of_host(f->gd, "127.0.0.78")); /* its key was never told */
  follow(f);
  uint8_t old[GD_SECRET_BYTES];
  memcpy(old, f->gd->pool->secret, sizeof(old));
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  assert_null(memory_store_get(&store, GD_SECRET_KEY));
  assert_memory_equal(old, f->gd->pool->secret, sizeof(old));
  assert_non_null(strstr(f->out, "keeps its secret"));
  assert_non_null(strstr(f->out, "127.0.0.78"));
}

static void
test_credentials_are_sealed_anew(void **state)
{
  struct fixture *f = *state;
  uint8_t old[GD_SECRET_BYTES];
  memcpy(old, f->gd->pool->secret, sizeof(old));
  succeeds(f, run(f, 1, "{\"command\":\"pool tls\",\"action\":\"enable\"}"));
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  json_t *doc = json_loads(memory_store_get(&store, GD_ENCRYPTION_KEY)->value, 0, NULL);
  const char *sealed = json_string_value(json_object_get(doc, "sealed"));
  GI_CLEANUP_FREE char *open = gd_unseal(f->gd->pool->secret, sealed);
  assert_non_null(open);
  assert_null(gd_unseal(old, sealed));
  assert_int_equal(json_integer_value(json_object_get(doc, "generation")), 1); /* of another authority */
  json_decref(doc);
  assert_non_null(strstr(f->out, "pool tls rotate"));
}

/* All who stay have the key of the authority before, as the one that left has. */
static void
test_the_authority_stays_with_the_secret(void **state)
{
  struct fixture *f = *state;
  memory_store_put(&store, THIRD, "{\"uuid\":\"" THIRD_ID "\",\"hosts\":[\"127.0.0.78\"],\"port\":9}", 0);
  gd_node_forget(gd_node_of_host(f->gd, "127.0.0.78"));
  follow(f);
  succeeds(f, run(f, 1, "{\"command\":\"pool tls\",\"action\":\"enable\"}"));
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  json_t *doc = json_loads(memory_store_get(&store, GD_ENCRYPTION_KEY)->value, 0, NULL);
  assert_null(json_object_get(doc, "generation"));
  assert_string_equal(json_string_value(json_array_get(json_object_get(doc, "gone"), 0)), AWAY_ID);
  assert_non_null(strstr(f->out, "keeps its secret"));
  json_decref(doc);
}

/* It knew those of all volumes. */
static void
test_volumes_have_other_passwords(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"127.0.0.1:DIR/a\"]}"));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  GI_CLEANUP_FREE char *user = gi_strdup(v->username), *password = gi_strdup(v->password);
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  v = gd_volume_find(f->gd, "vol");
  assert_string_not_equal(v->username, user);
  assert_string_not_equal(v->password, password);
  assert_string_equal(v->former_username, user); /* others may not have heard yet */
  assert_string_equal(v->former_password, password);
  assert_true(v->shows_former);
  json_t *doc = json_loads(memory_store_get(&store, GD_PREFIX "volume/vol")->value, 0, NULL);
  assert_string_equal(json_string_value(json_object_get(doc, "username")), v->username);
  json_decref(doc);
}

/* The file of the pool, as a node finds it that begins again. */
static void
test_it_is_kept(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/pool", f->gd->config.workdir);
  struct gi_error err = {0};
  struct gd_kvs kvs;
  struct gd_pool again = {.gd = f->gd};
  uint8_t old[GD_SECRET_BYTES];
  memcpy(old, f->gd->pool->secret, sizeof(old));
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  assert_int_equal(gd_kvs_load(path, &kvs, &err), 0);
  assert_true(gd_unhex(gd_kvs_get(&kvs, "secret"), again.secret, GD_SECRET_BYTES));
  assert_memory_equal(again.secret, f->gd->pool->secret, GD_SECRET_BYTES);
  gd_secret_read(&again, &kvs);
  assert_int_equal(again.generation, 1);
  assert_string_equal(again.secret_doc, f->gd->pool->secret_doc);
  assert_memory_equal(again.trusts[0].secret, old, sizeof(old)); /* by which members of the store know each other still */
  gi_free(again.secret_doc);
  gd_kvs_free(&kvs);
}

/* ---- who was away ---- */

/* What others answer a node that knows the secret `old` of generation 0, when it has asked with that nonce. */
static json_t *
answer_of(struct fixture *f, const uint8_t *old, const char *text)
{
  char uuid[GI_UUID_TEXT], mac[GD_MAC_TEXT];
  const char *parts[] = {"this it is", "challenge", "nonce", gi_gfid_text(&f->gd->uuid, uuid), text, NULL};
  gd_mac(old, GD_SECRET_BYTES, parts, mac);
  return json_pack("{s:s,s:s}", "secret", text, "mac", mac);
}

static void
forget(struct fixture *f, const uint8_t *old)
{
  memcpy(f->gd->pool->secret, old, GD_SECRET_BYTES);
  f->gd->pool->generation = 0;
}

static void
test_who_was_away_takes_it(void **state)
{
  struct fixture *f = *state;
  uint8_t old[GD_SECRET_BYTES], new[GD_SECRET_BYTES], other[GD_SECRET_BYTES] = "another";
  memcpy(old, f->gd->pool->secret, sizeof(old));
  succeeds(f, run(f, 2, DETACH));
  turns(f, 5);
  memcpy(new, f->gd->pool->secret, sizeof(new));
  GI_CLEANUP_FREE char *text = gi_strdup(f->gd->pool->secret_doc);
  forget(f, old);
  json_t *good = answer_of(f, old, text), *strange = answer_of(f, other, text);
  assert_false(gd_secret_hear(f->gd, "challenge", "nonce", strange)); /* whoever says so was never in the pool */
  assert_false(gd_secret_hear(f->gd, "challenge", "another nonce", good));
  assert_int_equal(f->gd->pool->generation, 0);
  assert_true(gd_secret_hear(f->gd, "challenge", "nonce", good));
  assert_memory_equal(f->gd->pool->secret, new, sizeof(new));
  assert_false(gd_secret_hear(f->gd, "challenge", "nonce", good)); /* it is none any more */
  json_decref(good);
  json_decref(strange);
}

static void
test_who_was_detached_finds_out(void **state)
{
  struct fixture *f = *state;
  uint8_t old[GD_SECRET_BYTES];
  memcpy(old, f->gd->pool->secret, sizeof(old));
  json_t *answer = answer_of(f, old, "{\"generation\":1,\"nodes\":{\"" THIRD_ID "\":\"00\"},\"before\":[]}");
  assert_false(gd_secret_hear(f->gd, "challenge", "nonce", answer));
  turns(f, 5);
  assert_null(f->gd->pool);
  json_decref(answer);
}

static void
test_nonsense_changes_nothing(void **state)
{
  static const char *const texts[] = {"",
                                      "{}",
                                      "[]",
                                      "{\"generation\":1}",
                                      "{\"generation\":-1,\"nodes\":{}}",
                                      "{\"generation\":4294967296,\"nodes\":{}}",
                                      "{\"generation\":\"1\",\"nodes\":{}}"};
  struct fixture *f = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(texts); i++) {
    json_t *answer = answer_of(f, f->gd->pool->secret, texts[i]);
    assert_false(gd_secret_hear(f->gd, "challenge", "nonce", answer));
    json_decref(answer);
    memory_store_put(&store, GD_SECRET_KEY, texts[i], 0);
    follow(f);
    assert_int_equal(f->gd->pool->generation, 0);
  }
  json_t *nothing = json_object();
  assert_false(gd_secret_hear(f->gd, "challenge", "nonce", nothing));
  json_decref(nothing);
}

/* A version before has written this node's description without its key. */
static void
test_the_store_learns_the_key(void **state)
{
  struct fixture *f = *state;
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&f->gd->uuid, uuid));
  json_t *doc = gd_node_own_doc(f->gd);
  json_object_del(doc, "key");
  char *text = json_dumps(doc, 0);
  memory_store_put(&store, key, text, 0);
  follow(f);
  for (unsigned i = 0; i < 8000 && !strstr(memory_store_get(&store, key)->value, gd_node_key(f->gd)); i++)
    turns(f, 1);
  assert_non_null(strstr(memory_store_get(&store, key)->value, gd_node_key(f->gd)));
  free(text);
  json_decref(doc);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_all_who_stay_have_another_one, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_each_one_leads_to_those_before, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_nobody_is_locked_out, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_credentials_are_sealed_anew, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_volumes_have_other_passwords, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_the_authority_stays_with_the_secret, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_it_is_kept, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_who_was_away_takes_it, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_who_was_detached_finds_out, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_nonsense_changes_nothing, setup_three, teardown_three),
      cmocka_unit_test_setup_teardown(test_the_store_learns_the_key, setup_three, teardown_three),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
