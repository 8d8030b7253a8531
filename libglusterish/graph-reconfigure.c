/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing a running graph to a new volfile, all or nothing.
 *
 * Options change in place. A translator with one child that only the new file
 * has is inserted (its bytes in fops come from its room or the slack, which are
 * zero in those that exist already); one that only the running
 * graph has is drained (graph-drain.c), taken off the path and parked, to be found
 * again if a later file brings it back. A translator that allows it (children_changed) may get
 * another set of children: whole subtrees appear below it, or leave and are
 * parked. Anything else is another topology.
 */
#include "libglusterish/graph-private.h"
#include "libglusterish/log.h"

#include <errno.h>
#include <string.h>

/* one kept translator */
struct change {
  struct gi_xlator *x;
  const struct gi_vol_node *node;
  void *values; /* new ones, until committed */
  bool prepared;
  bool children;               /* x->incoming is not what it was */
  struct gi_xlator **incoming; /* what it was */
  unsigned nincoming;
};

struct plan {
  struct gi_graph *g;
  struct gi_volfile *vf;
  struct change *change;
  unsigned nchange;
  unsigned first_new; /* g->count before insertions */
  uint32_t fop_used;  /* likewise */
  unsigned nparts;    /* likewise */
};

static bool
in_file(const struct gi_volfile *vf, const struct gi_xlator *x)
{
  const struct gi_vol_node *n = gi_volfile_find(vf, x->name);

  return n && strcmp(n->type, x->cls->type) == 0;
}

static struct gi_xlator *
kept(const struct plan *p, const struct gi_vol_node *n)
{
  struct gi_xlator *x = gi_graph_find(p->g, n->name);

  return x && x->index < p->first_new && strcmp(x->cls->type, n->type) == 0 ? x : NULL;
}

/* The kept translator an edge of the running graph leads to, looking through those about to be parked. */
static const struct gi_xlator *
through_graph(const struct plan *p, const struct gi_xlator *x)
{
  while (x && !in_file(p->vf, x))
    x = x->nchildren == 1 ? x->children[0] : NULL;
  return x;
}

/* Off the path: nobody above, or only what is parked itself. */
static bool
parked(const struct gi_xlator *x)
{
  if (x == x->graph->top)
    return false;
  for (unsigned i = 0; i < x->nparents; i++)
    if (!parked(x->parents[i]))
      return false;
  return true;
}

/* The translator on the path an edge of the new file leads to, looking through those about to be inserted or brought back. */
static const struct gi_xlator *
through_file(const struct plan *p, const struct gi_vol_node *n)
{
  const struct gi_xlator *x = NULL;

  while (n && (!(x = kept(p, n)) || parked(x)))
    n = n->nsub == 1 ? n->sub[0] : NULL;
  return n ? x : NULL;
}

static bool
same_children(const struct plan *p, const struct gi_xlator *x, const struct gi_vol_node *n)
{
  if (x->nchildren != n->nsub)
    return false;
  for (unsigned i = 0; i < n->nsub; i++) {
    const struct gi_xlator *old = through_graph(p, x->children[i]);

    if (!old || old != through_file(p, n->sub[i]))
      return false;
  }
  return true;
}

/* ---- another set of children ---- */

static bool
has_child(const struct gi_xlator *x, const struct gi_xlator *child)
{
  for (unsigned i = 0; i < x->nchildren; i++)
    if (x->children[i] == child)
      return true;
  return false;
}

/* Nothing of it is on the path now. */
static bool
all_new(const struct plan *p, const struct gi_vol_node *n)
{
  const struct gi_xlator *x = kept(p, n);

  if (x && !parked(x))
    return false;
  for (unsigned i = 0; i < n->nsub; i++)
    if (!all_new(p, n->sub[i]))
      return false;
  return true;
}

static bool
all_gone(const struct plan *p, const struct gi_xlator *x)
{
  if (in_file(p->vf, x))
    return false;
  for (unsigned i = 0; i < x->nchildren; i++)
    if (!all_gone(p, x->children[i]))
      return false;
  return true;
}

static bool
has_sub(const struct gi_vol_node *n, const char *name, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    if (strcmp(n->sub[i]->name, name) == 0)
      return true;
  return false;
}

