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

/* 0, or -1 after saying why not. */
static int
set_volume(struct cli *c, const char *volume, bool both)
{
  char *words[] = {"volume", "set", (char *)volume, "(pool tls)"};
  json_t *request = cli_request("volume set", volume, GI_ARRAY_LEN(words), words);
  struct cli_reply reply;
  json_object_set_new(
      request, "pairs",
      json_pack("[s,s,s,s,s,s]", "client.ssl", "on", "server.ssl", "on", "server.ssl-optional", both ? "on" : "off"));
  if (c->call(c, 12, request, &reply))
    return -1;
  int ret = reply.ret;
  if (ret)
    fprintf(c->err, "volume %s: %s\n", volume, reply.text);
  else if (!c->xml && !c->json)
    fprintf(c->out, "volume %s: %s\n", volume, both ? "with and without TLS" : "with TLS only");
  cli_reply_clear(&reply);
  return ret;
}

static int
set_volumes(struct cli *c, const json_t *volumes, bool both)
{
  int failures = 0;
  for (size_t i = 0; i < json_array_size(volumes); i++)
    failures += set_volume(c, json_string_value(json_array_get(volumes, i)), both) != 0;
  return failures ? CLI_FAILED : CLI_OK;
}

static void
render_status(struct cli *c, const json_t *doc)
{
  const json_t *issued = json_object_get(doc, "issued"), *plain = json_object_get(doc, "plain-volumes");
  fprintf(c->out, "Management: %s\n",
          strcmp(cli_str(doc, "mode"), "off") == 0    ? "without TLS"
          : strcmp(cli_str(doc, "mode"), "both") == 0 ? "with and without TLS"
                                                      : "with TLS only");
  if (*cli_str(doc, "certificate"))
    fprintf(c->out, "Certificate: %s\n", cli_str(doc, "certificate"));
  fprintf(c->out, "Encryption by the kernel: %s\n", cli_true(doc, "kernel") ? "yes" : "no");
  for (size_t i = 0; i < json_array_size(plain); i++)
    fprintf(c->out, "Volume %s: clients without TLS are served\n", json_string_value(json_array_get(plain, i)));
  for (size_t i = 0; i < json_array_size(issued); i++) {
    const json_t *one = json_array_get(issued, i);
    const char *until = cli_str(one, "until");
    fprintf(c->out, "%-20s %s  %s%s\n", cli_str(one, "name"), cli_str(one, "serial"),
            cli_true(one, "revoked") ? "revoked"
            : *until                 ? "until "
                                     : "replaced",
            cli_true(one, "revoked") ? "" : until);
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
    fprintf(c->out, "management: %s\n", strcmp(action, "enable") == 0 ? "TLS is on" : "with TLS only");
}

int
cli_pool_tls(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  static const char *const alone[] = {"enable", "require", "rotate", "status"};
  static const char *const named[] = {"client", "revoke"};
  const char *action = NULL;
  struct cli_reply reply;
  int status;
  for (size_t i = 0; n == 3 && i < GI_ARRAY_LEN(alone); i++)
    action = strcmp(words[2], alone[i]) == 0 ? alone[i] : action;
  for (size_t i = 0; n == 4 && i < GI_ARRAY_LEN(named); i++)
    action = strcmp(words[2], named[i]) == 0 ? named[i] : action;
  if (!action)
    return cli_usage(c, cmd);
  json_t *request = cli_request(strcmp(action, "status") == 0 ? "pool tls status" : "pool tls", NULL, n, words);
  json_object_set_new(request, "action", json_string(action));
  if (n == 4)
    json_object_set_new(request, "name", json_string(words[3]));
  bool both = strcmp(action, "enable") == 0, switches = both || strcmp(action, "require") == 0;
  if (!switches && cli_ask(c, 1, request, &reply, &status))
    return status;
  if (switches && c->call(c, 1, request, &reply))
    return CLI_FAILED;
  if (reply.ret)
    return tls_failed(c, action, &reply);
  status = switches ? set_volumes(c, json_object_get(reply.doc, "volumes"), both) : CLI_OK;
  if (c->xml)
    cli_xml_string(c, &reply, NULL, cli_str(reply.doc, "mode"));
  else if (!c->json)
    render(c, action, &reply);
  cli_reply_clear(&reply);
  return status;
}
