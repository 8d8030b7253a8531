/* SPDX-License-Identifier: Apache-2.0
 *
 * RENAME of files; that of directories is in rename-dir.c.
 *
 * The data stays where it is. One operation on one subvolume decides, and each
 * lookup finds the old state before it and the new one after it:
 *
 *   what has the new name, if anything, is where the data is, or the name belongs
 *   there: a RENAME there decides. If nothing has it, a linkto file of the new name
 *   comes first; if something had it, its linkto file is exchanged after that: until
 *   then who follows it finds another object, and searches
 *
 *   what has the new name is elsewhere: the data gets it as a further name. That
 *   what has it where it belongs is exchanged for a linkto file decides; then the
 *   old name goes
 *
 * What is left of the old name and of what had the new one goes last. It may be
 * where no lookup comes: if it is data, the file carries a note (rename-note.c)
 * until it is gone, and the rename fails. Data of another subvolume goes when what
 * takes its place is on the disks: after a loss of power the name has one of both.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"
#include "libglusterish/mutants.h"

#include <errno.h>

struct moving {
  struct di *d;
  struct gi_fop *fop;
  struct gi_iatt src, dst;    /* dst.mode 0: nothing has the new name */
  int src_cached, dst_cached; /* -1: a directory, or nothing */
  unsigned src_hashed, dst_hashed;
  bool left;    /* something is left where no lookup comes */
  bool renamed; /* the linkto file of the old name has become that of the new one */
  int arrived;  /* the subvolume where one of both has been moved to by who was killed then; -1: none */
  struct gi_gfid arrived_gfid;
  struct di_locks locks;
};

/* ---- who takes part ---- */

static int
find_all(struct moving *m)
{
  int err = di_hashed_complete(m->d, m->fop, &m->fop->loc, &m->src_hashed);

  if (!err)
    err = di_hashed_complete(m->d, m->fop, &m->fop->loc2, &m->dst_hashed);
  if (!err)
    err = di_resolve(m->d, m->fop, &m->fop->loc, &m->src_cached, &m->src);
  if (err)
    return err;
  m->dst_cached = -1;
  err = di_resolve(m->d, m->fop, &m->fop->loc2, &m->dst_cached, &m->dst);
  if (err == ENOENT)
    memset(&m->dst, 0, sizeof(m->dst));
  if (err && err != ENOENT)
    return err;
  err = di_note_hinders(m->d, &m->src.gfid);
  return err ? err : di_note_hinders(m->d, &m->dst.gfid);
}

/* ---- locks, in the order that all clients keep ---- */

static int
lock_files(struct moving *m)
{
  GI_ASSERT(m->src_cached >= 0);

  struct gi_loc src = {.gfid = m->src.gfid}, dst = {.gfid = m->dst.gfid};
  bool both = m->dst_cached >= 0;
  int err = 0;

  if (both && di_lock_order(m->d, (unsigned)m->dst_cached, &dst.gfid, (unsigned)m->src_cached, &src.gfid) < 0) {
    err = di_lock(m->d, m->fop, &m->locks, DI_LOCK_MIGRATE, (unsigned)m->dst_cached, &dst, NULL);
    both = false;
  }
  if (!err)
    err = di_lock(m->d, m->fop, &m->locks, DI_LOCK_MIGRATE, (unsigned)m->src_cached, &src, NULL);
  if (!err && both)
    err = di_lock(m->d, m->fop, &m->locks, DI_LOCK_MIGRATE, (unsigned)m->dst_cached, &dst, NULL);
  return err;
}

/* 0: of `where` none has it, but perhaps a linkto file. EAGAIN: one has; ENOTCONN: one cannot say. */
static int
absent_on(struct moving *m, uint64_t where, bool *leads)
{
  struct di_found f;
  int err;

  di_find(m->d, m->fop, &m->fop->loc2, where, &f);
  err = f.file || f.dir ? EAGAIN : f.failed ? ENOTCONN : 0;
  *leads = f.linkto;
  di_found_end(&f);
  return err;
}

