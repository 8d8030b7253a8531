/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of nodes.h.
 */
#include "tests/simulation/management/nodes.h"
#include "programs/glusterishd/pool/pool.h"
#include "programs/glusterishd/tls/authority.h"

#include <errno.h>
#include <openssl/pem.h>
#include <string.h>
#include <unistd.h>

#define SIGN_IN (80 * SIM_MS)
#define STEP (50 * SIM_MS)

static struct sim_nodes *now; /* one at a time */

/* ---- the store ---- */

static enum store_fate
called(void *arg, unsigned n)
{
  struct sim_nodes *all = arg;
  struct sim_node *node = &all->node[n];
  if (all->mortal != node || all->dies || !all->dies_at || --all->dies_at)
    return STORE_GO_ON;
  all->struck = all->w->now;
  all->dies = all->fate == STORE_DIE_BEFORE || all->fate == STORE_DIE_AFTER;
  return all->fate;
}

static struct sim_store *
store_of(struct sim_nodes *all, const struct gi_gfid *pool)
{
  unsigned i = 0;
  while (i < all->nstores && !gi_gfid_equal(&all->stores[i].pool, pool))
    i++;
  GI_ASSERT(i < NODES_POOLS);
  if (i == all->nstores) {
    all->nstores++;
    all->stores[i].pool = *pool;
    all->stores[i].store = sim_store_new(all->w, i);
    all->stores[i].store->called = called;
    all->stores[i].store->called_arg = all;
    all->stores[i].store->changing = all->changing;
    all->stores[i].store->changing_arg = all->changing_arg;
  }
  return all->stores[i].store;
}

static struct sim_node *
node_of(const struct gd *gd)
{
  for (unsigned i = 0; i < now->n; i++)
    if (now->node[i].reactor && &now->node[i].reactor->base == gd->reactor)
      return &now->node[i];
  return NULL;
}

static struct gd_key_store *
open_store(struct gd *gd)
{
  struct sim_node *n = node_of(gd);
  return sim_store_open(store_of(n->all, &gd->pool->id), n->n, n->reactor);
}

struct sim_store *
sim_node_store(const struct sim_node *n)
{
  return n->gd && n->gd->pool ? store_of(n->all, &n->gd->pool->id) : NULL;
}

/* ---- life ---- */

const char *
sim_node_address(const struct sim_node *n, char text[16])
{
  return sim_net_host_address(n->host, text);
}

