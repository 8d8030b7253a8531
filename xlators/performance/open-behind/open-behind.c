/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/open-behind: answers an open before the bricks have it.
 *
 * The open is sent with the first operation that needs it, or at once, beside
 * the answer. Whoever uses the descriptor waits for it; one that is closed unused
 * costs nothing.
 *
 * What it promises: an open that the bricks have to judge is judged by them
 * first. Only who was let in a moment ago, with the same rights and since when
 * nothing was seen to change, is answered early. Data is never read past the
 * bricks' judgement, for what uses the descriptor waits for it. What this client
 * removes, replaces or takes the permission of stays open. An open that fails
 * late is told by whatever uses the descriptor, with the errno of the open.
 * What it does not: what another client removes or forbids while the brick's
 * word of it is on its way is told by the first use of the descriptor instead of
 * the open.
 */
#include "xlators/performance/open-behind/open-behind.h"

#include "libglusterish/promise.h"

#include <errno.h>
#include <fcntl.h>

#define OB_LARGEFILE 0100000 /* as it is on the wire */
#define OB_EARLY_FLAGS (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_CLOEXEC | O_NOCTTY | OB_LARGEFILE)

/* ---- delayed opens ---- */

static void
request_free(struct ob_fd *f)
{
  gi_free(f->request.groups);
  gi_dict_unref(&f->request.xdata);
  f->request = (struct ob_request){0};
}

static void
count_delayed(struct ob *ob, struct ob_fd *f, enum ob_state state)
{
  GI_ASSERT(f->state != state);
  if (f->state == OB_REAL)
    gi_list_init(&f->waiting);
  else if (f->state != OB_FAILED)
    gi_list_del(&f->link);
  f->state = state;
  if (state == OB_DELAYED)
    gi_list_add_tail(&ob->delayed, &f->link);
  else if (state == OB_SENT)
    gi_list_add_tail(&ob->sent, &f->link);
  else
    request_free(f);
}

static bool
is_drained(const struct ob *ob)
{
  return gi_list_empty(&ob->delayed) && gi_list_empty(&ob->sent) && ob->syncs == 0;
}

void
ob_look_if_drained(struct ob *ob)
{
  if (ob->drained && is_drained(ob))
    gi_defer_add(ob->x->reactor, &ob->tell_drained);
}

static void
tell_drained(void *arg)
{
  struct ob *ob = arg;
  void (*done)(struct gi_xlator * x) = ob->drained;
  if (!done || !is_drained(ob))
    return;
  ob->drained = NULL;
  done(ob->x);
}

/* The bricks' answer. An open that too few bricks could be asked for is tried again by the next who needs it. */
static void
judged(struct gi_xlator *x, struct ob_fd *f, const struct gi_fop *open)
{
  struct ob *ob = x->private;
  struct ob_inode *i = gi_inode_private(f->fd->inode, x);
  GI_ASSERT(f->state == OB_SENT);
  if (open->rsp.ret >= 0) {
    ob_let_in(x, i, &f->request.sent_at, &open->caller, open->args.flags);
    count_delayed(ob, f, OB_REAL);
  } else if (open->rsp.err == ENOTCONN) {
    count_delayed(ob, f, OB_DELAYED);
  } else {
    GI_ASSERT(open->rsp.err > 0);
    ob_doubt(x, i);
    f->err = open->rsp.err;
    ob->metrics.failed++;
    count_delayed(ob, f, OB_FAILED);
  }
}

static void
wait_ends(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ob *ob = x->private;
  struct ob_fop *of = gi_fop_private(fop, x);
  GI_ASSERT(of->waits && ob->metrics.waiting > 0);
  of->waits = false;
  ob->metrics.waiting--;
  gi_list_del(&fop->link);
}

static void
leave_barrier(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ob *ob = x->private;
  struct ob_fop *of = gi_fop_private(fop, x);
  if (!of->barrier)
    return;
  GI_ASSERT(ob->barriers > 0);
  ob->barriers--;
  of->barrier = false;
}

