/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of one directory. Its times are its version: if they are others
 * than our own changes left, somebody else has made or removed a name.
 */
#include "xlators/performance/nl-cache/nl-cache.h"

#include "libglusterish/probe.h"
#include "libglusterish/promise.h"

void
nl_note(struct nl *nl, struct nl_fop *f)
{
  f->seq = nl->clock;
  f->epoch = nl->epoch;
  f->asked = gi_now(nl->x->reactor);
  f->unsure = gi_join_waits(&nl->joining, nl->x);
}

/* By default no longer than it is certain. Bricks of GlusterFS do not promise anything: the option says whether they tell. */
static uint64_t
life_of_names(const struct nl *nl)
{
  const struct nl_options *o = nl_options(nl);
  const struct gi_graph *g = nl->x->graph;
  uint64_t life = o->timeout * GI_NSEC_PER_SEC;

  if (!gi_xlator_option(nl->x, "nl-cache-timeout") && !o->cache_invalidation)
    return gi_promise_lease(g);
  if (gi_promise(g) || !o->cache_invalidation)
    life = gi_promise_life(g, life, NL_UNTOLD_S * GI_NSEC_PER_SEC);
  return life;
}

bool
nl_is_recent(const struct nl *nl, uint64_t asked)
{
  uint64_t life = life_of_names(nl);

  if (GI_BROKEN("believe names for longer than a lease"))
    life *= 8;
  return gi_promise_left(life, asked, gi_now(nl->x->reactor)) > 0;
}

bool
nl_may_keep(const struct nl *nl, const struct gi_inode *dir, const struct nl_fop *f)
{
  const struct nl_inode *ni = nl_inode_of(nl, dir);

  GI_ASSERT(ni->since <= nl->clock && f->seq <= nl->clock && f->epoch <= nl->epoch);

  return !nl->x->draining && nl->x->enabled && ni->changes == 0 && f->seq >= ni->since && f->epoch == nl->epoch && !f->unsure;
}

/* ---- the object ---- */

static void
bury(struct nl *nl, struct nl_dir *d)
{
  struct nl_inode *ni = nl_inode_of(nl, d->inode);

  GI_ASSERT(ni->dir == d && !gi_lru_holds(&d->item));
  ni->dir = NULL;
  nl_names_clear(&d->names);
  gi_free(d);
}

void
nl_evict(void *arg, struct gi_lru_item *item)
{
  bury(arg, gi_list_item(item, struct nl_dir, item));
}

void
nl_dir_drop(struct nl *nl, struct nl_dir *d)
{
  GI_ASSERT(gi_lru_holds(&d->item));
  nl->m.dropped++;
  gi_lru_remove(&nl->lru, &d->item);
  bury(nl, d);
}

struct nl_dir *
nl_dir_find(struct nl *nl, const struct gi_inode *inode)
{
  struct nl_dir *d = nl_inode_of(nl, inode)->dir;

  GI_ASSERT(!d || (d->inode == inode && gi_lru_holds(&d->item)));
  if (d && d->epoch != nl->epoch) {
    nl_dir_drop(nl, d);
    d = NULL;
  }
  return d;
}

struct nl_dir *
nl_dir_get(struct nl *nl, struct gi_inode *inode)
{
  struct nl_dir *d = nl_dir_find(nl, inode);

  if (d)
    return d;
  d = nl_inode_of(nl, inode)->dir = gi_new(struct nl_dir);
  d->inode = inode;
  d->epoch = nl->epoch;
  gi_lru_add(&nl->lru, &d->item, sizeof(*d));
  return d;
}

/* One directory alone may not be larger than all may be together. */
void
nl_dir_grew(struct nl *nl, struct nl_dir *d)
{
  uint64_t cost = sizeof(*d) + d->names.bytes;

  GI_ASSERT((d->names.count == 0 || d->names.bytes > 0) && gi_lru_holds(&d->item));

  if (nl_options(nl)->limit && cost > nl_options(nl)->limit)
    nl_dir_drop(nl, d);
  else
    gi_lru_recost(&nl->lru, &d->item, cost);
}

void
nl_forget(struct nl *nl, struct gi_inode *inode)
{
  struct nl_inode *ni = nl_inode_of(nl, inode);

  ni->since = ++nl->clock;
  if (ni->dir)
    nl_dir_drop(nl, ni->dir);
}

void
nl_names_told(struct nl *nl, struct gi_inode *dir, const char *const names[2])
{
  struct nl_dir *d = nl_dir_find(nl, dir);

  nl_inode_of(nl, dir)->since = ++nl->clock;
  if (!d)
    return;
  d->versioned = false; /* its times moved with that */
  d->complete = false;
  for (unsigned i = 0; i < 2; i++)
    if (names[i])
      nl_names_remove(&d->names, names[i]);
  nl_dir_grew(nl, d);
}

