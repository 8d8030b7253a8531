/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's definitions become this node's: read, compared by meaning, put
 * into the files, and what of it concerns this node's own bricks is started or
 * stopped. Whenever anything changes all is read again: that is little, and a
 * change that was missed cannot stay missed.
 */
#include "programs/glusterishd/pool/replace.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <string.h>

#define RETRY (2 * GI_NSEC_PER_SEC) /* while the store does not answer */
#define BUSY_RETRY (300 * GI_NSEC_PER_MSEC)
#define LEAVE_MS 3000
#define SETTLE_LOOK (50 * GI_NSEC_PER_MSEC)
#define SETTLE_MAX (50 * GI_NSEC_PER_SEC)
#define PUBLISH_PAUSE (3 * GI_NSEC_PER_SEC) /* others may be about to change something */
#define ENCRYPTION_LOOK (3600 * GI_NSEC_PER_SEC)
#define MSG (GI_MSG_MGMT + 135)

#define VOLUMES GD_PREFIX "volume/"
#define NODES GD_PREFIX "node/"
#define OPTIONS GD_PREFIX "options"
#define POOL GD_PREFIX "pool"
#define LOCK GD_PREFIX "lock"

struct waiter {
  struct gi_list link;
  void (*fn)(void *arg, const struct gi_error *err);
  void *arg;
};

struct gd_follow {
  struct gd_pool *pool;
  bool reading, outdated;              /* and it is of a store that was made anew meanwhile */
  struct gi_list reading_for, waiting; /* struct waiter: of the read under way, and of the next one */
  struct gi_timer retry;
  struct gi_list settling;
  int64_t options_revision, encryption_revision;
  uint64_t encryption_again; /* gi_now: when this node looks whether its certificate is to be renewed */
  struct gi_timer publish;   /* the store lacks what this node knows better */
  bool publishing, unknown;  /* that is under way; what it has of this node is not all */
  bool behind;               /* a volume was busy: what is stored of it is taken soon */
  bool away;                 /* the store did not answer last time, and that was logged */
};

/* Another node waits until what it ordered has happened here. */
struct settling {
  struct gi_list link;
  struct gd *gd;
  struct gi_rpc_request *req;
  char *volume;
  bool force, fresh;
  struct gi_timer look;
  uint64_t until;
};

int64_t
gd_follow_options_revision(const struct gd *gd)
{
  return gd->pool->follow ? gd->pool->follow->options_revision : 0;
}

/* ---- volumes ---- */

static bool
is_here(const struct gd_brick *b)
{
  return gi_gfid_equal(&b->node, &b->volume->gd->uuid);
}

static void
start_and_stop(struct gd_volume *v, bool all)
{
  for (unsigned i = 0; i < v->nbricks; i++) {
    struct gd_brick *b = &v->bricks[i];
    struct gi_error err = {0};
    if (!is_here(b))
      continue;
    if (v->status != GD_STARTED && !gd_brick_ends(b))
      gd_brick_stop(b, NULL, NULL);
    if (v->cut_off || v->status != GD_STARTED || !gd_brick_ends(b) || (b->proc && !all))
      continue;
    if (gd_brick_check_start(b, &err))
      gi_log(GI_LOG_ERROR, GD_NAME, MSG, "brick %s:%s is not started: %s", b->host, b->path, err.text);
    else
      gd_brick_start(b, NULL, NULL);
  }
}

static void
keep(struct gd_volume *v)
{
  struct gi_error err = {0};
  if (gd_store_volume(v, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "volume %s is not kept in files: %s", v->name, err.text);
}

/* It means what it meant, by another number. */
static void
keep_generation(struct gd_volume *v, unsigned version)
{
  v->version = version;
  v->counted = true;
  keep(v);
}

static void
drop_volume(struct gd_volume *v)
{
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 2, "volume %s was deleted", v->name);
  gd_volume_drop(v);
}

/* `d` becomes what `v` is, and is freed. */
static void
change_volume(struct gd_volume *v, struct gd_volume *d)
{
  struct gd_brick *gone;
  unsigned ngone, before = v->nbricks;
  bool starts = v->status != GD_STARTED && d->status == GD_STARTED;
  v->status = d->status;
  v->op_version = d->op_version;
  v->client_op_version = d->client_op_version;
  gd_login_take(v, d);
  gd_volume_adopt(v, d, &gone, &ngone);
  keep(v);
  for (unsigned i = 0; i < ngone; i++)
    gd_store_forget_brick(&gone[i]);
  start_and_stop(v, starts);
  if (v->nbricks != before)
    gd_shd_restart(v);
  else
    gd_volume_sync(v);
  gd_services_changed(v->gd);
  for (unsigned i = 0; i < ngone; i++)
    gd_brick_leave(&gone[i], NULL, NULL);
  gd_bricks_free(gone, ngone);
}