/* Every child of the new file is one of the present ones or a new subtree, and every present one stays or goes as a whole. */
static bool
other_children(const struct plan *p, const struct gi_xlator *x, const struct gi_vol_node *n)
{
  if (!x->cls->children_changed || n->nsub < x->cls->min_children || n->nsub > x->cls->max_children)
    return false;
  for (unsigned i = 0; i < n->nsub; i++) {
    const struct gi_xlator *c = kept(p, n->sub[i]);

    if (has_sub(n, n->sub[i]->name, i) || !((c && has_child(x, c)) || all_new(p, n->sub[i])))
      return false;
  }
  for (unsigned i = 0; i < x->nchildren; i++)
    if (!has_sub(n, x->children[i]->name, n->nsub) && !all_gone(p, x->children[i]))
      return false;
  return true;
}

static bool
within(const struct gi_vol_node *tree, const struct gi_vol_node *n)
{
  if (tree == n)
    return true;
  for (unsigned i = 0; i < tree->nsub; i++)
    if (within(tree->sub[i], n))
      return true;
  return false;
}

/* The node, which is not on the path, comes with a new child. */
static bool
comes_with_child(const struct plan *p, const struct gi_vol_node *n)
{
  gi_list_foreach(m, &p->vf->nodes, struct gi_vol_node, link) {
    const struct gi_xlator *x = kept(p, m);

    if (!x || parked(x) || !x->cls->children_changed)
      continue;
    for (unsigned i = 0; i < m->nsub; i++)
      if (all_new(p, m->sub[i]) && within(m->sub[i], n))
        return true;
  }
  return false;
}

/* The translator, which is not in the new file, goes with a child, or has gone with one. */
static bool
goes_with_child(const struct plan *p, const struct gi_xlator *x)
{
  for (unsigned i = 0; i < x->nparents; i++) {
    const struct gi_xlator *parent = x->parents[i];

    if (in_file(p->vf, parent) ? !parent->cls->children_changed : !goes_with_child(p, parent))
      return false;
  }
  return true;
}

static bool
fits_its_place(const struct plan *p, const struct gi_vol_node *n)
{
  const struct gi_xlator *x = gi_graph_find(p->g, n->name);

  if (x && strcmp(x->cls->type, n->type) != 0)
    return false;
  if (x && !parked(x))
    return same_children(p, x, n) || other_children(p, x, n);
  return n->nsub == 1 || comes_with_child(p, n);
}

static bool
same_topology(const struct plan *p)
{
  const struct gi_vol_node *top = gi_volfile_top(p->vf);

  if (!top || !kept(p, top) || kept(p, top) != p->g->top)
    return false;
  gi_list_foreach(n, &p->vf->nodes, struct gi_vol_node, link)
    if (!fits_its_place(p, n))
      return false;
  for (unsigned i = 0; i < p->g->count; i++) {
    const struct gi_xlator *x = p->g->xlators[i];

    if (!in_file(p->vf, x) && x->nchildren != 1 && !goes_with_child(p, x))
      return false;
  }
  return true;
}

/* An option that is not live keeps its value until the process restarts. */
static int
keep_fixed_options(const struct change *c, const struct gi_vol_node *old, struct gi_error *err)
{
  for (const struct gi_option *opt = c->x->cls->options; opt && opt->name; opt++) {
    if (opt->live || opt->wildcard)
      continue;

    const char *was = old ? gi_vol_node_get(old, opt->name) : NULL;
    const char *now = gi_vol_node_get(c->node, opt->name);

    was = was ? was : opt->def;
    now = now ? now : opt->def;
    if (!was || !now || strcmp(was, now) == 0)
      continue;
    gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_GRAPH + 1, "option %s %s takes effect when the process is restarted", opt->name,
           now);
    if (gi_option_parse(opt, was, c->values, err) < 0)
      return -1;
  }
  return 0;
}

static int
prepare_one(struct change *c, const struct gi_volfile *old, struct gi_error *err)
{
  const struct gi_xlator_class *cls = c->x->cls;
  GI_CHECK(c->x, GI_XLATOR_MAGIC);
  GI_ASSERT(!c->prepared && !c->values);

  if (gi_graph_parse_options(cls, c->node, &c->values, err) < 0)
    return -1;
  if (!(parked(c->x) && c->x->nchildren == 0) && keep_fixed_options(c, gi_volfile_find(old, c->x->name), err) < 0)
    return -1; /* a parked leaf does nothing: it begins anew, with all it is given */
  if (cls->reconfigure_prepare && cls->reconfigure_prepare(c->x, c->values, err) < 0) {
    gi_error_prefix(err, "volume %s", c->x->name);
    return -1;
  }
  c->prepared = true;
  return 0;
}

