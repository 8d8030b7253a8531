/* SPDX-License-Identifier: Apache-2.0
 *
 * features/index: the list of what needs healing.
 *
 * It watches the counters of replication pass by in xattrops and keeps, per
 * brick, one hard link per inode with non-zero counters (pending, dirty) and
 * one per changed name in a directory (entry-changes). A healer reads these
 * instead of crawling the brick.
 *
 * Promises: no mark on disk without its index entry, whatever crashes when;
 * the files are those GlusterFS makes; an xattrop that changes nothing known in
 * memory costs no system call; LOOKUP's `link-count` is a number in memory.
 *
 * Files: index-turn.c the transitions, index-work.c the disk, index-virtual.c
 * reading over the wire, index-regions.c what a missing copy lacks. This file is the class.
 */
#include "xlators/features/index/index.h"

static enum gi_verdict
ix_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ix_private *p = ix_private(x);
  const struct ix_fop *f = gi_fop_private(fop, x);
  if (fop->kind == GI_FOP_XATTROP || fop->kind == GI_FOP_FXATTROP)
    return ix_xattrop_done(x, fop);
  if (fop->kind == GI_FOP_MKNOD)
    return ix_mknod_done(x, fop);
  const char *index;
  if (f->link_count && fop->rsp.ret >= 0 && gi_dict_get_str(fop->xdata, "link-count", &index)) {
    enum ix_class cls = strcmp(index, "glusterfs.xattrop_dirty_count") == 0 ? IX_DIRTY : IX_PENDING;
    gi_dict_set_int(gi_fop_rsp_xdata(fop), "link-count", p->count[cls] > 0);
  }
  return GI_PASS;
}

/* "a,b" as a NULL-terminated array; NULL for nothing. */
static char **
watch_list(const char *text)
{
  unsigned n = 0;
  char **list = NULL;
  for (const char *s = text; s && *s;) {
    size_t len = strcspn(s, ", ");
    if (len) {
      list = gi_realloc(list, (n + 2) * sizeof(*list));
      list[n++] = gi_strndup(s, len);
      list[n] = NULL;
    }
    s += len;
    s += strspn(s, ", ");
  }
  return list;
}

static void
watch_free(char **list)
{
  for (char **w = list; w && *w; w++)
    gi_free(*w);
  gi_free(list);
}

static void
ix_finish(struct gi_xlator *x)
{
  struct ix_private *p = ix_private(x);
  gi_serial_later_finish(&p->turns);
  ix_virtual_finish(x);
  ix_dirs_close(p);
  for (int c = 0; c < IX_TRACKED; c++)
    watch_free(p->watch[c]);
  watch_free(p->watch64);
  p->magic = 0;
  gi_free(p);
}

static int
ix_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct ix_options *o = x->options;
  struct ix_private *p = gi_new(struct ix_private);
  p->magic = IX_MAGIC;
  x->private = p;
  p->fs = x->ctx->fs;
  x->metrics = &p->metrics;
  p->store_fd = -1;
  for (int c = 0; c < IX_CLASSES; c++)
    p->fd[c] = -1;
  ix_turns_init(x);
  ix_virtual_init(x);
  p->watch[IX_PENDING] = watch_list(o->pending_watch);
  p->watch[IX_DIRTY] = watch_list(o->dirty_watch);
  p->watch64 = watch_list(o->watch64);
  if (!o->base) {
    gi_log(GI_LOG_WARNING, x->name, GI_MSG_INDEX, "no index-base: what needs healing is not recorded");
    return 0;
  }
  if (ix_dirs_open(x, o->base, err) == 0)
    return 0;
  ix_finish(x);
  return -1;
}

static bool
ix_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event != GI_EVENT_LEFT)
    return false;
  ix_left(x, data);
  return true;
}

static void
ix_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct ix_private *p = ix_private(x);
  gi_dump_section(d, "xlator.features.index.%s.priv", x->name);
  gi_dump_kv(d, "xattrop-pending-count", "%lld", (long long)p->count[IX_PENDING]);
  gi_dump_kv(d, "xattrop-dirty-count", "%lld", (long long)p->count[IX_DIRTY]);
  for (int c = 0; c < IX_CLASSES; c++)
    gi_dump_kv(d, "base-file", "%s", p->base[c]);
  gi_dump_kv(d, "generated-gfids", "%u", p->ngenerated);
}

