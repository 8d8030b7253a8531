/* SPDX-License-Identifier: Apache-2.0
 *
 * From the WRITE to the message that is to be sent.
 *
 * A WRITE is admitted in the order of arrival, when no other change of the file is
 * under way and the window has room. Then it is answered, and its bytes join one of
 * the newest messages of the file, or begin a new one. A message leaves when it is
 * full, when a WRITE follows it that does not join, when somebody waits for it, or
 * when none of the file is under way nor was a moment ago (trickling). So the first
 * WRITE leaves at once, but for a new file's, and the next ones gather. Of a file that is synced after
 * each write the first one waits for the fsync (wb-sync.c), and so does what the
 * kernel writes back: that is for an fsync or a close, or nobody waits for it.
 *
 * One that must not be answered early is admitted as well, and goes down as it is
 * when nothing overlaps.
 */
#include "write-behind.h"

#include <fcntl.h>

/* ---- may it be answered? ---- */

static uint32_t
flags_of(const struct gi_fop *fop)
{
  return fop->args.flags | (uint32_t)fop->fd->flags;
}

/* An append lands at the end of the file on the bricks; it must be the end that the application was told. Setuid bits go with a
 * WRITE, if the bricks say so. */
static bool
can_be_foreseen(const struct wb_file *file, const struct gi_fop *fop)
{
  const struct gi_iatt *now = &file->now;

  return S_ISREG(now->mode) && !(now->mode & (S_ISUID | S_ISGID)) &&
         (!(flags_of(fop) & O_APPEND) || now->size == fop->args.offset) && fop->args.offset <= INT64_MAX - fop->payload.len;
}

static uint64_t
aggregate(const struct wb *wb)
{
  const struct wb_options *o = wb_opts(wb);

  return o->aggregate < o->window ? o->aggregate : o->window;
}

/* The kernel has answered the application and goes on writing: an early answer speeds nothing up, and what fills a message by itself need
 * not gather. In the window it would only wait for others. */
static bool
gains(const struct wb *wb, const struct gi_fop *fop)
{
  return !fop->args.paged || fop->payload.len < aggregate(wb);
}

static bool
may_be_early(struct wb *wb, const struct wb_file *file, const struct gi_fop *fop)
{
  const struct wb_options *o = wb_opts(wb);
  uint32_t flags = flags_of(fop);

  return wb_may_hold(wb) && gains(wb, fop) && fop->caller.pid >= 0 && !gi_dict_count(fop->xdata) &&
         fop->payload.len <= o->window && !(flags & (O_SYNC | O_DSYNC)) && !(o->strict_direct && flags & O_DIRECT) &&
         wb_known(wb, file) && can_be_foreseen(file, fop);
}

/* Dirty data cannot be given up, so it is bounded apart from the caches. */
static uint64_t
memory(const struct wb *wb)
{
  uint64_t limit = wb->x->ctx->budget.limit;

  return limit ? limit / 4 : WB_MEMORY;
}

/* What the kernel writes begins on a page of its own, so a single byte pins a page. */
static uint64_t
cost_of(const struct gi_payload *data)
{
  return (data->len + GI_PAGE - 1) / GI_PAGE * GI_PAGE;
}

static void
starve(struct wb *wb, struct wb_file *file)
{
  if (!gi_list_empty(&file->starved))
    return;
  GI_ASSERT(wb->bytes > 0); /* whose end it waits for */
  gi_list_add_tail(&wb->starved, &file->starved);
  wb_push_all(wb);
}

static bool
has_room(struct wb *wb, struct wb_file *file, struct wb_op *op)
{
  bool first = !op->waited;

  if (file->bytes > wb_opts(wb)->window) {
    op->waited = true;
    wb->m.waited_window += first;
    if (first)
      gi_fop_waits(op->fop, GI_WAIT_WINDOW, "the file's window", NULL);
    wb_push(wb, file);
    return false;
  }
  if (wb->cost && wb->cost + cost_of(&op->fop->payload) > memory(wb)) {
    op->waited = true;
    wb->m.waited_memory += first;
    if (first)
      gi_fop_waits(op->fop, GI_WAIT_WINDOW, "memory for what is not written", NULL);
    starve(wb, file);
    return false;
  }
  return true;
}

/* ---- a message ---- */

static struct wb_write *
new_write(struct wb *wb, struct wb_file *file, struct gi_fop *fop)
{
  struct wb_write *w = gi_new(struct wb_write);

  GI_ASSERT(fop->payload.len > 0 && fop->fd->inode == file->inode);
  w->magic = WB_WRITE_MAGIC;
  w->file = file;
  w->inode = gi_inode_ref(fop->fd->inode);
  w->seq = ++wb->clock;
  w->turn.write = true;
  w->offset = fop->args.offset;
  w->since_ns = gi_now(wb->x->reactor);
  gi_list_init(&w->order);
  gi_list_init(&w->ready);
  gi_list_init(&w->turn.link);
  gi_list_init(&w->waiters);
  return w;
}

