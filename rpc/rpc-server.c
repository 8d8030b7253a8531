/* SPDX-License-Identifier: Apache-2.0
 *
 * The answering side of RPC. Whatever a peer sends, it gets the answer of
 * wire.md 1.3; only records that are no RPC messages at all end a connection.
 *
 * A request outlives its peer: when the connection goes it is moved to
 * `orphans` with peer NULL and its answer is thrown away.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/rpc-server.h"
#include "rpc/net.h"
#include "libglusterish/log.h"
#include "libglusterish/mem.h"
#include "libglusterish/usdt.h"

#include <errno.h>

#define SERVER_MAGIC 0x5e27e201u
#define PEER_MAGIC 0x9ee20001u
#define PROGRAMS_MAX 16
#define LISTENERS_MAX 8
#define INFLIGHT_DEFAULT (64ull << 20)
#define TOTAL_DEFAULT (512ull << 20)
#define SPARE_BUFFER_MAX (64u << 10) /* a larger encode buffer is not kept for the next answer */
#define SPARE_REQUESTS_MAX 1024
#define STRANGER_QUEUED_MAX (256u << 10) /* answers that a stranger has not read */
#define STRANGER_REFUSED_MAX 1024u       /* calls of a stranger that were refused */
#define CALLBACKS_UNREAD_MAX (8u << 20)  /* bytes of callbacks behind a full queue */
#define PATIENCE (5 * GI_NSEC_PER_SEC)   /* of a peer that is held back only for the number of its calls */
#define AUTH_TOO_WEAK 2                  /* status of the denial when a privileged port is demanded */

struct gi_rpc_server {
  uint32_t magic;
  struct gi_reactor *r;
  const struct gi_rpc_server_ops *ops;
  void *arg;
  char *name;
  const struct gi_rpc_program *program[PROGRAMS_MAX];
  unsigned nprograms;
  struct gi_listener *listener[LISTENERS_MAX];
  unsigned nlisteners;
  struct gi_list peers;     /* struct gi_rpc_peer */
  struct gi_list strangers; /* those not admitted, oldest first */
  struct gi_rpc_limits limits;
  struct gi_timer strangers_due;
  unsigned npeers;
  struct gi_list orphans; /* requests whose peer is gone */
  struct gi_list spares;  /* requests for reuse */
  unsigned nspares;
  struct gi_xdr_out spare_out;
  uint64_t inflight_max;
  uint64_t total, total_max; /* bytes of all requests being served, orphans included */
  unsigned outstanding_max;
  struct gi_timer patience;
  bool require_privileged;
  struct gi_tls *tls; /* NULL: plain */
  bool plain_too;
};

struct gi_rpc_peer {
  uint32_t magic;
  struct gi_rpc_server *s;
  struct gi_conn *conn;
  struct gi_list link;
  struct gi_list stranger; /* in strangers, while not admitted */
  struct gi_list requests; /* being served */
  uint64_t inflight;       /* bytes of them */
  unsigned calls;          /* of them, those that count */
  bool busy;               /* too many bytes or calls being served */
  bool slow;               /* they stay many for long: how many no longer matters */
  uint64_t callbacks;      /* bytes of those queued since it began to lag */
  bool lagging;            /* it does not read its answers */
  bool privileged;         /* source port below 1024, or a unix socket */
  bool admitted;
  unsigned refused; /* calls, while not admitted */
  uint64_t since;   /* when it came */
  struct sockaddr_storage address;
  uint32_t callback_xid;
  void *private_;
};

/* ---- buffers and requests ---- */

static void
take_buffer(struct gi_rpc_server *s, struct gi_xdr_out *out)
{
  if (out->base)
    return;
  *out = s->spare_out;
  s->spare_out = (struct gi_xdr_out){0};
}

static void
give_buffer(struct gi_rpc_server *s, struct gi_xdr_out *out)
{
  if (s->spare_out.base == NULL && out->capacity <= SPARE_BUFFER_MAX) {
    s->spare_out = *out;
    s->spare_out.len = 0;
    *out = (struct gi_xdr_out){0};
  } else {
    gi_xdr_out_finish(out);
  }
}

