/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of pieces of a copy between bricks that share a machine: see near.h.
 */
#include "libglusterish/near.h"

#include "libglusterish/mem.h"

#include <endian.h>
#include <string.h>

#define WORDS 2 /* of a piece */

void
gi_near_pieces_put(struct gi_dict *xdata, const struct gi_near_piece *piece, unsigned n)
{
  uint64_t word[GI_NEAR_PIECES * WORDS];

  GI_ASSERT(n >= 1 && n <= GI_NEAR_PIECES);
  for (unsigned i = 0; i < n; i++) {
    word[i * WORDS] = htobe64(piece[i].offset);
    word[i * WORDS + 1] = htobe64(piece[i].len);
  }
  gi_dict_set_bin(xdata, GI_NEAR_PIECES_KEY, word, n * WORDS * (uint32_t)sizeof(word[0]));
}

unsigned
gi_near_pieces_get(const struct gi_dict *xdata, uint64_t offset, uint64_t size, struct gi_near_piece piece[GI_NEAR_PIECES])
{
  uint64_t word[GI_NEAR_PIECES * WORDS], from = offset, end = offset + size;
  const void *data;
  uint32_t len, n;

  if (!gi_dict_get(xdata, GI_NEAR_PIECES_KEY)) {
    piece[0] = (struct gi_near_piece){offset, size};
    return size > 0;
  }
  if (!gi_dict_get_bin(xdata, GI_NEAR_PIECES_KEY, &data, &len) || len > sizeof(word) || len % (WORDS * sizeof(word[0])))
    return 0;
  memcpy(word, data, len);
  n = len / (WORDS * (uint32_t)sizeof(word[0]));
  for (uint32_t i = 0; i < n; i++) {
    struct gi_near_piece p = {be64toh(word[i * WORDS]), be64toh(word[i * WORDS + 1])};

    if (p.offset < from || p.offset >= end || p.len == 0 || p.len > end - p.offset)
      return 0;
    piece[i] = p;
    from = p.offset + p.len;
  }
  return n;
}
