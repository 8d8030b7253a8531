/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling side of RPC.
 *
 * A call is in exactly one of three lists: `waiting` for the budget, `sent`,
 * or `failed` (to be answered by the deferred call). Calls that were sent are
 * also in the hash by xid. Callbacks may do anything to the client, including
 * freeing it: `busy` keeps the memory until the last one has returned.
 */
#include "rpc/rpc-client.h"
#include "libglusterish/log.h"
#include "libglusterish/mem.h"
#include "libglusterish/probe.h"
#include "libglusterish/usdt.h"

#include <errno.h>
#include <string.h>

#define CLIENT_MAGIC 0xc11e2701u
#define CALL_MAGIC 0xc1ca1101u
#define BUCKETS 1024                 /* xids count up, so a power of two spreads them evenly */
#define SPARE_BUFFER_MAX (64u << 10) /* a larger encode buffer is not kept for the next call */
#define BACKOFF_JITTER 4             /* the delay varies by 1/4 to either side */
#define SOON (20 * GI_NSEC_PER_MSEC) /* whoever heard that it may work now tries within this */

struct call {
  uint32_t magic;
  struct gi_list link;
  struct call *next; /* in the bucket, or in the free list */
  gi_rpc_reply_fn *fn;
  void *arg;
  uint64_t start; /* when gi_rpc_call_send was called */
  uint32_t xid, prog, proc;
  int status; /* of a failed one */
  bool may_wait, hashed;
  uint64_t bytes;        /* counted in the budget */
  struct gi_xdr_out out; /* while waiting */
  struct gi_payload payload;
};

struct gi_rpc_client {
  uint32_t magic;
  struct gi_reactor *r;
  struct gi_rpc_client_config cfg;
  const struct gi_rpc_client_ops *ops;
  void *arg;
  struct gi_conn *conn;
  bool up;
  bool dead; /* freed by its owner */
  unsigned busy;
  uint32_t xid;                                  /* last one used */
  struct gi_list sent, lasting, waiting, failed; /* struct call; `lasting`: sent calls that may wait for ever */
  struct call *bucket[BUCKETS];
  struct call *spare_call;
  struct gi_xdr_out spare_out;
  struct gi_defer fail, down;
  struct gi_timer timeout, ping, retry;
  bool ping_outstanding;
  uint64_t ping_sent, ping_due; /* ping_due: when the ping timer should fire */
  uint64_t silent_since;        /* nothing was outstanding before this */
  uint64_t backoff_ms;
  void (*retry_fn)(struct gi_rpc_client *c, void *arg);
  struct gi_rpc_client_stats stats;
};

#define STAT(member, unit, help) GI_METRIC(struct gi_rpc_client_stats, member, unit, help)
const struct gi_metric gi_rpc_client_metrics[] = {
    STAT(calls, "", "calls made"),
    STAT(replies, "", "calls answered by the peer"),
    STAT(timeouts, "", "calls that were not answered in time"),
    STAT(pings, "", "pings sent"),
    STAT(ping_timeouts, "", "connections given up because the peer was silent"),
    STAT(reconnects, "", "attempts to connect again"),
    GI_GAUGE(struct gi_rpc_client_stats, inflight_calls, "", "calls sent and not yet answered"),
    GI_GAUGE(struct gi_rpc_client_stats, inflight_bytes, "bytes", "of those calls"),
    STAT(budget_waits, "", "calls that had to wait for the budget of bytes in flight"),
    GI_METRIC_END,
};
#undef STAT

static void
enter(struct gi_rpc_client *c)
{
  GI_CHECK(c, CLIENT_MAGIC);
  c->busy++;
}

static void
destroy(struct gi_rpc_client *c)
{
  GI_ASSERT(c->busy == 0 && !c->conn && !c->up && c->stats.inflight_calls == 0 && c->stats.inflight_bytes == 0);
  GI_ASSERT(gi_list_empty(&c->sent) && gi_list_empty(&c->lasting) && gi_list_empty(&c->waiting) && gi_list_empty(&c->failed));
  for (struct call *call = c->spare_call; call;) {
    struct call *next = call->next;
    gi_free(call);
    call = next;
  }
  gi_timer_finish(&c->timeout);
  gi_timer_finish(&c->ping);
  gi_timer_finish(&c->retry);
  gi_xdr_out_finish(&c->spare_out);
  gi_free((char *)c->cfg.name);
  gi_tls_unref(&c->cfg.tls);
  c->magic = 0;
  gi_free(c);
}

