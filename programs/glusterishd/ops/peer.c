/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of the pool (cli.md 5.16): peer status, pool list; and joining a
 * pool from outside with a token, which is worth one node for a while. The token
 * itself never travels: both sides prove that they have it, and what the new
 * node is told of the pool's secret is hidden with it.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/doors.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define TOKEN_BYTES 16
#define TOKEN_LIFE (15 * 60 * GI_NSEC_PER_SEC)
#define STATE_IN_CLUSTER 3
#define JOIN_MS 60000
#define GREETING_NS (4 * GI_NSEC_PER_SEC)
#define MSG (GI_MSG_MGMT + 170)

/* ---- peer status, pool list ---- */

int
gd_op_peers(struct gd_op *op, struct gi_error *err)
{
  char uuid[GI_UUID_TEXT];
  json_t *list = json_array();
  const struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(op->gd, i)) != NULL; i++) {
    json_t *doc = gd_node_doc(n);
    json_array_append_new(list, json_pack("{s:s,s:s,s:O,s:b,s:i}", "uuid", gi_gfid_text(&n->id, uuid), "hostname", n->hosts[0],
                                          "hostnames", json_object_get(doc, "hosts"), "connected", gd_node_connected(n),
                                          "state", STATE_IN_CLUSTER));
    json_decref(doc);
  }
  json_object_set_new(op->out, "peers", list);
  json_object_set_new(op->out, "uuid", json_string(gi_gfid_text(&op->gd->uuid, uuid)));
  return GD_OP_DONE;
}

json_t *
gd_op_node_links(const struct gd *gd)
{
  json_t *list = json_array();
  const struct gd_node *n;
  for (unsigned i = 0; (n = gd_node_at(gd, i)) != NULL; i++)
    json_array_append_new(list, json_pack("{s:s,s:b,s:b}", "hostname", n->hosts[0], "connected", gd_node_connected(n),
                                          "encrypted", n->connection && gd_link_encrypted(n->connection)));
  return list;
}

/* ---- peer update: a node has another address ---- */

static int
check_address(const struct gd *gd, const struct gd_node *n, const char *address, struct gi_error *err)
{
  const struct gd_node *other = gd_node_of_host(gd, address);
  bool taken = other && other != n;
  if (!gd_is_host(address))
    return gi_error_set(err, EINVAL, "%.200s is no address", address);
  for (unsigned i = 0; n && i < gd->pool->nhosts; i++)
    taken |= strcasecmp(gd->pool->hosts[i], address) == 0;
  return taken ? gi_error_set(err, EEXIST, "%.200s is an address of another node", address) : 0;
}

/* Where the node's member of the store is to be found: where it is, if that stays one of its addresses, else at the first of them that
 * is known in numbers. NULL and err: at none. */
static char *
choose_store(const struct gd *gd, const json_t *member, const json_t *addresses, struct gi_error *err)
{
  GI_CLEANUP_FREE char *now = gd_member_host(member);
  char *first = NULL;
  for (size_t i = 0; i < json_array_size(addresses); i++) {
    char *number = gd_host_number(gd, json_string_value(json_array_get(addresses, i)), 0);
    bool stays = number && now && strcmp(number, now) == 0;
    if (stays || (number && !first)) {
      gi_free(first);
      first = number;
    } else {
      gi_free(number);
    }
    if (stays)
      break;
  }
  if (!first)
    gi_error_set(err, EINVAL, "the node is a member of the pool's store, and none of its addresses is known in numbers");
  return first;
}

static void
update_members(void *arg, const struct gd_key_answer *a)
{
  struct gd_op *op = arg;
  struct gd *gd = op->gd;
  struct gi_error err = {0};
  struct gd_node *n = NULL;
  char uuid[GI_UUID_TEXT];
  if (a->code || !gd_node_named(gd, gd_op_str(op, "host"), &n)) {
    gi_error_set(&err, GD_ERR_MGMT, "%s", a->code ? a->why : "the node has left meanwhile");
    gd_op_finish(op, &err);
    return;
  }
  const struct gi_gfid *id = n ? &n->id : &gd->uuid;
  const json_t *member = gd_member_of(a->members, id), *addresses = gd_op_strings(op, "addresses");
  GI_CLEANUP_FREE char *store = member ? choose_store(gd, member, addresses, &err) : NULL;
  if (err.code) {
    gd_op_finish(op, &err);
    return;
  }
  json_t *doc = n ? gd_node_doc(n) : gd_node_own_doc(gd);
  json_object_set_new(doc, "hosts", json_deep_copy(addresses));
  json_object_del(doc, "store");
  if (store)
    json_object_set_new(doc, "store", json_string(store));
  char *text = json_dumps(doc, JSON_COMPACT);
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(id, uuid));
  struct gd_key_put put = {key, text, 0};
  gd_commit_keys(op, &put, 1, gd_finish_everywhere);
  free(text);
  json_decref(doc);
}

