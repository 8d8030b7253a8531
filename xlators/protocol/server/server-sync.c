/* SPDX-License-Identifier: Apache-2.0
 *
 * The fsync that goes with a WRITE: an ordinary FSYNC behind it, through the
 * layers below as if the client had sent it. The answer is that of both, and says
 * so; if the fsync fails the WRITE has failed.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/probe.h"

void
sv_sync_asked(struct gi_fop *fop, struct sv_fop *f)
{
  uint64_t n = 0;

  if (fop->kind != GI_FOP_WRITE || !gi_dict_get_uint(fop->xdata, GI_SYNC_KEY, &n))
    return;
  gi_dict_del(gi_fop_xdata(fop), GI_SYNC_KEY);
  f->sync = n == GI_SYNC_DATA || n == GI_SYNC_ALL ? (uint8_t)n : GI_SYNC_NONE;
}

/* The WRITE is not answered before both are done: whoever looks at it sees both. */
enum gi_verdict
sv_sync_write(struct gi_xlator *x, struct gi_fop *fop)
{
  GI_ASSERT(((struct sv_fop *)gi_fop_private(fop, x))->sync);
  gi_fop_forward_tell_to(fop, x, sv_bound(fop));
  return GI_HELD;
}

static void
synced(struct gi_fop *fsync, void *arg)
{
  struct gi_fop *fop = fsync->parent;

  GI_ASSERT(fop && fop->kind == GI_FOP_WRITE && fop->rsp.ret >= 0);
  if (fsync->rsp.ret < 0) {
    GI_PROBE("server: the fsync behind a write failed");
    gi_reply_clear(&fop->rsp);
    gi_fop_fail(fop, fsync->rsp.err);
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_SYNC_KEY, GI_SYNC_FAILED);
  } else {
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_SYNC_KEY, GI_SYNCED);
  }
  gi_fop_unref(fsync);
  gi_fop_return(fop, arg);
}

enum gi_verdict
sv_sync_written(struct gi_xlator *x, struct gi_fop *fop)
{
  struct sv_fop *f = gi_fop_private(fop, x);
  struct gi_fop *fsync;

  if (fop->rsp.ret < 0 || (size_t)fop->rsp.ret != fop->payload.len || f->client->gone)
    return GI_PASS;
  f->followed = true;
  fsync = gi_fop_helper(fop, GI_FOP_FSYNC);
  gi_fop_set_fd(fsync, fop->fd);
  fsync->args.datasync = f->sync == GI_SYNC_DATA;
  gi_fop_submit(fsync, sv_bound(fop), synced, x);
  return GI_HELD;
}
