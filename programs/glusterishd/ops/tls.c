/* SPDX-License-Identifier: Apache-2.0
 *
 * pool tls: the pool makes its own credentials, rolls them out while
 * connections of both kinds are taken, renews them and takes them back. What
 * is in force is in the file secure-access, as GlusterFS has it; the
 * credentials are those of authority.h.
 */
#include "programs/glusterishd/tls/authority.h"
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char *
tls_dir(const struct gd *gd)
{
  return gi_asprintf("%s/tls", gd->config.workdir);
}

/* Is the file one that this daemon wrote? */
static bool
is_ours(const struct gd *gd, const struct gi_secure_access *a)
{
  GI_CLEANUP_FREE char *dir = tls_dir(gd);
  return a->tls.cert && strncmp(a->tls.cert, dir, strlen(dir)) == 0;
}

static int
write_access(struct gd *gd, bool optional, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = tls_dir(gd), *path = gd_secure_access(gd);
  GI_CLEANUP_FREE char *text = gi_asprintf("option transport.socket.ssl-own-cert %s/node.pem\n"
                                           "option transport.socket.ssl-private-key %s/node.key\n"
                                           "option transport.socket.ssl-ca-list %s/ca.pem\n"
                                           "option transport.socket.ssl-crl-path %s/crl\n%s",
                                           dir, dir, dir, dir, optional ? "option transport.socket.ssl-optional on\n" : "");
  return gd_write_file(path, text, strlen(text), false, err) ? -1 : gd_tls_apply(gd, err);
}

/* The volumes, for whoever switches their options. */
static void
name_volumes(struct gd_op *op)
{
  json_t *list = json_array();
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    json_array_append_new(list, json_string(v->name));
  json_object_set_new(op->out, "volumes", list);
}

static int
enable(struct gd_op *op, const struct gi_secure_access *a, const char *dir, struct gi_error *err)
{
  if (op->gd->pool) /* the others could not show one that this node trusts, nor the other way round */
    return gi_error_set(
        err, EOPNOTSUPP,
        "this makes the credentials of one node alone. In a pool give each node a certificate of one authority, in "
        "/etc/ssl/glusterfs.pem, .key and .ca, and then a file %s/secure-access",
        op->gd->config.workdir);
  if (a->exists && !is_ours(op->gd, a))
    return gi_error_set(err, EEXIST, "management is encrypted already, with credentials of another hand (%s)",
                        a->tls.cert ? a->tls.cert : GI_TLS_CERT);
  GI_CLEANUP_FREE char *node = gi_asprintf("%s/node.pem", dir);
  if (gd_authority_make(dir, err))
    return -1;
  if (access(node, F_OK) != 0 && gd_authority_issue(dir, GD_AUTHORITY_NODE, GD_AUTHORITY_NODE, err))
    return -1;
  name_volumes(op);
  return write_access(op->gd, !a->exists || a->optional, err);
}

static int
require(struct gd_op *op, const struct gi_secure_access *a, struct gi_error *err)
{
  if (!a->exists || !is_ours(op->gd, a))
    return gi_error_set(err, ENOENT, "the pool has no credentials: pool tls enable comes first");
  name_volumes(op);
  return write_access(op->gd, false, err);
}

static int
rotate(struct gd_op *op, const char *dir, struct gi_error *err)
{
  json_t *list = gd_authority_list(dir), *one;
  size_t i;
  int ret = gd_authority_issue(dir, GD_AUTHORITY_NODE, GD_AUTHORITY_NODE, err);
  json_array_foreach(list, i, one)
  {
    const char *name = json_string_value(json_object_get(one, "name"));
    /* the newest certificate of a client is the one in its directory */
    if (ret || json_is_true(json_object_get(one, "revoked")) || !*json_string_value(json_object_get(one, "until")) ||
        strcmp(name, GD_AUTHORITY_NODE) == 0)
      continue;
    ret = gd_authority_client(dir, name, err);
  }
  json_decref(list);
  return ret ? ret : gd_tls_apply(op->gd, err);
}

static int
client(struct gd_op *op, const char *dir, struct gi_error *err)
{
  const char *name = gd_op_str(op, "name");
  if (!name || !gd_authority_name_ok(name) || strcmp(name, GD_AUTHORITY_NODE) == 0)
    return gi_error_set(err, EINVAL, "%.100s is no name for a client", name ? name : "\"\"");
  json_object_set_new(op->out, "directory", json_sprintf("%s/clients/%s", dir, name));
  return gd_authority_client(dir, name, err);
}

static int
take_back(struct gd_op *op, const char *dir, struct gi_error *err)
{
  const char *name = gd_op_str(op, "name");
  if (!name || strcmp(name, GD_AUTHORITY_NODE) == 0)
    return gi_error_set(err, EINVAL, "the node's own certificate is replaced by pool tls rotate");
  return gd_authority_revoke(dir, name, err) ? -1 : gd_tls_apply(op->gd, err);
}

static void
status(struct gd_op *op, const struct gi_secure_access *a, const char *dir)
{
  json_object_set_new(op->out, "mode", json_string(!a->exists ? "off" : a->optional ? "both" : "required"));
  json_object_set_new(op->out, "certificate", json_string(!a->exists ? "" : a->tls.cert ? a->tls.cert : GI_TLS_CERT));
  json_object_set_new(op->out, "kernel", json_boolean(gi_tls_kernel()));
  json_object_set_new(op->out, "issued", gd_authority_list(dir));
  json_t *plain = json_array();
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    if (!gd_volume_bool(v, "server.ssl", false) || gd_volume_bool(v, "server.ssl-optional", false))
      json_array_append_new(plain, json_string(v->name));
  json_object_set_new(op->out, "plain-volumes", plain);
}

int
gd_op_tls(struct gd_op *op, struct gi_error *err)
{
  const char *action = gd_op_str(op, "action");
  GI_CLEANUP_FREE char *dir = tls_dir(op->gd), *path = gd_secure_access(op->gd);
  struct gi_secure_access a;
  int ret = -1;
  if (gi_secure_access_read(path, &a, err))
    return GD_OP_FAILED;
  if (!action)
    gi_error_set(err, EINVAL, "the request names no action");
  else if (strcmp(action, "status") == 0)
    ret = (status(op, &a, dir), 0);
  else if (strcmp(action, "enable") == 0)
    ret = enable(op, &a, dir, err);
  else if (strcmp(action, "require") == 0)
    ret = require(op, &a, err);
  else if (!gd_authority_exists(dir))
    gi_error_set(err, ENOENT, "the pool has no credentials: pool tls enable comes first");
  else if (strcmp(action, "rotate") == 0)
    ret = rotate(op, dir, err);
  else if (strcmp(action, "client") == 0)
    ret = client(op, dir, err);
  else if (strcmp(action, "revoke") == 0)
    ret = take_back(op, dir, err);
  else
    gi_error_set(err, EINVAL, "pool tls has no %.20s", action);
  gi_secure_access_clear(&a);
  return ret ? GD_OP_FAILED : GD_OP_DONE;
}
