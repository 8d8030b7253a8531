/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of a node that takes another one's place. Every two seconds it looks
 * for the next step:
 *
 *   a copy of its own that is not healed -> wait
 *   a brick of the old node -> replace-brick, here
 *   nothing of that -> detach the old node, and say that it is done
 *
 * A copy of the old node that is there goes only when the rest of its set holds
 * nothing against each other: it may be the one that the others need.
 */
#include "programs/glusterishd/pool/replace.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/xattr.h>

#define LOOK (2 * GI_NSEC_PER_SEC)
#define MSG (GI_MSG_MGMT + 225)

struct gd_replace {
  struct gd_pool *pool;
  json_t *wanted; /* NULL: nothing */
  struct gi_timer look;
  bool asking;                                        /* a command is under way */
  char *volume;                                       /* whose heal is waited for; NULL: none */
  long long entries, files_per_s, bytes_per_s, eta_s; /* of it */
  char *problem;                                      /* NULL: it goes on */
};

static const char *
str(const struct gd_replace *r, const char *member)
{
  const char *text = json_string_value(json_object_get(r->wanted, member));
  return text ? text : "";
}

static bool
is_ours(const struct gd_replace *r)
{
  char own[GI_UUID_TEXT];
  return r->wanted && strcmp(str(r, "state"), "running") == 0 &&
         strcmp(str(r, "new"), gi_gfid_text(&r->pool->gd->uuid, own)) == 0;
}

static bool
is_forced(const struct gd_replace *r)
{
  return json_is_true(json_object_get(r->wanted, "force"));
}

/* fmt NULL: for nothing but time. */
static void __attribute__((format(printf, 2, 3))) waits_for(struct gd_replace *r, const char *fmt, ...)
{
  va_list ap;
  char *text = NULL;
  if (fmt) {
    va_start(ap, fmt);
    GI_ASSERT(vasprintf(&text, fmt, ap) >= 0);
    va_end(ap);
  }
  if (text && (!r->problem || strcmp(text, r->problem) != 0))
    gi_log(GI_LOG_WARNING, GD_NAME, MSG, "node %s does not take the place of %s yet: %s", str(r, "newHost"), str(r, "oldHost"),
           text);
  gi_free(r->problem);
  r->problem = gi_strdup(text);
  free(text);
}

/* ---- commands to this daemon itself ---- */

typedef void said_fn(struct gd_replace *r, const json_t *out, const struct gi_error *err);

struct asked {
  struct gd *gd;
  said_fn *said;
};

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  struct asked *a = op->arg;
  struct gd_replace *r = a->gd->pool ? a->gd->pool->replace : NULL; /* the pool may be gone */
  const struct gi_error none = {0};
  if (r && r->asking) {
    r->asking = false;
    a->said(r, op->out, err ? err : &none);
  }
  gi_free(a);
}

/* Consumes `request`. */
static void
ask(struct gd_replace *r, uint32_t proc, json_t *request, said_fn *said)
{
  struct asked *a = gi_new(struct asked);
  char *text = json_dumps(request, JSON_COMPACT);
  *a = (struct asked){r->pool->gd, said};
  r->asking = true;
  gd_op_begin(r->pool->gd, text, proc, false, NULL, answered, a);
  free(text);
  json_decref(request);
}

/* A transaction of somebody else is no problem: it is tried again. */
static void
did(struct gd_replace *r, const json_t *out, const struct gi_error *err)
{
  if (err->code && !strstr(err->text, "Another transaction"))
    waits_for(r, "%s", err->text);
}

/* ---- heals ---- */

static long long
fact(const json_t *facts, const char *key)
{
  const json_t *j = json_object_get(facts, key);
  return json_is_integer(j) ? json_integer_value(j) : json_is_string(j) ? strtoll(json_string_value(j), NULL, 10) : -1;
}

long long
gd_replace_left(const struct gd_volume *v, unsigned set, const json_t *facts, unsigned except, unsigned *silent)
{
  unsigned size = gd_volume_set_size(v);
  long long left = 0;
  for (unsigned i = 0; i < size; i++) {
    char key[64];
    snprintf(key, sizeof(key), "%u-%u-hardlinks", set, i);
    long long n = fact(facts, key);
    if (n < 0 && set * size + i != except) {
      *silent = set * size + i;
      return -1;
    }
    left += n < 0 ? 0 : n;
  }
  return left;
}

