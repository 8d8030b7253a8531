/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is busy: clients, files, bricks and single operations.
 */
#include "programs/glusterish/rates.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const by_name[] = {"client", "file", "operation", "brick"};

bool
top_by_name(const char *word, enum top_by *by)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(by_name); i++) {
    if (strcmp(word, by_name[i]) != 0)
      continue;
    *by = (enum top_by)i;
    return true;
  }
  return false;
}

unsigned
top_looks_at(enum top_by by)
{
  static const unsigned looks_at[] = {[TOP_CLIENT] = SIGHT_CLIENTS,
                                      [TOP_FILE] = SIGHT_FILES | SIGHT_INFLIGHT,
                                      [TOP_OPERATION] = SIGHT_INFLIGHT,
                                      [TOP_BRICK] = SIGHT_CLIENTS | SIGHT_INFLIGHT | SIGHT_LAYERS};
  return looks_at[by];
}

static double
number(const json_t *doc, const char *member)
{
  return json_number_value(json_object_get(doc, member));
}

/* ---- totals by name: {"name": {"operations","read_bytes","write_bytes","inflight",…}} ---- */

static json_t *
entry(json_t *totals, const char *name)
{
  json_t *e = json_object_get(totals, name);
  if (e)
    return e;
  e = json_pack("{s:f, s:f, s:f, s:i}", "operations", 0.0, "read_bytes", 0.0, "write_bytes", 0.0, "inflight", 0);
  json_object_set_new(totals, name, e);
  return e;
}

static void
add(json_t *e, const char *member, double n)
{
  json_object_set_new(e, member, json_real(number(e, member) + n));
}

static double
operations_of(const json_t *client)
{
  double n = 0;
  const char *kind;
  json_t *v;
  json_object_foreach(json_object_get(client, "fops"), kind, v) n += json_number_value(v);
  return n;
}

static void
add_client(json_t *e, const json_t *c)
{
  add(e, "operations", operations_of(c));
  add(e, "read_bytes", number(c, "bytes_out"));
  add(e, "write_bytes", number(c, "bytes_in"));
  json_object_set_new(e, "inflight", json_integer(cli_int(e, "inflight") + cli_int(c, "inflight")));
}

/* Over all bricks: what a client asks of three counts three times, as it costs. */
static void
total_clients(json_t *totals, const json_t *sight, const json_t *p)
{
  size_t i;
  json_t *c;
  json_array_foreach(doctor_list(p, "clients", "clients"), i, c)
  {
    GI_CLEANUP_FREE char *name = doctor_client_name(sight, cli_str(c, "uid"), cli_str(c, "address"));
    json_t *e = entry(totals, name);
    add_client(e, c);
    json_object_set(e, "version", json_object_get(c, "version"));
  }
}

static void
total_brick(json_t *totals, const json_t *p)
{
  size_t i;
  json_t *c;
  GI_CLEANUP_FREE char *name = doctor_is_role(p, "brick") ? doctor_name(p) : NULL;
  if (!name)
    return;
  json_t *e = entry(totals, name);
  json_array_foreach(doctor_list(p, "clients", "clients"), i, c) add_client(e, c);
  json_object_set_new(e, "clients", json_integer((json_int_t)i));
  json_object_set_new(e, "answers", json_boolean(!json_is_false(json_object_get(p, "answers"))));
}

static void
total_files(json_t *totals, const json_t *p)
{
  size_t i;
  json_t *f, *op;
  json_array_foreach(doctor_list(p, "files", "files"), i, f)
  {
    json_t *e = entry(totals, *cli_str(f, "path") ? cli_str(f, "path") : cli_str(f, "gfid"));
    add(e, "operations",
        number(f, "open") + number(f, "read") + number(f, "write") + number(f, "opendir") + number(f, "readdir"));
    add(e, "read_bytes", number(f, "bytes_read"));
    add(e, "write_bytes", number(f, "bytes_written"));
  }
  json_array_foreach(doctor_list(p, "inflight", "operations"), i, op)
  {
    const char *name = *cli_str(op, "path") ? cli_str(op, "path") : cli_str(op, "gfid");
    json_t *e = *name && doctor_is_role(p, "client") ? entry(totals, name) : NULL;
    if (e)
      json_object_set_new(e, "inflight", json_integer(cli_int(e, "inflight") + 1));
  }
}

static json_t *
totals_of(const json_t *sight, enum top_by by)
{
  size_t i;
  json_t *p, *totals = json_object();
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (by == TOP_CLIENT)
      total_clients(totals, sight, p);
    else if (by == TOP_FILE)
      total_files(totals, p);
    else if (by == TOP_BRICK)
      total_brick(totals, p);
  }
  return totals;
}

/* ---- rows ---- */

static void
per_second(json_t *row, const json_t *before, double seconds)
{
  static const char *const growing[] = {"operations", "read_bytes", "write_bytes"};
  for (size_t i = 0; i < GI_ARRAY_LEN(growing); i++) {
    double n = number(row, growing[i]) - number(before, growing[i]);
    json_object_set_new(row, growing[i], json_real(n > 0 && seconds > 0 && before ? n / seconds : 0));
  }
}

