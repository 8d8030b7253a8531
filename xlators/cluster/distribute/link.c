/* SPDX-License-Identifier: Apache-2.0
 *
 * LINK: a further name of a file, on the subvolume that has the file; where the
 * name belongs a linkto file leads there. A file that is being moved gets the
 * name on both subvolumes: whoever moves it does not know it. What is no regular
 * file tells nobody that it moves: that is waited for.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

struct linking {
  struct di *d;
  struct gi_fop *fop;
  struct gi_inode *inode;
  unsigned hashed, child; /* where the new name belongs; where the file is */
  bool regular;
  bool tried; /* an attempt has failed, and a brick may have done it all the same */
};

static int
find_places(struct linking *k)
{
  struct di *d = k->d;
  struct di_inode *i = di_inode_of(d, k->inode);
  int err = di_hashed_complete(d, k->fop, &k->fop->loc2, &k->hashed);

  if (err)
    return err;
  /* Last: while another question is under way it may be heard of it that it has moved. */
  err = di_index(d, i->cached) >= 0 ? 0 : di_locate(d, k->fop, k->inode);
  if (err)
    return err;
  if (di_index(d, i->cached) < 0)
    return EPERM; /* a directory */
  k->child = (unsigned)di_index(d, i->cached);
  return 0;
}

/* ---- a file on the move ---- */

/* 0, also where nothing is to get the name, or why it has not got it. */
static int
link_at(struct linking *k, unsigned child)
{
  struct gi_fop *h = di_helper(k->fop, GI_FOP_LINK);
  int err;

  h->loc.gfid = k->inode->gfid;
  gi_loc_copy_name(&h->loc2, &k->fop->loc2);
  err = di_do_drop(k->d, h, child);
  return err == EEXIST ? 0 : err; /* there was a linkto file of it */
}

static int
while_moving(struct linking *k)
{
  uint32_t mode;
  int target, err = di_ask_target(k->d, k->fop, k->inode, k->child, &target, &mode);

  if (err || target < 0 || target == (int)k->child)
    return err;
  err = link_at(k, (unsigned)target);
  return di_is_gone(err) ? 0 : err; /* it is not moved any more */
}

/* What had got the name was a linkto file. */
static void
tell_file(struct linking *k, unsigned child)
{
  struct gi_fop *h = di_helper(k->fop, GI_FOP_STAT);

  h->loc.gfid = k->inode->gfid;
  if (di_do(k->d, h, child) == 0)
    k->fop->rsp.stat = h->rsp.stat;
  gi_fop_unref(h);
}

/* It has moved. */
static int
after_move(struct linking *k)
{
  unsigned was = k->child;
  struct gi_loc loc = {.name = k->fop->loc2.name, .parent = k->fop->loc2.parent, .pargfid = k->fop->loc2.pargfid};
  int at, err;

  err = di_find_again(k->d, k->fop, k->inode, k->d->x->children[was]);
  if (err == EALREADY || di_is_gone(err))
    return 0; /* its owner gave it that mode, or it is nowhere else */
  if (err)
    return err;
  at = di_index(k->d, di_inode_of(k->d, k->inode)->cached);
  if (at < 0)
    return ENOTCONN;
  err = link_at(k, (unsigned)at);
  if (!err)
    tell_file(k, (unsigned)at);
  if (!err && k->hashed != was)
    GI_IGNORE(di_linkto_remove(k->d, k->fop, &loc, was, false)); /* then a rebalance finds it */
  return err;
}

static int
follow(struct linking *k)
{
  const struct gi_iatt a = k->fop->rsp.stat;

  if (!S_ISREG(a.mode) || !(a.mode & S_ISVTX))
    return 0;
  if (gi_has_linkto_mode(a.mode))
    return after_move(k);
  return (a.mode & DI_MOVING) == DI_MOVING ? while_moving(k) : 0;
}

/* ---- the operation ---- */

/* A rebalance may have written another layout, and moved what has the name to where it belongs now: bricks of GlusterFS do not refuse a LINK for
 * that. 0: it is free; EAGAIN: it belongs elsewhere by now. */
static int
is_free(struct linking *k)
{
  int err = di_look_free(k->d, k->fop, &k->fop->loc2, k->tried ? &k->inode->gfid : NULL);
  const struct di_layout *l = err ? NULL : di_layout_known(k->d, gi_loc_parent(k->fop, &k->fop->loc2));

  return err ? err : l && di_hashed(k->d, l, k->fop->loc2.name) == (int)k->hashed ? 0 : EAGAIN;
}

/* On the subvolume that has the file. Who makes no linkto file, under the lock of the name, is refused there if the name belongs elsewhere by
 * now. */
static int
make(struct linking *k)
{
  struct gi_inode *parent = gi_loc_parent(k->fop, &k->fop->loc2);
  const struct di_layout *l = di_layout_known(k->d, parent);
  int err;

  if (l && k->hashed == k->child)
    di_guard(k->d, k->fop, l, k->child);
  err = di_pass(k->d, k->fop, k->child);
  di_unguard(k->d, k->fop);
  k->tried |= err && err != EEXIST;
  if (!err || !di_layout_refused(k->fop))
    return err;
  di_layout_stale(k->d, parent, l);
  return EAGAIN;
}

static int
link_once(struct linking *k)
{
  struct gi_iatt stat = {.gfid = k->inode->gfid};
  const struct gi_loc object = {.gfid = k->inode->gfid};
  struct di_locks locks = {0};
  int err = is_free(k);

  if (!err && !k->regular)
    err = di_lock(k->d, k->fop, &locks, DI_LOCK_MIGRATE, k->child, &object, NULL);
  if (!err && k->hashed != k->child) {
    err = di_lock_name(k->d, k->fop, &locks, k->hashed, &k->fop->loc2);
    if (!err)
      err = di_linkto_make(k->d, k->fop, &k->fop->loc2, &stat, k->hashed, k->child);
  }
  if (!err) {
    err = make(k);
    if (err && k->hashed != k->child)
      GI_IGNORE(di_linkto_remove(k->d, k->fop, &k->fop->loc2, k->hashed, false)); /* then a lookup does */
  }
  if (!err)
    err = follow(k);
  di_unlock(k->d, k->fop, &locks);
  return err;
}

static enum gi_verdict
link_name(struct di *d, struct gi_fop *fop)
{
  struct linking k = {.d = d, .fop = fop, .inode = gi_loc_inode(fop, &fop->loc), .child = DI_MAX};
  int err = 0;

  if (!k.inode)
    return gi_fop_fail(fop, ESTALE);
  k.regular = !k.inode->mode || S_ISREG(k.inode->mode);
  for (int i = 0; i == 0 || (err == EAGAIN && i < DI_ATTEMPTS); i++) { /* the layout is another one */
    gi_reply_clear(&fop->rsp);
    err = find_places(&k);
    if (!err)
      err = link_once(&k);
    if (err == EEXIST && i == 0 && di_is_free(d, fop, &fop->loc2) == 0)
      err = EAGAIN;
  }
  if (di_is_gone(err) && k.child < d->n &&
      di_find_again(d, fop, k.inode, d->x->children[k.child]) == 0) { /* a rebalance has moved it meanwhile */
    gi_reply_clear(&fop->rsp);
    err = find_places(&k);
    if (!err)
      err = link_once(&k);
  }
  if (!err)
    di_hide_marks(d, fop, &k.inode->gfid);
  return di_end(d, fop, err);
}

enum gi_verdict
di_link(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, link_name);
}
