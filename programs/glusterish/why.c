/* SPDX-License-Identifier: Apache-2.0
 *
 * The document of one object: copies and what processes tell are put
 * together, and from that follows what keeps whoever uses it waiting.
 */
#include "programs/glusterish/why.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const slot_name[] = {"data", "metadata", "entry"};

/* ---- who is who ---- */

/* The process of a brick; NULL: none on this node tells that it is. */
static const json_t *
process_of(const json_t *sight, const char *brick)
{
  size_t i;
  json_t *p;
  const char *path = strchr(brick, '/');
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (path && doctor_is_role(p, "brick") && strcmp(cli_str(json_object_get(p, "about"), "brick"), path) == 0)
      return p;
  }
  return NULL;
}

/* A brick by the name that replication gives its child, as a client's graph tells it, else by the number at its end; NULL: neither. */
static const char *
brick_by_child(const json_t *sight, const json_t *copies, const char *child)
{
  size_t i, k;
  json_t *p, *copy;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    GI_CLEANUP_FREE char *brick = doctor_brick_of(p, child);
    json_array_foreach(copies, k, copy)
    {
      if (strcmp(cli_str(copy, "brick"), brick) == 0)
        return cli_str(copy, "brick");
    }
  }
  const char *dash = strrchr(child, '-');
  char *end = NULL;
  unsigned long n = dash ? strtoul(dash + 1, &end, 10) : 0;
  if (!dash || end == dash + 1 || *end || n >= json_array_size(copies))
    return NULL;
  return cli_str(json_array_get(copies, n), "brick");
}

const char *
why_gfid(const json_t *copies)
{
  size_t i, k, best = 0;
  json_t *a, *b;
  const char *gfid = NULL;
  json_array_foreach(copies, i, a)
  {
    size_t n = 0;
    json_array_foreach(copies, k, b) n += strcmp(cli_str(a, "gfid"), cli_str(b, "gfid")) == 0;
    if (*cli_str(a, "gfid") && n > best) {
      best = n;
      gfid = cli_str(a, "gfid");
    }
  }
  return gfid;
}

/* ---- copies ---- */

static void
blame(json_t *copies, const char *who, const char *by, const json_t *slots)
{
  size_t i;
  json_t *copy;
  json_array_foreach(copies, i, copy)
  {
    if (!who || strcmp(cli_str(copy, "brick"), who) != 0)
      continue;
    json_t *b = json_pack("{s:s}", "brick", by);
    for (size_t s = 0; s < GI_ARRAY_LEN(slot_name); s++)
      json_object_set(b, slot_name[s], json_array_get(slots, s));
    json_array_append_new(json_object_get(copy, "blamed_by"), b);
  }
}

static void
put_blames(json_t *copies, const json_t *sight)
{
  size_t i;
  json_t *copy, *slots;
  const char *child;
  json_array_foreach(copies, i, copy) json_object_set_new(copy, "blamed_by", json_array());
  json_array_foreach(copies, i, copy)
  {
    json_object_foreach(json_object_get(copy, "pending"), child, slots)
        blame(copies, brick_by_child(sight, copies, child), cli_str(copy, "brick"), slots);
  }
}

/* What a client of this node thinks of the copy; NULL: none knows the object. */
static const json_t *
opinion(const json_t *sight, const json_t *copies, const char *brick)
{
  size_t i, k;
  json_t *p, *o;
  doctor_foreach(sight, "object", "copies", i, p, k, o)
  {
    const char *its = brick_by_child(sight, copies, cli_str(o, "name"));
    if (its && strcmp(its, brick) == 0 && doctor_is_role(p, "client"))
      return o;
  }
  return NULL;
}

static void
put_process(json_t *copy, const json_t *copies, const json_t *sight)
{
  const char *brick = cli_str(copy, "brick");
  const json_t *p = process_of(sight, brick), *o = opinion(sight, copies, brick);
  GI_CLEANUP_FREE char *name = p ? doctor_name(p) : NULL;
  json_object_set_new(copy, "process", name ? json_string(name) : json_null());
  json_object_set_new(copy, "pid", p ? json_integer(cli_int(p, "pid")) : json_null());
  json_object_set_new(copy, "state", json_string(cli_str(p, "state")));
  json_object_set_new(copy, "answers", p ? json_boolean(!json_is_false(json_object_get(p, "answers"))) : json_null());
  json_object_set_new(copy, "up", o ? json_boolean(cli_true(o, "up")) : json_null());
  json_object_set_new(copy, "serves_reads", o && cli_true(o, "known") ? json_boolean(cli_true(o, "chosen")) : json_null());
}

