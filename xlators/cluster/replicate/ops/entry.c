/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry operations: what changes names. A table says, per kind, which names
 * are locked and which directories carry the marks (replicate.md 6.2, 6.3).
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/probe.h"

#include <fcntl.h>

enum {
  FIRST = 1,      /* the name in loc's parent */
  SECOND = 2,     /* the name in loc2's parent */
  DIR_ITSELF = 4, /* rmdir: all names of the directory that goes */
  DIR_TARGET = 8, /* rename: all names of the directory that is replaced */
  CREATES = 16,   /* makes an inode that carries marks of its own when a child lacks it */
};

static const uint8_t entry_rule[GI_FOP_MAX] = {
    [GI_FOP_CREATE] = FIRST | CREATES,
    [GI_FOP_MKNOD] = FIRST | CREATES,
    [GI_FOP_MKDIR] = FIRST | CREATES,
    [GI_FOP_SYMLINK] = FIRST,
    [GI_FOP_UNLINK] = FIRST,
    [GI_FOP_LINK] = SECOND,
    [GI_FOP_RMDIR] = FIRST | DIR_ITSELF,
    [GI_FOP_RENAME] = FIRST | SECOND | DIR_TARGET,
};

/* ---- locks and marks ---- */

static void
add_target(struct rep_txn *t, struct gi_inode *inode, const char *name)
{
  for (unsigned g = 0; g < t->ntargets; g++)
    if (t->target[g].inode == inode && t->target[g].name && name && strcmp(t->target[g].name, name) == 0)
      return;
  GI_ASSERT(t->ntargets < REP_TARGETS);
  t->target[t->ntargets++] = (struct rep_target){.inode = gi_inode_ref(inode), .name = name};
}

static void
add_log(struct rep_txn *t, struct gi_inode *inode, const char *name)
{
  GI_ASSERT(t->nlogs < REP_LOGS);
  if (t->nlogs && GI_BROKEN("mark one directory of two"))
    return;
  t->log[t->nlogs++] = (struct rep_changelog){.inode = gi_inode_ref(inode), .name = name};
}

/* All clients lock in the same order: by gfid, whole directory first, then by name. */
static int
compare_targets(const void *p, const void *q)
{
  const struct rep_target *a = p, *b = q;
  int order = memcmp(&a->inode->gfid, &b->inode->gfid, sizeof(a->inode->gfid));

  if (order)
    return order;
  if (!a->name || !b->name)
    return (a->name != NULL) - (b->name != NULL);
  return strcmp(a->name, b->name);
}

static void
set_targets(struct rep_txn *t, struct gi_fop *fop)
{
  uint8_t rule = entry_rule[fop->kind];

  if (rule & FIRST) {
    add_target(t, fop->loc.parent, fop->loc.name);
    add_log(t, fop->loc.parent, fop->loc.name);
  }
  if (rule & SECOND) {
    add_target(t, fop->loc2.parent, fop->loc2.name);
    add_log(t, fop->loc2.parent, fop->loc2.name);
  }
  if ((rule & DIR_ITSELF) && gi_loc_inode(fop, &fop->loc))
    add_target(t, fop->loc.inode, NULL);
  if ((rule & DIR_TARGET) && gi_loc_inode(fop, &fop->loc2) && S_ISDIR(fop->loc2.inode->mode))
    add_target(t, fop->loc2.inode, NULL);
  GI_ASSERT(t->ntargets && t->nlogs);
  qsort(t->target, t->ntargets, sizeof(t->target[0]), compare_targets);
}

/* ---- the operation ---- */

struct gi_gfid
rep_requested_gfid(const struct gi_fop *fop)
{
  struct gi_gfid gfid = gi_gfid_none;

  gi_dict_get_gfid(fop->xdata, "gfid-req", &gfid);
  return gfid;
}

static bool
weighs_more(uint32_t a, uint32_t b, uint32_t good)
{
  int more = __builtin_popcount(a & good) - __builtin_popcount(b & good);

  return more > 0 || (more == 0 && __builtin_popcount(a) > __builtin_popcount(b));
}

