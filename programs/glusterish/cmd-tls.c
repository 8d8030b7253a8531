/* SPDX-License-Identifier: Apache-2.0
 *
 * pool tls: the daemon makes credentials and switches its own port; volumes
 * are switched one by one, each as volume set does it.
 */
#include "programs/glusterish/cli.h"

#include <string.h>

static int
tls_failed(struct cli *c, const char *action, struct cli_reply *reply)
{
  if (c->xml)
    cli_xml_string(c, reply, NULL, reply->text);
  else
    fprintf(c->err, "pool tls %s: failed: %s\n", action, reply->text);
  cli_reply_clear(reply);
  return CLI_FAILED;
}

/* A step of the way: what volumes are set to. */
struct tls_step {
  const char *action; /* of the daemon, before */
  const char *client, *server, *optional;
  const char *text;
};

/* 0, or -1 after saying why not. */
static int
set_volume(struct cli *c, const char *volume, const struct tls_step *step)
{
  char *words[] = {"volume", "set", (char *)volume, "(pool tls)"};
  json_t *request = cli_request("volume set", volume, GI_ARRAY_LEN(words), words);
  struct cli_reply reply;
  json_object_set_new(request, "pairs",
                      json_pack("[s,s,s,s,s,s]", "client.ssl", step->client, "server.ssl", step->server, "server.ssl-optional",
                                step->optional));
  if (c->call(c, 12, request, &reply))
    return -1;
  int ret = reply.ret;
  if (ret)
    fprintf(c->err, "volume %s: %s\n", volume, reply.text);
  else if (!c->xml && !c->json)
    fprintf(c->out, "volume %s: %s\n", volume, step->text);
  cli_reply_clear(&reply);
  return ret;
}

static int
set_volumes(struct cli *c, const json_t *volumes, const struct tls_step *step)
{
  int failures = 0;
  for (size_t i = 0; i < json_array_size(volumes); i++)
    failures += set_volume(c, json_string_value(json_array_get(volumes, i)), step) != 0;
  return failures ? CLI_FAILED : CLI_OK;
}

static void
render_status(struct cli *c, const json_t *doc)
{
  const json_t *issued = json_object_get(doc, "issued"), *plain = json_object_get(doc, "plain-volumes"),
               *nodes = json_object_get(doc, "nodes");
  fprintf(c->out, "Management: %s\n",
          strcmp(cli_str(doc, "mode"), "off") == 0    ? "without TLS"
          : strcmp(cli_str(doc, "mode"), "both") == 0 ? "with and without TLS"
                                                      : "with TLS only");
  if (*cli_str(doc, "certificate"))
    fprintf(c->out, "Certificate: %s\n", cli_str(doc, "certificate"));
  fprintf(c->out, "Encryption by the kernel: %s\n", cli_true(doc, "kernel") ? "yes" : "no");
  for (size_t i = 0; i < json_array_size(plain); i++)
    fprintf(c->out, "Volume %s: clients without TLS are served\n", json_string_value(json_array_get(plain, i)));
  for (size_t i = 0; i < json_array_size(nodes); i++) {
    const json_t *n = json_array_get(nodes, i);
    fprintf(c->out, "Node %s: %s\n", cli_str(n, "hostname"),
            !cli_true(n, "connected")  ? "not connected"
            : cli_true(n, "encrypted") ? "connected with TLS"
                                       : "connected without TLS");
  }
  for (size_t i = 0; i < json_array_size(issued); i++) {
    const json_t *one = json_array_get(issued, i);
    const char *until = cli_str(one, "until");
    fprintf(c->out, "%-20s %s  %s%s\n", cli_str(one, "name"), cli_str(one, "serial"),
            cli_true(one, "revoked") ? "revoked"
            : *until                 ? "until "
                                     : "replaced",
            cli_true(one, "revoked") ? "" : until);
    if (cli_true(one, "earlier") && *until && !cli_true(one, "revoked"))
      fprintf(c->out, "%-20s is of the authority before: \"pool tls rotate\" makes new ones\n", "");
  }
}