/* ---- does it need healing? ---- */

static bool
is_good(const json_t *copy, const char *gfid)
{
  return cli_true(copy, "there") && json_array_size(json_object_get(copy, "blamed_by")) == 0 &&
         (!gfid || strcmp(cli_str(copy, "gfid"), gfid) == 0);
}

static bool
is_blamed(const json_t *copy, const char *slot)
{
  size_t i;
  json_t *b;
  json_array_foreach(json_object_get(copy, "blamed_by"), i, b)
  {
    if (cli_int(b, slot) > 0)
      return true;
  }
  return false;
}

/* No copy is left that could be right about the slot. An arbiter knows nothing of data. */
static bool
is_split(const json_t *copies, const char *slot)
{
  size_t i, there = 0, blamed = 0;
  json_t *copy;
  json_array_foreach(copies, i, copy)
  {
    if (!cli_true(copy, "there") || (cli_true(copy, "arbiter") && strcmp(slot, "data") == 0))
      continue;
    there++;
    blamed += is_blamed(copy, slot);
  }
  return there > 0 && blamed == there;
}

static json_t *
heal_is(const char *state, const char *text)
{
  return json_pack("{s:s, s:s}", "state", state, "text", text);
}

json_t *
why_heal(json_t *copies, const json_t *sight)
{
  size_t i, good = 0, there = 0, looked = 0, other = 0;
  json_t *copy;
  const char *gfid = why_gfid(copies);
  put_blames(copies, sight);
  json_array_foreach(copies, i, copy)
  {
    bool fine = is_good(copy, gfid);
    bool here = strstr(cli_str(copy, "error"), "no such brick") == NULL;
    json_object_set_new(copy, "good", here ? json_boolean(fine) : json_null());
    looked += here;
    good += fine;
    there += cli_true(copy, "there");
    other += cli_true(copy, "there") && gfid && *cli_str(copy, "gfid") && strcmp(cli_str(copy, "gfid"), gfid) != 0;
  }
  if (there == 0)
    return heal_is("none", looked ? "no brick has it" : "no brick of the volume is on this machine");
  if (other)
    return heal_is("split-brain", "the bricks have different objects under this name");
  for (i = 0; i < GI_ARRAY_LEN(slot_name); i++)
    if (is_split(copies, slot_name[i]))
      return heal_is("split-brain", "every copy is blamed by another one");
  if (good < looked)
    return heal_is("needed", there < looked ? "a copy is missing" : "a copy has missed changes");
  return heal_is("none", "all copies that can be seen are good");
}

/* ---- locks, users, operations, errors ---- */

static json_t *
locks_of(const json_t *sight, const char *gfid)
{
  size_t i, k;
  json_t *p, *l, *all = json_array();
  doctor_foreach(sight, "locks", "locks", i, p, k, l)
  {
    if (!gfid || strcmp(cli_str(l, "gfid"), gfid) != 0)
      continue;
    json_t *lock = json_copy(l);
    GI_CLEANUP_FREE char *holder = doctor_client_name(sight, cli_str(l, "client"), cli_str(l, "address"));
    json_object_set_new(lock, "brick", json_string(cli_str(json_object_get(p, "about"), "brick")));
    json_object_set_new(lock, "holder", json_string(holder));
    json_array_append_new(all, lock);
  }
  return all;
}

/* The part of an identity that all connections of a process share. */
static size_t
process_part(const char *uid)
{
  const char *end = strstr(uid, "-PC_NAME:");
  return end ? (size_t)(end - uid) : strlen(uid);
}

static json_t *
user_get(json_t *users, const json_t *sight, const json_t *u)
{
  size_t i;
  json_t *known;
  const char *uid = cli_str(u, "client");
  json_array_foreach(users, i, known)
  {
    const char *its = cli_str(known, "client");
    if (process_part(its) == process_part(uid) && strncmp(its, uid, process_part(uid)) == 0)
      return known;
  }
  GI_CLEANUP_FREE char *name = doctor_client_name(sight, uid, cli_str(u, "address"));
  known = json_pack("{s:s, s:s, s:s, s:i, s:i, s:n, s:i}", "client", uid, "name", name, "address", cli_str(u, "address"),
                    "handles", 0, "writing", 0, "told_s", "bricks", 0);
  json_array_append_new(users, known);
  return known;
}

