/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/read-ahead: asks for what a sequential reader will want next.
 *
 * A descriptor whose READ begins where its last one ended is read sequentially; from the second one on a page is asked for behind it, then
 * two, up to `page-count`. A READ of what is on its way waits for it; what was read ahead is given to one READ and goes.
 * It promises: no READ gets what was asked for before a change of the file that was answered before it, by whatever descriptor. Others'
 * changes are seen after a granted lock, when a brick tells, and after a second.
 */
#include "read-ahead.h"

#include "libglusterish/probe.h"

#include <errno.h>
#include <fcntl.h>

/* ---- reading ---- */

static bool
may_serve(const struct gi_xlator *x, const struct gi_fop *fop)
{
  int flags = fop->fd ? fop->fd->flags | (int)fop->args.flags : 0;
  return !x->draining && fop->fd && fop->fd->inode && !(flags & O_DIRECT) && (fop->fd->flags & O_ACCMODE) != O_WRONLY &&
         fop->args.size > 0 && fop->args.size < UINT64_MAX / 4 && fop->args.offset < UINT64_MAX / 4;
}

/* Who asks for as much as a page, or for more each time, reads ahead itself: the kernel does for its page cache. */
static bool
reads_ahead_itself(const struct gi_xlator *x, const struct ra_fd *rf, const struct gi_fop *fop)
{
  const struct ra_options *o = x->options;
  return fop->args.size >= o->page_size || fop->args.size > rf->size;
}

/* Does it go on from where the last one ended, or read what was read ahead? Then the window grows. */
static void
note_place(const struct gi_xlator *x, struct ra_fd *rf, const struct gi_fop *fop)
{
  const struct ra_options *o = x->options;
  uint64_t offset = fop->args.offset;
  GI_ASSERT(rf->fd == fop->fd);
  if (rf->next == UINT64_MAX || (offset != rf->next && !ra_page_at(rf, offset)))
    ra_fd_forget(rf);
  else if (offset >= rf->end && !ra_page_at(rf, offset))
    ra_fd_forget(rf); /* it looks whether the file has grown */
  else if (reads_ahead_itself(x, rf, fop))
    ra_fd_forget(rf);
  else
    rf->window = rf->window ? rf->window * 2 : 1;
  if (rf->window > o->page_count)
    rf->window = (unsigned)o->page_count;
  rf->next = offset + fop->args.size;
  rf->size = fop->args.size;
  rf->flags = fop->args.flags;
  rf->caller = fop->caller;
  gi_caller_detach(&rf->caller);
}

/* The first page of those that have [start, end) that is not there yet, or NULL: `*have` is then how far they go. */
static struct ra_page *
look(const struct gi_xlator *x, struct ra_fd *rf, uint64_t start, uint64_t end, uint64_t *have, bool *last)
{
  uint64_t now = gi_now(x->reactor);
  struct ra_page *p;
  GI_ASSERT(start < end);
  *have = start;
  *last = false;
  while (*have < end && !*last && (p = ra_page_at(rf, *have)) != NULL) {
    if (now - p->sent_ns >= RA_MAX_AGE) {
      ra_fd_forget(rf);
      *have = start;
      return NULL;
    }
    if (!p->arrived)
      return p;
    *last = p->last;
    *have = p->offset + (p->last ? p->data.len : p->size);
    if (*have < start)
      *have = start;
  }
  return NULL;
}

static bool
is_used(const struct ra_page *p, uint64_t start, uint64_t end)
{
  return p->last ? p->offset <= start && start == end : p->offset + p->size <= end;
}

