/* SPDX-License-Identifier: Apache-2.0
 *
 * pool tls: the pool makes its own credentials, rolls them out while
 * connections of both kinds are taken, renews them and takes them back. All
 * of it is one document (authority.h), which is changed like a definition:
 * every node makes what follows from it.
 */
#include "programs/glusterishd/tls/authority.h"
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <string.h>

/* A change under way. */
struct tls_change {
  json_t *doc; /* as it is to be */
  struct gd_bundle *bundles;
  unsigned n;
};

/* The volumes, for whoever switches their options. */
static void
name_volumes(struct gd_op *op)
{
  json_t *list = json_array();
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    json_array_append_new(list, json_string(v->name));
  json_object_set_new(op->out, "volumes", list);
}

/* ---- what is to be ---- */

static int
set_mode(struct tls_change *c, const char *mode)
{
  json_object_set_new(c->doc, "mode", json_string(mode));
  return 0;
}

static int
enable(struct gd_op *op, struct tls_change *c, const struct gi_secure_access *a, struct gi_error *err)
{
  if (a->exists && !gd_tls_is_ours(op->gd, a))
    return gi_error_set(err, EEXIST, "management is encrypted already, with credentials of another hand (%s)",
                        a->tls.cert ? a->tls.cert : GI_TLS_CERT);
  if (!c->doc)
    c->doc = gd_authority_new(err);
  if (!c->doc)
    return -1;
  name_volumes(op);
  /* what is demanded already is demanded on */
  return strcmp(json_string_value(json_object_get(c->doc, "mode")), "required") == 0 ? 0 : set_mode(c, "both");
}

static int
new_bundle(struct tls_change *c, const char *name, struct gi_error *err)
{
  c->bundles = gi_realloc(c->bundles, (c->n + 1) * sizeof(*c->bundles));
  c->bundles[c->n] = (struct gd_bundle){0};
  return gd_authority_client(c->doc, name, &c->bundles[c->n++], err);
}

static int
rotate(struct gd_op *op, struct tls_change *c, const char *dir, struct gi_error *err)
{
  if (gd_op_flag(op, "authority") && gd_authority_succeed(dir, c->doc, err))
    return -1;
  json_t *list = gd_authority_list(dir, c->doc), *one;
  size_t i;
  int ret = 0;
  json_object_set_new(c->doc, "renewed", json_integer(json_integer_value(json_object_get(c->doc, "renewed")) + 1));
  json_array_foreach(list, i, one)
  {
    const char *name = json_string_value(json_object_get(one, "name"));
    if (ret || json_is_true(json_object_get(one, "revoked")) || !*json_string_value(json_object_get(one, "until")) ||
        strcmp(name, GD_AUTHORITY_NODE) == 0)
      continue;
    ret = new_bundle(c, name, err);
  }
  json_decref(list);
  return ret;
}

static int
client(struct gd_op *op, struct tls_change *c, const char *dir, struct gi_error *err)
{
  const char *name = gd_op_str(op, "name");
  if (!name || !gd_authority_name_ok(name) || strcmp(name, GD_AUTHORITY_NODE) == 0)
    return gi_error_set(err, EINVAL, "%.100s is no name for a client", name ? name : "\"\"");
  json_object_set_new(op->out, "directory", json_sprintf("%s/clients/%s", dir, name));
  return new_bundle(c, name, err);
}

static int
take_back(struct gd_op *op, struct tls_change *c, struct gi_error *err)
{
  const char *name = gd_op_str(op, "name");
  if (!name || strcmp(name, GD_AUTHORITY_NODE) == 0)
    return gi_error_set(err, EINVAL, "certificates of nodes are replaced by pool tls rotate, and taken back by peer detach");
  return gd_authority_revoke(c->doc, name, err);
}

/* ---- status ---- */