static struct gi_rpc_request *
request_new(struct gi_rpc_peer *p)
{
  struct gi_rpc_server *s = p->s;
  struct gi_rpc_request *req;
  if (!gi_list_empty(&s->spares)) {
    req = gi_list_first(&s->spares, struct gi_rpc_request, link);
    gi_list_del(&req->link);
    GI_ASSERT(s->nspares > 0);
    s->nspares--;
  } else {
    req = gi_alloc(sizeof(*req));
  }
  req->peer = p;
  req->server = s;
  gi_list_add_tail(&p->requests, &req->link);
  return req;
}

static void
request_free(struct gi_rpc_request *req)
{
  struct gi_rpc_peer *p = req->peer;
  GI_ASSERT(!p || p->s == req->server);
  gi_list_del(&req->link);
  if (p == NULL || p->s->nspares >= SPARE_REQUESTS_MAX) {
    gi_free(req);
  } else {
    gi_list_add_head(&p->s->spares, &req->link);
    p->s->nspares++;
  }
}

static void
update_pause(struct gi_rpc_peer *p)
{
  gi_conn_pause(p->conn, p->busy || p->lagging);
}

/* The same of what all may have together, and the peer has more of it than if it were shared out equally. What it has under way ends
 * some time, and then this is asked again. */
static bool
crowding(const struct gi_rpc_peer *p, unsigned share)
{
  const struct gi_rpc_server *s = p->s;
  return s->total_max && s->total > s->total_max / share && p->inflight > s->total_max / s->npeers / share;
}

/* More than a share of what it may have. */
static bool
above(const struct gi_rpc_peer *p, unsigned share)
{
  const struct gi_rpc_server *s = p->s;
  bool many = share == 1 ? p->calls >= s->outstanding_max : p->calls > s->outstanding_max / share;
  return p->inflight > s->inflight_max / share || crowding(p, share) || (s->outstanding_max && !p->slow && many);
}

/* Something was queued for the peer, or a request of it ended: may it be read? */
static void
settle(struct gi_rpc_peer *p)
{
  GI_CHECK(p, PEER_MAGIC);
  GI_ASSERT(p->s->total >= p->inflight);
  if (p->slow && p->calls <= p->s->outstanding_max / 2)
    p->slow = false;
  p->busy = p->busy && above(p, 2);
  p->lagging = gi_conn_full(p->conn);
  update_pause(p);
  if (!p->admitted && gi_conn_queued(p->conn) > STRANGER_QUEUED_MAX)
    gi_conn_close(p->conn, EPROTO, "a stranger that does not read its answers");
}

static void
refused(struct gi_rpc_peer *p)
{
  settle(p);
  if (!p->admitted && ++p->refused > STRANGER_REFUSED_MAX)
    gi_conn_close(p->conn, EPROTO, "a stranger whose calls are all refused");
}

/* The request is over: lets the peer send again if it was held back. */
static void
request_done(struct gi_rpc_request *req)
{
  struct gi_rpc_peer *p = req->peer;
  if (req->server) {
    GI_ASSERT(req->server->total >= req->bytes);
    req->server->total -= req->bytes;
  }
  if (p) {
    GI_CHECK(p, PEER_MAGIC);
    GI_ASSERT(p->inflight >= req->bytes && p->calls >= req->counted);
    p->inflight -= req->bytes;
    p->calls -= req->counted;
    settle(p);
  }
  request_free(req);
}

/* ---- answers ---- */

/* An answer that has no results, to a call that has no request. */
static void
refuse(struct gi_rpc_peer *p, uint32_t xid, uint32_t status)
{
  struct gi_xdr_out out = {0};
  take_buffer(p->s, &out);
  gi_reply_encode(&out, xid, status);
  if (status == GI_RPC_PROG_MISMATCH)
    gi_xdr_put_u64(&out, 0); /* lowest and highest version: real servers say 0, 0 */
  gi_conn_send(p->conn, out.base, out.len, NULL);
  give_buffer(p->s, &out);
  refused(p);
}

static void
deny(struct gi_rpc_peer *p, uint32_t xid, uint32_t auth_status)
{
  struct gi_xdr_out out = {0};
  gi_reply_encode_denied(&out, xid, auth_status);
  gi_conn_send(p->conn, out.base, out.len, NULL);
  gi_xdr_out_finish(&out);
  refused(p);
}

