/* SPDX-License-Identifier: Apache-2.0
 *
 * The doors of the daemon: one table says who may ask for what. It is about
 * the daemon alone; who may use a brick is decided there, by auth.allow,
 * auth.reject and the volume's user name and password, which is why the
 * password goes to nobody but root of this machine.
 *
 * The unix socket is root's: whoever could open it is let in. On TCP everybody
 * may knock, and root is known by the kernel's table of sockets (peer.c).
 * Another node of the pool is known by the pool's secret, which it proves to
 * have without telling it.
 */
#include "programs/glusterishd/doors.h"
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define OLD_PROOFS (5 * GI_NSEC_PER_SEC) /* so long connections count that were proved with the secret before */
#define MSG (GI_MSG_MGMT + 65)

enum who {
  ANYBODY,   /* hosts that no volume lists, users of this machine, clients with and without the password */
  ROOT,      /* a process of root (or of the daemon's own user) on this machine */
  THE_BRICK, /* the one in the brick's pid file, which is root's */
  SOCKET,    /* root, over the unix socket */
  PROVEN,    /* who knows the secret of the pool: its nodes, and those that it had */
  NODE,      /* another node of the pool */
  FRIEND,    /* root here, a node of the pool, or a machine with a certificate, where there are any */
};

static const char *const who_text[] = {"anybody",
                                       "root on this machine",
                                       "the brick's own process",
                                       "root on this machine, over the daemon's unix socket",
                                       "those who know the secret of the pool",
                                       "other nodes of the pool",
                                       "root on this machine, nodes of the pool and machines with a certificate"};

static const struct door {
  const char *what;
  enum who who;
} doors[] = {
    [GD_ASK_VOLFILE] = {"GETSPEC of a client's volfile", ANYBODY},
    [GD_ASK_PASSWORD] = {"GETSPEC of a client's volfile with the volume's password", ROOT}, /* others get it without */
    [GD_ASK_SERVICE] = {"GETSPEC of the volfile of a brick or self-heal daemon", ROOT},
    [GD_ASK_VOLUME_ID] = {"GET_VOLUME_INFO",
                          ANYBODY}, /* who may not mount the volume hears that there is none; likewise the volfile */
    [GD_ASK_EVENT] = {"EVENT_NOTIFY", ANYBODY}, /* is answered, and nothing comes of it */
    [GD_ASK_PORT] = {"PORTBYBRICK", ANYBODY},   /* as with GET_VOLUME_INFO */
    [GD_ASK_SIGN] = {"SIGNIN or SIGNOUT", THE_BRICK},
    [GD_ASK_SHOW] = {"a command that only shows", FRIEND},
    [GD_ASK_COMMAND] = {"a command", SOCKET},
    [GD_ASK_GREET] = {"a greeting between nodes", ANYBODY}, /* and to be invited, or to join with a token */
    [GD_ASK_CALL] = {"a call between nodes", PROVEN},
    [GD_ASK_NODE] = {"a call between nodes of the pool", NODE},
    [GD_ASK_ENCRYPTION] = {"the pool's credentials, sealed", NODE},
};

/* What can be asked without TLS where that is demanded: how to get credentials. */
static bool
is_beginning(enum gd_ask ask)
{
  return ask == GD_ASK_GREET || ask == GD_ASK_ENCRYPTION;
}

/* ---- what is known of a peer ---- */

struct known {
  bool looked;
  bool strict; /* TLS was demanded when it came */
  struct gd_peer peer;
  char *brick; /* it signed this one in */
  struct gi_key_door key;
  char challenge[GD_MAC_TEXT];
  bool is_node; /* it proved that */
  struct gi_gfid node;
  unsigned generation; /* of the secret that it knew then */
};

static void
peer_up(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg)
{
  const struct gd *gd = arg;
  struct known *k = gi_new(struct known);
  k->strict = gd->tls && !gd->tls_optional;
  gi_rpc_peer_set_private(p, k);
}

static void
peer_down(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg)
{
  struct known *k = gi_rpc_peer_private(p);
  gi_free(k->brick);
  gi_free(k);
}

const struct gi_rpc_server_ops gd_door_ops = {.peer_up = peer_up, .peer_down = peer_down};

void
gd_door_remember(const struct gi_rpc_request *req, const struct gd_brick *b)
{
  struct known *k = gi_rpc_peer_private(req->peer);
  gi_free(k->brick);
  k->brick = gi_strdup(b->path);
}

const char *
gd_door_challenge(struct gd *gd, const struct gi_rpc_request *req)
{
  struct known *k = gi_rpc_peer_private(req->peer);
  uint8_t nonce[GD_SECRET_BYTES];
  if (!k->challenge[0]) {
    gi_random(gd->reactor, nonce, sizeof(nonce));
    gd_hex(nonce, sizeof(nonce), k->challenge);
  }
  return k->challenge;
}

/* A proof with a secret that counts no more: that of a node that was detached, or was away when another one was. */
static void
refuse_proof(struct gd *gd, const struct gi_rpc_request *req, const char *const *parts, const char *uuid, const char *proof)
{
  uint8_t past[GD_PAST_MAX][GD_SECRET_BYTES];
  const char *peer = gi_conn_peer(gi_rpc_peer_conn(req->peer));
  char mac[GD_MAC_TEXT];
  unsigned n = gd_secrets_past(gd, past), i = 0;
  bool known = false;
  for (; i < n && !known; i++) {
    gd_mac(past[i], GD_SECRET_BYTES, parts, mac);
    known = gd_mac_same(mac, proof);
  }
  explicit_bzero(past, sizeof(past));
  if (known)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + GD_ASKS + 1, "%s says it is node %s and knows an earlier secret of the pool only",
           peer, uuid);
  else
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + GD_ASKS, "%s does not know the secret of the pool", peer);
}

