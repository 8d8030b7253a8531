/* SPDX-License-Identifier: Apache-2.0
 *
 * One file is moved to where its name belongs:
 *
 *   a linkto file there -> the source is marked: whoever changes it changes both
 *   -> copy, compare until nothing differs, sync -> the target becomes the file
 *   -> the source becomes a linkto file -> and goes
 *
 * Renames wait (dht.file.migrate). At every point the name leads to all of the
 * data; a source that is left behind with its marks is dealt with when it is found
 * again.
 */
#include "xlators/cluster/distribute/rebalance/move.h"

#include "libglusterish/extension.h"
#include "libglusterish/mutants.h"

#include <errno.h>
#include <sys/stat.h>

#define PASSES_MAX 32 /* comparisons, before it is left to a later rebalance: somebody writes all the time */

/* ---- looking ---- */

static struct gi_fop *
name_fop(struct move *m, enum gi_fop_kind kind)
{
  struct gi_fop *fop = di_helper(m->f.r->base, kind);

  gi_loc_copy_name(&fop->loc, m->loc);
  return fop;
}

/* A linkto file of another one, which a rename or a removal has left, gives way. */
static int
prepare_target(struct move *m, bool other)
{
  struct di *d = m->f.r->d;
  int err = other ? di_linkto_remove(d, m->f.r->base, m->loc, m->f.to, true) : 0;

  GI_ASSERT(m->name.n > 0); /* or a linkto file could be left of a name that goes meanwhile */
  return err && err != ENOENT ? err : di_linkto_make(d, m->f.r->base, m->loc, &m->stat, m->f.to, m->f.from);
}

static int
look_at_target(struct move *m, bool prepare)
{
  struct di *d = m->f.r->d;
  struct gi_fop *fop = name_fop(m, GI_FOP_LOOKUP);
  bool same, other, linkto, bare;
  uint32_t mode;
  int err;

  di_add_keys(d, gi_fop_xdata(fop));
  err = di_do(d, fop, m->f.to);
  same = !err && gi_gfid_equal(&fop->rsp.stat.gfid, &m->f.gfid);
  other = !err && !same && di_is_linkto(d, fop);
  mode = fop->rsp.stat.mode & 07777u;
  m->was_source = same && gi_dict_get(fop->rsp.xdata, d->mode_key);
  m->links = same ? fop->rsp.stat.nlink : 0;
  linkto = same && gi_dict_get(fop->rsp.xdata, d->linkto_key); /* whatever mode somebody gave it */
  bare = same && di_is_bare(d, &fop->rsp.stat, fop->rsp.xdata) && mode != (m->stat.mode & 07777u);
  gi_fop_unref(fop);
  m->missing = m->dressed = m->replaced = m->unfinished = false;
  if (err == ENOENT || other) {
    m->missing = true;
    return prepare ? prepare_target(m, other) : 0;
  }
  if (err || !same)
    return err ? err : EEXIST;
  if (bare) /* it lacks its attribute, and is no copy */
    return prepare ? di_linkto_lead(d, m->f.r->base, &m->f.gfid, m->f.to, m->f.from) : 0;
  m->dressed = linkto && mode != GI_LINKTO_MODE;
  m->unfinished = m->dressed && m->marked && mode == (m->stat.mode & 07777u);
  m->replaced = !linkto || m->unfinished;
  return 0;
}

/* Who ends an earlier move may take the target's name away after it has been marked anew: the mode that is kept beside it still says which of
 * these bits are the owner's; the others an ACL may have changed since. */
static void
read_marks(struct move *m, const struct gi_fop *reply)
{
  const struct di *d = m->f.r->d;

  m->stat = reply->rsp.stat;
  m->f.gfid = m->stat.gfid;
  m->marked = di_is_moving(d, &m->stat, reply->rsp.xdata);
  m->target = m->marked || di_lost_marks(d, reply) ? di_linkto_target(d, reply) : -1;
  m->stat.mode = di_own_mode(d, &m->stat, reply->rsp.xdata);
}

