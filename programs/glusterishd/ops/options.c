/* SPDX-License-Identifier: Apache-2.0
 *
 * volume set, reset and get (cli.md 5.5). All pairs of one command are checked
 * first and then applied together; connected processes fetch their volfiles
 * anew and take the change while they run.
 */
#include "programs/glusterishd/ops/op.h"
#include "rpc/client-key.h"

#include <errno.h>
#include <string.h>

/* Options every volume is created with; they survive a reset of everything. */
static const struct {
  const char *key, *value;
} kept_options[] = {
    {"nfs.disable", "on"},
    {"transport.address-family", "inet"},
    {"storage.fips-mode-rchecksum", "on"},
};

static void
copy_options(struct gi_list *to, const struct gi_list *from)
{
  for (struct gi_list *l = from->prev; l != from; l = l->prev) { /* backwards: setting puts it first */
    struct gd_option *o = gi_list_item(l, struct gd_option, link);
    gd_options_set(to, o->key, o->value);
  }
}

static void
swap_options(struct gi_list *a, struct gi_list *b)
{
  struct gi_list tmp = GI_LIST_INIT(tmp);
  gi_list_splice_tail(&tmp, a);
  gi_list_splice_tail(a, b);
  gi_list_splice_tail(b, &tmp);
}

/* An op that makes other options those of its volume, or of all volumes. */
struct change {
  struct gi_list before; /* to go back to */
};

static void
release_change(struct gd_op *op)
{
  struct change *c = op->state;
  gd_options_clear(&c->before);
  gi_free(c);
}

static void
options_settled(struct gd_op *op)
{
  gd_op_finish(op, NULL);
}

static void
options_stored(struct gd_op *op, const struct gi_error *err)
{
  struct change *c = op->state;
  struct gd_volume *v = op->volume;
  v->busy = false;
  if (err->code) {
    swap_options(&v->options, &c->before);
    if (!op->gd->pool)
      GI_IGNORE(gd_store_volume(v, NULL));
    gd_op_finish(op, err);
    return;
  }
  gd_services_changed(v->gd);
  gd_shd_sync(v);
  gd_settle(op, v->name, false, options_settled);
}

static struct change *
change_new(struct gd_op *op)
{
  struct change *c = gi_new(struct change);
  gi_list_init(&c->before);
  op->state = c;
  op->release = release_change;
  return c;
}

/* Makes `changed`, which it clears, the options of the op's volume; on failure they are as they were. */
static int
commit(struct gd_op *op, struct gi_list *changed)
{
  struct change *c = change_new(op);
  struct gd_volume *v = op->volume;
  gi_list_splice_tail(&c->before, &v->options);
  gi_list_splice_tail(&v->options, changed);
  v->busy = true;
  gd_commit(op, v, options_stored);
  return GD_OP_LATER;
}

static int
check_quorum_count(const struct gd_volume *v, const char *key, const char *value, struct gi_error *err)
{
  int64_t n;
  if (strcmp(key, "cluster.quorum-count") != 0)
    return 0;
  if (gi_parse_int(value, &n) && (n < 1 || n > (int64_t)v->replica))
    return gi_error_set(err, EINVAL, "%s in cluster.quorum-count %s is out of range [1 - %u]", value, value, v->replica);
  return 0;
}

/* The value of a debugging translator is the place it goes to. */
static int
check_debugger(const char *key, const char *value, struct gi_error *err)
{
  static const char *const places[] = {"off",    "client", "posix",      "access-control", "locks",
                                       "leases", "upcall", "io-threads", "index"};
  if (strcmp(key, "debug.trace") != 0 && strcmp(key, "debug.error-gen") != 0 && strcmp(key, "debug.delay-gen") != 0)
    return 0;
  for (size_t i = 0; i < GI_ARRAY_LEN(places); i++)
    if (strcmp(value, places[i]) == 0)
      return 0;
  return gi_error_set(
      err, EINVAL,
      "%s cannot be \"%.64s\": it takes off, client, posix, access-control, locks, leases, upcall, io-threads or index", key,
      value);
}

static int
check_keys(const char *key, const char *value, struct gi_error *err)
{
  if (strcmp(key, "auth.client-keys") != 0 || gi_client_keys_check(value, err) == 0)
    return 0;
  gi_error_prefix(err, "%s cannot be \"%.64s\"", key, value);
  return -1;
}

