/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/nl-cache: names that do not exist, from memory.
 *
 * A name is known not to be there from a LOOKUP that said so. What is known of it
 * ends, on the way down and again with the reply, with each operation of ours
 * that may make it; it is not left to whoever found the name before.
 */
#include "xlators/performance/nl-cache/nl-cache.h"

#include <errno.h>

/* ---- LOOKUP, and attributes of directories ---- */

static enum gi_verdict
nl_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct nl *nl = x->private;
  struct gi_inode *dir = fop->loc.name ? gi_loc_parent(fop, &fop->loc) : NULL;

  if (fop->caller.pid < 0)
    return GI_PASS;
  if (dir && nl_knows_absent(nl, dir, fop->loc.name)) {
    nl->m.hits++;
    return gi_fop_fail(fop, ENOENT);
  }
  nl->m.misses += dir != NULL;
  nl_note(nl, gi_fop_private(fop, x));
  return GI_PASS_TELL;
}

static void
looked_up(struct nl *nl, struct gi_fop *fop, const struct nl_fop *f)
{
  struct gi_inode *dir = fop->loc.name ? gi_loc_parent(fop, &fop->loc) : NULL;
  struct gi_inode *object = gi_iatt_valid(&fop->rsp.stat) ? gi_inode_find(fop->graph, &fop->rsp.stat.gfid) : NULL;
  struct nl_dir *d;

  if (dir)
    nl_see(nl, dir, &fop->rsp.post, f);
  if (object && fop->rsp.ret >= 0)
    nl_see(nl, object, &fop->rsp.stat, f);
  if (object && fop->rsp.ret >= 0 && dir)
    nl_asked_again(nl, object, f);
  gi_inode_unref(&object);
  if (!dir)
    return;
  if (fop->rsp.ret >= 0) {
    nl_name_listed(nl, dir, fop->loc.name);
  } else if (fop->rsp.err == ENOENT && nl_may_keep(nl, dir, f)) {
    d = nl_dir_get(nl, dir);
    nl_names_put(&d->names, fop->loc.name, false, f->asked);
    nl_dir_grew(nl, d);
  }
}

/* Directories of which something is known: their times tell whether that is true still. */
static enum gi_verdict
nl_stat(struct gi_xlator *x, struct gi_fop *fop)
{
  struct nl *nl = x->private;
  struct gi_inode *inode = gi_fop_inode(fop);

  if (!inode || !nl_inode_of(nl, inode)->dir)
    return GI_PASS;
  nl_note(nl, gi_fop_private(fop, x));
  return GI_PASS_TELL;
}

/* ---- changes of ours ---- */

#define MAKES \
  (GI_KIND(GI_FOP_CREATE) | GI_KIND(GI_FOP_MKNOD) | GI_KIND(GI_FOP_MKDIR) | GI_KIND(GI_FOP_SYMLINK) | GI_KIND(GI_FOP_LINK) | \
   GI_KIND(GI_FOP_RENAME) | GI_KIND(GI_FOP_PUT) | GI_KIND(GI_FOP_NAMELINK))
#define REMOVES (GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_RENAME))
#define CHANGES (MAKES | REMOVES)

/* The name that an operation makes. NULL: it makes none. */
static struct gi_loc *
made(struct gi_fop *fop)
{
  if (!(MAKES & GI_KIND(fop->kind)))
    return NULL;
  return fop->kind == GI_FOP_LINK || fop->kind == GI_FOP_RENAME ? &fop->loc2 : &fop->loc;
}

static struct gi_loc *
removed(struct gi_fop *fop)
{
  return REMOVES & GI_KIND(fop->kind) ? &fop->loc : NULL;
}

static void
begin(struct nl *nl, struct gi_fop *fop, struct nl_fop *f, struct gi_loc *at)
{
  struct gi_inode *dir = at && at->name ? gi_loc_parent(fop, at) : NULL;
  struct nl_inode *ni;

  if (!dir)
    return;
  nl_name_forget(nl, dir, at->name);
  if (f->nchanged && f->changed[0] == dir)
    return;
  GI_ASSERT(f->nchanged < GI_ARRAY_LEN(f->changed));
  ni = nl_inode_of(nl, dir);
  ni->changes++;
  ni->since = ++nl->clock;
  f->changed[f->nchanged] = dir;
  f->began[f->nchanged++] = ni->since;
}

static enum gi_verdict
nl_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct nl_fop *f = gi_fop_private(fop, x);

  GI_ASSERT(CHANGES & GI_KIND(fop->kind) && f->nchanged == 0);
  nl_note(x->private, f);
  begin(x->private, fop, f, made(fop));
  begin(x->private, fop, f, removed(fop));
  return GI_PASS_TELL;
}

/* A rename that found one file under both names leaves both. */
static bool
went_as_said(const struct gi_fop *fop)
{
  const struct gi_iatt *a = &fop->rsp.stat;

  return fop->rsp.ret >= 0 && (fop->kind != GI_FOP_RENAME || (gi_iatt_valid(a) && (S_ISDIR(a->mode) || a->nlink == 1)));
}

