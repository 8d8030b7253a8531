/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of blocks: where they are, how they are made and removed, and which
 * of them are written and not synchronised.
 *
 * What is kept of a block is its gfid. Another client may have removed the file
 * since, and made another one: the brick then says that there is no such gfid, and
 * the name is looked up again. That a block is not there is never kept.
 */
#include "xlators/features/shard/shard.h"

#include "libglusterish/mutants.h"

#include <inttypes.h>

#define SH_TRIES 4 /* a block that is replaced as often while we want it is in strange hands */

const struct gi_gfid sh_dir_gfid[2] = {
    {{0xbe, 0x31, 0x86, 0x38, 0xe8, 0xa0, 0x4c, 0x6d, 0x97, 0x7d, 0x7a, 0x93, 0x7a, 0xa8, 0x48, 0x06}},
    {{0x77, 0xdd, 0x5a, 0x45, 0xdb, 0xf5, 0x45, 0x92, 0xb3, 0x1b, 0xb4, 0x40, 0x38, 0x23, 0x02, 0xe9}},
};
const char *const sh_dir_name[2] = {".shard", ".remove_me"};

/* ---- the directories ---- */

struct gi_inode *
sh_dir(struct shard *sh, unsigned which)
{
  struct gi_inode *dir = gi_inode_get(sh->x->graph, &sh_dir_gfid[which]);

  dir->mode = S_IFDIR;
  return dir;
}

static struct gi_fop *
dir_fop(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind, unsigned which)
{
  GI_ASSERT(which < 2);
  struct gi_fop *fop = sh_fop(sh, parent, kind);
  struct gi_inode *above = which == 0 ? gi_inode_get(sh->x->graph, &gi_gfid_root) : sh_dir(sh, 0);

  gi_fop_set_entry(fop, &fop->loc, above, sh_dir_name[which]);
  gi_inode_unref(&above);
  return fop;
}

static int
run_dir(struct shard *sh, struct gi_fop *fop, unsigned which)
{
  int err = sh_run(sh, fop);

  if (!err && !gi_gfid_equal(&fop->rsp.stat.gfid, &sh_dir_gfid[which]))
    err = EIO; /* somebody made a directory of that name that is not ours */
  gi_fop_unref(fop);
  return err;
}

int
sh_dir_ready(struct shard *sh, struct gi_fop *parent, unsigned which, bool create)
{
  if (sh->dir_known[which])
    return 0;
  int err = which == 1 ? sh_dir_ready(sh, parent, 0, create) : 0;

  if (!err)
    err = run_dir(sh, dir_fop(sh, parent, GI_FOP_LOOKUP, which), which);
  if (err == ENOENT && create && (which == 0 || sh->dir_known[0])) {
    struct gi_fop *mk = dir_fop(sh, parent, GI_FOP_MKDIR, which);

    mk->args.mode = S_IFDIR | 0755;
    gi_dict_set_gfid(gi_fop_xdata(mk), "gfid-req", &sh_dir_gfid[which]);
    err = run_dir(sh, mk, which);
    /* All make it with this gfid, so what another has made may be taken for an attempt of ours that failed. */
    if (err == EEXIST || err == ENOTCONN)
      err = run_dir(sh, dir_fop(sh, parent, GI_FOP_LOOKUP, which), which);
  }
  sh->dir_known[which] = !err;
  return err;
}

struct gi_fop *
sh_block_entry(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind, const struct gi_gfid *gfid, uint64_t n)
{
  struct gi_fop *fop = sh_fop(sh, parent, kind);
  struct gi_inode *dir = sh_dir(sh, 0);
  char text[GI_UUID_TEXT], name[GI_UUID_TEXT + 24];

  GI_ASSERT(n > 0 && !gi_gfid_is_none(gfid));
  snprintf(name, sizeof(name), "%s.%" PRIu64, gi_gfid_text(gfid, text), n);
  gi_fop_set_entry(fop, &fop->loc, dir, name);
  gi_inode_unref(&dir);
  return fop;
}

/* ---- what is kept ---- */

static struct gi_list *
bucket_of(struct shard *sh, const struct sh_file *file, uint64_t n)
{
  uint64_t h = (gi_gfid_ino(&file->inode->gfid) + n) * 0x9e3779b97f4a7c15ull;

  return &sh->bucket[(h >> 32) % SH_BUCKETS];
}

static struct sh_block *
find(const struct sh_file *file, uint64_t n)
{
  gi_list_foreach(b, bucket_of(file->sh, file, n), struct sh_block, bucket_link)
    if (b->file == file && b->n == n)
      return b;
  return NULL;
}

