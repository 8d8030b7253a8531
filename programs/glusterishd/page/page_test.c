/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of what the page is told: the rings of the history, and the documents
 * made of what was gathered. Nothing is asked here; a test writes the answers.
 */
#include "programs/glusterishd/daemon-fixture.h"
#include "programs/glusterishd/page/page.h"
#include "libglusterish/graph.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- history ---- */

/* The number at `index` of an array of the only series of a kind; -1: null. */
static long
point(const json_t *doc, const char *kind, const char *array, size_t index)
{
  const json_t *list = json_object_get(doc, "series");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *s = json_array_get(list, i);
    if (strcmp(json_string_value(json_object_get(s, "kind")), kind) != 0)
      continue;
    const json_t *a = json_object_get(s, array);
    assert_true(index < json_array_size(a));
    return json_is_null(json_array_get(a, index)) ? -1 : (long)json_integer_value(json_array_get(a, index));
  }
  fail_msg("no series %s", kind);
  return 0;
}

static long
number(const json_t *doc, const char *member)
{
  return (long)json_integer_value(json_object_get(doc, member));
}

static void
test_history_points(void **state)
{
  struct gd_history *h = gd_history_new();
  static const struct prog_sample mostly_fast[] = {{5000, 1}, {100, 60}, {200, 39}}, slow[] = {{9000, 100}};
  gd_history_add(h, "v", "client", "WRITE", 100, 2, mostly_fast, 3);
  gd_history_tick(h);
  gd_history_tick(h);
  gd_history_add(h, "v", "client", "WRITE", 100, 0, mostly_fast, 3); /* of one process */
  gd_history_add(h, "v", "client", "WRITE", 100, 0, slow, 1);        /* and of another */
  gd_history_add(h, "v", "client", "READ", 1, 0, NULL, 0);
  gd_history_tick(h);
  json_t *doc = gd_history_json(h, 0);
  assert_int_equal(number(doc, "from"), 0);
  assert_int_equal(number(doc, "next"), 3);
  assert_int_equal(point(doc, "WRITE", "count", 0), 100);
  assert_int_equal(point(doc, "WRITE", "errors", 0), 2);
  assert_int_equal(point(doc, "WRITE", "p50", 0), 100);
  assert_int_equal(point(doc, "WRITE", "p99", 0), 200);
  assert_int_equal(point(doc, "WRITE", "count", 1), 0);
  assert_int_equal(point(doc, "WRITE", "p50", 1), -1);
  assert_int_equal(point(doc, "WRITE", "count", 2), 200);
  assert_int_equal(point(doc, "WRITE", "p50", 2), 5000);
  assert_int_equal(point(doc, "WRITE", "p99", 2), 9000);
  assert_int_equal(point(doc, "READ", "count", 2), 1);
  assert_int_equal(point(doc, "READ", "p50", 2), -1); /* nobody told how long it took */
  assert_int_equal(point(doc, "ALL", "count", 2), 201);
  assert_int_equal(point(doc, "ALL", "p99", 2), 9000);
  json_decref(doc);
  gd_history_free(&h);
  assert_null(h);
}

static void
test_history_is_bounded(void **state)
{
  struct gd_history *h = gd_history_new();
  char kind[32];
  gd_history_add(h, "v", "client", "OLD", 1, 0, NULL, 0);
  for (unsigned i = 0; i < GD_HISTORY_ROOM + 5; i++) {
    gd_history_add(h, "v", "client", "WRITE", i, 0, NULL, 0);
    gd_history_tick(h);
  }
  json_t *doc = gd_history_json(h, 0);
  assert_int_equal(number(doc, "from"), 5);
  assert_int_equal(number(doc, "next"), GD_HISTORY_ROOM + 5);
  assert_int_equal(point(doc, "WRITE", "count", 0), 5);
  assert_int_equal(point(doc, "WRITE", "count", GD_HISTORY_ROOM - 1), GD_HISTORY_ROOM + 4);
  assert_int_equal(json_array_size(json_object_get(doc, "series")), 2); /* OLD went with its last point */
  json_decref(doc);
  for (unsigned i = 0; i < 2 * GD_HISTORY_SERIES; i++) {
    snprintf(kind, sizeof(kind), "KIND%u", i);
    gd_history_add(h, "v", "client", kind, 1, 0, NULL, 0);
  }
  gd_history_tick(h);
  doc = gd_history_json(h, 0);
  assert_int_equal(json_array_size(json_object_get(doc, "series")), GD_HISTORY_SERIES);
  assert_int_equal(point(doc, "ALL", "count", GD_HISTORY_ROOM - 1),
                   2 * GD_HISTORY_SERIES); /* those without a series count here */
  json_decref(doc);
  gd_history_free(&h);
}

