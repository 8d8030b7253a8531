/* SPDX-License-Identifier: Apache-2.0
 *
 * What the management daemon may ask a translator besides heals (heal-op.h):
 * the numbers that struct gi_manage carries in the process. They are no heal's.
 */
#ifndef GI_MANAGE_OP_H
#define GI_MANAGE_OP_H

#include "libglusterish/dict.h"

#include <stdio.h>

enum gi_manage_op {
  GI_MANAGE_INFO = 1001,   /* statistics: `volume profile`, `volume top` (mgmt-protocol.md 5.1) */
  GI_MANAGE_STATUS = 1002, /* a process's clients and tables: `volume status` (mgmt-protocol.md 5.3) */
  GI_MANAGE_CLEAR_LOCKS =
      1003, /* "path", "name" (of the extended attribute that clears); the answer has the attribute's value under "text" */
  GI_MANAGE_REBALANCE = 1004, /* how far a rebalance is (mgmt-protocol.md 5) */
};

/* "op" and "info-op" of GI_MANAGE_INFO, as on the wire */
enum { GI_INFO_PROFILE = 3, GI_INFO_TOP = 4 };
enum { GI_PROFILE_ALL = 1, GI_PROFILE_INCREMENTAL = 2, GI_PROFILE_CUMULATIVE = 3, GI_PROFILE_CLEAR = 4 };
enum gi_top {
  GI_TOP_OPEN = 1,
  GI_TOP_READ = 2,
  GI_TOP_WRITE = 3,
  GI_TOP_OPENDIR = 4,
  GI_TOP_READDIR = 5,
  GI_TOP_READ_PERF = 6,
  GI_TOP_WRITE_PERF = 7,
};
#define GI_TOP_LIST_MAX 100 /* rows of a list */

/* "NAME-I", the fact of a row of a list of GI_INFO_TOP, as text; "" if it is absent. Borrowed from `d`. */
static inline const char *
gi_top_fact(const struct gi_dict *d, const char *name, unsigned i)
{
  char key[64];
  const char *text;
  snprintf(key, sizeof(key), "%s-%u", name, i);
  return gi_dict_get_str(d, key, &text) ? text : "";
}

#endif
