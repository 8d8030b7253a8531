/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of one file: what is under way, where it ends, and whether somebody else has changed it.
 *
 * What is kept is the file as this process sees it. A change of ours drops its range when it begins, and what is read or written over
 * the same range at the same time is not kept, for nobody knows the order. What a WRITE wrote is kept when it is answered, early or
 * not: whoever answers early orders what is read later behind it. Changes of others are found by gi_trust, which counts a change
 * that was answered early as under way until the bricks have it.
 */
#include "io-cache.h"

#include "libglusterish/probe.h"

#include <errno.h>
#include <fcntl.h>

/* ---- life ---- */

struct ioc_file *
ioc_file_known(const struct gi_xlator *x, const struct gi_inode *inode)
{
  struct ioc_inode *i = gi_inode_private(inode, x);
  GI_ASSERT(!i->file || i->file->inode == inode);
  return i->file;
}

struct ioc_file *
ioc_file_get(struct gi_xlator *x, struct gi_inode *inode)
{
  struct ioc *c = x->private;
  struct ioc_inode *i = gi_inode_private(inode, x);
  if (i->file)
    return i->file;
  struct ioc_file *file = gi_new(struct ioc_file);
  file->inode = inode;
  file->eof = IOC_UNKNOWN;
  file->rank = i->rank ? (uint8_t)(i->rank - 1) : IOC_DEFAULT_RANK;
  gi_list_init(&file->pages);
  gi_list_init(&file->reads);
  gi_list_init(&file->changes);
  gi_list_init(&file->checkers);
  gi_budget_draw(&c->store.user, sizeof(*file));
  c->files++;
  i->file = file;
  return file;
}

/* What it knows is of use only to pages, and to changes that were answered early. */
void
ioc_file_settle(struct gi_xlator *x, struct ioc_file *file)
{
  struct ioc *c = x->private;
  struct ioc_inode *i = gi_inode_private(file->inode, x);
  if (file->busy || !gi_list_empty(&file->pages) || file->trust.deferred)
    return;
  GI_ASSERT(i->file == file && c->files > 0);
  GI_ASSERT(!file->checking && gi_list_empty(&file->checkers));
  GI_ASSERT(gi_list_empty(&file->reads) && gi_list_empty(&file->changes) && file->resizing == 0);
  GI_ASSERT(file->trust.inflight == 0);
  i->file = NULL;
  c->files--;
  gi_budget_return(&c->store.user, sizeof(*file));
  gi_free(file);
}

void
ioc_file_forget(struct gi_xlator *x, struct ioc_file *file)
{
  struct ioc *c = x->private;
  file->epoch++;
  file->eof = IOC_UNKNOWN;
  file->stat.mode = 0;
  if (!gi_list_empty(&file->pages))
    c->metrics.dropped++;
  while (!gi_list_empty(&file->pages))
    ioc_page_drop(&c->store, gi_list_first(&file->pages, struct ioc_page, link));
}

void
ioc_forget_all(struct gi_xlator *x)
{
  struct ioc *c = x->private;
  c->epoch++;
  c->barrier = ++c->tick;
  for (unsigned r = 0; r < IOC_RANKS; r++)
    while (!gi_list_empty(&c->store.rank[r])) {
      struct ioc_file *file = gi_list_first(&c->store.rank[r], struct ioc_page, order)->file;
      ioc_file_forget(x, file);
      ioc_file_settle(x, file);
    }
}

/* ---- how fresh it is ---- */

struct ioc_stamp
ioc_stamp_now(struct gi_xlator *x, const struct ioc_file *file)
{
  struct ioc *c = x->private;
  return (struct ioc_stamp){.ns = gi_now(x->reactor), .seq = ++c->tick, .proven = file && file->trust.known};
}

bool
ioc_is_fresh(const struct gi_xlator *x, const struct ioc_file *file, const struct ioc_stamp *s, uint64_t now, uint64_t since)
{
  const struct ioc_options *o = x->options;
  const struct ioc *c = x->private;
  uint64_t barrier = c->barrier > file->barrier ? c->barrier : file->barrier;
  if (s->proven && file->checked.seq > s->seq)
    s = &file->checked;
  return s->seq > barrier && (s->seq >= since || now < s->ns + o->timeout * GI_NSEC_PER_SEC);
}

bool
ioc_size_suits(const struct gi_xlator *x, uint64_t size)
{
  const struct ioc_options *o = x->options;
  return size >= o->min_size && (o->max_size == 0 || size <= o->max_size);
}

