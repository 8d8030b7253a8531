/* SPDX-License-Identifier: Apache-2.0
 *
 * A socket to one of several addresses: they are tried in order, each a moment
 * after the one before or as soon as that has failed, and the first that takes
 * the connection has won (RFC 8305). So a dead one among them costs no timeout.
 * Those of a name come when it has been looked up: nobody waits for that who
 * has an address.
 */
#ifndef GI_RACE_H
#define GI_RACE_H

#include "rpc/resolve.h"

#define GI_ADDRESSES 8                           /* that are tried, and hosts; further ones are not */
#define GI_RACE_STAGGER (250 * GI_NSEC_PER_MSEC) /* after which the next one is tried, too */

struct gi_race;

/* fd: the socket, which is the owner's from now on, to the address `to`; -1: none was taken, and err says what became of the last one.
 * The race is gone when this is called, once and never from inside; both are lent for the call. */
typedef void gi_race_fn(void *arg, int fd, const struct gi_net_address *to, const struct gi_error *err);

/* n hosts: an address, a name or the path of a unix socket each, copied. Each address has `limit` ns, and so has each lookup of a name.
 * NULL and err: all failed at once. */
struct gi_race *gi_race_start(struct gi_reactor *r, const char *const *hosts, unsigned n, int port, uint64_t limit,
                              gi_race_fn *fn, void *arg, struct gi_error *err);
void gi_race_set_limit(struct gi_race *race, uint64_t limit); /* from now on */
void gi_race_stop(struct gi_race **race);                     /* nobody is called; NULL is fine */

#endif
