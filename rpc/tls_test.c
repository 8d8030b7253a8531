/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections in TLS, with certificates made on the spot: what goes through,
 * who is refused and what either side is told, what the files may do.
 */
#include "rpc/server-fixture.h"
#include "rpc/tls-fixture.h"
#include "libglusterish/graph.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define RECORDS 40
#define LONGEST (3u << 20)

static char dir[64];
static struct tls_authority *ours, *theirs;

/* ---- two connected ends ---- */

struct end {
  struct gi_conn *conn;
  unsigned connected, closed, records, drained;
  uint64_t bytes;
  struct gi_error why;
  char name[256];           /* of the other end, at the first record */
  bool pause_each, uniform; /* uniform: all records are of four bytes */
};

struct pair {
  struct gi_reactor *r;
  struct gi_listener *l;
  struct end client, server;
  struct gi_tls *server_tls;
  bool plain_too;
};

static uint8_t
pattern(size_t n, size_t i)
{
  return (uint8_t)(n * 131 + i * 7 + (i >> 8));
}

static size_t
length(size_t n)
{
  static const size_t some[] = {4, 100, 16384, 16380, 16385, 4096, 131072, 131073, 1048576, LONGEST};
  return some[n % GI_ARRAY_LEN(some)];
}

static void
on_record(struct gi_conn *c, struct gi_record *rec, void *arg)
{
  struct end *e = arg;
  size_t at = 0, n = e->records++;
  if (n == 0)
    snprintf(e->name, sizeof(e->name), "%s", gi_conn_tls_name(c) ? gi_conn_tls_name(c) : "(plain)");
  e->bytes += rec->record.len;
  if (e->uniform) {
    assert_int_equal(rec->record.len, 4);
    return;
  }
  assert_int_equal(rec->record.len, length(n));
  for (uint32_t s = 0; s < rec->record.count; s++)
    for (size_t i = 0; i < rec->record.slice[s].len; i++, at++)
      if (rec->record.slice[s].data[i] != pattern(n, at))
        fail_msg("record %zu differs at %zu", n, at);
  if (e->pause_each)
    gi_conn_pause(c, true);
}

static void
on_connected(struct gi_conn *c, void *arg)
{
  ((struct end *)arg)->connected++;
}

static void
on_closed(struct gi_conn *c, const struct gi_error *why, void *arg)
{
  struct end *e = arg;
  e->closed++;
  e->why = *why;
  gi_conn_free(&e->conn);
}

static const struct gi_conn_ops ops = {on_record, on_connected, on_closed, NULL};

static void
on_accept(void *arg, int fd)
{
  struct pair *p = arg;
  p->server.conn = gi_conn_accept(p->r, fd, &ops, &p->server);
  if (p->server_tls)
    gi_conn_set_tls(p->server.conn, p->server_tls, p->plain_too);
}

/* NULL for a side is a plain one. Takes the references. */
static struct pair *
pair_new(struct gi_tls *server, struct gi_tls *client, bool plain_too)
{
  struct pair *p = gi_new(struct pair);
  struct gi_error err;
  p->r = gi_reactor_new(2);
  p->server_tls = server;
  p->plain_too = plain_too;
  p->l = gi_listener_new(p->r, "127.0.0.1", 0, 4, on_accept, p, &err);
  p->client.conn = gi_conn_connect(p->r, "127.0.0.1", gi_listener_port(p->l), &ops, &p->client, &err);
  assert_non_null(p->client.conn);
  if (client)
    gi_conn_set_tls(p->client.conn, client, false);
  gi_tls_unref(&client);
  return p;
}

static void
wait_for(struct pair *p, const unsigned *what, unsigned want)
{
  uint64_t end = gi_now(p->r) + 20 * SEC;
  while (*what < want && gi_now(p->r) < end)
    gi_reactor_turn(p->r, 10 * GI_NSEC_PER_MSEC);
  assert_true(*what >= want);
}

