/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of one command. Which there are is in its pattern, so that main.c
 * leaves them among the words; what they mean is the command's.
 */
#include "programs/glusterish/cli.h"

#include <string.h>

static const struct cli_option *
option_of(const struct cli_option *table, const char *word)
{
  for (; table->name; table++) {
    size_t len = strlen(table->name);
    if (strncmp(word + 2, table->name, len) == 0 && (word[2 + len] == 0 || word[2 + len] == '='))
      return table;
  }
  return NULL;
}

bool
cli_take_options(struct cli *c, const struct cli_command *cmd, const struct cli_option *table, int *n, char **words)
{
  int left = 0;
  for (int i = 0; i < *n; i++) {
    if (strncmp(words[i], "--", 2) != 0) {
      words[left++] = words[i];
      continue;
    }
    const struct cli_option *o = option_of(table, words[i]);
    const char *value = strchr(words[i], '=');
    if (!o) {
      cli_bad(c, cmd, "unrecognized option %s", words[i]);
      return false;
    }
    if (!o->value && value) {
      cli_bad(c, cmd, "option --%s takes no value", o->name);
      return false;
    }
    if (o->flag)
      *o->flag = true;
    if (!o->value)
      continue;
    if (!value && i + 1 < *n && strncmp(words[i + 1], "--", 2) != 0)
      value = words[++i];
    else if (value)
      value++;
    if (!value || !*value) {
      cli_bad(c, cmd, "option --%s needs a value", o->name);
      return false;
    }
    *o->value = value;
  }
  *n = left;
  return true;
}
