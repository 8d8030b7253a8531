/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections over real loopback and unix sockets: reassembly at every
 * boundary, zero copies, back pressure, endings.
 */
#include "rpc/conn.h"
#include "libglusterish/mem.h"
#include "rpc/net.h"
#include "tests/unit/hole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP 64

/* what one end saw */
struct side {
  struct gi_conn *conn;
  unsigned records, connected, closed, drained;
  uint64_t bytes;
  struct gi_error why;
  bool free_on_record, close_on_record, pause_on_record, check;
  uint32_t next; /* expected record number */
  struct gi_payload kept[KEEP];
};

struct bench {
  struct gi_reactor *r;
  struct gi_listener *l;
  struct side client, server;
  int raw; /* the peer as a plain socket; -1: none */
};

static uint8_t
pattern(uint32_t n, size_t i)
{
  return (uint8_t)(n * 131 + i * 7 + (i >> 8));
}

/* Every record but an empty one begins with its number; the rest is its pattern. */
static void
fill(uint8_t *p, uint32_t n, size_t len)
{
  for (size_t i = 0; i < len; i++)
    p[i] = pattern(n, i);
}

static void
check_payload(const struct gi_payload *record, uint32_t n)
{
  uint8_t *copy = gi_alloc(record->len + 1);
  uint64_t copied = gi_payload_copied;
  gi_payload_read(record, 0, copy, record->len);
  gi_payload_copied = copied;
  for (size_t i = 0; i < record->len; i++)
    if (copy[i] != pattern(n, i))
      fail_msg("record %u of %zu bytes differs at %zu", n, record->len, i);
  gi_free(copy);
}

static void
on_record(struct gi_conn *c, struct gi_record *rec, void *arg)
{
  struct side *s = arg;
  assert_ptr_equal(c, s->conn);
  assert_true(rec->head_len >= GI_HEAD_MIN || rec->head_len == rec->record.len);
  if (s->check) {
    struct gi_payload *keep = &s->kept[s->records % KEEP];
    check_payload(&rec->record, s->next++);
    gi_payload_clear(keep);
    gi_payload_append(keep, &rec->record);
  }
  s->records++;
  s->bytes += rec->record.len;
  if (s->pause_on_record)
    gi_conn_pause(c, true);
  if (s->close_on_record)
    gi_conn_close(c, ECANCELED, "enough");
  if (s->free_on_record)
    gi_conn_free(&s->conn);
}

static void
on_connected(struct gi_conn *c, void *arg)
{
  ((struct side *)arg)->connected++;
}

static void
on_closed(struct gi_conn *c, const struct gi_error *why, void *arg)
{
  struct side *s = arg;
  s->closed++;
  s->why = *why;
  gi_conn_free(&s->conn);
}

static void
on_drained(struct gi_conn *c, void *arg)
{
  ((struct side *)arg)->drained++;
}

static const struct gi_conn_ops ops = {on_record, on_connected, on_closed, on_drained};

static void
on_accept(void *arg, int fd)
{
  struct bench *b = arg;
  assert_null(b->server.conn);
  b->server.conn = gi_conn_accept(b->r, fd, &ops, &b->server);
}

/* Turns until *what reaches `want`, for at most five seconds. */
static void
until(struct bench *b, const unsigned *what, unsigned want)
{
  uint64_t end = gi_now(b->r) + 5 * GI_NSEC_PER_SEC;
  while (*what < want && gi_now(b->r) < end)
    gi_reactor_turn(b->r, 10 * GI_NSEC_PER_MSEC);
  assert_true(*what >= want);
}

static void
turns(struct bench *b, int n)
{
  while (n-- > 0)
    gi_reactor_turn(b->r, GI_NSEC_PER_MSEC);
}

static struct bench *
bench_new(const char *path)
{
  struct bench *b = gi_new(struct bench);
  struct gi_error err;
  b->raw = -1;
  b->r = gi_reactor_new(1);
  b->l = gi_listener_new(b->r, path ? path : "127.0.0.1", 0, 16, on_accept, b, &err);
  assert_non_null(b->l);
  return b;
}

static void
bench_free(struct bench *b)
{
  for (unsigned i = 0; i < KEEP; i++) {
    gi_payload_clear(&b->client.kept[i]);
    gi_payload_clear(&b->server.kept[i]);
  }
  gi_conn_free(&b->client.conn);
  gi_conn_free(&b->server.conn);
  gi_listener_free(&b->l);
  if (b->raw >= 0)
    close(b->raw);
  gi_reactor_free(b->r);
  gi_free(b);
}

