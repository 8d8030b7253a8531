/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of a file: its content, with the attributes that say which
 * version it is of, and when it was asked for. How it comes and how it goes.
 */
#include "xlators/performance/quick-read/quick-read.h"

#include "libglusterish/probe.h"
#include "libglusterish/promise.h"

struct qr_inode *
qr_inode_of(const struct gi_xlator *x, const struct gi_inode *inode)
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
  gi_payload_clear(&e->content->data);
  gi_free(e->content);
  e->content = NULL;
}

void
qr_evict(void *arg, struct gi_lru_item *item)
{
  forget_data(arg, gi_list_item(item, struct qr_inode, item));
}

void
qr_drop(struct qr *qr, struct qr_inode *e)
{
  if (!gi_lru_holds(&e->item))
    return;
  gi_lru_remove(&qr->lru, &e->item);
  forget_data(qr, e);
  qr->metrics.dropped++;
}

void
qr_changed(struct qr *qr, struct qr_inode *e)
{
  if (GI_BROKEN("keep content over a change"))
    return;
  e->changed_seq = ++qr->clock;
  e->seen = (struct qr_version){0};
  qr_drop(qr, e);
}

void
qr_drop_all(struct qr *qr)
{
  qr->epoch_seq = ++qr->clock;
  while (!gi_list_empty(&qr->lru.items))
    qr_drop(qr, gi_list_item(gi_list_first(&qr->lru.items, struct gi_lru_item, link), struct qr_inode, item));
}

/* ---- what attributes say ---- */

static bool
is_same(const struct gi_iatt *a, const struct qr_version *b)
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

bool
qr_learn(struct gi_xlator *x, struct qr_inode *e, const struct qr_fop *f, const struct gi_iatt *a, bool with_data)
{
  if (!gi_iatt_valid(a) || !is_undisturbed(x, e, f) || f->seq < e->seen_seq)
    return false;
  if (gi_lru_holds(&e->item) && !is_same(a, &e->seen))
    qr_drop(x->private, e);
  e->seen = (struct qr_version){.known = true, .size = a->size, .mtime = a->mtime, .ctime = a->ctime};
  if (e->content)
    e->content->stat = *a;
  e->seen_seq = f->seq;
  if (with_data) {
    e->checked_seq = f->seq;
    e->checked_ns = f->asked_ns;
  }
  return true;
}

/* `data` is the content of the file that has the attributes `a`, the last that were seen; consumed. */
static void
keep(struct gi_xlator *x, struct qr_inode *e, const struct gi_iatt *a, struct gi_payload *data)
{
  struct qr *qr = x->private;
  GI_ASSERT(e->seen.known && data->len == e->seen.size && is_same(a, &e->seen) && !e->changes);
  qr_drop(qr, e);
  e->content = gi_new(struct qr_content);
  e->content->data = *data;
  e->content->stat = *a;
  *data = (struct gi_payload){0};
  gi_payload_compact(&e->content->data);
  gi_lru_add(&qr->lru, &e->item, sizeof(*e->content) + gi_payload_pinned(&e->content->data));
}

static bool
may_keep(const struct gi_xlator *x, const struct qr_inode *e, const struct qr_fop *f, size_t len)
{
  return !x->draining && !e->unsure && is_undisturbed(x, e, f) && e->seen.known && e->seen.size == len &&
         len <= qr_opts(x)->max_file_size;
}

/* Bricks of GlusterFS do not promise anything: the option says whether they tell. */
bool
qr_is_told_of(const struct gi_xlator *x, const struct qr_inode *e)
{
  const struct qr *qr = x->private;
  const struct qr_options *o = qr_opts(x);
  uint64_t promised = gi_promise_life(x->graph, UINT64_MAX, 0), said = (uint64_t)o->told_for * GI_NSEC_PER_SEC;
  if (promised)
    return gi_promise_left(promised, e->checked_ns, gi_now(x->reactor)) > 0;
  return o->told && e->checked_ns >= qr->told_from && gi_promise_left(said, e->checked_ns, gi_now(x->reactor)) > 0;
}

