/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning the anonymous directory (replicate.md 7.8) when nothing is left to
 * heal. An object there waited for a new name that no heal brought. It is removed
 * unless some brick still has it under a name of its own. A directory is given that name.
 *
 * An object there may have counters itself, and then something is left to heal as
 * long as it lies there. So it is removed at once if no brick can reach it: no heal
 * that is still to come can give it a name.
 */
#include "xlators/cluster/replicate/shd/shd.h"

#include "xlators/cluster/replicate/heal/names.h"

#include "libglusterish/probe.h"

/* The children of `mask` that have the object's name in their anonymous directory. */
static uint32_t
kept_by(struct rep_heal *h, struct gi_inode *anon, const char *name, uint32_t mask)
{
  struct gi_fop *fop = rep_heal_fop(h, GI_FOP_LOOKUP);

  gi_fop_set_entry(fop, &fop->loc, anon, name);
  return rep_heal_all(h, fop, mask);
}

/* The child lost the handle of the object with its power. A heal asked for the gfid, was told that there is none, and made the object
 * again. The first one can never be found by its gfid, and what it held was healed to the second. */
static bool
is_twin(struct rep_heal *h, struct gi_inode *parent, unsigned child, const char *name, bool *directory, int *err)
{
  struct gi_fop *fop = rep_heal_fop(h, GI_FOP_LOOKUP);
  bool twin;

  gi_fop_set_entry(fop, &fop->loc, parent, name);
  gi_dict_set_int(gi_fop_xdata(fop), GI_TWIN_KEY, 1);
  rep_heal_one(h, fop, child);
  *err = fop->rsp.ret >= 0 ? 0 : fop->rsp.err;
  twin = fop->rsp.ret >= 0 && gi_dict_get(fop->rsp.xdata, GI_TWIN_KEY);
  *directory = twin && S_ISDIR(fop->rsp.stat.mode);
  gi_fop_unref(fop);
  return twin;
}

static bool
remove_twin(struct rep_heal *h, struct gi_inode *anon, unsigned child, const char *name)
{
  bool directory;
  int err;

  if (!is_twin(h, anon, child, name, &directory, &err))
    return false;
  GI_PROBE("replicate: an object that was made twice goes from the anonymous directory");
  rep_anon_remove(h, anon, name, directory, 1u << child);
  return true;
}

/* The child has nothing under that name, or has had the first of the two there, which is gone now. */
static bool
is_free(struct rep_heal *h, unsigned child, struct gi_inode *parent, const char *name)
{
  struct rep_name n = {.h = h, .parent = parent, .name = name};
  bool directory, twin = false;
  int err = EIO;

  if (rep_name_lock(&n, false) == 0) {
    twin = is_twin(h, parent, child, name, &directory, &err) && directory;
    if (twin) {
      GI_PROBE("replicate: a directory that was made twice gives its name to the second");
      rep_anon_remove(h, parent, name, true, 1u << child);
    }
  }
  rep_name_unlock(&n);
  return twin || err == ENOENT;
}

/* Another child has the directory under a name, and no heal is to come that would give it to the one that lies here. */
static void
put_back(struct rep_heal *h, struct gi_inode *anon, unsigned child, const struct gi_gfid *gfid, uint32_t others)
{
  struct gi_inode *parent = NULL;
  char *name = NULL;
  bool found = false;

  rep_foreach(i, others)
  {
    if (found)
      continue;
    gi_inode_unref(&parent);
    gi_free(name);
    found = rep_heal_place(h, i, gfid, &parent, &name) && !gi_gfid_equal(&parent->gfid, &anon->gfid);
  }
  if (found && is_free(h, child, parent, name))
    rep_heal_name(h, parent, name, gfid);
  gi_inode_unref(&parent);
  gi_free(name);
}

/* Every child has answered for the object: those of v->ok have it, the others have not. */
static bool
all_sure(const struct rep_view *v)
{
  rep_foreach(i, v->asked & ~v->ok) if (v->err[i] != ENOENT && v->err[i] != ESTALE) return false;
  return v->asked == v->rep->all && v->ok;
}

static void
judge_leftover(struct rep_heal *h, struct gi_inode *anon, unsigned child, const char *name, const struct gi_gfid *gfid)
{
  uint32_t here = 1u << child;
  struct rep_view v;

  if (remove_twin(h, anon, child,
                  name)) /* asked first, also because a brick that lost its power may find it by its gfid only after that */
    return;
  rep_view_gfid(h, gfid, h->rep->all, &v);
  if ((v.ok & here) && all_sure(&v)) {
    bool directory = S_ISDIR(v.stat[child].mode);

    if (v.ok == here || (!directory && v.stat[child].nlink > 1))
      rep_anon_remove(h, anon, name, directory, here);
    else if (kept_by(h, anon, name, v.ok) == v.ok)
      rep_anon_remove(h, anon, name, directory, v.ok); /* reachable nowhere */
    else if (directory)
      put_back(h, anon, child, gfid, v.ok & ~here);
  }
  rep_view_clear(&v);
}

static bool
has_other_names(const struct rep_view *v)
{
  rep_foreach(i, v->ok) if (!S_ISDIR(v->stat[i].mode) && v->stat[i].nlink > 1) return true;
  return false;
}

bool
rep_shd_purge_unreachable(struct rep_heal *h)
{
  char name[GI_UUID_TEXT];
  struct gi_gfid gfid;
  struct gi_inode *anon;
  struct rep_view v;
  bool purged = false;

  if (!rep_anon_gfid(h->rep, &gfid) || gi_gfid_equal(&gfid, &h->gfid) || h->rep->up != h->rep->all)
    return false;
  anon = gi_inode_get(h->rep->x->graph, &gfid);
  gi_gfid_text(&h->gfid, name);
  rep_view_gfid(h, &h->gfid, h->rep->all, &v);
  if (all_sure(&v) && !has_other_names(&v) && kept_by(h, anon, name, v.ok) == v.ok) {
    GI_PROBE("replicate: an object with marks, reachable nowhere, is purged");
    purged = rep_anon_remove(h, anon, name, S_ISDIR(v.stat[rep_first(v.ok)].mode), v.ok) == v.ok;
  }
  rep_view_clear(&v);
  gi_inode_unref(&anon);
  return purged;
}

static void
clean_brick(struct rep_heal *h, struct gi_inode *anon, unsigned child)
{
  struct gi_gfid gfid;
  struct rep_walk w;
  const struct gi_dirent *e;

  rep_walk_open(&w, h, anon, child, false);
  while (rep_shd_crawls(h->rep->shd) && h->rep->up == h->rep->all && (e = rep_walk_next(&w)))
    if (gi_gfid_parse(e->name, &gfid))
      judge_leftover(h, anon, child, e->name, &gfid);
  rep_walk_close(&w);
}

void
rep_shd_clean(struct rep_heal *h, uint32_t children)
{
  struct gi_gfid gfid;
  struct gi_inode *anon;

  GI_CHECK(h, REP_HEAL_MAGIC);
  GI_ASSERT(!(children & ~h->rep->all));
  if (!rep_anon_gfid(h->rep, &gfid) || !children)
    return;
  rep_anon_repair(h);
  anon = gi_inode_get(h->rep->x->graph, &gfid);
  rep_foreach(i, children) clean_brick(h, anon, i);
  gi_inode_unref(&anon);
}
