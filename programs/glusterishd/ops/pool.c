/* SPDX-License-Identifier: Apache-2.0
 *
 * A node comes into the pool: peer probe from inside (cli.md 5.16), or pool
 * join with a token from outside. Both take the same way:
 *
 *   greeting, checks -> (the first time) the store begins with what is in the
 *   files -> lock -> member of the store, as learner -> its key -> invitation
 *
 * A failure on the way takes back what was done. Until the node has taken the
 * invitation its key goes with the lock: were this node to die, nobody would
 * know of the other one, which leaves when it finds that out.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>

#define GREETING_NS (4 * GI_NSEC_PER_SEC)
#define BEGIN_NS (30 * GI_NSEC_PER_SEC) /* until a new store answers, or a learner has caught up */
#define LOOK_NS (100 * GI_NSEC_PER_MSEC)
#define INVITE_MS 10000
#define MSG (GI_MSG_MGMT + 160)

struct admit {
  struct gd_op *op;
  struct gd_link *link; /* to the new node; NULL: it asked */
  char *host, *address; /* how it is called; in numbers */
  char *own;            /* this node's address as it sees it */
  char *key;            /* of the new node, for what it alone may read */
  char *member;         /* its ID in the store; NULL: none */
  char *initial;        /* what its etcd begins with; NULL: it gets none */
  struct gi_gfid id;
  int port;
  bool begun;    /* the pool, by this */
  bool promoted; /* the second member of the store, by this: the two come to know each other now */
  bool recovers; /* nobody comes: the store is made anew */
  uint64_t until;
  struct gi_timer timer;
  void (*next)(struct admit *c); /* when the timer fires */
};

/* ---- life ---- */

static void
release(struct gd_op *op)
{
  struct admit *c = op->state;
  gd_link_free(&c->link); /* what it was asked is answered, which sets the timer */
  gi_timer_finish(&c->timer);
  gi_free(c->host);
  gi_free(c->address);
  gi_free(c->own);
  gi_free(c->key);
  gi_free(c->member);
  gi_free(c->initial);
  gi_free(c);
}

static void
fired(void *arg)
{
  struct admit *c = arg;
  c->next(c);
}

static struct admit *
admit_new(struct gd_op *op, const char *host)
{
  struct admit *c = gi_new(struct admit);
  c->op = op;
  c->host = gi_strdup(host);
  gi_timer_init(&c->timer, op->gd->reactor, fired, c);
  op->state = c;
  op->release = release;
  return c;
}

static void
soon(struct admit *c, void (*next)(struct admit *c), uint64_t ns)
{
  c->next = next;
  gi_timer_set(&c->timer, ns);
}

static bool
patient(const struct admit *c)
{
  return gi_now(c->op->gd->reactor) < c->until;
}

static bool
is_without_majority(int code)
{
  return code == ETIMEDOUT || code == EHOSTUNREACH || code == GD_UNSURE;
}

/* Is it to be tried again? A store that has just begun, or has another voter, takes its time. One that was there a moment ago was waited for
 * as long as any command does, and has lost its majority. */
static bool
tries_again(const struct admit *c, int code)
{
  return patient(c) && (c->begun || c->promoted || !is_without_majority(code));
}

/* ---- taking back ---- */

static void
end(struct admit *c)
{
  struct gd *gd = c->op->gd;
  bool dissolve = c->begun && c->op->problem.code;
  gd_op_finish(c->op, &c->op->problem);
  if (dissolve)
    gd_pool_dissolve(gd);
}

/* Never from inside of a link's answer: it is freed with the op. */
static void
end_soon(struct admit *c)
{
  soon(c, end, 0);
}

static void
removed(void *arg, const struct gd_key_answer *a)
{
  end_soon(arg);
}

static void
key_gone(struct gd_op *op, const struct gi_error *err)
{
  struct admit *c = op->state;
  struct gd_key_store *kv = op->gd->pool->kv;
  if (c->member)
    kv->ops->member(kv, GD_KEY_REMOVE, c->member, removed, c);
  else
    end_soon(c);
}

static void
take_back(struct admit *c, int code, const char *why)
{
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&c->id, uuid));
  struct gd_key_put put = {key, NULL, 0};
  gi_error_set(&c->op->problem, code, "%s", why);
  /* Without a majority nothing can be taken back either: the key goes with the lock, and then the member, which is nobody's. */
  if (c->op->lock && c->op->gd->pool && !is_without_majority(code))
    gd_commit_keys(c->op, &put, 1, key_gone);
  else
    end_soon(c);
}

