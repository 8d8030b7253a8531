/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling side of RPC over one connection at a time: transaction ids, a
 * table of outstanding calls, call timeouts, pings, reconnect with backoff and
 * a budget of bytes in flight (wire.md 1.4, 1.9, 7).
 */
#ifndef GI_RPC_CLIENT_H
#define GI_RPC_CLIENT_H

#include "rpc/conn.h"
#include "rpc/message.h"

struct gi_rpc_client;

/* The answer to a call. On transport failure `status` is -ENOTCONN or -ETIMEDOUT and the rest is empty; else 0 and `accept` is
 * the accept status, `in` stands at the results and `rec` is the record for payload slicing (results start at
 * rec offset `body_offset`). A denied call has status -EACCES. `in` covers everything that must be contiguous: all of the record,
 * or, when a READ's payload follows, at least the XDR part. */
struct gi_rpc_reply {
  int status;
  uint32_t accept;
  struct gi_xdr_in in;
  struct gi_record *rec;
  size_t body_offset;
};

typedef void gi_rpc_reply_fn(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg);

struct gi_rpc_client_ops {
  void (*up)(struct gi_rpc_client *c, void *arg); /* connected; nothing but `handshake` calls may be sent yet */
  void (*down)(struct gi_rpc_client *c,
               void *arg); /* connection lost or connect failed; outstanding calls were answered before */
  void (*callback)(struct gi_rpc_client *c, const struct gi_call_header *h, struct gi_xdr_in *in,
                   void *arg);                                   /* CALLBACK program */
  void (*pong)(struct gi_rpc_client *c, uint64_t ns, void *arg); /* a ping was answered after that long; may be NULL */
};

struct gi_rpc_client_stats {
  uint64_t calls, replies, timeouts, pings, ping_timeouts, reconnects, inflight_calls, inflight_bytes, budget_waits;
};

extern const struct gi_metric gi_rpc_client_metrics[]; /* names its members */

struct gi_rpc_client_config {
  const char *name;                            /* log domain */
  uint64_t ping_timeout_s;                     /* 0 = no pings; one goes every ping_timeout/4 while calls are outstanding */
  uint64_t call_timeout_s;                     /* frame-timeout; 0 = none. Calls marked may_wait are exempt */
  uint64_t inflight_bytes_max;                 /* further calls wait in order; 0 = unlimited */
  uint64_t reconnect_min_ms, reconnect_max_ms; /* backoff, doubled each failure, with jitter */
  struct gi_keepalive keepalive;               /* of the connection, live; not `on`: as sockets are made */
  struct gi_tls *tls;                          /* of connections to come, but for unix sockets; referenced. NULL: plain */
};

struct gi_rpc_client *gi_rpc_client_new(struct gi_reactor *r, const struct gi_rpc_client_config *cfg,
                                        const struct gi_rpc_client_ops *ops, void *arg);
/* Outstanding calls are answered with -ENOTCONN first; no other callback follows. Allowed inside the client's own callbacks. */
void gi_rpc_client_free(struct gi_rpc_client **c);
void gi_rpc_client_set_config(struct gi_rpc_client *c, const struct gi_rpc_client_config *cfg); /* live */

void gi_rpc_client_set_tls(struct gi_rpc_client *c, struct gi_tls *tls); /* of the configuration alone; referenced */

/* Connect now to host:port (or unix path); ends in `up` or `down`, never before this returns. A connection that still exists is
 * dropped without `down`; its outstanding calls are answered with -ENOTCONN. */
void gi_rpc_client_connect(struct gi_rpc_client *c, const char *host, int port);
/* The same to whichever of n hosts takes the connection first; none is a path. */
void gi_rpc_client_connect_any(struct gi_rpc_client *c, const char *const *hosts, unsigned n, int port);
/* Calls fn after the current backoff delay: the owner then decides where to connect (portmap first). Connecting by hand before
 * that cancels it. */
void gi_rpc_client_retry_later(struct gi_rpc_client *c, void (*fn)(struct gi_rpc_client *c, void *arg));
/* The same within 20 ms, and the backoff begins anew: whoever calls has heard that it may work now, and others hear it at once. */
void gi_rpc_client_retry_soon(struct gi_rpc_client *c, void (*fn)(struct gi_rpc_client *c, void *arg));
void gi_rpc_client_reset_backoff(struct gi_rpc_client *c); /* after a successful handshake */
void gi_rpc_client_disconnect(struct gi_rpc_client *c, const char *why);
/* Sends a ping now unless one is under way; only while connected. */
void gi_rpc_client_ping(struct gi_rpc_client *c);
bool gi_rpc_client_connected(const struct gi_rpc_client *c);
const struct gi_conn *gi_rpc_client_conn(const struct gi_rpc_client *c);
const struct gi_rpc_client_stats *gi_rpc_client_stats(const struct gi_rpc_client *c);

/* One call. The caller encodes header and arguments into one buffer:
 *   struct gi_xdr_out out = {0};
 *   uint32_t xid = gi_rpc_call_begin(c, &out, prog, vers, proc, flavour, caller);
 *   …encode arguments…
 *   gi_rpc_call_send(c, xid, &out, payload_or_NULL, may_wait, fn, arg);   // consumes out
 * fn runs exactly once, never from inside gi_rpc_call_send. */
uint32_t gi_rpc_call_begin(struct gi_rpc_client *c, struct gi_xdr_out *out, uint32_t prog, uint32_t vers, uint32_t proc,
                           uint32_t flavour, const struct gi_caller *caller);
void gi_rpc_call_send(struct gi_rpc_client *c, uint32_t xid, struct gi_xdr_out *out, const struct gi_payload *payload,
                      bool may_wait, gi_rpc_reply_fn *fn, void *arg);

#endif
