/* SPDX-License-Identifier: Apache-2.0
 *
 * See layers.h.
 */
#include "tests/simulation/cluster/layers.h"
#include "tests/simulation/world/world.h"

#include "libglusterish/graph.h"

#include <stdio.h>
#include <string.h>

#define KIND "performance/"
#define ALL_PERMILLE 300    /* of the clients: every layer at once */
#define LAYER_PERMILLE 500  /* else each */
#define OPTION_PERMILLE 150 /* of the options: another value than the default */
#define SWITCH_PERMILLE 800 /* of the changes; the others are of options */
#define TIMEOUT_MAX 4       /* s: what is drawn of timeouts; a run takes half a minute */

/* ---- which there are ---- */

struct classes {
  const struct gi_xlator_class *cls[GI_LAYERS_MAX];
  unsigned n;
  const struct gi_xlator_class *fast[SIM_LAYERS]; /* those for speed, with a switch, bottom up */
  unsigned nfast;
};

static void
load(const char *type, void *arg)
{
  struct classes *list = arg;
  struct gi_error err = {0};
  void *dl;
  const struct gi_xlator_class *cls = gi_class_load(type, &dl, &err);
  if (cls && list->n < GI_ARRAY_LEN(list->cls))
    list->cls[list->n++] = cls;
}

/* Loaded once in a process. */
static const struct classes *
classes(void)
{
  static struct classes all;
  struct gi_placed layer[GI_LAYERS_MAX];
  if (all.n)
    return &all;
  GI_ASSERT(gi_class_scan(load, &all) == 0);
  unsigned n = gi_layers(all.cls, all.n, GI_SIDE_CLIENT, false, layer);
  for (unsigned i = 0; i < n; i++)
    if (layer[i].layer->key && strncmp(layer[i].cls->type, KIND, strlen(KIND)) == 0) {
      GI_ASSERT(all.nfast < SIM_LAYERS);
      all.fast[all.nfast++] = layer[i].cls;
    }
  return &all;
}

unsigned
sim_layers_of(unsigned side, struct gi_placed out[GI_LAYERS_MAX])
{
  return gi_layers(classes()->cls, classes()->n, side, false, out);
}

unsigned
sim_layers_count(void)
{
  return classes()->nfast;
}

const char *
sim_layer_name(unsigned i)
{
  GI_ASSERT(i < classes()->nfast);
  return gi_layer_name(classes()->fast[i]);
}

unsigned
sim_layer_number(const struct gi_xlator_class *cls)
{
  for (unsigned i = 0; i < classes()->nfast; i++)
    if (classes()->fast[i] == cls)
      return i;
  return SIM_LAYERS;
}

bool
sim_layers_parse(const char *list, uint32_t *set)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(list);
  char *save = NULL;
  *set = 0;
  if (strcmp(list, "none") == 0)
    return true;
  for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    uint32_t before = *set;
    for (unsigned i = 0; i < sim_layers_count(); i++)
      if (strcmp(word, "all") == 0 || strcmp(word, sim_layer_name(i)) == 0)
        *set |= 1u << i;
    if (*set == before)
      return false;
  }
  return *set != 0;
}

/* ---- options ---- */

static bool
is_timeout(const struct gi_option *o)
{
  return (o->type == GI_OPT_TIME || o->type == GI_OPT_INT) && strstr(o->name, "timeout");
}

/* What it is by default; a negative one, or one that is no number: -1. */
static int64_t
default_of(const struct gi_option *o)
{
  int64_t n;
  uint64_t u;
  if (!o->def)
    return -1;
  if (o->type == GI_OPT_INT)
    return gi_parse_int(o->def, &n) ? n : -1;
  if (o->type == GI_OPT_SIZE)
    return gi_parse_size(o->def, &u) ? (int64_t)u : -1;
  return o->type == GI_OPT_TIME && gi_parse_time(o->def, &u) ? (int64_t)u : -1;
}

