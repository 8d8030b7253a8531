/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of a file that were written while a copy was away: a bounded set of
 * ranges, and a log of such sets by changelog counter, as it travels between our
 * own clients and bricks and as a brick keeps it.
 *
 * A set may only grow too large: ranges are rounded outwards to blocks of 4 KiB,
 * and when there is no room the closest are merged.
 */
#ifndef GI_REGIONS_H
#define GI_REGIONS_H

#include "libglusterish/extension.h"
#include "libglusterish/types.h"

#include <stdbool.h>
#include <stdint.h>

#define GI_REGION_BLOCK 4096u
#define GI_REGION_END (UINT64_MAX / GI_REGION_BLOCK) /* as an end: that of the file, wherever it is */
#define GI_REGIONS_SESSION 4096u                     /* most ranges that one session tells */
#define GI_REGIONS_LOG 16384u                        /* most ranges kept against one copy */
#define GI_REGIONS_SMALL (64u << 10) /* bytes: a file up to here is healed as a whole, so nothing is remembered */
#define GI_REGION_KEYS 16u           /* most copies of a log */
#define GI_REGION_LOG_HEAD 16u       /* bytes of magic and checksum */
#define GI_REGION_KEY 255u           /* longest name of a counter */

/* blocks; `end` exclusive */
struct gi_region {
  uint64_t start, end;
};

/* Sorted, with at least one block between two ranges. All zero is the empty set. */
struct gi_regions {
  struct gi_region *range; /* owned */
  uint32_t n, room;
};

/* Adds bytes [start, end); `end` UINT64_MAX: to the end of the file. At most `max` ranges are left, max >= 4. */
void gi_regions_add(struct gi_regions *set, uint64_t start, uint64_t end, uint32_t max);
void gi_regions_merge(struct gi_regions *set, const struct gi_regions *other, uint32_t max);
void gi_regions_clear(struct gi_regions *set);
uint64_t gi_regions_bytes(const struct gi_regions *set, uint64_t size); /* covered in a file of that size */

/* What one counter stands for. */
struct gi_region_note {
  char key[GI_REGION_KEY + 1]; /* name of the counter */
  int32_t count; /* increments that the ranges explain: the ranges are of use only if that is all of the counter */
  int32_t dirty; /* marks that the sessions of those increments may have left on the blamed copy itself */
  struct gi_regions set;
};

/* All zero is empty. */
struct gi_region_log {
  struct gi_region_note *note; /* owned */
  uint32_t n;
};

struct gi_region_note *gi_region_log_find(const struct gi_region_log *log, const char *key); /* NULL: none */
/* A new empty note; NULL if there are GI_REGION_KEYS or the key is too long. Moves the others. */
struct gi_region_note *gi_region_log_add(struct gi_region_log *log, const char *key);
void gi_region_log_remove(struct gi_region_log *log, struct gi_region_note *note);
void gi_region_log_clear(struct gi_region_log *log);

/* The coded log, owned by the caller. Version and checksum are in it. */
void *gi_region_log_encode(const struct gi_region_log *log, uint32_t *len);
/* Makes magic and checksum of a coded log right, whatever stands behind them; len >= GI_REGION_LOG_HEAD. */
void gi_region_log_seal(void *log, uint32_t len);
/* False, and the log empty, unless it is exactly what gi_region_log_encode makes. */
GI_MUST_CHECK bool gi_region_log_decode(struct gi_region_log *log, const void *data, uint32_t len);

#endif