static struct bench *
pair(const char *path)
{
  struct bench *b = bench_new(path);
  struct gi_error err;
  b->client.conn = gi_conn_connect(b->r, path ? path : "127.0.0.1", gi_listener_port(b->l), &ops, &b->client, &err);
  assert_non_null(b->client.conn);
  assert_int_equal(b->client.connected, 0);
  until(b, &b->client.connected, 1);
  turns(b, 3);
  assert_non_null(b->server.conn);
  b->server.check = b->client.check = true;
  return b;
}

/* A plain socket talks to `server`. */
static struct bench *
raw_pair(void)
{
  struct bench *b = bench_new(NULL);
  struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)gi_listener_port(b->l))};
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  b->raw = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(b->raw, (struct sockaddr *)&sa, sizeof(sa)), 0);
  turns(b, 5);
  assert_non_null(b->server.conn);
  b->server.check = true;
  return b;
}

static void
raw_send(struct bench *b, const void *data, size_t len)
{
  const uint8_t *p = data;
  while (len > 0) {
    ssize_t n = send(b->raw, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      p += n;
      len -= (size_t)n;
    }
    gi_reactor_turn(b->r, 0);
  }
}

static void
put_mark(uint8_t *p, uint32_t mark)
{
  mark = htonl(mark);
  memcpy(p, &mark, 4);
}

/* Sends record `n`: `head` bytes as head, the rest as payload in pages. */
static void
send_record(struct gi_conn *c, uint32_t n, size_t head, size_t payload)
{
  struct gi_payload p = {0};
  struct gi_buf *buf = gi_buf_new(head + payload);
  fill(buf->base, n, head + payload);
  gi_payload_add(&p, buf, buf->base + head, payload);
  gi_conn_send(c, buf->base, head, payload ? &p : NULL);
  gi_payload_clear(&p);
  gi_buf_unref(&buf);
}

/* ---- tests ---- */

static void
both_ways(const char *path)
{
  struct bench *b = pair(path);
  for (uint32_t n = 0; n < 500; n++) {
    send_record(b->client.conn, n, 1 + n % 300, 0);
    send_record(b->server.conn, n, 1 + n % 200, n % 3 ? 0 : 5000);
    if (n % 50 == 0)
      turns(b, 2);
  }
  until(b, &b->client.records, 500);
  until(b, &b->server.records, 500);
  assert_int_equal(gi_conn_queued(b->client.conn), 0);
  assert_true(gi_conn_last_received(b->client.conn) > 0);
  bench_free(b);
}

static void
test_tcp(void **state)
{
  both_ways(NULL);
}

static void
test_unix(void **state)
{
  char path[64];
  snprintf(path, sizeof(path), "/tmp/gi-conn-test-%d", (int)getpid());
  both_ways(path);
  assert_int_equal(access(path, F_OK), -1); /* the listener removed it */
}

/* In a process of another user: connects, and its exit status says what it met. */
static pid_t
stranger(const char *path)
{
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  pid_t pid = fork();
  char byte;
  if (pid)
    return pid;
  snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
  int fd = setuid(65534) == 0 ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
  if (fd < 0)
    _exit(99);
  if (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0)
    _exit(errno);
  _exit(read(fd, &byte, 1) == 0 ? 0 : 98);
}

static int
status_of(struct bench *b, pid_t pid)
{
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0)
    turns(b, 1);
  return WEXITSTATUS(status);
}

static void
test_unix_is_of_its_owner(void **state)
{
  char path[64];
  struct stat st;
  if (geteuid() != 0)
    skip();
  snprintf(path, sizeof(path), "/tmp/gi-conn-test-%d", (int)getpid());
  mode_t mask = umask(0); /* as every brick has it */
  struct bench *b = bench_new(path);
  umask(mask);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(status_of(b, stranger(path)), EACCES);
  assert_int_equal(chmod(path, 0777), 0);
  assert_int_equal(status_of(b, stranger(path)), 0); /* the stream ended at once */
  assert_null(b->server.conn);
  bench_free(b);
}

