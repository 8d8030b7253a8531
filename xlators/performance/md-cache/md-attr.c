/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes: answered from what is kept, learnt from replies.
 *
 * A LOOKUP by name always goes to the bricks: it asks where the name leads, and
 * nothing here knows that.
 */
#include "xlators/performance/md-cache/md-cache.h"

#include "libglusterish/promise.h"

#include <errno.h>
#include <fcntl.h>

#define ANSWERABLE (GI_KIND(GI_FOP_STAT) | GI_KIND(GI_FOP_FSTAT) | GI_KIND(GI_FOP_LOOKUP))
#define WITH_KEYS (GI_KIND(GI_FOP_LOOKUP) | GI_KIND(GI_FOP_READDIRP))

/* ---- asking ---- */

static bool
answer(struct md *md, struct gi_fop *fop)
{
  struct gi_inode *inode = fop->loc.name && fop->kind == GI_FOP_LOOKUP ? NULL : gi_fop_inode(fop);
  const struct md_entry *e = inode ? md_entry_find(md, inode) : NULL;

  if (!e || !e->good || e->trust.inflight > 0 || !md_is_fresh(md, &e->age, e->dir) ||
      !md_know_all(md, e, fop->xdata, &fop->rsp.xdata))
    return false;
  GI_ASSERT(gi_trust_describes(&inode->gfid, &e->trust.attr));
  fop->rsp.stat = e->trust.attr;
  fop->rsp.asked = md_is_told(md) && !gi_promise_lease(md->x->graph) ? 0 : e->age.asked;
  gi_fop_ok(fop, 0);
  if (gi_lru_holds(&e->item))
    gi_lru_touch(&md->lru, &((struct md_inode *)gi_inode_private(inode, md->x))->entry->item);
  return true;
}

static void
ask_about(struct md *md, const struct gi_inode *inode)
{
  struct md_entry *e = inode ? md_entry_find(md, inode) : NULL;

  if (e)
    md_entry_catch_up(md, e);
}

enum gi_verdict
md_ask(struct gi_xlator *x, struct gi_fop *fop)
{
  struct md *md = x->private;
  struct md_fop *f = gi_fop_private(fop, x);

  GI_ASSERT(MD_ASKING & GI_KIND(fop->kind));
  if (fop->caller.pid < 0) /* a healer wants to know what the bricks have */
    return GI_PASS;
  if (ANSWERABLE & GI_KIND(fop->kind)) {
    if (answer(md, fop)) {
      md->m.attr_hits++;
      return GI_ANSWERED;
    }
    md->m.attr_misses += !fop->loc.name;
  }
  ask_about(md, gi_fop_inode(fop));
  md_note(md, f);
  if (WITH_KEYS & GI_KIND(fop->kind))
    md_add_keys(md, fop, f);
  return GI_PASS_TELL;
}

/* Whoever lists a directory mostly wants to know what the names are: their attributes come along. */
enum gi_verdict
md_readdir(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct md *md = x->private;

  GI_ASSERT(fop->kind == GI_FOP_READDIR);
  if (!md_options(md)->force_readdirp || fop->caller.pid < 0)
    return GI_PASS;
  ((struct md_fop *)gi_fop_private(fop, x))->was_readdir = true;
  fop->kind = GI_FOP_READDIRP;
  return md_ask(x, fop);
}

enum gi_verdict
md_statfs(struct gi_xlator *x, struct gi_fop *fop)
{
  struct md *md = x->private;

  if (!md_options(md)->statfs || fop->caller.pid < 0)
    return GI_PASS;
  if (md->statfs_good && md_is_fresh(md, &md->statfs_age, false)) {
    md->m.statfs_hits++;
    fop->rsp.statfs = md->statfs;
    return gi_fop_ok(fop, 0);
  }
  md_note(md, gi_fop_private(fop, x));
  return GI_PASS_TELL;
}

/* Bricks of ours send attributes along with the answer, if they are asked to. */
enum gi_verdict
md_open(struct gi_xlator *x, struct gi_fop *fop)
{
  struct md *md = x->private;

  GI_ASSERT(fop->kind == GI_FOP_OPEN);
  if (fop->args.flags & O_TRUNC)
    return md_change(x, fop);
  if (fop->caller.pid < 0 || !gi_fop_inode(fop) || !gi_dict_get(fop->xdata, GI_CONTENT_KEY))
    return GI_PASS;
  ask_about(md, gi_fop_inode(fop));
  md_note(md, gi_fop_private(fop, x));
  return GI_PASS_TELL;
}

/* ---- learning ---- */

#define FOREIGN_FLAGS (GI_UPCALL_SIZE | GI_UPCALL_TIMES | GI_UPCALL_INVAL_ATTR)

void
md_tell_foreign(struct md *md, struct md_entry *e)
{
  struct gi_invalidation inv = {.gfid = e->inode->gfid, .flags = FOREIGN_FLAGS};

  GI_ASSERT(e->inode && md_entry_find(md, e->inode) == e);
  md->m.foreign++;
  gi_trust_take_data(&e->trust); /* it is told now */
  if (md_options(md)->global_invalidation)
    gi_notify_up(md->x, GI_EVENT_INVALIDATE, &inv);
}

