/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sinks may copy from the source by themselves: they share a machine
 * (libglusterish/near.h).
 */
#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/fs.h"
#include "libglusterish/near.h"

static bool
told(const struct gi_fan *fan, unsigned child, const char **where)
{
  return ((fan->ok >> child) & 1) && gi_dict_get_str(gi_fan_reply(fan, child)->rsp.dict, GI_NEAR_KEY, where);
}

uint32_t
rep_heal_local_copy(struct rep_heal *h, unsigned source, uint32_t sinks, char **where)
{
  uint32_t able = sinks & h->rep->local_copy, near = 0;
  const char *there, *here;
  struct gi_fop *fop;
  struct gi_fan fan;

  *where = NULL;
  if (!able || !((h->rep->local_copy >> source) & 1))
    return 0;
  fop = rep_heal_inode_fop(h, GI_FOP_GETXATTR, h->inode);
  fop->args.name = GI_NEAR_KEY;
  rep_heal_fan(h, fop, able | 1u << source, &fan);
  if (told(&fan, source, &there)) {
    rep_foreach(i, able) if (told(&fan, i, &here) && gi_fs_same_machine(there, here)) near |= 1u << i;
    if (near)
      *where = gi_strdup(there);
  }
  gi_fan_clear(&fan);
  return near;
}
