/* SPDX-License-Identifier: Apache-2.0
 *
 * The forms of a trace, made of the documents that processes tell: a write on
 * three copies, and one that hangs.
 */
#include "programs/glusterish/trace.h"
#include "programs/glusterish/trace-want.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define CLIENT "{\"role\":\"client\",\"volume\":\"data\",\"host\":\"n1\",\"pid\":812,\"brick\":null}"
#define BRICK(n) "{\"role\":\"brick\",\"volume\":\"data\",\"host\":\"n" n "\",\"pid\":9" n ",\"brick\":\"/b" n "\"}"

/* One copy: the call, and in its brick the server above the disk. */
#define COPY(n, start, took, own, first, waited) \
  "{\"layer\":\"data-client-" n "\",\"type\":\"protocol/client\",\"kind\":\"WRITE\",\"start_ns\":" start ",\"took_ns\":" took \
  ",\"own_ns\":" own ",\"wire_ns\":" own ",\"open\":false,\"waited_for\":" waited ",\"waits\":null,\"remote\":" BRICK( \
      n) ",\"steps\":[{\"layer\":\"data-server\",\"type\":\"protocol/server\",\"kind\":\"WRITE\",\"start_ns\":" first \
         ",\"took_ns\":300000,\"own_ns\":100000,\"open\":false,\"waited_for\":true,\"waits\":null,\"remote\":null,\"steps\":[" \
         "{\"layer\":\"data-posix\",\"type\":\"storage/posix\",\"kind\":\"WRITE\",\"start_ns\":" first \
         ",\"took_ns\":200000,\"own_ns\":200000,\"open\":false,\"waited_for\":true," \
         "\"waits\":{\"for\":\"disk\",\"what\":\"pwrite\",\"who\":null,\"since_ns\":180000},\"remote\":null,\"steps\":[]}]}]}"

static const char written[] =
    "{\"id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"kind\":\"WRITE\",\"path\":\"/a/b\\u001b\",\"gfid\":"
    "\"00000000-0000-4000-8000-000000000001\",\"name\":null,\"pid\":4711,\"uid\":1000,\"client\":null,\"process\":" CLIENT
    ",\"start\":1764115200123456789,\"age_ns\":900000,\"took_ns\":800000,\"error\":0,\"offset\":8192,\"size\":4096,\"at\":null,"
    "\"waits\":null,\"tree\":{\"layer\":\"data-fuse\",\"type\":\"mount/"
    "fuse\",\"kind\":\"WRITE\",\"start_ns\":0,\"took_ns\":800000,"
    "\"own_ns\":50000,\"open\":false,\"waited_for\":true,\"waits\":null,\"remote\":null,\"steps\":["
    "{\"layer\":\"data-replicate-0\",\"type\":\"cluster/replicate\",\"kind\":\"WRITE\",\"start_ns\":50000,\"took_ns\":750000,"
    "\"own_ns\":50000,\"open\":false,\"waited_for\":true,\"waits\":null,\"remote\":null,\"steps\":[" //
    COPY("1", "60000", "500000", "200000", "160000", "false") ","                                    //
    COPY("2", "70000", "700000", "400000", "270000", "true") ","                                     //
    COPY("3", "80000", "510000", "210000", "180000", "false") "]}]}}";

static const char hanging[] =
    "{\"id\":\"0000000000000000000000000000000a\",\"kind\":\"FSYNC\",\"path\":null,\"gfid\":\"00000000-0000-4000-8000-"
    "000000000002\","
    "\"name\":null,\"pid\":7,\"uid\":0,\"process\":" CLIENT ",\"start\":1764115201000000000,\"age_ns\":5200000000,\"took_ns\":"
    "null,\"error\":0,\"offset\":0,\"size\":0,\"at\":\"data-client-2\","
    "\"waits\":{\"for\":\"brick\",\"what\":\"answer to FSYNC\",\"who\":\"n2:/b2\",\"since_ns\":5100000000},"
    "\"tree\":{\"layer\":\"data-client-2\",\"type\":\"protocol/"
    "client\",\"kind\":\"FSYNC\",\"start_ns\":100000000,\"took_ns\":null,"
    "\"own_ns\":5100000000,\"open\":true,\"waited_for\":true,\"waits\":{\"for\":\"brick\",\"what\":\"answer to FSYNC\","
    "\"who\":\"n2:/b2\",\"since_ns\":5100000000},\"remote\":null,\"steps\":[]}}";

