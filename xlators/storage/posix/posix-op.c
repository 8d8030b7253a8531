/* SPDX-License-Identifier: Apache-2.0
 *
 * How an operation runs. Its kind says what it is made of (posix-kinds.c); this
 * file decides where its system calls happen:
 *
 *   inline   calls that end in microseconds when the page cache and the
 *            journal have room: nearly everything;
 *   io_uring cold reads and O_DIRECT transfers;
 *   workers  what waits for the disk by nature (fsync, copies, checksums), big
 *            removals, and a whole kind for a second after its calls waited more
 *            than 5 ms inline (libglusterish/stall.h), so that a slow disk does
 *            not keep the brick from answering pings.
 *
 * Read-modify-write operations are alone on their inode: inline that is given;
 * while one is on a worker, the next ones wait in the inode's list.
 */
#include "xlators/storage/posix/posix.h"

#include "libglusterish/tree.h"

#define TRIES 16 /* to find a way; directories may move all the time, and what is looked for be gone */

enum posix_run
posix_ok(struct posix_op *op, int64_t ret)
{
  GI_CHECK(op, POSIX_OP_MAGIC);
  GI_ASSERT(ret >= 0 && ret <= INT32_MAX);
  op->fop->rsp.ret = (int32_t)ret;
  op->fop->rsp.err = 0;
  return RUN_DONE;
}

enum posix_run
posix_err(struct posix_op *op, int err)
{
  GI_CHECK(op, POSIX_OP_MAGIC);
  GI_ASSERT(err > 0);
  op->fop->rsp.ret = -1;
  op->fop->rsp.err = err;
  return RUN_DONE;
}

/* ---- what an operation knows at its start ---- */

struct posix_inode *
posix_inode_of(struct posix *p, struct gi_inode *inode)
{
  struct posix_inode *pi = gi_inode_private(inode, p->x);

  if (!pi->self) {
    pi->magic = POSIX_INODE_MAGIC;
    pi->self = inode;
    pi->left = p->left;
    gi_list_init(&pi->dirty);
    gi_list_init(&pi->lost);
    gi_list_init(&pi->fsyncs);
  }
  GI_CHECK(pi, POSIX_INODE_MAGIC);
  GI_ASSERT(pi->self == inode);
  return pi;
}

bool
posix_inode_has_fd(struct posix *p, struct gi_inode *inode)
{
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    if (((struct posix_fd *)gi_fd_private(fd, p->x))->open)
      return true;
  }
  return false;
}

void
posix_node_prepare(struct posix_op *op, int which, const struct gi_gfid *gfid, struct gi_inode *inode)
{
  struct posix_node *n = &op->node[which];
  GI_ASSERT(which < NODE_COUNT && !n->dir && n->fd < 0);
  struct gi_inode *found = inode ? gi_inode_ref(inode) : gi_inode_find(op->fop->graph, gfid);

  n->gfid = *gfid;
  if (gi_gfid_is_root(gfid)) {
    n->dir = op->p->root_dir;
    n->dir->refs++;
    n->depth = 1;
  }
  if (!found)
    return;

  struct posix_inode *pi = posix_inode_of(op->p, found);

  posix_inode_check(pi);
  n->md_state = pi->md_state;
  n->times = pi->times;
  if (!n->dir)
    n->dir = posix_dir_pin(op->p, pi);
  if (n->dir && !n->depth)
    n->depth = posix_dir_depth(op->p, n->dir);
  gi_inode_unref(&found);
}

static const struct gi_gfid *
loc_gfid(const struct gi_loc *loc)
{
  return loc->inode ? &loc->inode->gfid : &loc->gfid;
}

static const struct gi_gfid *
loc_parent(const struct gi_loc *loc)
{
  return loc->parent ? &loc->parent->gfid : &loc->pargfid;
}

int
posix_prepare_object(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const struct gi_gfid *gfid = loc_gfid(&fop->loc);

  if (gi_gfid_is_none(gfid))
    return EINVAL;
  posix_node_prepare(op, NODE_OBJ, gfid, fop->loc.inode);
  return 0;
}

int
posix_prepare_fd(struct posix_op *op)
{
  struct gi_fd *fd = op->fop->fd;
  struct posix_fd *pf;

  if (!fd || !fd->inode)
    return EBADF;
  posix_node_prepare(op, NODE_OBJ, &fd->inode->gfid, fd->inode);
  if (op->fop->caller.pid == GI_PID_HEAL)
    posix_lost_prepare(op, posix_inode_of(op->p, fd->inode));
  if (fd->anonymous)
    return 0;
  pf = gi_fd_private(fd, op->x);
  if (!pf->open)
    return EBADF;
  op->fd = pf->fd;
  return 0;
}

