/* SPDX-License-Identifier: Apache-2.0
 *
 * The anonymous directory: where a child keeps, under its gfid, what has lost
 * its name there but may get another one (replicate.md 7.8). A directory that
 * was renamed is moved there and back instead of being deleted and copied.
 *
 * Its name and gfid follow from the volume's id, so all healers mean the same.
 */
#include "xlators/cluster/replicate/heal/names.h"

#define ANON_PREFIX ".glusterfs-anonymous-inode-"
#define ANON_NAME (sizeof(ANON_PREFIX) + GI_UUID_TEXT)

bool
rep_anon_gfid(const struct rep *rep, struct gi_gfid *gfid)
{
  const char *id = rep_opts(rep)->volume_id;

  if (!id || !gi_gfid_parse(id, gfid))
    return false;
  gfid->b[0] ^= 1;
  return true;
}

bool
rep_anon_used(const struct rep *rep)
{
  struct gi_gfid gfid;

  return rep_opts(rep)->heal.use_anonymous_inode && rep_anon_gfid(rep, &gfid);
}

static void
anon_name(const struct rep *rep, char name[ANON_NAME])
{
  snprintf(name, ANON_NAME, "%s%s", ANON_PREFIX, rep_opts(rep)->volume_id);
}

/* The children of `mask` where it is what it must be; and those where there is no such name at all. A brick that lost its power while it
 * made it gives it back its gfid and its handle when it is looked up by name. */
static uint32_t
look_up_anon(struct rep_heal *h, const struct gi_gfid *gfid, const char *name, uint32_t mask, uint32_t *missing)
{
  struct gi_inode *root = gi_inode_get(h->rep->x->graph, &gi_gfid_root);
  struct gi_dict *xdata = gi_dict_new();
  struct rep_view v;
  uint32_t there = 0;

  *missing = 0;
  gi_dict_set_gfid(xdata, "gfid-req", gfid);
  rep_view_name(h, root, name, xdata, mask, &v);
  gi_dict_unref(&xdata);
  rep_foreach(i, v.ok) if (gi_gfid_equal(&v.stat[i].gfid, gfid) && S_ISDIR(v.stat[i].mode)) there |= 1u << i;
  rep_foreach(j, mask & ~v.ok) if (v.err[j] == ENOENT) *missing |= 1u << j;
  rep_view_clear(&v);
  gi_inode_unref(&root);
  GI_ASSERT(!((there | *missing) & ~mask) && !(there & *missing));
  return there;
}

static uint32_t
make_anon(struct rep_heal *h, const struct gi_gfid *gfid, const char *name, uint32_t mask)
{
  GI_ASSERT(mask);
  struct gi_inode *root = gi_inode_get(h->rep->x->graph, &gi_gfid_root);
  struct gi_fop *fop = rep_heal_fop(h, GI_FOP_MKDIR);

  gi_fop_set_entry(fop, &fop->loc, root, name);
  gi_inode_unref(&root);
  fop->args.mode = 0755;
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", gfid);
  return rep_heal_all(h, fop, mask);
}

struct gi_inode *
rep_anon_make(struct rep_heal *h, uint32_t mask, uint32_t *there)
{
  struct rep *rep = h->rep;
  uint32_t generation = rep->generation, missing, found;
  char name[ANON_NAME];
  struct gi_gfid gfid;

  *there = 0;
  if (!rep_anon_gfid(rep, &gfid))
    return gi_inode_get(rep->x->graph, &gi_gfid_root); /* not asked: rep_anon_used is false */
  anon_name(rep, name);
  if (rep->anon_generation != generation)
    rep->anon_there = 0;
  if (mask & ~rep->anon_there) {
    found = look_up_anon(h, &gfid, name, rep->all, &missing);
    if (missing) {
      make_anon(h, &gfid, name, missing);
      found = look_up_anon(h, &gfid, name, rep->all, &missing); /* another healer may have been quicker: EEXIST */
    }
    rep->anon_there = found;
    rep->anon_generation = generation;
  }
  *there = rep->anon_there & mask;
  return gi_inode_get(rep->x->graph, &gfid);
}

void
rep_anon_repair(struct rep_heal *h)
{
  char name[ANON_NAME];
  struct gi_gfid gfid;
  uint32_t missing;

  if (!rep_anon_gfid(h->rep, &gfid))
    return;
  anon_name(h->rep, name);
  look_up_anon(h, &gfid, name, h->rep->all, &missing);
}

uint32_t
rep_anon_remove(struct rep_heal *h, struct gi_inode *anon, const char *name, bool directory, uint32_t mask)
{
  struct gi_fop *fop = rep_heal_fop(h, directory ? GI_FOP_RMDIR : GI_FOP_UNLINK);

  gi_fop_set_entry(fop, &fop->loc, anon, name);
  fop->args.flags = directory; /* with everything in it */
  return rep_heal_all(h, fop, mask);
}
