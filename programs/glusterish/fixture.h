/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the live commands: documents written with ' for ".
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "programs/common/request.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static inline json_t *
fixture(const char *text)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(text);
  json_error_t e;
  for (char *c = copy; *c; c++)
    *c = *c == '\'' ? '"' : *c;
  json_t *doc = json_loads(copy, 0, &e);
  if (!doc)
    fail_msg("line %d column %d: %s", e.line, e.column, e.text);
  return doc;
}

/* What a function prints, without the terminating newline's worth of care. Free with free(). */
#define FIXTURE_PRINTED(text, call) \
  do { \
    size_t size_ = 0; \
    FILE *out = open_memstream(&(text), &size_); \
    call; \
    fclose(out); \
  } while (0)

#endif