/* Nothing of it has been healed so far: it holds that against itself. */
static bool
is_new(const struct gd_brick *b)
{
  uint8_t dirty[64];
  ssize_t n = lgetxattr(b->path, "trusted.afr.dirty", dirty, sizeof(dirty));
  for (ssize_t i = 0; i < n; i++)
    if (dirty[i])
      return true;
  return false;
}

static const struct gd_brick *
brick_of(const struct gd_volume *v, unsigned set, const struct gi_gfid *node)
{
  unsigned size = gd_volume_set_size(v);
  for (unsigned i = set * size; i < (set + 1) * size; i++)
    if (gi_gfid_equal(&v->bricks[i].node, node))
      return &v->bricks[i];
  return NULL;
}

static void
move(struct gd_replace *r, const struct gd_volume *v, const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *words = gi_asprintf("volume replace-brick %s %s:%s (node replace)", v->name, b->host, b->path);
  waits_for(r, NULL);
  ask(r, 15,
      json_pack("{s:s,s:s,s:o,s:b,s:b,s:s}", "command", "volume replace-brick", "volume", v->name, "source",
                json_sprintf("%s:%s", b->host, b->path), "here", true, "force", is_forced(r), "words", words),
      did);
}

static void next(struct gd_replace *r, const char *after);

static void
take_rates(struct gd_replace *r, unsigned set, const json_t *facts)
{
  static const char *const names[] = {"files_per_s", "bytes_per_s", "eta_s"};
  long long *values[] = {&r->files_per_s, &r->bytes_per_s, &r->eta_s};
  for (size_t i = 0; i < GI_ARRAY_LEN(names); i++) {
    char key[64];
    snprintf(key, sizeof(key), "glusterish.%u-%s", set, names[i]);
    *values[i] = fact(facts, key);
  }
}

/* Its copy is gone, as far as anybody can tell. */
static bool
is_lost(const struct gd_replace *r, const struct gd_brick *its, const json_t *facts)
{
  const struct gd_node *n = gd_node_find(r->pool->gd, &its->node);
  unsigned size = gd_volume_set_size(its->volume);
  char key[64];
  snprintf(key, sizeof(key), "%u-%u-hardlinks", its->index / size, its->index % size);
  return fact(facts, key) < 0 && (!n || !gd_node_connected(n) || is_forced(r));
}

/* False: there is nothing to do or to wait for in this set. */
static bool
step(struct gd_replace *r, const struct gd_volume *v, unsigned set, const struct gi_gfid *old, const json_t *facts)
{
  const struct gd_brick *own = brick_of(v, set, &r->pool->gd->uuid), *its = brick_of(v, set, old);
  unsigned silent = 0;
  if (!own && !its)
    return false;
  bool lost = its && is_lost(r, its, facts);
  long long left = gd_replace_left(v, set, facts, lost ? its->index : UINT_MAX, &silent);
  r->entries = left;
  take_rates(r, set, facts);
  if (left < 0)
    waits_for(r, "brick %s:%s of volume %s does not tell what it holds against others", v->bricks[silent].host,
              v->bricks[silent].path, v->name);
  else if (!lost && (left > 0 || (own && is_new(own))))
    waits_for(r, NULL);
  else if (its)
    move(r, v, its);
  else
    return false;
  return true;
}

static void
counted(struct gd_replace *r, const json_t *out, const struct gi_error *err)
{
  struct gd_volume *v = gd_volume_find(r->pool->gd, r->volume);
  struct gi_gfid old;
  if (!v || !is_ours(r) || !gi_gfid_parse(str(r, "old"), &old))
    return; /* it changed meanwhile */
  if (err->code) {
    waits_for(r, "volume %s: %s", v->name, err->text);
    return;
  }
  for (unsigned set = 0; set < gd_volume_sets(v); set++)
    if (step(r, v, set, &old, json_object_get(out, "facts")))
      return;
  next(r, v->name);
}

/* ---- the end ---- */

static void
detached(struct gd_replace *r, const json_t *out, const struct gi_error *err)
{
  did(r, out, err);
  if (!err->code && r->wanted)
    ask(r, 1, json_pack("{s:s}", "command", "node replaced"), did);
}

