/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents that the page asks for, made of what was gathered. What comes
 * from other processes is passed on as it is, where it has the form that the
 * page expects; how much of it is bounded.
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishd/page/page.h"

#include <string.h>
#include <unistd.h>

#define OPERATIONS_MAX 50u /* in flight; as many slow ones */
#define ERRORS_MAX 100u
#define CLIENTS_MAX 500u

static void
set(json_t *o, const char *member, json_t *value)
{
  json_object_set_new(o, member, value ? value : json_null());
}

static const char *
text_of(const json_t *o, const char *member)
{
  return json_string_value(json_object_get(o, member));
}

/* A member as it is told, null if it is not. */
static json_t *
copy_of(const json_t *o, const char *member)
{
  return json_incref(json_object_get(o, member));
}

/* ---- volumes ---- */

/* What brick `b` says of copies that others do not have: names in its index. False: not told. */
static bool
pending_of(const struct gd_heal *heal, const struct gd_brick *b, uint64_t *n)
{
  unsigned size = gd_volume_set_size(b->volume);
  char key[64];
  snprintf(key, sizeof(key), "%u-%u-hardlinks", b->index / size, b->index % size);
  return heal && heal->answered && gi_dict_get_uint(heal->facts, key, n);
}

static json_t *
disk_json(const struct gd_disk *d)
{
  return !d ? NULL
            : json_pack("{s:I,s:I,s:I,s:I}", "total", (json_int_t)d->total, "free", (json_int_t)d->free, "inodes",
                        (json_int_t)d->inodes, "inodes_free", (json_int_t)d->inodes_free);
}

static json_t *
brick_json(const struct gd_gather *g, const struct gd_brick *b, const struct gd_heal *heal)
{
  static const char *const states[] = {
      [GD_PROC_DOWN] = "down", [GD_PROC_STARTING] = "starting", [GD_PROC_UP] = "up", [GD_PROC_STOPPING] = "stopping"};
  GI_CLEANUP_FREE char *name = gi_asprintf("%s:%s", b->host, b->path);
  bool local = gi_gfid_equal(&b->node, &g->gd->uuid), online = gd_brick_online(b);
  const char *state = b->state == GD_PROC_UP && !online ? "starting" : states[b->state];
  uint64_t n = 0;
  json_t *o = json_pack("{s:s,s:b,s:b,s:s}", "name", name, "local", local, "arbiter", gd_brick_is_arbiter(b), "state", state);
  set(o, "port", online ? json_integer(b->port) : NULL);
  set(o, "pid", b->pid ? json_integer(b->pid) : NULL);
  set(o, "disk", disk_json(gd_gather_disk(g, b->path)));
  set(o, "pending", pending_of(heal, b, &n) ? json_integer((json_int_t)n) : NULL);
  return o;
}

/* A metric of the self-heal daemon over all replica sets: the sum, or the greatest. */
static uint64_t
over_sets(const struct gd_volume *v, const struct gd_heal *heal, const char *name, bool sum)
{
  uint64_t total = 0, n = 0;
  for (unsigned s = 0; s < gd_volume_sets(v); s++) {
    GI_CLEANUP_FREE char *key = gi_asprintf("glusterish.%u-%s", s, name);
    if (gi_dict_get_uint(heal->facts, key, &n))
      total = sum ? total + n : n > total ? n : total;
  }
  return total;
}

/* Every copy that stayed names the same objects: of a set the longest index counts. */
static uint64_t
pending_in(const struct gd_volume *v, const struct gd_heal *heal)
{
  unsigned size = gd_volume_set_size(v);
  uint64_t total = 0, most = 0, n = 0;
  for (unsigned i = 0; i < v->nbricks; i++) {
    if (i % size == 0)
      most = 0;
    if (pending_of(heal, &v->bricks[i], &n) && n > most) {
      total += n - most;
      most = n;
    }
  }
  return total;
}

static json_t *
heal_json(const struct gd_volume *v, const struct gd_heal *heal)
{
  static const struct {
    const char *member, *metric;
    bool sum;
  } rows[] = {{"crawling", "crawling", false},
              {"remaining", "remaining", true},
              {"eta_s", "eta_s", false},
              {"files_per_s", "files_per_s", true},
              {"bytes_per_s", "bytes_per_s", true},
              {"split_brain", "split_brain", true},
              {"failed", "failed", true},
              {"healed", "healed", true}};
  if (!gd_shd_compatible(v))
    return NULL;
  bool answered = heal && heal->answered;
  json_t *o = json_pack("{s:b,s:b,s:b,s:I}", "enabled", gd_shd_enabled(v), "running", gd_shd_pid(v) != 0, "answered", answered,
                        "pending", (json_int_t)(answered ? pending_in(v, heal) : 0));
  set(o, "pid", gd_shd_pid(v) ? json_integer(gd_shd_pid(v)) : NULL);
  for (size_t i = 0; i < GI_ARRAY_LEN(rows); i++)
    set(o, rows[i].member, json_integer(answered ? (json_int_t)over_sets(v, heal, rows[i].metric, rows[i].sum) : 0));
  return o;
}

