/* SPDX-License-Identifier: Apache-2.0
 *
 * What every heal is made of: asking all children and waiting for them, views
 * of an object, locks with the healers' tie-breaker, and the undo of marks.
 */
#include "replicate-heal.h"

void
rep_heal_begin(struct rep_heal *h, struct rep *rep, const struct gi_gfid *gfid, int32_t pid)
{
  uint64_t owner;

  memset(h, 0, sizeof(*h));
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
rep_heal_end(struct rep_heal *h)
{
  gi_inode_unref(&h->inode);
}

/* ---- one operation on several children ---- */

struct gi_fop *
rep_heal_fop(struct rep_heal *h, enum gi_fop_kind kind)
{
  struct gi_fop *fop = gi_fop_new(h->rep->x->graph, kind);

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

struct fan_wait {
  struct gi_task *task;
  bool done;
};

static void
fan_done(struct rep_fan *fan)
{
  struct fan_wait *wait = fan->arg;

  wait->done = true;
  gi_task_wake(wait->task);
}

/* The children are asked with copies of `fop`, which is never submitted itself. */
void
rep_heal_fan(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct rep_fan *fan)
{
  struct fan_wait wait = {.task = gi_task_self(h->r)};

  memset(fan, 0, sizeof(*fan));
  rep_fan_start(fan, h->rep, fan_done, &wait);
  rep_fan_copy(fan, fop, mask);
  gi_fop_unref(fop);
  while (!wait.done)
    gi_task_wait(h->r);
}

uint32_t
rep_heal_all(struct rep_heal *h, struct gi_fop *fop, uint32_t mask)
{
  struct rep_fan fan;

  rep_heal_fan(h, fop, mask, &fan);
  rep_fan_clear(&fan);
  return fan.ok;
}

struct gi_fop *
rep_heal_one(struct rep_heal *h, struct gi_fop *fop, unsigned child)
{
  gi_task_fop(fop, h->rep->x->children[child]);
  return fop;
}

/* ---- views ---- */

static void
read_counters(const struct rep *rep, unsigned i, struct rep_view *v)
{
  for (enum rep_type type = 0; type < REP_TYPES; type++) {
    rep_marks_slot(v->xdata[i], rep->dirty_key, type, &v->dirty[type][i]);
    for (unsigned j = 0; j < rep->n; j++)
      rep_marks_slot(v->xdata[i], rep->pending_key[j], type, &v->pending[type][i][j]);
  }
}

static void
ask(struct rep_heal *h, struct gi_fop *fop, uint32_t mask, struct rep_view *v)
{
  struct rep_fan fan;

  memset(v, 0, sizeof(*v));
  v->rep = h->rep;
  v->asked = mask;
  rep_marks_request(h->rep, gi_fop_xdata(fop));
  gi_dict_set_int(gi_fop_xdata(fop), "list-xattr", 1);
  rep_heal_fan(h, fop, mask, &fan);
  v->ok = fan.ok;
  rep_foreach(i, fan.ok) {
    v->stat[i] = fan.reply[i]->rsp.stat;
    v->xdata[i] = gi_dict_ref(fan.reply[i]->rsp.xdata);
    read_counters(h->rep, i, v);
  }
  rep_foreach(i, fan.failed)
    v->err[i] = fan.reply[i]->rsp.err;
  rep_fan_clear(&fan);
}

void
rep_view_gfid(struct rep_heal *h, const struct gi_gfid *gfid, uint32_t mask, struct rep_view *v)
{
  struct gi_inode *inode = gi_inode_get(h->rep->x->graph, gfid);

  ask(h, rep_heal_inode_fop(h, GI_FOP_LOOKUP, inode), mask, v);
  gi_inode_unref(&inode);
}

void
rep_view_inode(struct rep_heal *h, uint32_t mask, struct rep_view *v)
{
  ask(h, rep_heal_inode_fop(h, GI_FOP_LOOKUP, h->inode), mask, v);
}

void
rep_view_name(struct rep_heal *h, struct gi_inode *parent, const char *name, struct gi_dict *xdata, uint32_t mask,
              struct rep_view *v)
{
  struct gi_fop *fop = rep_heal_fop(h, GI_FOP_LOOKUP);

  gi_fop_set_entry(fop, &fop->loc, parent, name);
  gi_dict_merge(gi_fop_xdata(fop), xdata);
  ask(h, fop, mask, v);
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
  rep_foreach(i, v->ok) {
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
  rep_foreach(i, v->asked) {
    if (err && v->err[i] != err)
      return 0;
    err = v->err[i];
  }
  return err;
}

/* ---- locks ---- */

enum how { TRY, WAIT, UNLOCK };

static struct gi_fop *
lock_fop(struct rep_heal *h, const struct rep_heal_lock *lock, enum how how)
{
  static const uint32_t entry_cmd[] = {GI_ENTRYLK_NB, GI_ENTRYLK_LOCK, GI_ENTRYLK_UNLOCK};
  struct gi_fop *fop = rep_heal_inode_fop(h, lock->entry ? GI_FOP_ENTRYLK : GI_FOP_INODELK, lock->inode);
  char *domain = lock->self_heal ? gi_asprintf("%s:self-heal", h->rep->x->name) : NULL;

  fop->args.domain = domain ? gi_fop_strdup(fop, domain, strlen(domain)) : h->rep->x->name;
  gi_free(domain);
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
    rep_heal_all(h, lock_fop(h, lock, UNLOCK), held);
}

/* In child order, as every client does: nobody waits while holding a lock that comes later. */
static void
lock_serially(struct rep_heal *h, struct rep_heal_lock *lock, uint32_t mask)
{
  rep_foreach(i, mask & h->rep->up) {
    struct gi_fop *fop = rep_heal_one(h, lock_fop(h, lock, WAIT), i);

    if (fop->rsp.ret >= 0)
      lock->held |= 1u << i;
    gi_fop_unref(fop);
  }
}

uint32_t
rep_heal_lock(struct rep_heal *h, struct rep_heal_lock *lock, enum rep_lock_mode mode, uint32_t mask)
{
  uint32_t busy = 0;
  struct rep_fan fan;

  rep_heal_fan(h, lock_fop(h, lock, TRY), mask, &fan);
  lock->held = fan.ok;
  rep_foreach(i, fan.failed)
    if (fan.reply[i]->rsp.err == EAGAIN)
      busy |= 1u << i;
  rep_fan_clear(&fan);
  if (!busy)
    return lock->held;
  if (mode == REP_LOCK_TIEBREAK && 2 * (unsigned)__builtin_popcount(lock->held) <= h->rep->n)
    return lock->held;
  rep_heal_unlock(h, lock);
  lock_serially(h, lock, mask);
  return lock->held;
}

/* ---- undo ---- */

struct gi_dict *
rep_marks_undo(const struct rep_view *v, unsigned i, enum rep_type type, uint32_t good, uint32_t failed, bool full_crawl)
{
  struct gi_dict *d = gi_dict_new();
  int32_t slot[REP_TYPES] = {0};

  slot[type] = (failed >> i) & 1 ? 0 : -v->dirty[type][i];
  rep_marks_set(d, v->rep->dirty_key, slot);
  for (unsigned j = 0; j < v->rep->n; j++) {
    memset(slot, 0, sizeof(slot));
    if ((good >> j) & 1) {
      slot[type] = -v->pending[type][i][j];
      if (full_crawl) /* the marker that the granular index is not to be trusted */
        slot[REP_DATA] = -v->pending[REP_DATA][i][j];
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
  struct fan_wait wait = {.task = gi_task_self(h->r)};
  uint32_t failed = d->sinks & ~good, ok;
  struct rep_fan fan;

  memset(&fan, 0, sizeof(fan));
  rep_fan_start(&fan, h->rep, fan_done, &wait);
  rep_foreach(i, d->locked & ~d->reset) {
    struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_XATTROP, h->inode);

    fop->args.flags = GI_XATTROP_ADD32;
    fop->args.dict = rep_marks_undo(v, i, type, good & d->locked, failed, full_crawl);
    fop->xdata = xdata ? gi_dict_copy(xdata) : NULL;
    rep_fan_send(&fan, fop, i, 0);
  }
  rep_fan_finish(&fan);
  while (!wait.done)
    gi_task_wait(h->r);
  ok = fan.ok;
  rep_fan_clear(&fan);
  return ok;
}

void
rep_heal_touch(struct rep_heal *h)
{
  struct gi_fop *fop = rep_heal_inode_fop(h, GI_FOP_XATTROP, h->inode);

  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = rep_marks_dict(h->rep, 0, REP_DATA, 0);
  rep_heal_all(h, fop, h->rep->all);
}
