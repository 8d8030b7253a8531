/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of options: files of lines "key=value", read here and sent as pairs
 * like any others. Those in the daemon's directory come before the installed
 * ones of the same name. A "?" before the key: a version that does not know
 * it goes without.
 */
#include "programs/glusterish/cli.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

char *
cli_trimmed(const char *s)
{
  static const char blanks[] = " \t\r\n\v\f";
  s += strspn(s, blanks);
  size_t len = strlen(s);
  while (len > 0 && strchr(blanks, s[len - 1]))
    len--;
  return gi_strndup(s, len);
}

static const char *
installed_dir(void)
{
  const char *dir = getenv("GLUSTERISH_GROUPS_DIR");
  return dir && *dir ? dir : GI_GROUPS_DIR;
}

/* "groups" of the daemon's working directory; NULL if it cannot be asked. */
static char *
daemon_dir(struct cli *c)
{
  struct cli_reply reply;
  if (c->call(c, 26, cli_request("system getwd", NULL, 0, NULL), &reply))
    return NULL;
  char *dir = gi_asprintf("%s/groups", cli_str(reply.doc, "wd"));
  cli_reply_clear(&reply);
  return dir;
}

static bool
is_name(const char *group)
{
  return group[0] && group[0] != '.' && !strchr(group, '/');
}

/* The file that is meant; the daemon's, if there is none. */
static char *
group_path(struct cli *c, const char *group)
{
  GI_CLEANUP_FREE char *dir = daemon_dir(c);
  if (!dir)
    return NULL;
  char *path = gi_asprintf("%s/%s", dir, group), *installed = gi_asprintf("%s/%s", installed_dir(), group);
  bool ours = access(path, F_OK) != 0 && access(installed, F_OK) == 0;
  gi_free(ours ? path : installed);
  return ours ? installed : path;
}

/* Adds what a line says. False: it says nothing that can be understood. */
static bool
read_line(const char *line, json_t *pairs)
{
  GI_CLEANUP_FREE char *text = cli_trimmed(line);
  char *eq = strchr(text, '=');
  if (*text == '\0' || *text == '#')
    return true;
  if (!eq || eq == text || !eq[1])
    return false;
  *eq = '\0';
  GI_CLEANUP_FREE char *key = cli_trimmed(text), *value = cli_trimmed(eq + 1);
  return *key && *value && json_array_append_new(pairs, json_string(key)) == 0 &&
         json_array_append_new(pairs, json_string(value)) == 0;
}

/* False, and errno, if the file cannot be opened; else *valid. */
static bool
read_file(const char *path, json_t *pairs, bool *valid)
{
  FILE *f = fopen(path, "re");
  char line[LINE_MAX_BYTES];
  *valid = true;
  if (!f)
    return false;
  while (*valid && fgets(line, sizeof(line), f))
    *valid = read_line(line, pairs);
  fclose(f);
  *valid = *valid && json_array_size(pairs) > 0;
  return true;
}

bool
cli_group_read(struct cli *c, const char *group, json_t *pairs)
{
  GI_CLEANUP_FREE char *path = is_name(group) ? group_path(c, group) : NULL;
  bool valid;
  if (!path) {
    fprintf(c->err, is_name(group) ? "The daemon does not say where group %s is\n" : "'%s' is no name of a group\n", group);
    return false;
  }
  if (!read_file(path, pairs, &valid)) {
    fprintf(c->err, "Unable to open file '%s'. Error: %s\n", path, strerror(errno));
    return false;
  }
  if (!valid)
    fprintf(c->err, "'%s' file format not valid.\n", path);
  return valid;
}

/* ---- which there are ---- */

/* The comment on the first line, for people. */
static char *
description(const char *path)
{
  char line[LINE_MAX_BYTES];
  FILE *f = fopen(path, "re");
  bool any = f && fgets(line, sizeof(line), f) && line[0] == '#';
  if (f)
    fclose(f);
  return any ? cli_trimmed(line + 1) : gi_strdup("");
}

static void
print_group(struct cli *c, const char *group, const char *path)
{
  GI_CLEANUP_FREE char *text = description(path);
  json_t *pairs = json_array();
  bool valid;
  if (read_file(path, pairs, &valid) && valid) {
    fprintf(c->out, "Group: %s\nDescription: %s\nOptions:", group, text);
    for (size_t i = 0; i + 1 < json_array_size(pairs); i += 2) {
      const char *key = json_string_value(json_array_get(pairs, i));
      fprintf(c->out, " %s=%s", key + (*key == '?'), json_string_value(json_array_get(pairs, i + 1)));
    }
    fprintf(c->out, "\n\n");
  }
  json_decref(pairs);
}

static int
is_shown(const struct dirent *e)
{
  return is_name(e->d_name) && !strchr(e->d_name, '~');
}

/* Those of a directory, without those that `before` has too (NULL: all). */
static void
print_dir(struct cli *c, const char *dir, const char *before)
{
  struct dirent **list = NULL;
  int n = scandir(dir, &list, is_shown, alphasort);
  for (int i = 0; i < n; i++) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, list[i]->d_name);
    GI_CLEANUP_FREE char *first = before ? gi_asprintf("%s/%s", before, list[i]->d_name) : NULL;
    if (!first || access(first, F_OK) != 0)
      print_group(c, list[i]->d_name, path);
    free(list[i]);
  }
  free(list);
}

int
cli_groups_help(struct cli *c)
{
  GI_CLEANUP_FREE char *dir = daemon_dir(c);
  if (dir)
    print_dir(c, dir, NULL);
  print_dir(c, installed_dir(), dir);
  return CLI_OK;
}
