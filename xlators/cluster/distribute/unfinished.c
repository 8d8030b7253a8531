/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves that did not end (distribute.md 9): whoever moved the file was killed
 * when the target had become it and the source was no linkto file yet. Who finds
 * that ends the move, or takes it back.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/extension.h"

#include <errno.h>

/* What a target that names its source finds there. */
enum source {
  SOURCE_LEFT,  /* a linkto file, or nothing: the file has moved */
  SOURCE_COMES, /* it is on its way to the target */
  SOURCE_LOST,  /* it was: its mode was set since */
  SOURCE_PLAIN  /* it is a file, and does not say that it moves: a brick has lost that with its power */
};

/* Under the lock of moves. 0, or why nobody knows. */
static int
look_at_source(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned child, enum source *what,
               struct gi_iatt *stat)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  const struct gi_fop *reply;
  int err;

  di_find(d, fop, &object, 1ull << source, &f);
  reply = gi_fan_reply(&f.ask.fan, source);
  err = f.failed ? ENOTCONN : 0;
  *what =
      f.file && !gi_has_linkto_mode(reply->rsp.stat.mode) ? SOURCE_PLAIN : SOURCE_LEFT; /* or it lacks its attribute alone */
  if (f.file && di_is_source(d, reply) && di_linkto_target(d, reply) == (int)child)
    *what = di_lost_marks(d, reply) ? SOURCE_LOST : SOURCE_COMES;
  *stat = reply->rsp.stat;
  di_found_end(&f);
  return err;
}

/* *unfinished: it has arrived on `child`, which names its source still. 0, or why nobody knows. */
static int
is_unfinished_at(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, bool *unfinished)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  int err;

  di_find(d, fop, &object, 1ull << child, &f);
  err = f.failed ? ENOTCONN : 0;
  *unfinished = f.file && di_is_unfinished(d, gi_fan_reply(&f.ask.fan, child));
  di_found_end(&f);
  return err;
}

/* What is given to the file after its mode: who was killed may not have come to that. An ACL may have changed the mode of the source since; of the
 * bits that are its marks the file has the owner's, as in `mode`. */
static int
bring_along(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat, uint32_t mode, unsigned source, unsigned child)
{
  struct gi_fop *set = di_own_fop(fop, GI_FOP_SETATTR, &stat->gfid);
  int err;

  set->args.valid = GI_SET_ATIME | GI_SET_MTIME | GI_SET_MODE;
  set->args.iatt = *stat;
  set->args.iatt.mode = (stat->mode & ~(uint32_t)DI_MOVING) | (mode & DI_MOVING);
  err = di_do_drop(d, set, child);
  if (!err)
    err = di_bring_size(d, fop, &stat->gfid, source, child);
  return err ? err : di_last_xattrs(d, fop, &stat->gfid, source, child);
}

static int
retire(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source)
{
  struct gi_fop *h = di_linkto_mode_fop(fop, gfid);

  h->caller.pid = GI_PID_REBALANCE;
  gi_dict_set_uint(gi_fop_xdata(h), GI_MOVED_KEY, 1);
  return di_do_drop(d, h, source);
}

/* The size of a file in blocks may be changed by adding to it only while there is one that counts. */
static int
lock_move(struct di *d, struct gi_fop *fop, struct di_locks *locks, const struct gi_gfid *gfid, unsigned source, bool wait)
{
  struct gi_loc object = {.gfid = *gfid};
  int err = di_lock(d, fop, locks, wait ? DI_LOCK_MIGRATE : DI_LOCK_MIGRATE_NOW, source, &object, NULL);

  return err ? err : di_lock(d, fop, locks, wait ? DI_LOCK_SIZE : DI_LOCK_SIZE_NOW, source, &object, NULL);
}

/* What was to become its copy, or had, leads to it. */
static int
lead_back(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned target)
{
  struct gi_fop *h = di_linkto_mode_fop(fop, gfid);

  h->caller.pid = GI_PID_REBALANCE;
  return di_do_drop(d, h, target);
}

int
di_take_back(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned target)
{
  struct gi_loc object = {.gfid = *gfid};
  const struct gi_fop *reply;
  struct di_found f;
  bool copy, file;
  int err;

  GI_ASSERT(source != target);
  di_find(d, fop, &object, 1ull << target, &f);
  reply = gi_fan_reply(&f.ask.fan, target);
  err = f.failed ? ENOTCONN : 0;
  copy = f.file && di_is_unfinished(d, reply) && di_linkto_target(d, reply) == (int)source;
  file = f.file && !copy;
  di_found_end(&f);
  if (file)
    return EALREADY; /* it has moved: who set the mode of what that has left sets it there */
  if (!err && copy)
    err = lead_back(d, fop, gfid, target);
  if (!err)
    err = di_xattr_drop(d, fop, gfid, source, d->linkto_key);
  return err ? err : di_xattr_drop(d, fop, gfid, source, d->mode_key);
}

