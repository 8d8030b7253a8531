/* SPDX-License-Identifier: Apache-2.0
 *
 * Linkto files where they are not due, or with bytes, and marks of a file that
 * stays: what is left when somebody was killed who moved or renamed a file.
 */
#include "xlators/cluster/distribute/rebalance/move.h"

#include <errno.h>

static int
remove_linkto(struct di_reb *r, const struct gi_loc *loc, const struct gi_gfid *gfid, unsigned child, unsigned at, bool bare)
{
  int err = bare ? di_linkto_lead(r->d, r->base, gfid, child, at) : 0; /* or the brick takes it for a file, and keeps it */

  return err ? err : di_linkto_remove(r->d, r->base, loc, child, false);
}

/* Under all locks. The file is on `at` and nowhere else, and is not on its way to `child`; EAGAIN: it has moved meanwhile. */
static int
remove_stray(struct di_reb *r, const struct gi_loc *loc, unsigned child, unsigned hashed, unsigned at)
{
  struct di *d = r->d;
  struct di_found f;
  struct gi_gfid gfid = gi_gfid_none;
  bool alone, comes, bare = false;
  int err = 0;

  di_find(d, r->base, loc, di_all(d), &f);
  alone = f.file == 1ull << at && !f.dir && (f.linkto >> child & 1);
  if (alone) {
    const struct gi_fop *file = gi_fan_reply(&f.ask.fan, at);

    comes = di_is_moving(d, &file->rsp.stat, file->rsp.xdata) && di_linkto_target(d, file) == (int)child;
    alone = !comes;
    gfid = gi_fan_reply(&f.ask.fan, child)->rsp.stat.gfid;
    bare = !di_is_linkto(d, gi_fan_reply(&f.ask.fan, child));
  }
  if (f.failed)
    err = ENOTCONN;
  else if (f.file && !(f.file >> at & 1))
    err = EAGAIN;
  di_found_end(&f);
  if (err || !alone)
    return err;
  return child == hashed ? di_reb_truncate(r, &gfid, child, 0) : remove_linkto(r, loc, &gfid, child, at, bare);
}

static int
locked(struct di_reb *r, const struct gi_loc *loc, unsigned child, unsigned at, const struct gi_gfid *gfid)
{
  struct di *d = r->d;
  struct gi_loc object = {.gfid = *gfid, .inode = gi_inode_get(d->x->graph, gfid)};
  struct di_locks locks = {0};
  unsigned hashed;
  int err = di_lock(d, r->base, &locks, DI_LOCK_MIGRATE, at, &object, NULL);

  if (!err)
    err = di_hashed_get(d, r->base, loc->parent, loc->name, &hashed);
  if (!err)
    err = di_lock_name(d, r->base, &locks, hashed, loc);
  if (!err)
    err = remove_stray(r, loc, child, hashed, at);
  di_unlock(d, r->base, &locks);
  gi_loc_clear(&object);
  return err;
}

int
di_reb_stray(struct di_reb *r, const struct gi_loc *loc, unsigned child)
{
  struct gi_iatt stat;
  int at, err = EAGAIN;

  GI_ASSERT(child < r->d->n && loc->parent);
  for (int i = 0; err == EAGAIN && i < DI_ATTEMPTS; i++) {
    err = di_resolve(r->d, r->base, loc, &at, &stat); /* which leads the linkto file where the name belongs to the file */
    if (err || at < 0 || at == (int)child)
      break;
    err = locked(r, loc, child, (unsigned)at, &stat.gfid);
  }
  return di_is_gone(err) || err == EBUSY ? 0 : err; /* it is gone, or something else by now */
}

/* ---- marks ---- */

/* Under the lock of the file. *arrived: the subvolume where it is the file already. */
static int
unmark(struct move *m, int *arrived)
{
  struct di *d = m->f.r->d;
  int err = di_move_lock_name(m, m->hashed);

  if (!err)
    err = di_move_look_at_source(m);
  if (!err && m->marked && m->target >= 0 && m->target != (int)m->f.from) {
    m->f.to = (unsigned)m->target;
    err = di_arrived_at(d, m->f.r->base, &m->f.gfid, m->f.from, arrived);
    if (!err && *arrived < 0) {
      di_move_unmark(m);
      err = di_move_look_at_source(m);
      if (!m->marked)
        di_move_drop_target(m);
    }
  }
  di_move_unlock_name(m);
  return err;
}

static int
stay(struct di_reb *r, const struct gi_loc *loc, unsigned at)
{
  struct move m = {.f = {.r = r, .from = at, .to = at}, .loc = loc, .hashed = at};
  int arrived = -1, err = di_move_look_at_source(&m);

  if (err && err != EBUSY)
    return err;
  if (!m.marked)
    return 0;
  err = di_move_lock_file(&m);
  if (!err)
    err = unmark(&m, &arrived);
  di_move_unlock_file(&m);
  if (arrived < 0)
    return err == EBUSY ? 0 : err; /* EBUSY: it has no marks any more, and somebody has locked it since */
  di_end_move(r->d, r->base, &m.f.gfid, (unsigned)arrived);
  return di_reb_move(r, loc, (unsigned)arrived, at);
}

int
di_reb_stay(struct di_reb *r, const struct gi_loc *loc, unsigned at)
{
  int err = ECANCELED;

  GI_ASSERT(at < r->d->n && loc->parent);
  for (unsigned tries = 0; di_reb_all_up(r);) {
    err = stay(r, loc, at);
    if (!di_reb_try_again(r, err, &tries))
      break;
  }
  return err;
}
