/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the bytes of each translator lie in a fop, an inode and an fd.
 *
 * A fop goes down one path (a fan-out makes new ones), so only translators that
 * are above or below each other need bytes of their own in it: 20 replica sets
 * cost what one costs. An inode or fd is one object for the whole graph, and
 * what one subtree knows of it must not be what another knows: there everybody
 * has bytes of his own (doc/decisions/0002). Below a translator that branches
 * they are in pieces, which an object gets from the subtrees that it is in.
 *
 * Translators may join the running graph. What they get was zero in all fops
 * that exist: nobody on a path of theirs has had it. In inodes and fds each has a
 * piece of its own.
 */
#include "libglusterish/graph-private.h"
#include "libglusterish/layer.h"
#include "libglusterish/log.h"

#include <string.h>

#define ALIGN16(n) (((n) + 15u) & ~15u)

static uint32_t
take(uint32_t *used, uint32_t bytes)
{
  uint32_t at = *used;
  GI_ASSERT(at == ALIGN16(at));
  *used += ALIGN16(bytes);
  return at;
}

/* ---- paths ---- */

/* `n` and the nodes above it, in the order of the file, NULL at the end. The caller frees the list. */
static const struct gi_vol_node **
path_up(const struct gi_volfile *vf, const struct gi_vol_node *n)
{
  unsigned found = 0, room = 8;
  const struct gi_vol_node **path = gi_zalloc(room * sizeof(*path));
  bool after = false;
  gi_list_foreach(m, &vf->nodes, struct gi_vol_node, link) {
    bool above = m == n;
    for (unsigned i = 0; after && !above && i < m->nsub; i++)
      for (unsigned k = 0; k < found && !above; k++)
        above = path[k] == m->sub[i];
    after = after || m == n;
    if (!above)
      continue;
    if (found + 2 > room)
      path = gi_realloc(path, (room *= 2) * sizeof(*path));
    path[found++] = m;
    path[found] = NULL;
  }
  return path;
}

static bool
meet(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes)
{
  return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

/* The end of whatever is in the way of `bytes` at `at` in fops that pass through `path`; 0: nothing is. */
static uint32_t
in_the_way(const struct gi_graph *g, const struct gi_volfile *vf, const struct gi_vol_node *const *path, uint32_t at,
           uint32_t bytes)
{
  for (unsigned i = 0; i < g->nrooms; i++) {
    const struct gi_room *r = &g->rooms[i];
    if (meet(at, bytes, r->fop_offset, r->cls->fop_bytes))
      return r->fop_offset + r->cls->fop_bytes;
  }
  for (unsigned i = 1; path[0] && path[i]; i++) {
    const struct gi_xlator *x = gi_graph_find(g, path[i]->name);
    if (meet(at, bytes, x->fop_offset, x->cls->fop_bytes))
      return x->fop_offset + x->cls->fop_bytes;
  }
  for (unsigned i = 0; i < g->count; i++) { /* who is parked may come back on this path */
    const struct gi_xlator *x = g->xlators[i];
    if (x->nchildren == 1 && meet(at, bytes, x->fop_offset, x->cls->fop_bytes) && !gi_volfile_find(vf, x->name))
      return x->fop_offset + x->cls->fop_bytes;
  }
  return 0;
}

/* ---- parts ---- */

static unsigned
part_named(const struct gi_graph *g, const char *child)
{
  for (unsigned i = 0; i < g->nparts; i++)
    if (g->parts[i].child && strcmp(g->parts[i].child, child) == 0)
      return i + 1;
  return 0;
}

static unsigned
new_part(struct gi_graph *g, const char *child)
{
  GI_ASSERT(g->nparts < UINT16_MAX);
  g->parts = gi_realloc(g->parts, (g->nparts + 1) * sizeof(*g->parts));
  g->parts[g->nparts++] = (struct gi_part){.child = gi_strdup(child)};
  return g->nparts;
}

/* The part of inodes and fds for a node: that of the child of the nearest translator above it that branches; where nothing branches its bytes
 * are in the objects themselves (0). The size of what objects may have is settled: who comes later has a part of its own. */
static unsigned
part_of(struct gi_graph *g, const struct gi_vol_node *const *path, bool apart)
{
  const struct gi_vol_node *child = path[0];
  bool settled = g->fop_bytes > 0;

  for (unsigned i = 1; path[0] && path[i] && !apart; i++) {
    if (!gi_graph_find(g, path[i]->name)->cls->branches) {
      child = path[i];
      continue;
    }
    unsigned part = part_named(g, child->name);
    if (!part && (settled || path[i]->nsub > 1))
      return new_part(g, child->name);
    if (part && !g->parts[part - 1].settled)
      return part;
    break;
  }
  return settled || apart ? new_part(g, NULL) : 0;
}

void
gi_graph_settle_parts(struct gi_graph *g)
{
  for (unsigned i = 0; i < g->nparts; i++)
    g->parts[i].settled = true;
}

void
gi_graph_drop_parts(struct gi_graph *g, unsigned keep)
{
  while (g->nparts > keep)
    gi_free(g->parts[--g->nparts].child);
  if (keep)
    return;
  gi_free(g->parts);
  g->parts = NULL;
}

static struct gi_room *
room_of(const struct gi_graph *g, const struct gi_xlator_class *cls)
{
  for (unsigned i = 0; i < g->nrooms; i++)
    if (strcmp(g->rooms[i].cls->type, cls->type) == 0 && !g->rooms[i].taken)
      return &g->rooms[i];
  return NULL;
}

void
gi_graph_place(struct gi_graph *g, const struct gi_volfile *vf, const struct gi_vol_node *n, struct gi_xlator *x, bool apart)
{
  GI_CLEANUP_FREE const struct gi_vol_node **path = path_up(vf, n);
  x->part = (uint16_t)part_of(g, path, apart);
  struct gi_part *part = x->part ? &g->parts[x->part - 1] : NULL;
  x->inode_offset = take(part ? &part->inode_bytes : &g->inode_bytes, x->cls->inode_bytes);
  x->fd_offset = take(part ? &part->fd_bytes : &g->fd_bytes, x->cls->fd_bytes);
  struct gi_room *room = room_of(g, x->cls);
  if (room) {
    GI_ASSERT(x->cls->fop_bytes <= room->cls->fop_bytes);
    room->taken = x;
    x->fop_offset = room->fop_offset;
    return;
  }
  if (apart) {
    x->fop_offset = take(&g->fop_used, x->cls->fop_bytes);
    return;
  }
  uint32_t at = 0, end;
  while ((end = in_the_way(g, vf, path, at, x->cls->fop_bytes)) != 0) {
    GI_ASSERT(end > at);
    at = ALIGN16(end);
  }
  x->fop_offset = at;
  if (g->fop_used < at + ALIGN16(x->cls->fop_bytes))
    g->fop_used = at + ALIGN16(x->cls->fop_bytes);
}

bool
gi_graph_paths_hold(const struct gi_graph *g, const struct gi_volfile *vf)
{
  gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link) {
    GI_CLEANUP_FREE const struct gi_vol_node **path = path_up(vf, n);
    const struct gi_xlator *x = gi_graph_find(g, n->name);
    for (unsigned i = 1; path[i]; i++) {
      const struct gi_xlator *above = gi_graph_find(g, path[i]->name);
      if (meet(x->fop_offset, x->cls->fop_bytes, above->fop_offset, above->cls->fop_bytes))
        return false;
    }
  }
  return true;
}

