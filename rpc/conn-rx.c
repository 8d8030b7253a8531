/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving: from a byte stream to records.
 *
 * One recv takes whatever is there into a shared buffer; complete records are
 * handed up where they lie. A record that would not fit behind where it began
 * is finished in a buffer of its own, into which the socket is read directly.
 * Only if less than GI_HEAD_MIN bytes of it would lie in the old buffer are
 * those copied over, so that the head of a record is always contiguous.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "rpc/conn-private.h"
#include "libglusterish/probe.h"

#include <arpa/inet.h>
#include <errno.h>

#define RX_BYTES (128u << 10) /* a shared buffer */
#define RX_BULK (256u << 10)  /* of a peer that has once filled one: fewer records lie across its end */
#define RX_SPARE GI_HEAD_MIN  /* an empty buffer with less room than this is replaced: nothing need be copied then */
#define RX_ROUNDS 4           /* most recv calls of one wake-up, while a large record is arriving at full speed */
#define RX_LOWAT_MIN (128u << 10)
#define RX_LOWAT_MAX (512u << 10)
#define MARK_BYTES 4
#define MARK_LAST 0x80000000u
#define TLS_HELLO 0x1603u /* its first bytes, which no record of a message begins with: it would be of 352 MiB */

/* ---- records ---- */

void
gi_record_linearize(struct gi_record *rec, size_t len)
{
  if (len > rec->record.len)
    len = rec->record.len;
  if (rec->head_len >= len)
    return;
  struct gi_buf *buf = gi_buf_new(len);
  struct gi_payload whole = {0};
  uint64_t copied = gi_payload_copied;
  gi_payload_read(&rec->record, 0, buf->base, len);
  gi_payload_copied = copied; /* accounted by gi_record_count_payload, which knows what of it is payload */
  gi_payload_add(&whole, buf, buf->base, len);
  if (rec->record.len > len) {
    struct gi_payload tail = {0};
    gi_payload_slice(&rec->record, len, rec->record.len - len, &tail);
    gi_payload_append(&whole, &tail);
    gi_payload_clear(&tail);
  }
  gi_buf_unref(&buf);
  gi_payload_clear(&rec->record);
  rec->record = whole;
  rec->head = whole.slice[0].data;
  rec->head_len = whole.slice[0].len;
  if (rec->moved < len)
    rec->moved = len;
}

void
gi_record_count_payload(const struct gi_record *rec, size_t offset)
{
  if (offset >= rec->record.len)
    return;
  gi_conn_totals.payload_bytes += rec->record.len - offset;
  if (rec->moved > offset)
    gi_payload_copied += rec->moved - offset;
}

/* Hands a complete record up. Takes the references of `record`. */
static void
deliver(struct gi_conn *c, struct gi_payload *record, size_t moved)
{
  static const uint8_t nothing[1];
  struct gi_record rec = {.record = *record, .head = nothing, .moved = moved};
  if (record->count > 0) {
    rec.head = record->slice[0].data;
    rec.head_len = record->slice[0].len;
  }
  gi_conn_totals.messages++;
  c->ops->record(c, &rec, c->arg);
  gi_payload_clear(&rec.record);
}

/* ---- fragments ---- */

static void
gather(struct conn_rx *rx, const struct gi_payload *fragment)
{
  size_t need = rx->gather_len + fragment->len;
  GI_ASSERT(rx->gathering || rx->gather_len == 0);
  if (rx->gather == NULL || rx->gather->capacity < need) {
    struct gi_buf *bigger = gi_buf_new(need < RX_SPARE ? RX_SPARE : need * 2);
    if (rx->gather)
      memcpy(bigger->base, rx->gather->base, rx->gather_len);
    gi_buf_unref(&rx->gather);
    rx->gather = bigger;
  }
  uint64_t copied = gi_payload_copied;
  gi_payload_read(fragment, 0, rx->gather->base + rx->gather_len, fragment->len);
  gi_payload_copied = copied;
  rx->gather_len = need;
  rx->gathering = true;
}

