/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool as this node knows it: its identity and secret in a file of the
 * state directory, from the moment it begins or is joined until it is left.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/http.h"
#include "programs/glusterishd/pool/replace.h"
#include "programs/glusterishd/pool/site.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BALANCE (1 * GI_NSEC_PER_SEC) /* members.c */
#define LEAVE_LOOK (50 * GI_NSEC_PER_MSEC)
#define LEAVE_LOOKS 1300 /* a little more than a minute: commands have ended by then */
#define MSG (GI_MSG_MGMT + 145)

static char *
path_of(const struct gd *gd)
{
  return gi_asprintf("%s/pool", gd->config.workdir);
}

/* ---- life ---- */

static void leave_now(void *arg);

/* Another node is there again: what was changed meanwhile is read, as this node's own member of the store may not have been there to tell. */
static void
hear(struct gd *gd, long long epoch)
{
  if (gd->pool->follow)
    gd_follow_refresh(gd->pool->follow, NULL, NULL);
  gd_pool_hear_epoch(gd, epoch);
}

static struct gd_pool *
pool_new(struct gd *gd)
{
  struct gd_pool *p = gi_new(struct gd_pool);
  GI_ASSERT(!gd->pool);
  gd->pool = p;
  gd->heard = hear;
  p->gd = gd;
  p->began = gi_now(gd->reactor);
  gi_list_init(&p->nodes);
  gi_defer_init(&p->leave, leave_now, p);
  gi_timer_init(&p->later, gd->reactor, leave_now, p);
  gi_timer_init(&p->balance, gd->reactor, gd_members_tick, p);
  return p;
}

/* Everything but its files. */
static void
run(struct gd_pool *p)
{
  p->http = gd_http_new(p->gd->reactor);
  p->kv = p->gd->new_key_store ? p->gd->new_key_store(p->gd) : gd_key_etcd_new(p->gd);
  p->follow = gd_follow_new(p);
  p->replace = gd_replace_new(p);
  if (p->initial && !p->gd->new_key_store)
    p->etcd = gd_etcd_start(p);
  gi_timer_set(&p->balance, BALANCE);
  gd_tls_offer(p->gd);
}

void
gd_pool_let_go(struct gd *gd)
{
  struct gd_pool *p = gd->pool;
  if (!p)
    return;
  gi_list_foreach(op, &gd->ops, struct gd_op, link)
    gd_asked_cancel(op);
  if (p->kv)
    p->kv->ops->free(p->kv);
  p->kv = NULL;
  gd_follow_free(&p->follow);
  gd_replace_free(&p->replace);
  gd_nodes_let_go(p);
  gd_http_free(&p->http);
  gd_etcd_let_go(&p->etcd);
  gi_timer_finish(&p->balance);
  gi_defer_cancel(&p->leave);
  gi_timer_finish(&p->later);
  gd_hosts_free(&p->hosts, &p->nhosts);
  gd_newer_let_go(p);
  gi_free(p->address);
  gi_free(p->initial);
  gi_free(p->secret_doc);
  explicit_bzero(p->secret, sizeof(p->secret));
  explicit_bzero(p->trusts, sizeof(p->trusts));
  gi_free(p);
  gd->pool = NULL;
  gd_tls_offer(gd);
}

/* ---- its file ---- */

/* A pool keeps to the store that it began with. */
static int
check_store(const struct gd *gd, const char *store, struct gi_error *err)
{
  bool site = store && strcmp(store, "site") == 0;
  if (site && !gd->config.site)
    return gi_error_set(err, EINVAL,
                        "the definitions of this node's pool are in an etcd of the site: start with --store=etcd://…");
  if (!site && gd->config.site)
    return gi_error_set(err, EINVAL, "this node's pool runs an etcd of its own: --store is for a pool that begins with it");
  return 0;
}