static void
pair_free(struct pair *p)
{
  gi_conn_free(&p->client.conn);
  gi_conn_free(&p->server.conn);
  gi_listener_free(&p->l);
  while (gi_reactor_busy(p->r))
    gi_reactor_turn(p->r, GI_NSEC_PER_MSEC);
  gi_tls_unref(&p->server_tls);
  gi_reactor_free(p->r);
  gi_free(p);
}

/* A head and the rest as payload, as messages are. */
static void
send_record(struct gi_conn *c, size_t n)
{
  size_t len = length(n), head = len < 100 ? len : 100;
  struct gi_buf *buf = gi_buf_new(len);
  struct gi_payload payload = {0};
  for (size_t i = 0; i < len; i++)
    buf->base[i] = pattern(n, i);
  gi_payload_add(&payload, buf, buf->base + head, len - head);
  gi_conn_send(c, buf->base, head, &payload);
  gi_payload_clear(&payload);
  gi_buf_unref(&buf);
}

static struct gi_tls *
server_files(void)
{
  return tls_of_files(dir, "server", "ours", NULL);
}

static struct gi_tls *
client_files(void)
{
  return tls_of_files(dir, "client", "ours", NULL);
}

static void
test_records_of_all_lengths_arrive(void **state)
{
  struct pair *p = pair_new(server_files(), client_files(), false);
  for (size_t i = 0; i < RECORDS; i++)
    send_record(p->client.conn, i); /* before there is a connection, and long before the handshake is over */
  wait_for(p, &p->server.records, 3);
  for (size_t i = 0; i < RECORDS; i++)
    send_record(p->server.conn, i);
  wait_for(p, &p->server.records, RECORDS);
  wait_for(p, &p->client.records, RECORDS);
  assert_string_equal(p->server.name, "joe");
  assert_string_equal(p->client.name, "node-1");
  assert_int_equal(p->client.connected, 1);
  gi_conn_close(p->client.conn, ECANCELED, "enough");
  wait_for(p, &p->server.closed, 1);
  assert_int_equal(p->server.why.code, ECONNRESET);
  pair_free(p);
}

static void
test_a_pause_holds_what_is_decrypted(void **state)
{
  struct pair *p = pair_new(server_files(), client_files(), false);
  p->server.pause_each = true;
  for (size_t i = 0; i < RECORDS; i++)
    send_record(p->client.conn, i);
  for (unsigned i = 1; i <= RECORDS; i++) {
    wait_for(p, &p->server.records, i);
    assert_int_equal(p->server.records, i);
    gi_conn_pause(p->server.conn, false);
  }
  pair_free(p);
}

/* Payload is not gathered, and many records are one system call. */
static void
test_what_it_costs(void **state)
{
  struct pair *p = pair_new(server_files(), client_files(), false);
  wait_for(p, &p->client.connected, 1);
  wait_for(p, &p->server.connected, 1);
  struct gi_conn_stats before = gi_conn_totals;
  for (size_t n = 0; n < 9; n++)
    send_record(p->client.conn, n);
  wait_for(p, &p->server.records, 9);
  const struct gi_conn_stats *now = &gi_conn_totals;
  uint64_t bytes = p->server.bytes, once = bytes + bytes / 10;
  assert_in_range(now->tls_copied - before.tls_copied, bytes,
                  once); /* once where it arrives, and small pieces where they leave */
  assert_in_range(now->tls_records_out - before.tls_records_out, bytes / 16384, bytes / 16384 + 20);
  assert_in_range(now->send_calls - before.send_calls, 1,
                  bytes / 16384 / 4); /* eight records each, where the socket takes them */
  assert_true(now->bytes_out - before.bytes_out > bytes && now->bytes_out - before.bytes_out < once);
  assert_int_equal(now->bytes_in - before.bytes_in, now->bytes_out - before.bytes_out);
  pair_free(p);
}

