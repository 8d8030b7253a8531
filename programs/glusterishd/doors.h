/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask the daemon for what, and how it knows who asks.
 */
#ifndef GD_DOORS_H
#define GD_DOORS_H

#include "programs/glusterishd/glusterishd.h"
#include "rpc/client-key.h"
#include "rpc/rpc-server.h"

/* ---- peer.c ---- */

/* the other end of a connection from this machine */
struct gd_peer {
  unsigned uid;
  unsigned long inode; /* of its socket */
};
/* Looks it up; false when it is another machine's, or has been closed meanwhile. */
bool gd_peer_look(const struct gi_conn *c, struct gd_peer *p);
bool gd_peer_is_process(const struct gd_peer *p, pid_t pid); /* does that process hold it? */

/* ---- doors.c ---- */

extern const struct gi_rpc_server_ops
    gd_door_ops; /* for every server of the daemon: what is known of a peer, once per connection */

/* May `req` ask for that? A refusal that the asker is told about is logged; whoever merely gets less passes
 * quiet. `b`: the brick it is about, or NULL. */
bool gd_door_open(struct gd *gd, const struct gi_rpc_request *req, enum gd_ask ask, const struct gd_brick *b, bool quiet);
/* Not: then it is answered as if what it asked for did not exist. */
bool gd_door_closed(struct gd *gd, struct gi_rpc_request *req, enum gd_ask ask);
/* The peer spoke for the brick: it may sign it out although nobody can see any more, at its end, which process it is. */
void gd_door_remember(const struct gi_rpc_request *req, const struct gd_brick *b);

/* A word for this connection alone, that whoever knows a secret answers; the same every time. Borrowed. */
const char *gd_door_challenge(struct gd *gd, const struct gi_rpc_request *req);
/* Does the asker know the secret of the pool? Then it is a node of it from now on, and `mac` (GD_MAC_TEXT bytes) is this node's own
 * proof. */
bool gd_door_prove(struct gd *gd, const struct gi_rpc_request *req, const char *uuid, const char *nonce, const char *proof,
                   char *mac);
/* The node that has proved itself on this connection; NULL: none. */
const struct gi_gfid *gd_door_node(const struct gi_rpc_request *req);

/* What was proved of client keys on this connection. */
struct gi_key_door *gd_door_key(const struct gi_rpc_request *req);

/* What comes along with the question for a volfile. */
struct gd_shown {
  const char *volfile;      /* its key, as it was asked for */
  const struct gi_dict *in; /* may be NULL */
  struct gi_dict *out;      /* of the answer: what the asker is to prove */
};

/* doors-volume.c: may the volfile of this volume be given to who asks for it? Tells the log if not. */
bool gd_door_may_mount(struct gd *gd, const struct gi_rpc_request *req, const struct gd_volume *v,
                       const struct gd_shown *shown);
/* The same of its id and the ports of its bricks, which daemons of other nodes ask for, too. */
bool gd_door_may_find(struct gd *gd, const struct gi_rpc_request *req, const struct gd_volume *v);

#endif
