/* SPDX-License-Identifier: Apache-2.0
 *
 * One name of a directory: looked at, decided and healed under a lock on it.
 *
 * Which lock. The healers of GlusterFS lock all names of the directory (NULL) for
 * each name. This healer locks the name alone, as every client does to change it,
 * so that many names can be healed at a time:
 *   - other healers of this directory are kept out by the self-heal domain. A
 *     healer of a single name locks that name. A healer that locks NULL conflicts
 *     with this one as it does with a client;
 *   - a client that changes this name locks it. So the healer sees the results of
 *     whole transactions, with their counters. Renames and links lock every name
 *     they touch; removing the directory locks NULL;
 *   - transactions on other names change the counters of the directory meanwhile.
 *     A pending counter is written before the lock of its name is given back, so
 *     it is complete for this name. A dirty counter is not: under NULL it means an
 *     interrupted change, under the lock of a name it may belong to a change of
 *     another name that is under way. It would turn the decision into a merge, and
 *     a merge may bring removed names back.
 * So a decision under the lock of a name counts only if no dirty counter has moved
 * since NULL was held. Otherwise the healer locks NULL and decides again. The
 * names of one heal have different lock owners, and a healer that waits for a lock
 * holds none.
 *
 * Two names may be one object (hard links, a rename that passes through the heal).
 * Within this process the task that makes or removes an object takes its gfid
 * first, so nothing is created twice.
 */
#include "xlators/cluster/replicate/heal/names.h"

#include "libglusterish/probe.h"

static uint32_t
having_errno(const struct rep_view *v, int err)
{
  uint32_t set = 0;

  rep_foreach(i, v->asked & ~v->ok) if (v->err[i] == err) set |= 1u << i;
  return set;
}

static bool
same_type(const struct gi_iatt *a, const struct gi_iatt *b)
{
  return (a->mode & S_IFMT) == (b->mode & S_IFMT);
}

/* ---- locking ---- */

/* Whether a dirty counter may belong to a change of another name that is under way now. */
static bool
may_be_under_way(const struct rep_name *n)
{
  rep_foreach(i, n->dir.ok) if (n->dir.dirty[REP_ENTRY][i] != (n->quiet ? n->quiet->dirty[REP_ENTRY][i] : 0)) return true;
  return false;
}

static int
view_name(struct rep_name *n)
{
  struct rep *rep = n->h->rep;
  struct gi_dict *xdata = gi_dict_new();
  int err;

  gi_dict_set_int(xdata, "gfidless-lookup", 1);
  rep_view_clear(&n->dir);
  rep_view_clear(&n->view);
  rep_view_parent_and_name(n->h, n->parent, n->name, xdata, rep->all, &n->dir, &n->view);
  gi_dict_unref(&xdata);
  if (n->dir.ok == rep->all)
    return 0;
  err = rep_view_errno(&n->dir);
  return err ? -err : -ENOTCONN;
}

int
rep_name_lock(struct rep_name *n, bool whole)
{
  struct rep *rep = n->h->rep;
  int err;

  GI_CHECK(n->h, REP_HEAL_MAGIC);
  GI_ASSERT(n->parent && n->name && n->name[0] && !strchr(n->name, '/') && !n->lock.held);
  n->lock = (struct rep_heal_lock){.entry = true, .inode = n->parent, .name = whole ? NULL : n->name};
  if (rep->up != rep->all || rep_heal_lock(n->h, &n->lock, REP_LOCK_WAIT, rep->all) != rep->all) {
    rep_heal_unlock(n->h, &n->lock);
    return -ENOTCONN;
  }
  err = view_name(n);
  if (err) {
    rep_heal_unlock(n->h, &n->lock);
    return err;
  }
  GI_ASSERT(n->lock.held == rep->all && n->dir.ok == rep->all);
  rep_decide(n->h, &n->dir, REP_ENTRY, rep->all, &n->d);
  if (whole || !may_be_under_way(n))
    return 0;
  rep_heal_unlock(n->h, &n->lock);
  return rep_name_lock(n, true);
}

void
rep_name_unlock(struct rep_name *n)
{
  rep_heal_unlock(n->h, &n->lock);
  rep_view_clear(&n->dir);
  rep_view_clear(&n->view);
}

/* ---- what is there ---- */

