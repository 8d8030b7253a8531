/* SPDX-License-Identifier: Apache-2.0
 *
 * The RPC client against the RPC server over loopback, and both against peers
 * that are frozen, gone or talk nonsense.
 */
#include "rpc/server-fixture.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

/* of one call */
struct result {
  struct bench *b;
  unsigned done;
  int status;
  uint32_t accept, value;
  size_t len;
  bool free_client, again;
  struct gi_payload payload;
};

/* ---- the server's side ---- */

static void
big(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  uint32_t words = gi_xdr_get_u32(&req->in);
  gi_rpc_answer_begin(req, &out);
  for (uint32_t i = 0; i < words; i++)
    gi_xdr_put_u32(&out, i);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
drop(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  gi_rpc_drop(req);
}

static void
huge(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  struct gi_payload p = {0};
  struct gi_buf *buf = gi_buf_new(1 << 20);
  memset(buf->base, 'h', 1 << 20);
  for (uint32_t len = 0; len < GI_RECORD_MAX; len += 1 << 20)
    gi_payload_add(&p, buf, buf->base, 1 << 20);
  gi_rpc_answer_begin(req, &out);
  gi_rpc_answer_send(req, &out, &p);
  gi_payload_clear(&p);
  gi_buf_unref(&buf);
}

static void
fop_read(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  struct gi_payload p = {0};
  struct gi_buf *buf = gi_buf_new(300000);
  memset(buf->base, 'r', 300000);
  gi_payload_add(&p, buf, buf->base, 300000);
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u32(&out, 300000);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_iatt(&out, &(struct gi_iatt){.mode = 1});
  gi_xdr_put_u32(&out, 300000);
  gi_xdr_put_dict(&out, NULL);
  gi_rpc_answer_send(req, &out, &p);
  gi_payload_clear(&p);
  gi_buf_unref(&buf);
}

/* WRITE with a dict that is larger than what is contiguous by itself. */
static void
fop_write(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct bench *b = arg;
  struct gi_xdr_out out = {0};
  struct gi_payload p = {0};
  struct gi_dict *d;
  const uint8_t *begin = req->in.p;
  gi_xdr_get_bytes(&req->in, 16 + 8 + 8);
  uint32_t size = gi_xdr_get_u32(&req->in);
  gi_xdr_get_u32(&req->in);
  gi_xdr_get_dict(&req->in, &d);
  assert_false(req->in.failed);
  gi_dict_unref(&d);
  size_t at = req->body_offset + (size_t)(req->in.p - begin);
  assert_int_equal(req->rec->record.len - at, size);
  gi_payload_slice(&req->rec->record, at, size, &p);
  for (uint32_t i = 0; i < p.count; i++)
    for (size_t j = 0; j < p.slice[i].len; j++)
      assert_int_equal(p.slice[i].data[j], 'w');
  gi_payload_clear(&p);
  b->written += size;
  gi_rpc_answer_begin(req, &out);
  gi_rpc_answer_send(req, &out, NULL);
}

static gi_rpc_handler *const test_handlers[] = {
    [ECHO] = bench_echo, [HOLD] = bench_hold, [BIG] = big, [DROP] = drop, [VAST] = huge, [9] = NULL};
static gi_rpc_handler *const fop_handlers[] = {[GI_FOP_READ] = fop_read, [GI_FOP_WRITE] = fop_write};
static const struct gi_rpc_program test_program = {"test", PROG, 3, GI_ARRAY_LEN(test_handlers), test_handlers};
static const struct gi_rpc_program fop_program = {"GlusterFS 4.x v1", GI_PROG_FOP, GI_VERS_FOP, GI_ARRAY_LEN(fop_handlers),
                                                  fop_handlers};

/* ---- the client's side ---- */

static void
up(struct gi_rpc_client *c, void *arg)
{
  ((struct bench *)arg)->ups++;
}

static void
down(struct gi_rpc_client *c, void *arg)
{
  struct bench *b = arg;
  b->downs++;
  if (b->free_on_down)
    gi_rpc_client_free(&b->client);
}

static void
callback(struct gi_rpc_client *c, const struct gi_call_header *h, struct gi_xdr_in *in, void *arg)
{
  struct bench *b = arg;
  b->callbacks++;
  assert_int_equal(h->proc, GI_CBK_STATEDUMP);
  b->callback_arg = gi_xdr_get_u32(in);
}

static const struct gi_rpc_client_ops client_ops = {up, down, callback};

static void
start_server(struct bench *b)
{
  bench_listen(b, (const struct gi_rpc_program *const[]){&test_program, &fop_program, NULL}, NULL);
}

static struct bench *
bench_new(const struct gi_rpc_client_config *cfg)
{
  static const struct gi_rpc_client_config standard = {.name = "c", .reconnect_min_ms = 20, .reconnect_max_ms = 100};
  struct bench *b = gi_new(struct bench);
  b->r = gi_reactor_new(0);
  start_server(b);
  b->client = gi_rpc_client_new(b->r, cfg ? cfg : &standard, &client_ops, b);
  gi_rpc_client_connect(b->client, "127.0.0.1", b->port);
  assert_int_equal(b->ups, 0);
  until(b, &b->ups, 1);
  until(b, &b->peers_up, 1);
  return b;
}

static void
answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  struct result *res = arg;
  res->done++;
  res->status = reply->status;
  res->accept = reply->accept;
  if (reply->status == 0) {
    res->len = gi_xdr_left(&reply->in);
    res->value = gi_xdr_get_u32(&reply->in);
  }
  if (res->free_client)
    gi_rpc_client_free(&res->b->client);
}

