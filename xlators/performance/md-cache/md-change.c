/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of ours. They update what is kept: a change that was alone tells what
 * it left. Of several at once nobody knows the order, so only those that all
 * make a file longer, WRITEs, can be summed up: the greatest size and the latest times
 * are what is there when all have ended. While one is under way nothing is
 * answered.
 */
#include "xlators/performance/md-cache/md-cache.h"

#include "libglusterish/extension.h"
#include "libglusterish/probe.h"

#include <errno.h>
#include <fcntl.h>

/* Their reply does not say what the change found and left of the object, but that it only moved its ctime. */
#define OF_XATTRS \
  (GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_FSETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR) | GI_KIND(GI_FOP_FREMOVEXATTR) | \
   GI_KIND(GI_FOP_XATTROP) | GI_KIND(GI_FOP_FXATTROP))
#define MOVES_CTIME \
  (GI_KIND(GI_FOP_LINK) | GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_RENAME) | GI_KIND(GI_FOP_ICREATE) | \
   GI_KIND(GI_FOP_NAMELINK))
#define CHANGES_DATA \
  (GI_KIND(GI_FOP_WRITE) | GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_FALLOCATE) | \
   GI_KIND(GI_FOP_DISCARD) | GI_KIND(GI_FOP_ZEROFILL) | GI_KIND(GI_FOP_COPY_FILE_RANGE) | GI_KIND(GI_FOP_OPEN))
#define NAME_GOES (GI_KIND(GI_FOP_UNLINK) | GI_KIND(GI_FOP_RMDIR) | GI_KIND(GI_FOP_RENAME))

/* ---- a change begins ---- */

static void
begin(struct md *md, struct gi_fop *fop, struct md_fop *f, struct gi_inode *inode, bool object)
{
  struct md_entry *e = inode ? md_entry_get(md, inode) : NULL;

  if (!e)
    return;
  for (unsigned i = 0; i < f->nchanged; i++)
    if (f->changed[i] == e)
      return;
  GI_ASSERT(f->nchanged < MD_CHANGED_MAX);
  if (e->trust.inflight == 0) {
    md_entry_catch_up(md, e);
    gi_lru_remove(&md->lru, &e->item);
    e->writes = true;
    e->grown = (struct md_grown){0};
  }
  e->good &= GI_BROKEN("keep attributes over a change");
  e->writes &= fop->kind == GI_FOP_WRITE;
  f->xattrs[f->nchanged] = object && md_changes_xattrs(fop->kind);
  f->changed[f->nchanged] = e;
  f->began[f->nchanged++] = gi_trust_change_begins(&md->order, &e->trust);
  if (f->xattrs[f->nchanged - 1])
    md_xattr_change_begins(md, e);
  else if (object && CHANGES_DATA & GI_KIND(fop->kind))
    md_data_changed(md, e);
}

/* An object loses or changes its name, and nobody here knows which: then it may be any. */
static bool
is_nameless(struct gi_fop *fop)
{
  return (NAME_GOES & GI_KIND(fop->kind) && !gi_loc_inode(fop, &fop->loc)) ||
         (fop->kind == GI_FOP_RENAME && !gi_loc_inode(fop, &fop->loc2) && !gi_dict_get(fop->xdata, GI_NOREPLACE_KEY));
}

/* UNLINK refuses directories, and a file replaces none. */
static bool
may_be_directory(const struct gi_fop *fop)
{
  const struct gi_inode *moved = fop->loc.inode;

  return fop->kind != GI_FOP_UNLINK && !(fop->kind == GI_FOP_RENAME && moved && moved->mode && !S_ISDIR(moved->mode));
}

static void
begin_all(struct md *md, struct gi_fop *fop, struct md_fop *f)
{
  uint64_t kind = GI_KIND(fop->kind);

  if (fop->kind == GI_FOP_COPY_FILE_RANGE)
    begin(md, fop, f, fop->fd2 ? fop->fd2->inode : gi_loc_inode(fop, &fop->loc2), true);
  else if (MD_OF_OBJECT & kind)
    begin(md, fop, f, gi_fop_inode(fop), true);
  if (fop->kind == GI_FOP_RENAME)
    begin(md, fop, f, gi_loc_inode(fop, &fop->loc2), true);
  if (MD_OF_ENTRY & kind && fop->kind != GI_FOP_LINK)
    begin(md, fop, f, gi_loc_parent(fop, &fop->loc), false);
  if (fop->kind == GI_FOP_RENAME || fop->kind == GI_FOP_LINK)
    begin(md, fop, f, gi_loc_parent(fop, &fop->loc2), false);
}

