/* SPDX-License-Identifier: Apache-2.0
 *
 * See echo.h.
 */
#include "tests/simulation/world/echo.h"

#include <errno.h>

static bool
notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  if (event == GI_EVENT_PARENT_UP)
    gi_notify_up(x, GI_EVENT_CHILD_UP, NULL);
  return true;
}

static void
fill_stat(struct gi_iatt *stat, const struct gi_gfid *gfid)
{
  *stat = (struct gi_iatt){
      .gfid = *gfid, .flags = GI_IATT_BASIC, .ino = gi_gfid_ino(gfid), .nlink = 1, .blksize = 4096, .mode = S_IFDIR | 0755};
}

static enum gi_verdict
submit(struct gi_xlator *x, struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_LOOKUP && fop->loc.name)
    return gi_fop_fail(fop, ENOENT);
  fill_stat(&fop->rsp.stat, &gi_gfid_root);
  if (fop->kind == GI_FOP_WRITE)
    return gi_fop_ok(fop, (int)fop->payload.len);
  if (fop->kind != GI_FOP_READ)
    return gi_fop_ok(fop, 0);
  struct gi_buf *buf = gi_buf_new(fop->args.size ? fop->args.size : 1);
  for (uint64_t i = 0; i < fop->args.size; i++)
    buf->base[i] = (uint8_t)((fop->args.offset + i) * 37 >> 3);
  gi_payload_add(&fop->rsp.payload, buf, buf->base, fop->args.size);
  gi_buf_unref(&buf);
  return gi_fop_ok(fop, (int)fop->args.size);
}

const struct gi_xlator_class sim_echo_class = {
    .abi = GI_XLATOR_ABI,
    .type = "test/echo",
    .version = "0",
    .summary = "Answers.",
    .submit = submit,
    .notify = notify,
};