static enum gi_verdict ob_submit(struct gi_xlator *x, struct gi_fop *fop);

/* Those who waited. What uses the descriptor fails as the open did; what only had to come after it goes on. */
static void
opened(struct gi_fop *open, void *arg)
{
  struct gi_xlator *x = arg;
  struct gi_fd *fd = open->fd;
  struct ob_fd *f = ob_fd(x, fd);
  struct gi_list waiting;
  gi_list_init(&waiting);
  gi_list_splice_tail(&waiting, &f->waiting);
  judged(x, f, open);
  while (!gi_list_empty(&waiting)) {
    struct gi_fop *fop = gi_list_first(&waiting, struct gi_fop, link);
    bool fails = open->rsp.ret < 0 && (fop->fd == fd || fop->fd2 == fd);
    wait_ends(x, fop);
    if (fails)
      leave_barrier(x, fop);
    gi_fop_resume(fop, x, fails ? gi_fop_fail(fop, open->rsp.err) : ob_submit(x, fop));
  }
  ob_look_if_drained(x->private);
  gi_fop_unref(open);
}

static void
send_open(struct gi_xlator *x, struct ob_fd *f)
{
  struct ob *ob = x->private;
  struct ob_request *r = &f->request;
  struct gi_fop *open = gi_fop_new(x->graph, GI_FOP_OPEN);
  GI_ASSERT(f->state == OB_DELAYED && gi_list_empty(&f->waiting));
  gi_fop_set_fd(open, f->fd);
  open->caller = r->caller;
  if (r->caller.ngroups) {
    uint32_t *groups = gi_fop_alloc(open, r->caller.ngroups * sizeof(*groups));
    memcpy(groups, r->groups, r->caller.ngroups * sizeof(*groups));
    open->caller.groups = groups;
  }
  open->args.flags = r->flags;
  open->xdata = gi_dict_ref(r->xdata);
  r->sent_at = ob_moment_now(x);
  ob->metrics.sent++;
  count_delayed(ob, f, OB_SENT);
  gi_fop_submit(open, gi_first_child(x), opened, x); /* may be answered already, and f gone */
}

static void
send_collected(struct gi_xlator *x, struct gi_list *some)
{
  while (!gi_list_empty(some))
    send_open(x, gi_list_first(some, struct ob_fd, link));
}

static void
send_all(struct gi_xlator *x)
{
  struct ob *ob = x->private;
  struct gi_list some;
  gi_list_init(&some);
  gi_list_splice_tail(&some, &ob->delayed);
  send_collected(x, &some);
}

/* Of one file, but not of `except`. */
static void
send_of_inode(struct gi_xlator *x, const struct gi_inode *inode, const struct gi_fd *except)
{
  struct gi_list some;
  gi_list_init(&some);
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link) {
    struct ob_fd *f = ob_fd(x, fd);
    if (f->state != OB_DELAYED || fd == except)
      continue;
    gi_list_del(&f->link);
    gi_list_add_tail(&some, &f->link);
  }
  send_collected(x, &some);
}

static enum gi_verdict
wait_for(struct gi_xlator *x, struct ob_fd *f, struct gi_fop *fop)
{
  struct ob *ob = x->private;
  struct ob_fop *of = gi_fop_private(fop, x);
  GI_ASSERT(f->state == OB_SENT && !of->waits);
  gi_list_add_tail(&f->waiting, &fop->link);
  gi_fop_waits(fop, GI_WAIT_ORDER, "the OPEN of its descriptor", NULL);
  of->waits = true;
  ob->metrics.waiting++;
  return GI_HELD;
}

