/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the volfiles against golden texts, and of the option keys. The
 * graphs are made of fake classes, so that a new option of a translator does
 * not change a golden text; the keys are those of the real classes.
 */
#include "programs/glusterishd/glusterishd.h"
#include "libglusterish/graph.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct values {
  uint64_t size;
  bool on;
  char *text;
};
#define AT(m) .offset = offsetof(struct values, m)

static const struct gi_option client_options[] = {
    {.name = "ping-timeout", .key = "network.ping-timeout", .type = GI_OPT_TIME, AT(size), .def = "42", .text = "."},
    {.name = "event-threads",
     .key = "client.event-threads",
     .type = GI_OPT_INT,
     AT(size),
     .def = "2",
     .unread = true,
     .text = "."},
    {.name = "ssl", .key = "client.ssl", .type = GI_OPT_BOOL, AT(size), .def = "off", .unread = true, .text = "."},
    GI_OPTION_END,
};
static const struct gi_option stats_options[] = {
    {.name = "log-level",
     .key = "diagnostics.client-log-level",
     .type = GI_OPT_STR,
     AT(text),
     .side = GI_SIDE_CLIENT,
     .text = "."},
    {.name = "log-level",
     .key = "diagnostics.brick-log-level",
     .type = GI_OPT_STR,
     AT(text),
     .side = GI_SIDE_BRICK,
     .text = "."},
    GI_OPTION_END,
};
static const struct gi_option behind_options[] = {
    {.name = "cache-size",
     .key = "performance.write-behind-window-size",
     .type = GI_OPT_SIZE,
     AT(size),
     .def = "1MB",
     .min = 524288,
     .max = 1073741824,
     .text = "."},
    GI_OPTION_END,
};
static const struct gi_option server_options[] = {
    {.name = "auth.addr.*.allow",
     .key = "auth.allow",
     .type = GI_OPT_STR,
     .wildcard = true,
     .def = "*",
     .side = GI_SIDE_BRICK,
     .text = "."},
    GI_OPTION_END,
};

#define FAKE(t, o, ...) \
  { \
    .abi = GI_XLATOR_ABI, .type = t, .version = "0", .options = o, .options_bytes = sizeof(struct values), __VA_ARGS__ \
  }
#define LAYER(s, below, k, d) .layer = {{.side = s, .above = {below}, .key = k, .def = d, .since = "0", .text = "."}}
static const struct gi_xlator_class fakes[] = {
    FAKE("protocol/client", client_options),
    FAKE("cluster/replicate", NULL),
    FAKE("features/arbiter", NULL, .layer = {{.side = GI_SIDE_BRICK, .above = {"storage/posix"}, .arbiter = true}}),
    FAKE("cluster/distribute", NULL),
    FAKE("features/utime", NULL, LAYER(GI_SIDE_CLIENT, "cluster/distribute", "features.ctime", "on")),
    FAKE("performance/write-behind", behind_options, LAYER(GI_SIDE_CLIENT, "features/utime", "performance.write-behind", "on")),
    FAKE("debug/io-stats", stats_options),
    FAKE("debug/trace", NULL,
         .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK,
                    .by_name = true,
                    .key = "debug.trace",
                    .def = "off",
                    .since = "0",
                    .text = "."}}),
    FAKE("storage/posix", NULL),
    FAKE("features/locks", NULL, .layer = {{.side = GI_SIDE_BRICK, .above = {"storage/posix", "features/arbiter"}}}),
    FAKE("features/index", NULL, .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks"}}}),
    FAKE("protocol/server", server_options),
};

struct fixture {
  struct gd gd;
  struct gd_volume *v;
};

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  const char *types[GI_ARRAY_LEN(fakes) + 1] = {NULL};
  for (size_t i = 0; i < GI_ARRAY_LEN(fakes); i++) {
    gi_class_register(&fakes[i]);
    types[i] = fakes[i].type;
  }
  gi_list_init(&f->gd.volumes);
  gi_list_init(&f->gd.pool_options);
  f->gd.config.port = 24007;
  f->gd.map = gd_map_new_of(types);
  struct gd_volume *v = f->v = gd_volume_new(&f->gd, "r2");
  v->type = GD_REPLICATE;
  v->replica = 2;
  v->id.b[0] = 0xab;
  v->username = gi_strdup("U");
  v->password = gi_strdup("P");
  v->nbricks = 2;
  v->bricks = gi_zalloc(2 * sizeof(*v->bricks));
  for (unsigned i = 0; i < 2; i++)
    v->bricks[i] = (struct gd_brick){.volume = v,
                                     .index = i,
                                     .host = gi_asprintf("node%u", i + 1),
                                     .path = gi_strdup("/nonexistent/b"),
                                     .id = gi_asprintf("r2-client-%u", i)};
  gd_volume_link(v);
  *state = f;
  return 0;
}

