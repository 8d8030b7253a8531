/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/io-cache: answers READs from memory.
 *
 * What was read or written stays by reference, as long as there is room. What it promises: a READ sees every change that this process
 * was told of before, early or not. What others did is seen by whoever opens the file or gets a lock afterwards, and by everybody
 * when `cache-timeout` has passed or a brick tells. Nothing is served that was cached before an open, a granted lock or the timeout
 * unless attributes show that the file is the same. One FSTAT looks for all that wait for it, and READs of what is being read wait for that.
 *
 * What it does not: a READ that is not answered as a whole goes down as a whole.
 */
#include "io-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

/* ---- reading ---- */

enum found { MISS, STALE, HIT };

/* Is [start, *end) there, as far as the file goes? `*end` becomes its end if that comes first. */
static enum found
look(const struct gi_xlator *x, const struct ioc_file *file, uint64_t start, uint64_t *end, uint64_t asked)
{
  const struct ioc *c = x->private;
  uint64_t now = gi_now(x->reactor), since = asked ? asked : UINT64_MAX;
  bool fresh = true;
  if (file->eof < *end) {
    *end = file->eof > start ? file->eof : start;
    fresh = ioc_is_fresh(x, file, &file->eof_stamp, now, since);
  }
  for (uint64_t at = start; at < *end;) {
    const struct ioc_page *p = ioc_page_find(&c->store, file, at / IOC_PAGE);
    if (!p)
      return MISS;
    uint32_t good = ioc_fresh_blocks(x, p, now, since);
    for (; at < *end && at / IOC_PAGE == p->index; at = at / IOC_BLOCK * IOC_BLOCK + IOC_BLOCK) {
      unsigned i = at / IOC_BLOCK % IOC_PAGE_BLOCKS;
      if (!(p->have >> i & 1))
        return MISS;
      fresh = fresh && good >> i & 1;
    }
  }
  return fresh ? HIT : STALE;
}

static enum gi_verdict
answer(struct gi_xlator *x, struct gi_fop *fop, struct ioc_file *file, uint64_t end)
{
  struct ioc *c = x->private;
  const struct gi_iatt *a = ioc_file_stat(file);
  uint64_t start = fop->args.offset;
  GI_ASSERT(end >= start && end - start <= fop->args.size);
  ioc_gather(&c->store, file, start, end, &fop->rsp.payload);
  GI_ASSERT(fop->rsp.payload.len == end - start);
  if (a)
    fop->rsp.stat = *a;
  c->metrics.hits++;
  gi_fop_ok(fop, (int)(end - start));
  fop->rsp.err = end >= file->eof || end - start < fop->args.size ? ENOENT : 0;
  return GI_ANSWERED;
}

static void
check_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  GI_ASSERT(file->checking && file->busy > 0);
  file->checking = 0;
  if (fop->rsp.ret >= 0)
    ioc_attributes(x, file, &fop->rsp.stat, f->seq, &f->stamp);
  gi_hold_end(&c->hold, &file->checkers);
  file->busy--;
  ioc_file_settle(x, file);
  gi_fop_unref(fop);
}

/* The READ is held already: the answer may come from inside. */
static void
check(struct gi_xlator *x, struct ioc_file *file, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct gi_fop *look = gi_fop_helper(fop, GI_FOP_FSTAT);
  struct ioc_fop *f = gi_fop_private(look, x);
  gi_fop_set_fd(look, fop->fd);
  f->file = file;
  f->stamp = ioc_stamp_now(x, file);
  f->seq = c->order.clock;
  ((struct ioc_fop *)gi_fop_private(fop, x))->asked = file->checking = f->stamp.seq;
  file->busy++;
  c->metrics.checks++;
  gi_fop_submit(look, gi_first_child(x), check_done, x);
}

static struct ioc_fop *
leader_of(const struct gi_xlator *x, const struct ioc_file *file, uint64_t start, uint64_t end)
{
  gi_list_foreach(f, &file->reads, struct ioc_fop, link) {
    if (f->start <= start && f->end >= end && !f->spoiled && f->epoch == file->epoch &&
        ioc_is_fresh(x, file, &f->stamp, f->stamp.ns, UINT64_MAX))
      return f;
  }
  return NULL;
}

