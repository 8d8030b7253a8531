/* SPDX-License-Identifier: Apache-2.0
 *
 * Size and times of files that are being written.
 *
 * `now` is what the attributes will be when all is written: those of a reply, and
 * what was answered early since. A reply teaches only if no change has ended since
 * it was asked for; one that may be older than such a change is corrected by what
 * is known. Nothing is ordered by the times in it.
 *
 * What is known may be what somebody else has changed meanwhile. So it has an end,
 * and goes with a granted lock, an invalidation and a brick that comes or goes.
 */
#include "write-behind.h"

#include "libglusterish/content.h"

#include <errno.h>

static bool
is_learnt(const struct wb *wb, const struct wb_file *file)
{
  return file->learnt > wb->forgot && file->learnt > file->forgot;
}

bool
wb_known(struct wb *wb, const struct wb_file *file)
{
  uint64_t now = gi_now(wb->x->reactor);

  return is_learnt(wb, file) && file->learnt_ns >= wb->early_ns &&
         (!gi_list_empty(&file->order) || now - file->learnt_ns < WB_KNOWN_NS);
}

void
wb_forget(struct wb *wb, struct wb_file *file)
{
  file->forgot = ++wb->clock;
}

void
wb_forget_all(struct wb *wb)
{
  wb->forgot = ++wb->clock;
}

static bool
may_learn(const struct wb *wb, const struct wb_file *file, uint64_t asked)
{
  return asked > wb->forgot && asked > file->forgot;
}

static void
learn(struct wb *wb, struct wb_file *file, const struct gi_iatt *a, uint64_t asked)
{
  GI_ASSERT(gi_iatt_valid(a) && asked <= wb->clock);
  file->asked = asked;
  file->now = *a;
  file->learnt = ++wb->clock;
  file->learnt_ns = gi_now(wb->x->reactor);
}

static bool
describes(const struct wb_file *file, const struct gi_iatt *a)
{
  return a && gi_iatt_valid(a) && (gi_gfid_is_none(&a->gfid) || gi_gfid_equal(&a->gfid, &file->inode->gfid));
}

static void
at_least(struct gi_iatt *a, uint64_t size)
{
  if (a->size < size) {
    a->blocks += (size - a->size + 511) / 512;
    a->size = size;
  }
}

/* A change of ours has ended whose reply teaches nothing. Unless it may have cut the file off, this still ends behind all that was written
 * before: a reply to what was asked before that is corrected by it. */
static void
lose_track(struct wb *wb, struct wb_file *file, bool cut)
{
  wb_forget(wb, file);
  if (cut)
    file->learnt = 0;
}

void
wb_attr_untaught(struct wb *wb, struct wb_file *file, uint64_t end)
{
  lose_track(wb, file, false);
  at_least(&file->now, end);
}

static void
not_before(struct gi_iatt *a, const struct gi_iatt *b)
{
  gi_time_raise(&a->mtime, &b->mtime);
  gi_time_raise(&a->ctime, &b->ctime);
}

/* What a reply says, asked for at that clock, as it is with our own changes. What others may have changed since it was learnt says
 * nothing against that: the reply was under way while ours ended. */
static void
correct(struct wb *wb, const struct wb_file *file, uint64_t asked, struct gi_iatt *a)
{
  bool ours = file->learnt > wb->resumed;

  GI_ASSERT(asked <= wb->clock && file->moved <= wb->clock);

  if (ours && file->moved > asked)
    at_least(a, file->now.size);
  at_least(a, wb_tree_end(file->root));
  if (ours && (file->moved > asked || !gi_list_empty(&file->order)))
    not_before(a, &file->now);
}

void
wb_attr_foresee(struct wb_file *file, uint64_t end, struct gi_time time, struct gi_iatt *pre, struct gi_iatt *post)
{
  GI_ASSERT(file->learnt && S_ISREG(file->now.mode)); /* or nobody may answer early */
  *pre = file->now;
  at_least(&file->now, end);
  gi_time_raise(&file->now.mtime, &time);
  gi_time_raise(&file->now.ctime, &time);
  *post = file->now;
  GI_ASSERT(post->size >= end && post->size >= pre->size);
}

