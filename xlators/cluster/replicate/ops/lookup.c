/* SPDX-License-Identifier: Apache-2.0
 *
 * Lookup: every child is asked, always, for the object and for its counters. The
 * copies are compared and one answer is chosen (replicate.md 4).
 *
 * A name does not exist if only children with an accused copy of the parent have
 * it, or if a quorum of good children lacks it: it was removed, or its creation was
 * never acknowledged. If good children contradict each other the name is healed
 * first (replicate.md 4.2), because a change on top of that could destroy the good
 * copy; then the children are asked again. A name that is missing on an outdated
 * child is left to the self-heal daemon, and the lookup does not wait.
 *
 * Children are asked at the same time but answer for different moments. While a
 * client renames over the name, each of them may show another object. Replies that
 * make no answer together are therefore asked for once more with the name locked.
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/content.h"
#include "libglusterish/probe.h"

#define GFID_REQ "gfid-req"
#define LIST_XATTR "list-xattr"
#define LOCKED_LOOKS 3 /* a heal of the name may be followed by another change */
#define NEW_BRICK_PID (-12)

/* What the replies of one lookup amount to. */
struct lookup_view {
  uint32_t ok;     /* usable successes */
  uint32_t absent; /* said ENOENT */
  uint32_t gone;   /* said ENOENT or ESTALE */
  uint32_t parent; /* children with a good copy of the parent; never the arbiter */
  uint32_t stale;  /* children with an accused copy of the parent, the arbiter too: a name that they lack may exist for long */
  uint32_t nameless; /* have an object without gfid */
  bool named, name_locked, inode_locked;
  bool torn; /* the replies make no answer, but may be of different moments */
  int err;
};

static struct gi_dict *
lookup_xdata(const struct rep *rep, const struct gi_fop *fop)
{
  struct gi_dict *xdata = gi_dict_copy(fop->xdata);

  gi_dict_del(xdata, GFID_REQ); /* bricks must never assign gfids one by one */
  gi_dict_del(xdata, GI_CONTENT_KEY);
  gi_dict_del(xdata, GI_CONTENT_STAT_KEY);
  gi_dict_set_str(xdata, "link-count", "glusterfs.xattrop_index_count");
  gi_dict_set_uint(xdata, "glusterfs.parent-entrylk", 0);
  gi_dict_set_uint(xdata, "glusterfs.entrylk-count", 0);
  gi_dict_set_uint(xdata, "glusterfs.inodelk-count", 0);
  if (rep_background_wants_xattrs(rep))
    gi_dict_set_int(xdata, LIST_XATTR, 1);
  rep_marks_request(rep, xdata);
  return xdata;
}

/* Whoever announces a new brick sees the root while the others have no quorum (replicate.md 3.2). */
static bool
exempt(const struct gi_fop *fop)
{
  return fop->caller.pid == NEW_BRICK_PID && gi_gfid_is_root(&fop->loc.gfid);
}

static bool
positive(const struct gi_dict *d, const char *key)
{
  int64_t n;

  return gi_dict_get_int(d, key, &n) && n > 0;
}

/* Children whose heal index is known to be empty: their attributes may be trusted in listings. */
static void
note_health(struct rep *rep, const struct gi_fan *fan)
{
  rep_foreach(i, fan->sent)
  {
    int64_t n;
    bool clean = gi_dict_get_int(gi_fan_reply(fan, i)->rsp.xdata, "link-count", &n) && n == 0;

    rep->healthy = clean ? rep->healthy | (1u << i) : rep->healthy & ~(1u << i);
  }
  rep->healthy &= rep->up; /* a child may have gone away since it answered */
}

/* What is known of the directory that the name is in. */
static void
look_at_parent(const struct rep *rep, const struct gi_loc *loc, struct lookup_view *v)
{
  struct gi_inode *parent = gi_inode_find(rep->x->graph, &loc->pargfid);
  const struct rep_inode *ri = parent ? rep_inode(rep, parent) : NULL;

  if (ri && ri->generation) {
    v->parent = ri->data_readable ? ri->data_readable : rep->all & ~ri->outdated;
    v->stale = ri->data_accused;
  }
  gi_inode_unref(&parent);
}

