/* SPDX-License-Identifier: Apache-2.0
 *
 * For how long bricks tell of changes: the question of every cache that would
 * keep something for longer than a moment.
 *
 * A brick with features/upcall promises: whoever asks for an object is told, for
 * so many seconds from when it asked, of everything that others change there. A
 * promise is worth something only if every brick below gives one, for any of them
 * may be where the change is made. It ends with the connection; GI_EVENT_CHILD_UP,
 * _DOWN and _CHANGED say that, as ever, and GI_EVENT_PROMISE that it changed
 * otherwise: what is kept then is to be forgotten, as after those.
 *
 * A strict brick also answers no change before whoever was told of it has said
 * that he has taken it in, or a third of the promise has passed. We count that
 * third from when we asked, it counts from when it told: so ours is over first.
 */
#ifndef GI_PROMISE_H
#define GI_PROMISE_H

#include "libglusterish/graph.h"

#define GI_PROMISE_PARTS 3 /* of a promise one is used: what is kept may come from a cache that has kept it as long */

/* The translator, at the bottom of a graph, stands for a brick that promises that. Raises GI_EVENT_PROMISE from there if the graph's
 * answer changes by that. */
void gi_promise_made(struct gi_xlator *x, struct gi_promised p);
/* Counts anew after the translators of a graph were connected in another way. */
void gi_promise_count(struct gi_graph *g);

/* For so many seconds, from when an operation on an object was submitted, everything that others do to the object is told by
 * GI_EVENT_INVALIDATE; 0 = somebody below does not tell. */
static inline uint32_t
gi_promise(const struct gi_graph *g)
{
  return g->promise;
}

/* For so many nanoseconds, from when all bricks were asked, what they answered may be taken for what they would answer if they were asked
 * again, unless one of them tells or a promise ends. 0: it may not, some brick does not wait for us. */
static inline uint64_t
gi_promise_lease(const struct gi_graph *g)
{
  return g->strict ? (uint64_t)g->promise * GI_NSEC_PER_SEC / GI_PROMISE_PARTS : 0;
}

/* What is left of `life` of what was asked for then, ns. It counts from the question: the answer may have been long on its way. A question
 * is dated by a finer clock than now is: it may seem to be still to come. */
static inline uint64_t
gi_promise_left(uint64_t life, uint64_t asked, uint64_t now)
{
  uint64_t age = asked < now ? now - asked : 0;

  return age < life ? life - age : 0;
}

/* How long, in nanoseconds from when it was asked for, what somebody would keep for `want` may be kept: that long, but at most a third
 * of what is promised, for it may come from another cache below that has kept it as long, and answers take their time; and at most
 * `unsaid` if nothing is promised. */
static inline uint64_t
gi_promise_life(const struct gi_graph *g, uint64_t want, uint64_t unsaid)
{
  uint64_t most = (uint64_t)g->promise * GI_NSEC_PER_SEC / GI_PROMISE_PARTS;
  if (most < unsaid)
    most = unsaid;
  return want < most ? want : most;
}

/* Bricks of GlusterFS promise nothing: `told` and `told_for` of the translator's options say whether they tell, and for how long. */
#define GI_OPTIONS_TOLD(options, so) \
  {.name = "cache-invalidation", \
   .key = "features.cache-invalidation", \
   .type = GI_OPT_BOOL, \
   .offset = offsetof(struct options, told), \
   .live = true, \
   .since = "0.1", \
   .def = "off", \
   .level = 1, \
   .op_version = 30700, \
   .side = GI_SIDE_CLIENT, \
   .text = "The bricks of GlusterFS below tell what others change" so ". Bricks of this project say so themselves."}, \
  { \
    .name = "cache-invalidation-timeout", .key = "features.cache-invalidation-timeout", .type = GI_OPT_INT, \
    .offset = offsetof(struct options, told_for), .live = true, .since = "0.1", .def = "60", .min = 1, .max = 86400, \
    .level = 1, .op_version = 30700, .side = GI_SIDE_CLIENT, \
    .text = "Seconds after its last operation on a file for which bricks tell a client of it." \
  }

#endif
