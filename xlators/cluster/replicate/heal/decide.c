/* SPDX-License-Identifier: Apache-2.0
 *
 * The direction of a heal: which copies are sources and which are sinks
 * (replicate.md 7.2). All healers of a volume must decide alike from the same
 * counters. This file holds all the rules, in the order of that section.
 *
 * It goes beyond them in one case. From some states the rules find nothing to
 * heal although copies are accused, and such a state would last for ever. There
 * (`settle` and `contested` below) the heal takes a direction that no rule
 * contradicts.
 */
#include "xlators/cluster/replicate/heal/heal.h"

#include "libglusterish/probe.h"

#define NO_BIGGER_FILE "No bigger file"
#define NO_DIFFERENCE_IN_MTIME "No difference in mtime"
#define USE_SOURCE_BRICK "Use source-brick option to heal metadata split-brain"
#define NOT_ALL_ANSWERED "Failed to obtain replies from all bricks of the replica (are they up?)"
#define INVALID_BRICK "Invalid brick name"

/* ---- what the marks say: rules 1 to 6 ---- */

struct marks {
  uint32_t self_accused;
  uint32_t accusers[REP_MAX]; /* of each child: those whose word counts */
  uint32_t others[REP_MAX];   /* of each child: all but itself */
};

static void
add_accuser(const struct rep_view *v, enum rep_type type, unsigned i, uint32_t accusers[REP_MAX])
{
  for (unsigned j = 0; j < v->rep->n; j++)
    if (v->pending[type][i][j])
      accusers[j] |= 1u << i;
}

static void
read_marks(const struct rep_view *v, enum rep_type type, uint32_t locked, struct marks *m)
{
  memset(m, 0, sizeof(*m));
  rep_foreach(i, locked) if (v->pending[type][i][i]) m->self_accused |= 1u << i;
  rep_foreach(i, locked) add_accuser(v, type, i, m->others);
  for (unsigned j = 0; j < v->rep->n; j++) {
    m->accusers[j] = m->others[j] & ~m->self_accused;
    m->others[j] &= ~(1u << j);
  }
}

static uint32_t
add_magnitude(uint32_t sum, int32_t count)
{
  uint32_t n = count < 0 ? 0u - (uint32_t)count : (uint32_t)count;

  return sum + n < sum ? UINT32_MAX : sum + n;
}

static void
read_witness(const struct rep_view *v, enum rep_type type, const struct marks *m, struct rep_direction *d)
{
  rep_foreach(i, d->locked)
  {
    d->witness[i] = add_magnitude(0, v->dirty[type][i]);
    if ((m->self_accused >> i) & 1)
      for (unsigned j = 0; j < v->rep->n; j++)
        d->witness[i] = add_magnitude(d->witness[i], v->pending[type][i][j]);
  }
}

static uint32_t
accused_by(const struct marks *m, uint32_t who, uint32_t locked)
{
  uint32_t set = 0;

  rep_foreach(j, locked) if (m->accusers[j] & who) set |= 1u << j;
  return set;
}

uint32_t
rep_direction_accused(const struct rep_view *v, uint32_t locked, enum rep_type type)
{
  struct marks m;

  read_marks(v, type, locked, &m);
  return accused_by(&m, locked, locked) | m.self_accused;
}

static uint32_t
without_quorum(const struct rep *rep, const uint32_t accusers[REP_MAX], uint32_t among)
{
  uint32_t set = 0;

  rep_foreach(j, among) if (!rep_quorum(rep, accusers[j])) set |= 1u << j;
  return set;
}

/* Rule 4, for a set in which every copy is accused: the copies whose accusers are no quorum. A change that was acknowledged without a copy
 * is on a quorum, and that quorum accuses the copy. (Half of the children with the first one is a quorum, too.) Which of them, the rule leaves
 * open: it may have been on a copy that accuses itself. */
static uint32_t
least_accused(const struct rep *rep, const struct marks *m, uint32_t locked)
{
  uint32_t set = without_quorum(rep, m->accusers, locked), fewer = without_quorum(rep, m->others, set);

  return fewer ? fewer : set;
}

