/* SPDX-License-Identifier: Apache-2.0
 *
 * A client is gone, and may have told this brick of a change and others not: the object is marked as one with a change under way, so that
 * healers compare its copies.
 */
#include "xlators/features/index/index.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/probe.h"

enum { DATA, METADATA, ENTRY, COUNTERS }; /* of a mark (replicate.md 3) */

static void
marked(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  char gfid[GI_UUID_TEXT];

  if (fop->rsp.ret < 0 && fop->rsp.err != ENOENT && fop->rsp.err != ESTALE)
    gi_log(GI_LOG_WARNING, x->name, GI_MSG_INDEX + 3,
           "%s could not be marked for the healers, though who changed it is gone: %s", gi_gfid_text(&fop->loc.gfid, gfid),
           strerror(fop->rsp.err));
  gi_fop_unref(fop);
}

void
ix_left(struct gi_xlator *x, const struct gi_left *left)
{
  struct ix_private *p = ix_private(x);
  uint8_t mark[COUNTERS * sizeof(uint32_t)] = {0};
  struct gi_fop *fop;

  if (!p->watch[IX_DIRTY] || p->fd[IX_DIRTY] < 0)
    return;
  GI_PROBE("index: a change of a client that is gone is marked");
  gi_be32_store(mark + METADATA * sizeof(uint32_t), left->attributes);
  gi_be32_store(mark + ENTRY * sizeof(uint32_t), left->names);
  fop = gi_fop_new(x->graph, GI_FOP_XATTROP);
  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = gi_dict_new();
  gi_dict_set_bin(fop->args.dict, p->watch[IX_DIRTY][0], mark, sizeof(mark));
  fop->loc.gfid = left->inode->gfid;
  fop->loc.inode = gi_inode_ref(left->inode);
  p->metrics.left++;
  gi_fop_submit(fop, x, marked, x);
}
