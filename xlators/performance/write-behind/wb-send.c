/* SPDX-License-Identifier: Apache-2.0
 *
 * From the message to its end.
 *
 * What a short WRITE left is sent again. What failed is lost, and told to every
 * descriptor that is open (wb-error.c), or kept and tried again, if the volume
 * says so, until the next attempt that somebody with a claim to newer data, or
 * who closes the file, waits for.
 *
 * Who stands above hears of the end of each early answer once, the oldest first:
 * a message that ended before an older one is told after it.
 */
#include "write-behind.h"

#include <errno.h>

static void
free_write(struct wb_write *w)
{
  GI_CHECK(w, WB_WRITE_MAGIC);
  GI_ASSERT(!w->node.in && !w->data.len && gi_list_empty(&w->waiters) && gi_list_empty(&w->turn.link));
  w->magic = 0;
  gi_free((void *)w->caller.groups);
  gi_inode_unref(&w->inode);
  gi_free(w);
}

static void
give_back(struct wb *wb, struct wb_write *w)
{
  GI_ASSERT(w->file->bytes >= w->drawn && wb->bytes >= w->drawn && wb->cost >= w->cost);
  w->file->bytes -= w->drawn;
  wb->bytes -= w->drawn;
  wb->cost -= w->cost;
  w->drawn = w->cost = 0;
  wb->m.dirty = wb->bytes;
  gi_payload_clear(&w->data);
  while (!gi_list_empty(&wb->starved)) {
    struct wb_file *file = gi_list_first(&wb->starved, struct wb_file, starved);

    gi_list_del(&file->starved);
    wb_kick(wb, file);
  }
}

/* Where the bytes of one that was not answered early end on the bricks; 0: that is not known, it appends. */
static uint64_t
end_of(const struct wb_write *w)
{
  return w->range.end == WB_END ? 0 : w->offset + (uint64_t)w->original->rsp.ret;
}

/* The file is kept by the caller. */
static void
end_write(struct wb *wb, struct wb_write *w, int err)
{
  struct wb_file *file = w->file;

  GI_ASSERT(w->state == WB_SENT);
  w->state = WB_ENDED;
  w->err = err;
  wb_tree_remove(&file->root, w);
  wb_sync_done(wb, w, w->synced && !err);
  wb_release_waiters(w);
  if (err)
    wb_forget(wb, file);
  else if (!wb_attr_written(wb, file, &w->left, w->sent) && w->original) /* what was answered early is known anyway */
    wb_attr_untaught(wb, file, end_of(w));
  file->moved = wb->moved = ++wb->clock;
  give_back(wb, w);
  if (err && w->changes) {
    file->lost++;
    wb_error_spread(wb, w->inode, err);
  }
  gi_fd_unref(&w->fd);
  if (!w->changes)
    free_write(w);
}

bool
wb_tell_next(struct wb *wb, struct wb_file *file)
{
  struct wb_write *w = gi_list_empty(&file->order) ? NULL : gi_list_first(&file->order, struct wb_write, order);
  struct gi_written news;

  if (!w || w->state != WB_ENDED)
    return false;
  GI_ASSERT(w->changes > 0 && !w->node.in);
  gi_list_del(&w->order);
  GI_ASSERT(!w->err || file->lost > 0);
  file->lost -= w->err != 0;
  news = (struct gi_written){
      .inode = w->inode, .changes = w->changes, .err = w->err, .found = &w->found, .left = &w->left, .asked = w->asked};
  wb->m.written += w->changes;
  GI_ASSERT(wb->x->ctx->unwritten >= w->changes);
  wb->x->ctx->unwritten -= w->changes;
  gi_notify_up(wb->x, GI_EVENT_WRITTEN, &news);
  free_write(w);
  return true;
}

/* ---- failures ---- */

static bool
gives_up(const struct wb_turn *turn)
{
  const struct wb_op *op = (const struct wb_op *)turn;

  return turn->write || wb_gives_up(op->fop);
}

static bool
is_kept(struct wb *wb, const struct wb_write *w)
{
  if (!wb_opts(wb)->resync || !wb_may_hold(wb) || !gi_list_empty(&wb->starved))
    return false;
  gi_list_foreach(turn, &w->waiters, struct wb_turn, link)
    if (gives_up(turn))
      return false;
  return true;
}

static void
fail(struct wb *wb, struct wb_write *w, int err)
{
  if (!is_kept(wb, w)) {
    end_write(wb, w, err);
    return;
  }
  w->state = WB_KEPT;
  w->err = err;
  w->file->kept++;
  w->failed = ++wb->clock;
  wb->m.kept++;
  wb_forget(wb, w->file);
  wb_error_spread(wb, w->inode, err);
  wb_release_waiters(w);
}

