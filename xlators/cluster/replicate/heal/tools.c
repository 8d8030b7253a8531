/* SPDX-License-Identifier: Apache-2.0
 *
 * What every heal is made of: asking all children and waiting for them, views
 * of an object, locks with the healers' tie-breaker, and the undo of marks.
 */
#include "xlators/cluster/replicate/heal/heal.h"

void
rep_heal_begin(struct rep_heal *h, struct rep *rep, const struct gi_gfid *gfid, int32_t pid)
{
  uint64_t owner;

  memset(h, 0, sizeof(*h));
  rep_busy_get(rep, REP_WORK_HEALS);
  h->magic = REP_HEAL_MAGIC;
  h->rep = rep;
  h->r = rep->x->reactor;
  h->gfid = *gfid;
  h->inode = gi_inode_get(rep->x->graph, gfid);
  h->op_child = -1;
  h->caller.pid = pid;
  gi_random(h->r, &owner, sizeof(owner));
  h->caller.owner.len = sizeof(owner);
  memcpy(h->caller.owner.data, &owner, sizeof(owner));
}

void
rep_heal_fork(struct rep_heal *h, const struct rep_heal *from)
{
  rep_heal_begin(h, from->rep, &from->gfid, from->caller.pid);
  h->op = from->op;
  h->op_child = from->op_child;
}

void
rep_heal_end(struct rep_heal *h)
{
  GI_CHECK(h, REP_HEAL_MAGIC);
  h->magic = 0;
  gi_inode_unref(&h->inode);
  rep_busy_put(h->rep, REP_WORK_HEALS);
}

bool
rep_heal_read_op(struct rep_heal *h, const struct gi_dict *xdata)
{
  const void *name;
  uint32_t len;
  int64_t op;

  if (!gi_dict_get_int(xdata, "heal-op", &op) ||
      (op != GI_HEAL_BIGGER_FILE && op != GI_HEAL_LATEST_MTIME && op != GI_HEAL_SOURCE_BRICK))
    return false;
  h->op = (enum gi_heal_op)op;
  if (gi_dict_get_bin(xdata, "child-name", &name, &len)) { /* it need not end with a NUL */
    GI_CLEANUP_FREE char *text = gi_strndup(name, strnlen(name, len));

    h->op_child = rep_child_named(h->rep, text);
  }
  return true;
}

/* ---- one operation on several children ---- */

struct gi_fop *
rep_heal_fop(struct rep_heal *h, enum gi_fop_kind kind)
{
  struct gi_fop *fop = gi_fop_new(h->rep->x->graph, kind);

  GI_CHECK(h, REP_HEAL_MAGIC);
  fop->caller = h->caller;
  return fop;
}

struct gi_fop *
rep_heal_inode_fop(struct rep_heal *h, enum gi_fop_kind kind, struct gi_inode *inode)
{
  struct gi_fop *fop = rep_heal_fop(h, kind);

  gi_loc_set_inode(&fop->loc, inode);
  return fop;
}

static void
fan_done(struct gi_fan *fan)
{
  struct rep_wait *wait = fan->arg;

  GI_ASSERT(!wait->done && wait->task);
  wait->done = true;
  gi_task_wake(wait->task);
}

/* The children are asked with copies of `fop`, which is never submitted itself. */
void
rep_heal_fan_begin(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct gi_fan *fan, struct rep_wait *wait)
{
  GI_ASSERT(!(mask & ~h->rep->all));
  *wait = (struct rep_wait){.task = gi_task_self(h->r)};
  memset(fan, 0, sizeof(*fan));
  rep_fan_start(fan, h->rep, fan_done, wait);
  gi_fan_copy(fan, fop, mask);
  gi_fop_unref(fop);
}

void
rep_heal_fan_await(struct rep_heal *h, const struct rep_wait *wait)
{
  while (!wait->done)
    gi_task_wait(h->r);
}

void
rep_heal_fan(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct gi_fan *fan)
{
  struct rep_wait wait;

  rep_heal_fan_begin(h, fop, mask, fan, &wait);
  rep_heal_fan_await(h, &wait);
}