/* A record has bytes of one message only: GlusterFS would not look for a second one in it. They leave in one system call all the same. */
static void
test_a_record_ends_with_its_message(void **state)
{
  enum { MESSAGES = 30 };
  struct pair *p = pair_new(server_files(), client_files(), false);
  wait_for(p, &p->client.connected, 1);
  wait_for(p, &p->server.connected, 1);
  struct gi_conn_stats before = gi_conn_totals;
  for (unsigned i = 0; i < MESSAGES; i++) {
    static const uint8_t four[4] = {0x00, 0x07, 0x0e, 0x15};
    gi_conn_send(p->client.conn, four, sizeof(four), NULL);
  }
  p->server.uniform = true;
  wait_for(p, &p->server.records, MESSAGES);
  assert_int_equal(gi_conn_totals.tls_records_out - before.tls_records_out, MESSAGES);
  assert_int_equal(gi_conn_totals.send_calls - before.send_calls, 1);
  pair_free(p);
}

/* ---- refusals ---- */

static void
expect(struct pair *p, const char *server, const char *client)
{
  send_record(p->client.conn, 0);
  wait_for(p, &p->server.closed, 1);
  wait_for(p, &p->client.closed, 1);
  if (!strstr(p->server.why.text, server))
    fail_msg("the server says: %s", p->server.why.text);
  if (!strstr(p->client.why.text, client))
    fail_msg("the client says: %s", p->client.why.text);
  assert_int_equal(p->server.records + p->client.records, 0);
  pair_free(p);
}

static void
test_wrong_certificates(void **state)
{
  static const struct {
    const char *name, *server, *client;
  } bad[] = {
      {"stranger", "certificate \"joe\" is of the wrong CA: \"theirs\" is none that is trusted here",
       "of a wrong CA, or self-made"},
      {"selfmade", "certificate \"joe\" is self-made", "of a wrong CA, or self-made"},
      {"expired", "certificate \"joe\" has expired: ", "certificate of this side: expired"},
      {"early", "certificate \"joe\" is not valid before ", "damaged, or not valid yet"},
      {"revoked", "certificate \"joe\" is revoked", "certificate of this side: revoked"},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    struct pair *p =
        pair_new(tls_of_files(dir, "server", "ours", "list.crl"), tls_of_files(dir, bad[i].name, "ours", NULL), false);
    expect(p, bad[i].server, bad[i].client);
  }
  /* the same of a server, as its client sees it */
  expect(pair_new(tls_of_files(dir, "expired", "ours", NULL), client_files(), false), "certificate of this side: expired",
         "certificate \"joe\" has expired: ");
  expect(pair_new(tls_of_files(dir, "stranger", "ours", NULL), client_files(), false), "of a wrong CA, or self-made",
         "is of the wrong CA: \"theirs\"");
}

/* One that stands itself among those that are trusted, whoever has signed it; what else that one signs is another matter. */
static void
test_one_certificate_is_trusted(void **state)
{
  GI_CLEANUP_FREE char *order = gi_asprintf("cd %s && cat ours.ca stranger.pem expired.pem >some.ca", dir);
  assert_int_equal(system(order), 0);
  for (unsigned list = 0; list < 2; list++) {
    const char *crl = list ? "list.crl" : NULL;
    struct pair *p = pair_new(tls_of_files(dir, "server", "some", crl), tls_of_files(dir, "stranger", "ours", NULL), false);
    send_record(p->client.conn, 0);
    wait_for(p, &p->server.records, 1);
    assert_string_equal(p->server.name, "joe");
    pair_free(p);
    tls_certificate(dir, "other", theirs, "joe", -60, TLS_DAY);
    expect(pair_new(tls_of_files(dir, "server", "some", crl), tls_of_files(dir, "other", "ours", NULL), false),
           "certificate \"joe\" is of the wrong CA", "of a wrong CA, or self-made");
    expect(pair_new(tls_of_files(dir, "server", "some", crl), tls_of_files(dir, "expired", "ours", NULL), false),
           "certificate \"joe\" has expired: ", "certificate of this side: expired");
  }
}

static void
test_plain_and_tls_do_not_meet(void **state)
{
  expect(pair_new(server_files(), NULL, false), "a plain client at a port of TLS", "without a word: it may expect TLS");
  expect(pair_new(NULL, client_files(), false), "a client of TLS at a plain port", "it may not speak TLS");
}