static int
teardown(void **state)
{
  struct fixture *f = *state;
  gd_volume_free(f->v);
  gd_map_free(&f->gd.map);
  gi_free(f);
  return 0;
}

static void
expect(struct fixture *f, const char *key, bool trusted, const char *wanted)
{
  struct gi_error err = {0};
  struct gd_volume *v;
  GI_CLEANUP_FREE char *text = gd_volgen_spec(&f->gd, key, trusted, &v, &err);
  assert_string_equal(err.text, "");
  assert_non_null(text);
  assert_string_equal(text, wanted);
  assert_ptr_equal(v, f->v);
}

#define CLIENTS(extra) \
  "volume r2-client-0\n" \
  "    type protocol/client\n" \
  "    option send-gids true\n" extra "    option transport.address-family inet\n" \
  "    option transport-type tcp\n" \
  "    option remote-subvolume /nonexistent/b\n" \
  "    option remote-host node1\n" \
  "end-volume\n\n" \
  "volume r2-client-1\n" \
  "    type protocol/client\n" \
  "    option send-gids true\n" extra "    option transport.address-family inet\n" \
  "    option transport-type tcp\n" \
  "    option remote-subvolume /nonexistent/b\n" \
  "    option remote-host node2\n" \
  "end-volume\n\n"

#define SET \
  "volume r2-replicate-0\n" \
  "    type cluster/replicate\n" \
  "    option volume-id ab000000-0000-0000-0000-000000000000\n" \
  "    option afr-pending-xattr r2-client-0,r2-client-1\n" \
  "    subvolumes r2-client-0 r2-client-1\n" \
  "end-volume\n\n" \
  "volume r2-dht\n" \
  "    type cluster/distribute\n" \
  "    subvolumes r2-replicate-0\n" \
  "end-volume\n\n"

static void
test_client(void **state)
{
  static const char plain[] = CLIENTS("") SET "volume r2-utime\n"
                                              "    type features/utime\n"
                                              "    subvolumes r2-dht\n"
                                              "end-volume\n\n"
                                              "volume r2-write-behind\n"
                                              "    type performance/write-behind\n"
                                              "    subvolumes r2-utime\n"
                                              "end-volume\n\n"
                                              "volume r2\n"
                                              "    type debug/io-stats\n"
                                              "    subvolumes r2-write-behind\n"
                                              "end-volume\n";
  expect(*state, "r2", false, plain);
  expect(*state, "/r2", false, plain);
  expect(*state, "/r2.tcp", false, plain);
}

static void
test_client_options(void **state)
{
  struct fixture *f = *state;
  gd_options_set(&f->v->options, "performance.write-behind-window-size", "2MB");
  gd_options_set(&f->v->options, "features.ctime", "off");
  gd_options_set(&f->v->options, "debug.trace", "client");
  gd_options_set(&f->v->options, "diagnostics.client-log-level", "DEBUG");
  gd_options_set(&f->v->options, "diagnostics.brick-log-level", "ERROR");
  gd_options_set(&f->v->options, "user.anything", "x");
  expect(f, "r2", true,
         CLIENTS("    option password P\n    option username U\n") SET "volume r2-write-behind\n"
                                                                       "    type performance/write-behind\n"
                                                                       "    option cache-size 2MB\n"
                                                                       "    subvolumes r2-dht\n"
                                                                       "end-volume\n\n"
                                                                       "volume r2-trace\n"
                                                                       "    type debug/trace\n"
                                                                       "    subvolumes r2-write-behind\n"
                                                                       "end-volume\n\n"
                                                                       "volume r2\n"
                                                                       "    type debug/io-stats\n"
                                                                       "    option log-level DEBUG\n"
                                                                       "    subvolumes r2-trace\n"
                                                                       "end-volume\n");
}