static void
end_name(struct nl *nl, struct gi_fop *fop, struct gi_loc *at, bool there)
{
  struct gi_inode *dir = at && at->name ? gi_loc_parent(fop, at) : NULL;

  if (!dir)
    return;
  nl_name_forget(nl, dir, at->name);
  if (went_as_said(fop))
    nl_name_became(nl, dir, at->name, there);
  else
    nl_not_complete(nl, dir);
}

/* What the reply says of that directory. */
static const struct gi_iatt *
told(const struct gi_fop *fop, const struct gi_inode *dir, bool before)
{
  const struct gi_reply *r = &fop->rsp;
  const struct gi_iatt *first = before ? &r->pre : &r->post, *second = before ? &r->pre2 : &r->post2;

  if (r->ret < 0)
    return NULL;
  return gi_gfid_equal(&first->gfid, &dir->gfid) ? first : second;
}

static void
changed(struct nl *nl, struct gi_fop *fop, struct nl_fop *f)
{
  GI_ASSERT(!fop->rsp.early);
  for (unsigned i = 0; i < f->nchanged; i++)
    nl_change_ended(nl, f->changed[i], f->began[i], told(fop, f->changed[i], true), told(fop, f->changed[i], false));
  end_name(nl, fop, removed(fop), false);
  end_name(nl, fop, made(fop), true);
  if (fop->kind == GI_FOP_MKDIR && fop->rsp.ret >= 0)
    nl_made_directory(nl, fop, f);
}

/* ---- locks ---- */

static enum gi_verdict
nl_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_takes_lock(fop) ? GI_PASS_TELL : GI_PASS;
}

/* ---- replies and events ---- */

static enum gi_verdict
nl_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct nl *nl = x->private;
  struct nl_fop *f = gi_fop_private(fop, x);

  if (CHANGES & GI_KIND(fop->kind)) {
    changed(nl, fop, f);
  } else if (fop->kind == GI_FOP_LOOKUP) {
    looked_up(nl, fop, f);
  } else if (fop->kind == GI_FOP_READDIR || fop->kind == GI_FOP_READDIRP) {
    nl_listed(nl, fop, f);
  } else if (fop->kind == GI_FOP_LK) {
    if (fop->rsp.ret >= 0)
      nl_forget_all(nl); /* names that were made elsewhere under the lock are to be seen */
  } else if (fop->rsp.ret >= 0 && gi_fop_inode(fop)) {
    nl_see(nl, gi_fop_inode(fop), &fop->rsp.stat, f);
  }
  return GI_PASS;
}

static void
told_of(struct nl *nl, const struct gi_gfid *gfid, const char *const names[2])
{
  struct gi_inode *inode = gi_gfid_is_none(gfid) ? NULL : gi_inode_find(nl->x->graph, gfid);

  if (inode && names[0])
    nl_names_told(nl, inode, names);
  else if (inode)
    nl_forget(nl, inode);
  else if (!gi_gfid_is_none(gfid))
    nl->unknown = ++nl->clock;
  gi_inode_unref(&inode);
}

/* Our bricks say which names it is about; in which of the directories each stands does not matter. */
static void
invalidated(struct nl *nl, const struct gi_invalidation *inv)
{
  const char *names[2] = {NULL, NULL};

  gi_dict_get_str(inv->xdata, GI_NAME_KEY, &names[0]);
  gi_dict_get_str(inv->xdata, GI_NAME2_KEY, &names[1]);
  told_of(nl, &inv->gfid, names);
  told_of(nl, &inv->parent.gfid, names);
  told_of(nl, &inv->old_parent.gfid, names);
}

static bool
nl_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (gi_event_untold(event))
    nl_forget_all(x->private);
  switch (event) {
  case GI_EVENT_INVALIDATE:
    invalidated(x->private, data);
    break;
  default:
    break;
  }
  return false;
}

/* ---- life ---- */

static void
join(struct nl *nl)
{
  nl_forget_all(nl);
  gi_join(&nl->joining, nl->x);
}

static int
nl_init(struct gi_xlator *x, struct gi_error *err)
{
  struct nl *nl = x->private = gi_new(struct nl);

  nl->x = x;
  x->metrics = &nl->m;
  x->enabled = !nl_options(nl)->pass_through;
  gi_lru_init(&nl->lru, &x->ctx->budget, x->reactor, x->name, nl_evict, nl);
  gi_lru_set_bounds(&nl->lru, 0, nl_options(nl)->limit);
  if (x->graph->active)
    join(nl);
  return 0;
}

static void
nl_finish(struct gi_xlator *x)
{
  struct nl *nl = x->private;

  gi_lru_finish(&nl->lru);
  GI_ASSERT(nl->lru.count == 0);
  gi_free(nl);
}

static void
nl_commit(struct gi_xlator *x)
{
  struct nl *nl = x->private;
  bool on = !nl_options(nl)->pass_through;

  gi_lru_set_bounds(&nl->lru, 0, nl_options(nl)->limit);
  if (!nl_options(nl)->positive)
    nl_forget_all(nl);
  if (on && !x->enabled)
    join(nl);
  gi_xlator_enable(x, on);
}

