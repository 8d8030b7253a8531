/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP on the reactor, with libcurl: how the daemon speaks to the store, over a
 * unix socket to its own process, over TCP to one of the site's. Nothing here
 * blocks.
 */
#ifndef GD_HTTP_H
#define GD_HTTP_H

#include "libglusterish/reactor.h"

struct gd_http;
struct gd_http_call;

/* Where somebody answers. */
struct gd_http_place {
  const char *socket; /* a unix socket's path; NULL: `base` counts */
  char *
      base; /* "http://HOST:PORT", or https with whom to trust (NULL: whom the system does) and this side's certificate and key */
  char *ca, *cert, *key;
};

/* code: 0, or an errno: ECONNREFUSED: nobody answers there, ETIMEDOUT: not in time, EACCES: no TLS with it. status: of HTTP. `body` ends in a NUL and is
 * borrowed. The call is gone when this is called, once and never from inside. */
typedef void gd_http_fn(void *arg, int code, long status, const char *body);
/* One line of a body that does not end. */
typedef void gd_http_line_fn(void *arg, const char *line);

struct gd_http *gd_http_new(struct gi_reactor *r);
void gd_http_free(struct gd_http **h); /* calls under way end with ECANCELED; NULL is fine */

/* POSTs `body` to `path` of that place, which is lent. With `line` each line is handed over as it comes and the body is not kept.
 * timeout_ms 0: no limit, but for the connection. */
struct gd_http_call *gd_http_post(struct gd_http *h, const struct gd_http_place *to, const char *path, const char *body,
                                  unsigned timeout_ms, gd_http_line_fn *line, gd_http_fn *fn, void *arg);
void gd_http_cancel(struct gd_http_call **c); /* nobody is called; NULL is fine */

#endif
