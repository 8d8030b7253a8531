/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of a connection share: conn.c (life, connecting), conn-rx.c
 * (reassembly of records), conn-tx.c (the send queue), net.c (addresses, the
 * kernel's sockets), conn-tls.c (the session between both, where there is TLS).
 */
#ifndef GI_CONN_PRIVATE_H
#define GI_CONN_PRIVATE_H

#include "rpc/conn.h"
#include "rpc/race.h"
#include "rpc/resolve.h"

#define CONN_MAGIC 0xc0221e01u

enum conn_state { CONN_CONNECTING, CONN_SHAKING, CONN_UP, CONN_CLOSED };

/* A record, or fragment of one, that did not fit where it began. Its bytes are first the tail of the buffer it began in
 * (`part`, from `part_at`), then `rest`. */
struct conn_big {
  struct gi_buf *part;
  size_t part_at, part_have, part_want;
  struct gi_buf *rest;
  size_t rest_have, rest_want;
  size_t moved;
  bool active, last;
  bool lowat; /* SO_RCVLOWAT is raised */
};

struct conn_rx {
  struct gi_buf *buf; /* NULL while nothing is held */
  size_t start, end;  /* received and not yet parsed */
  bool bulk;          /* a buffer was filled to its end once */
  struct conn_big big;
  struct gi_buf *gather; /* earlier fragments of a record of several */
  size_t gather_len;
  bool gathering;
  bool held; /* the connection was paused before all that had arrived was handed up */
};

struct conn_tx_item {
  const uint8_t *data;
  size_t len;
  struct gi_buf *buf; /* referenced; NULL: static bytes */
};

struct conn_tx {
  struct conn_tx_item *ring; /* `count` items from `first`, capacity a power of two */
  uint32_t first, count, capacity;
  struct gi_buf *arena; /* heads are copied here, one behind the other */
  size_t arena_used;
  uint64_t queued; /* bytes */
  bool full;       /* above the high-water mark; `drained` is due */
  bool blocked;    /* the socket took no more: waiting for writability */
  uint64_t since;  /* gi_now, while blocked: when that began */
  struct gi_defer flush;
};

struct conn_tls; /* conn-tls.c */

struct gi_conn {
  uint32_t magic;
  enum conn_state state;
  struct gi_reactor *r;
  const struct gi_net_ops *net;
  const struct gi_conn_ops *ops;
  void *arg;
  int fd;
  struct gi_io io;
  uint32_t record_max;
  bool paused;
  struct gi_defer resume; /* hands up what was held */
  bool free_pending;
  bool heard, said;     /* bytes came, and went */
  struct conn_tls *tls; /* NULL: plain */
  unsigned busy;        /* callbacks on the stack */
  struct conn_rx rx;
  struct conn_tx tx;
  uint64_t last_rx, last_tx;
  struct gi_defer closing;
  struct gi_error why;
  char peer[160];
  /* connecting */
  struct gi_race *race;
  struct gi_timer connect_timer;
  uint64_t connect_timeout;
};

/* conn.c */
void conn_check(const struct gi_conn *c); /* asserts what always holds between two calls */
void conn_watch(struct gi_conn *c);
void conn_enter(struct gi_conn *c);
bool conn_leave(struct gi_conn *c); /* false: the connection was freed */
void conn_fail(struct gi_conn *c, int code, const char *what);
void conn_end(struct gi_conn *c, int code, const char *why); /* as gi_conn_close, and what is queued is dropped */
void conn_up(struct gi_conn *c);                             /* inside conn_enter: the owner may be called */

/* conn-rx.c */
void conn_rx_ready(struct gi_conn *c); /* inside conn_enter */
void conn_rx_init(struct gi_conn *c);
void conn_rx_clear(struct gi_conn *c);
void conn_rx_feed(struct gi_conn *c, const uint8_t *bytes,
                  size_t len); /* as if received; GI_HEAD_MIN at most, nothing before it */

/* conn-tx.c */
void conn_tx_init(struct gi_conn *c);
void conn_tx_flush(struct gi_conn *c);
void conn_tx_clear(struct conn_tx *tx);

/* conn-tls.c */
void conn_tls_new(struct gi_conn *c, struct gi_tls *tls, bool server, bool plain_too);
void conn_tls_drop(struct gi_conn *c);                   /* none is fine */
void conn_tls_begin(struct gi_conn *c);                  /* the handshake; ends in conn_up or closes */
unsigned conn_tls_events(const struct gi_conn *c);       /* to be watched for while it lasts */
void conn_tls_ready(struct gi_conn *c, unsigned events); /* inside conn_enter */
/* In place of the carrier's, with the same results. A refusal closes the connection itself. */
ssize_t conn_tls_recv(struct gi_conn *c, const struct iovec *iov, int n);
ssize_t conn_tls_send(struct gi_conn *c, const struct iovec *iov, int n);
bool conn_tls_more(const struct gi_conn *c);      /* more can be had without the socket becoming readable; false: plain */
void conn_tls_hold(struct gi_conn *c, bool hold); /* what is there already is decrypted, the socket is not read */
bool conn_tls_last_words(struct gi_conn *c,
                         struct gi_error *why); /* sending failed: why the peer has refused us, if it said so */
void conn_tls_idle(struct gi_conn *c);          /* nothing waits to be sent */
void conn_tls_bye(struct gi_conn *c);           /* tells the peer that the stream ends; plain is fine */
#define CONN_TLS_HELD 16896u                    /* encrypted bytes that may be held of a record that is not complete */

/* net.c */
int net_unix(const char *path, struct gi_net_address *out, struct gi_error *err);
void net_text(const struct sockaddr_storage *sa, char *text, size_t size);
bool net_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
