/* SPDX-License-Identifier: Apache-2.0
 *
 * volume list, info and status (cli.md 5.3, 5.4, 5.6): what there is, and how
 * it is doing. Offline bricks are listed; a missing fact is left out of the
 * document and the CLI says N/A.
 */
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <mntent.h>
#include <string.h>

int
gd_op_list(struct gd_op *op, struct gi_error *err)
{
  json_t *list = json_array();
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    json_array_append_new(list, json_string(v->name));
  json_object_set_new(op->out, "volumes", list);
  return GD_OP_DONE;
}

/* ---- info ---- */

static json_t *
info_bricks(const struct gd_volume *v)
{
  json_t *list = json_array();
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    char node[GI_UUID_TEXT];
    GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", b->host, b->path);
    json_array_append_new(list, json_pack("{s:s,s:s,s:b}", "name", name, "hostUuid", gi_gfid_text(&b->node, node), "isArbiter",
                                          gd_brick_is_arbiter(b)));
  }
  return list;
}

static void
put_options(json_t *list, const struct gi_list *options)
{
  gi_list_foreach(o, options, struct gd_option, link)
    json_array_append_new(list, json_pack("{s:s,s:s}", "name", o->key, "value", o->value));
}

static json_t *
info_volume(const struct gd_volume *v)
{
  char id[GI_UUID_TEXT];
  json_t *options = json_array();
  put_options(options, &v->options);
  put_options(options, &v->gd->pool_options);
  int type = v->type + (v->type && v->nbricks > gd_volume_set_size(v) ? 5 : 0);
  return json_pack("{s:s,s:s,s:i,s:s,s:i,s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:o,s:o}", "name", v->name, "id",
                   gi_gfid_text(&v->id, id), "status", v->status, "statusStr", gd_volume_status_text(v), "type", type,
                   "typeStr", gd_volume_type_text(v), "snapshotCount", 0, "brickCount", v->nbricks, "distCount",
                   gd_volume_sets(v), "replicaCount", v->replica, "arbiterCount", v->arbiter, "disperseCount", 0,
                   "redundancyCount", 0, "transport", 0, "bricks", info_bricks(v), "options", options);
}

int
gd_op_info(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "volume");
  json_t *list = json_array();
  json_object_set_new(op->out, "volumes", list);
  if (name && strcmp(name, "all") != 0) {
    if (!op->volume)
      return gi_error_set(err, GD_ERR_NO_VOLUME, "Volume %.256s does not exist", name);
    json_array_append_new(list, info_volume(op->volume));
    return GD_OP_DONE;
  }
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    json_array_append_new(list, info_volume(v));
  return GD_OP_DONE;
}

/* ---- status ---- */

/* The mount a path is on: the last one of the table whose directory is the longest prefix. */
static void
put_mount(json_t *node, const char *path)
{
  FILE *f = setmntent("/proc/self/mounts", "r");
  struct mntent m;
  char buf[8192];
  size_t best = 0;
  while (f && getmntent_r(f, &m, buf, sizeof(buf))) {
    size_t len = strlen(m.mnt_dir);
    bool root = len == 1;
    if (len < best || strncmp(path, m.mnt_dir, len) != 0 || (!root && path[len] != '/' && path[len] != '\0'))
      continue;
    best = len;
    json_object_set_new(node, "device", json_string(m.mnt_fsname));
    json_object_set_new(node, "fsName", json_string(m.mnt_type));
    json_object_set_new(node, "mntOptions", json_string(m.mnt_opts));
  }
  if (f)
    endmntent(f);
}

static void
put_detail(const struct gd_op *op, json_t *node, const struct gd_brick *b)
{
  const struct statvfs *st = gd_disks_get(op, b->path);
  put_mount(node, b->path);
  if (!st)
    return;
  json_object_set_new(node, "sizeTotal", json_integer((json_int_t)st->f_blocks * (json_int_t)st->f_frsize));
  json_object_set_new(node, "sizeFree", json_integer((json_int_t)st->f_bfree * (json_int_t)st->f_frsize));
  json_object_set_new(node, "blockSize", json_integer((json_int_t)st->f_bsize));
  json_object_set_new(node, "inodesTotal", json_integer((json_int_t)st->f_files));
  json_object_set_new(node, "inodesFree", json_integer((json_int_t)st->f_ffree));
}

