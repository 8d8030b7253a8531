/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of operation has to do with data that is not written yet.
 *
 * A kind without a row is a barrier: it waits for everything that was answered
 * early in the files it names. Each other row says why it need not.
 */
#include "write-behind.h"

#include <fcntl.h>

const uint8_t wb_rules[GI_FOP_MAX] = {
    [GI_FOP_WRITE] = WB_WRITE,
    /* Of the file's data these look at a range, and at none of the attributes. */
    [GI_FOP_READ] = WB_RANGE,
    [GI_FOP_RCHECKSUM] = WB_RANGE,
    [GI_FOP_SEEK] = WB_RANGE,
    /* They say size and times, which are known here. */
    [GI_FOP_STAT] = WB_LOOK,
    [GI_FOP_FSTAT] = WB_LOOK,
    [GI_FOP_LOOKUP] = WB_LOOK,
    [GI_FOP_READDIRP] = WB_LOOK,
    [GI_FOP_OPEN] = WB_OPENS,
    /* The name is new, so nothing was written to what it stands for; where it is not, another machine has made it. */
    [GI_FOP_CREATE] = WB_LOOK,
    /* They are about a directory, a link or a new object, which have no data that is written by WRITE. */
    [GI_FOP_READLINK] = WB_HARMLESS,
    [GI_FOP_MKNOD] = WB_HARMLESS,
    [GI_FOP_MKDIR] = WB_HARMLESS,
    [GI_FOP_RMDIR] = WB_HARMLESS,
    [GI_FOP_SYMLINK] = WB_HARMLESS,
    [GI_FOP_OPENDIR] = WB_HARMLESS,
    [GI_FOP_FSYNCDIR] = WB_HARMLESS,
    [GI_FOP_READDIR] = WB_HARMLESS,
    [GI_FOP_ENTRYLK] = WB_HARMLESS,
    [GI_FOP_FENTRYLK] = WB_HARMLESS,
    /* Permissions do not depend on data. */
    [GI_FOP_ACCESS] = WB_HARMLESS,
    /* They name no object, or are no operations in a process. */
    [GI_FOP_NULL] = WB_HARMLESS,
    [GI_FOP_STATFS] = WB_HARMLESS,
    [GI_FOP_IPC] = WB_HARMLESS,
    [GI_FOP_COMPOUND] = WB_HARMLESS,
    [GI_FOP_RELEASE] = WB_HARMLESS,
    [GI_FOP_RELEASEDIR] = WB_HARMLESS,
};

bool
wb_changes(const struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_OPEN)
    return fop->args.flags & O_TRUNC;
  return fop->kind != GI_FOP_WRITE && fop->kind != GI_FOP_FSYNC && fop->kind != GI_FOP_CREATE &&
         gi_fop_table[fop->kind].classes & GI_CLASS_WRITE;
}

/* That of a LOOKUP is a guess that nobody waits for: wb_attr_reply takes it away where it lacks something. */
bool
wb_wants_content(const struct gi_fop *fop)
{
  return (fop->kind != GI_FOP_LOOKUP && gi_dict_get(fop->xdata, GI_CONTENT_KEY)) ||
         gi_dict_get(fop->xdata, "glusterfs.content");
}

void
wb_wants_no_content(struct gi_fop *fop)
{
  gi_dict_del(gi_fop_xdata(fop), GI_CONTENT_KEY);
  gi_dict_del(gi_fop_xdata(fop), "glusterfs.content");
}

static bool
is_lock(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_LK ? fop->args.cmd != GI_LKCMD_GET
                                : fop->kind == GI_FOP_INODELK || fop->kind == GI_FOP_FINODELK || fop->kind == GI_FOP_LEASE;
}

/* Data that is kept must not come back over what was written or cut off after it, also by others who got the lock under which it was
 * written, nor outlive its descriptor. */
bool
wb_gives_up(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_FLUSH || fop->kind == GI_FOP_WRITE || wb_changes(fop) || is_lock(fop);
}

