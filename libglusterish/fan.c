/* SPDX-License-Identifier: Apache-2.0
 *
 * Fans: see fan.h.
 */
#include "libglusterish/fan.h"

#include "libglusterish/xlator.h"

#include <errno.h>
#include <string.h>

void
gi_fan_start(struct gi_fan *fan, struct gi_xlator *x, const struct gi_fan_ops *ops, void (*done)(struct gi_fan *fan), void *arg)
{
  static const struct gi_fan_ops none;

  GI_ASSERT(fan->outstanding == 0 && done);
  memset(fan, 0, sizeof(*fan));
  fan->x = x;
  fan->ops = ops ? ops : &none;
  fan->done = done;
  fan->arg = arg;
  fan->outstanding = 1;
  gi_list_init(&fan->replies);
}

static void
put(struct gi_fan *fan)
{
  GI_ASSERT(fan->outstanding > 0);
  if (--fan->outstanding == 0)
    fan->done(fan);
}

static void
count(struct gi_fan *fan, struct gi_fop *reply)
{
  uint64_t bit = 1ull << reply->child;

  if (reply->rsp.ret >= 0) {
    fan->ok |= bit;
    return;
  }
  fan->failed |= bit;
  fan->err = fan->ops->merge ? fan->ops->merge(fan->err, reply->rsp.err) : reply->rsp.err;
}

static void
answered(struct gi_fop *reply, void *arg)
{
  struct gi_fan *fan = arg;
  struct gi_xlator *x = fan->x;
  const struct gi_fan_ops *ops = fan->ops;

  if (reply->rsp.ret < 0 && reply->rsp.err == 0)
    reply->rsp.err = EIO;
  if (ops->answered)
    ops->answered(x, reply->child, reply);
  count(fan, reply);
  if (fan->each) {
    fan->each(fan, reply->child, reply->tag, reply);
    gi_fop_unref(reply);
  } else {
    gi_fan_keep(fan, reply->child, reply);
  }
  put(fan); /* it may be gone now */
  if (ops->ended)
    ops->ended(x);
}

static void
begin(struct gi_fan *fan, struct gi_fop *fop, unsigned child, unsigned tag)
{
  GI_ASSERT(child < fan->x->nchildren && child < GI_FAN_MAX && tag <= UINT8_MAX && fan->outstanding > 0);
  fop->child = (uint8_t)child;
  fop->tag = (uint8_t)tag;
  fan->outstanding++;
  fan->sent |= 1ull << child;
  if (fan->ops->sent)
    fan->ops->sent(fan->x);
}

void
gi_fan_send(struct gi_fan *fan, struct gi_fop *fop, unsigned child, unsigned tag)
{
  begin(fan, fop, child, tag);
  gi_fop_submit(fop, fan->x->children[child], answered, fan);
}

void
gi_fan_refuse(struct gi_fan *fan, struct gi_fop *fop, unsigned child, int err)
{
  begin(fan, fop, child, 0);
  fop->rsp.ret = -1;
  fop->rsp.err = err;
  answered(fop, fan);
}

void
gi_fan_finish(struct gi_fan *fan)
{
  put(fan);
}

void
gi_fan_copy(struct gi_fan *fan, struct gi_fop *fop, uint64_t mask)
{
  gi_fan_copy_with(fan, fop, fop->xdata, mask);
}

void
gi_fan_copy_with(struct gi_fan *fan, struct gi_fop *fop, struct gi_dict *xdata, uint64_t mask)
{
  for (; mask; mask &= mask - 1)
    gi_fan_send(fan, gi_fan_child(fop, xdata), (unsigned)__builtin_ctzll(mask), 0);
  gi_fan_finish(fan);
}

struct gi_fop *
gi_fan_child(struct gi_fop *fop, struct gi_dict *xdata)
{
  struct gi_fop *child = gi_fop_child(fop);

  if (child->xdata != xdata) {
    gi_dict_unref(&child->xdata);
    child->xdata = gi_dict_ref(xdata);
  }
  return child;
}

/* ---- the replies ---- */

struct gi_fop *
gi_fan_reply(const struct gi_fan *fan, unsigned child)
{
  gi_list_foreach(reply, &fan->replies, struct gi_fop, link)
    if (reply->child == child)
      return reply;
  return NULL;
}

struct gi_fop *
gi_fan_take(struct gi_fan *fan, unsigned child)
{
  struct gi_fop *reply = gi_fan_reply(fan, child);

  if (reply)
    gi_list_del(&reply->link);
  return reply;
}

void
gi_fan_keep(struct gi_fan *fan, unsigned child, struct gi_fop *reply)
{
  GI_ASSERT(!gi_fan_reply(fan, child));
  reply->child = (uint8_t)child;
  gi_list_add_tail(&fan->replies, &reply->link);
}

void
gi_fan_clear(struct gi_fan *fan)
{
  while (fan->replies.next && !gi_list_empty(&fan->replies)) {
    struct gi_fop *reply = gi_list_first(&fan->replies, struct gi_fop, link);

    gi_list_del(&reply->link);
    gi_fop_unref(reply);
  }
}

int
gi_fan_same_errno(const struct gi_fan *fan, uint64_t mask)
{
  int err = 0;

  for (; mask; mask &= mask - 1) {
    const struct gi_fop *reply = gi_fan_reply(fan, (unsigned)__builtin_ctzll(mask));

    if (!reply || reply->rsp.ret >= 0 || (err && reply->rsp.err != err))
      return 0;
    err = reply->rsp.err;
  }
  return err;
}