int
di_move_look_at_source(struct move *m)
{
  struct di *d = m->f.r->d;
  struct gi_fop *fop = name_fop(m, GI_FOP_LOOKUP);
  int64_t locks = 0;
  int err;

  di_add_keys(d, gi_fop_xdata(fop));
  gi_dict_set_int(gi_fop_xdata(fop), DI_SIZE_KEY, 32);
  gi_dict_set_int(gi_fop_xdata(fop), "glusterfs.posixlk-count", 0);
  err = di_do(d, fop, m->f.from);
  if (!err && (!S_ISREG(fop->rsp.stat.mode) || di_is_linkto(d, fop)))
    err = ENOENT;
  if (!err && !gi_gfid_is_none(&m->f.gfid) && !gi_gfid_equal(&m->f.gfid, &fop->rsp.stat.gfid))
    err = ENOENT;
  if (!err) {
    m->f.blocks = gi_dict_get(fop->rsp.xdata, DI_SIZE_KEY);
    read_marks(m, fop);
    gi_dict_get_int(fop->rsp.xdata, "glusterfs.posixlk-count", &locks);
  }
  gi_fop_unref(fop);
  return err ? err : locks > m->f.frozen && !m->marked ? EBUSY : 0; /* one of them is ours */
}

int
di_move_look(struct move *m, bool prepare)
{
  int busy = di_move_look_at_source(m), err;

  if (busy && busy != EBUSY)
    return busy;
  err = look_at_target(m, prepare && !busy);
  return err ? err : busy;
}

/* ---- locks ---- */

int
di_move_lock_name(struct move *m, unsigned hashed)
{
  return di_lock_name(m->f.r->d, m->f.r->base, &m->name, hashed, m->loc);
}

void
di_move_unlock_name(struct move *m)
{
  di_unlock(m->f.r->d, m->f.r->base, &m->name);
}

int
di_move_lock_file(struct move *m)
{
  struct gi_loc object = {.gfid = m->f.gfid, .inode = gi_inode_get(m->f.r->d->x->graph, &m->f.gfid)};
  int err = di_lock(m->f.r->d, m->f.r->base, &m->migrate, DI_LOCK_MIGRATE, m->f.from, &object, NULL);

  gi_loc_clear(&object);
  return err;
}

void
di_move_unlock_file(struct move *m)
{
  di_unlock(m->f.r->d, m->f.r->base, &m->migrate);
}

/* ---- marks ---- */

/* For the mode of `child`, with `owner` for all attributes at once; the source is told with it whether it has moved: then nobody gets a lock there any
 * more. */
static struct gi_fop *
mode_fop(struct move *m, unsigned child, uint32_t mode, bool owner)
{
  struct gi_fop *fop = di_own_fop(m->f.r->base, GI_FOP_SETATTR, &m->f.gfid);

  GI_ASSERT((mode & ~07777u) == 0 && (child == m->f.from || child == m->f.to));
  fop->args.valid = GI_SET_MODE | (owner ? GI_SET_UID | GI_SET_GID | GI_SET_ATIME | GI_SET_MTIME : 0);
  fop->args.iatt = m->stat;
  fop->args.iatt.mode = (m->stat.mode & ~07777u) | mode;
  if (child == m->f.from)
    gi_dict_set_uint(gi_fop_xdata(fop), GI_MOVED_KEY, mode == GI_LINKTO_MODE);
  return fop;
}

static int
set_mode(struct move *m, unsigned child, uint32_t mode, bool owner)
{
  return di_do_drop(m->f.r->d, mode_fop(m, child, mode, owner), child);
}

/* The mode that the source had before it got its own, with marks or without: what is neither of these, nor `last`, which we gave it before, somebody
 * has set since it was looked at, and is its own. */
static bool
take_other_mode(struct move *m, const struct gi_iatt *before, uint32_t last)
{
  const uint32_t marks = DI_MOVING, mode = before->mode & 07777u, own = m->stat.mode & 07777u;

  if (!S_ISREG(before->mode) || mode == last || mode == own || mode == (own | marks))
    return false;
  m->stat.mode = before->mode;
  if ((mode & marks) == marks) /* an ACL has changed it */
    m->stat.mode = (before->mode & ~marks) | (own & marks);
  return true;
}

