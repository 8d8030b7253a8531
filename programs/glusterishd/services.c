/* SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon answers: on TCP to clients, bricks and daemons (HANDSHAKE,
 * PORTMAP, the read-only part of CLI), on its unix socket to the CLI. DUMP is
 * built into the RPC server. Everything that arrives is hostile until decoded:
 * a call that cannot be decoded is answered GARBAGE_ARGS. Who may ask for what
 * is in doors.c.
 */
#include "programs/glusterishd/doors.h"
#include "programs/glusterishd/ops/op.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 4096       /* volfile keys, brick names */
#define DICT_MAX_BYTES (4u << 20) /* a management dictionary */
#define SHOW_BYTES (1u << 20)     /* a command of a stranger under way: no more of them than memory for requests is for all */
#define BACKLOG 1024
#define NEWS_DELAY (20 * GI_NSEC_PER_MSEC) /* a volume that starts is one piece of news */
#define MSG (GI_MSG_MGMT + 60)

/* ---- helpers ---- */

/* A string argument; NULL if it is malformed or contains a NUL. Caller frees. */
static char *
get_string(struct gi_xdr_in *in)
{
  uint32_t len;
  const uint8_t *bytes = gi_xdr_get_opaque(in, NAME_MAX_BYTES, &len);
  if (in->failed || memchr(bytes, 0, len))
    return NULL;
  return gi_strndup((const char *)bytes, len);
}

/* A dictionary argument: false if malformed; an absent one is NULL. */
static bool
get_dict(struct gi_xdr_in *in, struct gi_dict **dict)
{
  uint32_t len;
  const uint8_t *bytes = gi_xdr_get_opaque(in, DICT_MAX_BYTES, &len);
  *dict = NULL;
  if (in->failed)
    return false;
  if (len == 0)
    return true;
  *dict = gi_legacy_dict_decode(bytes, len);
  return *dict != NULL;
}

static void
put_dict(struct gi_xdr_out *out, const struct gi_dict *dict)
{
  struct gi_xdr_out bytes = {0};
  if (dict)
    gi_legacy_dict_encode(&bytes, dict);
  gi_xdr_put_opaque(out, bytes.base, (uint32_t)bytes.len);
  gi_xdr_out_finish(&bytes);
}

/* ---- HANDSHAKE ---- */

static void
answer_spec(struct gi_rpc_request *req, int code, const char *text, const struct gi_dict *xdata)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, text ? (uint32_t)strlen(text) : (uint32_t)-1);
  gi_xdr_put_u32(&out, (uint32_t)code);
  gi_xdr_put_string(&out, text);
  put_dict(&out, xdata);
  gi_rpc_answer_send(req, &out, NULL);
}

/* The volfile of `key`, for who shows `xdata`; the answer's own is `more`. */
static void
give_spec(struct gd *gd, struct gi_rpc_request *req, const char *key, const struct gi_dict *xdata, struct gi_dict *more)
{
  struct gi_error err = {0};
  struct gd_volume *v = NULL;
  int64_t max_op_version = 1;
  gi_dict_get_int(xdata, "max-op-version", &max_op_version);
  if (!gd_door_open(gd, req, gd_volgen_is_service(gd, key) ? GD_ASK_SERVICE : GD_ASK_VOLFILE, NULL, false)) {
    answer_spec(req, EACCES, NULL, NULL);
    return;
  }
  GI_CLEANUP_FREE char *text = gd_volgen_spec(gd, key, gd_door_open(gd, req, GD_ASK_PASSWORD, NULL, true), &v, &err);
  const struct gd_shown shown = {key, xdata, more};
  if (text && v && !gd_door_may_mount(gd, req, v, &shown)) {
    answer_spec(req, EACCES, NULL, more);
    return;
  }
  if (text && v && max_op_version < (int64_t)v->client_op_version) {
    answer_spec(req, EOPNOTSUPP, NULL, NULL);
    return;
  }
  if (!text)
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "volfile \"%s\" is refused to %s: %s", key, gi_conn_peer(gi_rpc_peer_conn(req->peer)),
           err.text);
  answer_spec(req, text ? 0 : err.code, text, NULL);
}

