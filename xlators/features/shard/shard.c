/* SPDX-License-Identifier: Apache-2.0
 *
 * features/shard: large files in blocks, each a file of its own.
 *
 * Files that are not sharded, and everything else that is none, pass by. What is
 * sharded goes to a task; replies that tell of a sharded file by the attributes
 * of its first block are corrected on their way up, so that nobody above ever
 * sees, or keeps, those. The directory of blocks cannot be reached from above.
 */
#include "xlators/features/shard/shard.h"

#include "libglusterish/content.h"

#define SH_CLEAN_NS (10 * GI_NSEC_PER_SEC)

/* ---- names that nobody may use ---- */

static bool
is_private(const struct gi_fop *fop, const struct gi_loc *loc)
{
  if (fop->caller.pid < 0)
    return false;
  if (gi_gfid_equal(&loc->gfid, &sh_dir_gfid[0]) || gi_gfid_equal(&loc->gfid, &sh_dir_gfid[1]) ||
      gi_gfid_equal(&loc->pargfid, &sh_dir_gfid[0]) || gi_gfid_equal(&loc->pargfid, &sh_dir_gfid[1]))
    return true;
  return loc->name && gi_gfid_is_root(&loc->pargfid) && strcmp(loc->name, sh_dir_name[0]) == 0;
}

static bool
names_private(const struct gi_dict *dict)
{
  for (uint32_t i = 0; i < gi_dict_count(dict); i++)
    if (strncmp(gi_dict_at(dict, i)->key, SH_KEYS, strlen(SH_KEYS)) == 0)
      return true;
  return false;
}

static bool
is_sharded_or_unknown(struct shard *sh, struct gi_fop *fop)
{
  const struct gi_inode *inode = gi_fop_inode(fop);

  return !inode || !sh_is_plain(sh, inode);
}

/* ---- down ---- */

static enum gi_verdict
on_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct shard *sh = x->private;

  if (is_private(fop, &fop->loc))
    return gi_fop_fail(fop, EPERM);
  sh_request_keys(fop);
  if (fop->loc.inode && sh_file_of(sh, fop->loc.inode) && gi_dict_get(fop->xdata, "glusterfs.content"))
    gi_dict_del(gi_fop_xdata(fop), "glusterfs.content");
  gi_content_unask(fop); /* it might be that of a first block */
  return GI_PASS_TELL;
}

static enum gi_verdict
on_stat(struct gi_xlator *x, struct gi_fop *fop)
{
  if (!is_sharded_or_unknown(x->private, fop))
    return GI_PASS;
  sh_request_keys(fop);
  return GI_PASS_TELL;
}

static enum gi_verdict
on_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  bool root = fop->fd && fop->fd->inode && gi_gfid_is_root(&fop->fd->inode->gfid);

  if (fop->kind == GI_FOP_READDIRP)
    sh_request_keys(fop);
  if (root && fop->caller.pid >= 0)
    return sh_task(x->private, fop, sh_list_root);
  return fop->kind == GI_FOP_READDIRP ? GI_PASS_TELL : GI_PASS;
}

static enum gi_verdict
on_new(struct gi_xlator *x, struct gi_fop *fop)
{
  struct shard *sh = x->private;

  if (is_private(fop, &fop->loc))
    return gi_fop_fail(fop, EPERM);
  if (fop->kind == GI_FOP_MKNOD && !S_ISREG(fop->args.mode))
    return GI_PASS;
  sh_new_file_keys(sh, gi_fop_xdata(fop));
  if (fop->kind == GI_FOP_CREATE) {
    ((struct sh_fop *)gi_fop_private(fop, x))->cuts = fop->args.flags & O_TRUNC;
    fop->args.flags &= ~(uint32_t)(O_APPEND | O_TRUNC);
  }
  return GI_PASS_TELL;
}

static enum gi_verdict
on_entry(struct gi_xlator *x, struct gi_fop *fop)
{
  struct shard *sh = x->private;
  bool rename = fop->kind == GI_FOP_RENAME;
  const struct gi_inode *goes = rename ? fop->loc2.inode : fop->loc.inode;

  if (is_private(fop, &fop->loc) || is_private(fop, &fop->loc2))
    return gi_fop_fail(fop, EPERM);
  if (fop->kind == GI_FOP_LINK)
    return is_sharded_or_unknown(sh, fop) ? GI_PASS_TELL : GI_PASS;
  if (!rename && fop->kind != GI_FOP_UNLINK)
    return GI_PASS;
  if (goes && sh_is_plain(sh, goes))
    return rename ? GI_PASS_TELL : GI_PASS;
  return sh_task(sh, fop, sh_unlink);
}

