/* SPDX-License-Identifier: Apache-2.0
 *
 * Inode and fd tables. Inodes hash by gfid; those nobody references wait on an
 * LRU list and are forgotten beyond its bound or for the memory budget.
 */
#include "libglusterish/inode.h"

#include "libglusterish/graph.h"

#define HASH_MIN 1024u

struct gi_inode_table {
  struct gi_graph *graph;
  struct gi_inode **bucket;
  uint32_t nbuckets; /* power of two */
  uint32_t count;    /* hashed inodes */
  struct gi_lru lru; /* of those nobody references */
};

/* ---- pieces ---- */

/* The piece of part `part` (from 1), made if nobody has used it. */
static unsigned char *
piece_of(struct gi_pieces *p, unsigned part, uint32_t bytes)
{
  GI_ASSERT(part > 0);
  if (part > p->n) {
    p->piece = gi_realloc(p->piece, part * sizeof(*p->piece));
    memset(p->piece + p->n, 0, (part - p->n) * sizeof(*p->piece));
    p->n = part;
  }
  if (!p->piece[part - 1]) {
    p->piece[part - 1] = gi_zalloc(bytes);
    p->bytes += bytes;
  }
  return p->piece[part - 1];
}

/* Whether a translator may have left something there. */
static bool
has_piece(const struct gi_pieces *p, const struct gi_xlator *x)
{
  return x->part == 0 || (x->part <= p->n && p->piece[x->part - 1]);
}

static void
free_pieces(struct gi_pieces *p)
{
  for (uint32_t i = 0; i < p->n; i++)
    gi_free(p->piece[i]);
  gi_free(p->piece);
}

/* ---- inodes ---- */

static struct gi_inode **
bucket_of(struct gi_inode_table *t, const struct gi_gfid *gfid)
{
  uint64_t h;

  GI_ASSERT((t->nbuckets & (t->nbuckets - 1)) == 0);
  memcpy(&h, gfid->b + 8, sizeof(h)); /* gfids are random: the low half is a hash already */
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdull;
  h ^= h >> 29;
  return &t->bucket[h & (t->nbuckets - 1)];
}

static void
hash_insert(struct gi_inode_table *t, struct gi_inode *inode)
{
  struct gi_inode **b = bucket_of(t, &inode->gfid);

  inode->hash_next = *b;
  *b = inode;
  inode->hashed = true;
  t->count++;
}

static void
hash_remove(struct gi_inode_table *t, struct gi_inode *inode)
{
  struct gi_inode **p = bucket_of(t, &inode->gfid);

  while (*p != inode) {
    GI_ASSERT(*p);
    p = &(*p)->hash_next;
  }
  *p = inode->hash_next;
  inode->hashed = false;
  GI_ASSERT(t->count > 0);
  t->count--;
}

static void
grow(struct gi_inode_table *t)
{
  struct gi_inode **old = t->bucket;
  uint32_t n = t->nbuckets;

  t->nbuckets = n * 2;
  t->bucket = gi_zalloc(t->nbuckets * sizeof(*t->bucket));
  t->count = 0;
  for (uint32_t i = 0; i < n; i++) {
    struct gi_inode *next;

    for (struct gi_inode *inode = old[i]; inode; inode = next) {
      next = inode->hash_next;
      hash_insert(t, inode);
    }
  }
  gi_free(old);
}

/* Forgets an unreferenced inode: it must be off the LRU list and the hash. */
static void
destroy(struct gi_inode *inode)
{
  struct gi_graph *g = inode->graph;

  GI_ASSERT(gi_list_empty(&inode->fds));
  for (unsigned i = g->count; i-- > 0;) {
    struct gi_xlator *x = g->xlators[i];

    if (x->cls->inode_bytes && x->cls->inode_forget && x->initialised && has_piece(&inode->pieces, x))
      x->cls->inode_forget(x, inode, gi_inode_private(inode, x));
  }
  free_pieces(&inode->pieces);
  inode->magic = 0;
  GI_ASSERT(g->inodes_live > 0);
  g->inodes_live--;
  gi_free(inode);
}

