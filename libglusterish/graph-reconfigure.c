/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing a running graph to a new volfile, all or nothing.
 *
 * Options change in place. A translator with one child that only the new file
 * has is inserted (its bytes come from the slack of fops, inodes and fds, which
 * are zero in those that exist already); one that only the running graph has
 * is taken off the path, told to drain and parked, to be found again if a later
 * file brings it back. Anything else is another topology.
 */
#include "libglusterish/graph-private.h"
#include "libglusterish/log.h"

#include <errno.h>

struct change { /* one kept translator */
  struct gi_xlator *x;
  const struct gi_vol_node *node;
  void *values; /* new ones, until committed */
  bool prepared;
};

struct plan {
  struct gi_graph *g;
  struct gi_volfile *vf;
  struct change *change;
  unsigned nchange;
  unsigned first_new; /* g->count before insertions */
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

static bool
parked(const struct gi_xlator *x)
{
  return x->nparents == 0 && x != x->graph->top;
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

static bool
same_topology(const struct plan *p)
{
  const struct gi_vol_node *top = gi_volfile_top(p->vf);

  if (!top || !kept(p, top) || kept(p, top) != p->g->top)
    return false;
  gi_list_foreach(n, &p->vf->nodes, struct gi_vol_node, link) {
    const struct gi_xlator *x = gi_graph_find(p->g, n->name);

    if (x && strcmp(x->cls->type, n->type) != 0)
      return false;
    if (x && !parked(x) ? !same_children(p, x, n) : n->nsub != 1)
      return false;
  }
  for (unsigned i = 0; i < p->g->count; i++)
    if (!in_file(p->vf, p->g->xlators[i]) && p->g->xlators[i]->nchildren != 1)
      return false;
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
    gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_GRAPH + 1, "option %s %s takes effect when the process is restarted", opt->name, now);
    if (gi_option_parse(opt, was, c->values, err) < 0)
      return -1;
  }
  return 0;
}

static int
prepare_one(struct change *c, const struct gi_volfile *old, struct gi_error *err)
{
  const struct gi_xlator_class *cls = c->x->cls;

  if (gi_graph_parse_options(cls, c->node, &c->values, err) < 0)
    return -1;
  if (keep_fixed_options(c, gi_volfile_find(old, c->x->name), err) < 0)
    return -1;
  if (cls->reconfigure_prepare && cls->reconfigure_prepare(c->x, c->values, err) < 0) {
    gi_error_prefix(err, "volume %s", c->x->name);
    return -1;
  }
  c->prepared = true;
  return 0;
}

/* Room for the new translators in what exists already. */
static bool
fits(const struct gi_graph *g)
{
  return g->fop_used <= g->fop_bytes && g->inode_used <= g->inode_bytes && g->fd_used <= g->fd_bytes;
}

static int
insert_new(struct plan *p, struct gi_error *err)
{
  gi_list_foreach(n, &p->vf->nodes, struct gi_vol_node, link) {
    if (kept(p, n))
      continue;

    struct gi_xlator *x = gi_graph_load_node(p->g, n, err);

    if (!x)
      return -1;
    if (!fits(p->g))
      return 1;
    /* Enough of a place to initialise in; the final edges are made when everything is known to work. */
    x->nchildren = 1;
    x->children = gi_realloc(x->children, sizeof(*x->children));
    x->children[0] = gi_graph_find(p->g, n->sub[0]->name);
    if (gi_graph_init_xlator(x, err) < 0)
      return -1;
  }
  return 0;
}

static void
rollback(struct plan *p)
{
  struct gi_graph *g = p->g;

  while (g->count > p->first_new) {
    struct gi_xlator *x = g->xlators[--g->count];

    g->fop_used = x->fop_offset;
    g->inode_used = x->inode_offset;
    g->fd_used = x->fd_offset;
    gi_graph_free_xlator(x);
  }
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
  gi_free(p->change);
}

static void
commit_edges(struct plan *p)
{
  struct gi_graph *g = p->g;
  struct gi_xlator **leaving = gi_zalloc(g->count * sizeof(struct gi_xlator *));
  unsigned nleaving = 0;

  for (unsigned i = 0; i < p->first_new; i++)
    if (!parked(g->xlators[i]) && !in_file(p->vf, g->xlators[i]))
      leaving[nleaving++] = g->xlators[i];
  gi_graph_clear_parents(g);
  gi_list_foreach(n, &p->vf->nodes, struct gi_vol_node, link)
    gi_graph_connect(g, gi_graph_find(g, n->name), n);
  gi_graph_compile(g);
  for (unsigned i = 0; i < nleaving; i++) {
    gi_log(GI_LOG_INFO, leaving[i]->name, GI_MSG_GRAPH + 2, "%s leaves the running graph", leaving[i]->cls->type);
    if (leaving[i]->cls->notify)
      leaving[i]->cls->notify(leaving[i], GI_EVENT_DRAIN, NULL, NULL);
  }
  for (unsigned i = p->first_new; i < g->count; i++)
    gi_log(GI_LOG_INFO, g->xlators[i]->name, GI_MSG_GRAPH + 3, "%s joins the running graph", g->xlators[i]->cls->type);
  gi_free(leaving);
}

int
gi_graph_reconfigure(struct gi_graph *g, struct gi_volfile **vf, struct gi_error *err)
{
  struct plan p = {.g = g, .vf = *vf, .first_new = g->count};
  int rc = 0;

  gi_graph_override(g, *vf);
  if (!same_topology(&p))
    return 1;
  p.change = gi_zalloc(g->count * sizeof(*p.change));
  gi_list_foreach(n, &p.vf->nodes, struct gi_vol_node, link) {
    struct gi_xlator *x = kept(&p, n);

    if (!x)
      continue;

    struct change *c = &p.change[p.nchange++];

    c->x = x;
    c->node = n;
    rc = prepare_one(c, g->volfile, err);
    if (rc < 0)
      break;
  }
  if (rc == 0)
    rc = insert_new(&p, err);
  if (rc != 0) {
    rollback(&p);
    return rc;
  }

  struct gi_volfile *old = g->volfile;

  g->volfile = *vf;
  *vf = NULL;
  commit_options(&p);
  commit_edges(&p);
  gi_volfile_free(&old);
  return 0;
}
