/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks and what they ask: operations that need more than one message run as
 * straight-line code.
 */
#include "xlators/cluster/distribute/di.h"

#include <errno.h>

/* ---- tasks ---- */

/* When nothing is under way another set of subvolumes is taken, and those that waited begin. */
void
di_settle(struct di *d)
{
  if (__builtin_expect(d->x->incoming != NULL || !gi_list_empty(&d->waiting), 0))
    gi_defer_add(d->x->reactor, &d->settle);
}

static void
run_task(void *arg)
{
  struct gi_fop *fop = arg;
  struct di *d = di_of(fop->at);
  enum gi_verdict verdict;

  GI_ASSERT(di_fop_of(fop, d)->fn && !fop->answered);
  verdict = di_fop_of(fop, d)->fn(d, fop);
  GI_ASSERT(verdict == GI_ANSWERED || verdict == GI_HELD);
  GI_ASSERT(d->busy > 0);
  if (verdict == GI_ANSWERED) {
    gi_fop_unref(di_fop_of(fop, d)->first);
    di_fop_of(fop, d)->first = NULL;
  }
  d->busy--;
  di_settle(d);
  if (verdict == GI_ANSWERED)
    gi_fop_answer(fop, d->x);
}

enum gi_verdict
di_run(struct di *d, struct gi_fop *fop, di_task_fn *fn)
{
  GI_ASSERT(fn && fop->at == d->x);
  di_fop_of(fop, d)->fn = fn;
  if ((d->x->incoming || d->joining) && !d->draining && !di_fop_of(fop, d)->inner) {
    gi_fop_waits(fop, GI_WAIT_ORDER, "the set of subvolumes changes", d->x->name);
    gi_list_add_tail(&d->waiting, &fop->link);
    di_settle(d);
    return GI_HELD;
  }
  d->busy++;
  gi_task_start(d->x->reactor, run_task, fop);
  return GI_HELD;
}

void
di_run_waiting(struct di *d)
{
  struct gi_list todo;

  gi_list_init(&todo);
  gi_list_splice_tail(&todo, &d->waiting);
  while (!gi_list_empty(&todo)) {
    struct gi_fop *fop = gi_list_first(&todo, struct gi_fop, link);

    gi_list_del(&fop->link);
    d->busy++;
    gi_task_start(d->x->reactor, run_task, fop);
  }
}

/* ---- names ---- */

static const char *
kept(struct gi_fop *fop, const char *name, const char *of_parent)
{
  return name && name != of_parent ? gi_fop_strdup(fop, name, strlen(name)) : name;
}

void
di_keep_names(struct gi_fop *fop)
{
  const struct gi_fop *parent = fop->parent;

  fop->loc.name = kept(fop, fop->loc.name, parent ? parent->loc.name : NULL);
  fop->loc2.name = kept(fop, fop->loc2.name, parent ? parent->loc2.name : NULL);
  fop->args.name = kept(fop, fop->args.name, parent ? parent->args.name : NULL);
}

/* ---- several at once ---- */

static void
all_in(struct gi_fan *fan)
{
  struct di_ask *ask = fan->arg;

  GI_ASSERT(!ask->done);
  ask->done = true;
  gi_task_wake(ask->task);
}

void
di_ask_begin(struct di *d, struct di_ask *ask)
{
  memset(ask, 0, sizeof(*ask));
  ask->task = gi_task_self(d->x->reactor);
  GI_ASSERT(ask->task);
  gi_fan_start(&ask->fan, d->x, NULL, all_in, ask);
}

void
di_ask_send(struct di *d, struct di_ask *ask, struct gi_fop *fop, unsigned child)
{
  GI_ASSERT(child < d->n && !ask->done);
  di_keep_names(fop);
  if (d->up >> child & 1)
    gi_fan_send(&ask->fan, fop, child, 0);
  else
    gi_fan_refuse(&ask->fan, fop, child, ENOTCONN);
}

void
di_ask_wait(struct di *d, struct di_ask *ask)
{
  gi_fan_finish(&ask->fan);
  while (!ask->done)
    gi_task_wait(d->x->reactor);
}