uint32_t
rep_heal_all(struct rep_heal *h, struct gi_fop *fop, uint32_t mask)
{
  struct gi_fan fan;

  rep_heal_fan(h, fop, mask, &fan);
  gi_fan_clear(&fan);
  return fan.ok;
}

struct gi_fop *
rep_heal_one(struct rep_heal *h, struct gi_fop *fop, unsigned child)
{
  GI_ASSERT(child < h->rep->n);
  gi_task_fop(fop, h->rep->x->children[child]);
  if (h->rep->on_answer)
    h->rep->on_answer(h->rep, child, fop);
  return fop;
}

struct gi_fop *
rep_heal_getxattr(struct rep_heal *h, unsigned child, struct gi_inode *inode, const char *key)
{
  struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_GETXATTR, inode);

  fop->args.name = key;
  return rep_heal_one(h, fop, child);
}

char *
rep_heal_path(struct rep_heal *h, unsigned child, struct gi_inode *inode)
{
  static const char key[] = "glusterfs.gfidtopath";
  struct gi_fop *fop = rep_heal_getxattr(h, child, inode, key);
  const void *text;
  uint32_t len;
  char *path = NULL;

  if (fop->rsp.ret >= 0 && gi_dict_get_bin(fop->rsp.dict, key, &text, &len))
    path = gi_strndup(text, len); /* bricks send it without a NUL */
  gi_fop_unref(fop);
  return path;
}

/* ---- a round of different operations ---- */

static void
round_each(struct gi_fan *fan, unsigned child, unsigned tag, struct gi_fop *reply)
{
  (void)fan, (void)child, (void)tag, (void)reply; /* the fan notes who failed */
}

void
rep_round_begin(struct rep_heal *h, struct rep_round *round)
{
  memset(round, 0, sizeof(*round));
  round->wait.task = gi_task_self(h->r);
  rep_fan_start(&round->fan, h->rep, fan_done, &round->wait);
  round->fan.each = round_each;
}

void
rep_round_send(struct rep_round *round, struct gi_fop *fop, unsigned child)
{
  gi_fan_send(&round->fan, fop, child, 0);
}

uint32_t
rep_round_wait(struct rep_heal *h, struct rep_round *round)
{
  gi_fan_finish(&round->fan);
  rep_heal_fan_await(h, &round->wait);
  return round->fan.sent & ~round->fan.failed;
}

/* ---- views ---- */

/* A counter that is there but has another shape than the protocol's says something unknown about another copy. */
static bool
malformed(const struct gi_dict *d, const char *key)
{
  const struct gi_pair *p = d ? gi_dict_get(d, key) : NULL;

  const uint8_t *data;
  uint32_t len;

  return p && (!gi_pair_bytes(p, &data, &len) || len != 4 * REP_TYPES);
}

static void
check_counters(const struct rep *rep, unsigned i, struct rep_view *v)
{
  const char *bad = malformed(v->xdata[i], rep->dirty_key) ? rep->dirty_key : NULL;
  char text[GI_UUID_TEXT];

  for (unsigned j = 0; !bad && j < rep->n; j++)
    if (malformed(v->xdata[i], rep->pending_key[j]))
      bad = rep->pending_key[j];
  if (!bad)
    return;
  v->corrupt |= 1u << i;
  gi_log(GI_LOG_ERROR, rep->x->name, GI_MSG_REPLICATE + 10, "%s: %s on %s is not a changelog counter: the object is not healed",
         gi_gfid_text(&v->stat[i].gfid, text), bad, rep->x->children[i]->name);
}

void
rep_view_counters(struct rep_view *v, unsigned i)
{
  const struct rep *rep = v->rep;

  check_counters(rep, i, v);
  for (enum rep_type type = 0; type < REP_TYPES; type++) {
    rep_marks_slot(v->xdata[i], rep->dirty_key, type, &v->dirty[type][i]);
    for (unsigned j = 0; j < rep->n; j++)
      rep_marks_slot(v->xdata[i], rep->pending_key[j], type, &v->pending[type][i][j]);
  }
}

