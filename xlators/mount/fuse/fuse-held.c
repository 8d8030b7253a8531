/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of a file that was just made.
 *
 * Who unpacks or copies a file makes it, writes it, and sets its times, its owner and its mode, one after the other, before he closes it. Its
 * times are like its bytes: an early answer promises that they are on the bricks when fsync or close returns, and soon otherwise. So where the
 * bytes were answered early (not without performance.write-behind, nor with O_SYNC) they are held here, and go along with the next change of
 * attributes, or by themselves. An owner that it has already moves its ctime and no more, and is held with them. A mode is not: it says who may
 * read, so others must know when the call returns.
 *
 * A held change is under way, as one that bricks were asked for. Whatever else names its file, or may find it, is asked for after it was made.
 * If it cannot be made each descriptor of the file is told, by its next fsync and by every close until then.
 */
#include "fuse-internal.h"

#include <string.h>
#include <sys/stat.h>

#define HELD_NS (10 * GI_NSEC_PER_MSEC)
#define TIMES (GI_SET_ATIME | GI_SET_MTIME | GI_SET_ATIME_NOW | GI_SET_MTIME_NOW)
#define OWNER (GI_SET_UID | GI_SET_GID)

struct held {
  struct gi_list link; /* bridge.held: first those that are not sent */
  struct gi_fd *fd;    /* referenced */
  struct gi_caller caller;
  uint32_t valid;
  struct gi_time atime, mtime;
  uint64_t began; /* op.began */
  bool sent;
};

static struct held *
held_of(const struct bridge *b, const struct gi_inode *inode)
{
  return node_of(b, inode)->held;
}

/* Somebody else ends its change. */
static void
forget(struct bridge *b, struct held *h)
{
  GI_ASSERT(held_of(b, h->fd->inode) == h && b->x->ctx->unwritten > 0);
  node_of(b, h->fd->inode)->held = NULL;
  b->x->ctx->unwritten--;
  gi_list_del(&h->link);
  gi_fd_unref(&h->fd);
  gi_free(h);
}

/* ---- to the bricks ---- */

static void
lost(struct bridge *b, const struct gi_fop *fop)
{
  char gfid[GI_UUID_TEXT];

  gi_list_foreach(fd, &fop->fd->inode->fds, struct gi_fd, inode_link)
    if (handle_of(b, fd)->id)
      handle_of(b, fd)->lost = fop->rsp.err ? fop->rsp.err : EIO;
  gi_log(GI_LOG_WARNING, b->x->name, GI_MSG_FUSE + 51, "the times of %s could not be set after that was answered: %s",
         gi_gfid_text(&fop->fd->inode->gfid, gfid), strerror(fop->rsp.err));
}

/* Those that have waited are looked at anew: they may wait for another. */
static void
release_waiting(struct bridge *b)
{
  struct gi_list waiting;

  gi_list_init(&waiting);
  gi_list_splice_tail(&waiting, &b->held_up);
  while (!gi_list_empty(&waiting)) {
    struct gi_fop *fop = gi_list_first(&waiting, struct gi_fop, link);

    gi_list_del(&fop->link);
    op_submit(b, fop, op_of(b, fop)->held_up);
  }
}

static void
sent(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  struct bridge *b = bridge_of(x);

  if (fop->rsp.ret < 0)
    lost(b, fop);
  forget(b, held_of(b, fop->fd->inode));
  op_end(b, fop);
  release_waiting(b);
}

static void
send(struct bridge *b, struct held *h)
{
  struct gi_fop *fop;

  if (h->sent)
    return;
  h->sent = true;
  gi_list_del(&h->link);
  gi_list_add_tail(&b->held, &h->link);
  fop = gi_fop_new(b->x->graph, GI_FOP_FSETATTR);
  gi_fop_set_fd(fop, h->fd);
  fop->caller = h->caller;
  fop->args.valid = h->valid;
  fop->args.iatt.atime = h->atime;
  fop->args.iatt.mtime = h->mtime;
  op_of(b, fop)->changes = h->fd->inode;
  op_of(b, fop)->began = h->began;
  op_send(b, fop, sent);
}

static void
send_all(struct bridge *b)
{
  while (!gi_list_empty(&b->held)) {
    struct held *h = gi_list_first(&b->held, struct held, link);

    if (h->sent)
      return;
    send(b, h);
  }
}

/* ---- who waits for it ---- */

/* These neither show times nor move them, or make something else. */
#define BLIND \
  (GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_SYMLINK) | GI_KIND(GI_FOP_RMDIR) | \
   GI_KIND(GI_FOP_OPENDIR) | GI_KIND(GI_FOP_READLINK) | GI_KIND(GI_FOP_STATFS) | GI_KIND(GI_FOP_ACCESS) | \
   GI_KIND(GI_FOP_GETXATTR))
/* They may find any file, or show what was done to any. */
#define ANY (GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_READDIRP) | GI_KIND(GI_FOP_LK) | GI_KIND(GI_FOP_RENAME))

static void
wait_for_it(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x))
{
  op_of(b, fop)->held_up = done;
  gi_list_add_tail(&b->held_up, &fop->link);
}