int
posix_prepare_entry(struct posix_op *op)
{
  const struct gi_loc *loc = &op->fop->loc;
  const struct gi_gfid *parent = loc_parent(loc);

  if (gi_gfid_is_none(parent) || !loc->name)
    return EINVAL;
  posix_node_prepare(op, NODE_PARENT, parent, loc->parent);
  op->expect = *loc_gfid(loc);
  return 0;
}

int
posix_prepare_two_entries(struct posix_op *op)
{
  const struct gi_loc *to = &op->fop->loc2;
  const struct gi_gfid *parent = loc_parent(to);
  int err = posix_prepare_entry(op);

  if (err)
    return err;
  if (gi_gfid_is_none(parent) || !to->name)
    return EINVAL;
  posix_node_prepare(op, NODE_PARENT2, parent, to->parent);
  return 0;
}

static void
op_init(struct posix_op *op, struct gi_xlator *x, struct gi_fop *fop, const struct posix_kind *kind)
{
  op->magic = POSIX_OP_MAGIC;
  op->x = x;
  op->p = x->private;
  GI_CHECK(op->p, POSIX_MAGIC);
  op->fop = fop;
  op->kind = kind;
  op->fd = op->fd2 = op->new_fd = -1;
  op->moves = op->p->moves;
  op->renames = op->p->renames;
  for (int i = 0; i < NODE_COUNT; i++)
    op->node[i].fd = -1;
  gi_list_init(&op->wait);
  gi_list_init(&op->followers);
}

static bool
bound_by_reserve(const struct gi_fop *fop)
{
  return fop->caller.pid >= 0 && !gi_dict_get(fop->xdata, KEY_INTERNAL);
}

/* ---- the end ---- */

/* The attributes of the reply from before the operation, or those from after it, show the times that the inode's attributes say. */
static void
overlay_times(struct posix_op *op, bool before)
{
  static const uint8_t node_of[GI_WHOSE_MAX] = {
      [GI_OF_OBJECT] = NODE_OBJ, [GI_OF_PARENT] = NODE_PARENT, [GI_OF_PARENT2] = NODE_PARENT2, [GI_OF_OBJECT2] = NODE_VICTIM};
  struct gi_attr attr;

  for (unsigned at = 0; gi_reply_next_attr(op->fop, &at, &attr);)
    if (attr.before == before)
      posix_md_overlay(&op->node[node_of[attr.whose]], attr.iatt);
}

static void
stamp(struct posix_op *op)
{
  unsigned own = op->fop->caller.stamps & (GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_ATIME);
  unsigned parents = op->fop->caller.stamps / GI_STAMP_PARENT_CTIME & (GI_STAMP_CTIME | GI_STAMP_MTIME | GI_STAMP_ATIME);

  if (op->kind->stamp) {
    op->kind->stamp(op);
    return;
  }
  if (op->existed) { /* nothing was made; at most it was truncated */
    own &= op->fop->args.flags & O_TRUNC ? GI_STAMP_CTIME | GI_STAMP_MTIME : 0;
    parents = 0;
  }
  if (op->kind->stamps & STAMP_OBJ)
    posix_md_stamp(op, NODE_OBJ, own);
  if (op->kind->stamps & STAMP_PARENT)
    posix_md_stamp(op, NODE_PARENT, parents);
  if (op->kind->stamps & STAMP_PARENT2)
    posix_md_stamp(op, NODE_PARENT2, parents);
}

static void
adopt_dirs(struct posix_op *op)
{
  for (int i = 0; i < NODE_COUNT; i++) {
    struct posix_node *n = &op->node[i];

    if (n->dir && n->dir != op->p->root_dir)
      posix_dir_set_depth(op->p, n->dir, n->depth, op->moves);
    posix_dir_unref(op->p, n->dir);
    n->dir = NULL;
    if (n->fd < 0)
      continue;
    struct gi_inode *inode = gi_inode_get(op->fop->graph, &n->gfid);

    /* Made under a gfid that named another directory before: a healer moves one like that. */
    if (i == NODE_OBJ && op->fop->kind == GI_FOP_MKDIR && posix_inode_of(op->p, inode)->dir) {
      posix_dir_drop(op->p, posix_inode_of(op->p, inode));
      op->moves = ++op->p->moves;
    }
    posix_dir_set_depth(op->p, posix_dir_adopt(op->p, posix_inode_of(op->p, inode), n->fd), n->depth, op->moves);
    n->fd = -1;
    gi_inode_unref(&inode);
  }
  for (unsigned i = 0; i < op->npassed; i++) {
    struct posix_passed *by = &op->passed[i];
    struct gi_inode *inode = gi_inode_get(op->fop->graph, &by->gfid);

    posix_dir_set_depth(op->p, posix_dir_adopt(op->p, posix_inode_of(op->p, inode), by->fd), by->depth, op->moves);
    gi_inode_unref(&inode);
  }
  gi_free(op->passed);
}