static json_t *
operations(void)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("[%s,%s]", written, hanging);
  json_error_t err;
  json_t *list = json_loads(text, 0, &err);
  if (!list)
    fail_msg("the fixture is no JSON: %s at %d", err.text, err.position);
  return list;
}

/* ---- text ---- */

static void
test_text(void **state)
{
  static const char want[] =
      "WRITE /a/b\\033 took 800.0 us: 4096 bytes at 8192, pid 4711, uid 1000\n"
      "4bf92f3577b34da6a3ce929d0e0e4736 of client of data on n1, 2025-11-26 00:00:00.123456 UTC\n"
      "       start        took          own   share\n"
      "        0 ns    800.0 us      50.0 us   6.2 %  * data-fuse (mount/fuse)\n"
      "     50.0 us    750.0 us      50.0 us   6.2 %  *   data-replicate-0 (cluster/replicate)\n"
      "     60.0 us    500.0 us     200.0 us  25.0 %        data-client-1 (protocol/client), wire 200.0 us, brick n1:/b1\n"
      "    160.0 us    300.0 us     100.0 us  12.5 %          data-server (protocol/server)\n"
      "    160.0 us    200.0 us     200.0 us  25.0 %            data-posix (storage/posix); waited 180.0 us for disk: pwrite\n"
      "     70.0 us    700.0 us     400.0 us  50.0 %  *     data-client-2 (protocol/client), wire 400.0 us, brick n2:/b2\n"
      "    270.0 us    300.0 us     100.0 us  12.5 %  *       data-server (protocol/server)\n"
      "    270.0 us    200.0 us     200.0 us  25.0 %  *         data-posix (storage/posix); waited 180.0 us for disk: pwrite\n"
      "     80.0 us    510.0 us     210.0 us  26.2 %        data-client-3 (protocol/client), wire 210.0 us, brick n3:/b3\n"
      "    180.0 us    300.0 us     100.0 us  12.5 %          data-server (protocol/server)\n"
      "    180.0 us    200.0 us     200.0 us  25.0 %            data-posix (storage/posix); waited 180.0 us for disk: pwrite\n"
      "             the own times of the steps waited for (*) sum up to 800.0 us, 100.0 %\n"
      "\n"
      "FSYNC 00000000-0000-4000-8000-000000000002 hangs for 5.200 s: pid 7, uid 0, at data-client-2; waits 5.100 s for brick: "
      "answer to FSYNC, held by n2:/b2\n"
      "0000000000000000000000000000000a of client of data on n1, 2025-11-26 00:00:01.000000 UTC\n"
      "       start        took          own   share\n"
      "  100.000 ms     5.100 s+     5.100 s  98.1 %  * data-client-2 (protocol/client); waits 5.100 s for brick: answer to "
      "FSYNC, "
      "held by n2:/b2\n";
  char *text = NULL;
  size_t len;
  json_t *list = operations();
  FILE *out = open_memstream(&text, &len);
  trace_print(out, list);
  fclose(out);
  assert_string_equal(text, want);
  free(text);
  json_decref(list);
}

/* Whatever a process may tell: nothing is printed twice, missed or read beyond its end. */
static void
test_odd_documents(void **state)
{
  static const char *const odd[] = {
      "[]",
      "[{}]",
      "[7,null,\"x\",[]]",
      "[{\"kind\":7,\"id\":null,\"start\":-5,\"took_ns\":\"x\",\"process\":[],\"tree\":{\"steps\":[{},7,{\"steps\":{}}]}}]",
      "[{\"id\":\"00000000000000000000000000000000\",\"start\":9223372036854775807,\"took_ns\":9223372036854775807,\"error\":-"
      "3,"
      "\"tree\":{\"start_ns\":9223372036854775807,\"took_ns\":9223372036854775807,\"open\":true,\"remote\":{}}}]",
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(odd); i++) {
    json_t *list = json_loads(odd[i], 0, NULL), *doc;
    char *text = NULL;
    size_t len;
    assert_non_null(list);
    FILE *out = open_memstream(&text, &len);
    trace_print(out, list);
    fclose(out);
    free(text);
    assert_non_null(doc = trace_perfetto(list));
    json_decref(doc);
    assert_non_null(doc = trace_otlp(list));
    json_decref(doc);
    json_decref(list);
  }
}

