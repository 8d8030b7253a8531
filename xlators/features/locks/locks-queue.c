/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of internal locks: one engine for inode and entry locks.
 *
 * Rules (brick.md 9.2, 9.3): a lock conflicts with an overlapping one of
 * another owner. A request that could be granted still waits behind a waiting
 * request it conflicts with, unless its owner already has or waits for a lock
 * in the domain (nested locks would deadlock). After each release the waiting
 * requests are tried again in order of arrival. Locks are neither merged nor
 * split; an unlock names exactly one granted lock.
 */
#include "xlators/features/locks/locks.h"
#include "libglusterish/probe.h"

#define LK_NOTICES 8 /* most holders told at once; the rest hears of it with the next conflict */

static bool
overlap(enum lk_kind kind, const struct lk_lock *a, const struct lk_lock *b)
{
  return kind == LK_INODE ? lk_inode_overlap(a, b) : lk_entry_overlap(a, b);
}

static bool
must_wait(const struct lk_queue *q, enum lk_kind kind, const struct lk_lock *want)
{
  bool known = false;
  gi_list_foreach(g, &q->granted, struct lk_lock, link) {
    if (lk_same(&g->who, &want->who))
      known = true;
    else if (overlap(kind, g, want))
      return true;
  }
  if (known || gi_list_empty(&q->blocked))
    return false;
  bool conflict = false;
  gi_list_foreach(b, &q->blocked, struct lk_lock, link) {
    if (lk_same(&b->who, &want->who))
      return false;
    conflict = conflict || overlap(kind, b, want);
  }
  return conflict;
}

static void
trace(struct gi_xlator *x, enum lk_kind kind, const char *what, const char *dom, const struct lk_lock *l)
{
  if (!lk_options(x)->trace)
    return;
  if (kind == LK_INODE)
    gi_log(GI_LOG_INFO, x->name, GI_MSG_LOCKS + 1, "inodelk %s: domain %s type %u start %llu len %llu pid %d", what, dom,
           l->type, (unsigned long long)l->start, (unsigned long long)l->len, l->who.pid);
  else
    gi_log(GI_LOG_INFO, x->name, GI_MSG_LOCKS + 2, "entrylk %s: domain %s type %u name %s pid %d", what, dom, l->type,
           l->name ? l->name : "(all)", l->who.pid);
}

static void
granted_stamp(struct gi_xlator *x, struct lk_lock *l)
{
  l->since_ns = gi_now(x->reactor);
  l->wall = gi_wall(x->reactor);
}

static void
grant(struct gi_xlator *x, struct lk_queue *q, enum lk_kind kind, struct lk_lock *l)
{
  l->fop = NULL;
  lk_lock_check(l, kind);
  l->told_ns = 0;
  granted_stamp(x, l);
  gi_list_add_tail(&q->granted, &l->link);
  q->ngranted++;
  lk_count(x)->held++;
  if (kind == LK_INODE)
    lk_count(x)->inode_granted++;
  else
    lk_count(x)->entry_granted++;
}

static struct lk_lock *
lock_new(const struct lk_lock *proto)
{
  struct lk_lock *l = gi_alloc(sizeof(*l));
  *l = *proto;
  l->magic = LK_LOCK_MAGIC;
  l->name = gi_strdup(proto->name);
  return l;
}

/* Takes a lock off its list and frees it. The caller does lk_inode_unuse when it has finished with `li`. */
static void
lock_remove(struct gi_xlator *x, struct lk_queue *q, struct lk_lock *l)
{
  GI_CHECK(l, LK_LOCK_MAGIC);
  GI_ASSERT((l->fop ? q->nblocked : q->ngranted) > 0);
  gi_list_del(&l->link);
  if (l->fop) {
    q->nblocked--;
    lk_count(x)->waiting--;
  } else {
    q->ngranted--;
    lk_count(x)->held--;
  }
  gi_free(l->name);
  l->magic = 0;
  gi_free(l);
}

