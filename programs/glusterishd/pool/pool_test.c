/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of a pool against a store in memory: its changes get there, others'
 * changes come from there, and whenever the daemon dies, before or after any
 * call to the store, a command is done or not done when it is back.
 */
#include "programs/glusterishd/pool/fixture.h"
#include "programs/glusterishd/pool/credential.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VOLUME GD_PREFIX "volume/vol"
#define CREATE \
  "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true,\"bricks\":[\"127.0.0.1:DIR/a\"," \
  "\"127.0.0.1:DIR/b\"]}"
#define START "{\"command\":\"volume start\",\"volume\":\"vol\"}"
#define SET "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b\"]}"
#define STOP "{\"command\":\"volume stop\",\"volume\":\"vol\"}"
#define DELETE "{\"command\":\"volume delete\",\"volume\":\"vol\"}"

/* What the store has and what the node has are the same. */
static void
assert_agreed(struct fixture *f, const char *what, unsigned call)
{
  const struct gd_key_pair *p = memory_store_get(&store, VOLUME);
  const struct gd_volume *v = gd_volume_find(f->gd, "vol");
  if (!p != !v)
    fail_msg("%s dies at call %u: the store has %s, the node has %s", what, call, p ? "it" : "nothing", v ? "it" : "nothing");
  if (!p)
    return;
  struct gd_volume *stored = gd_definition_read(f->gd, "vol", p->value, NULL);
  assert_non_null(stored);
  if (!gd_definition_same(stored, v))
    fail_msg("%s dies at call %u: the store has %s", what, call, p->value);
  gd_volume_free(stored);
}

static void
ignore(struct gd_op *op, const struct gi_error *err)
{
}

static void
prepare_for(struct fixture *f, uint32_t proc)
{
  if (proc != 4)
    succeeds(f, run(f, 4, CREATE));
  if (proc == 9)
    succeeds(f, run(f, 8, START));
}

/* Begins the command and lets the daemon die at its call number `call`. False: it has fewer calls. */
static bool
dies_at(struct fixture *f, uint32_t proc, const char *text, unsigned call, bool after)
{
  char request[1024];
  const char *from = text;
  size_t n = 0;
  for (; *from && n < sizeof(request) - 70; from++) {
    if (strncmp(from, "DIR", 3) == 0) {
      n += (size_t)snprintf(request + n, sizeof(request) - n, "%s", f->dir);
      from += 2;
    } else {
      request[n++] = *from;
    }
  }
  request[n] = '\0';
  store.dies_at = store.calls + call;
  store.dies_after = after;
  gd_op_begin(f->gd, request, proc, false, NULL, ignore, NULL);
  for (unsigned i = 0; i < 2000 && !store.dead && !gi_list_empty(&f->gd->ops); i++) {
    gi_list_foreach(v, &f->gd->volumes, struct gd_volume, link)
      for (unsigned k = 0; k < v->nbricks; k++)
        if (v->bricks[k].state == GD_PROC_UP && !v->bricks[k].signed_in)
          gd_brick_signed_in(&v->bricks[k], v->bricks[k].port);
    gi_reactor_turn(f->r, 10 * GI_NSEC_PER_MSEC);
  }
  return store.dead;
}

static void
check_command(uint32_t proc, const char *text)
{
  unsigned died = 0;
  bool more = true;
  for (unsigned call = 1; more; call++)
    for (int after = 0; after < 2; after++) {
      struct fixture *f;
      setup_pool((void **)&f);
      prepare_for(f, proc);
      more = dies_at(f, proc, text, call, after);
      died += more;
      restart(f);
      assert_agreed(f, text, call);
      /* Whoever tries again finds it done, or does it. */
      GI_IGNORE(run(f, proc, "%s", text));
      turns(f, 5);
      assert_agreed(f, text, call);
      const struct gd_volume *v = gd_volume_find(f->gd, "vol");
      assert_int_equal(!v, proc == 7);
      if (proc == 8)
        assert_int_equal(v->status, GD_STARTED);
      if (proc == 9)
        assert_int_equal(v->status, GD_STOPPED);
      if (proc == 12)
        assert_string_equal(gd_options_get(&v->options, "user.a"), "b");
      teardown_pool((void **)&f);
    }
  assert_true(died >= 6); /* lease, lock and change, before and after */
}

static void
test_create_is_done_or_not(void **state)
{
  check_command(4, CREATE);
}

static void
test_start_is_done_or_not(void **state)
{
  check_command(8, START);
}

static void
test_set_is_done_or_not(void **state)
{
  check_command(12, SET);
}