/* Takes [start, end) out of the pages; those of which nothing is left go. The last one is there until it has said that it is. */
static void
take(struct gi_xlator *x, struct ra_fd *rf, struct gi_fop *fop, uint64_t end)
{
  const struct ra_inode *i = gi_inode_private(rf->fd->inode, x);
  uint64_t start = fop->args.offset;
  for (uint64_t at = start; at < end;) {
    struct ra_page *p = ra_page_at(rf, at);
    struct gi_payload part = {0};
    GI_ASSERT(p && p->arrived);
    uint64_t have = p->offset + p->data.len - at, len = end - at < have ? end - at : have;
    gi_payload_slice(&p->data, at - p->offset, len, &part);
    gi_payload_append(&fop->rsp.payload, &part);
    gi_payload_clear(&part);
    if (i->early == 0)
      fop->rsp.stat = p->stat;
    at += len;
  }
  gi_list_foreach_safe(p, &rf->pages, struct ra_page, link) {
    if (is_used(p, start, end))
      ra_page_drop(p);
  }
}

static void
atime_done(struct gi_fop *fop, void *arg)
{
  gi_fop_unref(fop);
}

/* The bricks saw a READ of the page, perhaps long ago; one of a byte has the time of this one. */
static void
move_atime(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_fop *one = gi_fop_helper(fop, GI_FOP_READ);
  gi_fop_set_fd(one, fop->fd);
  one->args = fop->args;
  one->args.size = 1;
  gi_fop_submit(one, gi_first_child(x), atime_done, NULL);
}

static enum gi_verdict
answer(struct gi_xlator *x, struct ra_fd *rf, struct gi_fop *fop, uint64_t have, bool last)
{
  const struct ra_options *o = x->options;
  struct ra *ra = x->private;
  uint64_t start = fop->args.offset, end = have - start < fop->args.size ? have : start + fop->args.size;
  GI_ASSERT(have >= start && end >= start);
  take(x, rf, fop, end);
  GI_ASSERT(fop->rsp.payload.len == end - start);
  ra->metrics.hits++;
  ra_go_on(rf);
  if (o->force_atime)
    move_atime(x, fop);
  gi_fop_ok(fop, (int)(end - start));
  fop->rsp.err = last && end == have ? ENOENT : 0;
  return GI_ANSWERED;
}

static enum gi_verdict
ra_read(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ra *ra = x->private;
  struct ra_fop *f = gi_fop_private(fop, x);
  uint64_t have;
  bool last;
  if (f->past || !may_serve(x, fop))
    return GI_PASS;
  struct ra_fd *rf = ra_fd_get(x, fop->fd);
  if (!f->held.resumed)
    note_place(x, rf, fop);
  struct ra_page *wait = look(x, rf, fop->args.offset, fop->args.offset + fop->args.size, &have, &last);
  if (wait) {
    GI_ASSERT(!wait->arrived);
    ra->metrics.waits++;
    ra_go_on(rf);
    return gi_hold_wait(&ra->hold, &wait->waiters, fop);
  }
  if (have >= fop->args.offset + fop->args.size || last)
    return answer(x, rf, fop, have, last);
  ra->metrics.misses++;
  ra_go_on(rf);
  return GI_PASS;
}

/* ---- changes ---- */

/* They are about directories, or change nothing. */
#define HARMLESS \
  (GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_SYMLINK) | \
   GI_KIND(GI_FOP_FSYNCDIR) | GI_KIND(GI_FOP_FSYNC))

static void
changed(struct gi_xlator *x, struct gi_inode *inode, int count)
{
  if (!inode)
    return;
  struct ra_inode *i = gi_inode_private(inode, x);
  if (!GI_BROKEN("keep what was read ahead over a change"))
    ra_inode_forget(x, inode);
  GI_ASSERT(count >= 0 || i->changes > 0);
  i->changes = (uint32_t)((int64_t)i->changes + count);
}

/* Of a fop with two objects either may change. */
static enum gi_verdict
ra_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ra_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(!f->changes[0] && !f->changes[1]);
  struct gi_inode *first = fop->kind == GI_FOP_COPY_FILE_RANGE ? NULL : gi_fop_inode(fop),
                  *second = fop->fd2 ? fop->fd2->inode : gi_loc_inode(fop, &fop->loc2);
  if (second == first)
    second = NULL;
  f->changes[0] = gi_inode_ref(first);
  f->changes[1] = gi_inode_ref(second);
  changed(x, first, 1);
  changed(x, second, 1);
  return first || second ? GI_PASS_TELL : GI_PASS;
}