static void
test_both_kinds_where_both_are_wanted(void **state)
{
  struct pair *p = pair_new(server_files(), NULL, true);
  for (size_t i = 0; i < 9; i++)
    send_record(p->client.conn, i);
  wait_for(p, &p->server.records, 9);
  assert_string_equal(p->server.name, "(plain)");
  pair_free(p);
  p = pair_new(server_files(), client_files(), true);
  send_record(p->client.conn, 0);
  wait_for(p, &p->server.records, 1);
  assert_string_equal(p->server.name, "joe");
  pair_free(p);
}

/* A proof that somebody passes on from one connection to another is none there. */
static void
test_what_binds_a_proof_to_its_connection(void **state)
{
  uint8_t seen[2][GI_TLS_BINDING], other[GI_TLS_BINDING];
  for (size_t i = 0; i < 2; i++) {
    struct pair *p = pair_new(server_files(), client_files(), true);
    send_record(p->client.conn, 0);
    wait_for(p, &p->server.records, 1);
    assert_true(gi_conn_tls_binding(p->client.conn, seen[i]));
    assert_true(gi_conn_tls_binding(p->server.conn, other));
    assert_memory_equal(seen[i], other, sizeof(other));
    pair_free(p);
  }
  assert_memory_not_equal(seen[0], seen[1], sizeof(other));
  struct pair *p = pair_new(server_files(), NULL, true);
  send_record(p->client.conn, 0);
  wait_for(p, &p->server.records, 1);
  assert_false(gi_conn_tls_binding(p->client.conn, other));
  assert_false(gi_conn_tls_binding(p->server.conn, other));
  pair_free(p);
}

/* ---- strangers at a server ---- */

static struct bench *
bench_of_tls(const struct gi_rpc_limits *limits)
{
  struct bench *b = bench_of_server(limits);
  struct gi_tls *t = server_files();
  gi_rpc_server_set_tls(b->server, t, false);
  gi_tls_unref(&t);
  return b;
}

static void
settle(struct bench *b)
{
  until(b, &b->peers_down, b->peers_up);
  while (gi_reactor_busy(b->r))
    gi_reactor_turn(b->r, GI_NSEC_PER_MSEC);
  bench_free(b);
}

static void
answered(struct gi_rpc_client *c, struct gi_rpc_reply *reply, void *arg)
{
  struct bench *b = arg;
  assert_int_equal(reply->status, 0);
  b->written++;
}

static void
up(struct gi_rpc_client *c, void *arg)
{
  struct bench *b = arg;
  struct gi_xdr_out out = {0};
  uint32_t xid = gi_rpc_call_begin(c, &out, PROG, 3, ECHO, GI_AUTH_NONE, NULL);
  gi_xdr_put_u32(&out, 7);
  b->ups++;
  gi_rpc_call_send(c, xid, &out, NULL, false, answered, b);
}

static void
served(struct bench *b)
{
  static const struct gi_rpc_client_ops client_ops = {.up = up};
  struct gi_tls *t = client_files();
  b->client = gi_rpc_client_new(b->r, &(struct gi_rpc_client_config){.name = "test", .tls = t}, &client_ops, b);
  gi_tls_unref(&t);
  gi_rpc_client_connect(b->client, "127.0.0.1", b->port);
  b->written = 0;
  until(b, &b->written, 1);
  gi_rpc_client_free(&b->client);
}

static void
test_no_certificate_is_none(void **state)
{
  struct bench *b = bench_of_tls(NULL);
  SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
  SSL *ssl = SSL_new(ctx);
  int fd = raw_connect(b);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  SSL_set_fd(ssl, fd);
  uint64_t refusals = gi_conn_totals.tls_refusals;
  for (unsigned i = 0; i < 500 && b->peers_down == 0; i++) {
    SSL_connect(ssl);
    turns(b, GI_NSEC_PER_MSEC);
  }
  assert_int_equal(b->peers_down, 1);
  assert_int_equal(gi_conn_totals.tls_refusals, refusals + 1);
  SSL_free(ssl);
  SSL_CTX_free(ctx);
  close(fd);
  served(b);
  settle(b);
}

