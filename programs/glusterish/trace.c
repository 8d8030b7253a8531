/* SPDX-License-Identifier: Apache-2.0
 *
 * What all forms of a trace share: members of operations and steps.
 */
#include "programs/glusterish/trace.h"
#include "libglusterish/mem.h"

#include <string.h>

uint64_t
trace_ns(const json_t *object, const char *member)
{
  json_int_t n = json_integer_value(json_object_get(object, member));
  return n > 0 ? (uint64_t)n : 0;
}

const char *
trace_str(const json_t *object, const char *member)
{
  const char *s = json_string_value(json_object_get(object, member));
  return s ? s : "";
}

uint64_t
trace_op_ns(const json_t *op)
{
  return json_is_integer(json_object_get(op, "took_ns")) ? trace_ns(op, "took_ns") : trace_ns(op, "age_ns");
}

uint64_t
trace_step_ns(const json_t *op, const json_t *step)
{
  uint64_t start = trace_ns(step, "start_ns"), all = trace_op_ns(op);
  if (json_is_integer(json_object_get(step, "took_ns")) || !json_is_true(json_object_get(step, "open")))
    return trace_ns(step, "took_ns");
  return all > start ? all - start : 0;
}

/* The step of protocol/client is the client's: it is what is below that runs elsewhere. */
static bool
calls_away(const json_t *step)
{
  return strcmp(trace_str(step, "type"), "protocol/client") == 0;
}

const json_t *
trace_process(const json_t *step, const json_t *above)
{
  const json_t *remote = json_object_get(step, "remote");
  return json_is_object(remote) && !calls_away(step) ? remote : above;
}

const json_t *
trace_process_below(const json_t *step, const json_t *process)
{
  const json_t *remote = json_object_get(step, "remote");
  return json_is_object(remote) ? remote : process;
}

const char *
trace_process_name(const json_t *process, char *buf, size_t size)
{
  const char *role = trace_str(process, "role"), *host = trace_str(process, "host"), *volume = trace_str(process, "volume");
  GI_ASSERT(size > 0);
  if (*trace_str(process, "brick"))
    snprintf(buf, size, "brick %s%s%s", host, *host ? ":" : "", trace_str(process, "brick"));
  else
    snprintf(buf, size, "%s%s%s%s%s", *role ? role : "process", *volume ? " of " : "", volume, *host ? " on " : "", host);
  return buf;
}