/* A complete fragment; nearly always the whole record. Takes the references of `fragment`. */
static void
fragment_done(struct gi_conn *c, struct gi_payload *fragment, bool last, size_t moved)
{
  struct conn_rx *rx = &c->rx;
  if (last && !rx->gathering) {
    deliver(c, fragment, moved);
    return;
  }
  gather(rx, fragment);
  gi_payload_clear(fragment);
  if (!last)
    return;
  struct gi_buf *buf = rx->gather;
  size_t len = rx->gather_len;
  GI_ASSERT(buf && len <= buf->capacity);
  struct gi_payload record = {0};
  rx->gather = NULL;
  rx->gather_len = 0;
  rx->gathering = false;
  gi_payload_add(&record, buf, buf->base, len);
  gi_buf_unref(&buf);
  deliver(c, &record, len);
}

/* ---- large records ---- */

static void
set_lowat(struct gi_conn *c, size_t bytes)
{
  c->net->low_water(c->r, c->fd, bytes); /* fewer wake-ups for the same bytes */
  c->rx.big.lowat = bytes > 1;
}

static size_t
big_missing(const struct conn_big *big)
{
  return big->part_want - big->part_have + big->rest_want - big->rest_have;
}

/* The fragment of `len` bytes at rx->start + MARK_BYTES, of which `have` are there, does not fit into the shared buffer. */
static void
big_begin(struct conn_rx *rx, size_t len, size_t have, bool last)
{
  size_t at = rx->start + MARK_BYTES;
  struct conn_big *big = &rx->big;
  GI_ASSERT(!big->active && have < len && at + have == rx->end);
  *big = (struct conn_big){.active = true, .last = last};
  if (rx->buf->capacity - at >= GI_HEAD_MIN) {
    big->part = rx->buf;
    rx->buf = NULL;
    big->part_at = at;
    big->part_have = have;
    big->part_want = big->part->capacity - at;
    big->rest_want = len - big->part_want;
    big->rest = gi_buf_new(big->rest_want);
  } else {
    big->rest = gi_buf_new(len);
    big->rest_want = len;
    big->rest_have = big->moved = have;
    memcpy(big->rest->base, rx->buf->base + at, have);
    gi_buf_unref(&rx->buf);
  }
  GI_PROBE("connection: a record that does not fit where it began");
  rx->start = rx->end = 0;
  rx->bulk = true;
}

static void
big_end(struct gi_conn *c)
{
  struct conn_big *big = &c->rx.big;
  struct gi_payload fragment = {0};
  bool last = big->last;
  size_t moved = big->moved;
  GI_ASSERT(big->active && big->rest && big_missing(big) == 0);
  if (big->lowat)
    set_lowat(c, 1);
  if (big->part)
    gi_payload_add(&fragment, big->part, big->part->base + big->part_at, big->part_want);
  gi_payload_add(&fragment, big->rest, big->rest->base, big->rest_want);
  gi_buf_unref(&big->part);
  gi_buf_unref(&big->rest);
  *big = (struct conn_big){0};
  fragment_done(c, &fragment, last, moved);
}

/* ---- the shared buffer ---- */

static void
prepare(struct conn_rx *rx)
{
  if (rx->buf && rx->start == rx->end && rx->buf->refs > 1 && rx->buf->capacity - rx->end < RX_SPARE)
    gi_buf_unref(&rx->buf);
  if (rx->buf && rx->start == rx->end && rx->buf->refs == 1)
    rx->start = rx->end = 0;
  if (rx->buf == NULL) {
    rx->buf = gi_buf_new(rx->bulk ? RX_BULK : RX_BYTES);
    rx->start = rx->end = 0;
  }
}

