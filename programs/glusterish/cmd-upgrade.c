/* SPDX-License-Identifier: Apache-2.0
 *
 * pool upgrade: which versions the nodes run, what hinders a higher operating
 * version, and raising it.
 */
#include "programs/glusterish/cli.h"

#include <string.h>

static void
print_check(struct cli *c, const json_t *doc)
{
  const json_t *nodes = json_object_get(doc, "nodes"), *hinders = json_object_get(doc, "hinders");
  fprintf(c->out, "Operating version of the pool: %lld\n", cli_int(doc, "opVersion"));
  for (size_t i = 0; i < json_array_size(nodes); i++) {
    const json_t *n = json_array_get(nodes, i);
    if (cli_int(n, "opVersion"))
      fprintf(c->out, "Node %s: version %s, operating version %lld%s\n", cli_str(n, "hostname"), cli_str(n, "version"),
              cli_int(n, "opVersion"), cli_true(n, "connected") ? "" : ", not connected");
    else
      fprintf(c->out, "Node %s: not connected\n", cli_str(n, "hostname"));
  }
  for (size_t i = 0; i < json_array_size(hinders); i++)
    fprintf(c->out, "Hinders: %s\n", json_string_value(json_array_get(hinders, i)));
  if (json_array_size(hinders))
    return;
  if (cli_int(doc, "possible") > cli_int(doc, "opVersion"))
    fprintf(c->out, "\"pool upgrade finish\" makes it %lld.\n", cli_int(doc, "possible"));
  else
    fputs("Nothing is to be done.\n", c->out);
}

static void
upgrade_xml(struct cli *c, const struct cli_reply *reply)
{
  const json_t *hinders = json_object_get(reply->doc, "hinders");
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "poolUpgrade");
  cli_xml_int(&x, "opVersion", cli_int(reply->doc, "opVersion"));
  cli_xml_int(&x, "possible", cli_int(reply->doc, "possible"));
  for (size_t i = 0; i < json_array_size(hinders); i++)
    cli_xml_text(&x, "hinders", json_string_value(json_array_get(hinders, i)));
  cli_xml_end(&x, c->out);
}

int
cli_pool_upgrade(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  bool finish = n == 3 && strcmp(words[2], "finish") == 0;
  if (!finish && !(n == 3 && strcmp(words[2], "check") == 0))
    return cli_usage(c, cmd);
  if (finish && !cli_confirm(c, "Nodes and clients of older versions cannot come back into the pool afterwards. Do you want to "
                                "continue?"))
    return CLI_OK;
  json_t *request = cli_request(finish ? "pool upgrade finish" : "pool upgrade check", NULL, n, words);
  if (cli_ask(c, 1, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    upgrade_xml(c, &reply);
  else if (reply.ret)
    fprintf(c->err, "pool upgrade: failed: %s\n", reply.text);
  else if (finish)
    fprintf(c->out, "pool upgrade: success: the operating version is %lld\n", cli_int(reply.doc, "opVersion"));
  else
    print_check(c, reply.doc);
  cli_reply_clear(&reply);
  return status;
}
