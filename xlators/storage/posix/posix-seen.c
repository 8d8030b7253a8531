/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process knows of the attributes of open files and directories without
 * asking the disk. Whatever changes an object
 * comes by here, so what one operation found at its end is what the next one
 * begins with. Only operations on the reactor look and note. One on a worker asks
 * the disk, and when it ends, what was known before is forgotten. What somebody
 * does to the brick behind our back shows within a second.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

#define KNOWN_FOR GI_NSEC_PER_SEC

static bool
is_young(const struct posix_op *op, uint64_t since)
{
  return since && gi_now_about(op->x->reactor) - since < KNOWN_FOR;
}

static struct posix_fd *
open_file(const struct posix_op *op, int fd)
{
  struct gi_fd *of = op->fop->fd;
  struct posix_fd *pf = of && !of->anonymous ? gi_fd_private(of, op->x) : NULL;

  return pf && pf->open && pf->fd == fd ? pf : NULL;
}

/* Where the attributes of what `at` leads to are kept: with a descriptor that stays open. NULL: there is none. */
static struct posix_seen *
place(struct posix_op *op, int which, struct posix_at at)
{
  struct posix_dir *dir = op->node[which].dir;
  struct posix_fd *pf;
  GI_ASSERT(which >= 0 && which < NODE_COUNT && at.fd >= 0);

  if (op->on_worker || !op->p->cfg.ctime || at.path[0])
    return NULL;
  if (dir)
    return dir->fd == at.fd && (dir->owner || dir == op->p->root_dir) ? &dir->seen : NULL;
  pf = which == NODE_OBJ ? open_file(op, at.fd) : NULL;
  return pf ? &pf->seen : NULL;
}

int
posix_node_attributes(struct posix_op *op, int which, struct posix_at at, struct stat *st)
{
  struct posix_seen *s = place(op, which, at);

  if (s && !op->p->elsewhere && is_young(op, s->since)) {
    GI_PROBE("posix: attributes are known from the last change");
    *st = s->st;
    return 0;
  }
  if (posix_at_stat(op->p, at, st) < 0)
    return errno;
  posix_known_stat(op, &op->node[which].gfid, st, true);
  if (s)
    *s = (struct posix_seen){gi_now_about(op->x->reactor), *st};
  return 0;
}

void
posix_seen_after(struct posix_op *op, int which, struct posix_at at, const struct stat *st)
{
  struct posix_seen *s = place(op, which, at);

  if (!s && which == NODE_OBJ && !op->on_worker && op->p->cfg.ctime && !at.path[0] && at.fd == op->new_fd)
    s = &op->opened;
  if (!s)
    return;
  GI_ASSERT(!op->on_worker && st->st_mode & S_IFMT);
  *s = (struct posix_seen){gi_now_about(op->x->reactor), *st};
  op->node[which].after = s;
}

/* Counters change no attribute that anybody is told of. */
static bool
changes_attributes(enum gi_fop_kind kind)
{
  return gi_fop_table[kind].classes & GI_CLASS_WRITE && kind != GI_FOP_XATTROP && kind != GI_FOP_FXATTROP;
}

/* Attributes by name, also of what was there before: MKNOD may find a file and give it another name. */
static bool
changes_names(enum gi_fop_kind kind)
{
  return kind == GI_FOP_XATTROP || kind == GI_FOP_FXATTROP || kind == GI_FOP_SETXATTR || kind == GI_FOP_FSETXATTR ||
         kind == GI_FOP_REMOVEXATTR || kind == GI_FOP_FREMOVEXATTR || kind == GI_FOP_MKNOD || kind == GI_FOP_PUT;
}

/* All that is known of an object, but what this operation has found at its end. */
static void
forget(struct posix_op *op, const struct posix_node *n)
{
  bool attributes = changes_attributes(op->fop->kind), names = changes_names(op->fop->kind);
  const struct posix_seen *after = op->fop->rsp.ret >= 0 ? n->after : NULL;
  struct gi_inode *inode = gi_inode_find(op->fop->graph, &n->gfid);
  GI_ASSERT(!op->on_worker || (!n->after && !op->known));
  struct posix_dir *dir = gi_gfid_is_root(&n->gfid) ? op->p->root_dir : inode ? posix_inode_of(op->p, inode)->dir : NULL;

  if (attributes && dir && &dir->seen != after)
    dir->seen.since = 0;
  if (inode && !S_ISDIR(inode->mode))
    gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
      struct posix_fd *pf = gi_fd_private(fd, op->x);

      if (attributes && &pf->seen != after)
        pf->seen.since = 0;
    }
  if (inode && names && !GI_BROKEN("know attributes that another request has changed") &&
      &posix_inode_of(op->p, inode)->known != op->known)
    posix_known_forget(&posix_inode_of(op->p, inode)->known);
  gi_inode_unref(&inode);
}

void
posix_seen_finish(struct posix_op *op)
{
  if (op->fop->rsp.ret < 0)
    op->known = NULL;
  for (int i = 0; i < NODE_COUNT; i++)
    if (!gi_gfid_is_none(&op->node[i].gfid))
      forget(op, &op->node[i]);
}

void
posix_seen_moves(struct posix_op *op)
{
  for (int i = 0; i < NODE_COUNT; i++) {
    if (op->node[i].after)
      op->node[i].after->since = 0;
    op->node[i].after = NULL;
  }
  if (op->known)
    posix_known_forget(op->known);
  op->known = NULL;
  gi_inode_unref(&op->known_of);
  GI_ASSERT(!op->opened.since);
}

void
posix_seen_opened(struct posix_op *op, struct posix_fd *pf)
{
  GI_ASSERT(pf->open);
  if (op->on_worker || op->fop->rsp.ret < 0)
    return;
  pf->seen = op->opened;
}
