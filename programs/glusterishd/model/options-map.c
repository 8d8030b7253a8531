/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of `volume set`. The translators' option tables are the only source for
 * what an option is; this file only turns them round, from key to options, and
 * adds the keys that are the daemon's own.
 */
#include "programs/glusterishd/model/options-map.h"
#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct loaded_class {
  const struct gi_xlator_class *cls;
  void *dl;
};

struct gd_options_map {
  unsigned nclasses;
  struct loaded_class *classes;
  unsigned nkeys;
  struct gd_key *keys;
  unsigned nswitches;
  struct gi_option **switches; /* made of what the layers of the classes say */
};

/* ---- the daemon's own keys ---- */

static const char *const log_levels[] = {"DEBUG", "WARNING", "ERROR", "CRITICAL", "NONE", "TRACE", "INFO", NULL};

/* Translators of GlusterFS that are not in this version. Their switches are known, so that volumes with them load, and refused. */
static const struct absent {
  const char *type;
  struct gi_option opt;
} absent[] = {
#define ABSENT(t, k, d, x) \
  { \
    t, \
    { \
      .name = t, .key = k, .type = GI_OPT_BOOL, .def = d, .level = 1, .live = true, .since = "0.1", .text = x \
    } \
  }
    ABSENT("performance/write-behind", "performance.write-behind", "on", "Answer writes before the bricks have them."),
    ABSENT("performance/read-ahead", "performance.read-ahead", "off", "Read ahead of sequential readers."),
    ABSENT("performance/readdir-ahead", "performance.readdir-ahead", "off", "Read directories ahead of their readers."),
    ABSENT("performance/io-cache", "performance.io-cache", "off", "Keep file data in memory."),
    ABSENT("performance/nl-cache", "performance.nl-cache", "off", "Remember names that do not exist."),
    ABSENT("performance/md-cache", "performance.stat-prefetch", "on", "Keep attributes in memory."),
#undef ABSENT
};

static const char *const quorum_types[] = {"none", "server", "off", NULL};

static const struct own_key {
  enum gd_key_kind kind;
  struct gi_option opt;
} own_keys[] = {
    {GD_KEY_SWITCH,
     {.name = "",
      .key = "performance.nfs.io-threads",
      .type = GI_OPT_BOOL,
      .def = "off",
      .level = 3,
      .live = true,
      .unread = true,
      .op_version = 1,
      .since = "0.1",
      .text = "Belonged to the NFS server that was retired; kept with the volume, no effect."}},
    {GD_KEY_SWITCH,
     {.name = "",
      .key = "nfs.disable",
      .type = GI_OPT_BOOL,
      .def = "on",
      .level = 1,
      .live = true,
      .unread = true,
      .since = "0.1",
      .text = "Kept for compatibility: there is no built-in NFS server."}},
    {GD_KEY_POOL,
     {.name = "",
      .key = "cluster.daemon-log-level",
      .type = GI_OPT_ENUM,
      .def = "INFO",
      .words = log_levels,
      .level = 2,
      .live = true,
      .since = "0.1",
      .text = "Log level of the management daemon."}},
    {GD_KEY_SWITCH,
     {.name = "",
      .key = "cluster.server-quorum-type",
      .type = GI_OPT_ENUM,
      .def = "off",
      .words = quorum_types,
      .level = 2,
      .live = true,
      .op_version = 2,
      .since = "0.1",
      .text =
          "server: a node stops its bricks of the volume while it sees too few nodes of the pool. none, off: it never does."}},
    {GD_KEY_POOL,
     {.name = "",
      .key = "cluster.server-quorum-ratio",
      .type = GI_OPT_INT,
      .def = "51",
      .min = 0,
      .max = 100,
      .level = 2,
      .live = true,
      .op_version = 2,
      .since = "0.1",
      .text = "Percentage of the pool's nodes that must be connected for server quorum; unset: more than half."}},
    {GD_KEY_POOL,
     {.name = "",
      .key = "cluster.op-version",
      .type = GI_OPT_INT,
      .def = "100000",
      .level = 1,
      .live = true,
      .since = "0.1",
      .text = "Level of features the pool may use."}},
    {GD_KEY_POOL,
     {.name = "",
      .key = "cluster.max-op-version",
      .type = GI_OPT_INT,
      .def = "100000",
      .level = 1,
      .live = true,
      .since = "0.1",
      .text = "Highest level of features all nodes know; cannot be set."}},
};

/* ---- building ---- */

static int
compare_keys(const void *a, const void *b)
{
  return strcmp(((const struct gd_key *)a)->key, ((const struct gd_key *)b)->key);
}

static void
add_key(struct gd_options_map *m, struct gd_key key)
{
  m->keys = gi_realloc(m->keys, (m->nkeys + 1) * sizeof(*m->keys));
  m->keys[m->nkeys++] = key;
}

static bool
is_switch(const struct gd_options_map *m, const char *key)
{
  for (unsigned i = 0; i < m->nkeys; i++)
    if (m->keys[i].kind != GD_KEY_OPTION && strcmp(m->keys[i].key, key) == 0)
      return true;
  return false;
}

