/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of what was answered early.
 *
 * Data that was lost concerns everybody who has the file open at that time, as
 * with the page cache of Linux: each descriptor is told once, with its next FSYNC.
 * One that is told does not take it from another. A descriptor that is opened
 * later has lost nothing. So the error is noted at each of those that are open,
 * and the first that was not told yet stays. Until each is told or gone the
 * translator stays on the path, also if it is to leave it.
 *
 * Each FLUSH before that fails, too: it comes with every close(2), also that of a
 * process which was forked and looks at no error. So does one WRITE, that nobody goes
 * on without knowing. The kernel makes several of one write(2), and if a later one
 * fails it returns how much the first ones took and drops the error.
 */
#include "write-behind.h"

#include "libglusterish/log.h"
#include "libglusterish/probe.h"

void
wb_error_spread(struct wb *wb, struct gi_inode *inode, int err)
{
  char gfid[GI_UUID_TEXT];
  unsigned n = 0;

  GI_ASSERT(err > 0);
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    struct wb_fd *f = gi_fd_private(fd, wb->x);

    if (!f->err && !GI_BROKEN("swallow the error of what was answered early")) {
      f->err = err;
      wb->untold++;
    }
    f->warned = f->told = false;
    n++;
  }
  GI_ASSERT(n > 0); /* the write itself holds one */
  wb->m.failed++;
  gi_log(GI_LOG_WARNING, wb->x->name, wb->x->cls->messages, "a write to %s failed after it was answered: %s",
         gi_gfid_text(&inode->gfid, gfid), strerror(err));
}

static void
forget(struct wb *wb, struct wb_fd *f)
{
  GI_ASSERT(f->err && wb->untold > 0);
  f->err = 0;
  f->warned = f->told = false;
  if (--wb->untold == 0 && wb->drained)
    gi_defer_add(wb->x->reactor, &wb->kick); /* it may leave, but not from under the operation that is told */
}

/* NULL: it has lost nothing that it does not know. */
static struct wb_fd *
loser(struct wb *wb, struct gi_fd *fd)
{
  struct wb_fd *f = fd ? gi_fd_private(fd, wb->x) : NULL;

  GI_ASSERT(!f || f->err >= 0);
  return f && f->err ? f : NULL;
}

int
wb_error_of_flush(struct wb *wb, struct gi_fd *fd)
{
  struct wb_fd *f = loser(wb, fd);

  if (!f)
    return 0;
  wb->m.told += !f->told;
  f->told = true;
  return f->err;
}

int
wb_error_of_fsync(struct wb *wb, struct gi_fd *fd)
{
  struct wb_fd *f = loser(wb, fd);
  int err = wb_error_of_flush(wb, fd);

  if (f)
    forget(wb, f);
  return err;
}

int
wb_error_of_write(struct wb *wb, struct gi_fd *fd)
{
  struct wb_fd *f = loser(wb, fd);

  if (!f || f->warned)
    return 0;
  f->warned = true;
  return f->err;
}

void
wb_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct wb_fd *f = bytes;

  if (f->err)
    forget(wb_of(x), f);
}
