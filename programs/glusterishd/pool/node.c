/* SPDX-License-Identifier: Apache-2.0
 *
 * The other nodes of the pool, in memory and in files (peers/UUID, volfile.md
 * 13), so that a node finds them again when the store is away.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"
#include "rpc/conn.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 120)

/* ---- addresses ---- */

void
gd_hosts_add(char ***hosts, unsigned *n, const char *host)
{
  for (unsigned i = 0; i < *n; i++)
    if (strcasecmp((*hosts)[i], host) == 0)
      return;
  *hosts = gi_realloc(*hosts, (*n + 1) * sizeof(**hosts));
  (*hosts)[(*n)++] = gi_strdup(host);
}

void
gd_hosts_free(char ***hosts, unsigned *n)
{
  for (unsigned i = 0; i < *n; i++)
    gi_free((*hosts)[i]);
  gi_free(*hosts);
  *hosts = NULL;
  *n = 0;
}

bool
gd_is_host(const char *text)
{
  return text && *text && *text != '-' && strlen(text) < 256 &&
         strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:%") == strlen(text);
}

bool
gd_is_number(const char *text)
{
  struct in6_addr any;
  return text && (inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1);
}

bool
gd_hosts_read(const json_t *doc, char ***hosts, unsigned *n)
{
  const json_t *list = json_object_get(doc, "hosts");
  bool ok = json_array_size(list) > 0 && json_array_size(list) <= GD_HOSTS_MAX;
  *hosts = NULL;
  *n = 0;
  for (size_t i = 0; ok && i < json_array_size(list); i++) {
    ok = gd_is_host(json_string_value(json_array_get(list, i)));
    if (ok)
      gd_hosts_add(hosts, n, json_string_value(json_array_get(list, i)));
  }
  if (!ok)
    gd_hosts_free(hosts, n);
  return ok;
}

/* ---- finding ---- */

struct gd_node *
gd_node_at(const struct gd *gd, unsigned i)
{
  if (gd->pool)
    gi_list_foreach(n, &gd->pool->nodes, struct gd_node, link)
      if (i-- == 0)
        return n;
  return NULL;
}

bool
gd_nodes_full(const struct gd *gd)
{
  return gd_node_at(gd, GD_NODES_MAX - 2) != NULL; /* this one counts, too */
}

struct gd_node *
gd_node_find(const struct gd *gd, const struct gi_gfid *id)
{
  if (gd->pool)
    gi_list_foreach(n, &gd->pool->nodes, struct gd_node, link)
      if (gi_gfid_equal(&n->id, id))
        return n;
  return NULL;
}

struct gd_node *
gd_node_of_host(const struct gd *gd, const char *host)
{
  if (gd->pool)
    gi_list_foreach(n, &gd->pool->nodes, struct gd_node, link)
      for (unsigned i = 0; i < n->nhosts; i++)
        if (strcasecmp(n->hosts[i], host) == 0)
          return n;
  return NULL;
}

/* One that joined is known by its address, whatever name people have for it. That was looked up before (names.c). */
static struct gd_node *
node_of_name(const struct gd *gd, const char *host)
{
  struct gd_node *n = NULL;
  for (unsigned i = 0; i < GD_NAME_ADDRESSES && !n; i++) {
    GI_CLEANUP_FREE char *number = gd_host_number(gd, host, i);
    if (!number)
      break;
    n = gd_node_of_host(gd, number);
  }
  return n;
}

bool
gd_node_named(const struct gd *gd, const char *host, struct gd_node **n)
{
  *n = gd_node_of_host(gd, host);
  if (*n)
    return true;
  for (unsigned i = 0; gd->pool && i < gd->pool->nhosts; i++)
    if (strcasecmp(gd->pool->hosts[i], host) == 0)
      return true;
  if (gd_host_is_local(gd, host))
    return true;
  *n = node_of_name(gd, host);
  return *n != NULL;
}

bool
gd_node_has(const struct gd *gd, const struct gd_node *n, const struct gd_brick *b)
{
  return gi_gfid_equal(&b->node, n ? &n->id : &gd->uuid);
}

const char *
gd_node_host(const struct gd *gd, const struct gi_gfid *id)
{
  const struct gd_node *n = gd_node_find(gd, id);
  return n ? n->hosts[0] : "localhost";
}

