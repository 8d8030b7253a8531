/* SPDX-License-Identifier: Apache-2.0
 *
 * Volfile generation (volfile.md 2, 3, 5). A graph is a list of layers, which
 * say themselves where they stand and what switches them; each gets every
 * option of its own table whose key is set on the volume. So neither a new
 * translator nor a new option needs a line here. The two ends of a graph, and
 * what a layer must know of the volume, are this file's.
 */
#include "programs/glusterishd/model/model.h"

#include <errno.h>
#include <string.h>

#define GLUSTERD_PORT 24007 /* where clients look for a daemon unless told otherwise */

struct gen {
  const struct gd_volume *v;
  const struct gd_brick *brick; /* NULL in a client graph */
  struct gi_volfile *vf;
  struct gi_vol_node *top; /* the next layer's child */
  unsigned side;           /* GI_SIDE_* */
  bool trusted;
  bool background; /* nobody waits for what the process does */
  struct gi_error *err;
};

/* ---- options ---- */

/* Options of the translator's table whose key is set on the volume. In a pattern the brick's path stands for the star. */
static void
volume_options(struct gen *g, struct gi_vol_node *n, const struct gi_xlator_class *cls)
{
  for (const struct gi_option *o = cls->options; o && o->name; o++) {
    const char *value = o->key ? gd_options_get(&g->v->options, o->key) : NULL;
    const char *star = o->wildcard ? strchr(o->name, '*') : NULL;
    if (!value || (o->side && !(o->side & g->side)) || (o->wildcard && (!star || !g->brick)))
      continue;
    GI_CLEANUP_FREE char *name =
        star ? gi_asprintf("%.*s%s%s", (int)(star - o->name), o->name, g->brick->path, star + 1) : gi_strdup(o->name);
    gi_vol_node_option(n, name, "%s", value);
  }
}

static const struct gi_xlator_class *
need_class(struct gen *g, const char *type)
{
  const struct gi_xlator_class *cls = gd_map_class(g->v->gd->map, type);
  if (!cls)
    gi_error_set(g->err, ENOENT, "volume %s needs translator %s, which is not installed", g->v->name, type);
  return cls;
}

/* Adds a node over g->top; NULL and err when the class is missing. */
static struct gi_vol_node *
add_node(struct gen *g, const char *type, const char *name, void (*options)(struct gen *, struct gi_vol_node *))
{
  const struct gi_xlator_class *cls = need_class(g, type);
  if (!cls)
    return NULL;
  struct gi_vol_node *n = gi_vol_node_add(g->vf, type, "%s", name);
  if (g->top)
    gi_vol_node_sub(n, g->top);
  if (options)
    options(g, n);
  volume_options(g, n, cls);
  g->top = n;
  return n;
}

static int
add_layer(struct gen *g, const struct gi_xlator_class *cls, void (*options)(struct gen *, struct gi_vol_node *))
{
  GI_CLEANUP_FREE char *name = gi_asprintf("%s-%s", g->v->name, gi_layer_name(cls));
  return add_node(g, cls->type, name, options) ? 0 : -1;
}

/* The layers without a place of their own that the volume wants above `where`. */
static int
add_named(struct gen *g, const char *where)
{
  struct gi_placed named[GI_LAYERS_MAX];
  unsigned count = gd_map_layers(g->v->gd->map, g->side, true, named);
  for (unsigned i = 0; i < count; i++) {
    const char *value = gd_options_get(&g->v->options, named[i].layer->key);
    if (value && strcmp(value, where) == 0 && add_layer(g, named[i].cls, NULL))
      return -1;
  }
  return 0;
}

/* What a layer must know of the volume or the brick. */
struct knowledge {
  const char *type;
  void (*options)(struct gen *g, struct gi_vol_node *n);
};

static bool
wanted(const struct gen *g, const struct gi_layer *l)
{
  bool on = true;
  if (l->key && gi_parse_bool(l->def, &on))
    on = gd_volume_bool(g->v, l->key, on);
  return on && !(l->arbiter && !gd_brick_is_arbiter(g->brick));
}

