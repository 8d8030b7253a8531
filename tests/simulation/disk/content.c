/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated disk: the content of files in sparse pages, and the part of it
 * that survives a power loss.
 */
#include "tests/simulation/disk/disk-private.h"

#include <string.h>

/* The place of page `index` or of the first one after it. */
static unsigned
place_of(const struct sim_inode *i, uint64_t index)
{
  unsigned low = 0, high = i->npages;

  while (low < high) {
    unsigned mid = low + (high - low) / 2;

    if (i->page[mid]->index < index)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static struct sim_page *
find(const struct sim_inode *i, uint64_t index)
{
  unsigned at = place_of(i, index);

  return at < i->npages && i->page[at]->index == index ? i->page[at] : NULL;
}

static void
insert(struct sim_inode *i, struct sim_page *p)
{
  unsigned at = place_of(i, p->index);

  if (i->npages == i->page_room) {
    i->page_room = i->page_room ? 2 * i->page_room : 4;
    i->page = gi_realloc(i->page, i->page_room * sizeof(struct sim_page *));
  }
  memmove(i->page + at + 1, i->page + at, (i->npages - at) * sizeof(struct sim_page *));
  i->page[at] = p;
  i->npages++;
}

static struct sim_page *
obtain(struct sim_inode *i, uint64_t index)
{
  struct sim_page *p = find(i, index);

  if (p)
    return p;
  p = gi_new(struct sim_page);
  p->index = index;
  gi_list_init(&p->dirty_link);
  insert(i, p);
  i->disk->used += SIM_PAGE;
  return p;
}

void
sim_page_free(struct sim_disk *d, struct sim_page *p)
{
  gi_list_del(&p->dirty_link);
  gi_free(p->clean);
  gi_free(p);
  d->used -= SIM_PAGE;
}

size_t
sim_data_read(const struct sim_inode *i, uint64_t at, void *out, size_t len)
{
  size_t done = 0;

  if (at >= i->size)
    return 0;
  if (len > i->size - at)
    len = (size_t)(i->size - at);
  while (done < len) {
    uint64_t pos = at + done;
    size_t skip = pos % SIM_PAGE, n = SIM_PAGE - skip < len - done ? SIM_PAGE - skip : len - done;
    const struct sim_page *p = find(i, pos / SIM_PAGE);

    if (p)
      memcpy((char *)out + done, p->data + skip, n);
    else
      memset((char *)out + done, 0, n);
    done += n;
  }
  return len;
}

/* Called before bytes of the page change: keeps the durable ones. */
static void
soil(struct sim_inode *i, struct sim_page *p, size_t skip, size_t n)
{
  static const uint8_t zeroes[SIM_PAGE];

  if (n == 0)
    return;
  if (!p->dirty) {
    gi_list_add_tail(&i->dirty, &p->dirty_link);
    if (memcmp(p->data, zeroes, SIM_PAGE) != 0) {
      p->clean = gi_alloc(SIM_PAGE);
      memcpy(p->clean, p->data, SIM_PAGE);
    }
  }
  for (size_t s = skip / SIM_SECTOR; s <= (skip + n - 1) / SIM_SECTOR; s++)
    p->dirty |= (uint8_t)(1u << s);
  p->doomed = false;
  p->seq = i->disk->seq;
}

void
sim_data_set_size(struct sim_inode *i, uint64_t size)
{
  struct sim_undo *u;

  if (size == i->size)
    return;
  u = sim_journal(i, UNDO_SIZE);
  u->size = i->size;
  i->size_seq = u->seq;
  i->size = size;
}

/* The page gets its first content, beyond the end of the file. File systems under bricks (ext4 with ordered data, XFS) write a new
 * block to the disk before the size of the file covers it durably. */
static void
grow_by(struct sim_inode *i, struct sim_page *p, bool first)
{
  uint64_t start = p->index * SIM_PAGE;

  if (start < i->size)
    return;
  p->tail = true;
  p->without = first ? i->size : start;
}

void
sim_data_write(struct sim_inode *i, uint64_t at, const void *data, size_t len)
{
  bool grown = false;

  for (size_t done = 0; done < len;) {
    uint64_t pos = at + done;
    size_t skip = pos % SIM_PAGE, n = SIM_PAGE - skip < len - done ? SIM_PAGE - skip : len - done;
    bool empty = !find(i, pos / SIM_PAGE);
    struct sim_page *p = obtain(i, pos / SIM_PAGE);

    if (empty || p->unwritten) {
      grow_by(i, p, !grown);
      grown |= p->tail;
    }
    soil(i, p, skip, n);
    memcpy(p->data + skip, (const char *)data + done, n);
    p->unwritten = false;
    done += n;
  }
  if (at + len > i->size)
    sim_data_set_size(i, at + len);
}

void
sim_data_zero(struct sim_inode *i, uint64_t at, uint64_t len)
{
  for (unsigned n = place_of(i, at / SIM_PAGE); n < i->npages && i->page[n]->index * SIM_PAGE < at + len; n++) {
    struct sim_page *p = i->page[n];
    uint64_t start = p->index * SIM_PAGE;
    size_t from = at > start ? (size_t)(at - start) : 0;
    size_t to = at + len - start < SIM_PAGE ? (size_t)(at + len - start) : SIM_PAGE;

    if (p->unwritten)
      continue;
    soil(i, p, from, to - from);
    memset(p->data + from, 0, to - from);
  }
}

void
sim_data_cut(struct sim_inode *i, uint64_t first, uint64_t last)
{
  unsigned from = place_of(i, first), to = from;
  struct sim_undo *u;

  while (to < i->npages && i->page[to]->index <= last)
    to++;
  u = sim_journal(i, UNDO_PAGES);
  i->size_seq = u->seq;
  u->size = i->size;
  u->first = first;
  u->last = last;
  u->npages = to - from;
  if (to == from)
    return;
  u->page = gi_alloc(u->npages * sizeof(struct sim_page *));
  memcpy(u->page, i->page + from, u->npages * sizeof(struct sim_page *));
  for (unsigned n = 0; n < u->npages; n++)
    gi_list_del(&u->page[n]->dirty_link);
  memmove(i->page + from, i->page + to, (i->npages - to) * sizeof(struct sim_page *));
  i->npages -= u->npages;
}

/* A size that was set goes to the journal, independent of the content. */
static void
forget_tails(struct sim_inode *i)
{
  gi_list_foreach(p, &i->dirty, struct sim_page, dirty_link)
    p->tail = false;
}

void
sim_data_extend(struct sim_inode *i, uint64_t size)
{
  forget_tails(i);
  sim_data_set_size(i, size);
}

void
sim_data_truncate(struct sim_inode *i, uint64_t size)
{
  if (size < i->size) {
    forget_tails(i);
    if (size % SIM_PAGE)
      sim_data_zero(i, size, SIM_PAGE - size % SIM_PAGE);
    sim_data_cut(i, (size + SIM_PAGE - 1) / SIM_PAGE, UINT64_MAX);
    i->size = size; /* the undo record of the cut keeps the old size */
  } else {
    sim_data_extend(i, size);
  }
}

void
sim_data_allocate(struct sim_inode *i, uint64_t at, uint64_t len)
{
  for (uint64_t index = at / SIM_PAGE; index <= (at + len - 1) / SIM_PAGE; index++) {
    if (!find(i, index))
      obtain(i, index)->unwritten = true;
  }
}

uint64_t
sim_data_needs(const struct sim_inode *i, uint64_t at, uint64_t len)
{
  uint64_t first = at / SIM_PAGE, last = len ? (at + len - 1) / SIM_PAGE : first;
  unsigned from = place_of(i, first), to = from;

  if (!len)
    return 0;
  while (to < i->npages && i->page[to]->index <= last)
    to++;
  return (last - first + 1 - (to - from)) * SIM_PAGE;
}

int64_t
sim_data_seek(const struct sim_inode *i, uint64_t at, bool hole)
{
  unsigned n = place_of(i, at / SIM_PAGE);
  uint64_t index = at / SIM_PAGE;

  if (at >= i->size)
    return -1;
  if (!hole) {
    while (n < i->npages && i->page[n]->unwritten)
      n++;
    if (n == i->npages || i->page[n]->index * SIM_PAGE >= i->size)
      return -1;
    index = i->page[n]->index;
    return (int64_t)(index * SIM_PAGE > at ? index * SIM_PAGE : at);
  }
  while (n < i->npages && i->page[n]->index == index && !i->page[n]->unwritten) {
    n++;
    index++;
  }
  if (index * SIM_PAGE <= at)
    return (int64_t)at;
  return (int64_t)(index * SIM_PAGE < i->size ? index * SIM_PAGE : i->size);
}

/* ---- durability ---- */

static void
make_clean(struct sim_page *p)
{
  gi_list_del(&p->dirty_link);
  gi_free(p->clean);
  p->clean = NULL;
  p->dirty = 0;
  p->doomed = p->tail = false;
}

void
sim_data_flush(struct sim_inode *i)
{
  uint64_t reached = 0;

  gi_list_foreach_safe(p, &i->dirty, struct sim_page, dirty_link) {
    if (p->doomed)
      continue;
    reached = p->index > reached ? p->index : reached;
    make_clean(p);
  }
  /* The size is durable as soon as a page behind the refused one is. */
  gi_list_foreach(p, &i->dirty, struct sim_page, dirty_link)
    p->tail &= p->index > reached;
}

/* What was written once more as it is on the disk already is not lost with the page. */
static bool
is_only_in_memory(const struct sim_page *p, unsigned sector)
{
  unsigned at = sector * SIM_SECTOR;

  return p->dirty & 1u << sector && !(p->clean && memcmp(p->clean + at, p->data + at, SIM_SECTOR) == 0);
}

bool
sim_data_doom(struct sim_inode *i, uint64_t first, uint64_t last)
{
  const struct sim_disk_config *cfg = &i->disk->cfg;
  bool any = false;

  gi_list_foreach(p, &i->dirty, struct sim_page, dirty_link) {
    if (p->index < first || p->index > last)
      continue;
    any = p->doomed = true;
    for (unsigned s = 0; cfg->lost && s < SIM_PAGE / SIM_SECTOR; s++)
      if (is_only_in_memory(p, s))
        cfg->lost(cfg->arg, p->data + s * SIM_SECTOR);
  }
  return any;
}

static void
drop_range(struct sim_inode *i, uint64_t first, uint64_t last)
{
  unsigned from = place_of(i, first), to = from;

  while (to < i->npages && i->page[to]->index <= last)
    sim_page_free(i->disk, i->page[to++]);
  if (to == from)
    return;
  memmove(i->page + from, i->page + to, (i->npages - to) * sizeof(struct sim_page *));
  i->npages -= to - from;
}

void
sim_data_undo(struct sim_inode *i, struct sim_undo *u)
{
  i->size = u->size;
  if (u->what == UNDO_SIZE)
    return;
  drop_range(i, u->first, u->last); /* younger than the cut */
  for (unsigned n = 0; n < u->npages; n++) {
    insert(i, u->page[n]);
    if (u->page[n]->dirty)
      gi_list_add_tail(&i->dirty, &u->page[n]->dirty_link);
  }
  u->npages = 0;
}

/* The sectors get back what the disk has of them. */
static void
revert(struct sim_page *p, uint8_t sectors)
{
  for (unsigned s = 0; s < SIM_PAGE / SIM_SECTOR; s++) {
    uint8_t *sector = p->data + s * SIM_SECTOR;

    if (!(sectors & 1u << s))
      continue;
    if (p->clean)
      memcpy(sector, p->clean + s * SIM_SECTOR, SIM_SECTOR);
    else
      memset(sector, 0, SIM_SECTOR);
  }
}

void
sim_data_forget(struct sim_inode *i)
{
  gi_list_foreach(p, &i->dirty, struct sim_page, dirty_link)
    if (p->doomed)
      revert(p, p->dirty);
}

static void
settle_page(struct sim_inode *i, struct sim_page *p, uint64_t seq)
{
  struct sim_disk *d = i->disk;
  uint64_t r = d->cfg.random(d->cfg.arg);
  uint8_t lost = p->dirty;

  if (!p->doomed && p->seq <= seq) {
    switch (r % 3) {
    case 0:
      lost = 0;
      break;
    case 1:
      break;
    default:
      lost = p->dirty & (uint8_t)(r >> 8);
    }
  }
  d->lost_pages += lost && lost == p->dirty;
  d->torn_pages += lost && lost != p->dirty;
  if (lost && p->tail && i->size > p->without)
    i->size = p->without;
  revert(p, lost);
  make_clean(p);
}

void
sim_data_settle(struct sim_inode *i, uint64_t seq)
{
  gi_list_foreach_safe(p, &i->dirty, struct sim_page, dirty_link)
    settle_page(i, p, seq);
  if (i->size % SIM_PAGE) {
    struct sim_page *p = find(i, i->size / SIM_PAGE);

    if (p)
      memset(p->data + i->size % SIM_PAGE, 0, SIM_PAGE - i->size % SIM_PAGE);
  }
  /* Beyond the end there are only pages that fallocate made. */
  for (unsigned n = place_of(i, (i->size + SIM_PAGE - 1) / SIM_PAGE); n < i->npages;) {
    if (i->page[n]->unwritten)
      n++;
    else
      drop_range(i, i->page[n]->index, i->page[n]->index);
  }
}

void
sim_data_free(struct sim_inode *i)
{
  drop_range(i, 0, UINT64_MAX);
  gi_free(i->page);
}
