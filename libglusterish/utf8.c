/* SPDX-License-Identifier: Apache-2.0
 *
 * See utf8.h.
 */
#include "libglusterish/utf8.h"

#include <stdbool.h>

unsigned
gi_utf8_len(const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  unsigned n = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
  for (unsigned i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  bool refused = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
                 (s[0] == 0xf4 && s[1] >= 0x90); /* not the shortest form, half of a pair, beyond the last */
  return refused ? 0 : n;
}