static void
view_replies(struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, struct lookup_view *v)
{
  bool name_held = rep_fop(rep, fop)->name_held; /* then the lock is ours */

  memset(v, 0, sizeof(*v));
  v->named = fop->loc.name != NULL && fop->loc.name[0] != '\0';
  v->parent = rep->all;
  if (v->named)
    look_at_parent(rep, &fop->loc, v);
  v->err = fan->err;
  rep_foreach(i, fan->sent)
  {
    const struct gi_reply *r = &gi_fan_reply(fan, i)->rsp;

    if (positive(r->xdata, "glusterfs.parent-entrylk") && !name_held)
      v->name_locked = true;
    if (r->ret < 0) {
      v->absent |= r->err == ENOENT ? 1u << i : 0;
      v->gone |= r->err == ENOENT || r->err == ESTALE ? 1u << i : 0;
      v->nameless |= r->err == ENODATA ? 1u << i : 0;
    } else if (gi_gfid_is_none(&r->stat.gfid) || !gi_iatt_valid(&r->stat)) {
      v->err = rep_errno_merge(v->err, EIO);
    } else {
      v->ok |= 1u << i;
      v->inode_locked |= positive(r->xdata, "glusterfs.inodelk-count");
    }
  }
}

static bool
is_absent(const struct rep *rep, const struct lookup_view *v)
{
  if (!v->ok || !v->named)
    return false;
  if (v->name_locked && (v->absent & ~v->stale) && !rep_quorum(rep, v->ok))
    return true; /* a creation is under way; where only stale copies lack it, it may be a heal */
  return rep_quorum(rep, v->absent & v->parent) && !rep_quorum(rep, v->ok & v->parent);
}

/* The successes that show the same object as the preliminary choice; 0 = they contradict each other. */
static uint32_t
agreeing(const struct gi_fan *fan, const struct lookup_view *v)
{
  uint32_t trusted = v->ok & v->parent;
  int first = rep_first(trusted ? trusted : v->ok);
  const struct gi_iatt *chosen = &gi_fan_reply(fan, first)->rsp.stat;
  uint32_t same = 0;

  rep_foreach(i, v->ok)
  {
    const struct gi_iatt *st = &gi_fan_reply(fan, i)->rsp.stat;
    bool doubtful = !((v->parent >> i) & 1) && ((v->parent >> first) & 1);

    if (gi_gfid_equal(&st->gfid, &chosen->gfid) && (st->mode & S_IFMT) == (chosen->mode & S_IFMT))
      same |= 1u << i;
    else if (!v->name_locked && !doubtful)
      return 0;
  }
  return same;
}

/* The name can be locked, and all children asked again. Not if a child could not answer: it would not tell more. */
static bool
may_look_locked(struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, const struct lookup_view *v)
{
  return v->named && (v->ok | v->gone) == fan->sent && rep_fop(rep, fop)->locked_looks < LOCKED_LOOKS;
}

/* A linkto file that some have is made with the gfid of the file that others still have, and for a moment no mark says who is right: it is
 * written when the linkto file is there. */
static bool
of_two_kinds(const struct gi_fan *fan, uint32_t among)
{
  uint32_t linkto = 0;

  GI_ASSERT(!(among & ~fan->ok));
  rep_foreach(i, among) if (rep_may_be_linkto(&gi_fan_reply(fan, i)->rsp.stat)) linkto |= 1u << i;
  return linkto && linkto != among;
}

/* Learns from the replies and picks the child whose reply is given; -1 and *err if there is none. */
static int
choose_reply(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan, struct lookup_view *v, int *err)
{
  const struct rep_fop *rf = rep_fop(rep, fop);
  uint32_t same = agreeing(fan, v);
  struct rep_verdict verdict;
  int child = -1;

  *err = EIO;
  v->torn = v->named && (!same || !rep_quorum(rep, same));
  if (!same)
    return -1;

  const struct gi_iatt *st = &gi_fan_reply(fan, rep_first(same))->rsp.stat;

  *err = ESTALE;
  if (v->named && !gi_gfid_is_none(&fop->loc.gfid) && !gi_gfid_equal(&fop->loc.gfid, &st->gfid))
    return -1;
  *err = ENOTCONN;
  if (rep_quorum(rep, same)) {
    struct gi_inode *inode = gi_inode_get(rep->x->graph, &st->gfid);
    uint32_t both;

    rep_marks_judge(rep, fan, same, v->inode_locked, &verdict);
    if (may_look_locked(rep, fop, fan, v) && of_two_kinds(fan, verdict.meta_readable)) {
      gi_inode_unref(&inode);
      v->torn = true;
      return -1;
    }
    rep_inode_type(inode, st->mode);
    rep_inode_learn(rep, inode, &verdict, rf->generation, rf->distrusts);
    both = verdict.data_readable & verdict.meta_readable;
    if (!both && S_ISDIR(st->mode))
      both = verdict.meta_readable; /* names in split-brain: the directory itself is still usable */
    child = rep_read_child(rep, inode, fop, both);
    if (rf->content & both)
      child = rep_first(rf->content); /* it has the content, too */
    if ((verdict.data_accused | verdict.meta_accused) & rep->up) {
      rep_inode(rep, inode)->need_refresh = true;
      rep_background_heal(rep, inode);
    }
    if (child < 0 && v->ok == rep->all)
      child = rep_split_choice(rep, inode);
    if (child < 0 && v->ok == rep->all) /* what it contains is in split brain, not that it is there */
      child = rep_any_attributes(rep, inode, same);
    gi_inode_unref(&inode);
  }
  if (child < 0 && (rep_no_quorum_configured(rep) || fop->caller.pid == GI_PID_HEAL_TOOL || exempt(fop)))
    child = rep_first(same & ~rep->arbiter);
  return child;
}

