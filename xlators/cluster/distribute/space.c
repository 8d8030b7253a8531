/* SPDX-License-Identifier: Apache-2.0
 *
 * Room on the subvolumes: STATFS adds it up, new files keep away from those that
 * are nearly full, and layouts give large ones more.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

#define FRESH (5 * GI_NSEC_PER_SEC) /* how long what is known of a subvolume's room is good enough */

/* ---- STATFS ---- */

/* In units of the smallest fragment size. */
static void
add_statfs(struct gi_statfs *sum, const struct gi_statfs *one)
{
  uint64_t unit = one->frsize ? one->frsize : one->bsize, have = sum->frsize;
  double up = 1, add = 1;

  GI_ASSERT(sum != one);
  if (!unit)
    return;
  if (!have) {
    *sum = *one;
    return;
  }
  if (unit > have)
    add = (double)unit / (double)have;
  else if (unit < have)
    up = (double)have / (double)unit;
  sum->blocks = (uint64_t)((double)sum->blocks * up + (double)one->blocks * add);
  sum->bfree = (uint64_t)((double)sum->bfree * up + (double)one->bfree * add);
  sum->bavail = (uint64_t)((double)sum->bavail * up + (double)one->bavail * add);
  sum->files += one->files;
  sum->ffree += one->ffree;
  sum->favail += one->favail;
  sum->frsize = unit < have ? unit : have;
  sum->bsize = one->bsize < sum->bsize ? one->bsize : sum->bsize;
  sum->namemax = one->namemax < sum->namemax ? one->namemax : sum->namemax;
}

/* Of the volume, whatever was named: a file is on one subvolume only. */
static enum gi_verdict
statfs_all(struct di *d, struct gi_fop *fop)
{
  struct gi_fop *h = gi_fop_child(fop);
  struct gi_statfs sum = {0};
  struct di_ask ask;

  gi_loc_clear(&h->loc);
  h->loc.gfid = gi_gfid_root;
  di_ask_copy(d, &ask, h, d->up);
  gi_fop_unref(h);
  di_foreach(i, ask.fan.ok)
  {
    const struct gi_statfs *st = &gi_fan_reply(&ask.fan, (unsigned)i)->rsp.statfs;

    d->space[i].st = *st;
    d->space[i].asked = gi_now(d->x->reactor);
    add_statfs(&sum, st);
  }
  if (ask.fan.ok) {
    gi_reply_move(fop, gi_fan_reply(&ask.fan, (unsigned)__builtin_ctzll(ask.fan.ok)));
    fop->rsp.statfs = sum;
  } else {
    int err = di_ask_err(&ask, ask.fan.failed);

    gi_fop_fail(fop, err ? err : ENOTCONN);
  }
  di_ask_end(&ask);
  return GI_ANSWERED;
}

enum gi_verdict
di_statfs(struct gi_xlator *x, struct gi_fop *fop)
{
  return di_run(di_of(x), fop, statfs_all);
}

/* ---- what is known ---- */

static void
space_answered(struct gi_fop *fop, void *arg)
{
  struct di *d = arg;
  struct di_space *s = &d->space[fop->tag];

  GI_CHECK(d, DI_MAGIC);
  GI_ASSERT(s->asking && d->busy > 0);
  s->asking = false;
  if (fop->rsp.ret >= 0)
    s->st = fop->rsp.statfs;
  gi_fop_unref(fop);
  d->busy--;
  di_settle(d);
}

static struct gi_fop *
statfs_fop(struct gi_fop *fop)
{
  struct gi_fop *h = di_helper(fop, GI_FOP_STATFS);

  h->loc.gfid = gi_gfid_root;
  return h;
}

void
di_space_refresh(struct di *d, struct gi_fop *fop)
{
  uint64_t now = gi_now(d->x->reactor);

  di_foreach(i, d->up)
  {
    struct di_space *s = &d->space[i];
    struct gi_fop *h;

    if (s->asking || (s->asked && now - s->asked < FRESH))
      continue;
    s->asking = true;
    s->asked = now ? now : 1;
    h = gi_fop_new(d->x->graph, GI_FOP_STATFS); /* nobody waits for it */
    h->caller.pid = fop->caller.pid;
    h->loc.gfid = gi_gfid_root;
    h->tag = (uint8_t)i; /* which has this number until it is answered */
    d->busy++;
    gi_fop_submit(h, d->x->children[i], space_answered, d);
  }
}

