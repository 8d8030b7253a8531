/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of bytes for people.
 */
#include "programs/common/size-text.h"
#include "libglusterish/mem.h"

#include <stdio.h>

char *
cli_size_text(unsigned long long bytes, char buf[32])
{
  static const char *const units[] = {"KB", "MB", "GB", "TB", "PB"};
  double value = (double)bytes / 1024;
  size_t unit = 0;
  if (bytes < 1024) {
    snprintf(buf, 32, "%lluBytes", bytes);
    return buf;
  }
  for (; value >= 1024 && unit + 1 < GI_ARRAY_LEN(units); unit++)
    value /= 1024;
  snprintf(buf, 32, "%.1f%s", value, units[unit]);
  return buf;
}
