/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations as trace events (the JSON form that Perfetto and Chrome read).
 * Events of one track must nest, and copies are written side by side: a step
 * stays on the track of its parent unless one of its siblings is there at the
 * same time, and takes the first track of its process that is free then.
 */
#include "programs/glusterish/trace.h"
#include "libglusterish/mem.h"

#include <string.h>

struct span {
  uint64_t from, to;
};

/* A row of one process. */
struct track {
  struct span *busy; /* what does not nest */
  size_t n, room;
};

struct process {
  const json_t *about;
  struct track *track; /* number 1 is track[0] */
  size_t n;
};

struct events {
  json_t *list;
  uint64_t base; /* ns since the epoch: the moment 0 of the document */
  struct process *process;
  size_t n;
  unsigned flows;
};

struct place {
  size_t process, track;
  struct span span;
};

static size_t
process_of(struct events *e, const json_t *about)
{
  static const char *const same[] = {"role", "volume", "brick", "host"};
  for (size_t i = 0; i < e->n; i++) {
    bool is =
        json_integer_value(json_object_get(e->process[i].about, "pid")) == json_integer_value(json_object_get(about, "pid"));
    for (size_t k = 0; k < GI_ARRAY_LEN(same); k++)
      is = is && strcmp(trace_str(e->process[i].about, same[k]), trace_str(about, same[k])) == 0;
    if (is)
      return i;
  }
  e->process = gi_realloc(e->process, (e->n + 1) * sizeof(*e->process));
  e->process[e->n] = (struct process){.about = about};
  return e->n++;
}

static bool
is_free(const struct track *t, const struct span *s)
{
  for (size_t i = 0; i < t->n; i++)
    if (t->busy[i].from < s->to && s->from < t->busy[i].to)
      return false;
  return true;
}

static size_t
take_track(struct process *p, const struct span *s)
{
  size_t i = 0;
  while (i < p->n && !is_free(&p->track[i], s))
    i++;
  if (i == p->n) {
    p->track = gi_realloc(p->track, (p->n + 1) * sizeof(*p->track));
    p->track[p->n++] = (struct track){0};
  }
  struct track *t = &p->track[i];
  if (t->n == t->room) {
    t->room = t->room ? t->room * 2 : 8;
    t->busy = gi_realloc(t->busy, t->room * sizeof(*t->busy));
  }
  t->busy[t->n++] = *s;
  return i;
}

static double
micros(const struct events *e, uint64_t ns)
{
  return ns > e->base ? (double)(ns - e->base) / 1e3 : 0;
}

static json_t *
event(struct events *e, const char *phase, const char *name, const struct place *at)
{
  json_t *ev =
      json_pack("{s:s, s:s, s:i, s:i}", "ph", phase, "name", name, "pid", (int)at->process + 1, "tid", (int)at->track + 1);
  GI_ASSERT(ev != NULL);
  json_array_append_new(e->list, ev);
  return ev;
}

static void
add_complete(struct events *e, const char *name, const char *category, const struct place *at, json_t *args)
{
  json_t *ev = event(e, "X", name, at);
  json_object_set_new(ev, "cat", json_string(category));
  json_object_set_new(ev, "ts", json_real(micros(e, at->span.from)));
  json_object_set_new(ev, "dur", json_real((double)(at->span.to - at->span.from) / 1e3));
  json_object_set_new(ev, "args", args);
}

/* An arrow from a step to what it had done elsewhere. */
static void
add_flow(struct events *e, const struct place *from, const struct place *to)
{
  json_t *out = event(e, "s", "call", from), *in = event(e, "f", "call", to);
  e->flows++;
  json_object_set_new(out, "cat", json_string("wire"));
  json_object_set_new(out, "id", json_integer(e->flows));
  json_object_set_new(out, "ts", json_real(micros(e, from->span.from)));
  json_object_set_new(in, "cat", json_string("wire"));
  json_object_set_new(in, "id", json_integer(e->flows));
  json_object_set_new(in, "bp", json_string("e"));
  json_object_set_new(in, "ts", json_real(micros(e, to->span.from)));
}

static json_t *
step_args(const json_t *step)
{
  static const char *const members[] = {"type", "kind", "own_ns", "open", "waited_for", "wire_ns", "waits"};
  json_t *args = json_object();
  for (size_t i = 0; i < GI_ARRAY_LEN(members); i++) {
    json_t *v = json_object_get(step, members[i]);
    if (v && !json_is_null(v))
      json_object_set(args, members[i], v);
  }
  return args;
}

