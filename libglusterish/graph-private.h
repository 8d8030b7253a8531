/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that building a graph, reconfiguring a running one and draining share.
 */
#ifndef GI_GRAPH_PRIVATE_H
#define GI_GRAPH_PRIVATE_H

#include "libglusterish/graph.h"

/* Parses the node's options into a new values struct. 0, or -1 and err (nothing allocated). */
int gi_graph_parse_options(const struct gi_xlator_class *cls, const struct gi_vol_node *n, void **values, struct gi_error *err);
/* Loads the class of a node and appends an uninitialised, unconnected translator without bytes to the graph. NULL and err on failure. */
struct gi_xlator *gi_graph_load_node(struct gi_graph *g, const struct gi_vol_node *n, struct gi_error *err);
int gi_graph_init_xlator(struct gi_xlator *x, struct gi_error *err);
void gi_graph_free_xlator(struct gi_xlator *x); /* does not take it out of g->xlators */
void gi_graph_clear_parents(struct gi_graph *g);
void gi_graph_add_parent(struct gi_xlator *child, struct gi_xlator *parent);
void gi_graph_remove_parent(struct gi_xlator *child, const struct gi_xlator *parent);
/* Sets x's children as in the node, or those in front of them, and adds x to their parents. */
void gi_graph_connect(struct gi_graph *g, struct gi_xlator *x, const struct gi_vol_node *n);
/* graph-place.c: gives translator `x` of node `n` its bytes; those above it in the file have theirs. `apart`: its bytes are
 * nobody else's, for others below it have theirs too. */
void gi_graph_place(struct gi_graph *g, const struct gi_volfile *vf, const struct gi_vol_node *n, struct gi_xlator *x,
                    bool apart);
/* All of a new graph, then room for what may be switched on, and the slack. */
void gi_graph_place_all(struct gi_graph *g);
/* False: two translators on one path of the file share bytes of a fop. */
bool gi_graph_paths_hold(const struct gi_graph *g, const struct gi_volfile *vf);
/* From now on objects may have them: nothing more is placed in the parts that there are. Takes back all but `keep`. */
void gi_graph_settle_parts(struct gi_graph *g);
void gi_graph_drop_parts(struct gi_graph *g, unsigned keep);
void gi_graph_override(const struct gi_graph *g, struct gi_volfile *vf);

/* ---- graph-drain.c ---- */
/* Has it drained, if it is not being drained already; x->draining tells whether that is still under way. */
void gi_graph_drain(struct gi_xlator *x);
/* Who stands in front of x: what is away and not drained, or x itself. */
struct gi_xlator *gi_graph_front(struct gi_xlator *x);
/* Puts those that are away in front of what is left of their children; those of `left` are no longer there. */
void gi_graph_place_fronts(struct gi_graph *g, struct gi_xlator *const *left, unsigned n);

#endif