static void
detach(struct gd_replace *r)
{
  struct gi_gfid old;
  const struct gd_node *n = gi_gfid_parse(str(r, "old"), &old) ? gd_node_find(r->pool->gd, &old) : NULL;
  if (n)
    ask(r, 2,
        json_pack("{s:s,s:s,s:b,s:o}", "command", "peer detach", "host", n->hosts[0], "force", !gd_node_connected(n), "words",
                  json_sprintf("peer detach %s (node replace)", n->hosts[0])),
        detached);
  else
    detached(r, NULL, &(struct gi_error){0});
}

/* ---- the next step ---- */

/* Looks at the first volume behind the one named `after` (NULL: of all) that either node has a brick of. */
static void
next(struct gd_replace *r, const char *after)
{
  struct gd *gd = r->pool->gd;
  struct gi_gfid old;
  if (!gi_gfid_parse(str(r, "old"), &old))
    return;
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link) {
    bool heals = v->type == GD_REPLICATE && v->status == GD_STARTED;
    if (after && strcmp(v->name, after) <= 0)
      continue;
    if (!heals && gd_volume_bricks_on(v, &old)) {
      waits_for(r, v->type == GD_REPLICATE ? "volume %s is not started" : "volume %s has one copy only", v->name);
      return;
    }
    if (!heals || (!gd_volume_bricks_on(v, &old) && !gd_volume_bricks_on(v, &gd->uuid)))
      continue;
    gi_free(r->volume);
    r->volume = gi_strdup(v->name);
    ask(r, 31, json_pack("{s:s,s:s,s:s}", "command", "volume heal status", "volume", v->name, "op", "heal-count"), counted);
    return;
  }
  gi_free(r->volume);
  r->volume = NULL;
  waits_for(r, NULL);
  detach(r);
}

static void
look(void *arg)
{
  struct gd_replace *r = arg;
  gi_timer_set(&r->look, LOOK);
  if (is_ours(r) && !r->asking)
    next(r, NULL);
}

/* ---- telling ---- */

const json_t *
gd_replace_wanted(const struct gd_pool *p)
{
  return p && p->replace ? p->replace->wanted : NULL;
}

void
gd_replace_progress(const struct gd_pool *p, json_t *out)
{
  const struct gd_replace *r = p->replace;
  struct gi_gfid old;
  json_int_t all = json_integer_value(json_object_get(r->wanted, "bricks"));
  if (gi_gfid_parse(str(r, "old"), &old)) {
    json_int_t left = gd_bricks_on(p->gd, &old);
    json_object_set_new(out, "moved", json_integer(left < all ? all - left : 0));
  }
  if (r->problem)
    json_object_set_new(out, "problem", json_string(r->problem));
  if (!r->volume)
    return;
  json_object_set_new(out, "volume", json_string(r->volume));
  const struct {
    const char *name;
    long long value;
  } numbers[] = {{"entries", r->entries},
                 {"filesPerSecond", r->files_per_s},
                 {"bytesPerSecond", r->bytes_per_s},
                 {"etaSeconds", r->eta_s}};
  for (size_t i = 0; i < GI_ARRAY_LEN(numbers); i++)
    if (numbers[i].value >= 0)
      json_object_set_new(out, numbers[i].name, json_integer(numbers[i].value));
}

/* ---- life ---- */

void
gd_replace_take(struct gd_replace *r, const char *value)
{
  json_t *doc = value ? json_loads(value, 0, NULL) : NULL;
  if (value && !json_is_object(doc))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 1, "what the store has of a node's replacement is no JSON object");
  json_decref(r->wanted);
  r->wanted = json_is_object(doc) ? doc : NULL;
  if (!r->wanted)
    json_decref(doc);
  if (is_ours(r) && !r->look.armed)
    gi_timer_set(&r->look, 0);
}

struct gd_replace *
gd_replace_new(struct gd_pool *p)
{
  struct gd_replace *r = gi_new(struct gd_replace);
  r->pool = p;
  gi_timer_init(&r->look, p->gd->reactor, look, r);
  return r;
}

void
gd_replace_free(struct gd_replace **ref)
{
  struct gd_replace *r = *ref;
  *ref = NULL;
  if (!r)
    return;
  gi_timer_finish(&r->look);
  json_decref(r->wanted);
  gi_free(r->volume);
  gi_free(r->problem);
  gi_free(r);
}
