/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes behind an operation in its message: the fsync of a WRITE, the
 * truncation of an OPEN. An ordinary FSYNC or FTRUNCATE, through the layers below
 * as if the client had sent it. The answer is that of both, and says so; if the
 * second fails the operation has failed.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/probe.h"

void
sv_behind_asked(struct gi_fop *fop, struct sv_fop *f)
{
  uint64_t n = 0;

  if (fop->kind == GI_FOP_WRITE && gi_dict_get_uint(fop->xdata, GI_SYNC_KEY, &n)) {
    gi_dict_del(gi_fop_xdata(fop), GI_SYNC_KEY);
    f->sync = n == GI_SYNC_DATA || n == GI_SYNC_ALL ? (uint8_t)n : GI_SYNC_NONE;
  } else if (fop->kind == GI_FOP_OPEN && gi_dict_get_uint(fop->xdata, GI_TRUNCATE_KEY, &n)) {
    gi_dict_del(gi_fop_xdata(fop), GI_TRUNCATE_KEY);
    f->truncates = n != 0;
  }
}

/* It is not answered before both are done: whoever looks at it sees both. */
enum gi_verdict
sv_behind_first(struct gi_xlator *x, struct gi_fop *fop)
{
  GI_ASSERT(sv_has_behind(gi_fop_private(fop, x)));
  gi_fop_forward_tell_to(fop, x, sv_bound(fop));
  return GI_HELD;
}

static void
fail(struct gi_fop *fop, int err)
{
  gi_reply_clear(&fop->rsp);
  gi_fop_fail(fop, err);
}

static void
synced(struct gi_fop *fsync, void *arg)
{
  struct gi_fop *fop = fsync->parent;

  GI_ASSERT(fop && fop->kind == GI_FOP_WRITE && fop->rsp.ret >= 0);
  if (fsync->rsp.ret < 0) {
    GI_PROBE("server: the fsync behind a write failed");
    fail(fop, fsync->rsp.err);
  }
  gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_SYNC_KEY, fop->rsp.ret < 0 ? GI_SYNC_FAILED : GI_SYNCED);
  gi_fop_unref(fsync);
  gi_fop_return(fop, arg);
}

static void
truncated(struct gi_fop *cut, void *arg)
{
  struct gi_fop *fop = cut->parent;

  GI_ASSERT(fop && fop->kind == GI_FOP_OPEN && fop->rsp.ret >= 0);
  if (cut->rsp.ret < 0) {
    GI_PROBE("server: the truncation behind an open failed");
    fail(fop, cut->rsp.err);
  } else {
    gi_dict_set_iatt(gi_fop_rsp_xdata(fop), GI_TRUNCATE_FOUND_KEY, &cut->rsp.pre);
    gi_dict_set_iatt(fop->rsp.xdata, GI_TRUNCATE_KEY, &cut->rsp.post);
  }
  gi_fop_unref(cut);
  gi_fop_return(fop, arg);
}

/* What was not written, or not all of it, is not synced. */
static bool
goes_on(const struct gi_fop *fop)
{
  return fop->rsp.ret >= 0 && (fop->kind != GI_FOP_WRITE || (size_t)fop->rsp.ret == fop->payload.len);
}

enum gi_verdict
sv_behind_next(struct gi_xlator *x, struct gi_fop *fop)
{
  struct sv_fop *f = gi_fop_private(fop, x);
  struct gi_fop *next;

  if (!goes_on(fop) || f->client->gone)
    return GI_PASS;
  next = gi_fop_helper(fop, f->sync ? GI_FOP_FSYNC : GI_FOP_FTRUNCATE);
  gi_fop_set_fd(next, fop->fd);
  next->args.datasync = f->sync == GI_SYNC_DATA;
  f->synced = f->sync;
  gi_fop_submit(next, sv_bound(fop), f->sync ? synced : truncated, x);
  return GI_HELD;
}
