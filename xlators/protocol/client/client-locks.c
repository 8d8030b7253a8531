/* SPDX-License-Identifier: Apache-2.0
 *
 * POSIX locks that were granted here, so that they outlive a connection.
 *
 * A brick drops the locks of a client whose connection ends. So each is kept in
 * mind, with the inode and the descriptor it was taken through, and asked for
 * again, without waiting, as soon as that descriptor is open on the brick
 * again. What another client has got meanwhile is asked for once a second as
 * long as it is wanted. The layer above is told how a descriptor's locks stand
 * on this brick (GI_EVENT_LOCKS): it knows whether the other bricks make up for
 * it. If nobody there cares, a descriptor whose locks are lost is bad.
 *
 * An unlock is taken into the books when it is asked for, whether or not the
 * brick can be told, and once more when it is answered: a grant that was under
 * way may have come in between.
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/probe.h"

#include <errno.h>

#define CL_LOCK_LAST ((uint64_t)INT64_MAX)

struct cl_lock {
  struct gi_list link;
  struct gi_fd *fd; /* not a reference: the lock goes with it */
  struct gi_caller who;
  struct gi_dict *xdata; /* of the request; NULL = none */
  uint32_t type, space;
  uint64_t start, last;
  bool held;   /* on the present connection */
  bool asked;  /* for it, the answer is due */
  bool missed; /* it was refused, and that was logged */
};

/* what the last lock of an owner took the place of, should it not be wanted after all */
struct cl_before {
  struct gi_list link;  /* cl_inode.before */
  struct gi_list locks; /* struct cl_lock.link, in no books */
  struct gi_fd *fd;
  struct gi_owner owner;
  uint64_t start, last; /* of the new lock */
};

/* a lock being asked for again */
struct cl_take {
  struct client *c;
  struct gi_fop *fop;
  uint32_t generation;
  bool counted; /* in client.reopening */
};

static struct cl_fd *
fd_of(const struct client *c, struct gi_fd *fd)
{
  struct cl_fd *f = gi_fd_private(fd, c->x);
  GI_ASSERT(f->nmissing <= f->nlocks && (f->nlocks == 0 || f->fd == fd));
  return f;
}

static struct cl_inode *
books(const struct client *c, struct gi_inode *inode)
{
  struct cl_inode *ci = gi_inode_private(inode, c->x);
  if (!ci->locks.next) {
    gi_list_init(&ci->locks);
    gi_list_init(&ci->before);
  }
  return ci;
}

static struct gi_list *
locks_of(const struct client *c, struct gi_inode *inode)
{
  return &books(c, inode)->locks;
}

static void
range_of(const struct gi_flock *f, uint64_t *start, uint64_t *last)
{
  int64_t len = (int64_t)f->len;
  *start = len < 0 ? f->start + f->len : f->start;
  *last = len > 0 && f->start + f->len - 1 <= CL_LOCK_LAST ? f->start + f->len - 1 : len < 0 ? f->start - 1 : CL_LOCK_LAST;
}

static void
lock_free(struct cl_lock *l)
{
  gi_list_del(&l->link);
  gi_dict_unref(&l->xdata);
  gi_free(l);
}

static void
lock_remove(struct client *c, struct cl_lock *l)
{
  struct cl_fd *f = fd_of(c, l->fd);
  GI_ASSERT(f->nlocks > 0 && (l->held || f->nmissing > 0));
  f->nlocks--;
  f->nmissing -= !l->held;
  lock_free(l);
}

static void
lock_insert(struct client *c, const struct cl_lock *proto, uint64_t start, uint64_t last)
{
  struct cl_lock *l = gi_alloc(sizeof(*l));
  struct cl_fd *f = fd_of(c, proto->fd);
  GI_ASSERT(proto->fd->inode && (!f->fd || f->fd == proto->fd));
  *l = *proto;
  gi_dict_ref(l->xdata);
  l->start = start;
  l->last = last;
  l->asked = false;
  gi_list_add_tail(locks_of(c, l->fd->inode), &l->link);
  f->fd = l->fd;
  f->nlocks++;
  f->nmissing += !l->held;
}

/* How the locks of a descriptor stand here, if it is news. False: they are lost, and nobody cares. */
static bool
tell(struct client *c, struct cl_fd *f)
{
  enum gi_locks_state now = f->nmissing == 0 ? GI_LOCKS_HELD : f->refused ? GI_LOCKS_LOST : GI_LOCKS_AWAY;
  if (now == f->told || f->taking)
    return true;
  struct gi_lock_news news = {.fd = f->fd, .state = now, .unbroken = f->nlocks == 0 || !f->broken};
  f->told = now;
  f->broken = f->broken && now != GI_LOCKS_HELD;
  gi_notify_up(c->x, GI_EVENT_LOCKS, &news);
  return now != GI_LOCKS_LOST || news.judged;
}

