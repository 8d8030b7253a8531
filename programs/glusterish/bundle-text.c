/* SPDX-License-Identifier: Apache-2.0
 *
 * Text for a bundle: the end of a log, and text without what gives access.
 */
#include "programs/glusterish/bundle.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HIDDEN "***"

/* Names of what is left out hold one of these. */
static const char *const markers[] = {"password", "passwd", "username", "auth.login", "secret", "token"};

#define KEY_BEGIN "-----BEGIN "
#define KEY_END "-----END "

static const char *
marker_in(const char *text, size_t len)
{
  const char *first = NULL;
  for (size_t i = 0; i < GI_ARRAY_LEN(markers); i++) {
    size_t n = strlen(markers[i]);
    for (size_t at = 0; at + n <= len; at++) {
      if (strncasecmp(text + at, markers[i], n) != 0)
        continue;
      first = !first || text + at < first ? text + at : first;
      break;
    }
  }
  return first;
}

/* The name that begins at the marker goes too, when it names a login: a user's name is part of it. */
static size_t
shown_of_line(const char *line, size_t len)
{
  const char *at = marker_in(line, len);
  if (!at)
    return len;
  if (strncasecmp(at, "auth.login", 10) == 0)
    return (size_t)(at - line) + 10;
  while (at < line + len && !isspace((unsigned char)*at) && !strchr("=:", *at))
    at++;
  return (size_t)(at - line);
}

/* A line is shown up to the name of the secret. Of a private key in PEM nothing is. */
static char *
plain_lines(const char *text)
{
  char *out = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&out, &size);
  bool in_key = false;
  GI_ASSERT(f);
  for (const char *line = text; *line;) {
    size_t len = strcspn(line, "\n"), shown = shown_of_line(line, len);
    const char *begin = memmem(line, len, KEY_BEGIN, sizeof(KEY_BEGIN) - 1);
    in_key = in_key || (begin && memmem(line, len, "PRIVATE KEY", 11));
    if (!in_key)
      fprintf(f, "%.*s%s", (int)shown, line, shown < len ? " " HIDDEN : "");
    else if (begin)
      fprintf(f, "%.*s" HIDDEN, (int)(begin - line), line);
    bool visible = !in_key || begin;
    in_key = in_key && !memmem(line, len, KEY_END, sizeof(KEY_END) - 1);
    line += len;
    if (*line == '\n' && visible)
      putc('\n', f);
    line += *line == '\n';
  }
  fclose(f);
  return out;
}

/* ---- JSON ---- */

static bool
is_secret(const char *name)
{
  return name && marker_in(name, strlen(name));
}

static json_t *plain_json(const json_t *doc);

static json_t *
plain_object(const json_t *doc)
{
  json_t *out = json_object(), *v;
  const char *key;
  bool named =
      is_secret(json_string_value(json_object_get(doc, "name"))) || is_secret(json_string_value(json_object_get(doc, "key")));
  json_object_foreach((json_t *)doc, key, v)
  {
    bool login = strncasecmp(key, "auth.login", 10) == 0;
    bool hidden = is_secret(key) || (named && strcmp(key, "value") == 0);
    json_object_set_new(out, login ? "auth.login." HIDDEN : key, hidden ? json_string(HIDDEN) : plain_json(v));
  }
  return out;
}

static json_t *
plain_json(const json_t *doc)
{
  size_t i;
  json_t *v, *out;
  if (json_is_object(doc))
    return plain_object(doc);
  if (json_is_string(doc)) {
    char *text = plain_lines(json_string_value(doc));
    out = json_string(text);
    free(text);
    return out ? out : json_null();
  }
  if (!json_is_array(doc))
    return json_incref((json_t *)doc);
  out = json_array();
  json_array_foreach(doc, i, v) json_array_append_new(out, plain_json(v));
  return out;
}

char *
bundle_without_secrets(const char *text)
{
  json_t *doc = json_loads(text, 0, NULL);
  char *found = NULL;
  if (doc) {
    json_t *plain = plain_json(doc);
    found = json_dumps(plain, JSON_INDENT(2));
    json_decref(plain);
    json_decref(doc);
  }
  if (!found)
    found = plain_lines(text);
  char *out = gi_strdup(found);
  free(found);
  return out;
}

/* ---- logs ---- */

static size_t
read_at_most(int fd, char *buf, size_t max)
{
  size_t len = 0;
  for (ssize_t n; len < max && (n = read(fd, buf + len, max - len)) != 0;) {
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      break;
    len += (size_t)n;
  }
  return len;
}

char *
bundle_tail(const char *path, size_t max)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return NULL;
  off_t size = lseek(fd, 0, SEEK_END);
  bool cut = size > (off_t)max;
  lseek(fd, cut ? size - (off_t)max : 0, SEEK_SET);
  char *buf = gi_alloc(max + 1);
  size_t len = read_at_most(fd, buf, max);
  close(fd);
  for (size_t i = 0; i < len; i++)
    buf[i] = buf[i] ? buf[i] : '?';
  buf[len] = '\0';
  const char *line = cut ? strchr(buf, '\n') : NULL;
  if (line)
    memmove(buf, line + 1, strlen(line + 1) + 1);
  return buf;
}
