/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages: found by file and number, evicted by priority and last use.
 *
 * The order is its own, not gi_lru's, because priorities come first. A page costs what its blocks hold. The buffers that they lie in are
 * shared with other pages, of which those that came together go together; what is used again and alone keeps a buffer that is
 * much larger is copied once.
 */
#include "io-cache.h"

#define BUCKETS_MIN 256u
#define PINS_TOO_MUCH 8u /* times of what a page holds */

static uint64_t
blocks_of(const struct ioc_page *p)
{
  return (uint64_t)__builtin_popcount(p->have);
}

static uint64_t
cost_of(const struct ioc_page *p)
{
  return sizeof(*p) + blocks_of(p) * IOC_BLOCK;
}

static struct ioc_page **
bucket_of(const struct ioc_store *s, const struct ioc_file *file, uint64_t index)
{
  uint64_t h = (uint64_t)(uintptr_t)file / sizeof(void *) + index * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
  return &s->bucket[(h >> 32) & (s->nbuckets - 1)];
}

struct ioc_page *
ioc_page_find(const struct ioc_store *s, const struct ioc_file *file, uint64_t index)
{
  struct ioc_page *p = *bucket_of(s, file, index);
  while (p && (p->file != file || p->index != index))
    p = p->next;
  return p;
}

static void
hash_add(struct ioc_store *s, struct ioc_page *p)
{
  struct ioc_page **b = bucket_of(s, p->file, p->index);
  p->next = *b;
  *b = p;
}

static void
grow(struct ioc_store *s)
{
  struct ioc_page **old = s->bucket, *next;
  uint32_t n = s->nbuckets;
  s->nbuckets = n * 2;
  s->bucket = gi_zalloc(s->nbuckets * sizeof(struct ioc_page *));
  for (uint32_t i = 0; i < n; i++)
    for (struct ioc_page *p = old[i]; p; p = next) {
      next = p->next;
      hash_add(s, p);
    }
  gi_free(old);
}

static void
charge(struct ioc_store *s, uint64_t cost)
{
  s->cost += cost;
  gi_budget_draw(&s->user, cost);
}

static void
discharge(struct ioc_store *s, uint64_t cost)
{
  GI_ASSERT(s->cost >= cost);
  s->cost -= cost;
  gi_budget_return(&s->user, cost);
}

static struct ioc_page *
page_new(struct ioc_store *s, struct ioc_file *file, uint64_t index)
{
  struct ioc_page *p = gi_new(struct ioc_page);
  GI_ASSERT(file->rank > 0 && file->rank < IOC_RANKS);
  GI_ASSERT(!ioc_page_find(s, file, index));
  if (s->count >= s->nbuckets)
    grow(s);
  p->file = file;
  p->index = index;
  hash_add(s, p);
  gi_list_add_tail(&s->rank[file->rank], &p->order);
  gi_list_add_tail(&file->pages, &p->link);
  s->count++;
  charge(s, sizeof(*p));
  return p;
}

static void
drop_block(struct ioc_store *s, struct ioc_page *p, unsigned i)
{
  if (!(p->have >> i & 1))
    return;
  gi_buf_unref(&p->block[i].buf);
  p->block[i].data = NULL;
  p->have &= ~(1u << i);
  p->proven &= p->have;
  discharge(s, IOC_BLOCK);
}

static void
drop_blocks(struct ioc_store *s, struct ioc_page *p, uint32_t which)
{
  for (unsigned i = 0; i < IOC_PAGE_BLOCKS; i++)
    if (which >> i & 1)
      drop_block(s, p, i);
  GI_ASSERT(!(p->have & which));
}

void
ioc_page_drop(struct ioc_store *s, struct ioc_page *p)
{
  struct ioc_page **at = bucket_of(s, p->file, p->index);
  drop_blocks(s, p, UINT32_MAX);
  while (*at != p) {
    GI_ASSERT(*at);
    at = &(*at)->next;
  }
  *at = p->next;
  gi_list_del(&p->order);
  gi_list_del(&p->link);
  GI_ASSERT(s->count > 0);
  s->count--;
  discharge(s, sizeof(*p));
  gi_free(p);
}

/* ---- room ---- */

