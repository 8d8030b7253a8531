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

struct di_layout *
di_layout_copy(const struct di_layout *l)
{
  struct di_layout *c = di_layout_new(l->n);

  memcpy(c, l, sizeof(*l) + l->n * sizeof(l->range[0]));
  return c;
}

bool
di_layout_same(const struct di_layout *a, const struct di_layout *b)
{
  uint8_t x[DI_LAYOUT_BYTES], y[DI_LAYOUT_BYTES];
  bool same = a->n == b->n;

  for (unsigned i = 0; same && i < a->n; i++) {
    di_range_encode(&a->range[i], x);
    di_range_encode(&b->range[i], y);
    same = memcmp(x, y, sizeof(x)) == 0;
  }
  return same;
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

/* The subvolumes that get a part, in the order of their parts, and how many hashes each gets; the last one gets what is left. */
struct parts {
  unsigned n;
  uint8_t order[DI_MAX];
  uint32_t size[DI_MAX]; /* by subvolume */
};

static void
choose_parts(const struct di_layout *l, const char *const *names, uint64_t mask, unsigned spread, uint32_t start,
             const uint64_t *weight, struct parts *p)
{
  struct named set[DI_MAX];
  unsigned n = 0, use;
  double sum = 0, chunk;
  bool equal = !weight;

  for (unsigned i = 0; i < l->n; i++) {
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
  p->n = 0;
  for (unsigned k = 0; k < use; k++) {
    unsigned child = set[(start + k) % n].child;

    p->size[child] = (uint32_t)(chunk * (equal ? 1.0 : (double)weight[child]));
    p->order[p->n++] = (uint8_t)child;
  }
}

static bool
holds(const struct di_layout *l, unsigned child)
{
  return !l->range[child].err && !di_range_empty(&l->range[child]);
}

/* How many hashes stay where they are. */
static uint64_t
common(const struct parts *p, const struct di_layout *old)
{
  uint64_t cursor = 0, sum = 0;

  for (unsigned k = 0; k < p->n; k++) {
    const struct di_range *r = &old->range[p->order[k]];
    uint64_t end = k + 1 == p->n ? 1ull << 32 : cursor + p->size[p->order[k]];
    uint64_t from = cursor > r->start ? cursor : r->start, to = end < r->stop + 1ull ? end : r->stop + 1ull;

    if (holds(old, p->order[k]) && from < to)
      sum += to - from;
    cursor = end;
  }
  return sum;
}

static void
put(struct parts *p, unsigned from, unsigned to)
{
  uint8_t child = p->order[from];

  GI_ASSERT(from < p->n && to < p->n);
  if (from < to)
    memmove(&p->order[from], &p->order[from + 1], to - from);
  else
    memmove(&p->order[to + 1], &p->order[to], from - to);
  p->order[to] = child;
}

/* The one part is put where most stays. True: more than before. */
static bool
find_place(struct parts *p, unsigned from, const struct di_layout *old)
{
  uint64_t before = common(p, old), most = before;
  unsigned best = from;

  for (unsigned to = 0; to < p->n; to++) {
    uint64_t stays;

    put(p, from, to);
    stays = common(p, old);
    put(p, to, from);
    if (stays > most) {
      most = stays;
      best = to;
    }
  }
  put(p, from, best);
  return most > before;
}

/* The order is the old one, with those that had nothing where that moves least; then each is tried in every place until none is better. That need not
 * be the best of all orders, but a layout that is as new stays as it is. */
static void
arrange(struct parts *p, const struct di_layout *old)
{
  struct parts all = *p;
  bool better = true;

  p->n = 0;
  for (unsigned k = 0; k < all.n; k++) {
    unsigned at = 0;

    if (!holds(old, all.order[k]))
      continue;
    while (at < p->n && old->range[p->order[at]].start < old->range[all.order[k]].start)
      at++;
    p->order[p->n++] = all.order[k];
    put(p, p->n - 1, at);
  }
  for (unsigned k = 0; k < all.n; k++) {
    if (holds(old, all.order[k]))
      continue;
    p->order[p->n++] = all.order[k];
    find_place(p, p->n - 1, old);
  }
  while (better) {
    better = false;
    for (unsigned k = 0; k < p->n; k++)
      better = find_place(p, k, old) || better;
  }
}

void
di_layout_build(struct di_layout *l, const char *const *names, uint64_t mask, unsigned spread, uint32_t start,
                const uint64_t *weight, const struct di_layout *old)
{
  struct parts p;
  uint32_t cursor = 0;

  GI_ASSERT(mask && (!old || old->n == l->n));
  choose_parts(l, names, mask, spread, start, weight, &p);
  if (old)
    arrange(&p, old);
  for (unsigned i = 0; i < l->n; i++)
    l->range[i] = (struct di_range){.commit = l->commit};
  for (unsigned k = 0; k < p.n; k++) {
    struct di_range *r = &l->range[p.order[k]];

    if (p.size[p.order[k]] == 0 && k + 1 < p.n)
      continue; /* too small beside the others */
    r->start = cursor;
    cursor += p.size[p.order[k]];
    r->stop = k + 1 == p.n ? 0xffffffffu : cursor - 1;
  }
  di_layout_check(l);
}