static enum gi_verdict
ra_other(struct gi_xlator *x, struct gi_fop *fop)
{
  uint64_t kind = GI_KIND(fop->kind);
  return (gi_kinds_of_class(GI_CLASS_WRITE) & ~HARMLESS & kind) ? ra_change(x, fop) : GI_PASS;
}

static enum gi_verdict
ra_open(struct gi_xlator *x, struct gi_fop *fop)
{
  return fop->args.flags & O_TRUNC ? ra_change(x, fop) : GI_PASS;
}

static enum gi_verdict
ra_create(struct gi_xlator *x, struct gi_fop *fop)
{
  return GI_PASS_TELL;
}

static enum gi_verdict
ra_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_takes_lock(fop) ? GI_PASS_TELL : GI_PASS;
}

/* The reader closes it. */
static enum gi_verdict
ra_flush(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ra_fd *rf = fop->fd ? ra_fd_known(x, fop->fd) : NULL;
  if (rf)
    ra_fd_forget(rf);
  return GI_PASS;
}

static enum gi_verdict
ra_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ra_fop *f = gi_fop_private(fop, x);
  switch (fop->kind) {
  case GI_FOP_LK:
  case GI_FOP_SETACTIVELK:
    if (fop->rsp.ret >= 0) /* what was written under the lock elsewhere is to be seen */
      ra_forget_all(x);
    break;
  case GI_FOP_CREATE: /* it may have emptied a file that was there */
    changed(x, gi_fop_inode(fop), 0);
    break;
  default:
    if (fop->rsp.early && f->changes[0])
      ((struct ra_inode *)gi_inode_private(f->changes[0], x))->early++;
    for (unsigned i = 0; i < GI_ARRAY_LEN(f->changes); i++) {
      changed(x, f->changes[i], -1);
      gi_inode_unref(&f->changes[i]);
    }
    break;
  }
  return GI_PASS;
}

/* ---- events ---- */

/* Those that began before this translator was on the path were not counted. */
static void
written(struct gi_xlator *x, const struct gi_written *w)
{
  struct ra_inode *i = gi_inode_private(w->inode, x);
  i->early -= w->changes < i->early ? w->changes : i->early;
  if (w->err)
    ra_inode_forget(x, w->inode);
}

static bool
ra_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct ra *ra = x->private;
  const struct gi_invalidation *inv = data;
  struct gi_inode *inode;
  if (gi_event_untold(event))
    ra_forget_all(x);
  switch (event) {
  case GI_EVENT_INVALIDATE:
    if ((inode = gi_inode_find(x->graph, &inv->gfid)) != NULL)
      ra_inode_forget(x, inode);
    gi_inode_unref(&inode);
    break;
  case GI_EVENT_PARENT_DOWN:
    ra_forget_all(x);
    break;
  case GI_EVENT_WRITTEN:
    written(x, data);
    break;
  case GI_EVENT_CANCEL:
    gi_hold_cancel(&ra->hold, data);
    break;
  default:
    break;
  }
  return false;
}

static void
ra_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct ra *ra = x->private;
  ra_forget_all(x);
  gi_hold_drain(&ra->hold, done);
}

static void
ra_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct ra_fd *rf = ra_fd_known(x, fd);
  if (rf)
    ra_fd_free(rf);
}

/* ---- life ---- */

static int
ra_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct ra_options *o = x->options;
  struct ra *ra = x->private = gi_new(struct ra);
  x->metrics = &ra->metrics;
  x->enabled = !o->pass_through;
  gi_list_init(&ra->fds);
  gi_hold_init(&ra->hold, x, ra_read);
  gi_lru_init(&ra->lru, &x->ctx->budget, x->reactor, x->name, ra_evict, ra);
  if (x->graph->active)
    gi_join(&ra->joining, x);
  return 0;
}

static void
ra_finish(struct gi_xlator *x)
{
  struct ra *ra = x->private;
  GI_ASSERT(gi_list_empty(&ra->fds));
  gi_hold_finish(&ra->hold);
  gi_lru_finish(&ra->lru);
  gi_free(ra);
}

