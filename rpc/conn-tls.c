/* SPDX-License-Identifier: Apache-2.0
 *
 * The TLS session of a connection.
 *
 * Its handshake is made on a worker, step by step: the reactor brings what
 * arrives and sends what comes of it, so a signature delays nobody. Data then
 * stays on the reactor. One recv brings several records; each is decrypted in
 * the buffer of OpenSSL and copied once, to where the payload stays. What is
 * sent is cut into records of 16 KiB: a large payload from where it lies, small
 * pieces of a message gathered; many records leave in one send. The queue keeps what was
 * encrypted until its last byte has left, so nothing above sees a difference.
 *
 * Where the kernel encrypts, the handshake reads and writes the socket itself,
 * because OpenSSL hands the keys over only then.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/conn-private.h"
#include "rpc/tls-private.h"
#include "libglusterish/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SESSION_MAGIC 0x71500002u
#define HANDSHAKE_TIMEOUT_S 10
#define HANDSHAKE_BYTES 16384u        /* received at a time while it lasts */
#define RECORD_BYTES 16384u           /* of plain text */
#define RECORD_OVERHEAD 64u           /* at most */
#define SEND_BYTES (8 * RECORD_BYTES) /* of plain text, of one send */
#define SEND_RECORDS 64u              /* of it, where they are small */
#define MARK_LENGTH 0x7fffffffu
#define RECEIVE_MOST (512u << 10) /* plain text of one turn: others must have theirs */
#define HELLO 0x16                /* the first byte of TLS */
#define CN_BYTES 256
#define CLOSED_EARLY "closed by the peer before a handshake"
#define LAST_WORDS_MAX 256 /* reads of what came before them */

struct conn_tls {
  struct gi_work work;
  uint32_t magic;
  struct gi_conn *conn; /* NULL: it went away while a step was under way */
  struct gi_tls *tls;
  SSL *ssl; /* from the first step on */
  int fd;   /* kernel: the socket once more, for as long as the session; else -1 */
  bool server;
  bool plain_too; /* server: a peer may do without */
  bool working;   /* a step is under way: the session is the worker's */
  bool begun;     /* the first byte was looked at */
  bool shaken;    /* the handshake is over */
  bool wants_write;
  bool up;
  uint8_t *in; /* received and not yet read by OpenSSL; HANDSHAKE_BYTES */
  size_t in_at, in_len;
  uint8_t *out; /* encrypted and not yet sent */
  size_t out_len, out_sent, out_capacity;
  size_t message_left; /* bytes of the message that is being encrypted */
  size_t out_plain;    /* bytes of the queue that `out` stands for */
  bool dry;            /* the last recv brought less than there was room for */
  bool more;           /* OpenSSL may hold what can be decrypted at once */
  bool held;           /* what OpenSSL has is decrypted and no more is received */
  bool ended;          /* the peer ended the stream */
  bool over;           /* nothing can be decrypted any more; `why` says why */
  bool kernel_sends;
  int error; /* of the carrier */
  struct gi_error why;
  char name[CN_BYTES];
};

static struct conn_tls *
tls_of(const struct gi_conn *c)
{
  GI_CHECK(c->tls, SESSION_MAGIC);
  GI_ASSERT(c->tls->conn == c);
  return c->tls;
}

/* ---- what OpenSSL reads and writes ---- */

static int
bio_read(BIO *bio, char *to, size_t room, size_t *got)
{
  struct conn_tls *t = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (t->in_at < t->in_len) {
    *got = t->in_len - t->in_at < room ? t->in_len - t->in_at : room;
    memcpy(to, t->in + t->in_at, *got);
    t->in_at += *got;
    return 1;
  }
  if (t->up && !t->dry && !t->held && !t->ended && !t->error) {
    struct gi_conn *c = t->conn;
    ssize_t n = c->net->recv(c->r, c->fd, &(struct iovec){to, room}, 1);
    t->dry = n < (ssize_t)room;
    t->ended = n == 0;
    if (n > 0) {
      gi_conn_totals.recv_calls++;
      gi_conn_totals.bytes_in += (uint64_t)n;
      *got = (size_t)n;
      return 1;
    }
    if (n < 0 && n != -EAGAIN && n != -EINTR)
      t->error = (int)-n;
  }
  if (!t->ended && !t->error)
    BIO_set_retry_read(bio);
  return 0;
}