/* Both data copies are accused, and the arbiter has no data. Where one data copy alone is no quorum, the arbiter took part in every change
 * that was acknowledged without the other copy. So a copy that the arbiter does not accuse has missed no such change. */
static uint32_t
arbitrated(const struct rep *rep, const struct marks *m, const struct rep_direction *d)
{
  uint32_t arbiter = rep->arbiter & d->locked, set = 0;

  if (!arbiter || d->sources != arbiter || (m->self_accused & arbiter))
    return 0;
  rep_foreach(j, d->locked & ~arbiter) if (!(m->accusers[j] & arbiter) && !rep_quorum(rep, rep->all & ~arbiter & ~(1u << j)))
      set |= 1u << j;
  return set;
}

/* A good copy exists, and the other copies accuse only each other: all of them are healed from the good one. In a directory also where the
 * good copy accuses one of them, and that one accuses a third: taking back the first accusation removes the list of changed names. */
static void
settle_sinks(const struct marks *m, enum rep_type type, struct rep_direction *d)
{
  if (d->sources && (!d->sinks || type == REP_ENTRY))
    d->sinks = accused_by(m, d->locked, d->locked) & ~d->sources;
}

void
rep_direction_by_marks(const struct rep_view *v, enum rep_type type, uint32_t locked, struct rep_direction *d)
{
  struct marks m;
  uint32_t cleared;

  memset(d, 0, sizeof(*d));
  d->source = -1;
  d->locked = locked;
  read_marks(v, type, locked, &m);
  read_witness(v, type, &m, d);
  rep_foreach(j, locked) if (!m.accusers[j]) d->sources |= 1u << j;
  if (!d->sources && type != REP_ENTRY) {
    d->sources = least_accused(v->rep, &m, locked);
    d->contested = d->sources != 0;
  } else if (type == REP_DATA && (cleared = arbitrated(v->rep, &m, d))) {
    d->sources = cleared;
    d->contested = true;
  }
  if (!d->sources) {
    d->sinks = locked;
    d->split_brain = true;
    return;
  }
  d->sinks = accused_by(&m, d->sources, locked) & ~d->sources;
  settle_sinks(&m, type, d);
}

/* ---- choosing among good copies ---- */

static void
keep_sources(struct rep_direction *d, uint32_t sources)
{
  d->sinks |= d->sources & ~sources;
  d->sources = sources;
}

static void
elect(struct rep_direction *d, unsigned winner)
{
  d->sources = 1u << winner;
  d->sinks = d->locked & ~d->sources;
  d->source = (int)winner;
  d->split_brain = false;
}

static int
preferred_source(const struct rep *rep, uint32_t sources)
{
  return rep->local >= 0 && ((sources >> rep->local) & 1) ? rep->local : rep_first(sources);
}

static bool
any_witness(const struct rep_direction *d, uint32_t mask)
{
  rep_foreach(i, mask) if (d->witness[i]) return true;
  return false;
}

static int
compare_time(const struct gi_time *a, const struct gi_time *b)
{
  if (a->sec != b->sec)
    return a->sec < b->sec ? -1 : 1;
  return (a->nsec > b->nsec) - (a->nsec < b->nsec);
}

/* ---- data ---- */

static bool
same_size(const struct rep_view *v, uint32_t mask)
{
  int first = rep_first(mask);

  rep_foreach(i, mask) if (v->stat[i].size != v->stat[first].size) return false;
  return true;
}

static bool
all_empty(const struct rep_view *v, uint32_t mask)
{
  rep_foreach(i, mask) if (v->stat[i].size) return false;
  return mask != 0;
}

static uint32_t
largest_copies(const struct rep_view *v, uint32_t mask)
{
  uint64_t size = 0;
  uint32_t set = 0;

  rep_foreach(i, mask) if (v->stat[i].size > size) size = v->stat[i].size;
  rep_foreach(j, mask) if (v->stat[j].size == size) set |= 1u << j;
  return set;
}

