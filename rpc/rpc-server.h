/* SPDX-License-Identifier: Apache-2.0
 *
 * The answering side of RPC: listeners, accepted connections, program tables,
 * the answers to bad calls of wire.md 1.3. DUMP (DUMP and PING) is built in
 * and is answered on the reactor even while every worker is busy.
 */
#ifndef GI_RPC_SERVER_H
#define GI_RPC_SERVER_H

#include "rpc/conn.h"
#include "rpc/message.h"

struct gi_rpc_server;
struct gi_rpc_peer; /* one accepted connection */

/* A call being served. Owned by the handler, which answers it exactly once with one of the gi_rpc_answer functions, or drops
 * it. Stays valid after the peer is gone (the answer is then discarded). */
struct gi_rpc_request {
  struct gi_rpc_peer *peer;     /* NULL once the connection is gone */
  struct gi_call_header header; /* header.cred only inside the handler */
  struct gi_caller caller;      /* decoded credentials */
  uint32_t groups[GI_GROUPS_MAX];
  struct gi_xdr_in in;   /* at the arguments; only valid inside the handler. Covers the whole record, or for WRITE at least the
                               XDR part: the payload is sliced out of rec */
  struct gi_record *rec; /* only valid inside the handler */
  size_t body_offset;    /* of the arguments in rec */
  struct gi_list link;   /* the server's */
  struct gi_rpc_server *server; /* the server's; NULL once that is gone */
  uint64_t bytes;               /* the server's: of the record, and what the answer may need, for back pressure */
  bool counted;                 /* the server's: among the calls that may be outstanding */
};

/* `arg` is that of gi_rpc_server_new. */
typedef void gi_rpc_handler(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg);

struct gi_rpc_program {
  const char *name; /* as in the DUMP reply */
  uint32_t prog, vers;
  uint32_t nprocs;
  gi_rpc_handler *const *handler; /* by procedure; NULL = procedure unavailable */
};

struct gi_rpc_server_ops {
  void (*peer_up)(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg);   /* may set gi_rpc_peer_set_private */
  void (*peer_down)(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg); /* p is freed when this returns */
};

#define GI_PEERS_MAX 4096                      /* connections of one server; further ones are closed at once */
#define GI_PEERS_OF_ADDRESS (GI_PEERS_MAX / 2) /* and of one address */
#define GI_STRANGERS_OF_ADDRESS 256            /* of them not admitted yet: another one takes the place of the oldest */
#define GI_HALF_OPEN_OF_ADDRESS 64             /* of them in a TLS handshake: likewise */

/* What a connection may do before gi_rpc_peer_admit, and after. Without them everybody is admitted at once. */
struct gi_rpc_limits {
  uint32_t stranger_record; /* bytes of its longest record */
  uint32_t record;          /* the same once it is admitted */
  uint64_t stranger_ns;     /* then it is closed; 0 = never */
  bool admit_callers;       /* whoever is served a call, other than of DUMP, is admitted */
};

/* The server stops reading a peer that has more than the allowed bytes of requests being served, or that does not read its
 * answers. Freeing it drops
 * every connection (peer_down is called for each); requests still held by handlers stay valid and their answers are discarded.
 * Not to be freed from inside a handler or peer callback. */
struct gi_rpc_server *gi_rpc_server_new(struct gi_reactor *r, const char *name, const struct gi_rpc_server_ops *ops, void *arg);
void gi_rpc_server_free(struct gi_rpc_server **s);
void gi_rpc_server_add_program(struct gi_rpc_server *s, const struct gi_rpc_program *prog);
GI_MUST_CHECK int gi_rpc_server_listen(struct gi_rpc_server *s, const char *host_or_path, int port, int backlog,
                                       struct gi_error *err);
int gi_rpc_server_port(const struct gi_rpc_server *s); /* of the first TCP listener; 0 = none */
/* Bounded: bytes of requests being served per peer above which its connection is not read (default 64 MiB). */
void gi_rpc_server_set_inflight_max(struct gi_rpc_server *s, uint64_t bytes);
/* The same over all peers together, those that are gone included (default 512 MiB; 0 = no limit): who has less than an equal share of it
 * is read all the same, so nobody is shut out by what others do. */
void gi_rpc_server_set_total_max(struct gi_rpc_server *s, uint64_t bytes);
/* The same for calls that were charged: their number; 0 (the start) = no limit. It does not hold while nothing moves. */
void gi_rpc_server_set_outstanding_max(struct gi_rpc_server *s, unsigned calls);
/* By the handler of `req`, before it answers: what the answer may take in bytes. Once for each request at most. Calls that may wait
 * for others of the same peer are not charged. */
void gi_rpc_charge(struct gi_rpc_request *req, uint64_t answer_bytes);
/* For the connections to come. When there are too many the oldest stranger goes first. */
void gi_rpc_server_set_limits(struct gi_rpc_server *s, const struct gi_rpc_limits *limits);
/* Of TCP connections to come: TLS, and who speaks plainly is refused unless plain_too. NULL: plain ones only. */
void gi_rpc_server_set_tls(struct gi_rpc_server *s, struct gi_tls *tls, bool plain_too);
void gi_rpc_peer_admit(struct gi_rpc_peer *p);                           /* no stranger any more; again is fine */
void gi_rpc_server_require_privileged(struct gi_rpc_server *s, bool on); /* deny source ports >= 1024 */
void gi_rpc_server_foreach_peer(struct gi_rpc_server *s, void (*fn)(struct gi_rpc_peer *p, void *arg), void *arg);

void *gi_rpc_peer_private(const struct gi_rpc_peer *p);
void gi_rpc_peer_set_private(struct gi_rpc_peer *p, void *private_);
struct gi_conn *gi_rpc_peer_conn(struct gi_rpc_peer *p);

/* Answers and frees `req`. The results were encoded behind the header:
 *   struct gi_xdr_out out = {0}; gi_rpc_answer_begin(req, &out); …; gi_rpc_answer_send(req, &out, payload); */
void gi_rpc_answer_begin(struct gi_rpc_request *req, struct gi_xdr_out *out);
/* An answer longer than GI_RECORD_MAX is replaced by a system error. */
void gi_rpc_answer_send(struct gi_rpc_request *req, struct gi_xdr_out *out, const struct gi_payload *payload);
void gi_rpc_answer_status(struct gi_rpc_request *req, uint32_t accept_status); /* GI_RPC_GARBAGE … */
void gi_rpc_drop(struct gi_rpc_request *req);                                  /* no answer */

/* A callback (CALL message without answer) on the peer's connection, which is closed if it does not read them; consumes out's arguments, which were encoded after
 * gi_rpc_callback_begin. */
void gi_rpc_callback_begin(struct gi_rpc_peer *p, struct gi_xdr_out *out, uint32_t proc);
void gi_rpc_callback_send(struct gi_rpc_peer *p, struct gi_xdr_out *out);

#endif
