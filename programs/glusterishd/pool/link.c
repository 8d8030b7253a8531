/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections from this node to others: made, proved, made again. What is said
 * is JSON in both directions.
 *
 *   connected -> GREET -> (to the pool) PROVE -> ready
 *
 * All addresses of the node are tried at once, each time another one first, as
 * somebody else may answer at one of them.
 *
 * Where there are credentials of TLS each address is tried with them first. A
 * node that was away, or is new, may not have those that the others demand by
 * now: it proves itself without, and asks for them before anything else.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"
#include "rpc/race.h"
#include "rpc/rpc-client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define MSG (GI_MSG_MGMT + 125)
#define ANSWER_MAX (16u << 20) /* bytes */
#define GREET_TIMEOUT_MS 5000
#define BEHIND_TICKS 5 /* after which a connection is made anew that does not prove the new secret */
#define PLAIN_TICKS 10 /* of members.c, after which a plain connection is tried in TLS again */
#define KEEPALIVE_S 5  /* a node that is cut off is noticed within twice that */

struct gd_link {
  struct gd *gd;
  struct gi_rpc_client *rpc;
  char **hosts;
  unsigned nhosts, next; /* attempts so far since it was ready: the host of that number is the first of the next one */
  int port;
  bool to_pool, ready;
  bool begins;         /* without TLS where that is demanded: credentials are all that is asked for */
  bool had_tls;        /* there were credentials when the connection was made */
  unsigned plain_for;  /* ticks */
  unsigned generation; /* of the secret that was proved */
  unsigned behind;     /* ticks, since there is another one */
  struct gi_gfid node; /* to_pool: whom to find there */
  char nonce[GD_MAC_TEXT], theirs[GD_MAC_TEXT], uuid[GI_UUID_TEXT]; /* of the greeting */
  char binding[GD_BINDING_TEXT];                                    /* of the connection */
  struct gi_list calls;
  void (*up)(void *arg, const json_t *greeting);
  void *arg;
};

struct gd_call {
  struct gi_list link;
  struct gd *gd;
  struct gi_timer timer;
  struct gi_defer end;
  int code;
  bool sent; /* the client still has it */
  gd_call_fn *fn;
  void *arg;
};

static void connect_next(struct gi_rpc_client *c, void *arg);

static bool
is_plain(const struct gd_link *l)
{
  const struct gi_conn *c = gi_rpc_client_conn(l->rpc);
  return !c || !gi_conn_tls_name(c);
}

/* Is one of the addresses to be tried without TLS, after all were with it? In a pool also where it is demanded: what to begin with is heard
 * there. */
static bool
may_be_plain(const struct gd_link *l)
{
  return l->gd->tls && (l->to_pool || l->gd->tls_optional);
}

/* ---- calls ---- */

static void
call_free(struct gd_call *c)
{
  gi_list_del(&c->link);
  gi_timer_finish(&c->timer);
  gi_defer_cancel(&c->end);
  gi_free(c);
}

/* Nobody waits for it any more; what the client still has is freed when that answers. */
static void
call_drop(struct gd_call *c)
{
  c->fn = NULL;
  gi_timer_cancel(&c->timer);
  gi_defer_cancel(&c->end);
  if (!c->sent)
    call_free(c);
}

static void
call_end(struct gd_call *c, int code, const json_t *reply)
{
  gd_call_fn *fn = c->fn;
  void *arg = c->arg;
  call_drop(c);
  if (fn)
    fn(arg, code, reply);
}

static void
end_now(void *arg)
{
  struct gd_call *c = arg;
  call_end(c, c->code, NULL);
}

static void
too_late(void *arg)
{
  call_end(arg, ETIMEDOUT, NULL);
}

