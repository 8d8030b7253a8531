/* SPDX-License-Identifier: Apache-2.0
 *
 * Bugs on purpose, to see whether the simulator finds them
 * (tests/simulation/broken.t). Only a build that is configured with
 * --enable-mutants has them; in any other the condition is false when it is
 * compiled, and nothing of the bug is left.
 *
 *   if (!GI_BROKEN("skip the post-op"))
 *     send_post_op(t);
 */
#ifndef GI_MUTANTS_H
#define GI_MUTANTS_H

#include "libglusterish/probe.h"

#define GI_BROKEN_PREFIX "broken: "

#ifdef GI_MUTANTS
/* False, but in a run that names it. Costs one branch on a variable that is never written. Listed among the probes. */
#define GI_BROKEN(text) (__builtin_expect(gi_broken != NULL, 0) && gi_broken_is(text) && GI_BROKEN_PROBE_(text))
#define GI_BROKEN_PROBE_(text) \
  ({ \
    GI_PROBE(GI_BROKEN_PREFIX text); \
    true; \
  })
#else
#define GI_BROKEN(text) false
#endif

extern const char *gi_broken; /* which one; only the simulator sets it, before any graph is built */
bool gi_broken_is(const char *text);

#endif