static bool
still_open(int fd)
{
  char c;
  return recv(fd, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* A thousand that begin and do not go on: few of them stay, and who means it is served. */
static void
test_half_open_handshakes_are_few(void **state)
{
  enum { MANY = 1000 };
  struct bench *b = bench_of_tls(&(struct gi_rpc_limits){1000, 5000, 0, true});
  static int fd[MANY];
  for (unsigned i = 0; i < MANY; i++) {
    fd[i] = raw_connect(b);
    assert_int_equal(send(fd[i], "\x16\x03\x01\x02\x00\x01", 6, 0), 6); /* the head of a record that does not come */
    until(b, &b->peers_up, i + 1);
  }
  assert_in_range(b->peers_up - b->peers_down, 1, GI_HALF_OPEN_OF_ADDRESS);
  turns(b, SEC / 20);
  assert_false(still_open(fd[0]));
  assert_true(still_open(fd[MANY - 1]));
  served(b);
  for (unsigned i = 0; i < MANY; i++)
    close(fd[i]);
  settle(b);
}

static void
test_garbage_is_shown_the_door(void **state)
{
  static const struct {
    const char *bytes;
    size_t len;
  } bad[] = {
      {"GET / HTTP/1.1\r\n\r\n", 18},
      {"\x16\x03\x01\xff\xff garbage that says it is of 64 KiB", 40},
      {"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9}, /* a hello of 16 MiB */
      {"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10},
      {"\x16\x16\x16\x16\x16\x16\x16\x16", 8},
  };
  struct bench *b = bench_of_tls(NULL);
  for (unsigned i = 0; i < GI_ARRAY_LEN(bad); i++) {
    int fd = raw_connect(b);
    assert_int_equal(send(fd, bad[i].bytes, bad[i].len, 0), (ssize_t)bad[i].len);
    until(b, &b->peers_down, i + 1);
    close(fd);
  }
  served(b);
  settle(b);
}

/* Nothing is kept of more than one record, however much a stranger sends. */
static void
test_huge_records_take_no_memory(void **state)
{
  struct bench *b = bench_of_tls(NULL);
  static char much[1 << 20] = "\x16\x03\x01\x3f\xff\x01\xff\xff\xff";
  uint64_t before = gi_conn_totals.bytes_in;
  int fd = raw_connect(b);
  for (unsigned i = 0; i < 100 && b->peers_down == 0; i++) {
    send(fd, much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL);
    turns(b, GI_NSEC_PER_MSEC);
  }
  until(b, &b->peers_down, 1);
  assert_in_range(gi_conn_totals.bytes_in - before, 1, 128 << 10);
  close(fd);
  served(b);
  settle(b);
}

/* ---- files ---- */

static void
test_files_that_cannot_be_used_are_named(void **state)
{
  GI_CLEANUP_FREE char *cert = gi_asprintf("%s/client.pem", dir), *key = gi_asprintf("%s/client.key", dir),
                       *ca = gi_asprintf("%s/ours.ca", dir), *none = gi_asprintf("%s/none", dir),
                       *other = gi_asprintf("%s/server.key", dir);
  const struct {
    struct gi_tls_config cfg;
    const char *text;
  } bad[] = {
      {{.cert = none, .key = key, .ca = ca}, "certificate "},
      {{.cert = key, .key = key, .ca = ca}, "certificate "},
      {{.cert = cert, .key = none, .ca = ca}, "private key "},
      {{.cert = cert, .key = other, .ca = ca}, "private key"},
      {{.cert = cert, .key = key, .ca = none}, "CA list "},
      {{.cert = cert, .key = key, .ca = ca, .crl = none}, "revocation lists "},
      {{.cert = cert, .key = key, .ca = ca, .crl = cert}, "revocation list "},
      {{.cert = cert, .key = key, .ca = ca, .ciphers = "CAESAR"}, "ssl-cipher-list CAESAR"},
      {{.cert = cert, .key = key, .ca = ca, .ciphers = "TLS_CAESAR"}, "ssl-cipher-list TLS_CAESAR"},
      {{.cert = cert, .key = key, .ca = ca, .ec_curve = "bent"}, "ssl-ec-curve bent"},
      {{.cert = cert, .key = key, .ca = ca, .dh_param = cert}, "ssl-dh-param "},
  };
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    struct gi_error err = {0};
    assert_null(gi_tls_new(&bad[i].cfg, &err));
    if (err.code == 0 || strncmp(err.text, bad[i].text, strlen(bad[i].text)) != 0)
      fail_msg("%zu: %s", i, err.text);
  }
  struct gi_error err;
  struct gi_tls *t = gi_tls_new(&(struct gi_tls_config){.cert = cert,
                                                        .key = key,
                                                        .ca = ca,
                                                        .ciphers = "TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
                                                        .ec_curve = "prime256v1",
                                                        .depth = 2},
                                &err);
  assert_non_null(t);
  gi_tls_unref(&t);
}

static void
name_seen(struct gi_tls *server, struct gi_tls *client, const char *name)
{
  struct pair *p = pair_new(gi_tls_ref(server), gi_tls_ref(client), false);
  send_record(p->client.conn, 0);
  wait_for(p, &p->server.records, 1);
  assert_string_equal(p->server.name, name);
  pair_free(p);
}

static void
test_changed_files_count_for_the_next_connection(void **state)
{
  tls_certificate(dir, "changing", ours, "before", -TLS_DAY, TLS_DAY);
  struct gi_tls *server = server_files(), *client = tls_of_files(dir, "changing", "ours", NULL);
  GI_CLEANUP_FREE char *pem = gi_asprintf("%s/changing.pem", dir);
  name_seen(server, client, "before");
  tls_certificate(dir, "changing", ours, "after", -TLS_DAY, TLS_DAY);
  name_seen(server, client, "after");
  assert_int_equal(truncate(pem, 10), 0);
  name_seen(server, client, "after");
  unlink(pem);
  name_seen(server, client, "after");
  gi_tls_unref(&server);
  gi_tls_unref(&client);
}

static void
test_a_revocation_counts_for_the_next_connection(void **state)
{
  GI_CLEANUP_FREE char *lists = gi_asprintf("%s/lists", dir), *list = gi_asprintf("%s/lists/ours.crl", dir);
  long serial = tls_certificate(dir, "leaving", ours, "leaving", -TLS_DAY, TLS_DAY);
  mkdir(lists, 0700);
  tls_revocations(list, ours, 0);
  struct gi_tls *server = tls_of_files(dir, "server", "ours", "lists"), *client = tls_of_files(dir, "leaving", "ours", NULL);
  name_seen(server, client, "leaving");
  unlink(list); /* as whoever replaces it does */
  tls_revocations(list, ours, serial);
  expect(pair_new(gi_tls_ref(server), gi_tls_ref(client), false), "certificate \"leaving\" is revoked", "revoked");
  gi_tls_unref(&server);
  gi_tls_unref(&client);
}

static void
write_text(const char *path, const char *text)
{
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

/* Where the file is, management is in TLS; it says which files, and what is no line of it is refused. */
static void
test_the_file_secure_access(void **state)
{
  static const char *const bad[] = {"on\n", "option ssl-own-cert\n", "option colour red\n"};
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/secure-access", dir);
  GI_CLEANUP_FREE char *lines = gi_asprintf("# of a test\n\noption transport.socket.ssl-own-cert %s/client.pem\n"
                                            "option transport.socket.ssl-private-key %s/client.key\n"
                                            "option ssl-ca-list %s/ours.ca\noption ssl-optional on\n",
                                            dir, dir, dir);
  struct gi_ctx ctx = {.secure_access = path};
  struct gi_error err = {0};
  struct gi_secure_access a;
  assert_int_equal(gi_mgmt_credentials(&ctx, &err), 0);
  assert_null(ctx.mgmt_tls);
  write_text(path, lines);
  assert_int_equal(gi_secure_access_read(path, &a, &err), 0);
  assert_true(a.exists && a.optional);
  gi_secure_access_clear(&a);
  assert_int_equal(gi_mgmt_credentials(&ctx, &err), 0);
  struct gi_tls *first = ctx.mgmt_tls;
  struct gi_tls_pair volume = {0};
  assert_non_null(first);
  assert_int_equal(gi_mgmt_credentials(&ctx, &err), 0);
  assert_ptr_equal(ctx.mgmt_tls, first);
  /* it names no files itself */
  assert_int_equal(gi_tls_prepare(&volume, "client.ssl", &(struct gi_tls_config){.depth = 3}, path, &err), 0);
  assert_non_null(volume.next);
  gi_tls_clear(&volume);
  for (size_t i = 0; i < GI_ARRAY_LEN(bad); i++) {
    write_text(path, bad[i]);
    assert_int_equal(gi_mgmt_credentials(&ctx, &err), -1);
    assert_non_null(strstr(err.text, "secure-access: line 1: "));
    assert_ptr_equal(ctx.mgmt_tls, first);
  }
  unlink(path);
  assert_int_equal(gi_mgmt_credentials(&ctx, &err), 0);
  assert_null(ctx.mgmt_tls);
}

static void
test_the_kernel_is_asked_once(void **state)
{
  int fd = socket(AF_INET, SOCK_STREAM, 0), err;
  err = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4) < 0 ? errno : 0;
  close(fd);
  assert_true(gi_tls_kernel_said(ENOTCONN));
  assert_false(gi_tls_kernel_said(ENOENT));
  assert_false(gi_tls_kernel_said(ENOPROTOOPT));
  assert_int_equal(gi_tls_kernel(), gi_tls_kernel_said(err));
  assert_int_equal(gi_tls_kernel(), gi_tls_kernel());
}

static int
make_files(void **state)
{
  snprintf(dir, sizeof(dir), "/tmp/tls_test.XXXXXX");
  assert_non_null(mkdtemp(dir));
  ours = tls_authority_new(dir, "ours");
  theirs = tls_authority_new(dir, "theirs");
  tls_certificate(dir, "server", ours, "node-1", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "client", ours, "joe", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "stranger", theirs, "joe", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "selfmade", NULL, "joe", -TLS_DAY, TLS_DAY);
  tls_certificate(dir, "expired", ours, "joe", -2 * TLS_DAY, -TLS_DAY);
  tls_certificate(dir, "early", ours, "joe", TLS_DAY, 2 * TLS_DAY);
  long serial = tls_certificate(dir, "revoked", ours, "joe", -TLS_DAY, TLS_DAY);
  GI_CLEANUP_FREE char *list = gi_asprintf("%s/list.crl", dir);
  tls_revocations(list, ours, serial);
  return 0;
}

static int
remove_files(void **state)
{
  GI_CLEANUP_FREE char *command = gi_asprintf("rm -rf %s", dir);
  tls_authority_free(&ours);
  tls_authority_free(&theirs);
  return system(command);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_records_of_all_lengths_arrive),
      cmocka_unit_test(test_a_pause_holds_what_is_decrypted),
      cmocka_unit_test(test_what_it_costs),
      cmocka_unit_test(test_a_record_ends_with_its_message),
      cmocka_unit_test(test_wrong_certificates),
      cmocka_unit_test(test_one_certificate_is_trusted),
      cmocka_unit_test(test_plain_and_tls_do_not_meet),
      cmocka_unit_test(test_both_kinds_where_both_are_wanted),
      cmocka_unit_test(test_what_binds_a_proof_to_its_connection),
      cmocka_unit_test(test_no_certificate_is_none),
      cmocka_unit_test(test_half_open_handshakes_are_few),
      cmocka_unit_test(test_garbage_is_shown_the_door),
      cmocka_unit_test(test_huge_records_take_no_memory),
      cmocka_unit_test(test_files_that_cannot_be_used_are_named),
      cmocka_unit_test(test_changed_files_count_for_the_next_connection),
      cmocka_unit_test(test_a_revocation_counts_for_the_next_connection),
      cmocka_unit_test(test_the_file_secure_access),
      cmocka_unit_test(test_the_kernel_is_asked_once),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
