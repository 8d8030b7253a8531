/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose change was it? The kernel's pages of a file stay through our own
 * changes and go with those of others. libglusterish/trust.c tells the two apart; here
 * is what operations have to say to that, and what the kernel is told.
 */
#include "fuse-internal.h"

#include <sys/stat.h>

void
node_others(struct bridge *b, struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  n->no_capability = false;
  n->others = true;
}

static void
found_foreign(struct bridge *b, struct gi_inode *inode)
{
  b->m.foreign_changes++;
  node_others(b, inode);
}

/* The kernel has the end of what was answered early, and would take a smaller size for somebody's truncation. */
static void
add_early(const struct node *n, const struct gi_gfid *of, struct gi_iatt *a, uint64_t seq)
{
  if ((n->trust.deferred || seq < n->early_seq) && a->size < n->early_end && gi_trust_describes(of, a))
    a->size = n->early_end;
}

static enum gi_trust_verdict
judge(struct bridge *b, struct gi_inode *inode, struct gi_iatt *a, uint64_t seq)
{
  struct node *n = node_of(b, inode);
  enum gi_trust_verdict verdict;

  add_early(n, &inode->gfid, a, seq);
  if (gi_trust_describes(&inode->gfid, a) && !gi_time_equal(&a->ctime, &n->trust.attr.ctime))
    n->attr_until = 0; /* every change moves ctime: that is not what was promised */
  verdict = gi_trust_attributes(&b->order, &n->trust, &inode->gfid, a, seq);
  if (gi_trust_describes(&inode->gfid, a))
    inode->mode = a->mode & S_IFMT;
  if (verdict == GI_TRUST_FOREIGN)
    found_foreign(b, inode);
  return verdict;
}

void
node_attributes(struct bridge *b, struct gi_inode *inode, struct gi_iatt *a, uint64_t seq)
{
  if (judge(b, inode, a, seq) == GI_TRUST_FOREIGN)
    inval_inode(b, inode, true);
}

bool
node_must_drop(struct bridge *b, struct gi_inode *inode, struct gi_iatt *a, uint64_t seq)
{
  return judge(b, inode, a, seq) == GI_TRUST_FOREIGN || (S_ISREG(inode->mode) && node_of(b, inode)->dropping > 0);
}

bool
node_is_current(struct bridge *b, struct gi_inode *inode, struct gi_iatt *a, uint64_t seq)
{
  return judge(b, inode, a, seq) == GI_TRUST_OURS && node_of(b, inode)->dropping == 0;
}

void
node_mode_fell(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a)
{
  if (gi_trust_mode(&node_of(b, inode)->trust, &inode->gfid, a))
    inval_attributes(b, inode);
}

void
node_changed(struct bridge *b, struct gi_inode *inode)
{
  node_of(b, inode)->attr_until = 0;
  gi_trust_touched(&b->order, &node_of(b, inode)->trust);
}

void
node_moved(struct bridge *b, struct gi_inode *inode, const struct gi_fop *fop, const struct gi_iatt *left)
{
  node_of(b, inode)->attr_until = 0;
  gi_trust_touched_to(&b->order, &node_of(b, inode)->trust, &inode->gfid, left, fop->start_ns + ns_of(b->attr_timeout));
}

/* ---- a change of ours ---- */

/* Those kinds whose size is no longer that of what was written before. */
#define SIZE_KINDS (GI_KIND(GI_FOP_TRUNCATE) | GI_KIND(GI_FOP_FTRUNCATE) | GI_KIND(GI_FOP_OPEN))

void
node_change_begins(struct bridge *b, struct gi_fop *fop, struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  GI_ASSERT(!op_of(b, fop)->changes && inode); /* one for each operation */
  n->attr_until = 0;
  op_of(b, fop)->changes = inode;
  op_of(b, fop)->began = gi_trust_change_begins(&b->order, &n->trust);
  if (SIZE_KINDS & GI_KIND(fop->kind)) {
    n->early_end = 0;
    n->early_append = false;
  }
  if (fop->kind == GI_FOP_WRITE)
    n->dirty = true;
  node_check(b, n);
}

/* The kernel has the bytes where it believed the end of the file to be. */
static bool
appended_elsewhere(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_WRITE && (fop->args.flags & O_APPEND) && fop->rsp.pre.size != fop->args.offset;
}

#define CTIME_KINDS (GI_KIND(GI_FOP_LINK) | GI_KIND(GI_FOP_SETXATTR) | GI_KIND(GI_FOP_REMOVEXATTR))

static enum gi_trust_change_kind
kind_of(const struct gi_fop *fop)
{
  if (fop->rsp.ret < 0)
    return GI_TRUST_CHANGE_FAILED;
  if (GI_KIND(fop->kind) & CTIME_KINDS)
    return GI_TRUST_CHANGE_CTIME;
  return fop->kind == GI_FOP_OPEN ? GI_TRUST_CHANGE_EMPTIED : GI_TRUST_CHANGE_TOLD;
}

/* After every write(2) the kernel drops what it knows and asks again: until attribute-timeout after the change was sent it gets
 * what the change left, as if it had kept it. */
