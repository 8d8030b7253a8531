/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/client: credentials of TLS, by the options.
 */
#include "xlators/protocol/client/client.h"

int
cl_tls_prepare(struct client *c, const struct cl_options *o, struct gi_error *err)
{
  const struct gi_tls_config cfg = {.cert = o->ssl_cert,
                                    .key = o->ssl_key,
                                    .ca = o->ssl_ca,
                                    .crl = o->ssl_crl,
                                    .ciphers = o->ssl_cipher,
                                    .dh_param = o->ssl_dh,
                                    .ec_curve = o->ssl_ec,
                                    .depth = o->ssl_depth};
  cl_tls_abort(c);
  if (!o->ssl)
    return 0;
  c->next_tls = gi_secure_access_volume(c->x->ctx->secure_access, c->tls, &cfg, err);
  if (c->next_tls)
    return 0;
  gi_error_prefix(err, "client.ssl is on");
  return -1;
}

void
cl_tls_commit(struct client *c)
{
  gi_tls_unref(&c->tls);
  c->tls = c->next_tls;
  c->next_tls = NULL;
}

void
cl_tls_abort(struct client *c)
{
  gi_tls_unref(&c->next_tls);
}
