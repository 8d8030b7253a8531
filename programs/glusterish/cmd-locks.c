/* SPDX-License-Identifier: Apache-2.0
 *
 * volume clear-locks (cli.md 5.15).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

static bool
one_of(const char *word, const char *a, const char *b, const char *c)
{
  return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* What each brick said, a line each. The caller frees it. */
static char *
lines(const json_t *bricks)
{
  char *text = gi_strdup("");
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const char *line = cli_str(json_array_get(bricks, i), "text");
    char *longer = gi_asprintf("%s%s%s", text, line, *line ? "\n" : "");
    gi_free(text);
    text = longer;
  }
  return text;
}

static void
render(struct cli *c, const struct cli_reply *reply)
{
  GI_CLEANUP_FREE char *text = lines(json_object_get(reply->doc, "bricks"));
  if (c->xml)
    cli_xml_string(c, reply, "volClearLocks", reply->ret ? reply->text : text);
  else if (reply->ret)
    fprintf(c->err, "Volume clear-locks unsuccessful\n%s\n", reply->text);
  else
    fprintf(c->out, "Volume clear-locks successful\n%s", text);
}

int
cli_volume_clear_locks(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n < 7 || n > 8)
    return cli_usage(c, cmd);
  if (strcmp(words[4], "kind") != 0 || !one_of(words[5], "blocked", "granted", "all") ||
      !one_of(words[6], "inode", "entry", "posix")) {
    fputs("Error parsing options\n", c->out);
    return cli_usage(c, cmd);
  }
  json_t *request = cli_request("volume clear-locks", words[2], n, words);
  json_object_set_new(request, "path", json_string(words[3]));
  json_object_set_new(request, "kind", json_string(words[5]));
  json_object_set_new(request, "type", json_string(words[6]));
  if (n == 8)
    json_object_set_new(request, "which", json_string(words[7]));
  if (cli_ask(c, 34, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  render(c, &reply);
  cli_reply_clear(&reply);
  return status;
}