void
wb_resend(struct wb *wb, struct wb_write *w)
{
  GI_ASSERT(w->state == WB_KEPT && !w->blocked);
  GI_ASSERT(w->file->kept > 0);
  w->file->kept--;
  w->state = WB_SEALED;
  gi_list_add_tail(&w->file->ready, &w->ready);
}

/* ---- sending ---- */

static void transmit(struct wb *wb, struct wb_write *w);

static void
note_attributes(struct wb_write *w, const struct gi_fop *fop)
{
  if (!w->began)
    w->found = fop->rsp.pre;
  w->began = true;
  w->left = fop->rsp.post;
  w->synced = fop->rsp.synced == GI_SYNCED;
}

static void
drop_front(struct wb_write *w, size_t len)
{
  struct gi_payload rest = {0};

  gi_payload_slice(&w->data, len, w->data.len - len, &rest);
  gi_payload_clear(&w->data);
  w->data = rest;
  w->offset += len;
}

static void
sent(struct gi_fop *fop, void *arg)
{
  struct wb_write *w = arg;
  struct wb_file *file = w->file;
  struct wb *wb = file->wb;
  struct gi_inode *inode = gi_inode_ref(w->inode);

  GI_ASSERT(file->in_flight > 0 && w->state == WB_SENT);
  file->in_flight--;
  if (fop->rsp.ret < 0) {
    fail(wb, w, fop->rsp.err ? fop->rsp.err : EIO);
  } else if (fop->rsp.ret == 0 || (size_t)fop->rsp.ret > w->data.len) {
    fail(wb, w, EIO);
  } else {
    note_attributes(w, fop);
    if ((size_t)fop->rsp.ret < w->data.len) {
      wb->m.short_writes++;
      drop_front(w, (size_t)fop->rsp.ret);
      transmit(wb, w);
    } else {
      end_write(wb, w, 0);
    }
  }
  gi_fop_unref(fop);
  wb_pump(wb, file, inode);
  gi_inode_unref(&inode);
}

/* Of an fsync that goes with it, it is a part: whoever looks at that sees where it is. */
static struct gi_fop *
new_message(struct wb_write *w)
{
  gi_list_foreach(turn, &w->waiters, struct wb_turn, link) {
    const struct wb_op *op = GI_CONTAINER(turn, struct wb_op, turn);

    if (!turn->write && op->rides)
      return gi_fop_helper(op->fop, GI_FOP_WRITE);
  }
  return gi_fop_new(w->inode->graph, GI_FOP_WRITE);
}

static void
transmit(struct wb *wb, struct wb_write *w)
{
  struct gi_fop *fop = new_message(w);
  size_t groups = w->caller.ngroups * sizeof(*w->caller.groups);

  GI_ASSERT(w->state == WB_SENT && w->data.len > 0);
  gi_fop_set_fd(fop, w->fd);
  fop->caller = w->caller;
  if (groups)
    fop->caller.groups = memcpy(gi_fop_alloc(fop, groups), w->caller.groups, groups);
  fop->args.offset = w->offset;
  fop->args.size = w->data.len;
  fop->args.flags = w->flags;
  fop->args.sync = w->sync;
  gi_payload_append(&fop->payload, &w->data);
  w->file->in_flight++;
  w->asked = w->file->sent_ns = gi_now(wb->x->reactor);
  wb->m.messages++;
  wb->m.bytes += w->data.len;
  gi_fop_submit(fop, gi_first_child(wb->x), sent, w);
}

void
wb_send(struct wb *wb, struct wb_write *w)
{
  GI_ASSERT(w->state == WB_SEALED && !w->blocked);
  gi_list_del(&w->ready);
  w->state = WB_SENT;
  w->sent = ++wb->clock;
  if (!w->original) {
    transmit(wb, w);
    return;
  }

  struct gi_fop *fop = w->original;
  struct wb_op *op = gi_fop_private(fop, wb->x);

  GI_ASSERT(op->held && wb->held > 0);
  op->held = false;
  wb->held--;
  gi_fop_forward_tell(fop, wb->x);
}

void
wb_sent_original(struct wb *wb, struct gi_fop *fop)
{
  struct wb_op *op = gi_fop_private(fop, wb->x);
  struct wb_write *w = op->write;
  struct wb_file *file = w->file;
  uint64_t sent = w->sent;

  GI_ASSERT(w->original == fop);
  op->write = NULL;
  w->left = fop->rsp.post;
  end_write(wb, w, fop->rsp.ret < 0 ? fop->rsp.err : 0);
  wb_attr_beside(wb, file, sent, &fop->rsp);
  wb_kick(wb, file);
}