static int
add_layers(struct gen *g, const struct knowledge *known)
{
  struct gi_placed layers[GI_LAYERS_MAX];
  unsigned count = gd_map_layers(g->v->gd->map, g->side, false, layers);
  for (unsigned i = 0; i < count; i++) {
    const struct knowledge *k = known;
    while (k->type && strcmp(k->type, layers[i].cls->type) != 0)
      k++;
    if (!wanted(g, layers[i].layer))
      continue;
    if (add_layer(g, layers[i].cls, k->options) || (g->brick && add_named(g, gi_layer_name(layers[i].cls))))
      return -1;
  }
  return 0;
}

/* ---- client graph ---- */

static void
transport_options(struct gi_vol_node *n)
{
  gi_vol_node_option(n, "transport-type", "tcp");
  gi_vol_node_option(n, "transport.address-family", "inet");
}

static struct gi_vol_node *
add_client(struct gen *g, const struct gd_brick *b)
{
  g->top = NULL;
  struct gi_vol_node *n = add_node(g, "protocol/client", b->id, NULL);
  if (!n)
    return NULL;
  /* Written only when it was set: a client then chooses by what its peer is, 5 s for our bricks and 42 s for GlusterFS. */
  const char *ping = gd_options_get(&g->v->options, "network.ping-timeout");
  if (ping)
    gi_vol_node_option(n, "ping-timeout", "%s", ping);
  gi_vol_node_option(n, "remote-host", "%s", b->host);
  gi_vol_node_option(n, "remote-subvolume", "%s", b->path);
  /* A client asks the daemon on the brick's host for the brick's port; one that is not where everybody looks must be named. */
  if (g->v->gd->config.port != GLUSTERD_PORT)
    gi_vol_node_option(n, "management-port", "%d", g->v->gd->config.port);
  /* Who looks for replies before it sleeps takes processor time that the applications on a brick's host want. */
  if (g->background && !gd_options_get(&g->v->options, "client.busy-poll-time"))
    gi_vol_node_option(n, "busy-poll-time", "0");
  transport_options(n);
  /* Clients of GlusterFS hear of it nowhere else, and one of ours may have no file that says it. */
  if (g->v->gd->tls_own && gd_volume_bool(g->v, "client.ssl", false) &&
      !gd_options_get(&g->v->options, "ssl.certificate-depth"))
    gi_vol_node_option(n, "transport.socket.ssl-cert-depth", "%d", GD_AUTHORITY_CHAIN);
  if (g->trusted) {
    gi_vol_node_option(n, "username", "%s", g->v->shows_former ? g->v->former_username : g->v->username);
    gi_vol_node_option(n, "password", "%s", g->v->shows_former ? g->v->former_password : g->v->password);
  }
  if (!gd_options_get(&g->v->options, "client.send-gids"))
    gi_vol_node_option(n, "send-gids", "%s", gd_volume_bool(g->v, "server.manage-gids", false) ? "false" : "true");
  return n;
}

