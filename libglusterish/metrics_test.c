/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of counters, histograms and the statedump writer.
 */
#include "libglusterish/dump.h"
#include "libglusterish/payload.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void
test_one_value(void **state)
{
  struct gi_hist *h = gi_new(struct gi_hist);
  assert_int_equal(gi_hist_quantile(h, 0.5), 0);
  static const uint64_t values[] = {0, 1, 15, 16, 17, 31, 32, 1000, 123456789, 1ull << 62, UINT64_MAX};
  for (unsigned i = 0; i < GI_ARRAY_LEN(values); i++) {
    gi_hist_reset(h);
    gi_hist_add(h, values[i]);
    /* One sample: minimum and maximum make it exact. */
    assert_true(gi_hist_quantile(h, 0) == values[i]);
    assert_true(gi_hist_quantile(h, 0.5) == values[i]);
    assert_true(gi_hist_quantile(h, 1) == values[i]);
  }
  gi_free(h);
}

/* Samples with known quantiles: the error stays within the promised 1/16. */
static void
test_error_bound(void **state)
{
  struct gi_hist *h = gi_new(struct gi_hist);
  for (uint64_t scale = 1; scale < 1ull << 40; scale *= 13) {
    gi_hist_reset(h);
    for (uint64_t i = 1; i <= 1000; i++)
      gi_hist_add(h, i * scale);
    assert_int_equal(h->count, 1000);
    assert_true(h->min == scale && h->max == 1000 * scale && h->sum == 500500 * scale);
    for (unsigned permille = 1; permille < 1000; permille++) {
      double want = (double)permille * (double)scale;
      double got = (double)gi_hist_quantile(h, (permille + 0.5) / 1000);
      assert_true(got >= want * (1 - 0.0625) - 1 && got <= want * 1.0625 + 1);
    }
  }
  gi_free(h);
}

/* Two that are added up are as one that saw all; a bucket that is full keeps its share. */
static void
test_merge_and_overflow(void **state)
{
  struct gi_hist *a = gi_new(struct gi_hist), *b = gi_new(struct gi_hist);
  for (uint64_t i = 1; i <= 1000; i++)
    gi_hist_add(i % 2 ? a : b, i * 1000);
  gi_hist_merge(a, b);
  assert_true(a->count == 1000 && a->min == 1000 && a->max == 1000000 && a->sum == 500500000);
  assert_in_range(gi_hist_quantile(a, 0.5), 450000, 550000);
  gi_hist_reset(b);
  gi_hist_merge(a, b);
  assert_int_equal(a->count, 1000);
  gi_hist_add_times(b, 10, UINT32_MAX);
  gi_hist_add_times(b, 1000, UINT32_MAX);
  gi_hist_add_times(b, 10, UINT32_MAX);
  gi_hist_merge(b, b);
  assert_true(b->count == 6ull * UINT32_MAX);
  assert_int_equal(gi_hist_quantile(b, 0.6), 10);
  assert_in_range(gi_hist_quantile(b, 0.7), 900, 1100);
  gi_free(a);
  gi_free(b);
}

struct counters {
  uint64_t reads, bytes;
};

static const struct gi_metric table[] = {
    GI_METRIC(struct counters, reads, "", "Reads."),
    GI_METRIC(struct counters, bytes, "bytes", "Bytes read."),
    GI_METRIC_END,
};

static void
test_dump(void **state)
{
  char *text;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  struct counters c = {.reads = 3, .bytes = UINT64_MAX};
  gi_dump_section(&d, "xlator.%s.%s", "debug/trace", "v-trace");
  gi_dump_kv(&d, "path", "%s", "/a\nb");
  gi_dump_metrics(&d, table, &c);
  char big[2000];
  memset(big, 'y', sizeof(big) - 1);
  big[sizeof(big) - 1] = '\0';
  gi_dump_section(&d, "big");
  gi_dump_kv(&d, "value", "%s", big);
  fclose(d.out);
  const char *head = "\n[xlator.debug/trace.v-trace]\npath=/a\\012b\nreads=3\nbytes=18446744073709551615\n\n[big]\nvalue=yyy";
  assert_memory_equal(text, head, strlen(head));
  assert_int_equal(text[len - 1], '\n');
  assert_int_equal(len, strlen(head) - 3 + sizeof(big) - 1 + 1);
  free(text);
}

static void
test_memory_is_accounted(void **state)
{
  char *text = NULL;
  size_t len;
  uint64_t before = gi_buf_bytes_live;
  struct gi_buf *buf = gi_buf_new(100000);
  struct gi_dump d = {.out = open_memstream(&text, &len)};
  (void)state;
  assert_int_equal(gi_buf_bytes_live, before + buf->capacity);
  gi_dump_memory(&d);
  fclose(d.out);
  assert_non_null(strstr(text, "[mallinfo]"));
  assert_non_null(strstr(text, "allocated="));
  char line[64];
  snprintf(line, sizeof(line), "payload_live=%llu\n", (unsigned long long)gi_buf_bytes_live);
  assert_non_null(strstr(text, line));
  free(text);
  gi_buf_unref(&buf);
  assert_int_equal(gi_buf_bytes_live, before);
}

static void
test_hist_below(void **state)
{
  static struct gi_hist h;
  uint64_t below[4];
  gi_hist_reset(&h);
  gi_hist_below(&h, 10, below, 4);
  assert_int_equal(below[3], 0);
  gi_hist_add_times(&h, 1023, 3);
  gi_hist_add(&h, 1024);
  gi_hist_add(&h, 4095);
  gi_hist_add(&h, 1ull << 40);
  gi_hist_below(&h, 10, below, 4);
  assert_int_equal(below[0], 3);
  assert_int_equal(below[1], 4);
  assert_int_equal(below[2], 5);
  assert_int_equal(below[3], 5);
  for (unsigned i = 0; i < 3; i++)
    gi_hist_add_times(&h, 1000, 2000000000); /* more than a bucket takes */
  gi_hist_below(&h, 10, below, 4);
  assert_true(below[0] > 5900000000 && below[0] <= h.count);
  assert_true(below[3] >= below[0] && below[3] <= h.count);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hist_below),  cmocka_unit_test(test_memory_is_accounted), cmocka_unit_test(test_one_value),
      cmocka_unit_test(test_error_bound), cmocka_unit_test(test_merge_and_overflow),  cmocka_unit_test(test_dump),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
