/* SPDX-License-Identifier: Apache-2.0
 *
 * What the functions of commands share: abbreviated words, complaints about
 * wrong ones, questions before what cannot be undone.
 */
#include "programs/glusterish/cli.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

bool
cli_prefix(const char *word, const char *full)
{
  return *word && strncmp(word, full, strlen(word)) == 0;
}

int
cli_usage(struct cli *c, const struct cli_command *cmd)
{
  fprintf(c->err, "\nUsage:\n%s\n\n", cmd->pattern);
  return CLI_FAILED;
}

int
cli_bad(struct cli *c, const struct cli_command *cmd, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  vfprintf(c->err, fmt, ap);
  va_end(ap);
  fputc('\n', c->err);
  return cli_usage(c, cmd);
}

/* ---- questions ---- */

bool
cli_confirm(struct cli *c, const char *question)
{
  char line[64];
  if (c->script)
    return true;
  fprintf(c->out, "%s (y/n) ", question);
  fflush(c->out);
  if (!fgets(line, sizeof(line), c->in)) {
    fprintf(c->out, "gluster cli read error\n");
    return false;
  }
  line[strcspn(line, "\r\n")] = '\0';
  if (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0)
    return true;
  if (strcasecmp(line, "n") != 0 && strcasecmp(line, "no") != 0)
    fprintf(c->out, "Invalid input, please enter y/n\n");
  return false;
}
