/* SPDX-License-Identifier: Apache-2.0
 *
 * volume start, stop, delete (cli.md 5.2). Starting and
 * stopping wait for processes; the volume is busy meanwhile and the daemon
 * serves others.
 */
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <string.h>

static void
put_volume(struct gd_op *op)
{
  char id[GI_UUID_TEXT];
  json_object_set_new(op->out, "name", json_string(op->volume->name));
  json_object_set_new(op->out, "id", json_string(gi_gfid_text(&op->volume->id, id)));
}

/* The state that the volume had, in op->state, and has again when the other one cannot be stored. */
static void
set_status(struct gd_op *op, enum gd_volume_status status)
{
  op->state = (void *)(uintptr_t)op->volume->status;
  op->volume->status = status;
}

static void
reset_status(struct gd_op *op)
{
  op->volume->status = (enum gd_volume_status)(uintptr_t)op->state;
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
take_back_stored(struct gd_op *op, const struct gi_error *err)
{
  if (!err->code) {
    undo_start(op);
    return;
  }
  reset_status(op);
  op->volume->busy = false;
  gi_error_prefix(&op->problem, "the volume is started, and that cannot be taken back");
  gd_op_finish(op, &op->problem);
}

static void
start_over(struct gd_op *op)
{
  op->volume->busy = false;
  gd_volume_sync(op->volume);
  put_volume(op);
  gd_op_finish(op, &op->problem);
}

/* All nodes have done what they can. Without force a start that failed anywhere is taken back everywhere. */
static void
start_settled(struct gd_op *op)
{
  struct gd_volume *v = op->volume;
  if (op->problem.code && !gd_op_flag(op, "force")) {
    set_status(op, GD_STOPPED);
    gd_volume_sync(v);
    gd_commit(op, v, take_back_stored);
    return;
  }
  memset(&op->problem, 0, sizeof(op->problem)); /* with force what can run, runs */
  start_over(op);
}

static void
start_stored(struct gd_op *op, const struct gi_error *err)
{
  if (!err->code) {
    gd_settle(op, op->volume->name, gd_op_flag(op, "force"), start_settled);
    return;
  }
  op->problem = *err;
  if (op->gd->pool) { /* what is not stored is not in force */
    reset_status(op);
    undo_start(op);
    return;
  }
  gi_error_prefix(&op->problem, "the bricks run, but the volume's state cannot be stored");
  start_over(op);
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
  if (was_started) {                            /* nothing is to be stored, with or without the store */
    start_stored(op, &(struct gi_error){0});
    return;
  }
  set_status(op, GD_STARTED);
  gd_commit(op, v, start_stored);
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

/* A volume that runs is given its bricks back without the store. */
bool
gd_start_stores(const struct gd_op *op)
{
  const struct gd_volume *v = gd_volume_find(op->gd, gd_op_str(op, "volume"));
  return !v || v->status != GD_STARTED;
}

int
gd_op_start(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  bool force = gd_op_flag(op, "force");
  if (v->status == GD_STARTED && !force)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s already started", v->name);
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gd_brick_is_here(&v->bricks[i]) && gd_brick_check_start(&v->bricks[i], err) && !force) {
      err->code = GD_ERR_MGMT;
      return GD_OP_FAILED;
    }
  v->busy = true;
  op->waiting = 1; /* our own, so that it cannot reach 0 while we loop */
  for (unsigned i = 0; i < v->nbricks; i++) {
    if (!gd_brick_is_here(&v->bricks[i]) || gd_brick_check_start(&v->bricks[i], NULL))
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
stop_settled(struct gd_op *op)
{
  op->volume->busy = false;
  memset(&op->problem, 0, sizeof(op->problem));
  put_volume(op);
  gd_op_finish(op, NULL);
}

static void
brick_stopped(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_op *op = arg;
  if (--op->waiting == 0)
    gd_settle(op, op->volume->name, false, stop_settled);
}

/* Its state is stored before its processes go, so that none is kept running or started again. */
static void
stop_stored(struct gd_op *op, const struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  if (err->code) {
    reset_status(op);
    v->busy = false;
    gd_op_finish(op, err);
    return;
  }
  gd_volume_sync(v);
  op->waiting = v->nbricks;
  for (unsigned i = 0; i < v->nbricks; i++)
    gd_brick_stop(&v->bricks[i], brick_stopped, op);
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
  set_status(op, GD_STOPPED);
  gd_commit(op, v, stop_stored);
  return GD_OP_LATER;
}

/* ---- delete ---- */

static void
nowhere(struct gd_op *op)
{
  gd_op_finish(op, NULL);
}

static void
deleted(struct gd_op *op, const struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  v->busy = false;
  if (err->code) {
    gd_op_finish(op, err);
    return;
  }
  put_volume(op);
  op->volume = NULL;
  for (unsigned i = 0; i < v->nbricks; i++)
    gd_brick_end(&v->bricks[i]);
  gd_volume_let_go(v);
  gd_volume_free(v);
  gd_settle(op, gd_op_str(op, "volume"), false, nowhere);
}

int
gd_op_delete(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  if (v->status == GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s has been started.Volume needs to be stopped before deletion.", v->name);
  v->busy = true;
  gd_commit_delete(op, v, deleted);
  return GD_OP_LATER;
}
