/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of a single name (replicate.md 7.6): for a lookup whose good copies
 * contradict each other, and for a full crawl.
 */
#include "xlators/cluster/replicate/heal/names.h"

int
rep_heal_name(struct rep_heal *h, struct gi_inode *parent, const char *name, const struct gi_gfid *gfid_req)
{
  struct rep_name n = {.h = h, .parent = parent, .name = name, .gfid_req = *gfid_req};
  int err = rep_name_lock(&n, false);

  GI_ASSERT(err <= 0);
  if (!err)
    err = rep_name_settle(&n);
  if (!err)
    h->rep->metrics.heal.names++;
  if (n.mismatch)
    h->split_brain = true;
  rep_name_unlock(&n);
  return err;
}

/* ---- for a lookup ---- */

static void
tell_tool(const struct rep_heal *h, struct gi_fop *fop, int err)
{
  if (h->op == GI_HEAL_NONE)
    return;
  if (err && h->refusal) {
    gi_dict_set_str(gi_fop_rsp_xdata(fop), "gfid-heal-msg", h->refusal);
  } else if (!err) {
    GI_CLEANUP_FREE char *text = gi_asprintf("GFID split-brain resolved for file %s", fop->loc.name);

    gi_dict_set_str(gi_fop_rsp_xdata(fop), "gfid-heal-msg", text);
  }
}

static void
heal_for_lookup(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  struct gi_gfid gfid_req = gi_gfid_none;
  struct rep_heal h;
  int err;

  gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid_req);
  rep_heal_begin(&h, rep, &fop->loc.pargfid, GI_PID_HEAL);
  h.adopts = true;
  rep_heal_read_op(&h, fop->xdata); /* the split-brain tool says which copy shall win */
  err = rep_heal_name(&h, h.inode, fop->loc.name, &gfid_req);
  if (h.split_brain)
    err = -EIO;
  tell_tool(&h, fop, err);
  rep_heal_end(&h);
  rep_fop_resume(rep, fop, -err);
}

void
rep_name_heal(struct rep *rep, struct gi_fop *fop, void (*resume)(struct gi_fop *fop, int err))
{
  rep_fop_wait(rep, fop, resume);
  gi_task_start(rep->x->reactor, heal_for_lookup, fop);
}