#define IX_OPT(member) .offset = offsetof(struct ix_options, member), .since = "0.1", .level = 3, .side = GI_SIDE_BRICK

static const struct gi_option ix_table[] = {
    {.name = "index-base",
     .type = GI_OPT_PATH,
     IX_OPT(base),
     .text = "Directory that holds the index, normally .glusterfs/indices of the brick; made if it is missing."},
    {.name = "xattrop-pending-watchlist",
     .type = GI_OPT_STR,
     IX_OPT(pending_watch),
     .text = "Prefixes of the attributes that count changes some replica missed, separated by commas."},
    {.name = "xattrop-dirty-watchlist",
     .type = GI_OPT_STR,
     IX_OPT(dirty_watch),
     .text = "Prefixes of the attributes that mark a change under way, separated by commas."},
    {.name = "xattrop64-watchlist",
     .type = GI_OPT_STR,
     IX_OPT(watch64),
     .text = "Prefixes of attributes with 64-bit counters (dispersed volumes), separated by commas."},
    GI_OPTION_END,
};

#define IX_METRIC(member, help) GI_METRIC(struct ix_metrics, member, "", help)
#define IX_NOW(member, help) GI_GAUGE(struct ix_metrics, member, "", help)

static const struct gi_metric ix_metrics_table[] = {
    IX_METRIC(tracked, "xattrops that concern the index"),
    IX_METRIC(untracked, "xattrops that do not"),
    IX_METRIC(queued, "xattrops that waited for another one on the same inode"),
    IX_METRIC(links, "links made, or found made"),
    IX_METRIC(unlinks, "links removed, or found removed"),
    IX_METRIC(saved, "system calls saved because memory knew the state"),
    IX_METRIC(entry_links, "names recorded as changed"),
    IX_METRIC(entry_unlinks, "changed names cleared"),
    IX_METRIC(purges, "directories of changed names cleared"),
    IX_METRIC(kept, "objects that got a name again, after they had lost the last one while they were open"),
    IX_METRIC(left, "objects marked because a client that had locked them is gone"),
    IX_METRIC(errors, "failed system calls"),
    IX_NOW(pending, "inodes in the pending index now"),
    IX_NOW(dirty, "inodes in the dirty index now"),
    IX_METRIC(region_updates, "times the regions that a missing copy lacks were recorded"),
    IX_METRIC(region_misses, "times they could not be, because it lacks more than is known, or for want of room"),
    GI_GAUGE(struct ix_metrics, region_bytes, "bytes", "size of the logs of regions"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/index",
    .version = GI_VERSION,
    .summary = "Index of the inodes that need healing",
    .messages = GI_MSG_INDEX,
    .layer = {{.side = GI_SIDE_BRICK, .above = {"features/locks", "performance/io-threads"}}},
    .min_children = 1,
    .max_children = 1,
    .options = ix_table,
    .options_bytes = sizeof(struct ix_options),
    .metrics = ix_metrics_table,
    .fop_bytes = sizeof(struct ix_fop),
    .inode_bytes = sizeof(struct ix_inode),
    .on =
        {
            [GI_FOP_XATTROP] = ix_xattrop,
            [GI_FOP_FXATTROP] = ix_xattrop,
            [GI_FOP_MKNOD] = ix_mknod,
            [GI_FOP_LOOKUP] = ix_virtual_lookup,
            [GI_FOP_STAT] = ix_virtual_stat,
            [GI_FOP_FSTAT] = ix_virtual_stat,
            [GI_FOP_OPENDIR] = ix_virtual_opendir,
            [GI_FOP_READDIR] = ix_virtual_readdir,
            [GI_FOP_READDIRP] = ix_virtual_readdir,
            [GI_FOP_UNLINK] = ix_virtual_remove,
            [GI_FOP_RMDIR] = ix_virtual_remove,
            [GI_FOP_GETXATTR] = ix_virtual_getxattr,
        },
    .complete = ix_complete,
    .notify = ix_notify,
    .init = ix_init,
    .finish = ix_finish,
    .statedump = ix_statedump,
};
