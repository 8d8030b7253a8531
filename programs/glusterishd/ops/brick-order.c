/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node does to its own bricks for a command that a person gave to
 * another node: makes and marks directories, takes that back, ends a process.
 * The node that has the command knows whose brick each is and orders it there.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PREPARE_MS 10000
#define STOP_MS 20000

/* ---- whose brick is it? ---- */

bool
gd_brick_is_here(const struct gd_brick *b)
{
  return gi_gfid_equal(&b->node, &b->volume->gd->uuid);
}

bool
gd_volume_is_here(const struct gd_volume *v)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gd_brick_is_here(&v->bricks[i]))
      return true;
  return false;
}

int
gd_brick_find_node(struct gd *gd, struct gd_brick *b, struct gi_error *err)
{
  struct gd_node *n;
  if (!gd_node_named(gd, b->host, &n))
    return gi_error_set(err, EINVAL, "Host %s is not in 'Peer in Cluster' state", b->host);
  if (n && !gd_node_connected(n))
    return gi_error_set(err, ENOTCONN, "Host %s not connected", b->host);
  b->node = n ? n->id : gd->uuid;
  return 0;
}

/* ---- a new brick ---- */

struct slot {
  const struct gd_brick *b;
  bool created, checked, marked;
  struct gd_brick_was was;
  json_t *there; /* what its node did, for taking it back; NULL: nothing, or the brick is here */
};

struct gd_prepare {
  struct gd_op *op;
  struct gi_gfid volume;
  bool dirty, force;
  const struct gd_brick *again; /* its directory was made anew: no new brick is elsewhere */
  unsigned n;
  struct slot *slots;
  struct gi_error problem;
  gd_committed_fn *fn;
};

static int
mark(const struct slot *s, const struct gi_gfid *volume, bool dirty, struct gd_brick_was *was, struct gi_error *err)
{
  return gd_brick_mark(s->b->host, s->b->path, volume, was, err) ||
                 (dirty && gd_brick_mark_dirty(s->b->host, s->b->path, was, err))
             ? -1
             : 0;
}

static void
undo_slot(struct gd *gd, struct slot *s, bool again)
{
  if (s->marked && !again)
    gd_brick_unmark(s->b->path, &s->was);
  if (s->created)
    rmdir(s->b->path);
  if (s->marked || s->created)
    gd_prepared_undone(gd, s->b->path);
  s->marked = s->created = false;
}

/* Makes the directory if need be, when it is noted how it was. */
static int
make_slot(struct gd *gd, struct slot *s, const struct gi_gfid *volume, int64_t lock, bool force, const struct gd_brick *again,
          struct gi_error *err)
{
  const struct gd_brick *b = s->b;
  if (!again && gd_prepared_add(gd, b->path, volume, lock, err))
    return -1;
  int ret = again ? gd_brick_check_again(gd, again, force, &s->created, err)
                  : gd_brick_check_new(gd, b->host, b->path, force, &s->created, err);
  if (ret)
    gd_prepared_undone(gd, b->path);
  return ret;
}

static int
prepare_here(struct gd *gd, struct slot *slots, unsigned n, const struct gi_gfid *volume, int64_t lock, bool force, bool dirty,
             const struct gd_brick *again, struct gi_error *err)
{
  for (unsigned i = 0; i < n; i++)
    if (make_slot(gd, &slots[i], volume, lock, force, again, err))
      return -1;
  for (unsigned i = 0; i < n; i++) {
    slots[i].marked = true;
    if (mark(&slots[i], volume, dirty, &slots[i].was, err))
      return -1;
  }
  return 0;
}

/* ---- ordered by another node ---- */

static int
read_slots(struct gd_op *op, struct slot *slots, struct gd_brick *bricks, const json_t *list, struct gi_error *err)
{
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *doc = json_array_get(list, i);
    const char *name = json_string_value(json_object_get(doc, "name"));
    if (prog_brick_parse(name ? name : "", &bricks[i].host, &bricks[i].path, err))
      return -1;
    slots[i].b = &bricks[i];
    slots[i].created = json_is_true(json_object_get(doc, "created"));
    slots[i].marked = json_is_true(json_object_get(doc, "marked"));
    gd_xattr_was_read(json_object_get(doc, "id"), &slots[i].was.id);
    gd_xattr_was_read(json_object_get(doc, "dirty"), &slots[i].was.dirty);
  }
  return 0;
}

static json_t *
write_slots(const struct slot *slots, unsigned n)
{
  json_t *list = json_array();
  for (unsigned i = 0; i < n; i++)
    json_array_append_new(list,
                          json_pack("{s:o,s:b,s:b,s:o,s:o}", "name", json_sprintf("%s:%s", slots[i].b->host, slots[i].b->path),
                                    "created", slots[i].created, "marked", slots[i].marked, "id",
                                    gd_xattr_was_doc(&slots[i].was.id), "dirty", gd_xattr_was_doc(&slots[i].was.dirty)));
  return list;
}

