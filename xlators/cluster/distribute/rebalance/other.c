/* SPDX-License-Identifier: Apache-2.0
 *
 * What is no regular file: symbolic links, devices, pipes, sockets. They have no
 * bytes and cannot be marked, so nobody uses them on both subvolumes while they
 * move. Whoever would change one of their names waits:
 *
 *   the lock of the file, and those of all of its names -> linkto files of it on
 *   the target go -> it is made there, and gets all names -> linkto files that led to
 *   the source lead to the target -> the names go from the source
 *
 * What was made is on the disks before the names go, and that they have gone is
 * before the move ends: no mark tells what a brick loses with its power.
 *
 * Who is killed leaves it on both, with the same gfid. Whoever comes after him
 * finds that, and brings the names that are left to where the others are.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/extension.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A name, and where it belongs. */
struct spot {
  const char *child; /* the name of that subvolume: locks are taken in this order */
  unsigned hashed;
  struct gi_loc loc; /* borrowed */
};

struct other {
  struct di_reb_file f;
  struct gi_iatt stat;
  unsigned n;
  struct spot *spot;
  struct di_locks file, *names; /* as many of the latter as it takes */
  unsigned nlocks;
};

static struct gi_fop *
spot_fop(const struct other *o, const struct spot *s, enum gi_fop_kind kind)
{
  struct gi_fop *fop = di_helper(o->f.r->base, kind);

  gi_loc_copy_name(&fop->loc, &s->loc);
  return fop;
}

/* ---- names and locks ---- */

static int
by_lock(const void *a, const void *b)
{
  const struct spot *x = a, *y = b;
  int c = strcmp(x->child, y->child);

  if (!c)
    c = memcmp(&x->loc.pargfid, &y->loc.pargfid, sizeof(x->loc.pargfid));
  return c ? c : strcmp(x->loc.name, y->loc.name);
}

/* EALREADY: one name belongs where it is. */
static int
find_spots(struct other *o, const struct di_reb_names *all)
{
  struct di_reb *r = o->f.r;
  GI_CLEANUP_FREE unsigned *hashed = gi_alloc(all->n * sizeof(*hashed));
  int err = di_reb_homes(r, all, hashed);

  for (unsigned i = 0; !err && i < all->n; i++) {
    struct gi_inode *parent = all->name[i].parent;

    if (hashed[i] == o->f.from)
      err = EALREADY;
    o->spot[i] = (struct spot){.child = r->d->x->children[hashed[i]]->name,
                               .hashed = hashed[i],
                               .loc = {.name = all->name[i].name, .parent = parent, .pargfid = parent->gfid}};
  }
  if (err)
    return err;
  o->f.to = hashed[0]; /* they are sorted: whoever comes after one who was killed chooses the same */
  qsort(o->spot, o->n, sizeof(*o->spot), by_lock);
  return 0;
}

static int
lock_names(struct other *o)
{
  struct di_locks *l = o->names;
  int err = 0;

  for (unsigned i = 0; !err && i < o->n; i++) {
    if (l->n + 2 > GI_ARRAY_LEN(l->lock)) {
      l[1].owner = l->owner;
      l++;
    }
    err = di_lock_name(o->f.r->d, o->f.r->base, l, o->spot[i].hashed, &o->spot[i].loc);
  }
  return err == EAGAIN ? EMLINK : err; /* it belongs elsewhere by now: the next walk */
}

static int
lock_all(struct other *o)
{
  struct gi_loc object = {.gfid = o->f.gfid};
  int err = di_lock(o->f.r->d, o->f.r->base, &o->file, DI_LOCK_MIGRATE, o->f.from, &object, NULL);

  return err ? err : lock_names(o);
}

static void
unlock_all(struct other *o)
{
  for (unsigned i = o->nlocks; i-- > 0;)
    di_unlock(o->f.r->d, o->f.r->base, &o->names[i]);
  di_unlock(o->f.r->d, o->f.r->base, &o->file);
}

/* ---- looking ---- */