static uint32_t
best_witnessed(const struct rep_direction *d, uint32_t mask)
{
  uint32_t most = 0, set = 0;

  rep_foreach(i, mask) if (d->witness[i] > most) most = d->witness[i];
  rep_foreach(j, mask) if (d->witness[j] == most) set |= 1u << j;
  return set;
}

/* Compares whole seconds and takes the last of equals, as the healers of GlusterFS do. */
static unsigned
newest_ctime(const struct rep_view *v, uint32_t mask)
{
  unsigned best = (unsigned)rep_first(mask);

  rep_foreach(i, mask) if (v->stat[i].ctime.sec >= v->stat[best].ctime.sec) best = i;
  return best;
}

static void
choose_data(const struct rep_view *v, struct rep_direction *d)
{
  uint32_t arbiter = v->rep->arbiter, holders = d->sources & ~arbiter;
  bool doubt = d->contested || !same_size(v, holders) || any_witness(d, d->sources);

  if (arbiter && (doubt || !holders) && all_empty(v, d->locked & ~arbiter)) {
    elect(d, (unsigned)rep_first(holders ? holders : d->locked & ~arbiter));
    return;
  }
  if (!holders) { /* the arbiter knows that they are stale, and has nothing to heal them with */
    d->sinks = 0;
    return;
  }
  if (doubt)
    keep_sources(d, 1u << newest_ctime(v, best_witnessed(d, largest_copies(v, holders))));
  d->source = preferred_source(v->rep, d->sources & ~arbiter);
}

/* ---- metadata ---- */

bool
rep_heal_ignores_xattr(const char *name)
{
  static const char *const never[] = {"security.selinux", "trusted.glusterfs.quota.size", "trusted.gfs.squota.size",
                                      "trusted.gfs.squota.limit"};
  static const char *const space[] = {"user.", "trusted.", "security.", "system."};
  bool on_disk = false;

  for (size_t i = 0; i < GI_ARRAY_LEN(space); i++)
    on_disk |= strncmp(name, space[i], strlen(space[i])) == 0;
  for (size_t i = 0; i < GI_ARRAY_LEN(never); i++)
    if (strcmp(name, never[i]) == 0)
      return true;
  return !on_disk || rep_marks_private_xattr(name);
}

bool
rep_heal_same_xattr(const struct gi_dict *d, const struct gi_pair *want)
{
  const uint8_t *b;
  const void *a;
  uint32_t la, lb;

  if (!gi_pair_bytes(want, &b, &lb))
    return true; /* no attribute of the disk: nothing to be equal to */
  return d && gi_dict_get_bin(d, want->key, &a, &la) && la == lb && (lb == 0 || memcmp(a, b, lb) == 0);
}

/* The attribute with the times is no difference to heal: each brick keeps the newest times by itself. */
static bool
counts_as_difference(const char *name)
{
  return !rep_heal_ignores_xattr(name) && strcmp(name, "trusted.glusterfs.mdata") != 0;
}

static bool
has_all_xattrs(const struct gi_dict *of, const struct gi_dict *in)
{
  for (uint32_t k = 0; of && k < gi_dict_count(of); k++) {
    const struct gi_pair *p = gi_dict_at(of, k);

    if (counts_as_difference(p->key) && !rep_heal_same_xattr(in, p))
      return false;
  }
  return true;
}

bool
rep_heal_same_owner_mode(const struct gi_iatt *a, const struct gi_iatt *b)
{
  return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode;
}

bool
rep_heal_same_metadata(const struct rep_view *v, unsigned a, unsigned b)
{
  return rep_heal_same_owner_mode(&v->stat[a], &v->stat[b]) && has_all_xattrs(v->xdata[a], v->xdata[b]) &&
         has_all_xattrs(v->xdata[b], v->xdata[a]);
}

static uint32_t
like(const struct rep_view *v, unsigned model, uint32_t mask)
{
  uint32_t set = 0;

  rep_foreach(i, mask) if (rep_heal_same_metadata(v, model, i)) set |= 1u << i;
  return set;
}

