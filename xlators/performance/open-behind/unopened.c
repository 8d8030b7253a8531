/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done through a descriptor that the bricks need not open for it: they
 * sync a file by its gfid, and of one that was closed unused they hear nothing.
 */
#include "xlators/performance/open-behind/open-behind.h"

#include "libglusterish/mutants.h"
#include "libglusterish/probe.h"

#include <errno.h>

/* Nothing was done through it that a close would have to tell or end. */
static bool
is_unused(const struct gi_xlator *x, const struct gi_fd *fd)
{
  const struct ob_fd *f = ob_fd(x, fd);
  return f->state == OB_DELAYED || (f->state == OB_SENT && gi_list_empty(&f->waiting));
}

/* But a close drops all locks that the process has on the file, and tells what became of everybody's writes. */
enum gi_verdict
ob_flush(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  const struct ob_inode *i = inode ? gi_inode_private(inode, x) : NULL;
  if (fop->fd && i && !i->locked && !i->writes && is_unused(x, fop->fd))
    return gi_fop_ok(fop, 0);
  return ob_need(x, fop->fd, fop);
}

/* Where the file lost its name on its way, its descriptor is open by now or opened for it: what we remove comes after the opens. Any other
 * error is that of the fsync, and told once. */
static void
synced(struct gi_fop *sync, void *arg)
{
  struct gi_fop *fop = arg;
  struct gi_xlator *x = fop->at;
  struct ob *ob = x->private;
  bool gone = sync->rsp.ret < 0 && (sync->rsp.err == ENOENT || sync->rsp.err == ESTALE);
  GI_ASSERT(ob->syncs > 0);
  ob->syncs--;
  if (!gone)
    gi_reply_move(fop, sync);
  gi_fop_unref(sync);
  if (gone)
    gi_fop_resume(fop, x, ob_need(x, fop->fd, fop));
  else
    gi_fop_answer(fop, x);
  ob_look_if_drained(ob);
}

static bool
may_sync_unopened(const struct gi_xlator *x, const struct gi_fop *fop)
{
  if (!fop->fd || !fop->fd->inode || fop->fd->anonymous || fop->fd->directory || ob_fd(x, fop->fd)->state != OB_DELAYED)
    return false;
  const struct ob_inode *i = gi_inode_private(fop->fd->inode, x);
  return !i->writes && !x->draining;
}

/* An fsync is for what others wrote, too: it is sent, but not the open. While the bricks do not have all writes it goes through the
 * descriptor, which is to be told of those that fail. */
enum gi_verdict
ob_fsync(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ob *ob = x->private;
  if (!may_sync_unopened(x, fop))
    return ob_need(x, fop->fd, fop);
  if (GI_BROKEN("sync only what is open"))
    return gi_fop_ok(fop, 0);
  struct gi_fop *sync = gi_fop_helper(fop, GI_FOP_FSYNC);
  struct gi_fd *fd = gi_fd_anonymous(x->graph, fop->fd->inode);
  GI_ASSERT(!fop->args.dict);
  gi_fop_set_fd(sync, fd);
  gi_fd_unref(&fd);
  sync->args = fop->args;
  sync->xdata = gi_dict_ref(fop->xdata);
  ob->syncs++;
  ob->metrics.unopened_syncs++;
  GI_PROBE("open-behind: a file is synced that the bricks need not open for it");
  gi_fop_submit(sync, gi_first_child(x), synced, fop);
  return GI_HELD;
}
