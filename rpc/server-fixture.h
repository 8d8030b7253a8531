/* SPDX-License-Identifier: Apache-2.0
 *
 * An RPC server over loopback for tests: it answers at once, or keeps what it
 * is asked until the test says so.
 */
#ifndef RPC_SERVER_BENCH_H
#define RPC_SERVER_BENCH_H

#include "libglusterish/mem.h"
#include "rpc/rpc-client.h"
#include "rpc/rpc-server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELD_MAX 64
#define PROG 77
#define SEC GI_NSEC_PER_SEC

enum { ECHO = 1, HOLD = 2, BIG = 3, DROP = 4, VAST = 5 }; /* procedures of PROG; the first two are served here */

struct bench {
  struct gi_reactor *r;
  struct gi_rpc_server *server;
  int port; /* 0 = any free one, until it listens */
  unsigned peers_up, peers_down;
  struct gi_rpc_peer *peer; /* the last one that came; NULL: it has gone */
  struct gi_rpc_request *held[HELD_MAX];
  unsigned nheld, echoed;
  /* of the test's own client, if it has one */
  struct gi_rpc_client *client;
  unsigned ups, downs, callbacks, retries, written;
  uint32_t callback_arg;
  bool free_on_down;
};

gi_rpc_handler bench_echo; /* its argument plus the caller's uid */
gi_rpc_handler bench_hold;

/* A server of `programs` (NULL at the end), which get the bench as their argument, listening at b->port. */
void bench_listen(struct bench *b, const struct gi_rpc_program *const *programs, const struct gi_rpc_limits *limits);
/* A bench with a server of PROG that echoes and holds. */
struct bench *bench_of_server(const struct gi_rpc_limits *limits);
void bench_free(struct bench *b);                                 /* the client too; every peer must have gone */
void until(struct bench *b, const unsigned *what, unsigned want); /* turns until it is at least that */
void turns(struct bench *b, uint64_t ns);                         /* for so long, and once at least */
void answer_held(struct bench *b);                                /* the oldest */
int raw_connect(struct bench *b);                                 /* a bare socket to the server; blocks for 0.2 s at most */

#endif
