/* SPDX-License-Identifier: Apache-2.0
 *
 * Fan-out: sends operations to a set of children, counts the answers and calls
 * one function when all are in. It is the only place where answers are counted.
 *
 * A fan holds one reference more than it has sent until rep_fan_finish, so
 * children may answer from inside rep_fan_send. A frozen brick does not hold a
 * fan for ever: the connection layer fails its calls after the ping timeout.
 */
#include "replicate.h"

void
rep_fan_start(struct rep_fan *fan, struct rep *rep, void (*done)(struct rep_fan *fan), void *arg)
{
  GI_ASSERT(fan->outstanding == 0);
  memset(fan, 0, sizeof(*fan));
  fan->rep = rep;
  fan->done = done;
  fan->arg = arg;
  fan->outstanding = 1;
}

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

static void
fan_put(struct rep_fan *fan)
{
  GI_ASSERT(fan->outstanding > 0);
  if (--fan->outstanding == 0)
    fan->done(fan);
}

static void
fan_reply(struct gi_fop *fop, void *arg)
{
  struct rep_fan *fan = arg;
  struct rep *rep = fan->rep;
  struct rep_fop *call = rep_fop(fan->rep, fop);
  unsigned child = call->child;

  if (rep->on_answer)
    rep->on_answer(rep, child, fop);
  if (fop->rsp.ret >= 0) {
    fan->ok |= 1u << child;
  } else {
    if (fop->rsp.err == 0)
      fop->rsp.err = EIO;
    if (fop->rsp.err == EBADFD && fop->fd && !fop->fd->anonymous)
      rep_fd(fan->rep, fop->fd)->opened &= ~(1u << child); /* the brick lost it, or is another one: a late open is due */
    fan->failed |= 1u << child;
    fan->err = rep_errno_merge(fan->err, fop->rsp.err);
  }
  if (fan->each) {
    fan->each(fan, child, call->tag, fop);
    gi_fop_unref(fop);
  } else {
    GI_ASSERT(!fan->reply[child]);
    fan->reply[child] = fop;
  }
  fan_put(fan); /* it may be gone now */
  rep_busy_put(rep, REP_WORK_MESSAGES);
}

void
rep_fan_send(struct rep_fan *fan, struct gi_fop *fop, unsigned child, unsigned tag)
{
  struct rep_fop *call = rep_fop(fan->rep, fop);

  GI_ASSERT(child < fan->rep->n && fan->outstanding > 0);
  call->child = (uint8_t)child;
  call->tag = (uint8_t)tag;
  fan->outstanding++;
  rep_busy_get(fan->rep, REP_WORK_MESSAGES);
  fan->sent |= 1u << child;
  gi_fop_submit(fop, fan->rep->x->children[child], fan_reply, fan);
}

void
rep_fan_refuse(struct rep_fan *fan, struct gi_fop *fop, unsigned child, int err)
{
  rep_fop(fan->rep, fop)->child = (uint8_t)child;
  fan->outstanding++;
  rep_busy_get(fan->rep, REP_WORK_MESSAGES);
  fan->sent |= 1u << child;
  fop->rsp.ret = -1;
  fop->rsp.err = err;
  fan_reply(fop, fan);
}

void
rep_fan_finish(struct rep_fan *fan)
{
  fan_put(fan);
}

void
rep_fan_clear(struct rep_fan *fan)
{
  for (unsigned i = 0; fan->rep && i < fan->rep->n; i++) {
    gi_fop_unref(fan->reply[i]);
    fan->reply[i] = NULL;
  }
}

void
rep_fan_copy(struct rep_fan *fan, struct gi_fop *fop, uint32_t mask)
{
  rep_fan_copy_with(fan, fop, fop->xdata, mask);
}

void
rep_fan_copy_with(struct rep_fan *fan, struct gi_fop *fop, struct gi_dict *xdata, uint32_t mask)
{
  rep_foreach(i, mask) rep_fan_send(fan, rep_fan_child(fop, xdata), i, 0);
  rep_fan_finish(fan);
}

struct gi_fop *
rep_fan_child(struct gi_fop *fop, struct gi_dict *xdata)
{
  struct gi_fop *child = gi_fop_child(fop);

  if (child->xdata != xdata) {
    gi_dict_unref(&child->xdata);
    child->xdata = gi_dict_ref(xdata);
  }
  return child;
}

int
rep_fan_same_errno(const struct rep_fan *fan, uint32_t mask)
{
  int err = 0;

  rep_foreach(i, mask)
  {
    const struct gi_fop *r = fan->reply[i];

    if (!r || r->rsp.ret >= 0 || (err && r->rsp.err != err))
      return 0;
    err = r->rsp.err;
  }
  return err;
}