/* All attributes were asked for to compare them; the caller gets those it asked for. */
static void
strip_unasked(const struct rep *rep, struct gi_fop *fop)
{
  struct gi_dict *d = fop->rsp.xdata;

  if (!rep_background_wants_xattrs(rep) || gi_dict_get(fop->xdata, LIST_XATTR))
    return;
  for (uint32_t k = 0; k < gi_dict_count(d);) {
    const char *key = gi_dict_at(d, k)->key;

    if (rep_heal_ignores_xattr(key) || gi_dict_get(fop->xdata, key) || !gi_dict_del(d, key))
      k++;
  }
}

static void
answer_from(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan, const struct lookup_view *v, unsigned child)
{
  struct gi_inode *inode = gi_inode_find(rep->x->graph, &gi_fan_reply(fan, child)->rsp.stat.gfid);
  struct gi_iatt post = gi_fan_reply(fan, child)->rsp.post;
  struct gi_dict *told = gi_dict_ref(fop->rsp.xdata); /* by the heal of the name */
  uint32_t parents = v->ok & v->parent;

  if (v->named && parents && !((parents >> child) & 1))
    post = gi_fan_reply(fan, rep_first(parents))->rsp.post; /* the parent's attributes come from a good view of it */
  gi_reply_move(fop, gi_fan_reply(fan, child));
  fop->rsp.post = post;
  if (told) {
    gi_dict_merge(gi_fop_rsp_xdata(fop), told);
    gi_dict_unref(&told);
  }
  if (fop->rsp.xdata) {
    static const char *const ours[] = {"link-count", "glusterfs.parent-entrylk", "glusterfs.entrylk-count",
                                       "glusterfs.inodelk-count"};

    rep_marks_strip(rep, fop->rsp.xdata);
    strip_unasked(rep, fop);
    for (size_t i = 0; i < GI_ARRAY_LEN(ours); i++)
      gi_dict_del(fop->rsp.xdata, ours[i]);
    if (inode && rep_inode(rep, inode)->need_refresh)
      gi_dict_del(fop->rsp.xdata, "glusterfs.content");
    if (!inode || rep_inode(rep, inode)->need_refresh || !((rep_readable(rep, inode, false) >> child) & 1))
      gi_content_drop(fop);
  }
  gi_inode_unref(&inode);
}

static void lookup_judge(struct gi_fan *fan);
static void lookup_done(struct gi_fan *fan);
static void lookup_send(struct rep *rep, struct gi_fop *fop);
static void lookup_send_to(struct rep *rep, struct gi_fop *fop, void (*done)(struct gi_fan *fan), void *arg);

static void
look_again(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);

  (void)err;
  gi_fan_clear(&rep_fop(rep, fop)->fan);
  lookup_send(rep, fop);
}

/* Attributes differ and no mark says who is right: healed first, if clients heal metadata (replicate.md 4.2). */
static bool
metadata_first(struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, const struct lookup_view *v)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  if (rf->healed || v->ok != rep->all || !rep_background_wants_xattrs(rep))
    return false;
  rf->healed = true;
  return rep_background_metadata(rep, fop, fan, agreeing(fan, v), look_again);
}

static void
parent_refreshed(struct gi_fop *fop, int err)
{
  lookup_judge(&rep_fop(rep_of(fop->at), fop)->fan); /* without the parent's counters if that failed */
}

/* The copies disagree about the name, and what is known of the parent is old: which copies of the parent are good must be learnt first. */
static bool
parent_matters(struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, const struct lookup_view *v)
{
  if (!v->named || !v->ok || (!v->absent && agreeing(fan, v) == v->ok))
    return false;

  struct gi_inode *parent = gi_loc_parent(fop, &fop->loc);

  return parent && !rep_inode_fresh(rep, parent);
}

