/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection of a process to its management daemon: fetches the volfile,
 * fetches again when told to or after a reconnect, signs a brick in.
 *
 * Every host of the list is tried in turn; after a whole round without success
 * the owner hears of it if no volfile has come yet, and the next round begins
 * after a growing delay. A process that runs never stops because the daemon is
 * away.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/handshake.h"
#include "libglusterish/log.h"

#include <errno.h>
#include <unistd.h>

#define MGMT_MAGIC 0x36710001u
#define HOSTS_MAX 32
#define VOLFILE_MAX (16u << 20)
#define CALL_TIMEOUT_S 60 /* the daemon answers from memory; a hung one must not leave us without news for half an hour */
#define RETRY_MIN_MS 500
#define HURRY_NS (2 * GI_NSEC_PER_SEC) /* an address has, where there are other hosts that may answer */
#define RETRY_MAX_MS 5000
#define OP_VERSION_MIN "1"
#define OP_VERSION_MAX "100000" /* wire.md 7.1: what 10.3 announces */
#define SPEC_WANT_SERVERS 1

struct host {
  char *name;
  int port;
};

struct gi_mgmt {
  uint32_t magic;
  struct gi_ctx *ctx;
  const struct gi_mgmt_ops *ops;
  void *arg;
  struct gi_rpc_client *rpc;
  char *key;
  struct host host[HOSTS_MAX];
  unsigned nhosts, next_host; /* next_host 0: the last one that was connected has answered */
  char *text;                 /* the last volfile; NULL before the first */
  size_t text_len;
  bool fetching;
  bool again;  /* FETCHSPEC came while fetching */
  bool met;    /* in this round a host took the connection */
  char *brick; /* to sign in; NULL: none */
  int brick_port;
  unsigned busy; /* callbacks of the owner on the stack */
  bool dead;
};

static void
destroy(struct gi_mgmt *m)
{
  for (unsigned i = 0; i < m->nhosts; i++)
    gi_free(m->host[i].name);
  gi_free(m->key);
  gi_free(m->text);
  gi_free(m->brick);
  m->magic = 0;
  gi_free(m);
}

static void
enter(struct gi_mgmt *m)
{
  GI_CHECK(m, MGMT_MAGIC);
  m->busy++;
}

static void
leave(struct gi_mgmt *m)
{
  if (--m->busy == 0 && m->dead)
    destroy(m);
}

/* ---- hosts ---- */

static void
add_host(struct gi_mgmt *m, const char *name, size_t len, int port)
{
  for (unsigned i = 0; i < m->nhosts; i++) {
    if (strlen(m->host[i].name) == len && memcmp(m->host[i].name, name, len) == 0 && m->host[i].port == port)
      return;
  }
  if (m->nhosts < HOSTS_MAX)
    m->host[m->nhosts++] = (struct host){gi_strndup(name, len), port};
}

/* "host:port host:port ": other daemons that serve the same volfile, to fall back on. */
static void
add_servers(struct gi_mgmt *m, const char *list)
{
  while (*list) {
    size_t len = strcspn(list, " ");
    const char *colon = memrchr(list, ':', len);
    int port = colon ? atoi(colon + 1) : 0;
    if (colon > list && port > 0 && port < 65536)
      add_host(m, list, (size_t)(colon - list), port);
    list += len;
    list += strspn(list, " ");
  }
}

static void
connect_next(struct gi_mgmt *m)
{
  struct host *h = &m->host[m->next_host++];
  struct gi_error err;
  if (gi_mgmt_credentials(m->ctx, &err) < 0)
    gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 4, "the connection to the management daemon stays as it was: %s", err.text);
  gi_rpc_client_set_tls(m->rpc, m->ctx->mgmt_tls);
  gi_rpc_client_connect(m->rpc, h->name, h->port);
  if (m->nhosts > 1)
    gi_rpc_client_hurry_connect(m->rpc, HURRY_NS);
}

static void
start_round(struct gi_rpc_client *c, void *arg)
{
  struct gi_mgmt *m = arg;
  m->next_host = 0;
  m->met = false;
  connect_next(m);
}

/* ---- GETSPEC ---- */

static void fetch(struct gi_mgmt *m);

static void
refused(struct gi_mgmt *m, int err, const char *what)
{
  gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 1, "no volfile for %s: %s: %s", m->key, what, strerror(err));
  if (m->text == NULL)
    m->ops->failed(m->arg, err, what);
}

