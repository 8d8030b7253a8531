/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as a Chrome trace (chrome://tracing, Perfetto): simulated processes as
 * processes, operations as spans, messages, faults and marks as instants. All
 * calls do nothing when no trace is written.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "tests/simulation/world/world.h"

/* Begins to write `path`; 0 or -errno. */
int sim_trace_open(struct sim_world *w, const char *path);
void sim_trace_close(struct sim_world *w);
void sim_trace_process(struct sim_world *w, unsigned pid, const char *name);
/* An instant; `r` NULL: the world's own (pid 0). */
void sim_trace_mark(struct sim_world *w, const struct sim_reactor *r, const char *category, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A span on the process of `r`, told apart from others of it by `id`. */
void sim_trace_begin(struct sim_world *w, const struct sim_reactor *r, const char *name, uint64_t id);
void sim_trace_end(struct sim_world *w, const struct sim_reactor *r, const char *name, uint64_t id, const char *result);

#endif
