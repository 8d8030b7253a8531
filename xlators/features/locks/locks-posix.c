/* SPDX-License-Identifier: Apache-2.0
 *
 * LK: fcntl and flock locks of applications (brick.md 9.4).
 *
 * Invariant: the granted locks of one (client, owner) on an inode never
 * overlap, and neighbours of equal type are one lock. Setting a lock therefore
 * subtracts its range from the owner's locks of other types and swallows those
 * of its own type that touch it.
 *
 * A lock remembers the fd it was taken through: when the fd goes, so does it.
 */
#include "xlators/features/locks/locks.h"

#define DEADLOCK_STEPS 10

static uint32_t *
fd_count(struct gi_xlator *x, const struct gi_fd *fd)
{
  return gi_fd_private(fd, x);
}

static bool
overlap(const struct lk_posix *a, const struct lk_posix *b)
{
  return a->start <= b->last && b->start <= a->last && lk_spaces_meet(a->space, b->space);
}

static struct lk_posix *
find_conflict(const struct lk_inode *li, const struct lk_posix *want)
{
  gi_list_foreach(l, &li->posix, struct lk_posix, link) {
    if (overlap(l, want) && (l->type == GI_LK_WRITE || want->type == GI_LK_WRITE) && !lk_same(&l->who, &want->who))
      return l;
  }
  return NULL;
}

static void
posix_insert(struct gi_xlator *x, struct lk_inode *li, const struct lk_posix *proto, uint64_t start, uint64_t last)
{
  struct lk_posix *l = gi_alloc(sizeof(*l));
  *l = *proto;
  GI_ASSERT(start <= last && last <= LK_LAST);
  l->magic = LK_POSIX_MAGIC;
  l->fop = NULL;
  l->start = start;
  l->last = last;
  lk_posix_check(l);
  if (l->fd)
    ++*fd_count(x, l->fd);
  gi_list_add_tail(&li->posix, &l->link);
  lk_inode_use(x, li);
  lk_count(x)->held++;
}

/* Frees a granted or waiting lock. The caller keeps `li` in use. */
static void
posix_remove(struct gi_xlator *x, struct lk_inode *li, struct lk_posix *l)
{
  lk_posix_check(l);
  gi_list_del(&l->link);
  if (l->fop) {
    gi_list_del(&l->waiting);
    lk_count(x)->waiting--;
  } else {
    lk_count(x)->held--;
    if (l->fd) {
      GI_ASSERT(*fd_count(x, l->fd) > 0);
      --*fd_count(x, l->fd);
    }
  }
  l->magic = 0;
  gi_free(l);
  lk_inode_unuse(x, li);
}

/* Takes [start, last] away from the owner's locks. */
static void
subtract(struct gi_xlator *x, struct lk_inode *li, const struct lk_who *who, uint64_t start, uint64_t last)
{
  GI_ASSERT(start <= last && li->users > 0);
  gi_list_foreach_safe(l, &li->posix, struct lk_posix, link) {
    if (!lk_same(&l->who, who) || l->start > last || l->last < start)
      continue;
    if (l->last > last)
      posix_insert(x, li, l, last + 1, l->last);
    if (l->start < start)
      posix_insert(x, li, l, l->start, start - 1);
    posix_remove(x, li, l);
  }
}

/* Grants `want`: merges with what touches it, splits what differs. */
static void
posix_set(struct gi_xlator *x, struct lk_inode *li, const struct lk_posix *want)
{
  uint64_t start = want->start, last = want->last;
  GI_ASSERT(want->type != GI_LK_UNLOCK && start <= last && last <= LK_LAST);
  gi_list_foreach_safe(l, &li->posix, struct lk_posix, link) {
    bool touches = l->start <= (last == LK_LAST ? last : last + 1) && start <= (l->last == LK_LAST ? l->last : l->last + 1);
    if (!touches || l->type != want->type || l->mandatory != want->mandatory || !lk_same(&l->who, &want->who))
      continue;
    start = l->start < start ? l->start : start;
    last = l->last > last ? l->last : last;
    posix_remove(x, li, l);
  }
  subtract(x, li, &want->who, start, last);
  posix_insert(x, li, want, start, last);
  lk_past_granted(li, want);
  lk_count(x)->posix_granted++;
}

