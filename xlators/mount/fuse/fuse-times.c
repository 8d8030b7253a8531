/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of files with kernel write-back, which the kernel owns: it pushes them
 * before every fsync and close.
 *
 * The brick has set nearly the same ones when the data came, so nobody waits for
 * these: they are remembered. An fsync (not one of the data alone) or a close
 * sends them, if it can with the write that it waits for: then that has the
 * kernel's time instead of ours, and its reply shows whether the bricks took it.
 * Else by a SETATTR, which an fsync follows.
 */
#include "fuse-internal.h"

#define PUSHED (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME)

bool
times_keep(struct bridge *b, struct gi_inode *inode, const struct stat *attr, int to_set)
{
  struct node *n = node_of(b, inode);

  if (!bridge_options(b)->kernel_writeback_cache || to_set != PUSHED || !n->trust.known || !S_ISREG(n->trust.attr.mode) ||
      !handle_any(b, inode, true))
    return false;
  n->lazy_mtime = n->trust.attr.mtime = time_of(&attr->st_mtim);
  n->lazy_ctime = n->trust.attr.ctime = time_of(&attr->st_ctim);
  n->lazy_times = true;
  b->m.local_setattr++;
  return true;
}

bool
times_came_too_late(const struct bridge *b, const struct gi_fop *fop)
{
  return bridge_options(b)->kernel_writeback_cache && fop->rsp.ret < 0 && err_of_node(fop) == ESTALE &&
         fop->args.valid == (GI_SET_MTIME | GI_SET_CTIME);
}

/* ---- by a SETATTR ---- */

static void
fill(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode, struct gi_fd *fd)
{
  struct node *n = node_of(b, inode);

  GI_ASSERT(n->lazy_times && bridge_options(b)->kernel_writeback_cache && (!fd || fd->inode == inode));
  n->lazy_times = false;
  if (fd)
    gi_fop_set_fd(fop, fd);
  else
    gi_loc_set_inode(&fop->loc, inode);
  fop->caller.time = gi_wall(b->x->reactor);
  fop->args.valid = GI_SET_MTIME | GI_SET_CTIME;
  fop->args.iatt.mtime = n->lazy_mtime;
  fop->args.iatt.ctime = n->lazy_ctime;
  op_changes(b, fop, inode);
}

static void
sent(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;

  op_end(x->private, fop);
}

void
times_send(struct bridge *b, struct gi_inode *inode, struct gi_fd *fd)
{
  struct gi_fop *fop;

  if (!node_of(b, inode)->lazy_times)
    return;
  fop = gi_fop_new(b->x->graph, fd ? GI_FOP_FSETATTR : GI_FOP_SETATTR);
  fill(b, fop, inode, fd);
  op_submit(b, fop, sent);
}

static void
sent_first(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);
  struct gi_fop *main = fop->parent;
  void (*done)(struct gi_fop *, void *) = op_of(b, fop)->next_done;

  GI_ASSERT(main && !main->answered && done);
  op_end(b, fop);
  op_submit(b, main, done);
}

void
times_send_first(struct bridge *b, struct gi_fop *main, void (*done)(struct gi_fop *fop, void *x))
{
  struct gi_fop *fop;

  if (!node_of(b, main->fd->inode)->lazy_times) {
    op_submit(b, main, done);
    return;
  }
  fop = gi_fop_helper(main, GI_FOP_FSETATTR);
  op_set_root(fop);
  fill(b, fop, main->fd->inode, main->fd);
  op_of(b, fop)->next_done = done;
  op_submit(b, fop, sent_first);
}

void
times_order(struct bridge *b, struct gi_inode *inode, struct gi_fd *fd, int to_set)
{
  if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
    node_of(b, inode)->lazy_times = false;
  else
    times_send(b, inode, fd);
}

/* ---- with a write ---- */

/* A write has one time. */
bool
times_go_along(struct bridge *b, struct gi_fop *fop)
{
  const struct node *n = node_of(b, fop->fd->inode);

  if (!n->lazy_times || !n->trust.deferred || !gi_time_equal(&n->lazy_mtime, &n->lazy_ctime))
    return false;
  fop->args.valid = GI_SET_MTIME | GI_SET_CTIME;
  fop->args.iatt.mtime = n->lazy_mtime;
  fop->args.iatt.ctime = n->lazy_ctime;
  return true;
}
