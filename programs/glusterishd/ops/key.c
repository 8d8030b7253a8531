/* SPDX-License-Identifier: Apache-2.0
 *
 * volume key: the keys with which clients may mount a volume. They are the
 * value of an option, so that they are stored and reach daemons and bricks as
 * all options do; a command changes one of them and leaves the others, whoever
 * changes those at the same time.
 */
#include "programs/glusterishd/ops/op.h"
#include "rpc/client-key.h"

#include <errno.h>
#include <string.h>

#define KEYS "auth.client-keys"

int
gd_op_key(struct gd_op *op, struct gi_error *err)
{
  const char *action = gd_op_str(op, "action"), *name = gd_op_str(op, "name"), *key = gd_op_str(op, "key");
  const char *list = gd_options_get(&op->volume->options, KEYS);
  bool add = action && strcmp(action, "add") == 0;
  if (!name || (add && !key) || (!add && (!action || strcmp(action, "remove") != 0)))
    return gi_error_set(err, EINVAL, "the request does not say which key is to be added or removed");
  GI_CLEANUP_FREE char *changed = add ? gi_client_keys_with(list, name, key, err) : gi_client_keys_without(list, name, err);
  if (!changed)
    return GD_OP_FAILED;
  const char *pairs[] = {KEYS, *changed ? changed : NULL};
  return gd_op_set_options(op, pairs, GI_ARRAY_LEN(pairs));
}

static void
put_key(const char *name, const char *key, void *arg)
{
  json_array_append_new(arg, json_pack("{s:s,s:s}", "name", name, "key", key));
}

int
gd_op_key_list(struct gd_op *op, struct gi_error *err)
{
  json_t *keys = json_array();
  gi_client_keys_each(gd_options_get(&op->volume->options, KEYS), put_key, keys);
  json_object_set_new(op->out, "keys", keys);
  json_object_set_new(op->out, "demanded", json_boolean(gd_volume_bool(op->volume, "auth.client-key", false)));
  return GD_OP_DONE;
}