/* Nothing has the new name: a linkto file where it belongs leads nowhere, or else to what somebody has made meanwhile. */
static int
still_free(struct moving *m)
{
  bool leads;
  int err = absent_on(m, 1ull << m->dst_hashed, &leads);

  return !err && leads ? absent_on(m, di_all(m->d), &leads) : err;
}

/* 0: the name is still that of the file on `child`, which is not a file elsewhere too. EAGAIN: it is not; ENOTCONN: nobody can say. */
static int
still_is(struct moving *m, const struct gi_loc *loc, const struct gi_gfid *gfid, unsigned child)
{
  struct di_found f;
  const struct gi_fop *reply;
  bool same, moving;
  int err = 0;

  di_find(m->d, m->fop, loc, 1ull << child, &f);
  reply = gi_fan_reply(&f.ask.fan, child);
  same = f.file && gi_gfid_equal(&reply->rsp.stat.gfid, gfid);
  moving = same && di_is_source(m->d, reply);
  if (same)
    di_know_marks(m->d, reply);
  di_found_end(&f);
  m->arrived = -1;
  m->arrived_gfid = *gfid;
  if (moving)
    err = di_arrived_at(m->d, m->fop, gfid, child, &m->arrived);
  if (!err && (!same || m->arrived >= 0))
    err = EAGAIN;
  return err;
}

/* 0: both names are still what they were, and nobody can change that now; as still_is says. */
static int
unchanged(struct moving *m)
{
  int err = still_is(m, &m->fop->loc, &m->src.gfid, (unsigned)m->src_cached);

  if (err)
    return err;
  if (m->dst_cached < 0)
    return still_free(m);
  return still_is(m, &m->fop->loc2, &m->dst.gfid, (unsigned)m->dst_cached);
}

/* ---- the steps ---- */

/* As the user who renames. */
static int
rename_data(struct moving *m)
{
  return di_pass(m->d, m->fop, (unsigned)m->src_cached);
}

/* The new name as a further one. */
static int
link_data(struct moving *m)
{
  struct gi_fop *h = di_helper(m->fop, GI_FOP_LINK);
  int err;

  h->loc.gfid = m->src.gfid;
  gi_loc_copy_name(&h->loc2, &m->fop->loc2);
  err = di_do(m->d, h, (unsigned)m->src_cached);
  if (!err)
    m->src = h->rsp.stat;
  gi_fop_unref(h);
  return err;
}

static int
remove_name(struct moving *m, const struct gi_loc *loc, unsigned child)
{
  struct gi_fop *h = di_helper(m->fop, GI_FOP_UNLINK);

  gi_loc_copy(&h->loc, loc);
  return di_do_drop(m->d, h, child);
}

static void
leftover(struct moving *m, const char *name, unsigned child, int err)
{
  if (!err || err == ENOENT)
    return;
  GI_ASSERT(child < m->d->n);
  m->left = true;
  gi_log(GI_LOG_WARNING, m->d->x->name, GI_MSG_DISTRIBUTE + 4,
         "%s: what is left of it on %s after a rename was not removed: %s", name, m->d->x->children[child]->name,
         strerror(err));
}

static bool
replaces_elsewhere(const struct moving *m)
{
  return m->dst_cached >= 0 && m->dst_cached != m->src_cached;
}

/* The linkto file of the old name, and what had the new one elsewhere. While that is there the rename has not been done: who reaches its
 * subvolume alone takes it for the file. */
static int
clean(struct moving *m)
{
  int err = 0;

  if ((int)m->src_hashed != m->src_cached && !m->renamed)
    leftover(m, m->fop->loc.name, m->src_hashed, di_linkto_remove(m->d, m->fop, &m->fop->loc, m->src_hashed, false));
  if (replaces_elsewhere(m) && m->dst_cached != (int)m->dst_hashed)
    err = remove_name(m, &m->fop->loc2, (unsigned)m->dst_cached);
  leftover(m, m->fop->loc2.name, (unsigned)m->dst_cached, err);
  return err == ENOENT ? 0 : err;
}