static int
load(struct gd *gd, const struct gd_kvs *kvs, struct gi_error *err)
{
  struct gd_pool *p = pool_new(gd);
  const char *id = gd_kvs_get(kvs, "id"), *address = gd_kvs_get(kvs, "address"), *new = gd_kvs_get(kvs, "store-new");
  const char *store = gd_kvs_get(kvs, "store-address");
  const char *joined = gd_kvs_get(kvs, "store-joined"), *epoch = gd_kvs_get(kvs, "epoch");
  if (!id || !gi_gfid_parse(id, &p->id) || !gd_unhex(gd_kvs_get(kvs, "secret"), p->secret, sizeof(p->secret)) || !address)
    return gi_error_set(err, EILSEQ, "%s/pool is damaged: id, secret or address is missing", gd->config.workdir);
  gd_secret_read(p, kvs);
  snprintf(p->store, sizeof(p->store), "%s", store ? store : "");
  p->address = gi_strdup(address);
  p->initial = gi_strdup(gd_kvs_get(kvs, "store-members"));
  p->initial_new = new &&strcmp(new, "1") == 0;
  p->joined = joined && strcmp(joined, "1") == 0;
  p->unfilled = (p->initial || gd->config.site) && p->initial_new && !p->joined;
  p->epoch = epoch ? (unsigned)strtoul(epoch, NULL, 10) : 0;
  for (unsigned i = 0; i < kvs->count; i++)
    if (strncmp(kvs->kv[i].key, "hostname", 8) == 0)
      gd_hosts_add(&p->hosts, &p->nhosts, kvs->kv[i].value);
  return 0;
}

bool
gd_pool_is_stored(const struct gd *gd)
{
  GI_CLEANUP_FREE char *path = path_of(gd);
  return access(path, F_OK) == 0;
}

int
gd_pool_load(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = path_of(gd);
  struct gi_error why = {0};
  struct gd_kvs kvs;
  if (gd_kvs_load(path, &kvs, &why))
    return why.code == ENOENT ? 0 : gi_error_set(err, why.code, "%s", why.text);
  int ret = check_store(gd, gd_kvs_get(&kvs, "store"), err) || load(gd, &kvs, err) ? -1 : 0;
  gd_kvs_free(&kvs);
  if (ret)
    return -1;
  gd_nodes_load(gd);
  gd_newer_load(gd->pool);
  gd->pool->resumed = true;
  run(gd->pool);
  gd_follow_refresh(gd->pool->follow, NULL, NULL);
  return 0;
}

/* ---- its beginning and end ---- */

int
gd_pool_begin(struct gd *gd, const char *host, struct gi_error *err)
{
  char uuid[GI_UUID_TEXT];
  struct gd_pool *p = pool_new(gd);
  GI_CLEANUP_FREE char *url = gd_etcd_url(NULL, host, gd->config.port);
  p->id = gi_gfid_new(gd->reactor);
  gd_secret_begin(p);
  p->address = gi_strdup(host);
  gd_hosts_add(&p->hosts, &p->nhosts, host);
  p->initial = gd->config.site ? NULL : gi_asprintf("%s=%s", gi_gfid_text(&gd->uuid, uuid), url);
  p->initial_new = p->unfilled = true;
  gd_newer_forget(p); /* of a pool before, when the daemon died while it ended */
  if (!gd->new_key_store)
    gd_etcd_sweep(p);
  if (gd_pool_save(gd, err)) {
    gd_pool_let_go(gd);
    return -1;
  }
  run(p);
  return 0;
}

void
gd_pool_hear_epoch(struct gd *gd, long long epoch)
{
  struct gd_pool *p = gd->pool;
  if (epoch <= (long long)p->epoch || epoch > UINT32_MAX)
    return;
  gi_log(GI_LOG_WARNING, GD_NAME, MSG + 2, "the pool's store was made anew while this node was away: its own part of it goes");
  p->epoch = (unsigned)epoch;
  gd_members_drop_own(p);
  gd_follow_anew(p->follow);
  gd_follow_refresh(p->follow, NULL, NULL);
}

int
gd_pool_renew(struct gd *gd, struct gi_error *err)
{
  struct gd_pool *p = gd->pool;
  char uuid[GI_UUID_TEXT], address[64];
  if (gd_members_new_address(p, address, sizeof(address))) {
    gi_free(p->address);
    p->address = gi_strdup(address);
  }
  GI_CLEANUP_FREE char *url = gd_etcd_url(NULL, p->address, gd->config.port);
  gd_etcd_stop(&p->etcd);
  gi_free(p->initial);
  p->initial = gd->config.site ? NULL : gi_asprintf("%s=%s", gi_gfid_text(&gd->uuid, uuid), url);
  p->initial_new = p->unfilled = true;
  p->joined = p->lost = false;
  gd_secret_trust_own(p);
  p->epoch++;
  gd_follow_anew(p->follow);
  if (gd_pool_save(gd, err))
    return -1;
  if (p->initial)
    p->etcd = gd_etcd_start(p);
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    gd_link_renew(n->connection, "the store is made anew"); /* then it hears of the epoch */
  return 0;
}

