/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of store.h.
 */
#include "tests/simulation/management/store.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <string.h>

#define TRAVEL_MIN (300 * SIM_US) /* one way; a commit is synced, too */
#define TRAVEL_MAX (12 * SIM_MS)
#define SLOW_PERMILLE 15     /* of the messages take … */
#define SLOW_MAX (6 * SIM_S) /* … up to this */
#define WATCH_RETRY (700 * SIM_MS)

enum kind { READ, COMMIT, GRANT, KEEP, REVOKE, MEMBERS };

struct client {
  struct gd_key_store kv;
  struct gi_list link; /* sim_store.clients */
  struct sim_store *s;
  struct sim_reactor *r;
  unsigned node;
  struct gi_list calls;
  void (*changed)(void *arg);
  void *changed_arg;
  int64_t watched; /* from that revision on */
  struct sim_event tell;
};

struct call {
  struct gi_list link;   /* client.calls */
  struct client *client; /* NULL: nobody waits for it */
  struct sim_store *s;
  unsigned node;
  enum kind kind;
  bool sent; /* it was not lost at once */
  bool last; /* the node hears nothing any more */
  struct sim_event request, answer, limit;
  char *prefix;
  int64_t lease;
  unsigned seconds, nifs, nputs;
  struct gd_key_if ifs[4];
  struct gd_key_put puts[KEY_TABLE_MAX];
  struct gd_key_answer a;
  struct gd_key_pair pairs[KEY_TABLE_MAX];
  gd_key_fn *fn; /* NULL: no answer is wanted */
  void *arg;
};

static uint64_t
travel(struct sim_store *s)
{
  uint64_t ns = sim_rng_between(&s->rng, TRAVEL_MIN, TRAVEL_MAX);
  return s->slow && sim_rng_chance(&s->rng, SLOW_PERMILLE) ? ns + sim_rng_below(&s->rng, SLOW_MAX) : ns;
}

/* ---- keys ---- */

const struct gd_key_pair *
sim_store_get(const struct sim_store *s, const char *key)
{
  return key_table_get(&s->keys, key);
}

/* ---- watching ---- */

static void
tell(void *arg)
{
  struct client *k = arg;
  void (*changed)(void *) = k->changed;
  if (k->s->cut[k->node]) {
    sim_event_set(k->s->w, &k->tell, WATCH_RETRY);
    return;
  }
  k->changed = NULL;
  if (changed)
    changed(k->changed_arg);
}

static void
notify(struct sim_store *s)
{
  gi_list_foreach(k, &s->clients, struct client, link)
    if (k->changed && s->keys.revision >= k->watched && !k->tell.queued)
      sim_event_set(s->w, &k->tell, travel(s));
}

void
sim_store_restart(struct sim_store *s)
{
  gi_list_foreach(k, &s->clients, struct client, link)
    if (k->changed && !k->tell.queued)
      sim_event_set(s->w, &k->tell, travel(s));
}

/* ---- leases ---- */

static void
end_lease(struct sim_store *s, unsigned i)
{
  int64_t id = s->lease[i].id;
  s->lease[i].id = 0;
  key_table_end_lease(&s->keys, id);
  notify(s);
}

static void
expire(void *arg)
{
  struct sim_store *s = arg;
  uint64_t next = UINT64_MAX;
  for (unsigned i = 0; i < STORE_LEASES; i++) {
    if (s->lease[i].id && s->lease[i].until <= s->w->now && !s->down) /* without a majority nothing runs out */
      end_lease(s, i);
    else if (s->lease[i].id && s->lease[i].until < next)
      next = s->lease[i].until;
  }
  if (next == UINT64_MAX)
    return;
  sim_event_set(s->w, &s->expiry, next > s->w->now ? next - s->w->now : 100 * SIM_MS);
}

static int
lease_at(const struct sim_store *s, int64_t id)
{
  for (int i = 0; i < STORE_LEASES; i++)
    if (id && s->lease[i].id == id)
      return i;
  return -1;
}

static int64_t
grant(struct sim_store *s, unsigned seconds)
{
  unsigned i = 0;
  while (i < STORE_LEASES && s->lease[i].id)
    i++;
  GI_ASSERT(i < STORE_LEASES);
  s->lease[i].id = ++s->last_lease;
  s->lease[i].ttl = seconds * SIM_S;
  s->lease[i].until = s->w->now + s->lease[i].ttl;
  expire(s);
  return s->lease[i].id;
}

/* ---- what a call does ---- */

static void
commit(struct call *c)
{
  struct sim_store *s = c->s;
  bool holds = key_table_holds(&s->keys, c->ifs, c->nifs);
  for (unsigned i = 0; i < c->nputs; i++)
    holds &= !c->puts[i].lease || lease_at(s, c->puts[i].lease) >= 0;
  if (!holds && !GI_BROKEN("store what the conditions forbid")) {
    c->a.code = ESTALE;
    return;
  }
  if (s->changing)
    s->changing(s->changing_arg, s, c->node, c->puts, c->nputs);
  key_table_put(&s->keys, c->puts, c->nputs);
  notify(s);
}