static void
test_stop_is_done_or_not(void **state)
{
  check_command(9, STOP);
}

static void
test_delete_is_done_or_not(void **state)
{
  check_command(7, DELETE);
}

/* ---- the store counts ---- */

static void
test_changes_of_others_are_taken(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  struct gd_volume *theirs = gd_volume_draft(gd_volume_find(f->gd, "vol"));
  gd_options_set(&theirs->options, "user.a", "theirs");
  theirs->version += 4;
  GI_CLEANUP_FREE char *text = gd_definition_write(theirs);
  gd_volume_free(theirs);
  memory_store_put(&store, VOLUME, text, 0);
  follow(f);
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_string_equal(gd_options_get(&v->options, "user.a"), "theirs");
  restart(f); /* it is in the files too */
  assert_agreed(f, "", 0);
  memory_store_put(&store, VOLUME, NULL, 0);
  follow(f);
  assert_null(gd_volume_find(f->gd, "vol"));
}

static void
test_a_damaged_definition_changes_nothing(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  memory_store_put(&store, VOLUME, "{\"id\":1}", 0);
  follow(f);
  assert_int_equal(gd_volume_find(f->gd, "vol")->nbricks, 2);
}

static void
test_a_brick_that_left_is_stopped_after_its_volume_went(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  succeeds(f, run(f, 8, START));
  struct gd_volume *theirs = gd_volume_draft(gd_volume_find(f->gd, "vol"));
  GI_CLEANUP_FREE char *pidfile = gd_brick_pidfile(&gd_volume_find(f->gd, "vol")->bricks[1]);
  assert_int_equal(access(pidfile, F_OK), 0);
  gi_free(theirs->bricks[1].host);
  gi_free(theirs->bricks[1].path);
  gi_free(theirs->bricks[1].id);
  theirs->nbricks = theirs->replica = 1;
  theirs->type = GD_DISTRIBUTE;
  GI_CLEANUP_FREE char *text = gd_definition_write(theirs);
  gd_volume_free(theirs);
  memory_store_put(&store, VOLUME, text, 0);
  follow(f);
  assert_int_equal(gd_volume_find(f->gd, "vol")->nbricks, 1);
  memory_store_put(&store, VOLUME, NULL, 0);
  follow(f);
  assert_null(gd_volume_find(f->gd, "vol"));
  for (unsigned i = 0; i < 2000 && access(pidfile, F_OK) == 0; i++)
    turns(f, 10);
  assert_int_equal(access(pidfile, F_OK), -1);
}

static void
test_the_store_of_another_pool_is_not_followed(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  memory_store_put(&store, GD_PREFIX "pool", "12345678-1234-4234-8234-123456789abc", 0);
  memory_store_put(&store, VOLUME, NULL, 0);
  follow(f);
  assert_non_null(gd_volume_find(f->gd, "vol"));
}

static void
test_a_store_that_was_begun_is_filled(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  memory_store_clear(&store);
  follow(f);
  assert_int_equal(store.keys.n, 0); /* it had something: whoever emptied it knows why */
  restart(f);                        /* as far as the file says nothing was ever in it */
  turns(f, 5);
  assert_non_null(memory_store_get(&store, GD_PREFIX "pool"));
  assert_agreed(f, "", 0);
  succeeds(f, run(f, 12, SET));
}

static void
test_a_store_made_anew_counts_anew(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  succeeds(f, run(f, 12, SET));
  memory_store_clear(&store);
  store.keys.revision = 0;
  f->gd->pool->unfilled = true;
  gd_follow_anew(f->gd->pool->follow);
  follow(f);
  assert_agreed(f, "", 0);
  succeeds(f, run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"c\"]}"));
  assert_agreed(f, "", 0);
}

static void
test_the_lock_keeps_others_out(void **state)
{
  struct fixture *f = *state;
  memory_store_put(&store, GD_PREFIX "lock", "another node", 77);
  assert_int_equal(run(f, 4, CREATE), GD_ERR_MGMT);
  assert_says(f, "Another transaction is in progress");
  memory_store_expire(&store);
  succeeds(f, run(f, 4, CREATE));
  assert_null(memory_store_get(&store, GD_PREFIX "lock")); /* it is given back */
}

static void
test_who_is_detached_is_alone(void **state)
{
  struct fixture *f = *state;
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *node = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&f->gd->uuid, uuid));
  succeeds(f, run(f, 4, CREATE));
  memory_store_put(&store, node, NULL, 0);
  follow(f);
  assert_null(f->gd->pool);
  assert_null(gd_volume_find(f->gd, "vol"));
}