void
di_ask_copy(struct di *d, struct di_ask *ask, struct gi_fop *proto, uint64_t mask)
{
  GI_ASSERT(!(mask & ~di_all(d)));
  di_keep_names(proto);
  di_ask_begin(d, ask);
  di_foreach(i, mask) di_ask_send(d, ask, gi_fan_child(proto, proto->xdata), (unsigned)i);
  di_ask_wait(d, ask);
}

void
di_ask_end(struct di_ask *ask)
{
  GI_ASSERT(ask->fan.outstanding == 0);
  gi_fan_clear(&ask->fan);
}

int
di_ask_err(const struct di_ask *ask, uint64_t mask)
{
  int err = 0;

  di_foreach(i, mask & ask->fan.failed)
  {
    int e = gi_fan_reply(&ask->fan, (unsigned)i)->rsp.err;

    if (!err || err == ENOENT || err == ESTALE || (err == ENOTCONN && e != ENOENT && e != ESTALE))
      err = e;
  }
  return err;
}

int
di_ask_refusal(const struct di_ask *ask)
{
  int err = 0;

  GI_ASSERT(ask->done);
  di_foreach(i, ask->fan.failed)
  {
    int e = gi_fan_reply(&ask->fan, (unsigned)i)->rsp.err;

    if (e != ENOENT && e != ESTALE)
      err = e;
  }
  return err;
}

/* ---- one ---- */

struct gi_fop *
di_helper(struct gi_fop *fop, enum gi_fop_kind kind)
{
  struct gi_fop *h = gi_fop_helper(fop, kind);

  GI_ASSERT(h->caller.client == fop->caller.client);
  h->caller.uid = h->caller.gid = 0;
  gi_caller_detach(&h->caller);
  return h;
}

struct gi_fop *
di_own_fop(struct gi_fop *fop, enum gi_fop_kind kind, const struct gi_gfid *gfid)
{
  struct gi_fop *h = di_helper(fop, kind);

  GI_ASSERT(!gi_gfid_is_none(gfid));
  h->loc.gfid = *gfid;
  gi_dict_set_str(gi_fop_xdata(h), "glusterfs-internal-fop", "yes");
  return h;
}

static int
reply_err(const struct gi_fop *fop)
{
  return fop->rsp.ret >= 0 ? 0 : fop->rsp.err ? fop->rsp.err : EIO;
}

int
di_do(struct di *d, struct gi_fop *fop, unsigned child)
{
  GI_ASSERT(child < d->n);
  if (!(d->up >> child & 1)) {
    gi_fop_fail(fop, ENOTCONN);
    return ENOTCONN;
  }
  di_keep_names(fop);
  gi_task_fop(fop, d->x->children[child]);
  if (d->on_reply)
    d->on_reply(d, fop);
  return reply_err(fop);
}

int
di_do_from_top(struct di *d, struct gi_fop *fop)
{
  di_fop_of(fop, d)->inner = true;
  gi_task_fop(fop, d->x);
  return reply_err(fop);
}

int
di_do_drop(struct di *d, struct gi_fop *fop, unsigned child)
{
  int err = di_do(d, fop, child);

  gi_fop_unref(fop);
  return err;
}

int
di_pass(struct di *d, struct gi_fop *fop, unsigned child)
{
  struct gi_fop *h = gi_fop_child(fop);
  int err = di_do(d, h, child);

  gi_reply_move(fop, h);
  gi_fop_unref(h);
  return err;
}

/* ---- subvolumes ---- */

int
di_index(const struct di *d, const struct gi_xlator *child)
{
  for (unsigned i = 0; child && i < d->n; i++)
    if (d->x->children[i] == child)
      return (int)i;
  return -1;
}

/* "vol-readdir-ahead-3" and "vol-client-3" are the same subvolume: the number and what stands before the kind. */
static bool
alias_of(const char *wanted, const char *name)
{
  static const char kind[] = "-readdir-ahead-";
  const char *k = strstr(wanted, kind), *last = strrchr(name, '-');
  size_t before = k ? (size_t)(k - wanted) : 0;

  return k && last && strcmp(k + sizeof(kind) - 1, last + 1) == 0 && strncmp(wanted, name, before) == 0 && name[before] == '-';
}