/* The same use is seen by every brick: the most of what they tell. */
static void
raise_to(json_t *user, const json_t *u, const char *member)
{
  const json_t *now = json_object_get(user, member), *new = json_object_get(u, member);
  if (json_is_number(new) && (!json_is_number(now) || json_number_value(new) > json_number_value(now)))
    json_object_set_new(user, member, json_deep_copy(new));
}

static json_t *
users_of(const json_t *sight)
{
  size_t i, k;
  json_t *p, *u, *users = json_array();
  doctor_foreach(sight, "object", "users", i, p, k, u)
  {
    json_t *user = user_get(users, sight, u);
    raise_to(user, u, "handles");
    raise_to(user, u, "writing");
    raise_to(user, u, "told_s");
    json_object_set_new(user, "bricks", json_integer(cli_int(user, "bricks") + 1));
  }
  return users;
}

static json_t *
inflight_of(const json_t *sight, const char *gfid, const char *path)
{
  size_t i, k;
  json_t *p, *op, *all = json_array();
  doctor_foreach(sight, "inflight", "operations", i, p, k, op)
  {
    bool by_gfid = gfid && strcmp(cli_str(op, "gfid"), gfid) == 0;
    if (!by_gfid && strcmp(cli_str(op, "path"), path) != 0)
      continue;
    json_t *copy = json_copy(op);
    GI_CLEANUP_FREE char *name = doctor_name(p);
    GI_CLEANUP_FREE char *who = doctor_waits_who(sight, doctor_waits(op));
    json_object_set_new(copy, "process_name", json_string(name));
    json_object_set_new(copy, "waits_for", *who ? json_string(who) : json_null());
    json_array_append_new(all, copy);
  }
  return all;
}

static json_t *
errors_of(const json_t *sight, const char *gfid, const char *path)
{
  size_t i, k;
  json_t *p, *e, *all = json_array();
  doctor_foreach(sight, "errors", "errors", i, p, k, e)
  {
    const char *text = cli_str(e, "text");
    if (!(gfid && strstr(text, gfid)) && !(strlen(path) > 1 && strstr(text, path)))
      continue;
    json_t *copy = json_copy(e);
    GI_CLEANUP_FREE char *name = doctor_name(p);
    json_object_set_new(copy, "process_name", json_string(name));
    json_array_append_new(all, copy);
  }
  return all;
}

/* ---- because ---- */

static void
because(json_t *list, const char *kind, const char *name, long long pid, const char *fmt, ...)
{
  va_list ap;
  char *said = NULL;
  size_t i;
  json_t *b;
  va_start(ap, fmt);
  if (vasprintf(&said, fmt, ap) < 0)
    said = NULL;
  va_end(ap);
  json_array_foreach(list, i, b)
  {
    if (said && strcmp(cli_str(b, "text"), said) == 0) {
      free(said);
      return;
    }
  }
  json_t *culprit = json_pack("{s:s, s:s, s:o}", "kind", kind, "name", name, "pid", pid ? json_integer(pid) : json_null());
  json_array_append_new(list, json_pack("{s:s, s:o}", "text", said ? said : "", "culprit", culprit));
  free(said);
}

static void
silent_copies(json_t *list, const json_t *copies)
{
  size_t i;
  json_t *c;
  json_array_foreach(copies, i, c)
  {
    const char *brick = cli_str(c, "brick");
    if (json_is_false(json_object_get(c, "answers")))
      because(list, "brick", brick, cli_int(c, "pid"), "%s does not answer%s", cli_str(c, "process"),
              strcmp(cli_str(c, "state"), "T") == 0 ? ": it was stopped by a signal" : "");
    else if (json_is_false(json_object_get(c, "up")))
      because(list, "brick", brick, cli_int(c, "pid"), "the mount has no connection to brick %s", brick);
  }
}

