/* SPDX-License-Identifier: Apache-2.0
 *
 * What fans to the children of a replica set have in common.
 */
#include "xlators/cluster/replicate/set/set.h"

/* Of several failures one is told to the application: ENODATA, ENOENT, ESTALE, ENOSPC in this order, else the last one. */
static int
errno_rank(int err)
{
  switch (err) {
  case ENODATA:
    return 4;
  case ENOENT:
    return 3;
  case ESTALE:
    return 2;
  case ENOSPC:
    return 1;
  default:
    return 0;
  }
}

int
rep_errno_merge(int have, int next)
{
  return errno_rank(next) >= errno_rank(have) ? next : have;
}

bool
rep_errno_is_gone(int err)
{
  return err == ENOENT || err == ESTALE;
}

uint32_t
rep_fan_gone(const struct gi_fan *fan)
{
  uint32_t set = 0;

  rep_foreach(i, fan->failed) set |= rep_errno_is_gone(gi_fan_reply(fan, i)->rsp.err) ? 1u << i : 0;
  return set;
}

int
rep_errno_of_few(const struct rep *rep, int err, uint32_t gone)
{
  return !err || (rep_errno_is_gone(err) && !rep_quorum(rep, gone)) ? ENOTCONN : err;
}

int
rep_fan_errno(const struct gi_fan *fan)
{
  return rep_errno_of_few(rep_of(fan->x), fan->err, rep_fan_gone(fan));
}

static void
answer_awaited(struct gi_xlator *x)
{
  rep_busy_get(rep_of(x), REP_WORK_MESSAGES);
}

static void
answer_came(struct gi_xlator *x, unsigned child, struct gi_fop *reply)
{
  struct rep *rep = rep_of(x);

  GI_ASSERT(child < rep->n && rep->busy[REP_WORK_MESSAGES]);
  if (rep->on_answer)
    rep->on_answer(rep, child, reply);
  if (reply->rsp.ret >= 0 && (reply->kind == GI_FOP_OPEN || reply->kind == GI_FOP_OPENDIR))
    rep_fd(rep, reply->fd)->opened |= 1u << child;
  if (reply->rsp.ret < 0 && reply->rsp.err == EBADFD && reply->fd && !reply->fd->anonymous)
    rep_fd(rep, reply->fd)->opened &= ~(1u << child); /* the brick lost it, or is another one: a late open is due */
}

static void
answer_ended(struct gi_xlator *x)
{
  rep_busy_put(rep_of(x), REP_WORK_MESSAGES);
}

void
rep_fan_start(struct gi_fan *fan, struct rep *rep, void (*done)(struct gi_fan *fan), void *arg)
{
  static const struct gi_fan_ops ops = {
      .sent = answer_awaited, .answered = answer_came, .ended = answer_ended, .merge = rep_errno_merge};

  gi_fan_start(fan, rep->x, &ops, done, arg);
}
