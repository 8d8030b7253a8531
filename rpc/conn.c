/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a connection: connecting, being up, ending. The owner
 * may close or free it at any point, also from inside a callback; `busy` keeps
 * the memory until the last callback has returned.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/conn-private.h"
#include "libglusterish/probe.h"

#include <errno.h>
#include <stdio.h>

#define CONNECT_TIMEOUT_S 15 /* per address; the kernel's own limit is minutes */

struct gi_conn_stats gi_conn_totals;

const struct gi_metric gi_conn_metrics[] = {
    GI_METRIC(struct gi_conn_stats, recv_calls, "", "system calls that received data"),
    GI_METRIC(struct gi_conn_stats, messages, "", "RPC messages received"),
    GI_METRIC(struct gi_conn_stats, payload_bytes, "bytes", "payload of READ replies and WRITE calls received"),
    GI_METRIC(struct gi_conn_stats, send_calls, "", "system calls that sent data"),
    GI_METRIC(struct gi_conn_stats, bytes_in, "bytes", "received from sockets"),
    GI_METRIC(struct gi_conn_stats, bytes_out, "bytes", "sent to sockets"),
    GI_GAUGE(struct gi_conn_stats, connections, "", "connections, also those that are being made"),
    GI_METRIC(struct gi_conn_stats, opened, "", "connections made or accepted, or tried to"),
    GI_METRIC(struct gi_conn_stats, tls_handshakes, "", "TLS handshakes that both sides agreed to"),
    GI_METRIC(struct gi_conn_stats, tls_refusals, "", "TLS sessions refused, by this side or the other"),
    GI_METRIC(struct gi_conn_stats, tls_records_in, "", "TLS records decrypted"),
    GI_METRIC(struct gi_conn_stats, tls_records_out, "", "TLS records encrypted"),
    GI_METRIC(struct gi_conn_stats, tls_copied, "bytes", "copied between messages and the buffers of TLS"),
    GI_METRIC_END,
};

/* ---- callbacks and memory ---- */

void
conn_check(const struct gi_conn *c)
{
  GI_CHECK(c, CONN_MAGIC);
  GI_ASSERT((c->race != NULL) == (c->state == CONN_CONNECTING));
  GI_ASSERT((c->fd >= 0) == (c->state == CONN_SHAKING || c->state == CONN_UP));
  GI_ASSERT(!c->connect_timer.armed || c->state == CONN_SHAKING);
  GI_ASSERT(c->rx.start <= c->rx.end && (!c->rx.buf || c->rx.end <= c->rx.buf->capacity));
  GI_ASSERT((c->tx.count == 0) == (c->tx.queued == 0) && c->tx.count <= c->tx.capacity);
  GI_ASSERT(!c->tx.blocked || (c->state == CONN_UP && c->tx.count > 0));
}

static void
destroy(struct gi_conn *c)
{
  GI_ASSERT(c->state == CONN_CLOSED && c->busy == 0 && c->fd < 0);
  GI_ASSERT(gi_conn_totals.connections > 0);
  gi_conn_totals.connections--;
  gi_timer_finish(&c->connect_timer);
  c->magic = 0;
  gi_free(c);
}

void
conn_enter(struct gi_conn *c)
{
  conn_check(c);
  c->busy++;
}

bool
conn_leave(struct gi_conn *c)
{
  GI_ASSERT(c->busy > 0);
  if (--c->busy > 0 || !c->free_pending)
    return true;
  destroy(c);
  return false;
}

/* ---- watching ---- */

void
conn_watch(struct gi_conn *c)
{
  unsigned events = 0;
  if (c->state == CONN_SHAKING)
    events = conn_tls_events(c);
  else if (c->state == CONN_UP)
    events = (c->paused ? 0 : GI_IO_READ) | (c->tx.blocked ? GI_IO_WRITE : 0);
  if (c->fd >= 0 && c->io.events != events)
    gi_io_watch(&c->io, events);
}

static void
ready(void *arg, unsigned events)
{
  struct gi_conn *c = arg;
  conn_enter(c);
  if (c->state == CONN_SHAKING) {
    conn_tls_ready(c, events);
  } else if (c->state == CONN_UP) {
    if (events & GI_IO_WRITE)
      conn_tx_flush(c);
    if ((events & GI_IO_READ) && c->state == CONN_UP && !c->paused)
      conn_rx_ready(c);
  }
  conn_leave(c);
}

static void
drop_socket(struct gi_conn *c)
{
  gi_io_finish(&c->io);
  memset(&c->io, 0, sizeof(c->io));
  if (c->fd >= 0)
    c->net->close(c->r, c->fd);
  c->fd = -1;
}

/* ---- ending ---- */