/* The source gets its mode, with the marks of a file on the move or without. */
static int
give_source_mode(struct move *m, uint32_t marks, uint32_t *last)
{
  uint32_t mode = (m->stat.mode & 07777u) | marks;
  struct gi_fop *fop = mode_fop(m, m->f.from, mode, false);
  int err = di_do(m->f.r->d, fop, m->f.from);

  if (!err && take_other_mode(m, &fop->rsp.pre, *last))
    err = EAGAIN;
  gi_fop_unref(fop);
  *last = mode;
  return err;
}

static int
set_marks(struct move *m)
{
  struct di *d = m->f.r->d;
  struct gi_fop *fop = di_own_fop(m->f.r->base, GI_FOP_SETXATTR, &m->f.gfid);
  const char *target = d->x->children[m->f.to]->name;
  GI_CLEANUP_FREE char *mode = gi_asprintf("%o", m->stat.mode & 07777u);

  GI_ASSERT(!gi_gfid_is_none(&m->f.gfid) && S_ISREG(m->stat.mode));
  fop->args.dict = gi_dict_new();
  gi_dict_set_bin(fop->args.dict, d->linkto_key, target, (uint32_t)strlen(target) + 1);
  gi_dict_set_str(fop->args.dict, d->mode_key, mode);
  return di_do_drop(d, fop, m->f.from);
}

/* With marks, or without: a mode that somebody sets meanwhile stays. */
static int
mark_source(struct move *m, uint32_t marks)
{
  uint32_t last = UINT32_MAX;
  int err = EAGAIN;

  GI_ASSERT(marks == 0 || marks == DI_MOVING);
  for (unsigned i = 0; err == EAGAIN && i < DI_ATTEMPTS; i++) {
    err = marks ? set_marks(m) : 0;
    if (!err)
      err = give_source_mode(m, marks, &last);
  }
  return err == EAGAIN ? EBUSY : err;
}

static int
drop_xattr(struct move *m, unsigned child, const char *name)
{
  GI_ASSERT(name && (child == m->f.from || child == m->f.to));
  return di_xattr_drop(m->f.r->d, m->f.r->base, &m->f.gfid, child, name);
}

/* The source is as before; the target, which nobody may take for the file, an empty linkto file. */
void
di_move_unmark(struct move *m)
{
  const struct di *d = m->f.r->d;

  if (mark_source(m, 0) != 0)
    return;                                           /* then it is found again with its marks */
  GI_IGNORE(drop_xattr(m, m->f.from, d->linkto_key)); /* without the bits it says nothing */
  GI_IGNORE(drop_xattr(m, m->f.from, d->mode_key));
  GI_IGNORE(di_reb_truncate(m->f.r, &m->f.gfid, m->f.to, 0)); /* or it is overwritten next time */
}

/* ---- the end ---- */

/* The name was removed on the source by somebody who did not yet know of the target: that goes too. ENOENT, or why it stays. */
static int
follow_removal(struct move *m)
{
  struct gi_fop *fop = di_helper(m->f.r->base, GI_FOP_UNLINK);
  int err;

  GI_ASSERT(m->name.n > 0);
  gi_loc_copy(&fop->loc, m->loc);
  gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, &m->f.gfid);
  err = di_do_drop(m->f.r->d, fop, m->f.to);
  return err ? err : ENOENT;
}

/* A brick that loses its power would have the name again, no mark would say so, and with it the file, whatever became of that meanwhile. */
static int
sync_names(struct move *m, unsigned child)
{
  return di_dir_sync(m->f.r->d, m->f.r->base, m->loc, child);
}

int
di_move_remove_name(struct move *m)
{
  int err = GI_BROKEN("leave the source of a move") ? 0 : di_linkto_remove(m->f.r->d, m->f.r->base, m->loc, m->f.from, false);

  if (!err)
    err = sync_names(m, m->f.from);
  return di_is_gone(err) ? follow_removal(m) : err;
}

int
di_move_keep_name(struct move *m)
{
  int err = di_do_drop(m->f.r->d, name_fop(m, GI_FOP_LOOKUP), m->f.from);

  return di_is_gone(err) ? follow_removal(m) : err;
}

