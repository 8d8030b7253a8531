/* SPDX-License-Identifier: Apache-2.0
 *
 * What a newer version has stored and this one does not know: whole keys,
 * definitions that it cannot read, members of documents. All of it stays as it is
 * when this node changes what is beside it. A file has it, too: a store that is
 * made anew out of this node's files gets it back.
 */
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VOLUME GD_PREFIX "volume/"
#define NODE GD_PREFIX "node/"
#define MSG (GI_MSG_MGMT + 228)

static char *
path_of(const struct gd *gd)
{
  return gi_asprintf("%s/newer", gd->config.workdir);
}

static bool
begins(const char *key, const char *prefix)
{
  return strncmp(key, prefix, strlen(prefix)) == 0;
}

/* ---- is there something that is not known? ---- */

static bool
has_others(const char *text, const char *const *known)
{
  json_t *doc = json_loads(text, 0, NULL), *value;
  const char *member;
  bool others = false;
  json_object_foreach(doc, member, value)
  {
    unsigned i = 0;
    while (known[i] && strcmp(known[i], member) != 0)
      i++;
    others |= !known[i];
  }
  json_decref(doc);
  return others;
}

/* A volume that could not be read is not as its definition says. */
static bool
volume_is_newer(const struct gd *gd, const struct gd_key_pair *p)
{
  struct gd_volume *v = gd_volume_find((struct gd *)(uintptr_t)gd, p->key + strlen(VOLUME));
  return !v || !v->definition || strcmp(v->definition, p->value) != 0 || gd_definition_has_others(v);
}

static bool
is_newer(const struct gd *gd, const struct gd_key_pair *p)
{
  static const char *const whole[] = {GD_PREFIX "pool", GD_PREFIX "lock", GD_ENCRYPTION_KEY, GD_SECRET_KEY};
  static const char *const of_node[] = {"uuid", "hosts", "port", "version", "key", "store", NULL}, *const of_options[] = {
                                                                                                       "generation", "options",
                                                                                                       NULL};
  for (size_t i = 0; i < GI_ARRAY_LEN(whole); i++)
    if (strcmp(p->key, whole[i]) == 0)
      return false;
  if (begins(p->key, VOLUME))
    return volume_is_newer(gd, p);
  if (begins(p->key, NODE))
    return has_others(p->value, of_node);
  if (strcmp(p->key, GD_PREFIX "options") == 0)
    return has_others(p->value, of_options);
  return !p->leased; /* what hangs on a lease is nothing that stays */
}

/* ---- keeping ---- */

static void
save(const struct gd_pool *p)
{
  GI_CLEANUP_FREE char *path = path_of(p->gd);
  struct gi_error err = {0};
  if (!p->newer) {
    unlink(path);
    return;
  }
  char *text = json_dumps(p->newer, JSON_COMPACT | JSON_SORT_KEYS);
  if (gd_write_file(path, text, strlen(text), false, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "what a newer version has stored is not kept: %s", err.text);
  free(text);
}

void
gd_newer_take(struct gd_pool *p, const struct gd_key_answer *a)
{
  json_t *newer = NULL;
  for (unsigned i = 0; i < a->npairs; i++) {
    if (!is_newer(p->gd, &a->pairs[i]))
      continue;
    newer = newer ? newer : json_object();
    json_object_set_new(newer, a->pairs[i].key, json_string(a->pairs[i].value));
  }
  bool same = newer ? json_equal(newer, p->newer) : !p->newer;
  json_decref(p->newer);
  p->newer = newer;
  if (!same)
    save(p);
}

void
gd_newer_load(struct gd_pool *p)
{
  GI_CLEANUP_FREE char *path = path_of(p->gd);
  if (access(path, F_OK))
    return;
  p->newer = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
  if (!json_is_object(p->newer)) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s is damaged: what a newer version has stored is not known here", path);
    gd_newer_let_go(p);
    return;
  }
  gi_list_foreach(v, &p->gd->volumes, struct gd_volume, link) {
    GI_CLEANUP_FREE char *key = gi_asprintf(VOLUME "%s", v->name);
    if (!v->definition)
      v->definition = gi_strdup(gd_newer_of(p, key));
  }
}

void
gd_newer_let_go(struct gd_pool *p)
{
  json_decref(p->newer);
  p->newer = NULL;
}

void
gd_newer_forget(struct gd_pool *p)
{
  gd_newer_let_go(p);
  save(p);
}

const char *
gd_newer_of(const struct gd_pool *p, const char *key)
{
  return json_string_value(json_object_get(p->newer, key));
}

/* ---- a store made anew ---- */

unsigned
gd_newer_count(const struct gd_pool *p)
{
  return (unsigned)json_object_size(p->newer);
}

unsigned
gd_newer_put(const struct gd_pool *p, struct gd_key_put *puts, unsigned n)
{
  const char *key;
  json_t *text;
  json_object_foreach(p->newer, key, text)
  {
    unsigned i = 0;
    while (i < n && strcmp(puts[i].key, key) != 0) /* what is known of it has been put, with this */
      i++;
    if (i == n)
      puts[n++] = (struct gd_key_put){gi_strdup(key), gi_strdup(json_string_value(text)), 0};
  }
  return n;
}
