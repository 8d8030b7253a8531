/* SPDX-License-Identifier: Apache-2.0
 *
 * Mandatory locking and fencing (brick.md 9.7): POSIX locks that bind I/O.
 * With the option off, which is the default, the cost is one comparison.
 *
 * A fenced file carries a marker xattr; the marker is learnt when it is set and
 * from every LOOKUP, so it survives a restart.
 */
#include "xlators/features/locks/locks.h"

#include <fcntl.h>

#define LK_FENCE_KEY "trusted.glusterfs.enforce-mandatory-lock"

static bool
fencing(const struct gi_xlator *x)
{
  return lk_options(x)->enforce && lk_options(x)->mandatory != LK_MANDATORY_OFF;
}

static bool
binds(const struct gi_xlator *x, const struct lk_inode *li, const struct lk_posix *l)
{
  switch (lk_options(x)->mandatory) {
  case LK_MANDATORY_FILE:
    return li->setgid_mandatory;
  case LK_MANDATORY_FORCED:
    return true;
  case LK_MANDATORY_OPTIMAL:
    return l->mandatory;
  default:
    return false;
  }
}

/* The bytes a fop touches; false if none. */
static bool
region(const struct gi_fop *fop, uint64_t *start, uint64_t *last)
{
  uint64_t off = fop->args.offset, size = fop->kind == GI_FOP_WRITE ? fop->payload.len : fop->args.size;
  *start = off;
  *last = LK_LAST;
  if (fop->kind == GI_FOP_TRUNCATE || fop->kind == GI_FOP_FTRUNCATE)
    return true;
  if (size == 0)
    return false;
  if (off < LK_LAST && size - 1 < LK_LAST - off)
    *last = off + size - 1;
  return true;
}

static bool
covered(const struct lk_inode *li, const struct lk_who *who, bool write, uint64_t start, uint64_t last)
{
  GI_ASSERT(start <= last);
  gi_list_foreach(l, &li->posix, struct lk_posix, link) {
    if (lk_same(&l->who, who) && (!write || l->type == GI_LK_WRITE) && l->start <= start && last <= l->last)
      return true;
  }
  return false;
}

/* 0 = may go on; EAGAIN = not now; EBUSY = not without a lock. */
static int
check(const struct gi_xlator *x, const struct lk_inode *li, const struct gi_fop *fop)
{
  uint64_t start, last;
  if (!region(fop, &start, &last))
    return 0;
  struct lk_who who;
  lk_who_set(&who, fop);
  bool write = fop->kind != GI_FOP_READ;
  if (li->fenced && fencing(x))
    return covered(li, &who, write, start, last) ? 0 : write ? EBUSY : EAGAIN;
  gi_list_foreach(l, &li->posix, struct lk_posix, link) {
    if (binds(x, li, l) && (write || l->type == GI_LK_WRITE) && l->start <= last && start <= l->last && !lk_same(&l->who, &who))
      return EAGAIN;
  }
  return 0;
}

enum gi_verdict
lk_mandatory_io(struct gi_xlator *x, struct gi_fop *fop)
{
  if (lk_options(x)->mandatory == LK_MANDATORY_OFF || fop->caller.pid < 0)
    return lk_counts(x, fop);
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));
  int err = li ? check(x, li, fop) : 0;
  if (err == 0)
    return lk_counts(x, fop);
  if (li->fenced || !fop->fd || fop->fd->anonymous || (fop->fd->flags & O_NONBLOCK))
    return gi_fop_fail(fop, err);
  struct lk_fop *lf = gi_fop_private(fop, x);
  GI_ASSERT(lf->wait == LK_WAIT_NONE);
  lf->wait = LK_WAIT_IO;
  lf->li = li;
  gi_list_add_tail(&li->io_waiting, &fop->link);
  lk_inode_use(x, li);
  lk_count(x)->io_waited++;
  lk_waits(fop, "mandatory lock", NULL, NULL);
  return GI_HELD;
}

void
lk_mandatory_retry(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready)
{
  GI_ASSERT(gi_list_empty(&li->io_waiting) || li->users > 0);
  gi_list_foreach_safe(fop, &li->io_waiting, struct gi_fop, link) {
    if (check(x, li, fop) != 0)
      continue;
    gi_list_del(&fop->link);
    lk_ready_forward(ready, fop, x, lk_counts(x, fop) == GI_PASS_TELL);
    lk_inode_unuse(x, li); /* the caller is a user too */
  }
}