/* The source was found so, or its target: under the lock it is looked at again. */
static int
take_back(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned source, unsigned target, bool wait)
{
  struct di_locks locks = {0};
  struct gi_iatt stat;
  enum source what;
  int err = lock_move(d, fop, &locks, gfid, source, wait);

  if (!err)
    err = look_at_source(d, fop, gfid, source, target, &what, &stat);
  if (!err)
    err = what == SOURCE_LOST ? di_take_back(d, fop, gfid, source, target) : EALREADY;
  di_unlock(d, fop, &locks);
  return !wait && err == EACCES ? EAGAIN : err;
}

/* The target is the file, with all that the source has. */
static int
arrive(struct di *d, struct gi_fop *fop, const struct gi_iatt *stat, uint32_t mode, unsigned source, unsigned child)
{
  int err = bring_along(d, fop, stat, mode, source, child);

  if (!err)
    err = di_linkto_lead(d, fop, &stat->gfid, source, child); /* to those who missed it */
  if (!err)
    err = di_file_sync(d, fop, &stat->gfid, child); /* or it is no file any more after a loss of power */
  return err ? err : retire(d, fop, &stat->gfid, source);
}

/* Other bricks may have the marks that one has lost, and changes that were made on both: what was made where that one was asked is on the source alone.
 * So the source counts, and keeps what marks it has: the next who moves the file copies all of it. */
static int
end_as(struct di *d, struct gi_fop *fop, enum source what, const struct gi_iatt *stat, const struct gi_fop *reply,
       unsigned source, unsigned child)
{
  const struct gi_gfid *gfid = &reply->rsp.stat.gfid;
  int err = 0;

  if (what == SOURCE_LOST)
    return di_take_back(d, fop, gfid, source, child);
  if (what == SOURCE_PLAIN)
    return lead_back(d, fop, gfid, child);
  if (what == SOURCE_COMES)
    err = arrive(d, fop, stat, reply->rsp.stat.mode, source, child);
  if (!err)
    GI_IGNORE(di_xattr_drop(d, fop, gfid, child, d->linkto_key)); /* then the next lookup does */
  return err;
}

int
di_finish_move(struct di *d, struct gi_fop *fop, const struct gi_fop *reply, unsigned child, bool wait, unsigned *source)
{
  struct gi_gfid gfid = reply->rsp.stat.gfid;
  struct di_locks locks = {0};
  struct gi_iatt stat;
  enum source what;
  bool unfinished = false;
  int from = di_linkto_target(d, reply), err;

  if (from < 0 || from == (int)child)
    return EALREADY; /* from where nobody can say */
  if (di_lost_marks(d, reply)) {
    *source = child;
    return take_back(d, fop, &gfid, child, (unsigned)from, wait);
  }
  *source = (unsigned)from;
  err = lock_move(d, fop, &locks, &gfid, *source, wait);
  if (!err)
    err = is_unfinished_at(d, fop, &gfid, child, &unfinished);
  if (!err && !unfinished)
    err = EALREADY; /* by who moves it, who may have only begun when it was found so */
  if (!err)
    err = look_at_source(d, fop, &gfid, *source, child, &what, &stat);
  if (!err)
    err = end_as(d, fop, what, &stat, reply, *source, child);
  di_unlock(d, fop, &locks);
  return !wait && (err == EACCES || err == EBUSY) ? EAGAIN : err; /* EBUSY: somebody has a lock of a user there */
}

int
di_arrived_at(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child, int *at)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  const struct gi_fop *reply;
  bool unfinished = false;
  int target = -1, err;

  *at = -1;
  di_find(d, fop, &object, 1ull << child, &f);
  reply = gi_fan_reply(&f.ask.fan, child);
  err = f.failed ? ENOTCONN : 0;
  if (f.file && di_is_source(d, reply))
    target = di_linkto_target(d, reply);
  di_found_end(&f);
  if (!err && target >= 0 && target != (int)child)
    err = is_unfinished_at(d, fop, gfid, (unsigned)target, &unfinished);
  if (!err && unfinished)
    *at = target;
  return err;
}

void
di_end_move(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned at)
{
  struct gi_loc object = {.gfid = *gfid};
  struct di_found f;
  unsigned source;

  GI_ASSERT(at < d->n);
  di_find(d, fop, &object, 1ull << at, &f);
  if (f.file && di_is_unfinished(d, gi_fan_reply(&f.ask.fan, at)))
    GI_IGNORE(
        di_finish_move(d, fop, gi_fan_reply(&f.ask.fan, at), at, true, &source)); /* who looks again sees what came of it */
  di_found_end(&f);
}