static struct wb_range
range_of(const struct wb_file *file, const struct gi_fop *fop, bool early)
{
  uint64_t start = fop->args.offset, end;

  if (flags_of(fop) & O_APPEND)
    return (struct wb_range){0, WB_END};
  end = fop->payload.len < WB_END - start ? start + fop->payload.len : WB_END;
  if (early && start > file->now.size)
    start = file->now.size; /* the hole becomes zeroes */
  return (struct wb_range){start, end};
}

static struct wb_write *
before_it(struct wb *wb, const struct wb_write *w)
{
  return wb_in_the_way(w->file, wb_opts(wb)->strict_order ? (struct wb_range){0, WB_END} : w->range,
                       (struct wb_question){w->seq});
}

static void
block(struct wb *wb, struct wb_write *w)
{
  struct wb_write *earlier = before_it(wb, w);

  GI_ASSERT(earlier != w); /* nobody waits for himself */
  w->blocked = earlier != NULL;
  if (earlier)
    wb_wait_for(wb, earlier, &w->turn);
}

void
wb_unblock(struct wb *wb, struct wb_write *w)
{
  GI_ASSERT(w->blocked && (w->state == WB_OPEN || w->state == WB_SEALED));
  block(wb, w);
  if (!w->blocked && w->state == WB_SEALED)
    gi_list_add_tail(&w->file->ready, &w->ready);
}

static unsigned
stream_of(const struct wb_write *w)
{
  for (unsigned i = 0; i < WB_STREAMS; i++)
    if (w->file->open[i] == w)
      return i;
  return WB_STREAMS;
}

void
wb_seal(struct wb *wb, struct wb_write *w)
{
  unsigned i = stream_of(w);
  struct wb_write **open = w->file->open;

  GI_ASSERT(w->state == WB_OPEN && i < WB_STREAMS);
  w->state = WB_SEALED;
  memmove(open + i, open + i + 1, (WB_STREAMS - 1 - i) * sizeof(*open));
  open[WB_STREAMS - 1] = NULL;
  if (!w->blocked)
    gi_list_add_tail(&w->file->ready, &w->ready);
}

/* What waits for more bytes, or for somebody who needs it, leaves. */
void
wb_push(struct wb *wb, struct wb_file *file)
{
  while (file->open[0])
    wb_seal(wb, file->open[0]);
  if (!file->kept)
    return;
  gi_list_foreach(w, &file->order, struct wb_write, order) {
    if (w->state == WB_KEPT)
      wb_resend(wb, w);
  }
}

void
wb_push_all(struct wb *wb)
{
  gi_list_foreach(file, &wb->dirty, struct wb_file, dirty) {
    wb_push(wb, file);
    gi_list_foreach(w, &file->order, struct wb_write, order)
      if (w->state == WB_KEPT)
        wb_resend(wb, w);
    wb_kick(wb, file);
  }
}

/* ---- gathering ---- */

static uint64_t
patience(const struct wb *wb)
{
  return wb_opts(wb)->trickling ? WB_GATHER_NS : WB_LINGER_NS;
}

/* Who has just made the file writes on and closes it. */
static bool
is_new(const struct wb_file *file)
{
  return file->made && !file->sent_ns;
}

/* A file that was quiet sends its first bytes at once, unless it was just made. Who goes on writing fills messages instead: nobody waits for what is in them, and
 * whoever does wait sends them on their way. */
static bool
is_due(const struct wb *wb, const struct wb_write *w, uint64_t now)
{
  const struct wb_file *file = w->file;
  uint64_t age = now - w->since_ns;

  if (!wb_opts(wb)->trickling)
    return age >= WB_LINGER_NS;
  if (file->syncs || w->paged)
    return age >= (file->in_flight ? WB_OVERDUE_NS : WB_SYNC_NS);
  return age >= WB_OVERDUE_NS ||
         (!file->in_flight && (age >= WB_GATHER_NS || (!is_new(file) && now - file->sent_ns >= WB_GATHER_NS)));
}

bool
wb_seal_due(struct wb *wb, struct wb_file *file)
{
  uint64_t now = file->open[0] ? gi_now(wb->x->reactor) : 0;

  for (unsigned i = 0; i < WB_STREAMS && file->open[i]; i++)
    if (!file->open[i]->blocked && is_due(wb, file->open[i], now)) {
      file->syncs = false; /* no fsync came so far */
      wb_seal(wb, file->open[i]);
      return true;
    }
  return false;
}

