/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on directories. What is asked is answered by the subvolume whose
 * attributes count (the one with the mds mark), with the latest times of all;
 * what is changed is changed there first, then on the others.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

/* The subvolume that counts, or, as long as it is down or unknown, another one that is up. -1: none. */
static int
counting(const struct di *d, const struct di_inode *i)
{
  uint64_t up = d->up;

  if (i->mds && (up >> (i->mds - 1) & 1))
    return i->mds - 1;
  for (unsigned k = 0; i->layout && k < d->n; k++)
    if (i->layout->range[k].err == ENOENT)
      up &= ~(1ull << k);
  return up ? __builtin_ctzll(up) : -1;
}

/* Where locks of the directory are: the same subvolume for all clients, that with the beginning of the hash range. */
static unsigned
lock_child(const struct di_layout *l)
{
  GI_ASSERT(l->n > 0);

  int child = di_layout_find(l, 0);

  return child < 0 ? 0 : (unsigned)child;
}

static struct di_inode *
inode_of(struct di *d, struct gi_fop *fop)
{
  return di_inode_of(d, gi_fop_inode(fop));
}

static enum gi_verdict
forward(struct di *d, struct gi_fop *fop, int child)
{
  if (child < 0 || !(d->up >> child & 1))
    return gi_fop_fail(fop, ENOTCONN);
  gi_fop_forward_to(fop, d->x, d->x->children[child]);
  return GI_HELD;
}

/* ---- attributes ---- */

static enum gi_verdict
stat_dir(struct di *d, struct gi_fop *fop)
{
  struct di_inode *i = inode_of(d, fop);
  int best = counting(d, i);
  struct di_ask ask;
  struct gi_iatt stat;

  di_ask_copy(d, &ask, fop, d->up);
  if (!ask.fan.ok) {
    int err = di_ask_err(&ask, ask.fan.failed);

    di_ask_end(&ask);
    return gi_fop_fail(fop, err ? err : ENOTCONN);
  }
  if (best < 0 || !(ask.fan.ok >> best & 1))
    best = __builtin_ctzll(ask.fan.ok);
  stat = gi_fan_reply(&ask.fan, (unsigned)best)->rsp.stat;
  di_foreach(k, ask.fan.ok)
  {
    const struct gi_iatt *a = &gi_fan_reply(&ask.fan, (unsigned)k)->rsp.stat;

    gi_time_raise(&stat.atime, &a->atime);
    gi_time_raise(&stat.mtime, &a->mtime);
    gi_time_raise(&stat.ctime, &a->ctime);
  }
  di_dir_attr(&stat);
  gi_reply_move(fop, gi_fan_reply(&ask.fan, (unsigned)best));
  fop->rsp.stat = stat;
  i->mtime = stat.mtime;
  i->ctime = stat.ctime;
  di_ask_end(&ask);
  return GI_ANSWERED;
}

/* ---- changes ---- */

/* True if all others made the change, as far as they have the directory. */
static bool
change_others(struct di *d, struct gi_fop *fop, unsigned first)
{
  struct di_ask ask;
  bool all = true;

  GI_ASSERT(first < d->n);
  di_ask_copy(d, &ask, fop, di_all(d) & ~(1ull << first));
  di_foreach(i, ask.fan.failed)
  {
    int e = gi_fan_reply(&ask.fan, (unsigned)i)->rsp.err;

    all = all && (e == ENOENT || e == ESTALE || (e == ENODATA && fop->kind == GI_FOP_REMOVEXATTR));
  }
  di_ask_end(&ask);
  return all;
}

static enum gi_verdict
change_dir(struct di *d, struct gi_fop *fop)
{
  static const uint64_t xattrs =
      GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR);
  struct di_inode *i = inode_of(d, fop);
  int first = i->mds ? i->mds - 1 : counting(d, i);
  bool marks = i->mds && (xattrs & GI_KIND(fop->kind)), all;
  struct gi_fop *h;
  int err;

  if (first < 0 || !(d->up >> first & 1) || (!i->mds && d->up != di_all(d)))
    return gi_fop_fail(fop, ENOTCONN); /* the one that counts is down: what it does not hear of would be undone */
  /* Raised before a change that nobody could tell from a look, and lowered when all have made it. */
  err = marks ? di_mark(d, fop, gi_fop_gfid(fop), (unsigned)first, -1) : 0;
  if (err)
    return gi_fop_fail(fop, err);
  h = gi_fop_child(fop);
  err = di_do(d, h, (unsigned)first);
  all = err || change_others(d, fop, (unsigned)first);
  if (marks && all)
    GI_IGNORE(di_mark(d, fop, gi_fop_gfid(fop), (unsigned)first, 1)); /* then the next lookup does it once more */
  gi_reply_move(fop, h);
  gi_fop_unref(h);
  if (!err && gi_iatt_valid(&fop->rsp.post)) {
    di_dir_attr(&fop->rsp.pre);
    di_dir_attr(&fop->rsp.post);
    i->mtime = fop->rsp.post.mtime;
    i->ctime = fop->rsp.post.ctime;
  }
  return GI_ANSWERED;
}

