/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of ranges, logs of them, and their coding: magic, checksum of the rest,
 * then numbers of seven bits a byte, least significant first; ranges as the
 * distance from the one before and the length.
 */
#include "libglusterish/regions.h"
#include "libglusterish/mem.h"

#include <string.h>

#define MAGIC "GiRegns1"
#define MAGIC_BYTES 8
#define HEAD_BYTES GI_REGION_LOG_HEAD

/* ---- sets ---- */

static void
make_room(struct gi_regions *set)
{
  if (set->n < set->room)
    return;
  set->room = set->room ? 2 * set->room : 8;
  set->range = gi_realloc(set->range, set->room * sizeof(*set->range));
  GI_ASSERT(set->n < set->room);
}

/* Index of the first range that ends at or behind `block`. */
static uint32_t
first_reaching(const struct gi_regions *set, uint64_t block)
{
  uint32_t lo = 0, hi = set->n;

  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;

    if (set->range[mid].end < block)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* Joins ranges with at most `gap` blocks between them. */
static void
join(struct gi_regions *set, uint64_t gap)
{
  uint32_t out = 0;

  GI_ASSERT(set->n > 0);
  for (uint32_t i = 1; i < set->n; i++) {
    GI_ASSERT(set->range[i].start > set->range[out].end);
    if (set->range[i].start - set->range[out].end <= gap)
      set->range[out].end = set->range[i].end;
    else
      set->range[++out] = set->range[i];
  }
  set->n = out + 1;
}

/* A quarter becomes free at once, so that a full set does not do this for every range. */
static void
shrink(struct gi_regions *set, uint32_t max)
{
  for (uint64_t gap = 1; set->n > max - max / 4; gap *= 2)
    join(set, gap);
}

static void
add_blocks(struct gi_regions *set, uint64_t start, uint64_t end, uint32_t max)
{
  uint32_t at = first_reaching(set, start), last = at;

  GI_ASSERT(start < end && end <= GI_REGION_END && max > 0);
  for (; last < set->n && set->range[last].start <= end; last++) {
    if (set->range[last].start < start)
      start = set->range[last].start;
    if (set->range[last].end > end)
      end = set->range[last].end;
  }
  if (last == at) {
    make_room(set);
    memmove(&set->range[at + 1], &set->range[at], (set->n - at) * sizeof(*set->range));
    set->n++;
  } else {
    memmove(&set->range[at + 1], &set->range[last], (set->n - last) * sizeof(*set->range));
    set->n -= last - at - 1;
  }
  set->range[at] = (struct gi_region){start, end};
  /* ascending, and with at least a block between them */
  GI_ASSERT(at == 0 || set->range[at - 1].end < start);
  GI_ASSERT(at + 1 == set->n || set->range[at + 1].start > end);
  if (set->n > max)
    shrink(set, max);
}

void
gi_regions_add(struct gi_regions *set, uint64_t start, uint64_t end, uint32_t max)
{
  uint64_t first = start / GI_REGION_BLOCK;
  uint64_t behind = end / GI_REGION_BLOCK + (end % GI_REGION_BLOCK != 0);

  if (start >= end)
    return;
  if (behind > GI_REGION_END)
    behind = GI_REGION_END;
  if (first >= behind)
    first = behind - 1;
  add_blocks(set, first, behind, max);
}

void
gi_regions_merge(struct gi_regions *set, const struct gi_regions *other, uint32_t max)
{
  for (uint32_t i = 0; i < other->n; i++)
    add_blocks(set, other->range[i].start, other->range[i].end, max);
}

void
gi_regions_clear(struct gi_regions *set)
{
  gi_free(set->range);
  memset(set, 0, sizeof(*set));
}

uint64_t
gi_regions_bytes(const struct gi_regions *set, uint64_t size)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < set->n; i++) {
    uint64_t start = set->range[i].start * GI_REGION_BLOCK;
    uint64_t end = set->range[i].end >= GI_REGION_END ? size : set->range[i].end * GI_REGION_BLOCK;

    if (end > size)
      end = size;
    sum += start < end ? end - start : 0;
  }
  return sum;
}

/* ---- logs ---- */

struct gi_region_note *
gi_region_log_find(const struct gi_region_log *log, const char *key)
{
  for (uint32_t i = 0; i < log->n; i++)
    if (strcmp(log->note[i].key, key) == 0)
      return &log->note[i];
  return NULL;
}

struct gi_region_note *
gi_region_log_add(struct gi_region_log *log, const char *key)
{
  size_t len = strlen(key);
  struct gi_region_note *note;

  if (log->n == GI_REGION_KEYS || len > GI_REGION_KEY)
    return NULL;
  log->note = gi_realloc(log->note, (log->n + 1) * sizeof(*log->note));
  note = &log->note[log->n++];
  memset(note, 0, sizeof(*note));
  memcpy(note->key, key, len);
  return note;
}

void
gi_region_log_remove(struct gi_region_log *log, struct gi_region_note *note)
{
  GI_ASSERT(log->n > 0 && note >= log->note && note < log->note + log->n);
  gi_regions_clear(&note->set);
  *note = log->note[--log->n];
}