static void
block_free(struct sh_block *b)
{
  if (gi_lru_holds(&b->item))
    gi_lru_remove(&b->file->sh->lru, &b->item);
  gi_list_del(&b->bucket_link);
  gi_list_del(&b->file_link);
  GI_ASSERT(b->file->sh->m.held > 0);
  b->file->sh->m.held--;
  gi_free(b);
}

void
sh_block_evict(void *arg, struct gi_lru_item *item)
{
  block_free(GI_CONTAINER(item, struct sh_block, item));
}

void
sh_block_drop(struct sh_file *file, uint64_t n)
{
  struct sh_block *b = find(file, n);

  GI_ASSERT(n > 0);
  if (b)
    block_free(b);
}

void
sh_blocks_forget(struct sh_file *file)
{
  while (!gi_list_empty(&file->found))
    block_free(gi_list_first(&file->found, struct sh_block, file_link));
}

static struct sh_block *
keep(struct sh_file *file, uint64_t n, const struct gi_gfid *gfid)
{
  struct shard *sh = file->sh;
  struct sh_block *b = find(file, n);

  if (!b) {
    b = gi_new(struct sh_block);
    b->file = file;
    b->n = n;
    gi_list_add_tail(bucket_of(sh, file, n), &b->bucket_link);
    gi_list_add_tail(&file->found, &b->file_link);
    sh->m.held++;
    gi_lru_add(&sh->lru, &b->item, sizeof(*b));
  }
  GI_ASSERT(!gi_gfid_is_none(gfid) && !b->dirty == gi_lru_holds(&b->item));
  b->gfid = *gfid;
  return b;
}

void
sh_block_dirty(struct sh_file *file, uint64_t n)
{
  struct sh_block *b = find(file, n);

  if (!b || b->dirty)
    return;
  b->dirty = true;
  if (gi_lru_holds(&b->item))
    gi_lru_remove(&file->sh->lru, &b->item);
}

/* ---- finding and making ---- */

static struct gi_fop *
block_entry(struct sh_file *file, struct gi_fop *parent, enum gi_fop_kind kind, uint64_t n)
{
  return sh_block_entry(file->sh, parent, kind, &file->inode->gfid, n);
}

static int
lookup_block(struct sh_file *file, struct gi_fop *parent, uint64_t n, struct gi_gfid *gfid)
{
  struct gi_fop *look = block_entry(file, parent, GI_FOP_LOOKUP, n);

  look->caller.stamps = 0;
  int err = sh_run(file->sh, look);

  if (!err && !S_ISREG(look->rsp.stat.mode))
    err = EIO;
  *gfid = look->rsp.stat.gfid;
  gi_fop_unref(look);
  return err;
}

static int
make_block(struct sh_file *file, struct gi_fop *parent, uint64_t n, struct gi_gfid *gfid)
{
  struct shard *sh = file->sh;
  int err = sh_dir_ready(sh, parent, 0, true);

  if (err)
    return err;
  struct gi_fop *mk = block_entry(file, parent, GI_FOP_MKNOD, n);
  struct gi_gfid wanted = gi_gfid_next(&sh->gfids, sh->x->reactor);

  mk->args.mode = S_IFREG | 0644;
  gi_dict_set_gfid(gi_fop_xdata(mk), "gfid-req", &wanted);
  mk->caller.stamps |= GI_STAMP_ATIME | GI_STAMP_PARENT_CTIME | GI_STAMP_PARENT_MTIME;
  err = sh_run(sh, mk);
  *gfid = mk->rsp.stat.gfid;
  gi_fop_unref(mk);
  if (!err)
    sh->m.made++;
  if (err == ENOENT || err == ESTALE)
    sh->dir_known[0] = false;
  return err == EEXIST ? lookup_block(file, parent, n, gfid) : err;
}

static struct gi_inode *
known_block(struct sh_file *file, uint64_t n, const struct gi_gfid *gfid, uint64_t seen)
{
  struct gi_inode *inode = gi_inode_get(file->sh->x->graph, gfid);
  struct sh_inode *si = sh_inode(file->sh, inode);

  GI_ASSERT(si->what != SH_FILE);
  inode->mode = S_IFREG;
  si->what = SH_BLOCK;
  si->base = file->inode->gfid;
  struct sh_block *b = keep(file, n, gfid);
  b->seen = seen;
  if (!b->dirty)
    gi_lru_touch(&file->sh->lru, &b->item);
  return inode;
}