void
gi_rpc_answer_begin(struct gi_rpc_request *req, struct gi_xdr_out *out)
{
  if (req->peer)
    take_buffer(req->peer->s, out);
  gi_reply_encode(out, req->header.xid, GI_RPC_SUCCESS);
}

void
gi_rpc_answer_send(struct gi_rpc_request *req, struct gi_xdr_out *out, const struct gi_payload *payload)
{
  struct gi_rpc_peer *p = req->peer;
  size_t len = out->len + (payload ? payload->len : 0);
  if (p && len > GI_RECORD_MAX) {
    gi_log(GI_LOG_ERROR, p->s->name, GI_MSG_RPC_SERVER + 4,
           "an answer of %zu bytes to procedure %u of program %u is not sent: too long", len, req->header.proc,
           req->header.prog);
    gi_xdr_out_finish(out);
    refuse(p, req->header.xid, GI_RPC_SYSTEM);
  } else if (p) {
    GI_USDT5(reply_send, p->s->name, req->header.prog, req->header.proc, req->header.xid, len);
    gi_conn_send(p->conn, out->base, out->len, payload);
    give_buffer(p->s, out);
  } else {
    gi_xdr_out_finish(out);
  }
  request_done(req);
}

void
gi_rpc_answer_status(struct gi_rpc_request *req, uint32_t accept_status)
{
  if (req->peer)
    refuse(req->peer, req->header.xid, accept_status);
  request_done(req);
}

void
gi_rpc_drop(struct gi_rpc_request *req)
{
  request_done(req);
}

/* ---- the DUMP program ---- */

static const struct gi_rpc_program dump_program;

static void
put_program(struct gi_xdr_out *out, const struct gi_rpc_program *prog)
{
  gi_xdr_put_u32(out, 1);
  gi_xdr_put_string(out, prog->name);
  gi_xdr_put_u64(out, prog->prog);
  gi_xdr_put_u64(out, prog->vers);
}

static void
dump_dump(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  gi_xdr_get_u64(&req->in); /* gfs_id, of no meaning */
  if (req->in.failed) {
    gi_rpc_answer_status(req, GI_RPC_GARBAGE);
    return;
  }
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_u64(&out, 0); /* op_ret, op_errno */
  for (unsigned i = 0; i < s->nprograms; i++)
    put_program(&out, s->program[i]);
  gi_xdr_put_u32(&out, 0);
  gi_rpc_answer_send(req, &out, NULL);
}

static void
dump_ping(struct gi_rpc_server *s, struct gi_rpc_request *req, void *arg)
{
  struct gi_xdr_out out = {0};
  gi_rpc_answer_begin(req, &out);
  gi_xdr_put_u64(&out, 0); /* op_ret, op_errno */
  gi_xdr_put_u32(&out, 0); /* xdata */
  gi_rpc_answer_send(req, &out, NULL);
}

static gi_rpc_handler *const dump_handlers[] = {
    [GI_DUMP_DUMP] = dump_dump,
    [GI_DUMP_PING] = dump_ping,
};

static const struct gi_rpc_program dump_program = {
    .name = "GF-DUMP",
    .prog = GI_PROG_DUMP,
    .vers = GI_VERS_DUMP,
    .nprocs = GI_ARRAY_LEN(dump_handlers),
    .handler = dump_handlers,
};

/* ---- calls ---- */

static gi_rpc_handler *
find_handler(const struct gi_rpc_server *s, const struct gi_call_header *h, uint32_t *status)
{
  *status = GI_RPC_PROG_UNAVAIL;
  for (unsigned i = 0; i < s->nprograms; i++) {
    const struct gi_rpc_program *prog = s->program[i];
    if (prog->prog != h->prog)
      continue;
    *status = GI_RPC_PROG_MISMATCH;
    if (prog->vers != h->vers)
      continue;
    *status = GI_RPC_PROC_UNAVAIL;
    return h->proc < prog->nprocs ? prog->handler[h->proc] : NULL;
  }
  return NULL;
}