void
gi_region_log_clear(struct gi_region_log *log)
{
  for (uint32_t i = 0; i < log->n; i++)
    gi_regions_clear(&log->note[i].set);
  gi_free(log->note);
  memset(log, 0, sizeof(*log));
}

/* ---- coding ---- */

static uint64_t
checksum(const uint8_t *p, size_t len)
{
  uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a */

  for (size_t i = 0; i < len; i++)
    sum = (sum ^ p[i]) * 0x100000001b3u;
  return sum;
}

static void
store64(uint8_t *p, uint64_t v)
{
  for (unsigned i = 0; i < 8; i++)
    p[i] = (uint8_t)(v >> (8 * i));
}

static uint8_t *
put(uint8_t *p, uint64_t v)
{
  for (; v >= 0x80; v >>= 7)
    *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return p;
}

void
gi_region_log_seal(void *log, uint32_t len)
{
  uint8_t *base = log;

  GI_ASSERT(len >= HEAD_BYTES);
  memcpy(base, MAGIC, MAGIC_BYTES);
  store64(base + MAGIC_BYTES, checksum(base + HEAD_BYTES, len - HEAD_BYTES));
}

void *
gi_region_log_encode(const struct gi_region_log *log, uint32_t *len)
{
  size_t room = HEAD_BYTES + 10;
  uint8_t *base, *p;

  for (uint32_t i = 0; i < log->n; i++)
    room += GI_REGION_KEY + 10 * 4 + 20 * (size_t)log->note[i].set.n;
  base = gi_alloc(room);
  p = put(base + HEAD_BYTES, log->n);
  for (uint32_t i = 0; i < log->n; i++) {
    const struct gi_region_note *note = &log->note[i];
    size_t key = strlen(note->key);
    uint64_t at = 0;

    p = put(p, key);
    memcpy(p, note->key, key);
    p = put(p + key, (uint32_t)note->count);
    p = put(p, (uint32_t)note->dirty);
    p = put(p, note->set.n);
    for (uint32_t r = 0; r < note->set.n; r++) {
      p = put(p, note->set.range[r].start - at);
      p = put(p, note->set.range[r].end - note->set.range[r].start);
      at = note->set.range[r].end;
    }
  }
  GI_ASSERT((size_t)(p - base) <= room);
  *len = (uint32_t)(p - base);
  gi_region_log_seal(base, *len);
  return base;
}

struct input {
  const uint8_t *p, *end;
  bool failed;
};

/* A number of at most `max`, in its only form. */
static uint64_t
get(struct input *in, uint64_t max)
{
  uint64_t v = 0;

  for (unsigned shift = 0; shift < 63 && in->p < in->end; shift += 7) {
    uint8_t byte = *in->p++;

    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80)
      continue;
    if (v > max || (shift && !byte))
      break;
    return v;
  }
  in->failed = true;
  return 0;
}

static void
get_set(struct input *in, struct gi_regions *set)
{
  uint64_t at = 0;
  uint32_t n = (uint32_t)get(in, GI_REGIONS_LOG);

  for (uint32_t i = 0; i < n && !in->failed; i++) {
    uint64_t gap = get(in, GI_REGION_END - at), len;

    at += gap;
    len = get(in, GI_REGION_END - at);
    if (in->failed || !len || (i && !gap)) {
      in->failed = true;
      return;
    }
    make_room(set);
    set->range[set->n++] = (struct gi_region){at, at + len};
    at += len;
  }
}

static void
get_note(struct input *in, struct gi_region_log *log)
{
  size_t len = get(in, GI_REGION_KEY);
  char key[GI_REGION_KEY + 1] = "";
  struct gi_region_note *note;

  if (in->failed || !len || (size_t)(in->end - in->p) < len || memchr(in->p, 0, len)) {
    in->failed = true;
    return;
  }
  memcpy(key, in->p, len);
  in->p += len;
  if (gi_region_log_find(log, key)) {
    in->failed = true;
    return;
  }
  note = gi_region_log_add(log, key);
  GI_ASSERT(note);
  note->count = (int32_t)get(in, INT32_MAX);
  note->dirty = (int32_t)get(in, INT32_MAX);
  get_set(in, &note->set);
}

bool
gi_region_log_decode(struct gi_region_log *log, const void *data, uint32_t len)
{
  const uint8_t *base = data;
  struct input in;
  uint8_t sum[8];

  memset(log, 0, sizeof(*log));
  if (len < HEAD_BYTES || memcmp(base, MAGIC, MAGIC_BYTES) != 0)
    return false;
  in = (struct input){.p = base + HEAD_BYTES, .end = base + len};
  store64(sum, checksum(in.p, len - HEAD_BYTES));
  if (memcmp(base + MAGIC_BYTES, sum, sizeof(sum)) != 0)
    return false;
  for (uint64_t n = get(&in, GI_REGION_KEYS); n && !in.failed; n--)
    get_note(&in, log);
  if (!in.failed && in.p == in.end)
    return true;
  gi_region_log_clear(log);
  return false;
}