static void
ra_commit(struct gi_xlator *x)
{
  const struct ra_options *o = x->options;
  struct ra *ra = x->private;
  if (!x->enabled)
    gi_join(&ra->joining, x);
  gi_xlator_enable(x, !o->pass_through);
}

static void
ra_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct ra_options *o = x->options;
  const struct ra *ra = x->private;
  gi_dump_section(d, "xlator.performance.read-ahead.%s.priv", x->name);
  gi_dump_kv(d, "page_size", "%llu", (unsigned long long)o->page_size);
  gi_dump_kv(d, "page_count", "%lld", (long long)o->page_count);
  gi_dump_kv(d, "pages", "%llu", (unsigned long long)ra->lru.count);
  gi_dump_kv(d, "bytes", "%llu", (unsigned long long)ra->lru.cost);
  gi_dump_kv(d, "waiting", "%llu", (unsigned long long)ra->hold.count);
}

#define OPT(m) .offset = offsetof(struct ra_options, m), .live = true, .since = "0.1"
static const struct gi_option ra_table[] = {
    {.name = "page-count",
     .key = "performance.read-ahead-page-count",
     .type = GI_OPT_INT,
     OPT(page_count),
     .def = "4",
     .min = 1,
     .max = 16,
     .level = 2,
     .op_version = 1,
     .text = "Most pages asked for ahead of a sequential reader; the window begins with one and doubles."},
    {.name = "page-size",
     .type = GI_OPT_SIZE,
     OPT(page_size),
     .def = "128KB",
     .min = 4096,
     .max = 67108864,
     .level = 3,
     .text = "Bytes of a READ that is sent ahead."},
    {.name = "force-atime-update",
     .type = GI_OPT_BOOL,
     OPT(force_atime),
     .def = "off",
     .level = 3,
     .text =
         "Have a READ of one byte follow each that is answered from memory, so that the bricks see when the file was read."},
    {.name = "pass-through",
     .key = "performance.read-ahead-pass-through",
     .type = GI_OPT_BOOL,
     OPT(pass_through),
     .def = "false",
     .level = 3,
     .op_version = 40100,
     .text = "Let everything through and read nothing ahead."},
    GI_OPTION_END,
};

#define METRIC(m, help) \
  { \
#m, "", help, offsetof(struct ra, metrics.m) - offsetof(struct ra, metrics) \
  }
static const struct gi_metric ra_metrics[] = {
    METRIC(hits, "reads answered with what was read ahead"),
    METRIC(waits, "times that a read waited for what was on its way"),
    METRIC(misses, "reads sent on"),
    METRIC(pages, "reads sent ahead"),
    METRIC(unused, "pages that were given up before they were used"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/read-ahead",
    .version = GI_VERSION,
    .summary = "Asks for what a sequential reader will want next",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime", "performance/md-cache", "performance/write-behind"},
               .key = "performance.read-ahead",
               .def = "off",
               .since = "0.1",
               .text = "Read ahead of sequential readers. The kernel does that already for files in its page cache; this is "
                       "for files opened "
                       "past it, which are read in small pieces."}},
    .min_children = 1,
    .max_children = 1,
    .options = ra_table,
    .options_bytes = sizeof(struct ra_options),
    .metrics = ra_metrics,
    .fop_bytes = sizeof(struct ra_fop),
    .inode_bytes = sizeof(struct ra_inode),
    .fd_bytes = sizeof(struct ra_fd *),
    .submit = ra_other,
    .on =
        {
            [GI_FOP_READ] = ra_read,
            [GI_FOP_OPEN] = ra_open,
            [GI_FOP_CREATE] = ra_create,
            [GI_FOP_LK] = ra_lock,
            [GI_FOP_SETACTIVELK] = ra_lock,
            [GI_FOP_FLUSH] = ra_flush,
        },
    .complete = ra_complete,
    .init = ra_init,
    .finish = ra_finish,
    .reconfigure_commit = ra_commit,
    .drain = ra_drain,
    .notify = ra_notify,
    .statedump = ra_statedump,
    .fd_release = ra_release,
};