/* `track_end` is when the parent's track is free for the next of its steps. */
static void
add_step(struct events *e, const json_t *op, const json_t *step, const json_t *above, const struct place *parent,
         uint64_t *track_end, unsigned depth)
{
  const json_t *about = trace_process(step, above);
  struct place at = {.process = process_of(e, about), .track = parent->track};
  size_t i;
  json_t *below;
  at.span.from = trace_ns(op, "start") + trace_ns(step, "start_ns");
  at.span.to = at.span.from + trace_step_ns(op, step);
  if (at.process == parent->process && at.span.from >= *track_end && at.span.to <= parent->span.to)
    *track_end = at.span.to;
  else
    at.track = take_track(&e->process[at.process], &at.span);
  add_complete(e, trace_str(step, "layer"), trace_str(step, "type"), &at, step_args(step));
  if (at.process != parent->process)
    add_flow(e, parent, &at);
  uint64_t own_end = at.span.from;
  if (depth + 1 < TRACE_DEPTH)
    json_array_foreach(json_object_get(step, "steps"), i, below)
        add_step(e, op, below, trace_process_below(step, about), &at, &own_end, depth + 1);
}

static void
add_operation(struct events *e, const json_t *op)
{
  const json_t *about = json_object_get(op, "process");
  struct place at = {.process = process_of(e, about)};
  at.span.from = trace_ns(op, "start");
  at.span.to = at.span.from + trace_op_ns(op);
  at.track = take_track(&e->process[at.process], &at.span);
  GI_CLEANUP_FREE char *name =
      gi_asprintf("%s%s%s", trace_str(op, "kind"), *trace_str(op, "path") ? " " : "", trace_str(op, "path"));
  json_t *args = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "id", trace_str(op, "id"), "gfid", trace_str(op, "gfid"),
                           "pid", json_integer_value(json_object_get(op, "pid")), "uid",
                           json_integer_value(json_object_get(op, "uid")), "error", (json_int_t)trace_ns(op, "error"), "offset",
                           (json_int_t)trace_ns(op, "offset"), "size", (json_int_t)trace_ns(op, "size"));
  add_complete(e, name, "operation", &at, args);
  uint64_t end = at.span.from;
  if (json_is_object(json_object_get(op, "tree")))
    add_step(e, op, json_object_get(op, "tree"), about, &at, &end, 0);
}

static void
add_names(struct events *e)
{
  char text[512];
  for (size_t i = 0; i < e->n; i++) {
    const json_t *about = e->process[i].about;
    snprintf(text, sizeof(text), " (pid %lld)", json_integer_value(json_object_get(about, "pid")));
    GI_CLEANUP_FREE char *pid = gi_strdup(text);
    GI_CLEANUP_FREE char *name = gi_asprintf("%s%s", trace_process_name(about, text, sizeof(text)), pid);
    json_t *ev = event(e, "M", "process_name", &(struct place){.process = i});
    json_object_set_new(ev, "args", json_pack("{s:s}", "name", name));
    ev = event(e, "M", "process_sort_index", &(struct place){.process = i});
    json_object_set_new(ev, "args", json_pack("{s:i}", "sort_index", (int)i));
  }
}

json_t *
trace_perfetto(const json_t *operations)
{
  struct events e = {.list = json_array(), .base = UINT64_MAX};
  size_t i;
  json_t *op;
  json_array_foreach(operations, i, op) if (trace_ns(op, "start") < e.base) e.base = trace_ns(op, "start");
  e.base = e.base == UINT64_MAX ? 0 : e.base;
  json_array_foreach(operations, i, op) add_operation(&e, op);
  add_names(&e);
  for (size_t p = 0; p < e.n; p++) {
    for (size_t t = 0; t < e.process[p].n; t++)
      gi_free(e.process[p].track[t].busy);
    gi_free(e.process[p].track);
  }
  gi_free(e.process);
  GI_CLEANUP_FREE char *start = gi_asprintf("%llu", (unsigned long long)e.base);
  return json_pack("{s:o, s:s, s:{s:s, s:s}}", "traceEvents", e.list, "displayTimeUnit", "ns", "otherData", "start_unix_ns",
                   start, "producer", "glusterish " GI_VERSION);
}