static void
test_addresses(void **state)
{
  struct bench *b = pair(NULL);
  struct sockaddr_storage sa;
  char want[64];
  snprintf(want, sizeof(want), "127.0.0.1:%d", gi_listener_port(b->l));
  assert_string_equal(gi_conn_peer(b->client.conn), want);
  assert_true(gi_conn_peer_address(b->client.conn, &sa));
  assert_int_equal(ntohs(((struct sockaddr_in *)&sa)->sin_port), gi_listener_port(b->l));
  assert_true(gi_conn_local_address(b->server.conn, &sa));
  assert_int_equal(ntohs(((struct sockaddr_in *)&sa)->sin_port), gi_listener_port(b->l));
  bench_free(b);
}

/* What one turn sends leaves in one system call, and arrives in few. */
static void
test_one_send_per_turn(void **state)
{
  struct bench *b = pair(NULL);
  struct gi_conn_stats before = gi_conn_totals;
  for (uint32_t n = 0; n < 100; n++)
    send_record(b->client.conn, n, 200, 0);
  until(b, &b->server.records, 100);
  assert_int_equal(gi_conn_totals.send_calls - before.send_calls, 1);
  assert_true(gi_conn_totals.recv_calls - before.recv_calls <= 3);
  bench_free(b);
}

/* A stream of writes: few copies, few recvs. The counter of copies is the receiver's business, so do here what it does. */
static void
on_counted(struct gi_conn *c, struct gi_record *rec, void *arg)
{
  gi_record_count_payload(rec, 200);
  on_record(c, rec, arg);
}

static void
stream(size_t payload, unsigned records, unsigned batch, unsigned percent)
{
  static const struct gi_conn_ops counted = {on_counted, on_connected, on_closed, on_drained};
  struct bench *b = bench_new(NULL);
  struct gi_error err;
  b->client.conn = gi_conn_connect(b->r, "127.0.0.1", gi_listener_port(b->l), &counted, &b->client, &err);
  until(b, &b->client.connected, 1);
  turns(b, 3);
  b->client.check = true;
  struct gi_conn_stats before = gi_conn_totals;
  uint64_t copied = gi_payload_copied;
  for (uint32_t n = 0; n < records;) {
    for (unsigned i = 0; i < batch && n < records; i++, n++)
      send_record(b->server.conn, n, 200, payload);
    while (gi_conn_queued(b->server.conn) > 0)
      gi_reactor_turn(b->r, 10 * GI_NSEC_PER_MSEC);
  }
  until(b, &b->client.records, records);
  assert_int_equal(gi_conn_totals.payload_bytes - before.payload_bytes, (uint64_t)payload * records);
  assert_true((gi_payload_copied - copied) * 100 <= (gi_conn_totals.payload_bytes - before.payload_bytes) * percent);
  print_message("%zu bytes: %.2f recv per record, %.2f %% copied\n", payload,
                (double)(gi_conn_totals.recv_calls - before.recv_calls) / records,
                100.0 * (double)(gi_payload_copied - copied) / (double)(payload * records));
  if (payload < 16384)
    assert_true(gi_conn_totals.recv_calls - before.recv_calls <= records * 12 / 10);
  bench_free(b);
}

static void
test_stream_8k(void **state)
{
  stream(8192, 2000, 16, 5);
}

static void
test_stream_one_at_a_time(void **state)
{
  stream(8192, 300, 1, 1);
}

static void
test_stream_128k(void **state)
{
  stream(128 << 10, 200, 4, 5);
}

static void
test_stream_1m(void **state)
{
  stream(1 << 20, 40, 2, 5);
}

/* Sizes around every boundary, in pieces that fall anywhere. */
static void
test_any_boundary(void **state)
{
  struct bench *b = raw_pair();
  static const size_t around[] = {0, 1, 4, 16380, 16384, 16388, 114684, 114688, 131064, 131068, 131072, 131076, 262144, 500000};
  size_t total = 0, at = 0;
  uint32_t n = 0, chance = 12345;
  for (unsigned round = 0; round < 6; round++)
    for (unsigned i = 0; i < GI_ARRAY_LEN(around); i++)
      total += 4 + around[i] + round;
  uint8_t *bytes = gi_alloc(total);
  for (unsigned round = 0; round < 6; round++) {
    for (unsigned i = 0; i < GI_ARRAY_LEN(around); i++, n++) {
      size_t len = around[i] + round;
      put_mark(bytes + at, 0x80000000u | (uint32_t)len);
      fill(bytes + at + 4, n, len);
      at += 4 + len;
    }
  }
  assert_int_equal(at, total);
  for (at = 0; at < total;) {
    chance = chance * 1103515245 + 12345;
    size_t piece = chance % 5 == 0 ? 1 + (chance >> 16) % 7 : 1 + (chance >> 8) % 90000;
    piece = piece < total - at ? piece : total - at;
    raw_send(b, bytes + at, piece);
    at += piece;
  }
  until(b, &b->server.records, n);
  for (uint32_t i = n - KEEP; i < n; i++)
    check_payload(&b->server.kept[i % KEEP], i); /* kept slices were not overwritten */
  gi_free(bytes);
  bench_free(b);
}

