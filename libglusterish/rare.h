/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks on branches that are rarely taken: a race won by the other side, a
 * second attempt, an answer nobody waits for any more. A test run tells how
 * often each was reached and, more to the point, which never were.
 *
 *   if (call == NULL) {
 *     GI_MARK("rpc client: answer to a call that is no more");
 *     …
 *
 * A mark costs one addition when it is reached and nothing otherwise. Its name
 * begins with the module and says what happened.
 */
#ifndef GI_RARE_H
#define GI_RARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gi_mark {
  const char *name;
  uint64_t hits;
};

/* Every shared object has a section of pointers to its marks, and tells the core where it is when it is loaded. */
#define GI_MARK(text) \
  do { \
    static struct gi_mark gi_mark_ = {text, 0}; \
    static struct gi_mark *const gi_mark_entry_ __attribute__((section("gi_marks"), used)) = &gi_mark_; \
    __atomic_fetch_add(&gi_mark_.hits, 1, __ATOMIC_RELAXED); \
  } while (0)

/* Calls fn for each mark of every object loaded, sorted by name. Marks of one name in several places come one after the other. */
void gi_marks_foreach(void (*fn)(const struct gi_mark *m, void *arg), void *arg);
void gi_marks_clear(void); /* all hits to 0 */

/* Idempotent. */
void gi_marks_register(struct gi_mark *const *begin, struct gi_mark *const *end);

extern struct gi_mark *const __start_gi_marks[] __attribute__((weak, visibility("hidden")));
extern struct gi_mark *const __stop_gi_marks[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor)) static void
gi_marks_of_this_object(void)
{
  gi_marks_register(__start_gi_marks, __stop_gi_marks);
}

#include "libglusterish/mutants.h"

#endif
