/* SPDX-License-Identifier: Apache-2.0
 *
 * volume heal (cli.md 5.7), as far as the daemon has to do with it: switching
 * it on and off, poking the volume's self-heal daemon and passing on what that
 * tells of itself. What needs healing is found out by a program of its own,
 * programs/heal.
 */
#include "programs/glusterishd/ops/op.h"
#include "libglusterish/heal-op.h"
#include "rpc/message.h"

#include <errno.h>
#include <string.h>

/* ---- the question to the self-heal daemon ---- */

/* Names every replica set of the volume and gives it a number, under which the answer speaks of it. */
static struct gi_dict *
question(const struct gd_volume *v, int number)
{
  GI_CLEANUP_FREE char *op = gi_asprintf("%d", number);
  GI_CLEANUP_FREE char *count = gi_asprintf("%u", gd_volume_sets(v));
  struct gi_dict *in = gi_dict_new();
  gi_dict_set_str(in, "volname", v->name);
  gi_dict_set_str(in, "heal-op", op);
  gi_dict_set_str(in, "xl-op", op);
  gi_dict_set_str(in, "count", count);
  for (unsigned s = 0; s < gd_volume_sets(v); s++) {
    GI_CLEANUP_FREE char *key = gi_asprintf("xl-%u", s);
    GI_CLEANUP_FREE char *name = gd_set_name(v, s);
    GI_CLEANUP_FREE char *index = gi_asprintf("%u", s);
    gi_dict_set_str(in, key, name);
    gi_dict_set_str(in, name, index);
  }
  return in;
}

void
gd_heal_ask(struct gd_volume *v, int number, gd_answer_fn *fn, void *arg)
{
  GI_CLEANUP_FREE char *sock = gd_shd_socket(v);
  gd_ask(v->gd, sock, GI_BRICK_XLATOR_OP, "", question(v, number), fn, arg);
}

static int
ask(struct gd_op *op, int number, gd_answer_fn *fn)
{
  gd_heal_ask(op->volume, number, fn, op);
  return GD_OP_LATER;
}

static int
check(const struct gd_volume *v, struct gi_error *err)
{
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not started.", v->name);
  if (!gd_shd_compatible(v))
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not of type replicate or disperse", v->name);
  return 0;
}

/* ---- heal, heal full ---- */

/* Every brick is told about under "<set>-<child>-status": whether it is crawled, is another node's, or why it is not. */
static void
count(const struct gi_dict *dict, unsigned *started, unsigned *refused)
{
  for (uint32_t i = 0; i < gi_dict_count(dict); i++) {
    const struct gi_pair *p = gi_dict_at(dict, i);
    const char *text;
    if (p->key_len < 7 || strcmp(p->key + p->key_len - 7, "-status") != 0 || !gi_dict_get_str(dict, p->key, &text))
      continue;
    if (strcmp(text, "Started self-heal") == 0)
      ++*started;
    else if (strcmp(text, "Brick is remote") != 0)
      ++*refused;
  }
}

static void
launched(int code, const struct gi_dict *dict, void *arg)
{
  struct gd_op *op = arg;
  struct gi_error err = {0};
  unsigned started = 0, refused = 0;
  count(dict, &started, &refused);
  /* As in GlusterFS, a full crawl of the bricks that are there is a success, an index crawl without all of them is not. */
  bool full = strcmp(gd_op_str(op, "op"), "full") == 0;
  if (code || (full ? refused && !started : refused != 0))
    gi_error_set(&err, GD_ERR_MGMT,
                 "Glusterd Syncop Mgmt brick op 'Heal' failed. Please check glustershd log file for details.");
  gd_op_finish(op, &err);
}

static int
launch(struct gd_op *op, int number, struct gi_error *err)
{
  const struct gd_volume *v = op->volume;
  if (check(v, err))
    return GD_OP_FAILED;
  if (!gd_shd_enabled(v))
    return gi_error_set(err, GD_ERR_MGMT, "Self-heal-daemon is disabled. Heal will not be triggered on volume %s", v->name);
  return gd_volume_is_here(v) ? ask(op, number, launched) : GD_OP_DONE;
}

