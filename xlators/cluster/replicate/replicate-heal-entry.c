/* SPDX-License-Identifier: Apache-2.0
 *
 * Healing the names of a directory.
 */
#include "replicate-heal.h"

int
rep_heal_entry(struct rep_heal *h)
{
  (void)h;
  return -ENOTSUP;
}

int
rep_heal_name(struct rep_heal *h, struct gi_inode *parent, const char *name, const struct gi_gfid *gfid_req)
{
  (void)h, (void)parent, (void)name, (void)gfid_req;
  return -ENOTSUP;
}