static void
getspec(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_dict *xdata = NULL;
  gi_xdr_get_u32(&req->in); /* flags: whether a list of servers is wanted; this pool is one node */
  GI_CLEANUP_FREE char *key = get_string(&req->in);
  if (!key || !get_dict(&req->in, &xdata)) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  struct gi_dict *more = gi_dict_new();
  give_spec(arg, req, key, xdata, more);
  gi_dict_unref(&more);
  gi_dict_unref(&xdata);
}

static void
event_notify(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_dict *dict = NULL;
  if (gd_door_closed(arg, req, GD_ASK_EVENT))
    return;
  uint32_t op = gi_xdr_get_u32(&req->in);
  if (!get_dict(&req->in, &dict)) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  gi_dict_unref(&dict);
  if (op == 0) { /* rebalance status: nobody waits for an answer */
    gi_rpc_drop(req);
    return;
  }
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, 0);
  put_dict(&out, NULL);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
get_volume_info(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gd *gd = arg;
  struct gi_dict *in = NULL, *reply = NULL;
  const char *name = NULL;
  char id[GI_UUID_TEXT];
  if (gd_door_closed(gd, req, GD_ASK_VOLUME_ID))
    return;
  if (!get_dict(&req->in, &in)) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  gi_dict_get_str(in, "volname", &name);
  const struct gd_volume *v = gd_volume_find(gd, name);
  if (v && !gd_door_may_find(gd, req, v)) /* as if there were none */
    v = NULL;
  if (v) {
    reply = gi_dict_new();
    gi_dict_set_str(reply, "volume_id", gi_gfid_text(&v->id, id));
  }
  gi_dict_unref(&in);
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, v ? 0 : (uint32_t)-1);
  gi_xdr_put_u32(&out, v ? 0 : EINVAL);
  gi_xdr_put_string(&out, v ? "" : "Volume does not exist");
  put_dict(&out, reply);
  gi_dict_unref(&reply);
  gi_rpc_answer_send(req, &out, NULL);
}

/* ---- PORTMAP ---- */

static struct gd_brick *
brick_by_path(struct gd *gd, const char *path)
{
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (strcmp(v->bricks[i].path, path) == 0 && gi_gfid_equal(&v->bricks[i].node, &gd->uuid))
        return &v->bricks[i];
  return NULL;
}

/* The port of this node's brick PATH, or of HOST:PATH, which may be another node's that has told it; 0: none is known to who asks. */
static int
port_of(struct gd *gd, const struct gi_rpc_request *req, const char *text)
{
  const char *path = strstr(text, ":/");
  if (text[0] == '/') {
    const struct gd_brick *b = brick_by_path(gd, text);
    return b && b->signed_in && gd_door_may_find(gd, req, b->volume) ? b->port : 0;
  }
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; path && i < v->nbricks; i++) {
      const struct gd_brick *b = &v->bricks[i];
      if (strcmp(b->path, path + 1) == 0 && strlen(b->host) == (size_t)(path - text) &&
          memcmp(b->host, text, (size_t)(path - text)) == 0)
        return gd_door_may_find(gd, req, v) ? gd_ports_get(gd, b) : 0;
    }
  return 0;
}

static void
answer_two(struct gi_rpc_request *req, int ret, int code)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, (uint32_t)ret);
  gi_xdr_put_u32(&out, (uint32_t)code);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
port_by_brick(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gd *gd = arg;
  if (gd_door_closed(gd, req, GD_ASK_PORT))
    return;
  GI_CLEANUP_FREE char *path = get_string(&req->in);
  if (!path) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  int port = port_of(gd, req, path);
  bool known = port != 0;
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, known ? 0 : (uint32_t)-1);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, (uint32_t)port);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
sign_in(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gd *gd = arg;
  GI_CLEANUP_FREE char *path = get_string(&req->in);
  uint32_t port = gi_xdr_get_u32(&req->in);
  if (!path || req->in.failed) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  struct gd_brick *b = brick_by_path(gd, path);
  bool mine = b && gd_door_open(gd, req, GD_ASK_SIGN, b, false);
  if (!mine || port == 0 || port > 65535) {
    answer_two(req, -1, mine ? EINVAL : b ? EACCES : ENOENT);
    return;
  }
  gd_door_remember(req, b);
  if (!b->signed_in && !gd->news.armed)
    gi_timer_set(&gd->news, NEWS_DELAY);
  gd_brick_signed_in(b, (int)port);
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "brick %s:%s listens on port %u", b->host, b->path, port);
  answer_two(req, 0, 0);
}

