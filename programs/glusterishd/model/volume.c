/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes, bricks and option lists in memory.
 */
#include "programs/glusterishd/model/model.h"

#include <stdlib.h>
#include <string.h>

struct gd_volume *
gd_volume_new(struct gd *gd, const char *name)
{
  struct gd_volume *v = gi_new(struct gd_volume);
  v->magic = GD_VOLUME_MAGIC;
  v->gd = gd;
  v->name = gi_strdup(name);
  v->replica = 1;
  v->op_version = GD_OP_VERSION;
  v->client_op_version = GD_CLIENT_OP_VERSION;
  gi_list_init(&v->link);
  gi_list_init(&v->options);
  return v;
}

void
gd_volume_check(const struct gd_volume *v)
{
  GI_CHECK(v, GD_VOLUME_MAGIC);
  GI_ASSERT(v->gd && v->name[0]);
  GI_ASSERT(v->nbricks > 0 && v->nbricks <= GD_BRICKS_MAX && v->replica > 0 && v->arbiter < v->replica);
  GI_ASSERT(v->nbricks % gd_volume_set_size(v) == 0);
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    GI_ASSERT(b->volume == v && b->index == i && b->host && b->path && b->id);
    GI_ASSERT(b->pid >= 0 && (b->state == GD_PROC_DOWN || b->proc));
  }
}

void
gd_bricks_free(struct gd_brick *bricks, unsigned n)
{
  for (unsigned i = 0; i < n; i++) {
    GI_ASSERT(!bricks[i].proc);
    gi_free(bricks[i].host);
    gi_free(bricks[i].path);
    gi_free(bricks[i].id);
  }
  gi_free(bricks);
}

void
gd_volume_free(struct gd_volume *v)
{
  if (!v)
    return;
  GI_CHECK(v, GD_VOLUME_MAGIC);
  gi_list_del(&v->link);
  GI_ASSERT(!v->shd && !v->mover);
  gd_bricks_free(v->bricks, v->nbricks);
  gd_options_clear(&v->options);
  gi_timer_finish(&v->login);
  gi_free(v->username);
  gi_free(v->password);
  gi_free(v->former_username);
  gi_free(v->former_password);
  gi_free(v->definition);
  gi_free(v->name);
  v->magic = 0;
  gi_free(v);
}

struct gd_volume *
gd_volume_draft(const struct gd_volume *v)
{
  gd_volume_check(v);
  struct gd_volume *d = gd_volume_new(v->gd, v->name);
  d->id = v->id;
  d->type = v->type;
  d->status = v->status;
  d->replica = v->replica;
  d->arbiter = v->arbiter;
  d->version = v->version;
  d->counted = v->counted;
  d->op_version = v->op_version;
  d->client_op_version = v->client_op_version;
  d->username = gi_strdup(v->username);
  d->password = gi_strdup(v->password);
  d->definition = gi_strdup(v->definition);
  d->revision = v->revision;
  for (struct gi_list *l = v->options.prev; l != &v->options; l = l->prev) { /* backwards: setting puts it first */
    const struct gd_option *o = gi_list_item(l, struct gd_option, link);
    gd_options_set(&d->options, o->key, o->value);
  }
  d->nbricks = v->nbricks;
  d->bricks = gi_zalloc(v->nbricks * sizeof(*d->bricks));
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    d->bricks[i] = (struct gd_brick){.volume = d,
                                     .index = i,
                                     .host = gi_strdup(b->host),
                                     .path = gi_strdup(b->path),
                                     .id = gi_strdup(b->id),
                                     .node = b->node,
                                     .port = b->port,
                                     .decommissioned = b->decommissioned};
  }
  return d;
}

void
gd_volume_link(struct gd_volume *v)
{
  GI_CHECK(v, GD_VOLUME_MAGIC);
  GI_ASSERT(gi_list_empty(&v->link));
  struct gi_list *at = &v->gd->volumes;
  gi_list_foreach(o, &v->gd->volumes, struct gd_volume, link) {
    if (strcmp(o->name, v->name) > 0) {
      at = &o->link;
      break;
    }
  }
  gi_list_add_tail(at, &v->link);
}

struct gd_volume *
gd_volume_find(struct gd *gd, const char *name)
{
  if (name)
    gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
      if (strcmp(v->name, name) == 0)
        return v;
  return NULL;
}

struct gd_brick *
gd_volume_find_brick(struct gd_volume *v, const char *text)
{
  char *host, *path;
  struct gd_brick *found = NULL;
  if (prog_brick_parse(text, &host, &path, NULL))
    return NULL;
  for (unsigned i = 0; i < v->nbricks && !found; i++)
    if (strcmp(v->bricks[i].path, path) == 0 && strcasecmp(v->bricks[i].host, host) == 0)
      found = &v->bricks[i];
  gi_free(host);
  gi_free(path);
  return found;
}