static void
send_to(struct bench *b, uint32_t prog, uint32_t vers, uint32_t proc, uint32_t arg, size_t pad, bool may_wait,
        struct result *res)
{
  struct gi_xdr_out out = {0};
  struct gi_caller caller = {.uid = 1000};
  res->b = b;
  uint32_t xid = gi_rpc_call_begin(b->client, &out, prog, vers, proc, GI_AUTH_V3, &caller);
  gi_xdr_put_u32(&out, arg);
  for (; pad > 0; pad -= 4)
    gi_xdr_put_u32(&out, 0);
  unsigned before = res->done;
  gi_rpc_call_send(b->client, xid, &out, NULL, may_wait, answered, res);
  assert_null(out.base);
  assert_int_equal(res->done, before); /* never from inside */
}

static void
call(struct bench *b, uint32_t proc, uint32_t arg, struct result *res)
{
  send_to(b, PROG, 3, proc, arg, 0, false, res);
}

/* ---- calls ---- */

static void
test_echo(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res[200] = {{0}};
  for (uint32_t i = 0; i < 200; i++)
    call(b, ECHO, i, &res[i]);
  for (uint32_t i = 0; i < 200; i++) {
    until(b, &res[i].done, 1);
    assert_int_equal(res[i].status, 0);
    assert_int_equal(res[i].value, i + 1000);
  }
  assert_int_equal(gi_rpc_client_stats(b->client)->inflight_calls, 0);
  assert_int_equal(gi_rpc_client_stats(b->client)->inflight_bytes, 0);
  assert_int_equal(gi_rpc_client_stats(b->client)->replies, 200);
  bench_free(b);
}

static void
test_bad_calls(void **state)
{
  struct bench *b = bench_new(NULL);
  static const struct {
    uint32_t prog, vers, proc, accept;
  } cases[] = {
      {777, 1, 1, GI_RPC_PROG_UNAVAIL},           {PROG, 4, 1, GI_RPC_PROG_MISMATCH},
      {PROG, 3, 0, GI_RPC_PROC_UNAVAIL},          {PROG, 3, 9, GI_RPC_PROC_UNAVAIL},
      {PROG, 3, 1000, GI_RPC_PROC_UNAVAIL},       {GI_PROG_DUMP, 1, 0, GI_RPC_PROC_UNAVAIL},
      {GI_PROG_DUMP, 9, 1, GI_RPC_PROG_MISMATCH}, {GI_PROG_DUMP, 1, GI_DUMP_DUMP, GI_RPC_GARBAGE},
  };
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct result res = {0};
    send_to(b, cases[i].prog, cases[i].vers, cases[i].proc, 0, 0, false, &res);
    until(b, &res.done, 1);
    assert_int_equal(res.status, 0);
    assert_int_equal(res.accept, cases[i].accept);
    assert_int_equal(res.len, cases[i].accept == GI_RPC_PROG_MISMATCH ? 8 : 0);
  }
  bench_free(b);
}