/* The linkto file of the old name is where the new one belongs. */
static int
rename_linkto(struct moving *m, struct gi_fop **reply)
{
  struct gi_fop *h = gi_fop_child(m->fop);
  int err;

  h->caller.uid = h->caller.gid = 0; /* the linkto file is ours */
  gi_caller_detach(&h->caller);
  err = di_do(m->d, h, m->dst_hashed);
  m->renamed = !err;
  *reply = h;
  return err;
}

/* The linkto file of the new name leads to the data: it takes the place of what has the name. */
static int
exchange_linkto(struct moving *m)
{
  struct gi_fop *reply = NULL;
  bool same = m->src_hashed == m->dst_hashed;
  int err = same ? rename_linkto(m, &reply) : ENOENT;

  GI_ASSERT((int)m->dst_hashed != m->src_cached);
  if (err == ENOENT) { /* it has none */
    gi_fop_unref(reply);
    reply = NULL;
    err = di_linkto_replace(m->d, m->fop, &m->fop->loc2, &m->src, m->dst_hashed, (unsigned)m->src_cached, &reply);
  }
  if (!err && !gi_iatt_valid(&m->fop->rsp.stat)) {
    gi_reply_move(m->fop, reply);
    m->fop->rsp.stat = m->src;
  }
  gi_fop_unref(reply);
  return err;
}

/* What was decided on `child` comes to its disks; if not, what the rename replaces elsewhere stays until a lookup finds the note. */
static int
make_durable(struct moving *m, unsigned child)
{
  int err = replaces_elsewhere(m) ? di_dir_sync(m->d, m->fop, &m->fop->loc2, child) : 0;

  if (err)
    leftover(m, m->fop->loc2.name, (unsigned)m->dst_cached, err);
  return err;
}

/* It belongs where the data is. */
static int
move_at_home(struct moving *m)
{
  int err = rename_data(m);

  if (!err)
    err = make_durable(m, (unsigned)m->src_cached);
  return err ? err : clean(m);
}

/* Nothing has it, but perhaps a linkto file that leads nowhere. */
static int
announce(struct moving *m)
{
  const struct gi_loc *loc = &m->fop->loc2;
  int err = di_linkto_make(m->d, m->fop, loc, &m->src, m->dst_hashed, (unsigned)m->src_cached);

  if (err != EEXIST)
    return err;
  err = di_linkto_remove(m->d, m->fop, loc, m->dst_hashed, false);
  if (err && err != ENOENT)
    return err;
  return di_linkto_make(m->d, m->fop, loc, &m->src, m->dst_hashed, (unsigned)m->src_cached);
}

static int
move_to_free(struct moving *m)
{
  int err = announce(m);

  GI_ASSERT(m->dst_cached < 0);
  if (!err)
    err = rename_data(m); /* if that fails a lookup finds that the linkto file leads nowhere, if it does */
  return err ? err : clean(m);
}

/* Something has it, where the data is. */
static int
move_over_neighbour(struct moving *m)
{
  int err = rename_data(m);

  GI_ASSERT(m->dst_cached == m->src_cached);
  if (err)
    return err;
  GI_IGNORE(exchange_linkto(m)); /* then a lookup does */
  return clean(m);
}

/* The rename has failed. Where nobody can say what was done a lookup that finds the note sees. */
static void
take_back_name(struct moving *m, int err)
{
  unsigned at = (unsigned)m->src_cached;

  leftover(m, m->fop->loc2.name, at, err == ENOTCONN ? err : remove_name(m, &m->fop->loc2, at));
}

/* Something has it, elsewhere. */
static int
move_over_other(struct moving *m)
{
  const struct gi_loc *loc = &m->fop->loc2;
  unsigned at = (unsigned)m->src_cached;
  int err = link_data(m);

  if (err == EEXIST) { /* left by one that did not end: what has the name is elsewhere, and nobody can change that now */
    err = remove_name(m, loc, at);
    err = err ? err : link_data(m);
  }
  if (err) { /* some copies may have it */
    take_back_name(m, err);
    return err;
  }
  if (GI_BROKEN("end a rename in the middle"))
    return 0;
  err = di_dir_sync(m->d, m->fop, &m->fop->loc2, at); /* the exchange may be what removes the other one */
  if (err) {
    take_back_name(m, err);
    return err;
  }
  err = exchange_linkto(m);
  if (err) { /* some copies may have done it: a lookup that finds the note sees */
    m->left = true;
    return err;
  }
  err = make_durable(m, m->dst_hashed);
  if (!err) {
    err = remove_name(m, &m->fop->loc, at);
    leftover(m, m->fop->loc.name, at, err);
  }
  if (err && err != ENOENT)
    return err; /* the old name is there, too, until a lookup finds the note */
  if (!err)
    m->fop->rsp.stat.nlink--; /* it had both for a while, which nobody is told */
  return clean(m);
}