static void
answered(struct gi_rpc_client *client, struct gi_rpc_reply *r, void *arg)
{
  struct gd_call *c = arg;
  uint32_t len = 0;
  json_t *doc = NULL;
  int code = r->status ? -r->status : r->accept == GI_RPC_SUCCESS ? 0 : EACCES;
  if (!code) {
    const uint8_t *bytes = gi_xdr_get_opaque(&r->in, ANSWER_MAX, &len);
    doc = r->in.failed ? NULL : json_loadb((const char *)bytes, len, 0, NULL);
    if (!json_is_object(doc))
      code = EBADMSG;
  }
  c->sent = false;
  call_end(c, code, doc);
  json_decref(doc);
}

struct gd_call *
gd_link_call(struct gd_link *l, uint32_t proc, json_t *request, unsigned timeout_ms, gd_call_fn *fn, void *arg)
{
  struct gd_call *c = gi_new(struct gd_call);
  *c = (struct gd_call){.gd = l->gd, .fn = fn, .arg = arg};
  gi_list_add_tail(&l->calls, &c->link);
  gi_timer_init(&c->timer, l->gd->reactor, too_late, c);
  gi_defer_init(&c->end, end_now, c);
  if (!gi_rpc_client_connected(l->rpc) || (proc == GD_NODE_CALL && !l->ready)) {
    c->code = ENOTCONN;
    gi_defer_add(l->gd->reactor, &c->end);
    json_decref(request);
    return c;
  }
  char *text = json_dumps(request, JSON_COMPACT);
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(l->rpc, &out, GI_PROG_NODE, GI_VERS_NODE, proc, GI_AUTH_NONE, NULL);
  gi_xdr_put_string(&out, text);
  c->sent = true;
  gi_timer_set(&c->timer, timeout_ms * GI_NSEC_PER_MSEC);
  gi_rpc_call_send(l->rpc, xid, &out, NULL, false, answered, c);
  free(text);
  json_decref(request);
  return c;
}

void
gd_call_cancel(struct gd_call **ref)
{
  struct gd_call *c = *ref;
  *ref = NULL;
  if (c)
    call_drop(c);
}

bool
gd_node_connected(const struct gd_node *n)
{
  return n->connection && gd_link_ready(n->connection);
}

struct gd_call *
gd_node_call(struct gd_node *n, json_t *request, unsigned timeout_ms, gd_call_fn *fn, void *arg)
{
  return gd_link_call(n->connection, GD_NODE_CALL, request, timeout_ms, fn, arg);
}

/* ---- greeting ---- */

static void
give_up(struct gd_link *l, const char *why)
{
  const struct gi_conn *c = gi_rpc_client_conn(l->rpc);
  gi_log(GI_LOG_WARNING, GD_NAME, MSG, "node %s: %s", c ? gi_conn_peer(c) : l->hosts[0], why);
  gi_rpc_client_disconnect(l->rpc, why);
}

/* The pool's credentials are here, or not. */
static void
begun(void *arg, int code, const json_t *reply)
{
  struct gd_link *l = arg;
  const char *text = json_string_value(json_object_get(reply, "encryption"));
  if (l->gd->pool && text) {
    gd_encryption_take(l->gd, text);
    l->next = 0;
  }
  give_up(l, text ? "it is asked again in TLS" : "it demands TLS, and does not tell the pool's credentials");
}

/* The other one knows the secret, too. */
static bool
is_proof(const struct gd_link *l, int code, const json_t *reply)
{
  const struct gd *gd = l->gd;
  char mac[GD_MAC_TEXT], own[GI_UUID_TEXT];
  const char *bound = l->binding[0] ? l->binding : NULL;
  const char *parts[] = {"server", l->theirs, l->nonce, gi_gfid_text(&gd->uuid, own), l->uuid, bound, NULL};
  gd_mac(gd->pool->secret, sizeof(gd->pool->secret), parts, mac);
  return !code && gd_mac_same(json_string_value(json_object_get(reply, "mac")), mac);
}