static void
test_bricks_stop_without_a_quorum_of_nodes(void **state)
{
  struct fixture *f = *state;
  struct gd_pool *p = f->gd->pool;
  memory_store_put(&store, AWAY, NULL, 0);
  gd_follow_refresh(p->follow, NULL, NULL);
  turns(f, 5);
  succeeds(f, run(f, 4, CREATE));
  succeeds(f, run(f, 8, START));
  succeeds(f,
           run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"cluster.server-quorum-type\",\"server\"]}"));
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  gd_quorum_look(p);
  assert_int_equal(v->bricks[0].state, GD_PROC_UP);
  memory_store_put(&store, AWAY, AWAY_DOC, 0);
  gd_follow_refresh(p->follow, NULL, NULL);
  turns(f, 5);
  assert_non_null(gd_node_at(f->gd, 0));
  gd_quorum_look(p);
  assert_int_equal(v->bricks[0].state, GD_PROC_UP); /* it may still come */
  p->began = 0;
  gd_quorum_look(p);
  assert_true(v->cut_off);
  for (unsigned i = 0; i < 500 && v->bricks[0].state != GD_PROC_DOWN; i++)
    turns(f, 10);
  assert_int_equal(v->bricks[0].state, GD_PROC_DOWN);
  assert_int_equal(run(f, 9, STOP), GD_ERR_MGMT);
  assert_says(f, "Quorum not met");
  memory_store_put(&store, AWAY, NULL, 0);
  gd_follow_refresh(p->follow, NULL, NULL);
  turns(f, 5);
  gd_quorum_look(p);
  for (unsigned i = 0; i < 500 && v->bricks[0].state != GD_PROC_UP; i++)
    turns(f, 10);
  assert_int_equal(v->bricks[0].state, GD_PROC_UP);
}

static void
test_a_daemon_that_begins_has_no_quorum(void **state)
{
  struct fixture *f = *state;
  struct gd_pool *p = f->gd->pool;
  succeeds(f, run(f, 4, CREATE));
  succeeds(f, run(f, 8, START));
  gd_quorum_begin(f->gd);
  struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_false(v->cut_off); /* it wants none */
  succeeds(f,
           run(f, 12, "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"cluster.server-quorum-type\",\"server\"]}"));
  gd_quorum_begin(f->gd);
  assert_true(v->cut_off); /* nothing is started before others are seen */
  memory_store_put(&store, AWAY, AWAY_DOC, 0);
  follow(f);
  gd_quorum_look(p);
  assert_int_equal(v->bricks[0].state, GD_PROC_UP); /* what runs is left alone for a while */
  p->began = 0;
  gd_quorum_look(p);
  for (unsigned i = 0; i < 500 && v->bricks[0].state != GD_PROC_DOWN; i++)
    turns(f, 10);
  assert_int_equal(v->bricks[0].state, GD_PROC_DOWN);
}

static void
test_who_is_alone_needs_no_quorum(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, CREATE));
  gd_volume_find(f->gd, "vol")->cut_off = true;
  gd_pool_dissolve(f->gd);
  turns(f, 5);
  assert_null(f->gd->pool);
  assert_false(gd_volume_find(f->gd, "vol")->cut_off);
}

/* What the pool's secret seals only it opens, as it was. */
static void
test_what_is_sealed(void **state)
{
  struct fixture *f = *state;
  uint8_t other[GD_SECRET_BYTES] = {1};
  GI_CLEANUP_FREE char *sealed = gd_seal(f->r, f->gd->pool->secret, "a word"),
                       *again = gd_seal(f->r, f->gd->pool->secret, "a word");
  GI_CLEANUP_FREE char *open = gd_unseal(f->gd->pool->secret, sealed);
  assert_string_equal(open, "a word");
  assert_string_not_equal(sealed, again);
  assert_null(gd_unseal(other, sealed));
  assert_null(gd_unseal(f->gd->pool->secret, ""));
  assert_null(gd_unseal(f->gd->pool->secret, NULL));
  sealed[30] = sealed[30] == '0' ? '1' : '0';
  assert_null(gd_unseal(f->gd->pool->secret, sealed));
}

