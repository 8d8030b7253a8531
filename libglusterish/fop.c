/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of an operation: memory, request and reply helpers. The walk
 * through the stack is xlator.c.
 */
#include "libglusterish/fop.h"

#include "libglusterish/graph.h"
#include "libglusterish/tree.h"

#define POOL_KEEP 1024 /* free fops kept per graph */
#define ARENA_CHUNK 4096
#define ALIGN16(n) (((n) + 15u) & ~(size_t)15u)

struct gi_arena_chunk {
  struct gi_arena_chunk *next;
  _Alignas(16) unsigned char data[];
};

struct gi_fop_pool {
  struct gi_list free;
  unsigned nfree;
};

struct gi_fop_pool *
gi_fop_pool_new(void)
{
  struct gi_fop_pool *pool = gi_new(struct gi_fop_pool);

  gi_list_init(&pool->free);
  return pool;
}

void
gi_fop_pool_free(struct gi_fop_pool **pool)
{
  if (!*pool)
    return;
  gi_list_foreach_safe(fop, &(*pool)->free, struct gi_fop, link) {
    gi_list_del(&fop->link);
    gi_free(fop);
  }
  gi_free(*pool);
  *pool = NULL;
}

static struct gi_fop *
take_memory(struct gi_graph *g)
{
  size_t size = sizeof(struct gi_fop) + g->fop_bytes;
  struct gi_fop *fop;

  if (gi_list_empty(&g->pool->free)) {
    fop = gi_alloc(size);
  } else {
    fop = gi_list_first(&g->pool->free, struct gi_fop, link);
    gi_list_del(&fop->link);
    g->pool->nfree--;
  }
  /* The marks and the inline arena lie between the core's members and the translators' bytes; they need not be cleared. */
  memset(fop, 0, offsetof(struct gi_fop, mark));
  memset(fop->bytes, 0, g->fop_bytes);
  return fop;
}

struct gi_fop *
gi_fop_new(struct gi_graph *g, enum gi_fop_kind kind)
{
  struct gi_fop *fop = take_memory(g);

  GI_ASSERT((unsigned)kind < GI_FOP_MAX && gi_fop_table[kind].name);
  fop->magic = GI_FOP_MAGIC;
  fop->refs = 1;
  fop->kind = kind;
  fop->graph = g;
  fop->priority = GI_PRIO_NORMAL;
  gi_list_init(&fop->link);
  gi_list_init(&fop->flight);
  g->fops_live++;
  return fop;
}

struct gi_fop *
gi_fop_helper(struct gi_fop *parent, enum gi_fop_kind kind)
{
  GI_CHECK(parent, GI_FOP_MAGIC);

  struct gi_fop *fop = gi_fop_new(parent->graph, kind);

  fop->parent = gi_fop_ref(parent);
  fop->caller = parent->caller;
  fop->priority = parent->priority;
  return fop;
}

struct gi_fop *
gi_fop_child(struct gi_fop *parent)
{
  struct gi_fop *fop = gi_fop_helper(parent, parent->kind);

  gi_loc_copy(&fop->loc, &parent->loc);
  gi_loc_copy(&fop->loc2, &parent->loc2);
  fop->fd = gi_fd_ref(parent->fd);
  fop->fd2 = gi_fd_ref(parent->fd2);
  fop->args = parent->args;
  gi_dict_ref(fop->args.dict);
  gi_payload_append(&fop->payload, &parent->payload);
  fop->xdata = gi_dict_ref(parent->xdata);
  return fop;
}

struct gi_fop *
gi_fop_ref(struct gi_fop *fop)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  fop->refs++;
  return fop;
}

static void
free_arena(struct gi_fop *fop)
{
  while (fop->arena) {
    struct gi_arena_chunk *next = fop->arena->next;

    gi_free(fop->arena);
    fop->arena = next;
  }
}

void
gi_fop_unref(struct gi_fop *fop)
{
  if (!fop)
    return;
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(fop->refs > 0);
  if (--fop->refs)
    return;
  GI_ASSERT(fop->graph->fops_live > 0 && gi_list_empty(&fop->flight));

  struct gi_graph *g = fop->graph;
  struct gi_fop *parent = fop->parent;

  gi_reply_clear(&fop->rsp);
  gi_payload_clear(&fop->payload);
  gi_dict_unref(&fop->args.dict);
  gi_dict_unref(&fop->xdata);
  gi_fd_unref(&fop->fd);
  gi_fd_unref(&fop->fd2);
  gi_loc_clear(&fop->loc);
  gi_loc_clear(&fop->loc2);
  free_arena(fop);
  if (fop->steps)
    gi_steps_free(&fop->steps);
  fop->magic = 0;
  g->fops_live--;
  if (g->pool->nfree < POOL_KEEP) {
    gi_list_add_head(&g->pool->free, &fop->link); /* last freed first used: warm in the cache */
    g->pool->nfree++;
  } else {
    gi_free(fop);
  }
  gi_fop_unref(parent);
}