void
gd_node_hear(struct gd *gd, const struct gi_gfid *id, const json_t *greeting)
{
  struct gd_node *n = gd_node_find(gd, id);
  const char *version = json_string_value(json_object_get(greeting, "version"));
  json_int_t op_version = json_integer_value(json_object_get(greeting, "opVersion"));
  if (!n)
    return;
  snprintf(n->version, sizeof(n->version), "%s", version ? version : "");
  n->op_version = op_version > 0 && op_version <= INT32_MAX ? (unsigned)op_version : 0;
  if (!gd_is_node_key(json_string_value(json_object_get(greeting, "key"))))
    n->key[0] = '\0'; /* it runs a version that cannot use it */
}

/* ---- where they are ---- */

static void save(const struct gd_node *n);

void
gd_node_saw(struct gd *gd, const struct gi_gfid *id, const struct gi_conn *c)
{
  struct gd_node *n = gd_node_find(gd, id);
  struct sockaddr_storage sa;
  char address[64];
  if (!n || !c || !gi_conn_peer_address(c, &sa) || !gd_address_text(&sa, address, sizeof(address)))
    return;
  for (unsigned i = 0; i < n->nseen; i++)
    if (strcmp(n->seen[i], address) == 0)
      return;
  if (n->nseen == GD_SEEN_MAX) {
    gi_free(n->seen[0]);
    memmove(n->seen, n->seen + 1, --n->nseen * sizeof(*n->seen));
  }
  gd_hosts_add(&n->seen, &n->nseen, address);
  save(n);
}

struct gd_node *
gd_node_seen_at(const struct gd *gd, const char *address)
{
  struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(gd, i)) != NULL; i++) {
    for (unsigned k = 0; k < n->nhosts; k++)
      if (strcmp(n->hosts[k], address) == 0)
        return n;
    for (unsigned k = 0; k < n->nseen; k++)
      if (strcmp(n->seen[k], address) == 0)
        return n;
  }
  return NULL;
}

bool
gd_node_is_at(const struct gd *gd, const char *address)
{
  return gd_node_seen_at(gd, address) != NULL;
}

/* ---- telling ---- */

json_t *
gd_node_doc(const struct gd_node *n)
{
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *place = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&n->id, uuid));
  json_t *list = json_array(), *doc = gd_document_of(gd_newer_of(n->gd->pool, place));
  for (unsigned i = 0; i < n->nhosts; i++)
    json_array_append_new(list, json_string(n->hosts[i]));
  json_object_update_new(doc, json_pack("{s:s,s:o,s:i}", "uuid", uuid, "hosts", list, "port", n->port));
  if (n->version[0] || !json_object_get(doc, "version"))
    json_object_set_new(doc, "version", json_string(n->version[0] ? n->version : GI_VERSION));
  if (n->key[0])
    json_object_set_new(doc, "key", json_string(n->key));
  if (n->store[0])
    json_object_set_new(doc, "store", json_string(n->store));
  return doc;
}

json_t *
gd_node_own_doc(struct gd *gd)
{
  GI_ASSERT(gd->pool);
  struct gd_node own = {
      .gd = gd, .id = gd->uuid, .hosts = gd->pool->hosts, .nhosts = gd->pool->nhosts, .port = gd->config.port};
  snprintf(own.version, sizeof(own.version), "%s", GI_VERSION);
  snprintf(own.key, sizeof(own.key), "%s", gd_node_key(gd));
  snprintf(own.store, sizeof(own.store), "%s", gd->pool->store);
  return gd_node_doc(&own);
}

/* ---- learning ---- */

static char *
path_of(const struct gd *gd, const struct gi_gfid *id)
{
  char uuid[GI_UUID_TEXT];
  return gi_asprintf("%s/peers/%s", gd->config.workdir, gi_gfid_text(id, uuid));
}

