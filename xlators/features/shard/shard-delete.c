/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleting blocks in the background.
 *
 * Before the last name of a sharded file goes, a marker with its sizes is made:
 * /.shard/.remove_me/GFID. When the name is gone and nobody here has the file
 * open any more, the blocks are removed, some at a time, then the marker. Who is
 * stopped in between leaves the marker, and a mount that finds it some time later
 * goes on. Nothing is deleted while the base file can be found by its gfid, nor
 * while a mount of ours that removed it has it open: it has the lock of the marker.
 */
#include "xlators/features/shard/shard.h"

#define SH_CLEAN_AGE_S 60 /* markers younger than that are somebody's who works on it */
#define SH_CLEAN_AGAIN_NS (600 * GI_NSEC_PER_SEC)

static struct gi_fop *
marker(struct shard *sh, struct gi_fop *parent, enum gi_fop_kind kind, const struct gi_gfid *gfid)
{
  struct gi_fop *fop = sh_fop(sh, parent, kind);
  struct gi_inode *dir = sh_dir(sh, 1);
  char text[GI_UUID_TEXT];

  gi_fop_set_entry(fop, &fop->loc, dir, gi_gfid_text(gfid, text));
  gi_inode_unref(&dir);
  return fop;
}

int
sh_mark(struct sh_file *file, struct gi_fop *fop)
{
  struct shard *sh = file->sh;
  int err = sh_dir_ready(sh, fop, 1, true);

  if (err)
    return err;
  struct gi_fop *mk = marker(sh, fop, GI_FOP_MKNOD, &file->inode->gfid);
  struct gi_gfid wanted = gi_gfid_new(sh->x->reactor);

  mk->args.mode = S_IFREG | 0644;
  gi_dict_set_gfid(gi_fop_xdata(mk), "gfid-req", &wanted);
  sh_size_keys(file, mk->xdata);
  err = sh_run(sh, mk);
  gi_fop_unref(mk);
  if (err == ENOENT || err == ESTALE)
    sh->dir_known[0] = sh->dir_known[1] = false;
  return err == EEXIST ? 0 : err;
}

void
sh_unmark(struct shard *sh, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct gi_fop *rm = marker(sh, fop, GI_FOP_UNLINK, gfid);

  GI_IGNORE(sh_run(sh, rm)); /* whoever cleans finds it, and the file */
  gi_fop_unref(rm);
}

/* ---- blocks ---- */

static int
remove_range(struct shard *sh, const struct gi_gfid *gfid, uint64_t first, uint64_t end, struct sh_removed *sum)
{
  size_t most = (size_t)sh_opts(sh)->deletion_rate;
  struct sh_numbers there;
  int err = sh_blocks_between(sh, NULL, gfid, first, end, &there);

  for (size_t i = 0, n; !err && i < there.count; i += n) {
    n = there.count - i < most ? there.count - i : most;
    err = sh->stopping ? EINTR : sh_blocks_remove(sh, NULL, gfid, there.n + i, n, sum);
  }
  sh_numbers_free(&there);
  return err;
}

/* A client that was stopped may have left blocks behind the end. */
static int
remove_blocks(struct shard *sh, const struct sh_doom *doom)
{
  uint64_t behind = doom->count > 1 ? doom->count : 1, some = 1;
  struct sh_removed sum = {0};
  int err = remove_range(sh, &doom->gfid, 1, behind, &sum);

  for (uint64_t before = UINT64_MAX; !err && before != sum.files; behind += some, some = (uint64_t)sh_opts(sh)->deletion_rate) {
    before = sum.files;
    err = remove_range(sh, &doom->gfid, behind, behind + some, &sum);
  }
  sh->m.deleted += sum.files;
  return err;
}

/* Others' deleting is kept away by a lock on the name of the marker. */
static int
lock_marker(struct shard *sh, const struct gi_gfid *gfid, uint32_t cmd)
{
  struct gi_inode *dir = sh_dir(sh, 1);
  struct gi_fop *lk = sh_inode_fop(sh, NULL, GI_FOP_ENTRYLK, dir);
  char text[GI_UUID_TEXT];

  lk->caller.owner = sh->owner;
  lk->args.domain = sh->x->name;
  gi_gfid_text(gfid, text);
  lk->args.name = gi_fop_strdup(lk, text, strlen(text));
  lk->args.cmd = cmd;
  lk->args.type = GI_LK_WRITE;
  int err = sh_run(sh, lk);

  gi_fop_unref(lk);
  gi_inode_unref(&dir);
  return err;
}

static int
base_is_gone(struct shard *sh, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_get(sh->x->graph, gfid);
  struct gi_fop *look = sh_inode_fop(sh, NULL, GI_FOP_LOOKUP, inode);
  int err = sh_run(sh, look);

  gi_fop_unref(look);
  gi_inode_unref(&inode);
  return err == ENOENT || err == ESTALE ? 0 : err ? err : EEXIST;
}

