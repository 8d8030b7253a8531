/* SPDX-License-Identifier: Apache-2.0
 *
 * Files with several names. All names of a file are on one subvolume, so it
 * moves with all of them, when the walk has met all. Those that belong to the
 * new subvolume are names of the file there; it has the others as well, and each
 * of them a linkto file where it belongs:
 *
 *   a linkto file on the target, under all names -> marks, copy, compare, sync
 *   -> the target becomes the file, the source a linkto file, under all names at
 *   once -> name by name: a linkto file that led to the source leads to the
 *   target; the name goes from the source, unless it belongs there
 *
 * Before each decision all names are looked at again. Renames wait
 * (dht.file.migrate). Who makes a further name of a file on the move makes it on
 * both subvolumes; one that the walk did not meet ends the attempt.
 */
#include "xlators/cluster/distribute/rebalance/move.h"

#include "libglusterish/mutants.h"

#include <errno.h>

struct names {
  struct move m;
  struct di_reb_names *all;
  unsigned *hashed; /* by name: the subvolume that it belongs to */
  struct gi_loc loc;
  unsigned alive; /* found at the last look */
};

/* What is done for a name, under its lock. ENOENT: it is gone. */
typedef int name_fn(struct names *n, unsigned i);

static int
with_name(struct names *n, unsigned i, name_fn *fn)
{
  const struct di_reb_name *name = &n->all->name[i];
  int err;

  n->loc = (struct gi_loc){.name = name->name, .parent = name->parent, .pargfid = name->parent->gfid};
  n->m.loc = &n->loc;
  err = di_move_lock_name(&n->m, n->hashed[i]);
  if (!err)
    err = fn(n, i);
  di_move_unlock_name(&n->m);
  return err;
}

static int
each_name(struct names *n, name_fn *fn)
{
  for (unsigned i = 0; i < n->all->n; i++) {
    int err = n->all->name[i].gone ? 0 : with_name(n, i, fn);

    if (err && err != ENOENT)
      return err;
    n->all->name[i].gone = n->all->name[i].gone || err == ENOENT;
  }
  return 0;
}

/* ---- for one name ---- */

static int
look(struct names *n, bool prepare)
{
  int err = di_move_look(&n->m, prepare);

  if (err == ENOENT)
    di_move_drop_target(&n->m);
  n->alive += !err;
  return err;
}

static int
prepare(struct names *n, unsigned i)
{
  if (i > 0 && GI_BROKEN("move a file with one of its names"))
    return look(n, false);
  return look(n, true);
}

static int
check(struct names *n, unsigned i)
{
  int err = look(n, false);

  return !err && n->m.missing && !GI_BROKEN("move a file with one of its names") ? EIO : err; /* what was copied is gone */
}

/* Nothing comes of it: where the name does not belong no linkto file stays. */
static int
withdraw(struct names *n, unsigned i)
{
  if (n->hashed[i] != n->m.f.to)
    di_move_drop_target(&n->m);
  return 0;
}

/* One that has no room even for that does not hold up the file: the name is searched everywhere. */
static int
make_linkto(struct di_reb *r, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned hashed, unsigned to)
{
  int err = di_linkto_make(r->d, r->base, loc, stat, hashed, to);

  GI_ASSERT(hashed != to);
  if (err != ENOSPC)
    return err;
  r->unsure = true;
  return 0;
}

int
di_reb_lead(struct di_reb *r, const struct gi_loc *loc, const struct gi_iatt *stat, unsigned hashed, unsigned to)
{
  struct di *d = r->d;
  struct gi_fop *fop = di_helper(r->base, GI_FOP_LOOKUP);
  bool same, leads;
  int err;

  gi_loc_copy_name(&fop->loc, loc);
  di_add_keys(d, gi_fop_xdata(fop));
  err = di_do(d, fop, hashed);
  same = !err && di_is_linkto(d, fop) && gi_gfid_equal(&fop->rsp.stat.gfid, &stat->gfid);
  leads = same && di_linkto_target(d, fop) == (int)to;
  gi_fop_unref(fop);
  if (err == ENOENT)
    return make_linkto(r, loc, stat, hashed, to);
  if (err || leads || !same)
    return err; /* something else there is not ours to mend */
  return di_linkto_lead(d, r->base, &stat->gfid, hashed, to);
}

