/* SPDX-License-Identifier: Apache-2.0
 *
 * cluster/distribute over exactly one subvolume.
 *
 * Every file is on that subvolume, so operations pass through and cost nothing;
 * only three kinds are looked at. MKDIR stores the layout that says "the whole
 * hash range is here", so that a client of another make finds its directories
 * in order; the listing of extended attributes hides it.
 *
 * More than one subvolume is refused with a sentence, not served wrongly.
 */
#include "libglusterish/graph.h"

#include <errno.h>

struct di_options {
  char *xattr_name, *extra_hash_regex, *rsync_hash_regex, *lookup_unhashed, *rebal_throttle;
  bool force_migration, lock_migration, lookup_optimize, randomize, readdir_optimize, rebalance_stats, weighted, use_readdirp,
      ensure_durability;
  struct gi_percent_or_size min_free_disk;
  double min_free_inodes;
  int64_t spread;
};

/* trusted.glusterfs.dht: commit hash, type, first and last hash (brick.md 3.1). */
static const uint8_t whole_range[16] = {[12] = 0xff, [13] = 0xff, [14] = 0xff, [15] = 0xff};

static const char *
layout_key(const struct gi_xlator *x)
{
  return ((const struct di_options *)x->options)->xattr_name;
}

static enum gi_verdict
di_mkdir(struct gi_xlator *x, struct gi_fop *fop)
{
  if (!gi_dict_get(fop->xdata, layout_key(x)))
    gi_dict_set_bin(gi_fop_xdata(fop), layout_key(x), whole_range, sizeof(whole_range));
  return GI_PASS;
}

static enum gi_verdict
di_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  return fop->args.name ? GI_PASS : GI_PASS_TELL;
}

static enum gi_verdict
di_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  GI_ASSERT(x->nchildren == 1); /* or it does not start */
  const char *key = layout_key(x);
  if (fop->rsp.ret < 0 || !gi_dict_get(fop->rsp.dict, key))
    return GI_PASS;
  gi_dict_del(gi_dict_writable(&fop->rsp.dict), key);
  return GI_PASS;
}

static int
di_init(struct gi_xlator *x, struct gi_error *err)
{
  if (x->nchildren == 1)
    return 0;
  return gi_error_set(err, EINVAL,
                      "%u subvolumes: a distributed volume needs files to be spread over them, which this version does not do; "
                      "use a volume with one brick or one replica set",
                      x->nchildren);
}

#define DI_OPT(member) .offset = offsetof(struct di_options, member), .live = true, .since = "0.1"

static const char *const unhashed_words[] = {"auto", "yes", "no", "enable", "disable", "1", "0", "on", "off", NULL};

