/* SPDX-License-Identifier: Apache-2.0
 *
 * Building a graph from a volfile: load the classes, parse the options, give
 * every translator its place in fops, inodes and fds, initialise bottom up,
 * compile the dispatch.
 */
#include "libglusterish/graph.h"

#include "libglusterish/graph-private.h"
#include "libglusterish/log.h"
#include "libglusterish/promise.h"
#include "libglusterish/seen.h"
#include "libglusterish/tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>

/* ---- one translator ---- */

int
gi_graph_parse_options(const struct gi_xlator_class *cls, const struct gi_vol_node *n, void **values, struct gi_error *err)
{
  *values = gi_zalloc(cls->options_bytes ? cls->options_bytes : 1);
  if (!cls->options)
    return 0;
  gi_options_default(cls->options, *values);
  gi_list_foreach(o, &n->options, struct gi_vol_option, link) {
    const struct gi_option *opt = gi_option_find(cls->options, o->name);

    if (!opt) {
      gi_log(GI_LOG_DEBUG, n->name, GI_MSG_OPTIONS + 1, "option %s is not recognised by %s", o->name, cls->type);
      continue;
    }
    if ((opt->wildcard ? gi_option_check(opt, o->value, err) : gi_option_parse(opt, o->value, *values, err)) < 0) {
      gi_error_prefix(err, "volume %s", n->name);
      gi_options_free(cls->options, *values);
      gi_free(*values);
      *values = NULL;
      return -1;
    }
  }
  return 0;
}

static int
check_children(const struct gi_xlator_class *cls, const struct gi_vol_node *n, struct gi_error *err)
{
  if (n->nsub < cls->min_children)
    return gi_error_set(err, EINVAL, "volume %s: type %s needs at least %u subvolume(s), it has %u", n->name, n->type,
                        cls->min_children, n->nsub);
  if (n->nsub > cls->max_children)
    return gi_error_set(err, EINVAL, "volume %s: type %s takes at most %u subvolume(s), it has %u", n->name, n->type,
                        cls->max_children, n->nsub);
  return 0;
}

/* Layers that did not come to be leave their number to others: no operation has been there. */
static void
number_layer(struct gi_graph *g, struct gi_xlator *x)
{
  unsigned n = 0;

  while (n < g->nlayers && g->layers[n])
    n++;
  GI_ASSERT(n < GI_MARK_LAYERS);
  if (n == g->nlayers)
    g->layers = gi_realloc(g->layers, ++g->nlayers * sizeof(*g->layers));
  g->layers[n] = x;
  x->layer = (uint16_t)n;
}

struct gi_xlator *
gi_graph_load_node(struct gi_graph *g, const struct gi_vol_node *n, struct gi_error *err)
{
  void *dl = NULL;
  const struct gi_xlator_class *cls = gi_class_load(n->type, &dl, err);
  void *values;

  if (!cls) {
    gi_error_prefix(err, "volume %s", n->name);
    return NULL;
  }
  if (check_children(cls, n, err) < 0 || gi_graph_parse_options(cls, n, &values, err) < 0) {
    if (dl)
      dlclose(dl);
    return NULL;
  }

  struct gi_xlator *x = gi_new(struct gi_xlator);

  x->magic = GI_XLATOR_MAGIC;
  x->cls = cls;
  x->dl = dl;
  x->name = gi_strdup(n->name);
  x->graph = g;
  x->ctx = g->ctx;
  x->reactor = g->ctx->reactor;
  x->options = values;
  x->enabled = true;
  x->index = g->count;
  g->xlators = gi_realloc(g->xlators, (g->count + 1) * sizeof(*g->xlators));
  g->xlators[g->count++] = x;
  number_layer(g, x);
  return x;
}

int
gi_graph_init_xlator(struct gi_xlator *x, struct gi_error *err)
{
  if (x->cls->init && x->cls->init(x, err) < 0) {
    gi_error_prefix(err, "volume %s", x->name);
    return -1;
  }
  x->initialised = true;
  return 0;
}

void
gi_graph_free_xlator(struct gi_xlator *x)
{
  if (x->initialised && x->cls->finish)
    x->cls->finish(x);
  x->initialised = false;
  if (x->cls->options)
    gi_options_free(x->cls->options, x->options);
  gi_free(x->options);
  gi_free(x->children);
  gi_free(x->incoming);
  gi_free(x->parents);
  gi_free(x->name);
  GI_ASSERT(x->graph->layers[x->layer] == x);
  x->graph->layers[x->layer] = NULL;
  gi_times_free(&x->times);
  gi_layer_name_put(&x->label);
  x->magic = 0;
  if (x->dl)
    dlclose(x->dl);
  gi_free(x);
}

/* ---- edges ---- */

void
gi_graph_add_parent(struct gi_xlator *child, struct gi_xlator *parent)
{
  child->parents = gi_realloc(child->parents, (child->nparents + 1) * sizeof(*child->parents));
  child->parents[child->nparents++] = parent;
}