static void
save(const struct gd_node *n)
{
  GI_CLEANUP_FREE char *path = path_of(n->gd, &n->id);
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/peers", n->gd->config.workdir);
  char uuid[GI_UUID_TEXT], *text = NULL;
  size_t len;
  struct gi_error err = {0};
  FILE *f = open_memstream(&text, &len);
  GI_ASSERT(f != NULL);
  fprintf(f, "uuid=%s\nstate=3\n", gi_gfid_text(&n->id, uuid));
  for (unsigned i = 0; i < n->nhosts; i++)
    fprintf(f, "hostname%u=%s\n", i + 1, n->hosts[i]);
  fprintf(f, "port=%d\n", n->port);
  if (n->key[0])
    fprintf(f, "key=%s\n", n->key);
  if (n->store[0])
    fprintf(f, "store=%s\n", n->store);
  for (unsigned i = 0; i < n->nseen; i++)
    fprintf(f, "seen%u=%s\n", i + 1, n->seen[i]);
  GI_ASSERT(fclose(f) == 0);
  if (gd_mkdir_all(dir, 0755, &err) || gd_write_file(path, text, len, false, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "node %s is not kept: %s", n->hosts[0], err.text);
  free(text);
}

static struct gd_node *
node_new(struct gd *gd, const struct gi_gfid *id)
{
  struct gd_node *n = gi_new(struct gd_node);
  struct gi_list *at = &gd->pool->nodes;
  n->gd = gd;
  n->id = *id;
  gi_list_foreach(o, &gd->pool->nodes, struct gd_node, link) {
    if (memcmp(o->id.b, id->b, sizeof(id->b)) > 0) {
      at = &o->link;
      break;
    }
  }
  gi_list_add_tail(at, &n->link);
  return n;
}

static bool
same_hosts(const struct gd_node *n, char *const *hosts, unsigned nhosts, int port)
{
  if (n->nhosts != nhosts || n->port != port)
    return false;
  for (unsigned i = 0; i < nhosts; i++)
    if (strcmp(n->hosts[i], hosts[i]) != 0)
      return false;
  return true;
}

/* Where its member of the store is. True: elsewhere. */
static bool
learn_store(struct gd_node *n, const json_t *doc)
{
  const char *store = json_string_value(json_object_get(doc, "store"));
  char text[sizeof(n->store)];
  snprintf(text, sizeof(text), "%s", gd_is_number(store) ? store : "");
  bool moved = strcmp(text, n->store) != 0;
  memcpy(n->store, text, sizeof(n->store));
  return moved;
}

/* Its key, where the description has one. True: it is another one. */
static bool
learn_key(struct gd_node *n, const json_t *doc)
{
  const char *key = json_string_value(json_object_get(doc, "key"));
  if (!gd_is_node_key(key) || strcmp(key, n->key) == 0)
    return false;
  snprintf(n->key, sizeof(n->key), "%s", key);
  return true;
}

/* Whoever was away while the store was made anew hears it from either side. */
static void
proved(void *arg, const json_t *reply)
{
  struct gd_node *n = arg;
  gd_ports_tell(n->gd, n);
  if (n->gd->heard)
    n->gd->heard(n->gd, json_integer_value(json_object_get(reply, "epoch")));
}

struct gd_node *
gd_node_learn(struct gd *gd, const json_t *doc)
{
  struct gi_gfid id;
  char **hosts;
  unsigned nhosts;
  const char *uuid = json_string_value(json_object_get(doc, "uuid"));
  json_int_t port = json_integer_value(json_object_get(doc, "port"));
  bool ok = uuid && gi_gfid_parse(uuid, &id) && !gi_gfid_equal(&id, &gd->uuid) && port > 0 && port < 65536;
  struct gd_node *n = ok ? gd_node_find(gd, &id) : NULL;
  if (!ok || (!n && gd_nodes_full(gd)) || !gd_hosts_read(doc, &hosts, &nhosts))
    return NULL;
  if (n && same_hosts(n, hosts, nhosts, (int)port)) {
    gd_hosts_free(&hosts, &nhosts);
    bool moved = learn_store(n, doc);
    if (learn_key(n, doc) || moved)
      save(n);
    return n;
  }
  if (!n)
    n = node_new(gd, &id);
  learn_key(n, doc);
  learn_store(n, doc);
  gd_hosts_free(&n->hosts, &n->nhosts);
  n->hosts = hosts;
  n->nhosts = nhosts;
  n->port = (int)port;
  save(n);
  gd_link_free(&n->connection);
  n->connection = gd_link_new(gd, &n->id, proved, n);
  gd_link_connect(n->connection, n->hosts, n->nhosts, n->port);
  return n;
}

static void
node_free(struct gd_node *n)
{
  gi_list_del(&n->link);
  gd_link_free(&n->connection);
  gd_hosts_free(&n->hosts, &n->nhosts);
  gd_hosts_free(&n->seen, &n->nseen);
  json_decref(n->ports);
  gi_free(n);
}

void
gd_node_forget(struct gd_node *n)
{
  GI_CLEANUP_FREE char *path = path_of(n->gd, &n->id);
  unlink(path);
  node_free(n);
}

void
gd_nodes_let_go(struct gd_pool *p)
{
  gi_list_foreach_safe(n, &p->nodes, struct gd_node, link)
    node_free(n);
}

/* ---- files ---- */

static void
load_one(struct gd *gd, const char *path)
{
  struct gi_error err = {0};
  struct gd_kvs kvs;
  if (gd_kvs_load(path, &kvs, &err)) {
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "a node is left out: %s", err.text);
    return;
  }
  const char *uuid = gd_kvs_get(&kvs, "uuid"), *port = gd_kvs_get(&kvs, "port");
  json_t *hosts = json_array();
  for (unsigned i = 0; i < kvs.count; i++)
    if (strncmp(kvs.kv[i].key, "hostname", 8) == 0)
      json_array_append_new(hosts, json_string(kvs.kv[i].value));
  const char *key = gd_kvs_get(&kvs, "key"), *store = gd_kvs_get(&kvs, "store");
  json_t *doc = json_pack("{s:s,s:o,s:i,s:s}", "uuid", uuid ? uuid : "", "hosts", hosts, "port", port ? atoi(port) : 24007,
                          "key", key ? key : "");
  json_object_set_new(doc, "store", json_string(store ? store : ""));
  struct gd_node *n = gd_node_learn(gd, doc);
  for (unsigned i = 0; n && i < kvs.count && n->nseen < GD_SEEN_MAX; i++)
    if (strncmp(kvs.kv[i].key, "seen", 4) == 0)
      gd_hosts_add(&n->seen, &n->nseen, kvs.kv[i].value);
  if (!n)
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "a node is left out: %s has no usable uuid and hostname", path);
  json_decref(doc);
  gd_kvs_free(&kvs);
}

