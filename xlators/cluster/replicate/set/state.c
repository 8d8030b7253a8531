/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept per inode, per descriptor and per operation, and how it follows
 * when the set gets other children.
 */
#include "xlators/cluster/replicate/set/set.h"

struct rep_inode *
rep_inode(const struct rep *rep, struct gi_inode *inode)
{
  struct rep_inode *ri = gi_inode_private(inode, rep->x);

  if (!ri->frozen[0].next)
    for (int i = 0; i < 2; i++)
      gi_list_init(&ri->frozen[i]);
  if (ri->epoch != rep->epoch)
    rep_inode_translate(rep, ri);
  return ri;
}

struct gi_inode *
rep_fop_inode(struct gi_fop *fop)
{
  struct gi_fd *fd = rep_fop_fd(fop);

  return fd && fd->inode ? fd->inode : gi_fop_inode(fop);
}

void
rep_answer(struct rep *rep, struct gi_fop *fop, int ret, int err)
{
  GI_ASSERT(ret >= 0 ? err == 0 : err > 0);
  fop->rsp.ret = ret;
  fop->rsp.err = err;
  gi_fop_answer(fop, rep->x);
}

bool
rep_private_name(const struct rep *rep, int32_t pid, const struct gi_gfid *parent, const char *name)
{
  static const char prefix[] = ".glusterfs-anonymous-inode";
  const char *id = rep_opts(rep)->volume_id;

  if (!name || name[0] != '.' || !gi_gfid_is_root(parent))
    return false;
  if (strcmp(name, ".landfill") == 0)
    return true;
  if (pid == GI_PID_GEOREP || strncmp(name, prefix, sizeof(prefix) - 1) != 0)
    return false;
  name += sizeof(prefix) - 1;
  return pid != GI_PID_HEAL || (id && name[0] == '-' && strcmp(name + 1, id) == 0);
}

uint32_t
rep_fd_opened(const struct rep *rep, const struct gi_fd *fd, uint32_t mask)
{
  return fd && !fd->anonymous ? rep_fd(rep, fd)->opened & mask : mask;
}

/* ---- what descriptors say because of their POSIX locks (ops/held.c) ---- */

static int
said_by(const struct rep *rep, const struct gi_fd *fd)
{
  const struct rep_fd *rf = fd && !fd->anonymous ? rep_fd(rep, fd) : NULL;

  return !rf || !rf->doubt ? 0 : rf->dead ? EBADFD : ENOTCONN;
}

int
rep_fd_errno_asked(const struct rep *rep, const struct gi_fop *fop)
{
  bool ends =
      fop->kind == GI_FOP_FLUSH || (fop->kind == GI_FOP_LK && fop->args.type == GI_LK_UNLOCK && fop->args.cmd != GI_LKCMD_GET);
  int err = ends ? 0 : said_by(rep, fop->fd);

  return err || ends ? err : said_by(rep, fop->fd2);
}

/* ---- translation ---- */

uint32_t
rep_translate(uint32_t mask, const int8_t map[REP_MAX])
{
  uint32_t out = 0;

  rep_foreach(i, mask) if (map[i] >= 0) out |= 1u << map[i];
  return out;
}

void
rep_fd_translate(const struct rep *rep, struct rep_fd *rf)
{
  GI_ASSERT(rf->epoch <= rep->epoch);
  for (; rf->epoch < rep->epoch; rf->epoch++) {
    const int8_t *map = rep->maps[rf->epoch];

    rf->opened = rep_translate(rf->opened, map);
    rf->refused = rep_translate(rf->refused, map);
    rf->away = (uint16_t)rep_translate(rf->away, map);
    rf->lost = (uint16_t)rep_translate(rf->lost, map);
    rf->safe = (uint16_t)rep_translate(rf->safe, map);
    if (rf->reader > 0)
      rf->reader = map[rf->reader - 1] >= 0 ? (int8_t)(map[rf->reader - 1] + 1) : REP_READER_GONE;
  }
  rep_fd_check(rep, rf);
}

/* What was learnt by asking the children is asked again; what only we know moves with them. */
void
rep_inode_translate(const struct rep *rep, struct rep_inode *ri)
{
  GI_ASSERT(ri->epoch <= rep->epoch && !ri->session[REP_DATA] && !ri->session[REP_META] && !ri->refresh);
  for (; ri->epoch < rep->epoch; ri->epoch++)
    if (ri->unsynced != REP_UNSYNCED_ALL)
      ri->unsynced = (uint16_t)rep_translate(ri->unsynced, rep->maps[ri->epoch]);
  ri->data_readable = ri->meta_readable = ri->outdated = ri->data_accused = 0;
  ri->choice = 0;
  ri->generation = 0;
  rep_inode_check(rep, ri);
}
