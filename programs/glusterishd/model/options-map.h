/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of `volume set`, derived from the option tables of all translators
 * that can be loaded, and from what they say of their place in a graph. One key
 * may feed several options; the few keys that the daemon itself acts on are in
 * one small table of their own.
 */
#ifndef GD_OPTIONS_MAP_H
#define GD_OPTIONS_MAP_H

#include "libglusterish/error.h"
#include "libglusterish/layer.h"
#include "libglusterish/options.h"
#include "libglusterish/xlator.h"

struct gd_options_map;

enum gd_key_kind {
  GD_KEY_OPTION, /* an option of a translator */
  GD_KEY_SWITCH, /* adds or removes a translator, or changes how a volfile is written */
  GD_KEY_POOL,   /* only for all volumes */
};

struct gd_key {
  const char *key;
  enum gd_key_kind kind;
  const char *type; /* translator; NULL = the daemon */
  const struct gi_option *opt;
};

/* Loads every class below the translator directory. Never fails: what cannot be loaded is logged and missing. */
struct gd_options_map *gd_map_new(void);
/* Only these classes; the list ends with NULL. */
struct gd_options_map *gd_map_new_of(const char *const *types);
void gd_map_free(struct gd_options_map **map);

const struct gi_xlator_class *gd_map_class(const struct gd_options_map *map, const char *type); /* NULL if not available */

/* The layers of one side of a volume's graphs, bottom up (layer.h). */
unsigned gd_map_layers(const struct gd_options_map *map, unsigned side, bool by_name, struct gi_placed out[GI_LAYERS_MAX]);

/* All keys, sorted; equal keys are neighbours. */
unsigned gd_map_count(const struct gd_options_map *map);
const struct gd_key *gd_map_at(const struct gd_options_map *map, unsigned i);
/* The first entry of a key; the others follow it. NULL if unknown. */
const struct gd_key *gd_map_find(const struct gd_options_map *map, const char *key);
/* The full key for what a user typed: itself, or the only key that ends in ".typed". NULL and err with the nearest keys. */
const char *gd_map_complete(const struct gd_options_map *map, const char *typed, struct gi_error *err);
/* Up to two nearest keys: "a" or "a or b". */
void gd_map_suggest(const struct gd_options_map *map, const char *typed, char *buf, size_t len);
/* Does anything in this version act on the key? Keys that wait for their feature are known, so that volumes with them load. */
bool gd_map_acts(const struct gd_options_map *map, const char *key);
/* Checks a value against every option the key feeds; the message names key, value and what is allowed. Where nothing acts on the
 * key, only what happens anyway can be set. */
int gd_map_check(const struct gd_options_map *map, const char *key, const char *value, struct gi_error *err);
/* The default as text, NULL = none; "off" for a switch whose translator is not there. */
const char *gd_map_default(const struct gd_options_map *map, const char *key);

#endif
