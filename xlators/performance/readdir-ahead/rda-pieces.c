/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of the listing of an open directory.
 *
 * A piece is the reply to one request of ours, and keeps the operation that brought it, with entries and names as they came. One that is given
 * up while it is on its way lives until the reply comes and is then forgotten.
 */
#include "readdir-ahead.h"

#include <errno.h>

static struct rda_fd **
place(const struct gi_xlator *x, const struct gi_fd *fd)
{
  return gi_fd_private(fd, x);
}

struct rda_fd *
rda_fd_known(const struct gi_xlator *x, const struct gi_fd *fd)
{
  return *place(x, fd);
}

static void go_on(void *arg);

struct rda_fd *
rda_fd_get(struct gi_xlator *x, struct gi_fd *fd)
{
  struct rda *rda = x->private;
  struct rda_fd **at = place(x, fd);
  if (*at)
    return *at;
  GI_ASSERT(fd->inode); /* nobody lists one that is not open */
  struct rda_fd *rf = *at = gi_new(struct rda_fd);
  rf->x = x;
  rf->fd = fd;
  gi_list_init(&rf->pieces);
  gi_list_add_tail(&rda->fds, &rf->link);
  gi_defer_init(&rf->go_on, go_on, rf);
  return rf;
}

void
rda_fd_free(struct rda_fd *rf)
{
  GI_ASSERT(!rf->go_on.queued); /* it has a reference on the descriptor */
  rda_fd_forget(rf);
  GI_ASSERT(*place(rf->x, rf->fd) == rf && gi_list_empty(&rf->pieces));
  *place(rf->x, rf->fd) = NULL;
  gi_dict_unref(&rf->xdata);
  gi_list_del(&rf->link);
  gi_free(rf);
}

/* ---- giving up ---- */

/* Those that wait for it go on; `past`: down by themselves. */
static void
serve(struct rda_piece *p, bool past, int err)
{
  struct rda *rda = p->x->private;
  gi_list_foreach(fop, &p->waiters, struct gi_fop, link) {
    struct rda_fop *f = gi_fop_private(fop, p->x);
    f->past |= past;
    f->err = err;
  }
  gi_hold_end(&rda->hold, &p->waiters);
}

static void
piece_free(struct rda_piece *p)
{
  GI_ASSERT(!gi_lru_holds(&p->item) && gi_list_empty(&p->waiters));
  gi_fop_unref(p->fop);
  gi_free(p);
}

void
rda_piece_drop(struct rda_piece *p)
{
  struct rda *rda = p->x->private;
  GI_ASSERT(p->rf);
  gi_list_del(&p->link);
  p->rf = NULL;
  GI_ASSERT(p->fop || !gi_lru_holds(&p->item));
  serve(p, true, 0);
  if (!p->fop)
    return;
  if (gi_lru_holds(&p->item))
    gi_lru_remove(&rda->lru, &p->item);
  piece_free(p);
}

void
rda_fd_forget(struct rda_fd *rf)
{
  struct rda *rda = rf->x->private;
  while (!gi_list_empty(&rf->pieces)) {
    struct rda_piece *p = gi_list_first(&rf->pieces, struct rda_piece, link);
    rda->metrics.unused += p->used == 0;
    rda_piece_drop(p);
  }
  rf->filling = rf->sequential = false;
}

/* Those that follow the one that memory is taken from would follow nothing. */
void
rda_evict(void *arg, struct gi_lru_item *item)
{
  rda_fd_forget(gi_list_item(item, struct rda_piece, item)->rf);
}

void
rda_dir_forget(struct gi_xlator *x, struct gi_inode *dir)
{
  gi_list_foreach(fd, &dir->fds, struct gi_fd, inode_link) {
    struct rda_fd *rf = rda_fd_known(x, fd);
    if (rf)
      rda_fd_forget(rf);
  }
}

void
rda_forget_all(struct gi_xlator *x)
{
  struct rda *rda = x->private;
  gi_list_foreach(rf, &rda->fds, struct rda_fd, link)
    rda_fd_forget(rf);
}

/* ---- reading ahead ---- */

struct rda_piece *
rda_find(struct rda_fd *rf, uint64_t cookie, uint32_t *entry)
{
  struct rda_piece *end = NULL;
  gi_list_foreach(p, &rf->pieces, struct rda_piece, link) {
    *entry = 0;
    if (p->start == cookie)
      return p;
    for (uint32_t i = 0; p->fop && i < p->fop->rsp.entries.count; i++)
      if (p->fop->rsp.entries.entry[i].off == cookie) {
        *entry = i + 1;
        if (i + 1 < p->fop->rsp.entries.count)
          return p;
        end = p; /* the next one begins there, if it is there */
      }
  }
  *entry = end ? end->fop->rsp.entries.count : 0;
  return end;
}

