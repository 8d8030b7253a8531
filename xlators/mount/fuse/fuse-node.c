/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel knows: node ids and lookup counts, file handles.
 *
 * An inode the kernel knows (nlookup > 0) holds one reference and one slot. A
 * lookup is counted after its reply was accepted by the device, so a reply
 * that nobody waited for leaves no trace.
 */
#include "fuse-internal.h"

#include "libglusterish/promise.h"

#include <limits.h>
#include <sys/stat.h>

/* ---- id tables ---- */

#define ID_NONE UINT32_MAX

static void
id_grow(struct id_table *t)
{
  uint32_t n = t->capacity ? t->capacity * 2 : 256;

  t->slot = gi_realloc(t->slot, n * sizeof(*t->slot));
  if (t->capacity == 0)
    t->free_head = ID_NONE;
  for (uint32_t i = n; i-- > t->capacity;) {
    t->slot[i] = (struct id_slot){.generation = 1, .next_free = t->free_head};
    t->free_head = i;
  }
  t->capacity = n;
}

uint64_t
id_add(struct id_table *t, void *object)
{
  if (t->count == t->capacity)
    id_grow(t);

  uint32_t i = t->free_head;
  struct id_slot *s = &t->slot[i];

  t->free_head = s->next_free;
  t->count++;
  GI_ASSERT(object && !s->object && s->generation > 0);
  s->object = object;
  return (uint64_t)s->generation << 32 | i;
}

static struct id_slot *
id_slot(const struct id_table *t, uint64_t id)
{
  uint32_t i = (uint32_t)id;

  if (i >= t->capacity || !t->slot[i].object || t->slot[i].generation != id >> 32)
    return NULL;
  return &t->slot[i];
}

void *
id_get(const struct id_table *t, uint64_t id)
{
  const struct id_slot *s = id_slot(t, id);

  return s ? s->object : NULL;
}

void
id_del(struct id_table *t, uint64_t id)
{
  struct id_slot *s = id_slot(t, id);

  GI_ASSERT(s && t->count > 0);
  s->object = NULL;
  s->generation = s->generation == UINT32_MAX ? 1 : s->generation + 1;
  s->next_free = t->free_head;
  t->free_head = (uint32_t)id;
  t->count--;
}

void *
id_next(const struct id_table *t, uint32_t *pos)
{
  while (*pos < t->capacity) {
    void *object = t->slot[(*pos)++].object;

    if (object)
      return object;
  }
  return NULL;
}

void
id_table_free(struct id_table *t)
{
  GI_ASSERT(t->count == 0);
  gi_free(t->slot);
  memset(t, 0, sizeof(*t));
}

/* ---- nodes ---- */

struct gi_inode *
node_find(struct bridge *b, fuse_ino_t ino)
{
  if (ino == FUSE_ROOT_ID)
    return b->root;

  struct node *n = node_map_get(&b->nodes, ino);

  return n ? n->inode : NULL;
}

struct gi_inode *
node_inode(struct bridge *b, fuse_req_t req, fuse_ino_t ino)
{
  struct gi_inode *inode = node_find(b, ino);

  if (!inode) {
    b->m.stale_nodeids++;
    reply_err(b, req, ESTALE);
  }
  return inode;
}

static uint64_t
node_cost(const struct bridge *b)
{
  return sizeof(struct gi_inode) + b->x->graph->inode_bytes;
}

void
node_check(const struct bridge *b, const struct node *n)
{
  GI_ASSERT((n->id != 0) == (n->inode != NULL));
  GI_ASSERT(!n->name || n->id > FUSE_ROOT_ID);
  GI_ASSERT(!n->name_queued || n->name);
  GI_ASSERT(!n->queued || n->dropping > 0);
  GI_ASSERT(n->trust.deferred <= n->trust.inflight);
  GI_ASSERT(n->trust.deferred > 0 || !n->early_append);
  GI_ASSERT(n->early_seq <= b->order.clock && n->trust.seq <= b->order.clock);
  GI_ASSERT(n->asked_capability <= 2);
}

static void
node_release(struct bridge *b, struct node *n)
{
  struct gi_inode *inode = n->inode;

  node_check(b, n);
  GI_ASSERT(n->id && inode && b->node_count > 0);
  GI_ASSERT(inode != b->root);
  node_map_del(&b->nodes, n);
  name_map_del(&b->names, n);
  gi_list_del(&n->lru);
  gi_free(n->name);
  n->name = NULL;
  n->id = 0;
  n->inode = NULL;
  n->parent_id = 0;
  gi_trust_forget(&n->trust); /* the kernel has dropped its pages */
  n->locked = n->wrote_locked = n->removed = n->listed = n->opened = n->name_queued = n->others = n->fresh = n->fresh_written =
      false;
  n->wrote_end = n->shared_until = n->attr_until = n->name_until = 0;
  n->asked_capability = 0;
  b->node_count--;
  gi_budget_return(&b->nodes_user, node_cost(b));
  inode->nlookup = 0;
  gi_inode_unref(&inode);
}

