/* SPDX-License-Identifier: Apache-2.0
 *
 * volume key: the tool makes a key in a file, or takes one that is there, and
 * the volume learns its public half. The private one leaves the file for nobody.
 */
#include "programs/glusterish/cli.h"
#include "rpc/client-key.h"

#include <string.h>
#include <unistd.h>

#define PROC 12 /* as volume set */

static int
key_failed(struct cli *c, const char *text)
{
  fprintf(c->err, "volume key: failed: %s\n", text);
  return CLI_FAILED;
}

static void
render_list(struct cli *c, const json_t *doc)
{
  const json_t *keys = json_object_get(doc, "keys");
  for (size_t i = 0; i < json_array_size(keys); i++) {
    const json_t *one = json_array_get(keys, i);
    fprintf(c->out, "%-20s %s\n", cli_str(one, "name"), cli_str(one, "key"));
  }
  if (!cli_true(doc, "demanded"))
    fputs("Clients without a key are served, too (auth.client-key is off).\n", c->out);
}

static void
render_list_xml(struct cli *c, const struct cli_reply *reply)
{
  const json_t *keys = json_object_get(reply->doc, "keys");
  struct cli_xml x = {0};
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "volKeys");
  for (size_t i = 0; i < json_array_size(keys); i++) {
    const json_t *one = json_array_get(keys, i);
    cli_xml_open(&x, "key");
    cli_xml_text(&x, "name", cli_str(one, "name"));
    cli_xml_text(&x, "public", cli_str(one, "key"));
    cli_xml_close(&x);
  }
  cli_xml_close(&x);
  cli_xml_end(&x, c->out);
}

/* Asks, and tells what came of it; `more` is told of success, too. */
static int
key_ask(struct cli *c, json_t *request, const char *more)
{
  struct cli_reply reply;
  int status;
  bool list = strcmp(cli_str(request, "command"), "volume key list") == 0;
  if (cli_ask(c, PROC, request, &reply, &status))
    return status;
  status = reply.ret ? CLI_FAILED : CLI_OK;
  if (c->xml && list && !reply.ret)
    render_list_xml(c, &reply);
  else if (c->xml)
    cli_xml_string(c, &reply, "volKey", reply.ret ? reply.text : "success");
  else if (reply.ret)
    key_failed(c, reply.text);
  else if (list)
    render_list(c, reply.doc);
  else
    fprintf(c->out, "volume key: success\n%s", more);
  cli_reply_clear(&reply);
  return status;
}

static json_t *
key_request(const char *action, int n, char **words)
{
  json_t *request = cli_request("volume key", words[2], n, words);
  json_object_set_new(request, "action", json_string(action));
  json_object_set_new(request, "name", json_string(words[4]));
  return request;
}

static int
key_add(struct cli *c, int n, char **words)
{
  const char *file = words[5];
  char key[GI_CLIENT_KEY_TEXT];
  struct gi_error err;
  bool made = access(file, F_OK) != 0;
  if (made ? gi_client_key_make(file, key, &err) : gi_client_key_read(file, false, key, &err))
    return key_failed(c, err.text);
  json_t *request = key_request("add", n, words);
  json_object_set_new(request, "key", json_string(key));
  int status = key_ask(c, request, made ? "Copy the file to the client, which mounts with -o client-key=FILE.\n" : "");
  if (made && status != CLI_OK)
    unlink(file);
  return status;
}

int
cli_volume_key(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n == 4 && strcmp(words[3], "list") == 0)
    return key_ask(c, cli_request("volume key list", words[2], n, words), "");
  if (n == 5 && strcmp(words[3], "remove") == 0)
    return key_ask(c, key_request("remove", n, words), "Who mounts with it is refused from now on.\n");
  if (n == 6 && strcmp(words[3], "add") == 0)
    return key_add(c, n, words);
  return cli_usage(c, cmd);
}
