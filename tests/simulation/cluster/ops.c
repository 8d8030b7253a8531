/* SPDX-License-Identifier: Apache-2.0
 *
 * See ops.h.
 */
#include "tests/simulation/cluster/ops.h"
#include "libglusterish/task.h"
#include "tests/simulation/model/quorum.h"
#include "tests/simulation/world/trace.h"

#include <errno.h>

#define LIST_BYTES 4096
#define PID_ADD_BRICK (-12) /* replicate.md 1 */

/* ---- making and sending ---- */

static struct gi_fop *
op_new(struct sim_client *c, enum gi_fop_kind kind)
{
  struct gi_fop *fop = gi_fop_new(c->top->graph, kind);
  uint32_t pid = 1000 + c->number;
  fop->caller.pid = (int32_t)pid;
  fop->caller.time = gi_wall(c->top->reactor);
  fop->caller.owner.len = sizeof(pid);
  memcpy(fop->caller.owner.data, &pid, sizeof(pid));
  return fop;
}

/* No brick need have been asked: a layer of the client may know the answer. */
static bool
answered_at_home(const struct sim_client *c, const struct gi_fop *fop)
{
  unsigned classes = gi_fop_table[fop->kind].classes;
  if (fop->rsp.early || fop->kind == GI_FOP_FLUSH)
    return true;
  return !(classes & (GI_CLASS_WRITE | GI_CLASS_LOCK)) && fop->kind != GI_FOP_FSYNC && sim_layers_that_know(c->layers_had);
}

/* Our own change of names: neither what was known before nor what was asked for meanwhile counts after. */
static void
forget_names(struct sim_client *c, const struct gi_fop *fop)
{
  const struct gi_fop_info *info = &gi_fop_table[fop->kind];
  if (!(info->classes & GI_CLASS_WRITE) || info->target != GI_TARGET_ENTRY)
    return;
  if (fop->loc.name)
    sim_kept_drop(&c->kept, &fop->loc.pargfid, fop->loc.name);
  if (fop->loc2.name)
    sim_kept_drop(&c->kept, &fop->loc2.pargfid, fop->loc2.name);
}

/* Sends it and waits. What comes back is in fop->rsp; the caller drops the fop. */
static int
op_run(struct sim_client *c, struct gi_fop *fop)
{
  struct sim_world *w = c->cluster->w;
  struct sim_reactor *r = c->process->reactor;
  uint64_t id = c->op_sequence++, begin = w->now;
  sim_trace_begin(w, r, gi_fop_name(fop->kind), id);
  sim_quorum_look(c->cluster);
  forget_names(c, fop);
  gi_task_fop(fop, gi_first_child(c->top));
  forget_names(c, fop);
  c->ops++;
  c->failures += fop->rsp.ret < 0;
  sim_world_hash(w, gi_fop_name(fop->kind), (uint64_t)(int64_t)fop->rsp.ret, (uint64_t)fop->rsp.err, NULL, 0);
  sim_trace_end(w, r, gi_fop_name(fop->kind), id, fop->rsp.ret < 0 ? strerror(fop->rsp.err) : "ok");
  c->early += fop->rsp.ret >= 0 && fop->rsp.early;
  if (fop->rsp.ret >= 0 && !answered_at_home(c, fop))
    sim_quorum_answered(c, gi_fop_name(fop->kind), begin);
  return fop->rsp.ret >= 0 ? fop->rsp.ret : fop->rsp.err > 0 ? -fop->rsp.err : -EIO;
}

static int
op_end(struct sim_client *c, struct gi_fop *fop)
{
  int ret = op_run(c, fop);
  gi_fop_unref(fop);
  return ret;
}

static void
ask_gfid(struct gi_fop *fop, const struct gi_gfid *gfid)
{
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", gfid);
}

/* The inode an answer names, with a reference; NULL if it names none. */
static struct gi_inode *
answered_inode(struct gi_fop *fop)
{
  if (fop->rsp.ret < 0 || gi_gfid_is_none(&fop->rsp.stat.gfid))
    return NULL;
  struct gi_inode *inode = gi_inode_get(fop->graph, &fop->rsp.stat.gfid);
  inode->mode = fop->rsp.stat.mode & S_IFMT;
  return inode;
}

/* ---- names ---- */

