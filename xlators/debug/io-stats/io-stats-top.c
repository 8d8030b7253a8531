/* SPDX-License-Identifier: Apache-2.0
 *
 * The busiest files: what is done to each of them, for `volume top`.
 *
 * A file is known by its gfid; its name is asked for when somebody looks. A
 * fixed number of files is kept. When all records are taken, a new file
 * replaces the one with the fewest operations and inherits that number, so
 * that a file that is busy cannot be pushed out by many that are touched once
 * (the space-saving algorithm). The records stand in a heap by the number they
 * had when they were last looked at: counting leaves the heap alone, and only
 * who needs a record puts its root right.
 */
#include "xlators/debug/io-stats/io-stats.h"

#define IOS_BUCKETS (2 * IOS_FILES)

struct ios_files {
  uint32_t count;
  struct ios_file file[IOS_FILES];
  struct {
    uint64_t weight; /* not more than the file's */
    uint32_t file;
  } heap[IOS_FILES];
  uint32_t bucket[IOS_BUCKETS]; /* 1 + the first file of the chain; 0: none */
};

static uint32_t *
bucket_of(struct ios_files *t, const struct gi_gfid *gfid)
{
  uint64_t h;
  memcpy(&h, gfid->b + 8, sizeof(h));
  h ^= h >> 33; /* gfids are random, but one who makes them may choose */
  h *= 0xff51afd7ed558ccdull;
  return &t->bucket[(h >> 32) % IOS_BUCKETS];
}

static struct ios_file *
find(struct ios_files *t, const struct gi_gfid *gfid)
{
  uint32_t i = *bucket_of(t, gfid);
  while (i && !gi_gfid_equal(&t->file[i - 1].gfid, gfid))
    i = t->file[i - 1].next;
  return i ? &t->file[i - 1] : NULL;
}

static void
unhash(struct ios_files *t, const struct ios_file *f)
{
  uint32_t number = (uint32_t)(f - t->file) + 1, *at = bucket_of(t, &f->gfid);
  GI_ASSERT(number >= 1 && number <= t->count);
  while (*at != number) {
    GI_ASSERT(*at);
    at = &t->file[*at - 1].next;
  }
  *at = f->next;
}

/* The root has become heavier. */
static void
sink(struct ios_files *t)
{
  uint32_t i = 0;
  for (;;) {
    uint32_t least = i;
    for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < t->count; k++)
      if (t->heap[k].weight < t->heap[least].weight)
        least = k;
    if (least == i)
      return;
    __typeof__(t->heap[0]) mine = t->heap[i];
    t->heap[i] = t->heap[least];
    t->heap[least] = mine;
    i = least;
  }
}

/* The file with the fewest operations, of which none is known any more. */
static struct ios_file *
take_least(struct ios_files *t)
{
  GI_ASSERT(t->count == IOS_FILES);
  for (;;) {
    struct ios_file *f = &t->file[t->heap[0].file];
    GI_ASSERT(t->heap[0].weight <= f->weight);
    if (t->heap[0].weight == f->weight) {
      unhash(t, f);
      return f;
    }
    t->heap[0].weight = f->weight;
    sink(t);
  }
}

static struct ios_file *
add(struct ios_files *t, const struct gi_gfid *gfid)
{
  uint32_t i = t->count;
  struct ios_file *f = i < IOS_FILES ? &t->file[i] : take_least(t);
  if (i < IOS_FILES) { /* nothing is lighter than 0, so it goes to the root: all above it change places with it */
    t->heap[t->count++].file = i;
    t->heap[i].weight = 0;
    for (uint32_t up; i > 0; i = up) {
      up = (i - 1) / 2;
      __typeof__(t->heap[0]) mine = t->heap[i];
      t->heap[i] = t->heap[up];
      t->heap[up] = mine;
    }
  }
  *f = (struct ios_file){.gfid = *gfid, .weight = f->weight};
  uint32_t *bucket = bucket_of(t, gfid);
  f->next = *bucket;
  *bucket = (uint32_t)(f - t->file) + 1;
  return f;
}

struct ios_file *
ios_file_get(struct ios_private *p, const struct gi_gfid *gfid, uint32_t *hint)
{
  if (!p->files)
    p->files = gi_new(struct ios_files);
  struct ios_files *t = p->files;
  GI_ASSERT(t->count <= IOS_FILES && *hint <= IOS_FILES);
  if (*hint && *hint <= t->count && gi_gfid_equal(&t->file[*hint - 1].gfid, gfid))
    return &t->file[*hint - 1];
  struct ios_file *f = find(t, gfid);
  if (!f)
    f = add(t, gfid);
  *hint = (uint32_t)(f - t->file) + 1;
  return f;
}

void
ios_files_clear(struct ios_private *p)
{
  gi_free(p->files);
  p->files = NULL;
}

/* ---- for readers ---- */

struct ranking {
  const struct ios_file *file;
  double value;
};

static double
value_of(const struct ios_file *f, enum gi_top what)
{
  if (what == GI_TOP_READ_PERF)
    return f->best[0].mbps;
  if (what == GI_TOP_WRITE_PERF)
    return f->best[1].mbps;
  if (what)
    return (double)f->count[what];
  return (double)(f->count[GI_TOP_OPEN] + f->count[GI_TOP_READ] + f->count[GI_TOP_WRITE] + f->count[GI_TOP_OPENDIR] +
                  f->count[GI_TOP_READDIR]);
}

static int
higher(const void *a, const void *b)
{
  const struct ranking *x = a, *y = b;
  return x->value < y->value ? 1 : x->value > y->value ? -1 : 0;
}

unsigned
ios_files_top(const struct ios_private *p, enum gi_top what, unsigned max, struct ios_file *out)
{
  unsigned n = 0;
  GI_ASSERT(what <= GI_TOP_WRITE_PERF);
  if (!p->files)
    return 0;
  struct ranking *all = gi_zalloc(IOS_FILES * sizeof(*all));
  for (uint32_t i = 0; i < p->files->count; i++) {
    double value = value_of(&p->files->file[i], what);
    if (value > 0)
      all[n++] = (struct ranking){&p->files->file[i], value};
  }
  qsort(all, n, sizeof(*all), higher);
  if (n > max)
    n = max;
  for (unsigned i = 0; i < n; i++)
    out[i] = *all[i].file;
  gi_free(all);
  return n;
}
