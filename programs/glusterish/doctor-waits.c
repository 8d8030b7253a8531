/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about who keeps others waiting: holders of locks, disks, bricks and
 * clients that are slow.
 */
#include "programs/glusterish/doctor.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <string.h>

#define DISK_S 1.0
#define INTERNAL_LOCK_S 3.0 /* they are held for moments */
#define POSIX_LOCK_S 30.0   /* applications may mean to wait */
#define CLIENT_S 2.0
#define HANGING_S 5.0
#define SLOW_MS 20.0   /* less is nobody's trouble */
#define SLOW_TIMES 5.0 /* as late as others */
#define ALONE_MS 500.0 /* there is nobody to compare with */
#define ENOUGH 5       /* operations that tell how a brick does */

static double
seconds(const json_t *doc, const char *member)
{
  return json_number_value(json_object_get(doc, member)) / 1e9;
}

/* The path of an object if an operation under way tells it, else its gfid. */
static const char *
object_name(const json_t *sight, const char *gfid)
{
  size_t i, k;
  json_t *p, *op;
  doctor_foreach(sight, "inflight", "operations", i, p, k, op)
  {
    if (*cli_str(op, "path") && strcmp(cli_str(op, "gfid"), gfid) == 0)
      return cli_str(op, "path");
  }
  return gfid;
}

/* ---- disks ---- */

void
doctor_slow_disk(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *op;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    double longest = 0;
    unsigned n = 0;
    char span[32];
    json_array_foreach(doctor_list(p, "inflight", "operations"), k, op)
    {
      const json_t *waits = doctor_waits(op);
      double s = seconds(waits, "since_ns");
      if (!doctor_is_role(p, "brick") || strcmp(cli_str(waits, "for"), "disk") != 0)
        continue;
      n++;
      longest = s > longest ? s : longest;
    }
    if (longest < DISK_S)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    doctor_find(findings, rule, (struct doctor_culprit){"disk", doctor_volume_of(p), name, cli_int(p, "pid")}, NULL,
                "%u operations wait for the disk of %s, one of them for %s", n, name, doctor_span(longest, span));
  }
}

/* ---- bricks ---- */

/* How late a brick is with operations of a kind, ns; 0: it had too few. *layer: the one where most of it goes. */
static double
lateness(const json_t *process, const char *kind, const json_t **layer)
{
  size_t i, k;
  json_t *l, *row;
  double late = 0, worst = 0;
  json_array_foreach(doctor_list(process, "layers", "layers"), i, l)
  {
    json_array_foreach(json_object_get(l, "kinds"), k, row)
    {
      if (strcmp(cli_str(row, "kind"), kind) != 0 || cli_int(row, "count") < ENOUGH)
        continue;
      double all = json_number_value(json_object_get(json_object_get(row, "all"), "p95"));
      double own = json_number_value(json_object_get(json_object_get(row, "own"), "p95"));
      late = all > late ? all : late;
      if (own > worst) {
        worst = own;
        *layer = l;
      }
    }
  }
  return late;
}

/* The quickest other brick of the volume, ns; 0: there is none to compare with. */
static double
quickest_other(const json_t *sight, const json_t *than, const char *kind)
{
  size_t i;
  json_t *p;
  double best = 0;
  const json_t *layer;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (p == than || !doctor_is_role(p, "brick") || strcmp(cli_str(p, "volume"), cli_str(than, "volume")) != 0)
      continue;
    double ns = lateness(p, kind, &layer);
    if (ns > 0 && (best == 0 || ns < best))
      best = ns;
  }
  return best;
}

/* The kind of operation that a brick is latest with, compared to others; NULL: it does as well as they do. */
static const char *
latest_kind(const json_t *sight, const json_t *p, double *mine, double *others, const json_t **layer)
{
  size_t i, k;
  json_t *l, *row;
  const char *found = NULL;
  *mine = 0;
  json_array_foreach(doctor_list(p, "layers", "layers"), i, l)
  {
    json_array_foreach(json_object_get(l, "kinds"), k, row)
    {
      const char *kind = cli_str(row, "kind");
      const json_t *where = NULL;
      double ns = doctor_may_wait(row) ? 0 : lateness(p, kind, &where);
      double best = ns > *mine ? quickest_other(sight, p, kind) : 0;
      if (ns <= *mine || ns < (best > 0 ? SLOW_MS : ALONE_MS) * 1e6 || ns < SLOW_TIMES * best)
        continue;
      found = kind;
      *mine = ns;
      *others = best;
      *layer = where;
    }
  }
  return found;
}

/* What the layer that takes the time says about the cause. */
static const char *
cause_of(const json_t *layer)
{
  const char *type = cli_str(layer, "type");
  if (strcmp(type, "storage/posix") == 0)
    return "most of it is its disk's";
  if (strcmp(type, "debug/delay-gen") == 0)
    return "debug.delay-gen delays it on purpose";
  if (strcmp(type, "performance/io-threads") == 0)
    return "operations wait for a thread there";
  return *type ? type : "it is not known where";
}

