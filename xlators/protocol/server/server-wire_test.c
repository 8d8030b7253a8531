/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/server and a bare socket: introductions, handles, hostile records, and
 * those who ask for more than they take.
 */
#include "rpc/fop-codec.h"
#include "rpc/message.h"
#include "tests/unit/brick-bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a bare socket ---- */

struct wire {
  struct bench *b;
  int fd;
  uint8_t reply[65536];
  size_t len;
};

static struct wire *
wire_new(struct bench *b)
{
  struct wire *w = gi_new(struct wire);
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)b->port)};
  inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
  w->b = b;
  w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(w->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
  return w;
}

static void
wire_free(struct wire *w)
{
  close(w->fd);
  gi_free(w);
}

/* Sends raw bytes and collects what comes back: until a whole record is there if one is expected, else for a few turns. False:
 * the server closed. */
static bool
wire_raw(struct wire *w, const void *data, size_t len, bool expect)
{
  ssize_t n;
  send(w->fd, data, len, MSG_NOSIGNAL);
  w->len = 0;
  for (unsigned i = 0; i < (expect ? 5000 : 10); i++) {
    bench_turn(w->b, 0);
    n = recv(w->fd, w->reply + w->len, sizeof(w->reply) - w->len, MSG_DONTWAIT);
    if (n == 0)
      return false;
    if (n > 0)
      w->len += (size_t)n;
    uint32_t mark = 0;
    memcpy(&mark, w->reply, 4);
    if (w->len >= 4 && w->len >= (ntohl(mark) & 0x7fffffffu) + 4)
      return true;
  }
  return true;
}

static bool
wire_send(struct wire *w, struct gi_xdr_out *out, bool expect)
{
  uint8_t *buf = gi_alloc(out->len + 4);
  uint32_t mark = htonl(0x80000000u | (uint32_t)out->len);
  memcpy(buf, &mark, 4);
  memcpy(buf + 4, out->base, out->len);
  bool alive = wire_raw(w, buf, out->len + 4, expect);
  gi_free(buf);
  gi_xdr_out_finish(out);
  return alive;
}

static bool
wire_record(struct wire *w, struct gi_xdr_out *out)
{
  return wire_send(w, out, true);
}

static struct gi_xdr_out
call(uint32_t prog, uint32_t vers, uint32_t proc)
{
  struct gi_xdr_out out = {0};
  struct gi_caller who = {.owner = {.len = 4}};
  gi_call_encode(&out, 77, prog, vers, proc, GI_AUTH_V3, &who);
  return out;
}

/* The accept status of the one reply received, and `in` behind it. */
static uint32_t
accept_status(struct wire *w, struct gi_xdr_in *in)
{
  struct gi_reply_header h;
  assert_true(w->len > 4);
  *in = (struct gi_xdr_in){w->reply + 4, w->reply + w->len, false};
  assert_true(gi_reply_decode(in, &h));
  assert_int_equal(h.reply_status, 0);
  assert_int_equal(h.xid, 77);
  return h.accept_status;
}

static struct gi_dict *
introduction(const char *skip)
{
  static const char *const pairs[][2] = {
      {"remote-subvolume", BENCH_BRICK},
      {"process-uuid", "bare-socket"},
      {"fops-version", "1298437"},
      {"opversion", "100000"},
  };
  struct gi_dict *d = gi_dict_new();
  for (unsigned i = 0; i < GI_ARRAY_LEN(pairs); i++)
    if (!skip || strcmp(skip, pairs[i][0]) != 0)
      gi_dict_set_str(d, pairs[i][0], pairs[i][1]);
  return d;
}

/* op_errno of SETVOLUME, 0 on success; *text gets ERROR (caller frees). */
static int
setvolume(struct wire *w, struct gi_dict *d, char **text)
{
  struct gi_xdr_in in;
  struct gi_xdr_out out = call(GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_SETVOLUME);
  gi_xdr_put_legacy_dict(&out, d);
  gi_dict_unref(&d);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), 0);
  int32_t ret = (int32_t)gi_xdr_get_u32(&in), err = (int32_t)gi_xdr_get_u32(&in);
  d = gi_xdr_get_legacy_dict(&in);
  assert_non_null(d);
  const char *msg = "";
  gi_dict_get_str(d, "ERROR", &msg);
  *text = gi_strdup(msg);
  gi_dict_unref(&d);
  return ret < 0 ? err : 0;
}

