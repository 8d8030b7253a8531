/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations as spans of OpenTelemetry: the JSON form of
 * ExportTraceServiceRequest, as OTLP/HTTP takes it. Each process is a resource;
 * the operation is the root span, each step one below it. Ids of spans are made
 * of the operation's id and the number of the step, so the same operation
 * exported twice is the same spans. 64-bit numbers are text in that form.
 */
#include "programs/glusterish/trace.h"
#include "libglusterish/mem.h"

#include <string.h>

enum { KIND_INTERNAL = 1, KIND_SERVER = 2, KIND_CLIENT = 3 }; /* SpanKind */
enum { STATUS_ERROR = 2 };                                    /* StatusCode */

struct resource {
  const json_t *about;
  json_t *spans; /* borrowed from the document */
};

struct request {
  json_t *list; /* "resourceSpans" */
  struct resource *resource;
  size_t n;
  unsigned number; /* of the span, in its operation */
  char trace_id[33];
};

/* ---- attributes ---- */

static void
add_attribute(json_t *list, const char *key, json_t *value)
{
  json_t *a = json_pack("{s:s, s:o}", "key", key, "value", value);
  if (a)
    json_array_append_new(list, a);
}

static void
add_text(json_t *list, const char *key, const char *text)
{
  if (*text)
    add_attribute(list, key, json_pack("{s:s}", "stringValue", text));
}

static void
add_number(json_t *list, const char *key, const json_t *object, const char *member)
{
  char text[32];
  if (!json_is_integer(json_object_get(object, member)))
    return;
  snprintf(text, sizeof(text), "%lld", json_integer_value(json_object_get(object, member)));
  add_attribute(list, key, json_pack("{s:s}", "intValue", text));
}

static void
add_bool(json_t *list, const char *key, const json_t *object, const char *member)
{
  if (json_is_true(json_object_get(object, member)))
    add_attribute(list, key, json_pack("{s:b}", "boolValue", 1));
}

static void
add_waits(json_t *list, const json_t *waits)
{
  add_text(list, "glusterish.waits.for", trace_str(waits, "for"));
  add_text(list, "glusterish.waits.what", trace_str(waits, "what"));
  add_text(list, "glusterish.waits.who", trace_str(waits, "who"));
}

/* ---- resources ---- */

static json_t *
resource_attributes(const json_t *about)
{
  char name[512];
  json_t *list = json_array();
  GI_CLEANUP_FREE char *service =
      gi_asprintf("glusterish-%s", *trace_str(about, "role") ? trace_str(about, "role") : "process");
  add_text(list, "service.name", service);
  add_text(list, "service.namespace", trace_str(about, "volume"));
  add_text(list, "service.instance.id", trace_process_name(about, name, sizeof(name)));
  add_text(list, "service.version", GI_VERSION);
  add_text(list, "host.name", trace_str(about, "host"));
  add_number(list, "process.pid", about, "pid");
  add_text(list, "glusterish.brick", trace_str(about, "brick"));
  return list;
}

static bool
same_process(const json_t *a, const json_t *b)
{
  static const char *const same[] = {"role", "volume", "brick", "host"};
  for (size_t i = 0; i < GI_ARRAY_LEN(same); i++)
    if (strcmp(trace_str(a, same[i]), trace_str(b, same[i])) != 0)
      return false;
  return json_integer_value(json_object_get(a, "pid")) == json_integer_value(json_object_get(b, "pid"));
}

static json_t *
spans_of(struct request *r, const json_t *about)
{
  for (size_t i = 0; i < r->n; i++)
    if (same_process(r->resource[i].about, about))
      return r->resource[i].spans;
  json_t *spans = json_array();
  json_array_append_new(r->list,
                        json_pack("{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}", "resource", "attributes", resource_attributes(about),
                                  "scopeSpans", "scope", "name", "glusterish", "version", GI_VERSION, "spans", spans));
  r->resource = gi_realloc(r->resource, (r->n + 1) * sizeof(*r->resource));
  r->resource[r->n++] = (struct resource){.about = about, .spans = spans};
  return spans;
}

/* ---- spans ---- */

/* FNV-1a; never 0, which is no id. */
static uint64_t
hash(const char *text, unsigned number)
{
  uint64_t h = 0xcbf29ce484222325;
  for (; *text; text++)
    h = (h ^ (unsigned char)*text) * 0x100000001b3;
  for (unsigned i = 0; i < 4; i++)
    h = (h ^ (number >> 8 * i & 0xff)) * 0x100000001b3;
  return h ? h : 1;
}

