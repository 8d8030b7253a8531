/* SPDX-License-Identifier: Apache-2.0
 *
 * cluster/distribute: one name space over several subvolumes. README.md says
 * how. This file: the class.
 *
 * With one subvolume every file is there, so operations pass by and cost
 * nothing; only MKDIR and listings are looked at. Once there were several it is
 * as with several until the process ends: descriptors and cookies are of that
 * time.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"

#include <errno.h>

#define METRIC(member, help) GI_METRIC(struct di_metrics, member, "", help)
static const struct gi_metric di_metric_table[] = {
    METRIC(everywhere, "names searched on all subvolumes"),
    METRIC(optimised, "missing names of which one subvolume's word was enough"),
    METRIC(located, "objects searched by their gfid"),
    METRIC(linktos_followed, "names found through a linkto file"),
    METRIC(linktos_made, "linkto files made"),
    METRIC(linktos_removed, "linkto files removed"),
    METRIC(directories_healed, "directories brought in order on all subvolumes"),
    METRIC(layouts_written, "parts of layouts written to existing directories"),
    METRIC(partial_listings, "times that a listing left out a subvolume that was down"),
    GI_METRIC_END};

/* ---- one subvolume ---- */

static enum gi_verdict
single_mkdir(struct di *d, struct gi_fop *fop)
{
  static const struct di_range whole = {.stop = 0xffffffffu};
  uint8_t bytes[DI_LAYOUT_BYTES];

  di_range_encode(&whole, bytes);
  if (!gi_dict_get(fop->xdata, d->layout_key))
    gi_dict_set_bin(gi_fop_xdata(fop), d->layout_key, bytes, sizeof(bytes));
  return GI_PASS;
}

static enum gi_verdict
handle_mkdir(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_of(x)->spread ? di_mkdir(x, fop) : single_mkdir(di_of(x), fop);
}

static enum gi_verdict
handle_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);

  if (d->spread)
    return di_asks_where(fop) && !di_fop_of(fop, d)->inner ? di_run(d, fop, di_where) : di_on_inode(x, fop);
  return fop->args.name ? GI_PASS : GI_PASS_TELL;
}

/* Where files are is not for users to say. */
static enum gi_verdict
handle_setxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct di *d = di_of(x);

  for (uint32_t i = 0; fop->caller.pid >= 0 && i < gi_dict_count(fop->args.dict); i++)
    if (strncmp(gi_dict_at(fop->args.dict, i)->key, d->layout_key, strlen(d->layout_key)) == 0)
      return gi_fop_fail(fop, EPERM);
  return di_on_inode(x, fop);
}

static enum gi_verdict
hide_layout(struct di *d, struct gi_fop *fop)
{
  if (fop->rsp.ret >= 0 && gi_dict_get(fop->rsp.dict, d->layout_key))
    gi_dict_del(gi_dict_writable(&fop->rsp.dict), d->layout_key);
  return GI_PASS;
}

static enum gi_verdict
di_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  if (!di_of(x)->spread || (!di_fop_of(fop, di_of(x))->to && (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_FGETXATTR)))
    return hide_layout(di_of(x), fop);
  switch (fop->kind) {
  case GI_FOP_LOOKUP:
    return di_lookup_done(x, fop);
  case GI_FOP_UNLINK:
    return di_unlink_done(x, fop);
  case GI_FOP_CREATE:
  case GI_FOP_MKNOD:
  case GI_FOP_SYMLINK:
  case GI_FOP_PUT:
    return di_create_done(x, fop);
  default:
    return di_file_done(x, fop);
  }
}

/* ---- life cycle ---- */

static void
make_keys(struct di *d)
{
  const char *prefix = di_opts(d)->xattr_name;

  d->layout_key = gi_strdup(prefix);
  d->linkto_key = gi_asprintf("%s.linkto", prefix);
  d->mds_key = gi_asprintf("%s.mds", prefix);
  d->commit_key = gi_asprintf("%s.commithash", prefix);
  d->committed_key = gi_asprintf("%s.committed", prefix);
  d->note_key = gi_asprintf("%s.rename", prefix);
  d->mode_key = gi_asprintf("%s.mode", prefix);
}