void
gd_nodes_load(struct gd *gd)
{
  GI_CLEANUP_FREE char *dir = gi_asprintf("%s/peers", gd->config.workdir);
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, e->d_name);
    if (e->d_name[0] != '.' && !strstr(e->d_name, ".tmp"))
      load_one(gd, path);
  }
  if (d)
    closedir(d);
}

/* ---- the file of the pool ---- */

int
gd_pool_save(struct gd *gd, struct gi_error *err)
{
  const struct gd_pool *p = gd->pool;
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/pool", gd->config.workdir);
  char id[GI_UUID_TEXT], secret[2 * GD_SECRET_BYTES + 1], *text = NULL;
  size_t len;
  FILE *f = open_memstream(&text, &len);
  GI_ASSERT(f != NULL);
  gd_hex(p->secret, sizeof(p->secret), secret);
  fprintf(f, "id=%s\nsecret=%s\naddress=%s\n", gi_gfid_text(&p->id, id), secret, p->address);
  for (unsigned i = 0; i < p->nhosts; i++)
    fprintf(f, "hostname%u=%s\n", i + 1, p->hosts[i]);
  fprintf(f, "epoch=%u\n", p->epoch);
  gd_secret_write(p, f);
  if (p->store[0])
    fprintf(f, "store-address=%s\n", p->store);
  if (gd->config.site)
    fprintf(f, "store=site\nstore-new=%d\n", p->initial_new);
  else if (p->initial)
    fprintf(f, "store-members=%s\nstore-new=%d\nstore-joined=%d\n", p->initial, p->initial_new, p->joined);
  GI_ASSERT(fclose(f) == 0);
  int ret = gd_write_file(path, text, len, false, err);
  free(text);
  return ret;
}

/* ---- answers ---- */

json_t *
gd_node_refusal(int code, const char *text)
{
  return json_pack("{s:i,s:s}", "code", code, "error", text);
}

void
gd_node_answer(struct gi_rpc_request *req, json_t *reply)
{
  char *text = json_dumps(reply, JSON_COMPACT);
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_string(&out, text);
  gi_rpc_answer_send(req, &out, NULL);
  free(text);
  json_decref(reply);
}
