/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes of one object that are to be the same on two subvolumes.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

static void
take(struct gi_dict *to, const struct gi_pair *p)
{
  const uint8_t *value;
  uint32_t len;

  if (p && gi_pair_bytes(p, &value, &len))
    gi_dict_set_bin(to, p->key, value, len);
}

/* `name`: that one; NULL: all that a listing has of the set. */
static int
list_some(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const struct di_xattrs *set,
          const char *name, struct gi_dict *to)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_GETXATTR);
  int err;

  GI_ASSERT(name || set->takes);
  h->loc.gfid = *gfid;
  h->args.name = name;
  err = di_do(d, h, child);
  if (!err && name)
    take(to, gi_dict_get(h->rsp.dict, name));
  for (uint32_t i = 0; !err && !name && h->rsp.dict && i < gi_dict_count(h->rsp.dict); i++)
    if (set->takes(d, gi_dict_at(h->rsp.dict, i)->key))
      take(to, gi_dict_at(h->rsp.dict, i));
  gi_fop_unref(h);
  return err == ENODATA || err == ENOTSUP ? 0 : err; /* not every object has it, nor can every brick have one */
}

int
di_xattrs_list(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const struct di_xattrs *set,
               struct gi_dict **list)
{
  int err = 0;

  GI_ASSERT(child < d->n && (set->takes || set->named));
  *list = gi_dict_new();
  if (set->takes)
    err = list_some(d, fop, gfid, child, set, NULL, *list);
  for (const char *const *name = set->named; !err && name && *name; name++)
    err = list_some(d, fop, gfid, child, set, *name, *list);
  return err;
}

static bool
same_value(const struct gi_pair *a, const struct gi_pair *b)
{
  const uint8_t *one, *two;
  uint32_t n, m;

  return a && b && gi_pair_bytes(a, &one, &n) && gi_pair_bytes(b, &two, &m) && n == m && memcmp(one, two, n) == 0;
}

/* Those of `want` that `has` lacks, or has otherwise. */
static int
set_what_differs(struct di *d, struct gi_fop *proto, unsigned child, const struct gi_dict *want, const struct gi_dict *has)
{
  for (uint32_t i = 0; i < gi_dict_count(want); i++) {
    const struct gi_pair *p = gi_dict_at(want, i);

    if (!same_value(p, gi_dict_get(has, p->key)))
      take(proto->args.dict, p);
  }
  if (gi_dict_count(proto->args.dict) > 0)
    return di_do_drop(d, proto, child);
  gi_fop_unref(proto);
  return 0;
}

static int
remove_one(struct di *d, struct gi_fop *proto, unsigned child, const char *name)
{
  int err;

  proto->args.name = gi_fop_strdup(proto, name, strlen(name));
  err = di_do_drop(d, proto, child);
  return err == ENODATA ? 0 : err;
}

int
di_xattr_drop(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const char *name)
{
  return remove_one(d, di_own_fop(fop, GI_FOP_REMOVEXATTR, gfid), child, name);
}

/* On behalf of the rebalance, if that is what it is for. */
static struct gi_fop *
change_fop(struct gi_fop *fop, enum gi_fop_kind kind, const struct gi_gfid *gfid, const struct di_xattrs *set)
{
  struct gi_fop *h = di_own_fop(fop, kind, gfid);

  if (set->rebalance)
    h->caller.pid = GI_PID_REBALANCE;
  if (kind == GI_FOP_SETXATTR)
    h->args.dict = gi_dict_new();
  return h;
}

int
di_xattrs_give(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, const struct di_xattrs *set,
               const struct gi_dict *want, bool *differed)
{
  struct gi_dict *has;
  int err = di_xattrs_list(d, fop, gfid, child, set, &has);
  uint32_t common = 0;

  for (uint32_t i = 0; i < gi_dict_count(want); i++)
    common += same_value(gi_dict_at(want, i), gi_dict_get(has, gi_dict_at(want, i)->key));
  *differed = common != gi_dict_count(want) || common != gi_dict_count(has);
  if (!err && *differed)
    err = set_what_differs(d, change_fop(fop, GI_FOP_SETXATTR, gfid, set), child, want, has);
  for (uint32_t i = 0; !err && *differed && i < gi_dict_count(has); i++)
    if (!gi_dict_get(want, gi_dict_at(has, i)->key))
      err = remove_one(d, change_fop(fop, GI_FOP_REMOVEXATTR, gfid, set), child, gi_dict_at(has, i)->key);
  gi_dict_unref(&has);
  return err;
}

int
di_xattrs_agree(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned from, unsigned to,
                const struct di_xattrs *set)
{
  bool differed = true;
  int err = 0;

  GI_ASSERT(from != to);
  for (unsigned i = 0; !err && differed && i < DI_ATTEMPTS; i++) {
    struct gi_dict *want;

    err = di_xattrs_list(d, fop, gfid, from, set, &want);
    if (!err)
      err = di_xattrs_give(d, fop, gfid, to, set, want, &differed);
    gi_dict_unref(&want);
  }
  return err ? err : differed ? EAGAIN : 0;
}

/* ---- at the end of a move ---- */

/* Others may give it that meanwhile. */
static int
bring_mdata(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child)
{
  static const char *const name[] = {"trusted.glusterfs.mdata", NULL};
  static const struct di_xattrs set = {.named = name, .rebalance = true};
  struct gi_dict *all;
  bool differed;
  int err = di_xattrs_list(d, fop, gfid, source, &set, &all);

  /* Not every file has it, nor does every brick tell it. */
  err = !err && gi_dict_count(all) > 0 ? di_xattrs_give(d, fop, gfid, child, &set, all, &differed) : 0;
  gi_dict_unref(&all);
  return err;
}

int
di_last_xattrs(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child)
{
  static const char *const name[] = {DI_ACL_KEY, NULL};
  static const struct di_xattrs set = {.named = name, .rebalance = true};
  int err;

  GI_ASSERT(source != child);
  err = di_xattrs_agree(d, fop, gfid, source, child, &set);
  return err ? err : bring_mdata(d, fop, gfid, source, child);
}

int
di_bring_size(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child)
{
  static const char *const name[] = {DI_SIZE_KEY, NULL};
  static const struct di_xattrs set = {.named = name, .rebalance = true};

  return di_xattrs_agree(d, fop, gfid, source, child, &set);
}