bool
wb_attr_written(struct wb *wb, struct wb_file *file, const struct gi_iatt *post, uint64_t sent)
{
  struct gi_iatt a;

  if (!describes(file, post) || !may_learn(wb, file, sent) || file->changed > sent) /* perhaps from before it was cut off */
    return false;
  a = *post;
  correct(wb, file, sent, &a);
  learn(wb, file, &a, sent);
  return true;
}

void
wb_attr_beside(struct wb *wb, const struct wb_file *file, uint64_t sent, struct gi_reply *rsp)
{
  GI_ASSERT(sent <= wb->clock);
  if (!describes(file, &rsp->post))
    return;
  at_least(&rsp->pre, wb_tree_end(file->root));
  correct(wb, file, sent, &rsp->post);
}

/* ---- replies that pass ---- */

static void
look_at(struct wb *wb, struct wb_file *file, uint64_t asked, struct gi_iatt *a)
{
  bool quiet = !file->root && !file->changing && file->moved < asked;

  if (!describes(file, a))
    return;
  correct(wb, file, asked, a);
  if (!may_learn(wb, file, asked) || !wb_may_hold(wb))
    return;
  if (quiet)
    learn(wb, file, a, asked);
  else if (is_learnt(wb, file) && !file->changing && file->moved < asked)
    at_least(&file->now, a->size); /* others have made it longer */
}

static void
look_at_entries(struct wb *wb, struct gi_fop *fop, uint64_t asked)
{
  struct gi_dirents *d = &fop->rsp.entries;

  if (gi_list_empty(&wb->dirty) && wb->moved < asked)
    return;
  for (uint32_t i = 0; i < d->count; i++) {
    struct gi_iatt *a = &d->entry[i].stat;
    struct gi_inode *inode = S_ISREG(a->mode) ? gi_inode_find(fop->graph, &a->gfid) : NULL;
    struct wb_file *file = inode ? wb_file_of(wb, inode, false) : NULL;

    if (file && (!gi_list_empty(&file->order) || file->moved > asked)) {
      wb->m.patched++;
      correct(wb, file, asked, a);
    }
    gi_inode_unref(&inode);
  }
}

/* A READ that ends where the bricks have the end, though more was answered early, does not end the file: those above would keep that. */
static void
look_at_end(struct wb *wb, const struct wb_file *file, uint64_t asked, struct gi_fop *fop)
{
  uint64_t end = fop->args.offset + (uint64_t)fop->rsp.ret;
  struct gi_iatt a = {.size = end};

  correct(wb, file, asked, &a);
  if (fop->rsp.err == ENOENT && a.size > end)
    fop->rsp.err = 0;
}

/* What came from the brick may be without what was answered early, or could not be written. */
static bool
lacks_ours(const struct wb_file *file, uint64_t asked)
{
  return file->root || !gi_list_empty(&file->order) || file->changing || file->moved > asked;
}

void
wb_attr_reply(struct wb *wb, struct gi_fop *fop)
{
  struct wb_op *op = gi_fop_private(fop, wb->x);
  struct gi_iatt *a = &fop->rsp.stat;
  struct gi_inode *inode;
  struct wb_file *file;

  if (fop->rsp.ret < 0 || gi_fop_table[fop->kind].classes & GI_CLASS_LOCK)
    return;
  if (fop->kind == GI_FOP_READDIRP) {
    look_at_entries(wb, fop, op->asked);
    return;
  }
  if (gi_fop_table[fop->kind].attrs.stat != GI_OF_OBJECT || (fop->kind != GI_FOP_READ && !S_ISREG(a->mode)))
    return;
  if (fop->kind == GI_FOP_LOOKUP || fop->kind == GI_FOP_CREATE)
    inode = gi_gfid_is_none(&a->gfid) ? NULL : gi_inode_find(fop->graph, &a->gfid);
  else
    inode = gi_inode_ref(gi_fop_inode(fop));
  file = inode ? wb_file_of(wb, inode, fop->kind == GI_FOP_CREATE) : NULL;
  if (file)
    file->made |= fop->kind == GI_FOP_CREATE;
  if (file && lacks_ours(file, op->asked))
    gi_content_drop(fop);
  if (file && fop->kind == GI_FOP_READ)
    look_at_end(wb, file, op->asked, fop);
  if (file)
    look_at(wb, file, op->asked, a);
  gi_inode_unref(&inode);
}

