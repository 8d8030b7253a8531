/* SPDX-License-Identifier: Apache-2.0
 *
 * See samples.h.
 */
#include "programs/common/samples.h"
#include "libglusterish/mem.h"

static uint64_t
at(const json_t *buckets, size_t i, size_t column)
{
  json_int_t n = json_integer_value(json_array_get(json_array_get(buckets, i), column));
  return n > 0 ? (uint64_t)n : 0;
}

struct prog_sample *
prog_samples_between(const json_t *before, const json_t *now, size_t *n)
{
  size_t room = json_array_size(now), b = 0;
  struct prog_sample *list = gi_alloc((room + 1) * sizeof(*list));
  *n = 0;
  for (size_t i = 0; i < room; i++) {
    uint64_t ns = at(now, i, 0), count = at(now, i, 1), had;
    while (b < json_array_size(before) && at(before, b, 0) < ns)
      b++;
    had = b < json_array_size(before) && at(before, b, 0) == ns ? at(before, b, 1) : 0;
    if (count > had)
      list[(*n)++] = (struct prog_sample){ns, count - had};
  }
  return list;
}

uint64_t
prog_samples_quantile(const struct prog_sample *samples, size_t n, double q)
{
  uint64_t total = 0, passed = 0;
  for (size_t i = 0; i < n; i++)
    total += samples[i].count;
  for (size_t i = 0; i < n; i++) {
    passed += samples[i].count;
    if ((double)passed >= q * (double)total)
      return samples[i].ns;
  }
  return 0;
}
