/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of an inode, and how it is found out when a check needs it: a
 * nameless LOOKUP of our own that asks for both ACLs.
 */
#include "xlators/features/access-control/access-control.h"

#define AC_FETCHES_MAX 8 /* a fop needs at most two parents and two objects */

struct ac_inode *
ac_inode(const struct gi_xlator *x, const struct gi_inode *inode)
{
  struct ac_inode *ai = gi_inode_private(inode, x);
  GI_ASSERT(ai->known || (!ai->access && !ai->dflt)); /* what is not known has no ACLs either */
  uint32_t now = ac_private(x)->generation;
  if (ai->generation != now) {
    ac_forget(ai);
    ai->generation = now;
  }
  return ai;
}

void
ac_forget(struct ac_inode *ai)
{
  gi_free(ai->access);
  gi_free(ai->dflt);
  *ai = (struct ac_inode){.generation = ai->generation};
}

void
ac_learn_iatt(struct ac_inode *ai, const struct gi_iatt *st)
{
  ai->mode = st->mode;
  ai->uid = st->uid;
  ai->gid = st->gid;
}

static struct ac_acl *
acl_in(const struct gi_dict *xdata, const char *key)
{
  const void *data;
  uint32_t len;
  return gi_dict_get_bin(xdata, key, &data, &len) ? ac_acl_parse(data, len) : NULL;
}

void
ac_learn(struct gi_xlator *x, struct gi_fop *fop, const struct gi_iatt *st, const struct gi_dict *xdata)
{
  if (!gi_iatt_valid(st) || gi_gfid_is_none(&st->gfid))
    return;
  struct gi_inode *inode = gi_inode_get(fop->graph, &st->gfid);
  struct ac_inode *ai = ac_inode(x, inode);
  ac_forget(ai);
  GI_ASSERT(!ai->known && !ai->access && !ai->dflt);
  ac_learn_iatt(ai, st);
  if (!S_ISLNK(st->mode))
    ai->access = acl_in(xdata, AC_ACCESS_KEY);
  if (S_ISDIR(st->mode))
    ai->dflt = acl_in(xdata, AC_DEFAULT_KEY);
  ai->known = true;
  gi_inode_unref(&inode);
}

/* ---- fetching ---- */

#define FETCH_MAGIC 0x1d0ac1feu

struct fetch {
  uint32_t magic;
  struct gi_xlator *x;
  struct gi_fop *fop; /* held */
  struct gi_loc *loc; /* to be resolved; NULL for a known inode */
  gi_fop_fn *retry;
};

static void
fetched(struct gi_fop *lookup, void *arg)
{
  struct fetch f = *(struct fetch *)arg;
  struct ac_fop *af = gi_fop_private(f.fop, f.x);
  int err = lookup->rsp.ret < 0 ? lookup->rsp.err : 0;
  GI_CHECK(&f, FETCH_MAGIC);
  GI_ASSERT(!f.fop->answered && f.fop->at == f.x && af->fetches > 0);
  gi_free(arg);
  if (!err) {
    ac_learn(f.x, lookup, &lookup->rsp.stat, lookup->rsp.xdata);
    if (f.loc && !f.loc->inode && !gi_gfid_is_none(&lookup->rsp.stat.gfid))
      f.loc->inode = gi_inode_get(f.fop->graph, &lookup->rsp.stat.gfid);
  }
  gi_fop_unref(lookup);
  if (err == ENOENT || err == ESTALE)
    af->missing = true;
  else if (err) {
    gi_fop_fail(f.fop, err);
    gi_fop_answer(f.fop, f.x);
    return;
  }
  gi_fop_resume(f.fop, f.x, f.retry(f.x, f.fop));
}

static void
fetch(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode, struct gi_loc *loc, gi_fop_fn *retry)
{
  struct fetch *f = gi_new(struct fetch);
  struct gi_fop *lookup = gi_fop_helper(fop, GI_FOP_LOOKUP);
  GI_ASSERT((inode != NULL) != (loc != NULL) && retry);
  GI_ASSERT(!loc || loc == &fop->loc || loc == &fop->loc2);
  *f = (struct fetch){.magic = FETCH_MAGIC, .x = x, .fop = fop, .loc = loc, .retry = retry};
  lookup->caller.uid = lookup->caller.gid = 0;
  lookup->caller.stamps = 0;
  if (inode)
    gi_loc_set_inode(&lookup->loc, inode);
  else
    gi_fop_set_entry(lookup, &lookup->loc, loc->parent, loc->name);
  struct gi_dict *ask = gi_fop_xdata(lookup);
  gi_dict_set_uint(ask, AC_ACCESS_KEY, 0);
  gi_dict_set_uint(ask, AC_DEFAULT_KEY, 0);
  ac_count(x)->fetched++;
  gi_fop_submit(lookup, gi_first_child(x), fetched, f);
}

static bool
may_fetch(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ac_fop *af = gi_fop_private(fop, x);
  return !af->missing && af->fetches++ < AC_FETCHES_MAX;
}

bool
ac_need(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode, gi_fop_fn *retry)
{
  struct ac_fop *af = gi_fop_private(fop, x);
  if (!inode)
    af->missing = true;
  if (!inode || ac_inode(x, inode)->known)
    return true;
  if (!may_fetch(x, fop)) {
    af->missing = true;
    return true;
  }
  fetch(x, fop, inode, NULL, retry);
  return false;
}

bool
ac_need_name(struct gi_xlator *x, struct gi_fop *fop, struct gi_loc *loc, gi_fop_fn *retry)
{
  if (loc->inode)
    return ac_need(x, fop, loc->inode, retry);
  if (!loc->parent || !loc->name || !may_fetch(x, fop))
    return true;
  fetch(x, fop, NULL, loc, retry);
  return false;
}
