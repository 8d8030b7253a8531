/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of exposition text: names, escapes, the order of families, both
 * formats.
 */
#include "libglusterish/exposition.h"
#include "libglusterish/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

struct numbers {
  uint64_t things, read_bytes, moved, busy, now;
};

static const struct gi_metric table[] = {
    GI_METRIC(struct numbers, things, "", "things, \"quoted\"\nand \\ more"),
    GI_METRIC(struct numbers, read_bytes, "bytes", "read"),
    GI_METRIC(struct numbers, moved, "bytes", "moved"),
    GI_METRIC(struct numbers, busy, "ns", "time"),
    GI_GAUGE(struct numbers, now, "", "what is now"),
    GI_METRIC_END,
};
static const struct gi_metric units[] = {
    {"paused_ms", "ms", "", 0, GI_METRIC_COUNTER},   {"eta_s", "s", "", 0, GI_METRIC_GAUGE},
    {"files_per_s", "1/s", "", 0, GI_METRIC_GAUGE},  {"bytes_per_s", "bytes/s", "", 0, GI_METRIC_GAUGE},
    {"bytes", "bytes", "", 0, GI_METRIC_COUNTER},    {"bytes_in", "bytes", "", 0, GI_METRIC_COUNTER},
    {"foreground_us", "us", "", 0, GI_METRIC_GAUGE},
};
static struct numbers numbers = {1, 2, 3, 4000000005, 5};

struct page {
  struct gi_exposition e;
  FILE *out;
  char *text;
  size_t len;
};

static struct gi_exposition *
begin(struct page *p, bool open)
{
  p->text = NULL;
  p->out = open_memstream(&p->text, &p->len);
  gi_exposition_begin(&p->e, p->out, open);
  return &p->e;
}

static char *
finish(struct page *p)
{
  gi_exposition_end(&p->e);
  fclose(p->out);
  return p->text;
}

static void
names_follow_from_tables(void **state)
{
  char buf[160];
  assert_string_equal(gi_exposition_prefix(buf, sizeof(buf), "performance/write-behind"), "performance_write_behind");
  assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a_b", &table[0], true), "glusterish_a_b_things_total");
  assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a_b", &table[0], false), "glusterish_a_b_things");
  assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a", &table[1], true), "glusterish_a_read_bytes_total");
  assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a", &table[2], true), "glusterish_a_moved_bytes_total");
  assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a", &table[3], true), "glusterish_a_busy_seconds_total");
  assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a", &table[4], true), "glusterish_a_now");
  static const char *const want[] = {"paused_seconds_total", "eta_seconds",          "files_per_second",  "bytes_per_second",
                                     "bytes_total",          "bytes_in_bytes_total", "foreground_seconds"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(units); i++)
    assert_string_equal(gi_exposition_name(buf, sizeof(buf), "a", &units[i], true) + strlen("glusterish_a_"), want[i]);
}

static void
openmetrics_has_units_and_an_end(void **state)
{
  struct page p;
  const struct gi_label label = {"layer", "x"};
  gi_exposition_table(begin(&p, true), "a", table, &numbers, &label, 1);
  char *text = finish(&p);
  assert_string_equal(text, "# HELP glusterish_a_things things, \\\"quoted\\\"\\nand \\\\ more\n"
                            "# TYPE glusterish_a_things counter\n"
                            "glusterish_a_things_total{layer=\"x\"} 1\n"
                            "# HELP glusterish_a_read_bytes read\n"
                            "# TYPE glusterish_a_read_bytes counter\n"
                            "# UNIT glusterish_a_read_bytes bytes\n"
                            "glusterish_a_read_bytes_total{layer=\"x\"} 2\n"
                            "# HELP glusterish_a_moved_bytes moved\n"
                            "# TYPE glusterish_a_moved_bytes counter\n"
                            "# UNIT glusterish_a_moved_bytes bytes\n"
                            "glusterish_a_moved_bytes_total{layer=\"x\"} 3\n"
                            "# HELP glusterish_a_busy_seconds time\n"
                            "# TYPE glusterish_a_busy_seconds counter\n"
                            "# UNIT glusterish_a_busy_seconds seconds\n"
                            "glusterish_a_busy_seconds_total{layer=\"x\"} 4.000000005\n"
                            "# HELP glusterish_a_now what is now\n"
                            "# TYPE glusterish_a_now gauge\n"
                            "glusterish_a_now{layer=\"x\"} 5\n"
                            "# EOF\n");
  free(text);
}

