/* SPDX-License-Identifier: Apache-2.0
 *
 * volume add-brick, remove-brick, replace-brick, reset-brick (cli.md 5.10 to
 * 5.13): which words are what. Whether the volume can be changed so is the
 * daemon's business.
 */
#include "programs/glusterish/cli.h"
#include "libglusterish/options.h"

#include <ctype.h>
#include <string.h>

static bool
count_word(const char *word, long *value)
{
  int64_t v;
  if (!isdigit((unsigned char)*word) || !gi_parse_int(word, &v) || v > 4096)
    return false;
  *value = (long)v;
  return true;
}

/* ---- replace-brick, reset-brick ---- */

/* `what` is the command; `done` the sentence of success, which is the errstr of the XML form. */
static int
swap(struct cli *c, const char *what, const char *done, unsigned proc, json_t *request)
{
  struct cli_reply reply;
  int status;
  if (cli_ask(c, proc, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml) {
    if (!reply.ret) {
      gi_free(reply.text);
      reply.text = gi_strdup(done);
    }
    cli_xml_string(c, &reply, NULL, NULL);
  } else if (reply.ret) {
    fprintf(c->err, "volume %s: failed: %s\n", what, reply.text);
  } else {
    fprintf(c->out, "volume %s: success: %s\n", what, done);
  }
  cli_reply_clear(&reply);
  return status;
}

/* The brick in canonical form as a member of the request; false after saying what is wrong with it. */
static bool
put_brick(struct cli *c, json_t *request, const char *member, const char *word)
{
  json_t *list = json_array();
  bool ok = cli_add_brick(c, list, word, "Found duplicate exports %s\n");
  if (ok)
    json_object_set(request, member, json_array_get(list, 0));
  json_decref(list);
  return ok;
}

static int
two_bricks(struct cli *c, const struct cli_command *cmd, json_t *request, const char *source, const char *target)
{
  if (put_brick(c, request, "source", source) && (!target || put_brick(c, request, "target", target)))
    return 0;
  json_decref(request);
  return cli_usage(c, cmd);
}

int
cli_volume_replace_brick(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n != 7)
    return cli_usage(c, cmd);
  if (strcmp(words[5], "commit") || strcmp(words[6], "force"))
    return cli_bad(c, cmd, "Invalid option '%s' '%s' for replace-brick. Please enter valid replace-brick command", words[5],
                   words[6]);
  json_t *request = cli_request("volume replace-brick", words[2], n, words);
  if (two_bricks(c, cmd, request, words[3], words[4]))
    return CLI_FAILED;
  return swap(c, "replace-brick", "replace-brick commit force operation successful", 15, request);
}

int
cli_volume_reset_brick(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  bool start = n == 5 && strcmp(words[4], "start") == 0, force = n == 7 && strcmp(words[6], "force") == 0;
  if (n < 5 || n > 7)
    return cli_usage(c, cmd);
  if (n == 5 && !start)
    return cli_bad(c, cmd, "Invalid option '%s' for reset-brick. Please enter valid reset-brick command", words[4]);
  if (n > 5 && (strcmp(words[5], "commit") || (n == 7 && !force)))
    return cli_bad(c, cmd, "Invalid option '%s%s%s' for reset-brick. Please enter valid reset-brick command", words[5],
                   n == 7 ? " " : "", n == 7 ? words[6] : "");
  json_t *request = cli_request("volume reset-brick", words[2], n, words);
  json_object_set_new(request, "force", json_boolean(force));
  if (two_bricks(c, cmd, request, words[3], start ? NULL : words[4]))
    return CLI_FAILED;
  return swap(c, "reset-brick",
              start   ? "reset-brick start operation successful"
              : force ? "reset-brick commit force operation successful"
                      : "reset-brick commit operation successful",
              47, request);
}

/* ---- add-brick ---- */

/* [replica COUNT [arbiter COUNT]] from words[*next]; NULL, or what is wrong. */
static const char *
parse_shape(int n, char **words, int *next, long *replica, long *arbiter)
{
  if (n < 6 || !cli_prefix(words[*next], "replica"))
    return NULL;
  if (!count_word(words[*next + 1], replica) || *replica < 2)
    return "replica count should be greater than 1";
  *next += 2;
  if (*next >= n || strcmp(words[*next], "arbiter") != 0)
    return NULL;
  if (*next + 1 >= n || !count_word(words[*next + 1], arbiter) || *arbiter != 1 || *replica != 3)
    return "For arbiter configuration, replica count must be 3 and arbiter count must be 1. The 3rd brick of the replica will "
           "be the arbiter";
  *next += 2;
  return NULL;
}

static int
print_added(struct cli *c, struct cli_reply *reply)
{
  int status = reply->ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    cli_xml_string(c, reply, "volAddBrick", reply->ret ? reply->text : "Add Brick successful");
  else if (reply->ret)
    fprintf(c->err, "volume add-brick: failed: %s\n", reply->text);
  else
    fprintf(c->out, "volume add-brick: success\n");
  cli_reply_clear(reply);
  return status;
}