void
lk_mandatory_cancel(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  struct gi_list ready = GI_LIST_INIT(ready);
  GI_ASSERT(lf->wait == LK_WAIT_IO);
  GI_CHECK(lf->li, LK_INODE_MAGIC);
  gi_list_del(&fop->link);
  lk_ready_answer(&ready, fop, x, -1, EINTR);
  lk_inode_unuse(x, lf->li);
  lk_ready_run(x, &ready);
}

/* Reading is asked for by READ, which a lock may bind. */
static void
wants_no_content(struct gi_xlator *x, struct gi_fop *fop)
{
  if ((lk_options(x)->mandatory != LK_MANDATORY_OFF || lk_options(x)->enforce) && gi_dict_get(fop->xdata, GI_CONTENT_KEY))
    gi_dict_set_uint(gi_fop_xdata(fop), GI_CONTENT_KEY, 0);
}

enum gi_verdict
lk_mandatory_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  wants_no_content(x, fop);
  return lk_counts(x, fop);
}

enum gi_verdict
lk_mandatory_open(struct gi_xlator *x, struct gi_fop *fop)
{
  uint32_t flags = fop->args.flags;
  wants_no_content(x, fop);
  if (lk_options(x)->mandatory == LK_MANDATORY_OFF || fop->caller.pid < 0 || !(flags & O_TRUNC))
    return lk_counts(x, fop);
  const struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));
  if (li) {
    gi_list_foreach(l, &li->posix, struct lk_posix, link) {
      if (binds(x, li, l))
        return gi_fop_fail(fop, EAGAIN);
    }
  }
  return lk_counts(x, fop);
}

enum gi_verdict
lk_mandatory_mark(struct gi_xlator *x, struct gi_fop *fop)
{
  bool set = fop->kind == GI_FOP_SETXATTR || fop->kind == GI_FOP_FSETXATTR;
  bool ours =
      set ? gi_dict_get(fop->args.dict, LK_FENCE_KEY) != NULL : fop->args.name && strcmp(fop->args.name, LK_FENCE_KEY) == 0;
  if (!ours)
    return lk_counts(x, fop);
  if (!fencing(x))
    return set ? gi_fop_fail(fop, EINVAL) : lk_counts(x, fop);
  struct lk_fop *lf = gi_fop_private(fop, x);
  lk_counts(x, fop);
  lf->learn = true;
  return GI_PASS_TELL;
}

bool
lk_mandatory_wants(struct gi_xlator *x, struct gi_fop *fop)
{
  const uint64_t tells_mode = GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_CREATE) |
                              GI_KIND(GI_FOP_SETATTR) | GI_KIND(GI_FOP_FSETATTR);
  if (fop->kind == GI_FOP_LOOKUP && fencing(x)) {
    gi_dict_set_uint(gi_fop_xdata(fop), LK_FENCE_KEY, 0);
    return true;
  }
  return lk_options(x)->mandatory == LK_MANDATORY_FILE && (tells_mode & GI_KIND(fop->kind));
}

static void
learn_mode(struct gi_xlator *x, struct gi_inode *inode, uint32_t mode)
{
  bool marked = S_ISREG(mode) && (mode & S_ISGID) && !(mode & S_IXGRP);
  struct lk_inode *li = marked ? lk_inode_get(x, inode) : lk_inode_peek(x, inode);
  if (li)
    li->setgid_mandatory = marked;
}

void
lk_mandatory_learn(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = NULL;
  switch (fop->kind) {
  case GI_FOP_SETXATTR:
  case GI_FOP_FSETXATTR:
    lk_inode_get(x, gi_fop_inode(fop))->fenced = true;
    return;
  case GI_FOP_REMOVEXATTR:
  case GI_FOP_FREMOVEXATTR:
    lk_inode_get(x, gi_fop_inode(fop))->fenced = false;
    return;
  default:
    break;
  }
  const struct gi_iatt *st = gi_reply_attr(fop, GI_OF_OBJECT);
  if (!st || gi_gfid_is_none(&st->gfid))
    return;
  inode = gi_inode_get(fop->graph, &st->gfid);
  if (fop->kind == GI_FOP_LOOKUP && fencing(x)) {
    bool fenced = gi_dict_get(fop->rsp.xdata, LK_FENCE_KEY) != NULL;
    struct lk_inode *li = fenced ? lk_inode_get(x, inode) : lk_inode_peek(x, inode);
    if (li)
      li->fenced = fenced;
  }
  learn_mode(x, inode, st->mode);
  gi_inode_unref(&inode);
}
