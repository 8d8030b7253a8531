/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/readdir-ahead: lists a directory in large pieces, ahead of its reader.
 *
 * A listing begins with the request as it came, which is all of a small directory. Who goes on gets a piece of `rda-request-size`, of which
 * the next requests are answered, and what follows is asked for meanwhile. It promises that a listing has every name that was
 * made, and no name that was removed, through this client before the request, as far as the bricks' listing has; and that attributes come
 * with an entry only if the object was not changed through this client since they were asked for.
 */
#include "readdir-ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

/* ---- listing ---- */

static bool
same_value(const struct gi_pair *a, const struct gi_pair *b)
{
  return b && a->type == b->type && a->len == b->len && a->u == b->u && (!a->data || memcmp(a->data, b->data, a->len) == 0);
}

/* Do both requests ask for the same? */
static bool
same_wishes(const struct gi_dict *a, const struct gi_dict *b)
{
  uint32_t n = a ? gi_dict_count(a) : 0;
  if (a == b)
    return true;
  if (n != (b ? gi_dict_count(b) : 0))
    return false;
  for (uint32_t i = 0; i < n; i++)
    if (!same_value(gi_dict_at(a, i), gi_dict_get(b, gi_dict_at(a, i)->key)))
      return false;
  return true;
}

/* Is what came with the entry still so? */
static bool
has_changed(struct gi_xlator *x, const struct rda_piece *p, const struct gi_gfid *gfid)
{
  const struct rda *rda = x->private;
  struct gi_inode *inode = gi_inode_find(x->graph, gfid);
  const struct rda_inode *i = inode ? gi_inode_private(inode, x) : NULL;
  bool changed = i ? i->tick > p->tick || i->changes || i->early : rda->forgotten > p->tick;
  gi_inode_unref(&inode);
  return changed;
}

static void
give_entry(struct gi_xlator *x, struct gi_fop *fop, const struct rda_piece *p, uint32_t entry, bool fresh)
{
  struct rda *rda = x->private;
  GI_ASSERT(p->fop && entry < p->fop->rsp.entries.count);
  struct gi_dirent e = p->fop->rsp.entries.entry[entry];
  if (gi_iatt_valid(&e.stat) && (!fresh || has_changed(x, p, &e.stat.gfid))) {
    memset(&e.stat, 0, sizeof(e.stat));
    e.xdata = NULL;
    rda->metrics.bare++;
  }
  gi_dict_ref(e.xdata);
  gi_dirents_add(&fop->rsp.entries, &e, fop);
}

/* The piece that follows, if it is here. */
static struct rda_piece *
next_piece(struct rda_fd *rf, struct rda_piece *p)
{
  struct rda_piece *next = gi_list_item(p->link.next, struct rda_piece, link);
  return p->link.next != &rf->pieces && next->fop ? next : NULL;
}

/* As many as a brick would put into a reply of that size. */
static enum gi_verdict
answer(struct gi_xlator *x, struct rda_fd *rf, struct gi_fop *fop, struct rda_piece *p, uint32_t entry)
{
  struct rda *rda = x->private;
  uint64_t now = gi_now(x->reactor);
  uint32_t most = fop->args.size < RDA_ENTRY ? 1 : (uint32_t)(fop->args.size / RDA_ENTRY);
  /* The reader may come back to the middle of what it got last, but not to what was before. */
  while (gi_list_first(&rf->pieces, struct rda_piece, link) != p)
    rda_piece_drop(gi_list_first(&rf->pieces, struct rda_piece, link));
  for (struct rda_piece *next; fop->rsp.entries.count < most; entry++) {
    if (entry == p->fop->rsp.entries.count) {
      if (!(next = next_piece(rf, p)) || next->fop->rsp.entries.count == 0)
        break;
      p = next;
      entry = 0;
    }
    give_entry(x, fop, p, entry, now - p->sent_ns < RDA_FRESH);
    p->used = p->used > entry ? p->used : entry + 1;
  }
  GI_ASSERT(fop->rsp.entries.count <= most);
  fop->rsp.xdata = gi_dict_ref(p->fop->rsp.xdata); /* of the last piece: of names that have left it knows most */
  rda->metrics.hits++;
  gi_fop_ok(fop, (int)fop->rsp.entries.count);
  fop->rsp.err = p->end && entry == p->fop->rsp.entries.count ? ENOENT : 0;
  rda_go_on(rf);
  return GI_ANSWERED;
}

static void
note_reader(struct rda_fd *rf, const struct gi_fop *fop)
{
  rf->kind = fop->kind;
  rf->caller = fop->caller;
  gi_caller_detach(&rf->caller);
  gi_dict_unref(&rf->xdata);
  rf->xdata = gi_dict_ref(fop->xdata);
}