static void
test_brick(void **state)
{
  struct fixture *f = *state;
  gd_options_set(&f->v->options, "auth.allow", "10.0.0.*");
  gd_options_set(&f->v->options, "diagnostics.brick-log-level", "ERROR");
  gd_options_set(&f->v->options, "debug.trace", "locks");
  expect(f, "r2.node2.nonexistent-b", false,
         "volume r2-posix\n"
         "    type storage/posix\n"
         "    option directory /nonexistent/b\n"
         "    option volume-id ab000000-0000-0000-0000-000000000000\n"
         "    option shared-brick-count 1\n"
         "end-volume\n\n"
         "volume r2-locks\n"
         "    type features/locks\n"
         "    subvolumes r2-posix\n"
         "end-volume\n\n"
         "volume r2-trace\n"
         "    type debug/trace\n"
         "    subvolumes r2-locks\n"
         "end-volume\n\n"
         "volume r2-index\n"
         "    type features/index\n"
         "    option index-base /nonexistent/b/.glusterfs/indices\n"
         "    option xattrop-dirty-watchlist trusted.afr.dirty\n"
         "    option xattrop-pending-watchlist trusted.afr.r2-\n"
         "    subvolumes r2-trace\n"
         "end-volume\n\n"
         "volume /nonexistent/b\n"
         "    type debug/io-stats\n"
         "    option log-level ERROR\n"
         "    option unique-id /nonexistent/b\n"
         "    option volume-id ab000000-0000-0000-0000-000000000000\n"
         "    subvolumes r2-index\n"
         "end-volume\n\n"
         "volume r2-server\n"
         "    type protocol/server\n"
         "    option auth.addr./nonexistent/b.allow 10.0.0.*\n"
         "    option auth-path /nonexistent/b\n"
         "    option auth.login.U.password P\n"
         "    option auth.login./nonexistent/b.allow U\n"
         "    option transport.address-family inet\n"
         "    option transport-type tcp\n"
         "    subvolumes /nonexistent/b\n"
         "end-volume\n");
}

/* Unless somebody says who may come, everybody may. */
static void
test_brick_of_everybody(void **state)
{
  struct fixture *f = *state;
  struct gi_error err = {0};
  struct gd_volume *v;
  GI_CLEANUP_FREE char *text = gd_volgen_spec(&f->gd, "r2.node2.nonexistent-b", true, &v, &err);
  assert_non_null(strstr(text, "    option auth.addr./nonexistent/b.allow *\n"));
}

/* The last brick of each set gets the layer that discards data; clients are told that there is one. */
static void
test_arbiter(void **state)
{
  struct fixture *f = *state;
  struct gd_volume *v = f->v;
  v->bricks = gi_realloc(v->bricks, 3 * sizeof(*v->bricks));
  v->bricks[2] = (struct gd_brick){
      .volume = v, .index = 2, .host = gi_strdup("node3"), .path = gi_strdup("/nonexistent/b"), .id = gi_strdup("r2-client-2")};
  v->nbricks = v->replica = 3;
  v->arbiter = 1;
  for (int i = 1; i <= 3; i++) {
    struct gi_error err = {0};
    struct gd_volume *found;
    GI_CLEANUP_FREE char *key = gi_asprintf("r2.node%d.nonexistent-b", i);
    GI_CLEANUP_FREE char *text = gd_volgen_spec(&f->gd, key, false, &found, &err);
    assert_non_null(text);
    if (i < 3)
      assert_null(strstr(text, "arbiter"));
    else
      assert_non_null(strstr(text, "end-volume\n\n"
                                   "volume r2-arbiter\n"
                                   "    type features/arbiter\n"
                                   "    subvolumes r2-posix\n"
                                   "end-volume\n\n"
                                   "volume r2-locks\n"
                                   "    type features/locks\n"
                                   "    subvolumes r2-arbiter\n"));
  }
  struct gi_error err = {0};
  struct gd_volume *found;
  GI_CLEANUP_FREE char *client = gd_volgen_spec(&f->gd, "r2", false, &found, &err);
  assert_non_null(strstr(client, "    option arbiter-count 1\n"
                                 "    option volume-id ab000000-0000-0000-0000-000000000000\n"
                                 "    option afr-pending-xattr r2-client-0,r2-client-1,r2-client-2\n"
                                 "    subvolumes r2-client-0 r2-client-1 r2-client-2\n"));
}

/* The volume gets bricks of the same kind up to `n`. */
static void
grow(struct gd_volume *v, unsigned n)
{
  v->bricks = gi_realloc(v->bricks, n * sizeof(*v->bricks));
  for (; v->nbricks < n; v->nbricks++)
    v->bricks[v->nbricks] = (struct gd_brick){.volume = v,
                                              .index = v->nbricks,
                                              .host = gi_asprintf("node%u", v->nbricks + 1),
                                              .path = gi_strdup("/nonexistent/b"),
                                              .id = gi_asprintf("r2-client-%u", v->nbricks)};
}

