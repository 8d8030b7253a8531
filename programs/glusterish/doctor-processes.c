/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about processes: who does not run, does not answer, or has not what
 * others have.
 */
#include "programs/glusterish/doctor.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <math.h>
#include <string.h>

#define CLOCKS_APART_S 2.0
#define ERRORS_SINCE_S 600.0

static struct doctor_culprit
the_process(const json_t *p, const char *kind, const char *name)
{
  return (struct doctor_culprit){.kind = kind, .volume = doctor_volume_of(p), .name = name, .pid = cli_int(p, "pid")};
}

/* "brick" and "client" are culprits of their own; other processes are processes. */
static const char *
kind_of(const json_t *p)
{
  return doctor_is_role(p, "brick") ? "brick" : doctor_is_role(p, "client") ? "client" : "process";
}

void
doctor_daemon(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  const json_t *answered = json_object_get(sight, "daemon");
  if (json_is_false(answered))
    doctor_find(findings, rule, (struct doctor_culprit){.kind = "daemon", .name = "glusterishd"}, NULL,
                "glusterishd does not answer");
}

/* What /proc says of a process that says nothing itself. */
static const char *
silence(char state, long long pid, char *remedy, size_t size)
{
  switch (state) {
  case 'T':
    snprintf(remedy, size, "Let it go on: kill -CONT %lld", pid);
    return "it was stopped by a signal";
  case 't':
    snprintf(remedy, size, "A debugger holds it (TracerPid in /proc/%lld/status): detach it.", pid);
    return "a debugger has stopped it";
  case 'D':
    snprintf(remedy, size, "Look at its disk: cat /proc/%lld/stack, dmesg, iostat -x 1", pid);
    return "it waits for a disk, or for the kernel";
  case 'R':
    snprintf(remedy, size, "See what it does: perf top -p %lld, or gdb -p %lld", pid, pid);
    return "it is busy";
  default:
    snprintf(remedy, size, "See where it waits: gdb -p %lld -batch -ex 'thread apply all bt'. Then restart it.", pid);
    return "it hangs";
  }
}

void
doctor_silent(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    char remedy[256];
    if (!json_is_false(json_object_get(p, "answers")))
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    const char *why = silence(*cli_str(p, "state"), cli_int(p, "pid"), remedy, sizeof(remedy));
    doctor_find(findings, rule, the_process(p, kind_of(p), name), remedy, "%s does not answer: %s", name, why);
  }
}

/* Nodes of started volumes that are not online, of one kind. */
static void
offline(const struct doctor_rule *rule, const json_t *sight, json_t *findings, const char *kind)
{
  size_t i, k;
  json_t *v, *n;
  json_array_foreach(json_object_get(sight, "volumes"), i, v)
  {
    if (strcmp(cli_str(v, "statusStr"), "Started") != 0)
      continue;
    json_array_foreach(json_object_get(v, "nodes"), k, n)
    {
      if (strcmp(cli_str(n, "kind"), kind) != 0 || cli_true(n, "online"))
        continue;
      bool brick = strcmp(kind, "brick") == 0;
      const char *volume = cli_str(v, "name");
      GI_CLEANUP_FREE char *name = brick ? gi_asprintf("brick %s:%s", cli_str(n, "hostname"), cli_str(n, "path"))
                                         : gi_asprintf("self-heal daemon of %s", volume);
      doctor_find(findings, rule, (struct doctor_culprit){.kind = brick ? "brick" : "process", .volume = volume, .name = name},
                  NULL, "%s does not run, though volume %s is started", name, volume);
    }
  }
}

void
doctor_brick_offline(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  offline(rule, sight, findings, "brick");
}

void
doctor_shd_offline(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  offline(rule, sight, findings, "daemon");
}

/* The copies of the root are there on all bricks. */
void
doctor_client_lost_brick(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *copy;
  doctor_foreach(sight, "object", "copies", i, p, k, copy)
  {
    if (cli_true(copy, "up"))
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    GI_CLEANUP_FREE char *brick = doctor_brick_of(p, cli_str(copy, "name"));
    doctor_find(findings, rule, (struct doctor_culprit){.kind = "brick", .volume = doctor_volume_of(p), .name = brick}, NULL,
                "%s has no connection to brick %s", name, brick);
  }
}

/* One finding that names all versions. */
void
doctor_versions(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  GI_CLEANUP_FREE char *said = gi_strdup("");
  const char *first = NULL, *other = NULL, *older = NULL;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const char *version = cli_str(json_object_get(p, "about"), "version");
    if (!*version)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    char *longer = gi_asprintf("%s%s%s is %s", said, *said ? ", " : "", name, version);
    gi_free(said);
    said = longer;
    first = first ? first : version;
    if (strcmp(first, version) != 0)
      other = version;
    older = !older || strverscmp(version, older) < 0 ? version : older;
  }
  if (other)
    doctor_find(findings, rule, (struct doctor_culprit){.kind = "process", .name = older}, NULL,
                "not all are of one version: %s", said);
}

void
doctor_clocks(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const json_t *at = json_object_get(json_object_get(p, "about"), "time");
    double apart = json_number_value(at) - json_number_value(json_object_get(p, "asked_at"));
    double slack = (double)cli_int(p, "asked_ms") / 1000;
    if (!json_is_number(at) || fabs(apart) <= CLOCKS_APART_S + slack)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, the_process(p, "process", name), NULL, "the clock of %s is %.1f s %s ours", name, fabs(apart),
                apart > 0 ? "ahead of" : "behind");
  }
}

void
doctor_log_errors(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *e;
  double since = json_number_value(json_object_get(sight, "now")) - ERRORS_SINCE_S;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const json_t *last = NULL;
    long long n = 0;
    json_array_foreach(doctor_list(p, "errors", "errors"), k, e)
    {
      if (*cli_str(e, "level") == 'W' || json_number_value(json_object_get(e, "time")) < since)
        continue;
      last = e;
      n += cli_int(e, "seen") > 1 ? cli_int(e, "seen") : 1;
    }
    if (!last)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, the_process(p, kind_of(p), name), NULL,
                "%s has logged %lld errors in the last 10 minutes, the last: %s", name, n, cli_str(last, "text"));
  }
}
