/* SPDX-License-Identifier: Apache-2.0
 *
 * node replace, node status: one node takes the place of another. The command
 * checks that it can be done and says in the store that it is wanted; the new
 * node does it (pool/replace.c), and any node tells how far it is.
 */
#include "programs/glusterishd/pool/replace.h"

#include <errno.h>
#include <string.h>

#define PROGRESS_MS 4500

/* ---- may it be done? ---- */

static int
check_volume(const struct gd_volume *v, const struct gi_gfid *old, const struct gi_gfid *new, bool force, struct gi_error *err)
{
  unsigned size = gd_volume_set_size(v);
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if (!gi_gfid_equal(&b->node, old))
      continue;
    if (v->type != GD_REPLICATE)
      return gi_error_set(
          err, GD_ERR_MGMT,
          "volume %s keeps one copy of each file, and brick %s:%s has some: take it off with remove-brick first", v->name,
          b->host, b->path);
    if (v->status != GD_STARTED)
      return gi_error_set(err, GD_ERR_MGMT, "volume %s is not started, so its brick %s:%s cannot be healed elsewhere", v->name,
                          b->host, b->path);
    if (!gd_shd_enabled(v))
      return gi_error_set(err, GD_ERR_MGMT, "the self-heal daemon of volume %s is disabled", v->name);
    if (gd_check_no_rebalance(v, err))
      return -1;
    for (unsigned k = i - i % size; !force && k < i - i % size + size; k++)
      if (gi_gfid_equal(&v->bricks[k].node, new))
        return gi_error_set(err, GD_ERR_MGMT, "%s:%s and %s:%s of volume %s would be on one node, which needs 'force'",
                            v->bricks[k].host, v->bricks[k].path, b->host, b->path, v->name);
  }
  return 0;
}

/* *id of a node of the pool, this one too. */
static int
find(const struct gd_op *op, const char *member, struct gi_gfid *id, bool *connected, struct gi_error *err)
{
  const char *host = gd_op_str(op, member);
  struct gd_node *n;
  if (!host || !gd_node_named(op->gd, host, &n))
    return gi_error_set(err, ENOENT, "%.200s is not part of cluster", host ? host : "");
  *id = n ? n->id : op->gd->uuid;
  *connected = !n || gd_node_connected(n);
  return 0;
}

static bool
is_same(const json_t *doc, const char *member, const struct gi_gfid *id)
{
  char text[GI_UUID_TEXT];
  const char *its = json_string_value(json_object_get(doc, member));
  return its && strcmp(its, gi_gfid_text(id, text)) == 0;
}

static bool
runs(const json_t *doc)
{
  const char *state = json_string_value(json_object_get(doc, "state"));
  return state && strcmp(state, "running") == 0;
}

static int
check(const struct gd_op *op, const struct gi_gfid *old, const struct gi_gfid *new, bool connected, struct gi_error *err)
{
  const json_t *earlier = gd_replace_wanted(op->gd->pool);
  bool force = gd_op_flag(op, "force");
  if (gi_gfid_equal(old, new))
    return gi_error_set(err, EINVAL, "a node does not take its own place");
  if (!connected)
    return gi_error_set(err, ENOTCONN, "%.200s is not connected", gd_op_str(op, "new"));
  if (runs(earlier) && !force && !(is_same(earlier, "old", old) && is_same(earlier, "new", new)))
    return gi_error_set(err, EBUSY, "node %s takes the place of %s: 'force' gives that up as far as it is",
                        json_string_value(json_object_get(earlier, "newHost")),
                        json_string_value(json_object_get(earlier, "oldHost")));
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    if (check_volume(v, old, new, force, err))
      return -1;
  return 0;
}

/* ---- it is wanted ---- */

/* Consumes `doc`. */
static int
want(struct gd_op *op, json_t *doc)
{
  char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);
  const struct gd_key_put put = {GD_REPLACE_KEY, text, 0};
  gd_commit_keys(op, &put, 1, gd_finish_everywhere);
  free(text);
  json_decref(doc);
  return GD_OP_LATER;
}

