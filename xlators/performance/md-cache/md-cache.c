/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/md-cache: attributes and extended attributes from memory.
 *
 * It stands below write-behind, so every reply it sees is that of the bricks: own
 * changes update what is kept. Whether somebody else has changed an inode is
 * judged by libglusterish/trust.h and told to the caches above, the kernel's included.
 */
#include "xlators/performance/md-cache/md-cache.h"

#include <errno.h>

/* ---- the way of an operation ---- */

static enum gi_verdict
md_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_OPEN)
    return md_open(x, fop);
  if (MD_CHANGING & GI_KIND(fop->kind))
    return md_change(x, fop);
  GI_ASSERT(MD_ASKING & GI_KIND(fop->kind));
  return md_ask(x, fop);
}

static enum gi_verdict
md_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct md *md = x->private;
  struct md_fop *f = gi_fop_private(fop, x);

  if (MD_CHANGING & GI_KIND(fop->kind) && (fop->kind != GI_FOP_OPEN || f->nchanged))
    md_changed(md, fop, f);
  else if (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_FGETXATTR)
    md_got_xattr(md, fop, f);
  else
    md_answered(md, fop, f);
  return GI_PASS;
}

/* ---- events ---- */

static bool
md_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (gi_event_untold(event)) {
    md_forget_all(x->private);
    md_care_anew(x->private);
  }
  switch (event) {
  case GI_EVENT_INVALIDATE:
    md_invalidated(x->private, data);
    break;
  case GI_EVENT_WRITTEN:
    md_written(x->private, data);
    break;
  default:
    break;
  }
  return false;
}

/* ---- life ---- */

static void
join(struct md *md)
{
  md_forget_all(md);
  gi_join(&md->joining, md->x);
}

static int
md_init(struct gi_xlator *x, struct gi_error *err)
{
  struct md *md = x->private = gi_new(struct md);

  md->x = x;
  x->metrics = &md->m;
  x->enabled = !md_options(md)->pass_through;
  gi_lru_init(&md->lru, &x->ctx->budget, x->reactor, x->name, md_evict, md);
  md_make_keys(md);
  md_care_init(md);
  if (x->graph->active)
    join(md), md_care_anew(md);
  return 0;
}

static void
md_finish(struct gi_xlator *x)
{
  struct md *md = x->private;

  md_care_finish(md);
  gi_lru_finish(&md->lru);
  GI_ASSERT(md->lru.count == 0);
  gi_dict_unref(&md->keys);
  gi_dict_unref(&md->absent);
  gi_free(md);
}

static void
md_commit(struct gi_xlator *x)
{
  struct md *md = x->private;
  bool on = !md_options(md)->pass_through;

  md_make_keys(md);
  md_forget_all(md); /* another set of names: what it does not have is not known */
  if (on && !x->enabled)
    join(md);
  gi_xlator_enable(x, on);
  md_care_anew(md);
}

/* It holds no operations. What is on its way is not kept any more. */
static void
md_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct md *md = x->private;

  GI_ASSERT(x->draining);
  md_forget_all(md);
  while (!gi_list_empty(&md->lru.items))
    md_entry_free(md, gi_list_item(gi_list_first(&md->lru.items, struct gi_lru_item, link), struct md_entry, item));
  join(md);
  done(x);
}

static void
md_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct md_inode *mi = bytes;

  GI_ASSERT(!mi->entry || mi->entry->inode == inode);
  if (mi->entry)
    md_entry_free(x->private, mi->entry);
}

static void
md_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct md *md = x->private;

  gi_dump_section(d, "xlator.performance.md-cache.%s.priv", x->name);
  gi_dump_kv(d, "inodes", "%llu", (unsigned long long)md->lru.count);
  gi_dump_kv(d, "seconds", "%llu", (unsigned long long)(md_timeout_ns(md) / GI_NSEC_PER_SEC));
  gi_dump_kv(d, "xattr-names", "%u", gi_dict_count(md->keys));
}

#define OPT(m) .offset = offsetof(struct md_options, m), .live = true
#define MD_SWITCH(option, k, member, on, at, version, t) \
  { \
    .name = option, .key = k, .type = GI_OPT_BOOL, OPT(member), .def = on, .level = at, .op_version = version, .since = "0.1", \
    .text = t \
  }