static void
sign_out(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  GI_CLEANUP_FREE char *path = get_string(&req->in);
  uint32_t port = gi_xdr_get_u32(&req->in);
  if (!path || req->in.failed) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  struct gd_brick *b = brick_by_path(arg, path);
  bool mine = b && b->port == (int)port && gd_door_open(arg, req, GD_ASK_SIGN, b, false);
  if (mine)
    gd_brick_signed_out(b);
  answer_two(req, mine ? 0 : -1, mine ? 0 : ENOENT);
}

/* ---- CLI ---- */

static void
answer_cli(struct gd_op *op, const struct gi_error *err)
{
  bool bad = err && err->code;
  char *text = json_dumps(op->out, JSON_COMPACT);
  struct gi_dict *dict = gi_dict_new();
  struct gi_xdr_out out = {0};
  gi_dict_set_str(dict, "json", text ? text : "{}");
  free(text);
  gi_rpc_answer_begin(op->req, &out);
  gi_xdr_put_u32(&out, bad ? (uint32_t)-1 : 0);
  gi_xdr_put_u32(&out, bad ? (uint32_t)err->code : 0);
  gi_xdr_put_string(&out, bad ? err->text : "");
  put_dict(&out, dict);
  gi_dict_unref(&dict);
  gi_rpc_answer_send(op->req, &out, NULL);
}

static void
cli_call(struct gd *gd, struct gi_rpc_request *req, bool remote)
{
  struct gi_dict *dict = NULL;
  const char *json = NULL;
  if (!get_dict(&req->in, &dict)) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  gi_dict_get_str(dict, "json", &json);
  if (remote)
    gi_rpc_charge(req, SHOW_BYTES);
  gd_op_begin(gd, json ? json : "", req->header.proc, remote, req, answer_cli, NULL);
  gi_dict_unref(&dict);
}

static void
cli(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  bool shows = gd_op_proc_is_remote(arg, req->header.proc);
  bool all = gd_door_open(arg, req, GD_ASK_COMMAND, NULL, shows);
  if (all || (shows && gd_door_open(arg, req, GD_ASK_SHOW, NULL, false)))
    cli_call(arg, req, !all);
  else
    gi_rpc_answer_status(req, GI_RPC_PROC_UNAVAIL);
}

/* ---- programs ---- */

#define EVERY_PROC(fn) [1 ... GD_CLI_PROCS - 1] = fn
static gi_rpc_handler *const cli_procs[GD_CLI_PROCS] = {EVERY_PROC(cli)};
static gi_rpc_handler *const handshake_procs[] = {
    [GI_HNDSK_GETSPEC] = getspec, [GI_HNDSK_EVENT_NOTIFY] = event_notify, [GI_HNDSK_GET_VOLUME_INFO] = get_volume_info};
static gi_rpc_handler *const getspec_procs[] = {[GI_HNDSK_GETSPEC] = getspec};
static gi_rpc_handler *const portmap_procs[] = {
    [GI_PMAP_PORTBYBRICK] = port_by_brick, [GI_PMAP_SIGNIN] = sign_in, [GI_PMAP_SIGNOUT] = sign_out};

static const struct gi_rpc_program cli_remote_program = {"GlusterD svc cli read-only", GI_PROG_CLI, GI_VERS_CLI, GD_CLI_PROCS,
                                                         cli_procs};
static const struct gi_rpc_program cli_program = {"GlusterD svc cli", GI_PROG_CLI, GI_VERS_CLI, GD_CLI_PROCS, cli_procs};
static const struct gi_rpc_program portmap_program = {"Gluster Portmap", GI_PROG_PORTMAP, GI_VERS_PORTMAP,
                                                      GI_ARRAY_LEN(portmap_procs), portmap_procs};
static const struct gi_rpc_program handshake_program = {"Gluster Handshake", GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE,
                                                        GI_ARRAY_LEN(handshake_procs), handshake_procs};