static void
take_volume(struct gd_follow *f, const char *name, const struct gd_key_pair *pair)
{
  struct gd *gd = f->pool->gd;
  struct gi_error err = {0};
  struct gd_volume *v = gd_volume_find(gd, name);
  if (v && v->revision >= pair->revision) /* what was read may be older than what this node stored meanwhile */
    return;
  if (v && v->busy) {
    f->behind = true;
    return;
  }
  struct gd_volume *d = gd_definition_read(gd, name, pair->value, &err);
  if (!d) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 3, "%s", err.text);
    return;
  }
  d->revision = pair->revision;
  d->counted = true;
  if (v && !gi_gfid_equal(&v->id, &d->id)) {
    drop_volume(v);
    v = NULL;
  }
  if (v && gd_definition_same(v, d)) {
    v->revision = pair->revision;
    gi_free(v->definition);
    v->definition = d->definition;
    d->definition = NULL;
    if (v->version != d->version || !v->counted)
      keep_generation(v, d->version);
    gd_volume_free(d);
    return;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 4, "volume %s: generation %u", name, d->version);
  if (v) {
    change_volume(v, d);
    return;
  }
  gd_volume_link(d);
  keep(d);
  start_and_stop(d, true);
  gd_volume_sync(d);
  gd_services_changed(gd);
}

static bool
is_in(const struct gd_key_answer *a, const char *prefix, const char *name)
{
  size_t len = strlen(prefix);
  for (unsigned i = 0; i < a->npairs; i++)
    if (strncmp(a->pairs[i].key, prefix, len) == 0 && strcmp(a->pairs[i].key + len, name) == 0)
      return true;
  return false;
}

static void
take_volumes(struct gd_follow *f, const struct gd_key_answer *a)
{
  gi_list_foreach_safe(v, &f->pool->gd->volumes, struct gd_volume, link)
    if (!is_in(a, VOLUMES, v->name) && v->revision <= a->revision) {
      f->behind |= v->busy;
      if (!v->busy)
        drop_volume(v);
    }
  for (unsigned i = 0; i < a->npairs; i++)
    if (strncmp(a->pairs[i].key, VOLUMES, strlen(VOLUMES)) == 0)
      take_volume(f, a->pairs[i].key + strlen(VOLUMES), &a->pairs[i]);
}

/* ---- nodes and options ---- */

static void
take_own(struct gd_follow *f, const json_t *doc)
{
  struct gd_pool *p = f->pool;
  const char *key = json_string_value(json_object_get(doc, "key"));
  char **hosts;
  unsigned n;
  const char *store = json_string_value(json_object_get(doc, "store"));
  f->unknown = !key || strcmp(key, gd_node_key(p->gd)) != 0;
  if (!gd_hosts_read(doc, &hosts, &n)) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 6, "what the store has of this node is no usable description");
    return;
  }
  gd_hosts_free(&p->hosts, &p->nhosts);
  p->hosts = hosts;
  p->nhosts = n;
  snprintf(p->store, sizeof(p->store), "%s", gd_is_number(store) ? store : "");
  if (p->store[0] && p->initial && strcmp(p->store, p->address) != 0)
    gd_members_move_own(p);
}

static void
take_nodes(struct gd_follow *f, const struct gd_key_answer *a)
{
  struct gd *gd = f->pool->gd;
  char uuid[GI_UUID_TEXT], own[GI_UUID_TEXT];
  gi_gfid_text(&gd->uuid, own);
  gi_list_foreach_safe(n, &f->pool->nodes, struct gd_node, link)
    if (!is_in(a, NODES, gi_gfid_text(&n->id, uuid))) {
      gi_log(GI_LOG_INFO, GD_NAME, MSG + 5, "node %s left the pool", n->hosts[0]);
      if (gd_node_connected(n)) /* it may have no store to find that out from */
        gd_node_call(n, json_pack("{s:s,s:i,s:{s:s}}", "call", "run", "proc", 0, "request", "command", "node leave"), LEAVE_MS,
                     NULL, NULL);
      gd_node_forget(n);
    }
  for (unsigned i = 0; i < a->npairs; i++) {
    if (strncmp(a->pairs[i].key, NODES, strlen(NODES)) != 0)
      continue;
    json_t *doc = json_loads(a->pairs[i].value, 0, NULL);
    if (strcmp(a->pairs[i].key + strlen(NODES), own) == 0)
      take_own(f, doc);
    else if (!gd_node_learn(gd, doc))
      gi_log(GI_LOG_ERROR, GD_NAME, MSG + 6, "%s is no usable description of a node", a->pairs[i].key);
    json_decref(doc);
  }
}