/* The target is the file, and the source a linkto file. */
static int
settle(struct names *n, unsigned i)
{
  unsigned hashed = n->hashed[i];
  int err = 0;

  if (hashed != n->m.f.from && hashed != n->m.f.to) /* neither source nor target */
    err = di_reb_lead(n->m.f.r, n->m.loc, &n->m.stat, hashed, n->m.f.to);
  if (err)
    return err;
  return hashed == n->m.f.from ? di_move_keep_name(&n->m) : di_move_remove_name(&n->m);
}

static int
settle_patiently(struct names *n, unsigned i)
{
  int err = settle(n, i);

  for (unsigned tries = 0; di_reb_try_again(n->m.f.r, err, &tries) && di_reb_all_up(n->m.f.r);)
    err = settle(n, i);
  return err;
}

/* ---- for all of them ---- */

static int
look_at_all(struct names *n, name_fn *fn)
{
  int err;

  n->alive = 0;
  err = each_name(n, fn);
  if (!err && n->alive == 0)
    return ENOENT;
  if (!err && n->m.stat.nlink != n->alive)
    return EMLINK; /* another name was made meanwhile */
  return err;
}

/* Linkto files that stay on the source have no bytes, and are linkto files on the disks. */
static int
settle_all(struct names *n)
{
  struct move *m = &n->m;
  bool stays = false;
  int err = each_name(n, settle_patiently);

  if (err == ENOTCONN)
    err = EIO; /* not once more from the beginning: the source is none any more */

  for (unsigned i = 0; i < n->all->n; i++)
    stays = stays || (n->hashed[i] == m->f.from && !n->all->name[i].gone);
  if (err || !stays)
    return err;
  err = di_reb_truncate(m->f.r, &m->f.gfid, m->f.from, 0);
  return err ? err : di_reb_sync(&m->f, m->f.from);
}

/* Somebody was killed when the target was the file, or about to be. */
static int
finish(struct names *n)
{
  int err = di_move_finish(&n->m);

  return err ? err : settle_all(n);
}

static int
exchange(struct move *m)
{
  struct names *n = GI_CONTAINER(m, struct names, m);
  int err = look_at_all(n, check);

  if (!err && m->replaced)
    return finish(n);
  if (!err && di_move_has_more_names(m))
    return EMLINK;
  if (!err)
    err = di_move_go_over(m);
  return err ? err : settle_all(n);
}

/* ---- where to ---- */

int
di_reb_homes(struct di_reb *r, const struct di_reb_names *all, unsigned *hashed)
{
  for (unsigned i = 0; i < all->n; i++) {
    int err = di_hashed_get(r->d, r->base, all->name[i].parent, all->name[i].name, &hashed[i]);

    if (err)
      return err;
  }
  return 0;
}

/* None of the names belongs where there is room for the file. */
static int
evade(struct names *n)
{
  struct di_reb *r = n->m.f.r;
  const struct di_layout *l;
  int err = di_layout_get(r->d, r->base, n->all->name[0].parent, &l), to;

  if (err)
    return err;
  to = r->d->leaving >> n->m.f.from & 1 ? di_with_room(r->d, l, n->m.stat.blocks * 512) : -1;
  if (to < 0)
    return ENOSPC;
  n->m.f.to = (unsigned)to;
  return 0;
}

/* EALREADY: one name at least belongs where the file is. They are sorted: whoever comes after one who was killed chooses the same, or
 * follows what that has marked. */
