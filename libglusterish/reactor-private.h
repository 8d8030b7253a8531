/* SPDX-License-Identifier: Apache-2.0
 *
 * What only observe.c may know of the real reactor: the event base, on which
 * libevent's HTTP server runs.
 */
#ifndef GI_REACTOR_PRIVATE_H
#define GI_REACTOR_PRIVATE_H

#include "libglusterish/reactor.h"

struct event_base;

/* Of the real reactor, which must outlive whatever runs on it; no other reactor has one. */
struct event_base *gi_reactor_event_base(struct gi_reactor *r);

#endif
