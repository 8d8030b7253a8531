/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process tells of its operations: the JSON of times, of operations
 * under way and over, and of what a trace collected.
 */
#include "programs/glusterishfs/observe-trace.h"

#include "libglusterish/steps-fixture.h"

#include <errno.h>

static const struct ob_self self = {"client", "vol", "node-1", NULL, 99};

static json_int_t
integer(const json_t *o, const char *key)
{
  assert_true(json_is_integer(json_object_get(o, key)));
  return json_integer_value(json_object_get(o, key));
}

static const char *
string(const json_t *o, const char *key)
{
  assert_true(json_is_string(json_object_get(o, key)));
  return json_string_value(json_object_get(o, key));
}

static const json_t *
first(const json_t *o, const char *key)
{
  assert_true(json_array_size(json_object_get(o, key)) > 0);
  return json_array_get(json_object_get(o, key), 0);
}

static void
times_of_layers(void **state)
{
  struct bed *bed = *state;
  json_t *o;
  const json_t *top, *kind;

  bed_whole(bed, GI_FOP_WRITE);
  o = ob_layers_json(bed->graph);
  top = first(o, "layers");
  assert_string_equal(string(top, "name"), "top");
  assert_string_equal(string(top, "type"), "test/top");
  kind = first(top, "kinds");
  assert_string_equal(string(kind, "kind"), "WRITE");
  assert_int_equal(integer(kind, "count"), 1);
  assert_int_equal(integer(kind, "errors"), 0);
  assert_int_equal(integer(json_object_get(kind, "own"), "sum"), TOP_DOWN + TOP_UP);
  assert_int_equal(integer(json_object_get(kind, "all"), "p99"), ALL);
  assert_null(json_object_get(json_object_get(kind, "all"), "buckets"));
  json_decref(o);
}

static void
the_top_has_histograms(void **state)
{
  struct bed *bed = *state;
  json_t *o = ob_top_json(bed->graph);
  const json_t *kind, *buckets;

  assert_int_equal(json_array_size(json_object_get(first(o, "layers"), "kinds")), 0); /* nothing has been done yet */
  json_decref(o);
  bed_whole(bed, GI_FOP_WRITE);
  o = ob_top_json(bed->graph);
  assert_int_equal(json_array_size(json_object_get(o, "layers")), 1);
  assert_string_equal(string(first(o, "layers"), "name"), "top");
  kind = first(first(o, "layers"), "kinds");
  buckets = json_object_get(json_object_get(kind, "all"), "buckets");
  assert_int_equal(json_array_size(buckets), 1);
  assert_in_range(json_integer_value(json_array_get(json_array_get(buckets, 0), 0)), ALL * 15 / 16, ALL * 17 / 16);
  assert_int_equal(json_integer_value(json_array_get(json_array_get(buckets, 0), 1)), 1);
  json_decref(o);
}

static void
operations_under_way(void **state)
{
  struct bed *bed = *state;
  bool answered;
  json_t *o;
  const json_t *op, *a;

  bed_start(bed, GI_FOP_READ, &answered);
  gi_fop_waits(bed_held[0], GI_WAIT_BRICK, "node-2:/b", NULL);
  bed_now += 500;
  o = ob_inflight_json(bed->graph, &self);
  assert_int_equal(json_array_size(json_object_get(o, "operations")), 1);
  op = first(o, "operations");
  assert_string_equal(string(op, "kind"), "READ");
  assert_string_equal(string(op, "gfid"), "07070707-0707-0707-0707-070707070707");
  assert_int_equal(strlen(string(op, "id")), 32);
  assert_string_equal(string(op, "at"), "fan");
  assert_true(json_is_null(json_object_get(op, "took_ns")));
  assert_int_equal(integer(op, "age_ns"), 521);
  assert_string_equal(string(json_object_get(op, "process"), "role"), "client");
  assert_int_equal(integer(op, "start"), 1700000000000000000 + (json_int_t)bed_now - 521);
  a = first(first(first(json_object_get(op, "tree"), "steps"), "steps"), "steps");
  assert_string_equal(string(a, "layer"), "a");
  assert_true(json_is_true(json_object_get(a, "open")));
  assert_string_equal(string(json_object_get(a, "waits"), "for"), "brick");
  assert_string_equal(string(json_object_get(a, "waits"), "what"), "node-2:/b");
  assert_int_equal(integer(json_object_get(a, "waits"), "since_ns"), 500);
  assert_true(json_is_false(json_object_get(o, "more")));
  json_decref(o);
  for (unsigned n = 0; n < 3; n++)
    bed_answer(n);
}

/* However many there are, the answer is small: the reactor has other things to do. */
static void
not_all_of_many_are_told(void **state)
{
  struct bed *bed = *state;
  static bool answered[OB_INFLIGHT_MAX + 1];
  static struct gi_fop *held[OB_INFLIGHT_MAX + 1];
  json_t *o;

  for (unsigned i = 0; i <= OB_INFLIGHT_MAX; i++) {
    bed_nheld = 0;
    bed_start(bed, GI_FOP_READ, &answered[i]);
    held[i] = bed_held[0];
  }
  o = ob_inflight_json(bed->graph, &self);
  assert_int_equal(json_array_size(json_object_get(o, "operations")), OB_INFLIGHT_MAX);
  assert_true(json_is_true(json_object_get(o, "more")));
  json_decref(o);
  for (unsigned i = 0; i <= OB_INFLIGHT_MAX; i++) {
    bed_held[0] = held[i];
    bed_nheld = 1;
    for (unsigned n = 0; n < 3; n++)
      bed_answer(n);
  }
}

static void
the_last_and_the_slow_ones(void **state)
{
  struct bed *bed = *state;
  bool answered;
  json_t *o;

  for (unsigned i = 1; i <= 3; i++) {
    bed_nheld = 0;
    bed_start(bed, GI_FOP_READ, &answered);
    bed_now += (i == 2 ? 9 : i) * GI_NSEC_PER_SEC;
    for (unsigned n = 0; n < 3; n++)
      bed_answer(n);
  }
  o = ob_slow_json(bed->ctx.seen, &self);
  assert_int_equal(json_array_size(json_object_get(o, "operations")), 3);
  assert_true(integer(first(o, "operations"), "took_ns") > 9000000000);
  assert_true(json_is_object(json_object_get(first(o, "operations"), "tree")));
  json_decref(o);
  bed_errno = EIO;
  bed_whole(bed, GI_FOP_STAT);
  o = ob_recorder_json(bed->graph, &self, 2);
  assert_int_equal(json_array_size(json_object_get(o, "operations")), 2);
  assert_string_equal(string(first(o, "operations"), "kind"), "STAT");
  assert_int_equal(integer(first(o, "operations"), "took_ns"), ALL);
  assert_int_equal(integer(first(o, "operations"), "pid"), 42);
  assert_string_equal(string(first(o, "operations"), "at"), "fan");
  json_decref(o);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, bed_setup, bed_teardown)
  const struct CMUnitTest tests[] = {
      TEST(times_of_layers),          TEST(the_top_has_histograms),     TEST(operations_under_way),
      TEST(not_all_of_many_are_told), TEST(the_last_and_the_slow_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