enum gi_verdict
ob_need(struct gi_xlator *x, struct gi_fd *fd, struct gi_fop *fop)
{
  if (!fd || fd->anonymous || fd->directory)
    return GI_PASS;
  struct ob_fd *f = ob_fd(x, fd);
  if (f->state == OB_DELAYED)
    send_open(x, f); /* the operation holds fd, so f stays */
  switch (f->state) {
  case OB_REAL:
    return GI_PASS;
  case OB_SENT:
    return wait_for(x, f, fop);
  case OB_DELAYED: /* no brick could be asked */
    return gi_fop_fail(fop, ENOTCONN);
  default:
    GI_ASSERT(f->state == OB_FAILED && f->err > 0);
    return gi_fop_fail(fop, f->err);
  }
}

/* ---- what must not overtake an open ---- */

static struct ob_fd *
any_sent(const struct gi_xlator *x, const struct gi_inode *inode)
{
  const struct ob *ob = x->private;
  if (!inode)
    return gi_list_empty(&ob->sent) ? NULL : gi_list_first(&ob->sent, struct ob_fd, link);
  gi_list_foreach(fd, &inode->fds, struct gi_fd, inode_link)
    if (ob_fd(x, fd)->state == OB_SENT)
      return ob_fd(x, fd);
  return NULL;
}

/* The opens of a file (NULL: it is not known which, so of all) come first. What could not be sent to any brick is not waited for. */
static enum gi_verdict
come_after(struct gi_xlator *x, struct gi_fop *fop, const struct gi_inode *inode)
{
  struct ob *ob = x->private;
  struct ob_fop *of = gi_fop_private(fop, x);
  struct ob_fd *f;
  if (!of->barrier) {
    of->barrier = true;
    ob->barriers++; /* meanwhile no open is answered early, so the wait has an end */
    if (inode)
      send_of_inode(x, inode, NULL);
    else
      send_all(x);
  }
  f = any_sent(x, inode);
  if (f)
    return wait_for(x, f, fop);
  leave_barrier(x, fop);
  return GI_PASS;
}

/* What changes who may open a file, or whether it can be found. */
static enum gi_verdict
change(struct gi_xlator *x, struct gi_fop *fop, struct gi_inode *inode)
{
  struct ob_fop *of = gi_fop_private(fop, x);
  enum gi_verdict v = come_after(x, fop, inode);
  if (v != GI_PASS || !inode)
    return v;
  of->changed = gi_inode_private(inode, x);
  of->changed->changes++;
  ob_doubt(x, of->changed);
  return GI_PASS_TELL;
}

/* ---- operations ---- */

/* By then it may have lost its name, which must not matter any more, and nobody takes what the answer has to tell. */
static struct gi_dict *
what_is_sent_later(struct gi_dict *xdata)
{
  static const char *const only_now[] = {GI_NAMED_KEY, GI_CONTENT_KEY, GI_CONTENT_STAT_KEY};
  struct gi_dict *rest = NULL;
  for (size_t i = 0; i < GI_ARRAY_LEN(only_now); i++) {
    if (!gi_dict_get(xdata, only_now[i]))
      continue;
    if (!rest)
      rest = gi_dict_copy(xdata);
    gi_dict_del(rest, only_now[i]);
  }
  return rest ? rest : gi_dict_ref(xdata);
}

static void
keep_request(struct gi_xlator *x, struct ob_fd *f, const struct gi_fop *fop)
{
  struct ob_request *r = &f->request;
  GI_ASSERT(!r->groups && !r->xdata);
  r->caller = fop->caller;
  r->caller.groups = NULL;
  if (fop->caller.ngroups) {
    r->groups = gi_alloc(fop->caller.ngroups * sizeof(*r->groups));
    memcpy(r->groups, fop->caller.groups, fop->caller.ngroups * sizeof(*r->groups));
  }
  r->flags = fop->args.flags;
  r->xdata = what_is_sent_later(fop->xdata);
}

/* Its answer is awaited, for it brings the content. */
static bool
brings_content(const struct gi_fop *fop)
{
  uint64_t max;
  return gi_dict_get_uint(fop->xdata, GI_CONTENT_KEY, &max) && max > 0;
}

