/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of the layers of a generated graph, from what each translator's
 * class says of its place (struct gi_layer).
 */
#ifndef GI_LAYER_H
#define GI_LAYER_H

#include "libglusterish/xlator.h"

#define GI_LAYERS_MAX 64 /* of one side; more are left out */

struct gi_placed {
  const struct gi_xlator_class *cls;
  const struct gi_layer *layer; /* in the class */
};

/* The layers of one side (GI_SIDE_CLIENT or GI_SIDE_BRICK) among `n` classes, bottom up; `by_name`: those that have no place of their
 * own, in the order in which several go above the same layer. Returns how many. Each is directly above the uppermost of those it
 * names; of several above the same one the one with fewest others above it comes first, then the order is that of the types. Layers
 * that are above each other in a circle are left out. */
unsigned gi_layers(const struct gi_xlator_class *const *classes, unsigned n, unsigned side, bool by_name,
                   struct gi_placed out[GI_LAYERS_MAX]);

/* The second half of a type, which is also the second half of the layer's name: VOLUME-NAME. */
const char *gi_layer_name(const struct gi_xlator_class *cls);

/* The class's layer of that side, or NULL. */
const struct gi_layer *gi_layer_of(const struct gi_xlator_class *cls, unsigned side);

#endif
