/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/quick-read: small files are read with their open.
 *
 * An open for reading asks the brick for the content (GI_CONTENT_KEY), or, if
 * there is some here, whether it is still what the brick has. Reads are answered
 * with it, by reference.
 *
 * What it promises: a descriptor reads nothing that is older than its open, and
 * nothing from before a lock that this mount was granted. Our own changes are
 * seen at once, those of others when a brick tells of them, when attributes
 * show them, or in `cache-timeout`, whichever is first.
 * What it does not: see into a file whose size and times, the ctime too, somebody
 * put back.
 */
#include "libglusterish/graph.h"
#include "libglusterish/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

#define QR_UNSURE_NS (60 * GI_NSEC_PER_SEC)

struct qr_options {
  uint64_t max_file_size, cache_size; /* bytes */
  uint64_t timeout;                   /* s */
  bool invalidation, by_ctime;
  bool told;        /* bricks tell what others change … */
  int64_t told_for; /* … for so many seconds after the last operation on the object */
  char *priority;
};

struct qr {
  struct gi_lru lru;
  uint64_t clock;     /* counts questions, changes and locks: what came after what */
  uint64_t epoch_seq; /* what was asked for before is not kept */
  uint64_t lock_seq;  /* when a lock was last granted */
  uint64_t joined_ns; /* when it came, or came back, into a graph that was running; 0: it was there from the beginning */
  uint32_t joined;    /* how often it did */
  uint64_t told_from; /* gi_now: all bricks will have been told to tell by then */
  bool away;          /* it was switched off, and saw nothing of what was done meanwhile */
  struct {
    uint64_t hits, misses, fetched, confirmed, unused, dropped;
  } metrics;
};

struct qr_inode {
  struct gi_lru_item item; /* on the list while `data` is the content */
  struct gi_payload data;
  struct gi_iatt seen;  /* attributes as last seen, those of the content if there is any; invalid: something changed since */
  uint64_t seen_seq;    /* when the question was asked that they answer */
  uint64_t checked_seq; /* when it was asked from whom the data comes whether this is the content */
  uint64_t checked_ns;
  uint64_t changed_seq; /* of the last change that we saw begin or end */
  uint32_t changes;     /* of ours under way, those among them that were answered early … */
  uint32_t early;       /* … are these: GI_EVENT_WRITTEN ends them */
  uint32_t joined;      /* qr.joined when these were counted */
  bool unsure;          /* it may have others of that sort that we have not seen: nothing is kept */
  bool idle;            /* content came, and nobody has read it yet … */
  bool unwanted;        /* … or nobody did at all: not asked for again until somebody reads */
};

struct qr_fd {
  uint64_t opened_seq;
};

struct qr_fop {
  struct qr_inode *e; /* the fop keeps it */
  uint64_t seq, asked_ns;
};

static const struct qr_options *
qr_opts(const struct gi_xlator *x)
{
  return x->options;
}

/* What was counted before it was switched off may have ended unseen. */
static struct qr_inode *
qr_inode(const struct gi_xlator *x, const struct gi_inode *inode)
{
  const struct qr *qr = x->private;
  struct qr_inode *e = gi_inode_private(inode, x);
  if (e->joined != qr->joined) {
    GI_ASSERT(e->early <= e->changes);
    e->joined = qr->joined;
    e->unsure |= e->early > 0;
    e->changes -= e->early;
    e->early = 0;
  }
  return e;
}

/* ---- forgetting ---- */

static void
forget_data(struct qr *qr, struct qr_inode *e)
{
  if (e->idle) {
    e->unwanted = true;
    qr->metrics.unused++;
  }
  e->idle = false;
  gi_payload_clear(&e->data);
}

static void
evict(void *arg, struct gi_lru_item *item)
{
  forget_data(arg, gi_list_item(item, struct qr_inode, item));
}

static void
drop(struct qr *qr, struct qr_inode *e)
{
  if (!gi_lru_holds(&e->item))
    return;
  gi_lru_remove(&qr->lru, &e->item);
  forget_data(qr, e);
  qr->metrics.dropped++;
}

static void
changed(struct qr *qr, struct qr_inode *e)
{
  if (GI_BROKEN("keep content over a change"))
    return;
  e->changed_seq = ++qr->clock;
  e->seen = (struct gi_iatt){0};
  drop(qr, e);
}

static void
drop_all(struct qr *qr)
{
  qr->epoch_seq = ++qr->clock;
  while (!gi_list_empty(&qr->lru.items))
    drop(qr, gi_list_item(gi_list_first(&qr->lru.items, struct gi_lru_item, link), struct qr_inode, item));
}