static bool
may_be_early(struct gi_xlator *x, const struct gi_fop *fop, const struct ob_inode *i)
{
  const struct ob *ob = x->private;
  return !x->draining && !ob->barriers && !ob_opts(x)->pass_through && fop->caller.pid >= 0 &&
         !(fop->args.flags & ~(uint32_t)OB_EARLY_FLAGS) && !brings_content(fop) &&
         ob_was_let_in(x, i, &fop->caller, fop->args.flags);
}

static enum gi_verdict
ob_open(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ob *ob = x->private;
  struct gi_fd *fd = fop->fd;
  if (!fd || !fd->inode || fd->anonymous || fd->directory)
    return GI_PASS;
  struct ob_inode *i = gi_inode_private(fd->inode, x);
  struct ob_fd *f = ob_fd(x, fd);
  if (f->state != OB_REAL)
    return GI_PASS; /* somebody opens it once more; let the bricks say what that means */
  if (!may_be_early(x, fop, i)) {
    struct ob_fop *of = gi_fop_private(fop, x);
    of->then = ob_moment_now(x);
    return GI_PASS_TELL;
  }
  f->fd = fd;
  keep_request(x, f, fop);
  count_delayed(ob, f, OB_DELAYED);
  ob->metrics.early++;
  /* Writes that are answered before the bricks have them may fail, which is told to every descriptor that is open below. */
  if (!ob_opts(x)->lazy || i->writes)
    send_open(x, f);
  return f->state == OB_FAILED ? gi_fop_fail(fop, f->err) : gi_fop_ok(fop, 0);
}

static enum gi_verdict
ob_write(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  if (inode && !gi_list_empty(&((struct ob *)x->private)->delayed))
    send_of_inode(x, inode, fop->fd);
  enum gi_verdict v = ob_need(x, fop->fd, fop);
  if (v != GI_PASS || !inode)
    return v;
  ((struct ob_inode *)gi_inode_private(inode, x))->writes++;
  return GI_PASS_TELL;
}

static void
wrote(struct gi_xlator *x, const struct gi_fop *fop, struct ob_inode *i)
{
  GI_ASSERT(i->writes > i->early);
  if (fop->rsp.ret >= 0 && fop->rsp.early)
    i->early++;
  else
    i->writes--;
}

/* Others may have been answered before we were there. */
static void
written(struct gi_xlator *x, const struct gi_written *w)
{
  struct ob_inode *i = gi_inode_private(w->inode, x);
  uint32_t ended = w->changes < i->early ? w->changes : i->early;
  i->early -= ended;
  i->writes -= ended;
}

static enum gi_verdict
ob_lock(struct gi_xlator *x, struct gi_fop *fop)
{
  struct gi_inode *inode = gi_fop_inode(fop);
  if (inode)
    ((struct ob_inode *)gi_inode_private(inode, x))->locked = true;
  return ob_need(x, fop->fd, fop);
}

static bool
may_be_anonymous(const struct gi_xlator *x, const struct gi_fop *fop)
{
  const struct ob_options *o = ob_opts(x);
  return o->anonymous && (fop->kind != GI_FOP_READ || !o->read_after_open);
}

/* Without an open a brick opens the file for this one operation, and checks the caller as for an open. */
static enum gi_verdict
ob_look(struct gi_xlator *x, struct gi_fop *fop)
{
  enum gi_verdict v = GI_PASS;
  if (!fop->fd || fop->fd->directory || fop->fd->anonymous || ob_fd(x, fop->fd)->state == OB_FAILED ||
      !may_be_anonymous(x, fop))
    v = ob_need(x, fop->fd, fop);
  return v == GI_PASS && fop->kind == GI_FOP_FSTAT ? GI_PASS_TELL : v;
}

static enum gi_verdict
ob_setattr(struct gi_xlator *x, struct gi_fop *fop)
{
  enum gi_verdict v = ob_need(x, fop->fd, fop);
  if (v != GI_PASS || !(fop->args.valid & (GI_SET_MODE | GI_SET_UID | GI_SET_GID)))
    return v;
  struct gi_inode *inode = gi_fop_inode(fop);
  return inode ? change(x, fop, inode) : GI_PASS;
}

