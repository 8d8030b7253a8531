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
common(const char *key)
{
  static const char *const prefix[] = {"user.", "system.posix_acl_", "security."};

  for (size_t i = 0; i < GI_ARRAY_LEN(prefix); i++)
    if (strncmp(key, prefix[i], strlen(prefix[i])) == 0)
      return true;
  return false;
}

/* The common attributes on one subvolume; NULL and *err if it cannot say. The caller's. */
static struct gi_dict *
list_common(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, int *err)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_GETXATTR);
  struct gi_dict *all = NULL;

  h->loc.gfid = *gfid;
  *err = di_do(d, h, child);
  if (!*err) {
    all = gi_dict_new();
    for (uint32_t i = 0; i < gi_dict_count(h->rsp.dict); i++) {
      const struct gi_pair *p = gi_dict_at(h->rsp.dict, i);
      const uint8_t *bytes;
      uint32_t len;

      if (common(p->key) && gi_pair_bytes(p, &bytes, &len))
        gi_dict_set_bin(all, p->key, bytes, len);
    }
  }
  gi_fop_unref(h);
  return all;
}

static int
set_all(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, struct gi_dict *want)
{
  struct gi_fop *h;

  GI_ASSERT(want && child < d->n);
  if (gi_dict_count(want) == 0)
    return 0;
  h = di_own_fop(fop, GI_FOP_SETXATTR, gfid);
  h->args.dict = gi_dict_ref(want);
  return di_do_drop(d, h, child);
}

static int
remove_others(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const struct gi_dict *want)
{
  int err;
  struct gi_dict *has = list_common(d, fop, gfid, child, &err);

  for (uint32_t i = 0; !err && i < gi_dict_count(has); i++) {
    const char *key = gi_dict_at(has, i)->key;
    struct gi_fop *h;

    if (gi_dict_get(want, key))
      continue;
    h = di_helper(fop, GI_FOP_REMOVEXATTR);
    h->loc.gfid = *gfid;
    h->args.name = gi_fop_strdup(h, key, strlen(key));
    err = di_do_drop(d, h, child);
    err = err == ENODATA ? 0 : err;
  }
  gi_dict_unref(&has);
  return err;
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
  int err;
  struct gi_dict *want = list_common(d, fop, gfid, from, &err);

  GI_ASSERT(from < d->n && !(to >> from & 1));
  di_foreach(i, to)
  {
    if (!err)
      err = set_all(d, fop, gfid, (unsigned)i, want);
    if (!err)
      err = remove_others(d, fop, gfid, (unsigned)i, want);
  }
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