static struct gi_fop *
view_fop(struct rep_heal *h, struct gi_fop *fop)
{
  rep_marks_request(h->rep, gi_fop_xdata(fop));
  gi_dict_set_int(gi_fop_xdata(fop), "list-xattr", 1);
  return fop;
}

static void
view_read(struct rep_heal *h, struct gi_fan *fan, struct rep_view *v)
{
  memset(v, 0, sizeof(*v));
  v->rep = h->rep;
  v->asked = fan->sent;
  v->ok = fan->ok;
  GI_ASSERT(!(v->ok & ~v->asked) && !(fan->ok & fan->failed));
  rep_foreach(i, fan->ok)
  {
    v->stat[i] = gi_fan_reply(fan, i)->rsp.stat;
    v->xdata[i] = gi_dict_ref(gi_fan_reply(fan, i)->rsp.xdata);
    rep_view_counters(v, i);
  }
  rep_foreach(i, fan->failed) v->err[i] = gi_fan_reply(fan, i)->rsp.err;
  gi_fan_clear(fan);
}

void
rep_view_ask(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct rep_view *v)
{
  struct gi_fan fan;

  rep_heal_fan(h, view_fop(h, fop), mask, &fan);
  view_read(h, &fan, v);
}

void
rep_view_gfid(struct rep_heal *h, const struct gi_gfid *gfid, uint32_t mask, struct rep_view *v)
{
  struct gi_inode *inode = gi_inode_get(h->rep->x->graph, gfid);

  rep_view_ask(h, rep_heal_inode_fop(h, GI_FOP_LOOKUP, inode), mask, v);
  gi_inode_unref(&inode);
}

void
rep_view_inode(struct rep_heal *h, uint32_t mask, struct rep_view *v)
{
  rep_view_ask(h, rep_heal_inode_fop(h, GI_FOP_LOOKUP, h->inode), mask, v);
}

static struct gi_fop *
name_fop(struct rep_heal *h, struct gi_inode *parent, const char *name, struct gi_dict *xdata)
{
  struct gi_fop *fop = rep_heal_fop(h, GI_FOP_LOOKUP);

  gi_fop_set_entry(fop, &fop->loc, parent, name);
  gi_dict_merge(gi_fop_xdata(fop), xdata);
  return fop;
}

void
rep_view_name(struct rep_heal *h, struct gi_inode *parent, const char *name, struct gi_dict *xdata, uint32_t mask,
              struct rep_view *v)
{
  rep_view_ask(h, name_fop(h, parent, name, xdata), mask, v);
}

void
rep_view_parent_and_name(struct rep_heal *h, struct gi_inode *parent, const char *name, struct gi_dict *xdata, uint32_t mask,
                         struct rep_view *dir, struct rep_view *v)
{
  struct rep_wait wait;
  struct gi_fan fan[2];

  rep_heal_fan_begin(h, view_fop(h, rep_heal_inode_fop(h, GI_FOP_LOOKUP, parent)), mask, &fan[0], &wait);
  rep_heal_fan(h, view_fop(h, name_fop(h, parent, name, xdata)), mask, &fan[1]);
  rep_heal_fan_await(h, &wait);
  view_read(h, &fan[0], dir);
  view_read(h, &fan[1], v);
}

void
rep_view_clear(struct rep_view *v)
{
  for (unsigned i = 0; i < REP_MAX; i++)
    gi_dict_unref(&v->xdata[i]);
  v->ok = v->asked = 0;
}

bool
rep_view_marked(const struct rep_view *v, enum rep_type type)
{
  rep_foreach(i, v->ok)
  {
    if (v->dirty[type][i])
      return true;
    for (unsigned j = 0; j < v->rep->n; j++)
      if (v->pending[type][i][j])
        return true;
  }
  return false;
}

int
rep_view_errno(const struct rep_view *v)
{
  int err = 0;

  if (v->ok)
    return 0;
  rep_foreach(i, v->asked)
  {
    if (err && v->err[i] != err)
      return 0;
    err = v->err[i];
  }
  return err;
}

