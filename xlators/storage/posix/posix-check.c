/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold of the structs that outlive a call, wherever their state
 * changes. A brick that finds otherwise ends: it would go on with somebody's
 * data.
 */
#include "xlators/storage/posix/posix.h"

_Static_assert(GI_FOP_MAX <= 64, "kinds are bits of a set");

#define K(kind) (UINT64_C(1) << GI_FOP_##kind)
#define RANGES (K(FALLOCATE) | K(DISCARD) | K(ZEROFILL))
#define COUNTERS (K(XATTROP) | K(FXATTROP))
#define ATTRIBUTES (K(SETXATTR) | K(FSETXATTR) | K(REMOVEXATTR) | K(FREMOVEXATTR))

/* Which kinds of operations may have which of their flags set. What is not here any kind may have. */
static const struct {
  size_t flag;
  uint64_t kinds;
} flag_table[] = {
#define FLAG(f) offsetof(struct posix_op, f)
    {FLAG(fd2_own), K(COPY_FILE_RANGE)},
    {FLAG(exclusive), K(READDIR) | K(READDIRP) | K(WRITE) | K(SETATTR) | K(FSETATTR) | COUNTERS | RANGES | ATTRIBUTES},
    {FLAG(slow), K(READ) | K(WRITE) | K(COPY_FILE_RANGE) | K(GETXATTR) | K(FGETXATTR)},
    {FLAG(gone), K(UNLINK) | K(RMDIR)},
    {FLAG(dir_gone), K(RMDIR)},
    {FLAG(victim_gone), K(RENAME)},
    {FLAG(victim_parked), K(RENAME)},
    {FLAG(moved), K(RENAME)},
    {FLAG(deeper), K(RENAME)},
    {FLAG(obj_open), K(UNLINK) | K(GETXATTR) | K(FGETXATTR)},
    {FLAG(datasync), K(FSYNC) | K(FSYNCDIR)},
    {FLAG(settle), K(WRITE)},
    {FLAG(began), K(WRITE)},
    {FLAG(append), K(WRITE)},
    {FLAG(at_end), K(WRITE)},
    {FLAG(sync), K(WRITE) | RANGES},
    {FLAG(dsync), K(WRITE) | K(COPY_FILE_RANGE)},
    {FLAG(unsynced), K(WRITE) | K(SETATTR) | K(FSETATTR) | K(ZEROFILL) | K(COPY_FILE_RANGE) | ATTRIBUTES | COUNTERS},
    {FLAG(flush), COUNTERS},
    {FLAG(wrote), K(SETATTR) | K(FSETATTR) | COUNTERS},
    {FLAG(existed), K(CREATE)},
    {FLAG(has_content), K(OPEN) | K(LOOKUP)},
};

void
posix_check(const struct posix *p)
{
  GI_CHECK(p, POSIX_MAGIC);
  GI_ASSERT(p->root_dir && !p->root_dir->owner && p->root_dir->refs > 0); /* it is not one of the cache's */
  GI_ASSERT((p->ndirs == 0) == gi_list_empty(&p->dirs));
  GI_ASSERT(p->ndirs <= p->dirs_max);
  GI_ASSERT(p->moving <= p->away && p->away <= p->elsewhere);
}

void
posix_dir_check(const struct posix_dir *d)
{
  GI_CHECK(d, POSIX_DIR_MAGIC);
  GI_ASSERT(d->refs > 0);
  GI_ASSERT(d->fd >= 0);
  GI_ASSERT(!d->owner || d->owner->dir == d);
}

void
posix_inode_check(const struct posix_inode *pi)
{
  GI_CHECK(pi, POSIX_INODE_MAGIC);
  GI_CHECK(pi->self, GI_INODE_MAGIC);
  GI_ASSERT(pi->md_dirty == !gi_list_empty(&pi->dirty));
  GI_ASSERT(pi->md_dirty || !pi->md_soon);
  GI_ASSERT(pi->fsync || gi_list_empty(&pi->fsyncs));
  if (pi->dir) {
    posix_dir_check(pi->dir);
    GI_ASSERT(pi->dir->owner == pi);
  }
}

static void
check_node(const struct posix_node *n)
{
  if (n->dir)
    posix_dir_check(n->dir);
  GI_ASSERT(n->fd < 0 || !n->dir); /* one of both leads to it */
  GI_ASSERT(n->fd < 0 || !gi_gfid_is_none(&n->gfid));
  GI_ASSERT(n->md_state == MD_UNKNOWN || n->md_state == MD_ABSENT || n->md_state == MD_PRESENT);
}

static void
check_flags(const struct posix_op *op)
{
  uint64_t kind = UINT64_C(1) << op->fop->kind;

  for (size_t i = 0; i < GI_ARRAY_LEN(flag_table); i++)
    GI_ASSERT(flag_table[i].kinds & kind || !*(const bool *)((const char *)op + flag_table[i].flag));
  GI_ASSERT(!op->fd_own || op->fd >= 0);
  GI_ASSERT(!op->fd2_own || op->fd2 >= 0);
  GI_ASSERT(!op->dir_gone || op->gone);
  GI_ASSERT(!op->victim_parked || op->victim_gone);
  GI_ASSERT(!op->deeper || op->moved);
  GI_ASSERT(!op->append || op->began);
  GI_ASSERT(!op->settle || op->fop->fd);
  GI_ASSERT(!op->full || op->fop->caller.pid >= 0); /* heals are not bound by the reserve */
  GI_ASSERT(!op->alone || op->exclusive);
  GI_ASSERT(op->npassed == 0 || op->passed);
}

void
posix_op_check(const struct posix_op *op)
{
  GI_CHECK(op, POSIX_OP_MAGIC);
  GI_CHECK(op->fop, GI_FOP_MAGIC);
  GI_CHECK(op->p, POSIX_MAGIC);
  GI_ASSERT(op->kind && op->kind->run);
  for (int i = 0; i < NODE_COUNT; i++)
    check_node(&op->node[i]);
  check_flags(op);
}

void
posix_op_check_end(const struct posix_op *op)
{
  const struct gi_reply *r = &op->fop->rsp;

  posix_check(op->p);
  posix_op_check(op);
  GI_ASSERT(!op->fop->answered);
  GI_ASSERT(r->ret >= 0 || r->err > 0);
  GI_ASSERT(!op->far); /* it would be on its way to a worker */
  GI_ASSERT(op->fop->kind == GI_FOP_FSYNC || gi_list_empty(&op->followers));
}
