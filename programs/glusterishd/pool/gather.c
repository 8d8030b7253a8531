/* SPDX-License-Identifier: Apache-2.0
 *
 * One command on all nodes. Whoever was asked by a person asks the others for
 * the same command over their own bricks and puts the answers together. A node
 * that does not answer is named ("missing"): the answer is a part, and says so.
 */
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>

#define ANSWER_MS 4500      /* of a node that only tells something */
#define SETTLE_MS 58000     /* of one that starts bricks */
#define ASK_BRICKS_MS 12000 /* of one that asks its bricks, which may be slow */

/* A question of an op to one node. */
struct gd_asked {
  struct gi_list link; /* gd_op.asked */
  struct gd_op *op;
  struct gi_gfid node;
  struct gd_call *call;
  void (*fn)(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc);
  void *arg; /* NULL: the id of the node, lent */
};

static void
asked_free(struct gd_asked *a)
{
  gi_list_del(&a->link);
  gd_call_cancel(&a->call);
  gi_free(a);
}

void
gd_asked_cancel(struct gd_op *op)
{
  gi_list_foreach_safe(a, &op->asked, struct gd_asked, link)
    asked_free(a);
}

static void
said(void *arg, int code, const json_t *reply)
{
  struct gd_asked *a = arg;
  struct gi_error why = {0};
  const char *text = json_string_value(json_object_get(reply, "error")), *host = gd_node_host(a->op->gd, &a->node);
  a->call = NULL;
  if (code == ENOTCONN || code == ETIMEDOUT)
    gi_error_set(&why, code, "node %s does not answer", host);
  else if (code)
    gi_error_set(&why, code, "node %s: %s", host, strerror(code));
  else if (text)
    gi_error_set(&why, (int)json_integer_value(json_object_get(reply, "code")), "%s", text);
  void (*fn)(struct gd_op *, void *, const struct gi_error *, const json_t *) = a->fn;
  struct gd_op *op = a->op;
  struct gi_gfid node = a->node;
  void *fn_arg = a->arg ? a->arg : &node;
  asked_free(a);
  fn(op, fn_arg, &why, json_object_get(reply, "doc") ? json_object_get(reply, "doc") : reply);
}

static void
ask(struct gd_op *op, struct gd_node *n, json_t *request, unsigned timeout_ms,
    void (*fn)(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc), void *arg)
{
  struct gd_asked *a = gi_new(struct gd_asked);
  *a = (struct gd_asked){.op = op, .node = n->id, .fn = fn, .arg = arg};
  gi_list_add_tail(&op->asked, &a->link);
  a->call = gd_node_call(n, request, timeout_ms, said, a);
}

void
gd_order(struct gd_op *op, const struct gi_gfid *node, json_t *request, unsigned timeout_ms,
         void (*fn)(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc), void *arg)
{
  struct gd_node *n = gd_node_find(op->gd, node);
  GI_ASSERT(n);
  ask(op, n, json_pack("{s:s,s:i,s:o}", "call", "run", "proc", 0, "request", request), timeout_ms, fn, arg);
}

/* ---- settling ---- */

static void
settled(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  void (*const *fn)(struct gd_op *) = arg;
  const json_t *list = json_object_get(doc, "failed");
  for (size_t i = 0; i < json_array_size(list) && !op->problem.code; i++)
    gi_error_set(&op->problem, GD_ERR_MGMT, "%s", json_string_value(json_array_get(list, i)));
  if (why->code) /* it takes what is stored when it is back */
    gi_log(GI_LOG_WARNING, GD_NAME, GI_MSG_MGMT + 155, "%s", why->text);
  if (--op->waiting == 0)
    (*fn)(op);
}

void
gd_settle(struct gd_op *op, const char *volume, bool force, void (*fn)(struct gd_op *op))
{
  struct gd_node *n;
  op->settled = fn;
  op->waiting = 1; /* our own */
  for (unsigned i = 0; (n = gd_node_at(op->gd, i)) != NULL; i++) {
    if (!gd_node_connected(n))
      continue;
    op->waiting++;
    ask(op, n, json_pack("{s:s,s:s,s:b}", "call", "settle", "volume", volume, "force", force),
        op->command->flags & GD_CMD_QUICK ? ANSWER_MS : SETTLE_MS, settled, &op->settled);
  }
  if (--op->waiting == 0)
    fn(op);
}

static void
ends(struct gd_op *op)
{
  gd_op_finish(op, NULL);
}

static void
read_here(void *arg, const struct gi_error *err)
{
  gd_settle(arg, "", false, ends);
}

void
gd_finish_everywhere(struct gd_op *op, const struct gi_error *err)
{
  if (err->code || !op->gd->pool) /* what the store has is read again when the lock is given back */
    gd_op_finish(op, err->code ? err : NULL);
  else
    gd_follow_refresh(op->gd->pool->follow, read_here, op);
}

/* ---- putting answers together ---- */

static bool
same_text(const json_t *a, const json_t *b, const char *key)
{
  const char *one = json_string_value(json_object_get(a, key)), *other = json_string_value(json_object_get(b, key));
  return one && other && strcmp(one, other) == 0;
}

static json_t *
find_in(json_t *list, const json_t *like, const char *key, const char *other)
{
  for (size_t i = 0; i < json_array_size(list); i++) {
    json_t *it = json_array_get(list, i);
    if (same_text(it, like, key) && (!other || same_text(it, like, other)))
      return it;
  }
  return NULL;
}