/* The operation's id is one of W3C as it is; should it be none, one is made of it. */
static void
take_id(struct request *r, const json_t *op)
{
  const char *id = trace_str(op, "id");
  if (strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32 && strspn(id, "0") < 32)
    snprintf(r->trace_id, sizeof(r->trace_id), "%s", id);
  else
    snprintf(r->trace_id, sizeof(r->trace_id), "%016llx%016llx", (unsigned long long)hash(id, 1),
             (unsigned long long)hash(id, 2));
  r->number = 0;
}

/* Adds a span and returns it; its id, also put into `id`, is of the next number. */
static json_t *
add_span(struct request *r, const json_t *about, const char *parent, char id[17], int kind, uint64_t from, uint64_t ns)
{
  char start[32], end[32];
  snprintf(id, 17, "%016llx", (unsigned long long)hash(r->trace_id, r->number++));
  snprintf(start, sizeof(start), "%llu", (unsigned long long)from);
  snprintf(end, sizeof(end), "%llu", (unsigned long long)(from + ns));
  json_t *span = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:[]}", "traceId", r->trace_id, "spanId", id, "parentSpanId", parent,
                           "kind", kind, "startTimeUnixNano", start, "endTimeUnixNano", end, "attributes");
  GI_ASSERT(span != NULL);
  json_array_append_new(spans_of(r, about), span);
  return span;
}

static void
name_span(json_t *span, const char *first, const char *second)
{
  GI_CLEANUP_FREE char *name = gi_asprintf("%s%s%s", first, *first && *second ? " " : "", second);
  json_object_set_new(span, "name", json_string(*name ? name : "operation"));
}

/* `above`: the process of what it is below, as that step says; `caller`: the one the step above ran in. */
static void
add_step(struct request *r, const json_t *op, const json_t *step, const json_t *above, const json_t *caller, const char *parent,
         unsigned depth)
{
  const json_t *about = trace_process(step, above);
  bool calls = strcmp(trace_str(step, "type"), "protocol/client") == 0;
  char id[17];
  size_t i;
  json_t *below;
  int kind = !same_process(about, caller) ? KIND_SERVER : calls ? KIND_CLIENT : KIND_INTERNAL;
  json_t *span =
      add_span(r, about, parent, id, kind, trace_ns(op, "start") + trace_ns(step, "start_ns"), trace_step_ns(op, step));
  json_t *attributes = json_object_get(span, "attributes");
  name_span(span, trace_str(step, "type"), trace_str(step, "kind"));
  add_text(attributes, "glusterish.layer", trace_str(step, "layer"));
  add_number(attributes, "glusterish.own_ns", step, "own_ns");
  add_number(attributes, "glusterish.wire_ns", step, "wire_ns");
  add_bool(attributes, "glusterish.waited_for", step, "waited_for");
  add_bool(attributes, "glusterish.open", step, "open");
  add_waits(attributes, json_object_get(step, "waits"));
  if (depth + 1 < TRACE_DEPTH)
    json_array_foreach(json_object_get(step, "steps"), i, below)
        add_step(r, op, below, trace_process_below(step, about), about, id, depth + 1);
}

static void
add_operation(struct request *r, const json_t *op)
{
  const json_t *about = json_object_get(op, "process"), *tree = json_object_get(op, "tree");
  uint64_t error = trace_ns(op, "error");
  char id[17];
  take_id(r, op);
  json_t *span = add_span(r, about, "", id, KIND_INTERNAL, trace_ns(op, "start"), trace_op_ns(op));
  json_t *attributes = json_object_get(span, "attributes");
  name_span(span, trace_str(op, "kind"), "");
  add_text(attributes, "glusterish.path", trace_str(op, "path"));
  add_text(attributes, "glusterish.gfid", trace_str(op, "gfid"));
  add_text(attributes, "glusterish.name", trace_str(op, "name"));
  add_number(attributes, "glusterish.pid", op, "pid");
  add_number(attributes, "glusterish.uid", op, "uid");
  add_number(attributes, "glusterish.offset", op, "offset");
  add_number(attributes, "glusterish.size", op, "size");
  add_text(attributes, "glusterish.at", trace_str(op, "at"));
  add_waits(attributes, json_object_get(op, "waits"));
  if (error)
    json_object_set_new(span, "status", json_pack("{s:i, s:s}", "code", STATUS_ERROR, "message", strerror((int)error)));
  if (json_is_object(tree))
    add_step(r, op, tree, about, about, id, 0);
}

json_t *
trace_otlp(const json_t *operations)
{
  struct request r = {.list = json_array()};
  size_t i;
  json_t *op;
  json_array_foreach(operations, i, op) add_operation(&r, op);
  gi_free(r.resource);
  return json_pack("{s:o}", "resourceSpans", r.list);
}