static int
bio_write(BIO *bio, const char *from, size_t len, size_t *put)
{
  struct conn_tls *t = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (t->out_capacity - t->out_len < len) {
    t->out_capacity = t->out_len + len;
    t->out = gi_realloc(t->out, t->out_capacity);
  }
  memcpy(t->out + t->out_len, from, len);
  t->out_len += len;
  *put = len;
  return 1;
}

static long
bio_ctrl(BIO *bio, int what, long n, void *p)
{
  const struct conn_tls *t = BIO_get_data(bio);
  return what == BIO_CTRL_FLUSH || (what == BIO_CTRL_EOF && t->ended && t->in_at == t->in_len);
}

static BIO_METHOD *bio_method;

static void
bio_method_make(void)
{
  bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "glusterish connection");
  GI_ASSERT(bio_method && BIO_meth_set_read_ex(bio_method, bio_read) && BIO_meth_set_write_ex(bio_method, bio_write) &&
            BIO_meth_set_ctrl(bio_method, bio_ctrl));
}

static void
attach_bio(struct conn_tls *t)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, bio_method_make);
  BIO *bio = BIO_new(bio_method);
  GI_ASSERT(bio);
  BIO_set_data(bio, t);
  BIO_set_init(bio, 1);
  SSL_set_bio(t->ssl, bio, bio);
}

/* ---- life ---- */

static void
session_free(struct conn_tls *t)
{
  GI_ASSERT(!t->working);
  SSL_free(t->ssl);
  gi_tls_unref(&t->tls);
  if (t->fd >= 0)
    close(t->fd);
  gi_free(t->in);
  gi_free(t->out);
  t->magic = 0;
  gi_free(t);
}

void
conn_tls_drop(struct gi_conn *c)
{
  struct conn_tls *t = c->tls;
  if (!t)
    return;
  GI_CHECK(t, SESSION_MAGIC);
  c->tls = NULL;
  t->conn = NULL;
  if (!t->working)
    session_free(t);
}

void
conn_tls_new(struct gi_conn *c, struct gi_tls *tls, bool server, bool plain_too)
{
  struct conn_tls *t = gi_new(struct conn_tls);
  GI_ASSERT(!c->tls && tls);
  t->magic = SESSION_MAGIC;
  t->conn = c;
  t->tls = gi_tls_ref(tls);
  t->fd = -1;
  t->server = server;
  t->plain_too = plain_too;
  c->tls = t;
}

/* ---- the handshake ---- */

static void
step_run(struct gi_work *w)
{
  struct conn_tls *t = gi_list_item(w, struct conn_tls, work);
  t->wants_write = false;
  if (!t->ssl) {
    t->ssl = tls_session(t->tls, t->server, &t->why, &t->why);
    if (!t->ssl)
      return;
    if (t->fd >= 0)
      SSL_set_fd(t->ssl, t->fd);
    else
      attach_bio(t);
  }
  ERR_clear_error();
  int ret = SSL_do_handshake(t->ssl), kind = SSL_get_error(t->ssl, ret);
  if (ret == 1) {
    X509 *cert = SSL_get0_peer_certificate(t->ssl);
    t->shaken = true;
    if (cert)
      tls_common_name(cert, t->name, sizeof(t->name));
  } else if (kind == SSL_ERROR_WANT_WRITE) {
    t->wants_write = true;
  } else if (kind != SSL_ERROR_WANT_READ) {
    tls_tell_failure(&t->why, t->server, t->ended);
  }
}

/* Sends what is encrypted. 0: all of it has left; else -errno. */
static ssize_t
send_out(struct gi_conn *c, struct conn_tls *t)
{
  while (t->out_sent < t->out_len) {
    ssize_t n = c->net->send(c->r, c->fd, &(struct iovec){t->out + t->out_sent, t->out_len - t->out_sent}, 1);
    if (n == -EINTR)
      continue;
    if (n < 0)
      return n;
    gi_conn_totals.send_calls++;
    gi_conn_totals.bytes_out += (uint64_t)n;
    t->out_sent += (size_t)n;
  }
  t->out_len = t->out_sent = 0;
  return 0;
}

/* What the kernel decrypts, as it does with TLS 1.2, only OpenSSL's way to the socket can read. */
static void
leave_the_socket(struct conn_tls *t)
{
  BIO *in = BIO_get_ktls_recv(SSL_get_rbio(t->ssl)) ? SSL_get_rbio(t->ssl) : NULL;
  t->kernel_sends = BIO_get_ktls_send(SSL_get_wbio(t->ssl));
  if (in)
    BIO_up_ref(in);
  attach_bio(t);
  if (in)
    SSL_set0_rbio(t->ssl, in);
}

