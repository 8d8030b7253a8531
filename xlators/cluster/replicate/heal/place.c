/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory has one name. Children may have it under different names; then this
 * file tells which of them have it elsewhere, and whether the heal of that other
 * place keeps it there. Each place is healed by itself: if both gave the directory
 * away nothing would be left of it.
 */
#include "xlators/cluster/replicate/heal/names.h"

#define DEPTH_MAX 4096 /* of what a brick tells */

struct place {
  struct gi_inode *parent;
  char *name;
};

uint32_t
rep_name_elsewhere(struct rep_name *n, unsigned from, uint32_t on)
{
  const struct gi_gfid *object = &n->view.stat[from].gfid;
  struct gi_gfid gfid;
  char text[GI_UUID_TEXT];
  struct gi_inode *anon;
  struct rep_view v;
  uint32_t known, set = 0;

  if (!rep_anon_gfid(n->h->rep, &gfid))
    return 0;
  rep_view_gfid(n->h, object, on, &v);
  known = v.ok;
  rep_view_clear(&v);
  if (!known)
    return 0;
  anon = gi_inode_get(n->h->rep->x->graph, &gfid);
  rep_view_name(n->h, anon, gi_gfid_text(object, text), NULL, known, &v);
  rep_foreach(i, known & ~v.ok) if (v.err[i] == ENOENT || v.err[i] == ESTALE) set |= 1u << i;
  rep_view_clear(&v);
  gi_inode_unref(&anon);
  return set;
}

/* The last part of the path that the child tells. NULL: it cannot tell. */
static char *
name_on(struct rep_heal *h, unsigned child, struct gi_inode *object)
{
  GI_CLEANUP_FREE char *path = rep_heal_path(h, child, object);
  const char *last = path ? strrchr(path, '/') : NULL;

  return last ? gi_strdup(last + 1) : NULL;
}

static struct gi_inode *
parent_on(struct rep_heal *h, unsigned child, struct gi_inode *object)
{
  struct gi_inode *parent = NULL;
  struct rep_view v;

  rep_view_name(h, object, "..", NULL, 1u << child, &v);
  if (v.ok && !gi_gfid_is_none(&v.stat[child].gfid))
    parent = gi_inode_get(h->rep->x->graph, &v.stat[child].gfid);
  rep_view_clear(&v);
  return parent;
}

bool
rep_heal_place(struct rep_heal *h, unsigned child, const struct gi_gfid *gfid, struct gi_inode **parent, char **name)
{
  struct gi_inode *object = gi_inode_get(h->rep->x->graph, gfid);

  *parent = parent_on(h, child, object);
  *name = *parent ? name_on(h, child, object) : NULL;
  gi_inode_unref(&object);
  return *name != NULL;
}

static bool
find_place(struct rep_name *n, unsigned child, const struct gi_gfid *gfid, struct place *p)
{
  return rep_heal_place(n->h, child, gfid, &p->parent, &p->name);
}

/* Children that have the object in the place, and whether its heal keeps it there: some have missed nothing in that directory, or it is a
 * merge and they are a quorum. */
static bool
kept(struct rep_name *n, const struct gi_gfid *object, const struct place *p)
{
  struct rep *rep = n->h->rep;
  struct rep_direction d;
  struct rep_view dir, v;
  uint32_t owners = 0;
  bool keeps = true;
  GI_ASSERT(p->parent && p->name);

  rep_view_parent_and_name(n->h, p->parent, p->name, NULL, rep->all, &dir, &v);
  rep_foreach(i, v.ok) if (gi_gfid_equal(&v.stat[i].gfid, object)) owners |= 1u << i;
  if (dir.ok == rep->all) {
    rep_decide(n->h, &dir, REP_ENTRY, rep->all, &d);
    keeps = (owners & ~(d.merge ? d.stale : d.sinks)) || (d.merge && rep_quorum(rep, owners));
  }
  rep_view_clear(&dir);
  rep_view_clear(&v);
  return keeps;
}

/* It has just been put there by the heal of the place that it had. */
static bool
waits(const struct rep *rep, const struct place *p)
{
  struct gi_gfid anon;

  return rep_anon_gfid(rep, &anon) && gi_gfid_equal(&p->parent->gfid, &anon);
}

bool
rep_name_kept_elsewhere(struct rep_name *n, unsigned from, uint32_t on)
{
  const struct gi_gfid gfid = n->view.stat[from].gfid;
  bool keeps = false;

  rep_foreach(i, on)
  {
    struct place p = {0};

    keeps = keeps || !find_place(n, i, &gfid, &p) || (!waits(n->h->rep, &p) && kept(n, &gfid, &p));
    gi_inode_unref(&p.parent);
    gi_free(p.name);
  }
  return keeps;
}

/* Whether that directory of the child waits in the anonymous directory, or is in one that does. */
static bool
in_anonymous(struct rep_name *n, unsigned child, struct gi_inode *dir)
{
  struct gi_inode *at = gi_inode_ref(dir), *up;
  struct gi_gfid anon;
  bool found = false, known = rep_anon_gfid(n->h->rep, &anon);

  GI_ASSERT(dir && child < n->h->rep->n);
  for (int depth = 0; known && !found && at && !gi_gfid_is_root(&at->gfid) && depth < DEPTH_MAX; depth++) {
    up = parent_on(n->h, child, at);
    gi_inode_unref(&at);
    at = up;
    found = at && gi_gfid_equal(&at->gfid, &anon);
  }
  gi_inode_unref(&at);
  return found;
}

/* All others say that they do not have it. */
static bool
alone_has(struct rep_name *n, unsigned child, const struct gi_inode *dir)
{
  uint32_t others = n->h->rep->all & ~(1u << child), lack = 0;
  struct rep_view v;

  GI_ASSERT(!gi_gfid_is_none(&dir->gfid));
  rep_view_gfid(n->h, &dir->gfid, others, &v);
  rep_foreach(i, others & ~v.ok) if (v.err[i] == ENOENT || v.err[i] == ESTALE) lack |= 1u << i;
  rep_view_clear(&v);
  return lack == others;
}

bool
rep_name_left_behind(struct rep_name *n, unsigned child, const struct gi_gfid *object, struct gi_inode **parent, char **name)
{
  struct place p = {0};

  GI_ASSERT((n->h->rep->all >> child) & 1);
  if (find_place(n, child, object, &p) && alone_has(n, child, p.parent) && in_anonymous(n, child, p.parent)) {
    *parent = p.parent;
    *name = p.name;
    return true;
  }
  gi_inode_unref(&p.parent);
  gi_free(p.name);
  return false;
}
