/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules for names of volumes and bricks.
 */
#include "programs/common/names.h"
#include "libglusterish/mem.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const reserved[] = {
    "volume",
    "type",
    "help",
    "subvolumes",
    "option",
    "end-volume",
    "all",
    "volume_not_in_ring",
    "description",
    "force",
    "snap-max-hard-limit",
    "snap-max-soft-limit",
    "auto-delete",
    "activate-on-create",
};

int
prog_volume_name_check(const char *name, struct gi_error *err)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(reserved); i++)
    if (strcmp(name, reserved[i]) == 0)
      return gi_error_set(err, EINVAL, "\"%s\" cannot be the name of a volume.", name);
  if (*name == '\0' || *name == '-')
    return gi_error_set(err, EINVAL, "Invalid volume name");
  for (const char *p = name; *p; p++)
    if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
      return gi_error_set(err, EINVAL,
                          "Volume name should not contain \"%c\" character.\n"
                          "Volume names can onlycontain alphanumeric, '-' and '_' characters.",
                          isprint((unsigned char)*p) ? *p : '?');
  if (strlen(name) > PROG_VOLUME_NAME_MAX)
    return gi_error_set(err, EINVAL, "Volume name exceeds %d characters.", PROG_VOLUME_NAME_MAX);
  return 0;
}

/* The path without doubled and trailing slashes; NULL if it has "." or ".." or control characters. */
static char *
canonical_path(const char *path)
{
  char *out = gi_alloc(strlen(path) + 2);
  size_t n = 0;
  for (const char *p = path; *p;) {
    while (*p == '/')
      p++;
    size_t len = strcspn(p, "/");
    if (len == 0)
      break;
    bool dots = (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.');
    for (size_t i = 0; i < len; i++)
      dots = dots || iscntrl((unsigned char)p[i]) || p[i] == '"' || p[i] == '\\';
    if (dots) {
      gi_free(out);
      return NULL;
    }
    out[n++] = '/';
    memcpy(out + n, p, len);
    n += len;
    p += len;
  }
  if (n == 0)
    out[n++] = '/';
  out[n] = '\0';
  return out;
}

static bool
host_ok(const char *host, size_t len)
{
  if (len == 0 || len > 255 || host[0] == '-')
    return false;
  for (size_t i = 0; i < len; i++)
    if (!isalnum((unsigned char)host[i]) && !strchr("-_.:%", host[i]))
      return false;
  return true;
}

int
prog_brick_parse(const char *text, char **host, char **path, struct gi_error *err)
{
  /* The host ends at the last ":" that a "/" follows, so that bare IPv6 addresses work. */
  const char *colon = NULL;
  for (const char *p = text; (p = strstr(p, ":/")) != NULL; p++)
    colon = p;
  char *canonical = colon && host_ok(text, (size_t)(colon - text)) ? canonical_path(colon + 1) : NULL;
  if (!canonical || strcmp(canonical, "/") == 0) {
    gi_free(canonical);
    return gi_error_set(err, EINVAL, "Wrong brick type: %s, use <HOSTNAME>:<export-dir-abs-path>", text);
  }
  *path = canonical;
  *host = gi_strndup(text, (size_t)(colon - text));
  return 0;
}
