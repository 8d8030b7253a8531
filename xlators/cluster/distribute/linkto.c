/* SPDX-License-Identifier: Apache-2.0
 *
 * Linkto files: an empty file with the sticky bit alone, on the subvolume where
 * a name belongs, that says which subvolume has the file (distribute.md 4).
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/mutants.h"

#include <errno.h>

bool
di_tells_linkto(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  return gi_has_linkto_mode(a->mode) && gi_dict_get(xdata, d->linkto_key);
}

bool
di_is_linkto(const struct di *d, const struct gi_fop *reply)
{
  return di_tells_linkto(d, &reply->rsp.stat, reply->rsp.xdata);
}

bool
di_is_bare(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  return gi_has_linkto_mode(a->mode) && !gi_dict_get(xdata, d->linkto_key);
}

int
di_linkto_target(const struct di *d, const struct gi_fop *reply)
{
  const void *bytes;
  uint32_t len;
  char name[GI_NAME_MAX + 1];

  if (!gi_dict_get_bin(reply->rsp.xdata, d->linkto_key, &bytes, &len) || len == 0 || len > GI_NAME_MAX)
    return -1;
  GI_ASSERT(len < sizeof(name));
  memcpy(name, bytes, len);
  name[len] = '\0';
  return di_by_name(d, name);
}

/* It belongs to the owner of the file: quotas and listings by owner count it there. */
static void
give_owner(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat, unsigned child)
{
  struct gi_fop *h;

  if (!gi_iatt_valid(stat) || (stat->uid == 0 && stat->gid == 0))
    return;
  h = di_own_fop(fop, GI_FOP_SETATTR, &stat->gfid);
  h->args.valid = GI_SET_UID | GI_SET_GID;
  h->args.iatt.uid = stat->uid;
  h->args.iatt.gid = stat->gid;
  GI_IGNORE(di_do_drop(d, h, child)); /* nobody is refused anything by it */
}

int
di_linkto_make(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned child,
               unsigned target)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_MKNOD);
  const char *name;
  int err;

  GI_ASSERT(child != target && child < d->n && target < d->n);
  GI_ASSERT(loc->name && !gi_gfid_is_none(&stat->gfid));
  if (GI_BROKEN("forget a linkto file")) {
    gi_fop_unref(h);
    return 0;
  }
  name = d->x->children[target]->name;
  gi_loc_copy_name(&h->loc, loc);
  h->args.mode = S_IFREG | GI_LINKTO_MODE;
  gi_dict_set_gfid(gi_fop_xdata(h), "gfid-req", &stat->gfid);
  gi_dict_set_bin(gi_fop_xdata(h), d->linkto_key, name, (uint32_t)strlen(name) + 1);
  gi_dict_set_str(gi_fop_xdata(h), "glusterfs-internal-fop", "yes");
  err = di_do_drop(d, h, child);
  if (err)
    return err;
  d->metrics.linktos_made++;
  give_owner(d, fop, stat, child);
  return 0;
}

int
di_linkto_remove(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, unsigned child, bool spare_open)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_UNLINK);
  int err;

  GI_ASSERT(loc->name && child < d->n);
  gi_loc_copy(&h->loc, loc);
  gi_dict_set_int(gi_fop_xdata(h), "unlink-only-if-dht-linkto-file", 1);
  if (spare_open)
    gi_dict_set_int(gi_fop_xdata(h), "dont-unlink-for-open-fd", 1);
  err = di_do_drop(d, h, child);
  if (!err)
    d->metrics.linktos_removed++;
  return err;
}

int
di_linkto_lead(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, unsigned target)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_SETXATTR, gfid);
  const char *name = d->x->children[target]->name;

  GI_ASSERT(child != target && child < d->n && target < d->n);
  h->args.dict = gi_dict_new();
  gi_dict_set_bin(h->args.dict, d->linkto_key, name, (uint32_t)strlen(name) + 1);
  return di_do_drop(d, h, child);
}

/* What the linkto file is called until it takes the place: it belongs where that name does, so that a listing finds what somebody left who
 * was killed. */
static char *
passing_name(const char *name, const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT];
  char *passing = gi_asprintf(".%s.glusterish", name);

  if (strlen(passing) <= GI_NAME_MAX)
    return passing;
  gi_free(passing);
  return gi_asprintf(".%s.glusterish", gi_gfid_text(gfid, text));
}

/* It is there, but as long as it leads nowhere a lookup of that name takes it for what somebody has left: ENOENT of *reply then. */
static int
put_in_place(struct di *d, struct gi_fop *fop, const struct gi_loc *passing, const struct gi_loc *loc,
             const struct gi_iatt *stat, unsigned child, unsigned target, struct gi_fop **reply)
{
  struct gi_fop *h;
  int err = di_linkto_make(d, fop, passing, stat, child, target);

  if (err == EEXIST) {
    err = di_linkto_remove(d, fop, passing, child, false);
    if (!err || err == ENOENT)
      err = di_linkto_make(d, fop, passing, stat, child, target);
  }
  if (err)
    return err;
  h = di_helper(fop, GI_FOP_RENAME);
  gi_loc_copy_name(&h->loc, passing);
  gi_loc_copy_name(&h->loc2, loc);
  err = di_do(d, h, child);
  gi_fop_unref(*reply);
  *reply = h;
  return err;
}

int
di_linkto_replace(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned child,
                  unsigned target, struct gi_fop **reply)
{
  GI_CLEANUP_FREE char *name = passing_name(loc->name, &stat->gfid);
  struct gi_loc passing = {.name = name, .parent = loc->parent, .pargfid = loc->parent ? loc->parent->gfid : loc->pargfid};
  int err = ENOENT;

  GI_ASSERT(!*reply);
  for (int i = 0; err == ENOENT && i < DI_ATTEMPTS; i++)
    err = put_in_place(d, fop, &passing, loc, stat, child, target, reply);
  if (err && *reply)
    GI_IGNORE(di_linkto_remove(d, fop, &passing, child, false)); /* nobody comes across it */
  return err == ENOENT ? EIO : err;                              /* none of the names that were asked for */
}