static void
go_up(struct gi_conn *c, struct conn_tls *t)
{
  if (t->fd >= 0)
    leave_the_socket(t);
  gi_free(t->out);
  t->out = NULL;
  t->out_capacity = 0;
  t->up = t->more = true; /* data may have come with the end of the handshake */
  gi_conn_totals.tls_handshakes++;
  gi_defer_add(c->r, &c->resume);
  conn_up(c);
}

static void
refuse(struct gi_conn *c, int code, const char *why)
{
  if (gi_tls_is_refusal(code))
    gi_conn_totals.tls_refusals++;
  conn_end(c, code, why);
}

/* After a step, or when more could be sent. */
static void
settle(struct gi_conn *c, struct conn_tls *t)
{
  ssize_t left = send_out(c, t);
  if (t->why.code) {
    struct gi_error why = t->why;
    refuse(c, why.code, why.text);
  } else if (left < 0 && left != -EAGAIN) {
    conn_fail(c, (int)-left, "send");
  } else if (left == 0 && t->shaken) {
    go_up(c, t);
  } else {
    conn_watch(c);
  }
}

static void
step_done(struct gi_work *w)
{
  struct conn_tls *t = gi_list_item(w, struct conn_tls, work);
  struct gi_conn *c = t->conn;
  GI_CHECK(t, SESSION_MAGIC);
  GI_ASSERT(t->working);
  t->working = false;
  if (!c) {
    session_free(t);
    return;
  }
  conn_enter(c);
  settle(c, t);
  conn_leave(c);
}

static void
step(struct gi_conn *c, struct conn_tls *t)
{
  GI_ASSERT(!t->working && c->state == CONN_SHAKING);
  t->work = (struct gi_work){.priority = GI_PRIO_NORMAL, .run = step_run, .done = step_done};
  if (!t->ssl && gi_tls_kernel() && c->net == &gi_net_kernel)
    t->fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
  t->working = true;
  conn_watch(c);
  gi_work_submit(c->r, &t->work);
}

/* The peer does not want TLS: what it has sent is read as it is. */
static void
go_plain(struct gi_conn *c, struct conn_tls *t)
{
  uint8_t first[HANDSHAKE_BYTES];
  size_t len = t->in_len;
  memcpy(first, t->in, len);
  conn_tls_drop(c);
  conn_up(c);
  if (c->state == CONN_UP && !c->free_pending)
    conn_rx_feed(c, first, len);
}

/* False: it is no stranger to TLS, and may go on. */
static bool
turned_away(struct gi_conn *c, struct conn_tls *t)
{
  uint8_t first = 0;
  if (!t->server || t->begun)
    return false;
  if (t->in_len > 0) {
    first = t->in[0];
  } else { /* it is the kernel's socket */
    ssize_t n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
      gi_conn_close(c, ECONNRESET, CLOSED_EARLY);
    if (n <= 0)
      return true;
  }
  t->begun = true;
  if (first == HELLO)
    return false;
  GI_PROBE("connection: no TLS where TLS is expected");
  if (t->plain_too)
    go_plain(c, t);
  else
    refuse(c, EKEYREJECTED, first & 0x80 ? "a plain client at a port of TLS" : "garbage at a port of TLS");
  return true;
}

static bool
receive(struct gi_conn *c, struct conn_tls *t)
{
  if (!t->in)
    t->in = gi_alloc(HANDSHAKE_BYTES);
  if (t->in_at == t->in_len)
    t->in_at = t->in_len = 0;
  if (t->in_len == HANDSHAKE_BYTES)
    return true; /* OpenSSL has yet to read it */
  ssize_t n = c->net->recv(c->r, c->fd, &(struct iovec){t->in + t->in_len, HANDSHAKE_BYTES - t->in_len}, 1);
  if (n == -EAGAIN || n == -EINTR)
    return false;
  if (n == -ECONNRESET && !t->server)
    n = 0;
  if (n < 0) {
    conn_fail(c, (int)-n, "receive");
    return false;
  }
  gi_conn_totals.recv_calls++;
  gi_conn_totals.bytes_in += (uint64_t)n;
  t->ended = n == 0;
  t->in_len += (size_t)n;
  if (n == 0 && !t->ssl)
    gi_conn_close(c, ECONNRESET, CLOSED_EARLY);
  return c->state == CONN_SHAKING;
}

void
conn_tls_begin(struct gi_conn *c)
{
  struct conn_tls *t = tls_of(c);
  c->state = CONN_SHAKING;
  gi_timer_set(&c->connect_timer, HANDSHAKE_TIMEOUT_S * GI_NSEC_PER_SEC);
  if (t->server)
    conn_watch(c);
  else
    step(c, t);
}

