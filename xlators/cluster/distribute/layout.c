/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts: see layout.h.
 */
#include "xlators/cluster/distribute/layout.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct di_layout *
di_layout_new(unsigned n)
{
  GI_ASSERT(n > 0 && n <= DI_MAX);

  struct di_layout *l = gi_zalloc(sizeof(*l) + n * sizeof(l->range[0]));

  l->n = n;
  return l;
}

bool
di_range_decode(struct di_range *r, const void *bytes, uint32_t len)
{
  const uint8_t *b = bytes;

  *r = (struct di_range){.err = ENODATA};
  if (len != DI_LAYOUT_BYTES || gi_be32_load(b + 4) > 1 || gi_be32_load(b + 8) > gi_be32_load(b + 12))
    return false;
  *r = (struct di_range){gi_be32_load(b), gi_be32_load(b + 4), gi_be32_load(b + 8), gi_be32_load(b + 12), 0};
  return true;
}

void
di_range_encode(const struct di_range *r, uint8_t bytes[DI_LAYOUT_BYTES])
{
  gi_be32_store(bytes, r->commit);
  gi_be32_store(bytes + 4, r->type);
  gi_be32_store(bytes + 8, r->start);
  gi_be32_store(bytes + 12, r->stop);
}

bool
di_range_empty(const struct di_range *r)
{
  return r->start == 0 && r->stop == 0;
}

static int
by_start(const void *a, const void *b)
{
  const struct di_range *x = *(const struct di_range *const *)a, *y = *(const struct di_range *const *)b;

  return (x->start > y->start) - (x->start < y->start);
}

void
di_layout_check(struct di_layout *l)
{
  const struct di_range *sorted[DI_MAX];
  unsigned n = 0;
  uint64_t next = 0;

  GI_ASSERT(l->n > 0 && l->n <= DI_MAX);
  l->whole = true;
  l->committed = true;
  for (unsigned i = 0; i < l->n; i++) {
    const struct di_range *r = &l->range[i];

    if (r->err == ENODATA || r->err == ENOENT || di_range_empty(r))
      continue; /* that of a subvolume that is down counts, as it was */
    /* Who writes a layout by hand moves no files. */
    l->committed = l->committed && r->type == 0 && (n == 0 || r->commit == l->commit);
    l->commit = r->commit;
    sorted[n++] = r;
  }
  qsort(sorted, n, sizeof(*sorted), by_start);
  for (unsigned i = 0; i < n; i++) {
    l->whole = l->whole && sorted[i]->start == next;
    next = (uint64_t)sorted[i]->stop + 1;
  }
  l->whole = l->whole && n > 0 && next == 1ull << 32;
  l->committed = l->committed && l->whole;
}

int
di_layout_find(const struct di_layout *l, uint32_t hash)
{
  for (unsigned i = 0; i < l->n; i++) {
    const struct di_range *r = &l->range[i];

    if (hash >= r->start && hash <= r->stop && !di_range_empty(r) && r->err != ENODATA && r->err != ENOENT)
      return (int)i;
  }
  return -1;
}

/* ---- a new one ---- */

struct named {
  const char *name;
  unsigned child;
};

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

void
di_layout_build(struct di_layout *l, const char *const *names, uint64_t mask, unsigned spread, uint32_t start,
                const uint64_t *weight)
{
  struct named set[DI_MAX];
  unsigned n = 0, use;
  double sum = 0, chunk;
  uint32_t cursor = 0;
  bool equal = !weight;

  GI_ASSERT(mask);
  for (unsigned i = 0; i < l->n; i++) {
    l->range[i] = (struct di_range){.commit = l->commit};
    if (!(mask >> i & 1))
      continue;
    set[n++] = (struct named){names[i], i};
    equal = equal || weight[i] == 0;
  }
  GI_ASSERT(n > 0);
  qsort(set, n, sizeof(*set), by_name);
  use = spread > 0 && spread < n ? spread : n;
  start %= n;
  for (unsigned k = 0; k < use; k++)
    sum += equal ? 1.0 : (double)weight[set[(start + k) % n].child];
  chunk = (double)0xffffffffu / sum;
  for (unsigned k = 0; k < use; k++) {
    struct di_range *r = &l->range[set[(start + k) % n].child];
    uint32_t size = (uint32_t)(chunk * (equal ? 1.0 : (double)weight[set[(start + k) % n].child]));

    if (size == 0 && k + 1 < use)
      continue; /* too small beside the others */
    r->start = cursor;
    r->stop = k + 1 == use ? 0xffffffffu : cursor + size - 1;
    cursor += size;
  }
  di_layout_check(l);
}
