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

int
rep_name_resolve(struct rep_name *n, uint32_t among)
{
  struct rep *rep = n->h->rep;
  char parent[GI_UUID_TEXT];
  int winner = -1;

  if (may_choose(n, among)) {
    winner = rep_heal_op_winner(n->h, &n->view, REP_DATA);
    if (winner < 0)
      winner = rep_policy_winner(&n->view, REP_DATA);
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
