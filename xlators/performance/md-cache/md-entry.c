/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of an inode: until when it is good, and how it goes. Of an inode
 * without an entry the cache remembers one thing for all together: replies to what
 * was asked for before the last of them was told of, or thrown out, are not kept.
 */
#include "xlators/performance/md-cache/md-cache.h"

#include "libglusterish/promise.h"

#define UPCALL_OF_XATTRS \
  (GI_UPCALL_MODE | GI_UPCALL_OWNER | GI_UPCALL_PERMISSIONS | GI_UPCALL_FORGET | GI_UPCALL_XATTR | GI_UPCALL_XATTR_GONE | \
   GI_UPCALL_LOOK_AGAIN | GI_UPCALL_INVAL_ATTR)

void
md_note(struct md *md, struct md_fop *f)
{
  f->seq = md->order.clock;
  f->unsure = gi_join_waits(&md->joining, md->x);
  f->age = (struct md_age){gi_now(md->x->reactor), md->epoch, md->order.locks, md->order.names, md->dir_names};
}

/* ---- until when ---- */

/* Bricks of GlusterFS do not promise anything: the option says whether they tell. */
uint64_t
md_timeout_ns(const struct md *md)
{
  const struct md_options *o = md_options(md);
  const struct gi_graph *g = md->x->graph;
  uint64_t want = (uint64_t)o->timeout * GI_NSEC_PER_SEC;

  return o->cache_invalidation && !gi_promise(g) ? want : gi_promise_life(g, want, MD_CLAMP_S * GI_NSEC_PER_SEC);
}

bool
md_is_told(const struct md *md)
{
  return md_options(md)->cache_invalidation || gi_promise(md->x->graph);
}

static bool
is_current(const struct md *md, const struct md_age *age, bool dir)
{
  GI_ASSERT(age->epoch <= md->epoch && age->locks <= md->order.locks && age->names <= md->order.names);
  GI_ASSERT(age->dir_names <= md->dir_names);
  return age->epoch == md->epoch && age->locks == md->order.locks &&
         (dir ? age->dir_names == md->dir_names : age->names == md->order.names);
}

bool
md_is_fresh(const struct md *md, const struct md_age *age, bool dir)
{
  return is_current(md, age, dir) && gi_now(md->x->reactor) < age->asked + md_timeout_ns(md);
}

bool
md_may_keep(const struct md *md, const struct md_entry *e, const struct md_fop *f)
{
  uint64_t since = e ? e->since : md->since;

  GI_ASSERT(since <= md->order.clock && f->seq <= md->order.clock);
  return !md->x->draining && md->x->enabled && f->seq >= since && !f->unsure && is_current(md, &f->age, e && e->dir);
}

/* ---- entries ---- */

uint64_t
md_names(const struct md *md, const struct md_entry *e)
{
  return e->dir ? md->dir_names : md->order.names;
}

void
md_entry_type(struct md *md, struct md_entry *e, uint32_t mode)
{
  GI_ASSERT(e->names == md_names(md, e));
  e->dir |= S_ISDIR(mode);
  e->names = md_names(md, e);
}

struct md_entry *
md_entry_find(const struct md *md, const struct gi_inode *inode)
{
  return ((struct md_inode *)gi_inode_private(inode, md->x))->entry;
}

struct md_entry *
md_entry_get(struct md *md, struct gi_inode *inode)
{
  struct md_inode *mi = gi_inode_private(inode, md->x);

  if (!mi->entry) {
    mi->entry = gi_new(struct md_entry);
    mi->entry->inode = inode;
    mi->entry->since = mi->entry->xattr_since = md->since;
    mi->entry->dir = S_ISDIR(inode->mode);
    mi->entry->names = md_names(md, mi->entry);
    gi_lru_add(&md->lru, &mi->entry->item, sizeof(*mi->entry));
  }
  GI_ASSERT(mi->entry->inode == inode);
  return mi->entry;
}

bool
md_entry_catch_up(struct md *md, struct md_entry *e)
{
  GI_ASSERT(e->names <= md_names(md, e));
  if (e->names == md_names(md, e))
    return true;
  e->names = md_names(md, e);
  gi_trust_touched(&md->order, &e->trust);
  return false;
}

