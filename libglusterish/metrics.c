/* SPDX-License-Identifier: Apache-2.0
 *
 * Log-linear histograms. Values below 16 have a bucket each; above, every
 * power of two is cut into 16, so that a bucket is at most 1/16 wide.
 */
#include "libglusterish/metrics.h"
#include "libglusterish/mem.h"

#include <string.h>

static unsigned
bucket_of(uint64_t value)
{
  if (value < 16)
    return (unsigned)value;
  unsigned e = 63 - (unsigned)__builtin_clzll(value);
  return (e - 3) * 16 + ((value >> (e - 4)) & 15);
}

/* The largest value that falls into bucket `i`. */
static uint64_t
bucket_top(unsigned i)
{
  if (i < 16)
    return i;
  unsigned e = i / 16 + 3;
  uint64_t low = (16ull + i % 16) << (e - 4);
  return low + ((1ull << (e - 4)) - 1);
}

void
gi_hist_add(struct gi_hist *h, uint64_t value)
{
  if (h->count == 0 || value < h->min)
    h->min = value;
  if (value > h->max)
    h->max = value;
  h->count++;
  h->sum += value;

  unsigned at = bucket_of(value);

  GI_ASSERT(at < GI_HIST_BUCKETS && h->min <= h->max);
  h->bucket[at]++;
}

uint64_t
gi_hist_quantile(const struct gi_hist *h, double q)
{
  if (h->count == 0)
    return 0;
  if (!(q > 0))
    return h->min;
  if (q >= 1)
    return h->max;
  uint64_t rank = (uint64_t)(q * (double)h->count), seen = 0;
  if (rank == 0)
    rank = 1;
  for (unsigned i = 0; i < GI_HIST_BUCKETS; i++) {
    seen += h->bucket[i];
    if (seen < rank)
      continue;
    uint64_t top = bucket_top(i);
    return top > h->max ? h->max : top < h->min ? h->min : top;
  }
  return h->max;
}

void
gi_hist_reset(struct gi_hist *h)
{
  memset(h, 0, sizeof(*h));
}
