/* SPDX-License-Identifier: Apache-2.0
 *
 * What the marks of a move say (distribute.md 9): two bits among those of the
 * file's mode, the name of the other copy, and the mode that the file has
 * without them.
 */
#include "xlators/cluster/distribute/di.h"

static bool
has_bits(uint32_t mode)
{
  return S_ISREG(mode) && (mode & DI_MOVING) == DI_MOVING;
}

bool
di_is_moving(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  return has_bits(a->mode) && gi_dict_get(xdata, d->linkto_key);
}

/* ---- a move that did not end ---- */

static bool
is_named_file(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  return S_ISREG(a->mode) && !gi_has_linkto_mode(a->mode) && !has_bits(a->mode) && gi_dict_get(xdata, d->linkto_key);
}

bool
di_tells_unfinished(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  return is_named_file(d, a, xdata) && !gi_dict_get(xdata, d->mode_key);
}

bool
di_lost_marks(const struct di *d, const struct gi_fop *reply)
{
  return is_named_file(d, &reply->rsp.stat, reply->rsp.xdata) && gi_dict_get(reply->rsp.xdata, d->mode_key);
}

bool
di_is_unfinished(const struct di *d, const struct gi_fop *reply)
{
  return di_tells_unfinished(d, &reply->rsp.stat, reply->rsp.xdata);
}

bool
di_is_source(const struct di *d, const struct gi_fop *reply)
{
  return di_is_moving(d, &reply->rsp.stat, reply->rsp.xdata) || di_lost_marks(d, reply);
}

/* ---- the owner's bits ---- */

/* Of the two bits those that are not the owner's, of a file or of what has been one. A rebalance of GlusterFS keeps no mode: then it is both. */
static uint32_t
marks_of(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  bool marked = has_bits(a->mode) || gi_has_linkto_mode(a->mode);
  const char *kept;

  if (marked && gi_dict_get_str(xdata, d->mode_key, &kept))
    return DI_MOVING & ~(uint32_t)strtoul(kept, NULL, 8);
  return marked && gi_dict_get(xdata, d->linkto_key) ? DI_MOVING : DI_MOVING & ~a->mode;
}

uint32_t
di_own_mode(const struct di *d, const struct gi_iatt *a, const struct gi_dict *xdata)
{
  GI_ASSERT(!S_ISDIR(a->mode));
  return has_bits(a->mode) ? a->mode & ~marks_of(d, a, xdata) : a->mode;
}

void
di_know_marks(struct di *d, const struct gi_fop *reply)
{
  const struct gi_iatt *a = &reply->rsp.stat;
  struct gi_inode *inode;

  GI_ASSERT(reply->kind == GI_FOP_LOOKUP);
  if (gi_gfid_is_none(&a->gfid))
    return;
  inode = gi_inode_get(d->x->graph, &a->gfid);
  di_inode_of(d, inode)->marks = marks_of(d, a, reply->rsp.xdata);
  gi_inode_unref(&inode);
}

void
di_hide_marks(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(d->x->graph, gfid);
  uint32_t marks = di_inode_of(d, inode)->marks;
  struct gi_attr a;

  GI_ASSERT(!(marks & ~(uint32_t)DI_MOVING));
  for (unsigned at = 0; gi_reply_next_attr(fop, &at, &a);)
    if (gi_gfid_equal(&a.iatt->gfid, gfid) && has_bits(a.iatt->mode))
      a.iatt->mode &= ~marks;
  gi_inode_unref(&inode);
}
