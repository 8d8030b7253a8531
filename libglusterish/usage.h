/* SPDX-License-Identifier: Apache-2.0
 *
 * What the process uses of the machine, as tables of metrics.
 */
#ifndef GI_USAGE_H
#define GI_USAGE_H

#include "libglusterish/metrics.h"
#include "libglusterish/types.h"

/* bytes; what the allocator does not tell is 0 */
struct gi_memory {
  uint64_t allocated, active, resident, mapped; /* by the allocator */
  uint64_t payload_live, payload_kept;          /* by the pools of payload.h */
};
void gi_memory_look(struct gi_memory *m);
extern const struct gi_metric gi_memory_metrics[]; /* prefix "memory" */

struct gi_usage {
  uint64_t start_time, uptime;   /* since the epoch, s; ns */
  uint64_t cpu_user, cpu_system; /* us */
  uint64_t resident, address_space;
  uint64_t threads, open_fds, fds_limit;
  uint64_t switches_voluntary, switches_involuntary;
  uint64_t payload_copied;
};
/* `started`: when the process began, by the wall clock; `age_ns`: how long ago. */
void gi_usage_look(struct gi_usage *u, struct gi_time started, uint64_t age_ns);
extern const struct gi_metric gi_usage_metrics[]; /* prefix "process" */

#endif