int
sim_op_lookup(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode **inode, struct gi_iatt *stat)
{
  struct gi_iatt kept;
  /* Attributes are not kept here: our own writes would change them. */
  if (!stat && sim_kept_find(&c->kept, c->top, dir, name, &kept)) {
    if (inode)
      *inode = gi_inode_get(c->top->graph, &kept.gfid);
    return 0;
  }
  uint64_t asked = gi_now(c->top->reactor), clock = c->kept.clock;
  struct gi_fop *fop = op_new(c, GI_FOP_LOOKUP);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  int ret = op_run(c, fop);
  if (ret >= 0)
    sim_kept_put(&c->kept, c->top, dir, name, &fop->rsp.stat, asked, clock);
  if (ret >= 0 && inode)
    *inode = answered_inode(fop);
  if (ret >= 0 && stat)
    *stat = fop->rsp.stat;
  gi_fop_unref(fop);
  return ret;
}

int
sim_op_create(struct sim_client *c, struct gi_inode *dir, const char *name, int flags, struct gi_fd **out)
{
  struct gi_gfid gfid = gi_gfid_new(c->top->reactor);
  return sim_op_create_as(c, dir, name, flags, &gfid, out);
}

int
sim_op_create_as(struct sim_client *c, struct gi_inode *dir, const char *name, int flags, const struct gi_gfid *gfid,
                 struct gi_fd **out)
{
  struct gi_fop *fop = op_new(c, GI_FOP_CREATE);
  struct gi_fd *fd = gi_fd_new(c->top->graph, NULL, flags, fop->caller.pid);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  gi_fop_set_fd(fop, fd);
  fop->args.flags = (uint32_t)(flags | O_CREAT);
  fop->args.mode = 0644;
  ask_gfid(fop, gfid);
  int ret = op_run(c, fop);
  if (ret >= 0)
    gi_fd_bind(fd, &fop->rsp.stat.gfid);
  gi_fop_unref(fop);
  if (ret < 0)
    gi_fd_unref(&fd);
  *out = fd;
  return ret;
}

int
sim_op_mkdir(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode **inode)
{
  struct gi_gfid gfid = gi_gfid_new(c->top->reactor);
  return sim_op_mkdir_as(c, dir, name, &gfid, inode);
}

int
sim_op_mkdir_as(struct sim_client *c, struct gi_inode *dir, const char *name, const struct gi_gfid *gfid,
                struct gi_inode **inode)
{
  struct gi_fop *fop = op_new(c, GI_FOP_MKDIR);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  fop->args.mode = 0755;
  ask_gfid(fop, gfid);
  int ret = op_run(c, fop);
  if (ret >= 0 && inode)
    *inode = answered_inode(fop);
  gi_fop_unref(fop);
  return ret;
}

static int
remove_name(struct sim_client *c, enum gi_fop_kind kind, struct gi_inode *dir, const char *name)
{
  struct gi_fop *fop = op_new(c, kind);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  return op_end(c, fop);
}

int
sim_op_unlink(struct sim_client *c, struct gi_inode *dir, const char *name)
{
  return remove_name(c, GI_FOP_UNLINK, dir, name);
}

int
sim_op_rmdir(struct sim_client *c, struct gi_inode *dir, const char *name)
{
  return remove_name(c, GI_FOP_RMDIR, dir, name);
}

int
sim_op_link(struct sim_client *c, struct gi_inode *inode, struct gi_inode *dir, const char *name)
{
  struct gi_fop *fop = op_new(c, GI_FOP_LINK);
  gi_loc_set_inode(&fop->loc, inode);
  gi_fop_set_entry(fop, &fop->loc2, dir, name);
  return op_end(c, fop);
}

static struct gi_fop *
rename_fop(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode *dir2, const char *name2)
{
  struct gi_fop *fop = op_new(c, GI_FOP_RENAME);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  gi_fop_set_entry(fop, &fop->loc2, dir2, name2);
  return fop;
}

int
sim_op_rename(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode *dir2, const char *name2)
{
  return op_end(c, rename_fop(c, dir, name, dir2, name2));
}

int
sim_op_rename_free(struct sim_client *c, struct gi_inode *dir, const char *name, struct gi_inode *dir2, const char *name2)
{
  struct gi_fop *fop = rename_fop(c, dir, name, dir2, name2);
  gi_dict_set_uint(gi_fop_xdata(fop), GI_NOREPLACE_KEY, 1);
  return op_end(c, fop);
}

/* ---- objects ---- */

int
sim_op_stat(struct sim_client *c, struct gi_inode *inode, struct gi_iatt *stat)
{
  struct gi_fop *fop = op_new(c, GI_FOP_STAT);
  gi_loc_set_inode(&fop->loc, inode);
  int ret = op_run(c, fop);
  if (stat)
    *stat = fop->rsp.stat;
  gi_fop_unref(fop);
  return ret;
}