static void
nl_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  GI_ASSERT(x->draining);
  join(x->private);
  done(x);
}

static void
nl_inode_forget(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct nl_inode *ni = bytes;

  GI_ASSERT(ni->changes == 0);
  if (ni->dir)
    nl_dir_drop(x->private, ni->dir);
}

static void
nl_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  nl_fd_stop(bytes);
}

static void
nl_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct nl *nl = x->private;

  gi_dump_section(d, "xlator.performance.nl-cache.%s.priv", x->name);
  gi_dump_kv(d, "directories", "%llu", (unsigned long long)nl->lru.count);
  gi_dump_kv(d, "bytes", "%llu", (unsigned long long)nl->lru.cost);
}

#define OPT(m) .offset = offsetof(struct nl_options, m), .live = true, .since = "0.1"
static const struct gi_option nl_table[] = {
    {.name = "nl-cache-limit",
     .key = "performance.nl-cache-limit",
     .type = GI_OPT_SIZE,
     OPT(limit),
     .def = "10MB",
     .level = 2,
     .op_version = 31100,
     .text = "Memory for names; 0: only the client's memory-limit counts."},
    {.name = "nl-cache-timeout",
     .key = "performance.nl-cache-timeout",
     .type = GI_OPT_TIME,
     OPT(timeout),
     .def = "60",
     .level = 2,
     .op_version = 31100,
     .text =
         "Seconds for which a name is believed not to exist; at most 1 s where bricks do not tell what others make, a third of "
         "features.cache-invalidation-timeout where they do. Not set: that third where a change waits until it is known here "
         "(features.cache-invalidation-strict), and else nothing is believed."},
    {.name = "nl-cache-positive-entry",
     .key = "performance.nl-cache-positive-entry",
     .type = GI_OPT_BOOL,
     OPT(positive),
     .def = "off",
     .level = 2,
     .op_version = 31100,
     .text =
         "Also keep the names that exist, of directories that were wholly listed by this client: then every other name does "
         "not exist, and a name is found whatever its case (glusterfs.get_real_filename). Not of volumes over several sets, "
         "where a listing may lack a file that a rebalance moves. Those of directories that it made are kept in any case."},
    {.name = "cache-invalidation",
     .key = "performance.cache-invalidation",
     .type = GI_OPT_BOOL,
     OPT(cache_invalidation),
     .def = "off",
     .level = 2,
     .op_version = 30900,
     .text = "The bricks of GlusterFS below tell of changes by others (features.cache-invalidation), so nl-cache-timeout "
             "counts in full. "
             "Bricks of this project say so themselves."},
    {.name = "pass-through",
     .key = "performance.nl-cache-pass-through",
     .type = GI_OPT_BOOL,
     OPT(pass_through),
     .def = "off",
     .level = 3,
     .op_version = 40100,
     .text = "Keep nothing and let every operation pass."},
    GI_OPTION_END,
};

static const struct gi_metric nl_metrics_table[] = {
    GI_METRIC(struct nl_metrics, hits, "", "lookups answered: the name does not exist"),
    GI_METRIC(struct nl_metrics, misses, "", "lookups of names sent on"),
    GI_METRIC(struct nl_metrics, real_hits, "", "questions for a name in whatever case answered"),
    GI_METRIC(struct nl_metrics, listed, "", "directories of which a listing told all names"),
    GI_METRIC(struct nl_metrics, foreign, "", "changes by others that a directory's times showed"),
    GI_METRIC(struct nl_metrics, dropped, "", "directories whose names were forgotten"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/nl-cache",
    .version = GI_VERSION,
    .summary = "Answers lookups of names that do not exist from memory",
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"features/utime", "performance/md-cache", "performance/open-behind", "performance/quick-read"},
               .key = "performance.nl-cache",
               .def = "on",
               .since = "0.1",
               .text = "Remember which names do not exist, as long as that is certain, or for nl-cache-timeout."}},
    .min_children = 1,
    .max_children = 1,
    .options = nl_table,
    .options_bytes = sizeof(struct nl_options),
    .metrics = nl_metrics_table,
    .fop_bytes = sizeof(struct nl_fop),
    .inode_bytes = sizeof(struct nl_inode),
    .fd_bytes = sizeof(struct nl_fd),
    .submit = nl_change,
    .submit_kinds = CHANGES,
    .on =
        {
            [GI_FOP_LOOKUP] = nl_lookup,
            [GI_FOP_STAT] = nl_stat,
            [GI_FOP_FSTAT] = nl_stat,
            [GI_FOP_READDIR] = nl_readdir,
            [GI_FOP_READDIRP] = nl_readdir,
            [GI_FOP_GETXATTR] = nl_getxattr,
            [GI_FOP_LK] = nl_lock,
        },
    .complete = nl_complete,
    .init = nl_init,
    .finish = nl_finish,
    .reconfigure_commit = nl_commit,
    .notify = nl_notify,
    .drain = nl_drain,
    .statedump = nl_statedump,
    .inode_forget = nl_inode_forget,
    .fd_release = nl_fd_release,
};