static void
take_options(struct gd_follow *f, const struct gd_key_pair *pair)
{
  struct gd *gd = f->pool->gd;
  struct gi_list options = GI_LIST_INIT(options);
  struct gi_error err = {0};
  unsigned version;
  if (f->options_revision == pair->revision)
    return;
  f->options_revision = pair->revision;
  if (!gd_options_read(&options, &version, pair->value)) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 3, "the options for all volumes in the store cannot be read");
    gd_options_clear(&options);
    return;
  }
  gd_options_clear(&gd->pool_options);
  gi_list_splice_tail(&gd->pool_options, &options);
  gd->pool_version = version - (version > 0);
  if (gd_store_pool_options(gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "%s", err.text);
}

static void
take_encryption(struct gd_follow *f, const struct gd_key_pair *pair)
{
  uint64_t now = gi_now(f->pool->gd->reactor);
  if (f->encryption_revision == pair->revision && now < f->encryption_again)
    return;
  f->encryption_revision = pair->revision;
  f->encryption_again = now + ENCRYPTION_LOOK;
  gd_encryption_take(f->pool->gd, pair->value);
}

/* ---- reading ---- */

static const struct gd_key_pair *
pair_of(const struct gd_key_answer *a, const char *key)
{
  for (unsigned i = 0; i < a->npairs; i++)
    if (strcmp(a->pairs[i].key, key) == 0)
      return &a->pairs[i];
  return NULL;
}

static void
start_again(struct gd_brick *b)
{
  const struct gd_volume *v = b->volume;
  b->stopped_for = 0;
  if (v->status == GD_STARTED && !v->cut_off && gd_brick_ends(b) && !gd_brick_check_start(b, NULL))
    gd_brick_start(b, NULL, NULL);
}

/* What was ordered under a lock that is gone, and is not in force, is taken back. */
static void
settle_orders(struct gd_follow *f, const struct gd_key_answer *a)
{
  const struct gd_key_pair *lock = pair_of(a, LOCK);
  int64_t held = lock ? lock->revision : 0;
  if (f->behind)
    return;
  gd_prepared_settle(f->pool->gd, a->revision, held);
  gi_list_foreach(v, &f->pool->gd->volumes, struct gd_volume, link) {
    if (!v->busy)
      gd_rebalance_settle(v);
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].stopped_for && v->bricks[i].stopped_for != held && v->bricks[i].stopped_for <= a->revision)
        start_again(&v->bricks[i]);
  }
}

static void
filled(void *arg, const struct gd_key_answer *a)
{
  const struct gd_pool *p = arg;
  if (!a->code || a->code == ESTALE) /* else it is tried again with the next read */
    gd_follow_refresh(p->follow, NULL, NULL);
}

static void
published(struct gd_op *op, const struct gi_error *err)
{
  const struct gd *gd = op->arg;
  struct gd_follow *f = gd->pool ? gd->pool->follow : NULL; /* the pool may be gone */
  if (!f)
    return;
  f->publishing = false;
  if (err && err->code)
    gi_timer_set(&f->publish, PUBLISH_PAUSE);
}

static void
publish(void *arg)
{
  struct gd_follow *f = arg;
  f->publishing = true;
  gd_op_begin(f->pool->gd, "{\"command\":\"node publish\"}", 1, false, NULL, published, f->pool->gd);
}

/* A version before has told the store nothing of keys; and a store that was made anew may come from a node that was behind. */
static void
publish_missing(struct gd_follow *f, const struct gd_key_pair *secret)
{
  bool older = gd_secret_generation(secret ? secret->value : NULL) < gd_secret_generation(f->pool->secret_doc);
  if ((f->unknown || older) && !f->publishing && !f->publish.armed)
    gi_timer_set(&f->publish, PUBLISH_PAUSE);
}