static void
forget(struct client *c, struct gi_inode *inode, const struct gi_owner *owner, uint64_t start, uint64_t last)
{
  gi_list_foreach_safe(l, locks_of(c, inode), struct cl_lock, link) {
    if (l->start > last || l->last < start || !gi_owner_equal(&l->who.owner, owner))
      continue;
    struct cl_fd *f = fd_of(c, l->fd);
    if (l->last > last)
      lock_insert(c, l, last + 1, l->last);
    if (l->start < start)
      lock_insert(c, l, l->start, start - 1);
    lock_remove(c, l);
    if (f->nmissing == 0)
      tell(c, f);
  }
}

static void
before_free(struct cl_before *b)
{
  gi_list_foreach_safe(l, &b->locks, struct cl_lock, link)
    lock_free(l);
  gi_list_del(&b->link);
  gi_free(b);
}

static struct cl_before *
find_before(struct client *c, struct gi_fd *fd, const struct gi_owner *owner)
{
  gi_list_foreach(b, &books(c, fd->inode)->before, struct cl_before, link) {
    if (b->fd == fd && gi_owner_equal(&b->owner, owner))
      return b;
  }
  return NULL;
}

/* Keeps what the lock `want` on [start, last] takes the place of; of an owner only the latest. */
static void
note_before(struct client *c, const struct cl_lock *want, uint64_t start, uint64_t last)
{
  struct cl_before *b = find_before(c, want->fd, &want->who.owner);
  if (b)
    before_free(b);
  b = NULL;
  gi_list_foreach(l, locks_of(c, want->fd->inode), struct cl_lock, link) {
    if (l->start > last || l->last < start || !gi_owner_equal(&l->who.owner, &want->who.owner))
      continue;
    if (!b) {
      b = gi_new(struct cl_before);
      *b = (struct cl_before){.fd = want->fd, .owner = want->who.owner, .start = start, .last = last};
      gi_list_init(&b->locks);
      gi_list_add_tail(&books(c, want->fd->inode)->before, &b->link);
    }
    struct cl_lock *copy = gi_alloc(sizeof(*copy));
    *copy = *l;
    gi_dict_ref(copy->xdata);
    copy->start = l->start > start ? l->start : start;
    copy->last = l->last < last ? l->last : last;
    gi_list_add_tail(&b->locks, &copy->link);
  }
}

/* Neighbours of one kind are one lock, as on the brick. */
static void
keep(struct client *c, const struct gi_fop *fop, bool held)
{
  struct cl_lock want = {.fd = fop->fd,
                         .who = cl_credentials(c, fop),
                         .xdata = fop->xdata,
                         .type = fop->args.type,
                         .space = fop->args.flags,
                         .held = held};
  uint64_t start, last;
  GI_ASSERT(want.type != GI_LK_UNLOCK && fop->fd->inode);
  range_of(&fop->args.flock, &start, &last);
  gi_caller_detach(&want.who);
  note_before(c, &want, start, last);
  forget(c, fop->fd->inode, &want.who.owner, start, last);
  gi_list_foreach_safe(l, locks_of(c, fop->fd->inode), struct cl_lock, link) {
    if (l->fd != want.fd || l->type != want.type || l->held != held || l->asked ||
        !gi_owner_equal(&l->who.owner, &want.who.owner))
      continue;
    if (l->last + 1 == start)
      start = l->start;
    else if (last + 1 == l->start)
      last = l->last;
    else
      continue;
    lock_remove(c, l);
  }
  lock_insert(c, &want, start, last);
}

/* Only a brick of ours knows what it means. */
void
cl_locks_mark(struct client *c, struct gi_fop *fop)
{
  if (fop->kind == GI_FOP_LK && fop->args.flags && c->peer_is_ours)
    gi_dict_set_uint(gi_fop_xdata(fop), GI_LOCK_SPACE_KEY, fop->args.flags);
}

static bool
names_locks(const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_FLUSH || fop->kind == GI_FOP_LK) && fop->fd && !fop->fd->anonymous && fop->fd->inode;
}