static void
test_byte_by_byte(void **state)
{
  struct bench *b = raw_pair();
  uint8_t bytes[3 * 44];
  for (uint32_t n = 0; n < 3; n++) {
    put_mark(bytes + n * 44, 0x80000000u | 40);
    fill(bytes + n * 44 + 4, n, 40);
  }
  for (size_t i = 0; i < sizeof(bytes); i++)
    raw_send(b, bytes + i, 1);
  until(b, &b->server.records, 3);
  bench_free(b);
}

static void
test_fragments(void **state)
{
  struct bench *b = raw_pair();
  static const size_t sizes[] = {40, 1000, 300000};
  for (uint32_t n = 0; n < 3; n++) {
    size_t len = sizes[n], step = n == 2 ? 70000 : 16;
    uint8_t *record = gi_alloc(len);
    fill(record, n, len);
    for (size_t at = 0; at < len; at += step) {
      uint8_t mark[4];
      size_t piece = len - at < step ? len - at : step;
      put_mark(mark, (at + piece == len ? 0x80000000u : 0) | (uint32_t)piece);
      raw_send(b, mark, 4);
      raw_send(b, record + at, piece);
    }
    gi_free(record);
  }
  until(b, &b->server.records, 3);
  bench_free(b);
}

static void
test_bad_mark(void **state)
{
  struct bench *b = raw_pair();
  raw_send(b, "GET / HTTP/1.0\r\n\r\n", 18);
  until(b, &b->server.closed, 1);
  assert_int_equal(b->server.why.code, EPROTO);
  assert_non_null(strstr(b->server.why.text, "record mark 0x47455420"));
  turns(b, 3);
  assert_int_equal(b->server.closed, 1);
  assert_int_equal(b->server.records, 0);
  bench_free(b);
}

static void
test_peer_closes(void **state)
{
  struct bench *b = pair(NULL);
  send_record(b->server.conn, 0, 100, 0);
  gi_conn_free(&b->server.conn); /* what was queued still leaves */
  until(b, &b->client.closed, 1);
  assert_int_equal(b->client.records, 1);
  assert_int_equal(b->client.why.code, ECONNRESET);
  bench_free(b);
}

static void
test_free_in_callback(void **state)
{
  struct bench *b = pair(NULL);
  b->server.free_on_record = true;
  for (uint32_t n = 0; n < 10; n++)
    send_record(b->client.conn, n, 100, 0);
  until(b, &b->client.closed, 1);
  assert_int_equal(b->server.records, 1);
  assert_int_equal(b->server.closed, 0);
  bench_free(b);
}

static void
test_close_in_callback(void **state)
{
  struct bench *b = pair(NULL);
  b->server.close_on_record = true;
  for (uint32_t n = 0; n < 10; n++)
    send_record(b->client.conn, n, 100, 0);
  until(b, &b->server.closed, 1);
  until(b, &b->client.closed, 1);
  assert_int_equal(b->server.records, 1);
  assert_int_equal(b->server.closed, 1);
  assert_int_equal(b->server.why.code, ECANCELED);
  bench_free(b);
}

static void
test_pause_and_drain(void **state)
{
  struct bench *b = pair(NULL);
  gi_conn_pause(b->server.conn, true);
  for (uint32_t n = 0; n < 40; n++)
    send_record(b->client.conn, n, 100, 1 << 20);
  turns(b, 50);
  assert_int_equal(b->server.records, 0);
  assert_true(gi_conn_queued(b->client.conn) > 4 << 20);
  assert_true(gi_conn_behind(b->client.conn) > 0);
  assert_int_equal(gi_conn_behind(b->server.conn), 0);
  assert_int_equal(b->client.drained, 0);
  gi_conn_pause(b->server.conn, false);
  until(b, &b->server.records, 40);
  assert_int_equal(b->client.drained, 1);
  turns(b, 50);
  assert_int_equal(gi_conn_behind(b->client.conn), 0);
  bench_free(b);
}

