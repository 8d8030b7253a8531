/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that rules and other readers ask a sight.
 */
#include "programs/glusterish/doctor.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <stdlib.h>
#include <string.h>

const json_t *
doctor_list(const json_t *process, const char *document, const char *list)
{
  return json_object_get(json_object_get(process, document), list);
}

bool
doctor_is_role(const json_t *process, const char *role)
{
  return strcmp(cli_str(process, "role"), role) == 0;
}

const char *
doctor_volume_of(const json_t *process)
{
  const char *volume = cli_str(process, "volume");
  return *volume ? volume : NULL;
}

char *
doctor_name(const json_t *process)
{
  const json_t *about = json_object_get(process, "about");
  const char *mount = cli_str(about, "mountpoint"), *brick = cli_str(about, "brick"), *host = cli_str(about, "host");
  const char *volume = cli_str(process, "volume");
  long long pid = cli_int(process, "pid");
  if (doctor_is_role(process, "brick") && *cli_str(process, "brick"))
    return gi_asprintf("brick %s (pid %lld)", cli_str(process, "brick"), pid);
  if (doctor_is_role(process, "brick"))
    return gi_asprintf("brick %s%s%s (pid %lld)", *brick ? host : "", *brick && *host ? ":" : "",
                       *brick ? brick : cli_str(process, "name"), pid);
  if (doctor_is_role(process, "shd"))
    return gi_asprintf("self-heal daemon%s%s (pid %lld)", *volume ? " of " : "", volume, pid);
  if (*mount)
    return gi_asprintf("mount %s of %s (pid %lld)", mount, volume, pid);
  if (doctor_is_role(process, "client"))
    return gi_asprintf("client of %s (pid %lld)", volume, pid);
  return gi_asprintf("%s (pid %lld)", cli_str(process, "role"), pid);
}

/* The number behind "-PID:" of a client's identity; 0: it is of another make. */
static long long
pid_in(const char *uid)
{
  const char *at = strstr(uid, "-PID:");
  return at ? strtoll(at + 5, NULL, 10) : 0;
}

static bool
host_in(const char *uid, const char *host)
{
  const char *at = strstr(uid, "-HOST:");
  size_t len = strlen(host);
  return at && len && strncmp(at + 6, host, len) == 0 && (at[6 + len] == '-' || at[6 + len] == '\0');
}

const json_t *
doctor_client(const json_t *sight, const char *uid)
{
  size_t i;
  json_t *p;
  long long pid = pid_in(uid);
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const char *host = cli_str(json_object_get(p, "about"), "host");
    if (pid && cli_int(p, "pid") == pid && !doctor_is_role(p, "brick") && (!*host || host_in(uid, host)))
      return p;
  }
  return NULL;
}

char *
doctor_client_name(const json_t *sight, const char *uid, const char *address)
{
  const json_t *p = doctor_client(sight, uid);
  long long pid = pid_in(uid);
  const char *host = strstr(uid, "-HOST:");
  if (p)
    return doctor_name(p);
  if (pid && host)
    return gi_asprintf("client %.*s (pid %lld there)", (int)strcspn(host + 6, "-"), host + 6, pid);
  return gi_asprintf("client %s", *address ? address : uid);
}

const json_t *
doctor_waits(const json_t *op)
{
  const json_t *waits = json_object_get(op, "waits"), *found = NULL;
  const json_t *steps = json_object_get(json_object_get(op, "tree"), "steps");
  if (!json_is_array(steps)) /* a step */
    steps = json_object_get(op, "steps");
  if (json_is_object(waits))
    return waits;
  for (size_t i = 0; !found && i < json_array_size(steps); i++) {
    const json_t *step = json_array_get(steps, i);
    found = cli_true(step, "open") ? doctor_waits(step) : NULL;
  }
  return found;
}

/* The identity in "client UID at ADDRESS …"; NULL: it is no client. Caller frees. */
static char *
uid_in(const char *who)
{
  return strncmp(who, "client ", 7) == 0 ? gi_strndup(who + 7, strcspn(who + 7, " ")) : NULL;
}

char *
doctor_waits_who(const json_t *sight, const json_t *waits)
{
  const char *what = cli_str(waits, "for"), *who = cli_str(waits, "who");
  if (strcmp(what, "brick") == 0 && !*who)
    return gi_strdup(cli_str(waits, "what"));
  GI_CLEANUP_FREE char *uid = uid_in(who);
  return uid ? doctor_client_name(sight, uid, "") : gi_strdup(who);
}

const json_t *
doctor_waits_client(const json_t *sight, const json_t *waits)
{
  GI_CLEANUP_FREE char *uid = uid_in(cli_str(waits, "who"));
  return uid ? doctor_client(sight, uid) : NULL;
}

bool
doctor_may_wait(const json_t *op)
{
  static const char *const kinds[] = {"LK", "INODELK", "FINODELK", "ENTRYLK", "FENTRYLK"};
  for (size_t i = 0; i < GI_ARRAY_LEN(kinds); i++)
    if (strcmp(cli_str(op, "kind"), kinds[i]) == 0)
      return true;
  return false;
}

const char *
doctor_span(double seconds, char buf[32])
{
  if (seconds < 0.001)
    snprintf(buf, 32, "%.0f us", seconds * 1e6);
  else if (seconds < 1)
    snprintf(buf, 32, "%.1f ms", seconds * 1e3);
  else if (seconds < 120)
    snprintf(buf, 32, "%.1f s", seconds);
  else
    snprintf(buf, 32, "%.0f min", seconds / 60);
  return buf;
}

const char *
doctor_option(const json_t *volume, const char *key)
{
  size_t i;
  json_t *o;
  json_array_foreach(json_object_get(volume, "options"), i, o)
  {
    if (strcmp(cli_str(o, "name"), key) == 0)
      return cli_str(o, "value");
  }
  return NULL;
}

char *
doctor_brick_of(const json_t *process, const char *layer)
{
  size_t i;
  json_t *l;
  json_array_foreach(doctor_list(process, "graph", "layers"), i, l)
  {
    const json_t *options = json_object_get(l, "options");
    if (strcmp(cli_str(l, "name"), layer) == 0 && *cli_str(options, "remote-subvolume"))
      return gi_asprintf("%s:%s", cli_str(options, "remote-host"), cli_str(options, "remote-subvolume"));
  }
  return gi_strdup(layer);
}

#define BEHIND_S 2.0

double
doctor_behind(const json_t *client)
{
  double s = json_number_value(json_object_get(client, "behind_ns")) / 1e9;
  return s < BEHIND_S ? 0 : s;
}