/* A failed operation has none, except that a lookup which misses still shows the parent. */
static void
clear_attributes(struct gi_fop *fop)
{
  struct gi_reply *r = &fop->rsp;

  r->stat = r->pre = r->pre2 = r->post2 = (struct gi_iatt){0};
  if (fop->kind != GI_FOP_LOOKUP)
    r->post = (struct gi_iatt){0};
}

static void
op_finish(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;

  posix_op_check_end(op);
  posix_seen_finish(op);
  if (op->p->cfg.ctime) {
    for (int i = 0; i < NODE_COUNT; i++)
      posix_md_install(op, i);
    overlay_times(op, true);
    if (fop->rsp.ret >= 0)
      stamp(op);
    overlay_times(op, false);
  }
  if (op->dropped) {
    posix_inode_of(op->p, fop->fd->inode)->read_back = op->losses;
    posix_inode_of(op->p, fop->fd->inode)->looked = true;
  }
  posix_lost_note(op);
  if (op->kind->finish)
    op->kind->finish(op);
  if (fop->rsp.ret < 0)
    clear_attributes(fop);
  adopt_dirs(op);
  if (op->fd_own)
    gi_fs_close(op->p->fs, op->fd);
  if (op->fd2_own)
    gi_fs_close(op->p->fs, op->fd2);
  if (op->new_fd >= 0)
    gi_fs_close(op->p->fs, op->new_fd); /* nobody took it */
  gi_buf_unref(&op->buf);
  gi_inode_unref(&op->known_of);
  gi_free(op->scratch);
  op->scratch = NULL;
  op->magic = 0;
}

/* ---- where it runs ---- */

static bool
must_move(struct posix_op *op)
{
  struct posix *p = op->p;
  GI_ASSERT(!op->on_worker);

  if (p->cfg.engine == ENGINE_INLINE)
    return false;
  if (p->cfg.engine == ENGINE_POOL || op->kind->blocking || op->slow)
    return true;
  if (p->cfg.engine == ENGINE_URING && op->kind->uring)
    return true;
  if (gi_fs_busy(p->fs))
    return true;
  return gi_stall_is_slow(&p->stall[op->fop->kind], op->x->reactor);
}

static void
note_slow_call(struct posix_op *op, enum gi_stall_kind what)
{
  struct posix *p = op->p;

  p->metrics.slow_calls++;
  if (what != GI_STALL_SLOW)
    return;
  p->metrics.slow_trips++;
  gi_log(GI_LOG_DEBUG, p->name, GI_MSG_POSIX + 20, "%s waited for the disk: this kind goes to the workers for %llu ms",
         gi_fop_name(op->fop->kind), (unsigned long long)(p->stall[op->fop->kind].period / GI_NSEC_PER_MSEC));
}

/* Notes the system calls of `op` if its tree is collected. */
static void
note_calls(struct posix_op *op)
{
  struct gi_steps *steps;

  op->watch.reactor = op->x->reactor;
  if (!gi_fop_collects(op->fop))
    return;
  steps = gi_fop_steps(op->fop);
  if (!steps->calls)
    steps->calls = gi_new(struct gi_calls);
  op->watch.calls = steps->calls;
}

static enum posix_run
run_watched(struct posix_op *op)
{
  enum posix_run r;

  GI_ASSERT(!gi_fs_watched && op->watch.reactor);
  gi_fs_watched = &op->watch;
  r = op->kind->run(op);
  gi_fs_watched = NULL;
  return r;
}

static enum posix_run
run_noted(struct posix_op *op)
{
  note_calls(op);
  return run_watched(op);
}

static enum posix_run
run_inline(struct posix_op *op)
{
  struct posix *p = op->p;
  struct gi_stall *stall = &p->stall[op->fop->kind];
  struct gi_stall_call call = gi_stall_begin(stall, op->x->reactor);
  enum posix_run r = gi_fop_collects(op->fop) ? run_noted(op) : op->kind->run(op);
  enum gi_stall_kind what = gi_stall_end(stall, op->x->reactor, &call);

  p->metrics.runs_inline++;
  if (what)
    note_slow_call(op, what);
  return r;
}