static int
load_new(struct plan *p, struct gi_error *err)
{
  gi_list_foreach(n, &p->vf->nodes, struct gi_vol_node, link) {
    if (kept(p, n))
      continue;

    struct gi_xlator *x = gi_graph_load_node(p->g, n, err);

    if (!x)
      return -1;
    /* Enough of a place to initialise in; the final edges are made when everything is known to work. */
    x->nchildren = n->nsub;
    x->children = gi_realloc(x->children, (n->nsub + 1) * sizeof(*x->children));
    for (unsigned i = 0; i < n->nsub; i++)
      x->children[i] = gi_graph_find(p->g, n->sub[i]->name);
  }
  return 0;
}

static bool
place_new(struct plan *p)
{
  for (unsigned i = p->g->count; i-- > p->first_new;) { /* parents come after their children */
    struct gi_xlator *x = p->g->xlators[i];
    const struct gi_vol_node *n = gi_volfile_find(p->vf, x->name);

    gi_graph_place(p->g, p->vf, n, x, !all_new(p, n));
  }
  gi_graph_settle_parts(p->g);
  return p->g->fop_used <= p->g->fop_bytes && gi_graph_paths_hold(p->g, p->vf);
}

static int
insert_new(struct plan *p, struct gi_error *err)
{
  if (load_new(p, err) < 0)
    return -1;
  if (!place_new(p))
    return 1;
  for (unsigned i = p->first_new; i < p->g->count; i++)
    if (gi_graph_init_xlator(p->g->xlators[i], err) < 0)
      return -1;
  return 0;
}

/* Where the set of children differs, lays the new one ready. */
static void
offer_children(struct plan *p, struct change *c)
{
  struct gi_xlator *x = c->x;
  bool same = parked(x) || same_children(p, x, c->node);
  GI_ASSERT(!c->children);

  if (same && !x->incoming)
    return;
  c->children = true;
  c->incoming = x->incoming;
  c->nincoming = x->nincoming;
  x->incoming = NULL;
  x->nincoming = 0;
  if (same)
    return;
  x->nincoming = c->node->nsub;
  x->incoming = gi_zalloc(c->node->nsub * sizeof(struct gi_xlator *));
  for (unsigned i = 0; i < c->node->nsub; i++)
    x->incoming[i] = gi_graph_find(p->g, c->node->sub[i]->name);
}

static void
withdraw_children(struct change *c)
{
  if (!c->children)
    return;
  gi_free(c->x->incoming);
  c->x->incoming = c->incoming;
  c->x->nincoming = c->nincoming;
}

static void
rollback(struct plan *p)
{
  struct gi_graph *g = p->g;
  GI_ASSERT(g->count >= p->first_new && g->fop_used >= p->fop_used);

  for (unsigned i = 0; i < p->nchange; i++)
    withdraw_children(&p->change[i]);

  while (g->count > p->first_new) {
    struct gi_xlator *x = g->xlators[--g->count];

    for (unsigned i = 0; i < g->nrooms; i++)
      if (g->rooms[i].taken == x)
        g->rooms[i].taken = NULL;
    gi_graph_free_xlator(x);
  }
  gi_graph_drop_parts(g, p->nparts);
  g->fop_used = p->fop_used;
  for (unsigned i = 0; i < p->nchange; i++) {
    struct change *c = &p->change[i];

    if (c->prepared && c->x->cls->reconfigure_abort)
      c->x->cls->reconfigure_abort(c->x, c->values);
    if (c->values && c->x->cls->options)
      gi_options_free(c->x->cls->options, c->values);
    gi_free(c->values);
  }
  gi_free(p->change);
}

static void
commit_options(struct plan *p)
{
  for (unsigned i = 0; i < p->nchange; i++) {
    struct gi_xlator *x = p->change[i].x;

    GI_ASSERT(!x->old_options && p->change[i].prepared);
    x->old_options = x->options;
    x->options = p->change[i].values;
  }
  for (unsigned i = 0; i < p->nchange; i++) {
    struct gi_xlator *x = p->change[i].x;

    if (x->cls->reconfigure_commit)
      x->cls->reconfigure_commit(x);
    if (x->cls->options)
      gi_options_free(x->cls->options, x->old_options);
    gi_free(x->old_options);
    x->old_options = NULL;
  }
}

/* Told last, when the graph is whole: it may take them at once. */
static void
commit_children(struct plan *p)
{
  for (unsigned i = 0; i < p->nchange; i++) {
    struct change *c = &p->change[i];

    if (!c->children)
      continue;
    gi_free(c->incoming);
    GI_ASSERT(c->x->cls->children_changed);
    c->x->cls->children_changed(c->x);
  }
}