int
di_by_name(const struct di *d, const char *name)
{
  for (unsigned i = 0; i < d->n; i++)
    if (strcmp(d->x->children[i]->name, name) == 0)
      return (int)i;
  for (unsigned i = 0; i < d->n; i++)
    if (alias_of(name, d->x->children[i]->name) || alias_of(d->x->children[i]->name, name))
      return (int)i;
  return -1;
}

/* ---- inodes ---- */

struct di_inode *
di_inode_of(const struct di *d, const struct gi_inode *inode)
{
  return gi_inode_private(inode, d->x);
}

struct di_fd *
di_fd_of(const struct di *d, const struct gi_fd *fd)
{
  return gi_fd_private(fd, d->x);
}

void
di_fd_turn(struct di *d, struct gi_fd *fd)
{
  struct gi_window *turn = &di_fd_of(d, fd)->turn;

  if (!turn->size)
    gi_window_init(turn, 1);
  gi_window_take(turn, d->x->reactor, 1);
}

void
di_fd_turn_over(struct di *d, struct gi_fd *fd)
{
  gi_window_give(&di_fd_of(d, fd)->turn, 1);
}

/* Those above, who have the lock of its size on another subvolume, hear of it. */
static void
tell_moved(struct di *d, const struct gi_inode *inode, const struct gi_xlator *child)
{
  const struct di_inode *i = di_inode_of(d, inode);
  struct gi_contention c = {.gfid = inode->gfid, .domain = d->size_domain, .moved = true};

  GI_ASSERT(child);
  if (__builtin_expect(i->size_at && i->size_at != child, 0))
    gi_notify_up(d->x, GI_EVENT_CONTENTION, &c);
}

void
di_know_file(struct di *d, const struct gi_gfid *gfid, struct gi_xlator *child)
{
  if (gi_gfid_is_none(gfid) || di_index(d, child) < 0)
    return; /* what was asked of a subvolume that has left since */

  struct gi_inode *inode = gi_inode_get(d->x->graph, gfid);
  struct di_inode *i = di_inode_of(d, inode);

  if (i->target && i->cached != child)
    i->target = NULL; /* it has arrived */
  i->cached = child;
  gi_free(i->layout);
  i->layout = NULL;
  tell_moved(d, inode, child);
  gi_inode_unref(&inode);
}

void
di_forget_inode(struct gi_xlator *x, struct gi_inode *inode, void *bytes)
{
  struct di_inode *i = bytes;

  GI_CHECK(x, GI_XLATOR_MAGIC);
  gi_free(i->layout);
  gi_free(i->name);
  memset(i, 0, sizeof(*i));
}

/* ---- attributes of directories ---- */

void
di_dir_attr(struct gi_iatt *a)
{
  a->size = a->nlink ? 4096 : 0; /* one that was removed has none */
  a->blocks = a->nlink ? 8 : 0;
}

static void
parent_attr(struct di *d, struct gi_iatt *a, bool before)
{
  if (!gi_iatt_valid(a) || !S_ISDIR(a->mode))
    return;

  struct gi_inode *inode = gi_inode_find(d->x->graph, &a->gfid);

  di_dir_attr(a);
  if (!inode)
    return;

  struct di_inode *i = di_inode_of(d, inode);

  if (gi_time_later(&i->mtime, &a->mtime))
    a->mtime = i->mtime;
  else if (!before)
    i->mtime = a->mtime;
  if (gi_time_later(&i->ctime, &a->ctime))
    a->ctime = i->ctime;
  else if (!before)
    i->ctime = a->ctime;
  gi_inode_unref(&inode);
}

void
di_parent_attrs(struct di *d, struct gi_fop *fop)
{
  struct gi_attr a;

  for (unsigned at = 0; gi_reply_next_attr(fop, &at, &a);)
    if (a.whose == GI_OF_PARENT || a.whose == GI_OF_PARENT2)
      parent_attr(d, a.iatt, a.before);
}

enum gi_verdict
di_end(struct di *d, struct gi_fop *fop, int err)
{
  if (err)
    return gi_fop_fail(fop, err);
  di_parent_attrs(d, fop);
  return GI_ANSWERED;
}