bool
di_weights(struct di *d, struct gi_fop *fop, uint64_t weight[DI_MAX])
{
  uint64_t unknown = 0;
  bool all = true;

  for (unsigned i = 0; i < d->n; i++)
    if (d->space[i].st.blocks == 0)
      unknown |= 1ull << i;
  if (unknown & d->up) {
    struct gi_fop *h = statfs_fop(fop);
    struct di_ask ask;

    di_ask_copy(d, &ask, h, unknown & d->up);
    di_foreach(k, ask.fan.ok) d->space[k].st = gi_fan_reply(&ask.fan, (unsigned)k)->rsp.statfs;
    di_ask_end(&ask);
    gi_fop_unref(h);
  }
  for (unsigned i = 0; i < d->n; i++) {
    const struct gi_statfs *st = &d->space[i].st;
    uint64_t unit = st->frsize ? st->frsize : st->bsize;
    uint64_t per_mib = unit && unit <= 1048576 ? 1048576 / unit : 1;

    weight[i] = st->blocks / per_mib;
    all = all && weight[i] > 0;
  }
  return all;
}

/* ---- where a new file goes ---- */

static double
percent(uint64_t part, uint64_t all)
{
  return all ? 100.0 * (double)part / (double)all : 100.0;
}

static uint64_t
unit_of(const struct gi_statfs *st)
{
  return st->frsize ? st->frsize : st->bsize ? st->bsize : 1;
}

bool
di_has_room(const struct di *d, unsigned child, uint64_t bytes)
{
  const struct di_options *o = di_opts(d);
  const struct gi_statfs *st = &d->space[child].st;
  uint64_t unit = unit_of(st), blocks = bytes / unit + (bytes % unit != 0), avail;

  GI_ASSERT(child < d->n);
  if (st->blocks == 0)
    return true; /* not known */
  if (blocks > st->bavail)
    return false;
  avail = st->bavail - blocks;
  if (st->files && percent(st->ffree, st->files) < o->min_free_inodes)
    return false;
  if (o->min_free_disk.is_percent)
    return percent(avail, st->blocks) >= o->min_free_disk.value;
  return (double)avail * (double)unit >= o->min_free_disk.value;
}

static double
free_bytes(const struct di *d, unsigned child)
{
  const struct gi_statfs *st = &d->space[child].st;

  return (double)st->bavail * (double)unit_of(st);
}

/* Until it is asked again. */
void
di_take_room(struct di *d, unsigned child, uint64_t bytes)
{
  struct gi_statfs *st = &d->space[child].st;
  uint64_t blocks = bytes / unit_of(st);

  GI_ASSERT(child < d->n);
  st->bavail -= blocks < st->bavail ? blocks : st->bavail;
}

/* Those where files can be that belong to a directory of that layout. */
static uint64_t
usable(const struct di *d, const struct di_layout *layout)
{
  uint64_t set = 0;

  GI_ASSERT(layout->n == d->n);
  for (unsigned i = 0; i < d->n; i++)
    if ((d->up >> i & 1) && !(d->leaving >> i & 1) && !layout->range[i].err && !di_range_empty(&layout->range[i]))
      set |= 1ull << i;
  return set;
}

static unsigned
freest(const struct di *d, uint64_t set)
{
  unsigned best = (unsigned)__builtin_ctzll(set);

  GI_ASSERT(set);
  di_foreach(i, set) if (free_bytes(d, (unsigned)i) > free_bytes(d, best)) best = (unsigned)i;
  return best;
}

static uint64_t
with_room(const struct di *d, uint64_t set, uint64_t bytes)
{
  uint64_t those = 0;

  di_foreach(i, set) if (di_has_room(d, (unsigned)i, bytes)) those |= 1ull << i;
  return those;
}

int
di_with_room(const struct di *d, const struct di_layout *layout, uint64_t bytes)
{
  uint64_t set = with_room(d, usable(d, layout), bytes);

  return set ? (int)freest(d, set) : -1;
}

/* No one has room. A file needs an inode at least. */
static unsigned
least_full(const struct di *d, uint64_t candidates, unsigned hashed)
{
  uint64_t set = 0;

  di_foreach(i, candidates) if (d->space[i].st.files == 0 || d->space[i].st.ffree) set |= 1ull << i;
  if (!set)
    set = candidates;
  if (!set || ((set >> hashed & 1) && free_bytes(d, hashed) >= free_bytes(d, freest(d, set))))
    return hashed;
  return freest(d, set);
}

unsigned
di_choose(struct di *d, const struct di_layout *layout, unsigned hashed, const char *name)
{
  uint64_t rather = di_preferred(d, name), candidates, roomy;
  bool good = di_has_room(d, hashed, 0) && !(d->leaving >> hashed & 1);

  GI_ASSERT(hashed < d->n && layout->n == d->n);
  if (good && (!rather || rather >> hashed & 1))
    return hashed;
  candidates = usable(d, layout);
  roomy = with_room(d, candidates, 0);
  if (rather & roomy)
    return freest(d, rather & roomy);
  if (good)
    return hashed;
  return roomy ? freest(d, roomy) : least_full(d, candidates, hashed);
}