static struct wb_range
from_to(uint64_t start, uint64_t len)
{
  if (len == 0 || len > WB_END - start)
    return (struct wb_range){start < WB_END ? start : WB_END - 1, WB_END};
  return (struct wb_range){start, start + len};
}

static struct wb_range
range_of(const struct gi_fop *fop)
{
  switch (fop->kind) {
  case GI_FOP_READ:
  case GI_FOP_RCHECKSUM:
  case GI_FOP_COPY_FILE_RANGE:
    return from_to(fop->args.offset, fop->args.size);
  case GI_FOP_SEEK: /* what it finds lies anywhere behind */
  case GI_FOP_TRUNCATE:
  case GI_FOP_FTRUNCATE:
    return from_to(fop->args.offset, 0);
  default:
    return (struct wb_range){0, WB_END};
  }
}

static void
add_file(struct wb *wb, struct wb_op *op, struct gi_inode *inode, struct wb_range range)
{
  bool make = wb_changes(op->fop) || op->fop->kind == GI_FOP_LK;
  struct wb_file *file = inode && !S_ISDIR(inode->mode) ? wb_file_of(wb, inode, make) : NULL;

  if (!file)
    return;
  if (op->count && op->file[0] == file) { /* within one file */
    op->range[0] = (struct wb_range){0, WB_END};
    return;
  }
  GI_ASSERT(op->count < GI_ARRAY_LEN(op->file));
  GI_ASSERT(range.start < range.end);
  op->file[op->count] = file;
  op->range[op->count++] = range;
}

bool
wb_had_locks(struct wb *wb, struct gi_inode *inode)
{
  const struct wb_file *file = wb_file_of(wb, inode, false);

  if (file && file->locked)
    return true;
  if (!wb->resumed)
    return false;
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    const struct wb_fd *f = gi_fd_private(fd, wb->x);

    if (!fd->anonymous && f->opened < wb->resumed)
      return true;
  }
  return false;
}

/* Whether it waits for all files. What a lock protected that is let go, in whole or in part, may lie in any of them. One that is taken
 * may let another one of its owner go, and shows what is written to whoever waits for it elsewhere. */
static bool
is_everywhere(struct wb *wb, struct gi_fop *fop, const struct wb_op *op)
{
  if (is_lock(fop))
    return true;
  switch (fop->kind) {
  case GI_FOP_FLUSH: /* close(2) lets all locks of its owner go */
    return gi_fop_inode(fop) && wb_had_locks(wb, gi_fop_inode(fop));
  case GI_FOP_LOOKUP:   /* for the content of what has that name … */
  case GI_FOP_READDIRP: /* … or those names */
    return wb_wants_content(fop) && (!op->count || fop->kind == GI_FOP_READDIRP);
  case GI_FOP_RENAME: /* it is not known what gets the name: perhaps what is written right now */
    return !fop->loc.inode && gi_gfid_is_none(&fop->loc.gfid);
  default:
    return false;
  }
}

void
wb_op_name(struct wb *wb, struct gi_fop *fop, struct wb_op *op)
{
  struct gi_inode *second;

  op->fop = fop;
  op->count = op->at = 0;
  gi_list_init(&op->turn.link);
  add_file(wb, op, gi_fop_inode(fop), range_of(fop));
  second = fop->fd2 && fop->fd2->inode ? fop->fd2->inode : gi_loc_inode(fop, &fop->loc2);
  if (second)
    add_file(wb, op, second,
             fop->kind == GI_FOP_COPY_FILE_RANGE ? from_to(fop->args.offset2, fop->args.size) : (struct wb_range){0, WB_END});
  op->everywhere = is_everywhere(wb, fop, op);
  op->nameless = (fop->kind == GI_FOP_UNLINK && !gi_loc_inode(fop, &fop->loc)) ||
                 (fop->kind == GI_FOP_RENAME && !gi_loc_inode(fop, &fop->loc2));
  op->takes_lock = gi_fop_takes_lock(fop);
}