/* The daemon died while the first other node came, or the last one left. */
static void
end_if_deserted(struct gd_pool *p)
{
  bool resumed = p->resumed;
  p->resumed = false;
  if (!resumed || !gi_list_empty(&p->nodes))
    return;
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 9, "nobody else is in the pool: it ends");
  p->deserted = true;
  gd_pool_dissolve(p->gd);
}

/* False: this node is no part of the pool any more. */
static bool
take_all(struct gd_follow *f, const struct gd_key_answer *a, struct gi_error *err)
{
  struct gd *gd = f->pool->gd;
  char pool[GI_UUID_TEXT], own[GI_UUID_TEXT];
  const struct gd_key_pair *id = pair_of(a, POOL), *options = pair_of(a, OPTIONS), *replacing = pair_of(a, GD_REPLACE_KEY);
  const struct gd_key_pair *encryption = pair_of(a, GD_ENCRYPTION_KEY), *secret = pair_of(a, GD_SECRET_KEY);
  if (!a->npairs && f->pool->unfilled) { /* the daemon died while it began */
    gi_error_set(err, EAGAIN, "the store has just begun");
    gd_pool_fill(gd, filled, f->pool);
    return true;
  }
  if (!id || strcmp(id->value, gi_gfid_text(&f->pool->id, pool)) != 0) {
    gi_error_set(err, EILSEQ, "the store is not that of this pool");
    return true;
  }
  if (!is_in(a, NODES, gi_gfid_text(&gd->uuid, own))) {
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 7, "this node was detached from its pool");
    gi_defer_add(gd->reactor, &f->pool->leave);
    return false;
  }
  gd_pool_has_read(f->pool);
  if (secret)
    gd_secret_take(gd, secret->value);
  take_nodes(f, a);
  if (options)
    take_options(f, options);
  if (encryption)
    take_encryption(f, encryption);
  take_volumes(f, a);
  if (!f->behind)
    gd_newer_take(f->pool, a);
  gd_replace_take(f->pool->replace, replacing ? replacing->value : NULL);
  settle_orders(f, a);
  publish_missing(f, secret);
  end_if_deserted(f->pool);
  return true;
}

static void read_now(struct gd_follow *f);

static void
store_changed(void *arg)
{
  if (GI_BROKEN("miss what others changed"))
    return;
  gd_follow_refresh(arg, NULL, NULL);
}

static void
tell(struct gi_list *waiters, const struct gi_error *err)
{
  while (!gi_list_empty(waiters)) {
    struct waiter *w = gi_list_first(waiters, struct waiter, link);
    gi_list_del(&w->link);
    if (w->fn)
      w->fn(w->arg, err);
    gi_free(w);
  }
}

static void
has_read(void *arg, const struct gd_key_answer *a)
{
  struct gd_follow *f = arg;
  struct gi_error err = {0};
  struct gi_list told = GI_LIST_INIT(told);
  gi_list_splice_tail(&told, &f->reading_for);
  bool outdated = f->outdated;
  f->reading = f->behind = f->outdated = false;
  if (outdated)
    gi_error_set(&err, EAGAIN, "the store was made anew");
  else if (a->code) {
    gi_error_set(&err, a->code, "%s", a->why);
    gi_list_splice_tail(&told, &f->waiting); /* who came meanwhile would hear nothing else, and later */
  } else if (!take_all(f, a, &err)) {
    gi_error_set(&err, ENOTCONN, "this node was detached from its pool");
    tell(&told, &err);
    return;
  }
  if (err.code && !f->away)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + 8, "the last definitions are used: %s", err.text);
  f->away = err.code;
  if (err.code || f->behind)
    gi_timer_set(&f->retry, err.code ? RETRY : BUSY_RETRY);
  if (!err.code)
    f->pool->kv->ops->watch(f->pool->kv, GD_PREFIX, a->revision + 1, store_changed, f);
  if (!gi_list_empty(&f->waiting))
    read_now(f);
  tell(&told, &err);
}

static void
read_now(struct gd_follow *f)
{
  f->reading = true;
  gi_timer_cancel(&f->retry);
  gi_list_splice_tail(&f->reading_for, &f->waiting);
  f->pool->kv->ops->read(f->pool->kv, GD_PREFIX, has_read, f);
}

static void
retry(void *arg)
{
  gd_follow_refresh(arg, NULL, NULL);
}