/* Children that show the very object that child `from` shows. */
static uint32_t
owners_of(const struct rep_name *n, unsigned from)
{
  const struct gi_iatt *ref = &n->view.stat[from];
  uint32_t set = 0;

  rep_foreach(i, n->view.ok) if (gi_gfid_equal(&n->view.stat[i].gfid, &ref->gfid) && same_type(&n->view.stat[i], ref)) set |=
      1u << i;
  return set;
}

/* Children of `among` that have an object without gfid there, of the type that `from` shows. */
static uint32_t
nameless_like(const struct rep_name *n, unsigned from, uint32_t among)
{
  uint32_t set = 0;

  rep_foreach(i, n->view.ok & among) if (gi_gfid_is_none(&n->view.stat[i].gfid) &&
                                         same_type(&n->view.stat[i], &n->view.stat[from])) set |= 1u << i;
  return set;
}

static int
first_with_gfid(const struct rep_name *n, uint32_t among)
{
  rep_foreach(i, n->view.ok & among) if (!gi_gfid_is_none(&n->view.stat[i].gfid)) return (int)i;
  return -1;
}

/* All of `among` show one object, or none yet: same type, and no two gfids. */
static bool
agree(const struct rep_name *n, uint32_t among)
{
  int ref = first_with_gfid(n, among);

  among &= n->view.ok;
  if (ref < 0)
    ref = rep_first(among);
  return !(among & ~owners_of(n, (unsigned)ref) & ~nameless_like(n, (unsigned)ref, among));
}

static int
keep_error(int have, int next)
{
  return next ? next : have;
}

static bool
outnumber(uint32_t a, uint32_t b)
{
  int na = __builtin_popcount(a), nb = __builtin_popcount(b);

  return na > nb || (na && na == nb && rep_first(a) < rep_first(b));
}

/* A directory has one name. If a quorum has this directory under another name, and too few have it here for this name to be acknowledged
 * and still valid, it was moved: the copies that have it here lost the move with their power, or the move failed. No accusation is
 * needed. The heal keeps the directory in the anonymous directory, from where it gets the other name. If neither name is on a quorum
 * either may be right, unless only outdated copies show it; then the name that fewer copies have goes. It stays where the heal of the
 * other place removes the other name: a rename that only few copies did, one of them good, is completed in both places. */
static bool
moved_away(struct rep_name *n, unsigned from, uint32_t owners)
{
  const struct rep *rep = n->h->rep;
  uint32_t missed = n->d.merge ? n->d.stale : n->d.sinks;

  if (!n->elsewhere || !rep_quorums_meet(rep) || rep_quorum(rep, owners) ||
      (!rep_quorum(rep, n->elsewhere) && !outnumber(n->elsewhere & ~missed, owners)))
    return false;
  if (rep_name_kept_elsewhere(n, from, n->elsewhere))
    return true;
  GI_PROBE("replicate: a directory stays that most have under other names, but not for long");
  return false;
}

/* The same, asked before anything else under the name goes: an object that the directory hides may be the one that was there when the
 * move failed. */
static bool
stands_elsewhere(struct rep_name *n, unsigned from, uint32_t owners)
{
  const struct rep *rep = n->h->rep;

  if (!S_ISDIR(n->view.stat[from].mode) || !rep_anon_used(rep) || !rep_quorums_meet(rep) || rep_quorum(rep, owners))
    return false;
  n->elsewhere = rep_name_elsewhere(n, from, n->d.locked & ~owners);
  return moved_away(n, from, owners);
}

/* An object without gfid becomes a copy of what `from` shows. It cannot if the child has that object already, under another name or in
 * the anonymous directory. Then an empty one, which a power loss left of a creation, is removed, and the child is added to `absent`. */
static int
complete(struct rep_name *n, unsigned from, uint32_t owners, uint32_t nameless, uint32_t *absent)
{
  int err = 0, one;

  rep_foreach(i, nameless)
  {
    one = rep_name_complete(n, from, owners, 1u << i);
    if (one == -EEXIST && rep_name_empty(&n->view.stat[i])) {
      GI_PROBE("replicate: something without gfid gives way to an object that is elsewhere on the brick");
      n->failed &= ~(1u << i);
      one = rep_name_remove_empty(n, 1u << i);
      *absent |= one ? 0 : 1u << i;
    }
    err = keep_error(err, one);
  }
  return err;
}

