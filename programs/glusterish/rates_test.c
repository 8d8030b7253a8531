/* SPDX-License-Identifier: Apache-2.0
 *
 * stats and top: rates from two sights.
 */
#include "programs/glusterish/fixture.h"
#include "programs/glusterish/rates.h"

#include <stdlib.h>

#define UID(host, pid) "CTX_ID:0-GRAPH_ID:0-PID:" #pid "-HOST:" host "-PC_NAME:v-client-0-RECON_NO:-0"

static double
number(const json_t *doc, const char *member)
{
  return json_number_value(json_object_get(doc, member));
}

static void
test_metric(void **state)
{
  static const char text[] = "# TYPE a counter\na_total{layer=\"x y\",odd=\"} \\\" 7\"} 5\na_total 2.5\nab_total 9\n# EOF\n";
  assert_true(rates_metric(text, "a_total") == 7.5);
  assert_true(rates_metric(text, "b_total") == 0);
  assert_true(rates_metric("", "a_total") == 0);
  assert_true(rates_metric("a_total", "a_total") == 0);
  assert_true(rates_metric("a_total{x=\"", "a_total") == 0);
}

#define SLOW "[9000000,500]"
#define MOUNT(requests, written) MOUNT_TOOK(requests, written, "[" SLOW "]")
#define MOUNT_TOOK(requests, written, buckets) \
  "{'role':'client','about':{'mountpoint':'/m'},'metrics':'glusterish_mount_fuse_requests_total " #requests \
  "\\nglusterish_mount_fuse_write_bytes_total " #written \
  "\\n','inflight':{'operations':[{'age_ns':7},{'age_ns':9}]},'layers':{'layers':[" \
  "{'kinds':[{'kind':'WRITE','count':9,'errors':1}]},{'kinds':[{'kind':'WRITE','count':3,'errors':2}]}]},'pid':7,'top':" \
  "{'layers':[{'name':'top','kinds':[{'kind':'WRITE','all':{'buckets':" buckets "}}]}]}}"
#define BRICK(writes, in) \
  "{'role':'brick','volume':'v','pid':3,'about':{'brick':'/b','host':'h'},'clients':{'clients':[{'uid':'" UID( \
      "far", 5) "','address':'a:1','fops':{'WRITE':" #writes ",'LOOKUP':1},'bytes_in':" #in ",'bytes_out':10,'inflight':2}]}}"
#define SIGHT(now, processes) "{'now':" #now ",'processes':[" processes "]}"

static json_t *
rates(const char *before, const char *after)
{
  json_t *a = fixture(before), *b = fixture(after), *r = rates_between(a, b);
  json_decref(a);
  json_decref(b);
  return r;
}

static void
test_mounts_count(void **state)
{
  json_t *r = rates(SIGHT(100, MOUNT(10, 1000) "," BRICK(5, 5)),
                    SIGHT(102, MOUNT_TOOK(50, 5000, "[[2000000,98],[4000000,2]," SLOW "]") "," BRICK(500, 500)));
  char *text = NULL;
  assert_true(number(r, "seconds") == 2 && number(r, "operations") == 20 && number(r, "write_bytes") == 2000);
  assert_true(number(r, "write_p99_ns") == 4000000); /* of what was done since then, whatever came before */
  assert_int_equal(cli_int(r, "inflight"), 2);
  assert_true(number(r, "oldest_ns") == 9);
  FIXTURE_PRINTED(text, rates_print(out, r));
  assert_non_null(strstr(text, " 4.0 ms "));
  free(text);
  json_decref(r);
}

static void
test_bricks_count_where_no_mount_is(void **state)
{
  json_t *r = rates(SIGHT(100, BRICK(5, 5)), SIGHT(101, BRICK(500, 505)));
  assert_true(number(r, "operations") == 495 && number(r, "write_bytes") == 500 && number(r, "read_bytes") == 0);
  json_decref(r);
  r = rates(SIGHT(100, BRICK(500, 5)), SIGHT(101, BRICK(3, 2))); /* it was restarted */
  assert_true(number(r, "operations") == 0 && number(r, "write_bytes") == 0);
  json_decref(r);
  r = rates("{}", "{}");
  assert_true(number(r, "operations") == 0);
  json_decref(r);
}

