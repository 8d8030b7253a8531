/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands about the daemon itself: system (cli.md 7).
 */
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <string.h>

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