static void
forget(void *arg, struct gi_lru_item *item)
{
  struct gi_inode *inode = GI_CONTAINER(item, struct gi_inode, lru);

  GI_CHECK(inode, GI_INODE_MAGIC);
  GI_ASSERT(inode->refs == 0);
  hash_remove(arg, inode);
  destroy(inode);
}

struct gi_inode_table *
gi_inode_table_new(struct gi_graph *g)
{
  struct gi_inode_table *t = gi_new(struct gi_inode_table);

  t->graph = g;
  t->nbuckets = HASH_MIN;
  t->bucket = gi_zalloc(t->nbuckets * sizeof(*t->bucket));
  gi_lru_init(&t->lru, &g->ctx->budget, g->ctx->reactor, "inodes", forget, t);
  gi_lru_set_bounds(&t->lru, GI_INODE_LRU, 0);
  return t;
}

void
gi_inode_table_free(struct gi_inode_table **table)
{
  struct gi_inode_table *t = *table;

  if (!t)
    return;
  gi_lru_finish(&t->lru);
  GI_ASSERT(t->count == 0);
  gi_free(t->bucket);
  gi_free(t);
  *table = NULL;
}

struct gi_inode *
gi_inode_find(struct gi_graph *g, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = *bucket_of(g->inodes, gfid);

  while (inode && !gi_gfid_equal(&inode->gfid, gfid))
    inode = inode->hash_next;
  return gi_inode_ref(inode);
}

struct gi_inode *
gi_inode_get(struct gi_graph *g, const struct gi_gfid *gfid)
{
  struct gi_inode_table *t = g->inodes;
  struct gi_inode *inode = gi_inode_find(g, gfid);

  if (inode)
    return inode;
  GI_ASSERT(!gi_gfid_is_none(gfid));
  if (t->count >= t->nbuckets)
    grow(t);
  inode = gi_zalloc(sizeof(*inode) + g->inode_bytes);
  inode->magic = GI_INODE_MAGIC;
  inode->refs = 1;
  inode->graph = g;
  inode->gfid = *gfid;
  gi_list_init(&inode->fds);
  hash_insert(t, inode);
  g->inodes_live++;
  return inode;
}

struct gi_inode *
gi_inode_ref(struct gi_inode *inode)
{
  if (!inode)
    return NULL;
  GI_CHECK(inode, GI_INODE_MAGIC);
  if (inode->refs++ == 0)
    gi_lru_remove(&inode->graph->inodes->lru, &inode->lru);
  return inode;
}

void
gi_inode_unref(struct gi_inode **ref)
{
  struct gi_inode *inode = *ref;

  if (!inode)
    return;
  *ref = NULL;
  GI_CHECK(inode, GI_INODE_MAGIC);
  GI_ASSERT(inode->refs > 0);
  if (--inode->refs)
    return;
  if (!inode->hashed) {
    destroy(inode);
    return;
  }

  gi_lru_add(&inode->graph->inodes->lru, &inode->lru, sizeof(*inode) + inode->graph->inode_bytes + inode->pieces.bytes);
}

void
gi_inode_drop(struct gi_inode *inode)
{
  GI_CHECK(inode, GI_INODE_MAGIC);

  struct gi_inode_table *t = inode->graph->inodes;

  if (!inode->hashed)
    return;
  hash_remove(t, inode);
  if (inode->refs == 0) {
    gi_lru_remove(&t->lru, &inode->lru);
    destroy(inode);
  }
}

void *
gi_inode_private(const struct gi_inode *inode, const struct gi_xlator *x)
{
  GI_CHECK(inode, GI_INODE_MAGIC);
  GI_ASSERT(inode->graph == x->graph);
  if (x->part)
    return piece_of(&((struct gi_inode *)(uintptr_t)inode)->pieces, x->part, x->graph->parts[x->part - 1].inode_bytes) +
           x->inode_offset;
  return (void *)(inode->bytes + x->inode_offset);
}