static void
check_refusal(struct bench *b, struct gi_dict *d, int want_err, const char *want)
{
  struct wire *w = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL;
  assert_int_equal(setvolume(w, d, &text), want_err);
  assert_non_null(strstr(text, want));
  wire_free(w);
}

static void
test_setvolume_refusals(void **state)
{
  struct bench *b = bench_new("option auth.addr.child-0.reject 10.*\n", NULL, true);
  check_refusal(b, gi_dict_new(), EINVAL, "failed to unserialize");
  check_refusal(b, introduction("remote-subvolume"), EINVAL, "No remote-subvolume option specified");
  check_refusal(b, introduction("process-uuid"), EINVAL, "UUID not specified");
  struct gi_dict *d = introduction(NULL);
  gi_dict_set_str(d, "remote-subvolume", "/elsewhere");
  check_refusal(b, d, ENOENT, "Brick not found");
  d = introduction(NULL);
  gi_dict_set_str(d, "fops-version", "12");
  check_refusal(b, d, EINVAL, "version mismatch: client(12) - client-mgmt(0)");
  check_refusal(b, introduction(NULL), 0, "Success");
  fake_event(b->server, 0, GI_EVENT_CHILD_DOWN, NULL);
  check_refusal(b, introduction(NULL), EAGAIN, "child_up");
  bench_free(b);
}

static void
put_gfid_dict(struct gi_xdr_out *out)
{
  gi_xdr_put_gfid(out, &gi_gfid_root);
  gi_xdr_put_dict(out, NULL);
}

static struct gi_dict *
attempt(const char *uid)
{
  struct gi_dict *d = introduction("process-uuid");
  gi_dict_set_str(d, "process-uuid", uid);
  return d;
}

static struct wire *
wire_as(struct bench *b, const char *uid)
{
  struct wire *w = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL;
  assert_int_equal(setvolume(w, attempt(uid), &text), 0);
  return w;
}

static struct gi_dict *
process(const char *name, const char *uid)
{
  struct gi_dict *d = attempt(uid);
  gi_dict_set_str(d, "process-name", name);
  return d;
}

/* client.single-mount: who mounts is let in alone, with all his graphs and connections; healers and tools always are. */
static void
test_one_mount_alone(void **state)
{
  struct bench *b = bench_new("option single-mount on\n", NULL, true);
  struct wire *first = wire_new(b), *second = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL, *text2 = NULL;
  assert_int_equal(setvolume(first, process("fuse", "CTX_ID:a-GRAPH_ID:0-PID:1-PC_NAME:v-client-0-RECON_NO:-0"), &text), 0);
  check_refusal(b, process("fuse.b", "CTX_ID:b-GRAPH_ID:0-PID:2-PC_NAME:v-client-0-RECON_NO:-0"), EBUSY,
                "mounted by CTX_ID:a-GRAPH_ID:0-PID:1");
  check_refusal(b, process("gfapi.qemu", "CTX_ID:c-GRAPH_ID:0-PID:3-PC_NAME:v-client-0-RECON_NO:-0"), EBUSY, "single-mount");
  check_refusal(b, process("glustershd", "CTX_ID:d-GRAPH_ID:0-PID:4-PC_NAME:v-client-0-RECON_NO:-0"), 0, "Success");
  check_refusal(b, process("fuse", "CTX_ID:a-GRAPH_ID:1-PID:1-PC_NAME:v-client-0-RECON_NO:-0"), 0, "Success");
  wire_free(first);
  fake_settle(b->server);
  assert_int_equal(setvolume(second, process("fuse", "CTX_ID:b-GRAPH_ID:0-PID:2-PC_NAME:v-client-0-RECON_NO:-1"), &text2), 0);
  wire_free(second);
  bench_free(b);
}