static void
node_assign(struct bridge *b, struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  node_check(b, n);
  if (n->id)
    return;
  GI_ASSERT(inode != b->root && inode->nlookup == 0);
  n->inode = gi_inode_ref(inode);
  node_map_add(&b->nodes, n);
  GI_ASSERT(n->id > FUSE_ROOT_ID);
  gi_list_init(&n->lru);
  gi_list_add_tail(&b->lru, &n->lru);
  b->node_count++;
  gi_budget_draw(&b->nodes_user, node_cost(b));
}

/* Asks the kernel to let go of the oldest file, unless it is open; FORGETs follow. False: there is none, or it is in use. */
static bool
ask_for_oldest(struct bridge *b)
{
  if (gi_list_empty(&b->lru))
    return false;

  struct node *n = gi_list_first(&b->lru, struct node, lru);

  gi_list_del(&n->lru);
  gi_list_add_tail(&b->lru, &n->lru);
  if (!n->name || !gi_list_empty(&n->inode->fds) || S_ISDIR(n->trust.attr.mode))
    return false;
  inval_name(b, n);
  return true;
}

static void
enforce_limit(struct bridge *b)
{
  uint64_t limit = (uint64_t)bridge_options(b)->lru_limit;
  unsigned tries = 4; /* per lookup: the list shrinks faster than it grows, and no single lookup pays for all */

  while (limit && b->node_count > limit && tries-- > 0)
    ask_for_oldest(b);
}

uint64_t
node_reclaim(void *arg, uint64_t want)
{
  struct bridge *b = arg;
  uint64_t given = 0;

  for (uint64_t tries = b->node_count; given < want && tries > 0 && inval_room(b); tries--)
    if (ask_for_oldest(b))
      given += node_cost(b);
  return given;
}

bool
node_too_many(const struct bridge *b, const struct gi_gfid *gfid)
{
  uint64_t limit = (uint64_t)bridge_options(b)->lru_limit;
  struct gi_inode *inode;
  bool known;

  if (!limit || b->node_count < limit + limit / 16)
    return false;
  inode = gi_inode_find(b->x->graph, gfid);
  known = inode && (inode == b->root || node_of(b, inode)->id);
  gi_inode_unref(&inode);
  return !known;
}

void
node_count(struct bridge *b, struct gi_inode *inode)
{
  if (inode == b->root)
    return;
  GI_ASSERT(node_of(b, inode)->id);
  inode->nlookup++;
  b->m.lookups_counted++;
  enforce_limit(b);
}

void
node_uncount(struct bridge *b, struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  if (n->id && inode->nlookup == 0)
    node_release(b, n);
}

void
node_forget(struct bridge *b, fuse_ino_t ino, uint64_t nlookup)
{
  struct gi_inode *inode = ino == FUSE_ROOT_ID ? NULL : node_find(b, ino);

  if (!inode)
    return;
  if (nlookup > inode->nlookup) {
    gi_log(GI_LOG_WARNING, b->x->name, GI_MSG_FUSE + 20, "the kernel forgets %llu lookups of an inode that has %llu",
           (unsigned long long)nlookup, (unsigned long long)inode->nlookup);
    nlookup = inode->nlookup;
  }
  inode->nlookup -= nlookup;
  b->m.lookups_forgotten += nlookup;
  if (inode->nlookup == 0)
    node_release(b, node_of(b, inode));
}

uint64_t
node_kernel_id(const struct bridge *b, const struct gi_inode *inode)
{
  return inode == b->root ? FUSE_ROOT_ID : node_of(b, inode)->id;
}

void
node_find_named(struct bridge *b, struct gi_loc *loc)
{
  struct node *n = name_map_get(&b->names, node_kernel_id(b, loc->parent), loc->name);

  if (n)
    gi_loc_set_inode(loc, n->inode);
}

void
node_named(struct bridge *b, struct gi_inode *inode, struct gi_inode *parent, const char *name)
{
  struct node *n = node_of(b, inode);

  if (!n->id)
    return;
  gi_list_del(&n->lru);
  gi_list_add_tail(&b->lru, &n->lru);
  if (n->name && n->parent_id == node_kernel_id(b, parent) && strcmp(n->name, name) == 0) {
    name_map_put(&b->names, n);
    return;
  }
  name_map_del(&b->names, n);
  gi_free(n->name);
  n->name = gi_strdup(name);
  n->parent_id = node_kernel_id(b, parent);
  n->name_until = 0;
  n->name_queued = false; /* that was another */
  name_map_put(&b->names, n);
  node_check(b, n);
}