int
gd_op_node_replace(struct gd_op *op, struct gi_error *err)
{
  struct gi_gfid old, new;
  char old_id[GI_UUID_TEXT], new_id[GI_UUID_TEXT];
  bool connected, any;
  if (!op->gd->pool)
    return gi_error_set(err, EINVAL, "this node is in no pool");
  if (find(op, "old", &old, &any, err) || find(op, "new", &new, &connected, err) || check(op, &old, &new, connected, err))
    return GD_OP_FAILED;
  const json_t *earlier = gd_replace_wanted(op->gd->pool);
  if (runs(earlier) && is_same(earlier, "old", &old) && is_same(earlier, "new", &new) &&
      gd_op_flag(op, "force") == json_is_true(json_object_get(earlier, "force")))
    return GD_OP_DONE; /* it goes on */
  return want(op, json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:i,s:I}", "old", gi_gfid_text(&old, old_id), "new",
                            gi_gfid_text(&new, new_id), "oldHost", gd_op_str(op, "old"), "newHost", gd_op_str(op, "new"),
                            "state", "running", "force", gd_op_flag(op, "force"), "bricks", (int)gd_bricks_on(op->gd, &old),
                            "started", (json_int_t)gi_wall(op->gd->reactor).sec));
}

/* The new node says that it is done. */
int
gd_op_node_replaced(struct gd_op *op, struct gi_error *err)
{
  const json_t *wanted = gd_replace_wanted(op->gd->pool);
  if (!runs(wanted) || !is_same(wanted, "new", &op->gd->uuid))
    return gi_error_set(err, EINVAL, "this node takes the place of no other one");
  json_t *doc = json_deep_copy(wanted);
  json_object_update_new(doc, json_pack("{s:s,s:I}", "state", "done", "ended", (json_int_t)gi_wall(op->gd->reactor).sec));
  return want(op, doc);
}

/* ---- how far is it? ---- */

static void
progress_said(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  json_t *replace = json_object_get(op->out, "replace");
  if (why->code)
    json_object_set_new(replace, "problem", json_string(why->text));
  else
    json_object_update(replace, (json_t *)(uintptr_t)doc);
  gd_op_finish(op, NULL);
}

int
gd_op_node_status(struct gd_op *op, struct gi_error *err)
{
  const json_t *wanted = gd_replace_wanted(op->gd->pool);
  struct gi_gfid new;
  if (!wanted)
    return GD_OP_DONE;
  json_t *replace = json_deep_copy(wanted);
  json_object_set_new(op->out, "replace", replace);
  json_object_set_new(replace, "now", json_integer((json_int_t)gi_wall(op->gd->reactor).sec));
  const char *id = json_string_value(json_object_get(wanted, "new"));
  if (!runs(wanted) || !id || !gi_gfid_parse(id, &new))
    return GD_OP_DONE;
  const struct gd_node *n = gd_node_find(op->gd, &new);
  if (gi_gfid_equal(&new, &op->gd->uuid)) {
    gd_replace_progress(op->gd->pool, replace);
    return GD_OP_DONE;
  }
  if (!n || !gd_node_connected(n)) {
    json_object_set_new(replace, "problem",
                        json_sprintf("node %s is not connected: it goes on when it is back",
                                     json_string_value(json_object_get(wanted, "newHost"))));
    return GD_OP_DONE;
  }
  gd_order(op, &new, json_pack("{s:s}", "command", "node progress"), PROGRESS_MS, progress_said, NULL);
  return GD_OP_LATER;
}

int
gd_op_node_progress(struct gd_op *op, struct gi_error *err)
{
  if (!gd_replace_wanted(op->gd->pool))
    return gi_error_set(err, ENOENT, "this node knows of no replacement");
  gd_replace_progress(op->gd->pool, op->out);
  return GD_OP_DONE;
}
