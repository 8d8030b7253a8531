/* SPDX-License-Identifier: Apache-2.0
 *
 * stats and top: what goes on per second, from the difference of two sights.
 *
 *   cmd-rates.c  the commands: intervals, screen
 *   rates.c      one line about a volume
 *   top.c        lines about its clients, files, bricks and operations
 */
#ifndef RATES_H
#define RATES_H

#include "programs/glusterish/doctor.h"

/* ---- rates.c ---- */

#define RATES_LOOK_AT (SIGHT_METRICS | SIGHT_LAYERS | SIGHT_TOP | SIGHT_INFLIGHT | SIGHT_CLIENTS)

/* The sum of all samples of a metric in a text as Prometheus reads it; 0 if there are none. */
double rates_metric(const char *text, const char *name);
/* What has happened between two sights, and how it stands at the second: {"time","seconds","operations","errors","read_bytes",
 * "write_bytes","healed": per second; "read_p99_ns","write_p99_ns","inflight","oldest_ns"}. Operations and bytes are those of this
 * node's mounts; where there are none, what its bricks were asked. The caller owns it. */
json_t *rates_between(const json_t *before, const json_t *after);
void rates_print_head(FILE *out);
void rates_print(FILE *out, const json_t *rates);

/* ---- top.c ---- */

enum top_by { TOP_CLIENT, TOP_FILE, TOP_OPERATION, TOP_BRICK };

/* False: the word says none of them. */
bool top_by_name(const char *word, enum top_by *by);
unsigned top_looks_at(enum top_by by); /* SIGHT_… */
/* {"by","time","seconds","rows":[…]}, the busiest row first, at most `max`. Rows of clients, files and bricks have
 * {"name","operations","read_bytes","write_bytes": per second,"inflight", and what else is known}; operations have {"name","kind",
 * "age_ns","at","waits"}. */
json_t *top_between(const json_t *before, const json_t *after, enum top_by by, size_t max);
void top_print(FILE *out, const json_t *top, int width); /* lines are cut to `width`; 0: they are not */

#endif
