/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of transactions and descriptors are given back with the next message
 * (rpc/give-back.h): nobody waits for it. An unlock is answered here at once, and
 * reaches the brick before whatever this client asks it for next, so the client
 * itself never meets a lock it has given back. If there is no next message, one
 * of its own takes everything along a moment later; and at once if the brick
 * says that others wait.
 *
 * Marks that have time (GI_LEISURE_KEY) wait here for the next message, too; they
 * are answered with it. If there is none the first of them goes as what it is, and
 * takes the rest along.
 *
 * Healers' locks go by themselves: who finds one taken leaves the file alone.
 */
#include "xlators/protocol/client/client.h"
#include "libglusterish/tree.h"
#include "rpc/give-back.h"

#include <errno.h>

#define CL_GIVE_BACK_NS (10 * GI_NSEC_PER_MSEC) /* others may wait for so long, where they cannot be told of */
#define CL_HURRY_NS GI_NSEC_PER_SEC             /* after a notice what is given back goes at once */
#define CL_GIVE_BACK_MAX 4096u                  /* bytes */

static bool
cl_can_wait(struct client *c)
{
  if (c->nconns != 1 || !c->usable || !c->peer_is_ours || !gi_word_in(c->capabilities, GI_GIVE_BACK_CAPABILITY))
    return false;
  if (c->hurry_until && gi_now(c->x->reactor) < c->hurry_until)
    return false;
  c->hurry_until = 0;
  return true;
}

void
cl_give_back_now(struct client *c)
{
  struct gi_dict *xdata;
  if (!gi_list_empty(&c->leisure)) {
    struct gi_fop *first = gi_list_first(&c->leisure, struct gi_fop, link);
    gi_list_del(&first->link);
    cl_send(c, first);
    return;
  }
  if (!c->given_back.len)
    return;
  xdata = gi_dict_new();
  cl_give_back_with(c, xdata);
  cl_send_release(c, NULL, -1, xdata);
  gi_dict_unref(&xdata);
}

static void
cl_give_back_due(void *arg)
{
  struct client *c = arg;
  GI_CHECK(c, CL_MAGIC);
  cl_give_back_now(c);
}

static void
cl_give_back_added(struct client *c)
{
  if (c->given_back.len >= CL_GIVE_BACK_MAX)
    cl_give_back_now(c);
  else if (!c->give_back_timer.armed)
    gi_timer_set(&c->give_back_timer, CL_GIVE_BACK_NS);
}

static void
cl_give_back_add(struct client *c, const struct gi_give_back *g)
{
  gi_give_back_put(&c->given_back, g);
  cl_give_back_added(c);
}

bool
cl_give_back_marks(struct client *c, struct gi_fop *fop)
{
  bool leisure = gi_dict_get(fop->xdata, GI_LEISURE_KEY);
  if (!leisure)
    return false;
  gi_dict_del(gi_fop_xdata(fop), GI_LEISURE_KEY);
  if (fop->args.flags != GI_XATTROP_ADD32 || gi_dict_count(fop->xdata) || gi_fop_spreads(fop) || !fop->loc.inode ||
      !cl_can_wait(c))
    return false;
  gi_list_add_tail(&c->leisure, &fop->link);
  cl_give_back_added(c);
  return true;
}

/* The marks come before the locks that they are written under. */
static void
cl_put_marks(struct client *c, struct cl_fop *call, struct gi_xdr_out *out)
{
  gi_list_foreach(f, &c->leisure, struct gi_fop, link) {
    int64_t handle = GI_FD_ANONYMOUS;
    if (f->kind == GI_FOP_FXATTROP && cl_handle(c, f->kind, f->fd, &handle) != 0)
      handle = GI_FD_ANONYMOUS;
    gi_give_back_put(
        out, &(struct gi_give_back){
                 .what = GI_GIVE_COUNTERS, .handle = handle, .lock = {.gfid = f->loc.inode->gfid}, .counters = f->args.dict});
  }
  gi_list_splice_tail(&call->riders, &c->leisure);
}

bool
cl_give_back_send(struct client *c, struct cl_fop *call, struct gi_fop *fop)
{
  struct gi_xdr_out all = {0};
  gi_list_init(&call->riders);
  if (gi_list_empty(&c->leisure)) {
    if (!c->given_back.len)
      return false;
    cl_give_back_with(c, gi_fop_xdata(fop));
    return true;
  }
  cl_put_marks(c, call, &all);
  if (c->given_back.len)
    gi_xdr_put_bytes(&all, c->given_back.base, c->given_back.len);
  c->given_back.len = 0;
  gi_dict_set_bin(gi_fop_xdata(fop), GI_GIVE_BACK_KEY, all.base, (uint32_t)all.len);
  gi_xdr_out_finish(&all);
  return true;
}