void
doctor_slow_brick(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    double mine, others = 0;
    const json_t *layer = NULL;
    char a[32], b[32];
    const char *kind = doctor_is_role(p, "brick") ? latest_kind(sight, p, &mine, &others, &layer) : NULL;
    if (!kind)
      continue;
    GI_CLEANUP_FREE char *name = doctor_name(p);
    GI_CLEANUP_FREE char *than = others > 0 ? gi_asprintf(", others %s", doctor_span(others / 1e9, b)) : gi_strdup("");
    bool delay = strcmp(cli_str(layer, "type"), "debug/delay-gen") == 0;
    doctor_find(findings, rule, (struct doctor_culprit){"brick", doctor_volume_of(p), name, cli_int(p, "pid")},
                delay ? "glusterish volume reset VOLUME debug.delay-gen" : NULL,
                "of twenty %s operations %s takes %s or more for one%s: %s", kind, name, doctor_span(mine / 1e9, a), than,
                cause_of(layer));
  }
}

/* ---- locks ---- */

static bool
ranges_meet(const json_t *a, const json_t *b)
{
  unsigned long long sa = (unsigned long long)cli_int(a, "start"), la = (unsigned long long)cli_int(a, "len");
  unsigned long long sb = (unsigned long long)cli_int(b, "start"), lb = (unsigned long long)cli_int(b, "len");
  return (!la || sb < sa + la) && (!lb || sa < sb + lb);
}

static bool
same(const json_t *a, const json_t *b, const char *member)
{
  return strcmp(cli_str(a, member), cli_str(b, member)) == 0;
}

bool
doctor_in_the_way(const json_t *held, const json_t *wanted)
{
  const char *kind = cli_str(wanted, "kind");
  bool posix = strcmp(kind, "mandatory") == 0 || strcmp(kind, "posix") == 0;
  if (!cli_true(held, "granted") || !same(held, wanted, "gfid") ||
      (same(held, wanted, "client") && same(held, wanted, "owner")))
    return false;
  if (strcmp(cli_str(held, "kind"), posix ? "posix" : kind) != 0 || (!posix && !same(held, wanted, "domain")))
    return false;
  if (strcmp(cli_str(held, "type"), "write") != 0 && strcmp(cli_str(wanted, "type"), "write") != 0)
    return false;
  if (strcmp(kind, "entry") == 0)
    return !*cli_str(held, "name") || !*cli_str(wanted, "name") || same(held, wanted, "name");
  return ranges_meet(held, wanted);
}

/* The same lock is held on every brick of a replica set: it is told once. */
static bool
told_already(const json_t *findings, const char *rule, const char *name, const char *object)
{
  size_t i;
  json_t *f;
  json_array_foreach(findings, i, f)
  {
    if (strcmp(cli_str(f, "id"), rule) == 0 && strcmp(cli_str(json_object_get(f, "culprit"), "name"), name) == 0 &&
        strstr(cli_str(f, "text"), object))
      return true;
  }
  return false;
}

static double
waited(const json_t *sight, const json_t *lock)
{
  return json_number_value(json_object_get(sight, "now")) - json_number_value(json_object_get(lock, "since"));
}

/* Those who wait for one lock: how many, and the one that does longest. */
static unsigned
waiters(const json_t *sight, const json_t *locks, const json_t *held, const json_t **longest)
{
  size_t i;
  json_t *l;
  unsigned n = 0;
  json_array_foreach(locks, i, l)
  {
    bool posix = strcmp(cli_str(l, "kind"), "inode") != 0 && strcmp(cli_str(l, "kind"), "entry") != 0;
    if (cli_true(l, "granted") || waited(sight, l) < (posix ? POSIX_LOCK_S : INTERNAL_LOCK_S) || !doctor_in_the_way(held, l))
      continue;
    if (n++ == 0 || waited(sight, l) > waited(sight, *longest))
      *longest = l;
  }
  return n;
}

static void
blame_holder(const struct doctor_rule *rule, const json_t *sight, const json_t *p, const json_t *held, const json_t *waiting,
             unsigned n, json_t *findings)
{
  char a[32], b[32];
  const json_t *client = doctor_client(sight, cli_str(held, "client"));
  bool silent = client && json_is_false(json_object_get(client, "answers"));
  const char *object = object_name(sight, cli_str(held, "gfid"));
  GI_CLEANUP_FREE char *holder = doctor_client_name(sight, cli_str(held, "client"), cli_str(held, "address"));
  GI_CLEANUP_FREE char *waiter = doctor_client_name(sight, cli_str(waiting, "client"), cli_str(waiting, "address"));
  if (told_already(findings, rule->id, holder, object))
    return;
  doctor_find(findings, rule,
              (struct doctor_culprit){"client", doctor_volume_of(p), holder, client ? cli_int(client, "pid") : 0}, NULL,
              "%s has held %s %s lock of %s for %s, for its process %lld%s; %u wait, longest %s, for %s", holder,
              *cli_str(held, "kind") == 'p' ? "a" : "an", cli_str(held, "kind"), object, doctor_span(waited(sight, held), a),
              cli_int(held, "pid"), silent ? ", and does not answer" : "", n, waiter, doctor_span(waited(sight, waiting), b));
}

