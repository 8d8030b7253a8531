/* SPDX-License-Identifier: Apache-2.0
 *
 * Small management calls shared by programs: GETSPEC and PORTMAP from the
 * client's side (wire.md 6, 7; mgmt-protocol.md 3, 4).
 */
#ifndef GI_HANDSHAKE_H
#define GI_HANDSHAKE_H

#include "libglusterish/graph.h"
#include "rpc/rpc-client.h"

/* The management connection of a glusterishfs process: fetches the volfile `key` from whichever host answers first, stays connected
 * with it, fetches again on FETCHSPEC and after a reconnect, to another host if this one is gone, silent or knows the volume no more,
 * and calls `volfile` with each text that differs from the last one. */
struct gi_mgmt;
struct gi_mgmt_ops {
  void (*volfile)(void *arg, const char *text, size_t len);
  /* Before the first volfile came. ENOTCONN: in a round over all hosts none could be reached, or they hung up; the next round begins by
   * itself. Anything else: no host knows better than the one that refused (op_errno, e.g. ENOENT: no such volume). */
  void (*failed)(void *arg, int err, const char *text);
  void (*statedump)(void *arg, int32_t pid); /* STATEDUMP callback, for the process of that number; 0: for all */
  void (*news)(void *arg);                   /* FETCHSPEC callback: something changed, perhaps a brick has come; may be NULL */
};
struct gi_mgmt *gi_mgmt_new(struct gi_ctx *ctx, const char *const *hosts, unsigned nhosts, int port, const char *key,
                            const struct gi_mgmt_ops *ops, void *arg);
/* Bricks: SIGNIN (name, port) now and after every reconnect. gi_mgmt_free sends SIGNOUT: from then on nobody is sent to a port that
 * is about to close, and the daemon knows that the process is on its way out. */
void gi_mgmt_signin(struct gi_mgmt *m, const char *brick, int port);
void gi_mgmt_free(struct gi_mgmt **m);

#endif