static enum gi_verdict
ob_setxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  enum gi_verdict v = ob_need(x, fop->fd, fop);
  struct gi_inode *inode = gi_fop_inode(fop);
  return v == GI_PASS && inode ? change(x, fop, inode) : v;
}

static enum gi_verdict
ob_fd_fop(struct gi_xlator *x, struct gi_fop *fop)
{
  enum gi_verdict v = ob_need(x, fop->fd, fop);
  return v == GI_PASS ? ob_need(x, fop->fd2, fop) : v;
}

static enum gi_verdict
ob_ask(struct gi_xlator *x, struct gi_fop *fop)
{
  ((struct ob_fop *)gi_fop_private(fop, x))->then = ob_moment_now(x);
  return GI_PASS_TELL;
}

static enum gi_verdict
ob_submit(struct gi_xlator *x, struct gi_fop *fop)
{
  switch (fop->kind) {
  case GI_FOP_OPEN:
    return ob_open(x, fop);
  case GI_FOP_CREATE:
  case GI_FOP_LOOKUP:
  case GI_FOP_STAT:
    return ob_ask(x, fop);
  case GI_FOP_WRITE:
    return ob_write(x, fop);
  case GI_FOP_FLUSH:
    return ob_flush(x, fop);
  case GI_FOP_FSYNC:
    return ob_fsync(x, fop);
  case GI_FOP_LK:
    return ob_lock(x, fop);
  case GI_FOP_READ:
  case GI_FOP_SEEK:
  case GI_FOP_FSTAT:
    return ob_look(x, fop);
  case GI_FOP_SETATTR:
  case GI_FOP_FSETATTR:
    return ob_setattr(x, fop);
  case GI_FOP_SETXATTR:
  case GI_FOP_FSETXATTR:
  case GI_FOP_REMOVEXATTR:
  case GI_FOP_FREMOVEXATTR:
    return ob_setxattr(x, fop);
  case GI_FOP_UNLINK:
    return change(x, fop, fop->loc.inode);
  case GI_FOP_RENAME:
    return change(x, fop, fop->loc2.inode);
  default:
    return ob_fd_fop(x, fop);
  }
}

/* ---- replies ---- */

static void
learn(struct gi_xlator *x, struct gi_fop *fop)
{
  const struct gi_iatt *a = gi_reply_attr(fop, GI_OF_OBJECT);
  if (fop->rsp.ret < 0 || !a || gi_gfid_is_none(&a->gfid))
    return;
  struct gi_inode *inode = gi_inode_find(x->graph, &a->gfid);
  if (!inode)
    return;
  const struct ob_fop *of = gi_fop_private(fop, x);
  struct ob_inode *i = gi_inode_private(inode, x);
  ob_seen(x, i, a, fop->rsp.asked ? fop->rsp.asked : fop->start_ns);
  if (fop->kind == GI_FOP_CREATE)
    ob_created(x, fop, &of->then, i);
  else if (fop->kind == GI_FOP_LOOKUP && gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY))
    ob_found_readable(x, i, &of->then, &fop->caller);
  gi_inode_unref(&inode);
}

static enum gi_verdict
ob_complete(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ob_fop *of = gi_fop_private(fop, x);
  switch (fop->kind) {
  case GI_FOP_OPEN:
    if (fop->rsp.ret >= 0)
      ob_let_in(x, gi_inode_private(fop->fd->inode, x), &of->then, &fop->caller, fop->args.flags);
    break;
  case GI_FOP_CREATE:
  case GI_FOP_LOOKUP:
  case GI_FOP_STAT:
  case GI_FOP_FSTAT:
    learn(x, fop);
    break;
  case GI_FOP_WRITE:
    wrote(x, fop, gi_inode_private(gi_fop_inode(fop), x));
    break;
  default:
    GI_ASSERT(of->changed && of->changed->changes > 0);
    of->changed->changes--;
    ob_doubt(x, of->changed);
    break;
  }
  return GI_PASS;
}