static uint64_t
cost_of(const struct md_entry *e)
{
  uint64_t cost = sizeof(*e);

  for (uint32_t i = 0; i < gi_dict_count(e->xattrs); i++)
    cost += sizeof(struct gi_pair) + gi_dict_at(e->xattrs, i)->key_len + gi_dict_at(e->xattrs, i)->len;
  return cost;
}

void
md_entry_settle(struct md *md, struct md_entry *e)
{
  GI_ASSERT(e->xattr_changes <= e->trust.inflight);
  GI_ASSERT(e->since <= md->order.clock && e->xattr_since <= md->order.clock);
  if (e->trust.inflight > 0) {
    GI_ASSERT(!gi_lru_holds(&e->item));
    return;
  }
  if (gi_lru_holds(&e->item))
    gi_lru_recost(&md->lru, &e->item, cost_of(e));
  else
    gi_lru_add(&md->lru, &e->item, cost_of(e));
}

static uint64_t
later(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

/* What is on its way may have been asked for before what the entry knew of. */
static void
bury(struct md *md, struct md_entry *e)
{
  struct md_inode *mi = gi_inode_private(e->inode, md->x);

  GI_ASSERT(e->trust.inflight == 0 && mi->entry == e);
  md->since = later(md->since, later(later(e->since, e->xattr_since), e->trust.seq));
  mi->entry = NULL;
  gi_dict_unref(&e->xattrs);
  gi_free(e);
}

void
md_evict(void *arg, struct gi_lru_item *item)
{
  bury(arg, gi_list_item(item, struct md_entry, item));
}

void
md_entry_free(struct md *md, struct md_entry *e)
{
  GI_ASSERT(gi_lru_holds(&e->item));
  gi_lru_remove(&md->lru, &e->item);
  bury(md, e);
}

/* ---- forgetting ---- */

void
md_forget_attr(struct md *md, struct md_entry *e)
{
  md->m.dropped += e->good;
  e->good = false;
  e->writes = false;
  e->since = ++md->order.clock;
}

void
md_forget_xattr(struct md *md, struct md_entry *e)
{
  md->m.dropped += e->xattrs != NULL || e->complete;
  gi_dict_unref(&e->xattrs);
  e->complete = false;
  e->xattr_since = ++md->order.clock;
}

void
md_gone(struct md *md, struct gi_inode *inode)
{
  struct md_entry *e = md_entry_find(md, inode);

  if (!e) {
    md->since = ++md->order.clock;
    return;
  }
  md_forget_attr(md, e);
  md_forget_xattr(md, e);
  gi_trust_forget(&e->trust);
}

/* Entries stay: whose version it was is known still, and tells what was changed meanwhile. */
void
md_forget_all(struct md *md)
{
  md->epoch++;
  md->statfs_good = false;
  md->m.dropped++;
}

static void
forget_of(struct md *md, const struct gi_gfid *gfid, uint32_t flags)
{
  struct gi_inode *inode = gi_gfid_is_none(gfid) ? NULL : gi_inode_find(md->x->graph, gfid);
  struct md_entry *e = inode ? md_entry_find(md, inode) : NULL;

  if (e) {
    md_forget_attr(md, e);
    if (flags & UPCALL_OF_XATTRS || flags == 0)
      md_forget_xattr(md, e);
    else if (flags & (GI_UPCALL_SIZE | GI_UPCALL_TIMES))
      md_data_changed(md, e);
    gi_trust_broken(&e->trust, true); /* it is told already */
  } else {
    md->since = ++md->order.clock;
  }
  gi_inode_unref(&inode);
}

/* The attributes in the message are not taken: nobody knows which of them and of our own last reply is the younger. */
void
md_invalidated(struct md *md, const struct gi_invalidation *inv)
{
  md->m.invalidated++;
  forget_of(md, &inv->gfid, inv->flags);
  if (gi_iatt_valid(&inv->parent))
    forget_of(md, &inv->parent.gfid, GI_UPCALL_TIMES);
  if (gi_iatt_valid(&inv->old_parent))
    forget_of(md, &inv->old_parent.gfid, GI_UPCALL_TIMES);
}