int
cli_volume_add_brick(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  long replica = 0, arbiter = 0;
  int next = 3, status;
  struct cli_reply reply;
  if (n < 4)
    return cli_usage(c, cmd);
  const char *bad = parse_shape(n, words, &next, &replica, &arbiter);
  if (bad)
    return cli_bad(c, cmd, "%s", bad);
  bool force = next < n && strcmp(words[n - 1], "force") == 0;
  json_t *bricks = json_array();
  bool ok = next < n - force;
  for (int i = next; ok && i < n - force; i++)
    ok = cli_add_brick(c, bricks, words[i], "Found duplicate exports %s\n");
  if (!ok || (replica == 2 && !arbiter && !cli_replica_two_is_wanted(c, force))) {
    json_decref(bricks);
    return cli_usage(c, cmd);
  }
  json_t *request = cli_request("volume add-brick", words[2], n, words);
  json_object_set_new(request, "bricks", bricks);
  json_object_set_new(request, "replica", json_integer(replica));
  json_object_set_new(request, "arbiter", json_integer(arbiter));
  json_object_set_new(request, "force", json_boolean(force || c->wignore));
  return cli_ask(c, 13, request, &reply, &status) ? status : print_added(c, &reply);
}

/* ---- remove-brick ---- */

static const char *
remove_action(const char *word)
{
  static const char *const actions[] = {"start", "stop", "status", "commit", "force"};
  const char *found = NULL;
  for (size_t i = 0; i < GI_ARRAY_LEN(actions); i++) {
    if (strcmp(word, actions[i]) == 0)
      return actions[i];
    if (cli_prefix(word, actions[i])) {
      if (found)
        return NULL;
      found = actions[i];
    }
  }
  return found;
}

static void
print_removed_well(struct cli *c, const struct cli_reply *reply, const char *action, bool force)
{
  if (json_object_get(reply->doc, "nodes")) {
    cli_render_progress(c, reply->doc, true);
    if (strcmp(action, "stop") == 0)
      fputs("'remove-brick' process may be in the middle of a file migration.\n"
            "The process will be fully stopped once the migration of the file is complete.\n"
            "Please check remove-brick process for completion before doing any further brick related tasks on the volume.\n",
            c->out);
    return;
  }
  fprintf(c->out, "volume remove-brick %s%s: success\n", force ? "commit " : "", action);
  if (strcmp(action, "start") == 0)
    fprintf(c->out, "ID: %s\n", cli_str(reply->doc, "task-id"));
  if (strcmp(action, "commit") == 0)
    fputs("Check the removed bricks to ensure all files are migrated.\nIf files with data are found on the brick path, copy "
          "them via a gluster mount point before re-purposing the removed brick. \n",
          c->out);
}

static int
print_removed(struct cli *c, struct cli_reply *reply, const char *action)
{
  bool force = strcmp(action, "force") == 0;
  int status = reply->ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml) {
    if (!reply->ret && !json_object_get(reply->doc, "nodes")) {
      gi_free(reply->text);
      reply->text = gi_asprintf("Remove Brick %s%s successful", force ? "commit " : "", action);
    }
    cli_render_task_xml(c, reply, "volRemoveBrick", 0);
  } else if (reply->ret) {
    fprintf(c->err, "volume remove-brick %s%s: failed: %s\n", force ? "commit " : "", action, reply->text);
  } else {
    print_removed_well(c, reply, action, force);
  }
  cli_reply_clear(reply);
  return status;
}

/* The question that is due before it, if any. */
static bool
may_remove(struct cli *c, const char *action)
{
  if (strcmp(action, "force") == 0)
    return cli_confirm(c, "Remove-brick force will not migrate files from the removed bricks, so they will no longer be "
                          "available on the volume.\nDo you want to continue?");
  if (strcmp(action, "start") == 0)
    return cli_confirm(
        c, "It is recommended that remove-brick be run with cluster.force-migration option disabled to prevent possible data "
           "corruption. Doing so will ensure that files that receive writes during migration will not be migrated and will "
           "need to be manually copied after the remove-brick commit operation. Please check the value of the option and "
           "update accordingly. \nDo you want to continue with your current cluster.force-migration settings?");
  return true;
}

int
cli_volume_remove_brick(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  long replica = 0;
  int next = 3, status;
  struct cli_reply reply;
  const char *action = n > 4 ? remove_action(words[n - 1]) : NULL;
  if (!action)
    return cli_usage(c, cmd);
  if (cli_prefix(words[3], "replica")) {
    if (!count_word(words[4], &replica) || replica < 1)
      return cli_bad(c, cmd, "replica count should be greater than 0 in case of remove-brick");
    next = 5;
  }
  if (next >= n - 1)
    return cli_bad(c, cmd, "No bricks specified");
  json_t *bricks = json_array();
  for (int i = next; i < n - 1; i++)
    if (!cli_add_brick(c, bricks, words[i], "Duplicate bricks found %s\n")) {
      json_decref(bricks);
      return cli_usage(c, cmd);
    }
  if (!may_remove(c, action)) {
    json_decref(bricks);
    return CLI_OK;
  }
  json_t *request = cli_request("volume remove-brick", words[2], n, words);
  json_object_set_new(request, "bricks", bricks);
  json_object_set_new(request, "replica", json_integer(replica));
  json_object_set_new(request, "action", json_string(action));
  return cli_ask(c, 14, request, &reply, &status) ? status : print_removed(c, &reply, action);
}
