/* SPDX-License-Identifier: Apache-2.0
 *
 * volume rebalance, and remove-brick start, status, stop and commit (cli.md
 * 5.11, 5.14): tasks that take long. What they do is done by a process of their
 * own (mover.c); here they begin, end and are told of.
 */
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <string.h>

/* ---- telling ---- */

/* As numbers of the CLI: where a layout is all that is fixed, the states come a second time. */
static int
shown_status(const struct gd_rebalance *r)
{
  int status = (int)r->status;
  return r->command == GD_REBALANCE_LAYOUT && status != GD_REBALANCE_NOT_STARTED ? status + GD_REBALANCE_FAILED : status;
}

static const char *
status_text(int status)
{
  static const char *const text[] = {
      "not started",        "in progress",          "stopped",          "completed", "failed", "fix-layout in progress",
      "fix-layout stopped", "fix-layout completed", "fix-layout failed"};
  return text[status];
}

static json_t *
progress(const struct gd_rebalance *r)
{
  int status = shown_status(r);
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:i,s:s,s:I,s:I,s:I,s:I}", "files", (json_int_t)r->files, "size", (json_int_t)r->bytes,
                   "lookups", (json_int_t)r->scanned, "failures", (json_int_t)r->failures, "skipped", (json_int_t)r->skipped,
                   "status", status, "statusStr", status_text(status), "runtime", (json_int_t)r->seconds, "timeLeft",
                   (json_int_t)r->left, "bytesPerSecond", (json_int_t)r->rate, "remaining", (json_int_t)r->remaining);
}

static void
put_progress(struct gd_op *op, const struct gd_volume *v)
{
  char id[GI_UUID_TEXT], node[GI_UUID_TEXT];
  json_t *n = progress(&v->rebalance);
  json_object_set_new(n, "nodeName", json_string("localhost"));
  json_object_set_new(n, "id", json_string(gi_gfid_text(&v->gd->uuid, node)));
  json_object_set_new(op->out, "task-id", json_string(gi_gfid_text(&v->rebalance.id, id)));
  json_object_set_new(op->out, "nodeCount", json_integer(1));
  json_object_set_new(op->out, "nodes", json_pack("[o]", n));
  json_object_set_new(op->out, "aggregate", progress(&v->rebalance));
}

static void
put_id(struct gd_op *op)
{
  char id[GI_UUID_TEXT];
  json_object_set_new(op->out, "task-id", json_string(gi_gfid_text(&op->volume->rebalance.id, id)));
}

json_t *
gd_rebalance_tasks(const struct gd_volume *v)
{
  const struct gd_rebalance *r = &v->rebalance;
  char id[GI_UUID_TEXT];
  if (r->task == GD_TASK_NONE)
    return json_array();
  json_t *task = json_pack("{s:s,s:s,s:i,s:s}", "type", r->task == GD_TASK_REMOVE ? "Remove brick" : "Rebalance", "id",
                           gi_gfid_text(&r->id, id), "status", r->status, "statusStr", status_text((int)r->status));
  json_t *bricks = json_array();
  for (unsigned i = 0; i < v->nbricks && r->task == GD_TASK_REMOVE; i++)
    if (v->bricks[i].decommissioned) {
      GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", v->bricks[i].host, v->bricks[i].path);
      json_array_append_new(bricks, json_string(name));
    }
  if (r->task == GD_TASK_REMOVE)
    json_object_set_new(task, "bricks", json_incref(bricks));
  json_decref(bricks);
  return json_pack("[o]", task);
}

/* ---- beginning and ending ---- */

bool
gd_rebalance_runs(const struct gd_volume *v)
{
  return v->rebalance.task != GD_TASK_NONE && v->rebalance.status == GD_REBALANCE_RUNS;
}

int
gd_check_no_rebalance(const struct gd_volume *v, struct gi_error *err)
{
  return gd_rebalance_runs(v) || v->rebalance.task == GD_TASK_REMOVE
             ? gi_error_set(err, GD_ERR_MGMT, "Volume name %s rebalance is in progress. Please retry after completion", v->name)
             : 0;
}

static int
begin(struct gd_volume *v, enum gd_task task, enum gd_rebalance_command command, struct gi_error *err)
{
  struct gd_rebalance was = v->rebalance;
  v->rebalance =
      (struct gd_rebalance){.task = task, .command = command, .status = GD_REBALANCE_RUNS, .id = gi_gfid_new(v->gd->reactor)};
  if (gd_store_rebalance(v, err)) {
    v->rebalance = was;
    return -1;
  }
  gd_mover_sync(v);
  return 0;
}

/* What was to be emptied before, to go back to. */
struct before {
  struct gd_rebalance rebalance;
  bool leaves[];
};

static void
release_marks(struct gd_op *op)
{
  gi_free(op->state);
}