/* EMLINK: it has other names than these. */
static int
look(struct other *o)
{
  int err = 0;

  for (unsigned i = 0; !err && i < o->n; i++) {
    struct gi_fop *fop = spot_fop(o, &o->spot[i], GI_FOP_LOOKUP);

    err = di_do(o->f.r->d, fop, o->f.from);
    if (!err && (!gi_gfid_equal(&fop->rsp.stat.gfid, &o->f.gfid) || S_ISREG(fop->rsp.stat.mode)))
      err = ENOENT; /* or a linkto file by now */
    if (!err)
      o->stat = fop->rsp.stat;
    gi_fop_unref(fop);
  }
  if (di_is_gone(err))
    return o->n > 1 ? EMLINK : ENOENT;
  return !err && o->stat.nlink != o->n ? EMLINK : err;
}

/* Somebody who was killed has brought it there, perhaps with some of its names: then it goes there. *there: it is so. */
static int
look_elsewhere(struct other *o, bool *there)
{
  struct di *d = o->f.r->d;
  struct gi_loc object = {.gfid = o->f.gfid};
  struct di_found f;
  uint64_t at, failed;

  di_find(d, o->f.r->base, &object, di_all(d), &f);
  at = f.file & ~d->leaving & ~(1ull << o->f.from);
  failed = f.failed;
  di_found_end(&f);
  if (failed)
    return ENOTCONN;
  *there = at != 0;
  if (at)
    o->f.to = (unsigned)__builtin_ctzll(at);
  return 0;
}

/* ---- the target ---- */

static int
make_object(struct other *o, const struct spot *s)
{
  struct di *d = o->f.r->d;
  struct gi_fop *link = di_helper(o->f.r->base, GI_FOP_READLINK), *fop;
  bool symlink = S_ISLNK(o->stat.mode);
  int err;

  GI_ASSERT(!S_ISREG(o->stat.mode) && !S_ISDIR(o->stat.mode));
  link->loc.gfid = o->f.gfid;
  link->args.size = 4096;
  err = symlink ? di_do(d, link, o->f.from) : 0;
  if (!err && symlink && !link->rsp.link)
    err = EIO;
  if (!err) {
    fop = spot_fop(o, s, symlink ? GI_FOP_SYMLINK : GI_FOP_MKNOD);
    gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &o->f.gfid);
    if (symlink) {
      fop->args.link = link->rsp.link;
    } else {
      fop->args.mode = o->stat.mode;
      fop->args.rdev = o->stat.rdev;
    }
    err = di_do_drop(d, fop, o->f.to);
  }
  gi_fop_unref(link);
  return err;
}

static int
link_object(struct other *o, const struct spot *s)
{
  struct gi_fop *fop = di_helper(o->f.r->base, GI_FOP_LINK);

  fop->loc.gfid = o->f.gfid;
  gi_loc_copy_name(&fop->loc2, &s->loc);
  return di_do_drop(o->f.r->d, fop, o->f.to);
}

/* What has the name there is a linkto file, which goes, or the object itself: 0. */
static int
clear(struct other *o, const struct spot *s, bool *same)
{
  struct di *d = o->f.r->d;
  struct gi_fop *fop;
  int err = di_linkto_remove(d, o->f.r->base, &s->loc, o->f.to, false);

  *same = false;
  if (!err || di_is_gone(err) || err == ENOTCONN)
    return di_is_gone(err) ? 0 : err;
  fop = spot_fop(o, s, GI_FOP_LOOKUP);
  *same = di_do(d, fop, o->f.to) == 0 && gi_gfid_equal(&fop->rsp.stat.gfid, &o->f.gfid) &&
          (fop->rsp.stat.mode & S_IFMT) == (o->stat.mode & S_IFMT);
  gi_fop_unref(fop);
  return *same ? 0 : EEXIST;
}

/* Linkto files of it keep its gfid from it. */
static int
make_first(struct other *o)
{
  bool same;
  int err = make_object(o, o->spot);

  for (unsigned i = 0; err == EEXIST && i < o->n; i++) {
    int refused = clear(o, &o->spot[i], &same);

    if (refused)
      return refused;
  }
  return err == EEXIST ? make_object(o, o->spot) : err;
}

