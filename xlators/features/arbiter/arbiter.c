/* SPDX-License-Identifier: Apache-2.0
 *
 * features/arbiter: a brick that keeps names, attributes and counters of a
 * replica set but no data (brick.md 15.1). Whatever would change the contents of
 * a file is answered here, at once and with success; what would read them is
 * refused. Everything else goes to the storage as on any other brick.
 */
#include "libglusterish/graph.h"

#include <errno.h>

struct arb_inode {
  struct gi_iatt stat; /* as last seen; invalid = never */
};

struct arb_metrics {
  uint64_t discarded, asked;
};

static const struct gi_metric arb_metric_table[] = {
    GI_METRIC(struct arb_metrics, discarded, "", "changes of data answered without making them"),
    GI_METRIC(struct arb_metrics, asked, "", "attributes asked of the storage because none were remembered"),
    GI_METRIC_END,
};

/* ---- attributes ---- */

static void
remember(struct gi_xlator *x, struct gi_fop *fop, const struct gi_iatt *st)
{
  if (!st || gi_gfid_is_none(&st->gfid))
    return;

  struct gi_inode *inode = gi_inode_get(fop->graph, &st->gfid);
  struct arb_inode *ai = gi_inode_private(inode, x);
  ai->stat = *st;
  gi_inode_unref(&inode);
}

static enum gi_verdict
arb_tell(struct gi_xlator *x, struct gi_fop *fop)
{
  return GI_PASS_TELL;
}

static enum gi_verdict
arb_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  if (fop->rsp.ret >= 0)
    remember(x, fop, gi_reply_attr(fop, GI_OF_OBJECT));
  return GI_PASS;
}

/* ---- data ---- */

static void
write_xdata(struct gi_fop *fop, const struct gi_inode *inode)
{
  if (gi_dict_get(fop->xdata, "glusterfs.write-is-append"))
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), "glusterfs.write-is-append", 1);
  if (gi_dict_get(fop->xdata, "glusterfs.open-fd-count")) {
    uint64_t count = 0;

    gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link)
      count += !fd->anonymous;
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), "glusterfs.open-fd-count", count);
  }
}

static void
fill(struct gi_fop *fop, const struct gi_inode *inode, const struct gi_iatt *st)
{
  GI_ASSERT(gi_iatt_valid(st));
  fop->rsp.ret = 0;
  fop->rsp.err = 0;
  fop->rsp.pre = fop->rsp.post = *st;
  if (fop->kind == GI_FOP_WRITE) {
    fop->rsp.ret = (int32_t)fop->payload.len;
    write_xdata(fop, inode);
  }
}

static void
asked(struct gi_fop *stat, void *arg)
{
  struct gi_fop *fop = arg;
  struct gi_xlator *x = fop->at;
  struct gi_inode *inode = stat->loc.inode;
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(!fop->answered && inode);

  if (stat->rsp.ret < 0) {
    gi_fop_fail(fop, stat->rsp.err);
  } else {
    remember(x, fop, gi_reply_attr(stat, GI_OF_OBJECT));
    fill(fop, inode, &stat->rsp.stat);
  }
  gi_fop_unref(stat);
  gi_fop_answer(fop, x);
}

/* By fd if there is one: the name and the handle may be gone. */
static void
ask(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode)
{
  struct gi_fop *stat = gi_fop_helper(fop, fop->fd ? GI_FOP_FSTAT : GI_FOP_STAT);

  ((struct arb_metrics *)x->metrics)->asked++;
  if (fop->fd)
    gi_fop_set_fd(stat, fop->fd);
  gi_loc_set_inode(&stat->loc, inode);
  gi_fop_submit(stat, gi_first_child(x), asked, fop);
}

static enum gi_verdict
arb_discard(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);

  if (!inode)
    return gi_fop_fail(fop, EINVAL);

  struct arb_inode *ai = gi_inode_private(inode, x);

  ((struct arb_metrics *)x->metrics)->discarded++;
  if (!gi_iatt_valid(&ai->stat)) {
    ask(x, fop, inode);
    return GI_HELD;
  }
  fill(fop, inode, &ai->stat);
  return GI_ANSWERED;
}

static enum gi_verdict
arb_refuse(struct gi_xlator *x, struct gi_fop *fop)
{
  return gi_fop_fail(fop, ENOSYS);
}

/* ---- life cycle ---- */

static int
arb_init(struct gi_xlator *x, struct gi_error *err)
{
  x->metrics = gi_new(struct arb_metrics);
  return 0;
}

static void
arb_finish(struct gi_xlator *x)
{
  gi_free(x->metrics);
  x->metrics = NULL;
}

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/arbiter",
    .version = GI_VERSION,
    .summary = "Keeps names and attributes of files but no data",
    .layer = {{.side = GI_SIDE_BRICK, .above = {"storage/posix"}, .arbiter = true}},
    .min_children = 1,
    .max_children = 1,
    .metrics = arb_metric_table,
    .inode_bytes = sizeof(struct arb_inode),
    .on =
        {
            [GI_FOP_LOOKUP] = arb_tell,
            [GI_FOP_STAT] = arb_tell,
            [GI_FOP_FSTAT] = arb_tell,
            [GI_FOP_CREATE] = arb_tell,
            [GI_FOP_MKNOD] = arb_tell,
            [GI_FOP_LINK] = arb_tell,
            [GI_FOP_SETATTR] = arb_tell,
            [GI_FOP_FSETATTR] = arb_tell,
            [GI_FOP_WRITE] = arb_discard,
            [GI_FOP_TRUNCATE] = arb_discard,
            [GI_FOP_FTRUNCATE] = arb_discard,
            [GI_FOP_FALLOCATE] = arb_discard,
            [GI_FOP_DISCARD] = arb_discard,
            [GI_FOP_ZEROFILL] = arb_discard,
            [GI_FOP_READ] = arb_refuse,
            [GI_FOP_SEEK] = arb_refuse,
        },
    .complete = arb_complete,
    .init = arb_init,
    .finish = arb_finish,
};