/* The holder's lock as its client sees it. */
static void
contention_fill(struct gi_contention *c, enum lk_kind kind, struct gi_fop *fop, const char *dom_name, const struct lk_lock *l)
{
  GI_ASSERT(!l->fop); /* only a holder is told */
  *c = (struct gi_contention){
      .entry = kind == LK_ENTRY,
      .domain = dom_name,
      .name = l->name ? gi_fop_strdup(fop, l->name, strlen(l->name)) : NULL,
      .flock = {.type = l->type, .start = l->start, .len = l->len, .pid = (uint32_t)l->who.pid, .owner = l->who.owner},
      .client = l->who.client,
  };
}

void
lk_contention(struct gi_xlator *x, struct gi_fop *fop, const struct gi_gfid *gfid, enum lk_kind kind, const char *dom_name,
              struct lk_queue *q, const struct lk_lock *proto)
{
  if (!lk_options(x)->notify_contention)
    return;
  struct gi_contention notice[LK_NOTICES];
  struct gi_gfid where = *gfid;
  unsigned n = 0;
  uint64_t now = gi_now(x->reactor);
  uint64_t gap = (uint64_t)lk_options(x)->notify_delay_s * GI_NSEC_PER_SEC;
  gi_list_foreach(g, &q->granted, struct lk_lock, link) {
    if (n == LK_NOTICES)
      break;
    if (lk_same(&g->who, &proto->who) || !overlap(kind, g, proto) || (g->told_ns && now - g->told_ns < gap))
      continue;
    g->told_ns = now;
    contention_fill(&notice[n++], kind, fop, dom_name, g);
  }
  /* Only copies are used from here: a notice may make its holder unlock at once. */
  for (unsigned i = 0; i < n; i++) {
    notice[i].gfid = where;
    lk_count(x)->contention_notices++;
    GI_PROBE("locks: a holder is told that somebody waits");
    gi_notify_up(x, GI_EVENT_CONTENTION, &notice[i]);
  }
}

static bool
revocation_due(struct gi_xlator *x, struct lk_queue *q, enum lk_kind kind, const struct lk_lock *want)
{
  const struct lk_options *o = lk_options(x);
  if (o->revocation_max_blocked && (int64_t)q->nblocked >= o->revocation_max_blocked)
    return true;
  if (!o->revocation_secs)
    return false;
  uint64_t now = gi_now(x->reactor), limit = (uint64_t)o->revocation_secs * GI_NSEC_PER_SEC;
  gi_list_foreach(g, &q->granted, struct lk_lock, link) {
    if (!lk_same(&g->who, &want->who) && overlap(kind, g, want) && now - g->since_ns >= limit)
      return true;
  }
  return false;
}

static void
revoke(struct gi_xlator *x, struct lk_inode *li, struct lk_domain *dom, enum lk_kind kind)
{
  struct gi_list ready = GI_LIST_INIT(ready);
  struct lk_filter f = {.granted = true, .blocked = lk_options(x)->revocation_clear_all};
  struct lk_cleared c = lk_queue_clear(x, li, dom, kind, &f, EAGAIN, &ready);
  lk_count(x)->revoked += c.granted + c.blocked;
  gi_log(GI_LOG_WARNING, x->name, GI_MSG_LOCKS + 3, "revoked %u granted and %u waiting locks of domain %s", c.granted,
         c.blocked, dom->name);
  lk_queue_retry(x, li, dom, kind, &ready);
  lk_ready_run(x, &ready);
}

/* Who is in its way: a holder, or else whoever waits before it. */
static const struct lk_who *
in_the_way(const struct lk_queue *q, enum lk_kind kind, const struct lk_lock *want)
{
  gi_list_foreach(g, &q->granted, struct lk_lock, link) {
    if (!lk_same(&g->who, &want->who) && overlap(kind, g, want))
      return &g->who;
  }
  gi_list_foreach(b, &q->blocked, struct lk_lock, link) {
    if (!lk_same(&b->who, &want->who) && overlap(kind, b, want))
      return &b->who;
  }
  return NULL;
}