/* Children that show the same object as most good ones, or as most: one that has another under this name missed something. */
static uint32_t
same_object(const struct rep_txn *t, const struct gi_fan *fan)
{
  uint32_t best = 0;

  rep_foreach(i, fan->ok)
  {
    const struct gi_gfid *gfid = &gi_fan_reply(fan, i)->rsp.stat.gfid;
    uint32_t same = 0;

    if (gi_gfid_is_none(gfid))
      continue;
    rep_foreach(j, fan->ok) if (gi_gfid_equal(gfid, &gi_fan_reply(fan, j)->rsp.stat.gfid)) same |= 1u << j;
    if (weighs_more(same, best, ~t->accused))
      best = same;
  }
  return best;
}

/* Of what is made it is known that it has been here before, perhaps: a linkto file, or a file that a rebalance brings back. */
static bool
is_known(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_MKNOD && gi_dict_get(fop->xdata, "glusterfs-internal-fop");
}

/* It is not new and empty. */
static bool
was_there(const struct gi_fop *fop, const struct gi_iatt *st)
{
  return st->nlink > 1 || st->size > 0 || (st->mode & S_ISVTX) != (fop->args.mode & S_ISVTX);
}

/* A child that missed the removal of a known object has what it was then, and has given that the name. This is not what was asked for; where
 * most have it, it is the others that lack it. */
static uint32_t
same_made(const struct rep_txn *t, const struct gi_fop *fop, const struct gi_fan *fan)
{
  uint32_t same = same_object(t, fan), old = 0;

  if (!is_known(fop))
    return same;
  rep_foreach(i, same) if (was_there(fop, &gi_fan_reply(fan, i)->rsp.stat)) old |= 1u << i;
  if (old && old != same)
    GI_PROBE("replicate: a copy had the object already that others have made");
  return weighs_more(old, same & ~old, ~t->accused) ? old : same & ~old;
}

/* Children where both names were one file already: there POSIX lets a rename do nothing. */
static uint32_t
moved_nothing(const struct gi_fan *fan)
{
  uint32_t set = 0;

  rep_foreach(i, fan->ok) if (gi_dict_get(gi_fan_reply(fan, i)->rsp.xdata, GI_SAME_FILE_KEY)) set |= 1u << i;
  return set;
}

/* The same of what was moved: under the old name some had another object, and now have that one under the new name, or nothing was
 * moved, and the old name is still there. Bricks that do not tell which one it was are believed. */
static uint32_t
same_moved(const struct rep_txn *t, const struct gi_fan *fan)
{
  uint32_t same = same_object(t, fan), idle = same & moved_nothing(fan);

  if (!same)
    return ~0u;
  return weighs_more(idle, same & ~idle, ~t->accused) ? idle : same & ~idle;
}

/* The inode of the new object, with a reference; NULL: it existed before. */
static struct gi_inode *
note_made(struct rep_txn *t, struct gi_fop *fop, uint32_t on, const struct gi_iatt *st)
{
  struct gi_gfid wanted = rep_requested_gfid(fop);
  struct rep_fop *rf = rep_fop(t->rep, fop);

  if (!gi_gfid_equal(&wanted, &st->gfid))
    return NULL;
  GI_ASSERT(on && !(on & ~t->active));
  rf->made.gfid = st->gfid;
  rf->made.mode = st->mode;
  rf->made.on = on;
  return gi_inode_get(t->rep->x->graph, &st->gfid);
}

/* The object is new and we know exactly who has it: no need to ask before the first read. */
static void
learn_new_object(struct rep_txn *t, struct gi_fop *fop, uint32_t ok, const struct gi_iatt *st)
{
  struct rep_verdict v = {.data_readable = ok, .meta_readable = ok};
  struct gi_inode *inode = note_made(t, fop, ok, st);

  if (!inode)
    return;
  rep_inode_type(inode, st->mode);
  if (!is_known(fop) || !was_there(fop, st)) /* else there may be marks */
    rep_inode_learn(t->rep, inode, &v, t->generation, t->rep->distrusts);
  gi_inode_unref(&inode);
}