/* ---- what attributes say ---- */

static bool
is_same(const struct gi_iatt *a, const struct gi_iatt *b)
{
  return a->size == b->size && a->mtime.sec == b->mtime.sec && a->mtime.nsec == b->mtime.nsec && a->ctime.sec == b->ctime.sec &&
         a->ctime.nsec == b->ctime.nsec;
}

/* Nothing has happened to it since the question was asked, as far as we know. */
static bool
is_undisturbed(const struct gi_xlator *x, const struct qr_inode *e, const struct qr_fop *f)
{
  return f->seq > ((const struct qr *)x->private)->epoch_seq && f->seq > e->changed_seq && !e->changes;
}

/* Attributes that were asked for. Those that do not come with data may be a cache's: they can tell that something changed, but not that
 * nothing did. False: they are not news. */
static bool
learn(struct gi_xlator *x, struct qr_inode *e, const struct qr_fop *f, const struct gi_iatt *a, bool with_data)
{
  if (!gi_iatt_valid(a) || !is_undisturbed(x, e, f) || f->seq < e->seen_seq)
    return false;
  if (gi_lru_holds(&e->item) && !is_same(a, &e->seen))
    drop(x->private, e);
  e->seen = *a;
  e->seen_seq = f->seq;
  if (with_data) {
    e->checked_seq = f->seq;
    e->checked_ns = f->asked_ns;
  }
  return true;
}

/* `data` is the content of the file as `seen` describes it; consumed. */
static void
keep(struct gi_xlator *x, struct qr_inode *e, struct gi_payload *data)
{
  struct qr *qr = x->private;
  GI_ASSERT(gi_iatt_valid(&e->seen) && data->len == e->seen.size && !e->changes);
  drop(qr, e);
  e->data = *data;
  *data = (struct gi_payload){0};
  gi_payload_compact(&e->data);
  gi_lru_add(&qr->lru, &e->item, sizeof(*e) + gi_payload_pinned(&e->data));
}

static bool
may_keep(const struct gi_xlator *x, const struct qr_inode *e, const struct qr_fop *f, size_t len)
{
  return !x->draining && !e->unsure && is_undisturbed(x, e, f) && gi_iatt_valid(&e->seen) && e->seen.size == len &&
         len <= qr_opts(x)->max_file_size;
}

/* A brick would have told if somebody had changed it since it was asked. */
static bool
is_told_of(const struct gi_xlator *x, const struct qr_inode *e)
{
  const struct qr *qr = x->private;
  const struct qr_options *o = qr_opts(x);
  return o->told && e->checked_ns >= qr->told_from &&
         gi_now(x->reactor) < e->checked_ns + (uint64_t)o->told_for * GI_NSEC_PER_SEC;
}

static bool
is_current(const struct gi_xlator *x, const struct qr_inode *e)
{
  const struct qr *qr = x->private;
  return gi_lru_holds(&e->item) && !e->changes && e->checked_seq > qr->lock_seq && e->checked_seq > e->changed_seq &&
         (is_told_of(x, e) || gi_now(x->reactor) < e->checked_ns + qr_opts(x)->timeout * GI_NSEC_PER_SEC);
}

/* ---- asking ---- */

/* Switched on in a running graph it does not know which writes are on their way that were answered early. */
static void
come_back(struct gi_xlator *x)
{
  struct qr *qr = x->private;
  if (!qr->away || x->draining)
    return;
  qr->away = false;
  qr->joined++;
  qr->joined_ns = gi_now(x->reactor);
  drop_all(qr);
}

static struct qr_fop *
ask(struct gi_xlator *x, struct gi_fop *fop, struct qr_inode *e)
{
  struct qr *qr = x->private;
  struct qr_fop *f = gi_fop_private(fop, x);
  *f = (struct qr_fop){e, ++qr->clock, gi_now(x->reactor)};
  return f;
}

static enum gi_verdict
qr_look(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  come_back(x);
  if (fop->kind != GI_FOP_LOOKUP && !inode)
    return GI_PASS;
  ask(x, fop, inode ? qr_inode(x, inode) : NULL);
  return GI_PASS_TELL;
}

/* ---- opening and reading ---- */

static enum gi_verdict qr_change(struct gi_xlator *x, struct gi_fop *fop);

