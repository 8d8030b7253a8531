/* SPDX-License-Identifier: Apache-2.0
 *
 * volume start, stop, delete, list, info, status, statedump (cli.md 5.2 to
 * 5.6, 5.15).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

/* ---- start, stop, delete ---- */

/* `what` is "start" …, `element` "volStart" …. */
static int
change(struct cli *c, const char *what, const char *element, unsigned proc, json_t *request)
{
  struct cli_reply reply;
  struct cli_xml x;
  int status;
  GI_CLEANUP_FREE char *name = gi_strdup(json_string_value(json_object_get(request, "volume")));
  if (cli_ask(c, proc, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml) {
    cli_xml_begin(&x, &reply);
    if (!reply.ret) {
      cli_xml_open(&x, element);
      cli_xml_open(&x, "volume");
      cli_xml_text(&x, "name", cli_str(reply.doc, "name"));
      cli_xml_text(&x, "id", cli_str(reply.doc, "id"));
    }
    cli_xml_end(&x, c->out);
  } else if (reply.ret) {
    fprintf(c->err, "volume %s: %s: failed: %s\n", what, name, reply.text);
  } else {
    fprintf(c->out, "volume %s: %s: success\n", what, name);
  }
  cli_reply_clear(&reply);
  return status;
}

/* VOLNAME [force] */
static bool
name_and_force(int n, char **words, bool *force)
{
  *force = n == 4 && strcmp(words[3], "force") == 0;
  return (n == 3 || *force) && *words[2];
}

int
cli_volume_start(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  bool force;
  if (!name_and_force(n, words, &force))
    return cli_usage(c, cmd);
  json_t *request = cli_request("volume start", words[2], n, words);
  json_object_set_new(request, "force", json_boolean(force));
  return change(c, "start", "volStart", 8, request);
}

int
cli_volume_stop(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  bool force;
  if (!name_and_force(n, words, &force))
    return cli_usage(c, cmd);
  if (!cli_confirm(c, "Stopping volume will make its data inaccessible. Do you want to continue?"))
    return CLI_OK;
  json_t *request = cli_request("volume stop", words[2], n, words);
  json_object_set_new(request, "force", json_boolean(force));
  return change(c, "stop", "volStop", 9, request);
}

int
cli_volume_delete(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n != 3)
    return cli_usage(c, cmd);
  if (!cli_confirm(c, "Deleting volume will erase all information about the volume. Do you want to continue?"))
    return CLI_OK;
  return change(c, "delete", "volDelete", 7, cli_request("volume delete", words[2], n, words));
}

/* ---- list, info ---- */

static void
list_xml(struct cli *c, const struct cli_reply *reply, const json_t *volumes)
{
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "volList");
  cli_xml_int(&x, "count", (long long)json_array_size(volumes));
  for (size_t i = 0; i < json_array_size(volumes); i++)
    cli_xml_text(&x, "volume", json_string_value(json_array_get(volumes, i)));
  cli_xml_end(&x, c->out);
}

int
cli_volume_list(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (cli_ask(c, 33, cli_request("volume list", NULL, n, words), &reply, &status))
    return status;
  const json_t *volumes = json_object_get(reply.doc, "volumes");
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    list_xml(c, &reply, volumes);
  else if (reply.ret)
    fprintf(c->err, "volume list: failed: %s\n", reply.text);
  else if (json_array_size(volumes) == 0)
    fprintf(c->err, "No volumes present in cluster\n");
  else
    for (size_t i = 0; i < json_array_size(volumes); i++)
      fprintf(c->out, "%s\n", json_string_value(json_array_get(volumes, i)));
  cli_reply_clear(&reply);
  return status;
}

