/* SPDX-License-Identifier: Apache-2.0
 *
 * Where bricks go when nobody says it: every node offers directories below its
 * brick roots with the room there, and those with most room are taken, so that
 * the bricks of one set are on different nodes. A root on the file system of
 * the system itself is taken only by force, as a brick that a person names.
 */
#include "programs/glusterishd/ops/place.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OFFER_MS 4500
#define PATIENCE (2 * GI_NSEC_PER_SEC) /* with nodes that are not connected just now */
#define LOOK (100 * GI_NSEC_PER_MSEC)
#define ROOTS_MAX 64
#define NAMES_MAX 100000 /* of bricks of one volume below one root */

/* ---- what this node offers ---- */

/* The caller frees the texts. */
static unsigned
roots_of(const struct gd *gd, char **roots)
{
  unsigned n = 0;
  if (!gd->config.brick_root) {
    roots[0] = gi_asprintf("%s/bricks", gd->config.workdir);
    GI_IGNORE(gd_mkdir_all(roots[0], 0755, NULL)); /* what is not there is not offered */
    return 1;
  }
  for (const char *p = gd->config.brick_root; *p && n < ROOTS_MAX; p += strspn(p, ":")) {
    size_t len = strcspn(p, ":");
    if (len)
      roots[n++] = gi_strndup(p, len);
    p += len;
  }
  return n;
}

static bool
is_free(const char *path)
{
  struct stat st;
  return lstat(path, &st) && errno == ENOENT;
}

static json_t *
free_names(const char *root, const char *volume, size_t count)
{
  json_t *list = json_array();
  for (int i = 1; json_array_size(list) < count && i < NAMES_MAX; i++) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s-%d", root, volume, i);
    if (is_free(path))
      json_array_append_new(list, json_string(path));
  }
  return list;
}

/* Consumes `names`. */
static void
offer_root(const struct gd_op *op, json_t *list, const char *root, json_t *names, bool first)
{
  const struct statvfs *room = gd_disks_get(op, root);
  struct stat st, system;
  if (room && stat(root, &st) == 0 && S_ISDIR(st.st_mode) && stat("/", &system) == 0 && json_array_size(names))
    json_array_append_new(list, json_pack("{s:s,s:I,s:I,s:b,s:b,s:O}", "path", root, "free",
                                          (json_int_t)(room->f_bavail * room->f_frsize), "device", (json_int_t)st.st_dev,
                                          "system", st.st_dev == system.st_dev, "first", first, "bricks", names));
  json_decref(names);
}

/* How other nodes call this one; the caller frees it. NULL: no other could. */
static char *
own_host(const struct gd *gd)
{
  char name[256] = "";
  if (gd->pool)
    return gi_strdup(gd->pool->hosts[0]);
  if (gd->config.bind)
    return gi_strdup(gd->config.bind);
  return gethostname(name, sizeof(name) - 1) == 0 && gd_host_is_local(gd, name) ? gi_strdup(name) : NULL;
}

/* The directory that holds `path`; the caller frees it. */
static char *
parent_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash && slash != path ? gi_strndup(path, (size_t)(slash - path)) : gi_strdup("/");
}

/* Looks at the roots, then `then` may make the offer. */
static int
look(struct gd_op *op, const char *like, gd_disks_fn *then, struct gi_error *err)
{
  char *roots[ROOTS_MAX + 1];
  unsigned n = roots_of(op->gd, roots);
  if (like)
    roots[n++] = parent_of(like);
  int ret = gd_disks_look_at(op, (const char *const *)roots, n, then, err);
  while (n > 0)
    gi_free(roots[--n]);
  return ret;
}

