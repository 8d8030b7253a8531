/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/example: answers a READ again from memory.
 *
 * The worked example of a cache (doc/writing-a-translator.md), compiled and
 * tested with everything else so that it stays true. Of each file it keeps the
 * reply of the last READ, by reference, and gives it to whoever asks for the same
 * bytes.
 *
 * What it promises: a reply that was kept before a change is not given after it.
 * A change through this client begins and ends with forgetting, and what is
 * read in between is not kept; one of somebody else is told by
 * GI_EVENT_INVALIDATE, or is seen when `cache-timeout` has passed.
 * What it does not: data is as old as that when the bricks do not tell.
 */
#include "libglusterish/graph.h"

#include <fcntl.h>

struct ex_options {
  uint64_t timeout; /* s */
  uint64_t largest; /* bytes */
};

struct ex {
  struct gi_lru lru;
  uint64_t epoch; /* what was asked for in an earlier one is not kept */
  struct {
    uint64_t hits, misses, dropped;
  } metrics;
};

/* Of an inode. The item is on the list while there is a reply. */
struct ex_inode {
  struct gi_lru_item item;
  uint64_t offset, size; /* as asked for */
  uint64_t until_ns;
  struct gi_payload data;
  struct gi_iatt stat;
  int32_t err;      /* of the reply: ENOENT at the end of the file */
  uint32_t version; /* of the file, as far as this translator saw it change */
  uint32_t changes; /* under way */
};

struct ex_fop {
  struct ex_inode *e;
  uint64_t epoch;
  uint32_t version;
};

/* ---- forgetting ---- */

static void
evict(void *arg, struct gi_lru_item *item)
{
  gi_payload_clear(&gi_list_item(item, struct ex_inode, item)->data);
}

static void
drop(struct ex *ex, struct ex_inode *e)
{
  if (!gi_lru_holds(&e->item))
    return;
  gi_lru_remove(&ex->lru, &e->item);
  gi_payload_clear(&e->data);
  ex->metrics.dropped++;
}

static void
changed(struct ex *ex, struct ex_inode *e)
{
  e->version++;
  drop(ex, e);
}

static void
drop_all(struct ex *ex)
{
  ex->epoch++;
  while (!gi_list_empty(&ex->lru.items))
    drop(ex, gi_list_item(gi_list_first(&ex->lru.items, struct gi_lru_item, link), struct ex_inode, item));
}

/* ---- reading ---- */

static bool
answers(const struct gi_xlator *x, const struct ex_inode *e, const struct gi_fop *fop)
{
  return gi_lru_holds(&e->item) && e->offset == fop->args.offset && e->size == fop->args.size &&
         gi_now(x->reactor) < e->until_ns;
}

static enum gi_verdict
ex_read(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ex *ex = x->private;
  struct gi_inode *inode = gi_fop_inode(fop);
  if (!inode || (fop->fd && fop->fd->flags & O_DIRECT))
    return GI_PASS;
  struct ex_inode *e = gi_inode_private(inode, x);
  if (answers(x, e, fop)) {
    gi_payload_append(&fop->rsp.payload, &e->data);
    gi_lru_touch(&ex->lru, &e->item);
    ex->metrics.hits++;
    fop->rsp.stat = e->stat;
    gi_fop_ok(fop, (int)e->data.len);
    fop->rsp.err = e->err;
    return GI_ANSWERED;
  }
  ex->metrics.misses++;
  *(struct ex_fop *)gi_fop_private(fop, x) = (struct ex_fop){e, ex->epoch, e->version};
  return GI_PASS_TELL;
}

static void
keep(struct gi_xlator *x, struct ex_inode *e, const struct gi_fop *fop)
{
  const struct ex_options *o = x->options;
  struct ex *ex = x->private;
  drop(ex, e);
  gi_payload_append(&e->data, &fop->rsp.payload);
  gi_payload_compact(&e->data); /* a small slice would pin the whole buffer it was received in */
  e->offset = fop->args.offset;
  e->size = fop->args.size;
  e->stat = fop->rsp.stat;
  e->err = fop->rsp.err;
  e->until_ns = gi_now(x->reactor) + o->timeout * GI_NSEC_PER_SEC;
  gi_lru_add(&ex->lru, &e->item, gi_payload_pinned(&e->data));
}

/* ---- changing ---- */

/* The file whose data changes; the inode of a fop is that of its source where it has two. */
static struct gi_inode *
target(struct gi_fop *fop)
{
  return fop->kind != GI_FOP_COPY_FILE_RANGE ? gi_fop_inode(fop) : fop->fd2 ? fop->fd2->inode : NULL;
}

static enum gi_verdict
ex_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = target(fop);
  if (!inode)
    return GI_PASS;
  struct ex_fop *f = gi_fop_private(fop, x);
  f->e = gi_inode_private(inode, x);
  f->e->changes++;
  changed(x->private, f->e);
  return GI_PASS_TELL;
}

