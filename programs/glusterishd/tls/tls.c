/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the management port, and of the connections to other nodes: as the
 * file secure-access of the working directory says, which is written here where
 * the credentials are the pool's own.
 */
#include "programs/glusterishd/glusterishd.h"
#include "programs/glusterishd/tls/authority.h"
#include "rpc/rpc-server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 185)

char *
gd_secure_access(const struct gd *gd)
{
  return gi_asprintf("%s/secure-access", gd->config.workdir);
}

char *
gd_tls_dir(const struct gd *gd)
{
  return gi_asprintf("%s/tls", gd->config.workdir);
}

bool
gd_tls_is_ours(const struct gd *gd, const struct gi_secure_access *a)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  size_t len = strlen(dir);
  return a->tls.cert && strncmp(a->tls.cert, dir, len) == 0 && a->tls.cert[len] == '/';
}

void
gd_tls_offer(struct gd *gd)
{
  if (gd->tcp)
    gi_rpc_server_set_tls(gd->tcp, gd->tls, gd->tls_optional || gd->pool);
}

int
gd_tls_apply(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gd_secure_access(gd);
  struct gi_secure_access a;
  struct gi_tls *next = NULL;
  if (gi_secure_access_read(path, &a, err))
    return -1;
  bool wanted = a.exists, optional = a.optional, own = gd_tls_is_ours(gd, &a);
  if (wanted)
    next = gi_tls_renew(gd->tls, &a.tls, err);
  gi_secure_access_clear(&a);
  if (wanted && !next) {
    gi_error_prefix(err, "%s", path);
    return -1;
  }
  if (gd->tls != next || gd->tls_optional != optional)
    gi_log(GI_LOG_INFO, GD_NAME, MSG, "management connections: %s",
           !wanted    ? "without TLS"
           : optional ? "with and without TLS"
                      : "with TLS only");
  gi_tls_unref(&gd->tls);
  gd->tls = next;
  gd->tls_optional = optional;
  gd->tls_own = own;
  gd_tls_offer(gd);
  return 0;
}

static int
write_access(struct gd *gd, bool optional, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd), *path = gd_secure_access(gd);
  GI_CLEANUP_FREE char *text = gi_asprintf("option transport.socket.ssl-own-cert %s/node.pem\n"
                                           "option transport.socket.ssl-private-key %s/node.pem\n"
                                           "option transport.socket.ssl-ca-list %s/ca.pem\n"
                                           "option transport.socket.ssl-crl-path %s/crl\n%s",
                                           dir, dir, dir, dir, optional ? "option transport.socket.ssl-optional on\n" : "");
  return gd_write_file(path, text, strlen(text), false, err);
}

static int
remove_access(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gd_secure_access(gd);
  return unlink(path) && errno != ENOENT ? gi_error_set(err, errno, "cannot remove %s: %s", path, strerror(errno)) : 0;
}

/* -1: somebody else wrote the file, or it cannot be read. */
static int
check_ours(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gd_secure_access(gd);
  struct gi_secure_access a;
  if (gi_secure_access_read(path, &a, err))
    return -1;
  bool other = a.exists && !gd_tls_is_ours(gd, &a);
  gi_secure_access_clear(&a);
  return other ? gi_error_set(err, EEXIST, "%s is of another hand", path) : 0;
}

int
gd_tls_take(struct gd *gd, const json_t *doc, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  const char *mode = json_string_value(json_object_get(doc, "mode"));
  char uuid[GI_UUID_TEXT];
  if (gd_authority_put(dir, doc, gi_gfid_text(&gd->uuid, uuid), err) || check_ours(gd, err))
    return -1;
  if (gd_bundles_settle(dir, doc, false, err))
    return -1;
  if (strcmp(mode, "off") == 0 ? remove_access(gd, err) : write_access(gd, strcmp(mode, "both") == 0, err))
    return -1;
  return gd_tls_apply(gd, err);
}

int
gd_tls_begin(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  json_t *doc = gd_authority_load(dir);
  char uuid[GI_UUID_TEXT];
  struct gi_error why = {0};
  if (doc && gd_authority_put(dir, doc, gi_gfid_text(&gd->uuid, uuid), &why)) /* the daemon died while it did that */
    gi_log(GI_LOG_ERROR, GD_NAME, MSG + 2, "credentials may not be those of the pool: %s", why.text);
  int ret = doc ? gd_bundles_settle(dir, doc, false, err) : 0;
  json_decref(doc);
  return ret ? ret : gd_tls_apply(gd, err);
}

int
gd_tls_drop(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(gd);
  if (access(dir, F_OK))
    return 0;
  if (!check_ours(gd, err) && remove_access(gd, err))
    return -1;
  return gd_remove_tree(dir, err) || gd_tls_apply(gd, err) ? -1 : 0;
}