static bool
wants_cache(const struct gi_xlator *x, const struct gi_fop *fop)
{
  return !x->draining && fop->fd && !((fop->fd->flags | (int)fop->args.flags) & O_DIRECT);
}

static enum gi_verdict
ioc_read(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x), *leader;
  struct gi_inode *inode = gi_fop_inode(fop);
  if (!inode || !wants_cache(x, fop) || fop->args.size == 0 || fop->args.size > UINT64_MAX / 2 - fop->args.offset)
    return GI_PASS;
  struct ioc_file *file = ioc_file_get(x, inode);
  uint64_t start = fop->args.offset, end = start + fop->args.size;
  enum found found = look(x, file, start, &end, f->asked);
  if (found == HIT)
    return answer(x, fop, file, end);
  if (found == STALE && !f->asked && file->trust.inflight == 0) {
    gi_hold_wait(&c->hold, &file->checkers, fop);
    f->asked = file->checking;
    if (!file->checking)
      check(x, file, fop);
    return GI_HELD;
  }
  if (!f->followed && (leader = leader_of(x, file, start, end)) != NULL) {
    f->followed = true;
    c->metrics.shared++;
    return gi_hold_wait(&c->hold, &leader->followers, fop);
  }
  c->metrics.misses++;
  ioc_read_begins(x, file, fop);
  return GI_PASS_TELL;
}

/* ---- changes ---- */

/* The file whose data changes; the inode of a fop is that of its source where it has two. */
static struct gi_inode *
target(struct gi_fop *fop)
{
  return fop->kind != GI_FOP_COPY_FILE_RANGE ? gi_fop_inode(fop) : fop->fd2 ? fop->fd2->inode : NULL;
}

static enum gi_verdict
ioc_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = target(fop);
  struct ioc_file *file = inode ? ioc_file_known(x, inode) : NULL;
  if (!file && inode && fop->kind == GI_FOP_WRITE && wants_cache(x, fop))
    file = ioc_file_get(x, inode);
  if (!file)
    return GI_PASS;
  ioc_change_begins(x, file, fop);
  return GI_PASS_TELL;
}

/* What was read before an open is looked at after it. */
static enum gi_verdict
ioc_open(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct gi_inode *inode = gi_fop_inode(fop);
  struct ioc_file *file = inode ? ioc_file_known(x, inode) : NULL;
  if (fop->args.flags & O_TRUNC)
    return ioc_change(x, fop);
  if (file)
    file->barrier = ++c->tick;
  return GI_PASS;
}

/* ---- other kinds ---- */

#define LOOKS \
  (GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_FSYNC) | GI_KIND(GI_FOP_READDIRP))
#define TOUCHES \
  (GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR) | \
   GI_KIND(GI_FOP_LINK) | GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RENAME))
#define NAMES \
  (GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_RENAME) | GI_KIND(GI_FOP_LINK) | \
   GI_KIND(GI_FOP_READDIRP))
/* They are about directories, or make what nobody has read. */
#define HARMLESS \
  (GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_SYMLINK) | GI_KIND(GI_FOP_FSYNCDIR))

static enum ioc_role
role_of(const struct gi_fop *fop)
{
  if (LOOKS & GI_KIND(fop->kind))
    return IOC_LOOKS;
  if (TOUCHES & GI_KIND(fop->kind))
    return IOC_TOUCHES;
  if (fop->kind == GI_FOP_LK || fop->kind == GI_FOP_SETACTIVELK)
    return IOC_LOCKS;
  if ((gi_fop_table[fop->kind].classes & GI_CLASS_WRITE) && !(HARMLESS & GI_KIND(fop->kind)))
    return IOC_REPLACES;
  return IOC_NOTHING;
}

static struct ioc_file *
known(struct gi_xlator *x, struct gi_inode *inode)
{
  return inode ? ioc_file_known(x, inode) : NULL;
}

static void
touch(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_file *file[] = {known(x, gi_fop_inode(fop)), known(x, gi_loc_inode(fop, &fop->loc2))};
  for (unsigned i = 0; i < GI_ARRAY_LEN(file); i++)
    if (file[i])
      gi_trust_touched(&c->order, &file[i]->trust);
}

