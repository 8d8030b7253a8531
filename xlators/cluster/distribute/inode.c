/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on an object that exists. A file's go to the subvolume that has
 * it and come back without a stop here; what a directory's do is in dirop.c.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

static enum gi_verdict
located(struct di *d, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  int err = di_locate(d, fop, inode);
  struct di_inode *i = di_inode_of(d, inode);

  if (err)
    return gi_fop_fail(fop, err);
  if (!i->cached)
    return di_dir_op(d, fop);
  gi_fop_forward_to(fop, d->x, i->cached);
  return GI_HELD;
}

enum gi_verdict
di_on_inode(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);
  struct gi_inode *inode = gi_fop_inode(fop);
  struct di_inode *i;

  if (!inode)
    return gi_fop_fail(fop, ESTALE);
  i = di_inode_of(d, inode);
  if (__builtin_expect(i->cached != NULL, 1)) {
    gi_fop_forward_to(fop, x, i->cached);
    return GI_HELD;
  }
  return di_run(d, fop, i->layout && i->layout->generation == d->generation ? di_dir_op : located);
}

/* Of no object in particular: any subvolume that can serve answers. */
enum gi_verdict
di_everywhere(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);

  if (!d->up)
    return gi_fop_fail(fop, ENOTCONN);
  gi_fop_forward_to(fop, x, x->children[__builtin_ctzll(d->up)]);
  return GI_HELD;
}