/* VOLUME-dht stands under VOLUME-shard. */
static char *
shard_above(const char *name)
{
  const char *dash = strrchr(name, '-');

  return gi_asprintf("%.*s-shard", (int)(dash ? dash - name : (long)strlen(name)), name);
}

static void
di_free(struct gi_xlator *x)
{
  struct di *d = di_of(x);

  di_children_finish(d);
  di_munge_finish(&d->munge);
  di_place_finish(d);
  gi_free(d->layout_key);
  gi_free(d->linkto_key);
  gi_free(d->mds_key);
  gi_free(d->commit_key);
  gi_free(d->committed_key);
  gi_free(d->note_key);
  gi_free(d->mode_key);
  gi_free(d->size_domain);
  d->magic = 0;
  gi_free(d);
  x->private = NULL;
  x->metrics = NULL;
}

static int
di_init(struct gi_xlator *x, struct gi_error *err)
{
  const struct di_options *o = x->options;
  struct di *d;

  if (x->nchildren > DI_MAX)
    return gi_error_set(err, EINVAL, "%u subvolumes: this version spreads files over %d at most", x->nchildren, DI_MAX);
  d = gi_new(struct di);
  d->magic = DI_MAGIC;
  d->x = x;
  d->n = x->nchildren;
  d->spread = d->n > 1;
  d->sole = d->spread ? NULL : x->children[0];
  d->stamp = d->commit = DI_NO_COMMIT;
  d->generation = 1;
  x->private = d;
  x->metrics = &d->metrics;
  di_children_init(d);
  make_keys(d);
  d->size_domain = shard_above(x->name);
  di_set_leaving(d);
  if (di_munge_init(&d->munge, o->extra_hash_regex, o->rsync_hash_regex, err) < 0) {
    di_free(x);
    return -1;
  }
  di_place_set(d);
  di_set_kinds(d);
  di_reb_init(d);
  return 0;
}

static void
di_finish(struct gi_xlator *x)
{
  GI_ASSERT(di_of(x)->busy == 0);
  di_reb_finish(di_of(x));
  di_free(x);
}

static int
di_reconfigure_prepare(struct gi_xlator *x, const void *values, struct gi_error *err)
{
  if (x->incoming && x->nincoming > DI_MAX)
    return gi_error_set(err, EINVAL, "%u subvolumes: this version spreads files over %d at most", x->nincoming, DI_MAX);
  return 0;
}

static void
di_reconfigure_commit(struct gi_xlator *x)
{
  const struct di_options *o = x->options;
  struct di *d = di_of(x);

  di_munge_finish(&d->munge);
  GI_ASSERT(di_munge_init(&d->munge, o->extra_hash_regex, o->rsync_hash_regex, NULL) ==
            0); /* was tried before it was accepted */
  di_set_leaving(d);
  di_place_set(d);
  di_reb_reconfigure(d);
}

static void
di_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct di *di = di_of(x);
  char key[32];

  gi_dump_kv(d, "subvolumes", "%u", di->n);
  for (unsigned i = 0; i < di->n; i++) {
    snprintf(key, sizeof(key), "subvolume[%u]", i);
    gi_dump_kv(d, key, "%s %s%s", x->children[i]->name, di->up >> i & 1 ? "up" : "down",
               di->leaving >> i & 1 ? " leaving"
               : di->local >> i & 1 ? " local"
                                    : "");
  }
  gi_dump_kv(d, "commit_hash", "%u", di->commit);
  gi_dump_kv(d, "generation", "%u", di->generation);
  gi_dump_kv(d, "partial_listing", "%s", di_opts(di)->partial_listing == DI_PARTIAL_ALLOW ? "allow" : "fail");
  gi_dump_kv(d, "tasks", "%u", di->busy);
}

