/* SPDX-License-Identifier: Apache-2.0
 *
 * A volume's definition as one JSON text: what the nodes of a pool agree on.
 * Not in it is what each node knows of its own bricks (ports, processes).
 */
#include "programs/glusterishd/model/model.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

/* ---- writing ---- */

json_t *
gd_document_of(const char *text)
{
  json_t *doc = text ? json_loads(text, 0, NULL) : NULL;
  if (json_is_object(doc))
    return doc;
  json_decref(doc);
  return json_object();
}

static json_t *
write_options(const struct gi_list *options)
{
  json_t *list = json_array();
  gi_list_foreach(o, options, struct gd_option, link)
    json_array_append_new(list, json_pack("[s,s]", o->key, o->value));
  return list;
}

/* Members that another version gave the brick of that id stay. */
static json_t *
brick_as_it_was(const json_t *old, const char *id)
{
  for (size_t i = 0; i < json_array_size(old); i++) {
    const char *its = json_string_value(json_object_get(json_array_get(old, i), "id"));
    if (its && strcmp(its, id) == 0)
      return json_deep_copy(json_array_get(old, i));
  }
  return json_object();
}

static json_t *
write_bricks(const struct gd_volume *v, const json_t *old)
{
  json_t *list = json_array();
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    char node[GI_UUID_TEXT];
    json_t *doc = brick_as_it_was(old, b->id);
    json_object_update_new(doc, json_pack("{s:s,s:s,s:s,s:s,s:b}", "host", b->host, "path", b->path, "id", b->id, "node",
                                          gi_gfid_text(&b->node, node), "decommissioned", b->decommissioned));
    json_array_append_new(list, doc);
  }
  return list;
}

static json_t *
write_volume(const struct gd_volume *v)
{
  char id[GI_UUID_TEXT];
  json_t *doc = gd_document_of(v->definition);
  json_t *bricks = write_bricks(v, json_object_get(doc, "bricks"));
  json_object_update_new(doc, json_pack("{s:s,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:s,s:s,s:o,s:o}", "id", gi_gfid_text(&v->id, id),
                                        "type", v->type, "status", v->status, "replica", v->replica, "arbiter", v->arbiter,
                                        "generation", (json_int_t)v->version, "opVersion", (json_int_t)v->op_version,
                                        "clientOpVersion", (json_int_t)v->client_op_version, "username", v->username,
                                        "password", v->password, "options", write_options(&v->options), "bricks", bricks));
  return doc;
}

static char *
dump(json_t *doc)
{
  char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS), *copy = gi_strdup(text);
  free(text);
  json_decref(doc);
  return copy;
}

char *
gd_definition_write(const struct gd_volume *v)
{
  return dump(write_volume(v));
}

bool
gd_definition_same(const struct gd_volume *a, const struct gd_volume *b)
{
  json_t *one = write_volume(a), *other = write_volume(b);
  json_object_del(one, "generation");
  json_object_del(other, "generation");
  bool same = strcmp(a->name, b->name) == 0 && json_equal(one, other);
  json_decref(one);
  json_decref(other);
  return same;
}

/* ---- reading ---- */

static bool
read_number(const json_t *doc, const char *key, json_int_t max, unsigned *out)
{
  const json_t *j = json_object_get(doc, key);
  if (!json_is_integer(j) || json_integer_value(j) < 0 || json_integer_value(j) > max)
    return false;
  *out = (unsigned)json_integer_value(j);
  return true;
}

static bool
read_options(struct gi_list *options, const json_t *list)
{
  for (size_t i = json_array_size(list); i-- > 0;) { /* backwards: setting puts it first */
    const json_t *pair = json_array_get(list, i);
    const char *key = json_string_value(json_array_get(pair, 0)), *value = json_string_value(json_array_get(pair, 1));
    if (!key || !value || !*key || strpbrk(key, "=\n") || strchr(value, '\n') || !gd_is_volume_option(key))
      return false;
    gd_options_set(options, key, value);
  }
  return json_is_array(list);
}

static bool
read_brick(struct gd_brick *b, const json_t *doc, struct gi_error *err)
{
  const char *host = json_string_value(json_object_get(doc, "host")), *path = json_string_value(json_object_get(doc, "path"));
  const char *id = json_string_value(json_object_get(doc, "id")), *node = json_string_value(json_object_get(doc, "node"));
  if (!host || !path || !id || !node || !gi_gfid_parse(node, &b->node)) {
    gi_error_set(err, EILSEQ, "brick %u lacks host, path, id or node", b->index);
    return false;
  }
  GI_CLEANUP_FREE char *text = gi_asprintf("%s:%s", host, path);
  if (prog_brick_parse(text, &b->host, &b->path, err))
    return false;
  b->id = gi_strdup(id);
  b->decommissioned = json_is_true(json_object_get(doc, "decommissioned"));
  return true;
}