/* Makes contiguous what the handler will decode, and accounts the rest as payload. */
static void
prepare_arguments(struct gi_rpc_request *req, struct gi_record *rec, size_t body)
{
  bool payload;
  size_t head = gi_message_head_bytes(req->header.prog, req->header.proc, false, rec->head, rec->head_len, body, &payload);
  if (payload)
    gi_record_count_payload(rec, head);
  gi_record_linearize(rec, head);
  req->in = (struct gi_xdr_in){rec->head + body, rec->head + rec->head_len, false};
  req->rec = rec;
  req->body_offset = body;
}

static void
hold_back(struct gi_rpc_peer *p)
{
  p->busy = p->busy || above(p, 1);
  update_pause(p);
  if (p->busy && p->s->outstanding_max && !p->s->patience.armed)
    gi_timer_set(&p->s->patience, PATIENCE);
}

/* What is under way may wait for something that cannot be read, and pings are to be answered while a disk sleeps. */
static void
patience_ends(void *arg)
{
  struct gi_rpc_server *s = arg;
  GI_CHECK(s, SERVER_MAGIC);
  gi_list_foreach(p, &s->peers, struct gi_rpc_peer, link) {
    if (!p->busy)
      continue;
    p->slow = true;
    settle(p);
  }
}

void
gi_rpc_charge(struct gi_rpc_request *req, uint64_t answer_bytes)
{
  struct gi_rpc_peer *p = req->peer;
  GI_ASSERT(p && !req->counted);
  req->counted = true;
  req->bytes += answer_bytes;
  p->calls++;
  p->inflight += answer_bytes;
  p->s->total += answer_bytes;
  hold_back(p);
}

static void
peer_drained(struct gi_conn *conn, void *arg)
{
  struct gi_rpc_peer *p = arg;
  GI_CHECK(p, PEER_MAGIC);
  p->lagging = false;
  update_pause(p);
}

static void
serve(struct gi_rpc_peer *p, const struct gi_call_header *h, gi_rpc_handler *handler, struct gi_record *rec, size_t body)
{
  struct gi_rpc_request *req = request_new(p);
  GI_ASSERT(handler && body <= rec->head_len);
  req->header = *h;
  req->bytes = rec->record.len;
  req->counted = false;
  if (gi_cred_decode(h->flavour, h->cred, h->cred_len, &req->caller, req->groups) < 0) {
    deny(p, h->xid, 0);
    request_free(req);
    return;
  }
  p->inflight += req->bytes;
  p->s->total += req->bytes;
  hold_back(p);
  GI_USDT5(call_receive, p->s->name, h->prog, h->proc, h->xid, req->bytes);
  prepare_arguments(req, rec, body);
  handler(p->s, req, p->s->arg);
}

static void
got_call(struct gi_rpc_peer *p, struct gi_record *rec, struct gi_xdr_in *in)
{
  struct gi_call_header h;
  uint32_t status;
  if (!gi_call_decode(in, &h)) {
    refuse(p, 0, GI_RPC_GARBAGE);
    return;
  }
  if (p->s->require_privileged && !p->privileged) {
    deny(p, h.xid, AUTH_TOO_WEAK);
    return;
  }
  gi_rpc_handler *handler = find_handler(p->s, &h, &status);
  if (handler && p->s->limits.admit_callers && h.prog != GI_PROG_DUMP)
    gi_rpc_peer_admit(p);
  if (handler)
    serve(p, &h, handler, rec, (size_t)(in->p - rec->head));
  else
    refuse(p, h.xid, status);
}

static void
peer_record(struct gi_conn *conn, struct gi_record *rec, void *arg)
{
  struct gi_rpc_peer *p = arg;
  GI_CHECK(p, PEER_MAGIC);
  struct gi_xdr_in in = {rec->head, rec->head + rec->head_len, false};
  int type = gi_message_type(&in);
  if (type == 0)
    got_call(p, rec, &in);
  else if (type == 1 || rec->head_len < 8)
    refuse(p, 0, GI_RPC_GARBAGE);
  else
    gi_conn_close(conn, EPROTO, "neither a call nor a reply");
}

/* ---- peers ---- */