/* The reply of a granted request: itself, and the mode it asked for. */
static void
reply_granted(struct gi_fop *fop)
{
  uint64_t mode;
  fop->rsp.flock = fop->args.flock;
  if (gi_dict_get_uint(fop->xdata, "glusterfs.lk.lkmode", &mode))
    gi_dict_set_uint(gi_fop_rsp_xdata(fop), "glusterfs.lk.lkmode", mode);
}

void
lk_posix_retry(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready)
{
  GI_ASSERT(li->users > 0);
  gi_list_foreach_safe(l, &li->posix_blocked, struct lk_posix, link) {
    if (find_conflict(li, l))
      continue;
    GI_ASSERT(l->fop && ((const struct lk_fop *)gi_fop_private(l->fop, x))->lock == l);
    posix_set(x, li, l);
    reply_granted(l->fop);
    lk_ready_answer(ready, l->fop, x, 0, 0);
    posix_remove(x, li, l);
  }
  lk_mandatory_retry(x, li, ready);
}

static enum gi_verdict
get_lock(struct gi_fop *fop, const struct lk_inode *li, const struct lk_posix *want)
{
  const struct lk_posix *l = li ? find_conflict(li, want) : NULL;
  struct gi_flock *out = &fop->rsp.flock;
  *out = fop->args.flock;
  if (!l) {
    out->type = GI_LK_UNLOCK;
    return gi_fop_ok(fop, 0);
  }
  *out = (struct gi_flock){
      .type = l->type,
      .start = l->start,
      .len = l->last == LK_LAST ? 0 : l->last - l->start + 1,
      .pid = (uint32_t)l->who.pid,
      .owner = l->who.owner,
  };
  return gi_fop_ok(fop, 0);
}

static enum gi_verdict
unlock(struct gi_xlator *x, struct gi_fop *fop, struct lk_inode *li, const struct lk_posix *want)
{
  struct gi_list ready = GI_LIST_INIT(ready);
  if (li && li->users) {
    lk_inode_use(x, li);
    subtract(x, li, &want->who, want->start, want->last);
    lk_posix_retry(x, li, &ready);
    lk_inode_unuse(x, li);
  }
  fop->rsp.flock = fop->args.flock;
  fop->rsp.flock.type = want->fd && *fd_count(x, want->fd) ? GI_LK_READ : GI_LK_UNLOCK;
  lk_ready_run(x, &ready);
  return gi_fop_ok(fop, 0);
}

/* Whom somebody waits for; NULL: for nobody. */
static const struct lk_posix *
blocker_of(const struct gi_xlator *x, const struct lk_who *who)
{
  gi_list_foreach(l, &lk_private(x)->posix_waiting, struct lk_posix, waiting) {
    if (lk_same(&l->who, who))
      return find_conflict(l->li, l);
  }
  return NULL;
}

/* Whoever holds what is wanted waits, by way of others perhaps, for who wants it. As on a local disk a few of them are looked at, and
 * only fcntl knows that answer: those who do not say which they are may be flock. */
static bool
would_wait_for_itself(const struct gi_xlator *x, const struct lk_inode *li, const struct lk_posix *want)
{
  const struct lk_posix *holder = want->space == GI_LOCK_FCNTL ? find_conflict(li, want) : NULL;

  for (unsigned i = 0; holder && i < DEADLOCK_STEPS; i++) {
    holder = blocker_of(x, &holder->who);
    if (holder && lk_same(&holder->who, &want->who))
      return true;
  }
  return false;
}

static enum gi_verdict
posix_wait(struct gi_xlator *x, struct gi_fop *fop, struct lk_inode *li, const struct lk_posix *want, struct gi_list *ready)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  GI_ASSERT(lf->wait == LK_WAIT_NONE && !want->fop);
  struct lk_posix *l = gi_alloc(sizeof(*l));
  *l = *want;
  l->magic = LK_POSIX_MAGIC;
  l->fop = fop;
  l->wall = gi_wall(x->reactor);
  lk_posix_check(l);
  gi_list_foreach(h, &li->posix, struct lk_posix, link) {
    if (!overlap(h, want) || lk_same(&h->who, &want->who))
      continue;
    lk_waits(fop, "posix lock", NULL, &h->who);
    break;
  }
  lk_inode_use(x, li);
  gi_list_add_tail(&li->posix_blocked, &l->link);
  gi_list_add_tail(&lk_private(x)->posix_waiting, &l->waiting);
  l->li = li;
  lf->wait = LK_WAIT_POSIX;
  lf->lock = l;
  lf->li = li;
  lk_count(x)->waiting++;
  lk_count(x)->posix_waited++;
  /* Two holders that both want more would wait for each other for ever. */
  subtract(x, li, &want->who, want->start, want->last);
  lk_posix_retry(x, li, ready);
  return GI_HELD;
}

