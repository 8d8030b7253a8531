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

/* A bug on purpose, to see whether the simulator finds it (tests/simulation/broken.t): false, but in a run that names it. Costs one
 * branch on a variable that is never written; stands where that does not matter. Listed among the marks. */
#define GI_BROKEN_PREFIX "broken: "
#define GI_BROKEN(text) (__builtin_expect(gi_broken != NULL, 0) && gi_broken_is(text) && GI_BROKEN_MARK_(text))
#define GI_BROKEN_MARK_(text) \
  ({ \
    GI_MARK(GI_BROKEN_PREFIX text); \
    true; \
  })
extern const char *gi_broken; /* which one; only the simulator sets it, before any graph is built */
bool gi_broken_is(const char *text);

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

#endif
