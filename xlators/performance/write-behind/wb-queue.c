/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits for whom.
 *
 * An operation waits for earlier writes of an overlapping range that were answered
 * early; later ones are concurrent with it. It hangs on one that is in its way,
 * and looks again when that has ended. Writes wait for any earlier overlapping
 * one, so two of them are never under way together. A change other than a WRITE
 * waits for those that overlap, and while there is one no WRITE of the file is
 * admitted: size and times would not be known.
 *
 * Nothing waits in a circle: admitted writes wait for earlier ones only, other
 * operations for admitted writes only, and a WRITE that is not admitted waits for
 * both.
 *
 * Whatever leaves from here may come back before the call returns. So state is
 * changed first, what is to be done lies on lists, and wb_pump takes one thing
 * after another from them; called from inside of itself it does nothing.
 */
#include "write-behind.h"

#include "libglusterish/probe.h"

#include <errno.h>

/* ---- conflicts ---- */

static const struct wb_range everything = {0, WB_END};

/* A kept one had its try for those that were there when it failed, unless they make it go. */
static bool
matches(const struct wb_write *w, const void *arg)
{
  const struct wb_question *q = arg;

  return w->seq < q->seq && (w->changes || !q->told_only) && !(q->patient && w->state == WB_KEPT && w->failed > q->seq);
}

/* The order list has all that were answered early. Those that ended are at its head only until they are told. */
static struct wb_write *
oldest_in_the_way(const struct wb_file *file, const struct wb_question *q)
{
  gi_list_foreach(w, &file->order, struct wb_write, order) {
    GI_ASSERT(w->changes > 0);
    if (w->seq >= q->seq)
      break;
    if (w->state != WB_ENDED && matches(w, q))
      return w;
  }
  return NULL;
}

struct wb_write *
wb_in_the_way(const struct wb_file *file, struct wb_range range, struct wb_question q)
{
  if (q.told_only && range.start == 0 && range.end == WB_END)
    return oldest_in_the_way(file, &q);
  return wb_tree_find(file->root, range, matches, &q);
}

/* ---- waiting ---- */

void
wb_wait_for(struct wb *wb, struct wb_write *w, struct wb_turn *turn)
{
  GI_CHECK(w, WB_WRITE_MAGIC);
  GI_ASSERT(gi_list_empty(&turn->link));
  GI_ASSERT(w->state != WB_ENDED); /* it would never come */
  gi_list_add_tail(&w->waiters, &turn->link);
  if (!turn->write)
    gi_fop_waits(GI_CONTAINER(turn, struct wb_op, turn)->fop, GI_WAIT_ORDER, "a write before it", NULL);
  if (w->state == WB_OPEN)
    wb_seal(wb, w);
  else if (w->state == WB_KEPT)
    wb_resend(wb, w);
}

void
wb_release_waiters(struct wb_write *w)
{
  gi_list_splice_tail(&w->file->recheck, &w->waiters);
}

static struct wb_op *
op_of(const struct wb *wb, struct gi_fop *fop)
{
  return gi_fop_private(fop, wb->x);
}

/* The write in another file that an operation waits for which waits for all. */
static struct wb_write *
anywhere(struct wb *wb, struct wb_question q)
{
  gi_list_foreach(file, &wb->dirty, struct wb_file, dirty) {
    struct wb_write *w = wb_in_the_way(file, everything, q);

    if (w)
      return w;
  }
  return NULL;
}

/* A FLUSH that is sent behind its answer must not let a lock go that is taken after. */
static bool
waits_for_flush(struct wb_op *op)
{
  for (unsigned i = 0; op->takes_lock && i < op->count; i++)
    if (op->file[i]->behind) {
      gi_list_add_tail(&op->file[i]->flushing, &op->turn.link);
      return true;
    }
  return false;
}

/* True: it hangs on something now. */
static bool
must_wait(struct wb *wb, struct wb_op *op)
{
  struct wb_question q = {op->seq, .told_only = !wb_changes(op->fop), .patient = !wb_gives_up(op->fop)};
  struct wb_write *w = NULL;

  while (op->at < op->count) {
    w = wb_in_the_way(op->file[op->at], wb_opts(wb)->strict_order ? everything : op->range[op->at], q);
    if (w)
      break;
    op->at++;
  }
  if (!w && op->everywhere)
    w = anywhere(wb, (struct wb_question){op->seq, true, q.patient});
  if (w) {
    struct wb_file *file = w->file;

    wb_wait_for(wb, w, &op->turn);
    wb_kick(wb, file);
    return true;
  }
  return waits_for_flush(op);
}

/* ---- going on ---- */

static void
count_change(struct wb *wb, struct wb_op *op, bool begins)
{
  GI_ASSERT(op->counted != begins);
  op->counted = begins;
  for (unsigned i = 0; i < op->count; i++) {
    struct wb_file *file = op->file[i];

    GI_ASSERT(begins || file->changing > 0);
    file->changing += begins ? 1 : -1u;
    if (!begins && !file->changing && !gi_list_empty(&file->waiting))
      wb_kick(wb, file); /* WRITEs may be admitted again */
  }
}

