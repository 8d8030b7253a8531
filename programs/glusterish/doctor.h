/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor: rules that look at what all processes tell of themselves and say what
 * is wrong, whose doing it is, and what helps. A rule is a function of one
 * document, the sight (sight.h), and of nothing else.
 *
 *   doctor.c            the table of rules, findings, how they are printed
 *   doctor-processes.c  who does not run, does not answer, or has not what others have
 *   doctor-waits.c      who keeps others waiting: locks, disks, bricks, clients
 *   doctor-volumes.c    space, heals, options
 *   doctor-facts.c      what rules ask a sight
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "programs/glusterish/sight.h"
#include "programs/common/json-text.h"

enum doctor_severity { DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_ERROR };

struct doctor_rule {
  const char *id; /* "slow-disk" */
  enum doctor_severity severity;
  const char *looks_at; /* for people: what would be wrong */
  const char *remedy;   /* what helps, unless the finding knows better */
  void (*look)(const struct doctor_rule *rule, const json_t *sight, json_t *findings);
};

/* Who is to blame. Strings are copied. */
struct doctor_culprit {
  const char *kind;   /* "brick", "client", "process", "disk", "lock", "option", "volume", "daemon" */
  const char *volume; /* NULL: none */
  const char *name;
  long long pid; /* 0: none */
};

/* Adds {"id","severity","volume","culprit":{"kind","name","pid"},"text","remedy"}. `remedy` NULL: that of the rule. */
void doctor_find(json_t *findings, const struct doctor_rule *rule, struct doctor_culprit who, const char *remedy,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* All findings about a sight, the worst first. The caller owns the list. */
json_t *doctor_look(const json_t *sight);
/* One rule by its name, for tests; NULL: there is none. */
const struct doctor_rule *doctor_rule(const char *id);
/* 0: nothing but notes; 1: warnings; 2: errors. */
int doctor_status(const json_t *findings);
void doctor_print(FILE *out, const json_t *sight, const json_t *findings);

/* ---- doctor-facts.c ---- */

/* A part of a process's document, "layers"/"layers" …; an empty list if it did not tell. */
const json_t *doctor_list(const json_t *process, const char *document, const char *list);
/* Each item of that list, of all processes in turn; `p` is whose it is. `continue` goes on with the next item, `break` with the next
 * process. */
#define doctor_foreach(sight, document, list, i, p, k, item) \
  json_array_foreach(json_object_get(sight, "processes"), i, p) json_array_foreach(doctor_list(p, document, list), k, item)
/* "brick host:/path", "mount /mnt", "self-heal daemon of v", and " (pid 3)". Caller frees. */
char *doctor_name(const json_t *process);
/* The process of a client, by what it calls itself towards bricks; NULL: not on this node. */
const json_t *doctor_client(const json_t *sight, const char *uid);
/* What an operation waits for: its own "waits", else that of the step of its tree that is not over; NULL: nothing is known. */
const json_t *doctor_waits(const json_t *op);
/* Who is waited for, for people: a brick, the client that holds a lock; "" if nobody. Caller frees. */
char *doctor_waits_who(const json_t *sight, const json_t *waits);
/* The process of that client; NULL: it is none, or not one of this node. */
const json_t *doctor_waits_client(const json_t *sight, const json_t *waits);
/* Operations that go on when somebody else lets them: locks. How long they take says nothing. */
bool doctor_may_wait(const json_t *op);
/* A client for people: its mount if that is known, else its address. Caller frees. */
char *doctor_client_name(const json_t *sight, const char *uid, const char *address);
/* Of a client as a brick tells of it: for so many seconds it has not taken all that it was sent; 0: not long enough to mean anything. */
double doctor_behind(const json_t *client);
/* "3.2 s", "4 min". */
const char *doctor_span(double seconds, char buf[32]);
/* The value of an option of a volume as it was set; NULL: it was not. */
const char *doctor_option(const json_t *volume, const char *key);
bool doctor_is_role(const json_t *process, const char *role);
const char *doctor_volume_of(const json_t *process);
/* The brick that a layer of a client stands for, "HOST:/PATH" by its options in the graph, else the layer's name. Caller frees. */
char *doctor_brick_of(const json_t *process, const char *layer);
/* Does a lock that is held keep another one waiting? (doctor-waits.c) */
bool doctor_in_the_way(const json_t *held, const json_t *wanted);

/* ---- the rules ---- */

typedef void doctor_rule_fn(const struct doctor_rule *rule, const json_t *sight, json_t *findings);
doctor_rule_fn doctor_daemon, doctor_silent, doctor_brick_offline, doctor_shd_offline, doctor_client_lost_brick,
    doctor_versions, doctor_clocks, doctor_log_errors; /* doctor-processes.c */
doctor_rule_fn doctor_slow_disk, doctor_slow_brick, doctor_lock_holder, doctor_slow_client, doctor_hanging; /* doctor-waits.c */
doctor_rule_fn doctor_space, doctor_inodes, doctor_heal_pending, doctor_split_brain, doctor_op_version, doctor_traps,
    doctor_writeback, doctor_partial; /* doctor-volumes.c */

#endif