static void
render(struct cli *c, const char *action, const struct cli_reply *reply)
{
  if (strcmp(action, "status") == 0)
    render_status(c, reply->doc);
  else if (strcmp(action, "client") == 0)
    fprintf(c->out, "%s\n", cli_str(reply->doc, "directory"));
  else if (strcmp(action, "rotate") == 0)
    fputs("New certificates are in place; the old ones stay valid until they end or are revoked.\n", c->out);
  else if (strcmp(action, "revoke") == 0)
    fputs("Its next connection is refused.\n", c->out);
  else
    fprintf(c->out, "management: %s\n",
            strcmp(action, "enable") == 0    ? "TLS is on"
            : strcmp(action, "require") == 0 ? "with TLS only"
                                             : "without TLS");
}

/* The steps of an action that volumes take part in: the daemon's part first, then theirs. While it changes both kinds are taken. */
static const struct tls_way {
  const char *action;
  struct tls_step step[3];
} ways[] = {
    {"enable", {{"enable", "on", "on", "on", "with and without TLS"}}},
    {"require", {{"require", "on", "on", "off", "with TLS only"}}},
    {"disable",
     {{"relax", "off", "on", "on", "with and without TLS"},
      {"relax", "off", "off", "off", "without TLS"},
      {"disable", NULL, NULL, NULL, NULL}}},
};

static json_t *
tls_request(const char *command, const char *action, int n, char **words)
{
  json_t *request = cli_request(command, NULL, n, words);
  json_object_set_new(request, "action", json_string(action));
  return request;
}

/* -1: the reply says why not, or it was said that nobody answers (*told). */
static int
go_way(struct cli *c, const struct tls_way *way, int n, char **words, struct cli_reply *reply, bool *told)
{
  int status = CLI_OK;
  for (size_t i = 0; i < GI_ARRAY_LEN(way->step) && way->step[i].action && status == CLI_OK; i++) {
    const struct tls_step *step = &way->step[i];
    if (i > 0)
      cli_reply_clear(reply);
    *told = c->call(c, 1, tls_request("pool tls", step->action, n, words), reply) != 0;
    if (*told || reply->ret)
      return -1;
    status = step->client ? set_volumes(c, json_object_get(reply->doc, "volumes"), step) : CLI_OK;
  }
  return status;
}

int
cli_pool_tls(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  static const char *const alone[] = {"enable", "require", "disable", "rotate", "status"};
  static const char *const named[] = {"client", "revoke"};
  const char *action = NULL;
  const struct tls_way *way = NULL;
  struct cli_reply reply;
  bool told = false;
  int status = CLI_OK;
  for (size_t i = 0; n == 3 && i < GI_ARRAY_LEN(alone); i++)
    action = strcmp(words[2], alone[i]) == 0 ? alone[i] : action;
  for (size_t i = 0; n == 4 && i < GI_ARRAY_LEN(named); i++)
    action = strcmp(words[2], named[i]) == 0 ? named[i] : action;
  bool authority = n == 4 && strcmp(words[2], "rotate") == 0 && strcmp(words[3], "--authority") == 0;
  action = authority ? words[2] : action;
  if (!action)
    return cli_usage(c, cmd);
  for (size_t i = 0; i < GI_ARRAY_LEN(ways); i++)
    way = strcmp(ways[i].action, action) == 0 ? &ways[i] : way;
  if (way) {
    status = go_way(c, way, n, words, &reply, &told);
    if (told)
      return CLI_FAILED;
  } else {
    json_t *request = tls_request(strcmp(action, "status") == 0 ? "pool tls status" : "pool tls", action, n, words);
    if (authority)
      json_object_set_new(request, "authority", json_true());
    else if (n == 4)
      json_object_set_new(request, "name", json_string(words[3]));
    if (cli_ask(c, 1, request, &reply, &status))
      return status;
    status = CLI_OK;
  }
  if (c->json) {
    cli_print_json(c, &reply);
    status = reply.ret ? CLI_FAILED : status;
    cli_reply_clear(&reply);
    return status;
  }
  if (reply.ret)
    return tls_failed(c, action, &reply);
  if (c->xml)
    cli_xml_string(c, &reply, NULL, cli_str(reply.doc, "mode"));
  else if (status == CLI_OK)
    render(c, action, &reply);
  cli_reply_clear(&reply);
  return status;
}