/* ---- events ---- */

static void
cancel(struct gi_xlator *x, struct gi_fop *fop)
{
  struct ob_fop *of = gi_fop_private(fop, x);
  if (!of->waits)
    return;
  wait_ends(x, fop);
  leave_barrier(x, fop);
  gi_fop_fail(fop, EINTR);
  gi_fop_answer(fop, x);
}

static bool
ob_notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct ob *ob = x->private;
  const struct gi_invalidation *inv = data;
  struct gi_inode *inode;
  if (gi_event_untold(event)) {
    ob->epoch++;
    if (x->draining && (event == GI_EVENT_CHILD_UP || event == GI_EVENT_CHILD_CHANGED))
      send_all(x);
  }
  switch (event) {
  case GI_EVENT_INVALIDATE:
    if ((inode = gi_inode_find(x->graph, &inv->gfid)) != NULL)
      ob_doubt(x, gi_inode_private(inode, x));
    else
      ob->strangers = ++ob->clock;
    gi_inode_unref(&inode);
    break;
  case GI_EVENT_WRITTEN:
    written(x, data);
    break;
  case GI_EVENT_CANCEL:
    cancel(x, data);
    return true;
  default:
    break;
  }
  return false;
}

/* It goes when no open is delayed. Those that no brick can be asked for wait until one comes, or their descriptor is closed. */
static void
ob_drain(struct gi_xlator *x, void (*done)(struct gi_xlator *x))
{
  struct ob *ob = x->private;
  GI_ASSERT(!ob->drained);
  ob->drained = done;
  send_all(x);
  ob_look_if_drained(ob);
}

static void
ob_fd_release(struct gi_xlator *x, struct gi_fd *fd, void *bytes)
{
  struct ob *ob = x->private;
  struct ob_fd *f = bytes;
  if (f->state == OB_REAL)
    return;
  GI_ASSERT(f->state != OB_SENT && gi_list_empty(&f->waiting)); /* the open holds its descriptor */
  if (f->state == OB_DELAYED) {
    ob->metrics.unsent++;
    count_delayed(ob, f, OB_REAL);
  }
  ob_look_if_drained(ob);
}

/* ---- life ---- */

/* Bricks follow their volfiles within a second or two. */
#define OB_BRICKS_FOLLOW_NS (10 * GI_NSEC_PER_SEC)

static void
ob_commit(struct gi_xlator *x)
{
  struct ob *ob = x->private;
  const struct ob_options *before = x->old_options;
  if (ob_opts(x)->told && !(before && before->told)) {
    ob->epoch++;
    ob->told_from_ns = gi_now(x->reactor) + OB_BRICKS_FOLLOW_NS;
  }
  if (ob_opts(x)->pass_through)
    send_all(x);
}

static int
ob_init(struct gi_xlator *x, struct gi_error *err)
{
  struct ob *ob = x->private = gi_new(struct ob);
  ob->x = x;
  ob->epoch = 1;
  gi_list_init(&ob->delayed);
  gi_list_init(&ob->sent);
  gi_defer_init(&ob->tell_drained, tell_drained, ob);
  x->metrics = &ob->metrics;
  return 0;
}

static void
ob_finish(struct gi_xlator *x)
{
  struct ob *ob = x->private;
  GI_ASSERT(gi_list_empty(&ob->delayed) && gi_list_empty(&ob->sent) && ob->metrics.waiting == 0 && ob->syncs == 0);
  gi_defer_cancel(&ob->tell_drained);
  gi_free(ob);
}

static void
ob_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  const struct ob *ob = x->private;
  unsigned delayed = 0, sent = 0;
  gi_list_foreach(f, &ob->delayed, struct ob_fd, link)
    delayed++;
  gi_list_foreach(f, &ob->sent, struct ob_fd, link)
    sent++;
  gi_dump_kv(d, "delayed", "%u", delayed);
  gi_dump_kv(d, "under_way", "%u", sent);
  gi_dump_kv(d, "barriers", "%u", ob->barriers);
}

