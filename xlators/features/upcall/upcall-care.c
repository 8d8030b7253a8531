/* SPDX-License-Identifier: Apache-2.0
 *
 * Which extended attributes clients keep: what they sent in IPC, all clients
 * together, until the brick ends (brick.md 11.4).
 */
#include "xlators/features/upcall/upcall.h"

#include <errno.h>
#include <fnmatch.h>

static bool
is_known(const struct upcall *up, const char *pattern)
{
  for (uint32_t i = 0; i < up->ncare; i++)
    if (strcmp(up->care[i], pattern) == 0)
      return true;
  return false;
}

int
up_care(struct upcall *up, const struct gi_dict *names)
{
  for (uint32_t i = 0; i < gi_dict_count(names); i++) {
    const char *pattern = gi_dict_at(names, i)->key;
    if (is_known(up, pattern))
      continue;
    if (up->ncare == UP_CARE_MAX || strlen(pattern) > GI_NAME_MAX)
      return ENOSPC;
    up->care = gi_realloc(up->care, (up->ncare + 1) * sizeof(*up->care));
    up->care[up->ncare++] = gi_strdup(pattern);
  }
  GI_ASSERT(up->ncare <= UP_CARE_MAX);
  return 0;
}

bool
up_cares(const struct upcall *up, const char *name)
{
  for (uint32_t i = 0; i < up->ncare; i++)
    if (fnmatch(up->care[i], name, 0) == 0)
      return true;
  return false;
}

void
up_care_finish(struct upcall *up)
{
  for (uint32_t i = 0; i < up->ncare; i++)
    gi_free(up->care[i]);
  gi_free(up->care);
  up->care = NULL;
  up->ncare = 0;
}
