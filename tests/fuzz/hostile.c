/* SPDX-License-Identifier: Apache-2.0
 *
 * The hostile bricks of hostile.h. One small namespace is the truth of all of
 * them; whatever is asked is decoded as a brick does, answered from that, and
 * then perhaps spoilt: as an operation (hostile-lies.c), or as bytes here.
 */
#include "tests/fuzz/hostile-private.h"
#include "rpc/message.h"
#include "rpc/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENDS_MAX 32
#define HELD_MAX 64
#define MGMT HOSTILE_BRICKS
#define FIRST_PORT 49152
#define RECORD_MAX (2u << 20) /* what a client of ours sends at most */
#define LAST_FRAGMENT 0x80000000u

/* Our end of a connection. */
struct end {
  int fd; /* -1 = free */
  unsigned brick;
  unsigned generation;
  uint8_t *data; /* received, not yet a whole record */
  size_t len;
};

/* A reply that is late. */
struct late {
  unsigned end, generation;
  uint8_t *data;
  size_t len;
};

struct hostile {
  struct gi_ctx *ctx;
  struct fuzz_bytes *b;
  struct gi_net_ops net;
  struct truth truth;
  bool serving, honest;
  uint8_t level; /* 0 … 255: a byte of the input above it is a lie */
  struct end end[ENDS_MAX];
  struct late late[HELD_MAX];
  unsigned nlate;
};

static struct hostile *the_bricks;

uint64_t
fuzz_number(struct fuzz_bytes *b)
{
  static const uint64_t odd[] = {
      0, 1, 4, 511, 4096, 65536, INT32_MAX, 1u << 31, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX,
  };
  uint8_t how = fuzz_next(b);
  return how < 128 ? how : odd[how % GI_ARRAY_LEN(odd)];
}

/* ---- connections ---- */

static int
net_connect(struct gi_reactor *r, const struct gi_net_address *to)
{
  struct hostile *h = the_bricks;
  unsigned port = ntohs(((const struct sockaddr_in *)&to->sa)->sin_port);
  int fd[2];
  for (unsigned i = 0; i < ENDS_MAX; i++) {
    struct end *e = &h->end[i];
    if (e->fd >= 0)
      continue;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) < 0)
      return -errno;
    *e = (struct end){.fd = fd[1],
                      .brick = port >= FIRST_PORT ? (port - FIRST_PORT) % HOSTILE_BRICKS : MGMT,
                      .generation = e->generation + 1};
    return fd[0];
  }
  return -ECONNREFUSED;
}

static int
net_connect_result(struct gi_reactor *r, int fd)
{
  return 0;
}

static int
net_address(struct gi_reactor *r, int fd, struct sockaddr_storage *sa)
{
  *(struct sockaddr_in *)sa = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)(1000 + fd))};
  return 0;
}

static int
net_no_address(struct gi_reactor *r, int fd, struct sockaddr_storage *sa)
{
  return -ENOTCONN;
}

static void
end_close(struct end *e)
{
  if (e->fd >= 0)
    close(e->fd);
  e->fd = -1;
  gi_free(e->data);
  e->data = NULL;
  e->len = 0;
}

/* Whether the next thing is to be a lie. */
static bool
lies(struct hostile *h)
{
  return !h->honest && fuzz_next(h->b) > h->level;
}

/* ---- sending ---- */