static void
dump_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  unsigned *seen = arg;
  uint32_t len;
  assert_int_equal(reply->status, 0);
  assert_int_equal(gi_xdr_get_u64(&reply->in), 0);
  assert_int_equal(gi_xdr_get_u64(&reply->in), 0);
  while (gi_xdr_get_u32(&reply->in) == 1) {
    gi_xdr_get_opaque(&reply->in, 100, &len);
    uint64_t prog = gi_xdr_get_u64(&reply->in), vers = gi_xdr_get_u64(&reply->in);
    *seen += (prog == GI_PROG_DUMP && vers == 1) || (prog == PROG && vers == 3) || (prog == GI_PROG_FOP && vers == 400);
  }
  assert_false(reply->in.failed);
  assert_int_equal(gi_xdr_left(&reply->in), 0);
}

static void
test_dump(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_xdr_out out = {0};
  struct result res = {0};
  unsigned seen = 0;
  uint32_t xid = gi_rpc_call_begin(b->client, &out, GI_PROG_DUMP, 1, GI_DUMP_DUMP, GI_AUTH_V2, NULL);
  gi_xdr_put_u64(&out, 51949);
  gi_rpc_call_send(b->client, xid, &out, NULL, false, dump_answered, &seen);
  until(b, &seen, 3);
  send_to(b, GI_PROG_DUMP, 1, GI_DUMP_PING, 0, 0, false, &res);
  until(b, &res.done, 1);
  assert_int_equal(res.accept, 0);
  assert_int_equal(res.len, 12);
  bench_free(b);
}

static void
test_big_answer_is_contiguous(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res = {0};
  call(b, BIG, 100000, &res);
  until(b, &res.done, 1);
  assert_int_equal(res.len, 400000);
  bench_free(b);
}

static void
read_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  struct result *res = arg;
  struct gi_iatt iatt;
  struct gi_dict *d;
  const uint8_t *begin = reply->in.p;
  assert_int_equal(gi_xdr_get_u32(&reply->in), 300000);
  gi_xdr_get_u32(&reply->in);
  gi_xdr_get_iatt(&reply->in, &iatt);
  assert_int_equal(gi_xdr_get_u32(&reply->in), 300000);
  gi_xdr_get_dict(&reply->in, &d);
  assert_false(reply->in.failed);
  size_t at = reply->body_offset + (size_t)(reply->in.p - begin);
  assert_int_equal(reply->rec->record.len - at, 300000);
  gi_payload_slice(&reply->rec->record, at, 300000, &res->payload);
  res->done++;
}

/* No peer would accept it. */
static void
test_too_big_an_answer(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res[2] = {{0}};
  call(b, VAST, 0, &res[0]);
  call(b, ECHO, 1, &res[1]);
  until(b, &res[1].done, 1);
  assert_int_equal(res[0].done, 1);
  assert_int_equal(res[0].accept, GI_RPC_SYSTEM);
  assert_int_equal(b->downs, 0);
  bench_free(b);
}

static void
test_read_payload_is_not_copied(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res = {0};
  struct gi_xdr_out out = {0};
  uint64_t copied = gi_payload_copied, bytes = gi_conn_totals.payload_bytes;
  uint32_t xid = gi_rpc_call_begin(b->client, &out, GI_PROG_FOP, 400, GI_FOP_READ, GI_AUTH_V3, NULL);
  gi_rpc_call_send(b->client, xid, &out, NULL, false, read_answered, &res);
  until(b, &res.done, 1);
  assert_int_equal(gi_payload_copied, copied);
  assert_int_equal(gi_conn_totals.payload_bytes - bytes, 300000);
  for (uint32_t i = 0; i < res.payload.count; i++)
    for (size_t j = 0; j < res.payload.slice[i].len; j++)
      assert_int_equal(res.payload.slice[i].data[j], 'r');
  gi_payload_clear(&res.payload);
  bench_free(b);
}

