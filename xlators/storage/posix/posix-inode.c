/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes: STAT, SETATTR, TRUNCATE, ACCESS, READLINK, and STATFS with the
 * disk reserve (brick.md 5.7).
 */
#include "libglusterish/probe.h"
#include "xlators/storage/posix/posix.h"

#include <sys/statvfs.h>

/* The object of a request that must exist: a gfid without object is stale. */
static int
object(struct posix_op *op, struct posix_at *at, struct stat *st)
{
  int err = posix_obj_at(op, at, st);

  return err == ENOENT ? ESTALE : err;
}

enum posix_run
posix_run_stat(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  struct posix_at at;
  struct stat st;
  int err = object(op, &at, &st);

  if (err)
    return posix_err(op, err);
  posix_node_known(op, NODE_OBJ, at);
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.stat);
  if (fop->xdata)
    posix_fill(op, fop->xdata, at, &st, &op->node[NODE_OBJ].gfid, &fop->rsp.xdata);
  return posix_ok(op, 0);
}

/* ---- SETATTR ---- */

#define OWNER_BITS (GI_SET_UID | GI_SET_GID)

/* Between a look at the mode and another one nobody else sets it. */
int
posix_prepare_setattr(struct posix_op *op)
{
  op->exclusive = op->fop->args.valid & (GI_SET_MODE | OWNER_BITS);
  return op->fop->kind == GI_FOP_FSETATTR ? posix_prepare_fd(op) : posix_prepare_object(op);
}

#define MOVING (mode_t)(S_ISVTX | S_ISGID)

/* Whoever moves the file says that it has moved; but somebody has set its mode since, and taken away what told others to change both. A copy that
 * missed the marks never had them: there the mode that is kept beside them is missing, too. */
static bool
lost_marks(const struct posix_op *op, struct posix_at at, const struct stat *st)
{
  uint64_t moved;
  char mode[16];

  return op->fop->caller.pid < 0 && gi_dict_get_uint(op->fop->xdata, GI_MOVED_KEY, &moved) && moved && S_ISREG(st->st_mode) &&
         (st->st_mode & MOVING) != MOVING && !gi_has_linkto_mode(st->st_mode) &&
         posix_at_get(op->p, at, KEY_MODE, mode, sizeof(mode)) > 0;
}

/* The kernel takes set-id bits away with it. One of them may be the mark of a file on the move, and stays: what follows is changed on both. */
static int
change_owner(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  const struct gi_args *a = &op->fop->args;
  uid_t uid = a->valid & GI_SET_UID ? a->iatt.uid : (uid_t)-1;
  gid_t gid = a->valid & GI_SET_GID ? a->iatt.gid : (gid_t)-1;
  char value[256];

  GI_ASSERT(op->exclusive);
  if (posix_at_chown(op->p, at, uid, gid) < 0)
    return errno;
  if (!S_ISREG(st->st_mode) || (st->st_mode & MOVING) != MOVING ||
      posix_at_get(op->p, at, KEY_LINKTO, value, sizeof(value)) <= 0)
    return 0;
  return posix_at_chmod(op->p, at, st->st_mode & 07777 & ~(mode_t)S_ISUID) < 0 ? errno : 0;
}

static int
set_mode(struct posix_op *op, struct posix_at at, const struct stat *st)
{
  mode_t mode = op->fop->args.iatt.mode & 07777;
  mode_t mask = S_ISDIR(st->st_mode) ? op->p->cfg.create_dir_mask : op->p->cfg.create_mask;
  mode_t force = S_ISDIR(st->st_mode) ? op->p->cfg.force_dir : op->p->cfg.force_create;

  if (S_ISLNK(st->st_mode))
    return 0;
  return posix_at_chmod(op->p, at, (mode & ~(mode_t)0777) | (mode & 0777 & mask) | force) < 0 ? errno : 0;
}

static struct timespec
one_time(int32_t valid, int given, int now, const struct gi_time *t)
{
  if (valid & given)
    return (struct timespec){.tv_sec = t->sec, .tv_nsec = t->nsec};
  return (struct timespec){.tv_nsec = valid & now ? UTIME_NOW : UTIME_OMIT};
}

static int
set_times(struct posix_op *op, struct posix_at at)
{
  const struct gi_args *a = &op->fop->args;
  struct timespec ts[2] = {
      one_time(a->valid, GI_SET_ATIME, GI_SET_ATIME_NOW, &a->iatt.atime),
      one_time(a->valid, GI_SET_MTIME, GI_SET_MTIME_NOW, &a->iatt.mtime),
  };

  return posix_at_times(op->p, at, ts) < 0 ? errno : 0;
}

#define TIME_BITS (GI_SET_ATIME | GI_SET_MTIME | GI_SET_ATIME_NOW | GI_SET_MTIME_NOW)