static int
choose(struct names *n)
{
  GI_ASSERT(n->all->n > 0);
  for (unsigned i = 0; i < n->all->n; i++)
    if (n->hashed[i] == n->m.f.from)
      return EALREADY;
  for (unsigned i = 0; i < n->all->n; i++)
    if (di_reb_fits(n->m.f.r, n->hashed[i], &n->m.stat)) {
      n->m.f.to = n->hashed[i];
      return 0;
    }
  return evade(n);
}

/* One who was killed had chosen: what is the file already, or may become it. */
static int
follow_marks(struct names *n)
{
  struct move *m = &n->m;
  struct di *d = m->f.r->d;
  int err;

  if (!m->marked || m->target < 0 || m->target == (int)m->f.from)
    return choose(n);
  m->f.to = (unsigned)m->target;
  err = di_move_look(m, false);
  if (err && err != ENOENT)
    return err;
  return m->replaced || !(d->leaving >> m->f.to & 1) ? 0 : choose(n);
}

static int
aim(struct names *n)
{
  const struct di_reb_name *first = &n->all->name[0];
  int err = di_reb_homes(n->m.f.r, n->all, n->hashed);

  n->loc = (struct gi_loc){.name = first->name, .parent = first->parent, .pargfid = first->parent->gfid};
  n->m.loc = &n->loc;
  if (!err)
    err = di_move_look_at_source(&n->m);
  return err ? err : follow_marks(n);
}

/* ---- all of it ---- */

static int
carry(struct names *n)
{
  struct move *m = &n->m;
  int err = look_at_all(n, prepare);

  if (!err && m->replaced)
    return di_move_end(m);
  if (!err)
    err = di_move_begin(m);
  if (!err) {
    err = di_move_copy(m);
    if (err && !m->switched)
      di_move_unmark(m);
  }
  if (err && !m->switched)
    GI_IGNORE(each_name(n, withdraw)); /* then the walk over the target finds them */
  return err;
}

/* It is where one of its names belongs. Who was killed had moved it elsewhere, and not come far: neither marks nor linkto files there stay. */
static int
stay(struct names *n)
{
  struct move *m = &n->m;
  int err, at;

  if (!m->marked || m->target < 0 || m->target == (int)m->f.from)
    return EALREADY;
  m->f.to = (unsigned)m->target;
  err = di_arrived_at(m->f.r->d, m->f.r->base, &m->f.gfid, m->f.from, &at);
  if (err)
    return err;
  if (at >= 0)
    return EALREADY;
  di_move_unmark(m);
  err = di_move_look_at_source(m);
  if (!m->marked)
    GI_IGNORE(each_name(n, withdraw));
  return err ? err : EALREADY;
}

static int
move(struct names *n)
{
  int err = di_move_lock_file(&n->m);

  if (!err)
    err = aim(n);
  if (!err)
    err = carry(n);
  else if (err == EALREADY)
    err = stay(n);
  di_move_unlock_file(&n->m);
  return err;
}

int
di_reb_move_names(struct di_reb *r, struct di_reb_names *all)
{
  GI_CLEANUP_FREE unsigned *hashed = gi_alloc(all->n * sizeof(*hashed));
  struct names n;
  int err = ECANCELED;

  GI_ASSERT(all->n > 0 && all->from < r->d->n);
  for (unsigned tries = 0; di_reb_all_up(r);) {
    n = (struct names){
        .m = {.f = {.r = r, .gfid = all->gfid, .from = all->from}, .exchange = exchange}, .all = all, .hashed = hashed};
    n.m.f.to = all->from == 0; /* any other, until one is chosen */
    err = move(&n);
    if (!di_reb_try_again(r, err, &tries))
      break;
  }
  if (!err)
    di_reb_filled(r, n.m.f.to, &n.m.stat);
  if (!err)
    di_know_file(r->d, &all->gfid, r->d->x->children[n.m.f.to]);
  return err;
}
