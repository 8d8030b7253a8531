/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/quick-read: small files are read with their open, or before it.
 *
 * An open for reading asks the brick for the content (GI_CONTENT_KEY), or, if
 * there is some here, whether it is still what the brick has. Reads are answered
 * with it, by reference. In a directory whose names were looked up to be opened
 * and read the next LOOKUP asks for it: then the open has nothing to ask.
 *
 * What it promises: a descriptor reads nothing that is older than its open, and
 * nothing from before a lock that this mount was granted. Our own changes are
 * seen at once, those of others when a brick tells of them, when attributes
 * show them, or in `cache-timeout`, whichever is first.
 * What it does not: see into a file whose size and times, the ctime too, somebody
 * put back.
 */
#include "xlators/performance/quick-read/quick-read.h"

#include "libglusterish/probe.h"
#include "libglusterish/promise.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

/* ---- asking ---- */

static enum gi_verdict
qr_look(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  qr_come_back(x);
  if (!inode)
    return GI_PASS;
  qr_ask(x, fop, qr_inode_of(x, inode));
  return GI_PASS_TELL;
}

/* ---- opening and reading ---- */

static enum gi_verdict qr_change(struct gi_xlator *x, struct gi_fop *fop);

static enum gi_verdict
qr_open(struct gi_xlator *x, struct gi_fop *fop)
{
  uint32_t flags = fop->args.flags;
  qr_come_back(x);
  if (!fop->fd || !fop->fd->inode || fop->fd->directory)
    return GI_PASS;
  if (flags & O_TRUNC)
    return qr_change(x, fop);
  struct qr_inode *e = qr_inode_of(x, fop->fd->inode);
  struct qr_fd *d = gi_fd_private(fop->fd, x);
  d->opened_seq = qr_ask(x, fop, e)->seq;
  if ((flags & O_ACCMODE) == O_WRONLY || flags & O_DIRECT || fop->caller.pid < 0)
    return GI_PASS;
  qr_opened_to_read(x, e);
  /* The question whether what is here is current is small; content is asked for where it is likely to be read. */
  if (!qr_is_current(x, e) || !qr_is_told_of(x, e))
    qr_ask_for_content(fop, qr_size_wanted(x, e), e);
  else
    GI_PROBE("quick-read: an open had nothing to ask, for bricks tell what others change");
  return GI_PASS_TELL;
}

/* A descriptor that was opened later wants to be told what was there then: by the brick, which was asked since. */
static bool
answers(const struct gi_xlator *x, const struct qr_inode *e, const struct gi_fop *fop)
{
  const struct qr_fd *d = gi_fd_private(fop->fd, x);
  return qr_is_current(x, e) && (qr_is_told_of(x, e) || e->checked_seq >= d->opened_seq);
}

static enum gi_verdict
answer_read(struct gi_fop *fop, const struct qr_inode *e)
{
  const struct qr_content *c = e->content;
  uint64_t size = c->data.len, from = fop->args.offset < size ? fop->args.offset : size;
  uint64_t len = fop->args.size < size - from ? fop->args.size : size - from;
  GI_ASSERT(e->seen.size == size);
  if (len)
    gi_payload_slice(&c->data, from, len, &fop->rsp.payload);
  fop->rsp.stat = c->stat;
  fop->rsp.asked = e->checked_ns;
  gi_fop_ok(fop, (int)len);
  if (from + len >= size)
    fop->rsp.err = ENOENT; /* the end */
  return GI_ANSWERED;
}

static enum gi_verdict
qr_read(struct gi_xlator *x, struct gi_fop *fop)
{
  struct qr *qr = x->private;
  qr_come_back(x);
  if (!fop->fd || !fop->fd->inode || fop->fd->flags & O_DIRECT || fop->args.flags & O_DIRECT || fop->args.size == 0 ||
      fop->caller.pid < 0)
    return GI_PASS;
  struct qr_inode *e = qr_inode_of(x, fop->fd->inode);
  e->unwanted = e->idle = e->paged = false;
  if (answers(x, e, fop)) {
    gi_lru_touch(&qr->lru, &e->item);
    qr->metrics.hits++;
    return answer_read(fop, e);
  }
  qr->metrics.misses++;
  qr_ask(x, fop, e);
  return GI_PASS_TELL;
}