void
gi_graph_remove_parent(struct gi_xlator *child, const struct gi_xlator *parent)
{
  unsigned left = 0;

  for (unsigned i = 0; i < child->nparents; i++)
    if (child->parents[i] != parent)
      child->parents[left++] = child->parents[i];
  child->nparents = left;
}

void
gi_graph_clear_parents(struct gi_graph *g)
{
  for (unsigned i = 0; i < g->count; i++)
    g->xlators[i]->nparents = 0;
}

void
gi_graph_connect(struct gi_graph *g, struct gi_xlator *x, const struct gi_vol_node *n)
{
  x->nchildren = n->nsub;
  x->children = gi_realloc(x->children, (n->nsub + 1) * sizeof(*x->children));
  for (unsigned i = 0; i < n->nsub; i++) {
    struct gi_xlator *c = gi_graph_find(g, n->sub[i]->name);

    GI_ASSERT(c);
    x->children[i] = gi_graph_front(c);
    gi_graph_add_parent(x->children[i], x);
  }
}

void
gi_graph_compile(struct gi_graph *g)
{
  for (unsigned i = 0; i < g->count; i++) {
    struct gi_xlator *x = g->xlators[i];

    for (unsigned k = 0; k < GI_FOP_MAX; k++)
      x->next[k] = gi_fop_table[k].name ? gi_xlator_interested(gi_first_child(x), k) : NULL;
  }
  gi_promise_count(g);
}

static bool
has_child(const struct gi_xlator *x, const struct gi_xlator *child)
{
  for (unsigned i = 0; i < x->nchildren; i++)
    if (x->children[i] == child)
      return true;
  return false;
}

void
gi_graph_check(const struct gi_graph *g)
{
  GI_CHECK(g, GI_GRAPH_MAGIC);
  GI_ASSERT(g->ctx && g->volfile && g->top && g->top->graph == g);
  for (unsigned i = 0; i < g->count; i++) {
    const struct gi_xlator *x = g->xlators[i];

    GI_CHECK(x, GI_XLATOR_MAGIC);
    GI_ASSERT(x->index == i && x->graph == g && x->ctx == g->ctx && x->cls && x->name);
    GI_ASSERT(!x->cls->options_bytes || x->options);
    GI_ASSERT(!x->old_options); /* only during a commit */
    for (unsigned p = 0; p < x->nparents; p++)
      GI_ASSERT(has_child(x->parents[p], x));
    for (unsigned c = 0; c < x->nchildren; c++)
      GI_CHECK(x->children[c], GI_XLATOR_MAGIC);
  }
}

/* ---- --xlator-option ---- */

/* "NAME.option=value": NAME may be a pattern and both sides may contain dots, so every dot is tried. */
static void
apply_override(struct gi_vol_node *n, const char *setting)
{
  const char *eq = strchr(setting, '=');

  for (const char *dot = setting; eq && (dot = strchr(dot, '.')) && dot < eq; dot++) {
    GI_CLEANUP_FREE char *pattern = gi_strndup(setting, (size_t)(dot - setting));
    GI_CLEANUP_FREE char *name = gi_strndup(dot + 1, (size_t)(eq - dot - 1));

    if (fnmatch(pattern, n->name, 0) == 0) {
      gi_vol_node_option(n, name, "%s", eq + 1);
      return;
    }
  }
}

void
gi_graph_override(const struct gi_graph *g, struct gi_volfile *vf)
{
  for (char **o = g->overrides; o && *o; o++)
    gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link)
      apply_override(n, *o);
}

static char **
copy_overrides(const char *const *from)
{
  size_t n = 0;

  while (from && from[n])
    n++;

  char **to = gi_zalloc((n + 1) * sizeof(*to));

  for (size_t i = 0; i < n; i++)
    to[i] = gi_strdup(from[i]);
  return to;
}

/* ---- the graph ---- */

static int
load_all(struct gi_graph *g, struct gi_error *err)
{
  gi_list_foreach(n, &g->volfile->nodes, struct gi_vol_node, link) {
    struct gi_xlator *x = gi_graph_load_node(g, n, err);

    if (!x)
      return -1;
    gi_graph_connect(g, x, n);
    g->top = x;
  }
  if (!g->top)
    return gi_error_set(err, EINVAL, "the volfile has no volume");
  return 0;
}

struct gi_graph *
gi_graph_build(struct gi_ctx *ctx, struct gi_volfile **vf, const char *const *overrides, struct gi_error *err)
{
  struct gi_graph *g = gi_new(struct gi_graph);

  GI_ASSERT(ctx && ctx->reactor && *vf);
  g->magic = GI_GRAPH_MAGIC;
  g->ctx = ctx;
  g->seen = gi_seen_get(ctx);
  g->number = g->seen->graphs++;
  gi_list_init(&g->flight);
  g->volfile = *vf;
  *vf = NULL;
  g->overrides = copy_overrides(overrides);
  gi_graph_override(g, g->volfile);
  if (load_all(g, err) < 0)
    goto fail;
  gi_graph_place_all(g);
  g->pool = gi_fop_pool_new();
  g->inodes = gi_inode_table_new(g);
  gi_graph_compile(g);
  for (unsigned i = 0; i < g->count; i++)
    if (gi_graph_init_xlator(g->xlators[i], err) < 0)
      goto fail;
  gi_graph_compile(g); /* init may have switched translators off */
  gi_graph_check(g);
  return g;
fail:
  gi_graph_free(&g);
  return NULL;
}

