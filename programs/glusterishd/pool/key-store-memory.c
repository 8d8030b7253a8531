/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of key-store-memory.h.
 */
#include "programs/glusterishd/pool/key-store-memory.h"
#include "libglusterish/mem.h"

#include <errno.h>
#include <string.h>

struct opened {
  struct gd_key_store kv;
  struct memory_store *m;
  struct gi_reactor *r;
  struct gi_list answers;
  void (*changed)(void *arg);
  void *changed_arg;
  int64_t watched; /* from that revision on */
  struct gi_defer look;
};

struct answer {
  struct gi_list link;
  struct gi_defer defer;
  struct gd_key_answer a;
  struct gd_key_pair pairs[MEMORY_KEYS];
  gd_key_fn *fn;
  void *arg;
};

/* ---- the store ---- */

static unsigned
position(const struct memory_store *m, const char *key)
{
  unsigned i = 0;
  while (i < m->n && strcmp(m->pairs[i].key, key) != 0)
    i++;
  return i;
}

const struct gd_key_pair *
memory_store_get(const struct memory_store *m, const char *key)
{
  unsigned i = position(m, key);
  return i < m->n ? &m->pairs[i] : NULL;
}

static void
drop(struct memory_store *m, unsigned i)
{
  gi_free(m->pairs[i].key);
  gi_free(m->pairs[i].value);
  m->n--;
  m->pairs[i] = m->pairs[m->n];
  m->leases[i] = m->leases[m->n];
}

static void
put(struct memory_store *m, const char *key, const char *value, int64_t lease)
{
  unsigned i = position(m, key);
  if (i < m->n && !value) {
    drop(m, i);
    return;
  }
  if (!value)
    return;
  GI_ASSERT(i < MEMORY_KEYS);
  if (i == m->n)
    m->pairs[m->n++] = (struct gd_key_pair){.key = gi_strdup(key)};
  gi_free(m->pairs[i].value);
  m->pairs[i].value = gi_strdup(value);
  m->pairs[i].revision = m->revision;
  m->leases[i] = lease;
}

void
memory_store_put(struct memory_store *m, const char *key, const char *value, int64_t lease)
{
  m->revision++;
  put(m, key, value, lease);
}

static void
end_lease(struct memory_store *m, int64_t lease)
{
  m->revision++;
  for (unsigned i = m->n; i-- > 0;)
    if (m->leases[i] && (m->leases[i] == lease || !lease))
      drop(m, i);
}

void
memory_store_expire(struct memory_store *m)
{
  end_lease(m, 0);
}

void
memory_store_clear(struct memory_store *m)
{
  while (m->n)
    drop(m, 0);
}

/* ---- answers ---- */

static void
answer_free(struct answer *w)
{
  gi_list_del(&w->link);
  gi_defer_cancel(&w->defer);
  for (unsigned i = 0; i < w->a.npairs; i++) {
    gi_free(w->pairs[i].key);
    gi_free(w->pairs[i].value);
  }
  gi_free(w);
}

static void
answer_now(void *arg)
{
  struct answer *w = arg;
  gi_list_del(&w->link);
  gi_list_init(&w->link);
  w->fn(w->arg, &w->a);
  answer_free(w);
}

static struct answer *
answer_new(struct opened *o, gd_key_fn *fn, void *arg)
{
  struct answer *w = gi_new(struct answer);
  w->fn = fn;
  w->arg = arg;
  w->a = (struct gd_key_answer){.why = "", .revision = o->m->revision, .pairs = w->pairs};
  gi_list_add_tail(&o->answers, &w->link);
  gi_defer_init(&w->defer, answer_now, w);
  gi_defer_add(o->r, &w->defer);
  return w;
}

/* True: the daemon is dead. *done: what it asked for happens all the same. */
static bool
is_dead(struct memory_store *m, bool *done)
{
  *done = !m->dead;
  if (!m->dead && ++m->calls == m->dies_at) {
    m->dead = true;
    *done = m->dies_after;
  }
  return m->dead;
}

