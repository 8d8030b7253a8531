/* SPDX-License-Identifier: Apache-2.0
 *
 * What a disk has lost: after a failed sync the page cache has what the disk has
 * not, and nobody is told (posix.h).
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

static bool
believes_memory(void)
{
  return GI_BROKEN("take what memory has for what the disk has");
}

bool
posix_lost(const struct posix_op *op)
{
  const struct posix_inode *pi = posix_inode_of(op->p, op->fop->fd->inode);

  return pi->healed != pi->losses && op->fop->caller.pid != GI_PID_HEAL;
}

void
posix_lost_prepare(struct posix_op *op, const struct posix_inode *pi)
{
  op->losses = pi->losses;
  /* A process before this one may have lost what memory still has. */
  op->from_disk = (pi->read_back != pi->losses || (op->fop->kind == GI_FOP_RCHECKSUM && !pi->looked)) && !believes_memory();
}

void
posix_lost_drop(struct posix_op *op)
{
  if (op->from_disk)
    op->dropped = gi_fs_forget(op->p->fs, op->fd) == 0;
  op->from_disk = false;
}

void
posix_lose(struct posix *p, struct posix_inode *pi)
{
  posix_inode_check(pi);
  pi->losses++;
  if (p->ending || !gi_list_empty(&pi->lost))
    return;
  gi_inode_ref(pi->self);
  gi_list_add_tail(&p->lost, &pi->lost);
}

void
posix_lost_let_go(struct posix_inode *pi)
{
  struct gi_inode *inode = pi->self;

  if (gi_list_empty(&pi->lost))
    return;
  posix_inode_check(pi);
  gi_list_del(&pi->lost);
  gi_inode_unref(&inode);
}

void
posix_lost_end(struct posix *p)
{
  p->ending = true;
  while (!gi_list_empty(&p->lost))
    posix_lost_let_go(gi_list_first(&p->lost, struct posix_inode, lost));
}

void
posix_lost_account(const struct posix_op *op, struct posix_inode *pi)
{
  if (op->fop->rsp.ret < 0) {
    if (op->fd >= 0 && !believes_memory()) /* without a file nothing was synced, and nothing is lost */
      posix_lose(op->p, pi);
  } else if (op->fop->caller.pid == GI_PID_HEAL && pi->read_back == op->losses) {
    pi->healed = op->losses;
    if (pi->healed == pi->losses)
      posix_lost_let_go(pi);
  }
}

void
posix_lost_note(struct posix_op *op)
{
  struct gi_inode *inode;

  if (!op->unsynced)
    return;
  inode =
      gi_inode_get(op->fop->graph, &op->node[op->kind->writes_second ? NODE_VICTIM : NODE_OBJ].gfid); /* what was written to */
  posix_lose(op->p, posix_inode_of(op->p, inode));
  gi_inode_unref(&inode);
}