/* ---- a new graph ---- */

static bool
has_type(const struct gi_graph *g, const char *type)
{
  for (unsigned i = 0; i < g->count; i++)
    if (strcmp(g->xlators[i]->cls->type, type) == 0)
      return true;
  return false;
}

/* The two ends of a graph have no switch, and need not be loaded for that to be known. */
static bool
may_be_switched(const char *type)
{
  static const char *const never[] = {"cluster/", "mount/", "protocol/", "storage/"};
  for (size_t i = 0; i < GI_ARRAY_LEN(never); i++)
    if (strncmp(type, never[i], strlen(never[i])) == 0)
      return false;
  return true;
}

static void
make_room(const char *type, void *arg)
{
  struct gi_graph *g = arg;
  struct gi_error err = {0};
  void *dl = NULL;
  if (!may_be_switched(type) || has_type(g, type))
    return;
  const struct gi_xlator_class *cls = gi_class_load(type, &dl, &err);
  const struct gi_layer *l = cls ? gi_layer_of(cls, g->ctx->side) : NULL;
  if (!cls)
    gi_log(GI_LOG_DEBUG, "graph", GI_MSG_GRAPH + 4, "translator %s: %s", type, err.text);
  if (!l || !l->key || room_of(g, cls))
    return;
  g->rooms = gi_realloc(g->rooms, (g->nrooms + 1) * sizeof(*g->rooms));
  g->rooms[g->nrooms++] = (struct gi_room){.cls = cls, .fop_offset = take(&g->fop_used, cls->fop_bytes)};
}

void
gi_graph_place_all(struct gi_graph *g)
{
  for (unsigned i = g->count; i-- > 0;) /* parents come after their children */
    gi_graph_place(g, g->volfile, gi_volfile_find(g->volfile, g->xlators[i]->name), g->xlators[i], false);
  int rc = g->ctx->side ? gi_class_scan(make_room, g) : 0;
  if (rc) /* the slack is left */
    gi_log(GI_LOG_WARNING, "graph", GI_MSG_GRAPH + 5, "no room for what switches may add: cannot read %s: %s", gi_xlator_dir(),
           strerror(rc));
  g->fop_bytes = g->fop_used + GI_SLACK_FOP;
  gi_graph_settle_parts(g);
}