static json_t *
volume_json(const struct gd_gather *g, const struct gd_volume *v)
{
  const struct gd_heal *heal = gd_gather_heal(g, v->name);
  json_t *bricks = json_array();
  for (unsigned i = 0; i < v->nbricks; i++)
    json_array_append_new(bricks, brick_json(g, &v->bricks[i], heal));
  json_t *o = json_pack("{s:s,s:s,s:s,s:i,s:i,s:o}", "name", v->name, "type", gd_volume_type_text(v), "status",
                        gd_volume_status_text(v), "replica", v->replica, "arbiter", v->arbiter, "bricks", bricks);
  set(o, "heal", v->status == GD_STARTED ? heal_json(v, heal) : NULL);
  return o;
}

json_t *
gd_page_volumes(const struct gd_gather *g)
{
  char host[256] = "", node[GI_UUID_TEXT];
  json_t *list = json_array();
  gethostname(host, sizeof(host) - 1);
  gi_list_foreach(v, &g->gd->volumes, struct gd_volume, link)
    json_array_append_new(list, volume_json(g, v));
  return json_pack("{s:{s:o,s:s,s:s},s:I,s:o}", "node", "host", ob_text(host), "version", GI_VERSION, "uuid",
                   gi_gfid_text(&g->gd->uuid, node), "time", (json_int_t)gi_wall(g->gd->reactor).sec, "volumes", list);
}

/* ---- processes ---- */

static json_t *
process_json(const struct gd_gather *g, const struct gd_seen *s)
{
  static const char *const told[] = {"name", "version", "uptime_s", "mountpoint", "brick"};
  uint64_t silent = s->answers ? 0 : (gi_now(g->gd->reactor) - s->silent_since) / GI_NSEC_PER_SEC;
  json_t *o = json_pack("{s:s,s:s,s:s,s:I,s:b,s:I}", "socket", s->socket, "role", s->role, "volume", s->volume, "pid",
                        (json_int_t)s->pid, "answers", s->answers, "silent_s", (json_int_t)silent);
  for (size_t i = 0; i < GI_ARRAY_LEN(told); i++)
    set(o, told[i], copy_of(s->about, told[i]));
  return o;
}

/* A client is connected to several bricks, to each as another one ("…-PC_NAME:…"): it is one line, with what it has
 * done on all of them. */
static void
add_client(json_t *list, json_t *by_uid, const struct gd_seen *s, const json_t *c)
{
  static const char *const sums[] = {"bytes_in", "bytes_out", "inflight"};
  const char *whole = text_of(c, "uid"), *end = whole ? strstr(whole, "-PC_NAME:") : NULL;
  GI_CLEANUP_FREE char *uid = end ? gi_strndup(whole, (size_t)(end - whole)) : gi_strdup(whole);
  GI_CLEANUP_FREE char *key = gi_asprintf("%s %s", s->volume, uid ? uid : "");
  json_t *o = json_object_get(by_uid, key);
  if (!uid || (!o && json_array_size(list) >= CLIENTS_MAX))
    return;
  if (!o) {
    o = json_pack("{s:s,s:s,s:i}", "uid", uid, "volume", s->volume, "bricks", 0);
    set(o, "address", copy_of(c, "address"));
    set(o, "version", copy_of(c, "version"));
    json_array_append_new(list, o);
    json_object_set(by_uid, key, o);
  }
  set(o, "bricks", json_integer(json_integer_value(json_object_get(o, "bricks")) + 1));
  for (size_t i = 0; i < GI_ARRAY_LEN(sums); i++)
    set(o, sums[i],
        json_integer(json_integer_value(json_object_get(o, sums[i])) + json_integer_value(json_object_get(c, sums[i]))));
}

json_t *
gd_page_processes(const struct gd_gather *g)
{
  json_t *processes = json_array(), *clients = json_array(), *by_uid = json_object();
  gi_list_foreach(s, &g->seen, struct gd_seen, link) {
    const json_t *told = json_object_get(s->answer[GD_ANSWER_CLIENTS], "clients");
    json_array_append_new(processes, process_json(g, s));
    for (size_t i = 0; s->answers && i < json_array_size(told); i++)
      add_client(clients, by_uid, s, json_array_get(told, i));
  }
  json_decref(by_uid);
  return json_pack("{s:o,s:o}", "processes", processes, "clients", clients);
}

/* ---- operations ---- */

struct found {
  const json_t *op;
  uint64_t ns; /* how long it has taken */
  bool client; /* told by who began it, not by a brick */
};

