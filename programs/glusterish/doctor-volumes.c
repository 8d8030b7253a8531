/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about space, heals and options.
 */
#include "programs/glusterish/doctor.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <stdlib.h>
#include <string.h>

#define SPACE_PERCENT 5
#define PING_LONG_S 60
#define PING_SHORT_S 5

static bool
is_on(const char *value)
{
  static const char *const words[] = {"on", "yes", "true", "enable", "1"};
  for (size_t i = 0; value && i < GI_ARRAY_LEN(words); i++)
    if (strcasecmp(value, words[i]) == 0)
      return true;
  return false;
}

/* ---- space ---- */

static void
short_of(const struct doctor_rule *rule, const json_t *sight, json_t *findings, const char *total, const char *free,
         const char *what)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const json_t *disk = json_object_get(p, "disk");
    long long all = cli_int(disk, total), left = cli_int(disk, free);
    if (all <= 0 || left * 100 / all >= SPACE_PERCENT)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, (struct doctor_culprit){"disk", doctor_volume_of(p), name, cli_int(p, "pid")}, NULL,
                "the disk of %s has %lld %% of its %s left (%lld)", name, left * 100 / all, what, left);
  }
}

void
doctor_space(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  short_of(rule, sight, findings, "bytes", "free", "bytes");
}

void
doctor_inodes(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  short_of(rule, sight, findings, "inodes", "inodes_free", "inodes");
}

/* ---- heals ---- */

void
doctor_heal_pending(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const json_t *heal = json_object_get(p, "heal");
    long long n = cli_int(heal, "pending");
    if (n <= 0)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, (struct doctor_culprit){"brick", doctor_volume_of(p), name, cli_int(p, "pid")}, NULL,
                "%s knows of %lld%s objects that another copy may lack changes of", name, n,
                cli_true(heal, "more") ? " or more" : "");
  }
}

void
doctor_split_brain(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *v;
  json_array_foreach(json_object_get(sight, "volumes"), i, v)
  {
    long long n = cli_int(v, "splitBrain");
    const char *name = cli_str(v, "name");
    if (n > 0)
      doctor_find(findings, rule, (struct doctor_culprit){.kind = "volume", .volume = name, .name = name}, NULL,
                  "%lld files or directories of volume %s are in split brain", n, name);
  }
}

/* ---- options ---- */

void
doctor_op_version(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  long long now = cli_int(sight, "opVersion"), max = cli_int(sight, "opVersionMax");
  if (now > 0 && now < max)
    doctor_find(findings, rule, (struct doctor_culprit){.kind = "option", .name = "cluster.op-version"}, NULL,
                "cluster.op-version is %lld, %lld is possible", now, max);
}

/* A trap: an option as it is set, and why that is one. */
struct trap {
  const char *key;
  bool (*is)(const char *value, const json_t *volume);
  const char *why, *remedy;
};

static bool
when_on(const char *value, const json_t *volume)
{
  return is_on(value);
}

static bool
when_off(const char *value, const json_t *volume)
{
  return !is_on(value);
}

static bool
when_none(const char *value, const json_t *volume)
{
  return strcmp(value, "none") == 0 && cli_int(volume, "replicaCount") > 1;
}

static bool
when_long(const char *value, const json_t *volume)
{
  return strtol(value, NULL, 10) > PING_LONG_S;
}

static bool
when_short(const char *value, const json_t *volume)
{
  return strtol(value, NULL, 10) < PING_SHORT_S;
}