int
gd_op_peer_update(struct gd_op *op, struct gi_error *err)
{
  const char *host = gd_op_str(op, "host");
  const json_t *addresses = gd_op_strings(op, "addresses");
  struct gd_node *n = NULL;
  if (!op->gd->pool || !host || !gd_node_named(op->gd, host, &n))
    return gi_error_set(err, ENOENT, "%.200s is not part of cluster", host ? host : "");
  if (!json_array_size(addresses) || json_array_size(addresses) > GD_HOSTS_MAX)
    return gi_error_set(err, EINVAL, "the request names no address, or more than %d", GD_HOSTS_MAX);
  for (size_t i = 0; i < json_array_size(addresses); i++)
    if (check_address(op->gd, n, json_string_value(json_array_get(addresses, i)), err))
      return GD_OP_FAILED;
  struct gd_key_store *kv = op->gd->pool->kv;
  kv->ops->members(kv, update_members, op);
  return GD_OP_LATER;
}

/* ---- the store is told what this node knows better ---- */

int
gd_op_node_publish(struct gd_op *op, struct gi_error *err)
{
  struct gd *gd = op->gd;
  char uuid[GI_UUID_TEXT];
  unsigned n = 0;
  if (!gd->pool)
    return gi_error_set(err, EINVAL, "this node is in no pool");
  json_t *doc = gd_node_own_doc(gd);
  char *text = json_dumps(doc, JSON_COMPACT);
  GI_CLEANUP_FREE char *key = gi_asprintf(GD_PREFIX "node/%s", gi_gfid_text(&gd->uuid, uuid)),
                       *encryption = gd_encryption_own(gd);
  struct gd_key_put puts[3];
  puts[n++] = (struct gd_key_put){key, text, 0};
  if (gd->pool->secret_doc)
    puts[n++] = (struct gd_key_put){GD_SECRET_KEY, gd->pool->secret_doc, 0};
  if (gd->pool->secret_doc && encryption)
    puts[n++] = (struct gd_key_put){GD_ENCRYPTION_KEY, encryption, 0};
  gd_commit_keys(op, puts, n, gd_finish_everywhere);
  free(text);
  json_decref(doc);
  return GD_OP_LATER;
}

/* ---- pool token ---- */

int
gd_op_token(struct gd_op *op, struct gi_error *err)
{
  struct gd *gd = op->gd;
  uint8_t bytes[TOKEN_BYTES];
  gi_random(gd->reactor, bytes, sizeof(bytes));
  gd_hex(bytes, sizeof(bytes), gd->token);
  gd->token_until = gi_now(gd->reactor) + TOKEN_LIFE;
  json_object_set_new(op->out, "token", json_string(gd->token));
  json_object_set_new(op->out, "seconds", json_integer((json_int_t)(TOKEN_LIFE / GI_NSEC_PER_SEC)));
  return GD_OP_DONE;
}

/* ---- what both sides make of a token ---- */

static void
token_mac(const char *token, const char *what, const char *challenge, const char *nonce, const char *uuid, char *buf)
{
  const char *parts[] = {what, challenge, nonce, uuid, NULL};
  gd_mac(token, strlen(token), parts, buf);
}

/* Hides the secret, or shows it again. False: it is none. */
static bool
hide(json_t *doc, const char *pad)
{
  uint8_t secret[GD_SECRET_BYTES], key[GD_SECRET_BYTES];
  char text[2 * GD_SECRET_BYTES + 1];
  if (!gd_unhex(json_string_value(json_object_get(doc, "secret")), secret, sizeof(secret)) || !gd_unhex(pad, key, sizeof(key)))
    return false;
  for (size_t i = 0; i < sizeof(secret); i++)
    secret[i] ^= key[i];
  gd_hex(secret, sizeof(secret), text);
  json_object_set_new(doc, "secret", json_string(text));
  return true;
}

/* The same of what else an invitation has to hide. */
static void
hide_more(struct gd *gd, json_t *doc, const char *pad)
{
  uint8_t key[GD_SECRET_BYTES];
  char *text = json_dumps(json_object_get(doc, "more"), JSON_COMPACT);
  GI_ASSERT(text && gd_unhex(pad, key, sizeof(key)));
  GI_CLEANUP_FREE char *sealed = gd_seal(gd->reactor, key, text);
  json_object_set_new(doc, "more", json_string(sealed));
  explicit_bzero(text, strlen(text));
  free(text);
}