static void
replaced(struct gi_xlator *x, struct ioc_file *file)
{
  if (!file)
    return;
  file->resized++;
  gi_trust_broken(&file->trust, true);
  gi_trust_take_data(&file->trust);
  ioc_file_forget(x, file);
  ioc_file_settle(x, file);
}

static enum gi_verdict
ioc_other(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  bool named = c->nrules && (NAMES & GI_KIND(fop->kind));
  f->role = role_of(fop);
  if (!named && (f->role == IOC_NOTHING || c->files == 0))
    return GI_PASS;
  if (f->role == IOC_TOUCHES)
    touch(x, fop);
  if (f->role == IOC_REPLACES)
    replaced(x, known(x, target(fop)));
  f->stamp = ioc_stamp_now(x, NULL);
  f->seq = c->order.clock;
  return GI_PASS_TELL;
}

static void
learn_attributes(struct gi_xlator *x, const struct ioc_fop *f, const struct gi_iatt *a)
{
  struct gi_inode *inode = a && gi_iatt_valid(a) ? gi_inode_find(x->graph, &a->gfid) : NULL;
  struct ioc_file *file = known(x, inode);
  if (file) {
    ioc_attributes(x, file, a, f->seq, &f->stamp);
    ioc_file_settle(x, file);
  }
  gi_inode_unref(&inode);
}

static void
learn_name(struct gi_xlator *x, const char *name, const struct gi_iatt *a)
{
  const struct ioc *c = x->private;
  struct gi_inode *inode = name && gi_iatt_valid(a) && S_ISREG(a->mode) ? gi_inode_find(x->graph, &a->gfid) : NULL;
  if (!inode)
    return;
  struct ioc_inode *i = gi_inode_private(inode, x);
  i->rank = (uint8_t)(ioc_rank_of(c, name) + 1);
  if (i->file && i->file->rank + 1 != i->rank) {
    ioc_file_forget(x, i->file);
    i->file->rank = (uint8_t)(i->rank - 1);
    ioc_file_settle(x, i->file);
  }
  gi_inode_unref(&inode);
}

static void
learn_names(struct gi_xlator *x, struct gi_fop *fop)
{
  bool second = fop->kind == GI_FOP_RENAME || fop->kind == GI_FOP_LINK;
  for (uint32_t i = 0; i < fop->rsp.entries.count; i++)
    learn_name(x, fop->rsp.entries.entry[i].name, &fop->rsp.entries.entry[i].stat);
  learn_name(x, second ? fop->loc2.name : fop->loc.name, &fop->rsp.stat);
}

static void
other_done(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  const struct ioc_fop *f = gi_fop_private(fop, x);
  switch (f->role) {
  case IOC_LOOKS:
    for (uint32_t i = 0; i < fop->rsp.entries.count; i++)
      learn_attributes(x, f, &fop->rsp.entries.entry[i].stat);
    learn_attributes(x, f, gi_reply_attr(fop, GI_OF_OBJECT));
    break;
  case IOC_TOUCHES:
    touch(x, fop);
    break;
  case IOC_REPLACES:
    replaced(x, known(x, target(fop)));
    break;
  case IOC_LOCKS:
    if (fop->rsp.ret >= 0 && gi_fop_takes_lock(fop))
      c->barrier = ++c->tick;
    break;
  default:
    break;
  }
  if (c->nrules && fop->rsp.ret >= 0 && (NAMES & GI_KIND(fop->kind)))
    learn_names(x, fop);
}

static enum gi_verdict
ioc_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  switch (f->role) {
  case IOC_READS:
    ioc_read_ended(x, fop);
    gi_hold_end(&c->hold, &f->followers);
    ioc_file_settle(x, file);
    break;
  case IOC_CHANGES:
    ioc_change_ended(x, fop);
    break;
  default:
    other_done(x, fop);
    break;
  }
  return GI_PASS;
}

/* ---- events ---- */

static bool
ioc_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct ioc *c = x->private;
  const struct gi_invalidation *inv = data;
  struct gi_inode *inode;
  if (gi_event_untold(event))
    ioc_forget_all(x);
  switch (event) {
  case GI_EVENT_INVALIDATE:
    inode = gi_inode_find(x->graph, &inv->gfid);
    replaced(x, known(x, inode));
    gi_inode_unref(&inode);
    break;
  case GI_EVENT_WRITTEN:
    ioc_written(x, data);
    break;
  case GI_EVENT_CANCEL:
    gi_hold_cancel(&c->hold, data);
    break;
  default:
    break;
  }
  return false;
}