static bool
changes_names(const struct posix_op *op)
{
  unsigned classes = gi_fop_table[op->fop->kind].classes;

  return classes & GI_CLASS_ENTRY && classes & GI_CLASS_WRITE;
}

static void
pool_run(struct gi_work *w)
{
  struct posix_op *op = GI_CONTAINER(w, struct posix_op, work);

  GI_CHECK(op, POSIX_OP_MAGIC);
  op->on_worker = true;
  if (run_watched(op) != RUN_DONE)
    posix_err(op, EIO); /* a worker is where everything ends */
}

/* What `run` did so far is forgotten. Descriptors of directories stay for the next time. */
static void
start_over(struct posix_op *op)
{
  GI_CHECK(op, POSIX_OP_MAGIC);
  gi_reply_clear(&op->fop->rsp);
  if (op->fd_own)
    gi_fs_close(op->p->fs, op->fd);
  if (op->fd_own)
    op->fd = -1;
  op->fd_own = op->parked = op->astray = false;
  if (op->new_fd >= 0)
    gi_fs_close(op->p->fs, op->new_fd);
  op->new_fd = -1;
}

/* A directory above the object has moved since the operation began, or may be about to: its handle does not lead there yet. */
static bool
lost_way(const struct posix_op *op)
{
  return op->astray && op->fop->rsp.ret < 0 && op->tries < TRIES && (op->p->moving || op->renames != op->p->renames);
}

static void
wait_for_moves(struct posix_op *op)
{
  GI_ASSERT(op->tries < TRIES && gi_list_empty(&op->wait));
  start_over(op);
  op->tries++;
  if (op->exclusive && !op->alone) { /* nobody has the turn, or it would have waited for it */
    op->alone = gi_inode_get(op->fop->graph, &op->node[NODE_OBJ].gfid);
    gi_serial_take(&posix_inode_of(op->p, op->alone)->serial);
  }
  gi_list_add_tail(&op->p->astray, &op->wait);
  gi_fop_waits(op->fop, GI_WAIT_ORDER, "a directory that moves", NULL);
}

static bool start(struct posix_op *op);
static void turn_came(struct gi_list *turn, void *arg);

/* The operation is answered, and whoever waits for its turn goes on. */
static void
answer(struct posix_op *op)
{
  struct posix *p = op->p;
  struct gi_inode *inode = op->alone;
  GI_ASSERT(!inode || posix_inode_of(p, inode)->serial.taken);

  op->alone = NULL;
  gi_fop_answer(op->fop, op->x);
  if (inode)
    gi_serial_leave(&posix_inode_of(p, inode)->serial, turn_came, inode);
  gi_inode_unref(&inode);
}

/* Depths that were found before directories moved are no longer known. */
static void
forget_depths(struct posix_op *op)
{
  if (op->moves == op->p->moves)
    return;
  for (int i = 0; i < NODE_COUNT; i++)
    if (!gi_gfid_is_root(&op->node[i].gfid))
      op->node[i].depth = 0;
  for (unsigned i = 0; i < op->npassed; i++)
    op->passed[i].depth = 0;
  op->moves = op->p->moves;
}

static void
find_ways(struct posix *p)
{
  struct gi_list again;

  gi_list_init(&again);
  gi_list_splice_tail(&again, &p->astray);
  while (!gi_list_empty(&again)) {
    struct posix_op *op = gi_list_first(&again, struct posix_op, wait);

    GI_CHECK(op, POSIX_OP_MAGIC);
    GI_ASSERT(!op->fop->answered);
    gi_list_del(&op->wait);
    forget_depths(op);
    op->renames = p->renames;
    if (op->on_worker)
      posix_op_to_pool(op);
    else if (start(op))
      answer(op);
  }
}

static void
pool_done(struct gi_work *w)
{
  struct posix_op *op = GI_CONTAINER(w, struct posix_op, work);
  struct posix *p = op->p;
  bool renamed = op->fop->kind == GI_FOP_RENAME;

  posix_op_check(op);
  GI_ASSERT(p->elsewhere > 0 && p->away >= changes_names(op) && p->moving >= renamed);
  p->elsewhere--;
  p->away -= changes_names(op);
  p->moving -= renamed;
  if (lost_way(op))
    wait_for_moves(op);
  else
    posix_op_end(op);
  if (renamed || !p->moving)
    find_ways(p);
}

