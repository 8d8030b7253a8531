/* SPDX-License-Identifier: Apache-2.0
 *
 * A rebalance asks who has the volume mounted: it begins when all of them know
 * the sets that it fills. What names a process is only told as a number: it is
 * what the process is known by here.
 */
#include "xlators/protocol/server/server.h"
#include "libglusterish/bigendian.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SV_MOUNTS_MAX 8192 /* told */

static uint64_t
sv_number_of(const char *uid)
{
  return XXH64(uid, sv_process_part(uid), 0);
}

bool
sv_asks_for_mounts(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_GETXATTR && fop->caller.pid == GI_PID_REBALANCE && fop->args.name &&
         strcmp(fop->args.name, GI_MOUNTS_KEY) == 0;
}

void
sv_tell_mounts(struct server *sv, struct gi_fop *fop)
{
  const struct sv_client *asks = fop->caller.client;
  GI_CLEANUP_FREE uint8_t *bytes = gi_alloc((size_t)SV_MOUNTS_MAX * 8);
  uint32_t len = 0;
  int64_t others = 0;
  GI_CHECK(asks, SV_CLIENT_MAGIC);
  gi_list_foreach(c, &sv->clients, struct sv_client, link) {
    if (c->bound != asks->bound)
      continue;
    others += !c->ours; /* whatever it calls itself: a mount may say nothing */
    if (!sv_is_mount(c->process_name ? c->process_name : "") || len == SV_MOUNTS_MAX * 8)
      continue;
    gi_be64_store(bytes + len, sv_number_of(c->uid));
    len += 8;
  }
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_bin(fop->rsp.dict, GI_MOUNTS_KEY, bytes, len);
  gi_dict_set_int(fop->rsp.dict, GI_OTHER_MOUNTS_KEY, others);
  gi_fop_ok(fop, (int32_t)len);
  sv_done(fop, sv);
}