static void
carry_out(struct call *c)
{
  struct sim_store *s = c->s;
  int at = lease_at(s, c->lease);
  switch (c->kind) {
  case READ:
    c->a.npairs = key_table_read(&s->keys, c->prefix, c->pairs);
    break;
  case COMMIT:
    commit(c);
    break;
  case GRANT:
    c->a.revision = grant(s, c->seconds);
    return;
  case KEEP:
    if (at >= 0)
      s->lease[at].until = s->w->now + s->lease[at].ttl;
    return;
  case REVOKE:
    if (at >= 0)
      end_lease(s, (unsigned)at);
    return;
  case MEMBERS:
    break;
  }
  c->a.revision = s->keys.revision;
}

/* ---- a call's way ---- */

static void
call_free(struct call *c)
{
  gi_list_del(&c->link);
  sim_event_cancel(c->s->w, &c->request);
  sim_event_cancel(c->s->w, &c->answer);
  sim_event_cancel(c->s->w, &c->limit);
  for (unsigned i = 0; i < c->nifs; i++)
    gi_free((char *)(uintptr_t)c->ifs[i].key);
  for (unsigned i = 0; i < c->nputs; i++) {
    gi_free((char *)(uintptr_t)c->puts[i].key);
    gi_free((char *)(uintptr_t)c->puts[i].value);
  }
  key_pairs_clear(c->pairs, c->a.npairs);
  gi_free(c->prefix);
  gi_free(c);
}

static void
call_end(struct call *c)
{
  gd_key_fn *fn = c->fn;
  gi_list_del(&c->link);
  gi_list_init(&c->link);
  c->client = NULL;
  c->fn = NULL;
  fn(c->arg, &c->a);
  if (!c->request.queued) /* else it still comes there */
    call_free(c);
}

static void
requested(void *arg)
{
  struct call *c = arg;
  if (c->s->cut[c->node] || c->s->down) { /* lost; the limit tells whoever waits */
    if (!c->client || !c->fn)
      call_free(c);
    return;
  }
  c->sent = true;
  carry_out(c);
  c->s->cut[c->node] += c->last;
  if (!c->client || !c->fn)
    call_free(c);
  else
    sim_event_set(c->s->w, &c->answer, travel(c->s));
}

static void
answered(void *arg)
{
  struct call *c = arg;
  if (!c->s->cut[c->node])
    call_end(c);
}

static void
too_late(void *arg)
{
  struct call *c = arg;
  c->a.code = c->s->cut[c->node] ? EHOSTUNREACH : ETIMEDOUT;
  c->a.why = c->a.code == ETIMEDOUT ? "the pool's store has no majority" : "the pool's store is not reachable";
  call_end(c);
}

/* NULL: the daemon dies before it. */
static struct call *
call_new(struct gd_key_store *kv, enum kind kind, gd_key_fn *fn, void *arg, enum store_fate *fate)
{
  struct client *k = (struct client *)kv;
  struct sim_store *s = k->s;
  *fate = s->called ? s->called(s->called_arg, k->node) : STORE_GO_ON;
  if (*fate == STORE_DIE_BEFORE)
    return NULL;
  struct call *c = gi_new(struct call);
  *c = (struct call){.client = k, .s = s, .node = k->node, .kind = kind, .fn = fn, .arg = arg, .last = *fate == STORE_CUT_OFF};
  s->down += *fate == STORE_NO_MAJORITY;
  c->a = (struct gd_key_answer){.why = "", .pairs = c->pairs};
  gi_list_add_tail(&k->calls, &c->link);
  sim_event_init(&c->request, NULL, "store request", requested, c);
  sim_event_init(&c->answer, k->r, "store answer", answered, c);
  sim_event_init(&c->limit, k->r, "store limit", too_late, c);
  return c;
}

static void
send(struct call *c, enum store_fate fate)
{
  struct sim_store *s = c->s;
  sim_event_set(s->w, &c->request, fate == STORE_DIE_AFTER ? 0 : travel(s));
  if (c->fn)
    sim_event_set(s->w, &c->limit, GD_KEY_LIMIT_MS * SIM_MS);
}

static void
store_read(struct gd_key_store *kv, const char *prefix, gd_key_fn *fn, void *arg)
{
  enum store_fate fate;
  struct call *c = call_new(kv, READ, fn, arg, &fate);
  if (!c)
    return;
  c->prefix = gi_strdup(prefix);
  send(c, fate);
}

