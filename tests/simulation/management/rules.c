/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of rules.h.
 */
#include "tests/simulation/management/rules.h"
#include "programs/glusterishd/pool/pool.h"

#include <string.h>

#define TOKENS 4096
#define GENERATIONS 4096
#define VOLUME GD_PREFIX "volume/"

struct rules {
  struct sim_nodes *all;
  unsigned tokens;
  bool stored[TOKENS], refused[TOKENS];
  unsigned n;
  struct generation {
    struct gi_gfid id;
    unsigned version;
    char *name, *text;
  } generation[GENERATIONS];
};

unsigned
rules_token(struct rules *r)
{
  GI_ASSERT(r->tokens + 1 < TOKENS);
  return ++r->tokens;
}

void
rules_answered(struct rules *r, unsigned token, int code, const char *text)
{
  if (!code && !r->stored[token])
    sim_violation(r->all->w, "change t%u was acknowledged and is not stored", token);
  if (!code || code == GD_UNSURE)
    return;
  r->refused[token] = true;
  if (r->stored[token])
    sim_violation(r->all->w, "change t%u was refused (%s) and is stored", token, text);
}

/* ---- changes ---- */

static unsigned
differing_options(const struct gi_list *a, const struct gi_list *b)
{
  unsigned n = 0;
  gi_list_foreach(o, a, struct gd_option, link) {
    const char *other = gd_options_get(b, o->key);
    n += !other || strcmp(other, o->value) != 0;
  }
  return n;
}

static void
note_tokens(struct rules *r, const struct gd_volume *was, const struct gd_volume *is)
{
  gi_list_foreach(o, &is->options, struct gd_option, link) {
    const char *before = was ? gd_options_get(&was->options, o->key) : NULL;
    unsigned token;
    if ((before && strcmp(before, o->value) == 0) || sscanf(o->value, "t%u", &token) != 1 || token >= TOKENS)
      continue;
    r->stored[token] = true;
    if (r->refused[token])
      sim_violation(r->all->w, "change t%u was refused and is stored later", token);
  }
}

static void
note_generation(struct rules *r, const struct gd_volume *v, const char *text)
{
  GI_ASSERT(r->n < GENERATIONS);
  r->generation[r->n++] = (struct generation){v->id, v->version, gi_strdup(v->name), gi_strdup(text)};
}

static void
check_volume(struct rules *r, struct sim_store *s, struct gd *gd, const struct gd_key_put *p)
{
  const struct gd_key_pair *old = sim_store_get(s, p->key);
  const char *name = p->key + strlen(VOLUME);
  struct gd_volume *was = old ? gd_definition_read(gd, name, old->value, NULL) : NULL,
                   *is = gd_definition_read(gd, name, p->value, NULL);
  if (!is) {
    sim_violation(r->all->w, "%s is not stored as a definition: %s", p->key, p->value);
  } else {
    note_tokens(r, was, is);
    note_generation(r, is, p->value);
    unsigned options = was ? differing_options(&is->options, &was->options) : 0;
    bool bricks = was && (was->nbricks != is->nbricks || memcmp(&was->id, &is->id, sizeof(was->id)) != 0);
    if (was && !bricks && options + (was->status != is->status) > 1)
      sim_violation(r->all->w, "a change of %s takes another one back: %s instead of %s", name, p->value, old->value);
    if (was && gi_gfid_equal(&was->id, &is->id) && is->version != was->version + 1)
      sim_violation(r->all->w, "generation %u of %s follows %u", is->version, name, was->version);
  }
  gd_volume_free(was);
  gd_volume_free(is);
}

/* ---- a node leaves ---- */

static const struct gd_key_put *
put_of(const struct gd_key_put *puts, unsigned nputs, const char *key)
{
  for (unsigned i = 0; i < nputs; i++)
    if (strcmp(puts[i].key, key) == 0)
      return &puts[i];
  return NULL;
}