/* The source is gone, and what was to become its copy leads nowhere. */
void
di_move_drop_target(struct move *m)
{
  struct di *d = m->f.r->d;
  struct gi_fop *fop = name_fop(m, GI_FOP_LOOKUP);

  GI_ASSERT(m->name.n > 0);
  di_add_keys(d, gi_fop_xdata(fop));
  if (di_do(d, fop, m->f.to) == 0 && di_is_linkto(d, fop) && gi_gfid_equal(&fop->rsp.stat.gfid, &m->f.gfid))
    GI_IGNORE(di_linkto_remove(d, m->f.r->base, m->loc, m->f.to, false)); /* then a lookup does */
  gi_fop_unref(fop);
}

/* Whoever fails in between leaves it to the next one, who finds that the target is the file: that keeps its bytes, whatever comes. */
static int
switch_over(struct move *m)
{
  int err;

  m->switched = true;
  /* From here on it is the file, and still names the source. */
  err = set_mode(m, m->f.to, GI_BROKEN("forget the mode of a file that moves") ? 0644 : m->stat.mode & 07777u, true);
  return err ? err : di_last_xattrs(m->f.r->d, m->f.r->base, &m->f.gfid, m->f.from, m->f.to);
}

/* Who has changed the source since it was looked at may have been before the target became the file: what that got then is old. Later times than
 * those come with the times of the bricks, or were repeated on the target. */
static int
see_whether_changed(struct move *m)
{
  struct gi_iatt was = m->stat;
  int err = di_move_look_at_source(m);

  GI_ASSERT(m->switched);
  if (di_is_gone(err))
    return 0; /* that is seen when names are */
  if (err && err != EBUSY)
    return err;
  return m->marked && m->stat.mode == was.mode && m->stat.uid == was.uid && m->stat.gid == was.gid &&
                 !gi_time_later(&was.mtime, &m->stat.mtime) && !gi_time_later(&was.atime, &m->stat.atime)
             ? 0
             : EAGAIN;
}

/* Who changed the mode of the source did so on the target too, perhaps: there it would say that the copy is complete. */
static int
mark_again(struct move *m)
{
  int err = m->dressed ? set_mode(m, m->f.to, GI_LINKTO_MODE, false) : 0;

  if (!err)
    m->switched = false;
  return err ? err : mark_source(m, DI_MOVING);
}

/* EAGAIN: somebody has changed the mode of the source, and with it the marks, which are made anew; or other attributes, again and again. */
static int
become_the_file(struct move *m)
{
  int err = EAGAIN;

  for (unsigned i = 0; err == EAGAIN && (i == 0 || m->marked) && i < DI_ATTEMPTS; i++) {
    err = switch_over(m);
    if (!err)
      err = see_whether_changed(m);
  }
  if (err == EAGAIN) {
    m->dressed = true;
    err = mark_again(m);
    return err ? err : EAGAIN;
  }
  return err;
}

/* Somebody has set the mode of the source since it was looked at for the last time, and what others have written since, who saw no marks, the target
 * lacks. A target that was the file before keeps its bytes. */
static int
go_back(struct move *m)
{
  int err = di_move_look_at_source(m);

  if (m->replaced && !m->unfinished)
    return EEXIST;
  if (err && err != EBUSY)
    return err;
  m->dressed = true;
  err = mark_again(m);
  return err ? err : EAGAIN;
}

/* What it has become meanwhile, by the hand of somebody else, stays: names are removed of linkto files alone. EAGAIN: all is to be compared anew.
 * The target is the file on the disks first: without its mode it would lead to a source that is none any more. */
static int
retire(struct move *m)
{
  struct di *d = m->f.r->d;
  int err;

  GI_ASSERT(m->switched || m->replaced);
  m->switched = true;
  err = di_file_sync(d, m->f.r->base, &m->f.gfid, m->f.to);
  if (err)
    return err;
  err = di_linkto_lead(d, m->f.r->base, &m->f.gfid, m->f.from, m->f.to); /* to those who missed the mark */
  if (!err)
    err = set_mode(m, m->f.from, GI_LINKTO_MODE, false);
  if (err == EAGAIN)
    err = go_back(m);
  if (err && !di_is_gone(err))
    return err; /* gone: its last name was removed, which is seen when names are */
  return drop_xattr(m, m->f.to, d->linkto_key);
}

