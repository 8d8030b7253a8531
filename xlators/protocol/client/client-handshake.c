/* SPDX-License-Identifier: Apache-2.0
 *
 * From nothing to a brick that can serve: ask the management daemon for the
 * port, connect, see that the peer speaks our program, introduce ourselves,
 * open again what was open, tell the parents (wire.md 7.2 to 7.5).
 *
 * Several connections to one brick share one identity, so the brick keeps one
 * handle table and one set of locks for them (wire.md 8). They live and die
 * together: when one is lost all are given up, for otherwise the order of
 * operations on an inode would depend on luck.
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/probe.h"
#include "libglusterish/promise.h"
#include "rpc/client-key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_MGMT_PORT 24007
#define CL_PORT_NS \
  (1 * GI_NSEC_PER_SEC)     /* the daemon of the brick's host answers from memory; if not, twice that, and so on … */
#define CL_PORT_DOUBLINGS 4 /* … so often */
#define CL_PROGRAMS_MAX 64  /* a longer list is nonsense */

const struct gi_caller cl_nobody = {.owner = {.len = 4}};

static const char *
cl_host(const struct client *c)
{
  const char *host = cl_opts(c)->remote_host;
  if (host)
    return host;
  return c->x->ctx->volfile_server ? c->x->ctx->volfile_server : "localhost";
}

static int
cl_mgmt_port(const struct client *c)
{
  const struct gi_ctx *ctx = c->x->ctx;
  if (cl_opts(c)->management_port)
    return (int)cl_opts(c)->management_port;
  if (ctx->volfile_server_port && ctx->volfile_server && strcmp(ctx->volfile_server, cl_host(c)) == 0)
    return ctx->volfile_server_port;
  return CL_MGMT_PORT;
}

/* ---- states ---- */

#define STATE(s) (1u << (s))
#define AGAIN (STATE(CL_WAIT) | STATE(CL_IDLE))

static const unsigned next_states[] = {
    [CL_IDLE] = STATE(CL_PORTMAP) | STATE(CL_GREET),
    [CL_WAIT] = STATE(CL_PORTMAP) | STATE(CL_GREET) | STATE(CL_IDLE),
    [CL_PORTMAP] = STATE(CL_GREET) | AGAIN,
    [CL_GREET] = STATE(CL_JOIN) | AGAIN,
    [CL_JOIN] = STATE(CL_REOPEN) | AGAIN,
    [CL_REOPEN] = STATE(CL_READY) | AGAIN,
    [CL_READY] = AGAIN,
};

void
cl_assert(const struct client *c)
{
  GI_CHECK(c, CL_MAGIC);
  GI_ASSERT(!c->usable || c->state == CL_READY);
  GI_ASSERT(c->state != CL_JOIN || (c->joining > 0 && c->joining < c->nconns));
  GI_ASSERT(c->state == CL_IDLE || (c->nconns > 0 && c->mgmt));
}

static void
cl_enter(struct client *c, enum cl_state next)
{
  GI_CHECK(c, CL_MAGIC);
  GI_ASSERT(next_states[c->state] & STATE(next));
  c->state = next;
}

/* ---- giving up and trying again ---- */

static void
cl_greet(struct client *c, int port)
{
  GI_ASSERT(port > 0);
  gi_timer_cancel(&c->port_timer);
  c->port = port;
  cl_enter(c, CL_GREET);
  gi_rpc_client_disconnect(c->mgmt, "the port is known");
  gi_rpc_client_connect(c->conn[0].rpc, cl_host(c), port);
}

static void
cl_attempt(struct client *c)
{
  int port = (int)cl_opts(c)->remote_port;
  if (port) {
    cl_greet(c, port);
    return;
  }
  cl_enter(c, CL_PORTMAP);
  c->asks_home = false;
  gi_timer_set(&c->port_timer, CL_PORT_NS << c->late);
  gi_rpc_client_set_tls(c->mgmt, c->x->ctx->mgmt_tls);
  gi_rpc_client_connect(c->mgmt, cl_host(c), cl_mgmt_port(c));
}

/* The daemon that was asked for the port does not answer, or does not know it. The one that told the volfile may know it, and else the brick
 * may be where it was: it says itself which brick it is. */
