/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node answers to others: who it is (to anybody), and calls of those who
 * belong to its pool. Requests and answers are one JSON object each.
 */
#include "programs/glusterishd/doors.h"
#include "programs/glusterishd/pool/http.h"
#include "programs/glusterishd/pool/pool.h"

#include <errno.h>
#include <string.h>

#define REQUEST_MAX (4u << 20) /* bytes */

/* ---- requests ---- */

/* NULL: it was answered, as malformed. */
static json_t *
get_request(struct gi_rpc_request *req)
{
  uint32_t len = 0;
  const uint8_t *bytes = gi_xdr_get_opaque(&req->in, REQUEST_MAX, &len);
  json_t *doc = req->in.failed ? NULL : json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
  if (json_is_object(doc))
    return doc;
  json_decref(doc);
  gi_rpc_answer_status(req, GI_RPC_GARBAGE);
  return NULL;
}

static const char *
str(const json_t *doc, const char *key)
{
  return json_string_value(json_object_get(doc, key));
}

/* ---- who are you? ---- */

static void
greet(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gd *gd = arg;
  char uuid[GI_UUID_TEXT], pool[GI_UUID_TEXT] = "";
  if (gd_door_closed(gd, req, GD_ASK_GREET))
    return;
  json_t *volumes = json_array();
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    json_array_append_new(volumes, json_string(v->name));
  if (gd->pool)
    gi_gfid_text(&gd->pool->id, pool);
  json_int_t generation = gd->pool ? gd->pool->generation : 0;
  const char *tls = !gd->tls ? "off" : gd->tls_optional ? "both" : "required";
  gd_node_answer(req,
                 json_pack("{s:s,s:I,s:s,s:s,s:s,s:i,s:s,s:s,s:i,s:o}", "key", gd_node_key(gd), "generation", generation, "tls",
                           tls, "uuid", gi_gfid_text(&gd->uuid, uuid), "version", GI_VERSION, "opVersion", GD_OP_VERSION,
                           "pool", pool, "nonce", gd_door_challenge(gd, req), "port", gd->config.port, "volumes", volumes));
}

/* One that was detached knows the secret still, but what it made of its store concerns nobody. */
static void
prove(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gd *gd = arg;
  char mac[GD_MAC_TEXT];
  json_t *in = gd_door_closed(gd, req, GD_ASK_GREET) ? NULL : get_request(req);
  if (!in)
    return;
  if (gd_door_prove(gd, req, str(in, "uuid"), str(in, "nonce"), str(in, "mac"), mac)) {
    bool ours = gd_node_find(gd, gd_door_node(req)) != NULL;
    gd_node_answer(req, json_pack("{s:s,s:I}", "mac", mac, "epoch", (json_int_t)gd->pool->epoch));
    if (ours)
      gd_pool_hear_epoch(gd, json_integer_value(json_object_get(in, "epoch")));
  } else
    gd_node_answer(req, gd_node_refusal(EACCES, "the secret of the pool is another one"));
  json_decref(in);
}

/* ---- becoming one of a pool ---- */

static void
invite(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gd *gd = arg;
  struct gi_error err = {0};
  json_t *in = gd_door_closed(gd, req, GD_ASK_GREET) ? NULL : get_request(req);
  if (!in)
    return;
  if (gd->config.uninvited)
    gd_node_answer(req, gd_node_refusal(EPERM, "it takes no invitations: have it join with a token"));
  else if (!gd_pool_is_virgin(gd))
    gd_node_answer(req, gd_node_refusal(EEXIST, "it is part of a pool, or has volumes"));
  else if (!gd_secret_open(gd, in))
    gd_node_answer(req, gd_node_refusal(EINVAL, "the invitation is not for this node"));
  else if (gd_pool_accept(gd, in, &err))
    gd_node_answer(req, gd_node_refusal(err.code, err.text));
  else
    gd_node_answer(req, json_object());
  json_decref(in);
}

static void
join(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  json_t *in = gd_door_closed(arg, req, GD_ASK_GREET) ? NULL : get_request(req);
  if (in)
    gd_pool_join_asked(arg, req, in);
  json_decref(in);
}

/* It may have to speak TLS, and cannot yet. */
static void
encryption(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  if (gd_door_closed(arg, req, GD_ASK_ENCRYPTION))
    return;
  GI_CLEANUP_FREE char *text = gd_encryption_own(arg);
  gd_node_answer(req, text ? json_pack("{s:s}", "encryption", text) : gd_node_refusal(ENOENT, "the pool has no credentials"));
}

/* It knows an earlier one. */
static void
secret(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  json_t *in = gd_door_closed(arg, req, GD_ASK_GREET) ? NULL : get_request(req);
  if (in)
    gd_secret_asked(arg, req, gd_door_challenge(arg, req), in);
  json_decref(in);
}

/* ---- calls of the pool's nodes ---- */

static void
stored(void *arg, int code, long status, const char *body)
{
  struct gi_rpc_request *req = arg;
  gd_node_answer(req, code ? gd_node_refusal(code, "the store does not answer here") : json_pack("{s:s}", "body", body));
}

/* Another node has no store of its own that can say. */
static void
ask_store(struct gd *gd, struct gi_rpc_request *req, const json_t *in)
{
  const char *path = str(in, "path"), *body = str(in, "body"), *socket = gd_etcd_socket(gd);
  if (!path || strncmp(path, "/v3/", 4) != 0 || !body)
    gd_node_answer(req, gd_node_refusal(EINVAL, "the request names no path of the store"));
  else if (!socket)
    gd_node_answer(req, gd_node_refusal(ENOTCONN, "no member of the store is here"));
  else
    gd_http_post(gd->pool->http, &(struct gd_http_place){.socket = socket}, path, body, GD_KEY_LIMIT_MS, NULL, stored, req);
}

/* One that was detached while it was away finds that out by reading. */
static bool
only_reads(const json_t *in)
{
  const char *name = str(in, "call"), *path = str(in, "path");
  return name && path && strcmp(name, "store") == 0 && strcmp(path, "/v3/kv/range") == 0;
}

static void
call(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  static const struct {
    const char *name;
    void (*fn)(struct gd *gd, struct gi_rpc_request *req, const json_t *in);
  } calls[] = {{"store", ask_store}, {"settle", gd_follow_settle}, {"run", gd_gather_asked}, {"ports", gd_ports_told}};
  json_t *in = gd_door_closed(arg, req, GD_ASK_CALL) ? NULL : get_request(req);
  if (!in || (!only_reads(in) && gd_door_closed(arg, req, GD_ASK_NODE))) {
    json_decref(in);
    return;
  }
  const char *name = str(in, "call");
  size_t i = 0;
  while (i < GI_ARRAY_LEN(calls) && (!name || strcmp(calls[i].name, name) != 0))
    i++;
  if (i < GI_ARRAY_LEN(calls))
    calls[i].fn(arg, req, in);
  else
    gd_node_answer(req, gd_node_refusal(EOPNOTSUPP, "this node does not know that call"));
  json_decref(in);
}

static gi_rpc_handler *const procs[GD_NODE_PROCS] = {
    [GD_NODE_GREET] = greet, [GD_NODE_PROVE] = prove,           [GD_NODE_CALL] = call,    [GD_NODE_INVITE] = invite,
    [GD_NODE_JOIN] = join,   [GD_NODE_ENCRYPTION] = encryption, [GD_NODE_SECRET] = secret};
const struct gi_rpc_program gd_node_program = {"glusterish nodes", GI_PROG_NODE, GI_VERS_NODE, GD_NODE_PROCS, procs};
