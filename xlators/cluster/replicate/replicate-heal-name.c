/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of a single name (replicate.md 7.6): for a lookup that found it
 * differing, and for a full crawl.
 */
#include "replicate-heal-names.h"

int
rep_heal_name(struct rep_heal *h, struct gi_inode *parent, const char *name, const struct gi_gfid *gfid_req)
{
  struct rep_name n = {.h = h, .parent = parent, .name = name, .gfid_req = *gfid_req};
  int err = rep_name_lock(&n, false);

  if (!err)
    err = rep_name_settle(&n);
  if (n.mismatch)
    h->split_brain = true;
  rep_name_unlock(&n);
  return err;
}
