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
  struct gd_key_pair pairs[KEY_TABLE_MAX];
  gd_key_fn *fn;
  void *arg;
};

/* ---- the store ---- */

const struct gd_key_pair *
memory_store_get(const struct memory_store *m, const char *key)
{
  return key_table_get(&m->keys, key);
}

void
memory_store_put(struct memory_store *m, const char *key, const char *value, int64_t lease)
{
  key_table_put(&m->keys, &(struct gd_key_put){key, value, lease}, 1);
}

void
memory_store_expire(struct memory_store *m)
{
  key_table_end_lease(&m->keys, 0);
}

void
memory_store_clear(struct memory_store *m)
{
  key_table_clear(&m->keys);
}

/* ---- answers ---- */

static void
answer_free(struct answer *w)
{
  gi_list_del(&w->link);
  gi_defer_cancel(&w->defer);
  key_pairs_clear(w->pairs, w->a.npairs);
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
  w->a = (struct gd_key_answer){.why = "", .revision = o->m->keys.revision, .pairs = w->pairs};
  if (o->m->lost) {
    o->m->lost++;
    w->a.code = ETIMEDOUT;
    w->a.why = "the store has no majority of its members";
  }
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
  if (!changed || o->m->keys.revision < o->watched || o->m->dead)
    return;
  o->changed = NULL;
  changed(o->changed_arg);
}

/* ---- calls ---- */

static void
memory_read(struct gd_key_store *kv, const char *prefix, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  if (o->m->dead)
    return;
  struct answer *w = answer_new(o, fn, arg);
  w->a.npairs = key_table_read(&o->m->keys, prefix, w->pairs);
}

static void
memory_commit(struct gd_key_store *kv, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts,
              unsigned nputs, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  struct memory_store *m = o->m;
  bool done, dead = is_dead(m, &done), holds = key_table_holds(&m->keys, ifs, nifs);
  if (holds && done && !m->lost)
    key_table_put(&m->keys, puts, nputs);
  if (dead)
    return;
  struct answer *w = answer_new(o, fn, arg);
  if (!w->a.code)
    w->a.code = holds ? 0 : ESTALE;
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
    key_table_end_lease(&o->m->keys, lease);
  if (!dead)
    gi_defer_add(o->r, &o->look);
}

static void
memory_members(struct gd_key_store *kv, gd_key_fn *fn, void *arg)
{
  struct opened *o = (struct opened *)kv;
  if (o->m->loses && !o->m->lost)
    o->m->lost = 1;
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
