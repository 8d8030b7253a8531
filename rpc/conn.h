/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection: an ONC RPC record stream over TCP, perhaps in TLS, or a unix
 * socket (wire.md 1). It reassembles records, hands each complete message up with its
 * payload in place, and gathers what is sent in one reactor turn into one
 * sendmsg.
 *
 * Receiving: one bounded recv brings a header and every small message behind
 * it into a shared reference-counted buffer; messages are decoded where they
 * lie and payload stays there as slices. When a record is longer than the rest
 * of the buffer its remainder is received straight into a buffer of its own.
 * Nothing is copied but the head of a record that must be contiguous to be
 * decoded.
 */
#ifndef GI_CONN_H
#define GI_CONN_H

#include "libglusterish/error.h"
#include "libglusterish/metrics.h"
#include "libglusterish/payload.h"
#include "libglusterish/reactor.h"
#include "rpc/tls.h"
#include "rpc/xdr.h"

#include <sys/socket.h>

#define GI_RECORD_MAX (64u << 20) /* a longer record closes the connection */

struct gi_conn;

/* How soon a TCP connection ends whose peer is no more. Seconds; 0 leaves what the system has. */
struct gi_keepalive {
  bool on;                 /* an idle connection is probed */
  unsigned idle_s;         /* until the first probe */
  unsigned interval_s;     /* between two probes */
  unsigned probes;         /* without an answer: the connection ends */
  unsigned user_timeout_s; /* for which sent data may stay unacknowledged, or unread behind a full window */
};

/* A received record: `record` is all of it (slices by reference, valid until the callback returns; a receiver keeps parts with
 * gi_payload_slice). `head` is its first slice: at least min(record, GI_HEAD_MIN) bytes, contiguous, where they were received.
 * What must be contiguous beyond that is gathered by gi_record_linearize. */
struct gi_record {
  struct gi_payload record;
  const uint8_t *head;
  size_t head_len;
  size_t moved; /* leading bytes that were copied on the way, for the counter payload_bytes_copied */
};

#define GI_HEAD_MIN 16384u

/* Makes the first min(record, len) bytes contiguous (SIZE_MAX: all), by copy if they are not. */
void gi_record_linearize(struct gi_record *rec, size_t len);
/* Accounts the payload that begins at `offset` of the record (payload_bytes, payload_bytes_copied). */
void gi_record_count_payload(const struct gi_record *rec, size_t offset);

struct gi_conn_ops {
  /* One complete record. May close the connection, or free it: then nothing more is called. */
  void (*record)(struct gi_conn *c, struct gi_record *rec, void *arg);
  /* Non-blocking connect succeeded. */
  void (*connected)(struct gi_conn *c, void *arg);
  /* The stream ended: peer closed, error, bad record mark (`why` says), or the connect failed. Called exactly once unless the
   * owner frees the connection first, never from inside a gi_conn function; the owner then calls gi_conn_free. */
  void (*closed)(struct gi_conn *c, const struct gi_error *why, void *arg);
  /* The send queue fell below its low-water mark after being above the high one. May be NULL. */
  void (*drained)(struct gi_conn *c, void *arg);
};

/* exported as the counters of the same names */
struct gi_conn_stats {
  uint64_t recv_calls;    /* recv/readv system calls that returned data */
  uint64_t messages;      /* records received */
  uint64_t payload_bytes; /* payload received */
  uint64_t send_calls;
  uint64_t bytes_in, bytes_out;
  uint64_t connections, opened; /* that exist, also those that are being made; ever */
  uint64_t tls_handshakes, tls_refusals;
  uint64_t tls_records_in, tls_records_out;
  uint64_t tls_copied; /* bytes */
};
extern struct gi_conn_stats gi_conn_totals;      /* of the process */
extern const struct gi_metric gi_conn_metrics[]; /* names its members */

/* Starts a non-blocking connect to HOST:PORT (numeric, or a name; a name is resolved with getaddrinfo, loopback names at once)
 * or to a unix path (host starts with '/'). NULL and err if it fails at once. */
struct gi_conn *gi_conn_connect(struct gi_reactor *r, const char *host, int port, const struct gi_conn_ops *ops, void *arg,
                                struct gi_error *err);