/* A fenced file: the newest request wins (brick.md 9.7). */
static void
preempt(struct gi_xlator *x, struct lk_inode *li, const struct lk_posix *want, struct gi_list *ready)
{
  gi_list_foreach_safe(l, &li->posix, struct lk_posix, link) {
    if (overlap(l, want) && !lk_same(&l->who, &want->who))
      posix_remove(x, li, l);
  }
  gi_list_foreach_safe(l, &li->posix_blocked, struct lk_posix, link) {
    lk_ready_answer(ready, l->fop, x, -1, EBUSY);
    posix_remove(x, li, l);
  }
  gi_list_foreach_safe(f, &li->io_waiting, struct gi_fop, link) {
    gi_list_del(&f->link);
    lk_ready_answer(ready, f, x, -1, EBUSY);
    lk_inode_unuse(x, li);
  }
}

static enum gi_verdict
set_lock(struct gi_xlator *x, struct gi_fop *fop, struct lk_posix *want)
{
  struct lk_inode *li = lk_inode_get(x, gi_fop_inode(fop));
  struct gi_list ready = GI_LIST_INIT(ready);
  enum gi_verdict v = GI_ANSWERED;
  if (li->moved && fop->caller.pid >= 0)
    return gi_fop_fail(fop, ESTALE); /* who asks looks where it is */
  lk_inode_use(x, li);
  if (li->fenced && lk_options(x)->enforce)
    preempt(x, li, want, &ready);
  if (!find_conflict(li, want)) {
    want->wall = gi_wall(x->reactor);
    if (gi_dict_get(fop->xdata, GI_LOCK_AGAIN_KEY) && lk_past_unbroken(li, want))
      gi_dict_set_uint(gi_fop_rsp_xdata(fop), GI_LOCK_AGAIN_KEY, 1);
    posix_set(x, li, want);
    lk_posix_retry(x, li, &ready); /* a downgrade may let others in */
    reply_granted(fop);
    gi_fop_ok(fop, 0);
  } else if (fop->args.cmd == GI_LKCMD_SETW && !would_wait_for_itself(x, li, want)) {
    v = posix_wait(x, fop, li, want, &ready);
  } else {
    lk_count(x)->posix_refused++;
    gi_fop_fail(fop, fop->args.cmd == GI_LKCMD_SETW ? EDEADLK : EAGAIN);
  }
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
  return v;
}

static uint8_t
space_of(const struct gi_fop *fop)
{
  uint64_t v;
  return gi_dict_get_uint(fop->xdata, GI_LOCK_SPACE_KEY, &v) && v <= GI_LOCK_FLOCK ? (uint8_t)v : GI_LOCK_ANY;
}

enum gi_verdict
lk_posix_lk(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct gi_flock *f = &fop->args.flock;
  if (fop->args.cmd > GI_LKCMD_SETW)
    return gi_fop_fail(fop, EOPNOTSUPP);
  if (f->type > GI_LK_UNLOCK || lk_owner_check(fop) != 0)
    return gi_fop_fail(fop, EINVAL);
  if (!gi_fop_inode(fop))
    return gi_fop_fail(fop, ESTALE);
  struct lk_posix want = {.type = f->type};
  if (!lk_range(f, true, &want.start, &want.last))
    return gi_fop_fail(fop, EINVAL);
  lk_who_set(&want.who, fop);
  want.space = space_of(fop);
  want.fd = fop->fd && !fop->fd->anonymous ? fop->fd : NULL;
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));
  if (fop->args.cmd == GI_LKCMD_GET)
    return get_lock(fop, li, &want);
  if (f->type == GI_LK_UNLOCK)
    return unlock(x, fop, li, &want);
  uint64_t mode = 0;
  gi_dict_get_uint(fop->xdata, "glusterfs.lk.lkmode", &mode);
  want.mandatory = mode == 1;
  return set_lock(x, fop, &want);
}

