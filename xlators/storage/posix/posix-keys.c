/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and values of extended attributes, as requests have them and as they are
 * stored.
 */
#include "xlators/storage/posix/posix.h"

#include <stdio.h>

bool
posix_key_is_xattr(const char *key)
{
  return strncmp(key, "trusted.", 8) == 0 || strncmp(key, "user.", 5) == 0 || strncmp(key, "security.", 9) == 0 ||
         strncmp(key, "system.", 7) == 0;
}

bool
posix_key_internal(const char *key)
{
  static const char counters[] = "trusted.afr."; /* most of what is asked about */

  if (strncmp(key, counters, sizeof(counters) - 1) == 0)
    return false;
  return strcmp(key, KEY_GFID) == 0 || strcmp(key, KEY_VOLUME_ID) == 0 || strcmp(key, KEY_MDATA) == 0 ||
         strncmp(key, KEY_GFID2PATH, sizeof(KEY_GFID2PATH) - 1) == 0 || strncmp(key, KEY_PGFID, sizeof(KEY_PGFID) - 1) == 0;
}

const void *
posix_value(const struct gi_pair *pair, char text[POSIX_NUMBER_TEXT], uint32_t *len)
{
  const uint8_t *bytes;

  switch (pair->type) {
  case GI_VALUE_INT:
    *len = (uint32_t)snprintf(text, POSIX_NUMBER_TEXT, "%lld", (long long)pair->i) + 1;
    return text;
  case GI_VALUE_UINT:
    *len = (uint32_t)snprintf(text, POSIX_NUMBER_TEXT, "%llu", (unsigned long long)pair->u) + 1;
    return text;
  case GI_VALUE_DOUBLE:
    *len = (uint32_t)snprintf(text, POSIX_NUMBER_TEXT, "%f", pair->d) + 1;
    return text;
  default:
    return gi_pair_bytes(pair, &bytes, len) ? bytes : NULL;
  }
}