void
doctor_lock_holder(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *held;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    const json_t *locks = doctor_list(p, "locks", "locks");
    json_array_foreach(locks, k, held)
    {
      const json_t *longest = NULL;
      unsigned n = cli_true(held, "granted") ? waiters(sight, locks, held, &longest) : 0;
      if (n)
        blame_holder(rule, sight, p, held, longest, n, findings);
    }
  }
}

/* ---- clients ---- */

/* What a brick has for it waits to be taken. */
static void
slow_receivers(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *c;
  doctor_foreach(sight, "clients", "clients", i, p, k, c)
  {
    const json_t *client = doctor_client(sight, cli_str(c, "uid"));
    double s = doctor_behind(c);
    char span[32];
    GI_CLEANUP_FREE char *name = doctor_client_name(sight, cli_str(c, "uid"), cli_str(c, "address"));
    GI_CLEANUP_FREE char *brick = doctor_name(p);
    if (s == 0 || told_already(findings, rule->id, name, ""))
      continue;
    doctor_find(
        findings, rule, (struct doctor_culprit){"client", doctor_volume_of(p), name, client ? cli_int(client, "pid") : 0}, NULL,
        "%s has not taken all that %s sent it for %s, %lld bytes now", name, brick, doctor_span(s, span), cli_int(c, "queued"));
  }
}

void
doctor_slow_client(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *op;
  doctor_foreach(sight, "inflight", "operations", i, p, k, op)
  {
    const json_t *waits = doctor_waits(op);
    const char *what = cli_str(waits, "for"), *uid = cli_str(op, "client");
    double s = seconds(waits, "since_ns");
    char span[32];
    bool other = strcmp(what, "client") == 0;       /* than who asks for it */
    if (strcmp(cli_str(op, "kind"), "ANSWER") == 0) /* slow_receivers */
      continue;
    if ((!other && strcmp(what, "window") != 0 && strcmp(what, "kernel") != 0) || s < CLIENT_S)
      continue;
    GI_CLEANUP_FREE char *name = other  ? doctor_waits_who(sight, waits)
                                 : *uid ? doctor_client_name(sight, uid, "")
                                        : doctor_name(p);
    const json_t *client = other ? doctor_waits_client(sight, waits) : *uid ? doctor_client(sight, uid) : p;
    if (told_already(findings, rule->id, name, ""))
      continue;
    doctor_find(findings, rule,
                (struct doctor_culprit){"client", doctor_volume_of(p), name, client ? cli_int(client, "pid") : 0}, NULL,
                "%s keeps a %s waiting for %s: %s", name, cli_str(op, "kind"), doctor_span(s, span), cli_str(waits, "what"));
  }
  slow_receivers(rule, sight, findings);
}

/* ---- the rest ---- */

/* Other rules know more of what waits for these. */
static bool
explained(const char *what)
{
  return strcmp(what, "disk") == 0 || strcmp(what, "window") == 0 || strcmp(what, "kernel") == 0 || strcmp(what, "client") == 0;
}

static void
blame_wait(const struct doctor_rule *rule, const json_t *sight, const json_t *p, const json_t *op, json_t *findings)
{
  const json_t *waits = doctor_waits(op);
  const char *what = cli_str(waits, "for");
  const char *object = *cli_str(op, "path") ? cli_str(op, "path") : object_name(sight, cli_str(op, "gfid"));
  bool brick = strcmp(what, "brick") == 0, lock = strcmp(what, "lock") == 0;
  char span[32];
  GI_CLEANUP_FREE char *name = doctor_name(p);
  GI_CLEANUP_FREE char *who = doctor_waits_who(sight, waits);
  const char *blamed = *who ? who : name;
  if (told_already(findings, rule->id, blamed, object))
    return;
  struct doctor_culprit culprit = {*who && brick  ? "brick"
                                   : *who && lock ? "client"
                                                  : "process",
                                   doctor_volume_of(p), blamed, *who ? 0 : cli_int(p, "pid")};
  doctor_find(findings, rule, culprit, NULL, "%s of %s has been under way in %s for %s, now at %s%s%s%s%s", cli_str(op, "kind"),
              object, name, doctor_span(seconds(op, "age_ns"), span), *cli_str(op, "at") ? cli_str(op, "at") : "?",
              *what ? ", waiting for " : "", brick ? "" : cli_str(waits, "what"), *who && !brick ? " of " : "", who);
}

void
doctor_hanging(const struct doctor_rule *rule, const json_t *sight, json_t *findings)
{
  size_t i, k;
  json_t *p, *op;
  doctor_foreach(sight, "inflight", "operations", i, p, k, op)
  {
    if (seconds(op, "age_ns") >= HANGING_S && !explained(cli_str(doctor_waits(op), "for")) && !doctor_may_wait(op))
      blame_wait(rule, sight, p, op, findings);
  }
}