static void
proved(void *arg, int code, const json_t *reply)
{
  struct gd_link *l = arg;
  struct gd *gd = l->gd;
  if (!gd->pool)
    return;
  if (!is_proof(l, code, reply)) {
    give_up(l, code ? "it does not take this node for one of its pool" : "it does not know the secret of the pool");
    return;
  }
  if (l->begins) {
    gd_link_call(l, GD_NODE_ENCRYPTION, json_object(), GREET_TIMEOUT_MS, begun, l);
    return;
  }
  l->ready = true;
  l->generation = gd->pool->generation;
  l->behind = 0;
  gd_node_saw(gd, &l->node, gi_rpc_client_conn(l->rpc));
  gi_rpc_client_reset_backoff(l->rpc);
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 2, "node %s is connected", l->hosts[0]);
  if (l->up)
    l->up(l->arg, reply);
}

static void
prove(struct gd_link *l, gd_call_fn *then)
{
  struct gd *gd = l->gd;
  uint8_t nonce[GD_SECRET_BYTES];
  char mac[GD_MAC_TEXT], own[GI_UUID_TEXT];
  if (!gd_binding(gi_rpc_client_conn(l->rpc), l->binding)) {
    give_up(l, "it speaks a TLS older than 1.3, in which nothing can be proved");
    return;
  }
  const char *bound = l->binding[0] ? l->binding : NULL;
  gi_random(gd->reactor, nonce, sizeof(nonce));
  gd_hex(nonce, sizeof(nonce), l->nonce);
  const char *parts[] = {"client", l->theirs, l->nonce, gi_gfid_text(&gd->uuid, own), l->uuid, bound, NULL};
  gd_mac(gd->pool->secret, sizeof(gd->pool->secret), parts, mac);
  gd_link_call(l, GD_NODE_PROVE,
               json_pack("{s:s,s:s,s:s,s:I}", "uuid", own, "nonce", l->nonce, "mac", mac, "epoch", (json_int_t)gd->pool->epoch),
               GREET_TIMEOUT_MS, then, l);
}

/* The other one may not have heard of the new secret yet: it is asked again. */
static void
proved_again(void *arg, int code, const json_t *reply)
{
  struct gd_link *l = arg;
  if (!l->ready || !l->gd->pool || !is_proof(l, code, reply))
    return;
  l->generation = l->gd->pool->generation;
  l->behind = 0;
}

void
gd_link_prove_again(struct gd_link *l)
{
  if (!l || !l->ready || l->generation == l->gd->pool->generation)
    return;
  if (++l->behind > BEHIND_TICKS)
    gd_link_renew(l, "it does not prove that it knows the new secret of the pool");
  else
    prove(l, proved_again);
}

/* ---- the pool has another secret since this node was away ---- */

static void
secret_told(void *arg, int code, const json_t *reply)
{
  struct gd_link *l = arg;
  bool heard = l->gd->pool && !code && gd_secret_hear(l->gd, l->theirs, l->nonce, reply);
  l->next = heard ? 0 : l->next;
  give_up(l, heard ? "it is asked again with the new secret of the pool"
                   : "it does not tell this node the new secret of the pool");
}

static void
ask_secret(struct gd_link *l)
{
  uint8_t nonce[GD_SECRET_BYTES];
  gi_random(l->gd->reactor, nonce, sizeof(nonce));
  gd_hex(nonce, sizeof(nonce), l->nonce);
  gd_link_call(l, GD_NODE_SECRET, gd_secret_question(l->gd, l->theirs, l->nonce), GREET_TIMEOUT_MS, secret_told, l);
}

/* -1, 0, 1: the other one has an earlier, the same, a later secret, as far as it says. */
static int
compare_secrets(const struct gd_link *l, const json_t *greeting)
{
  const struct gd_pool *p = l->gd->pool;
  const char *pool = json_string_value(json_object_get(greeting, "pool"));
  const json_t *generation = json_object_get(greeting, "generation");
  char id[GI_UUID_TEXT];
  if (!pool || strcmp(pool, gi_gfid_text(&p->id, id)) != 0 || !generation)
    return 0;
  json_int_t its = json_integer_value(generation);
  return its < (json_int_t)p->generation ? -1 : its > (json_int_t)p->generation;
}

