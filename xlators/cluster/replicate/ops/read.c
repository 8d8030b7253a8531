/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading: an operation goes to one child with a good copy. If that child fails
 * it the others are tried, each at most once (replicate.md 5.2).
 *
 * An error such as "no such attribute" from a good copy is the answer. Only errors
 * that are about the child itself make another child be asked.
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include "libglusterish/extension.h"
#include "libglusterish/probe.h"

bool
rep_child_failed(int err)
{
  switch (err) {
  case ENOTCONN:
  case ETIMEDOUT:
  case EIO:
  case ENOENT:
  case ESTALE:
  case EBADF:
  case EBADFD:
  case ENOSYS:
  case EUCLEAN:
    return true;
  default:
    return false;
  }
}

static void read_step(struct rep *rep, struct gi_fop *fop);

static void
read_refreshed(struct gi_fop *fop, int err)
{
  struct rep *rep = rep_of(fop->at);

  if (err)
    rep_answer(rep, fop, -1, err);
  else
    read_step(rep, fop);
}

static void
read_reply(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct rep_fop *rf = rep_fop(rep, fop);
  int child = rep_first(fan->sent);
  struct gi_fop *reply = gi_fan_take(fan, (unsigned)child);

  GI_ASSERT(child >= 0 && rep->reads[child]);
  rep->reads[child]--;
  int err = rep_undisturbed(rep, rf->generation) ? rep_fd_errno(rep, fop) : ENOTCONN;

  if (err) {
    gi_fop_unref(reply);
    rep_answer(rep, fop, -1, err);
    return;
  }
  if (reply->rsp.ret >= 0 || !rep_child_failed(reply->rsp.err)) {
    gi_reply_move(fop, reply);
    gi_fop_unref(reply);
    if (fop->kind == GI_FOP_GETXATTR || fop->kind == GI_FOP_FGETXATTR)
      rep_marks_strip(rep, fop->rsp.dict);
    gi_fop_answer(fop, rep->x);
    return;
  }
  rf->tried |= 1u << child;
  rf->err = rep_errno_merge(rf->err, reply->rsp.err);
  rep->metrics.read_failovers++;
  GI_PROBE("replicate: read goes to another copy");
  gi_fop_unref(reply);
  read_step(rep, fop);
}

static void
read_send(struct rep *rep, struct gi_fop *fop, unsigned child)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  GI_ASSERT(((rep->up >> child) & 1) && !((rep->arbiter >> child) & 1) && !((rep_fop(rep, fop)->tried >> child) & 1));
  rep->reads[child]++;
  rep_fan_start(fan, rep, read_reply, fop);
  gi_fan_copy(fan, fop, 1u << child);
}

/* A copy that has lost a change of attributes with its power is not accused: what most copies say, as in a heal. */
static uint32_t
most_alike(const struct rep *rep, const struct gi_fan *fan)
{
  struct rep_view v = {.rep = rep};

  GI_ASSERT(fan->ok && !fan->outstanding);
  rep_foreach(i, fan->ok)
  {
    v.stat[i] = gi_fan_reply(fan, i)->rsp.stat;
    v.xdata[i] = gi_fan_reply(fan, i)->rsp.xdata;
  }
  return rep_heal_most_alike(&v, (uint32_t)fan->ok);
}

static void
most_replied(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  struct rep_fop *rf = rep_fop(rep, fop);
  int err = rep_undisturbed(rep, rf->generation) ? rep_fd_errno(rep, fop) : ENOTCONN;

  rep_foreach(i, fan->sent) rep->reads[i]--;
  if (!err && !fan->ok) {
    rf->tried |= (uint32_t)fan->sent;
    rf->err = rep_errno_merge(rf->err, fan->err);
    gi_fan_clear(fan);
    read_step(rep, fop);
    return;
  }
  if (!err)
    gi_reply_move(fop, gi_fan_reply(fan, (unsigned)rep_read_child(rep, rep_fop_inode(fop), fop, most_alike(rep, fan))));
  gi_fan_clear(fan);
  if (err)
    rep_answer(rep, fop, -1, err);
  else
    gi_fop_answer(fop, rep->x);
}