static void
cl_port_unknown(struct client *c, const char *why)
{
  const struct gi_ctx *ctx = c->x->ctx;
  GI_ASSERT(c->state == CL_PORTMAP);
  bool same = ctx->home && strcmp(ctx->home, cl_host(c)) == 0 && ctx->home_port == cl_mgmt_port(c);
  if (!c->asks_home && ctx->home && !same) {
    GI_PROBE("client: asks another daemon for the port");
    c->asks_home = true;
    gi_timer_set(&c->port_timer, CL_PORT_NS);
    gi_rpc_client_connect(c->mgmt, ctx->home, ctx->home_port);
  } else if (c->last_port) {
    GI_PROBE("client: tries the port that the brick had");
    cl_greet(c, c->last_port);
  } else {
    cl_lost(c, why);
  }
}

void
cl_port_late(void *arg)
{
  struct client *c = arg;
  if (c->state != CL_PORTMAP)
    return;
  if (!c->asks_home && c->late < CL_PORT_DOUBLINGS)
    c->late++;
  cl_port_unknown(c, "the management daemon does not answer");
}

static void
cl_retry(struct gi_rpc_client *rpc, void *arg)
{
  struct client *c = arg;
  cl_assert(c);
  if (c->state == CL_WAIT)
    cl_attempt(c);
}

void
cl_connect(struct client *c)
{
  GI_ASSERT(c->state == CL_IDLE);
  cl_attempt(c);
}

static void
cl_drop_connections(struct client *c, const char *why)
{
  c->generation++;
  c->usable = false;
  gi_timer_cancel(&c->port_timer);
  gi_promise_made(c->x, (struct gi_promised){0});
  gi_rpc_client_disconnect(c->mgmt, why);
  for (unsigned i = 0; i < c->nconns; i++)
    gi_rpc_client_disconnect(c->conn[i].rpc, why);
  cl_fds_lost(c);
}

void
cl_lost(struct client *c, const char *why)
{
  if (c->state == CL_IDLE || c->state == CL_WAIT)
    return;
  if (c->state == CL_READY) {
    c->metrics.disconnects++;
    GI_PROBE("client: lost a brick in use");
    gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 1, "disconnected from %s:%d: %s", cl_host(c), c->port, why);
  } else {
    gi_log(GI_LOG_INFO, c->x->name, GI_MSG_CLIENT + 2, "cannot use brick %s on %s: %s; trying again",
           cl_opts(c)->remote_subvolume, cl_host(c), why);
  }
  cl_enter(c, CL_WAIT);
  cl_drop_connections(c, why);
  cl_tell_parents(c);
  gi_rpc_client_retry_later(c->mgmt, cl_retry);
}

void
cl_hurry(struct client *c)
{
  if (c->state == CL_WAIT)
    gi_rpc_client_retry_soon(c->mgmt, cl_retry);
  else if (c->state != CL_IDLE && c->state != CL_READY)
    gi_rpc_client_reset_backoff(c->mgmt); /* the attempt under way may still fail */
}

void
cl_move(struct client *c)
{
  c->volume_id[0] = '\0';
  c->last_port = 0;
  cl_lost(c, "another brick takes its place");
  cl_fds_spoil(c);
  cl_hurry(c); /* the failures were those of the old one */
}

void
cl_shut(struct client *c)
{
  if (c->state == CL_IDLE)
    return;
  cl_enter(c, CL_IDLE);
  cl_drop_connections(c, "the graph goes down");
}

/* ---- portmap ---- */

static void
cl_port_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct client *c = arg;
  cl_assert(c);
  if (c->state != CL_PORTMAP || reply->status == -ENOTCONN)
    return; /* `down` follows, or somebody gave up already */
  if (reply->status != 0 || reply->accept != GI_RPC_SUCCESS) {
    cl_port_unknown(c, "the management daemon has no portmapper");
    return;
  }
  int32_t ret = (int32_t)gi_xdr_get_u32(&reply->in);
  gi_xdr_get_u32(&reply->in); /* errno: always 0 */
  gi_xdr_get_u32(&reply->in); /* status */
  uint32_t port = gi_xdr_get_u32(&reply->in);
  bool known = !reply->in.failed && ret >= 0 && port > 0 && port <= 65535;
  if (!known && c->asks_home) {
    cl_port_unknown(c, "no management daemon knows a port of the brick");
    return;
  }
  if (!known) {
    cl_lost(c, "the brick is not running (the portmapper knows no port of it)");
    return;
  }
  cl_greet(c, (int)port);
}