static void
closed_deferred(void *arg)
{
  struct gi_conn *c = arg;
  GI_ASSERT(c->state == CONN_CLOSED && !c->free_pending);
  conn_enter(c);
  c->ops->closed(c, &c->why, c->arg);
  conn_leave(c);
}

/* Everything but telling the owner. */
static void
shut(struct gi_conn *c)
{
  GI_ASSERT(c->state != CONN_CLOSED);
  conn_tls_bye(c);
  c->state = CONN_CLOSED;
  gi_timer_cancel(&c->connect_timer);
  gi_race_stop(&c->race);
  drop_socket(c);
  conn_tls_drop(c);
  conn_tx_clear(&c->tx);
  conn_rx_clear(c);
}

void
conn_fail(struct gi_conn *c, int code, const char *what)
{
  GI_CHECK(c, CONN_MAGIC);
  if (c->state == CONN_CLOSED)
    return;
  gi_error_set(&c->why, code, "%s: %s: %s", c->peer, what, strerror(code));
  shut(c);
  gi_defer_add(c->r, &c->closing);
}

/* One last non-blocking attempt: an answer queued in this turn should not die with an orderly close. */
static void
last_chance(struct gi_conn *c)
{
  if (c->state != CONN_UP || c->tx.count == 0 || c->tx.blocked)
    return;
  c->tx.full = false; /* nobody is to be called from here */
  conn_tx_flush(c);
}

void
gi_conn_close(struct gi_conn *c, int code, const char *why)
{
  conn_check(c);
  last_chance(c);
  conn_end(c, code, why);
}

void
conn_end(struct gi_conn *c, int code, const char *why)
{
  if (c->state == CONN_CLOSED)
    return;
  gi_error_set(&c->why, code, "%s: %s", c->peer, why);
  shut(c);
  gi_defer_add(c->r, &c->closing);
}

void
gi_conn_free(struct gi_conn **cp)
{
  struct gi_conn *c = *cp;
  *cp = NULL;
  if (c == NULL)
    return;
  conn_check(c);
  GI_ASSERT(!c->free_pending);
  last_chance(c);
  if (c->state != CONN_CLOSED)
    shut(c);
  gi_defer_cancel(&c->closing);
  if (c->busy > 0)
    c->free_pending = true;
  else
    destroy(c);
}

/* ---- beginning ---- */

static void
attach(struct gi_conn *c, int fd)
{
  GI_ASSERT(fd >= 0 && c->fd < 0);
  c->fd = fd;
  gi_io_init(&c->io, c->r, fd, ready, c);
}

static void
connect_timed_out(void *arg)
{
  struct gi_conn *c = arg;
  conn_check(c);
  GI_PROBE("connection: connecting timed out");
  if (c->state == CONN_SHAKING)
    gi_conn_close(c, ETIMEDOUT, "no TLS handshake in time");
}

void
conn_up(struct gi_conn *c)
{
  GI_ASSERT(c->busy > 0 && c->fd >= 0 && c->state == CONN_SHAKING);
  gi_timer_cancel(&c->connect_timer);
  c->state = CONN_UP;
  c->last_rx = c->last_tx = gi_now(c->r);
  conn_watch(c);
  if (c->tx.count > 0)
    gi_defer_add(c->r, &c->tx.flush);
  if (c->ops->connected)
    c->ops->connected(c, c->arg);
}

static void
raced(void *arg, int fd, const struct gi_net_address *to, const struct gi_error *err)
{
  struct gi_conn *c = arg;
  GI_ASSERT(c->state == CONN_CONNECTING);
  c->race = NULL;
  if (fd < 0) {
    c->why = *err;
    shut(c);
    gi_defer_add(c->r, &c->closing);
    return;
  }
  net_text(&to->sa, c->peer, sizeof(c->peer));
  c->state = CONN_SHAKING;
  attach(c, fd);
  conn_enter(c);
  if (c->tls)
    conn_tls_begin(c);
  else
    conn_up(c);
  conn_leave(c);
}

static struct gi_conn *
conn_new(struct gi_reactor *r, const struct gi_conn_ops *ops, void *arg)
{
  struct gi_conn *c = gi_new(struct gi_conn);
  gi_conn_totals.connections++;
  gi_conn_totals.opened++;
  c->magic = CONN_MAGIC;
  c->r = r;
  c->net = gi_net_of(r);
  c->ops = ops;
  c->arg = arg;
  c->fd = -1;
  c->record_max = GI_RECORD_MAX;
  c->connect_timeout = CONNECT_TIMEOUT_S * GI_NSEC_PER_SEC;
  conn_tx_init(c);
  conn_rx_init(c);
  gi_defer_init(&c->closing, closed_deferred, c);
  gi_timer_init(&c->connect_timer, r, connect_timed_out, c);
  return c;
}