/* What a client has given up by connecting anew is not done after all; others, and an attempt that comes late, close nothing. */
static void
test_connecting_anew(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *other = wire_as(b, "CTX_ID:b-PC_NAME:v-client-0-RECON_NO:-1");
  struct wire *old = wire_as(b, "CTX_ID:a-PC_NAME:v-client-0-RECON_NO:-9");
  struct wire *new = wire_as(b, "CTX_ID:a-PC_NAME:v-client-0-RECON_NO:-10");
  struct wire *late = wire_as(b, "CTX_ID:a-PC_NAME:v-client-0-RECON_NO:-8");
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  fake_forget_seen(b->server);
  wire_send(old, &out, false);
  assert_int_equal(recv(old->fd, old->reply, 1, MSG_DONTWAIT), 0);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_STAT), 0);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  assert_true(wire_record(new, &out));
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  assert_true(wire_record(other, &out));
  assert_int_equal(fake_count(b->server, 0, GI_FOP_STAT), 2);
  wire_free(old);
  wire_free(new);
  wire_free(late);
  wire_free(other);
  bench_free(b);
}

static void
test_before_setvolume(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = wire_new(b);
  struct gi_xdr_in in;
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_STAT);
  put_gfid_dict(&out);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_GARBAGE);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_RELEASE);
  gi_xdr_put_gfid(&out, &gi_gfid_root);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_dict(&out, NULL);
  assert_true(wire_send(w, &out, false));
  assert_int_equal(w->len, 0);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_NULL);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_SUCCESS);
  out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_PUT);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_PROC_UNAVAIL);
  out = call(GI_PROG_HANDSHAKE, GI_VERS_HANDSHAKE, GI_HNDSK_GETSPEC);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_SUCCESS);
  assert_int_equal((int32_t)gi_xdr_get_u32(&in), -1);
  assert_int_equal(gi_xdr_get_u32(&in), ENOSYS);
  wire_free(w);
  bench_free(b);
}

/* A reply's op_ret, or -errno. */
static int64_t
simple_fop(struct wire *w, struct gi_xdr_out *out, struct gi_xdr_in *in)
{
  assert_true(wire_record(w, out));
  assert_int_equal(accept_status(w, in), GI_RPC_SUCCESS);
  int32_t ret = (int32_t)gi_xdr_get_u32(in), err = (int32_t)gi_xdr_get_u32(in);
  return ret < 0 ? -err : ret;
}

static int64_t
wire_open(struct wire *w, uint8_t n)
{
  struct gi_xdr_in in;
  struct gi_gfid gfid;
  struct gi_dict *d = NULL;
  memset(&gfid, n, sizeof(gfid));
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_OPEN);
  gi_xdr_put_gfid(&out, &gfid);
  gi_xdr_put_u32(&out, O_RDWR);
  gi_xdr_put_dict(&out, NULL);
  assert_int_equal(simple_fop(w, &out, &in), 0);
  gi_xdr_get_dict(&in, &d);
  gi_dict_unref(&d);
  return (int64_t)gi_xdr_get_u64(&in);
}

static int64_t
wire_handle(struct wire *w, uint32_t proc, int64_t handle, const struct gi_gfid *gfid)
{
  struct gi_xdr_in in;
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, proc);
  gi_xdr_put_gfid(&out, gfid);
  gi_xdr_put_u64(&out, (uint64_t)handle);
  gi_xdr_put_dict(&out, NULL);
  return simple_fop(w, &out, &in);
}