unsigned
conn_tls_events(const struct gi_conn *c)
{
  const struct conn_tls *t = tls_of(c);
  if (t->working)
    return 0;
  return (t->shaken ? 0 : GI_IO_READ) | (t->out_sent < t->out_len || t->wants_write ? GI_IO_WRITE : 0);
}

void
conn_tls_ready(struct gi_conn *c, unsigned events)
{
  struct conn_tls *t = tls_of(c);
  bool kernel = gi_tls_kernel() && c->net == &gi_net_kernel;
  GI_ASSERT(c->state == CONN_SHAKING);
  if (t->working)
    return;
  if (t->out_sent < t->out_len) {
    settle(c, t);
    return;
  }
  if ((events & GI_IO_READ) && !kernel && !receive(c, t))
    return;
  if (!turned_away(c, t))
    step(c, t);
}

/* ---- data ---- */

/* Nothing more will come; what it is goes to t->why, where code 0 is an orderly end. */
static void
stream_over(struct conn_tls *t, int kind)
{
  bool cut = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  t->over = true;
  if (t->error)
    gi_error_set(&t->why, t->error, "receive: %s", strerror(t->error));
  else if (kind != SSL_ERROR_ZERO_RETURN && !cut && !(kind == SSL_ERROR_SYSCALL && t->ended))
    tls_tell_failure(&t->why, t->server, t->ended);
  ERR_clear_error();
}

/* Fills one buffer as far as there is anything to decrypt. */
static size_t
decrypt(struct conn_tls *t, uint8_t *to, size_t room)
{
  size_t have = 0, got;
  while (have < room && t->more) {
    ERR_clear_error();
    if (SSL_read_ex(t->ssl, to + have, room - have, &got) == 1) {
      gi_conn_totals.tls_records_in++;
      gi_conn_totals.tls_copied += got;
      have += got;
      continue;
    }
    int kind = SSL_get_error(t->ssl, 0);
    t->more = false;
    if (kind != SSL_ERROR_WANT_READ)
      stream_over(t, kind);
  }
  return have;
}

ssize_t
conn_tls_recv(struct gi_conn *c, const struct iovec *iov, int n)
{
  struct conn_tls *t = tls_of(c);
  size_t total = 0;
  GI_ASSERT(t->up && !t->working);
  t->dry = false;
  t->more = !t->over;
  for (int i = 0; i < n && t->more && total < RECEIVE_MOST; i++) {
    size_t most = RECEIVE_MOST - total;
    total += decrypt(t, iov[i].iov_base, iov[i].iov_len < most ? iov[i].iov_len : most);
  }
  if (t->in && t->in_at == t->in_len) {
    gi_free(t->in);
    t->in = NULL;
    t->in_at = t->in_len = 0;
  }
  if (t->over && total > 0)
    t->more = true; /* the end, which is told when this has been taken */
  if (total > 0 || !t->over)
    return total > 0 ? (ssize_t)total : -EAGAIN;
  struct gi_error why = t->why;
  if (!why.code)
    return 0;
  refuse(c, why.code, why.text);
  return -ECONNABORTED;
}

bool
conn_tls_last_words(struct gi_conn *c, struct gi_error *why)
{
  struct conn_tls *t = tls_of(c);
  uint8_t unread[4096];
  t->more = t->up && !t->over;
  t->dry = false;
  for (unsigned i = 0; t->more && i < LAST_WORDS_MAX; i++)
    decrypt(t, unread, sizeof(unread));
  *why = t->why;
  return gi_tls_is_refusal(why->code);
}

void
conn_tls_hold(struct gi_conn *c, bool hold)
{
  tls_of(c)->held = hold;
}

bool
conn_tls_more(const struct gi_conn *c)
{
  return c->tls && c->tls->more;
}

static void
encrypt(struct conn_tls *t, const uint8_t *data, size_t len)
{
  size_t put = 0;
  ERR_clear_error();
  if (!t->error && SSL_write_ex(t->ssl, data, len, &put) != 1)
    t->error = EPROTO;
  GI_ASSERT(t->error || put == len);
  gi_conn_totals.tls_records_out++;
}

/* Starts with the next message: how long it is stands at its beginning, which is never cut. */
static void
next_message(struct conn_tls *t, const uint8_t *data, size_t len)
{
  uint32_t mark;
  GI_ASSERT(t->message_left == 0 && len >= sizeof(mark));
  memcpy(&mark, data, sizeof(mark));
  t->message_left = sizeof(mark) + (ntohl(mark) & MARK_LENGTH);
}