void
node_change_ended(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);
  struct gi_inode *inode = op->changes;

  GI_ASSERT(inode);
  if (op->deferred)
    return;

  struct gi_trust_change c = {.kind = kind_of(fop),
                              .found = &fop->rsp.pre,
                              .left = &fop->rsp.post,
                              .elsewhere = appended_elsewhere(fop),
                              .unordered = bridge_options(b)->kernel_writeback_cache,
                              .until = fop->start_ns + (uint64_t)(b->attr_timeout * GI_NSEC_PER_SEC)};

  if (gi_trust_change_ended(&b->order, &node_of(b, inode)->trust, &inode->gfid, op->began, &c))
    return;
  found_foreign(b, inode);
  inval_inode(b, inode, true);
}

/* ---- one that was answered early ---- */

void
node_change_deferred(struct bridge *b, struct gi_fop *fop)
{
  struct op *op = op_of(b, fop);
  struct node *n = node_of(b, op->changes);
  uint64_t end = fop->args.offset + (uint64_t)fop->rsp.ret;

  GI_ASSERT(fop->kind == GI_FOP_WRITE && fop->rsp.ret >= 0); /* nothing else is (fop.h) */
  GI_ASSERT(!op->deferred);
  op->deferred = true;
  b->m.early_writes++;
  if (n->trust.deferred == 0)
    n->early_end = 0;
  if (n->early_end < end)
    n->early_end = end;
  n->early_append |= (fop->args.flags & O_APPEND) != 0;
  n->fresh_written = n->fresh;
  gi_trust_change_deferred(&n->trust);
  node_check(b, n);
}

/* The kernel's pages have what no brick has. Each descriptor is to hear of it: none is flushed here any more. */
static void
found_lost(struct bridge *b, struct gi_inode *inode)
{
  gi_trust_broken(&node_of(b, inode)->trust, true);
  node_others(b, inode);
  node_of(b, inode)->early_end = 0;
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    if (handle_of(b, fd)->id)
      handle_of(b, fd)->dirty = true;
  }
  inval_inode(b, inode, true);
}

void
node_written(struct bridge *b, const struct gi_written *w)
{
  struct node *n = node_of(b, w->inode);
  bool told = !w->err && w->found && w->left;
  uint64_t good = (uint64_t)((w->asked ? b->attr_timeout : b->one_attr_timeout) * GI_NSEC_PER_SEC);

  GI_ASSERT(w->changes > 0 && w->changes <= n->trust.deferred); /* each ends once */
  struct gi_trust_change c = {.kind = told ? GI_TRUST_CHANGE_TOLD : GI_TRUST_CHANGE_FAILED,
                              .found = w->found,
                              .left = w->left,
                              .elsewhere = told && n->early_append && w->left->size > n->early_end,
                              .unordered = bridge_options(b)->kernel_writeback_cache,
                              .until = (w->asked ? w->asked : gi_now(b->x->reactor)) + good};
  bool ours = gi_trust_written(&b->order, &n->trust, &w->inode->gfid, w->changes, &c);

  n->early_seq = b->order.clock;
  if (n->trust.deferred == 0)
    n->early_append = false;
  node_check(b, n);
  if (w->err) {
    b->m.lost_writes += w->changes;
    found_lost(b, w->inode);
    return;
  }
  if (n->trust.inflight == 0 && gi_iatt_valid(w->left) && gi_time_equal(&w->left->mtime, &n->lazy_mtime))
    n->lazy_times = false; /* they went along (fuse-times.c) */
  if (!ours) {
    found_foreign(b, w->inode);
    inval_inode(b, w->inode, true);
  }
}

/* ---- a question less ---- */

void
node_wrote(struct bridge *b, struct gi_inode *inode, uint64_t end)
{
  node_of(b, inode)->wrote_end = end;
}

/* Whenever the kernel takes attributes from us it forgets that the file has no capabilities, and asks before the next write: one question for
 * each write of a file whose end is looked for in between. It does not take those that were asked for before it was told that attributes
 * are invalid. That is right when they say nothing that it does not know: the file ends where our last write does, and nobody else has
 * ever changed it. Whoever called stat(2) gets them all the same. The first question of a file is still asked. */
void
node_spare_capability(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *a)
{
  struct node *n = node_of(b, inode);
  const struct bridge_options *o = bridge_options(b);
  bool known = n->wrote_end && n->wrote_end == a->size && !n->others;

  n->wrote_end = 0;
  if (known && n->asked_capability == 2 && (b->init_offered & COMPAT_HANDLE_KILLPRIV_V2) && !o->acl && !o->auto_invalidation &&
      !o->kernel_writeback_cache) {
    b->m.capability_spared++;
    inval_attributes(b, inode);
  }
}

/* ---- what is remembered ---- */

const struct gi_iatt *
node_answer(struct bridge *b, const struct gi_inode *inode, double *seconds)
{
  uint64_t now = gi_now(b->x->reactor), until;
  const struct gi_iatt *answer = gi_trust_answer(&b->order, &node_of(b, inode)->trust, now, &until);

  GI_ASSERT(!answer || (until > now && gi_gfid_equal(&answer->gfid, &inode->gfid)));
  if (answer)
    *seconds = (double)(until - now) / GI_NSEC_PER_SEC;
  return answer;
}

void
node_settled(struct bridge *b, struct gi_inode *inode, uint64_t seq)
{
  struct node *n = node_of(b, inode);

  if (gi_trust_settled(&n->trust, seq))
    n->dirty = false;
}