static int
name_it(struct other *o, const struct spot *s)
{
  bool same = false;
  int err = link_object(o, s);

  if (err != EEXIST)
    return err;
  err = clear(o, s, &same);
  return err || same ? err : link_object(o, s);
}

static int
equip(struct other *o)
{
  struct gi_fop *fop = di_helper(o->f.r->base, GI_FOP_SETATTR);
  int err;

  fop->loc.gfid = o->f.gfid;
  fop->args.valid = GI_SET_UID | GI_SET_GID | GI_SET_ATIME | GI_SET_MTIME | (S_ISLNK(o->stat.mode) ? 0 : GI_SET_MODE);
  fop->args.iatt = o->stat;
  err = di_do_drop(o->f.r->d, fop, o->f.to);
  if (!err)
    err = di_reb_xattrs(&o->f);
  return err ? err : di_last_xattrs(o->f.r->d, o->f.r->base, &o->f.gfid, o->f.from, o->f.to);
}

/* With all names, and the attributes that it has now. */
static int
arrive(struct other *o)
{
  bool there;
  int err = look_elsewhere(o, &there);

  if (!err && !there)
    err = make_first(o);
  for (unsigned i = there ? 0 : 1; !err && i < o->n; i++)
    err = name_it(o, &o->spot[i]);
  return err ? err : equip(o);
}

/* ---- the source ---- */

static int
leave(struct other *o, const struct spot *s)
{
  struct gi_fop *fop;
  int err = s->hashed == o->f.to ? 0 : di_reb_lead(o->f.r, &s->loc, &o->stat, s->hashed, o->f.to);

  if (err)
    return err;
  fop = spot_fop(o, s, GI_FOP_UNLINK);
  gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, &o->f.gfid);
  err = di_do_drop(o->f.r->d, fop, o->f.from);
  return di_is_gone(err) ? 0 : err;
}

/* The directories of all names are on the disks of that subvolume. */
static int
sync_names(struct other *o, unsigned child)
{
  int err = 0;

  for (unsigned i = 0; !err && i < o->n; i++) {
    bool done = false;

    for (unsigned k = 0; !done && k < i; k++)
      done = o->spot[k].loc.parent == o->spot[i].loc.parent;
    if (!done)
      err = di_dir_sync(o->f.r->d, o->f.r->base, &o->spot[i].loc, child);
  }
  return err;
}

static int
move(struct other *o, const struct di_reb_names *all)
{
  int err = find_spots(o, all);

  if (!err)
    err = lock_all(o);
  if (!err)
    err = look(o);
  if (!err)
    err = arrive(o);
  if (!err)
    err = sync_names(o, o->f.to);
  for (unsigned i = 0; !err && i < o->n; i++)
    err = leave(o, &o->spot[i]);
  if (!err)
    err = sync_names(o, o->f.from);
  unlock_all(o);
  return err;
}

int
di_reb_move_other(struct di_reb *r, const struct di_reb_names *all)
{
  struct di_locks sample;
  unsigned nlocks = 2 * all->n / (GI_ARRAY_LEN(sample.lock) - 1) + 1;
  GI_CLEANUP_FREE struct spot *spot = gi_zalloc(all->n * sizeof(*spot));
  GI_CLEANUP_FREE struct di_locks *names = gi_zalloc(nlocks * sizeof(*names));
  struct other o;
  int err = ECANCELED;

  GI_ASSERT(all->n > 0 && all->from < r->d->n && !gi_gfid_is_none(&all->gfid));
  for (unsigned tries = 0; di_reb_all_up(r);) {
    o = (struct other){
        .f = {.r = r, .gfid = all->gfid, .from = all->from}, .n = all->n, .spot = spot, .names = names, .nlocks = nlocks};
    err = move(&o, all);
    if (!di_reb_try_again(r, err, &tries))
      break;
  }
  if (!err)
    di_know_file(r->d, &all->gfid, r->d->x->children[o.f.to]);
  return err;
}