uint32_t
ioc_fresh_blocks(const struct gi_xlator *x, const struct ioc_page *p, uint64_t now, uint64_t since)
{
  struct ioc_stamp stamp = p->stamp;
  uint32_t fresh;
  stamp.proven = true;
  fresh = ioc_is_fresh(x, p->file, &stamp, now, since) ? p->proven : 0;
  stamp.proven = false;
  return fresh | (ioc_is_fresh(x, p->file, &stamp, now, since) ? p->have & ~p->proven : 0);
}

/* Blocks of one page have one age, so what is old and cannot be checked goes when something new comes. */
static uint32_t
old_blocks(const void *arg, const struct ioc_page *p)
{
  const struct gi_xlator *x = arg;
  uint32_t good = ioc_fresh_blocks(x, p, gi_now(x->reactor), UINT64_MAX);
  if (p->file->trust.inflight == 0)
    good |= p->proven;
  return ~good;
}

void
ioc_set_eof(struct gi_xlator *x, struct ioc_file *file, uint64_t eof, const struct ioc_stamp *stamp)
{
  struct ioc *c = x->private;
  uint64_t was = file->eof;
  if (was != eof && was != IOC_UNKNOWN && was % IOC_BLOCK)
    ioc_drop(&c->store, file, was - was % IOC_BLOCK, was);
  if (was != eof && eof != IOC_UNKNOWN)
    ioc_drop(&c->store, file, eof, UINT64_MAX);
  file->eof = eof;
  if (eof != IOC_UNKNOWN)
    file->eof_stamp = *stamp;
}

/* ---- attributes ---- */

static void
found_foreign(struct gi_xlator *x, struct ioc_file *file)
{
  struct ioc *c = x->private;
  c->metrics.foreign++;
  ioc_file_forget(x, file);
  gi_trust_take_data(&file->trust);
}

static void
take_stat(struct gi_xlator *x, struct ioc_file *file, const struct gi_iatt *a)
{
  const struct ioc *c = x->private;
  file->stat = *a;
  file->stat_seq = c->order.clock;
}

void
ioc_attributes(struct gi_xlator *x, struct ioc_file *file, const struct gi_iatt *a, uint64_t seq, const struct ioc_stamp *stamp)
{
  struct ioc *c = x->private;
  if (!gi_trust_describes(&file->inode->gfid, a))
    return;
  bool settled = gi_trust_settled(&file->trust, seq);
  switch (gi_trust_attributes(&c->order, &file->trust, &file->inode->gfid, a, seq)) {
  case GI_TRUST_OURS:
    if (stamp->seq > file->checked.seq)
      file->checked = *stamp;
    break;
  case GI_TRUST_FOREIGN:
    found_foreign(x, file);
    break;
  case GI_TRUST_UNTOLD:
    break;
  }
  if (settled)
    take_stat(x, file, a);
}

const struct gi_iatt *
ioc_file_stat(const struct ioc_file *file)
{
  bool right = gi_iatt_valid(&file->stat) && gi_trust_settled(&file->trust, file->stat_seq) &&
               (file->eof == IOC_UNKNOWN || file->eof == file->stat.size);
  return right ? &file->stat : NULL;
}

/* ---- what is under way ---- */

static bool
overlap(const struct ioc_fop *a, const struct ioc_fop *b)
{
  return a->start < b->end && b->start < a->end;
}

static uint64_t
add_up(uint64_t offset, uint64_t size)
{
  return size < UINT64_MAX - offset ? offset + size : UINT64_MAX;
}

void
ioc_read_begins(struct gi_xlator *x, struct ioc_file *file, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(!f->file && !f->held.waiting);
  f->role = IOC_READS;
  f->file = file;
  f->start = fop->args.offset;
  f->end = add_up(fop->args.offset, fop->args.size);
  f->stamp = ioc_stamp_now(x, file);
  f->epoch = file->epoch;
  f->all_epoch = c->epoch;
  f->resized = file->resized;
  f->sees_end = file->resizing == 0;
  f->seq = c->order.clock;
  f->spoiled = gi_join_waits(&c->joining, x);
  gi_list_foreach(other, &file->changes, struct ioc_fop, link)
    f->spoiled |= overlap(f, other);
  gi_list_init(&f->followers);
  gi_list_add_tail(&file->reads, &f->link);
  file->busy++;
}

static bool
still_holds(const struct gi_xlator *x, const struct ioc_fop *f)
{
  const struct ioc *c = x->private;
  return !x->draining && !f->spoiled && f->epoch == f->file->epoch && f->all_epoch == c->epoch && f->file->rank > 0;
}

/* A reply says where the file ends if it is shorter than what was asked for, or says so. One without data says only that the end is not
 * behind `offset`: it is there if what comes before it was read. */