bool
di_move_has_more_names(const struct move *m)
{
  return m->links > m->stat.nlink;
}

int
di_move_finish(struct move *m)
{
  int err;

  GI_ASSERT(m->replaced);
  if (!m->marked)
    return EEXIST;
  err = m->unfinished ? di_reb_xattrs(&m->f) : 0; /* who has changed the source did not reach the target, perhaps */
  if (!err && m->unfinished)
    err = become_the_file(m);
  return err ? err : retire(m);
}

static int
finish(struct move *m)
{
  int err = di_move_finish(m);

  return err ? err : di_move_remove_name(m);
}

int
di_move_go_over(struct move *m)
{
  int err;

  if (!m->marked) {
    err = mark_again(m);
    return err ? err : EAGAIN;
  }
  err = di_reb_xattrs(&m->f);
  if (!err)
    err = become_the_file(m);
  return err ? err : retire(m);
}

static int
exchange_one(struct move *m)
{
  int err = di_move_look(m, false);

  if (err == ENOENT)
    di_move_drop_target(m);
  if (!err && m->stat.nlink > 1)
    return EMLINK;
  if (!err && m->missing)
    return EIO; /* what was copied is gone */
  if (!err && m->replaced)
    return finish(m);
  if (!err && di_move_has_more_names(m))
    return EMLINK;
  if (!err && m->marked && GI_BROKEN("remove the source of a move early"))
    return di_do_drop(m->f.r->d, name_fop(m, GI_FOP_UNLINK), m->f.from);
  if (!err)
    err = di_move_go_over(m);
  return err ? err : di_move_remove_name(m);
}

/* Under the lock of the name. */
static int
exchange(struct move *m)
{
  int err = di_move_lock_name(m, m->hashed);

  if (!err)
    err = exchange_one(m);
  di_move_unlock_name(m);
  return err;
}

/* ---- all of it ---- */

/* Of a file in blocks the size is changed by adding to it: from when it is read until there is but one copy nobody may. */
static int
exchange_alone(struct move *m)
{
  struct gi_loc object = {.gfid = m->f.gfid};
  struct di *d = m->f.r->d;
  struct di_locks size = {0};
  int err = m->f.blocks ? di_lock(d, m->f.r->base, &size, DI_LOCK_SIZE, m->f.from, &object, NULL) : 0;

  if (!err)
    err = di_reb_freeze(&m->f);
  if (!err)
    err = m->exchange(m);
  di_reb_thaw(&m->f);
  di_unlock(d, m->f.r->base, &size);
  return err;
}

/* Which copies of the source are good is asked anew before each comparison. One that came back may be found here before a writer finds it:
 * then it lacks what that writes, and what was read of it may have been put over what that wrote to the target. */
static int
compare(struct move *m, bool *differs)
{
  int err = di_do_drop(m->f.r->d, di_own_fop(m->f.r->base, GI_FOP_LOOKUP, &m->f.gfid), m->f.from);

  return err && !di_is_gone(err) ? err : di_reb_compare(&m->f, differs); /* gone: that is seen when both are exchanged */
}

int
di_move_copy(struct move *m)
{
  bool differs = true;
  int err = di_reb_open(&m->f);

  if (!err)
    err = di_reb_copy(&m->f);
  for (unsigned pass = 0; !err; pass++) {
    while (!err && differs && !GI_BROKEN("compare no copy with what was copied")) {
      err = compare(m, &differs);
      if (!err && differs && ++pass > PASSES_MAX)
        err = EBUSY;
    }
    if (!err)
      err = di_reb_sync(&m->f, m->f.to);
    if (!err) {
      err = exchange_alone(m);
      if (!err)
        break;
    }
    differs = true;
    if (err == EAGAIN)
      err = pass < PASSES_MAX ? 0 : EBUSY;
  }
  di_reb_close(&m->f);
  return err;
}

/* The target is the file already: what is left to do is done with the same locks. EAGAIN: it is not any more. */
int
di_move_end(struct move *m)
{
  int err = di_reb_open(&m->f);

  if (!err)
    err = exchange_alone(m);
  di_reb_close(&m->f);
  return err == EAGAIN ? di_move_copy(m) : err;
}