enum gi_verdict
md_change(struct gi_xlator *x, struct gi_fop *fop)
{
  struct md *md = x->private;
  struct md_fop *f = gi_fop_private(fop, x);

  GI_ASSERT(MD_CHANGING & GI_KIND(fop->kind));
  GI_ASSERT(fop->kind != GI_FOP_OPEN || fop->args.flags & O_TRUNC);
  f->nameless = is_nameless(fop);
  f->of_dirs = f->nameless && may_be_directory(fop);
  md->order.names += f->nameless;
  md->dir_names += f->of_dirs;
  md_note(md, f);
  begin_all(md, fop, f);
  return GI_PASS_TELL;
}

/* ---- it ended ---- */

/* What the reply says of that inode: as the change found it, or left it. */
static const struct gi_iatt *
told(const struct gi_fop *fop, const struct gi_inode *inode, bool before)
{
  const struct gi_reply *r = &fop->rsp;
  const struct gi_iatt *const blocks[] = {before ? &r->pre : &r->post, before ? &r->pre2 : &r->post2};

  for (size_t i = 0; i < GI_ARRAY_LEN(blocks); i++)
    if (gi_trust_describes(&inode->gfid, blocks[i]))
      return blocks[i];
  return NULL;
}

static void
grow(struct md_grown *g, const struct gi_iatt *left)
{
  if (left->size > g->size)
    g->size = left->size;
  if (left->blocks > g->blocks)
    g->blocks = left->blocks;
  gi_time_raise(&g->mtime, &left->mtime);
  gi_time_raise(&g->ctime, &left->ctime);
}

/* All WRITEs that were under way have ended: this is what they left together. */
static void
keep_grown(struct md *md, struct md_entry *e, const struct gi_iatt *last, const struct md_fop *f)
{
  struct gi_iatt a = *last;

  GI_ASSERT(e->grown.size >= last->size);
  a.size = e->grown.size;
  a.blocks = e->grown.blocks;
  a.mtime = e->grown.mtime;
  a.ctime = e->grown.ctime;
  md_keep_attr(md, e, &a, f);
}

static enum gi_trust_change_kind
kind_of(const struct gi_fop *fop, const struct gi_iatt *found, const struct gi_iatt *left)
{
  if (fop->rsp.ret < 0)
    return GI_TRUST_CHANGE_FAILED;
  if (GI_BROKEN("keep attributes over a change"))
    return GI_TRUST_CHANGE_CTIME;
  if (fop->kind == GI_FOP_OPEN)
    return GI_TRUST_CHANGE_EMPTIED;
  if (OF_XATTRS & GI_KIND(fop->kind) || (MOVES_CTIME & GI_KIND(fop->kind) && !(found && left)))
    return GI_TRUST_CHANGE_CTIME;
  return GI_TRUST_CHANGE_TOLD;
}

/* Attributes of the inode as a change of ours left it, at the end of that one. */
static void
keep_left(struct md *md, struct md_entry *e, const struct gi_iatt *left, const struct md_fop *f, bool alone)
{
  if (e->trust.inflight > 0 || !md_may_keep(md, e, f))
    return;
  if (e->writes)
    keep_grown(md, e, left, f);
  else if (alone)
    md_keep_attr(md, e, left, f);
}

static void
end_one(struct md *md, struct gi_fop *fop, struct md_fop *f, unsigned i)
{
  static const struct gi_iatt nothing;
  struct md_entry *e = f->changed[i];
  const struct gi_iatt *found = told(fop, e->inode, true), *left = told(fop, e->inode, false);
  struct gi_trust_change c = {
      .kind = kind_of(fop, found, left), .found = found ? found : &nothing, .left = left ? left : &nothing};
  bool alone = e->trust.seq == f->began[i] && e->trust.inflight == 1 && e->names == md_names(md, e);
  bool foreign = !gi_trust_change_ended(&md->order, &e->trust, &e->inode->gfid, f->began[i], &c) && alone;

  GI_ASSERT(!alone || e->trust.inflight == 0);
  f->alone[i] = alone;
  /* What each of several found does not tell: bricks need not look, change and look again at once. */
  if (!alone || c.kind == GI_TRUST_CHANGE_FAILED || (c.kind == GI_TRUST_CHANGE_TOLD && !(found && left))) {
    gi_trust_forget(&e->trust);
    e->names = md_names(md, e);
  }
  if (fop->rsp.ret >= 0 && left && e->writes)
    grow(&e->grown, left);
  else
    e->writes = false;
  if (f->xattrs[i])
    md_xattr_change_ended(md, e, fop, alone);
  md_entry_settle(md, e);
  if (foreign)
    md_forget_xattr(md, e);
  if (left && c.kind == GI_TRUST_CHANGE_TOLD)
    keep_left(md, e, left, f, alone);
  if (foreign && S_ISREG(e->trust.attr.mode)) /* a directory's times differ from brick to brick */
    md_tell_foreign(md, e);
}