void
gd_follow_refresh(struct gd_follow *f, void (*fn)(void *arg, const struct gi_error *err), void *arg)
{
  struct waiter *w = gi_new(struct waiter);
  w->fn = fn;
  w->arg = arg;
  gi_list_add_tail(&f->waiting, &w->link);
  if (!f->reading)
    read_now(f);
}

/* ---- settling ---- */

static void
settling_end(struct settling *s, json_t *reply)
{
  gi_list_del(&s->link);
  gi_timer_finish(&s->look);
  gd_node_answer(s->req, reply);
  gi_free(s->volume);
  gi_free(s);
}

static void
look(void *arg)
{
  struct settling *s = arg;
  const struct gd_volume *v = gd_volume_find(s->gd, s->volume);
  json_t *failed = json_array();
  bool wait = false, late = gi_now(s->gd->reactor) > s->until;
  for (unsigned i = 0; v && i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if (!is_here(b))
      continue;
    bool wanted = v->status == GD_STARTED;
    wait |= b->state == GD_PROC_STARTING || b->state == GD_PROC_STOPPING || (wanted && b->state == GD_PROC_UP && !b->signed_in);
    if (wanted && (b->state == GD_PROC_DOWN || (late && !gd_brick_online(b)))) {
      GI_CLEANUP_FREE char *log = gd_brick_logfile(b);
      json_array_append_new(failed, json_sprintf("brick %s:%s does not run. Its log file is %s", b->host, b->path, log));
    }
  }
  if (wait && !late) {
    json_decref(failed);
    gi_timer_set(&s->look, SETTLE_LOOK);
    return;
  }
  settling_end(s, json_pack("{s:o}", "failed", failed));
}

static void
settle_read(void *arg, const struct gi_error *err)
{
  struct settling *s = arg;
  struct gd_volume *v = gd_volume_find(s->gd, s->volume);
  s->fresh = true;
  if (err->code && !s->force) {
    settling_end(s, gd_node_refusal(err->code, err->text));
    return;
  }
  if (v && s->force && !v->busy) /* else by the command that is under way, which may store what is not read yet */
    start_and_stop(v, true);
  gi_timer_set(&s->look, 0);
}

void
gd_follow_settle(struct gd *gd, struct gi_rpc_request *req, const json_t *in)
{
  struct settling *s = gi_new(struct settling);
  const char *volume = json_string_value(json_object_get(in, "volume"));
  struct gd_follow *f = gd->pool->follow;
  *s = (struct settling){.gd = gd, .req = req, .volume = gi_strdup(volume ? volume : "")};
  s->force = json_is_true(json_object_get(in, "force"));
  s->until = gi_now(gd->reactor) + SETTLE_MAX;
  gi_timer_init(&s->look, gd->reactor, look, s);
  gi_list_add_tail(&f->settling, &s->link);
  gd_follow_refresh(f, settle_read, s);
}

void
gd_follow_anew(struct gd_follow *f)
{
  f->outdated = f->reading;
  f->options_revision = 0;
  gi_list_foreach(v, &f->pool->gd->volumes, struct gd_volume, link) {
    v->revision = 0;
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].stopped_for)
        start_again(&v->bricks[i]);
  }
  gd_prepared_settle(f->pool->gd, INT64_MAX, -1); /* nobody has a lock */
}

/* ---- life ---- */

struct gd_follow *
gd_follow_new(struct gd_pool *p)
{
  struct gd_follow *f = gi_new(struct gd_follow);
  f->pool = p;
  gi_list_init(&f->reading_for);
  gi_list_init(&f->waiting);
  gi_list_init(&f->settling);
  gi_timer_init(&f->retry, p->gd->reactor, retry, f);
  gi_timer_init(&f->publish, p->gd->reactor, publish, f);
  return f;
}

void
gd_follow_free(struct gd_follow **ref)
{
  struct gd_follow *f = *ref;
  struct gi_error err = {.code = ENOTCONN, .text = "this node is no part of the pool any more"};
  *ref = NULL;
  if (!f)
    return;
  gi_timer_finish(&f->retry);
  gi_timer_finish(&f->publish);
  tell(&f->reading_for, &err);
  tell(&f->waiting, &err);
  gi_list_foreach_safe(s, &f->settling, struct settling, link)
    settling_end(s, gd_node_refusal(err.code, err.text));
  gi_free(f);
}
