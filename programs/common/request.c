/* SPDX-License-Identifier: Apache-2.0
 *
 * One call to the daemon: the request document travels as the member "json" of
 * a legacy dictionary (wire.md 3.5) in the CLI program, and so does the reply.
 * The daemon of GlusterFS has that program too and would misunderstand it, or
 * never answer: so the first question is which programs there are.
 */
#include "programs/common/request.h"
#include "libglusterish/graph.h"
#include "rpc/rpc-client.h"

#include <errno.h>
#include <string.h>

#define REPLY_MAX (32u << 20) /* bytes of a reply document */
#define PROGRAM_NAME_MAX 1024

struct call {
  struct cli *cli;
  struct gi_reactor *r;
  unsigned proc;
  char *json;
  struct cli_reply *reply;
  int status; /* 0 answered; -ETIMEDOUT; else no connection */
  bool ended;
};

static void
end(struct call *call, int status)
{
  if (call->ended)
    return;
  call->ended = true;
  call->status = status;
  gi_reactor_stop(call->r);
}

static bool
decode(struct gi_xdr_in *in, struct cli_reply *reply)
{
  uint32_t text_len, dict_len;
  const char *json = "{}";
  reply->ret = (int32_t)gi_xdr_get_u32(in);
  reply->err = (int32_t)gi_xdr_get_u32(in);
  const uint8_t *text = gi_xdr_get_opaque(in, REPLY_MAX, &text_len);
  const uint8_t *bytes = gi_xdr_get_opaque(in, REPLY_MAX, &dict_len);
  if (in->failed)
    return false;
  struct gi_dict *dict = dict_len ? gi_legacy_dict_decode(bytes, dict_len) : NULL;
  gi_dict_get_str(dict, "json", &json);
  reply->text = gi_strndup((const char *)text, text_len);
  reply->doc = json_loads(json, 0, NULL);
  gi_dict_unref(&dict);
  if (!json_is_object(reply->doc)) {
    json_decref(reply->doc);
    reply->doc = json_object();
  }
  return true;
}

static void
answered(struct gi_rpc_client *rpc, struct gi_rpc_reply *r, void *arg)
{
  struct call *call = arg;
  if (r->status) {
    end(call, r->status);
    return;
  }
  if (r->accept == GI_RPC_SUCCESS && decode(&r->in, call->reply))
    end(call, 0);
  else
    end(call, -EPROTO);
}

static void
send_request(struct gi_rpc_client *rpc, struct call *call)
{
  struct gi_xdr_out out = {0}, bytes = {0};
  struct gi_dict *dict = gi_dict_new();
  gi_dict_set_str(dict, "json", call->json);
  gi_legacy_dict_encode(&bytes, dict);
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_CLI, GI_VERS_CLI, call->proc, GI_AUTH_V2, NULL);
  gi_xdr_put_opaque(&out, bytes.base, (uint32_t)bytes.len);
  gi_xdr_out_finish(&bytes);
  gi_dict_unref(&dict);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, answered, call);
}

/* The list of programs (wire.md 6.1). */
static bool
is_ours(struct gi_xdr_in *in)
{
  uint32_t len;
  bool ours = false;
  gi_xdr_get_u64(in);
  gi_xdr_get_u64(in); /* op_ret, op_errno */
  while (!in->failed && gi_xdr_get_u32(in) == 1) {
    gi_xdr_get_opaque(in, PROGRAM_NAME_MAX, &len);
    uint64_t program = gi_xdr_get_u64(in), version = gi_xdr_get_u64(in);
    ours = ours || (program == GI_PROG_MARK && version == GI_VERS_MARK);
  }
  return ours && !in->failed;
}

static void
programs(struct gi_rpc_client *rpc, struct gi_rpc_reply *r, void *arg)
{
  struct call *call = arg;
  if (r->status)
    end(call, r->status);
  else if (r->accept == GI_RPC_SUCCESS && is_ours(&r->in))
    send_request(rpc, call);
  else
    end(call, -EPROTONOSUPPORT);
}

static void
up(struct gi_rpc_client *rpc, void *arg)
{
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_DUMP, GI_VERS_DUMP, GI_DUMP_DUMP, GI_AUTH_V2, NULL);
  gi_xdr_put_u64(&out, 0);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, programs, arg);
}

static void
down(struct gi_rpc_client *rpc, void *arg)
{
  end(arg, -ENOTCONN);
}