char *
gd_brick_dashed(const struct gd_brick *b)
{
  char *s = gi_strdup(b->path + 1);
  for (char *p = s; *p; p++)
    if (*p == '/')
      *p = '-';
  return s;
}

bool
gd_brick_same_files(const struct gd_brick *a, const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *first = gd_brick_dashed(a), *second = gd_brick_dashed(b);
  GI_CLEANUP_FREE char *one = gi_asprintf("%s-%s", a->host, first), *other = gi_asprintf("%s-%s", b->host, second);
  return strcmp(one, other) == 0;
}

bool
gd_brick_is_arbiter(const struct gd_brick *b)
{
  const struct gd_volume *v = b->volume;
  return v->arbiter && b->index % v->replica == v->replica - 1;
}

unsigned
gd_volume_set_size(const struct gd_volume *v)
{
  return v->type == GD_REPLICATE ? v->replica : 1;
}

bool
gd_volume_drains(const struct gd_volume *v)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (v->bricks[i].decommissioned)
      return true;
  return false;
}

unsigned
gd_volume_sets(const struct gd_volume *v)
{
  return v->nbricks / gd_volume_set_size(v);
}

unsigned
gd_volume_bricks_on(const struct gd_volume *v, const struct gi_gfid *node)
{
  unsigned n = 0;
  for (unsigned i = 0; i < v->nbricks; i++)
    n += gi_gfid_equal(&v->bricks[i].node, node);
  return n;
}

unsigned
gd_bricks_on(const struct gd *gd, const struct gi_gfid *node)
{
  unsigned n = 0;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    n += gd_volume_bricks_on(v, node);
  return n;
}

/* The number in V-client-N; 0 if there is none. */
static unsigned long
number_of(const struct gd_brick *b)
{
  const char *dash = strrchr(b->id, '-');
  return dash ? strtoul(dash + 1, NULL, 10) : 0;
}

/* As long as sets were only ever added and removed as wholes, the number of a set's first brick tells which one it was when it
 * came. Otherwise its position does. */
static bool
sets_are_numbered(const struct gd_volume *v)
{
  unsigned size = gd_volume_set_size(v);
  for (unsigned i = 0; i < v->nbricks; i++) {
    unsigned long n = number_of(&v->bricks[i]);
    if (i % size ? n != number_of(&v->bricks[i - 1]) + 1 : n % size || (i && n <= number_of(&v->bricks[i - 1])))
      return false;
  }
  return true;
}

char *
gd_set_name(const struct gd_volume *v, unsigned set)
{
  unsigned size = gd_volume_set_size(v);
  GI_ASSERT(set < gd_volume_sets(v));
  if (v->type != GD_REPLICATE)
    return gi_strdup(v->bricks[set].id);
  return gi_asprintf("%s-replicate-%lu", v->name, sets_are_numbered(v) ? number_of(&v->bricks[set * size]) / size : set);
}

const char *
gd_volume_type_text(const struct gd_volume *v)
{
  bool many = v->nbricks > gd_volume_set_size(v);
  switch (v->type) {
  case GD_REPLICATE:
    return many ? "Distributed-Replicate" : "Replicate";
  case GD_DISPERSE:
    return many ? "Distributed-Disperse" : "Disperse";
  default:
    return "Distribute";
  }
}

const char *
gd_volume_status_text(const struct gd_volume *v)
{
  static const char *const text[] = {"Created", "Started", "Stopped"};
  return text[v->status];
}

static struct gd_option *
find_option(const struct gi_list *options, const char *key)
{
  gi_list_foreach(o, options, struct gd_option, link)
    if (strcmp(o->key, key) == 0)
      return o;
  return NULL;
}

const char *
gd_options_get(const struct gi_list *options, const char *key)
{
  const struct gd_option *o = find_option(options, key);
  return o ? o->value : NULL;
}

bool
gd_options_del(struct gi_list *options, const char *key)
{
  struct gd_option *o = find_option(options, key);
  if (!o)
    return false;
  gi_list_del(&o->link);
  gi_free(o->key);
  gi_free(o->value);
  gi_free(o);
  return true;
}

void
gd_options_set(struct gi_list *options, const char *key, const char *value)
{
  struct gd_option *o = find_option(options, key);
  char *copy = gi_strdup(value);
  if (!o) {
    o = gi_new(struct gd_option);
    o->key = gi_strdup(key);
    gi_list_add_head(options, &o->link);
  }
  gi_free(o->value);
  o->value = copy;
}

void
gd_options_clear(struct gi_list *options)
{
  while (!gi_list_empty(options))
    gd_options_del(options, gi_list_first(options, struct gd_option, link)->key);
}

bool
gd_volume_bool(const struct gd_volume *v, const char *key, bool def)
{
  const char *value = gd_options_get(&v->options, key);
  bool b;
  return value && gi_parse_bool(value, &b) ? b : def;
}
