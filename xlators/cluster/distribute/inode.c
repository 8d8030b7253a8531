/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on an object that exists. A file's go to the subvolume that has
 * it; migrate.c looks at the replies. What a directory's do is in dirop.c.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

/* The file of the second descriptor of a COPY_FILE_RANGE must be on the same subvolume: else who asked copies by reading and writing. */
static enum gi_verdict
second_file(struct di *d, struct gi_fop *fop, const struct gi_xlator *child)
{
  struct gi_inode *inode = fop->fd2 ? fop->fd2->inode : gi_loc_inode(fop, &fop->loc2);

  if (fop->kind != GI_FOP_COPY_FILE_RANGE)
    return GI_PASS;
  if (!inode || di_inode_of(d, inode)->cached != child || di_inode_of(d, inode)->target)
    return gi_fop_fail(fop, EXDEV);
  return GI_PASS;
}

static enum gi_verdict
send_file(struct di *d, struct gi_fop *fop, struct gi_xlator *child)
{
  if (__builtin_expect(!di_ready_at(d, fop, child), 0))
    return di_run(d, fop, di_reopen);
  if (second_file(d, fop, child) == GI_ANSWERED)
    return GI_ANSWERED;
  di_fop_of(fop, d)->to = child;
  gi_fop_forward_tell_to(fop, d->x, child);
  return GI_HELD;
}

static enum gi_verdict
located(struct di *d, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  int err = di_locate(d, fop, inode);
  struct di_inode *i = di_inode_of(d, inode);

  if (err)
    return gi_fop_fail(fop, err);
  return i->cached ? send_file(d, fop, i->cached) : di_dir_op(d, fop);
}

static void
forget_left(const struct di *d, struct di_inode *i)
{
  if (di_index(d, i->target) < 0)
    i->target = NULL;
  if (di_index(d, i->cached) < 0)
    i->cached = i->target = NULL;
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
  if (__builtin_expect(d->shrunk, 0)) /* subvolumes have left */
    forget_left(d, i);
  if (__builtin_expect(i->cached != NULL, 1))
    return send_file(d, fop, i->cached);
  return di_run(d, fop, i->layout && i->layout->generation == d->generation ? di_dir_op : located);
}

int
di_file_sync(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_FSYNC, gfid);
  struct gi_inode *inode = gi_inode_get(h->graph, gfid);
  struct gi_fd *fd = gi_fd_anonymous(h->graph, inode);

  gi_fop_set_fd(h, fd);
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  return di_do_drop(d, h, child);
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

/* An object without a name belongs nowhere. */
enum gi_verdict
di_refuse(struct gi_xlator *x, struct gi_fop *fop)
{
  GI_ASSERT(di_of(x)->spread);
  return gi_fop_fail(fop, EOPNOTSUPP);
}