static void
write_call(struct bench *b, uint32_t size, size_t dict_bytes, struct result *res)
{
  struct gi_xdr_out out = {0};
  struct gi_payload p = {0};
  struct gi_buf *buf = gi_buf_new(size);
  struct gi_dict *d = NULL;
  if (dict_bytes > 0) {
    char *value = gi_zalloc(dict_bytes);
    d = gi_dict_new();
    gi_dict_set_bin(d, "large", value, (uint32_t)dict_bytes);
    gi_free(value);
  }
  memset(buf->base, 'w', size);
  gi_payload_add(&p, buf, buf->base, size);
  uint32_t xid = gi_rpc_call_begin(b->client, &out, GI_PROG_FOP, 400, GI_FOP_WRITE, GI_AUTH_V3, NULL);
  gi_xdr_put_gfid(&out, &gi_gfid_root);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_u32(&out, size);
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_dict(&out, d);
  gi_rpc_call_send(b->client, xid, &out, &p, false, answered, res);
  gi_payload_clear(&p);
  gi_buf_unref(&buf);
  gi_dict_unref(&d);
}

static void
test_write(void **state)
{
  struct bench *b = bench_new(NULL);
  static const struct {
    uint32_t size;
    size_t dict;
  } cases[] = {{1, 0}, {8192, 100}, {1 << 20, 0}, {200000, 150000}};
  unsigned want = 0;
  for (unsigned i = 0; i < GI_ARRAY_LEN(cases); i++) {
    struct result res = {.b = b};
    write_call(b, cases[i].size, cases[i].dict, &res);
    until(b, &res.done, 1);
    assert_int_equal(res.status, 0);
    want += cases[i].size;
    assert_int_equal(b->written, want);
  }
  bench_free(b);
}

static void
test_callback(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_xdr_out out = {0};
  gi_rpc_callback_begin(b->peer, &out, GI_CBK_STATEDUMP);
  gi_xdr_put_u32(&out, 99);
  gi_rpc_callback_send(b->peer, &out);
  until(b, &b->callbacks, 1);
  assert_int_equal(b->callback_arg, 99);
  bench_free(b);
}

/* ---- failures ---- */

static void
test_not_connected(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res = {0}, later = {0};
  call(b, HOLD, 0, &res);
  until(b, &b->nheld, 1);
  gi_rpc_client_disconnect(b->client, "test");
  until(b, &b->downs, 1);
  assert_int_equal(res.done, 1);
  assert_int_equal(res.status, -ENOTCONN);
  call(b, ECHO, 0, &later);
  until(b, &later.done, 1);
  assert_int_equal(later.status, -ENOTCONN);
  until(b, &b->peers_down, 1);
  assert_null(b->held[0]->peer);
  answer_held(b); /* a request outlives its peer */
  assert_int_equal(b->downs, 1);
  bench_free(b);
}

static void
reconnect(struct gi_rpc_client *c, void *arg)
{
  struct bench *b = arg;
  b->retries++;
  gi_rpc_client_connect(c, "127.0.0.1", b->port);
}

static void
test_reconnect(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res = {0};
  gi_rpc_server_free(&b->server);
  until(b, &b->downs, 1);
  uint64_t begin = gi_now(b->r);
  for (unsigned i = 0; i < 4; i++) { /* refused: 20, 40, 80, 100 ms, each within a quarter */
    gi_rpc_client_retry_later(b->client, reconnect);
    until(b, &b->downs, i + 2);
  }
  uint64_t took = (gi_now(b->r) - begin) / GI_NSEC_PER_MSEC;
  assert_in_range(took, 180, 900);
  start_server(b);
  gi_rpc_client_retry_later(b->client, reconnect);
  until(b, &b->ups, 2);
  gi_rpc_client_reset_backoff(b->client);
  call(b, ECHO, 5, &res);
  until(b, &res.done, 1);
  assert_int_equal(res.value, 1005);
  assert_int_equal(b->retries, 5);
  assert_int_equal(gi_rpc_client_stats(b->client)->reconnects, 5);
  bench_free(b);
}

