/* SPDX-License-Identifier: Apache-2.0
 *
 * Different objects under one name: which of them is right (replicate.md 7.5,
 * 7.6).
 *
 * Two facts prove an object right. A good copy of the directory has missed no
 * acknowledged change, so it shows the right object. An object that a quorum
 * shows may have been acknowledged; then the others cannot have been, and are
 * left over from operations that failed or came earlier. Where neither fact
 * holds the administrator decides, with the split-brain tool or with
 * favorite-child-policy.
 */
#include "xlators/cluster/replicate/heal/names.h"

#include "libglusterish/probe.h"

/* Size, time and number never decide between directories: everything below the loser would be lost. The administrator may name the brick. */
static bool
may_choose(const struct rep_name *n, uint32_t among)
{
  uint32_t type = n->view.stat[rep_first(among)].mode & S_IFMT;

  if (type == S_IFDIR)
    return false;
  rep_foreach(i, among) if ((n->view.stat[i].mode & S_IFMT) != type || gi_gfid_is_none(&n->view.stat[i].gfid)) return false;
  return true;
}

/* Copies of one object count as one candidate: the first of them, with the largest size and the newest times of all. */
static void
fold_copies(struct rep_view *v)
{
  rep_foreach(i, v->ok) for (unsigned j = 0; j < i; j++)
  {
    struct gi_iatt *a = &v->stat[j], *b = &v->stat[i];

    if (!((v->ok >> j) & 1) || !gi_gfid_equal(&a->gfid, &b->gfid))
      continue;
    a->size = b->size > a->size ? b->size : a->size;
    gi_time_raise(&a->mtime, &b->mtime);
    gi_time_raise(&a->ctime, &b->ctime);
    b->size = 0;
    b->mtime = b->ctime = (struct gi_time){0};
    break;
  }
}

static int
policy_winner(const struct rep_name *n, const struct rep_view *folded)
{
  bool counts = rep_opts(n->h->rep)->heal.favorite_child_policy == REP_POLICY_MAJORITY;

  return rep_policy_winner(counts ? &n->view : folded, REP_DATA);
}

/* ---- what proves it ---- */

static uint32_t
same_as(const struct rep_name *n, unsigned model, uint32_t among)
{
  const struct gi_iatt *ref = &n->view.stat[model];
  uint32_t set = 0;

  rep_foreach(i, among) if (gi_gfid_equal(&n->view.stat[i].gfid, &ref->gfid) &&
                            (n->view.stat[i].mode & S_IFMT) == (ref->mode & S_IFMT)) set |= 1u << i;
  return set;
}

uint32_t
rep_name_no_gfid(const struct rep_name *n, uint32_t among)
{
  uint32_t set = 0;

  rep_foreach(i, rep_quorums_meet(n->h->rep) ? among : 0) if (gi_gfid_is_none(&n->view.stat[i].gfid) &&
                                                              rep_name_empty(&n->view.stat[i])) set |= 1u << i;
  return set;
}

/* The object that good copies of the directory show. */
static int
unaccused_winner(const struct rep_name *n, uint32_t among)
{
  uint32_t good = among & ~rep_direction_accused(&n->dir, n->dir.ok, REP_ENTRY);
  int first = rep_first(good);

  return first >= 0 && same_as(n, (unsigned)first, good) == good ? first : -1;
}

/* The object that so many copies show that no other object can have been acknowledged and kept: a brick that forgets its last seconds
 * goes back to the object that was there before, and no counter tells that. */
static int
quorum_winner(const struct rep_name *n, uint32_t among)
{
  const struct rep *rep = n->h->rep;

  if (rep_no_quorum_configured(rep))
    return -1;
  rep_foreach(i, among)
  {
    uint32_t same = same_as(n, i, among);

    if ((rep_quorum(rep, same) || rep_majority(rep, same)) && !rep_quorum(rep, rep->all & ~same))
      return (int)i;
  }
  return -1;
}

/* Of the objects that children of `who` show, the one that most children of `among` show. */
static int
most_shown(const struct rep_name *n, uint32_t who, uint32_t among)
{
  uint32_t most = 0;
  int winner = -1;

  rep_foreach(i, who)
  {
    uint32_t same = same_as(n, i, among);

    GI_ASSERT((same >> i) & 1 || !((among >> i) & 1));
    if (__builtin_popcount(same) <= __builtin_popcount(most))
      continue;
    most = same;
    winner = (int)i;
  }
  return winner;
}

