/* SPDX-License-Identifier: Apache-2.0
 *
 * Page-aligned buffers and the slices that share them.
 *
 * Freed buffers are kept on one list per size class, up to CACHE_MAX bytes, so
 * that the steady state of reads and writes touches neither the allocator nor
 * fresh pages. The lists are per thread: a buffer is only ever allocated and
 * freed by its reactor, and so no lock is needed. Header and data are apart:
 * the data stays page aligned, the header does not cost a page.
 */
#include "libglusterish/payload.h"
#include "libglusterish/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define BUF_MAGIC 0x67694255u
#define CLASS_COUNT 10u        /* 4 KiB << 0 … 4 KiB << 9 = 2 MiB */
#define CLASS_NONE CLASS_COUNT /* mapped alone */
#define CACHE_MAX (64u << 20)

/* With AddressSanitizer a free buffer is poisoned, so that a late access is seen, and used again only when so many of its size were
 * freed after it. Going back to that allocator a receive buffer would cost a mapping: the greatest pieces it keeps are smaller. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define QUARANTINE 64u
#define forbid(p) __asan_poison_memory_region((p)->buf.base, (p)->buf.capacity)
#define allow(p) __asan_unpoison_memory_region((p)->buf.base, (p)->buf.capacity)
#else
#define QUARANTINE 0u
#define forbid(p) ((void)(p))
#define allow(p) ((void)(p))
#endif

struct pool_buf {
  struct gi_buf buf;
  struct pool_buf *next; /* while free */
  unsigned class;
};

struct cache {
  struct pool_buf *free[CLASS_COUNT], *last[CLASS_COUNT];
  unsigned count[CLASS_COUNT];
  size_t bytes;
  bool registered;
};

uint64_t gi_payload_copied;
uint64_t gi_buf_bytes_live;

static __thread struct cache cache;
static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

static void
cache_destroy(void *arg)
{
  struct cache *c = arg;
  for (unsigned i = 0; i < CLASS_COUNT; i++) {
    while (c->free[i]) {
      struct pool_buf *p = c->free[i];
      c->free[i] = p->next;
      allow(p);
      free(p->buf.base);
      gi_free(p);
    }
  }
  memset(c->count, 0, sizeof(c->count));
  c->bytes = 0;
  c->registered = false;
}

static void
cache_make_key(void)
{
  GI_ASSERT(pthread_key_create(&cache_key, cache_destroy) == 0);
}

/* A thread that ends gives its free buffers back (libraries are started and stopped more than once in a process). */
static void
cache_register(void)
{
  pthread_once(&cache_once, cache_make_key);
  pthread_setspecific(cache_key, &cache);
  cache.registered = true;
}

static unsigned
class_of(size_t size)
{
  if (size <= GI_PAGE)
    return 0;
  unsigned class = (unsigned)(64 - __builtin_clzll((size - 1) / GI_PAGE));
  return class < CLASS_COUNT ? class : CLASS_NONE;
}

static size_t
page_round(size_t size)
{
  return (size + GI_PAGE - 1) & ~(size_t)(GI_PAGE - 1);
}

/* The capacity gi_buf_new gives. */
static size_t
capacity_for(size_t size)
{
  unsigned class = class_of(size);
  return class == CLASS_NONE ? page_round(size) : (size_t)GI_PAGE << class;
}

