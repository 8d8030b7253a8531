/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of layers.
 */
#include "libglusterish/graph.h"
#include "libglusterish/layer.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define CLIENT(t, ...) \
  { \
    .type = t, .layer = { {.side = GI_SIDE_CLIENT, .above = {__VA_ARGS__}} } \
  }

static void
expect(const struct gi_xlator_class *classes, unsigned n, const char *wanted)
{
  const struct gi_xlator_class *list[16];
  struct gi_placed out[GI_LAYERS_MAX];
  char text[512] = "";
  for (unsigned back = 0; back < 2; back++) { /* the order does not depend on that of the classes */
    for (unsigned i = 0; i < n; i++)
      list[i] = &classes[back ? n - 1 - i : i];
    unsigned count = gi_layers(list, n, GI_SIDE_CLIENT, false, out);
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++)
      snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", gi_layer_name(out[i].cls));
    assert_string_equal(text, wanted);
  }
}

static void
test_a_layer_stands_directly_above_what_it_names(void **state)
{
  static const struct gi_xlator_class classes[] = {
      CLIENT("performance/top", "*"),
      CLIENT("performance/behind", "features/times"),
      CLIENT("performance/ahead", "performance/behind"),
      CLIENT("features/times", "cluster/distribute"),
      CLIENT("performance/own", "features/times"),
  };
  expect(classes, 5, "times own behind ahead top");
}

static void
test_a_layer_that_is_not_there_does_not_count(void **state)
{
  static const struct gi_xlator_class classes[] = {
      CLIENT("features/b", "features/a"),
      CLIENT("features/d", "features/b", "features/c"),
      CLIENT("features/e", "features/d"),
  };
  expect(classes, 3, "b d e");
}

static void
test_equal_places_go_by_type(void **state)
{
  static const struct gi_xlator_class classes[] = {
      CLIENT("features/z", "features/a"),
      CLIENT("features/y", "features/a"),
      CLIENT("features/a", NULL),
      CLIENT("x/second", "*"),
      CLIENT("x/first", "*"),
  };
  expect(classes, 5, "a y z first second");
}

static void
test_a_circle_is_left_out(void **state)
{
  static const struct gi_xlator_class classes[] = {
      CLIENT("features/a", "features/b"),
      CLIENT("features/b", "features/a"),
      CLIENT("features/c", NULL),
  };
  expect(classes, 3, "c");
}

static void
test_sides_and_layers_by_name_are_apart(void **state)
{
  static const struct gi_xlator_class both = {.type = "x/both",
                                              .layer = {{.side = GI_SIDE_BRICK}, {.side = GI_SIDE_CLIENT, .key = "k"}}};
  static const struct gi_xlator_class named = {.type = "x/named",
                                               .layer = {{.side = GI_SIDE_CLIENT | GI_SIDE_BRICK, .by_name = true}}};
  static const struct gi_xlator_class none = {.type = "x/none"};
  const struct gi_xlator_class *list[] = {&both, &named, &none};
  struct gi_placed out[GI_LAYERS_MAX];
  assert_int_equal(gi_layers(list, 3, GI_SIDE_CLIENT, false, out), 1);
  assert_ptr_equal(out[0].layer, &both.layer[1]);
  assert_int_equal(gi_layers(list, 3, GI_SIDE_BRICK, false, out), 1);
  assert_ptr_equal(out[0].layer, &both.layer[0]);
  assert_int_equal(gi_layers(list, 3, GI_SIDE_BRICK, true, out), 1);
  assert_ptr_equal(out[0].cls, &named);
}

struct real {
  const struct gi_xlator_class *cls[64];
  unsigned n;
};

static void
load(const char *type, void *arg)
{
  struct real *r = arg;
  struct gi_error err = {0};
  void *dl;
  const struct gi_xlator_class *cls = gi_class_load(type, &dl, &err);
  if (!cls)
    fail_msg("%s", err.text);
  assert_true(r->n < GI_ARRAY_LEN(r->cls));
  r->cls[r->n++] = cls;
}

/* The order that volfiles have had from the beginning. */
static void
test_real_layers(void **state)
{
  static const struct {
    unsigned side;
    bool by_name;
    const char *types;
  } wanted[] = {
      {GI_SIDE_CLIENT, false,
       "features/shard features/utime performance/md-cache performance/write-behind performance/read-ahead "
       "performance/readdir-ahead "
       "performance/io-cache performance/open-behind performance/quick-read performance/nl-cache performance/io-threads "},
      {GI_SIDE_BRICK, false,
       "features/arbiter features/access-control features/locks features/upcall performance/io-threads features/index "},
      {GI_SIDE_CLIENT, true, "debug/trace debug/error-gen debug/delay-gen "},
      {GI_SIDE_BRICK, true, "debug/trace debug/error-gen debug/delay-gen "},
  };
  struct real r = {.n = 0};
  assert_int_equal(gi_class_scan(load, &r), 0);
  for (size_t i = 0; i < GI_ARRAY_LEN(wanted); i++) {
    struct gi_placed out[GI_LAYERS_MAX];
    char text[512] = "";
    unsigned count = gi_layers(r.cls, r.n, wanted[i].side, wanted[i].by_name, out);
    for (unsigned k = 0; k < count; k++)
      snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", out[k].cls->type);
    assert_string_equal(text, wanted[i].types);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_layer_stands_directly_above_what_it_names),
      cmocka_unit_test(test_a_layer_that_is_not_there_does_not_count),
      cmocka_unit_test(test_equal_places_go_by_type),
      cmocka_unit_test(test_a_circle_is_left_out),
      cmocka_unit_test(test_sides_and_layers_by_name_are_apart),
      cmocka_unit_test(test_real_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
