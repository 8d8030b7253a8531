/* SPDX-License-Identifier: Apache-2.0
 *
 * volume top (cli.md 5.9): the lists are asked from the bricks
 * (mgmt-protocol.md 5.1).
 */
#include "programs/glusterishd/ops/op.h"
#include "libglusterish/manage-op.h"
#include "rpc/message.h"

#include <errno.h>
#include <string.h>

static json_int_t
whole(const char *text)
{
  return strtoll(text, NULL, 10);
}

static json_t *
rows(const struct gi_dict *d, bool perf)
{
  json_t *list = json_array();
  int64_t n = 0;
  gi_dict_get_int(d, "members", &n);
  for (unsigned i = 1; i <= n && i <= GI_TOP_LIST_MAX; i++) {
    const char *value = gi_top_fact(d, "value", i);
    json_t *row = json_object(), *path = json_string(gi_top_fact(d, "filename", i));
    json_object_set_new(row, "path", path ? path : json_string("?")); /* a name need not be UTF-8 */
    if (perf) {
      json_object_set_new(row, "mbps", json_real(strtod(value, NULL)));
      json_object_set_new(row, "sec", json_integer(whole(gi_top_fact(d, "time-sec", i))));
      json_object_set_new(row, "usec", json_integer(whole(gi_top_fact(d, "time-usec", i))));
    } else {
      json_object_set_new(row, "count", json_integer(whole(value)));
    }
    json_array_append_new(list, row);
  }
  return list;
}

static void
brick_said(struct gd_op *op, json_t *brick, int err, const struct gi_dict *d)
{
  long what = gd_op_int(op, "op", 0);
  const char *text;
  if (err)
    json_object_set_new(brick, "error", json_string(strerror(err)));
  if (what == 0) {
    json_object_set_new(brick, "cleared", json_boolean(gi_dict_get(d, "stats-cleared") != NULL));
    return;
  }
  json_object_set_new(brick, "files", rows(d, what >= GI_TOP_READ_PERF));
  if (gi_dict_get_str(d, "current-open", &text))
    json_object_set_new(brick, "currentOpen", json_integer(whole(text)));
  if (gi_dict_get_str(d, "max-open", &text))
    json_object_set_new(brick, "maxOpen", json_integer(whole(text)));
  if (gi_dict_get_str(d, "max-openfd-time", &text))
    json_object_set_new(brick, "maxOpenTime", json_string(text));
  if (gi_dict_get_str(d, "throughput", &text))
    json_object_set_new(brick, "throughput", json_real(strtod(text, NULL)));
  if (gi_dict_get_str(d, "time", &text))
    json_object_set_new(brick, "seconds", json_real(strtod(text, NULL) / 1e6));
}

static struct gi_dict *
question(const struct gd_op *op)
{
  struct gi_dict *in = gi_dict_new();
  long what = gd_op_int(op, "op", 0);
  gi_dict_set_int(in, "op", GI_INFO_TOP);
  gi_dict_set_str(in, "volname", op->volume->name);
  if (what) {
    gi_dict_set_int(in, "top-op", what);
    gi_dict_set_int(in, "list-cnt", gd_op_int(op, "rows", GI_TOP_LIST_MAX));
  } else {
    gi_dict_set_int(in, "clear-stats", 1);
  }
  if (gd_op_int(op, "bs", 0)) {
    gi_dict_set_int(in, "blk-size", gd_op_int(op, "bs", 0));
    gi_dict_set_int(in, "blk-cnt", gd_op_int(op, "count", 0));
  }
  return in;
}

int
gd_op_top(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  const char *brick = gd_op_str(op, "brick");
  const struct gd_brick *only = brick ? gd_volume_find_brick(v, brick) : NULL;
  long what = gd_op_int(op, "op", -1);
  if (what < 0 || what > GI_TOP_WRITE_PERF)
    return gi_error_set(err, EINVAL, "unknown list %ld", what);
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not started.", v->name);
  if (gd_op_flag(op, "nfs"))
    return gi_error_set(err, GD_ERR_MGMT, "NFS server is disabled for volume %s", v->name);
  if (brick && !only)
    return gi_error_set(err, GD_ERR_MGMT, "No brick %.256s in volume %s", brick, v->name);
  return gd_op_ask_bricks(op, only, GI_BRICK_XLATOR_INFO, question(op), brick_said, NULL);
}