static int
by_length(const void *a, const void *b)
{
  const struct found *x = a, *y = b;
  return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static int
by_id(const void *a, const void *b)
{
  const struct found *x = a, *y = b;
  int order = strcmp(text_of(x->op, "id"), text_of(y->op, "id"));
  return order ? order : (int)y->client - (int)x->client;
}

/* What brick and client tell of one operation is that of the client, which has the other in its tree. */
static size_t
drop_doubles(struct found *list, size_t n)
{
  size_t kept = 0;
  if (n)
    qsort(list, n, sizeof(*list), by_id);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || strcmp(text_of(list[kept - 1].op, "id"), text_of(list[i].op, "id")) != 0)
      list[kept++] = list[i];
  return kept;
}

/* A tree is long and only one is looked at: it is asked for by itself. */
static json_t *
without_tree(const json_t *op)
{
  json_t *o = json_copy((json_t *)op);
  set(o, "has_tree", json_boolean(json_is_object(json_object_get(op, "tree"))));
  json_object_del(o, "tree");
  return o;
}

/* The longest ones of all processes. `member`: how long they have taken. */
static json_t *
longest(const struct gd_gather *g, enum gd_answer answer, const char *member)
{
  size_t n = 0, room = 0;
  struct found *list = NULL;
  gi_list_foreach(s, &g->seen, struct gd_seen, link) {
    const json_t *ops = json_object_get(s->answer[answer], "operations");
    for (size_t i = 0; s->answers && i < json_array_size(ops); i++) {
      const json_t *op = json_array_get(ops, i);
      json_int_t ns = json_integer_value(json_object_get(op, member));
      if (!text_of(op, "id") || !text_of(op, "kind"))
        continue;
      if (n == room)
        list = gi_realloc(list, (room = room ? 2 * room : 64) * sizeof(*list));
      list[n++] = (struct found){op, ns > 0 ? (uint64_t)ns : 0, strcmp(s->role, "client") == 0};
    }
  }
  n = drop_doubles(list, n);
  if (n)
    qsort(list, n, sizeof(*list), by_length);
  json_t *out = json_array();
  for (size_t i = 0; i < n && i < OPERATIONS_MAX; i++)
    json_array_append_new(out, without_tree(list[i].op));
  gi_free(list);
  return out;
}

json_t *
gd_page_operations(const struct gd_gather *g)
{
  return json_pack("{s:o,s:o}", "inflight", longest(g, GD_ANSWER_INFLIGHT, "age_ns"), "slow",
                   longest(g, GD_ANSWER_SLOW, "took_ns"));
}

/* Of what several processes tell of it the client's, and of that the one with a tree. */
json_t *
gd_page_trace(const struct gd_gather *g, const char *id)
{
  static const enum gd_answer where[] = {GD_ANSWER_SLOW, GD_ANSWER_INFLIGHT};
  const json_t *best = NULL;
  int points = -1;
  gi_list_foreach(s, &g->seen, struct gd_seen, link)
    for (size_t w = 0; w < GI_ARRAY_LEN(where); w++) {
      const json_t *ops = json_object_get(s->answer[where[w]], "operations");
      for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i);
        const char *its = text_of(op, "id");
        int p = 2 * (int)json_is_object(json_object_get(op, "tree")) + (strcmp(s->role, "client") == 0);
        if (its && strcmp(its, id) == 0 && p > points) {
          best = op;
          points = p;
        }
      }
    }
  return best ? json_pack("{s:O}", "operation", (json_t *)best) : NULL;
}

/* ---- errors ---- */

/* Times are as in ISO 8601, all in UTC, so that the greater text is the later one. */
static int
newest_first(const void *a, const void *b)
{
  return strcmp(text_of(*(json_t *const *)b, "time"), text_of(*(json_t *const *)a, "time"));
}

json_t *
gd_page_errors(const struct gd_gather *g)
{
  size_t n = 0, room = 0;
  json_t **list = NULL, *out = json_array();
  gi_list_foreach(s, &g->seen, struct gd_seen, link) {
    const json_t *errors = json_object_get(s->answer[GD_ANSWER_ERRORS], "errors");
    const char *brick = text_of(s->about, "brick");
    GI_CLEANUP_FREE char *who = gi_asprintf("%s %s (%ld)", s->role, brick ? brick : s->volume, s->pid);
    for (size_t i = 0; i < json_array_size(errors); i++) {
      json_t *e = json_copy(json_array_get(errors, i));
      if (!json_is_object(e) || !text_of(e, "text") || !text_of(e, "time")) {
        json_decref(e);
        continue;
      }
      set(e, "process", json_string(who));
      if (n == room)
        list = gi_realloc(list, (room = room ? 2 * room : 64) * sizeof(*list));
      list[n++] = e;
    }
  }
  if (n)
    qsort(list, n, sizeof(*list), newest_first);
  for (size_t i = 0; i < n; i++) {
    if (i < ERRORS_MAX)
      json_array_append(out, list[i]);
    json_decref(list[i]);
  }
  gi_free(list);
  return json_pack("{s:o}", "errors", out);
}