/* Who begins anew is to see what is there now; and what was asked for in other words is of no use. */
static void
begin_listing(struct rda_fd *rf, const struct gi_fop *fop)
{
  if (fop->args.offset != 0 && rf->kind == fop->kind && same_wishes(rf->xdata, fop->xdata))
    return;
  rda_fd_forget(rf);
  note_reader(rf, fop);
}

static bool
is_old(const struct gi_xlator *x, const struct rda_piece *p)
{
  return gi_now(x->reactor) - p->sent_ns >= RDA_MAX_AGE;
}

/* The entries that it wants, if they are here or on their way. */
static struct rda_piece *
find(const struct gi_xlator *x, struct rda_fd *rf, const struct gi_fop *fop, uint32_t *entry)
{
  struct rda_piece *p = rda_find(rf, fop->args.offset, entry);
  if (p && is_old(x, p)) {
    rda_fd_forget(rf);
    p = NULL;
  }
  return p;
}

static enum gi_verdict
rda_list(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct rda_options *o = x->options;
  struct rda *rda = x->private;
  const struct rda_fop *f = gi_fop_private(fop, x);
  uint64_t size = fop->args.size;
  uint32_t entry;
  if (f->err)
    return gi_fop_fail(fop, f->err);
  if (f->past || !fop->fd || !fop->fd->inode || !rda_may_keep(x, fop->fd->inode)) {
    rda->metrics.passed++;
    return GI_PASS;
  }
  struct rda_fd *rf = rda_fd_get(x, fop->fd);
  if (!f->held.resumed)
    begin_listing(rf, fop);
  struct rda_piece *p = find(x, rf, fop, &entry);
  rf->sequential |= p && fop->args.offset != 0 && !f->held.resumed;
  if (p && p->fop && (entry < p->fop->rsp.entries.count || p->end))
    return answer(x, rf, fop, p, entry);
  if (p && !p->fop) {
    rda->metrics.waits++;
    return gi_hold_wait(&rda->hold, &p->waiters, fop);
  }
  if (p && size < o->request_size)
    size = o->request_size; /* it goes on */
  if (gi_budget_room(&x->ctx->budget) < size || (!p && f->held.resumed)) {
    rda->metrics.passed++; /* memory is short, or was taken from what it waited for */
    return GI_PASS;
  }
  if (!p)
    rda_fd_forget(rf);
  rda->metrics.waits++;
  rda_ask(rf, fop->args.offset, size, fop);
  return GI_HELD;
}

/* ---- changes ---- */

static void
changed(struct gi_xlator *x, struct gi_inode *inode, int count)
{
  struct rda *rda = x->private;
  if (!inode)
    return;
  struct rda_inode *i = gi_inode_private(inode, x);
  rda_dir_forget(x, inode);
  i->tick = ++rda->tick;
  GI_ASSERT(count >= 0 || i->changes > 0);
  i->changes = (uint32_t)((int64_t)i->changes + count);
}

/* It changes up to two objects, and the directories in which their names are. */
static enum gi_verdict
rda_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rda_fop *f = gi_fop_private(fop, x);
  struct gi_inode *objects[] = {gi_fop_inode(fop), fop->fd2 ? fop->fd2->inode : gi_loc_inode(fop, &fop->loc2),
                                gi_loc_parent(fop, &fop->loc), gi_loc_parent(fop, &fop->loc2)};
  for (unsigned i = 0; i < GI_ARRAY_LEN(objects); i++) {
    GI_ASSERT(!f->changes[i]);
    f->changes[i] = gi_inode_ref(objects[i]);
    changed(x, objects[i], 1);
  }
  return GI_PASS_TELL;
}

#define HARMLESS (GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_FSYNCDIR))
#define LOOKS (GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_LOOKUP))

static enum gi_verdict
rda_other(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct rda *rda = x->private;
  uint64_t kind = GI_KIND(fop->kind);
  if (gi_kinds_of_class(GI_CLASS_WRITE) & ~HARMLESS & kind)
    return rda_change(x, fop);
  return (LOOKS & kind) && !gi_list_empty(&rda->fds) ? GI_PASS_TELL : GI_PASS;
}

static enum gi_verdict
rda_open(struct gi_xlator *x, struct gi_fop *fop)
{
  return fop->args.flags & O_TRUNC ? rda_change(x, fop) : GI_PASS;
}

static enum gi_verdict
rda_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_takes_lock(fop) ? GI_PASS_TELL : GI_PASS;
}