void *
gi_fop_alloc(struct gi_fop *fop, size_t size)
{
  GI_CHECK(fop, GI_FOP_MAGIC);
  size = ALIGN16(size);
  if (!fop->arena && fop->arena_used + size <= sizeof(fop->arena_inline)) {
    void *p = fop->arena_inline + fop->arena_used;

    fop->arena_used += (uint32_t)size;
    return p;
  }
  /* arena_used counts within the newest chunk once there is one; big pieces get a chunk of their own behind it. */
  if (size > ARENA_CHUNK / 4) {
    struct gi_arena_chunk *own = gi_alloc(sizeof(*own) + size);

    if (fop->arena) {
      own->next = fop->arena->next;
      fop->arena->next = own;
    } else {
      own->next = NULL;
      fop->arena = own;
      fop->arena_used = ARENA_CHUNK; /* full: the next small piece opens a new chunk */
    }
    return own->data;
  }
  if (!fop->arena || fop->arena_used + size > ARENA_CHUNK) {
    struct gi_arena_chunk *chunk = gi_alloc(sizeof(*chunk) + ARENA_CHUNK);

    chunk->next = fop->arena;
    fop->arena = chunk;
    fop->arena_used = 0;
  }

  void *p = fop->arena->data + fop->arena_used;

  fop->arena_used += (uint32_t)size;
  return p;
}

char *
gi_fop_strdup(struct gi_fop *fop, const char *s, size_t len)
{
  char *copy = gi_fop_alloc(fop, len + 1);

  memcpy(copy, s, len);
  copy[len] = '\0';
  return copy;
}

void
gi_loc_set_inode(struct gi_loc *loc, struct gi_inode *inode)
{
  struct gi_inode *old = loc->inode;

  loc->inode = gi_inode_ref(inode);
  if (inode)
    loc->gfid = inode->gfid;
  gi_inode_unref(&old);
}

void
gi_fop_set_entry(struct gi_fop *fop, struct gi_loc *loc, struct gi_inode *parent, const char *name)
{
  loc->parent = gi_inode_ref(parent);
  loc->pargfid = parent->gfid;
  loc->name = gi_fop_strdup(fop, name, strlen(name));
}

void
gi_fop_set_fd(struct gi_fop *fop, struct gi_fd *fd)
{
  fop->fd = gi_fd_ref(fd);
  if (fd->inode)
    gi_loc_set_inode(&fop->loc, fd->inode);
}

void
gi_loc_copy(struct gi_loc *to, const struct gi_loc *from)
{
  *to = *from;
  gi_inode_ref(to->inode);
  gi_inode_ref(to->parent);
}

void
gi_loc_copy_name(struct gi_loc *to, const struct gi_loc *from)
{
  gi_loc_copy(to, from);
  gi_inode_unref(&to->inode);
  to->gfid = gi_gfid_none;
}

void
gi_loc_clear(struct gi_loc *loc)
{
  gi_inode_unref(&loc->inode);
  gi_inode_unref(&loc->parent);
  memset(loc, 0, sizeof(*loc));
}

struct gi_inode *
gi_loc_inode(struct gi_fop *fop, struct gi_loc *loc)
{
  if (!loc->inode && !gi_gfid_is_none(&loc->gfid))
    loc->inode = gi_inode_get(fop->graph, &loc->gfid);
  return loc->inode;
}

struct gi_inode *
gi_fop_inode(struct gi_fop *fop)
{
  return fop->fd && fop->fd->inode ? fop->fd->inode : gi_loc_inode(fop, &fop->loc);
}

const struct gi_gfid *
gi_fop_gfid(const struct gi_fop *fop)
{
  if (fop->fd && fop->fd->inode)
    return &fop->fd->inode->gfid;
  return fop->loc.inode ? &fop->loc.inode->gfid : &fop->loc.gfid;
}

bool
gi_fop_takes_lock(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_SETACTIVELK ||
         (fop->kind == GI_FOP_LK && fop->args.cmd != GI_LKCMD_GET && fop->args.type != GI_LK_UNLOCK);
}