static void
flushed_behind(struct gi_fop *fop, void *arg)
{
  struct wb *wb = wb_of(arg);
  struct wb_file *file = wb_file_of(wb, fop->fd->inode, false);

  GI_ASSERT(file && file->behind > 0 && wb->behind > 0);
  file->behind--;
  wb->behind--;
  if (!file->behind) {
    gi_list_splice_tail(&file->recheck, &file->flushing);
    wb_kick(wb, file);
  }
  gi_fop_unref(fop);
  wb_settle(wb);
}

static void
flush_behind(struct wb *wb, struct gi_fop *fop, struct wb_file *file)
{
  struct gi_fop *flush = gi_fop_new(fop->graph, GI_FOP_FLUSH);

  GI_ASSERT(!file->locked);
  gi_fop_set_fd(flush, fop->fd);
  flush->caller = fop->caller;
  gi_caller_detach(&flush->caller);
  file->behind++;
  wb->behind++;
  wb->m.flushed_behind++;
  gi_fop_submit(flush, gi_first_child(wb->x), flushed_behind, wb->x);
}

/* close(2) lets locks go: that must be done when it returns. */
static bool
may_flush_behind(struct wb *wb, const struct gi_fop *fop, const struct wb_op *op)
{
  return fop->kind == GI_FOP_FLUSH && wb_opts(wb)->flush_behind && wb_may_hold(wb) && op->count &&
         !wb_had_locks(wb, op->file[0]->inode) && !gi_dict_count(fop->xdata);
}

/* The error of an earlier write of that range which failed and is kept, or of which nobody was told yet; 0: there is none. */
static int
lacks(const struct wb_file *file, struct wb_range range, uint64_t seq)
{
  if (file->kept || file->lost)
    gi_list_foreach(w, &file->order, struct wb_write, order)
      if ((w->state == WB_KEPT || w->state == WB_ENDED) && w->err && w->seq < seq && wb_overlap(w->range, range))
        return w->err;
  return 0;
}

/* Data that could not be written is not on the bricks, and may get there yet: nobody is shown there what was before. */
static void
look_past(struct wb *wb, struct gi_fop *fop, struct wb_op *op)
{
  bool content = wb_wants_content(fop);

  for (unsigned i = 0; i < op->count; i++) {
    int err = lacks(op->file[i], op->range[i], op->seq);

    if (err && wb_rules[fop->kind] == WB_RANGE)
      op->err = err;
    else if (err && content)
      wb_wants_no_content(fop);
  }
  if (op->everywhere && content)
    gi_list_foreach(file, &wb->dirty, struct wb_file, dirty)
      if (lacks(file, everything, op->seq))
        wb_wants_no_content(fop);
}

/* Nothing is in its way. */
static enum gi_verdict
go_on(struct wb *wb, struct gi_fop *fop, struct wb_op *op)
{
  bool look;

  GI_ASSERT(gi_list_empty(&op->turn.link) && !op->held);
  op->asked = ++wb->clock;
  look_past(wb, fop, op);
  if (fop->kind == GI_FOP_FLUSH)
    op->err = wb_error_of_flush(wb, fop->fd);
  else if (fop->kind == GI_FOP_FSYNC)
    op->err = wb_error_of_fsync(wb, fop->fd);
  if (may_flush_behind(wb, fop, op)) {
    flush_behind(wb, fop, op->file[0]);
    return op->err ? gi_fop_fail(fop, op->err) : gi_fop_ok(fop, 0);
  }
  if (op->synced && !op->err)
    return gi_fop_ok(fop, 0);
  look = (wb_rules[fop->kind] == WB_RANGE && op->count && op->file[0]->root) || wb_rules[fop->kind] == WB_LOOK;
  return op->err || op->counted || op->takes_lock || op->nameless || look ? GI_PASS_TELL : GI_PASS;
}

static void
resume(struct wb *wb, struct wb_op *op)
{
  GI_ASSERT(op->held && wb->held > 0);
  op->held = false;
  wb->held--;
  gi_fop_resume(op->fop, wb->x, go_on(wb, op->fop, op));
}

enum gi_verdict
wb_order(struct wb *wb, struct gi_fop *fop)
{
  struct wb_op *op = op_of(wb, fop);

  wb_op_name(wb, fop, op);
  GI_ASSERT(!op->held && op->count <= GI_ARRAY_LEN(op->file));
  op->seq = ++wb->clock;
  if (wb_changes(fop) && op->count)
    count_change(wb, op, true);
  if (op->takes_lock)
    for (unsigned i = 0; i < op->count; i++)
      op->file[i]->locked = true; /* it is too late to let a FLUSH follow its answer */
  if (fop->kind == GI_FOP_FSYNC || fop->kind == GI_FOP_FLUSH)
    wb_sync_asked(wb, fop, op);
  if (fop->kind == GI_FOP_READ && op->count && op->file[0]->root && wb_answer_read(wb, fop, op->file[0]))
    return GI_ANSWERED;
  if (GI_BROKEN("let operations pass what was answered early") || !must_wait(wb, op))
    return go_on(wb, fop, op);
  op->held = true;
  wb->held++;
  wb->m.waited_data++;
  if (op->everywhere)
    wb_push_all(wb);
  return GI_HELD;
}