static void
leave(struct gi_rpc_client *c)
{
  GI_ASSERT(c->busy > 0);
  if (--c->busy == 0 && c->dead)
    destroy(c);
}

/* ---- the table of calls ---- */

static struct call **
find_slot(struct gi_rpc_client *c, uint32_t xid)
{
  struct call **slot = &c->bucket[xid % BUCKETS];
  while (*slot && (*slot)->xid != xid)
    slot = &(*slot)->next;
  return slot;
}

static struct call *
call_new(struct gi_rpc_client *c)
{
  struct call *call = c->spare_call;
  if (call)
    c->spare_call = call->next;
  else
    call = gi_alloc(sizeof(*call));
  memset(call, 0, offsetof(struct call, payload));
  call->magic = CALL_MAGIC;
  call->payload.count = 0;
  call->payload.len = 0;
  gi_list_init(&call->link);
  return call;
}

static void
drop_buffers(struct gi_rpc_client *c, struct call *call)
{
  gi_payload_clear(&call->payload);
  if (c->spare_out.base == NULL && call->out.capacity <= SPARE_BUFFER_MAX) {
    c->spare_out = call->out;
    c->spare_out.len = 0;
  } else {
    gi_xdr_out_finish(&call->out);
  }
  call->out = (struct gi_xdr_out){0};
}

/* Out of every list and the hash; the budget is given back. */
static void
unlink_call(struct gi_rpc_client *c, struct call *call)
{
  GI_CHECK(call, CALL_MAGIC);
  gi_list_del(&call->link);
  if (!call->hashed)
    return;
  struct call **slot = find_slot(c, call->xid);
  GI_ASSERT(*slot == call);
  GI_ASSERT(c->stats.inflight_calls > 0 && c->stats.inflight_bytes >= call->bytes);
  *slot = call->next;
  call->hashed = false;
  c->stats.inflight_calls--;
  c->stats.inflight_bytes -= call->bytes;
}

/* Frees the call, then tells its maker: nothing of it is touched after the callback. */
static void
answer(struct gi_rpc_client *c, struct call *call, struct gi_rpc_reply *reply)
{
  GI_CHECK(call, CALL_MAGIC);
  GI_ASSERT(!call->hashed && gi_list_empty(&call->link) && call->fn);
  gi_rpc_reply_fn *fn = call->fn;
  void *arg = call->arg;
  drop_buffers(c, call);
  call->magic = 0;
  call->next = c->spare_call;
  c->spare_call = call;
  fn(c, reply, arg);
}

static void
answer_failed(struct gi_rpc_client *c, struct call *call, int status)
{
  struct gi_rpc_reply reply = {.status = status};
  unlink_call(c, call);
  answer(c, call, &reply);
}

static void
fail_list(struct gi_rpc_client *c, struct gi_list *list)
{
  while (!gi_list_empty(list)) {
    struct call *call = gi_list_first(list, struct call, link);
    answer_failed(c, call, call->status ? call->status : -ENOTCONN);
  }
}

/* Moves every call to `failed`, oldest first: what callbacks send from now on is not among them. */
static void
condemn_all(struct gi_rpc_client *c)
{
  struct gi_list *from[] = {&c->sent, &c->lasting, &c->waiting};
  for (unsigned i = 0; i < GI_ARRAY_LEN(from); i++) {
    while (!gi_list_empty(from[i])) {
      struct call *call = gi_list_first(from[i], struct call, link);
      unlink_call(c, call);
      call->status = -ENOTCONN;
      gi_list_add_tail(&c->failed, &call->link);
    }
  }
}

static void
fail_deferred(void *arg)
{
  struct gi_rpc_client *c = arg;
  enter(c);
  fail_list(c, &c->failed);
  leave(c);
}

/* ---- timers ---- */