static void
test_history_since(void **state)
{
  struct gd_history *h = gd_history_new();
  for (unsigned i = 0; i < 10; i++) {
    gd_history_add(h, "v", "brick", "READ", i, 0, NULL, 0);
    gd_history_tick(h);
  }
  static const struct {
    uint64_t since;
    long from;
  } rows[] = {{0, 0}, {7, 7}, {10, 10}, {11, 0}, {UINT64_MAX, 0}};
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++) {
    json_t *doc = gd_history_json(h, rows[i].since);
    assert_int_equal(number(doc, "from"), rows[i].from);
    assert_int_equal(number(doc, "next"), 10);
    if (rows[i].from < 10)
      assert_int_equal(point(doc, "READ", "count", 0), rows[i].from);
    json_decref(doc);
  }
  gd_history_free(&h);
}

static json_t *
parse(const char *text)
{
  json_error_t err;
  json_t *doc = json_loads(text, 0, &err);
  if (!doc)
    fail_msg("%s: %s", text, err.text);
  return doc;
}

/* What a process tells of all it ever did becomes what it did in between. */
static void
test_history_compares(void **state)
{
  struct gd_history *h = gd_history_new();
  json_t *before =
      parse("{\"layers\":[{\"name\":\"mnt\",\"kinds\":[]},{\"name\":\"top\",\"kinds\":[{\"kind\":\"WRITE\",\"count\":10,"
            "\"errors\":1,\"all\":{\"buckets\":[[100,9],[700,1]]}},{\"kind\":\"READ\",\"count\":5}]}]}");
  json_t *now =
      parse("{\"layers\":[{\"name\":\"mnt\",\"kinds\":[]},{\"name\":\"top\",\"kinds\":[{\"kind\":\"WRITE\",\"count\":14,"
            "\"errors\":2,\"all\":{\"buckets\":[[100,9],[300,3],[700,2]]}},{\"kind\":\"READ\",\"count\":5},"
            "{\"kind\":\"FSYNC\",\"count\":1,\"all\":{\"buckets\":[[50,1]]}}]},{\"name\":\"below\",\"kinds\":"
            "[{\"kind\":\"WRITE\",\"count\":99}]}]}");
  gd_history_compare(h, "v", "client", before, now);
  gd_history_tick(h);
  json_t *doc = gd_history_json(h, 0);
  assert_int_equal(point(doc, "WRITE", "count", 0), 4);
  assert_int_equal(point(doc, "WRITE", "errors", 0), 1);
  assert_int_equal(point(doc, "WRITE", "p50", 0), 300);
  assert_int_equal(point(doc, "WRITE", "p99", 0), 700);
  assert_int_equal(point(doc, "FSYNC", "p50", 0), 50);
  assert_int_equal(json_array_size(json_object_get(doc, "series")), 3); /* with ALL; nothing was read */
  json_decref(doc);
  json_decref(before);
  json_decref(now);
  gd_history_free(&h);
}

/* Another version, or somebody who answers anything at all: no point, no harm. */
static void
test_history_hostile_reports(void **state)
{
  static const char *const texts[] = {
      "{}",
      "[]",
      "{\"layers\":3}",
      "{\"layers\":[3,{\"kinds\":[1,{}]}]}",
      "{\"layers\":[{\"name\":\"t\",\"kinds\":[{\"kind\":7,\"count\":1}]}]}",
      "{\"layers\":[{\"name\":\"t\",\"kinds\":[{\"kind\":\"READ\",\"count\":-5}]}]}",
      "{\"layers\":[{\"name\":\"t\",\"kinds\":[{\"kind\":\"READ\",\"count\":\"x\",\"all\":{\"buckets\":[[\"a\"],{},[5]]}}]}]}",
  };
  struct gd_history *h = gd_history_new();
  for (size_t i = 0; i < GI_ARRAY_LEN(texts); i++)
    for (size_t k = 0; k < GI_ARRAY_LEN(texts); k++) {
      json_t *before = parse(texts[k]), *now = parse(texts[i]);
      gd_history_compare(h, "v", "client", before, now);
      json_decref(before);
      json_decref(now);
    }
  gd_history_tick(h);
  json_t *doc = gd_history_json(h, 0);
  assert_int_equal(json_array_size(json_object_get(doc, "series")), 0);
  json_decref(doc);
  gd_history_free(&h);
}

