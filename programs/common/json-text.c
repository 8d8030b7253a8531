/* SPDX-License-Identifier: Apache-2.0
 *
 * See json-text.h.
 */
#include "programs/common/json-text.h"
#include "libglusterish/mem.h"

json_t *
ob_text(const char *text)
{
  if (!text)
    return json_null();
  json_t *s = json_string(text);
  if (s)
    return s;
  GI_CLEANUP_FREE char *plain = gi_strdup(text);
  for (char *c = plain; *c; c++)
    if ((unsigned char)*c >= 0x80)
      *c = '?';
  return json_string(plain);
}
