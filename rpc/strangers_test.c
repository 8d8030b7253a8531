/* SPDX-License-Identifier: Apache-2.0
 *
 * The RPC server and those who do not say who they are, do not read or do not
 * make sense, through bare sockets.
 */
#include "rpc/server-fixture.h"

#include <arpa/inet.h>

/* Refused calls are answered, so they count as those that are served. */
static void
test_refused_and_never_read(void **state)
{
  struct bench *b = bench_of_server(NULL);
  static uint32_t flood[3 * 20000];
  for (unsigned i = 0; i < GI_ARRAY_LEN(flood); i += 3) {
    flood[i] = htonl(0x80000008);
    flood[i + 1] = htonl(i);
    flood[i + 2] = htonl(1); /* a reply */
  }
  int fd = raw_connect(b);
  until(b, &b->peers_up, 1);
  size_t at = 0;
  for (int quiet = 0; quiet < 20;) {
    ssize_t n = send(fd, (char *)flood + at, sizeof(flood) - at, MSG_DONTWAIT);
    at = n > 0 ? (at + (size_t)n) % sizeof(flood) : at;
    quiet = n > 0 ? 0 : quiet + 1;
    turns(b, GI_NSEC_PER_MSEC);
  }
  assert_in_range(gi_conn_queued(gi_rpc_peer_conn(b->peer)), 4 << 20, 6 << 20);
  close(fd);
  until(b, &b->peers_down, 1);
  bench_free(b);
}

/* ---- strangers ---- */

static void
encode_echo(struct gi_xdr_out *out, size_t pad)
{
  gi_xdr_put_u32(out, 0); /* the record mark */
  gi_call_encode(out, 9, PROG, 3, ECHO, GI_AUTH_NONE, NULL);
  for (size_t i = 0; i <= pad / 4; i++)
    gi_xdr_put_u32(out, 1);
  gi_xdr_set_u32(out, 0, 0x80000000u | (uint32_t)(out->len - 4));
}

/* False: the server has closed it. */
static bool
raw_echo(struct bench *b, int fd, size_t pad)
{
  struct gi_xdr_out out = {0};
  uint8_t got[64];
  encode_echo(&out, pad);
  send(fd, out.base, out.len, MSG_NOSIGNAL);
  gi_xdr_out_finish(&out);
  turns(b, SEC / 50);
  return recv(fd, got, sizeof(got), 0) > 0;
}