void
posix_op_to_pool(struct posix_op *op)
{
  posix_op_check(op);
  op->p->metrics.runs_pool++;
  op->p->elsewhere++;
  op->p->away += changes_names(op);
  op->p->moving += op->fop->kind == GI_FOP_RENAME;
  op->work.priority = op->far ? GI_PRIO_LEAST : op->fop->priority;
  op->far = false;
  op->work.run = pool_run;
  op->work.done = pool_done;
  note_calls(op);
  gi_fop_waits(op->fop, GI_WAIT_WORKER, "a worker", NULL);
  op->fop->wait.now = &op->watch.now;
  gi_work_submit(op->x->reactor, &op->work);
}

void
posix_uring_complete(struct posix_op *op)
{
  posix_op_check(op);
  GI_ASSERT(op->kind->uring_done && op->p->elsewhere > 0);
  op->p->elsewhere--;
  if (op->kind->uring_done(op) == RUN_DONE)
    posix_op_end(op);
  else
    posix_op_to_pool(op);
}

static void
dispatch(struct posix_op *op)
{
  struct posix *p = op->p;
  GI_ASSERT(!op->on_worker && !op->fop->answered && gi_list_empty(&op->wait));

  posix_seen_moves(op);
  if (op->exclusive && !op->alone) {
    op->alone = gi_inode_get(op->fop->graph, &op->node[NODE_OBJ].gfid);
    gi_serial_take(&posix_inode_of(p, op->alone)->serial);
  }
  if (p->uring && op->kind->uring && !op->far && p->cfg.engine != ENGINE_POOL && op->kind->uring(op, p->uring)) {
    p->metrics.runs_uring++;
    p->elsewhere++;
    gi_fop_waits(op->fop, GI_WAIT_DISK, "io_uring", NULL);
    return;
  }
  posix_op_to_pool(op);
}

static bool
must_wait(struct posix_op *op)
{
  struct gi_inode *inode;
  bool wait;

  if (!op->exclusive)
    return false;
  inode = gi_inode_find(op->fop->graph, &op->node[NODE_OBJ].gfid);
  if (!inode)
    return false;
  wait = gi_serial_wait(&posix_inode_of(op->p, inode)->serial, &op->wait); /* whoever has the turn holds the inode */
  gi_inode_unref(&inode);
  if (wait)
    gi_fop_waits(op->fop, GI_WAIT_ORDER, "others on the inode", NULL);
  return wait;
}

/* True if the operation is over: finish was called, rsp is the answer. */
static bool
start(struct posix_op *op)
{
  if (!must_move(op)) {
    enum posix_run r = run_inline(op);

    if (op->far) {
      start_over(op);
    } else if (lost_way(op)) {
      wait_for_moves(op);
      return false;
    } else if (r == RUN_DONE) {
      op_finish(op);
      return true;
    }
    op->p->metrics.moved++;
  }
  dispatch(op);
  return false;
}

static void
turn_came(struct gi_list *turn, void *arg)
{
  struct posix_op *op = gi_list_item(turn, struct posix_op, wait);
  struct gi_inode *inode = arg; /* whoever ended holds it */
  GI_CHECK(op, POSIX_OP_MAGIC);
  GI_ASSERT(op->exclusive && !op->alone && posix_inode_of(op->p, inode)->serial.taken);

  op->alone = gi_inode_ref(inode);
  op->renames = op->p->renames; /* nothing of it has run yet */
  if (start(op))
    answer(op);
}

void
posix_op_end(struct posix_op *op)
{
  op_finish(op);
  answer(op);
}

enum gi_verdict
posix_op_begin(struct gi_xlator *x, struct gi_fop *fop, const struct posix_kind *kind)
{
  struct posix_op *op = gi_fop_private(fop, x);
  int err;

  op_init(op, x, fop, kind);
  if (!op->kind->run)
    return gi_fop_fail(fop, op->kind->unsupported ? op->kind->unsupported : EOPNOTSUPP);
  if (fop->caller.time.nsec >= GI_NSEC_PER_SEC) /* it would be stored, and not be read again */
    return gi_fop_fail(fop, EINVAL);
  op->full = op->p->disk_full && bound_by_reserve(fop);
  GI_ASSERT(!fop->answered);
  err = op->full && op->kind->reserved ? ENOSPC : op->kind->prepare(op);
  if (err) {
    adopt_dirs(op);
    return gi_fop_fail(fop, err);
  }
  if (kind->join && kind->join(op))
    return GI_HELD;
  return !must_wait(op) && start(op) ? GI_ANSWERED : GI_HELD;
}