/* What waits goes on down when what it waits for is answered. */
static void
ioc_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct ioc *c = x->private;
  ioc_forget_all(x);
  gi_hold_drain(&c->hold, done);
}

static void
ioc_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct ioc_inode *i = bytes;
  if (!i->file)
    return;
  GI_ASSERT(i->file->busy == 0 && i->file->inode == inode);
  ioc_file_forget(x, i->file);
  /* Whoever answered early holds the inode until the bricks have it, so this missed the news while it was off the path. */
  i->file->trust.inflight -= i->file->trust.deferred;
  i->file->trust.deferred = 0;
  ioc_file_settle(x, i->file);
}

/* ---- life ---- */

static void
emptied(void *arg, struct ioc_file *file)
{
  ioc_file_settle(arg, file);
}

static int
ioc_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct ioc_options *o = x->options;
  struct ioc_rule *rules;
  unsigned n;
  if (ioc_rules_parse(o->priority, &rules, &n, err))
    return -1;
  struct ioc *c = x->private = gi_new(struct ioc);
  c->rules = rules;
  c->nrules = n;
  x->metrics = &c->metrics;
  x->enabled = !o->pass_through;
  gi_hold_init(&c->hold, x, ioc_read);
  ioc_store_init(&c->store, x, emptied, x);
  ioc_store_set_limit(&c->store, o->cache_size);
  if (x->graph->active)
    gi_join(&c->joining, x);
  return 0;
}

static void
ioc_finish(struct gi_xlator *x)
{
  struct ioc *c = x->private;
  gi_hold_finish(&c->hold);
  ioc_forget_all(x);
  GI_ASSERT(c->files == 0);
  ioc_store_finish(&c->store);
  ioc_rules_free(&c->rules, &c->nrules);
  gi_free(c);
}

static int
ioc_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  const struct ioc_options *o = values;
  struct ioc_rule *rules;
  unsigned n;
  if (ioc_rules_parse(o->priority, &rules, &n, err))
    return -1;
  ioc_rules_free(&rules, &n);
  return 0;
}

static void
ioc_commit(struct gi_xlator *x)
{
  const struct ioc_options *o = x->options;
  struct ioc *c = x->private;
  struct gi_error err;
  ioc_rules_free(&c->rules, &c->nrules);
  int bad = ioc_rules_parse(o->priority, &c->rules, &c->nrules, &err);
  GI_ASSERT(!bad);
  ioc_store_set_limit(&c->store, o->cache_size);
  if (!x->enabled)
    gi_join(&c->joining, x);
  gi_xlator_enable(x, !o->pass_through);
}

static void
ioc_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct ioc *c = x->private;
  gi_dump_section(d, "xlator.performance.io-cache.%s.priv", x->name);
  gi_dump_kv(d, "cache_size", "%llu", (unsigned long long)c->store.limit);
  gi_dump_kv(d, "cache_used", "%llu", (unsigned long long)c->store.cost);
  gi_dump_kv(d, "pages", "%u", c->store.count);
  gi_dump_kv(d, "pages_evicted", "%llu", (unsigned long long)c->store.evicted);
  gi_dump_kv(d, "files", "%llu", (unsigned long long)c->files);
  gi_dump_kv(d, "waiting", "%llu", (unsigned long long)c->hold.count);
}

