/* SPDX-License-Identifier: Apache-2.0
 *
 * One name, different objects: which of them is right (replicate.md 7.5, 7.6).
 * Marks do not say it, so only the administrator can: by the operation of the
 * split-brain tool, or by favorite-child-policy.
 */
#include "replicate-heal-names.h"

/* Directories are never chosen among: what is below the loser would be lost with it. */
static bool
may_choose(const struct rep_name *n, uint32_t among)
{
  uint32_t type = n->view.stat[rep_first(among)].mode & S_IFMT;

  if (type == S_IFDIR)
    return false;
  rep_foreach(i, among)
    if ((n->view.stat[i].mode & S_IFMT) != type || gi_gfid_is_none(&n->view.stat[i].gfid))
      return false;
  return true;
}

static bool
later(const struct gi_time *a, const struct gi_time *b)
{
  return a->sec > b->sec || (a->sec == b->sec && a->nsec > b->nsec);
}

/* Copies of one object are one contender: the first stands for them with the most that any of them has. */
static void
fold_copies(struct rep_view *v)
{
  rep_foreach(i, v->ok)
    for (unsigned j = 0; j < i; j++) {
      struct gi_iatt *a = &v->stat[j], *b = &v->stat[i];

      if (!((v->ok >> j) & 1) || !gi_gfid_equal(&a->gfid, &b->gfid))
        continue;
      a->size = b->size > a->size ? b->size : a->size;
      a->mtime = later(&b->mtime, &a->mtime) ? b->mtime : a->mtime;
      a->ctime = later(&b->ctime, &a->ctime) ? b->ctime : a->ctime;
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

int
rep_name_resolve(struct rep_name *n, uint32_t among)
{
  struct rep *rep = n->h->rep;
  struct rep_view folded = n->view; /* borrows */
  char parent[GI_UUID_TEXT];
  int winner = -1;

  fold_copies(&folded);
  if (may_choose(n, among)) {
    winner = rep_heal_op_winner(n->h, &folded, REP_DATA);
    if (winner < 0)
      winner = policy_winner(n, &folded);
  }
  if (winner >= 0 && ((among >> winner) & 1)) {
    gi_log(GI_LOG_WARNING, rep->x->name, GI_MSG_REPLICATE + 11, "%s/%s is a different object on each brick: the one of %s is kept",
           gi_gfid_text(&n->parent->gfid, parent), n->name, rep->x->children[winner]->name);
    return winner;
  }
  gi_log(GI_LOG_ERROR, rep->x->name, GI_MSG_REPLICATE + 12, "%s/%s is a different object on each brick and nothing says which is right",
         gi_gfid_text(&n->parent->gfid, parent), n->name);
  return -1;
}
