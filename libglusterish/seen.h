/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process knows of its operations: which are under way
 * (gi_graph.flight), the last ones (recorder.h), how long they stay in each
 * layer (times.h). It begins with the process's first graph and outlives those
 * that are replaced.
 */
#ifndef GI_SEEN_H
#define GI_SEEN_H

#include "libglusterish/graph.h"
#include "libglusterish/recorder.h"
#include "libglusterish/times.h"

#define GI_SLOW_KEPT 64u

/* Of one kind of operation. Ticks. */
struct gi_seen_kind {
  uint64_t slow;         /* longer than this is long for its kind */
  uint32_t left, stride; /* operations until the next one is taken apart; what that one counts for */
  uint32_t share;        /* one in so many is, about */
  uint32_t learnt;       /* taken apart since enough are known to tell what is slow */
  uint64_t last;         /* when one was */
  struct gi_hist *took;  /* ns; NULL before the first */
};

struct gi_seen {
  uint32_t refs;
  uint8_t graphs; /* that were made */
  bool off;       /* nothing is noted of operations that are submitted from now on: to measure what it costs */
  struct gi_reactor *reactor;
  uint64_t operations; /* the number of the newest */
  uint64_t unmarked;   /* operations that passed more borders than are noted */
  uint32_t chance;
  uint64_t every;        /* ticks: one of a kind is taken apart in so long, of a kind that comes often */
  uint32_t until_sample; /* operations until the next one that trace.c looks at */
  uint32_t sample;       /* one in so many is collected; 0: none */
  struct gi_list traces; /* struct gi_trace: armed */
  struct gi_list slow;   /* struct gi_told: the last ones that took long for their kind, oldest first */
  unsigned nslow;
  uint64_t kept;                           /* ticks: when the last one was */
  struct gi_seen_kind kind[2][GI_FOP_MAX]; /* of operations, and of those on behalf of one */
  struct gi_recorder recorder;
};

/* The process's, with a reference; made if there is none. */
struct gi_seen *gi_seen_get(struct gi_ctx *ctx);
void gi_seen_put(struct gi_ctx *ctx);

void gi_seen_dump(const struct gi_graph *g, struct gi_dump *d);

#endif