static void
test_handles(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = wire_new(b);
  char *text;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  gi_free(text);
  for (int i = 0; i < 100; i++)
    assert_int_equal(wire_open(w, 3), i);
  assert_int_equal(wire_handle(w, GI_FOP_RELEASE, 7, &gi_gfid_root), 0);
  assert_int_equal(wire_handle(w, GI_FOP_RELEASE, 3, &gi_gfid_root), 0);
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, 3, &gi_gfid_root), -EBADF);
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, 4, &gi_gfid_root), 0);
  assert_int_equal(wire_open(w, 3), 3);
  assert_int_equal(wire_open(w, 3), 7);
  assert_int_equal(wire_open(w, 3), 100);
  static const int64_t bad[] = {-1, -3, INT64_MIN, INT64_MAX, 101, 4096, 1ll << 32};
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++) {
    assert_int_equal(wire_handle(w, GI_FOP_FSTAT, bad[i], &gi_gfid_root), -EBADF);
    assert_int_equal(wire_handle(w, GI_FOP_RELEASE, bad[i], &gi_gfid_root), 0);
  }
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, -2, &gi_gfid_none), -EINVAL);
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, -2, &gi_gfid_root), 0);

  /* A second connection of the same identity has the same handles; the first one's end does not close them. */
  struct wire *w2 = wire_new(b);
  assert_int_equal(setvolume(w2, introduction(NULL), &text), 0);
  gi_free(text);
  wire_free(w);
  bench_turn(b, 5);
  assert_int_equal(wire_handle(w2, GI_FOP_FSTAT, 100, &gi_gfid_root), 0);
  wire_free(w2);
  bench_turn(b, 5);
  assert_int_equal(b->server->graph->fds_live, 0);
  bench_free(b);
}

/* ---- hostile records ---- */

static uint32_t
noise(uint32_t *seed)
{
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* Every procedure with arguments that are cut short, and with random ones: answered or dropped, never fatal. */
static void
test_garbage_arguments(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  uint32_t seed = 1;
  struct wire *w = wire_new(b);
  char *text;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  gi_free(text);
  for (unsigned proc = 0; proc < GI_FOP_MAX + 2; proc++) {
    for (unsigned round = 0; round < 12; round++) {
      struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, proc);
      unsigned words = noise(&seed) % 40;
      for (unsigned i = 0; i < words; i++)
        gi_xdr_put_u32(&out, round % 3 == 0   ? noise(&seed)
                             : round % 3 == 1 ? noise(&seed) % 5
                                              : 0xfffffffeu + noise(&seed) % 3);
      assert_true(wire_record(w, &out));
      fake_forget_seen(b->server);
    }
  }
  assert_int_equal(wire_handle(w, GI_FOP_FSTAT, -2, &gi_gfid_root), 0); /* still serving */
  wire_free(w);
  bench_free(b);
}

static void
test_short_write(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = wire_new(b);
  struct gi_xdr_in in;
  char *text;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  gi_free(text);
  struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, GI_FOP_WRITE);
  gi_xdr_put_gfid(&out, &gi_gfid_root);
  gi_xdr_put_u64(&out, (uint64_t)-2);
  gi_xdr_put_u64(&out, 0);
  gi_xdr_put_u32(&out, 100000); /* more than follows */
  gi_xdr_put_u32(&out, 0);
  gi_xdr_put_dict(&out, NULL);
  gi_xdr_put_bytes(&out, "abc", 3);
  assert_true(wire_record(w, &out));
  assert_int_equal(accept_status(w, &in), GI_RPC_GARBAGE);
  assert_int_equal(fake_count(b->server, 0, GI_FOP_WRITE), 0);
  wire_free(w);
  bench_free(b);
}

/* ---- a client that asks for more than it takes ---- */

static struct wire *
attached(struct bench *b)
{
  struct wire *w = wire_new(b);
  GI_CLEANUP_FREE char *text = NULL;
  assert_int_equal(setvolume(w, introduction(NULL), &text), 0);
  return w;
}

static void
send_many(struct wire *w, enum gi_fop_kind kind, uint32_t size, unsigned n)
{
  struct gi_xdr_out all = {0};
  for (unsigned i = 0; i < n; i++) {
    struct gi_xdr_out out = call(GI_PROG_FOP, GI_VERS_FOP, kind);
    gi_xdr_put_gfid(&out, &gi_gfid_root);
    if (kind == GI_FOP_READ) {
      gi_xdr_put_u64(&out, (uint64_t)-2);
      gi_xdr_put_u64(&out, 0);
      gi_xdr_put_u32(&out, size);
      gi_xdr_put_u32(&out, 0);
    }
    gi_xdr_put_dict(&out, NULL);
    gi_xdr_put_u32(&all, 0x80000000u | (uint32_t)out.len);
    gi_xdr_put_bytes(&all, out.base, out.len);
    gi_xdr_out_finish(&out);
  }
  assert_int_equal(send(w->fd, all.base, all.len, MSG_NOSIGNAL), all.len);
  gi_xdr_out_finish(&all);
  bench_turn(w->b, 5);
}

