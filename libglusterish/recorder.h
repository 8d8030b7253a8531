/* SPDX-License-Identifier: Apache-2.0
 *
 * The flight recorder: the last operations of the process, one small record
 * each, in a ring. The newest overwrites the oldest.
 */
#ifndef GI_RECORDER_H
#define GI_RECORDER_H

#include "libglusterish/fop.h"

#define GI_RECORDS 4096u /* kept; a power of two */

struct gi_recorded {
  uint64_t start_ns; /* gi_now */
  uint64_t took_ns;
  uint64_t offset;
  uint32_t size; /* bytes, at most UINT32_MAX */
  int32_t pid;
  uint32_t uid;
  int16_t error; /* errno */
  uint16_t at;   /* gi_xlator.layer that answered, in graph `graph` */
  struct gi_gfid gfid;
  uint8_t kind;
  uint8_t graph; /* the lowest bits of gi_graph.number: an older graph's layers have other names */
  uint8_t spare[6];
};
_Static_assert(sizeof(struct gi_recorded) == 64, "one line of the cache");

struct gi_recorder {
  uint64_t count;             /* records that were made */
  struct gi_recorded *record; /* GI_RECORDS; NULL before the first */
};

/* The place of the next record, to be filled in. */
static inline struct gi_recorded *
gi_recorder_next(struct gi_recorder *r)
{
  if (!r->record)
    r->record = gi_zalloc(GI_RECORDS * sizeof(*r->record));
  return &r->record[r->count++ % GI_RECORDS];
}

/* The n-th newest, from 0; NULL: there are not so many. */
const struct gi_recorded *gi_recorder_get(const struct gi_recorder *r, uint64_t n);
void gi_recorder_free(struct gi_recorder *r);

#endif