/* Rows of one volume's status: the node knows its own bricks and daemons. */
static void
merge_status_rows(json_t *mine, const json_t *its, const char *uuid, const char *host)
{
  for (size_t i = 0; i < json_array_size(its); i++) {
    json_t *row = json_array_get(its, i);
    const char *peer = json_string_value(json_object_get(row, "peerid")),
               *kind = json_string_value(json_object_get(row, "kind"));
    if (!peer || !kind || strcmp(peer, uuid) != 0)
      continue;
    if (strcmp(kind, "brick") != 0) {
      json_object_set_new(row, "path", json_string(host));
      json_array_append(mine, row);
      continue;
    }
    json_t *old = find_in(mine, row, "path", "hostname");
    if (old)
      json_object_update(old, row);
  }
}

static void
merge_status(json_t *mine, const json_t *its, const char *uuid, const char *host)
{
  json_t *volumes = json_object_get(its, "volumes");
  for (size_t i = 0; i < json_array_size(volumes); i++) {
    const json_t *v = json_array_get(volumes, i);
    json_t *own = find_in(json_object_get(mine, "volumes"), v, "name", NULL);
    merge_status_rows(json_object_get(own, "nodes"), json_object_get(v, "nodes"), uuid, host);
  }
}

/* A list of bricks: one that is known there has its facts from there. */
static void
merge_bricks(json_t *mine, json_t *its)
{
  for (size_t i = 0; i < json_array_size(its); i++) {
    json_t *row = json_array_get(its, i);
    json_t *old = json_object_get(row, "name") ? find_in(mine, row, "name", NULL) : find_in(mine, row, "path", "hostname");
    if (!old)
      json_array_append(mine, row);
    else if (json_is_true(json_object_get(row, "online")))
      json_object_update(old, row);
  }
}

/* What one self-heal daemon tells of another node's bricks is only that. */
static void
merge_facts(json_t *mine, const json_t *its)
{
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)its, key, value)
  {
    const char *text = json_string_value(value), *old = json_string_value(json_object_get(mine, key));
    if (!json_object_get(mine, key) || (old && strcmp(old, "Brick is remote") == 0 && text))
      json_object_set(mine, key, value);
  }
}

static void
merge(struct gd_op *op, const json_t *doc, const char *uuid, const char *host)
{
  json_t *facts = json_object_get(doc, "facts"), *bricks = json_object_get(doc, "bricks");
  merge_status(op->out, doc, uuid, host);
  if (json_is_array(bricks) && !json_is_array(json_object_get(op->out, "bricks")))
    json_object_set_new(op->out, "bricks", json_array());
  if (json_is_array(bricks))
    merge_bricks(json_object_get(op->out, "bricks"), bricks);
  if (json_is_object(facts) && !json_is_object(json_object_get(op->out, "facts")))
    json_object_set_new(op->out, "facts", json_object());
  if (json_is_object(facts))
    merge_facts(json_object_get(op->out, "facts"), facts);
  if (json_is_true(json_object_get(doc, "answered")))
    json_object_set_new(op->out, "answered", json_true());
}

static void
missing(struct gd_op *op, const char *host)
{
  if (!json_object_get(op->out, "missing"))
    json_object_set_new(op->out, "missing", json_array());
  json_array_append_new(json_object_get(op->out, "missing"), json_string(host));
}

/* ---- gathering ---- */

static void
gathered(struct gd_op *op)
{
  gd_op_finish(op, &op->problem);
}

static void
node_said(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  const struct gi_gfid *id = arg;
  char uuid[GI_UUID_TEXT];
  const char *host = gd_node_host(op->gd, id);
  if (why->code == ENOTCONN || why->code == ETIMEDOUT)
    missing(op, host);
  else if (why->code && !op->problem.code)
    op->problem = *why;
  else if (!why->code)
    merge(op, doc, gi_gfid_text(id, uuid), host);
  /* Of locks it is enough that one node has them. */
  if (!why->code && op->command->flags & GD_CMD_ANYWHERE)
    op->problem.code = 0;
  if (--op->waiting == 0)
    gathered(op);
}

/* Has the node anything to say of the volume? */
static bool
concerns(const struct gd_op *op, const struct gd_node *n)
{
  return !op->volume || gd_volume_bricks_on(op->volume, &n->id);
}

void
gd_gather_nodes(struct gd_op *op, const struct gi_error *own)
{
  struct gd_node *n;
  op->gathered = true;
  op->volume = gd_volume_find(op->gd, gd_op_str(op, "volume")); /* it may have gone meanwhile */
  op->problem = own ? *own : (struct gi_error){0};
  if (op->problem.code && !(op->command->flags & GD_CMD_ANYWHERE)) {
    gathered(op);
    return;
  }
  op->waiting = 1; /* our own */
  bool slow = !(op->command->flags & GD_CMD_QUICK);
  for (unsigned i = 0; (n = gd_node_at(op->gd, i)) != NULL; i++) {
    if (!concerns(op, n))
      continue;
    if (!gd_node_connected(n)) {
      missing(op, n->hosts[0]);
      continue;
    }
    op->waiting++;
    ask(op, n, json_pack("{s:s,s:i,s:O}", "call", "run", "proc", (int)op->command->proc, "request", op->in),
        slow ? ASK_BRICKS_MS : ANSWER_MS, node_said, NULL);
  }
  if (--op->waiting == 0)
    gathered(op);
}

/* ---- being asked ---- */

static void
answer(struct gd_op *op, const struct gi_error *err)
{
  json_t *reply = err && err->code ? gd_node_refusal(err->code, err->text) : json_object();
  json_object_set(reply, "doc", op->out);
  gd_node_answer(op->req, reply);
}

void
gd_gather_asked(struct gd *gd, struct gi_rpc_request *req, const json_t *in)
{
  char *text = json_dumps(json_object_get(in, "request"), JSON_COMPACT | JSON_ENCODE_ANY);
  gd_op_begin_for_node(gd, text ? text : "", (uint32_t)json_integer_value(json_object_get(in, "proc")), req, answer, NULL);
  free(text);
}
