/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that building a graph and reconfiguring a running one share.
 */
#ifndef GI_GRAPH_PRIVATE_H
#define GI_GRAPH_PRIVATE_H

#include "libglusterish/graph.h"

/* Parses the node's options into a new values struct. 0, or -1 and err (nothing allocated). */
int gi_graph_parse_options(const struct gi_xlator_class *cls, const struct gi_vol_node *n, void **values, struct gi_error *err);
/* Loads the class of a node and appends an uninitialised, unconnected translator to the graph. NULL and err on failure. */
struct gi_xlator *gi_graph_load_node(struct gi_graph *g, const struct gi_vol_node *n, struct gi_error *err);
int gi_graph_init_xlator(struct gi_xlator *x, struct gi_error *err);
void gi_graph_free_xlator(struct gi_xlator *x); /* does not take it out of g->xlators */
void gi_graph_clear_parents(struct gi_graph *g);
/* Sets x's children as in the node and adds x to their parents. */
void gi_graph_connect(struct gi_graph *g, struct gi_xlator *x, const struct gi_vol_node *n);
void gi_graph_override(const struct gi_graph *g, struct gi_volfile *vf);

#endif