/* The kernel has meanings of its own for some that are not. */
static bool
are_times(const struct gi_args *a)
{
  return (!(a->valid & GI_SET_ATIME) || a->iatt.atime.nsec < GI_NSEC_PER_SEC) &&
         (!(a->valid & GI_SET_MTIME) || a->iatt.mtime.nsec < GI_NSEC_PER_SEC) &&
         (!(a->valid & GI_SET_CTIME) || a->iatt.ctime.nsec < GI_NSEC_PER_SEC);
}

/* Given times are stored as they are; only ctime moves as with any change (brick.md 3.2). */
static struct posix_times
given_times(const struct posix_op *op, const struct gi_time *now)
{
  const struct gi_args *a = &op->fop->args;
  struct posix_times t = op->node[NODE_OBJ].times;

  if (a->valid & (GI_SET_ATIME | GI_SET_ATIME_NOW))
    t.a = a->valid & GI_SET_ATIME ? a->iatt.atime : *now;
  if (a->valid & (GI_SET_MTIME | GI_SET_MTIME_NOW))
    t.m = a->valid & GI_SET_MTIME ? a->iatt.mtime : *now;
  if (a->valid & GI_SET_CTIME && gi_time_later(&a->iatt.ctime, &t.c))
    t.c = a->iatt.ctime;
  if (op->fop->caller.stamps & GI_STAMP_CTIME)
    posix_time_advance(&t.c, &op->fop->caller.time);
  return t;
}

/* The mark that told a healer of them is at other bricks, and goes next. */
static void
write_healed_times(struct posix_op *op, struct posix_at at)
{
  int32_t valid = op->fop->args.valid;

  if (op->fop->caller.pid == GI_PID_HEAL && valid & (TIME_BITS | GI_SET_CTIME) &&
      !(valid & (GI_SET_ATIME_NOW | GI_SET_MTIME_NOW)) && op->node[NODE_OBJ].md_state == MD_PRESENT) {
    struct posix_times t = given_times(op, NULL);

    posix_md_write(op, at, &t);
  }
}

