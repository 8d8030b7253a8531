/* SPDX-License-Identifier: Apache-2.0
 *
 * node replace, node status: one node takes the place of another, and how far
 * it is.
 */
#include "programs/glusterish/cli.h"

#include <string.h>
#include <time.h>

static int
failed(struct cli *c, const char *what, struct cli_reply *reply)
{
  if (c->xml)
    cli_xml_string(c, reply, NULL, reply->text);
  else
    fprintf(c->err, "node %s: failed: %s\n", what, reply->text);
  cli_reply_clear(reply);
  return CLI_FAILED;
}

/* The new node comes into the pool, if it is not there yet. */
static int
probe(struct cli *c, const char *host)
{
  char *words[] = {"peer", "probe", (char *)host};
  json_t *request = cli_request("peer probe", NULL, GI_ARRAY_LEN(words), words);
  struct cli_reply reply;
  json_object_set_new(request, "host", json_string(host));
  if (c->call(c, 1, request, &reply))
    return CLI_FAILED;
  if (reply.ret)
    return failed(c, "replace", &reply);
  cli_reply_clear(&reply);
  return CLI_OK;
}

int
cli_node_replace(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n != 4 && !(n == 5 && strcmp(words[4], "force") == 0))
    return cli_usage(c, cmd);
  if (!cli_confirm(
          c, "All bricks of the old node are replaced by empty ones on the new node, one after the other, and then the old "
             "node is detached. Do you want to continue?"))
    return CLI_OK;
  if (probe(c, words[3]))
    return CLI_FAILED;
  json_t *request = cli_request("node replace", NULL, n, words);
  json_object_set_new(request, "old", json_string(words[2]));
  json_object_set_new(request, "new", json_string(words[3]));
  json_object_set_new(request, "force", json_boolean(n == 5));
  if (cli_ask(c, 1, request, &reply, &status))
    return status;
  if (reply.ret)
    return failed(c, "replace", &reply);
  if (c->xml)
    cli_xml_string(c, &reply, NULL, "success");
  else
    fprintf(c->out, "node replace: %s takes the place of %s; \"node status\" tells how far it is\n", words[3], words[2]);
  cli_reply_clear(&reply);
  return CLI_OK;
}

static void
print_heal(struct cli *c, const json_t *doc)
{
  char size[32];
  if (!json_object_get(doc, "volume"))
    return;
  fprintf(c->out, "Healing: volume %s", cli_str(doc, "volume"));
  if (json_object_get(doc, "entries"))
    fprintf(c->out, ", %lld entries left", cli_int(doc, "entries"));
  if (json_object_get(doc, "filesPerSecond"))
    fprintf(c->out, ", %lld files/s, %s/s", cli_int(doc, "filesPerSecond"),
            cli_size_text((unsigned long long)cli_int(doc, "bytesPerSecond"), size));
  if (cli_int(doc, "etaSeconds"))
    fprintf(c->out, ", %lld s at this rate", cli_int(doc, "etaSeconds"));
  fputc('\n', c->out);
}

static void
print_replace(struct cli *c, const json_t *doc)
{
  bool done = strcmp(cli_str(doc, "state"), "done") == 0;
  long long until = done ? cli_int(doc, "ended") : cli_int(doc, "now"), seconds = until - cli_int(doc, "started");
  fprintf(c->out, "Old node: %s\nNew node: %s\nState: %s, %lld s\n", cli_str(doc, "oldHost"), cli_str(doc, "newHost"),
          done ? "done" : "running", seconds > 0 ? seconds : 0);
  if (done)
    fprintf(c->out, "Bricks: %lld\n", cli_int(doc, "bricks"));
  else if (json_object_get(doc, "moved"))
    fprintf(c->out, "Bricks: %lld of %lld moved\n", cli_int(doc, "moved"), cli_int(doc, "bricks"));
  if (!done)
    print_heal(c, doc);
  if (*cli_str(doc, "problem"))
    fprintf(c->out, "Waits: %s\n", cli_str(doc, "problem"));
}

static void
replace_xml(struct cli *c, const struct cli_reply *reply, const json_t *doc)
{
  static const char *const texts[] = {"oldHost", "newHost", "state", "volume", "problem"};
  static const char *const numbers[] = {"bricks", "moved", "entries", "filesPerSecond", "bytesPerSecond", "etaSeconds"};
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "nodeReplace");
  for (size_t i = 0; i < GI_ARRAY_LEN(texts); i++)
    if (json_object_get(doc, texts[i]))
      cli_xml_text(&x, texts[i], cli_str(doc, texts[i]));
  for (size_t i = 0; i < GI_ARRAY_LEN(numbers); i++)
    if (json_object_get(doc, numbers[i]))
      cli_xml_int(&x, numbers[i], cli_int(doc, numbers[i]));
  cli_xml_end(&x, c->out);
}

int
cli_node_status(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n != 2)
    return cli_usage(c, cmd);
  if (cli_ask(c, 1, cli_request("node status", NULL, n, words), &reply, &status))
    return status;
  if (reply.ret)
    return failed(c, "status", &reply);
  const json_t *doc = json_object_get(reply.doc, "replace");
  if (c->xml)
    replace_xml(c, &reply, doc);
  else if (doc)
    print_replace(c, doc);
  else
    fputs("No node takes the place of another.\n", c->out);
  cli_reply_clear(&reply);
  return CLI_OK;
}