/* Many small records arrive at once; whoever says stop at one gets no further one. */
static void
test_pause_in_callback(void **state)
{
  struct bench *b = pair(NULL);
  b->server.pause_on_record = b->server.check = true;
  for (uint32_t n = 0; n < 5000; n++)
    send_record(b->client.conn, n, 50, 0);
  for (unsigned n = 1; n <= 5000; n++) {
    until(b, &b->server.records, n);
    if (n % 500 == 0)
      turns(b, 2);
    assert_int_equal(b->server.records, n);
    gi_conn_pause(b->server.conn, false);
    gi_reactor_turn(b->r, 0); /* the next one is here already */
  }
  turns(b, 5);
  assert_int_equal(b->server.records, 5000);
  bench_free(b);
}

static void
test_connect_fails(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_error err = {0};
  int port = gi_listener_port(b->l);
  gi_listener_free(&b->l);
  assert_null(gi_conn_connect(b->r, "/nowhere/socket", 0, &ops, &b->client, &err));
  assert_int_equal(err.code, ENOENT);
  b->client.conn = gi_conn_connect(b->r, "localhost", port, &ops, &b->client, &err);
  if (b->client.conn) {
    until(b, &b->client.closed, 1);
    err = b->client.why;
  }
  assert_int_equal(err.code, ECONNREFUSED);
  assert_int_equal(b->client.connected, 0);
  bench_free(b);
}

/* A name goes through the worker pool; the connection may be gone when the answer comes. */
static void
test_resolving(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_error err = {0};
  char name[256];
  assert_int_equal(gethostname(name, sizeof(name)), 0);
  for (int i = 0; i < 2; i++) {
    b->client.conn = gi_conn_connect(b->r, name, gi_listener_port(b->l), &ops, &b->client, &err);
    assert_non_null(b->client.conn);
    if (i == 0)
      gi_conn_free(&b->client.conn);
    for (int turn = 0; turn < 500 && b->client.conn && !b->client.connected; turn++)
      gi_reactor_turn(b->r, 10 * GI_NSEC_PER_MSEC);
  }
  for (int turn = 0; turn < 20; turn++)
    gi_reactor_turn(b->r, 10 * GI_NSEC_PER_MSEC);
  bench_free(b);
}

/* A name service that does not answer while `dead`. */
static atomic_bool dead;
static atomic_int lookups;

static int
slow_resolve(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max, struct gi_error *err)
{
  lookups++;
  while (dead)
    usleep(1000);
  return gi_net_kernel.resolve(r, "127.0.0.1", port, out, max, err);
}

/* Whoever waits for it is told in time, and one worker waits for each name. */
static void
test_dead_name_service(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_net_ops net = gi_net_kernel;
  struct gi_error err = {0};
  net.resolve = slow_resolve;
  b->r->net = &net;
  dead = true;
  for (unsigned i = 1; i <= 4; i++) {
    b->client.conn = gi_conn_connect(b->r, "some.host", gi_listener_port(b->l), &ops, &b->client, &err);
    assert_non_null(b->client.conn);
    gi_conn_set_connect_timeout(b->client.conn, 5 * GI_NSEC_PER_MSEC);
    until(b, &b->client.closed, i);
    assert_int_equal(b->client.why.code, ETIMEDOUT);
    gi_conn_free(&b->client.conn);
  }
  b->client.conn = gi_conn_connect(b->r, "some.host", gi_listener_port(b->l), &ops, &b->client, &err);
  dead = false;
  until(b, &b->client.connected, 1);
  assert_int_equal(lookups, 1);
  bench_free(b);
}

/* The addresses of a name: one where nobody takes connections, one where they are refused, and ours. */
static int
three_addresses(struct gi_reactor *r, const char *host, int port, struct gi_net_address *out, unsigned max,
                struct gi_error *err)
{
  static const char *const address[] = {"127.0.0.86", "127.0.0.87", "127.0.0.1"};
  unsigned n = 0;
  for (; n < 3 && n < max; n++)
    gi_net_kernel.resolve(r, address[n], port, &out[n], 1, err);
  return (int)n;
}