/* Sets whose bricks are marked in `leaves` are to be emptied, or no set any more (NULL). */
static void
mark(struct gd_op *op, const bool *leaves)
{
  struct gd_volume *v = op->volume;
  struct before *was = gi_zalloc(sizeof(*was) + v->nbricks * sizeof(was->leaves[0]));
  was->rebalance = v->rebalance;
  for (unsigned i = 0; i < v->nbricks; i++) {
    was->leaves[i] = v->bricks[i].decommissioned;
    v->bricks[i].decommissioned = leaves && leaves[i];
  }
  op->state = was;
  op->release = release_marks;
}

static void
take_marks_back(struct gd_op *op)
{
  const struct before *was = op->state;
  for (unsigned i = 0; i < op->volume->nbricks; i++)
    op->volume->bricks[i].decommissioned = was->leaves[i];
}

static void
store_marks(struct gd_op *op, gd_committed_fn *fn)
{
  op->volume->busy = true;
  gd_commit(op, op->volume, fn);
}

/* By what `store_marks` calls: in force for clients, or as it was. */
static void
decommissioned(struct gd_op *op, const struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  v->busy = false;
  if (err->code)
    take_marks_back(op);
  if (err->code && !op->gd->pool)
    GI_IGNORE(gd_store_volume(v, NULL)); /* as far as that works */
  if (!err->code)
    gd_services_changed(v->gd);
}

/* ---- the process is asked first ---- */

static void
emptied_no_more(struct gd_op *op, const struct gi_error *err)
{
  decommissioned(op, err);
  gd_rebalance_end(op->volume);
  gd_op_finish(op, err);
}

static void
answer_progress(struct gd_op *op, struct gd_volume *v)
{
  put_progress(op, v);
  if (!gd_op_flag(op, "ends")) {
    gd_op_finish(op, NULL);
    return;
  }
  if (gd_rebalance_runs(v)) { /* it is over now, as the answer says */
    v->rebalance.status = GD_REBALANCE_STOPPED;
    put_progress(op, v);
  }
  op->volume = v;
  if (v->rebalance.task == GD_TASK_REMOVE) {
    mark(op, NULL);
    store_marks(op, emptied_no_more);
    return;
  }
  gd_rebalance_end(v);
  gd_op_finish(op, NULL);
}

static void
told(int code, const struct gi_dict *dict, void *arg)
{
  struct gd_op *op = arg;
  struct gi_error err = {0};
  struct gd_volume *v = gd_volume_find(op->gd, gd_op_str(op, "volume"));
  if (!v) {
    gi_error_set(&err, GD_ERR_MGMT, "Volume %.256s does not exist", gd_op_str(op, "volume"));
    gd_op_finish(op, &err);
    return;
  }
  if (!code && gd_rebalance_runs(v) && gd_mover_pid(v)) /* else it tells of an earlier task */
    gd_mover_take(v, dict);
  gd_mover_sync(v);
  answer_progress(op, v);
}

static int
tell(struct gd_op *op, bool ends)
{
  struct gd_volume *v = op->volume;
  json_object_set_new(op->in, "ends", json_boolean(ends));
  gd_mover_question(v, told, op); /* who does not answer is told of as it was last */
  return GD_OP_LATER;
}

/* ---- volume rebalance ---- */

static int
start(struct gd_op *op, enum gd_rebalance_command command, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  if (gd_volume_sets(v) < 2)
    return gi_error_set(err, GD_ERR_MGMT,
                        "Volume %s is not a distribute volume or contains only 1 brick.\nNot performing rebalance", v->name);
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s needs to be started to perform rebalance", v->name);
  if (v->rebalance.task == GD_TASK_REMOVE)
    return gi_error_set(err, GD_ERR_MGMT,
                        "A remove-brick task on volume %s is not yet committed. Either commit or stop the remove-brick task.",
                        v->name);
  if (gd_rebalance_runs(v))
    return gi_error_set(err, GD_ERR_MGMT, "Rebalance on %s is already started", v->name);
  if (begin(v, GD_TASK_REBALANCE, command, err))
    return GD_OP_FAILED;
  put_id(op);
  return GD_OP_DONE;
}

int
gd_op_rebalance(struct gd_op *op, struct gi_error *err)
{
  const char *action = gd_op_str(op, "action");
  bool ends = action && strcmp(action, "stop") == 0;
  if (!action)
    return gi_error_set(err, EINVAL, "the request does not say what to do");
  if (strcmp(action, "start") == 0)
    return start(op, gd_op_flag(op, "force") ? GD_REBALANCE_FORCE : GD_REBALANCE_START, err);
  if (strcmp(action, "fix-layout") == 0)
    return start(op, GD_REBALANCE_LAYOUT, err);
  if (!ends && strcmp(action, "status") != 0)
    return gi_error_set(err, EINVAL, "unknown action \"%.32s\"", action);
  if (op->volume->rebalance.task != GD_TASK_REBALANCE)
    return gi_error_set(err, GD_ERR_MGMT, "Rebalance not started for volume %s.", op->volume->name);
  return tell(op, ends);
}

/* ---- remove-brick ---- */