/* ---- healing the name first ---- */

static bool
same_gfids(const struct gi_fan *fan, uint32_t ok)
{
  const struct gi_gfid *first = ok ? &gi_fan_reply(fan, rep_first(ok))->rsp.stat.gfid : NULL;

  rep_foreach(i, ok) if (!gi_gfid_equal(&gi_fan_reply(fan, i)->rsp.stat.gfid, first)) return false;
  return true;
}

/* All children have answered, and what they say is not just a change under way. */
static bool
name_heal_due(const struct rep *rep, const struct gi_fan *fan, const struct lookup_view *v)
{
  if (!v->named || fan->sent != rep->all || rep->up != rep->all)
    return false;
  if (v->nameless || !same_gfids(fan, v->ok))
    return true;
  if (!v->ok || !v->absent || v->name_locked)
    return false;
  if (rep->n == 2) /* of two copies one is easily lost: scripts for GlusterFS look at a name to have it healed */
    return true;
  if (is_absent(rep, v))
    return false;
  return (v->absent & v->parent) || !rep_quorum(rep, v->ok);
}

static void
name_healed(struct gi_fop *fop, int err)
{
  if (err == EIO)
    rep_answer(rep_of(fop->at), fop, -1, EIO);
  else
    look_again(fop, err);
}

static bool
name_first(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan, const struct lookup_view *v)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  if (rf->name_healed || !name_heal_due(rep, fan, v))
    return false;
  rf->name_healed = true;
  gi_fan_clear(fan);
  rep_name_heal(rep, fop, name_healed);
  return true;
}

/* A few that say that there is no such name may be those that missed it. */
static int
found_nowhere(const struct rep *rep, struct lookup_view *v)
{
  v->torn = v->err == ENOENT && v->named && !rep_quorum(rep, v->gone);
  if (v->torn)
    return ENOTCONN;
  return v->err ? v->err : ENOTCONN;
}

/* What was asked for by its gfid has been removed, and the last children are about to learn it. */
static bool
is_removed(const struct rep *rep, const struct lookup_view *v)
{
  return !v->named && rep_quorum(rep, v->gone) && !rep_quorum(rep, v->ok);
}

/* ---- looking with the name locked ---- */

static void
looked(struct gi_fan *fan)
{
  struct rep_wait *wait = fan->arg;

  wait->done = true;
  gi_task_wake(wait->task);
}

static void
look_locked(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  struct rep_fop *rf = rep_fop(rep, fop);
  struct rep_wait wait = {.task = gi_task_self(rep->x->reactor)};
  struct rep_heal_lock lock;
  struct rep_heal h;

  rep_heal_begin(&h, rep, &fop->loc.pargfid, GI_PID_HEAL);
  lock = (struct rep_heal_lock){.entry = true, .inode = h.inode, .name = fop->loc.name};
  rf->name_held = rep_quorum(rep, rep_heal_lock(&h, &lock, REP_LOCK_WAIT, rep->up));
  rf->refreshed = false; /* who is accused may be another by now */
  lookup_send_to(rep, fop, looked, &wait);
  rep_heal_fan_await(&h, &wait);
  rep_heal_unlock(&h, &lock);
  rep_heal_end(&h);
  rf->fan.arg = fop;
  lookup_done(&rf->fan);
}

/* Locks the name and asks again, to wait for those who change it. */
static bool
look_again_locked(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan, const struct lookup_view *v)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  if (!v->torn || !may_look_locked(rep, fop, fan, v))
    return false;
  GI_PROBE("replicate: looked again with the name locked");
  rf->locked_looks++;
  gi_fan_clear(fan);
  gi_task_start(rep->x->reactor, look_locked, fop);
  return true;
}

/* All children have answered and nobody changes the name: the contradiction lasts. That is EIO, not ENOTCONN. */
static int
lasting(const struct rep *rep, const struct lookup_view *v, int err)
{
  return err == ENOTCONN && v->torn && (v->ok | v->gone) == rep->all ? EIO : err;
}