bool
gd_door_prove(struct gd *gd, const struct gi_rpc_request *req, const char *uuid, const char *nonce, const char *proof,
              char *mac)
{
  struct known *k = gi_rpc_peer_private(req->peer);
  const struct gd_pool *p = gd->pool;
  char own[GI_UUID_TEXT], binding[GD_BINDING_TEXT];
  struct gi_gfid node;
  if (!p || !uuid || !nonce || !proof || !gi_gfid_parse(uuid, &node) || gi_gfid_equal(&node, &gd->uuid) || !k->challenge[0] ||
      !gd_binding(gi_rpc_peer_conn(req->peer), binding))
    return false;
  const char *bound = binding[0] ? binding : NULL;
  const char *theirs[] = {"client", k->challenge, nonce, uuid, gi_gfid_text(&gd->uuid, own), bound, NULL};
  const char *ours[] = {"server", k->challenge, nonce, uuid, own, bound, NULL};
  gd_mac(p->secret, sizeof(p->secret), theirs, mac);
  if (!gd_mac_same(mac, proof)) {
    refuse_proof(gd, req, theirs, uuid, proof);
    return false;
  }
  gd_mac(p->secret, sizeof(p->secret), ours, mac);
  k->is_node = true;
  k->node = node;
  k->generation = p->generation;
  gd_node_saw(gd, &node, gi_rpc_peer_conn(req->peer));
  return true;
}

struct gi_key_door *
gd_door_key(const struct gi_rpc_request *req)
{
  struct known *k = gi_rpc_peer_private(req->peer);
  return &k->key;
}

const struct gi_gfid *
gd_door_node(const struct gi_rpc_request *req)
{
  const struct known *k = req->peer ? gi_rpc_peer_private(req->peer) : NULL;
  return k && k->is_node ? &k->node : NULL;
}

static bool
is_unix(struct gi_conn *c)
{
  return strncmp(gi_conn_peer(c), "unix:", 5) == 0;
}

static bool
is_root(struct gi_conn *c, struct known *k)
{
  if (is_unix(c))
    return true;
  if (!k->looked)
    k->looked = gd_peer_look(c, &k->peer);
  return k->looked && (k->peer.uid == 0 || k->peer.uid == geteuid());
}

/* One that was detached is none any more. */
static bool
is_node(const struct gd *gd, const struct known *k)
{
  return gd->pool && k->is_node && gd_node_find(gd, &k->node);
}

static bool
is_brick(struct gi_conn *c, struct known *k, const struct gd_brick *b)
{
  if (!b || is_unix(c) || !is_root(c, k))
    return false;
  if (k->brick && strcmp(k->brick, b->path) == 0)
    return true;
  pid_t pid = gd_brick_running_pid(b);
  return pid && gd_peer_is_process(&k->peer, pid);
}

/* ---- asking ---- */

static void
refused(enum gd_ask ask, struct gi_conn *c)
{
  gi_log(GI_LOG_WARNING, GD_NAME, MSG + ask, "%s is refused to %s: it is for %s", doors[ask].what, gi_conn_peer(c),
         who_text[doors[ask].who]);
}

/* It was proved with an earlier secret of the pool, and there was time to do it again: it ends. */
static void
check_proof(const struct gd *gd, struct gi_conn *c, struct known *k)
{
  const struct gd_pool *p = gd->pool;
  if (!p || !k->is_node || k->generation == p->generation || gi_now(gd->reactor) < p->changed + OLD_PROOFS)
    return;
  k->is_node = false;
  gi_conn_close(c, ECONNRESET, "it was proved with an earlier secret of the pool");
}

bool
gd_door_open(struct gd *gd, const struct gi_rpc_request *req, enum gd_ask ask, const struct gd_brick *b, bool quiet)
{
  struct gi_conn *c = req->peer ? gi_rpc_peer_conn(req->peer) : NULL;
  if (!c)
    return false;
  struct known *k = gi_rpc_peer_private(req->peer);
  bool open = false;
  check_proof(gd, c, k);
  if (k->strict && !is_unix(c) && !gi_conn_tls_name(c) && !is_beginning(ask)) {
    gi_log(GI_LOG_WARNING, GD_NAME, MSG + ask, "%s is refused to %s: a plain client where TLS is demanded", doors[ask].what,
           gi_conn_peer(c));
    return false;
  }
  switch (doors[ask].who) {
  case ANYBODY:
    open = true;
    break;
  case ROOT:
    open = is_root(c, k);
    break;
  case THE_BRICK:
    open = gd->is_brick ? gd->is_brick(b) : is_brick(c, k, b);
    break;
  case SOCKET:
    open = is_unix(c);
    break;
  case PROVEN:
    open = is_node(gd, k) || (gd->pool && k->is_node && k->generation == gd->pool->generation);
    break;
  case NODE:
    open = is_node(gd, k);
    break;
  case FRIEND:
    open = is_root(c, k) || is_node(gd, k) || gi_conn_tls_name(c);
    break;
  }
  if (!open && !quiet)
    refused(ask, c);
  return open;
}

bool
gd_door_closed(struct gd *gd, struct gi_rpc_request *req, enum gd_ask ask)
{
  if (gd_door_open(gd, req, ask, NULL, false))
    return false;
  gi_rpc_answer_status(req, GI_RPC_PROC_UNAVAIL);
  return true;
}