static void
note_created(struct rep_txn *t, struct gi_fop *fop, uint32_t ok)
{
  const struct gi_iatt st = gi_fan_reply(&rep_fop(t->rep, fop)->fan, rep_first(ok))->rsp.stat;

  if (fop->kind == GI_FOP_CREATE) {
    rep_fd(t->rep, fop->fd)->opened |= ok;
    gi_fd_rebind(fop->fd, &st.gfid); /* a first attempt that was taken back made another file */
  }
  learn_new_object(t, fop, ok, &st);
}

/* What the post-op does to the name in the granular index (replicate.md 6.5). */
static enum rep_index
index_after(const struct rep_txn *t, const struct rep_fop *rf)
{
  if (t->failed || t->mark_dirty || (!t->dirty_owed && t->active != t->rep->all)) /* no pre-op has recorded the name */
    return REP_INDEX_CREATE;
  if (!rf->err && t->active == t->rep->all)
    return REP_INDEX_DELETE;
  return REP_INDEX_KEEP;
}

static bool
makes_object(const struct gi_fop *fop)
{
  return (entry_rule[fop->kind] & CREATES) || fop->kind == GI_FOP_SYMLINK;
}

static uint32_t
same_outcome(const struct rep_txn *t, const struct gi_fop *fop, const struct gi_fan *fan)
{
  return makes_object(fop) ? same_made(t, fop, fan) : fop->kind == GI_FOP_RENAME ? same_moved(t, fan) : ~0u;
}

/* Too few have made it, but one that lacks no change of the directory is among them. Of a known object others may still have what it was
 * then. */
static void
note_half_made(struct rep_txn *t, struct gi_fop *fop)
{
  const struct gi_fan *fan = &rep_fop(t->rep, fop)->fan;
  uint32_t on = fan->ok & same_made(t, fop, fan);
  struct gi_inode *inode;

  if (!is_known(fop) || !(t->counters_known || t->dirty_owed) || !(on & ~t->accused & ~t->rep->arbiter))
    return;
  inode = note_made(t, fop, on, &gi_fan_reply(fan, rep_first(on))->rsp.stat);
  if (!inode)
    return;
  GI_PROBE("replicate: a known object is made on fewer copies than the quorum");
  rep_inode_distrust(t->rep, inode, REP_DATA, t->rep->all & ~on);
  rep_inode_distrust(t->rep, inode, REP_META, t->rep->all & ~on);
  gi_inode_unref(&inode);
}

static bool
shows(const struct gi_fop *reply, const struct gi_iatt *dir, const struct gi_time *time)
{
  return reply && reply->rsp.ret >= 0 && gi_iatt_valid(dir) && !gi_time_later(time, &dir->mtime);
}

/* A first attempt has moved the times of the directories where it was done. Where the second one does not, nobody would. */
static void
note_behind(struct rep_txn *t, const struct gi_fop *fop)
{
  const struct gi_fan *fan = &rep_fop(t->rep, t->fop)->fan;
  const struct gi_caller *c = &fop->caller;

  if (!c->time.sec || !(c->stamps & GI_STAMP_PARENT_MTIME))
    return;
  rep_foreach(i, t->active)
  {
    const struct gi_fop *reply = gi_fan_reply(fan, i);

    for (unsigned l = 0; l < t->nlogs; l++)
      if (!shows(reply, l ? &reply->rsp.post2 : &reply->rsp.post, &c->time))
        t->log[l].behind |= 1u << i;
  }
}