/* ---- what a store begins with ---- */

static struct gd_key_put
node_put(const struct gi_gfid *id, json_t *doc)
{
  char uuid[GI_UUID_TEXT], *text = json_dumps(doc, JSON_COMPACT), *copy = gi_strdup(text);
  free(text);
  json_decref(doc);
  return (struct gd_key_put){gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(id, uuid)), copy, 0};
}

/* All that this node knows, and room for `more`. */
static struct gd_key_put *
own_puts(struct gd *gd, unsigned more, unsigned *count)
{
  struct gd_pool *p = gd->pool;
  char pool[GI_UUID_TEXT];
  unsigned n = 0, room = 5 + gd_newer_count(p) + more;
  char *encryption = gd_encryption_own(gd);
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    room++;
  gi_list_foreach(o, &p->nodes, struct gd_node, link)
    room++;
  struct gd_key_put *puts = gi_zalloc(room * sizeof(*puts));
  puts[n++] = (struct gd_key_put){gi_strdup(GD_PREFIX "pool"), gi_strdup(gi_gfid_text(&p->id, pool)), 0};
  puts[n++] =
      (struct gd_key_put){gi_strdup(GD_PREFIX "options"),
                          gd_options_write(&gd->pool_options, gd->pool_version, gd_newer_of(p, GD_PREFIX "options")), 0};
  puts[n++] = node_put(&gd->uuid, gd_node_own_doc(gd));
  gi_list_foreach(o, &p->nodes, struct gd_node, link)
    puts[n++] = node_put(&o->id, gd_node_doc(o));
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    puts[n++] = (struct gd_key_put){gi_asprintf(GD_PREFIX "volume/%s", v->name), gd_definition_write(v), 0};
  if (encryption)
    puts[n++] = (struct gd_key_put){gi_strdup(GD_ENCRYPTION_KEY), encryption, 0};
  if (p->secret_doc)
    puts[n++] = (struct gd_key_put){gi_strdup(GD_SECRET_KEY), gi_strdup(p->secret_doc), 0};
  n = gd_newer_put(p, puts, n);
  GI_ASSERT(n <= room);
  *count = n;
  return puts;
}

/* If the key of the pool has that revision. The puts are consumed. */
static void
put_all(struct gd_pool *p, int64_t revision, struct gd_key_put *puts, unsigned n, gd_key_fn *fn, void *arg)
{
  struct gd_key_if as_was = {GD_PREFIX "pool", revision};
  p->kv->ops->commit(p->kv, &as_was, 1, puts, n, fn, arg);
  for (unsigned i = 0; i < n; i++) {
    gi_free((char *)(uintptr_t)puts[i].key);
    gi_free((char *)(uintptr_t)puts[i].value);
  }
  gi_free(puts);
}

/* What stands there is of a pool with other nodes. */
static bool
is_of_others(const struct gd_pool *p, const struct gd_key_answer *a)
{
  char own[GI_UUID_TEXT], id[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&p->gd->uuid, own));
  bool ours = false, others = false;
  gi_gfid_text(&p->id, id);
  for (unsigned i = 0; i < a->npairs; i++) {
    const struct gd_key_pair *k = &a->pairs[i];
    ours |= strcmp(k->key, GD_PREFIX "pool") == 0 && strcmp(k->value, id) == 0;
    others |= strncmp(k->key, GD_PREFIX "node/", strlen(GD_PREFIX "node/")) == 0 && strcmp(k->key, key) != 0;
  }
  return others && !ours;
}

static bool
is_put(const struct gd_key_put *puts, unsigned n, const char *key)
{
  for (unsigned i = 0; i < n; i++)
    if (strcmp(puts[i].key, key) == 0)
      return true;
  return false;
}