/* FLUSH and unlock: what they give up. */
static void
give_up(struct client *c, const struct gi_fop *fop)
{
  uint64_t start = 0, last = CL_LOCK_LAST;
  if (fop->kind == GI_FOP_LK && (fop->args.cmd == GI_LKCMD_GET || fop->args.type != GI_LK_UNLOCK))
    return;
  if (gi_list_empty(locks_of(c, fop->fd->inode)))
    return;
  struct gi_caller who = cl_credentials(c, fop);
  if (fop->kind == GI_FOP_LK)
    range_of(&fop->args.flock, &start, &last);
  forget(c, fop->fd->inode, &who.owner, start, last);
}

void
cl_locks_submitted(struct client *c, const struct gi_fop *fop)
{
  if (names_locks(fop))
    give_up(c, fop);
}

void
cl_locks_answered(struct client *c, const struct gi_fop *fop)
{
  if (!names_locks(fop))
    return;
  give_up(c, fop);
  if (fop->kind == GI_FOP_LK && fop->args.cmd != GI_LKCMD_GET && fop->args.type != GI_LK_UNLOCK)
    keep(c, fop, true);
}

enum gi_verdict
cl_locks_remember(struct client *c, struct gi_fop *fop)
{
  if (!names_locks(fop))
    return gi_fop_fail(fop, EINVAL);
  struct cl_fd *f = fd_of(c, fop->fd);
  keep(c, fop, false);
  f->refused = true; /* it never was ours here */
  tell(c, f);
  if (f->state == CL_FD_NONE) {
    gi_list_add_tail(&c->fds, &f->link);
    f->state = CL_FD_LOST; /* to be opened when the brick is there */
  }
  cl_locks_take(c, fop->fd);
  return gi_fop_ok(fop, 0);
}

void
cl_locks_released(struct client *c, struct gi_fd *fd)
{
  struct cl_fd *f = fd_of(c, fd);
  if (!fd->inode)
    return;
  gi_list_foreach_safe(b, &books(c, fd->inode)->before, struct cl_before, link)
    if (b->fd == fd)
      before_free(b);
  if (f->nlocks == 0)
    return;
  gi_list_foreach_safe(l, locks_of(c, fd->inode), struct cl_lock, link)
    if (l->fd == fd)
      lock_remove(c, l);
}

void
cl_locks_away(struct client *c)
{
  gi_timer_cancel(&c->retake);
  gi_list_foreach(f, &c->fds, struct cl_fd, link) {
    f->taking = 0;
    if (f->nlocks == 0 || GI_BROKEN("do not take locks again after a reconnect"))
      continue;
    if (f->nmissing == 0)
      f->refused = f->broken = false;
    gi_list_foreach(l, locks_of(c, f->fd->inode), struct cl_lock, link)
      if (l->fd == f->fd)
        l->held = l->asked = false;
    f->nmissing = f->nlocks;
    tell(c, f);
  }
}

/* ---- asking again ---- */

static void
retry_lost(void *arg)
{
  struct client *c = arg;
  GI_CHECK(c, CL_MAGIC);
  gi_list_foreach_safe(f, &c->fds, struct cl_fd, link)
    cl_locks_take(c, f->fd);
}

void
cl_locks_init(struct client *c)
{
  gi_timer_init(&c->retake, c->x->reactor, retry_lost, c);
}

static void
missed(struct client *c, struct cl_lock *l, int err)
{
  char gfid[GI_UUID_TEXT];
  struct cl_fd *f = fd_of(c, l->fd);
  f->refused = true;
  gi_timer_set(&c->retake, CL_RETAKE_S * GI_NSEC_PER_SEC);
  if (l->missed)
    return;
  l->missed = true;
  c->metrics.lost_locks++;
  GI_PROBE("client: a lock is not given again after a reconnect");
  gi_log(GI_LOG_WARNING, c->x->name, GI_MSG_CLIENT + 6,
         "the %s lock of process %d on bytes %llu to %llu of %s is lost on this brick: %s",
         l->type == GI_LK_WRITE ? "write" : "read", l->who.pid, (unsigned long long)l->start, (unsigned long long)l->last,
         gi_gfid_text(&l->fd->inode->gfid, gfid), err == EAGAIN ? "another client has it" : strerror(err));
}

static struct cl_lock *
find_asked(struct client *c, const struct gi_fop *ask)
{
  uint64_t start, last;
  range_of(&ask->args.flock, &start, &last);
  gi_list_foreach(l, locks_of(c, ask->fd->inode), struct cl_lock, link) {
    if (l->asked && l->fd == ask->fd && l->start == start && l->last == last && l->type == ask->args.type &&
        gi_owner_equal(&l->who.owner, &ask->caller.owner))
      return l;
  }
  return NULL;
}

