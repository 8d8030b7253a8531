/* SPDX-License-Identifier: Apache-2.0
 *
 * features/utime: the client's clock on every operation.
 *
 * Replicas must store identical times, so the client decides them: on the way
 * down each operation that changes times gets the wall clock and the set of
 * times it moves (wire.md 1.5). What bricks make of them stands in storage/posix.
 *
 * Objects from before this feature have no stored times. A LOOKUP that shows so
 * makes them: one internal SETXATTR per object, which nobody waits for.
 */
#include "libglusterish/graph.h"
#include "libglusterish/log.h"

#include <fcntl.h>

#define GI_MSG_UTIME 110090 /* base of message ids */

#define UT_MDATA_KEY "trusted.glusterfs.mdata"
#define UT_HEAL_KEY "set-ctime-mdata"
#define UT_HEAL_PID -13

#define UT_C GI_STAMP_CTIME
#define UT_M GI_STAMP_MTIME
#define UT_A GI_STAMP_ATIME
#define UT_PARENT (GI_STAMP_PARENT_CTIME | GI_STAMP_PARENT_MTIME)

struct ut_options {
  bool noatime;
};

struct ut_metrics {
  uint64_t stamped, healed;
};

struct ut_inode {
  bool healed; /* asked for once: an old brick that stores nothing is not asked again and again */
};

static const uint8_t stamps_of[GI_FOP_MAX] = {
    [GI_FOP_CREATE] = UT_C | UT_M | UT_A | UT_PARENT,
    [GI_FOP_MKNOD] = UT_C | UT_M | UT_A | UT_PARENT,
    [GI_FOP_MKDIR] = UT_C | UT_M | UT_A | UT_PARENT,
    [GI_FOP_SYMLINK] = UT_C | UT_M | UT_A | UT_PARENT,
    [GI_FOP_UNLINK] = UT_C | UT_PARENT,
    [GI_FOP_RMDIR] = UT_C | UT_PARENT,
    [GI_FOP_LINK] = UT_C | UT_PARENT,
    [GI_FOP_RENAME] = UT_C | UT_PARENT,
    [GI_FOP_WRITE] = UT_C | UT_M,
    [GI_FOP_TRUNCATE] = UT_C | UT_M,
    [GI_FOP_FTRUNCATE] = UT_C | UT_M,
    [GI_FOP_COPY_FILE_RANGE] = UT_C | UT_M,
    [GI_FOP_SETXATTR] = UT_C,
    [GI_FOP_FSETXATTR] = UT_C,
    [GI_FOP_REMOVEXATTR] = UT_C,
    [GI_FOP_FREMOVEXATTR] = UT_C,
    [GI_FOP_FALLOCATE] = UT_C | UT_M, /* as on a local file system; the original moves the access time instead of ctime */
    [GI_FOP_ZEROFILL] = UT_C | UT_M,
    [GI_FOP_DISCARD] = UT_C | UT_M,
    [GI_FOP_SETATTR] = UT_C, /* always: setting only the times moves ctime too */
    [GI_FOP_FSETATTR] = UT_C,
};

/* A WRITE that was answered above already was told its time. */
static void
stamp(struct gi_xlator *x, struct gi_fop *fop, uint32_t stamps)
{
  GI_ASSERT(stamps); /* who stamps nothing is not on the path */
  fop->caller.stamps = stamps;
  if (fop->kind != GI_FOP_WRITE || !fop->caller.time.sec)
    fop->caller.time = gi_wall(x->reactor);
  ((struct ut_metrics *)x->metrics)->stamped++;
}

static enum gi_verdict
ut_change(struct gi_xlator *x, struct gi_fop *fop)
{
  uint32_t stamps = stamps_of[fop->kind];
  const struct ut_options *o = x->options;
  GI_ASSERT(stamps & UT_C);
  if (fop->kind == GI_FOP_COPY_FILE_RANGE && !o->noatime)
    stamps |= UT_A;
  stamp(x, fop, stamps);
  return GI_PASS;
}

static enum gi_verdict
ut_access(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct ut_options *o = x->options;
  if (!o->noatime)
    stamp(x, fop, UT_A);
  return GI_PASS;
}

/* Truncating at open is a change like FTRUNCATE; whoever turns it into one passes the stamps on. */
static enum gi_verdict
ut_open(struct gi_xlator *x, struct gi_fop *fop)
{
  if (!(fop->args.flags & O_TRUNC))
    return ut_access(x, fop);
  stamp(x, fop, stamps_of[GI_FOP_FTRUNCATE]);
  return GI_PASS;
}

static enum gi_verdict
ut_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  gi_dict_set_int(gi_fop_xdata(fop), UT_MDATA_KEY, 1);
  return GI_PASS_TELL;
}

static void
heal_done(struct gi_fop *fop, void *arg)
{
  struct gi_xlator *x = arg;
  if (fop->rsp.ret < 0)
    gi_log(GI_LOG_DEBUG, x->name, GI_MSG_UTIME, "cannot store times: %s", strerror(fop->rsp.err));
  gi_fop_unref(fop);
}

/* The value of type MDATA: host-order struct of wire.md 3.3 as bytes, big-endian. */
static void
put_be(uint8_t **p, uint64_t v, int bytes)
{
  for (int i = bytes - 1; i >= 0; i--)
    *(*p)++ = (uint8_t)(v >> (8 * i));
}