static uint64_t
told_end(const struct ioc *c, const struct ioc_fop *f, const struct gi_fop *fop)
{
  uint64_t at = f->start, got = fop->rsp.payload.len;
  if (got > 0)
    return got < f->end - f->start || fop->rsp.err == ENOENT ? at + got : IOC_UNKNOWN;
  if (at == 0)
    return 0;
  const struct ioc_page *p = at % IOC_BLOCK ? NULL : ioc_page_find(&c->store, f->file, (at - 1) / IOC_PAGE);
  return p && p->have >> ((at - 1) / IOC_BLOCK % IOC_PAGE_BLOCKS) & 1 ? at : IOC_UNKNOWN;
}

/* False: it is not where it was left, so somebody else was there. */
static bool
learn_end(struct gi_xlator *x, const struct ioc_fop *f, uint64_t eof, uint64_t seen)
{
  struct ioc_file *file = f->file;
  if (!f->sees_end || f->resized != file->resized)
    return true;
  if (file->eof != IOC_UNKNOWN && ((eof != IOC_UNKNOWN && eof != file->eof) || seen > file->eof))
    return false;
  if (eof != IOC_UNKNOWN)
    ioc_set_eof(x, file, eof, &f->stamp);
  return true;
}

static void
keep_read(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  uint64_t eof = told_end(c, f, fop), size = gi_iatt_valid(&fop->rsp.stat) ? fop->rsp.stat.size : eof;
  struct gi_payload own = {0};
  if (size != IOC_UNKNOWN && !ioc_size_suits(x, size)) {
    ioc_file_forget(x, file);
    return;
  }
  if (!learn_end(x, f, eof, fop->rsp.payload.len ? f->start + fop->rsp.payload.len : 0)) {
    found_foreign(x, file);
    return;
  }
  GI_ASSERT(file->busy > 0 && !f->spoiled);
  gi_payload_append(&own, &fop->rsp.payload);
  gi_payload_compact(&own);
  ioc_keep(&c->store, file, f->start, &own, &f->stamp, old_blocks, x);
  gi_payload_clear(&own);
}

void
ioc_read_ended(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  GI_ASSERT(file && file->busy > 0);
  gi_list_del(&f->link);
  if (fop->rsp.ret >= 0) {
    ioc_attributes(x, file, &fop->rsp.stat, f->seq, &f->stamp);
    if (still_holds(x, f) && fop->rsp.payload.len <= f->end - f->start)
      keep_read(x, fop);
  }
  file->busy--;
}

/* ---- changes ---- */

static bool
appends(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_WRITE && (fop->fd->flags & O_APPEND || fop->args.flags & O_APPEND);
}

/* Where it changes data. An append leaves whole blocks as they are, wherever it goes. */
static void
find_range(struct ioc_fop *f, const struct gi_fop *fop)
{
  uint64_t offset = fop->args.offset;
  f->resizes = true;
  f->end = UINT64_MAX;
  switch (fop->kind) {
  case GI_FOP_WRITE:
    if (appends(fop))
      break;
    f->start = offset;
    f->end = add_up(offset, fop->payload.len);
    f->resizes = f->end > f->file->eof || f->file->eof == IOC_UNKNOWN;
    break;
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
    f->start = offset;
    break;
  case GI_FOP_FALLOCATE:
  case GI_FOP_DISCARD:
  case GI_FOP_ZEROFILL:
    f->start = offset;
    f->end = add_up(offset, fop->args.size);
    break;
  case GI_FOP_COPY_FILE_RANGE:
    f->start = fop->args.offset2;
    f->end = add_up(f->start, fop->args.size);
    break;
  case GI_FOP_SETATTR:
  case GI_FOP_FSETATTR:
    f->resizes = fop->args.valid & GI_SET_SIZE;
    f->end = f->resizes ? UINT64_MAX : 0;
    break;
  default: /* OPEN with O_TRUNC */
    break;
  }
}

void
ioc_change_begins(struct gi_xlator *x, struct ioc_file *file, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  GI_ASSERT(!f->file);
  GI_ASSERT(!f->held.waiting && file->rank < IOC_RANKS);
  f->role = IOC_CHANGES;
  f->file = file;
  f->epoch = file->epoch;
  f->all_epoch = c->epoch;
  f->stamp = ioc_stamp_now(x, file);
  find_range(f, fop);
  gi_list_foreach(other, &file->reads, struct ioc_fop, link)
    other->spoiled |= overlap(f, other);
  gi_list_foreach(other, &file->changes, struct ioc_fop, link) {
    bool both = overlap(f, other);
    other->spoiled |= both;
    f->spoiled |= both;
  }
  if (f->resizes) {
    ioc_set_eof(x, file, IOC_UNKNOWN, NULL);
    f->sees_end = file->resizing++ == 0;
    f->resized = ++file->resized;
  }
  if (!appends(fop) && !GI_BROKEN("keep pages over a change"))
    ioc_drop(&c->store, file, f->start, f->end);
  f->seq = gi_trust_change_begins(&c->order, &file->trust);
  gi_list_add_tail(&file->changes, &f->link);
  file->busy++;
}