static void put_key(struct admit *c, int64_t lease, gd_committed_fn *fn);
static void try_key(struct admit *c);

/* ---- the end: it is there ---- */

static void
settled(struct gd_op *op)
{
  op->problem.code = 0; /* a brick that does not run is no matter of this */
  end_soon(op->state);
}

static void
wait_connected(struct admit *c)
{
  const struct gd_node *n = gd_node_find(c->op->gd, &c->id);
  if ((n && gd_node_connected(n)) || !patient(c))
    gd_settle(c->op, "", false, settled);
  else
    soon(c, wait_connected, LOOK_NS);
}

static void
known(void *arg, const struct gi_error *err)
{
  struct admit *c = arg;
  c->until = gi_now(c->op->gd->reactor) + BEGIN_NS / 3;
  wait_connected(c);
}

static void stays(struct admit *c);

static void
stayed(struct gd_op *op, const struct gi_error *err)
{
  struct admit *c = op->state;
  if (err->code == GD_UNSURE && tries_again(c, err->code))
    soon(c, stays, LOOK_NS);
  else if (err->code)
    take_back(c, err->code, err->text);
  else
    gd_follow_refresh(op->gd->pool->follow, known, c);
}

/* It has come: its key does not go with the lock any more. */
static void
stays(struct admit *c)
{
  put_key(c, 0, stayed);
}

static void
invited(void *arg, int code, const json_t *reply)
{
  struct admit *c = arg;
  const char *why = json_string_value(json_object_get(reply, "error"));
  if (code || why)
    take_back(c, code ? code : EINVAL, why ? why : strerror(code));
  else
    stays(c);
}

static void
keyed(struct gd_op *op, const struct gi_error *err)
{
  struct admit *c = op->state;
  if (err->code == GD_UNSURE && tries_again(c, err->code)) {
    soon(c, try_key, LOOK_NS);
    return;
  }
  if (err->code) {
    take_back(c, err->code, err->text);
    return;
  }
  json_t *invitation = gd_pool_invitation(op->gd, c->initial);
  json_object_set_new(invitation, "host", json_string(c->host));
  json_object_set_new(invitation, "address", json_string(c->address));
  if (c->link) {
    GI_ASSERT(gd_is_node_key(c->key));
    if (gd_secret_seal(op->gd, invitation, c->key)) {
      gd_link_call(c->link, GD_NODE_INVITE, invitation, INVITE_MS, invited, c);
    } else {
      json_decref(invitation);
      take_back(c, EPROTO, "the key of the new node is no key");
    }
    return;
  }
  json_object_update_new(op->out, invitation);
  end_soon(c);
}

static void
put_key(struct admit *c, int64_t lease, gd_committed_fn *fn)
{
  char uuid[GI_UUID_TEXT];
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&c->id, uuid));
  json_t *doc = json_pack("{s:s,s:[s],s:i,s:s}", "uuid", uuid, "hosts", c->host, "port", c->port, "version", GI_VERSION);
  if (c->key)
    json_object_set_new(doc, "key", json_string(c->key));
  char *text = json_dumps(doc, JSON_COMPACT);
  GI_CLEANUP_FREE char *encryption = gd_encryption_with(c->op->gd, &c->id);
  struct gd_key_put puts[] = {{key, text, lease}, {GD_ENCRYPTION_KEY, encryption, 0}};
  gd_commit_keys(c->op, puts, encryption ? 2 : 1, fn);
  free(text);
  json_decref(doc);
}

/* Whoever joins with a token is told, and then cannot be waited for. */
static void
try_key(struct admit *c)
{
  put_key(c, c->link ? gd_lock_lease(c->op) : 0, keyed);
}

/* ---- a member of the store ---- */

static void add_member(struct admit *c);

static bool
adds_again(struct admit *c, const struct gd_key_answer *a)
{
  bool again = a->code && tries_again(c, a->code) && (a->code == ETIMEDOUT || strstr(a->why, "too many learner"));
  if (again)
    soon(c, add_member, LOOK_NS);
  return again;
}

static void
use_members(struct admit *c, const json_t *members, const char *url)
{
  c->initial = gd_members_text(members, url, &c->id, &c->member);
  try_key(c);
}

static void
added(void *arg, const struct gd_key_answer *a)
{
  struct admit *c = arg;
  GI_CLEANUP_FREE char *url = gd_etcd_url(a->members, c->address, c->port);
  if (adds_again(c, a))
    return;
  if (a->code)
    take_back(c, is_without_majority(a->code) ? a->code : EIO, a->why);
  else
    use_members(c, a->members, url);
}

