/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that a translator holds until something has come, and then looks
 * at again: READs that wait for one that is on its way already, for instance.
 *
 * What they wait for has a list of them (gi_fop.link). They are looked at from the
 * reactor, after the handler that had them come, so answers do not nest. All
 * give up when they are cancelled, and draining ends when none is left.
 *
 * In the translator's bytes of each operation a struct gi_held comes first.
 */
#ifndef GI_HOLD_H
#define GI_HOLD_H

#include "libglusterish/xlator.h"

struct gi_held {
  bool waiting; /* on a list now */
  bool resumed; /* has been, and is looked at again */
};

/* One for a translator, in its private state. */
struct gi_hold {
  struct gi_xlator *x;
  gi_fop_fn *again;
  struct gi_list ready; /* about to be looked at */
  struct gi_defer serve;
  uint64_t count; /* that wait */
  void (*drained)(struct gi_xlator *x);
};

/* `again` is the handler that is asked for an operation that waited; it may hold it once more. */
void gi_hold_init(struct gi_hold *h, struct gi_xlator *x, gi_fop_fn *again);
void gi_hold_finish(struct gi_hold *h); /* none waits */

/* The operation waits in `line`: `return gi_hold_wait(…);` from a handler. */
enum gi_verdict gi_hold_wait(struct gi_hold *h, struct gi_list *line, struct gi_fop *fop);
/* What they waited for has come, or never will. `line` is empty then. */
void gi_hold_end(struct gi_hold *h, struct gi_list *line);
/* For GI_EVENT_CANCEL: if it waits here it is answered EINTR. */
void gi_hold_cancel(struct gi_hold *h, struct gi_fop *fop);
/* For `.drain`: calls done(x) when none waits, from here or later. What they wait for has to come, or gi_hold_end be called for it. */
void gi_hold_drain(struct gi_hold *h, void (*done)(struct gi_xlator *x));

#endif