/* Completes and checks one pair for a volume (NULL: for all of them). */
static const char *
check_pair(struct gd *gd, const struct gd_volume *v, const char *typed, const char *value, struct gi_error *err)
{
  if (strncmp(typed, "user.", 5) == 0 && v)
    return typed;
  const char *key = gd_map_complete(gd->map, typed, err);
  if (!key)
    return NULL;
  bool pool = gd_map_find(gd->map, key)->kind == GD_KEY_POOL;
  if (pool && v && strstr(key, "op-version"))
    gi_error_set(err, EINVAL, "Option \"%s\" is not valid for a single volume", key);
  else if (pool && v)
    gi_error_set(err, EINVAL, "Not a valid option for single volume");
  else if (!pool && !v)
    gi_error_set(err, EINVAL, "Not a valid option for all volumes");
  else if (gd_map_check(gd->map, key, value, err) == 0 &&
           (!v || (check_quorum_count(v, key, value, err) == 0 && check_debugger(key, value, err) == 0 &&
                   check_keys(key, value, err) == 0)))
    return key;
  return NULL;
}

/* A key or value becomes a line of a file and a word of a volfile. */
static bool
is_one_line(const char *text)
{
  for (const char *p = text; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      return false;
  return *text != '\0';
}

/* A group may have options that this version goes without: those marked so, and those that nothing acts on. */
static bool
is_gone_without(struct gd *gd, const char *typed, bool optional, const char *value)
{
  const char *key = gd_map_complete(gd->map, typed, NULL);
  return key ? !gd_map_acts(gd->map, key) && gd_map_check(gd->map, key, value, NULL) != 0
             : optional && strncmp(typed, "user.", 5) != 0;
}

/* `ignored` is where a group's options go that are not set; NULL: the pairs are no group. */
static int
add_pairs(struct gd *gd, const struct gd_volume *v, const json_t *pairs, json_t *ignored, struct gi_list *changed,
          struct gi_error *err)
{
  for (size_t i = 0; i + 1 < json_array_size(pairs); i += 2) {
    const char *typed = json_string_value(json_array_get(pairs, i)), *value = json_string_value(json_array_get(pairs, i + 1));
    if (!is_one_line(typed) || !is_one_line(value) || strchr(typed, '=') || strchr(typed, ' '))
      return gi_error_set(err, EINVAL, "option %.64s: key or value is empty or contains control characters", typed);
    bool optional = ignored && *typed == '?';
    typed += optional;
    if (ignored && is_gone_without(gd, typed, optional, value)) {
      json_array_append_new(ignored, json_sprintf("%s=%s", typed, value));
      continue;
    }
    const char *key = check_pair(gd, v, typed, value, err);
    if (!key)
      return -1;
    gd_options_set(changed, key, value);
  }
  return 0;
}

/* ---- set ---- */

static int
set_op_version(const char *value, struct gi_error *err)
{
  int64_t n = 0;
  gi_parse_int(value, &n);
  if (n > GD_OP_VERSION)
    return gi_error_set(err, GD_ERR_MGMT, "Required op_version (%lld) is not supported. Max supported op version is %d",
                        (long long)n, GD_OP_VERSION);
  return gi_error_set(err, GD_ERR_MGMT,
                      "Required op-version (%lld) should not be equal or lower than current cluster op-version (%d).",
                      (long long)n, GD_OP_VERSION);
}

static void
take_log_level(const struct gd *gd)
{
  const char *level = gd_options_get(&gd->pool_options, "cluster.daemon-log-level");
  enum gi_log_level l;
  if (level && gi_log_level_parse(level, &l))
    gi_log_set_level(l);
}

static void
pool_stored(struct gd_op *op, const struct gi_error *err)
{
  struct change *c = op->state;
  if (err->code)
    swap_options(&op->gd->pool_options, &c->before);
  else
    take_log_level(op->gd);
  if (err->code)
    gd_op_finish(op, err);
  else
    gd_settle(op, "", false, options_settled);
}

/* Makes `changed`, which it clears, the options of all volumes; on failure they are as they were. */
static int
commit_pool(struct gd_op *op, struct gi_list *changed)
{
  struct change *c = change_new(op);
  gi_list_splice_tail(&c->before, &op->gd->pool_options);
  gi_list_splice_tail(&op->gd->pool_options, changed);
  gd_commit_options(op, &op->gd->pool_options, pool_stored);
  return GD_OP_LATER;
}

static int
set_pool(struct gd_op *op, const json_t *pairs, struct gi_error *err)
{
  struct gi_list changed = GI_LIST_INIT(changed);
  copy_options(&changed, &op->gd->pool_options);
  int ret = add_pairs(op->gd, NULL, pairs, NULL, &changed, err);
  const char *version = gd_options_get(&changed, "cluster.op-version");
  if (!ret && gd_options_get(&changed, "cluster.max-op-version"))
    ret = gi_error_set(err, EINVAL, "cluster.max-op-version cannot be set");
  if (!ret && version)
    ret = set_op_version(version, err);
  if (!ret)
    return commit_pool(op, &changed);
  gd_options_clear(&changed);
  return GD_OP_FAILED;
}

static int
no_such_volume(struct gi_error *err, const char *name)
{
  return gi_error_set(err, GD_ERR_MGMT, "Volume %.256s does not exist", name ? name : "");
}

int
gd_op_set(struct gd_op *op, struct gi_error *err)
{
  const json_t *pairs = gd_op_strings(op, "pairs");
  const char *name = gd_op_str(op, "volume");
  size_t n = json_array_size(pairs);
  if (n == 0 || n % 2)
    return gi_error_set(err, EINVAL, "the request has no pairs of key and value");
  if (name && strcmp(name, "all") == 0)
    return set_pool(op, pairs, err);
  if (!op->volume)
    return no_such_volume(err, name);
  struct gi_list changed = GI_LIST_INIT(changed);
  json_t *ignored = gd_op_str(op, "group") ? json_array() : NULL;
  if (ignored)
    json_object_set_new(op->out, "ignored", ignored);
  copy_options(&changed, &op->volume->options);
  if (add_pairs(op->gd, op->volume, pairs, ignored, &changed, err)) {
    gd_options_clear(&changed);
    err->code = GD_ERR_MGMT;
    return GD_OP_FAILED;
  }
  return commit(op, &changed);
}

int
gd_op_set_options(struct gd_op *op, const char *const *pairs, unsigned n)
{
  struct gd_volume *v = op->volume;
  struct gi_list changed = GI_LIST_INIT(changed);
  GI_ASSERT(n % 2 == 0);
  copy_options(&changed, &v->options);
  for (unsigned i = 0; i < n; i += 2) {
    if (pairs[i + 1])
      gd_options_set(&changed, pairs[i], pairs[i + 1]);
    else
      gd_options_del(&changed, pairs[i]);
  }
  return commit(op, &changed);
}

/* ---- reset ---- */

static void
reset_all(struct gi_list *changed)
{
  gd_options_clear(changed);
  for (size_t i = 0; i < GI_ARRAY_LEN(kept_options); i++)
    gd_options_set(changed, kept_options[i].key, kept_options[i].value);
}

static int
reset_one(struct gd *gd, struct gi_list *changed, const char *typed, struct gi_error *err)
{
  char near[256];
  if (gd_options_del(changed, typed)) /* also a key that no translator of ours knows */
    return 0;
  const char *key = strncmp(typed, "user.", 5) == 0 ? typed : gd_map_complete(gd->map, typed, NULL);
  if (!key) {
    gd_map_suggest(gd->map, typed, near, sizeof(near));
    return gi_error_set(err, GD_ERR_MGMT, "Option %.64s does not exist\nDid you mean %s?", typed, near);
  }
  gd_options_del(changed, key);
  return 0;
}

static int
reset_pool(struct gd_op *op, const char *key, struct gi_error *err)
{
  if (key && gd_map_find(op->gd->map, key) == NULL)
    return gi_error_set(err, GD_ERR_MGMT, "Option %.64s does not exist", key);
  struct gi_list changed = GI_LIST_INIT(changed);
  if (key)
    copy_options(&changed, &op->gd->pool_options);
  if (key)
    gd_options_del(&changed, key);
  return commit_pool(op, &changed);
}

int
gd_op_reset(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "volume"), *key = gd_op_str(op, "key");
  if (name && strcmp(name, "all") == 0)
    return reset_pool(op, key, err);
  if (!op->volume)
    return no_such_volume(err, name);
  struct gi_list changed = GI_LIST_INIT(changed);
  copy_options(&changed, &op->volume->options);
  if (!key) {
    reset_all(&changed);
  } else if (reset_one(op->gd, &changed, key, err)) {
    gd_options_clear(&changed);
    return GD_OP_FAILED;
  }
  return commit(op, &changed);
}