/* ---- changing ---- */

static struct gi_inode *
target(struct gi_fop *fop)
{
  return fop->kind != GI_FOP_COPY_FILE_RANGE ? gi_fop_inode(fop) : fop->fd2 ? fop->fd2->inode : NULL;
}

/* The kernel keeps pages that it wrote as a whole; one of which it wrote a part it reads before it uses it. */
static bool
leaves_whole_pages(const struct gi_fop *fop)
{
  uint32_t flags = fop->args.flags | (fop->fd ? (uint32_t)fop->fd->flags : 0);
  return !(flags & (O_DIRECT | O_APPEND)) && (fop->args.offset | fop->args.size) % GI_PAGE == 0;
}

static enum gi_verdict
qr_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = target(fop);
  qr_come_back(x);
  if (!inode)
    return GI_PASS;
  struct qr_inode *e = qr_inode_of(x, inode);
  qr_ask(x, fop, e);
  if (fop->kind == GI_FOP_WRITE)
    e->paged = leaves_whole_pages(fop);
  e->changes++;
  qr_changed(x->private, e);
  return GI_PASS_TELL;
}

/* It may have emptied a file that was there. */
static enum gi_verdict
qr_create(struct gi_xlator *x, struct gi_fop *fop)
{
  qr_come_back(x);
  qr_ask(x, fop, NULL);
  return GI_PASS_TELL;
}

static void
early(struct gi_xlator *x, struct qr_inode *e)
{
  struct qr *qr = x->private;
  if (e->early == 0 && gi_join_waits(&qr->joining, x)) /* the end of one from before would be taken for that of this one */
    e->unsure = true;
  e->early++;
  GI_ASSERT(e->early <= e->changes);
}

static void
change_done(struct gi_xlator *x, struct gi_fop *fop, struct qr_inode *e)
{
  GI_ASSERT(e->changes > 0);
  if (fop->rsp.ret >= 0 && fop->rsp.early)
    early(x, e);
  else
    e->changes--;
  qr_changed(x->private, e);
}

static void
written(struct gi_xlator *x, const struct gi_written *w)
{
  struct qr_inode *e = qr_inode_of(x, w->inode);
  uint32_t ended = w->changes < e->early ? w->changes : e->early; /* others were answered before we were there */
  e->early -= ended;
  e->changes -= ended;
  qr_changed(x->private, e);
}

/* ---- replies ---- */

static void
entry_done(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f)
{
  const struct gi_iatt *a = gi_reply_attr(fop, GI_OF_OBJECT);
  if (fop->rsp.ret < 0 || !a || gi_gfid_is_none(&a->gfid))
    return;
  struct gi_inode *inode = gi_inode_find(x->graph, &a->gfid);
  if (!inode)
    return;
  struct qr_inode *e = qr_inode_of(x, inode);
  if (fop->kind == GI_FOP_LOOKUP) {
    qr_looked_up(x, fop, f, e);
  } else {
    qr_changed(x->private, e);
    e->paged = fop->kind == GI_FOP_CREATE;
  }
  gi_inode_unref(&inode);
}

static enum gi_verdict
qr_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct qr *qr = x->private;
  struct qr_fop *f = gi_fop_private(fop, x);
  switch (fop->kind) {
  case GI_FOP_LK:
    if (fop->rsp.ret >= 0)
      qr->lock_seq = ++qr->clock;
    break;
  case GI_FOP_LOOKUP:
  case GI_FOP_CREATE:
  case GI_FOP_PUT:
    entry_done(x, fop, f);
    break;
  case GI_FOP_STAT:
  case GI_FOP_FSTAT:
    if (fop->rsp.ret >= 0)
      GI_IGNORE(qr_learn(x, f->e, f, &fop->rsp.stat, false));
    break;
  case GI_FOP_READ:
    qr_take_read(x, fop, f);
    break;
  case GI_FOP_OPEN:
    if (!(fop->args.flags & O_TRUNC)) {
      qr_take_content(x, fop, f);
      break;
    }
    /* fall through */
  default:
    change_done(x, fop, f->e);
    break;
  }
  return GI_PASS;
}