static int delete (struct shard *sh, const struct sh_doom *doom)
{
  int err = doom->locked ? 0 : lock_marker(sh, &doom->gfid, GI_ENTRYLK_NB);

  if (err)
    return err;
  err = base_is_gone(sh, &doom->gfid);
  if (!err)
    err = remove_blocks(sh, doom);
  if (!err || err == EEXIST)
    sh_unmark(sh, NULL, &doom->gfid);
  GI_IGNORE(lock_marker(sh, &doom->gfid, GI_ENTRYLK_UNLOCK)); /* if that fails the brick has lost it */
  return err;
}

/* It got another name at the same time, and has it: its size stands on the bricks as ever. */
static void
not_gone(struct shard *sh, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_find(sh->x->graph, gfid);
  struct sh_file *file = sh_file_of(sh, inode);

  if (file) {
    file->unlinked = false;
    sh_forget(file);
  }
  gi_inode_unref(&inode);
}

static void
delete_now(struct shard *sh, void *arg)
{
  struct sh_doom *doom = arg;
  char text[GI_UUID_TEXT];
  int err = delete (sh, doom);

  if (!err)
    sh->m.files_deleted++;
  else if (err == EEXIST)
    not_gone(sh, &doom->gfid);
  else
    gi_log(GI_LOG_INFO, sh->x->name, GI_MSG_SHARD, "blocks of %s are left to be deleted later: %s",
           gi_gfid_text(&doom->gfid, text), strerror(err));
  gi_free(doom);
}

/* ---- who has it open ---- */

static bool
is_open(const struct gi_inode *inode)
{
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link)
    if (!fd->anonymous)
      return true;
  return false;
}

static void
doom_start(struct shard *sh, struct sh_doom *doom)
{
  GI_ASSERT(!sh->stopping && doom->inode && doom->count > 0);
  gi_list_del(&doom->link);
  gi_inode_unref(&doom->inode);
  sh_work(sh, delete_now, doom);
}

void
sh_doom(struct sh_file *file)
{
  struct shard *sh = file->sh;
  struct sh_doom *doom = gi_new(struct sh_doom);

  GI_ASSERT(file->unlinked);

  doom->gfid = file->inode->gfid;
  doom->count = file->size / file->block_size + 1;
  doom->inode = gi_inode_ref(file->inode);
  doom->locked = is_open(doom->inode) && lock_marker(sh, &doom->gfid, GI_ENTRYLK_NB) == 0; /* nobody cleans it away meanwhile */
  if (sh->stopping) {                                                                      /* meanwhile: the marker stays */
    gi_inode_unref(&doom->inode);
    gi_free(doom);
    return;
  }
  gi_list_add_tail(&sh->dooms, &doom->link);
  gi_defer_add(sh->x->reactor, &sh->closed);
}

/* Some descriptor was closed, or a file lost its last name. */
void
sh_closed(void *arg)
{
  struct shard *sh = arg;

  if (sh->stopping)
    return;
  gi_list_foreach_safe(d, &sh->dooms, struct sh_doom, link)
    if (!is_open(d->inode))
      doom_start(sh, d);
}

/* The markers stay. */
void
sh_doom_drop_all(struct shard *sh)
{
  while (!gi_list_empty(&sh->dooms)) {
    struct sh_doom *doom = gi_list_first(&sh->dooms, struct sh_doom, link);

    gi_list_del(&doom->link);
    gi_inode_unref(&doom->inode);
    gi_free(doom);
  }
}

/* ---- what others left ---- */

static bool
is_old(struct shard *sh, const struct gi_dirent *e)
{
  return gi_iatt_valid(&e->stat) && e->stat.ctime.sec + SH_CLEAN_AGE_S < gi_wall(sh->x->reactor).sec;
}

/* Markers that are left to others, or to another time. */
static int
clean_entry(struct shard *sh, const struct gi_dirent *e, void *arg)
{
  struct sh_doom doom = {.gfid = gi_gfid_none};
  unsigned *left = arg;
  uint64_t size, block;
  char name[GI_UUID_TEXT] = "";

  if (e->name_len != GI_UUID_TEXT - 1)
    return 0;
  memcpy(name, e->name, GI_UUID_TEXT - 1);
  if (!gi_gfid_parse(name, &doom.gfid) || gi_gfid_is_none(&doom.gfid))
    return 0;
  if (sh_sizes(e->xdata, &block, &size))
    doom.count = size / block + 1;
  if (!is_old(sh, e) || delete (sh, &doom))
    ++*left; /* another mount has it, or the bricks cannot do it now */
  return 0;
}

static void
clean(struct shard *sh, void *arg)
{
  unsigned left = 0;

  (void)arg;
  if (sh_list(sh, NULL, 1, UINT64_MAX, clean_entry, &left))
    left++;
  if (!sh->stopping)
    gi_timer_set(&sh->clean, left ? SH_CLEAN_AGE_S * GI_NSEC_PER_SEC : SH_CLEAN_AGAIN_NS);
}

void
sh_clean_due(void *arg)
{
  struct shard *sh = arg;

  if (!sh->stopping)
    sh_work(sh, clean, NULL);
}