static const json_t *
member_at(const json_t *members, const char *url)
{
  for (size_t i = 0; i < json_array_size(members); i++) {
    const json_t *m = json_array_get(members, i);
    const char *its = json_string_value(json_array_get(json_object_get(m, "peerURLs"), 0));
    if (its && strcmp(its, url) == 0)
      return m;
  }
  return NULL;
}

static void
promoted(void *arg, const struct gd_key_answer *a)
{
  struct admit *c = arg;
  c->promoted |= !a->code || is_without_majority(a->code);
  if (a->code && !patient(c))
    take_back(c, EIO, "the second node's store has not caught up with the first one's: try again later");
  else
    soon(c, add_member, a->code ? LOOK_NS : 0);
}

/* There is room for one learner at a time: the one there is votes first. */
static void
counted(void *arg, const struct gd_key_answer *a)
{
  struct admit *c = arg;
  struct gd_key_store *kv = c->op->gd->pool->kv;
  GI_CLEANUP_FREE char *url = gd_etcd_url(a->members, c->address, c->port);
  if (adds_again(c, a))
    return;
  if (a->code) {
    take_back(c, a->code, a->why);
    return;
  }
  if (member_at(a->members, url)) { /* it was added, and that was not heard */
    use_members(c, a->members, url);
    return;
  }
  for (size_t i = 0; i < json_array_size(a->members); i++) {
    const json_t *m = json_array_get(a->members, i);
    if (json_is_true(json_object_get(m, "isLearner"))) {
      kv->ops->member(kv, GD_KEY_PROMOTE, json_string_value(json_object_get(m, "ID")), promoted, c);
      return;
    }
  }
  if (json_array_size(a->members) < GD_VOTERS_MAX)
    kv->ops->member(kv, GD_KEY_ADD_LEARNER, url, added, c);
  else
    try_key(c);
}

static void
add_member(struct admit *c)
{
  struct gd_key_store *kv = c->op->gd->pool->kv;
  if (c->op->gd->config.site) { /* the site's members are the site's */
    try_key(c);
    return;
  }
  kv->ops->members(kv, counted, c);
}

static void
locked(struct gd_op *op, const struct gi_error *err)
{
  struct admit *c = op->state;
  if (err->code) {
    op->problem = *err;
    end_soon(c);
    return;
  }
  c->until = gi_now(op->gd->reactor) + BEGIN_NS;
  add_member(c);
}

/* ---- the store begins ---- */

static void try_store(struct admit *c);

static void
stored(void *arg, const struct gd_key_answer *a)
{
  struct admit *c = arg;
  bool site = c->op->gd->config.site != NULL;
  bool filled = !a->code || (a->code == ESTALE && !site); /* it was, and that was not heard */
  if (filled && c->recovers) {
    gd_follow_refresh(c->op->gd->pool->follow, NULL, NULL);
    end_soon(c);
  } else if (filled)
    gd_lock_take(c->op, locked);
  else if (patient(c) && a->code != EIO && a->code != EEXIST)
    soon(c, try_store, LOOK_NS);
  else if (site) {
    gi_error_set(&c->op->problem, GD_ERR_MGMT, "%s", a->why);
    end_soon(c);
  } else {
    gi_error_set(&c->op->problem, GD_ERR_MGMT, "the pool's store does not start here: %s. Its log file is %s/store.log", a->why,
                 c->op->gd->config.logdir);
    end_soon(c);
  }
}

static void
try_store(struct admit *c)
{
  gd_pool_fill(c->op->gd, stored, c);
}

/* ---- pool recover ---- */

int
gd_op_recover(struct gd_op *op, struct gi_error *err)
{
  if (!op->gd->pool)
    return gi_error_set(err, EINVAL, "this node is in no pool");
  if (!gd_op_flag(op, "force-new"))
    return gi_error_set(err, EINVAL, "the request does not say that the store is to be made anew");
  if (gd_pool_renew(op->gd, err))
    return GD_OP_FAILED;
  struct admit *c = admit_new(op, "localhost");
  c->recovers = true;
  c->until = gi_now(op->gd->reactor) + BEGIN_NS;
  soon(c, try_store, LOOK_NS);
  return GD_OP_LATER;
}