/* The page that is used least: of the lowest priority, the one that was used longest ago. What it cost; 0: there is none. */
static uint64_t
evict(struct ioc_store *s)
{
  for (unsigned i = 0; i < IOC_RANKS; i++) {
    if (gi_list_empty(&s->rank[i]))
      continue;
    struct ioc_page *p = gi_list_first(&s->rank[i], struct ioc_page, order);
    struct ioc_file *file = p->file;
    GI_ASSERT(file->rank == i);
    uint64_t cost = cost_of(p);
    ioc_page_drop(s, p);
    s->evicted++;
    if (gi_list_empty(&file->pages))
      s->emptied(s->arg, file);
    return cost;
  }
  return 0;
}

static void
keep_limit(struct ioc_store *s)
{
  while (s->limit && s->cost > s->limit && evict(s) > 0)
    ;
}

static uint64_t
reclaim(void *arg, uint64_t want)
{
  uint64_t given = 0, got;
  while (given < want && (got = evict(arg)) > 0)
    given += got;
  return given;
}

void
ioc_store_init(struct ioc_store *s, struct gi_xlator *x, void (*emptied)(void *arg, struct ioc_file *file), void *arg)
{
  s->emptied = emptied;
  s->arg = arg;
  s->nbuckets = BUCKETS_MIN;
  s->bucket = gi_zalloc(s->nbuckets * sizeof(struct ioc_page *));
  for (unsigned i = 0; i < IOC_RANKS; i++)
    gi_list_init(&s->rank[i]);
  gi_budget_join(&x->ctx->budget, x->reactor, &s->user, x->name, reclaim, s);
}

void
ioc_store_finish(struct ioc_store *s)
{
  GI_ASSERT(s->count == 0 && s->cost == 0);
  gi_budget_leave(&s->user);
  gi_free(s->bucket);
}

void
ioc_store_set_limit(struct ioc_store *s, uint64_t limit)
{
  s->limit = limit;
  keep_limit(s);
}

/* ---- keeping ---- */

/* Walks through a payload. */
struct cursor {
  const struct gi_payload *data;
  uint32_t slice;
  size_t at; /* in the slice */
};

static void
skip(struct cursor *c, size_t len)
{
  while (len > 0) {
    GI_ASSERT(c->slice < c->data->count);
    size_t left = c->data->slice[c->slice].len - c->at, n = left < len ? left : len;
    c->at += n;
    len -= n;
    if (c->at == c->data->slice[c->slice].len) {
      c->slice++;
      c->at = 0;
    }
  }
}

/* The next `len` bytes as one piece; a block that lies in two buffers is copied together. */
static void
set_block(struct ioc_store *s, struct ioc_page *p, unsigned i, struct cursor *c, size_t len)
{
  const struct gi_slice *from = &c->data->slice[c->slice];
  drop_block(s, p, i);
  GI_ASSERT(i < IOC_PAGE_BLOCKS && len > 0 && len <= IOC_BLOCK);
  if (from->len - c->at >= len) {
    p->block[i].buf = gi_buf_ref(from->buf);
    p->block[i].data = from->data + c->at;
  } else {
    struct gi_buf *buf = gi_buf_new(IOC_BLOCK);
    size_t offset = c->at;
    for (uint32_t k = 0; k < c->slice; k++)
      offset += c->data->slice[k].len;
    size_t copied = gi_payload_read(c->data, offset, buf->base, len);
    GI_ASSERT(copied == len);
    p->block[i].buf = buf;
    p->block[i].data = buf->base;
  }
  p->have |= 1u << i;
  charge(s, IOC_BLOCK);
  skip(c, len);
}

static void
join_stamps(struct ioc_stamp *mine, const struct ioc_stamp *other)
{
  mine->ns = mine->ns < other->ns ? mine->ns : other->ns;
  mine->seq = mine->seq < other->seq ? mine->seq : other->seq;
}

void
ioc_keep(struct ioc_store *s, struct ioc_file *file, uint64_t offset, const struct gi_payload *data,
         const struct ioc_stamp *stamp, uint32_t (*old)(const void *arg, const struct ioc_page *p), const void *arg)
{
  uint64_t start = (offset + IOC_BLOCK - 1) / IOC_BLOCK * IOC_BLOCK, end = offset + data->len;
  struct cursor c = {.data = data};
  GI_ASSERT(file->busy > 0 && end >= offset);
  if (end != file->eof)
    end -= end % IOC_BLOCK;
  if (start >= end || end > file->eof)
    return;
  skip(&c, start - offset);
  while (start < end) {
    struct ioc_page *p = ioc_page_find(s, file, start / IOC_PAGE);
    if (!p)
      p = page_new(s, file, start / IOC_PAGE);
    drop_blocks(s, p, p->have ? old(arg, p) : 0);
    if (p->have)
      join_stamps(&p->stamp, stamp);
    else
      p->stamp = *stamp;
    p->compact = false;
    do {
      size_t len = end - start < IOC_BLOCK ? end - start : IOC_BLOCK;
      unsigned i = start / IOC_BLOCK % IOC_PAGE_BLOCKS;
      set_block(s, p, i, &c, len);
      p->proven |= (uint32_t)stamp->proven << i;
      start += len;
    } while (start < end && start % IOC_PAGE);
    gi_list_del(&p->order);
    gi_list_add_tail(&s->rank[file->rank], &p->order);
    keep_limit(s);
  }
}