/* Fires for the oldest call; the list is in order of time and all have the same timeout. */
static void
arm_timeout(struct gi_rpc_client *c)
{
  struct gi_list *list = !gi_list_empty(&c->sent) ? &c->sent : &c->waiting;
  if (c->cfg.call_timeout_s == 0 || gi_list_empty(list) || c->timeout.armed)
    return;
  uint64_t due = gi_list_first(list, struct call, link)->start + c->cfg.call_timeout_s * GI_NSEC_PER_SEC;
  uint64_t now = gi_now(c->r);
  gi_timer_set(&c->timeout, due > now ? due - now : 0);
}

static void
time_out_list(struct gi_rpc_client *c, struct gi_list *list, uint64_t before)
{
  while (!gi_list_empty(list)) {
    struct call *call = gi_list_first(list, struct call, link);
    if (call->start > before)
      return;
    c->stats.timeouts++;
    GI_PROBE("rpc client: call timed out");
    gi_log(GI_LOG_WARNING, c->cfg.name, GI_MSG_RPC_CLIENT + 1, "no answer to call %u (program %u procedure %u) for %llu s",
           call->xid, call->prog, call->proc, (unsigned long long)c->cfg.call_timeout_s);
    answer_failed(c, call, -ETIMEDOUT);
  }
}

static void start_waiting(struct gi_rpc_client *c);

static void
timeout_fired(void *arg)
{
  struct gi_rpc_client *c = arg;
  enter(c);
  uint64_t span = c->cfg.call_timeout_s * GI_NSEC_PER_SEC, now = gi_now(c->r);
  if (span > 0 && now >= span) {
    time_out_list(c, &c->sent, now - span);
    time_out_list(c, &c->waiting, now - span);
  }
  start_waiting(c);
  if (!c->dead)
    arm_timeout(c);
  leave(c);
}

static uint64_t
ping_interval(const struct gi_rpc_client *c)
{
  return c->cfg.ping_timeout_s * GI_NSEC_PER_SEC / 4;
}

static bool
pingable(const struct gi_rpc_client *c)
{
  return c->up && c->cfg.ping_timeout_s > 0 && (c->stats.inflight_calls > 0 || c->ping_outstanding);
}

static void
arm_ping(struct gi_rpc_client *c, uint64_t delay)
{
  c->ping_due = gi_now(c->r) + delay;
  gi_timer_set(&c->ping, delay);
}

static void
ping_answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  GI_CHECK(c, CLIENT_MAGIC);
  c->ping_outstanding = false;
  if (reply->status == 0 && c->ops->pong)
    c->ops->pong(c, gi_now(c->r) - c->ping_sent, c->arg);
}

static void
send_ping(struct gi_rpc_client *c)
{
  GI_ASSERT(c->up && c->conn && !c->ping_outstanding);
  struct gi_xdr_out out = {0};
  c->ping_outstanding = true;
  c->ping_sent = gi_now(c->r);
  c->stats.pings++;
  uint32_t xid = gi_rpc_call_begin(c, &out, GI_PROG_DUMP, GI_VERS_DUMP, GI_DUMP_PING, GI_AUTH_V2, NULL);
  gi_rpc_call_send(c, xid, &out, NULL, true, ping_answered, NULL);
}

void
gi_rpc_client_ping(struct gi_rpc_client *c)
{
  if (c->up && !c->ping_outstanding)
    send_ping(c);
}

/* Since when the peer owes us a sign of life. */
static uint64_t
silent_since(const struct gi_rpc_client *c)
{
  uint64_t received = gi_conn_last_received(c->conn);
  return received > c->silent_since ? received : c->silent_since;
}

