/* SPDX-License-Identifier: Apache-2.0
 *
 * What bricks say that others did (features/upcall): which attributes, data and
 * names the kernel has to drop. Every brick with a copy says it, so the same
 * comes several times.
 */
#include "fuse-internal.h"

#include "libglusterish/promise.h"

#include <sys/stat.h>

#define UPCALL_DATA (GI_UPCALL_SIZE | GI_UPCALL_TIMES) /* perhaps: the attributes tell */
#define UPCALL_NAME \
  (GI_UPCALL_RENAME | GI_UPCALL_FORGET | GI_UPCALL_LOOK_AGAIN | GI_UPCALL_NLINK) /* one of its names may have gone */
#define UPCALL_ENTRIES \
  (GI_UPCALL_NLINK | GI_UPCALL_TIMES | GI_UPCALL_PARENT_TIMES | GI_UPCALL_FORGET | GI_UPCALL_LOOK_AGAIN) /* of a directory */

/* ---- names that nothing has ---- */

#define ABSENT_MAX 1024

#define ABSENT_MAGIC 0xf05eab5eu

struct absent {
  uint32_t magic;
  struct gi_list link;
  uint64_t parent_id;
  uint64_t until; /* gi_now: then the kernel asks by itself */
  char *name;
};

static void
absent_free(struct bridge *b, struct absent *a)
{
  GI_CHECK(a, ABSENT_MAGIC);
  GI_ASSERT(b->absent.count > 0);
  a->magic = 0;
  b->absent.count--;
  gi_list_del(&a->link);
  gi_free(a->name);
  gi_free(a);
}

static void
absent_drop(struct bridge *b, struct absent *a)
{
  inval_absent(b, a->parent_id, a->name);
  a->name = NULL;
  absent_free(b, a);
}

void
absent_told(struct bridge *b, const struct gi_loc *loc)
{
  uint64_t now = gi_now(b->x->reactor), parent_id = node_kernel_id(b, loc->parent);
  struct absent *a;

  gi_list_foreach_safe(old, &b->absent.list, struct absent, link) {
    if (old->until > now)
      break;
    absent_free(b, old);
  }
  if (parent_id == 0)
    return;
  if (b->absent.count == ABSENT_MAX)
    absent_drop(b, gi_list_first(&b->absent.list, struct absent, link));
  GI_ASSERT(b->absent.count < ABSENT_MAX);
  a = gi_new(struct absent);
  a->magic = ABSENT_MAGIC;
  a->parent_id = parent_id;
  a->until = now + (uint64_t)(b->negative_timeout * GI_NSEC_PER_SEC);
  a->name = gi_strdup(loc->name);
  gi_list_add_tail(&b->absent.list, &a->link);
  b->absent.count++;
}

/* Of that directory; 0: of all. */
static void
absent_drop_of(struct bridge *b, uint64_t parent_id)
{
  gi_list_foreach_safe(a, &b->absent.list, struct absent, link) {
    if (parent_id == 0 || a->parent_id == parent_id)
      absent_drop(b, a);
  }
}

void
absent_stop(struct bridge *b)
{
  gi_list_foreach_safe(a, &b->absent.list, struct absent, link)
    absent_free(b, a);
  GI_ASSERT(b->absent.count == 0);
}

/* ---- events ---- */

/* Names there have changed, and it is not said which. */
static void
drop_listed(struct bridge *b, struct gi_inode *dir)
{
  uint64_t id = node_kernel_id(b, dir);

  if (!node_of(b, dir)->listed)
    return;
  node_of(b, dir)->listed = false;
  gi_list_foreach(n, &b->lru, struct node, lru)
    if (n->parent_id == id && n->name_until)
      inval_name(b, n);
}

static void
directory_changed(struct bridge *b, const struct gi_gfid *gfid, bool named)
{
  struct gi_inode *dir = gi_gfid_is_none(gfid) ? NULL : gi_inode_find(b->x->graph, gfid);

  if (!dir)
    return;
  absent_drop_of(b, node_kernel_id(b, dir));
  if (!named)
    drop_listed(b, dir);
  inval_inode(b, dir, false);
  gi_inode_unref(&dir);
}

/* Times and size are told of together, also when only the mode was changed: the attributes that come with it show whether the data
 * is what the kernel has. */
