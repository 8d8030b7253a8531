/* SPDX-License-Identifier: Apache-2.0
 *
 * Statedump text: one section after the other, an empty line before each.
 */
#include "libglusterish/dump.h"
#include "libglusterish/mem.h"
#include "libglusterish/usage.h"

#include <inttypes.h>
#include <stdarg.h>

/* File names end up here: a control character must not forge a line. */
static void
put_line_text(FILE *out, const char *text)
{
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f)
      fprintf(out, "\\%03o", c);
    else
      putc(c, out);
  }
}

static void
put_line(FILE *out, const char *fmt, va_list ap)
{
  char small[512];
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(small, sizeof(small), fmt, ap);
  if (n >= 0 && (size_t)n < sizeof(small)) {
    put_line_text(out, small);
  } else if (n >= 0) {
    char *big = gi_alloc((size_t)n + 1);
    vsnprintf(big, (size_t)n + 1, fmt, again);
    put_line_text(out, big);
    gi_free(big);
  }
  va_end(again);
}

void
gi_dump_section(struct gi_dump *d, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  fputs("\n[", d->out);
  put_line(d->out, fmt, ap);
  fputs("]\n", d->out);
  va_end(ap);
}

void
gi_dump_kv(struct gi_dump *d, const char *key, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  put_line_text(d->out, key);
  fputs(d->equals ? d->equals : "=", d->out);
  put_line(d->out, fmt, ap);
  putc('\n', d->out);
  va_end(ap);
}

void
gi_dump_metrics(struct gi_dump *d, const struct gi_metric *table, const void *base)
{
  for (const struct gi_metric *m = table; m->name; m++)
    gi_dump_kv(d, m->name, "%" PRIu64, gi_metric_value(m, base));
}

void
gi_dump_memory(struct gi_dump *d)
{
  struct gi_memory m;
  gi_memory_look(&m);
  gi_dump_section(d, "mallinfo");
  gi_dump_metrics(d, gi_memory_metrics, &m);
}