/* ---- locks ---- */

enum how { TRY, WAIT, UNLOCK };

static struct gi_fop *
heal_lock_fop(struct rep_heal *h, const struct rep_heal_lock *lock, enum how how)
{
  static const uint32_t entry_cmd[] = {GI_ENTRYLK_NB, GI_ENTRYLK_LOCK, GI_ENTRYLK_UNLOCK};
  struct gi_fop *fop = rep_heal_inode_fop(h, lock->entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK, lock->inode);

  GI_ASSERT(lock->inode && (lock->entry || !lock->name));
  fop->args.domain = lock->self_heal ? h->rep->heal_domain : h->rep->x->name;
  if (lock->entry) {
    fop->args.cmd = entry_cmd[how];
    fop->args.type = 1;
    fop->args.name = lock->name;
    return fop;
  }
  fop->args.cmd = how == WAIT ? GI_LKCMD_SETW : GI_LKCMD_SET;
  fop->args.type = how == UNLOCK ? GI_LK_UNLOCK : GI_LK_WRITE;
  fop->args.flock.type = fop->args.type;
  fop->args.flock.start = lock->start;
  fop->args.flock.len = lock->len;
  return fop;
}

void
rep_heal_unlock(struct rep_heal *h, struct rep_heal_lock *lock)
{
  uint32_t held = lock->held & h->rep->up;

  lock->held = 0;
  if (held)
    rep_heal_all(h, heal_lock_fop(h, lock, UNLOCK), held);
}

/* In child order, as every client does: nobody waits while holding a lock that comes later. */
static void
lock_serially(struct rep_heal *h, struct rep_heal_lock *lock, uint32_t mask)
{
  rep_foreach(i, mask & h->rep->up)
  {
    struct gi_fop *fop = rep_heal_one(h, heal_lock_fop(h, lock, WAIT), i);

    if (fop->rsp.ret >= 0)
      lock->held |= 1u << i;
    gi_fop_unref(fop);
  }
}

/* What the answers to an attempt amount to, after waiting if `mode` says so. */
static uint32_t
lock_tried(struct rep_heal *h, struct rep_heal_lock *lock, enum rep_lock_mode mode, uint32_t mask, struct gi_fan *fan)
{
  uint32_t busy = 0;

  GI_ASSERT(!lock->held && !(fan->ok & ~mask));
  lock->held = fan->ok;
  rep_foreach(i, fan->failed) if (gi_fan_reply(fan, i)->rsp.err == EAGAIN) busy |= 1u << i;
  gi_fan_clear(fan);
  if (!busy)
    return lock->held;
  if (mode == REP_LOCK_TIEBREAK && !rep_majority(h->rep, lock->held))
    return lock->held;
  rep_heal_unlock(h, lock);
  lock_serially(h, lock, mask);
  return lock->held;
}

uint32_t
rep_heal_lock(struct rep_heal *h, struct rep_heal_lock *lock, enum rep_lock_mode mode, uint32_t mask)
{
  struct gi_fan fan;

  rep_heal_fan(h, heal_lock_fop(h, lock, TRY), mask, &fan);
  return lock_tried(h, lock, mode, mask, &fan);
}

bool
rep_heal_lock_pair(struct rep_heal *h, struct rep_heal_lock *healers, struct rep_heal_lock *second, uint32_t mask)
{
  struct rep_wait wait;
  struct gi_fan fan[2];

  rep_heal_fan_begin(h, heal_lock_fop(h, healers, TRY), mask, &fan[0], &wait);
  rep_heal_fan(h, heal_lock_fop(h, second, TRY), mask, &fan[1]);
  rep_heal_fan_await(h, &wait);
  if (fan[0].ok == mask) {
    lock_tried(h, healers, REP_LOCK_TIEBREAK, mask, &fan[0]);
    return lock_tried(h, second, REP_LOCK_WAIT, mask, &fan[1]) == mask;
  }
  second->held = fan[1].ok; /* nobody may be kept waiting while it is found out who heals */
  gi_fan_clear(&fan[1]);
  rep_heal_unlock(h, second);
  return lock_tried(h, healers, REP_LOCK_TIEBREAK, mask, &fan[0]) == mask &&
         rep_heal_lock(h, second, REP_LOCK_WAIT, mask) == mask;
}