static void
peer_free(struct gi_rpc_peer *p)
{
  struct gi_rpc_server *s = p->s;
  GI_CHECK(p, PEER_MAGIC);
  GI_ASSERT(s->npeers > 0);
  GI_ASSERT(p->admitted || !gi_list_empty(&p->stranger));
  gi_list_del(&p->link);
  gi_list_del(&p->stranger);
  s->npeers--;
  gi_list_foreach(req, &p->requests, struct gi_rpc_request, link)
    req->peer = NULL;
  gi_list_splice_tail(&s->orphans, &p->requests);
  if (s->ops && s->ops->peer_down)
    s->ops->peer_down(s, p, s->arg);
  gi_conn_free(&p->conn);
  p->magic = 0;
  gi_free(p);
}

static void
peer_closed(struct gi_conn *conn, const struct gi_error *why, void *arg)
{
  struct gi_rpc_peer *p = arg;
  GI_CHECK(p, PEER_MAGIC);
  if (gi_tls_is_refusal(why->code))
    gi_log(GI_LOG_WARNING, p->s->name, GI_MSG_RPC_SERVER + 5, "refused: %s", why->text);
  else
    gi_log(GI_LOG_DEBUG, p->s->name, GI_MSG_RPC_SERVER + 1, "peer gone: %s", why->text);
  peer_free(p);
}

static const struct gi_conn_ops peer_ops = {
    .record = peer_record,
    .closed = peer_closed,
    .drained = peer_drained,
};

/* ---- strangers ---- */

void
gi_rpc_peer_admit(struct gi_rpc_peer *p)
{
  GI_CHECK(p, PEER_MAGIC);
  if (p->admitted)
    return;
  p->admitted = true;
  gi_list_del(&p->stranger);
  if (p->s->limits.record)
    gi_conn_set_record_max(p->conn, p->s->limits.record);
}

static void
begin_as_stranger(struct gi_rpc_peer *p)
{
  struct gi_rpc_server *s = p->s;
  GI_ASSERT(!p->admitted && gi_list_empty(&p->stranger));
  p->since = gi_now(s->r);
  gi_conn_set_record_max(p->conn, s->limits.stranger_record);
  gi_list_add_tail(&s->strangers, &p->stranger);
  if (s->limits.stranger_ns && !s->strangers_due.armed)
    gi_timer_set(&s->strangers_due, s->limits.stranger_ns);
}

static void
turn_out(struct gi_rpc_peer *p, const char *why)
{
  gi_log(GI_LOG_INFO, p->s->name, GI_MSG_RPC_SERVER + 3, "%s closed: %s", gi_conn_peer(p->conn), why);
  peer_free(p);
}

/* Closes the strangers whose time is over. Who waits for an answer of ours gets as long again. */
static void
strangers_due(void *arg)
{
  struct gi_rpc_server *s = arg;
  GI_CHECK(s, SERVER_MAGIC);
  uint64_t now = gi_now(s->r), age = 0;
  while (!gi_list_empty(&s->strangers)) {
    struct gi_rpc_peer *p = gi_list_first(&s->strangers, struct gi_rpc_peer, stranger);
    GI_ASSERT(!p->admitted);
    age = now - p->since;
    if (age < s->limits.stranger_ns)
      break;
    if (gi_list_empty(&p->requests)) {
      turn_out(p, "it did not say in time who it is");
    } else {
      p->since = now;
      gi_list_del(&p->stranger);
      gi_list_add_tail(&s->strangers, &p->stranger);
    }
  }
  if (!gi_list_empty(&s->strangers))
    gi_timer_set(&s->strangers_due, s->limits.stranger_ns - age);
}

