/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions as text: what is written is read back, what means the same is the
 * same, what another version wrote is kept, what is damaged is refused. And the
 * proofs of nodes.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/daemon-fixture.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct fixture {
  char dir[DAEMON_DIR_BYTES];
  struct gd *gd;
};

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  f->gd = daemon_bench_new(f->dir, NULL, 0);
  *state = f;
  return 0;
}

static int
teardown(void **state)
{
  struct fixture *f = *state;
  daemon_bench_free(&f->gd, f->dir);
  gi_free(f);
  return 0;
}

#define BRICK(n, more) \
  "{\"host\":\"node" n "\",\"path\":\"/b/" n "\",\"id\":\"vol-client-" n "\",\"node\":\"00000000-0000-4000-8000-00000000000" n \
  "\"" more "}"
#define VOLUME(generation, more, bricks) \
  "{\"id\":\"11111111-2222-4333-8444-555555555555\",\"type\":2,\"status\":1,\"replica\":2,\"arbiter\":0," \
  "\"generation\":" generation ",\"opVersion\":100000,\"clientOpVersion\":2,\"username\":\"u\",\"password\":\"p\"," \
  "\"options\":[[\"nfs.disable\",\"on\"],[\"user.a\",\"x=y\"]]," more "\"bricks\":[" bricks "]}"
#define TWO BRICK("1", "") "," BRICK("2", "")

static struct gd_volume *
read_good(struct fixture *f, const char *text)
{
  struct gi_error err = {0};
  struct gd_volume *v = gd_definition_read(f->gd, "vol", text, &err);
  if (!v)
    fail_msg("%s", err.text);
  return v;
}

static void
test_written_is_read(void **state)
{
  struct gd_volume *v = read_good(*state, VOLUME("7", "", TWO));
  assert_int_equal(v->version, 7);
  assert_int_equal(v->status, GD_STARTED);
  assert_int_equal(v->nbricks, 2);
  assert_string_equal(v->bricks[1].host, "node2");
  assert_string_equal(gd_options_get(&v->options, "user.a"), "x=y");
  GI_CLEANUP_FREE char *text = gd_definition_write(v);
  struct gd_volume *again = read_good(*state, text);
  assert_true(gd_definition_same(v, again));
  GI_CLEANUP_FREE char *other = gd_definition_write(again);
  assert_string_equal(text, other);
  gd_volume_free(v);
  gd_volume_free(again);
}

static void
test_meaning_is_compared(void **state)
{
  struct gd_volume *v = read_good(*state, VOLUME("7", "", TWO)), *later = read_good(*state, VOLUME("9", "", TWO));
  assert_true(gd_definition_same(v, later));
  v->bricks[0].port = 49152; /* what one node alone knows */
  assert_true(gd_definition_same(v, later));
  gd_options_set(&later->options, "user.a", "z");
  assert_false(gd_definition_same(v, later));
  gd_options_set(&later->options, "user.a", "x=y");
  later->status = GD_STOPPED;
  assert_false(gd_definition_same(v, later));
  gd_volume_free(v);
  gd_volume_free(later);
}

static void
test_unknown_members_are_kept(void **state)
{
  struct gd_volume *v =
      read_good(*state, VOLUME("7", "\"rebalance\":{\"x\":1},", BRICK("1", ",\"zone\":\"west\"") "," BRICK("2", "")));
  gd_options_set(&v->options, "user.a", "changed");
  GI_CLEANUP_FREE char *text = gd_definition_write(v);
  assert_non_null(strstr(text, "\"rebalance\":{\"x\":1}"));
  assert_non_null(strstr(text, "\"zone\":\"west\""));
  assert_non_null(strstr(text, "[\"user.a\",\"changed\"]"));
  struct gd_volume *draft = gd_volume_draft(v);
  GI_CLEANUP_FREE char *of_draft = gd_definition_write(draft);
  assert_string_equal(of_draft, text);
  gd_volume_free(draft);
  gd_volume_free(v);
}

