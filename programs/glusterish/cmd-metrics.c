/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics: those of all processes of this machine, for people and for
 * collectors that run programs.
 */
#include "programs/common/gather.h"
#include "programs/glusterish/cli.h"

#include <string.h>

int
cli_metrics(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct ob_process *list;
  struct gi_error err = {0};
  const char *volume = n > 1 ? words[1] : NULL;
  char *page = NULL;
  size_t len;
  if (n > 2)
    return cli_usage(c, cmd);
  if (c->xml || !ob_allowed(&err)) {
    fprintf(c->err, "%s\n", c->xml ? "Metrics have no XML form" : err.text);
    return CLI_FAILED;
  }
  unsigned count = ob_list(&list, volume);
  if (!count) {
    fprintf(c->err, "No process%s%s runs on this machine\n", volume ? " of volume " : "", volume ? volume : "");
    return CLI_FAILED;
  }
  FILE *out = open_memstream(&page, &len);
  GI_ASSERT(out != NULL);
  ob_metrics(out, list, count, true);
  fclose(out);
  ob_list_free(list, count);
  if (c->json) {
    json_t *doc = ob_metrics_json(page);
    json_dumpf(doc, c->out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    fputc('\n', c->out);
    json_decref(doc);
  } else {
    fputs(page, c->out);
  }
  free(page);
  return CLI_OK;
}