/* In the order of a GlusterFS volfile write-behind is below: what it answered early ends here. Some of it may have passed before this
 * translator joined the graph. */
void
md_written(struct md *md, const struct gi_written *w)
{
  static const struct gi_iatt nothing;
  struct md_entry *e = md_entry_find(md, w->inode);
  uint32_t n = e && w->changes > e->trust.deferred ? e->trust.deferred : w->changes;
  bool told = !w->err && w->found && w->left && gi_trust_describes(&w->inode->gfid, w->found) &&
              gi_trust_describes(&w->inode->gfid, w->left);
  struct gi_trust_change c = {.kind = w->err ? GI_TRUST_CHANGE_FAILED : GI_TRUST_CHANGE_TOLD,
                              .found = told ? w->found : &nothing,
                              .left = told ? w->left : &nothing};
  bool alone, foreign;
  struct md_fop now;

  GI_ASSERT(w->changes > 0);
  if (!e || n == 0)
    return;
  alone = told && !e->trust.mixed && e->trust.inflight == n && e->names == md_names(md, e);
  foreign = !gi_trust_written(&md->order, &e->trust, &w->inode->gfid, n, &c) && alone;
  if (!alone) {
    gi_trust_forget(&e->trust);
    e->names = md_names(md, e);
  }
  if (told && e->writes)
    grow(&e->grown, w->left);
  e->writes &= told;
  if (foreign)
    md_forget_xattr(md, e);
  md_note(md, &now);
  md_entry_settle(md, e);
  if (told)
    keep_left(md, e, w->left, &now, alone);
  if (foreign)
    md_tell_foreign(md, e);
}

static bool
was_alone(const struct md_fop *f, const struct md_entry *e)
{
  for (unsigned i = 0; i < f->nchanged; i++)
    if (f->changed[i] == e)
      return f->alone[i];
  return gi_trust_settled(&e->trust, f->seq);
}

/* CREATE found a file that we know, and may have emptied it. */
static void
found_by_create(struct md *md, struct gi_fop *fop, struct md_entry *e)
{
  if (!(fop->args.flags & O_TRUNC))
    return;
  gi_trust_forget(&e->trust);
  md_forget_attr(md, e);
  md_data_changed(md, e);
}

/* The object that has a name now: its attributes are those that the change left, if it was the only one. */
static void
named(struct md *md, struct gi_fop *fop, const struct md_fop *f)
{
  struct gi_inode *inode;
  struct md_entry *e;
  struct md_fop now = *f;
  struct gi_gfid wanted;
  bool alone;

  if (!gi_iatt_valid(&fop->rsp.stat) || gi_gfid_is_none(&fop->rsp.stat.gfid))
    return;
  inode = gi_inode_get(fop->graph, &fop->rsp.stat.gfid);
  e = md_entry_find(md, inode);
  alone = !e || was_alone(f, e);
  if (e && fop->kind == GI_FOP_CREATE)
    found_by_create(md, fop, e);
  if (e && alone)
    now.seq = md->order.clock;
  if (alone)
    md_attributes(md, inode, &fop->rsp.stat, &now);
  if (gi_dict_get_gfid(fop->xdata, "gfid-req", &wanted) && gi_gfid_equal(&wanted, &inode->gfid))
    md_new_object(md, inode, &now);
  gi_inode_unref(&inode);
}

void
md_changed(struct md *md, struct gi_fop *fop, struct md_fop *f)
{
  for (unsigned i = 0; i < f->nchanged; i++) {
    GI_ASSERT(!fop->rsp.early || fop->kind == GI_FOP_WRITE);
    if (fop->rsp.early)
      gi_trust_change_deferred(&f->changed[i]->trust);
    else
      end_one(md, fop, f, i);
  }
  md->order.names += f->nameless;
  md->dir_names += f->of_dirs;
  if (fop->rsp.ret >= 0 && MD_OF_ENTRY & GI_KIND(fop->kind))
    named(md, fop, f);
  if (fop->rsp.ret < 0 && (fop->rsp.err == ESTALE || (fop->rsp.err == ENOENT && !(MD_OF_ENTRY & GI_KIND(fop->kind)))) &&
      gi_fop_inode(fop))
    md_gone(md, gi_fop_inode(fop));
}