/* ---- Perfetto ---- */

static const char *
phase(const json_t *e)
{
  return trace_str(e, "ph");
}

static double
number(const json_t *e, const char *member)
{
  assert_true(json_is_number(json_object_get(e, member)));
  return json_number_value(json_object_get(e, member));
}

/* What the format demands of an event, as far as it is used here. */
static void
check_event(const json_t *e)
{
  assert_true(json_is_string(json_object_get(e, "name")) && json_is_string(json_object_get(e, "ph")));
  assert_true(strlen(phase(e)) == 1 && strchr("XMsf", *phase(e)));
  assert_true(json_is_integer(json_object_get(e, "pid")) && json_is_integer(json_object_get(e, "tid")));
  if (*phase(e) == 'M')
    assert_true(json_is_object(json_object_get(e, "args")));
  else
    assert_true(number(e, "ts") >= 0 && json_is_string(json_object_get(e, "cat")));
  if (*phase(e) == 'X')
    assert_true(number(e, "dur") >= 0);
  if (*phase(e) == 's' || *phase(e) == 'f')
    assert_true(json_is_integer(json_object_get(e, "id")));
}

/* On one track two events either nest or have nothing in common. */
static void
check_nesting(const json_t *a, const json_t *b)
{
  if (*phase(a) != 'X' || *phase(b) != 'X' || number(a, "pid") != number(b, "pid") || number(a, "tid") != number(b, "tid"))
    return;
  double af = number(a, "ts"), at = af + number(a, "dur"), bf = number(b, "ts"), bt = bf + number(b, "dur"), e = 1e-6;
  if (!(at <= bf + e || bt <= af + e || (af <= bf + e && bt <= at + e) || (bf <= af + e && at <= bt + e)))
    fail_msg("%s and %s overlap on one track", trace_str(a, "name"), trace_str(b, "name"));
}

static unsigned
count_phase(const json_t *events, char which)
{
  unsigned n = 0;
  size_t i;
  json_t *e;
  json_array_foreach(events, i, e) n += *phase(e) == which;
  return n;
}

static const json_t *
event_named(const json_t *events, const char *name)
{
  size_t i;
  json_t *e;
  json_array_foreach(events, i, e) if (*phase(e) == 'X' && strcmp(trace_str(e, "name"), name) == 0) return e;
  fail_msg("no event %s", name);
  return NULL;
}

static void
test_perfetto(void **state)
{
  json_t *list = operations(), *doc = trace_perfetto(list), *events = json_object_get(doc, "traceEvents"), *a, *b;
  size_t i, k;
  json_array_foreach(events, i, a)
  {
    check_event(a);
    for (k = 0; k < i; k++) {
      b = json_array_get(events, k);
      check_nesting(a, b);
    }
  }
  assert_int_equal(count_phase(events, 'X'), 1 + 11 + 1 + 1);
  assert_int_equal(count_phase(events, 's'), 3);
  assert_int_equal(count_phase(events, 'f'), 3);
  assert_int_equal(count_phase(events, 'M'), 2 * 4); /* the client and three bricks */
  assert_string_equal(trace_str(json_object_get(doc, "otherData"), "start_unix_ns"), "1764115200123456789");
  /* Copies are side by side, each on a track of its own. */
  const json_t *one = event_named(events, "data-client-1"), *two = event_named(events, "data-client-2");
  assert_true(number(one, "pid") == 1 && number(two, "pid") == 1 && number(one, "tid") != number(two, "tid"));
  assert_true(number(one, "ts") == 60 && number(one, "dur") == 500);
  assert_true(number(event_named(events, "data-posix"), "pid") == 2);
  assert_true(number(event_named(events, "FSYNC"), "ts") == 876543.211);
  json_decref(doc);
  json_decref(list);
}