static void
look(void *arg)
{
  struct opened *o = arg;
  void (*changed)(void *) = o->changed;
  if (!changed || o->m->revision < o->watched || o->m->dead)
    return;
  o->changed = NULL;
  changed(o->changed_arg);
}

/* ---- calls ---- */

static void
memory_read(struct gd_key_store *kv, const char *prefix, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  const struct memory_store *m = o->m;
  if (m->dead)
    return;
  struct answer *w = answer_new(o, fn, arg);
  for (unsigned i = 0; i < m->n; i++)
    if (strncmp(m->pairs[i].key, prefix, strlen(prefix)) == 0)
      w->pairs[w->a.npairs++] = (struct gd_key_pair){gi_strdup(m->pairs[i].key), gi_strdup(m->pairs[i].value),
                                                     m->pairs[i].revision, m->leases[i] != 0};
}

static void
memory_commit(struct gd_key_store *kv, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts,
              unsigned nputs, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  struct memory_store *m = o->m;
  bool done, dead = is_dead(m, &done), holds = true;
  for (unsigned i = 0; i < nifs; i++) {
    const struct gd_key_pair *p = memory_store_get(m, ifs[i].key);
    holds = holds && (p ? p->revision : 0) == ifs[i].revision;
  }
  if (holds && done) {
    m->revision++;
    for (unsigned i = 0; i < nputs; i++)
      put(m, puts[i].key, puts[i].value, puts[i].lease);
  }
  if (dead)
    return;
  answer_new(o, fn, arg)->a.code = holds ? 0 : ESTALE;
  gi_defer_add(o->r, &o->look);
}

static void
memory_watch(struct gd_key_store *kv, const char *prefix, int64_t revision, void (*changed)(void *arg), void *arg)
{
  struct opened *o = (struct opened *)kv;
  o->changed = changed;
  o->changed_arg = arg;
  o->watched = revision;
  gi_defer_add(o->r, &o->look);
}

static void
memory_grant(struct gd_key_store *kv, unsigned seconds, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  bool done, dead = is_dead(o->m, &done);
  if (done)
    o->m->lease++;
  if (!dead)
    answer_new(o, fn, arg)->a.revision = o->m->lease;
}

static void
memory_keep(struct gd_key_store *kv, int64_t lease)
{
}

static void
memory_revoke(struct gd_key_store *kv, int64_t lease)
{
  struct opened *o = (struct opened *)kv;
  bool done, dead = is_dead(o->m, &done);
  if (done)
    end_lease(o->m, lease);
  if (!dead)
    gi_defer_add(o->r, &o->look);
}

static void
memory_members(struct gd_key_store *kv, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  if (!o->m->dead)
    answer_new(o, fn, arg);
}

static void
memory_member(struct gd_key_store *kv, enum gd_key_member change, const char *what, gd_key_fn *fn, void *arg)
{
  memory_members(kv, fn, arg);
}

static void
memory_free(struct gd_key_store *kv)
{
  struct opened *o = (struct opened *)kv;
  gi_list_foreach_safe(w, &o->answers, struct answer, link)
    answer_free(w);
  gi_defer_cancel(&o->look);
  gi_free(o);
}

struct gd_key_store *
memory_store_open(struct memory_store *m, struct gi_reactor *r)
{
  static const struct gd_key_ops ops = {.free = memory_free,
                                        .read = memory_read,
                                        .commit = memory_commit,
                                        .watch = memory_watch,
                                        .grant = memory_grant,
                                        .keep = memory_keep,
                                        .revoke = memory_revoke,
                                        .members = memory_members,
                                        .member = memory_member};
  struct opened *o = gi_new(struct opened);
  o->kv.ops = &ops;
  o->m = m;
  o->r = r;
  gi_list_init(&o->answers);
  gi_defer_init(&o->look, look, o);
  return &o->kv;
}