static json_t *
offer(const struct gd_op *op, const char *volume, const char *like, size_t count)
{
  char *roots[ROOTS_MAX];
  unsigned n = roots_of(op->gd, roots);
  json_t *list = json_array();
  GI_CLEANUP_FREE char *host = own_host(op->gd);
  GI_CLEANUP_FREE char *parent = like ? parent_of(like) : NULL;
  if (like && is_free(like))
    offer_root(op, list, parent, json_pack("[s]", like), true);
  for (unsigned i = 0; i < n; i++) {
    offer_root(op, list, roots[i], free_names(roots[i], volume, count), false);
    gi_free(roots[i]);
  }
  return json_pack("{s:s,s:o}", "host", host ? host : "localhost", "roots", list);
}

static int
node_offers(struct gd_op *op, struct gi_error *err)
{
  json_object_update_new(op->out, offer(op, gd_op_str(op, "name"), gd_op_str(op, "like"), (size_t)gd_op_int(op, "count", 1)));
  return GD_OP_DONE;
}

int
gd_op_node_offer(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "name"), *like = gd_op_str(op, "like");
  long count = gd_op_int(op, "count", 1);
  if (!name || prog_volume_name_check(name, err) || count < 1 || count > GD_BRICKS_MAX || (like && *like != '/'))
    return gi_error_set(err, EINVAL, "the request names no volume and number of bricks");
  return look(op, like, node_offers, err);
}

/* ---- choosing ---- */

/* A root that a node offers. */
struct spot {
  unsigned node;
  const char *host;
  const json_t *names;
  size_t used; /* names */
  uint64_t room;
  json_int_t device;
  bool system, first;
};

struct choice {
  const struct gd_place_wish *wish;
  bool apart; /* two of a set are not on one node */
  unsigned n;
  struct spot *spots;
  unsigned *bricks; /* with data, that were put to the device of a spot */
  unsigned *on;     /* of the set that is being filled, by node */
};

static void
read_offers(struct choice *c, const json_t *offers)
{
  c->apart = !c->wish->force;
  for (unsigned node = 0; node < json_array_size(offers); node++) {
    const json_t *doc = json_array_get(offers, node), *roots = json_object_get(doc, "roots");
    c->apart |= !roots; /* where there is another node nobody has forced it */
    for (size_t i = 0; i < json_array_size(roots); i++) {
      const json_t *root = json_array_get(roots, i);
      c->spots = gi_realloc(c->spots, (c->n + 1) * sizeof(*c->spots));
      c->spots[c->n++] = (struct spot){.node = node,
                                       .host = json_string_value(json_object_get(doc, "host")),
                                       .names = json_object_get(root, "bricks"),
                                       .room = (uint64_t)json_integer_value(json_object_get(root, "free")),
                                       .device = json_integer_value(json_object_get(root, "device")),
                                       .system = json_is_true(json_object_get(root, "system")),
                                       .first = json_is_true(json_object_get(root, "first"))};
    }
  }
  c->bricks = gi_zalloc((c->n + 1) * sizeof(*c->bricks));
  c->on = gi_zalloc((json_array_size(offers) + 1) * sizeof(*c->on));
}

/* Bytes that a brick there may hope for. */
static uint64_t
share(const struct choice *c, const struct spot *s)
{
  return s->room / (1 + c->bricks[s - c->spots]);
}

static bool
is_usable(const struct choice *c, const struct spot *s)
{
  return s->host && s->used < json_array_size(s->names) && s->room && (!s->system || c->wish->force) &&
         (!c->on[s->node] || !c->apart);
}

/* A node that has less of the set, the place that was asked for, then the room. */
static bool
is_better(const struct choice *c, const struct spot *a, const struct spot *b)
{
  if (c->on[a->node] != c->on[b->node])
    return c->on[a->node] < c->on[b->node];
  if (a->first != b->first)
    return a->first;
  return share(c, a) > share(c, b);
}

static struct spot *
best(const struct choice *c)
{
  struct spot *found = NULL;
  for (unsigned i = 0; i < c->n; i++)
    if (is_usable(c, &c->spots[i]) && (!found || is_better(c, &c->spots[i], found)))
      found = &c->spots[i];
  return found;
}

