/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether system calls that the reactor makes by itself wait for the disk.
 *
 * Such calls end in microseconds while the disk keeps up. When it does not, whoever
 * makes them gives them to workers, so that others are served: for ten times as long
 * as the call took, twice as long each time that follows soon, a second at most. A call
 * that is merely long may have waited for its processor on a busy machine, where a
 * hand-over would make things worse. So a long call only makes its kind suspect,
 * and a suspect kind becomes slow when a call is long without such waits.
 *
 *   struct gi_stall_call c = gi_stall_begin(&mine->stall, r);
 *   … system calls …
 *   gi_stall_end(&mine->stall, r, &c);
 */
#ifndef GI_STALL_H
#define GI_STALL_H

#include "libglusterish/reactor.h"

/* One for each kind of calls. All zero: nothing was long yet. */
struct gi_stall {
  uint64_t slow_until, suspect_until; /* gi_now_about */
  uint64_t period;                    /* ns for which it was slow the last time */
};

struct gi_stall_call {
  uint64_t start;  /* gi_now_about */
  uint64_t queued; /* ns that this thread had waited for its processor; of a suspect only */
};

enum gi_stall_kind { GI_STALL_NONE, GI_STALL_LONG, GI_STALL_SLOW };

static inline bool
gi_stall_is_slow(const struct gi_stall *s, struct gi_reactor *r)
{
  return s->slow_until && gi_now_about(r) < s->slow_until;
}

struct gi_stall_call gi_stall_begin(const struct gi_stall *s, struct gi_reactor *r);
/* GI_STALL_LONG: more than 5 ms; GI_STALL_SLOW: it is slow from now on. */
enum gi_stall_kind gi_stall_end(struct gi_stall *s, struct gi_reactor *r, const struct gi_stall_call *c);

#endif
