/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of a client that are there for speed (performance/…): which of
 * them a client has at a moment, and with which options. Which there are is
 * known from their classes.
 */
#ifndef SIM_LAYERS_H
#define SIM_LAYERS_H

#include "tests/simulation/world/rng.h"

#include "libglusterish/layer.h"

#define SIM_LAYERS 32
#define SIM_LAYER_OPTIONS 1024

struct sim_layers {
  uint32_t on;                                /* bit i: layer i */
  char option[SIM_LAYERS][SIM_LAYER_OPTIONS]; /* of each, volfile lines */
};

unsigned sim_layers_count(void);
const char *sim_layer_name(unsigned i); /* "write-behind" */
/* "all", "none", or names with commas between them, as a set. */
bool sim_layers_parse(const char *list, uint32_t *set);
/* All layers of a side (GI_SIDE_*) that a volume may have, bottom up. */
unsigned sim_layers_of(unsigned side, struct gi_placed out[GI_LAYERS_MAX]);
/* The number of a class's layer; SIM_LAYERS: it is none of these. */
unsigned sim_layer_number(const struct gi_xlator_class *cls);

/* What a client begins with: of `among`, all or some; options too. */
void sim_layers_draw(struct sim_layers *l, struct sim_rng *rng, uint32_t among, bool all);
/* One of `among` is switched on or off, or gets another value of an option: which one it was. */
unsigned sim_layers_change(struct sim_layers *l, struct sim_rng *rng, uint32_t among);

/* Those of a set that know something of files and may answer from it. */
uint32_t sim_layers_that_know(uint32_t set);
/* How old what they know of others' doing may be, ns: the longest of the timeouts that are drawn for them. */
uint64_t sim_layers_timeout(uint32_t set);

#endif
