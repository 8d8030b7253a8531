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
  char text[2 * sizeof(err->text) + 4];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(err->text), fmt, ap);
  va_end(ap);
  size_t n = strlen(text);
  snprintf(text + n, sizeof(text) - n, ": %s", err->text);
  text[sizeof(err->text) - 1] = '\0';
  memcpy(err->text, text, sizeof(err->text));
}