/* The question whether what is here is current is small; content is asked for where it is likely to be read. */
static void
ask_for_content(struct gi_xlator *x, struct gi_fop *fop, const struct qr_inode *e)
{
  uint64_t max = qr_opts(x)->max_file_size;
  struct gi_dict *xdata = gi_fop_xdata(fop);
  if (x->draining || e->unsure || e->changes || e->unwanted || (gi_iatt_valid(&e->seen) && e->seen.size > max))
    max = 0;
  gi_dict_set_uint(xdata, GI_CONTENT_KEY, max);
  if (gi_lru_holds(&e->item))
    gi_dict_set_iatt(xdata, GI_CONTENT_STAT_KEY, &e->seen);
}

static enum gi_verdict
qr_open(struct gi_xlator *x, struct gi_fop *fop)
{
  uint32_t flags = fop->args.flags;
  come_back(x);
  if (!fop->fd || !fop->fd->inode || fop->fd->directory)
    return GI_PASS;
  if (flags & O_TRUNC)
    return qr_change(x, fop);
  struct qr_inode *e = qr_inode(x, fop->fd->inode);
  struct qr_fd *d = gi_fd_private(fop->fd, x);
  d->opened_seq = ask(x, fop, e)->seq;
  if ((flags & O_ACCMODE) == O_WRONLY || flags & O_DIRECT || fop->caller.pid < 0)
    return GI_PASS;
  if (!is_current(x, e) || !is_told_of(x, e))
    ask_for_content(x, fop, e);
  return GI_PASS_TELL;
}

static void
opened(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f)
{
  struct qr *qr = x->private;
  struct gi_payload data = {0};
  const struct gi_pair *stat = gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY);
  const void *bytes;
  uint32_t len;
  if (fop->rsp.ret < 0 || !stat || stat->type != GI_VALUE_IATT)
    return; /* a brick that does not know of it, or an open that was answered before it was sent */
  bool had = gi_lru_holds(&f->e->item);
  if (!learn(x, f->e, f, stat->iatt, true))
    return;
  if (had && gi_lru_holds(&f->e->item))
    qr->metrics.confirmed++;
  if (!gi_dict_get_bin(fop->rsp.xdata, GI_CONTENT_KEY, &bytes, &len) || !may_keep(x, f->e, f, len))
    return;
  gi_payload_add_copy(&data, bytes, len);
  keep(x, f->e, &data);
  f->e->idle = true;
  qr->metrics.fetched++;
}

/* A descriptor that was opened later wants to be told what was there then: by the brick, which was asked since. */
static bool
answers(const struct gi_xlator *x, const struct qr_inode *e, const struct gi_fop *fop)
{
  const struct qr_fd *d = gi_fd_private(fop->fd, x);
  return is_current(x, e) && (is_told_of(x, e) || e->checked_seq >= d->opened_seq);
}

static enum gi_verdict
answer_read(struct gi_fop *fop, const struct qr_inode *e)
{
  uint64_t size = e->data.len, from = fop->args.offset < size ? fop->args.offset : size;
  uint64_t len = fop->args.size < size - from ? fop->args.size : size - from;
  GI_ASSERT(e->seen.size == size);
  if (len)
    gi_payload_slice(&e->data, from, len, &fop->rsp.payload);
  fop->rsp.stat = e->seen;
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
  come_back(x);
  if (!fop->fd || !fop->fd->inode || fop->fd->flags & O_DIRECT || fop->args.flags & O_DIRECT || fop->args.size == 0 ||
      fop->caller.pid < 0)
    return GI_PASS;
  struct qr_inode *e = qr_inode(x, fop->fd->inode);
  e->unwanted = e->idle = false;
  if (answers(x, e, fop)) {
    gi_lru_touch(&qr->lru, &e->item);
    qr->metrics.hits++;
    return answer_read(fop, e);
  }
  qr->metrics.misses++;
  ask(x, fop, e);
  return GI_PASS_TELL;
}

/* The attributes were taken after the data: they prove that it is the whole file only if they were the same before. */
static void
was_read(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f)
{
  const struct gi_iatt *a = &fop->rsp.stat;
  struct qr_inode *e = f->e;
  struct gi_payload data = {0};
  if (fop->rsp.ret < 0 || !gi_iatt_valid(a))
    return;
  bool bracketed = gi_iatt_valid(&e->seen) && is_same(a, &e->seen) && e->seen_seq < f->seq;
  if (!learn(x, e, f, a, true) || !bracketed || fop->args.offset != 0 || gi_lru_holds(&e->item) ||
      !may_keep(x, e, f, fop->rsp.payload.len))
    return;
  gi_payload_append(&data, &fop->rsp.payload);
  keep(x, e, &data);
}

