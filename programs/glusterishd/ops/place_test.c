/* SPDX-License-Identifier: Apache-2.0
 *
 * Where bricks go: the choice from what nodes offer, and volume create with it
 * on one node.
 */
#include "programs/glusterishd/ops/fixture.h"
#include "programs/glusterishd/ops/place.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GB (1000ll * 1000 * 1000)

static json_t *
root(const char *path, long long free, int device, bool system)
{
  json_t *names = json_array();
  for (int i = 1; i <= 4; i++)
    json_array_append_new(names, json_sprintf("%s/v-%d", path, i));
  return json_pack("{s:s,s:I,s:i,s:b,s:b,s:o}", "path", path, "free", (json_int_t)free, "device", device, "system", system,
                   "first", false, "bricks", names);
}

/* Of one root each. */
static json_t *
nodes(unsigned n, const long long *free)
{
  json_t *list = json_array();
  for (unsigned i = 0; i < n; i++)
    json_array_append_new(list,
                          json_pack("{s:o,s:[o]}", "host", json_sprintf("n%u", i + 1), "roots", root("/b", free[i], 1, false)));
  return list;
}

/* The choice as one text, or the reason why there is none. Consumes `offers`. */
static char *
chosen(const struct gd_place_wish *wish, json_t *offers)
{
  struct gi_error err = {0};
  json_t *placed = gd_place_choose(wish, offers, &err);
  char *text = gi_strdup(placed ? "" : err.text);
  for (size_t i = 0; i < json_array_size(placed); i++) {
    char *more =
        gi_asprintf("%s%s%s", text, i ? " " : "", json_string_value(json_object_get(json_array_get(placed, i), "brick")));
    gi_free(text);
    text = more;
  }
  json_decref(placed);
  json_decref(offers);
  return text;
}

#define assert_chosen(wish, offers, wanted) \
  do { \
    GI_CLEANUP_FREE char *got = chosen(wish, offers); \
    assert_string_equal(got, wanted); \
  } while (0)

static void
test_most_room_comes_first(void **state)
{
  const struct gd_place_wish wish = {.volume = "v", .sets = 1, .copies = 3};
  const long long free[] = {10 * GB, 40 * GB, 20 * GB, 30 * GB};
  assert_chosen(&wish, nodes(4, free), "n2:/b/v-1 n4:/b/v-1 n3:/b/v-1");
}

static void
test_sets_share_the_room(void **state)
{
  const struct gd_place_wish wish = {.volume = "v", .sets = 2, .copies = 2};
  const long long free[] = {40 * GB, 41 * GB, 42 * GB, 43 * GB};
  assert_chosen(&wish, nodes(4, free), "n4:/b/v-1 n3:/b/v-1 n2:/b/v-1 n1:/b/v-1");
  const long long uneven[] = {100 * GB, 10 * GB, 90 * GB};
  assert_chosen(&wish, nodes(3, uneven), "n1:/b/v-1 n3:/b/v-1 n1:/b/v-2 n3:/b/v-2");
}

static void
test_arbiters_go_where_least_room_is_and_around(void **state)
{
  const struct gd_place_wish wish = {.volume = "v", .sets = 3, .copies = 3, .arbiter = true};
  const long long free[] = {30 * GB, 30 * GB, 30 * GB};
  assert_chosen(&wish, nodes(3, free),
                "n1:/b/v-1 n2:/b/v-1 n3:/b/v-1 n3:/b/v-2 n1:/b/v-2 n2:/b/v-2 n2:/b/v-3 n3:/b/v-3 n1:/b/v-3");
}

static void
test_two_of_a_set_on_one_node_need_force(void **state)
{
  struct gd_place_wish wish = {.volume = "v", .sets = 1, .copies = 3};
  const long long free[] = {30 * GB, 20 * GB};
  assert_chosen(&wish, nodes(2, free),
                "set 1 needs 3 nodes with room for a brick, and there are 2: n1 has one already, n2 has one already");
  wish.force = true;
  assert_chosen(&wish, nodes(2, free), "n1:/b/v-1 n2:/b/v-1 n1:/b/v-2");
}