static int
read_bricks(struct gd_volume *v, const json_t *list, struct gi_error *err)
{
  size_t n = json_array_size(list);
  if (n < 1 || n > GD_BRICKS_MAX || n % gd_volume_set_size(v) || (v->arbiter && v->replica != 3))
    return gi_error_set(err, EILSEQ, "%zu bricks do not make up sets of %u", n, v->replica);
  v->bricks = gi_zalloc(n * sizeof(*v->bricks));
  for (size_t i = 0; i < n; i++) {
    struct gd_brick *b = &v->bricks[v->nbricks];
    b->volume = v;
    b->index = v->nbricks++;
    if (!read_brick(b, json_array_get(list, i), err))
      return -1;
  }
  return gd_bricks_check(v, err);
}

static int
read_volume(struct gd_volume *v, const json_t *doc, struct gi_error *err)
{
  unsigned type = ~0u, status = 0;
  const char *id = json_string_value(json_object_get(doc, "id")), *user = json_string_value(json_object_get(doc, "username"));
  const char *password = json_string_value(json_object_get(doc, "password"));
  if (!read_number(doc, "type", 9, &type) || !read_number(doc, "status", GD_STOPPED, &status) ||
      !read_number(doc, "replica", GD_BRICKS_MAX, &v->replica) || !read_number(doc, "arbiter", 1, &v->arbiter) ||
      !read_number(doc, "generation", UINT_MAX, &v->version) || !read_number(doc, "opVersion", UINT_MAX, &v->op_version) ||
      !read_number(doc, "clientOpVersion", UINT_MAX, &v->client_op_version) || !id || !gi_gfid_parse(id, &v->id) ||
      gi_gfid_is_none(&v->id) || !user || !password || strchr(user, '\n') || strchr(password, '\n'))
    return gi_error_set(err, EILSEQ, "a member is missing or has another type");
  if ((type != GD_DISTRIBUTE && type != GD_REPLICATE) || v->replica < 1 || (type == GD_REPLICATE) != (v->replica > 1))
    return gi_error_set(err, EOPNOTSUPP, "volumes of type %u with %u copies are not supported by this version", type,
                        v->replica);
  v->type = type;
  v->status = status;
  v->username = gi_strdup(user);
  v->password = gi_strdup(password);
  if (!read_options(&v->options, json_object_get(doc, "options")))
    return gi_error_set(err, EILSEQ, "its options are no list of keys and values");
  return read_bricks(v, json_object_get(doc, "bricks"), err);
}

struct gd_volume *
gd_definition_read(struct gd *gd, const char *name, const char *text, struct gi_error *err)
{
  json_t *doc = json_loads(text, 0, NULL);
  struct gd_volume *v = gd_volume_new(gd, name);
  int ret = prog_volume_name_check(name, err);
  if (!ret)
    ret = json_is_object(doc) ? read_volume(v, doc, err) : gi_error_set(err, EILSEQ, "it is no JSON object");
  json_decref(doc);
  if (ret) {
    gi_error_prefix(err, "definition of volume %.256s", name);
    gd_volume_free(v);
    return NULL;
  }
  v->definition = gi_strdup(text);
  gd_volume_check(v);
  return v;
}

bool
gd_definition_has_others(struct gd_volume *v)
{
  char *text = v->definition;
  json_t *whole = json_loads(text, 0, NULL);
  v->definition = NULL;
  json_t *known = write_volume(v);
  v->definition = text;
  bool others = !json_equal(whole, known);
  json_decref(whole);
  json_decref(known);
  return others;
}

/* ---- options of all volumes ---- */

char *
gd_options_write(const struct gi_list *options, unsigned version, const char *was)
{
  json_t *doc = gd_document_of(was);
  json_object_update_new(doc, json_pack("{s:I,s:o}", "generation", (json_int_t)version, "options", write_options(options)));
  return dump(doc);
}

bool
gd_options_read(struct gi_list *options, unsigned *version, const char *text)
{
  json_t *doc = json_loads(text, 0, NULL);
  bool ok = read_number(doc, "generation", UINT_MAX, version) && read_options(options, json_object_get(doc, "options"));
  json_decref(doc);
  return ok;
}