/* ---- changing ---- */

static struct gi_inode *
target(struct gi_fop *fop)
{
  return fop->kind != GI_FOP_COPY_FILE_RANGE ? gi_fop_inode(fop) : fop->fd2 ? fop->fd2->inode : NULL;
}

static enum gi_verdict
qr_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = target(fop);
  come_back(x);
  if (!inode)
    return GI_PASS;
  struct qr_inode *e = qr_inode(x, inode);
  ask(x, fop, e);
  e->changes++;
  changed(x->private, e);
  return GI_PASS_TELL;
}

/* It may have emptied a file that was there. */
static enum gi_verdict
qr_create(struct gi_xlator *x, struct gi_fop *fop)
{
  come_back(x);
  ask(x, fop, NULL);
  return GI_PASS_TELL;
}

static void
early(struct gi_xlator *x, struct qr_inode *e)
{
  const struct qr *qr = x->private;
  if (e->early == 0 && qr->joined_ns && gi_now(x->reactor) < qr->joined_ns + QR_UNSURE_NS)
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
  changed(x->private, e);
}

static void
written(struct gi_xlator *x, const struct gi_written *w)
{
  struct qr_inode *e = qr_inode(x, w->inode);
  uint32_t ended = w->changes < e->early ? w->changes : e->early; /* others were answered before we were there */
  e->early -= ended;
  e->changes -= ended;
  changed(x->private, e);
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
  struct qr_inode *e = qr_inode(x, inode);
  if (fop->kind != GI_FOP_LOOKUP)
    changed(x->private, e);
  else
    GI_IGNORE(learn(x, e, f, a, false));
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
      GI_IGNORE(learn(x, f->e, f, &fop->rsp.stat, false));
    break;
  case GI_FOP_READ:
    was_read(x, fop, f);
    break;
  case GI_FOP_OPEN:
    if (!(fop->args.flags & O_TRUNC)) {
      opened(x, fop, f);
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
  come_back(x);
  return gi_fop_takes_lock(fop) ? GI_PASS_TELL : GI_PASS;
}

/* ---- what others tell ---- */

/* Told of a change it asks again; with `quick-read-cache-invalidation` the content goes at once. */
static void
invalidated(struct gi_xlator *x, const struct gi_invalidation *inv)
{
  struct gi_inode *inode = gi_inode_find(x->graph, &inv->gfid);
  if (!inode)
    return;
  struct qr *qr = x->private;
  struct qr_inode *e = qr_inode(x, inode);
  e->changed_seq = ++qr->clock;
  if (qr_opts(x)->invalidation)
    changed(qr, e);
  gi_inode_unref(&inode);
}

static bool
qr_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  switch (event) {
  case GI_EVENT_INVALIDATE:
    invalidated(x, data);
    break;
  case GI_EVENT_WRITTEN:
    written(x, data);
    break;
  case GI_EVENT_CHILD_UP:
  case GI_EVENT_CHILD_DOWN:
  case GI_EVENT_CHILD_CHANGED:
    drop_all(x->private);
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
  drop_all(qr);
  done(x);
}

static void
qr_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  drop(x->private, bytes);
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
  gi_lru_init(&qr->lru, &x->ctx->budget, x->reactor, x->name, evict, qr);
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
    {.name = "cache-invalidation",
     .key = "features.cache-invalidation",
     .type = GI_OPT_BOOL,
     OPT(told),
     .def = "off",
     .level = 1,
     .op_version = 30700,
     .side = GI_SIDE_CLIENT,
     .text = "Bricks tell what others change, so quick-read need not ask them at each open."},
    {.name = "cache-invalidation-timeout",
     .key = "features.cache-invalidation-timeout",
     .type = GI_OPT_INT,
     OPT(told_for),
     .def = "60",
     .min = 1,
     .max = 86400,
     .level = 1,
     .op_version = 30700,
     .side = GI_SIDE_CLIENT,
     .text = "Seconds after its last operation on a file for which bricks tell a client of it."},
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
    METRIC(fetched, "files that came with their open"),
    METRIC(confirmed, "opens that found that what is kept is current"),
    METRIC(unused, "files that came and were not read"),
    METRIC(dropped, "files forgotten because they may have changed"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/quick-read",
    .version = GI_VERSION,
    .summary = "Reads small files with their open",
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
            [GI_FOP_LOOKUP] = qr_look,
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