static void
send_bytes(struct end *e, const uint8_t *data, size_t len)
{
  if (e->fd >= 0 && send(e->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
    end_close(e);
}

static void
send_record(struct end *e, const uint8_t *data, size_t len)
{
  uint32_t mark = htonl(LAST_FRAGMENT | (uint32_t)len);
  send_bytes(e, (const uint8_t *)&mark, sizeof(mark));
  send_bytes(e, data, len);
}

static void
hold(struct hostile *h, struct end *e, const uint8_t *data, size_t len)
{
  if (h->nlate == HELD_MAX) {
    send_record(e, data, len);
    return;
  }
  struct late *l = &h->late[h->nlate++];
  *l = (struct late){.end = (unsigned)(e - h->end), .generation = e->generation, .data = gi_alloc(len + 1), .len = len};
  memcpy(l->data, data, len);
}

static void
release(struct hostile *h, unsigned n)
{
  struct late l = h->late[n];
  struct end *e = &h->end[l.end];
  h->late[n] = h->late[--h->nlate];
  if (e->fd >= 0 && e->generation == l.generation)
    send_record(e, l.data, l.len);
  gi_free(l.data);
}

/* Other bytes than those that were meant. */
static void
spoil_bytes(struct hostile *h, struct gi_xdr_out *out, size_t from)
{
  for (unsigned n = 1 + fuzz_next(h->b) % 4; n > 0 && out->len >= from + 4; n--) {
    size_t at = from + (fuzz_next(h->b) * 256u + fuzz_next(h->b)) % (out->len - from);
    uint8_t how = fuzz_next(h->b);
    if (how % 4 == 0)
      out->base[at] = fuzz_next(h->b);
    else if (how % 4 == 1)
      out->len = at;
    else if (at + 4 < out->len)
      gi_xdr_set_u32(out, at & ~(size_t)3, (uint32_t)fuzz_number(h->b));
  }
}

static void
send_in_pieces(struct hostile *h, struct end *e, const struct gi_xdr_out *out)
{
  for (size_t at = 0; at < out->len;) {
    size_t n = 1 + fuzz_next(h->b) * 16u;
    n = n < out->len - at ? n : out->len - at;
    uint32_t mark = htonl((at + n == out->len ? LAST_FRAGMENT : 0) | (uint32_t)n);
    send_bytes(e, (const uint8_t *)&mark, sizeof(mark));
    send_bytes(e, out->base + at, n);
    at += n;
  }
}

/* The reply as it is meant goes out, or something else does. */
static void
reply(struct hostile *h, struct end *e, struct gi_xdr_out *out)
{
  uint8_t how = h->serving && lies(h) ? fuzz_next(h->b) : 0;
  switch (how) {
  case 1 ... 60:
    spoil_bytes(h, out, 24);
    send_record(e, out->base, out->len);
    break;
  case 61 ... 70:
    spoil_bytes(h, out, 0);
    send_record(e, out->base, out->len);
    break;
  case 71 ... 120:
    hold(h, e, out->base, out->len);
    break;
  case 121 ... 150:
    send_in_pieces(h, e, out);
    break;
  case 151 ... 170: /* twice */
    send_record(e, out->base, out->len);
    send_record(e, out->base, out->len);
    break;
  case 171 ... 180: /* the end of the world */
    end_close(e);
    break;
  case 181 ... 200: /* no such program, garbage, denied … */
    if (out->len >= 24) {
      out->len = 24;
      gi_xdr_set_u32(out, how % 2 ? 8 : 20, 1 + fuzz_next(h->b) % 6);
    }
    send_record(e, out->base, out->len);
    break;
  case 201 ... 203: {
    uint32_t mark = htonl((uint32_t)fuzz_number(h->b));
    send_bytes(e, (const uint8_t *)&mark, sizeof(mark));
    break;
  }
  default:
    send_record(e, out->base, out->len);
  }
  if (h->nlate && (how & 3) == 3)
    release(h, fuzz_next(h->b) % h->nlate);
}

/* ---- what is not an operation ---- */

static void
dump(struct hostile *h, struct gi_xdr_out *out)
{
  bool lie = lies(h);
  gi_xdr_put_u64(out, 0xcaed);
  gi_xdr_put_u64(out, 0);
  for (unsigned i = 0; i < 2; i++) {
    gi_xdr_put_u32(out, 1);
    gi_xdr_put_string(out, "program");
    gi_xdr_put_u64(out, i ? GI_PROG_FOP : GI_PROG_DUMP);
    gi_xdr_put_u64(out, lie ? fuzz_number(h->b) : i ? GI_VERS_FOP : GI_VERS_DUMP);
  }
  gi_xdr_put_u32(out, 0);
  if (lie)
    spoil_bytes(h, out, 24);
}

static void
setvolume(struct hostile *h, struct gi_xdr_out *out)
{
  static const char *const words[] = {"preamble",     "regions",         "groups", "near-pieces",
                                      "reactor-ping", "foreground-load", "named"};
  bool lie = lies(h), ours = fuzz_next(h->b) & 1;
  char capabilities[512] = "";
  struct gi_dict *d = gi_dict_new();
  for (unsigned i = 0, which = fuzz_next(h->b); i < GI_ARRAY_LEN(words); i++)
    if (which >> i & 1)
      snprintf(capabilities + strlen(capabilities), 32, "%s ", words[i]);
  if (ours) {
    gi_dict_set_str(d, "glusterish-version", "9");
    gi_dict_set_str(d, "glusterish-capabilities", capabilities);
  }
  gi_dict_set_str(d, "volume-id", "7ccb5d4b-8a34-4a3c-a0f5-6f0f2e1f8a11");
  gi_xdr_put_u32(out, lie && fuzz_next(h->b) % 2 ? UINT32_MAX : 0);
  gi_xdr_put_u32(out, lie ? (uint32_t)fuzz_number(h->b) : 0);
  if (lie)
    hostile_spoil_dict(h->b, &d);
  gi_xdr_put_legacy_dict(out, d);
  if (lie)
    spoil_bytes(h, out, 24);
  gi_dict_unref(&d);
}

static void
portmap(struct hostile *h, struct gi_xdr_in *in, struct gi_xdr_out *out)
{
  uint32_t len = 0;
  const uint8_t *name = gi_xdr_get_opaque(in, 256, &len);
  bool lie = lies(h);
  GI_ASSERT(!in->failed && len > 0);
  gi_xdr_put_u32(out, lie ? (uint32_t)fuzz_number(h->b) : 0);
  gi_xdr_put_u32(out, 0);
  gi_xdr_put_u32(out, 0);
  gi_xdr_put_u32(out, lie ? (uint32_t)fuzz_number(h->b) : FIRST_PORT + (uint32_t)(name[len - 1] - '0'));
  if (lie)
    spoil_bytes(h, out, 24);
}

/* Something nobody has asked for. */
static void
call_back(struct hostile *h, struct end *e)
{
  struct gi_xdr_out out = {0};
  uint32_t proc = GI_CBK_CACHE_INVALIDATION + fuzz_next(h->b) % 7;
  gi_call_encode(&out, 0, GI_PROG_CALLBACK, GI_VERS_CALLBACK, proc, GI_AUTH_NONE, NULL);
  size_t from = out.len;
  hostile_callback(h->b, &h->truth, proc, &out);
  if (fuzz_next(h->b) % 4 == 0)
    spoil_bytes(h, &out, fuzz_next(h->b) % 4 ? from : 0);
  send_record(e, out.base, out.len);
  gi_xdr_out_finish(&out);
}

/* ---- requests ---- */

static void
operation(struct hostile *h, struct end *e, const struct gi_call_header *call, struct gi_xdr_in *in, struct gi_xdr_out *out)
{
  struct gi_wire_fds fds;
  size_t payload;
  struct gi_fop *fop = gi_fop_new(h->ctx->graph, (enum gi_fop_kind)call->proc);
  bool good = gi_fop_decode_request(in, fop, &fds, &payload);
  GI_ASSERT(good);
  truth_tell(&h->truth, fop);
  int64_t handle = 5;
  if (lies(h))
    hostile_lie(h->b, fop, &handle);
  gi_fop_encode_reply(out, fop, handle);
  for (unsigned i = 0; i < fop->rsp.payload.count; i++)
    gi_xdr_put_bytes(out, fop->rsp.payload.slice[i].data, fop->rsp.payload.slice[i].len);
  gi_fop_unref(fop);
  reply(h, e, out);
}

static void
request(struct hostile *h, struct end *e, const uint8_t *data, size_t len)
{
  struct gi_call_header call;
  struct gi_xdr_in in = {data, data + len, false};
  struct gi_xdr_out out = {0};
  bool good = gi_call_decode(&in, &call);
  GI_ASSERT(good);
  if (call.prog == GI_PROG_FOP && (call.proc == GI_FOP_RELEASE || call.proc == GI_FOP_RELEASEDIR))
    return;
  if (!h->honest && h->serving && e->brick != MGMT && fuzz_next(h->b) > 240)
    call_back(h, e);
  gi_reply_encode(&out, call.xid, GI_RPC_SUCCESS);
  if (call.prog == GI_PROG_FOP) {
    operation(h, e, &call, &in, &out);
  } else {
    if (call.prog == GI_PROG_DUMP && call.proc == GI_DUMP_DUMP)
      dump(h, &out);
    else if (call.prog == GI_PROG_HANDSHAKE)
      setvolume(h, &out);
    else if (call.prog == GI_PROG_PORTMAP)
      portmap(h, &in, &out);
    else
      gi_xdr_put_u64(&out, 0); /* a pong */
    reply(h, e, &out);
  }
  gi_xdr_out_finish(&out);
}

static bool
serve(struct hostile *h, struct end *e)
{
  static uint8_t buffer[RECORD_MAX + 4];
  ssize_t n = recv(e->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n < 0)
    return false;
  if (n == 0) {
    end_close(e);
    return true;
  }
  uint8_t *data = gi_alloc(e->len + (size_t)n);
  size_t len = e->len + (size_t)n, at = 0;
  if (e->len)
    memcpy(data, e->data, e->len);
  memcpy(data + e->len, buffer, (size_t)n);
  gi_free(e->data);
  e->data = NULL;
  e->len = 0;
  unsigned generation = e->generation;
  while (len - at >= 4) {
    uint32_t mark;
    memcpy(&mark, data + at, 4);
    size_t size = ntohl(mark) & ~LAST_FRAGMENT;
    GI_ASSERT((ntohl(mark) & LAST_FRAGMENT) && size <= RECORD_MAX);
    if (len - at - 4 < size)
      break;
    request(h, e, data + at + 4, size);
    at += 4 + size;
  }
  if (e->fd >= 0 && e->generation == generation && at < len) {
    e->len = len - at;
    e->data = gi_alloc(e->len);
    memcpy(e->data, data + at, e->len);
  }
  gi_free(data);
  return true;
}

bool
hostile_turn(struct hostile *h)
{
  bool any = false;
  for (unsigned i = 0; i < ENDS_MAX; i++)
    if (h->end[i].fd >= 0)
      any |= serve(h, &h->end[i]);
  return any;
}

/* ---- life ---- */

struct hostile *
hostile_new(struct gi_ctx *ctx, struct fuzz_bytes *b)
{
  struct hostile *h = gi_new(struct hostile);
  h->ctx = ctx;
  h->b = b;
  h->level = 250;
  truth_init(&h->truth);
  for (unsigned i = 0; i < ENDS_MAX; i++)
    h->end[i].fd = -1;
  h->net = gi_net_kernel;
  h->net.connect = net_connect;
  h->net.connect_result = net_connect_result;
  h->net.peer = net_address;
  h->net.local = net_no_address;
  h->net.keepalive = NULL;
  ctx->reactor->net = &h->net;
  the_bricks = h;
  return h;
}

void
hostile_serving(struct hostile *h)
{
  static const uint8_t levels[] = {160, 200, 230, 245, 252};
  h->serving = true;
  h->level = levels[fuzz_next(h->b) % GI_ARRAY_LEN(levels)];
}

void
hostile_repent(struct hostile *h)
{
  h->honest = true;
  while (h->nlate)
    release(h, 0);
  for (unsigned i = 0; i < ENDS_MAX; i++)
    end_close(&h->end[i]);
}

void
hostile_free(struct hostile **hp)
{
  struct hostile *h = *hp;
  *hp = NULL;
  hostile_repent(h);
  the_bricks = NULL;
  gi_free(h);
}