static json_t *
top(const char *before, const char *after, enum top_by by, size_t max)
{
  json_t *a = fixture(before), *b = fixture(after), *t = top_between(a, b, by, max);
  json_decref(a);
  json_decref(b);
  return t;
}

static const json_t *
row(const json_t *top, size_t i)
{
  return json_array_get(json_object_get(top, "rows"), i);
}

static void
test_top_clients_and_bricks(void **state)
{
  json_t *t = top(SIGHT(100, BRICK(5, 5) "," BRICK(5, 5)), SIGHT(102, BRICK(25, 4005) "," BRICK(25, 4005)), TOP_CLIENT, 10);
  char *text = NULL;
  assert_int_equal(json_array_size(json_object_get(t, "rows")), 1); /* one client, on two bricks */
  assert_string_equal(cli_str(row(t, 0), "name"), "client far (pid 5 there)");
  assert_true(number(row(t, 0), "operations") == 20 && number(row(t, 0), "write_bytes") == 4000);
  assert_int_equal(cli_int(row(t, 0), "inflight"), 4);
  FIXTURE_PRINTED(text, top_print(out, t, 30));
  for (const char *line = text; *line; line = strchr(line, '\n') + 1)
    assert_true(strcspn(line, "\n") <= 30);
  free(text);
  json_decref(t);
  t = top(SIGHT(100, BRICK(5, 5)), SIGHT(102, BRICK(25, 4005)), TOP_BRICK, 10);
  assert_string_equal(cli_str(row(t, 0), "name"), "brick h:/b (pid 3)");
  assert_true(number(row(t, 0), "operations") == 10);
  json_decref(t);
}

#define FILES(a, b) \
  "{'role':'brick','files':{'files':[{'path':'/a','gfid':'1','write':" #a \
  ",'bytes_written':0},{'path':null,'gfid':'2','write':" #b ",'bytes_written':0}]}}"

static void
test_top_files(void **state)
{
  json_t *t = top(SIGHT(100, FILES(1, 1)), SIGHT(101, FILES(3, 9)), TOP_FILE, 1);
  assert_int_equal(json_array_size(json_object_get(t, "rows")), 1); /* the busiest only */
  assert_string_equal(cli_str(row(t, 0), "name"), "2");
  assert_true(number(row(t, 0), "operations") == 8);
  json_decref(t);
}

static void
test_top_operations(void **state)
{
  json_t *t = top(
      "{}",
      SIGHT(
          5,
          "{'role':'client','volume':'v','pid':3,'about':{'mountpoint':'/m'},'inflight':{'operations':[{'kind':'READ','path':"
          "'/young','age_ns':1000},{'kind':'WRITE','path':'/old\\u001b[2J','age_ns':2000000000,'at':'x','waits':{'for':'disk',"
          "'what':'the disk','who':null}}]}}"),
      TOP_OPERATION, 10);
  char *text = NULL;
  FIXTURE_PRINTED(text, top_print(out, t, 0));
  assert_non_null(
      strstr(text, "    2.0 s WRITE        x                    /old?[2J waits for the disk (mount /m of v (pid 3))\n"));
  assert_true(strstr(text, "/old") < strstr(text, "/young"));
  free(text);
  json_decref(t);
}

static void
test_what_top_can_show(void **state)
{
  enum top_by by = TOP_CLIENT;
  assert_true(top_by_name("brick", &by) && by == TOP_BRICK);
  assert_false(top_by_name("bri", &by));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_metric),
      cmocka_unit_test(test_mounts_count),
      cmocka_unit_test(test_bricks_count_where_no_mount_is),
      cmocka_unit_test(test_top_clients_and_bricks),
      cmocka_unit_test(test_top_files),
      cmocka_unit_test(test_top_operations),
      cmocka_unit_test(test_what_top_can_show),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