/* Everything about the new node is known and good. */
static int
go_on(struct admit *c, struct gi_error *err)
{
  struct gd_op *op = c->op;
  if (op->gd->pool) {
    if (op->lock)
      locked(op, &(struct gi_error){0});
    else
      gd_lock_take(op, locked);
    return 0;
  }
  if (gd_pool_begin(op->gd, c->own, err))
    return -1;
  c->begun = true;
  c->until = gi_now(op->gd->reactor) + BEGIN_NS;
  soon(c, try_store, LOOK_NS);
  return 0;
}

/* ---- may it come? ---- */

static bool
has_our_volume(const struct gd *gd, const json_t *volumes)
{
  for (size_t i = 0; i < json_array_size(volumes); i++)
    if (gd_volume_find((struct gd *)(uintptr_t)gd, json_string_value(json_array_get(volumes, i))))
      return true;
  return false;
}

/* It has the uuid of a node of this pool. */
static int
already_there(const struct admit *c, const char *pool, struct gi_error *err)
{
  char ours[GI_UUID_TEXT];
  if (pool && strcmp(pool, gi_gfid_text(&c->op->gd->pool->id, ours)) == 0)
    return gi_error_set(err, EEXIST, "Host %s port %d already in peer list", c->host, c->port);
  return gi_error_set(
      err, EINVAL,
      "Peer uuid (host %s) is same as that of node %s, and it is not part of the pool. A cloned machine needs a uuid "
      "of its own: remove %s/glusterd.info there. If it is that node, without its state: detach it first",
      c->host, gd_node_host(c->op->gd, &c->id), c->op->gd->config.workdir);
}

static int
check_version(const struct gd *gd, const char *host, const json_t *g, struct gi_error *err)
{
  const char *version = json_string_value(json_object_get(g, "version"));
  json_int_t op_version = json_integer_value(json_object_get(g, "opVersion"));
  if (op_version && op_version < gd_pool_level(gd))
    return gi_error_set(err, EPROTO,
                        "%s runs version %.64s, whose operating version is %d, and the pool has %u: upgrade it first", host,
                        version ? version : "(none)", (int)op_version, gd_pool_level(gd));
  if (!op_version && (!version || strcmp(version, GI_VERSION) != 0))
    return gi_error_set(err, EPROTO, "%s has version %.64s, this node has " GI_VERSION, host, version ? version : "(none)");
  return 0;
}

static int
check_newcomer(struct admit *c, const json_t *g, struct gi_error *err)
{
  const struct gd *gd = c->op->gd;
  const char *uuid = json_string_value(json_object_get(g, "uuid"));
  const char *pool = json_string_value(json_object_get(g, "pool"));
  json_int_t port = json_integer_value(json_object_get(g, "port"));
  if (!uuid || !gi_gfid_parse(uuid, &c->id) || port < 1 || port > 65535)
    return gi_error_set(err, EINVAL, "%s did not say who it is", c->host);
  c->port = (int)port;
  if (gi_gfid_equal(&c->id, &gd->uuid))
    return gi_error_set(err, EINVAL, "Peer uuid (host %s) is same as local uuid", c->host);
  if (gd_node_find(gd, &c->id))
    return already_there(c, pool, err);
  if (gd_nodes_full(gd))
    return gi_error_set(err, EINVAL, "The pool has %d nodes: there is no room for more", GD_NODES_MAX);
  if (check_version(gd, c->host, g, err))
    return -1;
  if (has_our_volume(gd, json_object_get(g, "volumes")))
    return gi_error_set(err, EEXIST, "At least one volume on %s conflicts with existing volumes in the cluster", c->host);
  if ((pool && *pool) || json_array_size(json_object_get(g, "volumes")))
    return gi_error_set(err, EEXIST, "%s is either already part of another cluster or having volumes configured", c->host);
  return 0;
}

/* ---- peer probe ---- */

/* Nobody overhears the secret. */
static int
check_key(struct admit *c, const json_t *greeting, struct gi_error *err)
{
  const char *key = json_string_value(json_object_get(greeting, "key"));
  if (!gd_is_node_key(key))
    return gi_error_set(err, EPROTO,
                        "%s runs a version to which nothing can be told in secret: upgrade it, or have it join with a token",
                        c->host);
  c->key = gi_strdup(key);
  return 0;
}

/* Where TLS is demanded nobody is invited without. */
static void
tell_unreachable(struct gd_op *op)
{
  gi_error_set(&op->problem, ENOTCONN, "Probe returned with Transport endpoint is not connected%s",
               op->gd->tls && !op->gd->tls_optional ? " in TLS. A node that has no credentials yet comes with pool join" : "");
}

