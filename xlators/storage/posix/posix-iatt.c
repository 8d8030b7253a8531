/* SPDX-License-Identifier: Apache-2.0
 *
 * Attribute blocks (brick.md 5.1): inode number from the gfid, one link less
 * than on disk for everything but directories, times from the mdata xattr.
 */
#include "xlators/storage/posix/posix.h"

void
posix_iatt(const struct stat *st, const struct gi_gfid *gfid, struct gi_iatt *out)
{
  uint64_t whole = ((uint64_t)st->st_size + 511) / 512;

  gi_iatt_from_stat(out, st, gfid);
  if (!S_ISDIR(st->st_mode) && out->nlink > 0)
    out->nlink--;
  if (out->blocks > whole) /* preallocation and extra blocks differ between replicas */
    out->blocks = whole;
  out->flags = GI_IATT_BASIC;
}

void
posix_node_known(struct posix_op *op, int which, struct posix_at at)
{
  struct posix_node *n = &op->node[which];

  if (!op->p->cfg.ctime || n->md_state != MD_UNKNOWN)
    return;
  n->md_state = posix_md_read(op->p, at, &n->times);
  n->md_loaded = n->md_state != MD_UNKNOWN;
}

int
posix_node_stat(struct posix_op *op, int which, struct posix_at at, struct gi_iatt *out)
{
  struct stat st;

  if (posix_at_stat(op->p, at, &st) < 0)
    return errno;
  posix_node_known(op, which, at);
  posix_seen_after(op, which, at, &st);
  posix_known_stat(op, &op->node[which].gfid, &st, out == &op->fop->rsp.pre);
  op->node[which].file = !S_ISDIR(st.st_mode);
  posix_iatt(&st, &op->node[which].gfid, out);
  return 0;
}