/* Makes every child of `targets` show what `from` shows. Another object in its place is removed only on children of `losers`. */
static int
follow(struct rep_name *n, unsigned from, uint32_t targets, uint32_t losers)
{
  uint32_t owners = owners_of(n, from), absent = having_errno(&n->view, ENOENT) & targets;
  uint32_t nameless = nameless_like(n, from, targets), wrong = n->view.ok & losers & ~owners & ~nameless;
  int err = 0, failed = 0;

  GI_ASSERT(((n->view.ok >> from) & 1) && !(owners & nameless) && !((targets | losers) & ~n->d.locked));
  if (wrong && stands_elsewhere(n, from, owners)) {
    GI_PROBE("replicate: a directory that most have under another name does not replace what others have here");
    GI_ASSERT(!(owners & wrong));
    err = rep_name_expunge(n, owners);
    n->look_again = !err;
    n->emptied |= owners;
    return err;
  }
  err = complete(n, from, owners, nameless, &absent);
  if (wrong) {
    failed = rep_name_expunge(n, wrong);
    err = keep_error(err, failed);
    wrong &= ~n->failed;
  }
  if (absent | wrong)
    err = keep_error(err, rep_name_recreate(n, from, owners, absent | wrong));
  if (moved_away(n, from, owners)) {
    GI_PROBE("replicate: a directory that most have under another name is taken away here");
    n->failed &= ~n->elsewhere;
    n->later = false;
    err = rep_name_expunge(n, owners);
  }
  return err;
}

static int
refuse_name(struct rep_name *n, int err, uint32_t failed)
{
  GI_ASSERT(err < 0 && failed);
  n->failed |= failed;
  n->mismatch = err == -EIO;
  return err;
}

/* Children with an object that a power loss interrupted in its creation: it has a name and no gfid, and fewer copies have it than an
 * acknowledgement needs. Only an empty one counts: a file with data may have been put on the brick by hand. */
static bool
unfinished(const struct rep_name *n, uint32_t present)
{
  return present == n->view.ok && present == rep_name_no_gfid(n, present) && rep_quorums_meet(n->h->rep) &&
         !rep_quorum(n->h->rep, present);
}

static bool
quorum_has_one(const struct rep_name *n)
{
  rep_foreach(i, n->view.ok) if (!gi_gfid_is_none(&n->view.stat[i].gfid) && rep_quorum(n->h->rep, owners_of(n, i))) return true;
  return false;
}

static int
settle_contradiction(struct rep_name *n, uint32_t among, uint32_t targets)
{
  int winner = rep_name_resolve(n, among);

  GI_ASSERT(winner < 0 || ((among >> winner) & 1));
  if (winner < 0 || gi_gfid_is_none(&n->view.stat[winner].gfid)) /* an administrator may have named a copy without gfid */
    return refuse_name(n, -EIO, targets | among);
  return follow(n, (unsigned)winner, n->d.locked, n->d.locked);
}

/* No child of `present` has a gfid for the object. All of them get the requested gfid, or a new one, unless a quorum has one. Then
 * children that lack the object get it. */
static int
adopt(struct rep_name *n, uint32_t present)
{
  struct gi_gfid gfid = n->gfid_req;
  int err;

  if (rep_quorums_meet(n->h->rep) && present == rep_name_no_gfid(n, present) && quorum_has_one(n))
    return settle_contradiction(n, n->view.ok, n->d.locked);
  if (gi_gfid_is_none(&gfid) && unfinished(n, present)) {
    GI_PROBE("replicate: an object without gfid that few have is removed");
    return rep_name_remove_empty(n, present);
  }
  if (gi_gfid_is_none(&gfid) && n->h->adopts)
    gfid = gi_gfid_new(n->h->r);
  if (gi_gfid_is_none(&gfid) || !agree(n, present))
    return refuse_name(n, -EIO, present);
  err = rep_name_assign(n, &gfid, present);
  n->look_again = !err && n->view.ok != n->d.locked;
  return err;
}

static int
settle_present(struct rep_name *n, uint32_t good, uint32_t targets)
{
  uint32_t present = n->view.ok & good;
  int from = n->d.source >= 0 && ((present >> n->d.source) & 1) ? n->d.source : -1;

  if (!agree(n, present))
    return settle_contradiction(n, present, targets);
  if (from < 0 || gi_gfid_is_none(&n->view.stat[from].gfid))
    from = first_with_gfid(n, present);
  if (from < 0)
    return adopt(n, present);
  return follow(n, (unsigned)from, targets, n->d.merge ? 0 : n->d.sinks & targets);
}