static const struct gi_option di_table[] = {
    {.name = "xattr-name",
     .key = "cluster.dht-xattr-name",
     .type = GI_OPT_STR,
     DI_OPT(xattr_name),
     .def = "trusted.glusterfs.dht",
     .level = 3,
     .op_version = 3,
     .side = GI_SIDE_CLIENT,
     .text = "Name of the attribute of a directory that says which hash range lies where."},
    {.name = "extra-hash-regex",
     .key = "cluster.extra-hash-regex",
     .type = GI_OPT_STR,
     DI_OPT(extra_hash_regex),
     .level = 3,
     .op_version = 3,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "A further pattern for the part of a name that is hashed. No effect with one subvolume."},
    {.name = "rsync-hash-regex",
     .key = "cluster.rsync-hash-regex",
     .type = GI_OPT_STR,
     DI_OPT(rsync_hash_regex),
     .level = 3,
     .op_version = 3,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Pattern for the temporary names of rsync, so that they hash like the final name. No effect with one subvolume."},
    {.name = "lookup-unhashed",
     .key = "cluster.lookup-unhashed",
     .type = GI_OPT_STR,
     DI_OPT(lookup_unhashed),
     .def = "on",
     .words = unhashed_words,
     .level = 2,
     .op_version = 1,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Whether a name that is not where its hash says is searched on all subvolumes. No effect with one subvolume."},
    {.name = "lookup-optimize",
     .key = "cluster.lookup-optimize",
     .type = GI_OPT_BOOL,
     DI_OPT(lookup_optimize),
     .def = "on",
     .level = 1,
     .op_version = 30702,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Do not search further when the layout of the directory is complete. No effect with one subvolume."},
    {.name = "min-free-disk",
     .key = "cluster.min-free-disk",
     .type = GI_OPT_PERCENT_OR_SIZE,
     DI_OPT(min_free_disk),
     .def = "10%",
     .level = 1,
     .op_version = 1,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Free space below which new files go to another subvolume. No effect with one subvolume."},
    {.name = "min-free-inodes",
     .key = "cluster.min-free-inodes",
     .type = GI_OPT_PERCENT,
     DI_OPT(min_free_inodes),
     .def = "5%",
     .min = 0,
     .max = 100,
     .level = 2,
     .op_version = 1,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Share of free inodes below which new files go to another subvolume. No effect with one subvolume."},
    {.name = "randomize-hash-range-by-gfid",
     .key = "cluster.randomize-hash-range-by-gfid",
     .type = GI_OPT_BOOL,
     DI_OPT(randomize),
     .def = "off",
     .level = 3,
     .op_version = 30600,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Where the layout of a new directory begins: by its gfid instead of its path. No effect with one subvolume."},
    {.name = "readdir-optimize",
     .key = "cluster.readdir-optimize",
     .type = GI_OPT_BOOL,
     DI_OPT(readdir_optimize),
     .def = "off",
     .level = 2,
     .op_version = 1,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Ask only one subvolume for the directories in a listing. No effect with one subvolume."},
    {.name = "use-readdirp",
     .key = "dht.force-readdirp",
     .type = GI_OPT_BOOL,
     DI_OPT(use_readdirp),
     .def = "on",
     .level = 3,
     .op_version = 30705,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "Turn listings without attributes into listings with attributes. No effect with one subvolume."},
    {.name = "directory-layout-spread",
     .key = "cluster.subvols-per-directory",
     .type = GI_OPT_INT,
     DI_OPT(spread),
     .min = 1,
     .max = 65535,
     .level = 3,
     .op_version = 2,
     .side = GI_SIDE_CLIENT,
     .unread = true,
     .text = "On how many subvolumes one directory is spread at most. No effect with one subvolume."},
    {.name = "rebal-throttle",
     .key = "cluster.rebal-throttle",
     .type = GI_OPT_STR,
     DI_OPT(rebal_throttle),
     .def = "normal",
     .level = 2,
     .op_version = 30700,
     .unread = true,
     .text = "How hard rebalance works: lazy, normal, aggressive or a number of files at a time. Nothing to do with one "
             "subvolume."},
    {.name = "rebalance-stats",
     .key = "cluster.rebalance-stats",
     .type = GI_OPT_BOOL,
     DI_OPT(rebalance_stats),
     .def = "off",
     .level = 3,
     .op_version = 2,
     .unread = true,
     .text = "Log how long rebalance takes per file. Nothing to do with one subvolume."},
    {.name = "weighted-rebalance",
     .key = "cluster.weighted-rebalance",
     .type = GI_OPT_BOOL,
     DI_OPT(weighted),
     .def = "on",
     .level = 2,
     .op_version = 30600,
     .unread = true,
     .text = "Give larger bricks a larger share of the hash range. Nothing to do with one subvolume."},
    {.name = "force-migration",
     .key = "cluster.force-migration",
     .type = GI_OPT_BOOL,
     DI_OPT(force_migration),
     .def = "off",
     .level = 2,
     .op_version = 40000,
     .unread = true,
     .text = "Migrate files that are being written too when bricks are removed. Nothing to do with one subvolume."},
    {.name = "lock-migration",
     .key = "cluster.lock-migration",
     .type = GI_OPT_BOOL,
     DI_OPT(lock_migration),
     .def = "off",
     .level = 3,
     .op_version = 30800,
     .unread = true,
     .text = "Carry POSIX locks along when a file is migrated. Nothing to do with one subvolume."},
    {.name = "ensure-durability",
     .key = "rebalance.ensure-durability",
     .type = GI_OPT_BOOL,
     DI_OPT(ensure_durability),
     .def = "on",
     .level = 3,
     .op_version = 100000,
     .unread = true,
     .text = "Sync a migrated file before the old copy goes. Nothing to do with one subvolume."},
    GI_OPTION_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "cluster/distribute",
    .version = GI_VERSION,
    .summary = "One name space over one subvolume",
    .min_children = 1,
    .max_children = 65535, /* init says more about it than the graph could */
    .options = di_table,
    .options_bytes = sizeof(struct di_options),
    .on =
        {
            [GI_FOP_MKDIR] = di_mkdir,
            [GI_FOP_GETXATTR] = di_getxattr,
            [GI_FOP_FGETXATTR] = di_getxattr,
        },
    .complete = di_complete,
    .init = di_init,
};