/* Whoever has news does not wait as long as the configuration says, and those who fail then wait the shortest time again. */
static void
test_reconnect_soon(void **state)
{
  static const struct gi_rpc_client_config patient = {.name = "c", .reconnect_min_ms = 60000, .reconnect_max_ms = 60000};
  struct gi_rpc_client_config hasty = {.name = "c", .reconnect_min_ms = 1, .reconnect_max_ms = 60000};
  struct bench *b = bench_new(&patient);
  gi_rpc_server_free(&b->server);
  until(b, &b->downs, 1);
  gi_rpc_client_retry_later(b->client, reconnect);
  gi_rpc_client_retry_soon(b->client, reconnect);
  until(b, &b->downs, 2);
  assert_int_equal(b->retries, 1);
  gi_rpc_client_set_config(b->client, &hasty);
  gi_rpc_client_retry_later(b->client, reconnect); /* 1 ms, not 60 s */
  until(b, &b->downs, 3);
  start_server(b);
  gi_rpc_client_set_config(b->client, &patient);
  gi_rpc_client_retry_soon(b->client, reconnect);
  until(b, &b->ups, 2);
  bench_free(b);
}

static void
test_replacing_connection(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res = {0};
  call(b, HOLD, 0, &res);
  until(b, &b->nheld, 1);
  gi_rpc_client_connect(b->client, "127.0.0.1", b->port);
  until(b, &b->ups, 2);
  assert_int_equal(res.status, -ENOTCONN);
  assert_int_equal(res.done, 1);
  assert_int_equal(b->downs, 0);
  answer_held(b);
  bench_free(b);
}

static void
test_connect_refused(void **state)
{
  struct bench *b = bench_new(NULL);
  gi_rpc_client_connect(b->client, "/nowhere/at/all", 0);
  assert_int_equal(b->downs, 0);
  until(b, &b->downs, 1);
  assert_false(gi_rpc_client_connected(b->client));
  bench_free(b);
}

static void
test_call_timeout(void **state)
{
  struct gi_rpc_client_config cfg = {.name = "c", .call_timeout_s = 1};
  struct bench *b = bench_new(&cfg);
  struct result res = {0}, lock = {0}, fine = {0};
  call(b, HOLD, 0, &res);
  send_to(b, PROG, 3, HOLD, 0, 0, true, &lock);
  until(b, &b->nheld, 2);
  turns(b, SEC / 2);
  assert_int_equal(res.done, 0);
  until(b, &res.done, 1);
  assert_int_equal(res.status, -ETIMEDOUT);
  assert_int_equal(lock.done, 0); /* may wait for ever */
  answer_held(b);                 /* late: ignored */
  answer_held(b);
  until(b, &lock.done, 1);
  assert_int_equal(lock.value, 4711);
  call(b, ECHO, 1, &fine);
  until(b, &fine.done, 1);
  assert_int_equal(res.done, 1);
  assert_int_equal(gi_rpc_client_stats(b->client)->timeouts, 1);
  assert_int_equal(gi_rpc_client_stats(b->client)->inflight_calls, 0);
  bench_free(b);
}

static void
ignore_accept(void *arg, int fd)
{
  *(int *)arg = fd; /* frozen: never reads, never answers */
}

static void
test_frozen_server(void **state)
{
  struct gi_rpc_client_config cfg = {.name = "c", .ping_timeout_s = 1};
  struct bench *b = bench_new(&cfg);
  struct gi_error err;
  struct result res[3] = {{0}};
  int fd = -1;
  struct gi_listener *l = gi_listener_new(b->r, "127.0.0.1", 0, 4, ignore_accept, &fd, &err);
  gi_rpc_client_connect(b->client, "127.0.0.1", gi_listener_port(l));
  until(b, &b->ups, 2);
  turns(b, SEC * 3 / 2);
  assert_int_equal(b->downs, 0); /* nothing asked, nothing missed */
  uint64_t begin = gi_now(b->r);
  for (unsigned i = 0; i < 3; i++)
    call(b, ECHO, i, &res[i]);
  until(b, &b->downs, 1);
  uint64_t took = (gi_now(b->r) - begin) / GI_NSEC_PER_MSEC;
  assert_in_range(took, 950, 2600);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(res[i].status, -ENOTCONN);
  assert_int_equal(gi_rpc_client_stats(b->client)->ping_timeouts, 1);
  gi_listener_free(&l);
  close(fd);
  bench_free(b);
}