/* Nobody empties the site's store when a pool ends. */
static void
fill_over(void *arg, const struct gd_key_answer *a)
{
  struct gd_pool *p = arg;
  int64_t revision = 0;
  unsigned n;
  struct gd_key_answer taken = {.code = EEXIST,
                                .why = "another pool has its definitions in the store of the site: name another prefix"};
  if (a->code || is_of_others(p, a)) {
    p->filled(p->filled_arg, a->code ? a : &taken);
    return;
  }
  struct gd_key_put *puts = own_puts(p->gd, a->npairs, &n);
  unsigned ours = n;
  for (unsigned i = 0; i < a->npairs; i++) {
    const char *key = a->pairs[i].key;
    if (strcmp(key, GD_PREFIX "pool") == 0)
      revision = a->pairs[i].revision;
    if (!is_put(puts, ours, key))
      puts[n++] = (struct gd_key_put){gi_strdup(key), NULL, 0};
  }
  put_all(p, revision, puts, n, p->filled, p->filled_arg);
}

void
gd_pool_fill(struct gd *gd, gd_key_fn *fn, void *arg)
{
  struct gd_pool *p = gd->pool;
  unsigned n;
  if (gd->config.site) {
    p->filled = fn;
    p->filled_arg = arg;
    p->kv->ops->read(p->kv, GD_PREFIX, fill_over, p);
    return;
  }
  struct gd_key_put *puts = own_puts(gd, 0, &n);
  put_all(p, 0, puts, n, fn, arg);
}