static enum gi_verdict
enqueue(struct gi_xlator *x, struct gi_fop *fop, struct lk_inode *li, struct lk_queue *q, enum lk_kind kind,
        const char *dom_name, const struct lk_lock *proto)
{
  struct lk_lock *l = lock_new(proto);
  struct lk_fop *lf = gi_fop_private(fop, x);
  GI_ASSERT(lf->wait == LK_WAIT_NONE && li->users > 0);
  granted_stamp(x, l);
  lk_waits(fop, kind == LK_INODE ? "inode lock" : "entry lock", dom_name, in_the_way(q, kind, proto));
  l->fop = fop;
  lf->wait = LK_WAIT_QUEUE;
  lf->lock = l;
  lf->li = li;
  lk_lock_check(l, kind);
  gi_list_add_tail(&q->blocked, &l->link);
  q->nblocked++;
  lk_queue_check(q);
  lk_count(x)->waiting++;
  GI_PROBE("locks: a request waits");
  if (kind == LK_INODE)
    lk_count(x)->inode_waited++;
  else
    lk_count(x)->entry_waited++;
  return GI_HELD;
}

enum gi_verdict
lk_queue_lock(struct gi_xlator *x, struct gi_fop *fop, enum lk_kind kind, const char *dom_name, const struct lk_lock *proto,
              bool wait)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  struct lk_inode *li = lk_inode_get(x, inode);
  lk_inode_use(x, li); /* the lock's or the waiter's; also keeps the domain in place below */
  struct lk_queue *q = &lk_domain_get(li, dom_name)->queue[kind];
  bool busy = must_wait(q, kind, proto);
  if (busy) {
    lk_contention(x, fop, &inode->gfid, kind, fop->args.domain, q, proto);
    struct lk_domain *dom = lk_domain_get(li, dom_name);
    if (revocation_due(x, &dom->queue[kind], kind, proto))
      revoke(x, li, dom, kind);
    /* Both may have changed everything. */
    q = &lk_domain_get(li, dom_name)->queue[kind];
    busy = must_wait(q, kind, proto);
  }
  if (!busy) {
    grant(x, q, kind, lock_new(proto));
    lk_queue_check(q);
    trace(x, kind, "granted", dom_name, proto);
    return gi_fop_ok(fop, 0);
  }
  if (wait) {
    trace(x, kind, "waits", dom_name, proto);
    return enqueue(x, fop, li, q, kind, dom_name, proto);
  }
  trace(x, kind, "refused", dom_name, proto);
  if (kind == LK_INODE)
    lk_count(x)->inode_refused++;
  else
    lk_count(x)->entry_refused++;
  lk_domain_settle(li, lk_domain_get(li, dom_name));
  lk_inode_unuse(x, li);
  return gi_fop_fail(fop, EAGAIN);
}

static bool
names_lock(enum lk_kind kind, const struct lk_lock *l, const struct lk_lock *want)
{
  if (!lk_same(&l->who, &want->who))
    return false;
  if (kind == LK_INODE)
    return l->start == want->start && l->len == want->len;
  if (l->type != want->type || !l->name != !want->name)
    return false;
  return !l->name || strcmp(l->name, want->name) == 0;
}

static struct lk_lock *
find_granted(struct lk_queue *q, enum lk_kind kind, const struct lk_lock *want)
{
  gi_list_foreach(l, &q->granted, struct lk_lock, link) {
    if (names_lock(kind, l, want))
      return l;
  }
  return NULL;
}

static bool
monkey_drops(struct gi_xlator *x)
{
  uint8_t dice;
  if (!lk_options(x)->monkey)
    return false;
  gi_random(x->reactor, &dice, sizeof(dice));
  return dice < 3;
}

enum gi_verdict
lk_queue_unlock(struct gi_xlator *x, struct gi_fop *fop, enum lk_kind kind, const char *dom_name, const struct lk_lock *proto)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  struct lk_inode *li = lk_inode_peek(x, inode);
  struct lk_domain *dom = li ? lk_domain_find(li, dom_name) : NULL;
  struct lk_lock *l = dom ? find_granted(&dom->queue[kind], kind, proto) : NULL;
  trace(x, kind, l ? "unlock" : "unlock of a lock not held", dom_name, proto);
  GI_ASSERT(!l || (li->users > 0 && !l->fop));
  if (!l)
    return gi_fop_fail(fop, EINVAL);
  if (monkey_drops(x))
    return gi_fop_ok(fop, 0);
  lock_remove(x, &dom->queue[kind], l);
  lk_queue_check(&dom->queue[kind]);
  struct gi_list ready = GI_LIST_INIT(ready);
  if (dom->queue[kind].nblocked)
    lk_queue_retry(x, li, dom, kind, &ready);
  lk_domain_settle(li, dom);
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
  return gi_fop_ok(fop, 0);
}