#define ON(kind) [kind] = di_on_inode

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "cluster/distribute",
    .version = GI_VERSION,
    .summary = "One name space over several subvolumes",
    .messages = GI_MSG_DISTRIBUTE,
    .min_children = 1,
    .branches = true,
    .max_children = 65535, /* init says more about it than the graph could */
    .options = di_table,
    .options_bytes = sizeof(struct di_options),
    .metrics = di_metric_table,
    .fop_bytes = sizeof(struct di_fop),
    .inode_bytes = sizeof(struct di_inode),
    .fd_bytes = sizeof(struct di_fd),
    .fd_release = di_fd_release,
    .manage = di_manage,
    .on =
        {
            [GI_FOP_LOOKUP] = di_lookup,
            [GI_FOP_MKDIR] = handle_mkdir,
            [GI_FOP_RMDIR] = di_rmdir,
            [GI_FOP_CREATE] = di_create,
            [GI_FOP_MKNOD] = di_mknod,
            [GI_FOP_SYMLINK] = di_symlink,
            [GI_FOP_LINK] = di_link,
            [GI_FOP_UNLINK] = di_unlink,
            [GI_FOP_RENAME] = di_rename,
            [GI_FOP_STATFS] = di_statfs,
            [GI_FOP_OPENDIR] = di_opendir,
            [GI_FOP_READDIR] = di_readdir,
            [GI_FOP_READDIRP] = di_readdir,
            [GI_FOP_GETXATTR] = handle_getxattr,
            [GI_FOP_FGETXATTR] = handle_getxattr,
            [GI_FOP_IPC] = di_everywhere,
            ON(GI_FOP_STAT),
            ON(GI_FOP_READLINK),
            ON(GI_FOP_TRUNCATE),
            ON(GI_FOP_OPEN),
            ON(GI_FOP_READ),
            ON(GI_FOP_WRITE),
            ON(GI_FOP_FLUSH),
            ON(GI_FOP_FSYNC),
            [GI_FOP_SETXATTR] = handle_setxattr,
            ON(GI_FOP_REMOVEXATTR),
            ON(GI_FOP_FSYNCDIR),
            ON(GI_FOP_ACCESS),
            ON(GI_FOP_FTRUNCATE),
            ON(GI_FOP_FSTAT),
            ON(GI_FOP_LK),
            [GI_FOP_INODELK] = di_inodelk,
            ON(GI_FOP_FINODELK),
            ON(GI_FOP_ENTRYLK),
            ON(GI_FOP_FENTRYLK),
            [GI_FOP_XATTROP] = di_xattrop,
            [GI_FOP_FXATTROP] = di_xattrop,
            [GI_FOP_FSETXATTR] = handle_setxattr,
            ON(GI_FOP_RCHECKSUM),
            ON(GI_FOP_SETATTR),
            ON(GI_FOP_FSETATTR),
            ON(GI_FOP_FREMOVEXATTR),
            ON(GI_FOP_FALLOCATE),
            ON(GI_FOP_DISCARD),
            ON(GI_FOP_ZEROFILL),
            ON(GI_FOP_SEEK),
            ON(GI_FOP_LEASE),
            ON(GI_FOP_GETACTIVELK),
            ON(GI_FOP_SETACTIVELK),
            ON(GI_FOP_COPY_FILE_RANGE),
            [GI_FOP_PUT] = di_create,
            [GI_FOP_ICREATE] = di_refuse,
            [GI_FOP_NAMELINK] = di_refuse,
        },
    .complete = di_complete,
    .init = di_init,
    .finish = di_finish,
    .reconfigure_prepare = di_reconfigure_prepare,
    .reconfigure_commit = di_reconfigure_commit,
    .children_changed = di_children_changed,
    .notify = di_notify,
    .statedump = di_statedump,
    .inode_forget = di_forget_inode,
};