void
nl_forget_all(struct nl *nl)
{
  nl->epoch++;
  while (!gi_list_empty(&nl->lru.items))
    nl_dir_drop(nl, gi_list_item(gi_list_first(&nl->lru.items, struct gi_lru_item, link), struct nl_dir, item));
  GI_ASSERT(nl->lru.cost == 0);
}

/* ---- asking ---- */

/* A name that begins with a dot may lead to what no listing shows. */
static bool
is_complete_for(const struct nl_dir *d, const char *name)
{
  return d->complete && (name[0] != '.' || !d->listed);
}

bool
nl_knows_absent(struct nl *nl, struct gi_inode *dir, const char *name)
{
  struct nl_dir *d = nl_dir_find(nl, dir);
  const struct nl_name *n = d ? nl_names_find(&d->names, name) : NULL;

  if (!d)
    return false;
  if (n ? !n->there && nl_is_recent(nl, n->asked)
        : is_complete_for(d, name) && nl_inode_of(nl, dir)->changes == 0 && nl_is_recent(nl, d->asked)) {
    gi_lru_touch(&nl->lru, &d->item);
    return true;
  }
  return false;
}

/* ---- versions ---- */

static bool
same_time(const struct gi_time *a, const struct gi_time *b)
{
  return a->sec == b->sec && a->nsec == b->nsec;
}

static bool
describes(const struct gi_inode *dir, const struct gi_iatt *a)
{
  return a && gi_iatt_valid(a) && S_ISDIR(a->mode) && gi_gfid_equal(&dir->gfid, &a->gfid);
}

static bool
is_version(const struct nl_dir *d, const struct gi_iatt *a)
{
  return !d->versioned || (same_time(&d->mtime, &a->mtime) && same_time(&d->ctime, &a->ctime));
}

static void
take_version(struct nl_dir *d, const struct gi_iatt *a)
{
  d->versioned = true;
  d->mtime = a->mtime;
  d->ctime = a->ctime;
}

void
nl_see(struct nl *nl, struct gi_inode *dir, const struct gi_iatt *a, const struct nl_fop *f)
{
  struct nl_dir *d = nl_dir_find(nl, dir);

  if (!d || !describes(dir, a) || !nl_may_keep(nl, dir, f))
    return;
  if (is_version(d, a)) {
    take_version(d, a);
    return;
  }
  nl->m.foreign++;
  nl_forget(nl, dir);
}

void
nl_asked_again(struct nl *nl, struct gi_inode *dir, const struct nl_fop *f)
{
  struct nl_dir *d = nl_dir_find(nl, dir);

  if (d && d->complete && f->epoch == nl->epoch && gi_promise_left(life_of_names(nl), d->asked, f->asked) > 0 &&
      f->asked > d->asked)
    d->asked = f->asked;
}

void
nl_change_ended(struct nl *nl, struct gi_inode *dir, uint64_t began, const struct gi_iatt *found, const struct gi_iatt *left)
{
  struct nl_inode *ni = nl_inode_of(nl, dir);
  struct nl_dir *d = nl_dir_find(nl, dir);
  bool alone = ni->changes == 1 && ni->since == began;

  GI_ASSERT(ni->changes > 0 && began <= ni->since && ni->since <= nl->clock);
  ni->changes--;
  ni->since = ++nl->clock;
  if (!d)
    return;
  d->complete &= alone; /* two may have been about one name, and nobody knows which came last */
  if (alone && describes(dir, found) && !is_version(d, found)) {
    nl->m.foreign++;
    nl_dir_drop(nl, d);
  } else if (alone && describes(dir, found) && describes(dir, left)) {
    take_version(d, left);
  } else {
    d->versioned = false; /* the next attributes tell */
  }
}

/* ---- names ---- */

void
nl_name_forget(struct nl *nl, struct gi_inode *dir, const char *name)
{
  struct nl_dir *d = nl_dir_find(nl, dir);

  if (d && !GI_BROKEN("believe that a name is absent which was made") && nl_names_remove(&d->names, name))
    nl_dir_grew(nl, d);
}

void
nl_name_became(struct nl *nl, struct gi_inode *dir, const char *name, bool there)
{
  struct nl_dir *d = nl_dir_find(nl, dir);

  if (!d || !d->complete)
    return;
  if (there)
    nl_names_put(&d->names, name, true, d->asked);
  else
    nl_names_remove(&d->names, name);
  nl_dir_grew(nl, d);
}

void
nl_name_listed(struct nl *nl, struct gi_inode *dir, const char *name)
{
  struct nl_dir *d = nl_dir_find(nl, dir);
  const struct nl_name *n = d ? nl_names_find(&d->names, name) : NULL;

  if (!d || (n && n->there))
    return;
  d->complete = false;
  if (n)
    nl_name_forget(nl, dir, name);
}

void
nl_not_complete(struct nl *nl, struct gi_inode *dir)
{
  struct nl_dir *d = nl_dir_find(nl, dir);

  if (d)
    d->complete = false;
}