static void
ping_fired(void *arg)
{
  struct gi_rpc_client *c = arg;
  GI_CHECK(c, CLIENT_MAGIC);
  GI_ASSERT(!c->up || c->conn);
  uint64_t now = gi_now(c->r), interval = ping_interval(c), limit = c->cfg.ping_timeout_s * GI_NSEC_PER_SEC;
  if (!pingable(c))
    return; /* armed again by the next call */
  if (now > c->ping_due + interval)
    c->silent_since = now; /* it was this process that slept: answers may lie unread in the socket */
  uint64_t silence = now - silent_since(c);
  /* A ping that has only just left cannot have been answered, however long the peer had nothing to say before. */
  if (c->ping_outstanding && silence >= limit && now - c->ping_sent >= interval) {
    char why[96];
    c->stats.ping_timeouts++;
    GI_PROBE("rpc client: no answer to pings");
    snprintf(why, sizeof(why), "no answer for %llu s", (unsigned long long)c->cfg.ping_timeout_s);
    gi_log(GI_LOG_CRITICAL, c->cfg.name, GI_MSG_RPC_CLIENT + 2, "%s: %s, disconnecting", gi_conn_peer(c->conn), why);
    gi_conn_close(c->conn, ETIMEDOUT, why);
    return;
  }
  if (!c->ping_outstanding)
    send_ping(c);
  /* The last stretch ends when the time is up, not up to one interval later. */
  uint64_t left = limit > silence ? limit - silence : interval;
  arm_ping(c, left < interval ? left : interval);
}

static void
retry_fired(void *arg)
{
  struct gi_rpc_client *c = arg;
  GI_ASSERT(!c->dead && c->retry_fn);
  enter(c);
  c->stats.reconnects++;
  c->retry_fn(c, c->arg);
  leave(c);
}

/* ---- the budget ---- */

static bool
fits_budget(const struct gi_rpc_client *c, uint64_t bytes)
{
  uint64_t max = c->cfg.inflight_bytes_max;
  /* One call may always go, however large, or it would wait for ever. */
  return max == 0 || c->stats.inflight_bytes == 0 || c->stats.inflight_bytes + bytes <= max;
}

static void
send_now(struct gi_rpc_client *c, struct call *call, const struct gi_payload *payload)
{
  struct call **slot = &c->bucket[call->xid % BUCKETS];
  GI_ASSERT(c->up && c->conn && !call->hashed);
  gi_list_add_tail(call->may_wait ? &c->lasting : &c->sent, &call->link);
  call->next = *slot;
  *slot = call;
  call->hashed = true;
  if (c->stats.inflight_calls++ == 0 && c->cfg.ping_timeout_s > 0)
    c->silent_since = call->start;
  c->stats.inflight_bytes += call->bytes;
  GI_USDT5(call_send, c->cfg.name, call->prog, call->proc, call->xid, call->bytes);
  gi_conn_send(c->conn, call->out.base, call->out.len, payload);
  drop_buffers(c, call);
  if (c->cfg.ping_timeout_s > 0 && !c->ping.armed)
    arm_ping(c, ping_interval(c));
  arm_timeout(c);
}

/* Sends what the answers made room for. */
static void
start_waiting(struct gi_rpc_client *c)
{
  while (c->up && !gi_list_empty(&c->waiting)) {
    struct call *call = gi_list_first(&c->waiting, struct call, link);
    if (!fits_budget(c, call->bytes))
      return;
    gi_list_del(&call->link);
    send_now(c, call, &call->payload);
  }
}

/* ---- calls ---- */

uint32_t
gi_rpc_call_begin(struct gi_rpc_client *c, struct gi_xdr_out *out, uint32_t prog, uint32_t vers, uint32_t proc,
                  uint32_t flavour, const struct gi_caller *caller)
{
  GI_CHECK(c, CLIENT_MAGIC);
  if (++c->xid == 0)
    c->xid = 1; /* 0 is what servers answer when they could not read the header */
  if (out->base == NULL) {
    *out = c->spare_out;
    c->spare_out = (struct gi_xdr_out){0};
  }
  gi_call_encode(out, c->xid, prog, vers, proc, flavour, caller);
  return c->xid;
}

/* Program and procedure, from what gi_rpc_call_begin wrote. */
static void
read_header(struct call *call, const struct gi_xdr_out *out)
{
  struct gi_xdr_in in = {out->base, out->base + out->len, false};
  gi_xdr_get_bytes(&in, 12);
  call->prog = gi_xdr_get_u32(&in);
  gi_xdr_get_u32(&in);
  call->proc = gi_xdr_get_u32(&in);
  GI_ASSERT(!in.failed);
}