/* Whether the file may be shorter after it. */
static bool
cuts(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_TRUNCATE || fop->kind == GI_FOP_FTRUNCATE || fop->kind == GI_FOP_OPEN;
}

/* The reply of another change: while it was under way no WRITE was answered early. */
void
wb_attr_changed(struct wb *wb, struct gi_fop *fop, struct wb_op *op)
{
  for (unsigned i = 0; i < op->count; i++) {
    struct wb_file *file = op->file[i];
    const struct gi_iatt *a = gi_reply_attr(fop, i == 0 ? GI_OF_OBJECT : GI_OF_OBJECT2);
    bool alone = file->changing == 1 && file->moved < op->asked;

    GI_ASSERT(op->counted && file->changing > 0);

    if (fop->rsp.ret >= 0 && alone && describes(file, a) && may_learn(wb, file, op->asked)) {
      learn(wb, file, a, op->asked);
      at_least(&file->now, wb_tree_end(file->root));
    } else {
      lose_track(wb, file, cuts(fop));
    }
    file->changed = file->moved = wb->moved = ++wb->clock;
  }
}

/* ---- answers from here ---- */

/* What was learnt a moment ago is as true as an answer that takes as long to come. But whether the file still has all its names is not
 * known after a name was removed, for the kernel does not say of what. */
bool
wb_answer_stat(struct wb *wb, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  struct wb_file *file = inode ? wb_file_of(wb, inode, false) : NULL;

  if (!file || gi_list_empty(&file->order) || file->changing || gi_dict_count(fop->xdata) || !is_learnt(wb, file) ||
      !wb_may_hold(wb) || gi_now(wb->x->reactor) - file->learnt_ns >= WB_FRESH_NS || file->asked < wb->unnamed)
    return false;
  GI_ASSERT(gi_iatt_valid(&file->now));
  fop->rsp.stat = file->now;
  gi_fop_ok(fop, 0);
  wb->m.answered_stat++;
  return true;
}

static bool
is_other(const struct wb_write *w, const void *arg)
{
  return w != arg;
}

static bool
has_all(const struct wb_write *w, uint64_t offset, uint64_t size)
{
  return w->changes && w->range.end != WB_END && offset >= w->offset && size <= w->data.len &&
         offset - w->offset <= w->data.len - size;
}

bool
wb_answer_read(struct wb *wb, struct gi_fop *fop, struct wb_file *file)
{
  uint64_t offset = fop->args.offset, size = fop->args.size;
  struct wb_range range = {offset, offset + size};
  struct wb_write *w;

  if (!size || size > WB_END - offset || !is_learnt(wb, file) || file->changing || gi_dict_count(fop->xdata) ||
      !wb_may_hold(wb))
    return false;
  w = wb_tree_find(file->root, range, NULL, NULL);
  if (!w || !has_all(w, offset, size) || wb_tree_find(file->root, range, is_other, w))
    return false;
  gi_payload_slice(&w->data, offset - w->offset, size, &fop->rsp.payload);
  GI_ASSERT(fop->rsp.payload.len == size && w->state != WB_ENDED);
  fop->rsp.stat = file->now;
  gi_fop_ok(fop, (int32_t)size);
  wb->m.answered_read++;
  return true;
}
