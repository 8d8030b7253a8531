/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes of a directory that not all subvolumes heard of: the one
 * that counts said so with its mark, a count of such changes. The others get
 * what it has, and lose what it does not have; then the mark is taken back.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/bigendian.h"

#include <errno.h>
#include <sys/xattr.h>

/* What all subvolumes have in common; the rest is each one's own. */
static bool
common(const struct di *d, const char *key)
{
  static const char *const prefix[] = {"user.", "system.posix_acl_", "security."};

  for (size_t i = 0; i < GI_ARRAY_LEN(prefix); i++)
    if (strncmp(key, prefix[i], strlen(prefix[i])) == 0)
      return true;
  return false;
}

int
di_mark(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, int32_t by)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_XATTROP);
  uint8_t bytes[4];

  gi_be32_store(bytes, (uint32_t)by);
  h->loc.gfid = *gfid;
  h->args.flags = GI_XATTROP_ADD32;
  h->args.dict = gi_dict_new();
  gi_dict_set_bin(h->args.dict, d->mds_key, bytes, sizeof(bytes));
  return di_do_drop(d, h, child);
}

void
di_heal_xattrs(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned from, uint64_t to, int32_t mark)
{
  static const struct di_xattrs set = {.takes = common};
  struct gi_dict *want;
  bool differed;
  int err = di_xattrs_list(d, fop, gfid, from, &set, &want);

  GI_ASSERT(from < d->n && !(to >> from & 1));
  di_foreach(i, to) if (!err) err = di_xattrs_give(d, fop, gfid, (unsigned)i, &set, want, &differed);
  if (!err && mark)
    err = di_mark(d, fop, gfid, from, (int32_t)(0u - (uint32_t)mark)); /* the smallest number has no other sign */
  gi_dict_unref(&want);
  GI_IGNORE(err); /* the mark stays: the next lookup tries again */
}

void
di_name_mds(struct di *d, struct gi_fop *fop, const struct gi_loc *loc, struct di_inode *i, const struct gi_gfid *gfid)
{
  const struct di_layout *pl = di_layout_known(d, loc->parent);
  int hashed = pl ? di_hashed(d, pl, loc->name) : -1;
  struct gi_fop *h;

  GI_ASSERT(!i->mds);
  if (hashed < 0)
    return;
  h = di_own_fop(fop, GI_FOP_SETXATTR, gfid);
  h->args.flags = XATTR_CREATE;
  h->args.dict = gi_dict_new();
  gi_dict_set_bin(h->args.dict, d->mds_key, "\0\0\0\0", 4);
  if (di_do_drop(d, h, (unsigned)hashed) == 0)
    i->mds = (int8_t)(hashed + 1);
}
