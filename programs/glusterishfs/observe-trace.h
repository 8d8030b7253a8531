/* SPDX-License-Identifier: Apache-2.0
 *
 * One question for the next operations of some kind: it arms a trace, collects
 * what the trace gets, and tells when it has enough or time is over.
 */
#ifndef OBSERVE_TRACE_H
#define OBSERVE_TRACE_H

#include "programs/glusterishfs/observe-json.h"

struct ob_trace_filter {
  unsigned count;             /* at most so many; at least 1 */
  uint64_t for_ns, slower_ns; /* so long; only what took longer */
  uint64_t hanging_ns;        /* 0, or also what is under way for longer when time is over */
  uint32_t one_in;            /* of so many; 0 as 1 */
  bool has_pid;
  int32_t pid;
  const char *path; /* of an object of the volume, absolute; NULL: any. Copied */
};

struct ob_trace;
/* Calls done(arg, operations, 0 or an errno: the path leads nowhere) exactly once, later; `operations` is {"operations": […]}, the callee's
 * (NULL with an errno), and the trace is gone then. */
typedef void ob_trace_done(void *arg, json_t *operations, int err);
struct ob_trace *ob_trace_start(struct gi_graph *g, const struct ob_self *self, const struct ob_trace_filter *f,
                                ob_trace_done *done, void *arg);
void ob_trace_end(struct ob_trace *t); /* now, with what there is */

#endif
