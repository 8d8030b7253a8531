/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations with their trees, as the processes of a volume tell them, and what
 * they are made into. All of it is done with the documents alone.
 *
 * An operation has "id", "kind", "path", …, "start" (ns since the epoch),
 * "took_ns" (null while it hangs) or "age_ns", "process", "waits" and "tree"; a
 * step of the tree has "layer", "type", "kind", "start_ns" (since the operation
 * began), "took_ns", "own_ns", "open", "waited_for", "waits", "remote", "wire_ns"
 * and "steps". Members that are missing or of another type count as none.
 */
#ifndef TRACE_H
#define TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TRACE_DEPTH 64 /* steps below that are left out: nobody made them */

/* A table per operation: when each step began, how long it took, with how much of it its own, and which were waited for. */
void trace_print(FILE *out, const json_t *operations);
/* For ui.perfetto.dev and chrome://tracing: a document of trace events, a process each for the client and every brick. */
json_t *trace_perfetto(const json_t *operations);
/* OpenTelemetry's ExportTraceServiceRequest in its JSON form: a resource per process, a span for the operation and for each step. */
json_t *trace_otlp(const json_t *operations);

/* ---- what they share: trace.c ---- */

/* The number of a member; 0 if there is none, or it is negative. */
uint64_t trace_ns(const json_t *object, const char *member);
const char *trace_str(const json_t *object, const char *member); /* "" if there is none */
/* How long the operation took, or has taken up to now. */
uint64_t trace_op_ns(const json_t *op);
/* The same of a step of it. */
uint64_t trace_step_ns(const json_t *op, const json_t *step);
/* The process in which a step ran, of which the parent ran in `above`; and the one in which what is below it ran. */
const json_t *trace_process(const json_t *step, const json_t *above);
const json_t *trace_process_below(const json_t *step, const json_t *process);
/* "brick host:/path", "client of volume on host", in a buffer of the caller. */
const char *trace_process_name(const json_t *process, char *buf, size_t size);

#endif