static void
drop_in_page(struct ioc_store *s, struct ioc_page *p, uint64_t first, uint64_t last)
{
  uint64_t base = p->index * IOC_PAGE_BLOCKS;
  GI_ASSERT(first <= last && !(p->proven & ~p->have));
  for (unsigned i = 0; i < IOC_PAGE_BLOCKS; i++)
    if (base + i >= first && base + i <= last)
      drop_block(s, p, i);
  if (!p->have)
    ioc_page_drop(s, p);
}

void
ioc_drop(struct ioc_store *s, struct ioc_file *file, uint64_t start, uint64_t end)
{
  if (start >= end)
    return;
  uint64_t first = start / IOC_BLOCK, last = (end - 1) / IOC_BLOCK, page = first / IOC_PAGE_BLOCKS,
           last_page = last / IOC_PAGE_BLOCKS;
  if (last_page - page < 16) {
    for (; page <= last_page; page++) {
      struct ioc_page *p = ioc_page_find(s, file, page);
      if (p)
        drop_in_page(s, p, first, last);
    }
    return;
  }
  gi_list_foreach_safe(p, &file->pages, struct ioc_page, link) {
    if (p->index >= page && p->index <= last_page)
      drop_in_page(s, p, first, last);
  }
}

/* ---- using ---- */

static size_t
pinned(const struct ioc_page *p)
{
  size_t bytes = 0;
  const struct gi_buf *last = NULL;
  for (unsigned i = 0; i < IOC_PAGE_BLOCKS; i++) {
    const struct gi_buf *b = p->have >> i & 1 ? p->block[i].buf : NULL;
    if (b && b != last)
      bytes += b->capacity;
    last = b ? b : last;
  }
  return bytes;
}

/* It was used again, so it will stay longer than what it came with. */
static void
make_compact(struct ioc_page *p)
{
  p->compact = true;
  if (pinned(p) <= PINS_TOO_MUCH * blocks_of(p) * IOC_BLOCK)
    return;
  struct gi_buf *buf = gi_buf_new(blocks_of(p) * IOC_BLOCK);
  uint8_t *to = buf->base;
  for (unsigned i = 0; i < IOC_PAGE_BLOCKS; i++) {
    if (!(p->have >> i & 1))
      continue;
    uint64_t start = p->index * IOC_PAGE + i * IOC_BLOCK, eof = p->file->eof;
    size_t len = eof - start < IOC_BLOCK ? eof - start : IOC_BLOCK; /* an unknown end is far away */
    GI_ASSERT(start < eof);
    memcpy(to, p->block[i].data, len);
    gi_payload_copied += len;
    gi_buf_unref(&p->block[i].buf);
    p->block[i].buf = gi_buf_ref(buf);
    p->block[i].data = to;
    to += IOC_BLOCK;
  }
  gi_buf_unref(&buf);
}

void
ioc_gather(struct ioc_store *s, struct ioc_file *file, uint64_t start, uint64_t end, struct gi_payload *out)
{
  while (start < end) {
    struct ioc_page *p = ioc_page_find(s, file, start / IOC_PAGE);
    GI_ASSERT(p);
    if (!p->compact)
      make_compact(p);
    do {
      unsigned i = start / IOC_BLOCK % IOC_PAGE_BLOCKS;
      size_t at = start % IOC_BLOCK, len = IOC_BLOCK - at < end - start ? IOC_BLOCK - at : end - start;
      GI_ASSERT(p->have >> i & 1);
      gi_payload_add(out, p->block[i].buf, p->block[i].data + at, len);
      start += len;
    } while (start < end && start % IOC_PAGE);
    gi_list_del(&p->order);
    gi_list_add_tail(&s->rank[file->rank], &p->order);
  }
}