static const struct trap traps[] = {
    {"network.ping-timeout", when_long, "a mount hangs for so long when a machine is gone", "Reset it, or set 10 to 42."},
    {"network.ping-timeout", when_short, "a machine that is busy for a moment is taken for dead, and heals follow",
     "Reset it, or set 10 to 42."},
    {"cluster.quorum-type", when_none, "two halves of a cut network both take changes: split brain",
     "glusterish volume set VOLUME cluster.quorum-type auto"},
    {"cluster.self-heal-daemon", when_off, "nobody heals copies", "glusterish volume heal VOLUME enable"},
    {"cluster.ensure-durability", when_off, "a power loss of a brick may leave copies different without a mark",
     "glusterish volume reset VOLUME cluster.ensure-durability"},
    {"performance.flush-behind", when_off, "every close waits for the bricks", "Reset it, unless an application needs it."},
    {"debug.delay-gen", when_on, "operations are delayed on purpose", "glusterish volume reset VOLUME debug.delay-gen"},
    {"debug.error-gen", when_on, "operations fail on purpose", "glusterish volume reset VOLUME debug.error-gen"},
};

/* The debug layers are switched on by a name: "posix", "client" … */
static bool
debug_named(const struct trap *t, const char *value)
{
  return strncmp(t->key, "debug.", 6) == 0 && *value && strcmp(value, "off") != 0;
}

void
doctor_traps(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *v;
  json_array_foreach(json_object_get(sight, "volumes"), i, v)
  {
    for (size_t k = 0; k < GI_ARRAY_LEN(traps); k++) {
      const struct trap *t = &traps[k];
      const char *value = doctor_option(v, t->key), *name = cli_str(v, "name");
      if (!value || (!t->is(value, v) && !debug_named(t, value)))
        continue;
      doctor_find(findings, rule, (struct doctor_culprit){.kind = "option", .volume = name, .name = t->key}, t->remedy,
                  "%s of volume %s is %s: %s", t->key, name, value, t->why);
    }
  }
}

/* An option of the first layer of that type; "" if it has none. */
static const char *
option_of(const json_t *process, const char *type, const char *option)
{
  size_t i;
  json_t *l;
  json_array_foreach(doctor_list(process, "graph", "layers"), i, l)
  {
    if (strcmp(cli_str(l, "type"), type) == 0)
      return cli_str(json_object_get(l, "options"), option);
  }
  return "";
}

static bool
writes_back(const json_t *process)
{
  return is_on(option_of(process, "mount/fuse", "kernel-writeback-cache"));
}

/* The same process, whichever brick of the volume it is connected to. */
static bool
of_process(const char *uid, const json_t *seen)
{
  size_t i, len = (size_t)(strstr(uid, "-PC_NAME:") ? strstr(uid, "-PC_NAME:") - uid : (ptrdiff_t)strlen(uid));
  json_t *s;
  json_array_foreach(seen, i, s)
  {
    if (strncmp(json_string_value(s), uid, len) == 0)
      return true;
  }
  return false;
}

/* Mounts of a volume: all its clients but those of this node that are none. */
static size_t
mounts_of(const json_t *sight, const char *volume)
{
  size_t i, k;
  json_t *p, *c, *seen = json_array();
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (!doctor_is_role(p, "brick") || strcmp(cli_str(p, "volume"), volume) != 0)
      continue;
    json_array_foreach(doctor_list(p, "clients", "clients"), k, c)
    {
      const char *uid = cli_str(c, "uid");
      const json_t *known = doctor_client(sight, uid);
      if ((!known || *cli_str(json_object_get(known, "about"), "mountpoint")) && !of_process(uid, seen))
        json_array_append_new(seen, json_string(uid));
    }
  }
  size_t n = json_array_size(seen);
  json_decref(seen);
  return n;
}

void
doctor_writeback(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    size_t n = writes_back(p) ? mounts_of(sight, cli_str(p, "volume")) : 0;
    if (n < 2)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, (struct doctor_culprit){"client", doctor_volume_of(p), name, cli_int(p, "pid")}, NULL,
                "%s has kernel-writeback-cache on, and %zu mounts share the volume: what one writes the others see late, and "
                "sizes may be wrong",
                name, n);
  }
}

void
doctor_partial(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (strcmp(option_of(p, "cluster/distribute", "partial-listing"), "allow") != 0)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, (struct doctor_culprit){"client", doctor_volume_of(p), name, cli_int(p, "pid")}, NULL,
                "%s lists directories without what is on sets that are down (partial-listing=allow)", name);
  }
}