/* Fewer than MARK_BYTES at the very end: the mark must be contiguous too. */
static void
carry_mark(struct conn_rx *rx)
{
  size_t have = rx->end - rx->start;
  GI_ASSERT(have > 0 && have < MARK_BYTES);
  if (rx->buf->capacity - rx->start > MARK_BYTES)
    return;
  struct gi_buf *next = gi_buf_new(RX_BYTES);
  GI_PROBE("connection: a record mark across the end of a buffer");
  memcpy(next->base, rx->buf->base + rx->start, have);
  gi_buf_unref(&rx->buf);
  rx->buf = next;
  rx->start = 0;
  rx->end = have;
}

static void
refuse_mark(struct gi_conn *c, uint32_t mark)
{
  char why[96];
  if (mark >> 16 == TLS_HELLO && !c->tls) {
    gi_conn_close(c, EKEYREJECTED, "a client of TLS at a plain port");
    return;
  }
  snprintf(why, sizeof(why), "record mark 0x%08x: longer than %u bytes", mark, c->record_max);
  gi_conn_close(c, EPROTO, why);
}

/* One record mark and, if it is all there, the fragment behind it. False: more bytes are needed. */
static bool
parse_one(struct gi_conn *c)
{
  struct conn_rx *rx = &c->rx;
  size_t avail = rx->end - rx->start;
  uint32_t mark;
  GI_ASSERT(rx->start <= rx->end && rx->end <= rx->buf->capacity);
  if (avail < MARK_BYTES) {
    if (avail > 0)
      carry_mark(rx);
    return false;
  }
  memcpy(&mark, rx->buf->base + rx->start, sizeof(mark));
  mark = ntohl(mark);
  size_t len = mark & ~MARK_LAST;
  bool last = (mark & MARK_LAST) != 0;
  if (len > c->record_max || rx->gather_len + len > c->record_max) {
    refuse_mark(c, mark);
    return false;
  }
  size_t have = avail - MARK_BYTES;
  if (have < len) {
    if (rx->start + MARK_BYTES + len > rx->buf->capacity)
      big_begin(rx, len, have, last);
    return false;
  }
  struct gi_payload fragment = {0};
  gi_payload_add(&fragment, rx->buf, rx->buf->base + rx->start + MARK_BYTES, len);
  rx->start += MARK_BYTES + len;
  fragment_done(c, &fragment, last, 0);
  return true;
}

static void
parse(struct gi_conn *c)
{
  struct conn_rx *rx = &c->rx;
  rx->held = false;
  if (rx->big.active) {
    if (big_missing(&rx->big) > 0)
      return;
    big_end(c);
  }
  while (c->state == CONN_UP && !c->free_pending && !c->paused && rx->buf && parse_one(c))
    ;
  rx->held = c->paused && rx->buf && rx->start != rx->end;
  /* An idle connection holds no buffer; the pool hands the same warm one to whoever receives next. */
  if (rx->buf && rx->start == rx->end && rx->buf->refs == 1)
    gi_buf_unref(&rx->buf);
}

/* ---- the socket ---- */

static int
make_iov(struct conn_rx *rx, struct iovec *iov)
{
  struct conn_big *big = &rx->big;
  int n = 0;
  prepare(rx);
  if (big->active && big->part_have < big->part_want)
    iov[n++] = (struct iovec){big->part->base + big->part_at + big->part_have, big->part_want - big->part_have};
  if (big->active)
    iov[n++] = (struct iovec){big->rest->base + big->rest_have, big->rest_want - big->rest_have};
  iov[n++] = (struct iovec){rx->buf->base + rx->end, rx->buf->capacity - rx->end};
  return n;
}

static void
account(struct conn_rx *rx, size_t got)
{
  struct conn_big *big = &rx->big;
  if (big->active) {
    size_t n = big->part_want - big->part_have;
    n = n < got ? n : got;
    big->part_have += n;
    got -= n;
    n = big->rest_want - big->rest_have;
    n = n < got ? n : got;
    big->rest_have += n;
    got -= n;
  }
  rx->end += got;
  GI_ASSERT(rx->end <= rx->buf->capacity);
}

