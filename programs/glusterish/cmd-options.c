/* SPDX-License-Identifier: Apache-2.0
 *
 * volume set, reset, get (cli.md 5.5).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

static int
set_usage(struct cli *c)
{
  fprintf(c->err, "\nUsage:\nvolume set <VOLNAME> group <GROUP>\n\n");
  return CLI_FAILED;
}

/* ---- set ---- */

static bool
read_pairs(int n, char **words, json_t *pairs)
{
  if (n < 5 || n % 2 == 0)
    return false;
  for (int i = 3; i + 1 < n; i += 2) {
    bool user = strncmp(words[i], "user.", 5) == 0;
    GI_CLEANUP_FREE char *value = user ? gi_strdup(words[i + 1]) : cli_trimmed(words[i + 1]);
    if (!*words[i] || !*value || json_array_append_new(pairs, json_string(words[i])) ||
        json_array_append_new(pairs, json_string(value)))
      return false;
  }
  return true;
}

/* Debugging translators of the bricks are only loaded when a brick starts. */
static void
print_set(struct cli *c, const json_t *pairs, const json_t *ignored)
{
  const char *key = NULL;
  for (size_t i = 0; i + 1 < json_array_size(pairs); i += 2) {
    const char *k = json_string_value(json_array_get(pairs, i)), *v = json_string_value(json_array_get(pairs, i + 1));
    if ((strcmp(k, "debug.trace") == 0 || strcmp(k, "debug.error-gen") == 0) && strcmp(v, "client") && strcmp(v, "off"))
      key = k;
  }
  fprintf(c->out, "volume set: success\n");
  for (size_t i = 0; i < json_array_size(ignored); i++)
    fprintf(c->out, "ignored: %s (not in this version)\n", json_string_value(json_array_get(ignored, i)));
  if (key)
    fprintf(c->out,
            "%s translator has been added to the server volume file. Please restart the volume for enabling the translator\n",
            key);
}

static int
send_set(struct cli *c, json_t *request)
{
  struct cli_reply reply;
  int status;
  json_t *pairs = json_incref(json_object_get(request, "pairs"));
  if (cli_ask(c, 12, request, &reply, &status) == 0) {
    status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
    if (c->xml)
      cli_xml_string(c, &reply, "volSet", reply.ret ? "Set volume unsuccessful" : "Set volume successful");
    else if (reply.ret)
      fprintf(c->err, "volume set: failed: %s\n", reply.text);
    else
      print_set(c, pairs, json_object_get(reply.doc, "ignored"));
    cli_reply_clear(&reply);
  }
  json_decref(pairs);
  return status;
}

static int
set_help(struct cli *c, bool as_xml, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (cli_ask(c, 12, cli_request("volume set help", NULL, n, words), &reply, &status))
    return status;
  const json_t *list = json_object_get(reply.doc, "options");
  struct cli_xml x = {0};
  if (as_xml)
    cli_xml_start(&x, "options");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *o = json_array_get(list, i);
    if (!as_xml) {
      fprintf(c->out, "Option: %s\nDefault Value: %s\nDescription: %s\n\n", cli_str(o, "name"), cli_str(o, "default"),
              cli_str(o, "description"));
      continue;
    }
    cli_xml_open(&x, "option");
    cli_xml_text(&x, "defaultValue", cli_str(o, "default"));
    cli_xml_text(&x, "description", cli_str(o, "description"));
    cli_xml_text(&x, "name", cli_str(o, "name"));
    cli_xml_close(&x);
  }
  if (as_xml)
    cli_xml_end(&x, c->out);
  cli_reply_clear(&reply);
  return CLI_OK;
}

int
cli_volume_set(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n == 3 && (strcmp(words[2], "help") == 0 || strcmp(words[2], "help-xml") == 0))
    return set_help(c, strcmp(words[2], "help-xml") == 0, n, words);
  if (n == 4 && strcmp(words[2], "help") == 0 && strcmp(words[3], "group") == 0)
    return cli_groups_help(c);
  if (n < 5)
    return set_usage(c);
  json_t *request = cli_request("volume set", words[2], n, words), *pairs = json_array();
  json_object_set_new(request, "pairs", pairs);
  bool ok;
  if (n == 5 && strcmp(words[3], "group") == 0) {
    json_object_set_new(request, "group", json_string(words[4]));
    if (!cli_group_read(c, words[4], pairs)) {
      json_decref(request);
      return CLI_FAILED;
    }
    ok = true;
  } else {
    ok = read_pairs(n, words, pairs);
  }
  if (ok)
    return send_set(c, request);
  json_decref(request);
  return set_usage(c);
}

/* ---- reset ---- */

int
cli_volume_reset(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  bool force = n > 3 && strcmp(words[n - 1], "force") == 0;
  if (n < 3 || n - force > 4)
    return cli_usage(c, cmd);
  json_t *request = cli_request("volume reset", words[2], n, words);
  if (n - force == 4 && strcmp(words[3], "all") != 0)
    json_object_set_new(request, "key", json_string(words[3]));
  json_object_set_new(request, "force", json_boolean(force));
  if (cli_ask(c, 20, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    cli_xml_string(c, &reply, "volReset", reply.ret ? reply.text : "reset volume successful");
  else if (reply.ret)
    fprintf(c->err, "volume reset: failed: %s\n", reply.text);
  else
    fprintf(c->out, "volume reset: success: reset volume successful\n");
  cli_reply_clear(&reply);
  return status;
}

/* ---- get ---- */

static void
get_xml(struct cli *c, const struct cli_reply *reply)
{
  const json_t *list = json_object_get(reply->doc, "options");
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "volGetopts");
  cli_xml_int(&x, "count", (long long)json_array_size(list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    cli_xml_open(&x, "Opt");
    cli_xml_text(&x, "Option", cli_str(json_array_get(list, i), "key"));
    cli_xml_text(&x, "Value", cli_str(json_array_get(list, i), "value"));
    cli_xml_close(&x);
  }
  cli_xml_end(&x, c->out);
}

int
cli_volume_get(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n != 4)
    return cli_usage(c, cmd);
  json_t *request = cli_request("volume get", words[2], n, words);
  json_object_set_new(request, "key", json_string(words[3]));
  if (cli_ask(c, 41, request, &reply, &status))
    return status;
  const json_t *list = json_object_get(reply.doc, "options");
  GI_CLEANUP_FREE char *failure = gi_asprintf("volume get option: failed: %s", reply.text);
  status = reply.ret ? CLI_FAILED : CLI_OK;
  if (c->xml && reply.ret) {
    cli_xml_string(c, &reply, "volGetopts", failure);
  } else if (c->xml) {
    get_xml(c, &reply);
  } else if (reply.ret) {
    fprintf(c->err, "%s\n", failure);
  } else {
    fprintf(c->out, "%-40s %-39s\n%-40s %-39s\n", "Option", "Value", "------", "-----");
    for (size_t i = 0; i < json_array_size(list); i++)
      fprintf(c->out, "%-40s %-39s\n", cli_str(json_array_get(list, i), "key"), cli_str(json_array_get(list, i), "value"));
  }
  cli_reply_clear(&reply);
  return status;
}