static bool
has_changed_data(const struct bridge *b, const struct gi_inode *inode, const struct gi_invalidation *inv)
{
  if (S_ISDIR(inode->mode))
    return false;
  return (inv->flags & GI_UPCALL_FORGET) ||
         ((inv->flags & UPCALL_DATA) && !gi_trust_has_data(&node_of(b, inode)->trust, &inode->gfid, &inv->stat));
}

/* More links: a name has come, and none has gone. */
static bool
has_lost_name(const struct node *n, const struct gi_invalidation *inv)
{
  if (!(inv->flags & UPCALL_NAME))
    return false;
  return (inv->flags & UPCALL_NAME & ~GI_UPCALL_NLINK) || !gi_iatt_valid(&inv->stat) || inv->stat.nlink <= n->trust.attr.nlink;
}

static void
inode_changed(struct bridge *b, struct gi_inode *inode, const struct gi_invalidation *inv, bool named)
{
  struct node *n = node_of(b, inode);
  bool data = has_changed_data(b, inode, inv);

  if (has_lost_name(n, inv))
    inval_name(b, n);
  if (inv->flags & ~GI_UPCALL_ATIME) { /* a read by others takes nothing away */
    node_others(b, inode);
    gi_trust_broken(&n->trust, data);
  }
  if (S_ISDIR(inode->mode) && (inv->flags & UPCALL_ENTRIES))
    directory_changed(b, &inode->gfid, named);
  else
    inval_inode(b, inode, data);
}

/* A name that came or went in the directory, which a brick of ours tells; one of GlusterFS does not. */
static void
name_changed(struct bridge *b, const struct gi_invalidation *inv, const char *key, const struct gi_gfid *gfid)
{
  const char *name;
  struct gi_inode *dir = gi_dict_get_str(inv->xdata, key, &name) ? gi_inode_find(b->x->graph, gfid) : NULL;

  if (!dir)
    return;
  if (dir == b->root || node_of(b, dir)->id)
    inval_absent(b, node_kernel_id(b, dir), gi_strdup(name));
  gi_inode_unref(&dir);
}

static bool
names_changed(struct bridge *b, const struct gi_invalidation *inv)
{
  const struct gi_gfid *to = gi_iatt_valid(&inv->parent) ? &inv->parent.gfid : &inv->gfid;

  name_changed(b, inv, GI_NAME_KEY, gi_iatt_valid(&inv->old_parent) ? &inv->old_parent.gfid : to);
  name_changed(b, inv, GI_NAME2_KEY, to);
  return gi_dict_get(inv->xdata, GI_NAME_KEY) && !(inv->flags & (GI_UPCALL_FORGET | GI_UPCALL_LOOK_AGAIN));
}

/* ---- somebody waits until the kernel knows ---- */

#define TOLD_MAGIC 0xf05e701du

struct told {
  uint32_t magic;
  struct gi_list link;    /* bridge.told, while `taken` is set */
  struct gi_taken *taken; /* held; NULL: nobody waits any more */
  unsigned lanes;         /* that have not come to it */
};

static void
let_go_on(struct told *t)
{
  struct gi_taken *taken = t->taken;

  GI_CHECK(t, TOLD_MAGIC);
  GI_ASSERT(taken);
  gi_list_del(&t->link);
  t->taken = NULL;
  gi_taken_release(taken);
}

static void
told_to_kernel(struct bridge *b, void *arg)
{
  struct told *t = arg;

  GI_CHECK(t, TOLD_MAGIC);
  GI_ASSERT(t->lanes > 0);
  (void)b;
  if (--t->lanes > 0)
    return;
  if (t->taken)
    let_go_on(t);
  t->magic = 0;
  gi_free(t);
}

/* ---- what of ours is under way ---- */

#define WAIT_MAGIC 0xf05e7a17u

struct lock_wait {
  uint32_t magic;
  struct gi_list link; /* bridge.waits */
  struct gi_gfid gfid;
};

static struct lock_wait *
find_wait(const struct bridge *b, const struct gi_gfid *gfid)
{
  gi_list_foreach(w, &b->waits, struct lock_wait, link)
    if (gi_gfid_equal(&w->gfid, gfid))
      return w;
  return NULL;
}

static void
wait_over(struct lock_wait *w)
{
  GI_CHECK(w, WAIT_MAGIC);
  w->magic = 0;
  gi_list_del(&w->link);
  gi_free(w);
}

void
upcall_stop(struct bridge *b)
{
  gi_list_foreach_safe(w, &b->waits, struct lock_wait, link)
    wait_over(w);
}

