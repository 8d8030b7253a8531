/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that building a graph and reconfiguring a running one share.
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
/* Sets x's children as in the node and adds x to their parents. */
void gi_graph_connect(struct gi_graph *g, struct gi_xlator *x, const struct gi_vol_node *n);
/* graph-place.c: gives translator `x` of node `n` its bytes; those above it in the file have theirs. `apart`: its bytes in a fop are
 * nobody else's, for others below it have theirs too. */
void gi_graph_place(struct gi_graph *g, const struct gi_volfile *vf, const struct gi_vol_node *n, struct gi_xlator *x,
                    bool apart);
/* All of a new graph, then room for what may be switched on, and the slack. */
void gi_graph_place_all(struct gi_graph *g);
/* False: two translators on one path of the file share bytes of a fop. */
bool gi_graph_paths_hold(const struct gi_graph *g, const struct gi_volfile *vf);
void gi_graph_override(const struct gi_graph *g, struct gi_volfile *vf);

#endif