static void
the_older_format_is_plain(void **state)
{
  struct page p;
  struct gi_exposition *e = begin(&p, false);
  gi_exposition_family(e, "a", &table[0]);
  gi_exposition_sample(e, 7, NULL, 0);
  char *text = finish(&p);
  assert_string_equal(text, "# HELP glusterish_a_things_total things, \"quoted\"\\nand \\\\ more\n"
                            "# TYPE glusterish_a_things_total counter\n"
                            "glusterish_a_things_total{} 7\n");
  free(text);
}

static void
labels_are_escaped(void **state)
{
  static const struct {
    const char *value, *want;
  } cases[] = {
      {"plain", "plain"},
      {"a\"b\\c\nd", "a\\\"b\\\\c\\nd"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b"},
      {"\xc3", "\xef\xbf\xbd"},                                                 /* ends too early */
      {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* not the shortest form */
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* half of a pair */
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* beyond the last */
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct page p;
    struct gi_exposition *e = begin(&p, true);
    const struct gi_label labels[] = {{"none", NULL}, {"b", cases[i].value}};
    gi_exposition_common(e, "a", cases[i].value);
    gi_exposition_common(e, "left_out", NULL);
    gi_exposition_family(e, "x", &table[4]);
    gi_exposition_sample(e, 1, labels, 2);
    char *text = finish(&p), want[256];
    snprintf(want, sizeof(want), "\nglusterish_x_now{a=\"%s\",b=\"%s\"} 1\n", cases[i].want, cases[i].want);
    assert_non_null(strstr(text, want));
    free(text);
  }
}

static void
too_many_common_labels_are_left_out(void **state)
{
  struct page p;
  char value[600];
  struct gi_exposition *e = begin(&p, true);
  memset(value, 'v', sizeof(value) - 1);
  value[sizeof(value) - 1] = 0;
  gi_exposition_common(e, "a", value);
  gi_exposition_common(e, "b", value);
  gi_exposition_common(e, "c", "kept");
  assert_null(strstr(e->common, "b=\""));
  assert_non_null(strstr(e->common, ",c=\"kept\""));
  free(finish(&p));
}

/* ---- a graph ---- */

struct counts {
  uint64_t calls;
};
static void
measure(struct gi_xlator *x)
{
  ((struct counts *)x->metrics)->calls = 3;
}

static const struct gi_metric client_table[] = {GI_METRIC(struct counts, calls, "", "calls"), GI_METRIC_END};
static const struct gi_xlator_class client_class = {.type = "protocol/client", .metrics = client_table};
static const struct gi_xlator_class top_class = {.type = "debug/io-stats", .metrics = client_table, .measure = measure};

static void
samples_of_a_family_stand_together(void **state)
{
  struct counts counts[3] = {{1}, {2}, {0}};
  struct gi_xlator layers[3] = {0}, *list[3];
  struct gi_volfile *vf = gi_volfile_new();
  struct gi_graph g = {.magic = GI_GRAPH_MAGIC, .count = 3, .xlators = list, .volfile = vf};
  static char names[][16] = {"v-client-0", "v-client-1", "v"};
  for (unsigned i = 0; i < 3; i++) {
    list[i] = &layers[i];
    layers[i] = (struct gi_xlator){.magic = GI_XLATOR_MAGIC,
                                   .name = names[i],
                                   .graph = &g,
                                   .metrics = &counts[i],
                                   .enabled = i != 2,
                                   .cls = i == 2 ? &top_class : &client_class};
    struct gi_vol_node *n = gi_vol_node_add(vf, layers[i].cls->type, "%s", names[i]);
    if (i == 0) {
      gi_vol_node_option(n, "remote-host", "h");
      gi_vol_node_option(n, "remote-subvolume", "/b");
    }
  }
  struct page p;
  struct gi_exposition *e = begin(&p, true);
  gi_exposition_common(e, "volume", "v");
  gi_exposition_graph(e, &g);
  char *text = finish(&p);
  assert_non_null(strstr(text, "glusterish_debug_io_stats_calls_total{volume=\"v\",layer=\"v\"} 3\n"));
  assert_non_null(strstr(text, "# TYPE glusterish_protocol_client_calls counter\n"
                               "glusterish_protocol_client_calls_total{volume=\"v\",layer=\"v-client-1\"} 2\n"
                               "glusterish_protocol_client_calls_total{volume=\"v\",layer=\"v-client-0\",brick=\"h:/b\"} 1\n"));
  assert_non_null(strstr(text, "glusterish_layer_enabled{volume=\"v\",layer=\"v\",type=\"debug/io-stats\"} 0\n"));
  free(text);
  gi_volfile_free(&vf);
}

static void
histograms_have_buckets_by_powers_of_two(void **state)
{
  static const struct gi_metric m = {"time", "ns", "text", 0, GI_METRIC_HISTOGRAM};
  static struct gi_hist h;
  const struct gi_label label = {"kind", "WRITE"};
  struct page p;
  struct gi_exposition *e = begin(&p, true);
  gi_hist_add(&h, 5000);
  gi_hist_add(&h, 1000000);
  gi_hist_add(&h, 20000000000);
  gi_exposition_family(e, "layer", &m);
  gi_exposition_hist(e, &h, &label, 1);
  char *text = finish(&p);
  assert_non_null(strstr(text, "# TYPE glusterish_layer_time_seconds histogram\n# UNIT glusterish_layer_time_seconds seconds\n"
                               "glusterish_layer_time_seconds_bucket{kind=\"WRITE\",le=\"8.192e-06\"} 1\n"));
  assert_non_null(strstr(text, "_bucket{kind=\"WRITE\",le=\"0.000524288\"} 1\n"));
  assert_non_null(strstr(text, "_bucket{kind=\"WRITE\",le=\"0.001048576\"} 2\n"));
  assert_non_null(strstr(text, "_bucket{kind=\"WRITE\",le=\"17.179869184\"} 2\n"
                               "glusterish_layer_time_seconds_bucket{kind=\"WRITE\",le=\"+Inf\"} 3\n"
                               "glusterish_layer_time_seconds_sum{kind=\"WRITE\"} 20.001005000\n"
                               "glusterish_layer_time_seconds_count{kind=\"WRITE\"} 3\n"));
  free(text);
}

static void
caches_have_their_own_samples(void **state)
{
  struct gi_budget b = {.limit = 100, .used = 7, .peak = 9};
  struct page p;
  gi_exposition_budget(begin(&p, true), &b);
  char *text = finish(&p);
  assert_non_null(strstr(text, "# TYPE glusterish_budget_used_bytes gauge\n"));
  assert_null(strstr(text, "glusterish_cache_"));
  free(text);
  struct gi_budget_user one = {.name = "v-io-cache", .used = 3, .peak = 4};
  gi_list_init(&b.users);
  gi_list_add_tail(&b.users, &one.link);
  gi_exposition_budget(begin(&p, true), &b);
  text = finish(&p);
  assert_non_null(strstr(text, "glusterish_cache_used_bytes{cache=\"v-io-cache\"} 3\n"));
  free(text);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_follow_from_tables),
      cmocka_unit_test(openmetrics_has_units_and_an_end),
      cmocka_unit_test(the_older_format_is_plain),
      cmocka_unit_test(labels_are_escaped),
      cmocka_unit_test(too_many_common_labels_are_left_out),
      cmocka_unit_test(samples_of_a_family_stand_together),
      cmocka_unit_test(histograms_have_buckets_by_powers_of_two),
      cmocka_unit_test(caches_have_their_own_samples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
