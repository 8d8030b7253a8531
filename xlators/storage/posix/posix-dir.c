/* SPDX-License-Identifier: Apache-2.0
 *
 * OPENDIR, READDIR, READDIRP. Cookies are the kernel's own d_off (position
 * after the entry), so they hold for every descriptor of the directory and
 * survive changes (brick.md 5.6). Entries come straight from getdents64.
 */
#include "xlators/storage/posix/posix.h"

#include <dirent.h>

#define ENTRY_FIXED 200u /* what one entry counts besides its name (wire.md 3.10) */
#define BUDGET_MAX (128u << 10)
#define DENTS_MAX 32768u

enum posix_run
posix_run_opendir(struct posix_op *op)
{
  struct posix_at at;
  struct stat st;
  int err = posix_obj_at(op, &at, &st);

  if (!err && !S_ISDIR(st.st_mode))
    err = ENOTDIR;
  if (err)
    return posix_err(op, err == ENOENT ? ESTALE : err);
  op->new_fd = gi_fs_openat(op->p->fs, at.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (op->new_fd < 0)
    return posix_err(op, errno);
  posix_node_known(op, NODE_OBJ, (struct posix_at){op->new_fd, ""});
  if (op->fop->xdata)
    posix_fill(op, op->fop->xdata, at, &st, &op->node[NODE_OBJ].gfid, &op->fop->rsp.xdata);
  return posix_ok(op, 0);
}

int
posix_prepare_readdir(struct posix_op *op)
{
  int err = posix_prepare_fd(op);

  if (!err && op->fop->args.offset > INT64_MAX)
    err = EINVAL;
  /* Seek and read are two steps on a shared descriptor. */
  op->exclusive = true;
  return err;
}

static bool
wanted(struct posix_op *op, const struct gi_fs_dirent *d)
{
  int64_t no_dirs;

  if (gi_gfid_is_root(&op->node[NODE_OBJ].gfid) && strcmp(d->name, ".glusterfs") == 0)
    return false;
  return d->type != DT_DIR || !gi_dict_get_int(op->fop->xdata, "readdir-filter-directories", &no_dirs) || !no_dirs;
}

/* ".." of the volume root lies outside of the volume: no identity (wire.md 4, READDIRP). */
static void
describe_outside(struct gi_dirent *e, const struct stat *st)
{
  posix_iatt(st, &gi_gfid_none, &e->stat);
  e->stat.flags = GI_IATT_BASIC & ~0x100u;
  e->ino = e->stat.ino = UINT64_MAX;
}

/* The reactor puts them in at the end. */
static bool
times_are_known(const struct posix_op *op, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = op->on_worker ? NULL : gi_inode_find(op->fop->graph, gfid);
  bool known = inode && posix_inode_of(op->p, inode)->md_state == MD_PRESENT;

  gi_inode_unref(&inode);
  return known;
}

/* Attributes and requested keys of one entry; whatever fails leaves them out and the client looks it up. */
static void
describe(struct posix_op *op, struct gi_dirent *e)
{
  struct posix_at at = {op->fd, e->name};
  struct posix_times t;
  struct gi_gfid gfid;
  struct stat st;

  if (strcmp(e->name, "..") == 0 && gi_gfid_is_root(&op->node[NODE_OBJ].gfid)) {
    if (posix_at_stat(op->p, at, &st) == 0)
      describe_outside(e, &st);
    return;
  }
  if (posix_entry_read(op, at, &st, &gfid))
    return;
  posix_iatt(&st, &gfid, &e->stat);
  e->ino = e->stat.ino;
  if (op->p->cfg.ctime && !times_are_known(op, &gfid) && posix_md_read(op->p, at, &t) == MD_PRESENT) {
    e->stat.ctime = t.c;
    e->stat.mtime = t.m;
    e->stat.atime = t.a;
  }
  if (op->fop->xdata)
    posix_fill(op, op->fop->xdata, at, &st, &gfid, &e->xdata);
}

static void
add_entry(struct posix_op *op, const struct gi_fs_dirent *d)
{
  struct gi_dirent e = {
      .ino = d->ino, .off = (uint64_t)d->off, .type = d->type, .name = d->name, .name_len = (uint32_t)strlen(d->name)};

  if (op->fop->kind == GI_FOP_READDIRP)
    describe(op, &e);
  gi_dirents_add(&op->fop->rsp.entries, &e, op->fop);
}

/* 1 more may fit, 0 the budget is used up; *pos = cookie of the last entry taken or skipped. */
static bool
take_entries(struct posix_op *op, const char *buf, ssize_t len, uint32_t *budget, int64_t *pos)
{
  for (const char *s = buf; s < buf + len;) {
    const struct gi_fs_dirent *d = (const void *)s;
    uint32_t cost = ENTRY_FIXED + (uint32_t)strlen(d->name) + 1;

    if (wanted(op, d)) {
      if (cost > *budget && op->fop->rsp.entries.count) /* one entry always, or the reader would not get on */
        return false;
      *budget -= cost < *budget ? cost : *budget;
      add_entry(op, d);
    }
    *pos = d->off;
    s += d->reclen;
  }
  return true;
}

enum posix_run
posix_run_readdir(struct posix_op *op)
{
  struct gi_fop *fop = op->fop;
  _Alignas(8) char buf[DENTS_MAX];
  uint32_t budget = fop->args.size < BUDGET_MAX ? (uint32_t)fop->args.size : BUDGET_MAX;
  size_t room = budget < DENTS_MAX ? (budget < 512 ? 512 : budget) : DENTS_MAX;
  int64_t pos = (int64_t)fop->args.offset;
  int err = posix_obj_open(op, O_RDONLY);
  bool end = false;
  ssize_t n;

  if (err)
    return posix_err(op, err);
  if (gi_fs_lseek(op->p->fs, op->fd, (off_t)pos, SEEK_SET) < 0)
    return posix_err(op, errno == ESPIPE ? ENOTDIR : errno);
  for (;;) {
    n = gi_fs_getdents(op->p->fs, op->fd, buf, room);
    if (n < 0)
      return posix_err(op, errno);
    end = n == 0;
    if (end || !take_entries(op, buf, n, &budget, &pos))
      break;
  }
  posix_ok(op, fop->rsp.entries.count);
  if (end)
    fop->rsp.err = ENOENT;
  return RUN_DONE;
}

void
posix_finish_readdir(struct posix_op *op)
{
  struct gi_dirents *d = &op->fop->rsp.entries;

  posix_left_tell(op);
  if (op->fop->kind != GI_FOP_READDIRP || !op->p->cfg.ctime)
    return;
  for (uint32_t i = 0; i < d->count; i++) {
    struct gi_dirent *e = &d->entry[i];
    struct gi_inode *inode = gi_gfid_is_none(&e->stat.gfid) ? NULL : gi_inode_find(op->fop->graph, &e->stat.gfid);

    if (inode)
      posix_md_overlay_inode(op->p, inode, &e->stat, e->xdata);
    gi_inode_unref(&inode);
  }
}