static enum gi_verdict
qr_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  qr_come_back(x);
  return gi_fop_takes_lock(fop) ? GI_PASS_TELL : GI_PASS;
}

/* ---- what others tell ---- */

/* Told of a change it asks again; with `quick-read-cache-invalidation` the content goes at once. */
static void
invalidated(struct gi_xlator *x, const struct gi_invalidation *inv)
{
  struct gi_inode *inode = gi_inode_find(x->graph, &inv->gfid);
  struct qr *qr = x->private;
  if (!inode) {
    qr->stranger_seq = ++qr->clock;
    return;
  }
  struct qr_inode *e = qr_inode_of(x, inode);
  e->changed_seq = ++qr->clock;
  e->paged = false; /* those pages go */
  if (qr_opts(x)->invalidation)
    qr_changed(qr, e);
  gi_inode_unref(&inode);
}

static bool
qr_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (gi_event_untold(event))
    qr_drop_all(x->private);
  switch (event) {
  case GI_EVENT_INVALIDATE:
    invalidated(x, data);
    break;
  case GI_EVENT_WRITTEN:
    written(x, data);
    break;
  default:
    break;
  }
  return false;
}

/* ---- life ---- */

static void
qr_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct qr *qr = x->private;
  qr->away = true;
  qr_drop_all(qr);
  done(x);
}

static void
qr_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  qr_drop(x->private, bytes);
}

/* Bricks follow their volfiles within a second or two. */
#define QR_BRICKS_FOLLOW_NS (10 * GI_NSEC_PER_SEC)

static void
qr_commit(struct gi_xlator *x)
{
  struct qr *qr = x->private;
  const struct qr_options *before = x->old_options;
  if (qr_opts(x)->told && before && !before->told)
    qr->told_from = gi_now(x->reactor) + QR_BRICKS_FOLLOW_NS;
  uint64_t size = qr_opts(x)->cache_size;
  gi_lru_set_bounds(&qr->lru, 0, size ? size : 1); /* no bytes at all would mean no bound */
}

static int
qr_init(struct gi_xlator *x, struct gi_error *err)
{
  struct qr *qr = x->private = gi_new(struct qr);
  x->metrics = &qr->metrics;
  qr->away = x->graph->active;
  gi_lru_init(&qr->lru, &x->ctx->budget, x->reactor, x->name, qr_evict, qr);
  qr_commit(x);
  return 0;
}

static void
qr_finish(struct gi_xlator *x)
{
  struct qr *qr = x->private;
  gi_lru_finish(&qr->lru);
  gi_free(qr);
}

static void
qr_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct qr *qr = x->private;
  gi_dump_kv(d, "files", "%llu", (unsigned long long)qr->lru.count);
  gi_dump_kv(d, "bytes", "%llu", (unsigned long long)qr->lru.cost);
}