/* Cuts the pieces into records: large payload from where it lies, small pieces gathered. A record ends where its message ends: GlusterFS
 * waits for the socket before it looks for another message in a record it has. How much of them went in. */
static size_t
encrypt_pieces(struct conn_tls *t, const struct iovec *iov, int n)
{
  uint8_t gathered[RECORD_BYTES];
  size_t total = 0, held = 0;
  unsigned records = 0;
  for (int i = 0; i < n; i++) {
    const uint8_t *data = iov[i].iov_base;
    for (size_t left = iov[i].iov_len; left > 0;) {
      if (records == SEND_RECORDS || (held == 0 && total >= SEND_BYTES))
        return total;
      if (t->message_left == 0)
        next_message(t, data, left);
      size_t len = left < t->message_left ? left : t->message_left;
      bool large = len >= RECORD_BYTES;
      if (held > 0 && (large || held + len > RECORD_BYTES)) { /* the record is full enough */
        encrypt(t, gathered, held);
        records++;
        held = 0;
        continue;
      }
      if (large) {
        len = RECORD_BYTES;
        encrypt(t, data, len);
        records++;
      } else {
        memcpy(gathered + held, data, len);
        gi_conn_totals.tls_copied += len;
        held += len;
      }
      data += len;
      left -= len;
      total += len;
      t->message_left -= len;
      if (held > 0 && t->message_left == 0) {
        encrypt(t, gathered, held);
        records++;
        held = 0;
      }
    }
  }
  if (held > 0)
    encrypt(t, gathered, held);
  return total;
}

/* Room for what is about to be encrypted, so that it need not grow. */
static void
make_room(struct conn_tls *t, const struct iovec *iov, int n)
{
  size_t plain = 0, most = SEND_BYTES + RECORD_BYTES;
  for (int i = 0; i < n && plain < most; i++)
    plain += iov[i].iov_len;
  size_t want = (plain < most ? plain : most) + (SEND_RECORDS + 1) * RECORD_OVERHEAD;
  if (t->out_len > 0 || t->out_capacity >= want)
    return;
  gi_free(t->out);
  t->out = gi_alloc(want);
  t->out_capacity = want;
}

ssize_t
conn_tls_send(struct gi_conn *c, const struct iovec *iov, int n)
{
  struct conn_tls *t = tls_of(c);
  GI_ASSERT(t->up && !t->working && n > 0);
  if (t->kernel_sends) {
    ssize_t sent = c->net->send(c->r, c->fd, iov, n);
    gi_conn_totals.send_calls += sent >= 0;
    gi_conn_totals.bytes_out += sent > 0 ? (uint64_t)sent : 0;
    return sent;
  }
  if (t->out_plain == 0 && !t->error) {
    make_room(t, iov, n);
    t->out_plain = encrypt_pieces(t, iov, n);
  }
  ssize_t left = t->error ? -t->error : send_out(c, t);
  if (left < 0)
    return left;
  ssize_t plain = (ssize_t)t->out_plain;
  t->out_plain = 0;
  return plain;
}

void
conn_tls_idle(struct gi_conn *c)
{
  struct conn_tls *t = tls_of(c);
  if (t->out_len > 0)
    return;
  gi_free(t->out);
  t->out = NULL;
  t->out_capacity = 0;
}

void
conn_tls_bye(struct gi_conn *c)
{
  struct conn_tls *t = c->tls;
  if (!t || !t->up || t->error || t->over || t->why.code || t->out_len > 0 || c->state != CONN_UP || t->kernel_sends)
    return; /* what the kernel encrypts is data */
  ERR_clear_error();
  SSL_shutdown(t->ssl);
  ERR_clear_error();
  (void)send_out(c, t);
}

const char *
gi_conn_tls_name(const struct gi_conn *c)
{
  return c->tls && c->tls->up ? c->tls->name : NULL;
}

bool
gi_conn_tls_binding(const struct gi_conn *c, uint8_t binding[GI_TLS_BINDING])
{
  static const char label[] = "EXPORTER-glusterish-node";
  const struct conn_tls *t = c->tls;
  bool good = t && t->up && SSL_version(t->ssl) >= TLS1_3_VERSION &&
              SSL_export_keying_material(t->ssl, binding, GI_TLS_BINDING, label, sizeof(label) - 1, NULL, 0, 0) == 1;
  ERR_clear_error();
  return good;
}
