/* SPDX-License-Identifier: Apache-2.0
 *
 * See recorder.h.
 */
#include "libglusterish/recorder.h"

void
gi_recorder_begin(struct gi_recorder *r)
{
  GI_ASSERT(!r->record && r->count == 0);
  r->record = gi_zalloc(GI_RECORDS * sizeof(*r->record));
}

const struct gi_recorded *
gi_recorder_get(const struct gi_recorder *r, uint64_t n)
{
  GI_ASSERT(!r->count || r->record);
  if (n >= r->count || n >= GI_RECORDS)
    return NULL;
  return &r->record[(r->count - 1 - n) % GI_RECORDS];
}

void
gi_recorder_free(struct gi_recorder *r)
{
  gi_free(r->record);
  *r = (struct gi_recorder){0};
}
