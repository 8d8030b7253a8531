/* SPDX-License-Identifier: Apache-2.0
 *
 * Local discovery: asks each child once which host its brick is on, and
 * remembers one that is on ours as the preferred child for reading
 * (option choose-local).
 */
#include "xlators/cluster/replicate/set/set.h"

#include "libglusterish/pathinfo.h"

bool
rep_local_is(const struct rep *rep, const char *pathinfo)
{
  const char *node = rep_opts(rep)->heal.node_uuid;

  return gi_pathinfo_is_here(pathinfo) || (node && gi_pathinfo_names(pathinfo, node));
}

static void
discovered(struct gi_fop *fop, void *arg)
{
  struct rep *rep = arg;
  int child = fop->child;
  const char *text;

  if (fop->rsp.ret >= 0 && gi_dict_get_str(fop->rsp.dict, fop->args.name, &text) && rep_local_is(rep, text) &&
      (rep->local < 0 || child < rep->local))
    rep->local = child;
  GI_ASSERT(rep->local < (int)rep->n);
  gi_fop_unref(fop);
  rep_busy_put(rep, REP_WORK_MESSAGES);
}

void
rep_local_discover(struct rep *rep)
{
  if (!rep_opts(rep)->choose_local)
    return; /* it may be set later */
  rep->discovered = true;
  rep_foreach(i, rep->up)
  {
    struct gi_fop *fop = gi_fop_new(rep->x->graph, GI_FOP_GETXATTR);

    fop->child = (uint8_t)i;
    fop->loc.gfid = gi_gfid_root;
    fop->loc.inode = gi_inode_get(rep->x->graph, &gi_gfid_root);
    fop->args.name = "trusted.glusterfs.pathinfo";
    rep_busy_get(rep, REP_WORK_MESSAGES);
    gi_fop_submit(fop, rep->x->children[i], discovered, rep);
  }
}