static void
test_operations_under_way_are_few(void **state)
{
  struct bench *b = bench_new("option rpc.outstanding-rpc-limit 10\n", NULL, true);
  struct wire *w = attached(b);
  fake_script_always(b->server, 0, GI_FOP_STAT, (struct fake_reply){.hold = true});
  send_many(w, GI_FOP_STAT, 0, 100);
  assert_int_equal(fake_held(b->server, 0), 10);
  for (unsigned i = 0; i < 5; i++)
    assert_true(fake_release(b->server, 0, GI_FOP_STAT, 0, 0));
  bench_turn(b, 10);
  assert_int_equal(fake_held(b->server, 0), 10);
  for (unsigned i = 0; i < 20000 && fake_held(b->server, 0) == 10; i++)
    bench_turn(b, 0); /* nothing moves: what could make it move is perhaps among those that were not read */
  assert_int_equal(fake_held(b->server, 0), 95);
  while (fake_release(b->server, 0, GI_FOP_STAT, 0, 0))
    ;
  bench_turn(b, 10);
  send_many(w, GI_FOP_STAT, 0, 100);
  assert_int_equal(fake_held(b->server, 0), 10);
  while (fake_release(b->server, 0, GI_FOP_STAT, 0, 0))
    bench_turn(b, 0);
  wire_free(w);
  bench_free(b);
}

static void
test_answers_to_come_count(void **state)
{
  struct bench *b = bench_new("option inflight-bytes 1MB\n", NULL, true);
  struct wire *w = attached(b);
  fake_script_always(b->server, 0, GI_FOP_READ, (struct fake_reply){.hold = true});
  send_many(w, GI_FOP_READ, 300000, 40);
  assert_int_equal(fake_held(b->server, 0), 4);
  for (unsigned i = 0; i < 40; i++) {
    assert_true(fake_release(b->server, 0, GI_FOP_READ, -1, EIO));
    bench_turn(b, 1);
    assert_true(fake_held(b->server, 0) <= 4);
  }
  wire_free(w);
  bench_free(b);
}

static void
fill_much(struct gi_fop *fop, void *arg)
{
  GI_CLEANUP_FREE char *value = gi_zalloc(1 << 20);
  char key[32];
  fop->rsp.dict = gi_dict_new();
  for (unsigned i = 0; i < 65; i++) {
    snprintf(key, sizeof(key), "user.%u", i);
    gi_dict_set_bin(fop->rsp.dict, key, value, 1 << 20);
  }
}

static void
test_an_answer_nobody_accepts_is_an_error(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct gi_fop *f = fake_fop(b->client, GI_FOP_GETXATTR);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  fake_script(b->server, 0, GI_FOP_GETXATTR, (struct fake_reply){.fill = fill_much});
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, -1);
  assert_int_equal(f->rsp.err, E2BIG);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0);
  bench_free(b);
}

static void
test_who_does_not_listen_goes(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  struct wire *w = attached(b);
  struct gi_invalidation inv = {.flags = 1};
  ssize_t n;
  memset(&inv.gfid, 3, 16);
  for (unsigned i = 0; i < 100000; i++) {
    gi_notify_up(b->server->x->children[0], GI_EVENT_INVALIDATE, &inv);
    if (i % 256 == 0)
      bench_turn(b, 0);
  }
  bench_turn(b, 10);
  while ((n = recv(w->fd, w->reply, sizeof(w->reply), 0)) > 0)
    ;
  assert_true(n == 0 || errno == ECONNRESET);
  assert_int_equal(b->client->events[GI_EVENT_CHILD_DOWN], 0); /* the other one listens */
  wire_free(w);
  bench_free(b);
}