static void
greeted(void *arg, const json_t *greeting)
{
  struct admit *c = arg;
  struct gd_op *op = c->op;
  char own[64], its[64];
  gi_timer_cancel(&c->timer);
  if (!greeting || !gd_link_own_address(c->link, own, sizeof(own)) || !gd_link_its_address(c->link, its, sizeof(its)))
    tell_unreachable(op);
  else if (!check_newcomer(c, greeting, &op->problem))
    GI_IGNORE(check_key(c, greeting, &op->problem));
  if (op->problem.code == EEXIST && gd_node_find(op->gd, &c->id)) { /* that node, by another name */
    json_object_set_new(op->out, "message", json_string(op->problem.text));
    op->problem.code = 0;
    end_soon(c);
    return;
  }
  if (!op->problem.code) {
    c->own = gi_strdup(own);
    c->address = gi_strdup(its);
    GI_IGNORE(go_on(c, &op->problem));
  }
  if (op->problem.code)
    end_soon(c);
}

static void
no_greeting(struct admit *c)
{
  tell_unreachable(c->op);
  end(c);
}

int
gd_op_probe(struct gd_op *op, struct gi_error *err)
{
  const char *host = gd_op_str(op, "host");
  struct gd_node *n;
  if (!host)
    return gi_error_set(err, EINVAL, "the request names no host");
  if (gd_node_named(op->gd, host, &n)) {
    json_object_set_new(op->out, "message",
                        n ? json_sprintf("Host %s port %d already in peer list", host, n->port)
                          : json_string("Probe on localhost not needed"));
    return GD_OP_DONE;
  }
  struct admit *c = admit_new(op, host);
  c->link = gd_link_new(op->gd, NULL, greeted, c);
  soon(c, no_greeting, GREETING_NS);
  gd_link_connect(c->link, &c->host, 1, op->gd->config.port);
  return GD_OP_LATER;
}

/* ---- a node that asks, with a token ---- */

/* Nodes that joined are known by their addresses, whatever name people have for them. */
static const struct gd_node *
called(const struct gd *gd, const char *name)
{
  const struct gd_node *n = gd_node_of_host(gd, name);
  GI_CLEANUP_FREE char *number = n ? NULL : gd_host_number(gd, name, 0);
  return number ? gd_node_seen_at(gd, number) : n;
}

/* A node that lost its files is again what it was. Nothing changes in the pool, which knows its key, its bricks and its addresses; so it
 * needs no majority either. */
static int
admit_again(struct gd_op *op, const char *as, const char *address, struct gi_error *err)
{
  const struct gd_node *n = called(op->gd, as);
  char uuid[GI_UUID_TEXT];
  if (!n)
    return gi_error_set(err, ENOENT, "%.200s is no other node of this pool (see pool list)", as);
  if (gd_node_connected(n))
    return gi_error_set(err, EEXIST, "node %.200s is there: nobody else can be it", as);
  if (check_version(op->gd, as, op->in, err))
    return GD_OP_FAILED;
  json_t *invitation = gd_pool_invitation(op->gd, NULL);
  json_object_update_new(invitation, json_pack("{s:s,s:s,s:s,s:s}", "as", as, "uuid", gi_gfid_text(&n->id, uuid), "host",
                                               n->hosts[0], "address", address));
  json_object_update_new(op->out, invitation);
  gi_log(GI_LOG_WARNING, GD_NAME, MSG, "node %s has lost its files and comes back from %s", as, address);
  return GD_OP_DONE;
}

int
gd_op_node_admit(struct gd_op *op, struct gi_error *err)
{
  const char *address = gd_op_str(op, "address"), *own = gd_op_str(op, "own"), *as = gd_op_str(op, "as");
  if (!address || !own)
    return gi_error_set(err, EINVAL, "the request names no address");
  if (as)
    return admit_again(op, as, address, err);
  const struct gd_node *known = gd_node_seen_at(op->gd, address);
  if (known && !gd_node_connected(known))
    return gi_error_set(err, EEXIST,
                        "%s is the address of node %s of this pool. If that has lost its files and is to come back, say so: "
                        "pool join TOKEN@HOST as %s; if it is gone, detach or replace it first",
                        address, known->hosts[0], known->hosts[0]);
  struct admit *c = admit_new(op, address);
  c->address = gi_strdup(address);
  c->own = gi_strdup(own);
  c->key = gd_is_node_key(gd_op_str(op, "key")) ? gi_strdup(gd_op_str(op, "key")) : NULL;
  return check_newcomer(c, op->in, err) || go_on(c, err) ? GD_OP_FAILED : GD_OP_LATER;
}