/* What a brick does once it runs, and again when the daemon has come back. */
static void
sign_in(void *arg)
{
  struct sim_node *n = arg;
  gi_list_foreach(v, &n->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (v->bricks[i].state == GD_PROC_UP && !v->bricks[i].signed_in)
        gd_brick_signed_in(&v->bricks[i], v->bricks[i].port);
  sim_event_set(n->all->w, &n->sign_in, SIGN_IN);
}

static void
boot(void *arg)
{
  struct sim_node *n = arg;
  char address[16];
  GI_CLEANUP_FREE char *work = gi_asprintf("%s/state", n->dir), *run = gi_asprintf("%s/run", n->dir),
                       *log = gi_asprintf("%s/log", n->dir);
  sim_node_address(n, address);
  struct gd_config config = {.workdir = work,
                             .rundir = run,
                             .logdir = log,
                             .sockfile = address, /* nobody comes over the unix socket: a simulated host has none */
                             .pidfile = run,
                             .logfile = log,
                             .bind = address,
                             .port = 24007,
                             .base_port = 49152,
                             .max_port = 60999};
  if (gd_mkdir_all(work, 0755, &n->why) || gd_mkdir_all(run, 0755, &n->why) || gd_mkdir_all(log, 0755, &n->why))
    return;
  n->gd = gd_new(&n->reactor->base, &config);
  gd_map_free(&n->gd->map);
  n->gd->map = n->all->map;
  n->gd->new_key_store = open_store;
  if (gd_start(n->gd, &n->why))
    return;
  n->id = n->gd->uuid;
  sim_event_set(n->all->w, &n->sign_in, SIGN_IN);
}

void
sim_node_start(struct sim_node *n)
{
  GI_ASSERT(!n->reactor);
  n->incarnation++;
  n->why.code = 0;
  n->reactor = sim_reactor_new(n->all->w, (n->n + 1) | n->incarnation << 8, "daemon", 1);
  n->reactor->host = n->host;
  if (n->all->w->net->host[n->host].off)
    sim_net_power(n->all->w->net, n->host, true);
  sim_event_init(&n->sign_in, n->reactor, "sign in", sign_in, n);
  sim_reactor_call(n->reactor, boot, n);
  if (n->why.code)
    sim_violation(n->all->w, "node %u does not start: %s", n->n, n->why.text);
}

void
sim_nodes_mend(struct sim_nodes *all)
{
  for (unsigned i = 0; i < all->nstores; i++) {
    all->stores[i].store->down = 0;
    memset(all->stores[i].store->cut, 0, sizeof(all->stores[i].store->cut));
  }
}

void
sim_node_crash(struct sim_node *n, bool silent)
{
  if (!n->reactor)
    return;
  sim_event_cancel(n->all->w, &n->sign_in);
  sim_reactor_kill(n->reactor);
  sim_net_abandon(n->all->w->net, n->reactor, silent);
  sim_processes_forget(n->reactor);
  for (unsigned i = 0; i < n->all->nstores; i++)
    sim_store_abandon(n->all->stores[i].store, n->reactor);
  if (silent) {
    sim_net_power(n->all->w->net, n->host, false);
    sim_processes_kill(n->host);
  }
  n->reactor = NULL; /* and all of its memory is abandoned */
  n->gd = NULL;
}

void
sim_nodes_run(struct sim_nodes *all, uint64_t ns, const bool *stop)
{
  uint64_t until = all->w->now + ns;
  while (!(stop && *stop) && sim_world_step(all->w, until))
    if (all->dies) {
      sim_node_crash(all->mortal, false);
      all->dies = false;
      all->mortal = NULL;
    }
}

struct sim_nodes *
sim_nodes_new(struct sim_world *w, unsigned n)
{
  struct sim_nodes *all = gi_new(struct sim_nodes);
  GI_ASSERT(n <= NODES_MAX);
  now = all;
  all->w = w;
  all->n = n;
  snprintf(all->dir, sizeof(all->dir), "%s/gd-sim.XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
  if (!mkdtemp(all->dir))
    sim_violation(w, "no directory for the run: %s", strerror(errno));
  all->map = gd_map_new();
  sim_processes_new(w);
  for (unsigned i = 0; i < n; i++) {
    char name[16];
    snprintf(name, sizeof(name), "node%u", i);
    all->node[i] = (struct sim_node){.all = all, .n = i, .dir = gi_asprintf("%s/%u", all->dir, i)};
    all->node[i].host = sim_net_host(w->net, name);
  }
  return all;
}

void
sim_nodes_free(struct sim_nodes **ref)
{
  struct sim_nodes *all = *ref;
  struct gi_error err = {0};
  *ref = now = NULL;
  for (unsigned i = 0; i < all->n; i++) {
    sim_node_crash(&all->node[i], false);
    gi_free(all->node[i].dir);
  }
  for (unsigned i = 0; i < all->nstores; i++)
    sim_store_free(&all->stores[i].store);
  sim_processes_free();
  gd_map_free(&all->map);
  if (gd_remove_tree(all->dir, &err))
    sim_violation(all->w, "%s", err.text);
  gi_free(all);
}

/* ---- commands ---- */

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  struct sim_command *c = op->arg;
  c->answered = true;
  c->err = err ? *err : (struct gi_error){0};
}

static void
begin(void *arg)
{
  struct sim_command *c = arg;
  gd_op_begin(c->node->gd, c->text, c->proc, false, NULL, answered, c);
}

/* The text with DIR as what it stands for. */
static char *
expand(const struct sim_nodes *all, const char *text)
{
  char *out = NULL;
  size_t len;
  FILE *f = open_memstream(&out, &len);
  GI_ASSERT(f != NULL);
  for (const char *p = text; *p; p++) {
    bool dir = strncmp(p, "DIR", 3) == 0;
    fprintf(f, "%.*s", dir ? (int)strlen(all->dir) : 1, dir ? all->dir : p);
    p += dir ? 2 : 0;
  }
  GI_ASSERT(fclose(f) == 0);
  return out;
}

struct sim_command *
sim_command_new(struct sim_node *n, uint32_t proc, const char *fmt, ...)
{
  char text[4096];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  struct sim_command *c = gi_new(struct sim_command);
  *c = (struct sim_command){.node = n, .incarnation = n->incarnation, .proc = proc, .text = expand(n->all, text)};
  GI_ASSERT(n->reactor);
  sim_reactor_call(n->reactor, begin, c);
  return c;
}

/* Of a command that was not answered the memory is abandoned with its daemon's. */
void
sim_command_free(struct sim_command **ref)
{
  struct sim_command *c = *ref;
  *ref = NULL;
  if (!c || (!c->answered && c->node->incarnation == c->incarnation && c->node->reactor))
    return;
  free(c->text);
  gi_free(c);
}

void
sim_command_wait(struct sim_command *c, uint64_t ns)
{
  struct sim_nodes *all = c->node->all;
  uint64_t until = all->w->now + ns;
  while (!c->answered && c->node->reactor && c->node->incarnation == c->incarnation && all->w->now < until)
    sim_nodes_run(all, STEP, &c->answered);
}

/* ---- agreement ---- */

struct agreement {
  struct sim_nodes *all;
  const struct sim_node *node;
  char *why;
  size_t size;
  bool ok;
};

static bool __attribute__((format(printf, 2, 3))) differ(struct agreement *a, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  if (a->ok)
    vsnprintf(a->why, a->size, fmt, ap);
  va_end(ap);
  return a->ok = false;
}

/* A brick's process that no volume of its node wants. */
static void
check_brick(void *arg, pid_t pid, const char *path)
{
  struct agreement *a = arg;
  struct gd *gd = a->node->gd;
  bool wanted = false;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      wanted |= v->status == GD_STARTED && gi_gfid_equal(&v->bricks[i].node, &gd->uuid) && strcmp(v->bricks[i].path, path) == 0;
  if (!wanted)
    differ(a, "node %u: a process serves %s, which is no brick of a started volume there", a->node->n, path);
}

static void
check_healer(void *arg, pid_t pid, const char *id)
{
  struct agreement *a = arg;
  const struct gd_volume *v = strncmp(id, "shd/", 4) == 0 ? gd_volume_find(a->node->gd, id + 4) : NULL;
  if (strncmp(id, "shd/", 4) == 0 && (!v || gd_shd_pid(v) != pid))
    differ(a, "node %u: a self-heal daemon runs for %s that nobody wants", a->node->n, id + 4);
}

static bool
check_volume(struct agreement *a, const struct gd_volume *v)
{
  const struct sim_node *n = a->node;
  if (v->busy)
    return differ(a, "node %u: volume %s is busy", n->n, v->name);
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if (!gi_gfid_equal(&b->node, &n->gd->uuid) || v->status != GD_STARTED)
      continue;
    if (!gd_brick_online(b) || sim_process_with(n->host, b->path) != b->pid)
      return differ(a, "node %u: brick %s of started volume %s is not online", n->n, b->path, v->name);
  }
  return a->ok;
}