struct gi_inode_counts
gi_inode_count(const struct gi_graph *g)
{
  const struct gi_inode_table *t = g->inodes;

  GI_ASSERT(t->count >= t->lru.count);
  return (struct gi_inode_counts){.active = t->count - t->lru.count, .lru = t->lru.count, .lru_limit = t->lru.max_count};
}

void
gi_inode_set_lru_limit(struct gi_graph *g, uint32_t limit)
{
  gi_lru_set_bounds(&g->inodes->lru, limit, 0);
}

/* ---- fds ---- */

struct gi_fd *
gi_fd_new(struct gi_graph *g, struct gi_inode *inode, int32_t flags, int32_t pid)
{
  struct gi_fd *fd = gi_zalloc(sizeof(*fd) + g->fd_bytes);

  fd->magic = GI_FD_MAGIC;
  fd->refs = 1;
  fd->graph = g;
  fd->flags = flags;
  fd->pid = pid;
  gi_list_init(&fd->inode_link);
  if (inode) {
    fd->inode = gi_inode_ref(inode);
    gi_list_add_tail(&inode->fds, &fd->inode_link);
  }
  g->fds_live++;
  return fd;
}

struct gi_fd *
gi_fd_anonymous(struct gi_graph *g, struct gi_inode *inode)
{
  struct gi_fd *fd = gi_fd_new(g, inode, 0, 0);

  fd->anonymous = true;
  return fd;
}

struct gi_fd *
gi_fd_ref(struct gi_fd *fd)
{
  if (!fd)
    return NULL;
  GI_CHECK(fd, GI_FD_MAGIC);
  fd->refs++;
  return fd;
}

void
gi_fd_unref(struct gi_fd **ref)
{
  struct gi_fd *fd = *ref;

  if (!fd)
    return;
  *ref = NULL;
  GI_CHECK(fd, GI_FD_MAGIC);
  GI_ASSERT(fd->refs > 0);
  if (fd->refs > 1) {
    fd->refs--;
    return;
  }

  /* fd_release may use the fd (to send a RELEASE), so the last reference is dropped only afterwards. */
  struct gi_graph *g = fd->graph;

  for (unsigned i = g->count; i-- > 0;) {
    struct gi_xlator *x = g->xlators[i];

    if (x->cls->fd_release && x->initialised && has_piece(&fd->pieces, x))
      x->cls->fd_release(x, fd, gi_fd_private(fd, x));
  }
  GI_ASSERT(fd->refs == 1);
  gi_list_del(&fd->inode_link);
  gi_inode_unref(&fd->inode);
  free_pieces(&fd->pieces);
  fd->magic = 0;
  GI_ASSERT(g->fds_live > 0);
  g->fds_live--;
  gi_free(fd);
}

void
gi_fd_bind(struct gi_fd *fd, const struct gi_gfid *gfid)
{
  GI_CHECK(fd, GI_FD_MAGIC);
  if (fd->inode)
    return;
  fd->inode = gi_inode_get(fd->graph, gfid);
  gi_list_add_tail(&fd->inode->fds, &fd->inode_link);
}

void
gi_fd_rebind(struct gi_fd *fd, const struct gi_gfid *gfid)
{
  if (fd->inode && !gi_gfid_equal(&fd->inode->gfid, gfid)) {
    gi_list_del(&fd->inode_link);
    gi_list_init(&fd->inode_link);
    gi_inode_unref(&fd->inode);
  }
  gi_fd_bind(fd, gfid);
}

void *
gi_fd_private(const struct gi_fd *fd, const struct gi_xlator *x)
{
  GI_CHECK(fd, GI_FD_MAGIC);
  GI_ASSERT(fd->graph == x->graph);
  if (x->part)
    return piece_of(&((struct gi_fd *)(uintptr_t)fd)->pieces, x->part, x->graph->parts[x->part - 1].fd_bytes) + x->fd_offset;
  return (void *)(fd->bytes + x->fd_offset);
}