static const struct gi_option md_table[] = {
    {.name = "md-cache-timeout",
     .key = "performance.md-cache-timeout",
     .type = GI_OPT_INT,
     OPT(timeout),
     .def = "1",
     .min = 0,
     .max = 600,
     .level = 1,
     .op_version = 2,
     .since = "0.1",
     .text = "Seconds for which attributes and extended attributes are believed. Where bricks do not tell of changes by others "
             "more "
             "than 60 are 60; where they do, it is at most a third of features.cache-invalidation-timeout. The kernel "
             "is told how old they are, so its own attribute-timeout does not come on top of it."},
    MD_SWITCH("cache-invalidation", "performance.cache-invalidation", cache_invalidation, "off", 1, 30900,
              "The bricks of GlusterFS below tell of changes by others (features.cache-invalidation), so md-cache-timeout "
              "counts in full. "
              "Bricks of this project say so themselves."),
    MD_SWITCH(
        "global-cache-invalidation", "performance.global-cache-invalidation", global_invalidation, "on", 2, 60000,
        "When attributes show that somebody else changed a file, its pages and attributes go from the kernel and from all "
        "other caches of the mount, too."),
    MD_SWITCH("force-readdirp", "performance.force-readdirp", force_readdirp, "on", 3, 2,
              "Read directories with the attributes of their entries even if nobody asks for these."),
    MD_SWITCH("md-cache-statfs", "performance.md-cache-statfs", statfs, "off", 2, 40000,
              "Answer statfs from memory for md-cache-timeout."),
    MD_SWITCH("cache-capability-xattrs", "performance.cache-capability-xattrs", capability, "on", 2, 31000,
              "Keep security.capability, which the kernel asks for before it writes or executes a file."),
    MD_SWITCH("cache-ima-xattrs", "performance.cache-ima-xattrs", ima, "on", 2, 31000, "Keep security.ima."),
    MD_SWITCH("cache-selinux", NULL, selinux, "off", 3, 0, "Keep security.selinux."),
    MD_SWITCH("cache-posix-acl", NULL, acl, "off", 3, 0, "Keep POSIX ACLs."),
    MD_SWITCH("cache-samba-metadata", "performance.cache-samba-metadata", samba, "off", 2, 30900,
              "Keep the extended attributes that Samba reads of every file."),
    MD_SWITCH("cache-swift-metadata", "performance.cache-swift-metadata", swift, "off", 3, 30710,
              "Keep user.swift.metadata, the extended attribute of object storage."),
    {.name = "xattr-cache-list",
     .key = "performance.xattr-cache-list",
     .type = GI_OPT_STR,
     OPT(list),
     .level = 2,
     .op_version = 40000,
     .since = "0.1",
     .text = "Further extended attributes to keep: names or patterns (user.app.*), separated by commas."},
    MD_SWITCH("pass-through", "performance.md-cache-pass-through", pass_through, "off", 3, 40100,
              "Keep nothing and let every operation pass."),
    GI_OPTION_END,
};

static const struct gi_metric md_metrics_table[] = {
    GI_METRIC(struct md_metrics, attr_hits, "", "questions for attributes answered from memory"),
    GI_METRIC(struct md_metrics, attr_misses, "", "questions for attributes sent on"),
    GI_METRIC(struct md_metrics, xattr_hits, "", "questions for an extended attribute answered from memory"),
    GI_METRIC(struct md_metrics, xattr_misses, "", "questions for an extended attribute of the set sent on"),
    GI_METRIC(struct md_metrics, statfs_hits, "", "statfs answered from memory"),
    GI_METRIC(struct md_metrics, updated, "", "attributes kept from a reply"),
    GI_METRIC(struct md_metrics, foreign, "", "changes by others that attributes showed"),
    GI_METRIC(struct md_metrics, invalidated, "", "changes by others that bricks told of"),
    GI_METRIC(struct md_metrics, dropped, "", "times that something kept was forgotten"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/md-cache",
    .version = GI_VERSION,
    .summary = "Answers for attributes and extended attributes from memory",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"cluster/distribute", "features/utime"},
               .key = "performance.stat-prefetch",
               .def = "on",
               .since = "0.1",
               .text = "Keep attributes and some extended attributes on the client, and tell the kernel when others changed "
                       "a file."}},
    .min_children = 1,
    .max_children = 1,
    .options = md_table,
    .options_bytes = sizeof(struct md_options),
    .metrics = md_metrics_table,
    .fop_bytes = sizeof(struct md_fop),
    .inode_bytes = sizeof(struct md_inode),
    .submit = md_submit,
    .submit_kinds = MD_CHANGING | MD_ASKING,
    .on =
        {
            [GI_FOP_GETXATTR] = md_getxattr,
            [GI_FOP_FGETXATTR] = md_getxattr,
            [GI_FOP_READDIR] = md_readdir,
            [GI_FOP_STATFS] = md_statfs,
        },
    .complete = md_complete,
    .init = md_init,
    .finish = md_finish,
    .reconfigure_commit = md_commit,
    .notify = md_notify,
    .drain = md_drain,
    .statedump = md_statedump,
    .inode_forget = md_inode_forget,
};
