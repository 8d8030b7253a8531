/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors with a sentence.
 */
#include "libglusterish/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
gi_error_set(struct gi_error *err, int code, const char *fmt, ...)
{
  if (!err)
    return -1;
  /* The arguments may point into err->text: format beside it first. */
  char text[sizeof(err->text)];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  err->code = code;
  memcpy(err->text, text, sizeof(text));
  return -1;
}

void
gi_error_prefix(struct gi_error *err, const char *fmt, ...)
{
  if (!err)
    return;
  char text[sizeof(err->text)];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  if (n < 0 || (size_t)n >= sizeof(text))
    n = sizeof(text) - 1;
  snprintf(text + n, sizeof(text) - (size_t)n, ": %s", err->text);
  memcpy(err->text, text, sizeof(text));
}
