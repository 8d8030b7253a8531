/* SPDX-License-Identifier: Apache-2.0
 *
 * A socket to one of several addresses: they are tried in order, each a moment
 * after the one before or as soon as that has failed, and the first that takes
 * the connection has won (RFC 8305). So a dead one among them costs no timeout.
 */
#ifndef GI_RACE_H
#define GI_RACE_H

#include "rpc/resolve.h"

#define GI_ADDRESSES 8                           /* that are tried; further ones are not */
#define GI_RACE_STAGGER (250 * GI_NSEC_PER_MSEC) /* after which the next one is tried, too */

struct gi_race;

/* fd: the socket, which is the owner's from now on, to the address `to`; -1: none was taken, and err says what became of the last one.
 * The race is gone when this is called, once and never from inside; both are lent for the call. */
typedef void gi_race_fn(void *arg, int fd, const struct gi_net_address *to, const struct gi_error *err);

/* The first GI_ADDRESSES of n addresses, which are copied; each has `limit` ns. NULL and err: all failed at once. */
struct gi_race *gi_race_start(struct gi_reactor *r, const struct gi_net_address *address, unsigned n, uint64_t limit,
                              gi_race_fn *fn, void *arg, struct gi_error *err);
void gi_race_set_limit(struct gi_race *race, uint64_t limit); /* from now on */
void gi_race_stop(struct gi_race **race);                     /* nobody is called; NULL is fine */

#endif
