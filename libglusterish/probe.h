/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes in branches that are rarely taken: a race won by the other side, a
 * second attempt, an answer nobody waits for any more. A test run tells how
 * often each was reached and, more to the point, which never were.
 *
 *   if (call == NULL) {
 *     GI_PROBE("rpc client: answer to a call that is no more");
 *     …
 *
 * A probe costs one addition when it is reached and nothing otherwise. Its name
 * begins with the module and says what happened.
 */
#ifndef GI_PROBE_H
#define GI_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gi_probe {
  const char *name;
  uint64_t hits;
};

/* Every shared object has a section of pointers to its probes, and tells the core where it is when it is loaded. */
#define GI_PROBE(text) \
  do { \
    static struct gi_probe gi_probe_ = {text, 0}; \
    static struct gi_probe *const gi_probe_entry_ __attribute__((section("gi_probes"), used)) = &gi_probe_; \
    __atomic_fetch_add(&gi_probe_.hits, 1, __ATOMIC_RELAXED); \
  } while (0)

/* Calls fn for each probe of every object loaded, sorted by name. Probes of one name in several places come one after the other. */
void gi_probes_foreach(void (*fn)(const struct gi_probe *m, void *arg), void *arg);
void gi_probes_clear(void); /* all hits to 0 */

/* Idempotent. */
void gi_probes_register(struct gi_probe *const *begin, struct gi_probe *const *end);

extern struct gi_probe *const __start_gi_probes[] __attribute__((weak, visibility("hidden")));
extern struct gi_probe *const __stop_gi_probes[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor)) static void
gi_probes_of_this_object(void)
{
  gi_probes_register(__start_gi_probes, __stop_gi_probes);
}

#include "libglusterish/mutants.h"

#endif