void
gi_rpc_call_send(struct gi_rpc_client *c, uint32_t xid, struct gi_xdr_out *out, const struct gi_payload *payload, bool may_wait,
                 gi_rpc_reply_fn *fn, void *arg)
{
  GI_CHECK(c, CLIENT_MAGIC);
  GI_ASSERT(xid != 0 && fn);
  struct call *call = call_new(c);
  call->fn = fn;
  call->arg = arg;
  call->start = gi_now_about(c->r);
  call->xid = xid;
  read_header(call, out);
  call->may_wait = may_wait;
  call->bytes = may_wait ? 0 : out->len + (payload ? payload->len : 0);
  call->out = *out;
  *out = (struct gi_xdr_out){0};
  c->stats.calls++;
  if (!c->up) {
    call->status = -ENOTCONN;
    gi_list_add_tail(&c->failed, &call->link);
    gi_defer_add(c->r, &c->fail);
  } else if (call->bytes == 0 || (gi_list_empty(&c->waiting) && fits_budget(c, call->bytes))) {
    send_now(c, call, payload);
  } else {
    c->stats.budget_waits++;
    GI_PROBE("rpc client: call waits for the budget of bytes");
    if (payload)
      gi_payload_append(&call->payload, payload);
    gi_list_add_tail(&c->waiting, &call->link);
    arm_timeout(c);
  }
}

/* ---- records ---- */

static void
got_callback(struct gi_rpc_client *c, struct gi_record *rec, struct gi_xdr_in *in)
{
  struct gi_call_header h;
  if (!gi_call_decode(in, &h))
    gi_log(GI_LOG_WARNING, c->cfg.name, GI_MSG_RPC_CLIENT + 3, "%s: malformed callback dropped", gi_conn_peer(c->conn));
  else if (h.prog == GI_PROG_CALLBACK && h.vers == GI_VERS_CALLBACK && c->ops->callback)
    c->ops->callback(c, &h, in, c->arg);
}

/* Makes contiguous what the answer's decoder will read, and accounts the rest as payload. */
static void
prepare_results(const struct call *call, struct gi_record *rec, struct gi_xdr_in *in)
{
  bool payload;
  size_t body = (size_t)(in->p - rec->head);
  size_t head = gi_message_head_bytes(call->prog, call->proc, true, rec->head, rec->head_len, body, &payload);
  gi_record_linearize(rec, head);
  if (payload)
    gi_record_count_payload(rec, head);
  *in = (struct gi_xdr_in){rec->head + body, rec->head + rec->head_len, false};
}

static void
got_reply(struct gi_rpc_client *c, struct gi_record *rec, struct gi_xdr_in *in)
{
  struct gi_reply_header h;
  if (!gi_reply_decode(in, &h)) {
    gi_conn_close(c->conn, EPROTO, "malformed reply header");
    return;
  }
  struct call *call = *find_slot(c, h.xid);
  if (call == NULL) {
    GI_PROBE("rpc client: answer to a call that is no more");
    gi_log(GI_LOG_DEBUG, c->cfg.name, GI_MSG_RPC_CLIENT + 4, "answer to unknown call %u", h.xid);
    return; /* late: it timed out meanwhile */
  }
  prepare_results(call, rec, in);
  struct gi_rpc_reply reply = {
      .status = h.reply_status == 0 ? 0 : -EACCES,
      .accept = h.accept_status,
      .in = *in,
      .rec = rec,
      .body_offset = (size_t)(in->p - rec->head),
  };
  GI_USDT5(reply_receive, c->cfg.name, call->prog, call->proc, call->xid, rec->record.len);
  unlink_call(c, call);
  c->stats.replies++;
  answer(c, call, &reply);
  start_waiting(c);
}

static void
conn_record(struct gi_conn *conn, struct gi_record *rec, void *arg)
{
  struct gi_rpc_client *c = arg;
  GI_ASSERT(!c->dead && c->up && conn == c->conn);
  struct gi_xdr_in in = {rec->head, rec->head + rec->head_len, false};
  int type = gi_message_type(&in);
  enter(c);
  if (type == 1) {
    got_reply(c, rec, &in);
  } else if (type == 0) {
    gi_record_linearize(rec, SIZE_MAX);
    in = (struct gi_xdr_in){rec->head, rec->head + rec->head_len, false};
    got_callback(c, rec, &in);
  } else {
    gi_conn_close(conn, EPROTO, "neither a call nor a reply");
  }
  leave(c);
}