static void send_lock(struct client *c, struct gi_fop *fop);

/* Nobody wants [start, last] of what was given. */
static void
send_unlock(struct client *c, struct gi_fop *given, uint64_t start, uint64_t last)
{
  struct gi_fop *undo = gi_fop_new(c->x->graph, GI_FOP_LK);
  gi_fop_set_fd(undo, given->fd);
  undo->caller = cl_credentials(c, given);
  gi_caller_detach(&undo->caller);
  undo->args = given->args;
  undo->args.dict = NULL;
  undo->args.type = undo->args.flock.type = GI_LK_UNLOCK;
  undo->args.flock.start = start;
  undo->args.flock.len = last == CL_LOCK_LAST ? 0 : last - start + 1;
  send_lock(c, undo);
}

/* Nobody wants it as it was given: the unlock could not be sent then, so it is now, and what is left is asked for again. */
static void
give_back(struct client *c, struct gi_fop *given)
{
  uint64_t start, last;
  range_of(&given->args.flock, &start, &last);
  send_unlock(c, given, start, last);
}

/* The owner's locks that touch the range of `fop` are to be set on the brick once more. Its first one from `at` on, or NULL. */
static struct cl_lock *
doubt(struct client *c, const struct gi_fop *fop, uint64_t at, uint64_t last)
{
  struct gi_caller who = cl_credentials(c, fop);
  struct cl_lock *first = NULL;
  gi_list_foreach(l, locks_of(c, fop->fd->inode), struct cl_lock, link) {
    if (l->start > last || l->last < at || !gi_owner_equal(&l->who.owner, &who.owner))
      continue;
    struct cl_fd *f = fd_of(c, l->fd);
    f->nmissing += l->held;
    l->held = false;
    if (!first || l->start < first->start)
      first = l;
  }
  return first;
}

static void
take_missing(struct client *c, struct gi_inode *inode)
{
  gi_list_foreach(l, locks_of(c, inode), struct cl_lock, link)
    cl_locks_take(c, l->fd);
}

static bool
is_open(struct client *c, struct gi_fd *fd)
{
  return fd_of(c, fd)->state == CL_FD_OPEN;
}

/* The brick has the lock of `fop`, which is not wanted, instead of those in the books: they are set again first, so that nobody gets in
 * between, and what none of them covers is unlocked. */
static void
set_right(struct client *c, struct gi_fop *fop)
{
  uint64_t at, last;
  range_of(&fop->args.flock, &at, &last);
  doubt(c, fop, at, last);
  take_missing(c, fop->fd->inode);
  for (struct cl_lock *l; at <= last && (l = doubt(c, fop, at, last)); at = l->last + 1)
    if (l->start > at)
      send_unlock(c, fop, at, l->start - 1);
  if (at <= last)
    send_unlock(c, fop, at, last);
}

bool
cl_locks_undo_grant(struct client *c, struct gi_fop *fop)
{
  uint64_t start, last;
  if (!names_locks(fop) || !is_open(c, fop->fd))
    return false;
  range_of(&fop->args.flock, &start, &last);
  if (!doubt(c, fop, start, last))
    return false;
  set_right(c, fop);
  return true;
}

void
cl_locks_waited(struct client *c, struct gi_fop *fop)
{
  uint64_t start, last;
  if (!names_locks(fop) || fop->args.cmd != GI_LKCMD_SETW || fop->args.type == GI_LK_UNLOCK)
    return;
  range_of(&fop->args.flock, &start, &last);
  if (doubt(c, fop, start, last))
    take_missing(c, fop->fd->inode);
}

bool
cl_locks_restore(struct client *c, struct gi_fop *fop)
{
  struct gi_caller who = cl_credentials(c, fop);
  struct cl_before *b = names_locks(fop) ? find_before(c, fop->fd, &who.owner) : NULL;
  uint64_t start, last;
  range_of(&fop->args.flock, &start, &last);
  if (!b || b->start != start || b->last != last || (c->usable && !is_open(c, fop->fd)))
    return false;
  forget(c, fop->fd->inode, &who.owner, start, last);
  gi_list_foreach(l, &b->locks, struct cl_lock, link) {
    l->held = false;
    lock_insert(c, l, l->start, l->last);
  }
  before_free(b);
  if (c->usable)
    set_right(c, fop);
  tell(c, fd_of(c, fop->fd));
  return true;
}

