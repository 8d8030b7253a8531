/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending: a queue of byte ranges that leaves in one gathered sendmsg at the
 * end of the reactor's turn. Heads are copied one behind the other into an
 * arena, so that a run of small messages is a single range; payload is
 * referenced.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/conn-private.h"

#include <arpa/inet.h>
#include <errno.h>

#define TX_ARENA (64u << 10)
#define TX_IOV 128
#define TX_RING_FIRST 64
#define TX_HIGH (4u << 20) /* above this the owner is told when it is over */
#define TX_LOW (1u << 20)
#define MARK_BYTES 4
#define MARK_LAST 0x80000000u

static struct conn_tx_item *
item_at(struct conn_tx *tx, uint32_t i)
{
  return &tx->ring[(tx->first + i) & (tx->capacity - 1)];
}

static void
grow(struct conn_tx *tx)
{
  GI_ASSERT(tx->count == tx->capacity && (tx->capacity & (tx->capacity - 1)) == 0);
  uint32_t capacity = tx->capacity ? tx->capacity * 2 : TX_RING_FIRST;
  struct conn_tx_item *ring = gi_alloc(capacity * sizeof(*ring));
  for (uint32_t i = 0; i < tx->count; i++)
    ring[i] = *item_at(tx, i);
  gi_free(tx->ring);
  tx->ring = ring;
  tx->capacity = capacity;
  tx->first = 0;
}

static void
push(struct conn_tx *tx, struct gi_buf *buf, const uint8_t *data, size_t len)
{
  if (len == 0)
    return;
  tx->queued += len;
  if (tx->count > 0 && buf) {
    struct conn_tx_item *last = item_at(tx, tx->count - 1);
    if (last->buf == buf && last->data + last->len == data) {
      last->len += len;
      return;
    }
  }
  if (tx->count == tx->capacity)
    grow(tx);
  *item_at(tx, tx->count) = (struct conn_tx_item){data, len, buf ? gi_buf_ref(buf) : NULL};
  tx->count++;
}

static void
pop(struct conn_tx *tx)
{
  GI_ASSERT(tx->count > 0);
  gi_buf_unref(&item_at(tx, 0)->buf);
  tx->first = (tx->first + 1) & (tx->capacity - 1);
  tx->count--;
}

/* Room for `len` bytes of head. */
static uint8_t *
arena_room(struct conn_tx *tx, size_t len)
{
  if (tx->arena && tx->arena->refs == 1)
    tx->arena_used = 0; /* all that was in it has left */
  if (tx->arena && tx->arena->capacity - tx->arena_used < len)
    gi_buf_unref(&tx->arena);
  if (tx->arena == NULL) {
    tx->arena = gi_buf_new(len > TX_ARENA ? len : TX_ARENA);
    tx->arena_used = 0;
  }
  uint8_t *p = tx->arena->base + tx->arena_used;
  GI_ASSERT(tx->arena_used + len <= tx->arena->capacity);
  tx->arena_used += len;
  return p;
}

void
gi_conn_send(struct gi_conn *c, const void *head, size_t head_len, const struct gi_payload *payload)
{
  GI_CHECK(c, CONN_MAGIC);
  if (c->state == CONN_CLOSED)
    return;
  struct conn_tx *tx = &c->tx;
  size_t total = head_len + (payload ? payload->len : 0);
  GI_ASSERT(total < MARK_LAST);
  uint32_t mark = htonl(MARK_LAST | (uint32_t)total);
  uint8_t *p = arena_room(tx, MARK_BYTES + head_len);
  memcpy(p, &mark, MARK_BYTES);
  if (head_len > 0)
    memcpy(p + MARK_BYTES, head, head_len);
  push(tx, tx->arena, p, MARK_BYTES + head_len);
  for (uint32_t i = 0; payload && i < payload->count; i++)
    push(tx, payload->slice[i].buf, payload->slice[i].data, payload->slice[i].len);
  if (tx->queued > TX_HIGH)
    tx->full = true;
  if (c->state == CONN_UP && !tx->blocked)
    gi_defer_add(c->r, &tx->flush);
}

static void
consume(struct conn_tx *tx, size_t sent)
{
  GI_ASSERT(sent <= tx->queued);
  tx->queued -= sent;
  while (sent > 0) {
    struct conn_tx_item *item = item_at(tx, 0);
    if (sent < item->len) {
      item->data += sent;
      item->len -= sent;
      return;
    }
    sent -= item->len;
    pop(tx);
  }
}

static ssize_t
carrier_send(struct gi_conn *c, const struct iovec *iov, int n)
{
  if (c->tls)
    return conn_tls_send(c, iov, n);
  ssize_t sent = c->net->send(c->r, c->fd, iov, n);
  if (sent >= 0) {
    gi_conn_totals.send_calls++;
    gi_conn_totals.bytes_out += (uint64_t)sent;
  }
  return sent;
}

/* One gathered send; false when the socket takes no more (or died: *error). */
static bool
send_some(struct gi_conn *c, int *error)
{
  struct conn_tx *tx = &c->tx;
  struct iovec iov[TX_IOV];
  unsigned n = 0;
  for (; n < tx->count && n < TX_IOV; n++) {
    struct conn_tx_item *item = item_at(tx, n);
    iov[n] = (struct iovec){(void *)item->data, item->len};
  }
  ssize_t sent = carrier_send(c, iov, (int)n);
  if (sent < 0) {
    if (sent == -EINTR)
      return true;
    if (sent != -EAGAIN)
      *error = (int)-sent;
    return false;
  }
  c->said = true;
  consume(tx, (size_t)sent);
  return true;
}

void
conn_tx_flush(struct gi_conn *c)
{
  struct conn_tx *tx = &c->tx;
  int error = 0;
  if (c->state != CONN_UP || tx->count == 0)
    return;
  while (tx->count > 0 && send_some(c, &error))
    ;
  if (error) {
    struct gi_error why = {0};
    if (c->tls && conn_tls_last_words(c, &why))
      conn_end(c, why.code, why.text);
    else
      conn_fail(c, error, "send");
    return;
  }
  if (c->tls && tx->count == 0)
    conn_tls_idle(c);
  c->last_tx = gi_now_about(c->r);
  if (tx->blocked != (tx->count > 0)) {
    tx->blocked = tx->count > 0;
    tx->since = c->last_tx;
    conn_watch(c);
  }
  if (tx->full && tx->queued < TX_LOW) {
    tx->full = false;
    if (c->ops->drained)
      c->ops->drained(c, c->arg);
  }
}

static void
flush_deferred(void *arg)
{
  struct gi_conn *c = arg;
  GI_CHECK(c, CONN_MAGIC);
  conn_enter(c);
  conn_tx_flush(c);
  conn_leave(c);
}

void
conn_tx_init(struct gi_conn *c)
{
  gi_defer_init(&c->tx.flush, flush_deferred, c);
}

void
conn_tx_clear(struct conn_tx *tx)
{
  gi_defer_cancel(&tx->flush);
  while (tx->count > 0)
    pop(tx);
  gi_free(tx->ring);
  gi_buf_unref(&tx->arena);
  tx->ring = NULL;
  tx->capacity = tx->first = 0;
  tx->queued = 0;
  tx->blocked = tx->full = false;
}
