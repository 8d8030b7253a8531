/* SPDX-License-Identifier: Apache-2.0
 *
 * volume start, stop, delete (cli.md 5.2). Starting and
 * stopping wait for processes; the volume is busy meanwhile and the daemon
 * serves others.
 */
#include "programs/glusterishd/op.h"

#include <errno.h>
#include <string.h>

static bool
is_local(const struct gd_brick *b)
{
  return gi_gfid_equal(&b->node, &b->volume->gd->uuid);
}

static void
put_volume(struct gd_op *op)
{
  char id[GI_UUID_TEXT];
  json_object_set_new(op->out, "name", json_string(op->volume->name));
  json_object_set_new(op->out, "id", json_string(gi_gfid_text(&op->volume->id, id)));
}

/* ---- start ---- */

static void
after_undo(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_op *op = arg;
  if (--op->waiting)
    return;
  op->volume->busy = false;
  gd_op_finish(op, &op->problem);
}

/* A start that failed half-way leaves nothing running. */
static void
undo_start(struct gd_op *op)
{
  op->waiting = op->volume->nbricks;
  for (unsigned i = 0; i < op->volume->nbricks; i++)
    gd_brick_stop(&op->volume->bricks[i], after_undo, op);
}

static void
start_done(struct gd_op *op)
{
  struct gd_volume *v = op->volume;
  bool force = gd_op_flag(op, "force"), was_started = v->status == GD_STARTED;
  if (op->problem.code && !force && !was_started) {
    undo_start(op);
    return;
  }
  memset(&op->problem, 0, sizeof(op->problem)); /* with force what can run, runs */
  v->status = GD_STARTED;
  v->busy = false;
  if (gd_store_volume(v, &op->problem))
    gi_error_prefix(&op->problem, "the bricks run, but the volume's state cannot be stored");
  gd_shd_sync(v);
  gd_mover_sync(v);
  put_volume(op);
  gd_op_finish(op, &op->problem);
}

static void
brick_started(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_op *op = arg;
  if (err->code && !op->problem.code)
    op->problem = *err;
  if (--op->waiting == 0)
    start_done(op);
}

int
gd_op_start(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  bool force = gd_op_flag(op, "force");
  if (v->status == GD_STARTED && !force)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s already started", v->name);
  for (unsigned i = 0; i < v->nbricks; i++)
    if (is_local(&v->bricks[i]) && gd_brick_check_start(&v->bricks[i], err) && !force) {
      err->code = GD_ERR_MGMT;
      return GD_OP_FAILED;
    }
  v->busy = true;
  op->waiting = 1; /* our own, so that it cannot reach 0 while we loop */
  for (unsigned i = 0; i < v->nbricks; i++) {
    if (!is_local(&v->bricks[i]) || gd_brick_check_start(&v->bricks[i], NULL))
      continue;
    op->waiting++;
    gd_brick_start(&v->bricks[i], brick_started, op);
  }
  if (--op->waiting == 0)
    start_done(op);
  return GD_OP_LATER;
}

/* ---- stop ---- */

static void
brick_stopped(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_op *op = arg;
  struct gd_volume *v = op->volume;
  if (--op->waiting)
    return;
  v->busy = false;
  if (gd_store_volume(v, &op->problem))
    gi_error_prefix(&op->problem, "the bricks are stopped, but the volume's state cannot be stored");
  put_volume(op);
  gd_op_finish(op, &op->problem);
}

int
gd_op_stop(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  if (v->status != GD_STARTED && !gd_op_flag(op, "force"))
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not in the started state", v->name);
  if (gd_rebalance_runs(v) && !gd_op_flag(op, "force"))
    return gi_error_set(err, GD_ERR_MGMT, "rebalance session is in progress for the volume '%s'", v->name);
  v->busy = true;
  v->status = GD_STOPPED; /* before its processes go, so that none is kept running */
  gd_shd_sync(v);
  gd_mover_sync(v);
  op->waiting = v->nbricks;
  for (unsigned i = 0; i < v->nbricks; i++)
    gd_brick_stop(&v->bricks[i], brick_stopped, op);
  return GD_OP_LATER;
}

/* ---- delete ---- */

int
gd_op_delete(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  if (v->status == GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s has been started.Volume needs to be stopped before deletion.", v->name);
  if (gd_store_delete(op->gd, v->name, err))
    return GD_OP_FAILED;
  put_volume(op);
  op->volume = NULL;
  gd_volume_let_go(v);
  gd_volume_free(v);
  return GD_OP_DONE;
}