static void
judge_replies(struct rep_txn *t, struct gi_fop *fop)
{
  struct rep *rep = t->rep;
  struct rep_fop *rf = rep_fop(rep, fop);
  bool makes = makes_object(fop);

  if (t->moved_times)
    note_behind(t, fop);
  rf->ok = same_outcome(t, fop, &rf->fan);
  if (rep_outcome_by_good(t, fop)) {
    t->index = REP_INDEX_CREATE;
    gi_list_add_tail(&t->held, &fop->link);
    gi_fop_waits(fop, GI_WAIT_QUORUM, "the counters of what it changed", NULL);
  } else if (rep_outcome_judge(t, fop)) {
    t->index = index_after(t, rf);
    if (rf->ok && !rf->err && makes)
      note_created(t, fop, rf->ok);
    else if (rf->err && makes)
      note_half_made(t, fop);
    rep_outcome_reply(t, fop);
    gi_fop_answer(fop, rep->x); /* t->fop keeps it for the post-op */
  } else {
    t->index = index_after(t, rf);
    if (makes)
      note_created(t, fop, rf->ok);
    gi_list_add_tail(&t->held, &fop->link);
    gi_fop_waits(fop, GI_WAIT_QUORUM, "the counters of what it changed", NULL);
  }
  rep_txn_finish(t);
}

static void
asked(struct gi_fan *fan)
{
  struct rep_txn *t = fan->arg;
  GI_ASSERT(t->state == REP_OPEN && !t->dirty_owed);

  bool enough = rep_quorum(t->rep, fan->ok); /* they share a copy with whatever quorum blamed one of them */

  for (unsigned l = 0; l < t->nlogs; l++) {
    t->log[l].accused |= enough ? fan->failed : ~0u;
    t->accused |= t->log[l].accused;
  }
  t->counters_known = true;
  judge_replies(t, t->fop);
}

/* Not all copies did it, or they refuse it for different reasons: only those that have missed nothing can tell what comes of it. */
static bool
decided_by_good(const struct rep_txn *t, const struct gi_fop *fop, const struct gi_fan *fan)
{
  uint32_t same = fop->kind == GI_FOP_RENAME ? same_moved(t, fan) : same_made(t, fop, fan);

  if (!fan->ok)
    return rep_outcome_claims(fan->err) && (t->half_done || !gi_fan_same_errno(fan, fan->sent));
  return fan->ok != t->rep->all || (same && (same & fan->ok) != fan->ok);
}

static void
entry_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep_txn *t = rep_fop(rep_of(fan->x), fop)->txn;

  rep_fastpath_recall(t, fan);
  if (!t->dirty_owed && t->active && decided_by_good(t, fop, fan))
    rep_txn_ask(t, asked);
  else
    judge_replies(t, fop);
}

static void
entry_send(struct rep_txn *t, struct gi_fop *fop, void (*done)(struct gi_fan *fan))
{
  struct gi_fan *fan = &rep_fop(t->rep, fop)->fan;

  GI_ASSERT(t->state == REP_FASTPATH ? t->up : t->state == REP_OPEN && t->active);
  rep_fan_start(fan, t->rep, done, fop);
  if (t->state == REP_FASTPATH) {
    struct gi_dict *xdata = rep_fastpath_xdata(t, fop->xdata);

    gi_fan_copy_with(fan, fop, xdata, t->up);
    gi_dict_unref(&xdata);
  } else {
    gi_fan_copy(fan, fop, t->active);
  }
}

static void
entry_open(struct rep_txn *t)
{
  entry_send(t, t->fop, entry_done);
}

static void
entry_refused(struct rep_txn *t, int err)
{
  rep_fop(t->rep, t->fop)->err = err;
  rep_answer(t->rep, t->fop, -1, err);
}

static struct gi_dict *
new_marks(struct rep_txn *t, struct gi_gfid *gfid)
{
  struct rep_fop *rf = rep_fop(t->rep, t->fop);

  if (!(entry_rule[t->fop->kind] & CREATES) || !rf->made.on || rf->made.on == t->rep->all)
    return NULL;
  *gfid = rf->made.gfid;
  return rep_marks_new_object(t->rep, t->rep->all & ~rf->made.on, rf->made.mode, rep_opts(t->rep)->granular_entry_heal);
}