/* The copies that have missed nothing have no such name, so no object under it was ever acknowledged. The object that most copies have
 * is kept. */
static int
unacknowledged_winner(const struct rep_name *n, uint32_t among)
{
  uint32_t good = n->h->rep->all & ~rep_direction_accused(&n->dir, n->dir.ok, REP_ENTRY);

  rep_foreach(i, good) if (((n->view.ok >> i) & 1) || n->view.err[i] != ENOENT) return -1;
  return most_shown(n, good ? among : 0, among);
}

/* The copies of the directory that have missed no acknowledged change: those that nobody accuses or, where all are accused, those that
 * are not outdated. */
static uint32_t
missed_nothing(const struct rep_name *n)
{
  uint32_t good = n->dir.ok & ~rep_direction_accused(&n->dir, n->dir.ok, REP_ENTRY);

  return good || !n->d.stale ? good : n->dir.ok & ~n->d.stale;
}

/* The copies that have missed nothing show different objects. The change that made them differ was never acknowledged, so each of them may
 * be its result: the object that most of them show wins. */
static int
disputed_winner(const struct rep_name *n, uint32_t among)
{
  if (!rep_quorums_meet(n->h->rep) || !rep_view_marked(&n->dir, REP_ENTRY))
    return -1;
  return most_shown(n, among & missed_nothing(n), among);
}

/* No counter tells anything: bricks that lost their power show objects of different moments. A change that was promised to be durable was on
 * the disks of a quorum, so those copies show its result or that of a later change. So does a set of copies that shares a copy with
 * every quorum. */
static int
shared_winner(const struct rep_name *n, uint32_t among)
{
  const struct rep *rep = n->h->rep;
  uint32_t most = 0;

  if (rep_no_quorum_configured(rep))
    return -1;
  rep_foreach(i, among & ~rep->arbiter)
  {
    uint32_t same = same_as(n, i, among);

    if (!gi_gfid_is_none(&n->view.stat[i].gfid) && !rep_quorum(rep, rep->all & ~same) &&
        __builtin_popcount(same) > __builtin_popcount(most))
      most = same;
  }
  return rep_first(most & ~rep->arbiter);
}

static int
proven_winner(const struct rep_name *n, uint32_t shown)
{
  uint32_t among = shown & ~rep_name_no_gfid(n, shown);
  int winner = unaccused_winner(n, among);

  if (winner < 0)
    winner = quorum_winner(n, among);
  if (winner < 0)
    winner = unacknowledged_winner(n, among);
  if (winner < 0)
    winner = disputed_winner(n, among);
  if (winner < 0)
    winner = shared_winner(n, among);
  if (winner < 0 || gi_gfid_is_none(&n->view.stat[winner].gfid))
    return -1;
  GI_PROBE("replicate: different objects under a name, one of them proven right");
  return winner;
}

int
rep_name_resolve(struct rep_name *n, uint32_t among)
{
  struct rep *rep = n->h->rep;
  struct rep_view folded = n->view; /* borrows */
  char parent[GI_UUID_TEXT];
  int winner = -1;

  bool decided = n->h->op != GI_HEAL_NONE && (n->h->op == GI_HEAL_SOURCE_BRICK || may_choose(n, among));

  fold_copies(&folded);
  if (decided) /* who says how does not want it otherwise */
    winner = rep_heal_op_winner(n->h, &folded, REP_DATA);
  else
    winner = proven_winner(n, among);
  if (winner < 0 && !decided && may_choose(n, among))
    winner = policy_winner(n, &folded);
  if (winner >= 0 && ((among >> winner) & 1)) {
    gi_log(GI_LOG_WARNING, rep->x->name, GI_MSG_REPLICATE + 11,
           "%s/%s is a different object on each brick: the one of %s is kept", gi_gfid_text(&n->parent->gfid, parent), n->name,
           rep->x->children[winner]->name);
    return winner;
  }
  gi_log(GI_LOG_ERROR, rep->x->name, GI_MSG_REPLICATE + 12,
         "%s/%s is a different object on each brick and nothing says which is right", gi_gfid_text(&n->parent->gfid, parent),
         n->name);
  return -1;
}
