/* SPDX-License-Identifier: Apache-2.0
 *
 * The handshake program of a brick: SETVOLUME makes a connection belong to a
 * client and a brick; the rest is small (wire.md 6.3, 7.3).
 */
#include "xlators/protocol/server/server.h"

#include "libglusterish/probe.h"

#include <errno.h>
#include <stdio.h>

#define SV_INTRODUCTION_MAX (1u << 20)

/* A SETVOLUME under way: it waits only while a sub-directory is looked up. */
struct sv_setvolume {
  struct server *sv;
  struct gi_rpc_request *req;
  struct gi_dict *intro;
  struct gi_xlator *brick;
  bool login;
  uint8_t cred[400]; /* outlives the request's record */
};

static void
sv_put_legacy(struct gi_xdr_out *out, const struct gi_dict *d)
{
  struct gi_xdr_out bytes = {0};
  gi_legacy_dict_encode(&bytes, d);
  gi_xdr_put_opaque(out, bytes.base, (uint32_t)bytes.len);
  gi_xdr_out_finish(&bytes);
}

static void
sv_setvolume_answer(struct sv_setvolume *s, int32_t ret, int32_t err, struct gi_dict *d)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(s->req, &out);
  gi_xdr_put_u32(&out, (uint32_t)ret);
  gi_xdr_put_u32(&out, (uint32_t)err);
  sv_put_legacy(&out, d);
  gi_rpc_answer_send(s->req, &out, NULL);
  gi_dict_unref(&d);
  gi_dict_unref(&s->intro);
  gi_free(s);
}

static void
sv_refuse_setvolume(struct sv_setvolume *s, int err, const char *text)
{
  const char *uid = "?";
  gi_dict_get_str(s->intro, "process-uuid", &uid);
  s->sv->metrics.refused_handshakes++;
  GI_PROBE("server: SETVOLUME refused");
  gi_log(err == EAGAIN ? GI_LOG_INFO : GI_LOG_WARNING, s->sv->x->name, GI_MSG_SERVER + 1, "refused client %s from %s: %s", uid,
         s->req->peer ? gi_conn_peer(gi_rpc_peer_conn(s->req->peer)) : "?", text);
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_str(d, "ERROR", text);
  if (!s->brick && err == ENOENT)
    gi_dict_set_str(d, "volume-id", "");
  sv_setvolume_answer(s, -1, err, d);
}

/* ---- what the client asked for ---- */

static struct gi_xlator *
sv_find_brick(struct server *sv, const char *name)
{
  for (unsigned i = 0; i < sv->x->nchildren; i++)
    if (strcmp(sv->x->children[i]->name, name) == 0)
      return sv->x->children[i];
  return NULL;
}

/* The volume's id is an option of some translator of the brick's stack. */
static const char *
sv_volume_id(const struct gi_xlator *x)
{
  const char *id = gi_xlator_option(x, "volume-id");
  for (unsigned i = 0; !id && i < x->nchildren; i++)
    id = sv_volume_id(x->children[i]);
  return id;
}

static bool
sv_check_identity(struct sv_setvolume *s)
{
  const char *text = NULL, *id = sv_volume_id(s->brick);
  if (!gi_dict_get_str(s->intro, "process-uuid", &text) || !text[0]) {
    sv_refuse_setvolume(s, EINVAL, "UUID not specified");
    return false;
  }
  if (gi_dict_get_str(s->intro, "fops-version", &text) && strcmp(text, "1298437") != 0) {
    char msg[128];
    snprintf(msg, sizeof(msg), "version mismatch: client(%.32s) - client-mgmt(0)", text);
    sv_refuse_setvolume(s, EINVAL, msg);
    return false;
  }
  if (id && gi_dict_get_str(s->intro, "volume-id", &text) && text[0] && strcasecmp(text, id) != 0) {
    sv_refuse_setvolume(s, EINVAL, "Volume-ID different, possible case of same brick re-used in another volume");
    return false;
  }
  enum sv_admission admission = sv_auth_check(s->sv, s->req->peer, s->brick, s->intro, &s->login);
  if (admission == SV_REFUSED) {
    sv_refuse_setvolume(s, EACCES, "Authentication failed");
    return false;
  }
  if (admission == SV_LATER) {
    GI_PROBE("server: a host name is not resolved yet");
    sv_refuse_setvolume(s, EAGAIN, "The name service has not said yet who the hosts of auth.allow and auth.reject are");
    return false;
  }
  if (!sv_child_is_up(s->sv, s->brick)) {
    sv_refuse_setvolume(s, EAGAIN, "Not received child_up for this xlator");
    return false;
  }
  return true;
}

/* ---- keys of clients ---- */

/* No refusal: who has the key asks again. */
static void
sv_challenge(struct sv_setvolume *s)
{
  struct sv_peer *peer = gi_rpc_peer_private(s->req->peer);
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_str(d, "ERROR", gi_client_key_refusal(GI_KEY_UNPROVED));
  gi_client_key_ask(&peer->key, s->sv->x->reactor, d);
  sv_setvolume_answer(s, -1, EAGAIN, d);
}