uint32_t
rep_heal_most_alike(const struct rep_view *v, uint32_t among)
{
  uint32_t most = 0;

  rep_foreach(i, among)
  {
    uint32_t same = like(v, i, among);

    if (__builtin_popcount(same) > __builtin_popcount(most))
      most = same;
  }
  GI_ASSERT(!(most & ~among) && (most || !among));
  return most;
}

/* Of copies that differ though nobody accuses them: what most have, and of equals what was changed last. */
static unsigned
most_alike(const struct rep_view *v, const struct rep_direction *d)
{
  unsigned best = (unsigned)preferred_source(v->rep, d->sources);
  int most = __builtin_popcount(like(v, best, d->sources));

  rep_foreach(i, d->sources)
  {
    int same = __builtin_popcount(like(v, i, d->sources));

    if (like(v, i, 1u << best) || same < most || (same == most && compare_time(&v->stat[i].ctime, &v->stat[best].ctime) <= 0))
      continue;
    best = i;
    most = same;
  }
  return best;
}

static void
choose_metadata(const struct rep_view *v, struct rep_direction *d)
{
  bool all_good = d->sources == d->locked;

  rep_foreach(i, d->sources)
  {
    if (!d->witness[i])
      continue;
    keep_sources(d, 1u << i);
    d->source = (int)i;
    return;
  }
  if (d->contested) {
    d->source = preferred_source(v->rep, d->sources);
    keep_sources(d, 1u << d->source);
    return;
  }
  d->source = (int)most_alike(v, d);
  keep_sources(d, like(v, (unsigned)d->source, d->sources));
  d->unmarked = all_good && d->sinks;
}

/* ---- entries ---- */

static void
merge(struct rep_direction *d, uint32_t stale)
{
  d->merge = true;
  d->stale = stale;
  d->split_brain = false;
  d->sources = 0;
  d->sinks = d->locked;
  d->source = -1;
}

static bool
blame_nobody(const struct rep_view *v, uint32_t mask)
{
  rep_foreach(i, mask) for (unsigned j = 0; j < v->rep->n; j++) if (v->pending[REP_ENTRY][i][j]) return false;
  return true;
}

/* The outdated copies where every copy is accused. An acknowledged change is on a quorum, and that quorum accuses every copy that missed
 * it. So a copy with fewer accusers has missed no acknowledged change, unless the accusations were lost with the power. A self-accused copy
 * counts as an accuser: it was part of the quorum of every change that it accuses others of missing. */
static uint32_t
stale_copies(const struct rep_view *v, const struct rep_direction *d)
{
  struct marks m;
  uint32_t set;

  if (!rep_quorums_meet(v->rep))
    return 0;
  read_marks(v, REP_ENTRY, d->locked, &m);
  rep_foreach(i, m.self_accused) add_accuser(v, REP_ENTRY, i, m.accusers);
  set = (d->locked & ~least_accused(v->rep, &m, d->locked)) | m.self_accused;
  return set == d->locked ? 0 : set;
}

/* The outdated copies where some copy is not accused by others. A self-accused copy has missed something; a copy that is not even
 * self-accused is good. Where two quorums need not share a copy nothing follows from that: a self-accusation may be old. */
static uint32_t
outdated_beside_good(const struct rep_view *v, const struct rep_direction *d)
{
  uint32_t accused;
  struct marks m;

  read_marks(v, REP_ENTRY, d->locked, &m);
  if (!(d->sources & m.self_accused))
    return d->sinks;
  rep_foreach(i, m.self_accused) add_accuser(v, REP_ENTRY, i, m.accusers);
  accused = accused_by(&m, d->locked, d->locked);
  return accused == d->locked || !rep_quorums_meet(v->rep) ? 0 : accused;
}

static void
choose_entry(const struct rep_view *v, struct rep_direction *d)
{
  /* The good copies accuse nobody, so they do not know what the sinks missed. Names that only the sinks have must not be lost. */
  bool ignorant = d->sinks && blame_nobody(v, d->sources);

  if (d->split_brain)
    merge(d, stale_copies(v, d));
  else if (ignorant)
    merge(d, 0);
  else if (any_witness(d, d->locked))
    merge(d, outdated_beside_good(v, d));
  else
    d->source = preferred_source(v->rep, d->sources);
}

