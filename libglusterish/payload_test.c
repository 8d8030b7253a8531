/* SPDX-License-Identifier: Apache-2.0
 *
 * Unit test of buffers and payloads.
 */
#include "libglusterish/payload.h"
#include "libglusterish/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void
test_buffers(void **state)
{
  static const struct {
    size_t want, capacity;
  } cases[] = {{0, 4096},        {1, 4096},          {4096, 4096},
               {4097, 8192},     {8193, 16384},      {131072, 131072},
               {135168, 262144}, {2 << 20, 2 << 20}, {(2 << 20) + 1, (2 << 20) + 4096}};
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct gi_buf *b = gi_buf_new(cases[i].want);
    assert_int_equal(b->capacity, cases[i].capacity);
    assert_int_equal((uintptr_t)b->base % GI_PAGE, 0);
    memset(b->base, 0x5a, b->capacity);
    struct gi_buf *again = gi_buf_ref(b);
    gi_buf_unref(&b);
    assert_null(b);
    assert_int_equal(again->refs, 1);
    gi_buf_unref(&again);
  }
  struct gi_buf *none = NULL;
  gi_buf_unref(&none);
}

/* More than the pool keeps, so that freeing to the allocator runs too. */
static void
test_many_buffers(void **state)
{
  struct gi_buf *b[80];
  for (int round = 0; round < 2; round++) {
    for (unsigned i = 0; i < GI_ARRAY_LEN(b); i++) {
      b[i] = gi_buf_new(1 << 20);
      b[i]->base[0] = 1;
    }
    for (unsigned i = 0; i < GI_ARRAY_LEN(b); i++)
      gi_buf_unref(&b[i]);
  }
}

static void
check_content(const struct gi_payload *p, const uint8_t *want, size_t len)
{
  uint8_t *got = gi_alloc(len);
  size_t sum = 0;
  assert_int_equal(p->len, len);
  for (uint32_t i = 0; i < p->count; i++)
    sum += p->slice[i].len;
  assert_int_equal(sum, len);
  assert_int_equal(gi_payload_read(p, 0, got, len), len);
  assert_memory_equal(got, want, len);
  gi_free(got);
}

static struct gi_buf *
filled(uint8_t *pattern, size_t len)
{
  struct gi_buf *b = gi_buf_new(len);
  for (size_t i = 0; i < len; i++)
    b->base[i] = pattern[i] = (uint8_t)(i * 7 + i / 251);
  return b;
}

static void
test_by_reference(void **state)
{
  uint8_t pattern[8192];
  struct gi_buf *b = filled(pattern, sizeof(pattern));
  struct gi_payload p = {0}, part = {0}, all = {0};
  uint64_t copied = gi_payload_copied;
  gi_payload_add(&p, b, b->base, 1000);
  gi_payload_add(&p, b, b->base + 1000, 1000); /* neighbours become one */
  assert_int_equal(p.count, 1);
  gi_payload_add(&p, b, b->base + 4096, 0);
  gi_payload_add(&p, b, b->base + 4096, 4096);
  assert_int_equal(p.count, 2);
  assert_int_equal(b->refs, 3);
  struct iovec iov[GI_PAYLOAD_SLICES];
  assert_int_equal(gi_payload_iov(&p, iov), 2);
  assert_int_equal(iov[1].iov_len, 4096);
  gi_payload_slice(&p, 1999, 2, &part);
  gi_payload_append(&all, &part);
  gi_payload_append(&all, &p);
  assert_true(gi_payload_copied == copied);
  assert_int_equal(part.slice[0].data[0], pattern[1999]);
  assert_int_equal(part.slice[1].data[0], pattern[4096]);
  gi_payload_trim(&p, 2000);
  assert_int_equal(p.count, 1);
  gi_payload_trim(&p, 10);
  gi_payload_trim(&p, 20);
  check_content(&p, pattern, 10);
  gi_payload_slice(&all, all.len, 0, &(struct gi_payload){0});
  gi_payload_trim(&all, 0);
  assert_int_equal(all.count, 0);
  gi_payload_clear(&p);
  gi_payload_clear(&part);
  assert_int_equal(b->refs, 1);
  gi_buf_unref(&b);
}

/* What lies in a row becomes one slice, whatever the number of payloads it comes in; what does not stays apart. */
static void
test_row_becomes_one(void **state)
{
  static uint8_t pattern[40 * GI_PAGE], other[GI_PAGE];
  struct gi_buf *b = filled(pattern, sizeof(pattern)), *c = filled(other, sizeof(other));
  struct gi_payload row = {0}, one[20] = {0};
  uint64_t copied = gi_payload_copied;
  for (unsigned i = 0; i < 20; i++) {
    gi_payload_add(&one[i], b, b->base + 2 * i * GI_PAGE, 2 * GI_PAGE);
    gi_payload_append(&row, &one[i]);
  }
  assert_int_equal(row.count, 1);
  assert_int_equal(b->refs, 22); /* ours, one each, and the row's */
  assert_int_equal(gi_payload_pinned(&row), b->capacity);
  for (unsigned i = 0; i < 20; i++)
    gi_payload_clear(&one[i]);
  check_content(&row, pattern, sizeof(pattern));
  copied += sizeof(pattern); /* by the check */
  gi_payload_add(&row, c, c->base, 100);
  gi_payload_add(&row, b, b->base, 100); /* of the same buffer as the first, but not behind the last */
  gi_payload_add(&row, b, b->base + 200, 100);
  assert_int_equal(row.count, 4);
  assert_int_equal(gi_payload_copied, copied);
  gi_payload_clear(&row);
  assert_int_equal(b->refs, 1);
  gi_buf_unref(&b);
  gi_buf_unref(&c);
}