int
sh_block_get(struct sh_file *file, struct gi_fop *fop, uint64_t n, bool create, struct gi_inode **inode)
{
  const struct sh_block *b = find(file, n);
  struct gi_gfid gfid = b ? b->gfid : gi_gfid_none;
  uint64_t seen = b ? b->seen : file->looked;
  int err = 0;

  GI_ASSERT(n > 0);
  *inode = NULL;
  if (!b) {
    err = sh_dir_ready(file->sh, fop, 0, create);
    if (!err)
      err = lookup_block(file, fop, n, &gfid);
    if (err == ENOENT && create)
      err = make_block(file, fop, n, &gfid);
  }
  if (err == ENOENT && !create)
    return 0;
  if (!err && gi_gfid_is_none(&gfid))
    err = EIO;
  if (!err)
    *inode = known_block(file, n, &gfid, seen);
  return err;
}

/* Who looks a file up, or opens it, reads what was written before that. A set reads from the copy that was good when the block was looked up: that
 * may have missed what another client has written since, if only that client has lost it. */
static int
look_again(struct sh_file *file, struct gi_fop *fop, uint64_t n)
{
  const struct sh_block *b = find(file, n);
  uint64_t seen = file->looked;
  struct gi_gfid gfid;
  int err;

  if (!b || b->seen == seen)
    return 0;
  err = lookup_block(file, fop, n, &gfid);
  if (err == ENOENT)
    sh_block_drop(file, n);
  else if (!err && gi_gfid_is_none(&gfid))
    err = EIO;
  else if (!err)
    keep(file, n, &gfid)->seen = seen;
  return err == ENOENT ? 0 : err;
}

int
sh_block_run(struct sh_file *file, struct gi_fop *fop, enum gi_fop_kind kind, uint64_t n, bool create, sh_block_fill *fill,
             void *arg, struct gi_fop **reply)
{
  struct shard *sh = file->sh;

  GI_ASSERT(n > 0 && gi_fop_table[kind].target == GI_TARGET_FD);
  *reply = NULL;
  for (unsigned i = 0;; i++) {
    struct gi_inode *inode = NULL;
    int err = kind == GI_FOP_READ || kind == GI_FOP_SEEK ? look_again(file, fop, n) : 0;

    if (!err)
      err = sh_block_get(file, fop, n, create, &inode);
    if (err || !inode)
      return err;
    struct gi_fop *op = sh_fop(sh, fop, kind);
    struct gi_fd *fd = gi_fd_anonymous(sh->x->graph, inode);

    gi_fop_set_fd(op, fd);
    gi_fd_unref(&fd);
    gi_inode_unref(&inode);
    fill(op, arg);
    err = sh_run(sh, op);
    if ((err == ENOENT || err == ESTALE) && i < SH_TRIES) {
      gi_fop_unref(op);
      sh_block_drop(file, n);
      continue;
    }
    *reply = op;
    return err;
  }
}

/* ---- on the disks ---- */

static void
fill_sync(struct gi_fop *fop, void *arg)
{
  fop->args.datasync = *(const bool *)arg;
  fop->caller.stamps = 0;
}

static uint64_t
some_dirty(const struct sh_file *file)
{
  gi_list_foreach(b, &file->found, struct sh_block, file_link)
    if (b->dirty)
      return b->n;
  return 0;
}

/* A block is clean from when its FSYNC is sent: what is written meanwhile makes it dirty again. If that fails it is not. */
static int
sync_one(struct sh_file *file, struct gi_fop *fop, uint64_t n, bool datasync)
{
  struct sh_block *b = find(file, n);
  struct gi_fop *reply;

  GI_ASSERT(b && b->dirty && !gi_lru_holds(&b->item));
  b->dirty = false;
  gi_lru_add(&file->sh->lru, &b->item, sizeof(*b));
  int err = sh_block_run(file, fop, GI_FOP_FSYNC, n, false, fill_sync, &datasync, &reply);

  gi_fop_unref(reply);
  if (err)
    sh_block_dirty(file, n);
  return err;
}

/* One after the other: what another one has begun is on the disks only when that has ended. */
int
sh_blocks_sync(struct sh_file *file, struct gi_fop *fop, bool datasync)
{
  int err = 0;

  sh_gate_enter(file->sh->x->reactor, &file->sync, true);
  for (uint64_t n; !err && (n = some_dirty(file)) != 0 && !GI_BROKEN("sync the first block alone");)
    err = sync_one(file, fop, n, datasync);
  sh_gate_leave(&file->sync);
  return err;
}