/* ---- get ---- */

/* What is in force where the table has no default, because it depends on the volume. *set: it is told like a value that was set. */
static const char *
by_shape(const struct gd_volume *v, const char *key, bool *set)
{
  if (!v || strcmp(key, "cluster.quorum-type") != 0)
    return NULL;
  *set = v->type == GD_REPLICATE && v->replica > 2;
  return *set ? "auto" : "none";
}

/* Defaults that GlusterFS shows as if they were set: those of its own daemon, not of a translator. */
static bool
shown_bare(const struct gd_key *k)
{
  static const char *const keys[] = {
      "auth.allow",
      "client.strict-locks",
      "cluster.max-op-version",
      "cluster.op-version",
      "cluster.use-anonymous-inode",
      "ctime.noatime",
      "diagnostics.brick-log-level",
      "diagnostics.client-log-level",
      "diagnostics.count-fop-hits",
      "diagnostics.latency-measurement",
      "features.enforce-mandatory-lock",
      "transport.listen-backlog",
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(keys); i++)
    if (strcmp(k->key, keys[i]) == 0)
      return true;
  return k->kind == GD_KEY_SWITCH;
}

static void
put_option(struct gd_op *op, const struct gi_list *options, const struct gd_key *k)
{
  const char *set = gd_options_get(options, k->key), *def = gd_map_default(op->gd->map, k->key);
  bool told = false;
  if (!set && !def)
    def = by_shape(op->volume, k->key, &told);
  bool idle = !gd_map_acts(op->gd->map, k->key) && !(set && gd_map_check(op->gd->map, k->key, set, NULL) == 0);
  const char *mark = idle ? " (not in this version)" : set || told || shown_bare(k) ? "" : " (DEFAULT)";
  GI_CLEANUP_FREE char *value = gi_asprintf("%s%s", set ? set : def ? def : "(null)", mark);
  json_array_append_new(json_object_get(op->out, "options"), json_pack("{s:s,s:s}", "key", k->key, "value", value));
}

