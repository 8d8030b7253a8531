/* SPDX-License-Identifier: Apache-2.0
 *
 * Which operations are kept with their trees: the slow ones of the process, and
 * those that somebody looks for (a trace). A trace is armed, gets what it looks
 * for, and is disarmed by whoever armed it.
 */
#ifndef GI_TRACE_H
#define GI_TRACE_H

#include "libglusterish/seen.h"
#include "libglusterish/tree.h"

struct gi_trace {
  struct gi_list link;
  /* what it looks for; all zero: every operation */
  bool has_pid, has_gfid, has_entry;
  int32_t pid;
  struct gi_gfid gfid;   /* the object; or */
  struct gi_gfid parent; /* with `has_entry`: an entry of this directory, */
  const char *name;      /* of this name; borrowed */
  uint64_t slower_ns;    /* took longer */
  uint32_t one_in;       /* so many; 0 and 1: all */
  uint32_t left;         /* the trace's own */
  /* An operation that is over; the callee takes a reference if it keeps it. It may disarm the trace. */
  void (*got)(struct gi_trace *t, struct gi_told *told);
  void *arg;
};

void gi_trace_arm(struct gi_seen *s, struct gi_trace *t); /* borrowed until it is disarmed */
void gi_trace_disarm(struct gi_seen *s, struct gi_trace *t);
/* Besides: the tree of one operation in so many is collected, so that some of the slow ones have that of their bricks; 0: of none. */
void gi_trace_sample(struct gi_seen *s, uint32_t one_in);

/* For seen.c */
void gi_trace_begin(struct gi_seen *s, struct gi_fop *root); /* it is submitted, and one is due to be looked at */
/* It is over. `slow`: for its kind. */
void gi_trace_end(struct gi_seen *s, struct gi_fop *root, uint64_t took, bool slow);
void gi_trace_free(struct gi_seen *s);

/* Between processes: another one collects this operation, which is not submitted yet. */
void gi_trace_asked(struct gi_fop *fop, const uint8_t id[16]);
/* What it is to be told, the caller's; NULL: nothing. */
struct gi_told *gi_trace_told(struct gi_fop *fop);

#endif