static bool
raw_open(int fd)
{
  char c;
  return recv(fd, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void
test_strangers_have_little_time(void **state)
{
  struct bench *b = bench_of_server(&(struct gi_rpc_limits){1000, 5000, SEC / 2, true});
  int caller = raw_connect(b), silent = raw_connect(b), held = raw_connect(b);
  until(b, &b->peers_up, 3);
  assert_true(raw_echo(b, caller, 0));
  gi_rpc_server_set_limits(b->server, &(struct gi_rpc_limits){1000, 5000, SEC / 2, false}); /* served, but not known by it */
  struct gi_xdr_out out = {0};
  encode_echo(&out, 0);
  gi_xdr_set_u32(&out, 24, HOLD);
  assert_int_equal(send(held, out.base, out.len, 0), out.len);
  gi_xdr_out_finish(&out);
  until(b, &b->nheld, 1);
  until(b, &b->peers_down, 1);
  assert_false(raw_open(silent));
  assert_true(raw_open(caller));
  assert_true(raw_open(held));
  answer_held(b);
  until(b, &b->peers_down, 2);
  assert_true(raw_open(caller));
  close(caller);
  close(silent);
  close(held);
  bench_free(b);
}

static void
test_strangers_send_small_records(void **state)
{
  struct bench *b = bench_of_server(&(struct gi_rpc_limits){1000, 5000, 0, true});
  int fd = raw_connect(b);
  assert_false(raw_echo(b, fd, 1000));
  close(fd);
  fd = raw_connect(b);
  assert_true(raw_echo(b, fd, 500));
  assert_true(raw_echo(b, fd, 4000));
  assert_false(raw_echo(b, fd, 5000));
  close(fd);
  bench_free(b);
}

static void
test_strangers_are_served_or_go(void **state)
{
  struct bench *b = bench_of_server(&(struct gi_rpc_limits){1000, 5000, 0, true});
  uint32_t reply[3] = {htonl(0x80000008), 0, htonl(1)};
  int fd = raw_connect(b);
  until(b, &b->peers_up, 1);
  for (unsigned i = 0; i < 2000 && b->peers_down == 0; i++) {
    send(fd, reply, sizeof(reply), MSG_NOSIGNAL);
    turns(b, i % 100 == 99 ? GI_NSEC_PER_MSEC : 0);
  }
  until(b, &b->peers_down, 1);
  close(fd);
  bench_free(b);
}

static void
test_the_oldest_stranger_makes_room(void **state)
{
  struct bench *b = bench_of_server(&(struct gi_rpc_limits){1000, 5000, 0, true});
  int fd[GI_STRANGERS_OF_ADDRESS + 10], known;
  known = raw_connect(b);
  assert_true(raw_echo(b, known, 0));
  for (unsigned i = 0; i < GI_ARRAY_LEN(fd); i++) {
    fd[i] = raw_connect(b);
    until(b, &b->peers_up, 2 + i);
  }
  assert_int_equal(b->peers_down, 10);
  assert_false(raw_open(fd[9]));
  assert_true(raw_open(fd[10]));
  assert_true(raw_echo(b, fd[GI_ARRAY_LEN(fd) - 1], 0));
  assert_true(raw_echo(b, known, 0));
  for (unsigned i = 0; i < GI_ARRAY_LEN(fd); i++)
    close(fd[i]);
  close(known);
  bench_free(b);
}

/* However much others have sent, each turn takes one buffer of each, so a call waits for no more than that. */
static void
test_a_flood_takes_turns(void **state)
{
  enum { FLOODS = 4, CALLS = 60000 };
  struct bench *b = bench_of_server(NULL);
  int flood[FLOODS], fd;
  struct gi_xdr_out one = {0}, many = {0};
  char got[64];
  unsigned n = 0;

  for (unsigned i = 0; i < FLOODS; i++)
    flood[i] = raw_connect(b);
  fd = raw_connect(b);
  until(b, &b->peers_up, FLOODS + 1);
  encode_echo(&one, 0);
  for (unsigned i = 0; i < CALLS; i++)
    gi_xdr_put_bytes(&many, one.base, one.len);
  for (unsigned i = 0; i < FLOODS; i++)
    assert_true(send(flood[i], many.base, many.len, MSG_DONTWAIT) > 0);
  assert_int_equal(send(fd, one.base, one.len, 0), one.len);
  gi_xdr_out_finish(&one);
  gi_xdr_out_finish(&many);
  while (recv(fd, got, sizeof(got), MSG_DONTWAIT) < 0 && n < 100) {
    gi_reactor_turn(b->r, GI_NSEC_PER_MSEC);
    n++;
  }
  assert_in_range(n, 1, 2);
  assert_in_range(b->echoed, 1, 100000); /* of 240000 that wait, if the sockets take them */
  for (unsigned i = 0; i < FLOODS; i++)
    close(flood[i]);
  close(fd);
  until(b, &b->peers_down, FLOODS + 1);
  bench_free(b);
}

static void
raw_exchange(struct bench *b, int fd, const struct gi_xdr_out *out, const void *want, size_t len)
{
  uint8_t got[64];
  uint32_t mark = htonl(0x80000000u | (uint32_t)out->len);
  assert_int_equal(send(fd, &mark, 4, 0), 4);
  assert_int_equal(send(fd, out->base, out->len, 0), out->len);
  turns(b, SEC / 50);
  assert_int_equal(recv(fd, got, sizeof(got), 0), len + 4);
  assert_memory_equal(got + 4, want, len);
}

static void
test_server_answers_nonsense(void **state)
{
  static const char garbage0[24] = "\0\0\0\0"
                                   "\0\0\0\1"
                                   "\0\0\0\0"
                                   "\0\0\0\0\0\0\0\0"
                                   "\0\0\0\4";
  static const char denied[20] = "\0\0\0\7"
                                 "\0\0\0\1"
                                 "\0\0\0\1"
                                 "\0\0\0\1"
                                 "\0\0\0\0";
  struct bench *b = bench_of_server(NULL);
  struct gi_xdr_out out = {0};
  int fd = raw_connect(b);
  gi_call_encode(&out, 5, PROG, 3, ECHO, GI_AUTH_NONE, NULL);
  gi_xdr_set_u32(&out, 8, 3); /* RPC version */
  raw_exchange(b, fd, &out, garbage0, sizeof(garbage0));
  out.len = 0;
  gi_reply_encode(&out, 5, 0); /* a reply, at a server */
  raw_exchange(b, fd, &out, garbage0, sizeof(garbage0));
  out.len = 3; /* too short for anything */
  raw_exchange(b, fd, &out, garbage0, sizeof(garbage0));
  out.len = 0;
  gi_call_encode(&out, 7, PROG, 3, ECHO, GI_AUTH_V3, NULL);
  gi_xdr_set_u32(&out, 24 + 8 + 28, 92); /* more groups than the rule allows */
  raw_exchange(b, fd, &out, denied, sizeof(denied));
  out.len = 0;
  gi_rpc_server_require_privileged(b->server, true);
  gi_call_encode(&out, 7, PROG, 3, ECHO, GI_AUTH_NONE, NULL);
  raw_exchange(b, fd, &out, "\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\2", 20);
  assert_int_equal(b->peers_down, 0);
  gi_xdr_set_u32(&out, 4, 2); /* neither call nor reply */
  uint32_t mark = htonl(0x80000000u | (uint32_t)out.len);
  assert_int_equal(send(fd, &mark, 4, 0), 4);
  assert_int_equal(send(fd, out.base, out.len, 0), out.len);
  until(b, &b->peers_down, 1);
  close(fd);
  gi_xdr_out_finish(&out);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_and_never_read),         cmocka_unit_test(test_strangers_have_little_time),
      cmocka_unit_test(test_strangers_send_small_records),   cmocka_unit_test(test_strangers_are_served_or_go),
      cmocka_unit_test(test_the_oldest_stranger_makes_room), cmocka_unit_test(test_a_flood_takes_turns),
      cmocka_unit_test(test_server_answers_nonsense),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