/* A directory whose time is another than it was has other names. */
static void
learn_times(struct gi_xlator *x, const struct gi_iatt *a)
{
  struct gi_inode *dir = S_ISDIR(a->mode) ? gi_inode_find(x->graph, &a->gfid) : NULL;
  if (!dir)
    return;
  gi_list_foreach(fd, &dir->fds, struct gi_fd, inode_link) {
    struct rda_fd *rf = rda_fd_known(x, fd);
    if (!rf)
      continue;
    if (rf->mtime.sec && (rf->mtime.sec != a->mtime.sec || rf->mtime.nsec != a->mtime.nsec))
      rda_fd_forget(rf);
    rf->mtime = a->mtime;
  }
  gi_inode_unref(&dir);
}

static enum gi_verdict
rda_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rda *rda = x->private;
  struct rda_fop *f = gi_fop_private(fop, x);
  struct gi_attr attr;
  if (fop->kind == GI_FOP_LK || fop->kind == GI_FOP_SETACTIVELK) {
    if (fop->rsp.ret >= 0) /* what was made under the lock elsewhere is to be seen */
      rda_forget_all(x);
    return GI_PASS;
  }
  if (fop->rsp.early && f->changes[0])
    ((struct rda_inode *)gi_inode_private(f->changes[0], x))->early++;
  for (unsigned i = 0; i < GI_ARRAY_LEN(f->changes); i++) {
    changed(x, f->changes[i], -1);
    gi_inode_unref(&f->changes[i]);
  }
  for (unsigned at = 0; !gi_list_empty(&rda->fds) && gi_reply_next_attr(fop, &at, &attr);)
    if (!attr.before)
      learn_times(x, attr.iatt);
  return GI_PASS;
}

/* ---- events ---- */

/* Those that began before this translator was on the path were not counted. */
static void
written(struct gi_xlator *x, const struct gi_written *w)
{
  struct rda *rda = x->private;
  struct rda_inode *i = gi_inode_private(w->inode, x);
  GI_ASSERT(w->changes > 0);
  i->early -= w->changes < i->early ? w->changes : i->early;
  i->tick = ++rda->tick;
}

static bool
rda_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct rda *rda = x->private;
  const struct gi_invalidation *inv = data;
  struct gi_inode *inode;
  if (gi_event_untold(event))
    rda_forget_all(x);
  switch (event) {
  case GI_EVENT_INVALIDATE:
    inode = gi_inode_find(x->graph, &inv->gfid);
    changed(x, inode, 0);
    gi_inode_unref(&inode);
    break;
  case GI_EVENT_PARENT_DOWN:
    rda_forget_all(x);
    break;
  case GI_EVENT_WRITTEN:
    written(x, data);
    break;
  case GI_EVENT_CANCEL:
    gi_hold_cancel(&rda->hold, data);
    break;
  default:
    break;
  }
  return false;
}

static void
rda_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct rda *rda = x->private;
  rda_forget_all(x);
  gi_hold_drain(&rda->hold, done);
}

static void
rda_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct rda_fd *rf = rda_fd_known(x, fd);
  if (rf)
    rda_fd_free(rf);
}

/* What is asked of it later cannot be told from what never changed. */
static void
rda_inode_gone(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct rda *rda = x->private;
  const struct rda_inode *i = bytes;
  if (i->tick > rda->forgotten)
    rda->forgotten = i->tick;
}

/* ---- life ---- */

static int
rda_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct rda_options *o = x->options;
  struct rda *rda = x->private = gi_new(struct rda);
  x->metrics = &rda->metrics;
  x->enabled = !o->pass_through;
  gi_list_init(&rda->fds);
  gi_hold_init(&rda->hold, x, rda_list);
  gi_lru_init(&rda->lru, &x->ctx->budget, x->reactor, x->name, rda_evict, rda);
  if (x->graph->active)
    gi_join(&rda->joining, x);
  return 0;
}

static void
rda_finish(struct gi_xlator *x)
{
  struct rda *rda = x->private;
  GI_ASSERT(gi_list_empty(&rda->fds));
  gi_hold_finish(&rda->hold);
  gi_lru_finish(&rda->lru);
  gi_free(rda);
}

static void
rda_commit(struct gi_xlator *x)
{
  const struct rda_options *o = x->options;
  struct rda *rda = x->private;
  if (!x->enabled)
    gi_join(&rda->joining, x);
  gi_xlator_enable(x, !o->pass_through);
}