static void
store_commit(struct gd_key_store *kv, const struct gd_key_if *ifs, unsigned nifs, const struct gd_key_put *puts, unsigned nputs,
             gd_key_fn *fn, void *arg)
{
  enum store_fate fate;
  struct call *c = call_new(kv, COMMIT, fn, arg, &fate);
  if (!c)
    return;
  GI_ASSERT(nifs <= GI_ARRAY_LEN(c->ifs) && nputs <= GI_ARRAY_LEN(c->puts));
  for (unsigned i = 0; i < nifs; i++)
    c->ifs[c->nifs++] = (struct gd_key_if){gi_strdup(ifs[i].key), ifs[i].revision};
  for (unsigned i = 0; i < nputs; i++)
    c->puts[c->nputs++] = (struct gd_key_put){gi_strdup(puts[i].key), gi_strdup(puts[i].value), puts[i].lease};
  send(c, fate);
}

static void
store_watch(struct gd_key_store *kv, const char *prefix, int64_t revision, void (*changed)(void *arg), void *arg)
{
  struct client *k = (struct client *)kv;
  k->changed = changed;
  k->changed_arg = arg;
  k->watched = revision;
  if (k->s->keys.revision >= revision && !k->tell.queued)
    sim_event_set(k->s->w, &k->tell, travel(k->s));
}

static void
store_grant(struct gd_key_store *kv, unsigned seconds, gd_key_fn *fn, void *arg)
{
  enum store_fate fate;
  struct call *c = call_new(kv, GRANT, fn, arg, &fate);
  if (!c)
    return;
  c->seconds = seconds;
  send(c, fate);
}

static void
with_lease(struct gd_key_store *kv, enum kind kind, int64_t lease)
{
  enum store_fate fate;
  struct call *c = call_new(kv, kind, NULL, NULL, &fate);
  if (!c)
    return;
  c->lease = lease;
  send(c, fate);
}

static void
store_keep(struct gd_key_store *kv, int64_t lease)
{
  with_lease(kv, KEEP, lease);
}

static void
store_revoke(struct gd_key_store *kv, int64_t lease)
{
  with_lease(kv, REVOKE, lease);
}

static void
store_members(struct gd_key_store *kv, gd_key_fn *fn, void *arg)
{
  enum store_fate fate;
  struct call *c = call_new(kv, MEMBERS, fn, arg, &fate);
  if (c)
    send(c, fate);
}

static void
store_member(struct gd_key_store *kv, enum gd_key_member change, const char *what, gd_key_fn *fn, void *arg)
{
  store_members(kv, fn, arg);
}

/* ---- life ---- */

/* Nobody waits any more; what is on its way arrives. */
static void
client_free(struct client *k)
{
  gi_list_foreach_safe(c, &k->calls, struct call, link) {
    gi_list_del(&c->link);
    gi_list_init(&c->link);
    c->client = NULL;
    sim_event_cancel(k->s->w, &c->answer);
    sim_event_cancel(k->s->w, &c->limit);
    if (!c->request.queued)
      call_free(c);
  }
  gi_list_del(&k->link);
  sim_event_cancel(k->s->w, &k->tell);
  gi_free(k);
}

static void
store_free(struct gd_key_store *kv)
{
  client_free((struct client *)kv);
}

struct gd_key_store *
sim_store_open(struct sim_store *s, unsigned n, struct sim_reactor *r)
{
  static const struct gd_key_ops ops = {.free = store_free,
                                        .read = store_read,
                                        .commit = store_commit,
                                        .watch = store_watch,
                                        .grant = store_grant,
                                        .keep = store_keep,
                                        .revoke = store_revoke,
                                        .members = store_members,
                                        .member = store_member};
  struct client *k = gi_new(struct client);
  GI_ASSERT(n < STORE_NODES);
  k->kv.ops = &ops;
  k->s = s;
  k->r = r;
  k->node = n;
  gi_list_init(&k->calls);
  gi_list_add_tail(&s->clients, &k->link);
  sim_event_init(&k->tell, r, "store watch", tell, k);
  return &k->kv;
}

void
sim_store_abandon(struct sim_store *s, struct sim_reactor *r)
{
  gi_list_foreach_safe(k, &s->clients, struct client, link)
    if (k->r == r)
      client_free(k);
}

static void
expiry_due(void *arg)
{
  expire(arg);
}

struct sim_store *
sim_store_new(struct sim_world *w, unsigned number)
{
  struct sim_store *s = gi_new(struct sim_store);
  s->w = w;
  s->rng = sim_rng_new(w->seed, (7ull << 32) + number);
  gi_list_init(&s->clients);
  sim_event_init(&s->expiry, NULL, "leases", expiry_due, s);
  return s;
}

void
sim_store_free(struct sim_store **ref)
{
  struct sim_store *s = *ref;
  *ref = NULL;
  if (!s)
    return;
  while (!gi_list_empty(&s->clients))
    client_free(gi_list_first(&s->clients, struct client, link));
  sim_event_cancel(s->w, &s->expiry);
  key_table_clear(&s->keys);
  gi_free(s);
}