void
rep_heal_unlock_pair(struct rep_heal *h, struct rep_heal_lock *healers, struct rep_heal_lock *second)
{
  struct rep_wait wait = {.done = true};
  uint32_t held = second->held & h->rep->up;
  struct gi_fan fan;

  memset(&fan, 0, sizeof(fan));
  second->held = 0;
  if (held)
    rep_heal_fan_begin(h, heal_lock_fop(h, second, UNLOCK), held, &fan, &wait);
  rep_heal_unlock(h, healers);
  rep_heal_fan_await(h, &wait);
  gi_fan_clear(&fan);
}

/* ---- undo ---- */

/* What added to n gives 0, for every n: bricks add without regard to overflow. */
static int32_t
negative(int32_t n)
{
  return (int32_t)(0u - (uint32_t)n);
}

/* What is undone of child i's counters. If it took back those against the source, and dirty, beforehand: the rest. And data stays dirty
 * unless all copies are good now: what was begun and not accounted for may have come to some, and nobody accuses the others. */
static struct gi_dict *
undo(const struct rep_view *v, unsigned i, enum rep_type type, const struct rep_direction *d, uint32_t good, uint32_t failed,
     bool full_crawl)
{
  bool reset = (d->reset >> i) & 1;
  struct gi_dict *dict = rep_marks_undo(v, i, type, reset ? good & ~(1u << d->source) : good, failed, full_crawl);
  static const int32_t nothing[REP_TYPES];

  if (reset || (type == REP_DATA && good != v->rep->all))
    rep_marks_set(dict, v->rep->dirty_key, nothing);
  return dict;
}

struct gi_dict *
rep_marks_undo(const struct rep_view *v, unsigned i, enum rep_type type, uint32_t good, uint32_t failed, bool full_crawl)
{
  struct gi_dict *d = gi_dict_new();
  int32_t slot[REP_TYPES] = {0};

  GI_ASSERT(i < v->rep->n && !(good & failed));
  slot[type] = (failed >> i) & 1 ? 0 : negative(v->dirty[type][i]);
  rep_marks_set(d, v->rep->dirty_key, slot);
  for (unsigned j = 0; j < v->rep->n; j++) {
    memset(slot, 0, sizeof(slot));
    if ((good >> j) & 1) {
      slot[type] = negative(v->pending[type][i][j]);
      if (full_crawl) /* the marker that the granular index is not to be trusted */
        slot[REP_DATA] = negative(v->pending[REP_DATA][i][j]);
    } else if ((failed >> j) & 1) {
      slot[type] = 1;
    }
    rep_marks_set(d, v->rep->pending_key[j], slot);
  }
  return d;
}

uint32_t
rep_heal_undo(struct rep_heal *h, const struct rep_view *v, enum rep_type type, const struct rep_direction *d, uint32_t good,
              bool full_crawl, struct gi_dict *xdata)
{
  uint32_t failed = d->sinks & ~good;

  GI_ASSERT(!(good & ~h->rep->all) && type < REP_TYPES);
  struct rep_round round;

  good &= d->locked;
  rep_round_begin(h, &round);
  rep_foreach(i, d->locked)
  {
    struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_XATTROP, h->inode);

    fop->args.flags = GI_XATTROP_ADD32;
    fop->args.dict = undo(v, i, type, d, good, failed, full_crawl);
    fop->xdata = gi_dict_ref(xdata);
    rep_round_send(&round, fop, i);
  }
  return rep_round_wait(h, &round);
}

void
rep_heal_touch(struct rep_heal *h)
{
  struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_XATTROP, h->inode);

  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = rep_marks_dict(h->rep, 0, REP_DATA, 0);
  rep_heal_all(h, fop, h->rep->all);
}
