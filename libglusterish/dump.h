/* SPDX-License-Identifier: Apache-2.0
 *
 * Statedump writer: sections of key=value lines (volfile.md 12). Every module
 * with state has a dump function that writes one or more sections.
 */
#ifndef GI_DUMP_H
#define GI_DUMP_H

#include "libglusterish/metrics.h"

#include <stdio.h>

struct gi_dump {
  FILE *out;
  const char *equals; /* between key and value; NULL: "=" */
};

void gi_dump_section(struct gi_dump *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void gi_dump_kv(struct gi_dump *d, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Every row of a metric table over `base`. */
void gi_dump_metrics(struct gi_dump *d, const struct gi_metric *table, const void *base);

/* What the allocator and the payload pools hold, bytes. */
void gi_dump_memory(struct gi_dump *d);

#endif