static json_t *
status_brick(const struct gd_op *op, const struct gd_brick *b, bool detail)
{
  char node[GI_UUID_TEXT];
  bool online = gd_brick_online(b);
  json_t *n = json_pack("{s:s,s:s,s:s,s:s,s:b}", "kind", "brick", "hostname", b->host, "path", b->path, "peerid",
                        gi_gfid_text(&b->node, node), "online", online);
  if (online) {
    json_object_set_new(n, "port", json_integer(b->port));
    json_object_set_new(n, "pid", json_integer(b->pid));
  }
  if (detail)
    put_detail(op, n, b);
  return n;
}

static json_t *
status_shd(const struct gd_volume *v)
{
  char node[GI_UUID_TEXT];
  pid_t pid = gd_shd_pid(v);
  json_t *n = json_pack("{s:s,s:s,s:s,s:s,s:b}", "kind", "daemon", "hostname", "Self-heal Daemon", "path", "localhost",
                        "peerid", gi_gfid_text(&v->gd->uuid, node), "online", pid != 0);
  if (pid)
    json_object_set_new(n, "pid", json_integer(pid));
  return n;
}

/* Which processes of a volume a status is about; none set: all of them. */
struct target {
  const struct gd_brick *brick;
  bool shd;
};

/* The daemons have no disks, and no tables of clients' files. */
static bool
daemons_tell(const char *what)
{
  return !what || strcmp(what, "mem") == 0 || strcmp(what, "callpool") == 0;
}

static json_t *
status_volume(const struct gd_op *op, const struct gd_volume *v, struct target only, const char *what)
{
  json_t *nodes = json_array();
  bool detail = what && strcmp(what, "detail") == 0;
  for (unsigned i = 0; i < v->nbricks; i++)
    if (!only.shd && (!only.brick || only.brick == &v->bricks[i]))
      json_array_append_new(nodes, status_brick(op, &v->bricks[i], detail));
  if (gd_volume_is_here(v) && (only.shd || (!only.brick && gd_shd_enabled(v) && daemons_tell(what))))
    json_array_append_new(nodes, status_shd(v));
  json_t *doc = json_pack("{s:s,s:b,s:o}", "name", v->name, "started", v->status == GD_STARTED, "nodes", nodes);
  if (!only.brick && !only.shd)
    json_object_set_new(doc, "tasks", gd_rebalance_tasks(v));
  return doc;
}

/* The third word: a brick or one of the daemons. */
static int
find_target(struct gd_volume *v, const char *target, struct target *only, struct gi_error *err)
{
  *only = (struct target){0};
  if (!target)
    return 0;
  if (strcmp(target, "shd") == 0) {
    only->shd = gd_shd_enabled(v);
    if (only->shd)
      return 0;
    return gd_shd_compatible(v) ? gi_error_set(err, GD_ERR_MGMT, "Self-heal Daemon is disabled for volume %s", v->name)
                                : gi_error_set(err, GD_ERR_MGMT, "Volume %s is not Self-heal compatible", v->name);
  }
  if (strcmp(target, "quotad") == 0)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s does not have quota enabled", v->name);
  if (strcmp(target, "nfs") == 0)
    return gi_error_set(err, GD_ERR_MGMT, "NFS server is disabled for volume %s", v->name);
  only->brick = gd_volume_find_brick(v, target);
  return only->brick ? 0 : gi_error_set(err, GD_ERR_MGMT, "No brick %.256s in volume %s", target, v->name);
}

/* ---- what only the processes know ---- */

struct ask {
  struct gd_op *op;
  json_t *node; /* of the reply; owned by it */
};