static const struct gi_rpc_program getspec_program = {"Gluster Handshake", GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE,
                                                      GI_ARRAY_LEN(getspec_procs), getspec_procs};

/* Nothing that anybody asks for needs a large record, but for nodes that store large volumes. */
static const struct gi_rpc_limits limits = {
    .stranger_record = 1u << 20,
    .record = 4u << 20,
    .stranger_ns = 10 * GI_NSEC_PER_SEC,
    .admit_callers = true,
};

static void
tell_changed(struct gi_rpc_peer *p, void *arg)
{
  struct gi_xdr_out out = {0};
  gi_rpc_callback_begin(p, &out, GI_CBK_FETCHSPEC);
  gi_rpc_callback_send(p, &out);
}

/* The tool asks for it before anything else: GlusterFS's daemon has the same programs and other words. */
static const struct gi_rpc_program mark_program = {"glusterish", GI_PROG_MARK, GI_VERS_MARK, 0, NULL};

void
gd_services_changed(struct gd *gd)
{
  if (gd->tcp)
    gi_rpc_server_foreach_peer(gd->tcp, tell_changed, NULL);
}

/* ---- STATEDUMP ---- */

struct dump_call {
  const char *host;
  int32_t pid;
};

static void
tell_dump(struct gi_rpc_peer *p, void *arg)
{
  const struct dump_call *call = arg;
  const char *peer = gi_conn_peer(gi_rpc_peer_conn(p)), *port = strrchr(peer, ':');
  size_t len = strlen(call->host);
  if (!port || (size_t)(port - peer) != len || strncmp(peer, call->host, len) != 0)
    return;
  struct gi_xdr_out out = {0};
  gi_rpc_callback_begin(p, &out, GI_CBK_STATEDUMP);
  gi_xdr_put_u32(&out, (uint32_t)call->pid);
  gi_rpc_callback_send(p, &out);
}

void
gd_services_statedump(struct gd *gd, const char *host, int32_t pid)
{
  struct dump_call call = {host, pid};
  if (gd->tcp)
    gi_rpc_server_foreach_peer(gd->tcp, tell_dump, &call);
}

static void
news(void *arg)
{
  gd_ports_tell(arg, NULL);
  gd_services_changed(arg);
}

int
gd_services_start(struct gd *gd, struct gi_error *err)
{
  const struct gd_config *c = &gd->config;
  gi_timer_init(&gd->news, gd->reactor, news, gd);
  gd->tcp = gi_rpc_server_new(gd->reactor, GD_NAME, &gd_door_ops, gd);
  gi_rpc_server_add_program(gd->tcp, &cli_remote_program);
  gi_rpc_server_add_program(gd->tcp, &portmap_program);
  gi_rpc_server_add_program(gd->tcp, &handshake_program);
  gi_rpc_server_set_limits(gd->tcp, &limits);
  gi_rpc_server_add_program(gd->tcp, &mark_program);
  if (gd->nodes_program)
    gi_rpc_server_add_program(gd->tcp, gd->nodes_program);
  gd->local = gi_rpc_server_new(gd->reactor, GD_NAME, &gd_door_ops, gd);
  gi_rpc_server_add_program(gd->local, &cli_program);
  gi_rpc_server_add_program(gd->local, &getspec_program);
  gi_rpc_server_add_program(gd->local, &mark_program);
  if (gd_tls_begin(gd, err) || gi_rpc_server_listen(gd->tcp, c->bind, c->port, BACKLOG, err))
    return -1;
  gd->config.port = gi_rpc_server_port(gd->tcp);
  unlink(c->sockfile);      /* of an earlier daemon: the lock on the working directory says it is gone */
  mode_t old = umask(0177); /* who can connect can do everything: root only */
  int ret = gi_rpc_server_listen(gd->local, c->sockfile, 0, BACKLOG, err);
  umask(old);
  return ret;
}

void
gd_services_stop(struct gd *gd)
{
  if (gd->local)
    unlink(gd->config.sockfile);
  if (gd->tcp)
    gi_timer_finish(&gd->news);
  gi_rpc_server_free(&gd->tcp);
  gi_rpc_server_free(&gd->local);
  gi_tls_unref(&gd->tls);
}