static void
cl_mgmt_up(struct gi_rpc_client *rpc, void *arg)
{
  struct client *c = arg;
  GI_ASSERT(rpc == c->mgmt);
  if (c->state != CL_PORTMAP)
    return;
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_PORTMAP, GI_VERS_PORTMAP, GI_PMAP_PORTBYBRICK, GI_AUTH_V2, &cl_nobody);
  gi_xdr_put_string(&out, c->asks_home ? c->brick : cl_opts(c)->remote_subvolume);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, cl_port_reply, c);
}

static void
cl_mgmt_down(struct gi_rpc_client *rpc, void *arg)
{
  struct client *c = arg;
  GI_ASSERT(rpc == c->mgmt);
  if (c->state == CL_PORTMAP)
    cl_port_unknown(c, "no connection to the management daemon");
}

const struct gi_rpc_client_ops cl_mgmt_ops = {.up = cl_mgmt_up, .down = cl_mgmt_down};

/* ---- SETVOLUME ---- */

static void
cl_put_if(struct gi_dict *d, const char *key, const char *value)
{
  if (value && value[0])
    gi_dict_set_str(d, key, value);
}

static struct gi_dict *
cl_introduction(struct client *c)
{
  const struct gi_ctx *ctx = c->x->ctx;
  const struct cl_options *o = cl_opts(c);
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_str(d, "remote-subvolume", o->remote_subvolume);
  gi_dict_set_str(d, "process-uuid", c->identity);
  gi_dict_set_str(d, "fops-version", "1298437");
  gi_dict_set_str(d, "client-version", "10.3");
  gi_dict_set_str(d, GI_VERSION_KEY, GI_VERSION);
  gi_dict_set_str(d, GI_ACKNOWLEDGES_KEY, "1");
  gi_dict_set_str(d, "opversion", "100000");
  gi_dict_set_str(d, "clnt-lk-version", "1");
  gi_dict_set_str(d, "volfile-checksum", "0");
  cl_put_if(d, "volfile-key", ctx->volfile_id);
  cl_put_if(d, "process-name", ctx->process_name);
  cl_put_if(d, "username", o->username);
  cl_put_if(d, "password", o->password);
  cl_put_if(d, "volume-id", c->volume_id);
  cl_put_if(d, "subdir-mount", o->subdir_mount);
  return d;
}

/* A fresh identity per generation, so that we never meet what the brick still keeps of the last one. */
static void
cl_make_identity(struct client *c)
{
  const struct gi_ctx *ctx = c->x->ctx;
  char uuid[GI_UUID_TEXT];
  if (ctx->process_id[0])
    snprintf(c->identity, sizeof(c->identity), "%s-PC_NAME:%s-RECON_NO:-%u", ctx->process_id, c->x->name, c->attempt);
  else
    snprintf(c->identity, sizeof(c->identity), "CTX_ID:%s-GRAPH_ID:0-PC_NAME:%s-RECON_NO:-%u",
             gi_gfid_text(&ctx->process_uuid, uuid), c->x->name, c->attempt);
  c->attempt++;
}

static void
cl_learn_peer(struct client *c, const struct gi_dict *d)
{
  const char *text = NULL;
  c->peer_is_ours = gi_dict_get_str(d, GI_VERSION_KEY, &text);
  snprintf(c->peer_version, sizeof(c->peer_version), "%s", c->peer_is_ours ? text : "");
  text = "";
  gi_dict_get_str(d, GI_CAPABILITIES_KEY, &text);
  snprintf(c->capabilities, sizeof(c->capabilities), "%s", text);
  c->promise = cl_promise_in(c, d);
  if (gi_dict_get_str(d, "volume-id", &text) && strlen(text) < sizeof(c->volume_id))
    snprintf(c->volume_id, sizeof(c->volume_id), "%s", text);
}

static void
cl_refused(struct client *c, int err, const struct gi_dict *d)
{
  const char *text = "no reason given";
  GI_PROBE("client: SETVOLUME refused");
  gi_dict_get_str(d, "ERROR", &text);
  gi_log(err == EAGAIN ? GI_LOG_INFO : GI_LOG_ERROR, c->x->name, GI_MSG_CLIENT + 3,
         "brick %s on %s:%d refused SETVOLUME: %s (%s)", cl_opts(c)->remote_subvolume, cl_host(c), c->port, text,
         strerror(err));
  cl_lost(c, err == EACCES ? "authentication failed" : text);
}