void
md_keep_attr(struct md *md, struct md_entry *e, const struct gi_iatt *a, const struct md_fop *f)
{
  GI_ASSERT(e->trust.inflight == 0 && gi_trust_describes(&e->inode->gfid, a));
  e->trust.attr = *a;
  e->good = a->nlink > 0; /* what is removed but open is asked for; some peers say so of attributes that they do not know */
  e->age = f->age;
  md->m.updated++;
}

void
md_attributes(struct md *md, struct gi_inode *inode, const struct gi_iatt *a, const struct md_fop *f)
{
  struct md_entry *e = md_entry_find(md, inode);
  enum gi_trust_verdict verdict;

  if (!gi_trust_describes(&inode->gfid, a) || !md_may_keep(md, e, f))
    return;
  e = md_entry_get(md, inode);
  if (!md_entry_catch_up(md, e) || !gi_trust_settled(&e->trust, f->seq) || f->age.asked < e->age.asked)
    return;
  md_entry_type(md, e, a->mode);
  verdict = gi_trust_attributes(&md->order, &e->trust, &inode->gfid, a, f->seq);
  if (verdict == GI_TRUST_FOREIGN)
    md_forget_xattr(md, e);
  md_keep_attr(md, e, a, f);
  if (verdict == GI_TRUST_FOREIGN)
    md_tell_foreign(md, e);
}

/* They show what others have closed before: who looks after the open gets no older attributes than it came with. */
static void
opened(struct md *md, struct gi_fop *fop, const struct md_fop *f)
{
  const struct gi_pair *stat = gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY);
  struct gi_inode *inode = gi_fop_inode(fop);

  if (stat && stat->type == GI_VALUE_IATT && inode && md_entry_find(md, inode))
    md_attributes(md, inode, stat->iatt, f);
}

static void
read_entries(struct md *md, struct gi_fop *fop, const struct md_fop *f)
{
  for (uint32_t i = 0; i < fop->rsp.entries.count; i++) {
    const struct gi_dirent *d = &fop->rsp.entries.entry[i];
    struct gi_inode *inode;

    if (!gi_iatt_valid(&d->stat) || gi_gfid_is_none(&d->stat.gfid) || gi_dirent_is_dot(d))
      continue;
    inode = gi_inode_get(fop->graph, &d->stat.gfid);
    md_attributes(md, inode, &d->stat, f);
    if (f->keys)
      md_keep_set(md, inode, d->xdata, f);
    gi_inode_unref(&inode);
  }
}

/* The name's object, which the request did not name. */
static void
looked_up(struct md *md, struct gi_fop *fop, const struct md_fop *f)
{
  struct gi_inode *inode;

  if (!gi_iatt_valid(&fop->rsp.stat) || gi_gfid_is_none(&fop->rsp.stat.gfid))
    return;
  inode = gi_inode_get(fop->graph, &fop->rsp.stat.gfid);
  md_attributes(md, inode, &fop->rsp.stat, f);
  if (f->keys)
    md_keep_set(md, inode, fop->rsp.xdata, f);
  gi_inode_unref(&inode);
}

static void
statfs_came(struct md *md, const struct gi_fop *fop, const struct md_fop *f)
{
  md->statfs = fop->rsp.statfs;
  md->statfs_age = f->age;
  md->statfs_good = !md->x->draining;
}

static void
failed(struct md *md, struct gi_fop *fop)
{
  struct gi_inode *inode = fop->rsp.err == ENOENT || fop->rsp.err == ESTALE ? gi_fop_inode(fop) : NULL;

  if (inode)
    md_gone(md, inode);
}

void
md_answered(struct md *md, struct gi_fop *fop, struct md_fop *f)
{
  struct gi_attr attr;
  unsigned at = 0;

  GI_ASSERT(f->seq <= md->order.clock && f->nchanged == 0);
  GI_ASSERT(!f->was_readdir || fop->kind == GI_FOP_READDIRP);
  if (f->was_readdir)
    fop->kind = GI_FOP_READDIR;
  if (fop->rsp.ret < 0) {
    failed(md, fop);
    return;
  }
  if (fop->kind == GI_FOP_READDIR || fop->kind == GI_FOP_READDIRP) {
    read_entries(md, fop, f);
  } else if (fop->kind == GI_FOP_LOOKUP) {
    looked_up(md, fop, f);
    if (fop->loc.parent)
      md_attributes(md, fop->loc.parent, &fop->rsp.post, f);
  } else if (fop->kind == GI_FOP_OPEN) {
    opened(md, fop, f);
  } else if (fop->kind == GI_FOP_STATFS) {
    statfs_came(md, fop, f);
  } else if (fop->kind == GI_FOP_LK) {
    /* What was written before under the lock is to be seen, in any file. */
    md->order.locks += gi_fop_takes_lock(fop);
  } else {
    while (gi_reply_next_attr(fop, &at, &attr)) {
      if (!attr.before && attr.whose == GI_OF_OBJECT && gi_fop_inode(fop))
        md_attributes(md, gi_fop_inode(fop), attr.iatt, f);
    }
  }
}
