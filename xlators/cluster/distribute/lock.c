/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks between clients (distribute.md 6). All wait, so whoever takes several
 * takes them in the order that all keep: subvolume, gfid, name.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/mutants.h"

#include <errno.h>

#define DOMAIN_LAYOUT "dht.layout.heal"
#define DOMAIN_NAME "dht.entry.sync"
#define DOMAIN_MIGRATE "dht.file.migrate"

/* One for all of them: a brick lets nobody wait for whoever waits for another lock of his. */
static struct gi_owner
owner_of(struct di *d, struct di_locks *l)
{
  uint64_t n;

  if (l->owner.len == 0) {
    n = ++d->owners;
    l->owner.len = sizeof(n);
    memcpy(l->owner.data, &n, sizeof(n));
  }
  return l->owner;
}

static const char *
domain_of(const struct di *d, enum di_lock_kind kind)
{
  switch (kind) {
  case DI_LOCK_NAME:
    return DOMAIN_NAME;
  case DI_LOCK_MIGRATE:
  case DI_LOCK_MIGRATE_NOW:
    return DOMAIN_MIGRATE;
  case DI_LOCK_SIZE:
  case DI_LOCK_SIZE_NOW:
    return d->size_domain;
  default:
    return DOMAIN_LAYOUT;
  }
}

/* `type`: GI_LK_*; one of a name is exclusive. */
static struct gi_fop *
lock_fop(struct gi_fop *fop, const struct di_lock *l, uint32_t type)
{
  struct gi_fop *h = di_helper(fop, l->entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK);
  bool drops = type == GI_LK_UNLOCK;

  GI_ASSERT(l->domain && l->owner.len > 0);
  h->caller.owner = l->owner;
  h->loc.gfid = l->loc.gfid;
  gi_loc_set_inode(&h->loc, l->loc.inode);
  h->args.domain = l->domain;
  if (l->entry) {
    h->args.name = l->name;
    h->args.cmd = drops ? GI_ENTRYLK_UNLOCK : GI_ENTRYLK_LOCK;
    h->args.type = 1;
    return h;
  }
  h->args.cmd = drops || l->now ? GI_LKCMD_SET : GI_LKCMD_SETW;
  h->args.type = h->args.flock.type = type;
  return h;
}

/* `loc` is the object for locks of inodes, and the directory for those of names. */
int
di_lock(struct di *d, struct gi_fop *fop, struct di_locks *l, enum di_lock_kind kind, unsigned child, const struct gi_loc *loc,
        const char *name)
{
  GI_ASSERT(l->n < GI_ARRAY_LEN(l->lock) && child < d->n);

  struct di_lock *k = &l->lock[l->n];
  int err;

  GI_ASSERT((kind == DI_LOCK_NAME) == (name != NULL));
  *k = (struct di_lock){.child = (uint8_t)child, .entry = kind == DI_LOCK_NAME, .name = name, .domain = domain_of(d, kind)};
  k->now = kind == DI_LOCK_MIGRATE_NOW || kind == DI_LOCK_SIZE_NOW;
  k->loc.gfid = loc->inode ? loc->inode->gfid : loc->gfid;
  k->loc.inode = gi_inode_ref(loc->inode);
  GI_ASSERT(!gi_gfid_is_none(&k->loc.gfid));
  k->owner = owner_of(d, l);
  err = di_do_drop(d, lock_fop(fop, k, kind == DI_LOCK_LAYOUT_READ ? GI_LK_READ : GI_LK_WRITE), child);
  if (err)
    gi_loc_clear(&k->loc);
  else
    l->n++;
  return err;
}

/* Under the lock of the layout: does the name belong to `child`, as that has it? EAGAIN: not any more, and the layout is to be read again. */
static int
check_layout(struct di *d, struct gi_fop *fop, unsigned child, const struct gi_loc *dir, const char *name)
{
  struct gi_inode *inode = gi_inode_find(d->x->graph, &dir->gfid);
  const struct di_layout *l = inode ? di_inode_of(d, inode)->layout : NULL;
  struct di_range have = di_range_ask(d, fop, dir, child);
  uint32_t hash = di_hash_name(&d->munge, name);
  int err = 0;

  if (!have.err && !GI_BROKEN("accept an old layout") && (di_range_empty(&have) || hash < have.start || hash > have.stop))
    err = EAGAIN;
  if (err && inode)
    di_layout_stale(d, inode, l);
  gi_inode_unref(&inode);
  return err;
}

/* A second lock of the layout, for another name in the directory, would wait for who waits for the first one to exchange the layout. */
static bool
has_layout(const struct di_locks *l, unsigned child, const struct gi_gfid *dir)
{
  for (unsigned i = 0; i < l->n; i++)
    if (l->lock[i].child == child && strcmp(l->lock[i].domain, DOMAIN_LAYOUT) == 0 && gi_gfid_equal(&l->lock[i].loc.gfid, dir))
      return true;
  return false;
}

int
di_lock_name(struct di *d, struct gi_fop *fop, struct di_locks *l, unsigned child, const struct gi_loc *entry)
{
  GI_ASSERT(entry->name);

  struct gi_loc parent = {.gfid = entry->parent ? entry->parent->gfid : entry->pargfid, .inode = entry->parent};
  int err = has_layout(l, child, &parent.gfid) ? 0 : di_lock(d, fop, l, DI_LOCK_LAYOUT_READ, child, &parent, NULL);

  if (!err)
    err = check_layout(d, fop, child, &parent, entry->name);
  return err ? err : di_lock(d, fop, l, DI_LOCK_NAME, child, &parent, entry->name);
}

static void
drop_reply(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
}

int
di_lock_order(const struct di *d, unsigned a, const struct gi_gfid *ga, unsigned b, const struct gi_gfid *gb)
{
  int c = strcmp(d->x->children[a]->name, d->x->children[b]->name);

  return c ? c : memcmp(ga, gb, sizeof(*ga));
}

int
di_lock_names(struct di *d, struct gi_fop *fop, struct di_locks *l, unsigned src_hashed, unsigned dst_hashed)
{
  const struct gi_loc *src = &fop->loc, *dst = &fop->loc2;
  int c = di_lock_order(d, src_hashed, &src->parent->gfid, dst_hashed, &dst->parent->gfid), err;

  if (c == 0)
    c = strcmp(src->name, dst->name);
  err = c > 0 ? di_lock_name(d, fop, l, dst_hashed, dst) : di_lock_name(d, fop, l, src_hashed, src);
  if (!err && c != 0)
    err = c > 0 ? di_lock_name(d, fop, l, src_hashed, src) : di_lock_name(d, fop, l, dst_hashed, dst);
  return err;
}

/* All at once. A subvolume that is down has dropped its own. */
void
di_unlock(struct di *d, struct gi_fop *fop, struct di_locks *l)
{
  struct di_ask ask;

  GI_ASSERT(l->n <= GI_ARRAY_LEN(l->lock));
  if (l->n == 0)
    return;
  di_ask_begin(d, &ask);
  ask.fan.each = drop_reply;
  for (unsigned i = l->n; i-- > 0;)
    di_ask_send(d, &ask, lock_fop(fop, &l->lock[i], GI_LK_UNLOCK), l->lock[i].child);
  di_ask_wait(d, &ask);
  di_ask_end(&ask);
  for (unsigned i = 0; i < l->n; i++)
    gi_loc_clear(&l->lock[i].loc);
  l->n = 0;
  l->owner.len = 0;
}
