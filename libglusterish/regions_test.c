/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of regions against a bitmap, and their coding: round trips, every cut
 * and every flipped byte, random input with a right checksum.
 */
#include "libglusterish/regions.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS 2000

static uint64_t seed = 12345;

static uint32_t
number(uint32_t below)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

static void
assert_sound(const struct gi_regions *s, uint32_t max)
{
  assert_true(s->n <= max);
  for (uint32_t i = 0; i < s->n; i++) {
    assert_true(s->range[i].start < s->range[i].end && s->range[i].end <= GI_REGION_END);
    assert_true(!i || s->range[i].start > s->range[i - 1].end);
  }
}

static bool
has(const struct gi_regions *s, uint64_t block)
{
  for (uint32_t i = 0; i < s->n; i++)
    if (s->range[i].start <= block && block < s->range[i].end)
      return true;
  return false;
}

static void
test_against_bitmap(void **state)
{
  for (int round = 0; round < 200; round++) {
    uint32_t max = round % 2 ? 8 + number(30) : UINT32_MAX / 2;
    bool bit[BLOCKS + 1] = {false};
    struct gi_regions s = {0};

    for (uint32_t i = 0, n = 1 + number(300); i < n; i++) {
      uint64_t start = number(BLOCKS * GI_REGION_BLOCK), end = start + number(5 * GI_REGION_BLOCK);

      gi_regions_add(&s, start, end, max);
      assert_sound(&s, max);
      for (uint64_t b = start / GI_REGION_BLOCK; start < end && b <= (end - 1) / GI_REGION_BLOCK && b < BLOCKS; b++)
        bit[b] = true;
    }
    for (uint64_t b = 0; b < BLOCKS; b++) {
      if (bit[b])
        assert_true(has(&s, b));
      else if (max > BLOCKS)
        assert_false(has(&s, b));
    }
    gi_regions_clear(&s);
  }
}

static void
test_ends(void **state)
{
  struct gi_regions s = {0}, other = {0};

  gi_regions_add(&s, 5, 5, 4);
  assert_int_equal(s.n, 0);
  gi_regions_add(&s, 4095, 4097, 4);
  assert_int_equal(gi_regions_bytes(&s, 1 << 20), 8192);
  assert_int_equal(gi_regions_bytes(&s, 5000), 5000);
  gi_regions_add(&s, 100 * 4096, UINT64_MAX, 4);
  assert_int_equal(s.n, 2);
  assert_true(s.range[1].end == GI_REGION_END);
  assert_int_equal(gi_regions_bytes(&s, 101 * 4096), 3 * 4096);
  assert_int_equal(gi_regions_bytes(&s, 50 * 4096), 2 * 4096);
  gi_regions_add(&other, UINT64_MAX - 1, UINT64_MAX, 4);
  assert_sound(&other, 4);
  gi_regions_merge(&s, &other, 4);
  assert_int_equal(s.n, 2);
  gi_regions_clear(&s);
  gi_regions_clear(&other);
}

/* When there is no room it is the close ones that are joined. */
static void
test_closest_are_joined(void **state)
{
  struct gi_regions s = {0};

  for (uint64_t i = 0; i < 4; i++)
    gi_regions_add(&s, (1000 * i + 1) << 12, (1000 * i + 2) << 12, 8);
  for (uint64_t i = 0; i < 6; i++)
    gi_regions_add(&s, (5000 + 2 * i) << 12, (5001 + 2 * i) << 12, 8);
  assert_int_equal(gi_regions_bytes(&s, UINT64_MAX) >> 12, 4 + 9 + 1);
  gi_regions_clear(&s);
}

static void
fill(struct gi_region_log *log)
{
  for (uint32_t k = 0; k < 3; k++) {
    char key[32];
    struct gi_region_note *note;

    snprintf(key, sizeof(key), "trusted.afr.v-client-%u", k);
    note = gi_region_log_add(log, key);
    note->count = (int32_t)(k * 1000000000);
    note->dirty = (int32_t)k;
    for (uint32_t i = 0; i < 20 * k; i++)
      gi_regions_add(&note->set, (uint64_t)number(1 << 30) << number(20), UINT64_MAX >> number(40), 100);
  }
}

static void
assert_equal(const struct gi_region_log *a, const struct gi_region_log *b)
{
  assert_int_equal(a->n, b->n);
  for (uint32_t i = 0; i < a->n; i++) {
    assert_string_equal(a->note[i].key, b->note[i].key);
    assert_int_equal(a->note[i].count, b->note[i].count);
    assert_int_equal(a->note[i].dirty, b->note[i].dirty);
    assert_int_equal(a->note[i].set.n, b->note[i].set.n);
    if (a->note[i].set.n)
      assert_memory_equal(a->note[i].set.range, b->note[i].set.range, a->note[i].set.n * sizeof(struct gi_region));
  }
}

static void
test_coding(void **state)
{
  struct gi_region_log log = {0}, back;
  uint32_t len;

  fill(&log);
  uint8_t *data = gi_region_log_encode(&log, &len);

  assert_true(gi_region_log_decode(&back, data, len));
  assert_equal(&log, &back);
  gi_region_log_clear(&back);
  for (uint32_t cut = 0; cut < len; cut++)
    assert_false(gi_region_log_decode(&back, data, cut));
  for (uint32_t i = 0; i < len; i++) {
    data[i] ^= (uint8_t)(1u << number(8));
    assert_false(gi_region_log_decode(&back, data, len));
    gi_free(data);
    data = gi_region_log_encode(&log, &len);
  }
  gi_free(data);
  gi_region_log_remove(&log, gi_region_log_find(&log, "trusted.afr.v-client-0"));
  assert_int_equal(log.n, 2);
  assert_null(gi_region_log_find(&log, "trusted.afr.v-client-0"));
  gi_region_log_clear(&log);
}

static uint64_t
fnv(const uint8_t *p, size_t len)
{
  uint64_t sum = 0xcbf29ce484222325u;

  for (size_t i = 0; i < len; i++)
    sum = (sum ^ p[i]) * 0x100000001b3u;
  return sum;
}

/* Whatever passes is coded as it came: there is one form only. */
static void
test_hostile(void **state)
{
  struct gi_region_log log = {0}, back;
  uint32_t len, passed = 0;

  fill(&log);
  for (int round = 0; round < 20000; round++) {
    uint8_t *data = gi_region_log_encode(&log, &len);
    uint64_t sum;

    for (uint32_t n = number(4); n; n--)
      data[16 + number(len - 16)] = (uint8_t)number(256);
    if (number(2))
      len = 16 + number(len - 15);
    sum = fnv(data + 16, len - 16);
    for (unsigned i = 0; i < 8; i++)
      data[8 + i] = (uint8_t)(sum >> (8 * i));
    if (gi_region_log_decode(&back, data, len)) {
      uint32_t again;
      void *same = gi_region_log_encode(&back, &again);

      passed++;
      assert_int_equal(again, len);
      assert_memory_equal(same, data, len);
      for (uint32_t i = 0; i < back.n; i++)
        assert_sound(&back.note[i].set, GI_REGIONS_LOG);
      gi_free(same);
      gi_region_log_clear(&back);
    }
    gi_free(data);
  }
  assert_true(passed > 100 && passed < 20000);
  gi_region_log_clear(&log);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_bitmap), cmocka_unit_test(test_ends),    cmocka_unit_test(test_closest_are_joined),
      cmocka_unit_test(test_coding),         cmocka_unit_test(test_hostile),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
