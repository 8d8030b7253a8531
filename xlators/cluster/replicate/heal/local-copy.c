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
  uint32_t able = sinks & h->rep->local_copy, local = 0;
  const char *there, *here;
  struct gi_fop *fop;
  struct gi_fan fan;

  GI_ASSERT(source < h->rep->n && !((sinks >> source) & 1));
  *where = NULL;
  if (!able || !((h->rep->local_copy >> source) & 1))
    return 0;
  fop = rep_heal_inode_fop(h, GI_FOP_GETXATTR, h->inode);
  fop->args.name = GI_NEAR_KEY;
  rep_heal_fan(h, fop, able | 1u << source, &fan);
  if (told(&fan, source, &there)) {
    rep_foreach(i, able) if (told(&fan, i, &here) && gi_fs_same_machine(there, here)) local |= 1u << i;
    if (local)
      *where = gi_strdup(there);
  }
  gi_fan_clear(&fan);
  GI_ASSERT(!(local & ~sinks) && !local == !*where);
  return local;
}