/* What the store has of it is what the node has. */
static bool
check_stored(struct agreement *a, const struct gd_key_pair *p)
{
  const struct sim_node *n = a->node;
  const char *name = p->key + strlen(GD_PREFIX "volume/");
  const struct gd_volume *v = gd_volume_find(n->gd, name);
  if (!v)
    return differ(a, "node %u: volume %s of the store is not known", n->n, name);
  struct gd_volume *stored = gd_definition_read(n->gd, name, p->value, NULL);
  if (!stored || !gi_gfid_equal(&stored->id, &v->id) || !gd_definition_same(stored, v))
    differ(a, "node %u: volume %s is not as in the store: %s", n->n, name, p->value);
  gd_volume_free(stored);
  return a->ok;
}

/* All know one secret, the one that the store has. */
static bool
check_secret(struct agreement *a, struct sim_store *s)
{
  const struct sim_node *n = a->node;
  const struct gd_key_pair *stored = sim_store_get(s, GD_SECRET_KEY);
  unsigned generation = gd_secret_generation(stored ? stored->value : NULL);
  if (n->gd->pool->generation != generation)
    return differ(a, "node %u: its secret is of generation %u, in the store it is %u", n->n, n->gd->pool->generation,
                  generation);
  for (unsigned i = 0; i < a->all->n; i++) {
    const struct gd *other = a->all->node[i].gd;
    if (other && sim_node_store(&a->all->node[i]) == s &&
        memcmp(other->pool->secret, n->gd->pool->secret, sizeof(other->pool->secret)) != 0)
      return differ(a, "nodes %u and %u know different secrets", n->n, i);
  }
  return a->ok;
}