static enum gi_verdict
ex_open(struct gi_xlator *x, struct gi_fop *fop)
{
  return fop->args.flags & O_TRUNC ? ex_change(x, fop) : GI_PASS;
}

/* The fop holds the inode, so its bytes are still there. */
static enum gi_verdict
ex_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ex_options *o = x->options;
  const struct ex *ex = x->private;
  struct ex_fop *f = gi_fop_private(fop, x);
  if (fop->kind != GI_FOP_READ) {
    f->e->changes--;
    changed(x->private, f->e);
  } else if (fop->rsp.ret >= 0 && !x->draining && f->e->changes == 0 && f->version == f->e->version && f->epoch == ex->epoch &&
             fop->rsp.payload.len <= o->largest) {
    keep(x, f->e, fop);
  }
  return GI_PASS;
}

/* ---- what others tell ---- */

static bool
ex_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  const struct gi_invalidation *inv = data;
  struct gi_inode *inode;
  switch (event) {
  case GI_EVENT_INVALIDATE:
    if ((inode = gi_inode_find(x->graph, &inv->gfid)) != NULL)
      changed(x->private, gi_inode_private(inode, x));
    gi_inode_unref(&inode);
    break;
  case GI_EVENT_CHILD_UP: /* what was changed while nobody could tell */
  case GI_EVENT_CHILD_DOWN:
  case GI_EVENT_CHILD_CHANGED:
    drop_all(x->private);
    break;
  default:
    break;
  }
  return false; /* it goes on */
}

/* It holds no operations and no data that the bricks do not have, so it is done at once. */
static void
ex_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  drop_all(x->private);
  done(x);
}

static void
ex_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  drop(x->private, bytes);
}

/* ---- life ---- */

static int
ex_init(struct gi_xlator *x, struct gi_error *err)
{
  struct ex *ex = x->private = gi_new(struct ex);
  x->metrics = &ex->metrics;
  gi_lru_init(&ex->lru, &x->ctx->budget, x->reactor, x->name, evict, ex);
  return 0;
}

static void
ex_finish(struct gi_xlator *x)
{
  struct ex *ex = x->private;
  gi_lru_finish(&ex->lru);
  gi_free(ex);
}

#define OPT(m) .offset = offsetof(struct ex_options, m)
static const struct gi_option ex_table[] = {
    {.name = "cache-timeout",
     .key = "example.cache-timeout",
     .type = GI_OPT_TIME,
     OPT(timeout),
     .def = "1",
     .live = true,
     .level = 2,
     .since = "0.1",
     .text = "Seconds after which data is read again, though no brick said that it changed."},
    {.name = "largest",
     .key = "example.largest",
     .type = GI_OPT_SIZE,
     OPT(largest),
     .def = "128KB",
     .live = true,
     .level = 3,
     .since = "0.1",
     .text = "Keep no reply of more bytes than this."},
    GI_OPTION_END,
};

#define METRIC(m, help) \
  { \
#m, "", help, offsetof(struct ex, metrics.m) - offsetof(struct ex, metrics) \
  }
static const struct gi_metric ex_metrics_table[] = {
    METRIC(hits, "reads answered from memory"),
    METRIC(misses, "reads sent on"),
    METRIC(dropped, "replies forgotten because they may be true no longer"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/example",
    .version = GI_VERSION,
    .summary = "Answers a READ again from memory",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime"},
               .key = "performance.example",
               .def = "off",
               .since = "0.1",
               .text = "Keep the last piece of each file that was read."}},
    .min_children = 1,
    .max_children = 1,
    .options = ex_table,
    .options_bytes = sizeof(struct ex_options),
    .metrics = ex_metrics_table,
    .fop_bytes = sizeof(struct ex_fop),
    .inode_bytes = sizeof(struct ex_inode),
    .on =
        {
            [GI_FOP_READ] = ex_read,
            [GI_FOP_OPEN] = ex_open,
            [GI_FOP_WRITE] = ex_change,
            [GI_FOP_TRUNCATE] = ex_change,
            [GI_FOP_FTRUNCATE] = ex_change,
            [GI_FOP_FALLOCATE] = ex_change,
            [GI_FOP_DISCARD] = ex_change,
            [GI_FOP_ZEROFILL] = ex_change,
            [GI_FOP_COPY_FILE_RANGE] = ex_change,
            [GI_FOP_SETATTR] = ex_change, /* the attributes that come with the data */
            [GI_FOP_FSETATTR] = ex_change,
        },
    .complete = ex_complete,
    .init = ex_init,
    .finish = ex_finish,
    .notify = ex_notify,
    .drain = ex_drain,
    .inode_forget = ex_forget,
};