/* ---- documents ---- */

struct fixture {
  char dir[DAEMON_DIR_BYTES];
  struct gd *gd;
  struct gd_gather *g;
};

static int
setup(void **state)
{
  struct fixture *f = gi_new(struct fixture);
  f->gd = daemon_bench_new(f->dir, NULL, 0);
  f->g = gd_gather_new(f->gd, false);
  f->gd->uuid.b[0] = 7;
  *state = f;
  return 0;
}

static int
teardown(void **state)
{
  struct fixture *f = *state;
  gd_gather_free(&f->g);
  daemon_bench_free(&f->gd, f->dir);
  gi_free(f);
  return 0;
}

static struct gd_volume *
make_volume(struct fixture *f)
{
  struct gd_volume *v = gd_volume_new(f->gd, "data");
  v->type = GD_REPLICATE;
  v->status = GD_STARTED;
  v->replica = 3;
  v->nbricks = 3;
  v->bricks = gi_zalloc(3 * sizeof(*v->bricks));
  for (unsigned i = 0; i < 3; i++) {
    struct gd_brick *b = &v->bricks[i];
    *b = (struct gd_brick){.volume = v, .index = i, .host = gi_strdup("host1"), .path = gi_asprintf("/b/%u", i)};
    b->id = gi_asprintf("data-client-%u", i);
    b->node = i < 2 ? f->gd->uuid : (struct gi_gfid){{9}};
  }
  v->bricks[0].state = GD_PROC_UP;
  v->bricks[0].signed_in = true;
  v->bricks[0].port = 49152;
  v->bricks[0].pid = 4711;
  gd_volume_link(v);
  return v;
}

static const json_t *
at(const json_t *doc, const char *list, size_t i)
{
  const json_t *o = json_array_get(json_object_get(doc, list), i);
  assert_non_null(o);
  return o;
}

static const char *
text(const json_t *o, const char *member)
{
  const char *s = json_string_value(json_object_get(o, member));
  return s ? s : "";
}

static void
test_volumes(void **state)
{
  struct fixture *f = *state;
  make_volume(f);
  struct gd_disk *d = gi_new(struct gd_disk);
  *d = (struct gd_disk){.path = gi_strdup("/b/0"), .known = true, .total = 1000, .free = 400};
  gi_list_add_tail(&f->g->disks, &d->link);
  json_t *doc = gd_page_volumes(f->g);
  const json_t *v = at(doc, "volumes", 0);
  assert_string_equal(text(json_object_get(doc, "node"), "version"), GI_VERSION);
  assert_string_equal(text(v, "name"), "data");
  assert_string_equal(text(v, "type"), "Replicate");
  assert_string_equal(text(v, "status"), "Started");
  assert_string_equal(text(at(v, "bricks", 0), "name"), "host1:/b/0");
  assert_string_equal(text(at(v, "bricks", 0), "state"), "up");
  assert_int_equal(number(at(v, "bricks", 0), "port"), 49152);
  assert_int_equal(number(at(v, "bricks", 0), "pid"), 4711);
  assert_int_equal(number(json_object_get(at(v, "bricks", 0), "disk"), "free"), 400);
  assert_string_equal(text(at(v, "bricks", 1), "state"), "down");
  assert_true(json_is_null(json_object_get(at(v, "bricks", 1), "port")));
  assert_true(json_is_null(json_object_get(at(v, "bricks", 1), "disk")));
  assert_true(json_is_true(json_object_get(at(v, "bricks", 1), "local")));
  assert_true(json_is_false(json_object_get(at(v, "bricks", 2), "local")));
  assert_true(json_is_false(json_object_get(json_object_get(v, "heal"), "answered")));
  assert_true(json_is_false(json_object_get(json_object_get(v, "heal"), "running")));
  json_decref(doc);
}