/* The store has the credentials without their key, and this node takes what it has. */
static void
test_credentials_go_through_the_store(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 1, "{\"command\":\"pool tls\",\"action\":\"enable\"}"));
  const struct gd_key_pair *stored = memory_store_get(&store, GD_ENCRYPTION_KEY);
  assert_non_null(stored);
  assert_null(strstr(stored->value, "PRIVATE"));
  assert_true(f->gd->tls && f->gd->tls_optional);
  gd_encryption_take(f->gd, "{\"mode\":\"off\"}"); /* damaged: what was before is in force */
  assert_non_null(f->gd->tls);
  succeeds(f, run(f, 1, "{\"command\":\"pool tls\",\"action\":\"require\"}"));
  assert_false(f->gd->tls_optional);
  succeeds(f, run(f, 1, "{\"command\":\"pool tls\",\"action\":\"disable\"}"));
  assert_null(f->gd->tls);
}

/* This node has another address, as the store says: its member is found there. */
static void
test_a_member_moves(void **state)
{
  struct fixture *f = *state;
  struct gd_pool *p = f->gd->pool;
  char uuid[GI_UUID_TEXT];
  gi_free(p->initial);
  p->initial =
      gi_asprintf("a=https://192.0.2.1:1,%s=https://127.0.0.1:24009,b=https://192.0.2.2:1", gi_gfid_text(&f->gd->uuid, uuid));
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", uuid);
  json_t *doc = gd_node_own_doc(f->gd);
  json_object_set_new(doc, "store", json_string("a name"));
  for (unsigned i = 0; i < 2; i++) {
    char *text = json_dumps(doc, 0);
    memory_store_put(&store, key, text, 0);
    free(text);
    follow(f);
    if (i == 0)
      assert_string_equal(p->address, "127.0.0.1");
    json_object_set_new(doc, "store", json_string("2001:db8::9"));
  }
  json_decref(doc);
  assert_string_equal(p->address, "2001:db8::9");
  GI_CLEANUP_FREE char *wanted =
      gi_asprintf("a=https://192.0.2.1:1,%s=https://[2001:db8::9]:24009,b=https://192.0.2.2:1", uuid);
  assert_string_equal(p->initial, wanted);
  json_t *again = gd_node_own_doc(f->gd); /* it is kept when the description is written for another reason */
  assert_string_equal(json_string_value(json_object_get(again, "store")), "2001:db8::9");
  json_decref(again);
}

static void
test_the_host_of_a_member(void **state)
{
  static const struct {
    const char *url, *host;
  } urls[] = {{"https://192.0.2.1:24009", "192.0.2.1"},
              {"http://[2001:db8::1]:24009", "2001:db8::1"},
              {"https://n1", "n1"},
              {"nothing", NULL}};
  for (size_t i = 0; i < GI_ARRAY_LEN(urls); i++) {
    json_t *m = json_pack("{s:[s]}", "peerURLs", urls[i].url);
    GI_CLEANUP_FREE char *host = gd_member_host(m);
    if (urls[i].host)
      assert_string_equal(host, urls[i].host);
    else
      assert_null(host);
    json_decref(m);
  }
}

/* Where a node of the pool is known to be, its daemons may ask for bricks. */
static void
test_where_nodes_are(void **state)
{
  struct fixture *f = *state;
  struct gi_gfid id;
  assert_true(gd_node_is_at(f->gd, AWAY_HOST));
  assert_false(gd_node_is_at(f->gd, "127.0.0.1"));
  assert_true(gi_gfid_parse(AWAY_ID, &id));
  struct gd_node *n = gd_node_find(f->gd, &id);
  gd_hosts_add(&n->seen, &n->nseen, "192.0.2.7");
  assert_true(gd_node_is_at(f->gd, "192.0.2.7"));
  gd_node_saw(f->gd, &id, NULL); /* it has gone meanwhile */
  assert_int_equal(n->nseen, 1);
  assert_false(gd_node_is_at(f->gd, "192.0.2.70"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create_is_done_or_not),
      cmocka_unit_test(test_start_is_done_or_not),
      cmocka_unit_test(test_set_is_done_or_not),
      cmocka_unit_test(test_stop_is_done_or_not),
      cmocka_unit_test(test_delete_is_done_or_not),
      cmocka_unit_test_setup_teardown(test_changes_of_others_are_taken, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_damaged_definition_changes_nothing, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_brick_that_left_is_stopped_after_its_volume_went, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_the_store_of_another_pool_is_not_followed, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_store_that_was_begun_is_filled, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_store_made_anew_counts_anew, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_the_lock_keeps_others_out, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_bricks_stop_without_a_quorum_of_nodes, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_daemon_that_begins_has_no_quorum, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_is_alone_needs_no_quorum, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_who_is_detached_is_alone, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_member_moves, setup_pool, teardown_pool),
      cmocka_unit_test(test_the_host_of_a_member),
      cmocka_unit_test_setup_teardown(test_where_nodes_are, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_what_is_sealed, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_credentials_go_through_the_store, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