static void
add_class(struct gd_options_map *m, const char *type)
{
  struct gi_error err = {0};
  void *dl = NULL;
  if (gd_map_class(m, type))
    return;
  const struct gi_xlator_class *cls = gi_class_load(type, &dl, &err);
  if (!cls) {
    gi_log(GI_LOG_WARNING, "management", GI_MSG_MGMT + 10, "translator %s is not available: %s", type, err.text);
    return;
  }
  m->classes = gi_realloc(m->classes, (m->nclasses + 1) * sizeof(*m->classes));
  m->classes[m->nclasses++] = (struct loaded_class){cls, dl};
}

/* The switch of one layer. A translator may have the same one on both sides. */
static void
add_switch(struct gd_options_map *m, const struct gi_xlator_class *cls, const struct gi_layer *l)
{
  if (!l->key || is_switch(m, l->key))
    return;
  struct gi_option *o = gi_new(struct gi_option);
  *o = (struct gi_option){.name = cls->type,
                          .key = l->key,
                          .type = l->by_name ? GI_OPT_STR : GI_OPT_BOOL,
                          .def = l->def,
                          .level = l->by_name ? 3 : 1,
                          .live = !l->by_name,
                          .since = l->since,
                          .text = l->text};
  m->switches = gi_realloc(m->switches, (m->nswitches + 1) * sizeof(*m->switches));
  m->switches[m->nswitches++] = o;
  add_key(m, (struct gd_key){l->key, GD_KEY_SWITCH, cls->type, o});
}

static void
add_switches(struct gd_options_map *m)
{
  for (unsigned i = 0; i < m->nclasses; i++)
    for (unsigned k = 0; k < GI_ARRAY_LEN(m->classes[i].cls->layer); k++)
      add_switch(m, m->classes[i].cls, &m->classes[i].cls->layer[k]);
  for (size_t i = 0; i < GI_ARRAY_LEN(absent); i++)
    if (!is_switch(m, absent[i].opt.key))
      add_key(m, (struct gd_key){absent[i].opt.key, GD_KEY_SWITCH, absent[i].type, &absent[i].opt});
  for (size_t i = 0; i < GI_ARRAY_LEN(own_keys); i++)
    add_key(m, (struct gd_key){own_keys[i].opt.key, own_keys[i].kind, NULL, &own_keys[i].opt});
}

static struct gd_options_map *
finish(struct gd_options_map *m)
{
  add_switches(m);
  for (unsigned i = 0; i < m->nclasses; i++)
    for (const struct gi_option *o = m->classes[i].cls->options; o && o->name; o++)
      if (o->key && !gd_map_find(m, o->key)) /* several translators may go by one key */
        add_key(m, (struct gd_key){o->key, GD_KEY_OPTION, m->classes[i].cls->type, o});
  qsort(m->keys, m->nkeys, sizeof(*m->keys), compare_keys);
  return m;
}

static void
on_type(const char *type, void *arg)
{
  add_class(arg, type);
}

struct gd_options_map *
gd_map_new(void)
{
  struct gd_options_map *m = gi_new(struct gd_options_map);
  int ret = gi_class_scan(on_type, m);
  if (ret)
    gi_log(GI_LOG_ERROR, "management", GI_MSG_MGMT + 11, "no translators: cannot read %s: %s", gi_xlator_dir(), strerror(ret));
  return finish(m);
}

struct gd_options_map *
gd_map_new_of(const char *const *types)
{
  struct gd_options_map *m = gi_new(struct gd_options_map);
  for (; *types; types++)
    add_class(m, *types);
  return finish(m);
}

void
gd_map_free(struct gd_options_map **map)
{
  struct gd_options_map *m = *map;
  if (!m)
    return;
  for (unsigned i = 0; i < m->nclasses; i++)
    if (m->classes[i].dl)
      dlclose(m->classes[i].dl);
  for (unsigned i = 0; i < m->nswitches; i++)
    gi_free(m->switches[i]);
  gi_free(m->switches);
  gi_free(m->classes);
  gi_free(m->keys);
  gi_free(m);
  *map = NULL;
}

/* ---- asking ---- */

const struct gi_xlator_class *
gd_map_class(const struct gd_options_map *map, const char *type)
{
  for (unsigned i = 0; i < map->nclasses; i++)
    if (strcmp(map->classes[i].cls->type, type) == 0)
      return map->classes[i].cls;
  return NULL;
}

unsigned
gd_map_layers(const struct gd_options_map *map, unsigned side, bool by_name, struct gi_placed out[GI_LAYERS_MAX])
{
  GI_CLEANUP_FREE const struct gi_xlator_class **classes = gi_zalloc((map->nclasses + 1) * sizeof(*classes));
  for (unsigned i = 0; i < map->nclasses; i++)
    classes[i] = map->classes[i].cls;
  return gi_layers(classes, map->nclasses, side, by_name, out);
}

unsigned
gd_map_count(const struct gd_options_map *map)
{
  return map->nkeys;
}

const struct gd_key *
gd_map_at(const struct gd_options_map *map, unsigned i)
{
  GI_ASSERT(i < map->nkeys);
  return &map->keys[i];
}