static bool
delays(struct bridge *b, struct gi_fop *fop, void (*done)(struct gi_fop *fop, void *x))
{
  struct gi_inode *inode;
  bool of_any;

  if (gi_list_empty(&b->held) || (BLIND & GI_KIND(fop->kind)))
    return false;
  inode = gi_fop_inode(fop);
  of_any = !inode || S_ISDIR(inode->mode) || fop->fd2 || (ANY & GI_KIND(fop->kind));
  if (!of_any && !held_of(b, inode))
    return false;
  wait_for_it(b, fop, done);
  if (of_any)
    send_all(b);
  else
    send(b, held_of(b, inode));
  return true;
}

/* ---- holding ---- */

/* A change of the owner that changes none: it takes no privilege away either. */
static bool
keeps_owner(const struct node *n, const struct gi_args *args)
{
  const struct gi_iatt *known = &n->trust.attr;

  return (!(args->valid & GI_SET_UID) || args->iatt.uid == known->uid) &&
         (!(args->valid & GI_SET_GID) || args->iatt.gid == known->gid) && !(known->mode & (S_ISUID | S_ISGID)) &&
         n->no_capability;
}

static bool
may_be_held(const struct bridge *b, const struct gi_fop *fop, const struct node *n)
{
  const struct gi_iatt *known = &n->trust.attr;
  uint32_t valid = (uint32_t)fop->args.valid;

  return n->fresh && n->fresh_written && !n->held && !n->locked && !n->others && b->state == BRIDGE_SERVING &&
         fop->kind == GI_FOP_FSETATTR && gi_iatt_valid(known) && S_ISREG(known->mode) && fop->caller.uid == known->uid &&
         (valid & (GI_SET_ATIME | GI_SET_MTIME)) && !(valid & ~(TIMES | OWNER)) &&
         (!(valid & OWNER) || keeps_owner(n, &fop->args)) &&
         n->trust.inflight == n->trust.deferred + 1; /* or it is not known what the file is like */
}

static void
answer(struct bridge *b, struct gi_fop *fop, const struct node *n)
{
  struct gi_iatt a = n->trust.attr;
  struct stat st;

  if (n->trust.deferred && a.size < n->early_end)
    a.size = n->early_end;
  if (fop->args.valid & GI_SET_ATIME)
    a.atime = fop->args.iatt.atime;
  if (fop->args.valid & GI_SET_MTIME)
    a.mtime = fop->args.iatt.mtime;
  a.ctime = fop->caller.time;
  node_stat(b, &a, &st);
  reply_result(b, fuse_reply_attr(op_of(b, fop)->req, &st, 0)); /* who looks at them asks */
}

bool
held_keep(struct bridge *b, struct gi_fop *fop)
{
  struct node *n = node_of(b, fop->loc.inode);
  struct held *h;

  if (!may_be_held(b, fop, n))
    return false;
  h = n->held = gi_new(struct held);
  h->fd = gi_fd_ref(fop->fd);
  h->caller = fop->caller;
  h->caller.ngroups = 0; /* an owner needs none */
  h->caller.groups = NULL;
  h->valid = (uint32_t)fop->args.valid & ~OWNER;
  h->atime = fop->args.iatt.atime;
  h->mtime = fop->args.iatt.mtime;
  h->began = op_of(b, fop)->began;
  op_of(b, fop)->changes = NULL;
  gi_list_add_head(&b->held, &h->link);
  b->x->ctx->unwritten++;
  b->m.early_setattr++;
  if (!b->held_timer.armed)
    gi_timer_set(&b->held_timer, HELD_NS);
  answer(b, fop, n);
  op_end(b, fop);
  return true;
}

bool
held_join(struct bridge *b, struct gi_fop *fop)
{
  struct gi_inode *inode = fop->loc.inode;
  struct held *h = held_of(b, inode);
  struct gi_args *args = &fop->args;

  GI_ASSERT(!op_of(b, fop)->changes);
  if (!h || h->sent || fop->kind != GI_FOP_FSETATTR || fop->caller.uid != h->caller.uid ||
      ((args->valid & OWNER) && fop->caller.uid != 0 && !keeps_owner(node_of(b, inode), args)))
    return false;
  if (!(args->valid & GI_SET_ATIME)) {
    args->valid |= h->valid & (GI_SET_ATIME | GI_SET_ATIME_NOW);
    args->iatt.atime = h->atime;
  }
  if (!(args->valid & GI_SET_MTIME)) {
    args->valid |= h->valid & (GI_SET_MTIME | GI_SET_MTIME_NOW);
    args->iatt.mtime = h->mtime;
  }
  op_of(b, fop)->changes = inode;
  op_of(b, fop)->began = h->began;
  upcall_changing(b, inode);
  forget(b, h);
  return true;
}

/* ---- life ---- */

static void
held_long_enough(void *arg)
{
  send_all(arg);
}

void
held_start(struct bridge *b)
{
  gi_list_init(&b->held);
  gi_list_init(&b->held_up);
  b->delays = delays;
  gi_timer_init(&b->held_timer, b->x->reactor, held_long_enough, b);
}

void
held_stop(struct bridge *b)
{
  gi_timer_cancel(&b->held_timer);
  send_all(b);
  while (!gi_list_empty(&b->held_up)) {
    struct gi_fop *fop = gi_list_first(&b->held_up, struct gi_fop, link);

    gi_list_del(&fop->link);
    op_send(b, fop, op_of(b, fop)->held_up);
  }
}