static void
heal(struct gi_xlator *x, struct gi_fop *lookup, struct gi_inode *inode)
{
  const struct gi_iatt *st = &lookup->rsp.stat;
  uint8_t mdata[GI_MDATA_BYTES], *p = mdata;
  put_be(&p, (uint64_t)st->atime.sec, 8);
  put_be(&p, (uint64_t)st->mtime.sec, 8);
  put_be(&p, (uint64_t)st->ctime.sec, 8);
  put_be(&p, st->atime.nsec, 4);
  put_be(&p, st->mtime.nsec, 4);
  put_be(&p, st->ctime.nsec, 4);
  GI_ASSERT(p == mdata + sizeof(mdata));

  struct gi_fop *fop = gi_fop_new(lookup->graph, GI_FOP_SETXATTR);
  fop->caller.pid = UT_HEAL_PID;
  gi_loc_set_inode(&fop->loc, inode);
  fop->args.dict = gi_dict_new();
  gi_dict_set_raw(fop->args.dict, UT_HEAL_KEY, sizeof(UT_HEAL_KEY) - 1, GI_VALUE_MDATA, mdata, sizeof(mdata));
  ((struct ut_metrics *)x->metrics)->healed++;
  gi_fop_submit(fop, gi_first_child(x), heal_done, x);
}

static enum gi_verdict
ut_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct gi_iatt *st = &fop->rsp.stat;
  if (fop->rsp.ret < 0 || !gi_iatt_valid(st) || gi_gfid_is_none(&st->gfid) || gi_dict_get(fop->rsp.xdata, UT_MDATA_KEY))
    return GI_PASS;
  struct gi_inode *inode = gi_inode_get(fop->graph, &st->gfid);
  struct ut_inode *ui = gi_inode_private(inode, x);
  if (!ui->healed) {
    ui->healed = true;
    heal(x, fop, inode);
  }
  gi_inode_unref(&inode);
  return GI_PASS;
}

static int
ut_init(struct gi_xlator *x, struct gi_error *err)
{
  x->metrics = x->private = gi_new(struct ut_metrics);
  return 0;
}

static void
ut_finish(struct gi_xlator *x)
{
  gi_free(x->private);
}

static const struct gi_option ut_table[] = {
    {.name = "noatime",
     .key = "ctime.noatime",
     .type = GI_OPT_BOOL,
     .offset = offsetof(struct ut_options, noatime),
     .def = "on",
     .live = true,
     .side = GI_SIDE_CLIENT,
     .level = 2,
     .op_version = 50000,
     .since = "0.1",
     .text = "Do not keep access times: reading a file then changes nothing on the bricks."},
    GI_OPTION_END,
};

static const struct gi_metric ut_metrics_table[] = {
    GI_METRIC(struct ut_metrics, stamped, "", "operations that carry the client's clock"),
    GI_METRIC(struct ut_metrics, healed, "", "objects without stored times that were given some"),
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "features/utime",
    .version = GI_VERSION,
    .summary = "Puts the client's clock on operations",
    .messages = GI_MSG_UTIME,
    .layer = {{.side = GI_SIDE_CLIENT,
               .above = {"cluster/distribute", "features/shard"},
               .key = "features.ctime",
               .def = "on",
               .since = "0.1",
               .text = "Keep one set of timestamps per file, equal on all bricks."}},
    .min_children = 1,
    .max_children = 1,
    .options = ut_table,
    .options_bytes = sizeof(struct ut_options),
    .metrics = ut_metrics_table,
    .inode_bytes = sizeof(struct ut_inode),
    .on =
        {
            [GI_FOP_CREATE] = ut_change,       [GI_FOP_MKNOD] = ut_change,     [GI_FOP_MKDIR] = ut_change,
            [GI_FOP_SYMLINK] = ut_change,      [GI_FOP_UNLINK] = ut_change,    [GI_FOP_RMDIR] = ut_change,
            [GI_FOP_LINK] = ut_change,         [GI_FOP_RENAME] = ut_change,    [GI_FOP_WRITE] = ut_change,
            [GI_FOP_TRUNCATE] = ut_change,     [GI_FOP_FTRUNCATE] = ut_change, [GI_FOP_COPY_FILE_RANGE] = ut_change,
            [GI_FOP_SETXATTR] = ut_change,     [GI_FOP_FSETXATTR] = ut_change, [GI_FOP_REMOVEXATTR] = ut_change,
            [GI_FOP_FREMOVEXATTR] = ut_change, [GI_FOP_FALLOCATE] = ut_change, [GI_FOP_ZEROFILL] = ut_change,
            [GI_FOP_DISCARD] = ut_change,      [GI_FOP_SETATTR] = ut_change,   [GI_FOP_FSETATTR] = ut_change,
            [GI_FOP_READ] = ut_access,         [GI_FOP_OPEN] = ut_open,        [GI_FOP_OPENDIR] = ut_access,
            [GI_FOP_READDIR] = ut_access,      [GI_FOP_READDIRP] = ut_access,  [GI_FOP_READLINK] = ut_access,
            [GI_FOP_LOOKUP] = ut_lookup,
        },
    .complete = ut_complete,
    .init = ut_init,
    .finish = ut_finish,
};