/* ---- OTLP ---- */

static void
check_hex(const json_t *span, const char *member, size_t len)
{
  const char *id = trace_str(span, member);
  assert_int_equal(strlen(id), len);
  assert_int_equal(strspn(id, "0123456789abcdef"), len);
  assert_true(strspn(id, "0") < len);
}

static uint64_t
decimal(const json_t *span, const char *member)
{
  const char *text = trace_str(span, member); /* 64 bits are text in this form */
  assert_true(*text && strspn(text, "0123456789") == strlen(text));
  return strtoull(text, NULL, 10);
}

static void
check_attributes(const json_t *list)
{
  size_t i;
  json_t *a, *v;
  const char *kind;
  assert_true(json_is_array(list));
  json_array_foreach(list, i, a)
  {
    assert_int_equal(json_object_size(a), 2);
    assert_true(*trace_str(a, "key"));
    assert_int_equal(json_object_size(json_object_get(a, "value")), 1);
    json_object_foreach(json_object_get(a, "value"), kind, v)
    {
      if (strcmp(kind, "boolValue") == 0)
        assert_true(json_is_boolean(v));
      else
        assert_true((strcmp(kind, "stringValue") == 0 || strcmp(kind, "intValue") == 0) && json_is_string(v));
    }
  }
}

/* Every member is one that the protocol has, of its type, and no other. */
static void
check_span(const json_t *span)
{
  static const char *const known[] = {"traceId",           "spanId",          "parentSpanId", "name",  "kind",
                                      "startTimeUnixNano", "endTimeUnixNano", "attributes",   "status"};
  const char *member;
  json_t *v;
  check_hex(span, "traceId", 32);
  check_hex(span, "spanId", 16);
  if (*trace_str(span, "parentSpanId"))
    check_hex(span, "parentSpanId", 16);
  assert_true(*trace_str(span, "name"));
  assert_in_range(json_integer_value(json_object_get(span, "kind")), 1, 5);
  assert_true(decimal(span, "startTimeUnixNano") <= decimal(span, "endTimeUnixNano"));
  check_attributes(json_object_get(span, "attributes"));
  json_object_foreach((json_t *)span, member, v)
  {
    bool is = false;
    for (size_t i = 0; i < GI_ARRAY_LEN(known); i++)
      is = is || strcmp(member, known[i]) == 0;
    if (!is)
      fail_msg("a span has no %s", member);
  }
}

static json_t *
spans_at(const json_t *doc, size_t resource)
{
  json_t *scope =
      json_array_get(json_object_get(json_array_get(json_object_get(doc, "resourceSpans"), resource), "scopeSpans"), 0);
  return json_object_get(scope, "spans");
}