#define OPT(m) .offset = offsetof(struct ioc_options, m), .live = true, .since = "0.1"
static const struct gi_option ioc_table[] = {
    {.name = "cache-size",
     .key = "performance.cache-size",
     .type = GI_OPT_SIZE,
     OPT(cache_size),
     .def = "32MB",
     .min = 4194304,
     .max = INFINITY,
     .level = 1,
     .op_version = 1,
     .text =
         "Bytes of file data that a cache keeps, out of client.memory-limit. The key is that of io-cache and of quick-read."},
    {.name = "cache-size",
     .key = "performance.io-cache-size", /* written after the other, it wins */
     .type = GI_OPT_SIZE,
     OPT(cache_size),
     .def = "32MB",
     .min = 4194304,
     .max = INFINITY,
     .level = 2,
     .op_version = 80000,
     .text = "Bytes of file data that io-cache keeps, in place of performance.cache-size."},
    {.name = "cache-timeout",
     .key = "performance.cache-refresh-timeout",
     .type = GI_OPT_TIME,
     OPT(timeout),
     .def = "1",
     .min = 0,
     .max = 60,
     .level = 2,
     .op_version = 1,
     .text =
         "Seconds after which a file is looked at again before data is taken from memory. An open and a granted lock have it "
         "looked at in any case."},
    {.name = "min-file-size",
     .key = "performance.cache-min-file-size",
     .type = GI_OPT_SIZE,
     OPT(min_size),
     .def = "0",
     .level = 2,
     .op_version = 1,
     .text = "Keep nothing of files that are smaller, in bytes."},
    {.name = "max-file-size",
     .key = "performance.cache-max-file-size",
     .type = GI_OPT_SIZE,
     OPT(max_size),
     .def = "0",
     .level = 2,
     .op_version = 1,
     .text = "Keep nothing of files that are larger, in bytes; 0 sets no limit."},
    {.name = "priority",
     .key = "performance.cache-priority",
     .type = GI_OPT_STR,
     OPT(priority),
     .def = "",
     .level = 3,
     .op_version = 1,
     .text =
         "PATTERN:N,PATTERN:N …: pages of files whose names match have priority N, 1 without it; those of the lowest go first. "
         "Of priority 0 nothing is kept, and 15 is the highest. It takes effect when the name is looked up."},
    {.name = "pass-through",
     .key = "performance.io-cache-pass-through",
     .type = GI_OPT_BOOL,
     OPT(pass_through),
     .def = "false",
     .level = 3,
     .op_version = 40100,
     .text = "Let everything through and keep nothing."},
    GI_OPTION_END,
};

#define METRIC(m, help) \
  { \
#m, "", help, offsetof(struct ioc, metrics.m) - offsetof(struct ioc, metrics) \
  }
static const struct gi_metric ioc_metrics[] = {
    METRIC(hits, "reads answered from memory"),
    METRIC(misses, "reads sent on"),
    METRIC(shared, "reads that waited for one of the same bytes"),
    METRIC(checks, "times that a file was looked at because what is kept is old"),
    METRIC(dropped, "times that all of a file was forgotten because it may be true no longer"),
    METRIC(foreign, "changes of somebody else that were found"),
    METRIC(kept_writes, "writes whose data was kept"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/io-cache",
    .version = GI_VERSION,
    .summary = "Answers reads from memory",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime", "performance/write-behind", "performance/read-ahead", "performance/readdir-ahead"},
               .key = "performance.io-cache",
               .def = "off",
               .since = "0.1",
               .text = "Keep file data in the client's memory. The kernel's page cache does that already for files of a mount; "
                       "this is for "
                       "files opened past it and for data that was just written."}},
    .min_children = 1,
    .max_children = 1,
    .options = ioc_table,
    .options_bytes = sizeof(struct ioc_options),
    .metrics = ioc_metrics,
    .fop_bytes = sizeof(struct ioc_fop),
    .inode_bytes = sizeof(struct ioc_inode),
    .submit = ioc_other,
    .on =
        {
            [GI_FOP_READ] = ioc_read,
            [GI_FOP_OPEN] = ioc_open,
            [GI_FOP_WRITE] = ioc_change,
            [GI_FOP_TRUNCATE] = ioc_change,
            [GI_FOP_FTRUNCATE] = ioc_change,
            [GI_FOP_FALLOCATE] = ioc_change,
            [GI_FOP_DISCARD] = ioc_change,
            [GI_FOP_ZEROFILL] = ioc_change,
            [GI_FOP_COPY_FILE_RANGE] = ioc_change,
            [GI_FOP_SETATTR] = ioc_change,
            [GI_FOP_FSETATTR] = ioc_change,
        },
    .complete = ioc_complete,
    .init = ioc_init,
    .finish = ioc_finish,
    .reconfigure_prepare = ioc_prepare,
    .reconfigure_commit = ioc_commit,
    .drain = ioc_drain,
    .notify = ioc_notify,
    .statedump = ioc_statedump,
    .inode_forget = ioc_forget,
};
