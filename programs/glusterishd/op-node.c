/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands about nodes and the daemon itself: peer, pool, system (cli.md 5.16,
 * 7). This version's pool is always one node.
 */
#include "programs/glusterishd/op.h"

#include <errno.h>
#include <string.h>

int
gd_op_peers(struct gd_op *op, struct gi_error *err)
{
  char uuid[GI_UUID_TEXT];
  json_object_set_new(op->out, "peers", json_array());
  json_object_set_new(op->out, "uuid", json_string(gi_gfid_text(&op->gd->uuid, uuid)));
  return GD_OP_DONE;
}

int
gd_op_probe(struct gd_op *op, struct gi_error *err)
{
  const char *host = gd_op_str(op, "host");
  if (!host)
    return gi_error_set(err, EINVAL, "the request names no host");
  if (!gd_host_is_local(op->gd, host))
    return gi_error_set(err, EOPNOTSUPP, "pools of several nodes are not supported by this version");
  json_object_set_new(op->out, "message", json_string("Probe on localhost not needed"));
  return GD_OP_DONE;
}

int
gd_op_detach(struct gd_op *op, struct gi_error *err)
{
  const char *host = gd_op_str(op, "host");
  if (host && gd_host_is_local(op->gd, host))
    return gi_error_set(err, EINVAL, "%.200s is localhost", host);
  return gi_error_set(err, ENOENT, "%.200s is not part of cluster", host ? host : "");
}

int
gd_op_uuid(struct gd_op *op, struct gi_error *err)
{
  char uuid[GI_UUID_TEXT];
  json_object_set_new(op->out, "uuid", json_string(gi_gfid_text(&op->gd->uuid, uuid)));
  return GD_OP_DONE;
}

int
gd_op_getwd(struct gd_op *op, struct gi_error *err)
{
  json_object_set_new(op->out, "wd", json_string(op->gd->config.workdir));
  return GD_OP_DONE;
}

int
gd_op_getspec(struct gd_op *op, struct gi_error *err)
{
  const char *key = gd_op_str(op, "volume");
  struct gd_volume *v;
  GI_CLEANUP_FREE char *spec = key ? gd_volgen_spec(op->gd, key, true, &v, err) : NULL;
  if (!spec)
    return key ? GD_OP_FAILED : gi_error_set(err, EINVAL, "the request names no volume");
  json_object_set_new(op->out, "spec", json_string(spec));
  return GD_OP_DONE;
}