/* Times that are set are later than those that were put off. */
static int
set_attributes(struct sh_file *file, struct gi_fop *fop)
{
  int err = sh_flush_times(file, fop);

  if (!err)
    err = sh_pass(file->sh, fop);
  if (!err)
    err = sh_know(file, fop, NULL);
  if (!err && gi_iatt_valid(&fop->rsp.pre))
    sh_settle(file, &fop->rsp, &fop->rsp.pre, &fop->rsp.post, 0, false);
  return err;
}

static int
on_file(struct shard *sh, struct gi_fop *fop)
{
  static sh_file_fn *const fn[GI_FOP_MAX] = {
      [GI_FOP_OPEN] = sh_open,
      [GI_FOP_READ] = sh_read,
      [GI_FOP_WRITE] = sh_write,
      [GI_FOP_TRUNCATE] = sh_truncate,
      [GI_FOP_FTRUNCATE] = sh_truncate,
      [GI_FOP_FALLOCATE] = sh_space,
      [GI_FOP_DISCARD] = sh_space,
      [GI_FOP_ZEROFILL] = sh_space,
      [GI_FOP_SEEK] = sh_seek,
      [GI_FOP_FSYNC] = sh_fsync,
      [GI_FOP_FLUSH] = sh_flush,
      [GI_FOP_SETATTR] = set_attributes,
      [GI_FOP_FSETATTR] = set_attributes,
      [GI_FOP_SETXATTR] = set_attributes,
      [GI_FOP_FSETXATTR] = set_attributes,
      [GI_FOP_REMOVEXATTR] = set_attributes,
      [GI_FOP_FREMOVEXATTR] = set_attributes,
  };
  struct sh_file *file;
  int err = sh_identify(sh, fop, gi_fop_inode(fop), &file);

  GI_ASSERT(fn[fop->kind]);
  if (err)
    return err;
  return file ? fn[fop->kind](file, fop) : sh_pass(sh, fop);
}

static enum gi_verdict
on_data(struct gi_xlator *x, struct gi_fop *fop)
{
  if (!is_sharded_or_unknown(x->private, fop) || !gi_fop_inode(fop))
    return GI_PASS;
  return sh_task(x->private, fop, on_file);
}

/* Whoever cannot copy reads and writes. */
static int
copy(struct shard *sh, struct gi_fop *fop)
{
  struct sh_file *from, *to = NULL;
  int err = sh_identify(sh, fop, fop->fd->inode, &from);

  if (!err)
    err = sh_identify(sh, fop, fop->fd2->inode, &to);
  return err ? err : from || to ? EOPNOTSUPP : sh_pass(sh, fop);
}

static enum gi_verdict
on_copy(struct gi_xlator *x, struct gi_fop *fop)
{
  struct shard *sh = x->private;

  if (!fop->fd || !fop->fd2 || !fop->fd->inode || !fop->fd2->inode)
    return GI_PASS;
  if (sh_is_plain(sh, fop->fd->inode) && sh_is_plain(sh, fop->fd2->inode))
    return GI_PASS;
  return sh_task(sh, fop, copy);
}

static enum gi_verdict
on_change(struct gi_xlator *x, struct gi_fop *fop)
{
  bool removes = fop->kind == GI_FOP_REMOVEXATTR || fop->kind == GI_FOP_FREMOVEXATTR;

  if (fop->caller.pid >= 0 &&
      (names_private(fop->args.dict) || (removes && fop->args.name && strncmp(fop->args.name, SH_KEYS, strlen(SH_KEYS)) == 0)))
    return gi_fop_fail(fop, EPERM);
  return on_data(x, fop);
}

static enum gi_verdict
on_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  (void)x;
  if (fop->caller.pid < 0)
    return GI_PASS;
  if (!fop->args.name)
    return GI_PASS_TELL;
  return strncmp(fop->args.name, SH_KEYS, strlen(SH_KEYS)) == 0 ? gi_fop_fail(fop, ENODATA) : GI_PASS;
}

/* Whoever gets the lock after us sees by the times of files that we have written to them. */
static int
unlock(struct shard *sh, struct gi_fop *fop)
{
  sh_flush_all_times(sh, fop);
  return sh_pass(sh, fop);
}

static enum gi_verdict
on_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_LK && fop->args.type == GI_LK_UNLOCK && sh_some_moved(x->private))
    return sh_task(x->private, fop, unlock);
  return gi_fop_takes_lock(fop) && is_sharded_or_unknown(x->private, fop) ? GI_PASS_TELL : GI_PASS;
}

/* ---- up ---- */