static void
test_otlp(void **state)
{
  json_t *list = operations(), *doc = trace_otlp(list), *resources = json_object_get(doc, "resourceSpans"), *r, *span;
  unsigned roots = 0, all = 0, servers = 0, clients = 0;
  size_t i, k;
  assert_int_equal(json_object_size(doc), 1);
  assert_int_equal(json_array_size(resources), 4);
  json_array_foreach(resources, i, r)
  {
    check_attributes(json_object_get(json_object_get(r, "resource"), "attributes"));
    assert_int_equal(json_array_size(json_object_get(r, "scopeSpans")), 1);
    json_array_foreach(spans_at(doc, i), k, span)
    {
      check_span(span);
      all++;
      roots += !*trace_str(span, "parentSpanId");
      servers += json_integer_value(json_object_get(span, "kind")) == 2;
      clients += json_integer_value(json_object_get(span, "kind")) == 3;
    }
  }
  assert_int_equal(all, 1 + 11 + 1 + 1);
  assert_int_equal(roots, 2);
  assert_int_equal(servers, 3);
  assert_int_equal(clients, 4);
  /* The bricks' spans are below the calls of the client. */
  json_t *fuse = json_array_get(spans_at(doc, 0), 1), *server = json_array_get(spans_at(doc, 1), 0);
  assert_string_equal(trace_str(fuse, "name"), "mount/fuse WRITE");
  assert_string_equal(trace_str(server, "name"), "protocol/server WRITE");
  assert_string_equal(trace_str(server, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
  assert_string_equal(trace_str(server, "parentSpanId"), trace_str(json_array_get(spans_at(doc, 0), 3), "spanId"));
  assert_string_equal(trace_str(server, "startTimeUnixNano"), "1764115200123616789");
  json_decref(doc);
  json_decref(list);
}

/* ---- the question ---- */

struct words {
  struct cli c;
  char *out, *err;
  size_t out_len, err_len;
  struct trace_want want;
  bool ok;
};

static void
parse(struct words *w, char *line)
{
  static const struct cli_command cmd = {.pattern = "trace <VOLNAME> [--path <PATH>]"};
  char *words[32], *save = NULL;
  int n = 0;
  *w = (struct words){0};
  w->c.out = open_memstream(&w->out, &w->out_len);
  w->c.err = open_memstream(&w->err, &w->err_len);
  for (char *p = strtok_r(line, " ", &save); p; p = strtok_r(NULL, " ", &save))
    words[n++] = p;
  w->ok = trace_want_parse(&w->c, &cmd, n, words, &w->want);
  fclose(w->c.out);
  fclose(w->c.err);
}

static void
check_query(const char *line, const char *mountpoint, const char *query)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(line);
  struct words w;
  parse(&w, copy);
  if (!w.ok)
    fail_msg("%s: %s", line, w.err);
  GI_CLEANUP_FREE char *got = trace_query(&w.want, mountpoint);
  assert_string_equal(got, query);
  free(w.out);
  free(w.err);
}

static void
check_refused(const char *line, const char *why)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(line);
  struct words w;
  parse(&w, copy);
  assert_false(w.ok);
  if (!strstr(w.err, why))
    fail_msg("%s: %s", line, w.err);
  free(w.out);
  free(w.err);
}

static void
test_words(void **state)
{
  check_query("trace data", NULL, "/trace?count=10&seconds=10");
  check_query("trace data --path /a&b/c% --count=3 --seconds 2", NULL, "/trace?count=3&seconds=2&path=/a%26b/c%25");
  check_query("trace --path /mnt/data/x data", "/mnt/data", "/trace?count=10&seconds=10&path=/x");
  check_query("trace data --path /mnt/database", "/mnt/data", "/trace?count=10&seconds=10&path=/mnt/database");
  check_query("trace data --path /mnt/data", "/mnt/data", "/trace?count=10&seconds=10&path=/");
  check_query("trace data --pid 12 --slower-than 1.5s --sample 100", NULL,
              "/trace?count=10&seconds=10&pid=12&sample=100&slower_ms=1500");
  check_query("trace data --hanging", NULL, "/trace?count=10&seconds=1&slower_ms=1000&hanging_ms=1000");
  check_query("trace data --hanging --slower-than 20ms --seconds 3", NULL,
              "/trace?count=10&seconds=3&slower_ms=20&hanging_ms=20");
  check_refused("trace", "Usage:");
  check_refused("trace data more", "Usage:");
  check_refused("trace data --count 0", "option --count: 0 is out of range");
  check_refused("trace data --seconds 99999", "--seconds");
  check_refused("trace data --slower-than 20m", "--slower-than");
  check_refused("trace data --slower-than 100us", "--slower-than");
  check_refused("trace data --slower-than -1", "--slower-than");
  check_refused("trace data --path", "option --path needs a value");
  check_refused("trace data --path --hanging", "option --path needs a value");
  check_refused("trace data --hanging=yes", "option --hanging takes no value");
  check_refused("trace data --paths /x", "unrecognized option --paths");
  assert_true(trace_is_url("http://localhost:4318/v1/traces"));
  assert_false(trace_is_url("/tmp/http.json"));
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text), cmocka_unit_test(test_odd_documents), cmocka_unit_test(test_perfetto),
      cmocka_unit_test(test_otlp), cmocka_unit_test(test_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