static bool
is_kept(const struct gi_xlator *x, const struct gi_fop *fop, const struct ioc_fop *f)
{
  return !GI_BROKEN("keep pages over a change") && fop->kind == GI_FOP_WRITE && fop->rsp.ret > 0 &&
         (uint64_t)fop->rsp.ret == f->end - f->start && fop->payload.len == f->end - f->start &&
         !((fop->fd->flags | (int)fop->args.flags) & O_DIRECT) && still_holds(x, f);
}

/* The buffer it came in is not copied out of: what lies beside it there are other WRITEs. */
static void
keep_write(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  bool told = gi_trust_describes(&file->inode->gfid, &fop->rsp.post);
  if (told && !ioc_size_suits(x, fop->rsp.post.size)) {
    ioc_file_forget(x, file);
    return;
  }
  if (f->resizes && f->sees_end && f->resized == file->resized && told && fop->rsp.post.size >= f->end)
    ioc_set_eof(x, file, fop->rsp.post.size, &f->stamp);
  ioc_keep(&c->store, file, f->start, &fop->payload, &f->stamp, old_blocks, x);
  c->metrics.kept_writes++;
}

static enum gi_trust_change_kind
told_kind(const struct gi_fop *fop)
{
  return fop->rsp.ret < 0 ? GI_TRUST_CHANGE_FAILED : fop->kind == GI_FOP_OPEN ? GI_TRUST_CHANGE_EMPTIED : GI_TRUST_CHANGE_TOLD;
}

/* What the file is after its last change, if that is known. */
static void
take_answer(struct gi_xlator *x, struct ioc_file *file)
{
  const struct ioc *c = x->private;
  uint64_t until;
  const struct gi_iatt *a = gi_trust_answer(&c->order, &file->trust, 0, &until);
  if (a)
    take_stat(x, file, a);
}

static void
judge_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc *c = x->private;
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  struct gi_trust_change t = {.kind = told_kind(fop), .found = &fop->rsp.pre, .left = &fop->rsp.post, .until = UINT64_MAX};
  if (!gi_trust_change_ended(&c->order, &file->trust, &file->inode->gfid, f->seq, &t))
    found_foreign(x, file);
  else
    take_answer(x, file);
}

/* A WRITE that began below the end may have come to lie behind it, where somebody else shortened the file. */
static void
end_moved(struct gi_xlator *x, const struct ioc_fop *f, const struct gi_fop *fop)
{
  struct ioc_file *file = f->file;
  if (f->resizes) {
    GI_ASSERT(file->resizing > 0);
    file->resizing--;
    file->resized++;
  } else if (fop->kind == GI_FOP_WRITE && (file->eof == IOC_UNKNOWN || f->end > file->eof)) {
    file->resized++;
    ioc_set_eof(x, file, IOC_UNKNOWN, NULL);
  }
}

void
ioc_change_ended(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ioc_fop *f = gi_fop_private(fop, x);
  struct ioc_file *file = f->file;
  GI_ASSERT(file && file->busy > 0);
  gi_list_del(&f->link);
  if (is_kept(x, fop, f))
    keep_write(x, fop);
  end_moved(x, f, fop);
  if (fop->rsp.early)
    gi_trust_change_deferred(&file->trust);
  else
    judge_change(x, fop);
  file->busy--;
  ioc_file_settle(x, file);
}

/* One that began before this translator was on the path is not counted. */
void
ioc_written(struct gi_xlator *x, const struct gi_written *w)
{
  static const struct gi_iatt nothing;
  struct ioc *c = x->private;
  struct ioc_file *file = ioc_file_known(x, w->inode);
  if (!file)
    return;
  GI_ASSERT(w->changes > 0 && file->trust.deferred <= file->trust.inflight);
  uint32_t n = w->changes < file->trust.deferred ? w->changes : file->trust.deferred;
  struct gi_trust_change t = {.kind = w->err ? GI_TRUST_CHANGE_FAILED : GI_TRUST_CHANGE_TOLD,
                              .found = w->found ? w->found : &nothing,
                              .left = w->left ? w->left : &nothing,
                              .until = UINT64_MAX};
  if (n > 0 && !gi_trust_written(&c->order, &file->trust, &file->inode->gfid, n, &t))
    found_foreign(x, file);
  else if (n > 0)
    take_answer(x, file);
  if (w->err)
    ioc_file_forget(x, file);
  ioc_file_settle(x, file);
}