/* ---- the connection ---- */

static void
apply_keepalive(struct gi_rpc_client *c)
{
  if (c->up && c->cfg.keepalive.on)
    gi_conn_set_keepalive(c->conn, &c->cfg.keepalive);
}

static void
conn_connected(struct gi_conn *conn, void *arg)
{
  struct gi_rpc_client *c = arg;
  enter(c);
  GI_ASSERT(!c->up && conn == c->conn && c->stats.inflight_calls == 0);
  c->up = true;
  c->ping_outstanding = false;
  apply_keepalive(c);
  if (c->ops->up)
    c->ops->up(c, c->arg);
  leave(c);
}

/* The connection is gone or to be replaced: nothing that was sent on it will be answered. */
static void
lose_connection(struct gi_rpc_client *c)
{
  c->up = false;
  c->ping_outstanding = false;
  gi_timer_cancel(&c->ping);
  gi_timer_cancel(&c->timeout);
  gi_conn_free(&c->conn);
  condemn_all(c);
  GI_ASSERT(c->stats.inflight_calls == 0 && c->stats.inflight_bytes == 0);
}

static void
down_deferred(void *arg)
{
  struct gi_rpc_client *c = arg;
  enter(c);
  fail_list(c, &c->failed);
  if (!c->dead && c->ops->down)
    c->ops->down(c, c->arg);
  leave(c);
}

static void
conn_closed(struct gi_conn *conn, const struct gi_error *why, void *arg)
{
  struct gi_rpc_client *c = arg;
  GI_ASSERT(!c->dead && conn == c->conn);
  enter(c);
  bool wanted = why->code == ENOTCONN; /* gi_rpc_client_disconnect */
  gi_log(wanted                                  ? GI_LOG_DEBUG
         : c->up || gi_tls_is_refusal(why->code) ? GI_LOG_WARNING
                                                 : GI_LOG_INFO,
         c->cfg.name, GI_MSG_RPC_CLIENT + 5, "%s %s", c->up ? "disconnected:" : "cannot connect:", why->text);
  lose_connection(c);
  fail_list(c, &c->failed);
  if (!c->dead && c->conn == NULL && c->ops->down)
    c->ops->down(c, c->arg);
  leave(c);
}

static const struct gi_conn_ops conn_ops = {
    .record = conn_record,
    .connected = conn_connected,
    .closed = conn_closed,
};

void
gi_rpc_client_connect_any(struct gi_rpc_client *c, const char *const *hosts, unsigned n, int port)
{
  struct gi_error err = {0};
  GI_CHECK(c, CLIENT_MAGIC);
  gi_timer_cancel(&c->retry);
  gi_defer_cancel(&c->down);
  lose_connection(c);
  if (!gi_list_empty(&c->failed))
    gi_defer_add(c->r, &c->fail);
  c->conn = gi_conn_connect_any(c->r, hosts, n, port, &conn_ops, c, &err);
  if (c->conn && c->cfg.tls && hosts[0][0] != '/')
    gi_conn_set_tls(c->conn, c->cfg.tls, false);
  if (c->conn)
    return;
  gi_log(GI_LOG_INFO, c->cfg.name, GI_MSG_RPC_CLIENT + 5, "cannot connect: %s", err.text);
  gi_defer_add(c->r, &c->down);
}

void
gi_rpc_client_connect(struct gi_rpc_client *c, const char *host, int port)
{
  gi_rpc_client_connect_any(c, &host, 1, port);
}

void
gi_rpc_client_disconnect(struct gi_rpc_client *c, const char *why)
{
  GI_CHECK(c, CLIENT_MAGIC);
  if (c->conn)
    gi_conn_close(c->conn, ENOTCONN, why);
}

/* Somewhere between: so that many clients do not come back in one instant. */
static void
retry_between(struct gi_rpc_client *c, uint64_t from, uint64_t to, void (*fn)(struct gi_rpc_client *c, void *arg))
{
  uint32_t chance;
  GI_CHECK(c, CLIENT_MAGIC);
  gi_random(c->r, &chance, sizeof(chance));
  c->retry_fn = fn;
  gi_timer_set(&c->retry, from + (to - from) / 1000 * (chance % 1000));
}

