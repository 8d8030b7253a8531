/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several good copies serves a read (replicate.md 5.4).
 */
#include "xlators/cluster/replicate/copies/copies.h"

static uint32_t
hash_gfid(const struct gi_gfid *gfid, uint32_t salt)
{
  uint64_t a, b;

  memcpy(&a, gfid->b, sizeof(a));
  memcpy(&b, gfid->b + 8, sizeof(b));
  a = (a ^ salt ^ (b * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
  return (uint32_t)(a >> 32);
}

static int
preferred(const struct rep *rep, uint32_t candidates)
{
  const struct rep_options *o = rep_opts(rep);

  for (unsigned i = 0; o->read_subvolume && i < rep->n; i++)
    if (((candidates >> i) & 1) && strcmp(rep->x->children[i]->name, o->read_subvolume) == 0)
      return (int)i;
  if (o->read_subvolume_index >= 0 && o->read_subvolume_index < rep->n && ((candidates >> o->read_subvolume_index) & 1))
    return (int)o->read_subvolume_index;
  if (o->choose_local && rep->local >= 0 && ((candidates >> rep->local) & 1))
    return rep->local;
  return -1;
}

/* What reading from a child costs in the modes that weigh them. A round trip that was never measured counts as none at all. */
static uint64_t
read_cost(const struct rep *rep, unsigned child)
{
  switch (rep_opts(rep)->read_hash_mode) {
  case REP_HASH_LEAST_BUSY:
    return rep->reads[child];
  case REP_HASH_LATENCY:
    return rep->latency[child];
  default:
    return (rep->reads[child] + 1) * rep->latency[child];
  }
}

static int
cheapest(const struct rep *rep, uint32_t candidates)
{
  int best = -1;

  rep_foreach(i, candidates) if (best < 0 || read_cost(rep, i) < read_cost(rep, (unsigned)best)) best = (int)i;
  return best;
}

/* `hash` spreads objects over the children in the modes that do. */
static int
choose(const struct rep *rep, uint32_t hash, uint32_t candidates)
{
  int child = preferred(rep, candidates);

  GI_ASSERT(!(candidates & ~rep->all));
  if (child >= 0 || !candidates)
    return child;
  switch (rep_opts(rep)->read_hash_mode) {
  case REP_HASH_FIRST:
    return rep_first(candidates);
  case REP_HASH_GFID_PID:
  case REP_HASH_GFID:
    child = (int)(hash % rep->n);
    return (candidates >> child) & 1 ? child : rep_first(candidates);
  default:
    return cheapest(rep, candidates);
  }
}

int
rep_read_child(const struct rep *rep, struct gi_inode *inode, const struct gi_fop *fop, uint32_t candidates)
{
  bool by_pid = rep_opts(rep)->read_hash_mode == REP_HASH_GFID_PID && !S_ISDIR(inode->mode) && fop;

  return choose(rep, hash_gfid(&inode->gfid, by_pid ? (uint32_t)fop->caller.pid : 0), candidates);
}

int
rep_read_child_of_name(const struct rep *rep, const struct gi_fop *fop, uint32_t candidates)
{
  uint32_t salt = 2166136261u;

  GI_ASSERT(fop->loc.name);
  for (const char *s = fop->loc.name; *s; s++)
    salt = (salt ^ (uint8_t)*s) * 16777619u;
  return choose(rep, hash_gfid(&fop->loc.pargfid, salt), candidates);
}

int
rep_any_attributes(const struct rep *rep, struct gi_inode *inode, uint32_t among)
{
  const struct rep_inode *ri = rep_inode(rep, inode);
  uint32_t good = ri->meta_readable & among, some = good ? good : among & ~rep->arbiter;

  return rep_first(some & ~ri->outdated ? some & ~ri->outdated : some);
}