static unsigned
status_mask(const char *what)
{
  static const struct {
    const char *what;
    unsigned mask;
  } table[] = {{"mem", GD_STATUS_MEM},     {"clients", GD_STATUS_CLIENTS},   {"client-list", GD_STATUS_CLIENT_LIST},
               {"inode", GD_STATUS_INODE}, {"callpool", GD_STATUS_CALLPOOL}, {"fd", GD_STATUS_FD}};
  for (size_t i = 0; what && i < GI_ARRAY_LEN(table); i++)
    if (strcmp(what, table[i].what) == 0)
      return table[i].mask;
  return 0;
}

static void
process_said(int err, const struct gi_dict *dict, void *arg)
{
  struct ask *ask = arg;
  struct gd_op *op = ask->op;
  json_t *facts = json_object();
  for (uint32_t i = 0; i < gi_dict_count(dict); i++) {
    const char *text;
    const struct gi_pair *p = gi_dict_at(dict, i);
    if (gi_dict_get_str(dict, p->key, &text))
      json_object_set_new(facts, p->key, json_string(text));
  }
  json_object_set_new(ask->node, "facts", facts);
  gi_free(ask);
  if (--op->waiting == 0)
    gd_op_finish(op, NULL);
}

static void
ask_node(struct gd_op *op, struct gd_volume *v, json_t *n, unsigned mask)
{
  const char *host = json_string_value(json_object_get(n, "hostname")), *path = json_string_value(json_object_get(n, "path"));
  GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", host, path);
  bool shd = strcmp(json_string_value(json_object_get(n, "kind")), "daemon") == 0;
  struct gd_brick *b = shd ? NULL : gd_volume_find_brick(v, name);
  if (shd ? !gd_shd_pid(v) : !b || !gd_brick_online(b))
    return;
  struct ask *ask = gi_new(struct ask);
  *ask = (struct ask){op, n};
  op->waiting++;
  if (shd)
    gd_shd_ask_status(v, mask, process_said, ask);
  else
    gd_brick_ask_status(b, mask, process_said, ask);
}

/* Has every process of the reply that is online asked; GD_OP_DONE if there is none. */
static int
ask_processes(struct gd_op *op, unsigned mask)
{
  json_t *volumes = json_object_get(op->out, "volumes"), *v, *n;
  size_t i, k;
  json_array_foreach(volumes, i, v) json_array_foreach(json_object_get(v, "nodes"), k, n)
      ask_node(op, gd_volume_find(op->gd, json_string_value(json_object_get(v, "name"))), n, mask);
  return op->waiting ? GD_OP_LATER : GD_OP_DONE;
}

static int
put_status(struct gd_op *op, const char *name, const char *target, const char *what, struct gi_error *err)
{
  json_t *list = json_array();
  struct target only = {0};
  json_object_set_new(op->out, "volumes", list);
  if (!name || strcmp(name, "all") == 0) {
    gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
      json_array_append_new(list, status_volume(op, v, only, what));
    return 0;
  }
  if (!op->volume)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %.256s does not exist", name);
  if (op->volume->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not started", name);
  if (find_target(op->volume, target, &only, err))
    return -1;
  json_array_append_new(list, status_volume(op, op->volume, only, what));
  return 0;
}

static int
status_now(struct gd_op *op, struct gi_error *err)
{
  const char *what = gd_op_str(op, "what");
  unsigned mask = status_mask(what);
  if (put_status(op, gd_op_str(op, "volume"), gd_op_str(op, "target"), what, err))
    return GD_OP_FAILED;
  return mask ? ask_processes(op, mask) : GD_OP_DONE;
}

int
gd_op_status(struct gd_op *op, struct gi_error *err)
{
  const char *what = gd_op_str(op, "what");
  bool detail = what && strcmp(what, "detail") == 0;
  if (what && !status_mask(what) && !detail && strcmp(what, "tasks") != 0)
    return gi_error_set(err, EINVAL, "%.32s is not a valid status option", what);
  return detail ? gd_disks_look(op, op->volume, status_now, err) : status_now(op, err);
}