enum posix_run
posix_run_setattr(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  const struct gi_args *a = &fop->args;
  struct posix_at at;
  struct stat st;
  int err;

  GI_ASSERT(op->exclusive || !(a->valid & (GI_SET_MODE | OWNER_BITS)));
  if (posix_waits_for_disk(op))
    return RUN_MOVE;
  err = are_times(a) ? object(op, &at, &st) : EINVAL;
  if (err)
    return posix_err(op, err);
  if (lost_marks(op, at, &st)) {
    GI_PROBE("posix: a file that has lost its marks does not become a linkto file");
    return posix_err(op, EAGAIN);
  }
  posix_node_known(op, NODE_OBJ, at);
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.pre);
  if (a->valid == 0 && !S_ISLNK(st.st_mode)) {
    /* Only ctime is to move. A chown to nobody would do it too, but takes set-id bits away. */
    err = posix_at_chmod(op->p, at, st.st_mode & 07777) < 0 ? errno : 0;
  } else if (a->valid & OWNER_BITS) {
    err = change_owner(op, at, &st);
  }
  if (!err && a->valid & GI_SET_MODE)
    err = set_mode(op, at, &st);
  if (!err && a->valid & TIME_BITS)
    err = set_times(op, at);
  if (!err)
    write_healed_times(op, at);
  if (!err && posix_is_durable(op))
    err = posix_sync_object(op, at, &st);
  if (!err)
    err = posix_node_stat(op, NODE_OBJ, at, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

void
posix_stamp_setattr(struct posix_op *op)
{
  struct posix_node *n = &op->node[NODE_OBJ];
  struct gi_time now = gi_wall(op->x->reactor);
  bool more = S_ISDIR(op->fop->rsp.post.mode) || op->fop->args.valid & (GI_SET_MODE | OWNER_BITS);
  struct gi_inode *inode;

  if (!(op->fop->args.valid & (TIME_BITS | GI_SET_CTIME))) {
    posix_md_stamp(op, NODE_OBJ, op->fop->caller.stamps & 7);
    return;
  }
  if (n->md_state != MD_PRESENT)
    return;
  n->times = given_times(op, &now);
  inode = gi_inode_get(op->fop->graph, &n->gfid);
  posix_md_set(op->p, inode, &n->times, more);
  posix_md_wrote(op, posix_inode_of(op->p, inode));
  gi_inode_unref(&inode);
}

/* ---- TRUNCATE ---- */

enum posix_run
posix_run_truncate(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  uint64_t size = fop->args.offset;
  struct stat st;
  int err = posix_obj_open(op, O_WRONLY);

  if (err)
    return posix_err(op, err);
  if (size > INT64_MAX)
    return posix_err(op, EINVAL);
  err = posix_node_attributes(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &st);
  if (err)
    return posix_err(op, err);
  if (S_ISDIR(st.st_mode))
    return posix_err(op, EISDIR);
  if (!op->on_worker && op->p->cfg.engine != ENGINE_INLINE && (uint64_t)st.st_size > size &&
      (uint64_t)st.st_size - size > POSIX_BIG_FILE)
    return RUN_MOVE;
  posix_node_known(op, NODE_OBJ, (struct posix_at){op->fd, ""});
  posix_iatt(&st, &op->node[NODE_OBJ].gfid, &fop->rsp.pre);
  if (gi_fs_ftruncate(op->p->fs, op->fd, (off_t)size) < 0)
    return posix_err(op, errno);
  err = posix_node_stat(op, NODE_OBJ, (struct posix_at){op->fd, ""}, &fop->rsp.post);
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

/* ---- ACCESS, READLINK ---- */

/* Who may do what was decided above (access-control); here only the object's existence and executability count. */
enum posix_run
posix_run_access(struct posix_op *op)
{
  struct posix_at at;
  struct stat st;
  int err = object(op, &at, &st);

  if (!err && op->fop->args.mode & X_OK && !S_ISDIR(st.st_mode) && !(st.st_mode & 0111))
    err = EACCES;
  return err ? posix_err(op, err) : posix_ok(op, 0);
}

enum posix_run
posix_run_readlink(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  char text[PATH_MAX];
  size_t want = fop->args.size && fop->args.size < sizeof(text) ? fop->args.size : sizeof(text) - 1;
  struct posix_at at;
  struct stat st;
  ssize_t n;
  int err = object(op, &at, &st);

  if (!err && !S_ISLNK(st.st_mode))
    err = EINVAL;
  if (err)
    return posix_err(op, err);
  n = gi_fs_readlink(op->p->fs, at.fd, at.path, text, want);
  if (n < 0)
    return posix_err(op, errno);
  fop->rsp.link = gi_fop_strdup(fop, text, (size_t)n);
  err = posix_node_stat(op, NODE_OBJ, at, &fop->rsp.stat);
  return err ? posix_err(op, err) : posix_ok(op, n);
}

/* ---- STATFS and the reserve ---- */

uint64_t
posix_reserve_blocks(const struct posix_config *cfg, uint64_t blocks, uint64_t bsize)
{
  double v = cfg->reserve.value;

  if (cfg->reserve.is_percent && v < 100)
    return (uint64_t)(v * (double)blocks / 100 + 0.5);
  return ((uint64_t)v + bsize - 1) / bsize;
}

void
posix_reserve_poll(struct posix *p)
{
  struct statvfs v;
  bool full;

  if (gi_fs_statvfs(p->fs, p->root_fd, &v) < 0)
    return;
  full = p->cfg.reserve.value > 0 && v.f_bfree <= posix_reserve_blocks(&p->cfg, v.f_blocks, v.f_frsize ? v.f_frsize : 1);
  if (full != p->disk_full)
    gi_log(GI_LOG_WARNING, p->name, GI_MSG_POSIX + 14,
           full ? "%s has reached the storage.reserve limit: no new data is accepted" : "%s has space again", p->brick);
  p->disk_full = full;
}

void
posix_reserve_timer(void *arg)
{
  struct posix *p = arg;
  GI_CHECK(p, POSIX_MAGIC);

  posix_reserve_poll(p);
  gi_timer_set(&p->reserve_timer, 5 * GI_NSEC_PER_SEC);
}

int
posix_prepare_statfs(struct posix_op *op)
{
  (void)op;
  return 0;
}

enum posix_run
posix_run_statfs(struct posix_op *op)
{
  const struct posix_config *cfg = &op->p->cfg;
  struct gi_statfs *out = &op->fop->rsp.statfs;
  uint64_t share = cfg->shared_bricks > 0 ? (uint64_t)cfg->shared_bricks : 1, reserve;
  struct statvfs v;

  if (gi_fs_statvfs(op->p->fs, op->p->root_fd, &v) < 0)
    return posix_err(op, errno);
  reserve = posix_reserve_blocks(cfg, v.f_blocks, v.f_frsize ? v.f_frsize : 1);
  v.f_bfree = v.f_bfree > reserve ? v.f_bfree - reserve : 0;
  if (v.f_bavail > v.f_bfree)
    v.f_bavail = v.f_bfree;
  *out =
      (struct gi_statfs){.bsize = v.f_bsize, .frsize = v.f_frsize, .fsid = v.f_fsid, .flag = v.f_flag, .namemax = v.f_namemax};
  if (!cfg->export_size)
    return posix_ok(op, 0);
  out->blocks = v.f_blocks / share;
  out->bfree = v.f_bfree / share;
  out->bavail = v.f_bavail / share;
  out->files = v.f_files / share;
  out->ffree = v.f_ffree / share;
  out->favail = v.f_favail / share;
  return posix_ok(op, 0);
}