static ssize_t
carrier_recv(struct gi_conn *c, const struct iovec *iov, int n)
{
  ssize_t got = c->tls ? conn_tls_recv(c, iov, n) : c->net->recv(c->r, c->fd, iov, n);
  if (got > 0 && !c->tls) {
    gi_conn_totals.recv_calls++;
    gi_conn_totals.bytes_in += (uint64_t)got;
  }
  return got;
}

/* One recv and what it completes. True: a large record is still arriving and the socket had all we asked for. */
static bool
receive(struct gi_conn *c)
{
  struct iovec iov[3];
  size_t missing = c->rx.big.active ? big_missing(&c->rx.big) : 0;
  int n = make_iov(&c->rx, iov);
  ssize_t got = carrier_recv(c, iov, n);
  if (got < 0) {
    if (got != -EAGAIN && got != -EINTR)
      conn_fail(c, (int)-got, "receive");
    return false;
  }
  if (got == 0) {
    gi_conn_close(c, ECONNRESET,
                  c->heard || !c->said || c->tls ? "closed by the peer"
                                                 : "closed by the peer without a word: it may expect TLS");
    return false;
  }
  c->heard = true;
  c->last_rx = gi_now_about(c->r);
  size_t asked = missing + iov[n - 1].iov_len;
  account(&c->rx, (size_t)got);
  parse(c);
  return (size_t)got == asked && c->rx.big.active;
}

void
conn_rx_ready(struct gi_conn *c)
{
  int rounds = 0;
  if (c->rx.held)
    parse(c);
  if (c->state != CONN_UP || c->paused || c->free_pending)
    return;
  while (receive(c) && c->state == CONN_UP && !c->paused && !c->free_pending && ++rounds < RX_ROUNDS)
    ;
  if (c->state != CONN_UP || c->free_pending)
    return;
  if (conn_tls_more(c) && !c->paused)
    gi_defer_add(c->r, &c->resume);
  if (!c->rx.big.active)
    return;
  size_t missing = big_missing(&c->rx.big), held = c->tls ? CONN_TLS_HELD : 0;
  missing = missing > held && !conn_tls_more(c) ? missing - held : 0;
  if (missing >= RX_LOWAT_MIN)
    set_lowat(c, missing < RX_LOWAT_MAX ? missing : RX_LOWAT_MAX);
  else if (c->rx.big.lowat)
    set_lowat(c, 1);
}

static void
resume_deferred(void *arg)
{
  struct gi_conn *c = arg;
  GI_CHECK(c, CONN_MAGIC);
  if (c->state != CONN_UP || c->paused || !(c->rx.held || conn_tls_more(c)))
    return;
  conn_enter(c);
  if (conn_tls_more(c)) {
    conn_tls_hold(c, true); /* the others are served before the socket is read again */
    conn_rx_ready(c);
    if (c->tls)
      conn_tls_hold(c, false);
  } else {
    parse(c);
  }
  conn_leave(c);
}

void
conn_rx_feed(struct gi_conn *c, const uint8_t *bytes, size_t len)
{
  struct conn_rx *rx = &c->rx;
  prepare(rx);
  GI_ASSERT(rx->start == rx->end && rx->buf->capacity - rx->end >= len);
  memcpy(rx->buf->base + rx->end, bytes, len);
  rx->end += len;
  c->heard = true;
  parse(c);
}

void
conn_rx_init(struct gi_conn *c)
{
  gi_defer_init(&c->resume, resume_deferred, c);
}

void
conn_rx_clear(struct gi_conn *c)
{
  struct conn_rx *rx = &c->rx;
  gi_defer_cancel(&c->resume);
  gi_buf_unref(&rx->buf);
  gi_buf_unref(&rx->big.part);
  gi_buf_unref(&rx->big.rest);
  gi_buf_unref(&rx->gather);
  *rx = (struct conn_rx){0};
}