/* ---- split brain ---- */

/* The one child of `mask` whose size or time is greater than that of all others; -1: there is none. */
static int
unique_largest(const struct rep_view *v, uint32_t mask)
{
  uint32_t set = largest_copies(v, mask);

  return __builtin_popcount(set) == 1 ? rep_first(set) : -1;
}

static int
unique_newest(const struct rep_view *v, uint32_t mask, bool by_ctime)
{
  int best = -1;
  bool tie = false;

  rep_foreach(i, mask)
  {
    const struct gi_iatt *a = &v->stat[i], *b = best < 0 ? NULL : &v->stat[best];
    int order = b ? compare_time(by_ctime ? &a->ctime : &a->mtime, by_ctime ? &b->ctime : &b->mtime) : 1;

    if (order >= 0)
      tie = order == 0;
    if (order > 0)
      best = (int)i;
  }
  return tie ? -1 : best;
}

static int
majority(const struct rep_view *v, uint32_t mask)
{
  rep_foreach(i, mask)
  {
    unsigned same = 0;

    rep_foreach(j, mask) same += v->stat[i].size == v->stat[j].size && compare_time(&v->stat[i].mtime, &v->stat[j].mtime) == 0;
    if (2 * same > v->rep->n)
      return (int)i;
  }
  return -1;
}

static int
refuse_choice(struct rep_heal *h, const char *why)
{
  h->refusal = why;
  return -1;
}

/* The copies that a policy chooses from. The arbiter has no data. */
static uint32_t
contenders(const struct rep_view *v, enum rep_type type)
{
  return type == REP_DATA ? v->ok & ~v->rep->arbiter : v->ok;
}

int
rep_heal_op_winner(struct rep_heal *h, const struct rep_view *v, enum rep_type type)
{
  uint32_t mask = contenders(v, type);
  int winner = -1;

  if (h->op == GI_HEAL_NONE)
    return -1;
  if (v->ok != v->rep->all)
    return refuse_choice(h, NOT_ALL_ANSWERED);
  if (type == REP_META && h->op != GI_HEAL_SOURCE_BRICK)
    return refuse_choice(h, USE_SOURCE_BRICK);
  switch (h->op) {
  case GI_HEAL_SOURCE_BRICK:
    if (h->op_child < 0 || !((mask >> h->op_child) & 1))
      return refuse_choice(h, INVALID_BRICK);
    winner = h->op_child;
    break;
  case GI_HEAL_BIGGER_FILE:
    winner = unique_largest(v, mask);
    if (winner < 0)
      return refuse_choice(h, NO_BIGGER_FILE);
    break;
  default:
    winner = unique_newest(v, mask, false);
    if (winner < 0)
      return refuse_choice(h, NO_DIFFERENCE_IN_MTIME);
    break;
  }
  h->refusal = NULL;
  return winner;
}

int
rep_policy_winner(const struct rep_view *v, enum rep_type type)
{
  uint32_t mask = contenders(v, type);

  if (v->ok != v->rep->all)
    return -1;
  switch ((enum rep_policy)rep_opts(v->rep)->heal.favorite_child_policy) {
  case REP_POLICY_SIZE:
    return S_ISDIR(v->stat[rep_first(mask)].mode) ? -1 : unique_largest(v, mask);
  case REP_POLICY_MTIME:
    return unique_newest(v, mask, false);
  case REP_POLICY_CTIME:
    return unique_newest(v, mask, true);
  case REP_POLICY_MAJORITY:
    return majority(v, mask);
  default:
    return -1;
  }
}

/* Takes back what the losers hold against the winner before anything is copied: an interrupted heal then has one good copy. */
static bool
reset_losers(struct rep_heal *h, const struct rep_view *v, enum rep_type type, struct rep_direction *d)
{
  uint32_t losers = d->sinks;
  struct rep_round round;

  rep_round_begin(h, &round);
  rep_foreach(i, losers)
  {
    struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_XATTROP, h->inode);

    fop->args.flags = GI_XATTROP_ADD32;
    fop->args.dict = rep_marks_undo(v, i, type, 1u << d->source, 0, false);
    rep_round_send(&round, fop, i);
  }
  d->reset = losers;
  return rep_round_wait(h, &round) == losers;
}