static void
got_text(struct gi_mgmt *m, const uint8_t *text, uint32_t len)
{
  if (m->text && m->text_len == len && memcmp(m->text, text, len) == 0)
    return; /* daemons call for every change of any volume */
  gi_free(m->text);
  m->text = gi_strndup((const char *)text, len);
  m->text_len = len;
  m->ops->volfile(m->arg, m->text, m->text_len);
}

static void
got_spec(struct gi_mgmt *m, struct gi_xdr_in *in)
{
  uint32_t len;
  const char *servers;
  int32_t ret = (int32_t)gi_xdr_get_u32(in);
  int32_t err = (int32_t)gi_xdr_get_u32(in);
  const uint8_t *text = gi_xdr_get_opaque(in, VOLFILE_MAX, &len);
  if (in->failed || (ret >= 0 && memchr(text, 0, len) != NULL)) {
    refused(m, EPROTO, "malformed answer");
    return;
  }
  if (ret < 0) {
    refused(m, err > 0 ? err : EIO, "the management daemon refused");
    return;
  }
  struct gi_dict *xdata = gi_xdr_get_legacy_dict(in); /* optional, so malformed is as good as absent */
  if (gi_dict_get_str(xdata, "servers-list", &servers) || gi_dict_get_str(xdata, "cluster.brick-vol-servers", &servers))
    add_servers(m, servers);
  gi_dict_unref(&xdata);
  gi_rpc_client_reset_backoff(m->rpc);
  got_text(m, text, len);
}

static void
spec_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  struct gi_mgmt *m = arg;
  enter(m);
  m->fetching = false;
  if (m->dead || reply->status == -ENOTCONN)
    ; /* `down` deals with it */
  else if (reply->status < 0)
    gi_rpc_client_disconnect(c, "no answer to GETSPEC");
  else {
    m->next_host = 0; /* a whole new round when this one goes */
    if (reply->accept != GI_RPC_SUCCESS)
      refused(m, EOPNOTSUPP, "the peer serves no volfiles");
    else
      got_spec(m, &reply->in);
  }
  if (!m->dead && m->again)
    fetch(m);
  leave(m);
}

/* Mounts ask for the list of servers; bricks and daemons (keys like shd/VOL) do not. */
static bool
is_mount(const struct gi_mgmt *m)
{
  return m->ctx->brick_name == NULL && (m->key[0] == '/' || strchr(m->key, '/') == NULL);
}

static void
fetch(struct gi_mgmt *m)
{
  struct gi_xdr_out out = {0};
  m->again = m->fetching;
  if (m->fetching || !gi_rpc_client_connected(m->rpc))
    return;
  m->fetching = true;
  uint32_t xid = gi_rpc_call_begin(m->rpc, &out, GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_GETSPEC, GI_AUTH_V2, NULL);
  struct gi_dict *xdata = gi_dict_new();
  gi_dict_set_str(xdata, "max-op-version", OP_VERSION_MAX);
  gi_dict_set_str(xdata, "min-op-version", OP_VERSION_MIN);
  if (m->ctx->brick_name)
    gi_dict_set_str(xdata, "brick_name", m->ctx->brick_name);
  gi_xdr_put_u32(&out, is_mount(m) ? SPEC_WANT_SERVERS : 0);
  gi_xdr_put_string(&out, m->key);
  gi_xdr_put_legacy_dict(&out, xdata);
  gi_dict_unref(&xdata);
  gi_rpc_call_send(m->rpc, xid, &out, NULL, false, spec_answered, m);
}

/* ---- SIGNIN ---- */

static void
signin_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  struct gi_mgmt *m = arg;
  if (m->dead || reply->status == -ENOTCONN)
    return;
  int32_t ret = (int32_t)gi_xdr_get_u32(&reply->in);
  if (reply->status < 0 || reply->accept != GI_RPC_SUCCESS || reply->in.failed || ret < 0)
    gi_log(GI_LOG_ERROR, "mgmt", GI_MSG_MGMT + 2,
           "the management daemon did not take the port %d of %s: clients cannot find it", m->brick_port, m->brick);
  else
    gi_log(GI_LOG_INFO, "mgmt", GI_MSG_MGMT + 3, "signed in: %s on port %d", m->brick, m->brick_port);
}