/* `clients` are the set's bricks; returns the set's node. */
static struct gi_vol_node *
add_replicate(struct gen *g, unsigned set, struct gi_vol_node *const *clients)
{
  const struct gd_volume *v = g->v;
  char id[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *name = gd_set_name(v, set);
  GI_CLEANUP_FREE char *ids = gi_strdup("");
  for (unsigned i = 0; i < v->replica; i++) {
    char *longer = gi_asprintf("%s%s%s", ids, i ? "," : "", v->bricks[set * v->replica + i].id);
    gi_free(ids);
    ids = longer;
  }
  g->top = NULL;
  struct gi_vol_node *n = add_node(g, "cluster/replicate", name, NULL);
  if (!n)
    return NULL;
  gi_vol_node_option(n, "afr-pending-xattr", "%s", ids);
  gi_vol_node_option(n, "volume-id", "%s", gi_gfid_text(&v->id, id));
  if (v->arbiter)
    gi_vol_node_option(n, "arbiter-count", "%u", v->arbiter);
  if (g->side == GI_SIDE_SHD) {
    gi_vol_node_option(n, "iam-self-heal-daemon", "yes");
    gi_vol_node_option(n, "self-heal-daemon", "enable");
  }
  for (unsigned i = 0; i < v->replica; i++)
    gi_vol_node_sub(n, clients[i]);
  return n;
}

/* The client nodes and, on a replicated volume, the nodes of its sets; their parents are then added over `subs`. */
static unsigned
add_sets(struct gen *g, struct gi_vol_node **subs)
{
  const struct gd_volume *v = g->v;
  unsigned size = gd_volume_set_size(v), n = v->nbricks - v->coming;
  GI_CLEANUP_FREE struct gi_vol_node **clients = gi_zalloc(n * sizeof(*clients));
  GI_ASSERT(v->coming < v->nbricks && v->coming % size == 0);
  for (unsigned i = 0; i < n; i++)
    if (!(clients[i] = add_client(g, &v->bricks[i])))
      return 0;
  for (unsigned s = 0; s < n / size; s++) {
    subs[s] = v->type == GD_REPLICATE ? add_replicate(g, s, clients + s * size) : clients[s];
    if (!subs[s])
      return 0;
  }
  return n / size;
}

static struct gi_volfile *
finish(struct gen *g, bool ok)
{
  if (!ok)
    gi_volfile_free(&g->vf);
  return g->vf;
}

/* Sets whose files are to go elsewhere: no new ones are put there. */
static void
distribute_options(struct gen *g, struct gi_vol_node *n)
{
  const struct gd_volume *v = g->v;
  GI_CLEANUP_FREE char *names = NULL;
  for (unsigned s = 0; s < gd_volume_sets(v); s++) {
    if (!v->bricks[s * gd_volume_set_size(v)].decommissioned)
      continue;
    GI_CLEANUP_FREE char *name = gd_set_name(v, s);
    char *longer = gi_asprintf("%s%s%s", names ? names : "", names ? "," : "", name);
    gi_free(names);
    names = longer;
  }
  if (names)
    gi_vol_node_option(n, "decommissioned-bricks", "%s", names);
}

/* GlusterFS has translators of their own for what are options here; its rebalance knows nothing of them, and ours needs not. */
static void
distribute_type(const struct gen *g, struct gi_vol_node *n)
{
  static const char *const variants[] = {"nufa", "switch"};
  for (size_t i = 0; i < GI_ARRAY_LEN(variants) && !g->background; i++) {
    GI_CLEANUP_FREE char *key = gi_asprintf("cluster.%s", variants[i]), *type = gi_asprintf("cluster/%s", variants[i]);
    if (!gd_volume_bool(g->v, key, false))
      continue;
    gi_vol_node_retype(n, type);
    return;
  }
}

/* The sets, and cluster/distribute above them. */
static bool
add_distribute(struct gen *g)
{
  const struct gd_volume *v = g->v;
  GI_CLEANUP_FREE struct gi_vol_node **subs = gi_zalloc(v->nbricks * sizeof(*subs));
  GI_CLEANUP_FREE char *dht = gi_asprintf("%s-dht", v->name);
  unsigned nsubs = add_sets(g, subs);
  g->top = NULL;
  struct gi_vol_node *n = nsubs ? add_node(g, "cluster/distribute", dht, distribute_options) : NULL;
  for (unsigned i = 0; n && i < nsubs; i++)
    gi_vol_node_sub(n, subs[i]);
  if (n)
    distribute_type(g, n);
  return n != NULL;
}

struct gi_volfile *
gd_volgen_client(const struct gd_volume *v, bool trusted, struct gi_error *err)
{
  struct gen g = {.v = v, .vf = gi_volfile_new(), .side = GI_SIDE_CLIENT, .trusted = trusted, .err = err};
  bool ok = add_distribute(&g) && !add_layers(&g, (struct knowledge[]){{NULL, NULL}}) && !add_named(&g, "client") &&
            add_node(&g, "debug/io-stats", v->name, NULL);
  return finish(&g, ok);
}

/* The self-heal daemon's graph: every set is a child of the top. */
static struct gi_volfile *
volgen_shd(const struct gd_volume *v, struct gi_error *err)
{
  struct gen g = {.v = v, .vf = gi_volfile_new(), .side = GI_SIDE_SHD, .trusted = true, .background = true, .err = err};
  GI_CLEANUP_FREE struct gi_vol_node **subs = gi_zalloc(v->nbricks * sizeof(*subs));
  unsigned nsubs = add_sets(&g, subs);
  g.top = NULL;
  struct gi_vol_node *n = nsubs ? add_node(&g, "debug/io-stats", v->name, NULL) : NULL;
  for (unsigned i = 0; n && i < nsubs; i++)
    gi_vol_node_sub(n, subs[i]);
  return finish(&g, n != NULL);
}

struct gi_volfile *
gd_volgen_set(const struct gd_volume *v, unsigned set, struct gi_error *err)
{
  struct gen g = {.v = v, .vf = gi_volfile_new(), .side = GI_SIDE_CLIENT, .trusted = true, .err = err};
  GI_CLEANUP_FREE struct gi_vol_node **clients = gi_zalloc(v->replica * sizeof(*clients));
  bool ok = v->type == GD_REPLICATE && set < gd_volume_sets(v);
  GI_ASSERT(ok);
  for (unsigned k = 0; k < v->replica && ok; k++)
    ok = (clients[k] = add_client(&g, &v->bricks[set * v->replica + k])) != NULL;
  return finish(&g, ok && add_replicate(&g, set, clients));
}

/* The graph of the process that moves files between the sets. */
static struct gi_volfile *
volgen_rebalance(const struct gd_volume *v, struct gi_error *err)
{
  struct gen g = {.v = v, .vf = gi_volfile_new(), .side = GI_SIDE_CLIENT, .trusted = true, .background = true, .err = err};
  return finish(&g, add_distribute(&g) && add_node(&g, "debug/io-stats", v->name, NULL));
}

/* ---- brick graph ---- */

/* How many local bricks of the volume are on one file system: statfs is divided by it. */
static unsigned
shared_bricks(const struct gd_brick *b)
{
  struct stat mine, other;
  unsigned count = 0;
  if (stat(b->path, &mine))
    return 1;
  for (unsigned i = 0; i < b->volume->nbricks; i++) {
    const struct gd_brick *o = &b->volume->bricks[i];
    if (gi_gfid_equal(&o->node, &b->node) && stat(o->path, &other) == 0 && other.st_dev == mine.st_dev)
      count++;
  }
  return count ? count : 1;
}

static void
posix_options(struct gen *g, struct gi_vol_node *n)
{
  char id[GI_UUID_TEXT];
  gi_vol_node_option(n, "shared-brick-count", "%u", shared_bricks(g->brick));
  gi_vol_node_option(n, "volume-id", "%s", gi_gfid_text(&g->v->id, id));
  gi_vol_node_option(n, "directory", "%s", g->brick->path);
}

static void
index_options(struct gen *g, struct gi_vol_node *n)
{
  gi_vol_node_option(n, "xattrop-pending-watchlist", "trusted.afr.%s-", g->v->name);
  gi_vol_node_option(n, "xattrop-dirty-watchlist", "trusted.afr.dirty");
  gi_vol_node_option(n, "index-base", "%s/.glusterfs/indices", g->brick->path);
}

static void
stats_options(struct gen *g, struct gi_vol_node *n)
{
  char id[GI_UUID_TEXT];
  if (!g->brick)
    return;
  gi_vol_node_option(n, "volume-id", "%s", gi_gfid_text(&g->v->id, id));
  gi_vol_node_option(n, "unique-id", "%s", g->brick->path);
}

static void
server_options(struct gen *g, struct gi_vol_node *n)
{
  const struct gd_volume *v = g->v;
  const char *path = g->brick->path;
  GI_CLEANUP_FREE char *allow_name = gi_asprintf("auth.addr.%s.allow", path);
  GI_CLEANUP_FREE char *login_name = gi_asprintf("auth.login.%s.allow", path);
  GI_CLEANUP_FREE char *password_name = gi_asprintf("auth.login.%s.password", v->username);
  const char *former = v->former_username;
  transport_options(n);
  if (v->gd->config.bind)
    gi_vol_node_option(n, "transport.socket.bind-address", "%s", v->gd->config.bind);
  gi_vol_node_option(n, login_name, "%s%s%s", v->username, former ? "," : "", former ? former : "");
  gi_vol_node_option(n, password_name, "%s", v->password);
  if (former) {
    GI_CLEANUP_FREE char *name = gi_asprintf("auth.login.%s.password", former);
    gi_vol_node_option(n, name, "%s", v->former_password);
  }
  gi_vol_node_option(n, "auth-path", "%s", path);
  gi_vol_node_option(n, allow_name, "*");
}

/* Without these no brick works. */
static int
check_needed(struct gen *g)
{
  static const char *const needed[] = {"features/locks", "features/index", "features/arbiter"};
  for (size_t i = 0; i < GI_ARRAY_LEN(needed); i++) {
    bool arbiter = i == 2;
    if ((!arbiter || gd_brick_is_arbiter(g->brick)) && !need_class(g, needed[i]))
      return -1;
  }
  return 0;
}

struct gi_volfile *
gd_volgen_brick(const struct gd_brick *b, struct gi_error *err)
{
  const struct gd_volume *v = b->volume;
  struct gen g = {.v = v, .brick = b, .vf = gi_volfile_new(), .side = GI_SIDE_BRICK, .err = err};
  GI_CLEANUP_FREE char *server = gi_asprintf("%s-server", v->name), *posix = gi_asprintf("%s-posix", v->name);
  static const struct knowledge known[] = {{"features/index", index_options}, {NULL, NULL}};
  bool ok = !check_needed(&g) && add_node(&g, "storage/posix", posix, posix_options) && !add_named(&g, "posix") &&
            !add_layers(&g, known) && add_node(&g, "debug/io-stats", b->path, stats_options) &&
            add_node(&g, "protocol/server", server, server_options);
  return finish(&g, ok);
}

/* ---- GETSPEC keys ---- */

static struct gd_brick *
brick_of_key(struct gd *gd, const char *key)
{
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++) {
      GI_CLEANUP_FREE char *dashed = gd_brick_dashed(&v->bricks[i]);
      GI_CLEANUP_FREE char *id = gi_asprintf("%s.%s.%s", v->name, v->bricks[i].host, dashed);
      if (strcmp(id, key) == 0)
        return &v->bricks[i];
    }
  return NULL;
}

