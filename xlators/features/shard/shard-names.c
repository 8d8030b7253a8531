/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: the last one of a sharded file that goes, and the listing of the root,
 * in which the directory of blocks is not shown.
 */
#include "xlators/features/shard/shard.h"

/* ---- UNLINK, RENAME ---- */

/* The object under a name: its attributes, and the sharded file that it is, with a reference on its inode. No object: 0 and NULL. */
static int
find(struct shard *sh, struct gi_fop *fop, const struct gi_loc *loc, struct gi_iatt *stat, struct gi_inode **inode)
{
  struct gi_fop *look = gi_fop_helper(fop, GI_FOP_LOOKUP);
  uint64_t asked = gi_now(sh->x->reactor);
  struct sh_file *file = NULL;

  GI_ASSERT(loc->name);
  *inode = NULL;
  gi_loc_copy_name(&look->loc, loc);
  look->caller.stamps = 0;
  sh_request_keys(look);
  int err = sh_run(sh, look);

  if (!err) {
    *stat = look->rsp.stat;
    err = sh_learn_asked(sh, look, asked, &file);
    if (file)
      *inode = gi_inode_ref(file->inode);
  }
  gi_fop_unref(look);
  return err == ENOENT ? 0 : err;
}

/* Of several names one went; was it the last after all? */
static bool
is_gone(struct shard *sh, struct gi_fop *fop, struct gi_inode *inode)
{
  struct gi_fop *look = sh_inode_fop(sh, fop, GI_FOP_LOOKUP, inode);

  look->caller.stamps = 0;
  int err = sh_run(sh, look);

  gi_fop_unref(look);
  return err == ENOENT || err == ESTALE;
}

static int
mark(struct sh_file *file, struct gi_fop *fop)
{
  int err = sh_know(file, fop, NULL);

  return err ? err : sh_mark(file, fop);
}

static void
gone(struct sh_file *file)
{
  GI_ASSERT(!file->unlinked || file->known);
  file->unlinked = true;
  sh_doom(file);
}

int
sh_unlink(struct shard *sh, struct gi_fop *fop)
{
  const struct gi_loc *loc = fop->kind == GI_FOP_RENAME ? &fop->loc2 : &fop->loc;
  struct gi_iatt stat = {0};
  struct gi_inode *inode;
  int err = find(sh, fop, loc, &stat, &inode);
  struct sh_file *file = sh_file_of(sh, inode);

  if (!err && !file)
    return sh_pass(sh, fop);
  bool last = stat.nlink <= 1;

  if (!err && last)
    err = mark(file, fop);
  if (!err) {
    err = sh_pass(sh, fop);
    if (err && last && err != ENOTCONN) /* else it may be gone: whoever cleans finds out */
      sh_unmark(sh, fop, &inode->gfid);
    if (!err && !last && is_gone(sh, fop, inode))
      last = mark(file, fop) == 0; /* another client took the other names at the same time */
    if (!err && last && (fop->kind != GI_FOP_RENAME || !gi_dict_get(fop->rsp.xdata, GI_SAME_FILE_KEY)))
      gone(file);
  }
  gi_inode_unref(&inode);
  return err;
}

/* ---- the root ---- */

static bool
is_hidden(const struct gi_dirent *e)
{
  return e->name_len == strlen(sh_dir_name[0]) && memcmp(e->name, sh_dir_name[0], e->name_len) == 0;
}

static uint64_t
hide(struct gi_dirents *d)
{
  uint64_t off = 0;
  uint32_t n = 0;

  for (uint32_t i = 0; i < d->count; i++) {
    if (is_hidden(&d->entry[i])) {
      off = d->entry[i].off;
      gi_dict_unref(&d->entry[i].xdata);
    } else {
      d->entry[n++] = d->entry[i];
    }
  }
  GI_ASSERT(n <= d->count);
  d->count = n;
  return off;
}

/* A part in which nothing else was is not the end. */
int
sh_list_root(struct shard *sh, struct gi_fop *fop)
{
  for (;;) {
    int err = sh_pass(sh, fop);
    uint64_t off = err ? 0 : hide(&fop->rsp.entries);

    if (!err)
      fop->rsp.ret = (int32_t)fop->rsp.entries.count;
    if (!err && off && fop->rsp.entries.count == 0 && off == fop->args.offset)
      err = EIO; /* it would go on for ever */
    if (err || !off || fop->rsp.entries.count > 0 || fop->rsp.err == ENOENT) {
      if (!err)
        sh_told_entries(sh, fop);
      return err;
    }
    fop->args.offset = off;
    gi_reply_clear(&fop->rsp);
  }
}
