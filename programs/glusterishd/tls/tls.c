/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the management port, and of the connections to other nodes: as the
 * file secure-access of the working directory says.
 */
#include "programs/glusterishd/glusterishd.h"
#include "rpc/rpc-server.h"

#define MSG (GI_MSG_MGMT + 185)

char *
gd_secure_access(const struct gd *gd)
{
  return gi_asprintf("%s/secure-access", gd->config.workdir);
}

int
gd_tls_apply(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gd_secure_access(gd);
  struct gi_secure_access a;
  struct gi_tls *next = NULL;
  if (gi_secure_access_read(path, &a, err))
    return -1;
  bool wanted = a.exists, optional = a.optional;
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
  if (gd->tcp)
    gi_rpc_server_set_tls(gd->tcp, next, optional);
  return 0;
}