void
wb_op_ended(struct wb *wb, struct gi_fop *fop)
{
  struct wb_op *op = op_of(wb, fop);

  GI_ASSERT(!op->held && op->asked);
  if (op->counted) {
    wb_attr_changed(wb, fop, op);
    count_change(wb, op, false);
  } else {
    wb_attr_reply(wb, fop);
  }
  if (op->nameless)
    wb->unnamed = ++wb->clock;
  if (op->takes_lock && fop->rsp.ret >= 0)
    wb_forget_all(wb); /* what a lock protects need not be in the file that is locked */
  if (op->err)
    gi_fop_fail(fop, op->err);
}

/* ---- the pump ---- */

static void
answer_next(struct wb *wb, struct wb_file *file)
{
  struct wb_op *op = gi_list_first(&file->answers, struct wb_op, turn.link);

  gi_list_del(&op->turn.link);
  GI_ASSERT(op->held && wb->held > 0);
  op->held = false;
  wb->held--;
  gi_fop_answer(op->fop, wb->x);
}

static void
recheck_next(struct wb *wb, struct wb_file *file)
{
  struct wb_turn *turn = gi_list_first(&file->recheck, struct wb_turn, link);
  struct wb_op *op = (struct wb_op *)turn;

  gi_list_del(&turn->link);
  GI_ASSERT(turn->write || op->held);
  if (turn->write)
    wb_unblock(wb, GI_CONTAINER(turn, struct wb_write, turn));
  else if (!must_wait(wb, op))
    resume(wb, op);
}

static bool
pump_once(struct wb *wb, struct wb_file *file)
{
  if (!gi_list_empty(&file->answers)) {
    answer_next(wb, file);
    return true;
  }
  if (wb_tell_next(wb, file)) /* before those go on that waited for it: an unlock succeeds whatever became of the data */
    return true;
  if (!gi_list_empty(&file->recheck)) {
    recheck_next(wb, file);
    return true;
  }
  if (wb_admit_next(wb, file))
    return true;
  if (!gi_list_empty(&file->ready)) {
    wb_send(wb, gi_list_first(&file->ready, struct wb_write, ready));
    return true;
  }
  return wb_seal_due(wb, file);
}

/* `inode` is the file's. */
void
wb_pump(struct wb *wb, struct wb_file *file, struct gi_inode *inode)
{
  GI_CHECK(file, WB_FILE_MAGIC);
  GI_ASSERT(file->inode == inode && file->wb == wb);
  if (file->pumping)
    return;
  file->pumping = true;
  gi_inode_ref(inode);
  while (pump_once(wb, file))
    ;
  file->pumping = false;
  GI_ASSERT(gi_list_empty(&file->answers) && gi_list_empty(&file->recheck) && gi_list_empty(&file->ready));
  if (gi_list_empty(&file->order))
    gi_list_del(&file->dirty);
  gi_inode_unref(&inode); /* the file may go with it */
  wb_settle(wb);
}

void
wb_kick(struct wb *wb, struct wb_file *file)
{
  if (!gi_list_empty(&file->kicked))
    return;
  GI_ASSERT(!file->kicker);
  file->kicker = gi_inode_ref(file->inode);
  gi_list_add_tail(&wb->kicked, &file->kicked);
  gi_defer_add(wb->x->reactor, &wb->kick);
}

void
wb_kicked(void *arg)
{
  struct wb *wb = arg;

  while (!gi_list_empty(&wb->kicked)) {
    struct wb_file *file = gi_list_first(&wb->kicked, struct wb_file, kicked);
    struct gi_inode *inode = file->kicker;

    GI_ASSERT(inode == file->inode);
    gi_list_del(&file->kicked);
    file->kicker = NULL;
    wb_pump(wb, file, inode);
    gi_inode_unref(&inode);
  }
  wb_settle(wb);
}

void
wb_settle(struct wb *wb)
{
  bool idle = gi_list_empty(&wb->dirty) && gi_list_empty(&wb->kicked) && !wb->held && !wb->behind;

  if (!idle)
    return;
  if (wb->drained && !wb->untold) {
    void (*drained)(struct gi_xlator * x) = wb->drained;

    wb->drained = NULL;
    drained(wb->x);
  }
  if (wb->pass_down) {
    wb->pass_down = false;
    gi_notify_down(wb->x, GI_EVENT_PARENT_DOWN, NULL);
  }
}

bool
wb_cancel(struct wb *wb, struct gi_fop *fop)
{
  struct wb_op *op = op_of(wb, fop);

  if (!op->held || gi_list_empty(&op->turn.link) || fop->answered)
    return false;
  if (fop->kind == GI_FOP_WRITE && fop->rsp.ret != 0) /* it is about to be answered */
    return false;
  gi_list_del(&op->turn.link);
  op->held = false;
  wb->held--;
  if (op->counted)
    count_change(wb, op, false);
  gi_fop_fail(fop, EINTR);
  gi_fop_answer(fop, wb->x);
  wb_settle(wb);
  return true;
}