/* Nobody waits for the kernel to let go of a name there. So it is to keep none from now on: it will not be asked to. */
static void
share(struct bridge *b, struct gi_inode *inode)
{
  if (S_ISDIR(inode->mode))
    node_of(b, inode)->shared_until = gi_now(b->x->reactor) + gi_promise_lease(b->x->graph);
}

/* We are changing it ourselves, or wait for whoever does, in a lookup too: the kernel may hold what it would have to let go of until that is
 * answered, which may wait for whoever waits for us. */
static bool
is_changing(struct bridge *b, struct gi_inode *inode, const void *arg)
{
  const struct node *n = node_of(b, inode);

  (void)arg;
  if (n->naming == 0 && n->trust.inflight == 0 && !find_wait(b, &inode->gfid))
    return false;
  share(b, inode);
  return true;
}

/* Somebody waits until the kernel knows; not while it may wait for him. What it is told first may hold up the rest. */
static void
tell_taken(struct bridge *b, const struct gi_invalidation *inv)
{
  struct told *t;

  if (!inv->taken || inval_any(b, is_changing, NULL))
    return;
  t = gi_new(struct told);
  t->magic = TOLD_MAGIC;
  t->taken = gi_taken_hold(inv->taken);
  t->lanes = 2;
  gi_list_add_tail(&b->told, &t->link);
  inval_then(b, &b->inodes_to_drop, told_to_kernel, t);
  inval_then(b, &b->names_to_drop, told_to_kernel, t);
}

static bool
is_it(struct bridge *b, struct gi_inode *inode, const void *gfid)
{
  if (!gi_gfid_equal(&inode->gfid, gfid))
    return false;
  share(b, inode);
  return true;
}

static void
changing(struct bridge *b, const struct gi_gfid *gfid)
{
  if (gi_list_empty(&b->told) || !inval_any(b, is_it, gfid))
    return;
  gi_list_foreach_safe(t, &b->told, struct told, link)
    let_go_on(t);
}

void
upcall_changing(struct bridge *b, const struct gi_inode *inode)
{
  changing(b, &inode->gfid);
}

void
upcall_waits(struct bridge *b, const struct gi_lock_wait *w)
{
  struct lock_wait *mine;

  if (w->over) {
    mine = find_wait(b, &w->gfid);
    if (mine)
      wait_over(mine);
    return;
  }
  mine = gi_new(struct lock_wait);
  mine->magic = WAIT_MAGIC;
  mine->gfid = w->gfid;
  gi_list_add_tail(&b->waits, &mine->link);
  changing(b, &w->gfid);
}

void
upcall_event(struct bridge *b, const struct gi_invalidation *inv)
{
  struct gi_invalidation all = *inv;
  struct gi_inode *inode = gi_gfid_is_none(&inv->gfid) ? NULL : gi_inode_find(b->x->graph, &inv->gfid);

  bool named;

  b->m.upcalls++;
  if (inv->flags & ~GI_UPCALL_ALL) /* from the future */
    all.flags |= GI_UPCALL_FORGET;
  b->news++;
  named = names_changed(b, inv);
  if (inode && all.flags)
    inode_changed(b, inode, &all, named);
  gi_inode_unref(&inode);
  if (gi_iatt_valid(&inv->parent))
    directory_changed(b, &inv->parent.gfid, named);
  if (gi_iatt_valid(&inv->old_parent) && !gi_gfid_equal(&inv->old_parent.gfid, &inv->parent.gfid))
    directory_changed(b, &inv->old_parent.gfid, named);
  tell_taken(b, inv);
}

/* ---- bricks that were away ---- */

#define SHORT_S 1.0 /* what is promised for no longer is asked for again soon enough */

void
upcall_missed(struct bridge *b)
{
  bool attributes = b->attr_timeout > SHORT_S, names = b->entry_timeout > SHORT_S;

  b->news++;
  if (bridge_options(b)->kernel_writeback_cache) /* there are no others */
    return;
  if (b->negative_timeout > SHORT_S)
    absent_drop_of(b, 0);
  if (!attributes && !names)
    return;
  gi_list_foreach(n, &b->lru, struct node, lru) {
    GI_ASSERT(n->id && n->inode);
    if (attributes) /* they tell what became of the data */
      inval_inode(b, n->inode, false);
    if (names)
      inval_name(b, n);
  }
}
