/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes that all peers of an RPC server may have under way together: who
 * has more than an equal share of them is not read, everybody else is.
 */
#include "rpc/server-fixture.h"

#define SIZE 100000u /* of a request */
#define CLIENTS 3

struct clients {
  struct bench *b;
  struct gi_rpc_client *client[CLIENTS];
  struct gi_rpc_peer *peer[CLIENTS];
  unsigned answers[CLIENTS];
};

static void
up(struct gi_rpc_client *c, void *arg)
{
}

static void
down(struct gi_rpc_client *c, void *arg)
{
}

static void
begin(struct clients *c, uint64_t total)
{
  static const struct gi_rpc_client_config config = {.name = "c", .reconnect_min_ms = 20, .reconnect_max_ms = 100};
  static const struct gi_rpc_client_ops ops = {.up = up, .down = down};
  *c = (struct clients){.b = bench_of_server(NULL)};
  gi_rpc_server_set_total_max(c->b->server, total);
  for (unsigned i = 0; i < CLIENTS; i++) {
    c->client[i] = gi_rpc_client_new(c->b->r, &config, &ops, c);
    gi_rpc_client_connect(c->client[i], "127.0.0.1", c->b->port);
    until(c->b, &c->b->peers_up, i + 1);
    c->peer[i] = c->b->peer;
    turns(c->b, SEC / 100);
  }
}

static void
end(struct clients *c)
{
  for (unsigned i = 0; i < CLIENTS; i++)
    gi_rpc_client_free(&c->client[i]);
  bench_free(c->b);
}

static void
answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  ++*(unsigned *)arg;
}

static void
ask(struct clients *c, unsigned i, unsigned times, size_t size)
{
  static const uint8_t nothing[SIZE];
  while (times-- > 0) {
    struct gi_xdr_out out = {0};
    uint32_t xid = gi_rpc_call_begin(c->client[i], &out, PROG, 3, HOLD, GI_AUTH_V3, NULL);
    gi_xdr_put_bytes(&out, nothing, size);
    gi_rpc_call_send(c->client[i], xid, &out, NULL, false, answered, &c->answers[i]);
  }
  turns(c->b, SEC / 10);
}

static unsigned
under_way(const struct clients *c, unsigned i)
{
  unsigned n = 0;
  for (unsigned j = 0; j < c->b->nheld; j++)
    n += c->b->held[j]->peer == c->peer[i];
  return n;
}

static void
test_a_greedy_peer_leaves_room(void **state)
{
  struct clients c;
  begin(&c, 6 * SIZE);
  ask(&c, 0, 20, SIZE);
  assert_int_equal(under_way(&c, 0), 6); /* with their headers that is more than all may have */
  ask(&c, 1, 20, SIZE);
  assert_int_equal(under_way(&c, 1), 2); /* its share of a third, and the one that goes beyond */
  ask(&c, 2, 1, 100);
  assert_int_equal(under_way(&c, 2), 1);
  for (unsigned i = 0; i < 41; i++) {
    until(c.b, &c.b->nheld, 1);
    answer_held(c.b);
  }
  until(c.b, &c.answers[0], 20);
  until(c.b, &c.answers[1], 20);
  until(c.b, &c.answers[2], 1);
  end(&c);
}

/* The limit may change at any time. */
static void
test_no_limit_and_a_new_one(void **state)
{
  struct clients c;
  begin(&c, 0);
  ask(&c, 0, 40, SIZE);
  assert_int_equal(under_way(&c, 0), 40);
  gi_rpc_server_set_total_max(c.b->server, 30 * SIZE);
  ask(&c, 1, 40, SIZE);
  assert_int_equal(under_way(&c, 1), 10);
  while (c.b->nheld > 0) {
    answer_held(c.b);
    turns(c.b, 0);
  }
  until(c.b, &c.answers[0], 40);
  for (; c.answers[1] < 40; turns(c.b, 0))
    while (c.b->nheld > 0)
      answer_held(c.b);
  end(&c);
}

/* What a peer has left behind counts as long as it is under way, or coming and going would be a way around the limit. */
static void
test_what_a_peer_leaves_behind_counts(void **state)
{
  struct clients c;
  begin(&c, 8 * SIZE);
  ask(&c, 0, 7, SIZE);
  assert_int_equal(under_way(&c, 0), 7);
  gi_rpc_client_free(&c.client[0]);
  until(c.b, &c.b->peers_down, 1);
  ask(&c, 1, 20, SIZE);
  assert_int_equal(under_way(&c, 1), 4);
  for (; c.answers[1] < 20; turns(c.b, 0))
    while (c.b->nheld > 0)
      answer_held(c.b);
  ask(&c, 1, 20, SIZE);
  assert_int_equal(under_way(&c, 1), 8);
  for (; c.answers[1] < 40; turns(c.b, 0))
    while (c.b->nheld > 0)
      answer_held(c.b);
  end(&c);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_greedy_peer_leaves_room),
      cmocka_unit_test(test_no_limit_and_a_new_one),
      cmocka_unit_test(test_what_a_peer_leaves_behind_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