static bool
show_more(json_t *doc, const char *pad)
{
  uint8_t key[GD_SECRET_BYTES];
  const char *sealed = json_string_value(json_object_get(doc, "more"));
  GI_ASSERT(gd_unhex(pad, key, sizeof(key)));
  char *text = sealed ? gd_unseal(key, sealed) : NULL;
  json_t *more = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
  bool good = !sealed || json_is_object(more); /* a version before has nothing */
  if (more)
    json_object_set_new(doc, "more", more);
  if (text)
    explicit_bzero(text, strlen(text));
  gi_free(text);
  return good;
}

/* Over the whole invitation. */
static void
seal(const char *token, const json_t *doc, const char *challenge, const char *nonce, char *buf)
{
  char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);
  token_mac(token, "invitation", challenge, nonce, text, buf);
  free(text);
}

/* ---- the pool's side ---- */

struct asked {
  char token[sizeof(((struct gd *)NULL)->token)], challenge[GD_MAC_TEXT];
  char *nonce;
};

static void
admitted(struct gd_op *op, const struct gi_error *err)
{
  struct asked *a = op->arg;
  char pad[GD_MAC_TEXT], mac[GD_MAC_TEXT];
  if (err && err->code) {
    gd_node_answer(op->req, gd_node_refusal(err->code, err->text));
  } else {
    token_mac(a->token, "secret", a->challenge, a->nonce, "", pad);
    GI_IGNORE(hide(op->out, pad));
    token_mac(a->token, "more", a->challenge, a->nonce, "", pad);
    hide_more(op->gd, op->out, pad);
    seal(a->token, op->out, a->challenge, a->nonce, mac);
    gd_node_answer(op->req, json_pack("{s:O,s:s}", "invitation", op->out, "mac", mac));
  }
  gi_free(a->nonce);
  gi_free(a);
}

void
gd_pool_join_asked(struct gd *gd, struct gi_rpc_request *req, const json_t *in)
{
  const char *uuid = json_string_value(json_object_get(in, "uuid")), *nonce = json_string_value(json_object_get(in, "nonce"));
  const char *mac = json_string_value(json_object_get(in, "mac")), *key = json_string_value(json_object_get(in, "key"));
  char wanted[GD_MAC_TEXT], own[64], its[64];
  struct sockaddr_storage sa;
  struct gi_conn *conn = gi_rpc_peer_conn(req->peer);
  bool alive = gd->token[0] && gi_now(gd->reactor) < gd->token_until;
  const char *challenge = gd_door_challenge(gd, req);
  if (uuid && nonce)
    token_mac(gd->token, "join", challenge, nonce, uuid, wanted);
  if (!alive || !uuid || !nonce || !gd_mac_same(wanted, mac)) {
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "%s asks to join with a token that is wrong or has expired", gi_conn_peer(conn));
    gd_node_answer(req, gd_node_refusal(EACCES, "the token is wrong, was used, or has expired"));
    return;
  }
  if (!gi_conn_local_address(conn, &sa) || !gd_address_text(&sa, own, sizeof(own)) || !gi_conn_peer_address(conn, &sa) ||
      !gd_address_text(&sa, its, sizeof(its))) {
    gd_node_answer(req, gd_node_refusal(ENOTCONN, "the connection has no addresses"));
    return;
  }
  struct asked *a = gi_new(struct asked);
  snprintf(a->token, sizeof(a->token), "%s", gd->token);
  snprintf(a->challenge, sizeof(a->challenge), "%s", challenge);
  a->nonce = gi_strdup(nonce);
  json_t *request = json_deep_copy(in);
  token_mac(gd->token, "key", challenge, nonce, key ? key : "", wanted);
  if (!gd_mac_same(wanted, json_string_value(json_object_get(in, "keyMac")))) /* a version before tells none */
    json_object_del(request, "key");
  gd->token[0] = '\0'; /* it is used */
  json_object_update_new(request, json_pack("{s:s,s:s,s:s}", "command", "node admit", "address", its, "own", own));
  char *text = json_dumps(request, JSON_COMPACT);
  json_decref(request);
  gd_op_begin_for_node(gd, text, 0, req, admitted, a);
  free(text);
}

/* ---- the new node's side: pool join TOKEN@HOST ---- */

struct joining {
  struct gd_op *op;
  struct gd_link *link;
  char *token, *host, *challenge;
  char *as; /* the node that this one was before it lost its files; NULL: it is new */
  char nonce[GD_MAC_TEXT];
  struct gi_timer timer;
  json_t *invitation;
};

static void
joining_release(struct gd_op *op)
{
  struct joining *j = op->state;
  gd_link_free(&j->link); /* what it was asked is answered, which sets the timer */
  gi_timer_finish(&j->timer);
  json_decref(j->invitation);
  gi_free(j->token);
  gi_free(j->host);
  gi_free(j->challenge);
  gi_free(j->as);
  gi_free(j);
}

