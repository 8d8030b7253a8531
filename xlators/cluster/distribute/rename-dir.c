/* SPDX-License-Identifier: Apache-2.0
 *
 * RENAME of a directory, which is on all subvolumes: all must be up. It begins
 * where the new name belongs; if another subvolume then refuses, those that
 * have done it are told to rename it back.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"

#include <errno.h>

static void
rename_back(struct di *d, struct gi_fop *fop, uint64_t mask)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_RENAME);
  struct di_ask ask;

  GI_ASSERT(mask && !(mask & ~di_all(d)));
  gi_loc_copy_name(&h->loc, &fop->loc2);
  gi_loc_copy(&h->loc2, &fop->loc);
  di_ask_copy(d, &ask, h, mask);
  if (ask.fan.failed)
    gi_log(GI_LOG_ERROR, d->x->name, GI_MSG_DISTRIBUTE + 5,
           "%s: a rename that failed could not be undone on all subvolumes: the directory has two names", fop->loc.name);
  di_ask_end(&ask);
  gi_fop_unref(h);
}

static int
rename_all(struct di *d, struct gi_fop *fop, unsigned first)
{
  GI_ASSERT(d->n > 1 && first < d->n);

  struct di_ask ask;
  int err = di_pass(d, fop, first);

  if (err)
    return err;
  di_ask_copy(d, &ask, fop, di_all(d) & ~(1ull << first));
  err = di_ask_refusal(&ask); /* where it is missing a lookup makes it, under the new name */
  if (err)
    rename_back(d, fop, ask.fan.ok | 1ull << first);
  di_ask_end(&ask);
  return err;
}

enum gi_verdict
di_rename_dir(struct di *d, struct gi_fop *fop, const struct gi_iatt *src, const struct gi_iatt *dst, unsigned src_hashed,
              unsigned dst_hashed)
{
  struct di_locks locks = {0};
  struct gi_inode *inode;
  int err = 0;

  if (d->up != di_all(d))
    return gi_fop_fail(fop, ENOTCONN);
  if (dst && !S_ISDIR(dst->mode))
    return gi_fop_fail(fop, ENOTDIR);
  if (dst && gi_gfid_equal(&dst->gfid, &src->gfid)) {
    fop->rsp.stat = *src;
    return gi_fop_ok(fop, 0);
  }
  err = di_lock_names(d, fop, &locks, src_hashed, dst_hashed);
  if (!err && dst)
    err = di_dir_empty(d, fop, dst);
  if (!err)
    err = rename_all(d, fop, dst_hashed);
  di_unlock(d, fop, &locks);
  if (err)
    return gi_fop_fail(fop, err);
  inode = gi_inode_get(d->x->graph, &src->gfid);
  di_keep_name(di_inode_of(d, inode), &fop->loc2);
  gi_inode_unref(&inode);
  di_dir_attr(&fop->rsp.stat);
  di_parent_attrs(d, fop);
  return GI_ANSWERED;
}
