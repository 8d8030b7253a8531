/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting layers. A layer names what it stands above; who is not there does not
 * count. So a translator that comes or goes changes the place of no other.
 */
#include "libglusterish/layer.h"

#include <string.h>

/* Sets of layers are bit masks. */
struct order {
  struct gi_placed layer[GI_LAYERS_MAX];
  uint64_t below[GI_LAYERS_MAX]; /* what it stands above, directly or not */
  uint64_t named[GI_LAYERS_MAX]; /* what it names */
  unsigned position[GI_LAYERS_MAX], count;
};

const char *
gi_layer_name(const struct gi_xlator_class *cls)
{
  const char *slash = strrchr(cls->type, '/');
  return slash ? slash + 1 : cls->type;
}

const struct gi_layer *
gi_layer_of(const struct gi_xlator_class *cls, unsigned side)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(cls->layer); i++)
    if (cls->layer[i].side & side)
      return &cls->layer[i];
  return NULL;
}

static bool
names(const struct gi_layer *l, const char *type)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(l->above) && l->above[i]; i++)
    if (strcmp(l->above[i], type) == 0)
      return true;
  return false;
}

static void
find_below(struct order *o)
{
  uint64_t top = 0;
  for (unsigned i = 0; i < o->count; i++)
    if (names(o->layer[i].layer, "*"))
      top |= 1ull << i;
  for (unsigned i = 0; i < o->count; i++)
    for (unsigned k = 0; k < o->count; k++)
      if (names(o->layer[i].layer, o->layer[k].cls->type) || (top >> i & 1 && !(top >> k & 1)))
        o->named[i] |= 1ull << k;
  memcpy(o->below, o->named, sizeof(o->below));
  for (unsigned k = 0; k < o->count; k++)
    for (unsigned i = 0; i < o->count; i++)
      if (o->below[i] >> k & 1)
        o->below[i] |= o->below[k];
}

/* Where the uppermost is that a layer names, counted from 1; 0: none of them is there. */
static unsigned
rests_on(const struct order *o, unsigned i)
{
  unsigned at = 0;
  for (unsigned k = 0; k < o->count; k++)
    if (o->named[i] >> k & 1 && o->position[k] > at)
      at = o->position[k];
  return at;
}

static unsigned
others_above(const struct order *o, unsigned i)
{
  unsigned n = 0;
  for (unsigned k = 0; k < o->count; k++)
    n += o->below[k] >> i & 1;
  return n;
}

static bool
comes_before(const struct order *o, unsigned a, unsigned b)
{
  unsigned on_a = rests_on(o, a), on_b = rests_on(o, b), above_a = others_above(o, a), above_b = others_above(o, b);
  if (on_a != on_b)
    return on_a > on_b;
  if (above_a != above_b)
    return above_a < above_b;
  return strcmp(o->layer[a].cls->type, o->layer[b].cls->type) < 0;
}

static int
pick(const struct order *o, uint64_t placed)
{
  int best = -1;
  for (unsigned i = 0; i < o->count; i++)
    if (!(placed >> i & 1) && !(o->below[i] & ~placed) && (best < 0 || comes_before(o, i, (unsigned)best)))
      best = (int)i;
  return best;
}

unsigned
gi_layers(const struct gi_xlator_class *const *classes, unsigned n, unsigned side, bool by_name,
          struct gi_placed out[GI_LAYERS_MAX])
{
  struct order o = {.count = 0};
  uint64_t placed = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < n && o.count < GI_LAYERS_MAX; i++) {
    const struct gi_layer *l = gi_layer_of(classes[i], side);
    if (l && l->by_name == by_name)
      o.layer[o.count++] = (struct gi_placed){classes[i], l};
  }
  find_below(&o);
  for (int i; (i = pick(&o, placed)) >= 0;) {
    placed |= 1ull << i;
    out[count++] = o.layer[i];
    o.position[i] = count;
  }
  return count;
}
