/* SPDX-License-Identifier: Apache-2.0
 *
 * The fsync that goes with the last write.
 *
 * Who writes a log writes a little, has it synced, and waits for that, again and
 * again. The next bytes of a file whose last ones were followed by an fsync wait
 * for theirs. If nothing else of the file is on its way, the message says that an
 * fsync waits for it (args.sync), and the answer to it is also that to the fsync:
 * one message and one wait instead of two. Bricks that do not do so leave
 * rsp.synced, and the fsync follows as ever.
 */
#include "write-behind.h"

/* All that was answered early and is not on the bricks lies in one message that has not left; NULL: it does not, or there is none. */
static struct wb_write *
only_message(const struct wb_file *file)
{
  struct wb_write *only = NULL;

  if (file->in_flight || file->kept || file->lost || file->changing || !gi_list_empty(&file->ready))
    return NULL;
  gi_list_foreach(w, &file->order, struct wb_write, order) {
    if (w->state == WB_ENDED)
      continue;
    if (only || w->state != WB_OPEN || w->blocked)
      return NULL;
    only = w;
  }
  return only;
}

/* The kernel has a time of its own of what it writes back: the bytes take it along. Who gave it is told what they left. */
static void
give_time(struct wb_write *w, const struct gi_fop *fop)
{
  if (w && fop->args.valid & GI_SET_MTIME)
    w->caller.time = fop->args.iatt.mtime;
}

void
wb_sync_asked(struct wb *wb, struct gi_fop *fop, struct wb_op *op)
{
  struct wb_file *file = op->count ? op->file[0] : NULL;
  uint8_t sync = fop->args.datasync ? GI_SYNC_DATA : GI_SYNC_ALL;
  struct wb_write *w;

  if (!file || gi_list_empty(&file->order) || !wb_may_hold(wb))
    return;
  w = only_message(file);
  give_time(w, fop);
  if (fop->kind == GI_FOP_FLUSH)
    return;
  if (wb->alone) {
    wb->alone--;
    return;
  }
  file->syncs = true;
  if (!w || fop->caller.pid < 0 || gi_dict_count(fop->xdata))
    return;
  w->sync = sync > w->sync ? sync : w->sync;
  op->rides = true;
}

void
wb_sync_done(struct wb *wb, struct wb_write *w, bool synced)
{
  if (!w->sync)
    return;
  wb->m.synced += synced;
  wb->alone = synced ? 0 : WB_ALONE;
  w->file->syncs = synced;
  gi_list_foreach(turn, &w->waiters, struct wb_turn, link) {
    struct wb_op *op = GI_CONTAINER(turn, struct wb_op, turn);

    if (turn->write || !op->rides || !synced)
      continue;
    GI_ASSERT(op->fop->kind == GI_FOP_FSYNC && !op->fop->answered);
    op->synced = true;
    op->fop->rsp.pre = op->fop->rsp.post = w->left;
  }
}