/* Nobody who forces two onto one node means that a third one is just not to be reached. */
static void
test_nothing_is_forced_while_a_node_does_not_answer(void **state)
{
  const struct gd_place_wish wish = {.volume = "v", .sets = 1, .copies = 3, .force = true};
  const long long free[] = {30 * GB, 20 * GB, 10 * GB};
  json_t *offers = nodes(2, free);
  json_array_append_new(offers, json_pack("{s:s}", "host", "n3"));
  assert_chosen(
      &wish, offers,
      "set 1 needs 3 nodes with room for a brick, and there are 2: n1 has one already, n2 has one already, n3 does not "
      "answer");
  offers = nodes(3, free);
  json_array_append_new(offers, json_pack("{s:s}", "host", "n4"));
  assert_chosen(&wish, offers, "n1:/b/v-1 n2:/b/v-1 n3:/b/v-1"); /* it is not needed */
}

static void
test_the_file_system_of_the_system_needs_force(void **state)
{
  struct gd_place_wish wish = {.volume = "v", .sets = 1, .copies = 1};
  json_t *offers = json_pack("[{s:s,s:[o]},{s:s,s:[]}]", "host", "n1", "roots", root("/b", GB, 1, true), "host", "n2", "roots");
  json_incref(offers);
  assert_chosen(&wish, offers,
                "set 1 needs 1 nodes with room for a brick, and there are 0: n1 has room only on the file system of the system "
                "itself, which needs 'force', n2 has no directory for bricks");
  wish.force = true;
  assert_chosen(&wish, offers, "n1:/b/v-1");
}

static void
test_roots_of_one_disk_share_it(void **state)
{
  const struct gd_place_wish wish = {.volume = "v", .sets = 3, .copies = 1};
  json_t *offers = json_pack("[{s:s,s:[o,o,o]}]", "host", "n1", "roots", root("/a", 30 * GB, 1, false),
                             root("/b", 30 * GB, 1, false), root("/c", 20 * GB, 2, false));
  assert_chosen(&wish, offers, "n1:/a/v-1 n1:/c/v-1 n1:/a/v-2");
}

/* ---- the command ---- */

static void
test_create_chooses(void **state)
{
  struct fixture *f = *state;
  gi_free(f->gd->config.brick_root);
  f->gd->config.brick_root = gi_asprintf("%s/one:%s/two:%s/none", f->dir, f->dir, f->dir);
  GI_CLEANUP_FREE char *one = gi_asprintf("%s/one", f->dir), *two = gi_asprintf("%s/two", f->dir),
                       *taken = gi_asprintf("%s/one/vol-1", f->dir);
  assert_int_equal(mkdir(one, 0755) | mkdir(two, 0755) | mkdir(taken, 0755), 0);
  assert_int_equal(run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"auto\":true,\"sets\":1}"),
                   ENOSPC);
  assert_null(gd_volume_find(f->gd, "vol"));
  succeeds(
      f, run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"auto\":true,\"sets\":1,\"force\":true}"));
  const struct gd_volume *v = gd_volume_find(f->gd, "vol");
  assert_int_equal(v->nbricks, 2);
  assert_string_equal(v->bricks[0].host, "127.0.0.1");
  assert_string_not_equal(v->bricks[0].path, v->bricks[1].path);
  for (unsigned i = 0; i < 2; i++) {
    assert_string_not_equal(v->bricks[i].path, taken); /* whatever it is, it is not ours */
    assert_int_equal(access(v->bricks[i].path, F_OK), 0);
    assert_non_null(strstr(f->out, v->bricks[i].path)); /* it is told */
  }
  assert_int_equal(run(f, 4, "{\"command\":\"volume create\",\"volume\":\"w\",\"auto\":true,\"sets\":0}"), EINVAL);
}

static void
test_the_state_directory_has_a_root_of_its_own(void **state)
{
  struct fixture *f = *state;
  succeeds(f, run(f, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"auto\":true,\"sets\":1,\"force\":true}"));
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/bricks/vol-1", f->gd->config.workdir);
  assert_string_equal(gd_volume_find(f->gd, "vol")->bricks[0].path, path);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_most_room_comes_first),
      cmocka_unit_test(test_sets_share_the_room),
      cmocka_unit_test(test_arbiters_go_where_least_room_is_and_around),
      cmocka_unit_test(test_two_of_a_set_on_one_node_need_force),
      cmocka_unit_test(test_nothing_is_forced_while_a_node_does_not_answer),
      cmocka_unit_test(test_the_file_system_of_the_system_needs_force),
      cmocka_unit_test(test_roots_of_one_disk_share_it),
      cmocka_unit_test_setup_teardown(test_create_chooses, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_state_directory_has_a_root_of_its_own, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
