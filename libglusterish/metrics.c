/* SPDX-License-Identifier: Apache-2.0
 *
 * Log-linear histograms. Values below 8 have a bucket each; above, every
 * power of two is cut into 8, so that a bucket is at most 1/8 wide.
 */
#include "libglusterish/metrics.h"
#include "libglusterish/mem.h"

#include <string.h>

#define CUT_BITS 3u

_Static_assert(1u << CUT_BITS == GI_HIST_CUT, "a power of two is cut into that many");

static unsigned
bucket_of(uint64_t value)
{
  if (value < GI_HIST_CUT)
    return (unsigned)value;
  unsigned e = 63 - (unsigned)__builtin_clzll(value);
  unsigned at = (e - CUT_BITS + 1) * GI_HIST_CUT + ((value >> (e - CUT_BITS)) & (GI_HIST_CUT - 1));
  return at < GI_HIST_BUCKETS ? at : GI_HIST_BUCKETS - 1;
}

uint64_t
gi_hist_bucket_value(unsigned i)
{
  GI_ASSERT(i < GI_HIST_BUCKETS);
  if (i < GI_HIST_CUT)
    return i;
  unsigned e = i / GI_HIST_CUT + CUT_BITS - 1;
  uint64_t low = (uint64_t)(GI_HIST_CUT + i % GI_HIST_CUT) << (e - CUT_BITS);
  return low + ((1ull << (e - CUT_BITS)) - 1) / 2;
}

static void
halve(struct gi_hist *h)
{
  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++)
    h->bucket[i] = h->bucket[i] / 2 + h->bucket[i] % 2; /* what was there once is not forgotten */
}

static void
count_in(struct gi_hist *h, unsigned at, uint32_t times)
{
  GI_ASSERT(at < GI_HIST_BUCKETS);
  while (h->bucket[at] > UINT32_MAX - times) {
    halve(h);
    times = times / 2 + times % 2;
  }
  h->bucket[at] += times;
}

void
gi_hist_add_times(struct gi_hist *h, uint64_t value, uint32_t times)
{
  GI_ASSERT(times > 0);
  if (h->count == 0 || value < h->min)
    h->min = value;
  if (value > h->max)
    h->max = value;
  h->count += times;
  h->sum += value * times;
  count_in(h, bucket_of(value), times);
}

void
gi_hist_add(struct gi_hist *h, uint64_t value)
{
  gi_hist_add_times(h, value, 1);
}

void
gi_hist_merge(struct gi_hist *into, const struct gi_hist *from)
{
  if (from->count == 0)
    return;
  if (into->count == 0 || from->min < into->min)
    into->min = from->min;
  if (from->max > into->max)
    into->max = from->max;
  into->count += from->count;
  into->sum += from->sum;
  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++)
    if (from->bucket[i])
      count_in(into, i, from->bucket[i]);
}

uint64_t
gi_hist_quantile(const struct gi_hist *h, double q)
{
  uint64_t total = 0, seen = 0;
  if (h->count == 0)
    return 0;
  if (!(q > 0))
    return h->min;
  if (q >= 1)
    return h->max;
  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++)
    total += h->bucket[i];
  uint64_t rank = (uint64_t)(q * (double)total);
  if (rank == 0)
    rank = 1;
  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++) {
    seen += h->bucket[i];
    if (seen < rank)
      continue;
    uint64_t middle = gi_hist_bucket_value(i);
    return middle > h->max || i == GI_HIST_BUCKETS - 1 ? h->max : middle < h->min ? h->min : middle;
  }
  return h->max;
}

void
gi_hist_below(const struct gi_hist *h, unsigned first, uint64_t *out, unsigned n)
{
  uint64_t all = 0, seen = 0;
  unsigned at = 0;
  GI_ASSERT(first + n <= 64);
  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++)
    all += h->bucket[i];
  for (unsigned i = 0; i < n; i++) {
    unsigned end = bucket_of(1ull << (first + i));
    for (; at < end; at++)
      seen += h->bucket[at];
    /* Buckets may have been halved: they tell shares. */
    out[i] = all == h->count || all == 0 ? seen : (uint64_t)((double)seen / (double)all * (double)h->count);
  }
}

void
gi_hist_reset(struct gi_hist *h)
{
  memset(h, 0, sizeof(*h));
}