/* The same to whichever of n hosts takes the connection first (race.h): they are one machine's, or the owner sees whose it is. */
struct gi_conn *gi_conn_connect_any(struct gi_reactor *r, const char *const *hosts, unsigned n, int port,
                                    const struct gi_conn_ops *ops, void *arg, struct gi_error *err);
/* Wraps an accepted socket. */
struct gi_conn *gi_conn_accept(struct gi_reactor *r, int fd, const struct gi_conn_ops *ops, void *arg);
/* Queues one record: the record mark is added. `head` is copied, `payload` (may be NULL) is referenced until sent. Leaves at
 * the end of the turn. Never fails: on a dead connection it is dropped and `closed` follows. */
void gi_conn_send(struct gi_conn *c, const void *head, size_t head_len, const struct gi_payload *payload);
/* Closes now (what is queued is given one last chance to leave); `closed` is called from a deferred call with `why`. */
void gi_conn_close(struct gi_conn *c, int code, const char *why);
void gi_conn_free(struct gi_conn **c); /* any time, also inside its callbacks; NULL is fine */
/* Stops reading: back pressure. Records that have arrived already are not handed up either, until it is over. */
void gi_conn_pause(struct gi_conn *c, bool paused);
/* Right after gi_conn_connect or gi_conn_accept: TLS from the first byte on (wire.md 1.10). `connected` follows on the accepted side
 * too, when the handshake is over; what is sent earlier waits for it. It has 10 s. Whoever is refused is closed with a code of
 * gi_tls_is_refusal and a text that says why. plain_too, where it was accepted: a peer that speaks RPC at once is served without. */
void gi_conn_set_tls(struct gi_conn *c, struct gi_tls *tls, bool plain_too);
bool gi_conn_shaking(const struct gi_conn *c); /* the handshake is not over */
/* The common name of the peer's certificate, which was verified; "" if it has none. NULL: no TLS, or not yet. */
const char *gi_conn_tls_name(const struct gi_conn *c);
/* What only the two ends of this connection in TLS know, the same at both: a proof that contains it is worth nothing on another one.
 * False: there is no TLS, or one older than 1.3, whose sessions can be made to look alike. */
#define GI_TLS_BINDING 32 /* bytes */
bool gi_conn_tls_binding(const struct gi_conn *c, uint8_t binding[GI_TLS_BINDING]);
void gi_conn_set_record_max(struct gi_conn *c, uint32_t bytes); /* longer records close it; at first GI_RECORD_MAX */
/* When a TCP connection is up, any time; sockets are made with what suits a peer in a machine room. A connection that is not TCP, and one
 * whose carrier has nothing of the kind, stays as it is. */
void gi_conn_set_keepalive(struct gi_conn *c, const struct gi_keepalive *k);
void gi_conn_set_connect_timeout(struct gi_conn *c,
                                 uint64_t ns);    /* of each address, and of finding them, until then; at first 15 s */
uint64_t gi_conn_queued(const struct gi_conn *c); /* bytes waiting to be sent */
/* ns for which there were always some, because the peer takes less than it is sent; 0: there are none, or the socket takes all. */
uint64_t gi_conn_behind(const struct gi_conn *c);
bool gi_conn_full(const struct gi_conn *c); /* above the high-water mark of 4 MiB since the queue was last below 1 MiB */
uint64_t gi_conn_last_activity(const struct gi_conn *c); /* gi_now of the last byte received or sent */
uint64_t gi_conn_last_received(const struct gi_conn *c); /* of the last byte received, or of the connect */
const char *gi_conn_peer(const struct gi_conn *c);       /* "127.0.0.1:49152" or "unix:PATH" */
bool gi_conn_peer_address(const struct gi_conn *c, struct sockaddr_storage *sa);
bool gi_conn_local_address(const struct gi_conn *c, struct sockaddr_storage *sa);

/* A listening socket: host NULL or "" = every address; a host that starts with '/' is a unix path (a stale socket there is
 * removed, as is ours by gi_listener_free) of mode 0600, and whoever is neither root nor the user of this process is refused.
 * port 0 = any. `fn` gets each accepted fd, which it owns. */
struct gi_listener;
struct gi_listener *gi_listener_new(struct gi_reactor *r, const char *host_or_path, int port, int backlog,
                                    void (*fn)(void *arg, int fd), void *arg, struct gi_error *err);
int gi_listener_port(const struct gi_listener *l);
void gi_listener_free(struct gi_listener **l);

#endif