static json_t *
rows_of(const json_t *before, const json_t *after, enum top_by by, double seconds)
{
  json_t *was = totals_of(before, by), *is = totals_of(after, by), *rows = json_array(), *e;
  const char *name;
  json_object_foreach(is, name, e)
  {
    json_t *row = json_copy(e);
    per_second(row, json_object_get(was, name), seconds);
    json_object_set_new(row, "name", json_string(name));
    json_array_append_new(rows, row);
  }
  json_decref(was);
  json_decref(is);
  return rows;
}

static json_t *
operation_rows(const json_t *sight)
{
  size_t i, k;
  json_t *p, *op, *rows = json_array();
  doctor_foreach(sight, "inflight", "operations", i, p, k, op)
  {
    GI_CLEANUP_FREE char *process = doctor_name(p);
    const char *path = *cli_str(op, "path") ? cli_str(op, "path") : cli_str(op, "gfid");
    json_t *row = json_pack("{s:s, s:s, s:s, s:f, s:s, s:I}", "name", path, "process", process, "kind", cli_str(op, "kind"),
                            "age_ns", number(op, "age_ns"), "at", cli_str(op, "at"), "pid", (json_int_t)cli_int(op, "pid"));
    GI_CLEANUP_FREE char *who = doctor_waits_who(sight, doctor_waits(op));
    json_object_set_new(row, "waits", doctor_waits(op) ? json_deep_copy(doctor_waits(op)) : json_null());
    json_object_set_new(row, "waits_for", *who ? json_string(who) : json_null());
    json_array_append_new(rows, row);
  }
  return rows;
}

/* Bytes count as much as the operations that they would fill. */
static double
weight(const json_t *row)
{
  return number(row, "age_ns") + number(row, "operations") + (number(row, "read_bytes") + number(row, "write_bytes")) / 4096 +
         (double)cli_int(row, "inflight") / 1000;
}

static int
busier(const void *a, const void *b)
{
  double wa = weight(*(json_t *const *)a), wb = weight(*(json_t *const *)b);
  return (wb > wa) - (wb < wa);
}

static json_t *
sorted(json_t *rows, size_t max)
{
  size_t n = json_array_size(rows);
  json_t *out = json_array();
  GI_CLEANUP_FREE json_t **row = gi_zalloc((n + 1) * sizeof(*row));
  for (size_t i = 0; i < n; i++)
    row[i] = json_array_get(rows, i);
  qsort(row, n, sizeof(*row), busier);
  for (size_t i = 0; i < n && i < max; i++)
    json_array_append(out, row[i]);
  json_decref(rows);
  return out;
}

json_t *
top_between(const json_t *before, const json_t *after, enum top_by by, size_t max)
{
  double now = number(after, "now"), s = now - number(before, "now");
  json_t *rows = by == TOP_OPERATION ? operation_rows(after) : rows_of(before, after, by, s);
  return json_pack("{s:s, s:f, s:f, s:o}", "by", by_name[by], "time", now, "seconds", s, "rows", sorted(rows, max));
}

/* ---- for people ---- */

/* A line of a screen: no longer than it is wide, and nothing in it that moves the cursor. */
static void
put_line(FILE *out, const char *line, int width)
{
  for (int at = 0; line[at] && (width <= 0 || at < width); at++)
    putc((unsigned char)line[at] < 0x20 || line[at] == 0x7f ? '?' : line[at], out);
  putc('\n', out);
}

static char *
operation_line(const json_t *row)
{
  const json_t *waits = json_object_get(row, "waits");
  const char *who = cli_str(row, "waits_for");
  bool brick = strcmp(cli_str(waits, "for"), "brick") == 0;
  char span[32];
  return gi_asprintf("%9s %-12s %-20s %s%s%s%s%s (%s)", doctor_span(number(row, "age_ns") / 1e9, span), cli_str(row, "kind"),
                     cli_str(row, "at"), cli_str(row, "name"), json_is_object(waits) ? " waits for " : "",
                     brick ? "" : cli_str(waits, "what"), *who && !brick ? " of " : "", who, cli_str(row, "process"));
}

static char *
rate_line(const json_t *row)
{
  return gi_asprintf("%9.0f %9.1f %9.1f %8lld  %s%s", number(row, "operations"), number(row, "read_bytes") / 1e6,
                     number(row, "write_bytes") / 1e6, cli_int(row, "inflight"), cli_str(row, "name"),
                     json_is_false(json_object_get(row, "answers")) ? " does not answer" : "");
}

void
top_print(FILE *out, const json_t *top, int width)
{
  size_t i;
  json_t *row;
  bool operations = strcmp(cli_str(top, "by"), "operation") == 0;
  GI_CLEANUP_FREE char *head =
      operations ? gi_asprintf("%9s %-12s %-20s %s", "for", "kind", "at", "object")
                 : gi_asprintf("%9s %9s %9s %8s  %s", "ops/s", "read MB/s", "writ MB/s", "inflight", cli_str(top, "by"));
  put_line(out, head, width);
  json_array_foreach(json_object_get(top, "rows"), i, row)
  {
    GI_CLEANUP_FREE char *line = operations ? operation_line(row) : rate_line(row);
    put_line(out, line, width);
  }
}