static void
status(struct gd_op *op, const struct gi_secure_access *a, const char *dir, const json_t *doc)
{
  json_object_set_new(op->out, "mode", json_string(!a->exists ? "off" : a->optional ? "both" : "required"));
  json_object_set_new(op->out, "certificate", json_string(!a->exists ? "" : a->tls.cert ? a->tls.cert : GI_TLS_CERT));
  json_object_set_new(op->out, "kernel", json_boolean(gi_tls_kernel()));
  json_object_set_new(op->out, "issued", gd_authority_list(dir, doc));
  json_t *plain = json_array();
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    if (!gd_volume_bool(v, "server.ssl", false) || gd_volume_bool(v, "server.ssl-optional", false))
      json_array_append_new(plain, json_string(v->name));
  json_object_set_new(op->out, "plain-volumes", plain);
  json_object_set_new(op->out, "nodes", gd_op_node_links(op->gd));
}

/* ---- life ---- */

static void
change_free(struct gd_op *op)
{
  struct tls_change *c = op->state;
  for (unsigned i = 0; i < c->n; i++)
    gd_bundle_clear(&c->bundles[i]);
  gi_free(c->bundles);
  json_decref(c->doc);
  gi_free(c);
}

static void
settled(struct gd_op *op)
{
  gd_op_finish(op, NULL); /* a brick that does not run is no matter of this */
}

static void
committed(struct gd_op *op, const struct gi_error *said)
{
  struct tls_change *c = op->state;
  GI_CLEANUP_FREE char *dir = gd_tls_dir(op->gd);
  struct gi_error err = *said;
  json_t *doc = c->n && err.code && err.code != GD_UNSURE ? gd_authority_load(dir) : NULL;
  if (doc) /* what is stored has put those of the document where they belong */
    GI_IGNORE(gd_bundles_settle(dir, doc, true, NULL));
  json_decref(doc);
  if (err.code || !op->gd->pool)
    gd_op_finish(op, &err);
  else
    gd_settle(op, "", false, settled);
}

/* What `action` makes of the document. */
static int
plan(struct gd_op *op, struct tls_change *c, const char *action, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(op->gd), *path = gd_secure_access(op->gd);
  struct gi_secure_access a;
  int ret = -1;
  if (gi_secure_access_read(path, &a, err))
    return -1;
  if (strcmp(action, "enable") == 0)
    ret = enable(op, c, &a, err);
  else if (!c->doc)
    gi_error_set(err, ENOENT, "the pool has no credentials: pool tls enable comes first");
  else if (strcmp(action, "require") == 0)
    ret = (name_volumes(op), set_mode(c, "required"));
  else if (strcmp(action, "relax") == 0) /* the first half of disable */
    ret = (name_volumes(op), set_mode(c, "both"));
  else if (strcmp(action, "disable") == 0)
    ret = set_mode(c, "off");
  else if (strcmp(action, "rotate") == 0)
    ret = rotate(op, c, dir, err);
  else if (strcmp(action, "client") == 0)
    ret = client(op, c, dir, err);
  else if (strcmp(action, "revoke") == 0)
    ret = take_back(op, c, err);
  else
    gi_error_set(err, EINVAL, "pool tls has no %.20s", action);
  gi_secure_access_clear(&a);
  return ret;
}

int
gd_op_tls(struct gd_op *op, struct gi_error *err)
{
  const char *action = gd_op_str(op, "action");
  GI_CLEANUP_FREE char *dir = gd_tls_dir(op->gd);
  if (!action)
    return gi_error_set(err, EINVAL, "the request names no action");
  struct tls_change *c = gi_new(struct tls_change);
  op->state = c;
  op->release = change_free;
  c->doc = gd_authority_load(dir);
  if (plan(op, c, action, err))
    return GD_OP_FAILED;
  for (unsigned i = 0; i < c->n; i++)
    if (gd_bundle_prepare(dir, c->doc, &c->bundles[i], err))
      return GD_OP_FAILED;
  gd_commit_credentials(op, c->doc, committed);
  return GD_OP_LATER;
}

int
gd_op_tls_status(struct gd_op *op, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(op->gd), *path = gd_secure_access(op->gd);
  struct gi_secure_access a;
  if (gi_secure_access_read(path, &a, err))
    return GD_OP_FAILED;
  json_t *doc = gd_authority_load(dir);
  status(op, &a, dir, doc);
  json_decref(doc);
  gi_secure_access_clear(&a);
  return GD_OP_DONE;
}
