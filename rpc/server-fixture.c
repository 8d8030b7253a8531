/* SPDX-License-Identifier: Apache-2.0
 *
 * The server of server-fixture.h.
 */
#include "rpc/server-fixture.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

void
bench_echo(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  uint32_t v = gi_xdr_get_u32(&req->in);
  ((struct bench *)arg)->echoed++;
  if (req->in.failed) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, v + req->caller.uid);
  gi_rpc_answer_send(req, &out, NULL);
}

void
bench_hold(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct bench *b = arg;
  assert_true(b->nheld < HELD_MAX);
  b->held[b->nheld++] = req;
}

static void
peer_up(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg)
{
  struct bench *b = arg;
  b->peers_up++;
  b->peer = p;
  gi_rpc_peer_set_private(p, b);
}

static void
peer_down(struct gi_rpc_server *s, struct gi_rpc_peer *p, void *arg)
{
  struct bench *b = arg;
  assert_ptr_equal(gi_rpc_peer_private(p), b);
  b->peers_down++;
  b->peer = NULL;
}

static const struct gi_rpc_server_ops server_ops = {peer_up, peer_down};

void
bench_listen(struct bench *b, const struct gi_rpc_program *const *programs, const struct gi_rpc_limits *limits)
{
  struct gi_error err;
  b->server = gi_rpc_server_new(b->r, "test", &server_ops, b);
  for (; *programs; programs++)
    gi_rpc_server_add_program(b->server, *programs);
  if (limits)
    gi_rpc_server_set_limits(b->server, limits);
  if (gi_rpc_server_listen(b->server, "127.0.0.1", b->port, 16, &err) < 0)
    fail_msg("%s", err.text);
  b->port = gi_rpc_server_port(b->server);
}

struct bench *
bench_of_server(const struct gi_rpc_limits *limits)
{
  static gi_rpc_handler *const handlers[] = {[ECHO] = bench_echo, [HOLD] = bench_hold};
  static const struct gi_rpc_program program = {"test", PROG, 3, GI_ARRAY_LEN(handlers), handlers};
  struct bench *b = gi_new(struct bench);
  b->r = gi_reactor_new(0);
  bench_listen(b, (const struct gi_rpc_program *const[]){&program, NULL}, limits);
  return b;
}

void
bench_free(struct bench *b)
{
  gi_rpc_client_free(&b->client);
  gi_rpc_server_free(&b->server);
  gi_reactor_free(b->r);
  assert_int_equal(b->peers_up, b->peers_down);
  gi_free(b);
}

void
until(struct bench *b, const unsigned *what, unsigned want)
{
  uint64_t end = gi_now(b->r) + 5 * SEC;
  while (*what < want && gi_now(b->r) < end)
    gi_reactor_turn(b->r, 10 * GI_NSEC_PER_MSEC);
  assert_true(*what >= want);
}

void
turns(struct bench *b, uint64_t ns)
{
  uint64_t end = gi_now(b->r) + ns;
  do
    gi_reactor_turn(b->r, GI_NSEC_PER_MSEC);
  while (gi_now(b->r) < end);
}

void
answer_held(struct bench *b)
{
  struct gi_xdr_out out = {0};
  assert_true(b->nheld > 0);
  struct gi_rpc_request *req = b->held[0];
  memmove(b->held, b->held + 1, --b->nheld * sizeof(b->held[0]));
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, 4711);
  gi_rpc_answer_send(req, &out, NULL);
}

int
raw_connect(struct bench *b)
{
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)b->port)};
  struct timeval patience = {0, 200000};
  int one = 1;
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
  return fd;
}