static void
test_heal(void **state)
{
  struct fixture *f = *state;
  make_volume(f);
  struct gd_heal *h = gi_new(struct gd_heal);
  *h = (struct gd_heal){.volume = gi_strdup("data"), .answered = true, .facts = gi_dict_new()};
  gi_dict_set_str(h->facts, "0-0-hardlinks", "12");
  gi_dict_set_uint(h->facts, "0-2-hardlinks", 15);
  gi_dict_set_str(h->facts, "0-1-status", "Brick is not connected");
  gi_dict_set_str(h->facts, "glusterish.0-remaining", "11");
  gi_dict_set_str(h->facts, "glusterish.0-eta_s", "8");
  gi_dict_set_str(h->facts, "glusterish.0-files_per_s", "no number");
  gi_list_add_tail(&f->g->heals, &h->link);
  json_t *doc = gd_page_volumes(f->g);
  const json_t *v = at(doc, "volumes", 0), *heal = json_object_get(v, "heal");
  assert_int_equal(number(heal, "pending"), 15); /* both name the same objects */
  assert_int_equal(number(heal, "remaining"), 11);
  assert_int_equal(number(heal, "eta_s"), 8);
  assert_int_equal(number(heal, "files_per_s"), 0);
  assert_int_equal(number(at(v, "bricks", 0), "pending"), 12);
  assert_true(json_is_null(json_object_get(at(v, "bricks", 1), "pending")));
  json_decref(doc);
}

static struct gd_seen *
saw(struct fixture *f, const char *role, long pid, enum gd_answer what, const char *answer)
{
  struct gd_seen *s = gi_new(struct gd_seen);
  *s = (struct gd_seen){.socket = gi_asprintf("/run/%ld", pid),
                        .role = gi_strdup(role),
                        .volume = gi_strdup("data"),
                        .pid = pid,
                        .about = json_pack("{s:s}", "version", "1.2"),
                        .answers = true};
  s->answer[what] = parse(answer);
  gi_list_add_tail(&f->g->seen, &s->link);
  return s;
}

static void
test_operations(void **state)
{
  struct fixture *f = *state;
  saw(f, "brick", 1, GD_ANSWER_SLOW,
      "{\"operations\":[{\"id\":\"a\",\"kind\":\"WRITE\",\"took_ns\":50,\"tree\":null},{\"id\":\"b\",\"kind\":\"READ\",\"took_"
      "ns\":70},"
      "{\"kind\":\"READ\"},5,{\"id\":9}]}");
  saw(f, "client", 2, GD_ANSWER_SLOW,
      "{\"operations\":[{\"id\":\"a\",\"kind\":\"WRITE\",\"took_ns\":60,\"tree\":{\"layer\":\"fuse\",\"steps\":[]}}]}");
  json_t *doc = gd_page_operations(f->g);
  assert_int_equal(json_array_size(json_object_get(doc, "inflight")), 0);
  assert_int_equal(json_array_size(json_object_get(doc, "slow")), 2);
  assert_string_equal(text(at(doc, "slow", 0), "id"), "b");
  assert_string_equal(text(at(doc, "slow", 1), "id"), "a");
  assert_int_equal(number(at(doc, "slow", 1), "took_ns"), 60); /* as the client tells it */
  assert_true(json_is_true(json_object_get(at(doc, "slow", 1), "has_tree")));
  assert_null(json_object_get(at(doc, "slow", 1), "tree"));
  json_decref(doc);
  doc = gd_page_trace(f->g, "a");
  assert_string_equal(text(json_object_get(json_object_get(doc, "operation"), "tree"), "layer"), "fuse");
  json_decref(doc);
  assert_null(gd_page_trace(f->g, "nosuch"));
}

