/* SPDX-License-Identifier: Apache-2.0
 *
 * One question to all bricks of a volume: what each says goes to an object of
 * its own in the reply. Bricks may leave the volume, and the volume may go,
 * before all have answered, so only the reply document is touched then.
 */
#include "programs/glusterishd/ops/op.h"

struct ask {
  struct gd_op *op;
  json_t *brick; /* of the reply; owned by it */
  gd_said_fn *said;
  void (*end)(struct gd_op *op);
};

static void
said(int err, const struct gi_dict *dict, void *arg)
{
  struct ask *ask = arg;
  struct gd_op *op = ask->op;
  void (*end)(struct gd_op * op) = ask->end;
  ask->said(op, ask->brick, err, dict);
  gi_free(ask);
  GI_ASSERT(op->waiting > 0);
  if (--op->waiting)
    return;
  if (end)
    end(op);
  else
    gd_op_finish(op, NULL);
}

int
gd_op_ask_bricks(struct gd_op *op, const struct gd_brick *only, uint32_t proc, struct gi_dict *in, gd_said_fn *fn,
                 void (*end)(struct gd_op *op))
{
  const struct gd_volume *v = op->volume;
  json_t *list = json_array();
  json_object_set_new(op->out, "bricks", list);
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if ((only && b != only) || !gd_brick_online(b))
      continue;
    struct ask *ask = gi_new(struct ask);
    *ask = (struct ask){op, json_pack("{s:o}", "name", json_sprintf("%s:%s", b->host, b->path)), fn, end};
    json_array_append_new(list, ask->brick);
    op->waiting++;
    gd_brick_ask(b, proc, gi_dict_copy(in), said, ask);
  }
  gi_dict_unref(&in);
  return op->waiting ? GD_OP_LATER : GD_OP_DONE;
}