/* SIGNIN or SIGNOUT: `last` is the pid or the port for RDMA, of which there is none. */
static void
tell_port(struct gi_mgmt *m, uint32_t proc, uint32_t last, gi_rpc_reply_fn *fn)
{
  struct gi_xdr_out out = {0};
  if (m->brick == NULL || !gi_rpc_client_connected(m->rpc))
    return;
  uint32_t xid = gi_rpc_call_begin(m->rpc, &out, GI_PROG_PORTMAP, GI_VERS_PORTMAP, proc, GI_AUTH_V2, NULL);
  gi_xdr_put_string(&out, m->brick);
  gi_xdr_put_u32(&out, (uint32_t)m->brick_port);
  gi_xdr_put_u32(&out, last);
  gi_rpc_call_send(m->rpc, xid, &out, NULL, false, fn, m);
}

static void
sign_in(struct gi_mgmt *m)
{
  tell_port(m, GI_PMAP_SIGNIN, (uint32_t)getpid(), signin_answered);
}

static void
signout_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  /* Nobody waits for it. */
}

void
gi_mgmt_signin(struct gi_mgmt *m, const char *brick, int port)
{
  GI_CHECK(m, MGMT_MAGIC);
  char *copy = gi_strdup(brick);
  gi_free(m->brick);
  m->brick = copy;
  m->brick_port = port;
  sign_in(m);
}

/* ---- the connection ---- */

static void
mgmt_up(struct gi_rpc_client *c, void *arg)
{
  struct gi_mgmt *m = arg;
  m->met = true;
  m->fetching = m->again = false;
  fetch(m);
  sign_in(m);
}

static void
mgmt_down(struct gi_rpc_client *c, void *arg)
{
  struct gi_mgmt *m = arg;
  m->fetching = m->again = false;
  if (m->next_host < m->nhosts && m->next_host > 0) {
    connect_next(m);
    return;
  }
  bool answered = m->next_host == 0;
  enter(m);
  gi_rpc_client_retry_later(c, start_round);
  if (m->text == NULL && !answered)
    m->ops->failed(m->arg, ENOTCONN,
                   m->met ? "the connection was closed without an answer" : "no management daemon could be reached");
  leave(m);
}

static void
mgmt_callback(struct gi_rpc_client *c, const struct gi_call_header *h, struct gi_xdr_in *in, void *arg)
{
  struct gi_mgmt *m = arg;
  enter(m);
  if (h->proc == GI_CBK_FETCHSPEC) {
    fetch(m);
    if (m->ops->news)
      m->ops->news(m->arg);
  } else if (h->proc == GI_CBK_STATEDUMP && m->ops->statedump) {
    int32_t pid = (int32_t)gi_xdr_get_u32(in);
    m->ops->statedump(m->arg, in->failed ? 0 : pid);
  }
  leave(m);
}

static const struct gi_rpc_client_ops rpc_ops = {
    .up = mgmt_up,
    .down = mgmt_down,
    .callback = mgmt_callback,
};

struct gi_mgmt *
gi_mgmt_new(struct gi_ctx *ctx, const char *const *hosts, unsigned nhosts, int port, const char *key,
            const struct gi_mgmt_ops *ops, void *arg)
{
  /* No pings: glusterd connections rely on keepalive (wire.md 7.1). */
  const struct gi_rpc_client_config cfg = {
      .name = "mgmt",
      .call_timeout_s = CALL_TIMEOUT_S,
      .reconnect_min_ms = RETRY_MIN_MS,
      .reconnect_max_ms = RETRY_MAX_MS,
  };
  struct gi_mgmt *m = gi_new(struct gi_mgmt);
  GI_ASSERT(nhosts > 0);
  m->magic = MGMT_MAGIC;
  m->ctx = ctx;
  m->ops = ops;
  m->arg = arg;
  m->key = gi_strdup(key);
  for (unsigned i = 0; i < nhosts; i++)
    add_host(m, hosts[i], strlen(hosts[i]), port);
  m->rpc = gi_rpc_client_new(ctx->reactor, &cfg, &rpc_ops, m);
  connect_next(m);
  return m;
}

void
gi_mgmt_free(struct gi_mgmt **mp)
{
  struct gi_mgmt *m = *mp;
  *mp = NULL;
  if (m == NULL)
    return;
  GI_CHECK(m, MGMT_MAGIC);
  m->dead = true;
  enter(m);
  tell_port(m, GI_PMAP_SIGNOUT, 0, signout_answered); /* what is queued still leaves at an orderly close */
  gi_rpc_client_free(&m->rpc);
  leave(m);
}