static void
test_gather_when_full(void **state)
{
  uint8_t pattern[65536], want[65536];
  struct gi_buf *b = filled(pattern, sizeof(pattern));
  struct gi_payload p = {0};
  size_t len = 0;
  uint64_t copied = gi_payload_copied;
  for (size_t i = 0; i < 200; i++) {
    size_t off = (i * 37) % 60000, n = 1 + i * 3 % 300;
    gi_payload_add(&p, b, b->base + off, n);
    memcpy(want + len, pattern + off, n);
    len += n;
    assert_true(p.count <= GI_PAYLOAD_SLICES);
  }
  /* Each byte at most about twice, however many additions. */
  assert_true(gi_payload_copied - copied < 3 * len);
  check_content(&p, want, len);
  gi_payload_clear(&p);
  assert_int_equal(b->refs, 1);
  gi_buf_unref(&b);
}

static void
test_copies(void **state)
{
  struct gi_payload p = {0}, shared = {0};
  gi_payload_add_copy(&p, "hello ", 6);
  gi_payload_add_copy(&p, "world", 5);
  assert_int_equal(p.count, 1);
  check_content(&p, (const uint8_t *)"hello world", 11);
  /* Seen by somebody else: what is added must not appear there. */
  gi_payload_append(&shared, &p);
  gi_payload_add_copy(&p, "!", 1);
  gi_payload_add_copy(&p, "", 0);
  assert_int_equal(p.count, 2);
  check_content(&shared, (const uint8_t *)"hello world", 11);
  char tail[8];
  assert_int_equal(gi_payload_read(&p, 10, tail, sizeof(tail)), 2);
  assert_memory_equal(tail, "d!", 2);
  assert_int_equal(gi_payload_read(&p, 100, tail, sizeof(tail)), 0);
  gi_payload_clear(&p);
  gi_payload_clear(&shared);
  static const uint8_t zeroes[16];
  for (int i = 0; i < 20; i++)
    gi_payload_add(&p, NULL, zeroes, 16);
  assert_int_equal(p.len, 320);
  gi_payload_clear(&p);
}

/* What a payload keeps from being freed is whole buffers, each once. */
static void
test_pinned_and_compact(void **state)
{
  uint8_t pattern[1 << 17];
  struct gi_buf *large = filled(pattern, sizeof(pattern)), *small = gi_buf_new(GI_PAGE);
  struct gi_payload p = {0}, whole = {0};
  static const uint8_t zeroes[16];
  uint8_t want[3000];

  assert_int_equal(gi_payload_pinned(&p), 0);
  assert_false(gi_payload_compact(&p));
  gi_payload_add(&p, NULL, zeroes, sizeof(zeroes));
  assert_int_equal(gi_payload_pinned(&p), 0);
  gi_payload_clear(&p);

  gi_payload_add(&p, large, large->base + 5000, 1000);
  gi_payload_add(&p, small, small->base, 1000);
  gi_payload_add(&p, large, large->base + 9000, 1000);
  memset(small->base, 7, 1000);
  memcpy(want, pattern + 5000, 1000);
  memset(want + 1000, 7, 1000);
  memcpy(want + 2000, pattern + 9000, 1000);
  assert_int_equal(gi_payload_pinned(&p), (1 << 17) + GI_PAGE);
  uint64_t copied = gi_payload_copied;
  assert_true(gi_payload_compact(&p));
  assert_int_equal(gi_payload_copied - copied, 3000);
  assert_int_equal(p.count, 1);
  assert_int_equal(gi_payload_pinned(&p), GI_PAGE);
  assert_int_equal(large->refs, 1);
  assert_int_equal(small->refs, 1);
  check_content(&p, want, sizeof(want));
  assert_false(gi_payload_compact(&p));
  gi_payload_clear(&p);

  /* Half of a buffer is not worth a copy. */
  gi_payload_add(&whole, large, large->base, sizeof(pattern) / 2);
  assert_false(gi_payload_compact(&whole));
  assert_int_equal(gi_payload_pinned(&whole), 1 << 17);
  gi_payload_clear(&whole);
  gi_buf_unref(&large);
  gi_buf_unref(&small);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buffers),
      cmocka_unit_test(test_many_buffers),
      cmocka_unit_test(test_by_reference),
      cmocka_unit_test(test_row_becomes_one),
      cmocka_unit_test(test_gather_when_full),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_pinned_and_compact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