struct gi_conn *
gi_conn_connect_any(struct gi_reactor *r, const char *const *hosts, unsigned n, int port, const struct gi_conn_ops *ops,
                    void *arg, struct gi_error *err)
{
  struct gi_conn *c = conn_new(r, ops, arg);
  struct gi_error why = {0};
  snprintf(c->peer, sizeof(c->peer), "%s:%d", hosts[0], port);
  c->race = gi_race_start(r, hosts, n, port, c->connect_timeout, raced, c, &why);
  if (c->race)
    return c;
  gi_error_set(err, why.code, "%s", why.text);
  c->state = CONN_CLOSED;
  gi_conn_free(&c);
  return NULL;
}

struct gi_conn *
gi_conn_connect(struct gi_reactor *r, const char *host, int port, const struct gi_conn_ops *ops, void *arg,
                struct gi_error *err)
{
  return gi_conn_connect_any(r, &host, 1, port, ops, arg, err);
}

struct gi_conn *
gi_conn_accept(struct gi_reactor *r, int fd, const struct gi_conn_ops *ops, void *arg)
{
  struct gi_conn *c = conn_new(r, ops, arg);
  struct sockaddr_storage sa = {0};
  attach(c, fd);
  c->state = CONN_UP;
  c->last_rx = c->last_tx = gi_now(r);
  if (gi_conn_peer_address(c, &sa) && sa.ss_family == AF_UNIX)
    gi_conn_local_address(c, &sa); /* the connecting end has no name; ours has */
  net_text(&sa, c->peer, sizeof(c->peer));
  conn_watch(c);
  return c;
}

void
gi_conn_set_tls(struct gi_conn *c, struct gi_tls *tls, bool plain_too)
{
  bool accepted = c->state == CONN_UP;
  conn_check(c);
  GI_ASSERT(!c->heard && !c->said && (accepted || !plain_too));
  if (c->state == CONN_CLOSED)
    return;
  conn_tls_new(c, tls, accepted, plain_too);
  if (accepted)
    conn_tls_begin(c);
}

bool
gi_conn_shaking(const struct gi_conn *c)
{
  return c->state == CONN_SHAKING;
}

/* ---- asking ---- */

void
gi_conn_pause(struct gi_conn *c, bool paused)
{
  GI_CHECK(c, CONN_MAGIC);
  if (c->paused == paused)
    return;
  c->paused = paused;
  if (c->state != CONN_UP)
    return;
  conn_watch(c);
  if (!paused && (c->rx.held || conn_tls_more(c)))
    gi_defer_add(c->r, &c->resume);
}

void
gi_conn_set_record_max(struct gi_conn *c, uint32_t bytes)
{
  GI_CHECK(c, CONN_MAGIC);
  GI_ASSERT(bytes <= GI_RECORD_MAX);
  c->record_max = bytes;
}

void
gi_conn_set_connect_timeout(struct gi_conn *c, uint64_t ns)
{
  GI_CHECK(c, CONN_MAGIC);
  c->connect_timeout = ns;
  if (c->state == CONN_CONNECTING)
    gi_race_set_limit(c->race, ns);
}

void
gi_conn_set_keepalive(struct gi_conn *c, const struct gi_keepalive *k)
{
  GI_CHECK(c, CONN_MAGIC);
  if (c->fd >= 0 && c->net->keepalive)
    c->net->keepalive(c->r, c->fd, k);
}

uint64_t
gi_conn_queued(const struct gi_conn *c)
{
  return c->tx.queued;
}

uint64_t
gi_conn_behind(const struct gi_conn *c)
{
  uint64_t now = gi_now_about(c->r);
  return c->tx.blocked && now > c->tx.since ? now - c->tx.since : 0;
}

bool
gi_conn_full(const struct gi_conn *c)
{
  return c->tx.full;
}

uint64_t
gi_conn_last_activity(const struct gi_conn *c)
{
  GI_CHECK(c, CONN_MAGIC);
  return c->last_rx > c->last_tx ? c->last_rx : c->last_tx;
}

uint64_t
gi_conn_last_received(const struct gi_conn *c)
{
  return c->last_rx;
}

const char *
gi_conn_peer(const struct gi_conn *c)
{
  return c->peer;
}

bool
gi_conn_peer_address(const struct gi_conn *c, struct sockaddr_storage *sa)
{
  memset(sa, 0, sizeof(*sa));
  return c->fd >= 0 && c->net->peer(c->r, c->fd, sa) == 0;
}

bool
gi_conn_local_address(const struct gi_conn *c, struct sockaddr_storage *sa)
{
  memset(sa, 0, sizeof(*sa));
  return c->fd >= 0 && c->net->local(c->r, c->fd, sa) == 0;
}