static void
free_read(struct slot *slots, struct gd_brick *bricks, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    gi_free(bricks[i].host);
    gi_free(bricks[i].path);
  }
  gi_free(bricks);
  gi_free(slots);
}

/* The order may have come when the lock it was given under had gone already: then nobody else would look. */
static void
look_at_lock(const struct gd *gd)
{
  if (gd->pool && gd->pool->follow)
    gd_follow_refresh(gd->pool->follow, NULL, NULL);
}

int
gd_op_node_prepare(struct gd_op *op, struct gi_error *err)
{
  const json_t *list = json_object_get(op->in, "bricks");
  const char *text = gd_op_str(op, "id"), *name = gd_op_str(op, "again");
  size_t n = json_array_size(list);
  struct gi_gfid id;
  const struct gd_brick *again = name && op->volume ? gd_volume_find_brick(op->volume, name) : NULL;
  if (!n || n > GD_BRICKS_MAX || !text || !gi_gfid_parse(text, &id) || (name && !again))
    return gi_error_set(err, EINVAL, "the request names no bricks and volume");
  struct slot *slots = gi_zalloc(n * sizeof(*slots));
  struct gd_brick *bricks = gi_zalloc(n * sizeof(*bricks));
  int ret = read_slots(op, slots, bricks, list, err);
  if (!ret) {
    ret = prepare_here(op->gd, slots, (unsigned)n, &id, gd_op_int(op, "lock", 0), gd_op_flag(op, "force"),
                       gd_op_flag(op, "mark-dirty"), again, err);
    for (size_t i = 0; ret && i < n; i++)
      undo_slot(op->gd, &slots[i], again);
  }
  if (!ret) {
    json_object_set_new(op->out, "bricks", write_slots(slots, (unsigned)n));
    look_at_lock(op->gd);
  }
  free_read(slots, bricks, n);
  return ret ? GD_OP_FAILED : GD_OP_DONE;
}

int
gd_op_node_unprepare(struct gd_op *op, struct gi_error *err)
{
  const json_t *list = json_object_get(op->in, "bricks");
  size_t n = json_array_size(list);
  struct slot *slots = gi_zalloc((n + 1) * sizeof(*slots));
  struct gd_brick *bricks = gi_zalloc((n + 1) * sizeof(*bricks));
  int ret = read_slots(op, slots, bricks, list, err);
  for (size_t i = 0; !ret && i < n; i++)
    undo_slot(op->gd, &slots[i], gd_op_flag(op, "again"));
  free_read(slots, bricks, n);
  return ret ? GD_OP_FAILED : GD_OP_DONE;
}

static void
node_stopped(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  const struct gd_op *op = arg;
  if (b->stopped_for)
    look_at_lock(op->gd);
  gd_op_finish(arg, NULL);
}

int
gd_op_node_stop_brick(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "brick");
  struct gd_brick *b = name ? gd_volume_find_brick(op->volume, name) : NULL;
  if (!b || !gd_brick_is_here(b))
    return gi_error_set(err, ENOENT, "brick: %.256s does not exist in volume: %s", name ? name : "", op->volume->name);
  b->stopped_for = gd_op_int(op, "lock", 0);
  gd_brick_stop(b, node_stopped, op);
  return GD_OP_LATER;
}

/* ---- ordering ---- */

struct gd_prepare *
gd_prepare_new(struct gd_op *op, const struct gi_gfid *volume, const struct gd_brick *const *bricks, unsigned n)
{
  struct gd_prepare *p = gi_new(struct gd_prepare);
  *p = (struct gd_prepare){.op = op, .volume = *volume, .n = n, .slots = gi_zalloc((n + 1) * sizeof(*p->slots))};
  for (unsigned i = 0; i < n; i++)
    p->slots[i].b = bricks[i];
  return p;
}

void
gd_prepare_free(struct gd_prepare **ref)
{
  struct gd_prepare *p = *ref;
  *ref = NULL;
  if (!p)
    return;
  if (!p->op->gd->pool) /* in a pool that is plain when the lock has gone */
    gd_prepared_settle(p->op->gd, 0, 0);
  for (unsigned i = 0; i < p->n; i++)
    json_decref(p->slots[i].there);
  gi_free(p->slots);
  gi_free(p);
}

static bool
is_own(const struct gd_prepare *p, const struct slot *s)
{
  return gi_gfid_equal(&s->b->node, &p->op->gd->uuid);
}

static void
ready(struct gd_prepare *p)
{
  struct gi_error err = p->problem;
  if (err.code)
    gd_prepare_undo(p);
  p->fn(p->op, &err); /* which may free it */
}