/* Self-heal daemons, and mounts of root on the nodes, know the password of the volume. */
static bool
sv_check_key(struct sv_setvolume *s)
{
  enum gi_key_verdict v = sv_auth_key(s->sv, s->req->peer, s->brick, s->intro);
  if (v == GI_KEY_GOOD || s->login)
    return true;
  if (v == GI_KEY_UNPROVED)
    sv_challenge(s);
  else
    sv_refuse_setvolume(s, EACCES, gi_client_key_refusal(v));
  return false;
}

/* ---- one mount ---- */

bool
sv_is_mount(const char *process)
{
  return strncmp(process, "fuse", 4) == 0 || strncmp(process, "gfapi", 5) == 0;
}

size_t
sv_process_part(const char *uid)
{
  const char *end = strstr(uid, "-GRAPH_ID:");
  return end ? (size_t)(end - uid) : strlen(uid);
}

/* The mount of another process that the brick has; NULL: none. */
static const struct sv_client *
sv_other_mount(const struct sv_setvolume *s)
{
  const char *process = "", *uid = "";
  gi_dict_get_str(s->intro, "process-name", &process);
  gi_dict_get_str(s->intro, "process-uuid", &uid);
  if (!sv_is_mount(process))
    return NULL;
  gi_list_foreach(c, &s->sv->clients, struct sv_client, link) {
    size_t same = sv_process_part(uid);
    if (c->bound == s->brick && sv_is_mount(c->process_name) &&
        (sv_process_part(c->uid) != same || strncmp(c->uid, uid, same) != 0))
      return c;
  }
  return NULL;
}

static bool
sv_check_single(struct sv_setvolume *s)
{
  const struct sv_client *other = sv_opts(s->sv)->single_mount ? sv_other_mount(s) : NULL;
  char msg[512];
  if (!other)
    return true;
  snprintf(msg, sizeof(msg), "client.single-mount is on, and the volume is mounted by %.200s at %.100s", other->uid,
           other->address);
  sv_refuse_setvolume(s, EBUSY, msg);
  return false;
}

/* ---- acceptance ---- */

static char *
sv_dict_text(const struct gi_dict *d, const char *key)
{
  const char *text = "";
  gi_dict_get_str(d, key, &text);
  return gi_strdup(text);
}

/* By what it was let in this time: it may introduce itself again, as one with another password. */
static void
sv_note_login(struct sv_client *c, const struct sv_setvolume *s)
{
  gi_free(c->user);
  c->user = s->login ? sv_dict_text(s->intro, "username") : NULL;
  c->trusted = s->login;
}

static struct sv_client *
sv_bind_client(struct sv_setvolume *s)
{
  struct sv_peer *p = gi_rpc_peer_private(s->req->peer);
  const char *uid = NULL;
  gi_dict_get_str(s->intro, "process-uuid", &uid);
  struct sv_client *c = sv_client_find(s->sv, uid, &s->req->header);
  if (c && (c->bound != s->brick || strcmp(c->key, p->key.proved) != 0))
    c = NULL; /* the same name at another brick of this process, or with another key: a record of its own */
  if (c && p->client == c) {
    sv_note_login(c, s);
    return c;
  }
  sv_client_detach(p);
  if (!c) {
    c = sv_client_new(s->sv, uid, &s->req->header, gi_conn_peer(gi_rpc_peer_conn(s->req->peer)));
    c->bound = s->brick;
    c->process_name = sv_dict_text(s->intro, "process-name");
    c->version = sv_dict_text(s->intro, "client-version");
    sv_note_login(c, s);
    snprintf(c->key, sizeof(c->key), "%s", p->key.proved);
    gi_dict_get_int(s->intro, "opversion", &c->opversion);
    c->ours = c->id.ours = gi_dict_get(s->intro, GI_VERSION_KEY) != NULL;
    c->id.acknowledges = c->ours && gi_dict_get(s->intro, GI_ACKNOWLEDGES_KEY);
    sv_client_supersede(c);
  }
  sv_client_attach(c, p);
  return c;
}

