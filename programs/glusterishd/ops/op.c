/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands have in common: finding the volume, keeping changes of one volume apart, the history of commands.
 */
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool
gd_op_proc_is_remote(const struct gd *gd, uint32_t proc)
{
  for (const struct gd_command *c = gd->commands; c->name; c++)
    if (c->proc == proc && c->flags & GD_CMD_REMOTE)
      return true;
  return false;
}

/* May whoever asks have that? */
static bool
is_for(const struct gd_command *c, bool remote, bool by_node)
{
  if (by_node)
    return c->flags & (GD_CMD_NODE | GD_CMD_GATHERS);
  return !(c->flags & GD_CMD_NODE) && (!remote || c->flags & GD_CMD_REMOTE);
}

static const struct gd_command *
find_command(const struct gd *gd, const char *name, uint32_t proc, bool remote, bool by_node)
{
  for (const struct gd_command *c = gd->commands; name && c->name; c++)
    if (strcmp(c->name, name) == 0 && c->proc == proc && is_for(c, remote, by_node))
      return c;
  return NULL;
}

/* ---- the request ---- */

const char *
gd_op_str(const struct gd_op *op, const char *member)
{
  return json_string_value(json_object_get(op->in, member));
}

bool
gd_op_flag(const struct gd_op *op, const char *member)
{
  return json_is_true(json_object_get(op->in, member));
}

long
gd_op_int(const struct gd_op *op, const char *member, long def)
{
  const json_t *j = json_object_get(op->in, member);
  return json_is_integer(j) ? (long)json_integer_value(j) : def;
}

const json_t *
gd_op_strings(const struct gd_op *op, const char *member)
{
  const json_t *list = json_object_get(op->in, member);
  if (!json_is_array(list))
    return NULL;
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!json_is_string(json_array_get(list, i)))
      return NULL;
  return list;
}

/* ---- history ---- */

static void
history(const struct gd_op *op, const struct gi_error *err)
{
  const char *words = gd_op_str(op, "words");
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/cmd_history.log", op->gd->config.logdir);
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  struct gi_time now = gi_wall(op->gd->reactor);
  time_t sec = (time_t)now.sec;
  struct tm tm;
  char when[64];
  strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", gmtime_r(&sec, &tm));
  bool bad = err && err->code;
  GI_CLEANUP_FREE char *line =
      gi_asprintf("[%s.%06u +0000]  : %s : %s%s\n", when, now.nsec / 1000, words ? words : op->command->name,
                  bad ? "FAILED : " : "SUCCESS", bad ? err->text : "");
  for (char *p = line; *p; p++) /* one command is one line, whatever was typed */
    if (*p == '\n' && p[1])
      *p = ' ';
  if (write(fd, line, strlen(line)) < 0)
    gi_log(GI_LOG_WARNING, GD_NAME, GI_MSG_MGMT + 40, "cannot write %s: %s", path, strerror(errno));
  close(fd);
}

/* ---- life ---- */

static void
op_free(struct gd_op *op)
{
  gi_list_del(&op->link);
  op->gd->across->cancel(op);
  op->gd->across->release(op);
  if (op->release)
    op->release(op);
  gd_disks_free(op);
  gd_names_free(op);
  op->gd->across->placed(op);
  json_decref(op->in);
  json_decref(op->out);
  gi_free(op);
}

void
gd_op_finish(struct gd_op *op, const struct gi_error *err)
{
  GI_ASSERT(op->answer);
  if (op->gd->pool && !op->by_node && !op->gathered && !op->lock && op->command && op->command->flags & GD_CMD_GATHERS) {
    op->gd->across->gather(op, err); /* which finishes it again */
    return;
  }
  if (op->command && op->command->flags & GD_CMD_CHANGES && !op->by_node)
    history(op, err);
  op->answer(op, err);
  op_free(op);
}

/* The command itself, when it may begin. */
static int
op_go(struct gd_op *op, struct gi_error *err)
{
  const struct gd_command *c = op->command;
  const char *volume = gd_op_str(op, "volume");
  op->volume = gd_volume_find(op->gd, volume);
  if (c->flags & GD_CMD_VOLUME && !op->volume)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %.256s does not exist", volume ? volume : "");
  if (c->flags & GD_CMD_CHANGES && op->volume && op->volume->busy)
    return gi_error_set(err, GD_ERR_MGMT, "Another transaction is in progress for %s. Please try again after some time.",
                        volume);
  if (c->flags & GD_CMD_STORES && op->volume && op->volume->cut_off)
    return gi_error_set(err, GD_ERR_MGMT, "Quorum not met. Volume operation not allowed.");
  return c->run(op, err);
}

static void
op_locked(struct gd_op *op, const struct gi_error *locked)
{
  struct gi_error err = *locked;
  int ret = err.code ? GD_OP_FAILED : op_go(op, &err);
  if (ret != GD_OP_LATER)
    gd_op_finish(op, ret == GD_OP_FAILED ? &err : NULL);
}

static bool
needs_lock(const struct gd_op *op)
{
  const struct gd_command *c = op->command;
  return op->gd->pool && !op->by_node && c->flags & GD_CMD_STORES && (!c->stores || c->stores(op));
}

/* The hosts it names are known. */
static int
op_named(struct gd_op *op, struct gi_error *err)
{
  if (!needs_lock(op))
    return op_go(op, err);
  op->gd->across->lock(op, op_locked);
  return GD_OP_LATER;
}

static int
op_run(struct gd_op *op, uint32_t proc, bool remote, struct gi_error *err)
{
  if (!json_is_object(op->in))
    return gi_error_set(err, EINVAL, "the request is not a JSON object");
  const char *name = gd_op_str(op, "command");
  op->command = find_command(op->gd, name, proc, remote, op->by_node);
  if (!op->command)
    return gi_error_set(err, EOPNOTSUPP, "unknown command %.64s", name ? name : "(none)");
  return gd_names_look(op, op_named, err);
}

static void
begin(struct gd *gd, const char *text, uint32_t proc, bool remote, bool by_node, struct gi_rpc_request *req,
      void (*answer)(struct gd_op *op, const struct gi_error *err), void *arg)
{
  struct gi_error err = {0};
  GI_CHECK(gd, GD_MAGIC);
  struct gd_op *op = gi_new(struct gd_op);
  op->gd = gd;
  op->req = req;
  op->answer = answer;
  op->arg = arg;
  op->by_node = by_node;
  op->in = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  op->out = json_object();
  gi_list_init(&op->asked);
  gi_list_add_tail(&gd->ops, &op->link);
  int ret = op_run(op, proc, remote, &err);
  if (ret != GD_OP_LATER)
    gd_op_finish(op, ret == GD_OP_FAILED ? &err : NULL);
}

void
gd_op_begin(struct gd *gd, const char *text, uint32_t proc, bool remote, struct gi_rpc_request *req,
            void (*answer)(struct gd_op *op, const struct gi_error *err), void *arg)
{
  begin(gd, text, proc, remote, false, req, answer, arg);
}

void
gd_op_begin_for_node(struct gd *gd, const char *text, uint32_t proc, struct gi_rpc_request *req,
                     void (*answer)(struct gd_op *op, const struct gi_error *err), void *arg)
{
  begin(gd, text, proc, false, true, req, answer, arg);
}

void
gd_ops_abort(struct gd *gd)
{
  struct gi_error err = {.code = ECANCELED, .text = "the management daemon is ending"};
  gi_list_foreach_safe(op, &gd->ops, struct gd_op, link) {
    op->gathered = true; /* nobody else is asked any more */
    gd_op_finish(op, &err);
  }
}
