/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server: credentials of TLS, by the options.
 */
#include "xlators/protocol/server/server.h"

int
sv_tls_prepare(struct server *sv, const struct sv_options *o, struct gi_error *err)
{
  const struct gi_tls_config cfg = {.cert = o->ssl_cert,
                                    .key = o->ssl_key,
                                    .ca = o->ssl_ca,
                                    .crl = o->ssl_crl,
                                    .ciphers = o->ssl_cipher,
                                    .dh_param = o->ssl_dh,
                                    .ec_curve = o->ssl_ec,
                                    .depth = o->ssl_depth};
  sv_tls_abort(sv);
  if (!o->ssl)
    return 0;
  sv->next_tls = gi_secure_access_volume(sv->x->ctx->secure_access, sv->tls, &cfg, err);
  if (sv->next_tls)
    return 0;
  gi_error_prefix(err, "server.ssl is on");
  return -1;
}

void
sv_tls_commit(struct server *sv)
{
  gi_tls_unref(&sv->tls);
  sv->tls = sv->next_tls;
  sv->next_tls = NULL;
  if (sv->rpc)
    gi_rpc_server_set_tls(sv->rpc, sv->tls, sv_opts(sv)->ssl_optional);
}

void
sv_tls_abort(struct server *sv)
{
  gi_tls_unref(&sv->next_tls);
}