static void
sv_accept(struct sv_setvolume *s, const struct gi_gfid *subdir)
{
  if (!sv_check_key(s) || !sv_check_single(s)) /* now: a sub-directory was looked up meanwhile */
    return;
  struct sv_client *c = sv_bind_client(s);
  c->subdir = *subdir;
  if (!gi_gfid_is_none(subdir) && !c->subdir_path)
    c->subdir_path = sv_dict_text(s->intro, "subdir-mount");
  s->sv->metrics.accepted_handshakes++;
  gi_log(GI_LOG_INFO, s->sv->x->name, GI_MSG_SERVER + 2, "accepted client %s from %s (%s%s)", c->uid, c->address,
         c->ours ? "glusterish, speaks " : "", c->version);
  char uuid[GI_UUID_TEXT];
  const char *id = sv_volume_id(s->brick);
  GI_CLEANUP_FREE char *capabilities = gi_extension_capabilities(); /* a GlusterFS client ignores the key */
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_str(d, "process-uuid", gi_gfid_text(&s->sv->x->ctx->process_uuid, uuid));
  gi_dict_set_str(d, "volume-id", id ? id : "");
  gi_dict_set_str(d, "child_up", "1");
  gi_dict_set_str(d, "transport-ptr", "0");
  gi_dict_set_str(d, "clnt-lk-version", "0");
  gi_dict_set_str(d, GI_VERSION_KEY, GI_VERSION);
  gi_dict_set_str(d, GI_CAPABILITIES_KEY, capabilities);
  sv_put_promise(s->sv, s->brick, d);
  gi_dict_set_str(d, "ERROR", "Success");
  sv_setvolume_answer(s, 0, 0, d);
}

static void
sv_subdir_found(void *arg, int err, const struct gi_gfid *gfid)
{
  struct sv_setvolume *s = arg;
  if (!s->req->peer) {
    gi_rpc_drop(s->req);
    gi_dict_unref(&s->intro);
    gi_free(s);
    return;
  }
  if (err == 0) {
    sv_accept(s, gfid);
    return;
  }
  char msg[512];
  const char *path = "";
  gi_dict_get_str(s->intro, "subdir-mount", &path);
  snprintf(msg, sizeof(msg), "subdirectory for mount \"%.400s\" is not found", path);
  sv_refuse_setvolume(s, ENOENT, msg);
}

static struct gi_dict *
sv_read_introduction(struct gi_rpc_request *req)
{
  uint32_t len = 0;
  const uint8_t *bytes = gi_xdr_get_opaque(&req->in, SV_INTRODUCTION_MAX, &len);
  return !req->in.failed && len ? gi_legacy_dict_decode(bytes, len) : NULL;
}

static void
sv_setvolume(struct gi_rpc_server *rpc, struct gi_rpc_request *req, void *arg)
{
  struct sv_setvolume *s = gi_new(struct sv_setvolume);
  s->sv = arg;
  s->req = req;
  if (req->header.cred_len > sizeof(s->cred))
    req->header.cred_len = sizeof(s->cred);
  if (req->header.cred_len)
    memcpy(s->cred, req->header.cred, req->header.cred_len);
  req->header.cred = s->cred;
  s->intro = sv_read_introduction(req);
  if (!s->intro || gi_dict_count(s->intro) == 0) {
    sv_refuse_setvolume(s, EINVAL, "Internal error: failed to unserialize request dictionary");
    return;
  }
  const char *name = NULL, *subdir = NULL;
  if (!gi_dict_get_str(s->intro, "remote-subvolume", &name)) {
    sv_refuse_setvolume(s, EINVAL, "No remote-subvolume option specified");
    return;
  }
  s->brick = sv_find_brick(s->sv, name);
  if (!s->brick) {
    sv_refuse_setvolume(s, ENOENT, "Brick not found");
    return;
  }
  if (!sv_check_identity(s) || !sv_check_key(s))
    return;
  if (gi_dict_get_str(s->intro, "subdir-mount", &subdir) && subdir[strspn(subdir, "/")])
    sv_subdir_walk(s->sv, s->brick, subdir, sv_subdir_found, s);
  else
    sv_accept(s, &gi_gfid_none);
}

/* ---- the small procedures ---- */

void
sv_ping(struct gi_rpc_server *rpc, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_opaque(&out, NULL, 0);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
sv_getspec(struct gi_rpc_server *rpc, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, (uint32_t)-1);
  gi_xdr_put_u32(&out, ENOSYS);
  gi_xdr_put_string(&out, "<this method is not in use, use glusterd for getspec>");
  gi_xdr_put_opaque(&out, NULL, 0);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
sv_set_lk_ver(struct gi_rpc_server *rpc, struct gi_rpc_request *req, void *arg)
{
  uint32_t len;
  gi_xdr_get_opaque(&req->in, SV_INTRODUCTION_MAX, &len);
  uint32_t version = gi_xdr_get_u32(&req->in);
  if (req->in.failed) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_u32(&out, version);
  gi_rpc_answer_send(req, &out, NULL);
}

static gi_rpc_handler *const sv_handshake_handlers[] = {
    [GI_HNDSK_NULL] = sv_ping, [GI_HNDSK_SETVOLUME] = sv_setvolume,   [GI_HNDSK_GETSPEC] = sv_getspec,
    [GI_HNDSK_PING] = sv_ping, [GI_HNDSK_SET_LK_VER] = sv_set_lk_ver,
};

const struct gi_rpc_program sv_handshake_program = {
    .name = "GlusterFS Handshake",
    .prog = GI_PROG_HANDSHAKE,
    .vers = GI_VERS_HANDSHAKE,
    .nprocs = GI_ARRAY_LEN(sv_handshake_handlers),
    .handler = sv_handshake_handlers,
};