/* x is still the parent of the children it has, also of those that are not in the new file and what is below them. */
static void
keep_children(const struct plan *p, struct gi_xlator *x)
{
  for (unsigned i = 0; i < x->nchildren; i++) {
    struct gi_xlator *c = x->children[i];

    gi_graph_add_parent(c, x);
    if (!in_file(p->vf, c) && !c->away) /* what is away keeps its own */
      keep_children(p, c);
  }
}

/* It goes with its parent, when that lets it go. */
static bool
goes_with_parent(const struct plan *p, const struct gi_xlator *x)
{
  for (unsigned i = 0; i < x->nparents; i++) {
    const struct gi_xlator *parent = x->parents[i];

    if (in_file(p->vf, parent) ? parent->incoming != NULL : goes_with_parent(p, parent))
      return true;
  }
  return false;
}

/* Those that leave the path, drained or to be drained. */
static struct gi_xlator **
drain_leaving(struct plan *p, unsigned *n)
{
  struct gi_xlator **leaving = gi_zalloc(p->g->count * sizeof(struct gi_xlator *));

  *n = 0;
  for (unsigned i = 0; i < p->first_new; i++) {
    struct gi_xlator *x = p->g->xlators[i];

    if (in_file(p->vf, x))
      x->away = false;
    else if (!parked(x) && !goes_with_parent(p, x))
      leaving[(*n)++] = x;
  }
  for (unsigned i = 0; i < *n; i++)
    gi_graph_drain(leaving[i]);
  for (unsigned i = 0; i < *n; i++) { /* one may have ended while another one below it let go of operations */
    leaving[i]->away = leaving[i]->draining;
    if (!leaving[i]->away)
      gi_log(GI_LOG_INFO, leaving[i]->name, GI_MSG_GRAPH + 2, "%s leaves the running graph", leaving[i]->cls->type);
  }
  return leaving;
}

/* The graph is as the new file says, except for what is away and not drained yet. */
static void
connect_all(struct plan *p)
{
  struct gi_graph *g = p->g;

  gi_graph_clear_parents(g);
  gi_list_foreach(n, &p->vf->nodes, struct gi_vol_node, link) {
    struct gi_xlator *x = gi_graph_find(g, n->name);

    if (x->incoming)
      keep_children(p, x);
    else
      gi_graph_connect(g, x, n);
    for (unsigned i = 0; x->incoming && i < x->nincoming; i++)
      x->incoming[i] = gi_graph_front(x->incoming[i]);
  }
  for (unsigned i = 0; i < g->count; i++)
    if (g->xlators[i]->away)
      keep_children(p, g->xlators[i]);
}

static void
commit_edges(struct plan *p)
{
  struct gi_graph *g = p->g;
  unsigned n;
  struct gi_xlator **leaving = drain_leaving(p, &n);

  gi_graph_place_fronts(g, leaving, n);
  connect_all(p);
  gi_graph_compile(g);
  for (unsigned i = p->first_new; i < g->count; i++)
    gi_log(GI_LOG_INFO, g->xlators[i]->name, GI_MSG_GRAPH + 3, "%s joins the running graph", g->xlators[i]->cls->type);
  gi_free(leaving);
}

int
gi_graph_reconfigure(struct gi_graph *g, struct gi_volfile **vf, struct gi_error *err)
{
  struct plan p = {.g = g, .vf = *vf, .first_new = g->count, .fop_used = g->fop_used, .nparts = g->nparts};
  int rc;

  gi_graph_check(g);
  gi_graph_override(g, *vf);
  if (!same_topology(&p))
    return 1;
  p.change = gi_zalloc(g->count * sizeof(*p.change));
  rc = insert_new(&p, err);
  gi_list_foreach(n, &p.vf->nodes, struct gi_vol_node, link) {
    struct gi_xlator *x = kept(&p, n);

    if (rc != 0)
      break;
    if (!x)
      continue;

    struct change *c = &p.change[p.nchange++];

    c->x = x;
    c->node = n;
    offer_children(&p, c);
    rc = prepare_one(c, g->volfile, err);
  }
  if (rc != 0) {
    rollback(&p);
    gi_graph_check(g);
    return rc;
  }

  struct gi_volfile *old = g->volfile;

  g->volfile = *vf;
  *vf = NULL;
  commit_options(&p);
  commit_edges(&p);
  commit_children(&p);
  gi_free(p.change);
  gi_volfile_free(&old);
  gi_graph_check(g);
  return 0;
}