static int
get_one(struct gd_op *op, const struct gi_list *options, const char *typed, struct gi_error *err)
{
  char near[256];
  const char *user = strncmp(typed, "user.", 5) == 0 ? gd_options_get(options, typed) : NULL;
  const char *key = gd_map_complete(op->gd->map, typed, NULL);
  if (user) {
    json_array_append_new(json_object_get(op->out, "options"), json_pack("{s:s,s:s}", "key", typed, "value", user));
    return 0;
  }
  if (!key) {
    gd_map_suggest(op->gd->map, typed, near, sizeof(near));
    return gi_error_set(err, GD_ERR_MGMT, "Did you mean %s?", near);
  }
  const struct gd_key *k = gd_map_find(op->gd->map, key);
  if (!op->volume && k->kind != GD_KEY_POOL)
    return gi_error_set(err, GD_ERR_MGMT, "Not a valid option for all volumes");
  put_option(op, k->kind == GD_KEY_POOL ? &op->gd->pool_options : options, k);
  return 0;
}

int
gd_op_get(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "volume"), *key = gd_op_str(op, "key");
  bool pool = name && strcmp(name, "all") == 0;
  if (!pool && !op->volume)
    return no_such_volume(err, name);
  const struct gi_list *options = pool ? &op->gd->pool_options : &op->volume->options;
  json_object_set_new(op->out, "options", json_array());
  if (key && strcmp(key, "all") != 0)
    return get_one(op, options, key, err) ? GD_OP_FAILED : GD_OP_DONE;
  const char *last = "";
  for (unsigned i = 0; i < gd_map_count(op->gd->map); i++) {
    const struct gd_key *k = gd_map_at(op->gd->map, i);
    if (strcmp(last, k->key) != 0 && (k->kind == GD_KEY_POOL) == pool)
      put_option(op, options, k);
    last = k->key;
  }
  return GD_OP_DONE;
}

int
gd_op_set_help(struct gd_op *op, struct gi_error *err)
{
  json_t *list = json_array();
  const char *last = "";
  for (unsigned i = 0; i < gd_map_count(op->gd->map); i++) {
    const struct gd_key *k = gd_map_at(op->gd->map, i);
    if (strcmp(last, k->key) != 0 && gd_map_acts(op->gd->map, k->key))
      json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "name", k->key, "default", k->opt->def ? k->opt->def : "(null)",
                                            "description", k->opt->text ? k->opt->text : ""));
    last = k->key;
  }
  json_object_set_new(op->out, "options", list);
  return GD_OP_DONE;
}