/* The attributes of the object, when what is known of the file has to be asked for first. */
static int
correct(struct shard *sh, struct gi_fop *fop)
{
  struct gi_iatt *a = &fop->rsp.stat;
  struct gi_inode *inode = gi_iatt_valid(a) ? gi_inode_get(sh->x->graph, &a->gfid) : NULL;
  struct sh_file *file = NULL;
  int err = inode ? sh_identify(sh, fop, inode, &file) : 0;

  if (!err && file)
    err = sh_know(file, fop, NULL);
  if (!err && file)
    sh_show(file, a);
  if (err)
    *a = (struct gi_iatt){0}; /* it was done; what it left is not known */
  gi_inode_unref(&inode);
  return 0;
}

static void
strip(struct gi_fop *fop, const struct sh_file *file)
{
  static const char *const key[] = {SH_BLOCK_KEY, SH_SIZE_KEY};
  bool in_blocks = file;

  for (size_t i = 0; i < GI_ARRAY_LEN(key); i++)
    if (gi_dict_get(fop->rsp.xdata, key[i])) {
      in_blocks = true;
      gi_dict_del(gi_fop_rsp_xdata(fop), key[i]);
    }
  if (in_blocks && gi_dict_get(fop->rsp.xdata, "glusterfs.content"))
    gi_dict_del(gi_fop_rsp_xdata(fop), "glusterfs.content");
}

/* LOOKUP, STAT: the reply says what it is. */
static enum gi_verdict
told(struct shard *sh, struct gi_fop *fop)
{
  struct sh_file *file = sh_learn(sh, &fop->rsp.stat, fop->rsp.xdata, fop->start_ns);

  strip(fop, file);
  if (!file)
    return GI_PASS;
  file->looked += fop->kind == GI_FOP_LOOKUP;
  if (!file->known)
    return sh_reply_task(sh, fop, correct);
  sh_show(file, &fop->rsp.stat);
  return GI_PASS;
}

void
sh_told_entries(struct shard *sh, struct gi_fop *fop)
{
  struct gi_dirents *d = &fop->rsp.entries;

  GI_ASSERT(d->count <= d->capacity);
  for (uint32_t i = 0; i < d->count; i++) {
    struct gi_dirent *e = &d->entry[i];
    struct sh_file *file = sh_learn(sh, &e->stat, e->xdata, fop->start_ns);

    if (file && file->known)
      sh_show(file, &e->stat);
    else if (file)
      e->stat = (struct gi_iatt){0}; /* whoever wants to know asks */
  }
}

static enum gi_verdict
created(struct shard *sh, struct gi_fop *fop)
{
  struct gi_gfid wanted;
  bool made = fop->kind == GI_FOP_MKNOD ||
              (gi_dict_get_gfid(fop->xdata, "gfid-req", &wanted) && gi_gfid_equal(&wanted, &fop->rsp.stat.gfid));

  if (!gi_iatt_valid(&fop->rsp.stat))
    return GI_PASS;
  if (!made)
    return sh_reply_task(sh, fop, sh_created);
  struct gi_dict *keys = gi_dict_new();

  sh_new_file_keys(sh, keys);
  struct sh_file *file = sh_learn(sh, &fop->rsp.stat, keys, fop->start_ns);

  gi_dict_unref(&keys);
  if (file)
    sh_show(file, &fop->rsp.stat);
  return GI_PASS;
}

static enum gi_verdict
hide_keys(struct gi_fop *fop)
{
  if (!names_private(fop->rsp.dict))
    return GI_PASS;
  struct gi_dict *d = gi_dict_writable(&fop->rsp.dict);

  gi_dict_del(d, SH_BLOCK_KEY);
  gi_dict_del(d, SH_SIZE_KEY);
  return GI_PASS;
}

static enum gi_verdict
sh_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct shard *sh = x->private;
  struct sh_file *file;

  if (fop->rsp.ret < 0)
    return GI_PASS;
  switch (fop->kind) {
  case GI_FOP_LOOKUP:
  case GI_FOP_STAT:
  case GI_FOP_FSTAT:
    return told(sh, fop);
  case GI_FOP_READDIRP:
    sh_told_entries(sh, fop);
    return GI_PASS;
  case GI_FOP_CREATE:
  case GI_FOP_MKNOD:
    return created(sh, fop);
  case GI_FOP_GETXATTR:
  case GI_FOP_FGETXATTR:
    return hide_keys(fop);
  case GI_FOP_LK:
  case GI_FOP_SETACTIVELK:
    file = sh_file_of(sh, gi_fop_inode(fop));
    if (file)
      sh_look_again(file);
    return GI_PASS;
  default: /* RENAME, LINK */
    GI_ASSERT(fop->kind == GI_FOP_RENAME || fop->kind == GI_FOP_LINK);
    return gi_iatt_valid(&fop->rsp.stat) && S_ISREG(fop->rsp.stat.mode) ? sh_reply_task(sh, fop, correct) : GI_PASS;
  }
}