void
node_seen(struct bridge *b, const struct gi_inode *inode)
{
  struct node *n = node_of(b, inode);

  if (n->name)
    name_map_put(&b->names, n);
}

/* From the end of `path` towards its beginning: the names that the kernel has found it by. */
static const char *
path_of(struct bridge *b, struct node *n, char path[PATH_MAX])
{
  char *at = path + PATH_MAX - 1;

  *at = '\0';
  while (n && n->name && (size_t)(at - path) > strlen(n->name) + 1) {
    size_t len = strlen(n->name);
    struct gi_inode *parent = n->parent_id == FUSE_ROOT_ID ? NULL : node_find(b, n->parent_id);

    at -= len;
    memcpy(at, n->name, len);
    *--at = '/';
    n = parent ? node_of(b, parent) : NULL;
  }
  return at;
}

#define UNWRITTEN_NAMED 100 /* files */

void
node_say_unwritten(struct bridge *b)
{
  char gfid[GI_UUID_TEXT], path[PATH_MAX];
  unsigned named = 0;
  uint32_t pos = 0;
  struct node *n;

  for (; (n = node_map_first(&b->nodes, &pos)) && named < UNWRITTEN_NAMED; pos++)
    if (n->trust.deferred) {
      gi_log(GI_LOG_INFO, b->x->name, GI_MSG_FUSE + 21, "waiting for the bricks to take what was written to %s (%s)",
             path_of(b, n, path), gi_gfid_text(&n->inode->gfid, gfid));
      named++;
    }
}

void
node_forget_all(struct bridge *b)
{
  uint32_t pos = 0;
  struct gi_fd *fd;
  struct node *n;

  while ((fd = id_next(&b->fds, &pos)))
    handle_close(b, fd);
  pos = 0;
  while ((n = node_map_first(&b->nodes, &pos)))
    node_release(b, n);
}

/* For programs whose ino_t has 32 bits. */
uint64_t
node_ino(const struct bridge *b, uint64_t ino)
{
  return bridge_options(b)->enable_ino32 ? (ino >> 32) ^ (uint32_t)ino : ino;
}

void
node_stat(const struct bridge *b, const struct gi_iatt *iatt, struct stat *st)
{
  gi_iatt_to_stat(iatt, st);
  st->st_ino = node_ino(b, st->st_ino);
  st->st_blksize = BRIDGE_BLKSIZE;
}

void
node_entry(struct bridge *b, struct gi_inode *inode, const struct gi_iatt *iatt, struct fuse_entry_param *e)
{
  memset(e, 0, sizeof(*e));
  if (inode == b->root) {
    e->ino = FUSE_ROOT_ID;
  } else {
    node_assign(b, inode);
    e->ino = node_of(b, inode)->id;
    memcpy(&e->generation, inode->gfid.b + sizeof(e->ino), sizeof(uint32_t)); /* what the id has no room for */
  }
  node_stat(b, iatt, &e->attr);
  e->attr_timeout = b->one_attr_timeout;
  e->entry_timeout = b->one_entry_timeout;
}

double
seconds_left(const struct bridge *b, const struct gi_fop *fop, double timeout)
{
  uint64_t life = (uint64_t)(timeout * GI_NSEC_PER_SEC), asked = fop->rsp.asked ? fop->rsp.asked : fop->start_ns;

  if (bridge_options(b)->kernel_writeback_cache) /* nobody else is there */
    return timeout;
  return (double)gi_promise_left(life, asked, gi_now(b->x->reactor)) / GI_NSEC_PER_SEC;
}

void
node_entry_of_all(struct bridge *b, const struct gi_fop *fop, struct fuse_entry_param *e)
{
  bool directory = S_ISDIR(e->attr.st_mode); /* a look at it tells which copies may be listed, which the names in it do not */

  e->attr_timeout = seconds_left(b, fop, directory ? b->one_attr_timeout : b->attr_timeout);
  e->entry_timeout = seconds_left(b, fop, directory ? b->one_entry_timeout : b->entry_timeout);
}

void
node_promised(struct bridge *b, struct gi_inode *inode, const struct fuse_entry_param *e)
{
  struct node *n = node_of(b, inode);
  uint64_t now = gi_now(b->x->reactor);

  n->attr_until = now + ns_of(e->attr_timeout);
  n->name_until = now + ns_of(e->entry_timeout);
}