/* Has the member of the document another value in the transaction than in the store? */
static bool
is_changed(const struct gd_key_put *puts, unsigned nputs, const struct gd_key_pair *old, const char *member)
{
  const struct gd_key_put *put = put_of(puts, nputs, old->key);
  json_t *was = json_loads(old->value, 0, NULL), *is = put && put->value ? json_loads(put->value, 0, NULL) : NULL;
  bool changed = is && !json_equal(json_object_get(was, member), json_object_get(is, member));
  json_decref(was);
  json_decref(is);
  return changed;
}

/* While some node cannot be told a new secret there is none, and nothing else would help. */
static void
check_parting(struct rules *r, const struct sim_store *s, const struct gd_key_put *puts, unsigned nputs)
{
  bool leaves = false;
  for (unsigned i = 0; i < nputs; i++)
    leaves |= !puts[i].value && strncmp(puts[i].key, GD_PREFIX "node/", strlen(GD_PREFIX "node/")) == 0;
  if (!leaves || !put_of(puts, nputs, GD_SECRET_KEY))
    return;
  for (unsigned i = 0; i < s->keys.n; i++) {
    const struct gd_key_pair *old = &s->keys.pair[i];
    if (strncmp(old->key, VOLUME, strlen(VOLUME)) == 0 && !is_changed(puts, nputs, old, "password"))
      sim_violation(r->all->w, "a node leaves that knows the password of %s", old->key);
    if (strcmp(old->key, GD_ENCRYPTION_KEY) == 0 && !is_changed(puts, nputs, old, "certificate"))
      sim_violation(r->all->w, "a node leaves that has the key of the authority");
  }
}

static void
changing(void *arg, struct sim_store *s, unsigned n, const struct gd_key_put *puts, unsigned nputs)
{
  struct rules *r = arg;
  struct gd *gd = r->all->node[n].gd;
  char uuid[GI_UUID_TEXT];
  const struct gd_key_pair *lock = sim_store_get(s, GD_PREFIX "lock"), *pool = sim_store_get(s, GD_PREFIX "pool");
  if (strcmp(puts[0].key, GD_PREFIX "lock") == 0) {
    if (lock)
      sim_violation(r->all->w, "node %u takes the lock that is held", n);
    return;
  }
  gi_gfid_text(&r->all->node[n].id, uuid);
  if (pool && (!lock || strcmp(lock->value, uuid) != 0))
    sim_violation(r->all->w, "node %u changes %s without the lock", n, puts[0].key);
  check_parting(r, s, puts, nputs);
  for (unsigned i = 0; i < r->all->n && !gd; i++)
    gd = r->all->node[i].gd; /* the asker has died meanwhile */
  for (unsigned i = 0; i < nputs && gd; i++)
    if (puts[i].value && strncmp(puts[i].key, VOLUME, strlen(VOLUME)) == 0)
      check_volume(r, s, gd, &puts[i]);
}

/* ---- nodes ---- */

static void
look_at(struct rules *r, const struct sim_node *n, const struct gd_volume *v)
{
  for (unsigned i = 0; i < r->n; i++) {
    const struct generation *g = &r->generation[i];
    if (g->version != v->version || !gi_gfid_equal(&g->id, &v->id))
      continue;
    struct gd_volume *stored = gd_definition_read(n->gd, v->name, g->text, NULL);
    if (!stored || !gd_definition_same(stored, v)) {
      GI_CLEANUP_FREE char *its = gd_definition_write(v);
      sim_violation(r->all->w, "generation %u of %s is on node %u %u …%.200s and in the store %s …%.200s", v->version, v->name,
                    n->n, v->status, strstr(its, "\"options\""), strstr(g->text, "\"status\""), strstr(g->text, "\"options\""));
    }
    gd_volume_free(stored);
  }
}

void
rules_look(struct rules *r)
{
  for (unsigned i = 0; i < r->all->n; i++) {
    const struct sim_node *n = &r->all->node[i];
    if (!n->gd || !n->gd->pool)
      continue;
    gi_list_foreach(v, &n->gd->volumes, struct gd_volume, link)
      if (!v->busy)
        look_at(r, n, v);
  }
}

struct rules *
rules_new(struct sim_nodes *all)
{
  struct rules *r = gi_new(struct rules);
  r->all = all;
  all->changing = changing;
  all->changing_arg = r;
  return r;
}