#define OPT(m) .offset = offsetof(struct ob_options, m), .live = true, .since = "0.1"
static const struct gi_option ob_table[] = {
    {.name = "lazy-open",
     .key = "performance.lazy-open",
     .type = GI_OPT_BOOL,
     OPT(lazy),
     .def = "yes",
     .level = 2,
     .op_version = 3,
     .text = "Send an open that was answered early with the first operation that needs it; no sends it at once."},
    {.name = "read-after-open",
     .key = "performance.read-after-open",
     .type = GI_OPT_BOOL,
     OPT(read_after_open),
     .def = "yes",
     .level = 2,
     .op_version = 3,
     .text = "Send the open before the first read; no reads without an open if use-anonymous-fd is set too."},
    {.name = "use-anonymous-fd",
     .type = GI_OPT_BOOL,
     OPT(anonymous),
     .def = "no",
     .level = 3,
     .text = "Let bricks open a file for one question about it (fstat, lseek) instead of sending the open."},
    {.name = "pass-through",
     .key = "performance.open-behind-pass-through",
     .type = GI_OPT_BOOL,
     OPT(pass_through),
     .def = "false",
     .level = 3,
     .op_version = 40100,
     .text = "Answer no open early, but stay in the graph."},
    GI_OPTIONS_TOLD(ob_options, "; else open-behind answers no open early there"),
    {.name = "timeout",
     .key = "performance.open-behind-timeout",
     .type = GI_OPT_TIME,
     OPT(timeout),
     .def = "60",
     .max = 600,
     .level = 2,
     .text = "Seconds for which who could open a file is let in again before the bricks are asked."},
    GI_OPTION_END,
};

#define METRIC(m, help) \
  { \
#m, "", help, offsetof(struct ob, metrics.m) - offsetof(struct ob, metrics) \
  }
static const struct gi_metric ob_metrics_table[] = {
    METRIC(early, "opens answered before the bricks had them"),
    METRIC(sent, "opens that were sent after their answer"),
    METRIC(unsent, "opens that were never sent: the file was closed unused"),
    METRIC(failed, "opens that failed after their answer"),
    METRIC(unopened_syncs, "fsyncs of files that the bricks did not open for them"),
    {"waiting", "", "operations that wait for an open now", offsetof(struct ob, metrics.waiting) - offsetof(struct ob, metrics),
     GI_METRIC_GAUGE},
    GI_METRIC_END,
};

GI_XLATOR_EXPORT = {
    .abi = GI_XLATOR_ABI,
    .type = "performance/open-behind",
    .version = GI_VERSION,
    .summary = "Answers opens before the bricks have them",
    .layer =
        {{.side = GI_SIDE_CLIENT,
          .above = {"performance/io-cache", "performance/read-ahead", "performance/write-behind", "features/utime"},
          .key = "performance.open-behind",
          .def = "on",
          .since = "0.1",
          .text = "Answer the open of a file that could just be opened at once, and send it only when it is needed. Works only "
                  "where bricks tell what others change (features.cache-invalidation)."}},
    .min_children = 1,
    .max_children = 1,
    .options = ob_table,
    .options_bytes = sizeof(struct ob_options),
    .metrics = ob_metrics_table,
    .fop_bytes = sizeof(struct ob_fop),
    .inode_bytes = sizeof(struct ob_inode),
    .fd_bytes = sizeof(struct ob_fd),
    .submit = ob_submit,
    .submit_kinds = OB_KINDS,
    .complete = ob_complete,
    .init = ob_init,
    .finish = ob_finish,
    .reconfigure_commit = ob_commit,
    .notify = ob_notify,
    .drain = ob_drain,
    .statedump = ob_statedump,
    .fd_release = ob_fd_release,
};