/* ---- life ---- */

static bool
sh_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct shard *sh = x->private;

  (void)from;
  switch (event) {
  case GI_EVENT_CHILD_UP:
    if (!sh->clean.armed)
      gi_timer_set(&sh->clean, SH_CLEAN_NS);
    sh_forget_all(sh);
    return false;
  case GI_EVENT_CHILD_DOWN:
  case GI_EVENT_CHILD_CHANGED:
    sh_forget_all(sh);
    return false;
  case GI_EVENT_INVALIDATE:
    return sh_invalidated(sh, data);
  case GI_EVENT_CONTENTION:
    return sh_contended(sh, data);
  case GI_EVENT_PARENT_DOWN:
    sh->stopping = true;
    gi_timer_cancel(&sh->clean);
    sh_doom_drop_all(sh);
    sh_lease_end_all(sh);
    sh_check_idle(sh);
    return true;
  default:
    return false;
  }
}

static void
sh_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct shard *sh = x->private;

  GI_ASSERT(!sh->drained && x->draining);
  sh->drained = done;
  sh_lease_end_all(sh);
  sh_check_idle(sh);
}

static void
sh_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct shard *sh = x->private;

  (void)bytes;
  if (!fd->anonymous && !gi_list_empty(&sh->dooms))
    gi_defer_add(x->reactor, &sh->closed);
}

static int
sh_init(struct gi_xlator *x, struct gi_error *err)
{
  struct shard *sh = x->private = gi_new(struct shard);

  (void)err;
  sh->x = x;
  x->metrics = &sh->m;
  for (unsigned i = 0; i < SH_BUCKETS; i++)
    gi_list_init(&sh->bucket[i]);
  gi_list_init(&sh->leases);
  gi_list_init(&sh->dooms);
  gi_list_init(&sh->lost);
  gi_defer_init(&sh->losing, sh_tell_lost, sh);
  gi_lru_init(&sh->lru, &x->ctx->budget, x->reactor, x->name, sh_block_evict, sh);
  gi_lru_set_bounds(&sh->lru, (uint64_t)sh_opts(sh)->lru_limit, 0);
  GI_ASSERT(sh_opts(sh)->block_size >= SH_BLOCK_MIN && sh_opts(sh)->deletion_rate > 0);
  gi_timer_init(&sh->clean, x->reactor, sh_clean_due, sh);
  gi_defer_init(&sh->closed, sh_closed, sh);
  sh->owner.len = 8;
  gi_random(x->reactor, sh->owner.data, sh->owner.len);
  if (x->graph->active)
    gi_timer_set(&sh->clean, SH_CLEAN_NS);
  return 0;
}

static void
sh_finish(struct gi_xlator *x)
{
  struct shard *sh = x->private;

  GI_ASSERT(!sh->busy && gi_list_empty(&sh->leases));
  sh_doom_drop_all(sh);
  sh_tell_lost(sh);
  gi_defer_cancel(&sh->losing);
  gi_defer_cancel(&sh->closed);
  gi_timer_finish(&sh->clean);
  gi_lru_finish(&sh->lru);
  gi_free(sh);
}

static void
sh_commit(struct gi_xlator *x)
{
  struct shard *sh = x->private;

  gi_lru_set_bounds(&sh->lru, (uint64_t)sh_opts(sh)->lru_limit, 0);
}

static void
sh_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  struct shard *sh = x->private;
  unsigned leases = 0, dooms = 0;

  gi_list_foreach(f, &sh->leases, struct sh_file, lease_link)
    leases++;
  gi_list_foreach(f, &sh->dooms, struct sh_doom, link)
    dooms++;
  gi_dump_kv(d, "blocks_known", "%llu", (unsigned long long)sh->m.held);
  gi_dump_kv(d, "locks_held", "%u", leases);
  gi_dump_kv(d, "deletions_waiting", "%u", dooms);
  gi_dump_kv(d, "tasks", "%u", sh->busy);
}

