/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation that never returns NULL. Whoever asks for a size that comes from
 * outside has bounded it first, so running out here is the end of the process.
 */
#include "libglusterish/mem.h"
#include "libglusterish/log.h"

#include <stdarg.h>
#include <string.h>

_Noreturn void
gi_panic(const char *file, int line, const char *what)
{
  /* stderr first: it works even if the log is what is broken. */
  fprintf(stderr, "glusterish: panic at %s:%d: %s\n", file, line, what);
  gi_log_write(GI_LOG_EMERG, "core", GI_MSG_CORE, file, line, "panic", "%s", what);
  abort();
}

/* No formatting, no log: both may want memory. */
_Noreturn static void
out_of_memory(size_t size)
{
  fprintf(stderr, "glusterish: out of memory allocating %zu bytes\n", size);
  abort();
}

void *
gi_alloc(size_t size)
{
  void *p = malloc(size ? size : 1);
  if (!p)
    out_of_memory(size);
  return p;
}

void *
gi_zalloc(size_t size)
{
  void *p = calloc(1, size ? size : 1);
  if (!p)
    out_of_memory(size);
  return p;
}

void *
gi_realloc(void *p, size_t size)
{
  void *q = realloc(p, size ? size : 1);
  if (!q)
    out_of_memory(size);
  return q;
}

char *
gi_strdup(const char *s)
{
  return s ? gi_strndup(s, strlen(s)) : NULL;
}

char *
gi_strndup(const char *s, size_t len)
{
  size_t n = strnlen(s, len);
  char *copy = gi_alloc(n + 1);
  memcpy(copy, s, n);
  copy[n] = '\0';
  return copy;
}

char *
gi_asprintf(const char *fmt, ...)
{
  va_list ap;
  char *text;
  va_start(ap, fmt);
  int n = vasprintf(&text, fmt, ap);
  va_end(ap);
  if (n < 0)
    out_of_memory(0);
  return text;
}