static void
lookup_judge(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct lookup_view v;
  int child = -1, err;

  if (!rep_undisturbed(rep, rep_fop(rep, fop)->generation)) {
    gi_fan_clear(fan);
    rep_answer(rep, fop, -1, ENOTCONN);
    return;
  }
  view_replies(rep, fop, fan, &v);
  if (!rep_fop(rep, fop)->refreshed && parent_matters(rep, fop, fan, &v)) {
    rep_fop(rep, fop)->refreshed = true;
    rep_refresh(rep, fop, fop->loc.parent, parent_refreshed);
    return;
  }
  if (name_first(rep, fop, fan, &v) || metadata_first(rep, fop, fan, &v))
    return;
  if (!v.ok || is_removed(rep, &v))
    err = found_nowhere(rep, &v);
  else if (is_absent(rep, &v))
    err = ENOENT;
  else
    child = choose_reply(rep, fop, fan, &v, &err);
  GI_ASSERT(child < 0 || (child < (int)rep->n && ((fan->ok >> child) & 1)));
  if (child < 0 && look_again_locked(rep, fop, fan, &v))
    return;
  if (child >= 0)
    answer_from(rep, fop, fan, &v, (unsigned)child);
  gi_fan_clear(fan);
  if (child >= 0)
    gi_fop_answer(fop, rep->x);
  else
    rep_answer(rep, fop, -1, lasting(rep, &v, err));
}

/* Children went or came while others were late. What was said before that may be from before a heal, of which the others show nothing any
 * more: a copy that was outdated would count as good. */
static bool
look_again_changed(struct rep *rep, struct gi_fop *fop, struct gi_fan *fan)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  if (rf->generation == rep->generation || rf->asked_again)
    return false;
  GI_PROBE("replicate: looked again, as the children have changed meanwhile");
  rf->asked_again = true;
  gi_fan_clear(fan);
  if (rep_ready(rep) || (exempt(fop) && rep->up))
    lookup_send(rep, fop);
  else
    rep_answer(rep, fop, -1, ENOTCONN);
  return true;
}

static void
lookup_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);

  note_health(rep, fan);
  if (!look_again_changed(rep, fop, fan))
    lookup_judge(fan);
}

/* A small file comes with its lookup (GI_CONTENT_KEY): from a child that would be read if its copy is good, which the answers will tell. */
static uint32_t
content_child(const struct rep *rep, const struct gi_fop *fop)
{
  int child = gi_content_asked(fop) && fop->loc.name ? rep_read_child_of_name(rep, fop, rep->up & ~rep->arbiter) : -1;

  return child < 0 ? 0 : 1u << child;
}

static struct gi_fop *
with_content(struct gi_fop *fop, const struct gi_dict *xdata)
{
  const struct gi_pair *has = gi_dict_get(fop->xdata, GI_CONTENT_STAT_KEY);
  struct gi_dict *more = gi_dict_copy(xdata);
  struct gi_fop *child;
  uint64_t max = 0;

  GI_IGNORE(gi_dict_get_uint(fop->xdata, GI_CONTENT_KEY, &max)); /* 0: there is no number */
  gi_dict_set_uint(more, GI_CONTENT_KEY, max);
  if (has && has->type == GI_VALUE_IATT)
    gi_dict_set_iatt(more, GI_CONTENT_STAT_KEY, has->iatt);
  child = gi_fan_child(fop, more);
  gi_dict_unref(&more);
  return child;
}

static void
lookup_send_to(struct rep *rep, struct gi_fop *fop, void (*done)(struct gi_fan *fan), void *arg)
{
  struct gi_dict *xdata = lookup_xdata(rep, fop);
  struct rep_fop *rf = rep_fop(rep, fop);

  rf->generation = rep->generation;
  rf->distrusts = rep->distrusts;
  rf->content = content_child(rep, fop);
  rep_fan_start(&rf->fan, rep, done, arg);
  if (rf->content)
    gi_fan_send(&rf->fan, with_content(fop, xdata), (unsigned)rep_first(rf->content), 0);
  gi_fan_copy_with(&rf->fan, fop, xdata, rep->up & ~rf->content);
  gi_dict_unref(&xdata);
}

static void
lookup_send(struct rep *rep, struct gi_fop *fop)
{
  rep_fop(rep, fop)->name_held = false;
  lookup_send_to(rep, fop, lookup_done, fop);
}

enum gi_verdict
rep_on_lookup(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);

  if (rep_private_name(rep, fop->caller.pid, &fop->loc.pargfid, fop->loc.name))
    return gi_fop_fail(fop, EPERM);
  if (!rep_ready(rep) && !(exempt(fop) && rep->up))
    return gi_fop_fail(fop, ENOTCONN);
  if (gi_gfid_is_root(&fop->loc.gfid) && !rep->discovered)
    rep_local_discover(rep);
  lookup_send(rep, fop);
  return GI_HELD;
}