static void cl_join(struct client *c);
static gi_rpc_reply_fn cl_setvolume_reply;
static void cl_send_setvolume(struct cl_conn *conn, const char *challenge, gi_rpc_reply_fn *answered);

/* The brick wants to see that we have the key that we show. */
static bool
cl_prove(struct cl_conn *conn, const struct gi_dict *d)
{
  const char *challenge = gi_client_key_challenge(d);
  if (!conn->c->x->ctx->client_key || !challenge || conn->proved)
    return false;
  conn->proved = true;
  cl_send_setvolume(conn, challenge, cl_setvolume_reply);
  return true;
}

static void
cl_setvolume_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct cl_conn *conn = arg;
  struct client *c = conn->c;
  cl_assert(c);
  if ((c->state != CL_GREET && c->state != CL_JOIN) || reply->status == -ENOTCONN)
    return;
  if (reply->status != 0) {
    cl_lost(c, "SETVOLUME was not answered");
    return;
  }
  int32_t ret = (int32_t)gi_xdr_get_u32(&reply->in);
  int32_t err = (int32_t)gi_xdr_get_u32(&reply->in);
  uint32_t len = 0;
  const uint8_t *bytes = gi_xdr_get_opaque(&reply->in, 1u << 20, &len);
  if (reply->accept != GI_RPC_SUCCESS || reply->in.failed) {
    cl_lost(c, "the brick did not understand SETVOLUME");
    return;
  }
  GI_ASSERT(c->state == CL_GREET || c->joining > 0);
  struct gi_dict *d = len ? gi_legacy_dict_decode(bytes, len) : gi_dict_new();
  if (ret < 0) {
    if (!cl_prove(conn, d))
      cl_refused(c, err, d);
  } else if (c->state == CL_GREET) {
    cl_learn_peer(c, d);
    cl_join(c);
  } else if (--c->joining == 0) {
    cl_enter(c, CL_REOPEN);
    cl_fds_reopen(c);
  }
  gi_dict_unref(&d);
}

static void
cl_show_key(struct cl_conn *conn, const char *challenge, struct gi_dict *d)
{
  const struct client *c = conn->c;
  const struct gi_key_claim claim = {gi_rpc_client_conn(conn->rpc), "brick", cl_opts(c)->remote_subvolume};
  const char *file = c->x->ctx->client_key;
  struct gi_error err;
  if (file && gi_client_key_show(file, &claim, challenge, d, &err))
    gi_log(GI_LOG_ERROR, c->x->name, GI_MSG_CLIENT + 7, "%s", err.text);
}

static void
cl_send_setvolume(struct cl_conn *conn, const char *challenge, gi_rpc_reply_fn *answered)
{
  struct client *c = conn->c;
  struct gi_rpc_client *rpc = conn->rpc;
  struct gi_dict *d = cl_introduction(c);
  struct gi_xdr_out bytes = {0}, out = {0};
  cl_show_key(conn, challenge, d);
  gi_legacy_dict_encode(&bytes, d);
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_SETVOLUME, GI_AUTH_V3, &cl_nobody);
  gi_xdr_put_opaque(&out, bytes.base, (uint32_t)bytes.len);
  gi_xdr_out_finish(&bytes);
  gi_dict_unref(&d);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, answered, conn);
}

static void
cl_known_again(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct cl_conn *conn = arg;
  struct client *c = conn->c;
  cl_assert(c);
  bool good = !reply->status && reply->accept == GI_RPC_SUCCESS && (int32_t)gi_xdr_get_u32(&reply->in) == 0;
  if (!good && reply->status != -ENOTCONN)
    gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 12, "brick %s on %s does not take the new password yet",
           cl_opts(c)->remote_subvolume, cl_host(c));
}

void
cl_introduce_again(struct client *c)
{
  cl_assert(c);
  if (c->usable)
    cl_send_setvolume(&c->conn[0], NULL, cl_known_again);
}

/* The first connection is accepted: bring up the others, if the volume wants several. */
static void
cl_join(struct client *c)
{
  GI_ASSERT(c->nconns >= 1 && !c->usable);
  cl_apply_config(c);
  cl_enter(c, CL_JOIN);
  c->joining = c->nconns - 1;
  if (c->joining == 0) {
    cl_enter(c, CL_REOPEN);
    cl_fds_reopen(c);
    return;
  }
  for (unsigned i = 1; i < c->nconns; i++)
    gi_rpc_client_connect(c->conn[i].rpc, cl_host(c), c->port);
}