static void
test_operations_are_bounded(void **state)
{
  struct fixture *f = *state;
  json_t *many = json_array();
  for (int i = 0; i < 300; i++) {
    GI_CLEANUP_FREE char *id = gi_asprintf("%d", i);
    json_array_append_new(many, json_pack("{s:s,s:s,s:i}", "id", id, "kind", "READ", "age_ns", i));
  }
  struct gd_seen *s = saw(f, "client", 2, GD_ANSWER_INFLIGHT, "{}");
  json_object_set_new(s->answer[GD_ANSWER_INFLIGHT], "operations", many);
  json_t *doc = gd_page_operations(f->g);
  assert_int_equal(json_array_size(json_object_get(doc, "inflight")), 50);
  assert_string_equal(text(at(doc, "inflight", 0), "id"), "299"); /* the oldest are kept */
  json_decref(doc);
  s->answers = false; /* what it waited for then is not known to be so now */
  doc = gd_page_operations(f->g);
  assert_int_equal(json_array_size(json_object_get(doc, "inflight")), 0);
  json_decref(doc);
}

static void
test_processes(void **state)
{
  struct fixture *f = *state;
  saw(f, "brick", 1, GD_ANSWER_CLIENTS,
      "{\"clients\":[{\"uid\":\"u1-PC_NAME:data-client-0\",\"address\":\"h:1\",\"bytes_in\":100},{\"address\":\"x\"},7]}");
  saw(f, "brick", 2, GD_ANSWER_CLIENTS,
      "{\"clients\":[{\"uid\":\"u1-PC_NAME:data-client-1\",\"address\":\"h:2\",\"bytes_in\":100}]}");
  saw(f, "client", 3, GD_ANSWER_CLIENTS, "{}")->answers = false;
  json_t *doc = gd_page_processes(f->g);
  assert_int_equal(json_array_size(json_object_get(doc, "processes")), 3);
  assert_true(json_is_true(json_object_get(at(doc, "processes", 0), "answers")));
  assert_string_equal(text(at(doc, "processes", 0), "version"), "1.2");
  assert_true(json_is_false(json_object_get(at(doc, "processes", 2), "answers")));
  assert_int_equal(json_array_size(json_object_get(doc, "clients")), 1); /* one client of two bricks */
  assert_int_equal(number(at(doc, "clients", 0), "bricks"), 2);
  assert_int_equal(number(at(doc, "clients", 0), "bytes_in"), 200);
  json_decref(doc);
}

static void
test_errors(void **state)
{
  struct fixture *f = *state;
  saw(f, "brick", 1, GD_ANSWER_ERRORS,
      "{\"errors\":[{\"time\":\"2026-01-01T05:00:00Z\",\"level\":\"ERROR\",\"text\":\"old\"},{\"time\":\"2026-01-01T09:00:"
      "00Z\",\"text\":\"new\"},{\"time\":3,\"text\":\"x\"},\"x\"]}");
  saw(f, "client", 2, GD_ANSWER_ERRORS, "{\"errors\":[{\"time\":\"2026-01-01T07:00:00Z\",\"text\":\"between\"}]}");
  json_t *doc = gd_page_errors(f->g);
  assert_int_equal(json_array_size(json_object_get(doc, "errors")), 3);
  assert_string_equal(text(at(doc, "errors", 0), "text"), "new");
  assert_string_equal(text(at(doc, "errors", 1), "text"), "between");
  assert_string_equal(text(at(doc, "errors", 1), "process"), "client data (2)");
  assert_string_equal(text(at(doc, "errors", 2), "text"), "old");
  json_decref(doc);
}

/* The page is all there, and asks for nothing that is not its own. */
static void
test_files(void **state)
{
  unsigned n = 0;
  for (const struct gd_page_file *f = gd_page_files; f->path; f++, n++) {
    size_t len = (size_t)(f->end - f->text);
    assert_true(len > 100 && f->text[len - 1] == '\n');
    assert_null(memmem(f->text, len, "https://", 8));
    assert_null(memmem(f->text, len, "innerHTML", 9));
    assert_null(memmem(f->text, len, "eval(", 5));
  }
  assert_true(n >= 6);
  assert_string_equal(gd_page_files[0].path, "/");
  assert_memory_equal(gd_page_files[0].text, "<!DOCTYPE html>", 15);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_history_points),
      cmocka_unit_test(test_history_is_bounded),
      cmocka_unit_test(test_history_since),
      cmocka_unit_test(test_history_compares),
      cmocka_unit_test(test_history_hostile_reports),
      cmocka_unit_test_setup_teardown(test_volumes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_heal, setup, teardown),
      cmocka_unit_test_setup_teardown(test_operations, setup, teardown),
      cmocka_unit_test_setup_teardown(test_operations_are_bounded, setup, teardown),
      cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