static void
take_result(struct client *c, struct gi_fop *fop, int err)
{
  struct cl_fd *f = fd_of(c, fop->fd);
  if (fop->args.type == GI_LK_UNLOCK)
    return;
  struct cl_lock *l = find_asked(c, fop);
  GI_ASSERT(f->taking > 0 && f->nmissing <= f->nlocks);
  f->taking--;
  if (l && err) {
    l->asked = false;
    missed(c, l, err);
  } else if (l) {
    l->held = true;
    f->broken |= !gi_dict_get(fop->rsp.xdata, GI_LOCK_AGAIN_KEY);
    l->asked = l->missed = false;
    GI_ASSERT(f->nmissing > 0);
    f->nmissing--;
    c->metrics.retaken_locks++;
    GI_PROBE("client: a lock is taken again after a reconnect");
  } else {
    uint64_t start, last;
    range_of(&fop->args.flock, &start, &last);
    if (!err && !c->usable)
      give_back(c, fop);
    else if (!err)
      doubt(c, fop, start, last); /* it may have taken the place of what its owner got meanwhile */
    take_missing(c, fop->fd->inode);
  }
  if (!tell(c, f))
    cl_fd_bad(c, f, "another client has its locks");
}

static void
take_reply(struct gi_rpc_client *rpc, struct gi_rpc_reply *reply, void *arg)
{
  struct cl_take *t = arg;
  struct client *c = t->c;
  GI_CHECK(c, CL_MAGIC);
  GI_ASSERT(t->fop && t->generation <= c->generation);
  bool current = t->generation == c->generation && reply->status != -ENOTCONN, counted = current && t->counted;
  int64_t handle;
  size_t offset;
  if (current) {
    int err = EIO;
    if (reply->status == 0 && reply->accept == GI_RPC_SUCCESS && gi_fop_decode_reply(&reply->in, t->fop, &handle, &offset))
      err = t->fop->rsp.ret < 0 ? t->fop->rsp.err : 0;
    take_result(c, t->fop, err);
  }
  gi_fop_unref(t->fop);
  gi_free(t);
  if (counted)
    cl_reopen_step(c);
}

/* Takes the fop. */
static void
send_lock(struct client *c, struct gi_fop *fop)
{
  struct cl_fd *f = fd_of(c, fop->fd);
  GI_ASSERT(fop->kind == GI_FOP_LK && fop->fd->inode && f->handle >= 0);
  struct cl_take *t = gi_new(struct cl_take);
  *t = (struct cl_take){.c = c, .fop = fop, .generation = c->generation, .counted = c->state == CL_REOPEN};
  c->reopening += t->counted;
  struct gi_rpc_client *rpc = cl_conn_of(c, &fop->fd->inode->gfid)->rpc;
  struct gi_wire_fds fds = {.fd = f->handle, .fd2 = GI_FD_ANONYMOUS};
  struct gi_xdr_out out = {0};
  fop->loc.gfid = fop->fd->inode->gfid;
  fop->args.cmd = GI_LKCMD_SET;
  uint32_t xid = gi_rpc_call_begin(rpc, &out, GI_PROG_FOP, GI_VERS_FOP, GI_FOP_LK, GI_AUTH_V3, &fop->caller);
  gi_fop_encode_request(&out, fop, &fds);
  gi_rpc_call_send(rpc, xid, &out, NULL, false, take_reply, t);
}

void
cl_locks_take(struct client *c, struct gi_fd *fd)
{
  struct cl_fd *f = fd_of(c, fd);
  if (f->state != CL_FD_OPEN || f->nmissing == 0)
    return;
  gi_list_foreach_safe(l, locks_of(c, fd->inode), struct cl_lock, link) {
    if (l->fd != fd || l->held || l->asked)
      continue;
    struct gi_fop *ask = gi_fop_new(c->x->graph, GI_FOP_LK);
    gi_fop_set_fd(ask, fd);
    ask->caller = l->who;
    ask->xdata = gi_dict_ref(l->xdata);
    ask->args.flags = l->space;
    cl_locks_mark(c, ask);
    if (c->peer_is_ours)
      gi_dict_set_uint(gi_fop_xdata(ask), GI_LOCK_AGAIN_KEY, 1);
    ask->args.type = l->type;
    ask->args.flock = (struct gi_flock){.type = l->type,
                                        .start = l->start,
                                        .len = l->last == CL_LOCK_LAST ? 0 : l->last - l->start + 1,
                                        .pid = (uint32_t)l->who.pid,
                                        .owner = l->who.owner};
    l->asked = true;
    f->taking++;
    send_lock(c, ask);
  }
}