/* What is left of a promise of all bricks, but never more than they promise now. */
static void
extend(const struct bridge *b, double *seconds, uint64_t until, double most)
{
  double left = (double)gi_promise_left(until, 0, gi_now(b->x->reactor)) / GI_NSEC_PER_SEC;

  if (left > most)
    left = most;
  if (*seconds < left)
    *seconds = left;
}

uint64_t
node_news(const struct bridge *b, const struct gi_inode *dir)
{
  return b->news + node_of(b, dir)->named; /* neither goes back */
}

/* Until when the kernel may believe that a listing shows what all bricks would say of its names: they promised it when the directory was opened,
 * and have told of nothing since, nor have we changed any there. 0: it may not. */
static uint64_t
names_until(const struct bridge *b, const struct gi_fd *dir)
{
  const struct handle *h = handle_of(b, dir);
  const struct node *d = node_of(b, dir->inode);

  return h->news == node_news(b, dir->inode) && d->naming == 0 && d->shared_until <= gi_now(b->x->reactor) ? h->names_until : 0;
}

void
node_listed(struct bridge *b, struct gi_inode *inode, const struct gi_fd *dir)
{
  struct node *n = node_of(b, inode);
  uint64_t until = names_until(b, dir);

  if (S_ISDIR(n->trust.attr.mode) || until <= n->name_until)
    return;
  n->name_until = until;
  node_of(b, dir->inode)->listed = true;
}

void
node_entry_listed(struct bridge *b, const struct gi_inode *inode, const struct gi_fd *fd, const char *name,
                  struct fuse_entry_param *e)
{
  const struct node *n = node_of(b, inode);
  const struct gi_inode *dir = fd->inode;

  extend(b, &e->attr_timeout, n->attr_until, b->attr_timeout);
  if (n->name && n->parent_id == node_kernel_id(b, dir) && strcmp(n->name, name) == 0)
    extend(b, &e->entry_timeout, n->name_until, b->entry_timeout);
  if (!S_ISDIR(e->attr.st_mode))
    extend(b, &e->entry_timeout, names_until(b, fd), b->entry_timeout);
}

void
node_entry_in(const struct bridge *b, const struct gi_inode *dir, struct fuse_entry_param *e)
{
  if (dir && node_of(b, dir)->shared_until > gi_now(b->x->reactor))
    e->entry_timeout = 0;
}

bool
kills_mode(uint32_t *mode)
{
  uint32_t drop = *mode & S_ISUID;

  if ((*mode & S_ISGID) && (*mode & S_IXGRP)) /* without group execution it marks mandatory locking, not privilege */
    drop |= S_ISGID;
  if (!S_ISREG(*mode) || !drop)
    return false;
  *mode &= ~drop & 07777;
  return true;
}

/* ---- handles ---- */

void
handle_check(const struct bridge *b, const struct gi_fd *fd)
{
  const struct handle *h = handle_of(b, fd);

  GI_ASSERT((h->id != 0) == (h->fd != NULL));
  GI_ASSERT(!h->fd || h->fd == fd);
  GI_ASSERT(!h->opener || (h->id && !fd->directory));
  GI_ASSERT(!h->gone || fd->directory);
}

void
handle_open(struct bridge *b, struct gi_fd *fd)
{
  struct handle *h = handle_of(b, fd);

  handle_check(b, fd);
  GI_ASSERT(h->id == 0 && fd->inode);
  h->fd = gi_fd_ref(fd);
  h->id = id_add(&b->fds, fd);
  if (!fd->directory)
    opener_add(&b->openers, h, fd->pid);
}

void
handle_close(struct bridge *b, struct gi_fd *fd)
{
  struct handle *h = handle_of(b, fd);

  handle_check(b, fd);
  GI_ASSERT(h->id);
  opener_del(&b->openers, h);
  id_del(&b->fds, h->id);
  h->id = 0;
  h->fd = NULL;
  gi_fd_unref(&fd);
}

struct gi_fd *
handle_find(struct bridge *b, const struct fuse_file_info *fi)
{
  return fi ? id_get(&b->fds, fi->fh) : NULL;
}

struct gi_fd *
handle_fd(struct bridge *b, fuse_req_t req, const struct fuse_file_info *fi)
{
  struct gi_fd *fd = handle_find(b, fi);

  if (!fd)
    reply_err(b, req, EBADF);
  return fd;
}

struct gi_fd *
handle_any(const struct bridge *b, const struct gi_inode *inode, bool write)
{
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    if (handle_of(b, fd)->id && (!write || (fd->flags & O_ACCMODE) != O_RDONLY))
      return fd;
  }
  return NULL;
}