static int
check_online(const struct gd_volume *v, const bool *leaves, struct gi_error *err)
{
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT,
                        "Volume %s needs to be started before remove-brick (you can use 'force' or 'commit' to override this "
                        "behavior)",
                        v->name);
  for (unsigned i = 0; i < v->nbricks; i++)
    if (leaves[i] && gd_brick_is_here(&v->bricks[i]) && !gd_brick_online(&v->bricks[i]))
      return gi_error_set(err, GD_ERR_MGMT, "Found stopped brick %s:%s. Use force option to remove the offline brick",
                          v->bricks[i].host, v->bricks[i].path);
  return 0;
}

static void
emptying_begins(struct gd_op *op, const struct gi_error *err)
{
  const struct before *was = op->state;
  struct gi_error why = *err;
  decommissioned(op, err);
  if (why.code == GD_UNSURE) { /* until it is known whether there are bricks to be emptied: gd_rebalance_settle */
    gd_op_finish(op, &why);
    return;
  }
  if (why.code) {
    op->volume->rebalance = was->rebalance;
    GI_IGNORE(gd_store_rebalance(op->volume, NULL)); /* of a task without bricks to be emptied nothing comes either */
  } else {
    put_id(op);
  }
  gd_mover_sync(op->volume);
  gd_op_finish(op, &why);
}

static int
remove_start(struct gd_op *op, const json_t *bricks, const bool *leaves, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  if (v->rebalance.task == GD_TASK_REMOVE)
    return gi_error_set(err, GD_ERR_MGMT,
                        "An earlier remove-brick task exists for volume %s. Either commit it or stop it before starting a new "
                        "task.",
                        v->name);
  if (gd_check_no_rebalance(v, err) || gd_check_sets_removed(v, json_array_size(bricks), err) ||
      gd_check_whole_sets(v, leaves, err) || check_online(v, leaves, err))
    return GD_OP_FAILED;
  mark(op, leaves);
  if (begin(v, GD_TASK_REMOVE, GD_REBALANCE_FORCE,
            err)) { /* a task without sets to be emptied is over, when this daemon begins again */
    take_marks_back(op);
    return GD_OP_FAILED;
  }
  store_marks(op, emptying_begins);
  return GD_OP_LATER;
}

/* Those that leave are those that are being emptied. */
static int
check_decommissioned(const struct gd_volume *v, const bool *leaves, struct gi_error *err)
{
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if (leaves[i] && !b->decommissioned)
      return gi_error_set(err, GD_ERR_MGMT, "Brick %s:%s is not decommissioned. Use start or force option", b->host, b->path);
  }
  for (unsigned i = 0; i < v->nbricks; i++)
    if (!leaves[i] && v->bricks[i].decommissioned)
      return gi_error_set(err, GD_ERR_MGMT, "Brick %s:%s is being removed too: name all bricks of the task", v->bricks[i].host,
                          v->bricks[i].path);
  return 0;
}

int
gd_check_removable(const struct gd_volume *v, const json_t *bricks, struct gi_error *err)
{
  GI_CLEANUP_FREE bool *leaves = gi_zalloc(v->nbricks * sizeof(*leaves));
  if (v->rebalance.task != GD_TASK_REMOVE)
    return gd_check_no_rebalance(v, err);
  return gd_mark_removed(v, bricks, leaves, err) ? -1 : check_decommissioned(v, leaves, err);
}

static int
remove_commit(struct gd_op *op, const json_t *bricks, const bool *leaves, struct gi_error *err)
{
  const struct gd_volume *v = op->volume;
  const struct gd_rebalance *r = &v->rebalance;
  const char *why = r->status == GD_REBALANCE_RUNS     ? "migration is in progress"
                    : r->status == GD_REBALANCE_FAILED ? "migration has failed"
                    : r->failures || r->skipped || r->status != GD_REBALANCE_COMPLETED
                        ? "migration of some files might have been skipped or has failed"
                        : NULL;
  if (check_decommissioned(v, leaves, err))
    return GD_OP_FAILED;
  if (why)
    return gi_error_set(err, GD_ERR_MGMT, "use 'force' option as %s", why);
  return gd_remove_sets(op, bricks, err);
}

int
gd_op_remove_gradually(struct gd_op *op, const json_t *bricks, const char *action, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  GI_CLEANUP_FREE bool *leaves = gi_zalloc(v->nbricks * sizeof(*leaves));
  bool ends = strcmp(action, "stop") == 0;
  if ((ends || strcmp(action, "status") == 0) && v->rebalance.task != GD_TASK_REMOVE)
    return gi_error_set(err, GD_ERR_MGMT, "remove-brick not started for volume %s.", v->name);
  if (gd_mark_removed(v, bricks, leaves, err))
    return GD_OP_FAILED;
  if (strcmp(action, "start") == 0)
    return remove_start(op, bricks, leaves, err);
  if (strcmp(action, "commit") == 0)
    return remove_commit(op, bricks, leaves, err);
  return check_decommissioned(v, leaves, err) ? GD_OP_FAILED : tell(op, ends);
}