int
di_move_begin(struct move *m)
{
  int err = 0;

  if (!m->marked && (m->stat.mode & DI_MOVING) == DI_MOVING)
    return EBUSY; /* its own bits would be taken for marks */
  if (m->dressed) /* whoever finds it empty must not take it for the file */
    err = set_mode(m, m->f.to, GI_LINKTO_MODE, false);
  if (!err && m->was_source)
    err = drop_xattr(m, m->f.to, m->f.r->d->mode_key);
  m->dressed = m->dressed && err;
  if (!err)
    err = di_reb_truncate(m->f.r, &m->f.gfid, m->f.to, 0);
  if (!err)
    err = mark_again(m);
  if (err)
    di_move_unmark(m);
  return err;
}

static int
begin(struct move *m)
{
  int err = di_move_lock_name(m, m->hashed);

  if (!err)
    err = di_move_look(m, true);
  if (err == ENOENT && m->name.n > 0)
    di_move_drop_target(m);
  if (!err && !m->replaced)
    err = m->stat.nlink > 1 ? EMLINK : di_move_begin(m);
  di_move_unlock_name(m);
  return err;
}

/* What was to become the copy, and is not due where it is. If it was the file already, and a mode that somebody has set on the source says that
 * it is not any more, nobody may take it for that when the source has gone. */
static int
drop_old_target(struct move *m)
{
  int err = m->dressed ? set_mode(m, m->f.to, GI_LINKTO_MODE, false) : 0;

  if (!err)
    GI_IGNORE(di_linkto_remove(m->f.r->d, m->f.r->base, m->loc, m->f.to, false));
  return err;
}

/* Somebody who was killed was moving it to another subvolume: if that has it already, it goes there first. */
static int
follow_marks(struct move *m)
{
  unsigned want = m->f.to;
  int err;

  if (m->target < 0 || m->target == (int)want || m->target == (int)m->f.from)
    return 0;
  m->f.to = (unsigned)m->target;
  err = di_move_look(m, false);
  if (err != ENOENT && (err || (m->marked && m->replaced)))
    return err;
  if (!err && !m->replaced)
    err = drop_old_target(m);
  m->f.to = want;
  return err == ENOENT ? 0 : err;
}

static int
move(struct move *m)
{
  int err = di_move_look_at_source(m);

  if (err && err != EBUSY)
    return err;
  err = di_move_lock_file(m);
  if (!err)
    err = follow_marks(m);
  if (!err)
    err = begin(m);
  if (!err && m->replaced) {
    err = di_move_end(m);
  } else if (!err) {
    err = di_move_copy(m);
    if (err && !m->switched)
      di_move_unmark(m);
  }
  di_move_unlock_file(m);
  return err;
}

/* ---- room ---- */

/* Who says "force" has looked at the room himself; what is to be emptied goes to where there is some. */
bool
di_reb_fits(const struct di_reb *r, unsigned child, const struct gi_iatt *stat)
{
  return (r->command == DI_REB_FORCE && !r->d->leaving) || di_has_room(r->d, child, stat->blocks * 512);
}

void
di_reb_filled(struct di_reb *r, unsigned child, const struct gi_iatt *stat)
{
  di_take_room(r->d, child, stat->blocks * 512);
  di_space_refresh(r->d, r->base);
}

/* ---- from outside ---- */

int
di_reb_move(struct di_reb *r, const struct gi_loc *loc, unsigned from, unsigned to)
{
  struct move m;
  int err = ECANCELED;

  GI_ASSERT(from != to && loc->name);
  GI_ASSERT(from < r->d->n && to < r->d->n);
  for (unsigned tries = 0; di_reb_all_up(r);) {
    m = (struct move){.f = {.r = r, .from = from, .to = to}, .loc = loc, .hashed = to, .exchange = exchange};
    err = move(&m);
    if (!err && m.f.to != to) {
      from = m.f.to; /* and now to where it belongs */
      continue;
    }
    if (!di_reb_try_again(r, err, &tries))
      break;
  }
  if (!err)
    di_reb_filled(r, to, &m.stat);
  if (!err)
    di_know_file(r->d, &m.f.gfid, r->d->x->children[to]);
  return err;
}