/* The same lock is held and waited for on several bricks: the texts are equal, but for the times, and those are left out. */
static void
lock_waits(json_t *list, const json_t *sight, const json_t *locks)
{
  size_t i, k;
  json_t *held, *wanted;
  json_array_foreach(locks, i, wanted)
  {
    json_array_foreach(locks, k, held)
    {
      if (cli_true(wanted, "granted") || strcmp(cli_str(held, "brick"), cli_str(wanted, "brick")) != 0 ||
          !doctor_in_the_way(held, wanted))
        continue;
      const json_t *client = doctor_client(sight, cli_str(held, "client"));
      bool silent = client && json_is_false(json_object_get(client, "answers"));
      because(list, "client", cli_str(held, "holder"), client ? cli_int(client, "pid") : 0,
              "%s waits for its %s lock, which %s holds (for its process %lld)%s", cli_str(wanted, "holder"),
              cli_str(wanted, "kind"), cli_str(held, "holder"), cli_int(held, "pid"), silent ? " and does not answer" : "");
    }
  }
}

/* Who has it open and does not take what bricks send is slow himself, and slows down who waits for him. */
static void
slow_users(json_t *list, const json_t *sight, const json_t *users)
{
  size_t i, k, n;
  json_t *p, *c, *u;
  doctor_foreach(sight, "clients", "clients", i, p, k, c)
  {
    const char *uid = cli_str(c, "uid");
    const json_t *client = doctor_client(sight, uid);
    double s = doctor_behind(c);
    json_array_foreach(users, n, u)
    {
      size_t same = process_part(uid);
      char span[32];
      if (s == 0 || process_part(cli_str(u, "client")) != same || strncmp(cli_str(u, "client"), uid, same) != 0)
        continue;
      GI_CLEANUP_FREE char *brick = doctor_name(p);
      because(list, "client", cli_str(u, "name"), client ? cli_int(client, "pid") : 0,
              "%s has not taken all that %s sent it for %s", cli_str(u, "name"), brick, doctor_span(s, span));
    }
  }
}

/* Of locks the bricks know more. */
static void
operation_waits(json_t *list, const json_t *sight, const json_t *inflight)
{
  size_t i;
  json_t *op;
  json_array_foreach(inflight, i, op)
  {
    const json_t *waits = doctor_waits(op);
    const char *what = cli_str(waits, "for");
    bool disk = strcmp(what, "disk") == 0, brick = strcmp(what, "brick") == 0;
    char span[32];
    if (!waits || doctor_may_wait(op))
      continue;
    GI_CLEANUP_FREE char *who = doctor_waits_who(sight, waits);
    because(list,
            disk    ? "disk"
            : brick ? "brick"
            : *what ? what
                    : "process",
            *who ? who : cli_str(op, "process_name"), *who ? 0 : cli_int(json_object_get(op, "process"), "pid"),
            "%s in %s has been waiting for %s%s%s, for %s", cli_str(op, "kind"), cli_str(op, "process_name"),
            brick ? "" : cli_str(waits, "what"), *who && !brick ? " of " : "", who,
            doctor_span(json_number_value(json_object_get(waits, "since_ns")) / 1e9, span));
  }
}

json_t *
why_document(const char *volume, const char *path, json_t *copies, const json_t *sight)
{
  size_t i;
  json_t *copy, *reasons = json_array();
  const char *gfid = why_gfid(copies), *type = "";
  json_t *heal = why_heal(copies, sight);
  json_array_foreach(copies, i, copy)
  {
    put_process(copy, copies, sight);
    type = *type ? type : cli_str(copy, "type");
  }
  json_t *locks = locks_of(sight, gfid), *inflight = inflight_of(sight, gfid, path);
  silent_copies(reasons, copies);
  lock_waits(reasons, sight, locks);
  operation_waits(reasons, sight, inflight);
  json_t *users = users_of(sight);
  slow_users(reasons, sight, users);
  json_t *doc = json_pack("{s:s, s:o, s:s, s:O, s:o, s:o, s:o, s:o, s:o, s:o}", "volume", volume, "path", ob_text(path), "type",
                          type, "copies", copies, "heal", heal, "locks", locks, "users", users, "inflight", inflight, "errors",
                          errors_of(sight, gfid, path), "because", reasons);
  json_object_set_new(doc, "gfid", gfid ? json_string(gfid) : json_null());
  return doc;
}
