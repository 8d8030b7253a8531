/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses of a host's name, found on a worker. A name service that is
 * dead keeps a worker for long: one for each name is enough, so whoever wants a
 * name for which nobody waits any more waits for the lookup that is under way.
 */
#ifndef GI_RESOLVE_H
#define GI_RESOLVE_H

#include "rpc/net.h"

struct gi_resolve;

/* `address`: all that it has, n of them, lent for the call; n 0: there are none, and err says why. The lookup is gone when this is called, once and never
 * from inside. */
typedef void gi_resolved_fn(void *arg, const struct gi_net_address *address, unsigned n, const struct gi_error *err);

/* The addresses of the name with that port. There is no limit of time: whoever does not wait any longer cancels. */
struct gi_resolve *gi_resolve_start(struct gi_reactor *r, const char *host, int port, gi_resolved_fn *fn, void *arg);
void gi_resolve_cancel(struct gi_resolve **res); /* nobody is called; NULL is fine */

#endif