/* A slow call on a live server: pings are answered and nothing is cut off. */
static void
test_live_server_is_kept(void **state)
{
  struct gi_rpc_client_config cfg = {.name = "c", .ping_timeout_s = 1};
  struct bench *b = bench_new(&cfg);
  struct result res = {0};
  call(b, HOLD, 0, &res);
  turns(b, SEC * 5 / 2);
  assert_int_equal(b->downs, 0);
  assert_int_equal(res.done, 0);
  assert_in_range(gi_rpc_client_stats(b->client)->pings, 5, 12);
  answer_held(b);
  until(b, &res.done, 1);
  bench_free(b);
}

static void
test_budget(void **state)
{
  struct gi_rpc_client_config cfg = {.name = "c", .inflight_bytes_max = 2500};
  struct bench *b = bench_new(&cfg);
  struct result res[5] = {{0}}, lock = {0};
  for (unsigned i = 0; i < 5; i++)
    send_to(b, PROG, 3, HOLD, i, 1000, false, &res[i]);
  send_to(b, PROG, 3, HOLD, 9, 0, true, &lock); /* a blocking lock is not held up */
  turns(b, SEC / 20);
  assert_int_equal(b->nheld, 3);
  assert_int_equal(gi_rpc_client_stats(b->client)->budget_waits, 3);
  assert_true(gi_rpc_client_stats(b->client)->inflight_bytes <= 2500);
  for (unsigned i = 0; i < 6; i++) {
    if (b->nheld == 0)
      until(b, &b->nheld, 1);
    answer_held(b);
    turns(b, SEC / 100);
  }
  for (unsigned i = 0; i < 5; i++)
    assert_int_equal(res[i].done, 1);
  assert_int_equal(lock.done, 1);
  assert_int_equal(gi_rpc_client_stats(b->client)->inflight_bytes, 0);
  /* One that is larger than the whole budget goes when nothing else is under way. */
  struct result large = {0};
  send_to(b, PROG, 3, ECHO, 1, 10000, false, &large);
  until(b, &large.done, 1);
  bench_free(b);
}

static void
test_free_with_calls(void **state)
{
  struct gi_rpc_client_config cfg = {.name = "c", .inflight_bytes_max = 100};
  struct bench *b = bench_new(&cfg);
  struct result res[4] = {{0}};
  for (unsigned i = 0; i < 4; i++)
    call(b, HOLD, i, &res[i]);
  gi_rpc_client_free(&b->client);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(res[i].done, 1);
    assert_int_equal(res[i].status, -ENOTCONN);
  }
  assert_int_equal(b->downs, 0);
  bench_free(b);
}

static void
test_free_in_callbacks(void **state)
{
  for (int i = 0; i < 3; i++) {
    struct bench *b = bench_new(NULL);
    struct result res[3] = {{0}};
    for (unsigned j = 0; j < 3; j++) {
      res[j].free_client = i < 2 && j == 0;
      call(b, i == 0 ? ECHO : HOLD, j, &res[j]);
    }
    b->free_on_down = i == 2;
    if (i > 0) {
      until(b, &b->nheld, 3);
      gi_rpc_client_disconnect(b->client, "test");
    }
    for (unsigned j = 0; j < 3; j++)
      until(b, &res[j].done, 1);
    turns(b, SEC / 50);
    assert_null(b->client);
    assert_int_equal(b->downs, i == 2);
    while (b->nheld > 0)
      answer_held(b);
    bench_free(b);
  }
}

static void
test_server_goes_first(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res = {0};
  call(b, HOLD, 0, &res);
  until(b, &b->nheld, 1);
  gi_rpc_server_free(&b->server);
  assert_int_equal(b->peers_down, 1);
  answer_held(b);
  until(b, &res.done, 1);
  assert_int_equal(res.status, -ENOTCONN);
  bench_free(b);
}