const struct gd_key *
gd_map_find(const struct gd_options_map *map, const char *key)
{
  for (unsigned i = 0; i < map->nkeys; i++)
    if (strcmp(map->keys[i].key, key) == 0)
      return &map->keys[i];
  return NULL;
}

const char *
gd_map_complete(const struct gd_options_map *map, const char *typed, struct gi_error *err)
{
  const struct gd_key *exact = gd_map_find(map, typed);
  if (exact)
    return exact->key;
  const char *found = NULL;
  for (unsigned i = 0; i < map->nkeys && !strchr(typed, '.'); i++) {
    const char *dot = strchr(map->keys[i].key, '.');
    if (!dot || strcmp(dot + 1, typed) != 0 || (found && strcmp(found, map->keys[i].key) == 0))
      continue;
    if (found) {
      found = NULL; /* not unique */
      break;
    }
    found = map->keys[i].key;
  }
  if (!found) {
    char near[256];
    gd_map_suggest(map, typed, near, sizeof(near));
    gi_error_set(err, EINVAL, "option : %.128s does not exist\nDid you mean %s?", typed, near);
  }
  return found;
}

/* Edit distance (insert, delete, replace = 1 each) in one row. */
static unsigned
distance(const char *a, const char *b)
{
  unsigned row[128];
  size_t la = strnlen(a, 127), lb = strnlen(b, 127);
  for (size_t j = 0; j <= lb; j++)
    row[j] = (unsigned)j;
  for (size_t i = 1; i <= la; i++) {
    unsigned diagonal = row[0];
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= lb; j++) {
      unsigned best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best)
        best = row[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[lb];
}

void
gd_map_suggest(const struct gd_options_map *map, const char *typed, char *buf, size_t len)
{
  const char *near[2] = {NULL, NULL};
  unsigned dist[2] = {~0u, ~0u};
  for (unsigned i = 0; i < map->nkeys; i++) {
    const char *key = map->keys[i].key;
    const char *dot = strchr(key, '.');
    if (i && strcmp(key, map->keys[i - 1].key) == 0)
      continue;
    /* Somebody who left the domain out meant the word behind it. */
    unsigned d = distance(typed, strchr(typed, '.') || !dot ? key : dot + 1);
    if (d < dist[0]) {
      near[1] = near[0];
      dist[1] = dist[0];
      near[0] = key;
      dist[0] = d;
    } else if (d < dist[1]) {
      near[1] = key;
      dist[1] = d;
    }
  }
  if (near[1] && dist[1] == dist[0])
    snprintf(buf, len, "%s or %s", near[0], near[1]);
  else
    snprintf(buf, len, "%s", near[0] ? near[0] : "");
}

static bool
same_key(const struct gd_options_map *map, const struct gd_key *k, const char *key)
{
  return k && k < map->keys + map->nkeys && strcmp(k->key, key) == 0;
}

static bool
is_absent(const struct gd_key *k)
{
  return k->kind == GD_KEY_SWITCH && k->opt >= &absent[0].opt && k->opt <= &absent[GI_ARRAY_LEN(absent) - 1].opt;
}

static bool
acts(const struct gd_key *k)
{
  return !is_absent(k) && !k->opt->unread;
}

bool
gd_map_acts(const struct gd_options_map *map, const char *key)
{
  for (const struct gd_key *k = gd_map_find(map, key); same_key(map, k, key); k++)
    if (acts(k))
      return true;
  return false;
}

/* Is that what happens without being set? Only asked where nothing acts on the key. */
static bool
happens_anyway(const struct gd_options_map *map, const char *key, const char *value)
{
  const char *def = gd_map_default(map, key);
  bool a, b;
  return def && (strcmp(def, value) == 0 || (gi_parse_bool(def, &a) && gi_parse_bool(value, &b) && a == b));
}

int
gd_map_check(const struct gd_options_map *map, const char *key, const char *value, struct gi_error *err)
{
  const struct gd_key *k = gd_map_find(map, key);
  if (!k)
    return gi_error_set(err, EINVAL, "option : %s does not exist", key);
  for (; same_key(map, k, key); k++)
    if (gi_option_check(k->opt, value, err)) {
      char allowed[256];
      gi_option_type_text(k->opt, allowed, sizeof(allowed));
      struct gi_error why = err ? *err : (struct gi_error){0};
      /* The first line is what scripts know; the second says it in terms of what the user typed. */
      return gi_error_set(err, EINVAL, "%.256s\n%s cannot be \"%.64s\": it takes %.96s", why.text, key, value, allowed);
    }
  if (!gd_map_acts(map, key) && !happens_anyway(map, key, value))
    return gi_error_set(err, EOPNOTSUPP, "option : %s cannot be set to %.64s: it is one of the features not in this version",
                        key, value);
  return 0;
}

const char *
gd_map_default(const struct gd_options_map *map, const char *key)
{
  const struct gd_key *k = gd_map_find(map, key);
  return !k ? NULL : is_absent(k) ? "off" : k->opt->def;
}