static int
no_answer(struct cli *c, int status)
{
  if (status == -ETIMEDOUT)
    fprintf(c->out, "Error : Request timed out\n");
  else if (status == -EPROTONOSUPPORT)
    fprintf(c->err, "%s is not a glusterish daemon. If it is one of GlusterFS, use its command: gluster\n",
            c->remote ? c->remote : c->sock);
  else if (status != -EPROTO) /* a refused procedure is silent, like the original over TCP */
    fprintf(c->out, "Connection failed. Please check if gluster daemon is operational.\n");
  return -1;
}

int
cli_call_daemon(struct cli *c, unsigned proc, json_t *request, struct cli_reply *reply)
{
  static const struct gi_rpc_client_ops ops = {.up = up, .down = down};
  struct gi_rpc_client_config cfg = {
      .name = "cli", .call_timeout_s = (uint64_t)c->timeout_s, .reconnect_min_ms = 1000, .reconnect_max_ms = 1000};
  struct call call = {.cli = c, .r = gi_reactor_new(0), .proc = proc, .reply = reply};
  memset(reply, 0, sizeof(*reply));
  call.json = json_dumps(request, JSON_COMPACT);
  json_decref(request);
  struct gi_ctx here = {.secure_access = c->remote ? gi_secure_access_path() : NULL};
  struct gi_error err;
  if (gi_mgmt_credentials(&here, &err) < 0)
    fprintf(c->err, "%s\n", err.text);
  cfg.tls = here.mgmt_tls;
  struct gi_rpc_client *rpc = gi_rpc_client_new(call.r, &cfg, &ops, &call);
  gi_tls_unref(&here.mgmt_tls);
  if (c->remote)
    gi_rpc_client_connect(rpc, c->remote, c->remote_port);
  else
    gi_rpc_client_connect(rpc, c->sock, 0);
  if (!call.ended)
    gi_reactor_run(call.r);
  gi_rpc_client_free(&rpc);
  gi_reactor_free(call.r);
  free(call.json);
  return call.status ? no_answer(c, call.status) : 0;
}

void
cli_reply_clear(struct cli_reply *reply)
{
  gi_free(reply->text);
  json_decref(reply->doc);
  memset(reply, 0, sizeof(*reply));
}

json_t *
cli_request(const char *command, const char *volume, int n, char **words)
{
  char *typed = gi_strdup(n > 0 ? words[0] : "");
  for (int i = 1; i < n; i++) {
    char *longer = gi_asprintf("%s %s", typed, words[i]);
    gi_free(typed);
    typed = longer;
  }
  json_t *request = json_pack("{s:s}", "command", command);
  /* Words that are no UTF-8 cannot be in the history; the daemon then writes the command's name. */
  json_object_set_new(request, "words", json_string(typed));
  if (volume)
    json_object_set_new(request, "volume", json_string(volume));
  gi_free(typed);
  return request;
}

/* Names the nodes whose part of the answer is not there. */
static void
tell_missing(struct cli *c, const json_t *doc)
{
  const json_t *missing = json_object_get(doc, "missing");
  for (size_t i = 0; i < json_array_size(missing); i++) {
    fprintf(c->err, "node %s does not answer: what it knows is not shown\n", json_string_value(json_array_get(missing, i)));
    c->partial = true;
  }
}

void
cli_print_json(struct cli *c, const struct cli_reply *reply)
{
  json_t *doc =
      json_pack("{s:i,s:i,s:s,s:O}", "opRet", reply->ret, "opErrno", reply->err, "opErrstr", reply->text, "output", reply->doc);
  json_dumpf(doc, c->out, JSON_INDENT(2));
  fputc('\n', c->out);
  json_decref(doc);
}

int
cli_ask(struct cli *c, unsigned proc, json_t *request, struct cli_reply *reply, int *status)
{
  if (c->call(c, proc, request, reply)) {
    *status = CLI_FAILED;
    return -1;
  }
  tell_missing(c, reply->doc);
  if (!c->json)
    return 0;
  cli_print_json(c, reply);
  *status = reply->ret ? CLI_FAILED : CLI_OK;
  cli_reply_clear(reply);
  return -1;
}

const char *
cli_str(const json_t *doc, const char *member)
{
  const char *s = json_string_value(json_object_get(doc, member));
  return s ? s : "";
}

long long
cli_int(const json_t *doc, const char *member)
{
  return json_integer_value(json_object_get(doc, member));
}

bool
cli_true(const json_t *doc, const char *member)
{
  return json_is_true(json_object_get(doc, member));
}