static void
test_back_pressure(void **state)
{
  struct bench *b = bench_new(NULL);
  struct result res[40] = {{0}};
  gi_rpc_server_set_inflight_max(b->server, 300000);
  for (unsigned i = 0; i < 40; i++)
    send_to(b, PROG, 3, HOLD, i, 100000, false, &res[i]);
  turns(b, SEC / 10);
  assert_int_equal(b->nheld, 3); /* what was in the buffer already waits too */
  for (unsigned i = 0; i < 40; i++) {
    until(b, &b->nheld, 1);
    answer_held(b);
  }
  for (unsigned i = 0; i < 40; i++)
    until(b, &res[i].done, 1);
  bench_free(b);
}

/* A peer that asks and never reads must not make us hold all its answers. */
static void
test_lagging_peer(void **state)
{
  struct bench *b = bench_new(NULL);
  static struct result res[2000];
  memset(res, 0, sizeof(res));
  struct gi_conn *conn = (struct gi_conn *)gi_rpc_client_conn(b->client);
  gi_conn_pause(conn, true);
  for (unsigned i = 0; i < GI_ARRAY_LEN(res); i++) {
    send_to(b, PROG, 3, BIG, 25000, 2000, false, &res[i]); /* 100 KB each */
    if (i % 20 == 0)
      turns(b, GI_NSEC_PER_MSEC);
  }
  turns(b, SEC / 10);
  assert_in_range(gi_conn_queued(gi_rpc_peer_conn(b->peer)), 4 << 20, 24 << 20);
  gi_conn_pause(conn, false);
  for (unsigned i = 0; i < GI_ARRAY_LEN(res); i++)
    until(b, &res[i].done, 1);
  bench_free(b);
}

/* ---- nonsense on the wire ---- */
static void
test_client_survives_nonsense(void **state)
{
  static const char *const records[] = {"", "abc", "\0\0\0\1\0\0\0\2", "\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0\0\xff\xff\xff\xff"};
  static const size_t lens[] = {0, 3, 8, 20};
  for (unsigned i = 0; i < GI_ARRAY_LEN(lens); i++) {
    struct bench *b = bench_new(NULL);
    struct result res = {0};
    call(b, HOLD, 0, &res);
    until(b, &b->nheld, 1);
    gi_conn_send(gi_rpc_peer_conn(b->peer), records[i], lens[i], NULL);
    until(b, &b->downs, 1);
    assert_int_equal(res.status, -ENOTCONN);
    until(b, &b->peers_down, 1);
    answer_held(b);
    bench_free(b);
  }
}

static void
test_unknown_answers_are_ignored(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_xdr_out out = {0};
  struct result res = {0};
  gi_reply_encode(&out, 0, GI_RPC_GARBAGE);
  gi_conn_send(gi_rpc_peer_conn(b->peer), out.base, out.len, NULL);
  out.len = 0;
  gi_call_encode(&out, 1, 555, 1, 1, GI_AUTH_NONE, NULL); /* a call of another program */
  gi_conn_send(gi_rpc_peer_conn(b->peer), out.base, out.len, NULL);
  call(b, ECHO, 1, &res);
  until(b, &res.done, 1);
  assert_int_equal(b->downs, 0);
  assert_int_equal(b->callbacks, 0);
  gi_xdr_out_finish(&out);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_echo),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_dump),
      cmocka_unit_test(test_big_answer_is_contiguous),
      cmocka_unit_test(test_too_big_an_answer),
      cmocka_unit_test(test_read_payload_is_not_copied),
      cmocka_unit_test(test_write),
      cmocka_unit_test(test_callback),
      cmocka_unit_test(test_not_connected),
      cmocka_unit_test(test_reconnect),
      cmocka_unit_test(test_reconnect_soon),
      cmocka_unit_test(test_replacing_connection),
      cmocka_unit_test(test_connect_refused),
      cmocka_unit_test(test_call_timeout),
      cmocka_unit_test(test_frozen_server),
      cmocka_unit_test(test_live_server_is_kept),
      cmocka_unit_test(test_budget),
      cmocka_unit_test(test_free_with_calls),
      cmocka_unit_test(test_free_in_callbacks),
      cmocka_unit_test(test_server_goes_first),
      cmocka_unit_test(test_back_pressure),
      cmocka_unit_test(test_lagging_peer),
      cmocka_unit_test(test_client_survives_nonsense),
      cmocka_unit_test(test_unknown_answers_are_ignored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