void
lk_queue_retry(struct gi_xlator *x, struct lk_inode *li, struct lk_domain *dom, enum lk_kind kind, struct gi_list *ready)
{
  struct lk_queue *q = &dom->queue[kind];
  GI_ASSERT(li->users > 0);
  struct gi_list waiting = GI_LIST_INIT(waiting);
  gi_list_splice_tail(&waiting, &q->blocked);
  gi_list_foreach_safe(l, &waiting, struct lk_lock, link) {
    gi_list_del(&l->link);
    if (must_wait(q, kind, l)) {
      gi_list_add_tail(&q->blocked, &l->link);
      continue;
    }
    struct gi_fop *fop = l->fop;
    GI_ASSERT(fop && q->nblocked > 0);
    q->nblocked--;
    lk_count(x)->waiting--;
    grant(x, q, kind, l);
    trace(x, kind, "granted after waiting", dom->name, l);
    lk_ready_answer(ready, fop, x, 0, 0);
  }
  lk_queue_check(q);
}

static bool
selected(const struct lk_lock *l, enum lk_kind kind, const struct lk_filter *f)
{
  if (f->by_client && l->who.client != f->client)
    return false;
  if (f->by_pid && l->who.pid != f->pid)
    return false;
  if (kind == LK_INODE && f->by_range && (l->start > f->last || l->last < f->start))
    return false;
  if (kind == LK_ENTRY && f->name && (!l->name || strcmp(l->name, f->name) != 0))
    return false;
  return true;
}

struct lk_cleared
lk_queue_clear(struct gi_xlator *x, struct lk_inode *li, struct lk_domain *dom, enum lk_kind kind, const struct lk_filter *f,
               int err, struct gi_list *ready)
{
  struct lk_queue *q = &dom->queue[kind];
  struct lk_cleared n = {0};
  GI_CHECK(li, LK_INODE_MAGIC);
  GI_ASSERT(li->users > 0 && err > 0);
  if (f->blocked) {
    gi_list_foreach_safe(l, &q->blocked, struct lk_lock, link) {
      if (!selected(l, kind, f))
        continue;
      lk_ready_answer(ready, l->fop, x, -1, err);
      lock_remove(x, q, l);
      lk_inode_unuse(x, li); /* the caller is a user too */
      n.blocked++;
    }
  }
  if (f->granted) {
    gi_list_foreach_safe(l, &q->granted, struct lk_lock, link) {
      if (!selected(l, kind, f))
        continue;
      lock_remove(x, q, l);
      lk_inode_unuse(x, li);
      n.granted++;
    }
  }
  lk_queue_check(q);
  return n;
}

void
lk_queue_cancel(struct gi_xlator *x, struct gi_fop *fop)
{
  struct lk_fop *lf = gi_fop_private(fop, x);
  struct lk_inode *li = lf->li;
  struct lk_lock *l = lf->lock;
  struct gi_list ready = GI_LIST_INIT(ready);
  lk_inode_check(li);
  GI_ASSERT(lf->wait == LK_WAIT_QUEUE && l && l->fop == fop);
  lk_inode_use(x, li);
  gi_list_foreach_safe(dom, &li->domains, struct lk_domain, link) {
    for (int k = 0; k < LK_KINDS; k++) {
      struct lk_queue *q = &dom->queue[k];
      bool here = false;
      gi_list_foreach(b, &q->blocked, struct lk_lock, link)
        here = here || b == l;
      if (!here)
        continue;
      lk_ready_answer(&ready, fop, x, -1, EINTR);
      lock_remove(x, q, l);
      lk_inode_unuse(x, li);
      /* Others may have waited only because this one was in front of them. */
      lk_queue_retry(x, li, dom, k, &ready);
      l = NULL;
    }
    lk_domain_settle(li, dom);
  }
  GI_ASSERT(l == NULL);
  lk_inode_unuse(x, li);
  lk_ready_run(x, &ready);
}
