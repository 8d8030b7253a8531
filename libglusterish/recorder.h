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
  uint64_t took;     /* gi_ticks */
  uint64_t offset, size;
  int32_t pid;
  uint32_t uid;
  int16_t error; /* errno */
  uint16_t at;   /* gi_xlator.layer that answered, in graph `graph` */
  struct gi_gfid gfid;
  uint8_t kind;
  uint8_t graph; /* the lowest bits of gi_graph.number: an older graph's layers have other names */
};
_Static_assert(sizeof(struct gi_recorded) == 64, "one line of the cache");

struct gi_recorder {
  uint64_t count;             /* records that were made */
  struct gi_recorded *record; /* GI_RECORDS; NULL before the first */
};

void gi_recorder_begin(struct gi_recorder *r); /* makes the ring */

/* The place of the next record, to be filled in. */
static inline struct gi_recorded *
gi_recorder_next(struct gi_recorder *r)
{
  if (!r->record)
    gi_recorder_begin(r);
  return &r->record[r->count++ % GI_RECORDS];
}

/* The n-th newest, from 0; NULL: there are not so many. */
const struct gi_recorded *gi_recorder_get(const struct gi_recorder *r, uint64_t n);
void gi_recorder_free(struct gi_recorder *r);

#endif