void
gd_pool_has_read(struct gd_pool *p)
{
  struct gi_error err = {0};
  p->unfilled = false;
  if (!p->gd->config.site || !p->initial_new)
    return;
  p->initial_new = false;
  if (gd_pool_save(p->gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 4, "%s", err.text);
}

bool
gd_pool_is_virgin(const struct gd *gd)
{
  return !gd->pool && gi_list_empty(&gd->volumes);
}

json_t *
gd_pool_invitation(struct gd *gd, const char *initial)
{
  const struct gd_pool *p = gd->pool;
  char id[GI_UUID_TEXT], secret[2 * GD_SECRET_BYTES + 1];
  json_t *nodes = json_array();
  json_array_append_new(nodes, gd_node_own_doc(gd));
  gi_list_foreach(n, &p->nodes, struct gd_node, link)
    json_array_append_new(nodes, gd_node_doc(n));
  gd_hex(p->secret, sizeof(p->secret), secret);
  json_t *doc = json_pack("{s:I,s:s,s:s,s:o,s:o}", "epoch", (json_int_t)p->epoch, "pool", gi_gfid_text(&p->id, id), "secret",
                          secret, "more", gd_secret_more(p), "nodes", nodes);
  GI_CLEANUP_FREE char *encryption = gd_encryption_own(gd);
  if (initial)
    json_object_set_new(doc, "members", json_string(initial));
  if (gd->config.site)
    json_object_set_new(doc, "store", json_string(gd->config.site->prefix));
  if (encryption)
    json_object_set_new(doc, "encryption", json_string(encryption));
  return doc;
}

/* Both must look at the same keys. */
static int
check_invited_store(const struct gd *gd, const char *store, struct gi_error *err)
{
  const struct gd_site *site = gd->config.site;
  if (!store && site)
    return gi_error_set(err, EINVAL, "the pool runs an etcd of its own, and this node was started with --store");
  if (store && !site)
    return gi_error_set(err, EINVAL,
                        "the definitions of the pool are in an etcd of the site: start glusterishd with its --store");
  if (store && strcmp(store, site->prefix) != 0)
    return gi_error_set(err, EINVAL,
                        "the keys of the pool begin with \"%.100s\" in the site's etcd, those of this node with \"%.100s\"",
                        store, site->prefix);
  return 0;
}

int
gd_pool_accept(struct gd *gd, const json_t *in, struct gi_error *err)
{
  const char *id = json_string_value(json_object_get(in, "pool")), *host = json_string_value(json_object_get(in, "host"));
  const char *initial = json_string_value(json_object_get(in, "members")),
             *address = json_string_value(json_object_get(in, "address"));
  const char *encryption = json_string_value(json_object_get(in, "encryption"));
  const json_t *nodes = json_object_get(in, "nodes");
  GI_ASSERT(gd_pool_is_virgin(gd));
  if (check_invited_store(gd, json_string_value(json_object_get(in, "store")), err))
    return -1;
  struct gd_pool *p = pool_new(gd);
  if (!id || !gi_gfid_parse(id, &p->id) ||
      !gd_unhex(json_string_value(json_object_get(in, "secret")), p->secret, GD_SECRET_BYTES) || !gd_is_host(host) ||
      (address && !gd_is_host(address)) || (initial && strchr(initial, '\n')) || !json_array_size(nodes)) {
    gd_pool_let_go(gd);
    return gi_error_set(err, EINVAL, "the invitation lacks something");
  }
  gd_secret_take_more(p, json_object_get(in, "more"));
  p->address = gi_strdup(address ? address : host);
  p->initial = gi_strdup(initial);
  p->epoch = (unsigned)json_integer_value(json_object_get(in, "epoch"));
  gd_hosts_add(&p->hosts, &p->nhosts, host);
  gd_newer_forget(p); /* of a pool before, when the daemon died while it ended */
  if (!gd->new_key_store)
    gd_etcd_sweep(p);
  if (gd_pool_save(gd, err)) {
    gd_pool_let_go(gd);
    return -1;
  }
  if (encryption) /* the others may answer nobody without */
    gd_encryption_take(gd, encryption);
  for (size_t i = 0; i < json_array_size(nodes); i++)
    gd_node_learn(gd, json_array_get(nodes, i));
  run(p);
  gd_follow_refresh(p->follow, NULL, NULL);
  gi_log(GI_LOG_INFO, GD_NAME, MSG, "this node is %s of a pool with %s", host,
         json_string_value(json_object_get(json_array_get(nodes, 0), "uuid")));
  return 0;
}

int
gd_pool_return(struct gd *gd, const json_t *in, struct gi_error *err)
{
  const char *uuid = json_string_value(json_object_get(in, "uuid"));
  struct gi_gfid id;
  if (!uuid || !gi_gfid_parse(uuid, &id))
    return gi_error_set(err, EINVAL, "the invitation does not say who this node is");
  if (gd_store_become(gd, &id, err) || gd_pool_accept(gd, in, err))
    return -1;
  gd->pool->lost = !gd->config.site; /* what the store knows as its member of this node has no data any more */
  return 0;
}

static void
leave_now(void *arg)
{
  struct gd_pool *p = arg;
  struct gd *gd = p->gd;
  GI_CLEANUP_FREE char *path = path_of(gd);
  bool dissolve = p->dissolve;
  struct gi_error err = {0};
  if (p->deserted && !gi_list_empty(&p->nodes)) { /* somebody came meanwhile */
    p->deserted = p->dissolve = false;
    return;
  }
  /* Bricks and daemons still have to answer commands that are under way. */
  if (!gi_list_empty(&gd->ops) && p->looked++ < LEAVE_LOOKS) {
    gi_timer_set(&p->later, LEAVE_LOOK);
    return;
  }
  gd_follow_free(&p->follow); /* whoever waits for it is told */
  gd_ops_abort(gd);
  unlink(path); /* first: from now on this node is alone */
  while (!gi_list_empty(&p->nodes))
    gd_node_forget(gi_list_first(&p->nodes, struct gd_node, link));
  gd_etcd_stop(&p->etcd);
  gd_newer_forget(p);
  gd_pool_let_go(gd);
  if (!dissolve && gd_tls_drop(gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 3, "the credentials of the pool stay: %s", err.text);
  if (!dissolve)
    gi_list_foreach_safe(v, &gd->volumes, struct gd_volume, link)
      gd_volume_drop(v);
  gd_quorum_end(gd);
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
    gi_free(v->definition);
    v->definition = NULL;
    v->revision = 0;
    v->counted = false;
  }
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "this node is alone");
}

void
gd_pool_leave(struct gd *gd)
{
  gi_defer_add(gd->reactor, &gd->pool->leave);
}

void
gd_pool_dissolve(struct gd *gd)
{
  gd->pool->dissolve = true;
  gd_pool_leave(gd);
}