/* Numbers are never more than by default: what they bound is reached sooner, and one that another must not exceed does not. */
static bool
draw_number(struct sim_rng *rng, const struct gi_option *o, char *text, size_t len)
{
  int64_t max = default_of(o), min = max / 8 > (int64_t)o->min ? max / 8 : (int64_t)o->min;
  if (is_timeout(o)) {
    min = o->min > 1 ? (int64_t)o->min : 1;
    max = max < TIMEOUT_MAX ? max : TIMEOUT_MAX;
  }
  if (max < min || max <= 0)
    return false;
  snprintf(text, len, "%llu", (unsigned long long)sim_rng_between(rng, (uint64_t)min, (uint64_t)max));
  return true;
}

static bool
draw_value(struct sim_rng *rng, const struct gi_option *o, char *text, size_t len)
{
  unsigned words = 0;
  switch (o->type) {
  case GI_OPT_BOOL:
    snprintf(text, len, "%s", sim_rng_chance(rng, 500) ? "on" : "off");
    return true;
  case GI_OPT_ENUM:
    while (o->words[words])
      words++;
    snprintf(text, len, "%s", o->words[sim_rng_below(rng, words)]);
    return true;
  case GI_OPT_INT:
  case GI_OPT_SIZE:
  case GI_OPT_TIME:
    return draw_number(rng, o, text, len);
  default:
    return false;
  }
}

/* Writes the lines of a layer anew. */
static void
draw_options(struct sim_layers *l, struct sim_rng *rng, unsigned i)
{
  char value[64];
  size_t len = 0;
  l->option[i][0] = 0;
  for (const struct gi_option *o = classes()->fast[i]->options; o && o->name; o++) {
    if (!o->key || o->unread || !(is_timeout(o) || sim_rng_chance(rng, OPTION_PERMILLE)) ||
        !draw_value(rng, o, value, sizeof(value)))
      continue;
    int more = snprintf(l->option[i] + len, SIM_LAYER_OPTIONS - len, " option %s %s\n", o->name, value);
    len += (size_t)more;
    GI_ASSERT(len < SIM_LAYER_OPTIONS);
  }
}

/* ---- which a client has ---- */

void
sim_layers_draw(struct sim_layers *l, struct sim_rng *rng, uint32_t among, bool all)
{
  *l = (struct sim_layers){0};
  all = sim_rng_chance(rng, ALL_PERMILLE) || all;
  for (unsigned i = 0; i < sim_layers_count(); i++) {
    bool on = sim_rng_chance(rng, LAYER_PERMILLE) || all;
    if (!(among >> i & 1))
      continue;
    l->on |= (uint32_t)on << i;
    draw_options(l, rng, i);
  }
}

unsigned
sim_layers_change(struct sim_layers *l, struct sim_rng *rng, uint32_t among)
{
  unsigned nth = (unsigned)sim_rng_below(rng, (uint64_t)__builtin_popcount(among)), i = 0;
  for (;; i++)
    if (among >> i & 1 && nth-- == 0)
      break;
  if (sim_rng_chance(rng, SWITCH_PERMILLE))
    l->on ^= 1u << i;
  else
    draw_options(l, rng, i);
  return i;
}

/* ---- what they may answer ---- */

uint32_t
sim_layers_that_know(uint32_t set)
{
  uint32_t know = 0;
  for (unsigned i = 0; i < sim_layers_count(); i++)
    if (set >> i & 1 && (classes()->fast[i]->inode_bytes || classes()->fast[i]->fd_bytes))
      know |= 1u << i;
  return know;
}

uint64_t
sim_layers_timeout(uint32_t set)
{
  int64_t longest = 0, n;
  for (unsigned i = 0; i < sim_layers_count(); i++)
    for (const struct gi_option *o = set >> i & 1 ? classes()->fast[i]->options : NULL; o && o->name; o++)
      if (is_timeout(o) && (n = default_of(o)) > longest)
        longest = n < TIMEOUT_MAX ? n : TIMEOUT_MAX; /* as they are drawn */
  return (uint64_t)longest * SIM_S;
}