int
sim_op_chmod(struct sim_client *c, struct gi_inode *inode, uint32_t mode)
{
  struct gi_fop *fop = op_new(c, GI_FOP_SETATTR);
  gi_loc_set_inode(&fop->loc, inode);
  fop->args.valid = GI_SET_MODE;
  fop->args.iatt.mode = inode->mode | mode;
  return op_end(c, fop);
}

int
sim_op_setxattr(struct sim_client *c, struct gi_inode *inode, const char *name, const void *value, uint32_t len)
{
  struct gi_fop *fop = op_new(c, GI_FOP_SETXATTR);
  gi_loc_set_inode(&fop->loc, inode);
  fop->args.dict = gi_dict_new();
  gi_dict_set_bin(fop->args.dict, name, value, len);
  return op_end(c, fop);
}

int
sim_op_new_brick(struct sim_client *c, unsigned brick)
{
  struct gi_fop *fop = op_new(c, GI_FOP_SETXATTR);
  GI_CLEANUP_FREE char *name = gi_asprintf("vol-client-%u", brick);
  struct gi_inode *root = sim_op_root(c);
  fop->caller.pid = PID_ADD_BRICK;
  gi_loc_set_inode(&fop->loc, root);
  gi_inode_unref(&root);
  fop->args.dict = gi_dict_new();
  gi_dict_set_str(fop->args.dict, "trusted.replace-brick", name);
  return op_end(c, fop);
}

ssize_t
sim_op_getxattr(struct sim_client *c, struct gi_inode *inode, const char *name, void *value, size_t size)
{
  struct gi_fop *fop = op_new(c, GI_FOP_GETXATTR);
  const void *bytes;
  uint32_t len = 0;
  gi_loc_set_inode(&fop->loc, inode);
  fop->args.name = gi_fop_strdup(fop, name, strlen(name));
  ssize_t ret = op_run(c, fop);
  if (ret >= 0 && fop->rsp.dict && gi_dict_get_bin(fop->rsp.dict, name, &bytes, &len)) {
    memcpy(value, bytes, len < size ? len : size);
    ret = len;
  } else if (ret >= 0) {
    ret = -ENODATA;
  }
  gi_fop_unref(fop);
  return ret;
}

/* ---- open files ---- */

int
sim_op_open(struct sim_client *c, struct gi_inode *inode, int flags, struct gi_fd **out)
{
  struct gi_fop *fop = op_new(c, GI_FOP_OPEN);
  struct gi_fd *fd = gi_fd_new(c->top->graph, inode, flags, fop->caller.pid);
  gi_fop_set_fd(fop, fd);
  fop->args.flags = (uint32_t)flags;
  int ret = op_end(c, fop);
  if (ret < 0)
    gi_fd_unref(&fd);
  *out = fd;
  return ret;
}

ssize_t
sim_op_write(struct sim_client *c, struct gi_fd *fd, uint64_t offset, const void *data, size_t len, uint64_t *size, bool *early)
{
  struct gi_fop *fop = op_new(c, GI_FOP_WRITE);
  struct gi_buf *buf = gi_buf_new(len ? len : 1);
  memcpy(buf->base, data, len);
  gi_payload_add(&fop->payload, buf, buf->base, len);
  gi_buf_unref(&buf);
  gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  fop->args.size = len;
  fop->args.flags = (uint32_t)fd->flags;
  ssize_t ret = op_run(c, fop);
  if (size)
    *size = ret >= 0 && gi_iatt_valid(&fop->rsp.post) ? fop->rsp.post.size : SIM_NO_SIZE;
  if (early)
    *early = ret >= 0 && fop->rsp.early;
  gi_fop_unref(fop);
  return ret;
}

ssize_t
sim_op_read(struct sim_client *c, struct gi_fd *fd, uint64_t offset, void *data, size_t len, uint64_t *size)
{
  struct gi_fop *fop = op_new(c, GI_FOP_READ);
  gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  fop->args.size = len;
  fop->args.flags = (uint32_t)fd->flags;
  ssize_t ret = op_run(c, fop);
  if (ret >= 0) {
    ret = (ssize_t)(fop->rsp.payload.len < len ? fop->rsp.payload.len : len);
    gi_payload_read(&fop->rsp.payload, 0, data, (size_t)ret);
  }
  if (size)
    *size = ret >= 0 && gi_iatt_valid(&fop->rsp.stat) ? fop->rsp.stat.size : SIM_NO_SIZE;
  gi_fop_unref(fop);
  return ret;
}