/* Whether one more connection from there may be, after somebody has gone to make room perhaps. */
static bool
make_room(struct gi_rpc_server *s, const struct sockaddr_storage *from)
{
  unsigned same = 0, strangers = 0, half_open = 0;
  struct gi_rpc_peer *oldest = NULL, *shaking = NULL;
  gi_list_foreach(p, &s->peers, struct gi_rpc_peer, link) {
    bool is = gi_net_same_host(&p->address, from);
    same += is;
    if (is && gi_conn_shaking(p->conn) && half_open++ == 0)
      shaking = p;
  }
  gi_list_foreach(p, &s->strangers, struct gi_rpc_peer, stranger) {
    if (!gi_net_same_host(&p->address, from))
      continue;
    oldest = oldest ? oldest : p;
    strangers++;
  }
  if (half_open >= GI_HALF_OPEN_OF_ADDRESS)
    turn_out(shaking, "too many TLS handshakes of its address are not over");
  else if (strangers >= GI_STRANGERS_OF_ADDRESS)
    turn_out(oldest, "too many strangers from its address");
  else if (same >= GI_PEERS_OF_ADDRESS && oldest)
    turn_out(oldest, "too many connections from its address");
  else if (same >= GI_PEERS_OF_ADDRESS)
    return false;
  else if (s->npeers >= GI_PEERS_MAX && !gi_list_empty(&s->strangers))
    turn_out(gi_list_first(&s->strangers, struct gi_rpc_peer, stranger), "too many connections");
  return s->npeers < GI_PEERS_MAX;
}

static void
accepted(void *arg, int fd)
{
  struct gi_rpc_server *s = arg;
  GI_CHECK(s, SERVER_MAGIC);
  struct sockaddr_storage from = {0};
  gi_net_of(s->r)->peer(s->r, fd, &from); /* it may be gone already: that is noticed later */
  if (!make_room(s, &from)) {
    gi_log(GI_LOG_WARNING, s->name, GI_MSG_RPC_SERVER + 2, "more than %d connections, or %d from one address: refused",
           GI_PEERS_MAX, GI_PEERS_OF_ADDRESS);
    gi_net_of(s->r)->close(s->r, fd);
    return;
  }
  struct gi_rpc_peer *p = gi_new(struct gi_rpc_peer);
  p->magic = PEER_MAGIC;
  p->s = s;
  gi_list_init(&p->requests);
  gi_list_init(&p->stranger);
  gi_list_add_tail(&s->peers, &p->link);
  s->npeers++;
  p->address = from;
  p->conn = gi_conn_accept(s->r, fd, &peer_ops, p);
  if (s->tls && from.ss_family != AF_UNIX)
    gi_conn_set_tls(p->conn, s->tls, s->plain_too);
  p->privileged = gi_net_privileged(&from);
  p->admitted = s->limits.stranger_record == 0;
  if (!p->admitted)
    begin_as_stranger(p);
  if (s->ops && s->ops->peer_up)
    s->ops->peer_up(s, p, s->arg);
}

void *
gi_rpc_peer_private(const struct gi_rpc_peer *p)
{
  return p->private_;
}

void
gi_rpc_peer_set_private(struct gi_rpc_peer *p, void *private_)
{
  p->private_ = private_;
}

struct gi_conn *
gi_rpc_peer_conn(struct gi_rpc_peer *p)
{
  return p->conn;
}

/* ---- callbacks ---- */

void
gi_rpc_callback_begin(struct gi_rpc_peer *p, struct gi_xdr_out *out, uint32_t proc)
{
  GI_CHECK(p, PEER_MAGIC);
  take_buffer(p->s, out);
  gi_call_encode(out, ++p->callback_xid, GI_PROG_CALLBACK, GI_VERS_CALLBACK, proc, GI_AUTH_NONE, NULL);
}

void
gi_rpc_callback_send(struct gi_rpc_peer *p, struct gi_xdr_out *out)
{
  GI_CHECK(p, PEER_MAGIC);
  p->callbacks = gi_conn_full(p->conn) ? p->callbacks + out->len : 0;
  gi_conn_send(p->conn, out->base, out->len, NULL);
  give_buffer(p->s, out);
  if (p->callbacks > CALLBACKS_UNREAD_MAX)
    gi_conn_close(p->conn, EPROTO, "it does not read what it is told");
}

/* ---- the server ---- */

struct gi_rpc_server *
gi_rpc_server_new(struct gi_reactor *r, const char *name, const struct gi_rpc_server_ops *ops, void *arg)
{
  struct gi_rpc_server *s = gi_new(struct gi_rpc_server);
  s->magic = SERVER_MAGIC;
  s->r = r;
  s->ops = ops;
  s->arg = arg;
  s->name = gi_strdup(name);
  s->inflight_max = INFLIGHT_DEFAULT;
  s->total_max = TOTAL_DEFAULT;
  gi_list_init(&s->peers);
  gi_list_init(&s->strangers);
  gi_timer_init(&s->strangers_due, r, strangers_due, s);
  gi_timer_init(&s->patience, r, patience_ends, s);
  gi_list_init(&s->orphans);
  gi_list_init(&s->spares);
  gi_rpc_server_add_program(s, &dump_program);
  return s;
}

