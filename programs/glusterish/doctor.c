/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of rules, and what they found.
 */
#include "programs/glusterish/doctor.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct doctor_rule rules[] = {
    {"daemon-silent", DOCTOR_WARNING, "the management daemon does not answer",
     "Start it: systemctl start glusterishd. Volumes that run go on without it.", doctor_daemon},
    {"process-silent", DOCTOR_ERROR, "a process does not answer on its observation socket", NULL, doctor_silent},
    {"brick-offline", DOCTOR_ERROR, "a brick of a started volume does not run",
     "Look at the end of the brick's log, then: glusterish volume start VOLUME force", doctor_brick_offline},
    {"self-heal-offline", DOCTOR_WARNING, "the self-heal daemon of a started volume does not run",
     "glusterish volume start VOLUME force starts it again.", doctor_shd_offline},
    {"brick-lost", DOCTOR_WARNING, "a client has no connection to a brick",
     "If the brick runs, look at network, firewall and auth.allow, and at the client's log.", doctor_client_lost_brick},
    {"slow-disk", DOCTOR_ERROR, "operations wait for the disk of a brick",
     "Look at the disk: iostat -x 1, dmesg, smartctl. A brick can be left out by ending its process; its copy heals later.",
     doctor_slow_disk},
    {"slow-brick", DOCTOR_WARNING, "a brick answers much later than others of its volume",
     "Look at its disk and at what else runs on its machine: iostat -x 1, top.", doctor_slow_brick},
    {"lock-holder", DOCTOR_ERROR, "somebody holds a lock that others have waited for too long",
     "End the holder, or take the lock away: glusterish volume clear-locks VOLUME PATH kind granted posix|inode|entry",
     doctor_lock_holder},
    {"slow-client", DOCTOR_WARNING, "a client does not take what it is sent",
     "Look at the client's machine and network. Ending the client frees what it holds.", doctor_slow_client},
    {"hanging-operation", DOCTOR_ERROR, "an operation is under way for too long",
     "glusterish why PATH tells more of the object, glusterish bundle collects what a report needs.", doctor_hanging},
    {"split-brain", DOCTOR_ERROR, "copies contradict each other",
     "glusterish volume heal VOLUME info split-brain lists the files; split-brain latest-mtime, bigger-file or source-brick "
     "resolves them.",
     doctor_split_brain},
    {"heal-pending", DOCTOR_NOTE, "copies are not equal yet",
     "The self-heal daemon is at it: glusterish volume heal VOLUME info summary shows how fast.", doctor_heal_pending},
    {"disk-full", DOCTOR_WARNING, "the disk of a brick is nearly full",
     "Make room or enlarge it. All bricks of a replica set need the space.", doctor_space},
    {"inodes-full", DOCTOR_WARNING, "the disk of a brick can hold few more files",
     "Remove files, or make the file system again with more inodes and let the brick heal.", doctor_inodes},
    {"versions-differ", DOCTOR_NOTE, "processes are of different versions",
     "Restart those of the older version when it suits: bricks one after the other, each after heals have ended.",
     doctor_versions},
    {"op-version-low", DOCTOR_NOTE, "the pool keeps to an older version than its nodes can do",
     "When all nodes and clients are new: glusterish volume set all cluster.op-version NUMBER", doctor_op_version},
    {"clocks-differ", DOCTOR_WARNING, "machines disagree about the time",
     "Run chrony or ntp on all nodes and clients; heals by latest mtime rely on the clocks.", doctor_clocks},
    {"log-errors", DOCTOR_NOTE, "a process has logged errors lately", "Read them; glusterish bundle collects all logs.",
     doctor_log_errors},
    {"option-trap", DOCTOR_WARNING, "an option is set that often does harm", NULL, doctor_traps},
    {"writeback-shared", DOCTOR_ERROR, "the kernel writes back later what several mounts share",
     "Mount without kernel-writeback-cache, or from one place only: client.single-mount sees to that.", doctor_writeback},
    {"listing-partial", DOCTOR_NOTE, "a mount may list directories without names that are there",
     "Mount without partial-listing=allow where anything is copied or removed by a listing.", doctor_partial},
};

static const char *const severity_word[] = {"note", "warning", "error"};

const struct doctor_rule *
doctor_rule(const char *id)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(rules); i++)
    if (strcmp(rules[i].id, id) == 0)
      return &rules[i];
  return NULL;
}

/* Commands can be copied as they stand: the volume has its name in them. Caller frees. */
static char *
remedy_for(const char *remedy, const char *volume)
{
  static const char place[] = "VOLUME";
  const char *at = volume && remedy ? strstr(remedy, place) : NULL;
  char *text = gi_asprintf("%.*s", at ? (int)(at - remedy) : INT_MAX, remedy ? remedy : "");
  for (const char *rest; at; at = strstr(rest, place)) {
    rest = at + sizeof(place) - 1;
    const char *next = strstr(rest, place);
    char *longer = gi_asprintf("%s%s%.*s", text, volume, next ? (int)(next - rest) : INT_MAX, rest);
    gi_free(text);
    text = longer;
  }
  return text;
}

void
doctor_find(json_t *findings, const struct doctor_rule *rule, struct doctor_culprit who, const char *remedy, const char *fmt,
            ...)
{
  va_list ap;
  char *said = NULL;
  va_start(ap, fmt);
  if (vasprintf(&said, fmt, ap) < 0)
    said = NULL;
  va_end(ap);
  GI_CLEANUP_FREE char *helps = remedy_for(remedy ? remedy : rule->remedy, who.volume);
  json_t *culprit = json_pack("{s:s, s:o, s:o}", "kind", who.kind, "name", ob_text(who.name), "pid",
                              who.pid ? json_integer(who.pid) : json_null());
  json_array_append_new(findings, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "id", rule->id, "severity",
                                            severity_word[rule->severity], "volume", ob_text(who.volume), "culprit", culprit,
                                            "text", ob_text(said), "remedy", ob_text(helps)));
  free(said);
}

json_t *
doctor_look(const json_t *sight)
{
  json_t *findings = json_array();
  for (int severity = DOCTOR_ERROR; severity >= DOCTOR_NOTE; severity--)
    for (size_t i = 0; i < GI_ARRAY_LEN(rules); i++)
      if ((int)rules[i].severity == severity)
        rules[i].look(&rules[i], sight, findings);
  return findings;
}

int
doctor_status(const json_t *findings)
{
  int worst = DOCTOR_NOTE;
  size_t i;
  json_t *f;
  json_array_foreach(findings, i, f)
  {
    for (int s = DOCTOR_NOTE; s <= DOCTOR_ERROR; s++)
      if (strcmp(cli_str(f, "severity"), severity_word[s]) == 0 && s > worst)
        worst = s;
  }
  return worst;
}

void
doctor_print(FILE *out, const json_t *sight, const json_t *findings)
{
  size_t i;
  json_t *f;
  fprintf(out, "%zu processes and %zu volumes looked at\n", json_array_size(json_object_get(sight, "processes")),
          json_array_size(json_object_get(sight, "volumes")));
  json_array_foreach(findings, i, f)
  {
    fprintf(out, "\n%-8s %s\n         %s\n", cli_str(f, "severity"), cli_str(f, "id"), cli_str(f, "text"));
    if (*cli_str(f, "remedy"))
      fprintf(out, "         Remedy: %s\n", cli_str(f, "remedy"));
  }
  if (i == 0)
    fprintf(out, "Nothing is wrong.\n");
}