/* When it is to be looked at again. */
static uint64_t
look_after(const struct wb *wb, const struct wb_write *w, uint64_t now)
{
  uint64_t age = now - w->since_ns;

  return age < patience(wb) ? patience(wb) - age : patience(wb);
}

void
wb_linger(void *arg)
{
  struct wb *wb = arg;
  uint64_t now = gi_now(wb->x->reactor), after = UINT64_MAX;

  gi_list_foreach(file, &wb->dirty, struct wb_file, dirty) {
    for (unsigned i = 0; i < WB_STREAMS && file->open[i]; i++) {
      uint64_t ns = look_after(wb, file->open[i], now);

      after = ns < after ? ns : after;
    }
    if (file->open[0])
      wb_kick(wb, file);
  }
  if (after != UINT64_MAX)
    gi_timer_set(&wb->linger, after);
}

/* ---- joining ---- */

static bool
same_caller(const struct gi_caller *a, const struct gi_caller *b)
{
  return a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups && gi_owner_equal(&a->owner, &b->owner) &&
         (!a->ngroups || memcmp(a->groups, b->groups, a->ngroups * sizeof(*a->groups)) == 0);
}

/* By reference only: beyond the slices of a payload bytes would be copied. */
static bool
slices_fit(const struct gi_payload *p, const struct gi_payload *more)
{
  const struct gi_slice *last = &p->slice[p->count - 1], *first = &more->slice[0];
  bool adjacent = first->buf && last->buf == first->buf && last->data + last->len == first->data;

  return p->count + more->count - adjacent <= GI_PAYLOAD_SLICES;
}

static bool
is_other(const struct wb_write *w, const void *arg)
{
  return w != arg;
}

/* The bytes that join may overlap where the message did not. What is there came before them. */
static bool
joins(struct wb *wb, struct wb_file *file, const struct wb_write *w, const struct gi_fop *fop)
{
  if (w->fd != fop->fd || w->flags != fop->args.flags || w->offset + w->data.len != fop->args.offset ||
      w->data.len + fop->payload.len > aggregate(wb) || !slices_fit(&w->data, &fop->payload) ||
      !same_caller(&w->caller, &fop->caller))
    return false;
  return flags_of(fop) & O_APPEND || !wb_tree_find(file->root, range_of(file, fop, true), is_other, w);
}

/* The message that it joins, or NULL. One that ends where it begins and cannot take it leaves: nothing more joins that. */
static struct wb_write *
stream(struct wb *wb, struct wb_file *file, const struct gi_fop *fop)
{
  for (unsigned i = 0; i < WB_STREAMS && file->open[i]; i++) {
    struct wb_write *w = file->open[i];

    if (joins(wb, file, w, fop))
      return w;
    if (w->offset + w->data.len == fop->args.offset) {
      wb_seal(wb, w);
      i--;
    }
  }
  return NULL;
}

static void
draw(struct wb *wb, struct wb_write *w, const struct gi_payload *data)
{
  GI_ASSERT(w->file->bytes >= w->drawn && wb->bytes >= w->file->bytes);
  gi_payload_append(&w->data, data);
  w->changes++;
  wb->x->ctx->unwritten++;
  w->drawn += data->len;
  w->cost += cost_of(data);
  w->file->bytes += data->len;
  wb->bytes += data->len;
  wb->cost += cost_of(data);
  wb->m.dirty = wb->bytes;
  if (wb->bytes > wb->m.peak)
    wb->m.peak = wb->bytes;
}

static void
keep_caller(struct wb_write *w, const struct gi_caller *caller)
{
  size_t bytes = caller->ngroups * sizeof(*caller->groups);
  uint32_t *groups = bytes ? gi_alloc(bytes) : NULL;

  if (groups)
    memcpy(groups, caller->groups, bytes);
  w->caller = *caller;
  w->caller.groups = groups;
}

static struct wb_write *
begin(struct wb *wb, struct wb_file *file, struct gi_fop *fop)
{
  struct wb_write *w;

  if (file->open[WB_STREAMS - 1])
    wb_seal(wb, file->open[WB_STREAMS - 1]);
  w = new_write(wb, file, fop);
  w->fd = gi_fd_ref(fop->fd);
  w->flags = fop->args.flags;
  w->range = range_of(file, fop, true);
  keep_caller(w, &fop->caller);
  w->paged = fop->args.paged;
  draw(wb, w, &fop->payload);
  block(wb, w);
  wb_tree_add(&file->root, w);
  gi_list_add_tail(&file->order, &w->order);
  if (gi_list_empty(&file->dirty))
    gi_list_add_tail(&wb->dirty, &file->dirty);
  GI_ASSERT(!file->open[WB_STREAMS - 1]);
  memmove(file->open + 1, file->open, (WB_STREAMS - 1) * sizeof(*file->open));
  file->open[0] = w;
  if (!wb->linger.armed)
    gi_timer_set(&wb->linger, patience(wb));
  return w;
}