static void
take(struct choice *c, struct spot *s, bool with_data, json_t *placed)
{
  const char *path = json_string_value(json_array_get(s->names, s->used++));
  json_array_append_new(placed,
                        json_pack("{s:o,s:I}", "brick", json_sprintf("%s:%s", s->host, path), "free", (json_int_t)s->room));
  c->on[s->node]++;
  for (unsigned i = 0; i < c->n && with_data; i++)
    c->bricks[i] += c->spots[i].node == s->node && c->spots[i].device == s->device;
}

static int
no_room(const struct choice *c, const json_t *offers, unsigned set, unsigned have, struct gi_error *err)
{
  GI_CLEANUP_FREE char *why = gi_strdup("");
  for (size_t i = 0; i < json_array_size(offers); i++) {
    const json_t *doc = json_array_get(offers, i);
    unsigned roots = 0, system = 0;
    for (unsigned k = 0; k < c->n; k++) {
      roots += c->spots[k].node == i;
      system += c->spots[k].node == i && c->spots[k].system;
    }
    const char *state = !json_object_get(doc, "roots") ? "does not answer"
                        : !roots                       ? "has no directory for bricks"
                        : roots == system ? "has room only on the file system of the system itself, which needs 'force'"
                        : c->on[i]        ? "has one already"
                                          : "has no room left";
    char *more = gi_asprintf("%s%s%s %s", why, *why ? ", " : "", json_string_value(json_object_get(doc, "host")), state);
    gi_free(why);
    why = more;
  }
  return gi_error_set(err, ENOSPC, "set %u needs %u nodes with room for a brick, and there are %u: %.1500s", set + 1,
                      c->wish->copies, have, why);
}

static int
fill_set(struct choice *c, const json_t *offers, unsigned set, unsigned nodes, json_t *placed, struct gi_error *err)
{
  memset(c->on, 0, nodes * sizeof(*c->on));
  for (unsigned k = 0; k < c->wish->copies; k++) {
    struct spot *s = best(c);
    if (!s)
      return no_room(c, offers, set, k, err);
    take(c, s, !c->wish->arbiter || k + 1 < c->wish->copies, placed);
  }
  return 0;
}

json_t *
gd_place_choose(const struct gd_place_wish *wish, const json_t *offers, struct gi_error *err)
{
  struct choice c = {.wish = wish};
  json_t *placed = json_array();
  int ret = 0;
  read_offers(&c, offers);
  for (unsigned set = 0; set < wish->sets && !ret; set++)
    ret = fill_set(&c, offers, set, (unsigned)json_array_size(offers), placed, err);
  gi_free(c.spots);
  gi_free(c.bricks);
  gi_free(c.on);
  if (!ret)
    return placed;
  json_decref(placed);
  return NULL;
}

/* ---- asking ---- */

struct gd_placing {
  struct gd_place_wish wish; /* its texts are own ones */
  struct gi_gfid only;
  struct gi_timer look; /* whether all are connected */
  uint64_t until;       /* when that is waited for no longer */
  json_t *offers;
  gd_placed_fn *then;
};

void
gd_place_free(struct gd_op *op)
{
  struct gd_placing *p = op->placing;
  op->placing = NULL;
  if (!p)
    return;
  gi_timer_finish(&p->look);
  json_decref(p->offers);
  gi_free((char *)(uintptr_t)p->wish.volume);
  gi_free((char *)(uintptr_t)p->wish.like);
  gi_free(p);
}

static int
choose(struct gd_op *op, struct gi_error *err)
{
  struct gd_placing *p = op->placing;
  json_t *placed = gd_place_choose(&p->wish, p->offers, err), *bricks = json_array();
  for (size_t i = 0; i < json_array_size(placed); i++)
    json_array_append(bricks, json_object_get(json_array_get(placed, i), "brick"));
  if (placed)
    json_object_set_new(op->out, "placed", placed);
  int ret = placed ? p->then(op, bricks, err) : GD_OP_FAILED;
  json_decref(bricks);
  return ret;
}

