/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of names of one directory, each known to be there or not to be there.
 * Found by the name as it is, or whatever its letters' case.
 */
#ifndef NL_NAMES_H
#define NL_NAMES_H

#include "libglusterish/types.h"

struct nl_name {
  struct nl_name *next;
  uint64_t asked; /* gi_now: when it was asked for */
  bool there;
  uint32_t len;
  char text[];
};

/* All zero: empty. */
struct nl_names {
  struct nl_name **bucket;
  uint32_t nbuckets; /* a power of two, or 0 */
  uint32_t count;
  uint64_t bytes; /* allocated */
};

const struct nl_name *nl_names_find(const struct nl_names *n, const char *name);
/* One that is there, in any case of ASCII letters; the same name first. NULL: none. */
const struct nl_name *nl_names_find_like(const struct nl_names *n, const char *name);
void nl_names_put(struct nl_names *n, const char *name, bool there, uint64_t asked); /* replaces what was known of it */
bool nl_names_remove(struct nl_names *n, const char *name);                          /* true if it was in the set */
void nl_names_clear(struct nl_names *n);

#endif