void
gi_rpc_client_retry_later(struct gi_rpc_client *c, void (*fn)(struct gi_rpc_client *c, void *arg))
{
  uint64_t min = c->cfg.reconnect_min_ms ? c->cfg.reconnect_min_ms : 1;
  uint64_t max = c->cfg.reconnect_max_ms > min ? c->cfg.reconnect_max_ms : min;
  uint64_t ms = c->backoff_ms < min ? min : c->backoff_ms > max ? max : c->backoff_ms;
  uint64_t delay = ms * GI_NSEC_PER_MSEC, spread = delay / BACKOFF_JITTER;
  c->backoff_ms = ms * 2;
  retry_between(c, delay - spread, delay + spread, fn);
}

void
gi_rpc_client_retry_soon(struct gi_rpc_client *c, void (*fn)(struct gi_rpc_client *c, void *arg))
{
  gi_rpc_client_reset_backoff(c);
  retry_between(c, 0, SOON, fn);
}

void
gi_rpc_client_reset_backoff(struct gi_rpc_client *c)
{
  c->backoff_ms = 0;
}

bool
gi_rpc_client_connected(const struct gi_rpc_client *c)
{
  return c->up;
}

const struct gi_conn *
gi_rpc_client_conn(const struct gi_rpc_client *c)
{
  return c->conn;
}

const struct gi_rpc_client_stats *
gi_rpc_client_stats(const struct gi_rpc_client *c)
{
  return &c->stats;
}

/* ---- life ---- */

struct gi_rpc_client *
gi_rpc_client_new(struct gi_reactor *r, const struct gi_rpc_client_config *cfg, const struct gi_rpc_client_ops *ops, void *arg)
{
  struct gi_rpc_client *c = gi_new(struct gi_rpc_client);
  c->magic = CLIENT_MAGIC;
  c->r = r;
  c->ops = ops;
  c->arg = arg;
  c->xid = 1; /* the first call has 2, as real clients have it (wire.md 1.4) */
  gi_list_init(&c->sent);
  gi_list_init(&c->lasting);
  gi_list_init(&c->waiting);
  gi_list_init(&c->failed);
  gi_defer_init(&c->fail, fail_deferred, c);
  gi_defer_init(&c->down, down_deferred, c);
  gi_timer_init(&c->timeout, r, timeout_fired, c);
  gi_timer_init(&c->ping, r, ping_fired, c);
  gi_timer_init(&c->retry, r, retry_fired, c);
  gi_rpc_client_set_config(c, cfg);
  return c;
}

void
gi_rpc_client_set_config(struct gi_rpc_client *c, const struct gi_rpc_client_config *cfg)
{
  GI_CHECK(c, CLIENT_MAGIC);
  char *name = gi_strdup(cfg->name ? cfg->name : "rpc-client");
  gi_free((char *)c->cfg.name);
  struct gi_tls *tls = gi_tls_ref(cfg->tls);
  gi_tls_unref(&c->cfg.tls);
  c->cfg = *cfg;
  c->cfg.name = name;
  c->cfg.tls = tls;
  gi_timer_cancel(&c->timeout);
  gi_timer_cancel(&c->ping);
  arm_timeout(c);
  if (pingable(c)) {
    c->silent_since = gi_now(c->r);
    arm_ping(c, ping_interval(c));
  }
  apply_keepalive(c);
  start_waiting(c);
}

void
gi_rpc_client_set_tls(struct gi_rpc_client *c, struct gi_tls *tls)
{
  GI_CHECK(c, CLIENT_MAGIC);
  tls = gi_tls_ref(tls);
  gi_tls_unref(&c->cfg.tls);
  c->cfg.tls = tls;
}

void
gi_rpc_client_free(struct gi_rpc_client **cp)
{
  struct gi_rpc_client *c = *cp;
  *cp = NULL;
  if (c == NULL)
    return;
  GI_CHECK(c, CLIENT_MAGIC);
  GI_ASSERT(!c->dead);
  c->dead = true;
  enter(c);
  gi_timer_cancel(&c->retry);
  gi_defer_cancel(&c->down);
  lose_connection(c);
  fail_list(c, &c->failed);
  gi_defer_cancel(&c->fail);
  leave(c);
}