static void
choose_late(struct gd_op *op)
{
  struct gi_error err = {0};
  int ret = choose(op, &err);
  if (ret != GD_OP_LATER)
    gd_op_finish(op, ret == GD_OP_FAILED ? &err : NULL);
}

/* `arg` is the place of the node among the offers, where it stands as one that does not answer. */
static void
offered(struct gd_op *op, void *arg, const struct gi_error *why, const json_t *doc)
{
  if (why->code)
    gi_log(GI_LOG_WARNING, GD_NAME, GI_MSG_MGMT + 220, "a node offers no room for bricks: %s", why->text);
  else
    json_array_set(op->placing->offers, (uintptr_t)arg, (json_t *)(uintptr_t)doc);
  if (--op->waiting == 0)
    choose_late(op);
}

static bool
is_asked(const struct gd_placing *p, const struct gi_gfid *node)
{
  return !p->wish.only || gi_gfid_equal(p->wish.only, node);
}

static void
ask_others(struct gd_op *op, size_t count)
{
  struct gd_placing *p = op->placing;
  struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(op->gd, i)) != NULL; i++) {
    if (!is_asked(p, &n->id))
      continue;
    size_t place = json_array_size(p->offers);
    json_array_append_new(p->offers, json_pack("{s:s}", "host", n->hosts[0]));
    if (!gd_node_connected(n))
      continue;
    json_t *request = json_pack("{s:s,s:s,s:I}", "command", "node offer", "name", p->wish.volume, "count", (json_int_t)count);
    if (p->wish.like)
      json_object_set_new(request, "like", json_string(p->wish.like));
    op->waiting++;
    gd_order(op, &n->id, request, OFFER_MS, offered, (void *)(uintptr_t)place);
  }
}

static bool
all_connected(const struct gd_op *op)
{
  const struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(op->gd, i)) != NULL; i++)
    if (is_asked(op->placing, &n->id) && !gd_node_connected(n))
      return false;
  return true;
}

/* A connection may be made anew just now, as when another secret or TLS came. */
static void
ask_when_connected(void *arg)
{
  struct gd_op *op = arg;
  struct gd_placing *p = op->placing;
  if (!all_connected(op) && gi_now(op->gd->reactor) < p->until) {
    gi_timer_set(&p->look, LOOK);
    return;
  }
  op->waiting = 1; /* our own */
  ask_others(op, (size_t)p->wish.sets * p->wish.copies);
  if (--op->waiting == 0)
    choose_late(op);
}

/* This node has looked at its own. */
static int
looked(struct gd_op *op, struct gi_error *err)
{
  struct gd_placing *p = op->placing;
  if (is_asked(p, &op->gd->uuid))
    json_array_append_new(p->offers, offer(op, p->wish.volume, p->wish.like, (size_t)p->wish.sets * p->wish.copies));
  p->until = gi_now(op->gd->reactor) + PATIENCE;
  gi_timer_init(&p->look, op->gd->reactor, ask_when_connected, op);
  gi_timer_set(&p->look, 0);
  return GD_OP_LATER;
}

int
gd_place(struct gd_op *op, const struct gd_place_wish *wish, gd_placed_fn *then, struct gi_error *err)
{
  struct gd_placing *p = gi_new(struct gd_placing);
  GI_ASSERT(!op->placing && wish->sets && wish->copies);
  p->wish = *wish;
  p->wish.volume = gi_strdup(wish->volume);
  p->wish.like = gi_strdup(wish->like);
  if (wish->only) {
    p->only = *wish->only;
    p->wish.only = &p->only;
  }
  p->offers = json_array();
  p->then = then;
  op->placing = p;
  return look(op, p->wish.like, looked, err);
}
