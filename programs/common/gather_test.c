/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of joining pages of metrics, and of metrics as JSON.
 */
#include "programs/common/gather.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define FAMILY(name, samples) "# HELP " name " text\n# TYPE " name " counter\n" samples

static char *
merged(const char *const *pages, unsigned n)
{
  char *texts[4] = {NULL}, *result = NULL;
  const long pids[4] = {11, 22, 33, 44};
  size_t len;
  FILE *out = open_memstream(&result, &len);
  for (unsigned i = 0; i < n; i++)
    texts[i] = gi_strdup(pages[i]);
  ob_merge(out, texts, pids, n);
  fclose(out);
  for (unsigned i = 0; i < n; i++)
    gi_free(texts[i]);
  return result;
}

static void
families_stand_once(void **state)
{
  static const char *const pages[] = {
      FAMILY("a", "a_total{process=\"x\"} 1\n") FAMILY("b", "b_total{process=\"x\"} 2\n") "# EOF\n",
      NULL,
      FAMILY("b", "b_total{process=\"y\"} 3\nb_total{process=\"y\",layer=\"l\"} 4\n")
          FAMILY("c", "c_total{process=\"y\"} 5\n") "# EOF\n",
  };
  GI_CLEANUP_FREE char *text = merged(pages, 3);
  assert_string_equal(text, FAMILY("a", "a_total{process=\"x\"} 1\n") FAMILY(
                                "b", "b_total{process=\"x\"} 2\nb_total{process=\"y\"} 3\n"
                                     "b_total{process=\"y\",layer=\"l\"} 4\n") FAMILY("c", "c_total{process=\"y\"} 5\n"));
}

static void
equal_names_are_told_apart(void **state)
{
  static const char *const pages[] = {
      FAMILY("a", "a_total{process=\"cl\\\"ient\"} 1\na_total{process=\"cl\\\"ient\",layer=\"l\"} 2\n"),
      FAMILY("a", "a_total{process=\"cl\\\"ient\"} 1\na_total{} 2\na_total 3\n"),
  };
  GI_CLEANUP_FREE char *text = merged(pages, 2);
  assert_non_null(strstr(text, "a_total{process=\"cl\\\"ient\"} 1\n"));
  assert_non_null(strstr(text, "a_total{pid=\"22\",process=\"cl\\\"ient\"} 1\n"));
  assert_non_null(strstr(text, "a_total{pid=\"22\"} 2\n"));
  assert_non_null(strstr(text, "a_total 3\n"));
}

static void
nonsense_does_no_harm(void **state)
{
  static const char *const pages[] = {
      "",
      "\n\n# EOF\n",
      "# HELP\n# TYPE \nnothing\n{\n}{\"\n{process=\"\n{process=\"x\\",
      "\xff\xfe 1\n# HELP \xff text\n\xff{} 1\n",
  };
  GI_CLEANUP_FREE char *text = merged(pages, 4);
  assert_non_null(strstr(text, "nothing"));
}

static void
many_families_are_kept(void **state)
{
  char *page = NULL;
  size_t len;
  FILE *out = open_memstream(&page, &len);
  for (unsigned i = 0; i < 1000; i++)
    fprintf(out, "# HELP f%u text\nf%u{} %u\n", i, i, i);
  fclose(out);
  const char *const pages[] = {page, page};
  GI_CLEANUP_FREE char *text = merged(pages, 2);
  assert_non_null(strstr(text, "# HELP f999 text\nf999{} 999\nf999{} 999\n"));
  free(page);
}

static void
a_page_becomes_json(void **state)
{
  char page[] = "# HELP a_seconds te\\\"x\\nt\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"
                "a_seconds_total{process=\"x\\\\y\",layer=\"l,}\"} 1.5\na_seconds_total{} 2\n"
                "# HELP b \n# TYPE b gauge\nb 7\n# EOF\n";
  json_t *doc = ob_metrics_json(page), *families = json_object_get(doc, "families"), *a = json_array_get(families, 0),
         *b = json_array_get(families, 1);
  json_t *first = json_array_get(json_object_get(a, "samples"), 0), *only = json_array_get(json_object_get(b, "samples"), 0);
  assert_int_equal(json_array_size(families), 2);
  assert_string_equal(json_string_value(json_object_get(a, "help")), "te\"x\nt");
  assert_string_equal(json_string_value(json_object_get(a, "type")), "counter");
  assert_string_equal(json_string_value(json_object_get(a, "unit")), "seconds");
  assert_string_equal(json_string_value(json_object_get(first, "name")), "a_seconds_total");
  assert_string_equal(json_string_value(json_object_get(json_object_get(first, "labels"), "process")), "x\\y");
  assert_string_equal(json_string_value(json_object_get(json_object_get(first, "labels"), "layer")), "l,}");
  assert_true(json_real_value(json_object_get(first, "value")) == 1.5);
  assert_int_equal(json_integer_value(json_object_get(only, "value")), 7);
  json_decref(doc);
}

static void
nonsense_becomes_some_json(void **state)
{
  static const char *const pages[] = {
      "", "x\n", "# HELP\nx", "# HELP a\na{b\n", "# HELP a\na{b=\"c\n", "# HELP a\na{b=\"c\\\n", "# HELP \n\xff{\n"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(pages); i++) {
    GI_CLEANUP_FREE char *page = gi_strdup(pages[i]);
    json_t *doc = ob_metrics_json(page);
    assert_true(json_is_array(json_object_get(doc, "families")));
    json_decref(doc);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(families_stand_once),   cmocka_unit_test(equal_names_are_told_apart),
      cmocka_unit_test(nonsense_does_no_harm), cmocka_unit_test(many_families_are_kept),
      cmocka_unit_test(a_page_becomes_json),   cmocka_unit_test(nonsense_becomes_some_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
