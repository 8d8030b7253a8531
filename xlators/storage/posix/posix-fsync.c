/* SPDX-License-Identifier: Apache-2.0
 *
 * FSYNC and FSYNCDIR. Of several fsyncs on one inode one call serves all that
 * arrived before it began: while one runs, later ones wait and then share the
 * next. Requests with batch-fsync are gathered over the whole brick and
 * synced together as batch-fsync-mode says (brick.md 5.8).
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/probe.h"

int
posix_prepare_fsync(struct posix_op *op)
{
  struct gi_inode *inode;
  int err = posix_prepare_fd(op);

  if (!err && posix_lost(op))
    err = EIO;
  if (err)
    return err;
  if (op->fop->args.datasync)
    return 0; /* times are no part of that promise, and writing them would cost a journal commit */
  inode = gi_inode_ref(op->fop->fd->inode);
  if (op->fop->caller.pid == GI_PID_HEAL)
    posix_md_flush(op->p, posix_inode_of(op->p, inode), op->fd);
  else
    posix_md_flush_for_sync(op->p, posix_inode_of(op->p, inode), op->fd);
  gi_inode_unref(&inode);
  return 0;
}

static enum posix_run
sync_reply(struct posix_op *op)
{
  GI_ASSERT(op->fd >= 0);
  int err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &op->fop->rsp.post);

  return err ? posix_err(op, err) : posix_ok(op, 0);
}

enum posix_run
posix_run_fsync(struct posix_op *op)
{
  int err = posix_obj_open(op, O_RDONLY);

  if (!err)
    err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &op->fop->rsp.pre);
  if (err)
    return posix_err(op, err);
  if (!GI_BROKEN("say that it is on the disk") && gi_fs_fsync(op->p->fs, op->fd, op->datasync) < 0)
    return posix_err(op, errno);
  return sync_reply(op);
}