static bool
asks_most(const struct gi_fop *fop)
{
  return (fop->kind == GI_FOP_STAT || fop->kind == GI_FOP_FSTAT) && gi_dict_get(fop->xdata, GI_MOST_KEY);
}

static void
read_send_most(struct rep *rep, struct gi_fop *fop, uint32_t children)
{
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  GI_ASSERT(children && !(children & (~rep->up | rep->arbiter | rep_fop(rep, fop)->tried)));
  rep_foreach(i, children) rep->reads[i]++;
  rep_fan_start(fan, rep, most_replied, fop);
  gi_fan_copy(fan, fop, children);
}

static bool
needs_refresh(struct rep *rep, struct gi_inode *inode, struct rep_fop *rf)
{
  if (rf->refreshed)
    return false;
  if (rf->tried || !rep_inode_fresh(rep, inode))
    return true;
  return !(rep_readable(rep, inode, rf->read_entries) & rep->up);
}

static void
read_step(struct rep *rep, struct gi_fop *fop)
{
  struct rep_fop *rf = rep_fop(rep, fop);
  struct gi_inode *inode = rep_fop_inode(fop);
  int choice;

  if (!rep_ready(rep)) {
    rep_answer(rep, fop, -1, ENOTCONN);
    return;
  }
  if (!inode) {
    rep_answer(rep, fop, -1, EINVAL);
    return;
  }
  if (needs_refresh(rep, inode, rf)) {
    rf->refreshed = true;
    rep_refresh(rep, fop, inode, read_refreshed);
    return;
  }

  uint32_t readable = rep_readable(rep, inode, rf->read_entries) & rep->up;

  if (!readable && rf->read_entries)
    readable = rep_accused_views(rep, inode);

  if (!readable && (choice = rep_split_choice(rep, inode)) >= 0)
    readable = 1u << choice;
  if (!readable && (fop->kind == GI_FOP_STAT || fop->kind == GI_FOP_FSTAT) &&
      (rep->up == rep->all || rep_no_quorum_configured(rep)) &&
      (choice = rep_any_attributes(rep, inode, rep->up & ~rf->tried)) >= 0)
    readable = 1u << choice;
  if (!readable && !rf->policy_asked) {
    rf->policy_asked = true;
    rf->refreshed = false;
    if (rep_background_policy(rep, fop, inode, read_refreshed))
      return;
  }

  uint32_t candidates = readable & ~rf->tried;
  uint32_t opened = rep_fd_opened(rep, fop->fd, candidates);
  int child = rep_read_child(rep, inode, fop, opened ? opened : candidates);

  if (child < 0)
    rep_answer(rep, fop, -1, rf->err ? rf->err : rep_unreadable(rep));
  else if (asks_most(fop))
    read_send_most(rep, fop, candidates);
  else
    read_send(rep, fop, (unsigned)child);
}

void
rep_read_start(struct rep *rep, struct gi_fop *fop, bool entries)
{
  struct rep_fop *rf = rep_fop(rep, fop);

  rf->generation = rep->generation;
  rf->read_entries = entries;
  read_step(rep, fop);
}

enum gi_verdict
rep_on_read(struct gi_xlator *x, struct gi_fop *fop)
{
  rep_read_start(rep_of(x), fop, false);
  return GI_HELD;
}

/* ---- statfs: of the children that keep data the one with the least room answers (replicate.md 5.6) ---- */

static void
statfs_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  int best = -1;

  rep_foreach(i, fan->ok) if (best < 0 || gi_fan_reply(fan, i)->rsp.statfs.bavail < gi_fan_reply(fan, best)->rsp.statfs.bavail)
      best = (int)i;
  if (best < 0) {
    gi_fan_clear(fan);
    rep_answer(rep, fop, -1, fan->err ? fan->err : ENOTCONN);
    return;
  }
  gi_reply_move(fop, gi_fan_reply(fan, best));
  gi_fan_clear(fan);
  gi_fop_answer(fop, rep->x);
}

enum gi_verdict
rep_on_statfs(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  rep_fan_start(fan, rep, statfs_done, fop);
  gi_fan_copy(fan, fop, rep->up & ~rep->arbiter);
  return GI_HELD;
}