static void
prepared_there(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  struct gd_prepare *p = arg;
  const json_t *list = json_object_get(doc, "bricks");
  if (why->code && !p->problem.code)
    p->problem = *why;
  for (unsigned i = 0; !why->code && i < p->n; i++) {
    GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", p->slots[i].b->host, p->slots[i].b->path);
    for (size_t k = 0; k < json_array_size(list); k++) {
      const char *its = json_string_value(json_object_get(json_array_get(list, k), "name"));
      if (its && strcmp(its, name) == 0)
        p->slots[i].there = json_incref(json_array_get(list, k));
    }
  }
  if (--op->waiting == 0)
    ready(p);
}

/* All bricks of the node of slot `first`, unless an earlier slot had it. */
static void
prepare_there(struct gd_prepare *p, unsigned first)
{
  const struct gi_gfid *node = &p->slots[first].b->node;
  char id[GI_UUID_TEXT];
  json_t *list = json_array();
  for (unsigned i = 0; i < p->n; i++) {
    if (!gi_gfid_equal(&p->slots[i].b->node, node))
      continue;
    if (i < first) {
      json_decref(list);
      return;
    }
    json_array_append_new(list, json_pack("{s:o}", "name", json_sprintf("%s:%s", p->slots[i].b->host, p->slots[i].b->path)));
  }
  json_t *request =
      json_pack("{s:s,s:o,s:s,s:b,s:b,s:I}", "command", "node prepare", "bricks", list, "id", gi_gfid_text(&p->volume, id),
                "force", p->force, "mark-dirty", p->dirty, "lock", (json_int_t)gd_lock_revision(p->op));
  if (p->op->volume)
    json_object_set_new(request, "volume", json_string(p->op->volume->name));
  if (p->again)
    json_object_set_new(request, "again", json_sprintf("%s:%s", p->again->host, p->again->path));
  p->op->waiting++;
  gd_order(p->op, node, request, PREPARE_MS, prepared_there, p);
}

void
gd_prepare_run(struct gd_prepare *p, bool force, bool dirty, const struct gd_brick *again, gd_committed_fn *fn)
{
  p->force = force;
  p->dirty = dirty;
  p->again = again;
  p->fn = fn;
  for (unsigned i = 0; i < p->n; i++) {
    struct slot *s = &p->slots[i];
    if (is_own(p, s) && make_slot(p->op->gd, s, &p->volume, gd_lock_revision(p->op), force, again, &p->problem))
      break;
  }
  for (unsigned i = 0; i < p->n && !p->problem.code; i++) {
    struct slot *s = &p->slots[i];
    if (!is_own(p, s))
      continue;
    s->marked = true;
    GI_IGNORE(mark(s, &p->volume, dirty, &s->was, &p->problem));
  }
  p->op->waiting = 1; /* our own */
  for (unsigned i = 0; i < p->n && !p->problem.code; i++)
    if (!is_own(p, &p->slots[i]))
      prepare_there(p, i);
  if (--p->op->waiting == 0)
    ready(p);
}

void
gd_prepare_undo(struct gd_prepare *p)
{
  for (unsigned i = p->n; i-- > 0;) {
    struct slot *s = &p->slots[i];
    struct gd_node *n = gd_node_find(p->op->gd, &s->b->node);
    if (is_own(p, s))
      undo_slot(p->op->gd, s, p->again);
    if (s->there && n)
      gd_node_call(n,
                   json_pack("{s:s,s:i,s:{s:s,s:[O],s:b}}", "call", "run", "proc", 0, "request", "command", "node unprepare",
                             "bricks", s->there, "again", p->again != NULL),
                   PREPARE_MS, NULL, NULL);
    json_decref(s->there);
    s->there = NULL;
  }
}

/* ---- stopping ---- */

static void
stopped_there(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  op->stopped(op);
}

static void
stopped_here(struct gd_brick *b, const struct gi_error *err, void *arg)
{
  struct gd_op *op = arg;
  op->stopped(op);
}

void
gd_brick_stop_anywhere(struct gd_op *op, struct gd_brick *b, bool meanwhile, void (*fn)(struct gd_op *op))
{
  struct gd_node *n = gd_node_find(op->gd, &b->node);
  op->stopped = fn;
  if (n && gd_node_connected(n))
    gd_order(op, &b->node,
             json_pack("{s:s,s:s,s:o,s:I}", "command", "node stop-brick", "volume", b->volume->name, "brick",
                       json_sprintf("%s:%s", b->host, b->path), "lock", (json_int_t)(meanwhile ? gd_lock_revision(op) : 0)),
             STOP_MS, stopped_there, NULL);
  else
    gd_brick_stop(b, stopped_here, op); /* of a node that is away: nothing is known of it, as of one that is down */
}