static void
introduce(struct gd_link *l, const json_t *greeting)
{
  int other = compare_secrets(l, greeting);
  if (other > 0)
    ask_secret(l);
  else if (other < 0) /* it hears of it by itself */
    give_up(l, "it does not know the new secret of the pool yet");
  else
    prove(l, proved);
}

static void
greeted(void *arg, int code, const json_t *reply)
{
  struct gd_link *l = arg;
  const char *nonce = json_string_value(json_object_get(reply, "nonce")),
             *uuid = json_string_value(json_object_get(reply, "uuid"));
  struct gi_gfid id;
  bool good = !code && nonce && strlen(nonce) < sizeof(l->theirs) && uuid && strlen(uuid) < sizeof(l->uuid);
  if (!good && l->to_pool) {
    give_up(l, "it is no management daemon of this kind");
    return;
  }
  if (l->to_pool && (!gi_gfid_parse(uuid, &id) || !gi_gfid_equal(&id, &l->node))) { /* it has the address now */
    give_up(l, "another node answers there");
    return;
  }
  if (good) {
    snprintf(l->theirs, sizeof(l->theirs), "%s", nonce);
    snprintf(l->uuid, sizeof(l->uuid), "%s", uuid);
    gd_node_hear(l->gd, &l->node, reply);
  }
  const char *tls = json_string_value(json_object_get(reply, "tls"));
  bool demanded = (tls && strcmp(tls, "required") == 0) || (l->gd->tls && !l->gd->tls_optional);
  l->begins = l->to_pool && is_plain(l) && demanded;
  if (!l->to_pool) {
    l->ready = good;
    l->up(l->arg, good ? reply : NULL);
  } else if (l->gd->pool) {
    introduce(l, reply);
  }
}

/* ---- the connection ---- */

static void
on_up(struct gi_rpc_client *c, void *arg)
{
  struct gd_link *l = arg;
  gd_link_call(l, GD_NODE_GREET, json_object(), GREET_TIMEOUT_MS, greeted, l);
}

static void
on_down(struct gi_rpc_client *c, void *arg)
{
  struct gd_link *l = arg;
  bool was = l->ready;
  l->ready = false;
  if (l->to_pool) {
    if (was)
      gi_log(GI_LOG_WARNING, GD_NAME, MSG + 1, "node %s is disconnected", l->hosts[0]);
    l->next = was ? 0 : l->next;
    gi_rpc_client_retry_later(l->rpc, connect_next);
  } else if (!was && l->next == l->nhosts && may_be_plain(l)) {
    gi_rpc_client_retry_soon(l->rpc, connect_next);
  } else if (!was && l->next) {
    l->next = 0;
    l->up(l->arg, NULL);
  }
}

static void
connect_next(struct gi_rpc_client *c, void *arg)
{
  struct gd_link *l = arg;
  bool plain = l->next / l->nhosts % 2 && may_be_plain(l);
  const char *hosts[GI_ADDRESSES];
  unsigned n = l->nhosts < GI_ADDRESSES ? l->nhosts : GI_ADDRESSES;
  for (unsigned i = 0; i < n; i++)
    hosts[i] = l->hosts[(l->next + i) % l->nhosts];
  l->next++;
  l->had_tls = l->gd->tls != NULL;
  l->plain_for = 0;
  gi_rpc_client_set_tls(l->rpc, plain ? NULL : l->gd->tls);
  gi_rpc_client_connect_any(l->rpc, hosts, n, l->port);
}

void
gd_link_connect(struct gd_link *l, char *const *hosts, unsigned n, int port)
{
  GI_ASSERT(n > 0 && !l->nhosts);
  for (unsigned i = 0; i < n; i++)
    gd_hosts_add(&l->hosts, &l->nhosts, hosts[i]);
  l->port = port;
  connect_next(l->rpc, l);
}