/* A merge keeps every name that a copy has, with one exception: the good copies do not have the name, and the outdated ones that have
 * one object there are too few for it to be acknowledged and never removed. A dirty counter on one of them, or of a change of another
 * name, does not bring a removed name back. */
static bool
only_stale_have_it(const struct rep_name *n, uint32_t absent)
{
  uint32_t good = n->d.locked & ~n->d.stale;

  if (GI_BROKEN("bring back what good copies lack"))
    return false;
  return n->d.merge && n->d.stale && n->view.ok && !(n->view.ok & good) && (absent & good) == good && !quorum_has_one(n);
}

/* The copies that have missed nothing have no object there, or only what a power loss left of a creation, which counts as none. The
 * objects of the others are not on a quorum. */
static bool
only_no_gfid(const struct rep_name *n, uint32_t absent, uint32_t no_gfid)
{
  uint32_t good = n->d.merge ? n->d.locked & ~n->d.stale : n->d.sources;

  return (no_gfid & good) && !(good & ~absent & ~no_gfid) && first_with_gfid(n, n->view.ok) >= 0 && !quorum_has_one(n);
}

/* A good copy from which the heal has taken what stands elsewhere lacks the name for that, and does not prove that it was removed. Then those
 * of the other copies decide that these accuse of nothing, if they show an object. */
static uint32_t
least_outdated(const struct rep_name *n, uint32_t absent)
{
  uint32_t others = n->d.locked & ~n->emptied, accused = 0, least;

  GI_ASSERT(!(n->emptied & ~n->d.locked));
  if (!n->emptied || (n->emptied & ~absent) || (n->view.ok | absent) != n->d.locked || quorum_has_one(n))
    return 0;
  rep_foreach(i, others) for (unsigned j = 0; j < n->h->rep->n; j++) if (j != i && n->dir.pending[REP_ENTRY][i][j]) accused |=
      1u << j;
  least = others & ~accused;
  return least != others && !(least & ~n->view.ok) && first_with_gfid(n, least) >= 0 && agree(n, least) ? least : 0;
}

static int
settle_name(struct rep_name *n)
{
  uint32_t absent = having_errno(&n->view, ENOENT), unknown = n->d.locked & ~n->view.ok & ~absent;
  uint32_t good = n->d.merge ? n->d.locked : n->d.sources, no_gfid = rep_name_no_gfid(n, n->view.ok), least;
  int err = 0;

  if (unknown) { /* neither "it is there" nor "it is not": no ground to act on, least of all to remove anything */
    err = -n->view.err[rep_first(unknown)];
    n->failed |= unknown;
    if (unknown & good)
      return refuse_name(n, err, n->d.locked);
  }
  if (!good)
    return refuse_name(n, -EIO, n->d.locked);
  least = least_outdated(n, absent);
  if (least) {
    GI_PROBE("replicate: what the others accuse each other of decides about a name that the good copy lost");
    return follow(n, (unsigned)first_with_gfid(n, least), n->d.locked, n->d.locked);
  }
  if (only_no_gfid(n, absent, no_gfid)) {
    GI_PROBE("replicate: what good copies have without gfid goes before what others have is judged");
    err = rep_name_remove_empty(n, no_gfid);
    n->look_again = !err;
    return err;
  }
  if (only_stale_have_it(n, absent)) {
    GI_PROBE("replicate: a merge of names removes what only outdated copies have");
    return keep_error(err, rep_name_expunge(n, n->view.ok));
  }
  if (absent && (n->view.ok & good) && GI_BROKEN("remove what a sink lacks"))
    return rep_name_expunge(n, n->view.ok);
  if (n->view.ok & good)
    return keep_error(err, settle_present(n, good, n->d.locked & ~unknown));
  if (n->view.ok & n->d.sinks)
    return keep_error(err, rep_name_expunge(n, n->view.ok & n->d.sinks));
  return err;
}

int
rep_name_settle(struct rep_name *n)
{
  int err;

  GI_ASSERT(n->lock.held && !n->look_again); /* nothing is made or removed without the lock on its name */
  err = settle_name(n);
  while (!err && n->look_again) { /* one copy less shows what does not belong here */
    n->look_again = false;
    n->elsewhere = 0;
    err = view_name(n);
    if (!err)
      err = settle_name(n);
  }
  return err;
}