static void
rda_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct rda_options *o = x->options;
  const struct rda *rda = x->private;
  gi_dump_section(d, "xlator.performance.readdir-ahead.%s.priv", x->name);
  gi_dump_kv(d, "rda_req_size", "%llu", (unsigned long long)o->request_size);
  gi_dump_kv(d, "rda_low_wmark", "%llu", (unsigned long long)o->low);
  gi_dump_kv(d, "rda_high_wmark", "%llu", (unsigned long long)o->high);
  gi_dump_kv(d, "rda_cache_limit", "%llu", (unsigned long long)o->limit);
  gi_dump_kv(d, "rda_cache_size", "%llu", (unsigned long long)rda->lru.cost);
  gi_dump_kv(d, "pieces", "%llu", (unsigned long long)rda->lru.count);
  gi_dump_kv(d, "waiting", "%llu", (unsigned long long)rda->hold.count);
}

#define OPT(m) .offset = offsetof(struct rda_options, m), .live = true, .since = "0.1"
static const struct gi_option rda_table[] = {
    {.name = "rda-request-size",
     .key = "performance.rda-request-size",
     .type = GI_OPT_SIZE,
     OPT(request_size),
     .def = "131072",
     .min = 4096,
     .max = 131072,
     .level = 2,
     .op_version = 30901,
     .text = "Bytes of a request for the listing of a directory whose reader goes on."},
    {.name = "rda-low-wmark",
     .key = "performance.rda-low-wmark",
     .type = GI_OPT_SIZE,
     OPT(low),
     .def = "4096",
     .min = 0,
     .max = 10485760,
     .level = 3,
     .op_version = 30901,
     .text = "When fewer bytes of a listing are left for its reader, more is asked for; 200 are reckoned for an entry."},
    {.name = "rda-high-wmark",
     .key = "performance.rda-high-wmark",
     .type = GI_OPT_SIZE,
     OPT(high),
     .def = "128KB",
     .min = 0,
     .max = 104857600,
     .level = 3,
     .op_version = 30901,
     .text = "When so many bytes of a listing are left for its reader, no more is asked for."},
    {.name = "rda-cache-limit",
     .key = "performance.rda-cache-limit",
     .type = GI_OPT_SIZE,
     OPT(limit),
     .def = "10MB",
     .min = 0,
     .max = INFINITY,
     .level = 2,
     .op_version = 30901,
     .text =
         "While listings take so many bytes of memory nothing is asked for ahead; 0 sets no limit but client.memory-limit."},
    {.name = "parallel-readdir",
     .key = "performance.parallel-readdir",
     .type = GI_OPT_BOOL,
     OPT(parallel),
     .def = "off",
     .level = 1,
     .unread = true,
     .op_version = 31000,
     .text = "List the sets of a volume at the same time. A volume of this version has one set, so there is nothing to do at "
             "the same time."},
    {.name = "pass-through",
     .key = "performance.readdir-ahead-pass-through",
     .type = GI_OPT_BOOL,
     OPT(pass_through),
     .def = "false",
     .level = 3,
     .op_version = 40100,
     .text = "Let everything through and ask for nothing ahead."},
    GI_OPTION_END,
};

#define METRIC(m, help) \
  { \
#m, "", help, offsetof(struct rda, metrics.m) - offsetof(struct rda, metrics) \
  }
static const struct gi_metric rda_metrics[] = {
    METRIC(hits, "requests answered from what is here"),
    METRIC(waits, "times that a request waited for what was on its way"),
    METRIC(passed, "requests sent on as they came"),
    METRIC(pieces, "requests of its own"),
    METRIC(unused, "pieces that were given up before they were used"),
    METRIC(bare, "entries given without attributes because the object has changed or they were old"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/readdir-ahead",
    .version = GI_VERSION,
    .summary = "Lists directories in large pieces, ahead of their readers",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime", "performance/md-cache", "performance/write-behind", "performance/read-ahead"},
               .key = "performance.readdir-ahead",
               .def = "off",
               .since = "0.1",
               .text = "List directories in large pieces, ahead of their readers. A small directory is one request with and "
                       "without it."}},
    .min_children = 1,
    .max_children = 1,
    .options = rda_table,
    .options_bytes = sizeof(struct rda_options),
    .metrics = rda_metrics,
    .fop_bytes = sizeof(struct rda_fop),
    .inode_bytes = sizeof(struct rda_inode),
    .fd_bytes = sizeof(struct rda_fd *),
    .submit = rda_other,
    .on =
        {
            [GI_FOP_READDIR] = rda_list,
            [GI_FOP_READDIRP] = rda_list,
            [GI_FOP_OPEN] = rda_open,
            [GI_FOP_LK] = rda_lock,
            [GI_FOP_SETACTIVELK] = rda_lock,
        },
    .complete = rda_complete,
    .init = rda_init,
    .finish = rda_finish,
    .reconfigure_commit = rda_commit,
    .drain = rda_drain,
    .notify = rda_notify,
    .statedump = rda_statedump,
    .inode_forget = rda_inode_gone,
    .fd_release = rda_release,
};