static const struct gi_option sh_table[] = {
    {.name = "shard-block-size",
     .alias = "block-size",
     .key = "features.shard-block-size",
     .type = GI_OPT_SIZE,
     .offset = offsetof(struct sh_options, block_size),
     .def = "64MB",
     .min = 4194304,
     .max = 4398046511104.0,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 1,
     .op_version = 30700,
     .since = "0.1",
     .text = "Size of the blocks of files that are made from now on. A file keeps the block size that it was made with."},
    {.name = "shard-lru-limit",
     .key = "features.shard-lru-limit",
     .type = GI_OPT_INT,
     .offset = offsetof(struct sh_options, lru_limit),
     .def = "16384",
     .min = 20,
     .max = 2147483647,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 3,
     .op_version = 50000,
     .since = "0.1",
     .text = "Blocks of which a client remembers where they are."},
    {.name = "shard-deletion-rate",
     .key = "features.shard-deletion-rate",
     .type = GI_OPT_INT,
     .offset = offsetof(struct sh_options, deletion_rate),
     .def = "100",
     .min = 100,
     .max = 2147483647,
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 2,
     .op_version = 50000,
     .since = "0.1",
     .text = "Blocks of a removed file that are deleted at the same time."},
    GI_OPTION_END,
};

static const struct gi_metric sh_metric_table[] = {
    GI_METRIC(struct sh_metrics, asked, "", "times that the size of a file was asked for"),
    GI_METRIC(struct sh_metrics, size_updates, "", "times that the size or number of blocks of a file was changed"),
    GI_METRIC(struct sh_metrics, locks, "", "locks taken to keep a size"),
    GI_METRIC(struct sh_metrics, made, "", "blocks made"),
    GI_METRIC(struct sh_metrics, deleted, "", "blocks of removed files deleted"),
    GI_METRIC(struct sh_metrics, files_deleted, "", "removed files of which all blocks are deleted"),
    GI_GAUGE(struct sh_metrics, held, "", "blocks of which it is known where they are"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/shard",
    .version = GI_VERSION,
    .summary = "Splits large files into blocks",
    .messages = GI_MSG_SHARD,
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"cluster/distribute"},
               .key = "features.shard",
               .def = "off",
               .since = "0.1",
               .text = "Keep new files in blocks, each a file of its own on the bricks. Files that were made so cannot be read "
                       "any more when this is turned off."}},
    .min_children = 1,
    .max_children = 1,
    .options = sh_table,
    .options_bytes = sizeof(struct sh_options),
    .metrics = sh_metric_table,
    .fop_bytes = sizeof(struct sh_fop),
    .inode_bytes = sizeof(struct sh_inode),
    .fd_bytes = 8,
    .on =
        {
            [GI_FOP_LOOKUP] = on_lookup,
            [GI_FOP_STAT] = on_stat,
            [GI_FOP_FSTAT] = on_stat,
            [GI_FOP_READDIR] = on_readdir,
            [GI_FOP_READDIRP] = on_readdir,
            [GI_FOP_CREATE] = on_new,
            [GI_FOP_MKNOD] = on_new,
            [GI_FOP_MKDIR] = on_entry,
            [GI_FOP_SYMLINK] = on_entry,
            [GI_FOP_LINK] = on_entry,
            [GI_FOP_UNLINK] = on_entry,
            [GI_FOP_RMDIR] = on_entry,
            [GI_FOP_RENAME] = on_entry,
            [GI_FOP_OPEN] = on_data,
            [GI_FOP_READ] = on_data,
            [GI_FOP_WRITE] = on_data,
            [GI_FOP_TRUNCATE] = on_data,
            [GI_FOP_FTRUNCATE] = on_data,
            [GI_FOP_FALLOCATE] = on_data,
            [GI_FOP_DISCARD] = on_data,
            [GI_FOP_ZEROFILL] = on_data,
            [GI_FOP_SEEK] = on_data,
            [GI_FOP_FSYNC] = on_data,
            [GI_FOP_FLUSH] = on_data,
            [GI_FOP_COPY_FILE_RANGE] = on_copy,
            [GI_FOP_SETATTR] = on_change,
            [GI_FOP_FSETATTR] = on_change,
            [GI_FOP_SETXATTR] = on_change,
            [GI_FOP_FSETXATTR] = on_change,
            [GI_FOP_REMOVEXATTR] = on_change,
            [GI_FOP_FREMOVEXATTR] = on_change,
            [GI_FOP_GETXATTR] = on_getxattr,
            [GI_FOP_FGETXATTR] = on_getxattr,
            [GI_FOP_LK] = on_lock,
            [GI_FOP_SETACTIVELK] = on_lock,
        },
    .complete = sh_complete,
    .init = sh_init,
    .finish = sh_finish,
    .reconfigure_commit = sh_commit,
    .notify = sh_notify,
    .drain = sh_drain,
    .statedump = sh_statedump,
    .inode_forget = sh_inode_forget,
    .fd_release = sh_fd_release,
};