static bool
has_replicas(const struct gd_volume *v)
{
  return v->type == GD_REPLICATE;
}

static bool
has_sets(const struct gd_volume *v)
{
  return gd_volume_sets(v) > 1;
}

/* Volfiles of the volume's own processes: the key is the prefix and the volume's name. */
static const struct service {
  const char *prefix;
  bool (*has)(const struct gd_volume *v);
  struct gi_volfile *(*volgen)(const struct gd_volume *v, struct gi_error *err);
} services[] = {{"shd/", has_replicas, volgen_shd}, {"rebalance/", has_sets, volgen_rebalance}};

static const struct service *
service_of(const char *key)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(services); i++)
    if (strncmp(key, services[i].prefix, strlen(services[i].prefix)) == 0)
      return &services[i];
  return NULL;
}

bool
gd_volgen_is_service(struct gd *gd, const char *key)
{
  return service_of(key) || brick_of_key(gd, key) != NULL;
}

char *
gd_volgen_spec(struct gd *gd, const char *key, bool trusted, struct gd_volume **volume, struct gi_error *err)
{
  if (strlen(key) >= 255) {
    gi_error_set(err, EINVAL, "the volfile id is too long");
    return NULL;
  }
  struct gi_volfile *vf = NULL;
  struct gd_brick *b = brick_of_key(gd, key);
  const struct service *s = service_of(key);
  GI_CLEANUP_FREE char *name = gi_strdup(s ? key + strlen(s->prefix) : *key == '/' ? key + 1 : key);
  size_t len = strlen(name);
  if (len > 4 && strcmp(name + len - 4, ".tcp") == 0)
    name[len - 4] = '\0';
  struct gd_volume *v = b ? b->volume : gd_volume_find(gd, name);
  *volume = v;
  if (b)
    vf = gd_volgen_brick(b, err);
  else if (v && s && s->has(v))
    vf = s->volgen(v, err);
  else if (v && !s)
    vf = gd_volgen_client(v, trusted, err);
  else
    gi_error_set(err, ENOENT, "no volfile %.200s", key);
  char *text = vf ? gi_volfile_write(vf) : NULL;
  gi_volfile_free(&vf);
  return text;
}