struct gi_inode *
gi_loc_parent(struct gi_fop *fop, struct gi_loc *loc)
{
  if (!loc->parent && !gi_gfid_is_none(&loc->pargfid))
    loc->parent = gi_inode_get(fop->graph, &loc->pargfid);
  return loc->parent;
}

size_t
gi_client_text(const struct gi_client_id *id, char text[GI_CLIENT_TEXT])
{
  const char *address = id && id->address ? id->address : "";
  int len = snprintf(text, GI_CLIENT_TEXT, "client %s%s%s", id && id->uid ? id->uid : "-", *address ? " at " : "", address);
  GI_ASSERT(len > 0);
  return (size_t)len < GI_CLIENT_TEXT ? (size_t)len : GI_CLIENT_TEXT - 1;
}

void
gi_caller_detach(struct gi_caller *who)
{
  who->groups = NULL;
  who->ngroups = 0;
}

struct gi_dict *
gi_fop_xdata(struct gi_fop *fop)
{
  return gi_dict_writable(&fop->xdata);
}

struct gi_dict *
gi_fop_rsp_xdata(struct gi_fop *fop)
{
  return gi_dict_writable(&fop->rsp.xdata);
}

bool
gi_reply_next_attr(struct gi_fop *fop, unsigned *at, struct gi_attr *attr)
{
  const struct gi_reply_attrs *a = &gi_fop_table[fop->kind].attrs;
  struct gi_reply *r = &fop->rsp;
  const struct gi_attr all[] = {{a->pre, true, &r->pre},
                                {a->pre2, true, &r->pre2},
                                {a->post, false, &r->post},
                                {a->post2, false, &r->post2},
                                {a->stat, false, &r->stat}};

  while (*at < sizeof(all) / sizeof(*all)) {
    *attr = all[(*at)++];
    if (attr->whose != GI_OF_NOBODY && gi_iatt_valid(attr->iatt))
      return true;
  }
  return false;
}

const struct gi_iatt *
gi_reply_attr(struct gi_fop *fop, enum gi_whose whose)
{
  struct gi_attr attr;

  for (unsigned at = 0; gi_reply_next_attr(fop, &at, &attr);)
    if (attr.whose == whose && !attr.before)
      return attr.iatt;
  return NULL;
}

void
gi_reply_clear(struct gi_reply *rsp)
{
  gi_dict_unref(&rsp->dict);
  gi_dict_unref(&rsp->xdata);
  gi_payload_clear(&rsp->payload);
  gi_dirents_free(&rsp->entries);
  memset(rsp, 0, sizeof(*rsp));
}

void
gi_reply_move(struct gi_fop *to, struct gi_fop *from)
{
  GI_CHECK(from, GI_FOP_MAGIC);
  GI_ASSERT(to != from);
  gi_reply_clear(&to->rsp);
  to->rsp = from->rsp;
  memset(&from->rsp, 0, sizeof(from->rsp));

  struct gi_reply *rsp = &to->rsp;

  if (rsp->link)
    rsp->link = gi_fop_strdup(to, rsp->link, strlen(rsp->link));
  if (rsp->nlocks) {
    struct gi_lock_item *locks = gi_fop_alloc(to, rsp->nlocks * sizeof(*locks));

    for (uint32_t i = 0; i < rsp->nlocks; i++) {
      locks[i] = rsp->locks[i];
      if (locks[i].client_uid)
        locks[i].client_uid = gi_fop_strdup(to, locks[i].client_uid, strlen(locks[i].client_uid));
    }
    rsp->locks = locks;
  }
  for (uint32_t i = 0; i < rsp->entries.count; i++) {
    struct gi_dirent *e = &rsp->entries.entry[i];

    e->name = gi_fop_strdup(to, e->name, e->name_len);
  }
}

void
gi_dirents_add(struct gi_dirents *d, const struct gi_dirent *e, struct gi_fop *owner)
{
  GI_ASSERT(e->name && d->count <= d->capacity);
  if (d->count == d->capacity) {
    d->capacity = d->capacity ? d->capacity * 2 : 32;
    d->entry = gi_realloc(d->entry, d->capacity * sizeof(*d->entry));
  }
  d->entry[d->count] = *e;
  d->entry[d->count].name = gi_fop_strdup(owner, e->name, e->name_len);
  d->count++;
}

void
gi_dirents_free(struct gi_dirents *d)
{
  for (uint32_t i = 0; i < d->count; i++)
    gi_dict_unref(&d->entry[i].xdata);
  gi_free(d->entry);
  memset(d, 0, sizeof(*d));
}