/* Drops every granted lock of the fd. */
static void
drop_fd(struct gi_xlator *x, struct lk_inode *li, const struct gi_fd *fd)
{
  gi_list_foreach_safe(l, &li->posix, struct lk_posix, link) {
    if (l->fd == fd)
      posix_remove(x, li, l);
  }
}

enum gi_verdict
lk_posix_flush(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));
  if (!li || (gi_list_empty(&li->posix) && gi_list_empty(&li->posix_blocked)))
    return lk_counts(x, fop);
  struct gi_list ready = GI_LIST_INIT(ready);
  struct lk_who who;
  lk_who_set(&who, fop);
  lk_inode_use(x, li);
  if (who.owner.len) {
    subtract(x, li, &who, 0, LK_LAST);
  } else if (fop->fd) { /* the clean-up signal: everything of this fd goes */
    drop_fd(x, li, fop->fd);
    gi_list_foreach_safe(l, &li->posix_blocked, struct lk_posix, link) {
      if (l->fd != fop->fd)
        continue;
      lk_ready_answer(&ready, l->fop, x, -1, EAGAIN);
      posix_remove(x, li, l);
    }
  }
  lk_posix_retry(x, li, &ready);
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
  return lk_counts(x, fop);
}

void
lk_posix_release(struct gi_xlator *x, struct gi_fd *fd)
{
  struct lk_inode *li = lk_inode_peek(x, fd->inode);
  if (!li)
    return;
  struct gi_list ready = GI_LIST_INIT(ready);
  lk_inode_use(x, li);
  drop_fd(x, li, fd);
  lk_posix_retry(x, li, &ready);
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
}

static bool
selected(const struct lk_posix *l, const struct lk_filter *f)
{
  if (f->by_client && l->who.client != f->client)
    return false;
  if (f->by_pid && l->who.pid != f->pid)
    return false;
  return !f->by_range || (l->start <= f->last && f->start <= l->last);
}

struct lk_cleared
lk_posix_clear(struct gi_xlator *x, struct lk_inode *li, const struct lk_filter *f, int err, struct gi_list *ready)
{
  struct lk_cleared n = {0};
  gi_list_foreach_safe(l, &li->posix_blocked, struct lk_posix, link) {
    if (!f->blocked || !selected(l, f))
      continue;
    lk_ready_answer(ready, l->fop, x, -1, err);
    posix_remove(x, li, l);
    n.blocked++;
  }
  gi_list_foreach_safe(l, &li->posix, struct lk_posix, link) {
    if (!f->granted || !selected(l, f))
      continue;
    if (f->remember)
      lk_past_note(li, l);
    posix_remove(x, li, l);
    n.granted++;
  }
  return n;
}

void
lk_posix_cancel(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  struct lk_inode *li = lf->li;
  struct lk_posix *l = lf->lock;
  struct gi_list ready = GI_LIST_INIT(ready);
  lk_ready_answer(&ready, fop, x, -1, EINTR);
  posix_remove(x, li, l);
  lk_ready_run(x, &ready);
}

unsigned
lk_posix_count(const struct lk_inode *li)
{
  unsigned n = 0;
  gi_list_foreach(l, &li->posix, struct lk_posix, link)
    n++;
  gi_list_foreach(l, &li->posix_blocked, struct lk_posix, link)
    n++;
  return n;
}

enum gi_verdict
lk_posix_active(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct lk_inode *li = lk_inode_peek(x, gi_fop_inode(fop));
  unsigned n = 0;
  if (li) {
    gi_list_foreach(l, &li->posix, struct lk_posix, link)
      n++;
    fop->rsp.locks = gi_fop_alloc(fop, n * sizeof(*fop->rsp.locks) + 1);
    struct gi_lock_item *it = fop->rsp.locks;
    gi_list_foreach(l, &li->posix, struct lk_posix, link) {
      const char *peer = lk_peer(&l->who);
      *it++ = (struct gi_lock_item){
          .flock = {.type = l->type,
                    .start = l->start,
                    .len = l->last == LK_LAST ? 0 : l->last - l->start + 1,
                    .pid = (uint32_t)l->who.pid,
                    .owner = l->who.owner},
          .client_uid = gi_fop_strdup(fop, peer, strlen(peer)),
          .flags = l->mandatory,
      };
    }
  }
  fop->rsp.nlocks = n;
  return gi_fop_ok(fop, (int)n);
}
