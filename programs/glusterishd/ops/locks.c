/* SPDX-License-Identifier: Apache-2.0
 *
 * volume clear-locks (cli.md 5.15): every brick that has the object is told to
 * drop locks on it. GlusterFS mounts the volume for that and reads an extended
 * attribute; here the bricks are asked directly, so that a client that hangs on
 * such a lock, or a brick that is down, is in nobody's way.
 */
#include "programs/glusterishd/ops/op.h"
#include "libglusterish/manage-op.h"
#include "rpc/message.h"

#include <errno.h>
#include <string.h>

static bool
one_of(const char *word, const char *const *words, size_t n)
{
  for (size_t i = 0; word && i < n; i++)
    if (strcmp(word, words[i]) == 0)
      return true;
  return false;
}

static void
brick_said(struct gd_op *op, json_t *brick, int err, const struct gi_dict *d)
{
  const char *text;
  if (!err && gi_dict_get_str(d, "text", &text))
    json_object_set_new(brick, "text", json_string(text));
  else
    json_object_set_new(brick, "error", json_integer(err ? err : EIO));
}

/* It is done where the object is. Nowhere: the reason is that of the first brick. */
static void
all_said(struct gd_op *op)
{
  const json_t *bricks = json_object_get(op->out, "bricks");
  struct gi_error err = {0};
  bool done = false;
  for (size_t i = 0; i < json_array_size(bricks); i++)
    done = done || json_object_get(json_array_get(bricks, i), "text");
  if (!done)
    gi_error_set(&err, GD_ERR_MGMT, "clear-locks getxattr command failed. Reason: %s",
                 strerror((int)json_integer_value(json_object_get(json_array_get(bricks, 0), "error"))));
  gd_op_finish(op, &err);
}

int
gd_op_clear_locks(struct gd_op *op, struct gi_error *err)
{
  static const char *const types[] = {"inode", "entry", "posix"}, *const kinds[] = {"blocked", "granted", "all"};
  struct gd_volume *v = op->volume;
  const char *path = gd_op_str(op, "path"), *type = gd_op_str(op, "type"), *kind = gd_op_str(op, "kind"),
             *rest = gd_op_str(op, "which");
  if (!path || !one_of(type, types, GI_ARRAY_LEN(types)) || !one_of(kind, kinds, GI_ARRAY_LEN(kinds)))
    return gi_error_set(err, EINVAL, "the request does not say which locks to clear");
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not started", v->name);
  GI_CLEANUP_FREE char *server = gi_asprintf("%s-server", v->name);
  GI_CLEANUP_FREE char *name = gi_asprintf("glusterfs.clrlk.t%s.k%s%s%s", type, kind, rest ? "." : "", rest ? rest : "");
  struct gi_dict *in = gi_dict_new();
  gi_dict_set_int(in, "xl-op", GI_MANAGE_CLEAR_LOCKS);
  gi_dict_set_int(in, "count", 1);
  gi_dict_set_str(in, "xl-0", server);
  gi_dict_set_str(in, "path", path);
  gi_dict_set_str(in, "name", name);
  if (gd_op_ask_bricks(op, NULL, GI_BRICK_XLATOR_OP, in, brick_said, all_said) == GD_OP_LATER)
    return GD_OP_LATER;
  return gi_error_set(err, GD_ERR_MGMT, "no brick of volume %s is online", v->name);
}