static int
move_file(struct moving *m)
{
  bool replaces = m->dst_cached >= 0, elsewhere = replaces_elsewhere(m);
  bool home = (int)m->dst_hashed == m->src_cached;
  int err = elsewhere ? di_note_make(m->d, m->fop, &m->src.gfid, (unsigned)m->src_cached) : 0;

  if (err)
    return err;
  err = home ? move_at_home(m) : elsewhere ? move_over_other(m) : replaces ? move_over_neighbour(m) : move_to_free(m);
  if (elsewhere && !m->left && err != ENOTCONN)
    di_note_drop(m->d, m->fop, &m->src.gfid, (unsigned)m->src_cached);
  else if (elsewhere)
    di_note_know(m->d, &m->src.gfid, true);
  return err;
}

/* 0, or errno; EAGAIN: somebody else has changed one of the names meanwhile. */
static int
move_once(struct moving *m)
{
  struct di_locks none = {0};
  int err;

  GI_ASSERT(m->locks.n == 0);
  m->locks = none;
  err = lock_files(m);
  if (!err)
    err = di_lock_names(m->d, m->fop, &m->locks, m->src_hashed, m->dst_hashed);
  if (!err)
    err = unchanged(m);
  if (!err)
    err = move_file(m);
  di_unlock(m->d, m->fop, &m->locks);
  if (err == EAGAIN && m->arrived >= 0)
    di_end_move(m->d, m->fop, &m->arrived_gfid, (unsigned)m->arrived);
  return err;
}

static enum gi_verdict
run_file(struct moving *m)
{
  struct gi_fop *fop = m->fop;
  int err;

  if (gi_iatt_valid(&m->dst) && S_ISDIR(m->dst.mode))
    return gi_fop_fail(fop, EISDIR);
  if (gi_iatt_valid(&m->dst) && gi_gfid_equal(&m->dst.gfid, &m->src.gfid)) {
    fop->rsp.stat = m->src; /* two names of one file: both stay */
    return gi_fop_ok(fop, 0);
  }
  err = move_once(m);
  if (err)
    return gi_fop_fail(fop, err);
  gi_fop_ok(fop, 0);
  di_know_file(m->d, &m->src.gfid, m->d->x->children[m->src_cached]);
  di_hide_marks(m->d, fop, &m->src.gfid);
  di_parent_attrs(m->d, fop);
  return GI_ANSWERED;
}

static enum gi_verdict
move(struct di *d, struct gi_fop *fop)
{
  enum gi_verdict v = GI_ANSWERED;

  for (int i = 0; i < DI_ATTEMPTS; i++) {
    struct moving m = {.d = d, .fop = fop, .arrived = -1};
    int err = find_all(&m);

    if (err)
      return gi_fop_fail(fop, err);
    v = S_ISDIR(m.src.mode) ? di_rename_dir(d, fop, &m.src, gi_iatt_valid(&m.dst) ? &m.dst : NULL, m.src_hashed, m.dst_hashed)
                            : run_file(&m);
    if (fop->rsp.ret >= 0 || fop->rsp.err != EAGAIN)
      return v;
  }
  return gi_fop_fail(fop, EBUSY);
}

/* A create of the new name takes no lock here, and may be on another subvolume than the one that decides. */
enum gi_verdict
di_rename(struct gi_xlator *x, struct gi_fop *fop)
{
  if (gi_dict_get(fop->xdata, GI_NOREPLACE_KEY))
    return gi_fop_fail(fop, EOPNOTSUPP);
  return di_run(di_of(x), fop, move);
}