const struct rep_txn_ops rep_entry_ops = {
    .open = entry_open,
    .refused = entry_refused,
    .send = entry_send,
    .done = entry_done,
    .same = same_outcome,
    .new_marks = new_marks,
};

static void
entry_start(struct rep *rep, struct gi_fop *fop)
{
  struct rep_txn *t = rep_txn_new(rep, REP_ENTRY, fop);

  t->fop = gi_fop_ref(fop);
  set_targets(t, fop);
  rep_fop(rep, fop)->txn = t;
  rep_txn_start(t);
}

static bool
replaces_nothing(const struct gi_fop *fop)
{
  return fop->kind == GI_FOP_RENAME && gi_dict_get(fop->xdata, GI_NOREPLACE_KEY);
}

/* Where the directory that goes or is replaced is expected, if its inode is needed and unknown. */
static struct gi_loc *
unknown_directory(struct gi_fop *fop)
{
  uint8_t rule = entry_rule[fop->kind];

  if ((rule & DIR_ITSELF) && !gi_loc_inode(fop, &fop->loc))
    return &fop->loc;
  if (!(rule & DIR_TARGET) || gi_loc_inode(fop, &fop->loc2) || replaces_nothing(fop))
    return NULL;
  return gi_loc_inode(fop, &fop->loc) && fop->loc.inode->mode && !S_ISDIR(fop->loc.inode->mode) ? NULL : &fop->loc2;
}

static void
found_directory(struct gi_fop *look, void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  struct gi_loc *loc = entry_rule[fop->kind] & DIR_ITSELF ? &fop->loc : &fop->loc2;
  int err = look->rsp.ret < 0 ? look->rsp.err : 0;

  if (!err) {
    loc->gfid = look->rsp.stat.gfid;
    loc->inode = gi_inode_get(fop->graph, &loc->gfid);
  }
  gi_fop_unref(look);
  if (err && (err != ENOENT || loc == &fop->loc))
    rep_answer(rep, fop, -1, err);
  else
    entry_start(rep, fop);
}

/* Its own gfid must be locked, so a name alone is looked up first. */
static void
find_directory(struct rep *rep, struct gi_fop *fop, const struct gi_loc *loc)
{
  struct gi_fop *look = gi_fop_helper(fop, GI_FOP_LOOKUP);

  gi_loc_copy(&look->loc, loc);
  rep_submit_inside(rep, look, found_directory, fop);
}

static bool
touches_private(const struct rep *rep, const struct gi_fop *fop)
{
  return rep_private_name(rep, fop->caller.pid, &fop->loc.pargfid, fop->loc.name) ||
         rep_private_name(rep, fop->caller.pid, &fop->loc2.pargfid, fop->loc2.name);
}

enum gi_verdict
rep_on_entry(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  uint8_t rule = entry_rule[fop->kind];
  const struct gi_loc *unknown;

  if (((rule & FIRST) && (!gi_loc_parent(fop, &fop->loc) || !fop->loc.name)) ||
      ((rule & SECOND) && (!gi_loc_parent(fop, &fop->loc2) || !fop->loc2.name)))
    return gi_fop_fail(fop, EINVAL);
  if (touches_private(rep, fop))
    return gi_fop_fail(fop, EPERM);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (replaces_nothing(fop) && (rep->up & ~rep->noreplace))
    return gi_fop_fail(fop, EOPNOTSUPP);
  unknown = unknown_directory(fop);
  if (unknown)
    find_directory(rep, fop, unknown);
  else if (fop->kind == GI_FOP_CREATE && (fop->args.flags & (O_TRUNC | O_EXCL)) == O_TRUNC &&
           !GI_BROKEN("let each brick truncate"))
    rep_create_truncating(rep, fop);
  else
    entry_start(rep, fop);
  return GI_HELD;
}
