/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations as text, a table each:
 *
 *   WRITE /a/b took 4.213 ms: 4096 bytes at 0, pid 4711, uid 0
 *   4bf92f3577b34da6a3ce929d0e0e4736 of client of data on node1, 2026-11-26 00:33:45.204059 UTC
 *         start        took         own   share
 *          0 ns    4.213 ms     12.0 us   0.3 %  * data-fuse (mount/fuse)
 *       12.0 us    4.201 ms      8.0 us   0.2 %  *   data-replicate-0 (cluster/replicate)
 */
#include "programs/glusterish/trace.h"
#include "libglusterish/mem.h"

#include <string.h>
#include <time.h>

struct table {
  FILE *out;
  const json_t *op;
  uint64_t all;  /* ns of the operation */
  uint64_t path; /* own times of the steps that were waited for */
};

/* Names of files are part of it: control characters do not reach the terminal. */
static void
put_text(FILE *out, const char *text)
{
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f)
      fprintf(out, "\\%03o", c);
    else
      fputc(c, out);
  }
}

static const char *
duration(uint64_t ns, char buf[32])
{
  if (ns < 1000)
    snprintf(buf, 32, "%llu ns", (unsigned long long)ns);
  else if (ns < 1000000)
    snprintf(buf, 32, "%.1f us", (double)ns / 1e3);
  else if (ns < 1000000000)
    snprintf(buf, 32, "%.3f ms", (double)ns / 1e6);
  else
    snprintf(buf, 32, "%.3f s", (double)ns / 1e9);
  return buf;
}

/* "; waits 4.1 s for lock: the write lock of a file, held by WHO" */
static void
print_waits(FILE *out, const json_t *waits, bool still)
{
  char buf[32];
  if (!json_is_object(waits))
    return;
  fprintf(out, still ? "; waits" : "; waited");
  if (json_is_integer(json_object_get(waits, "since_ns")))
    fprintf(out, " %s", duration(trace_ns(waits, "since_ns"), buf));
  fputs(" for ", out);
  put_text(out, trace_str(waits, "for"));
  if (*trace_str(waits, "what")) {
    fputs(": ", out);
    put_text(out, trace_str(waits, "what"));
  }
  if (*trace_str(waits, "who")) {
    fputs(strcmp(trace_str(waits, "for"), "client") == 0 ? ", of " : ", held by ", out);
    put_text(out, trace_str(waits, "who"));
  }
}

static void
print_step(struct table *t, const json_t *step, unsigned depth, bool path)
{
  char start[32], took[32], own[32], name[512], buf[32];
  bool open = json_is_true(json_object_get(step, "open"));
  uint64_t own_ns = trace_ns(step, "own_ns");
  fprintf(t->out, "%12s %11s%s %11s %5.1f %%  %c %*s", duration(trace_ns(step, "start_ns"), start),
          duration(trace_step_ns(t->op, step), took), open ? "+" : " ", duration(own_ns, own),
          t->all ? (double)own_ns * 100 / (double)t->all : 0.0, path ? '*' : ' ', (int)depth * 2, "");
  put_text(t->out, trace_str(step, "layer"));
  if (*trace_str(step, "type") && strcmp(trace_str(step, "type"), trace_str(step, "layer")) != 0)
    fprintf(t->out, " (%s)", trace_str(step, "type"));
  if (*trace_str(step, "kind") && strcmp(trace_str(step, "kind"), trace_str(t->op, "kind")) != 0)
    fprintf(t->out, " %s", trace_str(step, "kind"));
  if (json_is_integer(json_object_get(step, "wire_ns")))
    fprintf(t->out, ", wire %s", duration(trace_ns(step, "wire_ns"), buf));
  if (json_is_object(json_object_get(step, "remote"))) {
    fputs(", ", t->out);
    put_text(t->out, trace_process_name(json_object_get(step, "remote"), name, sizeof(name)));
  }
  print_waits(t->out, json_object_get(step, "waits"), open);
  fputc('\n', t->out);
  if (path)
    t->path += own_ns;
}

static void
print_tree(struct table *t, const json_t *step, unsigned depth, bool path)
{
  size_t i;
  json_t *below;
  print_step(t, step, depth, path);
  if (depth + 1 < TRACE_DEPTH)
    json_array_foreach(json_object_get(step, "steps"), i, below)
        print_tree(t, below, depth + 1, path && json_is_true(json_object_get(below, "waited_for")));
}

static void
print_head(FILE *out, const json_t *op)
{
  char buf[32], name[512];
  bool ended = json_is_integer(json_object_get(op, "took_ns"));
  time_t s = (time_t)(trace_ns(op, "start") / 1000000000);
  struct tm tm;
  const char *object = *trace_str(op, "path") ? trace_str(op, "path") : trace_str(op, "gfid");
  fputs(*trace_str(op, "kind") ? trace_str(op, "kind") : "operation", out);
  if (*object) {
    fputc(' ', out);
    put_text(out, object);
  }
  if (*trace_str(op, "name")) {
    fputs(" name ", out);
    put_text(out, trace_str(op, "name"));
  }
  fprintf(out, " %s %s", ended ? "took" : "hangs for", duration(trace_op_ns(op), buf));
  if (trace_ns(op, "error"))
    fprintf(out, " and failed, %s", strerror((int)trace_ns(op, "error")));
  fputc(':', out);
  if (trace_ns(op, "size"))
    fprintf(out, " %llu bytes at %llu,", (unsigned long long)trace_ns(op, "size"), (unsigned long long)trace_ns(op, "offset"));
  fprintf(out, " pid %lld, uid %lld", json_integer_value(json_object_get(op, "pid")),
          json_integer_value(json_object_get(op, "uid")));
  if (!ended && *trace_str(op, "at")) {
    fputs(", at ", out);
    put_text(out, trace_str(op, "at"));
  }
  print_waits(out, json_object_get(op, "waits"), !ended);
  fprintf(out, "\n%s of ", trace_str(op, "id"));
  put_text(out, trace_process_name(json_object_get(op, "process"), name, sizeof(name)));
  if (gmtime_r(&s, &tm) && strftime(name, sizeof(name), "%Y-%m-%d %H:%M:%S", &tm) > 0)
    fprintf(out, ", %s.%06llu UTC", name, (unsigned long long)(trace_ns(op, "start") / 1000 % 1000000));
  fputc('\n', out);
}

void
trace_print(FILE *out, const json_t *operations)
{
  size_t i;
  json_t *op;
  char buf[32];
  json_array_foreach(operations, i, op)
  {
    struct table t = {.out = out, .op = op, .all = trace_op_ns(op)};
    if (i > 0)
      fputc('\n', out);
    print_head(out, op);
    if (!json_is_object(json_object_get(op, "tree")))
      continue;
    fprintf(out, "%12s %11s  %11s %7s\n", "start", "took", "own", "share");
    print_tree(&t, json_object_get(op, "tree"), 0, true);
    if (json_is_integer(json_object_get(op, "took_ns")))
      fprintf(out, "%12s the own times of the steps waited for (*) sum up to %s, %.1f %%\n", "", duration(t.path, buf),
              t.all ? (double)t.path * 100 / (double)t.all : 0.0);
  }
}
