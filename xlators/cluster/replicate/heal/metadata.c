/* SPDX-License-Identifier: Apache-2.0
 *
 * The heal of owner, mode and extended attributes (replicate.md 7.4), under the
 * lock of metadata operations. The view taken under that lock shows what the sinks
 * have, so only differences are removed and set.
 */
#include "xlators/cluster/replicate/heal/heal.h"

struct meta_heal {
  struct rep_heal *h;
  struct rep_view *v;
  struct rep_direction *d;
  unsigned source;
  uint32_t sinks; /* healed so far */
  int err;
};

static void
finish_metadata(struct meta_heal *mh, struct rep_round *round)
{
  uint32_t asked = round->fan.sent, ok = rep_round_wait(mh->h, round);

  if (asked & ~ok)
    mh->err = round->fan.err;
  mh->sinks &= ~(asked & ~ok);
}

static struct gi_fop *
setattr(struct meta_heal *mh, int32_t valid)
{
  struct gi_fop *fop = rep_heal_inode_fop(mh->h, GI_FOP_SETATTR, mh->h->inode);

  fop->args.valid = valid;
  fop->args.iatt = mh->v->stat[mh->source];
  return fop;
}

static void
heal_owner_mode(struct meta_heal *mh)
{
  const struct gi_iatt *st = mh->v->stat;
  /* A symlink has no mode of its own to set. */
  int32_t valid = GI_SET_UID | GI_SET_GID | (S_ISLNK(st[mh->source].mode) ? 0 : GI_SET_MODE);
  struct rep_round round;

  rep_round_begin(mh->h, &round);
  rep_foreach(i, mh->sinks) if (!rep_heal_same_owner_mode(&st[i], &st[mh->source]))
      rep_round_send(&round, setattr(mh, valid), i);
  finish_metadata(mh, &round);
}

/* Names of `of` that `in` lacks, or (values) has with another value. */
static struct gi_dict *
difference(const struct gi_dict *of, const struct gi_dict *in, bool values)
{
  struct gi_dict *d = gi_dict_new();

  for (uint32_t k = 0; of && k < gi_dict_count(of); k++) {
    const struct gi_pair *p = gi_dict_at(of, k);
    bool wanted = values ? !rep_heal_same_xattr(in, p) : !in || !gi_dict_get(in, p->key);
    const uint8_t *value;
    uint32_t len;

    if (wanted && gi_pair_bytes(p, &value, &len) && !rep_heal_ignores_xattr(p->key))
      gi_dict_set_bin(d, p->key, value, values ? len : 0);
  }
  return d;
}

/* Many names in one operation: the name is empty, the names are the keys of xdata. */
static void
send_removal(struct meta_heal *mh, struct rep_round *round, unsigned sink)
{
  struct gi_dict *names = difference(mh->v->xdata[sink], mh->v->xdata[mh->source], false);
  struct gi_fop *fop;

  gi_dict_del(names, "trusted.glusterfs.mdata"); /* the brick's own */
  if (gi_dict_count(names)) {
    fop = rep_heal_inode_fop(mh->h, GI_FOP_REMOVEXATTR, mh->h->inode);
    fop->args.name = "";
    fop->xdata = gi_dict_ref(names);
    rep_round_send(round, fop, sink);
  }
  gi_dict_unref(&names);
}

static void
send_xattrs(struct meta_heal *mh, struct rep_round *round, unsigned sink)
{
  struct gi_dict *set = difference(mh->v->xdata[mh->source], mh->v->xdata[sink], true);
  struct gi_fop *fop;

  if (gi_dict_count(set)) {
    fop = rep_heal_inode_fop(mh->h, GI_FOP_SETXATTR, mh->h->inode);
    fop->args.dict = gi_dict_ref(set);
    rep_round_send(round, fop, sink);
  }
  gi_dict_unref(&set);
}

static void
each_sink(struct meta_heal *mh, void (*send)(struct meta_heal *mh, struct rep_round *round, unsigned sink))
{
  struct rep_round round;

  rep_round_begin(mh->h, &round);
  rep_foreach(i, mh->sinks) send(mh, &round, i);
  finish_metadata(mh, &round);
}

static void
send_meta_times(struct meta_heal *mh, struct rep_round *round, unsigned sink)
{
  struct gi_fop *fop = setattr(mh, REP_HEAL_TIMES);

  fop->args.iatt = *rep_heal_due_times(mh->v, mh->source, &mh->v->stat[mh->source]);
  rep_round_send(round, fop, sink);
}

/* The copies differ and nobody accuses anybody: the difference is recorded first, so that an interrupted heal goes on in the same
 * direction. */
static bool
mark_losers(struct meta_heal *mh)
{
  struct gi_fop *fop = rep_heal_inode_fop(mh->h, GI_FOP_XATTROP, mh->h->inode);
  uint32_t ok;

  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = rep_marks_dict(mh->h->rep, mh->d->sinks, REP_META, 0);
  ok = rep_heal_all(mh->h, fop, mh->d->sources);
  rep_foreach(i, ok) rep_foreach(j, mh->d->sinks) mh->v->pending[REP_META][i][j]++;
  return ok == mh->d->sources;
}

/* What was healed is on the disks of the sinks before it is forgotten that they lacked it. */
static void
sync_sinks(struct meta_heal *mh)
{
  struct gi_fop *fop;

  if (!mh->sinks || !rep_opts(mh->h->rep)->ensure_durability)
    return;
  fop = rep_heal_inode_fop(mh->h, GI_FOP_XATTROP, mh->h->inode);
  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = rep_marks_dict(mh->h->rep, 0, REP_META, 0);
  gi_dict_set_int(gi_fop_xdata(fop), GI_DURABLE_KEY, 1);
  mh->sinks = rep_heal_all(mh->h, fop, mh->sinks);
}

static int
run_metadata(struct rep_heal *h, struct rep_view *v, struct rep_direction *d)
{
  struct meta_heal mh = {.h = h, .v = v, .d = d, .source = (unsigned)d->source, .sinks = d->sinks, .err = ENOTCONN};

  GI_ASSERT(!(d->sinks & d->sources));
  if (d->unmarked && !mark_losers(&mh))
    return -ENOTCONN;
  heal_owner_mode(&mh); /* first: an ACL set afterwards decides about the group's bits */
  each_sink(&mh, send_removal);
  each_sink(&mh, send_xattrs);
  each_sink(&mh, send_meta_times);
  sync_sinks(&mh);
  if (!mh.sinks)
    return -mh.err;
  if (rep_heal_undo(h, v, REP_META, d, d->sources | mh.sinks, false, NULL) != d->locked)
    return -ENOTCONN;
  return mh.sinks == d->sinks ? REP_HEALED : -mh.err;
}

static int
heal_metadata_locked(struct rep_heal *h)
{
  struct rep_direction d;
  struct rep_view v;
  int res;

  if (rep_heal_needed(h, REP_META, &v, &d, &res))
    res = run_metadata(h, &v, &d);
  rep_view_clear(&v);
  return res;
}

int
rep_heal_metadata(struct rep_heal *h)
{
  struct rep_heal_lock lock = {.inode = h->inode, .start = REP_META_START};
  int res;

  if (rep_heal_lock(h, &lock, REP_LOCK_TIEBREAK, h->rep->all) == h->rep->all)
    res = heal_metadata_locked(h);
  else
    res = h->rep->up == h->rep->all ? REP_HEAL_BUSY : -ENOTCONN;
  rep_heal_unlock(h, &lock);
  return res;
}