static int
on_fd(struct sim_client *c, struct gi_fd *fd, enum gi_fop_kind kind, uint64_t offset)
{
  struct gi_fop *fop = op_new(c, kind);
  gi_fop_set_fd(fop, fd);
  fop->args.offset = offset;
  return op_end(c, fop);
}

int
sim_op_fstat(struct sim_client *c, struct gi_fd *fd, uint64_t *size)
{
  struct gi_fop *fop = op_new(c, GI_FOP_FSTAT);
  gi_fop_set_fd(fop, fd);
  int ret = op_run(c, fop);
  *size = ret >= 0 && gi_iatt_valid(&fop->rsp.stat) ? fop->rsp.stat.size : SIM_NO_SIZE;
  gi_fop_unref(fop);
  return ret;
}

int
sim_op_fsync(struct sim_client *c, struct gi_fd *fd)
{
  return on_fd(c, fd, GI_FOP_FSYNC, 0);
}

int
sim_op_flush(struct sim_client *c, struct gi_fd *fd)
{
  return on_fd(c, fd, GI_FOP_FLUSH, 0);
}

int
sim_op_lock(struct sim_client *c, struct gi_fd *fd, uint32_t type)
{
  struct gi_fop *fop = op_new(c, GI_FOP_LK);
  gi_fop_set_fd(fop, fd);
  fop->args.cmd = GI_LKCMD_SET;
  fop->args.type = fop->args.flock.type = type;
  return op_end(c, fop);
}

int
sim_op_truncate(struct sim_client *c, struct gi_fd *fd, uint64_t size)
{
  return on_fd(c, fd, GI_FOP_FTRUNCATE, size);
}

/* ---- directories ---- */

/* The kernel keeps the names of a listing for as long as all bricks have promised to tell of the directory's since it was opened, at `asked`,
 * if nobody has told of anything since then. */
static int
list_some(struct sim_client *c, struct gi_fd *fd, size_t bytes, uint64_t *offset, uint64_t asked, uint64_t clock,
          void (*fn)(void *arg, const struct gi_dirent *e), void *arg)
{
  struct gi_fop *fop = op_new(c, GI_FOP_READDIRP);
  gi_fop_set_fd(fop, fd);
  fop->args.offset = *offset;
  fop->args.size = bytes;
  int ret = op_run(c, fop);
  const struct gi_dirents *d = &fop->rsp.entries;
  for (uint32_t i = 0; ret >= 0 && i < d->count; i++) {
    *offset = d->entry[i].off;
    if (strcmp(d->entry[i].name, ".") == 0 || strcmp(d->entry[i].name, "..") == 0)
      continue;
    if (gi_iatt_valid(&d->entry[i].stat) && !gi_gfid_is_none(&d->entry[i].stat.gfid))
      sim_kept_put(&c->kept, c->top, fd->inode, d->entry[i].name, &d->entry[i].stat, asked, clock);
    fn(arg, &d->entry[i]);
  }
  ret = ret < 0 ? ret : (int)d->count;
  gi_fop_unref(fop);
  return ret;
}

int
sim_op_list(struct sim_client *c, struct gi_inode *dir, void (*fn)(void *arg, const struct gi_dirent *e), void *arg)
{
  return sim_op_list_slowly(c, dir, LIST_BYTES, 0, fn, arg);
}

int
sim_op_list_slowly(struct sim_client *c, struct gi_inode *dir, size_t bytes, uint64_t pause_ns,
                   void (*fn)(void *arg, const struct gi_dirent *e), void *arg)
{
  struct gi_fop *fop = op_new(c, GI_FOP_OPENDIR);
  struct gi_fd *fd = gi_fd_new(c->top->graph, dir, O_RDONLY | O_DIRECTORY, fop->caller.pid);
  uint64_t offset = 0, asked = gi_now(c->top->reactor), clock = c->kept.clock;
  fd->directory = true;
  gi_fop_set_fd(fop, fd);
  int ret = op_end(c, fop);
  while (ret >= 0 && (ret = list_some(c, fd, bytes, &offset, asked, clock, fn, arg)) > 0)
    if (pause_ns)
      sim_op_pause(c, pause_ns);
  gi_fd_unref(&fd);
  return ret;
}

/* ---- the rest ---- */

struct gi_inode *
sim_op_root(struct sim_client *c)
{
  struct gi_inode *root = gi_inode_get(c->top->graph, &gi_gfid_root);
  root->mode = S_IFDIR;
  return root;
}

void
sim_op_pause(struct sim_client *c, uint64_t ns)
{
  gi_task_sleep(c->top->reactor, ns);
}