static void
test_damaged_is_refused(void **state)
{
  static const char *const bad[] = {
      "",
      "[]",
      "{}",
      "{\"id\":",
      VOLUME("-1", "", TWO),
      VOLUME("\"7\"", "", TWO),
      VOLUME("7", "", ""),
      VOLUME("7", "", BRICK("1", "")),
      VOLUME("7", "", BRICK("1", "") "," BRICK("1", "")),
      VOLUME("7", "\"arbiter\":2,", TWO),
      VOLUME("7", "\"arbiter\":1,", TWO),
      VOLUME("7", "\"id\":\"00000000-0000-0000-0000-000000000000\",", TWO),
      VOLUME("7", "\"options\":[[\"arbiter_count\",\"1\"]],", TWO),
      VOLUME("7", "\"options\":[[\"brick-0\",\"x\"]],", TWO),
      VOLUME("7", "\"replica\":0,", TWO),
      VOLUME("7", "\"type\":4,", TWO),
      VOLUME("7", "\"options\":[[\"a\\nb\",\"c\"]],", TWO),
      VOLUME("7", "\"options\":{},", TWO),
      VOLUME("7", "",
             "{\"host\":\"n\",\"path\":\"/../"
             "x\",\"id\":\"vol-client-0\",\"node\":\"00000000-0000-4000-8000-000000000001\"}," BRICK("2", "")),
      VOLUME("7", "",
             "{\"host\":\"n\",\"path\":\"/x\",\"id\":\"x\\ny\",\"node\":\"00000000-0000-4000-8000-000000000001\"}," BRICK("2",
                                                                                                                          "")),
      VOLUME("7", "", "17," BRICK("2", "")),
  };
  struct fixture *f = *state;
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    struct gi_error err = {0};
    struct gd_volume *v = gd_definition_read(f->gd, "vol", bad[i], &err);
    if (v)
      fail_msg("number %zu is taken", i);
    assert_non_null(strstr(err.text, "definition of volume vol"));
  }
  assert_null(gd_definition_read(f->gd, "no/name", VOLUME("7", "", TWO), NULL));
}

static void
test_options_of_all_volumes(void **state)
{
  struct gi_list one = GI_LIST_INIT(one), other = GI_LIST_INIT(other);
  unsigned version = 0;
  gd_options_set(&one, "cluster.daemon-log-level", "DEBUG");
  GI_CLEANUP_FREE char *text = gd_options_write(&one, 5, "{\"zone\":1}");
  assert_true(gd_options_read(&other, &version, text));
  assert_int_equal(version, 5);
  assert_non_null(strstr(text, "\"zone\":1"));
  assert_string_equal(gd_options_get(&other, "cluster.daemon-log-level"), "DEBUG");
  assert_false(gd_options_read(&other, &version, "{\"generation\":1}"));
  gd_options_clear(&one);
  gd_options_clear(&other);
}

static void
test_proofs(void **state)
{
  char a[65], b[65];
  gd_mac("key", 3, (const char *[]){"client", "ab", "c", NULL}, a);
  gd_mac("key", 3, (const char *[]){"client", "a", "bc", NULL}, b);
  assert_int_equal(strlen(a), 64);
  assert_false(gd_mac_same(a, b)); /* where one part ends is part of it */
  gd_mac("kez", 3, (const char *[]){"client", "ab", "c", NULL}, b);
  assert_false(gd_mac_same(a, b));
  gd_mac("key", 3, (const char *[]){"client", "ab", "c", NULL}, b);
  assert_true(gd_mac_same(a, b));
  assert_false(gd_mac_same(a, NULL));
  assert_false(gd_mac_same(a, ""));
  uint8_t bytes[3] = {0, 0xab, 0xff}, back[3];
  gd_hex(bytes, 3, a);
  assert_string_equal(a, "00abff");
  assert_true(gd_unhex("00abff", back, 3) && memcmp(bytes, back, 3) == 0);
  assert_false(gd_unhex("00abf", back, 3));
  assert_false(gd_unhex("00abfg", back, 3));
  assert_false(gd_unhex(NULL, back, 3));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_written_is_read, setup, teardown),
      cmocka_unit_test_setup_teardown(test_meaning_is_compared, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unknown_members_are_kept, setup, teardown),
      cmocka_unit_test_setup_teardown(test_damaged_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(test_options_of_all_volumes, setup, teardown),
      cmocka_unit_test(test_proofs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
