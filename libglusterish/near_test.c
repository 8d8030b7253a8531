/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of pieces of a copy between bricks that share a machine: what is put
 * is got, and nothing else is taken for a list.
 */
#include "libglusterish/near.h"

#include "libglusterish/mem.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define KIB (1u << 10)

static struct gi_near_piece got[GI_NEAR_PIECES];

static void
without_a_list_it_is_the_range(void **state)
{
  struct gi_dict *d = gi_dict_new();

  assert_int_equal(gi_near_pieces_get(NULL, 5, 7, got), 1);
  assert_int_equal(gi_near_pieces_get(d, 5, 7, got), 1);
  assert_int_equal(got[0].offset, 5);
  assert_int_equal(got[0].len, 7);
  assert_int_equal(gi_near_pieces_get(d, 5, 0, got), 0);
  gi_dict_unref(&d);
}

static void
what_is_put_is_got(void **state)
{
  for (unsigned n = 1; n <= GI_NEAR_PIECES; n++) {
    struct gi_near_piece piece[GI_NEAR_PIECES];
    struct gi_dict *d = gi_dict_new();
    uint64_t at = 1ull << 40, end;

    for (unsigned i = 0; i < n; i++, at += i % 3 * KIB) { /* some of them touch */
      piece[i] = (struct gi_near_piece){at, 1 + i * 4096};
      at += piece[i].len;
    }
    end = piece[n - 1].offset + piece[n - 1].len;
    gi_near_pieces_put(d, piece, n);
    assert_int_equal(gi_near_pieces_get(d, 1ull << 40, end - (1ull << 40), got), n);
    assert_memory_equal(got, piece, n * sizeof(piece[0]));
    assert_int_equal(gi_near_pieces_get(d, 0, INT64_MAX, got), n);
    assert_int_equal(gi_near_pieces_get(d, 1ull << 40, end - (1ull << 40) - 1, got), 0);
    assert_int_equal(gi_near_pieces_get(d, (1ull << 40) + 1, end, got), 0);
    gi_dict_unref(&d);
  }
}

static void
lists_that_break_a_rule(void **state)
{
  static const struct gi_near_piece bad[][2] = {
      {{0, 0}, {8, 8}},
      {{0, 8}, {8, 0}},
      {{8, 8}, {0, 8}},
      {{0, 8}, {7, 1}},
      {{0, 8}, {0, 8}},
      {{0, UINT64_MAX}, {8, 8}},
      {{0, 8}, {100, 1}},
      {{0, 8}, {99, 2}},
      {{0, 8}, {99, UINT64_MAX}},
      {{0, 8}, {UINT64_MAX, 1}},
      {{8, UINT64_MAX - 7}, {16, 1}},
  };

  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    struct gi_dict *d = gi_dict_new();

    gi_near_pieces_put(d, bad[i], 2);
    assert_int_equal(gi_near_pieces_get(d, 0, 100, got), 0);
    gi_dict_unref(&d);
  }
}

static void
what_is_no_list(void **state)
{
  const struct gi_near_piece piece = {0, 8};
  struct gi_dict *d = gi_dict_new();
  uint8_t bytes[(GI_NEAR_PIECES + 1) * sizeof(piece)];
  const void *whole;
  uint32_t len;

  for (unsigned i = 0; i <= GI_NEAR_PIECES; i++)
    for (unsigned b = 0; b < sizeof(piece); b++)
      bytes[i * sizeof(piece) + b] = b == 7 ? (uint8_t)(i * 2) : b == 15; /* one byte at each even place */
  gi_dict_set_bin(d, GI_NEAR_PIECES_KEY, bytes, GI_NEAR_PIECES * sizeof(piece));
  assert_int_equal(gi_near_pieces_get(d, 0, 100, got), GI_NEAR_PIECES);
  gi_dict_set_bin(d, GI_NEAR_PIECES_KEY, bytes, sizeof(bytes)); /* too many */
  assert_int_equal(gi_near_pieces_get(d, 0, 100, got), 0);
  for (uint32_t cut = 0; cut < sizeof(piece); cut++) {
    gi_dict_set_bin(d, GI_NEAR_PIECES_KEY, bytes, cut);
    assert_int_equal(gi_near_pieces_get(d, 0, 100, got), 0);
    gi_dict_set_bin(d, GI_NEAR_PIECES_KEY, bytes, cut + sizeof(piece));
    assert_int_equal(gi_near_pieces_get(d, 0, 100, got), cut == 0);
  }
  gi_dict_set_int(d, GI_NEAR_PIECES_KEY, 1);
  assert_int_equal(gi_near_pieces_get(d, 0, 100, got), 0);
  gi_near_pieces_put(d, &piece, 1);
  assert_true(gi_dict_get_bin(d, GI_NEAR_PIECES_KEY, &whole, &len) && len == 16);
  gi_dict_unref(&d);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_list_it_is_the_range),
      cmocka_unit_test(what_is_put_is_got),
      cmocka_unit_test(lists_that_break_a_rule),
      cmocka_unit_test(what_is_no_list),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