static uint64_t
cost_of(const struct rda_piece *p)
{
  uint64_t cost = sizeof(*p) + sizeof(*p->fop);
  for (uint32_t i = 0; i < p->fop->rsp.entries.count; i++)
    cost += sizeof(struct gi_dirent) + p->fop->rsp.entries.entry[i].name_len + 16;
  return cost;
}

static void
piece_done(struct gi_fop *fop, void *arg)
{
  struct rda_piece *p = arg;
  struct rda_fd *rf = p->rf;
  struct rda *rda = p->x->private;
  struct gi_fd *fd = fop->fd;
  GI_ASSERT(!p->fop && !gi_lru_holds(&p->item));
  GI_ASSERT(rf || gi_list_empty(&p->waiters)); /* nobody waits for what was given up */
  p->fop = fop;
  fop->fd = NULL; /* what is kept keeps no descriptor open */
  if (!rf) {
    piece_free(p);
  } else if (fop->rsp.ret < 0) {
    serve(p, false, fop->rsp.err);
    rda_fd_forget(rf);
  } else {
    p->end = fop->rsp.err == ENOENT || fop->rsp.entries.count == 0;
    gi_lru_add(&rda->lru, &p->item, cost_of(p));
    serve(p, false, 0);
    if (rf->filling)
      rda_go_on(rf);
  }
  gi_fd_unref(&fd); /* the last one takes `rf` along */
}

void
rda_ask(struct rda_fd *rf, uint64_t cookie, uint64_t size, struct gi_fop *waiter)
{
  struct gi_xlator *x = rf->x;
  struct rda *rda = x->private;
  struct rda_piece *p = gi_new(struct rda_piece);
  GI_ASSERT(gi_list_empty(&rf->pieces) || gi_list_item(rf->pieces.prev, struct rda_piece, link)->fop); /* one at a time */
  struct gi_fop *fop = gi_fop_new(x->graph, rf->kind);
  p->x = x;
  p->rf = rf;
  p->start = cookie;
  p->sent_ns = gi_now(x->reactor);
  p->tick = ++rda->tick;
  gi_list_init(&p->waiters);
  if (waiter)
    (void)gi_hold_wait(&rda->hold, &p->waiters, waiter);
  gi_list_add_tail(&rf->pieces, &p->link);
  rda->metrics.pieces++;
  fop->caller = rf->caller;
  fop->xdata = gi_dict_ref(rf->xdata);
  gi_fop_set_fd(fop, rf->fd);
  fop->args.offset = cookie;
  fop->args.size = size;
  gi_fop_submit(fop, gi_first_child(x), piece_done, p);
}

bool
rda_may_keep(const struct gi_xlator *x, const struct gi_inode *dir)
{
  struct rda *rda = x->private;
  const struct rda_inode *i = gi_inode_private(dir, x);
  return !x->draining && x->enabled && i->changes == 0 && !gi_join_waits(&rda->joining, x);
}

/* Bytes, as a brick reckons them, that the reader has not been given. */
static uint64_t
ahead_of(const struct rda_fd *rf)
{
  uint64_t entries = 0;
  gi_list_foreach(p, &rf->pieces, struct rda_piece, link) {
    GI_ASSERT(!p->fop || p->used <= p->fop->rsp.entries.count);
    if (p->fop)
      entries += p->fop->rsp.entries.count - p->used;
  }
  return entries * RDA_ENTRY;
}

static void
go_on(void *arg)
{
  struct rda_fd *rf = arg;
  struct gi_fd *fd = rf->fd;
  const struct rda_options *o = rf->x->options;
  const struct rda *rda = rf->x->private;
  struct rda_piece *last = gi_list_empty(&rf->pieces) ? NULL : gi_list_item(rf->pieces.prev, struct rda_piece, link);
  uint64_t ahead = ahead_of(rf);
  if (ahead < o->low)
    rf->filling = true;
  if (ahead + RDA_ENTRY > o->high)
    rf->filling = false;
  if (rf->sequential && rf->filling && last && last->fop && !last->end && rda_may_keep(rf->x, fd->inode) &&
      (!o->limit || rda->lru.cost < o->limit) && gi_budget_room(&rf->x->ctx->budget) >= o->request_size)
    rda_ask(rf, last->fop->rsp.entries.entry[last->fop->rsp.entries.count - 1].off, o->request_size, NULL);
  gi_fd_unref(&fd);
}

void
rda_go_on(struct rda_fd *rf)
{
  if (rf->go_on.queued)
    return;
  gi_fd_ref(rf->fd);
  gi_defer_add(rf->x->reactor, &rf->go_on);
}