/* A dead address costs no timeout, and leaves no socket behind. */
static void
test_addresses_race(void **state)
{
  struct bench *b = bench_new(NULL);
  struct gi_net_ops net = gi_net_kernel;
  struct gi_error err = {0};
  struct hole hole;
  hole_open(&hole, "127.0.0.86", gi_listener_port(b->l));
  net.resolve = three_addresses;
  b->r->net = &net;
  b->client.conn = gi_conn_connect(b->r, "some.host", gi_listener_port(b->l), &ops, &b->client, &err);
  assert_non_null(b->client.conn);
  until(b, &b->client.connected, 1);
  assert_int_equal(strncmp(gi_conn_peer(b->client.conn), "127.0.0.1:", 10), 0);
  gi_conn_free(&b->client.conn);
  gi_conn_free(&b->server.conn);
  b->client.conn = gi_conn_connect(b->r, "some.host", gi_listener_port(b->l), &ops, &b->client, &err);
  turns(b, 5); /* and it may be gone while they race */
  gi_conn_free(&b->client.conn);
  hole_close(&hole);
  b->r->net = NULL;
  bench_free(b);
}

/* Who has an address does not wait for the name beside it. */
static void
test_hosts_race(void **state)
{
  static const char *const hosts[] = {"some.host", "127.0.0.87", "127.0.0.1"};
  struct bench *b = bench_new(NULL);
  struct gi_net_ops net = gi_net_kernel;
  struct gi_error err = {0};
  net.resolve = slow_resolve;
  b->r->net = &net;
  dead = true;
  b->client.conn = gi_conn_connect_any(b->r, hosts, 3, gi_listener_port(b->l), &ops, &b->client, &err);
  until(b, &b->client.connected, 1);
  gi_conn_free(&b->client.conn);
  gi_conn_free(&b->server.conn);
  b->client.conn = gi_conn_connect_any(b->r, hosts, 2, gi_listener_port(b->l), &ops, &b->client, &err);
  turns(b, 5);
  assert_int_equal(b->client.connected, 1); /* the address refuses */
  dead = false;
  until(b, &b->client.connected, 2);
  bench_free(b);
}

static void
test_linearize(void **state)
{
  struct gi_record rec = {{0}};
  for (uint32_t i = 0; i < 3; i++) {
    struct gi_buf *buf = gi_buf_new(1000);
    memset(buf->base, (int)i, 1000);
    gi_payload_add(&rec.record, buf, buf->base, 1000);
    gi_buf_unref(&buf);
  }
  rec.head = rec.record.slice[0].data;
  rec.head_len = 1000;
  gi_record_linearize(&rec, 900);
  assert_int_equal(rec.moved, 0);
  gi_record_linearize(&rec, 1500);
  assert_int_equal(rec.head_len, 1500);
  assert_int_equal(rec.record.len, 3000);
  assert_int_equal(rec.head[1499], 1);
  uint64_t copied = gi_payload_copied, bytes = gi_conn_totals.payload_bytes;
  gi_record_count_payload(&rec, 1100);
  assert_int_equal(gi_payload_copied - copied, 400);
  assert_int_equal(gi_conn_totals.payload_bytes - bytes, 1900);
  gi_record_linearize(&rec, SIZE_MAX);
  assert_int_equal(rec.head_len, 3000);
  assert_int_equal(rec.head[1500], 1);
  assert_int_equal(rec.head[2999], 2);
  gi_payload_clear(&rec.record);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tcp),
      cmocka_unit_test(test_unix),
      cmocka_unit_test(test_unix_is_of_its_owner),
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_one_send_per_turn),
      cmocka_unit_test(test_stream_8k),
      cmocka_unit_test(test_stream_one_at_a_time),
      cmocka_unit_test(test_stream_128k),
      cmocka_unit_test(test_stream_1m),
      cmocka_unit_test(test_any_boundary),
      cmocka_unit_test(test_byte_by_byte),
      cmocka_unit_test(test_fragments),
      cmocka_unit_test(test_bad_mark),
      cmocka_unit_test(test_peer_closes),
      cmocka_unit_test(test_free_in_callback),
      cmocka_unit_test(test_close_in_callback),
      cmocka_unit_test(test_pause_in_callback),
      cmocka_unit_test(test_pause_and_drain),
      cmocka_unit_test(test_connect_fails),
      cmocka_unit_test(test_resolving),
      cmocka_unit_test(test_dead_name_service),
      cmocka_unit_test(test_addresses_race),
      cmocka_unit_test(test_hosts_race),
      cmocka_unit_test(test_linearize),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