struct gd_link *
gd_link_new(struct gd *gd, const struct gi_gfid *node, void (*up)(void *arg, const json_t *greeting), void *arg)
{
  static const struct gi_rpc_client_ops ops = {.up = on_up, .down = on_down};
  static const struct gi_rpc_client_config config = {
      .name = GD_NAME,
      .ping_timeout_s = 2 * KEEPALIVE_S,
      .reconnect_min_ms = 200,
      .reconnect_max_ms = 3000,
      .keepalive = {
          .on = true, .idle_s = KEEPALIVE_S, .interval_s = 1, .probes = KEEPALIVE_S, .user_timeout_s = 2 * KEEPALIVE_S}};
  struct gd_link *l = gi_new(struct gd_link);
  GI_ASSERT(node || up);
  l->gd = gd;
  l->to_pool = node != NULL;
  if (node)
    l->node = *node;
  l->up = up;
  l->arg = arg;
  gi_list_init(&l->calls);
  l->rpc = gi_rpc_client_new(gd->reactor, &config, &ops, l);
  return l;
}

void
gd_link_free(struct gd_link **ref)
{
  struct gd_link *l = *ref;
  *ref = NULL;
  if (!l)
    return;
  l->ready = false;
  l->to_pool = false;
  l->next = 0;
  l->up = NULL;
  gi_list_foreach(c, &l->calls, struct gd_call, link) /* greetings would look at the link that goes */
    if (c->arg == l)
      c->fn = NULL;
  gi_rpc_client_free(&l->rpc);
  gi_list_foreach_safe(c, &l->calls, struct gd_call, link) {
    gi_list_del(&c->link); /* deferred: they end without the link */
    gi_list_init(&c->link);
  }
  gd_hosts_free(&l->hosts, &l->nhosts);
  gi_free(l);
}

void
gd_link_renew(struct gd_link *l, const char *why)
{
  if (l && l->ready)
    gi_rpc_client_disconnect(l->rpc, why);
}

void
gd_link_ping(struct gd_link *l)
{
  if (l->ready)
    gi_rpc_client_ping(l->rpc);
}

bool
gd_link_encrypted(const struct gd_link *l)
{
  return l->ready && !is_plain(l);
}

/* While both kinds are taken the other node may have got its credentials a little later. */
void
gd_link_tidy(struct gd_link *l)
{
  if (!l || !l->ready || !l->gd->tls || !is_plain(l))
    return;
  if (!l->had_tls || !l->gd->tls_optional || ++l->plain_for >= PLAIN_TICKS)
    gd_link_renew(l, "it goes over to TLS");
}

bool
gd_link_ready(const struct gd_link *l)
{
  return l->ready;
}

bool
gd_address_text(const struct sockaddr_storage *sa, char *buf, size_t size)
{
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)sa;
  if (sa->ss_family == AF_INET)
    return inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, buf, (socklen_t)size) != NULL;
  if (sa->ss_family != AF_INET6)
    return false;
  if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
    return inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, buf, (socklen_t)size) != NULL;
  return inet_ntop(AF_INET6, &six->sin6_addr, buf, (socklen_t)size) != NULL;
}

bool
gd_link_own_address(const struct gd_link *l, char *buf, size_t size)
{
  const struct gi_conn *c = gi_rpc_client_conn(l->rpc);
  struct sockaddr_storage sa;
  return c && gi_conn_local_address(c, &sa) && gd_address_text(&sa, buf, size);
}

bool
gd_link_its_address(const struct gd_link *l, char *buf, size_t size)
{
  const struct gi_conn *c = gi_rpc_client_conn(l->rpc);
  struct sockaddr_storage sa;
  return c && gi_conn_peer_address(c, &sa) && gd_address_text(&sa, buf, size);
}