/* Is the node's certificate of that authority? */
static bool
is_signed(const char *dir, const char *authority)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/node.pem", dir);
  BIO *one = BIO_new_file(path, "r"), *other = BIO_new_mem_buf(authority, -1);
  X509 *cert = one ? PEM_read_bio_X509(one, NULL, NULL, NULL) : NULL, *ca = PEM_read_bio_X509(other, NULL, NULL, NULL);
  bool is = cert && ca && X509_verify(cert, X509_get0_pubkey(ca)) == 1;
  X509_free(cert);
  X509_free(ca);
  BIO_free(one);
  BIO_free(other);
  return is;
}

/* The pool's credentials of TLS are those of the store, and in force. */
static bool
check_encryption(struct agreement *a, const struct sim_store *s)
{
  const struct gd *gd = a->node->gd;
  const struct gd_key_pair *p = sim_store_get(s, GD_ENCRYPTION_KEY);
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  json_t *stored = p ? json_loads(p->value, 0, NULL) : NULL, *own = gd_authority_load(dir);
  const char *mode = stored ? json_string_value(json_object_get(stored, "mode")) : "off";
  const char *is = !gd->tls ? "off" : gd->tls_optional ? "both" : "required";
  json_object_del(stored, "sealed");
  json_object_del(own, "key");
  if (!json_equal(stored, own) && (stored || own))
    differ(a, "node %u: the credentials of TLS are not those of the store", a->node->n);
  if (stored && !is_signed(dir, json_string_value(json_object_get(stored, "certificate"))))
    differ(a, "node %u: its certificate is of another authority", a->node->n);
  if (!mode || strcmp(mode, is) != 0)
    differ(a, "node %u: TLS is %s instead of %s", a->node->n, is, mode);
  json_decref(stored);
  json_decref(own);
  return a->ok;
}

static bool
check_node(struct agreement *a, const struct sim_store *s)
{
  const struct sim_node *n = a->node;
  unsigned nodes = 0, volumes = 0, own = 0;
  char uuid[GI_UUID_TEXT];
  for (unsigned i = 0; i < s->keys.n; i++) {
    const char *key = s->keys.pair[i].key;
    struct gi_gfid id;
    if (strncmp(key, GD_PREFIX "volume/", strlen(GD_PREFIX "volume/")) == 0)
      volumes += check_stored(a, &s->keys.pair[i]);
    if (strncmp(key, GD_PREFIX "node/", strlen(GD_PREFIX "node/")) != 0)
      continue;
    nodes++;
    if (!gi_gfid_parse(key + strlen(GD_PREFIX "node/"), &id) ||
        (!gi_gfid_equal(&id, &n->gd->uuid) && !gd_node_find(n->gd, &id)))
      return differ(a, "node %u: %s of the store is not known", n->n, key);
    own += gi_gfid_equal(&id, &n->gd->uuid);
  }
  if (!own)
    return differ(a, "node %u (%s) is not in the store of its pool", n->n, gi_gfid_text(&n->gd->uuid, uuid));
  if (gd_node_at(n->gd, nodes - 1))
    return differ(a, "node %u: it knows nodes that the store does not", n->n);
  if (!check_encryption(a, s))
    return false;
  gi_list_foreach(v, &n->gd->volumes, struct gd_volume, link)
    volumes -= a->ok;
  return volumes && a->ok ? differ(a, "node %u: it has volumes that the store does not", n->n) : a->ok;
}

bool
sim_nodes_agree(struct sim_nodes *all, char *why, size_t size)
{
  struct agreement a = {.all = all, .why = why, .size = size, .ok = true};
  for (unsigned i = 0; i < all->n && a.ok; i++) {
    a.node = &all->node[i];
    if (!a.node->gd)
      continue;
    struct sim_store *s = sim_node_store(a.node);
    if (s && sim_store_get(s, GD_PREFIX "lock"))
      differ(&a, "the lock is held");
    if (s)
      check_node(&a, s);
    if (s)
      check_secret(&a, s);
    gi_list_foreach(v, &a.node->gd->volumes, struct gd_volume, link)
      check_volume(&a, v);
    sim_processes_foreach(a.node->host, "--brick-name", check_brick, &a);
    sim_processes_foreach(a.node->host, "--volfile-id", check_healer, &a);
  }
  return a.ok;
}