/* ---- switches ---- */

static int
switch_option(struct gd_op *op, const char *key, const char *value, struct gi_error *err)
{
  if (!gd_shd_compatible(op->volume))
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not of type replicate or disperse", op->volume->name);
  const char *pair[] = {key, value};
  return gd_op_set_options(op, pair, 2);
}

bool
gd_heal_stores(const struct gd_op *op)
{
  const char *what = gd_op_str(op, "op");
  return !what || (strcmp(what, "index") != 0 && strcmp(what, "full") != 0);
}

int
gd_op_heal(struct gd_op *op, struct gi_error *err)
{
  static const char granular[] = "cluster.granular-entry-heal", daemon[] = "cluster.self-heal-daemon";
  const char *what = gd_op_str(op, "op");
  if (!what)
    what = "";
  if (strcmp(what, "index") == 0)
    return launch(op, GI_HEAL_INDEX, err);
  if (strcmp(what, "full") == 0)
    return launch(op, GI_HEAL_FULL, err);
  if (strcmp(what, "enable") == 0 || strcmp(what, "disable") == 0)
    return switch_option(op, daemon, what, err);
  if (strcmp(what, "granular-enable") == 0)
    return switch_option(op, granular, "enable", err);
  if (strcmp(what, "granular-disable") == 0)
    return switch_option(op, granular, "disable", err);
  return gi_error_set(err, EINVAL, "unknown kind of heal \"%.32s\"", what);
}

/* ---- what the self-heal daemon tells ---- */

static void
told(int code, const struct gi_dict *dict, void *arg)
{
  struct gd_op *op = arg;
  json_t *facts = json_object();
  for (uint32_t i = 0; i < gi_dict_count(dict); i++) {
    const struct gi_pair *p = gi_dict_at(dict, i);
    const char *text;
    int64_t number;
    if (gi_dict_get_str(dict, p->key, &text))
      json_object_set_new(facts, p->key, json_string(text));
    else if (gi_dict_get_int(dict, p->key, &number))
      json_object_set_new(facts, p->key, json_integer(number));
  }
  json_object_set_new(op->out, "facts", facts);
  json_object_set_new(op->out, "answered", json_boolean(code == 0));
  gd_op_finish(op, NULL);
}

static void
put_bricks(struct gd_op *op, const struct gd_brick *only)
{
  const struct gd_volume *v = op->volume;
  unsigned size = gd_volume_set_size(v);
  json_t *list = json_array();
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if (!only || only->index / size == i / size)
      json_array_append_new(list, json_pack("{s:s,s:s,s:i,s:i,s:b}", "hostname", b->host, "path", b->path, "set", i / size,
                                            "child", i % size, "online", gd_brick_online(b)));
  }
  json_object_set_new(op->out, "bricks", list);
}

int
gd_op_heal_status(struct gd_op *op, struct gi_error *err)
{
  const char *what = gd_op_str(op, "op"), *replica = gd_op_str(op, "replica");
  const struct gd_brick *only = replica ? gd_volume_find_brick(op->volume, replica) : NULL;
  if (check(op->volume, err))
    return GD_OP_FAILED;
  if (!gd_shd_enabled(op->volume))
    return gi_error_set(err, GD_ERR_MGMT, "Self-heal-daemon is disabled. Heal will not be triggered on volume %s",
                        op->volume->name);
  if (replica && !only)
    return gi_error_set(err, GD_ERR_MGMT, "No brick %.256s in volume %s", replica, op->volume->name);
  put_bricks(op, only);
  if (!gd_volume_is_here(op->volume))
    return GD_OP_DONE;
  if (what && strcmp(what, "statistics") == 0)
    return ask(op, GI_HEAL_STATISTICS, told);
  if (what && strcmp(what, "heal-count") == 0)
    return ask(op, GI_HEAL_COUNT, told);
  return gi_error_set(err, EINVAL, "unknown question \"%.32s\"", what ? what : "");
}