/* To all that have it; one that fails fails it. */
static enum gi_verdict
on_all(struct di *d, struct gi_fop *fop)
{
  struct di_ask ask;
  int err = 0;

  di_ask_copy(d, &ask, fop, di_all(d));
  di_foreach(i, ask.fan.failed)
  {
    int e = gi_fan_reply(&ask.fan, (unsigned)i)->rsp.err;

    if (e != ENOENT && e != ESTALE && e != EBADF)
      err = e;
  }
  if (!err && ask.fan.ok)
    gi_reply_move(fop, gi_fan_reply(&ask.fan, (unsigned)__builtin_ctzll(ask.fan.ok)));
  else
    gi_fop_fail(fop, err ? err : di_ask_err(&ask, ask.fan.failed));
  di_ask_end(&ask);
  return GI_ANSWERED;
}

/* ---- extended attributes ---- */

static bool
own_key(const struct di *d, const char *key)
{
  return strncmp(key, d->layout_key, strlen(d->layout_key)) == 0;
}

/* Who has the object that is named by the beginning of its gfid. */
static enum gi_verdict
whoever_knows(struct di *d, struct gi_fop *fop)
{
  struct di_ask ask;

  di_ask_copy(d, &ask, fop, d->up);
  if (ask.fan.ok)
    gi_reply_move(fop, gi_fan_reply(&ask.fan, (unsigned)__builtin_ctzll(ask.fan.ok)));
  else
    gi_fop_fail(fop, d->up == di_all(d) ? di_ask_err(&ask, ask.fan.failed) : ENOTCONN);
  di_ask_end(&ask);
  return GI_ANSWERED;
}

static enum gi_verdict
getxattr_dir(struct di *d, struct gi_fop *fop)
{
  if (fop->args.name && strncmp(fop->args.name, GI_GFID_KEY, strlen(GI_GFID_KEY)) == 0)
    return whoever_knows(d, fop);

  int child = counting(d, inode_of(d, fop));

  if (child < 0)
    return gi_fop_fail(fop, ENOTCONN);
  GI_IGNORE(di_pass(d, fop, (unsigned)child)); /* the reply says it */
  for (uint32_t i = gi_dict_count(fop->rsp.dict); !fop->args.name && i-- > 0;) {
    const char *key = gi_dict_at(fop->rsp.dict, i)->key;

    if (own_key(d, key)) {
      GI_CLEANUP_FREE char *copy = gi_strdup(key);

      gi_dict_del(gi_dict_writable(&fop->rsp.dict), copy);
    }
  }
  return GI_ANSWERED;
}

/* ---- which is which ---- */

enum gi_verdict
di_dir_op(struct di *d, struct gi_fop *fop)
{
  struct di_inode *i = inode_of(d, fop);

  GI_ASSERT(i->layout);
  switch (fop->kind) {
  case GI_FOP_STAT:
  case GI_FOP_FSTAT:
    return stat_dir(d, fop);
  case GI_FOP_SETATTR:
  case GI_FOP_FSETATTR:
  case GI_FOP_SETXATTR:
  case GI_FOP_FSETXATTR:
  case GI_FOP_REMOVEXATTR:
  case GI_FOP_FREMOVEXATTR:
    return change_dir(d, fop);
  case GI_FOP_GETXATTR:
  case GI_FOP_FGETXATTR:
    return getxattr_dir(d, fop);
  case GI_FOP_FSYNCDIR:
  case GI_FOP_XATTROP:
  case GI_FOP_FXATTROP:
    return on_all(d, fop);
  case GI_FOP_ACCESS:
    return forward(d, fop, counting(d, i));
  case GI_FOP_FLUSH:
  case GI_FOP_LK:
  case GI_FOP_INODELK:
  case GI_FOP_FINODELK:
  case GI_FOP_ENTRYLK:
  case GI_FOP_FENTRYLK:
  case GI_FOP_LEASE:
  case GI_FOP_GETACTIVELK:
  case GI_FOP_SETACTIVELK:
    return forward(d, fop, (int)lock_child(i->layout));
  default:
    return gi_fop_fail(fop, EISDIR);
  }
}