bool
qr_is_current(const struct gi_xlator *x, const struct qr_inode *e)
{
  const struct qr *qr = x->private;
  return gi_lru_holds(&e->item) && !e->changes && e->checked_seq > qr->lock_seq && e->checked_seq > e->changed_seq &&
         (qr_is_told_of(x, e) || gi_now(x->reactor) < e->checked_ns + qr_opts(x)->timeout * GI_NSEC_PER_SEC);
}

/* ---- asking ---- */

void
qr_come_back(struct gi_xlator *x)
{
  struct qr *qr = x->private;
  if (!qr->away || x->draining)
    return;
  qr->away = false;
  qr->joined++;
  gi_join(&qr->joining, x);
  qr_drop_all(qr);
}

struct qr_fop *
qr_ask(struct gi_xlator *x, struct gi_fop *fop, struct qr_inode *e)
{
  struct qr *qr = x->private;
  struct qr_fop *f = gi_fop_private(fop, x);
  *f = (struct qr_fop){.e = e, .seq = ++qr->clock, .asked_ns = gi_now(x->reactor)};
  if (gi_join_waits(&qr->joining, x))
    qr->epoch_seq = qr->clock;
  return f;
}

uint64_t
qr_size_wanted(const struct gi_xlator *x, const struct qr_inode *e)
{
  uint64_t max = qr_opts(x)->max_file_size;
  if (x->draining)
    return 0;
  /* Only bricks that wait until we have heard of a change let an open go by what the kernel has. */
  bool kept = e && e->paged && gi_promise_lease(x->graph);
  return e && (e->unsure || e->changes || e->unwanted || kept || (e->seen.known && e->seen.size > max)) ? 0 : max;
}

void
qr_ask_for_content(struct gi_fop *fop, uint64_t max, const struct qr_inode *e)
{
  struct gi_dict *xdata = gi_fop_xdata(fop);
  gi_dict_set_uint(xdata, GI_CONTENT_KEY, max);
  if (e && gi_lru_holds(&e->item))
    gi_dict_set_iatt(xdata, GI_CONTENT_STAT_KEY, &e->content->stat);
}

/* ---- taking ---- */

void
qr_take_content(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f)
{
  struct qr *qr = x->private;
  struct gi_payload data = {0};
  const struct gi_pair *stat = gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY);
  const void *bytes;
  uint32_t len;
  if (fop->rsp.ret < 0 || !stat || stat->type != GI_VALUE_IATT)
    return; /* a brick that does not know of it, or an open that was answered before it was sent */
  bool had = gi_lru_holds(&f->e->item);
  if (!qr_learn(x, f->e, f, stat->iatt, true))
    return;
  if (had && gi_lru_holds(&f->e->item))
    qr->metrics.confirmed++;
  if (!gi_dict_get_bin(fop->rsp.xdata, GI_CONTENT_KEY, &bytes, &len) || !may_keep(x, f->e, f, len))
    return;
  gi_payload_add_copy(&data, bytes, len);
  keep(x, f->e, stat->iatt, &data);
  f->e->idle = true;
  qr->metrics.fetched++;
  qr->metrics.ahead += f->ahead;
  if (f->ahead)
    GI_PROBE("quick-read: content came with a lookup");
}

/* The attributes were taken after the data: they prove that it is the whole file only if they were the same before. */
void
qr_take_read(struct gi_xlator *x, struct gi_fop *fop, struct qr_fop *f)
{
  const struct gi_iatt *a = &fop->rsp.stat;
  struct qr_inode *e = f->e;
  struct gi_payload data = {0};
  if (fop->rsp.ret < 0 || !gi_iatt_valid(a))
    return;
  bool bracketed = e->seen.known && is_same(a, &e->seen) && e->seen_seq < f->seq;
  if (!qr_learn(x, e, f, a, true) || !bracketed || fop->args.offset != 0 || gi_lru_holds(&e->item) ||
      !may_keep(x, e, f, fop->rsp.payload.len))
    return;
  gi_payload_append(&data, &fop->rsp.payload);
  keep(x, e, a, &data);
}