static struct pool_buf *
buf_create(unsigned class, size_t size)
{
  struct pool_buf *p = gi_alloc(sizeof(*p));
  p->class = class;
  p->next = NULL;
  p->buf.capacity = capacity_for(size);
  if (class == CLASS_NONE) {
    p->buf.base = mmap(NULL, p->buf.capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GI_ASSERT(p->buf.base != MAP_FAILED);
  } else {
    p->buf.base = aligned_alloc(GI_PAGE, p->buf.capacity);
    GI_ASSERT(p->buf.base != NULL);
  }
  return p;
}

struct gi_buf *
gi_buf_new(size_t size)
{
  unsigned class = class_of(size);
  struct pool_buf *p;
  if (class != CLASS_NONE && cache.count[class] > QUARANTINE) {
    p = cache.free[class];
    cache.free[class] = p->next;
    cache.count[class]--;
    cache.bytes -= p->buf.capacity;
    allow(p);
  } else {
    p = buf_create(class, size);
  }
  p->buf.magic = BUF_MAGIC;
  p->buf.refs = 1;
  gi_buf_bytes_live += p->buf.capacity;
  return &p->buf;
}

uint64_t
gi_buf_bytes_kept(void)
{
  return cache.bytes;
}

struct gi_buf *
gi_buf_ref(struct gi_buf *buf)
{
  if (!buf)
    return NULL;
  GI_CHECK(buf, BUF_MAGIC);
  buf->refs++;
  return buf;
}

/* First in, first out under AddressSanitizer; else the last one, which is in the processor's cache. */
static void
keep(struct pool_buf *p)
{
  struct pool_buf **list = &cache.free[p->class], **last = &cache.last[p->class];
  if (*list && QUARANTINE) {
    (*last)->next = p;
    p->next = NULL;
  } else {
    p->next = *list;
    *list = p;
  }
  *last = p;
  cache.count[p->class]++;
}

static void
buf_release(struct pool_buf *p)
{
  p->buf.magic = 0;
  GI_ASSERT(gi_buf_bytes_live >= p->buf.capacity);
  gi_buf_bytes_live -= p->buf.capacity;
  if (p->class == CLASS_NONE) {
    munmap(p->buf.base, p->buf.capacity);
    gi_free(p);
  } else if (cache.bytes + p->buf.capacity <= CACHE_MAX) {
    if (!cache.registered)
      cache_register();
    keep(p);
    cache.bytes += p->buf.capacity;
    forbid(p);
  } else {
    free(p->buf.base);
    gi_free(p);
  }
}

void
gi_buf_unref(struct gi_buf **buf)
{
  struct gi_buf *b = *buf;
  *buf = NULL;
  if (!b)
    return;
  GI_CHECK(b, BUF_MAGIC);
  GI_ASSERT(b->refs > 0);
  if (--b->refs == 0)
    buf_release(GI_CONTAINER(b, struct pool_buf, buf));
}

/* Room behind the last slice in a buffer nobody else can see: small additions go there. */
static size_t
tail_room(const struct gi_payload *p)
{
  if (p->count == 0)
    return 0;
  const struct gi_slice *s = &p->slice[p->count - 1];
  if (!s->buf || s->buf->refs != 1)
    return 0;
  return (size_t)(s->buf->base + s->buf->capacity - (s->data + s->len));
}

static void
tail_copy(struct gi_payload *p, const void *data, size_t len)
{
  struct gi_slice *s = &p->slice[p->count - 1];
  memcpy(s->buf->base + (s->data + s->len - s->buf->base), data, len);
  s->len += len;
  p->len += len;
  gi_payload_copied += len;
}

/* Moves the last slice into a fresh buffer with room for `more` bytes, and as much again so that a long row of additions costs
 * one copy per doubling. */
static void
tail_gather(struct gi_payload *p, size_t more)
{
  struct gi_slice *s = &p->slice[p->count - 1];
  struct gi_buf *buf = gi_buf_new((s->len + more) * 2);
  memcpy(buf->base, s->data, s->len);
  gi_payload_copied += s->len;
  gi_buf_unref(&s->buf);
  s->buf = buf;
  s->data = buf->base;
}

void
gi_payload_add(struct gi_payload *p, struct gi_buf *buf, const void *data, size_t len)
{
  if (len == 0)
    return;
  if (buf)
    GI_ASSERT((const uint8_t *)data >= buf->base && (const uint8_t *)data + len <= buf->base + buf->capacity);
  if (p->count > 0) {
    struct gi_slice *last = &p->slice[p->count - 1];
    if (buf && last->buf == buf && last->data + last->len == (const uint8_t *)data) {
      last->len += len;
      p->len += len;
      return;
    }
  }
  if (p->count == GI_PAYLOAD_SLICES) {
    if (tail_room(p) < len)
      tail_gather(p, len);
    tail_copy(p, data, len);
    return;
  }
  GI_ASSERT(p->count < GI_PAYLOAD_SLICES);
  p->slice[p->count++] = (struct gi_slice){.buf = gi_buf_ref(buf), .data = data, .len = len};
  p->len += len;
}

void
gi_payload_append(struct gi_payload *p, const struct gi_payload *from)
{
  GI_ASSERT(p != from);
  for (uint32_t i = 0; i < from->count; i++)
    gi_payload_add(p, from->slice[i].buf, from->slice[i].data, from->slice[i].len);
}

void
gi_payload_slice(const struct gi_payload *p, size_t offset, size_t len, struct gi_payload *out)
{
  GI_ASSERT(offset <= p->len && len <= p->len - offset && out->count == 0);
  for (uint32_t i = 0; i < p->count && len > 0; i++) {
    const struct gi_slice *s = &p->slice[i];
    if (offset >= s->len) {
      offset -= s->len;
      continue;
    }
    size_t n = s->len - offset < len ? s->len - offset : len;
    gi_payload_add(out, s->buf, s->data + offset, n);
    len -= n;
    offset = 0;
  }
}

void
gi_payload_trim(struct gi_payload *p, size_t len)
{
  while (p->len > len) {
    GI_ASSERT(p->count > 0);
    struct gi_slice *s = &p->slice[p->count - 1];
    size_t extra = p->len - len;
    if (extra < s->len) {
      s->len -= extra;
      p->len = len;
      return;
    }
    p->len -= s->len;
    gi_buf_unref(&s->buf);
    p->count--;
  }
}

void
gi_payload_clear(struct gi_payload *p)
{
  for (uint32_t i = 0; i < p->count; i++)
    gi_buf_unref(&p->slice[i].buf);
  p->count = 0;
  p->len = 0;
}

int
gi_payload_iov(const struct gi_payload *p, struct iovec *iov)
{
  for (uint32_t i = 0; i < p->count; i++)
    iov[i] = (struct iovec){.iov_base = (void *)p->slice[i].data, .iov_len = p->slice[i].len};
  return (int)p->count;
}

size_t
gi_payload_read(const struct gi_payload *p, size_t offset, void *out, size_t len)
{
  size_t done = 0;
  for (uint32_t i = 0; i < p->count && done < len; i++) {
    const struct gi_slice *s = &p->slice[i];
    if (offset >= s->len) {
      offset -= s->len;
      continue;
    }
    size_t n = s->len - offset < len - done ? s->len - offset : len - done;
    memcpy((uint8_t *)out + done, s->data + offset, n);
    done += n;
    offset = 0;
  }
  gi_payload_copied += done;
  return done;
}

void
gi_payload_add_copy(struct gi_payload *p, const void *data, size_t len)
{
  if (len == 0)
    return;
  if (tail_room(p) >= len) {
    tail_copy(p, data, len);
    return;
  }
  struct gi_buf *buf = gi_buf_new(len);
  memcpy(buf->base, data, len);
  gi_payload_copied += len;
  gi_payload_add(p, buf, buf->base, len);
  gi_buf_unref(&buf);
}

size_t
gi_payload_pinned(const struct gi_payload *p)
{
  size_t bytes = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    uint32_t first = 0;
    while (p->slice[first].buf != p->slice[i].buf)
      first++;
    if (first == i && p->slice[i].buf)
      bytes += p->slice[i].buf->capacity;
  }
  return bytes;
}

bool
gi_payload_compact(struct gi_payload *p)
{
  if (gi_payload_pinned(p) <= 2 * capacity_for(p->len))
    return false;
  struct gi_payload own = {0};
  struct gi_buf *buf = gi_buf_new(p->len);
  size_t len = gi_payload_read(p, 0, buf->base, p->len);
  gi_payload_add(&own, buf, buf->base, len);
  gi_buf_unref(&buf);
  gi_payload_clear(p);
  *p = own;
  return true;
}