int
cli_volume_info(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n > 3)
    return cli_usage(c, cmd);
  if (n == 3 && strlen(words[2]) > 256) {
    fprintf(c->out, "Invalid volume name\n");
    return CLI_FAILED;
  }
  if (cli_ask(c, 5, cli_request("volume info", n == 3 ? words[2] : NULL, n, words), &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    cli_render_info_xml(c, &reply);
  else if (reply.ret)
    fprintf(c->err, "%s\n", reply.text);
  else
    cli_render_info(c, reply.doc);
  cli_reply_clear(&reply);
  return status;
}

/* ---- status ---- */

/* The full word for an abbreviated one of the list; NULL if none or several fit. */
static const char *
status_word(const char *word)
{
  static const char *const words[] = {"detail", "clients", "mem", "inode", "fd", "callpool", "tasks", "client-list"};
  const char *found = NULL;
  for (size_t i = 0; i < GI_ARRAY_LEN(words); i++) {
    if (strcmp(word, words[i]) == 0)
      return word;
    if (cli_prefix(word, words[i])) {
      if (found)
        return NULL;
      found = words[i];
    }
  }
  return found;
}

static bool
is_daemon(const char *word)
{
  static const char *const daemons[] = {"nfs", "shd", "quotad", "snapd", "bitd", "scrub"};
  for (size_t i = 0; i < GI_ARRAY_LEN(daemons); i++)
    if (strcmp(word, daemons[i]) == 0)
      return true;
  return false;
}

/* [all | VOLNAME [TARGET]] [WHAT] after the two words; false if a word fits nowhere (then *bad is that word). */
static bool
status_words(int n, char **words, const char **volume, const char **target, const char **what, const char **bad)
{
  *volume = n > 2 ? words[2] : NULL;
  *target = *what = *bad = NULL;
  for (int i = 3; i < n; i++) {
    const char *word = status_word(words[i]);
    if (i == 3 && (!word || is_daemon(words[i]))) {
      *target = words[i];
    } else if (*what || !(*what = word)) {
      *bad = words[i];
      return false;
    }
  }
  return true;
}

int
cli_volume_status(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  const char *volume, *target, *what, *bad;
  struct cli_reply reply;
  int status;
  if (!status_words(n, words, &volume, &target, &what, &bad))
    return cli_bad(c, cmd, "%s is not a valid status option", bad);
  if (target && volume && strcmp(volume, "all") == 0)
    return cli_usage(c, cmd);
  json_t *request = cli_request("volume status", volume, n, words);
  if (target)
    json_object_set_new(request, "target", json_string(target));
  if (what)
    json_object_set_new(request, "what", json_string(what));
  if (cli_ask(c, 27, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml && reply.ret)
    cli_xml_string(c, &reply, "volStatus", reply.text);
  else if (c->xml)
    cli_render_status_xml(c, &reply, what);
  else if (reply.ret)
    fprintf(c->err, "%s\n", reply.text);
  else
    cli_render_status(c, reply.doc, what);
  cli_reply_clear(&reply);
  return status;
}

/* ---- statedump ---- */

/* Puts what the words behind the volume ask for into the request; false if they are nothing. */
static bool
statedump_words(json_t *request, int n, char **words)
{
  static const char *const parts[] = {"all", "mem", "iobuf", "callpool", "priv", "fd", "inode", "inodectx", "fdctx", "history"};
  if (n > 0 && strcmp(words[0], "client") == 0) {
    if (n == 2)
      json_object_set_new(request, "client", json_string(words[1]));
    return n == 2;
  }
  if (n > 0 && (strcmp(words[0], "nfs") == 0 || strcmp(words[0], "quotad") == 0)) {
    json_object_set_new(request, "target", json_string(words[0]));
    n--;
    words++;
  }
  json_t *list = json_array();
  json_object_set_new(request, "options", list);
  for (int i = 0; i < n; i++) {
    bool known = false;
    for (size_t k = 0; k < GI_ARRAY_LEN(parts); k++)
      known = known || strcmp(words[i], parts[k]) == 0;
    if (!known)
      return false;
    json_array_append_new(list, json_string(words[i]));
  }
  return true;
}

int
cli_volume_statedump(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n < 3)
    return cli_usage(c, cmd);
  json_t *request = cli_request("volume statedump", words[2], n, words);
  if (!statedump_words(request, n - 3, words + 3)) {
    json_decref(request);
    fprintf(c->out, "Error parsing options\n");
    return cli_usage(c, cmd);
  }
  if (cli_ask(c, 32, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    cli_xml_string(c, &reply, "volStatedump", reply.ret ? reply.text : "Volume statedump successful");
  else if (reply.ret)
    fprintf(c->err, "volume statedump: failed: %s\n", reply.text);
  else
    fprintf(c->out, "volume statedump: success\n");
  cli_reply_clear(&reply);
  return status;
}
