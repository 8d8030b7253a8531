/* SPDX-License-Identifier: Apache-2.0
 *
 * What was read ahead for a descriptor.
 *
 * Pages begin where the reader's last READ ended and lie behind each other. One that is given up while its READ is on the way lives until
 * the reply comes and is then forgotten.
 */
#include "read-ahead.h"

#include <errno.h>

/* ---- descriptors ---- */

static struct ra_fd **
place(const struct gi_xlator *x, const struct gi_fd *fd)
{
  return gi_fd_private(fd, x);
}

struct ra_fd *
ra_fd_known(const struct gi_xlator *x, const struct gi_fd *fd)
{
  return *place(x, fd);
}

static void go_on(void *arg);

struct ra_fd *
ra_fd_get(struct gi_xlator *x, struct gi_fd *fd)
{
  struct ra *ra = x->private;
  struct ra_fd **at = place(x, fd);
  if (*at)
    return *at;
  GI_ASSERT(fd->inode); /* nobody reads through one that is not open */
  struct ra_fd *rf = *at = gi_new(struct ra_fd);
  rf->x = x;
  rf->fd = fd;
  rf->next = rf->end = UINT64_MAX;
  gi_list_init(&rf->pages);
  gi_list_add_tail(&ra->fds, &rf->link);
  gi_defer_init(&rf->go_on, go_on, rf);
  return rf;
}

void
ra_fd_free(struct ra_fd *rf)
{
  GI_ASSERT(!rf->go_on.queued); /* it has a reference on the descriptor */
  ra_fd_forget(rf);
  GI_ASSERT(*place(rf->x, rf->fd) == rf && gi_list_empty(&rf->pages));
  *place(rf->x, rf->fd) = NULL;
  gi_list_del(&rf->link);
  gi_free(rf);
}

/* ---- giving up ---- */

static void
page_free(struct ra_page *p)
{
  GI_ASSERT(p->arrived && !gi_lru_holds(&p->item) && gi_list_empty(&p->waiters));
  gi_payload_clear(&p->data);
  gi_free(p);
}

void
ra_page_drop(struct ra_page *p)
{
  struct ra *ra = p->x->private;
  GI_ASSERT(p->rf);
  gi_list_del(&p->link);
  p->rf = NULL;
  GI_ASSERT(p->arrived || !gi_lru_holds(&p->item));
  gi_list_foreach(fop, &p->waiters, struct gi_fop, link)
    ((struct ra_fop *)gi_fop_private(fop, p->x))->past = true;
  gi_hold_end(&ra->hold, &p->waiters);
  if (!p->arrived)
    return;
  if (gi_lru_holds(&p->item))
    gi_lru_remove(&ra->lru, &p->item);
  page_free(p);
}

/* For the process's budget. */
void
ra_evict(void *arg, struct gi_lru_item *item)
{
  struct ra *ra = arg;
  ra->metrics.unused++;
  ra_page_drop(gi_list_item(item, struct ra_page, item));
}

void
ra_fd_forget(struct ra_fd *rf)
{
  struct ra *ra = rf->x->private;
  while (!gi_list_empty(&rf->pages)) {
    ra->metrics.unused++;
    ra_page_drop(gi_list_first(&rf->pages, struct ra_page, link));
  }
  rf->end = UINT64_MAX;
  rf->window = 0;
  rf->asked_to = 0;
}

void
ra_inode_forget(struct gi_xlator *x, struct gi_inode *inode)
{
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    struct ra_fd *rf = ra_fd_known(x, fd);
    if (rf)
      ra_fd_forget(rf);
  }
}

void
ra_forget_all(struct gi_xlator *x)
{
  struct ra *ra = x->private;
  gi_list_foreach(rf, &ra->fds, struct ra_fd, link)
    ra_fd_forget(rf);
}

/* ---- reading ahead ---- */

struct ra_page *
ra_page_at(struct ra_fd *rf, uint64_t offset)
{
  gi_list_foreach(p, &rf->pages, struct ra_page, link) {
    if (offset < p->offset)
      return NULL;
    if (offset < p->offset + p->size)
      return p;
  }
  return NULL;
}

static void
page_done(struct gi_fop *fop, void *arg)
{
  struct ra_page *p = arg;
  struct ra_fd *rf = p->rf;
  struct ra *ra = p->x->private;
  GI_ASSERT(!p->arrived && !gi_lru_holds(&p->item));
  GI_ASSERT(rf || gi_list_empty(&p->waiters)); /* nobody waits for what was given up */
  p->arrived = true;
  if (!rf) {
    page_free(p);
  } else if (fop->rsp.ret < 0 || fop->rsp.payload.len > p->size) {
    ra_fd_forget(rf); /* who wants these bytes will be told */
  } else {
    gi_payload_append(&p->data, &fop->rsp.payload);
    gi_payload_compact(&p->data);
    p->stat = fop->rsp.stat;
    p->last = p->data.len < p->size || fop->rsp.err == ENOENT;
    if (p->last)
      rf->end = p->offset + p->data.len;
    gi_lru_add(&ra->lru, &p->item, sizeof(*p) + gi_payload_pinned(&p->data));
    gi_hold_end(&ra->hold, &p->waiters);
  }
  gi_fop_unref(fop);
}

static void
ask(struct ra_fd *rf, uint64_t offset, uint64_t size)
{
  struct gi_xlator *x = rf->x;
  struct ra *ra = x->private;
  GI_ASSERT(size > 0 && offset >= rf->asked_to); /* pages lie behind each other */
  struct ra_page *p = gi_new(struct ra_page);
  struct gi_fop *fop = gi_fop_new(x->graph, GI_FOP_READ);
  p->x = x;
  p->rf = rf;
  p->offset = offset;
  p->size = size;
  p->sent_ns = gi_now(x->reactor);
  gi_list_init(&p->waiters);
  gi_list_add_tail(&rf->pages, &p->link);
  rf->asked_to = offset + size;
  ra->metrics.pages++;
  fop->caller = rf->caller;
  gi_fop_set_fd(fop, rf->fd);
  fop->args.offset = offset;
  fop->args.size = size;
  fop->args.flags = rf->flags;
  gi_fop_submit(fop, gi_first_child(x), page_done, p);
}

static bool
may_read_ahead(const struct ra_fd *rf)
{
  const struct gi_xlator *x = rf->x;
  struct ra *ra = x->private;
  const struct ra_inode *i = gi_inode_private(rf->fd->inode, x);
  return rf->window > 0 && !x->draining && x->enabled && i->changes == 0 && !gi_join_waits(&ra->joining, x);
}

/* Whole pages only: a reader of small pieces has a page asked for whenever it has used one. A page asked for may be given up from
 * inside. */
static void
go_on(void *arg)
{
  struct ra_fd *rf = arg;
  struct gi_fd *fd = rf->fd;
  const struct ra_options *o = rf->x->options;
  GI_ASSERT(fd->refs > 0 && ra_fd_known(rf->x, fd) == rf);
  while (may_read_ahead(rf) && gi_budget_room(&rf->x->ctx->budget) >= o->page_size) {
    uint64_t from = rf->asked_to > rf->next ? rf->asked_to : rf->next, goal = rf->next + rf->window * o->page_size;
    if (from >= rf->end || goal < from || goal - from < o->page_size)
      break;
    ask(rf, from, o->page_size);
  }
  gi_fd_unref(&fd);
}

void
ra_go_on(struct ra_fd *rf)
{
  if (rf->go_on.queued)
    return;
  gi_fd_ref(rf->fd);
  gi_defer_add(rf->x->reactor, &rf->go_on);
}
