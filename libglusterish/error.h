/* SPDX-License-Identifier: Apache-2.0
 *
 * An error that explains itself: an errno for programs and a sentence for
 * people. Callers own the struct (usually on the stack) and may pass NULL.
 * CONTRIBUTING.md says how functions fail.
 */
#ifndef GI_ERROR_H
#define GI_ERROR_H

/* On the declaration of a function that can fail: the compiler warns where its result is ignored. */
#define GI_MUST_CHECK __attribute__((warn_unused_result))
/* A result that does not matter. */
#define GI_IGNORE(call) ((void)!(call))

struct gi_error {
  int code; /* errno; 0 = no error */
  char text[512];
};

/* Sets code and text (truncated to fit); returns -1 so that `return gi_error_set(...)` works. err NULL is fine. */
int gi_error_set(struct gi_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts "prefix: " in front of the text. */
void gi_error_prefix(struct gi_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