enum posix_run
posix_run_fsyncdir(struct posix_op *op)
{
  int err = posix_obj_open(op, O_RDONLY);

  if (!err && gi_fs_fsync(op->p->fs, op->fd, op->fop->args.datasync) < 0)
    err = errno;
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

/* ---- attributes and names that are to be on the disk ---- */

/* Also as clients of GlusterFS ask for it. */
bool
posix_is_durable(const struct posix_op *op)
{
  const struct gi_fop *fop = op->fop;

  return gi_dict_get(fop->xdata, GI_DURABLE_KEY) ||
         (fop->kind == GI_FOP_FSETXATTR && gi_dict_get(fop->xdata, "trusted.glusterfs.durable-op"));
}

bool
posix_waits_for_disk(const struct posix_op *op)
{
  return posix_is_durable(op) && !op->on_worker && op->p->cfg.engine != ENGINE_INLINE;
}

/* What is neither a file nor a directory cannot be synced by itself. A failed sync loses pages of files; what it has not brought to the disk of a
 * directory is in the journal yet, and the next one does, or fails. */
int
posix_sync_object(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  int fd = at.fd, err;

  if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
    return 0;
  if (at.path[0])
    fd = gi_fs_openat(op->p->fs, at.fd, at.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0)
    return errno;
  err = gi_fs_fsync(op->p->fs, fd, false) < 0 ? errno : 0;
  if (at.path[0])
    gi_fs_close(op->p->fs, fd);
  op->unsynced = err != 0 && S_ISREG(st->st_mode);
  return err;
}

/* ---- counters before data ---- */

bool
posix_settling(struct posix_op *op, struct posix_inode *pi)
{
  op->counted = pi->counted;
  return pi->settled != pi->counted + 1 && !GI_BROKEN("bring data to the disk before its counters");
}

void
posix_settled(const struct posix_op *op, struct posix_inode *pi)
{
  GI_ASSERT((int32_t)(pi->counted - op->counted) >= 0); /* it began before what is counted now */
  if (pi->settled == 0 || (int32_t)(op->counted + 1 - pi->settled) > 0)
    pi->settled = op->counted + 1;
}

/* ---- sharing on one inode ---- */

static void
count_sync(struct posix_op *op, int by)
{
  GI_ASSERT(by == 1 || by == -1);
  if (op->fop->caller.pid != GI_PID_HEAL)
    atomic_fetch_add_explicit(&op->p->syncs, by, memory_order_relaxed);
}

static bool
batched(struct posix_op *op)
{
  return op->p->cfg.batch_mode != BATCH_NONE && gi_dict_get(op->fop->xdata, "batch-fsync");
}

bool
posix_fsync_join(struct posix_op *op)
{
  struct posix *p = op->p;
  struct posix_inode *pi = posix_inode_of(p, op->fop->fd->inode);

  GI_ASSERT(pi->fsync != op && gi_list_empty(&op->followers) && !op->alone);
  op->datasync = !posix_settling(op, pi) && op->fop->args.datasync != 0;
  if (op->fop->kind != GI_FOP_FSYNC)
    return false;
  count_sync(op, 1);
  if (batched(op)) {
    gi_list_add_tail(&p->batch, &op->wait);
    if (!p->batch_timer.armed && !p->batching)
      gi_timer_set(&p->batch_timer, (uint64_t)((struct posix_options *)p->x->options)->batch_delay * 1000);
    return true;
  }
  if (pi->fsync) {
    gi_list_add_tail(&pi->fsyncs, &op->wait);
    p->metrics.fsync_joined++;
    return true;
  }
  pi->fsync = op;
  p->metrics.fsync_calls++;
  return false;
}

/* Takes the result of `leader`, whose sync began after this one arrived. */
static void
share_result(struct posix_op *op, const struct posix_op *leader)
{
  const struct gi_reply *from = &leader->fop->rsp;

  GI_CHECK(leader, POSIX_OP_MAGIC);
  GI_ASSERT(!op->fop->answered && op->fop->fd->inode == leader->fop->fd->inode);
  GI_ASSERT(op->datasync || !leader->datasync); /* nobody gets less than was asked for */
  if (from->ret < 0) {
    posix_err(op, from->err);
  } else {
    op->fop->rsp.pre = from->pre;
    op->fop->rsp.post = from->post;
    op->node[NODE_OBJ].md_state = leader->node[NODE_OBJ].md_state;
    op->node[NODE_OBJ].times = leader->node[NODE_OBJ].times;
    posix_ok(op, 0);
  }
  posix_op_end(op);
}

static void
start_next(struct posix *p, struct posix_inode *pi)
{
  struct posix_op *leader;

  GI_ASSERT(!pi->fsync);
  if (gi_list_empty(&pi->fsyncs))
    return;
  leader = gi_list_first(&pi->fsyncs, struct posix_op, wait);
  gi_list_del(&leader->wait);
  GI_CHECK(leader, POSIX_OP_MAGIC);
  GI_ASSERT(gi_list_empty(&leader->followers));
  gi_list_splice_tail(&leader->followers, &pi->fsyncs);
  gi_list_foreach(it, &leader->followers, struct posix_op, wait)
    leader->datasync &= it->datasync;
  leader->datasync &= !posix_settling(leader, pi); /* counters may have changed since it arrived */
  pi->fsync = leader;
  p->metrics.fsync_calls++;
  posix_op_to_pool(leader);
}

void
posix_finish_fsync(struct posix_op *op)
{
  struct posix *p = op->p;
  struct gi_inode *inode = gi_inode_ref(op->fop->fd->inode);
  struct posix_inode *pi = posix_inode_of(p, inode);

  count_sync(op, -1);
  if (op->fop->rsp.ret >= 0 && !op->datasync)
    posix_settled(op, pi);
  posix_lost_account(op, pi);
  GI_ASSERT(pi->fsync || gi_list_empty(&op->followers)); /* only who leads has any */
  if (pi->fsync == op) {
    pi->fsync = NULL;
    start_next(p, pi);
  }
  while (!gi_list_empty(&op->followers)) {
    struct posix_op *follower = gi_list_first(&op->followers, struct posix_op, wait);

    gi_list_del(&follower->wait);
    share_result(follower, op);
  }
  posix_finish_counts(op);
  gi_inode_unref(&inode);
}

/* ---- batches over the brick ---- */

#define BATCH_MAGIC 0x1d0b0511u

struct batch {
  struct gi_work work;
  uint32_t magic;
  struct posix *p;
  struct gi_list ops;
  enum posix_batch mode;
};

static int
sync_one(struct posix_op *op)
{
  return gi_fs_fsync(op->p->fs, op->fd, op->datasync) < 0 ? errno : 0;
}

/* Newest first: its commit takes most of the older ones along. */
static void
batch_run(struct gi_work *w)
{
  struct batch *b = GI_CONTAINER(w, struct batch, work);
  GI_CHECK(b, BATCH_MAGIC);
  bool single = b->mode == BATCH_SYNCFS_SINGLE, each = b->mode == BATCH_REVERSE || b->mode == BATCH_SYNCFS_REVERSE;
  int fs_err = b->mode != BATCH_REVERSE && gi_fs_syncfs(b->p->fs, b->p->root_fd) < 0 ? errno : 0;

  for (struct gi_list *l = b->ops.prev; l != &b->ops; l = l->prev) {
    struct posix_op *op = gi_list_item(l, struct posix_op, wait);
    int err;

    GI_CHECK(op, POSIX_OP_MAGIC);
    op->on_worker = true;
    err = posix_obj_open(op, O_RDONLY);
    if (!err)
      err = fs_err;
    if (!err && (each || single))
      err = sync_one(op);
    single = false;
    if (err)
      posix_err(op, err);
    else
      posix_ok(op, 0);
  }
}

static void
batch_done(struct gi_work *w)
{
  struct batch *b = GI_CONTAINER(w, struct batch, work);
  GI_CHECK(b, BATCH_MAGIC);
  struct posix *p = b->p;

  GI_ASSERT(p->batching);
  p->batching = false;
  while (!gi_list_empty(&b->ops)) {
    struct posix_op *op = gi_list_first(&b->ops, struct posix_op, wait);

    gi_list_del(&op->wait);
    posix_op_end(op);
  }
  gi_free(b);
  if (!gi_list_empty(&p->batch) && !p->batch_timer.armed)
    gi_timer_set(&p->batch_timer, 0);
}

void
posix_batch_timer(void *arg)
{
  struct posix *p = arg;
  struct batch *b = gi_new(struct batch);

  GI_ASSERT(!p->batching);
  GI_CHECK(p, POSIX_MAGIC);
  b->magic = BATCH_MAGIC;
  b->p = p;
  b->mode = p->cfg.batch_mode == BATCH_NONE ? BATCH_REVERSE : p->cfg.batch_mode;
  gi_list_init(&b->ops);
  gi_list_splice_tail(&b->ops, &p->batch);
  gi_list_foreach(op, &b->ops, struct posix_op, wait)
    op->datasync &= !posix_settling(op, posix_inode_of(p, op->fop->fd->inode)); /* as of now */
  b->work.priority = GI_PRIO_NORMAL;
  b->work.run = batch_run;
  b->work.done = batch_done;
  p->batching = true;
  gi_work_submit(p->x->reactor, &b->work);
}