static void
expect_part(struct fixture *f, const char *key, const char *wanted)
{
  struct gi_error err = {0};
  struct gd_volume *v;
  GI_CLEANUP_FREE char *text = gd_volgen_spec(&f->gd, key, true, &v, &err);
  assert_string_equal(err.text, "");
  if (!strstr(text, wanted))
    fail_msg("%s lacks\n%s", text, wanted);
}

#define SECOND_SET \
  "volume r2-replicate-1\n" \
  "    type cluster/replicate\n" \
  "    option volume-id ab000000-0000-0000-0000-000000000000\n" \
  "    option afr-pending-xattr r2-client-2,r2-client-3\n" \
  "    subvolumes r2-client-2 r2-client-3\n" \
  "end-volume\n\n"

static void
test_sets(void **state)
{
  struct fixture *f = *state;
  grow(f->v, 4);
  static const char *const keys[] = {"r2", "rebalance/r2"};
  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++)
    expect_part(f, keys[i],
                SECOND_SET "volume r2-dht\n"
                           "    type cluster/distribute\n"
                           "    subvolumes r2-replicate-0 r2-replicate-1\n"
                           "end-volume\n\n");
  expect_part(f, "rebalance/r2",
              "volume r2\n"
              "    type debug/io-stats\n"
              "    subvolumes r2-dht\n"
              "end-volume\n");
  expect_part(f, "shd/r2",
              "volume r2\n"
              "    type debug/io-stats\n"
              "    subvolumes r2-replicate-0 r2-replicate-1\n"
              "end-volume\n");
  f->v->coming = 2; /* nobody could make a directory there yet */
  expect_part(f, "r2",
              "volume r2-dht\n"
              "    type cluster/distribute\n"
              "    subvolumes r2-replicate-0\n"
              "end-volume\n\n");
  f->v->coming = 0;
  for (unsigned i = 2; i < 4; i++)
    f->v->bricks[i].decommissioned = true;
  expect_part(f, "r2",
              SECOND_SET "volume r2-dht\n"
                         "    type cluster/distribute\n"
                         "    option decommissioned-bricks r2-replicate-1\n"
                         "    subvolumes r2-replicate-0 r2-replicate-1\n"
                         "end-volume\n\n");
}

/* Clients of GlusterFS know them as other translators; who moves files does not. */
static void
test_variants_of_distribute(void **state)
{
  static const char *const variants[] = {"nufa", "switch"};
  struct fixture *f = *state;
  grow(f->v, 4);
  for (size_t i = 0; i < GI_ARRAY_LEN(variants); i++) {
    GI_CLEANUP_FREE char *key = gi_asprintf("cluster.%s", variants[i]);
    GI_CLEANUP_FREE char *node = gi_asprintf("volume r2-dht\n    type cluster/%s\n", variants[i]);
    gd_options_set(&f->v->options, key, "on");
    expect_part(f, "r2", node);
    expect_part(f, "rebalance/r2", "volume r2-dht\n    type cluster/distribute\n");
    gd_options_set(&f->v->options, key, "off");
    expect_part(f, "r2", "volume r2-dht\n    type cluster/distribute\n");
  }
}

/* A set keeps its name, which files lead to, while those before it leave. */
static void
test_names_of_sets(void **state)
{
  static const struct {
    unsigned id[4];
    const char *first, *second;
  } t[] = {
      {{0, 1, 2, 3}, "r2-replicate-0", "r2-replicate-1"}, {{2, 3, 6, 7}, "r2-replicate-1", "r2-replicate-3"},
      {{0, 2, 3, 5}, "r2-replicate-0", "r2-replicate-1"}, /* of three copies one is gone */
      {{1, 2, 4, 5}, "r2-replicate-0", "r2-replicate-1"}, {{4, 5, 0, 1}, "r2-replicate-0", "r2-replicate-1"},
  };
  struct fixture *f = *state;
  grow(f->v, 4);
  for (size_t i = 0; i < GI_ARRAY_LEN(t); i++) {
    for (unsigned k = 0; k < 4; k++) {
      gi_free(f->v->bricks[k].id);
      f->v->bricks[k].id = gi_asprintf("r2-client-%u", t[i].id[k]);
    }
    GI_CLEANUP_FREE char *first = gd_set_name(f->v, 0), *second = gd_set_name(f->v, 1);
    assert_string_equal(first, t[i].first);
    assert_string_equal(second, t[i].second);
  }
}