static void
join(struct wb *wb, struct wb_file *file, struct wb_write *w, const struct gi_fop *fop)
{
  unsigned i = stream_of(w);

  GI_ASSERT(w->state == WB_OPEN && i < WB_STREAMS);
  memmove(file->open + 1, file->open, i * sizeof(*file->open));
  file->open[0] = w;
  draw(wb, w, &fop->payload);
  if (w->range.end != WB_END)
    wb_tree_grow(file->root, w, w->offset + w->data.len);
  w->caller.time = fop->caller.time;
  w->caller.stamps = fop->caller.stamps;
  w->paged = fop->args.paged;
  wb->m.merged++;
}

/* What waits long is not to keep the whole of the buffers that others shared with it: where bricks are slow a copy costs nothing. */
static void
spare_memory(struct wb *wb, const struct wb_file *file, struct gi_payload *data)
{
  if (!gi_list_empty(&file->order) &&
      gi_now(wb->x->reactor) - gi_list_first(&file->order, struct wb_write, order)->since_ns >= WB_SLOW_NS)
    gi_payload_compact(data);
}

static void
admit_early(struct wb *wb, struct wb_file *file, struct wb_op *op)
{
  struct gi_fop *fop = op->fop;
  struct wb_write *w;

  spare_memory(wb, file, &fop->payload);
  w = stream(wb, file, fop);
  GI_ASSERT(!file->changing); /* or size and times are not known */

  if (w)
    join(wb, file, w, fop);
  else
    w = begin(wb, file, fop);
  if (w->state == WB_OPEN && w->data.len >= aggregate(wb))
    wb_seal(wb, w);
  wb_attr_foresee(file, fop->args.offset + fop->payload.len, fop->caller.time, &fop->rsp.pre, &fop->rsp.post);
  gi_fop_ok(fop, (int32_t)fop->payload.len);
  fop->rsp.early = true;
  wb->m.early++;
  gi_list_add_tail(&file->answers, &op->turn.link);
}

static void
admit_as_it_is(struct wb *wb, struct wb_file *file, struct wb_op *op)
{
  struct wb_write *w = new_write(wb, file, op->fop);

  GI_ASSERT(op->held && !op->write);

  w->original = op->fop;
  w->state = WB_SEALED;
  w->range = range_of(file, op->fop, false);
  op->write = w;
  block(wb, w);
  wb_tree_add(&file->root, w);
  if (!w->blocked)
    gi_list_add_tail(&file->ready, &w->ready);
}

bool
wb_admit_next(struct wb *wb, struct wb_file *file)
{
  struct wb_op *op;
  bool early;
  int err;

  if (gi_list_empty(&file->waiting) || file->changing)
    return false;
  op = gi_list_first(&file->waiting, struct wb_op, turn.link);
  if ((err = wb_error_of_write(wb, op->fop->fd)) != 0) {
    gi_list_del(&op->turn.link);
    gi_fop_fail(op->fop, err);
    gi_list_add_tail(&file->answers, &op->turn.link);
    return true;
  }
  early = may_be_early(wb, file, op->fop);
  if (early && !has_room(wb, file, op))
    return false;
  gi_list_del(&op->turn.link);
  if (early)
    admit_early(wb, file, op);
  else
    admit_as_it_is(wb, file, op);
  return true;
}

enum gi_verdict
wb_write(struct gi_xlator *x, struct gi_fop *fop)
{
  struct wb *wb = wb_of(x);
  struct gi_inode *inode = fop->fd ? fop->fd->inode : NULL;
  struct wb_op *op = gi_fop_private(fop, x);
  struct wb_file *file;
  int err;

  if (!inode || !fop->payload.len)
    return GI_PASS;
  file = wb_file_of(wb, inode, true);
  if (!wb_may_hold(wb) && !file->root && !file->changing && gi_list_empty(&file->waiting))
    return (err = wb_error_of_write(wb, fop->fd)) != 0 ? gi_fop_fail(fop, err) : GI_PASS;
  wb->m.writes++;
  wb->m.waited_change += file->changing > 0;
  if (!fop->caller.time.sec)
    fop->caller.time = gi_wall(x->reactor); /* features/utime keeps it */
  op->fop = fop;
  op->held = true;
  wb->held++;
  gi_list_init(&op->turn.link);
  gi_list_add_tail(&file->waiting, &op->turn.link);
  wb_pump(wb, file, inode);
  return GI_HELD;
}
