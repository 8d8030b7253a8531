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
  sv_done(fop, arg);
}

bool
sv_sync(struct server *sv, struct gi_fop *fop, struct sv_fop *f)
{
  uint8_t sync = f->sync;
  struct gi_fop *fsync;

  f->sync = GI_SYNC_NONE;
  if (!sync || fop->rsp.ret < 0 || (size_t)fop->rsp.ret != fop->payload.len || f->client->gone)
    return false;
  f->followed = true;
  fsync = gi_fop_helper(fop, GI_FOP_FSYNC);
  gi_fop_set_fd(fsync, fop->fd);
  fsync->args.datasync = sync == GI_SYNC_DATA;
  gi_fop_submit(fsync, sv_bound(fop), synced, sv);
  return true;
}