/* Of the TCP connections of this process. */
static unsigned
sockets_with(int level, int option, int wanted)
{
  unsigned found = 0;
  for (int fd = 0; fd < 256; fd++) {
    int value = 0;
    socklen_t len = sizeof(value);
    struct sockaddr_in peer;
    socklen_t peer_len = sizeof(peer);
    found += getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && peer.sin_family == AF_INET &&
             getsockopt(fd, level, option, &value, &len) == 0 && value == wanted;
  }
  return found;
}

static void
test_tcp_user_timeout(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 42000), 1);
  bench_free(b);
  b = bench_new("option transport.tcp-user-timeout 11\n", "option transport.tcp-user-timeout 7\n", true);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 11000), 1);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 7000), 1);
  bench_set_option(b->server, "transport.tcp-user-timeout", "0");
  bench_set_option(b->client, "transport.tcp-user-timeout", "8");
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 0), 1);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_USER_TIMEOUT, 8000), 1);
  bench_free(b);
}

static void
test_tcp_keepalive(void **state)
{
  static const struct {
    const char *name, *value;
    int option, was, is;
  } all[] = {
      {"transport.socket.keepalive-time", "33", TCP_KEEPIDLE, 20, 33},
      {"transport.socket.keepalive-interval", "3", TCP_KEEPINTVL, 2, 3},
      {"transport.socket.keepalive-count", "4", TCP_KEEPCNT, 9, 4},
  };
  struct bench *b = bench_new(NULL, NULL, true);
  for (unsigned i = 0; i < GI_ARRAY_LEN(all); i++) {
    assert_int_equal(sockets_with(IPPROTO_TCP, all[i].option, all[i].was), 2);
    bench_set_option(b->server, all[i].name, all[i].value);
    assert_int_equal(sockets_with(IPPROTO_TCP, all[i].option, all[i].is), 1);
    bench_set_option(b->client, all[i].name, all[i].value);
    assert_int_equal(sockets_with(IPPROTO_TCP, all[i].option, all[i].is), 2);
  }
  assert_int_equal(sockets_with(SOL_SOCKET, SO_KEEPALIVE, 1), 2);
  bench_set_option(b->server, "transport.socket.keepalive", "off");
  assert_int_equal(sockets_with(SOL_SOCKET, SO_KEEPALIVE, 1), 1);
  bench_free(b);
  b = bench_new("option transport.socket.keepalive-count 5\n", "option transport.socket.keepalive-count 6\n", true);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_KEEPCNT, 5), 1);
  assert_int_equal(sockets_with(IPPROTO_TCP, TCP_KEEPCNT, 6), 1);
  bench_free(b);
}

static void
test_noise_on_the_socket(void **state)
{
  struct bench *b = bench_new(NULL, NULL, true);
  uint32_t seed = 2;
  for (unsigned round = 0; round < 50; round++) {
    struct wire *w = wire_new(b);
    uint8_t bytes[512];
    for (unsigned i = 0; i < sizeof(bytes); i++)
      bytes[i] = (uint8_t)noise(&seed);
    if (round & 1) {
      bytes[0] = 0x80;
      bytes[1] = bytes[2] = 0;
    }
    wire_raw(w, bytes, 1 + noise(&seed) % sizeof(bytes), false);
    wire_free(w);
  }
  struct gi_fop *f = fake_fop(b->client, GI_FOP_STAT);
  gi_loc_set_inode(&f->loc, fake_inode(b->client, 3));
  bench_submit(b, f);
  assert_int_equal(f->rsp.ret, 0);
  bench_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_mount_alone),
      cmocka_unit_test(test_connecting_anew),
      cmocka_unit_test(test_setvolume_refusals),
      cmocka_unit_test(test_before_setvolume),
      cmocka_unit_test(test_handles),
      cmocka_unit_test(test_garbage_arguments),
      cmocka_unit_test(test_short_write),
      cmocka_unit_test(test_operations_under_way_are_few),
      cmocka_unit_test(test_answers_to_come_count),
      cmocka_unit_test(test_an_answer_nobody_accepts_is_an_error),
      cmocka_unit_test(test_who_does_not_listen_goes),
      cmocka_unit_test(test_tcp_user_timeout),
      cmocka_unit_test(test_tcp_keepalive),
      cmocka_unit_test(test_noise_on_the_socket),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
