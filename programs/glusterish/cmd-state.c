/* SPDX-License-Identifier: Apache-2.0
 *
 * get-state (cli.md 5.17).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

enum { WORDS_FINE, WORDS_DAEMON, WORDS_WRONG };

/* Puts what the words mean into the request. WORDS_DAEMON: they name another daemon. */
static int
read_words(json_t *request, int n, char **words)
{
  int i = 0;
  bool last = false;
  if (n > 0 && strcmp(words[0], "odir") != 0 && strcmp(words[0], "file") != 0 && strcmp(words[0], "detail") != 0 &&
      strcmp(words[0], "volumeoptions") != 0) {
    if (strcmp(words[0], "glusterd") != 0)
      return WORDS_DAEMON;
    i = 1;
  }
  for (; i < n; i++) {
    bool pair = strcmp(words[i], "odir") == 0 || strcmp(words[i], "file") == 0;
    if (last || json_object_get(request, words[i]))
      return WORDS_WRONG;
    if (pair && i + 1 < n) {
      json_object_set_new(request, words[i], json_string(words[i + 1]));
      i++;
    } else if (!pair && (strcmp(words[i], "detail") == 0 || strcmp(words[i], "volumeoptions") == 0)) {
      json_object_set_new(request, words[i], json_true());
      last = true;
    } else {
      return WORDS_WRONG;
    }
  }
  return WORDS_FINE;
}

int
cli_get_state(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  json_t *request = cli_request("get-state", NULL, n, words);
  int read = read_words(request, n - 1, words + 1);
  if (read != WORDS_FINE) {
    json_decref(request);
    return cli_bad(c, cmd, "%s",
                   read == WORDS_DAEMON ? "glusterd is the only supported daemon." : "Problem parsing arguments. Check usage.");
  }
  if (cli_ask(c, 46, request, &reply, &status))
    return status;
  status = reply.ret ? CLI_FAILED : CLI_OK;
  if (reply.ret)
    fprintf(c->err, "Failed to get daemon state: %s\n", reply.text);
  else
    fprintf(c->out, "glusterd state dumped to %s\n", cli_str(reply.doc, "path"));
  cli_reply_clear(&reply);
  return status;
}