void
cl_reopened(struct client *c)
{
  GI_ASSERT(c->reopening == 0 && c->joining == 0 && !c->usable);
  cl_enter(c, CL_READY);
  c->usable = true;
  c->last_port = c->port;
  c->late = 0;
  c->metrics.connects++;
  gi_rpc_client_reset_backoff(c->mgmt);
  gi_log(GI_LOG_INFO, c->x->name, GI_MSG_CLIENT + 4, "connected to %s:%d, attached to %s%s%s", cl_host(c), c->port,
         cl_opts(c)->remote_subvolume, c->peer_is_ours ? ", glusterish " : "", c->peer_version);
  cl_round_trip(c, c->round_trip);
  cl_tell_parents(c);
}

/* ---- DUMP ---- */

static struct client *
owner_of(const struct cl_conn *conn, const struct gi_rpc_client *rpc)
{
  GI_CHECK(conn->c, CL_MAGIC);
  GI_ASSERT(conn == &conn->c->conn[conn->index] && conn->rpc == rpc);
  return conn->c;
}

static bool
cl_offers_fops(struct gi_xdr_in *in)
{
  bool found = false;
  gi_xdr_get_u64(in); /* gfs_id */
  gi_xdr_get_u32(in); /* op_ret */
  gi_xdr_get_u32(in); /* op_errno */
  for (unsigned i = 0; gi_xdr_get_u32(in) && i < CL_PROGRAMS_MAX; i++) {
    uint32_t len;
    gi_xdr_get_opaque(in, 1024, &len);
    uint64_t prog = gi_xdr_get_u64(in), vers = gi_xdr_get_u64(in);
    if (!in->failed && prog == GI_PROG_FOP && vers == GI_VERS_FOP)
      found = true;
  }
  return found && !in->failed;
}

static void
cl_dump_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct client *c = arg;
  cl_assert(c);
  if (c->state != CL_GREET || reply->status == -ENOTCONN)
    return;
  if (reply->status != 0 || reply->accept != GI_RPC_SUCCESS || !cl_offers_fops(&reply->in)) {
    cl_lost(c, "the peer does not speak GlusterFS 4.x v1");
    return;
  }
  c->round_trip = gi_now(c->x->reactor) - c->greeted;
  cl_make_identity(c);
  cl_send_setvolume(&c->conn[0], NULL, cl_setvolume_reply);
}

static void
cl_conn_up(struct gi_rpc_client *rpc, void *arg)
{
  struct cl_conn *conn = arg;
  struct client *c = owner_of(conn, rpc);
  conn->proved = false;
  if (conn->index > 0) {
    if (c->state == CL_JOIN)
      cl_send_setvolume(conn, NULL, cl_setvolume_reply);
    return;
  }
  if (c->state != CL_GREET)
    return;
  c->greeted = gi_now(c->x->reactor);
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_DUMP, GI_VERS_DUMP, GI_DUMP_DUMP, GI_AUTH_V2, &cl_nobody);
  gi_xdr_put_u64(&out, 0xcaed);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, cl_dump_reply, c);
}

static void
cl_conn_down(struct gi_rpc_client *rpc, void *arg)
{
  struct client *c = owner_of(arg, rpc);
  if (c->state == CL_PORTMAP)
    return; /* the end of an earlier generation */
  cl_lost(c, c->state == CL_READY ? "the connection was lost" : "no connection to the brick");
}

static void
cl_conn_callback(struct gi_rpc_client *rpc, const struct gi_call_header *h, struct gi_xdr_in *in, void *arg)
{
  struct client *c = owner_of(arg, rpc);
  if (c->state == CL_READY)
    cl_callback(c, h, in);
}

static void
cl_conn_pong(struct gi_rpc_client *rpc, uint64_t ns, void *arg)
{
  struct client *c = owner_of(arg, rpc);
  if (c->state == CL_READY)
    cl_round_trip(c, ns);
}

const struct gi_rpc_client_ops cl_conn_ops = {
    .up = cl_conn_up, .down = cl_conn_down, .callback = cl_conn_callback, .pong = cl_conn_pong};