static void
test_unknown_keys(void **state)
{
  static const char *const keys[] = {"",      "/",           "nosuch", "shd/", "shd/nosuch", "r2.node3.nonexistent-b",
                                     "../r2", "rebalance/r2"};
  struct fixture *f = *state;
  struct gd_volume *v;
  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++) {
    struct gi_error err = {0};
    assert_null(gd_volgen_spec(&f->gd, keys[i], true, &v, &err));
    assert_int_equal(err.code, ENOENT);
  }
}

static void
test_keys(void **state)
{
  struct fixture *f = *state;
  struct gi_error err = {0};
  assert_string_equal(gd_map_complete(f->gd.map, "write-behind-window-size", &err), "performance.write-behind-window-size");
  assert_string_equal(gd_map_complete(f->gd.map, "write-behind", &err), "performance.write-behind");
  assert_null(gd_map_complete(f->gd.map, "performance.write-behnd", &err));
  assert_string_equal(err.text, "option : performance.write-behnd does not exist\nDid you mean performance.write-behind?");
  assert_int_equal(gd_map_check(f->gd.map, "performance.write-behind-window-size", "2MB", &err), 0);
  assert_int_equal(gd_map_check(f->gd.map, "performance.write-behind-window-size", "1KB", &err), -1);
  assert_non_null(strstr(err.text, "is out of range [524288 - 1073741824]"));
  assert_non_null(strstr(err.text, "performance.write-behind-window-size cannot be \"1KB\""));
  assert_int_equal(gd_map_check(f->gd.map, "performance.write-behind", "maybe", &err), -1);
  assert_non_null(strstr(err.text, "maybe"));
}

/* What nothing acts on can only be set to what happens anyway. */
static void
test_keys_that_wait(void **state)
{
  static const struct {
    const char *key, *good, *bad;
  } idle[] = {{"client.event-threads", "2", "4"},
              {"client.ssl", "off", "on"},
              {"client.ssl", "no", "true"},
              {"performance.io-cache", "off", "on"},
              {"nfs.disable", "on", "off"}};
  struct fixture *f = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(idle); i++) {
    struct gi_error err = {0};
    assert_false(gd_map_acts(f->gd.map, idle[i].key));
    assert_int_equal(gd_map_check(f->gd.map, idle[i].key, idle[i].good, &err), 0);
    assert_int_equal(gd_map_check(f->gd.map, idle[i].key, idle[i].bad, &err), -1);
    assert_non_null(strstr(err.text, "features not in this version"));
    assert_non_null(strstr(err.text, idle[i].key));
  }
  assert_int_equal(gd_map_check(f->gd.map, "client.event-threads", "many", NULL), -1);
  assert_true(gd_map_acts(f->gd.map, "performance.write-behind"));
  assert_true(gd_map_acts(f->gd.map, "network.ping-timeout"));
  assert_false(gd_map_acts(f->gd.map, "nosuch"));
  assert_string_equal(gd_map_default(f->gd.map, "performance.write-behind"), "on");
}

/* Every key of every class that is built accepts its own default, and has a text. */
static void
test_real_classes(void **state)
{
  struct gd_options_map *map = gd_map_new();
  for (unsigned i = 0; i < gd_map_count(map); i++) {
    const struct gd_key *k = gd_map_at(map, i);
    struct gi_error err = {0};
    const char *def = gd_map_default(map, k->key);
    if (def && gd_map_check(map, k->key, def, &err))
      fail_msg("%s does not accept its default: %s", k->key, err.text);
    if (!k->opt->text || !*k->opt->text)
      fail_msg("%s has no text", k->key);
    if (i && strcmp(gd_map_at(map, i - 1)->key, k->key) >= 0)
      fail_msg("%s is out of order or there twice", k->key);
  }
  gd_map_free(&map);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_client, setup, teardown),
      cmocka_unit_test_setup_teardown(test_client_options, setup, teardown),
      cmocka_unit_test_setup_teardown(test_brick, setup, teardown),
      cmocka_unit_test_setup_teardown(test_brick_of_everybody, setup, teardown),
      cmocka_unit_test_setup_teardown(test_arbiter, setup, teardown),
      cmocka_unit_test_setup_teardown(test_sets, setup, teardown),
      cmocka_unit_test_setup_teardown(test_variants_of_distribute, setup, teardown),
      cmocka_unit_test_setup_teardown(test_names_of_sets, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unknown_keys, setup, teardown),
      cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
      cmocka_unit_test_setup_teardown(test_keys_that_wait, setup, teardown),
      cmocka_unit_test(test_real_classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