#define OPT(m) .offset = offsetof(struct qr_options, m), .live = true, .since = "0.1"
static const struct gi_option qr_table[] = {
    {.name = "max-file-size",
     .key = "performance.quick-read-max-file-size",
     .type = GI_OPT_SIZE,
     OPT(max_file_size),
     .def = "64KB",
     .max = 1024000,
     .level = 2,
     .text = "Larger files do not come with their open; 0 lets none come."},
    {.name = "cache-size",
     .key = "performance.cache-size", /* what is written later wins */
     .type = GI_OPT_SIZE,
     OPT(cache_size),
     .def = "128MB",
     .max = INFINITY,
     .level = 1,
     .op_version = 1,
     .text = "Memory for the content of small files, if performance.quick-read-cache-size is not set."},
    {.name = "cache-size",
     .key = "performance.quick-read-cache-size",
     .type = GI_OPT_SIZE,
     OPT(cache_size),
     .def = "128MB",
     .max = INFINITY,
     .level = 2,
     .op_version = 80000,
     .text = "Memory for the content of small files."},
    {.name = "cache-timeout",
     .key = "performance.qr-cache-timeout",
     .type = GI_OPT_TIME,
     OPT(timeout),
     .def = "1",
     .max = 600,
     .level = 2,
     .op_version = 1,
     .text = "Older name of performance.quick-read-cache-timeout, which counts if both are set."},
    {.name = "cache-timeout",
     .key = "performance.quick-read-cache-timeout",
     .type = GI_OPT_TIME,
     OPT(timeout),
     .def = "1",
     .max = 600,
     .level = 2,
     .op_version = 80000,
     .text = "Seconds after which the content of an open file is read again; where bricks tell what others change it need not "
             "be before "
             "features.cache-invalidation-timeout."},
    {.name = "quick-read-cache-invalidation",
     .key = "performance.quick-read-cache-invalidation",
     .type = GI_OPT_BOOL,
     OPT(invalidation),
     .def = "false",
     .level = 3,
     .op_version = 40000,
     .text = "Give up the content of a file that a brick says was changed; off asks the brick again before it is used."},
    GI_OPTIONS_TOLD(qr_options, ", so quick-read need not ask them at each open"),
    {.name = "ctime-invalidation",
     .key = "performance.ctime-invalidation",
     .type = GI_OPT_BOOL,
     OPT(by_ctime),
     .unread = true,
     .def = "false",
     .level = 3,
     .op_version = 50000,
     .text =
         "Tell by ctime, too, whether a file has changed. It always counts here: who writes with a clock that is behind moves "
         "nothing else."},
    {.name = "priority",
     .type = GI_OPT_STR,
     OPT(priority),
     .unread = true,
     .level = 3,
     .text =
         "Patterns of names and how long to keep them; the file that was not used for longest goes first, whatever its name."},
    GI_OPTION_END,
};

#define METRIC(m, help) \
  { \
#m, "", help, offsetof(struct qr, metrics.m) - offsetof(struct qr, metrics) \
  }
static const struct gi_metric qr_metrics_table[] = {
    METRIC(hits, "reads answered from memory"),
    METRIC(misses, "reads sent on"),
    METRIC(fetched, "files that came with their open or lookup"),
    METRIC(ahead, "of them, those that came with their lookup"),
    METRIC(confirmed, "opens that found that what is kept is current"),
    METRIC(unused, "files that came and were not read"),
    METRIC(dropped, "files forgotten because they may have changed"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/quick-read",
    .version = GI_VERSION,
    .summary = "Reads small files with their open or lookup",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"performance/open-behind", "performance/io-cache", "performance/write-behind", "features/utime"},
               .key = "performance.quick-read",
               .def = "on",
               .since = "0.1",
               .text = "Fetch small files with their open and answer reads of them from memory."}},
    .min_children = 1,
    .max_children = 1,
    .options = qr_table,
    .options_bytes = sizeof(struct qr_options),
    .metrics = qr_metrics_table,
    .fop_bytes = sizeof(struct qr_fop),
    .inode_bytes = sizeof(struct qr_inode),
    .fd_bytes = sizeof(struct qr_fd),
    .on =
        {
            [GI_FOP_OPEN] = qr_open,
            [GI_FOP_READ] = qr_read,
            [GI_FOP_LOOKUP] = qr_lookup,
            [GI_FOP_STAT] = qr_look,
            [GI_FOP_FSTAT] = qr_look,
            [GI_FOP_LK] = qr_lock,
            [GI_FOP_CREATE] = qr_create,
            [GI_FOP_PUT] = qr_create,
            [GI_FOP_WRITE] = qr_change,
            [GI_FOP_TRUNCATE] = qr_change,
            [GI_FOP_FTRUNCATE] = qr_change,
            [GI_FOP_FALLOCATE] = qr_change,
            [GI_FOP_DISCARD] = qr_change,
            [GI_FOP_ZEROFILL] = qr_change,
            [GI_FOP_COPY_FILE_RANGE] = qr_change,
            [GI_FOP_SETATTR] = qr_change,
            [GI_FOP_FSETATTR] = qr_change,
        },
    .complete = qr_complete,
    .init = qr_init,
    .finish = qr_finish,
    .reconfigure_commit = qr_commit,
    .notify = qr_notify,
    .drain = qr_drain,
    .statedump = qr_statedump,
    .inode_forget = qr_forget,
};