static void
cl_answer_marks(struct client *c, struct gi_list *marks, struct gi_xdr_in *in)
{
  while (!gi_list_empty(marks)) {
    struct gi_fop *f = gi_list_first(marks, struct gi_fop, link);
    struct gi_dict *values = NULL;
    int err = ENOTCONN;
    gi_list_del(&f->link);
    if (in && !gi_give_back_next_outcome(in, &err, &values))
      err = EIO;
    if (err)
      gi_fop_fail(f, err);
    else
      gi_fop_ok(f, 0);
    f->rsp.dict = values;
    gi_fop_answer(f, c->x);
  }
}

void
cl_give_back_answered(struct client *c, struct gi_list *riders, struct gi_fop *fop, bool lost)
{
  static const uint8_t nothing;
  struct gi_xdr_in in = {&nothing, &nothing, false};
  const void *data;
  uint32_t len;
  if (gi_list_empty(riders))
    return;
  if (gi_dict_get_bin(fop->rsp.xdata, GI_GIVE_BACK_KEY, &data, &len))
    in = (struct gi_xdr_in){data, (const uint8_t *)data + len, false};
  struct gi_dict *held = gi_dict_ref(fop->rsp.xdata); /* has the bytes */
  cl_answer_marks(c, riders, lost ? NULL : &in);
  gi_dict_unref(&held);
}

bool
cl_give_back_lock(struct client *c, const struct gi_fop *fop)
{
  bool entry = fop->kind == GI_FOP_ENTRYLK;
  const struct gi_inode *inode = fop->kind == GI_FOP_FINODELK && fop->fd ? fop->fd->inode : fop->loc.inode;
  if (entry ? fop->args.cmd != GI_ENTRYLK_UNLOCK
            : (fop->kind != GI_FOP_INODELK && fop->kind != GI_FOP_FINODELK) || fop->args.type != GI_LK_UNLOCK)
    return false;
  if (fop->caller.pid < 0 || !inode || !fop->caller.owner.len || !gi_give_back_fits(fop->args.domain) || !cl_can_wait(c))
    return false;
  cl_give_back_add(c, &(struct gi_give_back){.domain = fop->args.domain,
                                             .owner = fop->caller.owner,
                                             .lock = {.entry = entry,
                                                      .gfid = inode->gfid,
                                                      .name = entry ? fop->args.name : NULL,
                                                      .start = fop->args.flock.start,
                                                      .len = fop->args.flock.len}});
  return true;
}

bool
cl_give_back_descriptor(struct client *c, int64_t handle)
{
  GI_ASSERT(handle >= 0);
  if (!cl_can_wait(c))
    return false;
  cl_give_back_add(c, &(struct gi_give_back){.what = GI_GIVE_DESCRIPTOR, .handle = handle});
  return true;
}

void
cl_give_back_with(struct client *c, struct gi_dict *xdata)
{
  GI_ASSERT(c->given_back.len > 0);
  gi_dict_set_bin(xdata, GI_GIVE_BACK_KEY, c->given_back.base, (uint32_t)c->given_back.len);
  c->given_back.len = 0;
}

void
cl_give_back_hurry(struct client *c)
{
  c->hurry_until = gi_now(c->x->reactor) + CL_HURRY_NS;
  cl_give_back_now(c);
}

void
cl_give_back_lost(struct client *c)
{
  struct gi_list marks;
  gi_list_init(&marks);
  gi_list_splice_tail(&marks, &c->leisure);
  c->given_back.len = 0;
  gi_timer_cancel(&c->give_back_timer);
  cl_answer_marks(c, &marks, NULL);
}

void
cl_give_back_init(struct client *c)
{
  gi_list_init(&c->leisure);
  gi_timer_init(&c->give_back_timer, c->x->reactor, cl_give_back_due, c);
}

void
cl_give_back_finish(struct client *c)
{
  GI_ASSERT(c->given_back.len == 0 && gi_list_empty(&c->leisure));
  gi_timer_finish(&c->give_back_timer);
  gi_xdr_out_finish(&c->given_back);
}