static void
free_spares(struct gi_rpc_server *s)
{
  gi_list_foreach_safe(req, &s->spares, struct gi_rpc_request, link)
    gi_free(req);
  gi_xdr_out_finish(&s->spare_out);
}

void
gi_rpc_server_free(struct gi_rpc_server **sp)
{
  struct gi_rpc_server *s = *sp;
  *sp = NULL;
  if (s == NULL)
    return;
  GI_CHECK(s, SERVER_MAGIC);
  for (unsigned i = 0; i < s->nlisteners; i++)
    gi_listener_free(&s->listener[i]);
  while (!gi_list_empty(&s->peers))
    peer_free(gi_list_first(&s->peers, struct gi_rpc_peer, link));
  GI_ASSERT(s->npeers == 0);
  GI_ASSERT(gi_list_empty(&s->strangers));
  gi_list_foreach_safe(req, &s->orphans, struct gi_rpc_request, link) {
    gi_list_del(&req->link); /* each is freed by whoever answers it */
    req->server = NULL;
  }
  free_spares(s);
  gi_timer_finish(&s->strangers_due);
  gi_timer_finish(&s->patience);
  gi_tls_unref(&s->tls);
  s->magic = 0;
  gi_free(s->name);
  gi_free(s);
}

void
gi_rpc_server_add_program(struct gi_rpc_server *s, const struct gi_rpc_program *prog)
{
  GI_CHECK(s, SERVER_MAGIC);
  GI_ASSERT(s->nprograms < PROGRAMS_MAX);
  s->program[s->nprograms++] = prog;
}

int
gi_rpc_server_listen(struct gi_rpc_server *s, const char *host_or_path, int port, int backlog, struct gi_error *err)
{
  GI_CHECK(s, SERVER_MAGIC);
  if (s->nlisteners == LISTENERS_MAX)
    return gi_error_set(err, ENOSPC, "more than %d listeners", LISTENERS_MAX);
  struct gi_listener *l = gi_listener_new(s->r, host_or_path, port, backlog, accepted, s, err);
  if (l == NULL)
    return -1;
  s->listener[s->nlisteners++] = l;
  return 0;
}

int
gi_rpc_server_port(const struct gi_rpc_server *s)
{
  for (unsigned i = 0; i < s->nlisteners; i++) {
    if (gi_listener_port(s->listener[i]) > 0)
      return gi_listener_port(s->listener[i]);
  }
  return 0;
}

void
gi_rpc_server_set_inflight_max(struct gi_rpc_server *s, uint64_t bytes)
{
  s->inflight_max = bytes;
}

void
gi_rpc_server_set_total_max(struct gi_rpc_server *s, uint64_t bytes)
{
  s->total_max = bytes;
}

void
gi_rpc_server_set_outstanding_max(struct gi_rpc_server *s, unsigned calls)
{
  s->outstanding_max = calls;
}

void
gi_rpc_server_set_limits(struct gi_rpc_server *s, const struct gi_rpc_limits *limits)
{
  s->limits = *limits;
}

void
gi_rpc_server_set_tls(struct gi_rpc_server *s, struct gi_tls *tls, bool plain_too)
{
  GI_CHECK(s, SERVER_MAGIC);
  tls = gi_tls_ref(tls);
  gi_tls_unref(&s->tls);
  s->tls = tls;
  s->plain_too = plain_too;
}

void
gi_rpc_server_require_privileged(struct gi_rpc_server *s, bool on)
{
  s->require_privileged = on;
}

void
gi_rpc_server_foreach_peer(struct gi_rpc_server *s, void (*fn)(struct gi_rpc_peer *p, void *arg), void *arg)
{
  gi_list_foreach_safe(p, &s->peers, struct gi_rpc_peer, link)
    fn(p, arg);
}
