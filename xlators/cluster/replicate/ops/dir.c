/* SPDX-License-Identifier: Apache-2.0
 *
 * Listing a directory: one child serves the whole listing, because the cookies
 * of different bricks are unrelated. If it goes away the listing fails; a
 * listing that silently lacks names would be worse (replicate.md 5.5). As long as
 * it has not told any, another one is asked.
 *
 * Private names are hidden. While heals may be due, the attributes of an entry
 * are only shown if the listing child is the one the entry would be read from.
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/probe.h"

static bool
trust_attributes(const struct rep *rep, const struct gi_iatt *st, unsigned child)
{
  struct gi_inode *inode;
  bool good = false;

  if (rep->healthy == rep->all && !rep_opts(rep)->consistent_metadata)
    return true;
  inode = gi_inode_find(rep->x->graph, &st->gfid);
  if (inode && rep_inode_fresh(rep, inode))
    good = rep_read_child(rep, inode, NULL, rep_readable(rep, inode, false) & rep->up) == (int)child;
  gi_inode_unref(&inode);
  return good;
}

static void
hide_private(const struct rep *rep, struct gi_fop *fop, const struct gi_gfid *dir)
{
  struct gi_dirents *d = &fop->rsp.entries;
  uint32_t kept = 0;

  for (uint32_t i = 0; i < d->count; i++) {
    struct gi_dirent e = d->entry[i];

    if (rep_private_name(rep, fop->caller.pid, dir, e.name)) {
      gi_dict_unref(&e.xdata);
      continue;
    }
    d->entry[kept++] = e;
  }
  d->count = kept;
}

static void
filter(const struct rep *rep, struct gi_fop *fop, unsigned child)
{
  struct gi_dirents *d = &fop->rsp.entries;
  struct gi_inode *dir = rep_fop_inode(fop);

  if (d->count > 1 && GI_BROKEN("leave a name out of a listing")) {
    gi_dict_unref(&d->entry[0].xdata);
    memmove(&d->entry[0], &d->entry[1], --d->count * sizeof(d->entry[0]));
  }
  if (dir && gi_gfid_is_root(&dir->gfid))
    hide_private(rep, fop, &dir->gfid);
  for (uint32_t i = 0; fop->kind == GI_FOP_READDIRP && i < d->count; i++) {
    rep_marks_strip(rep, d->entry[i].xdata);
    if (gi_iatt_valid(&d->entry[i].stat) && !trust_attributes(rep, &d->entry[i].stat, child))
      memset(&d->entry[i].stat, 0, sizeof(d->entry[i].stat));
  }
}

static void readdir_begin(struct gi_fop *fop, int err);

static void
readdir_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  unsigned child = (unsigned)rep_first(fan->sent);

  gi_reply_move(fop, gi_fan_reply(fan, child));
  gi_fan_clear(fan);
  if (fop->rsp.ret < 0 && !fop->args.offset && rep_child_failed(fop->rsp.err)) {
    struct rep_fop *rf = rep_fop(rep, fop);

    rf->tried |= 1u << child;
    rf->err = rep_errno_merge(rf->err, fop->rsp.err);
    gi_reply_clear(&fop->rsp);
    rep_refresh(rep, fop, rep_fop_inode(fop), readdir_begin);
    return;
  }
  if (fop->rsp.ret >= 0) {
    uint32_t before = fop->rsp.entries.count;

    filter(rep, fop, child);
    /* Zero entries would mean the end. A batch of private names only: ask for what follows. */
    if (before && !fop->rsp.entries.count && fop->rsp.err != ENOENT) {
      rep_answer(rep, fop, -1, EIO);
      return;
    }
    fop->rsp.ret = (int32_t)fop->rsp.entries.count;
  }
  gi_fop_answer(fop, rep->x);
}

static void
readdir_send(struct rep *rep, struct gi_fop *fop)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;
  int reader = rep_fd(rep, fop->fd)->reader;
  unsigned child = (unsigned)reader - 1;

  if (reader > 0 && !((rep->up >> child) & 1) && GI_BROKEN("go on with a listing at another brick"))
    child = (unsigned)rep_first(rep->up);
  else if (reader <= 0 || !((rep->up >> child) & 1)) {
    rep_answer(rep, fop, -1, ENOTCONN);
    return;
  }
  rep_fan_start(fan, rep, readdir_done, fop);
  gi_fan_copy(fan, fop, 1u << child);
}

static void
readdir_begin(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);
  struct rep_fop *rf = rep_fop(rep, fop);
  struct gi_inode *dir = rep_fop_inode(fop);
  uint32_t readable;
  int child;

  if (err) {
    rep_answer(rep, fop, -1, err);
    return;
  }
  readable = rep_readable(rep, dir, true) & rep->up;
  if (!readable)
    readable = rep_accused_views(rep, dir);
  readable &= ~rf->tried;
  if (!readable) {
    rep_answer(rep, fop, -1, rf->err ? rf->err : rep_unreadable(rep));
    return;
  }
  child = rep_read_child(rep, dir, fop, rep_fd_opened(rep, fop->fd, readable));
  if (child < 0) {
    rep_answer(rep, fop, -1, ENOTCONN);
    return;
  }
  GI_ASSERT(((rep->up >> child) & 1) && !((rep->arbiter >> child) & 1));
  rep_fd(rep, fop->fd)->reader = (int8_t)(child + 1);
  readdir_send(rep, fop);
}

enum gi_verdict
rep_on_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct gi_inode *dir = rep_fop_inode(fop);

  if (!fop->fd || !dir)
    return gi_fop_fail(fop, EINVAL);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (fop->args.offset && !rep_fd(rep, fop->fd)->reader)
    return gi_fop_fail(fop, EINVAL);
  if (fop->args.offset)
    readdir_send(rep, fop);
  else if (rep_inode_fresh(rep, dir))
    readdir_begin(fop, 0);
  else
    rep_refresh(rep, fop, dir, readdir_begin);
  return GI_HELD;
}
