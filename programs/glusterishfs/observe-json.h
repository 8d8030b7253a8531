/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process knows of its operations, as JSON: times per layer, what is
 * under way, what was slow, the last ones, and trees. All times are
 * nanoseconds; the caller owns what it gets.
 */
#ifndef OBSERVE_JSON_H
#define OBSERVE_JSON_H

#include "libglusterish/trace.h"

#include <jansson.h>

/* Which process tells; borrowed. */
struct ob_self {
  const char *role, *volume, *host, *brick; /* volume and brick may be NULL */
  int pid;
};

json_t *ob_layers_json(const struct gi_graph *g);
#define OB_INFLIGHT_MAX 256u /* told of at a time, the oldest ones; "more" says that there are others */
/* Of each kind what the topmost layers know, as one layer "top". "all" is that of the topmost one that sees replies, with its histogram,
 * "buckets": [[ns, operations], …]: what is in it now and was not a while ago tells of that while. */
json_t *ob_top_json(const struct gi_graph *g);
json_t *ob_inflight_json(const struct gi_graph *g, const struct ob_self *self);
/* Appends what clients have not taken for so long: of each an operation "ANSWER" of as many bytes, which waits for the client. */
void ob_untaken_json(json_t *operations, const struct gi_graph *g, const struct ob_self *self, uint64_t longer_ns);
json_t *ob_slow_json(const struct gi_seen *s, const struct ob_self *self);
/* At most `last` operations, the newest first. */
json_t *ob_recorder_json(const struct gi_graph *g, const struct ob_self *self, uint64_t last);
/* One operation with its tree. */
json_t *ob_told_json(const struct gi_told *t, const struct ob_self *self);

#endif