void
gi_graph_activate(struct gi_graph *g)
{
  GI_CHECK(g, GI_GRAPH_MAGIC);
  GI_ASSERT(!g->active);
  g->active = true;
  gi_notify(g->top, GI_EVENT_PARENT_UP, NULL);
}

void
gi_graph_retry(struct gi_graph *g)
{
  for (unsigned i = 0; g->active && i < g->count; i++)
    if (g->xlators[i]->nchildren == 0)
      gi_notify(g->xlators[i], GI_EVENT_RETRY, NULL);
}

void
gi_graph_deactivate(struct gi_graph *g)
{
  if (!g->active)
    return;
  g->active = false;
  gi_notify(g->top, GI_EVENT_PARENT_DOWN, NULL);
}

void
gi_graph_free(struct gi_graph **ref)
{
  struct gi_graph *g = *ref;

  if (!g)
    return;
  GI_CHECK(g, GI_GRAPH_MAGIC);
  gi_graph_deactivate(g);
  GI_ASSERT(g->fops_live == 0 && gi_list_empty(&g->flight));
  /* Inodes go first: forgetting one needs its translators. */
  if (g->inodes)
    gi_inode_table_free(&g->inodes);
  for (unsigned i = g->count; i-- > 0;)
    gi_graph_free_xlator(g->xlators[i]);
  gi_fop_pool_free(&g->pool);
  gi_volfile_free(&g->volfile);
  for (char **o = g->overrides; o && *o; o++)
    gi_free(*o);
  gi_free(g->overrides);
  gi_graph_drop_parts(g, 0);
  gi_free(g->rooms);
  gi_free(g->xlators);
  gi_free(g->layers);
  gi_seen_put(g->ctx);
  g->magic = 0;
  gi_free(g);
  *ref = NULL;
}

struct gi_xlator *
gi_graph_find(const struct gi_graph *g, const char *name)
{
  for (unsigned i = 0; i < g->count; i++)
    if (strcmp(g->xlators[i]->name, name) == 0)
      return g->xlators[i];
  return NULL;
}

void
gi_graph_print(const struct gi_graph *g, FILE *out)
{
  for (unsigned i = g->count; i-- > 0;) {
    const struct gi_xlator *x = g->xlators[i];

    fprintf(out, "%s %s%s ->", x->name, x->cls->type, x->enabled ? "" : " (off)");
    for (unsigned c = 0; c < x->nchildren; c++)
      fprintf(out, " %s", x->children[c]->name);
    fputc('\n', out);
  }
  for (unsigned k = 1; k < GI_FOP_MAX; k++) {
    if (!gi_fop_table[k].name)
      continue;
    fprintf(out, "%-16s", gi_fop_table[k].name);
    for (const struct gi_xlator *x = gi_xlator_interested(g->top, k); x; x = x->next[k])
      fprintf(out, " %s", x->name);
    fputc('\n', out);
  }
}

void
gi_graph_statedump(struct gi_graph *g, struct gi_dump *d)
{
  gi_dump_section(d, "active graph - 1");
  gi_dump_kv(d, "fops_live", "%" PRIu64, g->fops_live);
  gi_dump_kv(d, "inodes_live", "%" PRIu64, g->inodes_live);
  gi_dump_kv(d, "fds_live", "%" PRIu64, g->fds_live);
  gi_dump_kv(d, "fop_bytes", "%zu", sizeof(struct gi_fop) + g->fop_bytes);
  gi_dump_kv(d, "inode_bytes", "%zu", sizeof(struct gi_inode) + g->inode_bytes);
  gi_dump_kv(d, "fd_bytes", "%zu", sizeof(struct gi_fd) + g->fd_bytes);
  gi_seen_dump(g, d);
  for (unsigned i = g->count; i-- > 0;) {
    struct gi_xlator *x = g->xlators[i];

    gi_dump_section(d, "%s.%s", x->cls->type, x->name);
    gi_dump_kv(d, "enabled", "%d", x->enabled);
    if (x->draining)
      gi_dump_kv(d, "draining", "%d", 1);
    if (x->cls->measure)
      x->cls->measure(x);
    if (x->cls->metrics && x->metrics)
      gi_dump_metrics(d, x->cls->metrics, x->metrics);
    gi_times_dump(x, d);
    if (x->cls->statedump)
      x->cls->statedump(x, d);
  }
}
