/* SPDX-License-Identifier: Apache-2.0
 *
 * Quiescing: while the set waits for everything under way to end, new operations
 * are held back. Those that we send to ourselves on behalf of one that is under
 * way are not.
 */
#include "xlators/cluster/replicate/set/set.h"

void
rep_quiesce_hold(struct rep *rep, struct gi_fop *fop)
{
  GI_ASSERT(!rep_fop(rep, fop)->held_back && !rep_fop(rep, fop)->inside && !fop->answered);
  rep_fop(rep, fop)->held_back = true;
  gi_list_add_tail(&rep->held_back, &fop->link);
  gi_fop_waits(fop, GI_WAIT_ORDER, "a change of the set of copies", NULL);
}

static void
release(struct rep *rep, struct gi_fop *fop)
{
  GI_ASSERT(rep_fop(rep, fop)->held_back);
  gi_list_del(&fop->link);
  rep_fop(rep, fop)->held_back = false;
}

void
rep_submit_inside(struct rep *rep, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *arg), void *arg)
{
  rep_fop(rep, fop)->inside = true;
  gi_fop_submit(fop, rep->x, done, arg);
}

void
rep_quiesce_end(struct rep *rep)
{
  struct gi_list waiting;

  rep->quiescing = false;
  gi_list_init(&waiting);
  gi_list_splice_tail(&waiting, &rep->held_back);
  while (!gi_list_empty(&waiting)) {
    struct gi_fop *fop = gi_list_first(&waiting, struct gi_fop, link);

    release(rep, fop);
    gi_fop_resume(fop, rep->x, rep->submit(rep->x, fop));
  }
}

bool
rep_quiesce_cancel(struct rep *rep, struct gi_fop *fop)
{
  if (!rep_fop(rep, fop)->held_back)
    return false;
  release(rep, fop);
  rep_answer(rep, fop, -1, EINTR);
  return true;
}

void
rep_quiesce_again(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct rep_fop *rf = rep_fop(rep, fop);

  gi_reply_clear(&fop->rsp);
  rf->err = 0;
  rf->taken_back = false;
  rep_quiesce_hold(rep, fop);
  if (fop->cancelled)
    rep_quiesce_cancel(rep, fop);
  else if (!rep->quiescing) /* that has ended in the meantime */
    rep_quiesce_end(rep);
}