/* Copies that accuse each other but are the same: nothing can be lost. */
static int
harmless(const struct rep_view *v, enum rep_type type, uint32_t locked)
{
  int first = rep_first(locked);

  if (first < 0)
    return -1;
  if (type == REP_DATA)
    return all_empty(v, locked & ~v->rep->arbiter) ? first : -1;
  if (like(v, (unsigned)first, locked) != locked)
    return -1;
  if (S_ISDIR(v->stat[first].mode))
    rep_foreach(i, locked) if (compare_time(&v->stat[i].mtime, &v->stat[first].mtime) !=
                               0) return -1; /* the newest one wins, but only if nobody decided otherwise */
  return first;
}

static int
by_times(const struct rep *rep, const struct rep_view *v, enum rep_type type, uint32_t locked)
{
  int first = rep_first(locked);

  if (type != REP_META || first < 0)
    return -1;
  if (S_ISDIR(v->stat[first].mode) && like(v, (unsigned)first, locked) == locked) {
    int best = first;

    rep_foreach(i, locked) if (compare_time(&v->stat[i].mtime, &v->stat[best].mtime) > 0) best = (int)i;
    return best;
  }
  return rep_opts(rep)->heal.metadata_splitbrain_forced_heal ? (int)newest_ctime(v, locked) : -1;
}

static void
resolve(struct rep_heal *h, const struct rep_view *v, enum rep_type type, struct rep_direction *d)
{
  int winner = harmless(v, type, d->locked);

  if (winner < 0)
    winner = rep_heal_op_winner(h, v, type);
  if (winner < 0) {
    winner = rep_policy_winner(v, type);
    if (winner >= 0 && ((d->locked >> winner) & 1)) {
      elect(d, (unsigned)winner);
      if (!reset_losers(h, v, type, d)) {
        d->split_brain = true; /* the rest of the losers' marks is there: another attempt finds the same winner */
        d->source = -1;
      }
      return;
    }
    winner = by_times(h->rep, v, type, d->locked);
  }
  if (winner >= 0 && ((d->locked >> winner) & 1))
    elect(d, (unsigned)winner);
}

void
rep_direction_check(const struct rep_direction *d)
{
  GI_ASSERT(!(d->sources & d->sinks));
  GI_ASSERT(!((d->sources | d->sinks | d->stale) & ~d->locked));
  GI_ASSERT(d->source < 0 || ((d->sources >> d->source) & 1));
  GI_ASSERT(!d->merge || (d->source < 0 && !d->sources && !d->split_brain));
  GI_ASSERT(!d->stale || d->merge);
  GI_ASSERT(!d->split_brain || d->source < 0);
}

static void
decide(struct rep_heal *h, const struct rep_view *v, enum rep_type type, uint32_t locked, struct rep_direction *d)
{
  rep_direction_by_marks(v, type, locked, d);
  if (v->corrupt & locked) { /* what such a brick wanted to say is unknown: nothing may be overwritten */
    d->split_brain = true;
    d->sources = 0;
    d->sinks = locked;
    return;
  }
  if (type == REP_ENTRY) {
    choose_entry(v, d);
    return;
  }
  if (d->split_brain)
    resolve(h, v, type, d);
  else if (type == REP_DATA) {
    choose_data(v, d);
    if ((d->sinks & ~v->rep->arbiter) && GI_BROKEN("heal from a sink"))
      elect(d, (unsigned)rep_first(d->sinks & ~v->rep->arbiter));
  } else
    choose_metadata(v, d);
}

void
rep_decide(struct rep_heal *h, const struct rep_view *v, enum rep_type type, uint32_t locked, struct rep_direction *d)
{
  GI_CHECK(h, REP_HEAL_MAGIC);
  GI_ASSERT(type < REP_TYPES && locked && !(locked & ~v->ok));
  decide(h, v, type, locked, d);
  rep_direction_check(d);
}