static void
joining_end(void *arg)
{
  struct joining *j = arg;
  struct gd_op *op = j->op;
  if (!j->invitation && !op->problem.code)
    gi_error_set(&op->problem, ENOTCONN, "%s does not answer", j->host);
  else if (!op->problem.code && !gd_pool_is_virgin(op->gd))
    gi_error_set(&op->problem, EEXIST, "this node became part of a pool meanwhile");
  else if (!op->problem.code)
    GI_IGNORE(j->as ? gd_pool_return(op->gd, j->invitation, &op->problem)
                    : gd_pool_accept(op->gd, j->invitation, &op->problem));
  gd_op_finish(op, &op->problem);
}

/* What was asked is no part of the proof, and the invitation is. */
static bool
is_meant(const struct joining *j, const json_t *invitation)
{
  const char *as = json_string_value(json_object_get(invitation, "as"));
  return j->as ? as && strcmp(as, j->as) == 0 : !as;
}

static void
join_said(void *arg, int code, const json_t *reply)
{
  struct joining *j = arg;
  const char *why = json_string_value(json_object_get(reply, "error"));
  char pad[GD_MAC_TEXT], more[GD_MAC_TEXT], mac[GD_MAC_TEXT];
  json_t *invitation = json_deep_copy(json_object_get(reply, "invitation"));
  if (code || why)
    gi_error_set(&j->op->problem, code ? code : EACCES, "%s: %s", j->host, why ? why : strerror(code));
  if (!j->op->problem.code) {
    seal(j->token, invitation, j->challenge, j->nonce, mac);
    token_mac(j->token, "secret", j->challenge, j->nonce, "", pad);
    token_mac(j->token, "more", j->challenge, j->nonce, "", more);
    if (!gd_mac_same(mac, json_string_value(json_object_get(reply, "mac"))) || !hide(invitation, pad) ||
        !show_more(invitation, more))
      gi_error_set(&j->op->problem, EACCES, "%s does not know the token", j->host);
    else if (!is_meant(j, invitation))
      gi_error_set(&j->op->problem, EPROTO, "%s takes this node for another one than it says it is", j->host);
  }
  j->invitation = invitation;
  gi_timer_set(&j->timer, 0);
}

static void
join_greeted(void *arg, const json_t *greeting)
{
  struct joining *j = arg;
  struct gd *gd = j->op->gd;
  const char *challenge = json_string_value(json_object_get(greeting, "nonce"));
  char uuid[GI_UUID_TEXT], mac[GD_MAC_TEXT], key_mac[GD_MAC_TEXT];
  uint8_t nonce[GD_SECRET_BYTES];
  gi_timer_cancel(&j->timer);
  if (!challenge) {
    gi_timer_set(&j->timer, 0);
    return;
  }
  gi_random(gd->reactor, nonce, sizeof(nonce));
  gd_hex(nonce, sizeof(nonce), j->nonce);
  j->challenge = gi_strdup(challenge);
  token_mac(j->token, "join", challenge, j->nonce, gi_gfid_text(&gd->uuid, uuid), mac);
  token_mac(j->token, "key", challenge, j->nonce, gd_node_key(gd), key_mac);
  json_t *request =
      json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:[]}", "key", gd_node_key(gd), "keyMac", key_mac, "uuid", uuid, "nonce",
                j->nonce, "mac", mac, "version", GI_VERSION, "opVersion", GD_OP_VERSION, "port", gd->config.port, "volumes");
  if (j->as)
    json_object_set_new(request, "as", json_string(j->as));
  gd_link_call(j->link, GD_NODE_JOIN, request, JOIN_MS, join_said, j);
}

int
gd_op_join(struct gd_op *op, struct gi_error *err)
{
  const char *host = gd_op_str(op, "host"), *token = gd_op_str(op, "token");
  if (!host || !token)
    return gi_error_set(err, EINVAL, "the request names no token and host");
  if (!gd_pool_is_virgin(op->gd))
    return gi_error_set(err, EEXIST, op->gd->pool ? "this node is part of a pool" : "this node has volumes");
  struct joining *j = gi_new(struct joining);
  *j = (struct joining){.op = op, .token = gi_strdup(token), .host = gi_strdup(host), .as = gi_strdup(gd_op_str(op, "as"))};
  gi_timer_init(&j->timer, op->gd->reactor, joining_end, j);
  op->state = j;
  op->release = joining_release;
  j->link = gd_link_new(op->gd, NULL, join_greeted, j);
  gi_timer_set(&j->timer, GREETING_NS);
  gd_link_connect(j->link, &j->host, 1, op->gd->config.port);
  return GD_OP_LATER;
}
